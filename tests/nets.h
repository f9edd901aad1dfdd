/* SPDX-License-Identifier: MIT */
/* Small networks in one line each, for tests. A test that needs them links fixtures (nets.c). */
#ifndef WEFT_NETS_H
#define WEFT_NETS_H

#include "ops.h"

/* A network under construction; operands are named by value numbers. */
typedef struct net_fixture {
    weft_net_builder *net;
    weft_graph *graph;
    int n_names;
} net_fixture;

net_fixture net_start(weft_dtype type);
/* An input, or a weight, of that shape ("1x3x8x8"; "" is a scalar). */
int net_input(net_fixture *f, const char *shape);
int net_weight(net_fixture *f, const char *shape);
int net_ints(net_fixture *f, int n, const int64_t *ints); /* a known list */
int net_indices(net_fixture *f, const char *shape);       /* an input of integers */

/* An operator with up to four operands (-1: none behind) and attributes "stride=2 pads=1,1,1,1
 * mode=constant": integers, lists of integers, or texts. Returns its first result. */
int net_op(net_fixture *f, const char *op, const int *args, int n_args, const char *attributes);
int net_op_results(net_fixture *f, const char *op, const int *args, int n_args,
                   const char *attributes, int n_results, int *results);
/* Asks for a value and freezes the graph. */
const weft_graph *net_finish(net_fixture *f, int value);
void net_ask(net_fixture *f, int value); /* one more output, before finishing */
void net_free(net_fixture *f);

#endif
