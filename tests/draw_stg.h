/* SPDX-License-Identifier: MIT */
/* Task graphs in the manner of the Standard Task Graph Set (Tobita, Kasahara, J. of Scheduling 5,
 * 2002): whole-number times, nothing sent, equal processors. Whoever includes this links
 * draw_stg.c. */
#ifndef WEFT_DRAW_STG_H
#define WEFT_DRAW_STG_H

#include "problem.h"

/* n_tasks between an entry and an exit without length. Edges are drawn in one of four ways by turns
 * of the seed (same probability, same predecessors, and both layer by layer), times from one of
 * three distributions with the mean 5, 10 or 20, processors are 2, 4, 8 or 16. The caller owns it. */
weft_problem *draw_stg(uint64_t seed, int n_tasks);

#endif
