/* SPDX-License-Identifier: MIT */
/* A subproblem of a problem as the exact solvers see it: tasks, devices, delays. Whole problems, modules
 * between two barriers and windows of a schedule all take this form.
 *
 * A schedule gives each task a device and a start. A device runs one task at a time; task v on d
 * starts no earlier than release_s[v][d], free_s[d], and end of u + send_s of the edge from u (on
 * e) to v. Its value is the largest  end of u + tail_s[u][d].  Less is better. This is the transfer
 * model `overlap`; it is a relaxation of all the others. */
#ifndef WEFT_SUBPROBLEM_H
#define WEFT_SUBPROBLEM_H

#include "place.h"

#include "list.h"
#include "rows.h"

enum { WEFT_SUBPROBLEM_DEVICES = 64 }; /* exact solvers take no more */

typedef struct weft_subproblem {
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
    double grain_s; /* of the problem (weft_problem_grain_s): values are multiples of it; 0: none */
} weft_subproblem;

/* Where time_s, release_s and tail_s of task u on device d are. */
static inline size_t weft_cell(const weft_subproblem *x, int u, int d)
{
    return (size_t)u * (size_t)x->n_devices + (size_t)d;
}

/* send_s of edge e: [from device * n_devices + to device]. */
static inline const double *weft_sends(const weft_subproblem *x, int e)
{
    return x->send_s + (size_t)e * (size_t)x->n_devices * (size_t)x->n_devices;
}

/* What edge e takes between two devices. */
static inline double weft_edge_s(const weft_subproblem *x, int e, int from, int to)
{
    return weft_sends(x, e)[from * x->n_devices + to];
}

/* Weights of u are weight[first] .. weight[last - 1]: none if memory cannot matter. */
static inline int weft_first_weight(const weft_subproblem *x, int u)
{
    return x->n_weights > 0 ? x->weight_at[u] : 0;
}
static inline int weft_last_weight(const weft_subproblem *x, int u)
{
    return x->n_weights > 0 ? x->weight_at[u + 1] : 0;
}

/* The whole problem. Domains, pins, inputs (as releases) and weights are those of the problem; a
 * device that is not in the domain of a task has time INFINITY. Belongs to `a`. */
weft_subproblem *weft_subproblem_of(const weft_domain *m, weft_arena *a);

/* --- making one ------------------------------------------------------------------------------ */

/* A subproblem with pointers that may write. */
typedef struct weft_outline {
    weft_subproblem *subproblem;
    double *time_s, *release_s, *tail_s, *free_s, *send_s;
    int *from, *to;
} weft_outline;

/* No edges yet; all times are 0. Belongs to `a`. */
weft_outline weft_outline_new(int n_tasks, int n_devices, int most_edges, weft_arena *a);
/* A copy of a subproblem whose edges are to be written anew; it shares the other arrays. */
weft_outline weft_outline_copy(const weft_subproblem *x, int most_edges, weft_arena *a);
/* Adds an edge with its transfers (NULL: none) and returns where these are. */
double *weft_outline_edge(weft_outline *r, int from, int to, const double *send_s);
/* Lists the edges by task. */
weft_subproblem *weft_outline_end(weft_outline *r, weft_arena *a);

/* --- searching one --------------------------------------------------------------------------- */

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
weft_answer weft_subproblem_solve(const weft_subproblem *x, const weft_effort *e, weft_arena *a);
/* The value of a schedule given by devices and an order (a list of all tasks, topological): every
 * task as early as the tasks before it allow. Writes starts. INFINITY if a device is not allowed.
 */
double weft_subproblem_time(const weft_subproblem *x, const int *device, const int *order,
                            double *start_s);
/* Heads: a lower bound of each task's start on each device, by 3.2 of the method; tails likewise
 * (at least tail_s). [task * n_devices + device], of `a`. */
double *weft_subproblem_heads(const weft_subproblem *x, weft_arena *a);
double *weft_subproblem_tails(const weft_subproblem *x, weft_arena *a);
/* One step of the recursion of heads: those of u, from those of the tasks it reads. */
void weft_subproblem_head_of(const weft_subproblem *x, int u, const double *head_s, double *out);
/* One step of the recursion of tails: raises out[n_devices] to what the readers of u demand. */
void weft_subproblem_tail_of(const weft_subproblem *x, int u, const double *tail_s, double *out);
/* The same subproblem without edges that never decide anything. Belongs to `a`, shares arrays with
 * x. */
weft_subproblem *weft_subproblem_thin(const weft_subproblem *x, weft_arena *a);
/* Its numbers as bytes, groups and memory aside: equal ones are the same subproblem. Of `a`. */
const char *weft_subproblem_key(const weft_subproblem *x, weft_arena *a, size_t *n_bytes);
/* No left-shifted schedule takes longer: everything one after the other. */
double weft_subproblem_horizon(const weft_subproblem *x);
/* For each task the set of those that must come before it, [task][words of n_tasks]; of `a`. */
uint64_t *weft_subproblem_ancestors(const weft_subproblem *x, weft_arena *a);
/* The last task that reads what u makes; u itself if there is none. */
int weft_subproblem_last_reader(const weft_subproblem *x, int u);
/* [n_tasks + 1] does every other task precede or follow u? The last one is true. Belongs to `a`. */
bool *weft_subproblem_barriers(const weft_subproblem *x, weft_arena *a);

/* Tasks begin .. end - 1 of a subproblem after one of its barriers. Time 0 is the end of the
 * barrier `entry` on entry_device (entry -1: the part begins with the subproblem). Data from before
 * the barrier is taken to be everywhere already, so a bound of the part is a bound; memory and
 * groups are left out. tail_s are tails of the whole subproblem for tasks from end - 1 on; with
 * has_exit the last task is a barrier and its tails are taken as they are. */
typedef struct weft_part {
    int begin, end, entry, entry_device;
    bool has_exit;
    const double *tail_s;
} weft_part;

weft_subproblem *weft_subproblem_part(const weft_subproblem *x, const weft_part *part,
                                      weft_arena *a);

#endif
