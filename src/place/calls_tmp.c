#include "calls_stream.h"
#include "list.h"
extern const weft_solver weft_place_calls_tmp;
static weft_status solve(const weft_problem *p, const void *options, weft_run *run, weft_plan *plan,
                         weft_proof *proof)
{
    (void)options;
    if (p->transfer != WEFT_CALLS || p->ask.goal != WEFT_THROUGHPUT) return WEFT_OK;
    return p->ask.is_contiguous ? weft_calls_contiguous(p, run, plan, proof) : weft_calls_free(p, run, plan, proof);
}
const weft_solver weft_place_calls_tmp = {"calls", "temporary", NULL, 0, solve};
