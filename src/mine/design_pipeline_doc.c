/* SPDX-License-Identifier: MIT */
/* design_pipeline_doc.c: designs for the devices of a pipeline as numbers, and as a file
 * (weft.design/1). */
#include "design.h"

#include <inttypes.h>
#include <math.h>

int weft_design_pipeline_stage_units(const weft_design_pipeline_net *net,
                                     const weft_design_pipeline_stage *s)
{
    const weft_blocks *u = &net->blocks;
    int n = 0;

    for (int i = 0; i < u->n_blocks; i++)
        n += weft_block_between(u, i, s->first_cut, s->last_cut);
    return n;
}

static weft_doc *stage_doc(const weft_design_pipeline_objective *q, int net,
                           const weft_design_pipeline_stage *s, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);

    weft_put_int(a, d, "units", weft_design_pipeline_stage_units(q->net[net], s));
    weft_put_int(a, d, "first_cut", s->first_cut);
    weft_put_int(a, d, "last_cut", s->last_cut);
    weft_doc_put(a, d, "design", weft_sizes_doc(q->template_, &s->point, a));
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

static weft_doc *plans_doc(const weft_design_pipeline_report *r, weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int i = 0; i < r->objective->n_nets; i++) {
        const weft_design_pipeline_plan *p = &r->found->plan[i];
        weft_doc *d = weft_add_map(a, list), *stages = weft_doc_new(a, WEFT_DOC_LIST);

        weft_put_text(a, d, "model", r->objective->net[i]->name);
        weft_put_real(a, d, "weight", r->objective->net[i]->weight);
        weft_put_text(a, d, "hash", weft_arena_print(a, "%016" PRIx64, r->objective->net[i]->hash));
        weft_put_real(a, d, "step_s", p->step_s);
        weft_put_real(a, d, "bound_s", p->bound_s);
        weft_put_real(a, d, "samples_per_s", p->samples_per_s);
        for (int k = 0; k < p->n_stages; k++)
            weft_doc_add(a, stages, stage_doc(r->objective, i, &p->stage[k], a));
        weft_doc_put(a, d, "stages", stages);
    }
    return list;
}

/* Operators are cut over the devices of a block as is best on the reference: no other cuts are
 * searched, and no bound holds for them. */
static weft_doc *design_pipeline_doc(const weft_design_pipeline_objective *q, weft_arena *a)
{
    const weft_design_pipeline *f = &q->design_pipeline;
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP), *list = weft_doc_new(a, WEFT_DOC_LIST);

    weft_put_int(a, d, "stages", f->n_stages);
    weft_put_int(a, d, "width", f->width);
    weft_put_int(a, d, "replicas", f->replicas);
    weft_put_int(a, d, "batch", f->batch);
    weft_put_int(a, d, "microbatch", f->microbatch);
    weft_put_real(a, d, "inside_bytes_per_s", f->inside.bytes_per_s);
    weft_put_real(a, d, "inside_latency_s", f->inside.latency_s);
    weft_put_real(a, d, "between_bytes_per_s", f->between.bytes_per_s);
    weft_put_real(a, d, "between_latency_s", f->between.latency_s);
    for (int i = 0; i < WEFT_N_RECOMPUTES; i++)
        if (f->recomputes >> i & 1)
            weft_doc_add(a, list, weft_doc_new_text(a, weft_recompute_name((weft_recompute)i)));
    weft_doc_put(a, d, "recompute", list);
    weft_doc_put(a, d, "operators_cut_for",
                 f->width > 1 ? weft_doc_new_text(a, q->template_->landmark[0].name)
                              : weft_doc_new(a, WEFT_DOC_NULL));
    return d;
}

static weft_doc *common_doc(const weft_design_pipeline_report *r, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);

    if (r->common == NULL)
        return weft_doc_new(a, WEFT_DOC_NULL);
    weft_put_text(a, d, "status", weft_outcome_name(r->common->outcome));
    weft_put_real(a, d, "value", r->common->value > 0 ? r->common->value : NAN);
    weft_put_real(a, d, "bound", r->common->bound);
    weft_put_real(a, d, "gap", r->common->value > 0 ? r->common->gap : NAN);
    return d;
}

void weft_design_pipeline_report_put(const weft_design_pipeline_report *r, weft_doc *map,
                                     weft_arena *a)
{
    const weft_design_pipeline_found *f = r->found;
    bool has = f->value > 0;
    weft_doc *search = weft_doc_new(a, WEFT_DOC_MAP);

    weft_put_text(a, map, "designs", r->objective->is_per_stage ? "stages" : "common");
    weft_doc_put(a, map, "pipeline", design_pipeline_doc(r->objective, a));
    weft_put_real(a, map, "throughput", has ? f->throughput : NAN);
    weft_put_real(a, map, "tdp_w", has && r->objective->template_->has_power ? f->tdp_w : NAN);
    weft_put_real(a, map, "reference_throughput",
                  f->reference_throughput > 0 ? f->reference_throughput : NAN);
    weft_doc_put(a, map, "common", common_doc(r, a));
    weft_put_int(a, search, "feasible", f->n_feasible);
    weft_put_int(a, search, "partitioned", f->n_partitioned);
    weft_put_int(a, search, "plans", f->n_plans);
    weft_doc_put(a, map, "search", search);
    weft_doc_put(a, map, "networks", has ? plans_doc(r, a) : weft_doc_new(a, WEFT_DOC_NULL));
}

static weft_doc *asked_doc(const weft_design_pipeline_report *r, weft_arena *a)
{
    const weft_design_pipeline_objective *q = r->objective;
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);

    weft_put_text(a, d, "metric", weft_metric_name(q->metric));
    weft_design_put_limits(a, d, &q->limits, q->template_, q->least_throughput);
    weft_design_put_options(a, d, r->dtype, r->optimizer, r->options);
    return d;
}

weft_doc *weft_design_pipeline_design_doc(const weft_design_pipeline_report *r, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);
    const weft_design_pipeline_found *f = r->found;

    if (!(f->value > 0))
        return NULL;
    weft_design_put_head(a, d, "pipeline", r->objective->template_);
    weft_doc_put(a, d, "asked", asked_doc(r, a));
    weft_design_put_claims(a, d, f->outcome, f->value, f->bound, f->gap,
                           weft_design_pipeline_unit(r->objective));
    weft_design_pipeline_report_put(r, d, a);
    weft_design_put_hash(a, d);
    return d;
}
