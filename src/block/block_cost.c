/* SPDX-License-Identifier: MIT */
/* block_cost.c: what each unit costs on a block of equal devices.
 *
 * 1. Units with the same nodes, sizes and borders are worked out once (cost_net.c).
 * 2. Each forward step of a unit has a few choices, which fix what its backward and update nodes do
 *    (block_choice.c, block_options.c); the best ones together are found by elimination
 *    (block_choose.c). One device has one choice.
 * 3. Seconds are sums over the chosen; memory follows from what members have (block_memory.c).
 *
 * compute_s is the time of forward and backward nodes if memory had no end of bandwidth: every
 * model of a device takes overhead + max(cores, memory), so it is never more than forward_s +
 * backward_s, and neither is memory_s, the bytes that pass the memory over its usable bandwidth. */
#include "block_part.h"

static void add_choice(const weft_block_choice *c, weft_block_cost *cost, double *update_s)
{
    cost->forward_s += c->forward_s + c->forward_collective_s;
    cost->backward_s += c->backward_s + c->backward_collective_s;
    cost->forward_collective_s += c->forward_collective_s;
    cost->backward_collective_s += c->backward_collective_s;
    cost->compute_s += c->compute_s;
    cost->memory_s += c->memory_s;
    *update_s += c->update_s;
}

static bool is_merged_entry(const weft_block_part *p, const bool *is_merged, int tensor)
{
    for (int e = 0; e < p->n_entries; e++)
        if (p->entry[e].tensor == tensor)
            return is_merged[e];
    return false;
}

/* Operand k of the step at place i. */
static void add_operand(const weft_block_part *p, const int *state, const bool *is_merged, int i,
                        int k, weft_block_cost *cost)
{
    const weft_block_choice *to = &p->step[i].choice[state[i]];
    int from = weft_block_maker(p, i, k);
    double forward = 0, backward = 0;

    if (weft_block_is_exchanged(p, state, i, k)) {
        weft_block_exchange_s(p, state, i, k, &forward, &backward);
        if (from < 0 || !weft_block_is_kept_step(p->net, p->step[from].step))
            cost->again_s[WEFT_KEEP_SOME] += forward;
    } else if (from >= 0) {
        const weft_block_choice *maker = &p->step[from].choice[state[from]];

        forward = weft_block_edge_s(p, i, k, maker, to);
        backward = weft_block_return_s(p, i, k, maker, to);
        if (!weft_block_is_kept_step(p->net, p->step[from].step))
            cost->again_s[WEFT_KEEP_SOME] += forward;
    } else if (!is_merged_entry(p, is_merged, weft_block_step_at(p, i)->operand[k].tensor)) {
        backward = weft_block_leave_s(p, i, k, to);
    }
    cost->forward_s += forward;
    cost->forward_collective_s += forward;
    cost->backward_s += backward;
    cost->backward_collective_s += backward;
}

/* What a step leaves for other units. */
static void add_border(const weft_block_part *p, const int *state, int i, weft_block_cost *cost)
{
    double forward, backward;

    weft_block_border_s(p, state, i, &forward, &backward);
    cost->forward_s += forward;
    cost->forward_collective_s += forward;
    cost->backward_s += backward;
    cost->backward_collective_s += backward;
    if (!weft_block_is_kept_step(p->net, p->step[i].step))
        cost->again_s[WEFT_KEEP_SOME] += forward;
}

static void add_seconds(const weft_block_part *p, const int *state, const bool *is_merged,
                        weft_block_cost *cost, double *update_s)
{
    for (int i = 0; i < p->n_steps; i++) {
        const weft_block_choice *c = &p->step[i].choice[state[i]];

        add_choice(c, cost, update_s);
        if (!weft_block_is_kept_step(p->net, p->step[i].step))
            cost->again_s[WEFT_KEEP_SOME] += c->forward_s + c->forward_collective_s;
        for (int k = 0; k < weft_block_step_at(p, i)->n_operands; k++)
            add_operand(p, state, is_merged, i, k, cost);
        add_border(p, state, i, cost);
    }
    for (int e = 0; e < p->n_entries; e++)
        if (is_merged[e] && !weft_block_in_parts(p, p->entry[e].tensor)) {
            cost->backward_s += p->entry[e].merged_s;
            cost->backward_collective_s += p->entry[e].merged_s;
        }
    add_choice(&p->fixed, cost, update_s);
    cost->again_s[WEFT_KEEP_NONE] = cost->forward_s;
}

bool weft_block_solve(const weft_cost_net *n, int block, weft_arena *a, weft_block_solved *out,
                      weft_block_cost *cost, weft_block_state *hold)
{
    weft_block_part *p = &out->part;

    *cost = (weft_block_cost){0};
    *hold = (weft_block_state){0};
    if (!weft_block_part_new(n, block, a, p))
        return false;
    out->state = WEFT_NEW(a, int, p->n_steps + 1);
    out->is_merged = WEFT_NEW(a, bool, p->n_entries + 1);
    weft_block_choose(p, a, out->state, out->is_merged);
    weft_block_sequence(p, out->state);
    add_seconds(p, out->state, out->is_merged, cost, &hold->update_s);
    weft_block_memory(p, out->state, cost);
    weft_block_hold(p, out->state, hold);
    if (cost->backward_s <= 0) /* nothing is differentiated here */
        for (int r = 0; r < WEFT_N_RECOMPUTES; r++)
            cost->again_s[r] = 0;
    return true;
}

bool weft_block_costs(const weft_block_request *request, weft_arena *scratch, weft_block_cost *cost,
                      weft_block_state *state)
{
    size_t mark = weft_arena_mark(scratch);
    weft_cost_net n;
    bool is_joined = request->width == 1 || request->inside.bytes_per_s > 0;
    bool is_able = is_joined && request->width <= WEFT_MAX_MEMBERS &&
                   weft_cost_net_new(request, false, scratch, &n);
    int *like = is_able ? weft_block_likes(&n, scratch) : NULL;
    weft_block_state *all = WEFT_NEW(scratch, weft_block_state, request->blocks->n_blocks);

    for (int q = 0; q < request->blocks->n_blocks && is_able; q++) {
        size_t here = weft_arena_mark(scratch);
        weft_block_solved solved;

        if (like[q] == q) {
            is_able = weft_block_solve(&n, q, scratch, &solved, &cost[q], &all[q]);
        } else {
            cost[q] = cost[like[q]];
            all[q] = all[like[q]];
        }
        if (state && is_able)
            state[q] = all[q];
        weft_arena_rewind(scratch, here);
    }
    weft_arena_rewind(scratch, mark);
    return is_able;
}
