/* SPDX-License-Identifier: MIT */
/* side_designs.c: what designs are compared by, of one device and of the stages of a pipeline.
 *
 * Two problems are the same if template, networks, metric, limits and the pipeline are. */
#include "facts_mine.h"

#include "diff.h"
#include "hash.h"

#include <inttypes.h>
#include <math.h>

static const weft_side_number network_columns[] = {
    {"peak_bytes", "memory", "B", 0},
    {"step_s",     "step",   "s", 0},
};

static const weft_side_number stage_columns[] = {
    {"forward_s",  "forward", "s", 0},
    {"backward_s", "backwd",  "s", 0},
    {"peak_bytes", "memory",  "B", 0},
};

/* --- what was asked -------------------------------------------------------------------------- */

static const char *networks_text(const weft_design_asked *q, weft_arena *a)
{
    const char *text = "";

    for (int i = 0; i < q->n; i++)
        text = weft_arena_print(
            a, "%s%s%s (batch %.6g%s)", text, i == 0 ? "" : ", ", q->network[i].name,
            q->network[i].batch,
            q->n > 1 ? weft_arena_print(a, ", weight %.4g", q->network[i].weight) : "");
    return text;
}

static void add_settings(const weft_design_asked *q, weft_side *out)
{
    weft_side_setting(out, "template", out->origin->platform);
    weft_side_setting(out, "solver", out->origin->solver);
    weft_side_setting(out, "seed", weft_arena_print(out->a, "%" PRId64, out->origin->seed));
    weft_side_setting(out, "networks", networks_text(q, out->a));
    weft_side_setting(out, "metric", q->metric == WEFT_METRIC_PER_TDP ? "per TDP" : "throughput");
    weft_side_number_of(out, "most area", q->limits->area_mm2, "mm2");
    weft_side_number_of(out, "most power", q->limits->tdp_w, "W");
    weft_side_number_of(out, "memory of a device", q->t->hbm_bytes, "B");
    weft_side_number_of(out, "least throughput", q->least_throughput, "x");
    weft_side_setting(out, "element type", q->dtype);
    weft_side_setting(out, "optimizer", q->optimizer);
    weft_side_setting(out, "software", weft_software_given(q->options));
    for (int i = 0; i < WEFT_N_CONSTANTS; i++)
        weft_side_number_of(out, weft_arena_print(out->a, "template %s", q->t->constant[i].name),
                            q->t->constant[i].value, "");
}

static void add_pipeline(const weft_design_pipeline_objective *q, weft_side *out)
{
    const weft_design_pipeline *x = &q->design_pipeline;

    weft_side_setting(out, "designs", q->is_per_stage ? "one for each stage" : "one for all");
    weft_side_number_of(out, "stages", x->n_stages, "");
    weft_side_number_of(out, "tensor width", x->width, "");
    weft_side_number_of(out, "replicas", x->replicas, "");
    weft_side_number_of(out, "microbatch", (double)x->microbatch, "samples");
    weft_side_number_of(out, "recomputation allowed (bits)", x->recomputes, "");
    weft_side_number_of(out, "bandwidth inside", x->inside.bytes_per_s, "B/s");
    weft_side_number_of(out, "bandwidth between", x->between.bytes_per_s, "B/s");
}

/* Of the contents of template and networks, and of all settings but who searched. */
static uint64_t hash_problem(const weft_design_asked *q, const weft_side *side)
{
    enum { SEARCHED = 3 }; /* template, solver and seed come first */
    uint64_t h = weft_hash_int(weft_hash_start(), (int64_t)q->t->hash);

    for (int i = 0; i < q->n; i++)
        h = weft_hash_int(h, (int64_t)q->network[i].hash);
    for (int i = SEARCHED; i < side->settings.n; i++)
        h = weft_hash_text(h, side->settings.at[i].text);
    return weft_hash_end(h);
}

static void begin(const weft_design_asked *q, const weft_design_claim *c, weft_side *out)
{
    weft_proof *proof = WEFT_NEW(out->a, weft_proof, 1);

    *proof = (weft_proof){.outcome = c->outcome,
                          .value = c->value,
                          .bound = c->bound,
                          .gap = c->bound < INFINITY ? c->bound / c->value - 1 : NAN,
                          .method = out->origin->solver};
    out->proof = proof;
    out->none = "no design";
    out->item_name = "network";
    out->is_max = out->is_design = true;
    out->unit = q->unit;
    out->value_name = q->metric == WEFT_METRIC_PER_TDP ? "per TDP" : "throughput";
    add_settings(q, out);
}

/* --- one device ------------------------------------------------------------------------------ */

static const char *parameter_text(const weft_template *t, const weft_design_point *p,
                                  weft_parameter k, weft_arena *a)
{
    double size = weft_parameter_size(t, p, k);

    return k == WEFT_BUFFER ? weft_unit_print(size, WEFT_UNIT_BYTES, WEFT_NEW(a, char, 48))
                            : weft_arena_print(a, "%.0f", size);
}

void weft_mine_side(const weft_mine_report *r, weft_side *out)
{
    weft_design_asked q = weft_asked_of_device(r, out->a);
    const weft_found *f = r->found;
    const weft_side_number list[] = {
        {"throughput", "throughput", q.n > 1 ? "x" : "1/s",                        f->throughput   },
        { "area",      "area",        "mm2",               weft_design_point_area_mm2(q.t,       &f->point)},
        { "tdp",     "power",          "W", q.t->has_power ? weft_design_point_tdp_w(q.t, &f->point) : NAN},
    };

    out->kind = "mine";
    begin(&q, &(weft_design_claim){.value = f->value, .bound = f->bound, .outcome = f->outcome},
          out);
    out->problem_hash = hash_problem(&q, out);
    weft_side_decision(out, "design", weft_design_words(q.t, &f->point, out->a));
    for (int k = 0; k < WEFT_N_PARAMETERS; k++)
        weft_side_decision(out, weft_parameter_name((weft_parameter)k),
                           parameter_text(q.t, &f->point, (weft_parameter)k, out->a));
    weft_side_figures(out, list, sizeof list / sizeof *list);
    out->places = "networks";
    out->n_columns = sizeof network_columns / sizeof *network_columns;
    out->column = network_columns;
    for (int i = 0; i < q.n; i++)
        weft_side_add_place(out, q.network[i].name,
                            (double[]){r->figure[i].memory_bytes, r->figure[i].step_s});
}

/* --- pipelines ------------------------------------------------------------------------------- */

static void add_stage(const weft_design_pipeline_report *r, int i, weft_side *out)
{
    const weft_design_pipeline_stage *s = &r->found->plan[0].stage[i];
    const char *name = weft_arena_print(out->a, "stage %d", i);

    weft_side_decision(
        out, name,
        weft_arena_print(out->a, "%d units on %s, computed again: %s",
                         weft_design_pipeline_stage_units(r->objective->net[0], s),
                         weft_design_words(r->objective->template_, &s->point, out->a),
                         weft_recompute_name(s->recompute)));
    weft_side_add_place(out, name, (double[]){s->forward_s, s->backward_s, s->memory_bytes});
}

void weft_design_pipeline_side(const weft_design_pipeline_report *r, weft_side *out)
{
    weft_design_asked q = weft_asked_of_pipeline(r, out->a);
    const weft_design_pipeline_found *f = r->found;
    const weft_side_number list[] = {
        {"throughput", "throughput", q.n > 1 ? "x" : "1/s", f->throughput                  },
        {"step",       "step",       "s",                   f->plan[0].step_s              },
        {"tdp",        "power",      "W",                   q.t->has_power ? f->tdp_w : NAN},
    };

    out->kind = "pipeline";
    begin(&q, &(weft_design_claim){.value = f->value, .bound = f->bound, .outcome = f->outcome},
          out);
    add_pipeline(r->objective, out);
    out->problem_hash = hash_problem(&q, out);
    out->places = "stages";
    out->n_columns = sizeof stage_columns / sizeof *stage_columns;
    out->column = stage_columns;
    for (int i = 0; i < f->plan[0].n_stages; i++)
        add_stage(r, i, out);
    weft_side_figures(out, list, sizeof list / sizeof *list);
}
