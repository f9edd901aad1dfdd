/* SPDX-License-Identifier: MIT */
/* wait.h: no process to wait for. */
#ifndef WEFT_PLAYGROUND_SYS_WAIT_H
#define WEFT_PLAYGROUND_SYS_WAIT_H

#include <sys/types.h>

#include "../absent.h"

#define WNOHANG 1
#define WIFEXITED(status) ((void)(status), 0)
#define WEXITSTATUS(status) ((void)(status), 1)
#define WIFSIGNALED(status) ((void)(status), 0)
#define WTERMSIG(status) ((void)(status), 0)

static inline pid_t waitpid(pid_t pid, int *status, int flags)
{
    (void)pid, (void)status, (void)flags;
    return (pid_t)weft_absent();
}

#endif
