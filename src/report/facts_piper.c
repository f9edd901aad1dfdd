/* SPDX-License-Identifier: MIT */
/* facts_piper.c: a training plan under Piper's objective: facts and a table of stages for a terminal,
 * and numbers. Without a plan: why, and the smallest change that would do.
 *
 * Times are printed as seconds, which the public files do not always mean: docs/formats.md. */
#include "document.h"

#include <math.h>
#include <string.h>

typedef struct piping {
    weft_page g;
    const weft_piper_report *r;
    const weft_piper *p;
    const weft_piper_solution *s;
    weft_arena *a;
} piping;

static bool has_plan(const weft_piper_solution *s)
{
    return s->outcome == WEFT_OPTIMAL || s->outcome == WEFT_BOUNDED;
}

/* First and last node of a stage, and how many it has. */
static int ends_of(const weft_piper_report *r, int stage, int *first, int *last)
{
    int n = 0;

    for (int u = 0; u < r->problem->n_nodes; u++) {
        if (r->solution->plan.stage[u] != stage)
            continue;
        *first = n++ == 0 ? u : *first;
        *last = u;
    }
    return n;
}

/* The mode of all nodes of a stage, or "mixed". */
static const char *mode_of(const weft_piper_report *r, int stage)
{
    const char *name = NULL;

    for (int u = 0; u < r->problem->n_nodes; u++) {
        const char *mode = r->problem->mode[r->solution->plan.mode[u]].name;

        if (r->solution->plan.stage[u] != stage)
            continue;
        if (name != NULL && strcmp(name, mode) != 0)
            return "mixed";
        name = mode;
    }
    return name;
}

static void fact(piping *t, const char *key, const char *label, const char *text, double number)
{
    weft_page_fact(&t->g, key, label, text, NULL, number);
}

/* --- what it is worth ------------------------------------------------------------------------ */

static void add_worth(piping *t)
{
    const weft_piper_solution *s = t->s;
    const char *bound = weft_glued_seconds(t->a, s->bound_s);
    double gap = s->value_s > 0 ? (s->value_s - s->bound_s) / s->value_s : 0;
    char text[32];

    fact(t, "value", "time",
         weft_arena_print(t->a, "%s per sample, the time of stage %d",
                          weft_glued_seconds(t->a, s->value_s), s->measures.slowest),
         s->value_s);
    fact(t, "bound", "bound",
         s->outcome == WEFT_OPTIMAL
             ? weft_arena_print(t->a, "%s  no plan is better", bound)
             : weft_arena_print(t->a, "%s  gap %s %%", bound, weft_format_gap(gap, 2, text)),
         s->bound_s);
    fact(t, "devices", "devices",
         weft_arena_print(
             t->a, "%s of %s in use, in %d stage%s", weft_whole(t->a, s->measures.n_devices),
             weft_whole(t->a, t->p->n_devices), s->plan.n_stages, s->plan.n_stages == 1 ? "" : "s"),
         (double)s->measures.n_devices);
}

static void add_limits(piping *t)
{
    char rate[48];

    weft_unit_print(t->p->bandwidth_bytes_per_s, WEFT_UNIT_BYTES_PER_S, rate);
    fact(t, "given", "given",
         weft_arena_print(t->a, "%s a device, %s, %s microbatches in a batch",
                          weft_glued_bytes(t->a, t->p->memory_bytes), rate,
                          weft_whole(t->a, t->p->n_microbatches)),
         NAN);
    fact(t, "searched", "searched",
         weft_arena_print(t->a, "%s cuts of %s nodes, %s stages in %d probes",
                          weft_whole(t->a, t->s->n_cuts), weft_whole(t->a, t->p->n_nodes),
                          weft_whole(t->a, t->s->n_stages_tried), t->s->n_probes),
         NAN);
}

/* The smallest change that would do. */
static void add_needs(piping *t)
{
    const weft_piper_needs *n = t->r->needs;
    const char *each = t->p->n_devices == 1 ? "the device"
                                            : weft_arena_print(t->a, "each of the %s devices",
                                                               weft_whole(t->a, t->p->n_devices));

    fact(t, "needs_devices", "would do",
         n->n_devices == 0
             ? "more devices alone would not do"
             : weft_arena_print(t->a, "%s devices of this memory%s", weft_whole(t->a, n->n_devices),
                                n->is_fewest ? ", not fewer" : "; fewer may do"),
         NAN);
    fact(t, "needs_memory", "",
         n->memory_bytes <= 0 ? "more memory alone would not do"
                              : weft_arena_print(t->a, "%s bytes (%s) on %s%s",
                                                 weft_whole(t->a, (int64_t)n->memory_bytes),
                                                 weft_glued_bytes(t->a, n->memory_bytes), each,
                                                 n->is_least ? ", not less" : "; less may do"),
         NAN);
}

/* --- tables ---------------------------------------------------------------------------------- */

static void add_stages(piping *t)
{
    static const weft_column column[] = {
        {"stage",        "stage",   "count"},
        {"nodes",        "nodes",   "count"},
        {"ids",          "ids",     "text" },
        {"replicas",     "copies",  "count"},
        {"width",        "width",   "count"},
        {"devices",      "devices", "count"},
        {"sample_s",     "time",    "s"    },
        {"memory_bytes", "memory",  "B"    },
        {"mode",         "mode",    "text" },
    };
    const weft_piper_plan *plan = &t->s->plan;
    weft_doc *rows = weft_page_table(&t->g, &(weft_table){"stages", "Stages", "use", NULL,
                                                          sizeof column / sizeof *column, column,
                                                          .more = "--verbose"});

    for (int i = 0; i < plan->n_stages; i++) {
        int first = 0, last = 0, n = ends_of(t->r, i, &first, &last);
        int width = t->p->width[plan->width[i]];
        long long from = (long long)t->p->id[first], to = (long long)t->p->id[last];
        weft_doc *row = weft_page_row(&t->g, rows);

        weft_cell_int(&t->g, row, i);
        weft_cell_int(&t->g, row, n);
        weft_cell_text(&t->g, row,
                       n == 1 ? weft_arena_print(t->a, "%lld", from)
                              : weft_arena_print(t->a, "%lld .. %lld", from, to));
        weft_cell_int(&t->g, row, plan->replicas[i]);
        weft_cell_int(&t->g, row, width);
        weft_cell_int(&t->g, row, (int64_t)plan->replicas[i] * width);
        weft_cell_real(&t->g, row, t->s->measures.stage_s[i]);
        weft_cell_real(&t->g, row, t->s->measures.stage_bytes[i]);
        weft_cell_text(&t->g, row, mode_of(t->r, i));
    }
}

static void add_nodes(piping *t)
{
    static const weft_column column[] = {
        {"id",    "node",  "count"},
        {"stage", "stage", "count"},
        {"name",  "name",  "text" },
        {"mode",  "mode",  "text" },
    };
    weft_doc *rows = weft_page_table(&t->g, &(weft_table){"nodes", "Nodes", "use", NULL,
                                                          sizeof column / sizeof *column, column,
                                                          .is_detail = true});

    for (int i = 0; i < t->s->plan.n_stages; i++)
        for (int u = 0; u < t->p->n_nodes; u++) {
            weft_doc *row;

            if (t->s->plan.stage[u] != i)
                continue;
            row = weft_page_row(&t->g, rows);
            weft_cell_int(&t->g, row, t->p->id[u]);
            weft_cell_int(&t->g, row, i);
            weft_cell_text(&t->g, row, t->p->name[u]);
            weft_cell_text(&t->g, row, t->p->mode[t->s->plan.mode[u]].name);
        }
}

void weft_piper_report_text(const weft_piper_report *r, bool with_nodes, int width, FILE *to)
{
    piping t = {.r = r, .p = r->problem, .s = r->solution, .a = weft_arena_new()};

    weft_page_begin(&t.g, "piper", t.a);
    t.g.title = weft_arena_print(t.a, "%s: training plan", r->model);
    t.g.subtitle = "least time per sample";
    t.g.outcome = r->solution->outcome;
    t.g.reason = r->solution->reason;
    if (has_plan(t.s))
        add_worth(&t);
    else if (r->needs != NULL)
        add_needs(&t);
    add_limits(&t);
    if (has_plan(t.s)) {
        add_stages(&t);
        add_nodes(&t);
    }
    weft_write_text(&t.g, with_nodes, width, to);
    weft_arena_free(t.a);
}

/* --- numbers --------------------------------------------------------------------------------- */

static weft_doc *limits_doc(const weft_piper *p, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);

    weft_put_int(a, d, "devices", p->n_devices);
    weft_put_real(a, d, "memory_bytes", p->memory_bytes);
    weft_put_int(a, d, "microbatches", p->n_microbatches);
    weft_put_real(a, d, "bandwidth_bytes_per_s", p->bandwidth_bytes_per_s);
    return d;
}

static weft_doc *search_doc(const weft_piper_report *r, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);

    weft_put_int(a, d, "nodes", r->problem->n_nodes);
    weft_put_int(a, d, "cuts", r->solution->n_cuts);
    weft_put_int(a, d, "probes", r->solution->n_probes);
    weft_put_int(a, d, "stages_tried", r->solution->n_stages_tried);
    return d;
}

static weft_doc *needs_doc(const weft_piper_needs *n, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, n == NULL ? WEFT_DOC_NULL : WEFT_DOC_MAP);

    if (n == NULL)
        return d;
    weft_doc_put(a, d, "devices",
                 n->n_devices > 0 ? weft_doc_new_int(a, n->n_devices)
                                  : weft_doc_new(a, WEFT_DOC_NULL));
    weft_put_bool(a, d, "is_fewest", n->is_fewest);
    weft_put_real(a, d, "memory_bytes", n->memory_bytes > 0 ? n->memory_bytes : NAN);
    weft_put_bool(a, d, "is_least", n->is_least);
    return d;
}

static weft_doc *stages_doc(const weft_piper_report *r, weft_arena *a)
{
    const weft_piper_plan *plan = &r->solution->plan;
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int i = 0; i < plan->n_stages; i++) {
        int first = 0, last = 0, n = ends_of(r, i, &first, &last);
        int width = r->problem->width[plan->width[i]];
        weft_doc *d = weft_add_map(a, list);

        weft_put_int(a, d, "nodes", n);
        weft_put_text(a, d, "first", r->problem->name[first]);
        weft_put_text(a, d, "last", r->problem->name[last]);
        weft_put_int(a, d, "replicas", plan->replicas[i]);
        weft_put_int(a, d, "width", width);
        weft_put_int(a, d, "devices", (int64_t)plan->replicas[i] * width);
        weft_put_real(a, d, "sample_s", r->solution->measures.stage_s[i]);
        weft_put_real(a, d, "memory_bytes", r->solution->measures.stage_bytes[i]);
    }
    return list;
}

void weft_piper_report_put(const weft_piper_report *r, weft_doc *map, weft_arena *a)
{
    bool has = has_plan(r->solution);

    weft_doc_put(a, map, "limits", limits_doc(r->problem, a));
    weft_doc_put(a, map, "search", search_doc(r, a));
    weft_doc_put(a, map, "needs", needs_doc(has ? NULL : r->needs, a));
    weft_doc_put(a, map, "stages", has ? stages_doc(r, a) : weft_doc_new(a, WEFT_DOC_NULL));
}

static weft_doc *stage_plan_doc(const weft_piper_report *r, int stage, weft_arena *a)
{
    const weft_piper_plan *plan = &r->solution->plan;
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP), *nodes = weft_doc_new(a, WEFT_DOC_LIST);

    weft_put_int(a, d, "replicas", plan->replicas[stage]);
    weft_put_int(a, d, "width", r->problem->width[plan->width[stage]]);
    for (int u = 0; u < r->problem->n_nodes; u++) {
        weft_doc *node = weft_doc_new(a, WEFT_DOC_MAP);

        if (plan->stage[u] != stage)
            continue;
        weft_put_int(a, node, "id", r->problem->id[u]);
        weft_put_text(a, node, "mode", r->problem->mode[plan->mode[u]].name);
        weft_doc_add(a, nodes, node);
    }
    weft_doc_put(a, d, "nodes", nodes);
    return d;
}

weft_doc *weft_piper_plan_doc(const weft_piper_report *r, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP), *stages = weft_doc_new(a, WEFT_DOC_LIST);

    if (!has_plan(r->solution))
        return NULL;
    for (int i = 0; i < r->solution->plan.n_stages; i++)
        weft_doc_add(a, stages, stage_plan_doc(r, i, a));
    weft_doc_put(a, d, "stages", stages);
    return d;
}
