/* SPDX-License-Identifier: MIT */
/* bound_lp.c: paths and loads in one linear program.
 *
 * The relaxation of the latency program (milp_model.c) without the order of tasks: tasks may be
 * split over devices, a way through the network pays its mean times and transfers, a device the
 * loads it gets, all with the same shares. Cuts are added for MOST_ROUNDS rounds.
 *
 * No schedule of the piece is below: every one satisfies the rows. It is at least the load bound
 * and the path bound. The result is moved outwards by what the engine may round. */
#include "milp_place.h"

#include <math.h>

enum { MOST_ROUNDS = 4 };

double weft_lp_bound(const weft_piece *x, double limit_s, weft_arena *a)
{
    size_t mark = weft_arena_mark(a);
    weft_milp_model m = weft_milp_model_new(x, INFINITY, WEFT_MILP_RELAXED, a);
    weft_milp_effort e = {.limit_s = limit_s, .rounds = MOST_ROUNDS};
    double bound;

    weft_milp_model_tighten(&m, &e);
    bound = m.is_empty ? INFINITY : m.lower;
    weft_milp_free(m.milp);
    weft_arena_rewind(a, mark);
    return bound;
}
