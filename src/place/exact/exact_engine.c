/* SPDX-License-Identifier: MIT */
/* exact_engine.c: a subproblem made ready for the search over ideals: costs in ticks, bytes in units of
 * each room, equal devices, and what lies between barriers. */
#include "exact_engine.h"
#include "same.h"

#include <math.h>

enum {
    BYTE_BITS = 45,        /* of the bytes of a room */
    LEAST_EXPONENT = -900, /* of a room: units of less would be denormal */
};

static const double MOST_WHOLE = 0x1p26; /* ticks of a value, so that sums of prices are exact */
static const double SAME_WHOLE = 1e-6;   /* what sums of doubles may be off, in ticks */
static const double SAME_BYTES = 1e-12;  /* what sums of bytes may be over a room, relative */

typedef weft_tick tick;
typedef weft_exact_engine engine;
typedef weft_exact_stretch stretch;

/* --- the subproblem in ticks ----------------------------------------------------------------- */

/* Are all that are finite multiples of the grain? Numbers that stem from times are, up to sums. */
static bool are_whole(const double *s, size_t n, double grain_s)
{
    for (size_t i = 0; i < n; i++) {
        double ticks = s[i] / grain_s;

        if (s[i] < INFINITY && !(fabs(ticks - nearbyint(ticks)) <= SAME_WHOLE))
            return false;
    }
    return true;
}

void weft_exact_whole(engine *g, double upper_s)
{
    const weft_subproblem *x = g->subproblem;
    size_t n_cells = (size_t)x->n_tasks * (size_t)x->n_devices;
    size_t n_sends = (size_t)x->n_edges * (size_t)(x->n_devices * x->n_devices);
    double grain_s = x->grain_s;

    g->is_whole =
        grain_s > 0 && upper_s <= grain_s * MOST_WHOLE && are_whole(x->time_s, n_cells, grain_s) &&
        are_whole(x->release_s, n_cells, grain_s) && are_whole(x->tail_s, n_cells, grain_s) &&
        are_whole(x->send_s, n_sends, grain_s) &&
        are_whole(x->free_s, (size_t)x->n_devices, grain_s);
    if (g->is_whole)
        g->scale = 1 / grain_s;
}

tick weft_exact_tick(const engine *g, double s)
{
    double t = g->is_whole ? nearbyint(s * g->scale) : floor(s * g->scale);

    return t < (double)WEFT_NEVER ? (tick)t : WEFT_NEVER;
}

static tick *to_ticks(const engine *g, const double *s, size_t n)
{
    tick *t = WEFT_NEW(g->arena, tick, n);

    for (size_t i = 0; i < n; i++)
        t[i] = weft_exact_tick(g, s[i]);
    return t;
}

static bool are_twins(const void *context, int c, int d)
{
    const engine *g = context;
    const weft_subproblem *x = g->subproblem;
    int k = g->k;

    if (g->free[c] != g->free[d] || (g->has_memory && x->room_bytes[c] != x->room_bytes[d]))
        return false;
    for (int u = 0; u < g->n; u++) {
        size_t at = weft_exact_cell(g, u, c), to = weft_exact_cell(g, u, d);

        if (g->time[at] != g->time[to] || g->release[at] != g->release[to] ||
            g->tail[at] != g->tail[to])
            return false;
    }
    for (int e = 0; e < x->n_edges; e++) {
        const tick *s = g->send + (size_t)e * (size_t)(k * k);

        if (s[c * k + d] != s[d * k + c])
            return false;
        for (int o = 0; o < k; o++) {
            if (o != c && o != d && (s[c * k + o] != s[d * k + o] || s[o * k + c] != s[o * k + d]))
                return false;
        }
    }
    return true;
}

/* --- stretches ------------------------------------------------------------------------------- */

/* Delays behind the barrier, by the recursion of heads from its end at time 0, up to the last task
 * that reads something from before it. */
static void set_settle(engine *g, stretch *s, int last)
{
    const weft_subproblem *x = g->subproblem;
    int k = g->k, b = s->barrier;
    tick *settle;

    last = last > b ? last : b;
    s->n_settle = last - b + 1 > WEFT_EXACT_WINDOW * 8 ? WEFT_EXACT_WINDOW * 8 : last - b + 1;
    s->settle = settle = WEFT_NEW(g->arena, tick, (size_t)s->n_settle * (size_t)k);
    for (int v = b + 1; v < b + s->n_settle; v++) {
        for (int i = x->in_at[v]; i < x->in_at[v + 1]; i++) {
            int e = x->in[i], p = x->from[e];
            const tick *send = g->send + (size_t)e * (size_t)(k * k);

            for (int d = 0; p > b && d < k; d++) {
                tick least = WEFT_NEVER, *to = settle + (v - b) * k + d;

                for (int m = 0; m < k; m++) {
                    tick at = settle[(p - b) * k + m] + g->time[weft_exact_cell(g, p, m)] +
                              send[m * k + d];

                    least = at < least ? at : least;
                }
                *to = least > *to ? least : *to;
            }
        }
    }
}

static void set_stretches(engine *g)
{
    weft_stretch_costs costs = {g->subproblem, g->time, g->tail, g->send, WEFT_NEVER};
    const bool *is_barrier = weft_subproblem_barriers(g->subproblem, g->arena);
    int begin = 0, last = 0; /* last reader of what came before u */

    g->stretch_of = WEFT_NEW(g->arena, int, g->n + 1);
    g->stretches = WEFT_NEW(g->arena, stretch, g->n + 1);
    for (int u = 0; u <= g->n; u++) {
        stretch *s = &g->stretches[g->n_stretches];

        g->stretch_of[u] = g->n_stretches;
        if (u > 0 && weft_subproblem_last_reader(g->subproblem, u - 1) > last)
            last = weft_subproblem_last_reader(g->subproblem, u - 1);
        if (!is_barrier[u])
            continue;
        s->barrier = u;
        s->span = weft_stretch_new(&costs, begin, u, g->arena);
        if (u < g->n)
            set_settle(g, s, last);
        begin = u + 1;
        g->n_stretches++;
    }
}

static void set_weights(engine *g)
{
    const weft_subproblem *x = g->subproblem;
    int n_uses = x->weight_at[g->n], *n_readers = WEFT_NEW(g->arena, int, x->n_weights);
    int *key_of = WEFT_NEW(g->arena, int, n_uses), *user = WEFT_NEW(g->arena, int, n_uses);

    g->shared_of = WEFT_NEW(g->arena, int, x->n_weights);
    for (int i = 0; i < n_uses; i++)
        n_readers[x->weight[i]]++;
    for (int w = 0; w < x->n_weights; w++)
        g->shared_of[w] = n_readers[w] > 1 ? g->n_shared++ : -1;
    for (int i = 0; i < n_uses; i++)
        key_of[i] = g->shared_of[x->weight[i]];
    g->reader = weft_rows_by(key_of, n_uses, g->n_shared, g->arena);
    for (int u = 0; u < g->n; u++)
        for (int i = x->weight_at[u]; i < x->weight_at[u + 1]; i++)
            user[i] = u;
    for (int i = 0; i < g->reader.at[g->n_shared]; i++)
        g->reader.item[i] = user[g->reader.item[i]];
}

/* Memory in whole units of each room, so fine that rounding decides nothing: weights are rounded
 * down, room up by what sums of bytes may be over (weft_fits). Whole bytes stay exact. */
static void set_room(engine *g)
{
    g->byte_scale = WEFT_NEW(g->arena, double, g->k);
    g->room = WEFT_NEW(g->arena, tick, g->k);
    for (int d = 0; d < g->k; d++) {
        double room_bytes = g->subproblem->room_bytes[d];
        int exponent = 0;

        if (room_bytes > 0 && room_bytes < INFINITY) {
            frexp(room_bytes, &exponent);
            exponent = exponent < LEAST_EXPONENT ? LEAST_EXPONENT : exponent;
            g->byte_scale[d] = ldexp(1, BYTE_BITS - exponent);
            g->room[d] = (tick)ceil(room_bytes * (1 + SAME_BYTES) * g->byte_scale[d]);
        } else {
            g->byte_scale[d] = room_bytes > 0 ? 0 : INFINITY;
        }
    }
}

void weft_exact_memory(engine *g)
{
    const weft_subproblem *x = g->subproblem;

    g->has_memory = x->n_weights > 0 && g->k <= WEFT_SUBPROBLEM_DEVICES;
    if (g->has_memory) {
        set_weights(g);
        set_room(g);
    }
    if (x->group != NULL)
        g->member = weft_rows_by(x->group, g->n, x->n_groups, g->arena);
    g->has_names = g->n_shared > 0 || x->group != NULL;
    g->held = WEFT_NEW(g->arena, uint64_t, g->n_shared + 1);
    g->home = WEFT_NEW(g->arena, int, x->n_groups + 1);
    g->mark = WEFT_NEW(g->arena, tick, g->n_shared + x->n_groups + 1);
}

void weft_exact_ticks(engine *g)
{
    const weft_subproblem *x = g->subproblem;
    size_t n_cells = (size_t)g->n * (size_t)g->k;
    double *tail_s = weft_subproblem_tails(x, g->arena);
    weft_rng rng = weft_rng_seed(1);

    g->time = to_ticks(g, x->time_s, n_cells);
    g->release = to_ticks(g, x->release_s, n_cells);
    g->tail = to_ticks(g, tail_s, n_cells);
    g->send = to_ticks(g, x->send_s, (size_t)x->n_edges * (size_t)(g->k * g->k));
    g->free = to_ticks(g, x->free_s, (size_t)g->k);
    g->key = WEFT_NEW(g->arena, uint64_t, g->n);
    for (int u = 0; u < g->n; u++)
        g->key[u] = weft_rng_next(&rng);
}

void weft_exact_structure(engine *g)
{
    g->twin = weft_first_same(g->k, are_twins, g, g->arena);
    for (int d = 0; d < g->k && !g->has_names; d++)
        g->has_turns |= g->twin[d] != d;
    set_stretches(g);
}
