/* SPDX-License-Identifier: MIT */
/* facts_mine.c: the page of a design for one device: what it is worth, the front, the schedule of
 * the first network on its cores, and what would change the decision.
 *
 * Rows of the timeline are kinds of cores; an operator that takes both has a bar in each, and bars
 * say how many cores. The step may take longer than the last bar: all bytes by the bandwidth. */
#include "facts_mine.h"

#include <inttypes.h>
#include <math.h>

enum { MOST_BARS = 40000 };
static const double EQUAL = 5e-5; /* nearer than this, two decimals of a percentage are 0 */

typedef struct mining {
    weft_page g;
    const weft_mine_report *r;
    const weft_objective *q;
    const weft_template *t;
    const weft_found *f;
    const weft_page_more *more;
    weft_eval_schedule schedule; /* of the first network; n 0: none */
    weft_arena *a;
} mining;

static bool has_design(const mining *m)
{
    return m->f->value > 0;
}

static const char *throughput_unit(const mining *m)
{
    return m->q->n_workloads == 1 ? "samples/s" : "x";
}

static double step_s(const mining *m, int network, const weft_design_point *p)
{
    const weft_workload *w = &m->q->workload[network];

    return w->timer->seconds[WEFT_GAUGE_STEP](w->eval[0], p);
}

static const char *networks_text(const mining *m)
{
    return m->q->n_workloads == 1 ? m->q->workload[0].name
                                  : weft_arena_print(m->a, "%d networks", m->q->n_workloads);
}

/* --- summary --------------------------------------------------------------------------------- */

static void add_title(mining *m)
{
    const char *software = weft_software_given(m->r->options);

    m->g.title =
        weft_arena_print(m->g.a, "%s: a design for training, of %s", networks_text(m), m->t->name);
    m->g.subtitle = weft_unglued(
        m->g.a,
        weft_arena_print(m->a, "highest %s within %s, solver %s%s%s",
                         m->q->metric == WEFT_METRIC_PER_TDP ? "throughput per TDP" : "throughput",
                         weft_limits_words(&m->q->limits, m->a), m->r->solver,
                         software ? ", software " : "", software ? software : ""));
}

static void add_reference(mining *m)
{
    const char *name = m->t->landmark[0].name;
    double reference =
        m->q->n_workloads > 1 ? 1 : m->q->workload[0].batch / m->r->figure[0].reference_s;

    weft_page_fact(&m->g, "ratio", weft_arena_print(m->a, "over %s", name),
                   weft_arena_print(m->a, "%.3fx", m->f->throughput / reference),
                   weft_arena_print(
                       m->a, "throughput; it takes %s%s%s",
                       weft_area_text(m->a, weft_design_point_area_mm2(m->t, &m->q->reference)),
                       m->t->has_power ? " and " : "",
                       m->t->has_power
                           ? weft_power_text(m->a, weft_design_point_tdp_w(m->t, &m->q->reference))
                           : ""),
                   m->f->throughput / reference);
}

/* "1,587 samples/s", "1.2 times tpuv3". */
static const char *valued(mining *m, double x)
{
    return weft_arena_print(m->a, "%s %s", weft_metric_text(m->a, x), weft_mine_unit(m->q));
}

/* What is proved of any order of operators. */
static void add_any_schedule(mining *m)
{
    double more = m->f->schedule_bound / m->f->value - 1;

    if (m->f->schedule_bound < INFINITY)
        weft_page_fact(&m->g, "any_schedule", "any schedule", valued(m, m->f->schedule_bound),
                       more < EQUAL
                           ? "none is faster on any design, in whatever order operators run"
                           : weft_arena_print(m->a,
                                              "at most, on any design and in whatever order "
                                              "operators run: %.2f %% more",
                                              100 * more),
                       m->f->schedule_bound);
}

static void add_search(mining *m)
{
    const weft_found *f = m->f;
    const char *text = weft_arena_print(m->a, "%s scheduled", weft_whole(m->a, f->n_evaluated));

    if (f->n_recalled > 0)
        text = weft_arena_print(m->a, "%s (%s of them known from the study)", text,
                                weft_whole(m->a, f->n_recalled));
    if (f->n_bounds > 0)
        text = weft_arena_print(m->a, "%s bounded, %s again, %s", weft_whole(m->a, f->n_bounds),
                                weft_whole(m->a, f->n_strong), text);
    if (f->n_feasible > 0)
        text = weft_arena_print(m->a, "%s within the limits, %s", weft_whole(m->a, f->n_feasible),
                                text);
    weft_page_fact(
        &m->g, "searched", "searched",
        weft_arena_print(m->a, "%s designs", weft_whole(m->a, weft_template_points(m->t))), text,
        (double)f->n_feasible);
}

static void add_memory_fact(mining *m)
{
    double most = 0;
    char bytes[32], has[32];
    bool fits = weft_mine_report_fits(m->r);

    for (int i = 0; i < m->q->n_workloads; i++)
        most = fmax(most, m->r->figure[i].memory_bytes);
    weft_page_fact(&m->g, "memory", "memory of training", weft_format_bytes(most, bytes),
                   weft_arena_print(m->a,
                                    fits ? "at least, of %s"
                                         : "at least: more than the %s of one device, which cannot "
                                           "train it as it is",
                                    weft_format_bytes(m->t->hbm_bytes, has)),
                   most);
}

static void add_facts(mining *m)
{
    const weft_found *f = m->f;
    bool is_per_tdp = m->q->metric == WEFT_METRIC_PER_TDP;

    weft_design_claim_facts(&m->g,
                            &(weft_design_claim){is_per_tdp ? "throughput per TDP" : "throughput",
                                                 weft_mine_unit(m->q), f->value, f->bound,
                                                 fabs(f->value - f->bound) / f->value, f->outcome});
    if (is_per_tdp)
        weft_page_fact(&m->g, "throughput", "throughput",
                       weft_arena_print(m->a, "%s %s", weft_metric_text(m->a, f->throughput),
                                        throughput_unit(m)),
                       NULL, f->throughput);
    weft_page_fact(&m->g, "design", "design", weft_design_words(m->t, &f->point, m->a),
                   "tensor cores, vector cores, buffer", NAN);
    weft_design_limit_fact(&m->g, "area", "area", weft_design_point_area_mm2(m->t, &f->point),
                           m->q->limits.area_mm2, weft_area_text);
    if (m->t->has_power)
        weft_design_limit_fact(&m->g, "tdp", "TDP", weft_design_point_tdp_w(m->t, &f->point),
                               m->q->limits.tdp_w, weft_power_text);
    add_reference(m);
    add_memory_fact(m);
    if (m->schedule.n > 0)
        weft_page_fact(
            &m->g, "bandwidth", "bandwidth",
            weft_arena_print(m->a, "%.1f %%", 100 * m->schedule.floor_s / m->schedule.step_s),
            "of a step is what its bytes take at least", m->schedule.floor_s / m->schedule.step_s);
    add_any_schedule(m);
    add_search(m);
}

/* --- timeline -------------------------------------------------------------------------------- */

enum { TENSOR, VECTOR, COPIES, N_ROWS };

/* The phase of the first node of each operator. */
static int *phases_of(mining *m)
{
    const weft_graph *g = m->more->graph;
    int *phase = WEFT_NEW(m->a, int, m->schedule.n + 1);

    for (int u = g == NULL ? -1 : g->n_nodes - 1; u >= 0; u--)
        if (m->schedule.of_node[u] >= 0)
            phase[m->schedule.of_node[u]] = (int)g->node[u].phase;
    return phase;
}

static const char *row_name(mining *m, int row)
{
    const weft_design_point *p = &m->f->point;

    if (row == COPIES)
        return "copies";
    return row == TENSOR ? weft_arena_print(m->g.a, "%.0f tensor cores",
                                            weft_parameter_size(m->t, p, WEFT_TENSOR_CORES))
                         : weft_arena_print(m->g.a, "%.0f vector cores",
                                            weft_parameter_size(m->t, p, WEFT_VECTOR_CORES));
}

static const char *timeline_note(mining *m)
{
    const weft_eval_schedule *s = &m->schedule;

    return weft_arena_print(
        m->g.a, "%s%soperators side by side share the cores; one on both kinds has two bars%s",
        m->q->n_workloads > 1 ? m->q->workload[0].name : "", m->q->n_workloads > 1 ? "; " : "",
        s->floor_s >= s->step_s ? "; the bytes of all take longer than this, and are the step"
                                : "");
}

static void add_bar(mining *m, int row, int job, int n, int phase)
{
    const weft_eval_schedule *s = &m->schedule;

    (void)weft_page_add_bar(
        &m->g.time,
        &(weft_page_bar){.row = row,
                         .kind = phase,
                         .node = -1,
                         .job = job,
                         .start_s = s->start_s[job],
                         .end_s = s->end_s[job],
                         .name = n == 0 ? s->name[job]
                                        : weft_arena_print(m->a, "%s on %d core%s", s->name[job], n,
                                                           n == 1 ? "" : "s")});
}

static void add_timeline(mining *m)
{
    static const char *const kinds[] = {"forward", "backward", "update"};
    const weft_eval_schedule *s = &m->schedule;
    const int *phase = phases_of(m);
    int n[N_ROWS] = {0}, row_of[N_ROWS];

    for (int i = 0; i < s->n; i++) {
        n[TENSOR] += s->n_tensor[i] > 0;
        n[VECTOR] += s->n_vector[i] > 0;
        n[COPIES] += s->n_tensor[i] + s->n_vector[i] == 0;
    }
    if (s->n == 0 || n[TENSOR] + n[VECTOR] + n[COPIES] > MOST_BARS)
        return;
    m->g.time = (weft_page_time){.a = m->a,
                                 .end_s = s->step_s,
                                 .n_kinds = 3,
                                 .kinds = kinds,
                                 .colour_by = "kind",
                                 .note = timeline_note(m)};
    for (int i = 0; i < N_ROWS; i++) {
        row_of[i] = m->g.time.rows.n;
        if (n[i] > 0)
            weft_page_add_row(&m->g.time, row_name(m, i), "device", row_of[i]);
    }
    for (int i = 0; i < s->n; i++) {
        if (s->n_tensor[i] > 0)
            add_bar(m, row_of[TENSOR], i, s->n_tensor[i], phase[i]);
        if (s->n_vector[i] > 0)
            add_bar(m, row_of[VECTOR], i, s->n_vector[i], phase[i]);
        if (s->n_tensor[i] + s->n_vector[i] == 0)
            add_bar(m, row_of[COPIES], i, 0, phase[i]);
    }
    weft_page_spread(&m->g.time);
}

/* --- tables ---------------------------------------------------------------------------------- */

static void add_networks(mining *m)
{
    static const weft_column column[] = {
        {"model",         "network",                 "text"     },
        {"batch",         "batch",                   "count"    },
        {"step_s",        "step",                    "s"        },
        {"samples_per_s", "throughput",              "samples/s"},
        {"speed_up",      "speed-up",                "x"        },
        {"memory_bytes",  "memory",                  "B"        },
        {"fits",          "fits",                    "text"     },
        {"schedule_s",    "no schedule is shorter",  "s"        },
        {"reference_s",   "step on the reference",   "s"        },
        {"macs",          "multiply-adds of a step", "count"    },
        {"weight",        "weight",                  "count"    },
    };
    weft_doc *rows = weft_page_table(
        &m->g, &(weft_table){"networks", "Networks", "use",
                             "A step is forward, backward and optimizer of one batch; speed-up is "
                             "over the reference; "
                             "memory is what training takes at least, of one device.",
                             sizeof column / sizeof *column, column, .rank = NULL});

    for (int i = 0; i < m->q->n_workloads; i++) {
        const weft_workload *w = &m->q->workload[i];
        const weft_mine_figure *x = &m->r->figure[i];
        weft_doc *row = weft_page_row(&m->g, rows);

        weft_cell_text(&m->g, row, w->name);
        weft_cell_real(&m->g, row, w->batch);
        weft_cell_real(&m->g, row, x->step_s);
        weft_cell_real(&m->g, row, w->batch / x->step_s);
        weft_cell_real(&m->g, row, x->reference_s / x->step_s);
        weft_cell_real(&m->g, row, x->memory_bytes);
        weft_cell_text(&m->g, row, x->fits ? "yes" : "no");
        weft_cell_real(&m->g, row, x->schedule_s);
        weft_cell_real(&m->g, row, x->reference_s);
        weft_cell_real(&m->g, row, x->macs);
        weft_cell_real(&m->g, row, w->weight);
    }
}

static double throughput_on(mining *m, const weft_design_point *p)
{
    double *seconds = WEFT_NEW(m->a, double, m->q->n_workloads);
    double *reference_s = WEFT_NEW(m->a, double, m->q->n_workloads);
    weft_objective q = *m->q;

    for (int i = 0; i < m->q->n_workloads; i++) {
        seconds[i] = step_s(m, i, p);
        reference_s[i] = m->r->figure[i].reference_s;
    }
    q.reference_s = reference_s;
    return weft_objective_throughput(&q, seconds);
}

/* A name, or the words of the design; what it is; sizes; throughput. */
static weft_doc *new_table(mining *m, const char *id, const char *title, const char *note)
{
    weft_column column[WEFT_SIZE_COLUMNS + 3] = {
        {"design",     "design",     "text"            },
        {"throughput", "throughput", throughput_unit(m)},
    };

    weft_size_columns(column + 2);
    column[WEFT_SIZE_COLUMNS + 2] = (weft_column){"role", "role", "text"};
    return weft_page_table(&m->g, &(weft_table){id, title, "front", note, WEFT_SIZE_COLUMNS + 3,
                                                column, .more = "--verbose"});
}

static void add_row(mining *m, weft_doc *rows, const char *name, const char *what,
                    const weft_design_point *p, double throughput)
{
    weft_doc *row = weft_page_row(&m->g, rows);

    weft_cell_text(&m->g, row, name);
    weft_cell_real(&m->g, row, throughput);
    weft_size_cells(&m->g, row, m->t, p);
    weft_cell_text(&m->g, row, what);
}

static void add_designs(mining *m)
{
    weft_doc *rows = new_table(m, "designs", "Beside others",
                               "The design that was found beside those that the template names, in "
                               "the same cost model.");

    add_row(m, rows, weft_design_words(m->t, &m->f->point, m->a), "found", &m->f->point,
            m->f->throughput);
    for (int i = 0; i < m->t->n_landmarks; i++)
        add_row(m, rows, m->t->landmark[i].name, i == 0 ? "reference" : "of the template",
                &m->t->landmark[i].point, throughput_on(m, &m->t->landmark[i].point));
}

static void add_front(mining *m)
{
    weft_doc *rows;

    if (m->f->n_front == 0)
        return;
    rows = new_table(m, "front", "Front",
                     m->f->is_front_proved
                         ? "Proved: no design beats one of these in throughput, TDP and area."
                         : "Of the designs that were scheduled, those that none beats in "
                           "throughput, TDP and area; --solver front finds all.");
    for (int i = 0; i < m->f->n_front; i++) {
        const weft_mined *x = &m->f->front[i];
        bool is_best = weft_point_index(m->t, &x->point) == weft_point_index(m->t, &m->f->point);

        add_row(m, rows, weft_design_words(m->t, &x->point, m->a), is_best ? "found" : "",
                &x->point, x->throughput);
    }
}

static void add_sensitivity(mining *m)
{
    static const weft_column column[] = {
        {"constant", "constant",            "text"},
        {"change",   "changed by",          "%"   },
        {"loss",     "below the best then", "%"   },
        {"what",     "the design",          "text"},
        {"best",     "best design then",    "text"},
    };
    const weft_design_sensitivity *s = m->r->sensitivity;
    weft_doc *rows;

    if (s == NULL)
        return;
    rows = weft_page_table(
        &m->g,
        &(weft_table){"sensitivity", "If the cost model is wrong", "front",
                      weft_arena_print(m->a,
                                       "Each constant at both ends of its stated error. All drawn "
                                       "at once %d times: within 1 %% of the best in %d, breaks a "
                                       "limit in %d; at most %.2f %% below the best.",
                                       s->n_draws, s->n_stays, s->n_breaks, 100 * s->worst_loss),
                      sizeof column / sizeof *column, column, .rank = NULL});
    for (int i = 0; i < s->n_shifts; i++) {
        const weft_shift *x = &s->shift[i];
        weft_doc *row = weft_page_row(&m->g, rows);
        bool is_broken = !(x->winner_value > 0);

        weft_cell_text(&m->g, row, m->t->constant[x->constant].name);
        weft_cell_real(&m->g, row, x->factor - 1);
        weft_cell_real(&m->g, row, is_broken ? NAN : 1 - x->winner_value / x->best_value);
        weft_cell_text(&m->g, row, is_broken ? "breaks a limit" : x->is_flip ? "flips" : "stays");
        weft_cell_text(&m->g, row,
                       x->best_value > 0 ? weft_design_words(m->t, &x->best, m->a) : "none");
    }
}

/* --- plots ----------------------------------------------------------------------------------- */

static weft_plot_point plot_point(mining *m, const char *label, const weft_design_point *p,
                                  double throughput, bool is_area)
{
    return (weft_plot_point){.x = is_area ? weft_design_point_area_mm2(m->t, p)
                                          : weft_design_point_tdp_w(m->t, p),
                             .y = throughput,
                             .label = label};
}

/* Designs of the front, the winner if it is none of them, and those that the template names. */
static void add_plot(mining *m, bool is_area)
{
    const weft_found *f = m->f;
    weft_plot_point *x = WEFT_NEW(m->a, weft_plot_point, f->n_front + m->t->n_landmarks + 1);
    double limit = is_area ? m->q->limits.area_mm2 : m->q->limits.tdp_w;
    bool has_best = false;
    int n = 0;

    for (int i = 0; i < f->n_front; i++) {
        const weft_design_point *p = &f->front[i].point;

        x[n] = plot_point(m, weft_design_words(m->t, p, m->a), p, f->front[i].throughput, is_area);
        x[n].is_front = true;
        x[n].is_best = weft_point_index(m->t, p) == weft_point_index(m->t, &f->point);
        has_best |= x[n++].is_best;
    }
    if (!has_best) {
        x[n] = plot_point(m, weft_design_words(m->t, &f->point, m->a), &f->point, f->throughput,
                          is_area);
        x[n++].is_best = true;
    }
    for (int i = 0; i < m->t->n_landmarks; i++)
        x[n++] = plot_point(m, m->t->landmark[i].name, &m->t->landmark[i].point,
                            throughput_on(m, &m->t->landmark[i].point), is_area);
    weft_page_plot(&m->g, &(weft_plot){is_area ? "area" : "front",
                                       is_area ? "Throughput and area" : "Throughput and TDP",
                                       is_area ? "area" : "TDP", is_area ? "mm2" : "W",
                                       "throughput", throughput_unit(m), n, x, limit,
                                       weft_arena_print(m->a, "limit %s",
                                                        is_area ? weft_area_text(m->a, limit)
                                                                : weft_power_text(m->a, limit))});
}

/* --- about ----------------------------------------------------------------------------------- */

static void add_options(mining *m)
{
    const weft_mine_report *r = m->r;
    weft_doc *rows = weft_page_about(&m->g, "Options");

    weft_about(&m->g, rows, "metric",
               m->q->metric == WEFT_METRIC_PER_TDP ? "throughput per TDP" : "throughput");
    if (m->q->n_workloads > 1)
        weft_about(&m->g, rows, "of several networks",
                   m->q->blend == WEFT_BLEND_WORST
                       ? "the one that gains least over the reference"
                       : "geometric mean of what they gain over the reference");
    if (m->q->least_throughput > 0)
        weft_about(&m->g, rows, "least throughput",
                   weft_arena_print(m->a, "%.6g times the reference", m->q->least_throughput));
    weft_about_limits(&m->g, rows, &m->q->limits, m->t->hbm_bytes);
    weft_about_options(&m->g, rows, r->options, r->dtype, r->optimizer);
    weft_about(&m->g, rows, "solver", r->solver);
    weft_about(&m->g, rows, "seed", weft_whole(m->a, r->seed));
    if (r->evaluations > 0)
        weft_about(&m->g, rows, "most evaluations", weft_whole(m->a, r->evaluations));
    weft_about(&m->g, rows, "version of weft", m->more->version);
}

static void add_proof(mining *m)
{
    const weft_found *f = m->f;
    weft_doc *rows = weft_page_about(&m->g, "Proof");
    const char *unit = weft_mine_unit(m->q);

    weft_about(&m->g, rows, "status", weft_outcome_name(f->outcome));
    if (f->bound < INFINITY)
        weft_about(&m->g, rows, "no design has more than",
                   weft_arena_print(m->a, "%.6g %s", f->bound, unit));
    if (f->schedule_bound < INFINITY)
        weft_about(&m->g, rows, "in whatever order operators run",
                   weft_arena_print(m->a, "%.6g %s", f->schedule_bound, unit));
    weft_about(&m->g, rows, "designs bounded", weft_whole(m->a, f->n_bounds));
    weft_about(&m->g, rows, "designs scheduled", weft_whole(m->a, f->n_evaluated));
    weft_about(&m->g, rows, "certified",
               "weft check computes the design, its front and the bound of the whole template "
               "again; the search is repeated by the command below");
}

static void add_about(mining *m)
{
    for (int i = 0; i < m->q->n_workloads; i++) {
        weft_doc *rows = weft_page_about(&m->g, m->q->n_workloads == 1
                                                    ? "Network"
                                                    : weft_arena_print(m->a, "Network %d", i + 1));

        weft_about(&m->g, rows, "source", m->q->workload[i].name);
        weft_about(&m->g, rows, "content hash",
                   weft_arena_print(m->a, "%016" PRIx64, m->q->workload[i].hash));
        weft_about(&m->g, rows, "batch", weft_arena_print(m->a, "%.0f", m->q->workload[i].batch));
    }
    weft_about_template(&m->g, m->t);
    add_options(m);
    add_proof(m);
    m->g.command = m->more->command;
    weft_assume_designs(&m->g, m->t);
    weft_page_assume(&m->g, "A step is a list schedule, the operator whose path to the end is "
                            "longest first; it is never shorter than all bytes by the bandwidth.");
    if (has_design(m) && !weft_mine_report_fits(m->r))
        weft_page_assume(&m->g, "A network that does not fit the memory of one device is timed as "
                                "if it did.");
}

/* --- all ------------------------------------------------------------------------------------- */

static void add_design(mining *m)
{
    if (m->more->graph != NULL)
        m->schedule = weft_eval_schedule_of(m->q->workload[0].eval[0], &m->f->point, m->a);
    add_facts(m);
    if (m->t->has_power)
        add_plot(m, false);
    add_plot(m, true);
    add_timeline(m);
    add_networks(m);
    add_designs(m);
    add_front(m);
    add_sensitivity(m);
}

weft_page *weft_mine_facts(const void *report, const weft_page_more *more, weft_arena *a)
{
    const weft_mine_report *r = report;
    mining *m = WEFT_NEW(a, mining, 1);
    weft_design_asked asked;

    *m = (mining){.r = r,
                  .q = r->objective,
                  .t = r->objective->template_,
                  .f = r->found,
                  .more = more,
                  .a = a};
    weft_page_begin(&m->g, "mine", a);
    add_title(m);
    m->g.nothing = "design";
    m->g.outcome = r->found->outcome;
    m->g.reason = r->found->reason;
    if (has_design(m))
        add_design(m);
    asked = weft_asked_of_device(r, a);
    weft_design_result(&m->g, &asked, r->solver,
                       &(weft_proof){.outcome = m->f->outcome,
                                     .value = m->f->value,
                                     .bound = m->f->bound,
                                     .gap = fabs(m->f->value - m->f->bound) / m->f->value,
                                     .reason = m->f->reason});
    weft_mine_report_put(r, m->g.result, a);
    if (has_design(m))
        weft_page_accuracy(&m->g, NULL);
    if (!more->is_brief)
        add_about(m);
    return &m->g;
}

void weft_mine_report_csv(const weft_mine_report *r, FILE *to)
{
    const weft_template *t = r->objective->template_;

    fprintf(to, "throughput,tdp_w,area_mm2");
    for (int k = 0; k < WEFT_N_PARAMETERS; k++)
        fprintf(to, ",%s", weft_parameter_name((weft_parameter)k));
    fputc('\n', to);
    for (int i = 0; i < r->found->n_front; i++) {
        const weft_mined *m = &r->found->front[i];

        fprintf(to, "%.17g,%.17g,%.17g", m->throughput, m->tdp_w, m->area_mm2);
        for (int k = 0; k < WEFT_N_PARAMETERS; k++)
            fprintf(to, ",%.17g", weft_parameter_size(t, &m->point, (weft_parameter)k));
        fputc('\n', to);
    }
}
