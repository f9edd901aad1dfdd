/* SPDX-License-Identifier: MIT */
/* why_train.c: why a step of training takes as long as it does, and why none takes less than its
 * bound. The reasons are the bounds without search (train_bound.c), each valid by itself:
 *  work      the seconds that units take, on all devices at once, best width and share for each
 *  compute   all arithmetic at the peak of all devices
 *  memory    all memory traffic at the bandwidth of all devices
 *  link      communication that no plan avoids
 * A bound of the search over pipelines stands above them under the key "search". */
#include "why.h"

#include <math.h>
#include <string.h>

typedef struct finder {
    const weft_train_problem *p;
    weft_reasons *r;
    weft_arena *scratch;
    int *unit;
} finder;

/* The least of a figure of a unit over all tables, for one sample. */
static double least_of(const weft_train_problem *p, int unit, size_t offset)
{
    int n_classes = p->cluster->n_classes;
    double least = INFINITY;

    for (int c = 0; c < n_classes; c++)
        for (int w = 0; w < p->n_widths; w++)
            for (int x = 0; x < p->n_shares; x++) {
                const weft_block_cost *cost = p->cost[weft_train_problem_table(p, c, w, x)];
                const char *at = (const char *)(cost != NULL ? &cost[unit] : NULL);
                double per_sample;

                if (cost == NULL)
                    continue;
                per_sample = *(const double *)(const void *)(at + offset);
                if (offset == offsetof(weft_block_cost, forward_s))
                    per_sample += cost[unit].backward_s;
                least = fmin(least, per_sample * p->width[w] / (double)p->share[x]);
            }
    return least < INFINITY ? least : 0;
}

/* A reason made of all units; which ones are heavy is told by a figure of theirs. */
static void add(finder *f, const weft_reason *reason, size_t offset)
{
    int n = f->p->blocks.n_blocks;
    double *weight = WEFT_NEW(f->scratch, double, n + 1);
    weft_reason with = *reason;

    for (int i = 0; i < n; i++) {
        f->unit[i] = i;
        weight[i] = least_of(f->p, i, offset);
    }
    with.n_tasks = n;
    with.task = f->unit;
    with.weight = weight;
    weft_reason_add(f->r, &with);
}

static void find_floors(finder *f)
{
    weft_train_bound_parts floor;
    weft_proof proof;

    weft_train_bound(f->p, f->scratch, &proof, &floor);
    if (strcmp(proof.method, "work of all devices") == 0)
        add(f,
            &(weft_reason){.key = "work",
                           .name = "work of all devices",
                           .text = "all units, shared out over all devices as well as can be, take "
                                   "so long",
                           .seconds = proof.bound},
            offsetof(weft_block_cost, forward_s));
    add(f,
        &(weft_reason){.key = "compute",
                       .name = "arithmetic",
                       .text = "all arithmetic of a step at the peak of all devices together",
                       .seconds = floor.compute_s},
        offsetof(weft_block_cost, compute_s));
    add(f,
        &(weft_reason){
            .key = "memory",
            .name = "memory bandwidth",
            .text = "all memory traffic of a step at the memory bandwidth of all devices together",
            .seconds = floor.memory_s},
        offsetof(weft_block_cost, memory_s));
    weft_reason_add(
        f->r,
        &(weft_reason){.key = "link",
                       .name = "communication",
                       .text = "no single block of devices holds the network: stages send, or "
                               "replicas sum gradients, over the best link",
                       .seconds = floor.send_s});
}

static void split_chain(const weft_train_measures *m, weft_arena *scratch, weft_why *out)
{
    bool *is_compute = WEFT_NEW(scratch, bool, m->jobs->n_jobs + 1);

    for (int i = 0; i < m->jobs->n_jobs; i++)
        is_compute[i] = m->part[i] == WEFT_TRAIN_FORWARD || m->part[i] == WEFT_TRAIN_BACKWARD ||
                        m->part[i] == WEFT_TRAIN_UPDATE;
    weft_why_chain(m->jobs, m->timeline, is_compute, out);
}

static const char *bubble_words(const weft_train_measures *m, weft_arena *a)
{
    return weft_arena_print(a, "stages stand still for %.1f %% of the step (bubble)",
                            100 * m->bubble);
}

void weft_train_why(const weft_train_problem *p, const weft_train_solution *s, weft_arena *a,
                    weft_why *out)
{
    weft_arena *scratch = weft_arena_new();
    weft_reasons r = {.a = a};
    finder f = {p, &r, scratch, WEFT_NEW(scratch, int, p->blocks.n_blocks + 1)};
    bool has_plan = s->plan.stage != NULL && s->measures.stage_busy_s != NULL;

    *out = (weft_why){0};
    find_floors(&f);
    weft_reasons_end(&r, &s->proof, weft_train_method_is_search(s->proof.method), out);
    if (has_plan)
        split_chain(&s->measures, scratch, out);
    weft_why_words(&s->proof, has_plan, has_plan ? bubble_words(&s->measures, a) : NULL, a, out);
    weft_arena_free(scratch);
}
