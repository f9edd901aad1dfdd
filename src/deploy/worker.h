/* SPDX-License-Identifier: MIT */
/* The processes of a run and the memory they share. */
#ifndef WEFT_DEPLOY_WORKER_H
#define WEFT_DEPLOY_WORKER_H

#include "child.h"
#include "execute.h"

#ifdef __cplusplus /* which may look at this header, no more */
typedef int weft_shared_int;
typedef long weft_shared_long;
typedef uint32_t weft_shared_u32;
#else
#include <stdatomic.h>
typedef atomic_int weft_shared_int;
typedef atomic_long weft_shared_long;
typedef _Atomic uint32_t weft_shared_u32;
#endif

enum { WEFT_DEPTH = 4 }; /* items on their way at once; as many sets of inputs */
enum { WEFT_MOST_MESSAGE = 600 };

/* What a process tells. */
typedef struct weft_worker_state {
    weft_shared_int is_loaded, is_done, n_finished; /* n_finished: items of the stream, in order */
    weft_shared_long n_steps;                       /* segments that have ended */
    char message[WEFT_MOST_MESSAGE];                /* why it has failed */
    char version[64];
    double difference; /* of outputs that it has compared */
    int n_compared, n_different;
} weft_worker_state;

typedef struct weft_run_control {
    weft_shared_u32 epoch;              /* changes with everything that somebody may wait for */
    weft_shared_int n_sleepers, failed; /* failed: 1 + who did */
    weft_shared_int n_arrived, phase;   /* barrier */
    double opened_s;                    /* when it was opened last */
} weft_run_control;

/* An item on a device. */
typedef struct weft_item_record {
    double opened_s, end_s, before_s, after_s; /* the last two: pacers */
    long switches;
} weft_item_record;

typedef struct weft_step_record {
    double ready_s, done_s; /* from when all it reads was seen to be there; published */
    bool is_away;           /* the processor was taken away while it was waiting */
} weft_step_record;

/* Everything that all processes see. */
typedef struct weft_board {
    const weft_split_net *s;
    const weft_execute_options *o;
    int n_workers, n_checked;
    const int *worker_device; /* [n_workers] */
    weft_run_control *control;
    weft_worker_state *state;      /* [n_workers + 1] the last: of the whole network */
    uint8_t *data;                 /* tensors, WEFT_DEPTH times each */
    const size_t *at;              /* [n_tensors * WEFT_DEPTH] into data */
    weft_shared_u32 *ready;        /* the same: 1 + item that is there */
    uint8_t *expected;             /* outputs of the whole network, as data */
    weft_shared_u32 *has_expected; /* one: they are there */
    weft_item_record *item;        /* [n_items * n_workers] */
    weft_step_record *step;        /* [n_items * n_segments] */
    double *stream_end_s;          /* [n_stream * n_workers] */
    int (*socket)[2];              /* [n_workers * n_workers] of pairs; NULL: none */
    bool has_room;                 /* a processor for each of them: waiting may spin */
    const char *whole_by;          /* engine of the whole network; NULL: it is not run */
    int parent;
} weft_board;

static inline uint8_t *weft_board_data(const weft_board *b, int tensor, int slot)
{
    return b->data + b->at[tensor * WEFT_DEPTH + slot];
}

/* Never returns. */
void weft_worker_run(const weft_board *b, int worker_number);
/* Runs the whole network on every set of inputs; never returns. */
void weft_worker_whole(const weft_board *b);

/* --- waiting (wait.c) ------------------------------------------------------------------------ */

/* Something has changed: wakes those who sleep. */
void weft_tell(weft_run_control *c);
/* Sleeps until something has changed since `epoch`, for at most a tenth of a second. */
void weft_sleep(weft_run_control *c, uint32_t epoch);

#endif
