/* SPDX-License-Identifier: MIT */
/* block_options.c: what the choices of a unit cost.
 *
 * 1. Backward nodes are done where their forward node is: their nests have its axes. A gradient of
 *    an operand is there in the parts that were needed of the operand. Unless the step is a copy,
 *    or the operator is one behind the head that every member does on the same whole result, these
 *    are parts of a sum (block_layout.c).
 * 2. A parameter is updated where it lies; members that have the same part of it sum its gradient
 *    first, for each microbatch.
 * 3. What enters a unit is whole on each member and its gradient leaves whole; what leaves is
 *    gathered. The loss is computed where its operand lies; cut along the last dimension, members
 *    combine two numbers for each place.
 * 4. Several readers of a tensor: their gradients are each brought to where the tensor was made, or
 *    (merged) added up by each member first, if each has a part of the sum for all of the tensor.
 * 5. Columns of a matrix have any order: if they are cut, and a Split is all that reads the
 *    product, the blocks of the Split's parts are there.
 *
 * So each cost belongs to one step, or to a step and the maker of one of its operands. Seconds are
 * those of the slowest member, and never too low for these rules. */
#include <math.h>
#include <string.h>

#include "block_part.h"

static bool is_copy(const weft_block_part *p, const weft_block_choice *c)
{
    return p->net->request->width == 1 || (weft_split_is_copy(&c->split) && !c->is_by_part);
}

/* --- nodes ----------------------------------------------------------------------------------- */

/* The operator whose name decides support: a backward node's is that of its forward node. */
static bool is_supported(const weft_cost_net *n, int u, const weft_work_key *k)
{
    const weft_node *x = &n->graph->node[u];

    if (x->phase == WEFT_BACKWARD && x->forward >= 0)
        x = &n->graph->node[x->forward];
    return k->is_view || weft_design_supports(n->request->design, x->op, x->domain);
}

/* Adds the cost of a node's work; false: not supported. */
static bool add_work(const weft_cost_net *n, int u, const weft_work_key *k, weft_block_choice *c)
{
    weft_phase phase = n->graph->node[u].phase;
    weft_cost cost = weft_design_cost(n->request->design, k);

    if (!is_supported(n, u, k) || !isfinite(cost.seconds))
        return false;
    if (n->log != NULL && !k->is_view)
        WEFT_PUSH(n->log->arena, n->log->note, ((weft_block_note){phase, *k}));
    *(phase == WEFT_FORWARD    ? &c->forward_s
      : phase == WEFT_BACKWARD ? &c->backward_s
                               : &c->update_s) += cost.seconds;
    if (phase == WEFT_UPDATE)
        return true;
    c->compute_s += weft_design_cost(&n->free_memory, k).seconds;
    c->memory_s += cost.memory_bytes / n->memory_bytes_per_s;
    return true;
}

static int64_t scaled(int64_t x, double share)
{
    return (int64_t)ceil((double)x * share);
}

/* A node that works element by element, on a share of the elements. */
static bool add_share(const weft_cost_net *n, int u, double share, weft_block_choice *c)
{
    weft_work_key k;

    weft_work_key_of(n->graph, u, &k);
    if (share < 1) {
        k.flops = scaled(k.flops, share);
        k.points = scaled(k.points, share);
        k.read_bytes = scaled(k.read_bytes, share);
        k.write_bytes = scaled(k.write_bytes, share);
    }
    return add_work(n, u, &k, c);
}

/* Nodes of the step and their backward nodes in the unit. */
static int list_nodes(const weft_block_part *p, const weft_step *s, int *node)
{
    const weft_cost_net *n = p->net;
    int count = 0;

    for (int i = 0; i < s->n_nodes; i++) {
        int u = s->node[i];

        node[count++] = u;
        for (int k = n->back_at[u]; k < n->back_at[u + 1]; k++)
            if (n->of_node[n->back[k]] == p->block)
                node[count++] = n->back[k];
    }
    return count;
}

static bool add_nodes(const weft_block_part *p, int v, weft_block_choice *c)
{
    const weft_cost_net *n = p->net;
    const weft_step *s = &n->request->steps->step[v];
    int most = s->n_nodes, count, *node;
    weft_work_key *key;

    for (int i = 0; i < s->n_nodes; i++)
        most += n->back_at[s->node[i] + 1] - n->back_at[s->node[i]];
    node = WEFT_NEW(p->arena, int, most);
    count = list_nodes(p, s, node);
    key = WEFT_NEW(p->arena, weft_work_key, count);
    if (!c->is_by_part)
        weft_split_keys(n->request->steps, v, &c->split, count, node, key);
    for (int i = 0; i < count; i++)
        if (c->is_by_part ? !add_share(n, node[i], 1.0 / n->request->width, c)
                          : !add_work(n, node[i], &key[i], c))
            return false;
    return true;
}

/* Statistics of a loss whose operand is cut along the last dimension. */
static double loss_s(const weft_block_part *p, int tensor, const weft_layout *l)
{
    const weft_tensor *t = &p->net->graph->tensor[tensor];
    int last = t->shape->rank - 1;
    double places;

    if (l->is_same || last < 0 || l->box[0].hi[last] - l->box[0].lo[last] == t->shape->dim[last])
        return 0;
    places = (double)t->elements / (double)t->shape->dim[last];
    return weft_ring_s(&p->net->request->inside, p->net->request->width, WEFT_ALL_REDUCE,
                       2 * fmax(WEFT_STATISTIC_BYTES, weft_block_element_bytes(p, tensor)) *
                           places);
}

/* Nodes that are done where a tensor lies. */
static bool add_loose(const weft_block_part *p, int tensor, const weft_layout *l,
                      weft_block_choice *c)
{
    const weft_graph *g = p->net->graph;
    int64_t n = g->tensor[tensor].elements;

    for (int i = 0; i < p->n_loose; i++) {
        int u = p->loose[i].node;

        if (p->loose[i].tensor != tensor)
            continue;
        p->loose[i].is_placed = true;
        if (!add_share(p->net, u, n > 0 ? (double)weft_layout_most(l) / (double)n : 1, c))
            return false;
        if (strcmp(g->node[u].op, "Loss") == 0)
            c->backward_collective_s += loss_s(p, tensor, l);
    }
    return true;
}

/* --- what a step costs by itself ------------------------------------------------------------- */

/* Sums and statistics, forward and backward. Gradients of scattered sums are gathered for backward
 * nodes; those that come from outside alone are whole. */
static void add_collectives(const weft_block_part *p, int v, weft_block_choice *c)
{
    const weft_block_request *request = p->net->request;
    const weft_step *s = &request->steps->step[v];
    weft_split plain = c->split;
    weft_split_cost m;

    if (weft_split_is_copy(&c->split) || request->width == 1)
        return;
    m = weft_split_cost_of(request->steps, v, &c->split, request->design);
    c->forward_collective_s += weft_split_reduce_s(&m, &request->inside);
    c->has_sums = m.n_reduce > 1 || m.n_statistic > 1;
    c->extra_bytes = m.extra_bytes;
    plain.is_scattered = false;
    if (c->split.is_scattered && s->n_results > 0 && weft_block_n_gradients(p, s->result[0]) > 0) {
        weft_block_choice all;

        weft_block_layouts(p, v, &plain, &all);
        c->backward_collective_s += weft_reshard_s(
            &request->inside, weft_block_element_bytes(p, s->result[0]) *
                                  (double)weft_layout_receive(&c->result[0], &all.result[0]));
    }
    m.reduce_bytes = 0;
    c->backward_collective_s += weft_split_reduce_s(&m, &request->inside);
}

/* Is weight k of step v the first mention of its tensor in the unit? */
static bool is_first_mention(const weft_block_part *p, const weft_step *s, int k)
{
    for (int i = 0; i < k; i++)
        if (s->weight[i].tensor == s->weight[k].tensor)
            return false;
    for (int i = 0; i < p->n_steps && weft_block_step_at(p, i) != s; i++)
        for (int w = 0; w < weft_block_step_at(p, i)->n_weights; w++)
            if (weft_block_step_at(p, i)->weight[w].tensor == s->weight[k].tensor)
                return false;
    return true;
}

/* Gradients of parameters that several members have, and what is done where they lie. */
static bool add_weights(const weft_block_part *p, int v, weft_block_choice *c)
{
    const weft_cost_net *n = p->net;
    const weft_step *s = &n->request->steps->step[v];

    for (int k = 0; k < s->n_weights; k++) {
        const weft_step_operand *x = &s->weight[k];
        double bytes = weft_block_element_bytes(p, x->tensor);
        bool is_full = is_copy(p, c) || (x->node > 0 && c->result[0].is_same);

        c->held_bytes += bytes * (double)weft_layout_most(&c->weight[k]);
        if (!is_full && n->update[x->tensor] >= 0 && weft_block_has_gradient(n, s, x))
            c->backward_collective_s +=
                weft_layout_sum_s(&c->weight[k], &c->weight[k], bytes, &n->request->inside);
        if (is_first_mention(p, s, k) && !add_loose(p, x->tensor, &c->weight[k], c))
            return false;
    }
    return true;
}

static bool add_results(const weft_block_part *p, int v, weft_block_choice *c)
{
    const weft_cost_net *n = p->net;
    const weft_step *s = &n->request->steps->step[v];

    for (int k = 0; k < s->n_results; k++) {
        double bytes = weft_block_element_bytes(p, s->result[k]);

        c->held_bytes += bytes * (double)weft_layout_most(&c->result[k]);
        if (!add_loose(p, s->result[k], &c->result[k], c))
            return false;
        if (!c->result[k].is_same && weft_block_leaves(n, p->block, s->result[k])) {
            weft_layout all = weft_block_whole(p, s->result[k]);

            c->forward_collective_s += weft_reshard_s(
                &n->request->inside, bytes * (double)weft_layout_receive(&c->result[k], &all));
        }
    }
    return true;
}

static void add_merged(const weft_block_part *p, int v, weft_block_choice *c)
{
    int tensor = p->net->request->steps->step[v].result[0];
    weft_layout all = weft_block_whole(p, tensor);

    c->backward_collective_s += weft_layout_sum_s(
        &all, &c->result[0], weft_block_element_bytes(p, tensor), &p->net->request->inside);
}

/* --- a step and the maker of an operand ------------------------------------------------------ */

int weft_block_maker(const weft_block_part *p, int place, int operand)
{
    int v = weft_block_step_at(p, place)->operand[operand].step;
    const weft_steps *s = p->net->request->steps;

    if (v < 0 || p->net->place_of_step[v] < 0 || p->net->of_node[s->step[v].node[0]] != p->block)
        return -1;
    return p->net->place_of_step[v];
}

/* Do the operators behind the head hand on the gradient as it is, to this operand too? */
static bool is_handed_on(const weft_block_part *p, const weft_step *s, const weft_step_operand *x)
{
    const weft_graph *g = p->net->graph;

    for (int i = 1; i < s->n_nodes; i++) {
        const weft_op *op = p->net->op[s->node[i]];

        if (op == NULL || op->grad != WEFT_GRAD_SUM)
            return false;
    }
    return x->node > 0 &&
           weft_shape_equal(g->tensor[x->tensor].shape, g->tensor[s->result[0]].shape);
}

/* Scattered sums are gathered for the backward nodes of the head: then all have all of it. */
bool weft_block_is_full(const weft_block_part *p, int place, int operand,
                        const weft_block_choice *c)
{
    const weft_step *s = weft_block_step_at(p, place);
    const weft_step_operand *x = &s->operand[operand];

    return is_copy(p, c) || (x->node > 0 && c->result[0].is_same) ||
           (c->split.is_scattered && is_handed_on(p, s, x));
}

/* Rule 5: are the blocks of the parts where the maker's columns are? */
static bool is_in_parts(const weft_block_part *p, int place, int operand,
                        const weft_block_choice *from, const weft_block_choice *to)
{
    const weft_cost_net *n = p->net;
    const weft_step_operand *x = &weft_block_step_at(p, place)->operand[operand];
    const weft_step *maker = &n->request->steps->step[x->step];
    const weft_layout *own = &from->result[x->result];
    int n_readers = 0;

    if (!to->is_by_part || operand != 0 || from->is_by_part || is_copy(p, from) || own->is_same)
        return false;
    for (int k = 0; k < maker->n_operands; k++)
        if (!from->need[k].is_same)
            return false;
    for (int i = n->graph->use_at[x->tensor]; i < n->graph->use_at[x->tensor + 1]; i++)
        n_readers += n->graph->node[n->graph->use[i]].phase == WEFT_FORWARD;
    for (int d = 0; d < own->box[0].rank; d++) {
        bool is_cut =
            own->box[0].hi[d] - own->box[0].lo[d] < n->graph->tensor[x->tensor].shape->dim[d];
        bool is_part = to->need[0].box[0].hi[d] - to->need[0].box[0].lo[d] <
                       n->graph->tensor[x->tensor].shape->dim[d];

        if (is_cut != is_part)
            return false;
    }
    return n_readers == 1;
}

/* --- kernels of several steps */

bool weft_block_is_score(const weft_cost_net *n, int tensor)
{
    const weft_graph *g = n->graph;
    int maker = g->kernel ? g->tensor[g->source[tensor]].producer : -1;

    return maker >= 0 && g->attention[maker] >= 0 && g->is_score[maker] &&
           weft_tensor_is_inner(g, tensor);
}

static bool share_kernel(const weft_cost_net *n, int u, int v)
{
    for (int i = n->back_at[u]; i < n->back_at[u + 1]; i++)
        for (int k = n->back_at[v]; k < n->back_at[v + 1]; k++)
            if (n->graph->kernel[n->back[i]] == n->graph->kernel[n->back[k]])
                return true;
    return false;
}

/* Seconds more where members exchange data in the middle of a kernel, which is then two: the tensor
 * is written and read, and there is another launch. Scores stay where they are. */
static double torn_s(const weft_block_part *p, int place, int operand, bool is_backward,
                     const weft_block_choice *from, const weft_block_choice *to)
{
    const weft_cost_net *n = p->net;
    const weft_step *s = weft_block_step_at(p, place);
    const weft_step_operand *x = &s->operand[operand];
    int reader = s->node[x->node], maker = n->graph->tensor[x->tensor].producer;
    int64_t made, needed;

    if (n->graph->kernel == NULL || maker < 0 ||
        !(is_backward ? share_kernel(n, maker, reader)
                      : n->graph->kernel[maker] == n->graph->kernel[reader]))
        return 0;
    if (weft_block_is_score(n, x->tensor))
        return INFINITY;
    made = weft_layout_most(&from->result[x->result]);
    needed = weft_layout_most(&to->need[operand]);
    return 2 * weft_block_element_bytes(p, x->tensor) * (double)(made > needed ? made : needed) /
               n->memory_bytes_per_s +
           n->request->design->value[WEFT_P_OVERHEAD];
}

double weft_block_edge_s(const weft_block_part *p, int place, int operand,
                         const weft_block_choice *from, const weft_block_choice *to)
{
    const weft_step_operand *x = &weft_block_step_at(p, place)->operand[operand];
    int64_t received;

    if (is_in_parts(p, place, operand, from, to))
        return 0;
    received = weft_layout_receive(&from->result[x->result], &to->need[operand]);
    return weft_reshard_s(&p->net->request->inside,
                          weft_block_element_bytes(p, x->tensor) * (double)received) +
           (received > 0 || from->has_sums ? torn_s(p, place, operand, false, from, to) : 0);
}

double weft_block_return_s(const weft_block_part *p, int place, int operand,
                           const weft_block_choice *from, const weft_block_choice *to)
{
    const weft_step *s = weft_block_step_at(p, place);
    const weft_step_operand *x = &s->operand[operand];
    double sum_s;

    if (!weft_block_has_gradient(p->net, s, x) || weft_block_is_full(p, place, operand, to))
        return to->has_sums ? torn_s(p, place, operand, true, from, to) : 0;
    if (from->is_merged)
        return to->need[operand].is_same ? torn_s(p, place, operand, true, from, to) : INFINITY;
    if (is_in_parts(p, place, operand, from, to))
        return 0;
    sum_s = weft_layout_sum_s(&to->need[operand], &from->result[x->result],
                              weft_block_element_bytes(p, x->tensor), &p->net->request->inside);
    return sum_s + (sum_s > 0 || to->has_sums ? torn_s(p, place, operand, true, from, to) : 0);
}

double weft_block_leave_s(const weft_block_part *p, int place, int operand,
                          const weft_block_choice *to)
{
    const weft_step *s = weft_block_step_at(p, place);
    const weft_step_operand *x = &s->operand[operand];
    weft_layout all;

    if (!weft_block_has_gradient(p->net, s, x) || weft_block_is_full(p, place, operand, to))
        return 0;
    all = weft_block_whole(p, x->tensor);
    return weft_layout_sum_s(&to->need[operand], &all, weft_block_element_bytes(p, x->tensor),
                             &p->net->request->inside);
}

/* --- all ------------------------------------------------------------------------------------- */

static void list_loose(weft_block_part *p)
{
    const weft_cost_net *n = p->net;
    const weft_graph *g = n->graph;

    p->loose =
        WEFT_NEW(p->arena, weft_block_loose, n->node_at[p->block + 1] - n->node_at[p->block]);
    for (int i = n->node_at[p->block]; i < n->node_at[p->block + 1]; i++) {
        int u = n->node[i], f = g->node[u].forward, t;

        if (g->node[u].phase == WEFT_FORWARD || (f >= 0 && n->of_node[f] == p->block))
            continue;
        t = g->node[u].phase == WEFT_UPDATE            ? g->arg[g->arg_at[u]]
            : g->res_at[u] < g->res_at[u + 1] && f < 0 ? n->grad_of[g->res[g->res_at[u]]]
                                                       : -1;
        p->loose[p->n_loose++] = (weft_block_loose){u, t, false};
    }
}

static void list_entries(weft_block_part *p)
{
    int most = 0;

    for (int i = 0; i < p->n_steps; i++)
        most += weft_block_step_at(p, i)->n_operands;
    p->entry = WEFT_NEW(p->arena, weft_block_entry, most + 1);
    for (int i = 0; i < p->n_steps && p->net->request->width > 1; i++)
        for (int k = 0; k < weft_block_step_at(p, i)->n_operands; k++) {
            int t = weft_block_step_at(p, i)->operand[k].tensor, e = 0;

            if (weft_block_maker(p, i, k) >= 0 || !p->net->has_gradient[t])
                continue;
            while (e < p->n_entries && p->entry[e].tensor != t)
                e++;
            if (e == p->n_entries && weft_block_n_gradients(p, t) > 1)
                p->entry[p->n_entries++] = (weft_block_entry){
                    t, weft_ring_s(&p->net->request->inside, p->net->request->width,
                                   WEFT_ALL_REDUCE, (double)p->net->graph->tensor[t].bytes)};
        }
}

static int n_notes(const weft_block_part *p)
{
    return p->net->log != NULL ? p->net->log->note.n : 0;
}

bool weft_block_price(const weft_block_part *p, int v, weft_block_choice *c)
{
    c->first_note = n_notes(p);
    if (!add_nodes(p, v, c) || !add_weights(p, v, c) || !add_results(p, v, c))
        return false;
    c->end_note = n_notes(p);
    add_collectives(p, v, c);
    return true;
}

/* Nodes that go with no step are done whole by each member. */
static bool add_fixed(weft_block_part *p)
{
    p->fixed.first_note = n_notes(p);
    for (int i = 0; i < p->n_loose; i++)
        if (!p->loose[i].is_placed && !add_share(p->net, p->loose[i].node, 1, &p->fixed))
            return false;
    p->fixed.end_note = n_notes(p);
    return true;
}

bool weft_block_part_new(const weft_cost_net *n, int block, weft_arena *a, weft_block_part *out)
{
    int first = n->step_at[block];

    *out = (weft_block_part){
        .net = n, .block = block, .n_steps = n->step_at[block + 1] - first, .arena = a};
    out->step = WEFT_NEW(a, weft_block_step, out->n_steps + 1);
    for (int i = 0; i < out->n_steps; i++)
        out->step[i].step = n->step[first + i];
    list_loose(out);
    list_entries(out);
    for (int i = 0; i < out->n_steps; i++) {
        weft_block_step *s = &out->step[i];
        int n_plain;

        weft_block_list_choices(out, s);
        n_plain = s->n_choices;
        for (int k = 0; k < n_plain; k++)
            if (!weft_block_price(out, s->step, &s->choice[k]))
                return false;
        weft_block_list_merged(out, s);
        for (int k = n_plain; k < s->n_choices; k++)
            add_merged(out, s->step, &s->choice[k]);
    }
    return add_fixed(out);
}
