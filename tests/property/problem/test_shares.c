/* SPDX-License-Identifier: MIT */
/* A batch in shares: what the problem of the copies is made of, what it is worth, and what cannot be
 * cut. Plans of random copies against trying every plan. */
#include "brute.h"
#include "check.h"
#include "place.h"

#include <string.h>

/* A network of two operators: "scale" reads the input and the weight, "sum" its result. With a batch of
 * b an operator takes launch + b * sample on a device. */
typedef struct net {
    double launch, sample[2]; /* of both devices */
    double input, result;     /* bytes of a sample */
    bool mixes;               /* the result of "sum" is of the whole batch */
    int host;
} net;

static weft_problem *problem_of(const net *n, int64_t batch, weft_transfer transfer)
{
    static const char *const task[] = {"scale", "sum"}, *const device[] = {"p", "q"};
    static const int producer[] = {-1, -1, 0, 1}, at[] = {0, 1, 2, 3, 3}, reader[] = {0, 0, 1};
    static const bool is_weight[] = {false, true, false, false};
    static const bool is_output[] = {false, false, false, true};
    static const double latency_s[4] = {0, 0.5, 0.5, 0}, second_per_byte[4] = {0, 0.1, 0.1, 0};
    double b = (double)batch, seconds[4];
    const double amount[] = {n->input * b, 7, n->result * b, n->mixes ? 4 : b};
    weft_problem_spec s = {.n_tasks = 2,
                           .n_devices = 2,
                           .n_tensors = 4,
                           .task_name = task,
                           .device_name = device,
                           .seconds = seconds,
                           .amount = amount,
                           .is_weight = is_weight,
                           .is_output = is_output,
                           .producer = producer,
                           .reader_at = at,
                           .reader = reader,
                           .latency_s = latency_s,
                           .second_per_byte = second_per_byte,
                           .host = n->host,
                           .transfer = transfer,
                           .constraints = {.pin = "sum=q"}};
    weft_problem *p;

    for (int u = 0; u < 2; u++)
        for (int d = 0; d < 2; d++)
            seconds[2 * u + d] = n->launch + b * n->sample[d];
    CHECK_OK(weft_problem_make(&s, &p));
    return p;
}

static weft_status cut(const net *n, const int64_t *share, int n_shares, weft_transfer transfer,
                       weft_problem **out)
{
    weft_problem *part[WEFT_MOST_SHARES], *whole;
    weft_status status;
    int64_t batch = 0;

    for (int i = 0; i < n_shares; i++) {
        part[i] = problem_of(n, share[i], transfer);
        batch += share[i];
    }
    whole = problem_of(n, batch, transfer);
    status = weft_problem_of_shares(whole, (const weft_problem *const *)part, share, n_shares, out);
    weft_problem_free(whole);
    for (int i = 0; i < n_shares; i++)
        weft_problem_free(part[i]);
    return status;
}

TEST(copies_share_weights_and_gather_results)
{
    static const char *const name[] = {"scale#1", "sum#1", "scale#2", "sum#2", "sum#gather"};
    weft_problem *p;

    CHECK_OK(cut(
        &(net){
            .launch = 1, .sample = {2, 3},
                 .input = 5, .result = 6
    },
        (int64_t[]){3, 1}, 2, WEFT_OVERLAP, &p));
    CHECK_INT(p->n_tasks, 5);
    for (int u = 0; u < 5; u++)
        CHECK_TEXT(p->task_name[u], name[u]);
    CHECK_NEAR(weft_task_s(p, 0, 0), 1 + 3 * 2.0);
    CHECK_NEAR(weft_task_s(p, 2, 1), 1 + 1 * 3.0);
    CHECK_NEAR(weft_task_s(p, 4, 0), 0);
    CHECK_INT(p->pin[1], 1); /* of the whole network, in every copy */
    CHECK_INT(p->pin[3], 1);
    CHECK_INT(p->pin[4], -1);
    CHECK_TEXT(p->constraints.pin, "sum=q");
    /* the weight is read by both, and held once */
    CHECK(p->is_weight[1] && p->is_weight[5]);
    CHECK_INT(p->reader_at[2] - p->reader_at[1], 2);
    CHECK_INT(p->reader_at[6] - p->reader_at[5], 0);
    CHECK_NEAR(p->memory[1], 7);
    CHECK_NEAR(p->memory[5], 0);
    /* inputs and results in pieces, asked for is what is gathered of them */
    CHECK_NEAR(p->amount[0], 15);
    CHECK_NEAR(p->amount[4], 5);
    CHECK(!p->is_output[3] && !p->is_output[7] && p->is_output[8]);
    CHECK_NEAR(p->memory[8], 4);
    CHECK_INT(p->pred_at[5] - p->pred_at[4], 2);
    weft_problem_free(p);
}

TEST(samples_that_mix_are_refused)
{
    weft_problem *p;

    CHECK_FAILS(cut(
                    &(net){
                        .launch = 1, .sample = {2, 3},
                             .input = 5, .result = 6, .mixes = true
    },
                    (int64_t[]){3, 1}, 2, WEFT_OVERLAP, &p),
                "'sum' makes of a batch what does not grow with it");
    CHECK_FAILS(cut(
                    &(net){
                        .launch = 1, .sample = {2, 3},
                             .input = 0, .result = 6
    },
                    (int64_t[]){3, 1}, 2, WEFT_OVERLAP, &p),
                "no input of the network grows with it");
}

/* By hand: the pieces of the second device come from the first, which has the input, and the results
 * of the first go to the second, where "sum" is pinned. */
TEST(a_plan_of_shares_by_hand)
{
    const net n = {
        .launch = 0, .sample = {2, 1},
             .input = 5, .result = 5, .host = 0
    };
    weft_arena *a = weft_arena_new();
    weft_plan plan = weft_plan_new(5, a);
    weft_measures m;
    weft_problem *p;

    CHECK_OK(cut(&n, (int64_t[]){1, 1}, 2, WEFT_OVERLAP, &p));
    memcpy(plan.device, (int[]){0, 1, 1, 1, 1}, 5 * sizeof *plan.device);
    memcpy(plan.start_s, (double[]){0, 3, 1, 2, 4}, 5 * sizeof *plan.start_s);
    CHECK_OK(weft_evaluate(p, &plan, a, &m));
    CHECK_INT(weft_plan_check(p, &plan, NULL, 0, a), 0);
    /* scale#2 from 1 to 2, sum#2 to 3; scale#1 to 2, sent until 3, sum#1 to 4 */
    CHECK_NEAR(m.makespan_s, 4);
    weft_problem_free(p);
    weft_arena_free(a);
}

/* `auto` and the bounds against trying every plan of two and of three copies. */
static void against_brute(const net *n, const int64_t *share, int n_shares, weft_transfer transfer)
{
    weft_arena *a = weft_arena_new();
    weft_run run = {
        .n_threads = 1, .limit_s = INFINITY, .steps = 20000, .scratch = weft_arena_new()};
    weft_problem *p;
    weft_solution s;
    weft_proof bound;
    double best;

    CHECK_OK(cut(n, share, n_shares, transfer, &p));
    best = brute_optimum(p, 2);
    weft_place_bound(p, a, &bound);
    CHECK(bound.bound <= best * (1 + 1e-9));
    CHECK_OK(weft_solve(weft_place_find("auto"), p, NULL, &run, &bound, a, &s));
    CHECK(s.proof.bound <= best * (1 + 1e-9));
    CHECK(s.proof.value >= best * (1 - 1e-9));
    if (transfer == WEFT_OVERLAP)
        CHECK_NEAR(s.proof.value, best);
    weft_problem_free(p);
    weft_arena_free(run.scratch);
    weft_arena_free(a);
}

TEST(solvers_and_bounds_against_every_plan)
{
    static const weft_transfer transfer[] = {WEFT_OVERLAP, WEFT_CONTEND, WEFT_BLOCK};

    for (int i = 0; i < N_MANY(48); i++) {
        weft_rng r = weft_rng_seed((uint64_t)i + 1);
        net n = {
            .launch = weft_rng_real(&r),
            .sample = {1 + weft_rng_real(&r), 1 + 3 * weft_rng_real(&r)},
            .input = 1 + 9 * weft_rng_real(&r),
            .result = 1 + 9 * weft_rng_real(&r),
            .host = i % 3 - 1
        };

        n.input = floor(n.input), n.result = floor(n.result);
        against_brute(&n, (int64_t[]){1 + i % 3, 1 + i % 2}, 2, transfer[i % 3]);
        if (i % 4 == 0)
            against_brute(&n, (int64_t[]){2, 1, 1}, 3, transfer[i % 3]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_share_weights_and_gather_results),
        cmocka_unit_test(samples_that_mix_are_refused),
        cmocka_unit_test(a_plan_of_shares_by_hand),
        cmocka_unit_test(solvers_and_bounds_against_every_plan),
    };

    return RUN_TESTS(tests);
}
