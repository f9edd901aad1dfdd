/* SPDX-License-Identifier: MIT */
/* Copies of ONNX files with notes on their nodes: the same network, every other byte as it was. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include "onnx_fields.h"
#include "problem.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { NODE_METADATA = 9 }; /* NodeProto.metadata_props of onnx.proto3 */

/* --- help ------------------------------------------------------------------------------------ */

/* Two notes on each node, one on the model; the second note names the node. */
static weft_notes notes_of(const weft_graph *g, weft_arena *a)
{
    static const weft_note whole = {"weft.value", "1.5 ms (proved optimal)"};
    const char **result = WEFT_NEW(a, const char *, g->n_nodes);
    const char **op = WEFT_NEW(a, const char *, g->n_nodes);
    int *at = WEFT_NEW(a, int, g->n_nodes + 1);
    weft_note *note = WEFT_NEW(a, weft_note, 2 * g->n_nodes);

    for (int u = 0; u < g->n_nodes; u++) {
        result[u] = g->tensor[g->res[g->res_at[u]]].name;
        op[u] = g->node[u].op;
        note[2 * u] = (weft_note){"weft.device", "gpu0"};
        note[2 * u + 1] = (weft_note){"weft.note", g->node[u].name};
        at[u + 1] = 2 * u + 2;
    }
    return (weft_notes){g->n_nodes, result, op, at, note, 1, &whole};
}

static weft_bytes joined(const weft_annotated *n, weft_arena *a)
{
    size_t size = 0;
    char *bytes;

    for (int i = 0; i < n->n_parts; i++)
        size += n->part[i].size;
    bytes = weft_arena_alloc(a, size + 1);
    size = 0;
    for (int i = 0; i < n->n_parts; i++) {
        memcpy(bytes + size, n->part[i].data, n->part[i].size);
        size += n->part[i].size;
    }
    return (weft_bytes){bytes, size};
}

static weft_bytes annotated(weft_bytes document, const weft_notes *notes, weft_arena *a)
{
    weft_annotated n;

    CHECK_OK(weft_onnx_annotate(document, "copy.onnx", notes, a, &n));
    return joined(&n, a);
}

static uint64_t hash_of(weft_bytes document)
{
    weft_model *m;
    uint64_t hash;

    CHECK_OK(weft_onnx_import(document.data, document.size, "copy.onnx", NULL, &m));
    hash = weft_graph_hash(m->graph);
    weft_model_free(m);
    return hash;
}

/* Field `number` of a message, the i-th of them; false: there are not so many. */
static bool find_field(weft_wire w, int number, int i, weft_wire *out)
{
    weft_wire_field f;

    while (weft_wire_more(&w)) {
        CHECK_OK(weft_wire_next(&w, &f));
        if (f.number != number || i-- > 0)
            continue;
        *out = f.body;
        return true;
    }
    return false;
}

static weft_wire wire_of(weft_bytes b)
{
    const uint8_t *at = b.data;

    return (weft_wire){at, at + b.size, at};
}

static bool is_text(weft_wire w, const char *text)
{
    return (size_t)(w.end - w.at) == strlen(text) && memcmp(w.at, text, strlen(text)) == 0;
}

/* The value of a key in the metadata (field `number`) of a message; at NULL: none. */
static weft_wire value_of(weft_wire message, int number, const char *key)
{
    weft_wire entry, part;

    for (int i = 0; find_field(message, number, i, &entry); i++)
        if (find_field(entry, ONNX_ENTRY_KEY, 0, &part) && is_text(part, key) &&
            find_field(entry, ONNX_ENTRY_VALUE, 0, &part))
            return part;
    return (weft_wire){NULL, NULL, NULL};
}

/* Nodes of the main graph that have both notes, and no more than two. */
static int count_noted(weft_bytes document)
{
    weft_wire graph, node, entry;
    int n = 0;

    CHECK(find_field(wire_of(document), ONNX_MODEL_GRAPH, 0, &graph));
    for (int i = 0; find_field(graph, ONNX_GRAPH_NODE, i, &node); i++) {
        if (value_of(node, NODE_METADATA, "weft.device").at == NULL)
            continue;
        CHECK(is_text(value_of(node, NODE_METADATA, "weft.device"), "gpu0"));
        CHECK(value_of(node, NODE_METADATA, "weft.note").at != NULL);
        CHECK(!find_field(node, NODE_METADATA, 2, &entry));
        n++;
    }
    return n;
}

/* --- files ----------------------------------------------------------------------------------- */

typedef struct known {
    const char *file;
    int n_noted;          /* nodes of the file that are nodes of the graph */
    const char *external; /* or NULL */
} known;

static void check_file(const known *k)
{
    weft_arena *a = weft_arena_new();
    const char *path = weft_arena_print(a, "%s/onnx/%s", WEFT_TEST_DATA, k->file);
    weft_notes notes, none = {0};
    weft_annotated n;
    weft_bytes document, once;
    weft_model *m;
    weft_file f;

    CHECK_OK(weft_file_open(path, &f));
    CHECK_OK(weft_model_open(path, NULL, &m));
    document = (weft_bytes){f.data, f.size};
    notes = notes_of(m->graph, a);
    none.note_at = notes.note_at;
    CHECK_OK(weft_onnx_annotate(document, path, &notes, a, &n));
    once = joined(&n, a);
    CHECK_INT(n.n_nodes, m->n_nodes);
    CHECK_INT(n.n_noted, count_noted(once));
    CHECK_INT(n.n_noted, k->n_noted);
    CHECK(k->external ? strcmp(n.external, k->external) == 0 : n.external == NULL);
    CHECK(hash_of(once) == hash_of(document));
    CHECK(is_text(value_of(wire_of(once), ONNX_MODEL_METADATA, "weft.value"), notes.model->value));
    /* again: nothing twice; without notes: what there was before */
    CHECK_INT(annotated(once, &notes, a).size, once.size);
    CHECK(memcmp(annotated(once, &notes, a).data, once.data, once.size) == 0);
    CHECK_INT(annotated(once, &none, a).size, document.size);
    CHECK(memcmp(annotated(once, &none, a).data, document.data, document.size) == 0);
    weft_model_free(m);
    weft_file_close(&f);
    weft_arena_free(a);
}

TEST(files_keep_their_network_and_get_notes)
{
    /* 20 nodes, 2 more that cast to f16. Of 34, 14 are constants, which are folded. Of 11, one
     * calls a function. Of 172, 50 are constants and one passes such on. */
    static const known files[] = {
        {"small_mlp.onnx",                  20,  NULL                             },
        {"small_mlp_constnodes.onnx",       20,  NULL                             },
        {"small_mlp_external.onnx",         20,  "small_mlp_external.data"        },
        {"small_mlp_f16.onnx",              22,  NULL                             },
        {"small_mlp_function.onnx",         10,  NULL                             },
        {"small_mlp_packed.onnx",           20,  NULL                             },
        {"alexnet.onnx",                    20,  NULL                             },
        {"small_transformer_external.onnx", 121, "small_transformer_external.data"},
    };

    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        check_file(&files[i]);
}

/* --- large weights --------------------------------------------------------------------------- */

/* y = Relu(x), z = Add(y, w); w has n_bytes of raw data, all zero. */
static weft_bytes with_weight(size_t n_bytes, weft_arena *a)
{
    weft_wire_out o = {.arena = a};
    const int64_t n = (int64_t)n_bytes / 4;
    size_t graph, part, type, tensor, shape, dim;
    void *raw = calloc(n_bytes, 1);

    weft_wire_put_varint(&o, ONNX_MODEL_IR_VERSION, 8);
    graph = weft_wire_begin(&o, ONNX_MODEL_GRAPH);
    for (int i = 0; i < 2; i++) {
        part = weft_wire_begin(&o, ONNX_GRAPH_NODE);
        weft_wire_put_bytes(&o, ONNX_NODE_INPUT, i ? "y" : "x", 1);
        if (i)
            weft_wire_put_bytes(&o, ONNX_NODE_INPUT, "w", 1);
        weft_wire_put_bytes(&o, ONNX_NODE_OUTPUT, i ? "z" : "y", 1);
        weft_wire_put_bytes(&o, ONNX_NODE_OP_TYPE, i ? "Add" : "Relu", i ? 3 : 4);
        weft_wire_end(&o, part);
    }
    part = weft_wire_begin(&o, ONNX_GRAPH_INITIALIZER);
    weft_wire_put_varint(&o, ONNX_TENSOR_DIMS, (uint64_t)n);
    weft_wire_put_varint(&o, ONNX_TENSOR_DATA_TYPE, WEFT_F32);
    weft_wire_put_bytes(&o, ONNX_TENSOR_NAME, "w", 1);
    weft_wire_put_bytes(&o, ONNX_TENSOR_RAW, raw, n_bytes);
    weft_wire_end(&o, part);
    for (int i = 0; i < 2; i++) {
        part = weft_wire_begin(&o, i ? ONNX_GRAPH_OUTPUT : ONNX_GRAPH_INPUT);
        weft_wire_put_bytes(&o, ONNX_VALUE_NAME, i ? "z" : "x", 1);
        type = weft_wire_begin(&o, ONNX_VALUE_TYPE);
        tensor = weft_wire_begin(&o, ONNX_TYPE_TENSOR);
        weft_wire_put_varint(&o, ONNX_TENSOR_TYPE_ELEM, WEFT_F32);
        shape = weft_wire_begin(&o, ONNX_TENSOR_TYPE_SHAPE);
        dim = weft_wire_begin(&o, ONNX_SHAPE_DIM);
        weft_wire_put_varint(&o, ONNX_DIM_VALUE, (uint64_t)n);
        weft_wire_end(&o, dim);
        weft_wire_end(&o, shape);
        weft_wire_end(&o, tensor);
        weft_wire_end(&o, type);
        weft_wire_end(&o, part);
    }
    weft_wire_end(&o, graph);
    part = weft_wire_begin(&o, ONNX_MODEL_OPSET);
    weft_wire_put_varint(&o, ONNX_OPSET_VERSION, 13);
    weft_wire_end(&o, part);
    free(raw);
    return (weft_bytes){o.at, o.n};
}

static weft_graph *graph_of(weft_bytes document, weft_model **m)
{
    CHECK_OK(weft_onnx_import(document.data, document.size, "large.onnx", NULL, m));
    return (*m)->graph;
}

/* Parts of the copy are those of the document, with a few bytes in between. */
TEST(weights_are_not_copied)
{
    enum { MB = 1000000 };
    weft_arena *a = weft_arena_new();
    weft_bytes document = with_weight(8 * MB, a);
    const char *from = document.data;
    size_t n_new = 0, n_old = 0;
    weft_annotated n;
    weft_notes notes;
    weft_model *m;

    notes = notes_of(graph_of(document, &m), a);
    CHECK_OK(weft_onnx_annotate(document, "large.onnx", &notes, a, &n));
    CHECK_INT(n.n_noted, 2);
    for (int i = 0; i < n.n_parts; i++) {
        const char *at = n.part[i].data;
        bool is_old = at >= from && at < from + document.size;

        n_old += is_old ? n.part[i].size : 0;
        n_new += is_old ? 0 : n.part[i].size;
    }
    CHECK(n_old > 8 * MB);
    CHECK(n_new < 300);
    CHECK(n.n_parts < 12);
    CHECK(hash_of(joined(&n, a)) == hash_of(document));
    weft_model_free(m);
    weft_arena_free(a);
}

/* Also over the file itself. */
TEST(copies_are_written_whole)
{
    weft_arena *a = weft_arena_new();
    weft_bytes document = with_weight(3000000, a);
    char folder[] = "/tmp/weft-annotate-XXXXXX";
    const char *source, *path[2];
    weft_model_options options = {0};
    weft_annotated n;
    weft_notes notes;
    weft_model *m;

    assert_non_null(mkdtemp(folder));
    source = weft_arena_print(a, "%s/net.onnx", folder);
    path[0] = weft_arena_print(a, "%s/copy.onnx", folder);
    path[1] = source;
    CHECK_OK(weft_file_write(source, document.data, document.size));
    notes = notes_of(graph_of(document, &m), a);
    for (int i = 0; i < 2; i++) {
        weft_bytes expected = annotated(document, &notes, a);
        weft_file f;

        CHECK_OK(weft_model_annotate(source, &options, &notes, path[i], a, &n));
        CHECK_INT(n.n_noted, 2);
        CHECK_OK(weft_file_open(path[i], &f));
        CHECK_INT(f.size, expected.size);
        CHECK(memcmp(f.data, expected.data, f.size) == 0);
        weft_file_close(&f);
    }
    CHECK_INT(weft_model_annotate(source, &options, &notes, "/nowhere/at/all.onnx", a, &n),
              WEFT_E_SYSTEM);
    weft_model_free(m);
    unlink(path[0]);
    unlink(source);
    rmdir(folder);
    weft_arena_free(a);
}

/* --- what does not get notes ----------------------------------------------------------------- */

TEST(another_operator_with_the_same_result_gets_no_note)
{
    weft_arena *a = weft_arena_new();
    weft_bytes document = with_weight(400, a);
    const char *op[] = {"Add", "Add"};
    weft_annotated n;
    weft_notes notes;
    weft_model *m;

    notes = notes_of(graph_of(document, &m), a);
    notes.op = op;
    CHECK_OK(weft_onnx_annotate(document, "net.onnx", &notes, a, &n));
    CHECK_INT(n.n_nodes, 2);
    CHECK_INT(n.n_noted, 1);
    weft_model_free(m);
    weft_arena_free(a);
}

TEST(bytes_that_are_no_model_are_refused)
{
    weft_arena *a = weft_arena_new();
    weft_bytes document = with_weight(400, a);
    weft_notes none = {0};
    weft_annotated n;

    for (size_t cut = 1; cut < document.size; cut += 7) {
        weft_bytes part = {document.data, document.size - cut};

        if (weft_onnx_annotate(part, "cut.onnx", &none, a, &n) == WEFT_OK)
            CHECK_INT(joined(&n, a).size, part.size); /* cut between two fields */
        else
            CHECK(strncmp(weft_message(), "cut.onnx: ", 10) == 0);
    }
    weft_arena_free(a);
}

/* --- built-in models ------------------------------------------------------------------------- */

static bool same_text(const char *x, const char *y)
{
    return strcmp(x, y) == 0;
}

/* Nodes, operators, names, shapes and work are the same. Numbers of tensors are not: files list
 * weights first. */
static void check_same_network(const weft_model *x, const weft_model *y, weft_arena *a)
{
    weft_summary *sx = weft_summarize(x, a), *sy = weft_summarize(y, a);

    CHECK_INT(y->graph->n_nodes, x->graph->n_nodes);
    CHECK_INT(y->graph->n_edges, x->graph->n_edges);
    CHECK_INT(sy->total.macs, sx->total.macs);
    CHECK_INT(sy->total.flops, sx->total.flops);
    CHECK_INT(sy->total.read_bytes, sx->total.read_bytes);
    CHECK_INT(sy->weight_bytes, sx->weight_bytes);
    CHECK_INT(sy->peak_bytes, sx->peak_bytes);
    for (int u = 0; u < x->graph->n_nodes; u++) {
        const weft_node *p = &x->graph->node[u], *q = &y->graph->node[u];

        CHECK(same_text(p->name, q->name) && same_text(p->op, q->op));
        CHECK(same_text(p->domain, q->domain) && p->n_attrs == q->n_attrs);
    }
}

TEST(built_in_models_become_files)
{
    weft_arena *a = weft_arena_new();
    const char *const *names;
    weft_model_options options = {.optimizer = WEFT_ADAM};

    for (int i = 0, n_names = weft_zoo_list(a, &names); i < n_names; i++) {
        weft_model *m, *again;
        const uint8_t *data;
        weft_annotated n;
        weft_notes notes;
        size_t size;

        if (same_text(names[i], "gpt3"))
            continue; /* the same as gpt2, larger */
        CHECK_OK(weft_model_open(names[i], &options, &m));
        CHECK_OK(weft_onnx_of_graph(m->graph, a, &data, &size));
        CHECK_OK(weft_onnx_import(data, size, m->name, &options, &again));
        check_same_network(m, again, a);
        notes = notes_of(m->graph, a);
        CHECK_OK(weft_onnx_annotate((weft_bytes){data, size}, m->name, &notes, a, &n));
        CHECK_INT(n.n_noted, m->graph->n_nodes);
        CHECK_INT(n.n_nodes, m->graph->n_nodes);
        weft_model_free(again);
        weft_model_free(m);
    }
    weft_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_keep_their_network_and_get_notes),
        cmocka_unit_test(weights_are_not_copied),
        cmocka_unit_test(copies_are_written_whole),
        cmocka_unit_test(another_operator_with_the_same_result_gets_no_note),
        cmocka_unit_test(bytes_that_are_no_model_are_refused),
        cmocka_unit_test(built_in_models_become_files),
    };

    return RUN_TESTS(tests);
}
