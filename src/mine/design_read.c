/* SPDX-License-Identifier: MIT */
/* design_read.c: design files (weft.design/1), as far as they say what was asked, what was decided
 * and what a search claims. What designs are worth is not read: it is computed again and compared
 * with the file as it stands.
 *
 * Numbers that decide how much memory and time a reader takes are bounded here. */
#include "design.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NETWORKS = 64, MOST_COUNT = 1000000 };
static const int64_t MOST_SAMPLES = 1000000000;
static const double MOST_EVENTS = 5e7; /* forward and backward of microbatches in stages */

static weft_status read_hash(const weft_doc *map, uint64_t *out)
{
    const char *text;
    char *end;

    WEFT_TRY(weft_doc_text(map, "hash", &text));
    *out = strtoull(text, &end, 16);
    if (*end != '\0' || strlen(text) != 16)
        return weft_doc_fail(map, "'hash' is '%s', expected 16 hexadecimal digits", text);
    return WEFT_OK;
}

/* A number, or null: infinite. */
static weft_status read_limit(const weft_doc *map, const char *key, double *out)
{
    const weft_doc *d = weft_doc_get(map, key);

    *out = INFINITY;
    if (d != NULL && d->kind == WEFT_DOC_NULL)
        return WEFT_OK;
    return weft_doc_real(map, key, 0, INFINITY, out);
}

/* One of some words. */
static weft_status read_word(const weft_doc *map, const char *key, const char *const *word, int n,
                             int *out)
{
    const char *text;

    WEFT_TRY(weft_doc_text(map, key, &text));
    for (*out = 0; *out < n; (*out)++)
        if (strcmp(text, word[*out]) == 0)
            return WEFT_OK;
    return weft_doc_fail(map, "'%s' is '%s', expected '%s' or '%s'", key, text, word[0],
                         word[n - 1]);
}

/* --- what was asked -------------------------------------------------------------------------- */

static weft_status read_dims(const weft_doc *asked, weft_arena *a, weft_model_options *o)
{
    const weft_doc *dims;
    weft_dim_binding *dim;

    WEFT_TRY(weft_doc_need(asked, "dims", WEFT_DOC_MAP, &dims));
    dim = WEFT_NEW(a, weft_dim_binding, dims->n + 1);
    for (int i = 0; i < dims->n; i++) {
        dim[i].name = dims->key[i];
        WEFT_TRY(weft_doc_int(dims, dims->key[i], 1, MOST_SAMPLES, &dim[i].size));
    }
    o->n_dims = dims->n;
    o->dim = dim;
    return WEFT_OK;
}

/* Only there if the user said it. */
static weft_status read_software(const weft_doc *asked, weft_model_options *o)
{
    const char *words[WEFT_N_SOFTWARES];
    int software = WEFT_SOFTWARE_GRAPH;

    for (int i = 0; i < WEFT_N_SOFTWARES; i++)
        words[i] = weft_software_name((weft_software)i);
    o->has_software = weft_doc_get(asked, "software") != NULL;
    if (o->has_software)
        WEFT_TRY(read_word(asked, "software", words, WEFT_N_SOFTWARES, &software));
    o->software = (weft_software)software;
    return WEFT_OK;
}

static weft_status read_options(const weft_doc *asked, weft_arena *a, weft_design_file *out)
{
    static const char *const optimizers[] = {"sgd", "momentum", "adam"};
    int optimizer;

    out->options.train = true;
    WEFT_TRY(weft_doc_text(asked, "dtype", &out->dtype));
    if (*out->dtype)
        out->options.dtype = weft_dtype_find(out->dtype);
    if (*out->dtype && !weft_dtype_is_float(out->options.dtype))
        return weft_doc_fail(asked, "'dtype' is '%s', expected a floating-point type", out->dtype);
    WEFT_TRY(read_word(asked, "optimizer", optimizers, 3, &optimizer));
    out->optimizer = optimizers[optimizer];
    out->options.optimizer = (weft_optimizer)optimizer;
    WEFT_TRY(read_software(asked, &out->options));
    return read_dims(asked, a, &out->options);
}

static weft_status read_asked(weft_arena *a, weft_design_file *out)
{
    static const char *const metrics[] = {"throughput", "perf-per-tdp"};
    static const char *const blends[] = {"geometric", "worst"};
    const weft_doc *d;
    int word;

    WEFT_TRY(weft_doc_need(out->doc, "asked", WEFT_DOC_MAP, &d));
    WEFT_TRY(read_word(d, "metric", metrics, 2, &word));
    out->metric = (weft_metric)word;
    WEFT_TRY(read_limit(d, "area_mm2", &out->limits.area_mm2));
    WEFT_TRY(read_limit(d, "tdp_w", &out->limits.tdp_w));
    if (!(out->limits.area_mm2 > 0) || !(out->limits.tdp_w > 0) ||
        !(fmin(out->limits.area_mm2, out->limits.tdp_w) < INFINITY))
        return weft_doc_fail(d,
                             "'area_mm2' and 'tdp_w' are no limits, expected numbers above 0, one "
                             "of which may be null");
    WEFT_TRY(weft_doc_real(d, "memory_bytes", 1, 1e18, &out->memory_bytes));
    WEFT_TRY(weft_doc_real(d, "least_throughput", 0, 1e6, &out->least_throughput));
    WEFT_TRY(read_options(d, a, out));
    if (out->is_design_pipeline)
        return WEFT_OK;
    WEFT_TRY(read_word(d, "blend", blends, 2, &word));
    out->blend = (weft_blend)word;
    WEFT_TRY(weft_doc_text(d, "solver", &out->solver));
    WEFT_TRY(weft_doc_int(d, "seed", 0, INT64_MAX, &out->seed));
    return weft_doc_int(d, "evaluations", 0, INT64_MAX, &out->evaluations);
}

static weft_status read_networks(weft_arena *a, weft_design_file *out)
{
    const weft_doc *list;
    weft_design_network *network;

    WEFT_TRY(weft_doc_need(out->doc, "networks", WEFT_DOC_LIST, &list));
    if (list->n < 1 || list->n > MOST_NETWORKS)
        return weft_doc_fail(list, "'networks' has %d entries, expected 1 to %d", list->n,
                             MOST_NETWORKS);
    network = WEFT_NEW(a, weft_design_network, list->n);
    for (int i = 0; i < list->n; i++) {
        const weft_doc *d = list->item[i];

        if (d->kind != WEFT_DOC_MAP)
            return weft_doc_fail(d, "this network is %s, expected a map",
                                 weft_doc_kind_name(d->kind));
        WEFT_TRY(weft_doc_text(d, "model", &network[i].model));
        WEFT_TRY(weft_doc_real(d, "weight", 1e-9, 1e9, &network[i].weight));
        WEFT_TRY(read_hash(d, &network[i].hash));
        if (!out->is_design_pipeline)
            WEFT_TRY(weft_doc_int(d, "batch", 1, MOST_SAMPLES, &network[i].batch));
    }
    out->n_networks = list->n;
    out->network = network;
    return WEFT_OK;
}

/* --- pipelines ------------------------------------------------------------------------------- */

static weft_status read_link(const weft_doc *d, const char *rate, const char *latency,
                             weft_link_cost *out)
{
    WEFT_TRY(weft_doc_real(d, rate, 1e-3, 1e18, &out->bytes_per_s));
    return weft_doc_real(d, latency, 0, 1e9, &out->latency_s);
}

static weft_status read_recomputes(const weft_doc *d, unsigned *out)
{
    const weft_doc *list;

    WEFT_TRY(weft_doc_need(d, "recompute", WEFT_DOC_LIST, &list));
    *out = 0;
    for (int i = 0; i < list->n; i++) {
        int k = 0;

        if (list->item[i]->kind != WEFT_DOC_TEXT)
            return weft_doc_fail(list->item[i], "this is %s, expected a word",
                                 weft_doc_kind_name(list->item[i]->kind));
        while (k < WEFT_N_RECOMPUTES &&
               strcmp(list->item[i]->text, weft_recompute_name((weft_recompute)k)) != 0)
            k++;
        if (k == WEFT_N_RECOMPUTES)
            return weft_doc_fail(list->item[i], "unknown recomputation '%s'", list->item[i]->text);
        *out |= 1u << k;
    }
    return *out ? WEFT_OK : weft_doc_fail(list, "'recompute' is empty");
}

static weft_status read_count(const weft_doc *d, const char *key, int *out)
{
    int64_t n;

    WEFT_TRY(weft_doc_int(d, key, 1, MOST_COUNT, &n));
    *out = (int)n;
    return WEFT_OK;
}

static weft_status read_design_pipeline(weft_design_file *out)
{
    static const char *const designs[] = {"common", "stages"};
    weft_design_pipeline *f = &out->design_pipeline;
    const weft_doc *d;
    int word;

    *f = weft_design_pipeline_default();
    WEFT_TRY(read_word(out->doc, "designs", designs, 2, &word));
    out->is_per_stage = word == 1;
    WEFT_TRY(weft_doc_need(out->doc, "pipeline", WEFT_DOC_MAP, &d));
    WEFT_TRY(read_count(d, "stages", &f->n_stages));
    WEFT_TRY(read_count(d, "width", &f->width));
    WEFT_TRY(read_count(d, "replicas", &f->replicas));
    WEFT_TRY(weft_doc_int(d, "batch", 1, MOST_SAMPLES, &f->batch));
    WEFT_TRY(weft_doc_int(d, "microbatch", 1, MOST_SAMPLES, &f->microbatch));
    WEFT_TRY(read_link(d, "inside_bytes_per_s", "inside_latency_s", &f->inside));
    WEFT_TRY(read_link(d, "between_bytes_per_s", "between_latency_s", &f->between));
    if ((double)f->batch / (double)f->microbatch * f->n_stages > MOST_EVENTS)
        return weft_doc_fail(d, "%d stages of %lld microbatches are too many to compute again",
                             f->n_stages, (long long)(f->batch / f->microbatch));
    return read_recomputes(d, &f->recomputes);
}

/* --- the file -------------------------------------------------------------------------------- */

static weft_status read_head(weft_design_file *out)
{
    static const char *const kinds[] = {"device", "pipeline"};
    const weft_doc *d = out->doc;
    const char *schema;
    int kind;

    if (d->kind != WEFT_DOC_MAP)
        return weft_doc_fail(d, "this is %s, expected a design", weft_doc_kind_name(d->kind));
    WEFT_TRY(weft_doc_text(d, "schema", &schema));
    if (strcmp(schema, WEFT_DESIGN_SCHEMA) != 0)
        return weft_doc_fail(d, "schema is '%s', expected '%s'", schema, WEFT_DESIGN_SCHEMA);
    WEFT_TRY(read_word(d, "kind", kinds, 2, &kind));
    out->is_design_pipeline = kind == 1;
    WEFT_TRY(weft_doc_need(d, "template", WEFT_DOC_MAP, &d));
    WEFT_TRY(weft_doc_text(d, "source", &out->template_));
    return read_hash(d, &out->template_hash);
}

static weft_status read_claims(weft_design_file *out)
{
    static const char *const outcomes[] = {"optimal", "bounded"};
    int word;

    WEFT_TRY(read_word(out->doc, "status", outcomes, 2, &word));
    out->outcome = word == 0 ? WEFT_OPTIMAL : WEFT_BOUNDED;
    WEFT_TRY(weft_doc_real(out->doc, "value", 0, INFINITY, &out->value));
    return read_limit(out->doc, "bound", &out->bound);
}

weft_status weft_design_read(const char *path, weft_arena *a, weft_design_file *out)
{
    memset(out, 0, sizeof *out);
    WEFT_TRY(weft_doc_read(path, a, &out->doc));
    WEFT_TRY(read_head(out));
    WEFT_TRY(read_asked(a, out));
    WEFT_TRY(read_networks(a, out));
    WEFT_TRY(read_claims(out));
    return out->is_design_pipeline ? read_design_pipeline(out) : WEFT_OK;
}

/* --- decisions and claims -------------------------------------------------------------------- */

static weft_status read_point(const weft_doc *map, const weft_template *t, weft_design_point *out)
{
    if (map->kind != WEFT_DOC_MAP)
        return weft_doc_fail(map, "this design is %s, expected a map",
                             weft_doc_kind_name(map->kind));
    for (int k = 0; k < WEFT_N_PARAMETERS; k++) {
        double size;
        int i = 0;

        WEFT_TRY(weft_doc_real(map, weft_parameter_name((weft_parameter)k), 0, INFINITY, &size));
        while (i < t->n_sizes[k] && t->size[k][i] != size)
            i++;
        if (i == t->n_sizes[k])
            return weft_doc_fail(map, "%s is %.12g, which is no size of the template '%s'",
                                 weft_parameter_name((weft_parameter)k), size, t->name);
        out->at[k] = (uint16_t)i;
    }
    return WEFT_OK;
}

static weft_status need_point(const weft_doc *map, const char *key, const weft_template *t,
                              weft_design_point *out)
{
    const weft_doc *d;

    WEFT_TRY(weft_doc_need(map, key, WEFT_DOC_MAP, &d));
    return read_point(d, t, out);
}

static weft_status read_search(const weft_doc *doc, weft_found *out)
{
    const weft_doc *d;

    WEFT_TRY(weft_doc_need(doc, "search", WEFT_DOC_MAP, &d));
    WEFT_TRY(weft_doc_int(d, "feasible", 0, INT64_MAX, &out->n_feasible));
    WEFT_TRY(weft_doc_int(d, "bounded", 0, INT64_MAX, &out->n_bounds));
    WEFT_TRY(weft_doc_int(d, "bounded_again", 0, INT64_MAX, &out->n_strong));
    WEFT_TRY(weft_doc_int(d, "scheduled", 0, INT64_MAX, &out->n_evaluated));
    return read_limit(d, "schedule_bound", &out->schedule_bound);
}

static weft_status read_front(const weft_doc *doc, const weft_template *t, weft_arena *a,
                              weft_found *out)
{
    const weft_doc *list, *proved;
    weft_mined *front;

    WEFT_TRY(weft_doc_need(doc, "front", WEFT_DOC_LIST, &list));
    WEFT_TRY(weft_doc_need(doc, "is_front_proved", WEFT_DOC_BOOL, &proved));
    front = WEFT_NEW(a, weft_mined, list->n + 1);
    for (int i = 0; i < list->n; i++)
        WEFT_TRY(read_point(list->item[i], t, &front[i].point));
    out->n_front = list->n;
    out->front = front;
    out->is_front_proved = proved->truth;
    return WEFT_OK;
}

/* --- sensitivity ----------------------------------------------------------------------------- */

static weft_status read_shift(const weft_doc *d, const weft_template *t, weft_shift *out)
{
    const weft_doc *flips;
    const char *name;
    int i = 0;

    if (d->kind != WEFT_DOC_MAP)
        return weft_doc_fail(d, "this shift is %s, expected a map", weft_doc_kind_name(d->kind));
    WEFT_TRY(weft_doc_text(d, "constant", &name));
    while (i < WEFT_N_CONSTANTS && strcmp(t->constant[i].name, name) != 0)
        i++;
    if (i == WEFT_N_CONSTANTS)
        return weft_doc_fail(d, "'%s' is no constant of a template", name);
    out->constant = (weft_constant_id)i;
    WEFT_TRY(weft_doc_real(d, "factor", 0, INFINITY, &out->factor));
    WEFT_TRY(weft_doc_real(d, "value", 0, INFINITY, &out->winner_value));
    WEFT_TRY(weft_doc_real(d, "best_value", 0, INFINITY, &out->best_value));
    WEFT_TRY(weft_doc_need(d, "flips", WEFT_DOC_BOOL, &flips));
    out->is_flip = flips->truth;
    return out->best_value > 0 ? need_point(d, "best", t, &out->best) : WEFT_OK;
}

static weft_status read_sensitivity(const weft_doc *doc, const weft_template *t, weft_arena *a,
                                    weft_design_sensitivity *out, bool *has)
{
    const weft_doc *d = weft_doc_get(doc, "sensitivity"), *list;
    int64_t n[3];
    weft_shift *shift;

    *has = d != NULL && d->kind != WEFT_DOC_NULL;
    if (!*has)
        return d ? WEFT_OK : weft_doc_fail(doc, "key 'sensitivity' is missing");
    WEFT_TRY(weft_doc_need(doc, "sensitivity", WEFT_DOC_MAP, &d));
    WEFT_TRY(weft_doc_int(d, "draws", 0, MOST_COUNT, &n[0]));
    WEFT_TRY(weft_doc_int(d, "stays", 0, n[0], &n[1]));
    WEFT_TRY(weft_doc_int(d, "breaks", 0, n[0] - n[1], &n[2]));
    WEFT_TRY(weft_doc_real(d, "worst_loss", 0, 1, &out->worst_loss));
    WEFT_TRY(weft_doc_need(d, "shifts", WEFT_DOC_LIST, &list));
    shift = WEFT_NEW(a, weft_shift, list->n + 1);
    for (int i = 0; i < list->n; i++)
        WEFT_TRY(read_shift(list->item[i], t, &shift[i]));
    out->n_draws = (int)n[0];
    out->n_stays = (int)n[1];
    out->n_breaks = (int)n[2];
    out->n_shifts = list->n;
    out->shift = shift;
    return WEFT_OK;
}

weft_status weft_design_decide(const weft_design_file *f, const weft_template *t, weft_arena *a,
                               weft_found *out, weft_design_sensitivity *more, bool *has_more)
{
    *out = (weft_found){.outcome = f->outcome, .bound = f->bound};
    *more = (weft_design_sensitivity){.n_draws = 0};
    WEFT_TRY(need_point(f->doc, "design", t, &out->point));
    WEFT_TRY(read_search(f->doc, out));
    WEFT_TRY(read_front(f->doc, t, a, out));
    return read_sensitivity(f->doc, t, a, more, has_more);
}

/* --- pipelines: decisions -------------------------------------------------------------------- */

static const char *recompute_word(int i)
{
    return weft_recompute_name((weft_recompute)i);
}

static weft_status read_stage(const weft_doc *d, const weft_template *t,
                              weft_design_pipeline_stage *out)
{
    const char *word[WEFT_N_RECOMPUTES];
    int64_t first, last;
    int recompute;

    if (d->kind != WEFT_DOC_MAP)
        return weft_doc_fail(d, "this stage is %s, expected a map", weft_doc_kind_name(d->kind));
    for (int i = 0; i < WEFT_N_RECOMPUTES; i++)
        word[i] = recompute_word(i);
    WEFT_TRY(weft_doc_int(d, "first_cut", 0, INT32_MAX, &first));
    WEFT_TRY(weft_doc_int(d, "last_cut", 0, INT32_MAX, &last));
    WEFT_TRY(read_word(d, "recompute", word, WEFT_N_RECOMPUTES, &recompute));
    out->first_cut = (int)first;
    out->last_cut = (int)last;
    out->recompute = (weft_recompute)recompute;
    return need_point(d, "design", t, &out->point);
}

static weft_status read_plan(const weft_doc *network, int n_stages, const weft_template *t,
                             weft_arena *a, weft_design_pipeline_plan *out)
{
    const weft_doc *list;
    weft_design_pipeline_stage *stage;

    WEFT_TRY(weft_doc_need(network, "stages", WEFT_DOC_LIST, &list));
    if (list->n != n_stages)
        return weft_doc_fail(list, "'stages' has %d entries, expected %d", list->n, n_stages);
    stage = WEFT_NEW(a, weft_design_pipeline_stage, n_stages);
    for (int i = 0; i < n_stages; i++)
        WEFT_TRY(read_stage(list->item[i], t, &stage[i]));
    WEFT_TRY(weft_doc_real(network, "bound_s", 0, INFINITY, &out->bound_s));
    out->n_stages = n_stages;
    out->stage = stage;
    return WEFT_OK;
}

static weft_status read_common(const weft_doc *doc, weft_design_pipeline_found *out, bool *has)
{
    static const char *const outcomes[] = {"optimal", "bounded", "infeasible", "unknown"};
    static const weft_outcome outcome[] = {WEFT_OPTIMAL, WEFT_BOUNDED, WEFT_INFEASIBLE,
                                           WEFT_UNKNOWN};
    const weft_doc *d = weft_doc_get(doc, "common");
    int word;

    *out = (weft_design_pipeline_found){.gap = INFINITY};
    *has = d != NULL && d->kind != WEFT_DOC_NULL;
    if (!*has)
        return d ? WEFT_OK : weft_doc_fail(doc, "key 'common' is missing");
    WEFT_TRY(weft_doc_need(doc, "common", WEFT_DOC_MAP, &d));
    WEFT_TRY(read_word(d, "status", outcomes, 4, &word));
    out->outcome = outcome[word];
    WEFT_TRY(read_limit(d, "bound", &out->bound));
    WEFT_TRY(read_limit(d, "value", &out->value));
    if (!(out->value < INFINITY)) /* null */
        out->value = 0;
    if (out->value > 0)
        out->gap = out->bound / out->value - 1;
    return WEFT_OK;
}

weft_status weft_design_decide_design_pipeline(const weft_design_file *f, const weft_template *t,
                                               weft_arena *a, weft_design_pipeline_found *out,
                                               weft_design_pipeline_found *common, bool *has_common)
{
    weft_design_pipeline_plan *plan = WEFT_NEW(a, weft_design_pipeline_plan, f->n_networks);
    const weft_doc *list = weft_doc_get(f->doc, "networks"), *search;

    *out = (weft_design_pipeline_found){.outcome = f->outcome, .bound = f->bound, .plan = plan};
    for (int i = 0; i < f->n_networks; i++)
        WEFT_TRY(read_plan(list->item[i], f->design_pipeline.n_stages, t, a, &plan[i]));
    WEFT_TRY(weft_doc_need(f->doc, "search", WEFT_DOC_MAP, &search));
    WEFT_TRY(weft_doc_int(search, "feasible", 0, INT64_MAX, &out->n_feasible));
    WEFT_TRY(weft_doc_int(search, "partitioned", 0, INT64_MAX, &out->n_partitioned));
    WEFT_TRY(weft_doc_int(search, "plans", 0, INT64_MAX, &out->n_plans));
    return read_common(f->doc, common, has_common);
}
