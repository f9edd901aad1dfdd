/* SPDX-License-Identifier: MIT */
/* facts_design_pipeline.c: the page of designs for the devices of a pipeline: stages, designs, and the step of
 * the first network under 1f1b, microbatch by microbatch.
 *
 * Rows of the timeline are stages, whose devices do the same at the same time, and what stages send
 * to each other. */
#include "design_pipeline.h"
#include "facts_mine.h"
#include "space.h"

#include <inttypes.h>
#include <math.h>

enum { MOST_BARS = 40000 };

typedef struct design_pipeline_page {
    weft_page g;
    const weft_design_pipeline_report *r;
    const weft_design_pipeline_objective *q;
    const weft_template *t;
    const weft_design_pipeline *x;
    const weft_design_pipeline_found *f;
    const weft_page_more *more;
    weft_arena *a;
} design_pipeline_page;

static int64_t microbatches(const design_pipeline_page *m)
{
    return m->x->batch / (m->x->microbatch * m->x->replicas);
}

/* --- summary --------------------------------------------------------------------------------- */

static void add_title(design_pipeline_page *m)
{
    const char *software = weft_software_given(m->r->options);
    const char *what = m->q->n_nets == 1 ? m->q->net[0]->name
                                         : weft_arena_print(m->a, "%d networks", m->q->n_nets);

    m->g.title =
        weft_arena_print(m->g.a, "%s: %s of %s for a pipeline of %d stages", what,
                         m->q->is_per_stage ? "designs" : "a design", m->t->name, m->x->n_stages);
    m->g.subtitle = weft_unglued(
        m->g.a,
        weft_arena_print(m->a, "highest %s, each device within %s%s%s",
                         m->q->metric == WEFT_METRIC_PER_TDP ? "throughput per TDP" : "throughput",
                         weft_limits_words(&m->q->limits, m->a), software ? ", software " : "",
                         software ? software : ""));
}

static void add_beside(design_pipeline_page *m)
{
    const weft_design_pipeline_found *f = m->f, *common = m->r->common;
    double ratio = f->throughput / (m->q->n_nets == 1 ? f->reference_throughput : 1);

    if (f->reference_throughput > 0)
        weft_page_fact(&m->g, "ratio", weft_arena_print(m->a, "over %s", m->t->landmark[0].name),
                       weft_arena_print(m->a, "%.3fx", ratio), "throughput, in the same pipeline",
                       ratio);
    if (common != NULL && common->value > 0)
        weft_page_fact(&m->g, "common", "over one design for all",
                       weft_arena_print(m->a, "%.4fx", f->value / common->value),
                       weft_arena_print(m->a, "which has %s %s",
                                        weft_metric_text(m->a, common->value),
                                        weft_design_pipeline_unit(m->q)),
                       f->value / common->value);
}

static void add_facts(design_pipeline_page *m)
{
    const weft_design_pipeline_found *f = m->f;
    int n_devices = m->x->n_stages * m->x->width * m->x->replicas;
    bool is_per_tdp = m->q->metric == WEFT_METRIC_PER_TDP;

    weft_design_claim_facts(&m->g,
                            &(weft_design_claim){is_per_tdp ? "throughput per TDP" : "throughput",
                                                 weft_design_pipeline_unit(m->q), f->value,
                                                 f->bound, f->gap, f->outcome});
    weft_page_fact(&m->g, "step", "step", weft_glued_seconds(m->a, f->plan[0].step_s),
                   weft_arena_print(m->a, "%s samples, microbatches of %s, 1f1b",
                                    weft_whole(m->a, m->x->batch),
                                    weft_whole(m->a, m->x->microbatch)),
                   f->plan[0].step_s);
    weft_page_fact(
        &m->g, "devices", "devices", weft_whole(m->a, n_devices),
        weft_arena_print(m->a, "%d stages of %d x %d", m->x->n_stages, m->x->replicas, m->x->width),
        n_devices);
    if (m->t->has_power)
        weft_page_fact(&m->g, "tdp", "TDP of all", weft_power_text(m->a, f->tdp_w), NULL, f->tdp_w);
    add_beside(m);
    weft_page_fact(
        &m->g, "searched", "searched",
        weft_arena_print(m->a, "%s designs within the limits", weft_whole(m->a, f->n_feasible)),
        weft_arena_print(m->a, "%s of them partitioned, %s plans simulated",
                         weft_whole(m->a, f->n_partitioned), weft_whole(m->a, f->n_plans)),
        (double)f->n_feasible);
}

/* --- timeline -------------------------------------------------------------------------------- */

enum { FORWARD, BACKWARD, SEND, SYNC, UPDATE, N_KINDS };

static const char *const kind_name[N_KINDS] = {"forward", "backward", "send", "sync", "update"};

static weft_pipe_stage_times stage_times_of(design_pipeline_page *m)
{
    const weft_design_pipeline_plan *plan = &m->f->plan[0];
    const weft_design_pipeline_net *net = m->q->net[0];
    weft_pipe_stage_times b =
        weft_pipe_stage_times_new(plan->n_stages, 1, net->blocks.n_shared, m->a);
    int64_t n = microbatches(m) * plan->n_stages;
    int *outer = WEFT_NEW(m->a, int, plan->n_stages);

    b.schedule = WEFT_ONE_F_ONE_B;
    b.n_microbatches = microbatches(m);
    b.forward_at_s = WEFT_NEW(m->a, double, n);
    b.backward_at_s = WEFT_NEW(m->a, double, n);
    for (int i = 0; i < plan->n_stages; i++) {
        const weft_design_pipeline_stage *s = &plan->stage[i];

        b.forward_s[i] = s->forward_s;
        b.backward_s[i] = s->backward_s;
        b.send_s[i] = s->send_s;
        b.return_s[i] = s->return_s;
        b.sync_s[i] = s->sync_s;
        b.update_s[i] = s->update_s;
        outer[i] = s->last_cut;
    }
    weft_pipeline_add_shared(m->x, net, outer, &b);
    return b;
}

static void add_bar(weft_page_time *t, int row, int kind, double start_s, double seconds,
                    const char *name)
{
    if (seconds > 0)
        (void)weft_page_add_bar(t, &(weft_page_bar){.row = row,
                                                    .kind = kind,
                                                    .node = -1,
                                                    .start_s = start_s,
                                                    .end_s = start_s + seconds,
                                                    .name = name});
}

static void add_microbatches(design_pipeline_page *m, const weft_pipe_stage_times *b,
                             weft_page_time *t)
{
    for (int i = 0; i < b->n_stages; i++)
        for (int64_t j = 0; j < b->n_microbatches; j++) {
            int64_t at = i * b->n_microbatches + j;

            add_bar(t, i, FORWARD, b->forward_at_s[at], b->forward_s[i],
                    weft_arena_print(m->a, "forward %" PRId64, j));
            add_bar(t, i, BACKWARD, b->backward_at_s[at], b->backward_s[i],
                    weft_arena_print(m->a, "backward %" PRId64, j));
        }
}

/* Activations and gradients between two stages, each way a row. */
static void add_sends(design_pipeline_page *m, const weft_pipe_stage_times *b, weft_page_time *t)
{
    for (int i = 0; i + 1 < b->n_stages; i++) {
        int row = t->rows.n;

        weft_page_add_row(t, weft_arena_print(m->g.a, "stage %d to %d", i, i + 1), "link", -1);
        weft_page_add_row(t, weft_arena_print(m->g.a, "stage %d to %d", i + 1, i), "link", -1);
        for (int64_t j = 0; j < b->n_microbatches; j++) {
            int64_t at = i * b->n_microbatches + j, next = at + b->n_microbatches;

            add_bar(t, row, SEND, b->forward_at_s[at] + b->forward_s[i], b->send_s[i],
                    weft_arena_print(m->a, "activations %" PRId64, j));
            add_bar(t, row + 1, SEND, b->backward_at_s[next] + b->backward_s[i + 1], b->return_s[i],
                    weft_arena_print(m->a, "gradients %" PRId64, j));
        }
    }
}

/* After the last backward, as train/pipe_time.c has it: owners of shared parameters wait for the
 * gradients of the others, all sum and update, and owners send the new values back. */
static void add_end(design_pipeline_page *m, const weft_pipe_stage_times *b, weft_page_time *t)
{
    double *last_s = WEFT_NEW(m->a, double, b->n_stages);
    double *ready_s = WEFT_NEW(m->a, double, b->n_stages);

    for (int i = 0; i < b->n_stages; i++)
        last_s[i] = ready_s[i] =
            b->backward_at_s[(i + 1) * b->n_microbatches - 1] + b->backward_s[i];
    for (int k = 0; k < b->n_shared; k++) {
        const weft_pipe_shared *x = &b->shared[k];

        ready_s[x->owner] = fmax(ready_s[x->owner], last_s[x->other] + x->gradient_s);
    }
    for (int i = 0; i < b->n_stages; i++) {
        add_bar(t, i, SYNC, ready_s[i], b->sync_s[i], "sums of gradients");
        add_bar(t, i, UPDATE, ready_s[i] + b->sync_s[i], b->update_s[i], "update");
        ready_s[i] += b->sync_s[i] + b->update_s[i];
    }
    for (int k = 0; k < b->n_shared; k++) {
        const weft_pipe_shared *x = &b->shared[k];
        int row = t->rows.n;

        weft_page_add_row(t, weft_arena_print(m->g.a, "shared %d and %d", x->other, x->owner),
                          "link", -1);
        add_bar(t, row, SEND, last_s[x->other], x->gradient_s,
                weft_arena_print(m->a, "gradients of shared parameters, to stage %d", x->owner));
        add_bar(t, row, SEND, ready_s[x->owner], x->value_s,
                weft_arena_print(m->a, "shared parameters, to stage %d", x->other));
    }
}

static void add_timeline(design_pipeline_page *m)
{
    const weft_design_pipeline_plan *plan = &m->f->plan[0];
    weft_pipe_stage_times b;
    weft_page_time *time = &m->g.time;
    const weft_page_time empty = {
        .a = m->g.a,
        .end_s = plan->step_s,
        .n_kinds = N_KINDS,
        .kinds = kind_name,
        .colour_by = "kind",
        .note = weft_arena_print(m->g.a, "%s%sdevices of a stage do the same at the same time",
                                 m->q->n_nets > 1 ? m->q->net[0]->name : "",
                                 m->q->n_nets > 1 ? "; " : "")};

    if (4 * microbatches(m) * plan->n_stages > MOST_BARS)
        return;
    *time = empty;
    b = stage_times_of(m);
    (void)weft_pipe_step_s(&b, m->a);
    for (int i = 0; i < plan->n_stages; i++)
        weft_page_add_row(time,
                          weft_arena_print(m->g.a, "stage %d: %d device%s", i,
                                           m->x->width * m->x->replicas,
                                           m->x->width * m->x->replicas == 1 ? "" : "s"),
                          "stage", i);
    add_microbatches(m, &b, time);
    add_sends(m, &b, time);
    add_end(m, &b, time);
    weft_page_spread(time);
}

/* --- tables ---------------------------------------------------------------------------------- */

static void add_networks(design_pipeline_page *m)
{
    static const weft_column column[] = {
        {"model",         "network",             "text"     },
        {"step_s",        "step",                "s"        },
        {"samples_per_s", "throughput",          "samples/s"},
        {"bound_s",       "bound of partitions", "s"        },
        {"weight",        "weight",              "count"    },
    };
    weft_doc *rows =
        weft_page_table(&m->g, &(weft_table){"networks", "Networks", "use", NULL,
                                             sizeof column / sizeof *column, column, .rank = NULL});

    for (int i = 0; i < m->q->n_nets; i++) {
        const weft_design_pipeline_plan *p = &m->f->plan[i];
        weft_doc *row = weft_page_row(&m->g, rows);

        weft_cell_text(&m->g, row, m->q->net[i]->name);
        weft_cell_real(&m->g, row, p->step_s);
        weft_cell_real(&m->g, row, p->samples_per_s);
        weft_cell_real(&m->g, row, p->bound_s);
        weft_cell_real(&m->g, row, m->q->net[i]->weight);
    }
}

static void add_stage(design_pipeline_page *m, weft_doc *rows, int net, int i)
{
    const weft_design_pipeline_stage *s = &m->f->plan[net].stage[i];
    weft_doc *row = weft_page_row(&m->g, rows);
    double busy_s = (s->forward_s + s->backward_s) * (double)microbatches(m);

    weft_cell_int(&m->g, row, i);
    weft_cell_int(&m->g, row, weft_design_pipeline_stage_units(m->q->net[net], s));
    weft_cell_text(&m->g, row, weft_design_words(m->t, &s->point, m->a));
    weft_cell_text(&m->g, row, weft_recompute_name(s->recompute));
    weft_cell_real(&m->g, row, s->forward_s);
    weft_cell_real(&m->g, row, s->backward_s);
    weft_cell_real(&m->g, row, s->memory_bytes);
    weft_cell_real(&m->g, row, busy_s / m->f->plan[net].step_s);
    weft_cell_real(&m->g, row, s->send_s);
    weft_cell_real(&m->g, row, s->return_s);
    weft_cell_real(&m->g, row, s->sync_s);
    weft_cell_real(&m->g, row, s->update_s);
    weft_cell_real(&m->g, row, m->t->has_power ? s->tdp_w : NAN);
}

static void add_stages(design_pipeline_page *m, int net)
{
    static const weft_column column[] = {
        {"stage",        "stage",               "count"},
        {"units",        "units",               "count"},
        {"design",       "design",              "text" },
        {"recompute",    "again",               "text" },
        {"forward_s",    "forward",             "s"    },
        {"backward_s",   "backward",            "s"    },
        {"memory_bytes", "memory",              "B"    },
        {"busy",         "busy",                "%"    },
        {"send_s",       "sends",               "s"    },
        {"return_s",     "gradients come back", "s"    },
        {"sync_s",       "sums of gradients",   "s"    },
        {"update_s",     "update",              "s"    },
        {"tdp_w",        "TDP of a device",     "W"    },
    };
    const char *id = net == 0 ? "stages" : weft_arena_print(m->a, "stages_%d", net + 1);
    const char *title =
        m->q->n_nets == 1 ? "Stages" : weft_arena_print(m->a, "Stages of %s", m->q->net[net]->name);
    weft_doc *rows = weft_page_table(
        &m->g, &(weft_table){id, title, "use",
                             "Forward and backward, with what is computed again, are of one "
                             "microbatch; busy of a step.",
                             sizeof column / sizeof *column, column, .more = "--verbose"});

    for (int i = 0; i < m->x->n_stages; i++)
        add_stage(m, rows, net, i);
}

/* Different designs, with how many devices have each. */
static void add_designs(design_pipeline_page *m)
{
    weft_column column[WEFT_SIZE_COLUMNS + 2] = {
        {"design",  "design",  "text" },
        {"devices", "devices", "count"}
    };
    const weft_design_pipeline_stage *stage = m->f->plan[0].stage;
    weft_doc *rows;

    weft_size_columns(column + 2);
    rows = weft_page_table(&m->g, &(weft_table){"designs", "Designs", "front",
                                                "The last one is the reference of the template.",
                                                WEFT_SIZE_COLUMNS + 2, column, .rank = NULL});
    for (int i = 0; i <= m->x->n_stages; i++) {
        const weft_design_point *p = i < m->x->n_stages ? &stage[i].point : &m->q->reference;
        int n = 0, before = 0;
        weft_doc *row;

        for (int k = 0; k < m->x->n_stages && i < m->x->n_stages; k++) {
            bool is_same = weft_point_index(m->t, &stage[k].point) == weft_point_index(m->t, p);

            n += is_same;
            before += is_same && k < i;
        }
        if (before > 0)
            continue;
        row = weft_page_row(&m->g, rows);
        weft_cell_text(&m->g, row,
                       i < m->x->n_stages ? weft_design_words(m->t, p, m->a)
                                          : m->t->landmark[0].name);
        weft_cell_int(&m->g, row, (int64_t)n * m->x->width * m->x->replicas);
        weft_size_cells(&m->g, row, m->t, p);
    }
}

/* --- about ----------------------------------------------------------------------------------- */

static const char *link_text(design_pipeline_page *m, const weft_link_cost *l)
{
    char rate[48], latency[48];

    return weft_arena_print(m->a, "%s, %s",
                            weft_unit_print(l->bytes_per_s, WEFT_UNIT_BYTES_PER_S, rate),
                            weft_unit_print(l->latency_s, WEFT_UNIT_SECONDS, latency));
}

static void add_options(design_pipeline_page *m)
{
    weft_doc *rows = weft_page_about(&m->g, "Options");

    weft_about(&m->g, rows, "metric",
               m->q->metric == WEFT_METRIC_PER_TDP ? "throughput per TDP" : "throughput");
    weft_about(&m->g, rows, "designs", m->q->is_per_stage ? "one for each stage" : "one for all");
    if (m->q->least_throughput > 0)
        weft_about(&m->g, rows, "least throughput",
                   weft_arena_print(m->a, "%.6g times the reference", m->q->least_throughput));
    weft_about_limits(&m->g, rows, &m->q->limits, m->t->hbm_bytes);
    weft_about_options(&m->g, rows, m->r->options, m->r->dtype, m->r->optimizer);
    weft_about(&m->g, rows, "samples of a step", weft_whole(m->a, m->x->batch));
    weft_about(&m->g, rows, "samples of a microbatch", weft_whole(m->a, m->x->microbatch));
    weft_about(&m->g, rows, "links inside a stage", link_text(m, &m->x->inside));
    weft_about(&m->g, rows, "links between stages", link_text(m, &m->x->between));
    weft_about(&m->g, rows, "version of weft", m->more->version);
}

static void add_proof(design_pipeline_page *m)
{
    weft_doc *rows = weft_page_about(&m->g, "Proof");

    weft_about(&m->g, rows, "status", weft_outcome_name(m->f->outcome));
    weft_about(&m->g, rows, "designs within the limits", weft_whole(m->a, m->f->n_feasible));
    weft_about(&m->g, rows, "certified",
               "weft check computes the plan again, and a bound by the work of all parts; the "
               "search is repeated by the command below");
}

static void add_about(design_pipeline_page *m)
{
    for (int i = 0; i < m->q->n_nets; i++) {
        weft_doc *rows = weft_page_about(
            &m->g, m->q->n_nets == 1 ? "Network" : weft_arena_print(m->a, "Network %d", i + 1));

        weft_about(&m->g, rows, "source", m->q->net[i]->name);
        weft_about(&m->g, rows, "content hash",
                   weft_arena_print(m->a, "%016" PRIx64, m->q->net[i]->hash));
        weft_about(&m->g, rows, "units", weft_whole(m->a, m->q->net[i]->blocks.n_blocks));
    }
    weft_about_template(&m->g, m->t);
    add_options(m);
    add_proof(m);
    m->g.command = m->more->command;
    weft_assume_designs(&m->g, m->t);
    weft_page_assume(&m->g, "Stages run forward and backward of microbatches in the order 1f1b and "
                            "send beside computation, without waiting for other transfers.");
    weft_page_assume(&m->g, "How operators are cut over the devices of a stage was chosen on the "
                            "reference design.");
}

/* --- all ------------------------------------------------------------------------------------- */

static void add_plan(design_pipeline_page *m)
{
    add_facts(m);
    if (!m->more->is_brief)
        add_timeline(m);
    add_networks(m);
    for (int i = 0; i < m->q->n_nets; i++)
        add_stages(m, i);
    add_designs(m);
}

weft_page *weft_design_pipeline_facts(const void *report, const weft_page_more *more, weft_arena *a)
{
    const weft_design_pipeline_report *r = report;
    design_pipeline_page *m = WEFT_NEW(a, design_pipeline_page, 1);
    weft_design_asked asked;

    *m = (design_pipeline_page){.r = r,
                                .q = r->objective,
                                .t = r->objective->template_,
                                .x = &r->objective->design_pipeline,
                                .f = r->found,
                                .more = more,
                                .a = a};
    weft_page_begin(&m->g, "mine", a);
    add_title(m);
    m->g.outcome = r->found->outcome;
    m->g.reason = r->found->reason;
    if (r->found->value > 0)
        add_plan(m);
    asked = weft_asked_of_pipeline(r, a);
    weft_design_result(&m->g, &asked, "auto",
                       &(weft_proof){.outcome = m->f->outcome,
                                     .value = m->f->value,
                                     .bound = m->f->bound,
                                     .gap = m->f->gap,
                                     .reason = m->f->reason});
    weft_design_pipeline_report_put(r, m->g.result, a);
    if (r->found->value > 0)
        weft_page_accuracy(&m->g, NULL);
    if (!more->is_brief)
        add_about(m);
    return &m->g;
}
