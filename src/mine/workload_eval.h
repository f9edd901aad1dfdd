/* SPDX-License-Identifier: MIT */
/* An evaluation: the operators of a network, their blocks, and tables of their times on designs. */
#ifndef WEFT_EVAL_H
#define WEFT_EVAL_H

#include "cost.h"
#include "mine.h"

/* --- operators: weft_eval_fuse.c */

/* What an operator occupies while it runs. Classes are numbered in this order. */
typedef enum weft_eval_kind {
    WEFT_EVAL_TENSOR, /* tensor cores */
    WEFT_EVAL_BOTH,   /* tensor cores, and vector cores for what is fused behind */
    WEFT_EVAL_VECTOR,
    WEFT_EVAL_MEMORY, /* no cores: copies */
    WEFT_EVAL_N_KINDS
} weft_eval_kind;

/* Operators with the same work. */
typedef struct weft_eval_class {
    weft_eval_kind kind;
    int n_keys;
    const weft_work_key *const *key; /* of the nodes that are fused */
    double saved_bytes;              /* of tensors that stay on the chip */
} weft_eval_class;

/* Fused operators in topological order. */
typedef struct weft_eval_ops {
    int n, n_classes;
    const int *of_class;        /* [n] */
    const int *first_node;      /* [n] */
    const int *of_node;         /* [nodes] operator, or -1 */
    const int *in_at, *in_from; /* ascending, each once */
    const int *out_at, *out_to;
    const bool *is_update;              /* [n] */
    const weft_eval_class *class_;      /* [n_classes] by kind */
    int kind_at[WEFT_EVAL_N_KINDS + 1]; /* classes of a kind: kind_at[k] .. kind_at[k + 1] - 1 */
} weft_eval_ops;

WEFT_CHECKED weft_status weft_eval_fuse(const weft_graph *g, const weft_work_keys *keys,
                                        weft_arena *a, weft_eval_ops *out);

/* --- blocks: eval_blocks.c */

/* A part of the series; equal parts are one block. Operators are numbered from 0 in it. */
typedef struct weft_eval_block {
    int n, n_copies;
    const int *of_class; /* [n] */
    const int *n_in;     /* [n] predecessors in the block */
    const int *out_at, *out_to;
    double macs, elements; /* of one copy: multiply-accumulates, element cycles of one lane */
} weft_eval_block;

typedef struct weft_eval_series {
    int n;               /* blocks, equal ones included */
    const int *block;    /* [n] */
    const int *op_at;    /* [n + 1] operators of a part, in the order of its block */
    const int *op;       /* [operators] */
    int n_blocks, most;  /* different blocks; operators of the largest */
    weft_eval_block *of; /* [n_blocks] */
} weft_eval_series;

weft_eval_series weft_eval_series_of(const weft_eval_ops *ops, weft_arena *a);

/* --- times: eval_time.c */

enum {
    WEFT_EVAL_MOST_WAYS = 24
}; /* numbers of cores that an operator may get: 1, 2, 4, .. and all */

typedef struct weft_eval_ways {
    int n;
    int cores[WEFT_EVAL_MOST_WAYS]; /* ascending */
} weft_eval_ways;

/* Times of all classes on one design. A way is a place in `ways` of the class's kind. */
typedef struct weft_eval_frame {
    int n_tensor, n_vector; /* cores of the design */
    weft_eval_ways ways[WEFT_EVAL_N_KINDS];
    int vector_of[WEFT_EVAL_MOST_WAYS]; /* WEFT_EVAL_BOTH: vector cores beside the tensor cores */
    double *lat_s;                      /* [way * n_classes + class] */
    double *bytes_s;                    /* the same: bytes by the bandwidth */
    double *least_s;                    /* [class] of lat_s */
    double *tensor_work_s, *vector_work_s; /* [class] least core seconds */
    double *least_bytes_s;                 /* [class] */
    const double *port_s;                  /* [class] least bytes by the port of the buffer */
    uint8_t *thrifty, *fast;               /* [class] ways of the least work and time */
} weft_eval_frame;

/* Memoised rows of times, one double for each class; NULL until asked for. */
typedef struct weft_eval_tables {
    int most_tensor, most_vector; /* cores */
    double ***tensor;             /* [rows * n_cols + cols][cores]: cycles of tensor cores */
    double ***unshared;           /* the same as if each core had a port of its own */
    double **port;                /* [rows * n_cols + cols]: least bytes through the port */
    double ***vector;             /* [lanes][cores]: cycles of vector cores */
    double ***bytes;              /* [buffer * n_counts + count][way] */
} weft_eval_tables;

enum { WEFT_EVAL_MOST_TRIES = 32 }; /* allotments of cores in a block */

/* An operator in the windows of the head-tail bound. */
typedef struct weft_eval_load {
    double top_s, tail_s, work_s;
} weft_eval_load;

/* Room for the schedule of a block [most] and for paths of the whole network [operators]. */
typedef struct weft_eval_room {
    double *lat_s, *bottom_s, *top_s; /* longest paths from and before an operator */
    double *start_s, *run_end_s;
    int *n_tensor, *n_vector; /* cores */
    int *order, *rank, *n_in, *run;
    uint8_t *way, *best_way;
    uint8_t *tried;            /* [try * operators of the block] ways */
    double *bound_s;           /* [tries] */
    uint64_t *ready, *of_kind; /* ranks; [kind * words] */
    double *op_top_s, *op_bottom_s, *head_s;
    weft_eval_load *load;
} weft_eval_room;

struct weft_workload_eval {
    const weft_graph *graph;
    const weft_template *template_;
    weft_arena *arena;
    weft_work_keys *keys;
    weft_eval_ops ops;
    weft_eval_series series;
    weft_eval_kind *kind; /* [n_classes] */
    int *class_count;     /* [n_classes] operators */
    double macs, memory_bytes;
    weft_eval_tables tables;
    weft_eval_frame frame;
    weft_eval_frame box; /* least times of a box */
    double *box_port_s;  /* [n_classes] */
    weft_eval_room room;
};

void weft_eval_tables_init(weft_workload_eval *m);
void weft_eval_frame_init(weft_workload_eval *m, weft_eval_frame *f);
/* Numbers of cores out of n. */
weft_eval_ways weft_eval_ways_of(int n);
/* Vector cores that an operator on g of n_tensor cores takes for its epilogue. */
int weft_eval_vector_of(int g, int n_tensor, int n_vector);
/* Fills the frame of the evaluation for a design. */
const weft_eval_frame *weft_eval_frame_of(weft_workload_eval *m, const weft_design_point *p);
/* The same for a box, of least times; n_tensor and n_vector: the largest counts. */
const weft_eval_frame *weft_eval_frame_of_box(weft_workload_eval *m, const weft_space_box *b,
                                              int n_tensor, int n_vector);

/* Times of operators that run one after the other, each on all cores. */
typedef struct weft_eval_keys {
    weft_workload_eval *eval; /* its tables alone */
    int *order;               /* [n] products first */
} weft_eval_keys;

/* Keys must outlive it. In `a`, tables too, which grow while it is asked. */
weft_eval_keys weft_eval_keys_new(const weft_template *t, const weft_work_key *key, int n,
                                  weft_arena *a);
/* Seconds of each key: weft_design_cost() of weft_point_design(). */
void weft_eval_keys_s(const weft_eval_keys *k, const weft_design_point *p, double *key_s);

/* Seconds that the port of the buffer needs for all operators at least. */
double weft_eval_port_s(const weft_workload_eval *m, const weft_eval_frame *f);

/* --- the policy: eval_list.c */

/* What a block takes by the policy. */
typedef struct weft_eval_span {
    double makespan_s, bytes_s, path_s;
} weft_eval_span;

/* Ways are left in room.best_way. */
weft_eval_span weft_eval_block_run(weft_workload_eval *m, const weft_eval_frame *f,
                                   const weft_eval_block *b);
/* Schedules a block with the ways of room.best_way: start_s, lat_s, cores, top_s and bottom_s. */
void weft_eval_block_replay(weft_workload_eval *m, const weft_eval_frame *f,
                            const weft_eval_block *b);

/* Cores of an operator of a class. */
static inline int weft_eval_tensor_need(const weft_eval_frame *f, weft_eval_kind k, int way)
{
    return k <= WEFT_EVAL_BOTH ? f->ways[k].cores[way] : 0;
}
static inline int weft_eval_vector_need(const weft_eval_frame *f, weft_eval_kind k, int way)
{
    if (k == WEFT_EVAL_BOTH)
        return f->vector_of[way];
    return k == WEFT_EVAL_VECTOR ? f->ways[k].cores[way] : 0;
}

#endif
