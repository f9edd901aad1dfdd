/* SPDX-License-Identifier: MIT */
/* What list schedulers and bounds share: where tasks may go, partial schedules, ranks. */
#ifndef WEFT_LIST_H
#define WEFT_LIST_H

#include "lane.h"
#include "place.h"

/* --- domains: devices a task may run on ------------------------------------------------------ */

/* A group is the tasks of one colocation group, or one task without: it has one device. A device is in
 * its domain if it supports every task of the group, no pin says otherwise, the weights of the
 * group alone fit its memory, and the inputs can reach it. */
typedef struct weft_domain {
    const weft_problem *problem;
    int n_groups;
    const int *group;              /* [n_tasks] */
    const int *weight_at, *weight; /* group -> weights that its tasks read, each once */
    const bool *has;               /* [group * n_devices + device] */
    bool is_empty;                 /* some group has no device: there is no plan */
} weft_domain;

/* The arrays belong to `a`. */
weft_domain weft_domain_new(const weft_problem *p, weft_arena *a);
/* May all tasks run on d? */
bool weft_domain_has_all(const weft_domain *m, int d);
/* The least time of a task. */
double weft_domain_least_s(const weft_domain *m, int u);
/* Bytes of all weights of a group. */
double weft_domain_bytes(const weft_domain *m, int g);

static inline bool weft_domain_has(const weft_domain *m, int u, int d)
{
    return m->has[m->group[u] * m->problem->n_devices + d];
}

/* When the inputs of the network that u reads are on d. */
double weft_input_s(const weft_problem *p, int u, int d);

/* Seconds that tensor t takes from the device of its producer; weights lie where they are read. */
static inline double weft_data_s(const weft_problem *p, int t, int from, int to)
{
    return p->is_weight[t] ? 0.0 : weft_send_s(p, t, from, to);
}

/* --- partial schedules ----------------------------------------------------------------------- */

typedef struct weft_list {
    const weft_problem *problem;
    weft_domain domain;
    weft_arena *arena;
    int *device; /* [n_tasks] or -1: not placed */
    double *start_s, *end_s;
    weft_lane *lane;    /* [n_devices] */
    int *home;          /* [n_groups] device or -1 */
    uint64_t *held;     /* [n_devices][words of n_tensors] weights on the device */
    double *held_bytes; /* [n_devices] */
} weft_list;

weft_list weft_list_new(const weft_problem *p, weft_arena *a);

typedef struct weft_choice {
    int device; /* -1: none is left */
    double start_s;
} weft_choice;

/* May u go to d now: domain, device of its group, room for its weights. */
bool weft_list_allows(const weft_list *l, int u, int d);
/* When the data of u is on d, as far as its producers are placed; INFINITY: never. */
double weft_list_ready(const weft_list *l, int u, int d);
/* Start of u on d in the first gap that holds it, or behind all that is there. */
double weft_list_insert(const weft_list *l, int u, int d);
double weft_list_append(const weft_list *l, int u, int d);
/* The device where finish + extra[d] is least (extra may be NULL), by insertion. */
weft_choice weft_list_earliest(const weft_list *l, int u, const double *extra);
/* The device where before[d] and the time of u are least, behind all that is there; before NULL:
 * when it could start. */
weft_choice weft_list_behind(const weft_list *l, int u, const double *before);
/* Occupies a slot and frees it: trials. Groups and memory do not change. */
void weft_list_put(weft_list *l, int u, weft_choice c);
void weft_list_take(weft_list *l, int u);

/* Takes the tasks by weft_list_order and places each where `pick` says. */
typedef struct weft_list_rule {
    const double *priority;                                  /* [n_tasks]; NULL: by number */
    weft_choice (*pick)(weft_list *l, int u, void *context); /* NULL: weft_list_earliest */
    void *context;
} weft_list_rule;

/* The outcome is WEFT_BOUNDED, WEFT_INFEASIBLE if the domain is empty, or WEFT_UNKNOWN if a task
 * finds no device or the plan has no calls or stages where these are asked for. The plan's starts
 * are positions: the simulator reads their order only. */
void weft_list_run(weft_list *l, const weft_list_rule *rule, weft_plan *plan, weft_proof *proof);

/* --- ranks: [n_tasks] or [n_tensors] arrays of the list's arena ------------------------------ */

/* Mean of each row of a table [task * n_devices + device] over the domain of the task. */
double *weft_list_means(const weft_list *l, const double *table);
double *weft_list_mean_send(const weft_list *l); /* mean over pairs of different devices */
/* Mean time and transfers of the longest way from the start of u to the end. */
double *weft_list_upward(const weft_list *l, const double *mean_s, const double *send_s);
/* A topological order: of the tasks whose predecessors are done, the one of highest priority, then
 * of least number. NULL: by number. */
int *weft_list_order(const weft_list *l, const double *priority);

/* Is the least latency asked for, of tasks on devices that run one at a time? For solvers that know
 * nothing else. */
bool weft_is_schedule(const weft_problem *p);

/* --- members --------------------------------------------------------------------------------- */

#ifdef WEFT_Z3
#define WEFT_IF_Z3(row) row
#else
#define WEFT_IF_Z3(row)
#endif

/* The solvers from the simplest to the most elaborate, a row each: its file defines
 * weft_place_NAME. */
#define WEFT_PLACE_SOLVERS(X)                                                                      \
    X(single)                                                                                      \
    X(met)                                                                                         \
    X(greedy)                                                                                      \
    X(heft)                                                                                        \
    X(cpop)                                                                                        \
    X(peft)                                                                                        \
    X(lookahead)                                                                                   \
    X(random)                                                                                      \
    X(bounder)                                                                                     \
    X(genetic)                                                                                     \
    X(anneal)                                                                                      \
    X(branch_bound)                                                                                \
    WEFT_IF_Z3(X(z3))                                                                              \
    X(split)                                                                                       \
    X(calls)                                                                                       \
    X(symmetry)                                                                                    \
    X(exact)                                                                                       \
    X(auto)                                                                                        \
    X(load)                                                                                        \
    X(replicas)                                                                                    \
    X(milp)

#define WEFT_PLACE_DECLARATION(name) extern const weft_solver weft_place_##name;
WEFT_PLACE_SOLVERS(WEFT_PLACE_DECLARATION)

/* Bounds with their certificates, which belong to `a`. The domain must not be empty. A path that
 * bounds less than least_s may be left out: the bound is 0 then. */
void weft_path_bound(const weft_domain *m, double least_s, weft_arena *a, weft_proof *out);
void weft_load_bound(const weft_domain *m, weft_arena *a, weft_proof *out);
void weft_calls_bound(const weft_domain *m, weft_arena *a, weft_proof *out); /* calls, latency */

/* --- limits that nothing can keep ------------------------------------------------------------ */

/* Why the domain is empty, as the reason of `out`, which belongs to `a`. */
void weft_limits_explain(const weft_domain *m, weft_arena *a, weft_proof *out);
/* Sets outcome and reason if weights exceed all memory together, or if the deadline or the
 * throughput asked for is out of reach. period_s: a lower bound of the period. */
void weft_limits_check(const weft_domain *m, double period_s, weft_arena *a, weft_proof *out);

#endif
