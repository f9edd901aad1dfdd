/* SPDX-License-Identifier: MIT */
/* cmd_serve.c: weft serve MODEL. */
#include "command.h"
#include "kind.h"

typedef struct serve_options {
    weft_budget_flags effort;
    const char *objective, *solver, *output, *report;
    bool json, quiet, verbose;
} serve_options;

/* clang-format off */
static const weft_option serve_table[] = {
    {WEFT_TEXT(serve_options, objective), 0, 0, 0, "what a plan is worth; flow: the maximum flow of tokens through nodes and links", "flow", "flow"},
    {WEFT_TEXT(serve_options, solver), 0, 0, 0, "solver to use (see weft list solvers)", "auto", NULL},
    WEFT_BUDGET_FLAGS(serve_options, WEFT_SERVE_LIMIT),
    {WEFT_TEXT(serve_options, output), 0, 0, 0, "write the plan to FILE (for weft check)", "", NULL},
    {WEFT_TEXT(serve_options, report), 0, 0, 0, "write an HTML report to FILE (see weft report)", "", NULL},
    {WEFT_FLAG(serve_options, json), 0, 0, 1, "print the result as one JSON document", NULL, NULL},
    {WEFT_FLAG(serve_options, quiet), 0, 0, 1, "print errors only", NULL, NULL},
    {WEFT_FLAG(serve_options, verbose), 0, 0, 1, "show all nodes, links and what binds", NULL, NULL},
    WEFT_OPTIONS_END,
};
/* clang-format on */

static weft_status run(const void *options, const char *const *operand, int n_operands, int *code)
{
    static const weft_model_options none = {0};
    const serve_options *o = options;
    weft_arena *a = weft_arena_new();
    weft_serve_request request = {operand[0]};
    weft_make m = {.kind = weft_kind_find("serve"),
                   .request = &request,
                   .model = operand[0],
                   .options = &none,
                   .solver = o->solver,
                   .effort = &o->effort,
                   .output = o->output,
                   .page = o->report,
                   .json = o->json,
                   .quiet = o->quiet,
                   .is_long = o->verbose};
    weft_status status = weft_make_plan(&m, a, code);

    (void)n_operands; /* one: the table says so */
    weft_arena_free(a);
    return status;
}

const weft_command weft_cmd_serve = {
    .name = "serve",
    .summary = "Plan serving: which node holds which layers of a language model",
    .operands = "MODEL",
    .description =
        "Chooses which node (a GPU, or several that work as one) holds which layers of a\n"
        "language model, for most tokens per second, and proves an upper bound on what\n"
        "any placement passes. MODEL is a file of weft.serving/1 (docs/formats.md): the\n"
        "tokens per second of each node with 1, 2, ... layers, and those of each link; the\n"
        "JSON of the instances of Helix is read as it is. The value is a flow of prompt\n"
        "and output tokens in that model: it knows no latency, so more flow is not always\n"
        "faster decoding. Ctrl-C ends the search and keeps the best plan so far.",
    .examples = "  weft serve fleet.yaml\n"
                "  weft serve fleet.yaml -o plan.json --report plan.html\n"
                "  weft serve fleet.json --time-limit 10s --threads 4 --json\n",
    .options = serve_table,
    .options_size = sizeof(serve_options),
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
