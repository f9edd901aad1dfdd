/* SPDX-License-Identifier: MIT */
/* block_net.c: the forward part of a training graph, and how nodes of it are merged.
 *
 * A merge renumbers what is left in the old order and builds the lists of neighbours again: time
 * O(nodes + edges), so a few dozen passes over some thousand nodes take milliseconds. */
#include <assert.h>
#include <limits.h>
#include <string.h>

#include "block_net.h"
#include "rows.h"

/* --- shares ---------------------------------------------------------------------------------- */

/* The least node of the net that reads a tensor; -1: no forward node. */
static int first_reader(const weft_block_net *net, int tensor)
{
    const weft_graph *g = net->graph;

    for (int k = g->use_at[tensor]; k < g->use_at[tensor + 1]; k++)
        if (net->of[g->use[k]] >= 0)
            return net->of[g->use[k]];
    return -1;
}

static void add_weights(weft_block_net *net, double *total)
{
    const weft_graph *g = net->graph;

    for (int t = 0; t < g->n_tensors; t++) {
        int u = g->tensor[t].kind == WEFT_WEIGHT ? first_reader(net, t) : -1;

        if (u < 0)
            continue;
        net->share[u].weight += (double)g->tensor[t].bytes;
        *total += (double)g->tensor[t].bytes;
    }
}

static void find_shares(weft_block_net *net)
{
    const weft_graph *g = net->graph;
    size_t mark = weft_arena_mark(net->arena);
    weft_work *work = WEFT_NEW(net->arena, weft_work, g->n_nodes);
    double work_sum = 0, weight_sum = 0;

    for (int u = 0; u < g->n_nodes; u++) {
        int v = net->of[u];

        if (v < 0)
            continue;
        work[u] =
            g->like[u] < u && net->of[g->like[u]] >= 0 ? work[g->like[u]] : weft_node_work(g, u);
        net->share[v].work = (double)work[u].flops;
        net->has_macs[v] = work[u].macs > 0;
        work_sum += (double)work[u].flops;
    }
    weft_arena_rewind(net->arena, mark);
    add_weights(net, &weight_sum);
    for (int v = 0; v < net->n; v++) {
        net->share[v].work /= work_sum > 0 ? work_sum : 1;
        net->share[v].weight /= weight_sum > 0 ? weight_sum : 1;
    }
}

/* --- neighbours ------------------------------------------------------------------------------ */

/* Each item of a row once, where equal ones follow each other. */
static void drop_repeats(weft_rows *r, int n)
{
    int kept = 0;

    for (int u = 0, first = 0; u < n; u++) {
        int end = r->at[u + 1];

        for (int e = first; e < end; e++)
            if (e == first || r->item[e] != r->item[e - 1])
                r->item[kept++] = r->item[e];
        first = end;
        r->at[u + 1] = kept;
    }
}

/* Both lists of neighbours from pairs (from, to), some of them given several times. */
static void link_up(weft_block_net *net, const int *from, const int *to, int n_pairs)
{
    weft_rows out = weft_rows_by(from, n_pairs, net->n, net->arena), in;

    for (int e = 0; e < n_pairs; e++)
        out.item[e] = to[out.item[e]];
    in = weft_rows_transposed(out, net->n, net->n, net->arena);
    drop_repeats(&in, net->n);
    out = weft_rows_transposed(in, net->n, net->n, net->arena);
    net->in_at = in.at;
    net->in = in.item;
    net->out_at = out.at;
    net->out = out.item;
}

weft_block_net weft_block_net_new(const weft_graph *g, weft_arena *a)
{
    weft_block_net net = {.graph = g, .arena = a, .of = WEFT_NEW(a, int, g->n_nodes)};
    int *from = WEFT_NEW(a, int, g->n_edges), *to = WEFT_NEW(a, int, g->n_edges), n_pairs = 0;

    for (int u = 0; u < g->n_nodes; u++)
        net.of[u] = g->node[u].phase == WEFT_FORWARD ? net.n++ : -1;
    net.share = WEFT_NEW(a, weft_share, net.n);
    net.has_macs = WEFT_NEW(a, bool, net.n);
    net.stretch = WEFT_NEW(a, int, net.n);
    for (int u = 0; u < g->n_nodes; u++)
        for (int e = g->out_at[u]; net.of[u] >= 0 && e < g->out_at[u + 1]; e++)
            if (net.of[g->out_to[e]] >= 0) {
                from[n_pairs] = net.of[u];
                to[n_pairs++] = net.of[g->out_to[e]];
            }
    link_up(&net, from, to, n_pairs);
    find_shares(&net);
    return net;
}

/* --- merging --------------------------------------------------------------------------------- */

/* The nodes of the net after a merge: map[u] is the new number of u. */
static void renumber(weft_block_net *net, const int *map, int n)
{
    weft_arena *a = net->arena;
    weft_block_net old = *net;
    int n_edges = old.out_at[old.n], n_pairs = 0;
    int *from = WEFT_NEW(a, int, n_edges), *to = WEFT_NEW(a, int, n_edges);

    net->n = n;
    net->share = WEFT_NEW(a, weft_share, n);
    net->has_macs = WEFT_NEW(a, bool, n);
    net->stretch = WEFT_NEW(a, int, n);
    for (int u = 0; u < old.n; u++) {
        net->share[map[u]].work += old.share[u].work;
        net->share[map[u]].weight += old.share[u].weight;
        net->has_macs[map[u]] |= old.has_macs[u];
        net->stretch[map[u]] = old.stretch[u];
        for (int e = old.out_at[u]; e < old.out_at[u + 1]; e++) {
            int v = map[old.out[e]];

            assert(map[u] <= v);
            if (map[u] == v)
                continue;
            from[n_pairs] = map[u];
            to[n_pairs++] = v;
        }
    }
    link_up(net, from, to, n_pairs);
    for (int u = 0; u < net->graph->n_nodes; u++)
        if (net->of[u] >= 0)
            net->of[u] = map[net->of[u]];
}

void weft_block_net_merge(weft_block_net *net, const int *to)
{
    int *map = WEFT_NEW(net->arena, int, net->n), n = 0;

    for (int u = 0; u < net->n; u++)
        if (to[u] < 0)
            map[u] = n++;
    for (int u = 0; u < net->n; u++)
        if (to[u] >= 0) {
            assert(to[to[u]] < 0);
            map[u] = map[to[u]];
        }
    renumber(net, map, n);
}

/* The node that u joins: -1 if it has no neighbour on that side. */
static int neighbour(const weft_block_net *net, bool is_late, int u)
{
    if (is_late)
        return net->out_at[u] < net->out_at[u + 1] ? net->out[net->out_at[u]] : -1;
    return net->in_at[u] < net->in_at[u + 1] ? net->in[net->in_at[u + 1] - 1] : -1;
}

bool weft_block_net_join(weft_block_net *net, bool is_late, weft_joins joins, const void *context)
{
    int *to = WEFT_NEW(net->arena, int, net->n);
    bool is_any = false;

    for (int u = 0; u < net->n; u++)
        to[u] = -1;
    for (int i = 0; i < net->n; i++) { /* neighbours first: whether they stay is known then */
        int u = is_late ? net->n - 1 - i : i, v = neighbour(net, is_late, u);

        if (v < 0 || to[v] >= 0 || net->stretch[u] != net->stretch[v] || !joins(net, u, context))
            continue;
        to[u] = v;
        is_any = true;
    }
    if (is_any)
        weft_block_net_merge(net, to);
    return is_any;
}

/* --- borders --------------------------------------------------------------------------------- */

/* As weft_graph_separators, on the net. */
bool *weft_block_net_barriers(const weft_block_net *net, weft_arena *a)
{
    int n = net->n, latest_first = -1;
    bool *is_barrier = WEFT_NEW(a, bool, n);
    size_t mark = weft_arena_mark(a);
    int *earliest_last = WEFT_NEW(a, int, n + 1); /* least of largest predecessor over w >= v */

    earliest_last[n] = INT_MAX;
    for (int w = n - 1; w >= 0; w--) {
        int last = neighbour(net, false, w);

        earliest_last[w] = last < earliest_last[w + 1] ? last : earliest_last[w + 1];
    }
    for (int v = 0; v < n; v++) {
        int first = neighbour(net, true, v);

        is_barrier[v] = latest_first <= v && earliest_last[v + 1] >= v;
        if (first < 0 || first > latest_first)
            latest_first = first < 0 ? INT_MAX : first;
    }
    weft_arena_rewind(a, mark);
    return is_barrier;
}

double *weft_block_net_crossing(const weft_block_net *net, bool is_all, weft_arena *a)
{
    const weft_graph *g = net->graph;
    double *bytes = WEFT_NEW(a, double, net->n + 1), sum = 0;

    for (int t = 0; t < g->n_tensors; t++) {
        int from = g->tensor[t].producer < 0 ? -1 : net->of[g->tensor[t].producer], last = from;

        for (int k = g->use_at[t]; from >= 0 && k < g->use_at[t + 1]; k++)
            last = net->of[g->use[k]] > last ? net->of[g->use[k]] : last;
        if (from < last) {
            bytes[is_all ? from : from + 1] += (double)g->tensor[t].bytes;
            bytes[last] -= (double)g->tensor[t].bytes;
        }
    }
    for (int u = 0; u < net->n; u++) {
        sum += bytes[u];
        bytes[u] = sum;
    }
    return bytes;
}
