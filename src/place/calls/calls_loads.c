/* SPDX-License-Identifier: MIT */
/* calls_loads.c: loads of a placement of blocks under `calls`, move by move.
 *
 * For each tensor, the readers on each device are counted. A device that is not the maker's pays
 * in_s while its count is not 0; the maker's device pays out_s while readers are placed elsewhere.
 * Weights are counted in the same way. Tensors whose maker is nowhere cost nothing yet.
 *
 * A move costs the tensors and weights of the block, and for each tensor it makes, the devices.
 * Sums of many moves are rounded: weft_calls_renew adds everything up again. */
#include "calls.h"

#include <math.h>

enum { MOST_ROUNDS = 100 }; /* of weft_calls_place_rest; it ends by itself, as loads fall */
static const double ROUNDING = 1e-11; /* relative: sums of loads differ by less */

weft_calls_loads weft_calls_loads_new(const weft_calls *m, weft_arena *a)
{
    size_t n_devices = (size_t)m->n_devices;
    weft_calls_loads l = {.calls = m};

    l.device = WEFT_NEW(a, int, m->n_blocks);
    l.load_s = WEFT_NEW(a, double, m->n_devices);
    l.bytes = WEFT_NEW(a, double, m->n_devices);
    l.n_readers = weft_arena_array(a, (size_t)m->n_tensors * n_devices, sizeof *l.n_readers);
    l.n_placed = WEFT_NEW(a, int, m->n_tensors);
    l.n_holders = weft_arena_array(a, (size_t)m->n_weights * n_devices, sizeof *l.n_holders);
    for (int b = 0; b < m->n_blocks; b++)
        l.device[b] = -1;
    return l;
}

/* Adds (or with sign -1 takes off) a reader of tensor t on device d. */
static void count_reader(weft_calls_loads *l, int t, int d, int sign)
{
    const weft_calls *m = l->calls;
    int k = m->n_devices, home = l->device[m->maker[t]];
    int before = l->n_readers[t * k + d], after = before + sign;
    int elsewhere;

    l->n_readers[t * k + d] = after;
    l->n_placed[t] += sign;
    if (d == home || home < 0)
        return;
    if (before == 0 || after == 0)
        l->load_s[d] += sign * m->in_s[t * k + d];
    elsewhere = l->n_placed[t] - l->n_readers[t * k + home];
    if (elsewhere == (sign > 0 ? 1 : 0))
        l->load_s[home] += sign * m->out_s[t * k + home];
}

/* The maker of t comes to (or with sign -1 leaves) device d. */
static void count_maker(weft_calls_loads *l, int t, int d, int sign)
{
    const weft_calls *m = l->calls;
    int k = m->n_devices;

    if (l->n_placed[t] > l->n_readers[t * k + d])
        l->load_s[d] += sign * m->out_s[t * k + d];
    for (int e = 0; e < k; e++) {
        if (e != d && l->n_readers[t * k + e] > 0)
            l->load_s[e] += sign * m->in_s[t * k + e];
    }
}

static void count_block(weft_calls_loads *l, int b, int d, int sign)
{
    const weft_calls *m = l->calls;
    int k = m->n_devices;

    l->load_s[d] += sign * m->time_s[b * k + d];
    for (int i = m->made_at[b]; i < m->made_at[b + 1]; i++)
        count_maker(l, m->made[i], d, sign);
    for (int i = m->read_at[b]; i < m->read_at[b + 1]; i++)
        count_reader(l, m->read[i], d, sign);
    for (int i = m->weight_at[b]; i < m->weight_at[b + 1]; i++) {
        int w = m->weight[i];
        int before = l->n_holders[w * k + d];

        l->n_holders[w * k + d] += sign;
        if (before == 0 || before + sign == 0)
            l->bytes[d] += sign * m->weight_bytes[w];
    }
}

void weft_calls_move(weft_calls_loads *l, int block, int device)
{
    if (l->device[block] >= 0)
        count_block(l, block, l->device[block], -1);
    l->device[block] = device;
    if (device >= 0)
        count_block(l, block, device, 1);
}

void weft_calls_renew(weft_calls_loads *l)
{
    const weft_calls *m = l->calls;
    int k = m->n_devices;

    for (int d = 0; d < k; d++)
        l->load_s[d] = l->bytes[d] = 0;
    for (int b = 0; b < m->n_blocks; b++) {
        if (l->device[b] >= 0)
            l->load_s[l->device[b]] += m->time_s[b * k + l->device[b]];
    }
    for (int t = 0; t < m->n_tensors; t++) {
        int home = l->device[m->maker[t]];

        if (home >= 0)
            count_maker(l, t, home, 1);
    }
    for (int w = 0; w < m->n_weights; w++) {
        for (int d = 0; d < k; d++)
            l->bytes[d] += l->n_holders[w * k + d] > 0 ? m->weight_bytes[w] : 0;
    }
}

double weft_calls_period(const weft_calls_loads *l)
{
    double period_s = 0;

    for (int d = 0; d < l->calls->n_devices; d++)
        period_s = fmax(period_s, l->load_s[d]);
    return period_s;
}

bool weft_calls_fits(const weft_calls_loads *l)
{
    for (int d = 0; d < l->calls->n_devices; d++) {
        if (!weft_fits(l->bytes[d], l->calls->problem->capacity[d]))
            return false;
    }
    return true;
}

void weft_calls_plan(const weft_calls *m, const int *device, weft_plan *plan)
{
    for (int u = 0; u < m->problem->n_tasks; u++) {
        plan->device[u] = device[m->block[u]];
        plan->start_s[u] = u;
    }
}

/* The device where block b leaves the least period, on a tie the least sum of loads, then where it
 * is, then the least number; -1 if there is room nowhere. The block is left wherever it was tried
 * last. */
static int best_device(weft_calls_loads *l, int b)
{
    const weft_calls *m = l->calls;
    int home = l->device[b], best = -1;
    double least_s = INFINITY, least_sum_s = INFINITY;

    for (int i = -1; i < m->n_devices; i++) {
        int d = i < 0 ? home : i;
        double sum_s = 0, period_s;

        if (d < 0 || !isfinite(m->time_s[b * m->n_devices + d]))
            continue;
        weft_calls_move(l, b, d);
        if (!weft_calls_fits(l))
            continue;
        period_s = weft_calls_period(l);
        for (int e = 0; e < m->n_devices; e++)
            sum_s += l->load_s[e];
        if (best < 0 || period_s < least_s * (1 - ROUNDING) ||
            (period_s <= least_s && sum_s < least_sum_s * (1 - ROUNDING))) {
            least_s = period_s;
            least_sum_s = sum_s;
            best = d;
        }
    }
    return best;
}

static bool is_whole(const weft_calls_loads *l)
{
    for (int b = 0; b < l->calls->n_blocks; b++) {
        if (l->device[b] < 0)
            return false;
    }
    return weft_calls_fits(l);
}

bool weft_calls_place_rest(weft_calls_loads *l, int first)
{
    bool is_better = true;

    for (int round = 0; is_better && round < MOST_ROUNDS; round++) {
        is_better = false;
        for (int b = first; b < l->calls->n_blocks; b++) {
            int home = l->device[b], best = best_device(l, b);

            is_better |= best != home;
            weft_calls_move(l, b, best);
        }
    }
    weft_calls_renew(l);
    return is_whole(l);
}
