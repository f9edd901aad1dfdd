/* SPDX-License-Identifier: MIT */
/* The search over device sets: what it must not leave out, what it must not call proved. */
#include "check.h"

#include "draw_shards.h"
#include "kind.h"

#include "shard.h"

/* Boards of two designs: one for convolutions alone, one for all the rest. */
#define TWO_DESIGNS                                                                                \
    "devices:\n"                                                                                   \
    "  - {name: cpu, model: roofline, peak_flops: 1e9, memory_bandwidth: 64GB/s}\n"                \
    "  - name: d\n"                                                                                \
    "    count: 4\n"                                                                               \
    "    memory: 1GB\n"                                                                            \
    "    designs:\n"                                                                               \
    "      - {name: convs, model: roofline, peak_flops: 1e11, memory_bandwidth: 64GB/s,\n"         \
    "         only: [Conv, Relu, Add]}\n"                                                          \
    "      - {name: rest, model: roofline, peak_flops: 4e10, memory_bandwidth: 64GB/s,\n"          \
    "         only: [Relu, MaxPool, GlobalAveragePool, AveragePool, Flatten, Gemm]}\n"             \
    "links:\n"                                                                                     \
    "  - {all: [d], bandwidth: 8Gbit/s}\n"                                                         \
    "  - {star: {center: cpu, to: [d]}, bandwidth: 2Gbit/s}\n"

static const char plain[] =
    "schema: weft.platform/1\nname: two\nhost: cpu\noverlap: false\n" TWO_DESIGNS;
static const char hiding[] =
    "schema: weft.platform/1\nname: two\nhost: cpu\noverlap: true\n" TWO_DESIGNS;

typedef struct solved {
    weft_arena *arena;
    weft_shard_solution s;
} solved;

static solved solve(const weft_shard_problem *p, double limit_s)
{
    solved out = {.arena = weft_arena_new()};
    weft_run run = {.limit_s = limit_s, .n_threads = 1, .scratch = weft_arena_new()};

    CHECK_OK(weft_shard_solve(weft_shard_find("auto"), p, NULL, &run, out.arena, &out.s));
    weft_arena_free(run.scratch);
    return out;
}

static double value_of(const char *model, const char *yaml, weft_shard_constraints constraints,
                       double limit_s)
{
    weft_shard_case c = draw_case(model, yaml, &constraints);
    solved x = solve(c.sharding, limit_s);
    double value = x.s.proof.value;

    CHECK(x.s.proof.bound <= value);
    weft_arena_free(x.arena);
    weft_shard_case_close(&c);
    return value;
}

/* Convolution, pooling, convolutions, pooling: with a stretch each, two sets as `convs` and two as
 * `rest` are needed. */
TEST(stretches_may_need_several_sets_of_one_kind)
{
    weft_shard_constraints constraints = {.is_contiguous = true};
    weft_shard_case c = draw_case("resnet18:image=32,width=8", plain, &constraints);
    solved x = solve(c.sharding, INFINITY);

    CHECK_INT(x.s.proof.outcome, WEFT_OPTIMAL);
    CHECK_INT(x.s.plan.n_sets, 4);
    CHECK(x.s.proof.value >=
          value_of("resnet18:image=32,width=8", plain, (weft_shard_constraints){0}, INFINITY) *
              (1 - 1e-12));
    weft_arena_free(x.arena);
    weft_shard_case_close(&c);
}

TEST(stretches_side_by_side_are_refused)
{
    weft_shard_constraints constraints = {.is_contiguous = true};
    weft_shard_case c = draw_case("alexnet", plain, &constraints);
    weft_shard_problem *p = NULL;

    constraints.is_concurrent = true;
    CHECK_INT(weft_shard_problem_new(c.model->graph, c.platform, &constraints, &p), WEFT_E_INPUT);
    CHECK(p == NULL);
    weft_shard_case_close(&c);
}

/* Every plan takes no longer where communication hides, so the best does not either; also where
 * designs cannot run all steps. */
TEST(hiding_communication_makes_no_plan_slower)
{
    static const char *const model[] = {"alexnet", "resnet18:image=64,width=16"};

    for (int i = 0; i < 2; i++) {
        double shown_s = value_of(model[i], plain, (weft_shard_constraints){0}, INFINITY);

        CHECK(shown_s < INFINITY);
        CHECK(value_of(model[i], hiding, (weft_shard_constraints){0}, INFINITY) <=
              shown_s * (1 + 1e-12));
    }
}

TEST(there_is_a_plan_even_without_time)
{
    static const weft_shard_constraints constraints[] = {
        {0}, {.is_contiguous = true}, {.is_concurrent = true}};

    for (int i = 0; i < 3; i++)
        CHECK(value_of("alexnet", draw_mixed, constraints[i], 0) < INFINITY);
}

/* 13 GB of weights for 8 GB of memory: no time is needed to see that. */
TEST(what_is_too_large_is_proved_even_without_time)
{
    weft_shard_request request = {.model = "dlrm", .platform = "f1-2x4"};
    weft_run run = {.n_threads = 1, .limit_s = 0, .scratch = weft_arena_new()};
    weft_arena *a = weft_arena_new();
    weft_shard_solution s;
    weft_shard_case c;

    CHECK_OK(weft_shard_case_open(&request, &c));
    CHECK_OK(weft_shard_solve(weft_shard_find("auto"), c.sharding, NULL, &run, a, &s));
    CHECK_INT(s.proof.outcome, WEFT_INFEASIBLE);
    CHECK(s.proof.reason != NULL);
    weft_shard_case_close(&c);
    weft_arena_free(a);
    weft_arena_free(run.scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stretches_may_need_several_sets_of_one_kind),
        cmocka_unit_test(stretches_side_by_side_are_refused),
        cmocka_unit_test(hiding_communication_makes_no_plan_slower),
        cmocka_unit_test(there_is_a_plan_even_without_time),
        cmocka_unit_test(what_is_too_large_is_proved_even_without_time),
    };

    return RUN_TESTS(tests);
}
