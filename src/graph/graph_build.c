/* SPDX-License-Identifier: MIT */
/* graph_build.c: the builder. It collects tensors and nodes in any order; finish checks them,
 * sorts the nodes topologically (Kahn's algorithm with a heap of numbers: ties keep the order in
 * which nodes were added), numbers the tensors anew and freezes everything in one arena.
 *
 * Nodes that were added in topological order stay where they are: the sort would give the order of
 * their numbers, since the lowest number is always ready. Whether they were is known as soon as the
 * last one is added, and so is how many nodes read each tensor. The graph takes the builder's
 * arrays over as they are. Cost: O(tensors + operands), and a logarithm for nodes that have to be
 * sorted.
 */
#include "graph.h"
#include "heap.h"
#include "map.h"
#include "rows.h"
#include "sort.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Operands, or results, of nodes in a row: those of node u are at[from[u]] .. at[from[u + 1]] - 1.
 */
typedef struct ends {
    WEFT_VEC(int) from, item;
} ends;

enum { NOBODY = -1, GIVEN = -2 };

/* Who makes and reads a tensor. */
typedef struct flow {
    int maker;   /* a node, NOBODY so far, or GIVEN */
    int n_reads; /* each node once; while the graph is frozen: where the next one goes */
    int last;    /* number of the last one + 1, or 0 */
} flow;

struct weft_builder {
    weft_arena *arena; /* of everything added; the finished graph takes it over */
    const char *name;
    bool shares;    /* nothing is copied */
    bool is_unique; /* all tensors have names, no two the same */
    bool is_mixed;  /* a node reads what was not made before, or makes what was there already */
    WEFT_VEC(weft_tensor) tensor;
    WEFT_VEC(flow) flow; /* of each tensor */
    WEFT_VEC(weft_node) node;
    ends arg, res;
    WEFT_VEC(int) like; /* an earlier node with the same work, or the node itself */
    WEFT_VEC(int) output;
    bool *is_output; /* of the first n_marked tensors */
    int n_marked;
    weft_arena *scratch; /* of names and flows */
    weft_map *names;     /* of nodes */
    const char *claimed; /* by the node that comes next */
    const char *twice;   /* the first node name that was there already */
};

/* Room for n nodes with n_items in all. */
static void start_ends(weft_arena *a, ends *e, int n, int n_items)
{
    *e = (ends){0};
    WEFT_RESERVE(a, e->from, n + 1);
    WEFT_RESERVE(a, e->item, n_items);
    WEFT_PUSH(a, e->from, 0);
}

weft_builder *weft_builder_new(const char *name)
{
    weft_builder *b = calloc(1, sizeof *b);

    if (b == NULL)
        weft_out_of_memory(sizeof *b);
    b->arena = weft_arena_new();
    b->scratch = weft_arena_new();
    b->names = weft_map_new(b->scratch);
    b->name = weft_arena_word(b->arena, name);
    start_ends(b->arena, &b->arg, 0, 0);
    start_ends(b->arena, &b->res, 0, 0);
    return b;
}

/* Of a tensor or node, of a node. No matter if wrong, and pages that are not used cost nothing; but
 * the C library keeps memory for the next network only if this piece is larger than all the rest.
 */
enum { LIKELY_BYTES = 384, LIKELY_EDGES = 3, MAP_BYTES = 32 };

void weft_builder_reserve(weft_builder *b, int n_tensors, int n_nodes)
{
    size_t tensor_bytes = sizeof(weft_tensor) + LIKELY_BYTES + 3 * sizeof(int);
    size_t node_bytes = sizeof(weft_node) + LIKELY_BYTES + 8 * LIKELY_EDGES * sizeof(int);

    weft_arena_reserve(b->arena, (size_t)n_tensors * tensor_bytes + (size_t)n_nodes * node_bytes);
    WEFT_RESERVE(b->arena, b->tensor, n_tensors);
    weft_arena_reserve(b->scratch, (size_t)n_tensors * sizeof(flow) + (size_t)n_nodes * MAP_BYTES);
    WEFT_RESERVE(b->scratch, b->flow, n_tensors);
    WEFT_RESERVE(b->arena, b->node, n_nodes);
    WEFT_RESERVE(b->arena, b->like, n_nodes);
    if (b->node.n == 0) {
        start_ends(b->arena, &b->arg, n_nodes,
                   n_nodes < INT_MAX / LIKELY_EDGES ? LIKELY_EDGES * n_nodes : n_nodes);
        start_ends(b->arena, &b->res, n_nodes, n_nodes);
    }
    weft_map_reserve(b->names, n_nodes);
}

weft_arena *weft_builder_arena(weft_builder *b)
{
    return b->arena;
}

void weft_builder_share(weft_builder *b)
{
    b->shares = true;
}

void weft_builder_unique(weft_builder *b)
{
    b->is_unique = true;
}

void weft_builder_free(weft_builder *b)
{
    if (b == NULL)
        return;
    weft_arena_free(b->arena);
    weft_arena_free(b->scratch);
    free(b);
}

static const char *copy_text(weft_arena *a, const char *text)
{
    return text ? weft_arena_word(a, text) : NULL;
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
    to.shape = weft_arena_copy(a, from->shape, sizeof *from->shape);
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

const weft_attr *weft_attrs_copy(const weft_attr *from, int n, weft_arena *a)
{
    weft_attr *to = WEFT_NEW_RAW(a, weft_attr, n);

    for (int i = 0; i < n; i++)
        to[i] = copy_attr(a, &from[i]);
    return to;
}

static weft_node copy_node(weft_arena *a, const weft_node *from)
{
    weft_node to = *from;

    to.name = copy_text(a, from->name);
    to.op = copy_text(a, from->op);
    to.domain = copy_text(a, from->domain);
    to.attr = weft_attrs_copy(from->attr, from->n_attrs, a);
    return to;
}

static bool is_given(weft_tensor_kind kind)
{
    return kind == WEFT_WEIGHT || kind == WEFT_INPUT;
}

/* The tensor that was pushed last is complete. */
static int end_tensor(weft_builder *b)
{
    weft_tensor *t = &b->tensor.at[b->tensor.n - 1];

    t->producer = -1;
    WEFT_PUSH(b->scratch, b->flow, ((flow){is_given(t->kind) ? GIVEN : NOBODY, 0, 0}));
    return b->tensor.n - 1;
}

int weft_builder_tensor(weft_builder *b, const weft_tensor *t)
{
    if (b->shares)
        WEFT_PUSH(b->arena, b->tensor, *t);
    else
        WEFT_PUSH(b->arena, b->tensor, copy_tensor(b->arena, t));
    return end_tensor(b);
}

int weft_builder_tensor_as(weft_builder *b, const weft_tensor *t, const char *name,
                           weft_tensor_kind kind)
{
    weft_tensor *to;

    WEFT_PUSH(b->arena, b->tensor, *t);
    to = &b->tensor.at[b->tensor.n - 1];
    to->name = name;
    to->kind = kind;
    if (kind != WEFT_WEIGHT) {
        to->is_parameter = false;
        to->value = NULL;
    }
    if (!b->shares)
        *to = copy_tensor(b->arena, to);
    return end_tensor(b);
}

bool weft_builder_claim(weft_builder *b, const char *name, size_t n)
{
    bool is_new = n > 0 && weft_map_put(b->names, name, n, 0);

    b->claimed = is_new ? name : b->claimed;
    return is_new;
}

/* Room for n more items, which are counted already. */
static int *more_items(weft_arena *a, ends *e, int n)
{
    int first = e->item.n;

    while (e->item.room < first + n) /* twice as much, and again */
        WEFT_PUSH(a, e->item, -1);
    e->item.n = first + n;
    return e->item.at + first;
}

/* Node u reads a tensor: counted, and looked at whether it is there by now. */
static void note_read(weft_builder *b, int u, int tensor)
{
    flow *f = &b->flow.at[tensor];

    f->n_reads += f->last != u + 1;
    f->last = u + 1;
    b->is_mixed |= f->maker == NOBODY;
}

static void note_result(weft_builder *b, int u, int tensor)
{
    flow *f = &b->flow.at[tensor];

    b->is_mixed = b->is_mixed || f->maker != NOBODY;
    f->maker = b->tensor.at[tensor].producer = u;
}

int weft_builder_node(weft_builder *b, const weft_node *n, const int *args, int n_args,
                      const int *results, int n_results)
{
    int u = b->node.n, *item;
    weft_node *to;

    if (b->shares)
        WEFT_PUSH(b->arena, b->node, *n);
    else
        WEFT_PUSH(b->arena, b->node, copy_node(b->arena, n));
    to = &b->node.at[u];
    if (b->claimed)
        to->name = b->claimed;
    else if (!weft_map_put(b->names, to->name, strlen(to->name), 0) && b->twice == NULL)
        b->twice = to->name;
    b->claimed = NULL;
    item = more_items(b->arena, &b->arg, n_args);
    for (int i = 0; i < n_args; i++) {
        item[i] = args[i];
        if (args[i] >= 0)
            note_read(b, u, args[i]);
    }
    item = more_items(b->arena, &b->res, n_results);
    for (int i = 0; i < n_results; i++) {
        item[i] = results[i];
        if (results[i] >= 0)
            note_result(b, u, results[i]);
    }
    WEFT_PUSH(b->arena, b->arg.from, b->arg.item.n);
    WEFT_PUSH(b->arena, b->res.from, b->res.item.n);
    WEFT_PUSH(b->arena, b->like, u);
    return u;
}

void weft_builder_like(weft_builder *b, int node, int earlier)
{
    b->like.at[node] = b->like.at[earlier];
}

/* Is there room for one more of each, and n_args operands? */
static bool has_room(const weft_builder *b, int n_args)
{
    return b->node.n < b->node.room && b->like.n < b->like.room && b->tensor.n < b->tensor.room &&
           b->flow.n < b->flow.room && b->arg.from.n < b->arg.from.room &&
           b->res.from.n < b->res.from.room && b->res.item.n < b->res.item.room &&
           n_args <= b->arg.item.room - b->arg.item.n;
}

/* Without room: what is added may move, so that the node has to be copied first. */
static int again_slowly(weft_builder *b, const weft_again *a, int n_args)
{
    weft_node node = b->node.at[a->earlier];
    int result = weft_builder_tensor_as(b, a->result, a->result_name, WEFT_ACTIVATION);

    b->claimed = node.name = a->name;
    weft_builder_like(b, weft_builder_node(b, &node, a->args, n_args, &result, 1), a->earlier);
    return result;
}

/* With room nothing moves: writes tensor and node behind the last ones, which changes nothing yet.
 */
static inline void write_again(weft_builder *b, const weft_again *a)
{
    weft_tensor *tensor = &b->tensor.at[b->tensor.n];
    weft_node *node = &b->node.at[b->node.n];

    *tensor = *a->result;
    tensor->name = a->result_name;
    tensor->kind = WEFT_ACTIVATION;
    tensor->is_parameter = false;
    tensor->value = NULL;
    tensor->producer = b->node.n;
    *node = b->node.at[a->earlier];
    node->name = a->name;
}

/* Adds what was written. */
static inline int add_again(weft_builder *b, const weft_again *a, int n_args)
{
    int u = b->node.n++, t = b->tensor.n++, n_items = b->arg.item.n, n_results = b->res.item.n;
    int *item = b->arg.item.at + n_items;

    b->flow.at[b->flow.n++] = (flow){u, 0, 0};
    for (int i = 0; i < n_args; i++) {
        item[i] = a->args[i];
        if (item[i] >= 0)
            note_read(b, u, item[i]);
    }
    b->res.item.at[n_results] = t;
    b->arg.from.at[b->arg.from.n++] = b->arg.item.n = n_items + n_args;
    b->res.from.at[b->res.from.n++] = b->res.item.n = n_results + 1;
    b->like.at[b->like.n++] = b->like.at[a->earlier];
    return t;
}

bool weft_builder_again(weft_builder *b, const weft_again *a, int *result)
{
    int n_args = b->arg.from.at[a->earlier + 1] - b->arg.from.at[a->earlier];
    bool is_quick = b->shares && has_room(b, n_args);
    uint32_t hint = weft_map_hint(b->names, a->name, a->n);

    if (is_quick)
        write_again(b, a);
    if (a->n == 0 || !weft_map_put_hinted(b->names, a->name, a->n, hint, 0))
        return false;
    *result = is_quick ? add_again(b, a, n_args) : again_slowly(b, a, n_args);
    return true;
}

/* Room to mark one more tensor as an output; twice as much as before if that is more. */
static void mark_up_to(weft_builder *b, int tensor)
{
    int n = b->n_marked > tensor / 2 ? 2 * b->n_marked : tensor + 1;
    bool *marks = WEFT_NEW(b->scratch, bool, n);

    if (b->n_marked > 0)
        memcpy(marks, b->is_output, (size_t)b->n_marked * sizeof *marks);
    b->is_output = marks;
    b->n_marked = n;
}

void weft_builder_output(weft_builder *b, int tensor)
{
    if (tensor >= b->n_marked)
        mark_up_to(b, tensor);
    if (b->is_output[tensor])
        return;
    b->is_output[tensor] = true;
    WEFT_PUSH(b->arena, b->output, tensor);
}

const weft_tensor *weft_builder_get(const weft_builder *b, int tensor)
{
    return &b->tensor.at[tensor];
}

/* --- checks ---------------------------------------------------------------------------------- */

static weft_status check_tensor_names(const weft_builder *b, weft_arena *scratch)
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
    return WEFT_OK;
}

static weft_status check_names(const weft_builder *b, weft_arena *scratch)
{
    if (!b->is_unique)
        WEFT_TRY(check_tensor_names(b, scratch));
    if (b->twice)
        return weft_fail(WEFT_E_INPUT, "two nodes have the name '%s'", b->twice);
    return WEFT_OK;
}

static weft_status set_producers(weft_builder *b)
{
    for (int t = 0; t < b->tensor.n; t++)
        b->tensor.at[t].producer = -1;
    for (int u = 0; u < b->node.n; u++)
        for (int i = b->res.from.at[u]; i < b->res.from.at[u + 1]; i++) {
            weft_tensor *t = b->res.item.at[i] < 0 ? NULL : &b->tensor.at[b->res.item.at[i]];

            if (t == NULL)
                continue;
            if (is_given(t->kind))
                return weft_fail(WEFT_E_INPUT, "node '%s' writes '%s', which is a given %s",
                                 b->node.at[u].name, t->name, weft_tensor_kind_name(t->kind));
            if (t->producer >= 0)
                return weft_fail(WEFT_E_INPUT, "tensor '%s' is made by two nodes: '%s' and '%s'",
                                 t->name, b->node.at[t->producer].name, b->node.at[u].name);
            t->producer = u;
        }
    return WEFT_OK;
}

/* *is_sorted: every node comes after the makers of what it reads. */
static weft_status check_reads(const weft_builder *b, bool *is_sorted)
{
    *is_sorted = true;
    for (int u = 0; u < b->node.n; u++)
        for (int i = b->arg.from.at[u]; i < b->arg.from.at[u + 1]; i++) {
            int k = b->arg.item.at[i];
            const weft_tensor *t = k < 0 ? NULL : &b->tensor.at[k];

            if (t && t->producer < 0 && (t->kind == WEFT_ACTIVATION || t->kind == WEFT_OUTPUT))
                return weft_fail(WEFT_E_INPUT, "node '%s' reads '%s', which nothing makes",
                                 b->node.at[u].name, t->name);
            *is_sorted = *is_sorted && (t == NULL || t->producer < u);
        }
    return WEFT_OK;
}

static weft_status check_outputs(const weft_builder *b)
{
    for (int i = 0; i < b->output.n; i++) {
        const weft_tensor *t = &b->tensor.at[b->output.at[i]];

        if (t->producer < 0 && (t->kind == WEFT_ACTIVATION || t->kind == WEFT_OUTPUT))
            return weft_fail(WEFT_E_INPUT, "output '%s' is made by no node", t->name);
    }
    return WEFT_OK;
}

/* --- order ----------------------------------------------------------------------------------- */

/* Readers of each tensor by builder numbers; a node that reads twice stands twice. */
static weft_rows find_readers(const weft_builder *b, weft_arena *scratch)
{
    weft_rows r = weft_rows_by(b->arg.item.at, b->arg.item.n, b->tensor.n, scratch);
    int *reader = WEFT_NEW_RAW(scratch, int, b->arg.item.n);

    for (int u = 0; u < b->node.n; u++)
        for (int i = b->arg.from.at[u]; i < b->arg.from.at[u + 1]; i++)
            reader[i] = u;
    for (int i = 0; i < r.at[b->tensor.n]; i++)
        r.item[i] = reader[r.item[i]];
    return r;
}

/* A node on a cycle, given one that waits for it. A node that waits has a producer that waits too;
 * after as many steps as there are nodes such a walk is on a cycle. */
static int node_on_cycle(const weft_builder *b, const int *waiting, int u)
{
    for (int step = 0; step < b->node.n; step++)
        for (int i = b->arg.from.at[u], end = b->arg.from.at[u + 1]; i < end; i++) {
            int t = b->arg.item.at[i], maker = t < 0 ? -1 : b->tensor.at[t].producer;

            if (maker >= 0 && waiting[maker] > 0) {
                u = maker;
                break;
            }
        }
    return u;
}

/* order[i] = builder number of the i-th node. */
static weft_status sort_nodes(const weft_builder *b, weft_arena *scratch, int *order)
{
    weft_rows r = find_readers(b, scratch);
    int *waiting = WEFT_NEW(scratch, int, b->node.n);
    weft_heap ready = weft_heap_new(scratch, b->node.n + 1);
    int n = 0;

    for (int u = 0; u < b->node.n; u++) {
        for (int i = b->arg.from.at[u]; i < b->arg.from.at[u + 1]; i++)
            if (b->arg.item.at[i] >= 0 && b->tensor.at[b->arg.item.at[i]].producer >= 0)
                waiting[u]++;
        if (waiting[u] == 0)
            weft_heap_push(&ready, u);
    }
    while (ready.n > 0) {
        int u = weft_heap_pop(&ready);

        order[n++] = u;
        for (int i = b->res.from.at[u]; i < b->res.from.at[u + 1]; i++) {
            int t = b->res.item.at[i];

            for (int k = t < 0 ? 0 : r.at[t]; t >= 0 && k < r.at[t + 1]; k++)
                if (--waiting[r.item[k]] == 0)
                    weft_heap_push(&ready, r.item[k]);
        }
    }
    for (int u = 0; u < b->node.n && n < b->node.n; u++)
        if (waiting[u] > 0)
            return weft_fail(WEFT_E_INPUT, "the graph has a cycle through node '%s'",
                             b->node.at[node_on_cycle(b, waiting, u)].name);
    return WEFT_OK;
}

/* Puts the operands, or the results, of nodes into another order. */
static void move_ends(weft_arena *a, const int *order, int n, ends *e)
{
    ends to;

    start_ends(a, &to, n, e->item.n);
    for (int u = 0; u < n; u++) {
        for (int i = e->from.at[order[u]]; i < e->from.at[order[u] + 1]; i++)
            WEFT_PUSH(a, to.item, e->item.at[i]);
        WEFT_PUSH(a, to.from, to.item.n);
    }
    *e = to;
}

/* The first of the nodes with the same work, in the order in which they stand now. */
static void move_likes(weft_builder *b, const int *order, weft_arena *scratch)
{
    int *first = WEFT_NEW(scratch, int, b->node.n); /* of all nodes like u; number + 1 */
    int *like = WEFT_NEW_RAW(b->arena, int, b->node.n);

    for (int u = 0; u < b->node.n; u++) {
        int *it = &first[b->like.at[order[u]]];

        *it = *it ? *it : u + 1;
        like[u] = *it - 1;
    }
    b->like.at = like;
}

/* Sorts the builder's own arrays: afterwards every node comes after the makers of its operands. */
static weft_status reorder(weft_builder *b, weft_arena *scratch)
{
    int *order = WEFT_NEW(scratch, int, b->node.n), *place = WEFT_NEW(scratch, int, b->node.n);
    weft_node *node = WEFT_NEW_RAW(b->arena, weft_node, b->node.n);

    WEFT_TRY(sort_nodes(b, scratch, order));
    for (int u = 0; u < b->node.n; u++)
        place[order[u]] = u;
    for (int u = 0; u < b->node.n; u++) {
        node[u] = b->node.at[order[u]];
        if (node[u].phase == WEFT_BACKWARD && node[u].forward >= 0)
            node[u].forward = place[node[u].forward];
    }
    b->node.at = node;
    move_ends(b->arena, order, b->node.n, &b->arg);
    move_ends(b->arena, order, b->node.n, &b->res);
    move_likes(b, order, scratch);
    for (int t = 0; t < b->tensor.n; t++)
        if (b->tensor.at[t].producer >= 0)
            b->tensor.at[t].producer = place[b->tensor.at[t].producer];
    return WEFT_OK;
}

/* --- freeze ---------------------------------------------------------------------------------- */

/* Weights that nobody reads are left out: the others move up. Also finds out which tensors are
 * inputs, where the readers of each will stand, and how many edges there are. */
static void freeze_tensors(weft_builder *b, int *number, weft_graph *g)
{
    int *use_at = WEFT_NEW_RAW(g->arena, int, b->tensor.n + 1);
    WEFT_VEC(int) input = {0};
    int n = 0, n_uses = 0;

    for (int t = 0; t < b->tensor.n; t++) {
        const weft_tensor *x = &b->tensor.at[t];
        int n_reads = b->flow.at[t].n_reads;

        number[t] = -1;
        if (x->kind == WEFT_WEIGHT && n_reads == 0)
            continue;
        if (x->kind == WEFT_INPUT)
            WEFT_PUSH(g->arena, input, n);
        g->n_edges += x->producer >= 0 ? n_reads : 0;
        use_at[n] = n_uses;
        b->flow.at[n] = (flow){x->producer, n_uses, 0};
        n_uses += n_reads;
        if (n < t)
            b->tensor.at[n] = *x;
        number[t] = n++;
    }
    use_at[n] = n_uses;
    g->n_tensors = n;
    g->tensor = b->tensor.at;
    g->n_inputs = input.n;
    g->input = input.at;
    g->use_at = use_at;
}

static void freeze_outputs(const weft_builder *b, const int *number, weft_graph *g)
{
    weft_tensor *tensor = (weft_tensor *)(uintptr_t)g->tensor; /* made here, const to others */
    int *output = WEFT_NEW(g->arena, int, b->output.n);

    for (int i = 0; i < b->output.n; i++) {
        int t = number[b->output.at[i]];

        if (t < 0) /* a constant nobody reads */
            continue;
        output[g->n_outputs++] = t;
        if (tensor[t].kind == WEFT_ACTIVATION)
            tensor[t].kind = WEFT_OUTPUT;
    }
    g->output = output;
}

static void renumber(ends *e, const int *number)
{
    for (int i = 0; i < e->item.n; i++)
        if (e->item.at[i] >= 0)
            e->item.at[i] = number[e->item.at[i]];
}

static void freeze_nodes(weft_builder *b, const int *number, weft_graph *g)
{
    if (g->n_tensors < b->tensor.n) {
        renumber(&b->arg, number);
        renumber(&b->res, number);
    }
    g->n_nodes = b->node.n;
    g->node = b->node.at;
    g->like = b->like.at;
    g->arg_at = b->arg.from.at;
    g->arg = b->arg.item.at;
    g->res_at = b->res.from.at;
    g->res = b->res.item.at;
}

/* One direction of the edges. Each node has few: insertion keeps them sorted by their other end. */
typedef struct side {
    int *at, *to;
    int n;
} side;

static side new_side(const weft_graph *g)
{
    side s = {WEFT_NEW_RAW(g->arena, int, g->n_nodes + 1),
              WEFT_NEW_RAW(g->arena, int, g->n_edges + 1), 0};

    s.at[0] = 0;
    return s;
}

enum { FEW_EDGES = 64 };

static void insert_edge(side *s, int first, int to)
{
    int i = s->n++;
    bool is_sorted = i - first < FEW_EDGES; /* beyond, all are sorted in the end */

    for (; is_sorted && i > first && s->to[i - 1] > to; i--)
        s->to[i] = s->to[i - 1];
    s->to[i] = to;
}

static void end_edges(side *s, int u, int first)
{
    s->at[u + 1] = s->n;
    if (s->n - first > FEW_EDGES) /* insertion into a long list would take n * n / 4 steps */
        weft_sort_ints(s->to + first, s->n - first);
}

/* Edges to the readers of t, which are ascending. */
static void add_readers(const weft_graph *g, int t, side *s)
{
    int n = s->n;

    for (int k = g->use_at[t], end = g->use_at[t + 1]; k < end; k++)
        s->to[n++] = g->use[k];
    s->n = n;
}

static void leaving_edges(const weft_graph *g, int u, side *s)
{
    int first = s->n, n_results = g->res_at[u + 1] - g->res_at[u];

    if (n_results == 1 && g->res[g->res_at[u]] >= 0) {
        add_readers(g, g->res[g->res_at[u]], s);
        s->at[u + 1] = s->n;
        return;
    }
    for (int i = g->res_at[u], n = g->res_at[u + 1]; i < n; i++) {
        int t = g->res[i], end = t < 0 ? 0 : g->use_at[t + 1];

        for (int k = t < 0 ? 0 : g->use_at[t]; k < end; k++)
            insert_edge(s, first, g->use[k]);
    }
    end_edges(s, u, first);
}

/* Edges into u, which becomes a reader of its operands, of each once. */
static void entering_edges(const weft_graph *g, int u, flow *f, int *use, side *s)
{
    int first = s->n;

    for (int i = g->arg_at[u], n = g->arg_at[u + 1]; i < n; i++) {
        int t = g->arg[i];

        if (t < 0 || f[t].last == u + 1)
            continue;
        f[t].last = u + 1;
        use[f[t].n_reads++] = u;
        if (f[t].maker >= 0)
            insert_edge(s, first, f[t].maker);
    }
    end_edges(s, u, first);
}

/* Readers are ascending because nodes are visited in order. */
static void freeze_edges(const weft_builder *b, weft_graph *g)
{
    int *use = WEFT_NEW_RAW(g->arena, int, g->use_at[g->n_tensors] + 1);
    side out = new_side(g), in = new_side(g);

    g->use = use;
    for (int u = 0; u < g->n_nodes; u++)
        entering_edges(g, u, b->flow.at, use, &in);
    for (int u = 0; u < g->n_nodes; u++)
        leaving_edges(g, u, &out);
    g->out_at = out.at;
    g->out_to = out.to;
    g->in_at = in.at;
    g->in_from = in.to;
}

/* Everything there is, made once, and nodes in topological order. */
static weft_status settle(weft_builder *b, weft_arena *scratch)
{
    bool is_sorted = true;

    if (b->is_mixed) {
        WEFT_TRY(set_producers(b));
        WEFT_TRY(check_reads(b, &is_sorted));
    }
    WEFT_TRY(check_outputs(b));
    return is_sorted ? WEFT_OK : reorder(b, scratch);
}

static weft_status finish(weft_builder *b, weft_arena *scratch, weft_graph **out)
{
    int *number = WEFT_NEW_RAW(scratch, int, b->tensor.n);
    weft_graph *g;

    if (b->node.n == 0)
        return weft_fail(WEFT_E_INPUT, "the graph has no nodes");
    WEFT_TRY(check_names(b, scratch));
    WEFT_TRY(settle(b, scratch));
    g = WEFT_NEW(b->arena, weft_graph, 1);
    g->arena = b->arena;
    g->name = b->name;
    freeze_tensors(b, number, g);
    freeze_outputs(b, number, g);
    freeze_nodes(b, number, g);
    freeze_edges(b, g);
    b->arena = NULL;
    *out = g;
    return WEFT_OK;
}

weft_status weft_builder_finish(weft_builder *b, weft_graph **out)
{
    size_t mark = weft_arena_mark(b->scratch);
    weft_status status = finish(b, b->scratch, out);

    weft_arena_rewind(b->scratch, mark);
    return status;
}
