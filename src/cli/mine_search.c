/* SPDX-License-Identifier: MIT */
/* mine_search.c: weft mine MODEL...: the search, what is shown meanwhile, and its result.
 *
 * Under mpirun all processes run the same search; process 0 alone keeps the study, writes files and
 * prints. Inputs that only some of them can read end all of them.
 *
 * A study that cannot be written any more (a full disk) ends no search: the answer is written and
 * shown, then the study is what fails. */
#define _POSIX_C_SOURCE 200809L
#include "cli.h"
#include "weft/api.h"
#include "weft/report.h"

#include <math.h>
#include <signal.h>
#include <string.h>

static const double TOLERANCE = 0.01; /* a winner stays while it is so near to the best */
static const double SHOW_EVERY_S = 0.1;
static const double SAME = 1e-9; /* relative difference that is none */

static weft_status find_solver(const char *name, const weft_miner **out)
{
    const char *known[64];
    int n = 0;

    *out = weft_miner_find(name);
    for (; n < weft_miner_count() && n < 64; n++)
        known[n] = weft_miner_at(n)->name;
    return *out ? WEFT_OK : weft_unknown_solver(name, known, n);
}

/* --- progress: a ledger is told of every design that is evaluated ------------------------------
 */

typedef struct meter {
    weft_watch *watch;
    weft_ledger study; /* find NULL: none */
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
    weft_progress(text);
}

/* --- the search --------------------------------------------------------------------------------
 */

typedef struct job {
    const weft_mine_flags *flags;
    weft_mine_case *mine;
    weft_quest quest; /* that of the case, with processes and times of the reference */
    const weft_miner *miner;
    weft_study *study; /* of process 0 */
    const char *lost;  /* why it could not be kept; NULL: it was */
    weft_found found;
    weft_sensitivity sensitivity;
    double seconds;
    weft_arena *a;
} job;

static bool is_first(const job *j)
{
    return j->quest.ranks == NULL || j->quest.ranks->me == 0;
}

static weft_status open_study(job *j, meter *m)
{
    weft_status status;

    if (*j->flags->study == '\0' || !is_first(j))
        return WEFT_OK;
    status = weft_study_open(j->flags->study, &j->study);
    if (status == WEFT_OK)
        status = weft_study_ledger(j->study, &j->quest, &m->study);
    if (status != WEFT_E_SYSTEM)
        return status;
    lose_study(m);
    return WEFT_OK;
}

/* An error of one process is one of all: *status becomes that of the first that has one. */
static weft_status agree(const job *j, weft_status status)
{
    const weft_ranks *r = j->quest.ranks;
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
    weft_ledger ledger = {find_design, put_designs, m};
    double begin_s = weft_wall_s();

    WEFT_TRY(agree(j, open_study(j, m)));
    WEFT_TRY(j->miner->mine(&j->quest, is_first(j) ? &ledger : NULL, j->flags->effort->steps, run,
                            j->a, &j->found));
    j->seconds = weft_wall_s() - begin_s;
    return WEFT_OK;
}

/* Schedules a design again, whose seconds a study may have known. */
static weft_status check_design(const job *j, const weft_quest *q, const weft_point *p,
                                double throughput)
{
    double *step_s = WEFT_NEW(j->a, double, q->n_workloads), again;
    char text[96];

    for (int i = 0; i < q->n_workloads; i++)
        step_s[i] = weft_mill_step_s(q->workload[i].mill[0], p);
    again = weft_quest_throughput(q, step_s);
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
    weft_quest q = j->quest;
    double *reference_s = WEFT_NEW(j->a, double, q.n_workloads);
    const weft_found *f = &j->found;

    if (f->n_recalled == 0)
        return WEFT_OK;
    for (int i = 0; i < q.n_workloads; i++)
        reference_s[i] = weft_mill_step_s(q.workload[i].mill[0], &q.reference);
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
    return weft_quest_sensitivity(&j->quest, &j->found.point, &j->mine->workshop,
                                  (int)j->flags->sensitivity, TOLERANCE, run, j->a,
                                  &j->sensitivity);
}

static weft_status search(job *j)
{
    weft_effort_flags effort = *j->flags->effort;
    weft_watch watch = {0};
    meter m = {.watch = &watch, .unit = weft_mine_unit(&j->quest), .lost = &j->lost, .a = j->a};
    weft_run run;
    weft_status status;

    effort.is_silent = j->flags->quiet || !is_first(j);
    WEFT_TRY(weft_effort_read(&effort, WEFT_MINE_LIMIT, &watch, &run));
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
    weft_effort_end(&watch);
    weft_study_close(j->study);
    return status;
}

/* --- the result --------------------------------------------------------------------------------
 */

static const weft_mine_figure *figures_of(const job *j)
{
    int n = j->quest.n_workloads;
    weft_mine_figure *list = WEFT_NEW(j->a, weft_mine_figure, n);
    bool has = j->found.value > 0;

    for (int i = 0; i < n; i++) {
        weft_mill *m = j->quest.workload[i].mill[0];
        const weft_mine_need *need = &j->mine->need[i];

        list[i] = (weft_mine_figure){.macs = need->macs,
                                     .memory_bytes = need->memory_bytes,
                                     .fits = need->fits,
                                     .reference_s = weft_mill_step_s(m, &j->quest.reference)};
        if (has) {
            list[i].step_s = weft_mill_step_s(m, &j->found.point);
            list[i].schedule_s = weft_mill_headtail_s(m, &j->found.point);
        }
    }
    return list;
}

/* A design that is worth something within the limits. */
static weft_claim claim_of_design(const weft_quest *q, const char *by, const weft_point *point)
{
    double value = weft_quest_value(q, 0, point);

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
    double *reference_s = WEFT_NEW(j->a, double, j->quest.n_workloads);
    weft_claim *claim = WEFT_NEW(j->a, weft_claim, f->n_front + 2);
    weft_quest quest = j->quest;

    for (int i = 0; i < quest.n_workloads; i++)
        reference_s[i] = r->figure[i].reference_s;
    quest.reference_s = reference_s;
    claim[0] = (weft_claim){.by = j->flags->solver,
                            .outcome = f->outcome,
                            .value = f->value > 0 ? f->value : NAN,
                            .bound = f->bound};
    claim[1] = claim_of_design(&quest, "reference", &quest.reference);
    for (int i = 0; i < f->n_front; i++)
        claim[i + 2] = claim_of_design(&quest, "a design of the front", &f->front[i].point);
    return weft_cross_check(&(weft_contest){.n = f->n_front + 2,
                                            .claim = claim,
                                            .is_max = true,
                                            .unit = weft_mine_unit(&quest),
                                            .plan = plan_of,
                                            .context = r});
}

static weft_doc *result_doc(const job *j, const weft_mine_report *r, weft_doc *plan)
{
    weft_arena *a = j->a;
    weft_doc *d = weft_mine_report_result(r, a);

    weft_put_real(a, d, "seconds", j->seconds);
    weft_put_int(a, d, "peak_rss_bytes", (int64_t)weft_peak_rss_bytes());
    weft_mine_report_put(r, d, a);
    weft_doc_put(a, d, "plan", plan ? plan : weft_doc_new(a, WEFT_DOC_NULL));
    return d;
}

static weft_status write_files(const job *j, const weft_mine_report *r, const weft_doc *plan)
{
    weft_collect c;

    if (*j->flags->output) {
        const char *text = weft_arena_print(j->a, "%s\n", weft_doc_json(plan, 1, j->a));

        WEFT_TRY(weft_emit(j->flags->output, text, strlen(text)));
    }
    if (*j->flags->report)
        WEFT_TRY(weft_page_write(
            weft_mine_page(r, j->mine,
                           &(weft_page_ask){.plan = j->flags->output, .page = j->flags->report},
                           j->a),
            j->flags->report, j->a));
    if (*j->flags->pareto == '\0')
        return WEFT_OK;
    WEFT_TRY(weft_collect_begin(&c));
    weft_mine_report_csv(r, c.to);
    return weft_collect_emit(&c, j->flags->pareto);
}

static weft_status show(const job *j, const weft_mine_report *r, weft_doc *plan)
{
    weft_collect c;

    if (j->flags->quiet)
        return WEFT_OK;
    WEFT_TRY(weft_collect_begin(&c));
    if (j->flags->json)
        fprintf(c.to, "%s\n", weft_doc_json(result_doc(j, r, plan), 1, j->a));
    else
        weft_mine_report_text(r, j->flags->verbose, weft_report_width(NULL), c.to);
    return weft_collect_emit(&c, NULL);
}

static weft_status report(const job *j, int *code)
{
    weft_mine_report r = {.quest = &j->quest,
                          .found = &j->found,
                          .figure = figures_of(j),
                          .solver = j->flags->solver,
                          .dtype = j->flags->dtype,
                          .optimizer = j->flags->optimizer,
                          .options = &j->flags->request->options,
                          .seed = j->flags->effort->seed,
                          .evaluations = j->flags->effort->steps};
    weft_doc *plan;

    if (j->flags->sensitivity > 0 && j->found.value > 0)
        r.sensitivity = &j->sensitivity;
    WEFT_TRY(cross_check(j, &r));
    plan = weft_mine_design_doc(&r, j->a);
    if (plan == NULL)
        *code = WEFT_EXIT_NO;
    if (!is_first(j))
        return WEFT_OK;
    if (plan != NULL)
        WEFT_TRY(write_files(j, &r, plan));
    WEFT_TRY(show(j, &r, plan));
    if (j->lost == NULL)
        return WEFT_OK;
    return weft_fail(WEFT_E_SYSTEM, "%s; the search went on without it, and its answer is whole",
                     j->lost);
}

/* --- processes ---------------------------------------------------------------------------------
 */

static weft_status mine(const weft_mine_flags *f, const weft_ranks *ranks, weft_arena *a, int *code)
{
    weft_mine_case c = {0};
    job j = {.flags = f, .mine = &c, .a = a, .quest.ranks = ranks};
    weft_status status = find_solver(f->solver, &j.miner);

    if (status == WEFT_OK)
        status = weft_mine_case_open(f->request, &c);
    status = agree(&j, status);
    if (status == WEFT_OK) {
        j.quest = c.quest;
        j.quest.ranks = ranks;
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
    weft_ranks ranks;
    weft_status status;

    signal(SIGXFSZ, SIG_IGN); /* a file that grows too large is an error like others */
    if (f->n_processes == 1)
        return mine(f, NULL, a, code);
    if (!weft_ranks_is_built())
        return weft_fail(WEFT_E_INPUT,
                         "several processes were started, and this weft was built without MPI");
    WEFT_TRY(weft_ranks_open(&ranks));
    status = mine(f, &ranks, a, code);
    if (ranks.me > 0) /* process 0 says it */
        weft_mute();
    weft_ranks_close(&ranks);
    return status;
}
