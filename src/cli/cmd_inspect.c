/* SPDX-License-Identifier: MIT */
/* cmd_inspect.c: weft inspect MODEL. */
#define _POSIX_C_SOURCE 200809L
#include "cli.h"
#include "weft/report.h"

#include <stdlib.h>

typedef struct inspect_options {
    weft_model_flags flags;
    bool layers, json;
    const char *output;
} inspect_options;

static const weft_option inspect_table[] = {
    WEFT_MODEL_FLAGS(inspect_options),
    {WEFT_FLAG(inspect_options, layers), 0, 0, 1, "one line a node",                 NULL, NULL},
    {WEFT_FLAG(inspect_options, json),   0, 0, 1, "the result as one JSON document", NULL, NULL},
    {WEFT_TEXT(inspect_options, output), 0, 0, 0, "write the result there",          "",   NULL},
    WEFT_OPTIONS_END,
};

static weft_status print(const weft_model *m, const inspect_options *o, weft_arena *a)
{
    const weft_summary *s = weft_summarize(m, a);
    weft_status status;
    char *text = NULL;
    size_t n = 0;
    FILE *to = open_memstream(&text, &n);

    if (to == NULL)
        return weft_fail(WEFT_E_SYSTEM, "no memory for the result");
    if (o->json)
        fprintf(to, "%s\n", weft_doc_json(weft_summary_doc(s, o->layers, a), 2, a));
    else
        weft_summary_text(s, o->layers, to);
    fclose(to);
    status = weft_emit(o->output, text, n);
    free(text);
    return status;
}

static weft_status run(const void *options, const char *const *operand, int n_operands)
{
    const inspect_options *o = options;
    weft_arena *a = weft_arena_new();
    weft_model_options model_options;
    weft_model *m = NULL;
    weft_status status = weft_model_flags_read(&o->flags, a, &model_options);

    (void)n_operands; /* one: the table says so */
    if (status == WEFT_OK)
        status = weft_model_open(operand[0], &model_options, &m);
    if (status == WEFT_OK)
        status = print(m, o, a);
    weft_model_free(m);
    weft_arena_free(a);
    return status;
}

const weft_command weft_cmd_inspect = {
    .name = "inspect",
    .summary = "What a network is made of: operators, shapes, parameters, work, memory",
    .operands = "MODEL",
    .description =
        "Opens a network and shows what it is made of: nodes, parameters, multiply-accumulates,\n"
        "bytes of weights and activations, peak memory and a table by operator type.\n"
        "MODEL is an ONNX file or a built-in model with parameters (see: weft list models).\n"
        "Weights are never read: files of any size open in milliseconds.",
    .examples = "  weft inspect resnet50\n"
                "  weft inspect gpt2:xl,seq=512 --batch 8 --dtype f16\n"
                "  weft inspect model.onnx --dim N=8 --layers\n"
                "  weft inspect bert:large --train --optimizer adam\n"
                "  weft inspect model.onnx --json -o model.json\n",
    .options = inspect_table,
    .options_size = sizeof(inspect_options),
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
