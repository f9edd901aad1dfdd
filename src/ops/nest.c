/* SPDX-License-Identifier: MIT */
/* nest.c: loop nests of nodes, forward and backward, and the work that follows from them.
 *
 * A backward node is the forward nest with roles exchanged: the same points, the gradient of the
 * result read where the result was written, the gradient of an operand written where it was read.
 * So the work of a gradient is exactly that of the forward nest, for every operator with
 * multiply-accumulates. Operands and results of a backward node of forward node u (n operands,
 * r results) have fixed places:
 *   operands  0 .. r-1  gradients of u's results;  r .. r+n-1  u's operands;  r+n .. n+2r-1  u's
 *             results;  n+2r  gradient of the gates (recurrent layers)
 *   results   0 .. n-1  gradients of u's operands;  n  gradient of the gates
 * with -1 where one is not needed. */
#include "rules.h"

#include <string.h>

/* --- pieces ---------------------------------------------------------------------------------- */

int weft_nest_axis(weft_nest *n, const char *name, weft_axis_kind kind, int64_t extent)
{
    n->axis[n->n_axes] = (weft_axis){name, kind, extent};
    return n->n_axes++;
}

weft_access *weft_nest_access(weft_nest *n, bool is_result, int slot, int rank)
{
    weft_access *a = &n->access[n->n_accesses++];

    memset(a, 0, sizeof *a);
    a->is_result = is_result;
    a->slot = slot;
    a->rank = rank;
    return a;
}

void weft_index_term(weft_index *i, int axis, int64_t factor)
{
    i->axis[i->n_terms] = axis;
    i->factor[i->n_terms++] = factor;
}

void weft_index_axis(weft_index *i, int axis)
{
    weft_index_term(i, axis, 1);
}

int64_t weft_nest_points(const weft_nest *n)
{
    int64_t points = 1;

    for (int i = 0; i < n->n_axes; i++)
        if (n->axis[i].extent == 0)
            return 0;
    for (int i = 0; i < n->n_axes; i++)
        if (__builtin_mul_overflow(points, n->axis[i].extent, &points) || points > (int64_t)1 << 62)
            return -1;
    return points;
}

static int64_t add_saturated(int64_t a, int64_t b)
{
    int64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static int64_t times_saturated(int64_t a, int64_t b)
{
    int64_t product;

    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

/* Distinct indices of one dimension of `size` elements that the nest touches, from above. */
static int64_t touched_indices(const weft_nest *n, const weft_index *index, int64_t size)
{
    int64_t product = 1;

    if (index->is_whole)
        return size;
    for (int i = 0; i < index->n_terms; i++) {
        if (__builtin_mul_overflow(product, n->axis[index->axis[i]].extent, &product))
            return size;
        if (product >= size)
            return size;
    }
    return product < size ? product : size;
}

static int64_t touched_elements(const weft_nest *n, const weft_access *a, const weft_shape *shape)
{
    int64_t elements = 1;

    for (int d = 0; d < a->rank && d < shape->rank; d++)
        elements *= touched_indices(n, &a->index[d], shape->dim[d]); /* at most all elements */
    return elements;
}

/* --- calls of finished nodes ----------------------------------------------------------------- */

/* Rules look at no more operands than a nest has accesses for; the rest is read whole. */
enum { MOST_OPERANDS = 32 };

typedef struct node_call {
    weft_call call;
    weft_value value[2 * MOST_OPERANDS];
    const weft_value *arg[MOST_OPERANDS];
} node_call;

static weft_value value_of(const weft_tensor *t)
{
    return (weft_value){t->type, *t->shape, t->kind == WEFT_WEIGHT, t->is_parameter, t->value};
}

static int at_most(int n)
{
    return n < MOST_OPERANDS ? n : MOST_OPERANDS;
}

static void make_call(const weft_graph *g, int u, const weft_op *op, node_call *c)
{
    c->call = (weft_call){.node = &g->node[u],
                          .op = op,
                          .n_args = at_most(g->arg_at[u + 1] - g->arg_at[u]),
                          .n_results = at_most(g->res_at[u + 1] - g->res_at[u]),
                          .arg = c->arg,
                          .result = c->value + MOST_OPERANDS};
    for (int i = 0; i < c->call.n_args; i++) {
        int t = g->arg[g->arg_at[u] + i];

        c->arg[i] = t < 0 ? NULL : &c->value[i];
        if (t >= 0)
            c->value[i] = value_of(&g->tensor[t]);
    }
    for (int i = 0; i < c->call.n_results; i++) {
        int t = g->res[g->res_at[u] + i];

        c->call.result[i] = (weft_value){0};
        if (t >= 0)
            c->call.result[i] = value_of(&g->tensor[t]);
    }
}

static const weft_op *op_of(const weft_graph *g, int u)
{
    return weft_op_find(g->node[u].domain, g->node[u].op);
}

bool weft_node_is_opaque(const weft_graph *g, int u)
{
    const weft_node *n = &g->node[u];

    if (n->phase == WEFT_BACKWARD && n->forward >= 0)
        return weft_node_is_opaque(g, n->forward);
    return !n->has_body && op_of(g, u) == NULL;
}

bool weft_node_is_static(const weft_graph *g, int u)
{
    for (int i = g->arg_at[u]; i < g->arg_at[u + 1]; i++)
        if (g->arg[i] >= 0 && !weft_shape_is_static(g->tensor[g->arg[i]].shape))
            return false;
    for (int i = g->res_at[u]; i < g->res_at[u + 1]; i++)
        if (g->res[i] >= 0 && !weft_shape_is_static(g->tensor[g->res[i]].shape))
            return false;
    return true;
}

static void forward_nests(const weft_graph *g, int u, weft_nests *out)
{
    const weft_op *op = g->node[u].has_body ? NULL : op_of(g, u);
    node_call c;

    out->n = 0;
    if (op == NULL || op->nests == NULL || !weft_node_is_static(g, u))
        return;
    make_call(g, u, op, &c);
    op->nests(&c.call, out);
}

/* --- backward -------------------------------------------------------------------------------- */

static bool has_result(const weft_graph *g, int u, int slot)
{
    return g->res_at[u] + slot < g->res_at[u + 1] && g->res[g->res_at[u] + slot] >= 0;
}

static bool has_operand(const weft_graph *g, int u, int slot)
{
    return g->arg_at[u] + slot < g->arg_at[u + 1] && g->arg[g->arg_at[u] + slot] >= 0;
}

static void copy_access(weft_nest *to, const weft_access *from, bool is_result, int slot)
{
    if (to->n_accesses == WEFT_MAX_ACCESSES)
        return;
    to->access[to->n_accesses] = *from;
    to->access[to->n_accesses].is_result = is_result;
    to->access[to->n_accesses++].slot = slot;
}

static int64_t magnitude(int64_t factor)
{
    return factor < 0 ? times_saturated(factor, -1) : factor;
}

/* True if different values of the axes give different indices, as in group * channels + channel,
 * and not as in windows that overlap: each term steps over all that smaller ones reach. */
static bool is_one_to_one(const weft_nest *n, const weft_index *index)
{
    for (int k = 0; k < index->n_terms; k++) {
        int64_t step = magnitude(index->factor[k]), reach = 0;

        for (int j = 0; j < index->n_terms; j++) {
            int64_t other = magnitude(index->factor[j]);

            if (j != k && (other < step || (other == step && j < k)))
                reach = add_saturated(reach,
                                      times_saturated(other, n->axis[index->axis[j]].extent - 1));
        }
        if (n->axis[index->axis[k]].extent > 1 && step <= reach)
            return false;
    }
    return true;
}

/* How an axis indexes results: so that no other point writes the same place (2), overlapping with
 * others (1), not at all (0). */
static int role_in_results(const weft_nest *n, int axis)
{
    int role = 0;

    for (int i = 0; i < n->n_accesses; i++)
        for (int d = 0; n->access[i].is_result && d < n->access[i].rank; d++) {
            const weft_index *index = &n->access[i].index[d];

            for (int k = 0; k < index->n_terms; k++)
                if (index->axis[k] == axis && role < 2)
                    role = is_one_to_one(n, index) ? 2 : 1;
        }
    return role;
}

/* An axis that no result is indexed by is summed over; windows that write overlapping places keep
 * the kinds they had. */
static void set_kinds(weft_nest *n)
{
    for (int i = 0; i < n->n_axes; i++) {
        int role = role_in_results(n, i);

        if (n->axis[i].kind == WEFT_AXIS_SEQUENTIAL)
            continue;
        if (role == 0)
            n->axis[i].kind = WEFT_AXIS_REDUCE;
        else if (role == 2)
            n->axis[i].kind = WEFT_AXIS_PARALLEL;
    }
}

/* The nest of forward node f as backward node u walks it. */
static weft_nest exchange_roles(const weft_graph *g, int u, const weft_nest *forward, int64_t flops)
{
    int f = g->node[u].forward;
    int n_res = g->res_at[f + 1] - g->res_at[f], n_args = g->arg_at[f + 1] - g->arg_at[f];
    weft_nest n = *forward;

    n.n_accesses = 0;
    n.point_flops = n.is_mac ? 0 : flops;
    for (int i = 0; i < forward->n_accesses; i++) {
        const weft_access *a = &forward->access[i];
        int kept = a->is_result ? n_res + n_args + a->slot : n_res + a->slot;

        if (a->is_result && has_operand(g, u, a->slot))
            copy_access(&n, a, false, a->slot);
        if (!a->is_result && has_result(g, u, a->slot))
            copy_access(&n, a, true, a->slot);
        if (has_operand(g, u, kept))
            copy_access(&n, a, false, kept);
    }
    set_kinds(&n);
    return n;
}

static bool reads_slot(const weft_nest *n, int slot)
{
    for (int i = 0; i < n->n_accesses; i++)
        if (!n->access[i].is_result && n->access[i].slot == slot)
            return true;
    return false;
}

/* Does backward node u do the work of this forward nest, and how often? */
static int times_walked(const weft_graph *g, int u, const weft_op *op, const weft_nest *forward)
{
    int wrt = g->node[u].wrt;

    if (op->grad == WEFT_GRAD_EACH)
        return reads_slot(forward, wrt) ? 1 : 0;
    if (op->grad == WEFT_GRAD_RECURRENT &&
        wrt == 0) /* through R always, through W if dX is asked for */
        return reads_slot(forward, 2) || has_result(g, u, 0);
    if (op->grad == WEFT_GRAD_RECURRENT)
        return reads_slot(forward, wrt) ? 1 : 0;
    return forward->is_mac ? 2 : 1; /* one node for both operands */
}

static void backward_nests(const weft_graph *g, int u, weft_nests *out)
{
    const weft_op *op = op_of(g, g->node[u].forward);
    weft_nests forward;

    out->n = 0;
    if (op == NULL)
        return;
    forward_nests(g, g->node[u].forward, &forward);
    for (int i = 0; i < forward.n; i++)
        for (int k = times_walked(g, u, op, &forward.nest[i]); k > 0 && out->n < WEFT_MAX_NESTS;
             k--)
            out->nest[out->n++] = exchange_roles(g, u, &forward.nest[i], op->grad_flops);
}

void weft_node_nests(const weft_graph *g, int u, weft_nests *out)
{
    if (g->node[u].phase == WEFT_BACKWARD && g->node[u].forward >= 0)
        backward_nests(g, u, out);
    else
        forward_nests(g, u, out);
}

/* --- work ------------------------------------------------------------------------------------ */

void weft_work_add(weft_work *sum, weft_work more)
{
    sum->macs = add_saturated(sum->macs, more.macs);
    sum->flops = add_saturated(sum->flops, more.flops);
    sum->read_bytes = add_saturated(sum->read_bytes, more.read_bytes);
    sum->write_bytes = add_saturated(sum->write_bytes, more.write_bytes);
}

/* Bytes of one operand or result: the part its accesses touch, or all of it without one. */
static int64_t slot_bytes(const weft_work_part *p, bool is_result, int slot, const weft_tensor *t)
{
    const int64_t *limit = is_result ? p->most_written : p->most_read;
    int64_t most = -1;

    for (int i = 0; i < p->n; i++)
        for (int k = 0; k < p->nest[i].n_accesses; k++) {
            const weft_access *a = &p->nest[i].access[k];

            if (a->is_result == is_result && a->slot == slot) {
                int64_t n = touched_elements(&p->nest[i], a, t->shape);

                most = n > most ? n : most;
            }
        }
    if (most < 0)
        most = t->elements;
    if (limit && limit[slot] >= 0 && limit[slot] < most)
        most = limit[slot];
    if (most >= t->elements)
        return t->bytes;
    return (int64_t)((double)t->bytes / (double)t->elements * (double)most);
}

enum { FEW_ARGS = 256 };

/* Is operand i one that came before? `seen` marks tensors met so far; NULL: look back. */
static bool read_before(const weft_graph *g, int u, int i, uint64_t *seen)
{
    bool is_seen = seen && weft_bit_get(seen, g->arg[i]);

    if (seen)
        weft_bit_set(seen, g->arg[i]);
    for (int k = g->arg_at[u]; k < i && seen == NULL && !is_seen; k++)
        is_seen = g->arg[k] == g->arg[i];
    return is_seen;
}

static bool is_view(const weft_graph *g, int u)
{
    const weft_node *n = &g->node[u];
    const weft_op *op = op_of(g, n->forward >= 0 ? n->forward : u);

    return op && op->fusion == WEFT_FUSE_VIEW && !n->has_body;
}

/* --- what stays inside a kernel: neither read nor written ------------------------------------ */

/* Made in the kernel of u, or made again there. */
static bool is_at_hand(const weft_graph *g, int u, int tensor)
{
    int maker = g->kernel ? g->tensor[g->source[tensor]].producer : -1;

    return maker >= 0 &&
           (g->kernel[maker] == g->kernel[u] || weft_storage_of(g, tensor) == WEFT_REMADE);
}

/* Has an earlier node of the kernel of u read all of the tensor? */
static bool is_loaded(const weft_graph *g, int u, int tensor)
{
    for (int i = g->kernel ? g->use_at[tensor] : g->use_at[tensor + 1]; i < g->use_at[tensor + 1];
         i++) {
        int v = g->use[i];

        if (v >= u)
            return false;
        if (g->kernel[v] == g->kernel[u] && !is_view(g, v))
            return true;
    }
    return false;
}

bool weft_operand_is_inner(const weft_graph *g, int u, int slot)
{
    int tensor = g->arg[g->arg_at[u] + slot];

    return tensor >= 0 && (is_at_hand(g, u, tensor) || is_loaded(g, u, tensor));
}

/* --- states that are changed in place -------------------------------------------------------- */

/* Bytes that the node reads besides states and weights: no more of a state is new. */
static int64_t changed_bytes(const weft_graph *g, int u)
{
    int64_t sum = 0;

    for (int i = g->arg_at[u]; i < g->arg_at[u + 1]; i++) {
        const weft_tensor *x = g->arg[i] < 0 ? NULL : &g->tensor[g->arg[i]];

        if (x != NULL && x->kind != WEFT_STATE && x->kind != WEFT_WEIGHT)
            sum = add_saturated(sum, x->bytes);
    }
    return sum;
}

/* An operator that only moves data does not touch what stays where it is. */
static bool is_only_moved_into(const weft_graph *g, int u, int tensor)
{
    const weft_op *op = op_of(g, u);
    int present = g->kept == NULL ? -1 : g->kept[tensor];

    return present >= 0 && op != NULL && op->infer == weft_infer_scatter &&
           g->tensor[present].producer == u && weft_state_in_place(g, present) == tensor;
}

static int64_t read_bytes(const weft_graph *g, int u, const weft_work_part *p, int slot)
{
    int tensor = g->arg[g->arg_at[u] + slot];
    int64_t bytes = slot_bytes(p, false, slot, &g->tensor[tensor]);

    if (is_at_hand(g, u, tensor) || (bytes == g->tensor[tensor].bytes && is_loaded(g, u, tensor)))
        return 0;
    if (is_only_moved_into(g, u, tensor))
        return 0;
    return bytes;
}

static int64_t written_bytes(const weft_graph *g, int u, const weft_work_part *p, int slot)
{
    int tensor = g->res[g->res_at[u] + slot];
    int64_t bytes = slot_bytes(p, true, slot, &g->tensor[tensor]), changed;

    if (weft_state_in_place(g, tensor) < 0)
        return bytes;
    changed = changed_bytes(g, u);
    return changed < bytes ? changed : bytes;
}

static void count_bytes(const weft_graph *g, int u, const weft_work_part *p, weft_work *w)
{
    weft_arena *scratch = NULL;
    uint64_t *seen = NULL;

    if (g->arg_at[u + 1] - g->arg_at[u] > FEW_ARGS) { /* looking back would take n * n / 2 steps */
        scratch = weft_arena_new();
        seen = WEFT_NEW(scratch, uint64_t, weft_bits_words(g->n_tensors));
    }
    for (int i = g->arg_at[u]; i < g->arg_at[u + 1]; i++)
        if (g->arg[i] >= 0 && !read_before(g, u, i, seen))
            w->read_bytes = add_saturated(w->read_bytes, read_bytes(g, u, p, i - g->arg_at[u]));
    for (int i = g->res_at[u]; i < g->res_at[u + 1]; i++)
        if (g->res[i] >= 0 && weft_storage_of(g, g->res[i]) == WEFT_STORED)
            w->write_bytes =
                add_saturated(w->write_bytes, written_bytes(g, u, p, i - g->res_at[u]));
    weft_arena_free(scratch);
}

weft_work weft_part_work(const weft_graph *g, int u, const weft_work_part *p)
{
    weft_work w = {0, 0, 0, 0};

    if (g->node[u].has_body)
        return g->node[u].body;
    if (is_view(g, u))
        return w;
    for (int i = 0; i < p->n; i++) {
        const weft_nest *n = &p->nest[i];
        int64_t points = weft_nest_points(n);

        points = points < 0 ? INT64_MAX : points;
        w.macs = add_saturated(w.macs, n->is_mac ? points : 0);
        w.flops = add_saturated(w.flops, times_saturated(points, n->is_mac ? 2 : n->point_flops));
    }
    count_bytes(g, u, p, &w);
    return w;
}

weft_work weft_node_measure(const weft_graph *g, int u, weft_nests *nests)
{
    weft_work_part all = {.nest = nests->nest};

    nests->n = 0;
    if (!g->node[u].has_body && !is_view(g, u))
        weft_node_nests(g, u, nests);
    all.n = nests->n;
    return weft_part_work(g, u, &all);
}

weft_work weft_node_work(const weft_graph *g, int u)
{
    weft_nests nests;

    return weft_node_measure(g, u, &nests);
}
