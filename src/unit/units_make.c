/* SPDX-License-Identifier: MIT */
/* units_make.c: all cuts of a graph, and units that tests make up.
 *
 * Breadth first from the empty cut: each cut, with each node added whose predecessors are in it; a
 * hash table keeps cuts apart. Every cut is reached, as it can be built up node by node in
 * topological order, and they are found by rising size: a cut comes after all that it contains.
 * Time O(cuts (nodes + edges)). */
#include <assert.h>
#include <string.h>

#include "cuts.h"

/* --- cuts ------------------------------------------------------------------------------------- */

typedef struct finder {
    const weft_before *g;
    weft_arena *scratch;
    int n_words;
    WEFT_VEC(uint64_t *) found;
    int *slot; /* [n_slots] number of a cut + 1; 0: free */
    size_t n_slots;
} finder;

static size_t hash_of(const uint64_t *bits, int n_words)
{
    uint64_t h = 0x9e3779b97f4a7c15u;

    for (int w = 0; w < n_words; w++) {
        h = (h ^ bits[w]) * 0xbf58476d1ce4e5b9u;
        h ^= h >> 29;
    }
    return (size_t)(h ^ h >> 32);
}

static size_t slot_of(const finder *f, const uint64_t *bits)
{
    size_t bytes = (size_t)f->n_words * sizeof *bits;
    size_t i = hash_of(bits, f->n_words) & (f->n_slots - 1);

    while (f->slot[i] != 0 && memcmp(f->found.at[f->slot[i] - 1], bits, bytes) != 0)
        i = (i + 1) & (f->n_slots - 1);
    return i;
}

static void grow_slots(finder *f)
{
    f->n_slots = f->n_slots == 0 ? 1024 : 2 * f->n_slots;
    f->slot = WEFT_NEW(f->scratch, int, f->n_slots);
    for (int c = 0; c < f->found.n; c++)
        f->slot[slot_of(f, f->found.at[c])] = c + 1;
}

static void add_cut(finder *f, const uint64_t *bits)
{
    size_t i;

    if (2 * (size_t)f->found.n >= f->n_slots)
        grow_slots(f);
    i = slot_of(f, bits);
    if (f->slot[i] != 0)
        return;
    WEFT_PUSH(f->scratch, f->found,
              weft_arena_copy(f->scratch, bits, (size_t)f->n_words * sizeof(uint64_t)));
    f->slot[i] = f->found.n;
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
    finder f = {.g = g, .scratch = scratch, .n_words = weft_bits_words(g->n)};
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
    int *at = WEFT_NEW(a, int, n + 2), *list = WEFT_NEW(a, int, n_edges);

    for (int e = 0; e < n_edges; e++) {
        assert(0 <= from[e] && from[e] < to[e] && to[e] < n);
        at[to[e] + 2]++;
    }
    for (int u = 0; u <= n; u++)
        at[u + 1] += at[u];
    for (int e = 0; e < n_edges; e++) /* at[u + 1] moves from the start of u's list to its end */
        list[at[to[e] + 1]++] = from[e];
    return (weft_before){.n = n, .at = at, .from = list};
}

/* --- units ------------------------------------------------------------------------------------ */

void weft_units_make(int n, const weft_cut_list *cuts, weft_arena *a, weft_units *out)
{
    const char **name = WEFT_NEW(a, const char *, n);

    for (int u = 0; u < n; u++)
        name[u] = weft_arena_print(a, "u%d", u);
    *out = (weft_units){.n_units = n,
                        .name = name,
                        .n_cuts = cuts->n,
                        .n_words = cuts->n_words,
                        .cut = cuts->bits,
                        .is_chain = cuts->n == n + 1, /* one cut of each size */
                        .is_complete = true,
                        .leave_bytes = WEFT_NEW(a, double, cuts->n),
                        .back_bytes = WEFT_NEW(a, double, cuts->n)};
}

void weft_units_chain(int n, weft_arena *a, weft_units *out)
{
    weft_cut_list cuts = weft_cuts_chain(n, a);

    assert(n > 0);
    weft_units_make(n, &cuts, a, out);
}

bool weft_units_dag(int n, int n_edges, const int *from, const int *to, int64_t max_cuts,
                    weft_arena *a, weft_units *out)
{
    weft_before g = weft_before_of(n, n_edges, from, to, a);
    weft_cut_list cuts;

    assert(n > 0);
    if (!weft_cuts_all(&g, max_cuts, a, &cuts))
        return false;
    weft_units_make(n, &cuts, a, out);
    return true;
}
