/* SPDX-License-Identifier: MIT */
/* Small random layers and networks for the executor; the caller owns the graphs. */
#ifndef WEFT_EXECUTOR_NETS_H
#define WEFT_EXECUTOR_NETS_H

#include "ops.h"

typedef struct exec_recipe {
    const char *name;
    weft_graph *(*make)(weft_rng *r);
} exec_recipe;

/* One operator, alone or with what is fused to it; sizes that factors do not divide. A name of NULL
 * ends each list. */
extern const exec_recipe exec_layers[];
/* Chains, residual blocks, a classifier, attention, recommendation. */
extern const exec_recipe exec_networks[];

/* A convolution of k x k with stride s on that picture, and one more behind it if `is_chain`. */
typedef struct exec_conv {
    int64_t channels, out, height, width, kernel, stride;
    bool is_chain;
} exec_conv;

weft_graph *exec_conv_graph(const exec_conv *c);

#endif
