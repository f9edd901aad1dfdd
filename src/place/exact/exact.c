/* SPDX-License-Identifier: MIT */
/* exact.c: dynamic programming over ideals with dominance, in beams of growing width.
 *
 * 1. A schedule is built by appending tasks in order of their starts. After some tasks (an ideal I:
 *    with a task all its predecessors) the rest depends on little: from when each device may take a
 *    task, and from when the data that I sends to each open reader is on each device. This is the
 *    state. Of two states with the same ideal, one that is nowhere later and has no larger bound
 *    makes the other superfluous.
 * 2. Level l holds states of l tasks. A state is extended by every ready task on every device:
 *    start = max(device free, data there), and no later task starts earlier.
 * 3. Each child is judged. Heads of the open tasks up to the next barrier follow from the state;
 *    with static tails they bound the value. So does the work that is left up to there (span.c). A
 *    child whose bound is not below the best value is dropped. Then the state is normalised: times
 *    rise to what the heads imply, choices that cannot lead below the best value become impossible,
 *    and data that arrives before its reader could start for other reasons is forgotten. So states
 *    that differ in nothing that matters become equal.
 * 4. A level keeps the best states by (bound, sum of times), as many as the beam is wide. The
 *    passes widen the beam until nothing is cut off: then the best schedule is optimal. Else no
 *    schedule is below the least bound ever cut off.
 *
 * Why it is exact: a left-shifted schedule sorted by starts is a sequence of extensions, the value
 * never improves when a component of a state grows, and what is dropped is dominated or bounded.
 * Forgetting data of a reader is right because in every completion the reader starts no earlier
 * than its head from the rest of the state.
 *
 * Times are whole ticks of upper / 2^48, costs rounded down: sums do not depend on their order, a
 * bound in ticks is a bound, and few ticks a task are lost. A schedule that is far better than
 * upper makes it the next upper, with finer ticks: so little is lost of the value, too.
 *
 * Where all times are multiples of a grain (problem/grain.c), a tick is the grain: no cost is rounded,
 * bounds are whole numbers, and a better schedule is better by a tick at least.
 *
 * Equal devices may change places: states are put in order (put_in_order), so that states that differ
 * by such an exchange only become equal. Proof: the exchange changes no time, transfer or tail, so it
 * maps completions of the one state to completions of the other of the same value.
 *
 * With weights that may not fit, the bytes used on each device join the state, and where weights
 * or groups are shared by done and open tasks, their devices join the name of the ideal.
 *
 * Time and memory grow with the number of ideals, hence with the width of the graph and not with
 * its length. Dominance as in resource-constrained shortest
 * paths. */
#include "exact_engine.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIRST_BEAM = 64,
    BEAM_STEP = 8,
    MOST_COMPARED = 512, /* states of an ideal that a new one is held against */
    STOP_EVERY = 256,    /* states between two looks at the clock */
};

static const double MOST_STATE_BYTES = 6e8; /* of a level, and of all steps of a pass */
static const double MOST_UNITS = 0x1p46;    /* of memory: more than any room */
static const double LEAST_UPPER = 0x1p-900; /* ticks of less would be denormal: no search */
static const double SAME_WHOLE = 1e-4; /* of ticks that are whole: what sums of prices may be off */
static const double COARSE = 0.25; /* a value so far below `upper` that ticks have to be finer */

typedef weft_tick tick;
typedef weft_exact_step step;
typedef weft_exact_engine engine;

typedef struct state {
    tick bound, sum;
    tick *at; /* free[n_devices], then n_devices for each task of the frontier, then bytes used;
                 behind them, with has_turns, which column of the state before each was */
    int before, task, device;
} state;

/* States of the same done tasks. */
typedef struct ideal {
    uint64_t hash;
    const uint64_t *done;
    const tick *mark; /* devices of open weights and groups: the rest of the name */
    int n_marks;
    int n_front, n_ready, n_window, stretch;
    const int *front; /* open tasks with a done predecessor, ascending */
    const int *ready; /* open tasks without open predecessor */
    const int *window, *window_front, *edge_at,
        *edge;          /* open tasks, place in front, open edges in */
    const double *work; /* priced, of the stretch (span.h) */
    bool is_whole;      /* the window reaches the next barrier or the end */
    int length;         /* of a state */
    int next;           /* in the chain of its hash; -1: last */
    int n, room;
    state *states;
    tick **spare; /* memory of dropped states */
    int n_spare;
} ideal;

typedef struct level {
    weft_arena *arena;
    WEFT_VEC(ideal *) ideals;
    int *chain; /* [n_chains] */
    int n_chains;
    int n_states;
    tick worst_bound, worst_sum; /* nothing worse is let in */
} level;

/* --- ideals ---------------------------------------------------------------------------------- */

static bool has_open_pred(const engine *g, const uint64_t *done, int v)
{
    const weft_subproblem *x = g->subproblem;

    for (int i = x->in_at[v]; i < x->in_at[v + 1]; i++) {
        if (!weft_bit_get(done, x->from[x->in[i]]))
            return true;
    }
    return false;
}

/* The window of an ideal: open tasks up to the next barrier, and their edges from open tasks. */
static void set_window(engine *g, ideal *o, weft_arena *a)
{
    const weft_subproblem *x = g->subproblem;
    int first = 0, n = 0, n_edges = 0, last;
    int *window, *place, *edge_at, *edge;

    while (first < g->n && weft_bit_get(o->done, first))
        first++;
    o->stretch = g->stretch_of[first];
    last = g->stretches[o->stretch].barrier;
    last = last < g->n ? last : g->n - 1;
    for (int u = first; u <= last; u++) {
        if (weft_bit_get(o->done, u))
            continue;
        if (++n > WEFT_EXACT_WINDOW)
            break;
        n_edges += x->in_at[u + 1] - x->in_at[u];
    }
    o->is_whole = n <= WEFT_EXACT_WINDOW;
    n = n < WEFT_EXACT_WINDOW ? n : WEFT_EXACT_WINDOW;
    window = WEFT_NEW(a, int, n);
    place = WEFT_NEW(a, int, n);
    edge_at = WEFT_NEW(a, int, n + 1);
    edge = WEFT_NEW(a, int, n_edges);
    o->n_window = n;
    n_edges = n = 0;
    for (int u = first, at = 0; n < o->n_window; u++) {
        if (weft_bit_get(o->done, u))
            continue;
        while (at < o->n_front && o->front[at] < u)
            at++;
        place[n] = at < o->n_front && o->front[at] == u ? at : -1;
        for (int i = x->in_at[u]; i < x->in_at[u + 1]; i++) {
            if (!weft_bit_get(o->done, x->from[x->in[i]]))
                edge[n_edges++] = x->in[i];
        }
        window[n++] = u;
        edge_at[n] = n_edges;
    }
    o->window = window;
    o->window_front = place;
    o->edge_at = edge_at;
    o->edge = edge;
}

/* The work that is left: that of the ideal before, less the task that was added. */
static void set_work(engine *g, ideal *o, const ideal *from, int u, weft_arena *a)
{
    const weft_stretch *s = g->stretches[o->stretch].span;
    size_t n = (size_t)s->n_prices * WEFT_STRETCH_CLASSES;
    double *work;

    if (from == NULL || from->stretch != o->stretch) {
        o->work = weft_stretch_work(s, o->done, a);
        return;
    }
    work = weft_arena_copy(a, from->work, sizeof *work * n);
    if (n > 0)
        weft_stretch_less(s, work, u);
    o->work = work;
}

/* What the name of an ideal says beside its tasks: devices (as bits) of weights that done and open
 * tasks share, and of groups that are begun. The parent's marks are looked up in `held`. */
typedef struct name {
    uint64_t hash;
    const uint64_t *done;
    tick *mark;
    int n_marks;
} name;

static bool is_same(const engine *g, const ideal *o, const name *m)
{
    return o->hash == m->hash && o->n_marks == m->n_marks &&
           memcmp(o->done, m->done, sizeof *m->done * (size_t)g->words) == 0 &&
           (m->n_marks == 0 || memcmp(o->mark, m->mark, sizeof *m->mark * (size_t)m->n_marks) == 0);
}

static void set_lists(engine *g, ideal *o, const ideal *from, int u, weft_arena *a)
{
    const weft_subproblem *x = g->subproblem;
    int n_front = from ? from->n_front : 0, n_ready = from ? from->n_ready : 0, n_out;
    int *front, *ready, n = 0, i = 0;

    n_out = u >= 0 ? x->out_at[u + 1] - x->out_at[u] : 0;
    front = WEFT_NEW(a, int, n_front + n_out);
    ready = WEFT_NEW(a, int, u >= 0 ? n_ready + n_out : g->n);
    for (int j = 0; j < n_out; j++) { /* both lists are ascending: edges out are by number */
        int v = x->to[x->out[x->out_at[u] + j]];

        for (; i < n_front && from->front[i] < v; i++) {
            if (from->front[i] != u)
                front[n++] = from->front[i];
        }
        if (i < n_front && from->front[i] == v)
            i++;
        front[n++] = v;
    }
    for (; i < n_front; i++) {
        if (from->front[i] != u)
            front[n++] = from->front[i];
    }
    o->front = front;
    o->n_front = n;
    n = 0;
    for (int j = 0; j < n_ready; j++) {
        if (from->ready[j] != u)
            ready[n++] = from->ready[j];
    }
    for (int j = 0; j < n_out; j++) {
        int v = x->to[x->out[x->out_at[u] + j]];

        if (!has_open_pred(g, o->done, v))
            ready[n++] = v;
    }
    for (int v = 0; u < 0 && v < g->n; v++) {
        if (x->in_at[v + 1] == x->in_at[v])
            ready[n++] = v;
    }
    o->ready = ready;
    o->n_ready = n;
}

/* The ideal of that name in the level, made if it is not there. */
static ideal *find_ideal(engine *g, level *l, const name *m, const ideal *from, int u)
{
    int *chain = &l->chain[m->hash % (uint64_t)l->n_chains];
    ideal *o;

    for (int i = *chain; i >= 0; i = l->ideals.at[i]->next) {
        if (is_same(g, l->ideals.at[i], m))
            return l->ideals.at[i];
    }
    o = WEFT_NEW(l->arena, ideal, 1);
    o->hash = m->hash;
    o->done = weft_arena_copy(l->arena, m->done, sizeof *m->done * (size_t)g->words);
    o->n_marks = m->n_marks;
    if (m->n_marks > 0)
        o->mark = weft_arena_copy(l->arena, m->mark, sizeof *m->mark * (size_t)m->n_marks);
    set_lists(g, o, from, u, l->arena);
    set_window(g, o, l->arena);
    set_work(g, o, from, u, l->arena);
    g->ideal_bytes += (double)sizeof(uint64_t) * g->words +
                      (double)sizeof(int) * (o->n_front + o->n_ready + 2.0 * o->n_window);
    o->length = g->k * (1 + o->n_front + g->has_memory);
    o->next = *chain;
    *chain = l->ideals.n;
    WEFT_PUSH(l->arena, l->ideals, o);
    return o;
}

/* --- judging a state ------------------------------------------------------------------------- */

/* Heads of a window; returns the bound they give, WEFT_NEVER if some task has no device left. k is the
 * number of devices: where the compiler knows it, it unrolls the loops. */
static inline tick sweep_k(engine *g, const ideal *o, const tick *at, tick bound, const int k)
{
    const weft_subproblem *x = g->subproblem;

    for (int j = 0; j < o->n_window; j++) {
        int u = o->window[j];
        tick *head = g->head + u * k, *end = g->end + u * k, least = WEFT_NEVER;
        const tick *own =
            o->window_front[j] < 0 ? g->release + u * k : at + k * (1 + o->window_front[j]);

        const tick *time = g->time + u * k, *tail = g->tail + u * k;

        for (int d = 0; d < k; d++)
            head[d] = own[d] > at[d] ? own[d] : at[d];
        for (int i = o->edge_at[j]; i < o->edge_at[j + 1]; i++) {
            const tick *from = g->end + x->from[o->edge[i]] * k;
            const tick *send = g->send + (size_t)o->edge[i] * (size_t)(k * k);

            for (int d = 0; d < k; d++) {
                tick first = WEFT_NEVER;

                for (int m = 0; m < k; m++) {
                    tick come = from[m] + send[m * k + d];

                    first = come < first ? come : first;
                }
                head[d] = first > head[d] ? first : head[d];
            }
        }
        for (int d = 0; d < k; d++) {
            tick value = head[d] + time[d] + tail[d];

            end[d] = head[d] + time[d];
            if (value >= g->upper) {
                head[d] = end[d] = WEFT_NEVER;
                continue;
            }
            least = value < least ? value : least;
        }
        if (least >= WEFT_NEVER)
            return WEFT_NEVER;
        bound = least > bound ? least : bound;
    }
    return bound;
}

static tick sweep(engine *g, const ideal *o, const tick *at, tick bound)
{
    switch (g->k) {
    case 2:
        return sweep_k(g, o, at, bound, 2);
    case 3:
        return sweep_k(g, o, at, bound, 3);
    case 4:
        return sweep_k(g, o, at, bound, 4);
    default:
        return sweep_k(g, o, at, bound, g->k);
    }
}

/* Raises a state to what the heads of the sweep imply. */
static void lift(engine *g, const ideal *o, tick *at)
{
    const weft_exact_stretch *s = &g->stretches[o->stretch];
    int k = g->k, b = s->barrier;
    bool has_barrier = o->is_whole && b < g->n;
    tick passed = has_barrier ? WEFT_NEVER : 0;

    for (int j = 0; j < o->n_window; j++) {
        if (o->window_front[j] >= 0)
            memcpy(at + k * (1 + o->window_front[j]), g->head + weft_exact_cell(g, o->window[j], 0),
                   sizeof *at * (size_t)k);
    }
    for (int d = 0; has_barrier && d < k; d++)
        passed =
            g->end[weft_exact_cell(g, b, d)] < passed ? g->end[weft_exact_cell(g, b, d)] : passed;
    for (int i = o->n_front - 1; has_barrier && i >= 0 && o->front[i] > b; i--) {
        int v = o->front[i] - b;

        for (int d = 0; v < s->n_settle && d < k; d++) {
            if (at[k * (1 + i) + d] <= passed + s->settle[v * k + d])
                at[k * (1 + i) + d] = g->release[weft_exact_cell(g, o->front[i], d)];
        }
    }
    for (int d = 0; o->is_whole && d < k; d++) {
        tick first = has_barrier ? passed : WEFT_NEVER;

        for (int j = 0; j < o->n_window; j++) {
            tick head = g->head[weft_exact_cell(g, o->window[j], d)];

            first = head < first ? head : first;
        }
        at[d] = first > at[d] ? first : at[d];
    }
}

/* The bound of a state, which is normalised; WEFT_NEVER: drop it. */
static tick judge(engine *g, const ideal *o, tick *at, tick bound)
{
    double by_work;

    bound = sweep(g, o, at, bound);
    if (bound >= g->upper)
        return WEFT_NEVER;
    lift(g, o, at);
    by_work =
        weft_stretch_bound(g->stretches[o->stretch].span, o->work, at, WEFT_NEVER, (double)bound);
    by_work = g->is_whole ? ceil(by_work - SAME_WHOLE) : by_work;
    if (by_work >= (double)g->upper)
        return WEFT_NEVER;
    return by_work > (double)bound ? (tick)by_work : bound;
}

/* --- levels ---------------------------------------------------------------------------------- */

static level *new_level(engine *g)
{
    weft_arena *a = weft_arena_new();
    level *l = WEFT_NEW(a, level, 1);

    l->arena = a;
    l->n_chains = g->beam * 2 + 1;
    l->chain = WEFT_NEW(a, int, l->n_chains);
    memset(l->chain, -1, sizeof *l->chain * (size_t)l->n_chains);
    l->worst_bound = l->worst_sum = WEFT_NEVER;
    g->ideal_bytes = 0;
    return l;
}

static bool is_worse(tick bound, tick sum, tick than_bound, tick than_sum)
{
    return bound != than_bound ? bound > than_bound : sum > than_sum;
}

static bool covers(const tick *a, const tick *b, int n)
{
    for (int i = 0; i < n; i++) {
        if (a[i] > b[i])
            return false;
    }
    return true;
}

static void drop_state(level *l, ideal *o, int i)
{
    if (o->spare == NULL)
        o->spare = WEFT_NEW(l->arena, tick *, 1);
    /* room for spares is that of states: it grows with them */
    o->spare[o->n_spare++] = o->states[i].at;
    o->states[i] = o->states[--o->n];
    l->n_states--;
}

typedef struct ranked {
    tick bound, sum;
} ranked;

static int by_rank(const void *left, const void *right)
{
    const ranked *a = left, *b = right;

    if (a->bound != b->bound)
        return a->bound < b->bound ? -1 : 1;
    return (a->sum > b->sum) - (a->sum < b->sum);
}

/* Keeps the best `beam` states (and those that tie with the last of them). */
static void cut_level(engine *g, level *l)
{
    weft_arena *a = weft_arena_new();
    ranked *all = WEFT_NEW(a, ranked, l->n_states);
    int n = 0;

    for (int i = 0; i < l->ideals.n; i++) {
        for (int j = 0; j < l->ideals.at[i]->n; j++)
            all[n++] = (ranked){l->ideals.at[i]->states[j].bound, l->ideals.at[i]->states[j].sum};
    }
    if (n > g->beam) {
        qsort(all, (size_t)n, sizeof *all, by_rank);
        l->worst_bound = all[g->beam - 1].bound;
        l->worst_sum = all[g->beam - 1].sum;
        g->cut = all[g->beam].bound < g->cut ? all[g->beam].bound : g->cut;
        for (int i = 0; i < l->ideals.n; i++) {
            ideal *o = l->ideals.at[i];

            for (int j = o->n - 1; j >= 0; j--) {
                if (is_worse(o->states[j].bound, o->states[j].sum, l->worst_bound, l->worst_sum))
                    drop_state(l, o, j);
            }
        }
    }
    weft_arena_free(a);
}

/* Puts a judged child into its ideal unless another makes it superfluous. */
static void insert(engine *g, level *l, ideal *o, const state *s)
{
    int last = o->n > MOST_COMPARED ? o->n - MOST_COMPARED : 0;
    tick *at;

    if (is_worse(s->bound, s->sum, l->worst_bound, l->worst_sum)) {
        g->cut = s->bound < g->cut ? s->bound : g->cut;
        return;
    }
    for (int i = o->n - 1; i >= last; i--) {
        const state *other = &o->states[i];

        if (other->sum <= s->sum && other->bound <= s->bound && covers(other->at, s->at, o->length))
            return;
    }
    for (int i = o->n - 1; i >= last; i--) {
        const state *other = &o->states[i];

        if (s->sum <= other->sum && s->bound <= other->bound && covers(s->at, other->at, o->length))
            drop_state(l, o, i);
    }
    if (o->n_spare > 0) {
        at = o->spare[--o->n_spare];
    } else {
        int room = o->room;

        o->states = weft_arena_grow(l->arena, o->states, o->n, &o->room, sizeof *o->states);
        if (o->room != room) {
            tick **spare = WEFT_NEW(l->arena, tick *, o->room + 1);

            o->spare = spare;
        }
        at = WEFT_NEW(l->arena, tick, o->length + g->k * g->has_turns);
    }
    memcpy(at, s->at, sizeof *at * (size_t)(o->length + g->k * g->has_turns));
    o->states[o->n] = *s;
    o->states[o->n++].at = at;
    if (++l->n_states >= 2 * g->beam + 64)
        cut_level(g, l);
}

/* --- names of ideals with shared weights and groups ------------------------------------------ */

/* Are some, but not all tasks of row r done? */
static bool is_begun(const weft_rows *x, int r, const uint64_t *done)
{
    int n = x->at[r + 1] - x->at[r], n_done = 0;

    for (int i = x->at[r]; i < x->at[r + 1]; i++)
        n_done += weft_bit_get(done, x->item[i]);
    return n_done > 0 && n_done < n;
}

/* Unpacks the marks of an ideal into held[] and home[]. */
static void read_marks(engine *g, const ideal *o)
{
    int n = 0;

    for (int i = 0; i < g->n_shared; i++)
        g->held[i] = is_begun(&g->reader, i, o->done) ? (uint64_t)o->mark[n++] : 0;
    for (int i = 0; i < g->subproblem->n_groups; i++)
        g->home[i] = is_begun(&g->member, i, o->done) ? (int)o->mark[n++] : -1;
}

/* The name of an ideal after u on d; done[] is already that of the child. */
static void write_marks(engine *g, name *m, int u, int d)
{
    const weft_subproblem *x = g->subproblem;
    int n = 0;

    for (int i = 0; i < g->n_shared; i++) {
        uint64_t held = g->held[i];

        if (!is_begun(&g->reader, i, m->done))
            continue;
        for (int j = g->reader.at[i]; j < g->reader.at[i + 1]; j++)
            held |= g->reader.item[j] == u ? (uint64_t)1 << d : 0;
        m->mark[n++] = (tick)held;
    }
    for (int i = 0; i < x->n_groups; i++) {
        if (is_begun(&g->member, i, m->done))
            m->mark[n++] = x->group[u] == i ? d : g->home[i];
    }
    for (int i = 0; i < n; i++)
        m->hash = (m->hash ^ (uint64_t)m->mark[i]) * UINT64_C(0x9E3779B97F4A7C15) + (uint64_t)i;
    m->n_marks = n;
}

/* Units of weights that u brings to d. */
static tick new_bytes(const engine *g, int u, int d)
{
    const weft_subproblem *x = g->subproblem;
    double bytes = 0;

    for (int i = x->weight_at[u]; i < x->weight_at[u + 1]; i++) {
        int shared = g->shared_of[x->weight[i]];

        if (shared < 0 || !(g->held[shared] >> d & 1))
            bytes += x->weight_bytes[x->weight[i]];
    }
    if (!(bytes > 0))
        return 0;
    bytes *= g->byte_scale[d];
    return bytes < MOST_UNITS ? (tick)bytes : (tick)MOST_UNITS;
}

/* --- extending states ------------------------------------------------------------------------ */

/* One way to go on from an ideal. */
typedef struct move {
    const ideal *from;
    ideal *to;
    int task, device, place; /* place of the task in the frontier of `from`, or -1 */
    tick bytes;
} move;

/* Do begun weights and groups tell c and d apart? read_marks has unpacked them. */
static bool is_marked(const engine *g, int c, int d)
{
    for (int i = 0; i < g->n_shared; i++) {
        if ((g->held[i] >> c & 1) != (g->held[i] >> d & 1))
            return true;
    }
    for (int i = 0; i < g->subproblem->n_groups; i++) {
        if (g->home[i] == c || g->home[i] == d)
            return true;
    }
    return false;
}

/* Another device that is the same in all and stands the same: what begins there is enough. */
static bool is_repeated(const engine *g, const ideal *o, const tick *at, int d)
{
    for (int c = g->twin[d]; c < d; c++) {
        bool is_equal = g->twin[c] == g->twin[d] && !(g->has_names && is_marked(g, c, d));

        for (int i = c; is_equal && i < o->length; i += g->k)
            is_equal = at[i] == at[i - c + d];
        if (is_equal)
            return true;
    }
    return false;
}

/* Does column c come before column d in a state in order? */
static bool is_before(const ideal *o, const tick *at, int c, int d, int k)
{
    for (int i = 0; i < o->length; i += k) {
        if (at[i + c] != at[i + d])
            return at[i + c] < at[i + d];
    }
    return false;
}

/* Sorts the columns of equal devices; what each was before goes behind the state. */
static void put_in_order(const engine *g, const ideal *o, tick *at)
{
    int k = g->k;

    for (int d = 0; d < k && g->has_turns; d++)
        at[o->length + d] = d;
    for (int d = 0; d < k && g->has_turns; d++) {
        int c = d, b = d - 1;

        for (;; b--) { /* b: the next equal device before c */
            while (b >= 0 && g->twin[b] != g->twin[d])
                b--;
            if (b < 0 || !is_before(o, at, c, b, k))
                break;
            for (int i = 0; i < o->length + k; i += k) {
                tick t = at[i + b];

                at[i + b] = at[i + c];
                at[i + c] = t;
            }
            c = b;
        }
    }
}

static void fill_child(const engine *g, const move *m, const state *s, tick start)
{
    int k = g->k, d = m->device, n = m->to->n_front;
    tick end = start + g->time[weft_exact_cell(g, m->task, d)], *at = g->child;

    for (int q = 0; q < k; q++)
        at[q] = s->at[q] > start ? s->at[q] : start;
    at[d] = end;
    for (int i = 0; i < n; i++) {
        const tick *old = g->map[i] >= 0 ? s->at + k * (1 + g->map[i])
                                         : g->release + weft_exact_cell(g, m->to->front[i], 0);
        const tick *send =
            g->send +
            ((size_t)(g->by_edge[i] < 0 ? 0 : g->by_edge[i]) * (size_t)k + (size_t)d) * (size_t)k;
        tick *to = at + k * (1 + i);

        for (int q = 0; q < k; q++) {
            tick come = g->by_edge[i] < 0 ? 0 : end + send[q];

            to[q] = old[q] > come ? old[q] : come;
        }
    }
    if (g->has_memory) {
        memcpy(at + k * (1 + n), s->at + k * (1 + m->from->n_front), sizeof *at * (size_t)k);
        at[k * (1 + n) + d] += m->bytes;
    }
}

static void extend(engine *g, level *next, const move *m, const state *s)
{
    int k = g->k, d = m->device;
    const tick *ready =
        m->place < 0 ? g->release + weft_exact_cell(g, m->task, 0) : s->at + k * (1 + m->place);
    tick start = ready[d] > s->at[d] ? ready[d] : s->at[d];
    tick value =
        start + g->time[weft_exact_cell(g, m->task, d)] + g->tail[weft_exact_cell(g, m->task, d)];
    state child = {.at = g->child, .before = s->before, .task = m->task, .device = d};

    if (value >= g->upper || is_repeated(g, m->from, s->at, d))
        return;
    if (g->has_memory && s->at[k * (1 + m->from->n_front) + d] + m->bytes > g->room[d])
        return;
    fill_child(g, m, s, start);
    g->n_states++;
    child.bound = judge(g, m->to, g->child, value > s->bound ? value : s->bound);
    if (child.bound >= WEFT_NEVER)
        return;
    put_in_order(g, m->to, g->child);
    for (int i = 0; i < m->to->length; i++)
        child.sum += g->child[i] < g->upper ? g->child[i] : g->upper;
    insert(g, next, m->to, &child);
}

/* Where the frontier of the child comes from: the parent's, and edges of the new task. */
static void map_front(engine *g, const ideal *from, const ideal *to, int u)
{
    const weft_subproblem *x = g->subproblem;
    int j = 0, i = x->out_at[u];

    for (int f = 0; f < to->n_front; f++) {
        int v = to->front[f];

        while (j < from->n_front && from->front[j] < v)
            j++;
        while (i < x->out_at[u + 1] && x->to[x->out[i]] < v)
            i++;
        g->map[f] = j < from->n_front && from->front[j] == v ? j : -1;
        g->by_edge[f] = i < x->out_at[u + 1] && x->to[x->out[i]] == v ? x->out[i] : -1;
    }
}

static bool must_stop(engine *g)
{
    const weft_effort *e = g->effort;

    if ((e->most_states > 0 && g->n_states >= e->most_states) ||
        g->ideal_bytes > MOST_STATE_BYTES || (e->run != NULL && weft_run_is_over(e->run)))
        g->is_stopped = true;
    return g->is_stopped;
}

static void move_on(engine *g, level *next, move *m, const uint64_t *done)
{
    const ideal *o = m->from;
    name child = {.hash = o->hash ^ g->key[m->task], .done = done, .mark = g->mark};
    const weft_subproblem *x = g->subproblem;

    if (g->time[weft_exact_cell(g, m->task, m->device)] >= WEFT_NEVER)
        return;
    if (x->group != NULL && g->home[x->group[m->task]] >= 0 &&
        g->home[x->group[m->task]] != m->device)
        return;
    if (g->has_names) {
        child.hash = 0;
        for (int w = 0; w < g->words; w++)
            child.hash = (child.hash ^ done[w]) * UINT64_C(0x9E3779B97F4A7C15);
        write_marks(g, &child, m->task, m->device);
    }
    if (g->has_names || m->to == NULL)
        m->to = find_ideal(g, next, &child, o, m->task);
    map_front(g, o, m->to, m->task);
    m->bytes = g->has_memory ? new_bytes(g, m->task, m->device) : 0;
    for (int i = 0; i < o->n; i++) {
        if ((i % STOP_EVERY == 0 && must_stop(g)) || g->is_stopped)
            return;
        extend(g, next, m, &o->states[i]);
    }
}

static void expand(engine *g, const level *now, level *next)
{
    uint64_t *done = WEFT_NEW(next->arena, uint64_t, g->words);

    for (int i = 0; i < now->ideals.n && !g->is_stopped; i++) {
        const ideal *o = now->ideals.at[i];

        if (o->n == 0)
            continue;
        if (g->has_names)
            read_marks(g, o);
        memcpy(done, o->done, sizeof *done * (size_t)g->words);
        for (int r = 0; r < o->n_ready && !g->is_stopped; r++) {
            move m = {.from = o, .task = o->ready[r], .place = -1};

            for (int f = 0; f < o->n_front; f++)
                m.place = o->front[f] == m.task ? f : m.place;
            weft_bit_set(done, m.task);
            for (m.device = 0; m.device < g->k; m.device++)
                move_on(g, next, &m, done);
            done[m.task / 64] &= ~((uint64_t)1 << (m.task % 64));
        }
    }
}

/* --- passes ---------------------------------------------------------------------------------- */

static level *first_level(engine *g)
{
    level *l = new_level(g);
    name m = {.done = WEFT_NEW(l->arena, uint64_t, g->words)};
    ideal *o = find_ideal(g, l, &m, NULL, -1);
    state root = {.at = g->child, .before = -1, .task = -1};

    memset(g->child, 0, sizeof *g->child * (size_t)o->length);
    memcpy(g->child, g->free, sizeof *g->free * (size_t)g->k);
    root.bound = judge(g, o, g->child, 0);
    put_in_order(g, o, g->child); /* nothing moves: equal devices are released alike */
    if (root.bound < WEFT_NEVER)
        insert(g, l, o, &root);
    return l;
}

/* Gives the states of a finished level their steps. */
static void keep_steps(engine *g, level *l)
{
    for (int i = 0; i < l->ideals.n; i++) {
        ideal *o = l->ideals.at[i];

        for (int j = 0; j < o->n; j++) {
            step s = {o->states[j].before, o->states[j].task, o->states[j].device};

            for (int d = 0; d < g->k && g->has_turns; d++)
                WEFT_PUSH(g->trace_arena, g->turns, (uint8_t)o->states[j].at[o->length + d]);
            WEFT_PUSH(g->trace_arena, g->trace, s);
            o->states[j].before = g->trace.n - 1;
        }
    }
}

static void cut_all(engine *g, const level *l)
{
    for (int i = 0; i < l->ideals.n; i++) {
        for (int j = 0; j < l->ideals.at[i]->n; j++) {
            tick bound = l->ideals.at[i]->states[j].bound;

            g->cut = bound < g->cut ? bound : g->cut;
        }
    }
}

static const state *best_state(const level *l)
{
    const state *best = NULL;

    for (int i = 0; i < l->ideals.n; i++) {
        const ideal *o = l->ideals.at[i];

        for (int j = 0; j < o->n; j++) {
            if (best == NULL ||
                is_worse(best->bound, best->sum, o->states[j].bound, o->states[j].sum))
                best = &o->states[j];
        }
    }
    return best;
}

/* Columns back to devices: real[d] is the device whose column d was, step by step from the first. */
static void undo_turns(const engine *g, const int *at, const int *order, int *device)
{
    int real[WEFT_SUBPROBLEM_DEVICES], next[WEFT_SUBPROBLEM_DEVICES];

    for (int d = 0; d < g->k; d++)
        real[d] = d;
    for (int i = 0; i < g->n; i++) {
        const uint8_t *turn = g->turns.at + (size_t)at[i] * (size_t)g->k;

        device[order[i]] = real[device[order[i]]];
        for (int d = 0; d < g->k; d++)
            next[d] = real[turn[d]];
        memcpy(real, next, sizeof *real * (size_t)g->k);
    }
}

/* Writes a schedule that a state of the last level stands for. */
static void take_schedule(engine *g, const state *s, weft_answer *out, weft_arena *a)
{
    int *order = WEFT_NEW(g->arena, int, g->n), *step_at = WEFT_NEW(g->arena, int, g->n);
    int at = g->n, *device = WEFT_NEW(a, int, g->n);
    double *start_s = WEFT_NEW(a, double, g->n), value;

    for (int i = s->before; i >= 0 && at > 0; i = g->trace.at[i].before) {
        order[--at] = g->trace.at[i].task;
        step_at[at] = i;
        device[order[at]] = g->trace.at[i].device;
    }
    if (g->has_turns)
        undo_turns(g, step_at, order, device);
    value = weft_subproblem_time(g->subproblem, device, order, start_s);
    if (value < out->value) {
        out->value = value;
        out->device = device;
        out->start_s = start_s;
    }
}

/* One pass through all levels; true if it found a schedule below the upper limit. */
static bool pass(engine *g, weft_answer *out, weft_arena *a)
{
    level *now;
    bool has_found = false;

    g->trace_arena = weft_arena_new();
    memset(&g->trace, 0, sizeof g->trace);
    memset(&g->turns, 0, sizeof g->turns);
    g->cut = WEFT_NEVER;
    now = first_level(g);
    for (int l = 0; l < g->n && now->n_states > 0; l++) {
        level *next = new_level(g);

        expand(g, now, next);
        if (g->is_stopped) {
            cut_all(g, now);
            cut_all(g, next);
            next->n_states = 0;
            next->ideals.n = 0;
        }
        cut_level(g, next);
        keep_steps(g, next);
        weft_arena_free(now->arena);
        now = next;
    }
    if (now->n_states > 0 && !g->is_stopped) {
        take_schedule(g, best_state(now), out, a);
        has_found = true;
    }
    weft_arena_free(now->arena);
    weft_arena_free(g->trace_arena);
    return has_found;
}

/* What must be beaten next. Sums of rounded costs are short by fewer than 2 n ticks, tails from
 * series.c by a few more for each task; less than that is no improvement. */
static tick slack(const engine *g)
{
    return g->is_whole ? 0 : 16 * (tick)g->n + 16;
}

static void set_upper(engine *g, double value)
{
    g->upper = g->is_whole ? (tick)ceil(value * g->scale - SAME_WHOLE)
                           : weft_exact_tick(g, value) - slack(g);
}

/* A bound from elsewhere. */
static tick lower_of(const engine *g)
{
    double lower_s = g->effort->lower;

    if (!isfinite(lower_s))
        return 0;
    return weft_exact_tick(g,
                           g->is_whole ? weft_grain_up(g->subproblem->grain_s, lower_s) : lower_s);
}

/* Ticks were too coarse for a schedule that is far better than what had to be beaten. */
static bool is_coarse(const engine *g, double value, double upper_s)
{
    return !g->is_whole && value < COARSE * upper_s;
}

static int most_beam(const engine *g)
{
    double by_state = MOST_STATE_BYTES / (8.0 * g->k * 24 + sizeof(state));
    double by_step =
        MOST_STATE_BYTES / ((double)g->n * ((double)sizeof(step) + g->k * g->has_turns));
    double most = fmin(fmin(by_state, by_step), 1 << 20);

    if (g->effort->most_beam > 0)
        most = fmin(most, g->effort->most_beam);
    return most < FIRST_BEAM ? FIRST_BEAM : (int)most;
}

static void run_passes(engine *g, double upper_s, weft_answer *out, weft_arena *a)
{
    int most = most_beam(g);
    tick lower = lower_of(g);

    for (g->beam = FIRST_BEAM; !g->is_stopped; g->beam *= BEAM_STEP) {
        bool has_found, is_last = g->beam >= most;
        tick proved;

        g->beam = g->beam < most ? g->beam : most;
        has_found = pass(g, out, a);
        if (has_found)
            set_upper(g, out->value);
        proved = g->cut < g->upper ? g->cut : g->upper;
        lower = proved > lower ? proved : lower;
        if (lower >= g->upper || is_last || is_coarse(g, out->value, upper_s))
            break;
    }
    lower = lower < g->upper ? lower : g->upper;
    out->is_closed = lower >= g->upper && !is_coarse(g, out->value, upper_s);
    out->bound = fmin(fmax(0, (double)lower / g->scale), out->value);
}

/* Something to beat, if nothing is given: tasks in their order, each where it and its tail end
 * first. */
static double first_value(const weft_subproblem *x, weft_arena *a)
{
    int n = x->n_devices, *device = WEFT_NEW(a, int, x->n_tasks);
    int *order = WEFT_NEW(a, int, x->n_tasks);
    double *tail_s = weft_subproblem_tails(x, a), *start_s = WEFT_NEW(a, double, x->n_tasks);
    double free_s[WEFT_SUBPROBLEM_DEVICES], value = 0;

    memcpy(free_s, x->free_s, sizeof *free_s * (size_t)n);
    for (int u = 0; u < x->n_tasks; u++) {
        double least_s = INFINITY;

        order[u] = u;
        for (int d = 0; d < n; d++) {
            size_t at = (size_t)u * (size_t)n + (size_t)d;
            double at_s = fmax(free_s[d], x->release_s[at]);

            for (int i = x->in_at[u]; i < x->in_at[u + 1]; i++) {
                int e = x->in[i], v = x->from[e], k = device[v];

                at_s =
                    fmax(at_s, start_s[v] + x->time_s[v * n + k] + x->send_s[(e * n + k) * n + d]);
            }
            if (at_s + x->time_s[at] + tail_s[at] < least_s) {
                least_s = at_s + x->time_s[at] + tail_s[at];
                device[u] = d;
                start_s[u] = at_s;
            }
        }
        if (!(least_s < INFINITY))
            return INFINITY;
        free_s[device[u]] = start_s[u] + x->time_s[u * n + device[u]];
        value = fmax(value, free_s[device[u]] + x->tail_s[u * n + device[u]]);
    }
    return value;
}

/* The search for schedules below upper_s, or of that value if is_open. */
static void search_below(engine *g, double upper_s, bool is_open, weft_answer *out, weft_arena *a)
{
    size_t front = (size_t)g->n * (size_t)g->k;

    g->words = weft_bits_words(g->n);
    g->scale = ldexp(1, 48) / upper_s;
    weft_exact_whole(g, upper_s);
    g->child = WEFT_NEW(g->arena, tick, front + 3 * (size_t)g->k);
    g->head = WEFT_NEW(g->arena, tick, front);
    g->end = WEFT_NEW(g->arena, tick, front);
    g->map = WEFT_NEW(g->arena, int, g->n);
    g->by_edge = WEFT_NEW(g->arena, int, g->n);
    weft_exact_memory(g);
    weft_exact_ticks(g);
    set_upper(g, upper_s);
    if (is_open)
        g->upper += g->is_whole ? 1 : 2 * slack(g);
    weft_exact_structure(g);
    run_passes(g, upper_s, out, a);
}

weft_answer weft_subproblem_solve(const weft_subproblem *x, const weft_effort *e, weft_arena *a)
{
    weft_answer out = {.value = INFINITY};
    engine g = {.subproblem = x, .effort = e, .n = x->n_tasks, .k = x->n_devices};
    double upper_s = e->upper;
    bool is_open = !(upper_s < INFINITY);

    assert(isfinite(e->lower) && !isnan(upper_s));
    if (x->n_tasks == 0 || x->n_devices > WEFT_SUBPROBLEM_DEVICES ||
        (e->run != NULL &&
         weft_run_is_over(e->run))) /* tables alone take long for large subproblems */
        return out;
    g.arena = weft_arena_new();
    if (is_open)
        upper_s =
            x->n_weights > 0 || x->group ? weft_subproblem_horizon(x) : first_value(x, g.arena);
    while (upper_s >= LEAST_UPPER && upper_s < INFINITY) {
        search_below(&g, upper_s, is_open, &out, a);
        if (g.is_stopped || !is_coarse(&g, out.value, upper_s))
            break;
        upper_s = out.value;
        is_open = false;
        weft_arena_free(g.arena);
        g = (engine){.subproblem = x, .effort = e, .n = g.n, .k = g.k, .n_states = g.n_states};
        g.arena = weft_arena_new();
    }
    out.is_closed |= !(out.value > 0);
    out.n_states = g.n_states;
    weft_arena_free(g.arena);
    return out;
}
