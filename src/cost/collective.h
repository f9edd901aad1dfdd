/* SPDX-License-Identifier: MIT */
/* Links, transfers and collectives: the only home of these formulas (Thakur, Rabenseifner, Gropp,
 * IJHPCA 19(1), 2005). A message of b bytes takes alpha + t(b), where t(b) is b/BW or, over links with
 * a curve, what the curve says. g members, at the pace of their slowest pair, move V bytes in
 *
 *   all-gather, reduce-scatter   ring              (g-1) (alpha + t(V/g))
 *   all-reduce                   ring            2 (g-1) (alpha + t(V/g))
 *                                tree            2 ceil(log2 g) (alpha + t(V))
 *                                levels          g = n m: ring of n for V, then m for V/n
 *   all-to-all                   pairwise          (g-1) (alpha + t(V/g))
 *
 * where V is what one member holds before (reduce-scatter, all-reduce, all-to-all) or after
 * (all-gather). A tree wins for small messages, a ring for large ones: `collectives: best` of a
 * platform takes the faster one, level by level.
 *
 * Transfers at the same time share what they have in common (weft_users): a resource of the
 * platform and, in sharding under contend, a direction of a link. Of k transfers over it each gets its
 * bandwidth / k, so that k messages of b bytes take no less than k b / bandwidth. */
#ifndef WEFT_COLLECTIVE_H
#define WEFT_COLLECTIVE_H

#include "platform.h"

enum { WEFT_REDUCE_SCATTER = 1, WEFT_ALL_GATHER = 1, WEFT_ALL_REDUCE = 2 }; /* passes of the ring */

/* Links between members of a set, between two sets, or between a set and the host. */
typedef struct weft_link_cost {
    double latency_s, bytes_per_s; /* of the slowest pair; bytes_per_s 0: not connected */
    uint64_t curves;               /* of any pair: bits into curve */
    const weft_link_curve *curve;  /* of the platform */
    bool has_trees;                /* all-reduces take a tree where it is faster than a ring */
} weft_link_cost;

/* Nobody to talk to; what weft_link_cost_take begins with. */
#define WEFT_LINK_COST_NONE ((weft_link_cost){.bytes_per_s = INFINITY})

/* Time to move or to sum: fixed_s + bytes * second_per_byte, and nothing for no bytes. */
typedef struct weft_affine {
    double fixed_s, second_per_byte;
} weft_affine;

static inline double weft_affine_s(const weft_affine *f, double bytes)
{
    return bytes > 0 ? f->fixed_s + bytes * f->second_per_byte : 0.0;
}

/* No message, no time: 0 bytes take 0 s. */
double weft_link_cost_s(const weft_link_cost *l, double bytes);
/* Makes *slowest, at first WEFT_LINK_COST_NONE, no faster than the route between two devices. */
void weft_link_cost_take(const weft_platform *p, int from, int to, weft_link_cost *slowest);
/* One message between two devices; 0 from a device to itself. */
double weft_transfer_s(const weft_platform *p, int from, int to, double bytes);

/* --- collectives ----------------------------------------------------------------------------- */

/* Seconds of `passes` round a ring of n members, two of them by a tree where that is allowed and
 * faster; 0 for one member, or for no bytes. */
double weft_ring_s(const weft_link_cost *slowest, int n, int passes, double bytes);
/* All-reduce up a binomial tree and down again. */
double weft_tree_s(const weft_link_cost *slowest, int n, double bytes);
double weft_all_to_all_s(const weft_link_cost *slowest, int n, double bytes);

/* A sum over two levels: a ring of n_inside members each, then rings of n_outside for the parts. One
 * level: n_outside is 1. */
typedef struct weft_levels {
    int n_inside, n_outside;
    weft_link_cost inside, outside;
} weft_levels;

double weft_levels_s(const weft_levels *l, double bytes);
/* The same as a function of the bytes: without trees; with curves a lower bound. */
weft_affine weft_levels_line(const weft_levels *l);

/* --- sharing --------------------------------------------------------------------------------- */

/* Transfers at the same time, counted by what they share. */
typedef struct weft_users {
    const weft_platform *platform;
    int n_shared; /* 0: nothing is shared on this platform */
    int *n;       /* [n_shared] transfers: resources, then under contend directions of links */
    int *mark;    /* [n_shared] the last transfer that was counted */
    int n_added;
    double *bytes; /* [n_shared] that they move */
    int *hop;      /* scratch: the links of a route */
} weft_users;

/* has_links: directions of links are shared too if the platform says contend. */
weft_users weft_users_new(const weft_platform *p, bool has_links, weft_arena *a);
void weft_users_clear(weft_users *u);
/* One more transfer; from a device to itself: none. */
void weft_users_add(weft_users *u, int from, int to, double bytes);
/* One more receiver, that may get its bytes from any of some devices. */
void weft_users_receive(weft_users *u, const int *from, int n_from, int to, double bytes);
/* Makes *slowest no faster than the share of each, all being equally long. */
void weft_users_slow(const weft_users *u, weft_link_cost *slowest);
double weft_users_capacity(const weft_users *u, int i); /* bytes a second */
/* The time that the fullest of what is shared takes for its bytes. */
double weft_users_s(const weft_users *u);

#endif
