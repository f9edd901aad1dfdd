/* SPDX-License-Identifier: MIT */
/* A schedule of a subproblem that is improved part by part: times, what follows each task, the
 * memory that is left, and windows of it as subproblems of their own. */
#ifndef WEFT_TIMING_H
#define WEFT_TIMING_H

#include "subproblem.h"

/* A way that decides the value goes from position `from` to position `to` of the order with nothing
 * in between; -1: it begins at `to`; n_tasks: it ends at `from`. */
typedef struct weft_leap {
    int from, to;
} weft_leap;

typedef struct weft_timing {
    const weft_subproblem *subproblem;
    int *device, *order, *place; /* order: tasks by start; place: position of a task there */
    double *start_s, *end_s;     /* [n_tasks] as early as order and devices allow */
    double *rest_s;              /* [n_tasks] longest way from the end of a task to the end of all,
                                  * by edges and by the order on devices */
    int *lane_at, *lane;         /* device -> its tasks in order */
    double value, sum_s;         /* what is minimised; sum of ends, to choose among equals */
    int n_leaps;                 /* of the longest ways */
    weft_leap *leap;
    int *n_held;              /* [weight * n_devices + device] tasks that read it there */
    double *held_bytes;       /* [n_devices] */
    int *group_size, *member; /* [n_groups] and one of the tasks */
    weft_arena *arena;
    int *slot;                                     /* [n_tasks] place in `lane` */
    int *scratch, *number, *n_free, *group_number; /* of sorts and windows */
} weft_timing;

/* From devices and starts; the order is by start, ties by end, then by number. Belongs to `a`. */
weft_timing *weft_timing_new(const weft_subproblem *x, const int *device, const double *start_s,
                             weft_arena *a);
/* True if the subproblem allows the devices: supported, one for each group, room for weights. */
bool weft_timing_is_legal(const weft_timing *t);

/* The tasks at positions first .. last - 1 of the order. Those with is_free may change device and
 * order; the others keep their device and their order among each other. */
typedef struct weft_window {
    int first, last;
    const bool *is_free; /* [n_tasks] by task; NULL: all */
} weft_window;

/* Could the value fall if the window was scheduled anew? Not if a longest way leaps over it. */
bool weft_window_matters(const weft_timing *t, const weft_window *w);

/* The window as a subproblem: task i is order[first + i]. What lies before gives releases and free
 * times, what comes after, with its devices and orders, gives tails. The value of a schedule of
 * the subproblem is the value of the whole, or below it if a way that leaps over the window is
 * longer. Weights that tasks outside hold on a device take room there; one that is read on both
 * sides is free for tasks that cannot leave the device and counted twice for others, so that room
 * is never exceeded. Belongs to `a`. Cost: the window, its edges and a search for each device. */
weft_subproblem *weft_window_subproblem(weft_timing *t, const weft_window *w, weft_arena *a);

/* Puts a schedule of the window's subproblem in place of the tasks there. True if it is kept: the
 * value falls, or stays and the sum of ends falls. Otherwise nothing changes. */
bool weft_window_put(weft_timing *t, const weft_window *w, const int *device,
                     const double *start_s);

#endif
