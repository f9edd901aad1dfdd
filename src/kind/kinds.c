/* SPDX-License-Identifier: MIT */
/* kinds.c: the table of plan kinds, and the one way a plan file of any kind is verified.
 *
 * 1. Model, platform and the problem made of them have the hashes the plan was made with.
 * 2. Everything is decided once, with devices, sets and splits that exist.
 * 3. The plan is legal as it stands; in the simulator nothing exceeds a memory or a limit, and
 *    everything starts when the plan says.
 * 4. Every number under "measures" is found again, to 1e-9 relative.
 * 5. The proof: its value is the simulator's. What it calls certified is what its certificate
 *    proves, computed again from the problem alone, and `method` is its name. A bound above that
 *    must rest on a search that `method` names, one that the solver of the plan makes for such
 *    problems; it is not repeated. No bound exceeds the value; gap and status follow from the two.
 * 6. What is neither found again nor compared is listed: the solver, the seed, spellings of options
 *    that make the same model, and bounds that rest on a search.
 *
 * Nothing of the solver that made the plan is used but the formulas of its bounds. Designs have
 * rules of their own (mine_kind.c). */
#include <math.h>
#include <string.h>

#include "check.h"

static const weft_kind *const kinds[] = {&weft_kind_place, &weft_kind_shard, &weft_kind_train,
                                         &weft_kind_serve, &weft_kind_mine,  &weft_kind_pipeline};

int weft_kind_count(void)
{
    return (int)(sizeof kinds / sizeof *kinds);
}

const weft_kind *weft_kind_at(int i)
{
    return kinds[i];
}

const weft_kind *weft_kind_find(const char *name)
{
    for (int i = 0; i < weft_kind_count(); i++)
        if (strcmp(kinds[i]->name, name) == 0)
            return kinds[i];
    return NULL;
}

weft_status weft_kind_of_file(const char *path, weft_arena *a, const weft_kind **out)
{
    const weft_doc *d, *kind;
    const char *name;

    WEFT_TRY(weft_plan_kind(path, a, &name));
    *out = weft_kind_find(name);
    if (*out != NULL)
        return WEFT_OK;
    WEFT_TRY(weft_doc_read(path, a, &d)); /* designs say it themselves */
    kind = weft_doc_get(d, "kind");
    *out = kind != NULL && kind->kind == WEFT_DOC_TEXT ? weft_kind_find(kind->text) : NULL;
    if (*out == NULL || !(*out)->is_design)
        *out = &weft_kind_mine; /* which says what is wrong with it */
    return WEFT_OK;
}

bool weft_kind_has_solver(const weft_kind *k, const char *name)
{
    weft_solver_entry s;

    for (int i = 0; k->solver(i, &s); i++)
        if (strcmp(s.name, name) == 0)
            return true;
    return false;
}

/* --- checks of plans ------------------------------------------------------------------------- */

/* Says what has changed since the plan was made: model, platform, or else the options. Nothing else
 * is checked then: it would be about another problem. */
static bool has_changed(weft_wrongs *w, const weft_check_result *v)
{
    const weft_plan_origin *o = v->file.origin;

    if (v->problem.problem_hash == o->problem_hash && v->problem.model_hash == o->model_hash &&
        (o->platform == NULL || v->problem.platform_hash == o->platform_hash))
        return false;
    weft_check_hash(w,
                    weft_arena_print(w->a, "model '%s'%s", o->model,
                                     o->platform ? "" : ", or what is asked of it,"),
                    v->problem.model_hash, o->model_hash);
    if (o->platform != NULL)
        weft_check_hash(w, weft_arena_print(w->a, "platform '%s'", o->platform),
                        v->problem.platform_hash, o->platform_hash);
    if (w->n == 0)
        weft_check_hash(w, "what the plan was asked for (goal, limits, batch and the like)",
                        v->problem.problem_hash, o->problem_hash);
    return true;
}

static void check_legality(weft_wrongs *w, const weft_check_result *v)
{
    weft_violation list[WEFT_MOST_WRONG];
    int n = v->kind->violations(&v->problem, v->solution, list, WEFT_MOST_WRONG, w->a);

    for (int i = 0; i < n && i < WEFT_MOST_WRONG; i++)
        weft_wrong(w, "%s", list[i].what);
    if (n > WEFT_MOST_WRONG)
        w->n += n - WEFT_MOST_WRONG;
}

/* The starts of the file, which the simulator replaces by its own. */
static weft_starts stated_starts(const weft_check_result *v, weft_arena *a)
{
    weft_starts s = {0};

    if (v->kind->starts == NULL)
        return s;
    v->kind->starts(v->solution, &s);
    s.start_s = weft_arena_copy(a, s.start_s, (size_t)s.n * sizeof *s.start_s);
    return s;
}

static void check_starts(weft_wrongs *w, const weft_check_result *v, const weft_starts *stated)
{
    int n_names;
    const char *const *name = v->kind->names(&v->problem, w->a, &n_names);
    weft_starts found;

    if (stated->n == 0)
        return;
    v->kind->starts(v->solution, &found);
    for (int i = 0; i < stated->n; i++)
        if (!(fabs(stated->start_s[i] - found.start_s[i]) <= WEFT_NEAR * found.span_s))
            weft_wrong(w, "%s '%s' starts at %.12g s in the plan, at %.12g s in the simulator",
                       v->kind->item, name[i % n_names], stated->start_s[i], found.start_s[i]);
}

static void check_plan(weft_wrongs *w, weft_check_result *v)
{
    const weft_kind *k = v->kind;
    weft_finding f = {.solver = v->file.origin->solver};
    weft_starts stated;

    if (has_changed(w, v))
        return;
    weft_check_origin(w, v->file.origin, v);
    if (k->check_file != NULL)
        k->check_file(w, v);
    if (!k->decide(&v->file, &v->problem, w, v->solution))
        return;
    check_legality(w, v);
    stated = stated_starts(v, w->a);
    if (k->evaluate(&v->problem, v->solution, w->a) != WEFT_OK) {
        if (w->n == 0) /* else it is one of those violations */
            weft_wrong(w, "%s", weft_message());
        return;
    }
    k->refuse(&v->problem, v->solution, w);
    check_starts(w, v, &stated);
    f.value = k->value(&v->problem, v->solution);
    k->certify(w, v, &f);
    weft_compare(w, "measures", v->file.measures, k->measures(&v->problem, v->solution, w->a));
    weft_check_proof(w, v->file.proof, &f, v);
    *k->proof(v->solution) = *v->file.proof;
    v->has_solution = true;
}

/* --- files ----------------------------------------------------------------------------------- */

/* The origin says which software is meant, also where the platform does. */
static void resolve_software(weft_check_result *v, weft_arena *a)
{
    weft_plan_origin *o = weft_arena_copy(a, v->file.origin, sizeof *v->file.origin);

    if (v->problem.platform != NULL)
        o->options = weft_model_options_on(&o->options, v->problem.platform);
    v->file.origin = o;
}

weft_status weft_verify(const char *plan_path, const char *model, const char *platform,
                        weft_arena *a, weft_check_result *out)
{
    weft_named by = {plan_path, model, platform};
    weft_wrongs w = weft_wrongs_new(a);
    const weft_kind *k;

    memset(out, 0, sizeof *out);
    WEFT_TRY(weft_kind_of_file(plan_path, a, &k));
    out->kind = k;
    WEFT_TRY(k->read(plan_path, a, &out->file));
    out->request = k->request(&out->file, &by, a);
    if (out->request == NULL) /* the row has said why */
        return WEFT_E_INPUT;
    WEFT_TRY(weft_explain_missing(k->open(out->request, NULL, a, &out->problem), &by,
                                  out->file.origin, a));
    resolve_software(out, a);
    out->solution = weft_arena_alloc(a, k->solution_size);
    if (k->check != NULL)
        k->check(&w, out);
    else
        check_plan(&w, out);
    out->n_wrong = w.n;
    out->wrong = w.line;
    return WEFT_OK;
}

void weft_check_result_close(weft_check_result *v)
{
    if (v->problem.of_kind != NULL)
        v->kind->close(v->problem.of_kind);
    v->problem.of_kind = NULL;
}

weft_status weft_case_nodes_open(const weft_check_result *v, const char *source, weft_arena *a,
                                 weft_case_nodes *out)
{
    weft_status status;

    memset(out, 0, sizeof *out);
    if (v->kind->nodes == NULL)
        return weft_fail(WEFT_E_INPUT, "--annotate is for plans, not for designs");
    status = v->kind->nodes(v, source, a, out);
    if (status != WEFT_OK)
        weft_case_nodes_close(out);
    return status;
}

void weft_case_nodes_close(weft_case_nodes *n)
{
    weft_model_free(n->model);
    memset(n, 0, sizeof *n);
}

/* --- deployment ------------------------------------------------------------------------------ */

weft_status weft_split_plan(const weft_check_result *v, const char *folder, weft_arena *a,
                            weft_split_net *out)
{
    weft_deployment d;

    if (v->kind->deploy == NULL)
        return weft_fail(WEFT_E_INPUT,
                         "this is a plan of weft %s: only plans of weft place can be split",
                         v->kind->command);
    WEFT_TRY(v->kind->deploy(v, a, &d));
    return weft_split_net_write(&d, folder, a, out);
}

/* --- reports --------------------------------------------------------------------------------- */

weft_status weft_kind_report(const weft_check_result *v, weft_arena *a, void **out)
{
    weft_proof bound;

    if (v->kind->report_begin == NULL) { /* the solution is what reports show */
        *out = v->solution;
        return WEFT_OK;
    }
    *out = weft_arena_alloc(a, v->kind->report_size);
    WEFT_TRY(v->kind->report_begin(&v->problem, v->file.origin, NULL, a, *out, &bound));
    return v->kind->report_end(&v->problem, v->solution, NULL, a, *out);
}

/* The text with the file alone wherever it has the path. */
static const char *without_folders(const char *text, const char *path, weft_arena *a)
{
    const char *at = strstr(text, path);

    if (at == NULL)
        return text;
    return weft_arena_print(a, "%.*s%s%s", (int)(at - text), text, weft_baseline_name(path),
                            without_folders(at + strlen(path), path, a));
}

static void hide_folders(weft_doc *d, const char *path, weft_arena *a)
{
    if (d->kind == WEFT_DOC_TEXT)
        d->text = without_folders(d->text, path, a);
    for (int i = 0; (d->kind == WEFT_DOC_LIST || d->kind == WEFT_DOC_MAP) && i < d->n; i++)
        hide_folders(d->item[i], path, a);
}

/* Pages go to other people: folders of this machine are not for them. */
static weft_doc *hidden(weft_doc *page, const weft_plan_origin *o, weft_arena *a)
{
    if (o != NULL && o->model != NULL && strchr(o->model, '/') != NULL)
        hide_folders(page, o->model, a);
    if (o != NULL && o->platform != NULL && strchr(o->platform, '/') != NULL)
        hide_folders(page, o->platform, a);
    return page;
}

weft_doc *weft_plan_page(const weft_kind *k, const weft_opened *p, const void *solution,
                         const void *report, const weft_remake *m, const weft_page_more *more,
                         weft_arena *a)
{
    weft_page_more all = *more;
    weft_why why;

    all.graph = all.network = p->graph;
    all.platform = p->platform;
    all.command = k->command_line(report, m, a);
    if (k->why != NULL) {
        k->why(p, solution, a, &why);
        all.why = &why;
    }
    /* The page belongs to `a` and keeps nothing of `all` itself. */
    // cppcheck-suppress returnDanglingLifetime
    return hidden(weft_write_page(k->facts(report, &all, a)), m->origin, a);
}

/* --- two plans ------------------------------------------------------------------------------- */

static weft_status check_alike(const char *const path[2], weft_arena *a)
{
    const weft_kind *kind[2];

    for (int i = 0; i < 2; i++)
        WEFT_TRY(weft_kind_of_file(path[i], a, &kind[i]));
    if (kind[0] == kind[1])
        return WEFT_OK;
    if (strcmp(kind[0]->command, kind[1]->command) == 0)
        return weft_fail(WEFT_E_INPUT,
                         "one of %s and %s is a design for a pipeline, the other is not; expected "
                         "two of one kind",
                         path[0], path[1]);
    return weft_fail(WEFT_E_INPUT, "%s is of weft %s, %s of weft %s; expected two of one kind",
                     path[0], kind[0]->command, path[1], kind[1]->command);
}

weft_status weft_pair_open(const char *const path[2], const char *model, const char *platform,
                           weft_arena *a, weft_pair *out)
{
    memset(out, 0, sizeof *out);
    WEFT_TRY(check_alike(path, a));
    for (int i = 0; i < 2; i++) {
        weft_check_result *v = &out->check[i];
        weft_status status = weft_verify(path[i], model, platform, a, v);

        if (status != WEFT_OK) {
            weft_pair_close(out);
            return status;
        }
        if (v->n_wrong > 0) /* a wrong design may have no objective */
            continue;
        out->side[i] = (weft_side){.a = a,
                                   .file = path[i],
                                   .origin = v->file.origin,
                                   .platform = v->problem.platform,
                                   .samples = NAN};
        v->kind->side(v, &out->side[i]);
    }
    return WEFT_OK;
}

void weft_pair_close(weft_pair *p)
{
    weft_check_result_close(&p->check[0]);
    weft_check_result_close(&p->check[1]);
}
