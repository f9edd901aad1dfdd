/* SPDX-License-Identifier: MIT */
/* graph_text.c: the one-line notation of task graphs, for tests and small experiments.
 *
 *   graph = node* ";" edge*
 *   node  = name [":" flops]
 *   edge  = name (">" name ("," name)* [":" bytes])+
 *
 * "a>b,c:8" is one tensor of 8 bytes read by b and c; in "a>b,c>d" both b and c have an edge to d.
 */
#include "graph_text.h"
#include "scan.h"

#include <string.h>

typedef WEFT_VEC(int) int_list;

typedef struct task {
    weft_node node;
    int_list args, results;
} task;

typedef struct parser {
    weft_scan scan;
    weft_arena *arena;
    weft_builder *builder;
    weft_map *names, *tensors;
    int n_copies; /* of tensors with equal ends, numbered to keep names apart */
    WEFT_VEC(task) task;
} parser;

static weft_status parse_node(parser *p)
{
    const char *name;
    size_t n;
    task t = {
        .node = {.op = "Task", .domain = "weft", .opset = 1, .forward = -1, .wrt = -1}
    };

    WEFT_TRY(weft_scan_name(&p->scan, &name, &n));
    t.node.name = weft_arena_text(p->arena, name, n);
    t.node.has_body = true;
    if (weft_scan_mark(&p->scan, ':'))
        WEFT_TRY(weft_scan_count(&p->scan, &t.node.body.flops));
    if (!weft_map_put(p->names, t.node.name, n, p->task.n))
        return weft_fail(WEFT_E_INPUT, "graph: two nodes have the name '%s'", t.node.name);
    WEFT_PUSH(p->arena, p->task, t);
    return WEFT_OK;
}

static weft_status suggest(const parser *p, const char *name)
{
    const char **known = WEFT_NEW(p->arena, const char *, p->task.n);
    const char *near;

    for (int i = 0; i < p->task.n; i++)
        known[i] = p->task.at[i].node.name;
    near = weft_nearest(name, known, p->task.n);
    if (near)
        return weft_fail(WEFT_E_INPUT, "graph: no node is called '%s' (did you mean '%s'?)", name,
                         near);
    return weft_fail(WEFT_E_INPUT, "graph: no node is called '%s'", name);
}

/* The nodes "b,c,d" at the scanner. */
static weft_status parse_names(parser *p, int_list *out)
{
    out->n = 0;
    do {
        const char *name;
        size_t n;
        int u;

        WEFT_TRY(weft_scan_name(&p->scan, &name, &n));
        u = weft_map_get(p->names, name, n);
        if (u < 0)
            return suggest(p, weft_arena_text(p->arena, name, n));
        WEFT_PUSH(p->arena, *out, u);
    } while (weft_scan_mark(&p->scan, ','));
    return WEFT_OK;
}

static const char *tensor_name(parser *p, int from, const int_list *to)
{
    const char *base = weft_arena_print(p->arena, "%s>%s", p->task.at[from].node.name,
                                        p->task.at[to->at[0]].node.name);
    const char *name;

    if (to->n > 1)
        base = weft_arena_print(p->arena, "%s,+%d", base, to->n - 1);
    name = base;
    while (!weft_map_put(p->tensors, name, strlen(name), 0))
        name = weft_arena_print(p->arena, "%s#%d", base, ++p->n_copies);
    return name;
}

static void add_tensor(parser *p, int from, const int_list *to, int64_t bytes)
{
    weft_shape shape = {1, {bytes}};
    weft_tensor t = {.name = tensor_name(p, from, to),
                     .type = WEFT_U8,
                     .kind = WEFT_ACTIVATION,
                     .shape = &shape,
                     .elements = bytes,
                     .bytes = bytes};
    int number = weft_builder_tensor(p->builder, &t);

    WEFT_PUSH(p->arena, p->task.at[from].results, number);
    for (int i = 0; i < to->n; i++)
        WEFT_PUSH(p->arena, p->task.at[to->at[i]].args, number);
}

static weft_status parse_edge(parser *p)
{
    int_list from = {0}, to = {0};

    WEFT_TRY(parse_names(p, &from));
    if (!weft_scan_mark(&p->scan, '>'))
        return weft_scan_fail(&p->scan, "'>'");
    do {
        int64_t bytes = 0;

        WEFT_TRY(parse_names(p, &to));
        if (weft_scan_mark(&p->scan, ':'))
            WEFT_TRY(weft_scan_count(&p->scan, &bytes));
        for (int i = 0; i < from.n; i++)
            add_tensor(p, from.at[i], &to, bytes);
        from = to;
        to = (int_list){0};
    } while (weft_scan_mark(&p->scan, '>'));
    return WEFT_OK;
}

static weft_status parse(parser *p, weft_graph **out)
{
    while (!weft_scan_end(&p->scan) && !weft_scan_mark(&p->scan, ';'))
        WEFT_TRY(parse_node(p));
    while (!weft_scan_end(&p->scan))
        WEFT_TRY(parse_edge(p));
    for (int u = 0; u < p->task.n; u++) {
        const task *t = &p->task.at[u];

        (void)weft_builder_node(p->builder, &t->node, t->args.at, t->args.n, t->results.at,
                                t->results.n);
    }
    return weft_builder_finish(p->builder, out);
}

weft_status weft_graph_parse(const char *text, weft_graph **out)
{
    weft_arena *a = weft_arena_new();
    parser p = {
        .scan = {text, text, "graph"},
          .arena = a
    };
    weft_status status;

    p.builder = weft_builder_new("graph");
    p.names = weft_map_new(a);
    p.tensors = weft_map_new(a);
    status = parse(&p, out);
    weft_builder_free(p.builder);
    weft_arena_free(a);
    return status;
}

const char *weft_graph_text(const weft_graph *g, weft_arena *a)
{
    weft_arena *scratch = weft_arena_new();
    WEFT_VEC(const char *) part = {0};
    size_t length = 1;
    char *text, *at;

    for (int u = 0; u < g->n_nodes; u++)
        WEFT_PUSH(scratch, part,
                  weft_arena_print(scratch, "%s%s:%lld", u ? " " : "", g->node[u].name,
                                   (long long)g->node[u].body.flops));
    WEFT_PUSH(scratch, part, ";");
    for (int t = 0; t < g->n_tensors; t++) {
        const weft_tensor *x = &g->tensor[t];

        if (x->producer < 0 || g->use_at[t + 1] == g->use_at[t])
            continue;
        WEFT_PUSH(scratch, part, weft_arena_print(scratch, " %s", g->node[x->producer].name));
        for (int k = g->use_at[t]; k < g->use_at[t + 1]; k++)
            WEFT_PUSH(scratch, part,
                      weft_arena_print(scratch, "%c%s", k == g->use_at[t] ? '>' : ',',
                                       g->node[g->use[k]].name));
        if (x->bytes > 0)
            WEFT_PUSH(scratch, part, weft_arena_print(scratch, ":%lld", (long long)x->bytes));
    }
    for (int i = 0; i < part.n; i++)
        length += strlen(part.at[i]);
    text = at = weft_arena_alloc(a, length);
    for (int i = 0; i < part.n; i++) {
        size_t n = strlen(part.at[i]);

        memcpy(at, part.at[i], n);
        at += n;
    }
    weft_arena_free(scratch);
    return text;
}
