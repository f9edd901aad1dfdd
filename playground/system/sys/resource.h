/* SPDX-License-Identifier: MIT */
/* resource.h: memory is what the module has; nothing else is known or limited. */
#ifndef WEFT_PLAYGROUND_SYS_RESOURCE_H
#define WEFT_PLAYGROUND_SYS_RESOURCE_H

#include <sys/time.h>
#include <sys/types.h>

#include "../absent.h"

#define RUSAGE_SELF 0
#define RUSAGE_THREAD 1
#define RLIMIT_RTTIME 15

struct rusage {
    struct timeval ru_utime, ru_stime;
    long ru_maxrss, ru_nvcsw, ru_nivcsw;
};

struct rlimit {
    unsigned long rlim_cur, rlim_max;
};

static inline int getrusage(int who, struct rusage *use)
{
    (void)who;
    *use = (struct rusage){.ru_maxrss = (long)(__builtin_wasm_memory_size(0) * 64)}; /* KiB */
    return 0;
}

static inline int setrlimit(int what, const struct rlimit *limit)
{
    (void)what, (void)limit;
    return weft_absent();
}

#endif
