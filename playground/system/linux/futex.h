/* SPDX-License-Identifier: MIT */
/* futex.h: words of a call that is not there. */
#ifndef WEFT_PLAYGROUND_LINUX_FUTEX_H
#define WEFT_PLAYGROUND_LINUX_FUTEX_H

#define FUTEX_WAIT 0
#define FUTEX_WAKE 1

#endif
