/* SPDX-License-Identifier: MIT */
/* piper_cuts.c: all cuts of a network, with the sums that make a stage cheap to judge.
 *
 * 1. Breadth first from the empty cut: each cut, with each node added whose predecessors are in it;
 *    a hash table keeps cuts apart.
 * 2. Order by (work, size, discovery). Work is the sum over the nodes, in order, of the least
 *    width * seconds of their modes. Rounded addition of numbers >= 0 is monotone, so a cut has at
 *    least the work of every cut inside it, and is larger: it comes later.
 * 3. Sums over each cut at each width, and the edges that leave it.
 *
 * A stage (I, J) then takes differences of sums, and a look at the edges that leave I and J.
 * Time and memory O(cuts (nodes + edges)). */
#include "piper.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct finder {
    const weft_piper *p;
    weft_arena *a;
    int n_words;
    WEFT_VEC(uint64_t *) found;
    int *slot; /* [n_slots] number of a cut + 1; 0: free */
    size_t n_slots;
} finder;

/* --- the cuts -------------------------------------------------------------------------------- */

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
    f->slot = WEFT_NEW(f->a, int, f->n_slots);
    for (int c = 0; c < f->found.n; c++)
        f->slot[slot_of(f, f->found.at[c])] = c + 1;
}

static void add_cut(finder *f, const uint64_t *bits)
{
    if (2 * (size_t)f->found.n >= f->n_slots)
        grow_slots(f);
    size_t i = slot_of(f, bits);
    if (f->slot[i] != 0)
        return;
    WEFT_PUSH(f->a, f->found, weft_arena_copy(f->a, bits, (size_t)f->n_words * sizeof(uint64_t)));
    f->slot[i] = f->found.n;
}

static bool is_ready(const weft_piper *p, const uint64_t *bits, int u)
{
    if (weft_bit_get(bits, u))
        return false;
    for (int k = p->in_at[u]; k < p->in_at[u + 1]; k++)
        if (!weft_bit_get(bits, p->edge_from[p->in_edge[k]]))
            return false;
    return true;
}

static weft_status find_cuts(finder *f, int64_t max_cuts)
{
    uint64_t *bits = WEFT_NEW(f->a, uint64_t, f->n_words);

    add_cut(f, bits);
    for (int c = 0; c < f->found.n; c++) {
        if (f->found.n > max_cuts)
            return weft_fail(WEFT_E_INPUT,
                             "the network is too wide: it can be cut in more than %lld ways "
                             "(--max-cuts raises this limit)",
                             (long long)max_cuts);
        for (int u = 0; u < f->p->n_nodes; u++) {
            if (!is_ready(f->p, f->found.at[c], u))
                continue;
            memcpy(bits, f->found.at[c], (size_t)f->n_words * sizeof *bits);
            weft_bit_set(bits, u);
            add_cut(f, bits);
        }
    }
    return WEFT_OK;
}

/* --- order ----------------------------------------------------------------------------------- */

typedef struct ranked {
    double work_s;
    int size, found;
} ranked;

static int by_rank(const void *a, const void *b)
{
    const ranked *x = a, *y = b;

    if (x->work_s != y->work_s)
        return x->work_s < y->work_s ? -1 : 1;
    if (x->size != y->size)
        return x->size < y->size ? -1 : 1;
    return (x->found > y->found) - (x->found < y->found);
}

/* The least device time of a node: width * seconds over all its modes. */
static double least_work_s(const weft_piper *p, int u)
{
    double least_s = INFINITY;

    for (int w = 0; w < p->n_widths; w++)
        for (int m = p->mode_at[u * p->n_widths + w]; m < p->mode_at[u * p->n_widths + w + 1]; m++)
            least_s = fmin(least_s, p->width[w] * p->mode[m].sample_s);
    return least_s;
}

static const ranked *rank_cuts(const finder *f)
{
    ranked *rank = WEFT_NEW(f->a, ranked, f->found.n);
    double *work_s = WEFT_NEW(f->a, double, f->p->n_nodes);

    for (int u = 0; u < f->p->n_nodes; u++)
        work_s[u] = least_work_s(f->p, u);
    for (int c = 0; c < f->found.n; c++) {
        rank[c].found = c;
        for (int u = 0; u < f->p->n_nodes; u++)
            if (weft_bit_get(f->found.at[c], u)) {
                rank[c].work_s += work_s[u];
                rank[c].size++;
            }
    }
    qsort(rank, (size_t)f->found.n, sizeof *rank, by_rank);
    return rank;
}

/* --- sums ------------------------------------------------------------------------------------ */

/* The figures of one node at one width, as sums of one. */
static weft_piper_sums node_sums(const weft_piper *p, int u, int w)
{
    int first = p->mode_at[u * p->n_widths + w], end = p->mode_at[u * p->n_widths + w + 1];
    const weft_piper_mode *fast = &p->mode[first];
    weft_piper_sums s = {0};

    if (first == end)
        return (weft_piper_sums){.n_missing = 1};
    s.parameter_bytes = s.least_stash_bytes = s.least_state_bytes = INFINITY;
    for (int m = first; m < end; m++) {
        if (p->mode[m].sample_s < fast->sample_s)
            fast = &p->mode[m];
        s.parameter_bytes = fmin(s.parameter_bytes, p->mode[m].parameter_bytes);
        s.least_stash_bytes = fmin(s.least_stash_bytes, p->mode[m].stash_bytes);
        s.least_state_bytes = fmin(s.least_state_bytes, p->mode[m].state_bytes);
    }
    s.fast_s = fast->sample_s;
    s.fast_stash_bytes = fast->stash_bytes;
    s.fast_state_bytes = fast->state_bytes;
    return s;
}

static void add_sums(weft_piper_sums *to, const weft_piper_sums *s)
{
    to->fast_s += s->fast_s;
    to->fast_stash_bytes += s->fast_stash_bytes;
    to->fast_state_bytes += s->fast_state_bytes;
    to->parameter_bytes += s->parameter_bytes;
    to->least_stash_bytes += s->least_stash_bytes;
    to->least_state_bytes += s->least_state_bytes;
    to->n_missing += s->n_missing;
}

static const weft_piper_sums *sum_cuts(const weft_piper *p, const weft_piper_cuts *cuts,
                                       weft_arena *a)
{
    weft_piper_sums *sums =
        WEFT_NEW(a, weft_piper_sums, (size_t)cuts->n_cuts * (size_t)p->n_widths);
    weft_piper_sums *node = WEFT_NEW(a, weft_piper_sums, p->n_nodes * p->n_widths);

    for (int u = 0; u < p->n_nodes; u++)
        for (int w = 0; w < p->n_widths; w++)
            node[u * p->n_widths + w] = node_sums(p, u, w);
    for (int c = 0; c < cuts->n_cuts; c++)
        for (int u = 0; u < p->n_nodes; u++)
            for (int w = 0; w < p->n_widths; w++)
                if (weft_bit_get(cuts->bits + (size_t)c * (size_t)cuts->n_words, u))
                    add_sums(&sums[(size_t)c * (size_t)p->n_widths + (size_t)w],
                             &node[u * p->n_widths + w]);
    return sums;
}

static void list_leaving(const weft_piper *p, weft_arena *a, weft_piper_cuts *cuts)
{
    int *at = WEFT_NEW(a, int, cuts->n_cuts + 1);
    WEFT_VEC(int) edge = {0};

    for (int c = 0; c < cuts->n_cuts; c++) {
        const uint64_t *bits = cuts->bits + (size_t)c * (size_t)cuts->n_words;

        for (int e = 0; e < p->n_edges; e++)
            if (weft_bit_get(bits, p->edge_from[e]) && !weft_bit_get(bits, p->edge_to[e]))
                WEFT_PUSH(a, edge, e);
        at[c + 1] = edge.n;
    }
    cuts->edge_at = at;
    cuts->edge = edge.at;
}

weft_status weft_piper_cuts_new(const weft_piper *p, int64_t max_cuts, weft_arena *a,
                                weft_piper_cuts *out)
{
    finder f = {.p = p, .a = a, .n_words = weft_bits_words(p->n_nodes)};

    WEFT_TRY(find_cuts(&f, max_cuts));
    const ranked *rank = rank_cuts(&f);
    uint64_t *bits = WEFT_NEW(a, uint64_t, (size_t)f.found.n * (size_t)f.n_words);
    double *work_s = WEFT_NEW(a, double, f.found.n);

    for (int c = 0; c < f.found.n; c++) {
        memcpy(bits + (size_t)c * (size_t)f.n_words, f.found.at[rank[c].found],
               (size_t)f.n_words * sizeof *bits);
        work_s[c] = rank[c].work_s;
    }
    *out = (weft_piper_cuts){
        .n_cuts = f.found.n, .n_words = f.n_words, .bits = bits, .work_s = work_s};
    out->sums = sum_cuts(p, out, a);
    list_leaving(p, a, out);
    return WEFT_OK;
}
