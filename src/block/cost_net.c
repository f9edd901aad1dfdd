/* SPDX-License-Identifier: MIT */
/* cost_net.c: a training graph as the costs of units need it, and which units are alike.
 *
 * 1. Gradients: parameters with an update node have one, and what differentiable operators make of
 *    values that have one, as in ops/grad.c.
 * 2. Backward nodes are listed by forward node. A gradient tensor belongs to the operand in whose
 *    place it stands (ops/nest.c); sums of gradients belong to the tensor whose gradient their
 *    reader takes them for.
 * 3. Two units are alike if their nodes, in order, are: the same classes of steps, backward nodes
 *    in the same places, and the same pattern of tensors, which are numbered in the order in which
 *    the unit mentions them, with size, kind, and whether they enter or leave.
 *
 * 4. Kernels (ops/fusion.c) end at products whose results KEEP_SOME keeps, and with several members at
 *    nodes that belong to no step, so that what is computed again, or where a tensor lies, finds its
 *    operands in memory. If costs are to hold for any design, they end at all steps.
 *
 * Cost: O(nodes + operands). */
#include <math.h>
#include <string.h>

#include "block_part.h"
#include "rows.h"

bool weft_block_is_forward_value(const weft_graph *g, int tensor)
{
    const weft_tensor *x = &g->tensor[tensor];

    if (x->kind == WEFT_WEIGHT || x->kind == WEFT_STATE)
        return false;
    return x->producer < 0 || g->node[x->producer].phase == WEFT_FORWARD;
}

bool weft_block_leaves(const weft_cost_net *n, int block, int tensor)
{
    const weft_graph *g = n->graph;

    for (int i = g->use_at[tensor]; i < g->use_at[tensor + 1]; i++)
        if (g->node[g->use[i]].phase == WEFT_FORWARD && n->of_node[g->use[i]] != block)
            return true;
    return false;
}

bool weft_block_borrows(const weft_cost_net *n, int block, int tensor)
{
    const weft_blocks *s = n->request->blocks;

    for (int i = 0; i < s->n_shared; i++)
        if (s->shared[i].other == block && s->shared[i].tensor == tensor)
            return true;
    return false;
}

/* --- gradients ------------------------------------------------------------------------------- */

static const weft_op *const *find_ops(const weft_graph *g, weft_arena *a)
{
    const weft_op **op = WEFT_NEW(a, const weft_op *, g->n_nodes);

    for (int u = 0; u < g->n_nodes; u++)
        if (g->node[u].phase == WEFT_FORWARD && !g->node[u].has_body)
            op[u] = weft_op_find(g->node[u].domain, g->node[u].op);
    return op;
}

static bool is_differentiable(const weft_op *op, int slot)
{
    return op == NULL ||
           (op->grad != WEFT_GRAD_NONE && (op->grad_args >> (slot < 31 ? slot : 31) & 1));
}

bool weft_block_has_gradient(const weft_cost_net *n, const weft_step *s, const weft_step_operand *x)
{
    return n->has_gradient[x->tensor] && is_differentiable(n->op[s->node[x->node]], x->slot);
}

static const bool *find_gradients(const weft_cost_net *n, weft_arena *a)
{
    const weft_graph *g = n->graph;
    bool *has = WEFT_NEW(a, bool, g->n_tensors);

    for (int t = 0; t < g->n_tensors; t++)
        has[t] = n->update[t] >= 0;
    for (int u = 0; u < g->n_nodes; u++) {
        bool any = false;

        for (int i = g->arg_at[u]; g->node[u].phase == WEFT_FORWARD && i < g->arg_at[u + 1]; i++)
            any = any || (g->arg[i] >= 0 && has[g->arg[i]] &&
                          is_differentiable(n->op[u], i - g->arg_at[u]));
        for (int i = g->res_at[u]; any && i < g->res_at[u + 1]; i++)
            if (g->res[i] >= 0)
                has[g->res[i]] = weft_dtype_is_float(g->tensor[g->res[i]].type);
    }
    return has;
}

static const int *find_updates(const weft_graph *g, weft_arena *a)
{
    int *update = WEFT_NEW(a, int, g->n_tensors);

    for (int t = 0; t < g->n_tensors; t++)
        update[t] = -1;
    for (int u = 0; u < g->n_nodes; u++)
        if (g->node[u].phase == WEFT_UPDATE)
            update[g->arg[g->arg_at[u]]] = u;
    return update;
}

/* The tensor whose gradient node u, which belongs to no forward node, adds up. */
static int summed_tensor(const weft_graph *g, int u)
{
    int t = g->res_at[u] < g->res_at[u + 1] ? g->res[g->res_at[u]] : -1;

    for (int i = t < 0 ? 0 : g->use_at[t]; t >= 0 && i < g->use_at[t + 1]; i++) {
        int v = g->use[i], f = g->node[v].forward;

        if (g->node[v].phase == WEFT_UPDATE)
            return g->arg[g->arg_at[v]];
        for (int r = 0; f >= 0 && r < g->res_at[f + 1] - g->res_at[f]; r++)
            if (g->arg[g->arg_at[v] + r] == t)
                return g->res[g->res_at[f] + r];
    }
    return -1;
}

static const int *find_grad_of(const weft_graph *g, weft_arena *a)
{
    int *of = WEFT_NEW(a, int, g->n_tensors);

    for (int t = 0; t < g->n_tensors; t++)
        of[t] = -1;
    for (int u = 0; u < g->n_nodes; u++) {
        int f = g->node[u].forward, n_res = g->res_at[u + 1] - g->res_at[u];

        if (g->node[u].phase != WEFT_BACKWARD)
            continue;
        for (int i = 0; f >= 0 && i < n_res && i < g->arg_at[f + 1] - g->arg_at[f]; i++)
            if (g->res[g->res_at[u] + i] >= 0)
                of[g->res[g->res_at[u] + i]] = g->arg[g->arg_at[f] + i];
        if (f < 0 && n_res > 0 && g->res[g->res_at[u]] >= 0)
            of[g->res[g->res_at[u]]] = strcmp(g->node[u].domain, "weft.train") == 0
                                           ? g->arg[g->arg_at[u]] /* a loss */
                                           : summed_tensor(g, u);
    }
    return of;
}

/* A view shows the bytes of its operand. */
static const int *find_roots(const weft_cost_net *n, weft_arena *a)
{
    const weft_graph *g = n->graph;
    int *root = WEFT_NEW(a, int, g->n_tensors);

    for (int t = 0; t < g->n_tensors; t++)
        root[t] = t;
    for (int u = 0; u < g->n_nodes; u++) {
        const weft_op *op = n->op[u];
        int x = g->arg_at[u] < g->arg_at[u + 1] ? g->arg[g->arg_at[u]] : -1;

        for (int i = g->res_at[u]; op && x >= 0 && i < g->res_at[u + 1]; i++)
            if (op->fusion == WEFT_FUSE_VIEW && g->res[i] >= 0)
                root[g->res[i]] = root[x];
    }
    return root;
}

/* --- lists ----------------------------------------------------------------------------------- */

static bool list_steps(weft_cost_net *n, weft_arena *a)
{
    const weft_steps *s = n->request->steps;
    int *block = WEFT_NEW(a, int, s->n), *place = WEFT_NEW(a, int, s->n);
    weft_rows steps;

    for (int v = 0; v < s->n; v++) {
        const weft_step *x = &s->step[v];

        block[v] = n->graph->node[x->node[0]].phase == WEFT_FORWARD ? n->of_node[x->node[0]] : -1;
        place[v] = -1;
        for (int i = 1; i < x->n_nodes; i++)
            if (n->of_node[x->node[i]] != n->of_node[x->node[0]])
                return false;
    }
    steps = weft_rows_by(block, s->n, n->request->blocks->n_blocks, a);
    n->step_at = steps.at;
    n->step = steps.item;
    for (int q = 0; q < n->request->blocks->n_blocks; q++)
        for (int i = n->step_at[q]; i < n->step_at[q + 1]; i++)
            place[n->step[i]] = i - n->step_at[q];
    n->place_of_step = place;
    return true;
}

static weft_block_room *new_room(int n, weft_arena *a)
{
    weft_block_room *r = WEFT_NEW(a, weft_block_room, 1);

    *r = (weft_block_room){.bytes = WEFT_NEW(a, double, n),
                           .more = WEFT_NEW(a, double, n),
                           .gradient = WEFT_NEW(a, double, n),
                           .root = WEFT_NEW_RAW(a, int, n),
                           .last = WEFT_NEW_RAW(a, int, n),
                           .is_listed = WEFT_NEW(a, bool, n),
                           .is_live = WEFT_NEW(a, bool, n),
                           .is_read = WEFT_NEW(a, bool, n)};
    for (int i = 0; i < WEFT_N_RECOMPUTES; i++)
        r->is_kept[i] = WEFT_NEW(a, bool, n);
    memset(r->root, -1, sizeof *r->root * (size_t)n);
    memset(r->last, -1, sizeof *r->last * (size_t)n);
    return r;
}

/* --- kernels --------------------------------------------------------------------------------- */

/* Nodes with different numbers are not in one kernel. */
static int kernel_part(const weft_cost_net *n, int u, bool is_any_design)
{
    const weft_steps *s = n->request->steps;
    const weft_node *x = &n->graph->node[u];
    bool is_alone = n->request->width > 1;

    if (x->phase == WEFT_FORWARD)
        return weft_block_is_kept_step(n, s->of_node[u]) || (is_alone && is_any_design)
                   ? 1 + s->of_node[u]
                   : 0;
    if (x->forward < 0)
        return is_alone ? 1 + s->n + u : 0;
    return is_alone && is_any_design ? 1 + s->of_node[x->forward] : 0;
}

/* The request with the kernels that hold for it. */
static void cut_kernels(weft_cost_net *n, bool is_any_design, weft_arena *a)
{
    weft_block_request *request = WEFT_NEW(a, weft_block_request, 1);
    weft_steps *steps = WEFT_NEW(a, weft_steps, 1);
    weft_graph *cut = WEFT_NEW(a, weft_graph, 1);
    int *part = WEFT_NEW(a, int, n->graph->n_nodes + 1);

    for (int u = 0; u < n->graph->n_nodes; u++)
        part[u] = kernel_part(n, u, is_any_design);
    weft_graph_cut_kernels(n->graph, part, a, cut);
    *steps = *n->request->steps;
    steps->graph = cut;
    *request = *n->request;
    request->steps = steps;
    n->request = request;
    n->graph = request->graph = cut;
}

bool weft_cost_net_new(const weft_block_request *request, bool is_any_design, weft_arena *a,
                       weft_cost_net *out)
{
    const weft_graph *g = request->steps->graph;
    int *forward = WEFT_NEW(a, int, g->n_nodes);
    weft_rows back, node;

    *out = (weft_cost_net){.request = request, .graph = g, .of_node = request->blocks->of_node};
    out->op = find_ops(g, a);
    if (g->kernel)
        cut_kernels(out, is_any_design, a);
    g = out->graph;
    for (int u = 0; u < g->n_nodes; u++)
        forward[u] = g->node[u].phase == WEFT_BACKWARD ? g->node[u].forward : -1;
    back = weft_rows_by(forward, g->n_nodes, g->n_nodes, a);
    out->back_at = back.at;
    out->back = back.item;
    node = weft_rows_by(out->of_node, g->n_nodes, request->blocks->n_blocks, a);
    out->node_at = node.at;
    out->node = node.item;
    out->update = find_updates(g, a);
    out->has_gradient = find_gradients(out, a);
    out->grad_of = find_grad_of(g, a);
    out->root = find_roots(out, a);
    out->room = new_room(g->n_tensors, a);
    out->free_memory = *request->design;
    out->free_memory.value[WEFT_P_BANDWIDTH] = INFINITY;
    out->memory_bytes_per_s =
        request->design->value[WEFT_P_BANDWIDTH] * request->design->value[WEFT_P_ETA];
    return list_steps(out, a);
}

/* --- units that are alike -------------------------------------------------------------------- */

typedef struct key {
    const weft_cost_net *n;
    weft_arena *a;
    int block;
    WEFT_VEC(int64_t) word;
    WEFT_VEC(int) tensor; /* mentioned so far */
    int *number, *stamp;  /* [tensors] of those with the unit's stamp */
} key;

static void put(key *k, int64_t x)
{
    WEFT_PUSH(k->a, k->word, x);
}

static void put_text(key *k, const char *text)
{
    size_t n = strlen(text);

    put(k, (int64_t)n);
    for (size_t i = 0; i < n; i += sizeof(int64_t)) {
        int64_t x = 0;

        memcpy(&x, text + i, n - i < sizeof x ? n - i : sizeof x);
        put(k, x);
    }
}

static bool is_inside(const key *k, int tensor)
{
    int u = k->n->graph->tensor[tensor].producer;

    return u >= 0 && k->n->of_node[u] == k->block;
}

/* Nodes of other units read it: forward (1), other (2). */
static int outside_use(const key *k, int tensor)
{
    const weft_graph *g = k->n->graph;
    int use = 0;

    for (int i = g->use_at[tensor]; i < g->use_at[tensor + 1]; i++)
        if (k->n->of_node[g->use[i]] != k->block)
            use |= g->node[g->use[i]].phase == WEFT_FORWARD ? 1 : 2;
    return use;
}

static void put_tensor(key *k, int tensor)
{
    const weft_tensor *x;

    if (tensor < 0 || k->stamp[tensor] == k->block + 1) {
        put(k, tensor < 0 ? -1 : k->number[tensor]);
        return;
    }
    k->stamp[tensor] = k->block + 1;
    k->number[tensor] = k->tensor.n;
    WEFT_PUSH(k->a, k->tensor, tensor);
    x = &k->n->graph->tensor[tensor];
    put(k, -2);
    put(k, (int64_t)x->kind << 8 | (int64_t)x->type);
    put(k, x->elements);
    put(k, x->bytes);
    put(k, is_inside(k, tensor) << 4 | k->n->has_gradient[tensor] << 3 |
               (k->n->update[tensor] >= 0) << 2 | outside_use(k, tensor));
    if (k->n->graph->kernel)
        put(k, (int64_t)weft_storage_of(k->n->graph, tensor));
    if (x->kind == WEFT_WEIGHT && weft_block_borrows(k->n, k->block, tensor))
        put(k, -3);
    if (k->n->root[tensor] != tensor)
        put_tensor(k, k->n->root[tensor]);
    if (k->n->grad_of[tensor] >= 0)
        put_tensor(k, k->n->grad_of[tensor]);
}

static void put_node(key *k, int u)
{
    const weft_graph *g = k->n->graph;
    const weft_steps *s = k->n->request->steps;
    const weft_node *x = &g->node[u];
    int v = s->of_node[u], f = x->forward;

    put(k, x->phase);
    put_text(k, x->op);
    if (x->phase == WEFT_FORWARD) {
        put(k, s->step[v].like);
        put(k, k->n->place_of_step[v]);
    } else if (f >= 0) {
        put(k, s->step[s->of_node[f]].like);
        put(k, k->n->of_node[f] == k->block ? k->n->place_of_step[s->of_node[f]] : -1 - f);
        put(k, x->wrt);
    }
    if (x->has_body) {
        put(k, x->body.flops);
        put(k, x->body.read_bytes);
        put(k, x->body.write_bytes);
    }
    if (g->kernel)
        put(k, g->is_launched[u] + 2 * (g->again[u] >= 0) + 4 * (g->attention[u] >= 0) +
                   8 * (g->is_causal && g->is_causal[u]));
    for (int i = g->arg_at[u]; i < g->arg_at[u + 1]; i++) {
        put_tensor(k, g->arg[i]);
        if (g->kernel)
            put(k, weft_operand_is_inner(g, u, i - g->arg_at[u]));
    }
    put(k, -4);
    for (int i = g->res_at[u]; i < g->res_at[u + 1]; i++)
        put_tensor(k, g->res[i]);
}

int *weft_block_likes(const weft_cost_net *n, weft_arena *a)
{
    int n_blocks = n->request->blocks->n_blocks, *like = WEFT_NEW(a, int, n_blocks);
    weft_map *seen = weft_map_new(a);
    key k = {.n = n,
             .a = a,
             .number = WEFT_NEW(a, int, n->graph->n_tensors),
             .stamp = WEFT_NEW(a, int, n->graph->n_tensors)};

    for (int q = 0; q < n_blocks; q++) {
        size_t size;

        k.block = q;
        k.word.n = k.tensor.n = 0;
        for (int i = n->node_at[q]; i < n->node_at[q + 1]; i++)
            put_node(&k, n->node[i]);
        size = (size_t)k.word.n * sizeof k.word.at[0];
        like[q] = weft_map_get(seen, (const char *)k.word.at, size);
        if (like[q] >= 0)
            continue;
        like[q] = q;
        (void)weft_map_put(seen, weft_arena_copy(a, k.word.at, size), size, q);
    }
    return like;
}
