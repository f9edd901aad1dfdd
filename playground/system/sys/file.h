/* SPDX-License-Identifier: MIT */
/* file.h: nobody else is here. */
#ifndef WEFT_PLAYGROUND_SYS_FILE_H
#define WEFT_PLAYGROUND_SYS_FILE_H

#define LOCK_SH 1
#define LOCK_EX 2
#define LOCK_NB 4
#define LOCK_UN 8

static inline int flock(int fd, int how)
{
    (void)fd, (void)how;
    return 0;
}

#endif
