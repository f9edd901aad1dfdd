/* SPDX-License-Identifier: MIT */
/* onnx_annotate.c: a copy of an ONNX file with notes on its nodes.
 *
 * 1. The document is read as always, which checks it.
 * 2. Then it is walked once more as bytes. What is not changed, weights above all, becomes a part
 *    that points into the document: the copy is a list of such parts with new bytes in between, and
 *    takes memory for the notes only.
 * 3. A node of the main graph is found by the name of one of its results and by its operator. Nodes
 *    that were folded away or unfolded have no such result, or another operator, and stay as they
 *    are; so do the bodies of functions and sub-graphs.
 * 4. Notes go to the end of NodeProto and ModelProto, as fields metadata_props. Those that an
 * earlier call left there are dropped. Lengths of the messages around them are written anew.
 *
 * Readers that do not know metadata_props of nodes (it came with IR version 10) skip it. Netron
 * shows it. doc_string, which older viewers show, is left to the authors of the model. */
#include "import.h"
#include "onnx_fields.h"

#include <string.h>

enum { NODE_METADATA = 9 }; /* NodeProto.metadata_props */

typedef struct copy {
    const weft_notes *notes;
    const weft_onnx *doc;
    weft_map *node; /* name of a result -> node of the notes */
    weft_parts part;
    weft_annotated *out;
    weft_arena *a;
} copy;

/* --- parts ----------------------------------------------------------------------------------- */

void weft_parts_add(weft_parts *p, const void *at, size_t n)
{
    weft_bytes *last = p->list.n > 0 ? &p->list.at[p->list.n - 1] : NULL;

    if (last != NULL && last->size > 0 && (const uint8_t *)last->data + last->size == at)
        last->size += n;
    else if (n > 0)
        WEFT_PUSH(p->arena, p->list, ((weft_bytes){at, n}));
}

int weft_parts_begin(weft_parts *p)
{
    WEFT_PUSH(p->arena, p->list, ((weft_bytes){NULL, 0}));
    return p->list.n - 1;
}

void weft_parts_end(weft_parts *p, int field, int begin)
{
    weft_wire_out head = {.arena = p->arena};
    size_t size = 0;

    for (int i = begin + 1; i < p->list.n; i++)
        size += p->list.at[i].size;
    weft_wire_put_varint(&head, 0, (uint64_t)field << 3 | WEFT_WIRE_BYTES);
    weft_wire_put_varint(&head, 0, size);
    p->list.at[begin] = (weft_bytes){head.at, head.n};
}

static void add_notes(copy *c, int field, const weft_note *note, int n)
{
    weft_wire_out o = {.arena = c->a};

    for (int i = 0; i < n; i++) {
        size_t begin = weft_wire_begin(&o, field);

        weft_wire_put_bytes(&o, ONNX_ENTRY_KEY, note[i].key, strlen(note[i].key));
        weft_wire_put_bytes(&o, ONNX_ENTRY_VALUE, note[i].value, strlen(note[i].value));
        weft_wire_end(&o, begin);
    }
    weft_parts_add(&c->part, o.at, o.n);
}

/* --- the walk -------------------------------------------------------------------------------- */

/* An entry of metadata that an earlier call wrote. */
static bool is_ours(const weft_wire_field *f)
{
    weft_onnx_entry entry;
    size_t n = strlen(WEFT_NOTE_PREFIX);

    return f->type == WEFT_WIRE_BYTES && weft_onnx_field_entry(f, &entry) == WEFT_OK &&
           entry.key.n >= n && memcmp(entry.key.at, WEFT_NOTE_PREFIX, n) == 0;
}

static bool is_call(const weft_onnx *doc, weft_slice op, weft_slice domain)
{
    for (int i = 0; i < doc->n_functions; i++) {
        const weft_onnx_function *f = &doc->function[i];

        if (f->name.n == op.n && f->domain.n == domain.n &&
            (op.n == 0 || memcmp(f->name.at, op.at, op.n) == 0) &&
            (domain.n == 0 || memcmp(f->domain.at, domain.at, domain.n) == 0))
            return true;
    }
    return false;
}

/* What the walk has to know of a node. */
typedef struct node_head {
    int node;    /* of the notes, or -1 */
    bool is_old; /* has notes of an earlier call */
} node_head;

static weft_status read_head(const copy *c, weft_wire w, node_head *out)
{
    weft_slice op = {"", 0}, domain = {"", 0}, name;
    weft_wire_field f;

    *out = (node_head){-1, false};
    while (weft_wire_more(&w)) {
        WEFT_TRY(weft_wire_next(&w, &f));
        if (f.number == ONNX_NODE_OP_TYPE)
            WEFT_TRY(weft_onnx_field_text(&f, &op));
        if (f.number == ONNX_NODE_DOMAIN)
            WEFT_TRY(weft_onnx_field_text(&f, &domain));
        if (f.number == NODE_METADATA)
            out->is_old |= is_ours(&f);
        if (f.number == ONNX_NODE_OUTPUT && out->node < 0) {
            WEFT_TRY(weft_onnx_field_text(&f, &name));
            out->node = name.n > 0 ? weft_map_get(c->node, name.at, name.n) : -1;
        }
    }
    if (out->node >= 0) {
        const char *expected = c->notes->op[out->node];

        if (op.n != strlen(expected) || memcmp(op.at, expected, op.n) != 0 ||
            is_call(c->doc, op, domain))
            out->node = -1;
    }
    return WEFT_OK;
}

/* The fields of a message but those with number `field` that are ours. */
static weft_status add_rest(copy *c, weft_wire w, int field)
{
    weft_wire_field f;

    while (weft_wire_more(&w)) {
        const uint8_t *from = w.at;

        WEFT_TRY(weft_wire_next(&w, &f));
        if (f.number != field || !is_ours(&f))
            weft_parts_add(&c->part, from, (size_t)(w.at - from));
    }
    return WEFT_OK;
}

/* A node, from its tag on. */
static weft_status add_node(copy *c, const uint8_t *from, const weft_wire_field *f)
{
    const weft_notes *notes = c->notes;
    node_head head;
    int begin;

    WEFT_TRY(read_head(c, f->body, &head));
    c->out->n_nodes++;
    if (head.node < 0 && !head.is_old) {
        weft_parts_add(&c->part, from, (size_t)(f->body.end - from));
        return WEFT_OK;
    }
    begin = weft_parts_begin(&c->part);
    WEFT_TRY(add_rest(c, f->body, NODE_METADATA));
    if (head.node >= 0) {
        const int *at = notes->note_at + head.node;

        add_notes(c, NODE_METADATA, notes->note + at[0], at[1] - at[0]);
        c->out->n_noted++;
    }
    weft_parts_end(&c->part, ONNX_GRAPH_NODE, begin);
    return WEFT_OK;
}

static weft_status add_graph(copy *c, weft_wire w)
{
    int begin = weft_parts_begin(&c->part);
    weft_wire_field f;

    while (weft_wire_more(&w)) {
        const uint8_t *from = w.at;

        WEFT_TRY(weft_wire_next(&w, &f));
        if (f.number == ONNX_GRAPH_NODE && f.type == WEFT_WIRE_BYTES)
            WEFT_TRY(add_node(c, from, &f));
        else
            weft_parts_add(&c->part, from, (size_t)(w.at - from));
    }
    weft_parts_end(&c->part, ONNX_MODEL_GRAPH, begin);
    return WEFT_OK;
}

static weft_status add_model(copy *c, weft_wire w)
{
    weft_wire_field f;

    while (weft_wire_more(&w)) {
        const uint8_t *from = w.at;

        WEFT_TRY(weft_wire_next(&w, &f));
        if (f.number == ONNX_MODEL_GRAPH && f.type == WEFT_WIRE_BYTES)
            WEFT_TRY(add_graph(c, f.body));
        else if (f.number != ONNX_MODEL_METADATA || !is_ours(&f))
            weft_parts_add(&c->part, from, (size_t)(w.at - from));
    }
    add_notes(c, ONNX_MODEL_METADATA, c->notes->model, c->notes->n_model);
    return WEFT_OK;
}

/* --- documents and files --------------------------------------------------------------------- */

static const char *external_file(const weft_onnx *doc, weft_arena *a)
{
    for (int i = 0; i < doc->graph->n_initializers; i++) {
        const weft_onnx_tensor *t = &doc->graph->initializer[i];

        if (t->is_external && t->location.n > 0)
            return weft_arena_text(a, t->location.at, t->location.n);
    }
    return NULL;
}

weft_status weft_onnx_annotate(weft_bytes document, const char *file, const weft_notes *notes,
                               weft_arena *a, weft_annotated *out)
{
    copy c = {.notes = notes, .node = weft_map_new(a), .part = {.arena = a}, .out = out, .a = a};
    const uint8_t *at = document.data;
    weft_wire w = {at, at + document.size, at};
    weft_status status;
    weft_onnx *doc;

    *out = (weft_annotated){0};
    WEFT_TRY(weft_onnx_read(document.data, document.size, file, &doc));
    for (int u = 0; u < notes->n_nodes; u++)
        weft_map_set(c.node, notes->result[u], strlen(notes->result[u]), u);
    c.doc = doc;
    status = add_model(&c, w);
    out->external = external_file(doc, a);
    weft_onnx_free(doc);
    out->part = c.part.list.at;
    out->n_parts = c.part.list.n;
    return status;
}

/* `a` is for what the caller is told. */
static weft_status annotate_to(const char *path, weft_bytes document, const char *source,
                               const weft_notes *notes, weft_arena *a, weft_annotated *out)
{
    weft_arena *parts = weft_arena_new();
    weft_status status = weft_onnx_annotate(document, source, notes, parts, out);

    if (status == WEFT_OK)
        status = weft_file_write_parts(path, out->part, out->n_parts);
    if (status == WEFT_OK && out->external != NULL)
        out->external = weft_arena_word(a, out->external);
    out->part = NULL;
    out->n_parts = 0;
    weft_arena_free(parts);
    return status;
}

static weft_status annotate_built_in(const weft_graph *g, const char *source,
                                     const weft_notes *notes, const char *path, weft_annotated *out)
{
    weft_arena *a = weft_arena_new();
    const uint8_t *data;
    size_t size;
    weft_status status = weft_onnx_of_graph(g, a, &data, &size);

    if (status == WEFT_OK)
        status = annotate_to(path, (weft_bytes){data, size}, source, notes, a, out);
    weft_arena_free(a);
    return status;
}

weft_status weft_model_annotate(const char *source, const weft_model_options *options,
                                const weft_notes *notes, const char *path, weft_arena *a,
                                weft_annotated *out)
{
    weft_model_options plain = *options;
    weft_status status;
    weft_model *m;
    weft_file f;

    if (weft_model_is_file(source)) {
        WEFT_TRY(weft_file_open(source, &f));
        status = annotate_to(path, (weft_bytes){f.data, f.size}, source, notes, a, out);
        if (weft_file_check(&f) != WEFT_OK)
            status = WEFT_E_INPUT;
        weft_file_close(&f);
        return status;
    }
    plain.train = false;
    WEFT_TRY(weft_model_open(source, &plain, &m));
    status = annotate_built_in(m->graph, source, notes, path, out);
    weft_model_free(m);
    return status;
}
