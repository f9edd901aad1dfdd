/* SPDX-License-Identifier: MIT */
/* The least period of one mapping as a mixed-integer linear program. */
#ifndef WEFT_MILP_ASSIGN_H
#define WEFT_MILP_ASSIGN_H

#include "mapping.h"
#include "opt.h"

/* Columns that the program would have; what is affordable is the caller's decision. */
double weft_assign_size(const weft_domain *m);
/* Seconds of a unit of time in the program. */
double weft_assign_unit(const weft_mapping *map);
/* The program of the mapping's problem. start: [n_tasks] a mapping to begin with, or NULL. Release
 * with weft_milp_free. */
weft_milp *weft_assign_build(const weft_mapping *map, const int *start);
/* The mapping of a solution, [n_tasks]. */
void weft_assign_decode(const weft_mapping *map, const double *x, int *device);

#endif
