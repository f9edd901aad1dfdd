/* SPDX-License-Identifier: MIT */
/* pipe_branch_bound.c: all pipelines of one node of a family (so many blocks of each class, so many
 * stages), one layout, one schedule, by branch and bound.
 *
 * 1. Stages are chosen from the front to the end, depth first, shared in all ways that their device group
 *    allows. Blocks and recomputation of a stage follow from the space, its hops from the stage
 *    before: all figures of the beginning are exact.
 * 2. A child is bounded by the bounds of pipe_bound.c, 1 for each of its stages, later stages
 *    counting with the least sum of the table (pipe_search.c), and by the table's bound for the
 *    rest; with the sum of gradients and the update of the first stage (or, for stage i, its own
 *    after its last backward, without the way back), and the least time of a shared value's way
 *    from the first stage.
 * 3. Children at or above the target are dropped, the others are tried in the order of their
 *    bounds.
 * 4. A complete pipeline is timed exactly (pipe_time.c), with what its stages share; the best is
 *    kept.
 *
 * Guarantee: if all is closed, no plan of the node is better than the best by more than the
 * rounding in the target. If steps run out, the least bound of what was not tried is returned. */
#include <math.h>
#include <stdlib.h>

#include "order.h"
#include "space.h"
#include "train_plan.h"

/* A stage of the beginning. */
typedef struct place {
    int move, inner, outer;
    weft_pipe_stage stage;
    int64_t in_flight;
    double send_s, return_s;      /* hops from the stage before, and back to it */
    double before_s, before_up_s; /* sum over earlier stages: both ways; forward only */
    double sync_s, update_s;
} place;

typedef struct child {
    place at;
    double bound_s;
} child;

typedef struct branching {
    weft_pipe_best *best;
    const weft_pipe_table *t;
    const weft_train_problem *p;
    weft_pipe_layout layout;
    int root, n_path;
    int64_t most_steps; /* of best->n_steps */
    place *path;        /* [stages] */
    double *value_s;    /* [n_shared] least time of its way back */
    weft_arena *a;
} branching;

static bool is_spent(const branching *k)
{
    return k->best->is_over || k->best->n_steps >= k->most_steps;
}

static weft_stage stage_at(const branching *k, const place *x)
{
    weft_stage s = weft_pipe_stage_at(k->p, k->t->family, k->t->nodes, k->layout, k->root, x->move,
                                      x->stage.mix);

    s.recompute = x->stage.recompute;
    return s;
}

/* --- complete pipelines ---------------------------------------------------------------------- */

static weft_train_plan plan_of(const branching *k, weft_arena *a)
{
    weft_train_plan plan = {.schedule = k->t->schedule,
                            .microbatch = k->t->family->microbatch,
                            .n_stages = k->n_path,
                            .n_chunks = 1,
                            .cut = WEFT_NEW(a, int, k->n_path + 1),
                            .stage = WEFT_NEW(a, weft_stage, k->n_path)};

    for (int i = 0; i < k->n_path; i++) {
        plan.cut[i + 1] = k->path[i].outer;
        plan.stage[i] = stage_at(k, &k->path[i]);
    }
    return plan;
}

static double quick_step_s(const branching *k)
{
    weft_pipe_stage_times b = weft_pipe_stage_times_new(k->n_path, 1, 0, k->a);

    b.schedule = k->t->schedule;
    b.n_microbatches = k->t->family->n_microbatches;
    b.is_contend = weft_hops_queue(k->p);
    for (int i = 0; i < k->n_path; i++) {
        const place *x = &k->path[i];

        b.forward_s[i] = x->stage.forward_s;
        b.backward_s[i] = x->stage.backward_s;
        b.sync_s[i] = x->sync_s;
        b.update_s[i] = x->update_s;
        if (i > 0) {
            b.send_s[i - 1] = x->send_s;
            b.return_s[i - 1] = x->return_s;
        }
    }
    return weft_pipe_step_s(&b, k->a);
}

static void try_plan(branching *k)
{
    weft_pipe_best *best = k->best;
    size_t mark = weft_arena_mark(k->a);
    double step_s;

    best->n_plans++;
    (void)weft_pipe_spend(best, 1 + k->n_path * k->t->family->n_microbatches / 4);
    step_s = quick_step_s(k);
    if (step_s < best->value_s && /* it may only get longer */
        (k->p->blocks.n_shared > 0 || k->p->cluster->platform->n_resources > 0)) {
        weft_train_plan plan = plan_of(k, k->a);

        step_s = weft_pipe_plan_s(k->p, &plan, k->a);
    }
    if (step_s < best->value_s) {
        best->value_s = step_s;
        best->plan = plan_of(k, best->a);
        if (best->run->progress != NULL)
            best->run->progress(best->run->context, step_s, 0);
    }
    weft_arena_rewind(k->a, mark);
}

/* --- bounds ---------------------------------------------------------------------------------- */

/* After the last backward of a stage. */
static double tail_s(const place *x)
{
    return x->sync_s + x->update_s;
}

/* After that of the first stage, with shared values that leave it. */
static double first_tail_s(const branching *k, const place *first)
{
    const weft_blocks *u = &k->p->blocks;
    double most_s = 0;

    for (int i = 0; i < u->n_shared; i++)
        if (weft_block_between(u, u->shared[i].owner, first->inner, first->outer) &&
            !weft_block_between(u, u->shared[i].other, first->inner, first->outer))
            most_s = fmax(most_s, k->value_s[i]);
    return tail_s(first) + most_s;
}

static double own_of(const branching *k, const place *x, double rest_s)
{
    return weft_pipe_own_s(k->t->schedule, k->t->family->n_microbatches, x->in_flight,
                           x->stage.forward_s, x->stage.backward_s, rest_s);
}

/* A lower bound for the path and `x` behind it. */
static double bound_of(const branching *k, const place *x)
{
    const weft_pipe_table *t = k->t;
    int n_cuts = k->p->blocks.n_cuts, next = t->nodes->move[x->move].next;
    size_t rest = (size_t)next * (size_t)n_cuts + (size_t)x->outer;
    double l = x->stage.forward_s + x->stage.backward_s;
    double hop_s =
        weft_affine_s(&t->links->least_send[x->move], k->p->blocks.leave_bytes[x->outer]) +
        weft_affine_s(&t->links->least_back[x->move], k->p->blocks.back_bytes[x->outer]);
    double first_s = first_tail_s(k, k->n_path > 0 ? &k->path[0] : x);
    double rest_s = next == 0 ? 0 : hop_s + t->sum_s[rest], own_s = own_of(k, x, rest_s);
    double bound_s = x->before_s + own_s + first_s;

    bound_s = fmax(bound_s, x->before_up_s + own_s + tail_s(x));
    if (next != 0)
        bound_s = fmax(bound_s, x->before_s + l + hop_s + t->bound_s[rest] + first_s);
    for (int i = k->n_path - 1; i >= 0; i--) {
        const place *y = &k->path[i];
        double y_l = y->stage.forward_s + y->stage.backward_s;

        own_s = own_of(k, y, x->before_s + l + rest_s - y->before_s - y_l);
        bound_s = fmax(bound_s, y->before_s + own_s + first_s);
        bound_s = fmax(bound_s, y->before_up_s + own_s + tail_s(y));
    }
    return bound_s;
}

/* --- children -------------------------------------------------------------------------------- */

static void set_before(const branching *k, place *x)
{
    const place *y = k->n_path > 0 ? &k->path[k->n_path - 1] : NULL;

    if (y == NULL)
        return;
    x->before_s = y->before_s + y->stage.forward_s + y->stage.backward_s + x->send_s + x->return_s;
    x->before_up_s = y->before_up_s + y->stage.forward_s + x->send_s;
}

/* Hops from the stage before: of the pair of moves, or for device sets a lower bound at first. */
static void set_hops(const branching *k, place *x)
{
    const weft_pipe_links *l = k->t->links;
    const weft_pipe_nodes *nodes = k->t->nodes;
    int before, pair;

    if (k->n_path == 0)
        return;
    before = k->path[k->n_path - 1].move;
    pair = l->pair_at[before] + x->move - nodes->move_at[nodes->move[before].next];
    x->send_s = weft_affine_s(&l->send[pair], k->p->blocks.leave_bytes[x->inner]);
    x->return_s = weft_affine_s(&l->back[pair], k->p->blocks.back_bytes[x->inner]);
    set_before(k, x);
}

static void set_exact_hops(const branching *k, place *x)
{
    weft_stage from, to;

    if (k->n_path == 0 || k->t->links->is_exact)
        return;
    from = stage_at(k, &k->path[k->n_path - 1]);
    to = stage_at(k, x);
    x->send_s = weft_hop_s(k->p, &from, &to, k->p->blocks.leave_bytes[x->inner]);
    x->return_s = weft_hop_s(k->p, &to, &from, k->p->blocks.back_bytes[x->inner]);
    set_before(k, x);
}

typedef WEFT_VEC(child) child_list;

/* The child with the stage up to x.outer, shared in one way. */
static void add_way(branching *k, place x, double parent_s, child_list *out)
{
    const weft_pipe_table *t = k->t;
    const weft_pipe_group *group = &t->family->group[t->nodes->move[x.move].group];
    weft_pipe_range range = {x.inner, x.outer, x.in_flight};
    double bound_s, target_s = weft_pipe_target_s(k->best);
    const weft_pipe_costs *c = k->best->costs;

    weft_pipe_hold_up(c, group, &range, &t->links->way[2 * x.move], t->links->n_ways[x.move],
                      &x.stage);
    x.sync_s = weft_pipe_sync_s(c, group, &range, &t->links->way[2 * x.move],
                                t->links->n_ways[x.move], &x.stage);
    x.update_s = weft_pipe_update_s(c, group, &range, x.stage.mix);
    set_hops(k, &x);
    bound_s = fmax(parent_s, bound_of(k, &x));
    if (bound_s < target_s && !t->links->is_exact) {
        set_exact_hops(k, &x);
        bound_s = fmax(parent_s, bound_of(k, &x));
    }
    if (bound_s < target_s)
        WEFT_PUSH(k->a, *out, ((child){x, bound_s}));
}

/* The children with the stage up to `outer`; false: longer ones need no look. */
static bool add_child(branching *k, place x, int outer, double parent_s, child_list *out)
{
    const weft_pipe_table *t = k->t;
    const weft_pipe_move *move = &t->nodes->move[x.move];
    const weft_pipe_group *group = &t->family->group[move->group];
    double most_s = weft_pipe_target_s(k->best) / (double)t->family->n_microbatches;
    weft_pipe_range range = {x.inner, outer, x.in_flight};
    size_t next = (size_t)move->next * (size_t)k->p->blocks.n_cuts + (size_t)outer;
    bool is_possible = false;

    if (!(t->bound_s[next] < INFINITY))
        return true;
    x.outer = outer;
    for (int mix = 0; mix < group->n_mixes; mix++)
        if (weft_pipe_stage_of(k->best->costs, group, &range, mix, most_s, &x.stage)) {
            add_way(k, x, parent_s, out);
            is_possible = true;
        }
    return is_possible;
}

static void add_children(branching *k, int node, int inner, double parent_s, child_list *out)
{
    const weft_pipe_costs *c = k->best->costs;
    const weft_pipe_nodes *nodes = k->t->nodes;
    int last = k->p->blocks.n_cuts - 1;
    int64_t in_flight =
        weft_pipe_in_flight(k->t->schedule, nodes->n_stages[node], k->t->family->n_microbatches);

    for (int move = nodes->move_at[node]; move < nodes->move_at[node + 1]; move++) {
        place x = {.move = move, .inner = inner, .in_flight = in_flight};

        if (nodes->move[move].next == 0) {
            (void)add_child(k, x, last, parent_s, out);
        } else if (c->outer == NULL) {
            int next = nodes->move[move].next;
            int i = inner + 1 > k->t->first[next] ? inner + 1 : k->t->first[next];

            while (i <= k->t->last[next] && add_child(k, x, i, parent_s, out))
                i++;
        } else {
            for (int i = c->outer_at[inner]; i < c->outer_at[inner + 1]; i++)
                if (c->outer[i] < last)
                    (void)add_child(k, x, c->outer[i], parent_s, out);
        }
    }
}

static int by_bound(const void *a, const void *b)
{
    const child *x = a, *y = b;

    return weft_order((double[]){x->bound_s, x->at.move, x->at.outer, x->at.stage.mix},
                      (double[]){y->bound_s, y->at.move, y->at.outer, y->at.stage.mix}, 4);
}

/* The least bound of what is left open behind the path. */
static double dive(branching *k, int node, int inner, double parent_s)
{
    size_t mark = weft_arena_mark(k->a);
    int64_t before = k->best->costs->n_tried;
    double open_s = INFINITY;
    child_list list = {0};

    add_children(k, node, inner, parent_s, &list);
    (void)weft_pipe_spend(k->best, 1 + k->best->costs->n_tried - before);
    if (list.n > 1)
        qsort(list.at, (size_t)list.n, sizeof *list.at, by_bound);
    for (int i = 0; i < list.n && list.at[i].bound_s < weft_pipe_target_s(k->best); i++) {
        int next = k->t->nodes->move[list.at[i].at.move].next;

        if (is_spent(k)) {
            open_s = fmin(open_s, list.at[i].bound_s);
            break;
        }
        k->path[k->n_path++] = list.at[i].at;
        if (next == 0)
            try_plan(k);
        else
            open_s = fmin(open_s, dive(k, next, list.at[i].at.outer, list.at[i].bound_s));
        k->n_path--;
    }
    weft_arena_rewind(k->a, mark);
    return open_s;
}

/* --- shared parameters ----------------------------------------------------------------------- */

/* Does the root's pipeline have the blocks of the move? Layouts give others no place. */
static bool is_of_root(const branching *k, int move)
{
    const weft_pipe_nodes *nodes = k->t->nodes;
    const weft_pipe_group *group = &k->t->family->group[nodes->move[move].group];
    const int *all = nodes->used + (size_t)k->root * WEFT_MAX_PARTS;
    const int *used = nodes->used + (size_t)nodes->move[move].next * WEFT_MAX_PARTS;

    for (int i = 0; i < group->n_parts; i++)
        if (used[group->class_id[i]] + group->count[i] > all[group->class_id[i]])
            return false;
    return true;
}

/* Bytes of shared value i on a device of the first part of the stage of a move, the least of all
 * ways to share. */
static double least_bytes(const branching *k, int i, int move)
{
    const weft_pipe_group *group = &k->t->family->group[k->t->nodes->move[move].group];
    double least = INFINITY;

    for (int mix = 0; mix < group->n_mixes; mix++)
        least =
            fmin(least,
                 weft_shared_bytes(k->p, i,
                                   weft_train_problem_table(k->p, group->class_id[0], group->width,
                                                            group->mix[mix * group->n_parts])));
    return least;
}

/* Seconds of shared value i from the stage of one move to that of another, at least. */
static double value_between(const branching *k, int i, int from, int to)
{
    place x = {.move = from}, y = {.move = to};
    weft_stage owner = stage_at(k, &x), other = stage_at(k, &y);

    return weft_shared_s(k->p, &owner, &other, false,
                         least_bytes(k, i, owner.width > other.width ? from : to));
}

/* The least time of a shared value from a first stage to any later one; too many moves: 0. */
static void bound_shared(branching *k)
{
    enum { MOST = 128 };
    const weft_pipe_nodes *nodes = k->t->nodes;
    int first = nodes->move_at[k->root], end = nodes->move_at[k->root + 1];
    const weft_blocks *u = &k->p->blocks;

    k->value_s = WEFT_NEW(k->a, double, u->n_shared + 1);
    if (u->n_shared == 0 || (int64_t)(end - first) * first > MOST || !k->t->links->is_exact)
        return;
    for (int i = 0; i < u->n_shared; i++) {
        double least_s = INFINITY;

        for (int t = first; t < end; t++)
            for (int o = 0; o < first; o++)
                if (is_of_root(k, o))
                    least_s = fmin(least_s, value_between(k, i, t, o));
        k->value_s[i] = least_s < INFINITY ? least_s : 0;
    }
}

double weft_pipe_branch_bound(weft_pipe_best *best, const weft_pipe_table *t,
                              weft_pipe_layout layout, int root, int64_t most_steps,
                              weft_arena *scratch)
{
    size_t mark = weft_arena_mark(scratch);
    branching k = {.best = best,
                   .t = t,
                   .p = best->costs->p,
                   .layout = layout,
                   .root = root,
                   .most_steps = best->n_steps + most_steps,
                   .path = WEFT_NEW(scratch, place, t->nodes->n_stages[root] + 1),
                   .a = scratch};
    double open_s;

    bound_shared(&k);
    open_s = dive(&k, root, 0, 0);
    weft_arena_rewind(scratch, mark);
    return open_s;
}
