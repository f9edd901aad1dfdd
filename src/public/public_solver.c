/* SPDX-License-Identifier: MIT */
/* public_solver.c: placement solvers that a caller registers.
 *
 * Each takes a slot. The driver calls `solve` like that of any solver; its only option is its own
 * name, by which the slot is found again. Decisions go into the plan, which the driver simulates and
 * checks. */
#include "registry.h"
#include "weft/solver.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

enum { MOST_NAME = 32, MOST_SUMMARY = 128 };

struct weft_instance {
    const weft_problem *problem;
    const weft_run *run;
};

struct weft_decisions {
    weft_plan *plan;
    int n_tasks;
    int n_decided;
    bool *is_decided; /* [n_tasks] */
    bool is_wrong;    /* a task that there is not */
};

typedef struct own_options {
    const char *registered;
} own_options;

typedef struct slot {
    char name[MOST_NAME], summary[MOST_SUMMARY];
    weft_option option[2];
    weft_solver solver;
    weft_status (*solve)(void *context, const weft_instance *instance, weft_decisions *decisions);
    void *context;
} slot;

static slot slots[WEFT_MOST_ADDED];
static int n_slots;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const slot *find_slot(const char *name)
{
    for (int i = 0; i < WEFT_MOST_ADDED; i++)
        if (strcmp(slots[i].name, name) == 0)
            return &slots[i];
    return NULL;
}

static const char *first_undecided(const weft_problem *p, const weft_decisions *d)
{
    for (int u = 0; u < p->n_tasks; u++)
        if (!d->is_decided[u])
            return p->task_name[u];
    return "";
}

/* Calls the solver of the caller. No decision: it found no plan. */
static weft_status solve(const weft_problem *p, const void *options, weft_run *run, weft_plan *plan,
                         weft_proof *proof)
{
    const slot *s = find_slot(((const own_options *)options)->registered);
    weft_instance instance = {p, run};
    weft_decisions d = {.plan = plan,
                        .n_tasks = p->n_tasks,
                        .is_decided = WEFT_NEW(run->scratch, bool, p->n_tasks + 1)};
    weft_status status = s->solve(s->context, &instance, &d);

    if (status != WEFT_OK)
        return weft_fail(status == WEFT_E_INPUT || status == WEFT_E_SYSTEM ? status
                                                                           : WEFT_E_INTERNAL,
                         "solver '%s' failed with status %d", s->name, (int)status);
    if (d.is_wrong)
        return weft_fail(WEFT_E_INTERNAL, "solver '%s' decided about a task that there is not",
                         s->name);
    if (d.n_decided > 0 && d.n_decided < p->n_tasks)
        return weft_fail(WEFT_E_INTERNAL, "solver '%s' left task '%s' without a device", s->name,
                         first_undecided(p, &d));
    proof->outcome = d.n_decided == p->n_tasks ? WEFT_BOUNDED : WEFT_UNKNOWN;
    return WEFT_OK;
}

static bool is_name(const char *name)
{
    return name != NULL && *name != '\0' && strlen(name) < MOST_NAME &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(name);
}

static weft_status fill_slot(const weft_solver_definition *d)
{
    slot *s = &slots[n_slots];

    if (n_slots == WEFT_MOST_ADDED)
        return weft_fail(WEFT_E_INPUT, "at most %d solvers can be registered", WEFT_MOST_ADDED);
    if (weft_place_find(d->name) != NULL)
        return weft_fail(WEFT_E_INPUT, "there is a solver '%s' already", d->name);
    memcpy(s->name, d->name, strlen(d->name) + 1);
    snprintf(s->summary, sizeof s->summary, "%s", d->summary ? d->summary : "");
    s->solve = d->solve;
    s->context = d->context;
    s->option[0] = (weft_option){.kind = WEFT_OPTION_TEXT,
                                 .name = "registered",
                                 .help = "name of the solver",
                                 .text = s->name};
    s->solver = (weft_solver){.name = s->name,
                              .summary = s->summary,
                              .options = s->option,
                              .options_size = sizeof(own_options),
                              .solve = solve};
    n_slots++;
    weft_place_add(&s->solver);
    return WEFT_OK;
}

weft_status weft_solver_register(const weft_solver_definition *d)
{
    weft_status status;

    if (!is_name(d->name))
        return weft_fail(WEFT_E_INPUT,
                         "name of a solver is '%s', expected 1 to %d small letters, digits or '-'",
                         d->name ? d->name : "", MOST_NAME - 1);
    if (d->solve == NULL)
        return weft_fail(WEFT_E_INPUT, "solver '%s' has no function", d->name);
    pthread_mutex_lock(&lock);
    status = fill_slot(d);
    pthread_mutex_unlock(&lock);
    return status;
}

void weft_decide(weft_decisions *decisions, int task, int device, double start_s)
{
    if (task < 0 || task >= decisions->n_tasks) {
        decisions->is_wrong = true;
        return;
    }
    decisions->n_decided += !decisions->is_decided[task];
    decisions->is_decided[task] = true;
    decisions->plan->device[task] = device;
    decisions->plan->start_s[task] = start_s;
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
