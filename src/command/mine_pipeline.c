/* SPDX-License-Identifier: MIT */
/* mine_pipeline.c: weft mine MODEL... --stages N: designs for the devices of a pipeline, with the
 * partition of the network. */
#include "command.h"
#include "kind.h"
#include "report.h"

#include <math.h>
#include <string.h>

typedef struct job {
    const weft_mine_flags *flags;
    weft_design_pipeline_case *design_pipeline;
    weft_design_pipeline_found found, common;
    double seconds;
    weft_arena *a;
} job;

static weft_status search_once(job *j, bool is_per_stage, weft_design_pipeline_found *out)
{
    weft_budget_flags effort = *j->flags->make->effort;
    weft_design_pipeline_objective objective = j->design_pipeline->objective;
    weft_watch watch = {0};
    weft_run run;
    weft_status status;

    effort.is_silent = true; /* the search tells of no values meanwhile */
    objective.is_per_stage = is_per_stage;
    WEFT_TRY(weft_budget_read(&effort, WEFT_MINE_LIMIT, &watch, &run));
    run.scratch = weft_arena_new();
    run.begin_s = weft_wall_s();
    status = weft_mine_cluster(&objective, &run, j->a, out);
    weft_arena_free(run.scratch);
    weft_budget_end(&watch);
    return status;
}

static weft_status search(job *j)
{
    double begin_s = weft_wall_s();
    bool is_per_stage = j->design_pipeline->objective.is_per_stage;

    WEFT_TRY(search_once(j, is_per_stage, &j->found));
    j->seconds = weft_wall_s() - begin_s;
    return is_per_stage && !j->flags->make->quiet ? search_once(j, false, &j->common) : WEFT_OK;
}

static weft_claim claim_of(const char *by, const weft_design_pipeline_found *f)
{
    return (weft_claim){
        .by = by, .outcome = f->outcome, .value = f->value > 0 ? f->value : NAN, .bound = f->bound};
}

static weft_doc *plan_of(const void *context, int i, weft_arena *a)
{
    return i == 0 ? weft_design_pipeline_design_doc(context, a) : NULL;
}

/* The step of a network against the least step of any partition with the same choice of designs. */
static weft_status check_steps(const weft_design_pipeline_objective *q,
                               const weft_design_pipeline_found *f)
{
    for (int i = 0; f->value > 0 && i < q->n_nets; i++) {
        const weft_claim claim[2] = {
            weft_claim_plan(q->net[i]->name, f->plan[i].step_s, 0),
            {.by = "bound of partitions", .outcome = WEFT_UNKNOWN, .bound = f->plan[i].bound_s}
        };

        WEFT_TRY(weft_cross_check(&(weft_contest){.n = 2, .claim = claim}));
    }
    return WEFT_OK;
}

/* One design for all stages is a choice of designs for each. */
static weft_status cross_check(const weft_design_pipeline_report *r)
{
    weft_claim claim[2] = {claim_of("auto", r->found)};
    weft_contest x = {.n = 1,
                      .claim = claim,
                      .is_max = true,
                      .unit = weft_design_pipeline_unit(r->objective),
                      .plan = plan_of,
                      .context = r};

    WEFT_TRY(check_steps(r->objective, r->found));
    if (r->common != NULL) {
        const weft_claim common = claim_of("one design for all stages", r->common);

        WEFT_TRY(check_steps(r->objective, r->common));
        WEFT_TRY(weft_cross_check(
            &(weft_contest){.n = 1, .claim = &common, .is_max = true, .unit = x.unit}));
        claim[x.n++] = weft_claim_plan(common.by, common.value, INFINITY);
    }
    return weft_cross_check(&x);
}

static weft_status show(const job *j, int *code)
{
    weft_design_pipeline_report r = {.objective = &j->design_pipeline->objective,
                                     .found = &j->found,
                                     .dtype = j->flags->dtype,
                                     .optimizer = j->flags->optimizer,
                                     .options = &j->flags->request->options};
    const weft_opened p = {.of_kind = j->design_pipeline};
    const weft_made x = {weft_kind_find("pipeline"), &p, NULL, &r, &r, j->seconds, true};

    if (j->design_pipeline->objective.is_per_stage && !j->flags->make->quiet)
        r.common = &j->common;
    WEFT_TRY(cross_check(&r));
    return weft_make_show(j->flags->make, &x, j->a, code);
}

weft_status weft_mine_pipeline(const weft_mine_flags *f, weft_arena *a, int *code)
{
    weft_design_pipeline_case c;
    job j = {.flags = f, .design_pipeline = &c, .a = a};
    weft_status status;

    WEFT_TRY(weft_design_pipeline_case_open(f->request, &c));
    status = search(&j);
    if (status == WEFT_OK)
        status = show(&j, code);
    weft_design_pipeline_case_close(&c);
    return status;
}
