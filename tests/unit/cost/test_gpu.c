/* SPDX-License-Identifier: MIT */
/* The model gpu, and peaks by type of roofline: products computed by hand, relations that hold for every product, and published
 * times of DeepBench (skipped where the folder of measurements is not there). */
#include "check.h"

#include "base.h"
#include "models.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Seconds are small: compared by their ratio. */
#define CHECK_SAME(value, expected) CHECK_NEAR((value) / (expected), 1.0)

static weft_design v100(void)
{
    weft_design d = {.name = "gpu", .model = WEFT_GPU};

    d.value[WEFT_P_SMS] = 80;
    d.value[WEFT_P_PEAK_F16] = 112e12;
    d.value[WEFT_P_PEAK_F32] = 15.7e12;
    d.value[WEFT_P_BANDWIDTH] = 900e9;
    d.value[WEFT_P_ETA] = 1;
    d.value[WEFT_P_ALIGN] = 1;
    d.value[WEFT_P_CONV_EFFICIENCY] = 1;
    for (int f = 0; f < WEFT_N_FAMILIES; f++)
        d.efficiency[f] = 1;
    return d;
}

static weft_work_key product(weft_dtype type, int64_t m, int64_t n, int64_t k)
{
    int bytes = weft_dtype_bits(type) / 8;

    return (weft_work_key){.family = WEFT_FUSE_TENSOR,
                           .n_layers = 1,
                           .layer = {{1, 1, n, k, m, 1, 1, 1, 1}},
                           .steps = {1},
                           .type = type,
                           .element_bytes = bytes,
                           .read_bytes = bytes * (m * k + k * n),
                           .write_bytes = bytes * m * n};
}

static double seconds(const weft_design *d, const weft_work_key *k)
{
    return weft_design_cost(d, k).seconds;
}

TEST(tiles_run_in_waves)
{
    weft_design d = v100();
    weft_work_key k = product(WEFT_F16, 80 * 256, 256, 4096), more = k;
    double wave = 2.0 * 256 * 256 * 4096 * 80 / 112e12; /* 80 tiles of 256 x 256, one each */

    d.value[WEFT_P_BANDWIDTH] = 1e18;
    CHECK_SAME(seconds(&d, &k), wave);
    /* One row more: 81 tiles of 256 x 256 would take two waves; 641 * 8 of 32 x 32, each cut by 16,
     * take 1026 of theirs instead of 1024. */
    more.layer[0].r++;
    CHECK_SAME(seconds(&d, &more), wave * 1026 / 1024);
    d.value[WEFT_P_FILL] = 1e-6;
    d.value[WEFT_P_OVERHEAD] = 5e-6;
    CHECK_SAME(seconds(&d, &k), wave + 6e-6);
    d.value[WEFT_P_TILE_COST] = 16; /* 16 (1/256 + 1/256) = 1/8 more */
    CHECK_SAME(seconds(&d, &k), wave * 1.125 + 6e-6);
}

TEST(few_results_are_shared_by_split_k)
{
    weft_design d = v100();
    weft_work_key k = product(WEFT_F16, 32, 32, 1 << 20);
    double alone = 2.0 * 32 * 32 * (1 << 20) * 80 / 112e12; /* one tile of 32 x 32 */

    d.value[WEFT_P_BANDWIDTH] = 1e18;
    CHECK_SAME(seconds(&d, &k), alone / 16);
}

TEST(memory_limits_thin_products)
{
    weft_design d = v100();
    weft_work_key k = product(WEFT_F16, 1, 4096, 4096);

    CHECK_SAME(seconds(&d, &k), 2.0 * (4096.0 * 4096 + 2 * 4096) / 900e9);
    d.value[WEFT_P_ETA] = 0.5;
    CHECK_SAME(seconds(&d, &k), 4.0 * (4096.0 * 4096 + 2 * 4096) / 900e9);
}

TEST(each_type_has_its_own_peak)
{
    weft_design d = v100();
    weft_work_key half = product(WEFT_F16, 8192, 8192, 8192),
                  full = product(WEFT_F32, 8192, 8192, 8192),
                  brain = product(WEFT_BF16, 8192, 8192, 8192);

    CHECK(seconds(&d, &full) > 6 * seconds(&d, &half));
    CHECK(isinf(seconds(&d, &brain)));
    CHECK_INT(weft_device_gpu.missing(&d, &brain), WEFT_P_PEAK_BF16);
    CHECK_INT(weft_device_gpu.missing(&d, &half), -1);
    d.value[WEFT_P_USE_TF32] = 1;
    CHECK_INT(weft_device_gpu.missing(&d, &full), WEFT_P_PEAK_TF32);
    CHECK_TEXT(weft_param_key(WEFT_GPU, WEFT_P_PEAK_TF32), "peak_tf32");
    d.value[WEFT_P_PEAK_TF32] = 62.8e12;
    half.read_bytes = half.write_bytes = full.read_bytes = full.write_bytes = 0;
    CHECK_SAME(seconds(&d, &full) * 62.8, seconds(&d, &half) * 112);
}

TEST(rooflines_have_peaks_by_type_too)
{
    weft_design d = {.name = "cpu", .model = WEFT_ROOFLINE};
    weft_work_key half = product(WEFT_F16, 1024, 1024, 1024), full = half, brain = half, other;
    double flops = 2.0 * 1024 * 1024 * 1024;

    full.type = WEFT_F32;
    brain.type = WEFT_BF16;
    d.value[WEFT_P_BANDWIDTH] = 1e18;
    d.value[WEFT_P_ETA] = 1;
    d.value[WEFT_P_ALIGN] = 1;
    d.value[WEFT_P_CONV_EFFICIENCY] = 1;
    for (int f = 0; f < WEFT_N_FAMILIES; f++)
        d.efficiency[f] = 0.5;
    CHECK_INT(weft_device_roofline.needed(&d), WEFT_P_FLOPS);
    d.value[WEFT_P_FLOPS] = 1e12; /* alone: of all types */
    CHECK_SAME(seconds(&d, &brain), flops / 0.5e12);
    CHECK_INT(weft_device_roofline.missing(&d, &brain), -1);
    d.value[WEFT_P_PEAK_F16] = 8e12;
    d.value[WEFT_P_PEAK_F32] = 2e12;
    CHECK_SAME(seconds(&d, &half), flops / 4e12);
    CHECK_SAME(seconds(&d, &full), flops / 1e12);
    CHECK_INT(weft_device_roofline.missing(&d, &brain), WEFT_P_PEAK_BF16);
    CHECK(isinf(seconds(&d, &brain)));
    CHECK_SAME(weft_design_peak_flops(&d), 8e12);
    d.value[WEFT_P_USE_TF32] = 1;
    CHECK_INT(weft_device_roofline.missing(&d, &full), WEFT_P_PEAK_TF32);
    d.value[WEFT_P_PEAK_TF32] = 4e12;
    CHECK_SAME(seconds(&d, &full), flops / 2e12);
    /* Arithmetic that is no product: peak_flops, else peak_f32, else the largest. */
    half.flops = 1000000000;
    other = (weft_work_key){.family = WEFT_FUSE_ELEMENT, .type = WEFT_BF16, .flops = half.flops};
    CHECK_INT(weft_device_roofline.missing(&d, &other), -1);
    CHECK_SAME(seconds(&d, &half), flops / 4e12 + 1e9 / 0.5e12);
    CHECK_SAME(seconds(&d, &other), 1e9 / 0.5e12);
    d.value[WEFT_P_FLOPS] = 0;
    CHECK_INT(weft_device_roofline.needed(&d), -1);
    CHECK_SAME(seconds(&d, &other), 1e9 / 1e12);
    d.value[WEFT_P_PEAK_F32] = 0;
    CHECK_SAME(seconds(&d, &other), 1e9 / 4e12);
}

TEST(small_amounts_move_slower)
{
    weft_design d = v100();
    weft_work_key k = {
        .family = WEFT_FUSE_ELEMENT, .type = WEFT_F16, .read_bytes = 600000, .write_bytes = 300000};
    weft_work_key thin = product(WEFT_F16, 1, 4096, 4096), empty = {.family = WEFT_FUSE_ELEMENT};
    double bytes = (double)(thin.read_bytes + thin.write_bytes);

    CHECK_SAME(seconds(&d, &k), 1e-6);
    d.value[WEFT_P_MEMORY_HALF] = 900000; /* as many bytes: half of the speed */
    CHECK_SAME(seconds(&d, &k), 2e-6);
    CHECK_SAME(seconds(&d, &thin), (bytes + 900000) / 900e9);
    CHECK(seconds(&d, &empty) == 0); /* what moves nothing waits for nothing */
    k.read_bytes = 900000000;
    CHECK(seconds(&d, &k) < 1.002 * 900.3e6 / 900e9); /* large amounts hardly notice */
}

TEST(recurrent_steps_wait_for_each_other)
{
    weft_design d = v100();
    weft_work_key at_once = product(WEFT_F16, 16 * 50, 4096, 1024), steps = at_once, one;

    steps.steps[0] = 50;
    d.value[WEFT_P_OVERHEAD] = 5e-6;
    d.value[WEFT_P_BANDWIDTH] = 1e18;
    one = product(WEFT_F16, 16, 4096, 1024);
    CHECK_SAME(seconds(&d, &steps), 50 * seconds(&d, &one));
    CHECK(seconds(&d, &steps) > 2 * seconds(&d, &at_once));
    d.value[WEFT_P_STEP] = 20e-6; /* between steps, instead of the overhead */
    CHECK_SAME(seconds(&d, &steps), 50 * seconds(&d, &one) + 49 * 15e-6);
    d.value[WEFT_P_BANDWIDTH] = 1e9; /* each step reads the weights again */
    CHECK(seconds(&d, &steps) > 50 * 2.0 * 4096 * 1024 / 1e9);
}

TEST(winograd_speeds_small_kernels_of_f32_only)
{
    weft_design d = v100(), fast = v100();
    weft_work_key k = {.family = WEFT_FUSE_TENSOR,
                       .n_layers = 1,
                       .layer = {{32, 1, 256, 256, 28, 28, 3, 3, 1}},
                       .steps = {1},
                       .sliding = {{9, 1}},
                       .type = WEFT_F32,
                       .element_bytes = 4,
                       .read_bytes = 4 * (32 * 256 * 30 * 30 + 256 * 256 * 9),
                       .write_bytes = 4 * 32 * 256 * 28 * 28};

    fast.value[WEFT_P_USE_WINOGRAD] = 1;
    CHECK(seconds(&fast, &k) < 0.5 * seconds(&d, &k));
    CHECK(seconds(&fast, &k) > 0.25 * seconds(&d, &k)); /* 36 products instead of 16 * 9 */
    k.layer[0].stride = k.sliding[0].stride = 2;
    CHECK_SAME(seconds(&fast, &k), seconds(&d, &k));
    k.layer[0].stride = k.sliding[0].stride = 1;
    k.type = WEFT_F16;
    CHECK_SAME(seconds(&fast, &k), seconds(&d, &k));
}

/* The gradients of a convolution are products of the same three sizes: the same work in the words of
 * layer.c takes as long. */
/* Operator by operator, pictures of f32 are put into another order for units of tf32 and back. */
TEST(eager_convolutions_of_tf32_copy_their_pictures)
{
    weft_design d = v100();
    weft_work_key k = product(WEFT_F32, 1024, 64, 64), eager;
    double bytes = 4.0 * (1024 * 64 + 64 * 64 + 1024 * 64);

    d.value[WEFT_P_PEAK_TF32] = 60e12;
    d.value[WEFT_P_USE_TF32] = 1;
    k.sliding[0] = (weft_sliding){1, 1};
    eager = k;
    eager.is_eager = true;
    CHECK_SAME(seconds(&d, &eager), seconds(&d, &k) + 2 * bytes / 900e9);
    CHECK_SAME(weft_design_cost(&d, &eager).memory_bytes, 3 * bytes);
    d.value[WEFT_P_USE_TF32] = 0;
    CHECK_SAME(seconds(&d, &eager), seconds(&d, &k));
    eager.sliding[0].kernel = 0; /* a product */
    d.value[WEFT_P_USE_TF32] = 1;
    CHECK_SAME(weft_design_cost(&d, &eager).memory_bytes, bytes);
}

TEST(gradients_of_convolutions_are_products)
{
    weft_design d = v100();
    weft_work_key forward = {.family = WEFT_FUSE_TENSOR,
                             .n_layers = 1,
                             .layer = {{16, 1, 64, 64, 28, 28, 3, 3, 1}},
                             .steps = {1},
                             .sliding = {{9, 1}},
                             .type = WEFT_F16,
                             .element_bytes = 2};
    weft_work_key data = forward, weight = forward,
                  product_of = product(WEFT_F16, 9 * 64, 64, 16 * 784);

    data.layer[0] = (weft_layer){1, 1, 16 * 784, 64, 9 * 64, 1, 1, 1, 1};
    weight.layer[0] = (weft_layer){64, 1, 64, 16, 3, 3, 28, 28, 1};
    product_of.read_bytes = product_of.write_bytes = 0;
    d.value[WEFT_P_BANDWIDTH] = 1e18;
    CHECK_SAME(seconds(&d, &data), seconds(&d, &forward));
    CHECK_SAME(seconds(&d, &weight), seconds(&d, &product_of));
    d.value[WEFT_P_CONV_EFFICIENCY] = 0.5;
    CHECK_SAME(seconds(&d, &weight), 2 * seconds(&d, &product_of));
}

TEST(channels_that_do_not_fit_run_without_matrix_units)
{
    weft_design d = v100();
    weft_work_key k = {.family = WEFT_FUSE_TENSOR,
                       .n_layers = 1,
                       .layer = {{16, 1, 64, 3, 112, 112, 7, 7, 2}},
                       .steps = {1},
                       .sliding = {{49, 2}},
                       .type = WEFT_F16,
                       .element_bytes = 2};
    double before;

    d.value[WEFT_P_BANDWIDTH] = 1e18;
    before = seconds(&d, &k);
    d.value[WEFT_P_ALIGN] = 8;
    CHECK_SAME(seconds(&d, &k), before * 112 / 15.7);
    k.layer[0].n = 8;
    CHECK(seconds(&d, &k) < before * 3);
}

TEST(no_product_exceeds_the_peak_and_more_speed_never_hurts)
{
    static const int faster[] = {WEFT_P_PEAK_F16, WEFT_P_PEAK_F32, WEFT_P_BANDWIDTH};
    weft_rng rng = weft_rng_seed(1);

    for (int i = 0; i < N_DRAWN(20000); i++) {
        weft_design d = v100();
        weft_work_key k = product(
            i % 2 ? WEFT_F16 : WEFT_F32, (int64_t)exp2(weft_rng_real(&rng) * 16),
            (int64_t)exp2(weft_rng_real(&rng) * 16), (int64_t)exp2(weft_rng_real(&rng) * 16));
        const weft_layer *l = &k.layer[0];
        double flops = 2.0 * (double)l->r * (double)l->m * (double)l->n, before;

        d.value[WEFT_P_TILE_COST] = weft_rng_real(&rng) * 12;
        d.value[WEFT_P_FILL] = weft_rng_real(&rng) * 1e-6;
        d.value[WEFT_P_USE_WINOGRAD] = i % 3 == 0;
        before = seconds(&d, &k);
        CHECK(before * weft_design_peak_flops(&d) >= flops * (1 - 1e-12));
        for (int f = 0; f < 3; f++) {
            weft_design better = d;

            better.value[faster[f]] *= 1 + weft_rng_real(&rng);
            CHECK(seconds(&better, &k) <= before);
        }
    }
}

/* --- published times ------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Median of |log(predicted / published)| over DeepBench's matrix products of one precision on
 * V100; -1 if the file is not there. */
static double deepbench_error(const char *precision, weft_dtype type, const weft_design *d)
{
    FILE *file = fopen(WEFT_SHARED "/data/validation/deepbench.csv", "r");
    double error[400];
    char line[1000];
    int n = 0;

    if (file == NULL)
        return -1;
    while (fgets(line, sizeof line, file)) {
        const char *at = strstr(line, "gemm,\"M=");
        long long m, columns, inner;
        weft_work_key k;
        double ms;

        if (strncmp(line, "V100,train,", 11) != 0 || at == NULL || !strstr(line, precision) ||
            sscanf(at, "gemm,\"M=%lld,N=%lld,K=%lld", &m, &columns, &inner) != 3 ||
            sscanf(strchr(at + 6, '"') + 2, "%lf", &ms) != 1)
            continue;
        CHECK(n < 400);
        k = product(type, m, columns, inner);
        error[n++] = fabs(log(seconds(d, &k) / (ms * 1e-3)));
    }
    (void)fclose(file);
    CHECK(n == 160);
    qsort(error, (size_t)n, sizeof error[0], by_size);
    return error[n / 2];
}

/* Constants fitted on the products of half of the (M, K); the median error of the others was 6.1 %
 * (f32) and 8.8 % (f16). */
TEST(deepbench_products_are_predicted)
{
    weft_design half = v100(), full = v100();
    double error;

    half.value[WEFT_P_OVERHEAD] = 7.6e-6;
    half.efficiency[WEFT_FUSE_TENSOR] = 0.978;
    half.value[WEFT_P_TILE_COST] = 4.79;
    half.value[WEFT_P_ETA] = 0.79;
    half.value[WEFT_P_FILL] = 0.108e-6;
    full.value[WEFT_P_OVERHEAD] = 6.64e-6;
    full.efficiency[WEFT_FUSE_TENSOR] = 0.903;
    full.value[WEFT_P_TILE_COST] = 4.09;
    full.value[WEFT_P_ETA] = 0.62;
    full.value[WEFT_P_FILL] = 0.216e-6;
    error = deepbench_error("16 bit inputs, 16 bit", WEFT_F16, &half);
    if (error < 0) {
        printf("skipped: the folder of published measurements is not there\n");
        skip();
    }
    CHECK(error < 0.08);
    CHECK(deepbench_error("Float", WEFT_F32, &full) < 0.06);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiles_run_in_waves),
        cmocka_unit_test(few_results_are_shared_by_split_k),
        cmocka_unit_test(memory_limits_thin_products),
        cmocka_unit_test(each_type_has_its_own_peak),
        cmocka_unit_test(rooflines_have_peaks_by_type_too),
        cmocka_unit_test(small_amounts_move_slower),
        cmocka_unit_test(recurrent_steps_wait_for_each_other),
        cmocka_unit_test(winograd_speeds_small_kernels_of_f32_only),
        cmocka_unit_test(eager_convolutions_of_tf32_copy_their_pictures),
        cmocka_unit_test(gradients_of_convolutions_are_products),
        cmocka_unit_test(channels_that_do_not_fit_run_without_matrix_units),
        cmocka_unit_test(no_product_exceeds_the_peak_and_more_speed_never_hurts),
        cmocka_unit_test(deepbench_products_are_predicted),
    };

    return RUN_TESTS(tests);
}
