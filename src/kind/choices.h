/* SPDX-License-Identifier: MIT */
/* What a placement decides before its tasks: how many samples go through the network at once, or
 * in which shares a batch is cut. Each choice makes a problem of its own. */
#ifndef WEFT_KIND_CHOICES_H
#define WEFT_KIND_CHOICES_H

#include "kind.h"

#define WEFT_CHOICES "choices" /* the certificate: cheap bounds of all of them, computed again */

typedef struct weft_batching {
    int64_t batch;
    int n_shares; /* 0: the batch in one piece */
    int64_t share[WEFT_MOST_SHARES];
} weft_batching;

static inline bool weft_choices_matter(const weft_constraints *c)
{
    return c->batches.n > 0 || c->splits_batch;
}

/* All that the request leaves open, on a platform of so many devices; in `a`. */
const weft_batching *weft_choices_of(const weft_request *r, int n_devices, weft_arena *a, int *n);
/* Is what the request says of batch and shares one of them? */
bool weft_choices_have(const weft_request *r, const weft_platform *on, weft_arena *a);
/* The request of one choice. */
weft_request weft_batching_request(const weft_request *r, const weft_batching *c);
/* Bounds of problems of one choice, as bounds of a plan of another: streams are compared by the
 * time of a sample. */
double weft_batching_scale(const weft_request *r, const weft_batching *from,
                           const weft_batching *to);
/* A bound that holds for all choices, in the measure of that of the request: the least of their
 * cheap ones. INFINITY: there is no plan. */
WEFT_CHECKED weft_status weft_choices_bound(const weft_request *r, const weft_platform *on,
                                            weft_arena *a, double *out);
/* Replaces the empty list of batches (any) by powers of two: from 1 to WEFT_MOST_BATCH, as long as a device
 * holds what the largest task reads and makes. */
enum { WEFT_MOST_BATCH = 1024 };
WEFT_CHECKED weft_status weft_choices_any_batch(weft_request *r);
bool weft_batching_is_same(const weft_batching *a, const weft_batching *b);
/* "16", or "24 + 8". */
const char *weft_batching_name(const weft_batching *c, weft_arena *a);

#endif
