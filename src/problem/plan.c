/* SPDX-License-Identifier: MIT */
/* plan.c: empty plans, names of outcomes, and the hash by which a plan knows its network. */
#include "problem.h"

#include "hash.h"

weft_plan weft_plan_new(int n_tasks, weft_arena *a)
{
    return weft_plan_new_variants(n_tasks, 1, a);
}

weft_plan weft_plan_new_variants(int n_tasks, int n_variants, weft_arena *a)
{
    size_t n = (size_t)n_tasks * (size_t)n_variants;
    weft_plan plan = {n_tasks, WEFT_NEW(a, int, n), WEFT_NEW(a, double, n), n_variants,
                      WEFT_NEW(a, double, n_variants)};

    for (int w = 0; w < n_variants; w++)
        plan.share[w] = 1.0 / n_variants;
    return plan;
}

const char *weft_outcome_name(weft_outcome o)
{
    static const char *const names[] = {
        [WEFT_OPTIMAL] = "optimal",
        [WEFT_BOUNDED] = "bounded",
        [WEFT_INFEASIBLE] = "infeasible",
        [WEFT_UNKNOWN] = "unknown",
    };

    return names[o];
}

/* --- hash of a network ----------------------------------------------------------------------- */

static uint64_t hash_shape(uint64_t h, const weft_shape *s)
{
    h = weft_hash_int(h, s->rank);
    for (int i = 0; i < s->rank; i++)
        h = weft_hash_int(h, s->dim[i]);
    return h;
}

static uint64_t hash_literal(uint64_t h, const weft_literal *x)
{
    h = weft_hash_int(h, x ? x->n : -1);
    for (int i = 0; x && x->ints && i < x->n; i++)
        h = weft_hash_int(h, x->ints[i]);
    for (int i = 0; x && x->reals && i < x->n; i++)
        h = weft_hash_real(h, x->reals[i]);
    return h;
}

/* Only the fields that the kind of the attribute uses; the others are not set by every maker. */
static uint64_t hash_attr(uint64_t h, const weft_attr *x)
{
    h = weft_hash_text(h, x->name);
    h = weft_hash_int(h, x->kind);
    switch (x->kind) {
    case WEFT_ATTR_INT:
        return weft_hash_int(h, x->i);
    case WEFT_ATTR_REAL:
        return weft_hash_real(h, x->f);
    case WEFT_ATTR_TEXT:
        return weft_hash_text(h, x->s);
    case WEFT_ATTR_LITERAL:
        return hash_literal(hash_shape(weft_hash_int(h, x->type), &x->shape), x->literal);
    case WEFT_ATTR_OTHER:
        return h;
    case WEFT_ATTR_INTS:
    case WEFT_ATTR_REALS:
    case WEFT_ATTR_TEXTS:
        break;
    }
    h = weft_hash_int(h, x->n);
    for (int i = 0; i < x->n; i++) {
        if (x->kind == WEFT_ATTR_INTS)
            h = weft_hash_int(h, x->ints[i]);
        else if (x->kind == WEFT_ATTR_REALS)
            h = weft_hash_real(h, x->reals[i]);
        else
            h = weft_hash_text(h, x->texts[i]);
    }
    return h;
}

static uint64_t hash_list(uint64_t h, const int *at, const int *to, int row)
{
    h = weft_hash_int(h, at[row + 1] - at[row]);
    for (int k = at[row]; k < at[row + 1]; k++)
        h = weft_hash_int(h, to[k]);
    return h;
}

static uint64_t hash_node(uint64_t h, const weft_graph *g, int u)
{
    const weft_node *n = &g->node[u];

    h = weft_hash_text(h, n->name);
    h = weft_hash_text(h, n->op);
    h = weft_hash_text(h, n->domain);
    h = weft_hash_int(h, n->opset);
    h = weft_hash_int(h, n->phase);
    h = weft_hash_int(h, n->forward);
    h = weft_hash_int(h, n->wrt);
    h = weft_hash_int(h, n->has_body);
    if (n->has_body) {
        h = weft_hash_int(h, n->body.macs);
        h = weft_hash_int(h, n->body.flops);
        h = weft_hash_int(h, n->body.read_bytes);
        h = weft_hash_int(h, n->body.write_bytes);
    }
    h = weft_hash_int(h, n->n_attrs);
    for (int i = 0; i < n->n_attrs; i++)
        h = hash_attr(h, &n->attr[i]);
    h = hash_list(h, g->arg_at, g->arg, u);
    return hash_list(h, g->res_at, g->res, u);
}

/* Which inputs stay on their device is a matter of the problem: the network is the same. */
static uint64_t hash_tensor(uint64_t h, const weft_graph *g, const weft_tensor *x)
{
    bool is_input = x->kind == WEFT_STATE && g->n_states > 0;
    weft_tensor_kind kind = is_input ? WEFT_INPUT : x->kind;

    h = weft_hash_text(h, x->name);
    h = weft_hash_int(h, x->type);
    h = weft_hash_int(h, kind);
    h = weft_hash_int(h, x->is_parameter);
    h = weft_hash_int(h, x->bytes);
    return hash_literal(hash_shape(h, x->shape), x->value);
}

uint64_t weft_graph_hash(const weft_graph *g)
{
    uint64_t h = weft_hash_start();

    h = weft_hash_int(h, g->n_nodes);
    for (int u = 0; u < g->n_nodes; u++)
        h = hash_node(h, g, u);
    h = weft_hash_int(h, g->n_tensors);
    for (int t = 0; t < g->n_tensors; t++)
        h = hash_tensor(h, g, &g->tensor[t]);
    for (int i = 0; i < g->n_inputs; i++)
        h = weft_hash_int(h, g->input[i]);
    for (int i = 0; i < g->n_outputs; i++)
        h = weft_hash_int(h, g->output[i]);
    return weft_hash_end(h);
}
