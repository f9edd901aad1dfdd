/* SPDX-License-Identifier: MIT */
/* test_serve_helix.c: public instances and plans of Helix, where the folder that holds them is there.
 * Flows of three plans are known from the project's own program; two optima are proved by its authors
 * or by ours, and best known values are those of docs/results.md. */
#include "check.h"
#include "serve.h"

#include <unistd.h>

static const char folder[] = WEFT_SHARED "/data/helix";

static void skip_without_data(void)
{
    if (access(folder, R_OK) == 0)
        return;
    print_message("skipped: no folder %s\n", folder);
    skip();
}

static weft_serve_problem *read_instance(const char *name)
{
    weft_arena *a = weft_arena_new();
    weft_serve_problem *p;

    CHECK_OK(weft_serve_problem_read(weft_arena_print(a, "%s/%s.json", folder, name), &p));
    weft_arena_free(a);
    return p;
}

static weft_serve_solution solve(const weft_serve_problem *p, int64_t steps, weft_arena *a)
{
    weft_run run = {.seed = 1,
                    .n_threads = 1,
                    .limit_s = INFINITY,
                    .steps = steps,
                    .scratch = weft_arena_new()};
    weft_serve_solution s;

    CHECK_OK(weft_serve_solve(weft_serve_find("auto"), p, &run, a, &s));
    weft_arena_free(run.scratch);
    return s;
}

static void check_optimum(const char *name, double value)
{
    weft_arena *a = weft_arena_new();
    weft_serve_problem *p = read_instance(name);
    weft_serve_solution s = solve(p, 1000000, a);

    CHECK(s.proof.outcome == WEFT_OPTIMAL);
    CHECK(fabs(s.proof.value - value) <= 1e-6 * value);
    CHECK(weft_serve_refuted(p, &s.certificate)); /* no search */
    CHECK(s.certificate.target <= s.proof.value * (1 + 1e-9));
    weft_serve_problem_free(p);
    weft_arena_free(a);
}

TEST(two_fleets_are_solved)
{
    skip_without_data();
    check_optimum("10-full", 286.587409755);
    check_optimum("24-single-full", 2045.641047336);
}

TEST(the_pruned_fleet_is_within_six_parts_of_a_hundred)
{
    weft_arena *a;
    weft_serve_problem *p;
    weft_serve_solution s;

    skip_without_data();
    a = weft_arena_new();
    p = read_instance("42-pruned");
    s = solve(p, 16000000, a);
    CHECK(s.proof.value >= 5741 && s.proof.gap <= 0.055);
    CHECK(s.proof.bound >= 5741.675 && s.proof.bound <= 6050.79);
    CHECK(weft_serve_refuted(p, &s.certificate));
    weft_serve_problem_free(p);
    weft_arena_free(a);
}

TEST(flows_of_published_plans_are_found_again)
{
    weft_arena *a;
    weft_serve_problem *p;
    const weft_doc *d = NULL, *plans;

    skip_without_data();
    a = weft_arena_new();
    p = read_instance("24-single-full");
    CHECK_OK(weft_doc_read(weft_arena_print(a, "%s/simulated.json", folder), a, &d));
    CHECK_OK(weft_doc_need(d, "24-single-full", WEFT_DOC_LIST, &plans));
    CHECK_INT(plans->n, 3);
    for (int i = 0; i < plans->n; i++) {
        const weft_doc *ranges = weft_doc_get(plans->item[i], "ranges");
        weft_serve_plan plan = weft_serve_plan_new(p->n_nodes, a);
        weft_serve_flow f;

        CHECK_INT(ranges->n, p->n_nodes);
        for (int k = 0; k < p->n_nodes; k++) {
            plan.start[k] = (int)ranges->item[k]->item[0]->integer;
            plan.end[k] = (int)ranges->item[k]->item[1]->integer;
        }
        CHECK_OK(weft_serve_evaluate(p, &plan, a, &f));
        CHECK_NEAR(f.tokens_per_s, weft_doc_get(plans->item[i], "flow")->real);
    }
    weft_serve_problem_free(p);
    weft_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_fleets_are_solved),
        cmocka_unit_test(the_pruned_fleet_is_within_six_parts_of_a_hundred),
        cmocka_unit_test(flows_of_published_plans_are_found_again),
    };

    return RUN_TESTS(tests);
}
