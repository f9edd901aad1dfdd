/* SPDX-License-Identifier: MIT */
/* Designs are searched, written, changed in one place and verified: the file as it was passes, and
 * with a change it does not, wherever it is. With a new hash for the changed file it does not
 * either, unless the field is among those that the verdict says are not checked: the question
 * itself (limits, seed), the counts of a search, and what rests on searches alone; of these single
 * rules are tested. Pages are made of what was verified. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include "kind.h"
#include "report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#define SMALL "gpt2:layers=2,hidden=64,heads=4,seq=16,vocab=100"
#define OTHER "gpt2:layers=3,hidden=64,heads=2,seq=16,vocab=100"
#define TEMPLATE WEFT_TEST_DATA "/templates/small.yaml"

typedef struct made {
    weft_arena *arena;
    weft_doc *doc;
} made;

static const weft_mine_network networks[] = {
    {SMALL, 8, 1},
    {OTHER, 4, 2}
};

static weft_mine_request request_of(int n_networks)
{
    return (weft_mine_request){
        .n_networks = n_networks,
        .network = networks,
        .options = {.dtype = WEFT_BF16, .train = true, .optimizer = WEFT_ADAM},
        .template_ = TEMPLATE,
        .area = "300mm2",
        .power = "160W",
        .n_threads = 1,
    };
}

/* What weft mine does, without its command line. */
static made make_design(const weft_mine_request *request, const char *solver, int n_draws)
{
    made m = {.arena = weft_arena_new()};
    weft_run run = {.seed = 1, .n_threads = 1, .limit_s = INFINITY, .scratch = weft_arena_new()};
    weft_mine_figure figure[2];
    weft_design_sensitivity s;
    weft_mine_case c;
    weft_found f;

    CHECK_OK(weft_mine_case_open(request, &c));
    CHECK_OK(weft_miner_find(solver)->mine(&c.objective, NULL, 0, &run, m.arena, &f));
    CHECK(f.value > 0);
    for (int i = 0; i < request->n_networks; i++) {
        weft_workload_eval *eval = c.objective.workload[i].eval[0];

        figure[i] =
            (weft_mine_figure){.macs = c.need[i].macs,
                               .memory_bytes = c.need[i].memory_bytes,
                               .fits = c.need[i].fits,
                               .step_s = weft_eval_step_s(eval, &f.point),
                               .schedule_s = weft_eval_headtail_s(eval, &f.point),
                               .reference_s = weft_eval_step_s(eval, &c.objective.reference)};
    }
    weft_mine_report r = {.objective = &c.objective,
                          .found = &f,
                          .figure = figure,
                          .solver = solver,
                          .dtype = "bf16",
                          .optimizer = "adam",
                          .options = &request->options,
                          .seed = 1};
    if (n_draws > 0) {
        CHECK_OK(weft_objective_sensitivity(&c.objective, &f.point, &c.maker, n_draws, 0.01, &run,
                                            m.arena, &s));
        r.sensitivity = &s;
    }
    m.doc = weft_mine_design_doc(&r, m.arena);
    weft_mine_case_close(&c);
    weft_arena_free(run.scratch);
    return m;
}

static made make_design_pipeline(const weft_mine_request *request)
{
    made m = {.arena = weft_arena_new()};
    weft_run run = {.seed = 1, .n_threads = 1, .limit_s = INFINITY, .scratch = weft_arena_new()};
    weft_design_pipeline_case c;
    weft_design_pipeline_found f;

    CHECK_OK(weft_design_pipeline_case_open(request, &c));
    CHECK_OK(weft_mine_cluster(&c.objective, &run, m.arena, &f));
    CHECK(f.value > 0);
    m.doc = weft_design_pipeline_design_doc(
        &(weft_design_pipeline_report){.objective = &c.objective,
                                       .found = &f,
                                       .dtype = "bf16",
                                       .optimizer = "adam",
                                       .options = &request->options},
        m.arena);
    weft_design_pipeline_case_close(&c);
    weft_arena_free(run.scratch);
    return m;
}

static const char *scratch_file(void)
{
    static char path[] = "/tmp/weft_mine_verify_XXXXXX"; /* mkstemp fills it in once */
    static int fd = -1;

    if (fd < 0)
        fd = mkstemp(path);
    return path;
}

/* --- pages ----------------------------------------------------------------------------------- */

static void check_equal_lengths(const weft_doc *map)
{
    for (int i = 1; i < map->n; i++)
        CHECK_INT(map->item[i]->n, map->item[0]->n);
}

/* Bars lie in the step, rows and lanes exist, bars of one lane do not overlap. */
static void check_timeline(const weft_doc *d)
{
    const weft_doc *bars, *rows, *of[4];
    static const char *const key[] = {"row", "lane", "start", "end"};
    double end_s = weft_doc_get(d, "end")->real;

    CHECK_OK(weft_doc_need(d, "bars", WEFT_DOC_MAP, &bars));
    CHECK_OK(weft_doc_need(d, "rows", WEFT_DOC_LIST, &rows));
    check_equal_lengths(bars);
    for (int k = 0; k < 4; k++)
        of[k] = weft_doc_get(bars, key[k]);
    CHECK(of[0]->n > 0);
    for (int i = 0; i < of[0]->n; i++) {
        int64_t row = of[0]->item[i]->integer, lane = of[1]->item[i]->integer;

        CHECK(row >= 0 && row < rows->n);
        CHECK(lane >= 0 && lane < weft_doc_get(rows->item[row], "lanes")->integer);
        CHECK(of[2]->item[i]->real >= 0 && of[2]->item[i]->real <= of[3]->item[i]->real);
        CHECK(of[3]->item[i]->real <= end_s * (1 + 1e-6));
        for (int k = 0; k < i; k++)
            if (of[0]->item[k]->integer == row && of[1]->item[k]->integer == lane)
                CHECK(of[2]->item[i]->real >= of[3]->item[k]->real - 1e-8 * end_s ||
                      of[2]->item[k]->real >= of[3]->item[i]->real - 1e-8 * end_s);
    }
}

static void check_tables(const weft_doc *page)
{
    const weft_doc *tables = weft_doc_get(page, "tables");

    CHECK(tables->n >= 2);
    for (int i = 0; i < tables->n; i++) {
        const weft_doc *rows = weft_doc_get(tables->item[i], "rows");

        for (int k = 0; k < rows->n; k++)
            CHECK_INT(rows->item[k]->n, weft_doc_get(tables->item[i], "columns")->n);
    }
}

static void check_page(const weft_check_result *v, weft_arena *a)
{
    weft_page_more more = {.graph = v->problem.graph, .command = "weft mine", .version = "1"};
    const weft_doc *page = weft_write_page(v->kind->facts(v->solution, &more, a));
    const weft_doc *result = weft_doc_get(page, "result"), *facts = weft_doc_get(page, "facts");
    const weft_doc *plots = weft_doc_get(page, "plots");

    CHECK(strcmp(weft_doc_get(page, "kind")->text, "mine") == 0);
    CHECK(weft_doc_get(result, "value")->real == weft_doc_get(facts->item[0], "number")->real);
    check_timeline(weft_doc_get(page, "timeline"));
    check_tables(page);
    CHECK_INT(plots->n, strcmp(v->kind->name, "mine") == 0 ? 2 : 0);
    for (int i = 0; i < plots->n; i++)
        CHECK(weft_doc_get(plots->item[i], "points")->n > 0);
    CHECK(strstr(weft_doc_json(page, 0, a), "nan") == NULL);
}

/* --- verdicts -------------------------------------------------------------------------------- */

/* What weft check says of a file. */
typedef struct said {
    int n_wrong;      /* -1: it cannot be read */
    char wrong[4096]; /* all lines, or why it cannot be read */
    int n_unchecked;
    char unchecked[WEFT_MOST_UNCHECKED][40];
} said;

static void note_lines(const weft_check_result *v, said *out)
{
    size_t at = 0;

    out->wrong[0] = '\0';
    for (int i = 0; i < v->n_wrong && i < 100 && at < sizeof out->wrong; i++)
        at += (size_t)snprintf(out->wrong + at, sizeof out->wrong - at, "%s\n", v->wrong[i]);
    out->n_unchecked = v->n_unchecked;
    for (int i = 0; i < v->n_unchecked; i++)
        snprintf(out->unchecked[i], sizeof out->unchecked[i], "%s", v->unchecked[i]);
}

static said said_of(const weft_doc *d, const char *model, const char *template_)
{
    weft_arena *a = weft_arena_new();
    const char *text = weft_doc_json(d, 0, a), *path = scratch_file();
    said out = {.n_wrong = -1};
    weft_check_result v;

    CHECK_OK(weft_file_write(path, text, strlen(text)));
    if (weft_verify(path, model, template_, a, &v) == WEFT_OK) {
        out.n_wrong = v.n_wrong;
        CHECK(v.n_wrong > 0 || (v.kind->is_max && v.has_solution));
        if (v.n_wrong == 0)
            check_page(&v, a);
        note_lines(&v, &out);
        weft_check_result_close(&v);
    } else {
        snprintf(out.wrong, sizeof out.wrong, "%s", weft_message());
    }
    weft_arena_free(a);
    return out;
}

static int n_wrong(const weft_doc *d)
{
    return said_of(d, NULL, NULL).n_wrong;
}

/* --- every change ---------------------------------------------------------------------------- */

/* Writes the hash anew, as somebody may who knows how. */
static void seal(const weft_doc *root)
{
    static char text[17];
    weft_doc *hash = (weft_doc *)weft_doc_get(root, "hash");

    snprintf(text, sizeof text, "%016" PRIx64, weft_design_hash(root));
    hash->text = text;
}

/* "networks[3].weight" is listed as "networks[].weight", and all of "search" as such. */
static bool is_listed(const said *s, const char *where)
{
    char plain[200];
    size_t n = 0;

    for (const char *c = where + 1; *c != '\0' && n + 1 < sizeof plain; c++)
        if (*c < '0' || *c > '9' || c[-1] != '[')
            plain[n++] = *c;
    plain[n] = '\0';
    for (int i = 0; i < s->n_unchecked; i++) {
        size_t length = strlen(s->unchecked[i]);

        if (strncmp(plain, s->unchecked[i], length) == 0 &&
            (plain[length] == '\0' || plain[length] == '.' || plain[length] == '['))
            return true;
    }
    return false;
}

typedef struct count {
    int n_refused, n_listed;
} count;

static count changes;

/* The file has one change: it is refused as it is, and with a new hash, unless the field is among
 * those that are said not to be checked. */
static void check_change(const weft_doc *root, const char *where, bool may_be_listed)
{
    weft_doc *hash = (weft_doc *)weft_doc_get(root, "hash");
    weft_doc before = {.kind = WEFT_DOC_NULL};
    said s;

    if (hash == NULL || strcmp(where, ".hash") == 0) {
        if (n_wrong(root) == 0)
            fail_msg("a change of %s is not noticed", where);
        return;
    }
    before = *hash;
    if (n_wrong(root) == 0)
        fail_msg("a change of %s is not noticed", where);
    seal(root);
    s = said_of(root, NULL, NULL);
    *hash = before;
    if (s.n_wrong == 0 && !(may_be_listed && is_listed(&s, where)))
        fail_msg("a change of %s with a new hash is neither noticed nor listed", where);
    changes.n_refused += s.n_wrong != 0;
    changes.n_listed += s.n_wrong == 0;
}

/* Another value, for each number; false: there are no more. */
static bool change_leaf(weft_doc *leaf, int number)
{
    static const char *const words[] = {
        "other", "optimal",    "bounded",   "throughput", "perf-per-tdp", "geometric",
        "worst", "exhaustive", "front",     "sgd",        "adam",         "f32",
        "none",  "full",       "selective", "common",     "stages",       "samples/J",
        "x",     "mine16",     SMALL,       "climb",
    };
    static const double factor[] = {1.001, 0.5, 2, 0};

    if (leaf->kind == WEFT_DOC_TEXT && number < (int)(sizeof words / sizeof *words)) {
        leaf->text = words[number];
        return true;
    }
    if (leaf->kind == WEFT_DOC_INT && number < 3) {
        leaf->integer = number == 0 ? leaf->integer + 1 : number == 1 ? 2 * leaf->integer + 1 : 0;
        leaf->real = (double)leaf->integer;
        return true;
    }
    if (leaf->kind == WEFT_DOC_REAL && number < 4) {
        leaf->real = leaf->real * factor[number] + (number == 0 ? 1e-3 : 0);
        return true;
    }
    if (leaf->kind == WEFT_DOC_NULL && number == 0) {
        leaf->kind = WEFT_DOC_REAL;
        leaf->real = 1e6;
        return true;
    }
    if (leaf->kind == WEFT_DOC_BOOL && number == 0) {
        leaf->truth = !leaf->truth;
        return true;
    }
    return false;
}

static bool is_same_leaf(const weft_doc *a, const weft_doc *b)
{
    return a->kind == b->kind && (a->kind == WEFT_DOC_TEXT   ? strcmp(a->text, b->text) == 0
                                  : a->kind == WEFT_DOC_BOOL ? a->truth == b->truth
                                                             : a->real == b->real);
}

/* Every leaf gets its first other value; of the rest few are tried, or with WEFT_LONG_TESTS all. */
static bool is_wanted(int number)
{
    static int n_asked;

    if (getenv("WEFT_LONG_TESTS") != NULL || ++n_asked % 16 == 0)
        return true;
    return number == 0 && (IS_THOROUGH || n_asked % 4 == 0);
}

static void check_leaf(const weft_doc *root, weft_doc *leaf, const char *where)
{
    weft_doc before = *leaf;

    for (int i = 0; change_leaf(leaf, i); i++) {
        if (!is_same_leaf(leaf, &before) && is_wanted(i))
            check_change(root, where, true);
        *leaf = before;
    }
}

/* An entry less, and one more: of lists the last is gone. */
static void check_entries(const weft_doc *root, weft_doc *d, const char *where, weft_arena *a)
{
    weft_doc before = *d;

    if (d->kind == WEFT_DOC_LIST && d->n > 0) {
        d->n--;
        check_change(root, where, true);
        *d = before;
    }
    for (int i = 0; d->kind == WEFT_DOC_MAP && i < before.n; i++) {
        const char *key = before.key[i];

        before.key[i] = "another";
        if (is_wanted(i % 4))
            check_change(root, where, false);
        before.key[i] = key;
    }
    if (d->kind == WEFT_DOC_MAP) {
        weft_put_int(a, d, "extra", 1);
        check_change(root, where, false);
        *d = before;
    }
}

static void check_tree(const weft_doc *root, weft_doc *d, const char *where, weft_arena *a)
{
    check_leaf(root, d, where);
    check_entries(root, d, where, a);
    for (int i = 0; i < d->n; i++)
        check_tree(root, d->item[i],
                   d->kind == WEFT_DOC_MAP ? weft_arena_print(a, "%s.%s", where, d->key[i])
                                           : weft_arena_print(a, "%s[%d]", where, i),
                   a);
}

static void check_changes(made m)
{
    CHECK_INT(n_wrong(m.doc), 0);
    check_tree(m.doc, m.doc, "", m.arena);
    CHECK_INT(n_wrong(m.doc), 0); /* all is as it was */
    weft_arena_free(m.arena);
}

TEST(every_change_of_a_design_is_noticed)
{
    weft_mine_request one = request_of(1), two = request_of(2);

    two.metric = WEFT_METRIC_PER_TDP;
    two.power = NULL;
    changes = (count){0};
    check_changes(make_design(&one, "auto", 0));
    check_changes(make_design(&two, "fast", 0));
    check_changes(make_design(&one, "front", 1));
    print_message("devices: %d changes refused, %d listed as not checked\n", changes.n_refused,
                  changes.n_listed);
    CHECK(changes.n_refused > (IS_THOROUGH ? 500 : 50) && changes.n_listed > 0);
}

TEST(every_change_of_a_pipeline_is_noticed)
{
    weft_mine_request one = request_of(1), two = request_of(2);
    weft_design_pipeline f = weft_design_pipeline_default();

    f.n_stages = f.width = f.replicas = 2;
    f.batch = 16;
    one.design_pipeline = two.design_pipeline = &f;
    one.is_per_stage = true;
    one.metric = WEFT_METRIC_PER_TDP;
    changes = (count){0};
    check_changes(make_design_pipeline(&one));
    check_changes(make_design_pipeline(&two));
    print_message("pipelines: %d changes refused, %d listed as not checked\n", changes.n_refused,
                  changes.n_listed);
    CHECK(changes.n_refused > (IS_THOROUGH ? 200 : 20) && changes.n_listed > 0);
}

/* --- single rules ---------------------------------------------------------------------------- */

static weft_doc *at(const weft_doc *d, const char *key)
{
    return (weft_doc *)weft_doc_get(d, key);
}

/* A complaint has these words. */
static void check_says(const weft_doc *d, const char *words)
{
    said s = said_of(d, NULL, NULL);

    if (s.n_wrong == 0 || strstr(s.wrong, words) == NULL)
        fail_msg("'%s' does not say '%s'", s.wrong, words);
}

static void set_real(weft_doc *d, double x)
{
    d->kind = WEFT_DOC_REAL;
    d->real = x;
}

TEST(rules_of_bounds_and_limits)
{
    weft_mine_request r = request_of(1);
    made m = make_design(&r, "auto", 0), climb = make_design(&r, "climb", 0);
    weft_doc *bound = at(m.doc, "bound"), *area = at(at(m.doc, "asked"), "area_mm2");
    double value = at(m.doc, "value")->real;

    set_real(area, 201);
    check_says(m.doc, "mm2, the limit is 201 mm2");
    set_real(area, 300);
    set_real(bound, value * 0.9);
    check_says(m.doc, "gap");
    set_real(at(m.doc, "gap"), 0.1);
    check_says(m.doc, "below the value");
    set_real(bound, value * 1.5);
    set_real(at(m.doc, "gap"), 0.5);
    check_says(m.doc, "is 'optimal', expected 'bounded'");
    /* A solver that proves nothing claims what only a search knows. */
    set_real(at(climb.doc, "bound"), at(climb.doc, "value")->real);
    set_real(at(climb.doc, "gap"), 0);
    check_says(climb.doc, "the solver 'climb' proves nothing");
    weft_arena_free(m.arena);
    weft_arena_free(climb.arena);
}

TEST(designs_of_the_front_do_not_stage_times_each_other)
{
    weft_mine_request r = request_of(1);
    made m = make_design(&r, "front", 0);
    weft_doc *front = at(m.doc, "front"), *first = front->item[0];

    CHECK(front->n > 2);
    front->item[1] = first; /* twice the same */
    check_says(m.doc, "front[1] is beaten by front[0]");
    set_real(at(first, "rows"), 33);
    check_says(m.doc, "rows is 33, which is no size of the template 'small'");
    weft_arena_free(m.arena);
}

/* The best design for inference may be worth less in training than the reference beside it. */
TEST(designs_for_inference_may_be_worse_than_the_front)
{
    static const weft_mine_network network = {"alexnet", 8, 1};
    weft_mine_request r = request_of(1);
    weft_doc *first;
    made m;

    r.network = &network;
    r.metric = WEFT_METRIC_PER_TDP;
    r.least_throughput = 0.5;
    r.power = NULL;
    r.has_forward = true;
    m = make_design(&r, "inference", 0);
    first = at(m.doc, "front")->item[0];
    CHECK(at(first, "throughput")->real / at(first, "tdp_w")->real > at(m.doc, "value")->real);
    CHECK_INT(n_wrong(m.doc), 0);
    at(at(m.doc, "asked"), "solver")->text = "auto";
    check_says(m.doc, "is worth more than the design");
    weft_arena_free(m.arena);
}

TEST(shifts_keep_their_order)
{
    weft_mine_request r = request_of(1);
    made m = make_design(&r, "auto", 1);
    weft_doc *shift = at(at(m.doc, "sensitivity"), "shifts")->item[0];

    at(shift, "flips")->truth = !at(shift, "flips")->truth;
    check_says(m.doc, "sensitivity.shifts[0].flips is wrong");
    set_real(at(shift, "value"), 1e9);
    check_says(m.doc, "more than the best");
    weft_arena_free(m.arena);
}

TEST(stages_follow_one_another)
{
    weft_mine_request r = request_of(1);
    weft_design_pipeline f = weft_design_pipeline_default();
    made m;
    weft_doc *stages;

    f.n_stages = 2;
    f.batch = 8;
    r.design_pipeline = &f;
    m = make_design_pipeline(&r);
    stages = at(at(m.doc, "networks")->item[0], "stages");
    at(stages->item[1], "first_cut")->integer = 0;
    check_says(m.doc, "expected it to begin at");
    at(stages->item[1], "first_cut")->integer = at(stages->item[0], "last_cut")->integer;
    set_real(at(at(m.doc, "asked"), "memory_bytes"), 1000);
    check_says(m.doc, "does not fit the memory");
    at(at(m.doc, "pipeline"), "stages")->integer = 1000;
    check_says(m.doc, "entries, expected 1000");
    weft_arena_free(m.arena);
}

/* A design of one question is none of another. */
TEST(other_networks_and_templates_are_noticed)
{
    weft_mine_request r = request_of(1);
    made m = make_design(&r, "auto", 0);
    said s = said_of(m.doc, OTHER, NULL);

    CHECK(s.n_wrong > 0);
    CHECK(strstr(s.wrong, "network '" SMALL "' has changed since the plan was made") != NULL);
    s = said_of(m.doc, NULL, "mine16");
    CHECK(s.n_wrong > 0);
    CHECK(strstr(s.wrong, "template '" TEMPLATE "' has changed since the plan was made") != NULL);
    weft_arena_free(m.arena);
}

TEST(one_model_cannot_stand_for_two_networks)
{
    weft_mine_request r = request_of(2);
    made m = make_design(&r, "auto", 0);
    said s = said_of(m.doc, SMALL, NULL);

    CHECK_INT(s.n_wrong, -1);
    CHECK(strstr(s.wrong, "the design is for 2 networks") != NULL);
    weft_arena_free(m.arena);
}

/* Limits and front were falsified: a reference within them is better than the "optimum". */
TEST(a_relabelled_design_is_refused)
{
    weft_arena *a = weft_arena_new();
    weft_check_result v;
    said s;

    CHECK_OK(
        weft_verify(WEFT_TEST_DATA "/counterexamples/mine-relabelled.json", NULL, NULL, a, &v));
    note_lines(&v, &s);
    CHECK(strstr(s.wrong, "the reference is worth more than the design") != NULL);
    CHECK(strstr(s.wrong, "the front lacks the design") != NULL);
    CHECK(strstr(s.wrong, "hash is missing") != NULL);
    weft_check_result_close(&v);
    weft_arena_free(a);
}

static int drop_file(void **state)
{
    (void)state;
    return unlink(scratch_file());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_change_of_a_design_is_noticed),
        cmocka_unit_test(every_change_of_a_pipeline_is_noticed),
        cmocka_unit_test(rules_of_bounds_and_limits),
        cmocka_unit_test(designs_of_the_front_do_not_stage_times_each_other),
        cmocka_unit_test(designs_for_inference_may_be_worse_than_the_front),
        cmocka_unit_test(shifts_keep_their_order),
        cmocka_unit_test(stages_follow_one_another),
        cmocka_unit_test(other_networks_and_templates_are_noticed),
        cmocka_unit_test(one_model_cannot_stand_for_two_networks),
        cmocka_unit_test(a_relabelled_design_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, drop_file);
}
