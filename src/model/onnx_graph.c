/* SPDX-License-Identifier: MIT */
/* onnx_graph.c: a network as an ONNX document, so that viewers of ONNX files can show it.
 *
 * Nodes, operands and results have the names of the graph; types and shapes of all tensors are
 * declared. Weights are initializers without elements, but small constants whose elements are known
 * have them: other nodes take their shapes from there. So the document can be looked at and read by
 * weft, not run. Reals of attributes are rounded to 32 bits, as the format has them.
 *
 * For networks without training: sub-graphs and operators of weft's own cannot be written. */
#include "onnx_fields.h"

#include <string.h>

enum { IR_VERSION = 8 };

typedef struct making {
    const weft_graph *g;
    weft_onnx_graph out;
    WEFT_VEC(weft_onnx_opset) opset;
    weft_arena *a;
} making;

/* --- tensors --------------------------------------------------------------------------------- */

/* An element as raw_data has it: little-endian. */
static void put_element(const weft_literal *l, int i, weft_dtype type, uint8_t *to)
{
    uint64_t bits = 0;
    int n_bytes = weft_dtype_bits(type) / 8;

    if (type == WEFT_F32) {
        float f = (float)l->reals[i];
        uint32_t low;

        memcpy(&low, &f, sizeof low);
        bits = low;
    } else if (type == WEFT_F64) {
        memcpy(&bits, &l->reals[i], sizeof bits);
    } else {
        bits = (uint64_t)l->ints[i];
    }
    for (int k = 0; k < n_bytes; k++)
        to[k] = (uint8_t)(bits >> 8 * k);
}

/* True if all elements are known and of a type that is written here. */
static bool is_writable(weft_dtype type, const weft_literal *l)
{
    bool is_real = type == WEFT_F32 || type == WEFT_F64;

    if (l == NULL || (is_real ? l->reals == NULL : l->ints == NULL) ||
        (!is_real && (!weft_dtype_is_integer(type) || weft_dtype_bits(type) < 8)))
        return false;
    for (int i = 0; i < l->n; i++)
        if (is_real ? l->reals[i] != l->reals[i] : l->ints[i] == WEFT_UNKNOWN_INT)
            return false;
    return true;
}

weft_onnx_tensor weft_onnx_tensor_of(const char *name, weft_dtype type, const weft_shape *shape,
                                     const weft_literal *l, weft_arena *a)
{
    weft_onnx_tensor t = {
        .name = weft_slice_of(name), .data_type = (int)type, .n_dims = shape->rank};
    size_t n_bytes = (size_t)weft_dtype_bits(type) / 8;
    uint8_t *raw;

    t.dim = shape->dim;
    if (!is_writable(type, l))
        return t;
    raw = WEFT_NEW(a, uint8_t, (size_t)l->n * n_bytes + 1);
    for (int i = 0; i < l->n; i++)
        put_element(l, i, type, raw + (size_t)i * n_bytes);
    t.raw = (weft_slice){(const char *)raw, (size_t)l->n * n_bytes};
    return t;
}

weft_onnx_value_info weft_onnx_value_of(const char *name, weft_dtype type, const weft_shape *shape,
                                        weft_arena *a)
{
    weft_onnx_value_info v = {
        .name = weft_slice_of(name), .is_tensor = true, .elem_type = (int)type};
    weft_onnx_dim *dim;

    if (shape->rank < 0)
        return v;
    v.has_shape = true;
    v.n_dims = shape->rank;
    v.dim = dim = WEFT_NEW(a, weft_onnx_dim, v.n_dims);
    for (int d = 0; d < v.n_dims; d++)
        dim[d].value = shape->dim[d];
    return v;
}

static weft_onnx_value_info *values_of(const making *m, const int *tensor, int n)
{
    weft_onnx_value_info *v = WEFT_NEW(m->a, weft_onnx_value_info, n);

    for (int i = 0; i < n; i++) {
        const weft_tensor *t = &m->g->tensor[tensor[i]];

        v[i] = weft_onnx_value_of(t->name, t->type, t->shape, m->a);
    }
    return v;
}

static void add_tensors(making *m)
{
    const weft_graph *g = m->g;
    weft_onnx_tensor *weight = WEFT_NEW(m->a, weft_onnx_tensor, g->n_tensors);
    int *result = WEFT_NEW(m->a, int, g->n_tensors);

    for (int t = 0; t < g->n_tensors; t++) {
        const weft_tensor *x = &g->tensor[t];

        if (x->kind == WEFT_WEIGHT)
            weight[m->out.n_initializers++] =
                weft_onnx_tensor_of(x->name, x->type, x->shape, x->value, m->a);
        if (x->kind == WEFT_ACTIVATION)
            result[m->out.n_values++] = t;
    }
    m->out.initializer = weight;
    m->out.value = values_of(m, result, m->out.n_values);
    m->out.input = values_of(m, g->input, g->n_inputs);
    m->out.n_inputs = g->n_inputs;
    m->out.output = values_of(m, g->output, g->n_outputs);
    m->out.n_outputs = g->n_outputs;
}

/* --- nodes ----------------------------------------------------------------------------------- */

static const weft_slice *slices(const char *const *text, int n, weft_arena *a)
{
    weft_slice *s = WEFT_NEW(a, weft_slice, n);

    for (int i = 0; i < n; i++)
        s[i] = weft_slice_of(text[i]);
    return s;
}

static weft_onnx_attr attr_of(const weft_attr *x, weft_arena *a)
{
    static const int kind[] = {
        [WEFT_ATTR_INT] = WEFT_ONNX_INT,        [WEFT_ATTR_REAL] = WEFT_ONNX_FLOAT,
        [WEFT_ATTR_TEXT] = WEFT_ONNX_STRING,    [WEFT_ATTR_INTS] = WEFT_ONNX_INTS,
        [WEFT_ATTR_REALS] = WEFT_ONNX_FLOATS,   [WEFT_ATTR_TEXTS] = WEFT_ONNX_STRINGS,
        [WEFT_ATTR_LITERAL] = WEFT_ONNX_TENSOR, [WEFT_ATTR_OTHER] = WEFT_ONNX_UNDEFINED,
    };
    weft_onnx_attr out = {
        .name = weft_slice_of(x->name), .kind = kind[x->kind], .f = x->f, .i = x->i};

    out.n = x->n;
    out.ints = x->ints;
    out.floats = x->reals;
    if (x->kind == WEFT_ATTR_TEXT)
        out.s = weft_slice_of(x->s);
    if (x->kind == WEFT_ATTR_TEXTS)
        out.strings = slices(x->texts, x->n, a);
    if (x->kind == WEFT_ATTR_LITERAL) {
        weft_onnx_tensor *t = WEFT_NEW(a, weft_onnx_tensor, 1);

        *t = weft_onnx_tensor_of("", x->type, &x->shape, x->literal, a);
        out.tensor = t;
    }
    return out;
}

/* Names of tensors; "" stands for one that is left out. */
static const weft_slice *names_of(const making *m, const int *tensor, int n)
{
    weft_slice *s = WEFT_NEW(m->a, weft_slice, n);

    for (int i = 0; i < n; i++)
        s[i] = weft_slice_of(tensor[i] >= 0 ? m->g->tensor[tensor[i]].name : "");
    return s;
}

static void add_opset(making *m, const weft_node *n)
{
    for (int i = 0; i < m->opset.n; i++) {
        weft_onnx_opset *o = &m->opset.at[i];

        if (o->domain.n != strlen(n->domain) || memcmp(o->domain.at, n->domain, o->domain.n) != 0)
            continue;
        o->version = n->opset > o->version ? n->opset : o->version;
        return;
    }
    WEFT_PUSH(m->a, m->opset, ((weft_onnx_opset){weft_slice_of(n->domain), n->opset}));
}

static weft_onnx_node node_of(making *m, int u)
{
    const weft_graph *g = m->g;
    const weft_node *n = &g->node[u];
    weft_onnx_form *form = WEFT_NEW(m->a, weft_onnx_form, 1);
    weft_onnx_attr *attr = WEFT_NEW(m->a, weft_onnx_attr, n->n_attrs);
    weft_onnx_node out = {.name = weft_slice_of(n->name), .form = form, .twin = -1};

    for (int i = 0; i < n->n_attrs; i++)
        attr[i] = attr_of(&n->attr[i], m->a);
    form->op_type = weft_slice_of(n->op);
    form->domain = weft_slice_of(n->domain);
    form->n_attrs = n->n_attrs;
    form->attr = attr;
    out.n_inputs = g->arg_at[u + 1] - g->arg_at[u];
    out.input = names_of(m, g->arg + g->arg_at[u], out.n_inputs);
    out.n_outputs = g->res_at[u + 1] - g->res_at[u];
    out.output = names_of(m, g->res + g->res_at[u], out.n_outputs);
    add_opset(m, n);
    return out;
}

weft_status weft_onnx_of_graph(const weft_graph *g, weft_arena *a, const uint8_t **data,
                               size_t *size)
{
    making m = {.g = g, .a = a};
    weft_onnx_node *node = WEFT_NEW(a, weft_onnx_node, g->n_nodes);
    weft_onnx doc = {.file = g->name, .ir_version = IR_VERSION, .producer = weft_slice_of("weft")};

    for (int u = 0; u < g->n_nodes; u++)
        node[u] = node_of(&m, u);
    m.out.node = node;
    m.out.n_nodes = g->n_nodes;
    m.out.name = weft_slice_of(g->name);
    add_tensors(&m);
    doc.graph = &m.out;
    doc.opset = m.opset.at;
    doc.n_opsets = m.opset.n;
    return weft_onnx_bytes(&doc, a, data, size);
}
