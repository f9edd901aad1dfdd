/* SPDX-License-Identifier: MIT */
/* out_mine_json.c: what the report of a search of accelerators shows, as numbers; the design with
 * all that is needed to find it again; the front as CSV. */
#include <inttypes.h>
#include <math.h>

#include "fields.h"

static weft_doc *null(weft_arena *a)
{
    return weft_doc_new(a, WEFT_DOC_NULL);
}

static weft_doc *sizes_doc(const weft_template *t, const weft_point *p, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);

    for (int k = 0; k < WEFT_N_KNOBS; k++)
        weft_put_size(a, d, weft_knob_name((weft_knob)k), weft_knob_size(t, p, (weft_knob)k));
    weft_put_real(a, d, "area_mm2", weft_point_area_mm2(t, p));
    weft_put_real(a, d, "tdp_w", t->has_power ? weft_point_tdp_w(t, p) : NAN);
    return d;
}

static weft_doc *search_doc(const weft_mine_report *r, weft_arena *a)
{
    const weft_found *f = r->found;
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);

    weft_put_int(a, d, "designs", weft_template_points(r->quest->template_));
    weft_put_int(a, d, "feasible", f->n_feasible);
    weft_put_int(a, d, "bounded", f->n_bounds);
    weft_put_int(a, d, "bounded_again", f->n_strong);
    weft_put_int(a, d, "scheduled", f->n_evaluated);
    weft_put_int(a, d, "recalled", f->n_recalled);
    weft_put_real(a, d, "schedule_bound", f->schedule_bound);
    return d;
}

static weft_doc *networks_doc(const weft_mine_report *r, weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int i = 0; i < r->quest->n_workloads; i++) {
        const weft_workload *w = &r->quest->workload[i];
        const weft_mine_figure *n = &r->figure[i];
        weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);

        weft_put_text(a, d, "model", w->name);
        weft_put_size(a, d, "batch", w->batch);
        weft_put_real(a, d, "weight", w->weight);
        weft_put_text(a, d, "hash", weft_arena_print(a, "%016" PRIx64, w->hash));
        weft_put_size(a, d, "macs", n->macs);
        weft_put_size(a, d, "memory_bytes", n->memory_bytes);
        weft_doc_put(a, d, "fits", weft_doc_new_bool(a, n->fits));
        weft_put_real(a, d, "step_s", n->step_s);
        weft_put_real(a, d, "samples_per_s", w->batch / n->step_s);
        weft_put_real(a, d, "schedule_s", n->schedule_s);
        weft_put_real(a, d, "reference_s", n->reference_s);
        weft_put_real(a, d, "speed_up", n->reference_s / n->step_s);
        weft_doc_add(a, list, d);
    }
    return list;
}

static weft_doc *front_doc(const weft_mine_report *r, weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int i = 0; i < r->found->n_front; i++) {
        const weft_mined *m = &r->found->front[i];
        weft_doc *d = sizes_doc(r->quest->template_, &m->point, a);

        weft_put_real(a, d, "throughput", m->throughput);
        weft_doc_add(a, list, d);
    }
    return list;
}

static weft_doc *reference_doc(const weft_mine_report *r, weft_arena *a)
{
    const weft_template *t = r->quest->template_;
    weft_doc *d = sizes_doc(t, &r->quest->reference, a);
    double throughput =
        r->quest->n_workloads > 1 ? 1 : r->quest->workload[0].batch / r->figure[0].reference_s;

    weft_put_text(a, d, "name", t->landmark[0].name);
    weft_put_real(a, d, "throughput", throughput);
    weft_put_real(a, d, "ratio", r->found->value > 0 ? r->found->throughput / throughput : NAN);
    return d;
}

static weft_doc *shift_doc(const weft_template *t, const weft_shift *s, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);

    weft_put_text(a, d, "constant", t->constant[s->constant].name);
    weft_put_real(a, d, "factor", s->factor);
    weft_put_real(a, d, "value", s->winner_value);
    weft_put_real(a, d, "best_value", s->best_value);
    weft_doc_put(a, d, "best", s->best_value > 0 ? sizes_doc(t, &s->best, a) : null(a));
    weft_doc_put(a, d, "flips", weft_doc_new_bool(a, s->is_flip));
    return d;
}

static weft_doc *sensitivity_doc(const weft_mine_report *r, weft_arena *a)
{
    const weft_sensitivity *s = r->sensitivity;
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP), *list = weft_doc_new(a, WEFT_DOC_LIST);

    if (s == NULL)
        return null(a);
    weft_put_int(a, d, "draws", s->n_draws);
    weft_put_int(a, d, "stays", s->n_stays);
    weft_put_int(a, d, "breaks", s->n_breaks);
    weft_put_real(a, d, "worst_loss", s->worst_loss);
    for (int i = 0; i < s->n_shifts; i++)
        weft_doc_add(a, list, shift_doc(r->quest->template_, &s->shift[i], a));
    weft_doc_put(a, d, "shifts", list);
    return d;
}

void weft_mine_report_put(const weft_mine_report *r, weft_doc *map, weft_arena *a)
{
    bool has = r->found->value > 0;

    weft_put_real(a, map, "throughput", has ? r->found->throughput : NAN);
    weft_doc_put(a, map, "design",
                 has ? sizes_doc(r->quest->template_, &r->found->point, a) : null(a));
    weft_doc_put(a, map, "reference", has ? reference_doc(r, a) : null(a));
    weft_doc_put(a, map, "search", search_doc(r, a));
    weft_doc_put(a, map, "networks", has ? networks_doc(r, a) : null(a));
    weft_doc_put(a, map, "front", front_doc(r, a));
    weft_doc_put(a, map, "is_front_proved", weft_doc_new_bool(a, r->found->is_front_proved));
    weft_doc_put(a, map, "sensitivity", sensitivity_doc(r, a));
}

static weft_doc *asked_doc(const weft_mine_report *r, weft_arena *a)
{
    const weft_quest *q = r->quest;
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);

    weft_put_text(a, d, "metric", q->metric == WEFT_METRIC_PER_TDP ? "perf-per-tdp" : "throughput");
    weft_put_text(a, d, "blend", q->blend == WEFT_BLEND_WORST ? "worst" : "geometric");
    weft_put_real(a, d, "area_mm2", q->limits.area_mm2);
    weft_put_real(a, d, "tdp_w", q->limits.tdp_w);
    weft_put_size(a, d, "memory_bytes", q->template_->hbm_bytes);
    weft_put_real(a, d, "least_throughput", q->least_throughput);
    weft_put_text(a, d, "dtype", r->dtype);
    weft_put_text(a, d, "optimizer", r->optimizer);
    weft_put_text(a, d, "solver", r->solver);
    weft_put_int(a, d, "seed", r->seed);
    weft_put_int(a, d, "evaluations", r->evaluations);
    return d;
}

weft_doc *weft_mine_design_doc(const weft_mine_report *r, weft_arena *a)
{
    const weft_template *t = r->quest->template_;
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP), *template_ = weft_doc_new(a, WEFT_DOC_MAP);

    if (!(r->found->value > 0))
        return NULL;
    weft_put_text(a, d, "schema", "weft.design/1");
    weft_put_text(a, template_, "source", t->source);
    weft_put_text(a, template_, "name", t->name);
    weft_put_text(a, template_, "hash", weft_arena_print(a, "%016" PRIx64, t->hash));
    weft_doc_put(a, d, "template", template_);
    weft_doc_put(a, d, "asked", asked_doc(r, a));
    weft_doc_put(a, d, "networks", networks_doc(r, a));
    weft_doc_put(a, d, "design", sizes_doc(t, &r->found->point, a));
    weft_put_text(a, d, "status", weft_outcome_name(r->found->outcome));
    weft_put_real(a, d, "value", r->found->value);
    weft_put_text(a, d, "unit", weft_mine_unit(r->quest));
    weft_put_real(a, d, "bound", r->found->bound);
    weft_put_real(a, d, "throughput", r->found->throughput);
    return d;
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
