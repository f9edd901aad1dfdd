/* SPDX-License-Identifier: MIT */
/* genetic_splits.c: level 2 of the genetic algorithm: splits of a stretch of steps on one set.
 *
 * 1. A genome has one number for every step: a place in its list of splits.
 * 2. The first population: the two longest axes (longest.c); one kind of split for all, of
 *    those drawn (steps without it follow the steps before them); the rest at random.
 * 3. A generation: the ELITE best stay; parents win tournaments of TOURNAMENT; with probability
 *    CROSSOVER a child takes the first steps of one and the last of the other; 1.5 numbers of it
 *    change on average, half of them to the kind of split of the step before, half at random.
 * 4. The value is the time of the steps, of the ways of their operands and of the outputs, one
 * after the other, plus a penalty for what does not fit: weights of all and the largest tensors of
 * one.
 *
 * Stretches are remembered by the kind of set, the design, the first and last step and the ways
 * from the sets before. Each draws from its own random numbers, which depend on the seed and on
 * that alone: the order in which stretches are asked for changes nothing.
 * Time O(population * generations * steps). */
#include "genetic.h"

#include <math.h>
#include <string.h>

enum { POPULATION = 50, GENERATIONS = 100, PATIENCE = 20, ELITE = 2, TOURNAMENT = 3 };
static const double CROSSOVER = 0.9;
static const double CHANGES = 1.5; /* numbers of a child that change, on average */

typedef struct brood {
    weft_ga *ga;
    int set, first, n; /* steps first .. first + n - 1 */
    weft_rng rng;
    int *gene[POPULATION], *child[POPULATION];
    double value_s[POPULATION], child_s[POPULATION];
} brood;

bool weft_ga_is_over(const weft_ga *g)
{
    const weft_run *run = g->base->run;

    return (run->steps > 0 && g->n_evaluations >= run->steps) || weft_run_is_over(run);
}

/* --- value ----------------------------------------------------------------------------------- */

static double evaluate(brood *x, const int *gene)
{
    weft_baseline *b = x->ga->base;
    weft_draft *d = &x->ga->draft;
    const weft_device_set *t = &x->ga->sets.device_set[x->set];
    double sum_s = 0, weights = 0, largest = 0, memory = weft_device_set_memory(b->problem, t);

    memcpy(d->choice + x->first, gene, (size_t)x->n * sizeof *gene);
    x->ga->n_evaluations++;
    for (int u = x->first; u < x->first + x->n; u++) {
        const weft_split_cost *m = weft_baseline_split(b, u, t, d->choice[u]);

        sum_s += m->phase_s < INFINITY
                     ? weft_baseline_node_s(b, d, u) + weft_baseline_entry_s(b, d, u) +
                           weft_baseline_exit_s(b, d, u)
                     : WEFT_GA_PENALTY_S;
        weights += m->weight_bytes;
        largest = fmax(largest, m->operand_bytes + m->result_bytes + m->extra_bytes);
    }
    if (weights + largest > memory)
        sum_s += WEFT_GA_PENALTY_S * ((weights + largest) / memory - 1);
    return sum_s;
}

/* --- the first population -------------------------------------------------------------------- */

static int draw_choice(brood *x, int u)
{
    return weft_rng_below(
        &x->rng, weft_baseline_splits(x->ga->base, u, x->ga->sets.device_set[x->set].n)->n);
}

static void make_longest(brood *x, int *gene)
{
    for (int i = 0; i < x->n; i++)
        gene[i] =
            weft_baseline_longest(x->ga->base, x->first + i, x->ga->sets.device_set[x->set].n);
}

/* One kind of split for all steps. */
static void make_uniform(brood *x, int *gene)
{
    int u = x->first + weft_rng_below(&x->rng, x->n), kind = draw_choice(x, u);

    for (int i = 0; i < x->n; i++) {
        int v = x->first + i, n = x->ga->sets.device_set[x->set].n;

        gene[i] = weft_baseline_alike(x->ga->base, u, kind, v, n);
        if (gene[i] < 0) {
            memcpy(x->ga->draft.choice + x->first, gene, (size_t)i * sizeof *gene);
            x->ga->draft.choice[v] = 0;
            gene[i] = weft_baseline_follow(x->ga->base, &x->ga->draft, v);
        }
    }
}

static void start(brood *x, weft_arena *a)
{
    for (int k = 0; k < POPULATION; k++) {
        x->gene[k] = WEFT_NEW(a, int, x->n);
        x->child[k] = WEFT_NEW(a, int, x->n);
        if (k == 0)
            make_longest(x, x->gene[k]);
        else if (k < POPULATION / 2)
            make_uniform(x, x->gene[k]);
        for (int i = 0; k >= POPULATION / 2 && i < x->n; i++)
            x->gene[k][i] = draw_choice(x, x->first + i);
        x->value_s[k] = k == 0 || !weft_ga_is_over(x->ga) ? evaluate(x, x->gene[k]) : INFINITY;
    }
}

/* --- generations ----------------------------------------------------------------------------- */

static int best_of(const double *value_s)
{
    int best = 0;

    for (int k = 1; k < POPULATION; k++) {
        if (value_s[k] < value_s[best])
            best = k;
    }
    return best;
}

static int pick(brood *x)
{
    int best = weft_rng_below(&x->rng, POPULATION);

    for (int i = 1; i < TOURNAMENT; i++) {
        int other = weft_rng_below(&x->rng, POPULATION);

        if (x->value_s[other] < x->value_s[best])
            best = other;
    }
    return best;
}

static void mutate(brood *x, int *gene)
{
    for (int i = 0; i < x->n; i++) {
        int u = x->first + i, like = -1;

        if (weft_rng_real(&x->rng) >= CHANGES / x->n)
            continue;
        if (i > 0 && weft_rng_below(&x->rng, 2) == 0)
            like = weft_baseline_alike(x->ga->base, u - 1, gene[i - 1], u,
                                       x->ga->sets.device_set[x->set].n);
        gene[i] = like >= 0 ? like : draw_choice(x, u);
    }
}

static void breed(brood *x, int *child)
{
    const int *mother = x->gene[pick(x)], *father = x->gene[pick(x)];
    int cut = x->n;

    if (weft_rng_real(&x->rng) < CROSSOVER)
        cut = weft_rng_below(&x->rng, x->n + 1);
    memcpy(child, mother, (size_t)cut * sizeof *child);
    memcpy(child + cut, father + cut, (size_t)(x->n - cut) * sizeof *child);
    mutate(x, child);
}

/* The best ones stay, in the first places. */
static void keep_elite(brood *x)
{
    double value_s[POPULATION];

    memcpy(value_s, x->value_s, sizeof value_s);
    for (int k = 0; k < ELITE; k++) {
        int best = best_of(value_s);

        memcpy(x->child[k], x->gene[best], (size_t)x->n * sizeof(int));
        x->child_s[k] = value_s[best];
        value_s[best] = INFINITY;
    }
}

static void next_generation(brood *x)
{
    keep_elite(x);
    for (int k = ELITE; k < POPULATION; k++) {
        breed(x, x->child[k]);
        x->child_s[k] = weft_ga_is_over(x->ga) ? INFINITY : evaluate(x, x->child[k]);
    }
    for (int k = 0; k < POPULATION; k++) {
        int *swapped = x->gene[k];

        x->gene[k] = x->child[k];
        x->child[k] = swapped;
        x->value_s[k] = x->child_s[k];
    }
}

static void search(brood *x)
{
    double best_s = x->value_s[best_of(x->value_s)];
    int idle = 0;

    for (int i = 0; i < GENERATIONS && idle < PATIENCE && !weft_ga_is_over(x->ga); i++) {
        double now_s;

        next_generation(x);
        now_s = x->value_s[best_of(x->value_s)];
        idle = now_s < best_s ? 0 : idle + 1;
        best_s = now_s;
    }
}

/* --- stretches ------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t h, const void *data, size_t n)
{
    const unsigned char *bytes = data;

    for (size_t i = 0; i < n; i++)
        h = (h ^ bytes[i]) * UINT64_C(0x100000001B3);
    return h;
}

/* The ways from the sets before: all that a stretch depends on besides itself. */
static uint64_t mix_variants(const weft_ga *g, uint64_t h, int set, int first, int last)
{
    const weft_steps *s = g->base->problem->steps;

    for (int u = first; u < last; u++) {
        for (int k = 0; k < s->step[u].n_operands; k++) {
            int v = s->step[u].operand[k].step;
            const weft_link_cost *way;

            if (v < 0 || v >= first)
                continue;
            way = &g->sets.between[g->draft.set_of[v] * g->sets.n + set];
            h = mix(h, &way->latency_s, sizeof way->latency_s);
            h = mix(h, &way->bytes_per_s, sizeof way->bytes_per_s);
            h = mix(h, &g->sets.device_set[g->draft.set_of[v]].n, sizeof(int));
        }
    }
    return h;
}

static uint64_t key_of(const weft_ga *g, int set, int first, int last)
{
    int what[] = {g->type_of[set], g->sets.device_set[set].design, first, last};
    uint64_t h = mix(UINT64_C(0xCBF29CE484222325), what, sizeof what);

    h = mix_variants(g, h, set, first, last);
    return h > 0 ? h : 1;
}

static weft_ga_splits find_splits(weft_ga *g, int set, int first, int last, uint64_t key)
{
    weft_arena *a = weft_arena_new(); /* tables grow in the other one meanwhile */
    brood *x = WEFT_NEW(a, brood, 1);
    weft_ga_splits found;
    int best;

    x->ga = g;
    x->set = set;
    x->first = first;
    x->n = last - first;
    x->rng = weft_rng_seed((uint64_t)g->base->run->seed ^ key);
    start(x, a);
    search(x);
    best = best_of(x->value_s);
    found.value_s = x->value_s[best];
    found.choice = weft_arena_copy(g->base->arena, x->gene[best], (size_t)x->n * sizeof(int));
    weft_arena_free(a);
    return found;
}

weft_ga_splits weft_ga_stretch(weft_ga *g, int set, int first, int last)
{
    uint64_t key;
    double *at;
    bool is_new;

    for (int u = first; u < last; u++)
        g->draft.set_of[u] = set;
    key = key_of(g, set, first, last);
    at = weft_baseline_memo_at(&g->index, key, &is_new, g->base->arena);
    if (is_new) {
        *at = g->found.n;
        WEFT_PUSH(g->base->arena, g->found, find_splits(g, set, first, last, key));
    }
    return g->found.at[(int)*at];
}
