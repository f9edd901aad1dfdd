/* SPDX-License-Identifier: MIT */
/* Times from 1e-15 to 1e12 in one problem: lengths that are lost when they are added to a start.
 * Every plan that a solver writes, under every transfer model and goal, passes the check of its
 * file, and simulating it again changes nothing.
 *
 *     test_magnitudes 5000     as many problems instead of a few hundred */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include "kind.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST_TASKS = 9, SOLVERS_A_PROBLEM = 4 };

static int n_asked; /* 0: the usual number */

/* --- problems -------------------------------------------------------------------------------- */

/* How the times of one problem are drawn. */
typedef struct range {
    int kind;
    double low, high; /* powers of ten */
} range;

static double draw_s(weft_rng *r, const range *x)
{
    static const double few[] = {0, 1, 2, 1e9, 3e9, 1e-9, 1e12, 1e-15, 4e-7};
    double low = x->kind == 0 ? -15 : x->low, high = x->kind == 0 ? 12 : x->high;

    if (weft_rng_below(r, 7) == 0)
        return 0;
    if (x->kind == 2)
        return few[weft_rng_below(r, 9)];
    return (1 + 9 * weft_rng_real(r)) * pow(10, low + (high - low) * weft_rng_real(r));
}

static range draw_range(weft_rng *r)
{
    double a = -15 + 27 * weft_rng_real(r), b = -15 + 27 * weft_rng_real(r);

    return (range){weft_rng_below(r, 3), fmin(a, b), fmax(a, b)};
}

static void put_tasks(FILE *to, weft_rng *r, const range *x, int n, int n_devices)
{
    for (int u = 0; u < n; u++) {
        bool is_equal = weft_rng_below(r, 5) == 0;
        int missing = weft_rng_below(r, 5) == 0 ? weft_rng_below(r, n_devices) : -1;
        double all_s = draw_s(r, x);

        fprintf(to, "%s{\"name\":\"t%d\",\"memory\":%d,\"seconds\":[", u ? "," : "", u,
                weft_rng_below(r, 2) * weft_rng_below(r, 9));
        for (int d = 0; d < n_devices; d++) {
            double own_s = draw_s(r, x);

            if (d == missing && n_devices > 1)
                fprintf(to, "%snull", d ? "," : "");
            else
                fprintf(to, "%s%.17g", d ? "," : "", is_equal ? all_s : own_s);
        }
        fprintf(to, "]}");
    }
}

static void put_edges(FILE *to, weft_rng *r, const range *x, int n)
{
    int percent = 15 + 15 * weft_rng_below(r, 4), n_edges = 0;

    for (int v = 0; v < n; v++) {
        for (int u = 0; u < v; u++) {
            double amount = weft_rng_below(r, 3) == 0 ? draw_s(r, x) : weft_rng_below(r, 2);

            if (weft_rng_below(r, 100) < percent)
                fprintf(to, "%s{\"from\":\"t%d\",\"to\":\"t%d\",\"amount\":%.17g}",
                        n_edges++ ? "," : "", u, v, amount);
        }
    }
}

static void put_pairs(FILE *to, weft_rng *r, const range *x, const char *name, int n_devices)
{
    fprintf(to, ",\"%s\":[", name);
    for (int d = 0; d < n_devices; d++) {
        for (int e = 0; e < n_devices; e++)
            fprintf(to, "%s%.17g", e ? "," : d ? ",[" : "[", d == e ? 0 : draw_s(r, x));
        fprintf(to, "]");
    }
    fprintf(to, "]");
}

/* Returns whether a host calls the others. */
static bool put_problem(FILE *to, uint64_t seed)
{
    static const char *const transfers[] = {"overlap", "overlap", "contend", "block", "calls"};
    weft_rng r = weft_rng_seed(seed);
    range x = draw_range(&r);
    int n = 2 + weft_rng_below(&r, MOST_TASKS - 1), n_devices = 1 + weft_rng_below(&r, 3);
    const char *transfer = transfers[weft_rng_below(&r, 5)];

    fprintf(to, "{\"schema\":\"weft.tasks/1\",\"transfer\":\"%s\",\"devices\":[", transfer);
    for (int d = 0; d < n_devices; d++)
        fprintf(to, "%s\"d%d\"", d ? "," : "", d);
    fprintf(to, "],\"tasks\":[");
    put_tasks(to, &r, &x, n, n_devices);
    fprintf(to, "],\"edges\":[");
    put_edges(to, &r, &x, n);
    fprintf(to, "]");
    if (strcmp(transfer, "calls") == 0)
        fprintf(to, ",\"host\":\"d0\"");
    if (weft_rng_below(&r, 2))
        put_pairs(to, &r, &x, "latency", n_devices);
    if (weft_rng_below(&r, 2))
        put_pairs(to, &r, &x, "link", n_devices);
    if (weft_rng_below(&r, 3) == 0) {
        fprintf(to, ",\"capacity\":[");
        for (int d = 0; d < n_devices; d++)
            fprintf(to, "%s%d", d ? "," : "", 8 + weft_rng_below(&r, 20));
        fprintf(to, "]");
    }
    fprintf(to, "}\n");
    return strcmp(transfer, "calls") == 0;
}

/* --- plans ----------------------------------------------------------------------------------- */

typedef struct files {
    char folder[32], model[64], plan[64];
} files;

static files new_files(void)
{
    files f = {.folder = "/tmp/weft-magnitudes-XXXXXX"};

    CHECK(mkdtemp(f.folder) != NULL);
    snprintf(f.model, sizeof f.model, "%s/tasks.json", f.folder);
    snprintf(f.plan, sizeof f.plan, "%s/plan.json", f.folder);
    return f;
}

static void remove_files(const files *f)
{
    unlink(f->model);
    unlink(f->plan);
    rmdir(f->folder);
}

/* Simulated once more, the plan is the same to the last bit. */
static void check_again(const weft_problem *p, const weft_solution *s, weft_arena *a)
{
    weft_plan again = weft_plan_new_variants(p->n_tasks, s->plan.n_variants, a);
    size_t n = (size_t)p->n_tasks * (size_t)s->plan.n_variants;
    weft_measures m;

    memcpy(again.device, s->plan.device, sizeof *again.device * n);
    memcpy(again.start_s, s->plan.start_s, sizeof *again.start_s * n);
    for (int w = 0; s->plan.n_variants > 1 && w < s->plan.n_variants; w++)
        again.share[w] = s->plan.share[w];
    CHECK_OK(weft_evaluate(p, &again, a, &m));
    CHECK(weft_goal_value(p, &m) == s->proof.value);
    CHECK(memcmp(again.start_s, s->plan.start_s, sizeof *again.start_s * n) == 0);
}

/* The plan as `weft place -o` writes it passes what `weft check` does. */
static void check_file(const weft_request *q, const weft_case *c, const weft_solution *s,
                       const char *solver, const char *path)
{
    weft_arena *a = weft_arena_new();
    weft_plan_origin origin = {q->model, q->platform,   q->format,        q->options,      solver,
                               1,        c->model_hash, c->platform_hash, c->problem->hash};
    weft_doc *doc = weft_plan_doc(c->problem, &s->plan, &s->proof, &origin,
                                  weft_measures_doc(c->problem, &s->measures, a), a);
    const char *text = weft_doc_json(doc, 0, a);
    weft_check_result v;

    CHECK_OK(weft_file_write(path, text, strlen(text)));
    CHECK_OK(weft_verify(path, NULL, NULL, a, &v));
    if (v.n_wrong > 0)
        fail_msg("%s: %s", solver, v.wrong[0]);
    weft_check_result_close(&v);
    weft_arena_free(a);
}

/* Returns whether the solver has a plan. */
static bool check_solver(const weft_request *q, const weft_solver *solver, const char *path)
{
    weft_arena *a = weft_arena_new();
    weft_run run = {
        .seed = 1, .n_threads = 1, .limit_s = INFINITY, .steps = 300, .scratch = weft_arena_new()};
    weft_solution s = {.proof = {.outcome = WEFT_UNKNOWN}};
    weft_proof bound;
    weft_case c;
    bool has_plan;

    CHECK_OK(weft_case_open(q, &c));
    weft_place_bound(c.problem, a, &bound);
    if (solver->applies == NULL || solver->applies(c.problem))
        CHECK_OK(weft_solve(solver, c.problem, NULL, &run, &bound, a, &s));
    has_plan = s.proof.outcome == WEFT_OPTIMAL || s.proof.outcome == WEFT_BOUNDED;
    if (has_plan) {
        check_again(c.problem, &s, a);
        check_file(q, &c, &s, solver->name, path);
    }
    weft_arena_free(run.scratch);
    weft_case_close(&c);
    weft_arena_free(a);
    return has_plan;
}

TEST(every_plan_passes_its_check)
{
    files f = new_files();
    int n = n_asked > 0 ? n_asked : N_DRAWN(400), n_plans = 0;

    for (int seed = 1; seed <= n; seed++) {
        weft_rng r = weft_rng_seed((uint64_t)seed + 1000000);
        weft_request q = {.model = f.model};
        FILE *to = fopen(f.model, "w");

        bool is_called;

        CHECK(to != NULL);
        is_called = put_problem(to, (uint64_t)seed);
        CHECK_INT(fclose(to), 0);
        q.constraints.goal = weft_rng_below(&r, 3) == 0 ? WEFT_THROUGHPUT : WEFT_LATENCY;
        q.constraints.is_mixed =
            q.constraints.goal == WEFT_THROUGHPUT && weft_rng_below(&r, 4) == 0 && !is_called;
        n_plans += check_solver(&q, weft_place_find("auto"), f.plan);
        for (int i = 0; i < SOLVERS_A_PROBLEM; i++)
            n_plans +=
                check_solver(&q, weft_place_at(weft_rng_below(&r, weft_place_count())), f.plan);
    }
    print_message("%d problems, %d plans\n", n, n_plans);
    CHECK(n_plans > 2 * n);
    remove_files(&f);
}

/* A length that its start swallows: c before b, though both start at 2e7 for a solver that adds up
 * (tiny.json), and one of the same kind found at random. The best plans are found and kept. */
TEST(swallowed_lengths_keep_their_order)
{
    static const char *const name[] = {WEFT_TEST_DATA "/counterexamples/tiny.json",
                                       WEFT_TEST_DATA "/counterexamples/rounding.json"};
    static const double least_s[] = {20000005, 43089799};
    static const char *const solver[] = {"auto", "exact", "branch-bound", "milp", "heft"};
    files f = new_files();

    for (int i = 0; i < 10; i++) {
        weft_request q = {.model = name[i % 2]};
        weft_run run = {.seed = 1, .n_threads = 1, .limit_s = INFINITY};
        weft_arena *a = weft_arena_new();
        weft_solution s;
        weft_proof bound;
        weft_case c;

        CHECK_OK(weft_case_open(&q, &c));
        weft_place_bound(c.problem, a, &bound);
        run.scratch = weft_arena_new();
        CHECK_OK(weft_solve(weft_place_find(solver[i / 2]), c.problem, NULL, &run, &bound, a, &s));
        CHECK_NEAR(s.proof.value, least_s[i % 2]);
        CHECK_INT(s.proof.outcome, WEFT_OPTIMAL);
        check_again(c.problem, &s, a);
        check_file(&q, &c, &s, solver[i / 2], f.plan);
        weft_arena_free(run.scratch);
        weft_case_close(&c);
        weft_arena_free(a);
    }
    remove_files(&f);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(swallowed_lengths_keep_their_order),
        cmocka_unit_test(every_plan_passes_its_check),
    };

    n_asked = argc > 1 ? atoi(argv[1]) : 0;
    return RUN_TESTS(tests);
}
