/* SPDX-License-Identifier: MIT */
/* serve_read.c: problems of serving from files: weft.serving/1, and the JSON of Helix's instances,
 * which has no schema and whose nodes have no names (docs/formats.md).
 *
 * `count` repeats a node under the names NAME-0, NAME-1, ...; ends of links are names, numbers of
 * nodes from 0, "source", "sink", or "all": every node. Entries with "all" come first, whatever
 * their place; an entry for single ends takes the place of them, and two of these are an error. */
#include "serve_problem.h"

#include <string.h>

/* Numbers of files end here, so that sums of them stay finite. */
#define LARGEST 1e15

enum { ALL = -1, MOST_COUNT = WEFT_SERVE_MOST_NODES };

typedef struct reader {
    weft_arena *a;
    weft_map *names;
    WEFT_VEC(const char *) name;
    WEFT_VEC(int) most;
    WEFT_VEC(const double *) rate;
    int64_t n_layers;
    double *link;
    bool *is_set; /* [ends * ends] by an entry of its own */
} reader;

/* --- nodes ----------------------------------------------------------------------------------- */

static weft_status read_rates(const reader *r, const weft_doc *node, const double **out, int *most)
{
    const weft_doc *list;
    double *rate;

    WEFT_TRY(weft_doc_need(node, "tokens_per_s_by_layers", WEFT_DOC_LIST, &list));
    rate = WEFT_NEW(r->a, double, list->n + 1);
    for (int k = 0; k < list->n; k++) {
        const weft_doc *x = list->item[k];

        if (!weft_doc_is_number(x) || !(x->real >= 0) || x->real > LARGEST)
            return weft_doc_fail(x,
                                 "'tokens_per_s_by_layers' has %s for %d layers, expected a "
                                 "number from 0 to %g",
                                 weft_doc_is_number(x) ? weft_arena_print(r->a, "%g", x->real)
                                                       : weft_doc_kind_name(x->kind),
                                 k + 1, LARGEST);
        rate[k] = x->real;
    }
    *out = rate;
    *most = list->n < r->n_layers ? list->n : (int)r->n_layers;
    return WEFT_OK;
}

static weft_status add_node(reader *r, const weft_doc *at, const char *name, const double *rate,
                            int most)
{
    static const char *const reserved[] = {"source", "sink", "all"};

    for (int i = 0; i < 3; i++)
        if (strcmp(name, reserved[i]) == 0)
            return weft_doc_fail(at, "a node is called '%s', which is the word for something else",
                                 name);
    if (r->name.n == WEFT_SERVE_MOST_NODES)
        return weft_doc_fail(at, "there are more than %d nodes", WEFT_SERVE_MOST_NODES);
    if (!weft_map_put(r->names, name, strlen(name), r->name.n))
        return weft_doc_fail(at, "two nodes are called '%s'", name);
    WEFT_PUSH(r->a, r->name, name);
    WEFT_PUSH(r->a, r->most, most);
    WEFT_PUSH(r->a, r->rate, rate);
    return WEFT_OK;
}

static weft_status read_node(reader *r, const weft_doc *d)
{
    static const char *const keys[] = {"name", "count", "tokens_per_s_by_layers"};
    const char *name = weft_arena_print(r->a, "%d", r->name.n);
    const double *rate = NULL;
    int64_t count = 0;
    int most = 0;

    if (d->kind != WEFT_DOC_MAP)
        return weft_doc_fail(d, "a node is %s, expected {name, tokens_per_s_by_layers}",
                             weft_doc_kind_name(d->kind));
    WEFT_TRY(weft_doc_known_keys(d, keys, 3));
    if (weft_doc_get(d, "name") != NULL)
        WEFT_TRY(weft_doc_text(d, "name", &name));
    if (weft_doc_get(d, "count") != NULL)
        WEFT_TRY(weft_doc_int(d, "count", 1, MOST_COUNT, &count));
    WEFT_TRY(read_rates(r, d, &rate, &most));
    if (count == 0)
        return add_node(r, d, name, rate, most);
    for (int64_t i = 0; i < count; i++)
        WEFT_TRY(add_node(r, d, weft_arena_print(r->a, "%s-%d", name, (int)i), rate, most));
    return WEFT_OK;
}

static weft_status read_nodes(reader *r, const weft_doc *d)
{
    const weft_doc *list;

    WEFT_TRY(weft_doc_need(d, "nodes", WEFT_DOC_LIST, &list));
    if (list->n == 0)
        return weft_doc_fail(list, "'nodes' is empty, expected at least one node");
    for (int i = 0; i < list->n; i++)
        WEFT_TRY(read_node(r, list->item[i]));
    return WEFT_OK;
}

/* --- links ----------------------------------------------------------------------------------- */

/* nearest known: names of many nodes differ by their numbers only, so none is proposed. */
static weft_status read_end(const reader *r, const weft_doc *link, const char *key, int *out)
{
    const weft_doc *d = weft_doc_get(link, key);
    int n = r->name.n;

    if (d == NULL)
        return weft_doc_fail(link, "key '%s' is missing", key);
    if (d->kind == WEFT_DOC_INT && d->integer >= 0 && d->integer < n) {
        *out = (int)d->integer;
        return WEFT_OK;
    }
    if (d->kind == WEFT_DOC_INT)
        return weft_doc_fail(d, "'%s' is %lld, expected 0 to %d", key, (long long)d->integer,
                             n - 1);
    if (d->kind != WEFT_DOC_TEXT)
        return weft_doc_fail(d, "'%s' is %s, expected the name or the number of a node", key,
                             weft_doc_kind_name(d->kind));
    *out = strcmp(d->text, "source") == 0 ? n
           : strcmp(d->text, "sink") == 0 ? n + 1
           : strcmp(d->text, "all") == 0  ? ALL
                                          : weft_map_get(r->names, d->text, strlen(d->text));
    if (*out == ALL && strcmp(d->text, "all") != 0)
        return weft_doc_fail(d, "'%s' is '%s', expected a node, source, sink or all", key, d->text);
    return WEFT_OK;
}

typedef struct link_entry {
    const weft_doc *at;
    int from, to;
    double rate;
} link_entry;

static weft_status read_link(const reader *r, const weft_doc *d, link_entry *out)
{
    static const char *const keys[] = {"from", "to", "tokens_per_s"};
    int n = r->name.n;

    out->at = d;
    if (d->kind != WEFT_DOC_MAP)
        return weft_doc_fail(d, "a link is %s, expected {from, to, tokens_per_s}",
                             weft_doc_kind_name(d->kind));
    WEFT_TRY(weft_doc_known_keys(d, keys, 3));
    WEFT_TRY(read_end(r, d, "from", &out->from));
    WEFT_TRY(read_end(r, d, "to", &out->to));
    WEFT_TRY(weft_doc_real(d, "tokens_per_s", 0, LARGEST, &out->rate));
    if (out->from == n + 1 || out->to == n)
        return weft_doc_fail(d, "a link goes %s", out->to == n ? "to the source" : "from the sink");
    if (out->from == n && out->to == n + 1)
        return weft_doc_fail(d, "a link goes from the source to the sink");
    if (out->from == out->to && out->from != ALL)
        return weft_doc_fail(d, "a link goes from node '%s' to itself", r->name.at[out->from]);
    return WEFT_OK;
}

static void set_link(reader *r, const link_entry *e, int from, int to)
{
    if (from != to)
        r->link[from * (r->name.n + 2) + to] = e->rate;
}

static void set_all(reader *r, const link_entry *e)
{
    int n = r->name.n;

    for (int i = e->from == ALL ? 0 : e->from; i <= (e->from == ALL ? n - 1 : e->from); i++)
        for (int j = e->to == ALL ? 0 : e->to; j <= (e->to == ALL ? n - 1 : e->to); j++)
            set_link(r, e, i, j);
}

static weft_status set_single(reader *r, const link_entry *e)
{
    bool *is_set = &r->is_set[e->from * (r->name.n + 2) + e->to];

    if (*is_set)
        return weft_doc_fail(e->at, "a second link of these two ends in this direction");
    *is_set = true;
    set_link(r, e, e->from, e->to);
    return WEFT_OK;
}

static weft_status read_links(reader *r, const weft_doc *d)
{
    int n = r->name.n + 2;
    const weft_doc *list;
    link_entry *entry;

    WEFT_TRY(weft_doc_need(d, "links", WEFT_DOC_LIST, &list));
    r->link = WEFT_NEW(r->a, double, n *n);
    r->is_set = WEFT_NEW(r->a, bool, n *n);
    entry = WEFT_NEW(r->a, link_entry, list->n + 1);
    for (int i = 0; i < list->n; i++)
        WEFT_TRY(read_link(r, list->item[i], &entry[i]));
    for (int i = 0; i < list->n; i++)
        if (entry[i].from == ALL || entry[i].to == ALL)
            set_all(r, &entry[i]);
    for (int i = 0; i < list->n; i++)
        if (entry[i].from != ALL && entry[i].to != ALL)
            WEFT_TRY(set_single(r, &entry[i]));
    return WEFT_OK;
}

/* --- the whole ------------------------------------------------------------------------------- */

static weft_status read_head(reader *r, const weft_doc *d, weft_serve_spec *s)
{
    static const char *const keys[] = {"schema", "name", "layers", "allow_partial_inference",
                                       "nodes",  "links"};
    static const char *const schema = "weft.serving/1";
    const char *found = schema;
    const weft_doc *partial = weft_doc_get(d, "allow_partial_inference");

    if (d->kind != WEFT_DOC_MAP)
        return weft_doc_fail(d, "this is %s, expected a serving problem (%s)",
                             weft_doc_kind_name(d->kind), schema);
    if (weft_doc_get(d, "schema") != NULL || weft_doc_get(d, "nodes") == NULL)
        WEFT_TRY(weft_doc_text(d, "schema", &found));
    if (strcmp(found, schema) != 0)
        return weft_doc_fail(d, "schema is '%s', expected '%s'", found, schema);
    WEFT_TRY(weft_doc_known_keys(d, keys, 6));
    s->name = "";
    if (weft_doc_get(d, "name") != NULL)
        WEFT_TRY(weft_doc_text(d, "name", &s->name));
    WEFT_TRY(weft_doc_int(d, "layers", 1, WEFT_SERVE_MOST_LAYERS, &r->n_layers));
    if (partial != NULL)
        WEFT_TRY(weft_doc_need(d, "allow_partial_inference", WEFT_DOC_BOOL, &partial));
    s->is_partial = partial != NULL && partial->truth;
    return WEFT_OK;
}

static weft_status read_all(reader *r, const weft_doc *d, weft_serve_problem **out)
{
    weft_serve_spec s = {0};

    WEFT_TRY(read_head(r, d, &s));
    WEFT_TRY(read_nodes(r, d));
    WEFT_TRY(read_links(r, d));
    s.n_layers = (int)r->n_layers;
    s.n_nodes = r->name.n;
    s.node_name = r->name.at;
    s.most = r->most.at;
    s.rate = r->rate.at;
    s.link = r->link;
    return weft_serve_problem_make(&s, out);
}

weft_status weft_serve_problem_of_doc(const weft_doc *d, weft_serve_problem **out)
{
    reader r = {.a = weft_arena_new()};
    weft_status status;

    *out = NULL;
    r.names = weft_map_new(r.a);
    status = read_all(&r, d, out);
    weft_arena_free(r.a);
    return status;
}

weft_status weft_serve_problem_read(const char *path, weft_serve_problem **out)
{
    weft_arena *a = weft_arena_new();
    const weft_doc *d;
    weft_status status = weft_doc_read(path, a, &d);

    *out = NULL;
    if (status == WEFT_OK)
        status = weft_serve_problem_of_doc(d, out);
    weft_arena_free(a);
    return status;
}
