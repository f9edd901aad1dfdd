/* SPDX-License-Identifier: MIT */
/* fcntl.h: descriptors are not copied. */
#ifndef WEFT_PLAYGROUND_FCNTL_H
#define WEFT_PLAYGROUND_FCNTL_H

#include_next <fcntl.h>

#define F_DUPFD_CLOEXEC 1030

#endif
