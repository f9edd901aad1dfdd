/* SPDX-License-Identifier: MIT */
/* bound_head_tail.c: tasks between a head and a tail.
 *
 * Let S be the tasks whose head is at least a and whose tail is at least b, on whatever device. All
 * of S is done within [a, value - b], so for prices of sum 1
 *     value >= a + b + max( sum over S of min over devices of price * time,
 *                           max over S of min over devices of time ),
 * by the argument of bound_load.c.
 *
 * 1. Heads and tails (bound_ancestor.c; ancestors together in small subproblems), the least over
 * devices.
 * 2. Start with the prices of all tasks. For each b, tasks by decreasing head enter a sum: one pass
 *    over all (a, b). The best pair is kept.
 * 3. Better prices for the set of that pair, and step 2 again, until nothing is gained.
 *
 * Every pair and all prices give a valid bound. Time O(n^2) a pass; if that is more than the work
 * allowed, only every so manieth b is tried. */
#include "bound.h"
#include "sort.h"

#include <math.h>

enum { MOST_ROUNDS = 8 };
static const double MOST_DEEP_WORK = 4e6;

typedef struct head_tail {
    const weft_subproblem *x;
    double *head_s, *tail_s; /* [n_tasks] least over devices */
    double *least_s;         /* [n_tasks] the least time */
    double *cost;            /* [n_tasks] at the prices of the round */
    double *price;           /* [n_devices] */
    int *by_head, *by_tail;  /* tasks by decreasing head, tail */
    int stride;
} head_tail;

typedef struct pair {
    double value, head_s, tail_s;
} pair;

/* The least over devices where the task can run; `turn`: rows are in reverse. */
static double *least_of(const weft_subproblem *x, const double *cell_s, bool turn, weft_arena *a)
{
    int n = x->n_devices;
    double *least_s = WEFT_NEW(a, double, x->n_tasks);

    for (int i = 0; i < x->n_tasks; i++) {
        const double *row = cell_s + (turn ? x->n_tasks - 1 - i : i) * n;

        least_s[i] = INFINITY;
        for (int k = 0; k < n; k++)
            least_s[i] = x->time_s[i * n + k] < INFINITY ? fmin(least_s[i], row[k]) : least_s[i];
    }
    return least_s;
}

static head_tail head_tail_new(const weft_subproblem *x, double most_work, weft_arena *a)
{
    size_t cells = (size_t)x->n_tasks * (size_t)x->n_devices;
    double *head_s = WEFT_NEW(a, double, cells), *tail_s = WEFT_NEW(a, double, cells);
    bool is_deep = weft_ancestor_work(x) <= fmin(MOST_DEEP_WORK, most_work / 4);
    double n = x->n_tasks;
    head_tail b = {.x = x, .stride = 1 + (int)(2 * MOST_ROUNDS * n * n / most_work)};

    weft_ancestor_heads(x, is_deep, head_s, a);
    weft_ancestor_heads(weft_subproblem_reverse(x, a), is_deep, tail_s, a);
    b.head_s = least_of(x, head_s, false, a);
    b.tail_s = least_of(x, tail_s, true, a);
    b.least_s = least_of(x, x->time_s, false, a);
    b.cost = WEFT_NEW(a, double, x->n_tasks);
    b.price = WEFT_NEW(a, double, x->n_devices);
    b.by_head = weft_sorted_falling(b.head_s, x->n_tasks, a);
    b.by_tail = weft_sorted_falling(b.tail_s, x->n_tasks, a);
    return b;
}

static void set_costs(head_tail *b)
{
    int n = b->x->n_devices;

    for (int i = 0; i < b->x->n_tasks; i++) {
        b->cost[i] = INFINITY;
        for (int k = 0; k < n; k++) {
            double time_s = b->x->time_s[i * n + k];

            if (time_s < INFINITY)
                b->cost[i] = fmin(b->cost[i], b->price[k] * time_s);
        }
    }
}

/* All heads for one tail. */
static void try_tail(const head_tail *b, double tail_s, pair *best)
{
    double sum_s = 0, longest_s = 0;

    for (int j = 0; j < b->x->n_tasks; j++) {
        int i = b->by_head[j];
        double value;

        if (b->tail_s[i] < tail_s)
            continue;
        sum_s += b->cost[i];
        longest_s = fmax(longest_s, b->least_s[i]);
        value = b->head_s[i] + tail_s + fmax(sum_s, longest_s);
        if (value > best->value)
            *best = (pair){value, b->head_s[i], tail_s};
    }
}

static pair best_pair(head_tail *b)
{
    pair best = {-1, 0, 0};

    set_costs(b);
    for (int j = 0; j < b->x->n_tasks; j += b->stride)
        try_tail(b, b->tail_s[b->by_tail[j]], &best);
    try_tail(b, 0, &best);
    return best;
}

static int tasks_of(const head_tail *b, const pair *q, int *task)
{
    int n = 0;

    for (int i = 0; i < b->x->n_tasks; i++) {
        if (b->head_s[i] >= q->head_s && b->tail_s[i] >= q->tail_s)
            task[n++] = i;
    }
    return n;
}

double weft_head_tail_bound(const weft_subproblem *x, double most_work, weft_arena *a)
{
    size_t mark = weft_arena_mark(a);
    head_tail b = head_tail_new(x, most_work, a);
    int *task = WEFT_NEW(a, int, x->n_tasks), n = x->n_tasks;
    double value = 0;

    for (int i = 0; i < n; i++)
        task[i] = i;
    for (int round = 0; round < MOST_ROUNDS && n > 0; round++) {
        pair q;

        weft_priced_mapping_bound(x, task, n, b.price, a);
        q = best_pair(&b);
        if (!(q.value > value))
            break;
        value = q.value;
        n = tasks_of(&b, &q, task);
    }
    weft_arena_rewind(a, mark);
    return value;
}
