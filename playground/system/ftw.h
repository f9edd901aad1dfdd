/* SPDX-License-Identifier: MIT */
/* ftw.h: no folders to walk through. */
#ifndef WEFT_PLAYGROUND_FTW_H
#define WEFT_PLAYGROUND_FTW_H

#include <sys/stat.h>

#include "absent.h"

struct FTW {
    int base, level;
};
#define FTW_PHYS 1
#define FTW_DEPTH 8

static inline int nftw(const char *path,
                       int (*f)(const char *, const struct stat *, int, struct FTW *), int n,
                       int flags)
{
    (void)path, (void)f, (void)n, (void)flags;
    return weft_absent();
}

#endif
