/* SPDX-License-Identifier: MIT */
/* mine_search.c: weft mine MODEL...: the search, what is shown meanwhile, and its result.
 *
 * Under mpirun all processes run the same search; process 0 alone keeps the study, writes files and
 * prints. Inputs that only some of them can read end all of them.
 *
 * A study that cannot be written any more (a full disk) ends no search: the answer is written and
 * shown, then the study is what fails. */
#define _POSIX_C_SOURCE 200809L
#include "command.h"
#include "kind.h"
#include "report.h"

#include <math.h>
#include <signal.h>
#include <string.h>

static const double TOLERANCE = 0.01; /* a winner stays while it is so near to the best */
static const double SHOW_EVERY_S = 0.1;
static const double SAME = 1e-9; /* relative difference that is none */

/* --- progress: a cache of evaluations is told of every design that is evaluated -------------- */

typedef struct meter {
    weft_watch *watch;
    weft_eval_cache study; /* find NULL: none */
    const char *unit;
    int64_t n_evaluated;
    const char **lost; /* why the study is not written any more */
    weft_arena *a;     /* of that */
} meter;

static bool find_design(void *context, int64_t index, double *step_s)
{
    meter *m = context;

    return m->study.find != NULL && m->study.find(m->study.context, index, step_s);
}

/* What it knows can still be asked for. */
static void lose_study(meter *m)
{
    *m->lost = weft_arena_print(m->a, "%s", weft_message());
    m->study.put = NULL;
}

static weft_status put_designs(void *context, int n, const int64_t *index, const double *step_s)
{
    meter *m = context;

    m->n_evaluated += n;
    if (m->study.put != NULL && m->study.put(m->study.context, n, index, step_s) != WEFT_OK)
        lose_study(m);
    return WEFT_OK;
}

static void show_progress(void *context, double value, double bound)
{
    meter *m = context;
    double now_s = weft_wall_s(), spent_s = now_s - m->watch->begin_s;
    char best[96] = "no design yet", least[96] = "", gap[32], text[320];

    if (m->watch->host->progress)
        m->watch->host->progress(m->watch->host->context, value, bound);
    if (now_s - m->watch->shown_s < SHOW_EVERY_S)
        return;
    m->watch->shown_s = now_s;
    m->watch->has_shown = true;
    if (value > 0)
        snprintf(best, sizeof best, "best %.5g %s", value, m->unit);
    if (value > 0 && bound < INFINITY)
        snprintf(least, sizeof least, ", bound %.5g, gap %s %%", bound,
                 weft_format_gap(bound / value - 1, 2, gap));
    snprintf(text, sizeof text, "%.1f s: %s%s, %lld designs, %.0f/s", spent_s, best, least,
             (long long)m->n_evaluated, (double)m->n_evaluated / fmax(spent_s, 1e-3));
    weft_progress(m->watch->host, text);
}

/* --- the search ------------------------------------------------------------------------------ */

typedef struct job {
    const weft_mine_flags *flags;
    weft_mine_case *mine;
    weft_objective objective; /* that of the case, with processes and times of the reference */
    const weft_miner *miner;
    weft_study *study; /* of process 0 */
    const char *lost;  /* why it could not be kept; NULL: it was */
    weft_found found;
    weft_design_sensitivity sensitivity;
    double seconds;
    weft_arena *a;
} job;

static bool is_first(const job *j)
{
    return j->objective.ranks == NULL || j->objective.ranks->me == 0;
}

static weft_status open_study(job *j, meter *m)
{
    weft_status status;

    if (*j->flags->study == '\0' || !is_first(j))
        return WEFT_OK;
    status = weft_study_open(j->flags->study, &j->study);
    if (status == WEFT_OK)
        status = weft_study_eval_cache(j->study, &j->objective, &m->study);
    if (status != WEFT_E_SYSTEM)
        return status;
    lose_study(m);
    return WEFT_OK;
}

/* An error of one process is one of all: *status becomes that of the first that has one. */
static weft_status agree(const job *j, weft_status status)
{
    const weft_ranks *r = j->objective.ranks;
    double *all;

    if (r == NULL)
        return status;
    all = WEFT_NEW(j->a, double, r->n);
    all[r->me] = (double)status;
    r->gather(r->context, all, r->n, 1);
    for (int i = 0; i < r->n && status == WEFT_OK; i++)
        if (all[i] > 0)
            status = weft_fail((weft_status)(int)all[i], "process %d of %d has failed", i, r->n);
    return status;
}

static weft_status run_miner(job *j, weft_run *run, meter *m)
{
    weft_eval_cache eval_cache = {find_design, put_designs, m};
    double begin_s = weft_wall_s();

    WEFT_TRY(agree(j, open_study(j, m)));
    WEFT_TRY(j->miner->mine(&j->objective, is_first(j) ? &eval_cache : NULL,
                            j->flags->make->effort->steps, run, j->a, &j->found));
    j->seconds = weft_wall_s() - begin_s;
    return WEFT_OK;
}

/* Schedules a design again, whose seconds a study may have known. */
static weft_status check_design(const job *j, const weft_objective *q, const weft_design_point *p,
                                double throughput)
{
    double *step_s = WEFT_NEW(j->a, double, q->n_workloads), again;
    char text[96];

    for (int i = 0; i < q->n_workloads; i++)
        step_s[i] = weft_eval_step_s(q->workload[i].eval[0], p);
    again = weft_objective_throughput(q, step_s);
    if (fabs(again - throughput) <= SAME * again)
        return WEFT_OK;
    return weft_fail(WEFT_E_INPUT,
                     "%s: the study gives %s a throughput of %.12g, and it has %.12g: the study "
                     "was changed, or is of other cost models; begin another one",
                     j->flags->study, weft_point_print(q->template_, p, text), throughput, again);
}

/* What a study knows is taken from it; the winner and the front are scheduled again. */
static weft_status check_recalled(const job *j)
{
    weft_objective q = j->objective;
    double *reference_s = WEFT_NEW(j->a, double, q.n_workloads);
    const weft_found *f = &j->found;

    if (f->n_recalled == 0)
        return WEFT_OK;
    for (int i = 0; i < q.n_workloads; i++)
        reference_s[i] = weft_eval_step_s(q.workload[i].eval[0], &q.reference);
    q.reference_s = reference_s;
    if (f->value > 0)
        WEFT_TRY(check_design(j, &q, &f->point, f->throughput));
    for (int i = 0; i < f->n_front; i++)
        WEFT_TRY(check_design(j, &q, &f->front[i].point, f->front[i].throughput));
    return WEFT_OK;
}

static weft_status run_sensitivity(job *j, weft_run *run)
{
    if (j->flags->sensitivity == 0 || !(j->found.value > 0))
        return WEFT_OK;
    return weft_objective_sensitivity(&j->objective, &j->found.point, &j->mine->maker,
                                      (int)j->flags->sensitivity, TOLERANCE, run, j->a,
                                      &j->sensitivity);
}

static weft_status search(job *j)
{
    weft_budget_flags effort = *j->flags->make->effort;
    weft_watch watch = {0};
    meter m = {.watch = &watch, .unit = weft_mine_unit(&j->objective), .lost = &j->lost, .a = j->a};
    weft_run run;
    weft_status status;

    effort.is_silent = j->flags->make->quiet || !is_first(j);
    WEFT_TRY(weft_budget_read(&effort, WEFT_MINE_LIMIT, &watch, &run));
    if (run.progress != NULL) {
        run.progress = show_progress;
        run.context = &m;
    }
    run.scratch = weft_arena_new();
    status = run_miner(j, &run, &m);
    if (status == WEFT_OK)
        status = agree(j, check_recalled(j));
    if (status == WEFT_OK)
        status = run_sensitivity(j, &run);
    weft_arena_free(run.scratch);
    weft_budget_end(&watch);
    weft_study_close(j->study);
    return status;
}

/* --- the result ------------------------------------------------------------------------------ */

static const weft_mine_figure *figures_of(const job *j)
{
    int n = j->objective.n_workloads;
    weft_mine_figure *list = WEFT_NEW(j->a, weft_mine_figure, n);
    bool has = j->found.value > 0;

    for (int i = 0; i < n; i++) {
        weft_workload_eval *m = j->objective.workload[i].eval[0];
        const weft_mine_need *need = &j->mine->need[i];

        list[i] = (weft_mine_figure){.macs = need->macs,
                                     .memory_bytes = need->memory_bytes,
                                     .fits = need->fits,
                                     .reference_s = weft_eval_step_s(m, &j->objective.reference)};
        if (has) {
            list[i].step_s = weft_eval_step_s(m, &j->found.point);
            list[i].schedule_s = weft_eval_headtail_s(m, &j->found.point);
        }
    }
    return list;
}

/* A design that is worth something within the limits. */
static weft_claim claim_of_design(const weft_objective *q, const char *by,
                                  const weft_design_point *point)
{
    double value = weft_objective_value(q, 0, point);

    return weft_claim_plan(by, value > 0 ? value : NAN, INFINITY);
}

static weft_doc *plan_of(const void *context, int i, weft_arena *a)
{
    return i == 0 ? weft_mine_design_doc(context, a) : NULL;
}

/* The design found, the reference and those of the front against the bound. */
static weft_status cross_check(const job *j, const weft_mine_report *r)
{
    const weft_found *f = &j->found;
    double *reference_s = WEFT_NEW(j->a, double, j->objective.n_workloads);
    weft_claim *claim = WEFT_NEW(j->a, weft_claim, f->n_front + 2);
    weft_objective objective = j->objective;

    for (int i = 0; i < objective.n_workloads; i++)
        reference_s[i] = r->figure[i].reference_s;
    objective.reference_s = reference_s;
    claim[0] = (weft_claim){.by = j->flags->make->solver,
                            .outcome = f->outcome,
                            .value = f->value > 0 ? f->value : NAN,
                            .bound = f->bound};
    claim[1] = claim_of_design(&objective, "reference", &objective.reference);
    for (int i = 0; i < f->n_front; i++)
        claim[i + 2] = claim_of_design(&objective, "a design of the front", &f->front[i].point);
    return weft_cross_check(&(weft_contest){.n = f->n_front + 2,
                                            .claim = claim,
                                            .is_max = true,
                                            .unit = weft_mine_unit(&objective),
                                            .plan = plan_of,
                                            .context = r});
}

static weft_status write_front(const job *j, const weft_mine_report *r)
{
    weft_collect c;

    if (*j->flags->pareto == '\0' || !(j->found.value > 0))
        return WEFT_OK;
    WEFT_TRY(weft_collect_begin(&c));
    weft_mine_report_csv(r, c.to);
    return weft_collect_emit(&c, j->flags->pareto);
}

static weft_status report(const job *j, int *code)
{
    weft_mine_report r = {.objective = &j->objective,
                          .found = &j->found,
                          .figure = figures_of(j),
                          .solver = j->flags->make->solver,
                          .dtype = j->flags->dtype,
                          .optimizer = j->flags->optimizer,
                          .options = &j->flags->request->options,
                          .seed = j->flags->make->effort->seed,
                          .evaluations = j->flags->make->effort->steps};
    const weft_opened p = {.of_kind = j->mine, .graph = j->mine->trained[0]->graph};
    const weft_made x = {weft_kind_find("mine"), &p, NULL, &r, &r, j->seconds, true};

    if (j->flags->sensitivity > 0 && j->found.value > 0)
        r.sensitivity = &j->sensitivity;
    WEFT_TRY(cross_check(j, &r));
    if (!(j->found.value > 0))
        *code = WEFT_EXIT_NO;
    if (!is_first(j))
        return WEFT_OK;
    WEFT_TRY(write_front(j, &r));
    WEFT_TRY(weft_make_show(j->flags->make, &x, j->a, code));
    if (j->lost == NULL)
        return WEFT_OK;
    return weft_fail(WEFT_E_SYSTEM, "%s; the search went on without it, and its answer is whole",
                     j->lost);
}

/* --- processes ------------------------------------------------------------------------------- */

static weft_status mine(const weft_mine_flags *f, const weft_ranks *ranks, weft_arena *a, int *code)
{
    weft_mine_case c = {0};
    job j = {.flags = f, .mine = &c, .a = a, .objective.ranks = ranks};
    weft_status status = weft_make_check_solver(weft_kind_find("mine"), NULL, f->make->solver, a);

    j.miner = weft_miner_find(f->make->solver);
    if (status == WEFT_OK)
        status = weft_mine_case_open(f->request, &c);
    status = agree(&j, status);
    if (status == WEFT_OK) {
        j.objective = c.objective;
        j.objective.ranks = ranks;
        status = search(&j);
    }
    if (status == WEFT_OK)
        status = report(&j, code);
    if (c.arena != NULL)
        weft_mine_case_close(&c);
    return status;
}

weft_status weft_mine_search(const weft_mine_flags *f, weft_arena *a, int *code)
{
    const weft_host *host = weft_host_now();
    weft_ranks ranks;
    weft_status status;

    if (f->n_processes == 1)
        return mine(f, NULL, a, code);
    if (!weft_ranks_is_built())
        return weft_fail(WEFT_E_INPUT,
                         "several processes were started, and this weft was built without MPI");
    WEFT_TRY(weft_ranks_open(&ranks));
    status = mine(f, &ranks, a, code);
    /* Process 0 says it, and before the others may end: one that fails ends all. */
    if (status != WEFT_OK && ranks.me == 0)
        weft_complain(weft_arena_print(a, "weft: %s", weft_message()));
    if (host->mute)
        host->mute(host->context);
    weft_ranks_close(&ranks);
    return status;
}
