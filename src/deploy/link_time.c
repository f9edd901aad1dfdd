/* SPDX-License-Identifier: MIT */
/* link_time.c: what it takes to read on one processor what another has written.
 *
 * A writer fills a message, notes the time and sets a flag. The reader spins on the flag, copies the
 * message, and copies it again: the difference of the two is what the way costs, for kernels are
 * measured with their operands at hand. Each size is tried N_TRIES times; the lower quartile counts,
 * since what disturbs only makes it longer. */
#define _GNU_SOURCE
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure.h"
#include "pace.h"
#include "subprocess.h"
#include "worker.h"

enum { N_TRIES = 40, MOST_BYTES = 8 << 20 };

static const double PATIENCE_S = 10;
static const int64_t sizes[WEFT_N_LINK_SIZES] = {8,         16 << 10, 64 << 10,
                                                 256 << 10, 1 << 20,  MOST_BYTES};

typedef struct mailbox {
    _Atomic int written, read; /* numbers of messages */
    double sent_s;
    double seconds[WEFT_N_LINK_SIZES][N_TRIES];
    _Alignas(64) uint64_t data[MOST_BYTES / sizeof(uint64_t)];
} mailbox;

/* False: the other one is gone. */
static bool wait_until(_Atomic int *what, int n)
{
    double begin_s = weft_wall_s();

    for (unsigned i = 0; atomic_load_explicit(what, memory_order_acquire) < n; i++)
        if (i % 4096 == 4095) {
            if (weft_wall_s() - begin_s > PATIENCE_S)
                return false;
            sched_yield();
        }
    return true;
}

/* As fast as memory goes: what kernels do that only move data. */
static double copy_s(const mailbox *m, int64_t bytes, uint64_t *to)
{
    double begin_s = weft_wall_s();

    memcpy(to, m->data, (size_t)bytes);
    return weft_wall_s() - begin_s;
}

static void read_all(mailbox *m)
{
    uint64_t *to = weft_subprocess_memory(MOST_BYTES);

    for (int k = 0; to != NULL && k < WEFT_N_LINK_SIZES; k++) {
        memset(to, 0, (size_t)sizes[k]);
        for (int i = 0; i < N_TRIES; i++) {
            double seen_s, first_s;

            if (!wait_until(&m->written, 1 + k * N_TRIES + i))
                return;
            seen_s = weft_wall_s() - m->sent_s;
            first_s = copy_s(m, sizes[k], to);
            m->seconds[k][i] = seen_s + fmax(0, first_s - copy_s(m, sizes[k], to));
            atomic_store(&m->read, 1 + k * N_TRIES + i);
        }
    }
}

static bool write_all(mailbox *m)
{
    for (int k = 0; k < WEFT_N_LINK_SIZES; k++)
        for (int i = 0; i < N_TRIES; i++) {
            for (int64_t w = 0; w < sizes[k] / 8; w++)
                m->data[w] = (uint64_t)(w + i);
            m->sent_s = weft_wall_s();
            atomic_store_explicit(&m->written, 1 + k * N_TRIES + i, memory_order_release);
            if (!wait_until(&m->read, 1 + k * N_TRIES + i))
                return false;
        }
    return true;
}

/* Larger messages take no less time. */
static void find_times(mailbox *m, weft_link_timing *out)
{
    double least_s = 0;

    for (int k = 0; k < WEFT_N_LINK_SIZES; k++) {
        double median_s = weft_median(m->seconds[k], N_TRIES); /* sorts */

        least_s = fmax(least_s, m->seconds[k][N_TRIES / 4]);
        out[k] = (weft_link_timing){
            sizes[k],
            {.seconds = least_s,
                 .mad_s = median_s - m->seconds[k][N_TRIES / 4],
                 .least_s = m->seconds[k][0],
                 .n_kept = N_TRIES / 4,
                 .n_tried = N_TRIES}
        };
    }
}

static void leave(void)
{
    kill(getpid(), SIGKILL);
}

weft_status weft_measure_link(int from_cpu, int to_cpu, weft_link_timing out[WEFT_N_LINK_SIZES])
{
    mailbox *m = weft_subprocess_memory(sizeof *m);
    pid_t reader, writer;
    int how;

    if (m == NULL)
        weft_out_of_memory(sizeof *m);
    reader = fork();
    if (reader == 0) {
        weft_follow_parent("weft:link");
        (void)weft_pin(&to_cpu, 1);
        read_all(m);
        leave();
    }
    writer = fork();
    if (writer == 0) {
        weft_follow_parent("weft:link");
        (void)weft_pin(&from_cpu, 1);
        (void)write_all(m);
        leave();
    }
    if (writer > 0)
        waitpid(writer, &how, 0);
    if (reader > 0)
        waitpid(reader, &how, 0);
    if (atomic_load(&m->read) == WEFT_N_LINK_SIZES * N_TRIES)
        find_times(m, out);
    how = atomic_load(&m->read) == WEFT_N_LINK_SIZES * N_TRIES;
    weft_subprocess_release(m, sizeof *m);
    return how ? WEFT_OK
               : weft_fail(WEFT_E_SYSTEM, "processors %d and %d do not answer each other", from_cpu,
                           to_cpu);
}
