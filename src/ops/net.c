/* SPDX-License-Identifier: MIT */
/* net.c: a network under construction: each operator is checked, its shapes inferred, its
 * constants computed, and it becomes a node of the graph or, if it depends on constants only, a
 * weight.
 *
 * Operators arrive in topological order, so one pass is the fixpoint: whatever a rule wants to
 * know of its operands is known when it is called. An operator of a known form on operands of which
 * the same is known as before is not looked at again (memo.c). */
#include "memo.h"
#include "rules.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

typedef struct entry {
    const char *name;
    int kind;      /* what is known of it (memo.h) */
    int tensor;    /* in the builder; -1 until a node reads it */
    bool is_given; /* an input or constant, not the result of an operator */
} entry;

typedef struct opaque {
    const char *op, *domain;
    int n;
} opaque;

struct weft_net_builder {
    weft_arena *arena;
    weft_arena *scratch; /* of one call of the rules */
    weft_builder *builder;
    weft_arena *lasting; /* of the builder, then of the graph: names, literals, attributes */
    weft_memo *memo;
    WEFT_VEC(entry) value;
    WEFT_VEC(int) memo_entry; /* of each operator: number in the memo, or -1 */
    WEFT_VEC(const char *) warning;
    WEFT_VEC(opaque) opaque;
    weft_map *opaque_names; /* operator and domain -> index into opaque */
    int n_nodes, n_kept;
    int n_conflicts;      /* results whose shape or type is not the declared one */
    const char *conflict; /* the first of them, for the warning */
    weft_dtype dtype;     /* of all floating-point tensors; WEFT_TYPE_UNKNOWN: as they are */
    int64_t old_batch, new_batch;
    const weft_net_builder *before; /* with the old batch */
    int n_assumptions;
    weft_assumption *assumption;
};

weft_net_builder *weft_net_new(const char *name)
{
    weft_arena *a = weft_arena_new();
    weft_net_builder *n = WEFT_NEW(a, weft_net_builder, 1);

    n->arena = a;
    n->scratch = weft_arena_new();
    n->builder = weft_builder_new(name);
    n->lasting = weft_builder_arena(n->builder);
    n->memo = weft_memo_new(a, n->lasting);
    weft_builder_share(n->builder);
    n->opaque_names = weft_map_new(a);
    return n;
}

void weft_net_free(weft_net_builder *n)
{
    if (n == NULL)
        return;
    weft_builder_free(n->builder);
    weft_arena_free(n->scratch);
    weft_arena_free(n->arena);
}

void weft_net_reserve(weft_net_builder *n, int n_values, int n_nodes)
{
    weft_arena_reserve(n->arena, (size_t)n_values * sizeof(entry) + (size_t)n_nodes * sizeof(int));
    WEFT_RESERVE(n->arena, n->value, n_values);
    WEFT_RESERVE(n->arena, n->memo_entry, n_nodes);
    weft_builder_reserve(n->builder, n_values, n_nodes);
}

weft_arena *weft_net_arena(weft_net_builder *n)
{
    return n->lasting;
}

void weft_net_rebatch(weft_net_builder *n, int64_t from, int64_t to, const weft_net_builder *before)
{
    n->old_batch = from;
    n->new_batch = to;
    n->before = before;
}

void weft_net_unique(weft_net_builder *n)
{
    weft_builder_unique(n->builder);
}

void weft_net_dtype(weft_net_builder *n, weft_dtype type)
{
    n->dtype = type;
}

void weft_net_assume(weft_net_builder *n, weft_assumption *list, int n_assumptions)
{
    n->assumption = list;
    n->n_assumptions = n_assumptions;
}

int weft_net_n_nodes(const weft_net_builder *n)
{
    return n->n_nodes;
}

int weft_net_n_kept(const weft_net_builder *n)
{
    return n->n_kept;
}

int weft_net_count(const weft_net_builder *n)
{
    return n->value.n;
}

static const weft_kind *kind_of(const weft_net_builder *n, int value)
{
    return weft_memo_get(n->memo, n->value.at[value].kind);
}

const weft_value *weft_net_value(const weft_net_builder *n, int value)
{
    return &kind_of(n, value)->value;
}

const char *weft_net_name(const weft_net_builder *n, int value)
{
    return n->value.at[value].name;
}

bool weft_net_is_given(const weft_net_builder *n, int value)
{
    return n->value.at[value].is_given;
}

const weft_value *weft_net_live(const weft_net_builder *n, int value, const char **name)
{
    const entry *e = &n->value.at[value];
    const weft_value *v = weft_memo_value(n->memo, e->kind);

    *name = e->name;
    return e->is_given && v->is_const ? NULL : v;
}

void weft_net_warn(weft_net_builder *n, const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    WEFT_PUSH(n->arena, n->warning, weft_arena_text(n->arena, text, strlen(text)));
}

int weft_net_n_warnings(const weft_net_builder *n)
{
    return n->warning.n;
}

const char *weft_net_warning(const weft_net_builder *n, int i)
{
    return n->warning.at[i];
}

/* --- values ---------------------------------------------------------------------------------- */

/* Names are not copied. That no two are equal is checked in the end. */
static int add_value(weft_net_builder *n, const char *name, int kind, bool is_given)
{
    WEFT_PUSH(n->arena, n->value, ((entry){name, kind, -1, is_given}));
    return n->value.n - 1;
}

/* The kind of a value in this network, whose floating-point tensors may all have one type. */
static int find_kind(weft_net_builder *n, const weft_value *value, int64_t stored_bytes)
{
    weft_value v = *value;

    if (n->dtype != WEFT_TYPE_UNKNOWN && weft_dtype_is_float(v.type))
        v.type = n->dtype;
    return weft_memo_kind(n->memo, &v, stored_bytes);
}

static weft_status too_large(const entry *e, const weft_shape *shape)
{
    char text[192];

    return weft_fail(WEFT_E_INPUT, "tensor '%s' is %s, more than 2^62 bytes", e->name,
                     weft_shape_print(shape, text));
}

/* The tensor of a value in the builder. Sizes past 2^62 bytes are refused. */
static inline weft_status need_tensor(weft_net_builder *n, int value, weft_tensor_kind kind,
                                      int *out)
{
    entry *e = &n->value.at[value];

    if (e->tensor < 0) {
        const weft_tensor *t = &weft_memo_get(n->memo, e->kind)->tensor;

        if (t->bytes < 0)
            return too_large(e, t->shape);
        e->tensor = weft_builder_tensor_as(n->builder, t, e->name, kind);
    }
    *out = e->tensor;
    return WEFT_OK;
}

weft_status weft_net_input(weft_net_builder *n, const char *name, const weft_value *value, int *out)
{
    weft_value input = {value->type, value->shape, false, false, NULL};
    int tensor;

    *out = add_value(n, name, find_kind(n, &input, 0), true);
    return need_tensor(n, *out, WEFT_INPUT, &tensor);
}

weft_status weft_net_constant(weft_net_builder *n, const char *name, const weft_value *value,
                              int *out)
{
    weft_value constant = *value;

    constant.is_const = true;
    *out = add_value(n, name, find_kind(n, &constant, 0), true);
    return WEFT_OK;
}

int weft_net_copy(weft_net_builder *n, const char *name, int earlier)
{
    return add_value(n, name, n->value.at[earlier].kind, true);
}

void weft_net_output(weft_net_builder *n, int value)
{
    int tensor = -1;

    /* Constants as outputs need no work and are not part of the graph. */
    if (!kind_of(n, value)->value.is_const &&
        need_tensor(n, value, WEFT_ACTIVATION, &tensor) == WEFT_OK)
        weft_builder_output(n->builder, tensor);
}

/* --- operators ------------------------------------------------------------------------------- */

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
static void note_conflict(weft_net_builder *n, const weft_call *c, int i,
                          const weft_value *declared)
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

static void note_opaque(weft_net_builder *n, const weft_node *node)
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

/* Nothing that a declaration could add. */
static bool is_complete(const weft_value *v)
{
    return v->type != WEFT_TYPE_UNKNOWN && weft_shape_is_static(&v->shape);
}

/* The name of a node, or the one it gets if the source has none. */
static const char *usual_name(weft_net_builder *n, const weft_node *node)
{
    if (node->name != NULL && *node->name != '\0')
        return node->name;
    return weft_arena_print(n->lasting, "%s_%d", node->op, n->n_nodes);
}

/* declared: what the source says of the results, or NULL; name: of the results. */
static weft_status infer(weft_net_builder *n, weft_call *c, const weft_value *declared,
                         const char *const *name, bool *is_own)
{
    for (int i = 0; i < c->n_results; i++)
        c->result[i] = (weft_value){.shape = {.rank = -1}};
    if (c->op) {
        WEFT_TRY(weft_infer(c));
    } else {
        note_opaque(n, c->node);
    }
    *is_own = true;
    for (int i = 0; declared && i < c->n_results; i++) {
        bool says_nothing = !declared[i].type && declared[i].shape.rank < 0;

        *is_own = *is_own && (says_nothing || is_complete(&c->result[i]));
        note_conflict(n, c, i, &declared[i]);
        fill_from_declared(&c->result[i], &declared[i]);
    }
    if (n->n_assumptions > 0)
        weft_assume(n->assumption, n->n_assumptions, usual_name(n, c->node), name, c);
    if (c->op && c->op->fold && may_fold(c))
        c->op->fold(c);
    mark_constants(c);
    return WEFT_OK;
}

static const char *name_of(const weft_net_op *op)
{
    return op->name ? op->name : op->node.name;
}

/* A name for a node whose own is empty or taken, since files repeat names: "Conv_12", then
 * "Conv_12#12_2", "Conv_12#12_3" and so on, a try each. */
static const char *other_name(weft_net_builder *n, const weft_net_op *op, int try)
{
    const char *base = name_of(op);

    if (*base == '\0')
        base = usual_name(n, &(weft_node){.op = op->node.op});
    else
        try++;
    return try == 0 ? base : weft_arena_print(n->lasting, "%s#%d_%d", base, n->n_nodes, try + 1);
}

/* Names the node that is added next. */
static void name_node(weft_net_builder *n, const weft_net_op *op)
{
    const char *name = name_of(op);
    size_t length = op->name ? op->n_name : strlen(name);

    for (int try = 0; !weft_builder_claim(n->builder, name, length); try++) {
        name = other_name(n, op, try);
        length = strlen(name);
    }
}

/* The node as the graph keeps it, where that is not known to be in the arena. */
static weft_node lasting_node(weft_net_builder *n, weft_node node)
{
    node.op = weft_arena_text(n->lasting, node.op, strlen(node.op));
    node.domain = weft_arena_text(n->lasting, node.domain, strlen(node.domain));
    node.attr = weft_attrs_copy(node.attr, node.n_attrs, n->lasting);
    return node;
}

/* The tensors of n_values values; what is constant is a weight. */
static weft_status find_tensors(weft_net_builder *n, const int *value, int n_values, int *tensor)
{
    for (int i = 0; i < n_values; i++) {
        int v = value[i];

        tensor[i] = v < 0 ? -1 : n->value.at[v].tensor;
        if (v >= 0 && tensor[i] < 0)
            WEFT_TRY(need_tensor(
                n, v, kind_of(n, v)->value.is_const ? WEFT_WEIGHT : WEFT_ACTIVATION, &tensor[i]));
    }
    return WEFT_OK;
}

static weft_status add_to_graph(weft_net_builder *n, const weft_net_op *op, const int *results,
                                int *out)
{
    int few[2 * WEFT_MEMO_ENTRY_ARGS], n_all = op->n_args + op->n_results;
    int *tensors = n_all <= 2 * WEFT_MEMO_ENTRY_ARGS ? few : WEFT_NEW_RAW(n->scratch, int, n_all);
    weft_node lasting;

    WEFT_TRY(find_tensors(n, op->arg, op->n_args, tensors));
    WEFT_TRY(find_tensors(n, results, op->n_results, tensors + op->n_args));
    name_node(n, op);
    if (op->form <= 0)
        lasting = lasting_node(n, op->node);
    *out = weft_builder_node(n->builder, op->form > 0 ? &op->node : &lasting, tensors, op->n_args,
                             tensors + op->n_args, op->n_results);
    n->n_kept++;
    return WEFT_OK;
}

/* Quantised weights stay as small as they are stored, also behind views and transposes. 0: as their
 * type says. */
static int64_t stored_bytes(const weft_net_builder *n, const weft_call *c, const weft_net_op *op)
{
    if (c->op == NULL || c->n_args == 0 || c->arg[0] == NULL)
        return 0;
    if (c->op->infer == weft_infer_dequantize)
        return weft_dtype_bytes(c->arg[0]->type, weft_shape_elements(&c->arg[0]->shape));
    if (c->op->fusion == WEFT_FUSE_VIEW || c->op->infer == weft_infer_transpose)
        return kind_of(n, op->arg[0])->stored_bytes;
    return 0;
}

/* The shape a value has with the old batch: both networks number their values alike. */
static const weft_shape *old_shape(const weft_net_builder *n, int value)
{
    const weft_net_builder *b = n->before;

    if (b == NULL || value < 0 || value >= b->value.n ||
        strcmp(b->value.at[value].name, n->value.at[value].name) != 0)
        return NULL;
    return &kind_of(b, value)->value.shape;
}

/* Calls the rules and fills `result` with the kinds of the results. *is_own: what the source
 * declares of the results was not needed, so that the same call always gives the same kinds. */
static weft_status apply(weft_net_builder *n, const weft_net_op *op, const weft_op *row,
                         int *result, bool *is_own)
{
    weft_value *values = WEFT_NEW_RAW(n->scratch, weft_value, op->n_results);
    const weft_value **pointers = WEFT_NEW(n->scratch, const weft_value *, op->n_args + 1);
    weft_node node = op->node;
    weft_call c = {.node = &node,
                   .op = row,
                   .n_args = op->n_args,
                   .n_results = op->n_results,
                   .arg = pointers,
                   .result = values,
                   .arena = n->lasting,
                   .old_batch = n->old_batch,
                   .new_batch = n->new_batch,
                   .old_shape = op->n_args > 0 ? old_shape(n, op->arg[0]) : NULL};

    node.name = name_of(op);
    for (int i = 0; i < op->n_args; i++)
        if (op->arg[i] >= 0)
            pointers[i] = &kind_of(n, op->arg[i])->value;
    WEFT_TRY(infer(n, &c, op->declared, op->result_name, is_own));
    for (int i = 0; i < op->n_results; i++)
        result[i] = find_kind(n, &values[i], values[i].is_const ? stored_bytes(n, &c, op) : 0);
    return WEFT_OK;
}

/* --- what was done before -------------------------------------------------------------------- */

static bool is_asked_for(const weft_net_op *op, int i)
{
    return op->result_name[i] && *op->result_name[i] != '\0';
}

/* How many results there are, and which of them are asked for. */
static inline int asked_for(const weft_net_op *op)
{
    int asked = op->n_results;

    for (int i = 0; i < op->n_results; i++)
        asked |= is_asked_for(op, i) ? 1 << (8 + i) : 0;
    return asked;
}

/* Does an assumption name the operator? It is then like no other. */
static bool is_assumed(weft_net_builder *n, const char *name, const weft_node *node,
                       const char *const *result, int n_results)
{
    weft_node named = *node;

    named.name = name;
    return n->n_assumptions > 0 &&
           weft_assumes(n->assumption, n->n_assumptions, usual_name(n, &named), result, n_results);
}

/* False if calls like this one are not kept. */
static bool make_key(const weft_net_builder *n, const weft_net_op *op, weft_memo_entry_key *key)
{
    if (op->form <= 0 || op->node.has_body || n->new_batch > 0 ||
        op->n_args > WEFT_MEMO_ENTRY_ARGS || op->n_results > WEFT_MEMO_ENTRY_ARGS)
        return false;
    key->n = 2 + op->n_args;
    key->part[0] = op->form;
    key->part[1] = asked_for(op);
    for (int i = 0; i < op->n_args; i++) {
        key->part[2 + i] = op->arg[i] < 0 ? -1 : n->value.at[op->arg[i]].kind;
        for (int k = 0; k < i; k++)
            if (op->arg[k] == op->arg[i] && op->arg[i] >= 0)
                key->part[2 + i] = -2 - k;
    }
    return true;
}

/* Is this the key of the operator? As make_key, but nothing is written. */
static bool has_key(const weft_net_builder *n, const weft_net_op *op, const weft_memo_entry *d)
{
    const int *part = d->key + 2;

    if (d->n_key != 2 + op->n_args || d->key[0] != op->form || op->node.has_body ||
        op->n_results > WEFT_MEMO_ENTRY_ARGS || d->key[1] != asked_for(op))
        return false;
    for (int i = 0; i < op->n_args; i++) {
        int value = op->arg[i];

        if (part[i] < 0 ? value != (part[i] == -1 ? -1 : op->arg[-2 - part[i]])
                        : value < 0 || n->value.at[value].kind != part[i])
            return false;
        for (int k = 0; k < i && part[i] >= 0; k++)
            if (op->arg[k] == value)
                return false;
    }
    return true;
}

/* Does the declaration neither add to what is known of a result nor contradict it? */
static bool agrees(const weft_net_builder *n, const weft_value *known, const weft_value *declared)
{
    if (declared->type == WEFT_TYPE_UNKNOWN && declared->shape.rank < 0)
        return true;
    return is_complete(known) && (n->dtype || !declared->type || declared->type == known->type) &&
           (!weft_shape_is_static(&declared->shape) ||
            weft_shape_equal(&declared->shape, &known->shape));
}

/* What the twin did, if this is the same again; else -1. */
static int twin_memo_entry(const weft_net_builder *n, const weft_net_op *op)
{
    int d = op->twin > 0 && op->twin <= n->memo_entry.n ? n->memo_entry.at[op->twin - 1] : -1;

    return d >= 0 && has_key(n, op, &n->memo->memo_entry.at[d]) ? d : -1;
}

/* A memo entry of which the declarations say nothing else, or -1. */
static int agreed(const weft_net_builder *n, const weft_net_op *op, int d)
{
    for (int i = 0; d >= 0 && op->declared && i < op->n_results; i++)
        if (!agrees(n, weft_memo_value(n->memo, n->memo->memo_entry.at[d].result[i]),
                    &op->declared[i]))
            return -1;
    return d;
}

/* One live result keeps the node, so all its results are live. */
static int live_kind(weft_net_builder *n, int kind)
{
    const weft_kind *k = weft_memo_get(n->memo, kind);
    weft_value live = k->value;

    if (!live.is_const && !live.is_parameter)
        return kind;
    live.is_const = live.is_parameter = false;
    return weft_memo_kind(n->memo, &live, k->stored_bytes);
}

/* Is the operator a node of the graph, or are its results weights? */
static void decide(weft_net_builder *n, const weft_net_op *op, weft_memo_entry *d)
{
    d->is_folded = d->op && !op->node.has_body;
    for (int i = 0; i < op->n_results; i++)
        if (is_asked_for(op, i) && !weft_memo_value(n->memo, d->result[i])->is_const)
            d->is_folded = false;
    for (int i = 0; i < op->n_results && !d->is_folded; i++)
        d->result[i] = live_kind(n, d->result[i]);
}

/* What the operator does, by the rules. *number is -1 if it is not kept. */
static weft_status do_memo_entry(weft_net_builder *n, const weft_net_op *op,
                                 const weft_memo_entry_key *key, weft_memo_entry *out, int *number)
{
    bool is_own;

    weft_arena_rewind(n->scratch, 0);
    *out =
        (weft_memo_entry){.op = weft_op_find(op->node.domain, op->node.op),
                          .result = WEFT_NEW_RAW(key ? n->arena : n->scratch, int, op->n_results),
                          .node = -1};
    WEFT_TRY(apply(n, op, out->op, out->result, &is_own));
    decide(n, op, out);
    /* One that is known already was not used because of what is declared here. */
    if (key && out->op && is_own && weft_memo_find(n->memo, key) < 0)
        *number = weft_memo_add(n->memo, key, *out);
    return WEFT_OK;
}

/* The same from an earlier call, if there was one. */
static weft_status find_memo_entry(weft_net_builder *n, const weft_net_op *op, weft_memo_entry *out,
                                   int *number)
{
    weft_memo_entry_key key;
    bool is_kept = !is_assumed(n, name_of(op), &op->node, op->result_name, op->n_results) &&
                   make_key(n, op, &key);

    *number = is_kept ? agreed(n, op, weft_memo_find(n->memo, &key)) : -1;
    if (*number < 0)
        return do_memo_entry(n, op, is_kept ? &key : NULL, out, number);
    *out = n->memo->memo_entry.at[*number];
    return WEFT_OK;
}

/* --- adding ---------------------------------------------------------------------------------- */

/* Adds the operator, of which is known what it does. */
static weft_status add_operator(weft_net_builder *n, const weft_net_op *op,
                                const weft_memo_entry *done, int number, int *results)
{
    int node;

    for (int i = 0; i < op->n_results; i++)
        results[i] =
            is_asked_for(op, i) ? add_value(n, op->result_name[i], done->result[i], false) : -1;
    n->n_nodes++;
    WEFT_PUSH(n->arena, n->memo_entry, number);
    if (done->is_folded)
        return WEFT_OK;
    WEFT_TRY(add_to_graph(n, op, results, &node));
    if (done->node >= 0)
        weft_builder_like(n->builder, node, done->node);
    else if (number >= 0)
        n->memo->memo_entry.at[number].node = node;
    return WEFT_OK;
}

/* Adds the operator, which has one result and does what an earlier one did: sizes are right. */
static weft_status add_again(weft_net_builder *n, const weft_net_op *op, int number, int *result)
{
    const weft_memo_entry *done = &n->memo->memo_entry.at[number];
    int args[WEFT_MEMO_ENTRY_ARGS];
    weft_again node;

    if (done->node < 0 && !done->is_folded)
        return add_operator(n, op, done, number, result);
    *result = add_value(n, op->result_name[0], done->result[0], false);
    n->n_nodes++;
    WEFT_PUSH(n->arena, n->memo_entry, number);
    if (done->is_folded)
        return WEFT_OK;
    WEFT_TRY(find_tensors(n, op->arg, op->n_args, args));
    node.earlier = done->node;
    node.name = name_of(op);
    node.n = op->name ? op->n_name : strlen(node.name);
    node.args = args;
    node.result = &weft_memo_get(n->memo, done->result[0])->tensor;
    node.result_name = op->result_name[0];
    for (int try = 0; !weft_builder_again(n->builder, &node, &n->value.at[*result].tensor); try++) {
        node.name = other_name(n, op, try);
        node.n = strlen(node.name);
    }
    n->n_kept++;
    return WEFT_OK;
}

weft_status weft_net_node(weft_net_builder *n, const weft_net_op *op, int *results)
{
    int number = twin_memo_entry(n, op);
    weft_memo_entry done;

    if (number >= 0 && is_assumed(n, name_of(op), &op->node, op->result_name, op->n_results))
        number = -1;
    if (number >= 0 && op->declared)
        number = agreed(n, op, number);
    if (number >= 0 && op->n_results == 1 && is_asked_for(op, 0))
        return add_again(n, op, number, results);
    if (number >= 0)
        return add_operator(n, op, &n->memo->memo_entry.at[number], number, results);
    WEFT_TRY(find_memo_entry(n, op, &done, &number));
    return add_operator(n, op, &done, number, results);
}

/* Was the memo entry done with operands of these kinds, and were the same of them equal? */
static inline bool fits(const weft_net_builder *n, const weft_memo_entry *d, const int *arg,
                        int n_args)
{
    const int *part = d->key + 2;

    if (d->n_key != 2 + n_args || d->key[1] != (1 | 1 << 8)) /* one result, asked for */
        return false;
    for (int i = 0; i < n_args; i++) {
        if (part[i] < 0 ? part[i] == -1 || arg[i] != arg[-2 - part[i]]
                        : n->value.at[arg[i]].kind != part[i])
            return false;
        for (int k = 0; k < i && part[i] >= 0; k++)
            if (arg[k] == arg[i])
                return false;
    }
    return true;
}

/* Adds the node of an operator that is not folded; *tensor is -1 if its name is taken. */
static weft_status repeat_node(weft_net_builder *n, const weft_net_again *a,
                               const weft_memo_entry *done, int *tensor)
{
    int args[WEFT_MEMO_ENTRY_ARGS];
    weft_again node = {.earlier = done->node,
                       .name = a->name,
                       .n = a->n_name,
                       .args = args,
                       .result = &weft_memo_get(n->memo, done->result[0])->tensor,
                       .result_name = a->result_name};

    WEFT_TRY(find_tensors(n, a->arg, a->n_args, args));
    if (!weft_builder_again(n->builder, &node, tensor))
        *tensor = -1;
    return WEFT_OK;
}

weft_status weft_net_repeat(weft_net_builder *n, const weft_net_again *a, int *result)
{
    int number = n->memo_entry.at[a->twin], tensor = -1;
    const weft_memo_entry *done = number < 0 ? NULL : &n->memo->memo_entry.at[number];

    *result = -1;
    if (done == NULL || !fits(n, done, a->arg, a->n_args) || n->n_assumptions > 0)
        return WEFT_OK;
    if (!done->is_folded) {
        if (done->node >= 0)
            WEFT_TRY(repeat_node(n, a, done, &tensor));
        if (tensor < 0)
            return WEFT_OK;
        n->n_kept++;
    }
    *result = n->value.n;
    WEFT_PUSH(n->arena, n->value, ((entry){a->result_name, done->result[0], tensor, false}));
    WEFT_PUSH(n->arena, n->memo_entry, number);
    n->n_nodes++;
    return WEFT_OK;
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
        weft_work w = {0, 0, 0, 0};

        if (g->like[u] == u && !is_small(g, u))
            w = weft_node_work(g, u);
        if (w.flops == INT64_MAX || w.read_bytes == INT64_MAX || w.write_bytes == INT64_MAX)
            return weft_fail(WEFT_E_INPUT, "node '%s' (%s): its work is more than 2^62 operations",
                             g->node[u].name, g->node[u].op);
    }
    return WEFT_OK;
}

/* The sizes that were assumed and needed. */
static void keep_assumptions(const weft_net_builder *n, weft_graph *g)
{
    weft_assumed_size *to = WEFT_NEW(g->arena, weft_assumed_size, n->n_assumptions + 1);

    g->assumed = to;
    for (int i = 0; i < n->n_assumptions; i++) {
        const weft_assumption *a = &n->assumption[i];

        if (a->n_given > 0)
            to[g->n_assumed++] =
                (weft_assumed_size){weft_arena_word(g->arena, a->name), a->size, a->n_given};
    }
}

weft_status weft_net_finish(weft_net_builder *n, weft_graph **out)
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
    keep_assumptions(n, *out);
    status = check_work(*out);
    if (status != WEFT_OK) {
        weft_graph_free(*out);
        *out = NULL;
    }
    return status;
}
