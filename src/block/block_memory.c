/* SPDX-License-Identifier: MIT */
/* block_memory.c: what the fullest member holds of a unit.
 *
 * Stash, from forward to backward:
 *   KEEP_ALL   forward values (views: what they show) that backward nodes of the unit read, each
 *              once; where a reader needed other parts than the maker has, both.
 *   KEEP_NONE  what enters the unit from others or as input of the network.
 *   KEEP_SOME  that, and results of products and convolutions with weights (with what is fused to
 *              them) that backward nodes or the operators that are computed again read. Products of
 *              two results are computed again: for long sequences these are most of the stash and
 *              little of the work.
 * Dropout has a mask besides, a byte for each element, that backward reads: KEEP_ALL keeps it,
 * KEEP_SOME where it keeps what was dropped from; else it is drawn again from the same numbers.
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
 * Each is a sum of the largest member's bytes of each tensor: never too low. What stays inside a
 * kernel is not held: all of it on one device, scores of attention on several, nor are masks that
 * only scores read. */
#include <math.h>
#include <string.h>

#include "block_part.h"

typedef struct memory {
    const weft_block_part *p;
    const weft_graph *g;
    const int *state;
    weft_block_room *room; /* root: by which tensor a forward value is counted */
    int n;
    int *tensor; /* [n] that the unit has to do with */
} memory;

bool weft_block_is_tensor_step(const weft_cost_net *n, int step)
{
    const weft_op *op = n->op[n->request->steps->step[step].node[0]];

    return op && op->fusion == WEFT_FUSE_TENSOR;
}

bool weft_block_is_kept_step(const weft_cost_net *n, int step)
{
    const weft_step *s = &n->request->steps->step[step];

    for (int k = 0; k < s->n_weights && weft_block_is_tensor_step(n, step); k++)
        if (s->weight[k].node == 0)
            return true;
    return false;
}

static const weft_block_choice *chosen(const memory *m, int place)
{
    return &m->p->step[place].choice[m->state[place]];
}

static bool is_value(const memory *m, int tensor)
{
    return tensor >= 0 && weft_block_is_forward_value(m->g, tensor);
}

/* --- sizes ----------------------------------------------------------------------------------- */

/* Does the step show its operand in another shape, without moving anything between members? */
static bool is_still_view(const memory *m, int place)
{
    const weft_step *s = weft_block_step_at(m->p, place);
    int from = s->n_operands > 0 ? weft_block_maker(m->p, place, 0) : -1;

    if (s->n_results != 1 || s->n_operands == 0 || m->p->net->root[s->result[0]] == s->result[0] ||
        s->operand[0].slot != 0)
        return false;
    return from < 0 || weft_layout_within(&chosen(m, place)->need[0],
                                          &chosen(m, from)->result[s->operand[0].result]);
}

/* Inside a kernel that no choice tears apart. */
static bool is_unheld(const memory *m, int tensor)
{
    return m->p->net->request->width == 1 ? weft_tensor_is_inner(m->g, tensor)
                                          : weft_block_is_score(m->p->net, tensor);
}

/* Bytes of results on the fullest member; what enters is whole, or in parts of the sequence. */
static void find_bytes(memory *m)
{
    const weft_block_part *p = m->p;

    for (int i = 0; i < p->n_steps; i++) {
        const weft_step *s = weft_block_step_at(p, i);

        for (int k = 0; k < s->n_operands; k++)
            if (weft_block_maker(p, i, k) < 0) {
                int root = p->net->root[s->operand[k].tensor];

                m->room->root[s->operand[k].tensor] = root;
                m->room->bytes[root] = (double)m->g->tensor[root].bytes /
                                       (weft_block_in_parts(p, root) ? p->net->request->width : 1);
            }
        for (int k = 0; k < s->n_results; k++) {
            int t = s->result[k];

            m->room->root[t] = is_still_view(m, i) ? m->room->root[s->operand[0].tensor] : t;
            if (is_unheld(m, t))
                continue;
            m->room->bytes[m->room->root[t]] =
                fmax(m->room->bytes[m->room->root[t]],
                     weft_block_element_bytes(p, t) *
                         (double)weft_layout_most(&chosen(m, i)->result[k]));
        }
    }
}

/* Bytes of an operand in parts that are gathered for its step. */
static double gathered_bytes(const memory *m, int place, int operand)
{
    int tensor = weft_block_step_at(m->p, place)->operand[operand].tensor;
    const weft_layout *need = &chosen(m, place)->need[operand];
    weft_layout parts;

    if (!weft_block_is_exchanged(m->p, m->state, place, operand))
        return 0;
    parts = weft_block_parts(m->p, tensor);
    return weft_layout_within(need, &parts)
               ? 0
               : weft_block_element_bytes(m->p, tensor) * (double)weft_layout_most(need);
}

/* Bytes of an operand that its step holds besides what the maker has. */
static double copy_bytes(const memory *m, int place, int operand)
{
    const weft_step_operand *x = &weft_block_step_at(m->p, place)->operand[operand];
    const weft_layout *need = &chosen(m, place)->need[operand];
    int from = weft_block_maker(m->p, place, operand);

    if (weft_block_is_exchanged(m->p, m->state, place, operand))
        return gathered_bytes(m, place, operand);
    if (from < 0 || weft_block_edge_s(m->p, place, operand, chosen(m, from), chosen(m, place)) <= 0)
        return 0;
    return weft_block_element_bytes(m->p, x->tensor) * (double)weft_layout_most(need);
}

/* --- stash ----------------------------------------------------------------------------------- */

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
        if (n->of_node[n->back[k]] == m->p->block && reads(m->g, n->back[k], x->tensor))
            return true;
    return false;
}

static void keep_all(memory *m)
{
    const weft_cost_net *n = m->p->net;

    for (int i = n->node_at[m->p->block]; i < n->node_at[m->p->block + 1]; i++) {
        int u = n->node[i];

        for (int k = m->g->arg_at[u]; m->g->node[u].forward >= 0 && k < m->g->arg_at[u + 1]; k++) {
            int root = is_value(m, m->g->arg[k]) ? m->room->root[m->g->arg[k]] : -1;

            if (root >= 0 && is_value(m, root))
                m->room->is_kept[WEFT_KEEP_ALL][root] = true;
        }
    }
    for (int i = 0; i < m->p->n_steps; i++) {
        const weft_step *s = weft_block_step_at(m->p, i);

        for (int k = 0; k < s->n_operands; k++)
            if (is_read_again(m, s, &s->operand[k]) &&
                !weft_block_is_exchanged(m->p, m->state, i, k))
                m->room->more[m->room->root[s->operand[k].tensor]] += copy_bytes(m, i, k);
    }
}

static bool has_backward(const memory *m)
{
    const weft_cost_net *n = m->p->net;

    for (int i = n->node_at[m->p->block]; i < n->node_at[m->p->block + 1]; i++)
        if (m->g->node[n->node[i]].phase == WEFT_BACKWARD)
            return true;
    return false;
}

static void keep_entering(memory *m)
{
    for (int i = 0; i < m->p->n_steps; i++)
        for (int k = 0; k < weft_block_step_at(m->p, i)->n_operands; k++) {
            int root = m->room->root[weft_block_step_at(m->p, i)->operand[k].tensor];

            if (weft_block_maker(m->p, i, k) >= 0 || !is_value(m, root))
                continue;
            m->room->is_kept[WEFT_KEEP_NONE][root] = m->room->is_kept[WEFT_KEEP_SOME][root] = true;
        }
}

/* Results of products that backward nodes keep or operators that are computed again read. */
static void keep_products(memory *m)
{
    const weft_block_part *p = m->p;
    bool *is_read = m->room->is_read;

    for (int i = 0; i < p->n_steps; i++)
        for (int k = 0; k < weft_block_step_at(p, i)->n_operands; k++)
            if (!weft_block_is_kept_step(p->net, p->step[i].step) && !is_still_view(m, i))
                is_read[m->room->root[weft_block_step_at(p, i)->operand[k].tensor]] = true;
    for (int i = 0; i < p->n_steps; i++)
        for (int k = 0; k < weft_block_step_at(p, i)->n_results; k++) {
            int root = m->room->root[weft_block_step_at(p, i)->result[k]];

            if (weft_block_is_kept_step(p->net, p->step[i].step) &&
                (is_read[root] || m->room->is_kept[WEFT_KEEP_ALL][root]))
                m->room->is_kept[WEFT_KEEP_SOME][root] = true;
        }
}

/* --- work ------------------------------------------------------------------------------------ */

/* The last forward reader of each root among the steps: place, n_steps if it leaves, -1: none. */
static void find_last(const memory *m)
{
    const weft_block_part *p = m->p;
    int *last = m->room->last;

    for (int i = 0; i < p->n_steps; i++) {
        const weft_step *s = weft_block_step_at(p, i);

        for (int k = 0; k < s->n_operands; k++)
            if (last[m->room->root[s->operand[k].tensor]] < i)
                last[m->room->root[s->operand[k].tensor]] = i;
        for (int k = 0; k < s->n_results; k++)
            if (weft_block_leaves(p->net, p->block, s->result[k]))
                last[m->room->root[s->result[k]]] = p->n_steps;
    }
}

static void clear_live(const memory *m)
{
    for (int i = 0; i < m->n; i++)
        m->room->is_live[m->tensor[i]] = false;
}

/* Adds a root that is not live yet and not in the stash. */
static void take(const memory *m, weft_recompute r, int root, double *live)
{
    bool *is_live = m->room->is_live;

    if (root < 0 || is_live[root] || m->room->is_kept[r][root] || !is_value(m, root))
        return;
    is_live[root] = true;
    *live += m->room->bytes[root];
}

static double forward_peak(const memory *m, weft_recompute r)
{
    const weft_block_part *p = m->p;
    bool *is_live = m->room->is_live;
    double live = 0, peak = 0;

    clear_live(m);
    for (int i = 0; i < p->n_steps; i++)
        for (int k = 0; k < weft_block_step_at(p, i)->n_operands; k++)
            if (weft_block_maker(p, i, k) < 0)
                take(m, r, m->room->root[weft_block_step_at(p, i)->operand[k].tensor], &live);
    for (int i = 0; i < p->n_steps; i++) {
        const weft_step *s = weft_block_step_at(p, i);
        double extra = chosen(m, i)->extra_bytes;

        for (int k = 0; k < s->n_results; k++)
            take(m, r, m->room->root[s->result[k]], &live);
        for (int k = 0; k < s->n_operands; k++)
            extra += copy_bytes(m, i, k);
        peak = fmax(peak, live + extra);
        for (int k = 0; k < s->n_operands + s->n_results; k++) {
            int t = k < s->n_operands ? s->operand[k].tensor : s->result[k - s->n_operands];
            int root = m->room->root[t];

            if (is_live[root] && m->room->last[root] <= i) {
                is_live[root] = false;
                live -= m->room->bytes[root];
            }
        }
    }
    return peak;
}

/* Bytes of a gradient on the fullest member: where its tensor was made or is needed. */
static double gradient_bytes(const memory *m, int tensor)
{
    int of = m->p->net->grad_of[tensor];
    bool is_inner =
        of >= 0 && m->p->net->request->width > 1 ? is_unheld(m, of) : is_unheld(m, tensor);
    double bytes = (double)m->g->tensor[tensor].bytes, most = 0;

    if (is_inner)
        return 0;
    if (of < 0)
        return bytes;
    if (!is_value(m, of))
        return 0; /* of a parameter: state */
    if (m->room->root[of] < 0)
        return bytes;
    for (int i = 0; i < m->p->n_steps; i++) {
        const weft_step *s = weft_block_step_at(m->p, i);

        for (int k = 0; k < s->n_results; k++)
            if (s->result[k] == of)
                most = fmax(most, (double)weft_layout_most(&chosen(m, i)->result[k]));
        for (int k = 0; k < s->n_operands; k++)
            if (s->operand[k].tensor == of)
                most = fmax(most, (double)weft_layout_most(&chosen(m, i)->need[k]));
    }
    return most > 0 ? most * weft_block_element_bytes(m->p, of) : bytes;
}

/* Last backward node of the unit that reads a gradient; n_nodes: another unit does; -1: none. */
static int last_backward(const memory *m, int tensor)
{
    int last = -1;

    for (int i = m->g->use_at[tensor]; i < m->g->use_at[tensor + 1]; i++) {
        int u = m->g->use[i];

        if (m->g->node[u].phase != WEFT_BACKWARD)
            continue;
        if (m->p->net->of_node[u] != m->p->block)
            return m->g->n_nodes;
        last = u;
    }
    return last;
}

static void take_gradient(const memory *m, int tensor, double *live)
{
    if (tensor < 0 || m->room->is_live[tensor] || weft_block_is_forward_value(m->g, tensor) ||
        m->g->tensor[tensor].kind == WEFT_WEIGHT || m->g->tensor[tensor].kind == WEFT_STATE)
        return;
    m->room->is_live[tensor] = true;
    m->room->gradient[tensor] = gradient_bytes(m, tensor);
    *live += m->room->gradient[tensor];
}

static void drop_gradient(const memory *m, int tensor, int u, double *live)
{
    if (tensor < 0 || !m->room->is_live[tensor] || last_backward(m, tensor) > u)
        return;
    m->room->is_live[tensor] = false;
    *live -= m->room->gradient[tensor];
}

static double backward_peak(const memory *m)
{
    const weft_cost_net *n = m->p->net;
    const weft_graph *g = m->g;
    double live = 0, peak;
    int first = n->node_at[m->p->block], end = n->node_at[m->p->block + 1];

    clear_live(m);
    for (int i = first; i < end; i++) /* what enters is there from the start */
        for (int k = g->arg_at[n->node[i]]; k < g->arg_at[n->node[i] + 1]; k++) {
            int u = g->arg[k] < 0 ? -1 : g->tensor[g->arg[k]].producer;

            if (g->node[n->node[i]].phase == WEFT_BACKWARD && u >= 0 &&
                n->of_node[u] != m->p->block)
                take_gradient(m, g->arg[k], &live);
        }
    peak = live;
    for (int i = first; i < end; i++) {
        int u = n->node[i];

        if (g->node[u].phase != WEFT_BACKWARD)
            continue;
        for (int k = g->res_at[u]; k < g->res_at[u + 1]; k++)
            take_gradient(m, g->res[k], &live);
        peak = fmax(peak, live);
        for (int k = g->arg_at[u]; k < g->arg_at[u + 1]; k++)
            drop_gradient(m, g->arg[k], u, &live);
        for (int k = g->res_at[u]; k < g->res_at[u + 1]; k++)
            drop_gradient(m, g->res[k], u, &live);
    }
    return peak;
}

/* --- all ------------------------------------------------------------------------------------- */

static double stash_of(const memory *m, weft_recompute r)
{
    double sum = 0;

    for (int i = 0; i < m->n; i++)
        if (m->room->is_kept[r][m->tensor[i]])
            sum += m->room->bytes[m->tensor[i]] +
                   (r == WEFT_KEEP_ALL ? m->room->more[m->tensor[i]] : 0);
    return sum;
}

/* Elements of the result of a node on the fullest member; all, if the parts are not known. */
static double elements_of(const memory *m, int tensor, int root)
{
    double elements = (double)m->g->tensor[tensor].elements;
    double whole = root >= 0 ? (double)m->g->tensor[root].bytes : 0;

    return whole > 0 && m->room->bytes[root] > 0 ? elements * m->room->bytes[root] / whole
                                                 : elements;
}

/* Masks of dropout that a policy keeps. */
static double mask_bytes(const memory *m, weft_recompute r)
{
    const weft_cost_net *n = m->p->net;
    double sum = 0;

    for (int i = n->node_at[m->p->block]; i < n->node_at[m->p->block + 1]; i++) {
        int u = n->node[i], root, at = m->g->res_at[u];
        int result = at < m->g->res_at[u + 1] ? m->g->res[at] : -1;

        if (m->g->node[u].phase != WEFT_FORWARD || n->op[u] == NULL ||
            !weft_op_has_mask(n->op[u]) || result < 0)
            continue;
        root = m->room->root[result];
        if (r == WEFT_KEEP_ALL ||
            (r == WEFT_KEEP_SOME && root >= 0 && m->room->is_kept[WEFT_KEEP_SOME][root]))
            sum += elements_of(m, result, root);
    }
    return sum;
}

/* What KEEP_ALL holds and this policy does not: computed again before backward. */
static double rebuilt(const memory *m, weft_recompute r)
{
    double sum = 0;

    for (int i = 0; i < m->n && r != WEFT_KEEP_ALL; i++) {
        int t = m->tensor[i];

        if (m->room->is_kept[WEFT_KEEP_ALL][t])
            sum += (m->room->is_kept[r][t] ? 0 : m->room->bytes[t]) + m->room->more[t];
    }
    return sum;
}

static void list_tensor(memory *m, int tensor)
{
    if (tensor < 0 || m->room->is_listed[tensor])
        return;
    m->room->is_listed[tensor] = true;
    m->tensor[m->n++] = tensor;
    list_tensor(m, m->p->net->root[tensor]);
}

static void list_tensors(memory *m)
{
    const weft_cost_net *n = m->p->net;
    int first = n->node_at[m->p->block], end = n->node_at[m->p->block + 1], most = 0;

    for (int i = first; i < end; i++)
        most += m->g->arg_at[n->node[i] + 1] - m->g->arg_at[n->node[i]] +
                m->g->res_at[n->node[i] + 1] - m->g->res_at[n->node[i]];
    m->tensor = WEFT_NEW_RAW(m->p->arena, int, 2 * most + 1);
    for (int i = first; i < end; i++) {
        int u = n->node[i];

        for (int k = m->g->arg_at[u]; k < m->g->arg_at[u + 1]; k++)
            list_tensor(m, m->g->arg[k]);
        for (int k = m->g->res_at[u]; k < m->g->res_at[u + 1]; k++)
            list_tensor(m, m->g->res[k]);
    }
}

static void clean_room(const memory *m)
{
    weft_block_room *w = m->room;

    for (int i = 0; i < m->n; i++) {
        int t = m->tensor[i];

        w->bytes[t] = w->more[t] = w->gradient[t] = 0;
        w->root[t] = w->last[t] = -1;
        w->is_listed[t] = w->is_live[t] = w->is_read[t] = false;
        for (int r = 0; r < WEFT_N_RECOMPUTES; r++)
            w->is_kept[r][t] = false;
    }
}

/* What is gathered once more for backward: the most of any step. */
static double most_gathered(const memory *m)
{
    double most = 0;

    for (int i = 0; i < m->p->n_steps; i++) {
        double sum = 0;

        for (int k = 0; k < weft_block_step_at(m->p, i)->n_operands; k++)
            sum += gathered_bytes(m, i, k);
        most = fmax(most, sum);
    }
    return most;
}

void weft_block_memory(const weft_block_part *p, const int *state, weft_block_cost *cost)
{
    memory m = {.p = p, .g = p->net->graph, .state = state, .room = p->net->room};
    double backward, again, mask[WEFT_N_RECOMPUTES] = {0};

    list_tensors(&m);
    find_bytes(&m);
    keep_all(&m);
    if (has_backward(&m)) {
        keep_entering(&m);
        keep_products(&m);
    }
    find_last(&m);
    for (weft_recompute r = WEFT_KEEP_ALL; r < WEFT_N_RECOMPUTES && has_backward(&m); r++)
        mask[r] = mask_bytes(&m, r);
    backward = backward_peak(&m) + most_gathered(&m);
    again = fmax(backward, forward_peak(&m, WEFT_KEEP_ALL));
    for (weft_recompute r = WEFT_KEEP_ALL; r < WEFT_N_RECOMPUTES; r++) {
        double more = rebuilt(&m, r) + mask[WEFT_KEEP_ALL] - mask[r];

        cost->stash_bytes[r] = stash_of(&m, r) + mask[r];
        cost->work_bytes[r] =
            fmax(forward_peak(&m, r), more + (r == WEFT_KEEP_ALL ? backward : again));
    }
    clean_room(&m);
}

/* --- state ----------------------------------------------------------------------------------- */

enum { FULL_BYTES = 4, FULL_BITS = 32 };

static bool is_small(const weft_graph *g, int tensor)
{
    return weft_dtype_bits(g->tensor[tensor].type) < FULL_BITS;
}

/* Moments have 4 bytes each, whatever the parameter's type; parameters of less than 32 bits have a
 * copy of 4 bytes besides, and, as the recipe says, one of their gradients. */
static double moment_bytes(const weft_graph *g, int tensor, int update, weft_recipe recipe)
{
    int n_states = g->arg_at[update + 1] - g->arg_at[update] - 2;

    return FULL_BYTES * (n_states + is_small(g, tensor) * (recipe == WEFT_RECIPE_20 ? 2 : 1));
}

const char *weft_recipe_name(weft_recipe r)
{
    static const char *const names[WEFT_N_RECIPES] = {"16", "18", "20"};

    return names[r];
}

/* A constant that only scores inside of attention kernels are made with, as a causal mask: such a
 * kernel knows it from the places. */
static bool is_mask(const weft_block_part *p, int tensor)
{
    const weft_graph *g = p->net->graph;

    for (int i = g->use_at[tensor]; i < g->use_at[tensor + 1]; i++) {
        int u = g->use[i];

        if (g->node[u].phase == WEFT_FORWARD &&
            (g->res_at[u] == g->res_at[u + 1] || g->res[g->res_at[u]] < 0 ||
             !weft_block_is_score(p->net, g->res[g->res_at[u]])))
            return false;
    }
    return p->net->update[tensor] < 0;
}

/* The first layout of a weight counts, and those of later readers that are not within it. */
static void hold_weight(const weft_block_part *p, int tensor, const weft_layout *l, bool is_first,
                        weft_block_state *out)
{
    double elements = (double)weft_layout_most(l);
    int update = p->net->update[tensor];
    double bytes = elements * weft_block_element_bytes(p, tensor);
    weft_recipe recipe = p->net->request->recipe;

    out->weight_bytes += is_mask(p, tensor) ? 0 : bytes;
    if (update < 0 || !is_first)
        return;
    if (recipe == WEFT_RECIPE_18 && is_small(p->net->graph, tensor))
        bytes = elements * FULL_BYTES;
    out->gradient_bytes += bytes;
    if (weft_block_borrows(p->net, p->block, tensor))
        return;
    out->moment_bytes += elements * moment_bytes(p->net->graph, tensor, update, recipe);
    out->sync_bytes += bytes;
}

/* The layout in which a step before weight k of step i first reads the same tensor; NULL: none. */
static const weft_layout *first_layout(const weft_block_part *p, const int *state, int i, int k)
{
    int tensor = weft_block_step_at(p, i)->weight[k].tensor;

    for (int j = 0; j <= i; j++)
        for (int w = 0; w < (j == i ? k : weft_block_step_at(p, j)->n_weights); w++)
            if (weft_block_step_at(p, j)->weight[w].tensor == tensor)
                return &p->step[j].choice[state[j]].weight[w];
    return NULL;
}

void weft_block_hold(const weft_block_part *p, const int *state, weft_block_state *out)
{
    for (int i = 0; i < p->n_steps; i++) {
        const weft_step *s = weft_block_step_at(p, i);
        const weft_block_choice *c = &p->step[i].choice[state[i]];

        for (int k = 0; k < s->n_weights; k++) {
            const weft_layout *first = first_layout(p, state, i, k);

            if (first == NULL || !weft_layout_within(&c->weight[k], first))
                hold_weight(p, s->weight[k].tensor, &c->weight[k], first == NULL, out);
        }
    }
}
