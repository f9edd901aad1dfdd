/* SPDX-License-Identifier: MIT */
/* Heads of GGUF files (ggml docs/gguf.md): what is said of the network and of its tensors. The data of
 * tensors is never touched and need not be there. */
#ifndef WEFT_GGUF_H
#define WEFT_GGUF_H

#include "base.h"

typedef struct weft_gguf_tensor {
    const char *name;
    const char *type; /* "F16", "Q4_K" */
    int64_t elements, bytes;
} weft_gguf_tensor;

typedef struct weft_gguf {
    const weft_doc
        *pairs; /* keys as in the file; of an array, its length; of one text or number, that */
    int n_tensors;
    const weft_gguf_tensor *tensor;
} weft_gguf;

/* Reads bytes of a file; whatever is returned lives in `a`. */
WEFT_CHECKED weft_status weft_gguf_read(const void *data, size_t size, const char *file,
                                        weft_arena *a, weft_gguf *out);
/* The tensor of that name, or NULL. */
const weft_gguf_tensor *weft_gguf_find(const weft_gguf *g, const char *name);

#endif
