/* SPDX-License-Identifier: MIT */
/* fcntl.h: descriptors are not copied. */
#ifndef WEFT_PLAYGROUND_FCNTL_H
#define WEFT_PLAYGROUND_FCNTL_H

#include_next <fcntl.h>

#define F_DUPFD_CLOEXEC 1030
#define F_TLOCK 2

/* Nobody else is here. */
static inline int lockf(int fd, int how, off_t n)
{
    (void)fd, (void)how, (void)n;
    return 0;
}

#endif
