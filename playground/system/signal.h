/* SPDX-License-Identifier: MIT */
/* signal.h: nobody sends a signal. */
#ifndef WEFT_PLAYGROUND_SIGNAL_H
#define WEFT_PLAYGROUND_SIGNAL_H

#include_next <signal.h>

#include <sys/types.h>

#include "absent.h"

typedef struct siginfo_t {
    void *si_addr;
    int si_code;
    pid_t si_pid;
} siginfo_t;

struct sigaction {
    void (*sa_handler)(int);
    void (*sa_sigaction)(int, siginfo_t *, void *);
    sigset_t sa_mask;
    int sa_flags;
};
#define SA_SIGINFO 4
#define SA_RESTART 0x10000000
#define SIG_BLOCK 0
#define SIG_UNBLOCK 1
#define SIG_SETMASK 2

static inline int kill(pid_t pid, int n)
{
    (void)pid, (void)n;
    return weft_absent();
}

static inline int sigaction(int n, const struct sigaction *now, struct sigaction *old)
{
    (void)n, (void)now, (void)old;
    return weft_absent();
}

static inline int sigemptyset(sigset_t *set)
{
    (void)set;
    return 0;
}

static inline int sigfillset(sigset_t *set)
{
    (void)set;
    return 0;
}

static inline int sigaddset(sigset_t *set, int n)
{
    (void)set, (void)n;
    return 0;
}

static inline int sigpending(sigset_t *set)
{
    (void)set;
    return 0;
}

static inline int sigandset(sigset_t *to, const sigset_t *a, const sigset_t *b)
{
    (void)to, (void)a, (void)b;
    return 0;
}

static inline int sigisemptyset(const sigset_t *set)
{
    (void)set;
    return 1;
}

static inline int sigprocmask(int how, const sigset_t *now, sigset_t *old)
{
    (void)how, (void)now, (void)old;
    return weft_absent();
}

static inline int pthread_sigmask(int how, const sigset_t *now, sigset_t *old)
{
    (void)how, (void)now, (void)old;
    return weft_absent();
}

#endif
