/* SPDX-License-Identifier: MIT */
/* wait.h: no process to wait for. */
#ifndef WEFT_PLAYGROUND_SYS_WAIT_H
#define WEFT_PLAYGROUND_SYS_WAIT_H

#include <signal.h>
#include <sys/types.h>

#include "../absent.h"

#define WNOHANG 1
#define WEXITED 4
#define WNOWAIT 0x01000000
#define P_PID 1
#define WIFEXITED(status) ((void)(status), 0)
#define WEXITSTATUS(status) ((void)(status), 1)
#define WIFSIGNALED(status) ((void)(status), 0)
#define WTERMSIG(status) ((void)(status), 0)

static inline int waitid(int what, id_t id, siginfo_t *info, int flags)
{
    (void)what, (void)id, (void)info, (void)flags;
    return weft_absent();
}

static inline pid_t waitpid(pid_t pid, int *status, int flags)
{
    (void)pid, (void)status, (void)flags;
    return (pid_t)weft_absent();
}

#endif
