/* SPDX-License-Identifier: MIT */
/* evaluate.c: what a plan is worth, from the plan to the numbers.
 *
 * 1. Refuse what cannot be simulated: a device that does not exist or does not support its task, a
 *    tensor that no route takes where it is read.
 * 2. lower, run. A run that is stuck shows that the order of the plan contradicts the dependences.
 * 3. measure, and write the simulated starts into the plan. Evaluating that plan again gives the
 *    same numbers (lower.c).
 * 4. A plan of several ways: 2 and 3 for each, then the measures of the mix (measure_variants.c). */
#include <assert.h>
#include <math.h>

#include "parts.h"

static int n_variants(const weft_plan *plan)
{
    return plan->n_variants > 1 ? plan->n_variants : 1;
}

/* One way as a plan of its own. */
static weft_plan view_of(const weft_plan *plan, int w)
{
    size_t first = (size_t)w * (size_t)plan->n_tasks;

    return (weft_plan){plan->n_tasks, plan->device + first, plan->start_s + first, 1, NULL};
}

static weft_status check_devices(const weft_problem *p, const weft_plan *plan)
{
    if (plan->n_tasks != p->n_tasks)
        return weft_fail(WEFT_E_INPUT, "the plan has %d tasks, the problem has %d", plan->n_tasks,
                         p->n_tasks);
    for (int w = 1; w < plan->n_variants; w++)
        if (!(plan->share[w - 1] > 0) || !(plan->share[w] > 0))
            return weft_fail(WEFT_E_INPUT, "a way of the plan has no share of the items");
    for (int i = 0; i < p->n_tasks * n_variants(plan); i++) {
        int d = plan->device[i], u = i % p->n_tasks;
        if (d < 0 || d >= p->n_devices)
            return weft_fail(WEFT_E_INPUT, "task '%s' is on device %d, expected 0 to %d",
                             p->task_name[u], d, p->n_devices - 1);
        if (!isfinite(weft_task_s(p, u, d)))
            return weft_fail(WEFT_E_INPUT, "task '%s' is on device '%s', which does not support it",
                             p->task_name[u], p->device_name[d]);
    }
    return WEFT_OK;
}

static weft_status fail_route(const weft_problem *p, int tensor, int from, int to)
{
    int u = p->producer[tensor];

    if (u < 0)
        return weft_fail(WEFT_E_INPUT,
                         "an input lies on device '%s' and is read on device '%s': no route",
                         p->device_name[from], p->device_name[to]);
    return weft_fail(WEFT_E_INPUT,
                     "the result of task '%s' is made on device '%s' and read on device '%s': no "
                     "route",
                     p->task_name[u], p->device_name[from], p->device_name[to]);
}

static weft_status check_routes(const weft_problem *p, const weft_jobs *j)
{
    for (int i = 0; i < j->n_jobs; i++)
        if (j->kind[i] == WEFT_JOB_TRANSFER && !isfinite(j->duration_s[i]))
            return fail_route(p, j->tensor[i], j->from[i], j->to[i]);
    return WEFT_OK;
}

static weft_status fail_stuck(const weft_problem *p, const weft_plan *plan, const weft_jobs *j,
                              const weft_timeline *t)
{
    for (int i = 0; i < j->n_jobs; i++)
        if (j->kind[i] == WEFT_JOB_COMPUTE && isinf(t->start_s[i]))
            return weft_fail(WEFT_E_INPUT, "task '%s' on device '%s' can never start: %s",
                             p->task_name[j->task[i]], p->device_name[plan->device[j->task[i]]],
                             p->transfer == WEFT_CALLS
                                 ? "calls wait for each other in a circle"
                                 : "the order of the plan's starts contradicts the dependences");
    return weft_fail(WEFT_E_INPUT, "the order of the plan's starts contradicts the dependences");
}

static weft_status evaluate_way(const weft_problem *p, weft_plan *plan, weft_arena *a,
                                weft_measures *out)
{
    weft_timeline *t = WEFT_NEW(a, weft_timeline, 1);
    weft_jobs *jobs = weft_lower(p, plan, a);

    if (jobs == NULL)
        return weft_fail(WEFT_E_INPUT, "%d tasks are too many to simulate", p->n_tasks);
    WEFT_TRY(check_routes(p, jobs));
    *t = weft_run_jobs(jobs, a);
    if (t->is_stuck)
        return fail_stuck(p, plan, jobs, t);
    weft_measure(p, jobs, t, a, out);
    for (int i = 0; i < jobs->n_jobs; i++)
        if (jobs->kind[i] == WEFT_JOB_COMPUTE)
            plan->start_s[jobs->task[i]] = t->start_s[i];
    return WEFT_OK;
}

weft_status weft_evaluate(const weft_problem *p, weft_plan *plan, weft_arena *a, weft_measures *out)
{
    weft_measures *way;

    WEFT_TRY(check_devices(p, plan));
    if (n_variants(plan) == 1)
        return evaluate_way(p, plan, a, out);
    way = WEFT_NEW(a, weft_measures, plan->n_variants);
    for (int w = 0; w < plan->n_variants; w++) {
        weft_plan view = view_of(plan, w);

        WEFT_TRY(evaluate_way(p, &view, a, &way[w]));
    }
    weft_measure_variants(p, plan, way, a, out);
    return WEFT_OK;
}
