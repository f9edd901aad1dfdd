/* SPDX-License-Identifier: MIT */
/* piper_cuts.c: all cuts of a network, with the sums that make a stage cheap to judge.
 *
 * 1. All sets of nodes closed under predecessors (weft_cuts_all).
 * 2. Order by (work, size, discovery). Work is the sum over the nodes, in order, of the least
 *    width * seconds of their modes. Rounded addition of numbers >= 0 is monotone, so a cut has at
 *    least the work of every cut inside it, and is larger: it comes later.
 * 3. Sums over each cut at each width, and the edges that leave it.
 *
 * A stage (I, J) then takes differences of sums, and a look at the edges that leave I and J.
 * Time and memory O(cuts (nodes + edges)). */
#include "piper_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cuts.h"
#include "order.h"

/* --- order ----------------------------------------------------------------------------------- */

typedef struct ranked {
    double work_s;
    int size, found;
} ranked;

static int by_rank(const void *a, const void *b)
{
    const ranked *x = a, *y = b;

    return weft_order((double[]){x->work_s, x->size, x->found},
                      (double[]){y->work_s, y->size, y->found}, 3);
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

static const ranked *rank_cuts(const weft_piper *p, const weft_cut_list *found, weft_arena *a)
{
    ranked *rank = WEFT_NEW(a, ranked, found->n);
    double *work_s = WEFT_NEW(a, double, p->n_nodes);

    for (int u = 0; u < p->n_nodes; u++)
        work_s[u] = least_work_s(p, u);
    for (int c = 0; c < found->n; c++) {
        rank[c].found = c;
        for (int u = 0; u < p->n_nodes; u++)
            if (weft_bit_get(weft_cut_at(found, c), u)) {
                rank[c].work_s += work_s[u];
                rank[c].size++;
            }
    }
    qsort(rank, (size_t)found->n, sizeof *rank, by_rank);
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
    weft_before g = weft_before_of(p->n_nodes, p->n_edges, p->edge_from, p->edge_to, a);
    weft_cut_list found;

    if (!weft_cuts_all(&g, max_cuts, a, &found))
        return weft_fail(WEFT_E_INPUT,
                         "the network is too wide: it can be cut in more than %lld ways "
                         "(--max-cuts raises this limit)",
                         (long long)max_cuts);
    const ranked *rank = rank_cuts(p, &found, a);
    size_t n_words = (size_t)found.n_words;
    uint64_t *bits = WEFT_NEW(a, uint64_t, (size_t)found.n * n_words);
    double *work_s = WEFT_NEW(a, double, found.n);

    for (int c = 0; c < found.n; c++) {
        memcpy(bits + (size_t)c * n_words, weft_cut_at(&found, rank[c].found),
               n_words * sizeof *bits);
        work_s[c] = rank[c].work_s;
    }
    *out = (weft_piper_cuts){
        .n_cuts = found.n, .n_words = found.n_words, .bits = bits, .work_s = work_s};
    out->sums = sum_cuts(p, out, a);
    list_leaving(p, a, out);
    return WEFT_OK;
}
