/* SPDX-License-Identifier: MIT */
/* Batches and shares to choose from: which there are, and that no plan of any of them is better than
 * what is proved of all. */
#include "check.h"
#include "choices.h"

static weft_request split_of(int64_t batch)
{
    return (weft_request){.model = "alexnet",
                          .platform = "server-cpu-2gpu",
                          .options = {.batch = batch},
                          .constraints = {.splits_batch = true}};
}

/* Names of all choices, with ", " between them. */
static const char *names(const weft_request *r, int n_devices, weft_arena *a)
{
    const char *text = "";
    int n;
    const weft_batching *c = weft_choices_of(r, n_devices, a, &n);

    for (int i = 0; i < n; i++)
        text = weft_arena_print(a, "%s%s%s", text, i > 0 ? ", " : "", weft_batching_name(&c[i], a));
    return text;
}

TEST(shares_are_parts_of_a_grid_that_descend)
{
    weft_arena *a = weft_arena_new();
    weft_request r = split_of(4);
    int n;

    CHECK_TEXT(names(&r, 3, a), "4, 3 + 1, 2 + 2, 2 + 1 + 1");
    CHECK_TEXT(names(&r, 2, a), "4, 3 + 1, 2 + 2");
    CHECK_TEXT(names(&r, 1, a), "4");
    r = split_of(12);
    CHECK_TEXT(names(&r, 2, a), "12, 10 + 2, 8 + 4, 6 + 6");
    r = split_of(11); /* prime */
    CHECK_TEXT(names(&r, 4, a), "11");
    r = split_of(64); /* as many as 8 has parts, up to four of them */
    weft_choices_of(&r, 100, a, &n);
    CHECK_INT(n, 15);
    r = (weft_request){
        .constraints = {.goal = WEFT_THROUGHPUT, .batches = {3, {1, 4, 16}}}
    };
    CHECK_TEXT(names(&r, 3, a), "1, 4, 16");
    weft_arena_free(a);
}

TEST(plans_are_of_choices)
{
    weft_arena *a = weft_arena_new();
    const weft_platform on = {.n_devices = 3};
    weft_request r = split_of(8);

    CHECK(weft_choices_have(&r, &on, a));
    r.options.n_shares = 2;
    r.options.share[0] = 5, r.options.share[1] = 3;
    CHECK(weft_choices_have(&r, &on, a));
    r.options.share[0] = 3, r.options.share[1] = 5; /* not descending */
    CHECK(!weft_choices_have(&r, &on, a));
    weft_arena_free(a);
}

static double value_of(const weft_request *r, weft_arena *a)
{
    weft_run run = {.n_threads = 1, .limit_s = INFINITY, .steps = 300, .scratch = weft_arena_new()};
    weft_solution s;
    weft_case c;

    CHECK_OK(weft_case_open(r, &c));
    CHECK_OK(weft_solve(weft_place_find("auto"), c.problem, NULL, &run, NULL, a, &s));
    CHECK(weft_has_plan(&s.proof));
    weft_case_close(&c);
    weft_arena_free(run.scratch);
    return s.proof.value;
}

/* The bound of all choices, in the measure of each of them, is below the plans of all. */
static void check_bounds(const weft_request *r)
{
    weft_arena *a = weft_arena_new();
    const weft_platform on = {.n_devices = 3};
    int n;
    const weft_batching *c = weft_choices_of(r, 3, a, &n);

    for (int i = 0; i < n; i++) {
        weft_request one = weft_batching_request(r, &c[i]);
        double bound, value = value_of(&one, a);

        CHECK_OK(weft_choices_bound(&one, &on, a, &bound));
        CHECK(bound > 0 && bound <= value * (1 + 1e-9));
        for (int k = 0; k < n; k++) {
            weft_request other = weft_batching_request(r, &c[k]);
            double theirs;

            CHECK_OK(weft_choices_bound(&other, &on, a, &theirs));
            CHECK_NEAR(theirs * weft_batching_scale(r, &c[k], &c[i]), bound);
        }
    }
    weft_arena_free(a);
}

TEST(no_plan_of_any_choice_is_below_the_bound)
{
    weft_request stream = {
        .model = "alexnet",
        .platform = "server-cpu-2gpu",
        .constraints = {.goal = WEFT_THROUGHPUT, .batches = {3, {1, 4, 16}}}
    };
    weft_request shares = split_of(4);

    check_bounds(&stream);
    check_bounds(&shares);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_parts_of_a_grid_that_descend),
        cmocka_unit_test(plans_are_of_choices),
        cmocka_unit_test(no_plan_of_any_choice_is_below_the_bound),
    };

    return RUN_TESTS(tests);
}
