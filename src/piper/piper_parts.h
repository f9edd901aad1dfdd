/* SPDX-License-Identifier: MIT */
/* Inside of the planner for Piper's objective: cuts of the network, stages between two cuts. */
#ifndef WEFT_PIPER_PARTS_H
#define WEFT_PIPER_PARTS_H

#include "piper.h"

/* Microbatches that a stage with d replicas holds at once: ceil(D / d), D being the replicas of
 * this stage and of all later ones. */
static inline int weft_piper_in_flight(int n_replicas, int d)
{
    return (n_replicas + d - 1) / d;
}

/* --- cuts: sets of nodes that are closed under predecessors ---------------------------------- */

/* Sums over a cut at one width; a node without this width counts in n_missing only. Of the modes of
 * a node: the fastest one, and the least of each figure. */
typedef struct weft_piper_sums {
    double fast_s, fast_stash_bytes, fast_state_bytes;
    double parameter_bytes, least_stash_bytes, least_state_bytes;
    int n_missing;
} weft_piper_sums;

/* All cuts, ordered by work, then size: a cut comes after every cut that it contains. Number 0 is
 * empty, the last one is the network. */
typedef struct weft_piper_cuts {
    int n_cuts, n_words;
    const uint64_t *bits;        /* [n_cuts * n_words] */
    const double *work_s;        /* [n_cuts] device time of one sample, at least */
    const weft_piper_sums *sums; /* [n_cuts * n_widths] */
    const int *edge_at;          /* [n_cuts + 1] edges that leave the cut: edge[edge_at[c]] .. */
    const int *edge;
} weft_piper_cuts;

/* Enumerates the cuts; more than max_cuts of them fail as wrong input. */
WEFT_CHECKED weft_status weft_piper_cuts_new(const weft_piper *p, int64_t max_cuts, weft_arena *a,
                                             weft_piper_cuts *out);

static inline bool weft_piper_cut_within(const weft_piper_cuts *c, int inner, int outer)
{
    const uint64_t *i = c->bits + (size_t)inner * (size_t)c->n_words;
    const uint64_t *o = c->bits + (size_t)outer * (size_t)c->n_words;

    for (int w = 0; w < c->n_words; w++)
        if (i[w] & ~o[w])
            return false;
    return true;
}

/* --- stages ---------------------------------------------------------------------------------- */

typedef struct weft_piper_stages weft_piper_stages;

/* The nodes of cut `outer` that are not in cut `inner`. */
typedef struct weft_piper_range {
    int inner, outer;
    int width;             /* index */
    double fast_s;         /* sum of the fastest modes */
    double border_s;       /* edges that enter or leave, at the full bandwidth; at least */
    double sync_s;         /* gradients, at the full bandwidth: 4 parameter bytes / microbatches */
    double most_in_flight; /* microbatches, at most; a whole number or INFINITY */
} weft_piper_range;

/* Lives in `a`; `scratch` is used by the functions below and is empty after each. */
weft_piper_stages *weft_piper_stages_new(const weft_piper *p, const weft_piper_cuts *cuts,
                                         int64_t max_points, weft_arena *a, weft_arena *scratch);
/* False if a node of the range does not have this width. border_s is -1: not known yet. */
bool weft_piper_range_open(const weft_piper_stages *s, int inner, int outer, int width,
                           weft_piper_range *out);
/* A range with fewer replicas takes more than limit_s or more memory than there is, behind n_later
 * replicas. INT_MAX: with any number of them. */
int weft_piper_range_least_replicas(const weft_piper_range *range, int n_later, double limit_s);
double weft_piper_range_border_s(const weft_piper_stages *s, const weft_piper_range *range);
/* Does a choice of modes exist with which d replicas, in_flight microbatches each, take at most
 * limit_s per sample and fit into memory? */
bool weft_piper_range_fits(weft_piper_stages *s, const weft_piper_range *range, int d,
                           int in_flight, double limit_s);
/* The fastest choice of modes that fits into memory, into mode[] of its nodes; false: none fits. */
bool weft_piper_range_modes(weft_piper_stages *s, const weft_piper_range *range, int d,
                            int in_flight, int *mode);
/* How many answers of weft_piper_range_fits were a "no" without proof. */
int64_t weft_piper_stages_unproved(const weft_piper_stages *s);
/* The least memory of node u at one width with one microbatch in flight; INFINITY: no such width.
 */
double weft_piper_node_least_bytes(const weft_piper *p, int u, int width);

/* Limits of what is read. */
enum { WEFT_PIPER_MOST_DEVICES = 1000000 };
#define WEFT_PIPER_MOST_BYTES 0x1p53

/* Is there a plan, however slow? WEFT_BOUNDED: yes; WEFT_INFEASIBLE: no; WEFT_UNKNOWN: stopped, or
 * the modes of a stage have too many sums. The cuts need not know memory and devices of `p`. */
weft_outcome weft_piper_has_plan(const weft_piper *p, const weft_piper_cuts *cuts,
                                 const weft_piper_options *options, const weft_run *run);

#endif
