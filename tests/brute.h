/* SPDX-License-Identifier: MIT */
/* The optimum by trying every plan: the oracle of the exact solvers, with no code of theirs. */
#ifndef WEFT_BRUTE_H
#define WEFT_BRUTE_H

#include "sim.h"

enum { BRUTE_MOST_TASKS = 9, BRUTE_MOST_DEVICES = 4 };

/* The least value of the problem's goal over all legal plans that use the first n_usable devices;
 * INFINITY if there is none. For every transfer model but calls, with memory, pins and colours,
 * limits of latency and period, pipeline stages, switches and segments. */
double brute_optimum(const weft_problem *p, int n_usable);

/* Latency under overlap of the tasks in `order` (topological, all of them), each put behind those
 * before it on its device, as early as possible. The tests show that the simulator says the same.
 */
double brute_latency(const weft_problem *p, const int *device, const int *order);

#endif
