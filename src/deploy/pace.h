/* SPDX-License-Identifier: MIT */
/* Measuring on a machine whose speed is not constant.
 *
 * A pacer is a piece of arithmetic of about 20 us that always does the same. A sample counts if the
 * pacers before and after it were nearly as fast as the fastest ever was, and if nobody took the
 * processor away meanwhile. */
#ifndef WEFT_DEPLOY_PACE_H
#define WEFT_DEPLOY_PACE_H

#include "base.h"

enum { WEFT_MOST_CPUS = 1024 };

#define WEFT_PACER_SLACK 1.02 /* a sample counts up to here, of the fastest pacer */

double weft_pacer_s(void); /* runs one: its seconds */
long weft_switches(void);  /* how often this thread has lost its processor so far */
/* Only these processors, from now on. False: the system does not let us. */
bool weft_pin(const int *cpu, int n);
int weft_cpus_allowed(void); /* processors that this process may use */
/* SCHED_FIFO, with a limit on the time without a pause. False: not allowed. */
bool weft_realtime(void);

/* The median, and the median distance from it; NAN of none. Sorts x. */
double weft_median(double *x, int n);
double weft_mad(const double *x, int n, double median, weft_arena *a);

#endif
