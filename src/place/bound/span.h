/* SPDX-License-Identifier: MIT */
/* The work between two barriers, as the search of exact.c sees it: how long it takes at least. */
#ifndef WEFT_SPAN_H
#define WEFT_SPAN_H

#include "subproblem.h"

enum {
    WEFT_STRETCH_CLASSES = 4
}; /* of tasks by what follows them, each a part of the one before */

/* Costs in ticks, laid out as in the subproblem; tail[]: at least this follows a task. Times
 * of `never` or more: not there. */
typedef struct weft_stretch_costs {
    const weft_subproblem *subproblem;
    const int64_t *time, *tail, *send;
    int64_t never;
} weft_stretch_costs;

typedef struct weft_stretch {
    int begin, end, n_devices; /* tasks begin .. end - 1; end is the barrier, or the end of all */
    int n_prices, n_exits;
    double *price;   /* [price * n_devices + device] of sum 1 */
    double *cheap;   /* [(task - begin) * n_prices + price] the least priced time of a task */
    int *n_classes;  /* [task - begin] it belongs to so many of the classes, from the first on */
    double *leave;   /* [(class * n_exits + exit) * n_devices + device] least time from the end of a
                      * task of the class on the device to the exit */
    double *leaving; /* [(price * classes + class) * n_exits + exit] the same at a price */
    double *rest;    /* [exit] what follows; INFINITY: no exit */
} weft_stretch;

/* Tasks begin .. end - 1 between two barriers. Belongs to `a`. */
weft_stretch *weft_stretch_new(const weft_stretch_costs *c, int begin, int end, weft_arena *a);
/* Priced work of the tasks of the span that are not done, [price * classes + class], of `a`. */
double *weft_stretch_work(const weft_stretch *s, const uint64_t *done, weft_arena *a);
/* Task u, one of the span, is done, too. */
void weft_stretch_less(const weft_stretch *s, double *work, int u);
/* No schedule ends before, if device d takes no task of the span before free[d] (`never`: none at
 * all). Rounded down; `best`: a bound that is known, which is returned if none is larger. */
double weft_stretch_bound(const weft_stretch *s, const double *work, const int64_t *free,
                          int64_t never, double best);

#endif
