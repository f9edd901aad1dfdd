/* SPDX-License-Identifier: MIT */
/* Rows made with planted constants: the fit finds the time of a launch again, predicts rows it has not
 * seen (efficiency, tiles and waves are not told apart by so few rows) and gives the same answer again; the file it writes has these constants. */
#include "check.h"

#include "calibrate.h"

#include <stdio.h>

#define V100 WEFT_TEST_DATA "/gpus/v100.yaml"

static void plant(weft_design *d, weft_rng *rng)
{
    d->efficiency[WEFT_FUSE_TENSOR] = 0.5 + 0.4 * weft_rng_real(rng);
    d->value[WEFT_P_ETA] = 0.5 + 0.4 * weft_rng_real(rng);
    d->value[WEFT_P_OVERHEAD] = 2e-6 * exp(2 * weft_rng_real(rng));
    d->value[WEFT_P_TILE_COST] = 4 + 12 * weft_rng_real(rng);
    d->value[WEFT_P_FILL] = 1e-7 + 3e-7 * weft_rng_real(rng);
}

/* Products from those that only launch to those that fill the device, and their planted times. */
static weft_measured rows(const weft_design *planted, weft_rng *rng, weft_arena *a)
{
    const char *text = "what,params,type,published,unit,group\n";
    weft_measured m;
    weft_measured_row *row;
    weft_platforms *platforms = weft_platforms_new(a);

    for (int i = 0; i < 60; i++)
        text = weft_arena_print(a, "%sgemm,m=%d n=%d k=%d,f16,1,s,g%d\n", text,
                                1 << weft_rng_below(rng, 14), 64 << weft_rng_below(rng, 7),
                                64 << weft_rng_below(rng, 7), i % 12);
    CHECK_OK(weft_measured_parse(text, strlen(text), "t.csv", V100, a, &m));
    row = weft_arena_copy(a, m.row, (size_t)m.n * sizeof *row);
    for (int i = 0; i < m.n; i++) {
        weft_ready r;

        CHECK_OK(weft_ready_make(&m, i, V100, platforms, &r));
        CHECK_OK(weft_ready_seconds(&r, planted, &row[i].seconds));
    }
    weft_platforms_free(platforms);
    m.row = row;
    return m;
}

static weft_design given(void)
{
    weft_platform *p;
    weft_design d;

    CHECK_OK(weft_platform_open(V100, &p));
    d = *p->device[0].design;
    weft_platform_free(p);
    return d;
}

static double launch_s(const weft_design *d)
{
    return d->value[WEFT_P_OVERHEAD] + d->value[WEFT_P_FILL];
}

TEST(planted_constants_are_found_again)
{
    const weft_fit_options how = {.folds = 4, .seed = 1, .n_threads = 2};
    weft_rng rng = weft_rng_seed(5);

    for (int i = 0; i < 6; i++) {
        weft_arena *a = weft_arena_new();
        weft_design planted = given();
        weft_measured m;
        weft_fit f;

        plant(&planted, &rng);
        m = rows(&planted, &rng, a);
        CHECK_OK(weft_fit_make(&m, V100, &how, a, &f));
        CHECK_INT(f.n_folds, 4);
        CHECK(f.before.errors.median > 3 * f.fitted.errors.median);
        CHECK(f.fitted.errors.median < 0.01);
        CHECK(f.held_out.errors.median < 0.03);
        /* Launch and start of a wave cannot be told apart by small products: their sum can. */
        CHECK(fabs(launch_s(&f.design) / launch_s(&planted) - 1) < 0.15);
        weft_arena_free(a);
    }
}

TEST(the_answer_depends_on_nothing_else)
{
    weft_rng rng = weft_rng_seed(9);
    weft_design planted = given();
    const char *text[2];
    weft_arena *a = weft_arena_new();
    weft_measured m;

    plant(&planted, &rng);
    m = rows(&planted, &rng, a);
    for (int i = 0; i < 2; i++) {
        const weft_fit_options how = {.folds = 3, .seed = 7, .n_threads = 1 + 2 * i};
        weft_platform *p;
        weft_fit f;

        CHECK_OK(weft_fit_make(&m, V100, &how, a, &f));
        CHECK_OK(weft_fit_platform(&f, V100, a, &text[i]));
        CHECK_OK(weft_platform_parse(text[i], strlen(text[i]), "out.yaml", &p));
        CHECK_INT(p->calibrated.rows, 60);
        CHECK_TEXT(p->calibrated.what, "products");
        CHECK(fabs(p->calibrated.held_out_median - f.held_out.errors.median) < 1e-4);
        for (int k = 0; k < f.n_params; k++) {
            int place = f.param[k].param->place;
            double written = place < 0 ? p->device[0].design->efficiency[WEFT_FUSE_TENSOR]
                                       : p->device[0].design->value[place];

            CHECK(fabs(written / f.param[k].after - 1) < 0.006); /* three digits */
        }
        weft_platform_free(p);
    }
    CHECK_TEXT(text[0], text[1]);
    weft_arena_free(a);
}

TEST(one_group_holds_nothing_out)
{
    static const char text[] =
        "what,params,type,published,unit,group\n"
        "gemm,m=64 n=64 k=64,f16,9,us,g\ngemm,m=640 n=640 k=640,f16,20,us,g\n";
    const weft_fit_options how = {.folds = 5, .seed = 1, .n_threads = 1};
    weft_arena *a = weft_arena_new();
    const char *out;
    weft_measured m;
    weft_fit f;

    CHECK_OK(weft_measured_parse(text, strlen(text), "t.csv", V100, a, &m));
    CHECK_OK(weft_fit_make(&m, V100, &how, a, &f));
    CHECK_INT(f.n_folds, 0);
    CHECK_OK(weft_fit_platform(&f, V100, a, &out));
    CHECK(strstr(out, "calibrated") == NULL);
    weft_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planted_constants_are_found_again),
        cmocka_unit_test(the_answer_depends_on_nothing_else),
        cmocka_unit_test(one_group_holds_nothing_out),
    };

    return RUN_TESTS(tests);
}
