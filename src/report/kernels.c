/* SPDX-License-Identifier: MIT */
/* kernels.c: which operators of a network are one kernel, and what that saves.
 *
 * Kernels that are alike (operators, work, bytes) share a row; views are free and not listed. Bytes
 * "before" are those of the operators one by one, "after" those that enter or leave the kernel. */
#include "fields.h"
#include "report.h"

#include <string.h>

typedef struct kernel_row {
    const char *name, *ops; /* of the first: its first node; "MatMul + Add + Gelu" */
    const char *phase;
    int n_nodes, count;
    int64_t flops, before_bytes, after_bytes;
    bool is_attention, is_causal;
} kernel_row;

typedef struct kernel_table {
    const weft_model *model;
    int n, n_kernels, n_nodes; /* rows; kernels and nodes with work */
    kernel_row *row;
    int64_t before_bytes, after_bytes;
} kernel_table;

static int64_t add(int64_t a, int64_t b)
{
    int64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static int64_t moved(const weft_work *w)
{
    return add(w->read_bytes, w->write_bytes);
}

/* Operations of the scores that a backward node computes again. */
static int64_t again_flops(const weft_graph *g, int u)
{
    weft_nests nests;

    if (g->again[u] < 0)
        return 0;
    weft_node_nests(g, g->again[u], &nests);
    for (int i = 0; i < nests.n; i++)
        if (nests.nest[i].is_mac)
            return add(weft_nest_points(&nests.nest[i]), weft_nest_points(&nests.nest[i]));
    return 0;
}

static bool is_causal(const weft_graph *g, int u)
{
    return g->is_causal && g->is_causal[u];
}

static void add_node(const weft_graph *g, int u, weft_arena *a, kernel_row *r)
{
    static const char *const phase[] = {"forward", "backward", "update"};
    weft_graph plain = *g;
    weft_work before, after = weft_node_work(g, u);

    plain.kernel = NULL;
    before = weft_node_work(&plain, u);
    if (r->n_nodes == 0) {
        r->name = g->node[u].name;
        r->ops = g->node[u].op;
    } else
        r->ops = weft_arena_print(a, "%s + %s", r->ops, g->node[u].op);
    r->phase = phase[g->node[u].phase];
    r->n_nodes++;
    r->count = 1;
    r->is_attention = g->attention[u] >= 0;
    r->is_causal = r->is_causal || is_causal(g, u);
    r->flops = add(r->flops, add(after.flops, again_flops(g, u)) / (is_causal(g, u) ? 2 : 1));
    r->before_bytes = add(r->before_bytes, moved(&before));
    r->after_bytes = add(r->after_bytes, moved(&after));
}

static bool is_same(const kernel_row *a, const kernel_row *b)
{
    return a->flops == b->flops && a->before_bytes == b->before_bytes &&
           a->after_bytes == b->after_bytes && strcmp(a->ops, b->ops) == 0 &&
           strcmp(a->phase, b->phase) == 0;
}

static void add_row(kernel_table *t, const kernel_row *r)
{
    t->n_kernels++;
    t->n_nodes += r->n_nodes;
    t->before_bytes = add(t->before_bytes, r->before_bytes);
    t->after_bytes = add(t->after_bytes, r->after_bytes);
    for (int i = 0; i < t->n; i++)
        if (is_same(&t->row[i], r)) {
            t->row[i].count++;
            return;
        }
    t->row[t->n++] = *r;
}

static bool is_listed(const weft_graph *g, int u)
{
    const weft_node *n = &g->node[g->node[u].forward >= 0 ? g->node[u].forward : u];
    const weft_op *op = n->has_body ? NULL : weft_op_find(n->domain, n->op);

    return op == NULL || op->fusion != WEFT_FUSE_VIEW;
}

static kernel_table table_of(const weft_model *m, weft_arena *a)
{
    const weft_graph *g = m->graph;
    kernel_row *all = WEFT_NEW(a, kernel_row, g->n_nodes + 1);
    kernel_table t = {.model = m, .row = WEFT_NEW(a, kernel_row, g->n_nodes + 1)};

    for (int u = 0; u < g->n_nodes; u++)
        if (is_listed(g, u))
            add_node(g, u, a, &all[g->kernel[u]]);
    for (int k = 0; k < g->n_nodes; k++)
        if (all[k].n_nodes > 0)
            add_row(&t, &all[k]);
    return t;
}

static void print_row(const kernel_row *r, int width, FILE *to)
{
    enum { NAME = 26 };
    char flops[32], before[32], after[32];

    fputs("  ", to);
    weft_print_padded(to, r->name, NAME);
    fprintf(to, " %5d %9s %9s %9s\n", r->count, weft_format_count((double)r->flops, flops),
            weft_format_bytes((double)r->before_bytes, before),
            weft_format_bytes((double)r->after_bytes, after));
    if (r->n_nodes > 1) {
        fputs("    ", to);
        weft_print_wrapped(to, 4, width, r->ops);
    }
    if (r->is_attention)
        fprintf(to, "    attention: scores stay inside%s\n",
                r->is_causal ? "; causal: half of the products" : "");
}

void weft_kernels_text(const weft_model *m, weft_software s, int width, weft_arena *a, FILE *to)
{
    kernel_table t = table_of(m, a);
    char before[32], after[32];

    fprintf(to, "%s with software %s: %d operators in %d kernels\n", m->name, weft_software_name(s),
            t.n_nodes, t.n_kernels);
    fprintf(to, "  moved %s, one by one %s\n\n", weft_format_bytes((double)t.after_bytes, after),
            weft_format_bytes((double)t.before_bytes, before));
    fprintf(to, "  %-26s %5s %9s %9s %9s\n", "first operator", "count", "FLOPs", "before", "after");
    for (int i = 0; i < t.n; i++)
        print_row(&t.row[i], width, to);
}

weft_doc *weft_kernels_doc(const weft_model *m, weft_software s, weft_arena *a)
{
    kernel_table t = table_of(m, a);
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP), *list = weft_doc_new(a, WEFT_DOC_LIST);

    weft_put_text(a, d, "model", m->name);
    weft_put_text(a, d, "software", weft_software_name(s));
    weft_put_int(a, d, "operators", t.n_nodes);
    weft_put_int(a, d, "kernels", t.n_kernels);
    weft_put_int(a, d, "before_bytes", t.before_bytes);
    weft_put_int(a, d, "after_bytes", t.after_bytes);
    for (int i = 0; i < t.n; i++) {
        const kernel_row *r = &t.row[i];
        weft_doc *row = weft_doc_new(a, WEFT_DOC_MAP);

        weft_put_text(a, row, "name", r->name);
        weft_put_text(a, row, "operators", r->ops);
        weft_put_text(a, row, "phase", r->phase);
        weft_put_int(a, row, "count", r->count);
        weft_put_int(a, row, "flops", r->flops);
        weft_put_int(a, row, "before_bytes", r->before_bytes);
        weft_put_int(a, row, "after_bytes", r->after_bytes);
        weft_doc_put(a, row, "attention", weft_doc_new_bool(a, r->is_attention));
        weft_doc_put(a, row, "causal", weft_doc_new_bool(a, r->is_causal));
        weft_doc_add(a, list, row);
    }
    weft_doc_put(a, d, "rows", list);
    return d;
}
