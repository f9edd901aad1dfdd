/* SPDX-License-Identifier: MIT */
/* out_platform.c: a platform for a terminal and as a document.
 *
 * The text joins what repeats: neighbours of one kind are one row of the table of devices, equal
 * links between the same kinds one row of the table of links. The matrix of bandwidths is cut into
 * blocks of columns that fit the line; of more than 16 devices it shows the first two and the last
 * of each kind, which on machines made of equal groups are the same group and another one.
 *
 * The document has every device and link, numbers in bytes, seconds, watts and joules, null for
 * what is not limited. The matrices are left out (null) beyond 256 devices: they would be most of
 * it. */
#include "document.h"
#include "fields.h"

#include <math.h>
#include <string.h>

#include "ops.h"

enum {
    DEFAULT_WIDTH = 80,
    LEAST_WIDTH = 60,
    NAME = 28,         /* columns of names in tables */
    MOST_ONLY = 12,    /* operators listed for a design */
    MOST_LINKS = 64,   /* rows of the table of links */
    MOST_MATRIX = 16,  /* devices of the matrix of the text */
    MOST_ENTRIES = 256 /* devices of the matrices of the document */
};

/* A text on its way. */
typedef struct page {
    const weft_platform *p;
    weft_arena *a;
    FILE *to;
    int width, name; /* columns of all, of the names of devices */
} page;

static const char *const dataflow_names[] = {
    [WEFT_DATAFLOW_BEST] = "best", [WEFT_DATAFLOW_WS] = "ws",     [WEFT_DATAFLOW_OS] = "os",
    [WEFT_DATAFLOW_IS] = "is",     [WEFT_DATAFLOW_SIMD] = "simd",
};

/* --- text: devices --------------------------------------------------------------------------- */

/* "rows 128", or nothing for what is as if it were not written. */
static const char *param_text(const weft_design *d, const weft_param *q, weft_arena *a)
{
    double value = d->value[q->place];
    bool is_default = value >= q->fallback && value <= q->fallback;
    char number[48];
    char *unit;

    if (is_default && !q->is_required)
        return "";
    if (q->place == WEFT_P_DATAFLOW)
        return weft_arena_print(a, "%s\t%s", q->key, dataflow_names[(int)value]);
    weft_unit_print(value, q->unit, number);
    unit = strchr(number, ' ');
    if (unit != NULL)
        *unit = '\t'; /* a number is not parted from its unit */
    return weft_arena_print(a, "%s\t%s", q->key, number);
}

static const char *joined(const char *text, const char *more, weft_arena *a)
{
    return *more ? weft_arena_print(a, "%s%s%s", text, *text ? ", " : "", more) : text;
}

static const char *efficiency_text(const weft_design *d, weft_arena *a)
{
    const char *text = "";

    for (int f = 0; f < WEFT_N_FAMILIES; f++)
        if (d->efficiency[f] < 1)
            text =
                joined(text,
                       weft_arena_print(a, "%.3g %% of the peak for %s operators",
                                        100 * d->efficiency[f], weft_fusion_name((weft_fusion)f)),
                       a);
    return text;
}

static const char *design_text(const weft_design *d, weft_arena *a)
{
    const char *text = "";
    int n = 0;
    const weft_param *q = weft_device_params(d->model, &n);

    if (d->profile != NULL)
        text = weft_arena_print(a, "times of %s", d->profile);
    for (int i = 0; i < n; i++)
        text = joined(text, param_text(d, &q[i], a), a);
    text = joined(text, efficiency_text(d, a), a);
    for (int i = 0; i < d->n_only && i < MOST_ONLY; i++)
        text = joined(text, i == 0 ? weft_arena_print(a, "only %s", d->only[0]) : d->only[i], a);
    if (d->n_only > MOST_ONLY)
        text = joined(text, weft_arena_print(a, "and %d more", d->n_only - MOST_ONLY), a);
    return text;
}

static const char *design_head(const weft_design *d, weft_arena *a)
{
    return weft_arena_print(a, "design %s (%s): ", d->name, weft_device_model_name(d->model));
}

static const char *watts(double w, char to[48])
{
    return w > 0 ? weft_unit_print(w, WEFT_UNIT_WATTS, to) : "-";
}

/* "gpu-0 .. gpu-7", of n neighbours of one kind; where that is too long, the name of the kind. */
static const char *row_name(const page *g, const weft_device *d, int n)
{
    const char *range = weft_arena_print(g->a, "%s .. %s", d->name, d[n - 1].name);

    if (n == 1)
        return d->name;
    return strlen(range) <= (size_t)g->name ? range : d->kind;
}

static void print_device_row(const page *g, const weft_device *d, int n)
{
    weft_arena *a = g->a;
    FILE *to = g->to;
    char memory[48], power[48], idle[48];
    const char *capacity = isfinite(d->memory_bytes)
                               ? weft_unit_print(d->memory_bytes, WEFT_UNIT_BYTES, memory)
                               : "unlimited";

    fputs("  ", to);
    weft_print_padded(to, row_name(g, d, n), g->name);
    fprintf(to, " %5d  %-9s %10s %8s %8s\n", n,
            d->n_designs == 1 ? weft_device_model_name(d->design->model) : "adaptive", capacity,
            watts(d->power_w, power), watts(d->idle_w, idle));
    for (int i = 0; i < d->n_designs; i++) {
        const char *head = d->n_designs == 1 ? "" : design_head(&d->design[i], a);
        const char *text = weft_arena_print(a, "%s%s", head, design_text(&d->design[i], a));
        char time[48];

        if (d->switch_s > 0 && i == 0)
            text = joined(text,
                          weft_arena_print(a, "switch %s",
                                           weft_unit_print(d->switch_s, WEFT_UNIT_SECONDS, time)),
                          a);
        if (*text == '\0')
            continue;
        fprintf(to, "    ");
        weft_print_wrapped(to, 4, g->width, text);
    }
}

/* Neighbours of device d that are of its kind, itself included. */
static int count_alike(const weft_platform *p, int d)
{
    int n = 1;

    while (d + n < p->n_devices && strcmp(p->device[d + n].kind, p->device[d].kind) == 0)
        n++;
    return n;
}

static void print_devices(const page *g)
{
    const weft_platform *p = g->p;

    fprintf(g->to, "\n  %-*s %5s  %-9s %10s %8s %8s\n", g->name, "device", "count", "model",
            "memory", "power", "idle");
    for (int d = 0, n; d < p->n_devices; d += n) {
        n = count_alike(p, d);
        print_device_row(g, &p->device[d], n);
    }
}

/* --- text: links ----------------------------------------------------------------------------- */

/* What tells rows of the table apart; switches are all alike. */
static const char *place_kind(const weft_platform *p, int place)
{
    return place < p->n_devices ? p->device[place].kind : "";
}

static bool is_alike(const weft_platform *p, const weft_link *x, const weft_link *y)
{
    bool is_equal = !(x->bytes_per_s < y->bytes_per_s || x->bytes_per_s > y->bytes_per_s) &&
                    !(x->latency_s < y->latency_s || x->latency_s > y->latency_s) &&
                    x->is_half_duplex == y->is_half_duplex;

    return is_equal && strcmp(place_kind(p, x->a), place_kind(p, y->a)) == 0 &&
           strcmp(place_kind(p, x->b), place_kind(p, y->b)) == 0;
}

static const char *link_name(const weft_platform *p, const weft_link *l, int columns, weft_arena *a)
{
    char one[WEFT_SHORT_BYTES], other[WEFT_SHORT_BYTES];

    return weft_arena_print(a, "%s - %s", weft_shorten(weft_place_name(p, l->a), columns, one),
                            weft_shorten(weft_place_name(p, l->b), columns, other));
}

/* Columns of the two ends of a link. */
static int link_columns(const page *g)
{
    return g->width < DEFAULT_WIDTH ? WEFT_SHORT_COLUMNS - (DEFAULT_WIDTH - g->width)
                                    : WEFT_SHORT_COLUMNS;
}

static void print_link_row(const page *g, const weft_link *l, int n)
{
    const weft_platform *p = g->p;
    weft_arena *a = g->a;
    FILE *to = g->to;
    char bandwidth[48], latency[48];
    const char *name = link_name(p, l, (link_columns(g) - 7) / 2, a);

    if (n > 1)
        name = weft_arena_print(a, "%s, ..", name);
    fputs("  ", to);
    weft_print_padded(to, name, link_columns(g));
    fprintf(to, " %5d %12s %10s%s\n", n,
            weft_unit_print(l->bytes_per_s, WEFT_UNIT_BYTES_PER_S, bandwidth),
            weft_print_seconds(l->latency_s, latency), l->is_half_duplex ? "  shared" : "");
}

static void print_links(const page *g)
{
    const weft_platform *p = g->p;
    FILE *to = g->to;
    bool has_half = false;
    int k = 0;

    if (p->n_links == 0)
        return;
    fprintf(to, "\n  %-*s %5s %12s %10s\n", link_columns(g), "link", "count", "bandwidth",
            "latency");
    for (int row = 0, n; row < MOST_LINKS && k < p->n_links; row++, k += n) {
        n = 1;
        while (k + n < p->n_links && is_alike(p, &p->link[k], &p->link[k + n]))
            n++;
        has_half |= p->link[k].is_half_duplex;
        print_link_row(g, &p->link[k], n);
    }
    if (k < p->n_links)
        fprintf(to, "  and %d more link%s\n", p->n_links - k, p->n_links - k == 1 ? "" : "s");
    fprintf(to, "  Bandwidths are of each direction%s.\n",
            has_half ? "; of shared links, of both together" : "");
}

/* --- text: matrix ---------------------------------------------------------------------------- */

/* The first two and the last device of each kind, in order; of all if they are few. */
static int choose_devices(const weft_platform *p, weft_arena *a, int *shown)
{
    weft_map *first_of = weft_map_new(a), *last_of = weft_map_new(a);
    int *n_before = WEFT_NEW(a, int, p->n_devices); /* by the first of the kind */
    int n = 0;

    for (int d = 0; d < p->n_devices; d++)
        weft_map_set(last_of, p->device[d].kind, strlen(p->device[d].kind), d);
    for (int d = 0; d < p->n_devices && n < MOST_MATRIX; d++) {
        const char *kind = p->device[d].kind;
        int first;

        (void)weft_map_put(first_of, kind, strlen(kind), d);
        first = weft_map_get(first_of, kind, strlen(kind));
        if (p->n_devices <= MOST_MATRIX || n_before[first]++ < 2 ||
            weft_map_get(last_of, kind, strlen(kind)) == d)
            shown[n++] = d;
    }
    return n;
}

static const char *cell_text(const weft_platform *p, int from, int to, char text[32])
{
    const weft_route *r = weft_platform_route(p, from, to);

    if (from == to)
        return "-";
    if (r->n_hops < 0)
        return "none";
    snprintf(text, 32, "%.4g", r->bytes_per_s / 1e9);
    return text;
}

typedef struct matrix {
    const weft_platform *p;
    int n, shown[MOST_MATRIX];
    int row_name, column; /* columns of the terminal */
} matrix;

static void print_block(const matrix *m, int first, int last, FILE *to)
{
    char text[WEFT_SHORT_BYTES];

    fprintf(to, "  %-*s", m->row_name, "from \\ to");
    for (int k = first; k < last; k++) {
        weft_shorten(m->p->device[m->shown[k]].name, m->column - 1, text);
        fprintf(to, "%*s%s", m->column - weft_columns(text), "", text);
    }
    fputc('\n', to);
    for (int i = 0; i < m->n; i++) {
        fputs("  ", to);
        weft_print_padded(to, m->p->device[m->shown[i]].name, m->row_name);
        for (int k = first; k < last; k++)
            fprintf(to, "%*s", m->column, cell_text(m->p, m->shown[i], m->shown[k], text));
        fputc('\n', to);
    }
}

/* The bandwidth of all pairs if it is one and the same, else 0. */
static double common_bandwidth(const weft_platform *p)
{
    double bytes_per_s = weft_platform_route(p, 0, 1)->bytes_per_s;

    for (int from = 0; from < p->n_devices; from++)
        for (int to = 0; to < p->n_devices; to++) {
            const weft_route *r = weft_platform_route(p, from, to);

            if (from != to &&
                (r->n_hops < 0 || r->bytes_per_s < bytes_per_s || r->bytes_per_s > bytes_per_s))
                return 0;
        }
    return bytes_per_s;
}

static void print_matrix(const page *g)
{
    const weft_platform *p = g->p;
    FILE *to = g->to;
    matrix m = {.p = p, .row_name = 16, .column = 8};
    int n_columns;
    char text[48];

    if (p->n_devices < 2)
        return;
    m.n = choose_devices(p, g->a, m.shown);
    for (int i = 0; i < m.n; i++) {
        int columns = weft_columns(p->device[m.shown[i]].name) + 1;
        m.column = columns > m.column ? columns : m.column;
    }
    m.column = m.column > m.row_name - 2 ? m.row_name - 2 : m.column;
    n_columns = (g->width - 2 - m.row_name) / m.column;
    if (m.n > n_columns && common_bandwidth(p) > 0) {
        fprintf(to, "\n  Between any two devices: %s\n",
                weft_unit_print(common_bandwidth(p), WEFT_UNIT_BYTES_PER_S, text));
        return;
    }
    fprintf(to, "\n  Bandwidth in GB/s%s\n",
            m.n < p->n_devices ? ", first two and last device of each kind" : "");
    for (int first = 0; first < m.n; first += n_columns)
        print_block(&m, first, first + n_columns < m.n ? first + n_columns : m.n, to);
}

/* --- text: all ------------------------------------------------------------------------------- */

static const char *transfer_text(weft_transfer t)
{
    static const char *const text[] = {
        [WEFT_OVERLAP] = "beside computation and beside each other (overlap)",
        [WEFT_CONTEND] = "beside computation, one at a time on each link (contend)",
        [WEFT_BLOCK] = "sender and receiver do not compute meanwhile (block)",
        [WEFT_CALLS] = "through the host, part of the one call of each accelerator (calls)",
    };

    return text[t];
}

void weft_platform_text(const weft_platform *p, int width, FILE *to)
{
    weft_arena *a = weft_arena_new();
    page g = {p, a, to, width <= 0 ? DEFAULT_WIDTH : width < LEAST_WIDTH ? LEAST_WIDTH : width, 0};
    char name[WEFT_SHORT_BYTES];
    const char *switches = p->n_switches > 0 ? weft_arena_print(a, ", %d switch%s", p->n_switches,
                                                                p->n_switches == 1 ? "" : "es")
                                             : "";

    fprintf(to, "%s: %d device%s, %d link%s%s\n\n", weft_shorten(p->name, WEFT_SHORT_COLUMNS, name),
            p->n_devices, p->n_devices == 1 ? "" : "s", p->n_links, p->n_links == 1 ? "" : "s",
            switches);
    g.name = g.width < DEFAULT_WIDTH ? NAME - (DEFAULT_WIDTH - g.width) : NAME;
    weft_print_field(to, g.width, "host",
                     p->host < 0 ? "none: inputs are on every device from the start"
                                 : p->device[p->host].name);
    weft_print_field(to, g.width, "transfers", transfer_text(p->transfer));
    if (p->software != WEFT_SOFTWARE_GRAPH)
        weft_print_field(to, g.width, "software", weft_software_name(p->software));
    weft_print_field(to, g.width, "costs", weft_accuracy_text(p, a));
    print_devices(&g);
    print_links(&g);
    print_matrix(&g);
    weft_arena_free(a);
}

/* --- document -------------------------------------------------------------------------------- */

static weft_doc *parameters_doc(const weft_design *d, weft_arena *a)
{
    weft_doc *map = weft_doc_new(a, WEFT_DOC_MAP);
    char number[48];
    int n = 0;
    const weft_param *q = weft_device_params(d->model, &n);

    for (int i = 0; i < n; i++) {
        double value = d->value[q[i].place];
        bool is_unlimited = q[i].unit != WEFT_UNIT_NONE &&
                            strcmp(weft_unit_print(value, q[i].unit, number), "unlimited") == 0;

        if (q[i].place == WEFT_P_DATAFLOW)
            weft_put_text(a, map, q[i].key, dataflow_names[(int)value]);
        else
            weft_put_real(a, map, q[i].key, is_unlimited ? INFINITY : value);
    }
    return map;
}

static weft_doc *design_doc(const weft_design *d, weft_arena *a)
{
    weft_doc *map = weft_doc_new(a, WEFT_DOC_MAP), *efficiency = weft_doc_new(a, WEFT_DOC_MAP);

    weft_put_text(a, map, "name", d->name);
    weft_put_text(a, map, "model", weft_device_model_name(d->model));
    weft_doc_put(a, map, "parameters", parameters_doc(d, a));
    for (int f = 0; f < WEFT_N_FAMILIES; f++)
        weft_put_real(a, efficiency, weft_fusion_name((weft_fusion)f), d->efficiency[f]);
    weft_doc_put(a, map, "efficiency", efficiency);
    weft_doc_put(a, map, "only",
                 d->n_only > 0 ? weft_texts_doc(d->only, d->n_only, a)
                               : weft_doc_new(a, WEFT_DOC_NULL));
    weft_put_text(a, map, "profile", d->profile);
    return map;
}

static weft_doc *devices_doc(const weft_platform *p, weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int d = 0; d < p->n_devices; d++) {
        const weft_device *x = &p->device[d];
        weft_doc *row = weft_add_map(a, list), *designs = weft_doc_new(a, WEFT_DOC_LIST);

        weft_put_text(a, row, "name", x->name);
        weft_put_text(a, row, "kind", x->kind);
        weft_put_real(a, row, "memory_bytes", x->memory_bytes);
        weft_put_real(a, row, "power_w", x->power_w > 0 ? x->power_w : NAN);
        weft_put_real(a, row, "idle_w", x->idle_w > 0 ? x->idle_w : NAN);
        if (x->switch_s > 0)
            weft_put_real(a, row, "switch_s", x->switch_s);
        for (int i = 0; i < x->n_designs; i++)
            weft_doc_add(a, designs, design_doc(&x->design[i], a));
        weft_doc_put(a, row, "designs", designs);
    }
    return list;
}

static weft_doc *links_doc(const weft_platform *p, weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int k = 0; k < p->n_links; k++) {
        const weft_link *l = &p->link[k];
        const char *const ends[2] = {weft_place_name(p, l->a), weft_place_name(p, l->b)};
        weft_doc *row = weft_add_map(a, list);

        weft_doc_put(a, row, "between", weft_texts_doc(ends, 2, a));
        weft_put_real(a, row, "bytes_per_s", l->bytes_per_s);
        weft_put_real(a, row, "latency_s", l->latency_s);
        weft_put_text(a, row, "duplex", l->is_half_duplex ? "half" : "full");
    }
    return list;
}

/* Bandwidths or latencies between devices: [from][to], null on the diagonal and where no route is.
 */
static weft_doc *matrix_doc(const weft_platform *p, bool is_latency, weft_arena *a)
{
    weft_doc *rows;

    if (p->n_devices > MOST_ENTRIES)
        return weft_doc_new(a, WEFT_DOC_NULL);
    rows = weft_doc_new(a, WEFT_DOC_LIST);
    for (int from = 0; from < p->n_devices; from++) {
        weft_doc *row = weft_doc_new(a, WEFT_DOC_LIST);

        for (int to = 0; to < p->n_devices; to++) {
            const weft_route *r = weft_platform_route(p, from, to);
            double value = is_latency ? r->latency_s : r->bytes_per_s;

            weft_doc_add(a, row, weft_real_or_null(a, r->n_hops > 0 ? value : NAN));
        }
        weft_doc_add(a, rows, row);
    }
    return rows;
}

weft_doc *weft_platform_doc(const weft_platform *p, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);

    weft_put_text(a, d, "schema", "weft.platform-summary/1");
    weft_put_text(a, d, "name", p->name);
    weft_put_text(a, d, "source", p->source);
    weft_put_text(a, d, "host", p->host < 0 ? NULL : p->device[p->host].name);
    weft_put_text(a, d, "transfer", weft_transfer_name(p->transfer));
    if (p->software != WEFT_SOFTWARE_GRAPH)
        weft_put_text(a, d, "software", weft_software_name(p->software));
    weft_put_bool(a, d, "overlap", p->hides);
    weft_put_text(a, d, "hash", weft_arena_print(a, "%016llx", (unsigned long long)p->hash));
    weft_doc_put(a, d, "costs", weft_accuracy_doc(p, a));
    weft_doc_put(a, d, "devices", devices_doc(p, a));
    weft_doc_put(a, d, "switches", weft_texts_doc(p->switch_name, p->n_switches, a));
    weft_doc_put(a, d, "links", links_doc(p, a));
    weft_doc_put(a, d, "bandwidth_bytes_per_s", matrix_doc(p, false, a));
    weft_doc_put(a, d, "latency_s", matrix_doc(p, true, a));
    return d;
}
