/* SPDX-License-Identifier: MIT */
/* public_solver.c: placement solvers that a caller registers.
 *
 * Each takes a slot. The driver calls `solve` like that of any solver; its only option is its own
 * name, by which the slot is found again. Decisions go into the plan, which the driver simulates and
 * checks. */
#include "own_solver.h"
#include "registry.h"

#include <pthread.h>
#include <string.h>

enum { MOST_NAME = 32, MOST_SUMMARY = 128 };

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
    weft_decisions d = {.device = plan->device,
                        .start_s = plan->start_s,
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
