/* SPDX-License-Identifier: MIT */
/* systolic.c: arrays of multipliers that pass data from neighbour to neighbour.
 *
 * A layer as a matrix product: M = batch r c, K = n kh kw, N = m; groups are products of their own.
 * On R x C units (dataflows WS, OS, IS) a product takes F folds of T streamed rows:
 *
 *   dataflow                F                      T      stays in the units
 *   WS weight stationary    ceil(K/R) ceil(N/C)    M      R x C weights
 *   OS output stationary    ceil(M/R) ceil(N/C)    K      R x C sums
 *   IS input stationary     ceil(K/R) ceil(M/C)    N      R x C inputs
 *
 *   cycles = (F - 1) max(T, R) + T + 2 R + C - 2                                        [cycles]
 *
 * 2 R + C - 2 is fill, skew and drain, paid once: a unit has a second register, so that the next
 * fold is loaded (WS, IS) or the last one leaves (OS) while the array computes; that takes R
 * cycles, hence max(T, R). Folds of all groups follow each other without a gap. With F = 1 this is
 * the form of SCALE-Sim v2 (Samajdar et al., arXiv 1811.02883), F (T + 2 R + C - 2) without
 * overlap. The test steps such an array cycle by cycle and finds the same count. BEST takes the
 * fewest cycles of the three.
 *
 * SIMD (after Wei et al., DAC 2017, and AutoSA): rows over m, columns over c or r, whichever is
 * better, `vec` multipliers of a unit over n; one fill and drain:
 *
 *   cycles = groups batch ceil(m/rows) ceil(c/cols) ceil(n/vec) r kh kw + rows + cols   [cycles]
 *
 * and for matrix products also n over the columns, with a tree of adders behind them:
 *
 *   cycles = groups batch ceil(m/rows) ceil(n/(vec cols)) r + ceil(log2 cols) + rows + cols
 *
 * Several cores: groups, places (batch r c, or batch and r) and m are cut g_g x g_p x g_m with
 * powers of two or as many parts as there are cores left; the best cut counts, so one more core
 * never costs time. All cores read and write the shared buffer through one port; what several of
 * them need passes it once for each. So cuts may leave cores idle: as the bytes of a cut are those
 * of a part times the number of parts, fewer parts pass fewer bytes, and fewer along m are tried
 * while the port binds. Powers of two more cores never cost time, other numbers may. Cutting never
 * lessens the bytes: folds and sums add up, operands are read again.
 * Non-arithmetic operators cost memory traffic only. */
#include "arrays.h"

#include <math.h>

double weft_layer_macs(const weft_layer *l)
{
    return (double)l->batch * (double)l->groups * (double)l->m * (double)l->n * (double)l->r *
           (double)l->c * (double)l->kh * (double)l->kw;
}

double weft_layers_s(const weft_design *d, const weft_work_key *k)
{
    double cycles = 0;

    for (int i = 0; i < k->n_layers; i++)
        cycles += weft_design_cycles(d, &k->layer[i]);
    return cycles > 0 ? cycles / d->value[WEFT_P_CLOCK] : 0;
}

/* --- matrix products */

/* `repeats` products of m x k by k x n. */
typedef struct product {
    double m, n, k, repeats;
} product;

static double folded(const weft_array *a, double folds, double streamed)
{
    return (folds - 1) * fmax(streamed, a->rows) + streamed + 2 * a->rows + a->cols - 2;
}

/* Partial sums in the shared buffer have 4 bytes (set); each fold over k reads and writes them. */
enum { SUM_BYTES = 4 };

/* Bytes between the shared buffer and the core. WS: WHAM's public code; OS and IS alike: what
 * streams is read once for each fold across it, what stays once, sums as said above. */
static double port_bytes(const weft_array *a, const product *p, weft_dataflow dataflow)
{
    double left = a->element_bytes * p->m * p->k, right = a->element_bytes * p->k * p->n;
    double sums = 2 * SUM_BYTES * p->m * p->n * weft_n_tiles(p->k, a->rows);

    switch (dataflow) {
    case WEFT_DATAFLOW_OS:
        return left * weft_n_tiles(p->n, a->cols) + right * weft_n_tiles(p->m, a->rows) +
               SUM_BYTES * p->m * p->n;
    case WEFT_DATAFLOW_IS:
        return left + right * weft_n_tiles(p->m, a->cols) + sums;
    default:
        return left * weft_n_tiles(p->n, a->cols) + right + sums;
    }
}

/* What one core of `parts` takes; *is_shared is set if the port of all of them binds. */
static double flow_cycles(const weft_array *a, const product *p, double parts,
                          weft_dataflow dataflow, bool *is_shared)
{
    double k_folds = weft_n_tiles(p->k, a->rows), cycles, bytes, shared;

    switch (dataflow) {
    case WEFT_DATAFLOW_OS:
        cycles =
            folded(a, p->repeats * weft_n_tiles(p->m, a->rows) * weft_n_tiles(p->n, a->cols), p->k);
        break;
    case WEFT_DATAFLOW_IS:
        cycles = folded(a, p->repeats * k_folds * weft_n_tiles(p->m, a->cols), p->n);
        break;
    default:
        cycles = folded(a, p->repeats * k_folds * weft_n_tiles(p->n, a->cols), p->m);
        break;
    }
    if (isinf(a->port_bytes))
        return cycles;
    bytes = p->repeats * port_bytes(a, p, dataflow);
    cycles = fmax(cycles, bytes / a->port_bytes);
    shared = parts * bytes / a->shared_bytes;
    *is_shared = *is_shared || shared > cycles;
    return fmax(cycles, shared);
}

static bool is_empty(const product *p)
{
    return !(p->m > 0 && p->n > 0 && p->k > 0 && p->repeats > 0);
}

static double product_cycles(const weft_array *a, const product *p, double parts, bool *is_shared)
{
    double best = INFINITY;

    if (is_empty(p))
        return 0;
    if (a->dataflow != WEFT_DATAFLOW_BEST)
        return flow_cycles(a, p, parts, a->dataflow, is_shared);
    for (int flow = WEFT_DATAFLOW_WS; flow <= WEFT_DATAFLOW_IS; flow++)
        best = weft_less(best, flow_cycles(a, p, parts, (weft_dataflow)flow, is_shared));
    return best;
}

/* --- SIMD */

static double simd_cycles(const weft_array *a, const weft_layer *l)
{
    double r = (double)l->r, c = (double)l->c, n = (double)l->n;
    double taps = (double)l->kh * (double)l->kw;
    double outer = (double)l->groups * (double)l->batch * weft_n_tiles((double)l->m, a->rows);
    double inner = weft_n_tiles(n, a->vec) * taps;
    double cycles =
        outer * inner * weft_less(weft_n_tiles(c, a->cols) * r, weft_n_tiles(r, a->cols) * c);

    if (l->c == 1 && taps == 1)
        cycles =
            weft_less(cycles, outer * weft_n_tiles(n, a->vec * a->cols) * r + ceil(log2(a->cols)));
    return cycles > 0 ? cycles + a->rows + a->cols : 0;
}

/* --- cores */

/* How a layer is cut over cores: number of parts. */
typedef struct cut {
    double groups, places, m;
} cut;

static int64_t part(int64_t whole, double parts)
{
    double share = weft_n_tiles((double)whole, parts);

    return share < (double)whole ? (int64_t)share : whole;
}

/* 1, 2, 4, .. and `most` itself, then beyond it. */
static double next_parts(double parts, double most)
{
    return parts < most ? weft_less(2 * parts, most) : most + 1;
}

/* Places are cut in two ways at once: images and rows. */
static double simd_part(const weft_array *a, const weft_layer *l, cut by)
{
    double best = INFINITY, images = 1;

    while (images <= by.places) {
        weft_layer own = *l;

        own.groups = part(l->groups, by.groups);
        own.batch = part(l->batch, images);
        own.r = part(l->r, floor(by.places / images));
        own.m = part(l->m, by.m);
        best = weft_less(best, simd_cycles(a, &own));
        images = next_parts(images, by.places);
    }
    return best;
}

static product product_of(const weft_layer *l)
{
    return (product){.m = (double)l->batch * (double)l->r * (double)l->c,
                     .n = (double)l->m,
                     .k = (double)l->n * (double)l->kh * (double)l->kw,
                     .repeats = (double)l->groups};
}

static double product_part(const weft_array *a, const weft_layer *l, cut by, bool *is_shared)
{
    product all = product_of(l), own = {.m = weft_n_tiles(all.m, by.places),
                                        .n = weft_n_tiles(all.n, by.m),
                                        .k = all.k,
                                        .repeats = weft_n_tiles(all.repeats, by.groups)};
    double parts = 1;

    if (!isinf(a->shared_bytes) && !is_empty(&own)) /* cores at work */
        parts = weft_n_tiles(all.m, own.m) * weft_n_tiles(all.n, own.n) *
                weft_n_tiles(all.repeats, own.repeats);
    return product_cycles(a, &own, parts, is_shared);
}

/* With by.m parts along m, or fewer if the port of all cores binds. */
static double cut_cycles(const weft_array *a, const weft_layer *l, cut by)
{
    double best = INFINITY;
    bool is_shared = true;

    if (a->dataflow == WEFT_DATAFLOW_SIMD)
        return simd_part(a, l, by);
    for (; by.m >= 1 && is_shared; by.m = floor(by.m / 2)) {
        is_shared = false;
        best = weft_less(best, product_part(a, l, by, &is_shared));
    }
    return best;
}

/* The best way to give each of `groups` parts to as many cores as are left. */
static double best_cut(const weft_array *a, const weft_layer *l, double groups, double left)
{
    double places = (double)l->batch * (double)l->r * (double)l->c;
    double best = INFINITY, p = 1;

    while (p <= left) {
        best = weft_less(best, cut_cycles(a, l, (cut){groups, p, floor(left / p)}));
        p = p >= places ? INFINITY : next_parts(p, left); /* parts of one: more would only idle */
    }
    return best;
}

double weft_array_cycles(const weft_array *a, const weft_layer *l)
{
    double best = INFINITY, cores = weft_less(a->cores, 0x1p40), g = 1;

    while (g <= cores) {
        best = weft_less(best, best_cut(a, l, g, floor(cores / g)));
        g = g >= (double)l->groups ? INFINITY : next_parts(g, cores);
    }
    return best;
}

double weft_array_port_bytes(const weft_array *a, const weft_layer *l)
{
    product p = product_of(l);
    double best = INFINITY;

    if (is_empty(&p))
        return 0;
    if (a->dataflow != WEFT_DATAFLOW_BEST)
        return p.repeats * port_bytes(a, &p, a->dataflow);
    for (int flow = WEFT_DATAFLOW_WS; flow <= WEFT_DATAFLOW_IS; flow++)
        best = weft_less(best, p.repeats * port_bytes(a, &p, (weft_dataflow)flow));
    return best;
}

/* --- the model */

weft_array weft_array_of(const weft_design *d)
{
    return (weft_array){.rows = weft_count_of(d, WEFT_P_ROWS),
                        .cols = weft_count_of(d, WEFT_P_COLS),
                        .vec = weft_count_of(d, WEFT_P_VEC),
                        .cores = weft_count_of(d, WEFT_P_CORES),
                        .dataflow = (weft_dataflow)(int)d->value[WEFT_P_DATAFLOW],
                        .port_bytes = INFINITY,
                        .shared_bytes = INFINITY};
}

static double layer_cycles(const weft_design *d, const weft_layer *l)
{
    weft_array a = weft_array_of(d);

    return weft_array_cycles(&a, l);
}

static weft_core_cost core_cost(const weft_design *d, const weft_work_key *k)
{
    bool is_gemm = (int)d->value[WEFT_P_DATAFLOW] != WEFT_DATAFLOW_SIMD;

    return (weft_core_cost){weft_layers_s(d, k),
                            weft_key_traffic(k, is_gemm ? d->value[WEFT_P_SRAM] : 0)};
}

/* --- the row -------------------------------------------------------------------------------- */

static double peak_flops(const weft_design *d)
{
    const double *v = d->value;

    return 2 * v[WEFT_P_ROWS] * v[WEFT_P_COLS] * v[WEFT_P_VEC] * v[WEFT_P_CORES] * v[WEFT_P_CLOCK];
}

static const weft_param params[] = {
    WEFT_ROW_COUNT("rows", WEFT_P_ROWS, "rows of the array"),
    WEFT_ROW_COUNT("cols", WEFT_P_COLS, "columns of the array"),
    WEFT_ROW_COUNT_OR_1("vec", WEFT_P_VEC, "multipliers of a cell, over input channels"),
    WEFT_ROW_COUNT_OR_1("cores", WEFT_P_CORES, "arrays of the device"),
    WEFT_ROW_DATAFLOW,
    WEFT_ROW_CLOCK,
    WEFT_ROW_BANDWIDTH,
    WEFT_ROW_ETA,
    WEFT_ROW_SRAM(false),
    WEFT_ROW_OVERHEAD,
    WEFT_ROWS_OF_ALL,
};

const weft_device_row weft_device_systolic = {
    .name = "systolic",
    WEFT_PARAMS(params),
    .core_cost = core_cost,
    .peak_flops = peak_flops,
    .cycles = layer_cycles,
};
