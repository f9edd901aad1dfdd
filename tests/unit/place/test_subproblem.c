/* SPDX-License-Identifier: MIT */
/* Pieces: barriers, dominated edges, parts in series, the exact search. */
#include "check.h"
#include "fixtures.h"

#include "series.h"
#include "subproblem.h"

/* A problem as a piece, with the memory of both. */
typedef struct sample {
    weft_problem *p;
    weft_arena *a;
    weft_domain m;
    weft_subproblem *x;
} sample;

static sample open_sample(weft_problem *p)
{
    sample s = {.p = p, .a = weft_arena_new()};

    s.m = weft_domain_new(p, s.a);
    s.x = weft_subproblem_of(&s.m, s.a);
    return s;
}

static void close_sample(sample *s)
{
    weft_arena_free(s->a);
    weft_problem_free(s->p);
}

static weft_answer least(const weft_subproblem *x, weft_arena *a)
{
    weft_effort e = {.upper = INFINITY};
    weft_answer r = weft_subproblem_solve(x, &e, a);

    CHECK(r.is_closed);
    return r;
}

/* --- barriers -------------------------------------------------------------------------------- */

/* reach[u * n + v]: a way leads from u to v. */
static bool *ways(const weft_subproblem *x, weft_arena *a)
{
    int n = x->n_tasks;
    bool *reach = WEFT_NEW(a, bool, n *n);

    for (int u = n - 1; u >= 0; u--) {
        for (int i = x->out_at[u]; i < x->out_at[u + 1]; i++) {
            int v = x->to[x->out[i]];

            reach[u * n + v] = true;
            for (int w = 0; w < n; w++)
                reach[u * n + w] |= reach[v * n + w];
        }
    }
    return reach;
}

TEST(a_barrier_precedes_or_follows_every_other_task)
{
    for (uint64_t seed = 1; seed <= N_DRAWN(500); seed++) {
        sample s = open_sample(random_problem(seed, 2 + (int)(seed % 14), 2));
        int n = s.x->n_tasks;
        bool *reach = ways(s.x, s.a), *is_barrier = weft_subproblem_barriers(s.x, s.a);

        for (int v = 0; v < n; v++) {
            bool is_comparable = true;

            for (int u = 0; u < n; u++)
                is_comparable &= u == v || reach[u * n + v] || reach[v * n + u];
            CHECK_INT(is_barrier[v], is_comparable);
        }
        close_sample(&s);
    }
}

/* --- dominated edges ------------------------------------------------------------------------- */

TEST(edges_that_never_decide_are_left_out)
{
    /* 0-2:1 takes no longer than the way through 1: 1 at least, without any transfer */
    sample s = open_sample(fixture_tasks("2 2/1 1/3 3; 0-1:4 1-2:4 0-2:1"));
    weft_subproblem *thin = weft_subproblem_thin(s.x, s.a);

    CHECK_INT(s.x->n_edges, 3);
    CHECK_INT(thin->n_edges, 2);
    close_sample(&s);
    s = open_sample(fixture_tasks("2 2/1 1/3 3; 0-1:4 1-2:4 0-2:6")); /* it may decide: 6 > 5 */
    CHECK_INT(weft_subproblem_thin(s.x, s.a)->n_edges, 3);
    close_sample(&s);
}

TEST(the_least_value_does_not_need_them)
{
    int n_left_out = 0;

    for (uint64_t seed = 1; seed <= N_DRAWN(400); seed++) {
        sample s = open_sample(random_problem(seed, 8, 1 + (int)(seed % 3)));
        weft_subproblem *thin = weft_subproblem_thin(s.x, s.a);

        n_left_out += s.x->n_edges - thin->n_edges;
        CHECK_NEAR(least(thin, s.a).value, least(s.x, s.a).value);
        close_sample(&s);
    }
    CHECK(n_left_out > N_DRAWN(50));
}

/* --- parts in series ------------------------------------------------------------------------- */

TEST(a_barrier_is_no_cut_if_a_tensor_passes_it)
{
    /* a (1, 99), v (1, 99), b (99, 1); the rule for cuts would say 4 at v, but a's tensor needs 10:
     * a and v on P1 until 2, its tensor is on P2 at 11, b ends at 12 */
    sample s = open_sample(fixture_tasks("1 99/1 99/99 1; 0-1:10 0-2:10 1-2:1"));
    weft_series_effort e = {.lower = 1, .part_states = 1000, .most_states = INT64_MAX};
    weft_series r = weft_series_tails(s.x, &e, s.a);

    CHECK_INT(r.n_barriers, 3);
    CHECK_NEAR(least(s.x, s.a).value, 12.0);
    CHECK(r.bound <= 12 * (1 + 1e-12));
    s.x->tail_s = r.tail_s;
    CHECK_NEAR(least(s.x, s.a).value, 12.0);
    close_sample(&s);
}

TEST(work_on_other_devices_must_come_from_the_entry_and_leave_to_the_exit)
{
    /* a (1), six tasks of 2, z (1), all transfers 3. With a on P1 until 1, P2 begins at 4. If z
     * starts at X on P1, work on P2 ends by X - 3: (X - 1) + (X - 3 - 4) >= 12, X = 10. On P2:
     * (X - 3 - 1) + (X - 4) >= 12, X = 10. So 11, found without search */
    sample s = open_sample(fixture_tasks("1 1/2 2/2 2/2 2/2 2/2 2/2 2/1 1; 0-1:3 0-2:3 0-3:3 0-4:3 "
                                         "0-5:3 0-6:3 1-7:3 2-7:3 3-7:3 4-7:3 5-7:3 6-7:3"));
    weft_series_effort e = {.lower = 1, .part_states = 1, .most_states = INT64_MAX};

    CHECK_NEAR(weft_series_tails(s.x, &e, s.a).bound, 11.0);
    CHECK_NEAR(least(s.x, s.a).value, 11.0); /* 3 on P1 from 1 to 7, sent by 10; 3 on P2, z on P2 */
    close_sample(&s);
}

TEST(series_never_exceed_the_least_value_and_tails_keep_it)
{
    int n_tight = 0;

    for (uint64_t seed = 1; seed <= N_DRAWN(600); seed++) {
        sample s = open_sample(random_problem(seed, 3 + (int)(seed % 7), 1 + (int)(seed % 3)));
        weft_series_effort e = {.lower = 1, .part_states = 1000000, .most_states = INT64_MAX};
        weft_series r = weft_series_tails(s.x, &e, s.a);
        double value = least(s.x, s.a).value;

        CHECK(r.bound <= value * (1 + 1e-9));
        n_tight += r.bound >= value * (1 - 1e-9);
        s.x->tail_s = r.tail_s;
        CHECK_NEAR(least(s.x, s.a).value, value);
        close_sample(&s);
    }
    CHECK(n_tight >
          N_DRAWN(300)); /* most random problems of this kind have no tensor past a barrier */
}

/* --- the search ------------------------------------------------------------------------------ */

TEST(the_value_is_that_of_the_schedule)
{
    for (int i = 0; i < N_FIXTURES; i++) {
        sample s = open_sample(fixture_tasks(fixture_all[i].text));
        weft_answer r = least(s.x, s.a);
        int *order = WEFT_NEW(s.a, int, s.x->n_tasks), n = s.x->n_tasks;
        double *start_s = WEFT_NEW(s.a, double, n);

        for (int u = 0; u < n; u++) /* by start; numbers are topological */
            for (int at = order[u] = u; at > 0 && r.start_s[order[at - 1]] > r.start_s[u]; at--) {
                order[at] = order[at - 1];
                order[at - 1] = u;
            }
        CHECK_NEAR(r.value, fixture_all[i].optimum_s);
        CHECK(weft_subproblem_time(s.x, r.device, order, start_s) <= r.value * (1 + 1e-12));
        close_sample(&s);
    }
}

TEST(nothing_below_the_least_value_is_found_and_that_is_proved)
{
    sample s = open_sample(fixture_tasks(fixture_heft));
    weft_effort e = {.upper = 73};
    weft_answer r = weft_subproblem_solve(s.x, &e, s.a);

    CHECK(r.is_closed && r.device == NULL && isinf(r.value));
    CHECK_NEAR(r.bound, 73.0);
    e.upper = 74;
    r = weft_subproblem_solve(s.x, &e, s.a);
    CHECK(r.is_closed);
    CHECK_NEAR(r.value, 73.0);
    close_sample(&s);
}

TEST(a_search_that_is_cut_short_still_bounds)
{
    for (uint64_t seed = 1; seed <= N_DRAWN(200); seed++) {
        sample s = open_sample(random_problem(seed, 9, 3));
        double value = least(s.x, s.a).value;

        for (int64_t n = 1; n < 4000; n *= 5) {
            weft_effort e = {.upper = INFINITY, .most_states = n};
            weft_answer r = weft_subproblem_solve(s.x, &e, s.a);

            CHECK(r.bound <= value * (1 + 1e-9));
            CHECK(r.value >= value * (1 - 1e-9));
            CHECK(!r.is_closed || r.value <= value * (1 + 1e-9));
        }
        close_sample(&s);
    }
}

TEST(equal_devices_do_not_multiply_the_search)
{
    sample one = open_sample(fixture_tasks("3 3/4 4/5 5/6 6; 0-3:1 1-3:1 2-3:1"));
    sample two = open_sample(fixture_tasks("3 3 3 3/4 4 4 4/5 5 5 5/6 6 6 6; 0-3:1 1-3:1 2-3:1"));
    weft_answer few = least(one.x, one.a), many = least(two.x, two.a);

    CHECK_NEAR(few.value,
               13.0); /* 3 and 4 on one device end at 7, the transfer of 5 at 6; 6 more */
    CHECK_NEAR(many.value,
               11.0); /* side by side; the last one where 5 ended: all is there by then */
    CHECK(many.n_states < 6 * few.n_states);
    close_sample(&one);
    close_sample(&two);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_barrier_precedes_or_follows_every_other_task),
        cmocka_unit_test(edges_that_never_decide_are_left_out),
        cmocka_unit_test(the_least_value_does_not_need_them),
        cmocka_unit_test(a_barrier_is_no_cut_if_a_tensor_passes_it),
        cmocka_unit_test(work_on_other_devices_must_come_from_the_entry_and_leave_to_the_exit),
        cmocka_unit_test(series_never_exceed_the_least_value_and_tails_keep_it),
        cmocka_unit_test(the_value_is_that_of_the_schedule),
        cmocka_unit_test(nothing_below_the_least_value_is_found_and_that_is_proved),
        cmocka_unit_test(a_search_that_is_cut_short_still_bounds),
        cmocka_unit_test(equal_devices_do_not_multiply_the_search),
    };

    return RUN_TESTS(tests);
}
