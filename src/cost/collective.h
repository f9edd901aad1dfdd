/* SPDX-License-Identifier: MIT */
/* Links, rings and transfers in the alpha-beta model (Thakur, Rabenseifner, Gropp, IJHPCA 19(1),
 * 2005): the only home of these formulas. A message of V bytes takes alpha + V/BW. A ring of g
 * members, at the pace of its slowest neighbour link, moves V bytes in
 *
 *   reduce-scatter, all-gather   1 pass     (g-1) alpha +   (g-1)/g V/BW
 *   all-reduce                   2 passes   2 (g-1) alpha + 2 (g-1)/g V/BW
 *
 * where V is what one member holds before (reduce-scatter, all-reduce) or after (all-gather). */
#ifndef WEFT_COLLECTIVE_H
#define WEFT_COLLECTIVE_H

#include "platform.h"

enum { WEFT_REDUCE_SCATTER = 1, WEFT_ALL_GATHER = 1, WEFT_ALL_REDUCE = 2 }; /* passes of the ring */

/* Links between members of a set, between two sets, or between a set and the host. */
typedef struct weft_link_cost {
    double latency_s, bytes_per_s; /* of the slowest pair; bytes_per_s 0: not connected */
} weft_link_cost;

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
/* Makes *slowest, at first {0, INFINITY}, no faster than the route between two devices. */
void weft_link_cost_take(const weft_platform *p, int from, int to, weft_link_cost *slowest);
/* Seconds of `passes` round a ring of n members; 0 for one member, or for no bytes. */
double weft_ring_s(const weft_link_cost *slowest, int n, int passes, double bytes);
/* The same as a function of the bytes, of which `share` goes round this ring. n > 1. */
weft_affine weft_ring_line(const weft_link_cost *slowest, int n, int passes, double share);
/* One message between two devices; 0 from a device to itself. */
double weft_transfer_s(const weft_platform *p, int from, int to, double bytes);

#endif
