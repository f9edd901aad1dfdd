/* SPDX-License-Identifier: MIT */
/* floor.c: what no plan of a sharded network can beat, found without search.
 *
 * 1. For every step the least seconds, and the least seconds times members, over all kinds of
 *    accelerators, their designs, all sizes of sets up to their number, and all splits. Links are
 *    as good as those of the best pair of devices of that kind. Steps of equal work are looked at
 *    once.
 * 2. One after the other: the sum of the least seconds. In any plan the jobs of a step, without the
 *    ways of its operands, take weft_mode_s on the links of its set, which are no better than those
 *    of 1; other jobs take no negative time.
 *    Side by side: the larger of
 *      - the longest path through the network of the least seconds: a step computes after those it
 *        reads from have ended;
 *      - the sum of the least seconds times members over the number of accelerators: a step
 * occupies each member of its set for weft_mode_s, and a device is occupied by one step at a time.
 *
 * Hidden communication is covered: weft_mode_s hides what can be hidden in a step, and what is
 * computed beside the way of an operand makes no step shorter than that.
 *
 * Time: different steps * kinds * designs * splits. */
#include <math.h>
#include <string.h>

#include "weft/shard.h"

/* Accelerators of one kind and the best of their links. */
typedef struct kind {
    int n;
    const weft_device *device;
    weft_span span;
} kind;

static void add_pair(const weft_platform *p, int a, int b, weft_span *best)
{
    const weft_route *r = &p->route[a * p->n_devices + b];

    if (r->n_hops < 0)
        return;
    best->latency_s = fmin(best->latency_s, r->latency_s);
    best->bytes_per_s = fmax(best->bytes_per_s, r->bytes_per_s);
}

/* The kind of accelerator i; n = 0 if it was met before. */
static kind kind_of(const weft_sharding *p, int i)
{
    const weft_platform *f = p->platform;
    const weft_device *d = &f->device[p->accelerator[i]];
    kind k = {
        .device = d, .span = {INFINITY, 0}
    };

    for (int j = 0; j < p->n_accelerators; j++) {
        if (strcmp(f->device[p->accelerator[j]].kind, d->kind) != 0)
            continue;
        if (j < i)
            return (kind){0};
        k.n++;
        for (int l = i; l < p->n_accelerators; l++)
            if (l != j && strcmp(f->device[p->accelerator[l]].kind, d->kind) == 0)
                add_pair(f, p->accelerator[j], p->accelerator[l], &k.span);
    }
    return k;
}

typedef struct least {
    double seconds, device_s;
} least;

/* Step v on sets of n devices of a kind. */
static void try_size(const weft_sharding *p, int v, const kind *k, int n, weft_arena *scratch,
                     least *best)
{
    static const weft_span alone = {0, INFINITY};
    size_t mark = weft_arena_mark(scratch);
    const weft_split *split;
    int n_splits = weft_step_splits(p->steps, v, n, !p->ask.has_no_sharing, scratch, &split);

    for (int i = 0; i < n_splits; i++)
        for (int j = 0; j < k->device->n_designs; j++) {
            weft_mode m = weft_split_mode(p->steps, v, &split[i], &k->device->design[j]);
            double seconds = weft_mode_s(&m, n == 1 ? &alone : &k->span, p->hides);

            best->seconds = fmin(best->seconds, seconds);
            best->device_s = fmin(best->device_s, n * seconds);
        }
    weft_arena_rewind(scratch, mark);
}

static const least *least_of_all(const weft_sharding *p, weft_arena *scratch)
{
    kind *k = WEFT_NEW(scratch, kind, p->n_accelerators);
    least *best = WEFT_NEW(scratch, least, p->steps->n + 1);

    for (int i = 0; i < p->n_accelerators; i++)
        k[i] = kind_of(p, i);
    for (int v = 0; v < p->steps->n; v++) {
        best[v] = (least){INFINITY, INFINITY};
        if (p->steps->step[v].like < v) {
            best[v] = best[p->steps->step[v].like];
            continue;
        }
        for (int i = 0; i < p->n_accelerators; i++)
            for (int n = 1; n <= k[i].n; n++)
                try_size(p, v, &k[i], n, scratch, &best[v]);
    }
    return best;
}

static double longest_path(const weft_steps *s, const least *best, weft_arena *scratch)
{
    double *end_s = WEFT_NEW(scratch, double, s->n + 1), longest = 0;

    for (int v = 0; v < s->n; v++) {
        for (int k = 0; k < s->step[v].n_operands; k++)
            if (s->step[v].operand[k].step >= 0)
                end_s[v] = fmax(end_s[v], end_s[s->step[v].operand[k].step]);
        end_s[v] += best[v].seconds;
        longest = fmax(longest, end_s[v]);
    }
    return longest;
}

void weft_shard_bound(const weft_sharding *p, weft_arena *a, weft_proof *out)
{
    weft_arena *scratch = weft_arena_new();
    const least *best = least_of_all(p, scratch);
    double sum_s = 0, device_s = 0;

    for (int v = 0; v < p->steps->n; v++) {
        sum_s += best[v].seconds;
        device_s += best[v].device_s;
    }
    if (p->ask.is_concurrent)
        sum_s = fmax(longest_path(p->steps, best, scratch), device_s / p->n_accelerators);
    (void)a; /* nothing of this bound takes memory */
    *out = (weft_proof){.outcome = WEFT_UNKNOWN,
                        .value = INFINITY,
                        .gap = INFINITY,
                        .bound = sum_s,
                        .method = "floor",
                        .certified = sum_s,
                        .again = "floor"};
    weft_arena_free(scratch);
}
