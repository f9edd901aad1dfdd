/* SPDX-License-Identifier: MIT */
/* cmd_shard.c: weft shard MODEL --on PLATFORM. */
#include "command.h"
#include "kind.h"

typedef struct shard_options {
    weft_model_flags flags;
    weft_budget_flags effort;
    const char *on, *solver, *semantics, *output, *trace, *report;
    bool contiguous, no_sharing, layers, json, quiet;
} shard_options;

static const weft_option shard_table[] = {
    {WEFT_TEXT(shard_options, on),         0, 0, 0,
     "platform: a file or a preset (see weft list platforms); NAME:server=4 sets a count",            "",
     NULL                                                                                                                               },
    {WEFT_TEXT(shard_options, solver),     0, 0, 0,
     "solver to use (see weft list solvers), or one of yours: exec:PROGRAM",                          "auto", NULL                      },
    {WEFT_TEXT(shard_options, semantics),  0, 0, 0,
     "run steps one at a time, or branches in parallel; auto: in parallel if all accelerators "
     "differ and --contiguous is not set",                                                            "auto", "auto|sequential|branches"},
    {WEFT_FLAG(shard_options, contiguous), 0, 0, 1,
     "each set runs one contiguous part of the network (steps one at a time)",                        NULL,   NULL                      },
    {WEFT_FLAG(shard_options, no_sharing), 0, 0, 1,
     "do not rotate shards among the devices of a set",                                               NULL,   NULL                      },
    WEFT_BUDGET_FLAGS(shard_options, WEFT_SHARD_LIMIT),
    WEFT_SHAPE_FLAGS(shard_options),
    {WEFT_TEXT(shard_options, output),     0, 0, 0, "write the plan to FILE (for weft check)",        "",
     NULL                                                                                                                               },
    {WEFT_TEXT(shard_options, trace),      0, 0, 0, "write a timeline for Perfetto to FILE",          "",     NULL                      },
    {WEFT_TEXT(shard_options, report),     0, 0, 0, "write an HTML report to FILE (see weft report)",
     "",                                                                                                      NULL                      },
    {WEFT_FLAG(shard_options, layers),     0, 0, 1, "show all steps, not only the longest",           NULL,   NULL                      },
    {WEFT_FLAG(shard_options, json),       0, 0, 1, "print the result as one JSON document",          NULL,   NULL                      },
    {WEFT_FLAG(shard_options, quiet),      0, 0, 1, "print errors only",                              NULL,   NULL                      },
    WEFT_OPTIONS_END,
};

static weft_status run(const void *options, const char *const *operand, int n_operands, int *code)
{
    const shard_options *o = options;
    weft_arena *a = weft_arena_new();
    weft_shard_request request = {
        .model = operand[0],
        .platform = o->on,
        .semantics = o->semantics,
        .is_contiguous = o->contiguous,
        .has_no_sharing = o->no_sharing,
    };
    weft_make m = {.kind = weft_kind_find("shard"),
                   .request = &request,
                   .model = operand[0],
                   .platform = o->on,
                   .options = &request.options,
                   .solver = o->solver,
                   .effort = &o->effort,
                   .output = o->output,
                   .trace = o->trace,
                   .page = o->report,
                   .json = o->json,
                   .quiet = o->quiet,
                   .is_long = o->layers};
    weft_status status = weft_model_flags_read(&o->flags, a, &request.options);

    (void)n_operands; /* one: the table says so */
    if (status == WEFT_OK)
        status = weft_make_plan(&m, a, code);
    weft_arena_free(a);
    return status;
}

const weft_command weft_cmd_shard = {
    .name = "shard",
    .summary = "Shard each layer over sets of accelerators",
    .operands = "MODEL",
    .description =
        "Shards the layers of a network over sets of equal accelerators. A plan decides\n"
        "which devices form a set, which design each set is configured with, and how each\n"
        "step (an operator and the element-wise operators after it) is split over its\n"
        "set. Simulates the plan and proves an upper bound on the gap to the optimum. The\n"
        "host computes nothing: it provides the inputs and receives the outputs. Ctrl-C\n"
        "ends the search and keeps the best plan so far.",
    .examples = "  weft shard alexnet --on f1-2x4\n"
                "  weft shard resnet34 --on f1-2x4 --dtype f16 --layers\n"
                "  weft shard casia_surf --on h2h-12 -o plan.json --trace trace.json\n"
                "  weft shard model.onnx --on boards.yaml --time-limit 5min --json\n",
    .options = shard_table,
    .options_size = sizeof(shard_options),
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
