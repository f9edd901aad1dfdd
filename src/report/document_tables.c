/* SPDX-License-Identifier: MIT */
/* document_tables.c: tables of a page that come from other commands, and tables as comma-separated
 * values (RFC 4180: a field with a comma, a quote or a line end is quoted). */
#include "document.h"

#include <math.h>
#include <string.h>

/* --- what other commands printed ------------------------------------------------------------- */

/* A cell of a document, of whatever kind; what is not there is null. */
static void copy_cell(weft_page *g, weft_doc *row, const weft_doc *from, const char *key)
{
    const weft_doc *x = weft_doc_get(from, key);

    if (x != NULL && x->kind == WEFT_DOC_TEXT)
        weft_cell_text(g, row, x->text);
    else if (x != NULL && x->kind == WEFT_DOC_INT)
        weft_cell_int(g, row, x->integer);
    else
        weft_cell_real(g, row, x != NULL && x->kind == WEFT_DOC_REAL ? x->real : NAN);
}

static void copy_rows(weft_page *g, const weft_table *t, const weft_doc *list)
{
    weft_doc *rows = weft_page_table(g, t);

    for (int i = 0; i < list->n; i++) {
        weft_doc *row = weft_page_row(g, rows);

        for (int k = 0; k < t->n_columns; k++)
            copy_cell(g, row, list->item[i], t->column[k].key);
    }
}

static void add_comparison(weft_page *g, const weft_doc *d)
{
    const weft_doc *list = weft_doc_get(d, "solvers"), *task = weft_doc_get(d, "task");
    bool is_shard = task != NULL && task->kind == WEFT_DOC_TEXT && strcmp(task->text, "shard") == 0;
    const weft_column column[] = {
        {"solver",                            "solver",                           "text"},
        {"status",                            "status",                           "text"},
        {"value",                             "value",                            "s"   },
        {is_shard ? "reduction" : "speed_up", is_shard ? "lower by" : "speed-up",
         is_shard ? "%" : "x"                                                           },
        {"bound",                             "bound",                            "s"   },
        {"gap",                               "gap",                              "%"   },
        {"seconds",                           "solved in",                        "s"   },
    };

    if (list != NULL && list->kind == WEFT_DOC_LIST)
        copy_rows(g,
                  &(weft_table){"compare", "Solvers side by side", "compare",
                                is_shard ? "Lower by: than the best of the plain baselines."
                                         : "Speed-up: over the best single device.",
                                sizeof column / sizeof *column, column, .rank = NULL},
                  list);
}

static bool is_true(const weft_doc *map, const char *key)
{
    const weft_doc *d = weft_doc_get(map, key);

    return d != NULL && d->kind == WEFT_DOC_BOOL && d->truth;
}

static void add_upgrades(weft_page *g, const weft_doc *list)
{
    static const weft_column column[] = {
        {"kind",        "kind",            "text"},
        {"what",        "upgrade",         "text"},
        {"value",       "value then",      "s"   },
        {"bound",       "bound then",      "s"   },
        {"gap",         "gap then",        "%"   },
        {"gain",        "faster by",       "x"   },
        {"least_gain",  "proved",          "x"   },
        {"most_gain",   "at most",         "x"   },
        {"cannot_help", "proved useless",  "text"},
        {"edit",        "in the platform", "text"},
    };
    weft_doc *rows = weft_page_table(
        g,
        &(weft_table){"upgrades", "What an upgrade is worth", "upgrades",
                      "Each is solved again on the upgraded platform. Proved: the best plan there "
                      "is faster by that at least (below 1: nothing is proved); at most: what no "
                      "plan there can beat.",
                      sizeof column / sizeof *column, column, .rank = NULL});

    for (int i = 0; i < list->n; i++) {
        const weft_doc *from = list->item[i];
        weft_doc *row = weft_page_row(g, rows);

        for (size_t k = 0; k < sizeof column / sizeof *column; k++)
            if (strcmp(column[k].key, "cannot_help") == 0)
                weft_cell_text(g, row, is_true(from, "cannot_help") ? "yes" : "no");
            else
                copy_cell(g, row, from, column[k].key);
    }
}

static void add_ranges(weft_page *g, const weft_doc *list, const weft_doc *tolerance)
{
    static const weft_column column[] = {
        {"kind",   "kind",   "text"},
        {"name",   "name",   "text"},
        {"least",  "from",   "x"   },
        {"most",   "to",     "x"   },
        {"proved", "proved", "text"},
    };
    const char *note =
        weft_arena_print(g->a,
                         "Factors on the times of a device or link between which the plan stays "
                         "within %.3g %% of the best found, wherever it was tried. Proved: a bound "
                         "shows it at each factor that was tried.",
                         tolerance ? 100 * tolerance->real : 1);
    weft_doc *rows =
        weft_page_table(g, &(weft_table){"uncertainty", "How wrong costs may be", "upgrades", note,
                                         sizeof column / sizeof *column, column, .rank = NULL});

    for (int i = 0; i < list->n; i++) {
        const weft_doc *from = list->item[i];
        weft_doc *row = weft_page_row(g, rows);

        for (int k = 0; k < 4; k++)
            copy_cell(g, row, from, column[k].key);
        weft_cell_text(g, row, is_true(from, "proved") ? "yes" : "no");
    }
}

static const weft_doc *list_in(const weft_doc *map, const char *key)
{
    const weft_doc *d = map ? weft_doc_get(map, key) : NULL;

    return d != NULL && d->kind == WEFT_DOC_LIST && d->n > 0 ? d : NULL;
}

static void add_explanation(weft_page *g, const weft_doc *d)
{
    const weft_doc *upgrades = list_in(d, "upgrades");
    const weft_doc *sensitivity = weft_doc_get(d, "uncertainty"),
                   *ranges = list_in(sensitivity, "ranges");

    if (upgrades != NULL)
        add_upgrades(g, upgrades);
    if (ranges != NULL)
        add_ranges(g, ranges, weft_doc_get(sensitivity, "tolerance"));
}

weft_doc *weft_assumed_doc(const weft_graph *graph, weft_arena *a)
{
    weft_doc *sizes = weft_doc_new(a, WEFT_DOC_MAP);

    for (int i = 0; i < graph->n_assumed; i++)
        weft_put_int(a, sizes, graph->assumed[i].name, graph->assumed[i].size);
    return sizes;
}

/* Sizes that the user gave to what depends on the data: costs and memory follow from them. */
static void add_assumed_sizes(weft_page *g, const weft_graph *graph)
{
    const char *text = "";

    for (int i = 0; i < graph->n_assumed; i++) {
        const weft_assumed_size *s = &graph->assumed[i];

        text = weft_arena_print(g->a, "%s%s%s = %lld", text, i == 0 ? "" : ", ", s->name,
                                (long long)s->size);
    }
    weft_doc_put(g->a, g->result, "assumed_sizes", weft_assumed_doc(graph, g->a));
    weft_page_warn(g, weft_arena_print(g->a,
                                       "Sizes that depend on the data are assumed: %s. Times and "
                                       "memory are those of data with these sizes.",
                                       text));
}

void weft_page_add_more(weft_page *g, const weft_page_more *more, const weft_proof *proof)
{
    if (more->network != NULL && more->network->n_assumed > 0)
        add_assumed_sizes(g, more->network);
    if (more->is_brief)
        return;
    if (more->run != NULL)
        weft_page_add_run_facts(g, more->run);
    if (more->compare != NULL)
        add_comparison(g, more->compare);
    if (more->explain != NULL)
        add_explanation(g, more->explain);
    if (more->why != NULL)
        g->bound = weft_page_bound(more->why, proof, g->a);
}

/* --- comma-separated values ------------------------------------------------------------------ */

void weft_put_csv(FILE *to, const char *text)
{
    if (text[strcspn(text, ",\"\r\n")] == '\0') {
        fputs(text, to);
        return;
    }
    fputc('"', to);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', to);
        fputc(*text, to);
    }
    fputc('"', to);
}

/* "busy (s)"; counts and texts have no unit, shares are of 1. */
static void put_header(FILE *to, const weft_doc *column, weft_arena *a)
{
    const weft_doc *name = weft_doc_get(column, "name"), *unit = weft_doc_get(column, "unit");
    const char *word = unit->text;

    if (strcmp(word, "text") == 0 || strcmp(word, "count") == 0)
        weft_put_csv(to, name->text);
    else
        weft_put_csv(to, weft_arena_print(a, "%s (%s)", name->text,
                                          strcmp(word, "%") == 0 ? "share of 1" : word));
}

static void put_cell(FILE *to, const weft_doc *cell)
{
    switch (cell->kind) {
    case WEFT_DOC_TEXT:
        weft_put_csv(to, cell->text);
        break;
    case WEFT_DOC_INT:
        fprintf(to, "%lld", (long long)cell->integer);
        break;
    case WEFT_DOC_REAL:
        fprintf(to, "%.17g", cell->real);
        break;
    default:
        break; /* nothing is known */
    }
}

void weft_page_table_csv(const weft_doc *table, FILE *to)
{
    const weft_doc *columns = weft_doc_get(table, "columns"), *rows = weft_doc_get(table, "rows");
    weft_arena *a = weft_arena_new();

    for (int i = 0; i < columns->n; i++) {
        if (i > 0)
            fputc(',', to);
        put_header(to, columns->item[i], a);
    }
    fputc('\n', to);
    for (int i = 0; i < rows->n; i++)
        for (int k = 0; k < rows->item[i]->n; k++) {
            put_cell(to, rows->item[i]->item[k]);
            fputc(k + 1 < rows->item[i]->n ? ',' : '\n', to);
        }
    weft_arena_free(a);
}
