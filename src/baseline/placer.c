/* SPDX-License-Identifier: MIT */
/* placer.c: groups of tasks that share a device, where they may be, and the value of a placement.
 *
 * Every evaluation is a run of the simulator, so all transfer models, goals, memories and limits
 * count. A placement that breaks a memory or limit costs FAR times as much as its value, times one
 * and its relative excess: so searches find their way back to what is legal. */
#include "placer.h"

#include <string.h>

static const double FAR = 1e3;

static int find_groups(const weft_problem *p, weft_arena *a, int *group)
{
    int n = 0, most = -1;
    int *of_colour;

    for (int u = 0; u < p->n_tasks; u++)
        most = p->colocation[u] > most ? p->colocation[u] : most;
    of_colour = WEFT_NEW(a, int, most + 2);
    for (int u = 0; u < p->n_tasks; u++) {
        int *colour = p->colocation[u] >= 0 ? &of_colour[p->colocation[u]] : NULL;

        if (colour == NULL || *colour == 0) {
            n++;
            if (colour != NULL)
                *colour = n;
        }
        group[u] = (colour != NULL ? *colour : n) - 1;
    }
    return n;
}

static void find_choices(weft_placer *x, int *n_choices, int *choice, int *fastest)
{
    const weft_problem *p = x->p;
    int k = p->n_devices;
    double *sum_s = weft_arena_array(x->a, (size_t)x->n_groups * (size_t)k, sizeof *sum_s);

    for (int u = 0; u < p->n_tasks; u++)
        for (int d = 0; d < k; d++)
            sum_s[x->group[u] * k + d] +=
                p->pin[u] < 0 || p->pin[u] == d ? weft_task_s(p, u, d) : INFINITY;
    for (int g = 0; g < x->n_groups; g++) {
        for (int d = 0; d < k; d++) {
            if (!(sum_s[g * k + d] < INFINITY))
                continue;
            if (n_choices[g] == 0 || sum_s[g * k + d] < sum_s[g * k + fastest[g]])
                fastest[g] = d;
            choice[g * k + n_choices[g]++] = d;
        }
        x->is_empty |= n_choices[g] == 0;
    }
}

/* Mean times over the devices that support a task; transfers do not count. */
static const double *find_upward(const weft_problem *p, weft_arena *a)
{
    double *upward = WEFT_NEW(a, double, p->n_tasks);

    for (int u = p->n_tasks - 1; u >= 0; u--) {
        double sum_s = 0, longest_s = 0;
        int n = 0;

        for (int d = 0; d < p->n_devices; d++)
            if (weft_task_s(p, u, d) < INFINITY) {
                sum_s += weft_task_s(p, u, d);
                n++;
            }
        for (int i = p->succ_at[u]; i < p->succ_at[u + 1]; i++)
            longest_s = fmax(longest_s, upward[p->succ[i]]);
        upward[u] = longest_s + (n > 0 ? sum_s / n : 0);
    }
    return upward;
}

weft_placer weft_placer_new(const weft_problem *p, weft_run *run)
{
    weft_arena *a = run->scratch;
    int *group = WEFT_NEW(a, int, p->n_tasks), *n_choices, *choice, *fastest;
    weft_placer x = {.p = p,
                     .run = run,
                     .a = a,
                     .group = group,
                     .best_cost = INFINITY,
                     .restart_cost = INFINITY};

    x.n_groups = find_groups(p, a, group);
    n_choices = WEFT_NEW(a, int, x.n_groups);
    fastest = WEFT_NEW(a, int, x.n_groups);
    choice = weft_arena_array(a, (size_t)x.n_groups * (size_t)p->n_devices, sizeof *choice);
    find_choices(&x, n_choices, choice, fastest);
    x.n_choices = n_choices;
    x.choice = choice;
    x.fastest = fastest;
    x.upward = find_upward(p, a);
    x.trial = weft_plan_new(p->n_tasks, a);
    x.best = weft_plan_new(p->n_tasks, a);
    return x;
}

/* How far a plan is from keeping memory and limits, relative; 0: it keeps them. */
static double excess_of(const weft_problem *p, const weft_measures *m)
{
    const weft_constraints *c = &p->constraints;
    double excess = 0;

    for (int d = 0; m->over_device >= 0 && d < p->n_devices; d++)
        if (!weft_fits(m->peak_bytes[d], p->capacity[d]))
            excess += p->capacity[d] > 0 ? m->peak_bytes[d] / p->capacity[d] : 2;
    if (!weft_constraints_allow(c, m->makespan_s, 0))
        excess += m->makespan_s / c->most_latency_s;
    if (!weft_constraints_allow(c, 0, m->period_s))
        excess += m->period_s / c->most_period_s;
    return excess;
}

double weft_placer_cost(weft_placer *x, const int *device, const double *key)
{
    const weft_problem *p = x->p;
    size_t mark = weft_arena_mark(x->a);
    weft_measures m;
    double cost = INFINITY, excess;

    x->n_evaluations++;
    for (int u = 0; u < p->n_tasks; u++) {
        x->trial.device[u] = device[x->group[u]];
        x->trial.start_s[u] = key[u];
    }
    if (weft_evaluate(p, &x->trial, x->a, &m) == WEFT_OK) {
        excess = excess_of(p, &m);
        excess += p->constraints.is_contiguous && weft_plan_loop(p, x->trial.device, x->a) >= 0;
        cost = weft_goal_value(p, &m) * (excess > 0 ? FAR * (1 + excess) : 1);
        if (!(excess > 0) && cost < x->best_cost &&
            weft_plan_check(p, &x->trial, NULL, 0, x->a) == 0) {
            x->best_cost = cost;
            memcpy(x->best.device, x->trial.device, sizeof *device * (size_t)p->n_tasks);
            memcpy(x->best.start_s, x->trial.start_s, sizeof *key * (size_t)p->n_tasks);
        }
    }
    weft_arena_rewind(x->a, mark);
    return cost;
}

bool weft_placer_is_over(const weft_placer *x)
{
    return (x->run->steps > 0 && x->n_evaluations >= x->run->steps) || weft_run_is_over(x->run);
}

bool weft_placer_may_restart(weft_placer *x)
{
    enum { MOST_IDLE_RESTARTS = 20 };

    x->n_idle = x->best_cost < x->restart_cost ? 0 : x->n_idle + 1;
    x->restart_cost = x->best_cost;
    return x->n_idle < MOST_IDLE_RESTARTS && !weft_placer_is_over(x);
}

void weft_placer_answer(const weft_placer *x, weft_plan *plan, weft_proof *proof)
{
    proof->outcome = x->best_cost < INFINITY ? WEFT_BOUNDED : WEFT_UNKNOWN;
    if (!(x->best_cost < INFINITY))
        return;
    memcpy(plan->device, x->best.device, sizeof *plan->device * (size_t)plan->n_tasks);
    memcpy(plan->start_s, x->best.start_s, sizeof *plan->start_s * (size_t)plan->n_tasks);
}
