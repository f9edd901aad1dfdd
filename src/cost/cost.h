/* SPDX-License-Identifier: MIT */
/* What an operator costs on a device: seconds, joules, bytes. Every constant names its source where
 * it stands; every model is tested against something independent of it. */
#ifndef WEFT_COST_H
#define WEFT_COST_H

#include "collective.h"
#include "ops.h"
#include "platform.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A matrix or convolution nest in the words of hardware:
 * O[b][g][m][r][c] += W[g][m][n][i][j] * I[b][g][n][S r + i][S c + j].
 * A matrix product has r = rows of the left operand, c = kh = kw = stride = 1. */
typedef struct weft_layer {
    int64_t batch, groups, m, n, r, c, kh, kw, stride;
} weft_layer;

/* The layer of a multiply-accumulate nest; false if it is none of that form. */
bool weft_layer_of_nest(const weft_nest *nest, weft_layer *out);
/* The accesses of the two operands whose products are summed; false if there are no such two. */
bool weft_nest_factors(const weft_nest *nest, int *left, int *right);

/* What a product has of a convolution, or of one of its gradients. */
typedef struct weft_sliding {
    int64_t kernel, stride; /* elements of the kernel, 0: it is no convolution; its largest step */
} weft_sliding;

/* Everything a device model looks at; nodes with equal keys cost the same. */
typedef struct weft_work_key {
    weft_fusion family;
    int n_layers; /* multiply-accumulate nests */
    weft_layer layer[WEFT_MAX_NESTS];
    int64_t
        steps[WEFT_MAX_NESTS]; /* of recurrent layers, one after the other: parts of r; else 1 */
    weft_sliding sliding[WEFT_MAX_NESTS];
    weft_dtype type; /* of its results */
    int element_bytes;
    int64_t flops;  /* of the other nests */
    int64_t points; /* elements of the other nests */
    int64_t read_bytes, write_bytes;
    int64_t
        inner_bytes; /* of operands and results that stay inside a kernel: not in the two above */
    int n_again;     /* the last of the layers: computed once more, from what is at hand */
    bool is_view;
    bool is_joined;    /* an earlier node of its kernel was launched: no overhead of its own */
    bool is_attention; /* part of an attention kernel */
    bool is_eager;     /* the host launches it as it comes to it */
} weft_work_key;

void weft_work_key_of(const weft_graph *g, int u, weft_work_key *out);
void weft_part_key_of(const weft_graph *g, int u, const weft_work_part *p, weft_work_key *out);

typedef struct weft_cost {
    double seconds;      /* INFINITY: not supported */
    double joules;       /* dynamic; idle power is charged by the simulator */
    double memory_bytes; /* traffic of the device's memory */
} weft_cost;

/* One operator on one configured device. */
weft_cost weft_design_cost(const weft_design *d, const weft_work_key *k);
/* Cycles of the cores alone, without memory and overhead (0 for models without a clock). */
double weft_design_cycles(const weft_design *d, const weft_layer *l);
/* Square millimetres, 0 if the model has no area and none is given; watts at peak. */
double weft_design_area(const weft_design *d);
/* Operations a second that no product of 16 bits or more exceeds (of 8 bits, if a device has no
 * others); transformed convolutions count as the products they replace. 0: not known. */
double weft_design_peak_flops(const weft_design *d);
/* Of products of one element type. */
double weft_design_type_peak(const weft_design *d, weft_dtype type);
bool weft_design_supports(const weft_design *d, const char *op, const char *domain);
/* Whatever `only` of a device names is an operator of the table, a family, or an operator of the
 * network; a misspelt one is an error. */
WEFT_CHECKED weft_status weft_only_check(const weft_platform *p, const weft_graph *g);

/* --- costs of all nodes on all devices ------------------------------------------------------- */

typedef struct weft_costs {
    int n_nodes, n_devices;
    const double *seconds; /* [node * n_devices + device]; INFINITY: not supported */
    const double *joules;
    const double *memory_bytes;
    int n_keys;              /* distinct work keys: what was computed; the rest was looked up */
    const bool *is_measured; /* [node * n_devices + device]; NULL: no time is measured */
    const double *launch_s; /* [n_devices] of an engine, as measured; 0: not known; NULL: none is */
    weft_arena *arena;
} weft_costs;

/* The work of all nodes, each kind once: what a search over platforms and designs makes once. */
typedef struct weft_work_keys {
    const weft_graph *graph; /* must outlive this */
    int n;
    const weft_work_key *key; /* [n] */
    const int *of_node;       /* [n_nodes] */
    weft_arena *arena;
} weft_work_keys;

/* A shape that depends on the data is an error naming its node. The caller owns *out. */
WEFT_CHECKED weft_status weft_work_keys_new(const weft_graph *g, weft_work_keys **out);
void weft_work_keys_free(weft_work_keys *k);
/* Costs of known work: a model is asked once for each kind of work and kind of device, everything
 * else is a look-up. Errors and ownership as below. */
WEFT_CHECKED weft_status weft_costs_of(const weft_work_keys *k, const weft_platform *p,
                                       weft_costs **out);

/* For networks that are sharded or trained, where the host does nothing and a device has the best of
 * its designs: a type of products for which a device has no peak is an error that names device, key
 * and node, as below. No other type's speed is taken. */
WEFT_CHECKED weft_status weft_check_peaks(const weft_graph *g, const weft_platform *p);

/* A shape that depends on the data is an error naming the node, and so is a type without a peak. The
 * caller owns *out. Each device costs as its first design. */
WEFT_CHECKED weft_status weft_costs_new(const weft_graph *g, const weft_platform *p,
                                        weft_costs **out);
void weft_costs_free(weft_costs *c);

#ifdef __cplusplus
}
#endif
#endif
