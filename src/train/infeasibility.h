/* SPDX-License-Identifier: MIT */
/* Why there is no plan (infeasibility.c). */
#ifndef WEFT_INFEASIBILITY_H
#define WEFT_INFEASIBILITY_H

#include "space.h"

/* One line for the user. The text lives in `a`, or for ever. */
const char *weft_pipe_infeasibility(const weft_train_problem *p, weft_run *run, weft_arena *a);

#endif
