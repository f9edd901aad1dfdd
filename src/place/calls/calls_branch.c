/* SPDX-License-Identifier: MIT */
/* calls_branch.c: on which assumption a search for pipelines branches next.
 *
 * The bound of calls_chain.c lets every stage count a block that is no member where it costs that stage
 * least: as its own, or as another's. A placement pays what really happens. The device of the largest load is
 * what keeps value and bound apart.
 *
 * 1. For each such block: what it costs that device in the placement, less what it would cost at best.
 * 2. The block with the largest difference is taken, and of its neighbours (blocks that it must not be apart
 *    from yet) the one that it exchanges most with: together or apart? On ties the lowest numbers.
 *
 * A block for which the difference is nothing may be taken, too, when there is no better one: what such blocks
 * exchange among themselves is not in the bound at all.
 *
 * Time O(blocks * degree^2). */
#include "calls_branch.h"

#include <math.h>

typedef struct choice {
    const weft_calls_loads *l;
    const weft_calls *m;
    int first, device; /* the device of the largest load */
} choice;

/* Members of the sets that read tensor t on the device, or anywhere. */
static int count_members(const choice *x, int t, bool is_there)
{
    int n = 0;

    for (int i = x->m->reader_at[t]; i < x->m->reader_at[t + 1]; i++) {
        int b = x->m->reader[i];

        n += b < x->first && (!is_there || x->l->device[b] == x->device);
    }
    return n;
}

/* What block b costs the device if it is there, or if it is elsewhere; without what it exchanges with blocks
 * that are no members either. */
static double cost_of(const choice *x, int b, bool is_here)
{
    const weft_calls *m = x->m;
    int k = m->n_devices, d = x->device;
    double cost_s = is_here ? m->time_s[b * k + d] : 0;

    for (int i = m->made_at[b]; i < m->made_at[b + 1]; i++) {
        int t = m->made[i], n_there = count_members(x, t, true);

        if (is_here)
            cost_s += n_there < count_members(x, t, false) ? m->out_s[t * k + d] : 0;
        else
            cost_s += n_there > 0 ? m->in_s[t * k + d] : 0;
    }
    for (int i = m->read_at[b]; i < m->read_at[b + 1]; i++) {
        int t = m->read[i], home = m->maker[t], n_there = count_members(x, t, true);

        if (home >= x->first)
            continue;
        if (x->l->device[home] == d)
            cost_s += !is_here && n_there == count_members(x, t, false) ? m->out_s[t * k + d] : 0;
        else
            cost_s += is_here && n_there == 0 ? m->in_s[t * k + d] : 0;
    }
    return cost_s;
}

static bool is_apart(const weft_calls *m, int b, int c)
{
    for (int i = m->apart_at[b]; i < m->apart_at[b + 1]; i++) {
        if (m->apart[i] == c)
            return true;
    }
    return false;
}

static bool reads(const weft_calls *m, int b, int t)
{
    for (int i = m->reader_at[t]; i < m->reader_at[t + 1]; i++) {
        if (m->reader[i] == b)
            return true;
    }
    return false;
}

/* What b and c would pay for what they exchange, were they on two accelerators. */
static double exchange_of(const choice *x, int b, int c)
{
    const weft_calls *m = x->m;
    double sum_s = 0;

    for (int side = 0; side < 2; side++) {
        int from = side == 0 ? b : c, to = side == 0 ? c : b;

        for (int i = m->made_at[from]; i < m->made_at[from + 1]; i++) {
            int t = m->made[i];

            if (reads(m, to, t))
                sum_s +=
                    m->in_s[t * m->n_devices + x->device] + m->out_s[t * m->n_devices + x->device];
        }
    }
    return sum_s;
}

/* The neighbour to decide about, or -1. */
static int neighbour_of(const choice *x, int b)
{
    const weft_calls *m = x->m;
    double most_s = -1;
    int best = -1;

    for (int i = m->near_at[b]; i < m->near_at[b + 1]; i++) {
        int c = m->near[i];
        double sum_s = is_apart(m, b, c) ? -1 : exchange_of(x, b, c);

        if (sum_s > most_s || (best >= 0 && sum_s == most_s && c < best)) {
            most_s = sum_s;
            best = c;
        }
    }
    return best;
}

static int largest_load(const weft_calls_loads *l)
{
    int most = 0;

    for (int d = 1; d < l->calls->n_devices; d++)
        most = l->load_s[d] > l->load_s[most] ? d : most;
    return most;
}

/* Some task of block b. */
static int task_of(const weft_calls *m, int b)
{
    int u = 0;

    while (m->block[u] != b)
        u++;
    return u;
}

bool weft_calls_next_rule(const weft_calls_loads *l, int first, weft_calls_rule *rule)
{
    const weft_calls *m = l->calls;
    choice x = {l, m, first, largest_load(l)};
    double most_s = -1;
    int best = -1, partner = -1;

    for (int b = first; b < m->n_blocks; b++) {
        int c = neighbour_of(&x, b);
        double here_s = cost_of(&x, b, true), there_s = cost_of(&x, b, false);
        double loss_s = (l->device[b] == x.device ? here_s : there_s) - fmin(here_s, there_s);

        if (c < 0 || !(loss_s > most_s))
            continue;
        most_s = loss_s;
        best = b;
        partner = c;
    }
    if (best < 0)
        return false;
    *rule = (weft_calls_rule){task_of(m, best), task_of(m, partner), true};
    return true;
}
