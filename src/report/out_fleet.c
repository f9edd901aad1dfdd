/* SPDX-License-Identifier: MIT */
/* out_fleet.c: designs for the devices of a pipeline, for a terminal.
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

static void field(page *g, const char *label, const char *text)
{
    weft_print_field(g->to, g->width, label, text);
}

static const char *whole(page *g, int64_t n)
{
    return weft_format_integer(n, WEFT_NEW(g->a, char, 32));
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

/* How operators are cut over the devices of a block is not searched: said where there are any. */
static void print_bound(page *g)
{
    const weft_fleet_found *f = g->f;
    const char *cuts = "";
    char gap[32];

    if (g->q->fleet.width > 1)
        cuts = weft_arena_print(g->a, ", with operators cut over %d\tdevices as is best on %s",
                                g->q->fleet.width, g->q->template_->landmark[0].name);
    if (f->outcome == WEFT_OPTIMAL)
        field(g, "bound",
              weft_arena_print(g->a,
                               "proved: no designs within the limits and no partition are better%s",
                               cuts));
    else
        field(g, "bound",
              weft_arena_print(g->a, "%.4g\t%s at most: gap %s\t%%%s", f->bound,
                               weft_fleet_unit(g->q), weft_format_gap(f->gap, 2, gap), cuts));
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
    print_bound(g);
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

    if (i == 0 || memcmp(&s->point, &s[-1].point, sizeof s->point) != 0)
        fprintf(g->to, "  design %s\n", weft_point_print(g->q->template_, &s->point, point));
    fprintf(g->to, "  %5d %5d %10s %10s  %-9s %9s\n", i, weft_fleet_stage_units(g->q->net[0], s),
            weft_print_seconds(s->forward_s, forward), weft_print_seconds(s->backward_s, backward),
            weft_recompute_name(s->recompute), weft_format_bytes(s->memory_bytes, bytes));
}

static void print_stages(page *g, bool with_all)
{
    int n = g->f->plan[0].n_stages, shown = with_all || n <= MOST_STAGES + 1 ? n : MOST_STAGES;

    fprintf(g->to, "\n  %5s %5s %10s %10s  %-9s %9s\n", "stage", "units", "forward", "backward",
            "recompute", "memory");
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
