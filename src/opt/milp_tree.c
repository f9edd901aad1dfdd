/* SPDX-License-Identifier: MIT */
/* milp_tree.c: the proof of a program with whole columns, by branching on linear programs.
 *
 * Engines have claimed optima that are none (CBC 2.10.8), so what they say of a bound is not used.
 * This search makes its own:
 *
 * 1. A node limits some whole columns. Its linear program is solved; the duals bound all solutions
 *    of the node, or a ray shows that there are none, by the arithmetic of milp_bound.c.
 * 2. A node whose bound reaches the value of the best solution, less a slack, is done. So is one
 *    without solutions. If all whole columns are whole in the solution of a node, that is a
 *    solution of the program, and the node is done with its bound.
 * 3. Else the column farthest from whole splits it in two. Where the linear program has no solution
 *    that can be refuted, or none was found in time, the first column that is still open does.
 * 4. The open node with the least bound comes next, of equal ones the last.
 *
 * The bound is the least of all nodes that are open or done. Limits on columns that cost something
 * are wider here than in the program: a node that cannot beat the value then ends by its bound and
 * not by a ray at the edge of rounding. Less limits only lower a bound. Time: a linear program for
 * each node; without cuts it is a search for small programs. */
#define _POSIX_C_SOURCE 200809L
#include "milp.h"

#include <math.h>
#include <string.h>

enum { MOST_NODES = 100000 };         /* if nothing else limits the search */
static const double WHOLE = 1e-6;     /* how far from a whole number counts as one */
static const double FIRST_NODE_S = 1; /* for the first node, even if there is no time left */

typedef struct node {
    int parent, column; /* -1: the program itself */
    bool is_high;       /* `limit` is the upper limit of the column */
    double limit, bound;
} node;

typedef struct tree {
    const weft_milp_form *program;
    weft_milp_form form;      /* of the node at hand */
    const double *low, *high; /* of the first node */
    weft_milp_linear *linear;
    const weft_milp_options *o;
    double end_s;
    WEFT_VEC(node) node;
    int *open, n_open, room; /* heap of nodes, the next first */
    double done;             /* least bound of nodes that are done */
    double value;            /* of the best solution */
    double most;             /* no solution costs more; INFINITY: no limit */
    double *x;
    bool has_x;
    int64_t n_nodes;
    weft_arena *a, *scratch;
} tree;

/* --- open nodes ------------------------------------------------------------------------------ */

static bool comes_first(const tree *t, int i, int j)
{
    double a = t->node.at[i].bound, b = t->node.at[j].bound;

    return a != b ? a < b : i > j;
}

static void push(tree *t, int i)
{
    int at = t->n_open++;

    if (t->n_open > t->room) {
        int *more = WEFT_NEW(t->a, int, 2 * (size_t)t->n_open);

        if (at > 0)
            memcpy(more, t->open, sizeof *more * (size_t)at);
        t->open = more;
        t->room = 2 * t->n_open;
    }
    for (; at > 0 && comes_first(t, i, t->open[(at - 1) / 2]); at = (at - 1) / 2)
        t->open[at] = t->open[(at - 1) / 2];
    t->open[at] = i;
}

static int pop(tree *t)
{
    int first = t->open[0], last = t->open[--t->n_open], at = 0;

    for (int child = 1; child < t->n_open; child = 2 * at + 1) {
        if (child + 1 < t->n_open && comes_first(t, t->open[child + 1], t->open[child]))
            child++;
        if (!comes_first(t, t->open[child], last))
            break;
        t->open[at] = t->open[child];
        at = child;
    }
    t->open[at] = last;
    return first;
}

static void open_node(tree *t, node n)
{
    int i = t->node.n;

    WEFT_PUSH(t->a, t->node, n);
    push(t, i);
}

/* --- one node -------------------------------------------------------------------------------- */

static void set_limits(tree *t, int i)
{
    size_t n_bytes = sizeof(double) * (size_t)t->form.n_columns;

    memcpy(t->form.low, t->low, n_bytes);
    memcpy(t->form.high, t->high, n_bytes);
    for (; t->node.at[i].column >= 0; i = t->node.at[i].parent) {
        const node *n = &t->node.at[i];

        if (n->is_high)
            t->form.high[n->column] = fmin(t->form.high[n->column], n->limit);
        else
            t->form.low[n->column] = fmax(t->form.low[n->column], n->limit);
    }
    weft_milp_linear_limit(t->linear, &t->form, t->scratch);
}

/* Values from here on need no proof. */
static double target_of(const tree *t)
{
    double value = fmin(t->value, t->most);

    return value < INFINITY ? value - weft_milp_slack(value) : INFINITY;
}

/* The column to split: the farthest from whole, or without x the first that is open; -1: none. */
static int split_column(const tree *t, const double *x)
{
    const weft_milp_form *f = &t->form;
    double most = x != NULL ? WHOLE : 0;
    int best = -1;

    for (int c = 0; c < f->n_columns; c++) {
        double off = x != NULL ? fabs(x[c] - round(x[c])) : 1;

        if (f->is_whole[c] && f->low[c] < f->high[c] && off > most) {
            most = off;
            best = c;
        }
    }
    return best;
}

static void take_solution(tree *t, const double *x)
{
    double value = weft_milp_value(t->program, x);

    if (!(value < t->value) || !weft_milp_is_solution(t->program, x, t->scratch))
        return;
    memcpy(t->x, x, sizeof *x * (size_t)t->program->n_columns);
    t->value = value;
    t->has_x = true;
}

static void split(tree *t, int i, int column, const double *x, double bound)
{
    double low = t->form.low[column], high = t->form.high[column], at;
    node down = {.parent = i, .column = column, .is_high = true, .bound = bound}, up = down;

    at = x != NULL ? floor(x[column]) : isfinite(low) ? low : isfinite(high) ? high - 1 : 0;
    at = fmax(at, isfinite(low) ? low : at);
    if (isfinite(high) && at > high - 1)
        at = high - 1;
    down.limit = at;
    up.limit = at + 1;
    up.is_high = false;
    if (x != NULL && x[column] - at > 0.5) { /* the nearer one is opened last: it comes first */
        open_node(t, down);
        open_node(t, up);
    } else {
        open_node(t, up);
        open_node(t, down);
    }
}

/* What the linear program of the node at hand proves; INFINITY: it has no solution. */
static double bound_of(const tree *t, const weft_milp_claim *claim)
{
    double bound = -INFINITY;

    if (claim->is_infeasible && weft_milp_is_refuted(&t->form, claim->ray, t->scratch))
        return INFINITY;
    if (claim->dual != NULL)
        bound =
            weft_milp_dual_bound(&t->form, claim->dual, t->most < INFINITY ? INFINITY : t->value);
    return bound > t->most + weft_milp_slack(t->most) ? INFINITY : bound;
}

/* Nothing is left to prove, or (a program without limit) no limit of whole columns would help. */
static bool is_done(const tree *t, double bound, const weft_milp_claim *claim)
{
    return bound >= target_of(t) || (!isfinite(bound) && !claim->is_infeasible);
}

static void visit(tree *t, int i, const weft_milp_options *o)
{
    weft_milp_claim claim;
    double bound = t->node.at[i].bound;
    int column;

    set_limits(t, i);
    weft_milp_linear_solve(t->linear, o, t->scratch, &claim);
    bound = fmax(bound, bound_of(t, &claim));
    if (!(bound < INFINITY))
        return;
    column = is_done(t, bound, &claim) ? -1 : split_column(t, claim.x);
    if (column < 0 && claim.x != NULL && bound < t->value)
        take_solution(t, claim.x);
    if (column >= 0)
        split(t, i, column, claim.x, bound);
    else
        t->done = fmin(t->done, bound);
}

/* --- the search ------------------------------------------------------------------------------ */

static bool is_over(const tree *t)
{
    int64_t most = t->o->most_nodes;

    if (most <= 0)
        most = t->o->limit_s < INFINITY ? INT32_MAX / 4 : MOST_NODES;
    return t->n_nodes >= most || (t->o->stop != NULL && *t->o->stop) || weft_wall_s() >= t->end_s;
}

static void search(tree *t)
{
    weft_milp_options o = *t->o;

    open_node(t, (node){.parent = -1, .column = -1, .bound = -INFINITY});
    while (t->n_open > 0 && t->node.at[t->open[0]].bound < target_of(t)) {
        size_t mark = weft_arena_mark(t->scratch);
        bool is_first = t->n_nodes == 0;

        if (!is_first && is_over(t))
            return;
        o.limit_s = t->end_s < INFINITY ? t->end_s - weft_wall_s() : INFINITY;
        if (is_first) {
            o.limit_s = fmax(o.limit_s, FIRST_NODE_S);
            o.stop = NULL;
        }
        t->n_nodes++;
        visit(t, pop(t), &o);
        o.stop = t->o->stop;
        weft_arena_rewind(t->scratch, mark);
    }
}

/* Wider limits for columns that cost something. */
static void widen(weft_milp_form *f)
{
    for (int c = 0; c < f->n_columns; c++) {
        if (f->is_whole[c])
            continue;
        if (f->cost[c] > 0)
            f->high[c] += fmax(1, fabs(f->high[c]));
        if (f->cost[c] < 0)
            f->low[c] -= fmax(1, fabs(f->low[c]));
    }
}

/* No solution costs more; INFINITY: no limit. */
static double greatest_cost(const weft_milp_form *f)
{
    double sum = 0;

    for (int c = 0; c < f->n_columns; c++) {
        if (f->cost[c] != 0)
            sum += f->cost[c] * (f->cost[c] > 0 ? f->high[c] : f->low[c]);
    }
    return sum;
}

static double *copy(const double *from, int n, weft_arena *a)
{
    return weft_arena_copy(a, from, sizeof *from * (size_t)n);
}

weft_status weft_milp_prove(const weft_milp_form *f, double value, const weft_milp_options *o,
                            weft_arena *a, weft_milp_proved *out)
{
    int n = f->n_columns;
    tree t = {.program = f, .form = *f, .o = o, .done = INFINITY, .a = a};
    weft_status status;

    t.value = value;
    t.form.low = copy(f->low, n, a);
    t.form.high = copy(f->high, n, a);
    weft_milp_find_limits(&t.form, a);
    t.most = greatest_cost(&t.form);
    widen(&t.form);
    t.low = copy(t.form.low, n, a);
    t.high = copy(t.form.high, n, a);
    t.x = WEFT_NEW(a, double, n);
    t.end_s = o->limit_s < INFINITY ? weft_wall_s() + o->limit_s : INFINITY;
    t.scratch = weft_arena_new();
    status = weft_milp_linear_new(&t.form, t.scratch, &t.linear);
    if (status == WEFT_OK) {
        search(&t);
        weft_milp_linear_free(t.linear);
        out->bound = fmin(t.done, t.n_open > 0 ? t.node.at[t.open[0]].bound : INFINITY);
        out->x = t.has_x ? t.x : NULL;
        out->n_nodes = t.n_nodes;
    }
    weft_arena_free(t.scratch);
    return status;
}
