/* SPDX-License-Identifier: MIT */
/* Plans of sharded networks are drawn, written, changed in one place and verified: no changed plan
 * passes, and the first line says what was changed. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include "draw_shards.h"

#include <stdlib.h>
#include <unistd.h>

typedef struct made {
    weft_arena *arena;
    weft_shard_case c;
    weft_shard_plan plan;
    weft_doc *doc;
} made;

static weft_shard_plan drawn; /* what the solver of this test returns */

static weft_status solve_drawn(const weft_shard_problem *p, const weft_shard_options *o,
                               weft_run *run, weft_shard_plan *plan, weft_proof *proof)
{
    (void)p, (void)o;
    *plan = weft_shard_plan_copy(&drawn, run->scratch);
    proof->outcome = WEFT_BOUNDED;
    return WEFT_OK;
}

static const weft_shard_solver solver = {.name = "drawn", .summary = "", .solve = solve_drawn};

/* A random plan that fits, as a document. */
static made make_plan(const weft_shard_request *request, uint64_t seed)
{
    made m = {.arena = weft_arena_new()};
    weft_rng r = weft_rng_seed(seed);
    weft_run run = {.seed = 7, .n_threads = 1, .limit_s = INFINITY, .scratch = weft_arena_new()};
    weft_shard_solution s;

    CHECK_OK(weft_shard_case_open(request, &m.c));
    do {
        drawn = draw_shards(m.c.sharding, &r, m.arena);
        CHECK_OK(weft_shard_solve(&solver, m.c.sharding, NULL, &run, m.arena, &s));
    } while (s.proof.outcome == WEFT_UNKNOWN);
    weft_plan_origin origin = {.model = request->model,
                               .platform = request->platform,
                               .options = request->options,
                               .solver = "drawn",
                               .seed = 7,
                               .model_hash = m.c.model_hash,
                               .platform_hash = m.c.platform_hash,
                               .problem_hash = m.c.sharding->hash};
    m.plan = s.plan;
    m.doc = weft_shard_plan_doc(m.c.sharding, &s.plan, &s.proof, &origin,
                                weft_shard_plan_measures_doc(m.c.sharding, &s.measures, m.arena),
                                m.arena);
    weft_arena_free(run.scratch);
    return m;
}

static void free_plan(made *m)
{
    weft_shard_case_close(&m->c);
    weft_arena_free(m->arena);
}

static const char *scratch_file(void)
{
    static char path[] = "/tmp/weft_shards_verify_XXXXXX"; /* mkstemp fills it in once */
    static int fd = -1;

    if (fd < 0)
        fd = mkstemp(path);
    return path;
}

/* Things wrong with the document as a file, joined; -1 and the message if it cannot be read. */
static int n_wrong(const weft_doc *d, char *lines, size_t room)
{
    weft_arena *a = weft_arena_new();
    const char *text = weft_doc_json(d, 0, a), *path = scratch_file();
    weft_check_result v;
    int n = -1;

    CHECK_OK(weft_file_write(path, text, strlen(text)));
    lines[0] = '\0';
    if (weft_verify(path, NULL, NULL, a, &v) == WEFT_OK) {
        n = v.n_wrong;
        CHECK(strcmp(v.kind->name, "shard") == 0 && (n > 0 || v.has_solution));
        for (int i = 0; i < n && i < 100; i++)
            snprintf(lines + strlen(lines), room - strlen(lines), "%s\n", v.wrong[i]);
        weft_check_result_close(&v);
    } else {
        snprintf(lines, room, "%s", weft_message());
    }
    weft_arena_free(a);
    return n;
}

static weft_doc *entry(weft_doc *map, const char *key)
{
    return (weft_doc *)(uintptr_t)weft_doc_get(map, key);
}

static const char *copy_text(made *m, const char *text)
{
    return weft_arena_text(m->arena, text, strlen(text));
}

/* The step that computes longest: a change of how it is cut is felt. */
static int longest_step(const made *m)
{
    double longest = -1;
    int step = 0;

    for (int v = 0; v < m->plan.n_steps; v++) {
        const weft_device_set *t = &m->plan.set[m->plan.set_of[v]];
        weft_split_cost mode = weft_split_cost_of(m->c.sharding->steps, v, &m->plan.split[v],
                                                  weft_device_set_design(m->c.sharding, t));

        if (weft_split_compute_s(&mode) > longest) {
            longest = weft_split_compute_s(&mode);
            step = v;
        }
    }
    return step;
}

static double seconds_of(const made *m, int v, const weft_split *split, int design)
{
    weft_device_set t = m->plan.set[m->plan.set_of[v]];
    weft_link_cost span = weft_device_set_link(m->c.sharding, &t);
    weft_split_cost mode;

    t.design = design;
    mode = weft_split_cost_of(m->c.sharding->steps, v, split,
                              weft_device_set_design(m->c.sharding, &t));
    return weft_split_cost_s(&mode, &span, m->c.sharding->hides);
}

/* --- changes: each returns what a line must contain, or NULL if it does not apply ------------ */

static const char *change_start(made *m, weft_rng *r)
{
    weft_doc *step = entry(m->doc, "steps")->item[weft_rng_below(r, m->plan.n_steps)];

    entry(step, "start_s")->real += 1e-3 * entry(entry(m->doc, "proof"), "value")->real;
    return "start"; /* it differs, or the order is no order any more */
}

static const char *change_design(made *m, weft_rng *r)
{
    int v = longest_step(m), set = m->plan.set_of[v];
    const weft_device *d = &m->c.platform->device[m->plan.set[set].member[0]];
    int design = weft_rng_below(r, d->n_designs);
    double before = seconds_of(m, v, &m->plan.split[v], m->plan.set[set].design);

    if (fabs(seconds_of(m, v, &m->plan.split[v], design) - before) <= 1e-6 * before)
        return NULL;
    entry(entry(m->doc, "sets")->item[set], "design")->text = d->design[design].name;
    return "measures.compute_s";
}

static const char *change_split(made *m, weft_rng *r)
{
    int v = longest_step(m), set = m->plan.set_of[v], n;
    const weft_steps *steps = m->c.sharding->steps;
    double before = seconds_of(m, v, &m->plan.split[v], m->plan.set[set].design);
    const weft_split *split;
    char text[128];

    n = weft_step_splits(steps, v, m->plan.set[set].n, true, m->arena, &split);
    split = &split[weft_rng_below(r, n)];
    if (fabs(seconds_of(m, v, split, m->plan.set[set].design) - before) <= 1e-6 * before)
        return NULL;
    entry(entry(m->doc, "steps")->item[v], "split")->text =
        copy_text(m, weft_split_print(steps, v, split, text));
    return "measures.";
}

/* A member of one set is replaced by one of another, or by another of its own. */
static const char *share_device(made *m, weft_rng *r)
{
    weft_doc *sets = entry(m->doc, "sets");
    weft_doc *one = entry(sets->item[weft_rng_below(r, sets->n)], "devices");
    weft_doc *two = entry(sets->item[weft_rng_below(r, sets->n)], "devices");
    weft_doc *from = one->item[weft_rng_below(r, one->n)];
    weft_doc *to = two->item[weft_rng_below(r, two->n)];

    if (from == to)
        return NULL;
    to->text = from->text;
    return one == two ? "twice" : "and in set";
}

static const char *move_step(made *m, weft_rng *r)
{
    int v = weft_rng_below(r, m->plan.n_steps), k = weft_rng_below(r, m->plan.n_sets);
    weft_doc *set = entry(entry(m->doc, "steps")->item[v], "set");

    if (m->plan.set[k].n == m->plan.set[m->plan.set_of[v]].n)
        return NULL; /* it may cost the same there */
    set->integer = k;
    set->real = k;
    return entry(entry(m->doc, "steps")->item[v], "name")->text;
}

static const char *lose_step(made *m, weft_rng *r)
{
    weft_doc *steps = entry(m->doc, "steps");
    int v = weft_rng_below(r, steps->n);
    const char *name = entry(steps->item[v], "name")->text;

    steps->item[v] = steps->item[--steps->n];
    return weft_arena_print(m->arena, "step '%s' is not in the plan", name);
}

static const char *rename_step(made *m, weft_rng *r)
{
    weft_doc *steps = entry(m->doc, "steps");

    entry(steps->item[weft_rng_below(r, steps->n)], "name")->text = "nobody";
    return "step 'nobody' is not in the model";
}

static const char *change_value(made *m, weft_rng *r)
{
    entry(entry(m->doc, "proof"), "value")->real *= weft_rng_below(r, 2) ? 1 + 1e-6 : 0.9;
    return "proof.value is claimed";
}

static const char *change_bound(made *m, weft_rng *r)
{
    weft_doc *proof = entry(m->doc, "proof"), *bound = entry(proof, "bound");
    double value = entry(proof, "value")->real;

    if (weft_rng_below(r, 2)) { /* more than anything proves */
        bound->real = 0.5 * (bound->real + value);
        entry(proof, "gap")->real = (value - bound->real) / value;
        return "its method 'floor' is no search";
    }
    bound->real = value * 1.5;
    return "above the value";
}

static const char *change_certified(made *m, weft_rng *r)
{
    weft_doc *proof = entry(m->doc, "proof");

    if (weft_rng_below(r, 2)) {
        entry(proof, "certified")->real *= 1.01;
        return "proof.certified is claimed";
    }
    entry(proof, "again")->text = "ceiling";
    return "proof.again is 'ceiling'";
}

static const char *change_gap(made *m, weft_rng *r)
{
    entry(entry(m->doc, "proof"), "gap")->real += 1e-3 * (1 + weft_rng_below(r, 5));
    return "proof.gap is claimed";
}

static const char *change_status(made *m, weft_rng *r)
{
    entry(entry(m->doc, "proof"), "status")->text = weft_rng_below(r, 2) ? "optimal" : "unknown";
    return "proof.status is '";
}

static const char *change_hash(made *m, weft_rng *r)
{
    static const char *const what[] = {"model", "platform", "problem"};
    int i = weft_rng_below(r, 3);
    weft_doc *hash = i == 2 ? entry(m->doc, "problem_hash") : entry(entry(m->doc, what[i]), "hash");

    hash->text = "0123456789abcdef";
    return i == 2 ? "what the plan was asked for" : what[i];
}

typedef WEFT_VEC(weft_doc *) doc_list;
typedef WEFT_VEC(const char *) text_list;

static void collect_numbers(weft_arena *a, weft_doc *d, const char *name, doc_list *out,
                            text_list *names)
{
    if (d->kind == WEFT_DOC_INT || d->kind == WEFT_DOC_REAL) {
        WEFT_PUSH(a, *out, d);
        WEFT_PUSH(a, *names, name);
    }
    for (int i = 0; i < d->n; i++)
        collect_numbers(a, d->item[i], d->kind == WEFT_DOC_MAP ? d->key[i] : name, out, names);
}

static const char *change_measure(made *m, weft_rng *r)
{
    doc_list numbers = {0};
    text_list names = {0};
    int i;

    collect_numbers(m->arena, entry(m->doc, "measures"), "", &numbers, &names);
    i = weft_rng_below(r, numbers.n);
    numbers.at[i]->kind = WEFT_DOC_REAL;
    numbers.at[i]->real =
        fabs(numbers.at[i]->real) < 1e-12 ? 1e-3 : numbers.at[i]->real * (1 + 1e-6);
    return names.at[i];
}

static const char *change_ask(made *m, weft_rng *r)
{
    weft_doc *constraints = entry(m->doc, "ask");

    if (weft_rng_below(r, 2))
        entry(constraints, "semantics")->text =
            m->c.sharding->constraints.is_concurrent ? "sequential" : "branches";
    else
        entry(constraints, "sharing")->truth = !entry(constraints, "sharing")->truth;
    return "what the plan was asked for";
}

static const char *const nothing = "";

static const char *change_text(made *m, weft_rng *r)
{
    weft_doc *set = entry(m->doc, "sets")->item[0];

    switch (weft_rng_below(r, 4)) {
    case 0:
        entry(set, "devices")->item[0]->text = "gpu77";
        return "'gpu77' is no device";
    case 1:
        entry(set, "design")->text = "napkin";
        return "'napkin' is no design";
    case 2:
        entry(entry(m->doc, "steps")->item[0], "split")->text = "all over";
        return "all over";
    default:
        entry(entry(m->doc, "model"), "source")->text = "vgg11";
        return nothing; /* steps are missing, hashes differ */
    }
}

static const char *(*const changes[])(made *m, weft_rng *r) = {
    change_start, change_design,  change_split, share_device,     move_step,  lose_step,
    rename_step,  change_value,   change_bound, change_certified, change_gap, change_status,
    change_hash,  change_measure, change_ask,   change_text,
};

enum { N_CHANGES = (int)(sizeof changes / sizeof *changes) };

static int change_many(const weft_shard_request *request, uint64_t seed, int times)
{
    weft_rng r = weft_rng_seed(seed);
    char lines[8192];
    int n_changed = 0;

    for (int i = 0; i < times; i++) {
        made m = make_plan(request, seed * 1000 + (uint64_t)i / N_CHANGES);
        const char *expected;

        if (i % N_CHANGES == 0 && n_wrong(m.doc, lines, sizeof lines) != 0)
            fail_msg("a plan that nobody changed is refused: %s", lines);
        expected = changes[i % N_CHANGES](&m, &r);
        if (expected != NULL) {
            n_changed++;
            if (n_wrong(m.doc, lines, sizeof lines) == 0)
                fail_msg("change %d passes: %s", i % N_CHANGES, weft_doc_json(m.doc, 1, m.arena));
            if (strstr(lines, expected) == NULL)
                fail_msg("change %d: expected '%s', found: %s", i % N_CHANGES, expected, lines);
        }
        free_plan(&m);
    }
    return n_changed;
}

TEST(no_changed_plan_passes)
{
    weft_shard_request r = {.model = "alexnet", .platform = "f1-2x4", .semantics = "sequential"};
    int n = N_DRAWN(160);

    CHECK(change_many(&r, 1, n) > n * 3 / 4);
    r.semantics = "branches";
    CHECK(change_many(&r, 2, n) > n * 3 / 4);
}

/* What rests on a search is said to, and only a search may be named for it. */
TEST(bounds_above_the_floor_need_a_search)
{
    weft_shard_request r = {.model = "alexnet", .platform = "f1-2x4"};
    made m = make_plan(&r, 5);
    weft_doc *proof = entry(m.doc, "proof");
    double value = entry(proof, "value")->real;
    weft_arena *a = weft_arena_new();
    char lines[8192];
    weft_check_result v;

    CHECK_INT(n_wrong(m.doc, lines, sizeof lines), 0);
    CHECK_OK(weft_verify(scratch_file(), NULL, NULL, a, &v));
    CHECK(v.is_bound_checked && v.problem.of_kind != NULL);
    CHECK_NEAR(v.kind->value(&v.problem, v.solution), value);
    weft_check_result_close(&v);
    entry(proof, "bound")->real = value;
    entry(proof, "gap")->real = 0;
    entry(proof, "status")->text = "optimal";
    entry(proof, "method")->text = "sharding search";
    CHECK_INT(n_wrong(m.doc, lines, sizeof lines), 1); /* of whom? */
    entry(m.doc, "solver")->text = "auto";
    entry(proof, "method")->text = "placement search"; /* not of sets */
    CHECK_INT(n_wrong(m.doc, lines, sizeof lines), 1);
    entry(proof, "method")->text = "sharding search";
    CHECK_INT(n_wrong(m.doc, lines, sizeof lines), 0);
    CHECK_OK(weft_verify(scratch_file(), NULL, NULL, a, &v));
    CHECK(!v.is_bound_checked && v.certified < value);
    weft_check_result_close(&v);
    entry(proof, "method")->text = "search"; /* of placements, not of these */
    CHECK_INT(n_wrong(m.doc, lines, sizeof lines), 1);
    entry(m.doc, "kind")->text = "weave";
    CHECK_INT(n_wrong(m.doc, lines, sizeof lines), -1);
    CHECK(strstr(lines, "kind is 'weave', expected 'place', 'shard', 'train' or 'serve'") != NULL);
    weft_arena_free(a);
    free_plan(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_changed_plan_passes),
        cmocka_unit_test(bounds_above_the_floor_need_a_search),
    };
    int result = RUN_TESTS(tests);

    unlink(scratch_file());
    return result;
}
