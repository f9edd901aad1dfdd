/* SPDX-License-Identifier: MIT */
/* stdio.h: no files without a name. */
#ifndef WEFT_PLAYGROUND_STDIO_H
#define WEFT_PLAYGROUND_STDIO_H

#include_next <stdio.h>

#include "absent.h"

#define tmpfile weft_no_tmpfile
static inline FILE *weft_no_tmpfile(void)
{
    (void)weft_absent();
    return NULL;
}

#endif
