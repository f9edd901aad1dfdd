/* SPDX-License-Identifier: MIT */
/* facts_run.c: what weft run has measured of a plan, on the page of the plan: a row of the timeline for
 * each device, below those that were planned, a card, and a table of segments. */
#include "document.h"

#include <math.h>
#include <string.h>

static double number(const weft_doc *map, const char *key)
{
    const weft_doc *d = map != NULL && map->kind == WEFT_DOC_MAP ? weft_doc_get(map, key) : NULL;

    return d != NULL && weft_doc_is_number(d) ? d->real : NAN;
}

/* "conv1 and 3 more". */
static const char *nodes_text(weft_page *g, const weft_doc *segment)
{
    const weft_doc *nodes = weft_doc_get(segment, "nodes");
    const char *first = nodes && nodes->kind == WEFT_DOC_LIST && nodes->n > 0 &&
                                nodes->item[0]->kind == WEFT_DOC_TEXT
                            ? nodes->item[0]->text
                            : "";

    return nodes && nodes->kind == WEFT_DOC_LIST && nodes->n > 1
               ? weft_arena_print(g->a, "%s and %d more", first, nodes->n - 1)
               : first;
}

/* Rows of what devices were measured to do, in their order; -1: nothing. */
static int *add_rows(weft_page *g, const weft_doc *segments, int n_devices)
{
    int *row = WEFT_NEW(g->a, int, n_devices + 1);

    for (int d = 0; d < n_devices; d++) {
        const char *name = g->time.rows.at[d].name;
        bool is_used = false;

        for (int i = 0; i < segments->n; i++)
            is_used |= strcmp(weft_doc_text_or_none(segments->item[i], "device"), name) == 0;
        row[d] = is_used ? g->time.rows.n : -1;
        if (is_used)
            weft_page_add_row(&g->time, weft_arena_print(g->a, "%s, measured", name), "measured",
                              d);
    }
    return row;
}

/* -1: there is no such device. */
static int row_of(const weft_page *g, const char *device, const int *row, int n_devices)
{
    for (int d = 0; d < n_devices; d++)
        if (strcmp(g->time.rows.at[d].name, device) == 0)
            return row[d];
    return -1;
}

static void add_bars(weft_page *g, const weft_doc *segments, int compute)
{
    int n_devices = 0;
    const int *row;

    while (n_devices < g->time.rows.n && strcmp(g->time.rows.at[n_devices].kind, "device") == 0)
        n_devices++;
    row = add_rows(g, segments, n_devices);
    for (int i = 0; i < segments->n; i++) {
        const weft_doc *s = segments->item[i];
        int at = row_of(g, weft_doc_text_or_none(s, "device"), row, n_devices);
        double begin_s = number(s, "begin_s"), end_s = number(s, "end_s");

        if (at < 0 || !(begin_s >= 0) || !(end_s >= begin_s))
            continue;
        weft_page_add_bar(&g->time, &(weft_page_bar){.row = at,
                                                     .kind = compute,
                                                     .node = -1,
                                                     .job = -1,
                                                     .start_s = begin_s,
                                                     .end_s = end_s,
                                                     .name = nodes_text(g, s)});
        g->time.end_s = fmax(g->time.end_s, end_s);
    }
}

void weft_page_add_measured(weft_page *g, const weft_doc *run, int compute)
{
    const weft_doc *segments = weft_doc_get(run, "segments");

    if (segments != NULL && segments->kind == WEFT_DOC_LIST)
        add_bars(g, segments, compute);
}

static void add_card(weft_page *g, const weft_doc *run)
{
    const weft_doc *m = weft_doc_get(run, "measured");
    double median_s = number(m, "median_s"), kept = number(m, "kept"), items = number(m, "items");
    double error = number(run, "error");
    const char *counted = weft_arena_print(g->a, "%.0f of %.0f items undisturbed", kept, items);

    if (isnan(median_s))
        weft_page_fact(g, "measured_latency", "measured", "machine not quiet", counted, NAN);
    else
        weft_page_fact(
            g, "measured_latency", "measured", weft_glued_seconds(g->a, median_s),
            weft_arena_print(g->a, "median; %s; the plan is off by %+.1f %%", counted, 100 * error),
            median_s);
}

void weft_page_add_run_facts(weft_page *g, const weft_doc *run)
{
    static const weft_column columns[] = {
        {"device",   "device",             "text"},
        {"nodes",    "operators",          "text"},
        {"planned",  "planned",            "s"   },
        {"measured", "measured",           "s"   },
        {"off",      "measured - planned", "s"   }
    };
    static const weft_table table = {.id = "segments",
                                     .title = "Segments, planned and measured",
                                     .section = "compare",
                                     .n_columns = 5,
                                     .column = columns,
                                     .rank = "off",
                                     .is_detail = true};
    const weft_doc *segments = weft_doc_get(run, "segments");
    weft_doc *rows;

    add_card(g, run);
    rows = weft_page_table(g, &table);
    for (int i = 0; segments != NULL && segments->kind == WEFT_DOC_LIST && i < segments->n; i++) {
        const weft_doc *s = segments->item[i];
        weft_doc *row = weft_page_row(g, rows);
        double planned_s = number(s, "planned_s"), measured_s = number(s, "measured_s");

        weft_cell_text(g, row, weft_doc_text_or_none(s, "device"));
        weft_cell_text(g, row, nodes_text(g, s));
        weft_cell_real(g, row, planned_s);
        weft_cell_real(g, row, measured_s);
        weft_cell_real(g, row, measured_s - planned_s);
    }
}
