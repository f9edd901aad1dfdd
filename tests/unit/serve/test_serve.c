/* SPDX-License-Identifier: MIT */
/* test_serve.c: small fleets whose flows and bounds are seen by hand. */
#include "check.h"
#include "serve.h"
#include "serve_search.h"

static weft_serve_problem *parse(const char *text)
{
    weft_arena *a = weft_arena_new();
    const weft_doc *d;
    weft_serve_problem *p;

    CHECK_OK(weft_doc_parse(text, strlen(text), "text", a, &d));
    CHECK_OK(weft_serve_problem_of_doc(d, &p));
    weft_arena_free(a);
    return p;
}

/* A plan of two ranges. */
static double flow_of(const weft_serve_problem *p, const int *range, weft_arena *a)
{
    weft_serve_plan plan = weft_serve_plan_new(p->n_nodes, a);
    weft_violation v;
    weft_serve_flow f;

    for (int i = 0; i < p->n_nodes; i++) {
        plan.start[i] = range[2 * i];
        plan.end[i] = range[2 * i + 1];
    }
    CHECK_INT(weft_serve_plan_check(p, &plan, &v, 1, a), 0);
    CHECK_OK(weft_serve_evaluate(p, &plan, a, &f));
    CHECK_NEAR(f.cut_tokens_per_s, f.tokens_per_s);
    return f.tokens_per_s;
}

static const char two[] = "layers: 4\nschema: weft.serving/1\nnodes:\n"
                          "  - {name: a, tokens_per_s_by_layers: [90, 50, 40]}\n"
                          "  - {name: b, tokens_per_s_by_layers: [60, 35, 20]}\n"
                          "links:\n"
                          "  - {from: source, to: all, tokens_per_s: 100}\n"
                          "  - {from: all, to: sink, tokens_per_s: 100}\n"
                          "  - {from: all, to: all, tokens_per_s: 38}\n"
                          "  - {from: b, to: a, tokens_per_s: 7}\n";

TEST(nodes_and_links_limit_the_flow)
{
    weft_arena *a = weft_arena_new();
    weft_serve_problem *p = parse(two);

    CHECK_NEAR(flow_of(p, (int[]){0, 3, 3, 4}, a), 38); /* the link */
    CHECK_NEAR(flow_of(p, (int[]){0, 2, 2, 4}, a), 35); /* node b */
    CHECK_NEAR(flow_of(p, (int[]){2, 4, 0, 2}, a), 7);  /* the link back */
    CHECK_NEAR(flow_of(p, (int[]){0, 3, 1, 4}, a), 0);  /* the ranges do not meet */
    CHECK_NEAR(flow_of(p, (int[]){0, 3, 0, 0}, a), 0);
    weft_serve_problem_free(p);
    weft_arena_free(a);
}

TEST(partial_inference_lets_ranges_overlap)
{
    weft_arena *a = weft_arena_new();
    const char *text = weft_arena_print(a, "%sallow_partial_inference: true\n", two);
    weft_serve_problem *p = parse(text);

    CHECK_NEAR(flow_of(p, (int[]){0, 3, 1, 4}, a), 20);
    CHECK_NEAR(flow_of(p, (int[]){0, 3, 3, 4}, a), 38);
    weft_serve_problem_free(p);
    weft_arena_free(a);
}

TEST(plans_that_hold_too_much_are_refused)
{
    weft_arena *a = weft_arena_new();
    weft_serve_problem *p = parse(two);
    weft_serve_plan plan = weft_serve_plan_new(2, a);
    weft_violation v[4];

    plan.end[0] = 4; /* of three */
    plan.start[1] = 3;
    plan.end[1] = 5; /* of four layers */
    CHECK_INT(weft_serve_plan_check(p, &plan, v, 4, a), 2);
    CHECK(strstr(v[0].what, "'a' holds 4 layers, it can hold 3") != NULL);
    CHECK(strstr(v[1].what, "expected a range within 0 to 4") != NULL);
    weft_serve_problem_free(p);
    weft_arena_free(a);
}

TEST(names_numbers_and_counts_are_read_alike)
{
    weft_serve_problem *p = parse("{\"layers\": 2, \"nodes\": [{\"name\": \"a\", \"count\": 2, "
                                  "\"tokens_per_s_by_layers\": [3, 2, 1]}, "
                                  "{\"tokens_per_s_by_layers\": [3]}], \"links\": ["
                                  "{\"from\": \"a-0\", \"to\": 2, \"tokens_per_s\": 5},"
                                  "{\"from\": \"all\", \"to\": \"all\", \"tokens_per_s\": 4},"
                                  "{\"from\": \"source\", \"to\": \"2\", \"tokens_per_s\": 6}]}");

    CHECK_INT(p->n_nodes, 3);
    CHECK_INT(p->n_classes, 2);
    CHECK_INT(p->class_size[0], 2);
    CHECK_INT(p->most[0], 2); /* no more than there are */
    CHECK_TEXT(p->node_name[2], "2");
    CHECK_NEAR(weft_serve_link(p, 0, 2), 5);
    CHECK_NEAR(weft_serve_link(p, 2, 0), 4);
    CHECK_NEAR(weft_serve_link(p, weft_serve_source(p), 2), 6);
    CHECK_NEAR(weft_serve_link(p, 0, weft_serve_sink(p)), 0);
    CHECK_NEAR(weft_serve_link(p, 1, 1), 0);
    weft_serve_problem_free(p);
}

/* Four layers on two nodes of three: 2 + 2, so 50 is the most; prices say so. */
TEST(prices_prove_what_a_hand_can)
{
    weft_arena *a = weft_arena_new();
    weft_serve_problem *p = parse("layers: 4\nschema: weft.serving/1\nnodes:\n"
                                  "  - {count: 2, name: a, tokens_per_s_by_layers: [90, 50, 40]}\n"
                                  "links: [{from: all, to: all, tokens_per_s: 100}]\n");
    const double price[] = {2};
    weft_serve_certificate c = {WEFT_SERVE_CONFIGURATIONS, 50.001, 1, price};

    CHECK(weft_serve_refuted(p, &c)); /* one node with one layer: 2 + 0; 1 + 1 < 4 */
    c.target = 50;
    CHECK(!weft_serve_refuted(p, &c));
    c.target = 1000; /* nothing passes so much: any prices */
    CHECK(weft_serve_refuted(p, &c));
    c.method = WEFT_SERVE_ENUMERATION; /* proves nothing by itself */
    CHECK(!weft_serve_refuted(p, &c));
    c.method = WEFT_SERVE_CONFIGURATIONS;
    c.n_prices = 0;
    CHECK(!weft_serve_refuted(p, &c));
    weft_serve_problem_free(p);
    weft_arena_free(a);
}

TEST(a_model_of_one_layer_takes_all_nodes)
{
    weft_arena *a = weft_arena_new();
    weft_serve_problem *p = parse("layers: 1\nschema: weft.serving/1\nnodes:\n"
                                  "  - {count: 3, name: a, tokens_per_s_by_layers: [7, 5]}\n"
                                  "links: [{from: source, to: all, tokens_per_s: 6},\n"
                                  "  {from: all, to: sink, tokens_per_s: 100}]\n");
    weft_run run = {.n_threads = 1, .limit_s = INFINITY, .scratch = weft_arena_new()};
    weft_serve_solution s;

    CHECK_OK(weft_serve_solve(weft_serve_find("auto"), p, &run, a, &s));
    CHECK(s.proof.outcome == WEFT_OPTIMAL);
    CHECK_NEAR(s.proof.value, 18);
    weft_arena_free(run.scratch);
    weft_serve_problem_free(p);
    weft_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_and_links_limit_the_flow),
        cmocka_unit_test(partial_inference_lets_ranges_overlap),
        cmocka_unit_test(plans_that_hold_too_much_are_refused),
        cmocka_unit_test(names_numbers_and_counts_are_read_alike),
        cmocka_unit_test(prices_prove_what_a_hand_can),
        cmocka_unit_test(a_model_of_one_layer_takes_all_nodes),
    };

    return RUN_TESTS(tests);
}
