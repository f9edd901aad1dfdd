/* SPDX-License-Identifier: MIT */
/* A subproblem with its chains as single tasks: windows of it reach further. */
#ifndef WEFT_FUSE_H
#define WEFT_FUSE_H

#include "rows.h"
#include "subproblem.h"

typedef struct weft_fused {
    const weft_subproblem *fine;
    weft_subproblem *coarse;
    int *owner;     /* [fine tasks] task of `coarse` */
    weft_rows part; /* coarse task -> its tasks, in order */
} weft_fused;

/* Joins u and v if v alone reads u and reads nothing else, both may share a device, and neither is
 * in a group with others. A schedule of the coarse subproblem is a schedule of the fine one with
 * the same value; the reverse does not hold. Belongs to `a`. */
weft_fused weft_subproblem_fuse(const weft_subproblem *x, weft_arena *a);

/* Devices and starts of the fine tasks from those of the coarse ones. */
void weft_fused_expand(const weft_fused *f, const int *device, const double *start_s,
                       int *fine_device, double *fine_start_s);
/* A guess the other way: each coarse task on the device on which most of its tasks are and which it
 * may use, at the start of its first. */
void weft_fused_project(const weft_fused *f, const int *fine_device, const double *fine_start_s,
                        int *device, double *start_s);

#endif
