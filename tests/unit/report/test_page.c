/* SPDX-License-Identifier: MIT */
/* Data of pages: what is true for the page of every plan of every kind, that its numbers are those
 * of the simulator, and what becomes of hostile names. */
#define _POSIX_C_SOURCE 200809L /* open_memstream */
#include "check.h"
#include "draw_shards.h"
#include "draw_training.h"
#include "fixtures.h"

#include <stdio.h>
#include <stdlib.h>

#include "place.h"
#include "report.h"
#include "tracks.h"

/* --- what is in a document ------------------------------------------------------------------- */

static const weft_doc *at(const weft_doc *map, const char *key)
{
    const weft_doc *d = weft_doc_get(map, key);

    if (d == NULL)
        fail_msg("no '%s'", key);
    return d;
}

static const weft_doc *list_at(const weft_doc *map, const char *key)
{
    const weft_doc *d = at(map, key);

    CHECK(d->kind == WEFT_DOC_LIST);
    return d;
}

static double real_at(const weft_doc *map, const char *key, int i)
{
    const weft_doc *list = list_at(map, key);

    CHECK(i >= 0 && i < list->n);
    CHECK(list->item[i]->kind == WEFT_DOC_INT || list->item[i]->kind == WEFT_DOC_REAL);
    return list->item[i]->real;
}

static int int_at(const weft_doc *map, const char *key, int i)
{
    CHECK(list_at(map, key)->item[i]->kind == WEFT_DOC_INT);
    return (int)list_at(map, key)->item[i]->integer;
}

static double number(const weft_doc *map, const char *key)
{
    const weft_doc *d = at(map, key);

    CHECK(d->kind == WEFT_DOC_INT || d->kind == WEFT_DOC_REAL);
    return d->real;
}

static const char *word(const weft_doc *map, const char *key)
{
    CHECK(at(map, key)->kind == WEFT_DOC_TEXT);
    return at(map, key)->text;
}

/* The table of this name, or NULL. */
static const weft_doc *table(const weft_doc *page, const char *id)
{
    const weft_doc *list = list_at(page, "tables");

    for (int i = 0; i < list->n; i++)
        if (strcmp(word(list->item[i], "id"), id) == 0)
            return list->item[i];
    return NULL;
}

static const weft_doc *cell(const weft_doc *t, int row, const char *key)
{
    const weft_doc *columns = list_at(t, "columns");

    for (int i = 0; i < columns->n; i++)
        if (strcmp(word(columns->item[i], "key"), key) == 0)
            return list_at(t, "rows")->item[row]->item[i];
    fail_msg("no column '%s'", key);
    return NULL;
}

/* A number of a table, exactly; what is not finite is null. */
static void check_cell(const weft_doc *t, int row, const char *key, double expected)
{
    const weft_doc *c = cell(t, row, key);

    if (!isfinite(expected)) {
        CHECK(c->kind == WEFT_DOC_NULL);
        return;
    }
    CHECK(c->kind == WEFT_DOC_INT || c->kind == WEFT_DOC_REAL);
    CHECK(c->real <= expected && c->real >= expected);
}

/* --- what every page keeps ------------------------------------------------------------------- */

static void check_finite(const weft_doc *d)
{
    CHECK(d->kind != WEFT_DOC_REAL || isfinite(d->real));
    for (int i = 0; (d->kind == WEFT_DOC_LIST || d->kind == WEFT_DOC_MAP) && i < d->n; i++)
        check_finite(d->item[i]);
}

static void check_lengths(const weft_doc *map, const char *const *key, int n)
{
    for (int i = 0; key[i] != NULL; i++) {
        const weft_doc *d = at(map, key[i]);

        if (d->kind != WEFT_DOC_NULL && (d->kind != WEFT_DOC_LIST || d->n != n))
            fail_msg("%s has %d entries, expected %d", key[i], d->n, n);
    }
}

typedef struct stretch {
    int row, lane;
    double start, end;
} stretch;

static int by_place(const void *a, const void *b)
{
    const stretch *x = a, *y = b;

    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    if (x->lane != y->lane)
        return x->lane < y->lane ? -1 : 1;
    if (x->start < y->start || x->start > y->start)
        return x->start < y->start ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

/* Inside the run, on a lane of their row, and none crosses another. */
static void check_bars(const weft_doc *time, int n_nodes)
{
    static const char *const keys[] = {"row", "lane", "start", "end", "kind", "name", "node", NULL};
    const weft_doc *bars = at(time, "bars"), *rows = list_at(time, "rows");
    double end = number(time, "end");
    int n = list_at(bars, "row")->n;
    stretch *s = malloc(sizeof *s * (size_t)(n + 1));

    check_lengths(bars, keys, n);
    for (int i = 0; i < n; i++) {
        int row = int_at(bars, "row", i), kind = int_at(bars, "kind", i);
        int node = int_at(bars, "node", i);

        s[i] = (stretch){row, int_at(bars, "lane", i), real_at(bars, "start", i),
                         real_at(bars, "end", i)};
        CHECK(row >= 0 && row < rows->n && s[i].lane >= 0);
        CHECK(s[i].lane < number(rows->item[row], "lanes"));
        CHECK(s[i].start >= 0 && s[i].start <= s[i].end && s[i].end <= end);
        CHECK(kind >= 0 && kind < list_at(time, "kinds")->n);
        CHECK(node >= -1 && node < n_nodes);
    }
    qsort(s, (size_t)n, sizeof *s, by_place);
    for (int i = 1; i < n; i++)
        if (s[i].row == s[i - 1].row && s[i].lane == s[i - 1].lane)
            CHECK(s[i].start >= s[i - 1].end);
    free(s);
}

static void check_members(const weft_doc *list, int n)
{
    for (int i = 0; i < list->n; i++)
        CHECK(list->item[i]->integer >= 0 && list->item[i]->integer < n);
}

static void check_timeline(const weft_doc *page, int n_nodes)
{
    const weft_doc *time = at(page, "timeline"), *arrows = at(time, "arrows");
    int n = list_at(at(time, "bars"), "row")->n;

    check_bars(time, n_nodes);
    CHECK_INT(list_at(arrows, "from")->n, list_at(arrows, "to")->n);
    check_members(list_at(arrows, "from"), n);
    check_members(list_at(arrows, "to"), n);
    check_members(list_at(time, "chain"), n);
    for (int i = 0; i < list_at(arrows, "from")->n; i++) /* data is there before it is read */
        CHECK(real_at(at(time, "bars"), "end", int_at(arrows, "from", i)) <=
              real_at(at(time, "bars"), "start", int_at(arrows, "to", i)) * (1 + 1e-8));
}

/* Parts follow each other from 0 to the end, and the sums are theirs. */
static void check_chain(const weft_doc *page, double end)
{
    const weft_doc *chain = at(page, "chain"), *parts = list_at(chain, "parts");
    int n = list_at(at(at(page, "timeline"), "bars"), "row")->n;
    double until = 0;

    for (int i = 0; i < parts->n; i++) {
        CHECK_NEAR(number(parts->item[i], "start"), until);
        until = number(parts->item[i], "end");
        check_members(list_at(parts->item[i], "bars"), n);
        CHECK((list_at(parts->item[i], "bars")->n > 0) ==
              (strcmp(word(parts->item[i], "kind"), "wait") != 0));
        CHECK(*word(parts->item[i], "text"));
    }
    CHECK_NEAR(until, end);
    CHECK_NEAR(number(chain, "compute_s") + number(chain, "transfer_s") + number(chain, "wait_s"),
               end);
}

static void check_edges(const weft_doc *graph, int n_nodes)
{
    static const char *const keys[] = {"from", "to", "bytes", "is_cross", "points", NULL};
    const weft_doc *edges = at(graph, "edges"), *nodes = at(graph, "nodes");
    int n = list_at(edges, "from")->n;

    check_lengths(edges, keys, n);
    for (int e = 0; e < n; e++) {
        int u = int_at(edges, "from", e), v = int_at(edges, "to", e);
        const weft_doc *points = list_at(edges, "points")->item[e];

        CHECK(u >= 0 && u < v && v < n_nodes);
        CHECK(points->n % 2 == 0 && points->n != 2);
        CHECK(list_at(edges, "is_cross")->item[e]->truth ==
              (int_at(nodes, "device", u) != int_at(nodes, "device", v)));
    }
}

static int check_graph(const weft_doc *page)
{
    static const char *const keys[] = {"name",  "op",     "x",       "y",     "w",
                                       "h",     "device", "seconds", "bytes", "joules",
                                       "shape", "start",  "note",    "bar",   NULL};
    const weft_doc *graph = at(page, "graph"), *nodes = at(graph, "nodes"), *costs;
    int n = list_at(nodes, "name")->n;

    check_lengths(nodes, keys, n);
    for (int u = 0; u < n; u++) {
        double x = real_at(nodes, "x", u), y = real_at(nodes, "y", u);
        double w = real_at(nodes, "w", u), h = real_at(nodes, "h", u);

        CHECK(x - w / 2 >= -0.2 && x + w / 2 <= number(graph, "width") + 0.2);
        CHECK(y - h / 2 >= -0.2 && y + h / 2 <= number(graph, "height") + 0.2);
        CHECK(int_at(nodes, "device", u) < list_at(graph, "devices")->n);
        CHECK(real_at(nodes, "seconds", u) >= 0 && real_at(nodes, "bytes", u) >= 0);
    }
    check_edges(graph, n);
    costs = at(graph, "costs");
    if (costs->kind != WEFT_DOC_NULL) {
        CHECK_INT(list_at(costs, "seconds")->n, n);
        CHECK_INT(list_at(costs, "of")->n, list_at(graph, "devices")->n);
        for (int u = 0; u < n; u++)
            CHECK_INT(list_at(costs, "seconds")->item[u]->n, list_at(costs, "on")->n);
    }
    return n;
}

static void check_memory(const weft_doc *page)
{
    const weft_doc *list = list_at(page, "memory");

    for (int i = 0; i < list->n; i++) {
        const weft_doc *bytes = list_at(list->item[i], "bytes"),
                       *when = list_at(list->item[i], "at");

        CHECK_INT(bytes->n, when->n);
        CHECK(bytes->n > 0);
        for (int k = 0; k < bytes->n; k++) {
            CHECK(k == 0 || when->item[k]->real >= when->item[k - 1]->real);
            CHECK(bytes->item[k]->real >= 0);
        }
    }
}

static void check_tables(const weft_doc *page)
{
    const weft_doc *list = list_at(page, "tables");

    CHECK(list->n > 0);
    for (int i = 0; i < list->n; i++) {
        const weft_doc *t = list->item[i], *rows = list_at(t, "rows");

        CHECK(table(page, word(t, "id")) == t); /* each name once */
        CHECK(rows->n > 0);
        for (int k = 0; k < rows->n; k++)
            CHECK_INT(rows->item[k]->n, list_at(t, "columns")->n);
    }
}

static void check_words(const weft_doc *page)
{
    const weft_doc *facts = list_at(page, "facts"), *about = list_at(page, "about");

    CHECK_TEXT(word(page, "schema"), "weft.page/1");
    CHECK(facts->n >= 2 && about->n >= 3 && list_at(page, "assumptions")->n >= 4);
    CHECK_TEXT(word(facts->item[0], "key"), "value");
    for (int i = 0; i < facts->n; i++)
        CHECK(*word(facts->item[i], "label") && *word(facts->item[i], "text") &&
              strchr(word(facts->item[i], "text"), '\t') == NULL);
    for (int i = 0; i < about->n; i++)
        for (int k = 0; k < list_at(about->item[i], "rows")->n; k++)
            CHECK_INT(list_at(about->item[i], "rows")->item[k]->n, 2);
}

/* True of every page of a plan; end: of the run. */
static void check_page(const weft_doc *page, double end, weft_arena *a)
{
    const char *json = weft_doc_json(page, 0, a);
    const weft_doc *again = NULL;

    check_finite(page);
    CHECK_OK(weft_doc_parse(json, strlen(json), "page", a, &again));
    CHECK_TEXT(weft_doc_json(again, 0, a), json);
    check_words(page);
    check_timeline(page, check_graph(page));
    check_chain(page, end);
    check_memory(page);
    check_tables(page);
}

/* --- placed networks ------------------------------------------------------------------------- */

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
    s->origin = (weft_plan_origin){.model = "tasks.json", .solver = "hand"};
    s->report =
        (weft_report){.problem = p, .origin = &s->origin, .best_single_s = NAN, .heft_s = NAN};
}

static void evaluate(sample *s)
{
    weft_proof *proof = &s->solution.proof;

    CHECK_OK(weft_evaluate(s->p, &s->solution.plan, s->a, &s->solution.measures));
    proof->outcome = WEFT_BOUNDED;
    proof->value = weft_goal_value(s->p, &s->solution.measures);
    proof->bound = proof->value / 2;
    proof->gap = 0.5;
    proof->method = "path";
    s->report.solution = &s->solution;
}

static void close_sample(sample *s)
{
    weft_problem_free(s->p);
    weft_arena_free(s->a);
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

/* Every task has one bar, in the row of its device, from its start on, for as long as it takes. */
static void check_task_bars(const sample *s, const weft_doc *page)
{
    const weft_doc *bars = at(at(page, "timeline"), "bars");
    int *n = calloc((size_t)s->p->n_tasks, sizeof *n);

    for (int i = 0; i < list_at(bars, "row")->n; i++) {
        int u = int_at(bars, "node", i), d;

        if (int_at(bars, "kind", i) != 0)
            continue;
        d = s->solution.plan.device[u];
        n[u]++;
        CHECK_INT(int_at(bars, "row", i), d);
        CHECK_NEAR(real_at(bars, "start", i), s->solution.plan.start_s[u]);
        CHECK(fabs(real_at(bars, "end", i) - real_at(bars, "start", i) - weft_task_s(s->p, u, d)) <=
              2e-9 * real_at(bars, "end", i));
        CHECK_TEXT(list_at(bars, "name")->item[i]->text, s->p->task_name[u]);
    }
    for (int u = 0; u < s->p->n_tasks; u++)
        CHECK_INT(n[u], 1);
    free(n);
}

static void check_device_table(const sample *s, const weft_doc *page)
{
    const weft_doc *t = table(page, "devices");
    const weft_measures *m = &s->solution.measures;
    int n = 0;

    for (int d = 0; d < s->p->n_devices; d++) {
        bool is_used = m->busy_s[d] > 0 || m->peak_bytes[d] > 0;

        for (int u = 0; u < s->p->n_tasks; u++)
            is_used |= s->solution.plan.device[u] == d;
        if (!is_used)
            continue;
        check_cell(t, n, "busy_s", m->busy_s[d]);
        if (s->p->constraints.goal == WEFT_THROUGHPUT)
            check_cell(t, n, "load_s", m->load_s[d]);
        check_cell(t, n, "utilisation", weft_utilisation(s->p, m, d));
        check_cell(t, n, "peak_bytes", m->peak_bytes[d]);
        check_cell(t, n, "capacity", s->p->capacity[d]);
        n++;
    }
    CHECK_INT(list_at(t, "rows")->n, n); /* devices that are not used have none */
}

/* What is sent adds up, over pairs of devices. */
static void check_traffic(const sample *s, const weft_doc *page)
{
    const weft_doc *t = table(page, "traffic");
    double sent = 0, n = 0;

    for (int i = 0; t != NULL && i < list_at(t, "rows")->n; i++) {
        sent += cell(t, i, "sent")->real;
        n += cell(t, i, "transfers")->real;
    }
    CHECK_NEAR(sent, s->solution.measures.sent_bytes);
    CHECK_INT(n, s->solution.measures.n_transfers);
}

static void check_result(const sample *s, const weft_doc *page)
{
    const weft_doc *r = at(page, "result"), *value = list_at(page, "facts")->item[0];

    CHECK(number(r, "value") >= s->solution.proof.value);
    CHECK(number(r, "value") <= s->solution.proof.value);
    CHECK_NEAR(number(value, "number"), s->solution.proof.value);
    CHECK_NEAR(number(r, "bound"), s->solution.proof.bound);
    CHECK_NEAR(number(r, "gap"), s->solution.proof.gap);
    CHECK(weft_doc_get(r, "seconds") == NULL && weft_doc_get(r, "plan") == NULL);
}

static void check_place(const sample *s)
{
    weft_why why;
    const weft_doc *page, *bound;

    weft_place_why(s->p, &s->solution, s->a, &why);
    page = weft_write_page(weft_place_facts(&s->report, &(weft_page_more){.why = &why}, s->a));
    check_page(page, s->solution.measures.makespan_s, s->a);
    check_task_bars(s, page);
    check_device_table(s, page);
    check_traffic(s, page);
    check_result(s, page);
    bound = at(page, "bound");
    CHECK_NEAR(number(bound, "value"), s->solution.proof.bound);
    for (int i = 0; i < list_at(bound, "parts")->n; i++)
        check_members(list_at(list_at(bound, "parts")->item[i], "nodes"), s->p->n_tasks);
    CHECK_NEAR(number(at(page, "chain"), "compute_s") + number(at(page, "chain"), "transfer_s") +
                   number(at(page, "chain"), "wait_s"),
               s->solution.measures.makespan_s);
    if (s->p->constraints.goal == WEFT_LATENCY) { /* of a stream the reasons are about the period */
        CHECK_NEAR(number(at(page, "chain"), "compute_s"), why.compute_s);
        CHECK_NEAR(number(at(page, "chain"), "transfer_s"), why.transfer_s);
    }
}

TEST(pages_of_random_plans_are_whole)
{
    for (uint64_t seed = 1; seed <= N_DRAWN(200); seed++) {
        sample s;

        open_random(&s, seed, 1 + (int)(seed % 30), 1 + (int)(seed % 4));
        check_place(&s);
        close_sample(&s);
    }
}

/* The host runs tasks side by side when it calls accelerators: they are on lanes of their own. */
TEST(pages_of_calls_have_lanes_of_the_host)
{
    const weft_doc *page, *row;
    sample s;
    weft_problem *p = fixture_tasks("2 2 / 2 2 / 2 2");

    p->transfer = WEFT_CALLS;
    p->host = 0;
    open_sample(&s, p);
    evaluate(&s);
    page = weft_write_page(weft_place_facts(&s.report, &(weft_page_more){0}, s.a));
    row = list_at(at(page, "timeline"), "rows")->item[0];
    CHECK_INT(number(row, "lanes"), 3);
    check_bars(at(page, "timeline"), 3);
    close_sample(&s);
}

/* Two ways, half of the items each: the one that takes longest is drawn, the table has both. */
TEST(pages_of_mixes_list_the_ways)
{
    sample s;
    const weft_doc *page, *ways;
    weft_problem *p = fixture_tasks("1 2 / 1 2; 0-1:0");

    p->constraints = (weft_constraints){.goal = WEFT_THROUGHPUT, .is_mixed = true};
    open_sample(&s, p);
    s.solution.plan = weft_plan_new_variants(2, 2, s.a);
    s.solution.plan.share[0] = s.solution.plan.share[1] = 0.5;
    s.solution.plan.device[2] = s.solution.plan.device[3] = 1;
    s.solution.plan.start_s[1] = s.solution.plan.start_s[3] = 1;
    evaluate(&s);
    page = weft_write_page(weft_place_facts(&s.report, &(weft_page_more){0}, s.a));
    ways = table(page, "ways");
    CHECK_INT(list_at(ways, "rows")->n, 2);
    check_cell(ways, 0, "makespan_s", 2);
    check_cell(ways, 1, "makespan_s", 4);
    check_cell(ways, 1, "share", 0.5);
    CHECK_TEXT(word(list_at(ways, "columns")->item[5], "unit"), "count"); /* amounts of tasks */
    CHECK_INT(int_at(at(at(page, "graph"), "nodes"), "device", 0), 1);
    CHECK_TEXT(word(at(page, "timeline"), "note"), "one item on the longest way");
    check_page(page, 4, s.a);
    close_sample(&s);
}

TEST(without_a_plan_there_is_no_timeline)
{
    sample s;
    const weft_doc *page;

    open_sample(&s, fixture_tasks("1"));
    s.solution.plan.device = NULL;
    s.solution.proof = (weft_proof){.outcome = WEFT_INFEASIBLE, .reason = "no room"};
    s.report.solution = &s.solution;
    page = weft_write_page(weft_place_facts(&s.report, &(weft_page_more){0}, s.a));
    check_finite(page);
    CHECK(at(page, "timeline")->kind == WEFT_DOC_NULL);
    CHECK(at(page, "graph")->kind == WEFT_DOC_NULL);
    CHECK(at(at(page, "result"), "value")->kind == WEFT_DOC_NULL);
    CHECK_TEXT(word(at(page, "result"), "reason"), "no room");
    close_sample(&s);
}

/* Documents of other commands are shown as far as they are what they should be. */
TEST(odd_documents_do_no_harm)
{
    static const char *const odd[] = {
        "{}",
        "{\"solvers\": 3, \"upgrades\": {\"a\": 1}, \"uncertainty\": [1]}",
        "{\"solvers\": [1, null, [], {}], \"upgrades\": [1, null, [], {}],"
        " \"uncertainty\": {\"ranges\": [1, null, {}, []], \"tolerance\": \"x\"}}",
        "{\"task\": 1, \"solvers\": [{\"solver\": [], \"value\": \"x\", \"gap\": true}],"
        " \"upgrades\": [{\"what\": {}, \"cannot_help\": 1, \"gain\": null}]}",
    };
    sample s;

    open_random(&s, 5, 6, 2);
    for (int i = 0; i < 4; i++) {
        const weft_doc *d = NULL;

        CHECK_OK(weft_doc_parse(odd[i], strlen(odd[i]), "odd", s.a, &d));
        check_finite(weft_write_page(
            weft_place_facts(&s.report, &(weft_page_more){.compare = d, .explain = d}, s.a)));
    }
    close_sample(&s);
}

/* --- sharded networks ------------------------------------------------------------------------ */

static void check_shard(weft_shard_case *c, uint64_t seed)
{
    weft_arena *a = weft_arena_new();
    weft_rng r = weft_rng_seed(seed);
    weft_shard_solution s = {.plan = draw_shards(c->sharding, &r, a)};
    weft_plan_origin origin = {.model = "net", .platform = "machine", .solver = "hand"};
    weft_shard_report report = {.problem = c->sharding, .solution = &s, .origin = &origin};
    const weft_doc *page, *sets, *splits;
    weft_why why;

    CHECK_OK(weft_shard_plan_evaluate(c->sharding, &s.plan, a, &s.measures));
    s.proof = (weft_proof){.outcome = WEFT_BOUNDED,
                           .value = s.measures.latency_s,
                           .bound = s.measures.latency_s / 2,
                           .gap = 0.5,
                           .method = "floor"};
    weft_shard_why(c->sharding, &s, a, &why);
    page = weft_write_page(weft_shard_facts(&report, &(weft_page_more){.why = &why}, a));
    check_page(page, s.measures.latency_s, a);
    CHECK_INT(list_at(at(at(page, "timeline"), "bars"), "row")->n, s.measures.jobs->n_jobs);
    CHECK_NEAR(number(at(page, "chain"), "compute_s"), why.compute_s);
    sets = table(page, "sets");
    for (int k = 0; k < s.plan.n_sets; k++)
        check_cell(sets, k, "busy_s", s.measures.busy_s[s.plan.set[k].member[0]]);
    splits = table(page, "splits");
    CHECK_INT(list_at(splits, "rows")->n, s.plan.n_steps);
    for (int v = 0; v < s.plan.n_steps; v++) {
        check_cell(splits, v, "set", s.plan.set_of[v]);
        check_cell(splits, v, "start_s", s.measures.start_s[v]);
    }
    check_cell(table(page, "times"), 0, "seconds", s.measures.compute_s);
    weft_arena_free(a);
}

TEST(pages_of_sharded_networks_are_whole)
{
    static const char *const networks[] = {"alexnet", "googlenet:image=64",
                                           "bert:layers=2,seq=16,hidden=48"};
    const char *const platforms[] = {draw_mixed, draw_hostless, draw_hiding};

    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 6; k++) {
            weft_shard_constraints constraints = {.is_concurrent = k % 2 == 1};
            weft_shard_case c = draw_case(networks[i], platforms[k / 2], &constraints);

            check_shard(&c, (uint64_t)(10 * i + k + 1));
            weft_shard_case_close(&c);
        }
}

/* --- training -------------------------------------------------------------------------------- */

static void check_train(const weft_train_problem *p, weft_train_solution *s, weft_arena *a)
{
    weft_plan_origin origin = {.model = "net", .platform = "machine", .solver = "hand"};
    weft_train_report report = {.problem = p, .solution = s, .origin = &origin};
    const weft_doc *page, *stages;
    double n_blocks = 0;
    weft_why why;

    CHECK_OK(weft_train_plan_evaluate(p, &s->plan, a, &s->measures));
    s->proof = (weft_proof){.outcome = WEFT_BOUNDED,
                            .value = s->measures.step_s,
                            .bound = s->measures.step_s / 2,
                            .gap = 0.5,
                            .method = "pipeline"};
    weft_train_why(p, s, a, &why);
    page = weft_write_page(weft_train_facts(&report, &(weft_page_more){.why = &why}, a));
    check_page(page, s->measures.step_s, a);
    CHECK_INT(list_at(at(at(page, "timeline"), "bars"), "row")->n, s->measures.jobs->n_jobs);
    CHECK_INT(list_at(at(at(page, "graph"), "nodes"), "name")->n, p->blocks.n_blocks);
    check_members(list_at(at(at(page, "graph"), "nodes"), "bar"), s->measures.jobs->n_jobs);
    CHECK_NEAR(number(at(page, "chain"), "compute_s"), why.compute_s);
    stages = table(page, "stages");
    for (int i = 0; i < s->plan.n_stages; i++) {
        check_cell(stages, i, "busy_s", s->measures.stage_busy_s[i]);
        check_cell(stages, i, "peak_bytes", s->measures.stage_peak_bytes[i]);
        n_blocks += cell(stages, i, "units")->real;
    }
    CHECK_INT(n_blocks, p->blocks.n_blocks);
}

TEST(pages_of_training_plans_are_whole)
{
    int n = 0;

    for (int i = 0; i < 120; i++) {
        weft_rng r = weft_rng_seed((uint64_t)i + 1);
        draw_training_ask constraints = {
            .is_dag = i % 3 == 0, .is_contend = i % 4 == 0, .has_shared = i % 5 == 0};
        drawn_training drawn = draw_training(&constraints, &r);
        weft_arena *a = weft_arena_new();
        weft_train_solution s = {.seconds = 0};

        if (draw_pipeline(drawn.training, (weft_schedule)(i % WEFT_N_SCHEDULES), &r, a, &s.plan)) {
            check_train(drawn.training, &s, a);
            n++;
        }
        drop_training(&drawn);
        weft_arena_free(a);
    }
    CHECK(n >= 60);
}

/* --- parts ----------------------------------------------------------------------------------- */

/* As few lanes as there are stretches at one time. */
TEST(lanes_are_as_few_as_can_be)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        weft_rng r = weft_rng_seed(seed);
        weft_track item[40];
        int n = 1 + weft_rng_below(&r, 40), n_lanes[3];

        for (int i = 0; i < n; i++) {
            double start = weft_rng_below(&r, 20);

            item[i] = (weft_track){.row = weft_rng_below(&r, 3),
                                   .job = i,
                                   .start_s = start,
                                   .end_s = start + 1 + weft_rng_below(&r, 6)};
        }
        weft_tracks_assign(item, n, 3, n_lanes);
        for (int row = 0; row < 3; row++) {
            int most = 0;

            for (int i = 0; i < 20; i++) { /* starts are whole numbers below 20 */
                int beside = 0;

                for (int k = 0; k < n; k++)
                    beside += item[k].row == row && item[k].start_s <= i && i < item[k].end_s;
                most = beside > most ? beside : most;
            }
            CHECK_INT(n_lanes[row], most);
        }
        for (int i = 0; i < n; i++)
            for (int k = 0; k < i; k++)
                CHECK(item[i].row != item[k].row || item[i].lane != item[k].lane ||
                      item[i].start_s >= item[k].end_s || item[k].start_s >= item[i].end_s);
    }
}

static char *html_of(const weft_doc *page, weft_arena *a)
{
    char *text = NULL;
    size_t n = 0;
    FILE *to = open_memstream(&text, &n);

    weft_page_html(page, a, to);
    fclose(to);
    return text;
}

TEST(names_do_not_leave_the_data)
{
    sample s;
    const weft_doc *page;
    char *html;

    open_random(&s, 3, 5, 2);
    s.origin.model = "</script><img src=x onerror=alert(1)>\xff";
    page = weft_write_page(weft_place_facts(&s.report, &(weft_page_more){0}, s.a));
    CHECK_TEXT(word(page, "title"), s.origin.model);
    html = html_of(page, s.a);
    CHECK(strstr(html, "<img") == NULL);
    CHECK(strstr(html, "\\u003cimg") != NULL);
    free(html);
    close_sample(&s);
}

static char *csv_of(const char *json)
{
    weft_arena *a = weft_arena_new();
    const weft_doc *d = NULL;
    char *text = NULL;
    size_t n = 0;
    FILE *to = open_memstream(&text, &n);

    CHECK_OK(weft_doc_parse(json, strlen(json), "test", a, &d));
    weft_page_table_csv(d, to);
    fclose(to);
    weft_arena_free(a);
    return text;
}

TEST(tables_are_quoted_where_they_must_be)
{
    char *text = csv_of("{\"columns\": [{\"name\": \"who, what\", \"unit\": \"text\"},"
                        " {\"name\": \"busy\", \"unit\": \"s\"},"
                        " {\"name\": \"used\", \"unit\": \"%\"}],"
                        " \"rows\": [[\"a \\\"b\\\"\", 0.5, null], [\"x\\ny\", 3, 1]]}");

    CHECK_TEXT(text, "\"who, what\",busy (s),used (share of 1)\n"
                     "\"a \"\"b\"\"\",0.5,\n"
                     "\"x\ny\",3,1\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_of_random_plans_are_whole),
        cmocka_unit_test(pages_of_calls_have_lanes_of_the_host),
        cmocka_unit_test(pages_of_mixes_list_the_ways),
        cmocka_unit_test(without_a_plan_there_is_no_timeline),
        cmocka_unit_test(odd_documents_do_no_harm),
        cmocka_unit_test(pages_of_sharded_networks_are_whole),
        cmocka_unit_test(pages_of_training_plans_are_whole),
        cmocka_unit_test(lanes_are_as_few_as_can_be),
        cmocka_unit_test(names_do_not_leave_the_data),
        cmocka_unit_test(tables_are_quoted_where_they_must_be),
    };

    return RUN_TESTS(tests);
}
