/* SPDX-License-Identifier: MIT */
/* piper_stage.c: can a range of nodes be a stage within a time and the memory of a device?
 *
 * With F the seconds, E the border seconds and P the gradient seconds of the range, d replicas take
 * (F + E + (d - 1) P) / d per sample. Where the modes of a node at a width share their parameters
 * and what they add to edges (public files do), E and P do not depend on the choice of modes, and
 *
 * 1. the sum of the fastest modes must be quick enough, whatever the memory;
 * 2. if they fit into memory too, the answer is yes: differences of sums, no loop over nodes;
 * 3. if the least stash and state of every node do not fit, the answer is no, likewise;
 * 4. else the least F that fits is a knapsack (piper_modes.c) of range, width and microbatches in
 *    flight. It does not depend on d or on the time allowed, and is remembered: first its bounds,
 *    the exact value once a question falls between them.
 *
 * Otherwise E and P belong to the modes: 1 and 3 use the least of each, 2 is skipped, and 4 is
 * remembered for each d. Exact in both cases, up to rounding (see planner). */
#include "piper_parts.h"

#include "piper_modes.h"

#include <limits.h>
#include <math.h>
#include <string.h>

typedef struct entry_key {
    int inner, outer, width, d, in_flight; /* d = 0: for any */
} entry_key;

typedef struct entry {
    entry_key key;
    bool is_final; /* no better bounds to come */
    double least_s, best_s;
} entry;

struct weft_piper_stages {
    const weft_piper *p;
    const weft_piper_cuts *cuts;
    weft_arena *a, *scratch;
    bool is_uniform;           /* parameters and edges do not depend on the mode */
    double *enter_s, *leave_s; /* [n_widths * n_edges] 2 bytes / bandwidth; at least */
    weft_map *known;           /* place in entries */
    WEFT_VEC(entry *) entries;
    weft_piper_knapsack knapsack; /* room for all nodes */
    int *node, *choice;           /* [n_nodes] */
    int64_t n_sensitivities;
};

/* --- what the modes share -------------------------------------------------------------------- */

static bool same_reals(const double *x, const double *y, int n)
{
    for (int i = 0; i < n; i++)
        if (x[i] != y[i])
            return false;
    return true;
}

static bool is_uniform(const weft_piper *p)
{
    for (int u = 0; u < p->n_nodes; u++)
        for (int w = 0; w < p->n_widths; w++) {
            const int *at = &p->mode_at[u * p->n_widths + w];

            for (int m = at[0] + 1; m < at[1]; m++) {
                const weft_piper_mode *x = &p->mode[at[0]], *y = &p->mode[m];

                if (x->parameter_bytes != y->parameter_bytes ||
                    !same_reals(x->enter_bytes, y->enter_bytes, p->in_at[u + 1] - p->in_at[u]) ||
                    !same_reals(x->leave_bytes, y->leave_bytes, p->out_at[u + 1] - p->out_at[u]))
                    return false;
            }
        }
    return true;
}

/* The least seconds that node u's modes give its edges, in list order: `is_entering` ones. */
static void least_edge_s(const weft_piper_stages *s, int u, int w, bool is_entering, double *out)
{
    const weft_piper *p = s->p;
    const int *at = is_entering ? p->in_at : p->out_at;
    const int *edge = is_entering ? p->in_edge : p->out_edge;
    const int *mode = &p->mode_at[u * p->n_widths + w];

    for (int k = at[u]; k < at[u + 1]; k++) {
        double least = mode[0] == mode[1] ? 0 : INFINITY;

        for (int m = mode[0]; m < mode[1]; m++)
            least = fmin(least, is_entering ? p->mode[m].enter_bytes[k - at[u]]
                                            : p->mode[m].leave_bytes[k - at[u]]);
        out[w * p->n_edges + edge[k]] =
            2 * (p->edge_bytes[edge[k]] + least) / p->bandwidth_bytes_per_s;
    }
}

weft_piper_stages *weft_piper_stages_new(const weft_piper *p, const weft_piper_cuts *cuts,
                                         int64_t max_points, weft_arena *a, weft_arena *scratch)
{
    weft_piper_stages *s = WEFT_NEW(a, weft_piper_stages, 1);
    int n_modes = p->mode_at[p->n_nodes * p->n_widths];

    *s = (weft_piper_stages){.p = p, .cuts = cuts, .a = a, .scratch = scratch};
    s->is_uniform = is_uniform(p);
    s->enter_s = WEFT_NEW(a, double, p->n_widths * p->n_edges);
    s->leave_s = WEFT_NEW(a, double, p->n_widths * p->n_edges);
    for (int u = 0; u < p->n_nodes; u++)
        for (int w = 0; w < p->n_widths; w++) {
            least_edge_s(s, u, w, true, s->enter_s);
            least_edge_s(s, u, w, false, s->leave_s);
        }
    s->known = weft_map_new(a);
    s->knapsack = (weft_piper_knapsack){.at = WEFT_NEW(a, int, p->n_nodes + 1),
                                        .option = WEFT_NEW(a, weft_piper_pick, n_modes),
                                        .memory_bytes = p->memory_bytes,
                                        .max_points = max_points};
    s->node = WEFT_NEW(a, int, p->n_nodes);
    s->choice = WEFT_NEW(a, int, p->n_nodes);
    return s;
}

int64_t weft_piper_stages_unproved(const weft_piper_stages *s)
{
    return s->n_sensitivities;
}

double weft_piper_node_least_bytes(const weft_piper *p, int u, int width)
{
    const int *at = &p->mode_at[u * p->n_widths + width];
    double least = INFINITY;

    for (int m = at[0]; m < at[1]; m++)
        least = fmin(least, p->mode[m].stash_bytes + p->mode[m].state_bytes);
    return least;
}

/* --- a range ---------------------------------------------------------------------------------- */

static const weft_piper_sums *sums_of(const weft_piper_stages *s, int cut, int width)
{
    return &s->cuts->sums[(size_t)cut * (size_t)s->p->n_widths + (size_t)width];
}

static const uint64_t *bits_of(const weft_piper_stages *s, int cut)
{
    return s->cuts->bits + (size_t)cut * (size_t)s->cuts->n_words;
}

/* How many microbatches fit if every node had both its least stash and its least state. */
static double most_in_flight(const weft_piper_stages *s, const weft_piper_sums *inner,
                             const weft_piper_sums *outer)
{
    double stash_bytes = outer->least_stash_bytes - inner->least_stash_bytes;
    double free_bytes = s->p->memory_bytes - (outer->least_state_bytes - inner->least_state_bytes);

    if (free_bytes < stash_bytes)
        return 0;
    return stash_bytes > 0 ? floor(free_bytes / stash_bytes) : INFINITY;
}

bool weft_piper_range_open(const weft_piper_stages *s, int inner, int outer, int width,
                           weft_piper_range *out)
{
    const weft_piper_sums *i = sums_of(s, inner, width), *o = sums_of(s, outer, width);

    *out = (weft_piper_range){.inner = inner, .outer = outer, .width = width, .border_s = -1};
    if (i->n_missing != o->n_missing)
        return false;
    out->fast_s = o->fast_s - i->fast_s;
    out->sync_s = 4 * (o->parameter_bytes - i->parameter_bytes) / s->p->n_microbatches /
                  s->p->bandwidth_bytes_per_s;
    out->most_in_flight = most_in_flight(s, i, o);
    return true;
}

/* Time: fast + (d - 1) sync <= limit d. Memory: ceil(D / d) + 1 <= most_in_flight. Rounded down by
 * more than the rounding of either. */
int weft_piper_range_least_replicas(const weft_piper_range *range, int n_later, double limit_s)
{
    double border_s = fmax(range->border_s, 0), least = 1;

    if (range->sync_s < limit_s)
        least = (range->fast_s + border_s - range->sync_s) / (limit_s - range->sync_s);
    if (range->most_in_flight < 2 && n_later > 0)
        return INT_MAX;
    if (n_later > 0)
        least = fmax(least, n_later / (range->most_in_flight - 1));
    least = ceil(least * (1 - 1e-9));
    return least < 1 ? 1 : least < INT_MAX ? (int)least : INT_MAX;
}

double weft_piper_range_border_s(const weft_piper_stages *s, const weft_piper_range *range)
{
    const weft_piper_cuts *c = s->cuts;
    const double *enter_s = s->enter_s + range->width * s->p->n_edges;
    const double *leave_s = s->leave_s + range->width * s->p->n_edges;
    double border_s = 0;

    for (int k = c->edge_at[range->inner]; k < c->edge_at[range->inner + 1]; k++)
        if (weft_bit_get(bits_of(s, range->outer), s->p->edge_to[c->edge[k]]))
            border_s += enter_s[c->edge[k]];
    for (int k = c->edge_at[range->outer]; k < c->edge_at[range->outer + 1]; k++)
        if (!weft_bit_get(bits_of(s, range->inner), s->p->edge_from[c->edge[k]]))
            border_s += leave_s[c->edge[k]];
    return border_s;
}

static bool is_within(const weft_piper_stages *s, const weft_piper_range *range, int u)
{
    return weft_bit_get(bits_of(s, range->outer), u) && !weft_bit_get(bits_of(s, range->inner), u);
}

/* --- 4. the knapsack of a range --------------------------------------------------------------- */

/* What a mode costs besides its own time, if that depends on the mode: for d replicas together. */
static double extra_s(const weft_piper_stages *s, const weft_piper_range *range, int u, int d,
                      const weft_piper_mode *m)
{
    const weft_piper *p = s->p;
    double bytes = 0;

    if (s->is_uniform)
        return 0;
    for (int k = p->in_at[u]; k < p->in_at[u + 1]; k++)
        if (!is_within(s, range, p->edge_from[p->in_edge[k]]))
            bytes += 2 * (p->edge_bytes[p->in_edge[k]] + m->enter_bytes[k - p->in_at[u]]);
    for (int k = p->out_at[u]; k < p->out_at[u + 1]; k++)
        if (!is_within(s, range, p->edge_to[p->out_edge[k]]))
            bytes += 2 * (p->edge_bytes[p->out_edge[k]] + m->leave_bytes[k - p->out_at[u]]);
    return (bytes + 4.0 * (d - 1) * m->parameter_bytes / p->n_microbatches) /
           p->bandwidth_bytes_per_s;
}

static weft_piper_choice choose(weft_piper_stages *s, const weft_piper_range *range, int d,
                                int in_flight, bool is_exact, bool *is_done)
{
    const weft_piper *p = s->p;
    weft_piper_knapsack *k = &s->knapsack;
    weft_piper_choice c = {.choice = s->choice};

    k->n_items = 0;
    for (int u = 0; u < p->n_nodes; u++) {
        weft_piper_pick *o = k->option + k->at[k->n_items];
        int n = 0;

        if (!is_within(s, range, u))
            continue;
        for (int m = p->mode_at[u * p->n_widths + range->width];
             m < p->mode_at[u * p->n_widths + range->width + 1]; m++)
            o[n++] =
                (weft_piper_pick){p->mode[m].sample_s + extra_s(s, range, u, d, &p->mode[m]),
                                  p->mode[m].stash_bytes * in_flight + p->mode[m].state_bytes, m};
        s->node[k->n_items++] = u;
        k->at[k->n_items] = k->at[k->n_items - 1] + weft_piper_picks_keep(o, n);
    }
    *is_done = weft_piper_choose(k, is_exact, s->scratch, &c);
    return c;
}

static entry *entry_of(weft_piper_stages *s, const entry_key *key)
{
    int at = weft_map_get(s->known, (const char *)key, sizeof *key);
    entry *e;

    if (at >= 0)
        return s->entries.at[at];
    e = WEFT_NEW(s->a, entry, 1);
    e->key = *key;
    (void)weft_map_put(s->known, (const char *)&e->key, sizeof *key, s->entries.n);
    WEFT_PUSH(s->a, s->entries, e);
    return e;
}

static bool knapsack_fits(weft_piper_stages *s, const weft_piper_range *range, int d, int in_flight,
                          double limit_s)
{
    int n_known = s->entries.n;
    entry *e = entry_of(s, &(entry_key){range->inner, range->outer, range->width,
                                        s->is_uniform ? 0 : d, in_flight});
    double budget_s = limit_s * d;

    if (s->is_uniform)
        budget_s -= range->border_s + (d - 1) * range->sync_s;
    if (s->entries.n > n_known) {
        weft_piper_choice c = choose(s, range, d, in_flight, false, &e->is_final);

        e->least_s = c.least_s;
        e->best_s = c.best_s;
    }
    if (!e->is_final && e->least_s <= budget_s && budget_s < e->best_s) {
        weft_piper_choice c = choose(s, range, d, in_flight, true, &e->is_final);

        e->is_final = true;
        e->least_s = c.least_s;
        e->best_s = c.best_s;
    }
    s->n_sensitivities += e->least_s <= budget_s && budget_s < e->best_s;
    return e->best_s <= budget_s;
}

bool weft_piper_range_fits(weft_piper_stages *s, const weft_piper_range *range, int d,
                           int in_flight, double limit_s)
{
    const weft_piper_sums *i = sums_of(s, range->inner, range->width);
    const weft_piper_sums *o = sums_of(s, range->outer, range->width);
    double memory_bytes = s->p->memory_bytes;

    if (range->fast_s + range->border_s + (d - 1) * range->sync_s > limit_s * d)
        return false;
    if (s->is_uniform && (o->fast_stash_bytes - i->fast_stash_bytes) * in_flight +
                                 (o->fast_state_bytes - i->fast_state_bytes) <=
                             memory_bytes)
        return true;
    if ((o->least_stash_bytes - i->least_stash_bytes) * in_flight +
            (o->least_state_bytes - i->least_state_bytes) >
        memory_bytes)
        return false;
    return knapsack_fits(s, range, d, in_flight, limit_s);
}

bool weft_piper_range_modes(weft_piper_stages *s, const weft_piper_range *range, int d,
                            int in_flight, int *mode)
{
    bool is_done;
    weft_piper_choice c = choose(s, range, d, in_flight, true, &is_done);

    if (c.best_s == INFINITY)
        return false;
    for (int i = 0; i < s->knapsack.n_items; i++)
        mode[s->node[i]] = s->knapsack.option[c.choice[i]].mode;
    return true;
}
