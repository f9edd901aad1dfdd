/* SPDX-License-Identifier: MIT */
/* graph_check.c: the invariants of graph.h, spelled out. A broken one is a defect of weft, so it
 * aborts. Used by tests and fuzzers. */
#include "invariants.h"

#include <stdlib.h>
#include <string.h>

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void check_offsets(const int *at, int n)
{
    must(at[0] == 0);
    for (int i = 0; i < n; i++)
        must(at[i] <= at[i + 1]);
}

static bool reads(const weft_graph *g, int u, int t)
{
    for (int i = g->arg_at[u]; i < g->arg_at[u + 1]; i++)
        if (g->arg[i] == t)
            return true;
    return false;
}

static void check_tensor(const weft_graph *g, int t)
{
    const weft_tensor *x = &g->tensor[t];
    bool is_made = x->kind == WEFT_ACTIVATION || x->kind == WEFT_OUTPUT;

    must(x->name && *x->name);
    must(x->producer < g->n_nodes);
    if (x->kind == WEFT_INPUT || x->kind == WEFT_WEIGHT)
        must(x->producer < 0);
    if (is_made)
        must(x->producer >= 0);
    must(x->elements >= 0 && x->bytes >= 0);
    if (weft_shape_is_static(x->shape))
        must(x->elements == weft_shape_elements(x->shape));
    if (x->value)
        must((x->value->ints != NULL) != (x->value->reals != NULL) || x->value->n == 0);
    for (int k = g->use_at[t]; k < g->use_at[t + 1]; k++) {
        must(k == g->use_at[t] || g->use[k - 1] < g->use[k]);
        must(g->use[k] > x->producer && g->use[k] < g->n_nodes);
        must(reads(g, g->use[k], t));
    }
}

static void check_node(const weft_graph *g, int u)
{
    const weft_node *n = &g->node[u];

    must(n->name && *n->name && n->op && n->domain);
    must(n->forward < u);
    must(g->like[u] >= 0 && g->like[u] <= u && g->like[g->like[u]] == g->like[u]);
    must(strcmp(n->op, g->node[g->like[u]].op) == 0);
    for (int i = g->arg_at[u]; i < g->arg_at[u + 1]; i++)
        if (g->arg[i] >= 0)
            must(g->arg[i] < g->n_tensors && g->tensor[g->arg[i]].producer < u);
    for (int i = g->res_at[u]; i < g->res_at[u + 1]; i++)
        if (g->res[i] >= 0)
            must(g->tensor[g->res[i]].producer == u);
}

/* Edges from u to v: a tensor of the one that the other reads is one. */
static int n_edges(const weft_graph *g, int u, int v)
{
    int n = 0;

    for (int i = g->res_at[u]; i < g->res_at[u + 1]; i++)
        n += g->res[i] >= 0 && reads(g, v, g->res[i]);
    return n;
}

static void check_edges(const weft_graph *g)
{
    int n = 0;

    must(g->out_at[g->n_nodes] == g->n_edges && g->in_at[g->n_nodes] == g->n_edges);
    for (int u = 0; u < g->n_nodes; u++) {
        for (int e = g->out_at[u], k = 0; e < g->out_at[u + 1]; e++) {
            must(g->out_to[e] > u && (e == g->out_at[u] || g->out_to[e - 1] <= g->out_to[e]));
            k = e > g->out_at[u] && g->out_to[e - 1] == g->out_to[e] ? k + 1 : 1;
            must(k <= n_edges(g, u, g->out_to[e]));
        }
        for (int e = g->in_at[u], k = 0; e < g->in_at[u + 1]; e++) {
            must(g->in_from[e] < u && (e == g->in_at[u] || g->in_from[e - 1] <= g->in_from[e]));
            k = e > g->in_at[u] && g->in_from[e - 1] == g->in_from[e] ? k + 1 : 1;
            must(k <= n_edges(g, g->in_from[e], u));
        }
    }
    for (int t = 0; t < g->n_tensors; t++)
        n += g->tensor[t].producer < 0 ? 0 : g->use_at[t + 1] - g->use_at[t];
    must(n == g->n_edges);
}

/* An input, or one that stays on its device; whether it is a state, whose pair fits. */
static bool is_input(const weft_graph *g, int t)
{
    bool is_state = g->tensor[t].kind == WEFT_STATE;
    int present = g->kept ? g->kept[t] : -1;

    must(is_state || g->tensor[t].kind == WEFT_INPUT);
    must(present < 0 || (is_state && g->kept[present] == t && g->tensor[present].producer >= 0));
    return is_state;
}

void weft_graph_check(const weft_graph *g)
{
    weft_arena *scratch = weft_arena_new();
    weft_map *names = weft_map_new(scratch);
    int n_states = 0;

    must(g->n_nodes > 0);
    check_offsets(g->arg_at, g->n_nodes);
    check_offsets(g->res_at, g->n_nodes);
    check_offsets(g->out_at, g->n_nodes);
    check_offsets(g->in_at, g->n_nodes);
    check_offsets(g->use_at, g->n_tensors);
    for (int t = 0; t < g->n_tensors; t++) {
        check_tensor(g, t);
        must(weft_map_put(names, g->tensor[t].name, strlen(g->tensor[t].name), t));
    }
    for (int u = 0; u < g->n_nodes; u++)
        check_node(g, u);
    check_edges(g);
    for (int i = 0; i < g->n_inputs; i++)
        n_states += is_input(g, g->input[i]);
    must(n_states == g->n_states);
    for (int i = 0; i < g->n_outputs; i++)
        must(g->output[i] >= 0 && g->output[i] < g->n_tensors);
    weft_arena_free(scratch);
}
