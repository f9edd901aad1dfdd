/* SPDX-License-Identifier: MIT */
/* The clock of the planner against the simulator, on random plans of all schedules, with parameters
 * that two chunks share: the search compares plans by the one, reports come from the other. */
#include "check.h"
#include "draw_training.h"
#include "space.h"

static int n_compared[WEFT_N_SCHEDULES];

static void compare_plan(uint64_t seed, weft_schedule schedule)
{
    draw_training_ask constraints = {.is_dag = seed % 3 == 0,
                                     .is_contend = seed % 4 == 0,
                                     .has_shared = seed % 2 == 0,
                                     .is_sharing = seed % 5 == 0};
    weft_rng r = weft_rng_seed(seed);
    drawn_training d = draw_training(&constraints, &r);
    weft_arena *a = weft_arena_new();
    weft_train_measures m;
    weft_train_plan plan;

    if (draw_pipeline(d.training, schedule, &r, a, &plan)) {
        CHECK_OK(weft_train_plan_evaluate(d.training, &plan, a, &m));
        CHECK(fabs(weft_pipe_plan_s(d.training, &plan, a) - m.step_s) <= 1e-12 * m.step_s);
        n_compared[schedule]++;
    }
    weft_arena_free(a);
    drop_training(&d);
}

TEST(the_clock_is_that_of_the_simulator)
{
    for (int i = 0; i < N_DRAWN(2000); i++)
        compare_plan((uint64_t)i + 1, (weft_schedule)(i / 12 % WEFT_N_SCHEDULES));
    for (int i = 0; i < WEFT_N_SCHEDULES; i++)
        CHECK(n_compared[i] >= N_DRAWN(200));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_clock_is_that_of_the_simulator)};

    return RUN_TESTS(tests);
}
