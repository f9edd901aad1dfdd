/* SPDX-License-Identifier: MIT */
/* intervals.c: plans of few segments, cut out of an order of the tasks.
 *
 * 1. Groups in the order of their first task. A segment is an interval of this list on one device.
 * 2. An interval takes the time of its tasks; a cut takes the switch to the next device and the longest
 *    transfer of what is made before it and read after it, as if all of it lay on the device before.
 * 3. Least time for the first i groups in k intervals, the last one on d, by dynamic programming over k;
 *    if every device may have one stage only, over sets of devices instead of k. Intervals are as long
 *    as is asked for.
 *
 * Time is that of running one segment after the other: an estimate, the simulator says what plans are
 * worth. Time O(groups * devices^2 * intervals), or * 2^devices. */
#include "merge.h"

#include <math.h>

enum { MOST_INTERVALS = 16, MOST_STAGES = 8 }; /* intervals; devices if each has one stage */

typedef struct cutting {
    const weft_problem *p;
    const weft_domain *m;
    int n, n_devices, n_layers;
    bool is_staged; /* a layer is a set of devices, else a number of intervals */
    int *bead;      /* [n] groups */
    int *place;     /* [n_groups] in bead */
    double *sum_s;  /* [device * (n + 1) + i] time of the beads before i */
    int *sum_tasks; /* [n + 1] */
    int *wide;      /* [n + 1] the largest tensor that crosses cut i; -1: none */
    double *best_s; /* [(layer * n_devices + d) * (n + 1) + i] */
    int *from;      /* the same: first bead of the last interval */
    int *before;    /* the same: device of the interval before; -1: none */
    weft_arena *a;
} cutting;

static size_t cell(const cutting *c, int layer, int d, int i)
{
    return ((size_t)layer * (size_t)c->n_devices + (size_t)d) * ((size_t)c->n + 1) + (size_t)i;
}

static const double *sums(const cutting *c, int d)
{
    return c->sum_s + (size_t)d * ((size_t)c->n + 1);
}

/* --- tables ---------------------------------------------------------------------------------- */

static void list_beads(cutting *c)
{
    const weft_problem *p = c->p;
    bool *is_listed = WEFT_NEW(c->a, bool, c->m->n_groups);

    c->bead = WEFT_NEW(c->a, int, c->m->n_groups);
    c->place = WEFT_NEW(c->a, int, c->m->n_groups);
    for (int u = 0; u < p->n_tasks; u++) {
        int g = c->m->group[u];

        if (is_listed[g])
            continue;
        is_listed[g] = true;
        c->place[g] = c->n;
        c->bead[c->n++] = g;
    }
}

static void sum_up(cutting *c)
{
    const weft_problem *p = c->p;
    size_t step = (size_t)c->n + 1;

    c->sum_s = WEFT_NEW(c->a, double, step *(size_t)c->n_devices);
    c->sum_tasks = WEFT_NEW(c->a, int, step);
    for (int u = 0; u < p->n_tasks; u++) {
        int i = c->place[c->m->group[u]];

        c->sum_tasks[i + 1]++;
        for (int d = 0; d < c->n_devices; d++)
            if (weft_domain_has(c->m, u, d))
                c->sum_s[(size_t)d * step + (size_t)i + 1] += weft_task_s(p, u, d);
    }
    for (int i = 0; i < c->n; i++) {
        c->sum_tasks[i + 1] += c->sum_tasks[i];
        for (int d = 0; d < c->n_devices; d++)
            c->sum_s[(size_t)d * step + (size_t)i + 1] += c->sum_s[(size_t)d * step + (size_t)i];
    }
}

/* The largest tensor over each cut: it is there from behind its maker to its last reader. */
static void list_wide(cutting *c)
{
    const weft_problem *p = c->p;

    c->wide = WEFT_NEW(c->a, int, c->n + 1);
    for (int i = 0; i <= c->n; i++)
        c->wide[i] = -1;
    for (int t = 0; t < p->n_tensors; t++) {
        int u = p->producer[t], last = -1;

        for (int k = p->reader_at[t]; u >= 0 && k < p->reader_at[t + 1]; k++) {
            int at = c->place[c->m->group[p->reader[k]]];

            last = at > last ? at : last;
        }
        for (int i = u < 0 ? 1 : c->place[c->m->group[u]] + 1; i <= last; i++)
            if (c->wide[i] < 0 || p->amount[t] > p->amount[c->wide[i]])
                c->wide[i] = t;
    }
}

/* --- the least ------------------------------------------------------------------------------- */

static double cut_s(const cutting *c, int i, int from, int to)
{
    const weft_problem *p = c->p;

    return (p->switch_s ? p->switch_s[to] : 0) +
           (c->wide[i] < 0 ? 0 : weft_send_s(p, c->wide[i], from, to));
}

/* The layer before an interval on d; -1: it is the first, -2: d may not be used again. */
static int layer_before(const cutting *c, int layer, int d)
{
    if (!c->is_staged)
        return layer - 1;
    if (!((layer + 1) >> d & 1))
        return -2;
    return ((layer + 1) & ~(1 << d)) - 1;
}

/* Least time until an interval begins at bead i on d. */
static double enter_s(const cutting *c, int before, int d, int i, int *device)
{
    double least_s = INFINITY;

    *device = -1;
    if (before < 0)
        return i == 0 ? 0 : INFINITY;
    for (int e = 0; e < c->n_devices && i > 0; e++) {
        double at_s = e == d ? INFINITY : c->best_s[cell(c, before, e, i)] + cut_s(c, i, e, d);

        if (at_s < least_s) {
            least_s = at_s;
            *device = e;
        }
    }
    return least_s;
}

static bool is_long_enough(const cutting *c, int d, int from, int to)
{
    const weft_constraints *ask = &c->p->constraints;

    return c->sum_tasks[to] - c->sum_tasks[from] >= ask->least_segment_tasks &&
           sums(c, d)[to] - sums(c, d)[from] >= ask->least_segment_s;
}

static void fill(cutting *c, int layer, int d)
{
    int before = layer_before(c, layer, d), next = 0, from = -1, device = -1, device_of_next;
    double least_s = INFINITY; /* of entering, less the sum so far */

    for (int i = 0; i <= c->n; i++) {
        size_t at = cell(c, layer, d, i);

        if (i > 0 && !c->m->has[c->bead[i - 1] * c->p->n_devices + d]) {
            next = i;
            least_s = INFINITY;
        }
        for (; before > -2 && next < i && is_long_enough(c, d, next, i); next++) {
            double in_s = enter_s(c, before, d, next, &device_of_next) - sums(c, d)[next];

            if (in_s < least_s) {
                least_s = in_s;
                from = next;
                device = device_of_next;
            }
        }
        c->best_s[at] = least_s + sums(c, d)[i];
        c->from[at] = from;
        c->before[at] = device;
    }
}

/* --- plans ----------------------------------------------------------------------------------- */

static void try_plan(const cutting *c, int layer, int d, weft_best *best)
{
    const weft_problem *p = c->p;
    weft_plan plan = weft_plan_new(p->n_tasks, c->a);
    int *device = WEFT_NEW(c->a, int, c->n);

    for (int i = c->n; i > 0;) {
        size_t at = cell(c, layer, d, i);
        int from = c->from[at], before = layer_before(c, layer, d);

        while (i > from)
            device[--i] = d;
        d = c->before[at];
        layer = before;
    }
    for (int u = 0; u < p->n_tasks; u++) {
        plan.device[u] = device[c->place[c->m->group[u]]];
        plan.start_s[u] = u;
    }
    weft_best_try(best, p, &plan, c->a);
}

void weft_intervals_try(const weft_domain *m, weft_best *best, weft_arena *a)
{
    const weft_problem *p = m->problem;
    int most = p->constraints.most_segments;
    cutting c = {.p = p, .m = m, .n_devices = p->n_devices, .a = a};
    size_t n_cells;

    c.is_staged = p->constraints.is_contiguous;
    if (c.is_staged && p->n_devices > MOST_STAGES)
        return;
    c.n_layers = c.is_staged                         ? (1 << p->n_devices) - 1
                 : most > 0 && most < MOST_INTERVALS ? most
                                                     : MOST_INTERVALS;
    list_beads(&c);
    sum_up(&c);
    list_wide(&c);
    n_cells = cell(&c, c.n_layers, 0, 0);
    c.best_s = WEFT_NEW(a, double, n_cells);
    c.from = WEFT_NEW(a, int, n_cells);
    c.before = WEFT_NEW(a, int, n_cells);
    for (int layer = 0; layer < c.n_layers; layer++)
        for (int d = 0; d < c.n_devices; d++)
            fill(&c, layer, d);
    for (int layer = 0; layer < c.n_layers; layer++)
        for (int d = 0; d < c.n_devices; d++)
            if (c.best_s[cell(&c, layer, d, c.n)] < INFINITY)
                try_plan(&c, layer, d, best);
}
