/* SPDX-License-Identifier: MIT */
/* Plans are made, written, changed in one place and verified: no changed plan passes. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include "kind.h"
#include "place.h"

#include <stdlib.h>
#include <unistd.h>

typedef struct made {
    weft_arena *arena;
    weft_doc *doc;
    int n_devices;
    const char *device[16];
} made;

/* The plan of a solver as a document, as `weft place -o` writes it. */
static made make_plan(const weft_request *r, const char *solver_name)
{
    made m = {.arena = weft_arena_new()};
    weft_run run = {.seed = 7, .n_threads = 1, .limit_s = INFINITY, .scratch = weft_arena_new()};
    weft_solution s;
    weft_proof bound;
    weft_case c;

    CHECK_OK(weft_case_open(r, &c));
    weft_place_bound(c.problem, m.arena, &bound);
    CHECK_OK(weft_solve(weft_place_find(solver_name), c.problem, NULL, &run, &bound, m.arena, &s));
    CHECK(s.proof.outcome == WEFT_OPTIMAL || s.proof.outcome == WEFT_BOUNDED);
    weft_plan_origin origin = {r->model, r->platform,  r->format,       r->options,     solver_name,
                               7,        c.model_hash, c.platform_hash, c.problem->hash};
    m.doc = weft_plan_doc(c.problem, &s.plan, &s.proof, &origin,
                          weft_measures_doc(c.problem, &s.measures, m.arena), m.arena);
    m.n_devices = c.problem->n_devices;
    for (int d = 0; d < m.n_devices && d < 16; d++)
        m.device[d] = weft_arena_print(m.arena, "%s", c.problem->device_name[d]);
    weft_arena_free(run.scratch);
    weft_case_close(&c);
    return m;
}

static const char *scratch_file(void)
{
    static char path[] = "/tmp/weft_verify_XXXXXX"; /* mkstemp fills it in once */
    static int fd = -1;

    if (fd < 0)
        fd = mkstemp(path);
    return path;
}

/* Things wrong with the document as a file; -1 if it cannot even be read. */
static int n_wrong(const weft_doc *d, char *first, size_t room)
{
    weft_arena *a = weft_arena_new();
    const char *text = weft_doc_json(d, 0, a), *path = scratch_file();
    weft_check_result v;
    int n = -1;

    CHECK_OK(weft_file_write(path, text, strlen(text)));
    snprintf(first, room, "%s", "");
    if (weft_verify(path, NULL, NULL, a, &v) == WEFT_OK) {
        n = v.n_wrong;
        if (n > 0)
            snprintf(first, room, "%s", v.wrong[0]);
        weft_check_result_close(&v);
    }
    weft_arena_free(a);
    return n;
}

static weft_doc *entry(weft_doc *map, const char *key)
{
    return (weft_doc *)(uintptr_t)weft_doc_get(map, key);
}

typedef WEFT_VEC(weft_doc *) doc_list;

/* All numbers below a document. */
static void collect_numbers(weft_arena *a, weft_doc *d, doc_list *out)
{
    if (d->kind == WEFT_DOC_INT || d->kind == WEFT_DOC_REAL)
        WEFT_PUSH(a, *out, d);
    for (int i = 0; i < d->n; i++)
        collect_numbers(a, d->item[i], out);
}

static void change_number(weft_rng *r, weft_doc *d)
{
    double factor = weft_rng_below(r, 2) ? 1 + 1e-6 : 0.5 + weft_rng_real(r) * 0.4;

    if (d->kind == WEFT_DOC_INT) {
        d->integer += 1 + weft_rng_below(r, 3);
        d->real = (double)d->integer;
    } else {
        d->real = fabs(d->real) < 1e-9 ? 1e-3 : d->real * factor; /* gaps may be as good as 0 */
    }
}

/* One random change; false if it happened to change nothing. */
static bool mutate(weft_rng *r, made *m)
{
    weft_doc *decisions = entry(m->doc, "decisions");
    weft_doc *one = decisions->item[weft_rng_below(r, decisions->n)];
    doc_list numbers = {0};

    switch (weft_rng_below(r, 8)) {
    case 0:
        change_number(r, entry(one, "start_s"));
        return true;
    case 1: {
        weft_doc *device = entry(one, "device");
        const char *other = m->device[weft_rng_below(r, m->n_devices)];
        bool is_other = strcmp(other, device->text) != 0;

        device->text = other;
        return is_other;
    }
    case 2:
        collect_numbers(m->arena, entry(m->doc, "measures"), &numbers);
        change_number(r, numbers.at[weft_rng_below(r, numbers.n)]);
        return true;
    case 3: /* value, bound and gap; the certificate may be changed to a weaker or equal one */
        change_number(r, entry(entry(m->doc, "proof"),
                               (const char *[]){"value", "bound", "gap"}[weft_rng_below(r, 3)]));
        return true;
    case 7: { /* more is certified than the certificates prove */
        weft_doc *proof = entry(m->doc, "proof"), *refuted = entry(proof, "refuted");
        weft_doc *stated =
            refuted->kind == WEFT_DOC_MAP ? entry(refuted, "value") : entry(proof, "certified");

        stated->real *= 1.01;
        return true;
    }
    case 4: { /* a decision is lost */
        decisions->item[weft_rng_below(r, decisions->n)] = decisions->item[decisions->n - 1];
        decisions->n--;
        return true;
    }
    case 5:
        entry(one, "task")->text = "nobody";
        return true;
    default:
        entry(m->doc, "problem_hash")->text = "0123456789abcdef";
        return true;
    }
}

static const char *const solvers[] = {"heft", "bound", "random", "single", "greedy"};

static int mutate_many(const weft_request *r, uint64_t seed, int times)
{
    weft_rng rng = weft_rng_seed(seed);
    int n_mutated = 0;

    for (int i = 0; i < times; i++) {
        made m = make_plan(r, solvers[i % 5]);
        char first[512];

        if (i < 5)
            CHECK_INT(n_wrong(m.doc, first, sizeof first), 0); /* unchanged: nothing is wrong */
        if (mutate(&rng, &m)) {
            n_mutated++;
            if (n_wrong(m.doc, first, sizeof first) == 0)
                fail_msg("a changed plan passes: %s", weft_doc_json(m.doc, 1, m.arena));
        }
        weft_arena_free(m.arena);
    }
    return n_mutated;
}

TEST(no_changed_plan_of_tasks_passes)
{
    static const char *const files[] = {"topcuoglu", "ahmad", "hamid", "hsu", "kuan", "sample"};
    int n = 0;

    for (int i = 0; i < 6; i++) {
        char path[512];
        weft_request r = {.model = path};

        snprintf(path, sizeof path, "%s/tasks/%s.json", WEFT_TEST_DATA, files[i]);
        n += mutate_many(&r, (uint64_t)i + 1, 300);
        r.constraints.goal = WEFT_THROUGHPUT;
        n += mutate_many(&r, (uint64_t)i + 100, 100);
    }
    CHECK(n >= 2000);
}

TEST(no_changed_plan_of_a_network_passes)
{
    weft_request r = {.model = "squeezenet1_1", .platform = "server-cpu-2gpu"};

    CHECK(mutate_many(&r, 5, 60) > 40);
}

TEST(what_was_changed_is_named)
{
    weft_request r = {.model = "alexnet", .platform = "server-cpu-2gpu"};
    made m = make_plan(&r, "heft");
    char first[512];
    weft_doc *conv = entry(m.doc, "decisions")->item[2];

    entry(conv, "start_s")->real += 1e-3;
    CHECK(n_wrong(m.doc, first, sizeof first) > 0);
    CHECK(strstr(first, entry(conv, "task")->text) != NULL);
    entry(conv, "start_s")->real -= 1e-3;
    entry(entry(m.doc, "measures"), "makespan_s")->real *= 1.01;
    CHECK(n_wrong(m.doc, first, sizeof first) == 1);
    CHECK(strstr(first, "makespan_s") != NULL);
    entry(entry(m.doc, "measures"), "makespan_s")->real /= 1.01;
    entry(entry(m.doc, "model"), "source")->text = "alexnet:image=256";
    CHECK(n_wrong(m.doc, first, sizeof first) > 0);
    CHECK(strstr(first, "has changed since the plan was made") != NULL);
    weft_arena_free(m.arena);
}

/* What rests on a search is said to, and only a search may be named for it. */
TEST(bounds_above_their_certificates_need_a_search)
{
    weft_request r = {.model = WEFT_TEST_DATA "/tasks/topcuoglu.json"};
    made m = make_plan(&r, "heft");
    weft_doc *proof = entry(m.doc, "proof");
    weft_arena *a = weft_arena_new();
    char first[512];
    weft_check_result v;

    CHECK_NEAR(entry(proof, "certified")->real, 54.0);
    entry(proof, "bound")->real = 60;
    entry(proof, "gap")->real = (80.0 - 60.0) / 80.0;
    CHECK_INT(n_wrong(m.doc, first, sizeof first), 1);
    CHECK(strstr(first, "is no search") != NULL);
    entry(proof, "method")->text = "search"; /* heft makes none, exact does */
    CHECK_INT(n_wrong(m.doc, first, sizeof first), 1);
    CHECK(strstr(first, "'search' is no search of solver 'heft'") != NULL);
    entry(m.doc, "solver")->text = "exact";
    CHECK_INT(n_wrong(m.doc, first, sizeof first), 0);
    entry(proof, "method")->text = "milp"; /* but not this one */
    CHECK_INT(n_wrong(m.doc, first, sizeof first), 1);
    entry(proof, "method")->text = "search";
    CHECK_INT(n_wrong(m.doc, first, sizeof first), 0);
    CHECK_OK(weft_verify(scratch_file(), NULL, NULL, a, &v));
    CHECK(!v.is_bound_checked);
    CHECK_INT(v.n_unchecked, 4);
    CHECK_TEXT(v.unchecked[2], "proof.bound");
    CHECK_NEAR(v.certified, 54.0);
    weft_check_result_close(&v);
    entry(proof, "certified")->real = 60; /* the path does not prove that, and is no search */
    CHECK_INT(n_wrong(m.doc, first, sizeof first), 2);
    CHECK(strstr(first, "its certificates prove 54") != NULL);
    entry(proof, "certified")->real = 61;
    CHECK_INT(n_wrong(m.doc, first, sizeof first), 3); /* above the bound, too */
    weft_arena_free(a);
    weft_arena_free(m.arena);
}

TEST(refuted_limits_are_refuted_again)
{
    weft_request r = {.model = WEFT_TEST_DATA "/tasks/topcuoglu.json"};
    made m = make_plan(&r, "bound");
    weft_doc *proof = entry(m.doc, "proof"), *refuted = entry(proof, "refuted");
    char first[512];

    CHECK_TEXT(entry(proof, "method")->text, "shaving");
    CHECK_NEAR(entry(refuted, "value")->real, 73.0);
    CHECK_INT(n_wrong(m.doc, first, sizeof first), 0);
    entry(refuted, "shaving")->truth = false; /* propagation alone finds 69 */
    CHECK(n_wrong(m.doc, first, sizeof first) > 0);
    CHECK(strstr(first, "propagation does not find it") != NULL);
    entry(refuted, "shaving")->truth = true;
    entry(refuted, "value")->real *= 1.01;
    CHECK(n_wrong(m.doc, first, sizeof first) > 0);
    CHECK(strstr(first, "propagation with shaving does not find it") != NULL);
    weft_arena_free(m.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_changed_plan_of_tasks_passes),
        cmocka_unit_test(no_changed_plan_of_a_network_passes),
        cmocka_unit_test(what_was_changed_is_named),
        cmocka_unit_test(bounds_above_their_certificates_need_a_search),
        cmocka_unit_test(refuted_limits_are_refuted_again),
    };
    int result = RUN_TESTS(tests);

    unlink(scratch_file());
    return result;
}
