/* SPDX-License-Identifier: MIT */
/* piper_value.c: what a plan is worth under Piper's objective, and whether it is legal.
 *
 * 1. Widths, modes, replicas and stages are in range; no edge goes back to an earlier stage (then
 *    the nodes up to each stage are closed under predecessors: the stages are a chain of cuts).
 * 2. Every stage is summed from its nodes and edges, in order; nothing is shared with the planner.
 *
 * Time O(nodes + edges + stages). Objective: include/weft/train.h. */
#include "piper_parts.h"

#include <math.h>

static weft_status check_stages(const weft_piper *p, const weft_piper_plan *plan, int64_t *n_used)
{
    int64_t n_replicas = 0;

    *n_used = 0;
    for (int i = 0; i < plan->n_stages; i++) {
        int d = plan->replicas[i];

        if (d < 1 || p->n_microbatches % d != 0)
            return weft_fail(WEFT_E_INPUT, "stage %d: %d replicas do not divide %d microbatches", i,
                             d, p->n_microbatches);
        if (plan->width[i] < 0 || plan->width[i] >= p->n_widths)
            return weft_fail(WEFT_E_INPUT, "stage %d: no such tensor width", i);
        n_replicas += d;
        *n_used += (int64_t)d * p->width[plan->width[i]];
    }
    if (*n_used > p->n_devices)
        return weft_fail(WEFT_E_INPUT, "the plan takes %lld devices, there are %d",
                         (long long)*n_used, p->n_devices);
    if (n_replicas > p->n_microbatches)
        return weft_fail(WEFT_E_INPUT, "%lld replicas in all, more than %d microbatches",
                         (long long)n_replicas, p->n_microbatches);
    return WEFT_OK;
}

static weft_status check_nodes(const weft_piper *p, const weft_piper_plan *plan)
{
    for (int u = 0; u < p->n_nodes; u++) {
        int i = plan->stage[u];

        if (i < 0 || i >= plan->n_stages)
            return weft_fail(WEFT_E_INPUT, "node '%s' is in no stage", p->name[u]);
        const int *at = &p->mode_at[u * p->n_widths + plan->width[i]];
        if (plan->mode[u] < at[0] || plan->mode[u] >= at[1])
            return weft_fail(WEFT_E_INPUT, "node '%s' has no such mode at tensor width %d",
                             p->name[u], p->width[plan->width[i]]);
    }
    for (int e = 0; e < p->n_edges; e++)
        if (plan->stage[p->edge_from[e]] > plan->stage[p->edge_to[e]])
            return weft_fail(WEFT_E_INPUT, "node '%s' is in a later stage than its reader '%s'",
                             p->name[p->edge_from[e]], p->name[p->edge_to[e]]);
    return WEFT_OK;
}

/* Bytes that cross the borders of u's stage at u. */
static double border_bytes(const weft_piper *p, const weft_piper_plan *plan, int u)
{
    const weft_piper_mode *m = &p->mode[plan->mode[u]];
    double bytes = 0;

    for (int k = p->in_at[u]; k < p->in_at[u + 1]; k++) {
        int e = p->in_edge[k];

        if (plan->stage[p->edge_from[e]] != plan->stage[u])
            bytes += 2 * (p->edge_bytes[e] + m->enter_bytes[k - p->in_at[u]]);
    }
    for (int k = p->out_at[u]; k < p->out_at[u + 1]; k++) {
        int e = p->out_edge[k];

        if (plan->stage[p->edge_to[e]] != plan->stage[u])
            bytes += 2 * (p->edge_bytes[e] + m->leave_bytes[k - p->out_at[u]]);
    }
    return bytes;
}

/* Adds node u to the sums of its stage, which runs in_flight microbatches at once. */
static void add_node(const weft_piper *p, const weft_piper_plan *plan, int u, int in_flight,
                     weft_piper_measures *out)
{
    const weft_piper_mode *m = &p->mode[plan->mode[u]];
    int i = plan->stage[u];
    double d = plan->replicas[i];
    double sync = 4 * (d - 1) * m->parameter_bytes / d / p->n_microbatches;

    out->stage_s[i] +=
        (border_bytes(p, plan, u) / d + sync) / p->bandwidth_bytes_per_s + m->sample_s / d;
    out->stage_bytes[i] += m->stash_bytes * in_flight + m->state_bytes;
}

weft_status weft_piper_measure(const weft_piper *p, const weft_piper_plan *plan, weft_arena *a,
                               weft_piper_measures *out)
{
    int64_t n_used;
    int *in_flight = WEFT_NEW(a, int, plan->n_stages);

    WEFT_TRY(check_stages(p, plan, &n_used));
    WEFT_TRY(check_nodes(p, plan));
    *out = (weft_piper_measures){.n_devices = (int)n_used,
                                 .stage_s = WEFT_NEW(a, double, plan->n_stages),
                                 .stage_bytes = WEFT_NEW(a, double, plan->n_stages)};
    for (int i = plan->n_stages - 1, n_replicas = 0; i >= 0; i--) {
        n_replicas += plan->replicas[i];
        in_flight[i] = weft_piper_in_flight(n_replicas, plan->replicas[i]);
    }
    for (int u = 0; u < p->n_nodes; u++)
        add_node(p, plan, u, in_flight[plan->stage[u]], out);
    for (int i = 0; i < plan->n_stages; i++) {
        if (out->stage_bytes[i] > p->memory_bytes)
            return weft_fail(WEFT_E_INPUT, "stage %d needs %.0f bytes, a device has %.0f", i,
                             out->stage_bytes[i], p->memory_bytes);
        if (out->stage_s[i] > out->stage_s[out->slowest])
            out->slowest = i;
    }
    out->value_s = out->stage_s[out->slowest];
    return WEFT_OK;
}
