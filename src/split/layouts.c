/* SPDX-License-Identifier: MIT */
/* layouts.c: what members receive between two steps, for all pairs of splits at once.
 *
 * Many splits have the same parts: plain and scattered sums of one axis, splits with and without
 * rotating shards. So boxes of all splits are found first, equal lists of boxes are one layout, and
 * the formula of edge.c is worked out for pairs of layouts. Cost: O(splits * members) boxes and
 * O(layouts of one side * layouts of the other * members) overlaps. */
#include "split.h"

#include <string.h>

/* The parts of a tensor for each of some splits: boxes of n members. */
typedef struct layouts {
    int n, n_members;
    int *of_split;
    weft_box *box; /* [n * n_members] */
} layouts;

/* Numbers beyond the rank may be anything: they are left out. */
static weft_box tidy(weft_box b)
{
    for (int i = b.rank; i < WEFT_MAX_RANK; i++)
        b.lo[i] = b.hi[i] = 0;
    return b;
}

static uint64_t hash_of(const weft_box *b, int n)
{
    const unsigned char *byte = (const unsigned char *)b;
    uint64_t h = 0xcbf29ce484222325u;

    for (size_t i = 0; i < sizeof *b * (size_t)n; i += sizeof(int32_t)) {
        uint32_t word;

        memcpy(&word, byte + i, sizeof word);
        h = (h ^ word) * 0x100000001b3u;
    }
    return h;
}

/* The boxes after the last layout are one more, or the same as an earlier one: its number. */
static int settle(layouts *l, uint64_t *hash)
{
    const weft_box *last = l->box + (size_t)l->n * (size_t)l->n_members;

    hash[l->n] = hash_of(last, l->n_members);
    for (int i = 0; i < l->n; i++)
        if (hash[i] == hash[l->n] && memcmp(l->box + (size_t)i * (size_t)l->n_members, last,
                                            sizeof *last * (size_t)l->n_members) == 0)
            return i;
    return l->n++;
}

static layouts new_layouts(int n_splits, int n_members, weft_arena *a)
{
    return (layouts){.n_members = n_members,
                     .of_split = WEFT_NEW(a, int, n_splits),
                     .box = WEFT_NEW(a, weft_box, n_splits * n_members)};
}

static double received(const weft_box *need, const weft_box *own, int n)
{
    int64_t most = 0;

    for (int j = 0; j < n; j++) {
        int64_t elements = weft_box_elements(&need[j]);

        if (elements <= most)
            continue;
        elements -= weft_box_common(&need[j], &own[j]);
        most = elements > most ? elements : most;
    }
    return (double)most;
}

static void fill(const layouts *own, const layouts *need, double bytes, int n_from, int n_to,
                 double *out, weft_arena *a)
{
    double *table = WEFT_NEW_RAW(a, double, own->n * need->n);

    for (int i = 0; i < own->n; i++)
        for (int k = 0; k < need->n; k++)
            table[i * need->n + k] =
                bytes * received(need->box + (size_t)k * (size_t)need->n_members,
                                 own->box + (size_t)i * (size_t)own->n_members, own->n_members);
    for (int i = 0; i < n_from; i++)
        for (int k = 0; k < n_to; k++)
            out[i * n_to + k] = table[own->of_split[i] * need->n + need->of_split[k]];
}

void weft_reshard_table(const weft_steps *s, int v, int k, const weft_split *from, int n_from,
                        const weft_split *to, int n_to, double *out)
{
    const weft_step_operand *x = &s->step[v].operand[k];
    const weft_tensor *t = &s->graph->tensor[x->tensor];
    weft_arena *a = weft_arena_new();
    layouts own = new_layouts(n_from, to[0].n, a), need = new_layouts(n_to, to[0].n, a);
    uint64_t *hash = WEFT_NEW(a, uint64_t, (n_from > n_to ? n_from : n_to) + 1);

    for (int i = 0; i < n_from; i++) {
        for (int j = 0; j < own.n_members; j++)
            own.box[(size_t)own.n * (size_t)own.n_members + (size_t)j] =
                tidy(weft_split_result(s, x->step, &from[i], j, x->result));
        own.of_split[i] = settle(&own, hash);
    }
    for (int i = 0; i < n_to; i++) {
        for (int j = 0; j < need.n_members; j++)
            need.box[(size_t)need.n * (size_t)need.n_members + (size_t)j] =
                tidy(weft_split_need(s, v, &to[i], j, k, 0));
        need.of_split[i] = settle(&need, hash);
    }
    fill(&own, &need, t->elements > 0 ? (double)t->bytes / (double)t->elements : 0, n_from, n_to,
         out, a);
    weft_arena_free(a);
}
