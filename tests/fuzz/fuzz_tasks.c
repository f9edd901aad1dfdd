/* SPDX-License-Identifier: MIT */
/* fuzz_tasks.c: files of tasks from anywhere, in both formats, for both goals.
 *
 * 1. The reader refuses the document or makes a problem that keeps its invariants.
 * 2. Every solver comes back without an error; its plan, if it has one, breaks no rule, and is not
 *    worth less than the lower bound says. Problems are small, so that one input takes little. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "invariants.h"
#include "place.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_TASKS = 50, MOST_DEVICES = 8, SEED = 7 };

static void expect(bool condition)
{
    if (!condition)
        abort();
}

static bool has_plan(const weft_solution *s)
{
    return s->proof.outcome == WEFT_OPTIMAL || s->proof.outcome == WEFT_BOUNDED;
}

static void try_solver(const weft_solver *solver, const weft_problem *p, const weft_proof *bound)
{
    weft_arena *a = weft_arena_new();
    weft_run run = {.seed = SEED, .n_threads = 1, .limit_s = INFINITY, .scratch = weft_arena_new()};
    weft_solution s;
    weft_violation violation;

    expect(weft_solve(solver, p, NULL, &run, bound, a, &s) == WEFT_OK);
    if (has_plan(&s)) {
        expect(bound->outcome != WEFT_INFEASIBLE);
        expect(weft_plan_check(p, &s.plan, &violation, 1, a) == 0);
        expect(s.proof.value >= 0 && s.proof.value < INFINITY);
        expect(s.proof.bound <= s.proof.value && s.proof.gap >= 0 && s.proof.gap <= 1);
    }
    weft_arena_free(run.scratch);
    weft_arena_free(a);
}

static void try_solvers(const weft_problem *p)
{
    weft_arena *a = weft_arena_new();
    weft_proof bound;

    weft_place_bound(p, a, &bound);
    for (int i = 0; i < weft_place_count(); i++)
        try_solver(weft_place_at(i), p, &bound);
    weft_arena_free(a);
}

static void try_problem(const weft_doc *doc, bool is_msr, weft_goal goal)
{
    weft_problem *p = NULL;

    if (weft_problem_parse(doc, is_msr, &(weft_constraints){.goal = goal}, &p) != WEFT_OK)
        return;
    weft_problem_check(p);
    if (p->n_tasks <= MOST_TASKS && p->n_devices <= MOST_DEVICES)
        try_solvers(p);
    weft_problem_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    weft_arena *a = weft_arena_new();
    const weft_doc *doc = NULL;

    if (weft_doc_parse((const char *)data, size, "input", a, &doc) == WEFT_OK) {
        for (int is_msr = 0; is_msr < 2; is_msr++) {
            try_problem(doc, is_msr, WEFT_LATENCY);
            try_problem(doc, is_msr, WEFT_THROUGHPUT);
        }
    }
    weft_arena_free(a);
    return 0;
}
