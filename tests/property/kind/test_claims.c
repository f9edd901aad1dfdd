/* SPDX-License-Identifier: MIT */
/* Every single field of plan files of every kind is changed, one at a time, to several other
 * values: weft check refuses each of these files, or lists the field among what it does not check.
 */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include "kind.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* --- plans ----------------------------------------------------------------------------------- */

static const weft_run usual = {.seed = 7, .n_threads = 1, .limit_s = INFINITY, .steps = 2000};

static weft_plan_origin origin_of(const char *model, const char *platform, const char *format,
                                  const weft_model_options *options, const char *solver)
{
    return (weft_plan_origin){.model = model,
                              .platform = platform,
                              .format = format,
                              .options = *options,
                              .solver = solver,
                              .seed = usual.seed};
}

static weft_doc *placed(const weft_request *r, const char *solver, weft_arena *a)
{
    weft_plan_origin o = origin_of(r->model, r->platform, r->format, &r->options, solver);
    weft_run run = usual;
    weft_solution s;
    weft_proof bound;
    weft_doc *d = NULL;
    weft_case c;

    CHECK_OK(weft_case_open(r, &c));
    o.model_hash = c.model_hash;
    o.platform_hash = c.platform_hash;
    o.problem_hash = c.problem->hash;
    run.scratch = weft_arena_new();
    weft_place_bound(c.problem, a, &bound);
    if (weft_solver_applies(weft_place_find(solver), c.problem)) {
        CHECK_OK(weft_solve(weft_place_find(solver), c.problem, NULL, &run, &bound, a, &s));
        if (s.plan.n_tasks > 0)
            d = weft_plan_doc(c.problem, &s.plan, &s.proof, &o,
                              weft_measures_doc(c.problem, &s.measures, a), a);
    }
    if (d != NULL) /* names are those of the case */
        CHECK_OK(weft_doc_parse(weft_doc_json(d, 0, a), strlen(weft_doc_json(d, 0, a)), "plan", a,
                                (const weft_doc **)&d));
    weft_arena_free(run.scratch);
    weft_case_close(&c);
    return d;
}

static weft_doc *sharded(const weft_shard_request *r, const char *solver, weft_arena *a)
{
    weft_plan_origin o = origin_of(r->model, r->platform, NULL, &r->options, solver);
    weft_shard_options options = {.placer = weft_place_find("auto")};
    weft_run run = usual;
    weft_shard_solution s;
    weft_shard_case c;
    weft_doc *d;

    run.steps = 50;
    CHECK_OK(weft_shard_case_open(r, &c));
    o.model_hash = c.model_hash;
    o.platform_hash = c.platform_hash;
    o.problem_hash = c.sharding->hash;
    run.scratch = weft_arena_new();
    CHECK_OK(weft_shard_solve(weft_shard_find(solver), c.sharding, &options, &run, a, &s));
    CHECK(s.plan.n_steps > 0);
    d = weft_shard_plan_doc(c.sharding, &s.plan, &s.proof, &o,
                            weft_shard_plan_measures_doc(c.sharding, &s.measures, a), a);
    CHECK_OK(weft_doc_parse(weft_doc_json(d, 0, a), strlen(weft_doc_json(d, 0, a)), "plan", a,
                            (const weft_doc **)&d));
    weft_arena_free(run.scratch);
    weft_shard_case_close(&c);
    return d;
}

static weft_doc *trained(const weft_train_request *r, const char *solver, weft_arena *a)
{
    weft_plan_origin o = origin_of(r->model, r->platform, NULL, &r->options, solver);
    weft_run run = usual;
    weft_train_solution s;
    weft_train_case c;
    weft_doc *d;

    run.steps = 20000;
    CHECK_OK(weft_train_case_open(r, &c));
    o.model_hash = c.model_hash;
    o.platform_hash = c.platform_hash;
    o.problem_hash = c.training->hash;
    run.scratch = weft_arena_new();
    CHECK_OK(weft_train_solve(weft_train_find(solver), c.training, &run, a, &s));
    CHECK(s.plan.n_stages > 0);
    d = weft_train_plan_doc(c.training, &s.plan, &s.proof, &o,
                            weft_train_measures_doc(c.training, &s.plan, &s.measures, a), a);
    CHECK_OK(weft_doc_parse(weft_doc_json(d, 0, a), strlen(weft_doc_json(d, 0, a)), "plan", a,
                            (const weft_doc **)&d));
    weft_arena_free(run.scratch);
    weft_train_case_close(&c);
    return d;
}

/* --- verdicts -------------------------------------------------------------------------------- */

static const char *scratch_file(void)
{
    static char path[] = "/tmp/weft_claims_XXXXXX"; /* mkstemp fills it in once */
    static int fd = -1;

    if (fd < 0)
        fd = mkstemp(path);
    return path;
}

/* "decisions[3].start_s" is "decisions.start_s" of the list. */
static bool is_same_field(const char *where, const char *field)
{
    while (*where != '\0' && *field != '\0') {
        if (*where == '[') {
            where += strcspn(where, "]") + 1;
            continue;
        }
        if (*where++ != *field++)
            return false;
    }
    return *where == '\0' && *field == '\0';
}

/* Is the file refused, or the field `where` one that nobody checks? "" asks for a file without
 * faults. */
static bool is_noticed(const weft_doc *d, const char *where)
{
    weft_arena *a = weft_arena_new();
    const char *text = weft_doc_json(d, 0, a);
    bool is_refused = true, is_listed = false;
    weft_check_result v;

    CHECK_OK(weft_file_write(scratch_file(), text, strlen(text)));
    if (weft_verify(scratch_file(), NULL, NULL, a, &v) == WEFT_OK) {
        is_refused = v.n_wrong > 0;
        if (is_refused && *where == '\0')
            print_message("%s\n", v.wrong[0]);
        for (int i = 0; i < v.n_unchecked; i++)
            is_listed |= is_same_field(where, v.unchecked[i]);
        weft_check_result_close(&v);
    }
    weft_arena_free(a);
    return is_refused || is_listed;
}

/* --- changes --------------------------------------------------------------------------------- */

/* Words that files of plans have somewhere, and one that none has; the most likely first. */
/* clang-format off */
static const char *const words[] = {
    "nobody", "search", "lp", "cut", "symmetry", "path", "load", "series", "floor", "auto", "heft",
    "optimal", "bounded", "sgd", "f16", "msr", "train floor", "sharding search",
    "placement search", "pipeline search", "work of all devices", "",
    "head-tail", "propagation", "shaving", "memory", "calls path", "milp", "mix", "ideals", "split",
    "domain", "compute", "communication", "exact", "z3", "branch-bound", "equal", "dp",
    "infeasible", "unknown", "latency", "throughput", "overlap", "contend", "block", "calls",
    "platform", "momentum", "adam", "f32", "s", "s/item", "sequential", "branches", "gpipe",
    "1f1b", "interleaved", "none", "full", "0123456789abcdef", "weft.plan/1", "place", "shard",
    "train",
};
/* clang-format on */

enum { N_FEW = 22, N_WORDS = sizeof words / sizeof *words };

/* All words, several plans of a kind: WEFT_LONG_TESTS=1 build/tests/test_claims. */
static bool is_long_test(void)
{
    return getenv("WEFT_LONG_TESTS") != NULL;
}

typedef struct changing {
    weft_doc *root;
    weft_arena *a;
    int n_fields, n_changes;
    int n_plans; /* changes of decisions that make another plan, of which all claims hold too */
} changing;

/* What the plan is, not what it claims. */
static bool is_decision(const char *where)
{
    return strncmp(where, "decisions", 9) == 0 || strncmp(where, "sets[", 5) == 0 ||
           strncmp(where, "steps[", 6) == 0 || strncmp(where, "ways[", 5) == 0;
}

static void try_change(changing *x, weft_doc *leaf, const weft_doc *other, const char *where)
{
    weft_doc before = *leaf;
    bool is_seen;

    *leaf = *other;
    leaf->file = before.file;
    leaf->line = before.line;
    is_seen = is_noticed(x->root, where);
    if (!is_seen && !is_decision(where))
        fail_msg("%s is changed from %s to %s, and nobody notices: %s", where,
                 weft_doc_json(&before, 0, x->a), weft_doc_json(leaf, 0, x->a),
                 weft_doc_json(x->root, 1, x->a));
    x->n_plans += !is_seen;
    *leaf = before;
    x->n_changes++;
}

static void try_real(changing *x, weft_doc *leaf, double real, const char *where)
{
    double least = strcmp(where, "proof.gap") == 0 ? 2e-9 : 1e-7 * fabs(leaf->real);

    if (fabs(real - leaf->real) > least)
        try_change(x, leaf, weft_doc_new_real(x->a, real), where);
}

static void try_int(changing *x, weft_doc *leaf, int64_t integer, const char *where)
{
    if (integer != leaf->integer)
        try_change(x, leaf, weft_doc_new_int(x->a, integer), where);
}

/* Lists of decisions and measures are long, and all their entries are of one kind. */
static bool is_long(const char *where)
{
    return strchr(where, '[') != NULL;
}

static void try_words(changing *x, weft_doc *leaf, const char *where)
{
    int n = is_long(where) ? 1 : is_long_test() ? N_WORDS : N_FEW;

    for (int i = 0; i < n; i++)
        if (leaf->kind != WEFT_DOC_TEXT || strcmp(leaf->text, words[i]) != 0)
            try_change(x, leaf, weft_doc_new_text(x->a, words[i]), where);
}

/* Other texts that stand under the same key, a few. */
static void try_neighbours(changing *x, const weft_doc *d, weft_doc *leaf, const char *key,
                           const char *where, int *n_left)
{
    for (int i = 0; i<d->n && * n_left> 0; i++) {
        const weft_doc *item = d->item[i];

        if (d->kind == WEFT_DOC_MAP && strcmp(d->key[i], key) == 0 && item->kind == WEFT_DOC_TEXT &&
            strcmp(item->text, leaf->text) != 0) {
            (*n_left)--;
            try_change(x, leaf, weft_doc_new_text(x->a, item->text), where);
        }
        if (item->n > 0)
            try_neighbours(x, item, leaf, key, where, n_left);
    }
}

/* A certificate where there was none: a path of one task, a price. */
static void try_lists(changing *x, weft_doc *leaf, const char *where)
{
    const weft_doc *decisions = weft_doc_get(x->root, "decisions");
    weft_doc *list = weft_doc_new(x->a, WEFT_DOC_LIST);

    weft_doc_add(x->a, list, weft_doc_new_real(x->a, 1));
    try_change(x, leaf, list, where);
    if (decisions == NULL || decisions->kind != WEFT_DOC_LIST)
        return;
    list = weft_doc_new(x->a, WEFT_DOC_LIST);
    weft_doc_add(x->a, list,
                 weft_doc_new_text(x->a, weft_doc_get(decisions->item[0], "task")->text));
    try_change(x, leaf, list, where);
}

static void change_leaf(changing *x, weft_doc *leaf, const char *key, const char *where)
{
    int n_left = is_long(where) ? 1 : 6;

    x->n_fields++;
    switch (leaf->kind) {
    case WEFT_DOC_INT:
        try_int(x, leaf, leaf->integer + 1, where);
        try_int(x, leaf, leaf->integer / 2, where);
        break;
    case WEFT_DOC_REAL:
        try_real(x, leaf, leaf->real + (is_long(where) ? 1e-6 * leaf->real : 1), where);
        if (is_long(where) && !is_long_test())
            break;
        try_real(x, leaf, leaf->real * (1 + 1e-6), where);
        try_real(x, leaf, leaf->real * 0.5, where);
        break;
    case WEFT_DOC_BOOL:
        try_change(x, leaf, weft_doc_new_bool(x->a, !leaf->truth), where);
        break;
    case WEFT_DOC_TEXT:
        try_words(x, leaf, where);
        try_neighbours(x, x->root, leaf, key, where, &n_left);
        break;
    default: /* null, or nothing in it */
        try_words(x, leaf, where);
        try_change(x, leaf, weft_doc_new_real(x->a, 1), where);
        try_lists(x, leaf, where);
        break;
    }
}

static void change_tree(changing *x, weft_doc *d, const char *key, const char *where)
{
    if (d->n == 0)
        change_leaf(x, d, key, where);
    for (int i = 0; i < d->n; i++) {
        const char *name = d->kind == WEFT_DOC_MAP ? d->key[i] : key;

        change_tree(x, d->item[i], name,
                    d->kind == WEFT_DOC_MAP
                        ? weft_arena_print(x->a, "%s%s%s", where, *where ? "." : "", name)
                        : weft_arena_print(x->a, "%s[%d]", where, i));
    }
}

/* The plan as it is passes; none that differs does. */
static void change_all(const char *what, weft_doc *plan, weft_arena *a)
{
    changing x = {.root = plan, .a = a};

    if (!is_noticed(plan, ""))
        change_tree(&x, plan, "", "");
    else
        fail_msg("%s: the plan as it was made is refused", what);
    CHECK(!is_noticed(plan, "")); /* all is as it was */
    print_message("%s: %d fields, %d changes, %d other plans that are as good\n", what, x.n_fields,
                  x.n_changes, x.n_plans);
    CHECK(x.n_fields > 40 && x.n_plans <= 3);
}

/* --- the kinds ------------------------------------------------------------------------------- */

static const char *tasks_of(const char *name, weft_arena *a)
{
    return weft_arena_print(a, "%s/tasks/%s", WEFT_TEST_DATA, name);
}

static void change_placement(const char *what, const weft_request *r, const char *solver)
{
    weft_arena *a = weft_arena_new();
    weft_doc *plan = placed(r, solver, a);

    CHECK(plan != NULL);
    change_all(weft_arena_print(a, "%s, %s", what, solver), plan, a);
    weft_arena_free(a);
}

TEST(every_field_of_a_plan_of_tasks)
{
    static const char *const solvers[] = {"heft", "auto", "bound", "milp", "branch-bound"};
    weft_arena *a = weft_arena_new();
    weft_request r = {.model = tasks_of("topcuoglu.json", a)};

    for (int i = 0; i < (is_long_test() ? 5 : 2); i++)
        change_placement("latency", &r, solvers[i]);
    r.constraints.most_latency_s = 1000;
    change_placement("deadline", &r, "auto");
    r.constraints = (weft_constraints){.goal = WEFT_THROUGHPUT};
    change_placement("throughput", &r, "auto");
    r.constraints.is_contiguous = true;
    change_placement("contiguous", &r, "load");
    r.constraints = (weft_constraints){.goal = WEFT_THROUGHPUT, .is_mixed = true};
    change_placement("mix", &r, "auto");
    weft_arena_free(a);
}

TEST(every_field_of_a_plan_of_calls)
{
    weft_arena *a = weft_arena_new();
    weft_request r = {.model = tasks_of("calls.json", a), .constraints.is_calls = true};

    change_placement("calls, latency", &r, "auto");
    r.constraints.goal = WEFT_THROUGHPUT;
    change_placement("calls, throughput", &r, "calls");
    r.constraints.is_contiguous = true;
    change_placement("calls, contiguous", &r, "auto");
    weft_arena_free(a);
}

TEST(every_field_of_a_plan_of_a_network)
{
    weft_arena *a = weft_arena_new();
    weft_request r = {
        .model = weft_arena_print(a, "%s/onnx/small_mlp.onnx", WEFT_TEST_DATA),
        .platform = "server-cpu-2gpu",
        .options.optimizer = WEFT_ADAM,
    };

    change_placement("network", &r, "auto");
    r.constraints = (weft_constraints){.most_segments = 2,
                                       .least_segment_tasks = 1,
                                       .least_segment_s = 1e-9,
                                       .pin = "/Softmax=cpu",
                                       .together = "/Mul,*Concat"};
    change_placement("segments, pins and groups", &r, "auto");
    r.constraints = (weft_constraints){0};
    r.options.train = true;
    r.options.optimizer = WEFT_SGD;
    if (is_long_test())
        change_placement("training step", &r, "heft");
    weft_arena_free(a);
}

TEST(every_field_of_a_plan_of_shards)
{
    weft_arena *a = weft_arena_new();
    weft_shard_request r = {
        .model = weft_arena_print(a, "%s/models/small/small_cnn.onnx", WEFT_TEST_DATA),
        .platform = "f1-2x4",
        .options.optimizer = WEFT_ADAM,
    };

    change_all("shards, auto", sharded(&r, "auto", a), a);
    if (is_long_test())
        change_all("shards, longest-group", sharded(&r, "longest-group", a), a);
    r.platform = "server-cpu-2gpu";
    if (is_long_test())
        change_all("shards side by side", sharded(&r, "auto", a), a);
    weft_arena_free(a);
}

TEST(every_field_of_a_plan_of_training)
{
    static const char *const solvers[] = {"auto", "dp", "equal"};
    weft_arena *a = weft_arena_new();
    weft_train_request r = {
        .model = "gpt2:layers=2,hidden=64,heads=4,seq=16,vocab=100",
        .platform = "mixed-fleet",
        .options = {.train = true,   .optimizer = WEFT_ADAM},
        .constraints = { .batch = 8,
                    .schedules = (1u << WEFT_N_SCHEDULES) - 1,
                    .recomputes = (1u << WEFT_N_RECOMPUTES) - 1,
                    .most_width = 2,
                    .most_chunks = 2}
    };

    for (int i = 0; i < (is_long_test() ? 3 : 1); i++)
        change_all(weft_arena_print(a, "training, %s", solvers[i]), trained(&r, solvers[i], a), a);
    weft_arena_free(a);
}

/* --- what solvers say ------------------------------------------------------------------------ */

/* The file with every claim of the proof made to fit: optimal, by a search. */
static void raise_claims(weft_doc *plan, const char *method, weft_arena *a)
{
    weft_doc *proof = (weft_doc *)(uintptr_t)weft_doc_get(plan, "proof");
    double value = weft_doc_get(proof, "value")->real;

    for (int i = 0; i < proof->n; i++) {
        if (strcmp(proof->key[i], "status") == 0)
            proof->item[i] = weft_doc_new_text(a, "optimal");
        if (strcmp(proof->key[i], "bound") == 0)
            proof->item[i] = weft_doc_new_real(a, value);
        if (strcmp(proof->key[i], "gap") == 0)
            proof->item[i] = weft_doc_new_real(a, 0);
        if (strcmp(proof->key[i], "method") == 0)
            proof->item[i] = weft_doc_new_text(a, method);
    }
}

TEST(a_heuristic_plan_is_not_raised_to_an_optimal_one)
{
    static const char *const solvers[] = {"heft", "single", "split", "bound"};
    weft_constraints asks[] = {{.goal = WEFT_LATENCY}, {.goal = WEFT_THROUGHPUT}};
    weft_arena *a = weft_arena_new();
    weft_request r = {.model = tasks_of("topcuoglu.json", a)};
    int n = 0;

    for (int i = 0; i < 8; i++) {
        r.constraints = asks[i / 4];
        for (int k = 0; k < (is_long_test() ? N_WORDS : N_FEW); k++) {
            weft_doc *plan = placed(&r, solvers[i % 4], a);

            if (plan == NULL ||
                strcmp(weft_doc_get(weft_doc_get(plan, "proof"), "status")->text, "optimal") == 0)
                continue;
            raise_claims(plan, words[k], a);
            if (!is_noticed(plan, "status, bound, gap and method"))
                fail_msg("a plan of '%s' passes as optimal by '%s'", solvers[i % 4], words[k]);
            n++;
        }
    }
    CHECK(n > 3 * N_FEW);
    weft_arena_free(a);
}

/* What solvers claim is what the table of their searches says: none of their plans is refused. */
TEST(plans_of_all_solvers_pass)
{
    static const char *const files[] = {"topcuoglu.json", "ahmad.json", "kuan.json", "calls.json"};
    weft_arena *a = weft_arena_new();
    int n = 0;

    for (int i = 0; i < weft_place_count() * 4 * 4; i++) {
        const char *solver = weft_place_at(i / 16)->name;
        weft_request r = {.model = tasks_of(files[i % 4], a)};
        weft_doc *plan;

        r.constraints.goal = i / 4 % 4 > 0 ? WEFT_THROUGHPUT : WEFT_LATENCY;
        r.constraints.is_contiguous = i / 4 % 4 == 2;
        r.constraints.is_mixed = i / 4 % 4 == 3;
        r.constraints.is_calls = i % 4 == 3;
        if (r.constraints.is_calls && r.constraints.is_mixed)
            continue;
        plan = placed(&r, solver, a);
        if (plan != NULL && is_noticed(plan, ""))
            fail_msg("a plan of '%s' is refused: %s", solver, weft_doc_json(plan, 1, a));
        n += plan != NULL;
    }
    CHECK(n > 100);
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
        cmocka_unit_test(every_field_of_a_plan_of_tasks),
        cmocka_unit_test(every_field_of_a_plan_of_calls),
        cmocka_unit_test(every_field_of_a_plan_of_a_network),
        cmocka_unit_test(every_field_of_a_plan_of_shards),
        cmocka_unit_test(every_field_of_a_plan_of_training),
        cmocka_unit_test(a_heuristic_plan_is_not_raised_to_an_optimal_one),
        cmocka_unit_test(plans_of_all_solvers_pass),
    };

    return cmocka_run_group_tests(tests, NULL, drop_file);
}
