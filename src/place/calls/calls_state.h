/* SPDX-License-Identifier: MIT */
/* A placement under calls that changes group by group, with the lengths of its calls. */
#ifndef WEFT_CALLS_STATE_H
#define WEFT_CALLS_STATE_H

#include "list.h"
#include "rows.h"

typedef struct weft_calls_state {
    const weft_domain *domain;
    const weft_problem *p;
    weft_rows member; /* group -> tasks */
    int *device;      /* [n_tasks] */
    double *call_s;   /* [n_devices] reads, tasks and writes; the host: its tasks */
    double *bytes;    /* [n_devices] of weights */
    int *n_on;        /* [n_devices] tasks there */
    /* scratch */
    int64_t *seen, n_looks; /* [n_devices] */
    int *waits, *stack, *first, *next;
    double *begin_s;
} weft_calls_state;

/* All tasks on the host. Belongs to `a`. */
weft_calls_state *weft_calls_state_new(const weft_domain *m, weft_arena *a);
/* Moves a group; whatever follows from it is kept up to date. */
void weft_calls_state_move(weft_calls_state *s, int group, int device);
/* Takes another placement and sums all up anew. */
void weft_calls_state_set(weft_calls_state *s, const int *device);
/* The latency; INFINITY if calls wait for each other in a circle. O(tasks + edges). */
double weft_calls_state_value(weft_calls_state *s);
/* True if the weights on d fit its memory. */
static inline bool weft_calls_state_fits(const weft_calls_state *s, int d)
{
    return weft_fits(s->bytes[d], s->p->capacity[d]);
}

#endif
