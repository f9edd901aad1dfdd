/* SPDX-License-Identifier: MIT */
/* eval_list.c: the policy list-alap on one block.
 *
 * 1. Allotment. Each operator gets the number of cores with the least core seconds; then, again and
 *    again, every critical operator gets the next larger number that makes it faster, until the
 *    critical path is no longer than the work of any kind of core divided by their number, or no
 *    critical operator gains. Last, every operator gets the number that makes it fastest, or a
 *    step or two fewer, so that two or four of them run side by side.
 * 2. These allotments (at most WEFT_EVAL_MOST_TRIES) are scheduled in the order of what critical
 * path, work and bytes bound them by, until the bound is no better than the best so far. Among the
 * ready operators that fit into the free cores the one with the latest possible start nearest
 * starts first (the longest path to the end; then the longer operator; then the lower number), and
 * so at every moment when an operator ends.
 * 3. The best allotment counts: the least max(makespan, seconds of its bytes).
 *
 * Allotment as in CPA (Radulescu, van Gemund, ICPP 2001), all critical operators at once instead of
 * one at a time. No guarantee but that of list schedules: no core is left idle while a ready
 * operator fits. Cost O(allotments (n + edges + n log n)); sorting is by insertion into the order
 * of the allotment before, which is nearly right. Nothing is allocated. */
#include "workload_eval.h"

#include <math.h>
#include <string.h>

enum { N_EVEN = 3 }; /* allotments of the last kind */

typedef struct trial {
    const weft_eval_frame *f;
    const weft_eval_block *b;
    weft_eval_room *room;
    int n_classes, words;
    const weft_eval_kind *kind; /* [classes] */
    /* of the ways in room->way: */
    double path_s, tensor_s, vector_s, bytes_s; /* works divided by cores */
} trial;

static trial trial_of(weft_workload_eval *m, const weft_eval_frame *f, const weft_eval_block *b)
{
    return (trial){.f = f,
                   .b = b,
                   .room = &m->room,
                   .n_classes = m->ops.n_classes,
                   .words = weft_bits_words(b->n),
                   .kind = m->kind};
}

/* --- allotments */

/* Times and needs of the ways, and what bounds a schedule with them. */
static void measure(trial *t)
{
    const weft_eval_block *b = t->b;
    const weft_eval_frame *f = t->f;
    weft_eval_room *room = t->room;
    double tensor_s = 0, vector_s = 0, bytes_s = 0, path_s = 0;

    for (int i = b->n - 1; i >= 0; i--) {
        int c = b->of_class[i], way = room->way[i];
        size_t at = (size_t)way * (size_t)t->n_classes + (size_t)c;
        double lat_s = f->lat_s[at], after_s = 0;

        for (int e = b->out_at[i]; e < b->out_at[i + 1]; e++)
            after_s = weft_larger(after_s, room->bottom_s[b->out_to[e]]);
        room->lat_s[i] = lat_s;
        room->bottom_s[i] = after_s + lat_s;
        room->n_tensor[i] = weft_eval_tensor_need(f, t->kind[c], way);
        room->n_vector[i] = weft_eval_vector_need(f, t->kind[c], way);
        tensor_s += lat_s * room->n_tensor[i];
        vector_s += lat_s * room->n_vector[i];
        bytes_s += f->bytes_s[at];
        path_s = weft_larger(path_s, room->bottom_s[i]);
    }
    t->tensor_s = tensor_s / f->n_tensor;
    t->vector_s = vector_s / f->n_vector;
    t->bytes_s = bytes_s;
    t->path_s = path_s;
}

static void find_tops(trial *t)
{
    const weft_eval_block *b = t->b;
    weft_eval_room *room = t->room;

    memset(room->top_s, 0, (size_t)b->n * sizeof *room->top_s);
    for (int i = 0; i < b->n; i++) {
        double end_s = room->top_s[i] + room->lat_s[i];

        for (int e = b->out_at[i]; e < b->out_at[i + 1]; e++)
            room->top_s[b->out_to[e]] = weft_larger(room->top_s[b->out_to[e]], end_s);
    }
}

/* Gives critical operators more cores; false: none gains. */
static bool widen(trial *t)
{
    const weft_eval_block *b = t->b;
    const weft_eval_frame *f = t->f;
    weft_eval_room *room = t->room;
    double critical_s = t->path_s * (1 - 1e-12);
    bool has_changed = false;

    find_tops(t);
    for (int i = 0; i < b->n; i++) {
        int c = b->of_class[i], way = room->way[i];

        if (room->top_s[i] + room->bottom_s[i] < critical_s)
            continue;
        for (int next = way + 1; next <= f->fast[c]; next++)
            if (f->lat_s[(size_t)next * (size_t)t->n_classes + (size_t)c] < room->lat_s[i]) {
                room->way[i] = (uint8_t)next;
                has_changed = true;
                break;
            }
    }
    return has_changed;
}

/* --- one schedule */

static bool goes_before(const weft_eval_room *room, int i, int j)
{
    if (room->bottom_s[i] != room->bottom_s[j])
        return room->bottom_s[i] > room->bottom_s[j];
    if (room->lat_s[i] != room->lat_s[j])
        return room->lat_s[i] > room->lat_s[j];
    return i < j;
}

/* order[rank] is an operator; masks of kinds are by rank. */
static void sort_operators(trial *t)
{
    weft_eval_room *room = t->room;

    for (int k = 1; k < t->b->n; k++) {
        int i = room->order[k], at = k;

        while (at > 0 && goes_before(room, i, room->order[at - 1])) {
            room->order[at] = room->order[at - 1];
            at--;
        }
        room->order[at] = i;
    }
    memset(room->of_kind, 0, (size_t)(t->words * WEFT_EVAL_N_KINDS) * sizeof *room->of_kind);
    for (int k = 0; k < t->b->n; k++) {
        int i = room->order[k];

        room->rank[i] = k;
        weft_bit_set(room->of_kind + (size_t)t->kind[t->b->of_class[i]] * (size_t)t->words, k);
    }
}

/* The machine while it runs. */
typedef struct machine {
    double now_s;
    int tensor, vector; /* free cores */
    int n_running;
} machine;

/* Ranks in a word that cannot start for want of any free core. */
static uint64_t hopeless(const trial *t, const machine *x, int word)
{
    const uint64_t *of_kind = t->room->of_kind + word;
    uint64_t none = 0;

    if (x->tensor == 0)
        none |= of_kind[WEFT_EVAL_TENSOR * t->words] | of_kind[WEFT_EVAL_BOTH * t->words];
    if (x->vector == 0)
        none |= of_kind[WEFT_EVAL_VECTOR * t->words] | of_kind[WEFT_EVAL_BOTH * t->words];
    return none;
}

/* Starts what fits; false if an operator starts too late for anything below limit_s. */
static bool start_ready(trial *t, machine *x, double limit_s)
{
    weft_eval_room *room = t->room;

    for (int w = 0; w < t->words; w++) {
        uint64_t left = room->ready[w] & ~hopeless(t, x, w);

        while (left) {
            uint64_t bit = left & -left;
            int i = room->order[w * 64 + __builtin_ctzll(left)];

            left &= ~bit;
            if (room->n_tensor[i] > x->tensor || room->n_vector[i] > x->vector)
                continue;
            if (x->now_s + room->bottom_s[i] >= limit_s)
                return false;
            room->ready[w] &= ~bit;
            x->tensor -= room->n_tensor[i];
            x->vector -= room->n_vector[i];
            room->start_s[i] = x->now_s;
            room->run[x->n_running] = i;
            room->run_end_s[x->n_running++] = x->now_s + room->lat_s[i];
            left &= ~hopeless(t, x, w);
        }
    }
    return true;
}

/* Goes on to the next end of an operator and retires what ends then; returns how many do. */
static int retire(trial *t, machine *x)
{
    const weft_eval_block *b = t->b;
    weft_eval_room *room = t->room;
    double next_s = room->run_end_s[0];
    int n_kept = 0, n_ended;

    for (int k = 1; k < x->n_running; k++)
        next_s = room->run_end_s[k] < next_s ? room->run_end_s[k] : next_s;
    for (int k = 0; k < x->n_running; k++) {
        int i = room->run[k];

        if (room->run_end_s[k] > next_s) {
            room->run_end_s[n_kept] = room->run_end_s[k];
            room->run[n_kept++] = i;
            continue;
        }
        x->tensor += room->n_tensor[i];
        x->vector += room->n_vector[i];
        for (int e = b->out_at[i]; e < b->out_at[i + 1]; e++)
            if (--room->n_in[b->out_to[e]] == 0)
                weft_bit_set(room->ready, room->rank[b->out_to[e]]);
    }
    n_ended = x->n_running - n_kept;
    x->n_running = n_kept;
    x->now_s = next_s;
    return n_ended;
}

/* Makespan of the ways that were measured; INFINITY if it is not below limit_s. */
static double schedule(trial *t, double limit_s)
{
    const weft_eval_block *b = t->b;
    weft_eval_room *room = t->room;
    machine x = {0, t->f->n_tensor, t->f->n_vector, 0};
    int n_left = b->n;

    sort_operators(t);
    memcpy(room->n_in, b->n_in, (size_t)b->n * sizeof *room->n_in);
    memset(room->ready, 0, (size_t)t->words * sizeof *room->ready);
    for (int i = 0; i < b->n; i++)
        if (b->n_in[i] == 0)
            weft_bit_set(room->ready, room->rank[i]);
    while (n_left > 0) {
        if (!start_ready(t, &x, limit_s))
            return INFINITY;
        n_left -= retire(t, &x);
    }
    return x.now_s;
}

/* --- the best of all allotments */

typedef struct best {
    double score_s;
    weft_eval_span span;
} best;

static double bound(const trial *t)
{
    return weft_larger(weft_larger(t->path_s, t->bytes_s), weft_larger(t->tensor_s, t->vector_s));
}

/* Keeps the ways that were measured for later. */
static void note_ways(trial *t, int k)
{
    t->room->bound_s[k] = bound(t);
    memcpy(t->room->tried + (size_t)k * (size_t)t->b->n, t->room->way, (size_t)t->b->n);
}

/* Schedules the k-th allotment and keeps it if it is better. */
static void try_ways(trial *t, int k, best *found)
{
    double makespan_s;

    memcpy(t->room->way, t->room->tried + (size_t)k * (size_t)t->b->n, (size_t)t->b->n);
    measure(t);
    makespan_s = schedule(t, found->score_s);
    if (!(weft_larger(makespan_s, t->bytes_s) < found->score_s))
        return;
    found->score_s = weft_larger(makespan_s, t->bytes_s);
    found->span = (weft_eval_span){makespan_s, t->bytes_s, t->path_s};
    memcpy(t->room->best_way, t->room->way, (size_t)t->b->n);
}

/* By rising bounds, until a bound says that nothing better is left. */
static void try_all(trial *t, int n, best *found)
{
    double *bound_s = t->room->bound_s;

    for (;;) {
        int next = 0;

        for (int k = 1; k < n; k++)
            next = bound_s[k] < bound_s[next] ? k : next;
        if (!(bound_s[next] < found->score_s))
            return;
        try_ways(t, next, found);
        bound_s[next] = INFINITY;
    }
}

static void set_ways(trial *t, const uint8_t *of_class)
{
    for (int i = 0; i < t->b->n; i++)
        t->room->way[i] = of_class[t->b->of_class[i]];
}

/* Every operator gets so many steps less than what makes it fastest. */
static void set_below(trial *t, int steps)
{
    for (int i = 0; i < t->b->n; i++) {
        int fast = t->f->fast[t->b->of_class[i]];

        t->room->way[i] = (uint8_t)(fast > steps ? fast - steps : 0);
    }
}

/* One operator alone: its fastest way; bytes never take longer. */
static weft_eval_span run_single(trial *t)
{
    best found = {
        INFINITY, {INFINITY, 0, 0}
    };
    int c = t->b->of_class[0];

    for (int way = 0; way < t->f->ways[t->kind[c]].n; way++) {
        size_t at = (size_t)way * (size_t)t->n_classes + (size_t)c;

        if (t->f->lat_s[at] < found.score_s) {
            found.score_s = t->f->lat_s[at];
            found.span = (weft_eval_span){t->f->lat_s[at], t->f->bytes_s[at], t->f->lat_s[at]};
            t->room->best_way[0] = (uint8_t)way;
        }
    }
    return found.span;
}

weft_eval_span weft_eval_block_run(weft_workload_eval *m, const weft_eval_frame *f,
                                   const weft_eval_block *b)
{
    trial t = trial_of(m, f, b);
    best found = {
        INFINITY, {INFINITY, 0, 0}
    };
    int n = 0;

    if (b->n == 1)
        return run_single(&t);
    for (int i = 0; i < b->n; i++)
        t.room->order[i] = i;
    set_ways(&t, f->thrifty);
    do {
        measure(&t);
        note_ways(&t, n++);
    } while (n < WEFT_EVAL_MOST_TRIES - N_EVEN && t.path_s > weft_larger(t.tensor_s, t.vector_s) &&
             widen(&t));
    for (int steps = 0; steps < N_EVEN; steps++) {
        set_below(&t, steps);
        measure(&t);
        note_ways(&t, n++);
    }
    try_all(&t, n, &found);
    return found.span;
}

void weft_eval_block_replay(weft_workload_eval *m, const weft_eval_frame *f,
                            const weft_eval_block *b)
{
    trial t = trial_of(m, f, b);

    for (int i = 0; i < b->n; i++)
        t.room->order[i] = i;
    memcpy(t.room->way, t.room->best_way, (size_t)b->n);
    measure(&t);
    find_tops(&t);
    (void)schedule(&t, INFINITY);
}
