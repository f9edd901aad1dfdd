/* SPDX-License-Identifier: MIT */
/* fill_weights.c: a network whose weights were left out, with random ones, so that it can run.
 *
 *   fill_weights FROM.onnx TO.onnx
 *
 * Tensors of floating-point type without data get numbers of variance 1 / fan-in (the product of the
 * dimensions but the first), so that activations stay in range through many layers; scales of
 * normalisations (one dimension) lie around 1. Integers without data become 0. The same file gives the same bytes. */
#include "onnx.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static double normal(weft_rng *rng)
{
    double sum = 0;

    for (int i = 0; i < 12; i++)
        sum += weft_rng_real(rng);
    return sum - 6;
}

static int64_t elements(const weft_onnx_tensor *t)
{
    int64_t n = 1;

    for (int i = 0; i < t->n_dims; i++)
        n *= t->dim[i];
    return n;
}

/* True: it had no data and has some now. */
static bool fill(weft_onnx_tensor *t, weft_rng *rng, weft_arena *a)
{
    int64_t n = elements(t), fan = t->n_dims > 1 ? n / (t->dim[0] > 0 ? t->dim[0] : 1) : 1;
    double scale = t->n_dims > 1 ? 1 / sqrt((double)(fan > 0 ? fan : 1)) : 0.1;
    size_t bytes = (size_t)weft_dtype_bytes((weft_dtype)t->data_type, n);
    char *raw;

    if (t->has_data || t->is_external || n == 0)
        return false;
    raw = weft_arena_alloc(a, bytes + 1);
    for (int64_t i = 0; i < n && t->data_type == WEFT_F32; i++) {
        float f = (float)((t->n_dims == 1 ? 1 : 0) + scale * normal(rng));

        memcpy(raw + 4 * i, &f, sizeof f);
    }
    t->raw = (weft_slice){raw, bytes};
    t->has_data = true;
    t->doc = (weft_slice){NULL, 0};
    return true;
}

static void fill_attr(weft_onnx_attr *x, weft_rng *rng, weft_arena *a)
{
    weft_onnx_tensor *t;

    if (x->kind != WEFT_ONNX_TENSOR || x->tensor == NULL)
        return;
    t = weft_arena_copy(a, x->tensor, sizeof *t);
    if (fill(t, rng, a)) {
        x->tensor = t;
        x->raw = (weft_slice){NULL, 0};
    }
}

int main(int argc, char **argv)
{
    weft_arena *a = weft_arena_new();
    weft_rng rng = weft_rng_seed(1);
    weft_onnx_tensor *tensor;
    weft_onnx_graph graph;
    weft_onnx copy, *doc;
    int n;

    if (argc != 3 || weft_onnx_open(argv[1], &doc) != WEFT_OK) {
        fprintf(stderr, "fill_weights: %s\n", argc == 3 ? weft_message() : "FROM.onnx TO.onnx");
        return 2;
    }
    copy = *doc;
    graph = *doc->graph;
    n = graph.n_initializers;
    tensor = weft_arena_copy(a, graph.initializer, (size_t)n * sizeof *tensor);
    for (int i = 0; i < n; i++)
        fill(&tensor[i], &rng, a);
    for (int u = 0; u < graph.n_nodes; u++) /* nodes share their forms: each is filled once */
        for (int i = 0; i < graph.node[u].form->n_attrs; i++)
            fill_attr((weft_onnx_attr *)(uintptr_t)&graph.node[u].form->attr[i], &rng, a);
    graph.initializer = tensor;
    copy.graph = &graph;
    copy.n_metadata = 0;
    n = weft_onnx_write(&copy, argv[2]) == WEFT_OK ? 0 : 2;
    if (n != 0)
        fprintf(stderr, "fill_weights: %s\n", weft_message());
    weft_onnx_free(doc);
    weft_arena_free(a);
    return n;
}
