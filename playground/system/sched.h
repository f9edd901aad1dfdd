/* SPDX-License-Identifier: MIT */
/* sched.h: one processor, and no choice of it. */
#ifndef WEFT_PLAYGROUND_SCHED_H
#define WEFT_PLAYGROUND_SCHED_H

#include <sys/types.h>

#include "absent.h"

typedef struct cpu_set_t {
    int none;
} cpu_set_t;
#define CPU_ZERO(set) ((void)(set))
#define CPU_SET(i, set) ((void)(i), (void)(set))
#define CPU_ISSET(i, set) ((void)(i), (void)(set), 0)
#define CPU_COUNT(set) ((void)(set), 1)
#define CPU_SETSIZE 1

static inline int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
    (void)pid, (void)size, (void)set;
    return weft_absent();
}

static inline int sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set)
{
    (void)pid, (void)size, (void)set;
    return weft_absent();
}

struct sched_param {
    int sched_priority;
};
#define SCHED_FIFO 1

static inline int sched_setscheduler(pid_t pid, int policy, const struct sched_param *p)
{
    (void)pid, (void)policy, (void)p;
    return weft_absent();
}

int sched_yield(void);

#endif
