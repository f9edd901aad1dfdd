/* SPDX-License-Identifier: MIT */
/* onnx_write.c: plain arrays as an ONNX file.
 *
 * The document is put twice by the same code: into a writer that only counts, then into a buffer of
 * exactly that size, so memory is the size of the file and nothing else. Sizes are size_t: files
 * beyond 2 GiB are written like others (this reader takes them; protobuf's own does not).
 *
 * What is written reads back as the same document. Attributes and types of values are copied from
 * the bytes they were read from (`raw`, `raw_type`); whoever changes one clears those, and it is
 * put together from its fields. Not kept, because documents do not hold them: training_info,
 * quantization_annotation, value_info of functions, metadata of nodes and tensors, checksums of
 * external data. Locations of external data are copied as they are, relative to the folder. */
#include "onnx_fields.h"

#include <assert.h>
#include <string.h>

/* --- plain fields ---------------------------------------------------------------------------- */

static void put_text(weft_wire_out *o, int field, weft_slice text)
{
    if (text.at)
        weft_wire_put_bytes(o, field, text.at, text.n);
}

/* A repeated field keeps empty entries: they are omitted operands. */
static void put_texts(weft_wire_out *o, int field, const weft_slice *text, int n)
{
    for (int i = 0; i < n; i++)
        weft_wire_put_bytes(o, field, text[i].at, text[i].n);
}

/* 0 is what an absent number means. */
static void put_int(weft_wire_out *o, int field, int64_t value)
{
    if (value != 0)
        weft_wire_put_varint(o, field, (uint64_t)value);
}

static void put_ints(weft_wire_out *o, int field, const int64_t *value, int n)
{
    size_t begin;

    if (n == 0)
        return;
    begin = weft_wire_begin(o, field);
    for (int i = 0; i < n; i++)
        weft_wire_put_varint(o, 0, (uint64_t)value[i]);
    weft_wire_end(o, begin);
}

static void put_floats(weft_wire_out *o, int field, const double *value, int n)
{
    size_t begin;

    if (n == 0)
        return;
    begin = weft_wire_begin(o, field);
    for (int i = 0; i < n; i++)
        weft_wire_put_float(o, 0, (float)value[i]);
    weft_wire_end(o, begin);
}

static void put_entry(weft_wire_out *o, int field, weft_slice key, weft_slice value)
{
    size_t begin = weft_wire_begin(o, field);

    put_text(o, ONNX_ENTRY_KEY, key);
    put_text(o, ONNX_ENTRY_VALUE, value);
    weft_wire_end(o, begin);
}

static void put_opset(weft_wire_out *o, int field, const weft_onnx_opset *opset)
{
    size_t begin = weft_wire_begin(o, field);

    put_text(o, ONNX_OPSET_DOMAIN, opset->domain);
    put_int(o, ONNX_OPSET_VERSION, opset->version);
    weft_wire_end(o, begin);
}

/* --- tensors and types ----------------------------------------------------------------------- */

static void put_size(weft_wire_out *o, const char *key, int64_t value)
{
    char digits[32];

    if (value < 0)
        return;
    snprintf(digits, sizeof digits, "%lld", (long long)value);
    put_entry(o, ONNX_TENSOR_EXTERNAL, weft_slice_of(key), weft_slice_of(digits));
}

/* As it stood in the file: in one piece, or value by value. */
static void put_chunk(weft_wire_out *o, const weft_onnx_chunk *chunk)
{
    uint32_t low = (uint32_t)chunk->single;
    float f;
    double d;

    if (chunk->is_packed || chunk->field == ONNX_TENSOR_STRINGS) {
        weft_wire_put_bytes(o, chunk->field, chunk->body.at, chunk->body.n);
    } else if (chunk->field == ONNX_TENSOR_FLOATS) {
        memcpy(&f, &low, sizeof f);
        weft_wire_put_float(o, chunk->field, f);
    } else if (chunk->field == ONNX_TENSOR_DOUBLES) {
        memcpy(&d, &chunk->single, sizeof d);
        weft_wire_put_double(o, chunk->field, d);
    } else {
        weft_wire_put_varint(o, chunk->field, chunk->single);
    }
}

void weft_onnx_put_tensor(weft_wire_out *o, int field, const weft_onnx_tensor *t)
{
    size_t begin = weft_wire_begin(o, field);

    put_ints(o, ONNX_TENSOR_DIMS, t->dim, t->n_dims);
    put_int(o, ONNX_TENSOR_DATA_TYPE, t->data_type);
    for (int i = 0; i < t->n_chunks; i++)
        put_chunk(o, &t->chunk[i]);
    put_text(o, ONNX_TENSOR_NAME, t->name);
    put_text(o, ONNX_TENSOR_RAW, t->raw);
    put_text(o, ONNX_TENSOR_DOC, t->doc);
    if (t->location.at)
        put_entry(o, ONNX_TENSOR_EXTERNAL, weft_slice_of("location"), t->location);
    put_size(o, "offset", t->external_offset);
    put_size(o, "length", t->external_length);
    if (t->is_external)
        put_int(o, ONNX_TENSOR_DATA_LOCATION, ONNX_LOCATION_EXTERNAL);
    weft_wire_end(o, begin);
}

static void put_shape(weft_wire_out *o, const weft_onnx_value_info *v)
{
    size_t begin = weft_wire_begin(o, ONNX_TENSOR_TYPE_SHAPE);

    for (int i = 0; i < v->n_dims; i++) {
        size_t dim = weft_wire_begin(o, ONNX_SHAPE_DIM);

        if (v->dim[i].value >= 0) /* also 0: a dimension without value is another thing */
            weft_wire_put_varint(o, ONNX_DIM_VALUE, (uint64_t)v->dim[i].value);
        else
            put_text(o, ONNX_DIM_PARAM, v->dim[i].param);
        weft_wire_end(o, dim);
    }
    weft_wire_end(o, begin);
}

static void put_type(weft_wire_out *o, const weft_onnx_value_info *v)
{
    size_t type = weft_wire_begin(o, ONNX_VALUE_TYPE);
    size_t tensor = weft_wire_begin(o, ONNX_TYPE_TENSOR);

    put_int(o, ONNX_TENSOR_TYPE_ELEM, v->elem_type);
    if (v->has_shape)
        put_shape(o, v);
    weft_wire_end(o, tensor);
    weft_wire_end(o, type);
}

void weft_onnx_put_value(weft_wire_out *o, int field, const weft_onnx_value_info *v)
{
    size_t begin = weft_wire_begin(o, field);

    put_text(o, ONNX_VALUE_NAME, v->name);
    if (v->raw_type.at)
        put_text(o, ONNX_VALUE_TYPE, v->raw_type);
    else if (v->is_tensor)
        put_type(o, v);
    put_text(o, ONNX_VALUE_DOC, v->doc);
    weft_wire_end(o, begin);
}

/* --- attributes, nodes, graphs --------------------------------------------------------------- */

static weft_status put_graph(weft_wire_out *o, int field, const weft_onnx_graph *g);

static weft_status put_attr_value(weft_wire_out *o, const weft_onnx_attr *a)
{
    char name[WEFT_ONNX_SHOWN_BYTES];

    switch (a->kind) {
    case WEFT_ONNX_FLOAT:
        weft_wire_put_float(o, ONNX_ATTR_F, (float)a->f);
        return WEFT_OK;
    case WEFT_ONNX_INT:
        weft_wire_put_varint(o, ONNX_ATTR_I, (uint64_t)a->i);
        return WEFT_OK;
    case WEFT_ONNX_STRING:
        put_text(o, ONNX_ATTR_S, a->s);
        return WEFT_OK;
    case WEFT_ONNX_FLOATS:
        put_floats(o, ONNX_ATTR_FLOATS, a->floats, a->n);
        return WEFT_OK;
    case WEFT_ONNX_INTS:
        put_ints(o, ONNX_ATTR_INTS, a->ints, a->n);
        return WEFT_OK;
    case WEFT_ONNX_STRINGS:
        put_texts(o, ONNX_ATTR_STRINGS, a->strings, a->n);
        return WEFT_OK;
    case WEFT_ONNX_TENSOR:
        weft_onnx_put_tensor(o, ONNX_ATTR_T, a->tensor);
        return WEFT_OK;
    case WEFT_ONNX_GRAPH:
        return put_graph(o, ONNX_ATTR_G, a->graph);
    default:
        return weft_fail(WEFT_E_INPUT,
                         "attribute '%s': values of kind %d can be copied but not composed",
                         weft_onnx_show(a->name, name), a->kind);
    }
}

static weft_status put_attr(weft_wire_out *o, int field, const weft_onnx_attr *a)
{
    size_t begin;

    if (a->raw.at) {
        put_text(o, field, a->raw);
        return WEFT_OK;
    }
    begin = weft_wire_begin(o, field);
    put_text(o, ONNX_ATTR_NAME, a->name);
    if (a->ref.n == 0) /* else the value is that of another attribute */
        WEFT_TRY(put_attr_value(o, a));
    put_int(o, ONNX_ATTR_KIND, a->kind);
    put_text(o, ONNX_ATTR_REF, a->ref);
    weft_wire_end(o, begin);
    return WEFT_OK;
}

static weft_status put_node(weft_wire_out *o, int field, const weft_onnx_node *n)
{
    size_t begin = weft_wire_begin(o, field);

    put_texts(o, ONNX_NODE_INPUT, n->input, n->n_inputs);
    put_texts(o, ONNX_NODE_OUTPUT, n->output, n->n_outputs);
    put_text(o, ONNX_NODE_NAME, n->name);
    put_text(o, ONNX_NODE_OP_TYPE, n->form->op_type);
    for (int i = 0; i < n->form->n_attrs; i++)
        WEFT_TRY(put_attr(o, ONNX_NODE_ATTR, &n->form->attr[i]));
    put_text(o, ONNX_NODE_DOC, n->form->doc);
    put_text(o, ONNX_NODE_DOMAIN, n->form->domain);
    put_text(o, ONNX_NODE_OVERLOAD, n->form->overload);
    weft_wire_end(o, begin);
    return WEFT_OK;
}

static weft_status put_graph(weft_wire_out *o, int field, const weft_onnx_graph *g)
{
    size_t begin = weft_wire_begin(o, field);

    for (int i = 0; i < g->n_nodes; i++)
        WEFT_TRY(put_node(o, ONNX_GRAPH_NODE, &g->node[i]));
    put_text(o, ONNX_GRAPH_NAME, g->name);
    for (int i = 0; i < g->n_initializers; i++)
        weft_onnx_put_tensor(o, ONNX_GRAPH_INITIALIZER, &g->initializer[i]);
    put_text(o, ONNX_GRAPH_DOC, g->doc);
    for (int i = 0; i < g->n_inputs; i++)
        weft_onnx_put_value(o, ONNX_GRAPH_INPUT, &g->input[i]);
    for (int i = 0; i < g->n_outputs; i++)
        weft_onnx_put_value(o, ONNX_GRAPH_OUTPUT, &g->output[i]);
    for (int i = 0; i < g->n_values; i++)
        weft_onnx_put_value(o, ONNX_GRAPH_VALUE, &g->value[i]);
    put_texts(o, ONNX_GRAPH_SPARSE, g->sparse, g->n_sparse);
    weft_wire_end(o, begin);
    return WEFT_OK;
}

/* --- the model ------------------------------------------------------------------------------- */

static weft_status put_function(weft_wire_out *o, const weft_onnx_function *f)
{
    size_t begin = weft_wire_begin(o, ONNX_MODEL_FUNCTION);

    put_text(o, ONNX_FUNCTION_NAME, f->name);
    put_texts(o, ONNX_FUNCTION_INPUT, f->input, f->n_inputs);
    put_texts(o, ONNX_FUNCTION_OUTPUT, f->output, f->n_outputs);
    put_texts(o, ONNX_FUNCTION_ATTR, f->attr, f->n_attrs);
    for (int i = 0; i < f->n_nodes; i++)
        WEFT_TRY(put_node(o, ONNX_FUNCTION_NODE, &f->node[i]));
    put_text(o, ONNX_FUNCTION_DOC, f->doc);
    for (int i = 0; i < f->n_opsets; i++)
        put_opset(o, ONNX_FUNCTION_OPSET, &f->opset[i]);
    put_text(o, ONNX_FUNCTION_DOMAIN, f->domain);
    for (int i = 0; i < f->n_defaults; i++)
        WEFT_TRY(put_attr(o, ONNX_FUNCTION_FALLBACK, &f->fallback[i]));
    put_text(o, ONNX_FUNCTION_OVERLOAD, f->overload);
    weft_wire_end(o, begin);
    return WEFT_OK;
}

static weft_status put_model(weft_wire_out *o, const weft_onnx *m)
{
    put_int(o, ONNX_MODEL_IR_VERSION, m->ir_version);
    put_text(o, ONNX_MODEL_PRODUCER, m->producer);
    put_text(o, ONNX_MODEL_PRODUCER_VERSION, m->producer_version);
    put_text(o, ONNX_MODEL_DOMAIN, m->domain);
    put_int(o, ONNX_MODEL_VERSION, m->model_version);
    put_text(o, ONNX_MODEL_DOC, m->doc);
    WEFT_TRY(put_graph(o, ONNX_MODEL_GRAPH, m->graph));
    for (int i = 0; i < m->n_opsets; i++)
        put_opset(o, ONNX_MODEL_OPSET, &m->opset[i]);
    for (int i = 0; i < m->n_metadata; i++)
        put_entry(o, ONNX_MODEL_METADATA, m->metadata[i].key, m->metadata[i].value);
    for (int i = 0; i < m->n_functions; i++)
        WEFT_TRY(put_function(o, &m->function[i]));
    return WEFT_OK;
}

weft_status weft_onnx_bytes(const weft_onnx *o, weft_arena *a, const uint8_t **data, size_t *size)
{
    weft_wire_out measure = {NULL, NULL, 0, 0}, out = {a, NULL, 0, 0};
    weft_status status = put_model(&measure, o);

    *data = NULL;
    *size = 0;
    if (status != WEFT_OK)
        return weft_fail_in(status, o->file);
    out.room = measure.n;
    out.at = weft_arena_alloc(a, out.room);
    WEFT_TRY(put_model(&out, o));
    assert(out.n == measure.n);
    *data = out.at;
    *size = out.n;
    return WEFT_OK;
}

weft_status weft_onnx_write(const weft_onnx *o, const char *path)
{
    weft_arena *a = weft_arena_new();
    const uint8_t *data;
    size_t size;
    weft_status status = weft_onnx_bytes(o, a, &data, &size);

    if (status == WEFT_OK)
        status = weft_file_write(path, data, size);
    weft_arena_free(a);
    return status;
}
