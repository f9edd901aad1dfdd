/* SPDX-License-Identifier: MIT */
/* measure_variants.c: what a mix of ways is worth.
 *
 * A share s of the items takes a way whose load on a resource is L: in the long run an item costs
 * the resource the sum of s * L over the ways, and a stream can keep the largest of these sums as
 * its period: repeat a round of N items, N * s of them on each way (lower.c with the round as one
 * item; shares that are not fractions are met as closely as wanted by long rounds).
 *
 * Memory: the weights of all ways lie on a device together, each once; beside them the live tensors
 * of one item, of the way that needs most there. */
#include <math.h>
#include <string.h>

#include "parts.h"

static void add_share(double share, const double *of_way, int n, double *sum)
{
    for (int i = 0; i < n; i++)
        sum[i] += share * of_way[i];
}

/* Bytes of weights that ways first .. last - 1 read on each device, each weight once. */
static double *weights_of(const weft_problem *p, const weft_plan *plan, int first, int last,
                          weft_arena *a)
{
    double *bytes = WEFT_NEW(a, double, p->n_devices);
    int *counted = WEFT_NEW(a, int, p->n_devices);

    for (int t = 0; t < p->n_tensors; t++)
        for (int w = first; p->is_weight[t] && w < last; w++)
            for (int k = p->reader_at[t]; k < p->reader_at[t + 1]; k++) {
                int d = plan->device[(size_t)w * (size_t)p->n_tasks + (size_t)p->reader[k]];

                if (counted[d] == t + 1)
                    continue;
                counted[d] = t + 1;
                bytes[d] += p->memory[t];
            }
    return bytes;
}

static void measure_peaks(const weft_problem *p, const weft_plan *plan, const weft_measures *way,
                          weft_arena *a, weft_measures *out)
{
    double *peak_bytes = weights_of(p, plan, 0, plan->n_variants, a);
    double *live_bytes = WEFT_NEW(a, double, p->n_devices);

    for (int w = 0; w < plan->n_variants; w++) {
        const double *weights = weights_of(p, plan, w, w + 1, a);

        for (int d = 0; d < p->n_devices; d++)
            live_bytes[d] = fmax(live_bytes[d], way[w].peak_bytes[d] - weights[d]);
    }
    out->over_device = -1;
    for (int d = 0; d < p->n_devices; d++) {
        peak_bytes[d] += live_bytes[d];
        if (out->over_device < 0 && !weft_fits(peak_bytes[d], p->capacity[d]))
            out->over_device = d;
    }
    out->peak_bytes = peak_bytes;
}

void weft_measure_variants(const weft_problem *p, const weft_plan *plan, const weft_measures *way,
                           weft_arena *a, weft_measures *out)
{
    double *busy_s = WEFT_NEW(a, double, p->n_devices), *load_s = WEFT_NEW(a, double, p->n_devices);
    double *link_s = WEFT_NEW(a, double, p->n_links);
    int longest = 0;

    for (int w = 1; w < plan->n_variants; w++)
        if (way[w].makespan_s > way[longest].makespan_s)
            longest = w;
    *out = way[longest];
    out->n_variants = plan->n_variants;
    out->longest_way = longest;
    out->way = way;
    out->energy_j = out->idle_j = out->sent_bytes = out->period_s = 0;
    out->n_transfers = 0;
    for (int w = 0; w < plan->n_variants; w++) {
        out->energy_j += plan->share[w] * way[w].energy_j;
        out->idle_j += plan->share[w] * way[w].idle_j;
        out->sent_bytes += plan->share[w] * way[w].sent_bytes;
        out->n_transfers += way[w].n_transfers;
        add_share(plan->share[w], way[w].busy_s, p->n_devices, busy_s);
        add_share(plan->share[w], way[w].load_s, p->n_devices, load_s);
        add_share(plan->share[w], way[w].link_s, p->n_links, link_s);
    }
    out->busy_s = busy_s;
    out->load_s = load_s;
    out->link_s = link_s;
    weft_measure_period(p, out);
    measure_peaks(p, plan, way, a, out);
}
