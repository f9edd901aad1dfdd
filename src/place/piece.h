/* SPDX-License-Identifier: MIT */
/* A piece of a problem as the exact solvers see it: tasks, devices, delays. Whole problems, modules
 * between two barriers and windows of a schedule all take this form.
 *
 * A schedule gives each task a device and a start. A device runs one task at a time; task v on d
 * starts no earlier than release_s[v][d], free_s[d], and end of u + send_s of the edge from u (on
 * e) to v. Its value is the largest  end of u + tail_s[u][d].  Less is better. This is the transfer
 * model `overlap`; it is a relaxation of all the others. */
#ifndef WEFT_PIECE_H
#define WEFT_PIECE_H

#include "weft/place.h"

#include "list.h"

enum { WEFT_PIECE_DEVICES = 64 }; /* exact solvers take no more */

typedef struct weft_piece {
    int n_tasks, n_devices, n_edges;
    const double *time_s;    /* [task * n_devices + device]; INFINITY: not there */
    const double *release_s; /* the same */
    const double *tail_s;    /* the same: at least this follows the end of the task */
    const double *free_s;    /* [n_devices] */
    const int *in_at, *in;   /* task -> edges that enter it; edge -> task it comes from is from[] */
    const int *out_at, *out; /* task -> edges that leave it */
    const int *from, *to;    /* [n_edges] tasks, from < to; at most one edge for a pair */
    const double *send_s;    /* [(edge * n_devices + from device) * n_devices + to device] */
    /* Memory for weights. A weight that tasks of the same device share counts once. */
    int n_weights;                 /* 0: memory cannot matter */
    const int *weight_at, *weight; /* task -> weights it reads */
    const double *weight_bytes;    /* [n_weights] */
    const double *room_bytes;      /* [n_devices] */
    const int *group; /* [n_tasks] tasks of one group share a device; NULL: all apart */
    int n_groups;     /* 0 if all are apart */
} weft_piece;

/* The whole problem. Domains, pins, inputs (as releases) and weights are those of the problem; a
 * device that is not in the domain of a task has time INFINITY. Belongs to `a`. */
weft_piece *weft_piece_of(const weft_domain *m, weft_arena *a);

/* What a search may use and what it should beat. */
typedef struct weft_effort {
    double upper;        /* only values below are of interest; INFINITY: any */
    double lower;        /* a finite bound from elsewhere; reaching it ends the search; 0: none */
    int64_t most_states; /* steps of search; 0: no limit */
    int most_beam;       /* widest pass, 64 or more; 0: no limit */
    const weft_run *run; /* when to stop; NULL: no limit */
} weft_effort;

typedef struct weft_answer {
    double value;   /* of the schedule; INFINITY if none below `upper` was found */
    double bound;   /* no schedule is below; at most `upper` if there is none below that */
    bool is_closed; /* proved: value is least, or (no schedule) nothing is below `upper` */
    int *device;    /* [n_tasks]; NULL without schedule */
    double *start_s;
    int64_t n_states; /* steps taken */
} weft_answer;

/* Dynamic programming over ideals with dominance and widening beams (exact.c). The answer belongs
 * to `a`. Deterministic unless `run` has a limit in seconds. */
weft_answer weft_piece_solve(const weft_piece *x, const weft_effort *e, weft_arena *a);
/* The value of a schedule given by devices and an order (a list of all tasks, topological): every
 * task as early as the tasks before it allow. Writes starts. INFINITY if a device is not allowed.
 */
double weft_piece_time(const weft_piece *x, const int *device, const int *order, double *start_s);
/* Heads: a lower bound of each task's start on each device, by 3.2 of the method; tails likewise
 * (at least tail_s). [task * n_devices + device], of `a`. */
double *weft_piece_heads(const weft_piece *x, weft_arena *a);
double *weft_piece_tails(const weft_piece *x, weft_arena *a);
/* One step of the recursion of tails: raises out[n_devices] to what the readers of u demand. */
void weft_piece_tail_of(const weft_piece *x, int u, const double *tail_s, double *out);
/* The same piece without edges that never decide anything. Belongs to `a`, shares arrays with x. */
weft_piece *weft_piece_thin(const weft_piece *x, weft_arena *a);
/* is_barrier[u]: every other task precedes or follows u. */
void weft_piece_barriers(const weft_piece *x, bool *is_barrier, weft_arena *a);

/* Tasks begin .. end - 1 of a piece after one of its barriers. Time 0 is the end of the barrier
 * `entry` on entry_device (entry -1: the part begins with the piece). Data from before the barrier
 * is taken to be everywhere already, so a bound of the part is a bound; memory and groups are left
 * out. tail_s are tails of the whole piece for tasks from end - 1 on; with has_exit the last task
 * is a barrier and its tails are taken as they are. */
typedef struct weft_part {
    int begin, end, entry, entry_device;
    bool has_exit;
    const double *tail_s;
} weft_part;

weft_piece *weft_piece_part(const weft_piece *x, const weft_part *part, weft_arena *a);

#endif
