/* SPDX-License-Identifier: MIT */
/* h2h_table.c: timetables of H2H: lists of layers for each device, what layers pay for, whose
 * weights stay on a device, and starts as soon as possible.
 *
 * Weights: a knapsack for each device with value = weight, in units of 1000 elements rounded up; as
 * a set of bits, the sums that the first items can reach. Time O(items * room / 64). */
#include "h2h_table.h"

#include <math.h>
#include <string.h>

static const double BITS = 32;           /* of an element */
static const int64_t PINNED_UNIT = 1000; /* elements */

weft_h2h_table weft_h2h_table_new(const weft_h2h *p, weft_arena *a)
{
    weft_h2h_table t = {.device = WEFT_NEW(a, int, p->n_layers),
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

void weft_h2h_table_copy(const weft_h2h *p, weft_h2h_table *to, const weft_h2h_table *from)
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
void weft_h2h_link(weft_h2h_table *t, int l, int d, int after)
{
    int before = after < 0 ? t->first[d] : t->next[after];

    t->device[l] = d;
    t->prev[l] = after;
    t->next[l] = before;
    *(after < 0 ? &t->first[d] : &t->next[after]) = l;
    *(before < 0 ? &t->last[d] : &t->prev[before]) = l;
}

void weft_h2h_unlink(weft_h2h_table *t, int l)
{
    int d = t->device[l], after = t->prev[l], before = t->next[l];

    *(after < 0 ? &t->first[d] : &t->next[after]) = before;
    *(before < 0 ? &t->last[d] : &t->prev[before]) = after;
}

double weft_h2h_latency_s(const weft_h2h *p, const weft_h2h_table *t)
{
    double most_s = 0;

    for (int l = 0; l < p->n_layers; l++)
        most_s = fmax(most_s, t->end_s[l]);
    return most_s;
}

double weft_h2h_duration_s(const weft_h2h *p, int l, int d, weft_h2h_paid what)
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
bool weft_h2h_hands_over(const weft_h2h *p, int from, int to)
{
    return from >= 0 && to >= 0 && p->layer[from].stream == p->layer[to].stream &&
           p->layer[from].place + 1 == p->layer[to].place;
}

/* End of the last predecessor in data. */
double weft_h2h_data_ready_s(const weft_h2h *p, const weft_h2h_table *t, int l)
{
    double latest_s = 0;

    for (int i = p->pred_at[l]; i < p->pred_at[l + 1]; i++)
        latest_s = fmax(latest_s, t->end_s[p->pred[i]]);
    return latest_s;
}

/* The same, in data and on the device. */
double weft_h2h_ready_s(const weft_h2h *p, const weft_h2h_table *t, int l)
{
    double before_s = t->prev[l] < 0 ? 0 : t->end_s[t->prev[l]];

    return fmax(before_s, weft_h2h_data_ready_s(p, t, l));
}

/* --- step 2: weights that stay --------------------------------------------------------------- */

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
static void fill_knapsack(const weft_h2h *p, weft_h2h_table *t, int d, int n, weft_arena *a)
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

void weft_h2h_pin(const weft_h2h *p, weft_h2h_table *t, weft_arena *a)
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

/* --- as soon as possible --------------------------------------------------------------------- */

/* Every layer starts when its predecessors in data and on its device are done, in `length_s`
 * seconds. False, and times unchanged, if these orders form a cycle. */
bool weft_h2h_time_soonest(const weft_h2h *p, weft_h2h_table *t, const double *length_s,
                           weft_arena *a)
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
        t->start_s[queue[i]] = weft_h2h_ready_s(p, t, queue[i]);
        t->end_s[queue[i]] = t->start_s[queue[i]] + length_s[queue[i]];
    }
    weft_arena_rewind(a, mark);
    return n == p->n_layers;
}

/* Lengths from pinned weights and neighbours, then times. */
bool weft_h2h_time_repaired(const weft_h2h *p, weft_h2h_table *t, bool has_neighbours,
                            weft_arena *a)
{
    size_t mark = weft_arena_mark(a);
    double *length_s = WEFT_NEW(a, double, p->n_layers);
    bool has_times;

    memset(t->is_pinned, 0, (size_t)p->n_layers * sizeof *t->is_pinned);
    weft_h2h_pin(p, t, a);
    for (int l = 0; l < p->n_layers; l++) {
        weft_h2h_paid what = {!t->is_pinned[l],
                              !(has_neighbours && weft_h2h_hands_over(p, t->prev[l], l)),
                              !(has_neighbours && weft_h2h_hands_over(p, l, t->next[l]))};

        length_s[l] = weft_h2h_duration_s(p, l, t->device[l], what);
    }
    has_times = weft_h2h_time_soonest(p, t, length_s, a);
    weft_arena_rewind(a, mark);
    return has_times;
}
