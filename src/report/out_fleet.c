/* SPDX-License-Identifier: MIT */
/* out_fleet.c: designs for the devices of a pipeline, for a terminal and as numbers.
 *
 * 1. Throughput, power of all devices, bound, what is beside it: the reference design in the same
 *    pipeline, and one common design where each stage may have its own.
 * 2. A line for each stage of the first network: units, design, times, memory. */
#include <math.h>
#include <string.h>

#include "fields.h"

enum { DEFAULT_WIDTH = 80, LEAST_WIDTH = 60, MOST_WIDTH = 1000, MOST_STAGES = 12 };

typedef struct page {
    const weft_fleet_report *r;
    const weft_fleet_quest *q;
    const weft_fleet_found *f;
    FILE *to;
    weft_arena *a;
    int width;
} page;

const char *weft_fleet_unit(const weft_fleet_quest *q)
{
    bool is_per_tdp = q->metric == WEFT_METRIC_PER_TDP;

    if (q->n_nets == 1)
        return is_per_tdp ? "samples/J" : "samples/s";
    return is_per_tdp ? "x/W" : "x";
}

static void field(page *g, const char *label, const char *text)
{
    weft_print_field(g->to, g->width, label, text);
}

static const char *whole(page *g, int64_t n)
{
    return weft_format_integer(n, WEFT_NEW(g->a, char, 32));
}

static int units_of(const weft_units *u, const weft_fleet_stage *s)
{
    int n = 0;

    for (int i = 0; i < u->n_units; i++)
        n += weft_bit_get(u->cut + (size_t)s->last_cut * (size_t)u->n_words, i) &&
             !weft_bit_get(u->cut + (size_t)s->first_cut * (size_t)u->n_words, i);
    return n;
}

/* --- what it is worth ------------------------------------------------------------------------ */

static void print_title(page *g)
{
    const weft_fleet *f = &g->q->fleet;
    char name[WEFT_SHORT_BYTES];
    const char *what = weft_shorten(g->q->net[0]->name, WEFT_SHORT_COLUMNS, name);

    if (g->q->n_nets > 1)
        what = weft_arena_print(g->a, "%d networks", g->q->n_nets);
    weft_print_wrapped(
        g->to, 0, g->width,
        weft_arena_print(g->a,
                         "%s trained in %d stages of %d x %d devices: highest %s with %s of %s "
                         "%s, each within %s",
                         what, f->n_stages, f->replicas, f->width,
                         g->q->metric == WEFT_METRIC_PER_TDP ? "throughput per TDP" : "throughput",
                         g->q->is_per_stage ? "a design" : "one design", g->q->template_->name,
                         g->q->is_per_stage ? "for each stage" : "for all devices",
                         weft_limits_words(&g->q->limits, g->a)));
    fputc('\n', g->to);
}

static const char *throughput_text(page *g, double x)
{
    return g->q->n_nets == 1 ? weft_arena_print(g->a, "%.4g\tsamples/s", x)
                             : weft_arena_print(g->a, "%.4g\ttimes %s, geometric mean", x,
                                                g->q->template_->landmark[0].name);
}

static void print_beside(page *g)
{
    const weft_fleet_found *f = g->f, *common = g->r->common;
    double reference = g->q->n_nets == 1 ? f->reference_throughput : 1;

    if (f->reference_throughput > 0)
        field(g, "reference",
              weft_arena_print(g->a, "%.3f\ttimes the throughput of %s in the same pipeline",
                               f->throughput / reference, g->q->template_->landmark[0].name));
    if (common != NULL && common->value > 0)
        field(g, "common",
              weft_arena_print(g->a, "%.4f\ttimes the best design for all stages (%.4g\t%s)",
                               f->value / common->value, common->value, weft_fleet_unit(g->q)));
}

static void print_value(page *g)
{
    const weft_fleet_found *f = g->f;
    const weft_fleet *x = &g->q->fleet;

    field(g, "throughput", throughput_text(g, f->throughput));
    if (g->q->metric == WEFT_METRIC_PER_TDP)
        field(g, "per TDP", weft_arena_print(g->a, "%.4g\t%s", f->value, weft_fleet_unit(g->q)));
    field(g, "step",
          weft_arena_print(g->a, "%s for %s samples, microbatches of %s, 1f1b",
                           weft_glued_seconds(g->a, f->plan[0].step_s), whole(g, x->batch),
                           whole(g, x->microbatch)));
    field(g, "devices",
          weft_arena_print(g->a, "%d, %.5g\tW together", x->n_stages * x->width * x->replicas,
                           f->tdp_w));
    if (f->outcome == WEFT_OPTIMAL)
        field(g, "bound", "proved: no designs within the limits and no partition are better");
    else
        field(g, "bound",
              weft_arena_print(g->a, "%.4g\t%s at most: gap %.2f\t%%", f->bound,
                               weft_fleet_unit(g->q), 100 * f->gap));
    print_beside(g);
    field(g, "searched",
          weft_arena_print(g->a,
                           "%s\tdesigns within the limits, %s\tof them partitioned, %s\tplans "
                           "simulated",
                           whole(g, f->n_feasible), whole(g, f->n_partitioned),
                           whole(g, f->n_plans)));
}

/* --- stages ---------------------------------------------------------------------------------- */

static void print_stage(page *g, int i)
{
    const weft_fleet_stage *s = &g->f->plan[0].stage[i];
    char forward[48], backward[48], bytes[32], point[96];

    fprintf(g->to, "  %5d %5d %10s %10s %-9s %9s  %s\n", i, units_of(&g->q->net[0]->units, s),
            weft_print_seconds(s->forward_s, forward), weft_print_seconds(s->backward_s, backward),
            weft_recompute_name(s->recompute), weft_format_bytes(s->memory_bytes, bytes),
            weft_point_print(g->q->template_, &s->point, point));
}

static void print_stages(page *g, bool with_all)
{
    int n = g->f->plan[0].n_stages, shown = with_all || n <= MOST_STAGES + 1 ? n : MOST_STAGES;

    fprintf(g->to, "\n  %5s %5s %10s %10s %-9s %9s  %s\n", "stage", "units", "forward", "backward",
            "recompute", "memory", "design");
    for (int i = 0; i < shown; i++)
        print_stage(g, i);
    if (shown < n)
        fprintf(g->to, "  and %d more (--verbose)\n", n - shown);
}

void weft_fleet_report_text(const weft_fleet_report *r, bool with_all, int width, FILE *to)
{
    page g = {.r = r,
              .q = r->quest,
              .f = r->found,
              .to = to,
              .a = weft_arena_new(),
              .width = width <= 0 ? DEFAULT_WIDTH : width};

    g.width = g.width < LEAST_WIDTH ? LEAST_WIDTH : g.width > MOST_WIDTH ? MOST_WIDTH : g.width;
    print_title(&g);
    if (r->found->value > 0) {
        print_value(&g);
        print_stages(&g, with_all);
    } else {
        fprintf(to, "%s\n",
                r->found->outcome == WEFT_INFEASIBLE
                    ? "No plan exists."
                    : "No plan was found; whether there is one is not known.");
        if (r->found->reason != NULL)
            weft_print_wrapped(to, 2, g.width, weft_arena_print(g.a, "  %s", r->found->reason));
    }
    weft_arena_free(g.a);
}

/* --- numbers --------------------------------------------------------------------------------- */

static weft_doc *stage_doc(const weft_fleet_quest *q, int net, const weft_fleet_stage *s,
                           weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP), *design = weft_doc_new(a, WEFT_DOC_MAP);

    weft_put_int(a, d, "units", units_of(&q->net[net]->units, s));
    for (int k = 0; k < WEFT_N_KNOBS; k++)
        weft_put_size(a, design, weft_knob_name((weft_knob)k),
                      weft_knob_size(q->template_, &s->point, (weft_knob)k));
    weft_put_real(a, design, "area_mm2", weft_point_area_mm2(q->template_, &s->point));
    weft_put_real(a, design, "tdp_w", q->template_->has_power ? s->tdp_w : NAN);
    weft_doc_put(a, d, "design", design);
    weft_put_text(a, d, "recompute", weft_recompute_name(s->recompute));
    weft_put_real(a, d, "forward_s", s->forward_s);
    weft_put_real(a, d, "backward_s", s->backward_s);
    weft_put_real(a, d, "send_s", s->send_s);
    weft_put_real(a, d, "return_s", s->return_s);
    weft_put_real(a, d, "sync_s", s->sync_s);
    weft_put_real(a, d, "update_s", s->update_s);
    weft_put_real(a, d, "memory_bytes", s->memory_bytes);
    return d;
}

static weft_doc *plans_doc(const weft_fleet_report *r, weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int i = 0; i < r->quest->n_nets; i++) {
        const weft_fleet_plan *p = &r->found->plan[i];
        weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP), *stages = weft_doc_new(a, WEFT_DOC_LIST);

        weft_put_text(a, d, "model", r->quest->net[i]->name);
        weft_put_real(a, d, "weight", r->quest->net[i]->weight);
        weft_put_real(a, d, "step_s", p->step_s);
        weft_put_real(a, d, "bound_s", p->bound_s);
        weft_put_real(a, d, "samples_per_s", p->samples_per_s);
        for (int k = 0; k < p->n_stages; k++)
            weft_doc_add(a, stages, stage_doc(r->quest, i, &p->stage[k], a));
        weft_doc_put(a, d, "stages", stages);
        weft_doc_add(a, list, d);
    }
    return list;
}

static weft_doc *fleet_doc(const weft_fleet *f, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);

    weft_put_int(a, d, "stages", f->n_stages);
    weft_put_int(a, d, "width", f->width);
    weft_put_int(a, d, "replicas", f->replicas);
    weft_put_int(a, d, "batch", f->batch);
    weft_put_int(a, d, "microbatch", f->microbatch);
    weft_put_real(a, d, "inside_bytes_per_s", f->inside.bytes_per_s);
    weft_put_real(a, d, "inside_latency_s", f->inside.latency_s);
    weft_put_real(a, d, "between_bytes_per_s", f->between.bytes_per_s);
    weft_put_real(a, d, "between_latency_s", f->between.latency_s);
    return d;
}

static weft_doc *null(weft_arena *a)
{
    return weft_doc_new(a, WEFT_DOC_NULL);
}

static weft_doc *common_doc(const weft_fleet_report *r, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);

    if (r->common == NULL)
        return null(a);
    weft_put_text(a, d, "status", weft_outcome_name(r->common->outcome));
    weft_put_real(a, d, "value", r->common->value > 0 ? r->common->value : NAN);
    weft_put_real(a, d, "bound", r->common->bound);
    weft_put_real(a, d, "gap", r->common->value > 0 ? r->common->gap : NAN);
    return d;
}

void weft_fleet_report_put(const weft_fleet_report *r, weft_doc *map, weft_arena *a)
{
    const weft_fleet_found *f = r->found;
    bool has = f->value > 0;
    weft_doc *search = weft_doc_new(a, WEFT_DOC_MAP);

    weft_put_text(a, map, "designs", r->quest->is_per_stage ? "stages" : "common");
    weft_doc_put(a, map, "fleet", fleet_doc(&r->quest->fleet, a));
    weft_put_real(a, map, "throughput", has ? f->throughput : NAN);
    weft_put_real(a, map, "tdp_w", has && r->quest->template_->has_power ? f->tdp_w : NAN);
    weft_put_real(a, map, "reference_throughput",
                  f->reference_throughput > 0 ? f->reference_throughput : NAN);
    weft_doc_put(a, map, "common", common_doc(r, a));
    weft_put_int(a, search, "feasible", f->n_feasible);
    weft_put_int(a, search, "partitioned", f->n_partitioned);
    weft_put_int(a, search, "plans", f->n_plans);
    weft_doc_put(a, map, "search", search);
    weft_doc_put(a, map, "networks", has ? plans_doc(r, a) : null(a));
}

weft_doc *weft_fleet_design_doc(const weft_fleet_report *r, weft_arena *a)
{
    const weft_fleet_quest *q = r->quest;
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);

    if (!(r->found->value > 0))
        return NULL;
    weft_put_text(a, d, "schema", "weft.design/1");
    weft_put_text(a, d, "template", q->template_->source);
    weft_put_text(a, d, "metric", q->metric == WEFT_METRIC_PER_TDP ? "perf-per-tdp" : "throughput");
    weft_put_real(a, d, "area_mm2", q->limits.area_mm2);
    weft_put_real(a, d, "tdp_w", q->limits.tdp_w);
    weft_put_size(a, d, "memory_bytes", q->template_->hbm_bytes);
    weft_put_real(a, d, "least_throughput", q->least_throughput);
    weft_put_text(a, d, "dtype", r->dtype);
    weft_put_text(a, d, "optimizer", r->optimizer);
    weft_put_text(a, d, "designs", q->is_per_stage ? "stages" : "common");
    weft_doc_put(a, d, "fleet", fleet_doc(&q->fleet, a));
    weft_put_text(a, d, "status", weft_outcome_name(r->found->outcome));
    weft_put_real(a, d, "value", r->found->value);
    weft_put_text(a, d, "unit", weft_fleet_unit(q));
    weft_put_real(a, d, "bound", r->found->bound);
    weft_doc_put(a, d, "networks", plans_doc(r, a));
    return d;
}
