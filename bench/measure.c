/* SPDX-License-Identifier: MIT */
/* measure.c: how long does a command take, and how much memory does it need?
 *
 * measure N COMMAND [ARGUMENT...] runs the command N times, with its output thrown away, and prints
 * one JSON line: the wall time of each run, from before the process is made until it has ended, its
 * processor time, and the largest memory of any run. A process inherits the peak of the one that
 * starts it, so this must be a small program: its own peak, about a megabyte, is the least that can
 * be measured. Exit code: 0, or 1 if the command cannot be run or fails. */
#define _POSIX_C_SOURCE 200809L

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "kind.h"
#include "report.h"

enum { MOST_RUNS = 1000 };

extern char **environ;

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Runs the command once and waits for its end; true if it succeeded. */
static bool run_once(char **command)
{
    posix_spawn_file_actions_t actions;
    pid_t child;
    int code = -1;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    if (posix_spawnp(&child, command[0], &actions, NULL, command, environ) != 0 ||
        waitpid(child, &code, 0) != child)
        code = -1;
    posix_spawn_file_actions_destroy(&actions);
    return code == 0;
}

static double seconds_of(struct timeval t)
{
    return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

/* Of all runs so far, in the program and in the system on its behalf. */
static double cpu_of_children_s(void)
{
    struct rusage usage;

    getrusage(RUSAGE_CHILDREN, &usage);
    return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

static int64_t peak_of_children_bytes(void)
{
    struct rusage usage;

    getrusage(RUSAGE_CHILDREN, &usage);
    return (int64_t)usage.ru_maxrss * 1024;
}

int main(int argc, char **argv)
{
    weft_arena *a = weft_arena_new();
    weft_doc *line = weft_doc_new(a, WEFT_DOC_MAP), *times = weft_doc_new(a, WEFT_DOC_LIST);
    weft_doc *cpu_times = weft_doc_new(a, WEFT_DOC_LIST);
    int n_runs = argc > 2 ? atoi(argv[1]) : 0;

    if (n_runs < 1 || n_runs > MOST_RUNS) {
        fprintf(stderr, "usage: measure RUNS COMMAND [ARGUMENT...], with 1 to %d runs\n",
                MOST_RUNS);
        weft_arena_free(a);
        return 1;
    }
    for (int i = 0; i < n_runs; i++) {
        double start_s = now_s(), start_cpu_s = cpu_of_children_s();

        if (!run_once(argv + 2)) {
            fprintf(stderr, "measure: %s failed\n", argv[2]);
            weft_arena_free(a);
            return 1;
        }
        weft_doc_add(a, times, weft_doc_new_real(a, now_s() - start_s));
        weft_doc_add(a, cpu_times, weft_doc_new_real(a, cpu_of_children_s() - start_cpu_s));
    }
    weft_doc_put(a, line, "seconds", times);
    weft_doc_put(a, line, "cpu_seconds", cpu_times);
    weft_doc_put(a, line, "peak_rss_bytes", weft_doc_new_int(a, peak_of_children_bytes()));
    printf("%s\n", weft_doc_json(line, 0, a));
    weft_arena_free(a);
    return 0;
}
