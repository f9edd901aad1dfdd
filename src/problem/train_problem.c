/* SPDX-License-Identifier: MIT */
/* train_problem.c: a network to be trained on a platform, as numbers.
 *
 * 1. The network with one sample gives the units and their cuts.
 * 2. Widths: powers of two and divisors of the size of an island, up to the largest island, 16, and
 *    what is asked for; exactly asked for: that one. (Lists begin with 1; what is not asked for has
 *    no tables.)
 * 3. Shares, the samples that a block gets of a microbatch: divisors of the batch (of the
 *    microbatch, if one is asked for) up to MOST_SHARE. Where devices differ up to
 *    MOST_MIXED_SHARE, and also 2, 3, 4, 6, 8, 12, 16, so that unequal ones can share a microbatch.
 *    Shares that fit no device, even if every unit were alone there and its results were computed
 *    again, are left out: memory grows with the samples, so the first that does not fit is the last
 *    to be looked at. Exactly asked for: that one.
 * 4. For each share the network is read with that batch; its forward nodes must be the same,
 *    but for some that repeat what all samples have in common. For each class and width that its
 * islands have room for, weft_block_costs fills the tables. How operators are cut, and so what a
 * device holds, may differ between shares.
 *
 * Cost: the network is read once for each share; the rest is small beside it, as equal units are
 * worked out once. */
#include <string.h>

#include "problem.h"

enum {
    MOST_WIDTH = 16,
    MOST_WIDTHS = 1 + WEFT_MOST_COUNTS,
    MOST_SHARE = 128,
    MOST_MIXED_SHARE = 16, /* where devices differ */
    MOST_SHARES = 64,
};

typedef struct reader {
    const char *source;
    weft_model_options options;
    const weft_platform *platform;
    const weft_train_constraints *constraints;
    weft_cluster *cluster;
    weft_model *first; /* one sample */
    bool is_fixed;     /* the network has a batch of its own */
    bool is_limited;   /* it cannot be given some larger batch */
    weft_blocks blocks;
    int n_widths, width[MOST_WIDTHS];
    int n_shares;
    int64_t share[MOST_SHARES];
    /* Without and with sequence parallelism: [(class * n_widths + width) * MOST_SHARES + share] */
    weft_block_cost **cost[2];
    weft_block_state **state[2];
    weft_arena *a;
} reader;

/* Does an island have room for so many, a power of two or a part of it? */
static bool is_width(const weft_cluster *cluster, int width)
{
    for (int c = 0; c < cluster->n_classes; c++) {
        const weft_class *k = &cluster->classes[c];

        for (int i = 0; i < k->n_islands; i++) {
            int n = k->island_at[i + 1] - k->island_at[i];

            if (n % width == 0 || (width <= n && (width & (width - 1)) == 0))
                return true;
        }
    }
    return width == 1;
}

static void list_widths(reader *r)
{
    int most = r->constraints->most_width > 0 && r->constraints->most_width < MOST_WIDTH
                   ? r->constraints->most_width
                   : MOST_WIDTH;

    if (r->constraints->tp.n > 0) {
        const weft_counts *tp = &r->constraints->tp;

        r->width[r->n_widths++] = 1;
        for (int i = 0; i < tp->n; i++)
            if (tp->at[i] > 1)
                r->width[r->n_widths++] = (int)tp->at[i];
        return;
    }
    for (int w = 1; w <= most; w++)
        if (is_width(r->cluster, w))
            r->width[r->n_widths++] = w;
}

static bool is_listed(const int64_t *list, int n, int64_t samples)
{
    for (int i = 0; i < n; i++)
        if (list[i] == samples)
            return true;
    return false;
}

static int list_shares(const reader *r, int64_t to[MOST_SHARES])
{
    static const int64_t mixed[] = {2, 3, 4, 6, 8, 12, 16};
    const weft_train_constraints *x = r->constraints;
    bool is_mixed = r->cluster->n_classes > 1;
    int64_t whole = x->microbatch > 0 ? x->microbatch : x->batch;
    int64_t most = is_mixed ? MOST_MIXED_SHARE : MOST_SHARE;
    int k = 1;

    to[0] = 1;
    if (r->is_fixed)
        return 1;
    for (int i = 0; i < x->mbs.n; i++)
        if (x->mbs.at[i] > 1)
            to[k++] = x->mbs.at[i];
    if (x->mbs.n > 0)
        return k;
    for (int64_t b = 2; b <= whole && b <= most && k < MOST_SHARES; b++)
        if (whole % b == 0 || (is_mixed && is_listed(mixed, 7, b)))
            to[k++] = b;
    return k;
}

/* Opens the network with that many samples, for training. */
static weft_status open_share(const reader *r, int64_t samples, weft_model **out)
{
    weft_model_options o = r->options;

    o.batch = samples;
    o.train = true;
    return weft_model_open(r->source, &o, out);
}

/* With one sample, or with the batch that it has. */
static weft_status open_first(reader *r)
{
    if (open_share(r, 1, &r->first) == WEFT_OK)
        return WEFT_OK;
    WEFT_TRY(open_share(r, 0, &r->first));
    r->is_fixed = true;
    return WEFT_OK;
}

/* --- the units of another share -------------------------------------------------------------- */

static bool is_like(const weft_node *a, const weft_node *b)
{
    return a->phase == b->phase && strcmp(a->op, b->op) == 0 && strcmp(a->domain, b->domain) == 0;
}

static bool is_same_network(const weft_graph *a, const weft_graph *b)
{
    if (a->n_nodes != b->n_nodes || a->n_tensors != b->n_tensors)
        return false;
    for (int u = 0; u < a->n_nodes; u++)
        if (!is_like(&a->node[u], &b->node[u]) || a->node[u].forward != b->node[u].forward ||
            a->node[u].wrt != b->node[u].wrt)
            return false;
    return true;
}

/* With several samples there may be operators that repeat what is the same for all, and sums of
 * its gradients; and what they are is not the same as with one. Forward nodes go together in order,
 * as far as their operators are the same; those without a partner go with the next.
 * match: [nodes of first] node of g. False: some node of first has no partner. */
static bool match_nodes(const weft_graph *first, const weft_graph *g, const int *block, int *match,
                        int *of_node)
{
    int v = 0, done = 0;

    for (int u = 0; u < g->n_nodes; u++) {
        of_node[u] = -1;
        if (g->node[u].phase != WEFT_FORWARD)
            continue;
        while (v < first->n_nodes && first->node[v].phase != WEFT_FORWARD)
            v++;
        if (v == first->n_nodes || !is_like(&first->node[v], &g->node[u]))
            continue;
        match[v] = u;
        for (; done <= u; done++)
            if (g->node[done].phase == WEFT_FORWARD)
                of_node[done] = block[v];
        v++;
    }
    while (v < first->n_nodes && first->node[v].phase != WEFT_FORWARD)
        v++;
    return v == first->n_nodes;
}

/* Nodes that are not forward: with their forward node, the first reader of their parameter, or a
 * node whose result they read. */
static int unit_of_other(const weft_graph *g, const int *of_node, int u)
{
    const weft_node *n = &g->node[u];

    if (n->forward >= 0)
        return of_node[n->forward];
    if (n->phase == WEFT_UPDATE)
        return of_node[g->use[g->use_at[g->arg[g->arg_at[u]]]]];
    for (int i = g->arg_at[u + 1] - 1; i >= g->arg_at[u]; i--)
        if (g->arg[i] >= 0 && g->tensor[g->arg[i]].producer >= 0)
            return of_node[g->tensor[g->arg[i]].producer];
    return -1;
}

/* The tensor of g that is tensor t of the first: what the partner of its first reader reads. */
static int match_tensor(const weft_graph *first, const weft_graph *g, const int *match, int t)
{
    int v = first->use[first->use_at[t]];

    for (int i = first->arg_at[v]; i < first->arg_at[v + 1]; i++)
        if (first->arg[i] == t &&
            i - first->arg_at[v] < g->arg_at[match[v] + 1] - g->arg_at[match[v]])
            return g->arg[g->arg_at[match[v]] + i - first->arg_at[v]];
    return -1;
}

/* The same units of the same network with more samples. False: it is another network. */
static bool move_units(const reader *r, const weft_graph *g, weft_arena *a, weft_blocks *out)
{
    const weft_graph *first = r->first->graph;
    int *of_node = WEFT_NEW(a, int, g->n_nodes), *match = WEFT_NEW(a, int, first->n_nodes);
    weft_shared *shared = WEFT_NEW(a, weft_shared, r->blocks.n_shared + 1);

    *out = r->blocks;
    if (is_same_network(first, g))
        return true;
    if (!match_nodes(first, g, r->blocks.of_node, match, of_node))
        return false;
    for (int u = 0; u < g->n_nodes; u++) {
        if (g->node[u].phase != WEFT_FORWARD)
            of_node[u] = unit_of_other(g, of_node, u);
        if (of_node[u] < 0)
            return false;
    }
    for (int i = 0; i < r->blocks.n_shared; i++) {
        shared[i] = r->blocks.shared[i];
        shared[i].tensor = match_tensor(first, g, match, shared[i].tensor);
    }
    out->of_node = of_node;
    out->shared = shared;
    return true;
}

/* --- tables ---------------------------------------------------------------------------------- */

static bool fits(const weft_block_cost *cost, int n_blocks, double memory_bytes)
{
    for (int q = 0; q < n_blocks; q++)
        if (cost[q].stash_bytes[WEFT_KEEP_NONE] + cost[q].work_bytes[WEFT_KEEP_NONE] > memory_bytes)
            return false;
    return true;
}

static bool is_asked(const reader *r, int width, int64_t samples)
{
    return weft_counts_allow(&r->constraints->tp, width) &&
           weft_counts_allow(&r->constraints->mbs, samples);
}

/* What the last unit of several makes, the logits of a language model, is never computed again: its
 * backward begins where its forward ends. */
static void keep_last(const weft_blocks *blocks, weft_block_cost *cost)
{
    weft_block_cost *last = &cost[blocks->n_blocks - 1];

    if (blocks->n_blocks == 1)
        return;
    last->again_s[WEFT_KEEP_NONE] = last->again_s[WEFT_KEEP_ALL];
    last->stash_bytes[WEFT_KEEP_NONE] = last->stash_bytes[WEFT_KEEP_ALL];
    last->work_bytes[WEFT_KEEP_NONE] = last->work_bytes[WEFT_KEEP_ALL];
}

/* Tables of the share that comes next, without or with sequence parallelism; *is_fitting: on some
 * device. */
static void fill_tables(reader *r, const weft_blocks *blocks, const weft_steps *s, int64_t samples,
                        bool is_sequence, bool *is_fitting)
{
    for (int c = 0; c < r->cluster->n_classes; c++)
        for (int w = 0; w < r->n_widths; w++) {
            const weft_class *k = &r->cluster->classes[c];
            int at = (c * r->n_widths + w) * MOST_SHARES + r->n_shares;
            weft_block_request constraints = {.blocks = blocks,
                                              .graph = s->graph,
                                              .steps = s,
                                              .design = r->platform->device[k->device[0]].design,
                                              .width = r->width[w],
                                              .inside = k->inside,
                                              .recipe = r->constraints->recipe,
                                              .is_sequence = is_sequence};
            weft_block_cost *cost = WEFT_NEW(r->a, weft_block_cost, r->blocks.n_blocks);
            weft_block_state *state = WEFT_NEW(r->a, weft_block_state, r->blocks.n_blocks);

            if (!is_asked(r, r->width[w], samples) || weft_class_blocks(k, r->width[w]) == 0 ||
                !weft_block_costs(&constraints, r->a, cost, state))
                continue;
            keep_last(&r->blocks, cost);
            r->cost[is_sequence][at] = cost;
            r->state[is_sequence][at] = state;
            *is_fitting =
                *is_fitting || fits(cost, r->blocks.n_blocks,
                                    k->memory_bytes * (1 - r->constraints->memory_margin));
        }
}

/* Tables of a share of a graph; it counts if it fits, or if it is the first. */
static weft_status add_share(reader *r, const weft_graph *g, int64_t samples, bool *is_fitting)
{
    weft_blocks blocks = r->blocks;
    weft_steps *s;

    if (r->n_shares > 0 && !move_units(r, g, r->a, &blocks)) {
        r->is_limited = true;
        return WEFT_OK;
    }
    WEFT_TRY(weft_steps_within(g, blocks.of_node, &s));
    *is_fitting = false;
    for (int i = 0; i < 2; i++)
        if (r->constraints->sps >> i & 1 || (i == 0 && r->constraints->sps == 0))
            fill_tables(r, &blocks, s, samples, i == 1, is_fitting);
    weft_steps_free(s);
    if (*is_fitting || r->n_shares == 0 || r->constraints->mbs.n > 0)
        r->share[r->n_shares++] = samples;
    return WEFT_OK;
}

static weft_status add_shares(reader *r)
{
    int64_t share[MOST_SHARES];
    int n = list_shares(r, share), n_tables = r->cluster->n_classes * r->n_widths;
    bool is_fitting;

    for (int i = 0; i < 2; i++) {
        r->cost[i] = WEFT_NEW(r->a, weft_block_cost *, n_tables * MOST_SHARES);
        r->state[i] = WEFT_NEW(r->a, weft_block_state *, n_tables * MOST_SHARES);
    }
    WEFT_TRY(add_share(r, r->first->graph, 1, &is_fitting));
    for (int i = 1; i < n && (is_fitting || r->constraints->mbs.n > 0); i++) {
        weft_model *m;
        weft_status status;

        if (open_share(r, share[i], &m) != WEFT_OK) {
            r->is_limited = true;
            break;
        }
        if (weft_graph_hash(m->graph) == weft_graph_hash(r->first->graph)) { /* bound by --dim */
            r->is_fixed = true;
            weft_model_free(m);
            break;
        }
        status = add_share(r, m->graph, share[i], &is_fitting);
        weft_model_free(m);
        WEFT_TRY(status);
    }
    return WEFT_OK;
}

/* --- all ------------------------------------------------------------------------------------- */

static void add_warnings(const reader *r, weft_train_problem *p)
{
    const char **warning = WEFT_NEW(p->arena, const char *, r->first->n_warnings + 2);

    for (int i = 0; i < r->first->n_warnings; i++)
        warning[p->n_warnings++] =
            weft_arena_text(p->arena, r->first->warning[i], strlen(r->first->warning[i]));
    if (r->is_fixed)
        warning[p->n_warnings++] = weft_arena_print(
            p->arena, "'%s' cannot be given another batch: its own batch counts as one sample",
            r->source);
    if (r->is_limited)
        warning[p->n_warnings++] = weft_arena_print(
            p->arena, "'%s' cannot be given every batch: devices get up to %lld sample%s at once",
            r->source, (long long)r->share[r->n_shares - 1],
            r->share[r->n_shares - 1] == 1 ? "" : "s");
    p->warning = warning;
}

/* The first input that is a row of whole numbers for each sample. */
static int64_t tokens_of(const weft_graph *g)
{
    for (int i = 0; i < g->n_inputs; i++) {
        const weft_tensor *t = &g->tensor[g->input[i]];

        if (weft_dtype_is_integer(t->type) && t->type != WEFT_BOOL && t->shape->rank == 2 &&
            t->elements > 1)
            return t->elements;
    }
    return 0;
}

/* Products of forward and backward, 2 operations a multiply-accumulate; of attention behind a causal
 * mask half, whether the software skips the rest or not. */
static void count_products(const weft_graph *g, weft_train_problem *p, weft_arena *scratch)
{
    const bool *is_masked = weft_model_masked(g, scratch);
    double by_type[WEFT_N_DTYPES] = {0};

    for (int u = 0; u < g->n_nodes; u++) {
        double flops = (is_masked[u] ? 1.0 : 2.0) * (double)weft_node_work(g, u).macs;
        weft_work_key k;

        if (g->node[u].phase == WEFT_UPDATE || flops <= 0)
            continue;
        weft_work_key_of(g, u, &k);
        p->sample_flops += flops;
        by_type[k.type] += flops;
        if (by_type[k.type] > by_type[p->product_type])
            p->product_type = k.type;
    }
}

static weft_status make(const reader *r, weft_train_problem **out)
{
    int n_tables = r->cluster->n_classes * r->n_widths;
    const weft_block_cost **cost[2];
    const weft_block_state **state[2];
    weft_train_problem_spec s = {.name = r->first->name,
                                 .platform = r->platform,
                                 .blocks = r->blocks,
                                 .constraints = *r->constraints,
                                 .n_widths = r->n_widths,
                                 .n_shares = r->n_shares,
                                 .width = r->width,
                                 .share = r->share};

    for (int k = 0; k < 2; k++) {
        cost[k] = WEFT_NEW(r->a, const weft_block_cost *, n_tables * r->n_shares);
        state[k] = WEFT_NEW(r->a, const weft_block_state *, n_tables * r->n_shares);
        for (int t = 0; t < n_tables; t++)
            for (int i = 0; i < r->n_shares; i++) {
                cost[k][t * r->n_shares + i] = r->cost[k][t * MOST_SHARES + i];
                state[k][t * r->n_shares + i] = r->state[k][t * MOST_SHARES + i];
            }
    }
    s.cost = cost[0];
    s.state = state[0];
    s.sequence_cost = cost[1];
    s.sequence_state = state[1];
    WEFT_TRY(weft_train_problem_make(&s, out));
    (*out)->blocks.of_node =
        weft_arena_copy((*out)->arena, r->blocks.of_node,
                        (size_t)r->first->graph->n_nodes * sizeof *r->blocks.of_node);
    (*out)->tokens = r->is_fixed ? 0 : tokens_of(r->first->graph);
    count_products(r->first->graph, *out, r->a);
    add_warnings(r, *out);
    weft_train_problem_note(*out);
    return WEFT_OK;
}

/* What is asked for exactly has tables, or it cannot be. */
static weft_status check_asked(const reader *r)
{
    const weft_train_constraints *x = r->constraints;
    int64_t mbs = weft_counts_most(&x->mbs);

    if (mbs > 1 && r->share[r->n_shares - 1] != mbs)
        return weft_fail(WEFT_E_INPUT, "mbs=%lld: '%s' cannot be given a batch of %lld samples",
                         (long long)mbs, r->source, (long long)mbs);
    if (x->tp.n == 0 && x->mbs.n == 0)
        return WEFT_OK;
    for (int i = 0; i < r->cluster->n_classes * r->n_widths * MOST_SHARES; i++)
        if (r->cost[0][i] != NULL || r->cost[1][i] != NULL)
            return WEFT_OK;
    return weft_fail(WEFT_E_INPUT, "tp=%s, mbs=%s: no device of '%s' can run '%s' so",
                     weft_counts_text(&x->tp, r->a), weft_counts_text(&x->mbs, r->a),
                     r->platform->name, r->source);
}

static weft_status read_network(reader *r, weft_train_problem **out)
{
    weft_block_options o;

    WEFT_TRY(open_first(r));
    WEFT_TRY(weft_check_peaks(r->first->graph, r->platform));
    WEFT_TRY(weft_cluster_new(r->platform, &r->cluster));
    weft_options_default(weft_block_table, &o);
    WEFT_TRY(weft_blocks_of(r->first->graph, &o, r->a, &r->blocks));
    WEFT_TRY(weft_train_constraints_check(r->constraints, r->cluster, &r->blocks));
    list_widths(r);
    WEFT_TRY(add_shares(r));
    WEFT_TRY(check_asked(r));
    return make(r, out);
}

weft_status weft_train_problem_new(const char *source, const weft_model_options *options,
                                   const weft_platform *platform,
                                   const weft_train_constraints *constraints,
                                   weft_train_problem **out)
{
    static const weft_model_options usual = {.optimizer = WEFT_ADAM};
    reader r = {.source = source,
                .options = weft_model_options_on(options ? options : &usual, platform),
                .platform = platform,
                .constraints = constraints,
                .a = weft_arena_new()};
    weft_status status = weft_platform_unmeasured(platform, "training");

    if (status == WEFT_OK)
        status = read_network(&r, out);

    weft_cluster_free(r.cluster);
    weft_model_free(r.first);
    weft_arena_free(r.a);
    return status;
}
