/* SPDX-License-Identifier: MIT */
/* offer.c: the question of a plan, asked again for another machine.
 *
 * 1. The text of the machine is read as a platform file (or a file of tasks) is: nothing but the
 *    text differs from what a user gets who edits the file.
 * 2. The problem is solved as the command that made the plan does it.
 * 3. The old plan, by the names of tasks and devices, is checked and simulated there. If it is
 *    better than the bound allows, one of the two is wrong (cross.c). */
#include "offer.h"
#include "upgrade.h"

#include <math.h>
#include <string.h>

static weft_run run_of(const weft_run *like)
{
    return (weft_run){.seed = like->seed,
                      .n_threads = 1,
                      .limit_s = like->limit_s,
                      .steps = like->steps,
                      .stop = like->stop};
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

static weft_status offer_placement(const weft_offer_ask *k, weft_arena *a, weft_offer *out)
{
    const weft_solver *solver = weft_place_find(k->solver);
    weft_request request = k->question->place;
    weft_run run = run_of(k->run);
    weft_solution s;
    weft_proof bound;
    weft_case c;
    weft_status status;

    request.machine = k->machine;
    WEFT_TRY(weft_case_open(&request, &c));
    weft_place_bound(c.problem, a, &bound);
    run.scratch = weft_arena_new();
    status = weft_solve(solver, c.problem, NULL, &run, &bound, a, &s);
    weft_arena_free(run.scratch);
    if (status == WEFT_OK) {
        out->proof = s.proof;
        out->kept = kept_placement(k->question->placed, c.problem, a);
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

static weft_status offer_shards(const weft_offer_ask *k, weft_arena *a, weft_offer *out)
{
    weft_shard_options options = {.placer = weft_place_find("auto")};
    weft_shard_request request = k->question->shard;
    weft_run run = run_of(k->run);
    weft_shard_solution s;
    weft_proof floor;
    weft_shard_case c;
    weft_status status;

    request.machine = k->machine;
    WEFT_TRY(weft_shard_case_open(&request, &c));
    weft_shard_bound(c.sharding, a, &floor);
    options.floor = &floor;
    run.scratch = weft_arena_new();
    status = weft_shard_solve(weft_shard_find(k->solver), c.sharding, &options, &run, a, &s);
    weft_arena_free(run.scratch);
    if (status == WEFT_OK) {
        out->proof = s.proof;
        out->kept = kept_shards(k->question->sharded, c.sharding, a);
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

static weft_status offer_pipeline(const weft_offer_ask *k, weft_arena *a, weft_offer *out)
{
    weft_train_request request = k->question->train;
    weft_run run = run_of(k->run);
    weft_train_solution s;
    weft_train_case c;
    weft_status status;

    request.machine = k->machine;
    WEFT_TRY(weft_train_case_open(&request, &c));
    run.scratch = weft_arena_new();
    status = weft_train_solve(weft_train_find(k->solver), c.training, &run, a, &s);
    weft_arena_free(run.scratch);
    if (status == WEFT_OK) {
        out->proof = s.proof;
        out->kept = kept_pipeline(k->question->trained, c.training, a);
    }
    weft_train_case_close(&c);
    return status;
}

/* --- all ------------------------------------------------------------------------------------- */

/* The old plan is that of the file. */
static weft_doc *plan_of(const void *context, int i, weft_arena *a)
{
    const weft_question *q = context;
    const weft_doc *d = q->is_shard   ? q->sharded->doc
                        : q->is_train ? q->trained->doc
                                      : q->placed->doc;

    return i == 1 ? weft_doc_copy(d, a) : NULL;
}

weft_status weft_offer_find(const weft_offer_ask *k, weft_arena *a, weft_offer *out)
{
    weft_claim claim[2];

    *out = (weft_offer){.kept = NAN};
    if (k->question->is_shard)
        WEFT_TRY(offer_shards(k, a, out));
    else if (k->question->is_train)
        WEFT_TRY(offer_pipeline(k, a, out));
    else
        WEFT_TRY(offer_placement(k, a, out));
    claim[0] = weft_claim_of(k->solver, &out->proof);
    claim[1] = weft_claim_plan("the plan that is explained", out->kept, 0);
    return weft_cross_check(&(weft_contest){
        .n = 2, .claim = claim, .machine = k->machine, .plan = plan_of, .context = k->question});
}

bool weft_offer_has_plan(const weft_offer *o)
{
    return o->proof.outcome == WEFT_OPTIMAL || o->proof.outcome == WEFT_BOUNDED;
}

weft_status weft_offer_solver(const weft_question *q, const char *name)
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
