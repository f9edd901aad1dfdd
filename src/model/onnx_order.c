/* SPDX-License-Identifier: MIT */
/* onnx_order.c: the nodes of a graph, imported in topological order.
 *
 * ONNX asks for sorted nodes, and nearly all files have them: they are imported as they stand as
 * long as everything a node reads is there. From the first one that has to wait, the rest is sorted
 * depth first, makers before readers, in O(nodes + reads); a cycle is an error that names a node of
 * it. */
#include "import.h"

typedef struct visit {
    int node;
    int next; /* operand to look at next */
} visit;

typedef struct order {
    weft_import *m;
    const weft_onnx_node *node;
    int n_nodes;
    weft_map *makers; /* tensor -> node */
    int *n_reads;     /* names each node reads, sub-graphs included */
    weft_slice **reads;
    char *state; /* 0 unseen, 1 being visited, 2 done */
    int *sorted;
    int n_sorted;
} order;

typedef WEFT_VEC(weft_slice) slice_list;

/* What a sub-graph reads from outside, each name once. `known` has the names met so far: those it
 * makes itself, then those found. */
typedef struct search {
    weft_import *m;
    weft_map *known;
    slice_list found;
} search;

static void add_known(search *x, weft_slice name)
{
    (void)weft_map_put(x->known, name.at, name.n, 0);
}

static void add_found(search *x, weft_slice name)
{
    if (name.n > 0 && weft_map_put(x->known, name.at, name.n, 0))
        WEFT_PUSH(x->m->arena, x->found, name);
}

static void add_own_names(search *x, const weft_onnx_graph *g)
{
    for (int i = 0; i < g->n_inputs; i++)
        add_known(x, g->input[i].name);
    for (int i = 0; i < g->n_initializers; i++)
        add_known(x, g->initializer[i].name);
    for (int i = 0; i < g->n_sparse; i++)
        add_known(x, g->sparse_name[i]);
    for (int u = 0; u < g->n_nodes; u++)
        for (int i = 0; i < g->node[u].n_outputs; i++)
            add_known(x, g->node[u].output[i]);
}

static const weft_import_reads *reads_of(weft_import *m, const weft_onnx_graph *g);

static void add_reads(search *x, const weft_onnx_node *n)
{
    for (int i = 0; i < n->n_inputs; i++)
        add_found(x, n->input[i]);
    for (int i = 0; i < n->form->n_attrs; i++) {
        const weft_onnx_graph *g = n->form->attr[i].graph;
        const weft_import_reads *inside = g ? reads_of(x->m, g) : NULL;

        for (int k = 0; inside && k < inside->n; k++)
            add_found(x, inside->name[k]);
    }
}

/* Looked for once: bodies of bodies would be walked through again and again. */
static const weft_import_reads *reads_of(weft_import *m, const weft_onnx_graph *g)
{
    const weft_onnx_graph **key;
    weft_import_reads *reads;
    search x = {.m = m};
    size_t mark;
    int known = weft_map_get(m->bodies, (const char *)&g, sizeof g);

    if (known >= 0)
        return m->reads.at[known];
    mark = weft_arena_mark(m->scratch);
    x.known = weft_map_new(m->scratch);
    add_own_names(&x, g);
    for (int u = 0; u < g->n_nodes; u++)
        add_reads(&x, &g->node[u]);
    for (int i = 0; i < g->n_outputs; i++)
        add_found(&x, g->output[i].name);
    weft_arena_rewind(m->scratch, mark);
    reads = WEFT_NEW(m->arena, weft_import_reads, 1);
    *reads = (weft_import_reads){x.found.n, x.found.at};
    key = WEFT_NEW(m->arena, const weft_onnx_graph *, 1);
    *key = g;
    (void)weft_map_put(m->bodies, (const char *)key, sizeof g, m->reads.n);
    WEFT_PUSH(m->arena, m->reads, reads);
    return reads;
}

/* Names read by a node; what its sub-graphs read from outside counts as its own. */
static void collect_reads(weft_import *m, const weft_onnx_node *n, slice_list *out)
{
    for (int i = 0; i < n->n_inputs; i++)
        if (n->input[i].n > 0)
            WEFT_PUSH(m->arena, *out, n->input[i]);
    for (int i = 0; i < n->form->n_attrs; i++) {
        const weft_onnx_graph *g = n->form->attr[i].graph;
        const weft_import_reads *inside = g ? reads_of(m, g) : NULL;

        for (int k = 0; inside && k < inside->n; k++)
            WEFT_PUSH(m->arena, *out, inside->name[k]);
    }
}

static weft_status find_makers(order *o)
{
    for (int u = 0; u < o->n_nodes; u++) {
        slice_list reads = {0};

        for (int i = 0; i < o->node[u].n_outputs; i++) {
            weft_slice name = o->node[u].output[i];

            if (name.n > 0 && !weft_map_put(o->makers, name.at, name.n, u))
                return weft_fail(WEFT_E_INPUT, "tensor '%.*s' is made twice", (int)name.n, name.at);
        }
        collect_reads(o->m, &o->node[u], &reads);
        o->reads[u] = reads.at;
        o->n_reads[u] = reads.n;
    }
    return WEFT_OK;
}

/* Depth first from u with a stack of our own: makers come before readers. */
static weft_status sort_from(order *o, int u, visit *stack)
{
    int depth = 1;

    stack[0] = (visit){u, 0};
    o->state[u] = 1;
    while (depth > 0) {
        visit *top = &stack[depth - 1];

        if (top->next == o->n_reads[top->node]) {
            o->state[top->node] = 2;
            o->sorted[o->n_sorted++] = top->node;
            depth--;
        } else {
            weft_slice name = o->reads[top->node][top->next++];
            int maker = weft_map_get(o->makers, name.at, name.n);

            if (maker >= 0 && o->state[maker] == 1)
                return weft_fail(WEFT_E_INPUT,
                                 "the graph has a cycle through node '%.*s' (%.*s), tensor '%.*s'",
                                 (int)o->node[maker].name.n, o->node[maker].name.at,
                                 (int)o->node[maker].form->op_type.n,
                                 o->node[maker].form->op_type.at, (int)name.n, name.at);
            if (maker >= 0 && o->state[maker] == 0) {
                o->state[maker] = 1;
                stack[depth++] = (visit){maker, 0};
            }
        }
    }
    return WEFT_OK;
}

static bool is_made(const weft_scope *s, weft_slice name)
{
    for (; s; s = s->outer)
        if (weft_map_get(s->values, name.at, name.n) >= 0)
            return true;
    return false;
}

/* The same for a node that is not in a sub-graph and has no body; its operands are kept for the
 * import. An operand that moved on by a step from the twin of the twin to the twin (onnx_node.c)
 * has most likely moved on by another: it is looked for there first. */
static bool find_operands(weft_import *m, weft_scope *s, const weft_onnx_node *n)
{
    bool is_main = s->depth == 0;
    const weft_import_place *twin = is_main && n->twin >= 0 ? &m->place[n->twin] : NULL;

    s->first = s->operand.n = is_main ? s->operand.n : 0;
    s->n_args = 0;
    for (int i = 0; i < n->n_inputs; i++) {
        weft_slice name = n->input[i];
        int guess = twin && twin->before >= 0
                        ? 2 * s->operand.at[twin->operand + i] - s->operand.at[twin->before + i]
                        : -1;
        int value = name.n > 0 ? weft_map_guess(s->values, guess, name.at, name.n) : -1;

        if (name.n > 0 && value < 0)
            return false;
        WEFT_PUSH(m->arena, s->operand, value);
        s->n_args = value >= 0 ? i + 1 : s->n_args; /* trailing ones left out do not count */
    }
    if (is_main)
        m->place[n - m->doc->graph->node] =
            (weft_import_place){s->first, twin ? twin->operand : -1, weft_net_n_nodes(s->net)};
    s->ready = n;
    return true;
}

/* Forms of the main graph that were met before are not looked at again. */
static bool is_control(const weft_import *m, const weft_scope *s, const weft_onnx_node *n)
{
    const weft_import_form *form = &m->form[n->form->number];

    return s->depth == 0 && form->is_made ? form->is_control : weft_import_is_control(n);
}

static bool are_made(const weft_scope *s, const weft_slice *name, int n)
{
    for (int i = 0; i < n; i++)
        if (name[i].n > 0 && !is_made(s, name[i]))
            return false;
    return true;
}

/* Everything the node reads is there already. */
static bool is_ready(weft_import *m, weft_scope *s, const weft_onnx_node *n)
{
    bool has_body = is_control(m, s, n);

    if (!has_body && s->outer == NULL)
        return find_operands(m, s, n);
    if (!are_made(s, n->input, n->n_inputs))
        return false;
    for (int i = 0; has_body && i < n->form->n_attrs; i++) {
        const weft_onnx_graph *g = n->form->attr[i].graph;
        const weft_import_reads *inside = g ? reads_of(m, g) : NULL;

        if (inside && !are_made(s, inside->name, inside->n))
            return false;
    }
    return true;
}

/* Nodes that stand in any order: sorted first. */
static weft_status import_unsorted(weft_import *m, weft_scope *s, const weft_onnx_node *node,
                                   int n_nodes)
{
    order o = {.m = m, .node = node, .n_nodes = n_nodes, .makers = weft_map_new(m->arena)};
    visit *stack = WEFT_NEW(m->arena, visit, n_nodes + 1);

    o.n_reads = WEFT_NEW(m->arena, int, n_nodes + 1);
    o.reads = WEFT_NEW(m->arena, weft_slice *, n_nodes + 1);
    o.state = WEFT_NEW(m->arena, char, n_nodes + 1);
    o.sorted = WEFT_NEW(m->arena, int, n_nodes + 1);
    WEFT_TRY(find_makers(&o));
    for (int u = 0; u < n_nodes; u++)
        if (o.state[u] == 0)
            WEFT_TRY(sort_from(&o, u, stack));
    for (int i = 0; i < n_nodes; i++)
        WEFT_TRY(weft_import_node(m, s, &node[o.sorted[i]]));
    return WEFT_OK;
}

weft_status weft_import_nodes(weft_import *m, weft_scope *s, const weft_onnx_node *node,
                              int n_nodes)
{
    int u = 0;

    /* As a rule the file is sorted, and then nothing needs to be looked up twice. */
    while (true) {
        if (s->depth == 0)
            WEFT_TRY(weft_import_repeats(m, s, &u));
        if (u == n_nodes || !is_ready(m, s, &node[u]))
            break;
        WEFT_TRY(weft_import_node(m, s, &node[u++]));
    }
    return u < n_nodes ? import_unsorted(m, s, node + u, n_nodes - u) : WEFT_OK;
}
