/* SPDX-License-Identifier: MIT */
/* cut_network.c: which nodes of a document make a segment.
 *
 * 1. Names. Every name of the main graph is an input, a weight, or made by a node.
 * 2. Nodes of the document and of the graph. A node is found by the names of its results. Calls of
 *    functions and branches that were taken stand for several nodes of the graph: all that their
 *    results depend on up to names of the document. Nodes that the graph does not have were folded:
 *    those that depend on weights alone are copied to every segment that reads them, of the others
 *    (the shape of a tensor) the elements are known and become weights.
 * 3. Order. On a device nodes run as the plan says, those without length as they become ready.
 * 4. Segments. One ends before a node that reads something of another device that none before it
 *    has read, and after a node whose result another device reads.
 *
 * Time O(nodes + reads). */
#include "cut_network.h"

#include <math.h>
#include <stdlib.h>

typedef struct cutting {
    const weft_deployment *plan;
    const weft_graph *g;
    const weft_onnx_graph *doc;
    weft_arena *a;
    weft_map *index; /* name -> value */
    WEFT_VEC(weft_cut_value) values;
    weft_cut_node *node; /* [doc->n_nodes] */
    int *seen;           /* [n_nodes of the graph] last visit */
} cutting;

/* --- names ----------------------------------------------------------------------------------- */

static int find_value(const cutting *c, weft_slice name)
{
    return name.n > 0 ? weft_map_get(c->index, name.at, name.n) : -1;
}

static void add_value(cutting *c, weft_slice name, weft_cut_source source, int at)
{
    int i = find_value(c, name);

    if (name.n == 0)
        return;
    if (i >= 0) { /* an initializer that is listed as an input too */
        c->values.at[i].source = source;
        c->values.at[i].at = at;
        return;
    }
    weft_map_set(c->index, name.at, name.n, c->values.n);
    WEFT_PUSH(c->a, c->values, ((weft_cut_value){source, name, at, -1}));
}

static void add_names(cutting *c)
{
    for (int i = 0; i < c->doc->n_inputs; i++)
        add_value(c, c->doc->input[i].name, WEFT_CUT_INPUT, i);
    for (int i = 0; i < c->doc->n_initializers; i++)
        add_value(c, c->doc->initializer[i].name, WEFT_CUT_WEIGHT, i);
    for (int u = 0; u < c->doc->n_nodes; u++)
        for (int k = 0; k < c->doc->node[u].n_outputs; k++)
            add_value(c, c->doc->node[u].output[k], WEFT_CUT_MADE, u);
    for (int t = 0; t < c->g->n_tensors; t++) {
        const char *name = c->g->tensor[t].name;
        int i = weft_map_get(c->index, name, strlen(name));

        if (i >= 0)
            c->values.at[i].tensor = t;
    }
}

/* --- what nodes read ------------------------------------------------------------------------- */

typedef struct reads {
    cutting *c;
    WEFT_VEC(int) list;
    int *mark; /* [values] 1 + node that has it already */
    int node;
} reads;

static void add_read(reads *r, weft_slice name)
{
    int v = find_value(r->c, name);

    if (v < 0 || r->mark[v] == r->node + 1)
        return;
    r->mark[v] = r->node + 1;
    WEFT_PUSH(r->c->a, r->list, v);
}

/* Names inside that are not of the main graph are the sub-graph's own: ONNX has no name twice. */
static void add_graph_reads(reads *r, const weft_onnx_graph *g)
{
    for (int u = 0; u < g->n_nodes; u++) {
        const weft_onnx_node *n = &g->node[u];

        for (int i = 0; i < n->n_inputs; i++)
            add_read(r, n->input[i]);
        for (int i = 0; i < n->form->n_attrs; i++)
            if (n->form->attr[i].graph != NULL)
                add_graph_reads(r, n->form->attr[i].graph);
    }
    for (int i = 0; i < g->n_outputs; i++)
        add_read(r, g->output[i].name);
}

static void find_reads(cutting *c)
{
    int *mark = WEFT_NEW(c->a, int, c->values.n + 1);

    for (int u = 0; u < c->doc->n_nodes; u++) {
        const weft_onnx_node *n = &c->doc->node[u];
        reads r = {.c = c, .mark = mark, .node = u};

        for (int i = 0; i < n->n_inputs; i++)
            add_read(&r, n->input[i]);
        for (int i = 0; i < n->form->n_attrs; i++)
            if (n->form->attr[i].graph != NULL)
                add_graph_reads(&r, n->form->attr[i].graph);
        c->node[u].read = r.list.at;
        c->node[u].n_reads = r.list.n;
    }
}

/* --- devices of nodes ------------------------------------------------------------------------ */

static const char *shown(const cutting *c, int u)
{
    const weft_onnx_node *n = &c->doc->node[u];
    weft_slice name = n->name.n > 0 ? n->name : n->n_outputs > 0 ? n->output[0] : n->form->op_type;

    return weft_arena_text(c->a, name.at, name.n < 100 ? name.n : 100);
}

typedef struct owners {
    cutting *c;
    int node; /* of the document */
    WEFT_VEC(int) list;
} owners;

/* A node of the graph that the node of the document stands for. */
static weft_status add_owner(owners *o, int v)
{
    cutting *c = o->c;
    weft_cut_node *n = &c->node[o->node];
    int d = c->plan->device[v];

    if (c->seen[v] == o->node + 1)
        return WEFT_OK;
    c->seen[v] = o->node + 1;
    WEFT_PUSH(c->a, o->list, v);
    if (n->device >= 0 && n->device != d)
        return weft_fail(WEFT_E_INPUT,
                         "node '%s' stands for several operators, which the plan has on '%s' and "
                         "on '%s': it cannot be split; weft profile writes the network without "
                         "such nodes",
                         shown(c, o->node), c->plan->platform->device[n->device].name,
                         c->plan->platform->device[d].name);
    if (n->device < 0 || c->plan->start_s[v] < n->start_s) {
        n->start_s = c->plan->start_s[v];
        n->name = c->g->node[v].name;
    }
    n->device = d;
    return WEFT_OK;
}

/* Of results, and of what they depend on inside of the node. */
static weft_status find_owners(owners *o)
{
    const cutting *c = o->c;

    for (int next = 0; next < o->list.n; next++) {
        int v = o->list.at[next];

        for (int i = c->g->arg_at[v]; i < c->g->arg_at[v + 1]; i++) {
            int t = c->g->arg[i], maker = t >= 0 ? c->g->tensor[t].producer : -1;
            const char *name = t >= 0 ? c->g->tensor[t].name : "";

            if (maker >= 0 && weft_map_get(c->index, name, strlen(name)) < 0)
                WEFT_TRY(add_owner(o, maker));
        }
    }
    return WEFT_OK;
}

static int compare_ints(const void *x, const void *y)
{
    int a = *(const int *)x, b = *(const int *)y;

    return a < b ? -1 : a > b;
}

static void set_tasks(cutting *c, const owners *o)
{
    weft_cut_node *n = &c->node[o->node];
    int *task = WEFT_NEW(c->a, int, o->list.n + 1), k = 0;

    for (int i = 0; i < o->list.n; i++)
        task[i] = c->plan->task[o->list.at[i]];
    qsort(task, (size_t)o->list.n, sizeof *task, compare_ints);
    for (int i = 0; i < o->list.n; i++)
        if (i == 0 || task[i] != task[k - 1])
            task[k++] = task[i];
    n->task = task;
    n->n_tasks = k;
}

static weft_status find_device(cutting *c, int u)
{
    owners o = {.c = c, .node = u};

    c->node[u].device = -1;
    for (int k = 0; k < c->doc->node[u].n_outputs; k++) {
        int v = find_value(c, c->doc->node[u].output[k]);
        int t = v >= 0 ? c->values.at[v].tensor : -1;

        if (t >= 0 && c->g->tensor[t].producer >= 0)
            WEFT_TRY(add_owner(&o, c->g->tensor[t].producer));
    }
    WEFT_TRY(find_owners(&o));
    set_tasks(c, &o);
    return WEFT_OK;
}

/* Nodes that are not in the graph: in the order of the file, which is one that runs unless a node
 * has to wait; then another pass finds more. */
static void find_constants(cutting *c)
{
    for (bool has_changed = true; has_changed;) {
        has_changed = false;
        for (int u = 0; u < c->doc->n_nodes; u++) {
            bool is_constant = c->node[u].device < 0 && !c->node[u].is_constant;

            for (int i = 0; i < c->node[u].n_reads && is_constant; i++) {
                weft_cut_source s = c->values.at[c->node[u].read[i]].source;

                is_constant = s == WEFT_CUT_WEIGHT || s == WEFT_CUT_CONSTANT;
            }
            if (!is_constant)
                continue;
            c->node[u].is_constant = has_changed = true;
            for (int k = 0; k < c->doc->node[u].n_outputs; k++) {
                int v = find_value(c, c->doc->node[u].output[k]);

                if (v >= 0)
                    c->values.at[v].source = WEFT_CUT_CONSTANT;
            }
        }
    }
}

static weft_status check_folded(const cutting *c, const weft_cut_value *x, const char *reader)
{
    const weft_tensor *t = x->tensor >= 0 ? &c->g->tensor[x->tensor] : NULL;

    if (x->source != WEFT_CUT_FOLDED ||
        (t != NULL && weft_onnx_tensor_of("", t->type, t->shape, t->value, c->a).raw.at != NULL))
        return WEFT_OK;
    return weft_fail(WEFT_E_INPUT,
                     "%s reads '%.*s', which was found without running the network and whose "
                     "elements are not kept: it cannot be split; weft profile writes the network "
                     "without such nodes",
                     reader, (int)x->name.n, x->name.at);
}

/* Of the rest the elements must be known, if anybody reads them. */
static weft_status find_folded(cutting *c)
{
    for (int v = 0; v < c->values.n; v++) {
        weft_cut_value *x = &c->values.at[v];

        if (x->source == WEFT_CUT_MADE && c->node[x->at].device < 0)
            x->source = WEFT_CUT_FOLDED;
    }
    for (int u = 0; u < c->doc->n_nodes; u++)
        for (int i = 0; i < c->node[u].n_reads && c->node[u].device >= 0; i++)
            WEFT_TRY(check_folded(c, &c->values.at[c->node[u].read[i]],
                                  weft_arena_print(c->a, "node '%s'", shown(c, u))));
    for (int i = 0; i < c->doc->n_outputs; i++) {
        int v = find_value(c, c->doc->output[i].name);

        if (v >= 0)
            WEFT_TRY(check_folded(c, &c->values.at[v], "an output"));
    }
    return WEFT_OK;
}

/* --- order ----------------------------------------------------------------------------------- */

typedef struct ordering {
    cutting *c;
    int n_devices;
    int **queue; /* [device] nodes by start */
    int *n, *at;
    bool *is_done; /* [doc nodes] */
} ordering;

typedef struct start_key {
    double start_s;
    bool
        has_length; /* of what starts at the same time, the rest comes first, as in the simulator */
    int node;
} start_key;

static int compare_starts(const void *x, const void *y)
{
    const start_key *a = x, *b = y;

    if (a->start_s != b->start_s)
        return a->start_s < b->start_s ? -1 : 1;
    if (a->has_length != b->has_length)
        return a->has_length ? 1 : -1;
    return a->node < b->node ? -1 : a->node > b->node;
}

static bool has_length(const cutting *c, int u)
{
    const weft_cut_node *n = &c->node[u];
    double seconds = 0;

    for (int k = 0; k < n->n_tasks && c->plan->problem != NULL; k++)
        seconds += weft_task_s(c->plan->problem, n->task[k], n->device);
    return seconds > 0;
}

static void fill_queue(ordering *o, int d)
{
    const cutting *c = o->c;
    start_key *key = WEFT_NEW(c->a, start_key, c->doc->n_nodes + 1);
    int n = 0;

    for (int u = 0; u < c->doc->n_nodes; u++)
        if (c->node[u].device == d)
            key[n++] = (start_key){c->node[u].start_s, has_length(c, u), u};
    qsort(key, (size_t)n, sizeof *key, compare_starts);
    o->queue[d] = WEFT_NEW(c->a, int, n + 1);
    for (int i = 0; i < n; i++)
        o->queue[d][i] = key[i].node;
    o->n[d] = n;
}

static bool is_ready(const ordering *o, int u)
{
    const cutting *c = o->c;

    for (int i = 0; i < c->node[u].n_reads; i++) {
        const weft_cut_value *x = &c->values.at[c->node[u].read[i]];

        if (x->source == WEFT_CUT_MADE && !o->is_done[x->at])
            return false;
    }
    return true;
}

/* Of the nodes of a device that start when its next one does, the first that is ready: nodes without
 * length may stand before what they read. -1: none. */
static int first_ready(const ordering *o, int d)
{
    const int *q = o->queue[d];
    const weft_cut_node *node = o->c->node;

    for (int i = o->at[d]; i < o->n[d] && node[q[i]].start_s <= node[q[o->at[d]]].start_s; i++)
        if (is_ready(o, q[i]))
            return i;
    return -1;
}

/* The node that starts first of those that can; -1: none. */
static int next_node(ordering *o)
{
    int best = -1, best_at = 0, *q, u;
    double best_s = INFINITY;

    for (int d = 0; d < o->n_devices; d++) {
        int i = first_ready(o, d);
        double start_s = i < 0 ? INFINITY : o->c->node[o->queue[d][i]].start_s;

        if (i >= 0 && (best < 0 || start_s < best_s)) {
            best = d;
            best_at = i;
            best_s = start_s;
        }
    }
    if (best < 0)
        return -1;
    q = o->queue[best];
    u = q[best_at];
    memmove(q + o->at[best] + 1, q + o->at[best], (size_t)(best_at - o->at[best]) * sizeof *q);
    q[o->at[best]++] = u;
    return u;
}

/* All nodes in an order that runs one by one, and keeps that of each device. */
static weft_status order_nodes(cutting *c, int **out, int *n)
{
    ordering o = {.c = c, .n_devices = c->plan->platform->n_devices};
    int *order = WEFT_NEW(c->a, int, c->doc->n_nodes + 1), n_all = 0, d, u;

    o.queue = WEFT_NEW(c->a, int *, o.n_devices);
    o.n = WEFT_NEW(c->a, int, o.n_devices);
    o.at = WEFT_NEW(c->a, int, o.n_devices);
    o.is_done = WEFT_NEW(c->a, bool, c->doc->n_nodes + 1);
    for (d = 0; d < o.n_devices; d++) {
        fill_queue(&o, d);
        n_all += o.n[d];
    }
    for (*n = 0; (u = next_node(&o)) >= 0; ++*n) {
        order[*n] = u;
        o.is_done[u] = true;
    }
    *out = order;
    if (*n == n_all)
        return WEFT_OK;
    for (d = 0; o.at[d] == o.n[d]; d++)
        continue;
    return weft_fail(WEFT_E_INPUT,
                     "node '%s' would have to start before what it reads: the plan takes apart "
                     "what the file has as one node; weft profile writes the network without such "
                     "nodes",
                     shown(c, o.queue[d][o.at[d]]));
}

/* --- segments -------------------------------------------------------------------------------- */

typedef struct segments {
    cutting *c;
    int *open;     /* [device] its open segment, or -1 */
    bool *is_sent; /* [doc nodes] another device reads one of its results */
    bool *has;     /* [value * n_devices + device] read there before */
    int *segment_of;
    WEFT_VEC(weft_cut_segment) list;
    int **room; /* [device] for its nodes that have no segment yet */
} segments;

static void find_sent(segments *s)
{
    const cutting *c = s->c;

    for (int u = 0; u < c->doc->n_nodes; u++)
        for (int i = 0; i < c->node[u].n_reads && c->node[u].device >= 0; i++) {
            const weft_cut_value *x = &c->values.at[c->node[u].read[i]];

            if (x->source == WEFT_CUT_MADE && c->node[x->at].device != c->node[u].device)
                s->is_sent[x->at] = true;
        }
}

/* Does the node read something of another device that is new here? */
static bool reads_new(segments *s, int u)
{
    const cutting *c = s->c;
    int n_devices = c->plan->platform->n_devices, d = c->node[u].device;
    bool is_new = false;

    for (int i = 0; i < c->node[u].n_reads; i++) {
        int v = c->node[u].read[i];
        const weft_cut_value *x = &c->values.at[v];
        bool *has = &s->has[(size_t)v * (size_t)n_devices + (size_t)d];
        bool is_remote = x->source == WEFT_CUT_MADE && c->node[x->at].device != d;

        is_new |= is_remote && !*has;
        *has = true;
    }
    return is_new;
}

static void add_to_segment(segments *s, int u)
{
    int d = s->c->node[u].device;
    bool is_new = reads_new(s, u);

    if (s->open[d] < 0 || is_new) {
        s->open[d] = s->list.n;
        WEFT_PUSH(s->c->a, s->list, ((weft_cut_segment){d, 0, s->room[d]}));
    }
    *s->room[d]++ = u;
    s->list.at[s->open[d]].n_nodes++;
    s->segment_of[u] = s->open[d];
    if (s->is_sent[u] || s->c->plan->is_chain)
        s->open[d] = -1;
}

static void make_segments(cutting *c, const int *order, int n, weft_cut *out)
{
    int n_devices = c->plan->platform->n_devices;
    segments s = {.c = c,
                  .open = WEFT_NEW(c->a, int, n_devices),
                  .is_sent = WEFT_NEW(c->a, bool, c->doc->n_nodes + 1),
                  .has = WEFT_NEW(c->a, bool, (size_t)(c->values.n + 1) * (size_t)n_devices),
                  .segment_of = WEFT_NEW(c->a, int, c->doc->n_nodes + 1),
                  .room = WEFT_NEW(c->a, int *, n_devices)};
    int *n_nodes = WEFT_NEW(c->a, int, n_devices);

    for (int d = 0; d < n_devices; d++)
        s.open[d] = -1;
    for (int u = 0; u < c->doc->n_nodes; u++)
        s.segment_of[u] = -1;
    for (int i = 0; i < n; i++)
        n_nodes[c->node[order[i]].device]++;
    for (int d = 0; d < n_devices; d++)
        s.room[d] = WEFT_NEW(c->a, int, n_nodes[d] + 1);
    find_sent(&s);
    for (int i = 0; i < n; i++)
        add_to_segment(&s, order[i]);
    out->segment = s.list.at;
    out->n_segments = s.list.n;
    out->segment_of = s.segment_of;
}

weft_status weft_cut_make(const weft_deployment *d, const weft_onnx *doc, weft_arena *a,
                          weft_cut *out)
{
    cutting c = {.plan = d, .g = d->graph, .doc = doc->graph, .a = a, .index = weft_map_new(a)};
    int *order, n;

    c.node = WEFT_NEW(a, weft_cut_node, c.doc->n_nodes + 1);
    c.seen = WEFT_NEW(a, int, c.g->n_nodes + 1);
    add_names(&c);
    find_reads(&c);
    for (int u = 0; u < c.doc->n_nodes; u++)
        WEFT_TRY(find_device(&c, u));
    find_constants(&c);
    WEFT_TRY(find_folded(&c));
    WEFT_TRY(order_nodes(&c, &order, &n));
    *out = (weft_cut){.plan = d,
                      .doc = doc,
                      .arena = a,
                      .index = c.index,
                      .n_values = c.values.n,
                      .value = c.values.at,
                      .node = c.node};
    make_segments(&c, order, n, out);
    return WEFT_OK;
}
