/* SPDX-License-Identifier: MIT */
/* Programs and libraries of somebody else, in a process of their own that leaves nothing behind. */
#ifndef WEFT_BASE_CHILD_H
#define WEFT_BASE_CHILD_H

#include <signal.h>

#include "base.h"

/* What runs: a program with its words, or, with word NULL, job(context) in a copy of this process,
 * whose memory is its own but for weft_subprocess_memory. */
typedef struct weft_child {
    const char *const *word; /* ends with NULL; looked for as a shell does */
    void (*job)(void *context);
    void *context;
    weft_bytes input;                  /* of its standard input, which is a file that has no name */
    double limit_s;                    /* then it is asked to end (SIGTERM); INFINITY: no limit */
    double grace_s;                    /* and so much later it is killed */
    size_t most_bytes;                 /* of its standard output: with more it is killed */
    const volatile sig_atomic_t *stop; /* not 0: it is killed; NULL: never */
} weft_child;

typedef enum weft_child_fate {
    WEFT_CHILD_ENDED,    /* code: what it exited with */
    WEFT_CHILD_CRASHED,  /* code: the signal */
    WEFT_CHILD_LATE,     /* killed behind its limit */
    WEFT_CHILD_TOO_LOUD, /* killed for its output */
    WEFT_CHILD_STOPPED,  /* killed because the user wants to stop */
    WEFT_CHILD_MISSING   /* there is no such program; code: errno */
} weft_child_fate;

typedef struct weft_child_end {
    weft_child_fate fate;
    int code;
    char *output; /* with a NUL behind its n bytes; in `a` */
    size_t n;
    const char *complaint; /* the last line of its standard error, of printable bytes; "": none */
} weft_child_end;

/* Runs it and waits. It leads a group of processes, all of which are killed when it has ended; on
 * Linux it dies with this thread, too. An error: there could be no process. */
WEFT_CHECKED weft_status weft_child_run(const weft_child *c, weft_arena *a, weft_child_end *out);

/* For a copy of this process: it dies with the thread that made it, where the system can do that, and
 * is shown under this name (NULL: that of the program). */
void weft_follow_parent(const char *name);

#endif
