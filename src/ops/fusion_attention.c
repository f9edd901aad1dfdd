/* SPDX-License-Identifier: MIT */
/* fusion_attention.c: softmax attention in the spellings of exporters.
 *
 *   scores   MatMul of two results
 *   before   Div, Mul (scale), Add, Where (mask), Cast, ... : one after the other, each the only
 *            reader of the one before; views and Dropout (a view) in between
 *   Softmax  along the last axis
 *   after    Cast, Mul, Where, views, Dropout
 *   sum      MatMul of these with values
 *
 * To the kernel also belong what brings queries, keys and values into place and has no other
 * reader (Transpose, Expand, Cast, Mul or Div by a constant), and a Transpose of the sum: such
 * kernels read and write with strides. What the backward nodes of these nodes do is the backward
 * kernel of the same attention; its first product comes with the scores once more.
 *
 * Masks of files are not looked into: a causal mask is a constant without known elements for all but
 * the shortest sequences, so that the half of the products that a kernel might skip is counted. Those
 * of built-in networks are known by name (weft_graph_mark_causal).
 * Operators that are attention by themselves (Attention, MultiHeadAttention, GroupQueryAttention)
 * are one kernel already and move no scores. */
#include "fusion.h"

#include <string.h>

enum { MOST_MEMBERS = 64 };

typedef struct pattern {
    weft_fusing *f;
    int n;
    int member[MOST_MEMBERS];
    bool is_score[MOST_MEMBERS];
} pattern;

static const char *const beside_softmax[] = {"Add", "Sub",  "Mul",  "Div",      "Where",
                                             "Min", "Max",  "Cast", "CastLike", "Clip",
                                             "Pow", "Tanh", "Neg",  "IsNaN",    NULL};
static const char *const into_place[] = {"Transpose", "Expand", "Cast", "CastLike",
                                         "Mul",       "Div",    NULL};

static bool is_one_of(const weft_node *n, const char *const *names)
{
    for (int i = 0; names[i] && *n->domain == '\0'; i++)
        if (strcmp(n->op, names[i]) == 0)
            return true;
    return false;
}

static bool add(pattern *p, int u, bool is_score)
{
    if (p->n == MOST_MEMBERS || p->f->attention[u] >= 0)
        return false;
    p->is_score[p->n] = is_score;
    p->member[p->n++] = u;
    return true;
}

static int maker(const weft_fusing *f, int tensor)
{
    return tensor < 0 ? -1 : f->g->tensor[f->source[tensor]].producer;
}

static int64_t made_elements(const weft_graph *g, int u)
{
    int t = g->res_at[u] < g->res_at[u + 1] ? g->res[g->res_at[u]] : -1;

    return t < 0 ? 0 : g->tensor[t].elements;
}

/* The product at the bottom of a chain that ends in u, or -1; the chain is added. Of two operands
 * of full size the one that leads to a product is taken. */
static int find_scores(pattern *p, int u)
{
    const weft_graph *g = p->f->g;
    int n_before = p->n;

    for (int i = g->arg_at[u]; i < g->arg_at[u + 1]; i++) {
        int w = maker(p->f, g->arg[i]), found;

        if (w < 0 || g->node[w].phase != WEFT_FORWARD || weft_fuse_reader(p->f, w) != u ||
            made_elements(g, w) != made_elements(g, u) || !add(p, w, true))
            continue;
        if (weft_fuse_is_product(g, w))
            return w;
        found = is_one_of(&g->node[w], beside_softmax) ? find_scores(p, w) : -1;
        if (found >= 0)
            return found;
        p->n = n_before;
    }
    return -1;
}

/* The product that reads what Softmax made, or -1. */
static int find_sum(pattern *p, int softmax)
{
    const weft_graph *g = p->f->g;

    for (int u = weft_fuse_reader(p->f, softmax); u >= 0; u = weft_fuse_reader(p->f, u)) {
        if (!add(p, u, !weft_fuse_is_product(g, u)))
            return -1;
        if (weft_fuse_is_product(g, u))
            return u;
        if (!is_one_of(&g->node[u], beside_softmax))
            return -1;
    }
    return -1;
}

static bool has_member(const pattern *p, int u)
{
    for (int i = 0; i < p->n; i++)
        if (p->member[i] == u)
            return true;
    return false;
}

/* The operand that is computed, if it is the only one such; else -1. */
static int only_computed(const weft_graph *g, int u)
{
    int found = -1;

    for (int i = g->arg_at[u]; i < g->arg_at[u + 1]; i++)
        if (g->arg[i] >= 0 && g->tensor[g->arg[i]].producer >= 0) {
            if (found >= 0)
                return -1;
            found = g->arg[i];
        }
    return found;
}

/* Adds what brings an operand of product u into place. */
static void add_before(pattern *p, int u, int tensor)
{
    const weft_graph *g = p->f->g;

    for (int w = maker(p->f, tensor), reader = u; w >= 0; w = maker(p->f, tensor)) {
        if (!is_one_of(&g->node[w], into_place) || g->node[w].phase != WEFT_FORWARD ||
            weft_fuse_reader(p->f, w) != reader || only_computed(g, w) < 0 || has_member(p, w) ||
            !add(p, w, false))
            return;
        tensor = only_computed(g, w);
        reader = w;
    }
}

static void add_operands(pattern *p, int u)
{
    const weft_graph *g = p->f->g;

    for (int i = g->arg_at[u]; i < g->arg_at[u + 1]; i++)
        if (g->arg[i] >= 0 && !has_member(p, maker(p->f, g->arg[i])))
            add_before(p, u, g->arg[i]);
}

static void claim(const pattern *p)
{
    for (int i = 0; i < p->n; i++) {
        p->f->attention[p->member[i]] = p->f->n_attentions;
        p->f->is_score[p->member[i]] = p->is_score[i];
    }
    p->f->n_attentions++;
}

/* Both operands of the scores are results: a product with weights is a layer of its own. */
static bool is_of_results(const weft_fusing *f, int u)
{
    const weft_graph *g = f->g;

    for (int i = g->arg_at[u]; i < g->arg_at[u] + 2; i++)
        if (i >= g->arg_at[u + 1] || maker(f, g->arg[i]) < 0)
            return false;
    return true;
}

static void try_softmax(weft_fusing *f, int u)
{
    pattern p = {.f = f};
    int scores, sum, after;

    if (!add(&p, u, true))
        return;
    scores = find_scores(&p, u);
    sum = scores < 0 ? -1 : find_sum(&p, u);
    if (sum < 0 || !is_of_results(f, scores))
        return;
    add_operands(&p, scores);
    add_operands(&p, sum);
    after = weft_fuse_reader(f, sum);
    if (after >= 0 && strcmp(f->g->node[after].op, "Transpose") == 0)
        (void)add(&p, after, false);
    claim(&p);
}

void weft_fuse_attention(weft_fusing *f)
{
    const weft_graph *g = f->g;

    for (int u = 0; u < g->n_nodes; u++)
        if (g->node[u].phase == WEFT_FORWARD && weft_fuse_is_softmax(g, u))
            try_softmax(f, u);
    for (int u = 0; u < g->n_nodes; u++) {
        const weft_node *n = &g->node[u];

        if (n->phase == WEFT_BACKWARD && n->forward >= 0) {
            f->attention[u] = f->attention[n->forward];
            f->is_score[u] = f->is_score[n->forward];
        }
    }
}
