/* SPDX-License-Identifier: MIT */
/* socket.h: no pairs of sockets. */
#ifndef WEFT_PLAYGROUND_SYS_SOCKET_H
#define WEFT_PLAYGROUND_SYS_SOCKET_H

#include_next <sys/socket.h>

#include "../absent.h"

#define MSG_DONTWAIT 0
#define MSG_NOSIGNAL 0

static inline int socketpair(int domain, int type, int protocol, int ends[2])
{
    (void)domain, (void)type, (void)protocol, (void)ends;
    return weft_absent();
}

#endif
