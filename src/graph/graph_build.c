/* SPDX-License-Identifier: MIT */
/* graph_build.c: the builder. It collects tensors and nodes in any order; finish checks them,
 * sorts the nodes topologically (Kahn's algorithm with a heap of numbers: ties keep the order in
 * which nodes were added), numbers the tensors anew and freezes everything in one arena. */
#include "weft/graph.h"

#include <stdlib.h>
#include <string.h>

typedef struct pending {
    weft_node node;
    int n_args, n_results;
    const int *arg, *result;
} pending;

struct weft_builder {
    weft_arena *arena; /* of everything added; the finished graph takes it over */
    const char *name;
    WEFT_VEC(weft_tensor) tensor;
    WEFT_VEC(pending) node;
    WEFT_VEC(int) output;
    WEFT_VEC(bool) is_output; /* of tensors up to the last output */
};

weft_builder *weft_builder_new(const char *name)
{
    weft_builder *b = calloc(1, sizeof *b);

    if (b == NULL)
        abort();
    b->arena = weft_arena_new();
    b->name = weft_arena_text(b->arena, name, strlen(name));
    return b;
}

void weft_builder_reserve(weft_builder *b, int n_tensors, int n_nodes)
{
    WEFT_RESERVE(b->arena, b->tensor, n_tensors);
    WEFT_RESERVE(b->arena, b->node, n_nodes);
}

void weft_builder_free(weft_builder *b)
{
    if (b)
        weft_arena_free(b->arena);
    free(b);
}

static const char *copy_text(weft_arena *a, const char *text)
{
    return text ? weft_arena_text(a, text, strlen(text)) : NULL;
}

static const weft_literal *copy_literal(weft_arena *a, const weft_literal *from)
{
    weft_literal *to;

    if (from == NULL)
        return NULL;
    to = weft_arena_copy(a, from, sizeof *from);
    if (from->ints)
        to->ints = weft_arena_copy(a, from->ints, (size_t)from->n * sizeof(int64_t));
    if (from->reals)
        to->reals = weft_arena_copy(a, from->reals, (size_t)from->n * sizeof(double));
    return to;
}

static weft_tensor copy_tensor(weft_arena *a, const weft_tensor *from)
{
    weft_tensor to = *from;

    to.name = copy_text(a, from->name);
    to.value = copy_literal(a, from->value);
    return to;
}

static weft_attr copy_attr(weft_arena *a, const weft_attr *from)
{
    weft_attr to = *from;

    to.name = copy_text(a, from->name);
    to.s = copy_text(a, from->s);
    if (from->ints)
        to.ints = weft_arena_copy(a, from->ints, (size_t)from->n * sizeof(int64_t));
    if (from->reals)
        to.reals = weft_arena_copy(a, from->reals, (size_t)from->n * sizeof(double));
    if (from->texts) {
        const char **texts = WEFT_NEW(a, const char *, from->n);

        for (int i = 0; i < from->n; i++)
            texts[i] = copy_text(a, from->texts[i]);
        to.texts = texts;
    }
    to.literal = copy_literal(a, from->literal);
    return to;
}

static weft_node copy_node(weft_arena *a, const weft_node *from)
{
    weft_node to = *from;
    weft_attr *attr = WEFT_NEW(a, weft_attr, from->n_attrs);

    to.name = copy_text(a, from->name);
    to.op = copy_text(a, from->op);
    to.domain = copy_text(a, from->domain);
    for (int i = 0; i < from->n_attrs; i++)
        attr[i] = copy_attr(a, &from->attr[i]);
    to.attr = attr;
    return to;
}

int weft_builder_tensor(weft_builder *b, const weft_tensor *t)
{
    weft_tensor copy = copy_tensor(b->arena, t);

    copy.producer = -1;
    WEFT_PUSH(b->arena, b->tensor, copy);
    return b->tensor.n - 1;
}

int weft_builder_node(weft_builder *b, const weft_node *n, const int *args, int n_args,
                      const int *results, int n_results)
{
    pending p = {copy_node(b->arena, n), n_args, n_results, NULL, NULL};

    p.arg = weft_arena_copy(b->arena, args, (size_t)n_args * sizeof(int));
    p.result = weft_arena_copy(b->arena, results, (size_t)n_results * sizeof(int));
    WEFT_PUSH(b->arena, b->node, p);
    return b->node.n - 1;
}

void weft_builder_output(weft_builder *b, int tensor)
{
    while (b->is_output.n <= tensor)
        WEFT_PUSH(b->arena, b->is_output, false);
    if (b->is_output.at[tensor])
        return;
    b->is_output.at[tensor] = true;
    WEFT_PUSH(b->arena, b->output, tensor);
}

const weft_tensor *weft_builder_get(const weft_builder *b, int tensor)
{
    return &b->tensor.at[tensor];
}

/* --- checks ---------------------------------------------------------------------------------- */

static weft_status check_names(const weft_builder *b, weft_arena *scratch)
{
    weft_map *seen = weft_map_new(scratch);

    weft_map_reserve(seen, b->tensor.n);
    for (int t = 0; t < b->tensor.n; t++) {
        const char *name = b->tensor.at[t].name;

        if (name == NULL || *name == '\0')
            return weft_fail(WEFT_E_INPUT, "a tensor has no name");
        if (!weft_map_put(seen, name, strlen(name), t))
            return weft_fail(WEFT_E_INPUT, "two tensors have the name '%s'", name);
    }
    seen = weft_map_new(scratch);
    weft_map_reserve(seen, b->node.n);
    for (int u = 0; u < b->node.n; u++) {
        const char *name = b->node.at[u].node.name;

        if (!weft_map_put(seen, name, strlen(name), u))
            return weft_fail(WEFT_E_INPUT, "two nodes have the name '%s'", name);
    }
    return WEFT_OK;
}

static weft_status set_producers(weft_builder *b)
{
    for (int u = 0; u < b->node.n; u++) {
        const pending *p = &b->node.at[u];

        for (int i = 0; i < p->n_results; i++) {
            weft_tensor *t = p->result[i] < 0 ? NULL : &b->tensor.at[p->result[i]];

            if (t == NULL)
                continue;
            if (t->kind == WEFT_WEIGHT || t->kind == WEFT_INPUT)
                return weft_fail(WEFT_E_INPUT, "node '%s' writes '%s', which is a given %s",
                                 p->node.name, t->name, weft_tensor_kind_name(t->kind));
            if (t->producer >= 0)
                return weft_fail(WEFT_E_INPUT, "tensor '%s' is made by two nodes: '%s' and '%s'",
                                 t->name, b->node.at[t->producer].node.name, p->node.name);
            t->producer = u;
        }
    }
    return WEFT_OK;
}

static weft_status check_reads(const weft_builder *b)
{
    for (int u = 0; u < b->node.n; u++) {
        const pending *p = &b->node.at[u];

        for (int i = 0; i < p->n_args; i++) {
            const weft_tensor *t = p->arg[i] < 0 ? NULL : &b->tensor.at[p->arg[i]];

            if (t && t->producer < 0 && (t->kind == WEFT_ACTIVATION || t->kind == WEFT_OUTPUT))
                return weft_fail(WEFT_E_INPUT, "node '%s' reads '%s', which nothing makes",
                                 p->node.name, t->name);
        }
    }
    for (int i = 0; i < b->output.n; i++) {
        const weft_tensor *t = &b->tensor.at[b->output.at[i]];

        if (t->producer < 0 && (t->kind == WEFT_ACTIVATION || t->kind == WEFT_OUTPUT))
            return weft_fail(WEFT_E_INPUT, "output '%s' is made by no node", t->name);
    }
    return WEFT_OK;
}

/* --- order ----------------------------------------------------------------------------------- */

/* A heap of the nodes that are ready: the lowest number first. */
typedef struct heap {
    int *at;
    int n;
} heap;

static void heap_push(heap *h, int item)
{
    int i = h->n++;

    while (i > 0 && h->at[(i - 1) / 2] > item) {
        h->at[i] = h->at[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    h->at[i] = item;
}

static int heap_pop(heap *h)
{
    int top = h->at[0], last = h->at[--h->n], i = 0;

    for (;;) {
        int child = 2 * i + 1;

        if (child >= h->n)
            break;
        if (child + 1 < h->n && h->at[child + 1] < h->at[child])
            child++;
        if (h->at[child] >= last)
            break;
        h->at[i] = h->at[child];
        i = child;
    }
    h->at[i] = last;
    return top;
}

/* Readers of each tensor as CSR over builder numbers; a node that reads twice stands twice. */
typedef struct readers {
    int *at, *node;
} readers;

static readers find_readers(const weft_builder *b, weft_arena *scratch)
{
    readers r;
    int total = 0;

    r.at = WEFT_NEW(scratch, int, b->tensor.n + 2);
    for (int u = 0; u < b->node.n; u++)
        for (int i = 0; i < b->node.at[u].n_args; i++)
            if (b->node.at[u].arg[i] >= 0)
                r.at[b->node.at[u].arg[i] + 2]++;
    for (int t = 0; t < b->tensor.n + 2; t++)
        total = r.at[t] += total;
    r.node = WEFT_NEW(scratch, int, total + 1);
    for (int u = 0; u < b->node.n; u++)
        for (int i = 0; i < b->node.at[u].n_args; i++)
            if (b->node.at[u].arg[i] >= 0)
                r.node[r.at[b->node.at[u].arg[i] + 1]++] = u;
    return r;
}

/* A node on a cycle, given one that waits for it. A node that waits has a producer that waits too;
 * after as many steps as there are nodes such a walk is on a cycle. */
static int node_on_cycle(const weft_builder *b, const int *waiting, int u)
{
    for (int step = 0; step < b->node.n; step++) {
        const pending *p = &b->node.at[u];

        for (int i = 0; i < p->n_args; i++) {
            int maker = p->arg[i] < 0 ? -1 : b->tensor.at[p->arg[i]].producer;

            if (maker >= 0 && waiting[maker] > 0) {
                u = maker;
                break;
            }
        }
    }
    return u;
}

/* order[i] = builder number of the i-th node. */
static weft_status sort_nodes(const weft_builder *b, const readers *r, weft_arena *scratch,
                              int *order)
{
    int *waiting = WEFT_NEW(scratch, int, b->node.n);
    heap ready = {WEFT_NEW(scratch, int, b->node.n + 1), 0};
    int n = 0;

    for (int u = 0; u < b->node.n; u++) {
        for (int i = 0; i < b->node.at[u].n_args; i++)
            if (b->node.at[u].arg[i] >= 0 && b->tensor.at[b->node.at[u].arg[i]].producer >= 0)
                waiting[u]++;
        if (waiting[u] == 0)
            heap_push(&ready, u);
    }
    while (ready.n > 0) {
        int u = heap_pop(&ready);

        order[n++] = u;
        for (int i = 0; i < b->node.at[u].n_results; i++) {
            int t = b->node.at[u].result[i];

            for (int k = t < 0 ? 0 : r->at[t]; t >= 0 && k < r->at[t + 1]; k++)
                if (--waiting[r->node[k]] == 0)
                    heap_push(&ready, r->node[k]);
        }
    }
    for (int u = 0; u < b->node.n && n < b->node.n; u++)
        if (waiting[u] > 0)
            return weft_fail(WEFT_E_INPUT, "the graph has a cycle through node '%s'",
                             b->node.at[node_on_cycle(b, waiting, u)].node.name);
    return WEFT_OK;
}

/* --- freeze ---------------------------------------------------------------------------------- */

static void freeze_tensors(const weft_builder *b, const readers *r, const int *place, int *number,
                           weft_graph *g)
{
    weft_tensor *tensor = WEFT_NEW(g->arena, weft_tensor, b->tensor.n);
    int n = 0;

    for (int t = 0; t < b->tensor.n; t++) {
        const weft_tensor *from = &b->tensor.at[t];
        bool is_read = r->at[t + 1] > r->at[t];

        number[t] = -1;
        if (from->kind == WEFT_WEIGHT && !is_read)
            continue;
        tensor[n] = *from;
        tensor[n].producer = from->producer < 0 ? -1 : place[from->producer];
        number[t] = n++;
    }
    g->n_tensors = n;
    g->tensor = tensor;
}

static void freeze_ends(const weft_builder *b, const int *number, weft_graph *g)
{
    int *input = WEFT_NEW(g->arena, int, g->n_tensors), *output;
    weft_tensor *tensor = (weft_tensor *)(uintptr_t)g->tensor; /* made here, const to others */

    for (int t = 0; t < g->n_tensors; t++)
        if (g->tensor[t].kind == WEFT_INPUT)
            input[g->n_inputs++] = t;
    output = WEFT_NEW(g->arena, int, b->output.n);
    for (int i = 0; i < b->output.n; i++) {
        int t = number[b->output.at[i]];

        if (t < 0) /* a constant nobody reads */
            continue;
        output[g->n_outputs++] = t;
        if (tensor[t].kind == WEFT_ACTIVATION)
            tensor[t].kind = WEFT_OUTPUT;
    }
    g->input = input;
    g->output = output;
}

static void freeze_nodes(const weft_builder *b, const int *order, const int *number, weft_graph *g)
{
    weft_node *node = WEFT_NEW(g->arena, weft_node, b->node.n);
    int *arg_at = WEFT_NEW(g->arena, int, b->node.n + 1);
    int *res_at = WEFT_NEW(g->arena, int, b->node.n + 1);
    int *arg, *res, *place = WEFT_NEW(g->arena, int, b->node.n);

    for (int u = 0; u < b->node.n; u++) {
        arg_at[u + 1] = arg_at[u] + b->node.at[order[u]].n_args;
        res_at[u + 1] = res_at[u] + b->node.at[order[u]].n_results;
        place[order[u]] = u;
    }
    arg = WEFT_NEW(g->arena, int, arg_at[b->node.n] + 1);
    res = WEFT_NEW(g->arena, int, res_at[b->node.n] + 1);
    for (int u = 0; u < b->node.n; u++) {
        const pending *p = &b->node.at[order[u]];

        node[u] = p->node;
        if (p->node.phase == WEFT_BACKWARD && p->node.forward >= 0)
            node[u].forward = place[p->node.forward];
        for (int i = 0; i < p->n_args; i++)
            arg[arg_at[u] + i] = p->arg[i] < 0 ? -1 : number[p->arg[i]];
        for (int i = 0; i < p->n_results; i++)
            res[res_at[u] + i] = p->result[i] < 0 ? -1 : number[p->result[i]];
    }
    g->n_nodes = b->node.n;
    g->node = node;
    g->arg_at = arg_at;
    g->arg = arg;
    g->res_at = res_at;
    g->res = res;
}

/* Readers of each tensor, each node once; ascending because nodes are visited in order. The first
 * pass counts, the second fills. */
static void freeze_uses(weft_graph *g, weft_arena *scratch)
{
    int *use_at = WEFT_NEW(g->arena, int, g->n_tensors + 1);
    int *last = WEFT_NEW(scratch, int, g->n_tensors);
    int *fill = NULL, *use = NULL;

    for (int pass = 0; pass < 2; pass++) {
        for (int t = 0; t < g->n_tensors; t++)
            last[t] = -1;
        for (int u = 0; u < g->n_nodes; u++)
            for (int i = g->arg_at[u]; i < g->arg_at[u + 1]; i++) {
                int t = g->arg[i];

                if (t < 0 || last[t] == u)
                    continue;
                last[t] = u;
                if (pass == 0)
                    use_at[t + 1]++;
                else
                    use[fill[t]++] = u;
            }
        for (int t = 0; pass == 0 && t < g->n_tensors; t++)
            use_at[t + 1] += use_at[t];
        use = pass ? use : WEFT_NEW(g->arena, int, use_at[g->n_tensors] + 1);
        fill = pass ? fill
                    : weft_arena_copy(scratch, use_at, (size_t)(g->n_tensors + 1) * sizeof(int));
    }
    g->use_at = use_at;
    g->use = use;
}

/* One direction of the edges. Each node has few: insertion keeps them sorted by (other end,
 * tensor). */
typedef struct side {
    int *at, *to, *tensor;
    int n;
} side;

static side new_side(const weft_graph *g)
{
    return (side){WEFT_NEW(g->arena, int, g->n_nodes + 1), WEFT_NEW(g->arena, int, g->n_edges + 1),
                  WEFT_NEW(g->arena, int, g->n_edges + 1), 0};
}

enum { FEW_EDGES = 64 };

static void insert_edge(side *s, int first, int to, int tensor)
{
    int i = s->n++;
    bool is_sorted = i - first < FEW_EDGES; /* beyond, end_edges sorts */

    for (; is_sorted && i > first &&
           (s->to[i - 1] > to || (s->to[i - 1] == to && s->tensor[i - 1] > tensor));
         i--) {
        s->to[i] = s->to[i - 1];
        s->tensor[i] = s->tensor[i - 1];
    }
    s->to[i] = to;
    s->tensor[i] = tensor;
}

static int compare_ends(const void *x, const void *y)
{
    const int *a = x, *b = y;

    if (a[0] != b[0])
        return a[0] < b[0] ? -1 : 1;
    return (a[1] > b[1]) - (a[1] < b[1]);
}

/* Ends the edges of u. Insertion into a long list would take n * n / 4 steps. */
static void end_edges(side *s, int u, int first)
{
    weft_arena *scratch;
    int(*end)[2], n = s->n - first;

    s->at[u + 1] = s->n;
    if (n <= FEW_EDGES)
        return;
    scratch = weft_arena_new();
    end = weft_arena_array(scratch, (size_t)n, sizeof end[0]);
    for (int i = 0; i < n; i++) {
        end[i][0] = s->to[first + i];
        end[i][1] = s->tensor[first + i];
    }
    qsort(end, (size_t)n, sizeof end[0], compare_ends);
    for (int i = 0; i < n; i++) {
        s->to[first + i] = end[i][0];
        s->tensor[first + i] = end[i][1];
    }
    weft_arena_free(scratch);
}

static void leaving_edges(const weft_graph *g, int u, side *s)
{
    int first = s->n;

    for (int i = g->res_at[u]; i < g->res_at[u + 1]; i++)
        for (int t = g->res[i], k = t < 0 ? 0 : g->use_at[t]; t >= 0 && k < g->use_at[t + 1]; k++)
            insert_edge(s, first, g->use[k], t);
    end_edges(s, u, first);
}

/* Edges into u: `last` tells whether a tensor was met at u already. */
static void entering_edges(const weft_graph *g, int u, int *last, side *s)
{
    int first = s->n;

    for (int i = g->arg_at[u]; i < g->arg_at[u + 1]; i++) {
        int t = g->arg[i];

        if (t < 0 || g->tensor[t].producer < 0 || last[t] == u + 1)
            continue;
        last[t] = u + 1;
        insert_edge(s, first, g->tensor[t].producer, t);
    }
    end_edges(s, u, first);
}

static void freeze_edges(weft_graph *g, weft_arena *scratch)
{
    int *last = WEFT_NEW(scratch, int, g->n_tensors + 1);
    side out, in;

    for (int t = 0; t < g->n_tensors; t++)
        if (g->tensor[t].producer >= 0)
            g->n_edges += g->use_at[t + 1] - g->use_at[t];
    out = new_side(g);
    in = new_side(g);
    for (int u = 0; u < g->n_nodes; u++) {
        leaving_edges(g, u, &out);
        entering_edges(g, u, last, &in);
    }
    g->out_at = out.at;
    g->out_to = out.to;
    g->out_tensor = out.tensor;
    g->in_at = in.at;
    g->in_from = in.to;
    g->in_tensor = in.tensor;
}

static weft_status finish(weft_builder *b, weft_arena *scratch, weft_graph **out)
{
    int *order = WEFT_NEW(scratch, int, b->node.n), *place = WEFT_NEW(scratch, int, b->node.n);
    int *number = WEFT_NEW(scratch, int, b->tensor.n);
    readers r;
    weft_graph *g;

    if (b->node.n == 0)
        return weft_fail(WEFT_E_INPUT, "the graph has no nodes");
    WEFT_TRY(check_names(b, scratch));
    WEFT_TRY(set_producers(b));
    WEFT_TRY(check_reads(b));
    r = find_readers(b, scratch);
    WEFT_TRY(sort_nodes(b, &r, scratch, order));
    for (int u = 0; u < b->node.n; u++)
        place[order[u]] = u;

    g = WEFT_NEW(b->arena, weft_graph, 1);
    g->arena = b->arena;
    g->name = b->name;
    freeze_tensors(b, &r, place, number, g);
    freeze_ends(b, number, g);
    freeze_nodes(b, order, number, g);
    freeze_uses(g, scratch);
    freeze_edges(g, scratch);
    b->arena = NULL;
    *out = g;
    return WEFT_OK;
}

weft_status weft_builder_finish(weft_builder *b, weft_graph **out)
{
    weft_arena *scratch = weft_arena_new();
    weft_status status = finish(b, scratch, out);

    weft_arena_free(scratch);
    return status;
}
