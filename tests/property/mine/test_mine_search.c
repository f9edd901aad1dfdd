/* SPDX-License-Identifier: MIT */
/* Searches of designs on small random lattices, against all designs one by one; the answer for any
 * number of threads and processes; limits of time and budget; baselines. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>

#include "check.h"
#include "toy_eval.h"

/* The best value and the front by plain loops, with nothing of the searches. */
typedef struct truth {
    int64_t n_feasible;
    double best;
    int n_front;
} truth;

static bool is_inside(const weft_objective *q, const weft_design_point *p)
{
    return weft_design_point_area_mm2(q->template_, p) <= q->limits.area_mm2 &&
           weft_design_point_tdp_w(q->template_, p) <= q->limits.tdp_w;
}

static double blend(const weft_objective *q, const weft_design_point *p)
{
    double product = 0, weights = 0, least = INFINITY;

    for (int i = 0; i < q->n_workloads; i++) {
        const weft_workload *w = &q->workload[i];
        double share = w->timer->conflicts(w->eval[0], &q->reference).step_s /
                       w->timer->conflicts(w->eval[0], p).step_s;

        if (q->n_workloads == 1)
            return w->batch / w->timer->conflicts(w->eval[0], p).step_s;
        product += w->weight * log(share);
        weights += w->weight;
        least = fmin(least, share);
    }
    return q->blend == WEFT_BLEND_WORST ? least : exp(product / weights);
}

static truth brute(const weft_objective *q, weft_arena *a)
{
    const weft_template *t = q->template_;
    int n = (int)weft_template_points(t);
    weft_mined *all = WEFT_NEW(a, weft_mined, n);
    double least = q->least_throughput * blend(q, &q->reference);
    truth out = {0};

    for (int i = 0; i < n; i++) {
        weft_mined m = {.point = weft_point_at(t, i)};
        double value;

        if (!is_inside(q, &m.point))
            continue;
        m.throughput = blend(q, &m.point);
        m.tdp_w = weft_design_point_tdp_w(t, &m.point);
        m.area_mm2 = weft_design_point_area_mm2(t, &m.point);
        all[out.n_feasible++] = m;
        value = q->metric == WEFT_METRIC_PER_TDP ? m.throughput / m.tdp_w : m.throughput;
        if (m.throughput >= least)
            out.best = fmax(out.best, value);
    }
    for (int i = 0; i < out.n_feasible; i++) {
        bool is_beaten = false;

        for (int j = 0; j < out.n_feasible && !is_beaten; j++) {
            bool is_no_worse = all[j].throughput >= all[i].throughput &&
                               all[j].tdp_w <= all[i].tdp_w && all[j].area_mm2 <= all[i].area_mm2;
            bool is_same = all[j].throughput == all[i].throughput && all[j].tdp_w == all[i].tdp_w &&
                           all[j].area_mm2 == all[i].area_mm2;

            is_beaten = is_no_worse && (!is_same || j < i);
        }
        out.n_front += !is_beaten;
    }
    return out;
}

static weft_found mine(const char *name, const weft_objective *q, int n_threads, int64_t most,
                       weft_arena *a)
{
    weft_run run = toy_run(n_threads, 1, a);
    weft_found found;

    CHECK_OK(weft_miner_find(name)->mine(q, NULL, most, &run, a, &found));
    return found;
}

static void check_proved(const char *name, const toy_objective *q, const truth *t, weft_arena *a)
{
    weft_found f = mine(name, &q->objective, 1, 0, a);

    if (t->best == 0) {
        CHECK_INT(f.outcome, WEFT_INFEASIBLE);
        CHECK(f.reason != NULL);
        return;
    }
    CHECK_INT(f.outcome, WEFT_OPTIMAL);
    CHECK_NEAR(f.value, t->best);
    CHECK(is_inside(&q->objective, &f.point));
    CHECK(f.schedule_bound >= f.value && f.bound >= f.value);
    CHECK(f.n_feasible == 0 || f.n_feasible == t->n_feasible);
    CHECK(f.n_evaluated <= t->n_feasible + 1); /* the reference may be outside */
}

/* 120 lattices; smooth ones and such where neighbours say nothing of each other. */
TEST(proved_searches_find_the_best_of_all_designs)
{
    int n_infeasible = 0;

    for (uint64_t seed = 1; seed <= N_DRAWN(120); seed++) {
        weft_arena *a = weft_arena_new();
        toy_objective q =
            toy_objective_new(seed, 4, 1 + (int)(seed % 3), seed % 4 == 0 ? 0.5 : 0, a);
        truth t = brute(&q.objective, a);

        n_infeasible += t.best == 0;
        check_proved("exhaustive", &q, &t, a);
        check_proved("certified", &q, &t, a);
        check_proved("boxes", &q, &t, a);
        check_proved("auto", &q, &t, a);
        check_proved("front", &q, &t, a);
        weft_template_free(q.template_);
        weft_arena_free(a);
    }
    CHECK(!IS_THOROUGH || (n_infeasible > 0 && n_infeasible < 60));
}

/* The bound of all schedules is above what every design reaches. */
TEST(bounds_are_above_every_member)
{
    for (uint64_t seed = 1; seed <= N_DRAWN(60); seed++) {
        weft_arena *a = weft_arena_new();
        toy_objective q = toy_objective_new(seed, 4, 1, 0.3, a);
        const weft_template *t = q.template_;
        weft_rng r = weft_rng_seed(seed);
        weft_limits none = {INFINITY, INFINITY};

        for (int i = 0; i < 20; i++) {
            weft_space_box b;
            weft_design_point p;
            double low;

            for (int k = 0; k < WEFT_N_PARAMETERS; k++) {
                b.lo.at[k] = (uint16_t)weft_rng_below(&r, t->n_sizes[k]);
                b.hi.at[k] =
                    (uint16_t)(b.lo.at[k] + weft_rng_below(&r, t->n_sizes[k] - b.lo.at[k]));
                p.at[k] = (uint16_t)(b.lo.at[k] + weft_rng_below(&r, b.hi.at[k] - b.lo.at[k] + 1));
            }
            low = toy_timer.box_s(q.eval[0], &b, &none);
            CHECK(low <= toy_timer.seconds[WEFT_GAUGE_BOUND](q.eval[0], &p));
            CHECK(toy_timer.seconds[WEFT_GAUGE_BOUND](q.eval[0], &p) <=
                  toy_timer.seconds[WEFT_GAUGE_STEP](q.eval[0], &p));
            CHECK(weft_design_point_area_mm2(t, &b.lo) <= weft_design_point_area_mm2(t, &p));
            CHECK(weft_design_point_tdp_w(t, &b.lo) <= weft_design_point_tdp_w(t, &p));
        }
        weft_template_free(q.template_);
        weft_arena_free(a);
    }
}

TEST(fronts_are_those_of_all_designs)
{
    for (uint64_t seed = 1; seed <= N_DRAWN(60); seed++) {
        weft_arena *a = weft_arena_new();
        toy_objective q = toy_objective_new(seed, 4, 1, seed % 2 == 0 ? 0.5 : 0, a);
        truth t = brute(&q.objective, a);
        weft_found all = mine("exhaustive", &q.objective, 1, 0, a);
        weft_found front = mine("front", &q.objective, 2, 0, a);

        CHECK(all.is_front_proved && front.is_front_proved);
        CHECK_INT(all.n_front, t.n_front);
        CHECK(front.n_evaluated <= all.n_evaluated);
        /* Designs within 1e-9 of each other may stand for each other. */
        for (int i = 0; i < all.n_front; i++) {
            bool is_there = false;

            for (int j = 0; j < front.n_front; j++)
                is_there |= front.front[j].throughput >= all.front[i].throughput * (1 - 1e-9) &&
                            front.front[j].tdp_w <= all.front[i].tdp_w &&
                            front.front[j].area_mm2 <= all.front[i].area_mm2;
            CHECK(is_there);
        }
        weft_template_free(q.template_);
        weft_arena_free(a);
    }
}

static void check_same(const weft_found *x, const weft_found *y)
{
    CHECK(x->value == y->value && x->bound == y->bound);
    CHECK(x->schedule_bound == y->schedule_bound && x->throughput == y->throughput);
    CHECK(memcmp(&x->point, &y->point, sizeof x->point) == 0);
    CHECK_INT(x->outcome, y->outcome);
    CHECK_INT(x->n_evaluated, y->n_evaluated);
    CHECK_INT(x->n_bounds, y->n_bounds);
    CHECK_INT(x->n_front, y->n_front);
    for (int i = 0; i < x->n_front; i++) {
        const weft_mined *f = &x->front[i], *g = &y->front[i];

        CHECK(memcmp(&f->point, &g->point, sizeof f->point) == 0);
        CHECK(f->throughput == g->throughput && f->tdp_w == g->tdp_w && f->area_mm2 == g->area_mm2);
    }
}

static const char *const every[] = {"auto",  "fast",   "climb",  "certified", "exhaustive", "boxes",
                                    "front", "random", "anneal", "genetic",   "surrogate"};

enum { N_EVERY = sizeof every / sizeof every[0] };

TEST(any_number_of_threads_gives_the_same_answer)
{
    for (uint64_t seed = 1; seed <= N_DRAWN(20); seed++) {
        weft_arena *a = weft_arena_new();
        toy_objective q = toy_objective_new(seed, 4, 2, 0.4, a);

        for (int i = 0; i < N_EVERY; i++) {
            weft_found one = mine(every[i], &q.objective, 1, 40, a);
            weft_found three = mine(every[i], &q.objective, 3, 40, a);
            weft_found eight = mine(every[i], &q.objective, 8, 40, a);

            check_same(&one, &three);
            check_same(&one, &eight);
        }
        weft_template_free(q.template_);
        weft_arena_free(a);
    }
}

/* --- processes: here threads that meet at barriers ------------------------------------------- */

enum { MOST_RANKS = 4 };

typedef struct world {
    pthread_barrier_t barrier;
    int n;
    double *value[MOST_RANKS];
} world;

typedef struct rank {
    world *world;
    weft_ranks ranks;
    weft_objective objective;
    const char *name;
    weft_eval_cache *eval_cache;
    weft_found found;
    weft_arena *arena;
    weft_status status;
    pthread_t thread;
} rank;

static void gather(void *context, double *value, int n_items, int width)
{
    rank *r = context;

    for (int i = 0; i < n_items; i++) /* what is not ours must not be needed */
        for (int j = 0; j < width && i % r->world->n != r->ranks.me; j++)
            value[i * width + j] = NAN;
    r->world->value[r->ranks.me] = value;
    pthread_barrier_wait(&r->world->barrier);
    for (int i = 0; i < n_items; i++)
        for (int j = 0; j < width && i % r->world->n != r->ranks.me; j++)
            value[i * width + j] = r->world->value[i % r->world->n][i * width + j];
    pthread_barrier_wait(&r->world->barrier);
}

static void tell(void *context, double *value, int n)
{
    rank *r = context;

    r->world->value[r->ranks.me] = value;
    pthread_barrier_wait(&r->world->barrier);
    for (int i = 0; i < n && r->ranks.me > 0; i++)
        value[i] = r->world->value[0][i];
    pthread_barrier_wait(&r->world->barrier);
}

static void *run_rank(void *context)
{
    rank *r = context;
    weft_run run = toy_run(1 + r->ranks.me % 2, 1, r->arena);

    r->status = weft_miner_find(r->name)->mine(&r->objective, NULL, 50, &run, r->arena, &r->found);
    return NULL;
}

static void run_world(const char *name, const weft_objective *q, int n, rank *r)
{
    world w = {.n = n};

    pthread_barrier_init(&w.barrier, NULL, (unsigned)n);
    for (int i = 0; i < n; i++) {
        r[i] = (rank){.world = &w, .objective = *q, .name = name, .arena = weft_arena_new()};
        r[i].ranks =
            (weft_ranks){.n = n, .me = i, .gather = gather, .tell = tell, .context = &r[i]};
        r[i].objective.ranks = &r[i].ranks;
        CHECK_INT(pthread_create(&r[i].thread, NULL, run_rank, &r[i]), 0);
    }
    for (int i = 0; i < n; i++)
        pthread_join(r[i].thread, NULL);
    pthread_barrier_destroy(&w.barrier);
}

TEST(any_number_of_processes_gives_the_same_answer)
{
    for (uint64_t seed = 1; seed <= N_DRAWN(10); seed++) {
        weft_arena *a = weft_arena_new();
        toy_objective q = toy_objective_new(seed, 4, 2, 0.4, a);

        for (int i = 0; i < N_EVERY; i++) {
            weft_found alone = mine(every[i], &q.objective, 1, 50, a);

            for (int n = 2; n <= MOST_RANKS; n++) {
                rank r[MOST_RANKS];

                run_world(every[i], &q.objective, n, r);
                for (int j = 0; j < n; j++) {
                    CHECK_INT(r[j].status, WEFT_OK);
                    check_same(&alone, &r[j].found);
                    weft_arena_free(r[j].arena);
                }
            }
        }
        weft_template_free(q.template_);
        weft_arena_free(a);
    }
}

/* --- limits ---------------------------------------------------------------------------------- */

static volatile sig_atomic_t stopped;

TEST(a_search_that_is_stopped_has_a_valid_bound)
{
    for (uint64_t seed = 1; seed <= N_DRAWN(40); seed++) {
        weft_arena *a = weft_arena_new();
        toy_objective q = toy_objective_new(seed, 4, 1, 0.4, a);
        truth t = brute(&q.objective, a);

        for (int i = 0; i < N_EVERY; i++) {
            weft_run run = toy_run(1, 1, a);
            weft_found f;

            stopped = 1;
            run.stop = &stopped;
            CHECK_OK(weft_miner_find(every[i])->mine(&q.objective, NULL, 0, &run, a, &f));
            CHECK(f.bound >= t.best * (1 - 1e-9) && f.schedule_bound >= f.bound);
            CHECK(f.value <= t.best * (1 + 1e-9));
            for (int most = 1; most <= 16; most *= 4) {
                f = mine(every[i], &q.objective, 1, most, a);
                CHECK(f.n_evaluated <= most);
                CHECK(f.bound >= t.best * (1 - 1e-9));
                CHECK(f.value <= t.best * (1 + 1e-9));
                if (f.outcome == WEFT_OPTIMAL)
                    CHECK_NEAR(f.value, t.best);
                if (f.outcome == WEFT_INFEASIBLE)
                    CHECK(t.best == 0);
            }
        }
        weft_template_free(q.template_);
        weft_arena_free(a);
    }
}

/* --- heuristics ------------------------------------------------------------------------------ */

/* Fast search on lattices with some thousand designs: near the best, with few evaluations. The
 * misses are printed, not hidden. */
TEST(fast_search_is_near_the_best_with_few_evaluations)
{
    double worst = 1, sum = 0, evaluations = 0, all = 0;
    int n = 0, n_exact = 0;

    for (uint64_t seed = 1; seed <= N_DRAWN(100); seed++) {
        weft_arena *a = weft_arena_new();
        toy_objective q = toy_objective_new(seed, 8, 1, 0, a);
        weft_found best = mine("certified", &q.objective, 1, 0, a);
        weft_found fast = mine("fast", &q.objective, 1, 0, a);

        if (best.value > 0) {
            worst = fmin(worst, fast.value / best.value);
            sum += fast.value / best.value;
            n_exact += fast.value >= best.value * (1 - 1e-9);
            evaluations += (double)fast.n_evaluated;
            all += (double)best.n_feasible;
            n++;
        }
        weft_template_free(q.template_);
        weft_arena_free(a);
    }
    printf("fast search on %d lattices: best in %d, mean %.4f, worst %.4f of the best; %.0f "
           "evaluations for %.0f designs\n",
           n, n_exact, sum / n, worst, evaluations / n, all / n);
    CHECK(n > 0 && sum / n > 0.99 && evaluations < all / 10);
}

/* Baselines learn: with the same budget each is at least as good as random search in the mean, and
 * none exceeds the optimum. */
TEST(baselines_are_better_than_chance)
{
    static const char *const name[] = {"random", "anneal", "genetic", "surrogate"};
    double mean[4] = {0};
    int n = 0;

    for (uint64_t seed = 1; seed <= N_DRAWN(40); seed++) {
        weft_arena *a = weft_arena_new();
        toy_objective q = toy_objective_new(2 * seed + 1, 8, 1, 0, a); /* throughput */
        weft_found best = mine("certified", &q.objective, 1, 0, a);

        for (int i = 0; i < 4 && best.n_feasible > 300; i++) {
            weft_found f = mine(name[i], &q.objective, 1, 100, a);

            CHECK(f.n_evaluated <= 100 && f.value <= best.value * (1 + 1e-9));
            mean[i] += f.value / best.value;
            n += i == 0;
        }
        weft_template_free(q.template_);
        weft_arena_free(a);
    }
    printf("after 100 evaluations on %d lattices, part of the optimum in the mean: random %.4f, "
           "anneal %.4f, genetic %.4f, surrogate %.4f\n",
           n, mean[0] / n, mean[1] / n, mean[2] / n, mean[3] / n);
    for (int i = 0; i < 4 && IS_THOROUGH; i++)
        CHECK(n > 10 && mean[i] >= 0.99 * mean[0]);
    CHECK(!IS_THOROUGH || mean[3] > mean[0]);
}

/* What is best for other work is at most as good as what is best for this. */
TEST(inference_designs_are_valued_on_training)
{
    int n_worse = 0;

    for (uint64_t seed = 1; seed <= N_DRAWN(40); seed++) {
        weft_arena *a = weft_arena_new();
        toy_objective q = toy_objective_new(2 * seed + 1, 4, 2, 0, a), other = q;
        weft_found trained, best, forward;
        weft_workload *w = WEFT_NEW(a, weft_workload, 2);

        for (int i = 0; i < 2; i++) { /* another network with the same template */
            void **eval = WEFT_NEW(a, void *, 1);

            w[i] = q.objective.workload[i];
            eval[0] = toy_eval_new(q.template_, 1000 + seed * 10 + (uint64_t)i, 0, a);
            w[i].eval = (void *const *)eval;
        }
        other.objective.workload = w;
        q.objective.forward = w;
        best = mine("auto", &q.objective, 1, 0, a);
        forward = mine("auto", &other.objective, 1, 0, a);
        trained = mine("inference", &q.objective, 1, 0, a);
        if (best.value > 0) {
            CHECK(memcmp(&trained.point, &forward.point, sizeof trained.point) == 0);
            CHECK_NEAR(trained.value, blend(&q.objective, &forward.point));
            CHECK(trained.value <= best.value * (1 + 1e-9));
            n_worse += trained.value < best.value * (1 - 1e-6);
        }
        weft_template_free(q.template_);
        weft_arena_free(a);
    }
    CHECK(!IS_THOROUGH || n_worse > 5);
}

TEST(a_objective_that_cannot_be_asked_is_refused)
{
    weft_arena *a = weft_arena_new();
    toy_objective q = toy_objective_new(2, 4, 1, 0, a);
    weft_workload w = q.objective.workload[0];
    weft_objective bad = q.objective;

    bad.least_throughput = 0;
    CHECK_FAILS(weft_objective_check(&bad), "least throughput");
    bad = q.objective;
    bad.limits.area_mm2 = -1;
    CHECK_FAILS(weft_objective_check(&bad), "-1 mm2");
    bad = q.objective;
    bad.workload = &w;
    w.memory_bytes = 20e9;
    CHECK_FAILS(weft_objective_check(&bad), "20.0 GB");
    CHECK(weft_miner_find("no such search") == NULL);
    for (int i = 0; i < weft_miner_count(); i++)
        CHECK(weft_miner_find(weft_miner_at(i)->name) == weft_miner_at(i));
    weft_template_free(q.template_);
    weft_arena_free(a);
}

/* --- sensitivity ----------------------------------------------------------------------------- */

typedef struct shop {
    const weft_objective *objective;
    uint64_t seed;
    weft_arena *arena;
    int n_made, n_dropped;
} shop;

static weft_status make(void *context, const weft_template *t, const weft_workload **out)
{
    shop *s = context;
    weft_workload *w = WEFT_NEW(s->arena, weft_workload, 1);
    void **eval = WEFT_NEW(s->arena, void *, 1);

    *w = s->objective->workload[0];
    eval[0] = toy_eval_new(t, s->seed * 10, 0, s->arena);
    w->eval = (void *const *)eval;
    *out = w;
    s->n_made++;
    return WEFT_OK;
}

static void drop(void *context, const weft_workload *w)
{
    shop *s = context;

    CHECK(w != NULL);
    s->n_dropped++;
}

TEST(sensitivity_counts_what_a_search_again_says)
{
    int n_flips = 0, n_stays = 0;

    for (uint64_t seed = 1; seed <= N_DRAWN(20); seed++) {
        weft_arena *a = weft_arena_new();
        toy_objective q = toy_objective_new(2 * seed + 1, 6, 1, 0, a);
        weft_found best = mine("auto", &q.objective, 1, 0, a);
        weft_run run = toy_run(1, 1, a);
        shop s = {&q.objective, 2 * seed + 1, a, 0, 0};
        weft_workload_maker w = {make, drop, &s};
        weft_design_sensitivity out;

        CHECK_OK(
            weft_objective_sensitivity(&q.objective, &best.point, &w, 20, 0.01, &run, a, &out));
        CHECK_INT(out.n_draws, 20);
        CHECK_INT(out.n_shifts, 2 * 5); /* five constants of toy templates have an error */
        CHECK_INT(s.n_made, s.n_dropped);
        CHECK(out.n_stays + out.n_breaks <= out.n_draws && out.worst_loss >= 0);
        for (int i = 0; i < out.n_shifts; i++) {
            double factor[WEFT_N_CONSTANTS];
            weft_template *t;
            weft_objective again = q.objective;
            weft_found found;
            double area;

            for (int c = 0; c < WEFT_N_CONSTANTS; c++)
                factor[c] = 1;
            factor[out.shift[i].constant] = out.shift[i].factor;
            t = weft_template_scaled(q.template_, factor);
            again.template_ = t;
            CHECK_OK(make(&s, t, &again.workload));
            found = mine("exhaustive", &again, 1, 0, a);
            CHECK_NEAR(out.shift[i].best_value, found.value);
            area = weft_design_point_area_mm2(t, &best.point);
            CHECK((out.shift[i].winner_value == 0) == !is_inside(&again, &best.point));
            CHECK(area > 0);
            n_flips += out.shift[i].is_flip;
            weft_template_free(t);
        }
        n_stays += out.n_stays;
        weft_template_free(q.template_);
        weft_arena_free(a);
    }
    CHECK(!IS_THOROUGH || (n_flips > 0 && n_stays > 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(proved_searches_find_the_best_of_all_designs),
        cmocka_unit_test(bounds_are_above_every_member),
        cmocka_unit_test(fronts_are_those_of_all_designs),
        cmocka_unit_test(any_number_of_threads_gives_the_same_answer),
        cmocka_unit_test(any_number_of_processes_gives_the_same_answer),
        cmocka_unit_test(a_search_that_is_stopped_has_a_valid_bound),
        cmocka_unit_test(fast_search_is_near_the_best_with_few_evaluations),
        cmocka_unit_test(baselines_are_better_than_chance),
        cmocka_unit_test(inference_designs_are_valued_on_training),
        cmocka_unit_test(a_objective_that_cannot_be_asked_is_refused),
        cmocka_unit_test(sensitivity_counts_what_a_search_again_says),
    };

    return RUN_TESTS(tests);
}
