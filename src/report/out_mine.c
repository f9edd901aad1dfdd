/* SPDX-License-Identifier: MIT */
/* out_mine.c: an accelerator that was searched for, for a terminal.
 *
 * 1. The design in words, its area and power beside the limits, what it is worth beside the
 *    reference design, what is proved.
 * 2. A line for each network.
 * 3. The front: designs that none beats in throughput, power and area.
 * 4. Which constants of the cost model would change the decision.
 *
 * Lines with a label fit the width (60 columns or more) unless a single word does not. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "fields.h"

enum {
    DEFAULT_WIDTH = 80,
    LEAST_WIDTH = 60,
    MOST_WIDTH = 1000,
    MOST_FRONT = 8,
    NAME = 22, /* columns of a network */
};

static const double EQUAL = 5e-5; /* nearer than this, two decimals of a percentage are 0 */

typedef struct page {
    const weft_mine_report *r;
    const weft_quest *q;
    const weft_template *t;
    const weft_found *f;
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

/* "1,234" or "12.3": four digits at least. */
static const char *number(page *g, double x)
{
    return x >= 9999.5 && x < 1e15 ? whole(g, (int64_t)(x + 0.5))
                                   : weft_arena_print(g->a, "%.4g", x);
}

static const char *reference_name(const page *g)
{
    return g->t->landmark[0].name;
}

static double size_of(const page *g, const weft_point *p, weft_knob k)
{
    return weft_knob_size(g->t, p, k);
}

/* A value of the metric with its unit. */
static const char *valued(page *g, double x)
{
    bool is_per_tdp = g->q->metric == WEFT_METRIC_PER_TDP;

    if (g->q->n_workloads == 1)
        return weft_arena_print(g->a, "%s\t%s", number(g, x), weft_mine_unit(g->q));
    return weft_arena_print(g->a, "%s\ttimes %s%s", number(g, x), reference_name(g),
                            is_per_tdp ? " for each W" : "");
}

/* --- title and design ------------------------------------------------------------------------ */

static void print_title(page *g)
{
    char name[WEFT_SHORT_BYTES];
    const char *networks = weft_shorten(g->q->workload[0].name, WEFT_SHORT_COLUMNS, name);

    if (g->q->n_workloads > 1)
        networks = weft_arena_print(g->a, "%d networks", g->q->n_workloads);
    weft_print_wrapped(
        g->to, 0, g->width,
        weft_arena_print(g->a,
                         "%s trained: highest %s of the designs of %s within %s, "
                         "solver %s",
                         networks,
                         g->q->metric == WEFT_METRIC_PER_TDP ? "throughput per TDP" : "throughput",
                         g->t->name, weft_limits_words(&g->q->limits, g->a), g->r->solver));
    fputc('\n', g->to);
}

static const char *core_words(page *g, const weft_point *p, bool is_tensor)
{
    double n = size_of(g, p, is_tensor ? WEFT_KNOB_TENSOR_CORES : WEFT_KNOB_VECTOR_CORES);
    const char *plural = n > 1 ? "s" : "";

    if (is_tensor)
        return weft_arena_print(g->a, "%.0f\ttensor\tcore%s of %.0fx%.0f", n, plural,
                                size_of(g, p, WEFT_KNOB_ROWS), size_of(g, p, WEFT_KNOB_COLS));
    return weft_arena_print(g->a, "%.0f\tvector\tcore%s of %.0f\tlanes", n, plural,
                            size_of(g, p, WEFT_KNOB_LANES));
}

static const char *design_words(page *g, const weft_point *p)
{
    return weft_arena_print(g->a, "%s, %s, buffer of %.4g\tMiB", core_words(g, p, true),
                            core_words(g, p, false), size_of(g, p, WEFT_KNOB_BUFFER) / 1048576);
}

static const char *of_limit(page *g, double have, double most, const char *unit)
{
    if (!(most < INFINITY))
        return weft_arena_print(g->a, "%.4g\t%s, not limited", have, unit);
    return weft_arena_print(g->a, "%.4g\t%s of %.4g\t%s", have, unit, most, unit);
}

static void print_design(page *g)
{
    const weft_point *p = &g->f->point;

    field(g, "design", design_words(g, p));
    field(g, "area", of_limit(g, weft_point_area_mm2(g->t, p), g->q->limits.area_mm2, "mm2"));
    if (g->t->has_power)
        field(g, "TDP", of_limit(g, weft_point_tdp_w(g->t, p), g->q->limits.tdp_w, "W"));
}

/* Networks that one device cannot hold are said before anything is claimed of them. */
static void print_memory(page *g)
{
    const char *list = NULL;
    char name[WEFT_SHORT_BYTES];

    for (int i = 0; i < g->q->n_workloads; i++)
        if (!g->r->figure[i].fits)
            list = weft_arena_print(g->a, "%s%s%s", list ? list : "", list ? ", " : "",
                                    weft_shorten(g->q->workload[i].name, WEFT_SHORT_COLUMNS, name));
    if (list != NULL)
        field(g, "memory",
              weft_arena_print(g->a,
                               "too small: one device has %s and cannot train %s as it is (more "
                               "--memory, a smaller --batch or --stages would do)",
                               weft_glued_bytes(g->a, g->t->hbm_bytes), list));
}

/* --- what it is worth ------------------------------------------------------------------------ */

static double reference_throughput(const page *g)
{
    double sum = 1;

    if (g->q->n_workloads == 1)
        sum = g->q->workload[0].batch / g->r->figure[0].reference_s;
    return sum;
}

static void print_value(page *g)
{
    const char *throughput =
        g->q->n_workloads == 1
            ? weft_arena_print(g->a, "%s\tsamples/s", number(g, g->f->throughput))
            : weft_arena_print(
                  g->a, "%s\ttimes %s, %s", number(g, g->f->throughput), reference_name(g),
                  g->q->blend == WEFT_BLEND_WORST ? "the least of all networks" : "geometric mean");

    field(g, "throughput", throughput);
    if (g->q->metric == WEFT_METRIC_PER_TDP)
        field(g, "per TDP", valued(g, g->f->value));
}

static void print_reference(page *g)
{
    const weft_point *p = &g->q->reference;
    double ratio = g->f->throughput / reference_throughput(g);
    const char *tdp =
        g->t->has_power ? weft_arena_print(g->a, ", %.4g\tW", weft_point_tdp_w(g->t, p)) : "";

    field(g, "reference",
          weft_arena_print(g->a, "%.3f\ttimes the throughput of %s (%s; %.4g\tmm2%s)", ratio,
                           reference_name(g), design_words(g, p), weft_point_area_mm2(g->t, p),
                           tdp));
}

/* --- what is proved -------------------------------------------------------------------------- */

static void print_bound(page *g)
{
    const weft_found *f = g->f;
    double more;
    char gap[32];

    if (f->outcome == WEFT_OPTIMAL)
        field(g, "bound", "proved: no design of the template within the limits is better");
    else if (f->bound < INFINITY)
        field(g, "bound",
              weft_arena_print(g->a, "%s at most: gap %s\t%%", valued(g, f->bound),
                               weft_format_gap(f->bound / f->value - 1, 2, gap)));
    else
        field(g, "bound", "none is known");
    if (!(f->schedule_bound < INFINITY))
        return;
    more = f->schedule_bound / f->value - 1;
    field(g, "any schedule",
          more < EQUAL ? "none is faster on any design, in whatever order operators run"
                       : weft_arena_print(g->a,
                                          "%s at most on any design, in whatever order operators "
                                          "run: %.2f\t%% more",
                                          valued(g, f->schedule_bound), 100 * more));
}

static void print_search(page *g)
{
    const weft_found *f = g->f;
    const char *text = weft_arena_print(g->a, "%s\tdesigns", whole(g, weft_template_points(g->t)));

    if (f->n_feasible > 0)
        text = weft_arena_print(g->a, "%s, %s\twithin the limits", text, whole(g, f->n_feasible));
    if (f->n_bounds > 0)
        text = weft_arena_print(g->a, "%s, %s\tbounded", text, whole(g, f->n_bounds));
    if (f->n_strong > 0)
        text = weft_arena_print(g->a, "%s, %s\tbounded\tagain", text, whole(g, f->n_strong));
    text = weft_arena_print(g->a, "%s, %s\tscheduled", text, whole(g, f->n_evaluated));
    if (f->n_recalled > 0)
        text = weft_arena_print(g->a, "%s (%s\tof them known from the study)", text,
                                whole(g, f->n_recalled));
    field(g, "searched", text);
}

/* --- networks -------------------------------------------------------------------------------- */

static void print_networks(page *g)
{
    char seconds[48], bytes[32];
    bool is_short = false;
    int slim = g->width < DEFAULT_WIDTH;
    int name = slim ? g->width - 50 : NAME;

    fprintf(g->to, "\n  %-*s %*s %*s %*s %9s %*s\n", name, "network", 7 - slim, "batch", 10 - slim,
            "step", 12 - 3 * slim, "samples/s", "reference", 10 - slim, "memory");
    for (int i = 0; i < g->q->n_workloads; i++) {
        const weft_mine_figure *n = &g->r->figure[i];
        double batch = g->q->workload[i].batch;

        is_short |= !n->fits;
        fputs("  ", g->to);
        weft_print_padded(g->to, g->q->workload[i].name, name);
        fprintf(g->to, " %*.0f %*s %*s %8.3fx %*s%s\n", 7 - slim, batch, 10 - slim,
                weft_print_seconds(n->step_s, seconds), 12 - 3 * slim, number(g, batch / n->step_s),
                n->reference_s / n->step_s, 10 - slim, weft_format_bytes(n->memory_bytes, bytes),
                n->fits ? "" : "*");
    }
    if (is_short)
        weft_print_wrapped(
            g->to, 2, g->width,
            weft_arena_print(g->a,
                             "  * more than the %s of the template: one device alone cannot train "
                             "it without spreading it or computing results again, which is not in "
                             "the times",
                             weft_glued_bytes(g->a, g->t->hbm_bytes)));
}

/* --- front ----------------------------------------------------------------------------------- */

static void print_front(page *g, bool with_all)
{
    const weft_found *f = g->f;
    int n = with_all || f->n_front <= MOST_FRONT + 1 ? f->n_front : MOST_FRONT;
    char point[96];

    if (f->n_front == 0)
        return;
    fputs("\n  ", g->to);
    weft_print_wrapped(
        g->to, 2, g->width,
        f->is_front_proved
            ? "front: proved, no design beats one of these in throughput, TDP and area"
            : "front: of the designs scheduled, those none beats (--solver front: of all)");
    fprintf(g->to, "  %12s %8s %10s  %s\n", g->q->n_workloads == 1 ? "samples/s" : "reference",
            "TDP", "area", "design");
    for (int i = 0; i < n; i++) {
        const weft_mined *m = &f->front[i];

        fprintf(g->to, "  %12s %6.1f W %6.1f mm2  ", number(g, m->throughput), m->tdp_w,
                m->area_mm2);
        weft_print_wrapped(g->to, 36, g->width, weft_point_print(g->t, &m->point, point));
    }
    if (n < f->n_front)
        fprintf(g->to, "  and %s more (--verbose)\n", whole(g, f->n_front - n));
}

/* --- sensitivity ----------------------------------------------------------------------------- */

static const char *shift_text(page *g, const weft_shift *s)
{
    char point[96];

    if (!(s->winner_value > 0))
        return s->best_value > 0
                   ? weft_arena_print(g->a, "the design breaks a limit; best then: %s",
                                      weft_point_print(g->t, &s->best, point))
                   : "every design breaks a limit";
    if (s->is_flip)
        return weft_arena_print(g->a, "%.2f %% below the best, %s",
                                100 * (1 - s->winner_value / s->best_value),
                                weft_point_print(g->t, &s->best, point));
    return s->winner_value < s->best_value
               ? weft_arena_print(g->a, "stays: %.2f %% below the best",
                                  100 * (1 - s->winner_value / s->best_value))
               : "stays the best";
}

static void print_sensitivity(page *g)
{
    const weft_sensitivity *s = g->r->sensitivity;

    if (s == NULL)
        return;
    fprintf(g->to, "\n  if the cost model is wrong within its stated errors:\n");
    for (int i = 0; i < s->n_shifts; i++) {
        fprintf(g->to, "  %-18s %+5.0f %%  ", g->t->constant[s->shift[i].constant].name,
                100 * (s->shift[i].factor - 1));
        weft_print_wrapped(g->to, 30, g->width, shift_text(g, &s->shift[i]));
    }
    if (s->n_draws > 0)
        weft_print_wrapped(
            g->to, 2, g->width,
            weft_arena_print(g->a,
                             "  all at once, %d\tdraws: within 1\t%% of the best in %d, breaks a "
                             "limit in %d; where it breaks none, at most %.2f\t%% below the best",
                             s->n_draws, s->n_stays, s->n_breaks, 100 * s->worst_loss));
    if (s->n_shifts == 0)
        fprintf(g->to, "  nothing is known: time was up\n");
}

/* --- the page -------------------------------------------------------------------------------- */

static void print_found(page *g, bool with_all)
{
    print_design(g);
    print_memory(g);
    print_value(g);
    print_reference(g);
    print_bound(g);
    print_search(g);
    print_networks(g);
    print_front(g, with_all);
    print_sensitivity(g);
}

static void print_nothing(page *g)
{
    fprintf(g->to, "%s\n",
            g->f->outcome == WEFT_INFEASIBLE
                ? "No design exists."
                : "No design was found; whether there is one is not known.");
    if (g->f->reason != NULL)
        weft_print_wrapped(g->to, 2, g->width, weft_arena_print(g->a, "  %s", g->f->reason));
}

void weft_mine_report_text(const weft_mine_report *r, bool with_all, int width, FILE *to)
{
    page g = {.r = r,
              .q = r->quest,
              .t = r->quest->template_,
              .f = r->found,
              .to = to,
              .a = weft_arena_new(),
              .width = width <= 0 ? DEFAULT_WIDTH : width};

    g.width = g.width < LEAST_WIDTH ? LEAST_WIDTH : g.width > MOST_WIDTH ? MOST_WIDTH : g.width;
    print_title(&g);
    if (r->found->value > 0)
        print_found(&g, with_all);
    else
        print_nothing(&g);
    weft_arena_free(g.a);
}

void weft_mine_report_csv(const weft_mine_report *r, FILE *to)
{
    const weft_template *t = r->quest->template_;

    fprintf(to, "throughput,tdp_w,area_mm2");
    for (int k = 0; k < WEFT_N_KNOBS; k++)
        fprintf(to, ",%s", weft_knob_name((weft_knob)k));
    fputc('\n', to);
    for (int i = 0; i < r->found->n_front; i++) {
        const weft_mined *m = &r->found->front[i];

        fprintf(to, "%.17g,%.17g,%.17g", m->throughput, m->tdp_w, m->area_mm2);
        for (int k = 0; k < WEFT_N_KNOBS; k++)
            fprintf(to, ",%.17g", weft_knob_size(t, &m->point, (weft_knob)k));
        fputc('\n', to);
    }
}
