/* SPDX-License-Identifier: MIT */
/* Solvers that lie, for the program that tests the cross-check (liars_found): to every registry
 * come `liar`, which calls a bad plan the best there is, and `denier`, which says that there is
 * none. The registries themselves are compiled with other names (tests/meson.build); the program
 * that is installed knows nothing of this. Searches that have no registry (pipelines of designs,
 * fronts) lie if the environment has WEFT_LIE: bound, value, deny or step. */
#include "kind.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int honest_place_count(void);
const weft_solver *honest_place_at(int i);
const weft_solver *honest_place_find(const char *name);
int honest_shard_count(void);
const weft_shard_solver *honest_shard_at(int i);
const weft_shard_solver *honest_shard_find(const char *name);
int honest_train_count(void);
const weft_train_solver *honest_train_at(int i);
const weft_train_solver *honest_train_find(const char *name);
int honest_miner_count(void);
const weft_miner *honest_miner_at(int i);
const weft_miner *honest_miner_find(const char *name);

/* --- placement: the worst single device ------------------------------------------------------ */

static weft_status lie(const weft_problem *p, const void *options, weft_run *run, weft_plan *plan,
                       weft_proof *proof)
{
    weft_plan one = weft_plan_new(p->n_tasks, run->scratch);
    weft_measures m;

    (void)options;
    proof->outcome = WEFT_UNKNOWN;
    for (int d = 0; d < p->n_devices; d++) {
        for (int u = 0; u < p->n_tasks; u++) {
            one.device[u] = d;
            one.start_s[u] = u;
        }
        if (weft_evaluate(p, &one, run->scratch, &m) != WEFT_OK || m.over_device >= 0 ||
            !(weft_goal_value(p, &m) > proof->bound))
            continue;
        memcpy(plan->device, one.device, sizeof *one.device * (size_t)p->n_tasks);
        memcpy(plan->start_s, one.start_s, sizeof *one.start_s * (size_t)p->n_tasks);
        proof->outcome = WEFT_BOUNDED;
        proof->bound = weft_goal_value(p, &m);
        proof->method = "search";
    }
    return WEFT_OK;
}

static weft_status deny(const weft_problem *p, const void *options, weft_run *run, weft_plan *plan,
                        weft_proof *proof)
{
    (void)p;
    (void)options;
    (void)run;
    (void)plan;
    proof->outcome = WEFT_INFEASIBLE;
    proof->reason = "it says so";
    return WEFT_OK;
}

static const weft_search_method searches[] = {
    {"search", WEFT_FOR_LATENCY | WEFT_FOR_THROUGHPUT},
    {0       }
};
static const weft_solver liar = {
    .name = "liar", .summary = "lies", .solve = lie, .searches = searches};
static const weft_solver denier = {.name = "denier", .summary = "lies", .solve = deny};

int weft_place_count(void)
{
    return honest_place_count() + 2;
}

const weft_solver *weft_place_at(int i)
{
    int n = honest_place_count();

    return i < n ? honest_place_at(i) : i == n ? &liar : &denier;
}

const weft_solver *weft_place_find(const char *name)
{
    return strcmp(name, "liar") == 0     ? &liar
           : strcmp(name, "denier") == 0 ? &denier
                                         : honest_place_find(name);
}

/* --- sharding: the worst plan of the baselines ----------------------------------------------- */

static weft_status lie_of_shards(const weft_shard_problem *p, const weft_shard_options *o,
                                 weft_run *run, weft_shard_plan *plan, weft_proof *proof)
{
    proof->outcome = WEFT_UNKNOWN;
    for (int i = 0; i < honest_shard_count() - 1; i++) { /* the last one is auto */
        const weft_shard_solver *s = honest_shard_at(i);
        weft_proof other = {.outcome = WEFT_UNKNOWN};
        weft_shard_plan_measures m;
        weft_shard_plan found;

        if (s->applies != NULL && !s->applies(p))
            continue;
        WEFT_TRY(s->solve(p, o, run, &found, &other));
        if (other.outcome != WEFT_BOUNDED ||
            weft_shard_plan_evaluate(p, &found, run->scratch, &m) != WEFT_OK ||
            m.over_device >= 0 || !(m.latency_s > proof->bound))
            continue;
        *plan = found;
        proof->outcome = WEFT_BOUNDED;
        proof->bound = m.latency_s;
        proof->method = "sharding search";
    }
    return WEFT_OK;
}

static weft_status deny_shards(const weft_shard_problem *p, const weft_shard_options *o,
                               weft_run *run, weft_shard_plan *plan, weft_proof *proof)
{
    (void)o;
    (void)plan;
    return deny(NULL, p, run, NULL, proof);
}

static const char *search_of(const weft_shard_problem *p)
{
    (void)p;
    return "sharding search";
}

static const weft_shard_solver shard_liar = {
    .name = "liar", .summary = "lies", .solve = lie_of_shards, .search = search_of};
static const weft_shard_solver shard_denier = {
    .name = "denier", .summary = "lies", .solve = deny_shards};

int weft_shard_count(void)
{
    return honest_shard_count() + 2;
}

const weft_shard_solver *weft_shard_at(int i)
{
    int n = honest_shard_count();

    return i < n ? honest_shard_at(i) : i == n ? &shard_liar : &shard_denier;
}

const weft_shard_solver *weft_shard_find(const char *name)
{
    return strcmp(name, "liar") == 0     ? &shard_liar
           : strcmp(name, "denier") == 0 ? &shard_denier
                                         : honest_shard_find(name);
}

/* --- training: one stage, one replica, no tensor parallelism --------------------------------- */

static weft_status lie_of_training(const weft_train_problem *p, weft_run *run,
                                   weft_train_plan *plan, weft_proof *proof, weft_train_log *log)
{
    weft_train_problem small = *p;
    weft_train_measures m;

    small.constraints.most_stages = small.constraints.most_replicas = small.constraints.most_width =
        1;
    small.constraints.microbatch = 1;
    WEFT_TRY(honest_train_find("auto")->solve(&small, run, plan, proof, log));
    if (proof->outcome != WEFT_BOUNDED)
        return WEFT_OK;
    WEFT_TRY(weft_train_plan_evaluate(p, plan, run->scratch, &m));
    proof->bound = m.step_s;
    proof->method = weft_train_search_method(p);
    return WEFT_OK;
}

static weft_status deny_training(const weft_train_problem *p, weft_run *run, weft_train_plan *plan,
                                 weft_proof *proof, weft_train_log *log)
{
    (void)plan;
    (void)log;
    return deny(NULL, p, run, NULL, proof);
}

static const weft_train_solver train_liar = {.name = "liar",
                                             .summary = "lies",
                                             .solve = lie_of_training,
                                             .search = weft_train_search_method};
static const weft_train_solver train_denier = {
    .name = "denier", .summary = "lies", .solve = deny_training};

int weft_train_count(void)
{
    return honest_train_count() + 2;
}

const weft_train_solver *weft_train_at(int i)
{
    int n = honest_train_count();

    return i < n ? honest_train_at(i) : i == n ? &train_liar : &train_denier;
}

const weft_train_solver *weft_train_find(const char *name)
{
    return strcmp(name, "liar") == 0     ? &train_liar
           : strcmp(name, "denier") == 0 ? &train_denier
                                         : honest_train_find(name);
}

/* --- designs: half of what the best is worth ------------------------------------------------- */

/* The smallest design passes for the best of all. */
static weft_status lie_of_designs(const weft_objective *q, const weft_eval_cache *eval_cache,
                                  int64_t most, weft_run *run, weft_arena *a, weft_found *out)
{
    weft_design_point least = {{0}};
    double *step_s = WEFT_NEW(a, double, q->n_workloads);

    WEFT_TRY(honest_miner_find("auto")->mine(q, eval_cache, most, run, a, out));
    for (int i = 0; i < q->n_workloads; i++)
        step_s[i] = q->workload[i].timer->seconds[WEFT_GAUGE_STEP](q->workload[i].eval[0], &least);
    out->point = least;
    out->throughput = out->value = out->bound = weft_objective_throughput(q, step_s);
    out->outcome = WEFT_OPTIMAL;
    return WEFT_OK;
}

static weft_status deny_designs(const weft_objective *q, const weft_eval_cache *eval_cache,
                                int64_t most, weft_run *run, weft_arena *a, weft_found *out)
{
    (void)q;
    (void)eval_cache;
    (void)most;
    (void)run;
    (void)a;
    *out = (weft_found){.bound = INFINITY,
                        .schedule_bound = INFINITY,
                        .outcome = WEFT_INFEASIBLE,
                        .reason = "it says so"};
    return WEFT_OK;
}

static const weft_miner mine_liar = {"liar", "lies", lie_of_designs};
static const weft_miner mine_denier = {"denier", "lies", deny_designs};

int weft_miner_count(void)
{
    return honest_miner_count() + 2;
}

const weft_miner *weft_miner_at(int i)
{
    int n = honest_miner_count();

    return i < n ? honest_miner_at(i) : i == n ? &mine_liar : &mine_denier;
}

const weft_miner *weft_miner_find(const char *name)
{
    return strcmp(name, "liar") == 0     ? &mine_liar
           : strcmp(name, "denier") == 0 ? &mine_denier
                                         : honest_miner_find(name);
}

/* --- searches without a registry ------------------------------------------------------------- */

weft_status honest_mine_cluster(const weft_design_pipeline_objective *q, weft_run *run,
                                weft_arena *a, weft_design_pipeline_found *out);
weft_status honest_place_front(const weft_problem *p, weft_run *run, weft_arena *a,
                               const weft_tradeoff **out, int *n);

static bool is_lie(const char *lie)
{
    return getenv("WEFT_LIE") != NULL && strcmp(getenv("WEFT_LIE"), lie) == 0;
}

/* With a design for each stage: less than one design for all is worth, and the best there is;
 * or there is none; or a step that no partition is as short as. */
weft_status weft_mine_cluster(const weft_design_pipeline_objective *q, weft_run *run, weft_arena *a,
                              weft_design_pipeline_found *out)
{
    weft_status status = honest_mine_cluster(q, run, a, out);

    if (status != WEFT_OK || !(out->value > 0))
        return status;
    if (is_lie("step"))
        ((weft_design_pipeline_plan *)out->plan)->bound_s = out->plan->step_s * 2;
    if (!q->is_per_stage)
        return status;
    if (is_lie("deny"))
        *out = (weft_design_pipeline_found){.outcome = WEFT_INFEASIBLE, .reason = "it says so"};
    if (is_lie("bound"))
        out->value = out->bound = out->value / 2;
    return status;
}

/* Points of half the latency, or half the period. */
weft_status weft_place_front(const weft_problem *p, weft_run *run, weft_arena *a,
                             const weft_tradeoff **out, int *n)
{
    weft_status status = honest_place_front(p, run, a, out, n);

    for (int i = 0; status == WEFT_OK && i < *n; i++) {
        ((weft_tradeoff *)*out)[i].latency_s *= is_lie("value") ? 0.5 : 1;
        ((weft_tradeoff *)*out)[i].period_s *= is_lie("bound") ? 0.5 : 1;
    }
    return status;
}
