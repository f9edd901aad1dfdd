/* SPDX-License-Identifier: MIT */
/* Splitting and windows on every kind of random problem: a window is worth what the whole is worth,
 * schedules never get worse, plans keep all restrictions, threads do not matter. */
#include "anneal.h"
#include "check.h"
#include "first.h"
#include "fixtures.h"
#include "fuse.h"
#include "stitch.h"
#include "timing.h"
#include "window.h"

enum { MOST_TASKS = 60 };

/* --- shorthands ------------------------------------------------------------------------------ */

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * (1 + fabs(b));
}

/* Colours drawn on top: now and then two tasks must share a device. */
static void colocation_tasks(weft_problem *p, uint64_t seed)
{
    weft_rng r = weft_rng_seed(seed);
    int *colocation = WEFT_NEW(p->arena, int, p->n_tasks);

    for (int u = 0; u < p->n_tasks; u++)
        colocation[u] = weft_rng_below(&r, 3) == 0 ? weft_rng_below(&r, 4) : -1;
    p->colocation = colocation;
}

/* Every kind of problem in turn: plain, with little memory, with colours. */
static weft_problem *any_problem(uint64_t seed, int n_tasks)
{
    weft_problem *p = seed % 3 == 1 ? random_limited_problem(seed, n_tasks, 2 + (int)(seed % 2))
                                    : random_problem(seed, n_tasks, 1 + (int)(seed % 4));

    if (seed % 3 == 2)
        colocation_tasks(p, seed);
    return p;
}

static weft_solution solve(const weft_problem *p, const char *name, weft_run run, weft_arena *a)
{
    weft_solution s;

    run.scratch = weft_arena_new();
    CHECK_OK(weft_solve(weft_place_find(name), p, NULL, &run, NULL, a, &s));
    weft_arena_free(run.scratch);
    return s;
}

static const weft_run quick = {.seed = 1, .n_threads = 1, .limit_s = INFINITY, .steps = 5000};

static const volatile sig_atomic_t stopped = 1;

static bool has_plan(const weft_solution *s)
{
    return s->proof.outcome == WEFT_OPTIMAL || s->proof.outcome == WEFT_BOUNDED;
}

/* The schedule of a random plan, which makes room for improvement; NULL if there is none. */
static weft_timing *random_timing(const weft_problem *p, const weft_subproblem *x, int64_t seed,
                                  weft_arena *a)
{
    weft_run run = quick;
    weft_solution s;

    run.seed = seed;
    s = solve(p, "random", run, a);
    return has_plan(&s) ? weft_timing_new(x, s.plan.device, s.plan.start_s, a) : NULL;
}

/* --- timing ---------------------------------------------------------------------------------- */

TEST(timing_is_that_of_the_simulator)
{
    int n = 0;

    for (uint64_t seed = 1; seed <= N_DRAWN(300); seed++) {
        weft_problem *p = any_problem(seed, 1 + (int)(seed % 40));
        weft_arena *a = weft_arena_new();
        weft_domain m = weft_domain_new(p, a);
        weft_solution s = solve(p, "random", quick, a);

        if (has_plan(&s)) {
            weft_subproblem *x = weft_subproblem_of(&m, a);
            weft_timing *t = weft_timing_new(x, s.plan.device, s.plan.start_s, a);

            CHECK_NEAR(t->value, s.proof.value);
            CHECK(weft_timing_is_legal(t));
            for (int u = 0; u < p->n_tasks; u++) {
                CHECK_NEAR(t->start_s[u], s.plan.start_s[u]);
                CHECK(t->end_s[u] + t->rest_s[u] <= t->value * (1 + 1e-12));
            }
            n++;
        }
        weft_arena_free(a);
        weft_problem_free(p);
    }
    CHECK(n > N_DRAWN(150));
}

/* --- a window is worth what the whole is worth ----------------------------------------------- */

/* The longest way that passes no task of the window, by edges and by order on devices. */
static double longest_around(const weft_timing *t, const weft_window *w)
{
    const weft_subproblem *x = t->subproblem;
    double end_s[MOST_TASKS], longest_s = 0;
    int last[8] = {-1, -1, -1, -1, -1, -1, -1, -1};

    for (int i = 0; i < x->n_tasks; i++) {
        int u = t->order[i], d = t->device[u], n = x->n_devices;
        double at_s = fmax(x->free_s[d], x->release_s[u * n + d]);

        if (i >= w->first && i < w->last)
            continue;
        if (last[d] >= 0)
            at_s = fmax(at_s, end_s[last[d]]);
        for (int j = x->in_at[u]; j < x->in_at[u + 1]; j++) {
            int e = x->in[j], v = x->from[e];

            if (t->place[v] < w->first || t->place[v] >= w->last)
                at_s = fmax(at_s, end_s[v] + x->send_s[(e * n + t->device[v]) * n + d]);
        }
        end_s[u] = at_s + x->time_s[u * n + d];
        last[d] = u;
        longest_s = fmax(longest_s, end_s[u] + x->tail_s[u * n + d]);
    }
    return longest_s;
}

/* A random schedule of a piece: devices and a topological order. */
static void draw_schedule(const weft_subproblem *y, weft_rng *r, int *device, int *order)
{
    bool is_done[MOST_TASKS] = {false};

    for (int i = 0; i < y->n_tasks; i++) {
        int n_ready = 0, pick = -1, n = 0;

        for (int u = 0; u < y->n_tasks; u++) {
            bool is_ready = !is_done[u];

            for (int j = y->in_at[u]; j < y->in_at[u + 1]; j++)
                is_ready &= is_done[y->from[y->in[j]]];
            if (is_ready && weft_rng_below(r, ++n_ready) == 0)
                pick = u;
        }
        is_done[order[i] = pick] = true;
        for (int d = 0; d < y->n_devices; d++) {
            if (y->time_s[pick * y->n_devices + d] < INFINITY && weft_rng_below(r, ++n) == 0)
                device[pick] = d;
        }
    }
}

/* Value of the whole if the window is scheduled in that way. */
static double value_with(const weft_timing *t, const weft_window *w, const int *device,
                         const int *order)
{
    int n = t->subproblem->n_tasks, all_device[MOST_TASKS], all_order[MOST_TASKS];
    double start_s[MOST_TASKS];

    memcpy(all_device, t->device, sizeof *all_device * (size_t)n);
    memcpy(all_order, t->order, sizeof *all_order * (size_t)n);
    for (int i = 0; i < w->last - w->first; i++) {
        all_order[w->first + i] = t->order[w->first + order[i]];
        all_device[t->order[w->first + i]] = device[i];
    }
    return weft_subproblem_time(t->subproblem, all_device, all_order, start_s);
}

static void check_window(weft_timing *t, const weft_window *w, weft_rng *r, weft_arena *a)
{
    weft_subproblem *y = weft_window_subproblem(t, w, a);
    double around_s = longest_around(t, w), start_s[MOST_TASKS], value;
    int device[MOST_TASKS], order[MOST_TASKS];

    for (int i = 0; i < y->n_tasks; i++) {
        order[i] = i;
        device[i] = t->device[t->order[w->first + i]];
    }
    value = weft_subproblem_time(y, device, order, start_s); /* as it is */
    CHECK_NEAR(fmax(value, around_s), t->value);
    for (int i = 0; i < y->n_tasks; i++)
        CHECK_NEAR(start_s[i], t->start_s[t->order[w->first + i]]);
    CHECK(weft_window_matters(t, w) == !is_near(around_s, t->value));
    for (int trial = 0; trial < 5; trial++) {
        draw_schedule(y, r, device, order);
        value = weft_subproblem_time(y, device, order, start_s);
        CHECK_NEAR(fmax(value, around_s), value_with(t, w, device, order));
    }
}

TEST(a_window_is_worth_what_the_whole_is_worth)
{
    int n = 0;

    for (uint64_t seed = 1; seed <= 600; seed++) {
        weft_problem *p = random_problem(seed, 2 + (int)(seed % 40), 1 + (int)(seed % 4));
        weft_arena *a = weft_arena_new();
        weft_domain m = weft_domain_new(p, a);
        weft_timing *t = random_timing(p, weft_subproblem_of(&m, a), (int64_t)seed, a);
        weft_rng r = weft_rng_seed(seed);

        for (int trial = 0; t != NULL && trial < 5; trial++, n++) {
            bool is_free[MOST_TASKS];
            weft_window w = {weft_rng_below(&r, p->n_tasks), 0, trial % 2 ? is_free : NULL};

            w.last = w.first + 1 + weft_rng_below(&r, p->n_tasks - w.first);
            for (int u = 0; u < p->n_tasks; u++)
                is_free[u] = weft_rng_below(&r, 2) == 0;
            check_window(t, &w, &r, a);
        }
        weft_arena_free(a);
        weft_problem_free(p);
    }
    CHECK(n > 1000);
}

/* --- windows one after the other ------------------------------------------------------------- */

static const weft_window_options small_windows = {
    .most_free = 10, .most_states = 500, .most_beam = 64, .patience = 20};

/* Whatever the window was, the room for weights, the groups and the domains are kept. */
TEST(windows_never_worsen_a_schedule_and_keep_it_legal)
{
    double sum_before = 0, sum_after = 0;
    int n = 0;

    for (uint64_t seed = 1; seed <= N_DRAWN(300); seed++) {
        weft_problem *p = any_problem(seed, 2 + (int)(seed % 50));
        weft_arena *a = weft_arena_new();
        weft_domain m = weft_domain_new(p, a);
        weft_subproblem *x = weft_subproblem_of(&m, a);
        weft_timing *t = random_timing(p, x, (int64_t)seed, a), *after;
        weft_window_options o = small_windows;
        weft_run run = quick;
        int64_t steps = 5000;
        int module[MOST_TASKS];
        double value;

        for (int u = 0; u < p->n_tasks; u++)
            module[u] = u / 7;
        if (seed % 2) {
            o.module = module;
            o.n_modules = (p->n_tasks - 1) / 7 + 1;
        }
        if (t != NULL) {
            value = weft_windows(x, t->device, t->start_s, &o, &run, &steps);
            after = weft_timing_new(x, t->device, t->start_s, a);
            CHECK_NEAR(value, after->value);
            CHECK(weft_timing_is_legal(after));
            CHECK(value <= t->value * (1 + 1e-12));
            CHECK(steps <= 5000 + 1000);
            sum_before += log(t->value);
            sum_after += log(value);
            n++;
        }
        weft_arena_free(a);
        weft_problem_free(p);
    }
    CHECK(n > N_DRAWN(150));
    CHECK(exp((sum_after - sum_before) / n) < 0.8); /* random plans leave much to gain */
}

/* Pieces with memory or groups are left as they are; the others gain, and twice the same. */
TEST(annealing_never_worsens_a_schedule_and_keeps_it_legal)
{
    double sum_before = 0, sum_after = 0;
    int n = 0;

    for (uint64_t seed = 1; seed <= N_DRAWN(150); seed++) {
        weft_problem *p = any_problem(seed, 8 + (int)(seed % 50));
        weft_arena *a = weft_arena_new();
        weft_domain m = weft_domain_new(p, a);
        weft_subproblem *x = weft_subproblem_of(&m, a);
        weft_timing *t = random_timing(p, x, (int64_t)seed, a), *after;
        weft_timing *again = random_timing(p, x, (int64_t)seed, a);
        weft_run run = quick;
        int64_t steps = 20000, more = 20000;

        if (t != NULL) {
            double value = weft_anneal_spans(x, t->device, t->start_s, &run, &steps);

            after = weft_timing_new(x, t->device, t->start_s, a);
            CHECK_NEAR(value, after->value);
            CHECK(weft_timing_is_legal(after));
            CHECK(value <= t->value * (1 + 1e-12));
            CHECK(steps <= 20000);
            CHECK(weft_anneal_spans(x, again->device, again->start_s, &run, &more) == value);
            CHECK_INT(more, steps);
            if (x->n_weights == 0 && x->group == NULL && x->n_devices > 1) {
                sum_before += log(t->value);
                sum_after += log(value);
                n++;
            }
        }
        weft_arena_free(a);
        weft_problem_free(p);
    }
    CHECK(n > N_DRAWN(150) / 5);
    CHECK(exp((sum_after - sum_before) / n) < 0.8); /* random plans leave much to gain */
}

/* One span holds it all. */
TEST(annealing_on_the_literature_reaches_the_optimum)
{
    for (int i = 0; i < N_FIXTURES; i++) {
        weft_problem *p = fixture_tasks(fixture_all[i].text);
        weft_arena *a = weft_arena_new();
        weft_domain m = weft_domain_new(p, a);
        weft_subproblem *x = weft_subproblem_of(&m, a);
        weft_timing *t = random_timing(p, x, 1, a);
        weft_run run = quick;
        int64_t steps = 200000;
        double value = weft_anneal_spans(x, t->device, t->start_s, &run, &steps);

        CHECK_NEAR(value, fixture_all[i].optimum_s);
        weft_arena_free(a);
        weft_problem_free(p);
    }
}

TEST(windows_on_the_literature_reach_the_optimum)
{
    for (int i = 0; i < N_FIXTURES; i++) {
        weft_problem *p = fixture_tasks(fixture_all[i].text);
        weft_arena *a = weft_arena_new();
        weft_solution s = solve(p, "split", quick, a);

        CHECK_NEAR(s.proof.value, fixture_all[i].optimum_s); /* one window holds it all */
        weft_arena_free(a);
        weft_problem_free(p);
    }
}

/* --- chains and stitches --------------------------------------------------------------------- */

TEST(coarse_schedules_are_fine_schedules_of_the_same_value)
{
    int n_fused = 0;

    for (uint64_t seed = 1; seed <= 600; seed++) {
        weft_problem *p = any_problem(seed, 2 + (int)(seed % 25));
        weft_arena *a = weft_arena_new();
        weft_domain m = weft_domain_new(p, a);
        weft_subproblem *x = weft_subproblem_of(&m, a);
        weft_fused f = weft_subproblem_fuse(x, a);
        weft_timing *t = random_timing(p, x, (int64_t)seed, a), *coarse, *fine;
        int device[MOST_TASKS], fine_device[MOST_TASKS];
        double start_s[MOST_TASKS], fine_start_s[MOST_TASKS];

        if (t != NULL) {
            weft_fused_project(&f, t->device, t->start_s, device, start_s);
            coarse = weft_timing_new(f.coarse, device, start_s, a);
            weft_fused_expand(&f, coarse->device, coarse->start_s, fine_device, fine_start_s);
            fine = weft_timing_new(x, fine_device, fine_start_s, a);
            CHECK(fine->value <= coarse->value * (1 + 1e-12)); /* order, not starts, is kept */
            CHECK(weft_timing_is_legal(fine) == weft_timing_is_legal(coarse));
            n_fused += f.coarse->n_tasks < p->n_tasks;
            if (f.coarse->n_tasks == p->n_tasks)
                CHECK_NEAR(coarse->value, t->value);
        }
        weft_arena_free(a);
        weft_problem_free(p);
    }
    CHECK(n_fused > 50);
}

/* A stopped run solves no module and returns the plain completion. */
TEST(stitched_schedules_are_legal_and_no_worse_than_a_completion)
{
    int n = 0;

    for (uint64_t seed = 1; seed <= N_DRAWN(300); seed++) {
        weft_problem *p = any_problem(seed, 2 + (int)(seed % 50));
        weft_arena *a = weft_arena_new();
        weft_domain m = weft_domain_new(p, a);
        weft_subproblem *x = weft_subproblem_of(&m, a);
        int module[MOST_TASKS], device[MOST_TASKS], size = 1 + (int)(seed % 12);
        double start_s[MOST_TASKS], none, value;
        weft_stitch_options o = {module, (p->n_tasks - 1) / size + 1, 500, 64};
        int64_t steps = 0;
        weft_run over = quick;

        over.stop = &stopped;
        for (int u = 0; u < p->n_tasks; u++)
            module[u] = u / size;
        if (!m.is_empty) {
            weft_timing *t;

            none = weft_stitch(x, &o, &over, device, start_s, &steps);
            CHECK_INT(steps, 0);
            value = weft_stitch(x, &o, &quick, device, start_s, &steps);
            CHECK(value <= none);
            if (value < INFINITY) {
                t = weft_timing_new(x, device, start_s, a);
                CHECK(weft_timing_is_legal(t));
                CHECK(t->value <= value * (1 + 1e-12));
                n++;
            }
        }
        weft_arena_free(a);
        weft_problem_free(p);
    }
    CHECK(n > N_DRAWN(200));
}

/* --- the solver ------------------------------------------------------------------------------ */

static const char *const starters[] = {"single", "met", "greedy", "heft", "cpop", "peft"};

/* weft_solve refuses plans that break a rule, so every answer here is legal. */
TEST(split_is_no_worse_than_its_starts_under_every_transfer_model)
{
    for (uint64_t seed = 1; seed <= 240; seed++) {
        weft_problem *p = any_problem(seed, 2 + (int)(seed % 50));
        weft_arena *a = weft_arena_new();
        weft_solution s;

        p->transfer = seed % 4 == 0 ? WEFT_CONTEND : seed % 4 == 2 ? WEFT_BLOCK : WEFT_OVERLAP;
        s = solve(p, "split", quick, a);
        for (size_t i = 0; i < sizeof starters / sizeof *starters; i++) {
            weft_solution start = solve(p, starters[i], quick, a);

            CHECK(!has_plan(&start) || (has_plan(&s) && s.proof.value <= start.proof.value));
        }
        weft_arena_free(a);
        weft_problem_free(p);
    }
}

TEST(threads_do_not_matter_if_steps_are_set)
{
    for (uint64_t seed = 1; seed <= 12; seed++) {
        weft_problem *p = any_problem(seed, 60);
        weft_arena *a = weft_arena_new();
        weft_run one = {.seed = 3, .n_threads = 1, .limit_s = INFINITY, .steps = 20000}, two = one;
        weft_solution s = solve(p, "split", one, a), t;

        two.n_threads = 2;
        t = solve(p, "split", two, a);
        CHECK_INT(has_plan(&s), has_plan(&t));
        if (has_plan(&s)) {
            assert_memory_equal(s.plan.device, t.plan.device, sizeof(int) * (size_t)p->n_tasks);
            assert_memory_equal(s.plan.start_s, t.plan.start_s,
                                sizeof(double) * (size_t)p->n_tasks);
        }
        weft_arena_free(a);
        weft_problem_free(p);
    }
}

TEST(a_stopped_run_still_has_a_plan)
{
    weft_problem *p = random_problem(2, 60, 3);
    weft_arena *a = weft_arena_new();
    weft_run run = quick;
    weft_solution s;

    run.stop = &stopped;
    s = solve(p, "split", run, a);
    CHECK(has_plan(&s));
    weft_arena_free(a);
    weft_problem_free(p);
}

TEST(periods_are_not_its_business)
{
    weft_problem *p = random_problem(2, 10, 2);
    weft_arena *a = weft_arena_new();

    p->constraints.goal = WEFT_THROUGHPUT;
    CHECK_INT(solve(p, "split", quick, a).proof.outcome, WEFT_UNKNOWN);
    weft_arena_free(a);
    weft_problem_free(p);
}

/* Heuristics promise nothing for one problem; on the whole split comes close to the optimum. */
TEST(split_comes_close_to_the_optimum_on_the_whole)
{
    double gap = 0;
    int n = 0;

    for (uint64_t seed = 1; seed <= 40; seed++) {
        weft_problem *p = random_problem(seed, 24 + (int)(seed % 31), 3);
        weft_arena *a = weft_arena_new();
        weft_run run = {.seed = 1, .n_threads = 1, .limit_s = INFINITY, .steps = 100000};
        weft_solution best = solve(p, "exact", run, a), s;

        run.steps = 20000;
        s = solve(p, "split", run, a);
        if (best.proof.outcome == WEFT_OPTIMAL) {
            gap += s.proof.value / best.proof.value - 1;
            n++;
        }
        weft_arena_free(a);
        weft_problem_free(p);
    }
    print_message("mean gap to the optimum on %d problems: %.2f %%\n", n, 100 * gap / n);
    CHECK(n >= 20);
    CHECK(gap / n < 0.01);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timing_is_that_of_the_simulator),
        cmocka_unit_test(a_window_is_worth_what_the_whole_is_worth),
        cmocka_unit_test(windows_never_worsen_a_schedule_and_keep_it_legal),
        cmocka_unit_test(annealing_never_worsens_a_schedule_and_keeps_it_legal),
        cmocka_unit_test(annealing_on_the_literature_reaches_the_optimum),
        cmocka_unit_test(windows_on_the_literature_reach_the_optimum),
        cmocka_unit_test(coarse_schedules_are_fine_schedules_of_the_same_value),
        cmocka_unit_test(stitched_schedules_are_legal_and_no_worse_than_a_completion),
        cmocka_unit_test(split_is_no_worse_than_its_starts_under_every_transfer_model),
        cmocka_unit_test(threads_do_not_matter_if_steps_are_set),
        cmocka_unit_test(a_stopped_run_still_has_a_plan),
        cmocka_unit_test(periods_are_not_its_business),
        cmocka_unit_test(split_comes_close_to_the_optimum_on_the_whole),
    };

    return RUN_TESTS(tests);
}
