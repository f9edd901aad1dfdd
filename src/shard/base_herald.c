/* SPDX-License-Identifier: MIT */
/* base_herald.c: the solver `herald`, a list scheduler that looks at computation first, in the
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
#include "base.h"

#include <math.h>

static const double FACTOR = 2; /* of the load of the least loaded accelerator */

typedef struct herald {
    weft_base *base;
    weft_base_sets sets;
    weft_draft draft;
    double *load_s, *weight_bytes; /* [sets] */
    double *start_s, *end_s;       /* [steps] */
    int *first, *next;             /* steps of a set by start; -1: the end */
} herald;

static bool has_room(const herald *h, int set, const weft_mode *m)
{
    const weft_team *t = &h->sets.team[set];

    return m->phase_s < INFINITY &&
           h->weight_bytes[set] + m->weight_bytes <= weft_team_memory(h->base->problem, t);
}

/* The fastest accelerator that stays balanced; -1: none has room. */
static int choose_set(const herald *h, int u)
{
    double least_s = INFINITY, best_s = INFINITY;
    int best = -1;

    for (int i = 0; i < h->sets.n; i++) {
        const weft_mode *m = weft_base_mode(h->base, u, &h->sets.team[i], 0);

        if (has_room(h, i, m))
            least_s = fmin(least_s, h->load_s[i] + weft_mode_compute_s(m));
    }
    for (int i = 0; i < h->sets.n; i++) {
        const weft_mode *m = weft_base_mode(h->base, u, &h->sets.team[i], 0);
        double s = weft_mode_compute_s(m);

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

        latest_s = fmax(latest_s, from_s + weft_base_edge_s(h->base, &h->draft, u, k));
    }
    return latest_s;
}

/* The first gap of the set that holds the step. */
static void insert(herald *h, int u)
{
    double length_s = weft_base_node_s(h->base, &h->draft, u), start_s = ready_s(h, u);
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

static herald new_herald(weft_base *b)
{
    int n = b->problem->steps->n;
    herald h = {.base = b, .sets = weft_base_singles(b)};

    h.load_s = WEFT_NEW(b->arena, double, h.sets.n);
    h.weight_bytes = WEFT_NEW(b->arena, double, h.sets.n);
    h.start_s = WEFT_NEW(b->arena, double, n);
    h.end_s = WEFT_NEW(b->arena, double, n);
    h.first = WEFT_NEW(b->arena, int, h.sets.n);
    h.next = WEFT_NEW(b->arena, int, n);
    for (int i = 0; i < h.sets.n; i++) {
        h.first[i] = -1;
        h.sets.team[i].design = weft_base_best_design(b, &h.sets.team[i], NULL, NULL);
    }
    return h;
}

static weft_status solve(const weft_sharding *p, const weft_shard_options *o, weft_run *run,
                         weft_shards *plan, weft_proof *proof)
{
    weft_base *b = weft_base_new(p, run);
    herald h = new_herald(b);

    (void)o;
    h.draft = weft_draft_new(b, &h.sets);
    for (int u = 0; u < p->steps->n; u++) {
        int set = choose_set(&h, u);
        const weft_mode *m;

        if (set < 0) {
            b->reason = weft_arena_print(b->arena,
                                         "no accelerator that runs step '%s' has room left for its "
                                         "weights",
                                         weft_step_name(p->steps, u));
            return weft_base_finish(b, plan, proof);
        }
        m = weft_base_mode(b, u, &h.sets.team[set], 0);
        h.draft.set_of[u] = set;
        h.load_s[set] += weft_mode_compute_s(m);
        h.weight_bytes[set] += m->weight_bytes;
        insert(&h, u);
    }
    weft_base_offer(b, &h.draft, h.start_s);
    return weft_base_finish(b, plan, proof);
}

const weft_shard_solver weft_shard_herald = {
    .name = "herald",
    .summary = "baseline: list scheduling on single accelerators by speed and balance (Herald)",
    .solve = solve,
    .applies = weft_base_is_free};
