/* SPDX-License-Identifier: MIT */
/* What the kernels of the executor share: checked reads, sums, intervals of named axes. */
#ifndef WEFT_EXECUTOR_OPS_H
#define WEFT_EXECUTOR_OPS_H

#include "executor.h"

#include <string.h>

static inline int64_t plus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t times(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

static inline int64_t take(exec_task *t, const exec_memory *m, int64_t at)
{
    if (!m->held[at])
        t->n_faults++;
    m->read[at] = true;
    return m->value[at];
}

/* One more term of an element; the first one starts it. */
static inline void add(exec_memory *m, exec_combine combine, int64_t at, int64_t value)
{
    m->value[at] = m->held[at] ? exec_combined(combine, m->value[at], value) : value;
    m->held[at] = true;
}

static inline void set(exec_memory *m, int64_t at, int64_t value)
{
    m->value[at] = value;
    m->held[at] = true;
}

/* The interval of the named axis: what the member does of it, or all. */
static inline void range(exec_task *t, const char *name, int64_t extent, int64_t *lo, int64_t *hi)
{
    *lo = 0;
    *hi = extent;
    for (int i = 0; t->step != NULL && i < t->step->n_axes; i++)
        if (strcmp(t->step->axis[i].name, name) == 0) {
            *lo = t->lo[i];
            *hi = t->hi[i];
            t->n_axes++;
            if (t->step->axis[i].extent != extent)
                t->n_faults++;
        }
}

static inline void ranges(exec_task *t, const weft_shape *s, int64_t *lo, int64_t *hi)
{
    static const char *const name[] = {"d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7"};

    for (int i = 0; i < s->rank; i++)
        range(t, name[i], s->dim[i], &lo[i], &hi[i]);
}

extern const exec_kernel exec_more_kernels[]; /* executor_more.c; NULL name ends it */

#endif
