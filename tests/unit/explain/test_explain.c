/* SPDX-License-Identifier: MIT */
/* Upgrades as edited documents, and plans whose costs are in doubt. What upgrades are worth is
 * tested with the program (tests/golden/explain_*, tests/explain_edited). */
#include "check.h"
#include "fixtures.h"
#include "kind.h"
#include "sensitivity.h"

enum { ALL = (1 << WEFT_N_UPGRADES) - 1 };

/* --- upgrades -------------------------------------------------------------------------------- */

typedef struct machine {
    weft_arena *a;
    const weft_doc *doc;
    const weft_upgrade *list;
    int n;
} machine;

static machine read_machine(const char *text, unsigned kinds)
{
    machine m = {.a = weft_arena_new()};

    CHECK_OK(weft_doc_parse(text, strlen(text), "machine.yaml", m.a, &m.doc));
    CHECK_OK(weft_upgrades_of(m.doc, kinds, m.a, &m.list, &m.n));
    return m;
}

static const weft_upgrade *find(const machine *m, const char *name)
{
    for (int i = 0; i < m->n; i++)
        if (strcmp(m->list[i].name, name) == 0)
            return &m->list[i];
    fail_msg("no upgrade '%s'", name);
    return NULL;
}

static weft_platform *read_upgrade(const machine *m, const char *name)
{
    const weft_upgrade *u = find(m, name);
    const char *text = weft_doc_json(u->document, 1, m->a);
    weft_platform *p = NULL;

    CHECK_OK(weft_platform_parse(text, strlen(text), "upgraded.json", &p));
    return p;
}

static const char servers[] =
    "schema: weft.platform/1\n"
    "name: servers\n"
    "host: front\n"
    "switches: [network]\n"
    "devices:\n"
    "  - {name: front, model: roofline, peak_flops: 2e12, memory_bandwidth: 140.8GB/s}\n"
    "groups:\n"
    "  - name: server\n"
    "    count: 2\n"
    "    devices:\n"
    "      - {name: gpu, count: 3, model: roofline, peak_flops: 10TFLOP/s,\n"
    "         memory_bandwidth: 900GB/s, memory: 16GiB, overhead: 5us}\n"
    "      - {name: npu, model: systolic, rows: 8, cols: 8, clock: 700MHz,\n"
    "         memory_bandwidth: 50GB/s}\n"
    "    switches: [bus]\n"
    "    links:\n"
    "      - {all: [gpu], bandwidth: 50GB/s, latency: 2us}\n"
    "      - {star: {center: bus, to: [gpu, npu]}, bandwidth: 12GB/s}\n"
    "links:\n"
    "  - {star: {center: network, to: [server.bus, front]}, bandwidth: 25Gbit/s, latency: 10us}\n"
    "  - {between: [server-0.npu, server-1.npu], bandwidth: 1GB/s}\n"
    "  - {between: [server0.gpu2, front], bandwidth: 3GB/s}\n";

/* 5 link entries, 3 device entries with rates, 1 with memory, 3 entries and a group to be copied.
 */
TEST(every_entry_has_its_upgrades)
{
    machine m = read_machine(servers, ALL);

    CHECK_INT(m.n, 5 + 3 + 1 + 4);
    CHECK_TEXT(find(&m, "speed-server.gpu")->what, "twice the speed of server.gpu (6 devices)");
    CHECK_TEXT(find(&m, "speed-server.gpu")->edit,
               "peak_flops 10TFLOP/s -> 20TFLOP/s, memory_bandwidth 900GB/s -> 1800GB/s");
    CHECK_TEXT(find(&m, "speed-server.npu")->edit,
               "memory_bandwidth 50GB/s -> 100GB/s, clock 700MHz -> 1400MHz");
    CHECK_TEXT(find(&m, "memory-server.gpu")->edit, "memory 16GiB -> 32GiB");
    CHECK_TEXT(find(&m, "link-network-server.bus-front")->edit, "bandwidth 25Gbit/s -> 50Gbit/s");
    CHECK_TEXT(find(&m, "link-server.all-of-gpu")->what,
               "twice the bandwidth of all of gpu inside server (2 of them)");
    weft_arena_free(m.a);
}

static const weft_device *device_of(const weft_platform *p, const char *name)
{
    for (int i = 0; i < p->n_devices; i++)
        if (strcmp(p->device[i].name, name) == 0)
            return &p->device[i];
    fail_msg("no device '%s'", name);
    return NULL;
}

static double bandwidth(const weft_platform *p, const char *from, const char *to)
{
    int a = (int)(device_of(p, from) - p->device), b = (int)(device_of(p, to) - p->device);

    return weft_platform_route(p, a, b)->bytes_per_s;
}

TEST(rates_double_and_nothing_else)
{
    machine m = read_machine(servers, ALL);
    weft_platform *p = read_upgrade(&m, "speed-server.gpu");
    const weft_design *d = device_of(p, "server-1.gpu-2")->design;

    CHECK_NEAR(d->value[WEFT_P_FLOPS], 20e12);
    CHECK_NEAR(d->value[WEFT_P_BANDWIDTH], 1800e9);
    CHECK_NEAR(d->value[WEFT_P_OVERHEAD], 5e-6);
    CHECK_NEAR(device_of(p, "front")->design->value[WEFT_P_FLOPS], 2e12);
    CHECK_INT(p->n_devices, 1 + 2 * 4);
    weft_platform_free(p);
    weft_arena_free(m.a);
}

/* What the copy of a device has: the links that stand for all of its kind, and those of the one
 * that was copied. */
TEST(copies_have_the_links_of_the_original)
{
    machine m = read_machine(servers, ALL);
    weft_platform *p = read_upgrade(&m, "device-server.gpu");

    CHECK_INT(p->n_devices, 1 + 2 * 5);
    CHECK_NEAR(bandwidth(p, "server-0.gpu-3", "server-0.gpu-0"), 50e9);
    CHECK_NEAR(bandwidth(p, "server-0.gpu-3", "front"), 3e9); /* as server-0.gpu-2 */
    CHECK_NEAR(bandwidth(p, "server-1.gpu-3", "server-1.npu"), 12e9);
    weft_platform_free(p);
    p = read_upgrade(&m, "device-server.npu");
    CHECK_INT(p->n_devices, 1 + 2 * 5);
    CHECK_NEAR(bandwidth(p, "server-0.npu-2", "server-0.gpu-0"), 12e9);
    CHECK_NEAR(bandwidth(p, "server-0.npu-2", "server-1.npu-2"), 1e9);
    weft_platform_free(p);
    p = read_upgrade(&m, "device-server"); /* a third server */
    CHECK_INT(p->n_devices, 1 + 3 * 4);
    CHECK_NEAR(bandwidth(p, "server-2.gpu-0", "server-0.gpu-0"), 25e9 / 8);
    CHECK_NEAR(bandwidth(p, "server-2.npu", "server-0.npu"), 1e9); /* as server-1.npu */
    weft_platform_free(p);
    weft_arena_free(m.a);
}

/* Neither switch nor host passes data on: original and copy need a link of their own. */
TEST(a_copy_without_route_gets_a_link)
{
    machine m = read_machine("schema: weft.platform/1\n"
                             "name: pair\n"
                             "devices:\n"
                             "  - {name: a, model: roofline, peak_flops: 1, memory_bandwidth: 1}\n"
                             "  - {name: b, model: roofline, peak_flops: 1, memory_bandwidth: 1}\n"
                             "links:\n"
                             "  - {between: [a, b], bandwidth: 5GB/s, latency: 3us}\n",
                             1u << WEFT_UPGRADE_DEVICE);
    weft_platform *p = read_upgrade(&m, "device-a");

    CHECK_INT(m.n, 2);
    CHECK_NEAR(bandwidth(p, "a", "a-2"), 5e9);
    CHECK_NEAR(bandwidth(p, "b", "a-2"), 5e9);
    CHECK_NEAR(weft_platform_route(p, 0, 2)->latency_s, 3e-6);
    weft_platform_free(p);
    weft_arena_free(m.a);
}

TEST(every_upgrade_of_every_preset_can_be_read)
{
    for (int i = 0; i < weft_preset_count(); i++) {
        const weft_preset *preset = weft_preset_at(i);
        machine m = {.a = weft_arena_new()};

        CHECK_OK(weft_doc_parse(preset->text, preset->size, preset->name, m.a, &m.doc));
        CHECK_OK(weft_upgrades_of(m.doc, ALL, m.a, &m.list, &m.n));
        CHECK(m.n > 0);
        for (int k = 0; k < m.n; k++) {
            weft_platform *p = read_upgrade(&m, m.list[k].name);

            for (int j = 0; j < k; j++)
                CHECK(strcmp(m.list[j].name, m.list[k].name) != 0);
            weft_platform_free(p);
        }
        weft_arena_free(m.a);
    }
}

static const char tasks[] = "{\"schema\": \"weft.tasks/1\", \"devices\": [\"big\", \"small\"],"
                            " \"tasks\": [{\"name\": \"a\", \"seconds\": [2, 5]},"
                            "             {\"name\": \"b\", \"seconds\": [4, null]}],"
                            " \"edges\": [{\"from\": \"a\", \"to\": \"b\", \"amount\": 3}],"
                            " \"latency\": [[0, 0.25], [0.5, 0]], \"capacity\": [null, 64]}";

static weft_problem *upgraded_tasks(const machine *m, const char *name)
{
    weft_problem *p = NULL;

    CHECK_OK(weft_problem_parse(find(m, name)->document, false, &(weft_constraints){0}, &p));
    return p;
}

TEST(tasks_are_upgraded_by_columns)
{
    machine m = read_machine(tasks, ALL);
    weft_problem *p;

    CHECK_INT(m.n, 1 + 2 + 1 + 2);
    p = upgraded_tasks(&m, "link-big-small");
    CHECK_NEAR(p->second_per_byte[1], 0.5); /* 1 if the file does not say */
    CHECK_NEAR(p->latency_s[1], 0.25);
    weft_problem_free(p);
    p = upgraded_tasks(&m, "speed-big");
    CHECK_NEAR(weft_task_s(p, 0, 0), 1.0);
    CHECK_NEAR(weft_task_s(p, 1, 0), 2.0);
    CHECK_NEAR(weft_task_s(p, 0, 1), 5.0);
    weft_problem_free(p);
    p = upgraded_tasks(&m, "memory-small");
    CHECK_NEAR(p->capacity[1], 128.0);
    weft_problem_free(p);
    p = upgraded_tasks(&m, "device-small");
    CHECK_INT(p->n_devices, 3);
    CHECK_TEXT(p->device_name[2], "small-2");
    CHECK_NEAR(weft_task_s(p, 0, 2), 5.0);
    CHECK(isinf(weft_task_s(p, 1, 2)));
    CHECK_NEAR(p->latency_s[2 * 3 + 0], 0.5);  /* as small > big */
    CHECK_NEAR(p->latency_s[0 * 3 + 2], 0.25); /* as big > small */
    CHECK_NEAR(p->latency_s[1 * 3 + 2], 0.5);  /* as small > big, its nearest */
    CHECK_NEAR(p->latency_s[2 * 3 + 1], 0.25);
    CHECK_NEAR(p->capacity[2], 64.0);
    weft_problem_free(p);
    weft_arena_free(m.a);
}

/* Seven instances of the literature, with their proved optima. */
TEST(no_upgrade_makes_the_optimum_worse)
{
    weft_run run = {.seed = 1, .n_threads = 1, .limit_s = INFINITY, .scratch = weft_arena_new()};
    int n_better = 0;

    for (int i = 0; i < N_FIXTURES; i++) {
        machine m = {.a = weft_arena_new()};
        const char *path =
            weft_arena_print(m.a, "%s/tasks/%s", WEFT_TEST_DATA, fixture_all[i].file);

        CHECK_OK(weft_doc_read(path, m.a, &m.doc));
        CHECK_OK(weft_upgrades_of(m.doc, ALL, m.a, &m.list, &m.n));
        for (int k = 0; k < m.n; k++) {
            weft_problem *p = upgraded_tasks(&m, m.list[k].name);
            weft_solution s;

            CHECK_OK(weft_solve(weft_place_find("auto"), p, NULL, &run, NULL, m.a, &s));
            CHECK_INT(s.proof.outcome, WEFT_OPTIMAL);
            CHECK(s.proof.value <= fixture_all[i].optimum_s * (1 + 1e-9));
            n_better += s.proof.value < fixture_all[i].optimum_s * (1 - 1e-9);
            weft_problem_free(p);
        }
        weft_arena_free(m.a);
    }
    CHECK(n_better > 20);
    weft_arena_free(run.scratch);
}

/* 60 devices have 1770 pairs, and a document for each would be too much. */
TEST(too_many_upgrades_are_refused)
{
    weft_arena *a = weft_arena_new();
    const char *names = "\"d0\"", *seconds = "1", *text;
    const weft_doc *d;
    const weft_upgrade *list;
    int n;

    for (int i = 1; i < 60; i++) {
        names = weft_arena_print(a, "%s, \"d%d\"", names, i);
        seconds = weft_arena_print(a, "%s, 1", seconds);
    }
    text =
        weft_arena_print(a,
                         "{\"schema\": \"weft.tasks/1\", \"devices\": [%s], \"tasks\": [{\"name\": "
                         "\"a\", \"seconds\": [%s]}], \"edges\": []}",
                         names, seconds);
    CHECK_OK(weft_doc_parse(text, strlen(text), "x.json", a, &d));
    CHECK_FAILS(weft_upgrades_of(d, ALL, a, &list, &n), "more than 1000 upgrades");
    CHECK_OK(weft_upgrades_of(d, 1u << WEFT_UPGRADE_SPEED, a, &list, &n));
    CHECK_INT(n, 60);
    weft_arena_free(a);
}

TEST(other_documents_are_refused)
{
    weft_arena *a = weft_arena_new();
    const weft_doc *d;
    const weft_upgrade *list;
    int n;

    CHECK_OK(weft_doc_parse("{\"nodes\": []}", 13, "x.json", a, &d));
    CHECK_FAILS(weft_upgrades_of(d, ALL, a, &list, &n), "weft.platform/1");
    weft_arena_free(a);
}

/* --- machines of other speed ----------------------------------------------------------------- */

typedef struct scaled {
    weft_arena *a;
    const weft_suspect *suspect;
    double *factor; /* [n] links 2; devices 1, 1.25 and 1.5 in turn */
    int n;
    weft_platform *before, *after;
} scaled;

static scaled scale_preset(const char *name)
{
    scaled s = {.a = weft_arena_new()};
    const weft_doc *doc = NULL;
    const char *text;

    for (int i = 0; i < weft_preset_count(); i++) {
        const weft_preset *p = weft_preset_at(i);

        if (strcmp(p->name, name) == 0)
            CHECK_OK(weft_doc_parse(p->text, p->size, name, s.a, &doc));
    }
    s.n = weft_machine_suspects(doc, s.a, &s.suspect);
    s.factor = WEFT_NEW(s.a, double, s.n);
    for (int i = 0; i < s.n; i++)
        s.factor[i] = s.suspect[i].is_link ? 2.0 : 1.0 + 0.25 * (i % 3);
    text = weft_doc_json(weft_machine_scaled(doc, s.factor, s.a), 1, s.a);
    CHECK_OK(weft_platform_open(name, &s.before));
    CHECK_OK(weft_platform_parse(text, strlen(text), name, &s.after));
    return s;
}

static double factor_of(const scaled *s, const char *kind)
{
    for (int i = 0; i < s->n; i++)
        if (!s->suspect[i].is_link && strcmp(s->suspect[i].name, kind) == 0)
            return s->factor[i];
    fail_msg("no suspect '%s'", kind);
    return NAN;
}

static void compare_times(const scaled *s, const weft_graph *g)
{
    weft_costs *x, *y;

    CHECK_OK(weft_costs_new(g, s->before, &x));
    CHECK_OK(weft_costs_new(g, s->after, &y));
    for (int u = 0; u < x->n_nodes; u++)
        for (int d = 0; d < x->n_devices; d++) {
            double was_s = x->seconds[u * x->n_devices + d],
                   is_s = y->seconds[u * x->n_devices + d];
            double expected_s = was_s * factor_of(s, s->before->device[d].kind);

            CHECK(is_s == expected_s || fabs(is_s - expected_s) <= 1e-12 * expected_s ||
                  s->before->device[d].pool > 0); /* its part of the memory is another then */
        }
    weft_costs_free(x);
    weft_costs_free(y);
}

/* With rates and overhead of one device changed every operator on it takes as many times as long,
 * and nothing else changes: for each model of devices. */
TEST(scaled_machines_take_so_many_times_as_long)
{
    static const char *const on[] = {"edge-soc",    "f1-2x4", "h2h-12",
                                     "mixed-fleet", "tpu-v3", "nvdla-large"};
    weft_model *model;

    CHECK_OK(weft_model_open("squeezenet1_1", &(weft_model_options){0}, &model));
    for (size_t k = 0; k < sizeof on / sizeof *on; k++) {
        scaled s = scale_preset(on[k]);

        CHECK(s.n > 0 && !s.suspect[0].is_link);
        CHECK_INT(s.before->n_links, s.after->n_links);
        compare_times(&s, model->graph);
        for (int i = 0; i < s.before->n_links; i++) {
            CHECK_NEAR(s.after->link[i].bytes_per_s, s.before->link[i].bytes_per_s / 2);
            CHECK_NEAR(s.after->link[i].latency_s, s.before->link[i].latency_s * 2);
        }
        weft_platform_free(s.before);
        weft_platform_free(s.after);
        weft_arena_free(s.a);
    }
    weft_model_free(model);
}

/* --- costs in doubt -------------------------------------------------------------------------- */

static weft_sensitivity ask(const weft_problem *p, const weft_plan *plan, int n_threads,
                            weft_arena *a)
{
    weft_sensitivity_options o = {
        .error = 0.2,
        .tolerance = 0.01,
        .n_samples = 40,
        .solver = weft_place_find("auto"),
        .run = {.seed = 1, .steps = 1000, .n_threads = n_threads}
    };
    weft_sensitivity d;

    CHECK_OK(weft_place_sensitivity(p, plan, &o, a, &d));
    return d;
}

/* One task takes 1 s on P1 and 1.1 s on P2. The plan, on P1, is within 1 % while P1 takes at most
 * 1.1 * 1.01 = 1.111 s, or P2 at least 1 / 1.01 s, which is 0.9001 of its time. */
TEST(ranges_end_where_another_device_is_better)
{
    weft_problem *p = fixture_tasks("1 1.1;");
    weft_arena *a = weft_arena_new();
    weft_plan plan = weft_plan_new(1, a);
    weft_sensitivity d = ask(p, &plan, 1, a);

    CHECK_INT(d.n_ranges, 3); /* both devices, and the link between them */
    CHECK_NEAR(d.precision, 0.2 / 64);
    CHECK_TEXT(d.range[0].name, "P1");
    CHECK_NEAR(d.range[0].least, 0.8);
    CHECK(d.range[0].most <= 1.111 && d.range[0].most > 1.111 - d.precision);
    CHECK(d.range[0].is_proved);
    CHECK(d.range[1].least >= 1 / 1.111 && d.range[1].least < 1 / 1.111 + d.precision);
    CHECK_NEAR(d.range[1].most, 1.2);
    CHECK_TEXT(d.range[2].name, "P1 - P2");
    CHECK(d.range[2].is_link);
    CHECK_NEAR(d.range[2].least, 0.8);
    CHECK_NEAR(d.range[2].most, 1.2);
    CHECK(d.n_within > 0 && d.n_within < d.n_samples && d.n_proved == d.n_within);
    CHECK(d.worst > 0.01 && d.worst < 1.2 / (0.8 * 1.1) - 1);
    weft_arena_free(a);
    weft_problem_free(p);
}

/* On P2 it is not even good as things are. */
TEST(a_bad_plan_has_no_range)
{
    weft_problem *p = fixture_tasks("1 1.1;");
    weft_arena *a = weft_arena_new();
    weft_plan plan = weft_plan_new(1, a);
    weft_sensitivity d;

    plan.device[0] = 1;
    d = ask(p, &plan, 1, a);
    CHECK(isnan(d.range[0].least) && isnan(d.range[0].most) && !d.range[0].is_proved);
    weft_arena_free(a);
    weft_problem_free(p);
}

/* Solves that are cut off find nothing better, which says nothing about the plan. */
TEST(what_is_stopped_claims_nothing)
{
    volatile sig_atomic_t stop = 1;
    weft_problem *p = fixture_tasks("1 1.1;");
    weft_arena *a = weft_arena_new();
    weft_plan plan = weft_plan_new(1, a);
    weft_sensitivity_options o = {
        .error = 0.2,
        .tolerance = 0.01,
        .n_samples = 4,
        .solver = weft_place_find("auto"),
        .run = {.seed = 1, .steps = 1000, .n_threads = 1, .stop = &stop}
    };
    weft_sensitivity d;

    CHECK_OK(weft_place_sensitivity(p, &plan, &o, a, &d));
    CHECK(d.is_stopped && d.n_ranges == 0 && d.n_samples == 0);
    stop = 0;
    CHECK_OK(weft_place_sensitivity(p, &plan, &o, a, &d));
    CHECK(!d.is_stopped && d.n_ranges == 3 && d.n_samples == 4);
    weft_arena_free(a);
    weft_problem_free(p);
}

TEST(threads_do_not_change_the_answer)
{
    weft_problem *p = fixture_tasks(fixture_heft);
    weft_arena *a = weft_arena_new();
    weft_run run = {.limit_s = INFINITY, .n_threads = 1, .scratch = weft_arena_new()};
    weft_solution s;
    weft_sensitivity one, four;

    CHECK_OK(weft_solve(weft_place_find("heft"), p, NULL, &run, NULL, a, &s));
    one = ask(p, &s.plan, 1, a);
    four = ask(p, &s.plan, 4, a);
    CHECK_INT(one.n_ranges, 6);
    for (int i = 0; i < one.n_ranges; i++) {
        CHECK(memcmp(&one.range[i].least, &four.range[i].least, sizeof(double)) == 0);
        CHECK(memcmp(&one.range[i].most, &four.range[i].most, sizeof(double)) == 0);
    }
    CHECK(one.n_within == four.n_within && one.worst == four.worst && one.mean == four.mean);
    weft_arena_free(run.scratch);
    weft_arena_free(a);
    weft_problem_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_entry_has_its_upgrades),
        cmocka_unit_test(rates_double_and_nothing_else),
        cmocka_unit_test(copies_have_the_links_of_the_original),
        cmocka_unit_test(a_copy_without_route_gets_a_link),
        cmocka_unit_test(every_upgrade_of_every_preset_can_be_read),
        cmocka_unit_test(tasks_are_upgraded_by_columns),
        cmocka_unit_test(no_upgrade_makes_the_optimum_worse),
        cmocka_unit_test(too_many_upgrades_are_refused),
        cmocka_unit_test(other_documents_are_refused),
        cmocka_unit_test(scaled_machines_take_so_many_times_as_long),
        cmocka_unit_test(ranges_end_where_another_device_is_better),
        cmocka_unit_test(a_bad_plan_has_no_range),
        cmocka_unit_test(what_is_stopped_claims_nothing),
        cmocka_unit_test(threads_do_not_change_the_answer),
    };

    return RUN_TESTS(tests);
}
