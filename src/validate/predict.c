/* SPDX-License-Identifier: MIT */
/* predict.c: what the cost models say of measured rows.
 *
 * Products, convolutions and recurrent layers become the work of one operator, in the same words
 * that layer.c finds for a node of a graph (a test compares them); networks are opened, and their
 * operators run one after the other on one device; sums go over the first devices of the platform. */
#include "measured.h"

#include "model.h"
#include "params.h"

#include <math.h>
#include <string.h>

/* --- platforms ------------------------------------------------------------------------------- */

struct weft_platforms {
    weft_arena *arena;
    WEFT_VEC(weft_platform *) list;
    WEFT_VEC(const char *) name;
};

weft_platforms *weft_platforms_new(weft_arena *a)
{
    weft_platforms *p = WEFT_NEW(a, weft_platforms, 1);

    p->arena = a;
    return p;
}

void weft_platforms_free(weft_platforms *p)
{
    for (int i = 0; i < p->list.n; i++)
        weft_platform_free(p->list.at[i]);
}

static weft_status open_platform(weft_platforms *p, const char *name, const weft_platform **out)
{
    weft_platform *opened;

    for (int i = 0; i < p->list.n; i++)
        if (strcmp(p->name.at[i], name) == 0) {
            *out = p->list.at[i];
            return WEFT_OK;
        }
    WEFT_TRY(weft_platform_open(name, &opened));
    WEFT_PUSH(p->arena, p->list, opened);
    WEFT_PUSH(p->arena, p->name, name);
    *out = opened;
    return WEFT_OK;
}

/* The first device of the kind that a row names; without a name, of the only kind there is. */
static weft_status find_device(const weft_platform *p, const char *kind, int *out)
{
    int last = p->n_devices - 1;

    for (*out = 0; *out < p->n_devices; ++*out)
        if (strcmp(p->device[*out].kind, kind) == 0 ||
            weft_is_copy_name(p->device[*out].name, kind))
            return WEFT_OK;
    if (*kind != '\0')
        return weft_fail(WEFT_E_INPUT,
                         "column 'device' is '%.60s', expected a device of the platform like '%s'",
                         kind, p->device[last].kind);
    *out = 0;
    for (int d = 1; d < p->n_devices; d++)
        if (strcmp(p->device[d].kind, p->device[0].kind) != 0)
            return weft_fail(WEFT_E_INPUT,
                             "column 'device' is empty and the platform has several kinds, "
                             "expected one like '%s'",
                             p->device[last].kind);
    return WEFT_OK;
}

/* --- constants of a row ---------------------------------------------------------------------- */

static weft_status set_constant(const char *key, const char *value, weft_design *d)
{
    int n;
    const weft_param *p = weft_device_params(d->model, &n);

    for (int i = 0; i < n; i++)
        if (strcmp(p[i].key, key) == 0) {
            WEFT_TRY(weft_unit_parse(value, p[i].unit, p[i].is_plain, &d->value[p[i].place]));
            if (!(d->value[p[i].place] >= p[i].lowest && d->value[p[i].place] <= p[i].highest))
                return weft_fail(WEFT_E_INPUT, "column 'constants': %s is %s, expected %g to %g",
                                 key, value, p[i].lowest, p[i].highest);
            return WEFT_OK;
        }
    return weft_fail(WEFT_E_INPUT,
                     "column 'constants': '%.60s' is no parameter of the model %s, expected one "
                     "like '%s'",
                     key, weft_device_model_name(d->model), p[0].key);
}

static weft_status set_constants(const char *text, weft_design *d)
{
    char key[64], value[64];
    int used = 0;

    for (; *text != '\0'; text += used) {
        if (sscanf(text, "%60[a-z0-9_]=%60[^, ]%n", key, value, &used) != 2)
            return weft_fail(WEFT_E_INPUT,
                             "column 'constants' is '%.60s', expected KEY=VALUE[,KEY=VALUE]", text);
        WEFT_TRY(set_constant(key, value, d));
        used += text[used] == ',' || text[used] == ' ';
    }
    return WEFT_OK;
}

weft_status weft_ready_design(const weft_measured *m, const weft_measured_row *row,
                              const weft_design *from, weft_design *out)
{
    *out = *from;
    if (row->type == WEFT_F32 && weft_param_key(out->model, WEFT_P_USE_TF32) != NULL)
        out->value[WEFT_P_USE_TF32] = row->is_tf32;
    if (set_constants(row->constants, out) != WEFT_OK)
        return weft_fail(WEFT_E_INPUT, "%s:%d: %s", m->file, row->line, weft_message());
    return WEFT_OK;
}

/* --- work ------------------------------------------------------------------------------------ */

static weft_work_key key_of(const weft_measured_row *r, weft_layer layer, int64_t steps)
{
    weft_work_key k;

    memset(&k, 0, sizeof k);
    k.family = WEFT_FUSE_TENSOR;
    k.n_layers = 1;
    k.layer[0] = layer;
    k.steps[0] = steps;
    k.sliding[0].stride = 1;
    k.type = r->type;
    k.element_bytes = weft_dtype_bits(r->type) < 8 ? 1 : weft_dtype_bits(r->type) / 8;
    return k;
}

static weft_work_key gemm_key(const weft_measured_row *r)
{
    const weft_gemm_shape *s = r->shape;
    weft_work_key k = key_of(r, (weft_layer){1, s->count, s->n, s->k, s->m, 1, 1, 1, 1}, 1);

    k.read_bytes = k.element_bytes * s->count * (s->m * s->k + s->k * s->n);
    k.write_bytes = k.element_bytes * s->count * s->m * s->n;
    return k;
}

static int64_t places(int64_t size, int64_t pad, int64_t kernel, int64_t stride)
{
    return size + 2 * pad < kernel ? 0 : (size + 2 * pad - kernel) / stride + 1;
}

/* Elements of a row or column that some place reads. */
static int64_t read_along(int64_t size, int64_t n_places, int64_t kernel, int64_t stride)
{
    int64_t touched = stride > kernel ? n_places * kernel : (n_places - 1) * stride + kernel;

    return touched < size ? touched : size;
}

static weft_status conv_key(const weft_measured_row *r, weft_work_key *out)
{
    const weft_conv_shape *s = r->shape;
    int64_t p = places(s->height, s->pad_h, s->kernel_h, s->stride_h),
            q = places(s->width, s->pad_w, s->kernel_w, s->stride_w),
            stride = s->stride_h > s->stride_w ? s->stride_h : s->stride_w;
    int64_t in = s->batch * s->channels * s->height * s->width, to = s->batch * s->filters * p * q,
            seen = s->batch * s->channels * read_along(s->height, p, s->kernel_h, s->stride_h) *
                   read_along(s->width, q, s->kernel_w, s->stride_w),
            weights = s->filters * s->channels * s->kernel_h * s->kernel_w;

    if (p < 1 || q < 1)
        return weft_fail(WEFT_E_INPUT,
                         "column 'params' is '%.100s': the kernel is larger than the padded input",
                         r->params);
    if (strcmp(s->pass, "forward") == 0) {
        *out = key_of(r,
                      (weft_layer){s->batch, 1, s->filters, s->channels, p, q, s->kernel_h,
                                   s->kernel_w, stride},
                      1);
        out->read_bytes = seen + weights;
        out->write_bytes = to;
    } else if (strcmp(s->pass, "data") == 0) {
        *out = key_of(r,
                      (weft_layer){1, 1, s->batch * p * q, s->filters,
                                   s->channels * s->kernel_h * s->kernel_w, 1, 1, 1, 1},
                      1);
        out->read_bytes = to + weights;
        out->write_bytes = in;
    } else {
        *out = key_of(
            r,
            (weft_layer){s->channels, 1, s->filters, s->batch, s->kernel_h, s->kernel_w, p, q, 1},
            1);
        out->read_bytes = seen + to;
        out->write_bytes = weights;
    }
    out->sliding[0] = (weft_sliding){s->kernel_h * s->kernel_w, stride};
    out->read_bytes *= out->element_bytes;
    out->write_bytes *= out->element_bytes;
    return WEFT_OK;
}

/* The product of the state with its weights, step by step, and that of the inputs at once; weights
 * have a sum over all steps. */
static weft_work_key rnn_key(const weft_measured_row *r)
{
    const weft_rnn_shape *s = r->shape;
    int64_t gates = *s->cell == 'l' ? 4 : *s->cell == 'g' ? 3 : 1, h = s->hidden;
    int64_t places_all = s->batch * s->steps, wide = gates * h, products = s->input ? 2 : 1;
    bool is_forward = strcmp(s->pass, "forward") == 0, is_weight = strcmp(s->pass, "weight") == 0;
    weft_layer forward = {1, 1, wide, h, places_all, 1, 1, 1, 1},
               data = {1, 1, h, wide, places_all, 1, 1, 1, 1},
               weight = {1, 1, wide, places_all, h, 1, 1, 1, 1};
    weft_layer l = is_weight ? weight : is_forward ? forward : data;
    weft_work_key k = key_of(r, l, is_weight ? 1 : s->steps);

    k.n_layers = (int)products;
    k.layer[1] = s->input ? l : k.layer[1];
    k.steps[1] = s->input ? 1 : 0;
    k.sliding[1].stride = s->input ? 1 : 0;
    k.read_bytes = k.element_bytes * (places_all * (is_forward ? h : wide) +
                                      products * (is_weight ? places_all * h : wide * h));
    k.write_bytes = k.element_bytes * (is_weight ? products * wide * h : places_all * h);
    return k;
}

static weft_status open_network(const weft_measured_row *r, weft_ready *out)
{
    const weft_infer_shape *s = r->shape;
    weft_model_options how = {.batch = s->batch,
                              .dtype = r->type,
                              .optimizer = WEFT_ADAM,
                              .software = r->has_software ? r->software : out->platform->software,
                              .has_software = true};

    WEFT_TRY(weft_model_open(r->model, &how, &out->network));
    return weft_work_keys_new(out->network->graph, &out->keys);
}

static weft_status make_work(const weft_measured_row *r, weft_ready *out)
{
    const weft_sum_shape *sum = r->shape;

    switch (r->what) {
    case WEFT_MEASURED_GEMM:
        out->key = gemm_key(r);
        return WEFT_OK;
    case WEFT_MEASURED_CONV:
        return conv_key(r, &out->key);
    case WEFT_MEASURED_RNN:
        out->key = rnn_key(r);
        return WEFT_OK;
    case WEFT_MEASURED_INFER:
        return open_network(r, out);
    case WEFT_MEASURED_TRAIN:
        return WEFT_OK;
    default:
        if (sum->ranks > out->platform->n_devices)
            return weft_fail(WEFT_E_INPUT,
                             "column 'params': ranks is %lld, but platform '%s' has %d devices",
                             (long long)sum->ranks, out->platform->name, out->platform->n_devices);
        return WEFT_OK;
    }
}

/* A row is of a device that has a shared memory for itself, or with one other at work. */
static weft_status find_beside(const weft_measured_row *row, weft_ready *out)
{
    const weft_device *d = &out->platform->device[out->device], *other;
    const weft_infer_shape *s = row->what == WEFT_MEASURED_INFER ? row->shape : NULL;
    double counted = d->design->value[WEFT_P_BANDWIDTH];
    int found;

    out->alone = out->beside = d->pool > 0 ? d->alone_bytes_per_s / counted : 1;
    if (s == NULL || *s->beside == '\0')
        return WEFT_OK;
    WEFT_TRY(find_device(out->platform, s->beside, &found));
    other = &out->platform->device[found];
    if (found == out->device || d->pool == 0 || other->pool != d->pool)
        return weft_fail(WEFT_E_INPUT,
                         "column 'params': beside is '%.60s', expected another device that shares "
                         "the memory of '%s'",
                         s->beside, d->name);
    out->beside *= fmin(1, d->pool_bytes_per_s / (d->alone_bytes_per_s + other->alone_bytes_per_s));
    return WEFT_OK;
}

weft_status weft_ready_make(const weft_measured *m, int i, const char *on,
                            weft_platforms *platforms, weft_ready *out)
{
    const weft_measured_row *row = &m->row[i];
    weft_status status;

    *out = (weft_ready){.row = row, .platform_name = on ? on : row->platform};
    status = open_platform(platforms, out->platform_name, &out->platform);
    if (status == WEFT_OK)
        status = find_device(out->platform, row->device, &out->device);
    if (status == WEFT_OK)
        status = find_beside(row, out);
    if (status == WEFT_OK)
        status = make_work(row, out);
    if (status != WEFT_OK)
        return weft_fail(status, "%s:%d: %s", m->file, row->line, weft_message());
    return weft_ready_design(m, row, out->platform->device[out->device].design, &out->design);
}

void weft_ready_free(weft_ready *r, int n)
{
    for (int i = 0; i < n; i++) {
        weft_work_keys_free(r[i].keys);
        weft_model_free(r[i].network);
    }
}

/* --- seconds --------------------------------------------------------------------------------- */

/* All operators one after the other on one device. */
static weft_status network_s(const weft_ready *r, const weft_design *design, double *out)
{
    weft_device device = r->platform->device[r->device];
    weft_platform alone = *r->platform;
    weft_costs *costs;

    device.design = design;
    device.n_designs = 1;
    alone.device = &device;
    alone.n_devices = 1;
    WEFT_TRY(weft_costs_of(r->keys, &alone, &costs));
    *out = 0;
    for (int u = 0; u < costs->n_nodes; u++)
        *out += costs->seconds[u];
    weft_costs_free(costs);
    return WEFT_OK;
}

static double sum_s(const weft_ready *r)
{
    const weft_sum_shape *s = r->row->shape;
    weft_link_cost slowest = WEFT_LINK_COST_NONE;

    for (int d = 0; d < s->ranks; d++)
        weft_link_cost_take(r->platform, d, (int)((d + 1) % s->ranks), &slowest);
    return weft_ring_s(&slowest, (int)s->ranks, WEFT_ALL_REDUCE, (double)s->bytes);
}

static weft_status operators_s(const weft_ready *r, const weft_design *design, double *out)
{
    const weft_device_row *model = weft_device_row_of(design->model);
    int missing;

    if (r->keys != NULL)
        return network_s(r, design, out);
    missing = model->missing ? model->missing(design, &r->key) : -1;
    if (missing >= 0)
        return weft_fail(
            WEFT_E_INPUT, "device '%s' has no '%s', which %s of %s need",
            r->platform->device[r->device].name, weft_param_key(design->model, missing),
            weft_measured_kind_of(r->row->what)->plural, weft_dtype_name(r->row->type));
    *out = weft_design_cost(design, &r->key).seconds;
    return WEFT_OK;
}

weft_status weft_ready_seconds(const weft_ready *r, const weft_design *design, double *out)
{
    weft_design shared = *design, alone = *design;
    double alone_s;

    if (r->row->what == WEFT_MEASURED_TRAIN)
        return weft_ready_train_s(r, out);
    if (r->row->what == WEFT_MEASURED_SUM) {
        *out = sum_s(r);
        return WEFT_OK;
    }
    shared.value[WEFT_P_BANDWIDTH] *= r->beside;
    alone.value[WEFT_P_BANDWIDTH] *= r->alone;
    WEFT_TRY(operators_s(r, &shared, out));
    if (!r->row->is_ratio)
        return WEFT_OK;
    WEFT_TRY(operators_s(r, &alone, &alone_s));
    *out /= alone_s;
    return WEFT_OK;
}
