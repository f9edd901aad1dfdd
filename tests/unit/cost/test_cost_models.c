/* SPDX-License-Identifier: MIT */
/* Models of arrays: layers computed by hand, traffic against all tilings, and relations that hold
 * for every layer. Systolic cycles are counted one by one in test_systolic.c. */

#include "check.h"

#include "arrays.h"

/* CHECK_NEAR for values that are written as integer arithmetic. */
#define CHECK_IS(value, expected) CHECK_NEAR(value, (double)(expected))

/* --- helpers --------------------------------------------------------------------------------- */

static weft_design design_of(weft_device_model model)
{
    weft_design d = {.name = "d", .model = model};

    d.value[WEFT_P_BANDWIDTH] = 64e9;
    d.value[WEFT_P_CLOCK] = 200e6;
    d.value[WEFT_P_ETA] = 1;
    for (int f = 0; f < WEFT_N_FAMILIES; f++)
        d.efficiency[f] = 1;
    return d;
}

/* A GEMM M x N x K on one array. */
static double systolic_cycles(int64_t m, int64_t n, int64_t k, int64_t rows, int64_t cols,
                              weft_dataflow dataflow)
{
    weft_array a = {(double)rows, (double)cols, 1, 1, dataflow, INFINITY, 0, INFINITY};
    weft_layer l = {1, 1, n, k, m, 1, 1, 1, 1};

    return weft_array_cycles(&a, &l);
}

static double gemm_traffic(int64_t m, int64_t n, int64_t k, int element_bytes, double sram_bytes)
{
    weft_layer l = {1, 1, n, k, m, 1, 1, 1, 1};

    return weft_layer_traffic(&l, element_bytes, sram_bytes);
}

static weft_design tiled(int tm, int tn, int tr, int tc, int port)
{
    weft_design d = design_of(WEFT_TILED);

    d.value[WEFT_P_TM] = tm;
    d.value[WEFT_P_TN] = tn;
    d.value[WEFT_P_TR] = tr;
    d.value[WEFT_P_TC] = tc;
    d.value[WEFT_P_PORT_IN] = d.value[WEFT_P_PORT_WEIGHT] = d.value[WEFT_P_PORT_OUT] = port;
    return d;
}

static weft_design systolic(int rows, int cols, weft_dataflow dataflow)
{
    weft_design d = design_of(WEFT_SYSTOLIC);

    d.value[WEFT_P_ROWS] = rows;
    d.value[WEFT_P_COLS] = cols;
    d.value[WEFT_P_VEC] = 1;
    d.value[WEFT_P_CORES] = 1;
    d.value[WEFT_P_DATAFLOW] = (double)dataflow;
    return d;
}

static weft_design simd(int rows, int cols, int vec)
{
    weft_design d = systolic(rows, cols, WEFT_DATAFLOW_SIMD);

    d.value[WEFT_P_VEC] = vec;
    return d;
}

static weft_design winograd(int tile, int pm, int pn)
{
    weft_design d = design_of(WEFT_WINOGRAD);

    d.value[WEFT_P_TILE] = tile;
    d.value[WEFT_P_PM] = pm;
    d.value[WEFT_P_PN] = pn;
    d.value[WEFT_P_DEPTH] = 100;
    return d;
}

static weft_design vector(int lanes, int cores)
{
    weft_design d = design_of(WEFT_VECTOR);

    d.value[WEFT_P_LANES] = lanes;
    d.value[WEFT_P_CORES] = cores;
    return d;
}

static weft_design accelerator(int side, int cores, int lanes, int vector_cores, double sram_bytes)
{
    weft_design d = systolic(side, side, WEFT_DATAFLOW_BEST);

    d.model = WEFT_TEMPLATE;
    d.value[WEFT_P_CORES] = cores;
    d.value[WEFT_P_LANES] = lanes;
    d.value[WEFT_P_VECTOR_CORES] = vector_cores;
    d.value[WEFT_P_SRAM] = sram_bytes;
    return d;
}

static weft_layer conv(int64_t m, int64_t n, int64_t side, int64_t kernel, int64_t stride)
{
    return (weft_layer){1, 1, m, n, side, side, kernel, kernel, stride};
}

static weft_layer gemm(int64_t m, int64_t n, int64_t k)
{
    return (weft_layer){1, 1, n, k, m, 1, 1, 1, 1};
}

/* The key of one layer in 2-byte elements: operands and results once. */
static weft_work_key key_of(const weft_layer *l)
{
    weft_work_key k = {.family = WEFT_FUSE_TENSOR, .n_layers = 1, .layer = {*l}};
    int64_t high = (l->r - 1) * l->stride + l->kh, wide = (l->c - 1) * l->stride + l->kw;

    k.element_bytes = 2;
    k.read_bytes = 2 * l->groups * (l->m * l->n * l->kh * l->kw + l->batch * l->n * high * wide);
    k.write_bytes = 2 * l->groups * l->batch * l->m * l->r * l->c;
    return k;
}

static int64_t between(weft_rng *rng, int low, int high)
{
    return low + weft_rng_below(rng, high - low + 1);
}

static weft_layer random_layer(weft_rng *rng)
{
    weft_layer l = {.batch = between(rng, 1, 3),
                    .groups = between(rng, 0, 3) ? 1 : between(rng, 2, 40),
                    .m = between(rng, 1, 200),
                    .n = between(rng, 1, 200),
                    .r = between(rng, 1, 40),
                    .c = between(rng, 1, 40),
                    .kh = between(rng, 1, 7),
                    .kw = between(rng, 1, 7),
                    .stride = between(rng, 1, 2)};

    if (between(rng, 0, 3) == 0) /* depthwise */
        l.m = l.n = 1;
    if (between(rng, 0, 3) == 0) /* a matrix product */
        l.batch = l.c = l.kh = l.kw = l.stride = 1;
    return l;
}

static weft_design random_design(weft_rng *rng)
{
    int rows = (int)between(rng, 1, 40), cols = (int)between(rng, 1, 40);
    weft_design d;

    switch (weft_rng_below(rng, 6)) {
    case 0:
        return tiled(rows, cols, (int)between(rng, 1, 20), (int)between(rng, 1, 20),
                     (int)between(rng, 1, 32));
    case 1:
        d = simd(rows, cols, (int)between(rng, 1, 16));
        d.value[WEFT_P_CORES] = (double)between(rng, 1, 9);
        return d;
    case 2:
        return winograd((int)between(rng, 3, 8), (int)between(rng, 1, 16),
                        (int)between(rng, 1, 16));
    case 3:
        return vector((int)between(rng, 1, 300), (int)between(rng, 1, 8));
    case 4:
        return accelerator(rows, (int)between(rng, 1, 9), cols, (int)between(rng, 1, 4),
                           (double)between(rng, 1000, 4000000));
    default:
        d = systolic(rows, cols, (weft_dataflow)weft_rng_below(rng, 4));
        d.value[WEFT_P_CORES] = (double)between(rng, 1, 9);
        d.value[WEFT_P_SRAM] = (double)between(rng, 0, 4000000);
        return d;
    }
}

/* Multiply-accumulates a cycle that no layer exceeds. */
static double peak_macs(const weft_design *d)
{
    const double *v = d->value;
    double made = v[WEFT_P_TILE] - 2;

    switch (d->model) {
    case WEFT_TILED:
        return v[WEFT_P_TM] * v[WEFT_P_TN];
    case WEFT_WINOGRAD: /* 9 of a kernel for each output of a tile, or a whole tile of points */
        return fmax(9 * made * made, v[WEFT_P_TILE] * v[WEFT_P_TILE]) * v[WEFT_P_PM] * v[WEFT_P_PN];
    case WEFT_VECTOR:
        return v[WEFT_P_LANES] * v[WEFT_P_CORES];
    default:
        return v[WEFT_P_ROWS] * v[WEFT_P_COLS] * v[WEFT_P_VEC] * v[WEFT_P_CORES];
    }
}

/* --- systolic arrays ------------------------------------------------------------------------- */

TEST(systolic_cycles_by_hand)
{
    /* 128 x 128 array, M = 512, N = 256, K = 300: WS 3 * 2 folds of 512: 5 * 512 + 512 + 382;
     * OS 4 * 2 folds of 300: 7 * 300 + 300 + 382; IS 3 * 4 folds of 256: 11 * 256 + 256 + 382 */
    CHECK_IS(systolic_cycles(512, 256, 300, 128, 128, WEFT_DATAFLOW_WS), 3454);
    CHECK_IS(systolic_cycles(512, 256, 300, 128, 128, WEFT_DATAFLOW_OS), 2782);
    CHECK_IS(systolic_cycles(512, 256, 300, 128, 128, WEFT_DATAFLOW_IS), 3454);
    CHECK_IS(systolic_cycles(512, 256, 300, 128, 128, WEFT_DATAFLOW_BEST), 2782);
    /* few streamed rows: a fold cannot be shorter than the loading of the next: 3 * 8 + 2 + 22 */
    CHECK_IS(systolic_cycles(2, 32, 8, 8, 8, WEFT_DATAFLOW_WS), 48);
    CHECK_IS(systolic_cycles(0, 32, 8, 8, 8, WEFT_DATAFLOW_WS), 0);
    /* sizes beyond any network do not overflow */
    CHECK(isfinite(systolic_cycles(INT64_MAX, INT64_MAX, INT64_MAX, 1, 1, WEFT_DATAFLOW_BEST)));
}

TEST(cores_share_a_layer)
{
    weft_design d = systolic(8, 8, WEFT_DATAFLOW_WS);
    weft_layer l = gemm(64, 32, 16);
    double before;

    CHECK_IS(weft_design_cycles(&d, &l), 7 * 64 + 64 + 22); /* 2 * 4 folds of 64 rows */
    d.value[WEFT_P_CORES] = 4;
    CHECK_IS(weft_design_cycles(&d, &l), 64 + 64 + 22); /* a fourth of the columns each: 2 folds */
    l = (weft_layer){1, 6, 8, 8, 100, 1, 1, 1, 1};
    /* 6 groups on 4 cores: 3 of half the rows each; 2 whole ones would be 100 + 100 + 22 */
    CHECK_IS(weft_design_cycles(&d, &l), 2 * 50 + 50 + 22);
    before = weft_design_cycles(&d, &l);
    for (int cores = 5; cores < 40; cores++) {
        d.value[WEFT_P_CORES] = cores;
        CHECK(weft_design_cycles(&d, &l) <= before);
        before = weft_design_cycles(&d, &l);
    }
}

/* --- convolution engines --------------------------------------------------------------------- */

typedef struct anchor {
    weft_layer layer;
    double tiled, systolic, winograd;
} anchor;

/* tiled 64,7,7,14 with 16 elements a cycle; 11 x 13 x 8; n = 6, 8 x 2. First row by hand:
 * tiled  882 = 9 * 7 * 14 a tile, 10 * 882 * (8 * 4 * 1), + 392 + 882
 * systolic 6 * 5 * 8 * 56 * 9 + 11 + 13;   winograd 14 * 14 * 8 * 32 + 100 */
TEST(engines_reach_their_anchors)
{
    weft_design a = tiled(64, 7, 7, 14, 16), b = simd(11, 13, 8), c = winograd(6, 8, 2);
    anchor rows[] = {
        {conv(64, 64,     56,    3,              1), 283514, 120984, 50276},
        {conv(128, 64, 28, 3,               2), 142394, 72600, 100452},
        {conv(256,     64,         56,             1,           1), 125930, 53784, 102500},
        {conv(64,  3,  112,       7,              2), 619850, 296376, 451684},
        {{1, 1, 100, 50, 30, 31, 3, 3, 1},     212954,  56724,20900},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CHECK_IS(weft_design_cycles(&a, &rows[i].layer), rows[i].tiled);
        CHECK_IS(weft_design_cycles(&b, &rows[i].layer), rows[i].systolic);
        CHECK_IS(weft_design_cycles(&c, &rows[i].layer), rows[i].winograd);
    }
}

/* tComp 1521, tW 1152, tO 676; tI = 32 * 13 * 13 / 2 = 2704, with halo 32 * 15 * 15 / 2 = 3600. */
TEST(tiled_engine_in_both_forms)
{
    weft_design d = tiled(8, 32, 13, 13, 2);
    weft_layer l = conv(128, 192, 13, 3, 1);

    l.batch = 2;
    CHECK_IS(weft_tiled_cycles(&d, &l, WEFT_TILED_PUBLIC), 2 * 16 * (6 * 2704));
    CHECK_IS(weft_tiled_cycles(&d, &l, WEFT_TILED_PUBLIC), 519168);
    CHECK_IS(weft_tiled_cycles(&d, &l, WEFT_TILED_FULL), 2 * 16 * (6 * 3600) + 676 + 3600);
    CHECK_IS(weft_design_cycles(&d, &l), 695476);
    l.groups = 3; /* one drain for all groups */
    CHECK_IS(weft_design_cycles(&d, &l), 3 * 2 * 16 * (6 * 3600) + 676 + 3600);
}

/* H2H's first device: 86.6 GOP/s, 370 MHz, 512 bits of 32-bit words, tiles 32, 32, 16, 14. Layer
 * (64, 3, 112): 7 * 8 * 2 tiles of tW + tI + tC + tO. */
TEST(serial_engine_by_hand)
{
    weft_design d = tiled(32, 32, 16, 14, 16);
    weft_layer l = conv(64, 3, 112, 3, 1);
    double clock = 370e6, flops = 86.6e9;
    double w = 32 * 32 * 9 * 32 / (512 * clock), in = 32 * 16 * 16 * 32 / (512 * clock);
    double out = 32 * 16 * 14 * 32 / (512 * clock), sums = 2.0 * 16 * 14 * 32 * 32 * 9 / flops;

    d.value[WEFT_P_CLOCK] = clock;
    d.value[WEFT_P_FLOPS] = flops;
    d.value[WEFT_P_SERIAL] = 1;
    CHECK_IS(weft_design_cycles(&d, &l) / clock, 7 * 8 * 2 * (w + in + sums + out));
    l = conv(64, 64, 56, 3, 1); /* 4 * 4 * 2 tiles, two steps over the input channels */
    CHECK_IS(weft_design_cycles(&d, &l) / clock, 4 * 4 * 2 * (2 * (w + in + sums) + out));
    d.value[WEFT_P_FLOPS] = 0; /* then a multiplier works every cycle: 9 * 16 * 14 */
    CHECK_IS(weft_design_cycles(&d, &l), 4 * 4 * 2 * (2 * (576 + 512 + 9.0 * 16 * 14) + 448));
}

TEST(matrix_products_on_a_simd_array)
{
    weft_design d = simd(11, 13, 8);
    weft_layer l = gemm(1, 1000, 2048);

    /* columns along n: ceil(1000/11) * ceil(2048/104) + ceil(log2 13) + 24; else 91 * 256 */
    CHECK_IS(weft_design_cycles(&d, &l), 91 * 20 + 4 + 24);
    l = gemm(130, 22, 16); /* columns along the rows: 2 * 10 * 2, against 2 * 1 * 130 */
    CHECK_IS(weft_design_cycles(&d, &l), 2 * 10 * 2 + 24);
}

TEST(kernels_of_other_sizes_on_winograd)
{
    weft_design d = winograd(6, 8, 2);
    weft_layer l = {1, 1, 16, 4, 17, 17, 1, 7, 1};

    CHECK_IS(weft_design_cycles(&d, &l), 1 * 3 * (5 * 5) * 2 * 2 + 100); /* 1 x 7: 3 pieces */
    l = (weft_layer){2, 5, 1, 1, 8, 8, 3, 3, 1};                         /* depthwise, batch 2 */
    CHECK_IS(weft_design_cycles(&d, &l), 2 * 5 * (2 * 2) * 1 * 1 + 100);
}

/* --- vector lanes and the template ----------------------------------------------------------- */

TEST(vector_work_by_hand)
{
    weft_design d = vector(128, 2);
    weft_work_key k = {.family = WEFT_FUSE_ELEMENT, .points = 1000, .flops = 12000};
    weft_layer l = gemm(3, 5, 1000);
    weft_work_key product = {.n_layers = 1, .layer = {l}};

    d.value[WEFT_P_CLOCK] = 1;
    CHECK_IS(weft_cycles_vector(&k, 256), 4 * 12); /* ceil(1000/256) rounds of 12 cycles */
    CHECK_IS(weft_design_cost(&d, &k).seconds, 48);
    k.flops = 10; /* a point takes a cycle at least */
    CHECK_IS(weft_cycles_vector(&k, 256), 4);
    k.points = k.flops = 0;
    CHECK_IS(weft_cycles_vector(&k, 256), 0);
    /* 15 outputs of 1000: one round of 1000, or 15 * (ceil(1000/256) + log2 256) = 180 */
    CHECK_IS(weft_design_cost(&d, &product).seconds, 15 * (4 + 8));
    product.layer[0] = gemm(300, 5, 10); /* ceil(1500/256) * 10, or 1500 * 9 */
    CHECK_IS(weft_design_cost(&d, &product).seconds, 6 * 10);
}

TEST(epilogue_runs_beside_the_product)
{
    weft_design d = accelerator(8, 1, 4, 2, 1e6);
    weft_layer l = gemm(64, 8, 8);
    weft_work_key k = key_of(&l);
    double cycles = weft_design_cycles(&d, &l);

    CHECK_IS(cycles, 64 + 22); /* one fold of 64 rows */
    d.value[WEFT_P_CLOCK] = 1;
    k.points = 512;
    k.flops = 512; /* ceil(512 / 8) = 64 cycles, hidden behind the product */
    CHECK_IS(weft_design_cost(&d, &k).seconds, 86);
    k.flops = 1024; /* 64 * 2 cycles: now the product is hidden */
    CHECK_IS(weft_design_cost(&d, &k).seconds, 128);
}

/* Port of one core: 16 max(R, C), at most 4096 bytes a cycle. For elements of up to 4 bytes it is
 * as wide as the array can use (4 R + 4 C + 8 C <= 16 max(R, C)) until 4096 stops its growth. */
TEST(buffer_port_limits_large_arrays_only)
{
    weft_design small = accelerator(128, 1, 1, 1, 1e9), large = accelerator(1024, 1, 1, 1, 1e9);
    weft_layer l = gemm(100000, 1024, 4096);
    weft_work_key k = key_of(&l);

    small.value[WEFT_P_BANDWIDTH] = large.value[WEFT_P_BANDWIDTH] = 1e30;
    small.value[WEFT_P_DATAFLOW] = large.value[WEFT_P_DATAFLOW] = WEFT_DATAFLOW_WS;
    CHECK_IS(weft_design_cost(&small, &k).seconds * 200e6, weft_design_cycles(&small, &l));
    /* b M K ceil(N/C) + b K N + 8 M N ceil(K/R) = 819,200,000 + 8,388,608 + 3,276,800,000 bytes */
    CHECK_IS(weft_design_cost(&large, &k).seconds * 200e6, 4104388608.0 / 4096);
}

/* All cores read the buffer through one port: no cut passes fewer bytes than no cut. */
TEST(cores_share_a_port)
{
    weft_design d = accelerator(8, 4, 1, 1, 1e9);
    weft_layer l = gemm(1024, 64, 32);
    weft_work_key k = key_of(&l), copy = {.points = 1, .flops = 1, .read_bytes = 4096};
    /* WS: 2 M K ceil(N/C) + 2 K N + 8 M N ceil(K/R) */
    double uncut = 2.0 * 1024 * 32 * 8 + 2 * 32 * 64 + 8.0 * 1024 * 64 * 4;

    d.value[WEFT_P_BANDWIDTH] = 1e30;
    d.value[WEFT_P_DATAFLOW] = WEFT_DATAFLOW_WS;
    d.value[WEFT_P_CLOCK] = 1;
    CHECK_IS(weft_design_cost(&d, &k).seconds, 15 * 1024 / 2 + 512 + 22); /* as without */
    d.value[WEFT_P_PORT] = 4; /* cut along m, each core reads all rows and its own weights */
    CHECK_IS(weft_design_cost(&d, &k).seconds, uncut / 4);
    CHECK_IS(weft_design_cost(&d, &copy).seconds, 4096 / 4);
}

TEST(a_port_never_makes_faster_and_bounds_every_cut)
{
    for (uint64_t seed = 1; seed <= N_DRAWN(300); seed++) {
        weft_rng rng = weft_rng_seed(seed);
        weft_layer l = random_layer(&rng);
        weft_work_key k = key_of(&l);
        weft_tensor_cores t = {(double)(4 << between(&rng, 0, 4)),
                               (double)(4 << between(&rng, 0, 4)), 1,
                               (double)between(&rng, 8, 2000),
                               (weft_dataflow)between(&rng, WEFT_DATAFLOW_BEST, WEFT_DATAFLOW_IS)};
        double bytes = weft_tensor_port_bytes(&k, &t), before = INFINITY;

        for (t.cores = 1; t.cores <= 64; t.cores *= 2) {
            weft_tensor_cores free = t;
            double cycles = weft_tensor_cycles(&k, &t);

            free.port_bytes = INFINITY;
            CHECK(cycles >= weft_tensor_cycles(&k, &free));
            CHECK(cycles * t.port_bytes >= bytes * (1 - 1e-12));
            CHECK(cycles <= before); /* powers of two: some may idle */
            before = cycles;
        }
        t.cores = (double)between(&rng, 1, 100); /* any number */
        CHECK(weft_tensor_cycles(&k, &t) * t.port_bytes >= bytes * (1 - 1e-12));
    }
}

TEST(area_of_the_template)
{
    const double mib = 1024 * 1024;
    weft_design d = accelerator(128, 8, 128, 2, 128 * mib);

    /* Phaze's own limit for this design is 278.83 mm2, from unrounded parts */
    CHECK_IS(weft_design_area(&d), 8 * (16384 * 760e-6 + 0.447) + 2 * 128 * 824e-6 + 175.4);
    CHECK(fabs(weft_design_area(&d) - 278.83) < 0.05);
    d = accelerator(256, 1, 1, 1, 32 * mib);
    CHECK(fabs(weft_design_area(&d) - (51.44 + 46.75)) < 0.01);
    d.value[WEFT_P_AREA] = 7;
    CHECK_IS(weft_design_area(&d), 7);
    d = design_of(WEFT_ROOFLINE);
    CHECK_IS(weft_design_area(&d), 0);
}

TEST(area_grows_with_every_part)
{
    weft_rng rng = weft_rng_seed(3);
    static const int parts[] = {WEFT_P_ROWS,  WEFT_P_COLS,         WEFT_P_CORES,
                                WEFT_P_LANES, WEFT_P_VECTOR_CORES, WEFT_P_SRAM};

    for (int i = 0; i < 500; i++) {
        weft_design d = accelerator((int)between(&rng, 1, 300), (int)between(&rng, 1, 9),
                                    (int)between(&rng, 1, 99), (int)between(&rng, 1, 9),
                                    exp2(weft_rng_real(&rng) * 30));
        double area = weft_design_area(&d);

        for (int k = 0; k < 6; k++) {
            weft_design more = d;

            more.value[parts[k]] = d.value[parts[k]] * 2;
            CHECK(weft_design_area(&more) > area);
        }
    }
}

/* --- traffic --------------------------------------------------------------------------------- */

static double up(double a, double b)
{
    return ceil(a / b);
}

/* The next size of a tile: powers of two, then the whole. */
static int next(int tile, int whole)
{
    return tile >= whole ? whole + 1 : 2 * tile < whole ? 2 * tile : whole;
}

typedef struct tiling {
    double m, n, k, b, s; /* s: bytes of a partial sum */
    double room;          /* half of the buffer */
} tiling;

/* Bytes of the best of the three forms with tiles tm, tn, tk that fit; INFINITY if none does. */
static double tiling_bytes(const tiling *t, double tm, double tn, double tk)
{
    double mk = t->m * t->k, kn = t->k * t->n, mn = t->m * t->n, best = INFINITY;
    double spilled = 2 * t->s * mn * (up(t->k, tk) - 1);

    if (t->s * tm * tn + t->b * (tm + tn) * tk <= t->room)
        best = fmin(best, t->b * (mk * up(t->n, tn) + kn * up(t->m, tm) + mn));
    if (t->b * tk * tn + (t->b * tk + t->s * tn) * tm <= t->room)
        best = fmin(best, t->b * (kn + mk * up(t->n, tn) + mn) + spilled);
    if (t->b * tk * tm + (t->b * tk + t->s * tm) * tn <= t->room)
        best = fmin(best, t->b * (mk + kn * up(t->m, tm) + mn) + spilled);
    return best;
}

static double brute_traffic(int m, int n, int k, int b, double sram_bytes)
{
    tiling t = {m, n, k, b, fmax(4, b), sram_bytes / 2};
    double best = t.b * (2.0 * m * n * k + 1.0 * m * n); /* tiles of one element */

    for (int tm = 1; tm <= m; tm = next(tm, m))
        for (int tn = 1; tn <= n; tn = next(tn, n))
            for (int tk = 1; tk <= k; tk = next(tk, k))
                best = fmin(best, tiling_bytes(&t, tm, tn, tk));
    return best;
}

TEST(traffic_is_the_best_of_all_tilings)
{
    weft_rng rng = weft_rng_seed(4);

    for (int i = 0; i < 3000; i++) {
        int m = (int)between(&rng, 1, 300), n = (int)between(&rng, 1, 300);
        int k = (int)between(&rng, 1, 300), b = 1 << weft_rng_below(&rng, 5);
        double sram_bytes = exp2(weft_rng_real(&rng) * 20), least = 1.0 * m * k + 1.0 * k * n;
        double bytes = gemm_traffic(m, n, k, b, sram_bytes), stored = sram_bytes / b;

        least += 1.0 * m * n;
        CHECK_IS(bytes, brute_traffic(m, n, k, b, sram_bytes));
        CHECK(bytes >= b * least);
        CHECK(gemm_traffic(m, n, k, b, 1.7 * sram_bytes) <= bytes);
        if (stored >= 1) /* Smith et al. 2019 */
            CHECK(bytes / b >= 2.0 * m * n * k / sqrt(stored) - 2 * stored);
        CHECK_IS(gemm_traffic(n, m, k, b, sram_bytes), bytes); /* the transposed product */
        CHECK_IS(gemm_traffic(m, n, k, b, 1e9), b * least);
    }
}

TEST(traffic_by_hand)
{
    /* 64 x 64 x 64 of 2 bytes, 4 KiB, of which 2048 hold tiles. 16 x 16: 4 * 256 + 2 * 32 fit, and
     * operands of 4096 elements pass 4 + 4 times, results once; 32 x 16 would need 2144. 32 x 8
     * makes 8 + 2 + 1, a resident panel of 8 columns (1024 + 128 + 32) 8 + 1 + 1. */
    CHECK_IS(gemm_traffic(64, 64, 64, 2, 4096), 2.0 * 4096 * 9);
    CHECK_IS(gemm_traffic(64, 64, 64, 2, 0), 2.0 * (2 * 262144 + 4096)); /* no buffer */
    CHECK_IS(gemm_traffic(64, 64, 0, 2, 4096), 0);
    CHECK(isfinite(gemm_traffic(INT64_MAX, INT64_MAX, INT64_MAX, 8, 1e6)));
}

TEST(convolutions_pay_their_input_not_its_copies)
{
    weft_layer l = conv(64, 64, 56, 3, 1), point = conv(256, 64, 56, 1, 1);
    weft_work_key k = key_of(&l);
    double input = 64 * 58 * 58, weights = 64 * 64 * 9, output = 64 * 56 * 56;

    CHECK_IS(weft_layer_traffic(&l, 2, 1e9), 2 * (input + weights + output));
    CHECK_IS(weft_key_traffic(&k, 1e9), weft_compulsory_bytes(&k));
    CHECK_IS(weft_key_traffic(&k, 0), weft_compulsory_bytes(&k)); /* no buffer size given */
    CHECK(weft_layer_traffic(&l, 2, 1e4) < gemm_traffic(56 * 56, 64, 64 * 9, 2, 1e4));
    CHECK_IS(weft_layer_traffic(&point, 2, 3e5), gemm_traffic(56 * 56, 256, 64, 2, 3e5));
    point.groups = 5;
    CHECK_IS(weft_layer_traffic(&point, 2, 3e5), 5 * gemm_traffic(56 * 56, 256, 64, 2, 3e5));
}

/* --- true for every layer and design --------------------------------------------------------- */

TEST(no_design_exceeds_its_peak)
{
    weft_rng rng = weft_rng_seed(5);

    for (int i = 0; i < 5000; i++) {
        weft_design d = random_design(&rng);
        weft_layer l = random_layer(&rng);
        weft_work_key k = key_of(&l);
        double cycles = weft_design_cycles(&d, &l), macs = weft_layer_macs(&l);
        double seconds = weft_design_cost(&d, &k).seconds;

        if (d.value[WEFT_P_VEC] == 0)
            d.value[WEFT_P_VEC] = 1;
        if (d.model != WEFT_VECTOR)
            CHECK(macs <= cycles * peak_macs(&d) * (1 + 1e-12));
        CHECK(macs <= seconds * d.value[WEFT_P_CLOCK] * peak_macs(&d) * (1 + 1e-12));
        CHECK(seconds * d.value[WEFT_P_BANDWIDTH] >= weft_compulsory_bytes(&k) * (1 - 1e-12));
    }
}

TEST(more_of_anything_is_never_slower)
{
    weft_rng rng = weft_rng_seed(6);
    static const int parts[] = {WEFT_P_BANDWIDTH,   WEFT_P_CLOCK,    WEFT_P_CORES,
                                WEFT_P_SRAM,        WEFT_P_LANES,    WEFT_P_VECTOR_CORES,
                                WEFT_P_PORT_WEIGHT, WEFT_P_PORT_OUT, WEFT_P_PORT_IN};

    for (int i = 0; i < 3000; i++) {
        weft_design d = random_design(&rng);
        weft_layer l = random_layer(&rng);
        weft_work_key k = key_of(&l);
        double seconds;

        k.points = between(&rng, 0, 100000);
        k.flops = k.points * between(&rng, 1, 9);
        seconds = weft_design_cost(&d, &k).seconds;
        for (size_t p = 0; p < sizeof parts / sizeof parts[0]; p++) {
            weft_design more = d;

            /* a vector sum over more lanes has a deeper tree of adders */
            if (d.model == WEFT_VECTOR && parts[p] != WEFT_P_BANDWIDTH && parts[p] != WEFT_P_CLOCK)
                continue;
            more.value[parts[p]] = d.value[parts[p]] * (double)between(&rng, 2, 3);
            CHECK(weft_design_cost(&more, &k).seconds <= seconds * (1 + 1e-12));
        }
    }
}

TEST(scaled_clocks_scale_times)
{
    weft_rng rng = weft_rng_seed(7);

    for (int i = 0; i < 2000; i++) {
        weft_design d = random_design(&rng), fast = d;
        weft_layer l = random_layer(&rng);
        weft_work_key k = key_of(&l);

        fast.value[WEFT_P_CLOCK] *= 4;
        fast.value[WEFT_P_BANDWIDTH] *= 4;
        CHECK_IS(weft_design_cost(&fast, &k).seconds * 4, weft_design_cost(&d, &k).seconds);
        CHECK_IS(weft_design_cost(&fast, &k).memory_bytes, weft_design_cost(&d, &k).memory_bytes);
    }
}

/* Work on more images or groups is never less than on one, and never more than one by one. */
TEST(batches_and_groups_add_up)
{
    weft_rng rng = weft_rng_seed(8);

    for (int i = 0; i < 2000; i++) {
        weft_design d = random_design(&rng);
        weft_layer one = random_layer(&rng), groups = one, images = one;
        double cycles = weft_design_cycles(&d, &one), times = (double)between(&rng, 2, 5);

        groups.groups *= (int64_t)times;
        images.batch *= (int64_t)times;
        CHECK(weft_design_cycles(&d, &groups) >= cycles);
        CHECK(weft_design_cycles(&d, &images) >= cycles);
        CHECK(weft_design_cycles(&d, &groups) <= times * cycles * (1 + 1e-12));
        CHECK(weft_design_cycles(&d, &images) <= times * cycles * (1 + 1e-12));
    }
}

TEST(element_wise_work_costs_bytes_on_arrays)
{
    weft_design devices[] = {tiled(8, 8, 8, 8, 8), simd(8, 8, 8), winograd(6, 4, 4),
                             systolic(8, 8, WEFT_DATAFLOW_BEST)};
    weft_work_key k = {.family = WEFT_FUSE_ELEMENT,
                       .element_bytes = 2,
                       .points = 640,
                       .flops = 6400,
                       .read_bytes = 1280,
                       .write_bytes = 1280};

    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
        CHECK_IS(weft_design_cost(&devices[i], &k).seconds, 2560 / 64e9);
        CHECK_IS(weft_design_cost(&devices[i], &k).memory_bytes, 2560);
    }
}

/* Sizes that no memory holds: finite numbers, not undefined behaviour. */
TEST(extreme_sizes_stay_finite)
{
    weft_rng rng = weft_rng_seed(9);
    weft_layer huge = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX,
                       INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};
    weft_layer empty = {1, 1, 0, 5, 5, 5, 3, 3, 1};

    for (int i = 0; i < 200; i++) {
        weft_design d = random_design(&rng);
        weft_work_key k = {.n_layers = 1,
                           .layer = {huge},
                           .element_bytes = 2,
                           .flops = INT64_MAX,
                           .points = INT64_MAX,
                           .read_bytes = INT64_MAX,
                           .write_bytes = INT64_MAX};

        CHECK(isfinite(weft_design_cost(&d, &k).seconds));
        k = (weft_work_key){.n_layers = 1, .layer = {empty}, .element_bytes = 2};
        CHECK_IS(weft_design_cost(&d, &k).seconds, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(systolic_cycles_by_hand),
        cmocka_unit_test(cores_share_a_layer),
        cmocka_unit_test(engines_reach_their_anchors),
        cmocka_unit_test(tiled_engine_in_both_forms),
        cmocka_unit_test(serial_engine_by_hand),
        cmocka_unit_test(matrix_products_on_a_simd_array),
        cmocka_unit_test(kernels_of_other_sizes_on_winograd),
        cmocka_unit_test(vector_work_by_hand),
        cmocka_unit_test(epilogue_runs_beside_the_product),
        cmocka_unit_test(buffer_port_limits_large_arrays_only),
        cmocka_unit_test(cores_share_a_port),
        cmocka_unit_test(a_port_never_makes_faster_and_bounds_every_cut),
        cmocka_unit_test(area_of_the_template),
        cmocka_unit_test(area_grows_with_every_part),
        cmocka_unit_test(traffic_is_the_best_of_all_tilings),
        cmocka_unit_test(traffic_by_hand),
        cmocka_unit_test(convolutions_pay_their_input_not_its_copies),
        cmocka_unit_test(no_design_exceeds_its_peak),
        cmocka_unit_test(more_of_anything_is_never_slower),
        cmocka_unit_test(scaled_clocks_scale_times),
        cmocka_unit_test(batches_and_groups_add_up),
        cmocka_unit_test(element_wise_work_costs_bytes_on_arrays),
        cmocka_unit_test(extreme_sizes_stay_finite),
    };

    return RUN_TESTS(tests);
}
