/* SPDX-License-Identifier: MIT */
/* fuzz_piper.c: inputs of Piper from anywhere.
 *
 * 1. The reader refuses the document or makes a problem whose edges go from lower to higher
 *    numbers.
 * 2. The planner comes back; its plan, if it has one, is legal when measured again, is worth what
 * it says, and no less than its bound. What would do where there is none gives a plan. Problems are
 * small, so that one input takes little. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "piper.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_NODES = 16, MOST_DEVICES = 64 };
static const weft_piper_options options = {.max_cuts = 2000, .max_points = 1000};

static void expect(bool condition)
{
    if (!condition)
        abort();
}

static bool has_plan(const weft_piper_solution *s)
{
    return s->outcome == WEFT_OPTIMAL || s->outcome == WEFT_BOUNDED;
}

static void try_needs(const weft_piper *p, const weft_run *run, weft_arena *a)
{
    weft_piper_needs needs;
    weft_piper changed = *p;
    weft_piper_solution s;

    expect(weft_piper_need(p, &options, run, &needs) == WEFT_OK);
    if (needs.memory_bytes > 0) {
        expect(needs.memory_bytes > floor(p->memory_bytes));
        changed.memory_bytes = needs.memory_bytes;
        expect(weft_piper_solve(&changed, &options, run, a, &s) == WEFT_OK);
        expect(has_plan(&s));
    }
    expect(needs.n_devices == 0 || needs.n_devices > p->n_devices);
}

static void try_problem(const weft_piper *p)
{
    weft_arena *a = weft_arena_new();
    weft_run run = {.limit_s = INFINITY};
    weft_piper_solution s;
    weft_piper_measures m;

    for (int e = 0; e < p->n_edges; e++)
        expect(p->edge_from[e] < p->edge_to[e]);
    if (p->n_nodes <= MOST_NODES && p->n_devices <= MOST_DEVICES &&
        weft_piper_solve(p, &options, &run, a, &s) == WEFT_OK) {
        if (has_plan(&s)) {
            expect(weft_piper_measure(p, &s.plan, a, &m) == WEFT_OK);
            expect(m.value_s == s.value_s && s.bound_s <= s.value_s && s.bound_s >= 0);
        } else {
            expect(s.reason != NULL);
            try_needs(p, &run, a);
        }
    }
    weft_arena_free(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    weft_piper *p = NULL;

    if (weft_piper_parse((const char *)data, size, "input", NULL, &p) == WEFT_OK) {
        try_problem(p);
        weft_piper_free(p);
    }
    return 0;
}
