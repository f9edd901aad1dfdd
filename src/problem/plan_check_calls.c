/* SPDX-License-Identifier: MIT */
/* plan_check_calls.c: legality where tasks of a device belong together, by definition alone.
 *
 * A call (latency under WEFT_CALLS) is all tasks of an accelerator. From their starts:
 *     its tasks run from the first start S to S + W, W the sum of their times;
 *     it begins at S - I, I the time to read each tensor from outside once;
 *     it ends at S + W + O, O the time to write each tensor that is read outside once.
 *   1. A call does not begin before time 0, and all its tasks run in its time for tasks.
 *   2. What it reads from outside is available when it begins: what the host makes at the end of
 *      the task, what another call makes at the end of that call. Inputs and weights are there.
 *   3. A task of the host starts when what it reads is available.
 *   4. Inside a call and on the host a task starts when the tasks it reads from there have ended.
 *   5. Calls and tasks of the host do not wait for each other in a circle (times alone do not show
 *      that where everything takes no time).
 * A pipeline stage (if contiguity is asked for) is all forward tasks of a device:
 *   6. Stages do not wait for each other in a circle.
 *
 * Time O(reads + devices). */
#include "checker.h"

#include <math.h>

typedef struct call {
    int n_tasks;
    double first_s, read_s, work_s, write_s;
} call;

/* --- calls ----------------------------------------------------------------------------------- */

static void count_task(const weft_checker *c, int u, call *calls)
{
    call *x = &calls[c->plan->device[u]];

    x->first_s = x->n_tasks == 0 ? c->plan->start_s[u] : fmin(x->first_s, c->plan->start_s[u]);
    x->work_s += weft_checker_length_s(c, u);
    x->n_tasks++;
}

/* seen[d] = t + 1: device d has paid for tensor t. */
static void count_tensor(const weft_checker *c, int t, int *seen, call *calls)
{
    const weft_problem *p = c->problem;
    int maker = p->producer[t], home;

    if (maker < 0 || !c->is_placed[maker])
        return;
    home = c->plan->device[maker];
    for (int k = p->reader_at[t]; k < p->reader_at[t + 1]; k++) {
        int v = p->reader[k], d = c->plan->device[v];

        if (!c->is_placed[v] || d == home)
            continue;
        if (d != p->host && seen[d] != t + 1)
            calls[d].read_s += weft_send_s(p, t, p->host, d);
        if (home != p->host && seen[home] != t + 1)
            calls[home].write_s += weft_send_s(p, t, home, p->host);
        seen[d] = seen[home] = t + 1;
    }
}

static call *list_calls(const weft_checker *c)
{
    const weft_problem *p = c->problem;
    call *calls = WEFT_NEW(c->arena, call, p->n_devices);
    int *seen = WEFT_NEW(c->arena, int, p->n_devices);

    for (int u = 0; u < p->n_tasks; u++)
        if (c->is_placed[u])
            count_task(c, u, calls);
    for (int t = 0; t < p->n_tensors; t++)
        count_tensor(c, t, seen, calls);
    return calls;
}

static void check_call(weft_checker *c, int d, const call *x)
{
    double begin_s = x->first_s - x->read_s;

    if (x->n_tasks > 0 && begin_s < -c->slack_s)
        weft_violate(&c->v,
                     "the call of '%s' computes from %.9g s and reads for %.9g s before that: "
                     "it begins %.3g s before time 0",
                     c->problem->device_name[d], x->first_s, x->read_s, -begin_s);
}

/* Rule 1 for one task of an accelerator. */
static void check_inside(weft_checker *c, int u, const call *x)
{
    double until_s = x->first_s + x->work_s;

    if (c->end_s[u] - until_s > c->slack_s)
        weft_violate(&c->v,
                     "task '%s' ends at %.9g s on '%s', but the tasks of that call take until "
                     "%.9g s: %.3g s too late",
                     weft_checker_task(c, u), c->end_s[u], weft_checker_device(c, u), until_s,
                     c->end_s[u] - until_s);
}

/* Rules 2 to 4: task v reads what u makes. */
static void check_read(weft_checker *c, int u, int v, const call *calls)
{
    int from = c->plan->device[u], to = c->plan->device[v], host = c->problem->host;
    bool is_inside = from == to;
    double ready_s = c->end_s[u], need_s = c->plan->start_s[v];

    if (!is_inside && from != host)
        ready_s = calls[from].first_s + calls[from].work_s + calls[from].write_s;
    if (!is_inside && to != host)
        need_s = calls[to].first_s - calls[to].read_s;
    if (ready_s - need_s > c->slack_s)
        weft_violate(
            &c->v,
            "task '%s' on '%s' needs its input from '%s' at %.9g s%s, available is it at %.9g s",
            weft_checker_task(c, v), weft_checker_device(c, v), weft_checker_task(c, u), need_s,
            is_inside || to == host ? "" : ", when the call begins", ready_s);
}

/* --- circles --------------------------------------------------------------------------------- */

/* Tasks by the node they belong to; -1: to none. */
typedef struct quotient {
    int n;
    const int *node; /* [n_tasks] */
} quotient;

/* Takes nodes that wait for nothing until none is left; the rest lies on or behind a circle.
 * Returns a task of such a node, or -1. */
static int find_circle(const weft_checker *c, const quotient *q)
{
    const weft_problem *p = c->problem;
    int *waits = WEFT_NEW(c->arena, int, q->n), *ready = WEFT_NEW(c->arena, int, q->n);
    int *first = WEFT_NEW(c->arena, int, q->n), *next = WEFT_NEW(c->arena, int, p->n_tasks);
    int n_ready = 0;

    for (int i = 0; i < q->n; i++)
        first[i] = -1;
    for (int v = 0; v < p->n_tasks; v++) {
        if (q->node[v] < 0)
            continue;
        next[v] = first[q->node[v]];
        first[q->node[v]] = v;
        for (int k = p->pred_at[v]; k < p->pred_at[v + 1]; k++)
            waits[q->node[v]] += q->node[p->pred[k]] >= 0 && q->node[p->pred[k]] != q->node[v];
    }
    for (int i = 0; i < q->n; i++)
        if (waits[i] == 0)
            ready[n_ready++] = i;
    while (n_ready > 0)
        for (int u = first[ready[--n_ready]]; u >= 0; u = next[u])
            for (int k = p->succ_at[u]; k < p->succ_at[u + 1]; k++) {
                int i = q->node[p->succ[k]];

                if (i >= 0 && i != q->node[u] && --waits[i] == 0)
                    ready[n_ready++] = i;
            }
    for (int u = 0; u < p->n_tasks; u++)
        if (q->node[u] >= 0 && waits[q->node[u]] > 0)
            return u;
    return -1;
}

static void check_circles(weft_checker *c)
{
    const weft_problem *p = c->problem;
    int *node = WEFT_NEW(c->arena, int, p->n_tasks);
    quotient q = {p->n_devices + p->n_tasks, node};
    int u;

    for (u = 0; u < p->n_tasks; u++) {
        bool is_host = c->is_placed[u] && c->plan->device[u] == p->host;

        node[u] = !c->is_placed[u] ? -1 : is_host ? p->n_devices + u : c->plan->device[u];
    }
    u = find_circle(c, &q);
    if (u >= 0)
        weft_violate(&c->v,
                     "calls wait for each other in a circle: task '%s' on '%s' can never start",
                     weft_checker_task(c, u), weft_checker_device(c, u));
}

/* --- all ------------------------------------------------------------------------------------- */

void weft_check_calls(weft_checker *c)
{
    const weft_problem *p = c->problem;
    const call *calls = list_calls(c);

    for (int d = 0; d < p->n_devices; d++)
        if (d != p->host)
            check_call(c, d, &calls[d]);
    for (int v = 0; v < p->n_tasks; v++) {
        if (!c->is_placed[v])
            continue;
        if (c->plan->device[v] != p->host)
            check_inside(c, v, &calls[c->plan->device[v]]);
        for (int k = p->pred_at[v]; k < p->pred_at[v + 1]; k++)
            if (c->is_placed[p->pred[k]])
                check_read(c, p->pred[k], v, calls);
    }
    check_circles(c);
}

void weft_check_stages(weft_checker *c)
{
    const weft_problem *p = c->problem;
    int *node = WEFT_NEW(c->arena, int, p->n_tasks);
    quotient q = {p->n_devices, node};
    int u;

    if (!p->constraints.is_contiguous)
        return;
    for (u = 0; u < p->n_tasks; u++)
        node[u] = c->is_placed[u] && !p->is_backward[u] ? c->plan->device[u] : -1;
    u = find_circle(c, &q);
    if (u >= 0)
        weft_violate(&c->v,
                     "the tasks of '%s' are no stage of a pipeline: task '%s' waits for "
                     "another device that waits for '%s'",
                     weft_checker_device(c, u), weft_checker_task(c, u), weft_checker_device(c, u));
}
