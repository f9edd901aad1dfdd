/* SPDX-License-Identifier: MIT */
/* uniform.c: the solver `uniform`: one set, one design and one kind of split for everything.
 *
 * 1. Sets: the candidates of baseline_sets.c, of those with equal members and links the first. Designs:
 *    all that can run every step.
 * 2. Kinds of splits: all that some step has over so many members, told apart by names of axes and
 *    numbers of parts ("m=4 r=2").
 * 3. Every step takes the split of that kind. One that has none takes the split that is cheapest
 *    behind the steps before it.
 * 4. Drafts are valued by their times (baseline_cost.c); each that is better than the best plan so far
 *    is simulated, and the fastest legal one is returned.
 *
 * No guarantee. Every combination is one step of the search. Time O(sets * designs * kinds *
 * steps), times splits for steps of step 3. */
#include "baseline.h"

#include <math.h>
#include <string.h>

typedef struct uniform {
    weft_baseline *base;
    weft_baseline_sets sets; /* one */
    weft_draft draft;
    double best_s; /* of the best draft that is a plan */
    int64_t n_tried;
} uniform;

static bool is_over(const uniform *x)
{
    const weft_run *run = x->base->run;

    return (run->steps > 0 && x->n_tried >= run->steps) || weft_run_is_over(run);
}

/* Everything like split i of step u. */
static void try_kind(uniform *x, int u, int i)
{
    weft_baseline *b = x->base;
    int n = x->sets.device_set[0].n;
    double value_s;

    x->n_tried++;
    for (int v = 0; v < b->problem->steps->n; v++) {
        x->draft.choice[v] = weft_baseline_alike(b, u, i, v, n);
        if (x->draft.choice[v] < 0) {
            x->draft.choice[v] = 0;
            x->draft.choice[v] = weft_baseline_follow(b, &x->draft, v);
        }
    }
    value_s = weft_baseline_latency(b, &x->draft, NULL);
    if (value_s < x->best_s && weft_baseline_offer(b, &x->draft, NULL))
        x->best_s = value_s;
}

static void try_kinds(uniform *x)
{
    const weft_steps *s = x->base->problem->steps;
    weft_map *seen = weft_map_new(x->base->arena);
    int n = x->sets.device_set[0].n;

    for (int u = 0; u < s->n; u++) {
        const weft_baseline_list *l = weft_baseline_splits(x->base, u, n);

        for (int i = 0; s->step[u].like == u && i < l->n && !is_over(x); i++) {
            char text[128];
            const char *kind;

            weft_split_print(s, u, &l->split[i], text);
            kind = weft_arena_word(x->base->arena, text);
            if (weft_map_put(seen, kind, strlen(kind), 0))
                try_kind(x, u, i);
        }
    }
}

static bool can_run_all(weft_baseline *b, const weft_device_set *t)
{
    for (int u = 0; u < b->problem->steps->n; u++) {
        weft_device_set one = {.n = 1, .member = {t->member[0]}, .design = t->design};

        if (!(weft_baseline_split(b, u, &one, 0)->phase_s < INFINITY))
            return false;
    }
    return true;
}

/* Is there a set before number i on which everything costs the same? */
static bool is_repeated(const weft_baseline *b, const weft_candidates *c, int i)
{
    for (int j = 0; j < i; j++) {
        if (weft_baseline_are_same(b, &c->device_set[j], &c->device_set[i]))
            return true;
    }
    return false;
}

static weft_status solve(const weft_shard_problem *p, const weft_shard_options *o, weft_run *run,
                         weft_shard_plan *plan, weft_proof *proof)
{
    weft_baseline *b = weft_baseline_new(p, run);
    weft_candidates c = weft_baseline_candidates(b);
    uniform x = {.base = b, .best_s = INFINITY};

    (void)o;
    for (int i = 0; i < c.n && !is_over(&x); i++) {
        int class = b->class_of[c.device_set[i].member[0]];

        if (is_repeated(b, &c, i))
            continue;
        x.sets = weft_baseline_sets_new(b, &c.device_set[i], 1);
        x.draft = weft_draft_new(b, &x.sets);
        for (int j = 0; j < b->design_at[class + 1] - b->design_at[class]; j++) {
            x.sets.device_set[0].design = j;
            if (can_run_all(b, &x.sets.device_set[0]))
                try_kinds(&x);
        }
    }
    return weft_baseline_finish(b, plan, proof);
}

const weft_shard_solver weft_shard_uniform = {
    .name = "uniform",
    .summary =
        "baseline: the best plan with one set, one design and one kind of split for all steps",
    .solve = solve};
