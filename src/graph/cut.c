/* SPDX-License-Identifier: MIT */
/* cut.c: barriers and cuts in O(nodes + edges).
 *
 * v is a barrier iff every node before v has a successor at or before v, and every node after v
 * has a predecessor at or after v. Proof: walking along such successors ends in v, so every
 * earlier node is an ancestor; the other half is symmetric. A node u < v is live at v if some
 * successor of u lies after v; a barrier without live nodes is a cut. */
#include "graph.h"

#include <limits.h>

static int max_int(int a, int b)
{
    return a > b ? a : b;
}

static int min_int(int a, int b)
{
    return a < b ? a : b;
}

weft_separators weft_graph_separators(const weft_graph *g, weft_arena *a)
{
    int n = g->n_nodes, latest_first = -1, n_live = 0;
    int *barrier = WEFT_NEW_RAW(a, int, n), *live = WEFT_NEW_RAW(a, int, n);
    size_t mark = weft_arena_mark(a);
    int *earliest_last = WEFT_NEW_RAW(a, int, n + 1); /* least of largest predecessor over w >= v */
    int *leaving = WEFT_NEW(a, int, n + 1);           /* nodes whose last successor is v */
    weft_separators s = {0, 0, barrier, live};

    earliest_last[n] = INT_MAX;
    for (int w = n - 1; w >= 0; w--) {
        int last = g->in_at[w + 1] > g->in_at[w] ? g->in_from[g->in_at[w + 1] - 1] : -1;

        earliest_last[w] = min_int(earliest_last[w + 1], last);
    }
    for (int v = 0; v < n; v++) {
        bool has_out = g->out_at[v + 1] > g->out_at[v];

        n_live -= leaving[v];
        if (latest_first <= v && earliest_last[v + 1] >= v) {
            barrier[s.n_barriers] = v;
            live[s.n_barriers++] = n_live;
            s.n_cuts += n_live == 0;
        }
        latest_first = max_int(latest_first, has_out ? g->out_to[g->out_at[v]] : INT_MAX);
        if (has_out) {
            leaving[g->out_to[g->out_at[v + 1] - 1]]++;
            n_live++;
        }
    }
    weft_arena_rewind(a, mark);
    return s;
}
