/* SPDX-License-Identifier: MIT */
/* onnx_read.c: an ONNX file as plain arrays.
 *
 * A message is read in two passes: the first counts the fields, the second fills arrays of exactly
 * that size (nodes that come first are counted only if they are more than is likely), so memory is
 * bounded by a small multiple of the bytes that describe the network. Text and data stay slices of
 * the file. raw_data and packed floats are stepped over; integers in typed fields are looked at
 * once, to count them.
 *
 * As in protobuf, fields come in any order, unknown ones are skipped, repeated numbers may be
 * packed, and of a field that should be there once the last one counts (of a message too: parts are
 * not merged). Messages nest through sub-graphs only; their depth is limited.
 *
 * A file that cannot be read is looked at once more, to say what it is instead (onnx_foreign.c). */
#include "reader.h"

#include <limits.h>
#include <string.h>

enum {
    MOST_NAME_BYTES = 65535,
    MOST_OPSETS = 1000,
    MOST_RESERVED = 1 << 19, /* bytes; files with weights are large */
    NODE_BYTES = 96,         /* of most nodes there are more: no matter if wrong */
};

/* --- plain fields ---------------------------------------------------------------------------- */

weft_slice weft_wire_slice(weft_wire w)
{
    return (weft_slice){(const char *)w.at, (size_t)(w.end - w.at)};
}

weft_status weft_onnx_field_bytes(const weft_wire_field *f, weft_slice *out)
{
    if (f->type != WEFT_WIRE_BYTES)
        return weft_wire_no_body(f);
    out->at = (const char *)f->body.at;
    out->n = (size_t)(f->body.end - f->body.at);
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

weft_status weft_onnx_field_entry(const weft_wire_field *from, weft_onnx_entry *out)
{
    weft_wire_field f;
    weft_wire w;

    WEFT_TRY(weft_wire_body(from, &w));
    while (weft_wire_more(&w)) {
        WEFT_TRY(weft_wire_next(&w, &f));
        if (f.number == ONNX_ENTRY_KEY)
            WEFT_TRY(weft_onnx_field_text(&f, &out->key));
        if (f.number == ONNX_ENTRY_VALUE)
            WEFT_TRY(weft_onnx_field_bytes(&f, &out->value));
    }
    return WEFT_OK;
}

/* --- types of values ------------------------------------------------------------------------- */

static weft_status read_dim(weft_wire w, weft_onnx_dim *out)
{
    weft_wire_field f;

    out->value = -1;
    while (weft_wire_more(&w)) {
        WEFT_TRY(weft_wire_next(&w, &f));
        if (f.number == ONNX_DIM_VALUE) { /* one or the other: the last one counts */
            WEFT_TRY(weft_wire_int(&f, &out->value));
            out->value = out->value < 0 ? -1 : out->value; /* so some exporters say "unknown" */
            out->param = (weft_slice){NULL, 0};
        } else if (f.number == ONNX_DIM_PARAM) {
            WEFT_TRY(weft_onnx_field_text(&f, &out->param));
            out->value = -1;
        }
    }
    return WEFT_OK;
}

static weft_status read_shape(weft_reader *r, weft_wire w, weft_onnx_value_info *out)
{
    weft_wire_field f;
    weft_wire body;
    weft_onnx_dim *dim;
    int n[WEFT_WIRE_COUNTED];

    WEFT_TRY(weft_wire_count(w, n));
    out->dim = dim = WEFT_NEW(r->arena, weft_onnx_dim, n[ONNX_SHAPE_DIM]);
    while (weft_wire_more(&w)) {
        WEFT_TRY(weft_wire_next(&w, &f));
        if (f.number != ONNX_SHAPE_DIM)
            continue;
        WEFT_TRY(weft_wire_body(&f, &body));
        WEFT_TRY(read_dim(body, &dim[out->n_dims++]));
    }
    return WEFT_OK;
}

static weft_status read_tensor_type(weft_reader *r, weft_wire w, weft_onnx_value_info *out)
{
    weft_wire shape = {NULL, NULL, NULL};
    weft_wire_field f;

    while (weft_wire_more(&w)) {
        WEFT_TRY(weft_wire_next(&w, &f));
        if (f.number == ONNX_TENSOR_TYPE_ELEM)
            WEFT_TRY(weft_onnx_field_int32(&f, &out->elem_type));
        if (f.number == ONNX_TENSOR_TYPE_SHAPE)
            WEFT_TRY(weft_wire_body(&f, &shape));
    }
    out->has_shape = shape.at != NULL;
    return out->has_shape ? read_shape(r, shape, out) : WEFT_OK;
}

static weft_status read_type(weft_reader *r, weft_wire w, weft_onnx_value_info *out)
{
    weft_wire tensor = {NULL, NULL, NULL};
    weft_wire_field f;

    out->raw_type = weft_wire_slice(w);
    while (weft_wire_more(&w)) {
        WEFT_TRY(weft_wire_next(&w, &f));
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

static weft_status read_value_info(weft_reader *r, weft_wire w, weft_onnx_value_info *out)
{
    weft_wire type = {NULL, NULL, NULL};
    weft_wire_field f;

    while (weft_wire_more(&w)) {
        WEFT_TRY(weft_wire_next(&w, &f));
        if (f.number == ONNX_VALUE_NAME)
            WEFT_TRY(weft_onnx_field_text(&f, &out->name));
        if (f.number == ONNX_VALUE_DOC)
            WEFT_TRY(weft_onnx_field_bytes(&f, &out->doc));
        if (f.number == ONNX_VALUE_TYPE)
            WEFT_TRY(weft_wire_body(&f, &type));
    }
    return type.at ? read_type(r, type, out) : WEFT_OK;
}

/* --- graphs ---------------------------------------------------------------------------------- */

/* The name of a sparse tensor is that of its values. */
static weft_status read_sparse_name(weft_wire w, weft_slice *out)
{
    static const int path[] = {ONNX_SPARSE_VALUES, ONNX_TENSOR_NAME};
    weft_wire_field f;
    weft_wire values = {w.end, w.end, w.start};

    while (weft_wire_more(&w)) {
        WEFT_TRY(weft_wire_next(&w, &f));
        if (f.number == path[0])
            WEFT_TRY(weft_wire_body(&f, &values));
    }
    while (weft_wire_more(&values)) {
        WEFT_TRY(weft_wire_next(&values, &f));
        if (f.number == path[1])
            WEFT_TRY(weft_onnx_field_text(&f, out));
    }
    return WEFT_OK;
}

enum { N_RECENT = 8 };

/* Initializers that differ in more than their names from those before them: the last few. */
typedef struct recent {
    int n, at[N_RECENT];
} recent;

typedef struct graph_parts {
    weft_onnx_node *node;
    int n_room;      /* of nodes */
    bool is_counted; /* the other arrays are there, and room for all nodes */
    weft_onnx_tensor *initializer;
    weft_onnx_value_info *input, *output, *value;
    weft_slice *sparse, *sparse_name;
    weft_history *history;
    recent *recent;
} graph_parts;

/* Room for the nodes, which come first in nearly all files: as many as are likely. */
static graph_parts likely_nodes(weft_reader *r, size_t n_bytes)
{
    size_t n_reserved = n_bytes / 2 < MOST_RESERVED ? n_bytes / 2 : MOST_RESERVED;
    graph_parts p = {.n_room = 1 + (int)(n_reserved / (NODE_BYTES / 2))};

    /* In one piece: the array and, for operands, forms and the like, half as much as the file. */
    weft_arena_reserve(r->arena, (size_t)p.n_room * sizeof *p.node + n_reserved);
    p.node = WEFT_NEW_RAW(r->arena, weft_onnx_node, p.n_room);
    return p;
}

/* Arrays of the right size for what there is from w on. */
static weft_status count_rest(weft_reader *r, weft_wire w, graph_parts *p, weft_onnx_graph *out)
{
    int n[WEFT_WIRE_COUNTED];
    weft_arena *a = r->arena;

    WEFT_TRY(weft_wire_count(w, n));
    p->is_counted = true;
    if (n[ONNX_GRAPH_NODE] > p->n_room - out->n_nodes) {
        const weft_onnx_node *node = p->node;

        if (n[ONNX_GRAPH_NODE] > INT_MAX - out->n_nodes)
            return weft_fail(WEFT_E_INPUT, "the graph has more than %d nodes", INT_MAX);
        p->n_room = out->n_nodes + n[ONNX_GRAPH_NODE];
        p->node = WEFT_NEW_RAW(a, weft_onnx_node, p->n_room);
        memcpy(p->node, node, (size_t)out->n_nodes * sizeof *node);
    }
    out->initializer = p->initializer =
        WEFT_NEW_RAW(a, weft_onnx_tensor, n[ONNX_GRAPH_INITIALIZER]);
    out->input = p->input = WEFT_NEW(a, weft_onnx_value_info, n[ONNX_GRAPH_INPUT]);
    out->output = p->output = WEFT_NEW(a, weft_onnx_value_info, n[ONNX_GRAPH_OUTPUT]);
    out->value = p->value = WEFT_NEW(a, weft_onnx_value_info, n[ONNX_GRAPH_VALUE]);
    out->sparse = p->sparse = WEFT_NEW(a, weft_slice, n[ONNX_GRAPH_SPARSE]);
    out->sparse_name = p->sparse_name = WEFT_NEW(a, weft_slice, n[ONNX_GRAPH_SPARSE]);
    return WEFT_OK;
}

/* Reads tensor[i], the next initializer. */
static weft_status read_initializer(weft_reader *r, const weft_wire *w, recent *seen,
                                    weft_onnx_tensor *tensor, int i)
{
    for (int k = 0; k < N_RECENT && k < seen->n; k++)
        if (weft_onnx_tensor_like(*w, &tensor[seen->at[k]], &tensor[i])) {
            tensor[i].like = seen->at[k];
            return WEFT_OK;
        }
    seen->at[seen->n++ % N_RECENT] = i;
    return weft_onnx_tensor_read(*w, r->arena, &tensor[i]);
}

static weft_status graph_message(weft_reader *r, const weft_wire_field *f, weft_onnx_graph *out,
                                 const graph_parts *parts)
{
    const weft_wire *body = &f->body;

    if (f->type != WEFT_WIRE_BYTES)
        return weft_wire_no_body(f);
    switch (f->number) {
    case ONNX_GRAPH_NODE:
        return weft_onnx_node_read(r, body, parts->history, parts->node, out->n_nodes++);
    case ONNX_GRAPH_INITIALIZER:
        return read_initializer(r, body, parts->recent, parts->initializer, out->n_initializers++);
    case ONNX_GRAPH_INPUT:
        return read_value_info(r, *body, &parts->input[out->n_inputs++]);
    case ONNX_GRAPH_OUTPUT:
        return read_value_info(r, *body, &parts->output[out->n_outputs++]);
    case ONNX_GRAPH_VALUE:
        return read_value_info(r, *body, &parts->value[out->n_values++]);
    default:
        parts->sparse[out->n_sparse] = weft_wire_slice(*body);
        return read_sparse_name(*body, &parts->sparse_name[out->n_sparse++]);
    }
}

static weft_status graph_field(weft_reader *r, const weft_wire_field *f, weft_onnx_graph *out,
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

weft_status weft_onnx_graph_read(weft_reader *r, weft_wire w, weft_onnx_graph *out)
{
    graph_parts parts = likely_nodes(r, (size_t)(w.end - w.at));
    weft_history history = {0};
    recent seen = {0};
    weft_wire_field f;

    if (r->depth == WEFT_ONNX_MAX_DEPTH)
        return weft_fail(WEFT_E_INPUT, "byte %zu: sub-graphs nest more than %d deep",
                         (size_t)(w.at - w.start), WEFT_ONNX_MAX_DEPTH);
    r->depth++;
    parts.history = &history;
    parts.recent = &seen;
    while (true) {
        weft_wire rest;

        out->n_nodes =
            weft_onnx_nodes_repeat(r, &w, &history, parts.node, out->n_nodes, parts.n_room);
        if (!weft_wire_more(&w))
            break;
        rest = w;
        WEFT_TRY(weft_wire_next(&w, &f));
        if (!parts.is_counted && (f.number != ONNX_GRAPH_NODE || out->n_nodes == parts.n_room))
            WEFT_TRY(count_rest(r, rest, &parts, out));
        WEFT_TRY(graph_field(r, &f, out, &parts));
    }
    out->node = parts.node;
    r->depth--;
    return WEFT_OK;
}

/* --- the model ------------------------------------------------------------------------------- */

static weft_status read_opset(const weft_wire_field *from, weft_onnx_opset *out)
{
    weft_wire_field f;
    weft_wire w;

    WEFT_TRY(weft_wire_body(from, &w));
    while (weft_wire_more(&w)) {
        WEFT_TRY(weft_wire_next(&w, &f));
        if (f.number == ONNX_OPSET_DOMAIN)
            WEFT_TRY(weft_onnx_field_text(&f, &out->domain));
        if (f.number == ONNX_OPSET_VERSION)
            WEFT_TRY(weft_wire_int(&f, &out->version));
    }
    return WEFT_OK;
}

typedef struct function_parts {
    weft_slice *input, *output, *attr;
    weft_onnx_attr *fallback;
    weft_onnx_node *node;
    weft_onnx_opset *opset;
} function_parts;

/* Every operator looks for its own. */
static weft_status check_opsets(int n)
{
    if (n <= MOST_OPSETS)
        return WEFT_OK;
    return weft_fail(WEFT_E_INPUT, "%d operator sets are named (opset_import), expected at most %d",
                     n, MOST_OPSETS);
}

static function_parts function_arrays(weft_reader *r, const int n[WEFT_WIRE_COUNTED],
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

static weft_status function_field(weft_reader *r, const weft_wire_field *f, weft_onnx_function *out,
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
        return weft_onnx_attr_read(r, body, &parts->fallback[out->n_defaults++]);
    case ONNX_FUNCTION_NODE:
        WEFT_TRY(weft_wire_body(f, &body));
        return weft_onnx_node_read(r, &body, NULL, parts->node, out->n_nodes++);
    default:
        return WEFT_OK;
    }
}

static weft_status read_function(weft_reader *r, const weft_wire_field *from,
                                 weft_onnx_function *out)
{
    function_parts parts;
    weft_wire_field f;
    weft_wire w;
    int n[WEFT_WIRE_COUNTED];

    WEFT_TRY(weft_wire_body(from, &w));
    WEFT_TRY(weft_wire_count(w, n));
    WEFT_TRY(check_opsets(n[ONNX_FUNCTION_OPSET]));
    parts = function_arrays(r, n, out);
    while (weft_wire_more(&w)) {
        WEFT_TRY(weft_wire_next(&w, &f));
        WEFT_TRY(function_field(r, &f, out, &parts));
    }
    return WEFT_OK;
}

typedef struct model_parts {
    weft_onnx_opset *opset;
    weft_onnx_function *function;
    weft_onnx_entry *metadata;
    weft_wire graph; /* read last: only the last one counts */
} model_parts;

static weft_status model_field(weft_reader *r, const weft_wire_field *f, weft_onnx *out,
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

static weft_status read_model(weft_reader *r, weft_wire w, weft_onnx *out)
{
    model_parts parts;
    weft_wire_field f;
    weft_onnx_graph *graph = WEFT_NEW(r->arena, weft_onnx_graph, 1);
    int n[WEFT_WIRE_COUNTED];

    WEFT_TRY(weft_wire_count(w, n));
    if (n[ONNX_MODEL_GRAPH] == 0)
        return weft_fail(WEFT_E_INPUT, "not an ONNX model: it has no graph");
    WEFT_TRY(check_opsets(n[ONNX_MODEL_OPSET]));
    out->opset = parts.opset = WEFT_NEW(r->arena, weft_onnx_opset, n[ONNX_MODEL_OPSET]);
    out->function = parts.function = WEFT_NEW(r->arena, weft_onnx_function, n[ONNX_MODEL_FUNCTION]);
    out->metadata = parts.metadata = WEFT_NEW(r->arena, weft_onnx_entry, n[ONNX_MODEL_METADATA]);
    while (weft_wire_more(&w)) {
        WEFT_TRY(weft_wire_next(&w, &f));
        WEFT_TRY(model_field(r, &f, out, &parts));
    }
    out->graph = graph;
    return weft_onnx_graph_read(r, parts.graph, graph);
}

/* --- documents ------------------------------------------------------------------------------- */

weft_status weft_onnx_read(const void *data, size_t size, const char *file, weft_onnx **out)
{
    weft_arena *a;
    weft_onnx *o;
    weft_reader r;
    weft_wire w = {data, size ? (const uint8_t *)data + size : data, data};
    weft_status status;

    *out = NULL;
    if (size == 0)
        return weft_fail(WEFT_E_INPUT, "%s: is empty, expected an ONNX model", file);
    a = weft_arena_new();
    o = WEFT_NEW(a, weft_onnx, 1);
    r = (weft_reader){.arena = a, .forms = weft_map_new(a)};
    o->arena = a;
    o->file = weft_arena_word(a, file);
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
    if (status == WEFT_OK) {
        (*out)->mapping = f;
        return WEFT_OK;
    }
    if (weft_file_check(&f) != WEFT_OK)
        status = WEFT_E_INPUT;
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
