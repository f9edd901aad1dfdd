/* SPDX-License-Identifier: MIT */
/* load_memory.c: work that must be done somewhere, and weights that must lie somewhere.
 *
 * Groups of equal times on all kinds of devices and equal bytes are a class, devices of equal times
 * and memory a kind. With x[c][k] the items' share of class c on kind k, in groups,
 *     min T   with   sum over k of x[c][k] = groups of c,
 *                    sum over c of time[c][k] x[c][k]  <=  devices of k * T      each kind,
 *                    sum over c of bytes[c] x[c][k] + (live[e] - least) x[e][k] / groups of e
 *                                                      <=  devices of k * (memory - least)
 *                                                          each kind k and class e.
 * A weight counts in the first group that reads it. The program has as many columns as there are
 * classes times kinds, few in networks of equal blocks.
 *
 * Every legal plan, mixes too, is a solution with T its period: of the items that run group g on
 * device d take the share as x. The period is no less than the load of any device. A device that
 * runs g for any item holds the weights of g, whole, so bytes[g] times the share is at most what it
 * holds for g; weights that counted once are held once; and what it holds fits. The bound is that of opt/: proved by its duals, rounded outwards. It is
 * no less than the load bound, up to rounding.
 *
 * live[e] is what a task of class e reads and makes (made tensors only): they lie on its device while
 * it runs, beside all weights there; `least` is the least of all groups with weights. A device that
 * holds weights runs a task that reads some, so its weights are at most memory - least. If any part
 * of class e is on a kind, one of its devices runs such a task, and its weights are at most memory -
 * live[e]; that part is at most 1. Tasks that take no time, and the transfer model `calls`, do not
 * count: live 0. */
#include "load.h"

#include "opt.h"

#include <math.h>

enum { MOST_COLUMNS = 20000, MOST_ROWS = 5000 };

typedef struct kinds {
    int n, *of, *count; /* [n_devices] kind of each; devices of each */
    int *first;         /* [n] a device of it */
} kinds;

typedef struct pieces {
    int n, *count;  /* groups of each class */
    double *time_s; /* [class * kinds + kind] INFINITY: cannot */
    double *bytes;  /* of weights */
    double *live;   /* bytes */
    double least;   /* of all with weights */
} pieces;

/* Seconds and bytes of all groups. */
typedef struct table {
    const weft_domain *domain;
    double *time_s;       /* [group * n_devices + device] */
    double *bytes, *live; /* [n_groups] */
} table;

/* Bytes of made tensors that lie beside a task for sure while it runs. */
static double live_bytes(const weft_problem *p, int u, const double *made_bytes)
{
    double bytes = made_bytes[u];

    for (int d = 0; d < p->n_devices; d++)
        if (!(weft_task_s(p, u, d) > 0))
            return 0;
    for (int i = p->arg_at[u]; i < p->arg_at[u + 1]; i++)
        if (p->producer[p->arg[i]] >= 0 && (i == p->arg_at[u] || p->arg[i] != p->arg[i - 1]))
            bytes += p->memory[p->arg[i]];
    return bytes;
}

static void find_live(table *t, weft_arena *a)
{
    const weft_problem *p = t->domain->problem;
    double *made_bytes = WEFT_NEW(a, double, p->n_tasks);

    if (p->transfer == WEFT_CALLS)
        return;
    for (int i = 0; i < p->n_tensors; i++)
        if (p->producer[i] >= 0)
            made_bytes[p->producer[i]] += p->memory[i];
    for (int u = 0; u < p->n_tasks; u++) {
        double *live = &t->live[t->domain->group[u]];

        *live = fmax(*live, live_bytes(p, u, made_bytes));
    }
}

static table sum_up(const weft_domain *m, weft_arena *a)
{
    const weft_problem *p = m->problem;
    table t = {m, WEFT_NEW(a, double, (size_t)m->n_groups *(size_t)p->n_devices),
               WEFT_NEW(a, double, m->n_groups), WEFT_NEW(a, double, m->n_groups)};
    bool *is_met = WEFT_NEW(a, bool, p->n_tensors);

    for (int u = 0; u < p->n_tasks; u++)
        for (int d = 0; d < p->n_devices; d++)
            t.time_s[m->group[u] * p->n_devices + d] +=
                weft_domain_has(m, u, d) ? weft_task_s(p, u, d) : INFINITY;
    for (int g = 0; g < m->n_groups; g++)
        for (int i = m->weight_at[g]; i < m->weight_at[g + 1]; i++) {
            t.bytes[g] += is_met[m->weight[i]] ? 0 : p->memory[m->weight[i]];
            is_met[m->weight[i]] = true;
        }
    find_live(&t, a);
    return t;
}

static bool are_equal(const table *t, int d, int e)
{
    const weft_problem *p = t->domain->problem;

    for (int g = 0; g < t->domain->n_groups; g++)
        if (t->time_s[g * p->n_devices + d] != t->time_s[g * p->n_devices + e])
            return false;
    return p->capacity[d] == p->capacity[e];
}

static kinds kinds_of(const table *t, weft_arena *a)
{
    int n_devices = t->domain->problem->n_devices;
    kinds k = {0, WEFT_NEW(a, int, n_devices), WEFT_NEW(a, int, n_devices),
               WEFT_NEW(a, int, n_devices)};

    for (int d = 0; d < n_devices; d++) {
        int i = 0;

        while (i < k.n && !are_equal(t, k.first[i], d))
            i++;
        if (i == k.n)
            k.first[k.n++] = d;
        k.of[d] = i;
        k.count[i]++;
    }
    return k;
}

/* The class of a group, which is new if no other group has its times and bytes. */
static void add_piece(pieces *p, const table *t, const kinds *k, int g)
{
    const double *time_s = t->time_s + (size_t)g * (size_t)t->domain->problem->n_devices;
    int i = 0;

    for (; i < p->n; i++) {
        bool is_equal = p->bytes[i] == t->bytes[g] && p->live[i] == t->live[g];

        for (int d = 0; d < k->n && is_equal; d++)
            is_equal = p->time_s[i * k->n + d] == time_s[k->first[d]];
        if (is_equal)
            break;
    }
    for (int d = 0; d < k->n && i == p->n; d++)
        p->time_s[i * k->n + d] = time_s[k->first[d]];
    p->bytes[i] = t->bytes[g];
    p->live[i] = t->live[g];
    p->n += i == p->n;
    p->count[i]++;
}

static pieces pieces_of(const table *t, const kinds *k, weft_arena *a)
{
    const weft_domain *m = t->domain;
    int n = m->n_groups;
    pieces p = {0,
                WEFT_NEW(a, int, n),
                WEFT_NEW(a, double, (size_t)n *(size_t)k->n),
                WEFT_NEW(a, double, n),
                WEFT_NEW(a, double, n),
                INFINITY};

    for (int g = 0; g < n && p.n * k->n <= MOST_COLUMNS && p.n <= MOST_ROWS; g++) {
        add_piece(&p, t, k, g);
        if (m->weight_at[g] < m->weight_at[g + 1])
            p.least = fmin(p.least, t->live[g]);
    }
    return p;
}

/* Seconds of a unit of time: about what a device computes. */
static double unit_of(const pieces *p, const kinds *k, int n_devices)
{
    double sum = 0;

    for (int i = 0; i < p->n; i++) {
        double least = INFINITY;

        for (int d = 0; d < k->n; d++)
            least = fmin(least, p->time_s[i * k->n + d]);
        sum += least < INFINITY ? p->count[i] * least : 0;
    }
    return sum > 0 ? sum / n_devices / 100 : 1;
}

/* Bytes of weights that the devices of a kind may hold; more than weft_fits() allows. */
static double room_of(const weft_problem *p, const pieces *q, const kinds *k, int kind)
{
    double room = p->capacity[k->first[kind]] * (1 + 2e-12) - fmin(q->least, 1e300);

    return fmax(room, 0) * k->count[kind] * (1 + 1e-12);
}

typedef struct making {
    weft_milp *m;
    const pieces *p;
    const kinds *k;
    double unit_s;
    int first; /* column of x[0][0] */
} making;

/* The weights on a kind beside what class e takes there; e -1: nothing. */
static void add_room(const making *x, int kind, int e, double room)
{
    int row = weft_milp_row(x->m, NULL, -INFINITY, 1);
    double unit = fmax(room, 1);

    for (int i = 0; i < x->p->n; i++) {
        double bytes = x->p->bytes[i];

        if (i == e)
            bytes += (x->p->live[e] - x->p->least) / x->p->count[e];
        if (bytes > 0)
            weft_milp_term(x->m, row, x->first + i * x->k->n + kind, bytes / unit);
    }
}

static void add_loads(const making *x, int period)
{
    for (int d = 0; d < x->k->n; d++) {
        int row = weft_milp_row(x->m, NULL, -INFINITY, 0);

        weft_milp_term(x->m, row, period, -x->k->count[d]);
        for (int i = 0; i < x->p->n; i++) {
            double time_s = x->p->time_s[i * x->k->n + d];

            if (time_s > 0 && time_s < INFINITY)
                weft_milp_term(x->m, row, x->first + i * x->k->n + d, time_s / x->unit_s);
        }
    }
}

static weft_milp *build(const weft_problem *problem, const pieces *p, const kinds *k, double unit_s)
{
    making x = {.m = weft_milp_new("memory"), .p = p, .k = k, .unit_s = unit_s};
    int period = weft_milp_column(x.m, NULL, 0, INFINITY, 1, false);

    x.first = weft_milp_n_columns(x.m);
    for (int i = 0; i < p->n; i++) {
        int all = weft_milp_row(x.m, NULL, p->count[i], p->count[i]);

        for (int d = 0; d < k->n; d++)
            weft_milp_term(x.m, all,
                           weft_milp_column(x.m, NULL, 0,
                                            p->time_s[i * k->n + d] < INFINITY ? p->count[i] : 0, 0,
                                            false),
                           1);
    }
    add_loads(&x, period);
    for (int d = 0; d < k->n; d++) {
        double room = room_of(problem, p, k, d);

        if (!(room < INFINITY))
            continue;
        add_room(&x, d, -1, room);
        for (int e = 0; e < p->n && room > 0; e++)
            if (p->live[e] > p->least)
                add_room(&x, d, e, room);
    }
    return x.m;
}

/* Does some device not hold all weights? */
static bool is_limited(const weft_problem *p)
{
    double bytes = 0;
    bool is_less = false;

    for (int t = 0; t < p->n_tensors; t++)
        bytes += p->is_weight[t] ? p->memory[t] : 0;
    for (int d = 0; d < p->n_devices; d++)
        is_less |= p->capacity[d] < bytes;
    return is_less;
}

static double bound_of(const weft_domain *m, const weft_run *run, weft_arena *a)
{
    const weft_problem *problem = m->problem;
    table t = sum_up(m, a);
    kinds k = kinds_of(&t, a);
    pieces p = pieces_of(&t, &k, a);
    weft_milp_options o = {.limit_s = weft_run_left_s(run), .is_relaxed = true, .stop = run->stop};
    weft_milp_result r = {.bound = 0};
    double unit_s = unit_of(&p, &k, problem->n_devices);
    weft_milp *program;
    weft_status status;

    if ((double)p.n * k.n > MOST_COLUMNS || (double)p.n * (k.n + 1) > MOST_ROWS)
        return 0;
    program = build(problem, &p, &k, unit_s);
    status = weft_milp_solve(program, &o, a, &r); /* without an engine there is no bound */
    weft_milp_free(program);
    if (status != WEFT_OK)
        return 0;
    return r.outcome == WEFT_MILP_INFEASIBLE ? INFINITY : fmax(0, r.bound * unit_s * (1 - 1e-11));
}

double weft_load_memory_bound(const weft_domain *m, const weft_run *run)
{
    weft_arena *a = weft_arena_new();
    double bound_s = is_limited(m->problem) ? bound_of(m, run, a) : 0;

    weft_arena_free(a);
    return bound_s;
}
