/* SPDX-License-Identifier: MIT */
/* out_onnx.c: what a page shows of each node, as notes for a copy of the ONNX file.
 *
 * Keys: weft.device (of sharded networks weft.set, of training weft.stage), weft.start, weft.time,
 * weft.note; of the model weft.plan, weft.goal, weft.platform and one for each card of the summary.
 * Values are texts with units, for people: programs read `weft report --json`. A time that several
 * nodes share says so. */
#include "fields.h"

#include <math.h>
#include <string.h>

typedef struct noting {
    const weft_doc *device, *seconds, *start, *note, *of; /* lists, or null */
    const char *key;                                      /* of what a node runs on */
    int *n_nodes; /* [nodes of the page] that belong to it */
    weft_arena *a;
    WEFT_VEC(weft_note) notes;
} noting;

static const weft_doc *item(const weft_doc *list, int i)
{
    const weft_doc *d =
        list != NULL && list->kind == WEFT_DOC_LIST && i >= 0 && i < list->n ? list->item[i] : NULL;

    return d != NULL && d->kind != WEFT_DOC_NULL ? d : NULL;
}

static const char *text_of(const weft_doc *d)
{
    return d != NULL && d->kind == WEFT_DOC_TEXT && *d->text ? d->text : NULL;
}

static void put(noting *t, const char *key, const char *value)
{
    const char *whole = weft_arena_print(t->a, WEFT_NOTE_PREFIX "%s", key);

    if (value != NULL)
        WEFT_PUSH(t->a, t->notes, ((weft_note){whole, value}));
}

static const char *seconds_text(noting *t, const weft_doc *d)
{
    char text[48];

    if (d == NULL)
        return NULL;
    weft_print_seconds(d->real, text);
    return weft_arena_word(t->a, text);
}

/* Notes of the node v of the page. */
static void put_node(noting *t, int v)
{
    const weft_doc *device = item(t->of, v);
    const char *time = seconds_text(t, item(t->seconds, v));
    int others = t->n_nodes[v] - 1;

    put(t, t->key, device ? text_of(item(t->device, (int)device->integer)) : NULL);
    put(t, "start", seconds_text(t, item(t->start, v)));
    if (time != NULL && others > 0)
        time = weft_arena_print(t->a, "%s, with %d other node%s", time, others,
                                others == 1 ? "" : "s");
    put(t, "time", time);
    put(t, "note", text_of(item(t->note, v)));
}

static void put_model(noting *t, const weft_doc *page)
{
    const weft_doc *facts = weft_doc_get(page, "facts");
    const weft_doc *result = weft_doc_get(page, "result");

    put(t, "plan", text_of(weft_doc_get(page, "title")));
    put(t, "goal", text_of(weft_doc_get(page, "subtitle")));
    if (result != NULL && result->kind == WEFT_DOC_MAP)
        put(t, "platform", text_of(weft_doc_get(result, "platform")));
    for (int i = 0; facts != NULL && i < facts->n; i++) {
        const char *key = text_of(weft_doc_get(facts->item[i], "key"));
        const char *text = text_of(weft_doc_get(facts->item[i], "text"));
        const char *note = text_of(weft_doc_get(facts->item[i], "note"));

        if (key != NULL && text != NULL)
            put(t, key, note ? weft_arena_print(t->a, "%s (%s)", text, note) : text);
    }
}

/* The first result of a node, or NULL. */
static const char *result_of(const weft_graph *g, int u)
{
    for (int i = g->res_at[u]; i < g->res_at[u + 1]; i++)
        if (g->res[i] >= 0)
            return g->tensor[g->res[i]].name;
    return NULL;
}

static noting begin(const weft_doc *page, const weft_doc *graph, weft_arena *a)
{
    const weft_doc *nodes = weft_doc_get(graph, "nodes");
    const char *kind = text_of(weft_doc_get(page, "kind"));
    bool is_shard = kind && strcmp(kind, "shard") == 0,
         is_train = kind && strcmp(kind, "train") == 0;
    noting t = {.device = weft_doc_get(graph, "devices"),
                .of = weft_doc_get(nodes, "device"),
                .seconds = weft_doc_get(nodes, "seconds"),
                .start = weft_doc_get(nodes, "start"),
                .note = weft_doc_get(nodes, "note"),
                .key = is_shard   ? "set"
                       : is_train ? "stage"
                                  : "device",
                .a = a};

    t.n_nodes = WEFT_NEW(a, int, t.of->n + 1);
    return t;
}

const weft_notes *weft_page_notes(const weft_doc *page, const weft_graph *g, const int *part,
                                  weft_arena *a)
{
    const weft_doc *graph = weft_doc_get(page, "graph");
    const char **result = WEFT_NEW(a, const char *, g->n_nodes), **op;
    weft_notes *out = WEFT_NEW(a, weft_notes, 1);
    int *at = WEFT_NEW(a, int, g->n_nodes + 1);
    noting t;

    if (graph == NULL || graph->kind != WEFT_DOC_MAP)
        return NULL;
    t = begin(page, graph, a);
    op = WEFT_NEW(a, const char *, g->n_nodes);
    for (int u = 0; u < g->n_nodes; u++)
        if (part[u] >= 0 && part[u] < t.of->n)
            t.n_nodes[part[u]]++;
    for (int u = 0; u < g->n_nodes; u++) {
        if (part[u] < 0 || part[u] >= t.of->n || result_of(g, u) == NULL)
            continue;
        result[out->n_nodes] = result_of(g, u);
        op[out->n_nodes++] = g->node[u].op;
        put_node(&t, part[u]);
        at[out->n_nodes] = t.notes.n;
    }
    put_model(&t, page);
    out->result = result;
    out->op = op;
    out->note_at = at;
    out->note = t.notes.at;
    out->model = t.notes.at + at[out->n_nodes];
    out->n_model = t.notes.n - at[out->n_nodes];
    return out;
}
