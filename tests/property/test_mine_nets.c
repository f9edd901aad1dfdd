/* SPDX-License-Identifier: MIT */
/* Searches of designs on real networks: the proved best is the best of all designs, one by one; the
 * fast search against it under limits from tight to wide. */
#include <stdio.h>

#include "check.h"
#include "toy_mill.h"
#include "weft/model.h"

enum { N_NETS = 4, N_THREADS = 2, BATCH = 4 };

static const char *const nets[N_NETS] = {"alexnet", "squeezenet1_1", "resnet18",
                                         "bert:layers=2,hidden=256,heads=4,seq=64"};

typedef struct net {
    weft_model *model;
    weft_mill *mill[N_THREADS];
    weft_workload work;
} net;

static void open_net(const char *name, const weft_template *t, net *n)
{
    weft_model_options options = {
        .batch = BATCH, .dtype = WEFT_BF16, .train = true, .optimizer = WEFT_ADAM};

    CHECK_OK(weft_model_open(name, &options, &n->model));
    for (int i = 0; i < N_THREADS; i++)
        CHECK_OK(weft_mill_new(n->model->graph, t, &n->mill[i]));
    n->work = (weft_workload){.name = name,
                              .timer = &weft_mill_timer,
                              .mill = (void *const *)n->mill,
                              .batch = BATCH,
                              .weight = 1,
                              .memory_bytes = weft_mill_memory_bytes(n->mill[0])};
}

static void close_net(net *n)
{
    for (int i = 0; i < N_THREADS; i++)
        weft_mill_free(n->mill[i]);
    weft_model_free(n->model);
}

static weft_found mine(const char *name, const weft_quest *q, int n_threads, weft_arena *a)
{
    weft_run run = toy_run(n_threads, 1, a);
    weft_found found;

    CHECK_OK(weft_miner_find(name)->mine(q, NULL, 0, &run, a, &found));
    return found;
}

static weft_quest quest_of(const net *n, const weft_template *t, double area_mm2, double tdp_w)
{
    return (weft_quest){
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
        toy_quest toy = toy_quest_new(seed, 4, 1, 0, a); /* its template and limits */
        weft_quest q = toy.quest;
        weft_found all, best, boxes, again;
        net n;

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

/* 60 cells: networks, limits and both metrics. Misses are printed. */
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
    double worst = 1, evaluations = 0, most = 0;
    int n_cells = 0, n_exact = 0, n_near = 0;

    CHECK_OK(weft_template_open("mine16", &t));
    for (int i = 0; i < N_NETS; i++) {
        net n;

        open_net(nets[i], t, &n);
        for (int j = 0; j < N_DRAWN(160) / 10; j++) {
            weft_arena *a = weft_arena_new();
            weft_quest q = quest_of(&n, t, limit[j / 2][0], limit[j / 2][1]);
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
            n_cells++;
            n_exact += fast.value >= best.value * (1 - 1e-9);
            n_near += fast.value >= 0.99 * best.value;
            worst = fmin(worst, fast.value / best.value);
            evaluations += (double)fast.n_evaluated;
            most = fmax(most, (double)fast.n_evaluated);
            weft_arena_free(a);
        }
        close_net(&n);
    }
    weft_template_free(t);
    printf("fast search in %d cells: best in %d, at least 99 %% in %d, worst %.4f; %.0f "
           "evaluations in the mean, at most %.0f\n",
           n_cells, n_exact, n_near, worst, evaluations / n_cells, most);
    CHECK(10 * n_near >= 9 * n_cells && worst > 0.9);
    CHECK(evaluations / n_cells < 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_proved_best_is_the_best_of_all),
        cmocka_unit_test(fast_search_against_the_proof),
    };

    return RUN_TESTS(tests);
}
