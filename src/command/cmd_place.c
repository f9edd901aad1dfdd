/* SPDX-License-Identifier: MIT */
/* cmd_place.c: weft place MODEL --on PLATFORM. */
#include "command.h"
#include "kind.h"

typedef struct place_options {
    weft_model_flags flags;
    weft_case_flags where;
    weft_budget_flags effort;
    const char *solver, *output, *trace, *dot, *report, *write_model;
    bool json, quiet, pareto;
} place_options;

static const weft_option place_table[] = {
    WEFT_CASE_FLAGS(place_options),
    {WEFT_TEXT(place_options, where.semantics), 0, 0, 0,
                     "timing model: that of the platform, or the host calls accelerators",                                 "platform",
                     "platform|calls"                                                                                                      },
    {WEFT_TEXT(place_options, solver),          0, 0, 0,
                     "solver to use (see weft list solvers), or one of yours: exec:PROGRAM or ./LIBRARY.so",               "auto",
                     NULL                                                                                                                  },
    WEFT_BUDGET_FLAGS(place_options, WEFT_REFERENCE_LIMIT),
    WEFT_MODEL_FLAGS(place_options),
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
    weft_status status = weft_case_flags_read(&o->where, &o->flags, operand[0], a, &request);

    (void)n_operands; /* one: the table says so */
    if (status == WEFT_OK)
        status = weft_make_plan(&m, a, code);
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
                "  weft place resnet50 --on mixed-fleet --pareto\n",
    .options = place_table,
    .options_size = sizeof(place_options),
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
