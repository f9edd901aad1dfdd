/* SPDX-License-Identifier: MIT */
/* wait.c: sleeping and waking between processes (futex) and signals. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "worker.h"

enum { TENTH_NS = 100000000 };

void weft_tell(weft_run_control *c)
{
    atomic_fetch_add(&c->epoch, 1);
    if (atomic_load(&c->n_sleepers) > 0)
        syscall(SYS_futex, &c->epoch, FUTEX_WAKE, 1 << 30, NULL, NULL, 0);
}

void weft_sleep(weft_run_control *c, uint32_t epoch)
{
    struct timespec tenth = {0, TENTH_NS};

    atomic_fetch_add(&c->n_sleepers, 1);
    syscall(SYS_futex, &c->epoch, FUTEX_WAIT, epoch, &tenth, NULL, 0);
    atomic_fetch_sub(&c->n_sleepers, 1);
}

/* The signals that end the program: one that is ignored is pending while it is blocked all the same. */
static void fill_ends(sigset_t *set)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU};
    struct sigaction now;

    sigemptyset(set);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (sigaction(ends[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN) /* nohup */
            sigaddset(set, ends[i]);
}

void weft_ends_wait(bool wait)
{
    static _Thread_local sigset_t before;
    sigset_t set;

    fill_ends(&set);
    if (wait)
        pthread_sigmask(SIG_BLOCK, &set, &before);
    else
        pthread_sigmask(SIG_SETMASK, &before, NULL);
}

bool weft_end_is_near(void)
{
    sigset_t ends, now;

    fill_ends(&ends);
    sigpending(&now);
    sigandset(&now, &now, &ends);
    return !sigisemptyset(&now);
}
