/* SPDX-License-Identifier: MIT */
/* wait.c: sleeping and waking between processes (futex), and their ties to the parent. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <signal.h>
#include <sys/prctl.h>
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

void weft_follow_parent(const char *name)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, name);
}
