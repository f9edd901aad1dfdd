/* SPDX-License-Identifier: MIT */
/* pipe_search.c: lower bounds for all suffixes of the pipelines of a family, by dynamic
 * programming.
 *
 * A suffix is a cut (the units outside it are staged) and a node (what these stages use). From the
 * end to the front, over all stages that may come first, between the cuts I and J:
 *   sum[I]   = min of l + h + sum'[J]                h: hops to the next stage and back, the least
 *   bound[I] = min of max(own(l, R = h + sum'[J]), l + h + bound'[J])      own: pipe_bound.c, 1
 * The empty suffix has 0 and 0.
 *
 * Guarantee: a pipeline whose last stages are such a suffix takes at least the time to reach it and
 * to come back from it, plus bound: own rises with R, and sum' is a lower bound on the R of every
 * way to go on. Stages with m l at or above the target (the value of the best plan, less rounding)
 * are left out: INFINITY says that no better plan has such a suffix.
 *
 * Cost: nodes * pairs of cuts * moves, each O(1) (stage_cost.c); in a chain the stages that are too
 * long for time or memory end a row. */
#include <math.h>

#include "space.h"

bool weft_pipe_spend(weft_pipe_best *b, int64_t steps)
{
    enum { CHECK = 4096 }; /* steps between looks at the clock */
    int64_t before = b->n_steps;

    b->n_steps += steps;
    if (b->n_steps >= b->most_steps)
        b->is_over = true;
    if (before / CHECK != b->n_steps / CHECK && weft_run_is_over(b->run))
        b->is_over = true;
    return b->is_over;
}

/* A row of the table: what may follow cut `inner`. */
typedef struct row {
    weft_pipe_best *best;
    const weft_pipe_table *t;
    int inner, move;
    int64_t m, in_flight;
    double most_s; /* of a stage */
    double bound_s, sum_s;
} row;

static double bound_at(const weft_pipe_table *t, int n_cuts, int node, int cut)
{
    return t->bound_s[(size_t)node * (size_t)n_cuts + (size_t)cut];
}

static void take_way(row *r, int outer, const weft_pipe_stage *s)
{
    const weft_pipe_table *t = r->t;
    const weft_blocks *u = &r->best->costs->p->blocks;
    int next = t->nodes->move[r->move].next;
    double l = s->forward_s + s->backward_s, rest_s = bound_at(t, u->n_cuts, next, outer), own_s;
    double hop_s = weft_affine_s(&t->links->least_send[r->move], u->leave_bytes[outer]) +
                   weft_affine_s(&t->links->least_back[r->move], u->back_bytes[outer]);
    double sum_s = hop_s + t->sum_s[(size_t)next * (size_t)u->n_cuts + (size_t)outer];

    own_s = t->is_relaxed ? (double)r->m * l
                          : weft_pipe_own_s(t->schedule, r->m, r->in_flight, s->forward_s,
                                            s->backward_s, sum_s);
    r->sum_s = fmin(r->sum_s, l + sum_s);
    r->bound_s = fmin(r->bound_s, fmax(own_s, l + hop_s + rest_s));
}

/* Takes the stage from r->inner to `outer` into account, shared in all ways; false: longer ones
 * need no look. */
static bool take_stage(row *r, int outer)
{
    const weft_pipe_table *t = r->t;
    const weft_pipe_move *move = &t->nodes->move[r->move];
    const weft_pipe_group *group = &t->family->group[move->group];
    weft_pipe_range range = {r->inner, outer, r->in_flight};
    bool is_possible = false;
    weft_pipe_stage s;

    if (!(bound_at(t, r->best->costs->p->blocks.n_cuts, move->next, outer) < INFINITY))
        return true;
    for (int mix = 0; mix < group->n_mixes; mix++)
        if (weft_pipe_stage_of(r->best->costs, group, &range, mix, r->most_s, &s)) {
            weft_pipe_hold_up(r->best->costs, group, &range, &t->links->way[2 * r->move],
                              t->links->n_ways[r->move], &s);
            take_way(r, outer, &s);
            is_possible = true;
        }
    return is_possible;
}

static void take_move(row *r)
{
    const weft_pipe_costs *c = r->best->costs;
    int last = c->p->blocks.n_cuts - 1;

    if (r->t->nodes->move[r->move].next == 0) { /* the last stage has all that is left */
        (void)take_stage(r, last);
        return;
    }
    if (c->outer == NULL) {
        int next = r->t->nodes->move[r->move].next;
        int k = r->inner + 1 > r->t->first[next] ? r->inner + 1 : r->t->first[next];

        while (k <= r->t->last[next] && take_stage(r, k))
            k++;
        return;
    }
    for (int k = c->outer_at[r->inner]; k < c->outer_at[r->inner + 1]; k++)
        if (c->outer[k] < last)
            (void)take_stage(r, c->outer[k]);
}

static bool fill_node(weft_pipe_best *best, weft_pipe_table *t, int node)
{
    const weft_train_problem *p = best->costs->p;
    int n_cuts = p->blocks.n_cuts;
    int64_t m = t->family->n_microbatches;

    for (int inner = n_cuts - 2; inner >= 0; inner--) {
        row r = {.best = best,
                 .t = t,
                 .inner = inner,
                 .m = m,
                 .in_flight = weft_pipe_in_flight(t->schedule, t->nodes->n_stages[node], m),
                 .most_s = weft_pipe_target_s(best) / (double)m,
                 .bound_s = INFINITY,
                 .sum_s = INFINITY};
        int64_t before = best->costs->n_tried;

        for (r.move = t->nodes->move_at[node]; r.move < t->nodes->move_at[node + 1]; r.move++)
            take_move(&r);
        t->bound_s[(size_t)node * (size_t)n_cuts + (size_t)inner] = r.bound_s;
        t->sum_s[(size_t)node * (size_t)n_cuts + (size_t)inner] = r.sum_s;
        if (r.bound_s < INFINITY) {
            t->first[node] = inner;
            t->last[node] = inner > t->last[node] ? inner : t->last[node];
        }
        if (weft_pipe_spend(best, 1 + best->costs->n_tried - before))
            return false;
    }
    return true;
}

static bool is_within(const weft_pipe_nodes *nodes, int node, int root)
{
    for (int i = 0; i < WEFT_MAX_PARTS; i++)
        if (nodes->used[(size_t)node * WEFT_MAX_PARTS + (size_t)i] >
            nodes->used[(size_t)root * WEFT_MAX_PARTS + (size_t)i])
            return false;
    return true;
}

bool weft_pipe_suffixes(weft_pipe_best *best, weft_pipe_table *t, int root, weft_arena *a)
{
    int n_cuts = best->costs->p->blocks.n_cuts;
    int n_nodes = root < 0 ? t->nodes->n_nodes : root + 1;

    t->bound_s = WEFT_NEW_RAW(a, double, (size_t)n_nodes *(size_t)n_cuts);
    t->sum_s = WEFT_NEW_RAW(a, double, (size_t)n_nodes *(size_t)n_cuts);
    t->first = WEFT_NEW(a, int, n_nodes);
    t->last = WEFT_NEW(a, int, n_nodes);
    for (size_t i = 0; i < (size_t)n_nodes * (size_t)n_cuts; i++)
        t->bound_s[i] = t->sum_s[i] = INFINITY;
    for (int node = 0; node < n_nodes; node++) {
        t->first[node] = n_cuts;
        t->last[node] = -1;
    }
    t->bound_s[n_cuts - 1] = t->sum_s[n_cuts - 1] = 0; /* node 0: nothing is left */
    for (int node = 1; node < n_nodes; node++)
        if ((root < 0 || is_within(t->nodes, node, root)) && !fill_node(best, t, node))
            return false;
    return true;
}
