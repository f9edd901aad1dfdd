/* SPDX-License-Identifier: MIT */
/* syscall.h: no calls of a system. */
#ifndef WEFT_PLAYGROUND_SYS_SYSCALL_H
#define WEFT_PLAYGROUND_SYS_SYSCALL_H

#include "../absent.h"

#define SYS_futex 0
#define syscall(...) weft_absent()

#endif
