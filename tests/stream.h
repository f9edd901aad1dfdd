/* SPDX-License-Identifier: MIT */
/* Streams of items, one by one: what the period of a plan promises. */
#ifndef WEFT_TESTS_STREAM_H
#define WEFT_TESTS_STREAM_H

#include "sim.h"

/* Ends of the items of a stream, [n_items], of a plan with one way that can run. */
void run_stream(const weft_problem *p, const weft_plan *plan, int n_items, double *end_s);

#endif
