/* SPDX-License-Identifier: MIT */
/* h2h.c: the four steps of H2H, as its public code does them, and repaired.
 *
 * 1. Computation first. Until all layers are mapped, for each kind of layer: those whose
 *    predecessors are mapped are ready, stream by stream. More devices than ready layers: all
 *    assignments are compared; else all choices of as many layers as there are devices, with all
 *    assignments. A layer starts when its device is free and its predecessors are done; all
 *    transfers are paid. The first in lexicographic order whose latest device is done first wins
 *    (found depth first, cut off as soon as a device is done no earlier than the best so far).
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
 * for every path that leads to it), and step 1 looks at STEP1_NODES partial assignments at most.
 *
 * Repaired: visits start at the first layer of every stream in turn; every trial is timed as soon
 * as possible over data and device order; orders that form a cycle are refused.
 *
 * No guarantee. Time of step 4: O(layers) trials a round, each O(layers log layers) or, in the
 * port, up to O(layers^2).
 * Source: H2H (Zhang, Hao, Zhou, Jones, Hu, DAC 2022): re-implemented after its public code. */
#include "h2h.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 2, STEP1_NODES = 1000000 };
static const double BITS = 32;           /* of an element */
static const int64_t PINNED_UNIT = 1000; /* elements */

/* --- timetables ------------------------------------------------------------------------------ */

/* Layers of a device are a list: first, next, prev; -1 ends it. */
typedef struct timetable {
    int *device, *prev, *next, *first, *last;
    double *start_s, *end_s;
    bool *is_pinned;
} timetable;

static timetable new_timetable(const weft_h2h *p, weft_arena *a)
{
    timetable t = {.device = WEFT_NEW(a, int, p->n_layers),
                   .prev = WEFT_NEW(a, int, p->n_layers),
                   .next = WEFT_NEW(a, int, p->n_layers),
                   .first = WEFT_NEW(a, int, p->n_devices),
                   .last = WEFT_NEW(a, int, p->n_devices),
                   .start_s = WEFT_NEW(a, double, p->n_layers),
                   .end_s = WEFT_NEW(a, double, p->n_layers),
                   .is_pinned = WEFT_NEW(a, bool, p->n_layers)};

    for (int d = 0; d < p->n_devices; d++)
        t.first[d] = t.last[d] = -1;
    return t;
}

static void copy_timetable(const weft_h2h *p, timetable *to, const timetable *from)
{
    size_t layers = (size_t)p->n_layers, devices = (size_t)p->n_devices;

    memcpy(to->device, from->device, layers * sizeof(int));
    memcpy(to->prev, from->prev, layers * sizeof(int));
    memcpy(to->next, from->next, layers * sizeof(int));
    memcpy(to->first, from->first, devices * sizeof(int));
    memcpy(to->last, from->last, devices * sizeof(int));
    memcpy(to->start_s, from->start_s, layers * sizeof(double));
    memcpy(to->end_s, from->end_s, layers * sizeof(double));
    memcpy(to->is_pinned, from->is_pinned, layers * sizeof(bool));
}

/* Puts l behind `after` (-1: at the head of the list) of device d. */
static void link_layer(timetable *t, int l, int d, int after)
{
    int before = after < 0 ? t->first[d] : t->next[after];

    t->device[l] = d;
    t->prev[l] = after;
    t->next[l] = before;
    *(after < 0 ? &t->first[d] : &t->next[after]) = l;
    *(before < 0 ? &t->last[d] : &t->prev[before]) = l;
}

static void unlink_layer(timetable *t, int l)
{
    int d = t->device[l], after = t->prev[l], before = t->next[l];

    *(after < 0 ? &t->first[d] : &t->next[after]) = before;
    *(before < 0 ? &t->last[d] : &t->prev[before]) = after;
}

static double latency_s(const weft_h2h *p, const timetable *t)
{
    double most_s = 0;

    for (int l = 0; l < p->n_layers; l++)
        most_s = fmax(most_s, t->end_s[l]);
    return most_s;
}

/* What a layer pays for. */
typedef struct paid {
    bool weights, input, output;
} paid;

static double duration_s(const weft_h2h *p, int l, int d, paid what)
{
    const weft_h2h_data *data = &p->data[l];
    double bits_per_s = p->host_bits_per_s[d], in_s = 0, out_s = 0;

    if (what.weights)
        in_s = (double)data->weights * BITS / bits_per_s;
    if (what.input)
        in_s += (double)data->input * BITS / bits_per_s;
    if (what.output)
        out_s = (double)data->output * BITS / bits_per_s;
    return p->compute_s[l * p->n_devices + d] + in_s + out_s;
}

/* Do two neighbours on a device hand over without the host? */
static bool hands_over(const weft_h2h *p, int from, int to)
{
    return from >= 0 && to >= 0 && p->layer[from].stream == p->layer[to].stream &&
           p->layer[from].place + 1 == p->layer[to].place;
}

/* End of the last predecessor in data. */
static double data_ready_s(const weft_h2h *p, const timetable *t, int l)
{
    double latest_s = 0;

    for (int i = p->pred_at[l]; i < p->pred_at[l + 1]; i++)
        latest_s = fmax(latest_s, t->end_s[p->pred[i]]);
    return latest_s;
}

/* The same, in data and on the device. */
static double ready_s(const weft_h2h *p, const timetable *t, int l)
{
    double before_s = t->prev[l] < 0 ? 0 : t->end_s[t->prev[l]];

    return fmax(before_s, data_ready_s(p, t, l));
}

static void start_at(timetable *t, int l, double start_s)
{
    double length_s = t->end_s[l] - t->start_s[l];

    t->start_s[l] = start_s;
    t->end_s[l] = start_s + length_s;
}

/* --- step 1 ---------------------------------------------------------------------------------- */

typedef struct mapper {
    const weft_h2h *problem;
    timetable *table;
    double *free_s;  /* [n_devices] */
    int *n_missing;  /* [n_layers] predecessors that are not mapped */
    bool *is_mapped; /* [n_layers] */
    int *ready;      /* layers of one kind */
    int *offered;    /* devices of that kind */
    int n_ready, n_offered;
    int *chosen; /* layers whose devices are being compared */
    int n_chosen;
    int *at, *best_at; /* [n_chosen] their devices */
    int *best_chosen;
    double best_s;
    int n_nodes;
} mapper;

/* All devices for chosen[i], in order; latest_s: the last device done so far. */
static void compare_devices(mapper *m, int i, double latest_s)
{
    static const paid all = {true, true, true};
    const weft_h2h *p = m->problem;
    double from_s;

    if (i == m->n_chosen) {
        m->best_s = latest_s;
        memcpy(m->best_at, m->at, (size_t)i * sizeof(int));
        memcpy(m->best_chosen, m->chosen, (size_t)i * sizeof(int));
        return;
    }
    from_s = data_ready_s(p, m->table, m->chosen[i]);
    for (int j = 0; j < m->n_offered && m->n_nodes < STEP1_NODES; j++) {
        int d = m->offered[j];
        double before_s = m->free_s[d];
        double end_s = fmax(before_s, from_s) + duration_s(p, m->chosen[i], d, all);

        m->n_nodes++;
        if (fmax(latest_s, end_s) >= m->best_s)
            continue;
        m->free_s[d] = end_s;
        m->at[i] = d;
        compare_devices(m, i + 1, fmax(latest_s, end_s));
        m->free_s[d] = before_s;
    }
}

/* All choices of n_chosen ready layers, in order. */
static void compare_choices(mapper *m, int i, int first, double latest_s)
{
    if (i == m->n_chosen) {
        compare_devices(m, 0, latest_s);
        return;
    }
    for (int j = first; j <= m->n_ready - (m->n_chosen - i) && m->n_nodes < STEP1_NODES; j++) {
        m->chosen[i] = m->ready[j];
        compare_choices(m, i + 1, j + 1, latest_s);
    }
}

static void take_best(mapper *m)
{
    static const paid all = {true, true, true};
    const weft_h2h *p = m->problem;
    timetable *t = m->table;

    for (int i = 0; i < m->n_chosen; i++) {
        int l = m->best_chosen[i], d = m->best_at[i];

        link_layer(t, l, d, t->last[d]);
        t->start_s[l] = fmax(m->free_s[d], data_ready_s(p, t, l));
        t->end_s[l] = t->start_s[l] + duration_s(p, l, d, all);
        m->free_s[d] = t->end_s[l];
        m->is_mapped[l] = true;
    }
    for (int i = 0; i < m->n_chosen; i++) {
        int l = m->best_chosen[i];

        for (int j = p->succ_at[l]; j < p->succ_at[l + 1]; j++)
            m->n_missing[p->succ[j]]--;
    }
}

static bool is_offered(const mapper *m, int d)
{
    for (int i = 0; i < m->n_ready; i++) {
        if (m->problem->compute_s[m->ready[i] * m->problem->n_devices + d] < INFINITY)
            return true;
    }
    return false;
}

/* Maps ready layers of one kind, as many as there are devices at most. */
static void map_ready(mapper *m)
{
    const weft_h2h *p = m->problem;
    double latest_s = 0;

    m->n_offered = 0;
    for (int d = 0; d < p->n_devices; d++) {
        latest_s = fmax(latest_s, m->free_s[d]);
        if (is_offered(m, d))
            m->offered[m->n_offered++] = d;
    }
    m->n_chosen = m->n_offered > m->n_ready ? m->n_ready : m->n_offered;
    m->best_s = INFINITY;
    m->n_nodes = 0;
    compare_choices(m, 0, 0, latest_s);
    take_best(m);
}

static mapper new_mapper(const weft_h2h *p, timetable *t, weft_arena *a)
{
    mapper m = {.problem = p,
                .table = t,
                .free_s = WEFT_NEW(a, double, p->n_devices),
                .n_missing = WEFT_NEW(a, int, p->n_layers),
                .is_mapped = WEFT_NEW(a, bool, p->n_layers),
                .ready = WEFT_NEW(a, int, p->n_layers),
                .offered = WEFT_NEW(a, int, p->n_devices),
                .chosen = WEFT_NEW(a, int, p->n_layers),
                .at = WEFT_NEW(a, int, p->n_layers),
                .best_at = WEFT_NEW(a, int, p->n_layers),
                .best_chosen = WEFT_NEW(a, int, p->n_layers)};

    for (int l = 0; l < p->n_layers; l++)
        m.n_missing[l] = p->pred_at[l + 1] - p->pred_at[l];
    return m;
}

/* What is ready is looked at once for all kinds. */
static void map_layers(const weft_h2h *p, timetable *t, weft_arena *a)
{
    mapper m = new_mapper(p, t, a);
    bool *is_ready = WEFT_NEW(a, bool, p->n_layers);
    int n_left = p->n_layers;

    while (n_left > 0) {
        for (int l = 0; l < p->n_layers; l++)
            is_ready[l] = !m.is_mapped[l] && m.n_missing[l] == 0;
        for (int kind = 0; kind < WEFT_N_H2H_KINDS; kind++) {
            m.n_ready = 0;
            for (int l = 0; l < p->n_layers; l++) {
                if (is_ready[l] && (int)p->layer[l].kind == kind)
                    m.ready[m.n_ready++] = l;
            }
            if (m.n_ready == 0)
                continue;
            map_ready(&m);
            n_left -= m.n_chosen;
        }
    }
}

/* --- step 2: weights that stay ---------------------------------------------------------------- */

static int64_t pinned_units(const weft_h2h *p, int l)
{
    return (p->data[l].weights + PINNED_UNIT - 1) / PINNED_UNIT;
}

/* Largest sum of at most `room` that is in the set of sums. */
static int64_t fullest(const uint64_t *sums, int64_t room)
{
    while (!(sums[room / 64] >> (room % 64) & 1))
        room--;
    return room;
}

/* sums |= sums << shift, over `words` words. */
static void add_item(uint64_t *sums, int words, int64_t shift)
{
    int skip = (int)(shift / 64), bits = (int)(shift % 64);

    for (int w = words - 1; w >= skip; w--) {
        uint64_t moved = sums[w - skip] << bits;

        if (bits > 0 && w > skip)
            moved |= sums[w - skip - 1] >> (64 - bits);
        sums[w] |= moved;
    }
}

/* Knapsack with value = weight over items of a device, in order; the last ones are taken only if
 * they are needed for the best sum. */
static void fill_knapsack(const weft_h2h *p, timetable *t, int d, int n, weft_arena *a)
{
    int64_t room = p->room[d];
    int words = (int)(room / 64) + 1, j = 0;
    uint64_t *sums = WEFT_NEW(a, uint64_t, (int64_t)(n + 1) * words);

    sums[0] = 1;
    for (int l = t->first[d]; l >= 0; l = t->next[l], j++) {
        uint64_t *row = sums + (size_t)(j + 1) * (size_t)words;

        memcpy(row, row - words, (size_t)words * sizeof *row);
        if (pinned_units(p, l) <= room)
            add_item(row, words, pinned_units(p, l));
    }
    for (int l = t->last[d]; l >= 0; l = t->prev[l], j--) {
        const uint64_t *row = sums + (size_t)j * (size_t)words;

        if (fullest(row, room) <= fullest(row - words, room))
            continue;
        t->is_pinned[l] = true;
        room -= pinned_units(p, l);
    }
}

static void pin_weights(const weft_h2h *p, timetable *t, weft_arena *a)
{
    for (int d = 0; d < p->n_devices; d++) {
        size_t mark = weft_arena_mark(a);
        int64_t units = 0;
        int n = 0;

        for (int l = t->first[d]; l >= 0; l = t->next[l], n++)
            units += pinned_units(p, l);
        if (units > p->room[d]) {
            fill_knapsack(p, t, d, n, a);
        } else {
            for (int l = t->first[d]; l >= 0; l = t->next[l])
                t->is_pinned[l] = p->data[l].weights > 0 || t->is_pinned[l];
        }
        weft_arena_rewind(a, mark);
    }
}

/* --- steps 2 and 3 of the port: re-timing ----------------------------------------------------- */

/* Moves a layer and what follows it earlier: on its device and, if asked for, in the data. */
static void shorten(const weft_h2h *p, timetable *t, int l, bool spreads_in_data)
{
    double earliest_s = ready_s(p, t, l);

    if (earliest_s >= t->start_s[l])
        return;
    start_at(t, l, earliest_s);
    if (t->next[l] >= 0)
        shorten(p, t, t->next[l], spreads_in_data);
    for (int i = p->succ_at[l]; spreads_in_data && i < p->succ_at[l + 1]; i++)
        shorten(p, t, p->succ[i], spreads_in_data);
}

static void shorten_followers(const weft_h2h *p, timetable *t, int l, bool spreads_in_data)
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

static void use_pinned_weights(const weft_h2h *p, timetable *t, bool spreads_in_data, weft_arena *a)
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

        t->end_s[l] = t->start_s[l] + duration_s(p, l, t->device[l], (paid){false, true, true});
        shorten_followers(p, t, l, spreads_in_data);
    }
}

static void hand_over(const weft_h2h *p, timetable *t, int d)
{
    for (int l = t->first[d]; l >= 0; l = t->next[l]) {
        bool from = hands_over(p, t->prev[l], l), to = hands_over(p, l, t->next[l]);

        if (!from && !to)
            continue;
        if (from)
            t->start_s[l] = t->end_s[t->prev[l]];
        t->end_s[l] = t->start_s[l] + duration_s(p, l, d, (paid){!t->is_pinned[l], !from, !to});
    }
}

static void use_neighbours(const weft_h2h *p, timetable *t, bool spreads_in_data, weft_arena *a)
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
        double earliest_s = ready_s(p, t, l);

        if (earliest_s >= t->start_s[l])
            continue;
        start_at(t, l, earliest_s);
        shorten_followers(p, t, l, spreads_in_data);
    }
}

/* --- as soon as possible -----------------------------------------------------------------------
 */

/* Every layer starts when its predecessors in data and on its device are done, in `length_s`
 * seconds. False, and times unchanged, if these orders form a cycle. */
static bool time_soonest(const weft_h2h *p, timetable *t, const double *length_s, weft_arena *a)
{
    size_t mark = weft_arena_mark(a);
    int *queue = WEFT_NEW(a, int, p->n_layers), *n_missing = WEFT_NEW(a, int, p->n_layers);
    int n = 0;

    for (int l = 0; l < p->n_layers; l++) {
        n_missing[l] = p->pred_at[l + 1] - p->pred_at[l] + (t->prev[l] >= 0);
        if (n_missing[l] == 0)
            queue[n++] = l;
    }
    for (int i = 0; i < n; i++) {
        int l = queue[i];

        if (t->next[l] >= 0 && --n_missing[t->next[l]] == 0)
            queue[n++] = t->next[l];
        for (int j = p->succ_at[l]; j < p->succ_at[l + 1]; j++) {
            if (--n_missing[p->succ[j]] == 0)
                queue[n++] = p->succ[j];
        }
    }
    for (int i = 0; i < n && n == p->n_layers; i++) {
        t->start_s[queue[i]] = ready_s(p, t, queue[i]);
        t->end_s[queue[i]] = t->start_s[queue[i]] + length_s[queue[i]];
    }
    weft_arena_rewind(a, mark);
    return n == p->n_layers;
}

/* Lengths from pinned weights and neighbours, then times. */
static bool time_repaired(const weft_h2h *p, timetable *t, bool has_neighbours, weft_arena *a)
{
    size_t mark = weft_arena_mark(a);
    double *length_s = WEFT_NEW(a, double, p->n_layers);
    bool has_times;

    memset(t->is_pinned, 0, (size_t)p->n_layers * sizeof *t->is_pinned);
    pin_weights(p, t, a);
    for (int l = 0; l < p->n_layers; l++) {
        paid what = {!t->is_pinned[l], !(has_neighbours && hands_over(p, t->prev[l], l)),
                     !(has_neighbours && hands_over(p, l, t->next[l]))};

        length_s[l] = duration_s(p, l, t->device[l], what);
    }
    has_times = time_soonest(p, t, length_s, a);
    weft_arena_rewind(a, mark);
    return has_times;
}

/* --- step 4 ------------------------------------------------------------------------------------
 */

typedef struct tuner {
    const weft_h2h *problem;
    const weft_h2h_rule *rule;
    const weft_run *run;
    weft_arena *arena;
    timetable from; /* where trials start */
    timetable trial, best;
    double best_s;
    int n_trials, n_moves;
} tuner;

/* The moved layer and all behind it on the device start as soon as they may, now. */
static void extend(const weft_h2h *p, timetable *t, int l)
{
    for (; l >= 0; l = t->next[l])
        start_at(t, l, ready_s(p, t, l));
}

static bool time_trial(tuner *u, int l, int orphan)
{
    const weft_h2h *p = u->problem;
    size_t mark = weft_arena_mark(u->arena);
    bool has_times = true;

    if (u->rule->is_repaired) {
        has_times = time_repaired(p, &u->trial, true, u->arena);
    } else {
        extend(p, &u->trial, l);
        if (orphan >= 0)
            shorten(p, &u->trial, orphan, false);
        pin_weights(p, &u->trial, u->arena);
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
    timetable *t = &u->trial;
    int d = u->from.device[other], orphan;

    if (u->from.device[l] == d || p->layer[l].kind != p->layer[other].kind ||
        !(p->compute_s[l * p->n_devices + d] < INFINITY) || weft_run_is_over(u->run))
        return;
    copy_timetable(p, t, &u->from);
    orphan = t->next[l];
    unlink_layer(t, l);
    link_layer(t, l, d, is_behind ? other : t->prev[other]);
    u->n_trials++;
    if (!time_trial(u, l, orphan) || !(latency_s(p, t) < u->best_s * (1 - u->rule->least_gain)))
        return;
    u->best_s = latency_s(p, t);
    u->n_moves++;
    copy_timetable(p, &u->from, t);
    copy_timetable(p, &u->best, t);
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
static int find_roots(const weft_h2h *p, const weft_h2h_rule *rule, const timetable *t, int *root,
                      weft_arena *a)
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

/* --- all four ----------------------------------------------------------------------------------
 */

static void keep(const weft_h2h *p, const timetable *t, weft_arena *a, const int **device,
                 const double **start_s)
{
    *device = weft_arena_copy(a, t->device, (size_t)p->n_layers * sizeof *t->device);
    *start_s = weft_arena_copy(a, t->start_s, (size_t)p->n_layers * sizeof *t->start_s);
}

static void locality(const weft_h2h *p, const weft_h2h_rule *rule, timetable *t, weft_arena *a,
                     weft_h2h_result *out)
{
    if (rule->is_repaired) {
        time_repaired(p, t, false, a); /* the order of step 1 has no cycle */
        out->after_s[1] = latency_s(p, t);
        time_repaired(p, t, true, a);
    } else {
        pin_weights(p, t, a);
        use_pinned_weights(p, t, true, a);
        out->after_s[1] = latency_s(p, t);
        use_neighbours(p, t, true, a);
    }
    out->after_s[2] = latency_s(p, t);
}

static void retime(const weft_h2h *p, timetable *t, weft_arena *a, weft_h2h_result *out)
{
    double *length_s = WEFT_NEW(a, double, p->n_layers);

    for (int l = 0; l < p->n_layers; l++)
        length_s[l] = t->end_s[l] - t->start_s[l];
    out->is_cyclic = !time_soonest(p, t, length_s, a);
    out->retimed_s = out->is_cyclic ? INFINITY : latency_s(p, t);
    keep(p, t, a, &out->device, &out->start_s);
}

void weft_h2h_run(const weft_h2h *p, const weft_h2h_rule *rule, const weft_run *run, weft_arena *a,
                  weft_h2h_result *out)
{
    tuner u = {.problem = p, .rule = rule, .run = run, .arena = a};

    *out = (weft_h2h_result){0};
    u.from = new_timetable(p, a);
    u.trial = new_timetable(p, a);
    u.best = new_timetable(p, a);
    map_layers(p, &u.from, a);
    keep(p, &u.from, a, &out->step1_device, &out->step1_start_s);
    out->after_s[0] = latency_s(p, &u.from);

    copy_timetable(p, &u.best, &u.from);
    locality(p, rule, &u.best, a, out);
    u.best_s = out->after_s[2];
    tune(&u);
    out->after_s[3] = u.best_s;
    out->n_trials = u.n_trials;
    out->n_moves = u.n_moves;
    retime(p, &u.best, a, out);
}
