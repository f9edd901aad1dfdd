/* SPDX-License-Identifier: MIT */
/* Reports of plans and platforms: exact texts of small plans, documents checked by what they must
 * say, and relations that hold for every plan. */
#define _POSIX_C_SOURCE 200809L /* open_memstream */
#include "check.h"
#include "graph_text.h"

#include <stdlib.h>

#include "fixtures.h"
#include "platform_text.h"
#include "report.h"

/* --- plans of tests -------------------------------------------------------------------------- */

static const weft_page_more brief = {.is_brief = true};

/* A problem with a plan and all that a report of it needs. */
typedef struct sample {
    weft_arena *a;
    weft_problem *p;
    weft_solution solution;
    weft_plan_origin origin;
    weft_report report;
} sample;

static void open_sample(sample *s, weft_problem *p)
{
    *s = (sample){.a = weft_arena_new(), .p = p};
    s->solution.plan = weft_plan_new(p->n_tasks, s->a);
    s->origin = (weft_plan_origin){.model = "net", .platform = "machine", .solver = "hand"};
    s->report = (weft_report){.problem = p, .origin = &s->origin, .best_single_s = NAN};
}

/* Simulates the plan; the proof says nothing but the value. */
static void evaluate(sample *s)
{
    weft_proof *proof = &s->solution.proof;

    CHECK_OK(weft_evaluate(s->p, &s->solution.plan, s->a, &s->solution.measures));
    proof->outcome = WEFT_BOUNDED;
    proof->value = weft_goal_value(s->p, &s->solution.measures);
    proof->gap = 1;
    s->report.solution = &s->solution;
}

static void set_bound(sample *s, double bound, const char *method)
{
    weft_proof *proof = &s->solution.proof;

    proof->bound = bound;
    proof->method = method;
    proof->gap = (proof->value - bound) / proof->value;
    proof->outcome = proof->gap > 0 ? WEFT_BOUNDED : WEFT_OPTIMAL;
}

static void close_sample(sample *s)
{
    weft_problem_free(s->p);
    weft_arena_free(s->a);
}

static weft_problem *problem_of(const char *json, weft_goal goal)
{
    weft_arena *a = weft_arena_new();
    const weft_doc *d = NULL;
    weft_problem *p = NULL;

    CHECK_OK(weft_doc_parse(json, strlen(json), "test", a, &d));
    CHECK_OK(weft_problem_parse(d, false, &(weft_constraints){.goal = goal}, &p));
    weft_arena_free(a);
    return p;
}

/* a takes 2 s on P1, b 3 s there, c 4 s on P2; c gets 1 unit from a, which takes 1 s:
 *   P1  a a b b b . .
 *   P2  . . . c c c c      7 s in all */
static void open_small(sample *s, weft_goal goal)
{
    open_sample(s, problem_of("{\"schema\": \"weft.tasks/1\", \"devices\": [\"P1\", \"P2\"],"
                              " \"tasks\": [{\"name\": \"a\", \"seconds\": [2, 3]},"
                              " {\"name\": \"b\", \"seconds\": [3, 3], \"memory\": 1000},"
                              " {\"name\": \"c\", \"seconds\": [5, 4]}],"
                              " \"edges\": [{\"from\": \"a\", \"to\": \"b\", \"amount\": 5},"
                              " {\"from\": \"a\", \"to\": \"c\", \"amount\": 1}],"
                              " \"capacity\": [4000, null]}",
                              goal));
    s->solution.plan.device[2] = 1;
    s->solution.plan.start_s[1] = 2;
    s->solution.plan.start_s[2] = 3;
    s->origin.platform = NULL;
    evaluate(s);
}

/* A random plan of a random problem; goals and transfer models take turns. */
static void open_random(sample *s, uint64_t seed, int n_tasks, int n_devices)
{
    weft_rng r = weft_rng_seed(seed + 1000);
    weft_problem *p = random_problem(seed, n_tasks, n_devices);

    p->transfer = (weft_transfer)(seed / 2 % 3);
    p->constraints.goal = seed % 2 ? WEFT_LATENCY : WEFT_THROUGHPUT;
    open_sample(s, p);
    for (int u = 0; u < n_tasks; u++) {
        int *d = &s->solution.plan.device[u];

        do
            *d = weft_rng_below(&r, n_devices);
        while (!isfinite(weft_task_s(p, u, *d)));
        s->solution.plan.start_s[u] = u; /* an order that agrees with the dependences */
    }
    evaluate(s);
}

/* --- texts ----------------------------------------------------------------------------------- */

/* What was written; the caller frees it. */
static char *plan_text(const sample *s, int width)
{
    char *text = NULL;
    size_t n = 0;
    FILE *to = open_memstream(&text, &n);

    weft_write_text(weft_place_facts(&s->report, &brief, s->a), false, width, to);
    fclose(to);
    return text;
}

static char *dot_text(const sample *s)
{
    char *text = NULL;
    size_t n = 0;
    FILE *to = open_memstream(&text, &n);

    weft_report_dot(&s->report, to);
    fclose(to);
    return text;
}

/* Characters of the longest line; bytes that continue a UTF-8 character do not count. */
static int longest_line(const char *text)
{
    int longest = 0, n = 0;

    for (; *text; text++) {
        n = *text == '\n' ? 0 : n + (((unsigned char)*text & 0xc0) != 0x80);
        longest = n > longest ? n : longest;
    }
    return longest;
}

static int count(const char *text, const char *part)
{
    int n = 0;

    for (const char *at = text; (at = strstr(at, part)) != NULL; at += strlen(part))
        n++;
    return n;
}

#define CHECK_HAS(text, part)                                                                      \
    do {                                                                                           \
        if (strstr(text, part) == NULL)                                                            \
            fail_msg("'%s' is not in:\n%s", part, text);                                           \
    } while (0)

/* --- text of plans --------------------------------------------------------------------------- */

TEST(a_small_plan_is_told_in_full)
{
    sample s;
    char *text;

    open_small(&s, WEFT_LATENCY);
    set_bound(&s, 6, "path"); /* (7 - 6) / 7 = 14.3 % */
    s.report.best_single_s = 2 + 3 + 5;
    s.report.best_single = "P1"; /* 10 / 7 = 1.43; 10 / 6 = 1.67 */
    text = plan_text(&s, 60);
    /* the chart has 60 - 2 - 9 - 3 = 46 slices of 7 / 46 s: P1 until 5 s = 32.86 slices, P2 and
     * the transfer's end at 3 s = 19.71 slices, its start at 2 s = 13.14 slices */
    CHECK_TEXT(text, "net, lowest latency, solver hand\n"
                     "\n"
                     "  latency       7 s, the best possible is at most 14.3 %\n"
                     "                lower\n"
                     "  bound         6 s, no plan is below it (path)\n"
                     "  gap           14.3 %, between the value and the bound\n"
                     "  speed-up      1.43x, over the best single device (P1:\n"
                     "                10 s); at most 1.67x is possible\n"
                     "  sent          1 unit, 1 transfer\n"
                     "\n"
                     "Devices. Shares are of the latency.\n"
                     "  device  tasks  busy  utilised  peak memory  capacity\n"
                     "  P1          2   5 s    71.4 %      1.00 kB   4.00 kB\n"
                     "  P2          1   4 s    57.1 %          0 B         -\n"
                     "\n"
                     "why it takes 7 s: 6 s computing, 1 s sending\n"
                     "           2 s  a on P1\n"
                     "           1 s  result of a from P1 to P2, 1 unit\n"
                     "           4 s  c on P2\n"
                     "\n"
                     "busy: # over half, + less, . idle; one mark is 152.2 ms\n"
                     "  P1        |#################################.............|\n"
                     "  P2        |...................+##########################|\n"
                     "  transfers |.............#######..........................|\n"
                     "             0 s                                        7 s\n"
                     "\n"
                     "memory, in tenths of what there is (9: 90 % or more)\n"
                     "  P1        |222222222222222222222222222| 1.00 kB of 4.00 kB\n");
    free(text);
    close_sample(&s);
}

/* A network of tasks on a platform, both in one-line notation. */
static weft_problem *network(const char *tasks, const char *machine, weft_goal goal)
{
    weft_graph *g = NULL;
    weft_platform *platform = NULL;
    weft_costs *c = NULL;
    weft_problem *p = NULL;

    CHECK_OK(weft_graph_parse(tasks, &g));
    CHECK_OK(weft_platform_notation(machine, &platform));
    CHECK_OK(weft_costs_new(g, platform, &c));
    CHECK_OK(weft_problem_new(g, c, platform, &(weft_constraints){.goal = goal}, &p));
    weft_costs_free(c);
    weft_platform_free(platform);
    weft_graph_free(g);
    return p;
}

TEST(throughput_names_what_limits_it)
{
    sample s;
    char *text;

    /* 8 bytes take 1 s, in which cpu0 and cpu1 do nothing else: loads are 2 + 1 and 4 + 1 s */
    open_sample(&s, network("a:2 b:4; a>b:8", "2*cpu; *:8 @block", WEFT_THROUGHPUT));
    s.solution.plan.device[1] = 1;
    s.solution.plan.start_s[1] = 3;
    evaluate(&s);
    set_bound(&s, 5, "load");
    text = plan_text(&s, 0);
    CHECK_HAS(text, "net on machine, highest throughput, solver hand\n");
    CHECK_HAS(text, "  time per item  5 s, proved optimal\n");
    CHECK_HAS(text,
              "  throughput     0.2 items/s, limited by cpu1: 4 s computing and 1 s sending and\n"
              "                 receiving an item\n");
    CHECK_HAS(text, "  latency        7 s, one item alone\n");
    CHECK_HAS(text, "  bound          5 s, no plan is below it (load)\n");
    CHECK_HAS(text, "  speed-up       -, no single device can run all tasks\n");
    CHECK_HAS(text, "  sent           8 B, 1 transfer\n");
    CHECK_HAS(text, "why one item takes 7 s: 6 s computing, 1 s sending\n");
    free(text);
    close_sample(&s);
}

TEST(slower_than_a_single_device_is_no_speed_up)
{
    sample s;
    char *text;

    open_small(&s, WEFT_LATENCY);
    s.report.best_single_s = 6.5;
    s.report.best_single = "P2";
    text = plan_text(&s, 0);
    CHECK_HAS(text, "  speed-up      none, the best single device (P2: 6.5 s)\n");
    CHECK_HAS(text, "  latency       7 s, no bound is known\n");
    free(text);
    close_sample(&s);
}

TEST(energy_is_shown_where_it_is_known)
{
    const double seconds[] = {1, 1}, joules[] = {2, 3}, none[] = {0, 0}, idle_w[] = {4, 8};
    const char *const task[] = {"a"}, *const device[] = {"x", "y"};
    const int reader_at[] = {0};
    weft_problem_spec spec = {.name = "n",
                              .n_tasks = 1,
                              .n_devices = 2,
                              .task_name = task,
                              .device_name = device,
                              .seconds = seconds,
                              .joules = joules,
                              .reader_at = reader_at,
                              .idle_w = idle_w,
                              .host = -1};
    /* 2 J of work, and y idles 1 s at 8 W */
    const char *const expected[] = {"energy        10 J, of which 8 J idle\n",
                                    "energy        8 J, of idle devices; dynamic energy"};

    for (int i = 0; i < 2; i++) {
        weft_problem *p = NULL;
        sample s;
        char *text;

        spec.joules = i == 0 ? joules : none;
        CHECK_OK(weft_problem_make(&spec, &p));
        open_sample(&s, p);
        evaluate(&s);
        text = plan_text(&s, 0);
        CHECK_HAS(text, expected[i]);
        free(text);
        close_sample(&s);
    }
}

TEST(one_device_sends_nothing)
{
    sample s;
    char *text;

    open_sample(&s, network("a:1 b:1; a>b:8", "cpu", WEFT_LATENCY));
    s.solution.plan.start_s[1] = 1;
    evaluate(&s);
    s.report.best_single_s = 2;
    s.report.best_single = "cpu";
    text = plan_text(&s, 0);
    CHECK_HAS(text, "  sent          nothing\n");
    CHECK_HAS(text, "           2 s  2 tasks on cpu: a .. b\n");
    CHECK_INT(count(text, "transfers"), 0);
    CHECK_INT(count(text, "speed-up"), 0); /* there is nothing to compare with */
    free(text);
    close_sample(&s);
}

TEST(a_plan_without_length_is_no_division_by_zero)
{
    sample s;
    char *text;

    for (int goal = WEFT_LATENCY; goal <= WEFT_THROUGHPUT; goal++) {
        open_sample(&s, network("a:0", "cpu", (weft_goal)goal));
        evaluate(&s);
        s.solution.proof.outcome = WEFT_OPTIMAL;
        text = plan_text(&s, 0);
        CHECK_HAS(text, goal == WEFT_LATENCY ? "  latency       0 s" : "  latency        0 s");
        CHECK_INT(count(text, "nan") + count(text, "inf"), 0);
        CHECK_INT(count(text, "|"), 0);
        CHECK(weft_doc_get(weft_measures_doc(s.p, &s.solution.measures, s.a), "per_second")->kind ==
              WEFT_DOC_NULL);
        free(text);
        close_sample(&s);
    }
}

TEST(without_a_plan_the_report_says_so)
{
    sample s;
    char *text;

    open_sample(&s, network("a:1", "cpu", WEFT_LATENCY));
    s.solution = (weft_solution){.measures.over_device = -1};
    s.report.solution = &s.solution;
    s.solution.proof.outcome = WEFT_INFEASIBLE;
    text = plan_text(&s, 0);
    CHECK_HAS(text, "  There is no plan: this is proved.\n");
    free(text);
    s.solution.proof.outcome = WEFT_UNKNOWN;
    text = plan_text(&s, 0);
    CHECK_HAS(text, "  No plan was found; whether there is one is not known.\n");
    free(text);
    text = dot_text(&s);
    CHECK_HAS(text, "t0 [fillcolor=\"#ffffff\"");
    free(text);
    CHECK(weft_measures_doc(s.p, &s.solution.measures, s.a)->kind == WEFT_DOC_NULL);
    CHECK_INT(
        weft_doc_get(weft_write_trace(weft_place_facts(&s.report, &brief, s.a), s.a), "traceEvents")
            ->n,
        0);
    close_sample(&s);
}

TEST(too_much_memory_is_named)
{
    sample s;
    char *text;

    /* b holds 1000 + its own 3000 bytes of 2000 */
    open_sample(&s, problem_of("{\"schema\": \"weft.tasks/1\", \"devices\": [\"P1\"],"
                               " \"tasks\": [{\"name\": \"a\", \"seconds\": [1], \"memory\": 1000},"
                               " {\"name\": \"b\", \"seconds\": [1], \"memory\": 3000}],"
                               " \"edges\": [], \"capacity\": [2000]}",
                               WEFT_LATENCY));
    s.solution.plan.start_s[1] = 1;
    evaluate(&s);
    text = plan_text(&s, 0);
    CHECK_HAS(text, "This plan is not legal: it needs 4.00 kB on P1, which has 2.00 kB.\n");
    free(text);
    close_sample(&s);
}

/* Two devices in turn: a chain of n tasks, with a transfer between any two. */
static void open_zigzag(sample *s, int n, const char *name)
{
    weft_arena *a = weft_arena_new();
    const char **task = WEFT_NEW(a, const char *, n);
    double *seconds = WEFT_NEW(a, double, 2 * n), *amount = WEFT_NEW(a, double, n);
    int *producer = WEFT_NEW(a, int, n), *reader_at = WEFT_NEW(a, int, n + 1);
    int *reader = WEFT_NEW(a, int, n);
    const char *device[] = {weft_arena_print(a, "%s-left", name),
                            weft_arena_print(a, "%s-right", name)};
    weft_problem_spec spec = {.name = name,
                              .n_tasks = n,
                              .n_devices = 2,
                              .n_tensors = n - 1,
                              .task_name = task,
                              .device_name = device,
                              .seconds = seconds,
                              .amount = amount,
                              .producer = producer,
                              .reader_at = reader_at,
                              .reader = reader,
                              .host = -1};
    weft_problem *p = NULL;

    for (int u = 0; u < n; u++) {
        task[u] = weft_arena_print(a, "%s/%d", name, u);
        seconds[2 * u] = seconds[2 * u + 1] = 1e-3 * (1 + u % 7);
        amount[u] = 1e-4;
        producer[u] = u;
        reader[u] = u + 1;
        reader_at[u] = u;
    }
    CHECK_OK(weft_problem_make(&spec, &p));
    open_sample(s, p);
    for (int u = 0; u < n; u++) {
        s->solution.plan.device[u] = u % 2;
        s->solution.plan.start_s[u] = u;
    }
    evaluate(s);
    weft_arena_free(a);
}

TEST(long_chains_are_cut_to_their_longest_steps)
{
    sample s;
    char *text;

    open_zigzag(&s, 20, "n"); /* 20 tasks and 19 transfers are 39 steps, 12 are shown */
    text = plan_text(&s, 0);
    CHECK_INT(count(text, "n/"), 12);
    /* tasks of 1 .. 7 ms in turn: 2 (1 + .. + 7) + 1 + .. + 6 = 77 ms, and 19 transfers of 0.1 ms;
     * the longest 12 take 7 + 7 + 6 + 6 + 6 + 5 + 5 + 5 + 4 + 4 + 4 + 3 = 62 ms */
    CHECK_HAS(text,
              "\n       16.9 ms  in 27 shorter steps between them\n"); /* 77 - 62 + 19 * 0.1 */
    CHECK_HAS(text, "why it takes 78.9 ms: 77 ms computing, 1.9 ms sending\n");
    free(text);
    close_sample(&s);
}

TEST(no_line_is_wider_than_asked)
{
    char name[400];
    sample s;

    for (int kind = 0; kind < 3; kind++) {
        for (size_t i = 0; i + 1 < sizeof name; i++)
            name[i] = "a\xc3 "[kind];
        if (kind == 1)
            for (size_t i = 1; i + 1 < sizeof name; i += 2)
                name[i] = '\xa4'; /* a-umlaut, two bytes */
        name[sizeof name - 1 - (kind == 1)] = '\0';
        open_zigzag(&s, 30, name);
        s.origin.model = s.origin.platform = s.origin.solver = name;
        set_bound(&s, 0.1, name);
        s.report.best_single_s = 1234567.8;
        s.report.best_single = name;
        for (int width = 60; width <= 140; width += 16) {
            char *text = plan_text(&s, width);
            CHECK(longest_line(text) <= width);
            CHECK(strstr(text, "|") != NULL);
            free(text);
        }
        close_sample(&s);
    }
}

TEST(control_characters_do_not_reach_the_terminal)
{
    sample s;
    char *text;

    open_zigzag(&s, 4, "x\033[2Jy\r\n\tz\x7f");
    s.origin.model = "evil\033]0;name\a";
    text = plan_text(&s, 0);
    for (const char *c = text; *c; c++)
        CHECK(*c == '\n' || ((unsigned char)*c >= ' ' && *c != 0x7f));
    CHECK_HAS(text, "x?[2Jy???z?");
    free(text);
    text = dot_text(&s);
    for (const char *c = text; *c; c++)
        CHECK(*c == '\n' || ((unsigned char)*c >= ' ' && *c != 0x7f));
    free(text);
    close_sample(&s);
}

TEST(of_many_devices_those_with_work_are_shown)
{
    sample s;
    char *text;

    open_sample(&s, network("a:1 b:1; a>b:8", "40*cpu; *:8", WEFT_LATENCY));
    s.solution.plan.device[0] = 7;
    s.solution.plan.device[1] = 39;
    s.solution.plan.start_s[1] = 2;
    evaluate(&s);
    text = plan_text(&s, 0);
    CHECK_HAS(text, "38 devices not used: cpu0, cpu1, "); /* which may be broken behind this */
    CHECK_HAS(text, "38 devices without work\n");
    CHECK_INT(count(text, "\n  cpu7 ") + count(text, "\n  cpu39 "), 4); /* in table and chart */
    CHECK_INT(count(text, "\n  cpu"), 4);
    free(text);
    close_sample(&s);
}

TEST(ten_thousand_tasks_are_told_quickly)
{
    sample s;
    char *text;

    open_zigzag(&s, 10000, "layer");
    text = plan_text(&s, 0);
    CHECK(count(text, "\n") < 40);
    free(text);
    text = dot_text(&s);
    CHECK_INT(count(text, " -> "), 9999);
    free(text);
    /* 2 devices: 3 names each; links: 1 + 2 of the process, a thread each way; 10,000 tasks, 9,999
     * transfers with 2 arrows of 2 ends; memory has at least the first sample */
    CHECK(
        weft_doc_get(weft_write_trace(weft_place_facts(&s.report, &brief, s.a), s.a), "traceEvents")
            ->n > 19999 + 4 * 9999);
    CHECK_INT(weft_doc_get(weft_measures_doc(s.p, &s.solution.measures, s.a), "chain")->n, 19999);
    close_sample(&s);
}

/* --- measures -------------------------------------------------------------------------------- */

static double real_of(const weft_doc *map, const char *key)
{
    double value = NAN;

    CHECK_OK(weft_doc_real(map, key, -INFINITY, INFINITY, &value));
    return value;
}

static const char *text_of(const weft_doc *map, const char *key)
{
    const char *value = NULL;

    CHECK_OK(weft_doc_text(map, key, &value));
    return value;
}

TEST(measures_have_their_fields)
{
    sample s;

    /* busy: 2 + 3 and 4 s of 7; the largest load is 5 s, so 0.2 items a second; weight of b 1000 B;
     * numbers are powers of two or have 17 digits: 5/7, 4/7 */
    open_small(&s, WEFT_LATENCY);
    CHECK_TEXT(
        weft_doc_json(weft_measures_doc(s.p, &s.solution.measures, s.a), 0, s.a),
        "{\"value\":7.0,\"unit\":\"s\",\"per_second\":0.20000000000000001,\"makespan_s\":7.0,"
        "\"period_s\":5.0,\"energy_j\":null,\"idle_j\":0.0,\"sent_bytes\":1.0,\"transfers\":1,"
        "\"bottleneck\":\"P1\",\"devices\":[{\"name\":\"P1\",\"busy_s\":5.0,\"load_s\":5.0,"
        "\"utilisation\":0.7142857142857143,\"peak_bytes\":1000.0,\"capacity_bytes\":4000.0},"
        "{\"name\":\"P2\",\"busy_s\":4.0,\"load_s\":4.0,\"utilisation\":0.5714285714285714,"
        "\"peak_bytes\":0.0,\"capacity_bytes\":null}],"
        "\"links\":[{\"name\":\"P1>P2\",\"seconds\":1.0}],"
        "\"chain\":[{\"kind\":\"compute\",\"task\":\"a\",\"device\":\"P1\",\"start_s\":0.0,"
        "\"end_s\":2.0},{\"kind\":\"transfer\",\"tensor\":\"a:1\",\"from\":\"P1\",\"to\":\"P2\","
        "\"start_s\":2.0,\"end_s\":3.0},{\"kind\":\"compute\",\"task\":\"c\",\"device\":\"P2\","
        "\"start_s\":3.0,\"end_s\":7.0}]}");
    close_sample(&s);
}

TEST(measures_of_throughput_count_seconds_an_item)
{
    sample s;
    const weft_doc *d;

    open_small(&s, WEFT_THROUGHPUT);
    d = weft_measures_doc(s.p, &s.solution.measures, s.a);
    CHECK_TEXT(text_of(d, "unit"), "s/item");
    CHECK_NEAR(real_of(d, "value"), 5.0);
    CHECK_NEAR(real_of(d, "makespan_s"), 7.0);
    CHECK_NEAR(real_of(weft_doc_get(d, "devices")->item[1], "utilisation"), 4.0 / 5);
    close_sample(&s);
}

static void check_measures(const weft_doc *d, const sample *s)
{
    const weft_doc *chain = weft_doc_get(d, "chain"), *links = weft_doc_get(d, "links");
    double at_s = 0;

    for (int i = 0; i < chain->n; i++) {
        CHECK_NEAR(real_of(chain->item[i], "start_s"), at_s);
        at_s = real_of(chain->item[i], "end_s");
    }
    CHECK_NEAR(at_s, s->solution.measures.makespan_s);
    for (int i = 0; i < links->n; i++)
        CHECK(real_of(links->item[i], "seconds") > 0);
    CHECK_INT(weft_doc_get(d, "devices")->n, s->p->n_devices);
}

TEST(measures_add_up_and_are_the_same_again)
{
    for (uint64_t seed = 1; seed <= 100; seed++) {
        weft_measures again;
        weft_doc *d;
        sample s;

        open_random(&s, seed, 12, 3);
        d = weft_measures_doc(s.p, &s.solution.measures, s.a);
        check_measures(d, &s);
        CHECK_OK(weft_evaluate(s.p, &s.solution.plan, s.a, &again));
        CHECK_TEXT(weft_doc_json(weft_measures_doc(s.p, &again, s.a), 0, s.a),
                   weft_doc_json(d, 0, s.a));
        close_sample(&s);
    }
}

/* --- trace ----------------------------------------------------------------------------------- */

static bool is_phase(const weft_doc *event, const char *phase)
{
    return strcmp(text_of(event, "ph"), phase) == 0;
}

static int int_of(const weft_doc *map, const char *key)
{
    int64_t value = -1;

    CHECK_OK(weft_doc_int(map, key, 0, INT32_MAX, &value));
    return (int)value;
}

static bool is_same_row(const weft_doc *x, const weft_doc *y)
{
    return int_of(x, "pid") == int_of(y, "pid") && int_of(x, "tid") == int_of(y, "tid");
}

/* The number of "M" events of that name for the row (or process) of an event. */
static int names_of(const weft_doc *events, const weft_doc *e, const char *what)
{
    bool is_thread = strcmp(what, "thread_name") == 0;
    int n = 0;

    for (int i = 0; i < events->n; i++) {
        const weft_doc *m = events->item[i];
        n += is_phase(m, "M") && strcmp(text_of(m, "name"), what) == 0 &&
             (is_thread ? is_same_row(m, e) : int_of(m, "pid") == int_of(e, "pid"));
    }
    return n;
}

/* Spans of a row lie after each other; only those without length may touch others. */
static void check_spans(const weft_doc *events, const weft_doc *e)
{
    double start = real_of(e, "ts"), end = start + real_of(e, "dur");

    CHECK_INT(names_of(events, e, "process_name"), 1);
    CHECK_INT(names_of(events, e, "thread_name"), 1);
    CHECK(end >= start);
    for (int i = 0; i < events->n && end > start; i++) {
        const weft_doc *o = events->item[i];
        if (o == e || !is_phase(o, "X") || !is_same_row(o, e) || !(real_of(o, "dur") > 0))
            continue;
        CHECK(real_of(o, "ts") >= end || real_of(o, "ts") + real_of(o, "dur") <= start);
    }
}

/* An end of an arrow lies at the start of an event of its row. */
static bool is_at_span(const weft_doc *events, const weft_doc *e)
{
    for (int i = 0; i < events->n; i++) {
        const weft_doc *x = events->item[i];
        if (is_phase(x, "X") && is_same_row(x, e) && real_of(x, "ts") == real_of(e, "ts"))
            return true;
    }
    return false;
}

static void check_arrow(const weft_doc *events, const weft_doc *e)
{
    int n = 0;

    CHECK(is_at_span(events, e));
    for (int i = 0; i < events->n; i++) {
        const weft_doc *f = events->item[i];
        if (!is_phase(f, "f") || int_of(f, "id") != int_of(e, "id"))
            continue;
        CHECK(is_at_span(events, f));
        CHECK(real_of(f, "ts") >= real_of(e, "ts"));
        n++;
    }
    CHECK_INT(n, 1);
}

static void check_trace(const sample *s, const weft_doc *events)
{
    const weft_measures *m = &s->solution.measures;
    double busy_us[8] = {0}, link_us = 0, link_s = 0;
    int n_tasks = 0, n_starts = 0, n_ends = 0;

    for (int i = 0; i < events->n; i++) {
        const weft_doc *e = events->item[i];
        int device = int_of(e, "pid") - 1;

        n_starts += is_phase(e, "s");
        n_ends += is_phase(e, "f");
        if (is_phase(e, "s"))
            check_arrow(events, e);
        if (!is_phase(e, "X"))
            continue;
        check_spans(events, e);
        n_tasks += device < s->p->n_devices;
        if (device < s->p->n_devices)
            busy_us[device] += real_of(e, "dur");
        else
            link_us += real_of(e, "dur");
    }
    CHECK_INT(n_tasks, s->p->n_tasks);
    CHECK_INT(n_starts, n_ends);
    for (int d = 0; d < s->p->n_devices; d++)
        CHECK_NEAR(busy_us[d], 1e6 * m->busy_s[d]);
    for (int k = 0; k < s->p->n_links; k++) /* each pair of devices has a link of its own */
        link_s += m->link_s[k];
    CHECK_NEAR(link_us, 1e6 * link_s);
}

TEST(traces_are_whole)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        sample s;
        const weft_doc *again = NULL;
        weft_doc *d;
        const char *json;

        open_random(&s, seed, 10, 3);
        d = weft_write_trace(weft_place_facts(&s.report, &brief, s.a), s.a);
        CHECK_TEXT(text_of(d, "displayTimeUnit"), "ms");
        check_trace(&s, weft_doc_get(d, "traceEvents"));
        json = weft_doc_json(d, 0, s.a);
        CHECK_OK(weft_doc_parse(json, strlen(json), "trace", s.a, &again));
        close_sample(&s);
    }
}

TEST(transfers_side_by_side_have_threads_of_their_own)
{
    sample s;
    const weft_doc *events;
    int n = 0;

    /* a sends three tensors at once */
    open_sample(&s, network("a:1 b:1 c:1 d:1; a>b:8 a>c:8 a>d:8", "2*cpu; *:8", WEFT_LATENCY));
    for (int u = 1; u < 4; u++) {
        s.solution.plan.device[u] = 1;
        s.solution.plan.start_s[u] = 1 + u;
    }
    evaluate(&s);
    events = weft_doc_get(weft_write_trace(weft_place_facts(&s.report, &brief, s.a), s.a),
                          "traceEvents");
    for (int i = 0; i < events->n; i++)
        if (is_phase(events->item[i], "M") &&
            strcmp(text_of(events->item[i], "name"), "thread_name") == 0)
            n += strncmp(text_of(weft_doc_get(events->item[i], "args"), "name"), "cpu0>cpu1", 9) ==
                 0;
    CHECK_INT(n, 3);
    check_trace(&s, events);
    close_sample(&s);
}

TEST(a_transfer_over_two_links_is_on_both)
{
    sample s;
    const weft_doc *events;
    int n = 0;

    open_sample(&s, network("a:1 b:1; a>b:8", "x y z; x-y:8 y-z:8 @contend host=y", WEFT_LATENCY));
    s.solution.plan.device[1] = 2;
    s.solution.plan.start_s[1] = 2;
    evaluate(&s);
    events = weft_doc_get(weft_write_trace(weft_place_facts(&s.report, &brief, s.a), s.a),
                          "traceEvents");
    for (int i = 0; i < events->n; i++)
        n += is_phase(events->item[i], "X") && int_of(events->item[i], "pid") == 4;
    CHECK_INT(n, 2);
    check_trace(&s, events);
    close_sample(&s);
}

/* --- Graphviz -------------------------------------------------------------------------------- */

/* Quotes pair up, and what is outside of them has no names of the user. */
static void check_dot(const char *text)
{
    bool is_quoted = false;
    int depth = 0;

    for (const char *c = text; *c; c++) {
        if (is_quoted && *c == '\\')
            c++;
        else if (*c == '"')
            is_quoted = !is_quoted;
        else if (!is_quoted)
            depth += (*c == '{') - (*c == '}');
        CHECK(*c != '\0' && depth >= 0);
        CHECK(is_quoted || strchr("{};[]=-> \n\"_", *c) != NULL || (*c >= '0' && *c <= '9') ||
              (*c >= 'a' && *c <= 'z'));
    }
    CHECK(!is_quoted && depth == 0);
}

TEST(graphs_are_drawn)
{
    sample s;
    char *text;

    open_small(&s, WEFT_LATENCY);
    text = dot_text(&s);
    check_dot(text);
    CHECK_HAS(text,
              "  t0 [fillcolor=\"#2b7bba\" fontcolor=\"#ffffff\" label=\"a\\nTask, 2 s\"];\n");
    CHECK_HAS(text,
              "  t2 [fillcolor=\"#e69f00\" fontcolor=\"#10141a\" label=\"c\\nTask, 4 s\"];\n");
    CHECK_HAS(text, "  t0 -> t1;\n");
    CHECK_HAS(text, "  t0 -> t2 [style=bold label=\"1\"];\n");
    CHECK_HAS(text, "    d1 [fillcolor=\"#e69f00\" fontcolor=\"#10141a\" label=\"P2\"];\n");
    free(text);
    close_sample(&s);
}

TEST(names_are_quoted)
{
    const char *const names[] = {"\"", "\\", "a\\\"b", "x\ny", "{<|>}", "\\n"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        sample s;
        char *text;

        open_zigzag(&s, 3, names[i]);
        text = dot_text(&s);
        check_dot(text);
        CHECK_INT(count(text, " -> "), 2);
        free(text);
        close_sample(&s);
    }
}

TEST(random_graphs_have_all_edges)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        sample s;
        char *text;
        int n_inputs;

        open_random(&s, seed, 14, 3);
        n_inputs = 0;
        for (int t = 0; t < s.p->n_tensors; t++)
            if (s.p->producer[t] < 0 && !s.p->is_weight[t])
                n_inputs += s.p->reader_at[t + 1] - s.p->reader_at[t];
        text = dot_text(&s);
        check_dot(text);
        CHECK_INT(count(text, " -> "), s.p->succ_at[s.p->n_tasks] + n_inputs);
        CHECK_INT(count(text, "label=\"T"), s.p->n_tasks);
        free(text);
        close_sample(&s);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_small_plan_is_told_in_full),
    cmocka_unit_test(throughput_names_what_limits_it),
    cmocka_unit_test(slower_than_a_single_device_is_no_speed_up),
    cmocka_unit_test(energy_is_shown_where_it_is_known),
    cmocka_unit_test(one_device_sends_nothing),
    cmocka_unit_test(a_plan_without_length_is_no_division_by_zero),
    cmocka_unit_test(without_a_plan_the_report_says_so),
    cmocka_unit_test(too_much_memory_is_named),
    cmocka_unit_test(long_chains_are_cut_to_their_longest_steps),
    cmocka_unit_test(no_line_is_wider_than_asked),
    cmocka_unit_test(control_characters_do_not_reach_the_terminal),
    cmocka_unit_test(of_many_devices_those_with_work_are_shown),
    cmocka_unit_test(ten_thousand_tasks_are_told_quickly),
    cmocka_unit_test(measures_have_their_fields),
    cmocka_unit_test(measures_of_throughput_count_seconds_an_item),
    cmocka_unit_test(measures_add_up_and_are_the_same_again),
    cmocka_unit_test(traces_are_whole),
    cmocka_unit_test(transfers_side_by_side_have_threads_of_their_own),
    cmocka_unit_test(a_transfer_over_two_links_is_on_both),
    cmocka_unit_test(graphs_are_drawn),
    cmocka_unit_test(names_are_quoted),
    cmocka_unit_test(random_graphs_have_all_edges),
};

int main(void)
{
    return RUN_TESTS(tests);
}
