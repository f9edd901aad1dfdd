/* SPDX-License-Identifier: MIT */
/* verify.c: is a plan legal, and is it worth what it claims?
 *
 * 1. Model, platform and the problem made of them have the hashes the plan was made with.
 * 2. Every task is decided once, on a device that exists.
 * 3. The plan is legal as it stands (plan_check.c), and the simulator, given devices and order,
 * finds the same start times.
 * 4. Every number under "measures" is found again, to 1e-9 relative.
 * 5. The proof: its value is the simulator's. What it calls certified follows from its certificates
 *    (a path, prices, a refuted limit, the name of a bound), each computed again from the problem
 *    alone. A bound above that must rest on a search that `method` names, and is not repeated; no
 *    bound exceeds the value; gap and status follow from the two.
 *
 * Nothing of the solver that made the plan is used but the formulas of its bounds. */
#define _POSIX_C_SOURCE 200809L
#include "weft/api.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

static const double tolerance = 1e-9;

enum { MOST_LINES = 100 };

typedef struct verifier {
    weft_arena *a;
    const weft_plan_file *file;
    const weft_case *c;
    const char **line;
    int n; /* things that are wrong; the first MOST_LINES are in `line` */
    weft_verdict *out;
} verifier;

static void wrong(verifier *v, const char *text)
{
    if (v->n < MOST_LINES)
        v->line[v->n] = text;
    v->n++;
}

static bool is_near(double a, double b)
{
    return a == b || fabs(a - b) <= tolerance * fmax(fabs(a), fabs(b));
}

static void check_hash(verifier *v, const char *what, uint64_t now, uint64_t then)
{
    if (now != then)
        wrong(v, weft_arena_print(v->a,
                                  "%s has changed since the plan was made: its content hash is "
                                  "%016" PRIx64 ", the plan has %016" PRIx64,
                                  what, now, then));
}

static void check_hashes(verifier *v)
{
    const weft_plan_origin *o = &v->file->origin;

    check_hash(v, weft_arena_print(v->a, "model '%s'", o->model), v->c->model_hash, o->model_hash);
    if (o->platform)
        check_hash(v, weft_arena_print(v->a, "platform '%s'", o->platform), v->c->platform_hash,
                   o->platform_hash);
    check_hash(v, "the problem made of model, platform and options", v->c->problem->hash,
               o->problem_hash);
    if (v->file->transfer != v->c->problem->transfer)
        wrong(v, weft_arena_print(v->a, "the plan is for transfers that %s, the platform's %s",
                                  weft_transfer_name(v->file->transfer),
                                  weft_transfer_name(v->c->problem->transfer)));
}

static weft_map *index_names(const char *const *name, int n, weft_arena *a)
{
    weft_map *m = weft_map_new(a);

    weft_map_reserve(m, n);
    for (int i = 0; i < n; i++)
        weft_map_set(m, name[i], strlen(name[i]), i);
    return m;
}

/* Decisions of one way by task number; false if some task or device is not there. */
static void read_way(verifier *v, weft_plan *plan, int way, const weft_map *devices,
                     const int *task_of)
{
    size_t n_tasks = (size_t)v->c->problem->n_tasks;

    for (int i = 0; i < v->file->n_tasks; i++) {
        size_t from = (size_t)way * (size_t)v->file->n_tasks + (size_t)i;
        const char *device = v->file->device[from];
        int d = weft_map_get(devices, device, strlen(device));

        if (task_of[i] >= 0 && d < 0)
            wrong(v, weft_arena_print(v->a, "task '%s' is on '%s', which is no device",
                                      v->file->task[i], device));
        if (task_of[i] < 0 || d < 0)
            continue;
        plan->device[(size_t)way * n_tasks + (size_t)task_of[i]] = d;
        plan->start_s[(size_t)way * n_tasks + (size_t)task_of[i]] = v->file->start_s[from];
    }
}

static bool read_decisions(verifier *v, weft_plan *plan, int *task_of)
{
    const weft_problem *p = v->c->problem;
    weft_map *tasks = index_names(p->task_name, p->n_tasks, v->a);
    weft_map *devices = index_names(p->device_name, p->n_devices, v->a);
    bool *is_decided = WEFT_NEW(v->a, bool, p->n_tasks + 1);
    int before = v->n;

    for (int i = 0; i < v->file->n_tasks; i++) {
        const char *name = v->file->task[i];

        task_of[i] = weft_map_get(tasks, name, strlen(name));
        if (task_of[i] < 0)
            wrong(v, weft_arena_print(v->a, "task '%s' is not in the model", name));
        else
            is_decided[task_of[i]] = true;
    }
    for (int w = 0; w < plan->n_ways; w++) {
        plan->share[w] = v->file->share[w];
        read_way(v, plan, w, devices, task_of);
    }
    for (int u = 0; u < p->n_tasks; u++)
        if (!is_decided[u] && v->n == before)
            wrong(v, weft_arena_print(v->a, "task '%s' is not in the plan", p->task_name[u]));
    return v->n == before;
}

static void check_legality(verifier *v, const weft_plan *plan)
{
    weft_breach breach[MOST_LINES];
    int n = weft_plan_check(v->c->problem, plan, breach, MOST_LINES, v->a);

    for (int i = 0; i < n && i < MOST_LINES; i++)
        wrong(v, breach[i].what);
    if (n > MOST_LINES)
        v->n += n - MOST_LINES;
}

static void check_starts(verifier *v, const weft_plan *stated, const weft_plan *simulated,
                         double makespan_s)
{
    const weft_problem *p = v->c->problem;

    for (int i = 0; i < p->n_tasks * stated->n_ways; i++)
        if (fabs(stated->start_s[i] - simulated->start_s[i]) > tolerance * makespan_s)
            wrong(v, weft_arena_print(v->a,
                                      "task '%s' starts at %.12g s in the plan, at %.12g s in the "
                                      "simulator",
                                      p->task_name[i % p->n_tasks], stated->start_s[i],
                                      simulated->start_s[i]));
}

/* --- claimed numbers ------------------------------------------------------------------------- */

static bool is_number(const weft_doc *d)
{
    return d->kind == WEFT_DOC_INT || d->kind == WEFT_DOC_REAL;
}

static void compare(verifier *v, const char *where, const weft_doc *claimed, const weft_doc *found);

static void compare_maps(verifier *v, const char *where, const weft_doc *claimed,
                         const weft_doc *found)
{
    for (int i = 0; i < found->n; i++)
        if (weft_doc_get(claimed, found->key[i]) == NULL)
            wrong(v, weft_arena_print(v->a, "%s.%s is missing", where, found->key[i]));
    for (int i = 0; i < claimed->n; i++) {
        const weft_doc *other = weft_doc_get(found, claimed->key[i]);
        const char *here = weft_arena_print(v->a, "%s.%s", where, claimed->key[i]);

        if (other == NULL)
            wrong(v, weft_arena_print(v->a, "%s is claimed, but nothing like it is known", here));
        else
            compare(v, here, claimed->item[i], other);
    }
}

static void compare(verifier *v, const char *where, const weft_doc *claimed, const weft_doc *found)
{
    if (is_number(claimed) && is_number(found)) {
        if (!is_near(claimed->real, found->real))
            wrong(v, weft_arena_print(v->a, "%s is claimed to be %.12g, recomputed %.12g", where,
                                      claimed->real, found->real));
    } else if (claimed->kind != found->kind) {
        wrong(v,
              weft_arena_print(v->a, "%s is %s, expected %s", where,
                               weft_doc_kind_name(claimed->kind), weft_doc_kind_name(found->kind)));
    } else if (claimed->kind == WEFT_DOC_TEXT && strcmp(claimed->text, found->text) != 0) {
        wrong(v, weft_arena_print(v->a, "%s is claimed to be '%s', recomputed '%s'", where,
                                  claimed->text, found->text));
    } else if (claimed->kind == WEFT_DOC_LIST && claimed->n != found->n) {
        wrong(v, weft_arena_print(v->a, "%s has %d entries, recomputed %d", where, claimed->n,
                                  found->n));
    } else if (claimed->kind == WEFT_DOC_LIST) {
        for (int i = 0; i < claimed->n; i++)
            compare(v, weft_arena_print(v->a, "%s[%d]", where, i), claimed->item[i],
                    found->item[i]);
    } else if (claimed->kind == WEFT_DOC_MAP) {
        compare_maps(v, where, claimed, found);
    } else if (claimed->kind == WEFT_DOC_BOOL && claimed->truth != found->truth) {
        wrong(v, weft_arena_print(v->a, "%s is wrong", where));
    }
}

/* --- the proof ------------------------------------------------------------------------------- */

static void claim(verifier *v, const char *what, double claimed, double found)
{
    if (!is_near(claimed, found))
        wrong(v, weft_arena_print(v->a, "proof.%s is claimed to be %.12g, recomputed %.12g", what,
                                  claimed, found));
}

/* A limit that propagation must refute again; 0 if it does not. */
static double refuted_bound(verifier *v)
{
    const weft_proof *proof = &v->file->proof;

    if (!(proof->refuted_s > 0))
        return 0;
    if (weft_refuted_again(v->c->problem, proof->refuted_s, proof->is_shaved))
        return proof->refuted_s;
    wrong(v, weft_arena_print(v->a, "proof.refuted is claimed for %.12g s, %s does not find it",
                              proof->refuted_s,
                              proof->is_shaved ? "propagation with shaving" : "propagation"));
    return 0;
}

/* The largest bound that the certificates reproduce; 0 without one. */
static double certified_bound(verifier *v, const int *task_of)
{
    const weft_problem *p = v->c->problem;
    const weft_proof *proof = &v->file->proof;
    double bound = 0;

    if (proof->n_path > 0 && p->ask.goal == WEFT_LATENCY) {
        int *path = WEFT_NEW(v->a, int, proof->n_path);

        for (int i = 0; i < proof->n_path; i++)
            path[i] = task_of[proof->path[i]];
        bound =
            fmax(bound, p->transfer == WEFT_CALLS ? weft_calls_path_bound_of(p, path, proof->n_path)
                                                  : weft_path_bound_of(p, path, proof->n_path));
    }
    if (v->file->n_prices > 0 && v->file->n_prices != p->n_devices) {
        wrong(v, weft_arena_print(
                     v->a, "proof.prices has %d entries, expected one for each of %d devices",
                     v->file->n_prices, p->n_devices));
    } else if (v->file->n_prices > 0) {
        bound = fmax(bound, weft_load_bound_of(p, proof->price));
    }
    bound = fmax(bound, refuted_bound(v));
    if (proof->again != NULL && proof->certified > bound * (1 + tolerance))
        bound = fmax(bound, weft_bound_again(p, proof->again));
    return isfinite(bound) ? bound
                           : 0; /* an infinite one says that there is no plan: here is one */
}

/* Certified is what the certificates prove, or less; the rest of the bound rests on a search. */
static void check_bound(verifier *v, const int *task_of)
{
    const weft_proof *proof = &v->file->proof;
    double proved = certified_bound(v, task_of);
    bool is_above = proof->bound > proof->certified * (1 + tolerance);

    v->out->certified = fmin(proof->certified, proved);
    v->out->is_bound_checked = !is_above;
    if (proof->certified > proved * (1 + tolerance))
        wrong(v, weft_arena_print(
                     v->a, "proof.certified is claimed to be %.12g, its certificates prove %.12g",
                     proof->certified, proved));
    if (proof->certified > proof->bound * (1 + tolerance))
        wrong(v, weft_arena_print(v->a, "proof.certified is %.12g, above the bound %.12g",
                                  proof->certified, proof->bound));
    if (is_above && !weft_method_is_search(proof->method))
        wrong(v, weft_arena_print(v->a,
                                  "proof.bound is claimed to be %.12g, its certificates prove "
                                  "%.12g and its method '%s' is no search",
                                  proof->bound, v->out->certified,
                                  proof->method ? proof->method : "null"));
}

static void check_proof(verifier *v, double value, const int *task_of)
{
    const weft_proof *proof = &v->file->proof;
    double gap = value > 0 ? fabs(value - proof->bound) / value : 0;
    bool is_optimal = gap <= tolerance;

    claim(v, "value", proof->value, value);
    check_bound(v, task_of);
    if (proof->bound > value * (1 + tolerance))
        wrong(v, weft_arena_print(v->a, "proof.bound is %.12g, above the value %.12g", proof->bound,
                                  value));
    if (fabs(proof->gap - gap) > tolerance)
        wrong(v, weft_arena_print(v->a, "proof.gap is claimed to be %.12g, recomputed %.12g",
                                  proof->gap, gap));
    if ((proof->outcome == WEFT_OPTIMAL) != is_optimal || proof->outcome > WEFT_BOUNDED)
        wrong(v, weft_arena_print(v->a, "proof.status is '%s', expected '%s'",
                                  weft_outcome_name(proof->outcome),
                                  weft_outcome_name(is_optimal ? WEFT_OPTIMAL : WEFT_BOUNDED)));
}

/* --- the whole ------------------------------------------------------------------------------- */

static void judge(verifier *v)
{
    const weft_problem *p = v->c->problem;
    int n_ways = v->file->n_ways;
    weft_plan stated = weft_plan_new_ways(p->n_tasks, n_ways, v->a);
    weft_plan simulated = weft_plan_new_ways(p->n_tasks, n_ways, v->a);
    size_t n = (size_t)p->n_tasks * (size_t)n_ways;
    int *task_of = WEFT_NEW(v->a, int, v->file->n_tasks + 1);
    weft_measures *m = &v->out->solution.measures;

    check_hashes(v);
    if (!read_decisions(v, &stated, task_of))
        return;
    check_legality(v, &stated);
    memcpy(simulated.device, stated.device, n * sizeof *stated.device);
    memcpy(simulated.start_s, stated.start_s, n * sizeof *stated.start_s);
    memcpy(simulated.share, stated.share, (size_t)n_ways * sizeof *stated.share);
    if (weft_evaluate(p, &simulated, v->a, m) != WEFT_OK) {
        wrong(v, weft_arena_print(v->a, "%s", weft_message()));
        return;
    }
    if (m->over_device >= 0)
        wrong(v, weft_arena_print(v->a, "device '%s' holds %.12g bytes at its peak, it has %.12g",
                                  p->device_name[m->over_device], m->peak_bytes[m->over_device],
                                  p->capacity[m->over_device]));
    if (!weft_ask_allows(&p->ask, m->makespan_s, m->period_s))
        wrong(v, weft_arena_print(v->a,
                                  "the simulator finds a latency of %.12g s and a period of %.12g "
                                  "s, which the limits do not allow",
                                  m->makespan_s, m->period_s));
    check_starts(v, &stated, &simulated, m->makespan_s);
    compare(v, "measures", v->file->measures, weft_measures_doc(p, m, v->a));
    check_proof(v, weft_goal_value(p, m), task_of);
    v->out->solution.plan = simulated;
    v->out->solution.proof = v->file->proof;
    v->out->has_solution = true;
}

static bool is_file(const char *path)
{
    struct stat s;

    return stat(path, &s) == 0 && S_ISREG(s.st_mode);
}

/* A model or a platform that comes with weft: "gpt2:xl", "edge-soc". */
static bool is_built_in(const char *name, weft_arena *a)
{
    if (weft_zoo_find(weft_arena_text(a, name, strcspn(name, ":"))))
        return true;
    for (int i = 0; i < weft_preset_count(); i++)
        if (strcmp(weft_preset_at(i)->name, name) == 0)
            return true;
    return false;
}

/* A file that is not where we are may lie beside the plan. Nothing is opened to find out: a plan
 * from elsewhere may name a pipe, which would never answer. */
static const char *beside(const char *plan_path, const char *name, weft_arena *a)
{
    const char *slash = strrchr(plan_path, '/'), *other;

    if (slash == NULL || name[0] == '/' || is_built_in(name, a) || is_file(name))
        return name;
    other = weft_arena_print(a, "%.*s/%s", (int)(slash - plan_path), plan_path, name);
    return is_file(other) ? other : name;
}

weft_status weft_verify(const char *plan_path, const char *model, const char *platform,
                        weft_arena *a, weft_case *c, weft_verdict *out)
{
    weft_plan_file *file = WEFT_NEW(a, weft_plan_file, 1);
    verifier v = {
        .a = a, .file = file, .c = c, .line = WEFT_NEW(a, const char *, MOST_LINES), .out = out};
    weft_request r;

    memset(out, 0, sizeof *out);
    memset(c, 0, sizeof *c);
    WEFT_TRY(weft_plan_read(plan_path, a, file));
    r = (weft_request){model ? model : file->origin.model,
                       platform ? platform : file->origin.platform, file->origin.format,
                       file->origin.options, file->ask};
    if (model == NULL)
        r.model = beside(plan_path, r.model, a);
    if (platform == NULL && r.platform)
        r.platform = beside(plan_path, r.platform, a);
    WEFT_TRY(weft_case_open(&r, c));
    judge(&v);
    out->n_wrong = v.n;
    out->wrong = v.line;
    return WEFT_OK;
}
