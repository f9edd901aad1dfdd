/* SPDX-License-Identifier: MIT */
/* Inputs and objective of Piper (Tarnawski et al., NeurIPS 2021), and the plans that are best by it.
 * A folder of its own, no objective of train/: a node has a list of modes at each width of which one
 * is chosen under memory, edges cost more or less with the modes at their ends, and a plan is worth
 * its slowest stage per sample. The tables of a training problem have one cost for each block.
 *
 * Piper: a pipeline is a chain of cuts of the network; a stage is what lies between two of them.
 * With d replicas of width t it takes d t devices and, per sample, (edge bytes / d + 4 (d - 1) / d
 * parameter bytes / microbatches) / bandwidth
 *     + seconds of its nodes / d,
 * an edge that enters or leaves the stage moving 2 (its bytes + what the mode adds). Its memory is
 * the sum of stash ceil(D / d) + state over its nodes, D being the replicas of this stage and of
 * all later ones. The value of a plan is its slowest stage. */
#ifndef WEFT_PIPER_H
#define WEFT_PIPER_H

#include "solve.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One way to run a node at one tensor width: as it is, with recomputation, ... */
typedef struct weft_piper_mode {
    const char *name;
    double sample_s; /* of one sample; in the unit of the file, which is not always seconds */
    double parameter_bytes;
    double stash_bytes;        /* of each microbatch in flight; a whole number */
    double state_bytes;        /* whatever is in flight; a whole number */
    const double *enter_bytes; /* [edges entering the node] added to those that enter its stage */
    const double *leave_bytes; /* [edges leaving the node] added to those that leave its stage */
} weft_piper_mode;

/* The input, immutable. Nodes are in topological order: edges go from lower to higher numbers. */
typedef struct weft_piper {
    int n_nodes, n_edges, n_widths;
    const char *const *name; /* [n_nodes] */
    const int64_t *id;       /* [n_nodes] number in the file */
    const int *width;        /* [n_widths] ascending */
    const int *mode_at;      /* [n_nodes * n_widths + 1] modes of u at width[w]: from
                                mode_at[u * n_widths + w] on; none: u cannot be that wide */
    const weft_piper_mode *mode;
    const int *edge_from, *edge_to; /* [n_edges] */
    const double *edge_bytes;
    const int *in_at, *in_edge;   /* edges entering u: in_edge[in_at[u]] .. */
    const int *out_at, *out_edge; /* edges leaving u */
    int n_devices, n_microbatches;
    double memory_bytes; /* of a device */
    double bandwidth_bytes_per_s;
    weft_arena *arena; /* owns everything above */
} weft_piper;

/* What replaces the figures of the file; 0: as in the file. */
typedef struct weft_piper_limits {
    int n_devices, n_microbatches;
    double memory_bytes, bandwidth_bytes_per_s;
} weft_piper_limits;

/* Reads Piper's JSON. Bytes of memory that are no whole number are rounded up. `limits` may be
 * NULL. The caller owns *out. */
WEFT_CHECKED weft_status weft_piper_read(const char *path, const weft_piper_limits *limits,
                                         weft_piper **out);
/* The same from text; `file` names it in messages. */
WEFT_CHECKED weft_status weft_piper_parse(const char *text, size_t n, const char *file,
                                          const weft_piper_limits *limits, weft_piper **out);
void weft_piper_free(weft_piper *p); /* NULL is allowed */

/* Decisions. Stages are numbered in the order of the pipeline. */
typedef struct weft_piper_plan {
    int n_stages;
    int *replicas; /* [n_stages] */
    int *width;    /* [n_stages] index into weft_piper.width */
    int *stage;    /* [n_nodes] */
    int *mode;     /* [n_nodes] index into weft_piper.mode */
} weft_piper_plan;

/* What a plan is worth, summed node by node and edge by edge. */
typedef struct weft_piper_measures {
    double value_s; /* per sample: the slowest stage */
    int slowest;    /* that stage */
    int n_devices;
    double *stage_s, *stage_bytes; /* [n_stages] */
} weft_piper_measures;

/* Measures a plan, in `a`; a plan that breaks a rule fails and the message names it. */
WEFT_CHECKED weft_status weft_piper_measure(const weft_piper *p, const weft_piper_plan *plan,
                                            weft_arena *a, weft_piper_measures *out);

typedef struct weft_piper_options {
    int64_t max_cuts;   /* cuts of the network; a wider network is refused */
    int64_t max_points; /* of one choice of modes; beyond, the plan may lose its proof */
} weft_piper_options;

extern const weft_option weft_piper_table[];

typedef struct weft_piper_solution {
    weft_outcome outcome;
    double value_s, bound_s;      /* optimal: they differ by one part in 10^9 at most */
    weft_piper_plan plan;         /* unless there is none */
    weft_piper_measures measures; /* of the plan */
    const char *reason;           /* why there is no plan; NULL if there is one */
    int n_cuts, n_probes;
    int64_t n_stages_tried;
} weft_piper_solution;

/* The plan with the least time per sample. Of `run`, time limit and stop are heeded. The result
 * lives in `a`. */
WEFT_CHECKED weft_status weft_piper_solve(const weft_piper *p, const weft_piper_options *options,
                                          const weft_run *run, weft_arena *a,
                                          weft_piper_solution *out);

/* What would do where there is no plan, one change at a time. 0: no number of devices, or no
 * memory, was found that does; false: less may do too. */
typedef struct weft_piper_needs {
    int n_devices;
    bool is_fewest;
    double memory_bytes; /* of a device */
    bool is_least;
} weft_piper_needs;

/* By trying; limits as in weft_piper_solve. */
WEFT_CHECKED weft_status weft_piper_need(const weft_piper *p, const weft_piper_options *options,
                                         const weft_run *run, weft_piper_needs *out);

#ifdef __cplusplus
}
#endif
#endif
