/* SPDX-License-Identifier: MIT */
/* Lanes of timelines: what happens at the same time in one row is drawn side by side. */
#ifndef WEFT_LANES_H
#define WEFT_LANES_H

#include "sim.h"

/* A stretch of time in a row. */
typedef struct weft_track {
    int row, job;
    int lane; /* 0, 1, ...: see weft_tracks_assign */
    double start_s, end_s;
} weft_track;

/* Gives each the lowest lane of its row that is free when it starts: no two of a lane overlap.
 * n_lanes: [n_rows] how many a row has then, 0 without any. */
void weft_tracks_assign(weft_track *item, int n, int n_rows, int *n_lanes);

/* Transfers of a placed network in rows: under contend a row a link, and a transfer is in that of
 * each link of its route; else a row a pair of devices. Rows that carry nothing are left out. */
typedef struct weft_device_chain {
    int n_rows;
    const char **name; /* [n_rows] "cpu>gpu0" */
    int *n_lanes;      /* [n_rows] */
    int n;
    weft_track *hop; /* by job, then in the order of travel */
    int *hop_at;     /* [n_jobs + 1] */
} weft_device_chain;

/* All in `a`. */
weft_device_chain weft_device_chain_of(const weft_problem *p, const weft_measures *m,
                                       weft_arena *a);

#endif
