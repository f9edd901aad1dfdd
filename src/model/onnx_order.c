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

/* Names read by a node; those read inside its sub-graphs count as its own. */
static void collect_reads(weft_import *m, const weft_onnx_node *n, slice_list *out)
{
    for (int i = 0; i < n->n_inputs; i++)
        if (n->input[i].n > 0)
            WEFT_PUSH(m->arena, *out, n->input[i]);
    for (int i = 0; i < n->form->n_attrs; i++) {
        const weft_onnx_graph *g = n->form->attr[i].graph;

        for (int k = 0; g && k < g->n_nodes; k++)
            collect_reads(m, &g->node[k], out);
        for (int k = 0; g && k < g->n_outputs; k++)
            WEFT_PUSH(m->arena, *out, g->output[k].name);
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

/* Everything the node reads is there already. */
static bool is_ready(weft_import *m, weft_scope *s, const weft_onnx_node *n)
{
    slice_list reads = {0};

    if (is_control(m, s, n)) {
        collect_reads(m, n, &reads);
    } else if (s->outer == NULL) {
        return find_operands(m, s, n);
    } else {
        reads.at = (weft_slice *)(uintptr_t)n->input; /* only read below */
        reads.n = n->n_inputs;
    }
    for (int i = 0; i < reads.n; i++)
        if (reads.at[i].n > 0 && !is_made(s, reads.at[i]))
            return false;
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

    /* As a rule the file is sorted, and then nothing needs to be looked up twice. Names made inside
     * sub-graphs are not made here, so nodes with bodies usually go the long way. */
    while (true) {
        if (s->depth == 0)
            WEFT_TRY(weft_import_repeats(m, s, &u));
        if (u == n_nodes || !is_ready(m, s, &node[u]))
            break;
        WEFT_TRY(weft_import_node(m, s, &node[u++]));
    }
    return u < n_nodes ? import_unsorted(m, s, node + u, n_nodes - u) : WEFT_OK;
}
