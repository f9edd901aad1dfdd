/* SPDX-License-Identifier: MIT */
/* document.c: what the data of all kinds of pages is made of.
 *
 * Parallel arrays keep it small: a page of 10,000 tasks has hundreds of thousands of numbers. Those
 * of drawings have nine digits; those of the result, of the facts and of tables are exact. */
#include "document.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- numbers --------------------------------------------------------------------------------- */

double weft_page_rounded(double x)
{
    char text[32];

    if (!isfinite(x) || (fabs(x) < 1e9 && x == floor(x)))
        return x;
    snprintf(text, sizeof text, "%.9g", x);
    return strtod(text, NULL);
}

static weft_doc *number_doc(double x, weft_arena *a)
{
    if (fabs(x) < 1e15 && x == floor(x))
        return weft_doc_new_int(a, (int64_t)x);
    return weft_real_or_null(a, x);
}

weft_doc *weft_page_ints(const int *x, int n, weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int i = 0; i < n; i++)
        weft_doc_add(a, list, weft_doc_new_int(a, x[i]));
    return list;
}

weft_doc *weft_page_reals(const double *x, int n, weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, x ? WEFT_DOC_LIST : WEFT_DOC_NULL);

    for (int i = 0; x != NULL && i < n; i++)
        weft_doc_add(a, list, number_doc(weft_page_rounded(x[i]), a));
    return list;
}

weft_doc *weft_page_texts(const char *const *x, int n, weft_arena *a)
{
    return x ? weft_texts_doc(x, n, a) : weft_doc_new(a, WEFT_DOC_NULL);
}

/* --- memory ---------------------------------------------------------------------------------- */

static weft_doc *memory_doc(const weft_page *g)
{
    weft_doc *list = weft_doc_new(g->a, WEFT_DOC_LIST);

    for (int k = 0; k < g->memory.n; k++) {
        const weft_page_curve *c = &g->memory.at[k];
        weft_doc *d = weft_add_map(g->a, list);
        weft_doc *at = weft_doc_new(g->a, WEFT_DOC_LIST);
        weft_doc *bytes = weft_doc_new(g->a, WEFT_DOC_LIST);

        for (int i = 0; i < c->n; i++) {
            weft_doc_add(g->a, at, number_doc(weft_page_rounded(c->sample[i].at_s), g->a));
            weft_doc_add(g->a, bytes, number_doc(c->sample[i].bytes, g->a));
        }
        weft_put_text(g->a, d, "name", c->name);
        weft_doc_put(g->a, d, "capacity", number_doc(c->capacity, g->a));
        weft_doc_put(g->a, d, "at", at);
        weft_doc_put(g->a, d, "bytes", bytes);
    }
    return list;
}

/* --- the whole ------------------------------------------------------------------------------- */

void weft_page_begin(weft_page *g, const char *kind, weft_arena *a)
{
    *g = (weft_page){.a = a, .kind = kind, .title = "", .subtitle = "", .nothing = "plan"};
    g->facts = weft_doc_new(a, WEFT_DOC_LIST);
    g->tables = weft_doc_new(a, WEFT_DOC_LIST);
    g->plots = weft_doc_new(a, WEFT_DOC_LIST);
    g->about = weft_doc_new(a, WEFT_DOC_LIST);
    g->assumptions = weft_doc_new(a, WEFT_DOC_LIST);
}

static weft_doc *or_null(const weft_page *g, weft_doc *part)
{
    return part ? part : weft_doc_new(g->a, WEFT_DOC_NULL);
}

weft_doc *weft_write_page(const weft_page *g)
{
    weft_arena *a = g->a;
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);

    weft_put_text(a, d, "schema", "weft.page/1");
    weft_put_text(a, d, "kind", g->kind);
    weft_put_text(a, d, "title", g->title);
    weft_put_text(a, d, "subtitle", g->subtitle);
    weft_doc_put(a, d, "result", or_null(g, g->result));
    weft_doc_put(a, d, "facts", g->facts);
    weft_doc_put(a, d, "timeline",
                 or_null(g, g->time.rows.n ? weft_page_timeline(&g->time) : NULL));
    weft_doc_put(a, d, "graph", or_null(g, g->graph));
    weft_doc_put(a, d, "memory", memory_doc(g));
    weft_doc_put(a, d, "tables", g->tables);
    weft_doc_put(a, d, "chain", or_null(g, g->chain ? weft_page_chain(g) : NULL));
    weft_doc_put(a, d, "bound", or_null(g, g->bound));
    weft_doc_put(a, d, "plots", g->plots);
    weft_doc_put(a, d, "about", g->about);
    weft_doc_put(a, d, "assumptions", g->assumptions);
    weft_put_text(a, d, "command", g->command);
    return d;
}

weft_doc *weft_write_result(const weft_page *g)
{
    return g->result;
}

const char *weft_software_note(const weft_plan_origin *o, weft_arena *a)
{
    if (o == NULL || o->options.software == WEFT_SOFTWARE_GRAPH)
        return "";
    return weft_arena_print(a, ", software %s", weft_software_name(o->options.software));
}

void weft_page_result(weft_page *g, const weft_result_head *h)
{
    const weft_plan_origin *o = h->origin;
    const weft_proof *proof = h->proof;
    weft_arena *a = g->a;
    bool has = weft_has_plan(proof);
    weft_doc *d = g->result = weft_doc_new(a, WEFT_DOC_MAP);

    weft_put_text(a, d, "schema", "weft.result/1");
    weft_put_text(a, d, "command", h->command);
    weft_put_text(a, d, "model", o ? o->model : h->model);
    weft_put_text(a, d, "platform", o ? o->platform : h->platform);
    if (h->software != NULL || (o && o->options.software != WEFT_SOFTWARE_GRAPH))
        weft_put_text(a, d, "software",
                      h->software ? h->software : weft_software_name(o->options.software));
    weft_put_text(a, d, "goal", h->goal);
    weft_put_text(a, d, "solver", o ? o->solver : h->solver);
    weft_put_text(a, d, "status", weft_outcome_name(proof->outcome));
    weft_put_text(a, d, "sense", h->is_max ? "max" : "min");
    weft_put_real(a, d, "value", has ? proof->value : NAN);
    weft_put_text(a, d, "unit", h->unit);
    if (h->has_rate)
        weft_put_real(a, d, "per_second", has ? 1 / proof->value : NAN);
    weft_put_real(a, d, "bound", proof->bound);
    weft_put_real(a, d, "gap", has ? proof->gap : NAN);
    if (!h->is_max)
        weft_put_text(a, d, "method", proof->method);
    if (proof->grain_s > 0)
        weft_put_real(a, d, "grain", proof->grain_s);
    if (proof->stopped != NULL)
        weft_put_text(a, d, "stopped", proof->stopped);
    weft_put_text(a, d, "reason", has ? NULL : proof->reason);
}

weft_doc *weft_page_rows(const weft_page *g, const char *table)
{
    weft_doc *list = weft_doc_new(g->a, WEFT_DOC_LIST);
    const weft_doc *columns, *rows;
    int i = 0;

    while (i < g->tables->n && strcmp(weft_doc_get(g->tables->item[i], "id")->text, table) != 0)
        i++;
    if (i == g->tables->n)
        return NULL;
    columns = weft_doc_get(g->tables->item[i], "columns");
    rows = weft_doc_get(g->tables->item[i], "rows");
    for (int r = 0; r < rows->n; r++) {
        weft_doc *d = weft_add_map(g->a, list);

        for (int c = 0; c < columns->n; c++)
            weft_doc_put(g->a, d, weft_doc_get(columns->item[c], "key")->text,
                         rows->item[r]->item[c]);
    }
    return list;
}

void weft_put_times(weft_page *g, weft_doc *map)
{
    const weft_doc *part = weft_page_rows(g, "times");

    for (int i = 0; i < part->n; i++)
        weft_put_real(g->a, map,
                      weft_arena_print(g->a, "%s_s", weft_doc_get(part->item[i], "part")->text),
                      weft_doc_get(part->item[i], "seconds")->real);
}

void weft_put_or_null(weft_page *g, weft_doc *map, const char *key, weft_doc *d)
{
    weft_doc_put(g->a, map, key, or_null(g, d));
}

/* --- facts ----------------------------------------------------------------------------------- */

void weft_page_fact(weft_page *g, const char *key, const char *label, const char *text,
                    const char *note, double number)
{
    weft_doc *d = weft_add_map(g->a, g->facts);

    weft_put_text(g->a, d, "key", key);
    weft_put_text(g->a, d, "label", label);
    weft_put_text(g->a, d, "text", weft_unglued(g->a, text));
    weft_put_text(g->a, d, "note", note ? weft_unglued(g->a, note) : NULL);
    weft_put_real(g->a, d, "number", number);
}

static const char *gap_text(const weft_proof *proof, weft_arena *a)
{
    char text[32];

    return weft_arena_print(a, "%s %%", weft_format_gap(proof->gap, 1, text));
}

/* Where the bound comes from, and what it is rounded up to. */
static const char *method_words(const weft_proof *proof, weft_arena *a)
{
    char grain[48];

    if (proof->method == NULL || !(proof->grain_s > 0))
        return proof->method;
    return weft_arena_print(a, "%s, in multiples of %s", proof->method,
                            weft_unit_print(proof->grain_s, WEFT_UNIT_SECONDS, grain));
}

static const char *stopped_words(const char *why)
{
    if (strcmp(why, "search exhausted") == 0)
        return "more time would change nothing";
    return strcmp(why, "interrupted") == 0 ? "this is the best plan so far"
                                           : "with more, a better plan or bound may be found";
}

void weft_page_proof_facts(weft_page *g, const char *label, const char *text,
                           const weft_proof *proof)
{
    bool is_optimal = proof->outcome == WEFT_OPTIMAL;
    const char *gap = gap_text(proof, g->a);

    weft_page_fact(g, "value", label, text,
                   is_optimal ? "proved optimal"
                   : proof->bound > 0
                       ? weft_arena_print(g->a, "the best possible is at most %s lower", gap)
                       : "no bound is known",
                   proof->value);
    if (proof->bound > 0) {
        weft_page_fact(g, "bound", "bound", weft_glued_seconds(g->a, proof->bound),
                       proof->method ? weft_arena_print(g->a, "no plan is below it (%s)",
                                                        method_words(proof, g->a))
                                     : "no plan is below it",
                       proof->bound);
        weft_page_fact(g, "gap", "gap", gap,
                       is_optimal ? "no plan is better" : "between the value and the bound",
                       proof->gap);
    }
    if (proof->stopped != NULL && !is_optimal)
        weft_page_fact(g, "stopped", "stopped", proof->stopped, stopped_words(proof->stopped), NAN);
}

void weft_page_assume(weft_page *g, const char *text)
{
    weft_doc_add(g->a, g->assumptions, weft_doc_new_text(g->a, weft_unglued(g->a, text)));
}

void weft_page_warn(weft_page *g, const char *text)
{
    WEFT_PUSH(g->a, g->warnings, text);
    weft_page_assume(g, text);
}

/* --- about ----------------------------------------------------------------------------------- */

weft_doc *weft_page_about(weft_page *g, const char *title)
{
    weft_doc *d = weft_add_map(g->a, g->about), *rows = weft_doc_new(g->a, WEFT_DOC_LIST);

    weft_put_text(g->a, d, "title", title);
    weft_doc_put(g->a, d, "rows", rows);
    return rows;
}

void weft_about(weft_page *g, weft_doc *rows, const char *key, const char *text)
{
    weft_doc *pair = weft_doc_new(g->a, WEFT_DOC_LIST);

    if (text == NULL)
        return;
    weft_doc_add(g->a, pair, weft_doc_new_text(g->a, key));
    weft_doc_add(g->a, pair, weft_doc_new_text(g->a, weft_unglued(g->a, text)));
    weft_doc_add(g->a, rows, pair);
}

static const char *hash_text(weft_page *g, uint64_t hash)
{
    return weft_arena_print(g->a, "%016" PRIx64, hash);
}

/* Does the name of a --dim stand for a size that depends on the data? */
static bool is_assumed(const weft_graph *graph, const char *name)
{
    for (int i = 0; graph != NULL && i < graph->n_assumed; i++)
        if (strcmp(graph->assumed[i].name, name) == 0)
            return true;
    return false;
}

static void about_model(weft_page *g, const weft_plan_origin *o, const weft_graph *graph)
{
    weft_doc *rows = weft_page_about(g, "Model");
    const weft_model_options *opt = &o->options;

    weft_about(g, rows, "source", o->model);
    weft_about(g, rows, "format", o->format);
    weft_about(g, rows, "content hash", hash_text(g, o->model_hash));
    if (graph != NULL)
        weft_about(g, rows, "size",
                   weft_arena_print(g->a, "%s operators, %s tensors",
                                    weft_whole(g->a, graph->n_nodes),
                                    weft_whole(g->a, graph->n_tensors)));
    if (opt->batch > 0)
        weft_about(g, rows, "batch", weft_whole(g->a, opt->batch));
    for (int i = 0; i < opt->n_dims; i++)
        weft_about(
            g, rows,
            weft_arena_print(g->a, "%s %s",
                             is_assumed(graph, opt->dim[i].name) ? "assumed size of" : "dimension",
                             opt->dim[i].name),
            weft_whole(g->a, opt->dim[i].size));
    if (opt->dtype != WEFT_TYPE_UNKNOWN)
        weft_about(g, rows, "element type", weft_dtype_name(opt->dtype));
    if (opt->software != WEFT_SOFTWARE_GRAPH)
        weft_about(g, rows, "software", weft_software_name(opt->software));
    if (opt->train)
        weft_about(g, rows, "training",
                   weft_arena_print(g->a, "with backward and optimizer (%s)",
                                    weft_optimizer_name(opt->optimizer)));
}

static void about_platform(weft_page *g, const weft_plan_origin *o, const weft_platform *p)
{
    weft_doc *rows;

    if (o->platform == NULL)
        return;
    rows = weft_page_about(g, "Platform");
    weft_about(g, rows, "source", o->platform);
    weft_about(g, rows, "content hash", hash_text(g, o->platform_hash));
    if (p == NULL)
        return;
    weft_about(g, rows, "name", p->name);
    weft_about(g, rows, "devices", weft_whole(g->a, p->n_devices));
    weft_about(g, rows, "links", weft_whole(g->a, p->n_links));
    weft_about(g, rows, "transfers", weft_transfer_name(p->transfer));
    weft_about(g, rows, "host", p->host >= 0 ? p->device[p->host].name : NULL);
}

void weft_page_origin(weft_page *g, const weft_plan_origin *o, const weft_page_more *more,
                      weft_doc **options)
{
    about_model(g, o, more->graph);
    about_platform(g, o, more->platform);
    *options = weft_page_about(g, "Options");
    weft_about(g, *options, "solver", o->solver);
    weft_about(g, *options, "seed", weft_whole(g->a, o->seed));
    weft_about(g, *options, "hash of the problem", hash_text(g, o->problem_hash));
    weft_about(g, *options, "version of weft", more->version);
    g->command = more->command;
}

void weft_page_proof(weft_page *g, const weft_proof *proof)
{
    weft_doc *rows = weft_page_about(g, "Proof");

    weft_about(g, rows, "status", weft_outcome_name(proof->outcome));
    weft_about(g, rows, "method of the bound", method_words(proof, g->a));
    if (proof->bound > 0)
        weft_about(g, rows, "certified",
                   proof->certified >= proof->bound * (1 - 1e-9)
                       ? "the whole bound: weft check computes it again"
                       : weft_arena_print(g->a,
                                          "%s of %s: weft check computes it again; the rest was "
                                          "found by a search",
                                          weft_glued_seconds(g->a, proof->certified),
                                          weft_glued_seconds(g->a, proof->bound)));
}

/* --- tables ---------------------------------------------------------------------------------- */

weft_doc *weft_page_table(weft_page *g, const weft_table *t)
{
    weft_arena *a = g->a;
    weft_doc *d = weft_add_map(a, g->tables), *columns = weft_doc_new(a, WEFT_DOC_LIST);
    weft_doc *rows = weft_doc_new(a, WEFT_DOC_LIST);

    for (int i = 0; i < t->n_columns; i++) {
        weft_doc *c = weft_add_map(a, columns);

        weft_put_text(a, c, "key", t->column[i].key);
        weft_put_text(a, c, "name", t->column[i].name);
        weft_put_text(a, c, "unit", t->column[i].unit);
    }
    weft_put_text(a, d, "id", t->id);
    weft_put_text(a, d, "title", t->title);
    weft_put_text(a, d, "section", t->section);
    weft_put_text(a, d, "note", t->note);
    weft_put_text(a, d, "rank", t->rank);
    weft_put_text(a, d, "more", t->more);
    if (t->n_shown != 0)
        weft_put_int(a, d, "n_shown", t->n_shown);
    weft_put_bool(a, d, "is_detail", t->is_detail);
    weft_doc_put(a, d, "columns", columns);
    weft_doc_put(a, d, "rows", rows);
    return rows;
}

weft_doc *weft_page_row(weft_page *g, weft_doc *rows)
{
    weft_doc *row = weft_doc_new(g->a, WEFT_DOC_LIST);

    weft_doc_add(g->a, rows, row);
    return row;
}

void weft_cell_text(weft_page *g, weft_doc *row, const char *text)
{
    weft_doc_add(g->a, row,
                 text ? weft_doc_new_text(g->a, text) : weft_doc_new(g->a, WEFT_DOC_NULL));
}

void weft_cell_real(weft_page *g, weft_doc *row, double x)
{
    weft_doc_add(g->a, row, weft_real_or_null(g->a, x));
}

void weft_cell_int(weft_page *g, weft_doc *row, int64_t x)
{
    weft_doc_add(g->a, row, weft_doc_new_int(g->a, x));
}

/* --- why ------------------------------------------------------------------------------------- */

weft_doc *weft_page_bound(const weft_why *why, const weft_proof *proof, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP), *parts = weft_doc_new(a, WEFT_DOC_LIST);

    for (int i = 0; i < why->n_parts; i++) {
        const weft_why_part *p = &why->part[i];
        weft_doc *part = weft_add_map(a, parts);

        weft_put_text(a, part, "key", p->key);
        weft_put_text(a, part, "name", p->name);
        weft_put_text(a, part, "text", p->text ? weft_unglued(a, p->text) : NULL);
        weft_put_real(a, part, "seconds", p->seconds);
        weft_doc_put(a, part, "nodes", weft_page_ints(p->task, p->n_tasks, a));
    }
    weft_put_real(a, d, "value", proof->bound);
    weft_put_text(a, d, "method", proof->method);
    weft_put_bool(a, d, "is_explained", why->is_explained);
    weft_put_text(a, d, "text", why->text ? weft_unglued(a, why->text) : NULL);
    weft_doc_put(a, d, "parts", parts);
    return d;
}
