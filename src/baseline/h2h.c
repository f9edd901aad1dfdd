/* SPDX-License-Identifier: MIT */
/* h2h.c: the four steps of H2H, as its public code does them, and repaired.
 *
 * 1. Computation first (h2h_map.c): layers to the devices that are done first, all transfers paid.
 * 2. Weight locality. A knapsack for each device says whose weights stay there, in units of 1000
 *    elements. By rising end (of equal ends the last in device order) these layers lose the
 *    transfer of weights, and what follows moves earlier, never later.
 * 3. Activations. Neighbours on a device that are neighbours in a stream hand over without the
 *    host: no transfer between them. Then, by rising end (of equal ends the first), layers move
 *    earlier.
 * 4. Remapping. Two rounds of depth-first visits; each layer is tried right behind every
 *    predecessor on that one's device, then right before every successor. Steps 2 and 3 are done
 *    again on a copy, and the move is kept if the latency falls.
 *
 * As the public code does it (the "port"): visits start at the streams that hold a layer without
 * successors, by falling end; trials start from the times of step 1, later from those of the last
 * move that was kept; weights once pinned stay so; re-timing in step 4 spreads along devices only,
 * so its timetable may violate dependences. What it claims is therefore kept apart from what its
 * mapping and its order are worth when every layer starts as soon as it may (retimed_s). Two
 * things differ, neither on networks of its own form: a layer is visited once in a visit (not once
 * for every path that leads to it), and step 1 looks at a limited number of assignments.
 *
 * Repaired: visits start at the first layer of every stream in turn; every trial is timed as soon
 * as possible over data and device order; orders that form a cycle are refused.
 *
 * No guarantee. Time of step 4: O(layers) trials a round, each O(layers log layers) or, in the
 * port, up to O(layers^2).
 * Source: H2H (Zhang, Hao, Zhou, Jones, Hu, DAC 2022): re-implemented after its public code. */
#include "h2h_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 2 };

static void start_at(weft_h2h_table *t, int l, double start_s)
{
    double length_s = t->end_s[l] - t->start_s[l];

    t->start_s[l] = start_s;
    t->end_s[l] = start_s + length_s;
}

/* --- steps 2 and 3 of the port: re-timing ---------------------------------------------------- */

/* Moves a layer and what follows it earlier: on its device and, if asked for, in the data. */
static void shorten(const weft_h2h *p, weft_h2h_table *t, int l, bool spreads_in_data)
{
    double earliest_s = weft_h2h_ready_s(p, t, l);

    if (earliest_s >= t->start_s[l])
        return;
    start_at(t, l, earliest_s);
    if (t->next[l] >= 0)
        shorten(p, t, t->next[l], spreads_in_data);
    for (int i = p->succ_at[l]; spreads_in_data && i < p->succ_at[l + 1]; i++)
        shorten(p, t, p->succ[i], spreads_in_data);
}

static void shorten_followers(const weft_h2h *p, weft_h2h_table *t, int l, bool spreads_in_data)
{
    if (t->next[l] >= 0)
        shorten(p, t, t->next[l], spreads_in_data);
    for (int i = p->succ_at[l]; i < p->succ_at[l + 1]; i++)
        shorten(p, t, p->succ[i], spreads_in_data);
}

typedef struct ended {
    double end_s;
    int rank, layer; /* of equal ends the lower rank comes first */
} ended;

static int by_end(const void *a, const void *b)
{
    const ended *x = a, *y = b;

    if (x->end_s != y->end_s)
        return x->end_s < y->end_s ? -1 : 1;
    return x->rank < y->rank ? -1 : 1;
}

static void use_pinned_weights(const weft_h2h *p, weft_h2h_table *t, bool spreads_in_data,
                               weft_arena *a)
{
    ended *list = WEFT_NEW(a, ended, p->n_layers);
    int n = 0;

    for (int d = 0; d < p->n_devices; d++) {
        for (int l = t->first[d]; l >= 0; l = t->next[l]) {
            if (!t->is_pinned[l])
                continue;
            list[n] = (ended){t->end_s[l], -n, l};
            n++;
        }
    }
    qsort(list, (size_t)n, sizeof *list, by_end);
    for (int i = 0; i < n; i++) {
        int l = list[i].layer;

        t->end_s[l] = t->start_s[l] +
                      weft_h2h_duration_s(p, l, t->device[l], (weft_h2h_paid){false, true, true});
        shorten_followers(p, t, l, spreads_in_data);
    }
}

static void hand_over(const weft_h2h *p, weft_h2h_table *t, int d)
{
    for (int l = t->first[d]; l >= 0; l = t->next[l]) {
        bool from = weft_h2h_hands_over(p, t->prev[l], l),
             to = weft_h2h_hands_over(p, l, t->next[l]);

        if (!from && !to)
            continue;
        if (from)
            t->start_s[l] = t->end_s[t->prev[l]];
        t->end_s[l] = t->start_s[l] +
                      weft_h2h_duration_s(p, l, d, (weft_h2h_paid){!t->is_pinned[l], !from, !to});
    }
}

static void use_neighbours(const weft_h2h *p, weft_h2h_table *t, bool spreads_in_data,
                           weft_arena *a)
{
    ended *list = WEFT_NEW(a, ended, p->n_layers);
    int n = 0;

    for (int d = 0; d < p->n_devices; d++) {
        hand_over(p, t, d);
        for (int l = t->first[d]; l >= 0; l = t->next[l]) {
            if (t->prev[l] < 0 && p->layer[l].place == 1)
                continue;
            list[n] = (ended){t->end_s[l], n, l};
            n++;
        }
    }
    qsort(list, (size_t)n, sizeof *list, by_end);
    for (int i = 0; i < n; i++) {
        int l = list[i].layer;
        double earliest_s = weft_h2h_ready_s(p, t, l);

        if (earliest_s >= t->start_s[l])
            continue;
        start_at(t, l, earliest_s);
        shorten_followers(p, t, l, spreads_in_data);
    }
}

/* --- step 4 ---------------------------------------------------------------------------------- */

typedef struct tuner {
    const weft_h2h *problem;
    const weft_h2h_rule *rule;
    const weft_run *run;
    weft_arena *arena;
    weft_h2h_table from; /* where trials start */
    weft_h2h_table trial, best;
    double best_s;
    int n_trials, n_moves;
} tuner;

/* The moved layer and all behind it on the device start as soon as they may, now. */
static void extend(const weft_h2h *p, weft_h2h_table *t, int l)
{
    for (; l >= 0; l = t->next[l])
        start_at(t, l, weft_h2h_ready_s(p, t, l));
}

static bool time_trial(tuner *u, int l, int orphan)
{
    const weft_h2h *p = u->problem;
    size_t mark = weft_arena_mark(u->arena);
    bool has_times = true;

    if (u->rule->is_repaired) {
        has_times = weft_h2h_time_repaired(p, &u->trial, true, u->arena);
    } else {
        extend(p, &u->trial, l);
        if (orphan >= 0)
            shorten(p, &u->trial, orphan, false);
        weft_h2h_pin(p, &u->trial, u->arena);
        use_pinned_weights(p, &u->trial, false, u->arena);
        use_neighbours(p, &u->trial, false, u->arena);
    }
    weft_arena_rewind(u->arena, mark);
    return has_times;
}

/* Tries l beside `other`: right behind it, or right before it. */
static void try_move(tuner *u, int l, int other, bool is_behind)
{
    const weft_h2h *p = u->problem;
    weft_h2h_table *t = &u->trial;
    int d = u->from.device[other], orphan;

    if (u->from.device[l] == d || p->layer[l].kind != p->layer[other].kind ||
        !(p->compute_s[l * p->n_devices + d] < INFINITY) || weft_run_is_over(u->run))
        return;
    weft_h2h_table_copy(p, t, &u->from);
    orphan = t->next[l];
    weft_h2h_unlink(t, l);
    weft_h2h_link(t, l, d, is_behind ? other : t->prev[other]);
    u->n_trials++;
    if (!time_trial(u, l, orphan) ||
        !(weft_h2h_latency_s(p, t) < u->best_s * (1 - u->rule->least_gain)))
        return;
    u->best_s = weft_h2h_latency_s(p, t);
    u->n_moves++;
    weft_h2h_table_copy(p, &u->from, t);
    weft_h2h_table_copy(p, &u->best, t);
}

static void tune_layer(tuner *u, int l)
{
    const weft_h2h *p = u->problem;

    for (int i = p->pred_at[l]; i < p->pred_at[l + 1]; i++)
        try_move(u, l, p->pred[i], true);
    for (int i = p->succ_at[l]; i < p->succ_at[l + 1]; i++)
        try_move(u, l, p->succ[i], false);
}

/* Depth first from a layer, successors in order. */
static void tune_from(tuner *u, int root)
{
    const weft_h2h *p = u->problem;
    size_t mark = weft_arena_mark(u->arena);
    bool *is_seen = WEFT_NEW(u->arena, bool, p->n_layers);
    int *stack = WEFT_NEW(u->arena, int, p->succ_at[p->n_layers] + 1), n = 0;

    stack[n++] = root;
    while (n > 0) {
        int l = stack[--n];

        if (is_seen[l])
            continue;
        is_seen[l] = true;
        tune_layer(u, l);
        for (int i = p->succ_at[l + 1] - 1; i >= p->succ_at[l]; i--)
            stack[n++] = p->succ[i];
    }
    weft_arena_rewind(u->arena, mark);
}

/* Where visits start: the first layer of every stream, or of those with a layer without
 * successors, by falling end of that layer. */
static int find_roots(const weft_h2h *p, const weft_h2h_rule *rule, const weft_h2h_table *t,
                      int *root, weft_arena *a)
{
    ended *list = WEFT_NEW(a, ended, p->n_layers);
    int n = 0;

    for (int l = 0; l < p->n_layers; l++) {
        bool is_last = p->succ_at[l] == p->succ_at[l + 1];

        if (rule->is_repaired ? p->layer[l].place != 1 : !is_last)
            continue;
        list[n] = (ended){rule->is_repaired ? 0 : -t->end_s[l], n, p->layer[l].stream};
        n++;
    }
    qsort(list, (size_t)n, sizeof *list, by_end);
    for (int i = 0; i < n; i++) {
        int l = 0;

        while (p->layer[l].stream != list[i].layer)
            l++;
        root[i] = l;
    }
    return n;
}

static void tune(tuner *u)
{
    size_t mark = weft_arena_mark(u->arena);
    int *root = WEFT_NEW(u->arena, int, u->problem->n_layers);
    int n = find_roots(u->problem, u->rule, &u->best, root, u->arena);

    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < n; i++)
            tune_from(u, root[i]);
    }
    weft_arena_rewind(u->arena, mark);
}

/* --- all four -------------------------------------------------------------------------------- */

static void keep(const weft_h2h *p, const weft_h2h_table *t, weft_arena *a, const int **device,
                 const double **start_s)
{
    *device = weft_arena_copy(a, t->device, (size_t)p->n_layers * sizeof *t->device);
    *start_s = weft_arena_copy(a, t->start_s, (size_t)p->n_layers * sizeof *t->start_s);
}

static void locality(const weft_h2h *p, const weft_h2h_rule *rule, weft_h2h_table *t, weft_arena *a,
                     weft_h2h_result *out)
{
    if (rule->is_repaired) {
        weft_h2h_time_repaired(p, t, false, a); /* the order of step 1 has no cycle */
        out->after_s[1] = weft_h2h_latency_s(p, t);
        weft_h2h_time_repaired(p, t, true, a);
    } else {
        weft_h2h_pin(p, t, a);
        use_pinned_weights(p, t, true, a);
        out->after_s[1] = weft_h2h_latency_s(p, t);
        use_neighbours(p, t, true, a);
    }
    out->after_s[2] = weft_h2h_latency_s(p, t);
}

static void retime(const weft_h2h *p, weft_h2h_table *t, weft_arena *a, weft_h2h_result *out)
{
    double *length_s = WEFT_NEW(a, double, p->n_layers);

    for (int l = 0; l < p->n_layers; l++)
        length_s[l] = t->end_s[l] - t->start_s[l];
    out->is_cyclic = !weft_h2h_time_soonest(p, t, length_s, a);
    out->retimed_s = out->is_cyclic ? INFINITY : weft_h2h_latency_s(p, t);
    keep(p, t, a, &out->device, &out->start_s);
}

void weft_h2h_run(const weft_h2h *p, const weft_h2h_rule *rule, const weft_run *run, weft_arena *a,
                  weft_h2h_result *out)
{
    tuner u = {.problem = p, .rule = rule, .run = run, .arena = a};

    *out = (weft_h2h_result){0};
    u.from = weft_h2h_table_new(p, a);
    u.trial = weft_h2h_table_new(p, a);
    u.best = weft_h2h_table_new(p, a);
    weft_h2h_map(p, &u.from, a);
    keep(p, &u.from, a, &out->step1_device, &out->step1_start_s);
    out->after_s[0] = weft_h2h_latency_s(p, &u.from);

    weft_h2h_table_copy(p, &u.best, &u.from);
    locality(p, rule, &u.best, a, out);
    u.best_s = out->after_s[2];
    tune(&u);
    out->after_s[3] = u.best_s;
    out->n_trials = u.n_trials;
    out->n_moves = u.n_moves;
    retime(p, &u.best, a, out);
}
