/* SPDX-License-Identifier: MIT */
/* cmd_train.c: weft train MODEL --on PLATFORM, and weft train FILE.json --objective piper. */
#include "cli.h"
#include "weft/api.h"

#include <limits.h>
#include <string.h>

typedef struct train_options {
    weft_model_flags flags;
    weft_effort_flags effort;
    const char *on, *objective, *solver, *schedule, *recompute, *output, *trace, *report;
    int64_t microbatch, width, replicas, stages, chunks;
    bool split_moments, json, quiet, verbose;
    struct {
        int64_t devices, microbatches, max_cuts;
        const char *memory, *bandwidth;
    } piper;
} train_options;

/* clang-format off */
static const weft_option train_table[] = {
    {WEFT_TEXT(train_options, on), 0, 0, 0, "platform: a file, or a preset (weft list platforms)", "", NULL},
    {WEFT_INT(train_options, flags.batch), 512, 1, 1e9, "samples of a training step", NULL, NULL},
    {WEFT_INT(train_options, microbatch), 0, 0, 1e9, "samples that enter the pipeline at once; 0: any that divides the batch", NULL, NULL},
    {WEFT_TEXT(train_options, schedule), 0, 0, 0, "order of forward and backward; auto: the best of all", "auto", "auto|gpipe|1f1b|eager|interleaved"},
    {WEFT_TEXT(train_options, recompute), 0, 0, 0, "what backward computes again to save memory; auto: the best for each stage", "auto", "auto|none|selective|full"},
    {WEFT_INT(train_options, width), 0, 0, 1e6, "the most devices that share a tensor; 0: any", NULL, NULL},
    {WEFT_INT(train_options, replicas), 0, 0, 1e6, "the most replicas of a stage; 0: any", NULL, NULL},
    {WEFT_INT(train_options, stages), 0, 0, 1e6, "the most stages; 0: any", NULL, NULL},
    {WEFT_INT(train_options, chunks), 4, 1, 1e3, "the most chunks of a stage, interleaved", NULL, NULL},
    {WEFT_FLAG(train_options, split_moments), 0, 0, 1, "replicas divide the state of the optimizer among them", NULL, NULL},
    {WEFT_TEXT(train_options, flags.optimizer), 0, 0, 0, "optimizer of the training step", "adam", "sgd|momentum|adam"},
    {WEFT_TEXT(train_options, flags.dtype), 0, 0, 0, "element type of all floating-point tensors (f32, f16, bf16, ...)", "", NULL},
    {WEFT_TEXT(train_options, flags.dim), 0, 0, 0, "sizes of symbolic dimensions, NAME=N[,NAME=N]; may be repeated", "", NULL},
    {WEFT_TEXT(train_options, solver), 0, 0, 0, "how to search (weft list solvers)", "auto", NULL},
    WEFT_EFFORT_FLAGS(train_options, WEFT_TRAIN_LIMIT),
    {WEFT_TEXT(train_options, output), 0, 0, 0, "write the plan there (weft check reads it)", "", NULL},
    {WEFT_TEXT(train_options, trace), 0, 0, 0, "write a timeline for Perfetto there", "", NULL},
    {WEFT_TEXT(train_options, report), 0, 0, 0, "write a page to look at there (see weft report)", "", NULL},
    {WEFT_FLAG(train_options, json), 0, 0, 1, "the result as one JSON document", NULL, NULL},
    {WEFT_FLAG(train_options, quiet), 0, 0, 1, "print nothing but errors", NULL, NULL},
    {WEFT_FLAG(train_options, verbose), 0, 0, 1, "show every stage with its devices (piper: with its nodes)", NULL, NULL},
    {WEFT_TEXT(train_options, objective), 0, 0, 0, "the time of a step; or, for inputs of Piper, its own objective", "step", "step|piper"},
    {WEFT_INT(train_options, piper.devices), 0, 0, 1e6, "piper: devices; 0: as in the file", NULL, NULL},
    {WEFT_TEXT(train_options, piper.memory), 0, 0, 0, "piper: memory of a device (8GiB); without: as in the file", "", NULL},
    {WEFT_INT(train_options, piper.microbatches), 0, 0, INT_MAX / 2, "piper: microbatches in a batch; 0: as in the file", NULL, NULL},
    {WEFT_TEXT(train_options, piper.bandwidth), 0, 0, 0, "piper: bandwidth between devices (25GiB/s); without: as in the file", "", NULL},
    {WEFT_INT(train_options, piper.max_cuts), 0, 0, 1e7, "piper: ways to cut the network beyond which it is refused; 0: 40000", NULL, NULL},
    WEFT_OPTIONS_END,
};
/* clang-format on */

/* --- flags that belong to one objective ------------------------------------------------------- */

/* Those that both know. */
static const char *const common[] = {"effort.time_limit", "effort.steps", "effort.seed",
                                     "effort.threads",    "json",         "quiet",
                                     "verbose",           "objective",    NULL};

static bool is_common(const char *name)
{
    for (int i = 0; common[i] != NULL; i++)
        if (strcmp(common[i], name) == 0)
            return true;
    return false;
}

static bool is_piper(const char *name)
{
    return strncmp(name, "piper.", 6) == 0;
}

/* Is the value of a flag not the one it has without being given? */
static bool is_given(const weft_option *o, const train_options *have, const train_options *usual)
{
    const char *x = (const char *)have + o->offset, *y = (const char *)usual + o->offset;

    switch (o->kind) {
    case WEFT_OPTION_TEXT:
        return strcmp(*(const char *const *)(const void *)x, *(const char *const *)(const void *)y);
    case WEFT_OPTION_INT:
        return *(const int64_t *)(const void *)x != *(const int64_t *)(const void *)y;
    case WEFT_OPTION_FLAG:
        return *(const bool *)x != *(const bool *)y;
    default:
        return false;
    }
}

/* Refuses flags of the other objective. */
static weft_status check_flags(const train_options *have, bool wants_piper)
{
    train_options usual;

    weft_options_default(train_table, &usual);
    for (const weft_option *o = train_table; o->kind != WEFT_OPTION_END; o++) {
        const char *dot = strrchr(o->name, '.');
        char name[64];

        if (is_common(o->name) || is_piper(o->name) == wants_piper || !is_given(o, have, &usual))
            continue;
        snprintf(name, sizeof name, "%s", dot ? dot + 1 : o->name);
        for (char *c = name; *c; c++)
            *c = *c == '_' ? '-' : *c;
        return weft_fail(WEFT_E_INPUT, "--%s is not for --objective %s; see: weft train --help",
                         name, have->objective);
    }
    return WEFT_OK;
}

/* --- the two objectives ----------------------------------------------------------------------- */

static weft_status run_piper(const train_options *o, const char *model, weft_arena *a, int *code)
{
    weft_piper_flags f = {.model = model,
                          .devices = o->piper.devices,
                          .microbatches = o->piper.microbatches,
                          .max_cuts = o->piper.max_cuts,
                          .memory = o->piper.memory,
                          .bandwidth = o->piper.bandwidth,
                          .effort = &o->effort,
                          .json = o->json,
                          .quiet = o->quiet,
                          .verbose = o->verbose};

    WEFT_TRY(check_flags(o, true));
    return weft_train_piper(&f, a, code);
}

static unsigned all_but_one(const char *text, const char *(*name)(int), int n)
{
    unsigned bits = 0;

    for (int i = 0; i < n; i++)
        if (strcmp(text, "auto") == 0 || strcmp(text, name(i)) == 0)
            bits |= 1u << i;
    return bits;
}

static const char *schedule_word(int i)
{
    return weft_schedule_name((weft_schedule)i);
}

static const char *recompute_word(int i)
{
    return weft_recompute_name((weft_recompute)i);
}

static weft_status read_ask(const train_options *o, weft_train_ask *out)
{
    *out = (weft_train_ask){
        .batch = o->flags.batch,
        .microbatch = o->microbatch,
        .schedules = all_but_one(o->schedule, schedule_word, WEFT_N_SCHEDULES),
        .recomputes = all_but_one(o->recompute, recompute_word, WEFT_N_RECOMPUTES),
        .most_width = (int)o->width,
        .most_replicas = (int)o->replicas,
        .most_stages = (int)o->stages,
        .most_chunks = (int)o->chunks,
        .is_split_moments = o->split_moments,
    };
    if (o->microbatch > 0 && o->flags.batch % o->microbatch != 0)
        return weft_fail(WEFT_E_INPUT, "--microbatch %lld does not divide --batch %lld",
                         (long long)o->microbatch, (long long)o->flags.batch);
    return WEFT_OK;
}

static weft_status run_step(const train_options *o, const char *model, weft_arena *a, int *code)
{
    weft_train_request request = {.model = model, .platform = o->on};
    weft_train_flags f = {.request = &request,
                          .solver = o->solver,
                          .effort = &o->effort,
                          .output = o->output,
                          .trace = o->trace,
                          .report = o->report,
                          .json = o->json,
                          .quiet = o->quiet,
                          .verbose = o->verbose};

    WEFT_TRY(check_flags(o, false));
    WEFT_TRY(weft_model_flags_read(&o->flags, a, &request.options));
    request.options.batch = 0; /* that of the step is not that of the network */
    request.options.train = true;
    WEFT_TRY(read_ask(o, &request.ask));
    return weft_train_step(&f, a, code);
}

static weft_status run(const void *options, const char *const *operand, int n_operands, int *code)
{
    const train_options *o = options;
    weft_arena *a = weft_arena_new();
    weft_status status = strcmp(o->objective, "piper") == 0 ? run_piper(o, operand[0], a, code)
                                                            : run_step(o, operand[0], a, code);

    (void)n_operands; /* one: the table says so */
    weft_arena_free(a);
    return status;
}

const weft_command weft_cmd_train = {
    .name = "train",
    .summary = "Pipeline stages, replicas and tensor widths for training",
    .operands = "MODEL",
    .description =
        "Plans the training of a network on a cluster, for the shortest step: where to cut it "
        "into\n"
        "pipeline stages, on how many devices each runs, by replicas and by cutting tensors, "
        "which\n"
        "microbatch and which schedule, what is computed again to save memory. Devices need not "
        "be\n"
        "equal. Simulates the step, with the memory of every stage, and says how far it is from\n"
        "the best possible one at most, among plans whose operators are cut inside of blocks of\n"
        "several devices as is best for eight microbatches. Ctrl-C ends the search with the best\n"
        "plan so far.\n"
        "With --objective piper MODEL is an input of the Piper project, a JSON file, and the "
        "least\n"
        "time per sample under its objective is looked for; --on is left out.",
    .examples = "  weft train gpt2:xl --on mixed-fleet --dtype f16\n"
                "  weft train bert:large --on dgx-a100 --batch 1024 --schedule 1f1b -o plan.json\n"
                "  weft train model.onnx --on cluster.yaml --width 4 --trace trace.json\n"
                "  weft train bert.json --objective piper --devices 64 --memory 8GiB --json\n",
    .options = train_table,
    .options_size = sizeof(train_options),
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
