/* SPDX-License-Identifier: MIT */
/* calls_state.c: lengths of calls kept up to date while groups move, and the latency of calls.
 *
 * 1. A tensor costs its maker's accelerator one write if any reader is elsewhere, and each other
 *    accelerator with a reader one read. A weight takes room once on each device that reads it.
 * 2. To move a group, what its tensors and weights cost is taken off, devices change, and what they
 *    cost then is added: O(readers) for each.
 * 3. Value: the longest chain of calls and tasks of the host, by taking off what waits for nothing.
 *
 * Sums change by rounding as moves go on: `set` makes them anew. The simulator has the last word on
 * any placement; tests hold this value against it. */
#include "calls_state.h"

#include <math.h>
#include <string.h>

/* Adds what tensor t costs, times sign. */
static void cost_tensor(weft_calls_state *s, int t, double sign)
{
    const weft_problem *p = s->p;
    int home = s->device[p->producer[t]];
    bool is_sent = false;

    s->seen[home] = s->seen[p->host] = ++s->n_looks; /* neither reads */
    for (int k = p->reader_at[t]; k < p->reader_at[t + 1]; k++) {
        int d = s->device[p->reader[k]];

        is_sent |= d != home;
        if (s->seen[d] != s->n_looks)
            s->call_s[d] += sign * weft_send_s(p, t, p->host, d);
        s->seen[d] = s->n_looks;
    }
    if (is_sent && home != p->host)
        s->call_s[home] += sign * weft_send_s(p, t, home, p->host);
}

static void cost_weight(weft_calls_state *s, int t, double sign)
{
    const weft_problem *p = s->p;

    s->n_looks++;
    for (int k = p->reader_at[t]; k < p->reader_at[t + 1]; k++) {
        int d = s->device[p->reader[k]];

        if (s->seen[d] != s->n_looks)
            s->bytes[d] += sign * p->memory[t];
        s->seen[d] = s->n_looks;
    }
}

/* All that hangs on task u. Tensors that two tasks of a group touch are costed task by task: a task
 * leaves before the next one does. */
static void cost_task(weft_calls_state *s, int u, double sign)
{
    const weft_problem *p = s->p;

    s->call_s[s->device[u]] += sign * weft_task_s(p, u, s->device[u]);
    s->n_on[s->device[u]] += sign > 0 ? 1 : -1;
    for (int k = p->arg_at[u]; k < p->arg_at[u + 1]; k++)
        if (p->is_weight[p->arg[k]])
            cost_weight(s, p->arg[k], sign);
        else if (p->producer[p->arg[k]] >= 0)
            cost_tensor(s, p->arg[k], sign);
    for (int k = p->res_at[u]; k < p->res_at[u + 1]; k++)
        cost_tensor(s, p->res[k], sign);
}

void weft_calls_state_move(weft_calls_state *s, int group, int device)
{
    for (int k = s->member.at[group]; k < s->member.at[group + 1]; k++) {
        int u = s->member.item[k];

        cost_task(s, u, -1);
        s->device[u] = device;
        cost_task(s, u, 1);
    }
}

void weft_calls_state_set(weft_calls_state *s, const int *device)
{
    const weft_problem *p = s->p;

    if (device != s->device)
        memcpy(s->device, device, (size_t)p->n_tasks * sizeof *device);
    for (int d = 0; d < p->n_devices; d++) {
        s->call_s[d] = s->bytes[d] = 0;
        s->n_on[d] = 0;
    }
    for (int u = 0; u < p->n_tasks; u++) {
        s->call_s[s->device[u]] += weft_task_s(p, u, s->device[u]);
        s->n_on[s->device[u]]++;
    }
    for (int t = 0; t < p->n_tensors; t++)
        if (p->is_weight[t])
            cost_weight(s, t, 1);
        else if (p->producer[t] >= 0)
            cost_tensor(s, t, 1);
}

weft_calls_state *weft_calls_state_new(const weft_domain *m, weft_arena *a)
{
    const weft_problem *p = m->problem;
    weft_calls_state *s = WEFT_NEW(a, weft_calls_state, 1);

    s->domain = m;
    s->p = p;
    s->member = weft_rows_by(m->group, p->n_tasks, m->n_groups, a);
    s->device = WEFT_NEW(a, int, p->n_tasks);
    s->call_s = WEFT_NEW(a, double, p->n_devices);
    s->bytes = WEFT_NEW(a, double, p->n_devices);
    s->n_on = WEFT_NEW(a, int, p->n_devices);
    s->seen = WEFT_NEW(a, int64_t, p->n_devices);
    s->waits = WEFT_NEW(a, int, p->n_devices + p->n_tasks);
    s->stack = WEFT_NEW(a, int, p->n_devices + p->n_tasks);
    s->first = WEFT_NEW(a, int, p->n_devices);
    s->next = WEFT_NEW(a, int, p->n_tasks);
    s->begin_s = WEFT_NEW(a, double, p->n_devices + p->n_tasks);
    for (int u = 0; u < p->n_tasks; u++)
        s->device[u] = p->host;
    weft_calls_state_set(s, s->device);
    return s;
}

/* --- value ----------------------------------------------------------------------------------- */

/* A call by its device, a task of the host behind all devices. */
static int node_of(const weft_calls_state *s, int u)
{
    return s->device[u] == s->p->host ? s->p->n_devices + u : s->device[u];
}

/* Counts what nodes wait for and stacks those that wait for nothing; returns how many. */
static int begin_value(weft_calls_state *s)
{
    const weft_problem *p = s->p;
    int n = p->n_devices + p->n_tasks, n_ready = 0;

    memset(s->waits, 0, (size_t)n * sizeof *s->waits);
    memset(s->begin_s, 0, (size_t)n * sizeof *s->begin_s);
    for (int d = 0; d < p->n_devices; d++)
        s->first[d] = -1;
    for (int v = 0; v < p->n_tasks; v++) {
        int node = node_of(s, v);

        for (int k = p->pred_at[v]; k < p->pred_at[v + 1]; k++)
            s->waits[node] += node_of(s, p->pred[k]) != node;
        if (node >= p->n_devices && s->waits[node] == 0)
            s->stack[n_ready++] = node;
        if (node >= p->n_devices)
            continue;
        s->next[v] = s->first[node];
        s->first[node] = v;
    }
    for (int d = 0; d < p->n_devices; d++)
        if (s->first[d] >= 0 && s->waits[d] == 0)
            s->stack[n_ready++] = d;
    return n_ready;
}

/* What task u makes is available at end_s: returns the stack's new height. */
static int release(weft_calls_state *s, int u, int node, double end_s, int n_ready)
{
    const weft_problem *p = s->p;

    for (int k = p->succ_at[u]; k < p->succ_at[u + 1]; k++) {
        int other = node_of(s, p->succ[k]);

        if (other == node)
            continue;
        s->begin_s[other] = fmax(s->begin_s[other], end_s);
        if (--s->waits[other] == 0)
            s->stack[n_ready++] = other;
    }
    return n_ready;
}

double weft_calls_state_value(weft_calls_state *s)
{
    const weft_problem *p = s->p;
    int n_ready = begin_value(s), n_done = 0;
    double value = 0;

    while (n_ready > 0) {
        int node = s->stack[--n_ready], u = node - p->n_devices;
        double end_s = s->begin_s[node];

        end_s += u >= 0 ? weft_task_s(p, u, p->host) : s->call_s[node];
        value = fmax(value, end_s);
        n_done += u >= 0 ? 1 : s->n_on[node];
        if (u >= 0)
            n_ready = release(s, u, node, end_s, n_ready);
        for (int v = u >= 0 ? -1 : s->first[node]; v >= 0; v = s->next[v])
            n_ready = release(s, v, node, end_s, n_ready);
    }
    return n_done == p->n_tasks ? value : INFINITY;
}
