/* SPDX-License-Identifier: MIT */
/* enumerate.c: all placements of small fleets. Nodes take a range, or none, one after the other; a
 * placement of the first few nodes is left where no way to complete it passes more than the best
 * plan: all layers together miss more than the other nodes can add, or a single one does. */
#include "serve_search.h"

#include <math.h>
#include <string.h>

typedef struct enumeration {
    const weft_serve_problem *p;
    weft_dinic *d;
    const weft_run *run;
    int64_t n_steps, most_steps, n_valued;
    double value;
    double *covered;   /* [n_nodes + 1][n_layers] by the first so many nodes */
    double *best_rate; /* [n_nodes + 1] what all nodes from here on pass at most */
    const int *order;  /* [n_nodes] those that can do most first */
    weft_serve_plan plan, *best;
    bool is_over;
} enumeration;

static double most_work(const weft_serve_problem *p, int node, double limit)
{
    double most = 0;

    for (int k = 1; k <= p->most[node]; k++)
        most = fmax(most, k * fmin(p->rate[node][k - 1], limit));
    return most;
}

/* To pass more than the best plan, every layer needs more than its value. */
static bool is_hopeless(const enumeration *x, int next)
{
    const weft_serve_problem *p = x->p;
    double wanted = x->value * (1 + 1e-12), missing = 0, work = 0;

    for (int l = 0; l < p->n_layers; l++) {
        double gap = wanted - x->covered[next * p->n_layers + l];

        if (gap >= x->best_rate[next])
            return true;
        missing += fmax(0, gap);
    }
    for (int i = next; i < p->n_nodes && work <= missing; i++)
        work += most_work(p, x->order[i], wanted);
    return work * (1 + 1e-12) < missing;
}

/* With the range of one node more. */
static void cover(enumeration *x, int next, int node)
{
    int n = x->p->n_layers, k = x->plan.end[node] - x->plan.start[node];
    double *to = x->covered + (next + 1) * n;

    memcpy(to, to - n, sizeof *to * (size_t)n);
    for (int l = x->plan.start[node]; l < x->plan.end[node]; l++)
        to[l] += x->p->rate[node][k - 1];
}

static void value_plan(enumeration *x)
{
    double flow = weft_dinic_flow(x->d, &x->plan);

    x->n_valued++;
    if (!(flow > x->value * (1 + 1e-12)))
        return;
    x->value = flow;
    memcpy(x->best->start, x->plan.start, sizeof *x->plan.start * (size_t)x->p->n_nodes);
    memcpy(x->best->end, x->plan.end, sizeof *x->plan.end * (size_t)x->p->n_nodes);
}

static void place(enumeration *x, int next)
{
    int node;

    x->is_over = x->is_over || ++x->n_steps > x->most_steps ||
                 (x->n_steps % 4096 == 0 && weft_run_is_over(x->run));
    if (x->is_over)
        return;
    if (next == x->p->n_nodes) {
        value_plan(x);
        return;
    }
    if (is_hopeless(x, next))
        return;
    node = x->order[next];
    for (int k = x->p->most[node]; k >= 1; k--)
        for (int l = 0; l + k <= x->p->n_layers; l++) {
            x->plan.start[node] = l;
            x->plan.end[node] = l + k;
            cover(x, next, node);
            place(x, next + 1);
        }
    x->plan.start[node] = x->plan.end[node] = 0;
    cover(x, next, node);
    place(x, next + 1);
}

static int *order_nodes(const weft_serve_problem *p, weft_arena *a)
{
    int *order = WEFT_NEW(a, int, p->n_nodes);

    for (int i = 0; i < p->n_nodes; i++) {
        int k = i;

        for (; k > 0 && most_work(p, order[k - 1], INFINITY) < most_work(p, i, INFINITY); k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
    return order;
}

/* How many placements there are, or `most` if more. */
static double count_placements(const weft_serve_problem *p, double most)
{
    double n = 1;

    for (int i = 0; i < p->n_nodes && n < most; i++) {
        double ranges = 1;

        for (int k = 1; k <= p->most[i]; k++)
            ranges += p->n_layers - k + 1;
        n *= ranges;
    }
    return n;
}

bool weft_serve_enumerate(const weft_serve_problem *p, weft_dinic *d, int64_t most_steps,
                          const weft_run *run, weft_serve_plan *best, double *value,
                          int64_t *n_placements)
{
    static const double MOST = 1e12; /* more than that nobody looks at */
    weft_arena *a;
    enumeration x = {.p = p, .d = d, .run = run, .most_steps = most_steps};

    if (count_placements(p, MOST) >= MOST)
        return false;
    a = weft_arena_new();
    x.value = *value;
    x.best = best;
    x.covered = WEFT_NEW(a, double, (p->n_nodes + 1) * p->n_layers);
    x.best_rate = WEFT_NEW(a, double, p->n_nodes + 1);
    x.order = order_nodes(p, a);
    x.plan = weft_serve_plan_new(p->n_nodes, a);
    for (int i = p->n_nodes - 1; i >= 0; i--) {
        double most = 0;

        for (int k = 0; k < p->most[x.order[i]]; k++)
            most = fmax(most, p->rate[x.order[i]][k]);
        x.best_rate[i] = x.best_rate[i + 1] + most;
    }
    place(&x, 0);
    *value = x.value;
    *n_placements = x.n_valued;
    weft_arena_free(a);
    return !x.is_over;
}
