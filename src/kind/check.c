/* SPDX-License-Identifier: MIT */
/* check_result.c: what the verification of all kinds of plans shares: lines of what is wrong,
 * claims against what is found again, the arithmetic of proofs, and files that lie beside a
 * plan. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

weft_wrongs weft_wrongs_new(weft_arena *a)
{
    return (weft_wrongs){.a = a, .line = WEFT_NEW(a, const char *, WEFT_MOST_WRONG)};
}

void weft_wrong(weft_wrongs *w, const char *format, ...)
{
    va_list arguments;
    char *text;
    int n;

    if (w->n++ >= WEFT_MOST_WRONG)
        return;
    va_start(arguments, format);
    n = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    text = weft_arena_alloc(w->a, (size_t)n + 1);
    va_start(arguments, format);
    vsnprintf(text, (size_t)n + 1, format, arguments);
    va_end(arguments);
    w->line[w->n - 1] = text;
}

static bool is_near(double a, double b)
{
    return a == b || fabs(a - b) <= WEFT_NEAR * fmax(fabs(a), fabs(b));
}

void weft_check_hash(weft_wrongs *w, const char *what, uint64_t now, uint64_t then)
{
    if (now != then)
        weft_wrong(w,
                   "%s has changed since the plan was made: its content hash is "
                   "%016" PRIx64 ", the plan has %016" PRIx64,
                   what, now, then);
}

/* --- claimed numbers ------------------------------------------------------------------------- */

static void compare_maps(weft_wrongs *w, const char *where, const weft_doc *claimed,
                         const weft_doc *found)
{
    for (int i = 0; i < found->n; i++)
        if (weft_doc_get(claimed, found->key[i]) == NULL)
            weft_wrong(w, "%s.%s is missing", where, found->key[i]);
    for (int i = 0; i < claimed->n; i++) {
        const weft_doc *other = weft_doc_get(found, claimed->key[i]);
        const char *here = weft_arena_print(w->a, "%s.%s", where, claimed->key[i]);

        if (other == NULL)
            weft_wrong(w, "%s is claimed, but nothing like it is known", here);
        else
            weft_compare(w, here, claimed->item[i], other);
    }
}

void weft_compare(weft_wrongs *w, const char *where, const weft_doc *claimed, const weft_doc *found)
{
    if (weft_doc_is_number(claimed) && weft_doc_is_number(found)) {
        if (!is_near(claimed->real, found->real))
            weft_wrong(w, "%s is claimed to be %.12g, recomputed %.12g", where, claimed->real,
                       found->real);
    } else if (claimed->kind != found->kind) {
        weft_wrong(w, "%s is %s, expected %s", where, weft_doc_kind_name(claimed->kind),
                   weft_doc_kind_name(found->kind));
    } else if (claimed->kind == WEFT_DOC_TEXT && strcmp(claimed->text, found->text) != 0) {
        weft_wrong(w, "%s is claimed to be '%s', recomputed '%s'", where, claimed->text,
                   found->text);
    } else if (claimed->kind == WEFT_DOC_LIST && claimed->n != found->n) {
        weft_wrong(w, "%s has %d entries, recomputed %d", where, claimed->n, found->n);
    } else if (claimed->kind == WEFT_DOC_LIST) {
        for (int i = 0; i < claimed->n; i++)
            weft_compare(w, weft_arena_print(w->a, "%s[%d]", where, i), claimed->item[i],
                         found->item[i]);
    } else if (claimed->kind == WEFT_DOC_MAP) {
        compare_maps(w, where, claimed, found);
    } else if (claimed->kind == WEFT_DOC_BOOL && claimed->truth != found->truth) {
        weft_wrong(w, "%s is wrong", where);
    }
}

/* --- the proof ------------------------------------------------------------------------------- */

/* Of two bounds the one that says less: the lower one, or the higher one where more is better. */
static double weaker(bool is_max, double a, double b)
{
    return is_max ? fmax(a, b) : fmin(a, b);
}

/* Does the first bound say more than the second, by more than rounding where `near` is given? */
static bool is_stronger(bool is_max, double a, double b, double near)
{
    return is_max ? a < b * (1 - near) : a > b * (1 + near);
}

/* Certified is what the certificate proves, cut off at the value. */
static void check_certified(weft_wrongs *w, const weft_proof *proof, const weft_finding *f,
                            bool is_max)
{
    double proved = weaker(is_max, f->proved, f->value);

    if (!is_near(proof->certified, proved))
        weft_wrong(w,
                   "proof.certified is claimed to be %.12g, its certificates prove "
                   "%.12g",
                   proof->certified, proved);
    if (is_stronger(is_max, proof->certified, proof->bound, WEFT_NEAR))
        weft_wrong(w, "proof.certified is %.12g, %s the bound %.12g", proof->certified,
                   is_max ? "below" : "above", proof->bound);
}

/* What is above the certificate rests on a search of the solver that made the plan; else the method
 * is that of the certificate. */
static void check_method(weft_wrongs *w, const weft_proof *proof, const weft_finding *f,
                         bool is_max)
{
    const char *method = proof->method ? proof->method : "null";
    bool is_above = is_stronger(is_max, proof->bound, proof->certified, 0);
    bool is_certificates = f->method != NULL && strcmp(method, f->method) == 0;

    if (is_above && !f->is_search)
        weft_wrong(w,
                   "proof.bound is claimed to be %.12g, its certificates prove "
                   "%.12g, and its method '%s' is no search of solver '%s' for "
                   "such problems",
                   proof->bound, weaker(is_max, proof->certified, f->proved), method, f->solver);
    if (!is_above && !is_certificates)
        weft_wrong(w, "proof.method is '%s', its certificate is of '%s'", method,
                   f->method ? f->method : "null");
}

static void check_outcome(weft_wrongs *w, const weft_proof *proof, double value)
{
    double gap = value > 0 ? fabs(value - proof->bound) / value : 0;
    bool is_optimal = gap <= WEFT_NEAR;

    if (fabs(proof->gap - gap) > WEFT_NEAR)
        weft_wrong(w, "proof.gap is claimed to be %.12g, recomputed %.12g", proof->gap, gap);
    if ((proof->outcome == WEFT_OPTIMAL) != is_optimal || proof->outcome > WEFT_BOUNDED)
        weft_wrong(w, "proof.status is '%s', expected '%s'", weft_outcome_name(proof->outcome),
                   weft_outcome_name(is_optimal ? WEFT_OPTIMAL : WEFT_BOUNDED));
}

void weft_check_proof(weft_wrongs *w, const weft_proof *proof, const weft_finding *f,
                      weft_check_result *out)
{
    bool is_max = out->kind->is_max;

    if (!is_near(proof->value, f->value))
        weft_wrong(w, "proof.value is claimed to be %.12g, recomputed %.12g", proof->value,
                   f->value);
    check_certified(w, proof, f, is_max);
    check_method(w, proof, f, is_max);
    if (is_stronger(is_max, proof->bound, f->value, WEFT_NEAR))
        weft_wrong(w, "proof.bound is %.12g, %s the value %.12g", proof->bound,
                   is_max ? "below" : "above", f->value);
    check_outcome(w, proof, f->value);
    out->certified = weaker(is_max, proof->certified, f->proved);
    out->is_bound_checked = !is_stronger(is_max, proof->bound, proof->certified, WEFT_NEAR);
    if (!out->is_bound_checked)
        weft_unchecked(out, "proof.bound");
    if (is_stronger(is_max, proof->bound, proof->certified, 0))
        weft_unchecked(out, "proof.method");
}

void weft_check_again(weft_wrongs *w, const weft_proof *claimed, const weft_proof *bound,
                      const char *search, weft_finding *f)
{
    if (claimed->again == NULL || strcmp(claimed->again, bound->again) != 0)
        weft_wrong(w, "proof.again is '%s', expected '%s'",
                   claimed->again ? claimed->again : "null", bound->again);
    f->proved = bound->certified;
    f->method = bound->method;
    f->is_search =
        search != NULL && claimed->method != NULL && strcmp(search, claimed->method) == 0;
}

/* --- what is not checked --------------------------------------------------------------------- */

void weft_unchecked(weft_check_result *out, const char *field)
{
    if (out->n_unchecked < WEFT_MOST_UNCHECKED)
        out->unchecked[out->n_unchecked++] = field;
}

void weft_check_origin(weft_wrongs *w, const weft_plan_origin *o, weft_check_result *out)
{
    weft_unchecked(out, "solver");
    weft_unchecked(out, "seed");
    if (o->platform != NULL) { /* a network: what these make of it has a hash */
        weft_unchecked(out, "model.batch");
        weft_unchecked(out, "model.dtype");
    }
    if (!o->options.train && o->options.optimizer != WEFT_ADAM)
        weft_wrong(w,
                   "model.optimizer is '%s', but nothing is trained: expected "
                   "'%s'",
                   weft_optimizer_name(o->options.optimizer), weft_optimizer_name(WEFT_ADAM));
    if (o->format != NULL && o->platform != NULL)
        weft_wrong(w, "model.format is '%s', expected null", o->format);
}

/* --- files ----------------------------------------------------------------------------------- */

static bool is_file(const char *path)
{
    struct stat s;

    return stat(path, &s) == 0 && S_ISREG(s.st_mode);
}

/* A model, platform or template that comes with weft: "gpt2:xl", "edge-soc", "mine16". */
static bool is_built_in(const char *name, weft_arena *a)
{
    if (weft_zoo_has(weft_arena_text(a, name, strcspn(name, ":"))))
        return true;
    return weft_preset_find(name, false) || weft_preset_find(name, true);
}

/* In the folder of the plan and those above it, as many as a path that leads out of them may need;
 * last, without its own folders, beside the plan. NULL: nowhere. */
static const char *find_near(const char *plan_path, const char *name, weft_arena *a)
{
    enum { MOST_ABOVE = 8 };
    const char *slash = strrchr(plan_path, '/'), *last = strrchr(name, '/'), *path;
    const char *folder =
        slash == NULL ? "" : weft_arena_print(a, "%.*s/", (int)(slash - plan_path), plan_path);
    const char *above = "";

    for (int i = 0; name[0] != '/' && i <= MOST_ABOVE; i++) {
        path = weft_arena_print(a, "%s%s%s", folder, above, name);
        if (is_file(path))
            return path;
        above = weft_arena_print(a, "../%s", above);
    }
    path = weft_arena_print(a, "%s%s", folder, last ? last + 1 : name);
    return is_file(path) ? path : NULL;
}

/* Nothing is opened to find out: a plan from elsewhere may name a pipe, which would never answer. A
 * file that is another one is found out by its hash. */
const char *weft_beside(const char *plan_path, const char *name, weft_arena *a)
{
    const char *near;

    if (is_built_in(name, a) || is_file(name))
        return name;
    near = find_near(plan_path, name, a);
    return near ? near : name;
}

const char *weft_model_beside(const weft_plan_origin *o, const weft_named *by, weft_arena *a)
{
    return by->model ? by->model : weft_beside(by->plan_path, o->model, a);
}

const char *weft_platform_beside(const weft_plan_origin *o, const weft_named *by, weft_arena *a)
{
    const char *bare;

    if (by->platform || o->platform == NULL)
        return by->platform;
    bare = weft_platform_bare(o->platform, a);
    return weft_arena_print(a, "%s%s", weft_beside(by->plan_path, bare, a),
                            o->platform + strlen(bare));
}

weft_status weft_need_platform(const char *platform)
{
    if (platform == NULL || *platform == '\0')
        return weft_fail(WEFT_E_INPUT,
                         "no platform is given, expected --on PLATFORM (see: weft list platforms)");
    return WEFT_OK;
}

weft_status weft_machine_open(const char *source, const char *text, weft_platform **out)
{
    return text == NULL ? weft_platform_open(source, out)
                        : weft_platform_parse(text, strlen(text), source, out);
}

/* Built-in models are made for one sample unless something else was asked for; how many a file is
 * for is not known. */
double weft_samples_of(const weft_plan_origin *o, weft_arena *a)
{
    if (o->options.batch > 0)
        return (double)o->options.batch;
    return weft_zoo_has(weft_arena_text(a, o->model, strcspn(o->model, ":"))) ? 1 : NAN;
}

weft_status weft_explain_missing(weft_status status, const weft_named *by,
                                 const weft_plan_origin *o, weft_arena *a)
{
    const char *message = weft_arena_print(a, "%s", weft_message());
    const char *flag = NULL;

    if (status == WEFT_OK || strstr(message, "cannot be opened") == NULL)
        return status;
    if (by->model == NULL && o->model != NULL && strncmp(message, o->model, strlen(o->model)) == 0)
        flag = "--model";
    else if (by->platform == NULL && o->platform != NULL &&
             strncmp(message, o->platform, strlen(weft_platform_bare(o->platform, a))) == 0)
        flag = "--on";
    if (flag == NULL)
        return status;
    return weft_fail(status,
                     "%s; %s names it, and it is neither in the current folder nor near that file: "
                     "%s says where it is",
                     message, by->plan_path, flag);
}

const char *weft_line_of_file(const weft_doc *doc, weft_arena *a)
{
    const char *message = weft_message(), *file = doc->file;
    size_t n = strlen(file);

    if (strncmp(message, file, n) == 0 && message[n] == ':')
        return weft_arena_print(a, "line %s", message + n + 1);
    return weft_arena_print(a, "%s", message);
}
