/* SPDX-License-Identifier: MIT */
/* What graphs and problems promise (graph.h, problem.h); a broken promise aborts the test. */
#ifndef WEFT_INVARIANTS_H
#define WEFT_INVARIANTS_H

#include "problem.h"

void weft_graph_check(const weft_graph *g);
void weft_problem_check(const weft_problem *p);

#endif
