/* SPDX-License-Identifier: MIT */
/* genetic.c: the solver `ga`, a genetic algorithm of two levels in the manner of MARS (DAC 2023).
 * A re-implementation: the structure follows the paper, constants and encoding are weft's.
 *
 * 1. Candidate sets: components of the links (baseline_sets.c).
 * 2. A genome of level 1 has a priority and a design for every candidate, and cuts between 0 and 1.
 *    Candidates are taken by falling priority if they share no accelerator with those taken, until
 *    all accelerators are covered. The cuts, sorted, divide the order of steps into stretches, one
 *    for each set in the order taken. A cut is a share of the work before it: half of that are
 *    multiply-accumulates, half is the number of steps, or no cut would fall between small steps.
 * 3. Its value is the sum of its stretches, whose splits level 2 finds (genetic_splits.c).
 * 4. The first population: one whole class of accelerators with its best design; the rest at
 *    random, designs with probabilities that fall with the time one accelerator takes for all
 * steps.
 * 5. A generation: the ELITE best stay; parents win tournaments of TOURNAMENT; children take
 *    priorities and designs from either parent, and a mean of their cuts (with probability
 *    CROSSOVER); then two priorities change places, a design is drawn again, a cut moves, each with
 *    probability 1/2.
 * 6. Genomes that are better than all before are simulated; the fastest legal plan is returned.
 *
 * No guarantee. The seed alone decides; evaluations of splits are the steps of the search. Without
 * limits POPULATION * (GENERATIONS + 1) genomes are looked at. */
#include "genetic.h"

#include <math.h>
#include <string.h>

enum { POPULATION = 32, GENERATIONS = 30, ELITE = 2, TOURNAMENT = 3 };
static const double CROSSOVER = 0.9;
static const double SHIFT = 0.1; /* standard deviation of a cut's move */

typedef struct genome {
    double *priority; /* [candidates] */
    int *design;      /* [candidates] */
    double *cut;      /* [accelerators] */
    double value_s;
} genome;

typedef struct population {
    weft_ga *ga;
    weft_rng rng;
    genome now[POPULATION], next[POPULATION];
    double *work;     /* [n_steps + 1] of the steps before, as a share of all */
    double *design_s; /* [all designs] one accelerator, all steps */
    double best_s;    /* of the drafts that are plans */
} population;

/* --- decoding -------------------------------------------------------------------------------- */

/* Candidates by falling priority (ties: the first) that share no accelerator; their number. */
static int take_sets(const weft_ga *g, const genome *x, int *taken)
{
    bool is_used[WEFT_MAX_MEMBERS + 1] = {false}; /* by device; one is the host */
    bool is_done[WEFT_MAX_MEMBERS * 2] = {false};
    const weft_shard_problem *p = g->base->problem;
    int n = 0, n_covered = 0;

    while (n_covered < p->n_accelerators) {
        int best = 0;

        for (int c = 1; c < g->candidates.n; c++) {
            if (!is_done[c] && (is_done[best] || x->priority[c] > x->priority[best]))
                best = c;
        }
        is_done[best] = true;
        taken[n] = best;
        for (int i = 0; taken[n] >= 0 && i < g->sets.device_set[best].n; i++) {
            if (is_used[g->sets.device_set[best].member[i]])
                taken[n] = -1;
        }
        if (taken[n] < 0)
            continue;
        for (int i = 0; i < g->sets.device_set[best].n; i++)
            is_used[g->sets.device_set[best].member[i]] = true;
        n_covered += g->sets.device_set[best].n;
        n++;
    }
    return n;
}

/* Ends of the stretches of n sets: where the work before a step reaches the cut. */
static void find_ends(const population *h, const genome *x, int n, int *end)
{
    int n_steps = h->ga->base->problem->steps->n;
    double cut[WEFT_MAX_MEMBERS] = {0};

    for (int i = 0; i + 1 < n; i++) {
        int at = i;

        for (; at > 0 && cut[at - 1] > x->cut[i]; at--)
            cut[at] = cut[at - 1];
        cut[at] = x->cut[i];
    }
    for (int i = 0; i < n; i++) {
        end[i] = i > 0 ? end[i - 1] : 0;
        while (end[i] < n_steps && (i + 1 == n || h->work[end[i]] < cut[i]))
            end[i]++;
    }
}

static void evaluate(population *h, genome *x)
{
    weft_ga *g = h->ga;
    int taken[WEFT_MAX_MEMBERS * 2 + 1], end[WEFT_MAX_MEMBERS], n = take_sets(g, x, taken);
    int first = 0;

    x->value_s = 0;
    for (int c = 0; c < g->candidates.n; c++)
        g->sets.device_set[c].design = x->design[c];
    find_ends(h, x, n, end);
    for (int i = 0; i < n; i++) {
        if (end[i] > first)
            x->value_s += weft_ga_stretch(g, taken[i], first, end[i]).value_s;
        first = end[i];
    }
    if (x->value_s >= h->best_s || x->value_s >= WEFT_GA_PENALTY_S)
        return;
    first = 0;
    for (int i = 0; i < n; i++) { /* known by now */
        if (end[i] > first)
            memcpy(g->draft.choice + first, weft_ga_stretch(g, taken[i], first, end[i]).choice,
                   (size_t)(end[i] - first) * sizeof(int));
        first = end[i];
    }
    if (weft_baseline_offer(g->base, &g->draft, NULL))
        h->best_s = x->value_s;
}

/* --- genomes --------------------------------------------------------------------------------- */

static int draw_design(population *h, int candidate)
{
    const weft_baseline *b = h->ga->base;
    int class = b->class_of[h->ga->sets.device_set[candidate].member[0]];
    int first = b->design_at[class], n = b->design_at[class + 1] - first, i = 0;
    double sum = 0, at;

    for (int j = 0; j < n; j++)
        sum += 1 / h->design_s[first + j];
    at = weft_rng_real(&h->rng) * sum;
    while (i + 1 < n && at >= 1 / h->design_s[first + i]) {
        at -= 1 / h->design_s[first + i];
        i++;
    }
    return i;
}

static genome new_genome(const weft_ga *g)
{
    weft_arena *a = g->base->arena;

    return (genome){.priority = WEFT_NEW(a, double, g->candidates.n),
                    .design = WEFT_NEW(a, int, g->candidates.n),
                    .cut = WEFT_NEW(a, double, g->base->problem->n_accelerators)};
}

static void copy_genome(const weft_ga *g, genome *to, const genome *from)
{
    memcpy(to->priority, from->priority, (size_t)g->candidates.n * sizeof(double));
    memcpy(to->design, from->design, (size_t)g->candidates.n * sizeof(int));
    memcpy(to->cut, from->cut, (size_t)g->base->problem->n_accelerators * sizeof(double));
    to->value_s = from->value_s;
}

static void draw_genome(population *h, genome *x)
{
    for (int c = 0; c < h->ga->candidates.n; c++) {
        x->priority[c] = weft_rng_real(&h->rng);
        x->design[c] = draw_design(h, c);
    }
    for (int i = 0; i < h->ga->base->problem->n_accelerators; i++)
        x->cut[i] = weft_rng_real(&h->rng);
}

/* Of one accelerator for all steps, with the candidate's design. */
static double design_time_s(const population *h, const genome *x, int c)
{
    const weft_baseline *b = h->ga->base;

    return h->design_s[b->design_at[b->class_of[h->ga->candidates.device_set[c].member[0]]] +
                       x->design[c]];
}

/* Whole classes first, the largest of them before all; everything on that one. */
static void make_whole(population *h, genome *x)
{
    weft_ga *g = h->ga;
    int largest = 0;

    for (int c = 0; c < g->candidates.n; c++) {
        x->priority[c] = -c;
        x->design[c] = weft_baseline_best_design(g->base, &g->candidates.device_set[c], NULL, NULL);
        if (g->candidates.device_set[c].n > g->candidates.device_set[largest].n)
            largest = c;
    }
    x->priority[largest] = 1;
    for (int i = 0; i < g->base->problem->n_accelerators; i++)
        x->cut[i] = 1;
}

/* Steps from `first` on that a candidate can run with its design in x. */
static int run_length(population *h, const genome *x, int c, int first)
{
    weft_baseline *b = h->ga->base;
    weft_device_set one = {.n = 1, .member = {h->ga->candidates.device_set[c].member[0]}};
    int u = first;

    one.design = x->design[c];
    while (u < b->problem->steps->n && weft_baseline_split(b, u, &one, 0)->phase_s < INFINITY)
        u++;
    return u - first;
}

/* Whole classes, each for as many steps as it can run, those that can run most first. */
static void make_runs(population *h, genome *x)
{
    const weft_candidates *c = &h->ga->candidates;
    int n_steps = h->ga->base->problem->steps->n, n_taken = 0, first = 0;

    make_whole(h, x);
    for (int i = 0; i < c->n; i++)
        x->priority[i] = -i;
    for (; first < n_steps; n_taken++) {
        int best = 0, longest = 0;

        for (int i = 0; i < c->n && c->parent[i] < 0; i++) {
            int length = x->priority[i] > 0 ? 0 : run_length(h, x, i, first);

            if (length > longest || (length == longest && length > 0 &&
                                     design_time_s(h, x, i) < design_time_s(h, x, best))) {
                best = i;
                longest = length;
            }
        }
        if (longest == 0)
            break;
        first += longest;
        x->priority[best] = 1 + n_steps - n_taken;
        x->cut[n_taken] = h->work[first];
    }
}

/* --- generations ----------------------------------------------------------------------------- */

static int pick(population *h)
{
    int best = weft_rng_below(&h->rng, POPULATION);

    for (int i = 1; i < TOURNAMENT; i++) {
        int other = weft_rng_below(&h->rng, POPULATION);

        if (h->now[other].value_s < h->now[best].value_s)
            best = other;
    }
    return best;
}

static void cross(population *h, genome *child, const genome *other)
{
    double share = weft_rng_real(&h->rng);

    for (int c = 0; c < h->ga->candidates.n; c++) {
        if (weft_rng_below(&h->rng, 2) == 0)
            child->priority[c] = other->priority[c];
        if (weft_rng_below(&h->rng, 2) == 0)
            child->design[c] = other->design[c];
    }
    for (int i = 0; i < h->ga->base->problem->n_accelerators; i++)
        child->cut[i] += share * (other->cut[i] - child->cut[i]);
}

/* A normal deviate, nearly: the sum of twelve uniform ones. */
static double deviate(weft_rng *r)
{
    double sum = -6;

    for (int i = 0; i < 12; i++)
        sum += weft_rng_real(r);
    return sum;
}

static void mutate(population *h, genome *x)
{
    int n = h->ga->candidates.n;

    if (weft_rng_below(&h->rng, 2) == 0) {
        int i = weft_rng_below(&h->rng, n), j = weft_rng_below(&h->rng, n);
        double swapped = x->priority[i];

        x->priority[i] = x->priority[j];
        x->priority[j] = swapped;
    }
    if (weft_rng_below(&h->rng, 2) == 0) {
        int i = weft_rng_below(&h->rng, n);

        x->design[i] = draw_design(h, i);
    }
    if (weft_rng_below(&h->rng, 2) == 0)
        x->cut[weft_rng_below(&h->rng, h->ga->base->problem->n_accelerators)] +=
            SHIFT * deviate(&h->rng);
}

/* The best ones stay, in the first places. */
static void keep_elite(population *h)
{
    bool is_kept[POPULATION] = {false};

    for (int k = 0; k < ELITE; k++) {
        int best = -1;

        for (int i = 0; i < POPULATION; i++) {
            if (!is_kept[i] && (best < 0 || h->now[i].value_s < h->now[best].value_s))
                best = i;
        }
        is_kept[best] = true;
        copy_genome(h->ga, &h->next[k], &h->now[best]);
    }
}

static void next_generation(population *h)
{
    keep_elite(h);
    for (int k = ELITE; k < POPULATION; k++) {
        genome *child = &h->next[k];

        copy_genome(h->ga, child, &h->now[pick(h)]);
        if (weft_rng_real(&h->rng) < CROSSOVER)
            cross(h, child, &h->now[pick(h)]);
        mutate(h, child);
        child->value_s = INFINITY;
        if (!weft_ga_is_over(h->ga))
            evaluate(h, child);
    }
    for (int k = 0; k < POPULATION; k++) {
        genome swapped = h->now[k];

        h->now[k] = h->next[k];
        h->next[k] = swapped;
    }
}

/* --- start ----------------------------------------------------------------------------------- */

/* Work before each step as a share of all. */
static void measure_work(population *h)
{
    const weft_steps *s = h->ga->base->problem->steps;
    double *macs = WEFT_NEW(h->ga->base->arena, double, s->n + 1);

    h->work = WEFT_NEW(h->ga->base->arena, double, s->n + 1);
    for (int u = 0; u < s->n; u++) {
        macs[u + 1] = macs[u];
        for (int i = 0; i < s->step[u].n_nodes; i++)
            macs[u + 1] += (double)weft_node_work(s->graph, s->step[u].node[i]).macs;
    }
    for (int u = 0; u <= s->n; u++)
        h->work[u] =
            0.5 * u / s->n + 0.5 * (macs[s->n] > 0 ? macs[u] / macs[s->n] : 1.0 * u / s->n);
}

static void measure_designs(population *h)
{
    weft_baseline *b = h->ga->base;

    h->design_s = WEFT_NEW(b->arena, double, b->design_at[b->n_classes]);
    for (int c = 0; c < b->n_classes; c++) {
        weft_device_set one = {.n = 1, .member = {h->ga->candidates.device_set[c].member[0]}};

        for (int j = b->design_at[c]; j < b->design_at[c + 1]; j++) {
            one.design = j - b->design_at[c];
            for (int u = 0; u < b->problem->steps->n; u++) {
                double s = weft_split_compute_s(weft_baseline_split(b, u, &one, 0));

                h->design_s[j] += s < INFINITY ? s : WEFT_GA_PENALTY_S;
            }
            h->design_s[j] = fmax(h->design_s[j], 1e-30);
        }
    }
}

/* The first candidate on which everything costs the same. */
static int first_alike(const weft_ga *g, int c)
{
    for (int i = 0; i < c; i++) {
        if (weft_baseline_are_same(g->base, &g->candidates.device_set[i],
                                   &g->candidates.device_set[c]))
            return i;
    }
    return c;
}

static weft_ga *new_ga(weft_baseline *b)
{
    weft_ga *g = WEFT_NEW(b->arena, weft_ga, 1);

    g->base = b;
    g->candidates = weft_baseline_candidates(b);
    g->sets = weft_baseline_sets_new(b, g->candidates.device_set, g->candidates.n);
    g->draft = weft_draft_new(b, &g->sets);
    g->type_of = WEFT_NEW(b->arena, int, g->candidates.n);
    for (int c = 0; c < g->candidates.n; c++)
        g->type_of[c] = first_alike(g, c);
    return g;
}

static void start(population *h)
{
    measure_work(h);
    measure_designs(h);
    for (int k = 0; k < POPULATION; k++) {
        h->now[k] = new_genome(h->ga);
        h->next[k] = new_genome(h->ga);
        if (k == 0)
            make_whole(h, &h->now[k]);
        else if (k == 1)
            make_runs(h, &h->now[k]);
        else
            draw_genome(h, &h->now[k]);
        h->now[k].value_s = INFINITY;
        if (k == 0 || !weft_ga_is_over(h->ga))
            evaluate(h, &h->now[k]);
    }
}

static weft_status solve(const weft_shard_problem *p, const weft_shard_options *o, weft_run *run,
                         weft_shard_plan *plan, weft_proof *proof)
{
    weft_baseline *b = weft_baseline_new(p, run);
    population *h = WEFT_NEW(b->arena, population, 1);

    (void)o;
    h->ga = new_ga(b);
    h->rng = weft_rng_seed((uint64_t)run->seed);
    h->best_s = INFINITY;
    start(h);
    for (int i = 0; i < GENERATIONS && !weft_ga_is_over(h->ga); i++)
        next_generation(h);
    if (b->reason == NULL)
        b->reason = "the search found no sets whose memory and designs suit all their steps";
    return weft_baseline_finish(b, plan, proof);
}

const weft_shard_solver weft_shard_ga = {
    .name = "ga",
    .summary = "baseline: two-level genetic algorithm over sets and splits, as in MARS",
    .solve = solve};
