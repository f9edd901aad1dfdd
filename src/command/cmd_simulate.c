/* SPDX-License-Identifier: MIT */
/* cmd_simulate.c: weft simulate FILE. */
#include "command.h"
#include "fields.h"
#include "kind.h"

#include <math.h>

typedef struct simulate_options {
    const char *model, *on, *output, *trace, *report;
    bool json, quiet, verbose;
} simulate_options;

/* clang-format off */
static const weft_option simulate_table[] = {
    {WEFT_TEXT(simulate_options, model), 0, 0, 0, "path of the model, if it is not the one of the file", "", NULL},
    {WEFT_TEXT(simulate_options, on), 0, 0, 0, "platform, if it is not the one of the file", "", NULL},
    {WEFT_TEXT(simulate_options, output), 0, 0, 0, "write a plan to FILE (for weft check)", "", NULL},
    {WEFT_TEXT(simulate_options, trace), 0, 0, 0, "write a timeline for Perfetto to FILE", "", NULL},
    {WEFT_TEXT(simulate_options, report), 0, 0, 0, "write an HTML report to FILE (see weft report)", "", NULL},
    {WEFT_FLAG(simulate_options, json), 0, 0, 1, "print the result as one JSON document", NULL, NULL},
    {WEFT_FLAG(simulate_options, quiet), 0, 0, 1, "print errors only", NULL, NULL},
    {WEFT_FLAG(simulate_options, verbose), 0, 0, 1, "show everything that the plan decides", NULL, NULL},
    WEFT_OPTIONS_END,
};
/* clang-format on */

static const char *given(const char *text)
{
    return *text ? text : NULL;
}

/* --- decisions that cannot be ---------------------------------------------------------------- */

static weft_doc *wrong_doc(const weft_check_result *v, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP), *list = weft_doc_new(a, WEFT_DOC_LIST);

    weft_put_text(a, d, "schema", "weft.verdict/1");
    weft_put_text(a, d, "command", "simulate");
    weft_doc_put(a, d, "legal", weft_doc_new_bool(a, false));
    weft_put_real(a, d, "value", v->has_solution ? v->kind->value(&v->problem, v->solution) : NAN);
    for (int i = 0; i < v->n_wrong && i < 100; i++)
        weft_doc_add(a, list, weft_doc_new_text(a, v->wrong[i]));
    weft_doc_put(a, d, "wrong", list);
    return d;
}

static weft_status show_wrong(const weft_check_result *v, const char *path,
                              const simulate_options *o, weft_arena *a)
{
    weft_collect text;
    char value[48];

    WEFT_TRY(weft_collect_begin(&text));
    if (o->json)
        fprintf(text.to, "%s\n", weft_doc_json(wrong_doc(v, a), 1, a));
    else
        weft_print_wrong(v, path, text.to);
    if (!o->json && v->has_solution)
        fprintf(text.to, "%s: would be worth %s %s\n", path,
                v->kind->is_max
                    ? weft_arena_print(a, "%.6g", v->kind->value(&v->problem, v->solution))
                    : weft_print_seconds(v->kind->value(&v->problem, v->solution), value),
                v->kind->value_name(&v->problem));
    return weft_collect_emit(&text, NULL);
}

/* --- decisions that can ---------------------------------------------------------------------- */

static weft_status show(const weft_check_result *v, const simulate_options *o, weft_arena *a,
                        int *code)
{
    weft_plan_origin origin = *v->file.origin;
    weft_make m = {.kind = v->kind,
                   .output = o->output,
                   .trace = o->trace,
                   .page = o->report,
                   .json = o->json,
                   .quiet = o->quiet,
                   .is_long = o->verbose};
    weft_made x = {.kind = v->kind,
                   .problem = &v->problem,
                   .origin = &origin,
                   .solution = v->solution,
                   .has_plan = true};
    weft_proof bound;

    origin.model_hash = v->problem.model_hash;
    origin.platform_hash = v->problem.platform_hash;
    origin.problem_hash = v->problem.problem_hash;
    x.report = weft_arena_alloc(a, v->kind->report_size);
    WEFT_TRY(v->kind->report_begin(&v->problem, &origin, NULL, a, x.report, &bound));
    WEFT_TRY(v->kind->report_end(&v->problem, v->solution, NULL, a, x.report));
    return weft_make_show(&m, &x, a, code);
}

static weft_status run(const void *options, const char *const *operand, int n_operands, int *code)
{
    const simulate_options *o = options;
    weft_arena *a = weft_arena_new();
    weft_check_result v;
    weft_status status = weft_value_decisions(operand[0], given(o->model), given(o->on), a, &v);

    (void)n_operands;
    if (status == WEFT_OK && v.n_wrong == 0)
        status = show(&v, o, a, code);
    else if (status == WEFT_OK) {
        *code = WEFT_EXIT_NO;
        if (!o->quiet)
            status = show_wrong(&v, operand[0], o, a);
    }
    weft_check_result_close(&v);
    weft_arena_free(a);
    return status;
}

const weft_command weft_cmd_simulate = {
    .name = "simulate",
    .summary = "Value decisions that were made elsewhere",
    .operands = "FILE",
    .description =
        "Reads decisions that somebody else made (schema weft.decisions/1: a device for\n"
        "every node, a sharded network, the stages of a training step, or the layers of\n"
        "each node of a service), simulates them and prints what weft place, shard, train\n"
        "or serve print of their own plans: times, memory, flows, and how far from a bound\n"
        "that needs no search. Nothing is claimed by the file and nothing is searched.\n"
        "Decisions that break a rule or do not fit memory are refused with reasons, exit\n"
        "code 1. See docs/formats.md.",
    .examples = "  weft simulate decisions.yaml\n"
                "  weft simulate decisions.json -o plan.json && weft check plan.json\n",
    .options = simulate_table,
    .options_size = sizeof(simulate_options),
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
