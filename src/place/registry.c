/* SPDX-License-Identifier: MIT */
/* registry.c: the placement solvers by number and by name, from the simplest to the most elaborate.
 * A new one is a file and a row. */
#include "list.h"

#include <string.h>

static const weft_solver *const solvers[] = {
    &weft_place_single,  &weft_place_met,   &weft_place_greedy,    &weft_place_heft,
    &weft_place_cpop,    &weft_place_peft,  &weft_place_lookahead, &weft_place_random,
    &weft_place_bounder, &weft_place_split, &weft_place_exact,     &weft_place_auto,
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
