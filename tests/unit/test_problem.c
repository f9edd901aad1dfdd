/* SPDX-License-Identifier: MIT */
/* test_problem.c: problems from arrays, networks and files, and the legality of plans. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include "fixtures.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

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
    CHECK_INT(p->colour[1], -1);
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

TEST(pins_and_colours_move_with_their_tasks)
{
    static const int pin[] = {1, 0, -1}, colour[] = {4, -1, 4};
    weft_problem_spec s = abc_spec();
    weft_problem *p;

    s.pin = pin;
    s.colour = colour;
    p = made(&s);
    check_ints(p->pin, (int[]){-1, 0, 1}, 3);
    check_ints(p->colour, (int[]){4, -1, 4}, 3);
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
    s = abc_spec(), s.seconds = nowhere;
    CHECK_FAILS(weft_problem_make(&s, &p), "task 'b' is not supported by any device");
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
    s[n++].colour = pin, s[n++].task_name = other, s[n++].device_name = devices;
    s[n++].host = 0, s[n++].transfer = WEFT_BLOCK, s[n++].goal = WEFT_THROUGHPUT;
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
    weft_tensor t = {
        .name = name,
        .type = WEFT_U8,
        .kind = kind,
        .shape = {1, {bytes}},
        .elements = bytes,
        .bytes = bytes
    };

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
static const int star_out[] = {0, 2}, star_back[] = {3, 1};
static const weft_route star_route[] = {
    {.n_hops = 0       },
    {.n_hops = 2,        .hop = star_out, .latency_s = 3, .bytes_per_s = 25},
    {.n_hops = -1   },
    {.n_hops = 2,                  .hop = star_back, .latency_s = 3, .bytes_per_s = 25},
    {.n_hops = 0              },
    {.n_hops = -1},
    {.n_hops = -1},
    {.n_hops = -1       },
    {.n_hops = 0      },
};
static const char *const star_switch[] = {"sw"};
static const weft_platform star = {
    .name = "star",
    .n_devices = 3,
    .n_switches = 1,
    .n_links = 2,
    .device = star_device,
    .switch_name = star_switch,
    .link = star_link,
    .route = star_route,
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

    CHECK_OK(weft_problem_new(g, &costs, &star, WEFT_THROUGHPUT, &p));
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
    CHECK_INT(p->goal, WEFT_THROUGHPUT);
    weft_problem_free(p);
}

TEST(half_duplex_links_are_one_in_both_directions)
{
    static const double seconds[] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    weft_costs costs = {.n_nodes = 3, .n_devices = 3, .seconds = seconds};
    weft_graph *g = small_graph(80);
    weft_problem *p = NULL;

    CHECK_OK(weft_problem_new(g, &costs, &star, WEFT_LATENCY, &p));
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
    static const int there[] = {2}, back[] = {1};
    static const weft_route route[] = {
        {.n_hops = 0      },
        {.n_hops = 1,       .hop = there, .bytes_per_s = 1},
        {.n_hops = 1, .hop = back, .bytes_per_s = 1},
        {.n_hops = 0      },
    };
    static const double seconds[] = {1, 1, 1, 1, 1, 1};
    const weft_platform two_links = {.name = "two",
                                     .n_devices = 2,
                                     .n_links = 2,
                                     .device = star_device,
                                     .link = pair,
                                     .route = route,
                                     .host = -1};
    weft_costs costs = {.n_nodes = 3, .n_devices = 2, .seconds = seconds};
    weft_graph *g = small_graph(80);
    weft_problem *p = NULL;

    CHECK_OK(weft_problem_new(g, &costs, &two_links, WEFT_LATENCY, &p));
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

TEST(the_hash_of_a_network_sees_every_kind_of_attribute)
{
    static const int64_t ints[] = {1, 2}, more_ints[] = {1, 3};
    static const double reals[] = {1, 2}, more_reals[] = {1, 3};
    static const char *const texts[] = {"ab", "c"}, *const more_texts[] = {"a", "bc"};
    static const weft_literal two_ints = {2, ints, NULL}, two_more = {2, more_ints, NULL};
    const weft_attr attr[] = {
        {.name = "k",              .kind = WEFT_ATTR_INT,          .i = 1},
        {.name = "k",                        .kind = WEFT_ATTR_INT,                                            .i = 2},
        {.name = "j",                  .kind = WEFT_ATTR_INT,     .i = 1},
        {.name = "k",.kind = WEFT_ATTR_REAL,      .f = 1},
        {.name = "k",              .kind = WEFT_ATTR_REAL,                                     .f = 2},
        {.name = "k",                        .kind = WEFT_ATTR_TEXT,                                            .s = "x"},
        {.name = "k",                  .kind = WEFT_ATTR_TEXT,            .s = "y"},
        {.name = "k",.kind = WEFT_ATTR_INTS,.n = 2, .ints = ints},
        {.name = "k",              .kind = WEFT_ATTR_INTS,     .n = 2, .ints = more_ints},
        {.name = "k",                        .kind = WEFT_ATTR_REALS,                                            .n = 2, .reals = reals},
        {.name = "k",                  .kind = WEFT_ATTR_REALS,                                                                               .n = 2, .reals = more_reals},
        {.name = "k",              .kind = WEFT_ATTR_TEXTS,         .n = 2, .texts = texts},
        {.name = "k",       .kind = WEFT_ATTR_TEXTS,                                     .n = 2, .texts = more_texts},
        {.name = "k",
         .kind = WEFT_ATTR_LITERAL,
         .type = WEFT_I64,
         .shape = {1, {2}},
         .literal = &two_ints},
        {.name = "k",
         .kind = WEFT_ATTR_LITERAL,
         .type = WEFT_I64,
         .shape = {1, {2}},
         .literal = &two_more},
        {.name = "k",                  .kind = WEFT_ATTR_OTHER},
    };
    enum { N = sizeof attr / sizeof *attr };
    uint64_t hash[N];

    for (int i = 0; i < N; i++) {
        hash[i] = attr_hash(attr[i]);
        CHECK(hash[i] == attr_hash(attr[i]));
        for (int j = 0; j < i; j++)
            CHECK(hash[i] != hash[j]);
    }
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
            WEFT_LATENCY, &q));
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

/* --- weft.tasks/1 ---------------------------------------------------------------------------- */

static weft_status parse(const char *text, bool is_msr, weft_problem **out)
{
    weft_arena *a = weft_arena_new();
    const weft_doc *d = NULL;
    weft_status status = weft_doc_parse(text, strlen(text), "dir/some.json", a, &d);

    if (status == WEFT_OK)
        status = weft_problem_parse(d, is_msr, WEFT_LATENCY, out);
    weft_arena_free(a);
    return status;
}

TEST(a_task_file_with_everything)
{
    weft_problem *p = NULL;

    CHECK_OK(weft_problem_read(WEFT_TEST_DATA "/tasks/limits.json", false, WEFT_THROUGHPUT, &p));
    weft_problem_check(p);
    CHECK_TEXT(p->name, "limits");
    CHECK_INT(p->goal, WEFT_THROUGHPUT);
    CHECK_INT(p->transfer, WEFT_CONTEND);
    CHECK_INT(p->host, -1);
    CHECK(isinf(weft_task_s(p, 1, 1)));
    CHECK_NEAR(weft_task_s(p, 2, 1), 1.5);
    CHECK_INT(p->n_tensors, 3 + 4); /* three tasks with memory, four edges */
    CHECK(p->is_weight[1] && p->producer[1] == -1 && p->reader[p->reader_at[1]] == 1);
    CHECK_NEAR(p->memory[1], 1048576.0);
    CHECK_NEAR(p->memory[3], 0.0); /* amounts are not bytes */
    CHECK_NEAR(weft_send_s(p, 3, 0, 1), 0.25 + 8 * 0.5);
    CHECK_NEAR(weft_send_s(p, 3, 2, 0), 1 + 8 * 1.0);
    CHECK(isinf(weft_send_s(p, 3, 1, 2)));
    CHECK_INT(p->n_links, 4); /* six ordered pairs, two not connected */
    CHECK(isinf(p->capacity[0]));
    CHECK_NEAR(p->capacity[1], 100.0);
    weft_problem_free(p);
}

TEST(a_task_file_may_be_yaml_and_is_named_by_its_file)
{
    weft_problem *p = NULL;

    CHECK_OK(parse("schema: weft.tasks/1\ndevices: [d]\ntasks:\n - {name: b, seconds: [2]}\n"
                   " - {name: a, seconds: [1]}\nedges: [{from: a, to: b, amount: 3}]\n",
                   false, &p));
    CHECK_TEXT(p->name, "some");
    CHECK_TEXT(p->task_name[0], "a"); /* sorted */
    CHECK_NEAR(weft_task_s(p, 1, 0), 2.0);
    weft_problem_free(p);
}

typedef struct wrong {
    const char *from, *to; /* replaced in a file that is right */
    const char *message;
} wrong;

/* The text with its first `from` replaced by `to`. */
static const char *replaced(const char *text, const char *from, const char *to, weft_arena *a)
{
    const char *at = strstr(text, from);

    if (at == NULL)
        fail_msg("'%s' is not in the text", from);
    return weft_arena_print(a, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

static void check_wrong(const char *right, bool is_msr, const wrong *list, int n)
{
    weft_arena *a = weft_arena_new();
    weft_problem *p = NULL;

    CHECK_OK(parse(right, is_msr, &p));
    weft_problem_free(p);
    p = NULL;
    for (int i = 0; i < n; i++) {
        CHECK_FAILS(parse(replaced(right, list[i].from, list[i].to, a), is_msr, &p),
                    list[i].message);
        CHECK(p == NULL);
    }
    weft_arena_free(a);
}

TEST(wrong_task_files_are_refused_with_file_and_line)
{
    static const char right[] =
        "{\"schema\": \"weft.tasks/1\", \"devices\": [\"P1\", \"P2\"],\n"
        " \"tasks\": [{\"name\": \"alpha\", \"seconds\": [14, 16]},\n"
        "  {\"name\": \"beta\", \"seconds\": [13, null], \"memory\": 1048576}],\n"
        " \"edges\": [{\"from\": \"alpha\", \"to\": \"beta\", \"amount\": 18}],\n"
        " \"link\": [[0, 1], [1, 0]], \"latency\": [[0, 2], [3, 0]],\n"
        " \"capacity\": [null, 1073741824], \"transfer\": \"block\"}\n";
    static const wrong list[] = {
        {"weft.tasks/1",                   "weft.plan/1",
         "dir/some.json:1: 'schema' is 'weft.plan/1', expected 'weft.tasks/1'"                                                                       },
        {"\"schema\": \"weft.tasks/1\", ", "",                                      "key 'schema' is missing"                                        },
        {"\"schema\"",                     "\"maxFPGAs\": 1, \"shema\"",            "add --format msr"                                               },
        {"\"link\"",                       "\"lnik\"",                              ":5: unknown key 'lnik' (did you mean 'link'?)"                  },
        {"\"memory\"",                     "\"memroy\"",                            ":3: unknown key 'memroy' (did you mean 'memory'?)"              },
        {"\"amount\"",                     "\"amuont\"",                            ":4: unknown key 'amuont' (did you mean 'amount'?)"              },
        {"[\"P1\", \"P2\"]",               "[]",                                    ":1: 'devices' names 0 devices, expected 1 to 1024"              },
        {"\"P2\"",                         "7",                                     ":1: device 2 is 7, expected a name in quotes"                   },
        {"\"P2\"",                         "\"P1\"",                                ":1: two devices are called 'P1'"                                },
        {"\"devices\": [\"P1\", \"P2\"]",  "\"devices\": 3",                        ":1: 'devices' is 3"                                             },
        {"\"beta\", \"s",                  "\"alpha\", \"s",                        ":3: two tasks are called 'alpha'"                               },
        {"\"beta\", \"s",                  "\"\", \"s",                             ":3: task 2 has an empty name"                                   },
        {"\"name\": \"alpha\", ",          "",                                      ":2: key 'name' is missing"                                      },
        {"[14, 16]",                       "[14]",                                  ":2: task 'alpha' has 1 seconds, expected 2: one for each device"},
        {"[14, 16]",                       "[14, -1]",
         ":2: the time of task 'alpha' on 'P2' is -1, expected a number from 0 to 1e18 or null"                                                      },
        {"[14, 16]",                       "[14, \"16\"]",                          "on 'P2' is '16', expected a number"                             },
        {"[14, 16]",                       "[14, 1e19]",                            "on 'P2' is 1e19, expected a number from 0 to 1e18"              },
        {"[14, 16]",                       "[null, null]",                          ":2: task 'alpha' is not supported by any device"                },
        {"[14, 16]",                       "14",                                    ":2: 'seconds' is 14, expected a list"                           },
        {"1048576",                        "-1",                                    ":3: 'memory' is -1, expected 0 to 1e+18"                        },
        {"\"from\": \"alpha\"",            "\"from\": \"alhpa\"",
         ":4: 'from' is 'alhpa', but there is no such task (did you mean 'alpha'?)"                                                                  },
        {"\"to\": \"beta\"",               "\"to\": \"x-y-z-w\"",                   "'to' is 'x-y-z-w', but there is no such task"                   },
        {"\"to\": \"beta\"",               "\"to\": \"alpha\"",                     ":4: task 'alpha' has an edge to itself"                         },
        {"\"amount\": 18}",
         "\"amount\": 18}, {\"from\": \"beta\", \"to\": \"alpha\", \"amount\": 0}", "waits for itself: the tasks form a cycle"                       },
        {"\"amount\": 18",                 "\"amount\": -18",                       ":4: 'amount' is -18, expected 0 to 1e+18"                       },
        {", \"amount\": 18",               "",                                      ":4: key 'amount' is missing"                                    },
        {"\"edges\": [",                   "\"edges\": [5, ",                       ":4: this is 5, expected a map"                                  },
        {"[[0, 1], [1, 0]]",               "[[0, 1]]",                              ":5: 'link' has 1 rows, expected 2"                              },
        {"[[0, 1], [1, 0]]",               "[[0, 1], [1]]",
         ":5: a row of 'link' is a list of 1, expected a list"                                                                                       },
        {"[[0, 1], [1, 0]]",               "[[0, 1], 3]",                           ":5: a row of 'link' is 3, expected a list of 2"                 },
        {"[[0, 1], [1, 0]]",               "[[0, 1], [1, 4]]",                      "'link' from 'P2' to itself is 4, expected 0"                    },
        {"[[0, 1], [1, 0]]",               "[[0, -1], [1, 0]]",                     "link is -1, expected a number from 0"                           },
        {"[[0, 2], [3, 0]]",               "[[0, null], [3, 0]]",
         ":5: latency is null, expected a number from 0"                                                                                             },
        {"[null, 1073741824]",             "[null]",                                ":6: a row of 'capacity' is a list of 1"                         },
        {"[null, 1073741824]",             "[null, true]",                          ":6: capacity is true, expected a number"                        },
        {"\"block\"",                      "\"wait\"",                              ":6: 'transfer' is 'wait', expected overlap, contend or block"   },
    };
    weft_problem *p = NULL;

    check_wrong(right, false, list, (int)(sizeof list / sizeof *list));
    CHECK_FAILS(parse("[1]", false, &p), "dir/some.json:1");
    CHECK_FAILS(
        parse("{\"schema\": \"weft.tasks/1\", \"devices\": [\"a\"], \"tasks\": []}", false, &p),
        "'tasks' is empty, expected at least one task");
    CHECK_FAILS(parse("{\"schema\": \"weft.tasks/1\", \"devices\": [\"a\"]}", false, &p),
                "key 'tasks' is missing");
}

/* --- dnn-partitioning ------------------------------------------------------------------------ */

/* 30 -> 10 -> 20 and 30 -> 20; two accelerators, no CPU given: one is there all the same. */
static const char msr_text[] =
    "{\"maxFPGAs\": 2, \"maxCPUs\": 0, \"maxSizePerFPGA\": 1000.0,\n"
    " \"nodes\": [\n"
    "  {\"id\": 20, \"name\": \"last\", \"supportedOnFpga\": 0, \"cpuLatency\": 8, \"colorClass\": "
    "-7},\n"
    "  {\"id\": 10, \"name\": \"mid\", \"supportedOnFpga\": true, \"cpuLatency\": 40,"
    " \"fpgaLatency\": 4, \"size\": 600},\n"
    "  {\"id\": 30, \"name\": \"mid\", \"supportedOnFpga\": 1, \"cpuLatency\": 20.5,"
    " \"fpgaLatency\": 2, \"colorClass\": -7, \"layerId\": 3}],\n"
    " \"edges\": [\n"
    "  {\"sourceId\": 30, \"destId\": 10, \"cost\": 5, \"size\": 1},\n"
    "  {\"sourceId\": 10, \"destId\": 20, \"cost\": 7},\n"
    "  {\"sourceId\": 30, \"destId\": 20, \"cost\": 5.0}]}\n";

TEST(a_dnn_partitioning_file)
{
    weft_problem *p = NULL;

    CHECK_OK(parse(msr_text, true, &p));
    weft_problem_check(p);
    CHECK_INT(p->n_devices, 3);
    CHECK_TEXT(p->device_name[1], "acc1");
    CHECK_TEXT(p->device_name[2], "cpu0");
    CHECK_TEXT(p->task_name[0], "mid (id 30)"); /* the second of its name */
    CHECK_TEXT(p->task_name[1], "mid");
    CHECK_TEXT(p->task_name[2], "last");
    CHECK_NEAR(weft_task_s(p, 0, 0), 2e-3);
    CHECK_NEAR(weft_task_s(p, 0, 2), 20.5e-3);
    CHECK(isinf(weft_task_s(p, 2, 1)));
    CHECK_NEAR(weft_task_s(p, 2, 2), 8e-3);
    CHECK_NEAR(p->capacity[1], 1000.0);
    CHECK(isinf(p->capacity[2]));
    check_ints(p->colour, (int[]){0, -1, 0}, 3);
    CHECK_INT(p->n_tensors, 1 + 2); /* one weight, the outputs of two nodes */
    CHECK(p->is_weight[0]);
    CHECK_NEAR(p->memory[0], 600.0);
    CHECK_INT(p->producer[1], 1); /* outputs in order of the file: node 10, then node 30 */
    CHECK_NEAR(p->amount[2], 5e-3);
    CHECK_INT(p->reader_at[3] - p->reader_at[2], 2);
    CHECK_NEAR(weft_send_s(p, 2, 0, 1), 2 * 5e-3); /* out of one accelerator, into another */
    CHECK_NEAR(weft_send_s(p, 2, 0, 2), 5e-3);
    CHECK_NEAR(weft_send_s(p, 2, 2, 0), 5e-3);
    CHECK_INT(p->transfer, WEFT_BLOCK);
    weft_problem_free(p);
}

TEST(cpus_share_the_memory_of_the_host)
{
    weft_arena *a = weft_arena_new();
    weft_problem *p = NULL;

    CHECK_OK(parse(replaced(msr_text, "\"maxCPUs\": 0", "\"maxCPUs\": 3", a), true, &p));
    CHECK_INT(p->n_devices, 2 + 3);
    CHECK_NEAR(weft_send_s(p, 2, 3, 4), 0.0);
    weft_problem_free(p);
    weft_arena_free(a);
}

TEST(wrong_dnn_partitioning_files_are_refused)
{
    static const wrong list[] = {
        {"\"maxFPGAs\": 2, ",        "",                        "dir/some.json:1: key 'maxFPGAs' is missing"                     },
        {"\"maxFPGAs\": 2",          "\"maxFPGAs\": 513",       ":1: 'maxFPGAs' is 513, expected 0 to 512"                       },
        {"\"maxCPUs\": 0",           "\"maxCPUs\": -1",         ":1: 'maxCPUs' is -1"                                            },
        {"1000.0",                   "-1",                      ":1: 'maxSizePerFPGA' is -1"                                     },
        {"\"id\": 10",               "\"id\": 20",              ":4: two nodes have the id 20"                                   },
        {"\"id\": 10",               "\"id\": 1.5",             ":4: 'id' is 1.5, expected a whole number"                       },
        {"\"supportedOnFpga\": 0",   "\"supportedOnFpga\": 2",
         ":3: 'supportedOnFpga' is 2, expected true or false"                                                                    },
        {"\"supportedOnFpga\": 0, ", "",                        ":3: key 'supportedOnFpga' is missing"                           },
        {"\"cpuLatency\": 8",        "\"cpuLatency\": -8",      ":3: 'cpuLatency' is -8"                                         },
        {"\"fpgaLatency\": 4, ",     "",                        ":4: key 'fpgaLatency' is missing"                               },
        {"600",                      "\"big\"",                 ":4: 'size' is 'big', expected a number"                         },
        {"\"colorClass\": -7",       "\"colorClass\": \"red\"", ":3: 'colorClass' is 'red'"                                      },
        {"\"destId\": 10",           "\"destId\": 11",
         ":7: 'destId' is 11, but there is no node with this id"                                                                 },
        {"5.0",                      "5.5",                     ":9: 'cost' is 5.5, but another edge of node 'mid (id 30)' has 5"},
        {"\"destId\": 10",           "\"destId\": 30",          "'mid (id 30)' waits for itself"                                 },
    };
    weft_problem *p = NULL;

    check_wrong(msr_text, true, list, (int)(sizeof list / sizeof *list));
    CHECK_FAILS(
        parse("{\"maxFPGAs\": 1, \"maxCPUs\": 1, \"maxSizePerFPGA\": 1, \"nodes\": []}", true, &p),
        "'nodes' is empty, expected at least one node");
    CHECK_FAILS(
        weft_problem_read(WEFT_TEST_DATA "/tasks/no_such_file.json", true, WEFT_LATENCY, &p),
        "no_such_file.json");
}

typedef struct workload {
    const char *file;
    int n_nodes, n_edges, n_devices;
    double accelerator_ms; /* everything on one accelerator, as published; 0: not known */
} workload;

TEST(the_public_workloads_read)
{
    static const workload list[] = {
        {"latency-inputs/LayerGraphs/bert24_inference.json",         32,   55,   5 + 8, 0      },
        {"latency-inputs/LayerGraphs/gnmt_inference.json",           96,   122,  6 + 8, 0      },
        {"latency-inputs/OperatorGraphs/bert_l-3_inference.json",    235,  250,  4 + 8, 0      },
        {"latency-inputs/OperatorGraphs/resnet50_inference.json",    604,  619,  9 + 8, 0      },
        {"throughput-inputs/LayerGraphs/bert24_inference.json",      32,   55,   6 + 1, 92.406 },
        {"throughput-inputs/LayerGraphs/bert24_training.json",       64,   110,  6 + 1, 217.813},
        {"throughput-inputs/LayerGraphs/gnmt_inference.json",        96,   122,  6 + 1, 182.563},
        {"throughput-inputs/LayerGraphs/gnmt_training.json",         192,  244,  6 + 1, 520.453},
        {"throughput-inputs/OperatorGraphs/bert_l-3_inference.json", 235,  250,  3 + 1, 49.353 },
        {"throughput-inputs/OperatorGraphs/bert_l-3_training.json",  600,  817,  3 + 1, 122.987},
        {"throughput-inputs/OperatorGraphs/resnet50_inference.json", 604,  619,  6 + 1, 325.132},
        {"throughput-inputs/OperatorGraphs/resnet50_training.json",  1243, 1806, 6 + 1, 684.891},
    };
    static const char folder[] = WEFT_SHARED "/data/dnn-partitioning";

    if (access(folder, R_OK) != 0) {
        print_message("SKIPPED: the public workloads are not in %s\n", folder);
        skip();
    }
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        weft_arena *a = weft_arena_new();
        weft_problem *p = NULL;
        double sum_s = 0;

        CHECK_OK(weft_problem_read(weft_arena_print(a, "%s/%s", folder, list[i].file), true,
                                   WEFT_THROUGHPUT, &p));
        weft_problem_check(p);
        CHECK_INT(p->n_tasks, list[i].n_nodes);
        CHECK_INT(p->pred_at[p->n_tasks], list[i].n_edges);
        CHECK_INT(p->n_devices, list[i].n_devices);
        for (int u = 0; u < p->n_tasks; u++)
            sum_s += weft_task_s(p, u, 0);
        if (list[i].accelerator_ms > 0) /* printed with three digits */
            CHECK(fabs(sum_s * 1e3 - list[i].accelerator_ms) <= 0.0005 + 1e-9);
        weft_problem_free(p);
        weft_arena_free(a);
    }
}

/* --- legality of plans ----------------------------------------------------------------------- */

typedef struct checked {
    weft_problem *problem;
    weft_plan plan;
    weft_arena *arena;
    weft_breach breach[64];
    int n;
} checked;

static void check_again(checked *c)
{
    c->n = weft_plan_check(c->problem, &c->plan, c->breach, 64, c->arena);
}

static bool is_told(const checked *c, const char *part)
{
    for (int i = 0; i < c->n; i++)
        if (strstr(c->breach[i].what, part))
            return true;
    return false;
}

/* A plan without breach to start from; devices count from 0. */
static checked checked_plan(weft_problem *p, const int *device, const double *start_s)
{
    checked c = {.problem = p, .arena = weft_arena_new()};

    c.plan = weft_plan_new(p->n_tasks, c.arena);
    for (int u = 0; u < p->n_tasks; u++) {
        CHECK_INT(c.plan.device[u], 0);
        CHECK_NEAR(c.plan.start_s[u], 0.0);
        c.plan.device[u] = device[u];
        c.plan.start_s[u] = start_s[u];
    }
    check_again(&c);
    for (int i = 0; i < c.n; i++)
        fail_msg("%s", c.breach[i].what);
    return c;
}

static void release(checked *c)
{
    weft_problem_free(c->problem);
    weft_arena_free(c->arena);
}

/* T1@P3[0,9) T2@P3[9,27) T3@P2[21,34) T4@P1[18,31) T5@P3[27,37) T6@P1[31,44) T7@P2[34,49)
 * T8@P1[46,51) T9@P2[54,66) T10@P2[66,73) */
static checked heft_optimum(void)
{
    static const int device[] = {2, 2, 1, 0, 2, 0, 1, 0, 1, 1};
    static const double start_s[] = {0, 9, 21, 18, 27, 31, 34, 46, 54, 66};

    return checked_plan(fixture_tasks(fixture_heft), device, start_s);
}

TEST(the_optimal_plan_of_the_heft_example_is_legal)
{
    checked c = heft_optimum();
    double end_s = 0;

    for (int u = 0; u < 10; u++)
        end_s = fmax(end_s, c.plan.start_s[u] + weft_task_s(c.problem, u, c.plan.device[u]));
    CHECK_NEAR(end_s, 73.0);
    release(&c);
}

TEST(heft_plan_of_the_heft_example_is_legal)
{
    static const int device[] = {2, 0, 2, 1, 2, 1, 2, 0, 1, 1};
    static const double start_s[] = {0, 27, 9, 18, 28, 26, 38, 57, 56, 73};
    checked c = checked_plan(fixture_tasks(fixture_heft), device, start_s);

    CHECK_INT(c.n, 0);
    release(&c);
}

/* In the optimal plan every task starts as early as its inputs and its device allow. */
TEST(a_task_that_starts_earlier_is_told)
{
    static const char *const told[] = {
        "task 'T1' starts at -1 s on 'P3': 1 s before time 0",
        "task 'T2' starts at 8 s on 'P3', but its input from 'T1' arrives at 9 s: 1 s too early",
        "task 'T3' starts at 20 s on 'P2', but its input from 'T1' arrives at 21 s: 1 s too early",
        "task 'T4' starts at 17 s on 'P1', but its input from 'T1' arrives at 18 s: 1 s too early",
        "task 'T5' starts at 26 s on 'P3', but 'T2' runs there until 27 s: 1 s too early",
        "task 'T6' starts at 30 s on 'P1', but 'T4' runs there until 31 s: 1 s too early",
        "task 'T7' starts at 33 s on 'P2', but its input from 'T3' arrives at 34 s: 1 s too early",
        "task 'T8' starts at 45 s on 'P1', but its input from 'T2' arrives at 46 s: 1 s too early",
        "task 'T9' starts at 53 s on 'P2', but its input from 'T4' arrives at 54 s: 1 s too early",
        "task 'T10' starts at 65 s on 'P2', but its input from 'T9' arrives at 66 s: 1 s too early",
    };
    checked c = heft_optimum();

    for (int u = 0; u < 10; u++) {
        c.plan.start_s[u] -= 1;
        check_again(&c);
        CHECK(c.n >= 1 && is_told(&c, told[u]));
        c.plan.start_s[u] += 1;
    }
    release(&c);
}

TEST(a_task_on_another_device_is_told)
{
    checked c = heft_optimum();

    for (int u = 0; u < 10; u++)
        for (int d = 0; d < 3; d++) {
            int own = c.plan.device[u];

            c.plan.device[u] = d;
            check_again(&c);
            CHECK((c.n > 0) == (d != own));
            c.plan.device[u] = own;
        }
    release(&c);
}

TEST(overlaps_and_late_starts)
{
    weft_problem *p = fixture_tasks("4/3/2/0; 0-2:9"); /* one device: nothing is sent */
    checked c = checked_plan(p, (int[]){0, 0, 0, 0}, (double[]){0, 4, 7, 4});

    c.plan.start_s[1] = 1; /* T1 runs [1, 4) inside T0's [0, 4) */
    check_again(&c);
    CHECK_INT(c.n, 1);
    CHECK_TEXT(c.breach[0].what,
               "task 'T1' starts at 1 s on 'P1', but 'T0' runs there until 4 s: 3 s too early");
    c.plan.start_s[1] = 4;
    c.plan.start_s[3] = 2; /* no length, but in the middle of T0 */
    check_again(&c);
    CHECK_INT(c.n, 1);
    CHECK(is_told(&c, "task 'T3' starts at 2 s on 'P1', but 'T0' runs there until 4 s: 2 s"));
    c.plan.start_s[3] = 100; /* later than it could is legal */
    check_again(&c);
    CHECK_INT(c.n, 0);
    release(&c);
}

TEST(slack_is_a_billionth_of_the_makespan)
{
    weft_problem *p = fixture_tasks("1/1; 0-1:0"); /* the makespan is 2: 2e-9 s are allowed */
    checked c = checked_plan(p, (int[]){0, 0}, (double[]){0, 1});

    c.plan.start_s[1] = 1 - 1.5e-9;
    check_again(&c);
    CHECK_INT(c.n, 0);
    c.plan.start_s[1] = 1 - 3e-9;
    check_again(&c);
    CHECK_INT(c.n, 2); /* input and overlap */
    release(&c);
}

TEST(devices_that_are_no_devices_and_times_that_are_none)
{
    checked c = heft_optimum();

    c.plan.device[3] = 3;
    c.plan.device[4] = -1;
    c.plan.start_s[5] = NAN;
    c.plan.start_s[6] = INFINITY;
    check_again(&c);
    CHECK_INT(c.n, 4); /* the rest is not judged by them */
    CHECK_TEXT(c.breach[0].what, "task 'T4' is on device number 3, but there are 3 devices");
    CHECK(is_told(&c, "task 'T5' is on device number -1"));
    CHECK(is_told(&c, "task 'T6' starts at"));
    CHECK(is_told(&c, "task 'T7' starts at inf s, which is not a time"));
    c.plan.n_tasks = 9;
    check_again(&c);
    CHECK_INT(c.n, 1);
    CHECK_TEXT(c.breach[0].what, "the plan has 9 tasks, but the problem has 10");
    release(&c);
}

TEST(support_pins_and_colours)
{
    static const int pin[] = {-1, 0, -1}, colour[] = {2, -1, 2}; /* c b a, as in abc_spec */
    weft_problem_spec s = abc_spec();
    checked c;

    s.pin = pin;
    s.colour = colour;
    c = checked_plan(made(&s), (int[]){0, 0, 0}, (double[]){0, 5, 8});
    c.plan.device[1] = 1;
    check_again(&c);
    CHECK(is_told(&c, "task 'b' is on 'y', which does not support it"));
    CHECK(is_told(&c, "task 'b' is on 'y', but it is pinned to 'x'"));
    c.plan.device[1] = 0;
    c.plan.device[2] = 1;
    c.plan.start_s[2] = 1000;
    check_again(&c);
    CHECK_INT(c.n, 1);
    CHECK_TEXT(c.breach[0].what,
               "task 'c' is on 'y', but 'a', which must share its device, is on 'x'");
    release(&c);
}

TEST(inputs_come_from_the_host_along_links)
{
    static const double second_per_byte[] = {0, 0.5, INFINITY, 0}, latency_s[] = {0, 1, 0, 0};
    static const double seconds[] = {1, 2, 3, 4, 5, 6};
    weft_problem_spec s = abc_spec();
    checked c;

    s.seconds = seconds;
    s.host = 0;
    s.second_per_byte = second_per_byte;
    s.latency_s = latency_s;
    /* a reads 30 from the host x; on y it waits for 1 + 30 * 0.5 = 16 s */
    c = checked_plan(made(&s), (int[]){1, 1, 1}, (double[]){16, 22, 26});
    c.plan.start_s[0] = 15;
    check_again(&c);
    CHECK_INT(c.n, 1);
    CHECK_TEXT(c.breach[0].what, "task 'a' starts at 15 s on 'y', but its input from the host 'x' "
                                 "arrives at 16 s: 1 s too early");
    c.plan.start_s[0] = 16;
    c.plan.device[2] = 0; /* no way back from y */
    check_again(&c);
    CHECK_INT(c.n, 2);
    CHECK(is_told(&c, "task 'c' is on 'x', but its input from 'a' on 'y' cannot get there: the "
                      "devices are not connected"));
    release(&c);
}

TEST(weights_must_fit_each_counted_once)
{
    static const double seconds[] = {1, 1, 1, 1, 1, 1};
    static const double zero[] = {0, 0, 0}, memory[] = {60, 50, 7}, capacity[] = {110, 66};
    static const bool is_weight[] = {true, true, false};
    static const int producer[] = {-1, -1, -1};
    static const int reader_at[] = {0, 2, 3, 3}, reader[] = {0, 1, 2}; /* c and b share 60 */
    weft_problem_spec s = abc_spec();
    checked c;

    s.seconds = seconds;
    s.amount = zero;
    s.memory = memory;
    s.is_weight = is_weight;
    s.capacity = capacity;
    s.producer = producer;
    s.reader_at = reader_at;
    s.reader = reader;
    /* all on x: 60 + 50 = 110 bytes, just the capacity; tasks keep the order c b a */
    c = checked_plan(made(&s), (int[]){0, 0, 0}, (double[]){0, 1, 2});
    for (int u = 0; u < 3; u++)
        c.plan.device[u] = 1;
    check_again(&c);
    CHECK_INT(c.n, 1);
    CHECK_TEXT(c.breach[0].what,
               "device 'y' has to hold 110 bytes of weights, but has room for 66: 44 bytes too "
               "many; the largest belong to task 'c', 60 bytes");
    c.plan.device[2] = 0; /* 60 on y, 50 on x */
    check_again(&c);
    CHECK_INT(c.n, 0);
    c.plan.device[0] = 0; /* the shared weight lies on both: x 60 + 50, y 60 */
    check_again(&c);
    CHECK_INT(c.n, 0);
    release(&c);
}

TEST(breaches_beyond_the_list_are_counted)
{
    checked c = heft_optimum();
    weft_breach one = {NULL};

    for (int u = 0; u < 10; u++)
        c.plan.device[u] = 7;
    CHECK_INT(weft_plan_check(c.problem, &c.plan, &one, 1, c.arena), 10);
    CHECK(strstr(one.what, "'T1'") != NULL);
    CHECK_INT(weft_plan_check(c.problem, &c.plan, NULL, 0, c.arena), 10);
    release(&c);
}

TEST(a_breach_is_one_line_whatever_the_names)
{
    static const char *const names[] = {"c", "b", "a\nb\x1b[1m"};
    weft_problem_spec s = abc_spec();
    checked c;

    s.task_name = names;
    c = checked_plan(made(&s), (int[]){0, 0, 0}, (double[]){0, 5, 8});
    c.plan.start_s[0] = -2;
    check_again(&c);
    CHECK(is_told(&c, "task 'a?b?[1m' starts at -2 s on 'x': 2 s before time 0"));
    release(&c);
}

/* Places tasks in order, each on a random device that supports it, as early as it can start. */
static checked random_plan(weft_problem *p, uint64_t seed)
{
    weft_arena *a = weft_arena_new();
    int *device = WEFT_NEW(a, int, p->n_tasks);
    double *start_s = WEFT_NEW(a, double, p->n_tasks);
    double *free_s = WEFT_NEW(a, double, p->n_devices);
    weft_rng r = weft_rng_seed(seed);
    checked c;

    for (int v = 0; v < p->n_tasks; v++) {
        do
            device[v] = weft_rng_below(&r, p->n_devices);
        while (isinf(weft_task_s(p, v, device[v])));
        start_s[v] = free_s[device[v]];
        for (int k = p->arg_at[v]; k < p->arg_at[v + 1]; k++) {
            int t = p->arg[k], u = p->producer[t];

            if (u >= 0)
                start_s[v] = fmax(start_s[v], start_s[u] + weft_task_s(p, u, device[u]) +
                                                  weft_send_s(p, t, device[u], device[v]));
            else if (!p->is_weight[t] && p->host >= 0)
                start_s[v] = fmax(start_s[v], weft_send_s(p, t, p->host, device[v]));
        }
        free_s[device[v]] = start_s[v] + weft_task_s(p, v, device[v]);
    }
    c = checked_plan(p, device, start_s);
    weft_arena_free(a);
    return c;
}

TEST(earliest_plans_are_legal_and_nothing_in_them_can_start_earlier)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        checked c =
            random_plan(random_problem(seed, 1 + (int)(seed % 17), 1 + (int)(seed % 4)), seed);

        for (int u = 0; u < c.plan.n_tasks; u++) {
            c.plan.start_s[u] -= 0.25;
            check_again(&c);
            CHECK(c.n > 0);
            c.plan.start_s[u] += 0.25;
        }
        release(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_are_sorted_and_lists_follow),
        cmocka_unit_test(left_out_arrays_have_their_defaults),
        cmocka_unit_test(ties_keep_the_given_order),
        cmocka_unit_test(weights_are_never_sent_and_unconnected_devices_stay_so),
        cmocka_unit_test(pins_and_colours_move_with_their_tasks),
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
        cmocka_unit_test(a_task_file_with_everything),
        cmocka_unit_test(a_task_file_may_be_yaml_and_is_named_by_its_file),
        cmocka_unit_test(wrong_task_files_are_refused_with_file_and_line),
        cmocka_unit_test(a_dnn_partitioning_file),
        cmocka_unit_test(cpus_share_the_memory_of_the_host),
        cmocka_unit_test(wrong_dnn_partitioning_files_are_refused),
        cmocka_unit_test(the_public_workloads_read),
        cmocka_unit_test(the_optimal_plan_of_the_heft_example_is_legal),
        cmocka_unit_test(heft_plan_of_the_heft_example_is_legal),
        cmocka_unit_test(a_task_that_starts_earlier_is_told),
        cmocka_unit_test(a_task_on_another_device_is_told),
        cmocka_unit_test(overlaps_and_late_starts),
        cmocka_unit_test(slack_is_a_billionth_of_the_makespan),
        cmocka_unit_test(devices_that_are_no_devices_and_times_that_are_none),
        cmocka_unit_test(support_pins_and_colours),
        cmocka_unit_test(inputs_come_from_the_host_along_links),
        cmocka_unit_test(weights_must_fit_each_counted_once),
        cmocka_unit_test(breaches_beyond_the_list_are_counted),
        cmocka_unit_test(a_breach_is_one_line_whatever_the_names),
        cmocka_unit_test(earliest_plans_are_legal_and_nothing_in_them_can_start_earlier),
    };

    return RUN_TESTS(tests);
}
