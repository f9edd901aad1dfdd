/* SPDX-License-Identifier: MIT */
/* The planner of training on problems whose answer is known, on real networks, and what it says
 * when nothing fits. */
#include "check.h"
#include "platform_text.h"
#include "train.h"

/* --- problems made by hand ------------------------------------------------------------------- */

enum { MOST_UNITS = 8 };

typedef struct hand {
    weft_platform *platform;
    weft_train_problem *training;
    weft_arena *arena;
} hand;

/* n equal units: forward 1 s and backward 2 s a sample, 10 B of weights and as many of gradients,
 * 20 B of moments; 8 B kept a sample, 2 B with full recomputation. No bytes between units. */
static hand equal_units(int n, const char *notation, weft_train_constraints constraints)
{
    static const int width[] = {1};
    static const int64_t share[] = {1, 2};
    weft_block_cost one[MOST_UNITS], two[MOST_UNITS];
    weft_block_state states[MOST_UNITS];
    const weft_block_cost *cost[] = {one, two};
    const weft_block_state *state[] = {states, states};
    hand h = {.arena = weft_arena_new()};
    weft_train_problem_spec s = {.name = "hand",
                                 .constraints = constraints,
                                 .n_widths = 1,
                                 .n_shares = 2,
                                 .width = width,
                                 .share = share,
                                 .cost = cost,
                                 .state = state};

    CHECK_OK(weft_platform_notation(notation, &h.platform));
    for (int u = 0; u < n; u++)
        for (int x = 0; x < 2; x++) {
            weft_block_cost *c = x == 0 ? &one[u] : &two[u];

            *c = (weft_block_cost){.forward_s = x + 1, .backward_s = 2 * (x + 1)};
            c->compute_s = 3 * (x + 1);
            c->again_s[WEFT_KEEP_NONE] = x + 1;
            c->stash_bytes[WEFT_KEEP_ALL] = c->stash_bytes[WEFT_KEEP_SOME] = 8 * (x + 1);
            c->stash_bytes[WEFT_KEEP_NONE] = 2 * (x + 1);
            states[u] = (weft_block_state){
                .weight_bytes = 10, .gradient_bytes = 10, .moment_bytes = 20, .sync_bytes = 10};
        }
    weft_blocks_chain(n, h.arena, &s.blocks);
    s.platform = h.platform;
    CHECK_OK(weft_train_problem_make(&s, &h.training));
    return h;
}

static void drop(hand *h)
{
    weft_train_problem_free(h->training);
    weft_platform_free(h->platform);
    weft_arena_free(h->arena);
}

static weft_train_solution solve(const char *name, const weft_train_problem *p, weft_arena *a)
{
    weft_run run = {.limit_s = INFINITY, .scratch = a};
    weft_train_solution s;

    CHECK_OK(weft_train_solve(weft_train_find(name), p, &run, a, &s));
    return s;
}

static const weft_train_constraints plain = {.batch = 8,
                                             .schedules = 1u << WEFT_ONE_F_ONE_B,
                                             .recomputes = 1u << WEFT_KEEP_ALL,
                                             .most_chunks = 4};

TEST(solvers_are_found_by_name)
{
    for (int i = 0; i < weft_train_count(); i++)
        CHECK(weft_train_find(weft_train_at(i)->name) == weft_train_at(i));
    CHECK(weft_train_find("auto") != NULL && weft_train_find("none") == NULL);
}

/* Two units fit a device (2 * 40 + K * 2 * 8 <= 112 for K = 2), four do not: two stages of 6 s
 * each, 8 microbatches, hops take no time: (8 + 2 - 1) * 6 s. */
TEST(equal_stages_take_the_time_of_the_closed_form)
{
    hand h = equal_units(4, "2*gpu(mem=112); gpu0-gpu1:1", plain);
    weft_train_solution s = solve("auto", h.training, h.arena);

    CHECK_INT(s.proof.outcome, WEFT_OPTIMAL);
    CHECK_NEAR(s.proof.value, 54.0);
    CHECK_INT(s.plan.n_stages, 2);
    CHECK_INT(s.plan.cut[1], 2);
    drop(&h);
}

/* With room for all on each device: two replicas, 8 samples * 12 s / 2, and 40 B summed over a ring
 * of two at 1 B/s: 2 * 1/2 * 40 s. Slower than the pipeline. At 10 B/s it takes 48 + 4 s. */
TEST(replicas_are_weighed_against_stages)
{
    hand slow = equal_units(4, "2*gpu(mem=300); gpu0-gpu1:1", plain);
    hand quick = equal_units(4, "2*gpu(mem=300); gpu0-gpu1:10", plain);

    CHECK_NEAR(solve("auto", slow.training, slow.arena).proof.value, 54.0);
    CHECK_NEAR(solve("auto", quick.training, quick.arena).proof.value, 52.0);
    drop(&slow);
    drop(&quick);
}

/* The first unit is quick with "selective", the second with "full"; 9 s are computed again
 * otherwise. One stage takes 6 + 9 s, two stages 3 s each. So many devices form no device sets. */
TEST(stages_differ_in_what_they_compute_again)
{
    static const int width[] = {1};
    static const int64_t share[] = {1};
    weft_block_cost blocks[2] = {
        {.forward_s = 1, .backward_s = 2},
        {.forward_s = 1, .backward_s = 2}
    };
    weft_block_state states[2] = {{.sync_bytes = 1}, {.sync_bytes = 1}};
    const weft_block_cost *cost[] = {blocks};
    const weft_block_state *held[] = {states};
    hand h = {.arena = weft_arena_new()};
    weft_train_problem_spec s = {.name = "hand",
                                 .constraints = plain,
                                 .n_widths = 1,
                                 .n_shares = 1,
                                 .width = width,
                                 .share = share,
                                 .cost = cost,
                                 .state = held};
    weft_train_solution best;

    CHECK_OK(weft_platform_notation("100*gpu(mem=100); *:1000", &h.platform));
    s.platform = h.platform;
    s.constraints.batch = 1;
    s.constraints.recomputes = 1u << WEFT_KEEP_SOME | 1u << WEFT_KEEP_NONE;
    blocks[0].again_s[WEFT_KEEP_NONE] = blocks[1].again_s[WEFT_KEEP_SOME] = 9;
    weft_blocks_chain(2, h.arena, &s.blocks);
    CHECK_OK(weft_train_problem_make(&s, &h.training));
    best = solve("auto", h.training, h.arena);
    CHECK_INT(best.proof.outcome, WEFT_OPTIMAL);
    CHECK_NEAR(best.proof.value, 6.0);
    drop(&h);
}

/* 8 samples * 12 s of work over two devices. */
TEST(the_floor_is_the_work_over_all_devices)
{
    hand h = equal_units(4, "2*gpu(mem=300); gpu0-gpu1:10", plain);
    weft_train_solution s = solve("auto", h.training, h.arena);
    weft_train_bound_parts floor;
    weft_proof again;

    weft_train_bound(h.training, h.arena, &again, &floor);
    CHECK_NEAR(floor.compute_s, 48.0);
    CHECK_NEAR(again.bound, 48.0);
    CHECK(floor.send_s == 0);
    CHECK(again.bound == s.proof.certified && s.proof.certified <= s.proof.bound);
    CHECK_NEAR(s.log.floor.pipeline_s, s.proof.value);
    drop(&h);
}

/* --- nothing fits ---------------------------------------------------------------------------- */

static void check_reason(const char *notation, weft_train_constraints constraints, const char *what,
                         const char *change)
{
    hand h = equal_units(4, notation, constraints);
    weft_train_solution s = solve("auto", h.training, h.arena);

    CHECK_INT(s.proof.outcome, WEFT_INFEASIBLE);
    CHECK(s.plan.n_stages == 0 && isinf(s.proof.value));
    if (strstr(s.proof.reason, what) == NULL || strstr(s.proof.reason, change) == NULL)
        fail_msg("reason was: %s", s.proof.reason);
    drop(&h);
}

/* One device of 100 B: 4 * 40 + 4 * 8 = 192 B are needed, 92 more than there are. With two devices
 * the first of two stages needs 80 + 2 * 16 B = 112, with three stages 2 + 1 + 1 units: the first
 * needs 80 + 3 * 16 at two units, 40 + 3 * 8 at one; then the second or third has two: 80 + 32 or
 * 80 + 16 B = 96: three devices do. */
TEST(reason_counts_devices)
{
    check_reason("gpu(mem=100)", plain, "the best plan needs 92 B more",
                 "would fit with 3 devices of 100 B instead of 1");
    hand h = equal_units(4, "3*gpu(mem=100); gpu0-gpu1:1 gpu1-gpu2:1", plain);
    CHECK_INT(solve("auto", h.training, h.arena).proof.outcome, WEFT_OPTIMAL);
    drop(&h);
}

/* 4 * 40 + 4 * 2 = 168 B with full recomputation. */
TEST(reason_names_a_recomputation)
{
    check_reason("gpu(mem=170)", plain, "'gpu' have 170 B, the best plan needs 22 B more",
                 "would fit with recomputation 'full'");
}

/* Two samples at once: 4 * 40 + 4 * 16 B = 224; one: 192. */
TEST(reason_names_a_microbatch)
{
    weft_train_constraints constraints = plain;

    constraints.microbatch = 2;
    constraints.recomputes = 7;
    check_reason("gpu(mem=173)", constraints, "needs 3 B more",
                 "would fit with microbatches of 1 samples instead of 2");
}

/* Two replicas with half of the moments each: 4 * 20 + 2 * 20 + 4 * 8 B = 152. */
TEST(reason_names_the_split_of_moments)
{
    weft_train_constraints constraints = plain;

    constraints.most_stages = 1;
    check_reason("2*gpu(mem=160); gpu0-gpu1:1", constraints, "needs 32 B more",
                 "would fit with the optimizer's state split over replicas");
}

/* Under gpipe 8 microbatches of two units with 2 B each are kept, 80 + 8 * 4 B; under 1f1b 2. */
TEST(reason_names_a_schedule)
{
    weft_train_constraints constraints = plain;

    constraints.schedules = 1u << WEFT_GPIPE;
    constraints.recomputes = 7;
    check_reason("2*gpu(mem=100); gpu0-gpu1:1", constraints, "needs 12 B more",
                 "would fit with schedule '1f1b'");
}

/* One stage: two replicas keep 4 microbatches each, 160 + 4 * 8 B; one keeps 8. */
TEST(reason_counts_on_replicas)
{
    weft_train_constraints constraints = plain;

    constraints.schedules = 1u << WEFT_GPIPE;
    constraints.recomputes = 7;
    constraints.most_stages = 1;
    check_reason("2*gpu(mem=180); gpu0-gpu1:1", constraints, "needs 12 B more",
                 "would fit with schedule '1f1b'");
}

/* One device has no two stages. */
TEST(reason_knows_what_interleaved_plans_take)
{
    weft_train_constraints constraints = plain;

    constraints.schedules = 1u << WEFT_INTERLEAVED;
    check_reason("gpu(mem=300)", constraints, "no interleaved plan fits",
                 "would fit with schedule '1f1b'");
    check_reason("gpu(mem=20)", constraints, "two or more stages", "no other schedule was found");
}

/* A unit needs 40 B without what is kept. */
TEST(reason_admits_that_nothing_is_known_to_help)
{
    check_reason("gpu(mem=30)", plain, "no plan fits memory",
                 "no number of such devices up to 4096, was found to help");
}

/* --- limits ---------------------------------------------------------------------------------- */

TEST(stopping_leaves_a_valid_answer)
{
    hand h = equal_units(8, "4*gpu(mem=300); *:10", plain);
    volatile sig_atomic_t stop = 1;
    weft_run stopped = {.limit_s = INFINITY, .scratch = h.arena, .stop = &stop};
    double best = solve("auto", h.training, h.arena).proof.value;
    weft_train_solution s;

    CHECK_OK(weft_train_solve(weft_train_find("auto"), h.training, &stopped, h.arena, &s));
    CHECK(s.proof.outcome != WEFT_INFEASIBLE);
    CHECK(s.proof.bound <= best * (1 + 1e-9) && s.proof.value >= best * (1 - 1e-9));
    drop(&h);
}

/* A prime batch: a microbatch for each sample, more than the simulator takes. */
TEST(plans_can_be_simulated)
{
    weft_train_constraints constraints = plain;
    hand h;
    weft_train_solution s;

    constraints.batch = 999999937;
    h = equal_units(8, "8*gpu(mem=400); *:10", constraints);
    s = solve("auto", h.training, h.arena);
    CHECK_INT(s.proof.outcome, WEFT_INFEASIBLE);
    CHECK(strstr(s.proof.reason, "as many microbatches as can be simulated") != NULL);
    drop(&h);
}

TEST(limits_of_the_question_are_kept)
{
    weft_train_constraints constraints = plain;

    constraints.most_stages = 2;
    constraints.most_replicas = 1;
    hand h = equal_units(8, "4*gpu(mem=1000); *:10", constraints);
    weft_train_solution s = solve("auto", h.training, h.arena);

    CHECK_INT(s.plan.n_stages, 2); /* (8 + 1) * 12 s */
    CHECK_NEAR(s.proof.value, 108.0);
    drop(&h);
}

/* --- real networks --------------------------------------------------------------------------- */

static void check_design_pipeline(const char *model, const char *platform, double most_share)
{
    weft_model_options options = {.dtype = WEFT_F16};
    weft_train_constraints constraints = {.batch = 512,
                                          .schedules = (1u << WEFT_N_SCHEDULES) - 1,
                                          .recomputes = (1u << WEFT_N_RECOMPUTES) - 1,
                                          .most_chunks = 4};
    weft_arena *a = weft_arena_new();
    weft_train_solution best, equal;
    weft_platform *f;
    weft_train_problem *p;

    CHECK_OK(weft_platform_open(platform, &f));
    CHECK_OK(weft_train_problem_new(model, &options, f, &constraints, &p));
    best = solve("auto", p, a);
    equal = solve("equal", p, a);
    CHECK(best.proof.gap < 0.1);
    CHECK_INT(best.measures.over_stage, -1);
    CHECK(equal.proof.outcome == WEFT_BOUNDED || equal.proof.outcome == WEFT_OPTIMAL);
    CHECK(best.proof.value <= most_share * equal.proof.value);
    weft_train_problem_free(p);
    weft_platform_free(f);
    weft_arena_free(a);
}

/* On unequal devices the plan beats the best one for equal devices by far. */
TEST(unequal_devices_are_used_as_such)
{
    check_design_pipeline("llama", "mixed-fleet", 0.8);
    if (IS_THOROUGH)
        check_design_pipeline("gpt2:xl", "mixed-fleet", 0.8);
}

/* Equal devices: nothing is lost. */
TEST(equal_devices_lose_nothing)
{
    check_design_pipeline("llama", "cluster-32", 1);
    if (IS_THOROUGH)
        check_design_pipeline("gpt2:xl", "cluster-32", 1);
}

/* Products of a step of one sample: of a layer 12 h^2 multiply-accumulates for each place, of the
 * logits h v, and of attention 2 h for each pair of places, half of which a causal mask hides; each
 * once forward and twice backward. */
TEST(products_behind_a_causal_mask_count_half)
{
    static const weft_software software[] = {WEFT_SOFTWARE_GRAPH, WEFT_SOFTWARE_FLASH};
    double s = 128, h = 64, v = 256, macs = s * (12 * h * h + h * v) + s * s * h;

    for (int i = 0; i < 2; i++) {
        weft_model_options options = {.software = software[i]};
        weft_train_constraints constraints = plain;
        weft_platform *f;
        weft_train_problem *p;

        constraints.batch = 1;
        CHECK_OK(weft_platform_open("dgx-a100", &f));
        CHECK_OK(weft_train_problem_new("gpt2:layers=1,hidden=64,heads=2,seq=128,vocab=256",
                                        &options, f, &constraints, &p));
        CHECK_NEAR(p->sample_flops, 2 * 3 * macs);
        weft_train_problem_free(p);
        weft_platform_free(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solvers_are_found_by_name),
        cmocka_unit_test(equal_stages_take_the_time_of_the_closed_form),
        cmocka_unit_test(replicas_are_weighed_against_stages),
        cmocka_unit_test(stages_differ_in_what_they_compute_again),
        cmocka_unit_test(the_floor_is_the_work_over_all_devices),
        cmocka_unit_test(reason_counts_devices),
        cmocka_unit_test(reason_names_a_recomputation),
        cmocka_unit_test(reason_names_a_microbatch),
        cmocka_unit_test(reason_names_the_split_of_moments),
        cmocka_unit_test(reason_names_a_schedule),
        cmocka_unit_test(reason_counts_on_replicas),
        cmocka_unit_test(reason_knows_what_interleaved_plans_take),
        cmocka_unit_test(reason_admits_that_nothing_is_known_to_help),
        cmocka_unit_test(stopping_leaves_a_valid_answer),
        cmocka_unit_test(plans_can_be_simulated),
        cmocka_unit_test(limits_of_the_question_are_kept),
        cmocka_unit_test(unequal_devices_are_used_as_such),
        cmocka_unit_test(equal_devices_lose_nothing),
        cmocka_unit_test(products_behind_a_causal_mask_count_half),
    };

    return RUN_TESTS(tests);
}
