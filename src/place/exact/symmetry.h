/* SPDX-License-Identifier: MIT */
/* Equal devices: which may change places, problems with fewer of them, and chains of devices that
 * hold a network too large for one. */
#ifndef WEFT_SYMMETRY_H
#define WEFT_SYMMETRY_H

#include "subproblem.h"

/* --- symmetry (symmetry.c) ------------------------------------------------------------------- */

/* Twins are devices that can change places without any number changing. A swap exchanges classes
 * of twins pairwise, as two equal servers do, and again no number changes. */
typedef struct weft_symmetry {
    int n_classes;
    const int *kind_at;            /* [n_devices] of twins, by first device */
    const int *member_at, *member; /* kind -> devices, ascending */
    int n_swaps;
    const int *swap; /* [n_swaps * n_classes] the kind that each one changes places with */
} weft_symmetry;

/* Can the devices change places without any number changing? */
bool weft_devices_are_equal(const weft_domain *m, int c, int d);
/* Belongs to `a`. */
weft_symmetry weft_symmetry_of(const weft_domain *m, weft_arena *a);

static inline int weft_symmetry_size(const weft_symmetry *o, int c)
{
    return o->member_at[c + 1] - o->member_at[c];
}

/* --- fewer devices (symmetry.c) -------------------------------------------------------------- */

/* At most so many devices of each kind are of use at any time, if memory does not matter. */
int weft_subproblem_width(const weft_subproblem *x, weft_arena *a);

typedef struct weft_reduced {
    weft_subproblem *subproblem; /* NULL: nothing is gained */
    int *device;                 /* [its devices] one of those it stands for; different ones */
    int *kind;            /* [devices of the whole] a device of `subproblem` of the same kind */
    bool is_exact;        /* sending between its devices takes as long as between those */
    bool is_memory_aside; /* memory limits the whole, but not `subproblem` */
    int *place;           /* scratch */
} weft_reduced;

/* The subproblem with as many devices of each kind as can be of use, and without dominated edges.
 * Its least value is no larger than that of x; it is the same if is_exact and not is_memory_aside.
 * Belongs to `a`. */
weft_reduced weft_subproblem_reduce(const weft_subproblem *x, weft_arena *a);
/* The subproblem on some of its devices; memory and groups stay. Belongs to `a`. */
weft_subproblem *weft_subproblem_pick(const weft_subproblem *x, const int *device, int n,
                                      weft_arena *a);

/* --- chains of devices (symmetry_chain.c) ---------------------------------------------------- */

typedef struct weft_chain_plan {
    double value;  /* as estimated, never too low; INFINITY: none found */
    bool is_best;  /* of all contiguous plans with these room and estimates */
    int *device;   /* [n_tasks] */
    int n_devices; /* used */
    int64_t n_states;
} weft_chain_plan;

/* Tasks in their order, each device with one stretch of them. room_bytes: [n_devices] for weights;
 * equal for twins and for what changes places with them. Only plans below e->upper; at most
 * e->most_beam labels a task (0: the usual number). The arrays belong to `a`. */
weft_chain_plan weft_symmetry_chain(const weft_domain *m, const weft_symmetry *o,
                                    const double *room_bytes, const weft_effort *e, weft_arena *a);
/* The most bytes of tensors at once if tasks run in their order. */
double weft_symmetry_live_bytes(const weft_problem *p);

/* --- the solver (symmetry_device_set.c) ------------------------------------------------------ */

#endif
