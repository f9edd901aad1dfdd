/* SPDX-License-Identifier: MIT */
/* dag.c: strong components by Tarjan's algorithm without recursion, orders by Kahn's with a stack,
 * and reachability as bit rows, one union an edge. */
#include "dag.h"

/* --- strong components ----------------------------------------------------------------------- */

typedef struct strong {
    weft_rows out;
    int *seen, *low, *next; /* number of the visit or 0; least one reached; edge to look at next */
    int *stack, *path;      /* nodes without component; nodes being visited */
    bool *is_open;          /* on the stack */
    int n_stack, n_path, n_seen, n_found, n_left;
    weft_rows found;
} strong;

static void enter(strong *s, int u)
{
    s->seen[u] = s->low[u] = ++s->n_seen;
    s->next[u] = s->out.at[u];
    s->is_open[u] = true;
    s->stack[s->n_stack++] = s->path[s->n_path++] = u;
}

static void leave(strong *s)
{
    int u = s->path[--s->n_path], top;

    if (s->n_path > 0 && s->low[u] < s->low[s->path[s->n_path - 1]])
        s->low[s->path[s->n_path - 1]] = s->low[u];
    if (s->low[u] != s->seen[u])
        return;
    do {
        top = s->stack[--s->n_stack];
        s->is_open[top] = false;
        s->found.item[s->n_left++] = top;
    } while (top != u);
    s->found.at[++s->n_found] = s->n_left;
}

static void visit(strong *s, int root)
{
    enter(s, root);
    while (s->n_path > 0) {
        int u = s->path[s->n_path - 1], v;

        if (s->next[u] == s->out.at[u + 1]) {
            leave(s);
            continue;
        }
        v = s->out.item[s->next[u]++];
        if (s->seen[v] == 0)
            enter(s, v);
        else if (s->is_open[v] && s->seen[v] < s->low[u])
            s->low[u] = s->seen[v];
    }
}

weft_rows weft_strong_components(weft_rows out, int n, weft_arena *a, int *n_components)
{
    strong s = {
        .out = out, .found = {WEFT_NEW(a, int, n + 1), WEFT_NEW_RAW(a, int, n)}
    };
    size_t mark = weft_arena_mark(a);

    s.seen = WEFT_NEW(a, int, n);
    s.low = WEFT_NEW(a, int, n);
    s.next = WEFT_NEW(a, int, n);
    s.stack = WEFT_NEW(a, int, n);
    s.path = WEFT_NEW(a, int, n);
    s.is_open = WEFT_NEW(a, bool, n);
    for (int u = 0; u < n; u++) {
        if (s.seen[u] == 0)
            visit(&s, u);
    }
    weft_arena_rewind(a, mark);
    *n_components = s.n_found;
    return s.found;
}

/* --- orders ---------------------------------------------------------------------------------- */

int *weft_depth_first(weft_rows out, int n, weft_arena *a)
{
    int *order = WEFT_NEW_RAW(a, int, n), n_ready = 0, n_done = 0;
    size_t mark = weft_arena_mark(a);
    int *waits = WEFT_NEW(a, int, n), *ready = WEFT_NEW_RAW(a, int, n);

    for (int i = 0; i < out.at[n]; i++)
        waits[out.item[i]]++;
    for (int u = n - 1; u >= 0; u--) {
        if (waits[u] == 0)
            ready[n_ready++] = u;
    }
    while (n_ready > 0) {
        int u = ready[--n_ready];

        order[n_done++] = u;
        for (int i = out.at[u + 1] - 1; i >= out.at[u]; i--) {
            if (--waits[out.item[i]] == 0)
                ready[n_ready++] = out.item[i];
        }
    }
    weft_arena_rewind(a, mark);
    return order;
}

/* --- reachability ---------------------------------------------------------------------------- */

uint64_t *weft_reach(const int *at, const int *to, int n, bool is_rising, weft_arena *a)
{
    int words = weft_bits_words(n);
    uint64_t *reach = WEFT_NEW(a, uint64_t, (size_t)n * (size_t)words);

    for (int i = 0; i < n; i++) {
        int u = is_rising ? n - 1 - i : i;
        uint64_t *own = reach + (size_t)u * (size_t)words;

        for (int e = at[u]; e < at[u + 1]; e++) {
            weft_bits_join(own, reach + (size_t)to[e] * (size_t)words, words);
            weft_bit_set(own, to[e]);
        }
    }
    return reach;
}
