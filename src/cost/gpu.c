/* SPDX-License-Identifier: MIT */
/* gpu.c: a GPU as multiprocessors that work on tiles of products, in waves.
 *
 * A product of M x K by K x N, B times, is cut into tiles of tm x tn results; split-K lets s tiles
 * share the K of one result. With SM multiprocessors, peak p of the element type and efficiency e:
 *
 *   waves  = ceil(B ceil(M/tm) ceil(N/tn) s / SM)
 *   core_s = waves (2 tm tn ceil(K/s) (1 + c (1/tm + 1/tn)) SM / (p e) + fill)
 *   bytes  = operands once + results once + (s > 1: 8 B M N s, partial sums written and read)
 *   time   = the least over tiles and s of max(core_s, bytes / (bandwidth memory_efficiency))
 *
 * c (`tile_cost`) is the loading of operands of a tile in units of its rows and columns, `fill` the
 * start of a wave. s is 1, 2, 4, 8, 16 while K / s >= 128. A convolution is the product of its
 * places, output channels, and input channels times kernel, its gradients are products of the same
 * three sizes, all at p e `conv_efficiency`; with `use_winograd` those of f32 with a 3 x 3 kernel and
 * stride 1 may also be 36 products over tiles of 4 x 4 results (Lavin, Gray, CVPR 2016), whose
 * transformed tiles are written and read. With `software: eager`, convolutions of f32 on units of tf32
 * copy their operands and results once more. With `align`, 16-bit convolutions whose channels are no
 * multiples of it run at the peak of f32: cuDNN did not use matrix units for them before 7.6.3. A
 * recurrent layer runs its steps one by one; each reads the weights again and takes `step` (or
 * `overhead`) beside its product. Other arithmetic runs at `peak_vector`, if given, else at the
 * speed of memory. An attention that is one kernel has tiles of its own: its products run at p e
 * `attention_efficiency`, which covers what it does with scores on the way. Small amounts move slower: with `memory_half` h, b bytes take (b + h) /
 * (bandwidth memory_efficiency), so that h bytes reach half of the speed.
 *
 * The form of the model follows the description of tile and wave quantisation in NVIDIA's "Matrix
 * Multiplication Background User's Guide"; tests/unit/cost/test_gpu.c sets it beside
 * DeepBench. */
#include "models.h"

#include <math.h>

enum { N_SPLITS = 5, LEAST_INNER = 128, WINOGRAD_OUT = 4, WINOGRAD_PRODUCTS = 36 };

static const int tiles[][2] = {
    {256, 256},
    {256, 128},
    {256, 64 },
    {128, 256},
    {128, 128},
    {128, 64 },
    {64,  256},
    {64,  128},
    {64,  64 },
    {64,  32 },
    {32,  64 },
    {32,  32 },
    {128, 32 },
    {32,  128},
};

typedef struct product {
    double m, n, k, count; /* count: independent products of this size */
} product;

/* The device, as products of one element type see it. */
typedef struct engine {
    double flops_per_s, sms, tile_cost, fill_s, bytes_per_s;
    double half_bytes; /* added to what moves at once */
} engine;

static double peak_flops(const weft_design *d)
{
    const double *v = d->value;
    double saved =
        v[WEFT_P_USE_WINOGRAD] > 0 ? 9.0 * WINOGRAD_OUT * WINOGRAD_OUT / WINOGRAD_PRODUCTS : 1;
    double f32 = saved * fmax(v[WEFT_P_PEAK_F32], v[WEFT_P_PEAK_TF32]);

    return fmax(v[WEFT_P_PEAK_VECTOR], fmax(f32, weft_largest_peak(d)));
}

static double tile_s(const engine *g, const product *p, const int tile[2], double split)
{
    double tm = tile[0], tn = tile[1];
    double n_tiles = p->count * ceil(p->m / tm) * ceil(p->n / tn) * split;
    double tile_flops = 2 * tm * tn * ceil(p->k / split) * (1 + g->tile_cost * (1 / tm + 1 / tn));

    return ceil(n_tiles / g->sms) * (tile_flops * g->sms / g->flops_per_s + g->fill_s);
}

/* Seconds of products that also move `bytes`. */
static double product_s(const engine *g, const product *p, double bytes)
{
    double best = INFINITY;

    for (size_t i = 0; i < sizeof tiles / sizeof tiles[0]; i++)
        for (int s = 0; s < N_SPLITS; s++) {
            double split = (double)(1 << s);
            double sums = s > 0 ? 8 * p->count * p->m * p->n * split : 0;
            double moved = bytes + sums + (bytes + sums > 0 ? g->half_bytes : 0);

            if (s > 0 && p->k / split < LEAST_INNER)
                break;
            best = fmin(best, fmax(tile_s(g, p, tiles[i], split), moved / g->bytes_per_s));
        }
    return best;
}

/* Which of the three products of a convolution a layer is (layer.c says how they look), and that
 * product: places, results of each, what is summed. */
typedef struct conv {
    product p;
    double places, channels; /* of the pictures */
    bool is_weight;          /* its gradient: summed over places */
} conv;

static conv conv_of(const weft_layer *l, const weft_sliding *w)
{
    double kernel = (double)w->kernel, m = (double)l->m, n = (double)l->n,
           count = (double)l->groups, area = (double)l->r * (double)l->c,
           sum = (double)l->kh * (double)l->kw, batch = (double)l->batch;

    if (sum == kernel) /* forward */
        return (conv){
            {batch * area, m, n * kernel, count},
            batch * area, n, false
        };
    if (sum == 1) /* gradient of the picture: r is channels with kernel, m places, n filters */
        return (conv){
            {m, area / kernel, n * kernel, count},
            m, n, false
        };
    return (conv){
        {batch * area, m, n * sum, count},
        n * sum, batch, true
    };
}

static bool has_winograd(const weft_design *d, const weft_work_key *k, int i)
{
    return d->value[WEFT_P_USE_WINOGRAD] > 0 && k->type == WEFT_F32 && k->sliding[i].kernel == 9 &&
           k->sliding[i].stride == 1 && k->layer[i].groups == 1;
}

/* Tiles of 4 x 4 places become 36 numbers a channel, in a product each. */
static double winograd_s(const engine *g, const weft_work_key *k, const conv *c, double bytes)
{
    double places = ceil(c->places / (WINOGRAD_OUT * WINOGRAD_OUT));
    product p = c->is_weight ? (product){c->channels, c->p.n, places, WINOGRAD_PRODUCTS}
                             : (product){places, c->p.n, c->channels, WINOGRAD_PRODUCTS};
    double moved = (double)k->element_bytes * WINOGRAD_PRODUCTS * places * (c->p.n + c->channels);

    return product_s(g, &p, bytes) + (moved + g->half_bytes) / g->bytes_per_s;
}

/* Matrix units want channels in multiples of `align`; what has others runs without them. */
static double unaligned_speed(const weft_design *d, const weft_work_key *k, double n, double inner)
{
    const double *v = d->value;
    bool is_half = k->type == WEFT_F16 || k->type == WEFT_BF16;
    double align = v[WEFT_P_ALIGN];

    if (!is_half || v[WEFT_P_PEAK_F32] == 0 || (fmod(n, align) == 0 && fmod(inner, align) == 0))
        return 1;
    return fmin(1, v[WEFT_P_PEAK_F32] / v[weft_peak_place(d, k->type)]);
}

/* Steps of a recurrent layer wait for each other, and each reads the weights again. */
static double steps_s(const engine *g, const weft_design *d, const weft_work_key *k, int i,
                      double bytes)
{
    const weft_layer *l = &k->layer[i];
    double steps = (double)k->steps[i];
    double weights = (double)k->element_bytes * (double)l->groups * (double)l->m * (double)l->n;
    product p = {(double)l->batch * (double)l->r * (double)l->c / steps, (double)l->m,
                 (double)l->n * (double)l->kh * (double)l->kw, (double)l->groups};
    double step = d->value[WEFT_P_STEP] > 0 ? d->value[WEFT_P_STEP] : d->value[WEFT_P_OVERHEAD];

    return steps * (product_s(g, &p, fmax(bytes - weights, 0) / steps + weights) + step) - step;
}

static double conv_s(const engine *g, const weft_design *d, const weft_work_key *k, int i,
                     double bytes)
{
    conv c = conv_of(&k->layer[i], &k->sliding[i]);
    engine slower = *g;
    double direct;

    slower.flops_per_s *=
        d->value[WEFT_P_CONV_EFFICIENCY] * unaligned_speed(d, k, c.p.n, c.channels);
    direct = product_s(&slower, &c.p, bytes);
    return has_winograd(d, k, i) ? fmin(direct, winograd_s(g, k, &c, bytes)) : direct;
}

/* Frameworks that come to one operator after the other keep pictures of 32 bits channel by channel,
 * which matrix units do not take: what such a convolution reads and writes is copied once more. */
static double copied_bytes(const weft_design *d, const weft_work_key *k)
{
    bool is_copied = k->is_eager && k->type == WEFT_F32 && d->value[WEFT_P_USE_TF32] > 0 &&
                     k->n_layers == 1 && k->steps[0] <= 1 && k->sliding[0].kernel > 0;

    return is_copied ? 2 * weft_compulsory_bytes(k) : 0;
}

static double layer_s(const engine *g, const weft_design *d, const weft_work_key *k, int i)
{
    const weft_layer *l = &k->layer[i];
    double bytes = k->n_layers == 1 ? weft_compulsory_bytes(k) : 0; /* else shared by all */
    product p = {(double)l->batch * (double)l->r * (double)l->c, (double)l->m,
                 (double)l->n * (double)l->kh * (double)l->kw, (double)l->groups};

    if (k->steps[i] > 1)
        return steps_s(g, d, k, i, bytes);
    if (k->sliding[i].kernel > 0)
        return conv_s(g, d, k, i, bytes);
    return product_s(g, &p, bytes);
}

static weft_core_cost core_cost(const weft_design *d, const weft_work_key *k)
{
    const double *v = d->value;
    weft_core_cost c = {0, weft_compulsory_bytes(k)};
    engine g = {0,
                v[WEFT_P_SMS],
                v[WEFT_P_TILE_COST],
                v[WEFT_P_FILL],
                v[WEFT_P_BANDWIDTH] * v[WEFT_P_ETA],
                v[WEFT_P_MEMORY_HALF]};

    if (weft_missing_peak(d, k) >= 0)
        return (weft_core_cost){INFINITY, 0};
    if (k->n_layers > 0)
        g.flops_per_s = v[weft_peak_place(d, k->type)] * d->efficiency[k->family];
    if (k->is_attention) {
        c.core_s = k->n_layers > 0 ? (weft_operations(k) - (double)k->flops) /
                                         (g.flops_per_s * v[WEFT_P_ATTENTION])
                                   : 0;
        return c;
    }
    for (int i = 0; i < k->n_layers; i++)
        c.core_s += layer_s(&g, d, k, i);
    c.core_s += copied_bytes(d, k) / g.bytes_per_s;
    c.memory_bytes += copied_bytes(d, k);
    if (v[WEFT_P_PEAK_VECTOR] > 0)
        c.core_s += (double)k->flops / v[WEFT_P_PEAK_VECTOR];
    return c;
}

/* --- the row -------------------------------------------------------------------------------- */

static const weft_param params[] = {
    WEFT_ROW_COUNT("sms", WEFT_P_SMS, "multiprocessors"),
    WEFT_ROWS_OF_PEAKS,
    WEFT_ROW_PEAK("peak_vector", WEFT_P_PEAK_VECTOR, "peak of all other arithmetic; 0: no limit"),
    {"tile_cost",            WEFT_P_TILE_COST,       WEFT_UNIT_NONE,    true,  false, 11, 0,             1e6,
                                                                                      "cost of loading a tile, in rows and columns of it"                        },
    {"fill",                 WEFT_P_FILL,            WEFT_UNIT_SECONDS, false, false, 0,  0,             1e6,
                                                                                      "time before each wave of tiles"                                           },
    {"conv_efficiency",      WEFT_P_CONV_EFFICIENCY, WEFT_UNIT_NONE,    true,  false, 1,  WEFT_POSITIVE, 1,
                                                                                      "speed of convolutions as a part of that of products"                      },
    {"attention_efficiency", WEFT_P_ATTENTION,       WEFT_UNIT_NONE,    true,  false, 1,  WEFT_POSITIVE, 1,
                                                                                      "speed of products inside attention kernels as a part of that of products" },
    {"step",                 WEFT_P_STEP,            WEFT_UNIT_SECONDS, false, false, 0,  0,             1e6,
                                                                                      "time of each step of a recurrent layer beside its product; 0: as overhead"},
    WEFT_ROW_COUNT_OR_1(
        "align", WEFT_P_ALIGN,
        "16-bit convolutions with channels that are no multiples of it run at peak_f32"),
    WEFT_ROW_FLAG("use_winograd", WEFT_P_USE_WINOGRAD,
                  "1: 3 x 3 convolutions of f32 are transformed"),
    WEFT_ROW_BANDWIDTH,
    WEFT_ROW_ETA,
    WEFT_ROW_MEMORY_HALF,
    WEFT_ROW_OVERHEAD,
    WEFT_ROWS_OF_ALL,
};

const weft_device_row weft_device_gpu = {
    .name = "gpu",
    WEFT_PARAMS(params),
    .core_cost = core_cost,
    .peak_flops = peak_flops,
    .missing = weft_missing_peak,
};
