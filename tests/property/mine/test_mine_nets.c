/* SPDX-License-Identifier: MIT */
/* Searches of designs on real networks: the proved best is the best of all designs, one by one; the
 * fast search against it under limits from tight to wide. */
#include <stdio.h>

#include "check.h"
#include "model.h"
#include "toy_eval.h"

enum { N_NETS = 4, N_THREADS = 2, BATCH = 4 };

static const char *const nets[N_NETS] = {"alexnet", "squeezenet1_1", "resnet18",
                                         "bert:layers=2,hidden=256,heads=4,seq=64"};

typedef struct net {
    weft_model *model;
    weft_workload_eval *eval[N_THREADS];
    weft_workload work;
} net;

static void open_net(const char *name, const weft_template *t, net *n)
{
    weft_model_options options = {
        .batch = BATCH, .dtype = WEFT_BF16, .train = true, .optimizer = WEFT_ADAM};

    CHECK_OK(weft_model_open(name, &options, &n->model));
    for (int i = 0; i < N_THREADS; i++)
        CHECK_OK(weft_eval_new(n->model->graph, t, &n->eval[i]));
    n->work = (weft_workload){.name = name,
                              .timer = &weft_eval_timer,
                              .eval = (void *const *)n->eval,
                              .batch = BATCH,
                              .weight = 1,
                              .memory_bytes = weft_eval_memory_bytes(n->eval[0])};
}

static void close_net(net *n)
{
    for (int i = 0; i < N_THREADS; i++)
        weft_eval_free(n->eval[i]);
    weft_model_free(n->model);
}

static weft_found mine(const char *name, const weft_objective *q, int n_threads, weft_arena *a)
{
    weft_run run = toy_run(n_threads, 1, a);
    weft_found found;

    CHECK_OK(weft_miner_find(name)->mine(q, NULL, 0, &run, a, &found));
    return found;
}

static weft_objective objective_of(const net *n, const weft_template *t, double area_mm2,
                                   double tdp_w)
{
    return (weft_objective){
        .template_ = t,
        .n_workloads = 1,
        .workload = &n->work,
        .limits = {area_mm2, tdp_w},
        .reference = t->landmark[0].point
    };
}

static void check_same(const weft_found *x, const weft_found *y)
{
    CHECK(x->value == y->value && x->bound == y->bound);
    CHECK(memcmp(&x->point, &y->point, sizeof x->point) == 0);
    CHECK_INT(x->n_evaluated, y->n_evaluated);
}

TEST(the_proved_best_is_the_best_of_all)
{
    for (uint64_t seed = 1; seed <= N_DRAWN(30); seed++) {
        weft_arena *a = weft_arena_new();
        toy_objective toy = toy_objective_new(seed, 4, 1, 0, a); /* its template and limits */
        weft_objective q = toy.objective;
        weft_found all, best, boxes, again;
        net n;

        if (seed % 3 != 0) /* else there is no limit */
            toy.template_->constant[WEFT_PORT].value = (double)(16 << seed % 9);
        open_net(nets[seed % N_NETS], toy.template_, &n);
        q.workload = &n.work;
        all = mine("exhaustive", &q, 1, a);
        best = mine("certified", &q, 2, a);
        again = mine("certified", &q, 1, a);
        boxes = mine("boxes", &q, 1, a);
        CHECK_INT(best.outcome, all.outcome);
        CHECK_INT(boxes.outcome, all.outcome);
        CHECK_NEAR(best.value, all.value);
        CHECK_NEAR(boxes.value, all.value);
        CHECK(best.schedule_bound >= best.value);
        check_same(&best, &again);
        close_net(&n);
        weft_template_free(toy.template_);
        weft_arena_free(a);
    }
}

/* What a search found in cells of one metric. */
typedef struct tally {
    int n, n_exact, n_near;
    double worst, evaluations, most;
} tally;

static void count_cell(tally *t, const weft_found *found, double best)
{
    t->n++;
    t->n_exact += found->value >= best * (1 - 1e-9);
    t->n_near += found->value >= 0.99 * best;
    t->worst = fmin(t->worst, found->value / best);
    t->evaluations += (double)found->n_evaluated;
    t->most = fmax(t->most, (double)found->n_evaluated);
}

static void print_tally(const char *name, const tally *t)
{
    printf("%s in %d cells: best in %d, at least 99 %% in %d, worst %.4f; %.1f evaluations in the "
           "mean, at most %.0f\n",
           name, t->n, t->n_exact, t->n_near, t->worst, t->evaluations / t->n, t->most);
}

/* 60 cells: networks, limits and both metrics, none of those that the fast search was made with.
 * Misses are printed. */
TEST(fast_search_against_the_proof)
{
    static const double limit[][2] = {
        {600, 280},
        {500, 220},
        {400, 200},
        {300, 150},
        {280, 130},
        {611, 450},
        {260, 120},
        {350, 280}
    };
    weft_template *t = NULL;
    tally tallies[2] = {{.worst = 1}, {.worst = 1}}, climbs = {.worst = 1};

    CHECK_OK(weft_template_open("mine16", &t));
    for (int i = 0; i < N_NETS; i++) {
        net n;

        open_net(nets[i], t, &n);
        for (int j = 0; j < N_DRAWN(160) / 10; j++) {
            weft_arena *a = weft_arena_new();
            weft_objective q = objective_of(&n, t, limit[j / 2][0], limit[j / 2][1]);
            weft_found fast, best;
            char x[96], y[96];

            q.metric = j % 2 == 0 ? WEFT_METRIC_THROUGHPUT : WEFT_METRIC_PER_TDP;
            q.least_throughput = j % 2 == 0 ? 0 : 0.5;
            best = mine("certified", &q, 2, a);
            fast = mine("fast", &q, 2, a);
            CHECK_INT(best.outcome, WEFT_OPTIMAL);
            CHECK(fast.value <= best.value * (1 + 1e-9));
            if (fast.value < 0.99 * best.value)
                printf("%s, %g mm2, %g W, %s: %.4f of the best: %s instead of %s\n", nets[i],
                       limit[j / 2][0], limit[j / 2][1], j % 2 == 0 ? "throughput" : "per TDP",
                       fast.value / best.value, weft_point_print(t, &fast.point, x),
                       weft_point_print(t, &best.point, y));
            count_cell(&tallies[j % 2], &fast, best.value);
            CHECK(fast.bound >= best.value * (1 - 1e-9));
            if (j % 2 == 0) {
                weft_found climb = mine("climb", &q, 2, a);

                count_cell(&climbs, &climb, best.value);
            }
            weft_arena_free(a);
        }
        close_net(&n);
    }
    weft_template_free(t);
    print_tally("fast search, throughput", &tallies[0]);
    print_tally("climbing, throughput", &climbs);
    print_tally("fast search, per TDP", &tallies[1]);
    if (!IS_THOROUGH)
        return; /* shares of few cells say little */
    CHECK(3 * tallies[0].n_near >= 2 * tallies[0].n && tallies[0].worst > 0.95);
    CHECK(tallies[0].evaluations < 6 * tallies[0].n); /* the reference is one of them */
    CHECK(10 * tallies[1].n_near >= 9 * tallies[1].n && tallies[1].worst > 0.9);
    CHECK(10 * climbs.n_near >= 9 * climbs.n && climbs.worst > 0.9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_proved_best_is_the_best_of_all),
        cmocka_unit_test(fast_search_against_the_proof),
    };

    return RUN_TESTS(tests);
}
