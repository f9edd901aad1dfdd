/* SPDX-License-Identifier: MIT */
/* milp_assign.c: the least period of one mapping, as a program for MILP engines.
 *
 *   min P
 *   x[g][d] in {0, 1}   group g is on device d of its domain;  sum over d of x[g][d] = 1
 *   y[t][h][k][l] >= 0  tensor t goes from k, where its task is, to l, where group h reads it:
 *                       sum over l of y = x[g(t)][k],  sum over k of y = x[h][l]
 *   u[t][k][l] >= 0     t is sent from k to l, once for all readers there:  u >= y,  k != l
 *   load of each resource <= P: times of tasks, and under block and contend the transfers u
 *   z[w][d] >= x[g][d]  weight w is on d;  sum of bytes * z / capacity <= 1
 *   o[d][e] in {0, 1}   pipeline stages: d comes before e, a linear order of the devices;
 *                       x[g][d] + x[h][e] <= 1 + o[d][e] for each forward edge from g to h
 *
 * With x whole, y is the product of two x and u its maximum over readers, so P is the largest load
 * of the simulator. Without, every resource row is a valid bound: the relaxation bounds the period
 * of every mapping. It is not below the load bound: with prices as multipliers of the device rows
 * it is the same. Pairs of devices that are not connected have no y.
 *
 * Times are in units that bring the period to some hundreds, since engines have absolute
 * tolerances. Columns O(groups * devices + reads * devices^2). */
#include "milp_assign.h"
#include "sort.h"

#include <math.h>

typedef struct building {
    const weft_mapping *map;
    const weft_domain *domain;
    const weft_problem *p;
    const int *start;
    double unit_s;
    weft_milp *m;
    int period;  /* column */
    int *load;   /* [n_resources] rows */
    int *before; /* [n_devices * n_devices] columns o */
} building;

/* Column of x[g][d]: they come first, in this order. */
static int x_of(const building *b, int g, int d)
{
    return g * b->p->n_devices + d;
}

static bool is_on(const building *b, int g, int d)
{
    return b->start != NULL && b->start[b->map->member[b->map->member_at[g]]] == d;
}

static void start_with(building *b, int column, double value)
{
    if (b->start != NULL)
        weft_milp_start(b->m, column, value);
}

static void add_groups(building *b)
{
    int n_devices = b->p->n_devices;

    for (int g = 0; g < b->domain->n_groups; g++)
        for (int d = 0; d < n_devices; d++) {
            bool has = b->domain->has[g * n_devices + d];

            start_with(b, weft_milp_column(b->m, NULL, 0, has ? 1 : 0, 0, true), is_on(b, g, d));
        }
    for (int g = 0; g < b->domain->n_groups; g++) {
        int row = weft_milp_row(b->m, NULL, 1, 1);

        for (int d = 0; d < n_devices; d++)
            weft_milp_term(b->m, row, x_of(b, g, d), 1);
    }
}

static void add_loads(building *b)
{
    b->period = weft_milp_column(b->m, NULL, 0, INFINITY, 1, false);
    for (int r = 0; r < b->map->n_resources; r++) {
        b->load[r] = weft_milp_row(b->m, NULL, -INFINITY, 0);
        weft_milp_term(b->m, b->load[r], b->period, -1);
    }
    for (int u = 0; u < b->p->n_tasks; u++)
        for (int d = 0; d < b->p->n_devices; d++)
            if (weft_domain_has(b->domain, u, d))
                weft_milp_term(b->m, b->load[d], x_of(b, b->domain->group[u], d),
                               weft_task_s(b->p, u, d) / b->unit_s);
}

/* a <= b for two columns. */
static void add_order(building *b, int lower, int upper)
{
    int row = weft_milp_row(b->m, NULL, -INFINITY, 0);

    weft_milp_term(b->m, row, lower, 1);
    weft_milp_term(b->m, row, upper, -1);
}

/* --- transfers ------------------------------------------------------------------------------- */

/* The column u of tensor t from k to l with its loads. */
static int add_send(building *b, int t, int k, int l)
{
    const weft_problem *p = b->p;
    double units = weft_send_s(p, t, k, l) / b->unit_s;
    int column = weft_milp_column(b->m, NULL, 0, 1, 0, false), pair = k * p->n_devices + l;

    if (p->transfer == WEFT_BLOCK) {
        weft_milp_term(b->m, b->load[k], column, units);
        weft_milp_term(b->m, b->load[l], column, units);
    }
    for (int i = p->route_at[pair]; p->transfer == WEFT_CONTEND && i < p->route_at[pair + 1]; i++) {
        if (weft_route_is_new(p, pair, i))
            weft_milp_term(b->m, b->load[p->n_devices + p->route[i]], column, units);
    }
    return column;
}

/* Flow of tensor t to group h: rows that tie y to both ends; u[k * n + l] >= y. */
static void add_reader(building *b, int t, int h, const int *sent)
{
    int n = b->p->n_devices, g = b->domain->group[b->p->producer[t]];
    int first = weft_milp_n_rows(b->m);

    for (int k = 0; k < 2 * n; k++) {
        int row = weft_milp_row(b->m, NULL, 0, 0);

        weft_milp_term(b->m, row, k < n ? x_of(b, g, k) : x_of(b, h, k - n), -1);
    }
    for (int k = 0; k < n; k++)
        for (int l = 0; l < n; l++) {
            bool is_possible = b->domain->has[g * n + k] && b->domain->has[h * n + l] &&
                               weft_send_s(b->p, t, k, l) < INFINITY;
            int y;

            if (!is_possible)
                continue;
            y = weft_milp_column(b->m, NULL, 0, 1, 0, false);
            weft_milp_term(b->m, first + k, y, 1);
            weft_milp_term(b->m, first + n + l, y, 1);
            if (k != l)
                add_order(b, y, sent[k * n + l]);
        }
}

/* An input of the network: from the host to where group h is. */
static void add_input(building *b, int h, const int *sent)
{
    int n = b->p->n_devices;

    for (int l = 0; l < n; l++)
        if (l != b->p->host && b->domain->has[h * n + l])
            add_order(b, x_of(b, h, l), sent[b->p->host * n + l]);
}

static void add_tensor(building *b, int t, int *sent, int *seen)
{
    const weft_problem *p = b->p;
    int n = p->n_devices, home = p->producer[t] < 0 ? p->host : -1;

    if (p->is_weight[t] || (p->producer[t] < 0 && p->host < 0) ||
        p->reader_at[t] == p->reader_at[t + 1])
        return;
    for (int k = 0; k < n; k++)
        for (int l = 0; l < n; l++)
            if (k != l && (home < 0 || home == k) && weft_send_s(p, t, k, l) < INFINITY)
                sent[k * n + l] = add_send(b, t, k, l);
    for (int i = p->reader_at[t]; i < p->reader_at[t + 1]; i++) {
        int h = b->domain->group[p->reader[i]];

        if (seen[h] == t + 1 || (home < 0 && h == b->domain->group[p->producer[t]]))
            continue;
        seen[h] = t + 1;
        if (home < 0)
            add_reader(b, t, h, sent);
        else
            add_input(b, h, sent);
    }
}

static void add_tensors(building *b, weft_arena *a)
{
    size_t n = (size_t)b->p->n_devices;
    int *sent = WEFT_NEW(a, int, n *n), *seen = WEFT_NEW(a, int, b->domain->n_groups);

    for (int t = 0; t < b->p->n_tensors && b->map->is_sending; t++)
        add_tensor(b, t, sent, seen);
}

/* --- memory ---------------------------------------------------------------------------------- */

static void add_memory(building *b, int d, weft_arena *a)
{
    const weft_domain *m = b->domain;
    int n_devices = b->p->n_devices, row;
    double room;
    int *held = WEFT_NEW(a, int, b->p->n_tensors); /* 1 + column z */

    if (!(b->p->capacity[d] < INFINITY))
        return;
    room = b->p->capacity[d] > 0 ? b->p->capacity[d] : 1;
    row = weft_milp_row(b->m, NULL, -INFINITY, b->p->capacity[d] / room);
    for (int g = 0; g < m->n_groups; g++)
        for (int i = m->weight_at[g]; m->has[g * n_devices + d] && i < m->weight_at[g + 1]; i++) {
            int w = m->weight[i];

            if (held[w] == 0) {
                held[w] = 1 + weft_milp_column(b->m, NULL, 0, 1, 0, false);
                weft_milp_term(b->m, row, held[w] - 1, b->p->memory[w] / room);
            }
            add_order(b, x_of(b, g, d), held[w] - 1);
        }
}

/* --- pipeline stages ------------------------------------------------------------------------- */

static void add_device_order(building *b)
{
    int n = b->p->n_devices;

    for (int d = 0; d < n; d++)
        for (int e = 0; e < n; e++)
            b->before[d * n + e] = d == e ? -1 : weft_milp_column(b->m, NULL, 0, 1, 0, true);
    for (int d = 0; d < n; d++)
        for (int e = 0; e < n; e++) {
            if (d < e) {
                int row = weft_milp_row(b->m, NULL, 1, 1);

                weft_milp_term(b->m, row, b->before[d * n + e], 1);
                weft_milp_term(b->m, row, b->before[e * n + d], 1);
            }
            for (int f = 0; f < n; f++) { /* d before e before f: not f before d */
                int row;

                if (d == e || e == f || d == f)
                    continue;
                row = weft_milp_row(b->m, NULL, -INFINITY, 2);
                weft_milp_term(b->m, row, b->before[d * n + e], 1);
                weft_milp_term(b->m, row, b->before[e * n + f], 1);
                weft_milp_term(b->m, row, b->before[f * n + d], 1);
            }
        }
}

static void add_stages(building *b)
{
    const weft_problem *p = b->p;
    int n = p->n_devices;

    add_device_order(b);
    for (int v = 0; v < p->n_tasks; v++)
        for (int i = p->pred_at[v]; i < p->pred_at[v + 1]; i++)
            for (int k = 0; k < n * n; k++) {
                int u = p->pred[i], d = k / n, e = k % n, row;

                if (d == e || p->is_backward[u] || p->is_backward[v] ||
                    !weft_domain_has(b->domain, u, d) || !weft_domain_has(b->domain, v, e))
                    continue;
                row = weft_milp_row(b->m, NULL, -INFINITY, 1);
                weft_milp_term(b->m, row, x_of(b, b->domain->group[u], d), 1);
                weft_milp_term(b->m, row, x_of(b, b->domain->group[v], e), 1);
                weft_milp_term(b->m, row, b->before[k], -1);
            }
}

/* --- all ------------------------------------------------------------------------------------- */

double weft_assign_size(const weft_domain *m)
{
    const weft_problem *p = m->problem;
    double n = p->n_devices, n_reads = p->reader_at[p->n_tensors];

    return m->n_groups * n + (p->transfer == WEFT_OVERLAP ? 0 : n_reads * n * n);
}

double weft_assign_unit(const weft_mapping *map)
{
    const weft_problem *p = map->problem;
    double sum_s = 0;

    for (int u = 0; u < p->n_tasks; u++) {
        double least_s = weft_least(p->seconds + (size_t)u * (size_t)p->n_devices, p->n_devices);

        sum_s += isfinite(least_s) ? least_s : 0;
    }
    return sum_s > 0 ? pow(10, floor(log10(sum_s / p->n_devices)) - 2) : 1;
}

weft_milp *weft_assign_build(const weft_mapping *map, const int *start)
{
    weft_arena *a = weft_arena_new();
    size_t n = (size_t)map->problem->n_devices;
    building b = {.map = map,
                  .domain = map->domain,
                  .p = map->problem,
                  /* the order of stages is not in a mapping: whole columns without a start */
                  .start = map->problem->constraints.is_contiguous ? NULL : start,
                  .unit_s = weft_assign_unit(map),
                  .m = weft_milp_new("assign"),
                  .load = WEFT_NEW(a, int, map->n_resources),
                  .before = WEFT_NEW(a, int, n *n)};

    add_groups(&b);
    add_loads(&b);
    add_tensors(&b, a);
    for (int d = 0; d < b.p->n_devices; d++)
        add_memory(&b, d, a);
    if (b.p->constraints.is_contiguous)
        add_stages(&b);
    weft_arena_free(a);
    return b.m;
}

void weft_assign_decode(const weft_mapping *map, const double *x, int *device)
{
    int n = map->problem->n_devices;

    for (int g = 0; g < map->domain->n_groups; g++) {
        int best = 0;

        for (int d = 1; d < n; d++)
            if (x[g * n + d] > x[g * n + best])
                best = d;
        for (int i = map->member_at[g]; i < map->member_at[g + 1]; i++)
            device[map->member[i]] = best;
    }
}
