/* SPDX-License-Identifier: MIT */
/* clock.c: seconds that pass, whatever the date is. */
#include "base.h"

#include <time.h>

double weft_wall_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
