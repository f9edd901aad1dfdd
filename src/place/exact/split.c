/* SPDX-License-Identifier: MIT */
/* split.c: large problems by modules and windows.
 *
 * 1. Starts: the plans of the list schedulers, one stitched from modules (modularity.c, stitch.c),
 *    and the best of these annealed with chains as single tasks (anneal.c).
 * 2. Levels: the problem as it is, and with its chains as single tasks (fusion.c), where windows
 *    reach further.
 * 3. Streams begin at the best starts. A stream improves its schedule by exact windows (window.c):
 *    on the coarse level until many windows in a row gain nothing, then on the fine one, then
 *    on the coarse one again with other draws. Streams run side by side for a fixed number of
 *    steps; then the worst takes over the schedule of the best if it has fallen far behind.
 * 4. After each round the simulator judges what has changed; the best plan that it allows is kept.
 *
 * Subproblems know the transfer model `overlap` only. Under others they are what is searched, and the
 * simulator, which knows the model, chooses.
 *
 * Never worse than the best start. No other guarantee, no bound. The number of streams does not
 * depend on the number of threads unless only a limit in seconds is set, so with steps the same
 * seed gives the same plan. Ghannane, Abdelfattah, ICCAD 2023 (splitting by modularity; the method
 * here is our own). */
#include "anneal.h"
#include "first.h"
#include "fuse.h"
#include "list.h"
#include "modularity.h"
#include "stitch.h"
#include "subproblem.h"
#include "timing.h"
#include "window.h"

#include <math.h>
#include <string.h>

enum {
    N_LEVELS = 2,
    COARSE = 0,
    FINE = 1,
    MOST_STREAMS = 64,
    MOST_BEAM = 64,       /* of a window: deeper passes cost more than further windows */
    MODULE_BEAM = 512,    /* of a module */
    ROUND_STEPS = 200000, /* of a stream */
    MOST_IDLE = 8,        /* cycles of a stream without gain, if there is a limit to meet */
};
static const double ANNEAL_SHARE = 0.7; /* of what is left after the other starts */
static const double FAR_BEHIND = 1.02;  /* times the best value */
static const double LEAST_GAIN = 0.001; /* relative; a round or cycle that gains less is idle */

typedef struct split_options {
    const char *modules;
    double gamma;
    int64_t module, window, states, patience, streams;
} split_options;

/* clang-format off */
static const weft_option table[] = {
    {WEFT_TEXT(split_options, modules),  0,     0, 0,    "how modules are found: intervals of an order, or moves",      "interval", "interval|louvain"},
    {WEFT_REAL(split_options, gamma),    1,     0, 1e3,  "resolution of modularity; larger: smaller modules",           NULL, NULL},
    {WEFT_INT(split_options,  module),   24,    1, 1000, "tasks of a module, at most",                                  NULL, NULL},
    {WEFT_INT(split_options,  window),   32,    2, 1000, "tasks of a window that may move, at most",                    NULL, NULL},
    {WEFT_INT(split_options,  states),   20000, 1, 1e12, "steps of search in a module or window, at most",              NULL, NULL},
    {WEFT_INT(split_options,  patience), 100,   1, 1e9,  "windows without gain after which it looks elsewhere",         NULL, NULL},
    {WEFT_INT(split_options,  streams),  2,     1, 64,   "schedules improved side by side",                             NULL, NULL},
    WEFT_OPTIONS_END,
};
/* clang-format on */

typedef struct schedule {
    int *device;
    double *start_s;
    double value;
} schedule;

typedef struct stream {
    schedule at[N_LEVELS];
    double best; /* fine value at the end of the last cycle */
    int level, n_idle, n_rounds;
    int64_t steps; /* allowed in this round, then taken */
    bool has_changed;
} stream;

typedef struct work {
    const weft_problem *problem;
    const split_options *options;
    weft_run *run;
    weft_arena *arena;
    const weft_subproblem *subproblem[N_LEVELS];
    int *module[N_LEVELS], n_modules;
    weft_fused fused;
    schedule *start; /* of the fine level, best first */
    int n_starts, n_streams;
    stream *streams;
    int64_t steps;  /* taken */
    weft_best best; /* by the simulator */
} work;

/* --- judging --------------------------------------------------------------------------------- */

/* The starts of the plan are positions, as those of list schedulers: ties keep their order. */
static void judge(work *w, const schedule *s)
{
    int n = w->problem->n_tasks;
    weft_arena *a = weft_arena_new();
    weft_timing *t = weft_timing_new(w->subproblem[FINE], s->device, s->start_s, a);
    weft_plan plan = weft_plan_new(n, a);

    memcpy(plan.device, s->device, sizeof *s->device * (size_t)n);
    for (int u = 0; u < n; u++)
        plan.start_s[u] = t->place[u];
    weft_best_try(&w->best, w->problem, &plan, a);
    weft_arena_free(a);
}

/* --- starts ---------------------------------------------------------------------------------- */

static schedule schedule_new(int n_tasks, weft_arena *a)
{
    return (schedule){WEFT_NEW(a, int, n_tasks), WEFT_NEW(a, double, n_tasks), INFINITY};
}

static void copy_schedule(schedule *to, const schedule *from, int n_tasks)
{
    memcpy(to->device, from->device, sizeof *to->device * (size_t)n_tasks);
    memcpy(to->start_s, from->start_s, sizeof *to->start_s * (size_t)n_tasks);
    to->value = from->value;
}

/* Times a schedule on a level; INFINITY if the level does not allow it. */
static void time_schedule(const weft_subproblem *x, schedule *s)
{
    weft_arena *a = weft_arena_new();
    weft_timing *t = weft_timing_new(x, s->device, s->start_s, a);

    s->value = weft_timing_is_legal(t) ? t->value : INFINITY;
    memcpy(s->start_s, t->start_s, sizeof *s->start_s * (size_t)x->n_tasks);
    weft_arena_free(a);
}

/* Adds a start in its place; of equal ones the first stays in front. */
static void add_start(work *w, const schedule *s)
{
    int at = w->n_starts;

    if (!(s->value < INFINITY))
        return;
    for (; at > 0 && w->start[at - 1].value > s->value; at--)
        w->start[at] = w->start[at - 1];
    w->start[at] = *s;
    w->n_starts++;
}

static const weft_solver *const starters[] = {
    &weft_place_single, &weft_place_met,  &weft_place_greedy,
    &weft_place_heft,   &weft_place_cpop, &weft_place_peft,
};
enum { N_STARTERS = sizeof starters / sizeof *starters };

static weft_status start_with(work *w, const weft_solver *solver)
{
    int n = w->problem->n_tasks;
    weft_run run = *w->run;
    weft_plan plan = weft_plan_new(n, w->arena);
    weft_proof proof = {.outcome = WEFT_UNKNOWN};
    schedule s = schedule_new(n, w->arena);
    weft_status status;

    run.scratch = weft_arena_new();
    run.progress = NULL;
    status = solver->solve(w->problem, NULL, &run, &plan, &proof);
    weft_arena_free(run.scratch);
    WEFT_TRY(status);
    if (proof.outcome != WEFT_BOUNDED && proof.outcome != WEFT_OPTIMAL)
        return WEFT_OK;
    memcpy(s.device, plan.device, sizeof *s.device * (size_t)n);
    memcpy(s.start_s, plan.start_s, sizeof *s.start_s * (size_t)n);
    time_schedule(w->subproblem[FINE], &s);
    add_start(w, &s);
    weft_best_try(&w->best, w->problem, &plan, w->arena);
    return WEFT_OK;
}

/* Edges weigh what they take between the nearest two devices. */
static void find_modules(work *w)
{
    const weft_subproblem *x = w->subproblem[COARSE];
    int n = x->n_devices;
    double *weight = WEFT_NEW(w->arena, double, x->n_edges);
    weft_flow flow = {x->n_tasks, x->n_edges, x->from, x->to, weight};
    weft_module_rule rule = {w->options->gamma, (int)w->options->module};
    bool is_louvain = strcmp(w->options->modules, "louvain") == 0;

    for (int e = 0; e < x->n_edges; e++) {
        weight[e] = INFINITY;
        for (int k = 0; k < n * n; k++) {
            if (k % (n + 1) != 0)
                weight[e] = fmin(weight[e], x->send_s[(size_t)e * (size_t)(n * n) + (size_t)k]);
        }
        weight[e] = weight[e] < INFINITY ? weight[e] : 1;
    }
    w->module[COARSE] = WEFT_NEW(w->arena, int, x->n_tasks);
    w->n_modules = is_louvain ? weft_modules_louvain(&flow, &rule, w->arena, w->module[COARSE])
                              : weft_modules_interval(&flow, &rule, w->arena, w->module[COARSE]);
    w->module[FINE] = WEFT_NEW(w->arena, int, w->problem->n_tasks);
    for (int u = 0; u < w->problem->n_tasks; u++)
        w->module[FINE][u] = w->module[COARSE][w->fused.owner[u]];
}

static int64_t steps_left(const work *w)
{
    return w->run->steps - w->steps;
}

static bool is_over(const work *w)
{
    return (w->run->steps > 0 && steps_left(w) <= 0) || weft_run_is_over(w->run);
}

static void start_stitched(work *w)
{
    weft_stitch_options o = {w->module[COARSE], w->n_modules, w->options->states, MODULE_BEAM};
    schedule coarse = schedule_new(w->subproblem[COARSE]->n_tasks, w->arena);
    schedule fine = schedule_new(w->problem->n_tasks, w->arena);
    int64_t steps = w->run->steps > 0 ? (steps_left(w) + 3) / 4 : 0;

    coarse.value =
        weft_stitch(w->subproblem[COARSE], &o, w->run, coarse.device, coarse.start_s, &steps);
    w->steps += steps;
    if (!(coarse.value < INFINITY))
        return;
    weft_fused_expand(&w->fused, coarse.device, coarse.start_s, fine.device, fine.start_s);
    time_schedule(w->subproblem[FINE], &fine);
    add_start(w, &fine);
    judge(w, &fine);
}

/* The best start with chains as single tasks, annealed. */
static void start_annealed(work *w)
{
    schedule coarse = schedule_new(w->subproblem[COARSE]->n_tasks, w->arena);
    schedule fine = schedule_new(w->problem->n_tasks, w->arena);
    int64_t steps = w->run->steps > 0 ? (int64_t)(ANNEAL_SHARE * (double)steps_left(w)) + 1 : 0;
    weft_run run = weft_run_share(w->run, ANNEAL_SHARE);

    weft_fused_project(&w->fused, w->start[0].device, w->start[0].start_s, coarse.device,
                       coarse.start_s);
    time_schedule(w->subproblem[COARSE], &coarse);
    if (!(coarse.value < INFINITY))
        return;
    coarse.value =
        weft_anneal_spans(w->subproblem[COARSE], coarse.device, coarse.start_s, &run, &steps);
    w->steps += steps;
    weft_fused_expand(&w->fused, coarse.device, coarse.start_s, fine.device, fine.start_s);
    time_schedule(w->subproblem[FINE], &fine);
    add_start(w, &fine);
    judge(w, &fine);
}

static weft_status find_starts(work *w)
{
    w->start = WEFT_NEW(w->arena, schedule, N_STARTERS + 2);
    for (int i = 0; i < N_STARTERS; i++) {
        if (w->n_starts == 0 || !weft_run_is_over(w->run)) /* a stopped run has a plan, too */
            WEFT_TRY(start_with(w, starters[i]));
    }
    if (w->subproblem[FINE]->n_devices > WEFT_SUBPROBLEM_DEVICES || is_over(w))
        return WEFT_OK;
    find_modules(w);
    start_stitched(w);
    if (w->n_starts > 0 && !is_over(w))
        start_annealed(w);
    return WEFT_OK;
}

/* --- streams --------------------------------------------------------------------------------- */

static void go_coarse(const work *w, stream *s)
{
    weft_fused_project(&w->fused, s->at[FINE].device, s->at[FINE].start_s, s->at[COARSE].device,
                       s->at[COARSE].start_s);
    time_schedule(w->subproblem[COARSE], &s->at[COARSE]);
    s->level = s->at[COARSE].value < INFINITY ? COARSE : FINE;
}

/* The fine schedule stays if it is better than what comes from the coarse one. */
static void expand(const work *w, stream *s, weft_arena *a)
{
    schedule fine = schedule_new(w->problem->n_tasks, a);

    weft_fused_expand(&w->fused, s->at[COARSE].device, s->at[COARSE].start_s, fine.device,
                      fine.start_s);
    time_schedule(w->subproblem[FINE], &fine);
    if (fine.value >= s->at[FINE].value)
        return;
    copy_schedule(&s->at[FINE], &fine, w->problem->n_tasks);
    s->has_changed = true;
}

static void end_cycle(const work *w, stream *s)
{
    s->n_idle = s->at[FINE].value < s->best * (1 - LEAST_GAIN) ? 0 : s->n_idle + 1;
    s->best = s->at[FINE].value;
    if (w->subproblem[COARSE]->n_tasks < w->subproblem[FINE]->n_tasks)
        go_coarse(w, s);
}

/* Streams that gain nothing go on with other draws as long as there is a limit to meet. */
static bool is_idle(const work *w, const stream *s)
{
    bool has_limit = w->run->steps > 0 || w->run->limit_s < INFINITY;

    return s->n_idle >= (has_limit ? MOST_IDLE : 1);
}

static void improve(const work *w, stream *s, int64_t seed, weft_arena *a)
{
    schedule *at = &s->at[s->level];
    weft_window_options o = {.most_free = (int)w->options->window,
                             .most_states = w->options->states,
                             .most_beam = MOST_BEAM,
                             .patience = (int)w->options->patience,
                             .module = w->module[s->level],
                             .n_modules = w->n_modules};
    weft_run run = *w->run;
    double before = at->value;

    run.seed = seed;
    run.scratch = a;
    run.progress = NULL;
    at->value = weft_windows(w->subproblem[s->level], at->device, at->start_s, &o, &run, &s->steps);
    s->has_changed |= s->level == FINE && at->value < before;
}

/* A round of stream i. A level is left when it has little left to give. */
static void run_stream(void *context, int i)
{
    const work *w = context;
    stream *s = &w->streams[i];
    weft_rng all = weft_rng_seed((uint64_t)w->run->seed), rng;
    double before = s->at[s->level].value;
    int64_t allowed = s->steps;
    weft_arena *a;
    bool is_dry;

    if (is_idle(w, s)) {
        s->steps = 0;
        return;
    }
    a = weft_arena_new();
    rng = weft_rng_split(&all, (uint64_t)(s->n_rounds++ * MOST_STREAMS + i));
    improve(w, s, (int64_t)(weft_rng_next(&rng) >> 1), a);
    is_dry = s->steps < allowed || s->at[s->level].value > before * (1 - LEAST_GAIN);
    if (s->level == COARSE) {
        expand(w, s, a);
        s->level = is_dry ? FINE : COARSE;
    } else if (is_dry) {
        end_cycle(w, s);
    }
    weft_arena_free(a);
}

/* --- rounds ---------------------------------------------------------------------------------- */

static void open_streams(work *w)
{
    int n = (int)w->options->streams, n_coarse = w->subproblem[COARSE]->n_tasks;
    bool is_timed = w->run->limit_s < INFINITY && w->run->steps == 0;

    if (is_timed && w->run->n_threads > n)
        n = w->run->n_threads;
    n = n < w->n_starts ? n : w->n_starts;
    w->n_streams = n < MOST_STREAMS ? n : MOST_STREAMS;
    w->streams = WEFT_NEW(w->arena, stream, w->n_streams);
    for (int i = 0; i < w->n_streams; i++) {
        stream *s = &w->streams[i];

        s->at[COARSE] = schedule_new(n_coarse, w->arena);
        s->at[FINE] = w->start[i];
        s->best = INFINITY;
        s->level = FINE;
        if (n_coarse < w->problem->n_tasks)
            go_coarse(w, s);
    }
}

/* The worst stream begins anew at the best one if it is far behind. */
static void follow(work *w)
{
    stream *best = w->streams, *worst = w->streams;

    for (int i = 1; i < w->n_streams; i++) {
        stream *s = &w->streams[i];

        best = s->at[FINE].value < best->at[FINE].value ? s : best;
        worst = s->at[FINE].value > worst->at[FINE].value ? s : worst;
    }
    if (!(worst->at[FINE].value > best->at[FINE].value * FAR_BEHIND))
        return;
    copy_schedule(&worst->at[FINE], &best->at[FINE], w->problem->n_tasks);
    worst->n_idle = best->n_idle;
    worst->level = FINE;
    if (w->subproblem[COARSE]->n_tasks < w->problem->n_tasks)
        go_coarse(w, worst);
}

static void run_round(work *w, bool *has_work)
{
    int64_t steps = ROUND_STEPS;

    if (w->run->steps > 0 && steps_left(w) / w->n_streams < steps)
        steps = steps_left(w) / w->n_streams + 1;
    for (int i = 0; i < w->n_streams; i++)
        w->streams[i].steps = steps;
    weft_parallel(w->run->n_threads, w->n_streams, run_stream, w);
    *has_work = false;
    for (int i = 0; i < w->n_streams; i++) {
        stream *s = &w->streams[i];

        w->steps += s->steps;
        *has_work |= !is_idle(w, s);
        if (s->has_changed)
            judge(w, &s->at[FINE]);
        s->has_changed = false;
    }
    follow(w);
}

static void run_rounds(work *w)
{
    bool has_work = true;

    open_streams(w);
    while (has_work && !is_over(w)) {
        double before = w->best.value;

        run_round(w, &has_work);
        if (w->run->progress != NULL && w->best.value < before)
            w->run->progress(w->run->context, w->best.value, 0);
    }
}

static weft_status solve(const weft_problem *p, const void *options, weft_run *run, weft_plan *plan,
                         weft_proof *proof)
{
    weft_domain m = weft_domain_new(p, run->scratch);
    work w = {.problem = p, .options = options, .run = run, .arena = run->scratch};

    proof->outcome = m.is_empty ? WEFT_INFEASIBLE : WEFT_UNKNOWN;
    if (m.is_empty || p->constraints.goal != WEFT_LATENCY || p->transfer == WEFT_CALLS)
        return WEFT_OK;
    w.best = weft_best_new(p, w.arena);
    w.subproblem[FINE] = weft_subproblem_of(&m, w.arena);
    w.fused = weft_subproblem_fuse(w.subproblem[FINE], w.arena);
    w.subproblem[COARSE] = w.fused.coarse;
    WEFT_TRY(find_starts(&w));
    if (w.n_starts > 0 && w.subproblem[FINE]->n_devices <= WEFT_SUBPROBLEM_DEVICES && !is_over(&w))
        run_rounds(&w);
    weft_best_answer(&w.best, plan, proof);
    return WEFT_OK;
}

const weft_solver weft_place_split = {
    .name = "split",
    .summary = "for large networks: solves modules and windows exactly, one at a time",
    .options = table,
    .options_size = sizeof(split_options),
    .solve = solve,
    .applies = weft_is_schedule};
