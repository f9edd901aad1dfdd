/* SPDX-License-Identifier: MIT */
/* registry.c: the placement solvers by number and by name, from the simplest to the most elaborate.
 * A new one is a file and a row. */
#include "calls_latency.h"
#include "load.h"
#include "orbit.h"

#include <string.h>

static const weft_solver *const solvers[] = {
    &weft_place_single,  &weft_place_met,          &weft_place_greedy,    &weft_place_heft,
    &weft_place_cpop,    &weft_place_peft,         &weft_place_lookahead, &weft_place_random,
    &weft_place_bounder, &weft_place_branch_bound,
#ifdef WEFT_Z3
    &weft_place_z3,
#endif
    &weft_place_split,   &weft_place_calls,        &weft_place_orbit,     &weft_place_exact,
    &weft_place_auto,    &weft_place_load,         &weft_place_milp,
};

int weft_place_count(void)
{
    return (int)(sizeof solvers / sizeof *solvers);
}

const weft_solver *weft_place_at(int i)
{
    return solvers[i];
}

const weft_solver *weft_place_find(const char *name)
{
    for (int i = 0; i < weft_place_count(); i++) {
        if (strcmp(solvers[i]->name, name) == 0)
            return solvers[i];
    }
    return NULL;
}

bool weft_is_schedule(const weft_problem *p)
{
    return p->ask.goal == WEFT_LATENCY && p->transfer != WEFT_CALLS;
}
