/* SPDX-License-Identifier: MIT */
/* summary.c: adds up what a network is made of. */
#include "report.h"

#include <stdlib.h>
#include <string.h>

static int64_t add(int64_t a, int64_t b)
{
    int64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static void sum_tensors(const weft_graph *g, weft_summary *s)
{
    for (int t = 0; t < g->n_tensors; t++) {
        const weft_tensor *x = &g->tensor[t];

        if (weft_state_in_place(g, t) >= 0)
            continue;
        if (x->producer >= 0)
            s->activation_bytes = add(s->activation_bytes, x->bytes);
        else if (x->kind == WEFT_WEIGHT)
            s->weight_bytes = add(s->weight_bytes, x->bytes);
        else if (x->kind == WEFT_STATE)
            s->state_bytes = add(s->state_bytes, x->bytes);
        else
            s->input_bytes = add(s->input_bytes, x->bytes);
    }
    for (int i = 0; i < g->n_outputs; i++)
        if (weft_state_in_place(g, g->output[i]) < 0)
            s->output_bytes = add(s->output_bytes, g->tensor[g->output[i]].bytes);
}

/* Row of a node's operator; made on its first use. `rows` finds it by operator and domain. */
static weft_op_total *row_of(const weft_node *n, weft_map *rows, weft_arena *a, weft_op_total *op,
                             int *n_ops)
{
    size_t mark = weft_arena_mark(a), n_op = strlen(n->op) + 1, n_domain = strlen(n->domain);
    char *key = weft_arena_raw(a, n_op + n_domain); /* a NUL between them */
    int row;

    memcpy(key, n->op, n_op);
    memcpy(key + n_op, n->domain, n_domain);
    row = weft_map_get(rows, key, n_op + n_domain);
    if (row >= 0) {
        weft_arena_rewind(a, mark);
        return &op[row];
    }
    op[*n_ops] = (weft_op_total){.op = n->op, .domain = n->domain};
    weft_map_set(rows, key, n_op + n_domain, *n_ops);
    return &op[(*n_ops)++];
}

static int by_weight(const void *x, const void *y)
{
    const weft_op_total *a = x, *b = y;
    const int64_t key_a[] = {a->work.macs, a->work.flops,
                             add(a->work.read_bytes, a->work.write_bytes)};
    const int64_t key_b[] = {b->work.macs, b->work.flops,
                             add(b->work.read_bytes, b->work.write_bytes)};

    for (int i = 0; i < 3; i++)
        if (key_a[i] != key_b[i])
            return key_a[i] > key_b[i] ? -1 : 1;
    return strcmp(a->op, b->op) ? strcmp(a->op, b->op) : strcmp(a->domain, b->domain);
}

enum { N_PHASES = WEFT_UPDATE + 1 };

/* What is the same for all nodes with the same work, and how many there are of each phase. */
typedef struct share {
    int row; /* of the operator */
    bool is_static;
    int n_nodes[N_PHASES];
} share;

/* Stops at INT64_MAX, as the sum of that many would. */
static int64_t times(int64_t a, int n)
{
    int64_t product;

    return __builtin_mul_overflow(a, (int64_t)n, &product) ? INT64_MAX : product;
}

static void add_share(const share *x, const weft_work *node, weft_op_total *row, weft_summary *s)
{
    for (int p = 0; p < N_PHASES; p++) {
        int n = x->n_nodes[p];
        weft_work all = {times(node->macs, n), times(node->flops, n), times(node->read_bytes, n),
                         times(node->write_bytes, n)};

        row->n_nodes += n;
        weft_work_add(&row->work, all);
        weft_work_add(&s->total, all);
        weft_work_add(&s->phase[p], all);
        s->n_phase_nodes[p] += n;
        s->n_dynamic_nodes += x->is_static ? 0 : n;
    }
}

/* How many nodes have work that no earlier one has. */
static int count_different(const weft_graph *g)
{
    int n = 0;

    for (int u = 0; u < g->n_nodes; u++)
        n += g->like[u] == u;
    return n;
}

static void sum_nodes(const weft_graph *g, weft_arena *a, weft_summary *s)
{
    weft_work *node = WEFT_NEW_RAW(a, weft_work, g->n_nodes);
    weft_op_total *op = WEFT_NEW_RAW(a, weft_op_total, count_different(g));
    share *shared = WEFT_NEW_RAW(a, share, g->n_nodes);
    weft_map *rows = weft_map_new(a);

    for (int u = 0; u < g->n_nodes; u++) {
        int first = g->like[u];

        if (first == u) {
            weft_op_total *row = row_of(&g->node[u], rows, a, op, &s->n_ops);

            row->is_opaque = weft_node_is_opaque(g, u);
            shared[u] = (share){(int)(row - op), weft_node_is_static(g, u), {0}};
            node[u] = weft_node_work(g, u);
        } else {
            node[u] = node[first];
        }
        shared[first].n_nodes[g->node[u].phase]++;
    }
    for (int u = 0; u < g->n_nodes; u++)
        if (g->like[u] == u)
            add_share(&shared[u], &node[u], &op[shared[u].row], s);
    qsort(op, (size_t)s->n_ops, sizeof *op, by_weight);
    s->op = op;
    s->node = node;
}

weft_summary *weft_summarize(const weft_model *model, weft_arena *a)
{
    weft_summary *s = WEFT_NEW(a, weft_summary, 1);
    const weft_graph *g = model->graph;
    weft_separators separators = weft_graph_separators(g, a);
    double bytes;

    s->model = model;
    sum_tensors(g, s);
    s->peak_bytes = weft_graph_peak_bytes(g);
    sum_nodes(g, a, s);
    if (s->n_phase_nodes[WEFT_FORWARD] < g->n_nodes)
        s->stash_bytes = weft_graph_stash_bytes(g);
    s->depth = weft_graph_depth(g);
    s->n_barriers = separators.n_barriers;
    s->n_cuts = separators.n_cuts;
    bytes = (double)s->total.read_bytes + (double)s->total.write_bytes;
    s->flops_per_byte = bytes > 0 ? (double)s->total.flops / bytes : 0.0;
    return s;
}
