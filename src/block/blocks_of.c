/* SPDX-License-Identifier: MIT */
/* blocks_of.c: the units of a training graph.
 *
 * The forward nodes become units; a share is a part of all arithmetic or of all weight bytes, the
 * larger one. Light means a share below q = 1 / parts.
 * 0. Operators of an attention that is one kernel (software flash) become one node.
 * 1. Sides. Sources other than the main one (masks, positions, the first layers of a decoder), with
 *    all that depends on them alone, join their first reader if they are light, or if all of them
 *    together have a share of at most 12 q; light sinks join what they read; so do light nodes
 *    whose only reader joins several results.
 * 2. Stretches. A barrier is a node comparable with all others: every cut contains all up to it, or
 *    nothing from it on, so cuts of the network are cuts of one stretch between barriers, and all
 *    before. The network is cut behind the barriers where the fewest bytes cross beside the
 *    barrier's own (none: residual streams; the encoder's output in a decoder), and so are its
 *    stretches, until a stretch has a share of at most 12 q or no barrier: then it is wide.
 * 3. Other stretches become units. A light one without multiply-accumulates joins the one before
 *    it unless more bytes leave it; else light ones join the next until they are light no more.
 * 4. In wide stretches light nodes join neighbours (weft_block_net_join: no cycles), and all cuts
 *    of what is left are listed. Too many: again with light up to 2 q, 4 q; in the end the order is
 *    cut (is_complete is false).
 *
 * There are at most two heavy units for each 1 / parts, as each has its share of arithmetic or of
 * weights. Time O(passes (nodes + edges) + cuts (units + tensors that cross)). */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "block_net.h"
#include "block_nodes.h"
#include "cuts.h"

const weft_option weft_block_table[] = {
    {WEFT_INT(weft_block_options,  max_cuts), 4000, 100, 1e6,
     "ways to cut the network; a wider network is cut in one order only",        NULL, NULL},
    {WEFT_REAL(weft_block_options, parts),    200,  1,   1e4,
     "what has less than one of so many parts of the work joins its neighbours", NULL, NULL},
    WEFT_OPTIONS_END,
};

enum {
    WIDE_PARTS = 12, /* a stretch of more than so many parts is cut further */
    MOST_PARTS = 4,  /* wide stretches: light nodes have up to so many parts in the end */
};

typedef struct maker {
    weft_block_net net;
    double light; /* share */
    int n_stretches;
    bool *is_wide; /* [n_stretches] */
    double *limit; /* [n_stretches] share of light nodes in a wide stretch */
    weft_arena *scratch;
} maker;

static int n_in(const weft_block_net *net, int u)
{
    return net->in_at[u + 1] - net->in_at[u];
}

static int n_out(const weft_block_net *net, int u)
{
    return net->out_at[u + 1] - net->out_at[u];
}

/* --- 1: sides -------------------------------------------------------------------------------- */

enum { MIXED = -1 };

/* side[u]: the source on which alone u depends, or MIXED. share: of what depends on each source. */
static void find_sides(const weft_block_net *net, int *side, weft_share *share)
{
    for (int u = 0; u < net->n; u++) {
        side[u] = n_in(net, u) == 0 ? u : side[net->in[net->in_at[u]]];
        for (int k = net->in_at[u]; k < net->in_at[u + 1]; k++)
            if (side[net->in[k]] != side[u])
                side[u] = MIXED;
        if (side[u] == MIXED)
            continue;
        share[side[u]].work += net->share[u].work;
        share[side[u]].weight += net->share[u].weight;
    }
}

/* The first node that reads something of each side and is not of it; -1: none. */
static int *side_readers(const weft_block_net *net, const int *side, weft_arena *a)
{
    int *reader = WEFT_NEW(a, int, net->n);

    for (int u = 0; u < net->n; u++)
        reader[u] = -1;
    for (int u = 0; u < net->n; u++)
        for (int k = net->out_at[u]; side[u] != MIXED && k < net->out_at[u + 1]; k++) {
            int v = net->out[k], *r = &reader[side[u]];

            if (side[v] == MIXED && (*r < 0 || v < *r))
                *r = v;
        }
    return reader;
}

/* Sides are closed under predecessors and apart from each other, so one may be moved to just before
 * its first reader, and merged with it. */
static bool join_sides(maker *m)
{
    weft_block_net *net = &m->net;
    int *side = WEFT_NEW(m->scratch, int, net->n), *to = WEFT_NEW(m->scratch, int, net->n);
    weft_share *share = WEFT_NEW(m->scratch, weft_share, net->n), others = {0, 0};
    const int *reader;
    int chief = 0;
    bool is_small, is_any = false;

    find_sides(net, side, share);
    reader = side_readers(net, side, m->scratch);
    for (int s = 1; s < net->n; s++)
        if (weft_share_of(share[s]) > weft_share_of(share[chief]))
            chief = s;
    for (int s = 0; s < net->n; s++)
        if (s != chief) {
            others.work += share[s].work;
            others.weight += share[s].weight;
        }
    is_small = weft_share_of(others) <= WIDE_PARTS * m->light;
    for (int u = 0; u < net->n; u++) {
        int s = side[u];

        to[u] = -1;
        if (s == MIXED || s == chief || reader[s] < 0 ||
            !(is_small || weft_share_of(share[s]) < m->light))
            continue;
        to[u] = reader[s];
        is_any = true;
    }
    if (is_any)
        weft_block_net_merge(net, to);
    return is_any;
}

static bool is_light_sink(const weft_block_net *net, int u, const void *context)
{
    const maker *m = context;

    return n_out(net, u) == 0 && u != net->n - 1 && weft_share_of(net->share[u]) < m->light;
}

static bool is_light_branch(const weft_block_net *net, int u, const void *context)
{
    const maker *m = context;

    return n_in(net, u) > 0 && n_out(net, u) == 1 && n_in(net, net->out[net->out_at[u]]) > 1 &&
           weft_share_of(net->share[u]) < m->light;
}

static bool is_inside_attention(const weft_block_net *net, int u, const void *context)
{
    const int *attention = context;

    return attention[u] >= 0 && attention[u] == attention[net->out[net->out_at[u]]];
}

/* The softmax attention that each node of the net is of, or -1. */
static int *attentions_of(const weft_block_net *net)
{
    const weft_graph *g = net->graph;
    int *of = WEFT_NEW(net->arena, int, net->n);

    for (int u = 0; u < net->n; u++)
        of[u] = -1;
    for (int u = 0; u < g->n_nodes; u++)
        if (net->of[u] >= 0 && g->attention[u] >= 0)
            of[net->of[u]] = g->attention[u];
    return of;
}

/* An attention that is one kernel is in one unit: between units its scores would be stored. */
static void join_attention(maker *m)
{
    while (m->net.graph->kernel != NULL &&
           weft_block_net_join(&m->net, true, is_inside_attention, attentions_of(&m->net)))
        ;
}

static void join_all_sides(maker *m)
{
    bool is_any = true;

    while (is_any) {
        is_any = join_sides(m);
        is_any |= weft_block_net_join(&m->net, false, is_light_sink, m);
        is_any |= weft_block_net_join(&m->net, true, is_light_branch, m);
    }
}

/* --- 2: stretches ---------------------------------------------------------------------------- */

typedef struct splitter {
    const weft_block_net *net;
    const bool *is_barrier;
    const double *live_bytes; /* behind each node, beside what it makes */
    weft_share *before;       /* [n + 1] of the nodes below */
    double most;              /* share of a stretch that is not cut further */
    int n;                    /* stretches so far */
    int *stretch;             /* [nodes of the net] */
    bool *is_wide;            /* [nodes of the net, as there are not more stretches] */
} splitter;

static double share_between(const splitter *s, int lo, int end)
{
    weft_share x = {s->before[end].work - s->before[lo].work,
                    s->before[end].weight - s->before[lo].weight};

    return weft_share_of(x);
}

static void close_stretch(splitter *s, int lo, int end, bool is_wide)
{
    for (int u = lo; u < end; u++)
        s->stretch[u] = s->n;
    s->is_wide[s->n++] = is_wide;
}

/* Cuts nodes lo .. end - 1, the last of which is a barrier or the end. */
static void split(splitter *s, int lo, int end)
{
    double least_bytes = INFINITY;
    int from = lo;

    if (end - lo == 1 || share_between(s, lo, end) <= s->most) {
        close_stretch(s, lo, end, false);
        return;
    }
    for (int u = lo; u < end - 1; u++)
        if (s->is_barrier[u])
            least_bytes = fmin(least_bytes, s->live_bytes[u]);
    if (isinf(least_bytes)) {
        close_stretch(s, lo, end, true);
        return;
    }
    for (int u = lo; u < end; u++)
        if (u == end - 1 || (s->is_barrier[u] && s->live_bytes[u] == least_bytes)) {
            split(s, from, u + 1);
            from = u + 1;
        }
}

/* Each stretch that is not wide becomes one node. */
static void merge_stretches(maker *m)
{
    weft_block_net *net = &m->net;
    int *to = WEFT_NEW(m->scratch, int, net->n);

    for (int u = net->n - 1; u >= 0; u--) {
        bool is_last = u == net->n - 1 || net->stretch[u] != net->stretch[u + 1];

        to[u] = -1;
        if (!is_last && !m->is_wide[net->stretch[u]])
            to[u] = to[u + 1] >= 0 ? to[u + 1] : u + 1;
    }
    weft_block_net_merge(net, to);
}

static void find_stretches(maker *m)
{
    weft_block_net *net = &m->net;
    splitter s = {.net = net,
                  .is_barrier = weft_block_net_barriers(net, m->scratch),
                  .live_bytes = weft_block_net_crossing(net, false, m->scratch),
                  .before = WEFT_NEW(m->scratch, weft_share, net->n + 1),
                  .most = WIDE_PARTS * m->light,
                  .stretch = net->stretch,
                  .is_wide = WEFT_NEW(m->scratch, bool, net->n)};

    for (int u = 0; u < net->n; u++)
        s.before[u + 1] = (weft_share){s.before[u].work + net->share[u].work,
                                       s.before[u].weight + net->share[u].weight};
    split(&s, 0, net->n);
    m->n_stretches = s.n;
    m->is_wide = s.is_wide;
    merge_stretches(m);
}

/* --- 3: light stretches ---------------------------------------------------------------------- */

static bool is_narrow(const maker *m, int u)
{
    return !m->is_wide[m->net.stretch[u]];
}

/* Followers: normalisations, activations, pooling. */
static void join_followers(maker *m)
{
    weft_block_net *net = &m->net;
    const double *leave = weft_block_net_crossing(net, true, m->scratch);
    int *to = WEFT_NEW(m->scratch, int, net->n), head = 0;

    for (int u = 0; u < net->n; u++) {
        to[u] = -1;
        if (u > 0 && is_narrow(m, u) && is_narrow(m, u - 1) && !net->has_macs[u] &&
            weft_share_of(net->share[u]) < m->light && leave[u] <= leave[u - 1])
            to[u] = head;
        else
            head = u;
    }
    weft_block_net_merge(net, to);
}

/* From the left, until what is joined is light no more; a light rest joins what is before it. */
static void join_light(maker *m)
{
    weft_block_net *net = &m->net;
    int *to = WEFT_NEW(m->scratch, int, net->n), head = -1, before = -1;
    weft_share sum = {0, 0};

    for (int u = 0; u < net->n; u++) {
        to[u] = -1;
        if (!is_narrow(m, u)) {
            head = before = -1;
            continue;
        }
        if (head < 0) {
            head = u;
            sum = (weft_share){0, 0};
        } else {
            to[u] = head;
        }
        sum.work += net->share[u].work;
        sum.weight += net->share[u].weight;
        if (weft_share_of(sum) >= m->light) {
            before = head;
            head = -1;
        } else if (before >= 0 && (u == net->n - 1 || !is_narrow(m, u + 1))) {
            for (int v = head; v <= u; v++)
                to[v] = before;
        }
    }
    weft_block_net_merge(net, to);
}

/* --- 4: wide stretches ----------------------------------------------------------------------- */

static bool is_light_here(const maker *m, const weft_block_net *net, int u)
{
    return m->is_wide[net->stretch[u]] && weft_share_of(net->share[u]) < m->limit[net->stretch[u]];
}

/* What its predecessor alone leads to: an activation behind its convolution. */
static bool is_light_follower(const weft_block_net *net, int u, const void *context)
{
    return is_light_here(context, net, u) && n_in(net, u) == 1 &&
           n_out(net, net->in[net->in_at[u]]) == 1;
}

static bool has_one_reader(const weft_block_net *net, int u, const void *context)
{
    return is_light_here(context, net, u) && n_out(net, u) == 1;
}

static bool is_light_at_all(const weft_block_net *net, int u, const void *context)
{
    return is_light_here(context, net, u);
}

/* A light node that nothing joins to others of its stretch goes with the one beside it. */
static void join_lone(maker *m)
{
    weft_block_net *net = &m->net;
    int *to = WEFT_NEW(m->scratch, int, net->n), head = 0;

    for (int u = 0; u < net->n; u++) {
        to[u] = -1;
        if (u > 0 && net->stretch[u] == net->stretch[head] && is_light_here(m, net, u))
            to[u] = head;
        else
            head = u;
    }
    weft_block_net_merge(net, to);
}

static void contract_wide(maker *m)
{
    weft_block_net *net = &m->net;

    while (weft_block_net_join(net, false, is_light_follower, m) ||
           weft_block_net_join(net, true, has_one_reader, m) ||
           weft_block_net_join(net, true, is_light_at_all, m) ||
           weft_block_net_join(net, false, is_light_at_all, m))
        ;
    join_lone(m);
}

/* The end of the stretch that begins with node lo. */
static int stretch_end(const maker *m, int lo)
{
    int end = lo + 1;

    while (end < m->net.n && m->net.stretch[end] == m->net.stretch[lo])
        end++;
    return end;
}

/* All cuts of nodes lo .. end - 1. */
static bool stretch_cuts(const maker *m, int lo, int end, int64_t most, weft_arena *a,
                         weft_cut_list *out)
{
    const weft_block_net *net = &m->net;
    int *at = WEFT_NEW(a, int, end - lo + 1);
    WEFT_VEC(int) from = {0};

    for (int u = lo; u < end; u++) {
        for (int k = net->in_at[u]; k < net->in_at[u + 1]; k++)
            if (net->in[k] >= lo)
                WEFT_PUSH(a, from, net->in[k] - lo);
        at[u - lo + 1] = from.n;
    }
    weft_before g = {.n = end - lo, .at = at, .from = from.at};
    return weft_cuts_all(&g, most, a, out);
}

/* Cuts of the stretches, one after the other. */
typedef struct cut_maker {
    const maker *m;
    int64_t spare; /* cuts for each wide stretch, beyond one for each node */
    weft_arena *a;
    bool is_complete;
    int n_words;
    WEFT_VEC(const uint64_t *) cut;
} cut_maker;

/* Adds the cuts that contain all below lo and a cut of the stretch from lo on. */
static void add_cuts(cut_maker *c, int lo, const weft_cut_list *list)
{
    for (int i = 1; i < list->n; i++) {
        uint64_t *bits = WEFT_NEW(c->a, uint64_t, c->n_words);
        const uint64_t *local = weft_cut_at(list, i);

        memcpy(bits, c->cut.at[c->cut.n - i], (size_t)c->n_words * sizeof *bits);
        for (int u = 0; u < 64 * list->n_words; u++)
            if (weft_bit_get(local, u))
                weft_bit_set(bits, lo + u);
        WEFT_PUSH(c->a, c->cut, bits);
    }
}

/* Lists all cuts; false if a wide stretch has too many, and its limit could be raised. */
static bool list_cuts(cut_maker *c, const maker *m)
{
    bool is_done = true;

    c->cut.n = 0;
    c->is_complete = true;
    c->n_words = weft_bits_words(m->net.n);
    WEFT_PUSH(c->a, c->cut, WEFT_NEW(c->a, uint64_t, c->n_words));
    for (int lo = 0; lo < m->net.n;) {
        int end = stretch_end(m, lo);
        double *limit = &m->limit[m->net.stretch[lo]];
        weft_cut_list list;

        if (!stretch_cuts(m, lo, end, c->spare + end - lo + 1, c->a, &list)) {
            list = weft_cuts_chain(end - lo, c->a);
            if (*limit < MOST_PARTS * m->light) {
                *limit *= 2;
                is_done = false;
            }
            c->is_complete = false;
        }
        add_cuts(c, lo, &list);
        lo = end;
    }
    return is_done;
}

static weft_cut_list find_cuts(maker *m, int64_t max_cuts, bool *is_complete)
{
    int n_wide = 0;
    cut_maker c = {.m = m, .a = m->scratch};
    weft_cut_list list;
    uint64_t *bits;

    for (int s = 0; s < m->n_stretches; s++)
        n_wide += m->is_wide[s];
    do {
        contract_wide(m);
        c.spare = (max_cuts - m->net.n - 1) / (n_wide > 0 ? n_wide : 1);
        c.spare = c.spare > 0 ? c.spare : 0;
    } while (!list_cuts(&c, m));
    bits = WEFT_NEW(m->scratch, uint64_t, (size_t)c.cut.n * (size_t)c.n_words);
    for (int i = 0; i < c.cut.n; i++)
        memcpy(bits + (size_t)i * (size_t)c.n_words, c.cut.at[i], (size_t)c.n_words * sizeof *bits);
    list = (weft_cut_list){.n = c.cut.n, .n_words = c.n_words, .bits = bits};
    *is_complete = c.is_complete;
    return list;
}

/* --- all of it ------------------------------------------------------------------------------- */

weft_status weft_blocks_of(const weft_graph *g, const weft_block_options *o, weft_arena *a,
                           weft_blocks *out)
{
    weft_block_options fallback;
    maker m = {.scratch = weft_arena_new()};
    weft_cut_list cuts;
    bool is_complete;

    weft_options_default(weft_block_table, &fallback);
    o = o ? o : &fallback;
    m.net = weft_block_net_new(g, m.scratch);
    m.light = 1 / fmin(o->parts, (double)o->max_cuts / 8); /* so that the order alone fits */
    assert(m.net.n > 0); /* graphs are not empty, and backward nodes have forward ones */
    join_attention(&m);
    join_all_sides(&m);
    find_stretches(&m);
    join_followers(&m);
    join_light(&m);
    m.limit = WEFT_NEW(m.scratch, double, m.n_stretches);
    for (int s = 0; s < m.n_stretches; s++)
        m.limit[s] = m.light;
    cuts = find_cuts(&m, o->max_cuts, &is_complete);
    weft_blocks_fill(&m.net, &cuts, a, out);
    out->is_complete = is_complete;
    weft_arena_free(m.scratch);
    return WEFT_OK;
}
