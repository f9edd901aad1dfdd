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
 * places, output channels, and input channels times kernel; with `winograd` one of f32 with a 3 x 3
 * kernel and stride 1 may also be 36 products over tiles of 4 x 4 results (Lavin, Gray, CVPR 2016),
 * whose transformed tiles are written and read. A recurrent layer runs its steps one by one, each
 * with its own launch. Other arithmetic runs at `peak_vector`, if given, else at the speed of
 * memory.
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
} engine;

/* Parameter that holds the peak of products of a type, or -1. */
static int peak_place(const weft_design *d, weft_dtype type)
{
    switch (type) {
    case WEFT_F64:
        return WEFT_P_PEAK_F64;
    case WEFT_F32:
        return d->value[WEFT_P_USE_TF32] > 0 ? WEFT_P_PEAK_TF32 : WEFT_P_PEAK_F32;
    case WEFT_F16:
        return WEFT_P_PEAK_F16;
    case WEFT_BF16:
        return WEFT_P_PEAK_BF16;
    case WEFT_F8E4M3FN:
    case WEFT_F8E4M3FNUZ:
    case WEFT_F8E5M2:
    case WEFT_F8E5M2FNUZ:
        return WEFT_P_PEAK_FP8;
    case WEFT_I8:
    case WEFT_U8:
    case WEFT_I32: /* results of integer products */
        return WEFT_P_PEAK_INT8;
    default:
        return -1;
    }
}

static int missing_peak(const weft_design *d, const weft_work_key *k)
{
    int place = peak_place(d, k->type);

    if (k->n_layers == 0 || place < 0)
        return k->n_layers > 0 ? WEFT_P_PEAK_F32 : -1;
    return d->value[place] > 0 ? -1 : place;
}

static double peak_flops(const weft_design *d)
{
    const double *v = d->value;
    double saved =
        v[WEFT_P_USE_WINOGRAD] > 0 ? 9.0 * WINOGRAD_OUT * WINOGRAD_OUT / WINOGRAD_PRODUCTS : 1;
    double peak =
        fmax(v[WEFT_P_PEAK_VECTOR], saved * fmax(v[WEFT_P_PEAK_F32], v[WEFT_P_PEAK_TF32]));

    for (int i = WEFT_P_PEAK_F64; i <= WEFT_P_PEAK_INT8; i++)
        peak = fmax(peak, v[i]);
    return peak;
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

            if (s > 0 && p->k / split < LEAST_INNER)
                break;
            best = fmin(best, fmax(tile_s(g, p, tiles[i], split), (bytes + sums) / g->bytes_per_s));
        }
    return best;
}

/* The three products of a convolution, whichever of them a layer is: M places, N filters, K summed. */
static product conv_product(const weft_layer *l, const weft_sliding *w)
{
    double kernel = (double)w->kernel;

    if (l->kh * l->kw == 1 && l->r > 0 && l->m % w->kernel == 0 && l->c == 1 && l->batch == 1)
        return (product){(double)l->r, (double)l->m / kernel, (double)l->n * kernel,
                         (double)l->groups}; /* gradient of the picture */
    return (product){(double)l->batch * (double)l->r * (double)l->c, (double)l->m,
                     (double)l->n * (double)l->kh * (double)l->kw, (double)l->groups};
}

static bool has_winograd(const weft_design *d, const weft_work_key *k, int i)
{
    const weft_layer *l = &k->layer[i];

    return d->value[WEFT_P_USE_WINOGRAD] > 0 && k->type == WEFT_F32 && k->window[i].kernel == 9 &&
           k->window[i].stride == 1 && l->groups == 1;
}

/* Tiles of 4 x 4 places become 36 numbers a channel: so many products with a ninth of the summed
 * kernel, or, for the gradient of weights, a ninth of its places. */
static double winograd_s(const engine *g, const weft_work_key *k, const product *p, double bytes)
{
    double per_tile = WINOGRAD_OUT * WINOGRAD_OUT, all = p->m * p->n * p->k / 9;
    bool is_weight = p->k > p->m; /* summed over places */
    double places = ceil((is_weight ? p->k : p->m) / per_tile);
    double channels = is_weight ? p->m / 9 : p->k / 9;
    product q = is_weight ? (product){channels, p->n, places, WINOGRAD_PRODUCTS}
                          : (product){places, p->n, channels, WINOGRAD_PRODUCTS};
    double moved = (double)k->element_bytes * WINOGRAD_PRODUCTS * places * (p->n + channels);

    (void)all;
    return product_s(g, &q, bytes) + moved / g->bytes_per_s;
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

static double layer_s(const engine *g, const weft_design *d, const weft_work_key *k, int i)
{
    double bytes = k->n_layers == 1 ? weft_compulsory_bytes(k) : 0; /* else shared by all */
    weft_sliding none = {1, 1};
    bool is_conv = k->window[i].kernel > 0;
    product p = conv_product(&k->layer[i], is_conv ? &k->window[i] : &none);
    engine conv = *g;
    double direct;

    if (k->steps[i] > 1)
        return steps_s(g, d, k, i, bytes);
    if (is_conv)
        conv.flops_per_s *= d->value[WEFT_P_CONV_EFFICIENCY];
    direct = product_s(&conv, &p, bytes);
    return has_winograd(d, k, i) ? fmin(direct, winograd_s(g, k, &p, bytes)) : direct;
}

static weft_core_cost core_cost(const weft_design *d, const weft_work_key *k)
{
    const double *v = d->value;
    weft_core_cost c = {0, weft_compulsory_bytes(k)};
    engine g = {0, v[WEFT_P_SMS], v[WEFT_P_TILE_COST], v[WEFT_P_FILL],
                v[WEFT_P_BANDWIDTH] * v[WEFT_P_ETA]};

    if (missing_peak(d, k) >= 0)
        return (weft_core_cost){INFINITY, 0};
    if (k->n_layers > 0)
        g.flops_per_s = v[peak_place(d, k->type)] * d->efficiency[k->family];
    for (int i = 0; i < k->n_layers; i++)
        c.core_s += layer_s(&g, d, k, i);
    if (v[WEFT_P_PEAK_VECTOR] > 0)
        c.core_s += (double)k->flops / v[WEFT_P_PEAK_VECTOR];
    return c;
}

/* --- the row -------------------------------------------------------------------------------- */

static const weft_param params[] = {
    WEFT_ROW_COUNT("sms", WEFT_P_SMS, "multiprocessors"),
    WEFT_ROW_PEAK("peak_f64", WEFT_P_PEAK_F64, "peak of f64 products"),
    WEFT_ROW_PEAK("peak_f32", WEFT_P_PEAK_F32, "peak of f32 products"),
    WEFT_ROW_PEAK("peak_tf32", WEFT_P_PEAK_TF32, "peak of f32 products run as tf32"),
    WEFT_ROW_PEAK("peak_f16", WEFT_P_PEAK_F16, "peak of f16 products"),
    WEFT_ROW_PEAK("peak_bf16", WEFT_P_PEAK_BF16, "peak of bf16 products"),
    WEFT_ROW_PEAK("peak_fp8", WEFT_P_PEAK_FP8, "peak of 8-bit floating-point products"),
    WEFT_ROW_PEAK("peak_int8", WEFT_P_PEAK_INT8, "peak of 8-bit integer products"),
    WEFT_ROW_PEAK("peak_vector", WEFT_P_PEAK_VECTOR, "peak of all other arithmetic; 0: no limit"),
    {"tile_cost", WEFT_P_TILE_COST, WEFT_UNIT_NONE,    true,  false, 11, 0, 1e6,
                                                                                      "cost of loading a tile, in rows and columns of it"},
    {"fill",      WEFT_P_FILL,      WEFT_UNIT_SECONDS, false, false, 0,  0, 1e6,
                                                                                      "time before each wave of tiles"                   },
    {"conv_efficiency", WEFT_P_CONV_EFFICIENCY, WEFT_UNIT_NONE, true, false, 1, WEFT_POSITIVE, 1,
     "speed of convolutions as a part of that of products"},
    {"step", WEFT_P_STEP, WEFT_UNIT_SECONDS, false, false, 0, 0, 1e6,
     "time of each step of a recurrent layer beside its product; 0: as overhead"},
    WEFT_ROW_FLAG("use_tf32", WEFT_P_USE_TF32, "1: f32 products run as tf32"),
    WEFT_ROW_FLAG("use_winograd", WEFT_P_USE_WINOGRAD,
                  "1: 3 x 3 convolutions of f32 are transformed"),
    WEFT_ROW_BANDWIDTH,
    WEFT_ROW_ETA,
    WEFT_ROW_OVERHEAD,
    WEFT_ROWS_OF_ALL,
};

const weft_device_row weft_device_gpu = {
    .name = "gpu",
    WEFT_PARAMS(params),
    .core_cost = core_cost,
    .peak_flops = peak_flops,
    .missing = missing_peak,
};
