/* SPDX-License-Identifier: MIT */
/* pipeline_case.c: opens what a request for the devices of a pipeline names: template and
 * networks, cut for the stages of the pipeline. */
#include "mine_case.h"

#include <string.h>

static weft_status open_nets(const weft_mine_request *r, weft_design_pipeline_case *c)
{
    c->net = WEFT_NEW(c->arena, weft_design_pipeline_net *, r->n_networks);
    c->objective.net = (const weft_design_pipeline_net *const *)c->net;
    c->objective.n_nets = r->n_networks;
    for (int i = 0; i < r->n_networks; i++) {
        weft_model_options options = r->options;

        options.batch = 0; /* that of a microbatch, which the pipeline says */
        options.train = true;
        WEFT_TRY(weft_design_pipeline_net_new(r->network[i].model, &options, c->template_,
                                              &c->objective.reference, r->design_pipeline,
                                              &c->net[i]));
        c->net[i]->weight = r->network[i].weight;
        c->net[i]->name = r->network[i].model; /* with its parameters */
    }
    return WEFT_OK;
}

static weft_status open_case(const weft_mine_request *r, weft_design_pipeline_case *c)
{
    if (r->n_networks < 1)
        return weft_fail(WEFT_E_INPUT, "no network is given");
    WEFT_TRY(weft_mine_template(r, &c->template_));
    c->objective = (weft_design_pipeline_objective){.template_ = c->template_,
                                                    .design_pipeline = *r->design_pipeline,
                                                    .is_per_stage = r->is_per_stage,
                                                    .metric = r->metric,
                                                    .reference = c->template_->landmark[0].point,
                                                    .least_throughput = weft_mine_least(r)};
    WEFT_TRY(weft_mine_limits(r, c->template_, &c->objective.limits));
    return open_nets(r, c);
}

weft_status weft_design_pipeline_case_open(const weft_mine_request *r,
                                           weft_design_pipeline_case *out)
{
    weft_status status;

    memset(out, 0, sizeof *out);
    out->arena = weft_arena_new();
    status = open_case(r, out);
    if (status != WEFT_OK)
        weft_design_pipeline_case_close(out);
    return status;
}

void weft_design_pipeline_case_close(weft_design_pipeline_case *c)
{
    for (int i = 0; c->net != NULL && i < c->objective.n_nets; i++)
        weft_design_pipeline_net_free(c->net[i]);
    weft_template_free(c->template_);
    weft_arena_free(c->arena);
    memset(c, 0, sizeof *c);
}
