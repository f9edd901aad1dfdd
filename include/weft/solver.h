/* SPDX-License-Identifier: MIT */
/* Placement solvers of your own.
 *
 * A registered solver has a name that `solver` takes, in weft_problem_set_solver, in requests and in
 * compare. It is called with an instance (tasks, devices, times, transfers) and decides a device and
 * a start for each task. weft simulates the decisions, checks them and proves the bound: what a
 * solver believes of its plan does not count. A plan that breaks a rule, a task without a device, or
 * an error of the solver is an error of the solve.
 *
 * A library that has a constant `weft_solver` of type weft_solver_definition need not register it:
 * weft place --solver ./LIBRARY.so calls it, in a process of its own. */
#ifndef WEFT_PUBLIC_SOLVER_H
#define WEFT_PUBLIC_SOLVER_H

#include <stdint.h>

#include "weft/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_instance weft_instance;
typedef struct weft_decisions weft_decisions;

/* Plain data, copied when it is registered. */
typedef struct weft_solver_definition {
    const char *name;    /* small letters, digits and '-'; at most 31 bytes; no other has it */
    const char *summary; /* one line */
    /* Decides by weft_decide and returns WEFT_OK. No decision at all: it found no plan. Any other
     * status: it failed. Several threads may call it at once. */
    weft_status (*solve)(void *context, const weft_instance *instance, weft_decisions *decisions);
    void *context;
} weft_solver_definition;

/* From now on and for the whole process; at most 16. Any thread may call it. */
WEFT_CHECKED weft_status weft_solver_register(const weft_solver_definition *d);

/* Task runs on device; tasks of one device run in the order of start_s (ties: by number), each as
 * soon as its operands are there. Deciding again replaces. Numbers out of range are found when the
 * solver returns. */
void weft_decide(weft_decisions *decisions, int task, int device, double start_s);

/* --- what a solver sees ---------------------------------------------------------------------- */

const char *weft_instance_goal(const weft_instance *i); /* "latency" or "throughput" */
const char *
weft_instance_transfer(const weft_instance *i); /* "overlap", "contend", "block", "calls" */
int64_t weft_instance_seed(const weft_instance *i);
/* Wall seconds left; INFINITY: no limit; 0: stop now, with what there is. */
double weft_instance_seconds_left(const weft_instance *i);

int weft_instance_n_tasks(const weft_instance *i); /* in topological order */
int weft_instance_n_devices(const weft_instance *i);
const char *weft_instance_task_name(const weft_instance *i, int task);
const char *weft_instance_device_name(const weft_instance *i, int device);
/* Seconds of the task there; INFINITY: the device cannot run it. */
double weft_instance_task_s(const weft_instance *i, int task, int device);
int weft_instance_pin(const weft_instance *i, int task); /* the device it must be on; -1: any */
int weft_instance_colocation(const weft_instance *i, int task); /* group on one device; -1: none */
double weft_instance_capacity(const weft_instance *i, int device); /* bytes; INFINITY: no limit */
/* Where inputs are at time 0; -1: everywhere. */
int weft_instance_host(const weft_instance *i);
/* Tasks it waits for, ascending, and tasks that wait for it. */
int weft_instance_n_before(const weft_instance *i, int task);
int weft_instance_before(const weft_instance *i, int task, int k);
int weft_instance_n_after(const weft_instance *i, int task);
int weft_instance_after(const weft_instance *i, int task, int k);
/* What `to` reads of `from`: bytes, and the seconds of the longest of its transfers from one device
 * to another (0 on one device; INFINITY: not connected). */
double weft_instance_bytes(const weft_instance *i, int from, int to);
double weft_instance_transfer_s(const weft_instance *i, int from, int to, int from_device,
                                int to_device);

#ifdef __cplusplus
}
#endif
#endif
