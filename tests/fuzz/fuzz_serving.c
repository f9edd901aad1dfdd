/* SPDX-License-Identifier: MIT */
/* fuzz_serving.c: problems of serving from anywhere.
 *
 * 1. The reader refuses the document or makes a problem.
 * 2. Solvers of a small problem come back without an error, within few steps; a plan is legal and not
 *    worth more than the bound. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "serve.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_NODES = 12, MOST_LAYERS = 40, SEED = 7, STEPS = 3000 };

static void expect(bool condition)
{
    if (!condition)
        abort();
}

static void try_solver(const weft_serve_solver *solver, const weft_serve_problem *p)
{
    weft_arena *a = weft_arena_new();
    weft_run run = {.seed = SEED,
                    .n_threads = 1,
                    .limit_s = INFINITY,
                    .steps = STEPS,
                    .scratch = weft_arena_new()};
    weft_serve_solution s;
    weft_violation violation;

    expect(weft_serve_solve(solver, p, &run, a, &s) == WEFT_OK);
    if (weft_has_plan(&s.proof)) {
        expect(weft_serve_plan_check(p, &s.plan, &violation, 1, a) == 0);
        expect(s.proof.value > 0 && s.proof.value < INFINITY);
        expect(s.proof.bound >= s.proof.value && s.proof.gap >= 0);
    }
    weft_arena_free(run.scratch);
    weft_arena_free(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    weft_arena *a = weft_arena_new();
    const weft_doc *doc = NULL;
    weft_serve_problem *p = NULL;

    if (weft_doc_parse((const char *)data, size, "input", a, &doc) == WEFT_OK &&
        weft_serve_problem_of_doc(doc, &p) == WEFT_OK) {
        for (int i = 0; i < weft_serve_count(); i++)
            if (p->n_nodes <= MOST_NODES && p->n_layers <= MOST_LAYERS)
                try_solver(weft_serve_at(i), p);
        weft_serve_problem_free(p);
    }
    weft_arena_free(a);
    return 0;
}
