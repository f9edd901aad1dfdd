/* SPDX-License-Identifier: MIT */
/* fuzz_gguf.c: heads of GGUF files from anywhere: refused, or tensors with names and bytes. */
#include <stdint.h>
#include <stdlib.h>

#include "gguf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool condition)
{
    if (!condition)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    weft_arena *a = weft_arena_new();
    weft_gguf g;

    if (weft_gguf_read(data, size, "fuzz", a, &g) == WEFT_OK) {
        expect(g.pairs != NULL && g.pairs->kind == WEFT_DOC_MAP);
        for (int i = 0; i < g.n_tensors; i++)
            expect(*g.tensor[i].name != '\0' && g.tensor[i].elements > 0 && g.tensor[i].bytes > 0);
        weft_doc_json(g.pairs, 0, a);
    }
    weft_arena_free(a);
    return 0;
}
