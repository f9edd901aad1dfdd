/* SPDX-License-Identifier: MIT */
/* The largest span over each point, against one span after the other. */
#include "check.h"
#include "cover.h"

static void check_draw(weft_rng *rng, weft_arena *a)
{
    int n = weft_rng_below(rng, 30), n_spans = n == 0 ? 0 : weft_rng_below(rng, 40);
    weft_cover *span = WEFT_NEW(a, weft_cover, n_spans);
    double *most = WEFT_NEW(a, double, n), *expected = WEFT_NEW(a, double, n);

    for (int i = 0; i < n; i++)
        most[i] = expected[i] = weft_rng_below(rng, 4) - 1;
    for (int k = 0; k < n_spans; k++) {
        int begin = weft_rng_below(rng, n), end = begin + weft_rng_below(rng, n - begin + 1);

        span[k] = (weft_cover){begin, end, weft_rng_below(rng, 8) - 1};
        for (int i = begin; i < end; i++)
            expected[i] = expected[i] > span[k].value ? expected[i] : span[k].value;
    }
    weft_cover_raise(span, n_spans, most, n, a);
    for (int i = 0; i < n; i++)
        CHECK(most[i] == expected[i]);
}

TEST(raises_each_point_to_its_largest_span)
{
    weft_rng rng = weft_rng_seed(7);

    for (int i = 0; i < 2000; i++) {
        weft_arena *a = weft_arena_new();

        check_draw(&rng, a);
        weft_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(raises_each_point_to_its_largest_span),
    };

    return RUN_TESTS(tests);
}
