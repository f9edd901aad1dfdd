/* SPDX-License-Identifier: MIT */
/* block_choose.c: how the operators of a unit are cut over the members of a block.
 *
 * Cuts are a property of the network and the width, not of the machine: they are those with the
 * least seconds on one nominal machine, so that a faster device or link never leads to other cuts,
 * and with them to a longer step. It does 1e12 operations a second, reads a byte of memory in the
 * time of 8 operations and receives one in that of 64, without latencies: cuts pay where products
 * have more than a few dozen columns, and element-wise work is not worth a message.
 *
 * Variables are the forward steps, with their choices as states, and the tensors that enter and
 * have several gradients: these are summed one by one, or together. The sum
 *
 *     forward + backward + update / 8
 *
 * is one over single variables and pairs (block_options.c), so elimination finds the least one
 * (weft_pairwise_min_solve), exactly as long as its tables go. An update comes once for all microbatches
 * of a step, whose number is not known here: it counts as if there were eight. A parameter that
 * several steps read must lie in the same parts for all: other pairs are not allowed. Of equal
 * sums, the one with less weights and results: a millionth of the time it takes to read them counts
 * too. */
#include <math.h>

#include "block_part.h"
#include "opt.h"

enum { MICROBATCHES = 8, MOST_ENTRIES = 1 << 18 };

typedef struct chooser {
    const weft_block_part *p;
    weft_arena *a;
    int n_vars, *n_states;
    const double **own;
    WEFT_VEC(weft_pairwise_min_pair) pair;
} chooser;

static double price_of(const weft_block_part *p, const weft_block_choice *c)
{
    return c->forward_s + c->forward_collective_s + c->backward_s + c->backward_collective_s +
           c->update_s / MICROBATCHES + 1e-6 * c->held_bytes / p->net->memory_bytes_per_s;
}

static int entry_of(const weft_block_part *p, int tensor)
{
    for (int e = 0; e < p->n_entries; e++)
        if (p->entry[e].tensor == tensor)
            return e;
    return -1;
}

/* Own seconds of a step, with gradients that leave and are not merged with others. */
static double own_s(const weft_block_part *p, int i, const weft_block_choice *c)
{
    const weft_step *s = weft_block_step_at(p, i);
    double sum = price_of(p, c);

    for (int k = 0; k < s->n_operands; k++)
        if (weft_block_maker(p, i, k) < 0 && entry_of(p, s->operand[k].tensor) < 0)
            sum += weft_block_leave_s(p, i, k, c);
    return sum;
}

static void fill_own(chooser *w)
{
    const weft_block_part *p = w->p;

    for (int i = 0; i < p->n_steps; i++) {
        double *own = WEFT_NEW(w->a, double, p->step[i].n_choices);

        for (int x = 0; x < p->step[i].n_choices; x++)
            own[x] = own_s(p, i, &p->step[i].choice[x]);
        w->n_states[i] = p->step[i].n_choices;
        w->own[i] = own;
    }
    for (int e = 0; e < p->n_entries; e++) {
        double *own = WEFT_NEW(w->a, double, 2);

        own[1] = p->entry[e].merged_s;
        w->n_states[p->n_steps + e] = 2;
        w->own[p->n_steps + e] = own;
    }
}

static void add_edge(chooser *w, int from, int to, int operand)
{
    const weft_block_step *u = &w->p->step[from], *v = &w->p->step[to];
    double *cost = WEFT_NEW(w->a, double, u->n_choices * v->n_choices);

    for (int x = 0; x < u->n_choices; x++)
        for (int y = 0; y < v->n_choices; y++)
            cost[x * v->n_choices + y] =
                weft_block_edge_s(w->p, to, operand, &u->choice[x], &v->choice[y]) +
                weft_block_return_s(w->p, to, operand, &u->choice[x], &v->choice[y]);
    WEFT_PUSH(w->a, w->pair, ((weft_pairwise_min_pair){from, to, cost}));
}

/* States of an entry: summed one by one, together. */
static void add_entry_edge(chooser *w, int e, int to, int operand)
{
    const weft_block_step *v = &w->p->step[to];
    const weft_step *s = weft_block_step_at(w->p, to);
    double *cost = WEFT_NEW(w->a, double, 2 * v->n_choices);
    bool has_gradient = weft_block_has_gradient(w->p->net, s, &s->operand[operand]);

    for (int y = 0; y < v->n_choices; y++) {
        const weft_block_choice *c = &v->choice[y];
        bool is_free =
            !has_gradient || weft_block_is_full(w->p, to, operand, c) || c->need[operand].is_same;

        cost[y] = weft_block_leave_s(w->p, to, operand, c);
        cost[v->n_choices + y] = is_free ? 0 : INFINITY;
    }
    WEFT_PUSH(w->a, w->pair, ((weft_pairwise_min_pair){w->p->n_steps + e, to, cost}));
}

static void add_edges(chooser *w)
{
    for (int i = 0; i < w->p->n_steps; i++)
        for (int k = 0; k < weft_block_step_at(w->p, i)->n_operands; k++) {
            int from = weft_block_maker(w->p, i, k);
            int e = entry_of(w->p, weft_block_step_at(w->p, i)->operand[k].tensor);

            if (from >= 0)
                add_edge(w, from, i, k);
            else if (e >= 0)
                add_entry_edge(w, e, i, k);
        }
}

static bool is_same_layout(const weft_layout *a, const weft_layout *b)
{
    return weft_layout_within(a, b) && weft_layout_within(b, a);
}

/* Two steps that read the same parameter. */
static void add_shared(chooser *w, int i, int a, int j, int b)
{
    const weft_block_step *u = &w->p->step[i], *v = &w->p->step[j];
    double *cost = WEFT_NEW(w->a, double, u->n_choices * v->n_choices);

    for (int x = 0; x < u->n_choices; x++)
        for (int y = 0; y < v->n_choices; y++)
            if (!is_same_layout(&u->choice[x].weight[a], &v->choice[y].weight[b]))
                cost[x * v->n_choices + y] = INFINITY;
    WEFT_PUSH(w->a, w->pair, ((weft_pairwise_min_pair){i, j, cost}));
}

static void add_parameters(chooser *w)
{
    const weft_block_part *p = w->p;

    for (int j = 1; j < p->n_steps; j++)
        for (int b = 0; b < weft_block_step_at(p, j)->n_weights; b++) {
            int t = weft_block_step_at(p, j)->weight[b].tensor;

            for (int i = 0; i < j && p->net->update[t] >= 0; i++)
                for (int a = 0; a < weft_block_step_at(p, i)->n_weights; a++)
                    if (weft_block_step_at(p, i)->weight[a].tensor == t)
                        add_shared(w, i, a, j, b);
        }
}

/* Each step done by every member: always possible, and the last of the plain choices. */
static void choose_copies(const weft_block_part *p, int *state, bool *is_merged)
{
    for (int i = 0; i < p->n_steps; i++) {
        state[i] = p->step[i].n_choices - 1;
        while (p->step[i].choice[state[i]].is_merged)
            state[i]--;
    }
    for (int e = 0; e < p->n_entries; e++)
        is_merged[e] = false;
}

static double value_of(const weft_pairwise_min *m, const int *state, const bool *is_merged,
                       int n_steps)
{
    double sum = 0;

    for (int v = 0; v < m->n_vars; v++)
        sum += m->own[v][v < n_steps ? state[v] : is_merged[v - n_steps]];
    for (int i = 0; i < m->n_pairs; i++) {
        int u = m->pair[i].u, v = m->pair[i].v;
        int x = u < n_steps ? state[u] : is_merged[u - n_steps];

        sum += m->pair[i].cost[x * m->n_states[v] + state[v]];
    }
    return sum;
}

void weft_block_best(const weft_block_part *p, weft_arena *a, int *state, bool *is_merged)
{
    chooser w = {.p = p, .a = a, .n_vars = p->n_steps + p->n_entries};
    weft_pairwise_min m;
    weft_pairwise_min_answer answer;

    choose_copies(p, state, is_merged);
    if (p->net->request->width == 1 || p->n_steps == 0)
        return;
    w.n_states = WEFT_NEW(a, int, w.n_vars);
    w.own = WEFT_NEW(a, const double *, w.n_vars);
    fill_own(&w);
    add_edges(&w);
    add_parameters(&w);
    m = (weft_pairwise_min){w.n_vars, w.n_states, w.own, w.pair.n, w.pair.at};
    weft_pairwise_min_solve(&m, NULL, MOST_ENTRIES, a, &answer);
    if (answer.state == NULL || answer.value > value_of(&m, state, is_merged, p->n_steps))
        return;
    for (int i = 0; i < p->n_steps; i++)
        state[i] = answer.state[i];
    for (int e = 0; e < p->n_entries; e++)
        is_merged[e] = answer.state[p->n_steps + e] == 1;
}

/* --- the nominal machine --------------------------------------------------------------------- */

static weft_design nominal_design(void)
{
    weft_design d = {.name = "nominal", .model = WEFT_ROOFLINE};

    d.value[WEFT_P_FLOPS] = 1e12;
    d.value[WEFT_P_BANDWIDTH] = 1e12 / 8;
    d.value[WEFT_P_ETA] = 1;
    for (int i = 0; i < WEFT_N_FAMILIES; i++)
        d.efficiency[i] = 1;
    return d;
}

void weft_block_choose(const weft_block_part *p, weft_arena *a, int *state, bool *is_merged)
{
    weft_design design = nominal_design();
    weft_block_request request = *p->net->request;
    weft_cost_net net = *p->net;
    weft_block_part nominal;

    if (request.width == 1 || p->n_steps == 0) {
        choose_copies(p, state, is_merged);
        return;
    }
    request.design = &design;
    request.inside = (weft_link_cost){.bytes_per_s = 1e12 / 64};
    net.request = &request;
    net.free_memory = design;
    net.memory_bytes_per_s = design.value[WEFT_P_BANDWIDTH];
    net.log = NULL;
    if (weft_block_part_new(&net, p->block, a, &nominal))
        weft_block_best(&nominal, a, state, is_merged);
    else
        choose_copies(p, state, is_merged);
}
