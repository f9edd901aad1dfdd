/* SPDX-License-Identifier: MIT */
/* unit_cost.c: what each unit costs on a block of equal devices.
 *
 * 1. Units with the same nodes, sizes and borders are worked out once (cost_net.c).
 * 2. Each forward step of a unit has a few choices, which fix what its backward and update nodes do
 *    (unit_choice.c, unit_price.c); the best ones together are found by elimination
 *    (unit_choose.c). One device has one choice.
 * 3. Seconds are sums over the chosen; memory follows from what members have (unit_memory.c).
 *
 * compute_s is the time of forward and backward nodes if memory had no end of bandwidth: every
 * model of a device takes overhead + max(cores, memory), so it is never more than forward_s +
 * backward_s, and neither is memory_s, the bytes that pass the memory over its usable bandwidth. */
#include "unit_part.h"

static void add_choice(const weft_unit_choice *c, weft_unit_cost *cost, double *update_s)
{
    cost->forward_s += c->forward_s + c->forward_collective_s;
    cost->backward_s += c->backward_s + c->backward_collective_s;
    cost->forward_collective_s += c->forward_collective_s;
    cost->backward_collective_s += c->backward_collective_s;
    cost->compute_s += c->compute_s;
    cost->memory_s += c->memory_s;
    *update_s += c->update_s;
}

static bool is_merged_entry(const weft_unit_part *p, const bool *is_merged, int tensor)
{
    for (int e = 0; e < p->n_entries; e++)
        if (p->entry[e].tensor == tensor)
            return is_merged[e];
    return false;
}

/* Operand k of the step at place i. */
static void add_operand(const weft_unit_part *p, const int *state, const bool *is_merged, int i,
                        int k, weft_unit_cost *cost)
{
    const weft_unit_choice *to = &p->step[i].choice[state[i]];
    int from = weft_unit_maker(p, i, k);
    double forward = 0, backward = 0;

    if (from >= 0) {
        const weft_unit_choice *maker = &p->step[from].choice[state[from]];

        forward = weft_unit_edge_s(p, i, k, maker, to);
        backward = weft_unit_return_s(p, i, k, maker, to);
        if (!weft_unit_is_kept_step(p->net, p->step[from].step))
            cost->again_s[WEFT_KEEP_SOME] += forward;
    } else if (!is_merged_entry(p, is_merged, weft_unit_step_at(p, i)->operand[k].tensor)) {
        backward = weft_unit_leave_s(p, i, k, to);
    }
    cost->forward_s += forward;
    cost->forward_collective_s += forward;
    cost->backward_s += backward;
    cost->backward_collective_s += backward;
}

static void add_seconds(const weft_unit_part *p, const int *state, const bool *is_merged,
                        weft_unit_cost *cost, double *update_s)
{
    for (int i = 0; i < p->n_steps; i++) {
        const weft_unit_choice *c = &p->step[i].choice[state[i]];

        add_choice(c, cost, update_s);
        if (!weft_unit_is_kept_step(p->net, p->step[i].step))
            cost->again_s[WEFT_KEEP_SOME] += c->forward_s + c->forward_collective_s;
        for (int k = 0; k < weft_unit_step_at(p, i)->n_operands; k++)
            add_operand(p, state, is_merged, i, k, cost);
    }
    for (int e = 0; e < p->n_entries; e++)
        if (is_merged[e]) {
            cost->backward_s += p->entry[e].merged_s;
            cost->backward_collective_s += p->entry[e].merged_s;
        }
    add_choice(&p->fixed, cost, update_s);
    cost->again_s[WEFT_KEEP_NONE] = cost->forward_s;
}

bool weft_unit_solve(const weft_cost_net *n, int unit, weft_arena *a, weft_unit_solved *out,
                     weft_unit_cost *cost, weft_unit_state *hold)
{
    weft_unit_part *p = &out->part;

    *cost = (weft_unit_cost){0};
    *hold = (weft_unit_state){0};
    if (!weft_unit_part_new(n, unit, a, p))
        return false;
    out->state = WEFT_NEW(a, int, p->n_steps + 1);
    out->is_merged = WEFT_NEW(a, bool, p->n_entries + 1);
    weft_unit_choose(p, a, out->state, out->is_merged);
    add_seconds(p, out->state, out->is_merged, cost, &hold->update_s);
    weft_unit_memory(p, out->state, cost);
    weft_unit_hold(p, out->state, hold);
    if (cost->backward_s <= 0) /* nothing is differentiated here */
        for (int r = 0; r < WEFT_N_RECOMPUTES; r++)
            cost->again_s[r] = 0;
    return true;
}

bool weft_unit_costs(const weft_unit_ask *ask, weft_arena *scratch, weft_unit_cost *cost,
                     weft_unit_state *state)
{
    size_t mark = weft_arena_mark(scratch);
    weft_cost_net n;
    bool is_able = ask->width <= WEFT_MAX_MEMBERS && weft_cost_net_new(ask, scratch, &n);
    int *like = is_able ? weft_unit_likes(&n, scratch) : NULL;
    weft_unit_state *all = WEFT_NEW(scratch, weft_unit_state, ask->units->n_units);

    for (int q = 0; q < ask->units->n_units && is_able; q++) {
        size_t here = weft_arena_mark(scratch);
        weft_unit_solved solved;

        if (like[q] == q) {
            is_able = weft_unit_solve(&n, q, scratch, &solved, &cost[q], &all[q]);
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
