/* SPDX-License-Identifier: MIT */
/* out_piper.c: a training plan under Piper's objective, for a terminal and as numbers.
 *
 * 1. What it is worth: time per sample, bound, devices in use.
 * 2. A line for each stage: its nodes, replicas, tensor width, time, memory; nodes and modes below
 *    it if asked for.
 * 3. Without a plan: why, and the smallest change that would do.
 *
 * Times are printed as seconds, which the public files do not always mean: docs/formats.md. */
#include "fields.h"

#include <math.h>
#include <string.h>

enum { DEFAULT_WIDTH = 80, LEAST_WIDTH = 60, MOST_WIDTH = 1000, MOST_NAME = 18, MOST_MODE = 18 };

typedef struct page {
    const weft_piper_report *r;
    const weft_piper *p;
    const weft_piper_solution *s;
    FILE *to;
    weft_arena *a; /* scratch */
    int width;
} page;

static bool has_plan(const weft_piper_solution *s)
{
    return s->outcome == WEFT_OPTIMAL || s->outcome == WEFT_BOUNDED;
}

static void field(page *g, const char *label, const char *text)
{
    weft_print_field(g->to, g->width, label, text);
}

static const char *whole(page *g, int64_t n)
{
    return weft_format_integer(n, WEFT_NEW(g->a, char, 32));
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

/* --- what it is worth ------------------------------------------------------------------------ */

static void print_worth(page *g)
{
    const weft_piper_solution *s = g->s;
    const char *bound = weft_glued_seconds(g->a, s->bound_s);
    double gap = s->value_s > 0 ? (s->value_s - s->bound_s) / s->value_s : 0;
    char text[32];

    field(g, "time",
          weft_arena_print(g->a, "%s a sample, the time of stage %d",
                           weft_glued_seconds(g->a, s->value_s), s->measures.slowest));
    if (s->outcome == WEFT_OPTIMAL)
        field(g, "bound", weft_arena_print(g->a, "%s  no plan is better", bound));
    else
        field(g, "bound",
              weft_arena_print(g->a, "%s  gap %s\t%%", bound, weft_format_gap(gap, 2, text)));
    field(g, "devices",
          weft_arena_print(g->a, "%s of %s in use, in %d stage%s", whole(g, s->measures.n_devices),
                           whole(g, g->p->n_devices), s->plan.n_stages,
                           s->plan.n_stages == 1 ? "" : "s"));
}

static void print_limits(page *g)
{
    char rate[48];

    weft_unit_print(g->p->bandwidth_bytes_per_s, WEFT_UNIT_BYTES_PER_S, rate);
    field(g, "given",
          weft_arena_print(g->a, "%s a device, %s, %s microbatches in a batch",
                           weft_glued_bytes(g->a, g->p->memory_bytes), rate,
                           whole(g, g->p->n_microbatches)));
    field(g, "searched",
          weft_arena_print(g->a, "%s cuts of %s nodes, %s stages in %d probes",
                           whole(g, g->s->n_cuts), whole(g, g->p->n_nodes),
                           whole(g, g->s->n_stages_tried), g->s->n_probes));
}

/* --- stages ---------------------------------------------------------------------------------- */

static void print_nodes(page *g, int stage)
{
    char mode[WEFT_SHORT_BYTES];

    for (int u = 0; u < g->p->n_nodes; u++) {
        if (g->s->plan.stage[u] != stage)
            continue;
        fprintf(g->to, "  %11s  %-5lld ", "", (long long)g->p->id[u]);
        weft_print_padded(g->to, g->p->name[u], MOST_NAME);
        fprintf(g->to, "  %s\n",
                weft_shorten(g->p->mode[g->s->plan.mode[u]].name, MOST_MODE, mode));
    }
}

static void print_stage(page *g, int i)
{
    const weft_piper_plan *plan = &g->s->plan;
    const weft_piper_measures *m = &g->s->measures;
    int first = 0, last = 0, n = ends_of(g->r, i, &first, &last);
    int width = g->p->width[plan->width[i]];
    long long from = (long long)g->p->id[first], to = (long long)g->p->id[last];
    char name[WEFT_SHORT_BYTES];

    fprintf(g->to, "  %5d %5d  %-11s %6d %5d %7lld ", i, n,
            n == 1 ? weft_arena_print(g->a, "%lld", from)
                   : weft_arena_print(g->a, "%lld .. %lld", from, to),
            plan->replicas[i], width, (long long)plan->replicas[i] * width);
    weft_put_glued(g->to, weft_arena_print(g->a, "%9s %8s", weft_glued_seconds(g->a, m->stage_s[i]),
                                           weft_glued_bytes(g->a, m->stage_bytes[i])));
    if (g->width >= DEFAULT_WIDTH)
        fprintf(g->to, "  %s", weft_shorten(mode_of(g->r, i), MOST_MODE, name));
    fputc('\n', g->to);
}

static void print_stages(page *g, bool with_nodes)
{
    fprintf(g->to, "\n  %5s %5s  %-11s %6s %5s %7s %9s %8s%s\n", "stage", "nodes", "ids", "copies",
            "width", "devices", "time", "memory", g->width >= DEFAULT_WIDTH ? "  mode" : "");
    for (int i = 0; i < g->s->plan.n_stages; i++) {
        print_stage(g, i);
        if (with_nodes)
            print_nodes(g, i);
    }
}

/* --- no plan --------------------------------------------------------------------------------- */

static const char *devices_text(page *g)
{
    const weft_piper_needs *n = g->r->needs;

    if (n->n_devices == 0)
        return "more devices alone would not do";
    return weft_arena_print(g->a, "%s devices of this memory%s", whole(g, n->n_devices),
                            n->is_fewest ? ", not fewer" : "; fewer may do");
}

static const char *memory_text(page *g)
{
    const weft_piper_needs *n = g->r->needs;

    if (n->memory_bytes <= 0)
        return "more memory alone would not do";
    return weft_arena_print(g->a, "%s bytes (%s) on %s%s", whole(g, (int64_t)n->memory_bytes),
                            weft_glued_bytes(g->a, n->memory_bytes),
                            g->p->n_devices == 1 ? "the device"
                                                 : weft_arena_print(g->a, "each of the %s devices",
                                                                    whole(g, g->p->n_devices)),
                            n->is_least ? ", not less" : "; less may do");
}

static void print_no_plan(page *g)
{
    weft_print_wrapped(g->to, 0, g->width,
                       g->s->outcome == WEFT_INFEASIBLE
                           ? "  There is no plan: this is proved."
                           : "  No plan was found; whether there is one is not known.");
    if (g->s->reason != NULL)
        weft_print_wrapped(g->to, 2, g->width, weft_arena_print(g->a, "  %s", g->s->reason));
    if (g->r->needs == NULL)
        return;
    fputc('\n', g->to);
    field(g, "would do", devices_text(g));
    field(g, "", memory_text(g));
}

void weft_piper_report_text(const weft_piper_report *r, bool with_nodes, int width, FILE *to)
{
    page g = {.r = r,
              .p = r->problem,
              .s = r->solution,
              .to = to,
              .a = weft_arena_new(),
              .width = width <= 0 ? DEFAULT_WIDTH : width};
    char model[WEFT_SHORT_BYTES];

    g.width = g.width < LEAST_WIDTH ? LEAST_WIDTH : g.width > MOST_WIDTH ? MOST_WIDTH : g.width;
    weft_print_wrapped(to, 0, g.width,
                       weft_arena_print(g.a, "%s: training plan, least time per sample",
                                        weft_shorten(r->model, WEFT_SHORT_COLUMNS, model)));
    fputc('\n', to);
    if (has_plan(g.s)) {
        print_worth(&g);
        print_limits(&g);
        print_stages(&g, with_nodes);
    } else {
        print_no_plan(&g);
        print_limits(&g);
    }
    weft_arena_free(g.a);
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
    weft_doc_put(a, d, "is_fewest", weft_doc_new_bool(a, n->is_fewest));
    weft_put_real(a, d, "memory_bytes", n->memory_bytes > 0 ? n->memory_bytes : NAN);
    weft_doc_put(a, d, "is_least", weft_doc_new_bool(a, n->is_least));
    return d;
}

static weft_doc *stages_doc(const weft_piper_report *r, weft_arena *a)
{
    const weft_piper_plan *plan = &r->solution->plan;
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int i = 0; i < plan->n_stages; i++) {
        int first = 0, last = 0, n = ends_of(r, i, &first, &last);
        int width = r->problem->width[plan->width[i]];
        weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);

        weft_put_int(a, d, "nodes", n);
        weft_put_text(a, d, "first", r->problem->name[first]);
        weft_put_text(a, d, "last", r->problem->name[last]);
        weft_put_int(a, d, "replicas", plan->replicas[i]);
        weft_put_int(a, d, "width", width);
        weft_put_int(a, d, "devices", (int64_t)plan->replicas[i] * width);
        weft_put_real(a, d, "sample_s", r->solution->measures.stage_s[i]);
        weft_put_real(a, d, "memory_bytes", r->solution->measures.stage_bytes[i]);
        weft_doc_add(a, list, d);
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
