/* SPDX-License-Identifier: MIT */
/* cmd_place.c: weft place MODEL --on PLATFORM. */
#include "command.h"
#include "kind.h"

#include <stdlib.h>
#include <string.h>

typedef struct place_options {
    weft_model_flags flags;
    weft_case_flags where;
    weft_budget_flags effort;
    const char *batch, *split_batch;
    const char *solver, *output, *trace, *dot, *report, *write_model;
    bool json, quiet, pareto, no_mix;
} place_options;

static const weft_option place_table[] = {
    WEFT_CASE_FLAGS(place_options),
    {WEFT_TEXT(place_options, where.semantics), 0, 0, 0,
                     "timing model: that of the platform, or the host calls accelerators",                                 "platform",
                     "platform|calls"                                                                                                      },
    {WEFT_FLAG(place_options, no_mix),          0, 0, 1,
                     "throughput: all items take one placement; without it auto may mix placements",                       NULL,       NULL},
    {WEFT_TEXT(place_options, solver),          0, 0, 0,
                     "solver to use (see weft list solvers), or one of yours: exec:PROGRAM or ./LIBRARY.so",               "auto",
                     NULL                                                                                                                  },
    WEFT_BUDGET_FLAGS(place_options, WEFT_REFERENCE_LIMIT),
    {WEFT_TEXT(place_options, batch),           0, 0, 0,
                     "batch size; 0: as in the file, or 1; throughput: several to choose from, N,N, or auto",              "0",
                     NULL                                                                                                                  },
    {WEFT_TEXT(place_options, split_batch),     0, 0, 0,
                     "latency: cut the batch in shares, a copy of the network each: N,N, or auto for the best ones",
                     "",                                                                                                               NULL},
    WEFT_OTHER_MODEL_FLAGS(place_options),
    {WEFT_TEXT(place_options, output),          0, 0, 0, "write the plan to FILE (for weft check)",        "",
                     NULL                                                                                                                  },
    {WEFT_TEXT(place_options, trace),           0, 0, 0, "write a timeline for Perfetto to FILE",          "",         NULL},
    {WEFT_TEXT(place_options, dot),             0, 0, 0, "write the graph to FILE, in DOT format",         "",         NULL},
    {WEFT_TEXT(place_options, report),          0, 0, 0, "write an HTML report to FILE (see weft report)",
                     "",                                                                                                               NULL},
    {WEFT_TEXT(place_options, write_model),     0, 0, 0, "write the MILP model to FILE (.lp or .mps)",
                     "",                                                                                                               NULL},
    {WEFT_FLAG(place_options, pareto),          0, 0, 1,
                     "trade latency for throughput: the Pareto-optimal plans",                                             NULL,       NULL},
    {WEFT_FLAG(place_options, json),            0, 0, 1, "print the result as one JSON document",          NULL,       NULL},
    {WEFT_FLAG(place_options, quiet),           0, 0, 1, "print errors only",                              NULL,       NULL},
    WEFT_OPTIONS_END,
};

/* The model of solver milp, and the plans between both goals instead of one plan. */
static weft_status write_first(const weft_make *m, const weft_opened *p,
                               const weft_plan_origin *origin, weft_arena *a, bool *is_done,
                               int *code)
{
    const place_options *o = m->flags;
    const weft_problem *problem = ((const weft_case *)p->of_kind)->problem;

    if (*o->write_model)
        WEFT_TRY(weft_place_write_model(problem, o->write_model));
    *is_done = o->pareto;
    if (!o->pareto)
        return WEFT_OK;
    return weft_pareto_show(problem, origin, &(weft_pareto_options){&o->effort, o->json, o->output},
                            a, code);
}

/* Solver auto takes the better of one way for all items and several, unless it is told not to. */
static weft_status read_mix(const place_options *o, weft_constraints *c)
{
    bool is_one = o->no_mix || o->pareto || *o->write_model || strcmp(o->solver, "auto") != 0;

    if (o->no_mix && o->where.mix)
        return weft_fail(WEFT_E_INPUT, "--mix and --no-mix exclude each other");
    if (o->no_mix && c->goal != WEFT_THROUGHPUT)
        return weft_fail(WEFT_E_INPUT, "--no-mix is for --goal throughput");
    c->may_mix = !is_one;
    return WEFT_OK;
}

static bool is_list(const char *text)
{
    return strcmp(text, "auto") == 0 || strchr(text, ',') != NULL;
}

/* One number is the batch; several, or any, are for the search. */
static weft_status read_batch(const place_options *o, weft_request *r, bool *has_choices)
{
    weft_counts batches;

    if (strcmp(o->batch, "0") == 0)
        return WEFT_OK;
    WEFT_TRY(weft_counts_read("--batch", o->batch, &batches));
    if (!is_list(o->batch)) {
        r->options.batch = batches.at[0];
        return WEFT_OK;
    }
    if (r->constraints.goal != WEFT_THROUGHPUT)
        return weft_fail(WEFT_E_INPUT,
                         "--batch %s: batches are chosen for --goal throughput; the goal latency "
                         "takes one number",
                         o->batch);
    r->constraints.batches = batches;
    *has_choices = true;
    return WEFT_OK;
}

/* "96,32": shares in the order of their copies. */
static weft_status read_shares(const place_options *o, weft_model_options *out)
{
    int64_t sum = 0;
    const char *at = o->split_batch;

    while (at != NULL) {
        char *end;
        long long share = strtoll(at, &end, 10);

        if (*at < '0' || *at > '9' || (*end != ',' && *end != '\0') || share < 1 ||
            share > INT32_MAX || out->n_shares == WEFT_MOST_SHARES)
            return weft_fail(WEFT_E_INPUT,
                             "--split-batch is '%s', expected auto or 2 to %d numbers of samples: "
                             "96,32",
                             o->split_batch, (int)WEFT_MOST_SHARES);
        out->share[out->n_shares++] = share;
        sum += share;
        at = *end == ',' ? end + 1 : NULL;
    }
    if (out->n_shares < 2 || sum != out->batch)
        return weft_fail(WEFT_E_INPUT,
                         "--split-batch is '%s': expected two shares or more that add up to the "
                         "batch, which has %lld samples",
                         o->split_batch, (long long)out->batch);
    return WEFT_OK;
}

static weft_status read_split(const place_options *o, weft_request *r, bool *has_choices)
{
    if (*o->split_batch == '\0')
        return WEFT_OK;
    if (r->constraints.goal != WEFT_LATENCY)
        return weft_fail(WEFT_E_INPUT, "--split-batch is for --goal latency; items of a stream are "
                                       "spread without it (see --mix)");
    if (r->options.batch < 2)
        return weft_fail(WEFT_E_INPUT,
                         "--split-batch needs a batch of two samples or more: --batch "
                         "32");
    if (strcmp(o->split_batch, "auto") != 0)
        return read_shares(o, &r->options);
    r->constraints.splits_batch = true;
    *has_choices = true;
    return WEFT_OK;
}

static weft_status read_choices(const place_options *o, weft_request *r, bool *has_choices)
{
    WEFT_TRY(read_batch(o, r, has_choices));
    WEFT_TRY(read_split(o, r, has_choices));
    if (*has_choices && (o->pareto || *o->write_model))
        return weft_fail(WEFT_E_INPUT, "--pareto and --write-model are of one problem: they take "
                                       "one --batch, and --split-batch with numbers");
    if (*has_choices && *o->where.on == '\0')
        return weft_fail(WEFT_E_INPUT, "batches are chosen for a network on a platform: expected "
                                       "--on PLATFORM");
    return WEFT_OK;
}

static weft_status run(const void *options, const char *const *operand, int n_operands, int *code)
{
    const place_options *o = options;
    weft_arena *a = weft_arena_new();
    weft_request request;
    weft_make m = {.kind = weft_kind_find("place"),
                   .request = &request,
                   .model = operand[0],
                   .platform = o->where.on,
                   .format = o->where.format,
                   .options = &request.options,
                   .solver = o->solver,
                   .effort = &o->effort,
                   .output = o->output,
                   .trace = o->trace,
                   .dot = o->dot,
                   .page = o->report,
                   .json = o->json,
                   .quiet = o->quiet,
                   .first = write_first,
                   .flags = o};
    bool has_choices = false;
    weft_status status = weft_case_flags_read(&o->where, &o->flags, operand[0], a, &request);

    (void)n_operands; /* one: the table says so */
    if (status == WEFT_OK)
        status = read_mix(o, &request.constraints);
    if (status == WEFT_OK)
        status = read_choices(o, &request, &has_choices);
    if (status == WEFT_OK)
        status =
            has_choices ? weft_choices_plan(&m, &request, a, code) : weft_make_plan(&m, a, code);
    weft_arena_free(a);
    return status;
}

const weft_command weft_cmd_place = {
    .name = "place",
    .summary = "Decide which device runs each operator, and when",
    .operands = "MODEL",
    .description =
        "Places a network on the devices of a platform, simulates the plan, and proves an\n"
        "upper bound on the gap to the optimum. MODEL is an ONNX file, a built-in model,\n"
        "or a task file (weft.tasks/1), which names its own devices.",
    .examples = "  weft place inception_v3 --on server-cpu-2gpu\n"
                "  weft place model.onnx --on machines.yaml --goal throughput --solver peft\n"
                "  weft place resnet50 --on edge-soc -o plan.json --trace trace.json\n"
                "  weft place tasks.json --json\n"
                "  weft place bert --on mixed-fleet --goal throughput --solver load --mix\n"
                "  weft place resnet50 --on mixed-fleet --pareto\n"
                "  weft place resnet50 --on server-a10 --goal throughput --batch auto\n"
                "  weft place resnet50 --on server-cpu-2gpu --batch 32 --split-batch auto\n"
                "  weft place resnet50 --on edge-soc --pin 'gemm*=cpu' --max-segments 4\n",
    .options = place_table,
    .options_size = sizeof(place_options),
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
