/* SPDX-License-Identifier: MIT */
/* block_choice.c: the ways to cut the operators of a unit over the members of a block.
 *
 * A step is cut along one axis by all members, or done by each (a copy). Partial sums are summed on
 * a ring or stay scattered. Nothing rotates. Products are not cut so that each member has all of a
 * matrix that is trained (along samples or rows): that is what replicas are for, which sum its
 * gradient once for all microbatches, and a wider block is to hold less. A Split into parts that
 * the members divide may also give each member its block of every part, as heads of queries, keys
 * and values that one matrix makes. What they cost: block_options.c. */
#include <string.h>

#include "block_part.h"

/* --- layouts --------------------------------------------------------------------------------- */

static bool is_equal(const weft_box *a, const weft_box *b)
{
    for (int d = 0; d < a->rank; d++)
        if (a->lo[d] != b->lo[d] || a->hi[d] != b->hi[d])
            return false;
    return true;
}

static void mark_same(weft_layout *l)
{
    l->is_same = true;
    for (int j = 1; j < l->n_members; j++)
        for (int i = 0; i < l->n; i++)
            l->is_same = l->is_same && is_equal(&l->box[i], &l->box[j * l->n + i]);
}

static const weft_layout *layouts_of(const weft_block_part *p, const weft_box *box, int n_members,
                                     int n)
{
    weft_layout *l = WEFT_NEW(p->arena, weft_layout, n + 1);

    for (int k = 0; k < n; k++) {
        l[k] = (weft_layout){.n_members = n_members, .n = 1, .box = box + k * n_members};
        mark_same(&l[k]);
    }
    return l;
}

void weft_block_layouts(const weft_block_part *p, int v, const weft_split *split,
                        weft_block_choice *out)
{
    const weft_step *s = &p->net->request->steps->step[v];
    int n = split->n;
    weft_box *operand = WEFT_NEW_RAW(p->arena, weft_box, s->n_operands * n + 1);
    weft_box *weight = WEFT_NEW_RAW(p->arena, weft_box, s->n_weights * n + 1);
    weft_box *result = WEFT_NEW_RAW(p->arena, weft_box, s->n_results * n + 1);

    weft_split_boxes(p->net->request->steps, v, split, operand, weight, result);
    out->need = layouts_of(p, operand, n, s->n_operands);
    out->weight = layouts_of(p, weight, n, s->n_weights);
    out->result = layouts_of(p, result, n, s->n_results);
}

weft_layout weft_block_whole(const weft_block_part *p, int tensor)
{
    int n = p->net->request->width;
    weft_box *box = WEFT_NEW_RAW(p->arena, weft_box, n);

    for (int j = 0; j < n; j++)
        box[j] = weft_box_whole(p->net->graph->tensor[tensor].shape);
    return (weft_layout){.n_members = n, .n = 1, .box = box, .is_same = true};
}

/* --- a Split, part by part ------------------------------------------------------------------- */

/* The dimension along which a Split divides, if each of its parts can be cut into `width` blocks;
 * else -1. */
static int part_dimension(const weft_block_part *p, const weft_step *s)
{
    const weft_graph *g = p->net->graph;
    int u = s->node[0], width = p->net->request->width, rank;
    int64_t axis = weft_node_int(&g->node[u], "axis", 0);

    if (width == 1 || s->n_nodes != 1 || s->n_operands == 0 || s->operand[0].slot != 0 ||
        s->n_results < 2 || strcmp(g->node[u].op, "Split") != 0 || g->node[u].domain[0] != '\0')
        return -1;
    rank = g->tensor[s->result[0]].shape->rank;
    axis += axis < 0 ? rank : 0;
    if (axis < 0 || axis >= rank)
        return -1;
    for (int i = g->res_at[u]; i < g->res_at[u + 1]; i++)
        if (g->res[i] < 0 || g->tensor[g->res[i]].shape->dim[axis] % width != 0)
            return -1;
    return (int)axis;
}

/* Block j of a part that starts at `start`. */
static weft_box block_of(const weft_shape *part, int dim, int64_t start, int j, int n)
{
    weft_box b = weft_box_whole(part);

    b.lo[dim] = start + part->dim[dim] / n * j;
    b.hi[dim] = start + part->dim[dim] / n * (j + 1);
    return b;
}

static void fill_by_part(const weft_block_part *p, const weft_step *s, int dim,
                         weft_block_choice *c)
{
    const weft_graph *g = p->net->graph;
    int u = s->node[0], width = p->net->request->width, n = g->res_at[u + 1] - g->res_at[u];
    weft_layout *need = WEFT_NEW(p->arena, weft_layout, s->n_operands + 1);
    weft_layout *result = WEFT_NEW(p->arena, weft_layout, s->n_results);
    weft_box *box = WEFT_NEW(p->arena, weft_box, n * width);

    for (int k = 1; k < s->n_operands; k++)
        need[k] = weft_block_whole(p, s->operand[k].tensor);
    need[0] = (weft_layout){.n_members = width, .n = n, .box = box};
    for (int j = 0; j < width; j++) {
        int64_t start = 0;

        for (int i = 0; i < n; i++) {
            const weft_shape *part = g->tensor[g->res[g->res_at[u] + i]].shape;

            box[j * n + i] = block_of(part, dim, start, j, width);
            start += part->dim[dim];
        }
    }
    for (int k = 0; k < s->n_results; k++) {
        weft_box *block = WEFT_NEW(p->arena, weft_box, width);

        for (int j = 0; j < width; j++)
            block[j] = block_of(g->tensor[s->result[k]].shape, dim, 0, j, width);
        result[k] = (weft_layout){.n_members = width, .n = 1, .box = block};
    }
    weft_block_layouts(p, (int)(s - p->net->request->steps->step), &c->split, c);
    c->is_by_part = true;
    c->need = need;
    c->result = result;
}

/* --- lists of choices ------------------------------------------------------------------------ */

/* Does a product leave a parameter that it multiplies with whole on each member? */
static bool repeats_parameter(const weft_block_part *p, const weft_step *s,
                              const weft_block_choice *c)
{
    const weft_graph *g = p->net->graph;

    for (int k = 0; k < s->n_weights; k++)
        if (s->weight[k].node == 0 && p->net->update[s->weight[k].tensor] >= 0 &&
            g->tensor[s->weight[k].tensor].shape->rank > 1 && c->weight[k].is_same)
            return true;
    return false;
}

static void add_choice(const weft_block_part *p, weft_block_step *to, const weft_split *split)
{
    const weft_step *s = &p->net->request->steps->step[to->step];
    weft_block_choice *c = &to->choice[to->n_choices];

    if (!weft_split_is_valid(p->net->request->steps, to->step, split))
        return;
    c->split = *split;
    weft_block_layouts(p, to->step, split, c);
    if (split->n > 1 && !weft_split_is_copy(split) && weft_block_is_tensor_step(p->net, to->step) &&
        repeats_parameter(p, s, c))
        return;
    to->n_choices++;
}

int weft_block_n_gradients(const weft_block_part *p, int tensor)
{
    int n = 0;

    for (int i = 0; i < p->n_steps; i++) {
        const weft_step *s = weft_block_step_at(p, i);

        for (int k = 0; k < s->n_operands; k++)
            n += s->operand[k].tensor == tensor &&
                 weft_block_has_gradient(p->net, s, &s->operand[k]);
    }
    return n;
}

void weft_block_list_choices(const weft_block_part *p, weft_block_step *to)
{
    const weft_step *s = &p->net->request->steps->step[to->step];
    int width = p->net->request->width, dim = part_dimension(p, s);
    weft_split copy;

    to->choice = WEFT_NEW(p->arena, weft_block_choice, 2 * (2 * s->n_axes + 2));
    for (int k = 0; width > 1 && k < s->n_axes; k++) {
        weft_split split = weft_split_copies(width);

        if (s->axis[k].extent < width)
            continue;
        split.factor[k] = (uint8_t)width;
        add_choice(p, to, &split);
        split.is_scattered = true;
        add_choice(p, to, &split);
    }
    if (dim >= 0) {
        weft_block_choice *c = &to->choice[to->n_choices++];

        c->split = weft_split_copies(width);
        fill_by_part(p, s, dim, c);
    }
    copy = weft_split_copies(width);
    add_choice(p, to, &copy);
}

void weft_block_list_merged(const weft_block_part *p, weft_block_step *to)
{
    const weft_step *s = &p->net->request->steps->step[to->step];
    int n = to->n_choices;

    if (p->net->request->width == 1 || s->n_results != 1 ||
        weft_block_n_gradients(p, s->result[0]) < 2)
        return;
    for (int i = 0; i < n; i++) {
        to->choice[n + i] = to->choice[i];
        to->choice[n + i].is_merged = true;
    }
    to->n_choices = 2 * n;
}
