/* SPDX-License-Identifier: MIT */
/* onnx_header.c: what a node or an initializer says of itself: type, shape and small constants,
 * operator, version and attributes.
 *
 * Attributes inside a function may stand for those of the call; these are followed outwards, call
 * by call, to the first one that has a value. */
#include "import.h"

enum { MOST_FLOATS = 256 }; /* floating-point constants read from the file */

/* --- constants ------------------------------------------------------------------------------- */

static weft_status tensor_value(weft_import *m, const weft_onnx_tensor *t, weft_value *v)
{
    *v = (weft_value){.is_const = true};
    if (t->data_type <= 0 || t->data_type >= WEFT_N_DTYPES)
        return weft_fail(WEFT_E_INPUT, "tensor '%.*s' has the unknown element type %d",
                         (int)t->name.n, t->name.at, t->data_type);
    if (t->n_dims > WEFT_MAX_RANK)
        return weft_fail(WEFT_E_INPUT, "tensor '%.*s' has %d dimensions, expected at most %d",
                         (int)t->name.n, t->name.at, t->n_dims, WEFT_MAX_RANK);
    v->type = (weft_dtype)t->data_type;
    v->shape.rank = t->n_dims;
    for (int d = 0; d < t->n_dims; d++)
        v->shape.dim[d] = t->dim[d];
    return weft_onnx_literal(m->doc, t,
                             weft_dtype_is_float(v->type) ? MOST_FLOATS : WEFT_MAX_LITERAL,
                             m->lasting, &v->data);
}

/* An initializer as a value of its own. */
static weft_status import_weight(weft_import *m, weft_scope *s, const weft_onnx_tensor *t, int *out)
{
    weft_value v;

    WEFT_TRY(tensor_value(m, t, &v));
    /* Numbers such as an epsilon are stored like weights; one element is none. */
    v.is_parameter = weft_dtype_is_float(v.type) && t->n_elements > 1;
    return weft_net_constant(s->net, weft_import_name(m, s, t->name), &v, out);
}

weft_status weft_import_weights(weft_import *m, weft_scope *s)
{
    const weft_onnx_graph *g = s->graph;
    int value, first = weft_net_count(s->net);

    for (int i = 0; i < g->n_initializers; i++) {
        const weft_onnx_tensor *t = &g->initializer[i];

        if (t->name.n == 0)
            return weft_fail(WEFT_E_INPUT, "initializer %d has no name", i);
        if (t->like >= 0)
            value = weft_net_copy(s->net, weft_import_name(m, s, t->name), first + t->like);
        else
            WEFT_TRY(import_weight(m, s, t, &value));
        if (!weft_map_put(s->values, t->name.at, t->name.n, value))
            return weft_fail(WEFT_E_INPUT, "two tensors have the name '%.*s'", (int)t->name.n,
                             t->name.at);
    }
    for (int i = 0; i < g->n_sparse; i++) {
        weft_value unknown = {.shape = {.rank = -1}};

        WEFT_TRY(
            weft_net_constant(s->net, weft_import_name(m, s, g->sparse_name[i]), &unknown, &value));
        weft_map_set(s->values, g->sparse_name[i].at, g->sparse_name[i].n, value);
        weft_net_warn(s->net, "sparse initializer '%.*s' is not read: its shape is unknown",
                      (int)g->sparse_name[i].n, g->sparse_name[i].at);
    }
    return WEFT_OK;
}

/* --- attributes ------------------------------------------------------------------------------ */

static weft_status plain_attr(weft_import *m, const weft_onnx_attr *from, weft_attr *to)
{
    *to = (weft_attr){.name = weft_import_text(m, from->name), .kind = WEFT_ATTR_OTHER};
    to->n = from->n;
    switch (from->kind) {
    case WEFT_ONNX_INT:
        to->kind = WEFT_ATTR_INT;
        to->i = from->i;
        break;
    case WEFT_ONNX_FLOAT:
        to->kind = WEFT_ATTR_REAL;
        to->f = from->f;
        break;
    case WEFT_ONNX_STRING:
        to->kind = WEFT_ATTR_TEXT;
        to->s = weft_import_text(m, from->s);
        break;
    case WEFT_ONNX_INTS:
        to->kind = WEFT_ATTR_INTS;
        to->ints = weft_arena_copy(m->lasting, from->ints, (size_t)from->n * sizeof(int64_t));
        break;
    case WEFT_ONNX_FLOATS:
        to->kind = WEFT_ATTR_REALS;
        to->reals = weft_arena_copy(m->lasting, from->floats, (size_t)from->n * sizeof(double));
        break;
    case WEFT_ONNX_STRINGS: {
        const char **texts = WEFT_NEW(m->lasting, const char *, from->n + 1);

        for (int i = 0; i < from->n; i++)
            texts[i] = weft_import_text(m, from->strings[i]);
        to->kind = WEFT_ATTR_TEXTS;
        to->texts = texts;
        break;
    }
    case WEFT_ONNX_TENSOR: {
        weft_value v;

        if (from->tensor == NULL)
            return weft_fail(WEFT_E_INPUT, "attribute '%s' has no tensor", to->name);
        WEFT_TRY(tensor_value(m, from->tensor, &v));
        to->kind = WEFT_ATTR_LITERAL;
        to->type = v.type;
        to->shape = v.shape;
        to->literal = v.data;
        break;
    }
    default:
        to->n = 0;
    }
    return WEFT_OK;
}

/* The attribute of a call, or the default of the function if `is_default`. */
static const weft_onnx_attr *bound_attr(const weft_scope *s, weft_slice name, bool is_default)
{
    for (int i = is_default ? s->n_given : 0; i < (is_default ? s->n_bound : s->n_given); i++)
        if (weft_slice_same(s->bound[i]->name, name))
            return s->bound[i];
    return NULL;
}

/* The attribute that stands for another inside a function: given by the call, or where that one
 * stands for an attribute left out further out, the function's default. NULL if there is none. */
static const weft_onnx_attr *follow(const weft_scope *s, const weft_onnx_attr *a)
{
    const weft_onnx_attr *fallback = NULL;

    while (a && a->ref.n > 0 && s) {
        const weft_onnx_attr *own = bound_attr(s, a->ref, true);

        fallback = own && own->ref.n == 0 ? own : fallback;
        a = bound_attr(s, a->ref, false);
        s = s->bound_in;
    }
    return a && a->ref.n == 0 ? a : fallback;
}

weft_status weft_import_opset(const weft_scope *s, weft_slice domain, int *out)
{
    *out = 1;
    for (int i = 0; i < s->n_opsets; i++)
        if (weft_slice_same(weft_import_domain(s->opset[i].domain), domain)) {
            int64_t version = s->opset[i].version;

            *out = version < 1 ? 1 : version > 1000 ? 1000 : (int)version;
            return WEFT_OK;
        }
    if (domain.n == 0)
        return weft_fail(WEFT_E_INPUT,
                         "no version of the default operator set is named (opset_import)");
    return WEFT_OK;
}

/* All of a node but its name, which messages may need. The attributes are in `a`. */
weft_status weft_import_form_header(weft_import *m, weft_scope *s, const weft_onnx_node *n,
                                    weft_arena *a, weft_node *out)
{
    weft_attr *attr = WEFT_NEW(a, weft_attr, n->form->n_attrs);
    weft_slice domain = weft_import_domain(n->form->domain);

    *out = (weft_node){.op = weft_import_text(m, n->form->op_type),
                       .domain = weft_import_text(m, domain),
                       .attr = attr,
                       .forward = -1,
                       .wrt = -1};
    if (n->form->op_type.n == 0)
        return weft_fail(WEFT_E_INPUT, "node '%s' has no operator type",
                         weft_import_name(m, s, n->name));
    WEFT_TRY(weft_import_opset(s, domain, &out->opset));
    for (int i = 0; i < n->form->n_attrs; i++) {
        const weft_onnx_attr *from = follow(s, &n->form->attr[i]);

        if (from == NULL)
            continue;
        WEFT_TRY(plain_attr(m, from, &attr[out->n_attrs]));
        attr[out->n_attrs++].name = weft_import_text(m, n->form->attr[i].name);
    }
    return WEFT_OK;
}

weft_status weft_import_header(weft_import *m, weft_scope *s, const weft_onnx_node *n,
                               weft_node *out)
{
    WEFT_TRY(weft_import_form_header(m, s, n, m->scratch, out));
    out->name = weft_import_name(m, s, n->name);
    return WEFT_OK;
}
