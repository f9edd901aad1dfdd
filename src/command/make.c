/* SPDX-License-Identifier: MIT */
/* make.c: what place, shard, train and mine have in common: open, search, check, write, print. */
#include "command.h"
#include "kind.h"
#include "own.h"

#include <math.h>
#include <string.h>

static weft_status check_solver(const weft_kind *k, const char *name)
{
    const char *known[64];
    weft_solver_entry s;
    int n = 0;

    for (; n < 64 && k->solver(n, &s); n++)
        known[n] = s.name;
    return weft_kind_has_solver(k, name) ? WEFT_OK : weft_unknown_solver(name, known, n);
}

weft_status weft_make_check_solver(const weft_kind *k, const weft_opened *p, const char *name,
                                   weft_arena *a)
{
    const char *why;

    if (weft_own_is(name))
        return weft_own_check(k, name);
    WEFT_TRY(check_solver(k, name));
    why = k->unfit != NULL && p != NULL ? k->unfit(p, name, a) : NULL;
    if (why == NULL)
        return WEFT_OK;
    return weft_fail(WEFT_E_INPUT,
                     "solver '%s' does not know this kind of problem (%s); try --solver auto", name,
                     why);
}

static bool is_given(const char *path)
{
    return path != NULL && *path != '\0';
}

/* --- output ---------------------------------------------------------------------------------- */

static weft_status write_doc(const weft_doc *d, const char *path, weft_arena *a)
{
    const char *text = weft_arena_print(a, "%s\n", weft_doc_json(d, 1, a));

    return weft_emit(path, text, strlen(text));
}

static weft_page *brief_of(const weft_made *x, weft_arena *a)
{
    const weft_page_more brief = {.is_brief = true, .network = x->problem->graph};

    /* The page keeps nothing of `brief` itself. */
    // cppcheck-suppress returnDanglingLifetime
    return x->kind->facts(x->report, &brief, a);
}

static weft_status write_dot(const weft_made *x, const char *path)
{
    weft_collect c;

    WEFT_TRY(weft_collect_begin(&c));
    x->kind->dot(x->report, c.to);
    return weft_collect_emit(&c, path);
}

static weft_status write_files(const weft_make *m, const weft_made *x, const weft_doc *plan,
                               weft_arena *a)
{
    const weft_remake names = {m->output, m->page, x->origin};

    if (is_given(m->output))
        WEFT_TRY(write_doc(plan, m->output, a));
    if (is_given(m->trace))
        WEFT_TRY(write_doc(weft_write_trace(brief_of(x, a), a), m->trace, a));
    if (is_given(m->dot))
        WEFT_TRY(write_dot(x, m->dot));
    if (is_given(m->page))
        WEFT_TRY(weft_page_write(weft_plan_page(x->kind, x->problem, x->solution, x->report, &names,
                                                &(weft_page_more){.version = weft_version()}, a),
                                 m->page, a));
    return WEFT_OK;
}

static weft_doc *result_doc(const weft_made *x, weft_doc *plan, weft_arena *a)
{
    weft_doc *d = weft_write_result(brief_of(x, a));

    weft_put_real(a, d, "seconds", x->seconds);
    weft_put_int(a, d, "peak_rss_bytes", (int64_t)weft_peak_rss_bytes());
    weft_doc_put(a, d, "plan", plan ? plan : weft_doc_new(a, WEFT_DOC_NULL));
    return d;
}

weft_status weft_make_show(const weft_make *m, const weft_made *x, weft_arena *a, int *code)
{
    weft_doc *plan = x->has_plan ? x->kind->write(x->problem, x->solution, x->origin, a) : NULL;
    weft_collect c;

    if (plan != NULL)
        WEFT_TRY(write_files(m, x, plan, a));
    else
        *code = WEFT_EXIT_NO;
    if (m->quiet)
        return WEFT_OK;
    WEFT_TRY(weft_collect_begin(&c));
    if (m->json)
        fprintf(c.to, "%s\n", weft_doc_json(result_doc(x, plan, a), 1, a));
    else
        weft_write_text(brief_of(x, a), m->is_long, weft_report_width(NULL), c.to);
    return weft_collect_emit(&c, NULL);
}

/* --- the search ------------------------------------------------------------------------------ */

static weft_doc *plan_of(const void *context, int i, weft_arena *a)
{
    const weft_answers *x = context;
    weft_plan_origin origin = *x->origin;

    if (i >= x->n)
        return NULL;
    origin.solver = x->name[i];
    /* The document belongs to `a` and keeps nothing of the origin. */
    // cppcheck-suppress returnDanglingLifetime
    return x->kind->write(x->problem, x->solution[i], &origin, a);
}

weft_status weft_make_cross_check(const weft_answers *x, weft_arena *a)
{
    weft_claim *claim = WEFT_NEW(a, weft_claim, x->n + WEFT_MOST_BESIDE);
    weft_contest all = {.n = x->n,
                        .claim = claim,
                        .is_max = x->kind->is_max,
                        .unit = x->kind->is_max ? x->kind->value_name(x->problem) : NULL,
                        .plan = plan_of,
                        .context = x};

    for (int i = 0; i < x->n; i++)
        claim[i] = weft_claim_of(x->name[i], x->kind->proof(x->solution[i]));
    all.n += x->kind->beside(x->report, claim + x->n);
    return weft_cross_check(&all);
}

weft_status weft_make_solve(const weft_kind *k, const weft_opened *p, const char *solver,
                            const weft_proof *bound, const weft_run *like, weft_arena *a,
                            weft_made *out)
{
    weft_run run = *like;
    weft_status status;
    double begin_s = weft_wall_s();

    if (run.limit_s < INFINITY) /* what comes before the search has its part of the limit */
        run.limit_s = fmax(weft_run_left_s(like), run.limit_s / 4);
    run.scratch = weft_arena_new();
    out->solution = weft_arena_alloc(a, k->solution_size);
    status = weft_own_is(solver)
                 ? weft_own_solve(k, p, solver, &run, a, out->solution)
                 : k->solve(p, solver, &run, bound->method ? bound : NULL, a, out->solution);
    weft_arena_free(run.scratch);
    out->seconds = weft_wall_s() - begin_s;
    return status;
}

static weft_status search(const weft_make *m, const weft_run *run, weft_watch *watch, weft_made *x,
                          weft_arena *a)
{
    const weft_kind *k = m->kind;
    bool is_shown = !m->quiet || is_given(m->page) || is_given(m->trace) || is_given(m->dot);
    weft_proof bound = {0};

    x->report = weft_arena_alloc(a, k->report_size);
    WEFT_TRY(k->report_begin(x->problem, x->origin, run, a, x->report, &bound));
    WEFT_TRY(weft_make_solve(k, x->problem, m->solver, &bound, run, a, x));
    x->has_plan = weft_has_plan(k->proof(x->solution));
    if (is_shown || !x->has_plan)
        WEFT_TRY(k->report_end(x->problem, x->solution, run, a, x->report));
    weft_budget_wipe(watch);
    return weft_make_cross_check(
        &(weft_answers){k, x->problem, x->report, x->origin, 1, &x->solution, &m->solver}, a);
}

static weft_status make(const weft_make *m, const weft_opened *p, const weft_run *run,
                        weft_watch *watch, weft_arena *a, int *code)
{
    weft_plan_origin origin = weft_make_origin(m, p);
    const char *solver = weft_own_is(m->solver) ? weft_own_name(m->solver, a) : m->solver;
    weft_made x = {.kind = m->kind, .problem = p, .origin = &origin};
    bool is_done = false;

    origin.solver = solver;
    WEFT_TRY(weft_make_check_solver(m->kind, p, m->solver, a));
    if (m->first != NULL)
        WEFT_TRY(m->first(m, p, &origin, a, &is_done, code));
    if (is_done)
        return WEFT_OK;
    WEFT_TRY(search(m, run, watch, &x, a));
    return weft_make_show(m, &x, a, code);
}

weft_plan_origin weft_make_origin(const weft_make *m, const weft_opened *p)
{
    return (weft_plan_origin){.model = m->model,
                              .platform = p->platform ? m->platform : NULL,
                              .format = is_given(m->format) ? m->format : NULL,
                              .options = weft_model_options_on(m->options, p->platform),
                              .solver = m->solver,
                              .seed = m->effort->seed,
                              .model_hash = p->model_hash,
                              .platform_hash = p->platform_hash,
                              .problem_hash = p->problem_hash};
}

weft_status weft_make_plan(const weft_make *m, weft_arena *a, int *code)
{
    weft_watch watch = {0};
    weft_opened p;
    weft_run run;
    weft_status status;

    WEFT_TRY(weft_budget_read(m->effort, m->kind->limit, &watch, &run));
    run.begin_s = weft_wall_s();
    status = m->kind->open(m->request, NULL, a, &p);
    if (status == WEFT_OK) {
        status = make(m, &p, &run, &watch, a, code);
        m->kind->close(p.of_kind);
    }
    weft_budget_end(&watch);
    return status;
}
