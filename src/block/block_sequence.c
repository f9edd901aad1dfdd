/* SPDX-License-Identifier: MIT */
/* block_sequence.c: sequence parallelism beside tensor cuts.
 *
 * The tensor cuts stay those of block_choose.c. On top of them, what crosses between units and what is
 * done place by place between the products lies in equal parts of the sequence, one for each member:
 *
 * 1. A tensor [samples, sequence, features] that crosses between units, and the gradient of it, lies in
 *    parts if the width divides its sequence.
 * 2. In the order of the steps: a product whose partial sums members combine scatters them along the
 *    sequence (a reduce-scatter in place of the all-reduce), and what follows it in its step is done on
 *    the parts. A step that is no product, trains no matrix, and reads tensors in parts only, as norms,
 *    dropout and additions do, is done by each member for its part.
 * 3. A tensor in parts is gathered once for all steps that need more of it; gradients that these give
 *    of the whole are added up by each member and scattered once. Products read what was gathered again
 *    for the gradients of their weights: it is gathered beside computation, and not kept.
 *
 * A reduce-scatter and an all-gather together take what an all-reduce takes (Korthikanti et al., MLSys
 * 2023). What is saved is the work between the products, and the memory of what is in parts. */
#include "block_part.h"

enum { SEQUENCE = 1 }; /* the dimension */

bool weft_block_in_parts(const weft_block_part *p, int tensor)
{
    const weft_graph *g = p->net->graph;
    const weft_tensor *t = &g->tensor[tensor];

    return p->net->request->is_sequence && p->net->request->width > 1 && t->shape->rank == 3 &&
           weft_dtype_is_float(t->type) && t->producer >= 0 &&
           weft_block_is_forward_value(g, tensor) &&
           t->shape->dim[SEQUENCE] >= p->net->request->width &&
           t->shape->dim[SEQUENCE] % p->net->request->width == 0;
}

weft_layout weft_block_parts(const weft_block_part *p, int tensor)
{
    weft_layout l = weft_block_whole(p, tensor);
    weft_box *box = WEFT_NEW_RAW(p->arena, weft_box, l.n_members);
    int64_t part = p->net->graph->tensor[tensor].shape->dim[SEQUENCE] / l.n_members;

    for (int j = 0; j < l.n_members; j++) {
        box[j] = l.box[j];
        box[j].lo[SEQUENCE] = part * j;
        box[j].hi[SEQUENCE] = part * (j + 1);
    }
    l.box = box;
    l.is_same = false;
    return l;
}

static bool is_in_parts(const weft_block_part *p, int tensor, const weft_layout *l)
{
    weft_layout parts;

    if (!weft_block_in_parts(p, tensor))
        return false;
    parts = weft_block_parts(p, tensor);
    return weft_layout_within(l, &parts) && weft_layout_within(&parts, l);
}

/* The axis whose blocks are the parts of the first result; -1: none. */
static int sequence_axis(const weft_block_part *p, int v)
{
    const weft_step *s = &p->net->request->steps->step[v];

    for (int k = 0; k < s->n_axes && s->n_results > 0; k++) {
        weft_split split = weft_split_copies(p->net->request->width);
        weft_block_choice c;

        split.factor[k] = (uint8_t)p->net->request->width;
        if (s->axis[k].kind != WEFT_AXIS_PARALLEL || s->axis[k].is_statistic ||
            !weft_split_is_valid(p->net->request->steps, v, &split))
            continue;
        weft_block_layouts(p, v, &split, &c);
        if (is_in_parts(p, s->result[0], &c.result[0]))
            return k;
    }
    return -1;
}

/* Steps of the unit whose sums, where they are scattered, are scattered along the sequence. */
static void turn_scatters(weft_block_part *p)
{
    weft_cost_net *net = weft_arena_copy(p->arena, p->net, sizeof *net);
    weft_block_request *request = weft_arena_copy(p->arena, net->request, sizeof *request);
    weft_steps *steps = weft_arena_copy(p->arena, request->steps, sizeof *steps);
    weft_step *step = weft_arena_copy(p->arena, steps->step, (size_t)steps->n * sizeof *step);

    for (int i = 0; i < p->n_steps; i++)
        step[p->step[i].step].scatter = sequence_axis(p, p->step[i].step);
    steps->step = step;
    request->steps = steps;
    net->request = request;
    p->net = net;
}

/* --- steps ----------------------------------------------------------------------------------- */

static bool trains_matrix(const weft_block_part *p, const weft_step *s)
{
    for (int k = 0; k < s->n_weights; k++)
        if (p->net->update[s->weight[k].tensor] >= 0 &&
            p->net->graph->tensor[s->weight[k].tensor].shape->rank > 1)
            return true;
    return false;
}

/* Are all operands of the step there in parts? */
static bool reads_parts(const weft_block_part *p, const int *state, int place)
{
    const weft_step *s = weft_block_step_at(p, place);

    for (int k = 0; k < s->n_operands; k++) {
        int from = weft_block_maker(p, place, k);

        if (from < 0 ? !weft_block_in_parts(p, s->operand[k].tensor)
                     : !p->step[from].choice[state[from]].is_sequence)
            return false;
    }
    return s->n_operands > 0;
}

/* Everything that the choice leaves, and all that it needs but the operands of products, in parts. */
static bool is_sequence_choice(const weft_block_part *p, int place, const weft_block_choice *c,
                               bool is_product)
{
    const weft_step *s = weft_block_step_at(p, place);

    for (int k = 0; k < s->n_results; k++)
        if (!is_in_parts(p, s->result[k], &c->result[k]))
            return false;
    for (int k = 0; k < s->n_operands && !is_product; k++)
        if (!is_in_parts(p, s->operand[k].tensor, &c->need[k]))
            return false;
    return s->n_results > 0;
}

/* The choice as it was before its gradients were merged. */
static const weft_block_choice *plain_choice(const weft_block_step *x, int state)
{
    const weft_block_choice *c = &x->choice[state];

    return c->is_merged ? c - x->n_choices / 2 : c;
}

/* A maker that is done whole and merges gradients takes only whole ones. */
static bool suits_makers(const weft_block_part *p, const int *state, int place,
                         const weft_block_choice *c)
{
    for (int k = 0; k < weft_block_step_at(p, place)->n_operands; k++) {
        int from = weft_block_maker(p, place, k);

        if (from >= 0 && p->step[from].choice[state[from]].is_merged && !c->need[k].is_same)
            return false;
    }
    return true;
}

/* Takes the step over in parts of the sequence, as one more choice; false: it stays as it is. */
static bool take_parts(weft_block_part *p, int *state, int place)
{
    weft_block_step *x = &p->step[place];
    const weft_step *s = weft_block_step_at(p, place);
    const weft_block_choice *plain = plain_choice(x, state[place]);
    bool is_product = weft_block_is_tensor_step(p->net, x->step);
    weft_block_choice c = {.split = plain->split, .is_sequence = true}, *list;

    if (s->scatter < 0 || plain->is_by_part ||
        (is_product ? !plain->has_sums : trains_matrix(p, s) || !reads_parts(p, state, place)))
        return false;
    if (is_product) {
        c.split.is_scattered = true;
    } else {
        c.split = weft_split_copies(p->net->request->width);
        c.split.factor[s->scatter] = (uint8_t)p->net->request->width;
    }
    if (!weft_split_is_valid(p->net->request->steps, x->step, &c.split))
        return false;
    weft_block_layouts(p, x->step, &c.split, &c);
    if (!is_sequence_choice(p, place, &c, is_product) || !suits_makers(p, state, place, &c) ||
        !weft_block_price(p, x->step, &c) || (!is_product && c.has_sums))
        return false;
    list = WEFT_NEW(p->arena, weft_block_choice, x->n_choices + 1);
    for (int k = 0; k < x->n_choices; k++)
        list[k] = x->choice[k];
    list[x->n_choices] = c;
    x->choice = list;
    state[place] = x->n_choices++;
    return true;
}

void weft_block_sequence(weft_block_part *p, int *state)
{
    if (!p->net->request->is_sequence || p->net->request->width == 1)
        return;
    turn_scatters(p);
    for (int i = 0; i < p->n_steps; i++)
        (void)take_parts(p, state, i);
}

/* --- seconds --------------------------------------------------------------------------------- */

/* What entering tensors, and results of steps in parts, cost beside the steps: see 3. */
typedef struct exchange {
    double gather_s, torn_s;  /* forward */
    double scatter_s, rest_s; /* backward: of the whole, once; others, one by one */
} exchange;

static void add_reader(const weft_block_part *p, const int *state, const weft_layout *own, int from,
                       int place, int operand, exchange *to)
{
    const weft_step *s = weft_block_step_at(p, place);
    const weft_step_operand *x = &s->operand[operand];
    const weft_block_choice *c = &p->step[place].choice[state[place]];
    const weft_layout *need = &c->need[operand];
    const weft_link_cost *inside = &p->net->request->inside;
    double bytes = weft_block_element_bytes(p, x->tensor), gather_s, sum_s = 0;
    bool has_sum =
        weft_block_has_gradient(p->net, s, x) && !weft_block_is_full(p, place, operand, c);

    gather_s = weft_reshard_s(inside, bytes * (double)weft_layout_receive(own, need));
    if (has_sum)
        sum_s = weft_layout_sum_s(need, own, bytes, inside);
    if (gather_s > to->gather_s)
        to->gather_s = gather_s;
    if (!need->is_same)
        to->rest_s += sum_s;
    else if (sum_s > to->scatter_s)
        to->scatter_s = sum_s;
    if (from >= 0) {
        const weft_block_choice *maker = &p->step[from].choice[state[from]];

        to->torn_s += weft_block_edge_s(p, place, operand, maker, c) - gather_s;
        to->rest_s += weft_block_return_s(p, place, operand, maker, c) - sum_s;
    }
}

/* Is this the first place in the unit where the tensor is read? */
static bool is_first_reader(const weft_block_part *p, int place, int operand)
{
    int tensor = weft_block_step_at(p, place)->operand[operand].tensor;

    for (int i = 0; i <= place; i++)
        for (int k = 0; k < weft_block_step_at(p, i)->n_operands; k++) {
            if (weft_block_step_at(p, i)->operand[k].tensor != tensor)
                continue;
            return i == place && k == operand;
        }
    return true;
}

bool weft_block_is_exchanged(const weft_block_part *p, const int *state, int place, int operand)
{
    int from = weft_block_maker(p, place, operand);

    return from < 0 ? weft_block_in_parts(p, weft_block_step_at(p, place)->operand[operand].tensor)
                    : p->step[from].choice[state[from]].is_sequence;
}

void weft_block_exchange_s(const weft_block_part *p, const int *state, int place, int operand,
                           double *forward_s, double *backward_s)
{
    int from = weft_block_maker(p, place, operand);
    int tensor = weft_block_step_at(p, place)->operand[operand].tensor;
    weft_layout own;
    exchange sum = {0};

    *forward_s = *backward_s = 0;
    if (!is_first_reader(p, place, operand))
        return;
    own = weft_block_parts(p, tensor);
    for (int i = place; i < p->n_steps; i++)
        for (int k = 0; k < weft_block_step_at(p, i)->n_operands; k++)
            if (weft_block_step_at(p, i)->operand[k].tensor == tensor)
                add_reader(p, state, &own, from, i, k, &sum);
    *forward_s = sum.gather_s + sum.torn_s;
    *backward_s = sum.scatter_s + sum.rest_s;
}

void weft_block_border_s(const weft_block_part *p, const int *state, int place, double *forward_s,
                         double *backward_s)
{
    const weft_step *s = weft_block_step_at(p, place);
    const weft_block_choice *c = &p->step[place].choice[state[place]];

    *forward_s = *backward_s = 0;
    for (int k = 0; k < s->n_results; k++) {
        weft_layout all, parts;
        double bytes = weft_block_element_bytes(p, s->result[k]), gather_s;

        if (!weft_block_in_parts(p, s->result[k]) ||
            !weft_block_leaves(p->net, p->block, s->result[k]))
            continue;
        all = weft_block_whole(p, s->result[k]);
        parts = weft_block_parts(p, s->result[k]);
        gather_s = weft_reshard_s(&p->net->request->inside,
                                  bytes * (double)weft_layout_receive(&parts, &all));
        if (c->is_sequence)
            *forward_s -= gather_s; /* which it would take to leave whole */
        if (p->net->has_gradient[s->result[k]] &&
            (!c->is_sequence ||
             (c->split.is_scattered && weft_block_n_gradients(p, s->result[0]) == 0)))
            *backward_s += gather_s; /* the backward nodes of the maker need all of it */
    }
}
