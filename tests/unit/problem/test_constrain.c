/* SPDX-License-Identifier: MIT */
#include "check.h"
#include "problem.h"

/* Five tasks in a row on two devices; "a/long one" has a blank and a slash, as nodes may have. */
static const char *const task[] = {"conv_1", "conv_2", "a/long one", "x=y", "end"};
static const char *const device[] = {"cpu", "gpu0"};

static weft_status make(const char *pin, const char *together, const int *colocation,
                        weft_problem **out)
{
    static const double seconds[10] = {1, 1, 1, 1, 1, 1, 1, 1, 1, INFINITY};
    static const double amount[4] = {1, 1, 1, 1};
    static const int producer[4] = {0, 1, 2, 3}, reader[4] = {1, 2, 3, 4}, at[5] = {0, 1, 2, 3, 4};
    weft_problem_spec s = {
        .n_tasks = 5,
        .n_devices = 2,
        .n_tensors = 4,
        .task_name = task,
        .device_name = device,
        .seconds = seconds,
        .amount = amount,
        .producer = producer,
        .reader_at = at,
        .reader = reader,
        .colocation = colocation,
        .host = -1,
        .constraints = {.pin = pin, .together = together}
    };

    return weft_problem_make(&s, out);
}

static void check_columns(const char *pin, const char *together, const int *colocation,
                          const int *pins, const int *groups)
{
    weft_problem *p = NULL;

    CHECK_OK(make(pin, together, colocation, &p));
    for (int u = 0; u < 5; u++)
        CHECK_INT(p->pin[u], pins[u]);
    for (int u = 0; u < 5; u++)
        for (int v = 0; v < 5; v++)
            CHECK_INT(u == v || (p->colocation[u] >= 0 && p->colocation[u] == p->colocation[v]),
                      u == v || (groups[u] >= 0 && groups[u] == groups[v]));
    weft_problem_free(p);
}

TEST(names_and_patterns_pin)
{
    const int none[] = {-1, -1, -1, -1, -1};

    check_columns("conv_1=gpu0", NULL, NULL, (int[]){1, -1, -1, -1, -1}, none);
    check_columns("conv*=gpu0,end=cpu", "", NULL, (int[]){1, 1, -1, -1, 0}, none);
    check_columns("conv_?=gpu0,conv_2=gpu0", NULL, NULL, (int[]){1, 1, -1, -1, -1}, none);
    check_columns("*long*e=cpu", NULL, NULL, (int[]){-1, -1, 0, -1, -1}, none);
    check_columns("x=y=gpu0", NULL, NULL, (int[]){-1, -1, -1, 1, -1}, none);
    check_columns("**=cpu", NULL, NULL, (int[]){0, 0, 0, 0, 0}, none);
}

TEST(names_and_patterns_share_a_device)
{
    const int free_[] = {-1, -1, -1, -1, -1};

    check_columns(NULL, "conv_1,end", NULL, free_, (int[]){0, -1, -1, -1, 0});
    check_columns(NULL, "conv*", NULL, free_, (int[]){0, 0, -1, -1, -1});
    check_columns(NULL, "conv_1,end;conv_2,x=y", NULL, free_, (int[]){0, 1, -1, 1, 0});
    check_columns(NULL, "conv_1,end;end,conv_2", NULL, free_, (int[]){0, 0, -1, -1, 0});
    /* groups of the problem stay, and grow */
    check_columns(NULL, "end,conv_1", (int[]){7, 7, -1, 3, 3}, free_, (int[]){0, 0, -1, 0, 0});
    check_columns("end=cpu", NULL, (int[]){7, 7, -1, 3, 3}, (int[]){-1, -1, -1, -1, 0},
                  (int[]){7, 7, -1, 3, 3});
}

TEST(wrong_words_are_named)
{
    weft_problem *p;

    CHECK_FAILS(make("conv_3=gpu0", NULL, NULL, &p),
                "--pin: there is no node 'conv_3' (did you mean 'conv_");
    CHECK_FAILS(make("conv_1=gpu7", NULL, NULL, &p),
                "--pin: there is no device 'gpu7' (did you mean 'gpu0'?)");
    CHECK_FAILS(make("conv_1", NULL, NULL, &p), "--pin is 'conv_1', expected NODE=DEVICE");
    CHECK_FAILS(make("=cpu", NULL, NULL, &p), "expected NODE=DEVICE");
    CHECK_FAILS(make("conv_1=", NULL, NULL, &p), "expected NODE=DEVICE");
    CHECK_FAILS(make(",", NULL, NULL, &p), "expected NODE=DEVICE");
    CHECK_FAILS(make(NULL, "conv_1,,end", NULL, &p), "expected names of nodes");
    CHECK_FAILS(make(NULL, "conv_1,last", NULL, &p), "--together: there is no node 'last'");
    CHECK_FAILS(make("end=gpu0", NULL, NULL, &p), "'end' is pinned to 'gpu0'");
}

TEST(contradictions_are_named)
{
    weft_problem *p;

    CHECK_FAILS(make("conv*=gpu0,conv_2=cpu", NULL, NULL, &p),
                "--pin: 'conv_2' is pinned to 'gpu0' and to 'cpu'");
    CHECK_FAILS(make("conv_1=gpu0,end=cpu", "conv_1,end", NULL, &p),
                "'conv_1' is pinned to 'gpu0' and 'end' to 'cpu', but they must share");
    CHECK_FAILS(make("conv_1=gpu0,conv_2=cpu", NULL, (int[]){7, 7, -1, 3, 3}, &p),
                "they must share");
}

TEST(what_is_asked_for_changes_the_hash)
{
    weft_problem *plain, *pinned, *together;

    CHECK_OK(make(NULL, NULL, NULL, &plain));
    CHECK_OK(make("conv_1=cpu", NULL, NULL, &pinned));
    CHECK_OK(make(NULL, "conv_1,conv_2", NULL, &together));
    CHECK(plain->hash != pinned->hash && plain->hash != together->hash &&
          pinned->hash != together->hash);
    CHECK(plain->constraints.pin == NULL);
    CHECK_TEXT(pinned->constraints.pin, "conv_1=cpu");
    CHECK_TEXT(together->constraints.together, "conv_1,conv_2");
    weft_problem_free(plain);
    weft_problem_free(pinned);
    weft_problem_free(together);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_patterns_pin),
        cmocka_unit_test(names_and_patterns_share_a_device),
        cmocka_unit_test(wrong_words_are_named),
        cmocka_unit_test(contradictions_are_named),
        cmocka_unit_test(what_is_asked_for_changes_the_hash),
    };

    return RUN_TESTS(tests);
}
