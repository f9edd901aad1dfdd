/* SPDX-License-Identifier: MIT */
/* Two plans side by side, of any kind: what is said of devices and tasks adds up to what the
 * simulator measured, the other way round it is the same with the sides exchanged, and a plan does
 * not differ from itself. */
#include "check.h"
#include "draw_shards.h"
#include "draw_training.h"
#include "fixtures.h"
#include "report.h"

enum { N_PLACED = 600, N_SHARDED = 60, N_TRAINED = 120 };

enum { BUSY = 1, SENT = 2 }; /* columns of devices */

static const weft_plan_origin nobody = {.model = "m", .solver = "drawn"};

/* The two sides exchanged. */
static void check_swap(const weft_side side[2], const weft_diff *d, weft_arena *a)
{
    const weft_side other[2] = {side[1], side[0]};
    weft_diff e;

    weft_diff_plans(other, a, &e);
    CHECK_INT(e.n_moves, d->n_moves);
    CHECK_INT(e.n_stay, d->n_stay);
    CHECK_INT(e.n_shifted, d->n_shifted);
    CHECK_INT(e.n_transfers[1], d->n_transfers[0]);
    CHECK_INT(e.n_transfers[0], d->n_transfers[1]);
    CHECK_INT(e.n_only[0], d->n_only[1]);
    CHECK_INT(e.settings.n, d->settings.n);
    CHECK_INT(e.decisions.n, d->decisions.n);
    CHECK_INT(e.places.n, d->places.n);
    CHECK_INT(e.better, d->better < 0 ? -1 : 1 - d->better);
    CHECK(e.is_proved == d->is_proved && e.is_same_plan == d->is_same_plan);
    CHECK_NEAR(e.stay_s[0], d->stay_s[1]);
    if (d->is_same_problem) {
        CHECK_INT(e.n_stretches, d->n_stretches);
        for (int i = 0; i < d->n_stretches; i++)
            CHECK_NEAR(e.stretch[i].effect_s, d->stretch[i].effect_s);
    }
    if (isfinite(d->ratio) && d->ratio > 0)
        CHECK_NEAR(e.ratio, 1 / d->ratio);
}

static void check_self(const weft_side *side, weft_arena *a)
{
    const weft_side both[2] = {*side, *side};
    weft_diff d;

    weft_diff_plans(both, a, &d);
    CHECK(d.is_same_plan);
    CHECK_INT(d.better, -1);
    CHECK_INT(d.n_moves + d.settings.n + d.decisions.n + d.n_transfers[0] + d.n_transfers[1], 0);
}

/* Parts of the chain add up to `end_s`; stretches to their moves, and the first has the largest
 * effect. */
static void check_sums(const weft_diff *d, const double end_s[2])
{
    for (int s = 0; s < 2; s++) {
        double sum_s = 0;

        for (int i = 0; i < d->chain.n; i++)
            sum_s += d->chain.at[i].value[s];
        CHECK_NEAR(sum_s, end_s[s]);
    }
    for (int i = 0; i < d->n_stretches; i++) {
        const weft_diff_stretch *t = &d->stretch[i];
        double effect_s = 0;

        CHECK(t->n > 0 && t->first == (i == 0 ? 0 : t[-1].first + t[-1].n));
        CHECK(i == 0 || t->effect_s <= t[-1].effect_s);
        for (int k = t->first; k < t->first + t->n; k++) {
            const weft_diff_move *m = &d->move[k];

            effect_s += m->effect_s;
            CHECK_INT(m->stretch, i);
            CHECK_TEXT(m->at[0], d->move[t->first].at[0]);
            CHECK_TEXT(m->at[1], d->move[t->first].at[1]);
            CHECK(m->n_transfers[0] <= t->n_transfers[0] && m->n_transfers[1] <= t->n_transfers[1]);
        }
        CHECK_NEAR(effect_s, t->effect_s);
    }
}

/* --- placed networks ------------------------------------------------------------------------- */

/* Devices by chance, among those that support the task. */
static void draw_placed(const weft_problem *p, weft_rng *r, weft_arena *a, weft_solution *out)
{
    out->plan = weft_plan_new(p->n_tasks, a);
    for (int u = 0; u < p->n_tasks; u++) {
        int *device = &out->plan.device[u];

        do
            *device = weft_rng_below(r, p->n_devices);
        while (!(weft_task_s(p, u, *device) < INFINITY));
        out->plan.start_s[u] = u;
    }
    CHECK_OK(weft_evaluate(p, &out->plan, a, &out->measures));
    out->proof.value = out->measures.makespan_s;
    out->proof.bound = out->proof.value * weft_rng_real(r);
}

static void check_devices(const weft_diff *d, const weft_solution *const s[2])
{
    for (int k = 0; k < 2; k++) {
        double busy_s = 0, sent = 0, all_s = 0;

        for (int i = 0; i < d->places.n; i++) {
            const weft_diff_place *p = &d->places.at[i];

            if (p->value[k] == NULL)
                continue;
            CHECK_NEAR(p->value[k][BUSY],
                       (k == 0 ? p->left_s : p->came_s) + p->stay_s[k] + p->only_s[k]);
            busy_s += p->value[k][BUSY];
            sent += p->value[k][SENT];
        }
        CHECK_NEAR(sent, s[k]->measures.sent_bytes);
        for (int i = 0; i < d->n_moves; i++)
            all_s += d->move[i].seconds[k];
        for (int i = 0; i < d->places.n; i++)
            all_s += d->places.at[i].only_s[k];
        CHECK_NEAR(all_s + d->stay_s[k], busy_s);
    }
    CHECK_INT(s[1]->measures.n_transfers - s[0]->measures.n_transfers,
              d->n_transfers[1] - d->n_transfers[0]);
}

TEST(devices_of_placed_networks_add_up)
{
    int n_proved = 0, n_moves = 0, n_only = 0;

    for (uint64_t seed = 1; seed <= N_DRAWN(N_PLACED); seed++) {
        bool is_other = seed % 3 == 0; /* another network, fewer devices */
        weft_rng r = weft_rng_seed(seed);
        weft_problem *p = random_problem(seed, 4 + (int)(seed % 9), 3);
        weft_problem *q = is_other ? random_problem(seed + 1, 6, 2 + (int)(seed % 2)) : p;
        weft_arena *a = weft_arena_new();
        weft_plan_origin origin[2] = {nobody, nobody};
        weft_solution s[2] = {{.seconds = 0}, {.seconds = 0}};
        weft_diff d;

        p->transfer = seed % 2 ? WEFT_OVERLAP : WEFT_CONTEND;
        draw_placed(p, &r, a, &s[0]);
        draw_placed(q, &r, a, &s[1]);
        s[0].proof.bound = fmin(s[0].proof.bound, is_other ? INFINITY : s[1].proof.value);
        s[1].proof.bound = fmin(s[1].proof.bound, is_other ? INFINITY : s[0].proof.value);
        origin[1].problem_hash = is_other;
        weft_side side[2] = {
            {.a = a, .file = "a", .origin = &origin[0], .samples = NAN},
            {.a = a, .file = "b", .origin = &origin[1], .samples = NAN}
        };
        weft_place_side(p, &s[0], &side[0]);
        weft_place_side(q, &s[1], &side[1]);
        weft_diff_plans(side, a, &d);
        check_devices(&d, (const weft_solution *[2]){&s[0], &s[1]});
        check_sums(&d, (double[2]){s[0].measures.makespan_s, s[1].measures.makespan_s});
        check_swap(side, &d, a);
        check_self(&side[0], a);
        CHECK_INT(d.n_moves + d.n_stay + d.n_only[0], p->n_tasks);
        CHECK_INT(d.n_moves + d.n_stay + d.n_only[1], q->n_tasks);
        n_proved += d.is_proved;
        n_moves += d.n_moves;
        n_only += d.n_only[0] + d.n_only[1];
        weft_arena_free(a);
        if (is_other)
            weft_problem_free(q);
        weft_problem_free(p);
    }
    CHECK(n_proved > 0 && n_moves > 0 && n_only > 0);
}

/* --- sharded networks ------------------------------------------------------------------------ */

TEST(steps_of_sharded_networks_add_up)
{
    weft_shard_constraints constraints = {.is_concurrent = false};
    weft_shard_case c = draw_case("alexnet", draw_mixed, &constraints);
    int n_moves = 0;

    for (uint64_t seed = 1; seed <= N_DRAWN(N_SHARDED); seed++) {
        weft_rng r = weft_rng_seed(seed);
        weft_arena *a = weft_arena_new();
        weft_shard_solution s[2] = {{.seconds = 0}, {.seconds = 0}};
        double all_s[2];
        weft_side side[2];
        weft_diff d;

        for (int k = 0; k < 2; k++) {
            s[k].plan = draw_shards(c.sharding, &r, a);
            CHECK_OK(weft_shard_plan_evaluate(c.sharding, &s[k].plan, a, &s[k].measures));
            s[k].proof.value = all_s[k] = s[k].measures.latency_s;
            side[k] = (weft_side){
                .a = a, .file = "f", .origin = &nobody, .samples = 1, .platform = c.platform};
            weft_shard_side(c.sharding, &s[k], &side[k]);
        }
        weft_diff_plans(side, a, &d);
        check_sums(&d, all_s);
        check_swap(side, &d, a);
        check_self(&side[1], a);
        CHECK_INT(d.n_moves + d.n_stay, c.sharding->steps->n);
        for (int k = 0; k < 2; k++) { /* one after the other: steps add up to the latency */
            double sum_s = d.stay_s[k];

            for (int i = 0; i < d.n_moves; i++)
                sum_s += d.move[i].seconds[k];
            CHECK_NEAR(sum_s, all_s[k]);
        }
        n_moves += d.n_moves;
        weft_arena_free(a);
    }
    CHECK(n_moves > 0);
    weft_shard_case_close(&c);
}

/* --- training -------------------------------------------------------------------------------- */

TEST(chains_of_training_add_up)
{
    int n_pairs = 0, n_decisions = 0;

    for (uint64_t seed = 1; seed <= N_DRAWN(N_TRAINED); seed++) {
        draw_training_ask constraints = {
            .is_dag = seed % 2, .is_contend = seed % 3 == 0, .has_no_zero = true};
        weft_rng r = weft_rng_seed(seed);
        drawn_training t = draw_training(&constraints, &r);
        weft_arena *a = weft_arena_new();
        weft_train_solution s[2] = {{.seconds = 0}, {.seconds = 0}};
        weft_side side[2];
        bool is_drawn = true;
        weft_diff d;

        for (int k = 0; k < 2 && is_drawn; k++)
            is_drawn = draw_pipeline(t.training, (weft_schedule)((seed / 2 + (uint64_t)k) % 3), &r,
                                     a, &s[k].plan);
        for (int k = 0; k < 2 && is_drawn; k++) {
            CHECK_OK(weft_train_plan_evaluate(t.training, &s[k].plan, a, &s[k].measures));
            s[k].proof.value = s[k].measures.step_s;
            side[k] = (weft_side){.a = a,
                                  .file = "f",
                                  .origin = &nobody,
                                  .samples = (double)t.training->constraints.batch,
                                  .platform = t.platform};
            weft_train_side(t.training, &s[k], &side[k]);
        }
        if (is_drawn) {
            weft_diff_plans(side, a, &d);
            check_sums(&d, (double[2]){s[0].measures.step_s, s[1].measures.step_s});
            check_swap(side, &d, a);
            check_self(&side[0], a);
            CHECK_INT(d.n_moves + d.n_stay, t.training->blocks.n_blocks);
            n_pairs++;
            n_decisions += d.decisions.n;
        }
        weft_arena_free(a);
        drop_training(&t);
    }
    CHECK(n_pairs > 0 && n_decisions > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_of_placed_networks_add_up),
        cmocka_unit_test(steps_of_sharded_networks_add_up),
        cmocka_unit_test(chains_of_training_add_up),
    };

    return RUN_TESTS(tests);
}
