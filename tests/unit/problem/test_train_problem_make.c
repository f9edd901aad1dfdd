/* SPDX-License-Identifier: MIT */
/* Training problems from numbers: what is wrong with them in words, sums over cuts, the hash; the
 * rules of plans, each of them broken once; measures by hand. */
#include "check.h"
#include "draw_training.h"
#include "train_lowered.h"

/* --- problems -------------------------------------------------------------------------------- */

typedef struct changed {
    drawn_training d;
    weft_train_problem_spec spec;
    weft_arena *a;
} changed;

static changed start(const draw_training_ask *constraints, uint64_t seed)
{
    weft_rng r = weft_rng_seed(seed);
    changed x = {.d = draw_training(constraints, &r), .a = weft_arena_new()};

    x.spec = draw_spec(&x.d);
    return x;
}

static void end(changed *x)
{
    weft_arena_free(x->a);
    drop_training(&x->d);
}

static void check_refused(const weft_train_problem_spec *s, const char *part)
{
    weft_train_problem *p = NULL;

    CHECK_FAILS(weft_train_problem_make(s, &p), part);
    CHECK(p == NULL);
}

TEST(what_is_asked_must_make_sense)
{
    changed x = start(&(draw_training_ask){0}, 1);
    weft_train_problem_spec s = x.spec;

    s.constraints.batch = 0;
    check_refused(&s, "the batch has 0 samples");
    s = x.spec;
    s.constraints.microbatch = 7;
    check_refused(&s, "microbatches of 7 samples do not divide a batch of");
    s.constraints.microbatch = -1;
    check_refused(&s, "microbatches of -1 samples");
    s = x.spec;
    s.constraints.most_stages = -2;
    check_refused(&s, "stages -2");
    s = x.spec;
    s.constraints.schedules = 0;
    check_refused(&s, "no schedule is allowed");
    s.constraints.schedules = 1u << WEFT_N_SCHEDULES;
    check_refused(&s, "no schedule is allowed, or one that does not exist");
    s = x.spec;
    s.constraints.recomputes = 8;
    check_refused(&s, "no kind of recomputation is allowed");
    s = x.spec;
    s.width = (const int[]){2, 3, 4};
    check_refused(&s, "widths must start with 1");
    s.width = (const int[]){1, 3, 3};
    check_refused(&s, "widths must ascend: 3 comes after 3");
    s = x.spec;
    s.share = (const int64_t[]){1, 2, 3, 4, 6, 5};
    check_refused(&s, "shares must ascend: 5 samples come after 6");
    s.share = (const int64_t[]){2, 3, 4, 5, 6, 7};
    check_refused(&s, "shares must start with 1 sample");
    end(&x);
}

TEST(platforms_with_other_transfers_are_refused)
{
    changed x = start(&(draw_training_ask){0}, 1);
    weft_platform block = *x.d.platform;

    block.transfer = WEFT_BLOCK;
    x.spec.platform = &block;
    check_refused(&x.spec, "has transfer 'block': plans of training know 'overlap' and 'contend'");
    end(&x);
}

/* A graph that is no chain. */
static changed start_wide(void)
{
    uint64_t seed = 1;
    changed x = start(&(draw_training_ask){.is_dag = true}, seed);

    while (x.spec.blocks.is_chain) {
        end(&x);
        x = start(&(draw_training_ask){.is_dag = true}, ++seed);
    }
    return x;
}

TEST(cuts_must_be_cuts)
{
    changed x = start_wide();
    weft_train_problem_spec s = x.spec;
    weft_blocks *u = &s.blocks;
    size_t n = (size_t)u->n_cuts * (size_t)u->n_words;
    uint64_t *cut = weft_arena_copy(x.a, u->cut, n * sizeof *cut), kept;
    double *leave = weft_arena_copy(x.a, u->leave_bytes, (size_t)u->n_cuts * sizeof *leave);

    CHECK_INT(u->n_words, 1);
    u->cut = cut;
    cut[0] = 1;
    check_refused(&s, "the first cut must have no unit");
    cut[0] = 0;
    kept = cut[1];
    cut[1] |= UINT64_C(1) << 60;
    check_refused(&s, "cut 1 has a unit that does not exist");
    cut[1] = cut[2];
    check_refused(&s, "cut 2 comes after cut 1, which contains it");
    cut[1] = kept;
    u->is_chain = true;
    check_refused(&s, "units, as a chain, have");
    u->is_chain = false;
    u->leave_bytes = leave;
    leave[1] = NAN;
    check_refused(&s, "cut 1 is crossed by");
    leave[1] = 0;
    u->n_shared = 1;
    u->shared = &(const weft_shared){0, 77, -1};
    check_refused(&s, "units 0 and 77 share a parameter");
    u->shared = &(const weft_shared){1, 1, -1};
    check_refused(&s, "units 1 and 1 share a parameter");
    u->n_shared = 0;
    u->n_cuts = 1;
    check_refused(&s, "are no network");
    end(&x);
}

TEST(numbers_must_be_amounts)
{
    changed x = start(&(draw_training_ask){0}, 2);
    weft_train_problem_spec s = x.spec;
    size_t n = (size_t)s.blocks.n_blocks;
    int n_tables = x.d.training->cluster->n_classes * s.n_widths * s.n_shares;
    const weft_block_cost **cost = weft_arena_copy(x.a, s.cost, (size_t)n_tables * sizeof *cost);
    const weft_block_state **states =
        weft_arena_copy(x.a, s.state, (size_t)n_tables * sizeof *states);
    weft_block_cost *bad = weft_arena_copy(x.a, cost[0], n * sizeof *bad);
    weft_block_state *odd = weft_arena_copy(x.a, states[0], n * sizeof *odd);

    s.cost = cost;
    s.state = states;
    cost[0] = bad;
    bad[1].again_s[2] = -1;
    check_refused(&s, "unit 'u1', class 0, width 1, 1 samples: a cost is negative or no number");
    bad[1].again_s[2] = INFINITY;
    check_refused(&s, "unit 'u1'");
    bad[1].again_s[2] = 0;
    states[0] = odd;
    odd[0].sync_bytes = NAN;
    check_refused(&s, "unit 'u0', class 0, width 1, 1 samples: a cost is negative or no number");
    states[0] = NULL;
    check_refused(&s, "class 0 at width 1 with 1 samples has times but no memory");
    for (int t = 0; t < n_tables; t++)
        cost[t] = NULL;
    check_refused(&s, "no device of platform 'drawn' can run the network");
    end(&x);
}

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-12 * (fabs(a) + fabs(b));
}

static void check_sums(const weft_train_problem *p, int table)
{
    const weft_blocks *u = &p->blocks;
    const weft_block_state *state = p->state[table];

    for (int c = 0; c < u->n_cuts; c++) {
        weft_block_cost x = {0};
        weft_block_state y = {0};
        const weft_block_cost *sum = &p->cost_sum[table][c];
        const weft_block_state *all = &p->state_sum[table][c];

        for (int i = 0; i < u->n_blocks; i++)
            if (weft_bit_get(u->cut + (size_t)c * (size_t)u->n_words, i)) {
                x.forward_s += p->cost[table][i].forward_s;
                x.backward_s += p->cost[table][i].backward_s;
                x.forward_collective_s += p->cost[table][i].forward_collective_s;
                x.compute_s += p->cost[table][i].compute_s;
                x.memory_s += p->cost[table][i].memory_s;
                x.again_s[1] += p->cost[table][i].again_s[1];
                x.stash_bytes[2] += p->cost[table][i].stash_bytes[2];
                y.weight_bytes += state[i].weight_bytes;
                y.moment_bytes += state[i].moment_bytes;
                y.update_s += state[i].update_s;
            }
        CHECK(is_near(sum->forward_s, x.forward_s) && is_near(sum->backward_s, x.backward_s));
        CHECK(is_near(sum->forward_collective_s, x.forward_collective_s));
        CHECK(is_near(sum->compute_s, x.compute_s) && is_near(sum->memory_s, x.memory_s));
        CHECK(is_near(sum->again_s[1], x.again_s[1]));
        CHECK(is_near(sum->stash_bytes[2], x.stash_bytes[2]));
        CHECK(sum->work_bytes[0] <= 0 && sum->work_bytes[1] <= 0 && sum->work_bytes[2] <= 0);
        CHECK(is_near(all->weight_bytes, y.weight_bytes) && is_near(all->update_s, y.update_s));
        CHECK(is_near(all->moment_bytes, y.moment_bytes));
    }
}

/* Chains, all cuts of graphs, and graphs of which cuts were left out. */
TEST(sums_run_over_the_units_of_cuts)
{
    for (uint64_t seed = 1; seed <= (uint64_t)N_DRAWN(60) + 6; seed++) {
        changed x = start(&(draw_training_ask){.is_dag = seed % 3 > 0}, seed);
        weft_train_problem *p = NULL;
        weft_blocks *u = &x.spec.blocks;

        if (seed % 3 == 2 && u->n_cuts > 3) {
            uint64_t *cut = WEFT_NEW(x.a, uint64_t, u->n_cuts);
            int n = 0;

            for (int c = 0; c < u->n_cuts; c++)
                if (c == 0 || c == u->n_cuts - 1 || c % 3 == 0)
                    cut[n++] = u->cut[c];
            u->cut = cut;
            u->n_cuts = n;
            u->is_complete = u->is_chain = false;
        }
        CHECK_OK(weft_train_problem_make(&x.spec, &p));
        for (int t = 0; t < p->cluster->n_classes * p->n_widths * p->n_shares; t++)
            if (p->cost[t] != NULL)
                check_sums(p, t);
        weft_train_problem_free(p);
        end(&x);
    }
}

static uint64_t hash_of(const weft_train_problem_spec *s)
{
    weft_train_problem *p = NULL;
    uint64_t hash;

    CHECK_OK(weft_train_problem_make(s, &p));
    hash = p->hash;
    weft_train_problem_free(p);
    return hash;
}

TEST(the_hash_covers_what_is_asked_and_all_numbers)
{
    changed x = start(&(draw_training_ask){0}, 3);
    weft_train_problem_spec s = x.spec;
    uint64_t hash = x.d.training->hash;
    weft_block_cost *cost =
        weft_arena_copy(x.a, s.cost[0], (size_t)s.blocks.n_blocks * sizeof *cost);
    const weft_block_cost **costs = weft_arena_copy(x.a, s.cost, 36 * sizeof *costs);

    CHECK(hash_of(&s) == hash);
    s.constraints.most_stages = 9;
    CHECK(hash_of(&s) != hash);
    s = x.spec;
    s.constraints.zeros = 2;
    CHECK(hash_of(&s) != hash);
    s.constraints.zeros = 3;
    CHECK(hash_of(&s) != hash);
    s = x.spec;
    s.name = "other";
    CHECK(hash_of(&s) != hash);
    s = x.spec;
    s.cost = costs;
    costs[0] = cost;
    CHECK(hash_of(&s) == hash);
    cost[1].work_bytes[2] += 1;
    CHECK(hash_of(&s) != hash);
    s = x.spec;
    s.blocks.n_shared = 1;
    s.blocks.shared = &(const weft_shared){0, 1, -1};
    CHECK(hash_of(&s) != hash);
    end(&x);
}

/* --- rules of plans -------------------------------------------------------------------------- */

typedef struct planned {
    weft_platform *platform;
    weft_train_problem *training;
    weft_arena *a;
    weft_train_plan plan;
    int cut[7];
    weft_stage stage[6];
} planned;

enum { UNITS = 6 };

/* Six units of 1 s forward, 2 s backward and 1 s again if all is, on two servers of four GPUs and
 * one of two slow ones, which take twice as long; shares 1, 2, 4; widths 1 and 2. Each unit has 10
 * bytes of weights, 10 of gradients, 40 of moments, stashes 5 a sample and works with 3. The plan:
 * 8 samples in microbatches of 4 on two stages; three units on two GPUs each. */
static void start_plan(planned *x)
{
    static const char text[] =
        "schema: weft.platform/1\nname: two\nswitches: [net]\ngroups:\n"
        "  - name: fast\n    count: 2\n    switches: [hub]\n    devices:\n"
        "      - {name: gpu, count: 4, model: roofline, peak_flops: 2e12,\n"
        "         memory_bandwidth: 1GB/s, memory: 1000B}\n    links:\n"
        "      - {star: {center: hub, to: [gpu]}, bandwidth: 10GB/s, latency: 0.5us}\n"
        "  - name: slow\n    switches: [hub]\n    devices:\n"
        "      - {name: gpu, count: 2, model: roofline, peak_flops: 1e12,\n"
        "         memory_bandwidth: 1GB/s, memory: 500B}\n    links:\n"
        "      - {star: {center: hub, to: [gpu]}, bandwidth: 10GB/s, latency: 0.5us}\n"
        "links:\n"
        "  - {star: {center: net, to: [fast.gpu, slow.gpu]}, bandwidth: 1GB/s, latency: 0.5us}\n";
    static const int64_t shares[] = {1, 2, 4};
    const weft_block_cost *cost[12] = {NULL};
    const weft_block_state *state[12] = {NULL};
    weft_train_problem_spec s = {
        .name = "six",
        .n_widths = 2,
        .n_shares = 3,
        .width = (const int[]){1, 2},
        .share = shares,
        .cost = cost,
        .state = state
    };

    *x = (planned){.a = weft_arena_new()};
    CHECK_OK(weft_platform_parse(text, strlen(text), "two", &x->platform));
    s.platform = x->platform;
    s.constraints =
        (weft_train_constraints){.batch = 8,
                                 .schedules = 1u << WEFT_ONE_F_ONE_B | 1u << WEFT_INTERLEAVED,
                                 .recomputes = 1u << WEFT_KEEP_ALL | 1u << WEFT_KEEP_NONE,
                                 .most_width = 1,
                                 .most_replicas = 4,
                                 .most_stages = 3,
                                 .most_chunks = 2};
    weft_blocks_chain(UNITS, x->a, &s.blocks);
    for (int i = 0; i < 12; i++) {
        weft_block_state *list = WEFT_NEW(x->a, weft_block_state, UNITS);

        for (int u = 0; u < UNITS; u++)
            list[u] = (weft_block_state){10, 10, 40, 0, 0};
        state[i] = list;
    }
    for (int t = 0; t < 12; t++) {
        weft_block_cost *list = WEFT_NEW(x->a, weft_block_cost, UNITS);
        double k = (double)shares[t % 3] * (t >= 6 ? 2 : 1);

        for (int u = 0; u < UNITS; u++)
            list[u] = (weft_block_cost){
                .forward_s = k,
                .backward_s = 2 * k,
                .compute_s = 1.5 * k,
                .again_s = {0,                         0, k},
                .stash_bytes = {5 * (double)shares[t % 3], 0, 1},
                .work_bytes = {3,                         3, 3}
            };
        cost[t] = t == 8 ? NULL : list; /* slow GPUs cannot run four samples */
    }
    CHECK_OK(weft_train_problem_make(&s, &x->training));
    memcpy(x->cut, (const int[]){0, 3, 6}, 3 * sizeof(int));
    for (int i = 0; i < 2; i++)
        x->stage[i] = (weft_stage){.width = 1, .n_parts = 1, .part = {{0, 2, 2 * i, 1, 2}}};
    x->plan = (weft_train_plan){WEFT_ONE_F_ONE_B, 4, 2, 1, x->cut, x->stage, 0};
}

static void end_plan(planned *x)
{
    weft_train_problem_free(x->training);
    weft_platform_free(x->platform);
    weft_arena_free(x->a);
}

/* The plan as it is now breaks a rule; then it is as at the start. */
static void check_broken(planned *x, const char *part)
{
    weft_violation violation[8] = {{NULL}};
    int n = weft_train_plan_check(x->training, &x->plan, violation, 8, x->a);
    weft_train_measures t;
    weft_train_lowered draft;
    bool is_found = false;

    CHECK(n > 0);
    for (int i = 0; i < n && i < 8; i++)
        is_found |= strstr(violation[i].what, part) != NULL;
    if (!is_found)
        fail_msg("expected '%s', found: %s", part, violation[0].what);
    CHECK_FAILS(weft_train_plan_evaluate(x->training, &x->plan, x->a, &t), violation[0].what);
    CHECK_FAILS(weft_train_lower(x->training, &x->plan, x->a, &draft), violation[0].what);
    end_plan(x);
    start_plan(x);
}

TEST(rules_of_the_whole)
{
    planned x;

    start_plan(&x);
    CHECK_INT(weft_train_plan_check(x.training, &x.plan, NULL, 0, x.a), 0);
    x.plan.microbatch = 3;
    check_broken(&x, "microbatches of 3 samples do not divide the batch of 8");
    x.plan.microbatch = 0;
    check_broken(&x, "microbatches of 0 samples do not divide the batch of 8");
    x.training->constraints.microbatch = 2;
    check_broken(&x, "microbatches of 4 samples, 2 are asked for");
    x.plan.n_stages = 0;
    check_broken(&x, "0 stages of 1 chunks each");
    x.plan.n_stages = 7;
    check_broken(&x, "7 stages of 1 chunks each: every chunk needs a unit, the network has 6");
    x.training->constraints.most_stages = 1;
    check_broken(&x, "2 stages, at most 1 are allowed");
    x.plan.schedule = WEFT_EAGER;
    check_broken(&x, "schedule 'eager' is not allowed");
    x.plan.schedule = WEFT_N_SCHEDULES;
    check_broken(&x, "schedule 4 does not exist");
    x.plan.schedule = WEFT_INTERLEAVED;
    check_broken(&x, "1 chunks of each stage, schedule 'interleaved' allows 2 to 2");
    memcpy(x.cut, (const int[]){0, 1, 2, 3, 6}, 5 * sizeof(int));
    x.plan.n_chunks = 2;
    check_broken(&x, "2 chunks of each stage, schedule '1f1b' has one");
    memcpy(x.cut, (const int[]){0, 1, 2, 3, 6}, 5 * sizeof(int));
    x.plan.n_chunks = 2;
    x.plan.schedule = WEFT_INTERLEAVED;
    CHECK_INT(weft_train_plan_check(x.training, &x.plan, NULL, 0, x.a), 0);
    x.training->constraints.batch = 12;
    check_broken(&x, "3 microbatches are no multiple of 2 stages");
    end_plan(&x);
}

TEST(rules_of_cuts)
{
    planned x;

    start_plan(&x);
    x.cut[0] = 1;
    check_broken(&x, "units before chunk 0 are on no stage");
    x.cut[2] = 5;
    check_broken(&x, "units after chunk 1 are on no stage");
    x.cut[1] = 0;
    check_broken(&x, "chunk 0 (stage 0) has no unit");
    x.cut[1] = 7;
    check_broken(&x, "chunk 1 is cut at 7, expected 0 to 6");
    x.cut[0] = 4;
    check_broken(&x, "chunk 0 (stage 0) ends before units that earlier chunks have");
    end_plan(&x);
}

TEST(rules_of_stages)
{
    planned x;

    start_plan(&x);
    x.stage[1].n_parts = 0;
    check_broken(&x, "stage 1 has 0 groups of devices, expected 1 to 8");
    x.stage[1].width = 3;
    check_broken(&x, "stage 1: there are no costs of tensor width 3");
    x.stage[1].width = 2;
    check_broken(&x, "stage 1 has tensor width 2, at most 1 is allowed");
    x.stage[0].recompute = WEFT_KEEP_SOME;
    check_broken(&x, "stage 0: recomputation 'selective' is not allowed");
    x.stage[0].recompute = WEFT_N_RECOMPUTES;
    check_broken(&x, "stage 0: recomputation 3 does not exist");
    x.stage[0].part[0].class_id = 2;
    check_broken(&x, "stage 0: class 2 of devices, expected 0 to 1");
    x.stage[0].part[0].first = 7;
    check_broken(&x, "stage 0: 2 blocks of 'fast.gpu' from 7 in steps of 1; there are 8 of 1");
    x.stage[0].part[0].step = 0;
    check_broken(&x, "in steps of 0");
    x.stage[0].part[0].first = -1;
    check_broken(&x, "from -1");
    x.stage[0].part[0].n_blocks = 0;
    check_broken(&x, "stage 0: 0 blocks of 'fast.gpu'");
    x.stage[0].part[0].samples = 3;
    check_broken(&x, "stage 0: there are no costs of 3 samples");
    x.stage[0].part[0] = (weft_device_set_part){1, 1, 0, 1, 4};
    check_broken(&x, "stage 0: 'slow.gpu' cannot run 4 samples at tensor width 1");
    x.stage[0].part[0].samples = 1;
    check_broken(&x, "stage 0: its devices get 2 samples of a microbatch of 4");
    x.training->constraints.most_replicas = 1;
    check_broken(&x, "stage 0 has 2 replicas, at most 1 are allowed");
    x.stage[1].part[0].first = 1;
    check_broken(&x, "'fast-0.gpu-1' is in stage 0 and in stage 1");
    x.stage[1].n_parts = 2;
    x.stage[1].part[0] = x.stage[1].part[1] = (weft_device_set_part){0, 1, 5, 1, 2};
    check_broken(&x, "'fast-1.gpu-1' is in stage 1 twice");
    end_plan(&x);
}

/* --- measures by hand ------------------------------------------------------------------------ */

/* 3 units of 2 samples on each of two GPUs: forward 6 s, backward 12 s; 2 microbatches, 2 stages:
 * (2 + 1) 18 s. The first stage keeps both microbatches: 3 (10 + 10 + 40) + 2 * 3 * 10 + 3 bytes.
 */
TEST(a_step_by_hand)
{
    weft_train_measures t;
    planned x;

    start_plan(&x);
    CHECK_OK(weft_train_plan_evaluate(x.training, &x.plan, x.a, &t));
    CHECK_NEAR(t.step_s, 54.0);
    CHECK_NEAR(t.samples_per_s, 8 / 54.0);
    CHECK_NEAR(t.bubble, 1 / 3.0);
    CHECK_NEAR(t.stage_peak_bytes[0], 180.0 + 60 + 3);
    CHECK_NEAR(t.stage_peak_bytes[1], 180.0 + 30 + 3);
    /* at the peak 9 s a microbatch on each of 4 equal GPUs */
    CHECK_NEAR(t.flops_utilisation, 18 / 54.0);
    CHECK_INT(t.over_stage, -1);
    CHECK(t.sent_bytes <= 0 && t.sync_s <= 0);
    x.stage[0].recompute = WEFT_KEEP_NONE; /* 6 s more for each backward of the first stage */
    CHECK_OK(weft_train_plan_evaluate(x.training, &x.plan, x.a, &t));
    CHECK_NEAR(t.figures[0].again_s, 6.0);
    CHECK_NEAR(t.stage_peak_bytes[0], 180.0 + 6 + 3);
    CHECK_NEAR(t.step_s, 6.0 + 18 + 2 * 18); /* forward, the last stage once, backward twice */
    end_plan(&x);
}

/* The slow GPU, with one sample of four, takes as long as a fast one with two; its memory is the
 * fuller one. */
TEST(unequal_devices_of_a_stage)
{
    weft_train_measures t;
    planned x;

    start_plan(&x);
    x.stage[1].n_parts = 2;
    x.stage[1].part[0] = (weft_device_set_part){0, 1, 4, 1, 2};
    x.stage[1].part[1] = (weft_device_set_part){1, 2, 0, 1, 1};
    x.training->constraints.zero = 1; /* over three and two */
    CHECK_OK(weft_train_plan_evaluate(x.training, &x.plan, x.a, &t));
    CHECK_NEAR(t.step_s, 54.0);
    CHECK_NEAR(t.stage_peak_bytes[1], 60.0 + 40 + 15 + 3);
    CHECK(t.stage_room_bytes[1] == 500);
    CHECK_NEAR(t.stage_peak_bytes[0], 60.0 + 60 + 60 + 3);
    end_plan(&x);
}

TEST(steps_of_too_many_jobs_are_refused)
{
    weft_train_measures t;
    planned x;

    start_plan(&x);
    x.training->constraints.batch = 400000000;
    CHECK_FAILS(weft_train_plan_evaluate(x.training, &x.plan, x.a, &t),
                "100000000 microbatches on 2 stages are more than can be simulated");
    end_plan(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_asked_must_make_sense),
        cmocka_unit_test(platforms_with_other_transfers_are_refused),
        cmocka_unit_test(cuts_must_be_cuts),
        cmocka_unit_test(numbers_must_be_amounts),
        cmocka_unit_test(sums_run_over_the_units_of_cuts),
        cmocka_unit_test(the_hash_covers_what_is_asked_and_all_numbers),
        cmocka_unit_test(rules_of_the_whole),
        cmocka_unit_test(rules_of_cuts),
        cmocka_unit_test(rules_of_stages),
        cmocka_unit_test(a_step_by_hand),
        cmocka_unit_test(unequal_devices_of_a_stage),
        cmocka_unit_test(steps_of_too_many_jobs_are_refused),
    };

    return RUN_TESTS(tests);
}
