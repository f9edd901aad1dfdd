/* SPDX-License-Identifier: MIT */
/* step_rule.c: how boxes of tensors follow from blocks of points.
 *
 * 1. Head: an index is offset + sum of factor * axis. Axes that may be cut stay terms; what the
 *    others add is a range. So a block of points needs an interval in each dimension.
 * 2. Followers work on the elements of the head's result: a dimension of an operand of theirs is a
 *    dimension of that result, or is broadcast.
 * 3. Reshapes: axes are the dimensions of the result. Element number N = sum of o_j * t_j (t:
 *    strides of the result) has index N / s % n in a dimension of the operand with stride s and
 * size n; terms with t_j a multiple of s n drop out.
 *
 * Guarantee: a box holds every element that the points touch. By 1 it is the smallest such box if
 * every term of an index that is cut steps by no more than the rest of the index reaches; by 3, if
 * the values do not pass a multiple of s n, as where dimensions are merged or split at the outer
 * edge; else the dimension is taken whole. */
#include "step_rule.h"

#include <string.h>

static double element_bytes(const weft_tensor *t)
{
    return t->elements > 0 ? (double)t->bytes / (double)t->elements : 0;
}

static weft_tensor_rule whole(const weft_tensor *t)
{
    return (weft_tensor_rule){.whole = weft_box_whole(t->shape), .element_bytes = element_bytes(t)};
}

static weft_dim_rule range(int64_t lo, int64_t hi, int64_t size)
{
    return (weft_dim_rule){.lo = lo, .hi = hi - 1, .size = size};
}

static void add_term(weft_dim_rule *d, int axis, int64_t factor)
{
    d->axis[d->n_terms] = (int8_t)axis;
    d->factor[d->n_terms++] = factor;
}

typedef struct filler {
    const weft_graph *g;
    weft_step *step;
    weft_step_rule *rule;
    weft_tensor_rule *operand, *weight, *result;
    weft_arena *a;
} filler;

/* --- heads ----------------------------------------------------------------------------------- */

static weft_dim_rule dim_of_index(const weft_nest *n, const int8_t *axis_of, const weft_index *x,
                                  int64_t size)
{
    weft_dim_rule d = range(x->offset, x->offset + 1, size);

    if (x->is_whole)
        return range(0, size, size);
    if (x->n_terms == 0)
        return range(0, 1, size);
    for (int i = 0; i < x->n_terms; i++) {
        int64_t f = x->factor[i], reach = f * (n->axis[x->axis[i]].extent - 1);

        if (axis_of[x->axis[i]] >= 0)
            add_term(&d, axis_of[x->axis[i]], f);
        else
            *(f >= 0 ? &d.hi : &d.lo) += reach;
    }
    return d;
}

static weft_way way_of_access(const weft_nest *n, const int8_t *axis_of, const weft_access *a,
                              const weft_shape *shape)
{
    weft_way w = {.rank = a->rank};

    for (int d = 0; d < a->rank; d++) {
        w.dim[d] = dim_of_index(n, axis_of, &a->index[d], shape->dim[d]);
        if (a->is_result && w.dim[d].n_terms == 0) /* also where no point leads, as in paddings */
            w.dim[d] = range(0, shape->dim[d], shape->dim[d]);
    }
    return w;
}

/* An operand or result of the head, by its accesses in all nests. */
static weft_tensor_rule rule_of_slot(const weft_graph *g, int u, const weft_nests *nests,
                                     const weft_step_rule *rule, weft_access at, weft_arena *a)
{
    int tensor = at.is_result ? g->res[g->res_at[u] + at.slot] : g->arg[g->arg_at[u] + at.slot];
    const weft_tensor *t = &g->tensor[tensor];
    weft_tensor_rule out = whole(t);
    weft_way *way = WEFT_NEW(a, weft_way, nests->n + 1);
    weft_access access;

    for (int i = 0; i < nests->n; i++) {
        if (!weft_node_access(g, u, nests, i, at.is_result, at.slot, &access))
            continue;
        if (access.rank != t->shape->rank)
            return whole(t);
        way[out.n_variants++] = way_of_access(&nests->nest[i], rule->axis_of[i], &access, t->shape);
    }
    out.way = way;
    out.is_final = at.is_result;
    return out;
}

/* --- reshapes -------------------------------------------------------------------------------- */

static void strides_of(const weft_shape *s, int64_t stride[WEFT_MAX_RANK])
{
    int64_t product = 1;

    for (int d = s->rank - 1; d >= 0; d--) {
        stride[d] = product;
        product *= s->dim[d];
    }
}

static const char *const dim_name[WEFT_MAX_RANK] = {"d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7"};

/* Axes are the dimensions of the result; axis_of[d] is that of dimension d, or -1. */
static void reshape_axes(const weft_shape *y, weft_step *step, int8_t axis_of[WEFT_MAX_RANK])
{
    for (int d = 0; d < y->rank; d++) {
        axis_of[d] = -1;
        if (y->dim[d] <= 1)
            continue;
        axis_of[d] = (int8_t)step->n_axes;
        step->axis[step->n_axes++] = (weft_step_axis){.name = dim_name[d],
                                                      .extent = y->dim[d],
                                                      .kind = WEFT_AXIS_PARALLEL,
                                                      .in_result = true};
    }
}

static weft_way way_of_result(const weft_shape *y, const int8_t *axis_of)
{
    weft_way w = {.rank = y->rank};

    for (int d = 0; d < y->rank; d++) {
        w.dim[d] = range(0, y->dim[d], y->dim[d]);
        if (axis_of[d] < 0)
            continue;
        w.dim[d].hi = 0;
        add_term(&w.dim[d], axis_of[d], 1);
    }
    return w;
}

static weft_way way_of_source(const weft_shape *x, const weft_shape *y, const int8_t *axis_of)
{
    weft_way w = {.rank = x->rank};
    int64_t from[WEFT_MAX_RANK], to[WEFT_MAX_RANK];

    strides_of(x, from);
    strides_of(y, to);
    for (int d = 0; d < x->rank; d++) {
        int64_t period = from[d] * x->dim[d];

        w.dim[d] = range(0, 1, x->dim[d]);
        w.dim[d].stride = from[d];
        for (int k = 0; k < y->rank; k++)
            if (axis_of[k] >= 0 && period > 0 && to[k] % period != 0)
                add_term(&w.dim[d], axis_of[k], to[k]);
    }
    return w;
}

/* Operand 0 is read as the result says, further ones (the new shape) whole. Further results (the
 * mask of a dropout) are cut like the first, if they have its shape; else nothing is cut. */
static void fill_reshape(filler *f)
{
    const weft_graph *g = f->g;
    int u = f->step->node[0];
    const weft_tensor *x = &g->tensor[g->arg[g->arg_at[u]]], *y = &g->tensor[g->res[g->res_at[u]]];
    weft_way *way = WEFT_NEW(f->a, weft_way, 2);
    int8_t axis_of[WEFT_MAX_RANK];

    for (int k = 0; k < f->step->n_results; k++)
        if (!weft_shape_equal(g->tensor[f->step->result[k]].shape, y->shape))
            return;
    reshape_axes(y->shape, f->step, axis_of);
    way[0] = way_of_result(y->shape, axis_of);
    way[1] = way_of_source(x->shape, y->shape, axis_of);
    for (int k = 0; k < f->step->n_results; k++) {
        f->result[k].n_variants = 1;
        f->result[k].way = &way[0];
        f->result[k].is_final = true;
    }
    if (f->step->n_results > 0)
        f->rule->last = f->result[0];
    for (int k = 0; k < f->step->n_operands; k++)
        if (f->step->operand[k].slot == 0) {
            f->operand[k].n_variants = 1;
            f->operand[k].way = &way[1];
        }
}

/* --- followers ------------------------------------------------------------------------------- */

static const weft_access *result_access(const weft_nest *n)
{
    for (int k = 0; k < n->n_accesses; k++)
        if (n->access[k].is_result)
            return &n->access[k];
    return NULL;
}

/* Each dimension of the result has an axis of its own, each dimension of an operand one or none. */
static bool is_dimension_wise(const weft_nest *n, const weft_access *a)
{
    for (int d = 0; d < a->rank; d++) {
        const weft_index *x = &a->index[d];

        if (x->is_whole || x->n_terms > 1 || x->offset != 0 ||
            (x->n_terms == 1 && x->factor[0] != 1))
            return false;
        for (int k = 0; a->is_result && k < d; k++)
            if (x->n_terms == 0 || a->index[k].axis[0] == x->axis[0])
                return false;
    }
    return !a->is_result || a->rank == n->n_axes;
}

static bool has_one_result(const weft_graph *g, int u)
{
    int n = 0;

    for (int i = g->res_at[u]; i < g->res_at[u + 1]; i++)
        n += g->res[i] >= 0;
    return n == 1 && g->res[g->res_at[u]] >= 0;
}

static bool reads_constants(const weft_graph *g, int u)
{
    for (int i = g->arg_at[u] + 1; i < g->arg_at[u + 1]; i++)
        if (g->arg[i] >= 0 && g->tensor[g->arg[i]].kind != WEFT_WEIGHT)
            return false;
    return true;
}

bool weft_node_follows(const weft_graph *g, int u, const weft_nests *nests)
{
    const weft_op *op = weft_op_find(g->node[u].domain, g->node[u].op);
    const weft_nest *n = &nests->nest[0];

    if (op == NULL || !weft_node_has_addresses(g, u) || nests->n != 1 || n->is_mac ||
        !has_one_result(g, u))
        return false;
    if (op->fusion != WEFT_FUSE_ELEMENT && !(op->fusion == WEFT_FUSE_NORM && reads_constants(g, u)))
        return false;
    for (int k = 0; k < n->n_axes; k++)
        if (n->axis[k].kind != WEFT_AXIS_PARALLEL)
            return false;
    for (int k = 0; k < n->n_accesses; k++)
        if (!is_dimension_wise(n, &n->access[k]))
            return false;
    return result_access(n) != NULL;
}

/* The dimension of the result that each axis of a follower's nest is. */
static void fill_dims(const weft_nest *n, int8_t dim_of[WEFT_MAX_AXES])
{
    const weft_access *y = result_access(n);

    memset(dim_of, -1, WEFT_MAX_AXES);
    for (int d = 0; d < y->rank; d++)
        dim_of[y->index[d].axis[0]] = (int8_t)d;
}

/* An operand of a follower: dimensions of what the head made. */
static weft_tensor_rule rule_of_follower(const filler *f, const weft_nests *nests, int node,
                                         int slot)
{
    const weft_graph *g = f->g;
    const weft_tensor_rule *last = &f->rule->last;
    int u = f->step->node[node];
    const weft_tensor *t = &g->tensor[g->arg[g->arg_at[u] + slot]];
    weft_tensor_rule out = whole(t);
    int8_t dim_of[WEFT_MAX_AXES];
    weft_access x;
    weft_way *way;

    if (last->n_variants == 0 || !weft_node_access(g, u, nests, 0, false, slot, &x) ||
        x.rank != t->shape->rank)
        return out;
    fill_dims(&nests->nest[0], dim_of);
    way = WEFT_NEW(f->a, weft_way, 1);
    way->rank = x.rank;
    for (int d = 0; d < x.rank; d++)
        way->dim[d] = x.index[d].n_terms == 0 ? range(0, 1, t->shape->dim[d])
                                              : last->way->dim[dim_of[x.index[d].axis[0]]];
    out.n_variants = 1;
    out.way = way;
    out.is_final = true;
    return out;
}

/* --- steps ----------------------------------------------------------------------------------- */

static weft_tensor_rule rule_of_operand(const filler *f, const weft_nests *nests, int slot)
{
    return rule_of_slot(f->g, f->step->node[0], nests, f->rule, (weft_access){.slot = slot}, f->a);
}

static weft_tensor_rule rule_of_made(const filler *f, const weft_nests *nests, int tensor)
{
    int u = f->step->node[0];

    return rule_of_slot(f->g, u, nests, f->rule,
                        (weft_access){.is_result = true, .slot = weft_result_slot(f->g, u, tensor)},
                        f->a);
}

static void fill_head(filler *f)
{
    const weft_step *step = f->step;
    int u = step->node[0];
    weft_nests nests;

    weft_node_nests(f->g, u, &nests);
    f->rule->n_nests = nests.n;
    f->rule->nest = weft_arena_copy(f->a, nests.nest, (size_t)nests.n * sizeof nests.nest[0]);
    if (!weft_node_has_addresses(f->g, u))
        return;
    weft_find_axes(f->g, &nests, f->step, f->rule);
    if (step->n_axes == 0)
        return;
    for (int k = 0; k < step->n_operands; k++)
        if (step->operand[k].node == 0)
            f->operand[k] = rule_of_operand(f, &nests, step->operand[k].slot);
    for (int k = 0; k < step->n_weights; k++)
        if (step->weight[k].node == 0)
            f->weight[k] = rule_of_operand(f, &nests, step->weight[k].slot);
    f->rule->last = rule_of_made(f, &nests, weft_made(f->g, step, 0));
    for (int k = 0; k < step->n_results && step->n_nodes == 1; k++)
        f->result[k] = rule_of_made(f, &nests, step->result[k]);
}

static void fill_followers(filler *f)
{
    const weft_step *step = f->step;
    weft_nest *nest = WEFT_NEW(f->a, weft_nest, step->n_nodes);
    int8_t(*dim_of)[WEFT_MAX_AXES] =
        weft_arena_array(f->a, (size_t)step->n_nodes, sizeof dim_of[0]);
    weft_nests nests;

    for (int i = 1; i < step->n_nodes; i++) {
        weft_node_nests(f->g, step->node[i], &nests);
        nest[i - 1] = nests.nest[0];
        fill_dims(&nest[i - 1], dim_of[i - 1]);
        for (int k = 0; k < step->n_operands; k++)
            if (step->operand[k].node == i)
                f->operand[k] = rule_of_follower(f, &nests, i, step->operand[k].slot);
        for (int k = 0; k < step->n_weights; k++)
            if (step->weight[k].node == i)
                f->weight[k] = rule_of_follower(f, &nests, i, step->weight[k].slot);
    }
    f->rule->follower = nest;
    f->rule->dim_of = (const int8_t(*)[WEFT_MAX_AXES])dim_of;
    for (int k = 0; k < step->n_results && step->n_nodes > 1; k++) {
        double bytes = f->result[k].element_bytes;

        f->result[k] = f->rule->last; /* the same shape, perhaps another type */
        f->result[k].element_bytes = bytes;
    }
}

/* The last entry before k that reads the tensor of entry k, or -1. */
static int entry_before(const weft_step_operand *list, int k)
{
    int i = k - 1;

    while (i >= 0 && list[i].tensor != list[k].tensor)
        i--;
    return i;
}

static void mark_repeated(const weft_step_operand *list, int n, weft_tensor_rule *t)
{
    for (int k = 0; k < n; k++)
        t[k].same_as = entry_before(list, k);
}

static weft_tensor_rule *all_whole(const weft_graph *g, const weft_step_operand *at, int n,
                                   weft_arena *a)
{
    weft_tensor_rule *t = WEFT_NEW(a, weft_tensor_rule, n);

    for (int k = 0; k < n; k++)
        t[k] = whole(&g->tensor[at[k].tensor]);
    return t;
}

void weft_fill_rule(const weft_graph *g, weft_step *step, weft_step_rule *rule, weft_arena *a)
{
    filler f = {g,
                step,
                rule,
                all_whole(g, step->operand, step->n_operands, a),
                all_whole(g, step->weight, step->n_weights, a),
                WEFT_NEW(a, weft_tensor_rule, step->n_results),
                a};

    step->n_axes = 0;
    step->scatter = -1;
    memset(rule->axis_of, -1, sizeof rule->axis_of);
    for (int k = 0; k < step->n_results; k++)
        f.result[k] = whole(&g->tensor[step->result[k]]);
    if (weft_made_count(step) > 0)
        rule->last = whole(&g->tensor[weft_made(g, step, 0)]);
    if (weft_node_is_reshape(g, step->node[0]))
        fill_reshape(&f);
    else
        fill_head(&f);
    fill_followers(&f);
    mark_repeated(step->operand, step->n_operands, f.operand);
    mark_repeated(step->weight, step->n_weights, f.weight);
    rule->operand = f.operand;
    rule->weight = f.weight;
    rule->result = f.result;
}
