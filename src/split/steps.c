/* SPDX-License-Identifier: MIT */
/* steps.c: groups the nodes of a graph into steps that are cut as a whole.
 *
 * 1. Nodes in order. A node that works element by element (step_rule.c) joins the step of an
 * operand that has its result's shape, is the last tensor of that step, is read by this node alone
 * and is not asked for; of several such operands the one made last. The step must have no other
 * result. All other nodes start a step as its head. Reshapes stay alone.
 * 2. Steps are numbered by their last nodes.
 * 3. Steps with the same operators, attributes, shapes, types and pattern of operands form a class:
 *    rules are made once for each. Kernels (ops/fusion.c) are cut at steps, or at the given sets of
 *    nodes; the same pattern of what stays inside is part of a class.
 *
 * Guarantee: every node is in one step, and the order is topological. Proof: a tensor that leaves
 * step A is made by the last node of A: if A has followers, all tensors before its last are read by
 * the next node of A alone and not asked for. So a node of step B that reads it has a higher number
 * than the last node of A, and the last node of B has that number or a higher one.
 *
 * Cost: O(nodes + operands), and the rules of each class. */
#include "step_rule.h"

#include <string.h>

/* --- grouping -------------------------------------------------------------------------------- */

typedef struct grouping {
    const weft_graph *g;
    const int *device_set; /* [n_nodes] nodes of one step have the same; NULL: all do */
    weft_arena *scratch;
    int n;
    int *head_of; /* [n_nodes] head of the node's step */
    int *last_of; /* [n_nodes] by head: last node of its step */
    int *next;    /* [n_nodes] node that follows in the step, or -1 */
} grouping;

/* A tensor that another node reads or that is asked for. */
static bool is_used(const weft_graph *g, int tensor)
{
    return tensor >= 0 &&
           (g->tensor[tensor].kind == WEFT_OUTPUT || g->use_at[tensor + 1] > g->use_at[tensor]);
}

static int n_used_results(const weft_graph *g, int u)
{
    int n = 0;

    for (int i = g->res_at[u]; i < g->res_at[u + 1]; i++)
        n += is_used(g, g->res[i]);
    return n;
}

/* May node u follow the node that makes this operand of it? */
static bool may_follow(const grouping *w, int u, int tensor)
{
    const weft_graph *g = w->g;
    const weft_tensor *t = &g->tensor[tensor];

    return t->producer >= 0 && t->kind == WEFT_ACTIVATION &&
           (w->device_set == NULL || w->device_set[t->producer] == w->device_set[u]) &&
           g->use_at[tensor + 1] - g->use_at[tensor] == 1 &&
           weft_shape_equal(t->shape, g->tensor[g->res[g->res_at[u]]].shape) &&
           n_used_results(g, t->producer) == 1 && !weft_node_is_reshape(g, t->producer);
}

/* The node behind which u is put, or -1: it is a head. */
static int node_before(const grouping *w, int u)
{
    const weft_graph *g = w->g;
    weft_nests nests;
    int before = -1;

    nests.n = 0;
    if (weft_node_has_addresses(g, u))
        weft_node_nests(g, u, &nests);
    if (nests.n != 1 || !weft_node_follows(g, u, &nests))
        return -1;
    for (int i = g->arg_at[u]; i < g->arg_at[u + 1]; i++)
        if (g->arg[i] >= 0 && may_follow(w, u, g->arg[i]) && g->tensor[g->arg[i]].producer > before)
            before = g->tensor[g->arg[i]].producer;
    return before;
}

static grouping group(const weft_graph *g, const int *device_set, weft_arena *scratch)
{
    grouping w = {g,
                  device_set,
                  scratch,
                  0,
                  WEFT_NEW(scratch, int, g->n_nodes),
                  WEFT_NEW(scratch, int, g->n_nodes),
                  WEFT_NEW(scratch, int, g->n_nodes)};

    for (int u = 0; u < g->n_nodes; u++) {
        int before = node_before(&w, u);

        w.next[u] = -1;
        w.head_of[u] = before < 0 ? u : w.head_of[before];
        if (before >= 0)
            w.next[before] = u;
        w.last_of[w.head_of[u]] = u;
        w.n += before < 0;
    }
    return w;
}

/* --- lists of a step ------------------------------------------------------------------------- */

static void list_nodes(const grouping *w, int head, weft_step *step, weft_arena *a)
{
    int *node;

    step->n_nodes = 0;
    for (int u = head; u >= 0; u = w->next[u])
        step->n_nodes++;
    step->node = node = WEFT_NEW(a, int, step->n_nodes);
    for (int u = head; u >= 0; u = w->next[u])
        *node++ = u;
}

static void list_results(const weft_graph *g, weft_step *step, weft_arena *a)
{
    int last = step->node[step->n_nodes - 1];
    int *result = WEFT_NEW(a, int, n_used_results(g, last));

    step->n_results = 0;
    for (int i = g->res_at[last]; i < g->res_at[last + 1]; i++)
        if (is_used(g, g->res[i]))
            result[step->n_results++] = g->res[i];
    step->result = result;
}

static int result_index(const weft_step *step, int tensor)
{
    for (int k = 0; k < step->n_results; k++)
        if (step->result[k] == tensor)
            return k;
    return -1;
}

static bool is_constant(const weft_tensor *t)
{
    return t->kind == WEFT_WEIGHT || t->kind == WEFT_STATE;
}

/* Operands and weights of step `at`, those of its nodes in order. */
static void list_operands(const weft_steps *s, int at, weft_step *step, const int *of_node)
{
    const weft_graph *g = s->graph;
    weft_step_operand *operand, *weight;
    int most = 0;

    for (int i = 0; i < step->n_nodes; i++)
        most += g->arg_at[step->node[i] + 1] - g->arg_at[step->node[i]];
    step->operand = operand = WEFT_NEW(s->arena, weft_step_operand, most);
    step->weight = weight = WEFT_NEW(s->arena, weft_step_operand, most);
    for (int i = 0; i < step->n_nodes; i++)
        for (int u = step->node[i], k = g->arg_at[u]; k < g->arg_at[u + 1]; k++) {
            int t = g->arg[k], from = t < 0 ? -1 : g->tensor[t].producer;
            weft_step_operand x = {t, -1, -1, i, k - g->arg_at[u]};

            if (t < 0 || (from >= 0 && of_node[from] == at))
                continue;
            if (from >= 0) {
                x.step = of_node[from];
                x.result = result_index(&s->step[x.step], t);
            }
            if (is_constant(&g->tensor[t]))
                weight[step->n_weights++] = x;
            else
                operand[step->n_operands++] = x;
        }
}

/* --- classes --------------------------------------------------------------------------------- */

/* All that boxes and costs of a step depend on, as bytes. Tensors are numbered in the order in
 * which the step mentions them; constants are known by their shapes, integers also by their values.
 */
typedef struct key {
    const weft_steps *steps; /* filled up to the one in question */
    weft_arena *a;
    WEFT_VEC(char) bytes;
    WEFT_VEC(int) tensors;
} key;

static void put(key *k, const void *from, size_t n)
{
    const char *byte = from;

    for (; n > 0 && k->bytes.n < k->bytes.room; n--)
        k->bytes.at[k->bytes.n++] = *byte++;
    for (; n > 0; n--, byte++)
        WEFT_PUSH(k->a, k->bytes, *byte);
}

static void put_int(key *k, int64_t x)
{
    put(k, &x, sizeof x);
}

static void put_text(key *k, const char *text)
{
    put(k, text ? text : "", text ? strlen(text) + 1 : 1);
}

static void put_shape(key *k, const weft_shape *s)
{
    put_int(k, s->rank);
    for (int d = 0; d < s->rank; d++)
        put_int(k, s->dim[d]);
}

static void put_literal(key *k, const weft_literal *l)
{
    put_int(k, l && l->ints ? l->n : -1);
    if (l && l->ints)
        put(k, l->ints, (size_t)l->n * sizeof l->ints[0]);
}

static void put_attr(key *k, const weft_attr *x, int u)
{
    put_text(k, x->name);
    put_int(k, x->kind);
    put_int(k, x->kind == WEFT_ATTR_OTHER ? u : x->i); /* a sub-graph is like no other */
    put(k, &x->f, sizeof x->f);
    put_text(k, x->s);
    put_int(k, x->n);
    for (int i = 0; i < x->n; i++) {
        if (x->kind == WEFT_ATTR_INTS)
            put_int(k, x->ints[i]);
        else if (x->kind == WEFT_ATTR_REALS)
            put(k, &x->reals[i], sizeof x->reals[i]);
        else if (x->kind == WEFT_ATTR_TEXTS)
            put_text(k, x->texts[i]);
    }
    if (x->kind == WEFT_ATTR_LITERAL) {
        put_int(k, x->type);
        put_shape(k, &x->shape);
        put_literal(k, x->literal);
    }
}

static void put_tensor(key *k, const weft_graph *g, int tensor)
{
    int at = 0;

    if (tensor < 0) {
        put_int(k, -1);
        return;
    }
    while (at < k->tensors.n && k->tensors.at[at] != tensor)
        at++;
    put_int(k, at);
    if (at < k->tensors.n)
        return;
    WEFT_PUSH(k->a, k->tensors, tensor);
    put_int(k, is_constant(&g->tensor[tensor]));
    put_int(k, g->tensor[tensor].type);
    put_shape(k, g->tensor[tensor].shape);
    put_literal(k, g->tensor[tensor].value);
}

/* A backward node walks the nests of its forward node, which stands before it. */
static void put_forward(key *k, const weft_node *n)
{
    const weft_step *step;
    int i = 0;

    put_int(k, n->wrt);
    if (n->forward < 0)
        return;
    step = &k->steps->step[k->steps->of_node[n->forward]];
    while (step->node[i] != n->forward)
        i++;
    put_int(k, step->like);
    put_int(k, i);
}

/* What of the node stays inside its kernel. */
static void put_kernel(key *k, const weft_graph *g, int u)
{
    put_int(k, g->is_launched[u] + 2 * (g->again[u] >= 0) + 4 * (g->attention[u] >= 0) +
                   8 * (g->is_causal && g->is_causal[u]));
    for (int i = g->arg_at[u]; i < g->arg_at[u + 1]; i++)
        put_int(k, weft_operand_is_inner(g, u, i - g->arg_at[u]));
    for (int i = g->res_at[u]; i < g->res_at[u + 1]; i++)
        put_int(k, g->res[i] < 0 ? -1 : (int)weft_storage_of(g, g->res[i]));
}

static void put_node(key *k, const weft_graph *g, int u)
{
    const weft_node *n = &g->node[u];

    put_text(k, n->domain);
    put_text(k, n->op);
    put_int(k, n->opset);
    put_int(k, n->n_attrs);
    for (int i = 0; i < n->n_attrs; i++)
        put_attr(k, &n->attr[i], u);
    if (n->has_body)
        put(k, &n->body, sizeof n->body);
    put_forward(k, n);
    put_int(k, g->arg_at[u + 1] - g->arg_at[u]);
    for (int i = g->arg_at[u]; i < g->arg_at[u + 1]; i++)
        put_tensor(k, g, g->arg[i]);
    for (int i = g->res_at[u]; i < g->res_at[u + 1]; i++) {
        put_int(k, is_used(g, g->res[i]));
        put_tensor(k, g, g->res[i]);
    }
    if (g->kernel)
        put_kernel(k, g, u);
}

/* The first step of the same class, or this one. `k` is room for its key. */
static int find_like(weft_map *seen, key *k, const weft_graph *g, const weft_step *step, int at)
{
    int like;

    k->bytes.n = k->tensors.n = 0;
    for (int i = 0; i < step->n_nodes; i++)
        put_node(k, g, step->node[i]);
    like = weft_map_get(seen, k->bytes.at, (size_t)k->bytes.n);
    if (like >= 0)
        return like;
    (void)weft_map_put(seen, weft_arena_copy(k->a, k->bytes.at, (size_t)k->bytes.n),
                       (size_t)k->bytes.n, at);
    return at;
}

/* --- all together ---------------------------------------------------------------------------- */

/* What a step has in common with the first of its class. */
static void copy_class(weft_step *to, const weft_step *from)
{
    to->n_axes = from->n_axes;
    memcpy(to->axis, from->axis, sizeof to->axis);
    to->scatter = from->scatter;
}

/* The graph with kernels that end where steps or sets do. */
static const weft_graph *cut_kernels(const weft_steps *s, const grouping *w, const int *of_node)
{
    weft_graph *cut = WEFT_NEW(s->arena, weft_graph, 1);

    if (s->graph->kernel == NULL)
        return s->graph;
    weft_graph_cut_kernels(s->graph, w->device_set ? w->device_set : of_node, s->arena, cut);
    return cut;
}

static void fill_steps(weft_steps *s, const grouping *w)
{
    const weft_graph *g = s->graph;
    weft_step *step = WEFT_NEW(s->arena, weft_step, w->n);
    weft_step_rule *rule = WEFT_NEW(s->arena, weft_step_rule, w->n);
    int *of_node = WEFT_NEW(s->arena, int, g->n_nodes);
    weft_map *seen = weft_map_new(w->scratch);
    key k = {.steps = s, .a = w->scratch};

    s->step = step;
    s->rule = rule;
    s->of_node = of_node;
    for (int u = 0; u < g->n_nodes; u++) {
        int at = s->n;

        if (w->last_of[w->head_of[u]] != u)
            continue;
        list_nodes(w, w->head_of[u], &step[at], s->arena);
        for (int i = 0; i < step[at].n_nodes; i++)
            of_node[step[at].node[i]] = at;
        list_results(g, &step[at], s->arena);
        s->n++;
    }
    s->graph = g = cut_kernels(s, w, of_node);
    for (int at = 0; at < s->n; at++) {
        list_operands(s, at, &step[at], of_node);
        step[at].like = find_like(seen, &k, g, &step[at], at);
        rule[at] = rule[step[at].like];
        if (step[at].like == at)
            weft_fill_rule(g, &step[at], &rule[at], s->arena);
        else
            copy_class(&step[at], &step[step[at].like]);
    }
}

weft_status weft_steps_new(const weft_graph *g, weft_steps **out)
{
    return weft_steps_within(g, NULL, out);
}

weft_status weft_steps_within(const weft_graph *g, const int *device_set, weft_steps **out)
{
    weft_arena *a, *scratch;
    grouping w;

    WEFT_TRY(weft_need_static(g, "how to cut it"));
    a = weft_arena_new();
    scratch = weft_arena_new();
    w = group(g, device_set, scratch);
    *out = WEFT_NEW(a, weft_steps, 1);
    (*out)->graph = g;
    (*out)->arena = a;
    fill_steps(*out, &w);
    weft_arena_free(scratch);
    return WEFT_OK;
}

void weft_steps_free(weft_steps *s)
{
    if (s)
        weft_arena_free(s->arena);
}

const char *weft_step_name(const weft_steps *s, int step)
{
    return s->graph->node[s->step[step].node[0]].name;
}
