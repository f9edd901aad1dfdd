/* SPDX-License-Identifier: MIT */
/* cmd_mine.c: weft mine MODEL... --area 600mm2 --power 280W, and weft mine --study FILE --show. */
#define _POSIX_C_SOURCE 200809L
#include "cli.h"
#include "weft/api.h"

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
    } fleet;
} mine_options;

/* clang-format off */
static const weft_option mine_table[] = {
    {WEFT_TEXT(mine_options, area), 0, 0, 0, "the most area (600mm2), or that of a design of the template (tpu-v2)", "", NULL},
    {WEFT_TEXT(mine_options, power), 0, 0, 0, "the most thermal design power (280W), or that of a design of the template", "", NULL},
    {WEFT_TEXT(mine_options, memory), 0, 0, 0, "memory of a device (32GiB), which takes no area here; without: as the template says", "", NULL},
    {WEFT_TEXT(mine_options, metric), 0, 0, 0, "what to maximise", "throughput", "throughput|perf-per-tdp"},
    {WEFT_REAL(mine_options, least_throughput), 0, 0, 1e6, "the least throughput, as a multiple of the reference design's; 0: none, with perf-per-tdp 0.5", NULL, NULL},
    {WEFT_TEXT(mine_options, template), 0, 0, 0, "what may be built: a preset (weft list templates) or a file", "mine16", NULL},
    {WEFT_TEXT(mine_options, batch), 0, 0, 0, "samples of a training step: one number, or one for each network (8,32); without: the largest power of two up to 64 with which training fits the memory of a device, with --stages 8 microbatches a stage", "", NULL},
    {WEFT_TEXT(mine_options, weights), 0, 0, 0, "what each network counts in the geometric mean, in their order (2,1); without: 1 each", "", NULL},
    {WEFT_TEXT(mine_options, blend), 0, 0, 0, "what counts of several networks: the mean of their speed-ups, or the worst", "geometric", "geometric|worst"},
    {WEFT_TEXT(mine_options, flags.optimizer), 0, 0, 0, "optimizer of the training step", "adam", "sgd|momentum|adam"},
    {WEFT_TEXT(mine_options, flags.dtype), 0, 0, 0, "element type of all floating-point tensors; cores of the presets are for 16 bit", "bf16", NULL},
    {WEFT_TEXT(mine_options, flags.dim), 0, 0, 0, "sizes of symbolic dimensions, NAME=N[,NAME=N]; may be repeated", "", NULL},
    {WEFT_TEXT(mine_options, solver), 0, 0, 0, "how to search (weft list solvers)", "auto", NULL},
    {WEFT_INT(mine_options, evaluations), 0, 0, 1e15, "stop after so many designs were scheduled; 0: no limit", NULL, NULL},
    {WEFT_TEXT(mine_options, time_limit), 0, 0, 0, "stop searching after this time: 500ms, 5min (default: " WEFT_MINE_LIMIT ", or none with --evaluations)", "", NULL},
    {WEFT_INT(mine_options, seed), 1, 0, 1e15, "seed of randomised solvers", NULL, NULL},
    {WEFT_INT(mine_options, threads), 0, 0, MOST_THREADS, "threads; the answer does not depend on it; 0: one for each core, or one under mpirun", NULL, NULL},
    {WEFT_INT(mine_options, sensitivity), 0, 0, 1e6, "put the constants of the cost model to the ends of their errors, and draw them so many times; 0: do not", NULL, NULL},
    {WEFT_TEXT(mine_options, study), 0, 0, 0, "keep every evaluated design in this file, and take from it what it knows", "", NULL},
    {WEFT_FLAG(mine_options, show), 0, 0, 1, "with --study: print its fronts and search nothing; no MODEL is needed", NULL, NULL},
    {WEFT_TEXT(mine_options, output), 0, 0, 0, "write the design there, with all that is needed to find it again", "", NULL},
    {WEFT_TEXT(mine_options, report), 0, 0, 0, "write a page to look at there (see weft report)", "", NULL},
    {WEFT_TEXT(mine_options, pareto), 0, 0, 0, "write the front there, as comma-separated values", "", NULL},
    {WEFT_INT(mine_options, fleet.stages), 0, 0, 1e6, "a pipeline of so many stages, and what its devices should be; 0: one device", NULL, NULL},
    {WEFT_INT(mine_options, fleet.width), 1, 1, 1e6, "pipeline: devices that share each tensor", NULL, NULL},
    {WEFT_INT(mine_options, fleet.replicas), 1, 1, 1e6, "pipeline: replicas of each stage", NULL, NULL},
    {WEFT_INT(mine_options, fleet.microbatch), 1, 1, 1e9, "pipeline: samples that a replica works on at once", NULL, NULL},
    {WEFT_TEXT(mine_options, fleet.designs), 0, 0, 0, "pipeline: one design for all devices, or one for each stage", "common", "common|stages"},
    {WEFT_TEXT(mine_options, fleet.recompute), 0, 0, 0, "pipeline: what backward computes again to save memory; auto: the best for each stage", "auto", "auto|none|selective|full"},
    {WEFT_TEXT(mine_options, fleet.inside), 0, 0, 0, "pipeline: bandwidth among the devices that share tensors", "300GB/s", NULL},
    {WEFT_TEXT(mine_options, fleet.between), 0, 0, 0, "pipeline: bandwidth between stages, and between replicas", "25GB/s", NULL},
    {WEFT_FLAG(mine_options, json), 0, 0, 1, "the result as one JSON document", NULL, NULL},
    {WEFT_FLAG(mine_options, quiet), 0, 0, 1, "print nothing but errors", NULL, NULL},
    {WEFT_FLAG(mine_options, verbose), 0, 0, 1, "show the whole front", NULL, NULL},
    WEFT_OPTIONS_END,
};
/* clang-format on */

/* --- lists of numbers: one for all networks, or one for each -----------------------------------
 */

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

/* --- processes -------------------------------------------------------------------------------- */

/* Processes that mpirun has started, as it tells them; 1 without it. */
static int started_processes(void)
{
    static const char *const told[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS"};

    for (int i = 0; i < 3; i++) {
        const char *text = getenv(told[i]);
        int n = text ? atoi(text) : 0;

        if (n > 0)
            return n;
    }
    return 1;
}

static int usual_threads(int n_processes)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);

    return n_processes > 1 || n < 1 ? 1 : n > MOST_THREADS ? MOST_THREADS : (int)n;
}

/* --- pipelines -------------------------------------------------------------------------------- */

static weft_status read_link(const char *flag, const char *text, weft_span *out)
{
    if (weft_unit_parse(text, WEFT_UNIT_BYTES_PER_S, false, &out->bytes_per_s) != WEFT_OK)
        return weft_fail_in(WEFT_E_INPUT, flag);
    return WEFT_OK;
}

static weft_status read_fleet(const mine_options *o, weft_fleet *out)
{
    int64_t at_once = o->fleet.microbatch * o->fleet.replicas;
    number_list batch;

    *out = weft_fleet_default();
    WEFT_TRY(read_numbers("batch", o->batch, true, &batch));
    if (batch.n > 1)
        return weft_fail(WEFT_E_INPUT, "--batch has %d numbers, expected one with --stages",
                         batch.n);
    out->n_stages = (int)o->fleet.stages;
    out->width = (int)o->fleet.width;
    out->replicas = (int)o->fleet.replicas;
    out->microbatch = o->fleet.microbatch;
    out->batch =
        batch.n == 1 ? (int64_t)batch.at[0] : USUAL_MICROBATCHES * o->fleet.stages * at_once;
    out->recomputes = 0;
    for (int i = 0; i < WEFT_N_RECOMPUTES; i++)
        if (strcmp(o->fleet.recompute, "auto") == 0 ||
            strcmp(o->fleet.recompute, weft_recompute_name((weft_recompute)i)) == 0)
            out->recomputes |= 1u << i;
    WEFT_TRY(read_link("--inside", o->fleet.inside, &out->inside));
    return read_link("--between", o->fleet.between, &out->between);
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
    if (o->fleet.width > 1 || o->fleet.replicas > 1 || o->fleet.microbatch > 1 ||
        strcmp(o->fleet.designs, "common") != 0)
        return weft_fail(WEFT_E_INPUT, "--width, --replicas, --microbatch and --designs are for "
                                       "pipelines, expected --stages N too");
    return WEFT_OK;
}

/* --- the command ------------------------------------------------------------------------------ */

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
    return WEFT_OK;
}

static weft_status run_search(const mine_options *o, const char *const *model, int n, weft_arena *a,
                              int *code)
{
    int n_processes = started_processes();
    weft_mine_request request;
    weft_fleet fleet;
    weft_effort_flags effort = {
        .time_limit = o->time_limit, .steps = o->evaluations, .seed = o->seed};
    weft_mine_flags f = {.request = &request,
                         .solver = o->solver,
                         .dtype = o->flags.dtype,
                         .optimizer = o->flags.optimizer,
                         .effort = &effort,
                         .n_processes = n_processes,
                         .sensitivity = o->sensitivity,
                         .study = o->study,
                         .output = o->output,
                         .pareto = o->pareto,
                         .report = o->report,
                         .json = o->json,
                         .quiet = o->quiet,
                         .verbose = o->verbose};

    if (n == 0)
        return weft_fail(WEFT_E_INPUT, "mine: no MODEL is given; see: weft mine --help");
    WEFT_TRY(fill_request(o, model, n, n_processes, a, &request));
    effort.threads = request.n_threads;
    if (o->fleet.stages == 0) {
        WEFT_TRY(check_single(o));
        return weft_mine_search(&f, a, code);
    }
    WEFT_TRY(check_pipeline(o, n_processes));
    WEFT_TRY(read_fleet(o, &fleet));
    request.fleet = &fleet;
    request.is_per_stage = strcmp(o->fleet.designs, "stages") == 0;
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
    .summary = "Which accelerator to build for training, within area and power",
    .operands = "[MODEL...]",
    .description =
        "Searches a template of accelerators (tensor cores, vector cores, their sizes and\n"
        "numbers, the buffer) for the design that trains the networks fastest, or with the most\n"
        "throughput for each watt, within limits of area and power. Proves that no design of the\n"
        "template is better, or says how much better one could be at most. Throughput is that of\n"
        "one device with its own samples; of several networks the geometric mean of what they "
        "gain\n"
        "over the reference design, the first of the template, counts.\n"
        "With --stages N the devices of a pipeline are searched for, all alike or each stage its "
        "own,\n"
        "together with the partition of the network; limits are those of a device.\n"
        "With --study every evaluated design is kept: a search that was killed goes on where it\n"
        "was. Ctrl-C ends the search with the best design so far. mpirun spreads it over several\n"
        "processes, with the same answer.",
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
