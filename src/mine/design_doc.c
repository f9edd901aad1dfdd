/* SPDX-License-Identifier: MIT */
/* design_doc.c: what a search of accelerators found, as numbers; the design with all that is needed
 * to find it again and to check it (schema weft.design/1).
 *
 * A file is the same for any number of processes, and whether or not a study knew some of the
 * designs: how many it did is in results only. */
#include "design.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "hash.h"

weft_doc *weft_sizes_doc(const weft_template *t, const weft_design_point *p, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);

    for (int k = 0; k < WEFT_N_PARAMETERS; k++)
        weft_put_size(a, d, weft_parameter_name((weft_parameter)k),
                      weft_parameter_size(t, p, (weft_parameter)k));
    weft_put_real(a, d, "area_mm2", weft_design_point_area_mm2(t, p));
    weft_put_real(a, d, "tdp_w", t->has_power ? weft_design_point_tdp_w(t, p) : NAN);
    return d;
}

const char *weft_metric_name(weft_metric m)
{
    return m == WEFT_METRIC_PER_TDP ? "perf-per-tdp" : "throughput";
}

static const char *unit_of(weft_metric m, int n_networks)
{
    bool is_per_tdp = m == WEFT_METRIC_PER_TDP;

    if (n_networks == 1)
        return is_per_tdp ? "samples/J" : "samples/s";
    return is_per_tdp ? "x/W" : "x";
}

const char *weft_mine_unit(const weft_objective *q)
{
    return unit_of(q->metric, q->n_workloads);
}

const char *weft_design_pipeline_unit(const weft_design_pipeline_objective *q)
{
    return unit_of(q->metric, q->n_nets);
}

static weft_doc *search_doc(const weft_mine_report *r, bool is_file, weft_arena *a)
{
    const weft_found *f = r->found;
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);

    weft_put_int(a, d, "designs", weft_template_points(r->objective->template_));
    weft_put_int(a, d, "feasible", f->n_feasible);
    weft_put_int(a, d, "bounded", f->n_bounds);
    weft_put_int(a, d, "bounded_again", f->n_strong);
    weft_put_int(a, d, "scheduled", f->n_evaluated);
    if (!is_file)
        weft_put_int(a, d, "recalled", f->n_recalled);
    weft_put_real(a, d, "schedule_bound", f->schedule_bound);
    return d;
}

static weft_doc *networks_doc(const weft_mine_report *r, weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int i = 0; i < r->objective->n_workloads; i++) {
        const weft_workload *w = &r->objective->workload[i];
        const weft_mine_figure *n = &r->figure[i];
        weft_doc *d = weft_add_map(a, list);

        weft_put_text(a, d, "model", w->name);
        weft_put_size(a, d, "batch", w->batch);
        weft_put_real(a, d, "weight", w->weight);
        weft_put_text(a, d, "hash", weft_arena_print(a, "%016" PRIx64, w->hash));
        weft_put_size(a, d, "macs", n->macs);
        weft_put_size(a, d, "memory_bytes", n->memory_bytes);
        weft_put_bool(a, d, "fits", n->fits);
        weft_put_real(a, d, "step_s", n->step_s);
        weft_put_real(a, d, "samples_per_s", w->batch / n->step_s);
        weft_put_real(a, d, "schedule_s", n->schedule_s);
        weft_put_real(a, d, "reference_s", n->reference_s);
        weft_put_real(a, d, "speed_up", n->reference_s / n->step_s);
    }
    return list;
}

static weft_doc *front_doc(const weft_mine_report *r, weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int i = 0; i < r->found->n_front; i++) {
        const weft_mined *m = &r->found->front[i];
        weft_doc *d = weft_sizes_doc(r->objective->template_, &m->point, a);

        weft_put_real(a, d, "throughput", m->throughput);
        weft_doc_add(a, list, d);
    }
    return list;
}

static weft_doc *reference_doc(const weft_mine_report *r, weft_arena *a)
{
    const weft_template *t = r->objective->template_;
    weft_doc *d = weft_sizes_doc(t, &r->objective->reference, a);
    double throughput = r->objective->n_workloads > 1
                            ? 1
                            : r->objective->workload[0].batch / r->figure[0].reference_s;

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
    weft_doc_put(a, d, "best",
                 s->best_value > 0 ? weft_sizes_doc(t, &s->best, a)
                                   : weft_doc_new(a, WEFT_DOC_NULL));
    weft_put_bool(a, d, "flips", s->is_flip);
    return d;
}

static weft_doc *sensitivity_doc(const weft_mine_report *r, weft_arena *a)
{
    const weft_design_sensitivity *s = r->sensitivity;
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP), *list = weft_doc_new(a, WEFT_DOC_LIST);

    if (s == NULL)
        return weft_doc_new(a, WEFT_DOC_NULL);
    weft_put_int(a, d, "draws", s->n_draws);
    weft_put_int(a, d, "stays", s->n_stays);
    weft_put_int(a, d, "breaks", s->n_breaks);
    weft_put_real(a, d, "worst_loss", s->worst_loss);
    for (int i = 0; i < s->n_shifts; i++)
        weft_doc_add(a, list, shift_doc(r->objective->template_, &s->shift[i], a));
    weft_doc_put(a, d, "shifts", list);
    return d;
}

bool weft_mine_report_fits(const weft_mine_report *r)
{
    bool fits = true;

    for (int i = 0; i < r->objective->n_workloads; i++)
        fits = fits && r->figure[i].fits;
    return fits;
}

static void put_found(const weft_mine_report *r, bool is_file, weft_doc *map, weft_arena *a)
{
    const weft_template *t = r->objective->template_;
    bool has = r->found->value > 0;

    weft_put_real(a, map, "throughput", has ? r->found->throughput : NAN);
    weft_put_bool(a, map, "fits", weft_mine_report_fits(r));
    weft_doc_put(a, map, "design",
                 has ? weft_sizes_doc(t, &r->found->point, a) : weft_doc_new(a, WEFT_DOC_NULL));
    weft_doc_put(a, map, "reference", has ? reference_doc(r, a) : weft_doc_new(a, WEFT_DOC_NULL));
    weft_doc_put(a, map, "search", search_doc(r, is_file, a));
    weft_doc_put(a, map, "networks", has ? networks_doc(r, a) : weft_doc_new(a, WEFT_DOC_NULL));
    weft_doc_put(a, map, "front", front_doc(r, a));
    weft_put_bool(a, map, "is_front_proved", r->found->is_front_proved);
    weft_doc_put(a, map, "sensitivity", sensitivity_doc(r, a));
}

void weft_mine_report_put(const weft_mine_report *r, weft_doc *map, weft_arena *a)
{
    put_found(r, false, map, a);
}

/* --- files ----------------------------------------------------------------------------------- */

weft_doc *weft_dims_doc(const weft_model_options *o, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);

    for (int i = 0; o != NULL && i < o->n_dims; i++)
        weft_put_int(a, d, o->dim[i].name, o->dim[i].size);
    return d;
}

void weft_put_software(weft_arena *a, weft_doc *d, const weft_model_options *o)
{
    if (o != NULL && o->has_software)
        weft_put_text(a, d, "software", weft_software_name(o->software));
}

void weft_design_put_head(weft_arena *a, weft_doc *d, const char *kind, const weft_template *t)
{
    weft_doc *template_ = weft_doc_new(a, WEFT_DOC_MAP);

    weft_put_text(a, d, "schema", WEFT_DESIGN_SCHEMA);
    weft_put_text(a, d, "kind", kind);
    weft_put_text(a, template_, "source", t->source);
    weft_put_text(a, template_, "name", t->name);
    weft_put_text(a, template_, "hash", weft_arena_print(a, "%016" PRIx64, t->hash));
    weft_doc_put(a, d, "template", template_);
}

void weft_design_put_claims(weft_arena *a, weft_doc *d, weft_outcome outcome, double value,
                            double bound, double gap, const char *unit)
{
    weft_put_text(a, d, "status", weft_outcome_name(outcome));
    weft_put_real(a, d, "value", value);
    weft_put_text(a, d, "unit", unit);
    weft_put_real(a, d, "bound", bound);
    weft_put_real(a, d, "gap", gap);
}

/* The same for 1 and 1.0, and for any order of keys. */
static uint64_t hash_of(const weft_doc *d)
{
    bool is_number = weft_doc_is_number(d);
    uint64_t h = weft_hash_start(), sum = 0;

    h = weft_hash_int(h, is_number ? WEFT_DOC_REAL : d->kind);
    if (is_number)
        h = weft_hash_real(h, d->real);
    if (d->kind == WEFT_DOC_INT && fabs(d->real) >= 9e15) /* a real may be rounded here */
        h = weft_hash_int(h, d->integer);
    if (d->kind == WEFT_DOC_BOOL)
        h = weft_hash_int(h, d->truth);
    if (d->kind == WEFT_DOC_TEXT)
        h = weft_hash_text(h, d->text);
    for (int i = 0; i < d->n; i++)
        if (d->kind == WEFT_DOC_MAP)
            sum += weft_hash_end(
                weft_hash_bits(weft_hash_text(weft_hash_start(), d->key[i]), hash_of(d->item[i])));
        else
            h = weft_hash_bits(h, hash_of(d->item[i]));
    return weft_hash_end(weft_hash_bits(weft_hash_int(h, d->n), sum));
}

uint64_t weft_design_hash(const weft_doc *file)
{
    uint64_t sum = weft_hash_start();

    for (int i = 0; i < file->n; i++)
        if (strcmp(file->key[i], "hash") != 0)
            sum += weft_hash_end(weft_hash_bits(weft_hash_text(weft_hash_start(), file->key[i]),
                                                hash_of(file->item[i])));
    return weft_hash_end(sum);
}

void weft_design_put_hash(weft_arena *a, weft_doc *d)
{
    weft_put_text(a, d, "hash", weft_arena_print(a, "%016" PRIx64, weft_design_hash(d)));
}

void weft_design_put_limits(weft_arena *a, weft_doc *d, const weft_limits *limits,
                            const weft_template *t, double least_throughput)
{
    weft_put_real(a, d, "area_mm2", limits->area_mm2);
    weft_put_real(a, d, "tdp_w", limits->tdp_w);
    weft_put_size(a, d, "memory_bytes", t->hbm_bytes);
    weft_put_real(a, d, "least_throughput", least_throughput);
}

void weft_design_put_options(weft_arena *a, weft_doc *d, const char *dtype, const char *optimizer,
                             const weft_model_options *options)
{
    weft_put_text(a, d, "dtype", dtype);
    weft_put_text(a, d, "optimizer", optimizer);
    weft_put_software(a, d, options);
    weft_doc_put(a, d, "dims", weft_dims_doc(options, a));
}

static weft_doc *asked_doc(const weft_mine_report *r, weft_arena *a)
{
    const weft_objective *q = r->objective;
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);

    weft_put_text(a, d, "metric", weft_metric_name(q->metric));
    weft_put_text(a, d, "blend", q->blend == WEFT_BLEND_WORST ? "worst" : "geometric");
    weft_design_put_limits(a, d, &q->limits, q->template_, q->least_throughput);
    weft_design_put_options(a, d, r->dtype, r->optimizer, r->options);
    weft_put_text(a, d, "solver", r->solver);
    weft_put_int(a, d, "seed", r->seed);
    weft_put_int(a, d, "evaluations", r->evaluations);
    return d;
}

weft_doc *weft_mine_design_doc(const weft_mine_report *r, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);
    const weft_found *f = r->found;

    if (!(f->value > 0))
        return NULL;
    weft_design_put_head(a, d, "device", r->objective->template_);
    weft_doc_put(a, d, "asked", asked_doc(r, a));
    weft_design_put_claims(a, d, f->outcome, f->value, f->bound,
                           fabs(f->value - f->bound) / f->value, weft_mine_unit(r->objective));
    put_found(r, true, d, a);
    weft_design_put_hash(a, d);
    return d;
}
