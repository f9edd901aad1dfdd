/* SPDX-License-Identifier: MIT */
/* Small random networks and machines for tests of sharding, small enough to try every plan. Whoever
 * includes this links draw_small.c. */
#ifndef WEFT_DRAW_SMALL_H
#define WEFT_DRAW_SMALL_H

#include "problem.h"

typedef enum small_family {
    SMALL_CHAIN,    /* of convolutions and pools with odd sizes and strides */
    SMALL_RESIDUAL, /* a way round a convolution or two */
    SMALL_SERIES,   /* branches that are joined and go on */
    SMALL_TREE,     /* branches that are not joined: several outputs */
    SMALL_MATRIX,   /* products, also of two activations, and softmax */
    SMALL_GENERAL,  /* every step reads any of those before it */
    SMALL_FAMILIES
} small_family;

/* A network of least .. most steps; the caller owns it. */
weft_graph *small_network(weft_rng *r, small_family family, int least, int most);

enum { SMALL_MOST = 4, SMALL_KINDS = 2, SMALL_DESIGNS = 2 };

/* A design: an array of multipliers, or a roofline (rows 0). */
typedef struct small_design {
    int rows, cols;
    double flops_per_s, bytes_per_s;
    double tensor, reduce; /* efficiency of a roofline for these families */
    const char *only;      /* operators or families that it can run, "Conv, reduce"; NULL: all */
} small_design;

/* Accelerators of up to two kinds, those of a kind next to each other. */
typedef struct small_machine {
    int n, kind[SMALL_MOST]; /* rising */
    int n_designs[SMALL_KINDS];
    small_design design[SMALL_KINDS][SMALL_DESIGNS];
    double memory_bytes[SMALL_KINDS];    /* 0: not limited */
    double link[SMALL_MOST][SMALL_MOST]; /* bytes/s, i < k; 0: no direct link */
    double host[SMALL_MOST];             /* bytes/s */
    double latency_s, host_latency_s;    /* of links, and of links to the host */
    double more_s[SMALL_MOST][SMALL_MOST], host_more_s[SMALL_MOST]; /* and beside, of single ones */
    bool has_host, hides;
    bool has_trees;              /* all-reduces by trees too */
    bool has_curves, is_contend; /* bandwidth by size on all links; links carry one at a time */
    int n_sharing; /* the first of them share a part of the bandwidth to the host, or among them */
    bool is_swapped; /* written with the second kind first, and with other names */
} small_machine;

/* n accelerators of n_kinds kinds with up to n_designs designs each. */
small_machine small_draw_machine(weft_rng *r, int n, int n_kinds, int n_designs);
/* The same with accelerators i and k of one kind exchanged. */
small_machine small_exchange(const small_machine *m, int i, int k);
/* The caller owns it. */
weft_platform *small_platform(const small_machine *m);

#endif
