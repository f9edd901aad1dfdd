/* SPDX-License-Identifier: MIT */
/* pricing.c: what upgrades are worth.
 *
 * For each upgraded machine:
 * 1. Its document is written as text and read as a platform file (or a file of tasks) is: nothing
 *    but the text differs from what a user gets who edits the file.
 * 2. The problem is solved as the command that made the plan does it, with the same solver.
 * 3. The old plan, by the names of tasks and devices, is checked and simulated there. If it is
 *    better than what was found, it is the answer: more machine is never worth less to those who
 *    keep their plan. (Where data takes another route because a link became faster, the old plan
 *    itself may take longer than before.)
 *
 * Upgrades do not depend on each other, so they may run side by side; each has memory of its own.
 */
#include "verdict.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef struct pricer {
    const weft_question *q;
    const weft_pricing *how;
    const char *solver;
    double before;
    const weft_upgrade *upgrade;
    weft_priced *out;
    weft_status *status;
    char (*message)[512]; /* of a status that is no verdict on the upgrade */
    weft_arena **arena;   /* [n] */
    int n;
    atomic_int n_done;
} pricer;

/* What one machine gives. */
typedef struct offer {
    weft_proof proof; /* value NAN: no plan */
    double kept;
} offer;

static weft_run run_of(const pricer *p, weft_arena *scratch)
{
    const weft_run *like = &p->how->run;

    return (weft_run){.seed = like->seed,
                      .n_threads = 1,
                      .limit_s = like->limit_s,
                      .steps = like->steps,
                      .stop = like->stop,
                      .scratch = scratch};
}

/* --- placement ------------------------------------------------------------------------------- */

static int find_name(const char *const *name, int n, const char *wanted)
{
    for (int i = 0; i < n; i++)
        if (strcmp(name[i], wanted) == 0)
            return i;
    return -1;
}

/* The decisions of the file for this problem; false: a task or a device is not there. */
static bool decide(const weft_plan_file *f, const weft_problem *p, weft_arena *a, weft_plan *out)
{
    weft_map *tasks = weft_map_new(a);
    size_t n = (size_t)f->n_tasks;

    if (f->n_tasks != p->n_tasks)
        return false;
    for (int u = 0; u < p->n_tasks; u++)
        weft_map_set(tasks, p->task_name[u], strlen(p->task_name[u]), u);
    *out = weft_plan_new_ways(p->n_tasks, f->n_ways, a);
    for (int w = 0; w < f->n_ways; w++) {
        out->share[w] = f->share[w];
        for (size_t i = 0; i < n; i++) {
            int u = weft_map_get(tasks, f->task[i], strlen(f->task[i]));
            int d = find_name(p->device_name, p->n_devices, f->device[(size_t)w * n + i]);

            if (u < 0 || d < 0)
                return false;
            out->device[(size_t)w * n + (size_t)u] = d;
            out->start_s[(size_t)w * n + (size_t)u] = f->start_s[(size_t)w * n + i];
        }
    }
    return true;
}

static double kept_placement(const weft_plan_file *f, const weft_problem *p, weft_arena *a)
{
    weft_plan plan;
    weft_measures m;
    weft_breach breach;

    if (!decide(f, p, a, &plan) || weft_evaluate(p, &plan, a, &m) != WEFT_OK ||
        m.over_device >= 0 || !weft_ask_allows(&p->ask, m.makespan_s, m.period_s) ||
        weft_plan_check(p, &plan, &breach, 1, a) > 0)
        return NAN;
    return weft_goal_value(p, &m);
}

static weft_status offer_placement(const pricer *p, const char *machine, weft_arena *a, offer *out)
{
    const weft_solver *solver = weft_place_find(p->solver);
    weft_request request = p->q->place;
    weft_run run = run_of(p, a);
    weft_solution s;
    weft_proof bound;
    weft_case c;
    weft_status status;

    request.machine = machine;
    WEFT_TRY(weft_case_open(&request, &c));
    weft_place_bound(c.problem, a, &bound);
    run.scratch = weft_arena_new();
    status = weft_solve(solver, c.problem, NULL, &run, &bound, a, &s);
    weft_arena_free(run.scratch);
    if (status == WEFT_OK) {
        out->proof = s.proof;
        out->kept = kept_placement(p->q->placed, c.problem, a);
    }
    weft_case_close(&c);
    return status;
}

/* --- sharding and training ------------------------------------------------------------------- */

static double kept_shards(const weft_shards_file *f, const weft_sharding *p, weft_arena *a)
{
    weft_shards plan;
    weft_shards_measures m;
    weft_breach breach;

    if (weft_shards_decide(f, p, a, &plan) != WEFT_OK ||
        weft_shards_check(p, &plan, &breach, 1, a) > 0 ||
        weft_shards_evaluate(p, &plan, a, &m) != WEFT_OK || m.over_device >= 0)
        return NAN;
    return m.latency_s;
}

static weft_status offer_shards(const pricer *p, const char *machine, weft_arena *a, offer *out)
{
    weft_shard_options options = {.placer = weft_place_find("auto")};
    weft_shard_request request = p->q->shard;
    weft_run run = run_of(p, a);
    weft_shard_solution s;
    weft_proof floor;
    weft_shard_case c;
    weft_status status;

    request.machine = machine;
    WEFT_TRY(weft_shard_case_open(&request, &c));
    weft_shard_bound(c.sharding, a, &floor);
    options.floor = &floor;
    run.scratch = weft_arena_new();
    status = weft_shard_solve(weft_shard_find(p->solver), c.sharding, &options, &run, a, &s);
    weft_arena_free(run.scratch);
    if (status == WEFT_OK) {
        out->proof = s.proof;
        out->kept = kept_shards(p->q->sharded, c.sharding, a);
    }
    weft_shard_case_close(&c);
    return status;
}

static double kept_pipeline(const weft_pipeline_file *f, const weft_training *p, weft_arena *a)
{
    weft_pipeline plan;
    weft_train_measures m;
    weft_breach breach;

    if (weft_pipeline_decide(f, p, a, &plan) != WEFT_OK ||
        weft_pipeline_check(p, &plan, &breach, 1, a) > 0 ||
        weft_pipeline_evaluate(p, &plan, a, &m) != WEFT_OK || m.over_stage >= 0)
        return NAN;
    return m.step_s;
}

static weft_status offer_pipeline(const pricer *p, const char *machine, weft_arena *a, offer *out)
{
    weft_train_request request = p->q->train;
    weft_run run = run_of(p, a);
    weft_train_solution s;
    weft_train_case c;
    weft_status status;

    request.machine = machine;
    WEFT_TRY(weft_train_case_open(&request, &c));
    run.scratch = weft_arena_new();
    status = weft_train_solve(weft_train_find(p->solver), c.training, &run, a, &s);
    weft_arena_free(run.scratch);
    if (status == WEFT_OK) {
        out->proof = s.proof;
        out->kept = kept_pipeline(p->q->trained, c.training, a);
    }
    weft_train_case_close(&c);
    return status;
}

/* --- one upgrade ----------------------------------------------------------------------------- */

static bool has_plan(const weft_proof *proof)
{
    return proof->outcome == WEFT_OPTIMAL || proof->outcome == WEFT_BOUNDED;
}

static void settle(const pricer *p, const offer *o, weft_arena *a, weft_priced *out)
{
    const double exact = 1e-9;
    const weft_proof *proof = &o->proof;

    out->outcome = proof->outcome;
    out->bound = proof->bound;
    out->method = proof->method;
    out->solved = out->value = has_plan(proof) ? proof->value : NAN;
    out->kept = o->kept;
    out->reason = has_plan(proof) ? NULL : proof->reason;
    if (isfinite(o->kept) && !(out->solved <= o->kept * (1 + exact))) {
        out->value = o->kept;
        out->outcome = o->kept <= proof->bound * (1 + exact) ? WEFT_OPTIMAL : WEFT_BOUNDED;
        out->reason = NULL;
    }
    if (!isfinite(out->value) && out->reason == NULL)
        out->reason = weft_arena_print(a, "no plan was found");
    out->gap = out->value > 0 ? fmax(0, (out->value - out->bound) / out->value) : 0;
    out->gap = isfinite(out->value) ? out->gap : NAN;
    out->gain = p->before / out->value;
    out->most_gain = p->before / out->bound;
    out->is_useless = out->bound >= p->before * (1 - exact);
}

static weft_status price_one(const pricer *p, int i, weft_arena *a, weft_priced *out)
{
    const char *machine = weft_doc_json(p->upgrade[i].document, 1, a);
    offer o = {.kept = NAN};
    weft_status status = p->q->is_shard   ? offer_shards(p, machine, a, &o)
                         : p->q->is_train ? offer_pipeline(p, machine, a, &o)
                                          : offer_placement(p, machine, a, &o);

    *out = (weft_priced){.upgrade = &p->upgrade[i], .outcome = WEFT_UNKNOWN};
    if (status == WEFT_OK) {
        settle(p, &o, a, out);
        return WEFT_OK;
    }
    if (status != WEFT_E_INPUT)
        return status;
    out->value = out->bound = out->gap = out->solved = out->kept = NAN;
    out->gain = out->most_gain = NAN;
    out->reason = weft_arena_print(a, "%s", weft_message());
    return WEFT_OK;
}

static void work(void *context, int i)
{
    pricer *p = context;
    int n_done;

    p->arena[i] = weft_arena_new();
    p->status[i] = price_one(p, i, p->arena[i], &p->out[i]);
    if (p->status[i] != WEFT_OK)
        snprintf(p->message[i], sizeof p->message[i], "%s", weft_message());
    n_done = atomic_fetch_add(&p->n_done, 1) + 1;
    if (p->how->told != NULL)
        p->how->told(p->how->context, n_done, p->n);
}

/* --- all ------------------------------------------------------------------------------------- */

/* Texts move from the memory of the solve to that of the caller. */
static const char *moved(const char *text, weft_arena *a)
{
    return text == NULL ? NULL : weft_arena_text(a, text, strlen(text));
}

static int by_value(const void *left, const void *right)
{
    const weft_priced *a = left, *b = right;
    double x = isfinite(a->value) ? a->value : INFINITY;
    double y = isfinite(b->value) ? b->value : INFINITY;

    if (x != y)
        return x < y ? -1 : 1;
    if (a->bound != b->bound && isfinite(a->bound) && isfinite(b->bound))
        return a->bound < b->bound ? -1 : 1;
    return a->upgrade < b->upgrade ? -1 : 1;
}

static weft_status check_solver(const weft_question *q, const char *name)
{
    bool is_known = q->is_shard   ? weft_shard_find(name) != NULL
                    : q->is_train ? weft_train_find(name) != NULL
                                  : weft_place_find(name) != NULL;

    if (is_known)
        return WEFT_OK;
    return weft_fail(
        WEFT_E_INPUT,
        "the plan was made by '%s', which is no solver: say with --solver which one is "
        "to solve again (see: weft list solvers)",
        name);
}

static weft_status finish(pricer *p, weft_arena *a)
{
    weft_status status = WEFT_OK;

    for (int i = 0; i < p->n; i++) {
        p->out[i].reason = moved(p->out[i].reason, a);
        p->out[i].method = moved(p->out[i].method, a);
        weft_arena_free(p->arena[i]);
        if (status == WEFT_OK && p->status[i] != WEFT_OK)
            status = weft_fail(p->status[i], "%s: %s", p->upgrade[i].name, p->message[i]);
    }
    return status;
}

weft_status weft_price(const weft_question *q, double before, const weft_upgrade *upgrade, int n,
                       const weft_pricing *how, weft_arena *a, weft_priced *out)
{
    weft_arena *scratch = weft_arena_new();
    pricer p = {.q = q,
                .how = how,
                .solver = how->solver ? how->solver : q->origin->solver,
                .before = before,
                .upgrade = upgrade,
                .out = out,
                .status = WEFT_NEW(scratch, weft_status, n + 1),
                .message = weft_arena_array(scratch, (size_t)n + 1, sizeof *p.message),
                .arena = WEFT_NEW(scratch, weft_arena *, n + 1),
                .n = n};
    weft_status status = check_solver(q, p.solver);

    if (status == WEFT_OK) {
        weft_parallel(how->run.n_threads > 0 ? how->run.n_threads : 1, n, work, &p);
        status = finish(&p, a);
    }
    if (status == WEFT_OK && n > 0)
        qsort(out, (size_t)n, sizeof *out, by_value);
    weft_arena_free(scratch);
    return status;
}
