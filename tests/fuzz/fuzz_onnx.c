/* SPDX-License-Identifier: MIT */
/* fuzz_onnx.c: ONNX files from anywhere.
 *
 * 1. The importer refuses the bytes or makes a graph that keeps its invariants.
 * 2. A document that the reader accepts can be written; what was written is accepted again, and
 *    written a second time it has the same bytes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "weft/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_import(const uint8_t *data, size_t size)
{
    weft_model *model = NULL;

    if (weft_onnx_import(data, size, "input.onnx", NULL, &model) != WEFT_OK)
        return;
    weft_graph_check(model->graph);
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
