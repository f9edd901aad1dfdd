/* SPDX-License-Identifier: MIT */
/* cmd_train.c: weft train MODEL --on PLATFORM, and weft train FILE.json --objective piper. */
#include "command.h"
#include "kind.h"

#include <limits.h>
#include <math.h>
#include <string.h>

typedef struct train_options {
    weft_model_flags flags;
    weft_budget_flags effort;
    const char *on, *objective, *solver, *schedule, *recompute, *output, *trace, *report, *exactly;
    int64_t microbatch, width, replicas, stages, chunks;
    const char *tp, *pp, *dp, *sp, *mbs, *zero, *recipe;
    double memory_margin;
    bool split_moments, overlap, json, quiet, verbose;
    struct {
        int64_t devices, microbatches, max_cuts;
        const char *memory, *bandwidth;
    } piper;
} train_options;

/* clang-format off */
static const weft_option train_table[] = {
    {WEFT_TEXT(train_options, on), 0, 0, 0, "platform: a file or a preset (see weft list platforms); NAME:server=4 sets a count", "", NULL},
    {WEFT_INT(train_options, flags.batch), 512, 1, 1e9, "samples per training step", NULL, NULL},
    {WEFT_INT(train_options, microbatch), 0, 0, 1e9, "samples per microbatch; 0: any divisor of the batch", NULL, NULL},
    {WEFT_TEXT(train_options, schedule), 0, 0, 0, "pipeline schedule: auto, or some of gpipe, 1f1b, eager, interleaved", "auto", NULL},
    {WEFT_TEXT(train_options, recompute), 0, 0, 0, "activations to recompute in the backward pass of each stage: auto, or some of none, selective, full", "auto", NULL},
    {WEFT_INT(train_options, width), 0, 0, 1e6, "maximum tensor-parallel width; 0: no limit", NULL, NULL},
    {WEFT_INT(train_options, replicas), 0, 0, 1e6, "maximum replicas per stage; 0: no limit", NULL, NULL},
    {WEFT_INT(train_options, stages), 0, 0, 1e6, "maximum pipeline stages; 0: no limit", NULL, NULL},
    {WEFT_INT(train_options, chunks), 4, 1, 1e3, "maximum chunks per stage (interleaved schedule)", NULL, NULL},
    {WEFT_TEXT(train_options, exactly), 0, 0, 0, "value one plan: KEY=VALUE of tp, pp, dp, mbs, schedule, recompute, chunks, zero, sp, overlap; what is left out is searched (see the examples)", "", NULL},
    {WEFT_TEXT(train_options, tp), 0, 0, 0, "tensor-parallel width of the stages: auto, a number, or several (1,2,4)", "auto", NULL},
    {WEFT_TEXT(train_options, pp), 0, 0, 0, "number of pipeline stages: auto, a number, or several", "auto", NULL},
    {WEFT_TEXT(train_options, dp), 0, 0, 0, "number of replicas of every stage: auto, a number, or several", "auto", NULL},
    {WEFT_TEXT(train_options, sp), 0, 0, 0, "sequence parallelism beside tensor parallelism: on, off, or auto: the better of both", "off", "off|on|auto"},
    {WEFT_TEXT(train_options, mbs), 0, 0, 0, "samples per microbatch and replica (--microbatch is over all replicas): auto, a number, or several", "auto", NULL},
    {WEFT_TEXT(train_options, zero), 0, 0, 0, "what the replicas of a stage divide (ZeRO): 0 nothing, 1 optimizer state, 2 and gradients, 3 and weights (FSDP); several of these (1,3), or auto: the best of all", "0", NULL},
    {WEFT_FLAG(train_options, overlap), 0, 0, 1, "sum gradients beside the last backward pass of each stage, not after it (ZeRO 0 and 1; 2 and 3 always do)", NULL, NULL},
    {WEFT_FLAG(train_options, split_moments), 0, 0, 1, "shard the optimizer state over the replicas: --zero 1", NULL, NULL},
    {WEFT_TEXT(train_options, recipe), 0, 0, 0, "bytes kept per 16-bit parameter with Adam: 16; 18: gradients of 32 bits; 20: gradients of 16 bits and a 32-bit copy", "16", "16|18|20"},
    {WEFT_REAL(train_options, memory_margin), 0, 0, 0.99, "share of the memory of every device left free, e.g. 0.1 for fragmentation and libraries", NULL, NULL},
    {WEFT_TEXT(train_options, flags.optimizer), 0, 0, 0, "optimizer of the training step", "adam", "sgd|momentum|adam"},
    {WEFT_TEXT(train_options, flags.dtype), 0, 0, 0, "element type of all floating-point tensors (f32, f16, bf16, ...)", "", NULL},
    WEFT_SOFTWARE_FLAG(train_options),
    {WEFT_TEXT(train_options, flags.dim), 0, 0, 0, WEFT_DIM_HELP, "", NULL},
    {WEFT_TEXT(train_options, solver), 0, 0, 0, "solver to use (see weft list solvers), or one of yours: exec:PROGRAM", "auto", NULL},
    WEFT_BUDGET_FLAGS(train_options, WEFT_TRAIN_LIMIT),
    {WEFT_TEXT(train_options, output), 0, 0, 0, "write the plan to FILE (for weft check)", "", NULL},
    {WEFT_TEXT(train_options, trace), 0, 0, 0, "write a timeline for Perfetto to FILE", "", NULL},
    {WEFT_TEXT(train_options, report), 0, 0, 0, "write an HTML report to FILE (see weft report)", "", NULL},
    {WEFT_FLAG(train_options, json), 0, 0, 1, "print the result as one JSON document", NULL, NULL},
    {WEFT_FLAG(train_options, quiet), 0, 0, 1, "print errors only", NULL, NULL},
    {WEFT_FLAG(train_options, verbose), 0, 0, 1, "show all stages with their devices (piper: with their nodes)", NULL, NULL},
    {WEFT_TEXT(train_options, objective), 0, 0, 0, "minimise the step time or, for Piper inputs, Piper's own objective", "step", "step|piper"},
    {WEFT_INT(train_options, piper.devices), 0, 0, 1e6, "piper: number of devices; 0: as in the file", NULL, NULL},
    {WEFT_TEXT(train_options, piper.memory), 0, 0, 0, "piper: memory per device (8GiB); default: as in the file", "", NULL},
    {WEFT_INT(train_options, piper.microbatches), 0, 0, INT_MAX / 2, "piper: microbatches per batch; 0: as in the file", NULL, NULL},
    {WEFT_TEXT(train_options, piper.bandwidth), 0, 0, 0, "piper: bandwidth between devices (25GiB/s); default: as in the file", "", NULL},
    {WEFT_INT(train_options, piper.max_cuts), 0, 0, 1e7, "piper: refuse networks with more cuts than N; 0: 40000", NULL, NULL},
    WEFT_OPTIONS_END,
};
/* clang-format on */

/* --- flags that belong to one objective ------------------------------------------------------ */

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
    case WEFT_OPTION_REAL:
        return *(const double *)(const void *)x > *(const double *)(const void *)y ||
               *(const double *)(const void *)x < *(const double *)(const void *)y;
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

/* --- the two objectives ---------------------------------------------------------------------- */

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

static int word_at(const char *text, size_t length, const char *(*name)(int), int n)
{
    for (int i = 0; i < n; i++)
        if (strlen(name(i)) == length && memcmp(name(i), text, length) == 0)
            return i;
    return -1;
}

/* "auto", or some of the n words. */
static weft_status read_words(const char *flag, const char *text, const char *(*name)(int), int n,
                              unsigned *bits)
{
    *bits = 0;
    if (strcmp(text, "auto") == 0)
        *bits = (1u << n) - 1;
    for (const char *at = text, *end; *bits != (1u << n) - 1 && at != NULL;
         at = *end == ',' ? end + 1 : NULL) {
        size_t length = strcspn(at, ",");
        int i = word_at(at, length, name, n);

        end = at + length;
        if (i < 0) {
            char list[160] = "auto";

            for (i = 0; i < n; i++)
                snprintf(list + strlen(list), sizeof list - strlen(list), ", %s", name(i));
            return weft_fail(WEFT_E_INPUT, "%s is '%.*s', expected one of: %s", flag, (int)length,
                             at, list);
        }
        if (*bits >> i & 1)
            return weft_fail(WEFT_E_INPUT, "%s: %s is given twice", flag, name(i));
        *bits |= 1u << i;
    }
    return WEFT_OK;
}

static const char *sp_word(int i)
{
    return i == 0 ? "off" : "on";
}

static const char *zero_word(int i)
{
    static const char *const words[] = {"0", "1", "2", "3"};

    return words[i];
}

static const char *schedule_word(int i)
{
    return weft_schedule_name((weft_schedule)i);
}

static const char *recompute_word(int i)
{
    return weft_recompute_name((weft_recompute)i);
}

/* A number that a flag and --exactly give must be one. */
static weft_status check_same(const char *name, const weft_counts *flag, const weft_counts *exact,
                              const char *text)
{
    if (exact->n == 0 || weft_counts_allow(flag, exact->at[0]))
        return WEFT_OK;
    return weft_fail(WEFT_E_INPUT, "--%s %s contradicts --exactly, which says %s=%lld", name, text,
                     name, (long long)exact->at[0]);
}

static weft_status read_exactly(const train_options *o, weft_train_constraints *out)
{
    weft_train_constraints asked = *out;

    WEFT_TRY(weft_train_exactly("--exactly", o->exactly, out));
    WEFT_TRY(check_same("tp", &asked.tp, &out->tp, o->tp));
    WEFT_TRY(check_same("pp", &asked.pp, &out->pp, o->pp));
    WEFT_TRY(check_same("dp", &asked.dp, &out->dp, o->dp));
    WEFT_TRY(check_same("mbs", &asked.mbs, &out->mbs, o->mbs));
    if (strcmp(o->zero, "0") != 0 && !(asked.zeros & out->zeros))
        return weft_fail(WEFT_E_INPUT, "--zero %s contradicts --exactly, which says zero=%d",
                         o->zero, out->zero);
    if (strcmp(o->sp, "off") != 0 && !(asked.sps & out->sps))
        return weft_fail(WEFT_E_INPUT, "--sp %s contradicts --exactly, which says sp=%d", o->sp,
                         out->sps == 2);
    if (!(asked.schedules & out->schedules))
        return weft_fail(WEFT_E_INPUT, "--schedule %s contradicts --exactly %s", o->schedule,
                         o->exactly);
    if (!(asked.recomputes & out->recomputes))
        return weft_fail(WEFT_E_INPUT, "--recompute %s contradicts --exactly %s", o->recompute,
                         o->exactly);
    return WEFT_OK;
}

/* --split-moments is level 1. */
static weft_status read_zero(const train_options *o, weft_train_constraints *out)
{
    WEFT_TRY(read_words("--zero", o->zero, zero_word, WEFT_MOST_ZERO + 1, &out->zeros));
    if (o->split_moments && strcmp(o->zero, "0") == 0)
        out->zeros = 1u << WEFT_ZERO_MOMENTS;
    weft_train_settle_zero(out);
    return WEFT_OK;
}

static weft_recipe find_recipe(const char *name)
{
    int i = 0;

    while (i + 1 < WEFT_N_RECIPES && strcmp(weft_recipe_name((weft_recipe)i), name) != 0)
        i++; /* the table of flags knows all words */
    return (weft_recipe)i;
}

static weft_status read_constraints(const train_options *o, weft_train_constraints *out)
{
    *out = (weft_train_constraints){
        .batch = o->flags.batch,
        .microbatch = o->microbatch,
        .most_width = (int)o->width,
        .most_replicas = (int)o->replicas,
        .most_stages = (int)o->stages,
        .most_chunks = (int)o->chunks,
        .recipe = find_recipe(o->recipe),
        .memory_margin = o->memory_margin,
        .overlap = o->overlap,
    };
    WEFT_TRY(weft_counts_read("--tp", o->tp, &out->tp));
    WEFT_TRY(weft_counts_read("--pp", o->pp, &out->pp));
    WEFT_TRY(weft_counts_read("--dp", o->dp, &out->dp));
    WEFT_TRY(weft_counts_read("--mbs", o->mbs, &out->mbs));
    WEFT_TRY(
        read_words("--schedule", o->schedule, schedule_word, WEFT_N_SCHEDULES, &out->schedules));
    WEFT_TRY(read_words("--recompute", o->recompute, recompute_word, WEFT_N_RECOMPUTES,
                        &out->recomputes));
    WEFT_TRY(read_zero(o, out));
    WEFT_TRY(read_words("--sp", o->sp, sp_word, 2, &out->sps));
    if (*o->exactly != '\0')
        WEFT_TRY(read_exactly(o, out));
    if (o->microbatch > 0 && o->flags.batch % o->microbatch != 0)
        return weft_fail(WEFT_E_INPUT, "--microbatch %lld does not divide --batch %lld",
                         (long long)o->microbatch, (long long)o->flags.batch);
    return WEFT_OK;
}

static weft_status run_step(const train_options *o, const char *model, weft_arena *a, int *code)
{
    weft_train_request request = {.model = model, .platform = o->on};
    weft_make m = {.kind = weft_kind_find("train"),
                   .request = &request,
                   .model = model,
                   .platform = o->on,
                   .options = &request.options,
                   .solver = o->solver,
                   .effort = &o->effort,
                   .output = o->output,
                   .trace = o->trace,
                   .page = o->report,
                   .json = o->json,
                   .quiet = o->quiet,
                   .is_long = o->verbose};

    WEFT_TRY(check_flags(o, false));
    WEFT_TRY(weft_model_flags_read(&o->flags, a, &request.options));
    request.options.batch = 0; /* that of the step is not that of the network */
    request.options.train = true;
    WEFT_TRY(read_constraints(o, &request.constraints));
    return weft_make_plan(&m, a, code);
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
    .summary = "Plan training: pipeline stages, replicas, tensor-parallel widths",
    .operands = "MODEL",
    .description =
        "Plans the training of a network on a cluster for the shortest step: pipeline\n"
        "stages, replicas, tensor-parallel width, microbatch, schedule and recomputation.\n"
        "Devices may differ. Simulates the step with the memory of every stage, and\n"
        "proves an upper bound on the gap to the optimum, among plans that split\n"
        "operators inside a block by a rule that depends on the network only. Ctrl-C\n"
        "ends the search and keeps the best plan so far. With --objective piper, MODEL is\n"
        "a JSON input file of the Piper project; weft then minimises the time per sample\n"
        "under Piper's objective, and --on is not used.",
    .examples = "  weft train gpt2:xl --on mixed-fleet --dtype f16\n"
                "  weft train bert:large --on dgx-a100 --batch 1024 --schedule 1f1b -o plan.json\n"
                "  weft train model.onnx --on cluster.yaml --width 4 --trace trace.json\n"
                "  weft train gpt3 --on cluster-32:server=8 --dtype f16 --batch 64 --exactly \\\n"
                "      tp=8,pp=8,dp=1,mbs=1,schedule=1f1b,recompute=full\n"
                "  weft train bert.json --objective piper --devices 64 --memory 8GiB --json\n",
    .options = train_table,
    .options_size = sizeof(train_options),
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
