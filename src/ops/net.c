/* SPDX-License-Identifier: MIT */
/* net.c: a network under construction: each operator is checked, its shapes inferred, its
 * constants computed, and it becomes a node of the graph or, if it depends on constants only, a
 * weight.
 *
 * Operators arrive in topological order, so one pass is the fixpoint: whatever a rule wants to
 * know of its operands is known when it is called. */
#include "rules.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

typedef struct entry {
    const char *name;
    weft_value value;
    bool is_given;        /* an input or constant, not the result of an operator */
    int64_t stored_bytes; /* of constants kept in a smaller form than their type; 0: as the type */
    int tensor;           /* in the builder; -1 until a node reads it */
} entry;

typedef struct opaque {
    const char *op, *domain;
    int n;
} opaque;

struct weft_net {
    weft_arena *arena;
    weft_arena *scratch; /* of one call */
    weft_builder *builder;
    weft_map *node_names; /* of nodes, to make missing ones up */
    WEFT_VEC(entry) value;
    WEFT_VEC(const char *) warning;
    WEFT_VEC(opaque) opaque;
    weft_map *opaque_names; /* operator and domain -> index into opaque */
    int n_nodes, n_kept;
    int n_conflicts;      /* results whose shape or type is not the declared one */
    const char *conflict; /* the first of them, for the warning */
    weft_dtype dtype;     /* of all floating-point tensors; WEFT_TYPE_UNKNOWN: as they are */
    int64_t old_batch, new_batch;
    const weft_net *before; /* with the old batch */
};

weft_net *weft_net_new(const char *name)
{
    weft_arena *a = weft_arena_new();
    weft_net *n = WEFT_NEW(a, weft_net, 1);

    n->arena = a;
    n->scratch = weft_arena_new();
    n->builder = weft_builder_new(name);
    n->node_names = weft_map_new(a);
    n->opaque_names = weft_map_new(a);
    return n;
}

void weft_net_free(weft_net *n)
{
    if (n == NULL)
        return;
    weft_builder_free(n->builder);
    weft_arena_free(n->scratch);
    weft_arena_free(n->arena);
}

void weft_net_reserve(weft_net *n, int n_values, int n_nodes)
{
    WEFT_RESERVE(n->arena, n->value, n_values);
    weft_map_reserve(n->node_names, n_nodes);
    weft_builder_reserve(n->builder, n_values, n_nodes);
}

weft_arena *weft_net_arena(weft_net *n)
{
    return n->arena;
}

void weft_net_rebatch(weft_net *n, int64_t from, int64_t to, const weft_net *before)
{
    n->old_batch = from;
    n->new_batch = to;
    n->before = before;
}

void weft_net_dtype(weft_net *n, weft_dtype type)
{
    n->dtype = type;
}

int weft_net_n_nodes(const weft_net *n)
{
    return n->n_nodes;
}

int weft_net_n_kept(const weft_net *n)
{
    return n->n_kept;
}

int weft_net_count(const weft_net *n)
{
    return n->value.n;
}

const weft_value *weft_net_value(const weft_net *n, int value)
{
    return &n->value.at[value].value;
}

const char *weft_net_name(const weft_net *n, int value)
{
    return n->value.at[value].name;
}

bool weft_net_is_given(const weft_net *n, int value)
{
    return n->value.at[value].is_given;
}

void weft_net_warn(weft_net *n, const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    WEFT_PUSH(n->arena, n->warning, weft_arena_text(n->arena, text, strlen(text)));
}

int weft_net_n_warnings(const weft_net *n)
{
    return n->warning.n;
}

const char *weft_net_warning(const weft_net *n, int i)
{
    return n->warning.at[i];
}

/* --- values ---------------------------------------------------------------------------------- */

/* Names are not copied: they live as long as the net. That no two are equal is checked in the end.
 */
static entry *add_value(weft_net *n, const char *name, const weft_value *value)
{
    entry e = {.name = name, .value = *value, .tensor = -1};

    if (n->dtype != WEFT_TYPE_UNKNOWN && weft_dtype_is_float(value->type))
        e.value.type = n->dtype;
    WEFT_PUSH(n->arena, n->value, e);
    return &n->value.at[n->value.n - 1];
}

/* The tensor of a value in the builder. Sizes past 2^62 bytes are refused. */
static weft_status need_tensor(weft_net *n, int value, weft_tensor_kind kind, int *out)
{
    entry *e = &n->value.at[value];
    weft_tensor t = {.name = e->name, .type = e->value.type, .kind = kind, .shape = e->value.shape};

    if (e->tensor < 0) {
        bool is_static = weft_shape_is_static(&t.shape);
        char text[192];

        t.elements = is_static ? weft_shape_elements(&t.shape) : 0;
        t.bytes = t.elements < 0 ? -1 : weft_dtype_bytes(t.type, t.elements);
        if (t.bytes < 0)
            return weft_fail(WEFT_E_INPUT, "tensor '%s' is %s, more than 2^62 bytes", e->name,
                             weft_shape_print(&t.shape, text));
        if (e->stored_bytes > 0)
            t.bytes = e->stored_bytes;
        t.value = kind == WEFT_WEIGHT ? e->value.data : NULL;
        t.is_parameter = kind == WEFT_WEIGHT && e->value.is_parameter;
        e->tensor = weft_builder_tensor(n->builder, &t);
    }
    *out = e->tensor;
    return WEFT_OK;
}

static int add_given(weft_net *n, const char *name, const weft_value *value)
{
    add_value(n, name, value)->is_given = true;
    return n->value.n - 1;
}

weft_status weft_net_input(weft_net *n, const char *name, const weft_value *value, int *out)
{
    weft_value input = {value->type, value->shape, false, false, NULL};
    int tensor;

    *out = add_given(n, name, &input);
    return need_tensor(n, *out, WEFT_INPUT, &tensor);
}

weft_status weft_net_constant(weft_net *n, const char *name, const weft_value *value, int *out)
{
    weft_value constant = *value;

    constant.is_const = true;
    *out = add_given(n, name, &constant);
    return WEFT_OK;
}

void weft_net_output(weft_net *n, int value)
{
    int tensor;

    /* Constants as outputs need no work and are not part of the graph. */
    if (!n->value.at[value].value.is_const &&
        need_tensor(n, value, WEFT_ACTIVATION, &tensor) == WEFT_OK)
        weft_builder_output(n->builder, tensor);
}

/* --- operators ------------------------------------------------------------------------------- */

static weft_status check_arity(const weft_call *c)
{
    const weft_op *op = c->op;

    if (op->max_args >= 0 && c->n_args > op->max_args)
        return weft_call_fail(c, "has %d inputs, expected at most %d", c->n_args, op->max_args);
    for (int i = 0; i < op->min_args; i++)
        if (weft_arg(c, i) == NULL)
            return weft_call_fail(c, "input %d is missing, expected at least %d inputs", i,
                                  op->min_args);
    if (op->max_results >= 0 && c->n_results > op->max_results)
        return weft_call_fail(c, "has %d outputs, expected at most %d", c->n_results,
                              op->max_results);
    return WEFT_OK;
}

/* What a rule left open is taken from the shapes the file declares. */
static void fill_from_declared(weft_value *result, const weft_value *declared)
{
    if (result->type == WEFT_TYPE_UNKNOWN)
        result->type = declared->type;
    if (result->shape.rank < 0)
        result->shape = declared->shape;
    for (int d = 0; d < result->shape.rank && result->shape.rank == declared->shape.rank; d++)
        if (result->shape.dim[d] < 0)
            result->shape.dim[d] = declared->shape.dim[d];
}

/* Rules win over what the file declares, but not in silence. */
static void note_conflict(weft_net *n, const weft_call *c, int i, const weft_value *declared)
{
    const weft_value *r = &c->result[i];
    bool is_shape = weft_shape_is_static(&r->shape) && weft_shape_is_static(&declared->shape) &&
                    !weft_shape_equal(&r->shape, &declared->shape);
    bool is_type = r->type && declared->type && r->type != declared->type;
    char now[192], then[192];

    if (!is_shape && (!is_type || n->dtype))
        return;
    if (n->n_conflicts++ == 0)
        n->conflict = weft_arena_print(
            n->arena, "output %d of node '%.100s' is %s %s, declared %s %s", i, c->node->name,
            weft_dtype_name(r->type), weft_shape_print(&r->shape, now),
            weft_dtype_name(declared->type), weft_shape_print(&declared->shape, then));
}

static bool is_known(const weft_literal *data)
{
    for (int i = 0; data && i < data->n; i++)
        if (data->ints ? data->ints[i] == WEFT_UNKNOWN_INT : isnan(data->reals[i]))
            return false;
    return data != NULL;
}

/* Constant: all operands are, or the elements are known whatever the operands (Shape). */
static void mark_constants(weft_call *c)
{
    bool all_const = c->op && !c->op->is_random && !c->node->has_body, is_parameter = false;

    for (int i = 0; i < c->n_args; i++) {
        all_const = all_const && (c->arg[i] == NULL || c->arg[i]->is_const);
        is_parameter = is_parameter || (c->arg[i] && c->arg[i]->is_parameter);
    }
    for (int i = 0; i < c->n_results; i++) {
        weft_value *r = &c->result[i];

        r->is_const = (all_const && weft_shape_is_static(&r->shape)) || is_known(r->data);
        r->is_parameter = all_const && is_parameter && weft_dtype_is_float(r->type);
    }
}

static void note_opaque(weft_net *n, const weft_node *node)
{
    opaque o = {weft_arena_text(n->arena, node->op, strlen(node->op)),
                weft_arena_text(n->arena, node->domain, strlen(node->domain)), 1};
    const char *key = weft_arena_print(n->arena, "%zu.%s.%s", strlen(o.op), o.op, o.domain);
    int known = weft_map_get(n->opaque_names, key, strlen(key));

    if (known >= 0) {
        n->opaque.at[known].n++;
        return;
    }
    weft_map_set(n->opaque_names, key, strlen(key), n->opaque.n);
    WEFT_PUSH(n->arena, n->opaque, o);
}

/* Computing elements is worth trying if they are known of all operands; a few rules make do with
 * less. Activations are the common case, so the test comes first. */
static bool may_fold(const weft_call *c)
{
    void (*fold)(weft_call *) = c->op->fold;
    bool has_all = true, has_some = false;

    for (int i = 0; i < c->n_args; i++) {
        bool is_known = c->arg[i] && c->arg[i]->data;

        has_all = has_all && (c->arg[i] == NULL || is_known);
        has_some = has_some || is_known;
    }
    if (has_all || fold == weft_fold_shape || fold == weft_fold_size)
        return true;
    if (fold == weft_fold_copy)
        return c->arg[0] && c->arg[0]->data;
    return has_some && (fold == weft_fold_concat || fold == weft_fold_where ||
                        fold == weft_fold_scatter_elements || fold == weft_fold_scatter_nd);
}

static weft_status infer(weft_net *n, weft_call *c, const weft_value *declared)
{
    for (int i = 0; i < c->n_results; i++)
        c->result[i] = (weft_value){.shape = {.rank = -1}};
    if (c->op) {
        WEFT_TRY(check_arity(c));
        WEFT_TRY(weft_check_attributes(c));
        WEFT_TRY(c->op->infer(c));
    } else {
        note_opaque(n, c->node);
    }
    for (int i = 0; declared && i < c->n_results; i++) {
        note_conflict(n, c, i, &declared[i]);
        fill_from_declared(&c->result[i], &declared[i]);
    }
    if (c->op && c->op->fold && may_fold(c))
        c->op->fold(c);
    mark_constants(c);
    return WEFT_OK;
}

/* A node name: the file's own, or "Conv_12"; made unique, since files repeat names. */
static const char *name_node(weft_net *n, const weft_node *node)
{
    const char *base = node->name && *node->name
                           ? weft_arena_text(n->arena, node->name, strlen(node->name))
                           : weft_arena_print(n->arena, "%s_%d", node->op, n->n_nodes);
    const char *name = base;

    for (int copy = 2; !weft_map_put(n->node_names, name, strlen(name), 0); copy++)
        name = weft_arena_print(n->arena, "%s#%d_%d", base, n->n_nodes, copy);
    return name;
}

static weft_status add_to_graph(weft_net *n, const weft_net_op *op, const int *results)
{
    int *tensors = WEFT_NEW(n->scratch, int, op->n_args + op->n_results);
    weft_node named = op->node;

    for (int i = 0; i < op->n_args + op->n_results; i++) {
        int value = i < op->n_args ? op->arg[i] : results[i - op->n_args];
        bool is_const = value >= 0 && n->value.at[value].value.is_const;

        tensors[i] = -1;
        if (value >= 0)
            WEFT_TRY(need_tensor(n, value, is_const ? WEFT_WEIGHT : WEFT_ACTIVATION, &tensors[i]));
    }
    named.name = name_node(n, &op->node);
    (void)weft_builder_node(n->builder, &named, tensors, op->n_args, tensors + op->n_args,
                            op->n_results);
    n->n_kept++;
    return WEFT_OK;
}

/* Quantised weights stay as small as they are stored, also behind views and transposes. 0: as their
 * type says. */
static int64_t stored_bytes(const weft_net *n, const weft_call *c, const weft_net_op *op)
{
    if (c->op == NULL || c->n_args == 0 || c->arg[0] == NULL)
        return 0;
    if (c->op->infer == weft_infer_dequantize)
        return weft_dtype_bytes(c->arg[0]->type, weft_shape_elements(&c->arg[0]->shape));
    if (c->op->fusion == WEFT_FUSE_VIEW || c->op->infer == weft_infer_transpose)
        return n->value.at[op->arg[0]].stored_bytes;
    return 0;
}

/* Adds the results that are asked for; true if all of them are constants. */
static bool add_results(weft_net *n, const weft_call *c, const weft_net_op *op, int *results)
{
    bool all_const = true;

    for (int i = 0; i < c->n_results; i++) {
        entry *e;

        results[i] = -1;
        if (op->result_name[i] == NULL || *op->result_name[i] == '\0')
            continue;
        all_const = all_const && c->result[i].is_const;
        e = add_value(n, op->result_name[i], &c->result[i]);
        results[i] = n->value.n - 1;
        if (c->result[i].is_const)
            e->stored_bytes = stored_bytes(n, c, op);
    }
    return all_const;
}

/* The shape a value has with the old batch: both networks number their values alike. */
static const weft_shape *old_shape(const weft_net *n, int value)
{
    const weft_net *b = n->before;

    if (b == NULL || value < 0 || value >= b->value.n ||
        strcmp(b->value.at[value].name, n->value.at[value].name) != 0)
        return NULL;
    return &b->value.at[value].value.shape;
}

static weft_status add_node(weft_net *n, const weft_net_op *op, int *results)
{
    weft_value *values = WEFT_NEW(n->scratch, weft_value, op->n_args + op->n_results);
    const weft_value **pointers = WEFT_NEW(n->scratch, const weft_value *, op->n_args + 1);
    weft_call c = {.node = &op->node,
                   .op = weft_op_find(op->node.domain, op->node.op),
                   .n_args = op->n_args,
                   .n_results = op->n_results,
                   .arg = pointers,
                   .result = values + op->n_args,
                   .arena = n->arena,
                   .old_batch = n->old_batch,
                   .new_batch = n->new_batch,
                   .old_shape = op->n_args > 0 ? old_shape(n, op->arg[0]) : NULL};
    bool all_const;

    for (int i = 0; i < op->n_args; i++)
        if (op->arg[i] >= 0) {
            values[i] = n->value.at[op->arg[i]].value;
            pointers[i] = &values[i];
        }
    WEFT_TRY(infer(n, &c, op->declared));
    all_const = add_results(n, &c, op, results);
    n->n_nodes++;
    if (all_const && !op->node.has_body && c.op)
        return WEFT_OK; /* folded: a weight, not work */
    for (int i = 0; i < op->n_results; i++)
        if (results[i] >= 0) { /* one live result keeps the node, so all its results are live */
            n->value.at[results[i]].value.is_const = false;
            n->value.at[results[i]].value.is_parameter = false;
        }
    return add_to_graph(n, op, results);
}

weft_status weft_net_node(weft_net *n, const weft_net_op *op, int *results)
{
    weft_status status = add_node(n, op, results);

    weft_arena_rewind(n->scratch, 0);
    return status;
}

/* --- the end --------------------------------------------------------------------------------- */

/* No nest has more points than the product of two tensors it touches, but for windows, whose
 * padding is not part of any tensor: small tensors need no exact count. */
static bool is_small(const weft_graph *g, int u)
{
    const int64_t limit = (int64_t)1 << 28; /* squared, and some operations a point: below 2^62 */
    const weft_op *op = weft_op_find(g->node[u].domain, g->node[u].op);

    if (op && (op->nests == weft_nest_pool || op->nests == weft_nest_roi_align))
        return false;
    for (int i = g->arg_at[u]; i < g->arg_at[u + 1]; i++)
        if (g->arg[i] >= 0 && g->tensor[g->arg[i]].elements > limit)
            return false;
    for (int i = g->res_at[u]; i < g->res_at[u + 1]; i++)
        if (g->res[i] >= 0 && g->tensor[g->res[i]].elements > limit)
            return false;
    return true;
}

static weft_status check_work(const weft_graph *g)
{
    for (int u = 0; u < g->n_nodes; u++) {
        weft_work w = is_small(g, u) ? (weft_work){0, 0, 0, 0} : weft_node_work(g, u);

        if (w.flops == INT64_MAX || w.read_bytes == INT64_MAX || w.write_bytes == INT64_MAX)
            return weft_fail(WEFT_E_INPUT, "node '%s' (%s): its work is more than 2^62 operations",
                             g->node[u].name, g->node[u].op);
    }
    return WEFT_OK;
}

weft_status weft_net_finish(weft_net *n, weft_graph **out)
{
    weft_status status;

    for (int i = 0; i < n->opaque.n; i++)
        weft_net_warn(n,
                      "operator %s%s%s is not known (%d node%s): shapes as declared in the file, "
                      "cost counts bytes only",
                      n->opaque.at[i].domain, *n->opaque.at[i].domain ? "." : "",
                      n->opaque.at[i].op, n->opaque.at[i].n, n->opaque.at[i].n > 1 ? "s" : "");
    if (n->n_conflicts > 0)
        weft_net_warn(n, "%s; %d such tensor%s, the inferred one%s used", n->conflict,
                      n->n_conflicts, n->n_conflicts > 1 ? "s" : "",
                      n->n_conflicts > 1 ? "s are" : " is");
    if (n->n_kept == 0 && n->n_nodes > 0)
        return weft_fail(WEFT_E_INPUT, "all nodes are constants: there is no work to do");
    WEFT_TRY(weft_builder_finish(n->builder, out));
    status = check_work(*out);
    if (status != WEFT_OK) {
        weft_graph_free(*out);
        *out = NULL;
    }
    return status;
}
