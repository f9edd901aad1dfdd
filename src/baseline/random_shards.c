/* SPDX-License-Identifier: MIT */
/* random_shards.c: the solver `random`: the best of many random plans.
 *
 * 1. The accelerators are shuffled and cut into sets at random: each joins the set before it with a
 *    probability drawn for the plan, if the two are equal.
 * 2. Every set draws a design, every step a set and a split (where sets must run one stretch of the
 *    order, each next step stays or goes on to the next set, at random). A set that cannot run the
 *    step is drawn again, a few times.
 * 3. The best of DRAWS plans, or of as many as there are steps of search, by simulation.
 *
 * The yardstick that every other solver must beat. The seed alone decides. Time O(draws * steps).
 */
#include "baseline.h"

#include <math.h>

enum { DRAWS = 1000, ATTEMPTS = 8 };

/* Accelerators in random order. */
static void shuffle(const weft_shard_problem *p, weft_rng *r, int *device)
{
    for (int i = 0; i < p->n_accelerators; i++) {
        int j = weft_rng_below(r, i + 1);

        device[i] = device[j];
        device[j] = p->accelerator[i];
    }
}

static int draw_device_sets(const weft_baseline *b, weft_rng *r, weft_device_set *device_set)
{
    const weft_shard_problem *p = b->problem;
    int device[WEFT_MAX_MEMBERS], n = 0;
    double joins = weft_rng_real(r);

    shuffle(p, r, device);
    for (int i = 0; i < p->n_accelerators; i++) {
        int class = b->class_of[device[i]];

        if (n == 0 || class != b->class_of[device_set[n - 1].member[0]] ||
            weft_rng_real(r) >= joins) {
            int n_designs = b->design_at[class + 1] - b->design_at[class];

            device_set[n++] = (weft_device_set){.design = weft_rng_below(r, n_designs)};
        }
        device_set[n - 1].member[device_set[n - 1].n++] = device[i];
    }
    return n;
}

/* A set and a split for step u; false if nothing that was drawn can run it. */
static bool draw_step(weft_baseline *b, weft_rng *r, weft_draft *d, int u)
{
    bool is_tied = b->problem->constraints.is_contiguous;
    double changes = (double)d->sets->n / b->problem->steps->n;
    int set = is_tied && u > 0 ? d->set_of[u - 1] : 0;

    for (int i = 0; i < ATTEMPTS; i++) {
        if (!is_tied)
            set = weft_rng_below(r, d->sets->n);
        else if ((i > 0 || weft_rng_real(r) < changes) && set + 1 < d->sets->n)
            set++;
        d->set_of[u] = set;
        d->choice[u] = weft_rng_below(r, weft_baseline_splits(b, u, d->sets->device_set[set].n)->n);
        if (weft_baseline_node_s(b, d, u) < INFINITY)
            return true;
    }
    return false;
}

static void draw_plan(weft_baseline *b, weft_rng *r, weft_baseline_sets *sets, weft_draft *d)
{
    weft_device_set device_set[WEFT_MAX_MEMBERS];

    weft_baseline_sets_fill(b, device_set, draw_device_sets(b, r, device_set), sets);
    for (int u = 0; u < b->problem->steps->n; u++) {
        if (!draw_step(b, r, d, u))
            return;
    }
    if (weft_baseline_latency(b, d, NULL) < b->best_s)
        weft_baseline_offer(b, d, NULL);
}

static weft_status solve(const weft_shard_problem *p, const weft_shard_options *o, weft_run *run,
                         weft_shard_plan *plan, weft_proof *proof)
{
    weft_baseline *b = weft_baseline_new(p, run);
    weft_rng r = weft_rng_seed((uint64_t)run->seed);
    weft_baseline_sets sets = weft_baseline_singles(b); /* there are no more */
    weft_draft d = weft_draft_new(b, &sets);
    int64_t draws = run->steps > 0 ? run->steps : DRAWS;

    (void)o;
    for (int64_t i = 0; i < draws && !weft_run_is_over(run); i++)
        draw_plan(b, &r, &sets, &d);
    if (b->reason == NULL)
        b->reason = "no random plan had a set for every step that can run it";
    return weft_baseline_finish(b, plan, proof);
}

const weft_shard_solver weft_shard_random = {
    .name = "random",
    .summary = "baseline: the best of random sets, designs and splits (seeded)",
    .solve = solve};
