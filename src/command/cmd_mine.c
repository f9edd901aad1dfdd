/* SPDX-License-Identifier: MIT */
/* cmd_mine.c: weft mine MODEL... --area 600mm2 --power 280W, and weft mine --study FILE --show. */
#define _POSIX_C_SOURCE 200809L
#include "command.h"
#include "kind.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { USUAL_MICROBATCHES = 8, MOST_NETWORKS = 64, MOST_THREADS = 256 };

typedef struct mine_options {
    weft_model_flags flags;
    const char *area, *power, *memory, *metric, *template, *batch, *weights, *blend, *solver,
        *time_limit;
    double least_throughput;
    int64_t evaluations, seed, threads, sensitivity;
    const char *study, *output, *report, *pareto;
    bool show, json, quiet, verbose;
    struct {
        int64_t stages, width, replicas, microbatch;
        const char *designs, *recompute, *inside, *between;
    } design_pipeline;
} mine_options;

/* clang-format off */
static const weft_option mine_table[] = {
    {WEFT_TEXT(mine_options, area), 0, 0, 0, "area limit: a value (600mm2), or the name of a template design (tpu-v2)", "", NULL},
    {WEFT_TEXT(mine_options, power), 0, 0, 0, "TDP limit: a value (280W), or the name of a template design", "", NULL},
    {WEFT_TEXT(mine_options, memory), 0, 0, 0, "memory per device (32GiB), which takes no area; default: as in the template", "", NULL},
    {WEFT_TEXT(mine_options, metric), 0, 0, 0, "objective to maximise", "throughput", "throughput|perf-per-tdp"},
    {WEFT_REAL(mine_options, least_throughput), 0, 0, 1e6, "lower limit on throughput, relative to the reference design; 0: none (perf-per-tdp: 0.5)", NULL, NULL},
    {WEFT_TEXT(mine_options, template), 0, 0, 0, "template of designs: a preset (see weft list templates) or a file", "mine16", NULL},
    {WEFT_TEXT(mine_options, batch), 0, 0, 0, "samples per training step: one number, or one per network (8,32); default: the largest power of two up to 64 that fits the memory of a device; with --stages, 8 microbatches per stage", "", NULL},
    {WEFT_TEXT(mine_options, weights), 0, 0, 0, "weight of each network in the geometric mean, in order (2,1); default: 1 each", "", NULL},
    {WEFT_TEXT(mine_options, blend), 0, 0, 0, "objective for several networks: the geometric mean of their speed-ups, or the worst", "geometric", "geometric|worst"},
    {WEFT_TEXT(mine_options, flags.optimizer), 0, 0, 0, "optimizer of the training step", "adam", "sgd|momentum|adam"},
    {WEFT_TEXT(mine_options, flags.dtype), 0, 0, 0, "element type of all floating-point tensors; the cores of the presets compute in 16 bit", "bf16", NULL},
    {WEFT_TEXT(mine_options, flags.software), 0, 0, 0, "which operators are one kernel (see docs/costs.md)", "", WEFT_SOFTWARE_WORDS},
    {WEFT_TEXT(mine_options, flags.dim), 0, 0, 0, WEFT_DIM_HELP, "", NULL},
    {WEFT_TEXT(mine_options, solver), 0, 0, 0, "solver to use (see weft list solvers)", "auto", NULL},
    {WEFT_INT(mine_options, evaluations), 0, 0, 1e15, "stop after N designs have been scheduled (deterministic); 0: no limit", NULL, NULL},
    {WEFT_TEXT(mine_options, time_limit), 0, 0, 0, "time limit of the search: 500ms, 5min (default: " WEFT_MINE_LIMIT ", or none with --evaluations)", "", NULL},
    {WEFT_INT(mine_options, seed), 1, 0, 1e15, "seed of randomised solvers", NULL, NULL},
    {WEFT_INT(mine_options, threads), 0, 0, MOST_THREADS, "number of threads; the answer does not depend on it; 0: one per core, or one under mpirun", NULL, NULL},
    {WEFT_INT(mine_options, sensitivity), 0, 0, 1e6, "vary the cost constants within their errors: both ends, and N random draws; 0: off", NULL, NULL},
    {WEFT_TEXT(mine_options, study), 0, 0, 0, "keep all evaluated designs in FILE, and reuse those it has", "", NULL},
    {WEFT_FLAG(mine_options, show), 0, 0, 1, "with --study: print its Pareto fronts without searching; needs no MODEL", NULL, NULL},
    {WEFT_TEXT(mine_options, output), 0, 0, 0, "write the design to FILE (for weft check)", "", NULL},
    {WEFT_TEXT(mine_options, report), 0, 0, 0, "write an HTML report to FILE (see weft report)", "", NULL},
    {WEFT_TEXT(mine_options, pareto), 0, 0, 0, "write the Pareto front to FILE, as CSV", "", NULL},
    {WEFT_INT(mine_options, design_pipeline.stages), 0, 0, 1e6, "design the devices of a pipeline of N stages; 0: one device", NULL, NULL},
    {WEFT_INT(mine_options, design_pipeline.width), 1, 1, 1e6, "pipeline: tensor-parallel width", NULL, NULL},
    {WEFT_INT(mine_options, design_pipeline.replicas), 1, 1, 1e6, "pipeline: replicas per stage", NULL, NULL},
    {WEFT_INT(mine_options, design_pipeline.microbatch), 1, 1, 1e9, "pipeline: samples per microbatch of a replica", NULL, NULL},
    {WEFT_TEXT(mine_options, design_pipeline.designs), 0, 0, 0, "pipeline: one design for all devices, or one per stage", "common", "common|stages"},
    {WEFT_TEXT(mine_options, design_pipeline.recompute), 0, 0, 0, "pipeline: activations to recompute in the backward pass; auto: the best for each stage", "auto", "auto|none|selective|full"},
    {WEFT_TEXT(mine_options, design_pipeline.inside), 0, 0, 0, "pipeline: bandwidth within a tensor-parallel group", "300GB/s", NULL},
    {WEFT_TEXT(mine_options, design_pipeline.between), 0, 0, 0, "pipeline: bandwidth between stages and between replicas", "25GB/s", NULL},
    {WEFT_FLAG(mine_options, json), 0, 0, 1, "print the result as one JSON document", NULL, NULL},
    {WEFT_FLAG(mine_options, quiet), 0, 0, 1, "print errors only", NULL, NULL},
    {WEFT_FLAG(mine_options, verbose), 0, 0, 1, "show the whole Pareto front", NULL, NULL},
    WEFT_OPTIONS_END,
};
/* clang-format on */

/* --- lists of numbers: one for all networks, or one for each --------------------------------- */

typedef struct number_list {
    int n;
    double at[MOST_NETWORKS];
} number_list;

static weft_status read_numbers(const char *flag, const char *text, bool is_whole, number_list *out)
{
    const char *at = text;

    out->n = 0;
    while (*at) {
        char *end;
        double x = strtod(at, &end);
        bool is_good = end > at && (*end == ',' || *end == '\0') && x > 0 && x <= 1e9;

        if (!is_good || (is_whole && x != (double)(int64_t)x) || out->n == MOST_NETWORKS)
            return weft_fail(WEFT_E_INPUT,
                             "--%s is '%s', expected %snumbers above 0, one for each network, with "
                             "commas between them",
                             flag, text, is_whole ? "whole " : "");
        out->at[out->n++] = x;
        at = *end == ',' ? end + 1 : end;
    }
    return WEFT_OK;
}

static weft_status check_number(const char *flag, const number_list *list, int n_networks,
                                bool may_be_one)
{
    if (list->n == n_networks || (may_be_one && list->n <= 1))
        return WEFT_OK;
    return weft_fail(WEFT_E_INPUT, "--%s has %d numbers for %d network%s", flag, list->n,
                     n_networks, n_networks == 1 ? "" : "s");
}

static weft_status read_networks(const mine_options *o, const char *const *model, int n,
                                 weft_arena *a, const weft_mine_network **out)
{
    weft_mine_network *list = WEFT_NEW(a, weft_mine_network, n);
    number_list batch, weight;

    if (n > MOST_NETWORKS)
        return weft_fail(WEFT_E_INPUT, "%d networks are given, at most %d can be", n,
                         MOST_NETWORKS);
    WEFT_TRY(read_numbers("batch", o->batch, true, &batch));
    WEFT_TRY(read_numbers("weights", o->weights, false, &weight));
    WEFT_TRY(check_number("batch", &batch, n, true));
    WEFT_TRY(check_number("weights", &weight, n, weight.n == 0));
    for (int i = 0; i < n; i++)
        list[i] = (weft_mine_network){
            .model = model[i],
            .batch = batch.n == 0 ? 0 : (int64_t)batch.at[batch.n == 1 ? 0 : i],
            .weight = weight.n == 0 ? 1 : weight.at[i],
        };
    *out = list;
    return WEFT_OK;
}

/* --- processes ------------------------------------------------------------------------------- */

static int usual_threads(int n_processes)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);

    return n_processes > 1 || n < 1 ? 1 : n > MOST_THREADS ? MOST_THREADS : (int)n;
}

/* --- pipelines ------------------------------------------------------------------------------- */

static weft_status read_link(const char *flag, const char *text, weft_link_cost *out)
{
    if (weft_unit_parse(text, WEFT_UNIT_BYTES_PER_S, false, &out->bytes_per_s) != WEFT_OK)
        return weft_fail_in(WEFT_E_INPUT, flag);
    return WEFT_OK;
}

static weft_status read_design_pipeline(const mine_options *o, weft_design_pipeline *out)
{
    int64_t at_once = o->design_pipeline.microbatch * o->design_pipeline.replicas;
    number_list batch;

    *out = weft_design_pipeline_default();
    WEFT_TRY(read_numbers("batch", o->batch, true, &batch));
    if (batch.n > 1)
        return weft_fail(WEFT_E_INPUT, "--batch has %d numbers, expected one with --stages",
                         batch.n);
    out->n_stages = (int)o->design_pipeline.stages;
    out->width = (int)o->design_pipeline.width;
    out->replicas = (int)o->design_pipeline.replicas;
    out->microbatch = o->design_pipeline.microbatch;
    out->batch = batch.n == 1 ? (int64_t)batch.at[0]
                              : USUAL_MICROBATCHES * o->design_pipeline.stages * at_once;
    out->recomputes = 0;
    for (int i = 0; i < WEFT_N_RECOMPUTES; i++)
        if (strcmp(o->design_pipeline.recompute, "auto") == 0 ||
            strcmp(o->design_pipeline.recompute, weft_recompute_name((weft_recompute)i)) == 0)
            out->recomputes |= 1u << i;
    WEFT_TRY(read_link("--inside", o->design_pipeline.inside, &out->inside));
    return read_link("--between", o->design_pipeline.between, &out->between);
}

/* What only a search for one device knows. */
static weft_status check_pipeline(const mine_options *o, int n_processes)
{
    const char *flag = *o->study            ? "study"
                       : o->sensitivity > 0 ? "sensitivity"
                       : *o->pareto         ? "pareto"
                       : o->evaluations > 0 ? "evaluations"
                                            : NULL;

    if (flag != NULL)
        return weft_fail(WEFT_E_INPUT, "--%s is not for pipelines (--stages)", flag);
    if (strcmp(o->solver, "auto") != 0)
        return weft_fail(WEFT_E_INPUT, "--solver %s is not for pipelines (--stages), expected auto",
                         o->solver);
    if (strcmp(o->blend, "worst") == 0)
        return weft_fail(WEFT_E_INPUT, "--blend worst is not for pipelines (--stages)");
    if (n_processes > 1)
        return weft_fail(WEFT_E_INPUT, "pipelines (--stages) are searched by one process");
    return WEFT_OK;
}

static weft_status check_single(const mine_options *o)
{
    if (o->design_pipeline.width > 1 || o->design_pipeline.replicas > 1 ||
        o->design_pipeline.microbatch > 1 || strcmp(o->design_pipeline.designs, "common") != 0)
        return weft_fail(WEFT_E_INPUT, "--width, --replicas, --microbatch and --designs are for "
                                       "pipelines, expected --stages N too");
    return WEFT_OK;
}

/* --- the command ----------------------------------------------------------------------------- */

static weft_status fill_request(const mine_options *o, const char *const *model, int n,
                                int n_processes, weft_arena *a, weft_mine_request *out)
{
    *out = (weft_mine_request){
        .n_networks = n,
        .template_ = o->template,
        .area = o->area,
        .power = o->power,
        .memory = o->memory,
        .metric =
            strcmp(o->metric, "perf-per-tdp") == 0 ? WEFT_METRIC_PER_TDP : WEFT_METRIC_THROUGHPUT,
        .blend = strcmp(o->blend, "worst") == 0 ? WEFT_BLEND_WORST : WEFT_BLEND_GEOMETRIC,
        .least_throughput = o->least_throughput,
        .n_threads = o->threads > 0 ? (int)o->threads : usual_threads(n_processes),
        .has_forward = strcmp(o->solver, "inference") == 0,
    };
    WEFT_TRY(read_networks(o, model, n, a, &out->network));
    WEFT_TRY(weft_model_flags_read(&o->flags, a, &out->options));
    out->options.train = true;
    if (out->options.software == WEFT_SOFTWARE_EAGER)
        return weft_fail(WEFT_E_INPUT, "--software is 'eager', but templates have no host_time: "
                                       "expected graph, fused or flash");
    return WEFT_OK;
}

static weft_status run_search(const mine_options *o, const char *const *model, int n, weft_arena *a,
                              int *code)
{
    int n_processes = weft_host_now()->n_processes;
    weft_mine_request request;
    weft_design_pipeline design_pipeline;
    weft_budget_flags effort = {
        .time_limit = o->time_limit, .steps = o->evaluations, .seed = o->seed};
    weft_make make = {.solver = o->solver,
                      .effort = &effort,
                      .output = o->output,
                      .page = o->report,
                      .json = o->json,
                      .quiet = o->quiet,
                      .is_long = o->verbose};
    weft_mine_flags f = {.request = &request,
                         .make = &make,
                         .dtype = o->flags.dtype,
                         .optimizer = o->flags.optimizer,
                         .n_processes = n_processes,
                         .sensitivity = o->sensitivity,
                         .study = o->study,
                         .pareto = o->pareto};

    if (n == 0)
        return weft_fail(WEFT_E_INPUT, "mine: no MODEL is given; see: weft mine --help");
    WEFT_TRY(fill_request(o, model, n, n_processes, a, &request));
    effort.threads = request.n_threads;
    if (o->design_pipeline.stages == 0) {
        WEFT_TRY(check_single(o));
        return weft_mine_search(&f, a, code);
    }
    WEFT_TRY(check_pipeline(o, n_processes));
    WEFT_TRY(read_design_pipeline(o, &design_pipeline));
    request.design_pipeline = &design_pipeline;
    request.is_per_stage = strcmp(o->design_pipeline.designs, "stages") == 0;
    return weft_mine_pipeline(&f, a, code);
}

static weft_status run_show(const mine_options *o, int n, weft_arena *a)
{
    if (*o->study == '\0')
        return weft_fail(WEFT_E_INPUT, "--show prints a study, expected --study FILE too");
    if (n > 0)
        return weft_fail(WEFT_E_INPUT, "--show prints all of a study, expected no MODEL");
    return weft_mine_show(o->study, o->json, o->verbose, o->output, a);
}

static weft_status run(const void *options, const char *const *operand, int n_operands, int *code)
{
    const mine_options *o = options;
    weft_arena *a = weft_arena_new();
    weft_status status =
        o->show ? run_show(o, n_operands, a) : run_search(o, operand, n_operands, a, code);

    weft_arena_free(a);
    return status;
}

const weft_command weft_cmd_mine = {
    .name = "mine",
    .summary = "Choose the accelerator to build for training, within area and power limits",
    .operands = "[MODEL...]",
    .description =
        "Searches a template of accelerators (number and size of tensor cores and vector\n"
        "cores, buffer size) for the design that trains the networks fastest, or with the\n"
        "highest throughput per watt, within area and power limits. Proves that no design\n"
        "of the template is better, or how much better one could be. Throughput is that\n"
        "of one device with its own samples; for several networks, the objective is the\n"
        "geometric mean of their speed-ups over the reference design, the first of the\n"
        "template. With --stages N, weft designs the devices of a pipeline, one design\n"
        "for all or one per stage, together with the partition of the network; limits\n"
        "apply per device. With --study, weft keeps every evaluated design, so that an\n"
        "interrupted search resumes. Ctrl-C ends the search and keeps the best design so\n"
        "far. mpirun distributes the search over several processes and gives the same\n"
        "answer.",
    .examples = "  weft mine resnet50 --area 600mm2 --power 280W\n"
                "  weft mine bert:large gpt2 --area 600mm2 --power 280W --metric perf-per-tdp\n"
                "  weft mine bert:large --area tpu-v2 --power tpu-v2 --sensitivity 20\n"
                "  weft mine resnet50 vgg16 --batch 32,16 --area 400mm2 --study designs.db\n"
                "  weft mine --study designs.db --show\n"
                "  weft mine gpt3 --stages 32 --width 8 --power 280W --designs stages\n"
                "  mpirun -np 4 weft mine gpt2:xl --area 600mm2 --power 280W --json\n",
    .options = mine_table,
    .options_size = sizeof(mine_options),
    .min_operands = 0,
    .max_operands = 1000,
    .run = run,
};
