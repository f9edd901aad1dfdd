/* SPDX-License-Identifier: MIT */
/* block_nodes.c: which unit each node of the training graph belongs to, and what crosses cuts.
 *
 * Forward nodes: as contracted. Others:
 *  - backward nodes of a forward node: its unit;
 *  - loss nodes: the unit that makes the output (the last one, if there is one output);
 *  - updates: the first unit that reads the parameter, its owner; sums of a parameter's gradients,
 *    and gradients of a bias alone, go with the update;
 *  - sums of a result's gradients: the unit of an operand from which the units of all operands can
 *    be reached: the first that reads the result; else the last unit from which they all can.
 *
 * leave_bytes of a cut: activations made by a forward node inside and read by one outside, each
 * tensor once. back_bytes: those of floating type, as only these have gradients. */
#include <string.h>

#include "block_nodes.h"

typedef struct filler {
    const weft_graph *g;
    int n_blocks, n_words;
    uint64_t *reach; /* [n_units * n_words] units that can be reached from u, itself included */
    int *of_node;
} filler;

static uint64_t *row(const filler *f, int block)
{
    return f->reach + (size_t)block * (size_t)f->n_words;
}

static void find_reach(filler *f, const weft_block_net *net, weft_arena *a)
{
    f->reach = WEFT_NEW(a, uint64_t, (size_t)net->n * (size_t)f->n_words);
    for (int u = net->n - 1; u >= 0; u--) {
        weft_bit_set(row(f, u), u);
        for (int k = net->out_at[u]; k < net->out_at[u + 1]; k++)
            for (int w = 0; w < f->n_words; w++)
                row(f, u)[w] |= row(f, net->out[k])[w];
    }
}

/* --- nodes that are not forward -------------------------------------------------------------- */

/* The first unit in which a forward node reads the tensor; -1: none. */
static int owner_of(const filler *f, int tensor)
{
    const weft_graph *g = f->g;
    int owner = -1;

    for (int k = g->use_at[tensor]; k < g->use_at[tensor + 1]; k++) {
        int block = f->of_node[g->use[k]];

        if (g->node[g->use[k]].phase == WEFT_FORWARD && (owner < 0 || block < owner))
            owner = block;
    }
    return owner;
}

/* The parameter that an update changes: its first operand. */
static int parameter_of(const weft_graph *g, int update)
{
    return g->arg[g->arg_at[update]];
}

/* The owner of the parameter whose update reads a result of u; -1: no update does. */
static int updated_unit(const filler *f, int u)
{
    const weft_graph *g = f->g;

    for (int e = g->out_at[u]; e < g->out_at[u + 1]; e++)
        if (g->node[g->out_to[e]].phase == WEFT_UPDATE)
            return owner_of(f, parameter_of(g, g->out_to[e]));
    return -1;
}

static bool reaches_operands(const filler *f, int block, int u)
{
    for (int e = f->g->in_at[u]; e < f->g->in_at[u + 1]; e++)
        if (!weft_bit_get(row(f, block), f->of_node[f->g->in_from[e]]))
            return false;
    return true;
}

/* The unit of a backward node without a forward node. */
static int unit_of_sum(const filler *f, int u)
{
    const weft_graph *g = f->g;
    int block = updated_unit(f, u);

    if (block >= 0)
        return block;
    for (int e = g->in_at[u]; e < g->in_at[u + 1]; e++) {
        int from = f->of_node[g->in_from[e]];

        if (g->node[g->in_from[e]].phase == WEFT_FORWARD || reaches_operands(f, from, u))
            return from;
    }
    for (block = f->n_blocks - 1; block > 0 && !reaches_operands(f, block, u);)
        block--;
    return block;
}

static void place_nodes(filler *f, const weft_block_net *net)
{
    const weft_graph *g = f->g;

    memcpy(f->of_node, net->of, (size_t)g->n_nodes * sizeof *f->of_node);
    for (int u = 0; u < g->n_nodes; u++) { /* operands come first */
        if (g->node[u].phase == WEFT_FORWARD)
            continue;
        if (g->node[u].phase == WEFT_UPDATE)
            f->of_node[u] = owner_of(f, parameter_of(g, u));
        else if (g->node[u].forward >= 0)
            f->of_node[u] = f->of_node[g->node[u].forward];
        else
            f->of_node[u] = unit_of_sum(f, u);
    }
}

/* --- names ----------------------------------------------------------------------------------- */

static const char **name_units(const filler *f, weft_arena *a)
{
    const char **name = WEFT_NEW(a, const char *, f->n_blocks);
    const char **last = WEFT_NEW(a, const char *, f->n_blocks);

    for (int u = 0; u < f->g->n_nodes; u++) {
        int block = f->of_node[u];

        if (f->g->node[u].phase != WEFT_FORWARD)
            continue;
        if (name[block] == NULL)
            name[block] = f->g->node[u].name;
        else
            last[block] = f->g->node[u].name;
    }
    for (int block = 0; block < f->n_blocks; block++)
        if (last[block] != NULL)
            name[block] = weft_arena_print(a, "%s .. %s", name[block], last[block]);
    return name;
}

/* --- what crosses ---------------------------------------------------------------------------- */

/* Adds a tensor made in unit `from` to the cuts that it leaves. readers: bits of units. */
static void add_leaving(const weft_cut_list *cuts, int from, const uint64_t *readers, double bytes,
                        double *sum)
{
    for (int c = 0; c < cuts->n; c++) {
        const uint64_t *cut = weft_cut_at(cuts, c);
        bool is_leaving = false;

        if (!weft_bit_get(cut, from))
            continue;
        for (int w = 0; w < cuts->n_words; w++)
            is_leaving |= (readers[w] & ~cut[w]) != 0;
        if (is_leaving)
            sum[c] += bytes;
    }
}

static void sum_leaving(const filler *f, const weft_cut_list *cuts, double *leave, double *back,
                        weft_arena *scratch)
{
    const weft_graph *g = f->g;
    uint64_t *readers = WEFT_NEW(scratch, uint64_t, f->n_words);

    for (int t = 0; t < g->n_tensors; t++) {
        const weft_tensor *x = &g->tensor[t];
        int from;
        bool is_crossing = false;

        if (x->producer < 0 || g->node[x->producer].phase != WEFT_FORWARD)
            continue;
        from = f->of_node[x->producer];
        memset(readers, 0, (size_t)f->n_words * sizeof *readers);
        for (int k = g->use_at[t]; k < g->use_at[t + 1]; k++)
            if (g->node[g->use[k]].phase == WEFT_FORWARD) {
                weft_bit_set(readers, f->of_node[g->use[k]]);
                is_crossing |= f->of_node[g->use[k]] != from;
            }
        if (!is_crossing)
            continue;
        add_leaving(cuts, from, readers, (double)x->bytes, leave);
        if (weft_dtype_is_float(x->type))
            add_leaving(cuts, from, readers, (double)x->bytes, back);
    }
}

/* --- shared parameters ----------------------------------------------------------------------- */

static void find_shared(const filler *f, weft_arena *a, weft_blocks *out)
{
    const weft_graph *g = f->g;
    WEFT_VEC(weft_shared) shared = {0};
    int *seen = WEFT_NEW(a, int, f->n_blocks); /* number of the last update that met the unit + 1 */

    for (int u = 0; u < g->n_nodes; u++) {
        int t, owner;

        if (g->node[u].phase != WEFT_UPDATE)
            continue;
        t = parameter_of(g, u);
        owner = owner_of(f, t);
        for (int k = g->use_at[t]; k < g->use_at[t + 1]; k++) {
            int block = f->of_node[g->use[k]];

            if (g->node[g->use[k]].phase != WEFT_FORWARD || block == owner || seen[block] == u + 1)
                continue;
            seen[block] = u + 1;
            WEFT_PUSH(a, shared, ((weft_shared){.owner = owner, .other = block, .tensor = t}));
        }
    }
    out->n_shared = shared.n;
    out->shared = shared.at;
}

bool weft_shared_is_copy(const weft_blocks *u, int k, int inner, int outer)
{
    const weft_shared *s = &u->shared[k];

    if (!weft_block_between(u, s->other, inner, outer))
        return false;
    if (weft_block_between(u, s->owner, inner, outer))
        return true;
    for (int i = 0; i < k && s->tensor >= 0; i++)
        if (u->shared[i].owner == s->owner && u->shared[i].tensor == s->tensor &&
            weft_block_between(u, u->shared[i].other, inner, outer))
            return true;
    return false;
}

/* --- all of it ------------------------------------------------------------------------------- */

void weft_blocks_fill(const weft_block_net *net, const weft_cut_list *cuts, weft_arena *a,
                      weft_blocks *out)
{
    size_t n_words = (size_t)cuts->n_words;
    filler f = {.g = net->graph,
                .n_blocks = net->n,
                .n_words = cuts->n_words,
                .of_node = WEFT_NEW(a, int, net->graph->n_nodes)};
    double *leave = WEFT_NEW(a, double, cuts->n), *back = WEFT_NEW(a, double, cuts->n);

    find_reach(&f, net, net->arena);
    place_nodes(&f, net);
    sum_leaving(&f, cuts, leave, back, net->arena);
    *out = (weft_blocks){
        .n_blocks = net->n,
        .name = name_units(&f, a),
        .of_node = f.of_node,
        .n_cuts = cuts->n,
        .n_words = cuts->n_words,
        .cut = weft_arena_copy(a, cuts->bits, (size_t)cuts->n * n_words * sizeof(uint64_t)),
        .is_chain = cuts->n == net->n + 1,
        .leave_bytes = leave,
        .back_bytes = back};
    find_shared(&f, a, out);
}
