/* SPDX-License-Identifier: MIT */
/* blocks_make.c: all cuts of a graph, and units that tests make up.
 *
 * Breadth first from the empty cut: each cut, with each node added whose predecessors are in it; a
 * map keeps cuts apart. Every cut is reached, as it can be built up node by node in
 * topological order, and they are found by rising size: a cut comes after all that it contains.
 * Time O(cuts (nodes + edges)). */
#include <assert.h>
#include <string.h>

#include "cuts.h"
#include "rows.h"

/* --- cuts ------------------------------------------------------------------------------------ */

typedef struct finder {
    const weft_before *g;
    weft_arena *scratch;
    int n_words;
    WEFT_VEC(uint64_t *) found;
    weft_map *seen;
} finder;

static void add_cut(finder *f, const uint64_t *bits)
{
    size_t bytes = (size_t)f->n_words * sizeof *bits;
    uint64_t *copy;

    if (weft_map_get(f->seen, (const char *)bits, bytes) >= 0)
        return;
    copy = weft_arena_copy(f->scratch, bits, bytes);
    (void)weft_map_put(f->seen, (const char *)copy, bytes, f->found.n);
    WEFT_PUSH(f->scratch, f->found, copy);
}

static bool is_ready(const weft_before *g, const uint64_t *bits, int u)
{
    if (weft_bit_get(bits, u))
        return false;
    for (int k = g->at[u]; k < g->at[u + 1]; k++)
        if (!weft_bit_get(bits, g->from[k]))
            return false;
    return true;
}

static bool find_cuts(finder *f, int64_t max_cuts)
{
    uint64_t *bits = WEFT_NEW(f->scratch, uint64_t, f->n_words);

    add_cut(f, bits);
    for (int c = 0; c < f->found.n; c++)
        for (int u = 0; u < f->g->n; u++) {
            if (!is_ready(f->g, f->found.at[c], u))
                continue;
            memcpy(bits, f->found.at[c], (size_t)f->n_words * sizeof *bits);
            weft_bit_set(bits, u);
            add_cut(f, bits);
            if (f->found.n > max_cuts)
                return false;
        }
    return f->found.n <= max_cuts;
}

bool weft_cuts_all(const weft_before *g, int64_t max_cuts, weft_arena *a, weft_cut_list *out)
{
    weft_arena *scratch = weft_arena_new();
    finder f = {.g = g,
                .scratch = scratch,
                .n_words = weft_bits_words(g->n),
                .seen = weft_map_new(scratch)};
    bool is_found = find_cuts(&f, max_cuts);

    if (is_found) {
        uint64_t *bits = WEFT_NEW(a, uint64_t, (size_t)f.found.n * (size_t)f.n_words);

        for (int c = 0; c < f.found.n; c++)
            memcpy(bits + (size_t)c * (size_t)f.n_words, f.found.at[c],
                   (size_t)f.n_words * sizeof *bits);
        *out = (weft_cut_list){.n = f.found.n, .n_words = f.n_words, .bits = bits};
    }
    weft_arena_free(scratch);
    return is_found;
}

weft_cut_list weft_cuts_chain(int n, weft_arena *a)
{
    size_t n_words = (size_t)weft_bits_words(n);
    uint64_t *bits = WEFT_NEW(a, uint64_t, ((size_t)n + 1) * n_words);

    for (int c = 1; c <= n; c++) {
        memcpy(bits + (size_t)c * n_words, bits + (size_t)(c - 1) * n_words,
               n_words * sizeof *bits);
        weft_bit_set(bits + (size_t)c * n_words, c - 1);
    }
    return (weft_cut_list){.n = n + 1, .n_words = (int)n_words, .bits = bits};
}

weft_before weft_before_of(int n, int n_edges, const int *from, const int *to, weft_arena *a)
{
    weft_rows r = weft_rows_by(to, n_edges, n, a);

    for (int e = 0; e < n_edges; e++) {
        assert(0 <= from[e] && from[e] < to[e] && to[e] < n);
        r.item[e] = from[r.item[e]];
    }
    return (weft_before){.n = n, .at = r.at, .from = r.item};
}

/* --- units ----------------------------------------------------------------------------------- */

void weft_blocks_make(int n, const weft_cut_list *cuts, weft_arena *a, weft_blocks *out)
{
    const char **name = WEFT_NEW(a, const char *, n);

    for (int u = 0; u < n; u++)
        name[u] = weft_arena_print(a, "u%d", u);
    *out = (weft_blocks){.n_blocks = n,
                         .name = name,
                         .n_cuts = cuts->n,
                         .n_words = cuts->n_words,
                         .cut = cuts->bits,
                         .is_chain = cuts->n == n + 1, /* one cut of each size */
                         .is_complete = true,
                         .leave_bytes = WEFT_NEW(a, double, cuts->n),
                         .back_bytes = WEFT_NEW(a, double, cuts->n)};
}

void weft_blocks_chain(int n, weft_arena *a, weft_blocks *out)
{
    weft_cut_list cuts = weft_cuts_chain(n, a);

    assert(n > 0);
    weft_blocks_make(n, &cuts, a, out);
}

bool weft_blocks_dag(int n, int n_edges, const int *from, const int *to, int64_t max_cuts,
                     weft_arena *a, weft_blocks *out)
{
    weft_before g = weft_before_of(n, n_edges, from, to, a);
    weft_cut_list cuts;

    assert(n > 0);
    if (!weft_cuts_all(&g, max_cuts, a, &cuts))
        return false;
    weft_blocks_make(n, &cuts, a, out);
    return true;
}
