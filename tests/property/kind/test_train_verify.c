/* SPDX-License-Identifier: MIT */
/* Plans of training are made, written, changed in one place and verified: the file as it was
 * passes, and no change of a number, word or truth value does but those of what nobody claims
 * (solver, seed).
 */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include "kind.h"

#include <stdlib.h>
#include <unistd.h>

typedef struct made {
    weft_arena *arena;
    weft_train_case c;
    weft_doc *doc;
} made;

static made make_plan(const weft_train_request *request, const char *solver)
{
    made m = {.arena = weft_arena_new()};
    weft_run run = {.seed = 7, .n_threads = 1, .limit_s = INFINITY, .scratch = weft_arena_new()};
    weft_train_solution s;

    CHECK_OK(weft_train_case_open(request, &m.c));
    CHECK_OK(weft_train_solve(weft_train_find(solver), m.c.training, &run, m.arena, &s));
    CHECK(s.proof.outcome == WEFT_OPTIMAL || s.proof.outcome == WEFT_BOUNDED);
    weft_plan_origin origin = {.model = request->model,
                               .platform = request->platform,
                               .options = request->options,
                               .solver = solver,
                               .seed = 7,
                               .model_hash = m.c.model_hash,
                               .platform_hash = m.c.platform_hash,
                               .problem_hash = m.c.training->hash};
    m.doc = weft_train_plan_doc(
        m.c.training, &s.plan, &s.proof, &origin,
        weft_train_measures_doc(m.c.training, &s.plan, &s.measures, m.arena), m.arena);
    weft_arena_free(run.scratch);
    return m;
}

static void free_plan(made *m)
{
    weft_train_case_close(&m->c);
    weft_arena_free(m->arena);
}

static const char *scratch_file(void)
{
    static char path[] = "/tmp/weft_train_verify_XXXXXX"; /* mkstemp fills it in once */
    static int fd = -1;

    if (fd < 0)
        fd = mkstemp(path);
    return path;
}

/* Things wrong with the document as a file; -1: it cannot be read. */
static int n_wrong(const weft_doc *d)
{
    weft_arena *a = weft_arena_new();
    const char *text = weft_doc_json(d, 0, a), *path = scratch_file();
    weft_check_result v;
    int n = -1;

    CHECK_OK(weft_file_write(path, text, strlen(text)));
    if (weft_verify(path, NULL, NULL, a, &v) == WEFT_OK) {
        n = v.n_wrong;
        CHECK(n > 0 || (strcmp(v.kind->name, "train") == 0 && v.has_solution));
        weft_check_result_close(&v);
    }
    weft_arena_free(a);
    return n;
}

/* Changes one value of the tree and puts it back; the test runs for each of them. */
static int n_changed;

static void check_leaf(const weft_doc *root, weft_doc *leaf, const char *where)
{
    weft_doc before = *leaf;

    switch (leaf->kind) {
    case WEFT_DOC_INT:
        leaf->integer++;
        leaf->real++;
        break;
    case WEFT_DOC_REAL:
        leaf->real = leaf->real * 1.001 + 1e-3;
        break;
    case WEFT_DOC_BOOL:
        leaf->truth = !leaf->truth;
        break;
    case WEFT_DOC_TEXT:
        leaf->text = "other";
        break;
    default:
        return;
    }
    if (n_wrong(root) == 0)
        fail_msg("a change of %s is not noticed", where);
    n_changed++;
    *leaf = before;
}

static bool is_claimed(const char *key)
{
    return strcmp(key, "solver") != 0 && strcmp(key, "seed") != 0;
}

static void check_tree(const weft_doc *root, weft_doc *d, const char *where, weft_arena *a)
{
    check_leaf(root, d, where);
    for (int i = 0; i < d->n; i++) {
        const char *key = d->kind == WEFT_DOC_MAP ? d->key[i] : "";

        if (d->kind == WEFT_DOC_LIST || is_claimed(key))
            check_tree(root, d->item[i], weft_arena_print(a, "%s.%s[%d]", where, key, i), a);
    }
}

static weft_train_request request_of(const char *model, const char *platform)
{
    return (weft_train_request){
        .model = model,
        .platform = platform,
        .options = {.train = true,   .optimizer = WEFT_ADAM},
        .constraints = { .batch = 8,
                    .schedules = (1u << WEFT_N_SCHEDULES) - 1,
                    .recomputes = (1u << WEFT_N_RECOMPUTES) - 1,
                    .most_width = 2,
                    .most_chunks = 2}
    };
}

static void check_plan(const weft_train_request *request, const char *solver)
{
    made m = make_plan(request, solver);

    CHECK_INT(n_wrong(m.doc), 0);
    check_tree(m.doc, m.doc, "", m.arena);
    CHECK_INT(n_wrong(m.doc), 0); /* all is as it was */
    free_plan(&m);
}

TEST(every_change_of_a_plan_is_noticed)
{
    static const char *const model = "gpt2:layers=2,hidden=64,heads=4,seq=16,vocab=100";
    weft_train_request mixed = request_of(model, "mixed-fleet");
    weft_train_request equal = request_of(model, "dgx-a100");

    check_plan(&mixed, "auto");
    check_plan(&equal, "dp");
    CHECK(n_changed > 150);
}

TEST(interleaved_plans_are_verified)
{
    weft_train_request r =
        request_of("gpt2:layers=2,hidden=64,heads=4,seq=16,vocab=100", "dgx-a100");

    r.constraints.schedules = 1u << WEFT_INTERLEAVED;
    check_plan(&r, "auto");
}

/* A plan of one problem is none of another. */
TEST(other_models_and_platforms_are_noticed)
{
    static const char *const model = "gpt2:layers=2,hidden=64,heads=4,seq=16,vocab=100";
    weft_train_request r = request_of(model, "dgx-a100");
    made m = make_plan(&r, "auto");
    weft_arena *a = weft_arena_new();
    const char *text = weft_doc_json(m.doc, 0, a);
    weft_check_result v;

    CHECK_OK(weft_file_write(scratch_file(), text, strlen(text)));
    CHECK_OK(weft_verify(scratch_file(), "gpt2:layers=2,hidden=128,heads=4,seq=16,vocab=100", NULL,
                         a, &v));
    CHECK(v.n_wrong > 0 && strstr(v.wrong[0], "has changed since the plan was made") != NULL);
    weft_check_result_close(&v);
    CHECK_OK(weft_verify(scratch_file(), NULL, "cluster-32", a, &v));
    CHECK(v.n_wrong > 0 && strstr(v.wrong[0], "has changed since the plan was made") != NULL);
    weft_check_result_close(&v);
    weft_arena_free(a);
    free_plan(&m);
}

static int drop_file(void **state)
{
    (void)state;
    return unlink(scratch_file());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_change_of_a_plan_is_noticed),
        cmocka_unit_test(interleaved_plans_are_verified),
        cmocka_unit_test(other_models_and_platforms_are_noticed),
    };

    return cmocka_run_group_tests(tests, NULL, drop_file);
}
