/* SPDX-License-Identifier: MIT */
/* onnx_read.c: an ONNX file as plain arrays.
 *
 * A message is read in two passes: the first counts the fields, the second fills arrays of exactly
 * that size, so memory is bounded by a small multiple of the bytes that describe the network. Text
 * and data stay slices of the file. raw_data and packed floats are stepped over; integers in typed
 * fields are looked at once, to count them.
 *
 * As in protobuf, fields come in any order, unknown ones are skipped, repeated numbers may be
 * packed, and of a field that should be there once the last one counts (of a message too: parts are
 * not merged). Messages nest through sub-graphs only; their depth is limited.
 *
 * What a node is, apart from its name and operands, is read once: a node whose remaining bytes are
 * equal to those of an earlier one shares its form. Equal bytes mean the same, so nothing is
 * checked less.
 *
 * A file that cannot be read is looked at once more, to say what it is instead (onnx_foreign.c). */
#include "onnx_fields.h"

#include <string.h>

enum {
    MOST_ATTRS = 1000,
    MOST_NAME_BYTES = 65535,
    MOST_FORM_BYTES = 256, /* larger ones are not compared with others: they are data */
    MOST_TEXTS = 32,       /* names in a node whose form is looked for */
};

typedef struct reader {
    weft_arena *arena;
    int depth;       /* of sub-graphs */
    int n_forms;     /* met so far */
    weft_map *forms; /* bytes -> index into form */
    WEFT_VEC(const weft_onnx_form *) form;
} reader;

/* --- plain fields ---------------------------------------------------------------------------- */

static weft_slice slice_of(weft_wire w)
{
    return (weft_slice){(const char *)w.at, (size_t)(w.end - w.at)};
}

weft_status weft_onnx_field_bytes(const weft_wire_field *f, weft_slice *out)
{
    weft_wire body;

    WEFT_TRY(weft_wire_body(f, &body));
    *out = slice_of(body);
    return WEFT_OK;
}

/* Names end up in C strings: a NUL would make two of them equal. They are printed with an int as
 * their length and copied for each call of a function: very long ones are refused. */
weft_status weft_onnx_field_text(const weft_wire_field *f, weft_slice *out)
{
    WEFT_TRY(weft_onnx_field_bytes(f, out));
    if (out->n > MOST_NAME_BYTES)
        return weft_fail(WEFT_E_INPUT,
                         "byte %zu: the name in field %d has %zu bytes, expected at most %d",
                         (size_t)(f->body.at - f->body.start), f->number, out->n, MOST_NAME_BYTES);
    if (out->n > 0 && memchr(out->at, '\0', out->n))
        return weft_fail(WEFT_E_INPUT, "byte %zu: the name in field %d contains a NUL byte",
                         (size_t)(f->body.at - f->body.start), f->number);
    return WEFT_OK;
}

/* Keeps the low 32 bits, as protobuf does. */
weft_status weft_onnx_field_int32(const weft_wire_field *f, int *out)
{
    int64_t value;

    WEFT_TRY(weft_wire_int(f, &value));
    *out = (int32_t)(uint32_t)value;
    return WEFT_OK;
}

static weft_status read_strings(reader *r, weft_wire w, int number, int n, const weft_slice **out)
{
    weft_slice *to = WEFT_NEW(r->arena, weft_slice, n);
    weft_wire_field f;
    bool more;

    *out = to;
    while (true) {
        WEFT_TRY(weft_wire_next(&w, &f, &more));
        if (!more)
            return WEFT_OK;
        if (f.number == number)
            WEFT_TRY(weft_onnx_field_bytes(&f, to++));
    }
}

weft_status weft_onnx_field_entry(const weft_wire_field *from, weft_onnx_entry *out)
{
    weft_wire_field f;
    weft_wire w;
    bool more;

    WEFT_TRY(weft_wire_body(from, &w));
    while (true) {
        WEFT_TRY(weft_wire_next(&w, &f, &more));
        if (!more)
            return WEFT_OK;
        if (f.number == ONNX_ENTRY_KEY)
            WEFT_TRY(weft_onnx_field_text(&f, &out->key));
        if (f.number == ONNX_ENTRY_VALUE)
            WEFT_TRY(weft_onnx_field_bytes(&f, &out->value));
    }
}

/* --- types of values ------------------------------------------------------------------------- */

static weft_status read_dim(weft_wire w, weft_onnx_dim *out)
{
    weft_wire_field f;
    bool more;

    out->value = -1;
    while (true) {
        WEFT_TRY(weft_wire_next(&w, &f, &more));
        if (!more)
            return WEFT_OK;
        if (f.number == ONNX_DIM_VALUE) { /* one or the other: the last one counts */
            WEFT_TRY(weft_wire_int(&f, &out->value));
            out->value = out->value < 0 ? -1 : out->value; /* so some exporters say "unknown" */
            out->param = (weft_slice){NULL, 0};
        } else if (f.number == ONNX_DIM_PARAM) {
            WEFT_TRY(weft_onnx_field_text(&f, &out->param));
            out->value = -1;
        }
    }
}

static weft_status read_shape(reader *r, weft_wire w, weft_onnx_value_info *out)
{
    weft_wire_field f;
    weft_wire body;
    weft_onnx_dim *dim;
    int n[WEFT_WIRE_COUNTED];
    bool more;

    WEFT_TRY(weft_wire_count(w, n));
    out->dim = dim = WEFT_NEW(r->arena, weft_onnx_dim, n[ONNX_SHAPE_DIM]);
    while (true) {
        WEFT_TRY(weft_wire_next(&w, &f, &more));
        if (!more)
            return WEFT_OK;
        if (f.number != ONNX_SHAPE_DIM)
            continue;
        WEFT_TRY(weft_wire_body(&f, &body));
        WEFT_TRY(read_dim(body, &dim[out->n_dims++]));
    }
}

static weft_status read_tensor_type(reader *r, weft_wire w, weft_onnx_value_info *out)
{
    weft_wire shape = {NULL, NULL, NULL};
    weft_wire_field f;
    bool more = true;

    while (more) {
        WEFT_TRY(weft_wire_next(&w, &f, &more));
        if (more && f.number == ONNX_TENSOR_TYPE_ELEM)
            WEFT_TRY(weft_onnx_field_int32(&f, &out->elem_type));
        if (more && f.number == ONNX_TENSOR_TYPE_SHAPE)
            WEFT_TRY(weft_wire_body(&f, &shape));
    }
    out->has_shape = shape.at != NULL;
    return out->has_shape ? read_shape(r, shape, out) : WEFT_OK;
}

static weft_status read_type(reader *r, weft_wire w, weft_onnx_value_info *out)
{
    weft_wire tensor = {NULL, NULL, NULL};
    weft_wire_field f;
    bool more = true;

    out->raw_type = slice_of(w);
    while (more) {
        WEFT_TRY(weft_wire_next(&w, &f, &more));
        if (!more)
            break;
        if (f.number == ONNX_TYPE_TENSOR)
            WEFT_TRY(weft_wire_body(&f, &tensor));
        else if (f.number == ONNX_TYPE_SEQUENCE || f.number == ONNX_TYPE_MAP ||
                 f.number == ONNX_TYPE_OPAQUE || f.number == ONNX_TYPE_SPARSE ||
                 f.number == ONNX_TYPE_OPTIONAL)
            tensor.at = NULL; /* one of these or a tensor: the last one counts */
    }
    out->is_tensor = tensor.at != NULL;
    return out->is_tensor ? read_tensor_type(r, tensor, out) : WEFT_OK;
}

static weft_status read_value_info(reader *r, weft_wire w, weft_onnx_value_info *out)
{
    weft_wire type = {NULL, NULL, NULL};
    weft_wire_field f;
    bool more = true;

    while (more) {
        WEFT_TRY(weft_wire_next(&w, &f, &more));
        if (more && f.number == ONNX_VALUE_NAME)
            WEFT_TRY(weft_onnx_field_text(&f, &out->name));
        if (more && f.number == ONNX_VALUE_DOC)
            WEFT_TRY(weft_onnx_field_bytes(&f, &out->doc));
        if (more && f.number == ONNX_VALUE_TYPE)
            WEFT_TRY(weft_wire_body(&f, &type));
    }
    return type.at ? read_type(r, type, out) : WEFT_OK;
}

/* --- attributes, nodes, graphs --------------------------------------------------------------- */

static weft_status read_graph(reader *r, weft_wire w, weft_onnx_graph *out);

/* Files older than IR version 3 do not say what an attribute holds. */
static int deduce_kind(const int n[WEFT_WIRE_COUNTED])
{
    static const struct {
        int field, kind;
    } kinds[] = {
        {ONNX_ATTR_F,              WEFT_ONNX_FLOAT         },
        {ONNX_ATTR_I,              WEFT_ONNX_INT           },
        {ONNX_ATTR_S,              WEFT_ONNX_STRING        },
        {ONNX_ATTR_T,              WEFT_ONNX_TENSOR        },
        {ONNX_ATTR_G,              WEFT_ONNX_GRAPH         },
        {ONNX_ATTR_FLOATS,         WEFT_ONNX_FLOATS        },
        {ONNX_ATTR_INTS,           WEFT_ONNX_INTS          },
        {ONNX_ATTR_STRINGS,        WEFT_ONNX_STRINGS       },
        {ONNX_ATTR_TENSORS,        WEFT_ONNX_TENSORS       },
        {ONNX_ATTR_GRAPHS,         WEFT_ONNX_GRAPHS        },
        {ONNX_ATTR_SPARSE_TENSOR,  WEFT_ONNX_SPARSE_TENSOR },
        {ONNX_ATTR_SPARSE_TENSORS, WEFT_ONNX_SPARSE_TENSORS},
        {ONNX_ATTR_TYPE_PROTO,     WEFT_ONNX_TYPE_PROTO    },
        {ONNX_ATTR_TYPE_PROTOS,    WEFT_ONNX_TYPE_PROTOS   },
    };

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (n[kinds[i].field] > 0)
            return kinds[i].kind;
    return WEFT_ONNX_UNDEFINED;
}

/* What an attribute holds as a message, kept until its kind is known. */
typedef struct attr_parts {
    weft_wire tensor, graph;
} attr_parts;

static weft_status attr_field(const weft_wire_field *f, weft_onnx_attr *out, attr_parts *parts)
{
    switch (f->number) {
    case ONNX_ATTR_NAME:
        return weft_onnx_field_text(f, &out->name);
    case ONNX_ATTR_REF:
        return weft_onnx_field_text(f, &out->ref);
    case ONNX_ATTR_KIND:
        return weft_onnx_field_int32(f, &out->kind);
    case ONNX_ATTR_F:
        return weft_wire_float(f, &out->f);
    case ONNX_ATTR_I:
        return weft_wire_int(f, &out->i);
    case ONNX_ATTR_S:
        return weft_onnx_field_bytes(f, &out->s);
    case ONNX_ATTR_T:
        return weft_wire_body(f, &parts->tensor);
    case ONNX_ATTR_G:
        return weft_wire_body(f, &parts->graph);
    default:
        return WEFT_OK;
    }
}

static weft_status read_attr_tensor(reader *r, weft_wire w, weft_onnx_attr *out)
{
    weft_onnx_tensor *tensor = WEFT_NEW(r->arena, weft_onnx_tensor, 1);

    out->tensor = tensor;
    return weft_onnx_tensor_read(w, r->arena, tensor);
}

static weft_status read_attr_graph(reader *r, weft_wire w, weft_onnx_attr *out)
{
    weft_onnx_graph *graph = WEFT_NEW(r->arena, weft_onnx_graph, 1);

    out->graph = graph;
    return read_graph(r, w, graph);
}

static weft_status no_value(const weft_onnx_attr *a, const char *what)
{
    char name[WEFT_ONNX_SHOWN_BYTES];

    if (a->ref.n > 0) /* the value is given where the function is called */
        return WEFT_OK;
    return weft_fail(WEFT_E_INPUT, "attribute '%s': is said to hold a %s, but there is none",
                     weft_onnx_show(a->name, name), what);
}

static weft_status read_attr(reader *r, weft_wire w, weft_onnx_attr *out)
{
    attr_parts parts = {
        {NULL, NULL, NULL},
        {NULL, NULL, NULL}
    };
    weft_wire whole = w;
    weft_wire_field f;
    int n[WEFT_WIRE_COUNTED];
    bool more = true;

    out->raw = slice_of(w);
    WEFT_TRY(weft_wire_count(w, n));
    while (more) {
        WEFT_TRY(weft_wire_next(&w, &f, &more));
        if (more)
            WEFT_TRY(attr_field(&f, out, &parts));
    }
    if (out->kind == WEFT_ONNX_UNDEFINED)
        out->kind = deduce_kind(n);
    switch (out->kind) {
    case WEFT_ONNX_FLOATS:
        return weft_wire_floats(whole, ONNX_ATTR_FLOATS, r->arena, &out->floats, &out->n);
    case WEFT_ONNX_INTS:
        return weft_wire_ints(whole, ONNX_ATTR_INTS, r->arena, &out->ints, &out->n);
    case WEFT_ONNX_STRINGS:
        out->n = n[ONNX_ATTR_STRINGS];
        return read_strings(r, whole, ONNX_ATTR_STRINGS, out->n, &out->strings);
    case WEFT_ONNX_TENSOR:
        return parts.tensor.at ? read_attr_tensor(r, parts.tensor, out) : no_value(out, "tensor");
    case WEFT_ONNX_GRAPH:
        return parts.graph.at ? read_attr_graph(r, parts.graph, out) : no_value(out, "graph");
    default:
        return WEFT_OK;
    }
}

/* A node while it is filled. */
typedef struct node_parts {
    weft_slice *input, *output;
    weft_onnx_form *form;
    weft_onnx_attr *attr;
} node_parts;

static weft_status form_field(reader *r, const weft_wire_field *f, const node_parts *parts)
{
    weft_onnx_form *form = parts->form;
    weft_wire body;

    switch (f->number) {
    case ONNX_NODE_OP_TYPE:
        return weft_onnx_field_text(f, &form->op_type);
    case ONNX_NODE_DOMAIN:
        return weft_onnx_field_text(f, &form->domain);
    case ONNX_NODE_OVERLOAD:
        return weft_onnx_field_text(f, &form->overload);
    case ONNX_NODE_DOC:
        return weft_onnx_field_bytes(f, &form->doc);
    case ONNX_NODE_ATTR:
        WEFT_TRY(weft_wire_body(f, &body));
        return read_attr(r, body, &parts->attr[form->n_attrs++]);
    default:
        return WEFT_OK;
    }
}

static weft_status node_field(reader *r, const weft_wire_field *f, weft_onnx_node *out,
                              const node_parts *parts)
{
    switch (f->number) {
    case ONNX_NODE_INPUT:
        return weft_onnx_field_text(f, &parts->input[out->n_inputs++]);
    case ONNX_NODE_OUTPUT:
        return weft_onnx_field_text(f, &parts->output[out->n_outputs++]);
    case ONNX_NODE_NAME:
        return weft_onnx_field_text(f, &out->name);
    default:
        return form_field(r, f, parts);
    }
}

static weft_status node_fields(reader *r, weft_wire w, weft_onnx_node *out, const node_parts *parts)
{
    weft_wire_field f;
    bool more;

    while (true) {
        WEFT_TRY(weft_wire_next(&w, &f, &more));
        if (!more)
            return WEFT_OK;
        WEFT_TRY(node_field(r, &f, out, parts));
    }
}

/* A form is kept if its bytes are few. Sub-graphs are read wherever they stand: how deep they may
 * nest depends on the place. */
static bool is_kept(const weft_onnx_form *form, weft_slice bytes)
{
    for (int i = 0; i < form->n_attrs; i++)
        if (form->attr[i].graph)
            return false;
    return bytes.n <= MOST_FORM_BYTES;
}

/* The inputs, outputs and name of a node, which come first in files as protobuf writes them. */
typedef struct node_head {
    int n[ONNX_NODE_NAME + 1]; /* by field number */
    weft_slice text[MOST_TEXTS];
    weft_slice rest; /* the bytes of its form */
} node_head;

static int count_nuls(const uint8_t *from, const uint8_t *to)
{
    int n = 0;

    while (from < to && (from = memchr(from, '\0', (size_t)(to - from)))) {
        from++;
        n++;
    }
    return n;
}

/* True if the node begins with its texts, in order, and all of them are as they should be. One look
 * for NUL bytes suffices: tags are none, and neither are lengths but those of empty texts. */
static bool read_head(weft_wire w, node_head *out)
{
    const uint8_t *from = w.at;
    int n = 0, last = ONNX_NODE_INPUT, n_empty = 0;

    memset(out->n, 0, sizeof out->n);
    while (w.end - w.at > 1 && w.at[0] <= (ONNX_NODE_NAME << 3 | WEFT_WIRE_BYTES)) {
        int number = w.at[0] >> 3, length = w.at[1];

        if ((w.at[0] & 7) != WEFT_WIRE_BYTES || number < last || n == MOST_TEXTS ||
            length >= 0x80 || length > w.end - w.at - 2)
            return false;
        out->text[n++] = (weft_slice){(const char *)w.at + 2, (size_t)length};
        out->n[number]++;
        n_empty += length == 0;
        last = number;
        w.at += 2 + length;
    }
    out->rest = slice_of(w);
    return out->n[ONNX_NODE_NAME] <= 1 && count_nuls(from, w.at) == n_empty;
}

/* Reads a node whose form is known already; false, and nothing done, if it is not such a node. */
static bool read_known(reader *r, const node_head *head, weft_onnx_node *out)
{
    int i =
        head->rest.n > MOST_FORM_BYTES ? -1 : weft_map_get(r->forms, head->rest.at, head->rest.n);
    int n_inputs = head->n[ONNX_NODE_INPUT], n_outputs = head->n[ONNX_NODE_OUTPUT];
    weft_slice *text;

    if (i < 0)
        return false;
    text = weft_arena_copy(r->arena, head->text, (size_t)(n_inputs + n_outputs) * sizeof *text);
    *out = (weft_onnx_node){.n_inputs = n_inputs,
                            .n_outputs = n_outputs,
                            .input = text,
                            .output = text + n_inputs,
                            .form = r->form.at[i]};
    if (head->n[ONNX_NODE_NAME] > 0)
        out->name = head->text[n_inputs + n_outputs];
    return true;
}

/* A node as such: fields in any order, errors told. */
static weft_status read_new(reader *r, weft_wire w, weft_onnx_node *out)
{
    node_parts parts;
    int n[WEFT_WIRE_COUNTED];

    *out = (weft_onnx_node){0};
    WEFT_TRY(weft_wire_count(w, n));
    if (n[ONNX_NODE_ATTR] > MOST_ATTRS) /* two bytes of the file would take hundreds of memory */
        return weft_fail(WEFT_E_INPUT, "byte %zu: a node has %d attributes, expected at most %d",
                         (size_t)(w.at - w.start), n[ONNX_NODE_ATTR], MOST_ATTRS);
    out->input = parts.input = WEFT_NEW_RAW(r->arena, weft_slice, n[ONNX_NODE_INPUT]);
    out->output = parts.output = WEFT_NEW_RAW(r->arena, weft_slice, n[ONNX_NODE_OUTPUT]);
    out->form = parts.form = WEFT_NEW(r->arena, weft_onnx_form, 1);
    parts.form->attr = parts.attr = WEFT_NEW(r->arena, weft_onnx_attr, n[ONNX_NODE_ATTR]);
    WEFT_TRY(node_fields(r, w, out, &parts));
    parts.form->number = r->n_forms++;
    return WEFT_OK;
}

/* Is this the name in the head, or is there none in either? */
static bool is_same(weft_slice name, const node_head *head)
{
    int at = head->n[ONNX_NODE_INPUT] + head->n[ONNX_NODE_OUTPUT];

    return name.at == (head->n[ONNX_NODE_NAME] > 0 ? head->text[at].at : NULL);
}

static weft_status read_node(reader *r, weft_wire w, weft_onnx_node *out)
{
    node_head head;
    bool is_usual = read_head(w, &head);

    if (is_usual && read_known(r, &head, out))
        return WEFT_OK;
    WEFT_TRY(read_new(r, w, out));
    /* Inputs, outputs or a name among the rest would not be part of the form. */
    if (is_usual && out->n_inputs == head.n[ONNX_NODE_INPUT] &&
        out->n_outputs == head.n[ONNX_NODE_OUTPUT] && is_same(out->name, &head) &&
        is_kept(out->form, head.rest)) {
        (void)weft_map_put(r->forms, head.rest.at, head.rest.n, r->form.n);
        WEFT_PUSH(r->arena, r->form, out->form);
    }
    return WEFT_OK;
}

/* The name of a sparse tensor is that of its values. */
static weft_status read_sparse_name(weft_wire w, weft_slice *out)
{
    static const int path[] = {ONNX_SPARSE_VALUES, ONNX_TENSOR_NAME};
    weft_wire_field f;
    bool more = true;
    weft_wire values = {w.end, w.end, w.start};

    while (more) {
        WEFT_TRY(weft_wire_next(&w, &f, &more));
        if (more && f.number == path[0])
            WEFT_TRY(weft_wire_body(&f, &values));
    }
    while (true) {
        WEFT_TRY(weft_wire_next(&values, &f, &more));
        if (!more)
            return WEFT_OK;
        if (f.number == path[1])
            WEFT_TRY(weft_onnx_field_text(&f, out));
    }
}

typedef struct graph_parts {
    weft_onnx_node *node;
    weft_onnx_tensor *initializer;
    weft_onnx_value_info *input, *output, *value;
    weft_slice *sparse, *sparse_name;
} graph_parts;

static graph_parts graph_arrays(reader *r, const int n[WEFT_WIRE_COUNTED], weft_onnx_graph *out)
{
    weft_arena *a = r->arena;
    graph_parts p;

    out->node = p.node = WEFT_NEW_RAW(a, weft_onnx_node, n[ONNX_GRAPH_NODE]);
    out->initializer = p.initializer = WEFT_NEW(a, weft_onnx_tensor, n[ONNX_GRAPH_INITIALIZER]);
    out->input = p.input = WEFT_NEW(a, weft_onnx_value_info, n[ONNX_GRAPH_INPUT]);
    out->output = p.output = WEFT_NEW(a, weft_onnx_value_info, n[ONNX_GRAPH_OUTPUT]);
    out->value = p.value = WEFT_NEW(a, weft_onnx_value_info, n[ONNX_GRAPH_VALUE]);
    out->sparse = p.sparse = WEFT_NEW(a, weft_slice, n[ONNX_GRAPH_SPARSE]);
    out->sparse_name = p.sparse_name = WEFT_NEW(a, weft_slice, n[ONNX_GRAPH_SPARSE]);
    return p;
}

static weft_status graph_message(reader *r, const weft_wire_field *f, weft_onnx_graph *out,
                                 const graph_parts *parts)
{
    weft_wire body;

    WEFT_TRY(weft_wire_body(f, &body));
    switch (f->number) {
    case ONNX_GRAPH_NODE:
        return read_node(r, body, &parts->node[out->n_nodes++]);
    case ONNX_GRAPH_INITIALIZER:
        return weft_onnx_tensor_read(body, r->arena, &parts->initializer[out->n_initializers++]);
    case ONNX_GRAPH_INPUT:
        return read_value_info(r, body, &parts->input[out->n_inputs++]);
    case ONNX_GRAPH_OUTPUT:
        return read_value_info(r, body, &parts->output[out->n_outputs++]);
    case ONNX_GRAPH_VALUE:
        return read_value_info(r, body, &parts->value[out->n_values++]);
    default:
        parts->sparse[out->n_sparse] = slice_of(body);
        return read_sparse_name(body, &parts->sparse_name[out->n_sparse++]);
    }
}

static weft_status graph_field(reader *r, const weft_wire_field *f, weft_onnx_graph *out,
                               const graph_parts *parts)
{
    switch (f->number) {
    case ONNX_GRAPH_NAME:
        return weft_onnx_field_text(f, &out->name);
    case ONNX_GRAPH_DOC:
        return weft_onnx_field_bytes(f, &out->doc);
    case ONNX_GRAPH_NODE:
    case ONNX_GRAPH_INITIALIZER:
    case ONNX_GRAPH_INPUT:
    case ONNX_GRAPH_OUTPUT:
    case ONNX_GRAPH_VALUE:
    case ONNX_GRAPH_SPARSE:
        return graph_message(r, f, out, parts);
    default:
        return WEFT_OK;
    }
}

static weft_status read_graph(reader *r, weft_wire w, weft_onnx_graph *out)
{
    graph_parts parts;
    weft_wire_field f;
    int n[WEFT_WIRE_COUNTED];
    bool more = true;

    if (r->depth == WEFT_ONNX_MAX_DEPTH)
        return weft_fail(WEFT_E_INPUT, "byte %zu: sub-graphs nest more than %d deep",
                         (size_t)(w.at - w.start), WEFT_ONNX_MAX_DEPTH);
    r->depth++;
    WEFT_TRY(weft_wire_count(w, n));
    parts = graph_arrays(r, n, out);
    while (more) {
        WEFT_TRY(weft_wire_next(&w, &f, &more));
        if (more)
            WEFT_TRY(graph_field(r, &f, out, &parts));
    }
    r->depth--;
    return WEFT_OK;
}

/* --- the model ------------------------------------------------------------------------------- */

static weft_status read_opset(const weft_wire_field *from, weft_onnx_opset *out)
{
    weft_wire_field f;
    weft_wire w;
    bool more;

    WEFT_TRY(weft_wire_body(from, &w));
    while (true) {
        WEFT_TRY(weft_wire_next(&w, &f, &more));
        if (!more)
            return WEFT_OK;
        if (f.number == ONNX_OPSET_DOMAIN)
            WEFT_TRY(weft_onnx_field_text(&f, &out->domain));
        if (f.number == ONNX_OPSET_VERSION)
            WEFT_TRY(weft_wire_int(&f, &out->version));
    }
}

typedef struct function_parts {
    weft_slice *input, *output, *attr;
    weft_onnx_attr *fallback;
    weft_onnx_node *node;
    weft_onnx_opset *opset;
} function_parts;

static function_parts function_arrays(reader *r, const int n[WEFT_WIRE_COUNTED],
                                      weft_onnx_function *out)
{
    weft_arena *a = r->arena;
    function_parts p;

    out->input = p.input = WEFT_NEW(a, weft_slice, n[ONNX_FUNCTION_INPUT]);
    out->output = p.output = WEFT_NEW(a, weft_slice, n[ONNX_FUNCTION_OUTPUT]);
    out->attr = p.attr = WEFT_NEW(a, weft_slice, n[ONNX_FUNCTION_ATTR]);
    out->fallback = p.fallback = WEFT_NEW(a, weft_onnx_attr, n[ONNX_FUNCTION_FALLBACK]);
    out->node = p.node = WEFT_NEW_RAW(a, weft_onnx_node, n[ONNX_FUNCTION_NODE]);
    out->opset = p.opset = WEFT_NEW(a, weft_onnx_opset, n[ONNX_FUNCTION_OPSET]);
    return p;
}

static weft_status function_field(reader *r, const weft_wire_field *f, weft_onnx_function *out,
                                  const function_parts *parts)
{
    weft_wire body;

    switch (f->number) {
    case ONNX_FUNCTION_NAME:
        return weft_onnx_field_text(f, &out->name);
    case ONNX_FUNCTION_DOMAIN:
        return weft_onnx_field_text(f, &out->domain);
    case ONNX_FUNCTION_OVERLOAD:
        return weft_onnx_field_text(f, &out->overload);
    case ONNX_FUNCTION_DOC:
        return weft_onnx_field_bytes(f, &out->doc);
    case ONNX_FUNCTION_INPUT:
        return weft_onnx_field_text(f, &parts->input[out->n_inputs++]);
    case ONNX_FUNCTION_OUTPUT:
        return weft_onnx_field_text(f, &parts->output[out->n_outputs++]);
    case ONNX_FUNCTION_ATTR:
        return weft_onnx_field_text(f, &parts->attr[out->n_attrs++]);
    case ONNX_FUNCTION_OPSET:
        return read_opset(f, &parts->opset[out->n_opsets++]);
    case ONNX_FUNCTION_FALLBACK:
        WEFT_TRY(weft_wire_body(f, &body));
        return read_attr(r, body, &parts->fallback[out->n_defaults++]);
    case ONNX_FUNCTION_NODE:
        WEFT_TRY(weft_wire_body(f, &body));
        return read_node(r, body, &parts->node[out->n_nodes++]);
    default:
        return WEFT_OK;
    }
}

static weft_status read_function(reader *r, const weft_wire_field *from, weft_onnx_function *out)
{
    function_parts parts;
    weft_wire_field f;
    weft_wire w;
    int n[WEFT_WIRE_COUNTED];
    bool more;

    WEFT_TRY(weft_wire_body(from, &w));
    WEFT_TRY(weft_wire_count(w, n));
    parts = function_arrays(r, n, out);
    while (true) {
        WEFT_TRY(weft_wire_next(&w, &f, &more));
        if (!more)
            return WEFT_OK;
        WEFT_TRY(function_field(r, &f, out, &parts));
    }
}

typedef struct model_parts {
    weft_onnx_opset *opset;
    weft_onnx_function *function;
    weft_onnx_entry *metadata;
    weft_wire graph; /* read last: only the last one counts */
} model_parts;

static weft_status model_field(reader *r, const weft_wire_field *f, weft_onnx *out,
                               model_parts *parts)
{
    switch (f->number) {
    case ONNX_MODEL_IR_VERSION:
        return weft_wire_int(f, &out->ir_version);
    case ONNX_MODEL_VERSION:
        return weft_wire_int(f, &out->model_version);
    case ONNX_MODEL_PRODUCER:
        return weft_onnx_field_text(f, &out->producer);
    case ONNX_MODEL_PRODUCER_VERSION:
        return weft_onnx_field_text(f, &out->producer_version);
    case ONNX_MODEL_DOMAIN:
        return weft_onnx_field_text(f, &out->domain);
    case ONNX_MODEL_DOC:
        return weft_onnx_field_bytes(f, &out->doc);
    case ONNX_MODEL_OPSET:
        return read_opset(f, &parts->opset[out->n_opsets++]);
    case ONNX_MODEL_METADATA:
        return weft_onnx_field_entry(f, &parts->metadata[out->n_metadata++]);
    case ONNX_MODEL_FUNCTION:
        return read_function(r, f, &parts->function[out->n_functions++]);
    case ONNX_MODEL_GRAPH:
        return weft_wire_body(f, &parts->graph);
    default:
        return WEFT_OK;
    }
}

static weft_status read_model(reader *r, weft_wire w, weft_onnx *out)
{
    model_parts parts;
    weft_wire_field f;
    weft_onnx_graph *graph = WEFT_NEW(r->arena, weft_onnx_graph, 1);
    int n[WEFT_WIRE_COUNTED];
    bool more = true;

    WEFT_TRY(weft_wire_count(w, n));
    if (n[ONNX_MODEL_GRAPH] == 0)
        return weft_fail(WEFT_E_INPUT, "not an ONNX model: it has no graph");
    out->opset = parts.opset = WEFT_NEW(r->arena, weft_onnx_opset, n[ONNX_MODEL_OPSET]);
    out->function = parts.function = WEFT_NEW(r->arena, weft_onnx_function, n[ONNX_MODEL_FUNCTION]);
    out->metadata = parts.metadata = WEFT_NEW(r->arena, weft_onnx_entry, n[ONNX_MODEL_METADATA]);
    while (more) {
        WEFT_TRY(weft_wire_next(&w, &f, &more));
        if (more)
            WEFT_TRY(model_field(r, &f, out, &parts));
    }
    out->graph = graph;
    return read_graph(r, parts.graph, graph);
}

/* --- documents ------------------------------------------------------------------------------- */

weft_status weft_onnx_read(const void *data, size_t size, const char *file, weft_onnx **out)
{
    weft_arena *a;
    weft_onnx *o;
    reader r;
    weft_wire w = {data, size ? (const uint8_t *)data + size : data, data};
    weft_status status;

    *out = NULL;
    if (size == 0)
        return weft_fail(WEFT_E_INPUT, "%s: is empty, expected an ONNX model", file);
    a = weft_arena_new();
    o = WEFT_NEW(a, weft_onnx, 1);
    r = (reader){.arena = a, .forms = weft_map_new(a)};
    o->arena = a;
    o->file = weft_arena_text(a, file, strlen(file));
    status = read_model(&r, w, o);
    o->n_forms = r.n_forms;
    if (status != WEFT_OK) {
        weft_arena_free(a);
        return weft_onnx_explain(status, w, file);
    }
    *out = o;
    return WEFT_OK;
}

weft_status weft_onnx_open(const char *path, weft_onnx **out)
{
    weft_file f;
    weft_status status;

    *out = NULL;
    WEFT_TRY(weft_file_open(path, &f));
    status = weft_onnx_read(f.data, f.size, path, out);
    if (status == WEFT_OK)
        (*out)->mapping = f;
    else
        weft_file_close(&f);
    return status;
}

void weft_onnx_free(weft_onnx *o)
{
    if (o == NULL)
        return;
    weft_file_close(&o->mapping);
    weft_arena_free(o->arena);
}
