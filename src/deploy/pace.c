/* SPDX-License-Identifier: MIT */
/* pace.c: pacers, processors, medians. */
#define _GNU_SOURCE /* sched_setaffinity, RUSAGE_THREAD */
#include "pace.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PACER_STEPS = 8000, RT_LIMIT_US = 900000 };

static double spin(int n_steps)
{
    volatile double seed = 1.0, sink;
    double begin_s = weft_wall_s(), x = seed;

    for (int i = 0; i < n_steps; i++)
        x = x * 0.999999 + 1e-6;
    sink = x;
    (void)sink;
    return weft_wall_s() - begin_s;
}

/* The first steps bring its code and the clock back into the caches. */
double weft_pacer_s(void)
{
    (void)spin(PACER_STEPS / 8);
    return spin(PACER_STEPS);
}

long weft_switches(void)
{
    struct rusage u;

    return getrusage(RUSAGE_THREAD, &u) == 0 ? u.ru_nivcsw : 0;
}

bool weft_pin(const int *cpu, int n)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    for (int i = 0; i < n; i++)
        if (cpu[i] >= 0 && cpu[i] < WEFT_MOST_CPUS)
            CPU_SET((size_t)cpu[i], &set);
    return n == 0 || sched_setaffinity(0, sizeof set, &set) == 0;
}

int weft_cpus_allowed(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

bool weft_realtime(void)
{
    struct rlimit limit = {RT_LIMIT_US * 20, RT_LIMIT_US * 20};
    struct sched_param p = {.sched_priority = 1};

    setrlimit(RLIMIT_RTTIME, &limit);
    return sched_setscheduler(0, SCHED_FIFO, &p) == 0;
}

static int compare(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;

    return a < b ? -1 : a > b;
}

double weft_median(double *x, int n)
{
    if (n == 0)
        return NAN;
    qsort(x, (size_t)n, sizeof *x, compare);
    return n % 2 == 1 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

double weft_mad(const double *x, int n, double median, weft_arena *a)
{
    double *distance = WEFT_NEW(a, double, n + 1);

    for (int i = 0; i < n; i++)
        distance[i] = fabs(x[i] - median);
    return weft_median(distance, n);
}
