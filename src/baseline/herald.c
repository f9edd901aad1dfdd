/* SPDX-License-Identifier: MIT */
/* herald.c: the solver `herald`, a list scheduler that looks at computation first, in the
 * manner of Herald (Kwon et al., HPCA 2021). A re-implementation from its description.
 *
 * 1. Every accelerator is a set of its own, configured with the design with which it takes least
 *    time for all steps.
 * 2. Steps are taken in order. Each prefers the accelerator that computes it fastest (ties: the
 *    first). If that would load it beyond FACTOR times what the least loaded one would have, the
 *    next best is taken; accelerators whose memory cannot hold its weights are left out.
 * 3. Steps are put into the first gap of their accelerator after their operands have arrived, so
 *    that later independent steps fill idle time.
 *
 * No guarantee. Time O(steps * (accelerators + steps)). */
#include "baseline.h"

#include <math.h>

static const double FACTOR = 2; /* of the load of the least loaded accelerator */

typedef struct herald {
    weft_baseline *base;
    weft_baseline_sets sets;
    weft_draft draft;
    double *load_s, *weight_bytes; /* [sets] */
    double *start_s, *end_s;       /* [steps] */
    int *first, *next;             /* steps of a set by start; -1: the end */
} herald;

static bool has_room(const herald *h, int set, const weft_split_cost *m)
{
    const weft_device_set *t = &h->sets.device_set[set];

    return m->phase_s < INFINITY &&
           h->weight_bytes[set] + m->weight_bytes <= weft_device_set_memory(h->base->problem, t);
}

/* The fastest accelerator that stays balanced; -1: none has room. */
static int choose_set(const herald *h, int u)
{
    double least_s = INFINITY, best_s = INFINITY;
    int best = -1;

    for (int i = 0; i < h->sets.n; i++) {
        const weft_split_cost *m = weft_baseline_split(h->base, u, &h->sets.device_set[i], 0);

        if (has_room(h, i, m))
            least_s = fmin(least_s, h->load_s[i] + weft_split_compute_s(m));
    }
    for (int i = 0; i < h->sets.n; i++) {
        const weft_split_cost *m = weft_baseline_split(h->base, u, &h->sets.device_set[i], 0);
        double s = weft_split_compute_s(m);

        if (has_room(h, i, m) && s < best_s && h->load_s[i] + s <= FACTOR * least_s) {
            best = i;
            best_s = s;
        }
    }
    return best;
}

static double ready_s(const herald *h, int u)
{
    const weft_step *step = &h->base->problem->steps->step[u];
    double latest_s = 0;

    for (int k = 0; k < step->n_operands; k++) {
        double from_s = step->operand[k].step < 0 ? 0 : h->end_s[step->operand[k].step];

        latest_s = fmax(latest_s, from_s + weft_baseline_edge_s(h->base, &h->draft, u, k));
    }
    return latest_s;
}

/* The first gap of the set that holds the step. */
static void insert(herald *h, int u)
{
    double length_s = weft_baseline_node_s(h->base, &h->draft, u), start_s = ready_s(h, u);
    int *at = &h->first[h->draft.set_of[u]];

    while (*at >= 0 && h->start_s[*at] - start_s < length_s) {
        start_s = fmax(start_s, h->end_s[*at]);
        at = &h->next[*at];
    }
    h->next[u] = *at;
    *at = u;
    h->start_s[u] = start_s;
    h->end_s[u] = start_s + length_s;
}

static herald new_herald(weft_baseline *b)
{
    int n = b->problem->steps->n;
    herald h = {.base = b, .sets = weft_baseline_singles(b)};

    h.load_s = WEFT_NEW(b->arena, double, h.sets.n);
    h.weight_bytes = WEFT_NEW(b->arena, double, h.sets.n);
    h.start_s = WEFT_NEW(b->arena, double, n);
    h.end_s = WEFT_NEW(b->arena, double, n);
    h.first = WEFT_NEW(b->arena, int, h.sets.n);
    h.next = WEFT_NEW(b->arena, int, n);
    for (int i = 0; i < h.sets.n; i++) {
        h.first[i] = -1;
        h.sets.device_set[i].design =
            weft_baseline_best_design(b, &h.sets.device_set[i], NULL, NULL);
    }
    return h;
}

static weft_status solve(const weft_shard_problem *p, const weft_shard_options *o, weft_run *run,
                         weft_shard_plan *plan, weft_proof *proof)
{
    weft_baseline *b = weft_baseline_new(p, run);
    herald h = new_herald(b);

    (void)o;
    h.draft = weft_draft_new(b, &h.sets);
    for (int u = 0; u < p->steps->n; u++) {
        int set = choose_set(&h, u);
        const weft_split_cost *m;

        if (set < 0) {
            b->reason = weft_arena_print(b->arena,
                                         "no accelerator that runs step '%s' has room left for its "
                                         "weights",
                                         weft_step_name(p->steps, u));
            return weft_baseline_finish(b, plan, proof);
        }
        m = weft_baseline_split(b, u, &h.sets.device_set[set], 0);
        h.draft.set_of[u] = set;
        h.load_s[set] += weft_split_compute_s(m);
        h.weight_bytes[set] += m->weight_bytes;
        insert(&h, u);
    }
    weft_baseline_offer(b, &h.draft, h.start_s);
    return weft_baseline_finish(b, plan, proof);
}

const weft_shard_solver weft_shard_herald = {
    .name = "herald",
    .summary = "baseline: list scheduling on single accelerators by speed and balance (Herald)",
    .solve = solve,
    .applies = weft_baseline_is_free};
