/* SPDX-License-Identifier: MIT */
/* plan_head.c: what all plan files have in common: schema and kind, where model and platform come
 * from, who made the plan, what the proof claims. */
#include "plan_head.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const schema = "weft.plan/1";
static const char *const kinds[] = {"place", "shard", "train", "serve"};
static const char *const decisions_schema = "weft.decisions/1";
static const char *const design_schema = "weft.design/1"; /* no plan, but checked like one */

/* --- writing --------------------------------------------------------------------------------- */

static void put_hash(weft_arena *a, weft_doc *map, const char *key, uint64_t hash)
{
    weft_put_text(a, map, key, weft_arena_print(a, "%016" PRIx64, hash));
}

static const char *const optimizer_name[] = {"sgd", "momentum", "adam"};

const char *weft_optimizer_name(weft_optimizer o)
{
    return optimizer_name[o];
}

/* Of the user, for a file of tasks that names none; nothing is written of what was not said. */
static void put_machines(weft_arena *a, weft_doc *model, const weft_task_machines *m)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP), *speeds = weft_doc_new(a, WEFT_DOC_LIST);

    if (m->n_processors > 0)
        weft_put_int(a, d, "processors", m->n_processors);
    for (int i = 0; i < m->n_speeds; i++)
        weft_doc_add(a, speeds, weft_doc_new_real(a, m->speed[i]));
    if (m->n_speeds > 0)
        weft_doc_put(a, d, "speeds", speeds);
    if (m->bytes_per_s > 0)
        weft_put_real(a, d, "bytes_per_s", m->bytes_per_s); /* null: unlimited */
    if (m->communication_s > 0)
        weft_put_real(a, d, "communication_s", m->communication_s);
    if (d->n > 0)
        weft_doc_put(a, model, "machines", d);
}

/* Only what the user said. */
static void put_states(weft_arena *a, weft_doc *d, const weft_model_options *m)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int i = 0; i < m->n_states; i++)
        weft_doc_add(a, list, weft_doc_new_text(a, weft_state_text(&m->state[i], a)));
    if (m->n_states > 0 || m->no_states)
        weft_doc_put(a, d, "state", list);
}

static void put_shares(weft_arena *a, weft_doc *d, const weft_model_options *m)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int i = 0; i < m->n_shares; i++)
        weft_doc_add(a, list, weft_doc_new_int(a, m->share[i]));
    if (m->n_shares > 0)
        weft_doc_put(a, d, "shares", list);
}

static weft_doc *model_doc(const weft_plan_origin *o, weft_arena *a)
{
    const weft_model_options *m = &o->options;
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP), *dims = weft_doc_new(a, WEFT_DOC_MAP);

    weft_put_text(a, d, "source", o->model);
    weft_put_text(a, d, "format", o->format);
    put_hash(a, d, "hash", o->model_hash);
    weft_put_int(a, d, "batch", m->batch);
    for (int i = 0; i < m->n_dims; i++)
        weft_put_int(a, dims, m->dim[i].name, m->dim[i].size);
    weft_doc_put(a, d, "dims", dims);
    weft_put_text(a, d, "dtype", m->dtype ? weft_dtype_name(m->dtype) : NULL);
    weft_put_bool(a, d, "train", m->train);
    weft_put_text(a, d, "optimizer", optimizer_name[m->train ? m->optimizer : WEFT_ADAM]);
    if (m->has_software)
        weft_put_text(a, d, "software", weft_software_name(m->software));
    put_machines(a, d, &m->machines);
    put_states(a, d, m);
    put_shares(a, d, m);
    return d;
}

static weft_doc *platform_doc(const weft_plan_origin *o, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);

    if (o->platform == NULL)
        return weft_doc_new(a, WEFT_DOC_NULL);
    weft_put_text(a, d, "source", o->platform);
    put_hash(a, d, "hash", o->platform_hash);
    return d;
}

void weft_plan_put_head(weft_arena *a, weft_doc *plan, const char *kind,
                        const weft_plan_origin *origin)
{
    weft_put_text(a, plan, "schema", schema);
    weft_put_text(a, plan, "kind", kind);
    weft_doc_put(a, plan, "model", model_doc(origin, a));
    weft_doc_put(a, plan, "platform", platform_doc(origin, a));
}

void weft_plan_put_maker(weft_arena *a, weft_doc *plan, const weft_plan_origin *origin)
{
    weft_put_text(a, plan, "solver", origin->solver);
    weft_put_int(a, plan, "seed", origin->seed);
    put_hash(a, plan, "problem_hash", origin->problem_hash);
}

void weft_plan_put_claims(weft_arena *a, weft_doc *d, const weft_proof *proof)
{
    weft_put_text(a, d, "status", weft_outcome_name(proof->outcome));
    weft_put_real(a, d, "value", proof->value);
    weft_put_real(a, d, "bound", proof->bound);
    weft_put_real(a, d, "gap", proof->gap);
    weft_put_text(a, d, "method", proof->method);
    weft_put_real(a, d, "certified", proof->certified);
}

void weft_plan_put_proof(weft_arena *a, weft_doc *plan, const weft_proof *proof)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);

    weft_plan_put_claims(a, d, proof);
    weft_put_text(a, d, "again", proof->again);
    weft_doc_put(a, plan, "proof", d);
}

/* --- reading --------------------------------------------------------------------------------- */

weft_status weft_plan_optional_text(const weft_doc *map, const char *key, const char **out)
{
    const weft_doc *d = weft_doc_get(map, key);

    *out = NULL;
    if (d == NULL)
        return weft_doc_fail(map, "key '%s' is missing", key);
    return d->kind == WEFT_DOC_NULL ? WEFT_OK : weft_doc_text(map, key, out);
}

static weft_status read_hash(const weft_doc *map, const char *key, uint64_t *out)
{
    const char *text;
    char *end;

    WEFT_TRY(weft_doc_text(map, key, &text));
    *out = strtoull(text, &end, 16);
    if (*end != '\0' || strlen(text) != 16)
        return weft_doc_fail(map, "'%s' is '%s', expected 16 hexadecimal digits", key, text);
    return WEFT_OK;
}

weft_status weft_plan_read_word(const weft_doc *map, const char *key, const char *(*name)(int),
                                int n, int *out)
{
    const char *text;

    WEFT_TRY(weft_doc_text(map, key, &text));
    for (*out = 0; *out < n; (*out)++)
        if (strcmp(text, name(*out)) == 0)
            return WEFT_OK;
    return weft_doc_fail(map, "'%s' is '%s', expected %s ...", key, text, name(0));
}

static const char *outcome_word(int i)
{
    return weft_outcome_name((weft_outcome)i);
}

static const char *optimizer_word(int i)
{
    return optimizer_name[i];
}

static const char *software_word(int i)
{
    return weft_software_name((weft_software)i);
}

static weft_status read_dims(const weft_doc *dims, weft_arena *a, weft_model_options *o)
{
    weft_dim_binding *dim = WEFT_NEW(a, weft_dim_binding, dims->n + 1);

    for (int i = 0; i < dims->n; i++) {
        dim[i].name = dims->key[i];
        WEFT_TRY(weft_doc_int(dims, dims->key[i], 1, 1000000000, &dim[i].size));
    }
    o->n_dims = dims->n;
    o->dim = dim;
    return WEFT_OK;
}

/* Only there if the user said it. */
static weft_status read_software(const weft_doc *d, weft_model_options *o)
{
    int software;

    o->has_software = weft_doc_get(d, "software") != NULL;
    if (!o->has_software)
        return WEFT_OK;
    WEFT_TRY(weft_plan_read_word(d, "software", software_word, WEFT_N_SOFTWARES, &software));
    o->software = (weft_software)software;
    return WEFT_OK;
}

static weft_status read_speeds(const weft_doc *map, weft_arena *a, weft_task_machines *out)
{
    const weft_doc *list;
    double *speed;

    WEFT_TRY(weft_doc_need(map, "speeds", WEFT_DOC_LIST, &list));
    out->n_speeds = list->n;
    out->speed = speed = WEFT_NEW(a, double, list->n + 1);
    for (int i = 0; i < list->n; i++) {
        speed[i] = list->item[i]->real;
        if (!weft_doc_is_number(list->item[i]) || !(speed[i] > 0))
            return weft_doc_fail(list->item[i], "a speed is no number above 0");
    }
    return WEFT_OK;
}

static weft_status read_machines(const weft_doc *model, weft_arena *a, weft_task_machines *out)
{
    static const char *const keys[] = {"processors", "speeds", "bytes_per_s", "communication_s"};
    const weft_doc *d = weft_doc_get(model, "machines"), *rate;
    int64_t n = 0;

    if (d == NULL)
        return WEFT_OK;
    WEFT_TRY(weft_doc_need(model, "machines", WEFT_DOC_MAP, &d));
    WEFT_TRY(weft_doc_known_keys(d, keys, 4));
    if (weft_doc_get(d, "processors"))
        WEFT_TRY(weft_doc_int(d, "processors", 1, 1000000000, &n));
    out->n_processors = (int)n;
    if (weft_doc_get(d, "speeds"))
        WEFT_TRY(read_speeds(d, a, out));
    rate = weft_doc_get(d, "bytes_per_s");
    if (rate != NULL && rate->kind == WEFT_DOC_NULL)
        out->bytes_per_s = INFINITY;
    else if (rate != NULL)
        WEFT_TRY(weft_doc_real(d, "bytes_per_s", 0, INFINITY, &out->bytes_per_s));
    if (weft_doc_get(d, "communication_s"))
        WEFT_TRY(weft_doc_real(d, "communication_s", 0, 1e18, &out->communication_s));
    return WEFT_OK;
}

static weft_status read_states(const weft_doc *d, weft_arena *a, weft_model_options *o)
{
    const weft_doc *list = weft_doc_get(d, "state");
    weft_state_pattern *state = WEFT_NEW(a, weft_state_pattern, list ? list->n + 1 : 1);

    if (list == NULL)
        return WEFT_OK;
    WEFT_TRY(weft_doc_need(d, "state", WEFT_DOC_LIST, &list));
    for (int i = 0; i < list->n; i++) {
        if (list->item[i]->kind != WEFT_DOC_TEXT)
            return weft_doc_fail(list->item[i], "expected a text");
        if (weft_state_read(list->item[i]->text, a, &state[i]) != WEFT_OK)
            return weft_doc_fail(list->item[i], "%s", weft_message());
    }
    o->state = state;
    o->n_states = list->n;
    o->no_states = list->n == 0;
    return WEFT_OK;
}

/* Two or more, of all samples of the batch together. */
static weft_status read_shares(const weft_doc *d, weft_model_options *o)
{
    const weft_doc *list = weft_doc_get(d, "shares");
    int64_t sum = 0;

    if (list == NULL)
        return WEFT_OK;
    WEFT_TRY(weft_doc_need(d, "shares", WEFT_DOC_LIST, &list));
    if (list->n < 2 || list->n > WEFT_MOST_SHARES)
        return weft_doc_fail(list, "'shares' has %d entries, expected 2 to %d", list->n,
                             (int)WEFT_MOST_SHARES);
    for (int i = 0; i < list->n; i++) {
        if (list->item[i]->kind != WEFT_DOC_INT || list->item[i]->integer < 1)
            return weft_doc_fail(list->item[i], "a share is no whole number of samples above 0");
        o->share[i] = list->item[i]->integer;
        sum += o->share[i];
    }
    if (sum != o->batch)
        return weft_doc_fail(list, "'shares' add up to %lld samples, the batch has %lld",
                             (long long)sum, (long long)o->batch);
    o->n_shares = list->n;
    return WEFT_OK;
}

static weft_status read_model(const weft_doc *d, weft_arena *a, weft_plan_origin *o)
{
    static const char *const keys[] = {"source",   "format",   "hash",  "batch",
                                       "dims",     "dtype",    "train", "optimizer",
                                       "software", "machines", "state", "shares"};
    const weft_doc *dims, *train;
    const char *dtype;
    int optimizer;

    WEFT_TRY(weft_doc_known_keys(d, keys, (int)(sizeof keys / sizeof *keys)));
    WEFT_TRY(weft_doc_text(d, "source", &o->model));
    WEFT_TRY(weft_plan_optional_text(d, "format", &o->format));
    if (o->format && *o->format == '\0')
        return weft_doc_fail(d, "'format' is empty, expected the name of a format or null");
    WEFT_TRY(read_hash(d, "hash", &o->model_hash));
    WEFT_TRY(weft_doc_int(d, "batch", 0, 1000000000, &o->options.batch));
    WEFT_TRY(weft_doc_need(d, "dims", WEFT_DOC_MAP, &dims));
    WEFT_TRY(read_dims(dims, a, &o->options));
    WEFT_TRY(weft_plan_optional_text(d, "dtype", &dtype));
    o->options.dtype = dtype ? weft_dtype_find(dtype) : WEFT_TYPE_UNKNOWN;
    if (dtype && !weft_dtype_is_float(o->options.dtype))
        return weft_doc_fail(d, "'dtype' is '%s', expected a floating-point type", dtype);
    WEFT_TRY(weft_doc_need(d, "train", WEFT_DOC_BOOL, &train));
    o->options.train = train->truth;
    WEFT_TRY(weft_plan_read_word(d, "optimizer", optimizer_word, 3, &optimizer));
    o->options.optimizer = (weft_optimizer)optimizer;
    WEFT_TRY(read_machines(d, a, &o->options.machines));
    WEFT_TRY(read_states(d, a, &o->options));
    WEFT_TRY(read_shares(d, &o->options));
    return read_software(d, &o->options);
}

static weft_status read_platform(const weft_doc *plan, weft_plan_origin *o)
{
    static const char *const keys[] = {"source", "hash"};
    const weft_doc *d = weft_doc_get(plan, "platform");

    if (d == NULL)
        return weft_doc_fail(plan, "key 'platform' is missing");
    if (d->kind == WEFT_DOC_NULL)
        return WEFT_OK;
    if (d->kind != WEFT_DOC_MAP)
        return weft_doc_fail(d, "'platform' is %s, expected a map or null",
                             weft_doc_kind_name(d->kind));
    WEFT_TRY(weft_doc_known_keys(d, keys, 2));
    WEFT_TRY(weft_doc_text(d, "source", &o->platform));
    return read_hash(d, "hash", &o->platform_hash);
}

weft_status weft_plan_read_origin(const weft_doc *plan, weft_arena *a, weft_plan_origin *out)
{
    const weft_doc *model;

    WEFT_TRY(weft_doc_need(plan, "model", WEFT_DOC_MAP, &model));
    WEFT_TRY(read_model(model, a, out));
    WEFT_TRY(read_platform(plan, out));
    WEFT_TRY(weft_doc_text(plan, "solver", &out->solver));
    WEFT_TRY(weft_doc_int(plan, "seed", 0, INT64_MAX, &out->seed));
    return read_hash(plan, "problem_hash", &out->problem_hash);
}

weft_status weft_plan_read_claims(const weft_doc *d, weft_proof *out)
{
    int outcome;

    WEFT_TRY(weft_plan_read_word(d, "status", outcome_word, 4, &outcome));
    out->outcome = (weft_outcome)outcome;
    WEFT_TRY(weft_doc_real(d, "value", 0, INFINITY, &out->value));
    WEFT_TRY(weft_doc_real(d, "bound", 0, INFINITY, &out->bound));
    WEFT_TRY(weft_doc_real(d, "gap", 0, INFINITY, &out->gap));
    WEFT_TRY(weft_plan_optional_text(d, "method", &out->method));
    return weft_doc_real(d, "certified", 0, INFINITY, &out->certified);
}

weft_status weft_plan_read_proof(const weft_doc *plan, weft_proof *out)
{
    static const char *const keys[] = {"status", "value",     "bound", "gap",
                                       "method", "certified", "again"};
    const weft_doc *d;

    WEFT_TRY(weft_doc_need(plan, "proof", WEFT_DOC_MAP, &d));
    WEFT_TRY(weft_doc_known_keys(d, keys, 7));
    WEFT_TRY(weft_plan_read_claims(d, out));
    return weft_plan_optional_text(d, "again", &out->again);
}

/* --- the kind -------------------------------------------------------------------------------- */

static weft_status read_schema(const char *path, weft_arena *a, const weft_doc **doc,
                               const char **out)
{
    WEFT_TRY(weft_doc_read(path, a, doc));
    if ((*doc)->kind != WEFT_DOC_MAP)
        return weft_doc_fail(*doc, "this is %s, expected a plan", weft_doc_kind_name((*doc)->kind));
    return weft_doc_text(*doc, "schema", out);
}

static weft_status kind_of(const weft_doc *d, const char *found, const char **out)
{
    if (strcmp(found, decisions_schema) == 0)
        return weft_doc_fail(d, "'%s' claims nothing that could be checked; see: weft simulate",
                             found);
    if (strcmp(found, schema) != 0)
        return weft_doc_fail(d, "schema is '%s', expected '%s'", found, schema);
    return weft_doc_text(d, "kind", out);
}

weft_status weft_plan_kind(const char *path, weft_arena *a, const char **out)
{
    const weft_doc *d = NULL;
    const char *found;

    WEFT_TRY(read_schema(path, a, &d, &found));
    if (strcmp(found, design_schema) == 0) {
        *out = "design";
        return WEFT_OK;
    }
    WEFT_TRY(kind_of(d, found, out));
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(*out, kinds[i]) == 0)
            return WEFT_OK;
    return weft_doc_fail(d, "kind is '%s', expected '%s', '%s', '%s' or '%s'", *out, kinds[0],
                         kinds[1], kinds[2], kinds[3]);
}

weft_status weft_decisions_kind(const char *path, weft_arena *a, const char **out)
{
    const weft_doc *d = NULL;
    const char *found;

    WEFT_TRY(read_schema(path, a, &d, &found));
    if (strcmp(found, decisions_schema) != 0)
        return weft_doc_fail(d, "schema is '%s', expected '%s'; plan files are for: weft check",
                             found, decisions_schema);
    return weft_doc_text(d, "kind", out);
}

weft_status weft_plan_open(const char *path, const char *kind, weft_arena *a, const weft_doc **out)
{
    const char *schema_found, *found;

    WEFT_TRY(read_schema(path, a, out, &schema_found));
    if (strcmp(schema_found, decisions_schema) == 0) {
        WEFT_TRY(weft_decisions_complete(*out, a, out));
        schema_found = schema;
    }
    WEFT_TRY(kind_of(*out, schema_found, &found));
    if (strcmp(found, kind) != 0)
        return weft_doc_fail(*out, "kind is '%s', expected '%s'", found, kind);
    return WEFT_OK;
}
