/* SPDX-License-Identifier: MIT */
/* out_train_json.c: what the report of a training plan shows, as numbers. */
#include "fields.h"

#include <math.h>

static weft_doc *bounds_doc(const weft_train_report *r, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);
    weft_floor_name list[WEFT_N_FLOORS];
    int binding = weft_train_floors(r->solution, list);

    for (int i = 0; i < WEFT_N_FLOORS; i++)
        weft_put_real(a, d, list[i].key, list[i].seconds);
    weft_put_text(a, d, "binds", binding >= 0 ? list[binding].name : NULL);
    return d;
}

/* Of a plan that was read nobody knows: below 0, null. */
static void put_count(weft_arena *a, weft_doc *d, const char *key, int64_t n)
{
    weft_doc_put(a, d, key, n < 0 ? weft_doc_new(a, WEFT_DOC_NULL) : weft_doc_new_int(a, n));
}

static weft_doc *search_doc(const weft_train_report *r, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);

    weft_put_int(a, d, "units", r->problem->units.n_units);
    weft_put_int(a, d, "cuts", r->problem->units.n_cuts);
    put_count(a, d, "stages_tried", r->solution->log.n_stages_tried);
    put_count(a, d, "plans_tried", r->solution->log.n_plans_tried);
    return d;
}

static weft_doc *equal_doc(const weft_train_report *r, weft_arena *a)
{
    double speed_up = weft_train_speed_up(r);
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);

    if (r->equal == NULL)
        return weft_doc_new(a, WEFT_DOC_NULL);
    weft_put_text(a, d, "status", weft_outcome_name(r->equal->proof.outcome));
    weft_put_real(a, d, "value", isnan(speed_up) ? NAN : r->equal->measures.step_s);
    weft_put_real(a, d, "speed_up", speed_up);
    return d;
}

static weft_doc *parts_doc(const weft_train_report *r, const weft_stage *s, weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int i = 0; i < s->n_parts; i++) {
        const weft_team_part *t = &s->part[i];
        weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);

        weft_put_text(a, d, "class", r->problem->cluster->classes[t->class_id].kind);
        weft_put_int(a, d, "replicas", t->n_blocks);
        weft_put_int(a, d, "samples", t->samples);
        weft_doc_add(a, list, d);
    }
    return list;
}

static int units_of(const weft_units *u, int inner, int outer)
{
    int n = 0;

    for (int i = 0; i < u->n_units; i++)
        n += weft_bit_get(u->cut + (size_t)outer * (size_t)u->n_words, i) &&
             !weft_bit_get(u->cut + (size_t)inner * (size_t)u->n_words, i);
    return n;
}

static weft_doc *stage_doc(const weft_train_report *r, int i, weft_arena *a)
{
    const weft_pipeline *plan = &r->solution->plan;
    const weft_train_measures *m = &r->solution->measures;
    const weft_stage *s = &plan->stage[i];
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);
    weft_chunk_figures sum = weft_stage_figures(r, i);
    int n_units = 0;

    for (int c = i; c < plan->n_stages * plan->n_chunks; c += plan->n_stages)
        n_units += units_of(&r->problem->units, plan->cut[c], plan->cut[c + 1]);
    weft_put_int(a, d, "units", n_units);
    weft_put_int(a, d, "devices", weft_stage_devices(s));
    weft_put_int(a, d, "width", s->width);
    weft_doc_put(a, d, "parts", parts_doc(r, s, a));
    weft_put_text(a, d, "recompute", weft_recompute_name(s->recompute));
    weft_put_real(a, d, "forward_s", sum.forward_s);
    weft_put_real(a, d, "backward_s", sum.backward_s);
    weft_put_real(a, d, "again_s", sum.again_s);
    weft_put_real(a, d, "collective_s", sum.collective_s);
    weft_put_real(a, d, "busy_s", m->stage_busy_s[i]);
    weft_put_real(a, d, "peak_bytes", m->stage_peak_bytes[i]);
    weft_put_real(a, d, "capacity_bytes", m->stage_room_bytes[i]);
    return d;
}

static weft_doc *stages_doc(const weft_train_report *r, weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int i = 0; i < r->solution->plan.n_stages; i++)
        weft_doc_add(a, list, stage_doc(r, i, a));
    return list;
}

static weft_doc *step_doc(const weft_train_report *r, weft_arena *a)
{
    const weft_pipeline *plan = &r->solution->plan;
    const weft_train_measures *m = &r->solution->measures;
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);

    weft_put_int(a, d, "batch", r->problem->ask.batch);
    weft_put_int(a, d, "microbatch", plan->microbatch);
    weft_put_text(a, d, "schedule", weft_schedule_name(plan->schedule));
    weft_put_int(a, d, "chunks", plan->n_chunks);
    weft_put_real(a, d, "samples_per_s", m->samples_per_s);
    weft_put_real(a, d, "bubble", m->bubble);
    weft_put_real(a, d, "compute_s", m->compute_s);
    weft_put_real(a, d, "collective_s", m->collective_s);
    weft_put_real(a, d, "send_s", m->send_s);
    weft_put_real(a, d, "sync_s", m->sync_s);
    weft_put_real(a, d, "update_s", m->update_s);
    weft_put_real(a, d, "sent_bytes", m->sent_bytes);
    weft_put_real(a, d, "flops_utilisation", m->flops_utilisation);
    return d;
}

static weft_doc *warnings_doc(const weft_training *p, weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int i = 0; i < p->n_warnings; i++)
        weft_doc_add(a, list, weft_doc_new_text(a, p->warning[i]));
    return list;
}

void weft_train_report_put(const weft_train_report *r, weft_doc *map, weft_arena *a)
{
    bool has = weft_train_report_has_plan(r);

    weft_doc_put(a, map, "bounds", bounds_doc(r, a));
    weft_doc_put(a, map, "search", search_doc(r, a));
    weft_doc_put(a, map, "equal", equal_doc(r, a));
    weft_doc_put(a, map, "step", has ? step_doc(r, a) : weft_doc_new(a, WEFT_DOC_NULL));
    weft_doc_put(a, map, "stages", has ? stages_doc(r, a) : weft_doc_new(a, WEFT_DOC_NULL));
    weft_doc_put(a, map, "warnings", warnings_doc(r->problem, a));
}
