/* SPDX-License-Identifier: MIT */
/* piper_read.c: reader of Piper's JSON.
 *
 * 1. Nodes: "id", "name", "TMPCs": tensor width -> list of modes. Edges: "sourceId", "destId",
 *    "communicationCost". Limits: "maxDevices", "maxMemoryPerDevice", "bandwidth", "mbsInBatch".
 * 2. Nodes are renumbered in topological order, the lowest place in the file first.
 * 3. Each mode takes its "syncTimeFw" by predecessor and its "syncTimeBw" by successor.
 *
 * Bytes of memory become whole numbers (rounded up) whose sum stays below 2^53, so that sums of
 * memory are exact whatever their order. Keys the planner does not use are ignored: the public
 * files carry some. Time O(nodes (nodes + edges)), from the linear look-up of keys. */
#include "order.h"
#include "piper_parts.h"
#include "rows.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_NODES = 4096,
    MOST_EDGES = 65536,
    MOST_WIDTHS = 64,
    MOST_DEVICES = WEFT_PIPER_MOST_DEVICES,
    MOST_WIDTH = 1000000
};
static const double most_bytes = WEFT_PIPER_MOST_BYTES;
static const double most_figure = 1e30; /* products of a few stay finite */

typedef struct reader {
    weft_piper *p;
    weft_arena *a;
    const weft_doc *nodes, *edges;
    weft_map *place;         /* id as text -> place in the file */
    int *number;             /* [n_nodes] place in the file -> number of the node */
    const weft_doc **node;   /* [n_nodes] by number */
    double memory_sum_bytes; /* of all modes */
} reader;

/* --- nodes and edges ------------------------------------------------------------------------- */

static weft_status read_ids(reader *r)
{
    weft_piper *p = r->p;
    int64_t *id = WEFT_NEW(r->a, int64_t, p->n_nodes);

    r->place = weft_map_new(r->a);
    for (int i = 0; i < p->n_nodes; i++) {
        const weft_doc *node = r->nodes->item[i];

        if (node->kind != WEFT_DOC_MAP)
            return weft_doc_fail(node, "a node is %s, must be a map",
                                 weft_doc_kind_name(node->kind));
        WEFT_TRY(weft_doc_int(node, "id", INT64_MIN, INT64_MAX, &id[i]));
        const char *text = weft_arena_print(r->a, "%lld", (long long)id[i]);
        if (!weft_map_put(r->place, text, strlen(text), i))
            return weft_doc_fail(node, "two nodes have id %s", text);
    }
    p->id = id; /* by place; read_order sorts it by number */
    return WEFT_OK;
}

static weft_status read_end(const reader *r, const weft_doc *edge, const char *key, int *out)
{
    int64_t id;
    char text[32];

    WEFT_TRY(weft_doc_int(edge, key, INT64_MIN, INT64_MAX, &id));
    snprintf(text, sizeof text, "%lld", (long long)id);
    *out = weft_map_get(r->place, text, strlen(text));
    if (*out < 0)
        return weft_doc_fail(edge, "%s is %s, but no node has this id", key, text);
    return WEFT_OK;
}

static weft_status read_edges(reader *r)
{
    weft_piper *p = r->p;
    int *from = WEFT_NEW(r->a, int, p->n_edges), *to = WEFT_NEW(r->a, int, p->n_edges);
    double *bytes = WEFT_NEW(r->a, double, p->n_edges);

    for (int e = 0; e < p->n_edges; e++) {
        const weft_doc *edge = r->edges->item[e];

        if (edge->kind != WEFT_DOC_MAP)
            return weft_doc_fail(edge, "an edge is %s, must be a map",
                                 weft_doc_kind_name(edge->kind));
        WEFT_TRY(read_end(r, edge, "sourceId", &from[e]));
        WEFT_TRY(read_end(r, edge, "destId", &to[e]));
        WEFT_TRY(weft_doc_real(edge, "communicationCost", 0, most_figure, &bytes[e]));
    }
    p->edge_from = from;
    p->edge_to = to;
    p->edge_bytes = bytes;
    return WEFT_OK;
}

/* Numbers the nodes: always the lowest place whose predecessors all have numbers. */
static weft_status number_nodes(reader *r)
{
    const weft_piper *p = r->p;
    int *n_left = WEFT_NEW(r->a, int, p->n_nodes);

    r->number = WEFT_NEW(r->a, int, p->n_nodes);
    for (int e = 0; e < p->n_edges; e++)
        n_left[p->edge_to[e]]++;
    for (int i = 0; i < p->n_nodes; i++)
        r->number[i] = -1;
    for (int u = 0; u < p->n_nodes; u++) {
        int i = 0;

        while (i < p->n_nodes && (r->number[i] >= 0 || n_left[i] > 0))
            i++;
        if (i == p->n_nodes)
            return weft_doc_fail(r->edges, "the edges form a cycle");
        r->number[i] = u;
        for (int e = 0; e < p->n_edges; e++)
            n_left[p->edge_to[e]] -= p->edge_from[e] == i;
    }
    return WEFT_OK;
}

static weft_status read_order(reader *r)
{
    weft_piper *p = r->p;
    int64_t *id = WEFT_NEW(r->a, int64_t, p->n_nodes);
    const char **name = WEFT_NEW(r->a, const char *, p->n_nodes);
    int *from = WEFT_NEW(r->a, int, p->n_edges), *to = WEFT_NEW(r->a, int, p->n_edges);
    weft_rows in, out;

    WEFT_TRY(number_nodes(r));
    r->node = WEFT_NEW(r->a, const weft_doc *, p->n_nodes);
    for (int i = 0; i < p->n_nodes; i++) {
        int u = r->number[i];

        r->node[u] = r->nodes->item[i];
        id[u] = p->id[i];
        WEFT_TRY(weft_doc_text(r->node[u], "name", &name[u]));
    }
    for (int e = 0; e < p->n_edges; e++) {
        from[e] = r->number[p->edge_from[e]];
        to[e] = r->number[p->edge_to[e]];
    }
    p->id = id;
    p->name = name;
    p->edge_from = from;
    p->edge_to = to;
    in = weft_rows_by(to, p->n_edges, p->n_nodes, r->a);
    p->in_at = in.at;
    p->in_edge = in.item;
    out = weft_rows_by(from, p->n_edges, p->n_nodes, r->a);
    p->out_at = out.at;
    p->out_edge = out.item;
    return WEFT_OK;
}

/* --- modes ----------------------------------------------------------------------------------- */

static weft_status width_of(const weft_doc *widths, int i, int *out)
{
    char *end;
    long value = strtol(widths->key[i], &end, 10);

    if (widths->key[i][0] < '1' || widths->key[i][0] > '9' || *end != '\0' || value > MOST_WIDTH)
        return weft_doc_fail(widths, "tensor width '%s' is no whole number from 1 to %d",
                             widths->key[i], MOST_WIDTH);
    if (widths->item[i]->kind != WEFT_DOC_LIST)
        return weft_doc_fail(widths, "tensor width %ld is %s, must be a list", value,
                             weft_doc_kind_name(widths->item[i]->kind));
    *out = (int)value;
    return WEFT_OK;
}

/* All widths of all nodes, ascending. */
static weft_status read_widths(reader *r)
{
    WEFT_VEC(int) all = {0};
    int n = 0;

    for (int u = 0; u < r->p->n_nodes; u++) {
        const weft_doc *widths;

        WEFT_TRY(weft_doc_need(r->node[u], "TMPCs", WEFT_DOC_MAP, &widths));
        for (int i = 0; i < widths->n; i++) {
            int width = 0;

            WEFT_TRY(width_of(widths, i, &width));
            WEFT_PUSH(r->a, all, width);
        }
    }
    if (all.n == 0)
        return weft_doc_fail(r->nodes, "no node has a mode in TMPCs");
    qsort(all.at, (size_t)all.n, sizeof *all.at, weft_by_int);
    for (int i = 0; i < all.n; i++)
        if (i == 0 || all.at[i] != all.at[n - 1])
            all.at[n++] = all.at[i];
    if (n > MOST_WIDTHS)
        return weft_doc_fail(r->nodes, "%d tensor widths, must be at most %d", n, MOST_WIDTHS);
    r->p->n_widths = n;
    r->p->width = all.at;
    return WEFT_OK;
}

/* What a mode adds to the edges of a node, by the id of their other ends. */
static weft_status read_sync(const reader *r, const weft_doc *mode, const char *key,
                             const int *edge, int n, const int *other, const double **out)
{
    double *bytes = WEFT_NEW(r->a, double, n);
    const weft_doc *by_id;

    WEFT_TRY(weft_doc_need(mode, key, WEFT_DOC_MAP, &by_id));
    for (int k = 0; k < n; k++) {
        char id[32];

        snprintf(id, sizeof id, "%lld", (long long)r->p->id[other[edge[k]]]);
        if (weft_doc_get(by_id, id) == NULL)
            return weft_doc_fail(mode, "%s has no entry for node %s", key, id);
        WEFT_TRY(weft_doc_real(by_id, id, 0, most_figure, &bytes[k]));
    }
    *out = bytes;
    return WEFT_OK;
}

static weft_status read_mode(reader *r, int u, const weft_doc *mode, weft_piper_mode *out)
{
    const weft_piper *p = r->p;

    if (mode->kind != WEFT_DOC_MAP)
        return weft_doc_fail(mode, "a mode of node '%s' is %s, must be a map", p->name[u],
                             weft_doc_kind_name(mode->kind));
    WEFT_TRY(weft_doc_text(mode, "id", &out->name));
    WEFT_TRY(weft_doc_real(mode, "timePerSample", 0, most_figure, &out->sample_s));
    WEFT_TRY(weft_doc_real(mode, "parameterSize", 0, most_figure, &out->parameter_bytes));
    WEFT_TRY(weft_doc_real(mode, "memoryUsageA", 0, most_bytes, &out->stash_bytes));
    WEFT_TRY(weft_doc_real(mode, "memoryUsageB", 0, most_bytes, &out->state_bytes));
    out->stash_bytes = ceil(out->stash_bytes);
    out->state_bytes = ceil(out->state_bytes);
    r->memory_sum_bytes += out->stash_bytes + out->state_bytes;
    if (!(r->memory_sum_bytes < most_bytes))
        return weft_doc_fail(mode, "the memory of all modes adds up to more than 2^53 bytes");
    WEFT_TRY(read_sync(r, mode, "syncTimeFw", p->in_edge + p->in_at[u],
                       p->in_at[u + 1] - p->in_at[u], p->edge_from, &out->enter_bytes));
    return read_sync(r, mode, "syncTimeBw", p->out_edge + p->out_at[u],
                     p->out_at[u + 1] - p->out_at[u], p->edge_to, &out->leave_bytes);
}

static weft_status read_modes(reader *r)
{
    weft_piper *p = r->p;
    int *at = WEFT_NEW(r->a, int, p->n_nodes * p->n_widths + 1);
    WEFT_VEC(weft_piper_mode) modes = {0};

    for (int u = 0; u < p->n_nodes; u++) {
        const weft_doc *widths = weft_doc_get(r->node[u], "TMPCs");

        for (int w = 0; w < p->n_widths; w++) {
            char key[32];
            snprintf(key, sizeof key, "%d", p->width[w]);
            const weft_doc *list = weft_doc_get(widths, key);

            for (int i = 0; list != NULL && i < list->n; i++) {
                weft_piper_mode mode = {0};

                WEFT_TRY(read_mode(r, u, list->item[i], &mode));
                WEFT_PUSH(r->a, modes, mode);
            }
            at[u * p->n_widths + w + 1] = modes.n;
        }
        if (at[u * p->n_widths] == modes.n)
            return weft_doc_fail(r->node[u], "node '%s' has no mode in TMPCs", p->name[u]);
    }
    p->mode_at = at;
    p->mode = modes.at;
    return WEFT_OK;
}

/* --- limits, and all of it ------------------------------------------------------------------- */

static weft_status read_limits(const weft_doc *root, const weft_piper_limits *over, weft_piper *p)
{
    int64_t n_devices, n_microbatches;

    WEFT_TRY(weft_doc_int(root, "maxDevices", 1, MOST_DEVICES, &n_devices));
    WEFT_TRY(weft_doc_int(root, "mbsInBatch", 1, INT_MAX / 2, &n_microbatches));
    WEFT_TRY(weft_doc_real(root, "maxMemoryPerDevice", 0, most_bytes, &p->memory_bytes));
    WEFT_TRY(
        weft_doc_real(root, "bandwidth", 1 / most_figure, most_figure, &p->bandwidth_bytes_per_s));
    p->n_devices = (int)n_devices;
    p->n_microbatches = (int)n_microbatches;
    if (over == NULL)
        return WEFT_OK;
    if (over->n_devices < 0 || over->n_devices > MOST_DEVICES)
        return weft_fail(WEFT_E_INPUT, "%d devices, must be 1 to %d", over->n_devices,
                         MOST_DEVICES);
    if (over->n_microbatches < 0 || over->n_microbatches > INT_MAX / 2)
        return weft_fail(WEFT_E_INPUT, "%d microbatches, must be 1 to %d", over->n_microbatches,
                         INT_MAX / 2);
    if (!(over->memory_bytes >= 0 && over->memory_bytes <= most_bytes))
        return weft_fail(WEFT_E_INPUT, "%g bytes of memory, must be above 0 and at most 2^53",
                         over->memory_bytes);
    if (!(over->bandwidth_bytes_per_s >= 0 && over->bandwidth_bytes_per_s <= most_figure))
        return weft_fail(WEFT_E_INPUT, "a bandwidth of %g bytes per second, must be above 0",
                         over->bandwidth_bytes_per_s);
    p->n_devices = over->n_devices > 0 ? over->n_devices : p->n_devices;
    p->n_microbatches = over->n_microbatches > 0 ? over->n_microbatches : p->n_microbatches;
    p->memory_bytes = over->memory_bytes > 0 ? over->memory_bytes : p->memory_bytes;
    if (over->bandwidth_bytes_per_s > 0)
        p->bandwidth_bytes_per_s = over->bandwidth_bytes_per_s;
    return WEFT_OK;
}

static weft_status read_root(const weft_doc *root, const weft_piper_limits *limits, reader *r)
{
    if (root->kind != WEFT_DOC_MAP)
        return weft_doc_fail(root, "the file is %s, must be a map", weft_doc_kind_name(root->kind));
    WEFT_TRY(read_limits(root, limits, r->p));
    WEFT_TRY(weft_doc_need(root, "nodes", WEFT_DOC_LIST, &r->nodes));
    WEFT_TRY(weft_doc_need(root, "edges", WEFT_DOC_LIST, &r->edges));
    if (r->nodes->n < 1 || r->nodes->n > MOST_NODES)
        return weft_doc_fail(r->nodes, "%d nodes, must be 1 to %d", r->nodes->n, MOST_NODES);
    if (r->edges->n > MOST_EDGES)
        return weft_doc_fail(r->edges, "%d edges, must be at most %d", r->edges->n, MOST_EDGES);
    r->p->n_nodes = r->nodes->n;
    r->p->n_edges = r->edges->n;
    WEFT_TRY(read_ids(r));
    WEFT_TRY(read_edges(r));
    WEFT_TRY(read_order(r));
    WEFT_TRY(read_widths(r));
    return read_modes(r);
}

/* Makes the object of a document that lives in the same arena. */
static weft_status finish(weft_status status, const weft_doc *root, const weft_piper_limits *limits,
                          weft_arena *a, weft_piper **out)
{
    reader r = {.a = a};

    if (status == WEFT_OK) {
        r.p = WEFT_NEW(a, weft_piper, 1);
        r.p->arena = a;
        status = read_root(root, limits, &r);
    }
    if (status != WEFT_OK) {
        weft_arena_free(a);
        return status;
    }
    *out = r.p;
    return WEFT_OK;
}

weft_status weft_piper_read(const char *path, const weft_piper_limits *limits, weft_piper **out)
{
    weft_arena *a = weft_arena_new();
    const weft_doc *root = NULL;
    weft_status status = weft_doc_read(path, a, &root);

    return finish(status, root, limits, a, out);
}

weft_status weft_piper_parse(const char *text, size_t n, const char *file,
                             const weft_piper_limits *limits, weft_piper **out)
{
    weft_arena *a = weft_arena_new();
    const weft_doc *root = NULL;
    weft_status status = weft_doc_parse(text, n, file, a, &root);

    return finish(status, root, limits, a, out);
}

void weft_piper_free(weft_piper *p)
{
    if (p != NULL)
        weft_arena_free(p->arena);
}
