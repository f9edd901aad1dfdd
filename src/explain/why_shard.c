/* SPDX-License-Identifier: MIT */
/* why_shard.c: why a sharded network takes as long as it does, and why none takes less than its
 * bound. The reasons are what shard_bound.c sums: for every step the least over all sets, designs and
 * splits, with the best links of the platform.
 *
 * One after the other, every job adds to the latency, so each of these is a bound:
 *  steps    least seconds of every step with what it takes from the host and gives to it
 *  compute  least seconds of arithmetic alone
 *  host     least seconds of inputs and outputs alone
 * Side by side:
 *  path     steps that wait for each other
 *  work     accelerator-seconds of all steps, on all accelerators
 * The rest of a bound is the search's. */
#include "why.h"

#include "shard_bound.h"

#include <math.h>

typedef struct finder {
    const weft_shard_problem *p;
    weft_shard_bound_parts floor;
    weft_reasons *r;
    weft_arena *a, *scratch;
} finder;

/* Seconds of all steps by one of the minima. */
static void add(finder *f, const weft_reason *reason, size_t offset)
{
    int n = f->p->steps->n, *step = WEFT_NEW(f->scratch, int, n + 1);
    double *weight = WEFT_NEW(f->scratch, double, n + 1);
    weft_reason with = *reason;

    for (int v = 0; v < n; v++) {
        step[v] = v;
        weight[v] = *(const double *)(const void *)((const char *)&f->floor.step[v] + offset);
    }
    with.n_tasks = n;
    with.task = step;
    with.weight = weight;
    weft_reason_add(f->r, &with);
}

static void find_sequential(finder *f)
{
    const weft_step_bound *sum = &f->floor.sum;

    add(f,
        &(weft_reason){.key = "steps",
                       .name = "all steps at their best",
                       .text = weft_arena_print(f->a,
                                                "%d steps run one after the other: the least that "
                                                "each takes, added up, whatever its set, design "
                                                "and split",
                                                f->p->steps->n),
                       .seconds = sum->own_s},
        offsetof(weft_step_bound, own_s));
    add(f,
        &(weft_reason){.key = "compute",
                       .name = "arithmetic",
                       .text = "arithmetic of all steps on the best set and design for each",
                       .seconds = sum->compute_s},
        offsetof(weft_step_bound, compute_s));
    add(f,
        &(weft_reason){.key = "host",
                       .name = "ways to the host",
                       .text = "inputs come from the host and outputs go there, over its best link",
                       .seconds = sum->host_s},
        offsetof(weft_step_bound, host_s));
}

static void find_concurrent(finder *f)
{
    const weft_shard_bound_parts *l = &f->floor;
    double *weight = WEFT_NEW(f->scratch, double, l->n_path + 1);

    for (int i = 0; i < l->n_path; i++)
        weight[i] = fmax(l->step[l->path[i]].mode_s, 1e-300);
    weft_reason_add(
        f->r, &(weft_reason){"path", "critical path",
                             weft_arena_print(f->a,
                                              "%d steps wait for each other in turn, each on the "
                                              "best set, design and split",
                                              l->n_path),
                             l->path_s, l->n_path, l->path, weight});
    add(f,
        &(weft_reason){.key = "work",
                       .name = "work of all accelerators",
                       .text = weft_arena_print(
                           f->a, "all steps keep the %d accelerators busy so long, on average",
                           f->p->n_accelerators),
                       .seconds = l->sum.device_s / f->p->n_accelerators},
        offsetof(weft_step_bound, device_s));
}

/* Seconds by what jobs do. */
static const char *part_words(const weft_shard_plan_measures *m, weft_arena *a)
{
    return weft_arena_print(a,
                            "of all its jobs, %s rotate shards, %s combine sums, %s move operands "
                            "between members, %s between sets, %s to and from the host",
                            weft_why_seconds(a, m->rotate_s), weft_why_seconds(a, m->reduce_s),
                            weft_why_seconds(a, m->reshard_s), weft_why_seconds(a, m->handover_s),
                            weft_why_seconds(a, m->host_s));
}

static void split_chain(const weft_shard_plan_measures *m, weft_arena *scratch, weft_why *out)
{
    bool *is_compute = WEFT_NEW(scratch, bool, m->jobs->n_jobs + 1);

    for (int i = 0; i < m->jobs->n_jobs; i++)
        is_compute[i] = m->part[i] == WEFT_PART_COMPUTE;
    weft_why_chain(m->jobs, m->timeline, is_compute, out);
}

void weft_shard_why(const weft_shard_problem *p, const weft_shard_solution *s, weft_arena *a,
                    weft_why *out)
{
    weft_arena *scratch = weft_arena_new();
    weft_reasons r = {.a = a};
    finder f = {.p = p, .r = &r, .a = a, .scratch = scratch};
    bool has_plan = s->plan.set_of != NULL && s->measures.busy_s != NULL;

    *out = (weft_why){0};
    weft_shard_bound_find(p, scratch, &f.floor);
    if (p->constraints.is_concurrent)
        find_concurrent(&f);
    else
        find_sequential(&f);
    weft_reasons_end(&r, &s->proof, weft_shard_method_is_search(s->proof.method), out);
    if (has_plan)
        split_chain(&s->measures, scratch, out);
    weft_why_words(&s->proof, has_plan, has_plan ? part_words(&s->measures, a) : NULL, a, out);
    weft_arena_free(scratch);
}
