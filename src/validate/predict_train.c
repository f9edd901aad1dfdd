/* SPDX-License-Identifier: MIT */
/* predict_train.c: a step of training whose cut is given is valued like weft train --exactly. */
#include "kind.h"
#include "measured.h"
#include "train.h"

#include <math.h>

static weft_status read_cut(const weft_train_shape *s, weft_arena *a, weft_train_constraints *out)
{
    const char *text = weft_arena_print(
        a,
        "tp=%lld,pp=%lld,dp=%lld,mbs=%lld,schedule=%s,recompute=%s,zero=%lld,chunks=%lld,sp=%lld",
        (long long)s->tp, (long long)s->pp, (long long)s->dp, (long long)s->mbs, s->schedule,
        s->recompute, (long long)s->zero, (long long)s->chunks, (long long)s->sp);

    *out = (weft_train_constraints){.batch = s->batch};
    return weft_train_exactly("column 'params'", text, out);
}

static weft_status value(const weft_train_problem *p, weft_arena *a, double *out)
{
    weft_run run = {.seed = 1, .n_threads = 1, .limit_s = INFINITY, .scratch = weft_arena_new()};
    weft_train_solution solution = {0};
    weft_status status = weft_train_solve(weft_train_find("auto"), p, &run, a, &solution);

    weft_arena_free(run.scratch);
    *out = weft_has_plan(&solution.proof) ? solution.measures.step_s : INFINITY;
    return status;
}

weft_status weft_ready_train_s(const weft_ready *r, double *out)
{
    const weft_train_shape *shape = r->row->shape;
    weft_arena *a = weft_arena_new();
    weft_train_request request = {
        .model = r->row->model,
        .platform = r->platform_name,
        .options = {.dtype = r->row->type,
                    .train = true,
                    .optimizer = WEFT_ADAM,
                    .software = r->row->software,
                    .has_software = r->row->has_software}
    };
    weft_train_case opened;
    weft_status status = read_cut(shape, a, &request.constraints);

    if (status == WEFT_OK)
        status = weft_train_case_open(&request, &opened);
    if (status == WEFT_OK) {
        status = value(opened.training, a, out);
        weft_train_case_close(&opened);
    }
    weft_arena_free(a);
    return status;
}
