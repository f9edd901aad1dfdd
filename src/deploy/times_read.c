/* SPDX-License-Identifier: MIT */
/* times_read.c: times that other tools have measured.
 *
 *   ort       ONNX Runtime, enable_profiling: a list of events; cat Node, NAME_kernel_time, dur in us
 *   trtexec   --exportProfile: a list of {name, averageMs, medianMs}; fused layers are "a + b" or
 *             "PWN(a, b)". --exportTimes: a list of {computeMs}: of the whole network
 *   openvino  benchmark_app -report_type average_counters (or detailed_counters): a table with ';',
 *             layerName, execStatus, realTime (ms)
 *   pytorch   torch.profiler, export_chrome_trace: traceEvents of which a name is that of a node or
 *             a module (record_function, module hierarchy), dur in us
 *
 * Of a name that occurs several times (runs, requests) the median counts. A name fits a node by its
 * name, by that of a result, or by that of the module it was exported from; a time of several nodes
 * is shared out by their work. Names that nothing has are counted and shown. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "module.h"
#include "network_times.h"
#include "ops.h"
#include "pace.h"

/* Copies that trtexec puts between layers, named after these. */
static const char reformat[] = "Reformatting CopyNode";

enum { MOST_SHOWN = 5, MOST_PARTS = 256, SHOWN_BYTES = 80 };

/* All times of one name. */
typedef struct row {
    const char *name;
    WEFT_VEC(double) seconds;
} row;

typedef struct times {
    const char *path;
    const weft_graph *g;
    weft_arena *a;
    weft_map *row_of, *node_of, *module_of;
    WEFT_VEC(row) rows;
    WEFT_VEC(double) whole;
    int *next_in_module; /* [n_nodes] another node of the module, or -1 */
    double *seconds;     /* [n_nodes] NAN: none */
    weft_read_times *out;
} times;

/* --- rows ------------------------------------------------------------------------------------ */

static void add_row(times *t, const char *name, double seconds)
{
    int i = weft_map_get(t->row_of, name, strlen(name));

    if (i < 0) {
        i = t->rows.n;
        WEFT_PUSH(t->a, t->rows, ((row){.name = name}));
        weft_map_set(t->row_of, name, strlen(name), i);
    }
    WEFT_PUSH(t->a, t->rows.at[i].seconds, seconds);
}

static double median_of(times *t, const double *x, int n)
{
    return weft_median(weft_arena_copy(t->a, x, (size_t)n * sizeof *x), n);
}

/* A number of an entry, or NAN; negative ones are wrong. */
static double number(const weft_doc *map, const char *key)
{
    const weft_doc *d = weft_doc_get(map, key);

    return d != NULL && weft_doc_is_number(d) && d->real >= 0 && d->real < 1e12 ? d->real : NAN;
}

static const char *text(const weft_doc *map, const char *key)
{
    const weft_doc *d = weft_doc_get(map, key);

    return d != NULL && d->kind == WEFT_DOC_TEXT ? d->text : "";
}

/* --- JSON ------------------------------------------------------------------------------------ */

/* Name without the ending; NULL: it has another. */
static const char *without(const char *name, const char *ending, weft_arena *a)
{
    size_t n = strlen(name), m = strlen(ending);

    return n > m && strcmp(name + n - m, ending) == 0 ? weft_arena_text(a, name, n - m) : NULL;
}

static void read_ort(times *t, const weft_doc *list)
{
    t->out->format = "ort";
    for (int i = 0; i < list->n; i++) {
        const weft_doc *e = list->item[i];
        double us = number(e, "dur");
        const char *name = without(text(e, "name"), "_kernel_time", t->a);

        if (isnan(us))
            continue;
        if (strcmp(text(e, "cat"), "Node") == 0 && name != NULL)
            add_row(t, name, 1e-6 * us);
        else if (strcmp(text(e, "cat"), "Session") == 0 &&
                 strcmp(text(e, "name"), "model_run") == 0)
            WEFT_PUSH(t->a, t->whole, 1e-6 * us);
    }
}

static void read_trtexec(times *t, const weft_doc *list)
{
    t->out->format = "trtexec";
    for (int i = 0; i < list->n; i++) {
        const weft_doc *e = list->item[i];
        double ms = number(e, "medianMs");

        if (isnan(ms))
            ms = number(e, "averageMs");
        if (*text(e, "name") && !isnan(ms))
            add_row(t, text(e, "name"), 1e-3 * ms);
        else if (!isnan(number(e, "computeMs")))
            WEFT_PUSH(t->a, t->whole, 1e-3 * number(e, "computeMs"));
    }
}

static void read_pytorch(times *t, const weft_doc *list)
{
    t->out->format = "pytorch";
    for (int i = 0; i < list->n; i++) {
        const weft_doc *e = list->item[i];
        double us = number(e, "dur");

        if (e->kind == WEFT_DOC_MAP && strcmp(text(e, "ph"), "X") == 0 && *text(e, "name") &&
            !isnan(us))
            add_row(t, text(e, "name"), 1e-6 * us);
    }
}

static bool has_key(const weft_doc *list, const char *key)
{
    for (int i = 0; i < list->n; i++)
        if (list->item[i]->kind == WEFT_DOC_MAP && weft_doc_get(list->item[i], key) != NULL)
            return true;
    return false;
}

static weft_status check_maps(const weft_doc *list)
{
    for (int i = 0; i < list->n; i++)
        if (list->item[i]->kind != WEFT_DOC_MAP)
            return weft_doc_fail(list->item[i], "this is %s, expected an entry with a time",
                                 weft_doc_kind_name(list->item[i]->kind));
    return WEFT_OK;
}

static weft_status read_json(times *t, const char *from, size_t size)
{
    const weft_doc *d = NULL, *list;

    WEFT_TRY(weft_doc_parse(from, size, t->path, t->a, &d));
    list = d->kind == WEFT_DOC_MAP ? weft_doc_get(d, "traceEvents") : d;
    if (list == NULL || list->kind != WEFT_DOC_LIST)
        return weft_fail(WEFT_E_INPUT,
                         "%s: expected a list of times, or a map with the list traceEvents",
                         t->path);
    WEFT_TRY(check_maps(list));
    if (d->kind == WEFT_DOC_MAP)
        read_pytorch(t, list);
    else if (has_key(list, "averageMs") || has_key(list, "medianMs") || has_key(list, "computeMs"))
        read_trtexec(t, list);
    else if (has_key(list, "cat"))
        read_ort(t, list);
    else
        return weft_fail(WEFT_E_INPUT,
                         "%s: neither a profile of ONNX Runtime (cat, dur) nor one of trtexec "
                         "(averageMs, computeMs)",
                         t->path);
    return WEFT_OK;
}

/* --- tables ---------------------------------------------------------------------------------- */

enum { MOST_FIELDS = 16 };

typedef struct line {
    int n;
    const char *field[MOST_FIELDS];
} line;

/* Fields of a line that ends at `end`, between ';'. */
static line split_line(times *t, const char *at, const char *end)
{
    line l = {0};

    while (at <= end && l.n < MOST_FIELDS) {
        size_t n = 0;

        while (at + n < end && at[n] != ';')
            n++;
        l.field[l.n++] = weft_arena_text(t->a, at, n);
        at += n + 1;
    }
    return l;
}

static int column(const line *head, const char *name)
{
    for (int i = 0; i < head->n; i++)
        if (strncmp(head->field[i], name, strlen(name)) == 0)
            return i;
    return -1;
}

static weft_status add_line(times *t, const line *head, const line *l, int number_of)
{
    int name = column(head, "layerName"), status = column(head, "execStatus");
    int real = column(head, "realTime");
    char *end;
    double ms;

    if (l->n <= real || l->n <= name || (status >= 0 && l->n <= status))
        return WEFT_OK; /* an empty line between requests */
    ms = strtod(l->field[real], &end);
    if (end == l->field[real] || !(ms >= 0) || ms > 1e12)
        return weft_fail(WEFT_E_INPUT, "%s:%d: realTime is '%.40s', expected milliseconds", t->path,
                         number_of, l->field[real]);
    if (strcmp(l->field[name], "Total") == 0)
        WEFT_PUSH(t->a, t->whole, 1e-3 * ms);
    else if (status < 0 || strstr(l->field[status], "NOT") == NULL)
        add_row(t, l->field[name], 1e-3 * ms);
    return WEFT_OK;
}

static weft_status read_table(times *t, const char *from, size_t size)
{
    const char *end = from + size;
    line head = {0};
    int number_of = 0;

    t->out->format = "openvino";
    while (from < end) {
        const char *stop = memchr(from, '\n', (size_t)(end - from));
        const char *next = stop ? stop + 1 : end;
        line l;

        stop = stop ? stop : end;
        stop -= stop > from && stop[-1] == '\r';
        l = split_line(t, from, stop);
        number_of++;
        if (column(&l, "layerName") >= 0 && column(&l, "realTime") >= 0)
            head = l;
        else if (head.n > 0)
            WEFT_TRY(add_line(t, &head, &l, number_of));
        from = next;
    }
    if (head.n == 0)
        return weft_fail(
            WEFT_E_INPUT,
            "%s: neither JSON nor a table with layerName and realTime, as benchmark_app "
            "writes it",
            t->path);
    return WEFT_OK;
}

/* --- names ----------------------------------------------------------------------------------- */

static void index_names(times *t)
{
    const weft_graph *g = t->g;

    t->node_of = weft_map_new(t->a);
    t->module_of = weft_map_new(t->a);
    t->next_in_module = WEFT_NEW(t->a, int, g->n_nodes + 1);
    for (int u = g->n_nodes - 1; u >= 0; u--) {
        const char *module = weft_module_of(g->node[u].name, t->a);

        t->next_in_module[u] = weft_map_get(t->module_of, module, strlen(module));
        if (*module)
            weft_map_set(t->module_of, module, strlen(module), u);
        for (int i = g->res_at[u]; i < g->res_at[u + 1]; i++)
            if (g->res[i] >= 0)
                weft_map_set(t->node_of, g->tensor[g->res[i]].name,
                             strlen(g->tensor[g->res[i]].name), u);
    }
    for (int u = 0; u < g->n_nodes; u++)
        weft_map_set(t->node_of, g->node[u].name, strlen(g->node[u].name), u);
}

typedef WEFT_VEC(int) node_list;

/* Nodes of a name as it stands. */
static bool add_nodes(const times *t, const char *name, size_t n, node_list *list)
{
    int u = weft_map_get(t->node_of, name, n);

    if (u >= 0) {
        WEFT_PUSH(t->a, *list, u);
        return true;
    }
    u = n > 0 ? weft_map_get(t->module_of, name, n) : -1;
    for (int v = u; v >= 0; v = t->next_in_module[v])
        WEFT_PUSH(t->a, *list, v);
    return u >= 0;
}

/* Of "a + b" and "PWN(a, b)": what stands between these marks. */
static void add_parts(const times *t, const char *name, node_list *list)
{
    int n_parts = 0;

    while (*name && n_parts++ < MOST_PARTS) {
        const char *plus = strstr(name, " + "), *comma = strstr(name, ", ");
        const char *end = plus && (comma == NULL || plus < comma) ? plus : comma;
        size_t n = end ? (size_t)(end - name) : strlen(name);
        size_t skip = 0, length = n;

        while (length - skip > 4 && strncmp(name + skip, "PWN(", 4) == 0)
            skip += 4;
        while (length > skip && name[length - 1] == ')')
            length--;
        (void)add_nodes(t, name + skip, length - skip, list);
        name += n + (end == NULL ? 0 : end == plus ? 3 : 2);
    }
}

/* --- shares ---------------------------------------------------------------------------------- */

static double work_of(const times *t, int u)
{
    weft_work w = weft_node_work(t->g, u);

    return 1 + (double)w.flops + (double)(w.read_bytes + w.write_bytes);
}

static void share_out(times *t, const row *r, const node_list *list)
{
    double seconds = median_of(t, r->seconds.at, r->seconds.n), sum = 0;

    for (int i = 0; i < list->n; i++)
        sum += work_of(t, list->at[i]);
    for (int i = 0; i < list->n; i++) {
        double *to = &t->seconds[list->at[i]];

        *to = (isnan(*to) ? 0 : *to) + seconds * work_of(t, list->at[i]) / sum;
    }
    t->out->n_used++;
}

static void use_rows(times *t)
{
    const char **unused = WEFT_NEW(t->a, const char *, MOST_SHOWN);

    t->seconds = WEFT_NEW(t->a, double, t->g->n_nodes + 1);
    for (int u = 0; u < t->g->n_nodes; u++)
        t->seconds[u] = NAN;
    for (int i = 0; i < t->rows.n; i++) {
        node_list list = {0};

        if (!add_nodes(t, t->rows.at[i].name, strlen(t->rows.at[i].name), &list) &&
            strncmp(t->rows.at[i].name, reformat, strlen(reformat)) != 0)
            add_parts(t, t->rows.at[i].name, &list);
        if (list.n > 0)
            share_out(t, &t->rows.at[i], &list);
        else if (t->out->n_unused < MOST_SHOWN)
            unused[t->out->n_unused++] = t->rows.at[i].name;
    }
    t->out->n_rows = t->rows.n;
    t->out->unused = unused;
}

/* --- the document ---------------------------------------------------------------------------- */

static void add_times(times *t, const char *device)
{
    weft_doc *list = weft_doc_new(t->a, WEFT_DOC_LIST), *from = weft_doc_new(t->a, WEFT_DOC_MAP);
    double sum_s = 0;

    for (int u = 0; u < t->g->n_nodes; u++) {
        weft_doc *map;

        t->out->n_nodes++;
        if (isnan(t->seconds[u]))
            continue;
        t->out->n_timed++;
        sum_s += t->seconds[u];
        map = weft_add_map(t->a, list);
        weft_put_text(t->a, map, "node", t->g->node[u].name);
        weft_put_text(t->a, map, "device", device);
        weft_put_real(t->a, map, "seconds", t->seconds[u]);
    }
    t->out->sum_s = sum_s;
    t->out->doc = weft_doc_new(t->a, WEFT_DOC_MAP);
    weft_put_text(t->a, t->out->doc, "schema", "weft.profile/1");
    weft_put_text(t->a, from, "format", t->out->format);
    weft_put_int(t->a, from, "rows", t->out->n_rows);
    weft_put_int(t->a, from, "used", t->out->n_used);
    weft_put_real(t->a, from, "whole_s", t->out->whole_s);
    weft_doc_put(t->a, t->out->doc, "read_from", from);
    weft_doc_put(t->a, t->out->doc, "times", list);
}

static weft_status fail_nothing(const times *t)
{
    if (t->rows.n == 0)
        return weft_fail(WEFT_E_INPUT, "%s: has no times of single operators", t->path);
    return weft_fail(WEFT_E_INPUT,
                     "%s: none of its %d names is that of an operator, of a result or of a module "
                     "of the network: '%.*s' is the first, the network has '%.*s'",
                     t->path, t->rows.n, SHOWN_BYTES, t->rows.at[0].name, SHOWN_BYTES,
                     t->g->node[0].name);
}

static times begin(const char *path, const weft_graph *g, weft_arena *a, weft_read_times *out)
{
    *out = (weft_read_times){.whole_s = NAN};
    return (times){.path = path, .g = g, .a = a, .row_of = weft_map_new(a), .out = out};
}

static weft_status read_bytes(times *t, const char *from, size_t size)
{
    size_t first = 0;

    while (first < size && isspace((unsigned char)from[first]))
        first++;
    if (first < size && (from[first] == '[' || from[first] == '{'))
        return read_json(t, from, size);
    return read_table(t, from, size);
}

static weft_status finish(times *t, const char *device)
{
    index_names(t);
    use_rows(t);
    t->out->whole_s = median_of(t, t->whole.at, t->whole.n);
    if (t->out->n_used == 0)
        return fail_nothing(t);
    add_times(t, device);
    return WEFT_OK;
}

weft_status weft_times_parse(const char *from, size_t size, const char *path, const weft_graph *g,
                             const char *device, weft_arena *a, weft_read_times *out)
{
    times t = begin(path, g, a, out);

    WEFT_TRY(read_bytes(&t, from, size));
    return finish(&t, device);
}

static weft_status read_file(times *t)
{
    weft_file f;
    weft_status status;

    WEFT_TRY(weft_file_open(t->path, &f));
    status = read_bytes(t, (const char *)f.data, f.size);
    if (weft_file_check(&f) != WEFT_OK)
        status = WEFT_E_INPUT;
    weft_file_close(&f);
    return status;
}

weft_status weft_times_read(const char *paths, const weft_graph *g, const char *device,
                            weft_arena *a, weft_read_times *out)
{
    times t = begin(paths, g, a, out);

    while (*paths) {
        size_t n = strcspn(paths, ",");

        t.path = weft_arena_text(a, paths, n);
        WEFT_TRY(read_file(&t));
        paths += n + (paths[n] == ',');
    }
    return finish(&t, device);
}
