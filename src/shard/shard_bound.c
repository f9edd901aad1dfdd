/* SPDX-License-Identifier: MIT */
/* shard_bound.c: what no sharded plan can beat, without search.
 *
 * For every step the least seconds of any mode: any number n of equal accelerators up to all there
 * are, any design, any split, with the fastest link of the platform between members and to the
 * host. Communication between steps takes no less than nothing. So
 *
 *   one after the other:  sum of these minima (with inputs and outputs)       <= latency
 *   side by side:         the longest path of minima of modes                  <= latency
 *                         sum of least accelerator-seconds / accelerators      <= latency
 *
 * since computing, rotating and summing occupy all n members of a set. Every plan pays for each
 * step at least its minimum, whatever the sets are. */
#include "shard_bound.h"
#include "tables.h"

#include <math.h>

static void take_best(weft_link_cost *best, const weft_route *r)
{
    if (r->n_hops <= 0)
        return;
    best->bytes_per_s = fmax(best->bytes_per_s, r->bytes_per_s);
    best->latency_s = fmin(best->latency_s, r->latency_s);
}

weft_link_cost weft_fastest_link(const weft_shard_problem *p)
{
    weft_link_cost best = {.latency_s = INFINITY, .has_trees = p->platform->has_trees};

    for (int i = 0; i < p->n_accelerators; i++)
        for (int k = 0; k < p->n_accelerators; k++)
            take_best(&best,
                      weft_platform_route(p->platform, p->accelerator[i], p->accelerator[k]));
    return best;
}

static weft_link_cost fastest_host(const weft_shard_problem *p)
{
    const weft_platform *m = p->platform;
    weft_link_cost best = {.latency_s = INFINITY};

    if (m->host < 0)
        return WEFT_LINK_COST_NONE;
    for (int i = 0; i < p->n_accelerators; i++) {
        take_best(&best, weft_platform_route(m, m->host, p->accelerator[i]));
        take_best(&best, weft_platform_route(m, p->accelerator[i], m->host));
    }
    return best;
}

static void look_at(weft_tables *t, int step_class, const weft_set_kind *kind, weft_step_bound *out)
{
    const weft_shard_problem *p = t->problem;
    const weft_split_cost *m =
        weft_tables_costs(t, step_class, kind->n, weft_device_set_design(p, &kind->device_set));
    int n = weft_tables_choices(t, step_class, kind->n)->n;

    for (int k = 0; k < n; k++) {
        double s = weft_split_cost_s(&m[k], &kind->link, p->hides);
        double own_s = weft_tables_own_s(t, step_class, kind, k);

        if (!(s < INFINITY))
            continue;
        out->own_s = fmin(out->own_s, own_s);
        out->mode_s = fmin(out->mode_s, s);
        out->device_s = fmin(out->device_s, s * kind->n);
        out->compute_s = fmin(out->compute_s, m[k].n_phases * m[k].phase_s);
        out->host_s = fmin(out->host_s, fmax(0, own_s - s));
    }
}

/* Minima of the classes of steps: the best that any set could hope for. */
static weft_step_bound *find_least(weft_tables *t, const weft_repeats *equals, weft_arena *a)
{
    const weft_platform *m = t->problem->platform;
    weft_step_bound *out = WEFT_NEW(a, weft_step_bound, t->n_classes);
    weft_set_kind kind = {.link = weft_fastest_link(t->problem), .host = fastest_host(t->problem)};

    for (int c = 0; c < t->n_classes; c++)
        out[c] = (weft_step_bound){INFINITY, INFINITY, INFINITY, INFINITY, INFINITY};
    for (int b = 0; b < equals->n_classes; b++) {
        int device = equals->device[b][0];

        for (kind.n = 1; kind.n <= weft_repeats_most(equals, b); kind.n++)
            for (int d = 0; d < m->device[device].n_designs; d++) {
                kind.device_set = (weft_device_set){.n = 1, .member = {device}, .design = d};
                for (int c = 0; c < t->n_classes; c++)
                    look_at(t, c, &kind, &out[c]);
            }
    }
    return out;
}

/* Fills path_s and the path itself. */
static void find_path(const weft_shard_problem *p, weft_arena *a, weft_shard_bound_parts *out)
{
    const weft_steps *s = p->steps;
    weft_arena *scratch = weft_arena_new();
    double *end_s = WEFT_NEW(scratch, double, s->n + 1);
    int *before = WEFT_NEW(scratch, int, s->n + 1), *path = WEFT_NEW(a, int, s->n + 1), last = -1;

    for (int v = 0; v < s->n; v++) {
        before[v] = -1;
        for (int k = 0; k < s->step[v].n_operands; k++) {
            int u = s->step[v].operand[k].step;

            if (u >= 0 && (before[v] < 0 || end_s[u] > end_s[before[v]]))
                before[v] = u;
        }
        end_s[v] = (before[v] < 0 ? 0 : end_s[before[v]]) + out->step[v].mode_s;
        if (last < 0 || end_s[v] > end_s[last])
            last = v;
    }
    out->path_s = last < 0 ? 0 : end_s[last];
    for (int v = last; v >= 0; v = before[v])
        path[out->n_path++] = v;
    for (int i = 0; i < out->n_path / 2; i++) {
        int swap = path[i];

        path[i] = path[out->n_path - 1 - i];
        path[out->n_path - 1 - i] = swap;
    }
    out->path = path;
    weft_arena_free(scratch);
}

void weft_shard_bound_find(const weft_shard_problem *p, weft_arena *a, weft_shard_bound_parts *out)
{
    weft_arena *scratch = weft_arena_new();
    weft_tables *t = weft_tables_new(p, scratch);
    weft_repeats equals = weft_repeats_find(p, scratch);
    weft_step_bound *l = find_least(t, &equals, scratch);
    weft_step_bound *step = WEFT_NEW(a, weft_step_bound, p->steps->n + 1);

    *out = (weft_shard_bound_parts){.step = step};
    for (int v = 0; v < p->steps->n; v++) {
        step[v] = l[t->class_of[v]];
        out->sum.own_s += step[v].own_s;
        out->sum.mode_s += step[v].mode_s;
        out->sum.device_s += step[v].device_s;
        out->sum.compute_s += step[v].compute_s;
        out->sum.host_s += step[v].host_s;
    }
    find_path(p, a, out);
    weft_arena_free(scratch);
}

void weft_shard_bound(const weft_shard_problem *p, weft_arena *a, weft_proof *out)
{
    size_t mark = weft_arena_mark(a);
    weft_shard_bound_parts floor;
    double bound;

    weft_shard_bound_find(p, a, &floor);
    bound = p->constraints.is_concurrent
                ? fmax(floor.path_s, floor.sum.device_s / p->n_accelerators)
                : floor.sum.own_s;
    weft_arena_rewind(a, mark);
    *out = (weft_proof){.outcome = WEFT_UNKNOWN,
                        .value = INFINITY,
                        .bound = bound,
                        .gap = INFINITY,
                        .method = "floor",
                        .certified_by = "floor",
                        .certified = bound,
                        .again = "floor"};
}
