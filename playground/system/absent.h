/* SPDX-License-Identifier: MIT */
/* absent.h: what a WebAssembly module has no system for. */
#ifndef WEFT_PLAYGROUND_ABSENT_H
#define WEFT_PLAYGROUND_ABSENT_H

#include <errno.h>

/* Each call fails as it fails where a system refuses it, so that the sources stay as they are and say what
 * they always say when something cannot be done. The headers beside this one stand before those of
 * wasi-libc, and add what is missing there. */
static inline int weft_absent(void)
{
    errno = ENOSYS;
    return -1;
}

#endif
