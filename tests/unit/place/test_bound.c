/* SPDX-License-Identifier: MIT */
/* Bounds of pieces: worked out by hand, and known values of the literature's instances. */
#include "check.h"
#include "fixtures.h"

#include "bound.h"

static const double ENOUGH = 1e9;

typedef struct subject {
    weft_arena *a;
    weft_problem *p;
    weft_subproblem *x;
} subject;

static subject take(const char *text)
{
    subject s = {.a = weft_arena_new(), .p = fixture_tasks(text)};
    weft_domain m = weft_domain_new(s.p, s.a);

    s.x = weft_subproblem_of(&m, s.a);
    return s;
}

static void drop(subject *s)
{
    weft_arena_free(s->a);
    weft_problem_free(s->p);
}

/* max over tasks of min over devices of head + time + tail. */
static double path_of(const subject *s, bool is_deep)
{
    int n = s->x->n_devices, n_tasks = s->x->n_tasks;
    double *head_s = WEFT_NEW(s->a, double, n_tasks *n);
    double *tail_s = WEFT_NEW(s->a, double, n_tasks *n), most_s = 0;

    weft_ancestor_heads(s->x, is_deep, head_s, s->a);
    weft_ancestor_heads(weft_subproblem_reverse(s->x, s->a), is_deep, tail_s, s->a);
    for (int i = 0; i < n_tasks; i++) {
        double least_s = INFINITY;

        for (int k = 0; k < n; k++)
            least_s = fmin(least_s, head_s[i * n + k] + s->x->time_s[i * n + k] +
                                        tail_s[(n_tasks - 1 - i) * n + k]);
        most_s = fmax(most_s, least_s);
    }
    return most_s;
}

TEST(one_machine_with_heads_and_tails)
{
    weft_job job[3] = {
        {0, 4, 0},
        {1, 2, 7},
        {5, 3, 3}
    };
    double scratch[3];

    CHECK_NEAR(weft_machine_bound(job, 0, scratch), 0.0);
    /* {b, c}: 1 + (2 + 3) + 3 = 9; b alone 1 + 2 + 7 = 10; c alone 11; all: 0 + 9 + 0 */
    CHECK_NEAR(weft_machine_bound(job, 3, scratch), 11.0);
    job[0] = (weft_job){0, 0, 20}; /* no time: 0 + 0 + 20 */
    CHECK_NEAR(weft_machine_bound(job, 3, scratch), 20.0);
    job[1].tail_s = INFINITY;
    CHECK(isinf(weft_machine_bound(job, 3, scratch)));
}

typedef struct known {
    const char *text;
    double path_s, propagation_s, shaving_s;
} known;

static const known literature[] = {
    {fixture_heft,   54, 69, 73},
    {fixture_ahmad,  27, 27, 27},
    {fixture_hamid,  95, 98, 98},
    {fixture_hsu,    58, 80, 80},
    {fixture_kang1,  53, 69, 73},
    {fixture_kuan,   18, 24, 26},
    {fixture_sample, 71, 78, 81},
};

/* Table of section 12 of the method; the deep heads alone are its value 63 for the first. */
TEST(known_values_of_the_literature)
{
    for (int i = 0; i < N_FIXTURES; i++) {
        const known *k = &literature[i];
        subject s = take(k->text);

        CHECK_NEAR(path_of(&s, false), k->path_s);
        CHECK_NEAR(weft_refute_bound(s.x, INFINITY, false, ENOUGH, s.a), k->propagation_s);
        CHECK_NEAR(weft_refute_bound(s.x, INFINITY, true, ENOUGH, s.a), k->shaving_s);
        drop(&s);
    }
}

TEST(ancestors_that_share_a_device_raise_heads)
{
    subject s = take(fixture_heft);

    CHECK_NEAR(path_of(&s, true), 63.0);
    drop(&s);
    /* c on P1 has a and b before it: both on P1 (5 + 5), or one sent for 9 after 5 seconds */
    s = take("5 5/5 5/1 1; 0-2:9 1-2:9");
    CHECK_NEAR(path_of(&s, false), 6.0);
    CHECK_NEAR(path_of(&s, true), 11.0);
    drop(&s);
}

TEST(a_refutation_is_strict)
{
    subject s = take(fixture_heft);

    CHECK(weft_refute(s.x, 73 * (1 - 1e-11), true, ENOUGH, s.a));
    CHECK(!weft_refute(s.x, 73 * (1 + 1e-11), true, ENOUGH, s.a)); /* a plan takes 73 */
    CHECK(!weft_refute(s.x, 73 * 1.01, true, ENOUGH, s.a));
    CHECK(!weft_refute(s.x, 73 * (1 - 1e-11), false, ENOUGH, s.a));
    CHECK(weft_refute(s.x, 69 * (1 - 1e-11), false, ENOUGH, s.a));
    CHECK(!weft_refute(s.x, 69 * (1 - 1e-11), false, 1, s.a)); /* no work, no refutation */
    CHECK(weft_refute(s.x, 0, false, ENOUGH, s.a));
    drop(&s);
}

TEST(no_device_left_is_no_plan)
{
    subject s = take("1 x/x 1; 0-1:1");
    double none[4] = {INFINITY, 1, INFINITY, INFINITY};

    s.x->time_s = none;
    CHECK(isinf(weft_refute_bound(s.x, INFINITY, false, ENOUGH, s.a)));
    drop(&s);
}

TEST(groups_lose_devices_together)
{
    static const int group[2] = {0, 0};
    subject s = take("1 9/9 1; 0-1:0");

    CHECK_NEAR(weft_refute_bound(s.x, INFINITY, true, ENOUGH, s.a), 2.0);
    s.x->group = group; /* on one device: 1 + 9 */
    s.x->n_groups = 1;
    CHECK_NEAR(weft_refute_bound(s.x, INFINITY, true, ENOUGH, s.a), 10.0);
    drop(&s);
}

TEST(loads_and_bodies_of_the_heft_example)
{
    subject s = take(fixture_heft);
    int task[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    double price[3], load_s = weft_priced_mapping_bound(s.x, task, 10, price, s.a);

    CHECK(fabs(load_s - 30.785) < 5e-4);
    CHECK_NEAR(price[0] + price[1] + price[2], 1.0);
    CHECK_NEAR(weft_head_tail_bound(s.x, 1e4, s.a), 52.0);    /* heads along single ways */
    CHECK_NEAR(weft_head_tail_bound(s.x, ENOUGH, s.a), 63.0); /* ancestors together */
    drop(&s);
}

/* Two diamonds in a row, with transfers so dear that a device does both branches. */
TEST(parts_in_series_add_up)
{
    subject s = take("2 2/3 3/3 3/2 2/3 3/3 3/2 2;"
                     "0-1:99 0-2:99 1-3:99 2-3:99 3-4:99 3-5:99 4-6:99 5-6:99");

    CHECK_NEAR(weft_series_bound(s.x, 4, ENOUGH, s.a), (2.0 + 3 + 3 + 2) + (3.0 + 3 + 2));
    CHECK_NEAR(weft_series_bound(s.x, 1, ENOUGH, s.a), 2.0 + 3 + 2 + 3 + 2); /* a branch is left */
    drop(&s);
}

/* The first of the n tasks before it, and the last after them; `chain` of such in a row, all of
 * them 4 seconds but the middle ones 3, on two equal devices with free transfers. */
static weft_problem *fans(int chain, int n)
{
    char text[8192];
    size_t at = 0;
    int size = n + 2;

    for (int u = 0; u < chain * size; u++) {
        int length = u % size == 0 || u % size == size - 1 ? 4 : 3;

        at +=
            (size_t)snprintf(text + at, sizeof text - at, "%s%d %d", u ? "/" : "", length, length);
    }
    at += (size_t)snprintf(text + at, sizeof text - at, ";");
    for (int c = 0; c < chain; c++) {
        for (int i = 1; i <= n; i++)
            at += (size_t)snprintf(text + at, sizeof text - at, "%d-%d:0 %d-%d:0 ", c * size,
                                   c * size + i, c * size + i, c * size + size - 1);
        if (c > 0)
            at += (size_t)snprintf(text + at, sizeof text - at, "%d-%d:0 ", c * size - 1, c * size);
    }
    return fixture_tasks(text);
}

TEST(a_value_that_is_optimal_is_proved_so)
{
    subject s = take(fixture_heft);
    weft_proof proof;

    weft_place_bound_more(s.p, 73, ENOUGH, s.a, &proof);
    CHECK(proof.bound <= 73 && proof.bound >= 73 * (1 - 1e-11));
    CHECK(proof.is_shaved && proof.refuted_s > 72 && proof.refuted_s <= proof.bound);
    CHECK_NEAR(weft_grain_up(1, proof.refuted_s), proof.bound);
    CHECK_TEXT(proof.method, "shaving");
    weft_place_bound_more(s.p, 54, ENOUGH, s.a, &proof); /* the path is enough */
    CHECK_TEXT(proof.method, "path");
    CHECK(proof.refuted_s == 0 && proof.again == NULL);
    drop(&s);
}

TEST(bounds_by_name_are_certificates)
{
    weft_arena *a = weft_arena_new();
    weft_problem *p = fans(1, 6);
    weft_proof proof;

    weft_place_bound_more(p, INFINITY, ENOUGH, a, &proof);
    CHECK_TEXT(proof.method, "head-tail");
    CHECK_TEXT(proof.again, "head-tail");
    CHECK_NEAR(proof.bound, 4.0 + 6 * 3 / 2.0 + 4);
    CHECK(weft_bound_again(p, "head-tail") == proof.certified);
    CHECK(!weft_method_is_search(proof.method) && weft_method_is_search("search"));
    weft_problem_free(p);
    p = fans(7, 8); /* 70 tasks */
    weft_place_bound_more(p, INFINITY, ENOUGH, a, &proof);
    CHECK_TEXT(proof.method, "series");
    CHECK_NEAR(proof.bound, 7 * (4.0 + 8 * 3 / 2.0 + 4));
    CHECK(weft_bound_again(p, "series") == proof.certified);
    weft_problem_free(p);
    weft_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_machine_with_heads_and_tails),
        cmocka_unit_test(known_values_of_the_literature),
        cmocka_unit_test(ancestors_that_share_a_device_raise_heads),
        cmocka_unit_test(a_refutation_is_strict),
        cmocka_unit_test(no_device_left_is_no_plan),
        cmocka_unit_test(groups_lose_devices_together),
        cmocka_unit_test(loads_and_bodies_of_the_heft_example),
        cmocka_unit_test(parts_in_series_add_up),
        cmocka_unit_test(a_value_that_is_optimal_is_proved_so),
        cmocka_unit_test(bounds_by_name_are_certificates),
    };

    return RUN_TESTS(tests);
}
