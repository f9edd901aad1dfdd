/* SPDX-License-Identifier: MIT */
/* fuzz_onnx.c: ONNX files from anywhere.
 *
 * 1. The importer refuses the bytes or makes a graph that keeps its invariants.
 * 2. A document that the reader accepts can be written; what was written is accepted again, and
 *    written a second time it has the same bytes.
 * 3. A copy of a file that can be imported, with notes on its nodes, is the same network; annotated
 *    again it has the same bytes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "invariants.h"
#include "problem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* One note on every node that has a result. */
static weft_notes make_notes(const weft_graph *g, weft_arena *a)
{
    static const weft_note said = {WEFT_NOTE_PREFIX "device", "cpu"};
    const char **result = WEFT_NEW(a, const char *, g->n_nodes + 1);
    const char **op = WEFT_NEW(a, const char *, g->n_nodes + 1);
    int *at = WEFT_NEW(a, int, g->n_nodes + 2), n = 0;
    weft_note *note = WEFT_NEW(a, weft_note, g->n_nodes + 1);

    for (int u = 0; u < g->n_nodes; u++) {
        if (g->res_at[u] == g->res_at[u + 1] || g->res[g->res_at[u]] < 0)
            continue;
        result[n] = g->tensor[g->res[g->res_at[u]]].name;
        op[n] = g->node[u].op;
        note[n] = said;
        n++;
        at[n] = n;
    }
    return (weft_notes){n, result, op, at, note, 1, &said};
}

static weft_bytes annotated(weft_bytes document, const weft_notes *notes, weft_arena *a)
{
    weft_annotated copy;
    size_t size = 0;
    char *bytes;

    if (weft_onnx_annotate(document, "input.onnx", notes, a, &copy) != WEFT_OK)
        abort();
    for (int i = 0; i < copy.n_parts; i++)
        size += copy.part[i].size;
    bytes = weft_arena_alloc(a, size + 1);
    size = 0;
    for (int i = 0; i < copy.n_parts; i++) {
        memcpy(bytes + size, copy.part[i].data, copy.part[i].size);
        size += copy.part[i].size;
    }
    return (weft_bytes){bytes, size};
}

static void check_annotated(const weft_graph *g, const uint8_t *data, size_t size)
{
    weft_arena *a = weft_arena_new();
    weft_notes notes = make_notes(g, a);
    weft_bytes once = annotated((weft_bytes){data, size}, &notes, a);
    weft_bytes twice = annotated(once, &notes, a);
    weft_model *model = NULL;

    if (once.size != twice.size || memcmp(once.data, twice.data, once.size) != 0)
        abort();
    if (weft_onnx_import(once.data, once.size, "input.onnx", NULL, &model) != WEFT_OK ||
        weft_graph_hash(model->graph) != weft_graph_hash(g))
        abort();
    weft_model_free(model);
    weft_arena_free(a);
}

static void check_import(const uint8_t *data, size_t size)
{
    weft_model *model = NULL;

    if (weft_onnx_import(data, size, "input.onnx", NULL, &model) != WEFT_OK)
        return;
    weft_graph_check(model->graph);
    check_annotated(model->graph, data, size);
    weft_model_free(model);
}

static void check_same_bytes(const uint8_t *data, size_t size, weft_arena *a)
{
    const uint8_t *written = NULL;
    size_t n_written = 0;
    weft_onnx *again = NULL;

    if (weft_onnx_read(data, size, "output.onnx", &again) != WEFT_OK)
        abort();
    if (weft_onnx_bytes(again, a, &written, &n_written) != WEFT_OK)
        abort();
    if (n_written != size || (size > 0 && memcmp(written, data, size) != 0))
        abort();
    weft_onnx_free(again);
}

static void check_rewrite(const uint8_t *data, size_t size)
{
    weft_onnx *document = NULL;
    weft_arena *a = weft_arena_new();
    const uint8_t *written = NULL;
    size_t n_written = 0;

    if (weft_onnx_read(data, size, "input.onnx", &document) == WEFT_OK) {
        if (weft_onnx_bytes(document, a, &written, &n_written) == WEFT_OK)
            check_same_bytes(written, n_written, a);
        weft_onnx_free(document);
    }
    weft_arena_free(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_import(data, size);
    check_rewrite(data, size);
    return 0;
}
