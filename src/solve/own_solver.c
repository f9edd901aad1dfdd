/* SPDX-License-Identifier: MIT */
/* own_solver.c: what placement solvers of users see and decide, weft/solver.h. */
#include "own_solver.h"

#include <math.h>

void weft_decide(weft_decisions *decisions, int task, int device, double start_s)
{
    if (task < 0 || task >= decisions->n_tasks) {
        decisions->is_wrong = true;
        return;
    }
    decisions->n_decided += !decisions->is_decided[task];
    decisions->is_decided[task] = true;
    decisions->device[task] = device;
    decisions->start_s[task] = start_s;
}

/* --- what a solver sees ---------------------------------------------------------------------- */

const char *weft_instance_goal(const weft_instance *i)
{
    return weft_goal_name(i->problem->constraints.goal);
}

const char *weft_instance_transfer(const weft_instance *i)
{
    return weft_transfer_name(i->problem->transfer);
}

int64_t weft_instance_seed(const weft_instance *i)
{
    return i->run->seed;
}

double weft_instance_seconds_left(const weft_instance *i)
{
    return weft_run_left_s(i->run);
}

int weft_instance_n_tasks(const weft_instance *i)
{
    return i->problem->n_tasks;
}

int weft_instance_n_devices(const weft_instance *i)
{
    return i->problem->n_devices;
}

static bool has_task(const weft_instance *i, int task)
{
    return task >= 0 && task < i->problem->n_tasks;
}

static bool has_device(const weft_instance *i, int device)
{
    return device >= 0 && device < i->problem->n_devices;
}

const char *weft_instance_task_name(const weft_instance *i, int task)
{
    return has_task(i, task) ? i->problem->task_name[task] : NULL;
}

const char *weft_instance_device_name(const weft_instance *i, int device)
{
    return has_device(i, device) ? i->problem->device_name[device] : NULL;
}

double weft_instance_task_s(const weft_instance *i, int task, int device)
{
    return has_task(i, task) && has_device(i, device) ? weft_task_s(i->problem, task, device) : NAN;
}

int weft_instance_pin(const weft_instance *i, int task)
{
    return has_task(i, task) ? i->problem->pin[task] : -1;
}

int weft_instance_colocation(const weft_instance *i, int task)
{
    return has_task(i, task) ? i->problem->colocation[task] : -1;
}

double weft_instance_capacity(const weft_instance *i, int device)
{
    return has_device(i, device) ? i->problem->capacity[device] : NAN;
}

int weft_instance_host(const weft_instance *i)
{
    return i->problem->host;
}

static int count_at(const weft_instance *i, const int *at, int task)
{
    return has_task(i, task) ? at[task + 1] - at[task] : 0;
}

static int item_at(const weft_instance *i, const int *at, const int *item, int task, int k)
{
    return k >= 0 && k < count_at(i, at, task) ? item[at[task] + k] : -1;
}

int weft_instance_n_before(const weft_instance *i, int task)
{
    return count_at(i, i->problem->pred_at, task);
}

int weft_instance_before(const weft_instance *i, int task, int k)
{
    return item_at(i, i->problem->pred_at, i->problem->pred, task, k);
}

int weft_instance_n_after(const weft_instance *i, int task)
{
    return count_at(i, i->problem->succ_at, task);
}

int weft_instance_after(const weft_instance *i, int task, int k)
{
    return item_at(i, i->problem->succ_at, i->problem->succ, task, k);
}

double weft_instance_bytes(const weft_instance *i, int from, int to)
{
    const weft_problem *p = i->problem;
    double bytes = 0;

    for (int k = 0; k < count_at(i, p->arg_at, to); k++) {
        int t = p->arg[p->arg_at[to] + k];

        bytes += p->producer[t] == from && from >= 0 ? p->amount[t] : 0;
    }
    return bytes;
}

double weft_instance_transfer_s(const weft_instance *i, int from, int to, int from_device,
                                int to_device)
{
    const weft_problem *p = i->problem;
    double longest = 0;

    if (!has_task(i, from) || !has_device(i, from_device) || !has_device(i, to_device))
        return NAN;
    for (int k = 0; k < count_at(i, p->arg_at, to); k++) {
        int t = p->arg[p->arg_at[to] + k];

        if (p->producer[t] == from)
            longest = fmax(longest, weft_send_s(p, t, from_device, to_device));
    }
    return longest;
}
