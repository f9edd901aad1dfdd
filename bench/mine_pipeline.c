/* SPDX-License-Identifier: MIT */
/* mine_design_pipeline.c: which designs should the devices of a pipeline have, and how long does it take to
 * know?
 *
 * mine_design_pipeline TEMPLATE AREA_MM2 TDP_W STAGES WIDTH REPLICAS MICROBATCH BATCH MODEL trains the
 * network (Adam, 16 bit) in a pipeline with the default links. One JSON line for each metric, one
 * design for all devices and one for each stage: throughput, power of all devices, value, bound and
 * gap, how many designs the stages have, seconds of the search, and `recut`: the value of the same
 * search if operators are cut over the devices of a block as is best on the winner (of the first
 * stage), not on the reference design. Throughput per TDP with at least half of the throughput of
 * the reference. Exit code: 0, or 1. */
#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mine.h"

typedef struct job {
    weft_template *template_;
    weft_limits limits;
    weft_design_pipeline design_pipeline;
    const char *model;
} job;

static int fail(void)
{
    fprintf(stderr, "mine_fleet: %s\n", weft_message());
    return 1;
}

/* Searches with operators cut as is best on `cut_on`. */
static weft_status search(const job *j, const weft_design_point *cut_on, bool is_per_stage,
                          weft_metric metric, weft_arena *a, weft_design_pipeline_found *out)
{
    weft_model_options options = {.dtype = WEFT_BF16, .optimizer = WEFT_ADAM};
    weft_run run = {.n_threads = 1, .limit_s = INFINITY, .scratch = a};
    weft_design_pipeline_objective q = {.template_ = j->template_,
                                        .design_pipeline = j->design_pipeline,
                                        .n_nets = 1,
                                        .is_per_stage = is_per_stage,
                                        .metric = metric,
                                        .limits = j->limits,
                                        .reference = j->template_->landmark[0].point,
                                        .least_throughput =
                                            metric == WEFT_METRIC_PER_TDP ? 0.5 : 0};
    weft_design_pipeline_net *net;
    const weft_design_pipeline_net *nets[1];
    weft_status status;

    WEFT_TRY(weft_design_pipeline_net_new(j->model, &options, j->template_, cut_on,
                                          &j->design_pipeline, &net));
    nets[0] = net;
    q.net = nets;
    status = weft_mine_cluster(&q, &run, a, out);
    weft_design_pipeline_net_free(net);
    return status;
}

/* Different designs of a plan. */
static int count_designs(const weft_design_pipeline_plan *p)
{
    int n = 0;

    for (int i = 0; i < p->n_stages; i++) {
        bool is_new = true;

        for (int k = 0; k < i; k++)
            is_new = is_new &&
                     memcmp(&p->stage[i].point, &p->stage[k].point, sizeof p->stage[i].point) != 0;
        n += is_new;
    }
    return n;
}

static weft_status measure(const job *j, bool is_per_stage, weft_metric metric)
{
    weft_arena *a = weft_arena_new();
    double begin_s = weft_wall_s(), seconds;
    weft_design_pipeline_found f, again = {0};
    char design[96] = "none";
    weft_status status = search(j, NULL, is_per_stage, metric, a, &f);

    seconds = weft_wall_s() - begin_s;
    if (status == WEFT_OK && f.plan != NULL) {
        weft_point_print(j->template_, &f.plan->stage[0].point, design);
        status = search(j, &f.plan->stage[0].point, is_per_stage, metric, a, &again);
    }
    if (status == WEFT_OK)
        printf("{\"model\": \"%s\", \"stages\": %d, \"width\": %d, \"replicas\": %d, "
               "\"metric\": \"%s\", \"per_stage\": %s, \"outcome\": \"%s\", \"value\": %.9g, "
               "\"bound\": %.9g, \"gap\": %.3g, \"samples_per_s\": %.6g, \"tdp_w\": %.6g, "
               "\"reference_samples_per_s\": %.6g, \"designs\": %d, \"first\": \"%s\", "
               "\"recut\": %.9g, \"feasible\": %lld, \"partitioned\": %lld, \"plans\": %lld, "
               "\"seconds\": %.2f}\n",
               j->model, j->design_pipeline.n_stages, j->design_pipeline.width,
               j->design_pipeline.replicas,
               metric == WEFT_METRIC_PER_TDP ? "per-tdp" : "throughput",
               is_per_stage ? "true" : "false", weft_outcome_name(f.outcome), f.value, f.bound,
               f.value > 0 ? f.gap : 0, f.throughput, f.tdp_w, f.reference_throughput,
               f.plan != NULL ? count_designs(f.plan) : 0, design, again.value,
               (long long)f.n_feasible, (long long)f.n_partitioned, (long long)f.n_plans, seconds);
    fflush(stdout);
    weft_arena_free(a);
    return status;
}

int main(int n, char **arg)
{
    job j = {.design_pipeline = weft_design_pipeline_default()};
    weft_status status = WEFT_OK;

    if (n != 10) {
        fprintf(stderr, "usage: mine_fleet TEMPLATE AREA_MM2 TDP_W STAGES WIDTH REPLICAS "
                        "MICROBATCH BATCH MODEL\n");
        return 1;
    }
    j.limits = (weft_limits){atof(arg[2]), atof(arg[3])};
    j.design_pipeline.n_stages = atoi(arg[4]);
    j.design_pipeline.width = atoi(arg[5]);
    j.design_pipeline.replicas = atoi(arg[6]);
    j.design_pipeline.microbatch = atoi(arg[7]);
    j.design_pipeline.batch = atoi(arg[8]);
    j.model = arg[9];
    if (weft_template_open(arg[1], &j.template_) != WEFT_OK)
        return fail();
    for (int i = 0; i < 4 && status == WEFT_OK; i++)
        status = measure(&j, i % 2, i / 2 ? WEFT_METRIC_PER_TDP : WEFT_METRIC_THROUGHPUT);
    weft_template_free(j.template_);
    return status == WEFT_OK ? 0 : fail();
}
