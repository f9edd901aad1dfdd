/* SPDX-License-Identifier: MIT */
/* Task graphs like those of the Standard Task Graph Set: 50 tasks with whole-number times on 2 to 16
 * equal processors. `auto` proves at least nine of ten. WEFT_LONG_TESTS=1 draws 200 of them, and
 * says what they took. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include "draw_stg.h"
#include "place.h"

#include <stdio.h>
#include <time.h>

enum { N_TASKS = 50, N_FEW = 16, N_ALL = 200, STEPS = 1600000 };
static const double MOST_S = 2; /* of one core, for each */

static double processor_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Processor seconds of `auto`; INFINITY: not proved. */
static double seconds_of(uint64_t seed)
{
    weft_arena *a = weft_arena_new();
    weft_problem *p = draw_stg(seed, N_TASKS);
    weft_run run = {.seed = 1,
                    .n_threads = 1,
                    .limit_s = INFINITY,
                    .steps = STEPS,
                    .scratch = weft_arena_new()};
    double begin_s = processor_s(), seconds;
    weft_solution s;

    CHECK_OK(weft_solve(weft_place_find("auto"), p, NULL, &run, NULL, a, &s));
    seconds = processor_s() - begin_s;
    if (s.proof.outcome != WEFT_OPTIMAL) {
        print_message("seed %d, %d processors: %g, bound %g (%s), %.2f s\n", (int)seed,
                      p->n_devices, s.proof.value, s.proof.bound, s.proof.method, seconds);
        seconds = INFINITY;
    }
    weft_arena_free(run.scratch);
    weft_problem_free(p);
    weft_arena_free(a);
    return seconds;
}

TEST(nine_of_ten_are_proved)
{
    bool is_long = getenv("WEFT_LONG_TESTS") != NULL;
    int n = is_long ? N_ALL : N_FEW, n_proved = 0, n_in_time = 0;
    double most_s = 0, sum_s = 0;

    for (int seed = 1; seed <= n; seed++) {
        double seconds = seconds_of((uint64_t)seed);

        n_proved += seconds < INFINITY;
        n_in_time += seconds <= MOST_S;
        if (seconds < INFINITY) {
            most_s = fmax(most_s, seconds);
            sum_s += seconds;
        }
    }
    print_message("%d of %d proved, %d within %g s of one core; mean %.3f s, longest %.2f s\n",
                  n_proved, n, n_in_time, MOST_S, sum_s / n, most_s);
    CHECK(n_proved >= 0.9 * n);
    CHECK(!is_long || !IS_THOROUGH || n_in_time >= 0.9 * n);
}

int main(void)
{
    const struct CMUnitTest list[] = {
        cmocka_unit_test(nine_of_ten_are_proved),
    };

    return RUN_TESTS(list);
}
