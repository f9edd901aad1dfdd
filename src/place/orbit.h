/* SPDX-License-Identifier: MIT */
/* Equal devices: which may change places, problems with fewer of them, and chains of devices that
 * hold a network too large for one. */
#ifndef WEFT_ORBIT_H
#define WEFT_ORBIT_H

#include "piece.h"

/* --- symmetry (orbit.c) ---------------------------------------------------------------------- */

/* Twins are devices that can change places without any number changing. A swap exchanges classes
 * of twins pairwise, as two equal servers do, and again no number changes. */
typedef struct weft_orbits {
    int n_classes;
    const int *kind_at;            /* [n_devices] of twins, by first device */
    const int *member_at, *member; /* kind -> devices, ascending */
    int n_swaps;
    const int *swap; /* [n_swaps * n_classes] the kind that each one changes places with */
} weft_orbits;

/* Belongs to `a`. */
weft_orbits weft_orbits_of(const weft_domain *m, weft_arena *a);

static inline int weft_orbits_size(const weft_orbits *o, int c)
{
    return o->member_at[c + 1] - o->member_at[c];
}

/* --- fewer devices (orbit.c) ----------------------------------------------------------------- */

/* At most so many devices of each kind are of use at any time, if memory does not matter. */
int weft_piece_width(const weft_piece *x, weft_arena *a);

typedef struct weft_reduced {
    weft_piece *piece;    /* NULL: nothing is gained */
    int *device;          /* [its devices] one of those it stands for; different ones */
    int *kind;            /* [devices of the whole] a device of `piece` of the same kind */
    bool is_exact;        /* sending between its devices takes as long as between those */
    bool is_memory_aside; /* memory limits the whole, but not `piece` */
    int *place;           /* scratch */
} weft_reduced;

/* The piece with as many devices of each kind as can be of use, and without dominated edges. Its
 * least value is no larger than that of x; it is the same if is_exact and not is_memory_aside.
 * Belongs to `a`. */
weft_reduced weft_piece_reduce(const weft_piece *x, weft_arena *a);
/* The piece on some of its devices; memory and groups stay. Belongs to `a`. */
weft_piece *weft_piece_pick(const weft_piece *x, const int *device, int n, weft_arena *a);

/* --- chains of devices (orbit_chain.c) ------------------------------------------------------- */

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
weft_chain_plan weft_orbit_chain(const weft_domain *m, const weft_orbits *o,
                                 const double *room_bytes, const weft_effort *e, weft_arena *a);
/* The most bytes of tensors at once if tasks run in their order. */
double weft_orbit_live_bytes(const weft_problem *p);

/* --- the solver (orbit_team.c) --------------------------------------------------------------- */

/* Does memory limit the piece, or has it devices that are of no use beside their equals? */
bool weft_orbit_helps(const weft_piece *x, const weft_reduced *r);
extern const weft_solver weft_place_orbit;

#endif
