/* SPDX-License-Identifier: MIT */
/* Quantiles, rank correlation and regret, computed by hand. */
#include "check.h"

#include "statistics.h"

TEST(quantiles_interpolate)
{
    const double four[] = {4, 1, 3, 2}, one[] = {7};
    weft_arena *a = weft_arena_new();

    CHECK_NEAR(weft_quantile(four, 4, 0.5, a), 2.5);
    CHECK_NEAR(weft_quantile(four, 4, 0.9, a), 3.7); /* 3 + 0.7 (4 - 3): place 0.9 * 3 = 2.7 */
    CHECK_NEAR(weft_quantile(four, 4, 0, a), 1.0);
    CHECK_NEAR(weft_quantile(four, 4, 1, a), 4.0);
    CHECK_NEAR(weft_quantile(one, 1, 0.9, a), 7.0);
    CHECK(isnan(weft_quantile(one, 0, 0.5, a)));
    weft_arena_free(a);
}

TEST(rank_correlation_knows_ties)
{
    const double x[] = {1, 2, 3, 4}, same[] = {10, 200, 3000, 40000}, back[] = {4, 3, 2, 1},
                 flat[] = {5, 5, 5, 5};
    /* Ranks 0, 1.5, 1.5, 3 beside 0, 1, 2, 3, mean 1.5: sums 1.5*1.5 + 0 + 0 + 1.5*1.5 = 4.5; squares 4.5 and 5. */
    const double tied[] = {1, 2, 2, 3};
    weft_arena *a = weft_arena_new();

    CHECK_NEAR(weft_spearman(x, same, 4, a), 1.0);
    CHECK_NEAR(weft_spearman(x, back, 4, a), -1.0);
    CHECK_NEAR(weft_spearman(tied, x, 4, a), 4.5 / sqrt(4.5 * 5));
    CHECK(isnan(weft_spearman(x, flat, 4, a)));
    weft_arena_free(a);
}

TEST(errors_are_of_times)
{
    const double measured[] = {1, 2, 4}, predicted[] = {1.1, 1, 4};
    weft_arena *a = weft_arena_new();
    weft_errors e = weft_errors_of(measured, predicted, 3, a);

    CHECK_NEAR(e.median, 0.1); /* of 0.1, 0.5, 0 */
    CHECK_NEAR(e.p90, 0.1 + 0.8 * 0.4);
    CHECK_NEAR(e.bias, 0.0); /* of +0.1, -0.5, 0 */
    CHECK_NEAR(e.spearman, 0.5);
    weft_arena_free(a);
}

TEST(regret_is_what_the_choice_costs)
{
    const double measured[] = {10, 12, 15}, good[] = {1, 2, 3}, bad[] = {3, 2, 1},
                 equal[] = {1, 1, 3};

    CHECK_NEAR(weft_regret(measured, good, 3), 0.0);
    CHECK_NEAR(weft_regret(measured, bad, 3), 0.5);
    CHECK_NEAR(weft_regret(measured, equal, 3), 0.1); /* 11 is the mean of 10 and 12 */
    CHECK(isnan(weft_regret(measured, good, 0)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_interpolate),
        cmocka_unit_test(rank_correlation_knows_ties),
        cmocka_unit_test(errors_are_of_times),
        cmocka_unit_test(regret_is_what_the_choice_costs),
    };

    return RUN_TESTS(tests);
}
