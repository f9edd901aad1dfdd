/* SPDX-License-Identifier: MIT */
/* train_step.c: weft train MODEL --on PLATFORM: the plan with the shortest step. */
#include "cli.h"
#include "weft/api.h"
#include "weft/report.h"

#include <math.h>
#include <string.h>

static const char *const beside = "equal"; /* the solver that a plan is set beside */

static weft_status find_solver(const char *name, const weft_train_solver **out)
{
    const char *known[64];
    int n = 0;

    *out = weft_train_find(name);
    for (; n < weft_train_count() && n < 64; n++)
        known[n] = weft_train_at(n)->name;
    return *out ? WEFT_OK : weft_unknown_solver(name, known, n);
}

/* What is left of the time limit after spent_s, but a quarter of it at least. */
static weft_status run_solver(const weft_train_solver *s, const weft_training *p,
                              const weft_effort_flags *effort, double spent_s, weft_arena *a,
                              weft_train_solution *out)
{
    weft_watch watch = {0};
    weft_run run;
    weft_status status;

    WEFT_TRY(weft_effort_read(effort, WEFT_TRAIN_LIMIT, &watch, &run));
    run.limit_s = fmax(run.limit_s - spent_s, run.limit_s / 4);
    run.scratch = weft_arena_new();
    status = weft_train_solve(s, p, &run, a, out);
    weft_arena_free(run.scratch);
    weft_effort_end(&watch);
    return status;
}

static bool has_plan(const weft_train_solution *s)
{
    return s->proof.outcome == WEFT_OPTIMAL || s->proof.outcome == WEFT_BOUNDED;
}

static weft_doc *result_doc(const weft_train_report *r, weft_doc *plan, weft_arena *a)
{
    weft_doc *d = weft_train_report_result(r, a);

    weft_put_real(a, d, "seconds", r->solution->seconds);
    weft_put_int(a, d, "peak_rss_bytes", (int64_t)weft_peak_rss_bytes());
    weft_train_report_put(r, d, a);
    weft_doc_put(a, d, "plan", plan ? plan : weft_doc_new(a, WEFT_DOC_NULL));
    return d;
}

static weft_status write_doc(const weft_doc *d, const char *path, weft_arena *a)
{
    const char *text = weft_doc_json(d, 1, a);

    return weft_emit(path, text, strlen(text));
}

static weft_status show(const weft_train_report *r, weft_doc *plan, const weft_train_flags *f,
                        weft_arena *a)
{
    weft_collect c;

    if (f->quiet)
        return WEFT_OK;
    WEFT_TRY(weft_collect_begin(&c));
    if (f->json)
        fprintf(c.to, "%s\n", weft_doc_json(result_doc(r, plan, a), 1, a));
    else
        weft_train_report_text(r, f->verbose, weft_report_width(NULL), c.to);
    return weft_collect_emit(&c, NULL);
}

/* Only where devices differ does it say anything, and only if it has its time. */
static weft_status set_beside(const weft_training *p, const weft_train_flags *f, weft_arena *a,
                              weft_train_solution *equal, weft_train_report *r)
{
    const weft_train_solver *s = weft_train_find(beside);

    if (p->cluster->n_classes < 2 || s == NULL || strcmp(f->solver, beside) == 0 ||
        weft_effort_is_stopped())
        return WEFT_OK;
    WEFT_TRY(run_solver(s, p, f->effort, r->solution->seconds, a, equal));
    if (weft_effort_is_stopped())
        return WEFT_OK;
    r->equal = equal;
    return WEFT_OK;
}

/* Answers that are held against each other: that of the solver, and that beside it. */
typedef struct answers {
    const weft_training *problem;
    const weft_plan_origin *origin;
    const weft_train_solution *solution[2];
    const char *name[2];
} answers;

static weft_doc *plan_of(const void *context, int i, weft_arena *a)
{
    const answers *x = context;
    const weft_train_solution *s = x->solution[i];
    weft_plan_origin origin = *x->origin;

    origin.solver = x->name[i];
    return weft_pipeline_doc(x->problem, &s->plan, &s->proof, &origin,
                             weft_train_measures_doc(x->problem, &s->plan, &s->measures, a), a);
}

static weft_status cross_check(const weft_train_report *r)
{
    const answers x = {
        r->problem, r->origin, {r->solution,       r->equal},
          {r->origin->solver, beside  }
    };
    weft_claim claim[2] = {weft_claim_of(x.name[0], &r->solution->proof)};
    weft_contest both = {.n = 1, .claim = claim, .plan = plan_of, .context = &x};

    if (r->equal != NULL)
        claim[both.n++] = weft_claim_of(beside, &r->equal->proof);
    return weft_cross_check(&both);
}

static weft_status train(const weft_train_case *c, const weft_train_flags *f, weft_arena *a,
                         int *code)
{
    const weft_training *p = c->training;
    const weft_train_request *q = f->request;
    weft_plan_origin origin = {q->model,      q->platform,      NULL,
                               q->options,    f->solver,        f->effort->seed,
                               c->model_hash, c->platform_hash, p->hash};
    weft_train_report r = {.problem = p, .origin = &origin};
    const weft_train_solver *solver;
    weft_train_solution solution, equal;
    weft_doc *plan = NULL;

    WEFT_TRY(find_solver(f->solver, &solver));
    WEFT_TRY(run_solver(solver, p, f->effort, 0, a, &solution));
    r.solution = &solution;
    if ((has_plan(&solution) && (!f->quiet || *f->report)) ||
        solution.proof.outcome == WEFT_INFEASIBLE)
        WEFT_TRY(set_beside(p, f, a, &equal, &r));
    WEFT_TRY(cross_check(&r));
    if (has_plan(&solution)) {
        plan =
            weft_pipeline_doc(p, &solution.plan, &solution.proof, &origin,
                              weft_train_measures_doc(p, &solution.plan, &solution.measures, a), a);
        if (*f->output)
            WEFT_TRY(write_doc(plan, f->output, a));
        if (*f->trace)
            WEFT_TRY(write_doc(weft_train_report_trace(&r, a), f->trace, a));
        if (*f->report)
            WEFT_TRY(weft_page_write(
                weft_train_page(&r, c, &(weft_page_ask){.plan = f->output, .page = f->report}, a),
                f->report, a));
    } else {
        r.equal = NULL; /* it has no plan either, and nothing is to be set beside it */
        *code = WEFT_EXIT_NO;
    }
    return show(&r, plan, f, a);
}

weft_status weft_train_step(const weft_train_flags *f, weft_arena *a, int *code)
{
    weft_train_case c;
    weft_status status;

    WEFT_TRY(weft_train_case_open(f->request, &c));
    status = train(&c, f, a, code);
    weft_train_case_close(&c);
    return status;
}
