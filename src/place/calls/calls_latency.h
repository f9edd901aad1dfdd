/* SPDX-License-Identifier: MIT */
/* Latency under calls: the path bound, and the search for paths on which it is large. */
#ifndef WEFT_CALLS_LATENCY_H
#define WEFT_CALLS_LATENCY_H

#include "list.h"

typedef struct weft_calls_paths weft_calls_paths;

/* Belongs to `a`. The domain must live as long and not be empty. A path is there from the start. */
weft_calls_paths *weft_calls_paths_new(const weft_domain *m, uint64_t seed, weft_arena *a);
/* Tries one more path; true if it gives more than all before. */
bool weft_calls_paths_try(weft_calls_paths *x);
/* The best bound so far and its path: bound, method, path of *out. */
void weft_calls_paths_best(const weft_calls_paths *x, weft_proof *out);

#endif
