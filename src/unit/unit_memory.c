/* SPDX-License-Identifier: MIT */
/* unit_memory.c: what the fullest member holds of a unit.
 *
 * Stash, from forward to backward:
 *   KEEP_ALL   forward values (views: what they show) that backward nodes of the unit read, each
 *              once; where a reader needed other parts than the maker has, both.
 *   KEEP_NONE  what enters the unit from others or as input of the network.
 *   KEEP_SOME  that, and results of products and convolutions with weights (with what is fused to
 *              them) that backward nodes or the operators that are computed again read. Products of
 *              two results are computed again: for long sequences these are most of the stash and
 *              little of the work.
 * A tensor that backward nodes of several units read counts in each of them: on a stage with all of
 * them that is too much, never too little, and exact if one unit's backward nodes read it, as in a
 * chain of blocks.
 *
 * Work, beside the stash, at most while the unit runs in the order of its nodes:
 *   forward    results from their maker to their last forward reader in the unit, to the end if
 *              they leave; what enters until its last reader; operands in other parts than the
 *              maker's, and partial sums, while their step runs;
 *   backward   gradients from their maker to their last reader (those of parameters are counted as
 *              state), and what was rebuilt, all of it.
 * Each is a sum of the largest member's bytes of each tensor: never too low. */
#include <math.h>
#include <string.h>

#include "unit_part.h"

typedef struct memory {
    const weft_unit_part *p;
    const weft_graph *g;
    const int *state;
    bool *is_kept[WEFT_N_RECOMPUTES]; /* [tensors] roots in the stash */
    double *bytes;                    /* [tensors] roots: forward values; gradients by themselves */
    double *more;                     /* [tensors] kept in other parts besides */
    int *root;                        /* [tensors] by which a forward value is counted */
} memory;

bool weft_unit_is_tensor_step(const weft_cost_net *n, int step)
{
    const weft_node *x = &n->graph->node[n->ask->steps->step[step].node[0]];
    const weft_op *op = x->has_body ? NULL : weft_op_find(x->domain, x->op);

    return op && op->fusion == WEFT_FUSE_TENSOR;
}

bool weft_unit_is_kept_step(const weft_cost_net *n, int step)
{
    const weft_step *s = &n->ask->steps->step[step];

    for (int k = 0; k < s->n_weights && weft_unit_is_tensor_step(n, step); k++)
        if (s->weight[k].node == 0)
            return true;
    return false;
}

static const weft_unit_choice *chosen(const memory *m, int place)
{
    return &m->p->step[place].choice[m->state[place]];
}

static bool is_value(const memory *m, int tensor)
{
    return tensor >= 0 && weft_unit_is_forward_value(m->g, tensor);
}

/* --- sizes ------------------------------------------------------------------------------------ */

/* Does the step show its operand in another shape, without moving anything between members? */
static bool is_still_view(const memory *m, int place)
{
    const weft_step *s = weft_unit_step_at(m->p, place);
    int from = s->n_operands > 0 ? weft_unit_maker(m->p, place, 0) : -1;

    if (s->n_results != 1 || s->n_operands == 0 ||
        m->p->net->root[s->result[0]] == s->result[0] || s->operand[0].slot != 0)
        return false;
    return from < 0 || weft_layout_within(&chosen(m, place)->need[0],
                                          &chosen(m, from)->result[s->operand[0].result]);
}

/* Bytes of results on the fullest member; what enters is whole. */
static void find_bytes(memory *m)
{
    const weft_unit_part *p = m->p;

    for (int i = 0; i < p->n_steps; i++) {
        const weft_step *s = weft_unit_step_at(p, i);

        for (int k = 0; k < s->n_operands; k++)
            if (weft_unit_maker(p, i, k) < 0) {
                int root = p->net->root[s->operand[k].tensor];

                m->root[s->operand[k].tensor] = root;
                m->bytes[root] = (double)m->g->tensor[root].bytes;
            }
        for (int k = 0; k < s->n_results; k++) {
            int t = s->result[k];

            m->root[t] = is_still_view(m, i) ? m->root[s->operand[0].tensor] : t;
            m->bytes[m->root[t]] =
                fmax(m->bytes[m->root[t]], weft_unit_element_bytes(p, t) *
                                               (double)weft_layout_most(&chosen(m, i)->result[k]));
        }
    }
}

/* Bytes of an operand that its step holds besides what the maker has. */
static double copy_bytes(const memory *m, int place, int operand)
{
    const weft_step_operand *x = &weft_unit_step_at(m->p, place)->operand[operand];
    const weft_layout *need = &chosen(m, place)->need[operand];
    int from = weft_unit_maker(m->p, place, operand);

    if (from < 0 || weft_unit_edge_s(m->p, place, operand, chosen(m, from), chosen(m, place)) <= 0)
        return 0;
    return weft_unit_element_bytes(m->p, x->tensor) * (double)weft_layout_most(need);
}

/* --- stash ------------------------------------------------------------------------------------ */

static bool reads(const weft_graph *g, int u, int tensor)
{
    for (int i = g->arg_at[u]; i < g->arg_at[u + 1]; i++)
        if (g->arg[i] == tensor)
            return true;
    return false;
}

/* Does a backward node of the node that reads this operand read it again? */
static bool is_read_again(const memory *m, const weft_step *s, const weft_step_operand *x)
{
    const weft_cost_net *n = m->p->net;
    int f = s->node[x->node];

    for (int k = n->back_at[f]; k < n->back_at[f + 1]; k++)
        if (n->of_node[n->back[k]] == m->p->unit && reads(m->g, n->back[k], x->tensor))
            return true;
    return false;
}

static void keep_all(memory *m)
{
    const weft_cost_net *n = m->p->net;

    for (int i = n->node_at[m->p->unit]; i < n->node_at[m->p->unit + 1]; i++) {
        int u = n->node[i];

        for (int k = m->g->arg_at[u]; m->g->node[u].forward >= 0 && k < m->g->arg_at[u + 1]; k++) {
            int root = is_value(m, m->g->arg[k]) ? m->root[m->g->arg[k]] : -1;

            if (root >= 0 && is_value(m, root))
                m->is_kept[WEFT_KEEP_ALL][root] = true;
        }
    }
    for (int i = 0; i < m->p->n_steps; i++) {
        const weft_step *s = weft_unit_step_at(m->p, i);

        for (int k = 0; k < s->n_operands; k++)
            if (is_read_again(m, s, &s->operand[k]))
                m->more[m->root[s->operand[k].tensor]] += copy_bytes(m, i, k);
    }
}

static bool has_backward(const memory *m)
{
    const weft_cost_net *n = m->p->net;

    for (int i = n->node_at[m->p->unit]; i < n->node_at[m->p->unit + 1]; i++)
        if (m->g->node[n->node[i]].phase == WEFT_BACKWARD)
            return true;
    return false;
}

static void keep_entering(memory *m)
{
    for (int i = 0; i < m->p->n_steps; i++)
        for (int k = 0; k < weft_unit_step_at(m->p, i)->n_operands; k++) {
            int root = m->root[weft_unit_step_at(m->p, i)->operand[k].tensor];

            if (weft_unit_maker(m->p, i, k) >= 0 || !is_value(m, root))
                continue;
            m->is_kept[WEFT_KEEP_NONE][root] = m->is_kept[WEFT_KEEP_SOME][root] = true;
        }
}

/* Results of products that backward nodes keep or operators that are computed again read. */
static void keep_products(memory *m)
{
    const weft_unit_part *p = m->p;
    bool *is_read = WEFT_NEW(p->arena, bool, m->g->n_tensors);

    for (int i = 0; i < p->n_steps; i++)
        for (int k = 0; k < weft_unit_step_at(p, i)->n_operands; k++)
            if (!weft_unit_is_kept_step(p->net, p->step[i].step) && !is_still_view(m, i))
                is_read[m->root[weft_unit_step_at(p, i)->operand[k].tensor]] = true;
    for (int i = 0; i < p->n_steps; i++)
        for (int k = 0; k < weft_unit_step_at(p, i)->n_results; k++) {
            int root = m->root[weft_unit_step_at(p, i)->result[k]];

            if (weft_unit_is_kept_step(p->net, p->step[i].step) &&
                (is_read[root] || m->is_kept[WEFT_KEEP_ALL][root]))
                m->is_kept[WEFT_KEEP_SOME][root] = true;
        }
}

/* --- work ------------------------------------------------------------------------------------- */

/* The last forward reader of each root among the steps: place, n_steps if it leaves, -1: none. */
static int *last_readers(const memory *m)
{
    const weft_unit_part *p = m->p;
    int *last = WEFT_NEW(p->arena, int, m->g->n_tensors);

    memset(last, -1, sizeof *last * (size_t)m->g->n_tensors);
    for (int i = 0; i < p->n_steps; i++) {
        const weft_step *s = weft_unit_step_at(p, i);

        for (int k = 0; k < s->n_operands; k++)
            if (last[m->root[s->operand[k].tensor]] < i)
                last[m->root[s->operand[k].tensor]] = i;
        for (int k = 0; k < s->n_results; k++)
            if (weft_unit_leaves(p->net, p->unit, s->result[k]))
                last[m->root[s->result[k]]] = p->n_steps;
    }
    return last;
}

/* Adds a root that is not live yet and not in the stash. */
static void take(const memory *m, weft_recompute r, int root, bool *is_live, double *live)
{
    if (root < 0 || is_live[root] || m->is_kept[r][root] || !is_value(m, root))
        return;
    is_live[root] = true;
    *live += m->bytes[root];
}

static double forward_peak(const memory *m, weft_recompute r, const int *last)
{
    const weft_unit_part *p = m->p;
    bool *is_live = WEFT_NEW(p->arena, bool, m->g->n_tensors);
    double live = 0, peak = 0;

    for (int i = 0; i < p->n_steps; i++)
        for (int k = 0; k < weft_unit_step_at(p, i)->n_operands; k++)
            if (weft_unit_maker(p, i, k) < 0)
                take(m, r, m->root[weft_unit_step_at(p, i)->operand[k].tensor], is_live, &live);
    for (int i = 0; i < p->n_steps; i++) {
        const weft_step *s = weft_unit_step_at(p, i);
        double extra = chosen(m, i)->extra_bytes;

        for (int k = 0; k < s->n_results; k++)
            take(m, r, m->root[s->result[k]], is_live, &live);
        for (int k = 0; k < s->n_operands; k++)
            extra += copy_bytes(m, i, k);
        peak = fmax(peak, live + extra);
        for (int k = 0; k < s->n_operands + s->n_results; k++) {
            int t = k < s->n_operands ? s->operand[k].tensor : s->result[k - s->n_operands];
            int root = m->root[t];

            if (is_live[root] && last[root] <= i) {
                is_live[root] = false;
                live -= m->bytes[root];
            }
        }
    }
    return peak;
}

/* Bytes of a gradient on the fullest member: where its tensor was made or is needed. */
static double gradient_bytes(const memory *m, int tensor)
{
    int of = m->p->net->grad_of[tensor];
    double bytes = (double)m->g->tensor[tensor].bytes, most = 0;

    if (of < 0)
        return bytes;
    if (!is_value(m, of))
        return 0; /* of a parameter: state */
    if (m->root[of] < 0)
        return bytes;
    for (int i = 0; i < m->p->n_steps; i++) {
        const weft_step *s = weft_unit_step_at(m->p, i);

        for (int k = 0; k < s->n_results; k++)
            if (s->result[k] == of)
                most = fmax(most, (double)weft_layout_most(&chosen(m, i)->result[k]));
        for (int k = 0; k < s->n_operands; k++)
            if (s->operand[k].tensor == of)
                most = fmax(most, (double)weft_layout_most(&chosen(m, i)->need[k]));
    }
    return most > 0 ? most * weft_unit_element_bytes(m->p, of) : bytes;
}

/* Last backward node of the unit that reads a gradient; n_nodes: another unit does; -1: none. */
static int last_backward(const memory *m, int tensor)
{
    int last = -1;

    for (int i = m->g->use_at[tensor]; i < m->g->use_at[tensor + 1]; i++) {
        int u = m->g->use[i];

        if (m->g->node[u].phase != WEFT_BACKWARD)
            continue;
        if (m->p->net->of_node[u] != m->p->unit)
            return m->g->n_nodes;
        last = u;
    }
    return last;
}

typedef struct passing {
    bool *is_live;
    double *bytes;
    double live, peak;
} passing;

static void take_gradient(const memory *m, int tensor, passing *w)
{
    if (tensor < 0 || w->is_live[tensor] || weft_unit_is_forward_value(m->g, tensor) ||
        m->g->tensor[tensor].kind == WEFT_WEIGHT || m->g->tensor[tensor].kind == WEFT_STATE)
        return;
    w->is_live[tensor] = true;
    w->bytes[tensor] = gradient_bytes(m, tensor);
    w->live += w->bytes[tensor];
}

static void drop_gradient(const memory *m, int tensor, int u, passing *w)
{
    if (tensor < 0 || !w->is_live[tensor] || last_backward(m, tensor) > u)
        return;
    w->is_live[tensor] = false;
    w->live -= w->bytes[tensor];
}

static double backward_peak(const memory *m)
{
    const weft_cost_net *n = m->p->net;
    const weft_graph *g = m->g;
    passing w = {.is_live = WEFT_NEW(m->p->arena, bool, g->n_tensors),
                 .bytes = WEFT_NEW(m->p->arena, double, g->n_tensors)};
    int first = n->node_at[m->p->unit], end = n->node_at[m->p->unit + 1];

    for (int i = first; i < end; i++) /* what enters is there from the start */
        for (int k = g->arg_at[n->node[i]]; k < g->arg_at[n->node[i] + 1]; k++) {
            int u = g->arg[k] < 0 ? -1 : g->tensor[g->arg[k]].producer;

            if (g->node[n->node[i]].phase == WEFT_BACKWARD && u >= 0 &&
                n->of_node[u] != m->p->unit)
                take_gradient(m, g->arg[k], &w);
        }
    w.peak = w.live;
    for (int i = first; i < end; i++) {
        int u = n->node[i];

        if (g->node[u].phase != WEFT_BACKWARD)
            continue;
        for (int k = g->res_at[u]; k < g->res_at[u + 1]; k++)
            take_gradient(m, g->res[k], &w);
        w.peak = fmax(w.peak, w.live);
        for (int k = g->arg_at[u]; k < g->arg_at[u + 1]; k++)
            drop_gradient(m, g->arg[k], u, &w);
        for (int k = g->res_at[u]; k < g->res_at[u + 1]; k++)
            drop_gradient(m, g->res[k], u, &w);
    }
    return w.peak;
}

/* --- all -------------------------------------------------------------------------------------- */

static double stash_of(const memory *m, weft_recompute r)
{
    double sum = 0;

    for (int t = 0; t < m->g->n_tensors; t++)
        if (m->is_kept[r][t])
            sum += m->bytes[t] + (r == WEFT_KEEP_ALL ? m->more[t] : 0);
    return sum;
}

/* What KEEP_ALL holds and this policy does not: computed again before backward. */
static double rebuilt(const memory *m, weft_recompute r)
{
    double sum = 0;

    for (int t = 0; t < m->g->n_tensors; t++)
        if (m->is_kept[WEFT_KEEP_ALL][t])
            sum += (m->is_kept[r][t] ? 0 : m->bytes[t]) + (r == WEFT_KEEP_ALL ? 0 : m->more[t]);
    return sum;
}

void weft_unit_memory(const weft_unit_part *p, const int *state, weft_arena *a,
                      weft_unit_cost *cost)
{
    const weft_graph *g = p->net->graph;
    memory m = {.p = p,
                .g = g,
                .state = state,
                .bytes = WEFT_NEW(a, double, g->n_tensors),
                .more = WEFT_NEW(a, double, g->n_tensors),
                .root = WEFT_NEW(a, int, g->n_tensors)};
    double backward, again;
    int *last;

    memset(m.root, -1, sizeof *m.root * (size_t)g->n_tensors);
    for (int r = 0; r < WEFT_N_RECOMPUTES; r++)
        m.is_kept[r] = WEFT_NEW(a, bool, g->n_tensors);
    find_bytes(&m);
    keep_all(&m);
    if (has_backward(&m)) {
        keep_entering(&m);
        keep_products(&m);
    }
    last = last_readers(&m);
    backward = backward_peak(&m);
    again = fmax(backward, forward_peak(&m, WEFT_KEEP_ALL, last));
    for (int r = 0; r < WEFT_N_RECOMPUTES; r++) {
        cost->stash_bytes[r] = stash_of(&m, r);
        cost->work_bytes[r] =
            fmax(forward_peak(&m, r, last), rebuilt(&m, r) + (r == WEFT_KEEP_ALL ? backward : again));
    }
}

/* --- state ------------------------------------------------------------------------------------ */

static bool is_owned_elsewhere(const weft_unit_part *p, int tensor)
{
    const weft_units *s = p->net->ask->units;

    for (int i = 0; i < s->n_shared; i++)
        if (s->shared[i].other == p->unit && s->shared[i].tensor == tensor)
            return true;
    return false;
}

/* Moments have 4 bytes each, whatever the parameter's type; parameters of less than 32 bits have a
 * copy of 4 bytes besides. */
static double moment_bytes(const weft_graph *g, int tensor, int update)
{
    enum { FULL_BYTES = 4, FULL_BITS = 32 };
    int n_states = g->arg_at[update + 1] - g->arg_at[update] - 2;

    return FULL_BYTES * (n_states + (weft_dtype_bits(g->tensor[tensor].type) < FULL_BITS));
}

/* The first layout of a weight counts, and those of later readers that are not within it. */
static void hold_weight(const weft_unit_part *p, int tensor, const weft_layout *l, bool is_first,
                        weft_unit_state *out)
{
    double elements = (double)weft_layout_most(l);
    int update = p->net->update[tensor];
    double bytes = elements * weft_unit_element_bytes(p, tensor);

    out->weight_bytes += bytes;
    if (update < 0 || !is_first)
        return;
    out->gradient_bytes += bytes;
    if (is_owned_elsewhere(p, tensor))
        return;
    out->moment_bytes += elements * moment_bytes(p->net->graph, tensor, update);
    out->sync_bytes += bytes;
}

void weft_unit_hold(const weft_unit_part *p, const int *state, weft_arena *a, weft_unit_state *out)
{
    const weft_layout **held = WEFT_NEW(a, const weft_layout *, p->net->graph->n_tensors);

    for (int i = 0; i < p->n_steps; i++) {
        const weft_step *s = weft_unit_step_at(p, i);
        const weft_unit_choice *c = &p->step[i].choice[state[i]];

        for (int k = 0; k < s->n_weights; k++) {
            const weft_layout **first = &held[s->weight[k].tensor];

            if (*first && weft_layout_within(&c->weight[k], *first))
                continue;
            hold_weight(p, s->weight[k].tensor, &c->weight[k], *first == NULL, out);
            if (*first == NULL)
                *first = &c->weight[k];
        }
    }
}
