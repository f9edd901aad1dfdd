/* SPDX-License-Identifier: MIT */
/* train_bound.c: lower bounds on a step without any search, for anybody to compute again.
 *
 *  compute  all work at the peak of all devices, memory_s the same for memory traffic, work the
 *           same for the seconds that units take: bound 3 of pipe_bound.c over all widths and
 *           shares.
 *  send     0 if one block can hold the network with one microbatch in flight. Otherwise a plan
 *           has two stages, so one sample at least hops over a cut, whole; or two replicas, which
 *           sum all gradients: 2 (n-1) latencies and 2 (n-1)/n of the bytes, at least 2 and 1. All
 *           at the best link of the platform. 0 if replicas divide gradients, or sums overlap:
 *           these move beside computation.
 *
 * The largest counts; of several variants of a problem, the least of theirs. Cost O(tables * units +
 * links). */
#include <math.h>

#include "space.h"
#include "train_plan.h"

/* --- communication --------------------------------------------------------------------------- */

static bool is_one_enough(weft_pipe_costs *c, int class_id, int w, int x)
{
    const weft_train_problem *p = c->p;
    weft_pipe_group group = {.width = w,
                             .n_parts = 1,
                             .n_blocks = 1,
                             .class_id = {class_id},
                             .count = {1},
                             .n_mixes = 1,
                             .mix = &x};
    weft_pipe_stage s;

    return c->row[weft_train_problem_table(p, class_id, w, x)].is_there &&
           weft_pipe_stage_of(c, &group, &(weft_pipe_range){0, p->blocks.n_cuts - 1, 1}, 0,
                              INFINITY, &s);
}

static bool has_single(weft_pipe_costs *c)
{
    const weft_train_problem *p = c->p;

    for (int k = 0; k < c->n_classes; k++)
        for (int w = 0; w < p->n_widths; w++)
            for (int x = 0; x < p->n_shares; x++)
                if (is_one_enough(c, k, w, x))
                    return true;
    return false;
}

/* Bytes that a device sums at least, if the network is one stage. */
static double least_sync_bytes(const weft_pipe_costs *c)
{
    int last = c->p->blocks.n_cuts - 1;
    double least = INFINITY;

    for (int i = 0; i < c->n_classes * c->p->n_widths * c->p->n_shares; i++)
        if (c->row[i].is_there)
            least = fmin(least, c->store[i].sync_bytes[last]);
    return least;
}

static double send_floor_s(weft_pipe_costs *c)
{
    const weft_train_problem *p = c->p;
    const weft_platform *f = p->cluster->platform;
    double latency_s = INFINITY, bytes_per_s = 0, least_s = INFINITY, sync_bytes;

    if (has_single(c))
        return 0;
    for (int i = 0; i < f->n_links; i++) {
        latency_s = fmin(latency_s, f->link[i].latency_s);
        bytes_per_s = fmax(bytes_per_s, f->link[i].bytes_per_s);
    }
    if (f->n_links == 0)
        return 0;
    for (int i = 1; i < p->blocks.n_cuts - 1; i++) {
        double bytes = p->blocks.leave_bytes[i];

        least_s = fmin(least_s, bytes > 0 ? latency_s + bytes / bytes_per_s : 0);
    }
    sync_bytes = p->constraints.zero < WEFT_ZERO_GRADIENTS && !weft_sync_overlaps(p)
                     ? least_sync_bytes(c)
                     : 0;
    return fmin(least_s, sync_bytes > 0 ? 2 * latency_s + sync_bytes / bytes_per_s : 0);
}

/* --- all ------------------------------------------------------------------------------------- */

static void take(weft_proof *out, double bound_s, const char *method)
{
    if (bound_s > out->bound) {
        out->bound = bound_s;
        out->method = method;
    }
}

static void bound_of(const weft_train_problem *p, weft_arena *a, weft_proof *out,
                     weft_train_bound_parts *floor)
{
    const double rounding = 1 - 1e-12; /* sums in another order must not undercut it */
    size_t mark = weft_arena_mark(a);
    weft_pipe_costs c;

    weft_pipe_costs_new(p, a, &c);
    *floor = (weft_train_bound_parts){.compute_s = rounding * weft_pipe_work_s(&c, NULL, 1),
                                      .memory_s = rounding * weft_pipe_work_s(&c, NULL, 2),
                                      .send_s = rounding * send_floor_s(&c)};
    *out = (weft_proof){.outcome = WEFT_BOUNDED, .method = "work of all devices"};
    take(out, rounding * weft_pipe_work_s(&c, NULL, 0), "work of all devices");
    take(out, floor->compute_s, "compute");
    take(out, floor->memory_s, "memory bandwidth");
    take(out, floor->send_s, "communication");
    out->certified = out->bound;
    out->certified_by = out->method;
    out->again = "train floor";
    weft_arena_rewind(a, mark);
}

void weft_train_bound(const weft_train_problem *p, weft_arena *a, weft_proof *out,
                      weft_train_bound_parts *floor)
{
    bound_of(weft_train_variant_at(p, 0), a, out, floor);
    for (int i = 1; i < p->n_variants; i++) {
        weft_train_bound_parts parts;
        weft_proof one;

        bound_of(p->variant[i], a, &one, &parts);
        floor->compute_s = fmin(floor->compute_s, parts.compute_s);
        floor->memory_s = fmin(floor->memory_s, parts.memory_s);
        floor->send_s = fmin(floor->send_s, parts.send_s);
        if (one.bound < out->bound)
            *out = one;
    }
}
