/* SPDX-License-Identifier: MIT */
/* Why there is no plan (misfit.c). */
#ifndef WEFT_MISFIT_H
#define WEFT_MISFIT_H

#include "space.h"

/* One line for the user. The text lives in `a`, or for ever. */
const char *weft_pipe_misfit(const weft_training *p, weft_run *run, weft_arena *a);

#endif
