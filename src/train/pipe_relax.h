/* SPDX-License-Identifier: MIT */
/* A bound of a family for all schedules, and the pipelines that it would like best (pipe_relax.c). */
#ifndef WEFT_PIPE_RELAX_H
#define WEFT_PIPE_RELAX_H

#include "space.h"

enum { WEFT_PIPE_N_SEQUENCES = 4, WEFT_PIPE_MOST_SEQUENCE = 128 };

/* The device groups of the stages of a uniform pipeline, from the last stage to the first. */
typedef struct weft_pipe_sequence {
    double bound_s; /* INFINITY: there is none */
    int n, group[WEFT_PIPE_MOST_SEQUENCE];
} weft_pipe_sequence;

typedef struct weft_pipe_relaxer weft_pipe_relaxer;

weft_pipe_relaxer *weft_pipe_relaxer_new(weft_pipe_best *best, weft_arena *a);
void weft_pipe_relaxer_free(weft_pipe_relaxer *r);

/* Does the bound hold for plans of this schedule? */
bool weft_pipe_is_relaxable(weft_schedule schedule);

/* The fewest microbatches that a stage keeps under any of these schedules that is allowed, with so
 * many stages from it to the end. */
static inline int64_t weft_pipe_relaxed_flight(const weft_train_problem *p, int left, int64_t m)
{
    unsigned allowed = p->constraints.schedules;

    if (allowed >> WEFT_ONE_F_ONE_B & 1)
        return weft_pipe_in_flight(WEFT_ONE_F_ONE_B, left, m);
    return weft_pipe_in_flight(allowed >> WEFT_EAGER & 1 ? WEFT_EAGER : WEFT_GPIPE, left, m);
}

/* No plan of the family takes less under these schedules; INFINITY: none is below the target. 0:
 * not known, the family has too many nodes, or time is up. list:
 * [WEFT_PIPE_N_SEQUENCES] the sequences with the least bounds, of uniform families. */
double weft_pipe_relaxed_s(weft_pipe_relaxer *r, const weft_pipe_family *f,
                           weft_pipe_sequence *list, weft_arena *scratch);

#endif
