/* SPDX-License-Identifier: MIT */
/* stdlib.h: paths are what they are called. */
#ifndef WEFT_PLAYGROUND_STDLIB_H
#define WEFT_PLAYGROUND_STDLIB_H

#include_next <stdlib.h>

#include <string.h>

#include "absent.h"

static inline char *realpath(const char *path, char *to)
{
    return to == NULL ? strdup(path) : strcpy(to, path);
}

static inline char *mkdtemp(char *name)
{
    (void)name;
    (void)weft_absent();
    return NULL;
}

#endif
