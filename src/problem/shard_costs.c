/* SPDX-License-Identifier: MIT */
/* shard_costs.c: what a plan of a sharded network costs, piece by piece, by the formulas of
 * split.h; and the order of its steps.
 *
 * Order: steps whose predecessors are taken wait by (start, class, number); the first is taken. If
 * no step starts before one that it reads from, starts never fall along this order: a step that
 * starts earlier than the one taken would itself be waiting, or one of its predecessors, which
 * start no later. So a fall is a contradiction, and the other way round. O(n log n).
 *
 * Classes make simulated starts give the same run again. One after the other, of steps with equal
 * starts only the first to run can have had operands to wait for, and only the last can have taken
 * time: these classes come first and last. Side by side, of such steps on one set all but the last
 * to run take no time. */
#include <math.h>
#include <string.h>

#include "queue.h"
#include "shard_plan.h"

/* --- what moves ------------------------------------------------------------------------------ */

/* Seconds for which a move occupies what it shares; one after the other there is nobody else. */
static weft_link_cost shared_link(const weft_shard_plan_costs *d, const weft_device_set *from,
                                  const weft_device_set *to)
{
    const weft_platform *f = d->p->platform;
    weft_arena *scratch;
    weft_link_cost link = {.bytes_per_s = INFINITY};

    if (!d->p->constraints.is_concurrent || (f->n_resources == 0 && f->transfer != WEFT_CONTEND))
        return link;
    scratch = weft_arena_new();
    link = weft_shared_way_of(d->p, from, to, scratch).link;
    weft_arena_free(scratch);
    return link;
}

static weft_move from_host(const weft_shard_plan_costs *d, int v, int k)
{
    weft_link_cost span = weft_host_link_cost(d->p, weft_device_set_of(d->s, v));
    weft_link_cost shared = shared_link(d, NULL, weft_device_set_of(d->s, v));
    double total, need = weft_need_bytes(d->p->steps, v, k, &d->s->split[v], &total);
    bool is_sent = d->p->platform->host >= 0;

    return (weft_move){.kind = WEFT_MOVE_HOST,
                       .seconds = is_sent ? weft_link_cost_s(&span, need) : 0,
                       .shared_s = is_sent ? weft_link_cost_s(&shared, need) : 0,
                       .held_bytes = need,
                       .sent_bytes = is_sent ? total : 0};
}

static weft_move between_members(const weft_shard_plan_costs *d, int u, int v, int k)
{
    const weft_steps *steps = d->p->steps;
    const weft_split *from = &d->s->split[u], *to = &d->s->split[v];
    double total, largest = weft_reshard_bytes(steps, v, k, from, to, &total);
    const weft_device_set *here = weft_device_set_of(d->s, v);
    weft_link_cost shared = shared_link(d, here, here);

    return (weft_move){.kind = WEFT_MOVE_INSIDE,
                       .seconds = weft_reshard_s(&d->inside[d->s->set_of[v]], largest),
                       .shared_s = weft_reshard_s(&shared, largest),
                       .held_bytes = largest > 0 ? weft_need_bytes(steps, v, k, to, NULL) : 0,
                       .sent_bytes = total};
}

static weft_move between_sets(const weft_shard_plan_costs *d, int u, int v, int k)
{
    const weft_steps *steps = d->p->steps;
    const weft_device_set *from = weft_device_set_of(d->s, u);
    weft_link_cost span = weft_pair_link_cost(d->p, from, weft_device_set_of(d->s, v));
    weft_link_cost shared = shared_link(d, from, weft_device_set_of(d->s, v));
    double total, tensor, need = weft_need_bytes(steps, v, k, &d->s->split[v], &total);

    weft_result_bytes(steps, u, steps->step[v].operand[k].result, &d->s->split[u], &tensor);
    return (weft_move){.kind = WEFT_MOVE_OVER,
                       .seconds = weft_handover_s(&span, need, tensor, from->n),
                       .shared_s = weft_handover_s(&shared, need, tensor, from->n),
                       .held_bytes = need,
                       .sent_bytes = total};
}

static weft_move move_of(const weft_shard_plan_costs *d, int v, int k)
{
    const weft_step_operand *o = &d->p->steps->step[v].operand[k];
    weft_move m = o->step < 0                                ? from_host(d, v, k)
                  : d->s->set_of[o->step] == d->s->set_of[v] ? between_members(d, o->step, v, k)
                                                             : between_sets(d, o->step, v, k);

    m.step = v;
    m.operand = k;
    m.source = o->step;
    m.result = o->result;
    return m;
}

static int result_of(const weft_step *s, int tensor)
{
    for (int r = 0; r < s->n_results; r++)
        if (s->result[r] == tensor)
            return r;
    return -1;
}

/* Result r of step v goes to the host. */
static weft_move to_host(const weft_shard_plan_costs *d, int v, int r)
{
    weft_link_cost span = weft_host_link_cost(d->p, weft_device_set_of(d->s, v));
    weft_link_cost shared = shared_link(d, weft_device_set_of(d->s, v), NULL);
    double total, part = weft_result_bytes(d->p->steps, v, r, &d->s->split[v], &total);
    bool is_sent = d->p->platform->host >= 0;

    return (weft_move){.kind = WEFT_MOVE_HOST,
                       .step = v,
                       .operand = -1,
                       .source = v,
                       .result = r,
                       .seconds = is_sent ? weft_link_cost_s(&span, part) : 0,
                       .shared_s = is_sent ? weft_link_cost_s(&shared, part) : 0,
                       .sent_bytes = is_sent ? total : 0};
}

/* Outputs in the order of the network, each once; those that are inputs or constants stay. */
static int list_outputs(weft_shard_plan_costs *d, int n, weft_arena *a)
{
    const weft_graph *g = d->p->steps->graph;
    bool *is_done = WEFT_NEW(a, bool, g->n_tensors + 1);

    for (int i = 0; i < g->n_outputs; i++) {
        int t = g->output[i], u = g->tensor[t].producer;
        int v = u < 0 ? -1 : d->p->steps->of_node[u];
        int r = v < 0 || is_done[t] ? -1 : result_of(&d->p->steps->step[v], t);

        is_done[t] = true;
        if (r >= 0)
            d->move[n++] = to_host(d, v, r);
    }
    return n;
}

static void list_moves(weft_shard_plan_costs *d, weft_arena *a)
{
    const weft_steps *s = d->p->steps;
    int n = 0, most = s->graph->n_outputs, *at = WEFT_NEW(a, int, s->n + 1);

    for (int v = 0; v < s->n; v++)
        most += s->step[v].n_operands;
    d->move = WEFT_NEW(a, weft_move, most + 1);
    for (int v = 0; v < s->n; v++) {
        at[v] = n;
        for (int k = 0; k < s->step[v].n_operands; k++)
            d->move[n++] = move_of(d, v, k);
    }
    at[s->n] = n;
    d->move_at = at;
    d->n_moves = list_outputs(d, n, a);
}

/* --- what comes first at equal times --------------------------------------------------------- */

static double mode_s(const weft_shard_plan_costs *d, int v)
{
    return weft_split_cost_s(&d->mode[v], &d->inside[d->s->set_of[v]], d->p->hides);
}

/* Share of v that is computed while its first operand moves between members. */
static double share_beside(const weft_shard_plan_costs *d, int v)
{
    const weft_move *m = &d->move[d->move_at[v]];

    if (!d->p->hides || d->mode[v].n_phases > 1 || d->is_short[v] ||
        d->move_at[v] == d->move_at[v + 1] || m->kind != WEFT_MOVE_INSIDE || !(m->seconds > 0))
        return 0;
    return weft_interior_share(d->p->steps, v, m->operand, &d->s->split[m->source],
                               &d->s->split[v]);
}

/* Do operands of v move before it computes? */
static bool is_delayed(const weft_shard_plan_costs *d, int v)
{
    for (int i = d->move_at[v] + (d->share[v] > 0); i < d->move_at[v + 1]; i++)
        if (d->move[i].seconds > 0)
            return true;
    return false;
}

/* --- order ----------------------------------------------------------------------------------- */

/* Steps that may be taken now: by start, class (of equal starts the lower comes first), number. */
typedef struct waiting {
    const weft_shard_plan *s;
    const char *class; /* [n_steps] */
    weft_queue queue;
} waiting;

static void push(waiting *w, int v)
{
    int64_t rank = (int64_t)w->class[v] * w->s->n_steps + v;

    weft_queue_push(&w->queue, (weft_queued){w->s->start_s[v], rank, v});
}

/* Who reads from u, an entry for each operand: to[at[u]] .. to[at[u + 1] - 1]. */
typedef struct readers {
    int *at, *to;
} readers;

static readers list_readers(const weft_steps *s, weft_arena *a)
{
    readers r = {.at = WEFT_NEW(a, int, s->n + 2)};

    for (int v = 0; v < s->n; v++)
        for (int k = 0; k < s->step[v].n_operands; k++)
            if (s->step[v].operand[k].step >= 0)
                r.at[s->step[v].operand[k].step + 2]++;
    for (int u = 0; u < s->n; u++)
        r.at[u + 2] += r.at[u + 1];
    r.to = WEFT_NEW(a, int, r.at[s->n + 1]);
    for (int v = 0; v < s->n; v++) /* moves each at[u + 1] to where u ends */
        for (int k = 0; k < s->step[v].n_operands; k++)
            if (s->step[v].operand[k].step >= 0)
                r.to[r.at[s->step[v].operand[k].step + 1]++] = v;
    return r;
}

/* Fills order; the number of steps taken before starts fall. */
static int take_all(const weft_steps *s, waiting *w, int *order, weft_arena *scratch)
{
    readers r = list_readers(s, scratch);
    int *pending = WEFT_NEW(scratch, int, s->n), n = 0;

    for (int i = 0; i < r.at[s->n]; i++)
        pending[r.to[i]]++;
    for (int v = 0; v < s->n; v++)
        if (pending[v] == 0)
            push(w, v);
    while (w->queue.n > 0) {
        int u = weft_queue_pop(&w->queue).id;

        if (n > 0 && w->s->start_s[u] < w->s->start_s[order[n - 1]])
            break;
        order[n++] = u;
        for (int i = r.at[u]; i < r.at[u + 1]; i++)
            if (--pending[r.to[i]] == 0)
                push(w, r.to[i]);
    }
    return n;
}

const int *weft_shard_plan_order(const weft_shard_plan_costs *d, weft_arena *a)
{
    int *order = WEFT_NEW(a, int, d->s->n_steps + 1), n;
    size_t mark = weft_arena_mark(a);
    char *class = WEFT_NEW(a, char, d->s->n_steps + 1);
    waiting w = {
        d->s, class, {WEFT_NEW(a, weft_queued, d->s->n_steps + 1), 0}
    };

    for (int v = 0; v < d->s->n_steps; v++)
        class[v] = !d->p->constraints.is_concurrent && is_delayed(d, v) ? 0
                   : d->is_short[v]                                     ? 1
                                                                        : 2;
    n = take_all(d->p->steps, &w, order, a);
    weft_arena_rewind(a, mark);
    return n == d->s->n_steps ? order : NULL;
}

/* --- the whole ------------------------------------------------------------------------------- */

weft_shard_plan_costs weft_shard_plan_costs_of(const weft_shard_problem *p,
                                               const weft_shard_plan *s,
                                               const weft_split_cost *mode, weft_arena *a)
{
    weft_link_cost *inside = WEFT_NEW(a, weft_link_cost, s->n_sets + 1);
    bool *is_short = WEFT_NEW(a, bool, s->n_steps + 1);
    double *share = WEFT_NEW(a, double, s->n_steps + 1);
    weft_shard_plan_costs d = {.p = p, .s = s, .mode = mode, .inside = inside};

    for (int k = 0; k < s->n_sets; k++)
        inside[k] = weft_device_set_link(p, &s->set[k]);
    list_moves(&d, a);
    for (int v = 0; v < s->n_steps; v++)
        is_short[v] = !(mode_s(&d, v) > 0);
    d.is_short = is_short;
    for (int v = 0; v < s->n_steps; v++)
        share[v] = share_beside(&d, v);
    d.share = share;
    return d;
}
