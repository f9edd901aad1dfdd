/* SPDX-License-Identifier: MIT */
/* A network in training as a chain or a small graph of units, and what each unit costs on each
 * class of equal devices, at each tensor width, for each number of samples. Stages of a pipeline
 * are what lies between two cuts; all their figures are differences of sums over cuts, except
 * maxima.
 *
 * Nothing here decides: the planner sees numbers only. */
#ifndef WEFT_UNIT_H
#define WEFT_UNIT_H

#include "model.h"
#include "split.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- machines: classes of equal devices, islands of near ones -------------------------------- */

/* Devices of one kind, design and memory. An island is what is in one group of the platform file:
 * GPUs of one server. Where devices are in no groups, it is a largest set of them in which every two
 * are joined at the best bandwidth of the class. Islands have ascending first devices; `device`
 * lists them island by island. */
typedef struct weft_class {
    const char *kind; /* for people: "server.gpu" */
    int n_devices, n_islands;
    const int *device;    /* [n_devices] of the platform */
    const int *island_at; /* [n_islands + 1] into device */
    double memory_bytes;
    double speed; /* operations a second at peak; 0: the model does not say. For order only */
    weft_link_cost inside; /* of two devices of one island: the slowest pair */
} weft_class;

typedef struct weft_cluster {
    const weft_platform *platform; /* must outlive this */
    int n_classes;                 /* by falling speed, then first device */
    const weft_class *classes;
    const int *class_of; /* [devices of the platform] */
    const int *place_of; /* [devices] index into classes[class_of].device */
    weft_arena *arena;
} weft_cluster;

/* All devices but the host; the host too if it is the only device. The caller owns *out. */
WEFT_CHECKED weft_status weft_cluster_new(const weft_platform *p, weft_cluster **out);
void weft_cluster_free(weft_cluster *c);
/* Blocks of `width` devices that lie in one island each, in order; block b of a class is
 * device[start] .. device[start + width - 1]. What is left of an island is not used. */
int weft_class_blocks(const weft_class *c, int width);
int weft_class_block(const weft_class *c, int width, int block); /* start */

/* --- units and cuts -------------------------------------------------------------------------- */

/* What training does with results that backward needs. */
typedef enum weft_recompute {
    WEFT_KEEP_ALL,  /* "none": nothing is computed again */
    WEFT_KEEP_SOME, /* "selective": results of matrix products and convolutions with weights, and
                       what enters a unit, are kept; the rest is computed again, unit by unit */
    WEFT_KEEP_NONE, /* "full": what enters a unit is kept; the rest is computed again */
    WEFT_N_RECOMPUTES
} weft_recompute;

const char *weft_recompute_name(weft_recompute r); /* "none", "selective", "full" */

/* What one device does for one unit and one microbatch share of `samples`, at one width. */
typedef struct weft_block_cost {
    double forward_s, backward_s;                       /* collectives of the width included */
    double forward_collective_s, backward_collective_s; /* the parts that are */
    double compute_s; /* forward and backward at the peak of the device, memory free of charge */
    double memory_s;  /* forward and backward memory traffic alone */
    double again_s[WEFT_N_RECOMPUTES];     /* before backward */
    double stash_bytes[WEFT_N_RECOMPUTES]; /* from forward to backward */
    double work_bytes[WEFT_N_RECOMPUTES];  /* beside that, while the unit runs, at most */
} weft_block_cost;

/* What one device holds of one unit at one width. How operators are cut, and so what it holds, may
 * differ between shares of samples. */
typedef struct weft_block_state {
    double weight_bytes;   /* parameters and constants */
    double gradient_bytes; /* of parameters */
    double moment_bytes;   /* kept by the optimizer, master copies included; 0 if owned by another
                              unit that shares the parameter */
    double sync_bytes;     /* gradients that replicas sum; 0 if owned by another unit */
    double update_s;       /* optimizer */
} weft_block_state;

/* A parameter that two units read: the first owns it, the second sends its gradient there and gets
 * the new value back. */
typedef struct weft_shared {
    int owner, other; /* units */
    int tensor;       /* of the graph; -1: made up by a test */
} weft_shared;

/* A graph of units, numbered in topological order, and its cuts: sets of units closed under
 * predecessors, a cut after all that it contains; cut 0 is empty, the last has all. */
typedef struct weft_blocks {
    int n_blocks;
    const char *const *name; /* [n_units] first and last operator */
    const int *of_node;      /* [nodes of the training graph] unit; NULL: made up by a test */
    int n_cuts, n_words;
    const uint64_t *cut;       /* [n_cuts * n_words] */
    bool is_chain;             /* cut c is units 0 .. c - 1 */
    bool is_complete;          /* no cut of the units was left out */
    const double *leave_bytes; /* [n_cuts] of one sample: activations made inside, read outside */
    const double *back_bytes;  /* [n_cuts] gradients of these */
    int n_shared;
    const weft_shared *shared;
} weft_blocks;

static inline const uint64_t *weft_cut_bits(const weft_blocks *u, int cut)
{
    return u->cut + (size_t)cut * (size_t)u->n_words;
}

/* Is the block in the outer cut, but not in the inner one? */
static inline bool weft_block_between(const weft_blocks *u, int block, int inner, int outer)
{
    if (u->is_chain)
        return block >= inner && block < outer;
    return weft_bit_get(weft_cut_bits(u, outer), block) &&
           !weft_bit_get(weft_cut_bits(u, inner), block);
}

/* Does the other unit of shared entry k, between the cuts, find the parameter there: the owner is
 * between them too, or the other unit of an earlier entry? */
bool weft_shared_is_copy(const weft_blocks *u, int k, int inner, int outer);

static inline bool weft_cut_within(const weft_blocks *u, int inner, int outer)
{
    const uint64_t *i = weft_cut_bits(u, inner), *o = weft_cut_bits(u, outer);

    if (u->is_chain)
        return inner <= outer;
    for (int w = 0; w < u->n_words; w++)
        if (i[w] & ~o[w])
            return false;
    return true;
}

/* Units of a training graph (weft_graph_train) of one sample: its forward nodes cut at nodes
 * through which everything flows, where the fewest bytes cross. What has less than 1 / `parts` of
 * the work and of the weights joins its neighbours. A stretch that holds more than 12 / `parts` and
 * cannot be cut so stays a graph of units, as long as there are at most max_cuts cuts; else its
 * topological order is cut, and is_complete is false. Backward nodes belong to the unit of their
 * forward node, losses to the unit that makes the output, updates to the first unit that reads the
 * parameter. `o` may be NULL: defaults. In `a`. */
typedef struct weft_block_options {
    int64_t max_cuts; /* default 4,000 */
    double parts;     /* default 200 */
} weft_block_options;

extern const weft_option weft_block_table[];
WEFT_CHECKED weft_status weft_blocks_of(const weft_graph *g, const weft_block_options *o,
                                        weft_arena *a, weft_blocks *out);

/* Units made up by tests: a chain of n, or all cuts of a graph of n units with edges from lower to
 * higher numbers (is_complete; at most max_cuts, else false). Names "u0" ..; the bytes are 0 and
 * may be set after: the arrays are the caller's to write until the units are used. In `a`. */
void weft_blocks_chain(int n, weft_arena *a, weft_blocks *out);
bool weft_blocks_dag(int n, int n_edges, const int *from, const int *to, int64_t max_cuts,
                     weft_arena *a, weft_blocks *out);

/* Costs of all units of `g`, the training graph of `samples` samples (same nodes as the one the
 * units were made of), on devices configured as `d`, `width` of them joined by `inside`. With more
 * than one, every operator is cut over them, or done by each, as block_choose.c says (products with weights so that each has a part of the weights: samples are what replicas
 * cut); what enters and leaves a unit is whole on each device; a parameter lies in the same parts
 * for forward, backward and update. False: the units cannot be cut this way (steps as made by
 * weft_steps_within can), the devices are not joined, or an operator is not supported. cost, state: [n_units], state may be
 * NULL. */
/* What training keeps of a parameter of less than 32 bits, by the bytes that this is with 2 bytes a
 * parameter and Adam: 2 for the parameter, 12 for a copy of 4 bytes and two moments, and gradients
 * of 2 bytes; of 4 bytes, which replicas sum so; of 2 bytes, and a copy of 4 bytes in the
 * optimizer. Larger parameters have gradients of their own size, and no copies. */
typedef enum weft_recipe {
    WEFT_RECIPE_16,
    WEFT_RECIPE_18,
    WEFT_RECIPE_20,
    WEFT_N_RECIPES
} weft_recipe;

const char *weft_recipe_name(weft_recipe r); /* "16", "18", "20" */

typedef struct weft_block_request {
    const weft_blocks *blocks;
    const weft_graph *graph;
    const weft_steps *steps; /* of that graph */
    const weft_design *design;
    int width;
    weft_link_cost inside;
    weft_recipe recipe;
    bool is_sequence; /* sequence parallelism (block_sequence.c) */
} weft_block_request;

bool weft_block_costs(const weft_block_request *request, weft_arena *scratch, weft_block_cost *cost,
                      weft_block_state *state);

/* --- work: the same taken apart, for searches over designs ----------------------------------- */

/* Nodes with equal work. */
typedef struct weft_block_job {
    weft_phase phase;
    bool is_again; /* forward: WEFT_KEEP_SOME computes it again */
    int key, count;
} weft_block_job;

/* Units that are alike. Operators are cut as is best on the design that was asked for; then seconds
 * on any design are those of the jobs plus the collectives, which do not depend on it, nor does
 * memory. */
typedef struct weft_block_kind {
    int n_jobs;
    const weft_block_job *job;
    double again_collective_s; /* part of forward_collective_s, with WEFT_KEEP_SOME */
    weft_block_cost cost;      /* on the design that was asked for */
    weft_block_state state;
} weft_block_kind;

typedef struct weft_block_work {
    int n_kinds;
    const weft_block_kind *kind; /* in the order of their first units */
    const int *kind_of;          /* [n_units] */
    int n_keys;
    const weft_work_key *key; /* distinct */
} weft_block_work;

/* As weft_block_costs. In `a`. */
bool weft_block_work_of(const weft_block_request *request, weft_arena *a, weft_block_work *out);

#ifdef __cplusplus
}
#endif
#endif
