/* SPDX-License-Identifier: MIT */
/* registry.c: the placement solvers by number and by name. */
#include "registry.h"
#include "list.h"

#include <stdatomic.h>
#include <string.h>

#define ROW(name) &weft_place_##name,

static const weft_solver *const solvers[] = {WEFT_PLACE_SOLVERS(ROW)};

enum { N_SOLVERS = (int)(sizeof solvers / sizeof *solvers) };

/* Those of callers of the library: written before the count that makes them visible. */
static const weft_solver *added[WEFT_MOST_ADDED];
static atomic_int n_added;

void weft_place_add(const weft_solver *s)
{
    added[n_added] = s;
    n_added++;
}

int weft_place_count(void)
{
    return N_SOLVERS + n_added;
}

const weft_solver *weft_place_at(int i)
{
    return i < N_SOLVERS ? solvers[i] : added[i - N_SOLVERS];
}

const weft_solver *weft_place_find(const char *name)
{
    for (int i = 0; i < weft_place_count(); i++) {
        if (strcmp(weft_place_at(i)->name, name) == 0)
            return weft_place_at(i);
    }
    return NULL;
}

bool weft_is_schedule(const weft_problem *p)
{
    return p->constraints.goal == WEFT_LATENCY && p->transfer != WEFT_CALLS;
}
