/* SPDX-License-Identifier: MIT */
/* out_train.c: a training plan for a terminal.
 *
 * 1. What it is worth: step, samples a second, bound and which of the lower bounds binds, the plan
 *    that treats devices as equal.
 * 2. A line for each part of each stage: units, devices, replicas and tensor width, samples of a
 *    microbatch, what is computed again, times, memory.
 * 3. Two charts in characters, a line a stage: what it does, and how full its fullest device is.
 *
 * Every line fits the width (60 columns or more) unless a single word does not. Plain ASCII besides
 * the names. Time O(jobs * columns) at most. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "fields.h"

enum {
    DEFAULT_WIDTH = 80,
    LEAST_WIDTH = 60,
    MOST_WIDTH = 1000,
    MOST_STAGES = 16,
    MOST_NAME = 24, /* columns of a name */
    MOST_KIND = 10, /* of the name of a class in the table */
};

typedef struct page {
    const weft_train_report *r;
    const weft_training *p;
    const weft_pipeline *plan;
    const weft_train_measures *m;
    const weft_proof *proof;
    FILE *to;
    weft_arena *a; /* scratch */
    int width, n_shown;
} page;

static const char *seconds(page *g, double s)
{
    return weft_glued_seconds(g->a, s);
}

static const char *whole(page *g, int64_t n)
{
    return weft_format_integer(n, WEFT_NEW(g->a, char, 32));
}

static void field(page *g, const char *label, const char *text)
{
    weft_print_field(g->to, g->width, label, text);
}

/* --- what it is worth ------------------------------------------------------------------------ */

static void print_title(page *g)
{
    const weft_plan_origin *o = g->r->origin;
    char model[WEFT_SHORT_BYTES], platform[WEFT_SHORT_BYTES], solver[WEFT_SHORT_BYTES];

    weft_shorten(o && o->model ? o->model : g->p->name, WEFT_SHORT_COLUMNS, model);
    weft_shorten(o && o->platform ? o->platform : g->p->cluster->platform->name, WEFT_SHORT_COLUMNS,
                 platform);
    weft_shorten(o && o->solver ? o->solver : "", MOST_NAME, solver);
    weft_print_wrapped(g->to, 0, g->width,
                       weft_arena_print(g->a, "%s trained on %s, shortest step of %s sample%s%s%s",
                                        model, platform, whole(g, g->p->ask.batch),
                                        g->p->ask.batch == 1 ? "" : "s", *solver ? ", solver " : "",
                                        solver));
    fputc('\n', g->to);
}

static void print_bound(page *g)
{
    const weft_proof *proof = g->proof;
    const char *bound = seconds(g, proof->bound);
    char gap[32];
    const char *by = proof->method ? weft_arena_print(g->a, "  (%s)", proof->method) : "";

    if (!(proof->bound > 0))
        field(g, "bound", "none is known");
    else if (proof->outcome == WEFT_OPTIMAL)
        field(g, "bound",
              weft_arena_print(g->a, "%s%s  no plan of the space is better", bound, by));
    else
        field(g, "bound",
              weft_arena_print(g->a, "%s%s  gap %s\t%%", bound, by,
                               weft_format_gap(proof->gap, 1, gap)));
}

static void print_floors(page *g)
{
    weft_floor_name list[WEFT_N_FLOORS];
    int binding = weft_train_floors(g->r->solution, list);
    const char *text = "";

    for (int i = 0; i < WEFT_N_FLOORS; i++)
        if (list[i].seconds > 0)
            text = weft_arena_print(g->a, "%s%s%s %s%s", text, *text ? ", " : "", list[i].name,
                                    seconds(g, list[i].seconds), i == binding ? "\t(binds)" : "");
    if (*text)
        field(g, "at least", text);
}

double weft_train_speed_up(const weft_train_report *r)
{
    double value_s = weft_train_report_has_plan(r) ? r->solution->measures.step_s : NAN;
    weft_outcome outcome = r->equal ? r->equal->proof.outcome : WEFT_UNKNOWN;

    if (outcome != WEFT_OPTIMAL && outcome != WEFT_BOUNDED)
        return NAN;
    return value_s > 0 ? r->equal->measures.step_s / value_s : NAN;
}

static void print_equal(page *g)
{
    double speed_up = weft_train_speed_up(g->r);

    if (g->r->equal == NULL)
        return;
    if (isnan(speed_up))
        field(g, "equal", "a planner for equal devices finds no plan");
    else
        field(g, "equal",
              weft_arena_print(g->a,
                               "%.2fx as fast as the plan of a planner for equal devices (%s)",
                               speed_up, seconds(g, g->r->equal->measures.step_s)));
}

static void print_shape(page *g)
{
    const weft_pipeline *plan = g->plan;
    int64_t m = g->p->ask.batch / plan->microbatch;

    field(g, "schedule",
          weft_arena_print(
              g->a, "%s, %s microbatch%s of %s sample%s, %d stage%s%s",
              weft_schedule_name(plan->schedule), whole(g, m), m == 1 ? "" : "es",
              whole(g, plan->microbatch), plan->microbatch == 1 ? "" : "s", plan->n_stages,
              plan->n_stages == 1 ? "" : "s",
              plan->n_chunks > 1 ? weft_arena_print(g->a, " of %d chunks", plan->n_chunks) : ""));
    field(g, "devices",
          weft_arena_print(g->a, "%s of %s in use%s", whole(g, weft_pipeline_devices(plan)),
                           whole(g, weft_cluster_devices(g->p->cluster)),
                           isnan(g->m->flops_utilisation)
                               ? ""
                               : weft_arena_print(g->a, ", %.1f\t%% of their usable peak",
                                                  100 * g->m->flops_utilisation)));
}

static void print_value(page *g)
{
    const weft_train_measures *m = g->m;
    char rate[32];

    field(g, "step",
          weft_arena_print(g->a, "%s  %s samples/s", seconds(g, m->step_s),
                           weft_format_count(m->samples_per_s, rate)));
    print_bound(g);
    print_floors(g);
    print_equal(g);
    print_shape(g);
    field(g, "idle", weft_arena_print(g->a, "%.1f\t%% of the time of all stages", 100 * m->bubble));
    field(g, "sent",
          m->sent_bytes > 0
              ? weft_arena_print(g->a, "%s a step", weft_glued_bytes(g->a, m->sent_bytes))
              : "nothing");
}

/* --- stages ---------------------------------------------------------------------------------- */

/* Units of a stage: "3..7", or how many where others lie between. */
static const char *units_text(page *g, int stage)
{
    const weft_units *u = &g->p->units;
    int n = 0, first = -1, last = -1;

    for (int c = stage; c < g->plan->n_stages * g->plan->n_chunks; c += g->plan->n_stages)
        for (int i = 0; i < u->n_units; i++) {
            const uint64_t *inner = u->cut + (size_t)g->plan->cut[c] * (size_t)u->n_words;
            const uint64_t *outer = u->cut + (size_t)g->plan->cut[c + 1] * (size_t)u->n_words;

            if (!weft_bit_get(outer, i) || weft_bit_get(inner, i))
                continue;
            first = n == 0 || i < first ? i : first;
            last = i > last ? i : last;
            n++;
        }
    if (n == last - first + 1 && n > 1)
        return weft_arena_print(g->a, "%d..%d", first, last);
    return n == 1 ? weft_arena_print(g->a, "%d", first) : weft_arena_print(g->a, "%d units", n);
}

static void print_part(page *g, int stage, int part, int units)
{
    const weft_stage *s = &g->plan->stage[stage];
    const weft_team_part *t = &s->part[part];
    bool is_narrow = g->width < DEFAULT_WIDTH;
    weft_chunk_figures sum = weft_stage_figures(g->r, stage);

    fprintf(g->to, "  %5s ", part == 0 ? weft_arena_print(g->a, "%d", stage) : "");
    weft_print_padded(g->to, part == 0 ? units_text(g, stage) : "and", units);
    fputc(' ', g->to);
    weft_print_padded(g->to, g->p->cluster->classes[t->class_id].kind, MOST_KIND);
    fprintf(g->to, " %4d x%-3d", t->n_blocks, s->width);
    if (!is_narrow)
        fprintf(g->to, " %5" PRId64, t->samples);
    if (part == 0) {
        if (!is_narrow)
            fprintf(g->to, "  %-9s", weft_recompute_name(s->recompute));
        weft_put_glued(g->to, weft_arena_print(g->a, " %8s %8s %4.0f %%", seconds(g, sum.forward_s),
                                               seconds(g, sum.backward_s + sum.again_s),
                                               100 * g->m->stage_peak_bytes[stage] /
                                                   g->m->stage_room_bytes[stage]));
    }
    fputc('\n', g->to);
}

static const char *device_name(page *g, const weft_class *k, int place)
{
    char *to = WEFT_NEW(g->a, char, WEFT_SHORT_BYTES);

    return weft_shorten(g->p->cluster->platform->device[k->device[place]].name, MOST_NAME, to);
}

/* The devices of a part, block by block: "gpu0..gpu3 gpu4..gpu7". */
static void print_devices(page *g, const weft_stage *s, const weft_team_part *t)
{
    const weft_class *k = &g->p->cluster->classes[t->class_id];
    const char *text = "";

    for (int b = 0; b < t->n_blocks; b++) {
        int start = weft_class_block(k, s->width, t->first + b * t->step);
        const char *first = device_name(g, k, start);

        text = s->width == 1 ? weft_arena_print(g->a, "%s%s%s", text, b == 0 ? "" : " ", first)
                             : weft_arena_print(g->a, "%s%s%s..%s", text, b == 0 ? "" : " ", first,
                                                device_name(g, k, start + s->width - 1));
    }
    fprintf(g->to, "%10s", "");
    weft_print_wrapped(g->to, 10, g->width, text);
}

/* Columns of the longest text of units among those shown, as far as there is room. */
static int units_columns(page *g, int room)
{
    int most = (int)strlen("units");

    for (int i = 0; i < g->n_shown; i++) {
        int n = (int)strlen(units_text(g, i));

        most = n > most ? n : most;
    }
    return most < room ? most : room;
}

static void print_stages(page *g, bool with_all)
{
    bool is_narrow = g->width < DEFAULT_WIDTH;
    const char *share = is_narrow ? "" : " share  again    ";
    const char *head =
        weft_arena_print(g->a, "  copies %s %8s %8s memory", share, "forward", "backward");
    int units = units_columns(g, g->width - 8 - 1 - MOST_KIND - 1 - (int)strlen(head));

    fprintf(g->to, "\n  stage %-*s %-*s %s\n", units, "units", MOST_KIND, "devices", head);
    for (int i = 0; i < g->n_shown; i++)
        for (int k = 0; k < g->plan->stage[i].n_parts; k++) {
            print_part(g, i, k, units);
            if (with_all)
                print_devices(g, &g->plan->stage[i], &g->plan->stage[i].part[k]);
        }
    if (g->n_shown < g->plan->n_stages)
        weft_print_wrapped(g->to, 2, g->width,
                           weft_arena_print(g->a, "  ... and %d more; --verbose shows all",
                                            g->plan->n_stages - g->n_shown));
}

/* --- charts ---------------------------------------------------------------------------------- */

enum { N_MARKS = 4, LABEL = 9 };
static const char marks[N_MARKS + 1] = "FBSU";

static int mark_of(weft_train_part part)
{
    switch (part) {
    case WEFT_TRAIN_FORWARD:
        return 0;
    case WEFT_TRAIN_BACKWARD:
        return 1;
    case WEFT_TRAIN_SYNC:
        return 2;
    case WEFT_TRAIN_UPDATE:
        return 3;
    default:
        return -1;
    }
}

static void add_span(double *busy_s, double slice_s, int n_columns, double from_s, double to_s)
{
    for (int i = (int)fmin(from_s / slice_s, n_columns - 1); i < n_columns; i++) {
        if (i * slice_s >= to_s)
            break;
        busy_s[i] += fmax(0.0, fmin(to_s, (i + 1) * slice_s) - fmax(from_s, i * slice_s));
    }
}

/* What takes most of a slice, or '.' if nothing does. */
static char mark_at(const double *busy_s, int n_columns, int column, double slice_s)
{
    double sum_s = 0;
    int most = 0;

    for (int k = 0; k < N_MARKS; k++) {
        sum_s += busy_s[k * n_columns + column];
        if (busy_s[k * n_columns + column] > busy_s[most * n_columns + column])
            most = k;
    }
    return slice_s - sum_s > busy_s[most * n_columns + column] ? '.' : marks[most];
}

static void print_timeline(page *g, int n_columns)
{
    double slice_s = g->m->step_s / n_columns;
    size_t row = (size_t)N_MARKS * (size_t)n_columns;
    double *busy_s = WEFT_NEW(g->a, double, (size_t)g->n_shown *row);

    for (int i = 0; i < g->m->jobs->n_jobs; i++) {
        int stage = weft_train_stage_of(g->r, i), mark = mark_of(g->m->part[i]);

        if (mark >= 0 && stage < g->n_shown)
            add_span(busy_s + (size_t)stage * row + mark * n_columns, slice_s, n_columns,
                     g->m->timeline->start_s[i], g->m->timeline->end_s[i]);
    }
    fputc('\n', g->to);
    weft_print_wrapped(g->to, 0, g->width,
                       weft_arena_print(g->a,
                                        "what takes most of %s: F forward, B backward, S sum of "
                                        "gradients, U update, . idle",
                                        seconds(g, slice_s)));
    for (int i = 0; i < g->n_shown; i++) {
        fprintf(g->to, "  %5d |", i);
        for (int c = 0; c < n_columns; c++)
            fputc(mark_at(busy_s + (size_t)i * row, n_columns, c, slice_s), g->to);
        fputs("|\n", g->to);
    }
}

/* The most that the fullest device holds in each slice. */
static void most_bytes(page *g, int stage, int n_columns, double *most)
{
    const weft_sample *s = g->m->memory[stage];
    double slice_s = g->m->step_s / n_columns;
    int n = g->m->n_memory[stage], i = 0;

    for (int c = 0; c < n_columns; c++) {
        while (i + 1 < n && s[i + 1].at_s <= c * slice_s)
            i++;
        most[c] = n > 0 && s[i].at_s < (c + 1) * slice_s ? s[i].bytes : 0;
        for (int k = i + 1; k < n && s[k].at_s < (c + 1) * slice_s; k++)
            most[c] = fmax(most[c], s[k].bytes);
    }
}

static void print_memory(page *g, int n_columns)
{
    double *most = WEFT_NEW(g->a, double, n_columns);

    fputc('\n', g->to);
    weft_print_wrapped(
        g->to, 0, g->width,
        "memory of the fullest device of each stage, in tenths of what it has (9: 90 "
        "% or more)");
    for (int i = 0; i < g->n_shown; i++) {
        most_bytes(g, i, n_columns, most);
        fprintf(g->to, "  %5d |", i);
        for (int c = 0; c < n_columns; c++) {
            double share = most[c] / g->m->stage_room_bytes[i];

            fputc('0' + (int)fmin(fmax(10 * share, 0), 9), g->to);
        }
        weft_put_glued(g->to,
                       weft_arena_print(g->a, "| %s of %s\n",
                                        weft_glued_bytes(g->a, g->m->stage_peak_bytes[i]),
                                        isfinite(g->m->stage_room_bytes[i])
                                            ? weft_glued_bytes(g->a, g->m->stage_room_bytes[i])
                                            : "any"));
    }
}

/* --- all ------------------------------------------------------------------------------------- */

static void print_no_plan(page *g)
{
    weft_print_wrapped(g->to, 0, g->width,
                       g->proof->outcome == WEFT_INFEASIBLE
                           ? "  There is no plan in the space that is searched: this is proved."
                           : "  No plan was found; whether there is one is not known.");
    if (g->proof->reason != NULL)
        weft_print_wrapped(g->to, 2, g->width, weft_arena_print(g->a, "  %s", g->proof->reason));
}

/* Of reading the network: what counts as a sample may not be one. */
static void print_warnings(page *g)
{
    for (int i = 0; i < g->p->n_warnings; i++) {
        if (i == 0)
            fputc('\n', g->to);
        weft_print_wrapped(g->to, 2, g->width,
                           weft_arena_print(g->a, "  warning: %s", g->p->warning[i]));
    }
}

static void print_plan(page *g, bool with_all)
{
    const int room = (int)strlen(" 1.23 MB of 12.3 MB");

    g->n_shown = with_all || g->plan->n_stages <= MOST_STAGES + 1 ? g->plan->n_stages : MOST_STAGES;
    print_value(g);
    print_stages(g, with_all);
    if (g->m->jobs == NULL || g->m->timeline == NULL || !(g->m->step_s > 0))
        return;
    print_timeline(g, g->width - LABEL - 1);
    print_memory(g, g->width - LABEL - 1 - room);
}

void weft_train_report_text(const weft_train_report *r, bool with_all, int width, FILE *to)
{
    page g = {
        .r = r,
        .p = r->problem,
        .plan = &r->solution->plan,
        .m = &r->solution->measures,
        .proof = &r->solution->proof,
        .to = to,
        .a = weft_arena_new(),
        .width = width <= 0 ? DEFAULT_WIDTH : width,
    };

    assert(r->problem != NULL && r->solution != NULL);
    g.width = g.width < LEAST_WIDTH ? LEAST_WIDTH : g.width > MOST_WIDTH ? MOST_WIDTH : g.width;
    print_title(&g);
    if (weft_train_report_has_plan(r))
        print_plan(&g, with_all);
    else
        print_no_plan(&g);
    print_warnings(&g);
    weft_arena_free(g.a);
}
