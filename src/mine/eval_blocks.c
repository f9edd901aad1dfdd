/* SPDX-License-Identifier: MIT */
/* eval_blocks.c: a network as a series of blocks, each of which begins when the one before it has
 * ended.
 *
 * 1. Barriers are operators comparable with all others. Between two of them lies a segment. No
 *    schedule runs two segments at once, so cutting there costs nothing: the blocks of a small
 *    network are its segments, and their schedules together are that of the whole.
 * 2. In a training graph nothing is a barrier once gradients of weights are there, which only the
 *    optimizer waits for. In large networks such operators are set aside: updates, results that
 *    nobody reads, and what leads to nothing else in at most two steps. Barriers are found among
 * the others. From the first segment on that something set aside waits for, segments are joined: a.
 * if what follows repeats with a period of at least LEAST_PERIOD operators, to periods; b. else
 * until there are MOST_MIXED operators. What was set aside runs in the block after the one in which
 * it becomes ready, beside operators of that block, which is what it is good for; the last of it in
 * a block of its own.
 * 3. Blocks with the same classes of operators and the same edges inside are one block.
 *
 * Repeated layers are therefore scheduled once. What the policy loses against list-alap of the
 * whole is the wait at the ends of joined segments; weft_eval_headtail_s bounds it. */
#include "rows.h"
#include "workload_eval.h"

#include <limits.h>
#include <string.h>

enum { SMALL = 64, LEAST_PERIOD = 16, MOST_MIXED = 48, ASIDE_STEPS = 3 };

typedef struct cutter {
    const weft_eval_ops *ops;
    weft_arena *a;  /* scratch */
    uint8_t *aside; /* [ops] 0: not; else steps to the end */
    int *segment;   /* [ops] */
    int n_segments;
    int first_aside; /* first segment that something set aside waits for; n_segments: none */
    int *part;       /* [segments] of the series */
    int n_parts;
} cutter;

/* --- what is set aside */

static bool leads_aside(const cutter *c, int u, int steps)
{
    const weft_eval_ops *o = c->ops;

    if (c->aside[u] || o->out_at[u] == o->out_at[u + 1])
        return false;
    for (int e = o->out_at[u]; e < o->out_at[u + 1]; e++)
        if (c->aside[o->out_to[e]] == 0 || c->aside[o->out_to[e]] >= steps)
            return false;
    return true;
}

static void set_aside(cutter *c)
{
    const weft_eval_ops *o = c->ops;
    int last = o->n - 1;

    while (last > 0 && o->is_update[last])
        last--;
    for (int u = 0; u < o->n; u++)
        c->aside[u] = o->is_update[u] || (o->out_at[u] == o->out_at[u + 1] && u != last);
    for (int steps = 2; steps <= ASIDE_STEPS; steps++)
        for (int u = 0; u < o->n; u++)
            if (leads_aside(c, u, steps))
                c->aside[u] = (uint8_t)steps;
}

/* --- segments */

/* Nearest neighbours that are not set aside. */
static int first_after(const cutter *c, int u)
{
    for (int e = c->ops->out_at[u]; e < c->ops->out_at[u + 1]; e++)
        if (!c->aside[c->ops->out_to[e]])
            return c->ops->out_to[e];
    return INT_MAX;
}

static int last_before(const cutter *c, int v)
{
    for (int e = c->ops->in_at[v + 1] - 1; e >= c->ops->in_at[v]; e--)
        if (!c->aside[c->ops->in_from[e]])
            return c->ops->in_from[e];
    return -1;
}

/* As graph/cut.c: v is a barrier iff every operator before it has a successor at or before it, and
 * every one after it a predecessor at or after it. A barrier ends its segment. */
static void find_segments(cutter *c)
{
    const weft_eval_ops *o = c->ops;
    int *least_last = WEFT_NEW(c->a, int, o->n + 1), latest_first = -1, segment = 0;
    bool was_barrier = false;

    least_last[o->n] = INT_MAX;
    for (int v = o->n - 1; v >= 0; v--) {
        int last = c->aside[v] ? INT_MAX : last_before(c, v);

        least_last[v] = last < least_last[v + 1] ? last : least_last[v + 1];
    }
    for (int v = 0; v < o->n; v++) {
        int first;

        if (c->aside[v])
            continue;
        segment += was_barrier;
        c->segment[v] = segment;
        was_barrier = latest_first <= v && least_last[v + 1] >= v;
        first = first_after(c, v);
        latest_first = first > latest_first ? first : latest_first;
    }
    c->n_segments = segment + 1;
}

/* An operator set aside belongs to the segment of the last one that it waits for. */
static void place_aside(cutter *c)
{
    const weft_eval_ops *o = c->ops;

    c->first_aside = c->n_segments;
    for (int v = 0; v < o->n; v++) {
        if (!c->aside[v])
            continue;
        c->segment[v] = 0;
        for (int e = o->in_at[v]; e < o->in_at[v + 1]; e++)
            if (c->segment[o->in_from[e]] > c->segment[v])
                c->segment[v] = c->segment[o->in_from[e]];
        if (c->segment[v] < c->first_aside)
            c->first_aside = c->segment[v];
    }
}

/* --- joining segments */

typedef struct outline {
    int *size; /* [segments] operators */
    int *mark; /* [segments] equal for segments with the same classes */
} outline;

static outline outline_of(cutter *c)
{
    const weft_eval_ops *o = c->ops;
    outline l = {WEFT_NEW(c->a, int, c->n_segments + 1), WEFT_NEW(c->a, int, c->n_segments + 1)};
    int *at = WEFT_NEW(c->a, int, c->n_segments + 2), *text = WEFT_NEW(c->a, int, o->n + 1);
    weft_map *seen = weft_map_new(c->a);

    for (int v = 0; v < o->n; v++)
        l.size[c->segment[v]]++;
    for (int s = 0; s < c->n_segments; s++)
        at[s + 1] = at[s] + l.size[s];
    for (int v = 0; v < o->n; v++)
        text[at[c->segment[v]]++] = 2 * o->of_class[v] + (c->aside[v] > 0);
    for (int s = 0; s < c->n_segments; s++) {
        const char *key = (const char *)(text + at[s] - l.size[s]);
        size_t n = (size_t)l.size[s] * sizeof *text;

        (void)weft_map_put(seen, key, n, s);
        l.mark[s] = weft_map_get(seen, key, n);
    }
    return l;
}

static bool repeats(const outline *l, int s, int period)
{
    for (int i = 0; i < period; i++)
        if (l->mark[s + i] != l->mark[s + period + i])
            return false;
    return true;
}

/* The least number of segments that follow themselves from s on; 0: none. */
static int period_at(const cutter *c, const outline *l, int s)
{
    int size = 0;

    for (int period = 1; s + 2 * period <= c->n_segments; period++) {
        size += l->size[s + period - 1];
        if (size >= LEAST_PERIOD && repeats(l, s, period))
            return period;
    }
    return 0;
}

/* Makes parts of `period` segments from s on for as long as they repeat; returns what follows. */
static int join_periods(cutter *c, const outline *l, int s, int period)
{
    do {
        for (int i = 0; i < period; i++)
            c->part[s + i] = c->n_parts;
        c->n_parts++;
        s += period;
    } while (s + period <= c->n_segments && repeats(l, s - period, period));
    return s;
}

static void join_segments(cutter *c)
{
    outline l = outline_of(c);
    int s = c->first_aside, mixed = 0;

    for (int i = 0; i < s; i++)
        c->part[i] = i;
    c->n_parts = s;
    while (s < c->n_segments) {
        int period = period_at(c, &l, s);
        bool is_full = mixed >= MOST_MIXED || (period > 0 && mixed > 0);

        if (is_full) {
            c->n_parts++;
            mixed = 0;
        }
        if (period > 0) {
            s = join_periods(c, &l, s, period);
            continue;
        }
        c->part[s] = c->n_parts;
        mixed += l.size[s++];
    }
    c->n_parts += mixed > 0;
}

/* --- blocks */

/* Operators of each part in the order of the network. */
static void collect_parts(cutter *c, weft_arena *a, weft_eval_series *out)
{
    const weft_eval_ops *o = c->ops;
    int *of = WEFT_NEW(c->a, int, o->n + 1);
    weft_rows parts;

    for (int v = 0; v < o->n; v++)
        of[v] = c->part[c->segment[v]] + (c->aside[v] > 0);
    parts = weft_rows_by(of, o->n, c->n_parts + 1, a);
    out->n = parts.at[c->n_parts + 1] > parts.at[c->n_parts] ? c->n_parts + 1 : c->n_parts;
    out->op_at = parts.at;
    out->op = parts.item;
}

/* The edges inside a part as text: class, number of predecessors, predecessors. */
static int *part_text(const cutter *c, const weft_eval_series *s, int part, const int *place,
                      size_t *n)
{
    const weft_eval_ops *o = c->ops;
    int first = s->op_at[part], end = s->op_at[part + 1], room = 2 * (end - first), k = 0, *text;

    for (int i = first; i < end; i++)
        room += o->in_at[s->op[i] + 1] - o->in_at[s->op[i]];
    text = WEFT_NEW(c->a, int, room + 1);
    for (int i = first; i < end; i++) {
        int v = s->op[i], *count;

        text[k++] = o->of_class[v];
        count = &text[k++];
        for (int e = o->in_at[v]; e < o->in_at[v + 1]; e++) {
            int u = place[o->in_from[e]];

            if (u < first || u >= i)
                continue;
            text[k++] = u - first;
            (*count)++;
        }
    }
    *n = (size_t)k * sizeof *text;
    return text;
}

static weft_eval_block block_of(const int *text, int n, weft_arena *a)
{
    int *of_class = WEFT_NEW(a, int, n), *n_in = WEFT_NEW(a, int, n);
    int *out_at = WEFT_NEW(a, int, n + 2), *out_to, k = 0;

    for (int i = 0; i < n; i++) {
        of_class[i] = text[k++];
        n_in[i] = text[k++];
        for (int e = 0; e < n_in[i]; e++)
            out_at[text[k++] + 2]++;
    }
    for (int i = 1; i <= n; i++)
        out_at[i + 1] += out_at[i];
    out_to = WEFT_NEW(a, int, out_at[n + 1] + 1);
    k = 0;
    for (int i = 0; i < n; i++) {
        k += 2;
        for (int e = 0; e < n_in[i]; e++)
            out_to[out_at[text[k++] + 1]++] = i;
    }
    return (weft_eval_block){
        .n = n, .of_class = of_class, .n_in = n_in, .out_at = out_at, .out_to = out_to};
}

static void find_blocks(const cutter *c, weft_arena *a, weft_eval_series *out)
{
    int *block = WEFT_NEW(a, int, out->n + 1), *place = WEFT_NEW(c->a, int, c->ops->n + 1);
    weft_map *seen = weft_map_new(c->a);

    out->of = WEFT_NEW(a, weft_eval_block, out->n + 1);
    for (int i = 0; i < c->ops->n; i++)
        place[out->op[i]] = i;
    for (int p = 0; p < out->n; p++) {
        size_t n;
        int *text = part_text(c, out, p, place, &n), size = out->op_at[p + 1] - out->op_at[p];

        block[p] = weft_map_get(seen, (const char *)text, n);
        if (block[p] < 0) {
            block[p] = out->n_blocks++;
            (void)weft_map_put(seen, (const char *)text, n, block[p]);
            out->of[block[p]] = block_of(text, size, a);
        }
        out->of[block[p]].n_copies++;
        out->most = size > out->most ? size : out->most;
    }
    out->block = block;
}

weft_eval_series weft_eval_series_of(const weft_eval_ops *ops, weft_arena *a)
{
    weft_arena *scratch = weft_arena_new();
    weft_eval_series s = {0};
    cutter c = {.ops = ops,
                .a = scratch,
                .aside = WEFT_NEW(scratch, uint8_t, ops->n + 1),
                .segment = WEFT_NEW(scratch, int, ops->n + 1)};

    if (ops->n > SMALL)
        set_aside(&c);
    find_segments(&c);
    place_aside(&c);
    c.part = WEFT_NEW(scratch, int, c.n_segments + 1);
    join_segments(&c);
    collect_parts(&c, a, &s);
    find_blocks(&c, a, &s);
    weft_arena_free(scratch);
    return s;
}
