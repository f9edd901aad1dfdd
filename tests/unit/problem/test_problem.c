/* SPDX-License-Identifier: MIT */
/* test_problem.c: problems from arrays and from networks on platforms, their invariants and hashes,
 * and the fixtures that other tests use. */
#include "check.h"
#include "graph_text.h"
#include "invariants.h"

#include "fixtures.h"

static void check_ints(const int *at, const int *expected, int n)
{
    for (int i = 0; i < n; i++)
        CHECK_INT(at[i], expected[i]);
}

/* --- problems from arrays -------------------------------------------------------------------- */

/* c reads what a and b make; b reads what a makes, twice. Numbered against the order of time:
 * c = 0, b = 1, a = 2. */
static const char *const abc[] = {"c", "b", "a"};
static const char *const two[] = {"x", "y"};
static const double abc_seconds[] = {1, 2, 3, INFINITY, 5, 6};
static const double abc_amount[] = {10, 20, 30};
static const int abc_producer[] = {1, 2, -1};
static const int abc_reader_at[] = {0, 1, 4, 5};
static const int abc_reader[] = {0, 1, 0, 1, 2};

static weft_problem_spec abc_spec(void)
{
    return (weft_problem_spec){
        .name = "abc",
        .n_tasks = 3,
        .n_devices = 2,
        .n_tensors = 3,
        .task_name = abc,
        .device_name = two,
        .seconds = abc_seconds,
        .amount = abc_amount,
        .producer = abc_producer,
        .reader_at = abc_reader_at,
        .reader = abc_reader,
        .host = -1,
    };
}

static weft_problem *made(const weft_problem_spec *s)
{
    weft_problem *p = NULL;

    CHECK_OK(weft_problem_make(s, &p));
    weft_problem_check(p);
    return p;
}

TEST(tasks_are_sorted_and_lists_follow)
{
    weft_problem_spec s = abc_spec();
    weft_problem *p = made(&s);

    CHECK_TEXT(p->task_name[0], "a"); /* the only order: a, b, c */
    CHECK_TEXT(p->task_name[1], "b");
    CHECK_TEXT(p->task_name[2], "c");
    CHECK_NEAR(weft_task_s(p, 0, 0), 5.0);
    CHECK_NEAR(weft_task_s(p, 0, 1), 6.0);
    CHECK(isinf(weft_task_s(p, 1, 1)));
    CHECK_NEAR(weft_task_s(p, 2, 1), 2.0);
    check_ints(p->producer, (int[]){1, 0, -1}, 3); /* tensors keep their numbers */
    check_ints(p->reader_at, (int[]){0, 1, 3, 4}, 4);
    check_ints(p->reader, (int[]){2, 1, 2, 0}, 4); /* the double reader counts once */
    check_ints(p->arg_at, (int[]){0, 1, 2, 4}, 4);
    check_ints(p->arg, (int[]){2, 1, 0, 1}, 4);
    check_ints(p->res_at, (int[]){0, 1, 2, 2}, 4);
    check_ints(p->res, (int[]){1, 0}, 2);
    check_ints(p->pred_at, (int[]){0, 0, 1, 3}, 4);
    check_ints(p->pred, (int[]){0, 0, 1}, 3);
    check_ints(p->succ_at, (int[]){0, 2, 3, 3}, 4);
    check_ints(p->succ, (int[]){1, 2, 2}, 3);
    weft_problem_free(p);
}

/* Ways of their own for items are left to the problem: a stream without stages, and no calls. */
TEST(items_may_go_different_ways_where_that_is_possible)
{
    static const struct {
        weft_constraints c;
        bool is_mixed;
    } cases[] = {
        {{.may_mix = true, .goal = WEFT_THROUGHPUT},                        true },
        {{.goal = WEFT_THROUGHPUT},                                         false},
        {{.may_mix = true, .goal = WEFT_LATENCY},                           false},
        {{.may_mix = true, .goal = WEFT_THROUGHPUT, .is_contiguous = true}, false},
        {{.may_mix = true, .goal = WEFT_THROUGHPUT, .is_calls = true},      false},
        {{.is_mixed = true, .goal = WEFT_THROUGHPUT},                       true },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        weft_problem_spec s = abc_spec();
        weft_problem *p;

        s.host = 0;
        s.constraints = cases[i].c;
        p = made(&s);
        CHECK(p->constraints.is_mixed == cases[i].is_mixed);
        CHECK(!p->constraints.may_mix);
        weft_problem_free(p);
    }
}

TEST(calls_and_ways_of_their_own_exclude_each_other)
{
    weft_problem_spec s = abc_spec();
    weft_problem *p = NULL;

    s.host = 0;
    s.constraints = (weft_constraints){.goal = WEFT_THROUGHPUT, .is_calls = true, .is_mixed = true};
    CHECK_FAILS(weft_problem_make(&s, &p), "items cannot take different ways (--mix)");
}

TEST(left_out_arrays_have_their_defaults)
{
    weft_problem_spec s = abc_spec();
    weft_problem *p = made(&s);

    CHECK_NEAR(p->memory[1], 20.0); /* the amount */
    CHECK_NEAR(weft_send_s(p, 1, 0, 1), 20 * 1.0);
    CHECK_NEAR(weft_send_s(p, 1, 1, 1), 0.0);
    CHECK(isinf(p->capacity[1]));
    CHECK_NEAR(p->idle_w[0], 0.0);
    CHECK(p->joules == NULL);
    CHECK(!p->is_weight[2] && !p->is_output[0]);
    CHECK_INT(p->pin[1], -1);
    CHECK_INT(p->colocation[1], -1);
    CHECK_TEXT(p->task_kind[0], "Task");
    CHECK_INT(p->n_links, 2); /* 2 devices: one link in each direction */
    CHECK_TEXT(p->link_name[0], "x>y");
    CHECK_TEXT(p->link_name[1], "y>x");
    check_ints(p->route_at, (int[]){0, 0, 1, 2, 2}, 5);
    check_ints(p->route, (int[]){0, 1}, 2);
    weft_problem_free(p);
}

TEST(ties_keep_the_given_order)
{
    static const double seconds[] = {1, 1, 1, 1};
    static const char *const names[] = {"d", "c", "b", "a"};
    static const char *const one[] = {"x"};
    static const double amount[] = {1};
    static const int producer[] = {3}, reader_at[] = {0, 1}, reader[] = {1};
    weft_problem_spec s = {.n_tasks = 4,
                           .n_devices = 1,
                           .n_tensors = 1,
                           .task_name = names,
                           .device_name = one,
                           .seconds = seconds,
                           .amount = amount,
                           .producer = producer,
                           .reader_at = reader_at,
                           .reader = reader,
                           .host = -1};
    weft_problem *p = made(&s);

    CHECK_TEXT(p->task_name[0], "d"); /* c waits for a; the others go by number: d b a c */
    CHECK_TEXT(p->task_name[1], "b");
    CHECK_TEXT(p->task_name[2], "a");
    CHECK_TEXT(p->task_name[3], "c");
    weft_problem_free(p);
}

TEST(weights_are_never_sent_and_unconnected_devices_stay_so)
{
    static const bool is_weight[] = {false, false, true};
    static const double second_per_byte[] = {7, INFINITY, 0.5, 7};
    static const double latency_s[] = {1, 1, 3, 1};
    weft_problem_spec s = abc_spec();
    weft_problem *p;

    s.is_weight = is_weight;
    s.second_per_byte = second_per_byte;
    s.latency_s = latency_s;
    p = made(&s);
    CHECK_NEAR(p->amount[2], 0.0);
    CHECK_NEAR(p->memory[2], 30.0);
    CHECK(isinf(weft_send_s(p, 0, 0, 1)));
    CHECK(isinf(p->latency_s[1]));
    CHECK_NEAR(weft_send_s(p, 0, 1, 0), 3 + 10 * 0.5);
    CHECK_NEAR(p->latency_s[0] + p->second_per_byte[3], 0.0); /* the diagonal */
    CHECK_INT(p->n_links, 1);
    CHECK_TEXT(p->link_name[0], "y>x");
    weft_problem_free(p);
}

TEST(pins_and_colocations_move_with_their_tasks)
{
    static const int pin[] = {1, 0, -1}, colocation[] = {4, -1, 4};
    weft_problem_spec s = abc_spec();
    weft_problem *p;

    s.pin = pin;
    s.colocation = colocation;
    p = made(&s);
    check_ints(p->pin, (int[]){-1, 0, 1}, 3);
    check_ints(p->colocation, (int[]){4, -1, 4}, 3);
    weft_problem_free(p);
}

TEST(wrong_arrays_are_refused)
{
    static const double nowhere[] = {1, 2, INFINITY, INFINITY, 5, 6};
    static const double negative[] = {1, 2, 3, -4, 5, 6};
    static const double no_number[] = {1, 2, 3, NAN, 5, 6};
    static const double endless[] = {10, INFINITY, 30};
    static const char *const twice[] = {"c", "b", "c"}, *const same[] = {"x", "x"};
    static const int cycle[] = {1, 0, -1}, pin[] = {-1, 1, -1};
    weft_problem_spec s;
    weft_problem *p = NULL;

    s = abc_spec(), s.n_tasks = 0;
    CHECK_FAILS(weft_problem_make(&s, &p), "0 tasks and 2 devices");
    s = abc_spec(), s.n_devices = 2000;
    CHECK_FAILS(weft_problem_make(&s, &p), "2000 devices, expected at most 1024");
    s = abc_spec(), s.n_tasks = 100000000;
    CHECK_FAILS(weft_problem_make(&s, &p), "too many");
    s = abc_spec(), s.seconds = nowhere; /* there is no plan: a result, not an error */
    CHECK_OK(weft_problem_make(&s, &p));
    weft_problem_free(p);
    p = NULL;
    s = abc_spec(), s.seconds = negative;
    CHECK_FAILS(weft_problem_make(&s, &p), "task 'b' takes -4 s on 'y', expected 0 or more");
    s = abc_spec(), s.seconds = no_number;
    CHECK_FAILS(weft_problem_make(&s, &p), "task 'b' takes nan s on 'y'");
    s = abc_spec(), s.amount = endless;
    CHECK_FAILS(weft_problem_make(&s, &p), "a tensor made by a has amount inf");
    s = abc_spec(), s.task_name = twice;
    CHECK_FAILS(weft_problem_make(&s, &p), "two tasks are called 'c'");
    s = abc_spec(), s.device_name = same;
    CHECK_FAILS(weft_problem_make(&s, &p), "two devices are called 'x'");
    s = abc_spec(), s.producer = cycle; /* b makes for c, c makes for b and itself */
    CHECK_FAILS(weft_problem_make(&s, &p), "waits for itself: the tasks form a cycle");
    s = abc_spec(), s.pin = pin;
    CHECK_FAILS(weft_problem_make(&s, &p), "task 'b' is pinned to 'y', which does not support it");
    CHECK(p == NULL);
}

TEST(the_cycle_is_named_by_one_of_its_tasks)
{
    static const double seconds[] = {1, 1, 1, 1, 1};
    static const char *const names[] = {"in", "after", "p", "q", "out"};
    static const char *const one[] = {"x"};
    static const double amount[] = {1, 1, 1, 1};
    static const int producer[] = {0, 2, 3, 3}; /* in>p p>q q>p q>after */
    static const int reader_at[] = {0, 1, 2, 3, 4}, reader[] = {2, 3, 2, 1};
    weft_problem_spec s = {.n_tasks = 5,
                           .n_devices = 1,
                           .n_tensors = 4,
                           .task_name = names,
                           .device_name = one,
                           .seconds = seconds,
                           .amount = amount,
                           .producer = producer,
                           .reader_at = reader_at,
                           .reader = reader,
                           .host = -1};
    weft_problem *p = NULL;

    CHECK_INT(weft_problem_make(&s, &p), WEFT_E_INPUT); /* p or q, not what merely waits */
    CHECK(strstr(weft_message(), "'p' waits") || strstr(weft_message(), "'q' waits"));
}

TEST(the_hash_sees_every_change_but_the_name)
{
    static const double seconds[] = {1, 2, 3, INFINITY, 5, 7};
    static const double amount[] = {10, 21, 30};
    static const double memory[] = {10, 20, 31}, capacity[] = {1e9, INFINITY}, idle_w[] = {0, 1};
    static const double spb[] = {0, 1, 2, 0}, latency_s[] = {0, 0, 1, 0};
    static const bool flag[] = {true, false, false};
    static const int pin[] = {0, -1, -1};
    static const char *const other[] = {"c", "b", "A"}, *const devices[] = {"x", "z"};
    weft_problem_spec s[16];
    uint64_t hash[16];
    weft_problem *p;
    int n = 0;

    for (int i = 0; i < 16; i++)
        s[i] = abc_spec();
    n++; /* the first is not changed */
    s[n++].seconds = seconds, s[n++].amount = amount, s[n++].memory = memory;
    s[n++].capacity = capacity, s[n++].idle_w = idle_w, s[n++].second_per_byte = spb;
    s[n++].latency_s = latency_s, s[n++].is_output = flag, s[n++].pin = pin;
    s[n++].colocation = pin, s[n++].task_name = other, s[n++].device_name = devices;
    s[n++].host = 0, s[n++].transfer = WEFT_BLOCK, s[n++].constraints.goal = WEFT_THROUGHPUT;
    CHECK_INT(n, 16);
    for (int i = 0; i < n; i++) {
        p = made(&s[i]);
        hash[i] = p->hash;
        weft_problem_free(p);
        for (int j = 0; j < i; j++)
            CHECK(hash[i] != hash[j]);
    }
    s[0].name = "another";
    p = made(&s[0]);
    CHECK(p->hash == hash[0]);
    weft_problem_free(p);
}

TEST(names_of_goals_and_outcomes)
{
    CHECK_TEXT(weft_goal_name(WEFT_LATENCY), "latency");
    CHECK_TEXT(weft_goal_name(WEFT_THROUGHPUT), "throughput");
    CHECK_TEXT(weft_outcome_name(WEFT_OPTIMAL), "optimal");
    CHECK_TEXT(weft_outcome_name(WEFT_BOUNDED), "bounded");
    CHECK_TEXT(weft_outcome_name(WEFT_INFEASIBLE), "infeasible");
    CHECK_TEXT(weft_outcome_name(WEFT_UNKNOWN), "unknown");
}

/* --- a network on a platform ----------------------------------------------------------------- */

static int add_tensor(weft_builder *b, const char *name, weft_tensor_kind kind, int64_t bytes)
{
    weft_shape shape = {1, {bytes}};
    weft_tensor t = {.name = name,
                     .type = WEFT_U8,
                     .kind = kind,
                     .shape = &shape,
                     .elements = bytes,
                     .bytes = bytes};

    return weft_builder_tensor(b, &t);
}

/* image -> conv(w) -> m -> gelu -> y, and update(w, state, m) */
static weft_graph *small_graph(int64_t state_bytes)
{
    weft_builder *b = weft_builder_new("small");
    weft_node n = {.domain = "weft", .forward = -1, .wrt = -1, .has_body = true};
    int image = add_tensor(b, "image", WEFT_INPUT, 100);
    int w = add_tensor(b, "w", WEFT_WEIGHT, 40), m = add_tensor(b, "m", WEFT_ACTIVATION, 60);
    int y = add_tensor(b, "y", WEFT_ACTIVATION, 8);
    int state = add_tensor(b, "state", WEFT_STATE, state_bytes);
    weft_graph *g = NULL;

    n.name = "conv", n.op = "Conv";
    (void)weft_builder_node(b, &n, (int[]){image, w}, 2, &m, 1);
    n.name = "gelu", n.op = "Gelu";
    (void)weft_builder_node(b, &n, &m, 1, &y, 1);
    n.name = "update", n.op = "Adam";
    (void)weft_builder_node(b, &n, (int[]){w, state, m}, 3, NULL, 0);
    weft_builder_output(b, y);
    CHECK_OK(weft_builder_finish(b, &g));
    weft_builder_free(b);
    return g;
}

static int tensor_named(const weft_graph *g, const char *name)
{
    for (int t = 0; t < g->n_tensors; t++)
        if (strcmp(g->tensor[t].name, name) == 0)
            return t;
    return -1;
}

/* cpu = sw (full duplex), sw - gpu (half duplex), fpga alone. Hops: 2 * link + (1 if b to a). */
static const weft_device star_device[] = {
    {.name = "cpu",  .memory_bytes = INFINITY, .idle_w = 20},
    {.name = "gpu",  .memory_bytes = 1e9,      .idle_w = 5 },
    {.name = "fpga", .memory_bytes = 1e6,      .idle_w = 1 },
};
static const weft_link star_link[] = {
    {.a = 0,  .b = 3,            .bytes_per_s = 50, .latency_s = 1        },
    { .a = 3, .b = 1, .bytes_per_s = 25,    .latency_s = 2, .is_half_duplex = true},
};
/* From device to place (cpu gpu fpga sw): the last hop. cpu 0 sw 2 gpu; gpu 3 sw 1 cpu. */
static const int star_reached_by[] = {-1, 2, -1, 0, 1, -1, -1, 3, -1, -1, -1, -1};
static const weft_route star_routes[] = {
    {.n_hops = 0       },
    {.n_hops = 2,        .latency_s = 3, .bytes_per_s = 25},
    {.n_hops = -1},
};
static const int star_route_of[] = {0, 1, 2, 1, 0, 2, 2, 2, 0};
static const char *const star_switch[] = {"sw"};
static const weft_platform star = {
    .name = "star",
    .n_devices = 3,
    .n_switches = 1,
    .n_links = 2,
    .device = star_device,
    .switch_name = star_switch,
    .link = star_link,
    .routes = star_routes,
    .route_of = star_route_of,
    .reached_by = star_reached_by,
    .host = 0,
    .transfer = WEFT_CONTEND,
};

TEST(a_network_on_a_platform)
{
    static const double seconds[] = {9, 1, INFINITY, 2, 1, 2, 3, 3, 3};
    static const double joules[] = {90, 10, 0, 20, 10, 20, 30, 30, 30};
    weft_costs costs = {.n_nodes = 3, .n_devices = 3, .seconds = seconds, .joules = joules};
    weft_graph *g = small_graph(80);
    int image = tensor_named(g, "image"), w = tensor_named(g, "w"), m = tensor_named(g, "m");
    int moment = tensor_named(g, "state"), y = tensor_named(g, "y");
    weft_problem *p = NULL;

    CHECK_OK(weft_problem_new(g, &costs, &star, &(weft_constraints){.goal = WEFT_THROUGHPUT}, &p));
    weft_graph_free(g);
    weft_problem_check(p);
    CHECK_TEXT(p->name, "small");
    CHECK_TEXT(p->task_name[1], "gelu");
    CHECK_TEXT(p->task_kind[0], "Conv");
    CHECK_TEXT(p->device_name[2], "fpga");
    CHECK_NEAR(weft_task_s(p, 0, 1), 1.0);
    CHECK_NEAR(p->joules[3], 20.0);
    CHECK(p->is_weight[w] && p->is_weight[moment] && !p->is_weight[image] && !p->is_weight[m]);
    CHECK(p->is_output[y] && !p->is_output[m]);
    CHECK_NEAR(p->memory[w], 40.0);
    CHECK_NEAR(p->memory[moment], 80.0);
    CHECK_NEAR(p->amount[w] + p->amount[moment], 0.0);
    CHECK_NEAR(p->amount[image], 100.0);
    CHECK_INT(p->producer[image], -1);
    CHECK_INT(p->producer[m], 0);
    check_ints(p->succ_at, (int[]){0, 2, 2, 2}, 4); /* conv -> gelu and update, by m alone */
    CHECK_NEAR(weft_send_s(p, image, 0, 1), 3 + 100 / 25.0);
    CHECK(isinf(weft_send_s(p, image, 0, 2)));
    CHECK_NEAR(p->idle_w[0], 20.0);
    CHECK_NEAR(p->capacity[1], 1e9);
    CHECK_INT(p->host, 0);
    CHECK_INT(p->transfer, WEFT_CONTEND);
    CHECK_INT(p->constraints.goal, WEFT_THROUGHPUT);
    weft_problem_free(p);
}

TEST(half_duplex_links_are_one_in_both_directions)
{
    static const double seconds[] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    weft_costs costs = {.n_nodes = 3, .n_devices = 3, .seconds = seconds};
    weft_graph *g = small_graph(80);
    weft_problem *p = NULL;

    CHECK_OK(weft_problem_new(g, &costs, &star, &(weft_constraints){.goal = WEFT_LATENCY}, &p));
    weft_graph_free(g);
    CHECK(p->joules == NULL);
    CHECK_INT(p->n_links, 3);
    CHECK_TEXT(p->link_name[0], "cpu>sw");
    CHECK_TEXT(p->link_name[1], "sw>cpu");
    CHECK_TEXT(p->link_name[2], "sw-gpu");
    check_ints(p->route_at, (int[]){0, 0, 2, 2, 4, 4, 4, 4, 4, 4}, 10);
    check_ints(p->route, (int[]){0, 2, 2, 1}, 4); /* cpu to gpu, then gpu to cpu */
    weft_problem_free(p);
}

TEST(parallel_links_have_names_of_their_own)
{
    static const weft_link pair[] = {
        {.a = 0, .b = 1, .bytes_per_s = 1},
        {.a = 0, .b = 1, .bytes_per_s = 1},
    };
    static const int reached_by[] = {-1, 2, 1, -1}; /* there by the second, back by the first */
    static const weft_route routes[] = {
        {.n_hops = 0      },
        { .n_hops = 1, .bytes_per_s = 1}
    };
    static const int route_of[] = {0, 1, 1, 0};
    static const double seconds[] = {1, 1, 1, 1, 1, 1};
    const weft_platform two_links = {.name = "two",
                                     .n_devices = 2,
                                     .n_links = 2,
                                     .device = star_device,
                                     .link = pair,
                                     .routes = routes,
                                     .route_of = route_of,
                                     .reached_by = reached_by,
                                     .host = -1};
    weft_costs costs = {.n_nodes = 3, .n_devices = 2, .seconds = seconds};
    weft_graph *g = small_graph(80);
    weft_problem *p = NULL;

    CHECK_OK(
        weft_problem_new(g, &costs, &two_links, &(weft_constraints){.goal = WEFT_LATENCY}, &p));
    weft_graph_free(g);
    weft_problem_check(p);
    CHECK_TEXT(p->link_name[2], "cpu>gpu#2");
    check_ints(p->route, (int[]){2, 1}, 2);
    weft_problem_free(p);
}

static uint64_t hash_and_free(weft_graph *g)
{
    uint64_t hash = weft_graph_hash(g);

    weft_graph_free(g);
    return hash;
}

static uint64_t text_hash(const char *text)
{
    weft_graph *g = NULL;

    CHECK_OK(weft_graph_parse(text, &g));
    return hash_and_free(g);
}

TEST(the_hash_of_a_network_sees_work_names_bytes_and_edges)
{
    uint64_t hash = text_hash("a:2 b:3 c; a>b:8 b>c:1");

    CHECK(hash == text_hash("a:2 b:3 c; a>b:8 b>c:1"));
    CHECK(hash != text_hash("a:2 b:4 c; a>b:8 b>c:1"));
    CHECK(hash != text_hash("a:2 d:3 c; a>d:8 d>c:1"));
    CHECK(hash != text_hash("a:2 b:3 c; a>b:9 b>c:1"));
    CHECK(hash != text_hash("a:2 b:3 c; a>b:8 a>c:1"));
    CHECK(hash_and_free(small_graph(80)) == hash_and_free(small_graph(80)));
    CHECK(hash_and_free(small_graph(80)) != hash_and_free(small_graph(81)));
}

static uint64_t attr_hash(weft_attr attr)
{
    weft_builder *b = weft_builder_new("g");
    weft_node n = {.name = "n", .op = "Op", .domain = "", .forward = -1, .wrt = -1, .n_attrs = 1};
    int in = add_tensor(b, "in", WEFT_INPUT, 1), out = add_tensor(b, "out", WEFT_ACTIVATION, 1);
    weft_graph *g = NULL;

    n.attr = &attr;
    (void)weft_builder_node(b, &n, &in, 1, &out, 1);
    weft_builder_output(b, out);
    CHECK_OK(weft_builder_finish(b, &g));
    weft_builder_free(b);
    return hash_and_free(g);
}

static uint64_t literal_hash(const weft_literal *x)
{
    return attr_hash((weft_attr){
        .name = "k", .kind = WEFT_ATTR_LITERAL, .type = WEFT_I64, .shape = {1, {2}},
                   .literal = x
    });
}

TEST(the_hash_of_a_network_sees_every_kind_of_attribute)
{
    static const int64_t ints[] = {1, 2}, more_ints[] = {1, 3};
    static const double reals[] = {1, 2}, more_reals[] = {1, 3};
    static const char *const texts[] = {"ab", "c"}, *const more_texts[] = {"a", "bc"};
    static const weft_literal two_ints = {2, ints, NULL}, two_more = {2, more_ints, NULL};
    uint64_t hash[16];
    int n = 0;

    hash[n++] = attr_hash((weft_attr){.name = "k", .kind = WEFT_ATTR_INT, .i = 1});
    hash[n++] = attr_hash((weft_attr){.name = "k", .kind = WEFT_ATTR_INT, .i = 2});
    hash[n++] = attr_hash((weft_attr){.name = "j", .kind = WEFT_ATTR_INT, .i = 1});
    hash[n++] = attr_hash((weft_attr){.name = "k", .kind = WEFT_ATTR_REAL, .f = 1});
    hash[n++] = attr_hash((weft_attr){.name = "k", .kind = WEFT_ATTR_REAL, .f = 2});
    hash[n++] = attr_hash((weft_attr){.name = "k", .kind = WEFT_ATTR_TEXT, .s = "x"});
    hash[n++] = attr_hash((weft_attr){.name = "k", .kind = WEFT_ATTR_TEXT, .s = "y"});
    hash[n++] = attr_hash((weft_attr){.name = "k", .kind = WEFT_ATTR_INTS, .n = 2, .ints = ints});
    hash[n++] =
        attr_hash((weft_attr){.name = "k", .kind = WEFT_ATTR_INTS, .n = 2, .ints = more_ints});
    hash[n++] =
        attr_hash((weft_attr){.name = "k", .kind = WEFT_ATTR_REALS, .n = 2, .reals = reals});
    hash[n++] =
        attr_hash((weft_attr){.name = "k", .kind = WEFT_ATTR_REALS, .n = 2, .reals = more_reals});
    hash[n++] =
        attr_hash((weft_attr){.name = "k", .kind = WEFT_ATTR_TEXTS, .n = 2, .texts = texts});
    hash[n++] =
        attr_hash((weft_attr){.name = "k", .kind = WEFT_ATTR_TEXTS, .n = 2, .texts = more_texts});
    hash[n++] = literal_hash(&two_ints);
    hash[n++] = literal_hash(&two_more);
    hash[n++] = attr_hash((weft_attr){.name = "k", .kind = WEFT_ATTR_OTHER});
    CHECK_INT(n, 16);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            CHECK(hash[i] != hash[j]);
    CHECK(hash[0] == attr_hash((weft_attr){.name = "k", .kind = WEFT_ATTR_INT, .i = 1}));
    CHECK(hash[13] == literal_hash(&two_ints));
}

/* --- fixtures -------------------------------------------------------------------------------- */

TEST(the_literature_reads_as_printed)
{
    for (int i = 0; i < N_FIXTURES; i++) {
        const fixture_known *f = &fixture_all[i];
        weft_problem *p = fixture_tasks(f->text);
        double total_s[3] = {0};

        weft_problem_check(p);
        CHECK_INT(p->n_tasks, f->n_tasks);
        CHECK_INT(p->n_tensors, f->n_edges);
        CHECK_INT(p->pred_at[p->n_tasks], f->n_edges);
        CHECK_INT(p->n_devices, 3);
        for (int u = 0; u < p->n_tasks; u++)
            for (int d = 0; d < 3; d++)
                total_s[d] += weft_task_s(p, u, d);
        CHECK_NEAR(fmin(total_s[0], fmin(total_s[1], total_s[2])), f->single_s);
        weft_problem_free(p);
    }
}

TEST(files_hold_the_same_instances)
{
    for (int i = 0; i < N_FIXTURES; i++) {
        weft_arena *a = weft_arena_new();
        weft_problem *p = fixture_tasks(fixture_all[i].text), *q = NULL;

        CHECK_OK(weft_problem_read(
            weft_arena_print(a, "%s/tasks/%s", WEFT_TEST_DATA, fixture_all[i].file), false,
            &(weft_constraints){.goal = WEFT_LATENCY}, &q));
        weft_problem_check(q);
        CHECK(p->hash == q->hash);
        weft_problem_free(p);
        weft_problem_free(q);
        weft_arena_free(a);
    }
}

TEST(random_problems_keep_the_invariants)
{
    int n_hosts = 0, n_limited = 0;

    for (uint64_t seed = 1; seed <= 300; seed++) {
        int n_tasks = 1 + (int)(seed % 23), n_devices = 1 + (int)(seed % 5);
        weft_problem *p = random_problem(seed, n_tasks, n_devices);
        weft_problem *again = random_problem(seed, n_tasks, n_devices);
        weft_problem *q = random_limited_problem(seed, n_tasks, n_devices);

        weft_problem_check(p);
        weft_problem_check(q);
        CHECK(p->hash == again->hash);
        CHECK(p->hash != q->hash);
        CHECK(isinf(p->capacity[0]) && isfinite(q->capacity[0]));
        n_hosts += p->host >= 0;
        n_limited += q->capacity[0] < q->n_tasks;
        weft_problem_free(p);
        weft_problem_free(again);
        weft_problem_free(q);
    }
    CHECK_INT(n_hosts, 100);
    CHECK(n_limited > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_are_sorted_and_lists_follow),
        cmocka_unit_test(items_may_go_different_ways_where_that_is_possible),
        cmocka_unit_test(calls_and_ways_of_their_own_exclude_each_other),
        cmocka_unit_test(left_out_arrays_have_their_defaults),
        cmocka_unit_test(ties_keep_the_given_order),
        cmocka_unit_test(weights_are_never_sent_and_unconnected_devices_stay_so),
        cmocka_unit_test(pins_and_colocations_move_with_their_tasks),
        cmocka_unit_test(wrong_arrays_are_refused),
        cmocka_unit_test(the_cycle_is_named_by_one_of_its_tasks),
        cmocka_unit_test(the_hash_sees_every_change_but_the_name),
        cmocka_unit_test(names_of_goals_and_outcomes),
        cmocka_unit_test(a_network_on_a_platform),
        cmocka_unit_test(half_duplex_links_are_one_in_both_directions),
        cmocka_unit_test(parallel_links_have_names_of_their_own),
        cmocka_unit_test(the_hash_of_a_network_sees_work_names_bytes_and_edges),
        cmocka_unit_test(the_hash_of_a_network_sees_every_kind_of_attribute),
        cmocka_unit_test(the_literature_reads_as_printed),
        cmocka_unit_test(files_hold_the_same_instances),
        cmocka_unit_test(random_problems_keep_the_invariants),
    };

    return RUN_TESTS(tests);
}
