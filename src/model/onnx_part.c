/* SPDX-License-Identifier: MIT */
/* onnx_part.c: some nodes of an ONNX document as a document of their own.
 *
 * 1. The document is walked as bytes: where nodes and initializers of its main graph lie, and which
 *    fields of the model (operator sets, functions, producer) every part needs.
 * 2. A part is a list of such bytes with a new frame: inputs, outputs, values between, the name of
 *    the graph and lengths. Nodes and weights stay byte for byte and take no memory here.
 *
 * Files of IR version 3 list their weights among the inputs; parts do not, and say so by version 4.
 * Data in files beside the document stay there: locations are copied as they are. */
#include "onnx_fields.h"

enum { LEAST_IR = 4 }; /* from here on weights need not be inputs */

typedef WEFT_VEC(weft_bytes) bytes_list;

static weft_bytes field_bytes(const uint8_t *from, const weft_wire *w)
{
    return (weft_bytes){from, (size_t)(w->at - from)};
}

/* The last graph of a model counts, as in the reader. */
static weft_status read_model(weft_wire w, weft_arena *a, weft_onnx_index *out, weft_wire *graph)
{
    bytes_list head = {0};
    weft_wire_field f;

    while (weft_wire_more(&w)) {
        const uint8_t *from = w.at;

        WEFT_TRY(weft_wire_next(&w, &f));
        if (f.number == ONNX_MODEL_GRAPH)
            WEFT_TRY(weft_wire_body(&f, graph));
        else if (f.number == ONNX_MODEL_IR_VERSION)
            WEFT_TRY(weft_wire_int(&f, &out->ir_version));
        else if (f.number != ONNX_MODEL_METADATA)
            WEFT_PUSH(a, head, field_bytes(from, &w));
    }
    out->head = head.at;
    out->n_head = head.n;
    return WEFT_OK;
}

weft_status weft_onnx_index_read(weft_bytes document, weft_arena *a, weft_onnx_index *out)
{
    const uint8_t *at = document.data;
    weft_wire graph = {NULL, NULL, at};
    bytes_list node = {0}, initializer = {0};
    weft_wire_field f;

    *out = (weft_onnx_index){0};
    WEFT_TRY(read_model((weft_wire){at, at + document.size, at}, a, out, &graph));
    while (weft_wire_more(&graph)) {
        const uint8_t *from = graph.at;

        WEFT_TRY(weft_wire_next(&graph, &f));
        if (f.number == ONNX_GRAPH_NODE)
            WEFT_PUSH(a, node, field_bytes(from, &graph));
        if (f.number == ONNX_GRAPH_INITIALIZER)
            WEFT_PUSH(a, initializer, field_bytes(from, &graph));
    }
    out->node = node.at;
    out->n_nodes = node.n;
    out->initializer = initializer.at;
    out->n_initializers = initializer.n;
    return WEFT_OK;
}

/* --- parts ----------------------------------------------------------------------------------- */

static void add_out(weft_parts *p, const weft_wire_out *o)
{
    weft_parts_add(p, o->at, o->n);
}

static void add_values(weft_parts *p, const weft_onnx_part *part)
{
    weft_wire_out o = {.arena = p->arena};

    for (int i = 0; i < part->n_inputs; i++)
        weft_onnx_put_value(&o, ONNX_GRAPH_INPUT, &part->input[i]);
    for (int i = 0; i < part->n_outputs; i++)
        weft_onnx_put_value(&o, ONNX_GRAPH_OUTPUT, &part->output[i]);
    for (int i = 0; i < part->n_values; i++)
        weft_onnx_put_value(&o, ONNX_GRAPH_VALUE, &part->value[i]);
    add_out(p, &o);
}

static void add_graph(weft_parts *p, const weft_onnx_index *from, const weft_onnx_part *part)
{
    weft_wire_out name = {.arena = p->arena}, extra = {.arena = p->arena};
    int begin = weft_parts_begin(p);

    for (int i = 0; i < part->n_nodes; i++)
        weft_parts_add(p, from->node[part->node[i]].data, from->node[part->node[i]].size);
    weft_wire_put_bytes(&name, ONNX_GRAPH_NAME, part->name, strlen(part->name));
    add_out(p, &name);
    for (int i = 0; i < part->n_initializers; i++) {
        const weft_bytes *b = &from->initializer[part->initializer[i]];

        weft_parts_add(p, b->data, b->size);
    }
    for (int i = 0; i < part->n_extra; i++)
        weft_onnx_put_tensor(&extra, ONNX_GRAPH_INITIALIZER, &part->extra[i]);
    add_out(p, &extra);
    add_values(p, part);
    weft_parts_end(p, ONNX_MODEL_GRAPH, begin);
}

static void add_metadata(weft_parts *p, const weft_onnx_part *part)
{
    weft_wire_out o = {.arena = p->arena};

    for (int i = 0; i < part->n_metadata; i++) {
        const weft_onnx_entry *e = &part->metadata[i];
        size_t begin = weft_wire_begin(&o, ONNX_MODEL_METADATA);

        weft_wire_put_bytes(&o, ONNX_ENTRY_KEY, e->key.at, e->key.n);
        weft_wire_put_bytes(&o, ONNX_ENTRY_VALUE, e->value.at, e->value.n);
        weft_wire_end(&o, begin);
    }
    add_out(p, &o);
}

void weft_onnx_part_bytes(const weft_onnx_index *from, const weft_onnx_part *part, weft_arena *a,
                          const weft_bytes **out, int *n)
{
    int64_t version = from->ir_version < LEAST_IR ? LEAST_IR : from->ir_version;
    weft_wire_out ir = {.arena = a};
    weft_parts p = {.arena = a};

    weft_wire_put_varint(&ir, ONNX_MODEL_IR_VERSION, (uint64_t)version);
    add_out(&p, &ir);
    for (int i = 0; i < from->n_head; i++)
        weft_parts_add(&p, from->head[i].data, from->head[i].size);
    add_graph(&p, from, part);
    add_metadata(&p, part);
    *out = p.list.at;
    *n = p.list.n;
}
