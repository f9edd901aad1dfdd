/* SPDX-License-Identifier: MIT */
/* cmd_inspect.c: weft inspect MODEL. */
#include "command.h"
#include "report.h"

typedef struct inspect_options {
    weft_model_flags flags;
    bool layers, fused, json;
    const char *platform, *output;
} inspect_options;

static const weft_option inspect_table[] = {
    WEFT_MODEL_FLAGS(inspect_options),
    {WEFT_FLAG(inspect_options, layers),   0, 0, 1, "one line per node",                     NULL, NULL},
    {WEFT_FLAG(inspect_options, fused),    0, 0, 1,
                       "show which operators are one kernel, with --software fused or flash (the default)",    NULL,
                       NULL                                                                                              },
    {WEFT_TEXT(inspect_options, platform), 0, 0, 0,
                       "show a platform instead of a network: a file or a preset; NAME:server=4 sets a count", "",
                       NULL                                                                                              },
    {WEFT_FLAG(inspect_options, json),     0, 0, 1, "print the result as one JSON document", NULL,
                       NULL                                                                                              },
    {WEFT_TEXT(inspect_options, output),   0, 0, 0, "write the result to FILE",              "",   NULL},
    WEFT_OPTIONS_END,
};

/* Who pipes the layers into another program wants their names whole. */
static int text_width(const inspect_options *o)
{
    enum { LAYERS_WIDTH = 120 };

    return o->layers && !weft_is_for_terminal(o->output) ? LAYERS_WIDTH
                                                         : weft_report_width(o->output);
}

static weft_status print(const weft_model *m, const inspect_options *o, weft_arena *a)
{
    const weft_summary *s = weft_summarize(m, a);
    weft_collect c;

    WEFT_TRY(weft_collect_begin(&c));
    if (o->json)
        fprintf(c.to, "%s\n", weft_doc_json(weft_summary_doc(s, o->layers, a), 2, a));
    else
        weft_summary_text(s, o->layers, text_width(o), c.to);
    return weft_collect_emit(&c, o->output);
}

static weft_status print_kernels(const weft_model *m, const inspect_options *o, weft_software s,
                                 weft_arena *a)
{
    weft_collect c;

    WEFT_TRY(weft_collect_begin(&c));
    if (o->json)
        fprintf(c.to, "%s\n", weft_doc_json(weft_kernels_doc(m, s, a), 2, a));
    else
        weft_kernels_text(m, s, text_width(o), a, c.to);
    return weft_collect_emit(&c, o->output);
}

/* The software of --fused: flash, unless the user says fused. */
static weft_status choose_software(weft_model_options *o)
{
    if (!o->has_software)
        o->software = WEFT_SOFTWARE_FLASH;
    if (o->software != WEFT_SOFTWARE_FUSED && o->software != WEFT_SOFTWARE_FLASH)
        return weft_fail(WEFT_E_INPUT,
                         "--fused: with --software %s each operator is a kernel, expected fused "
                         "or flash",
                         weft_software_name(o->software));
    return WEFT_OK;
}

static weft_status print_platform(const inspect_options *o, weft_arena *a)
{
    weft_platform *p;
    weft_collect c;
    weft_status status;

    WEFT_TRY(weft_platform_open(o->platform, &p));
    status = weft_collect_begin(&c);
    if (status == WEFT_OK) {
        if (o->json)
            fprintf(c.to, "%s\n", weft_doc_json(weft_platform_doc(p, a), 2, a));
        else
            weft_platform_text(p, weft_report_width(o->output), c.to);
        status = weft_collect_emit(&c, o->output);
    }
    weft_platform_free(p);
    return status;
}

static weft_status run_model(const inspect_options *o, const char *source, weft_arena *a)
{
    weft_model_options model_options;
    weft_model *m;
    weft_status status;

    WEFT_TRY(weft_model_flags_read(&o->flags, a, &model_options));
    if (o->fused)
        WEFT_TRY(choose_software(&model_options));
    WEFT_TRY(weft_model_open(source, &model_options, &m));
    status = o->fused ? print_kernels(m, o, model_options.software, a) : print(m, o, a);
    weft_model_free(m);
    return status;
}

static weft_status run(const void *options, const char *const *operand, int n_operands, int *code)
{
    const inspect_options *o = options;
    weft_arena *a = weft_arena_new();
    bool wants_platform = *o->platform != '\0';
    weft_status status;

    *code = WEFT_EXIT_DONE;
    if (wants_platform == (n_operands == 1))
        status = weft_fail(WEFT_E_INPUT, "inspect: expected either MODEL or --platform PLATFORM; "
                                         "see: weft inspect --help");
    else
        status = wants_platform ? print_platform(o, a) : run_model(o, operand[0], a);
    weft_arena_free(a);
    return status;
}

const weft_command weft_cmd_inspect = {
    .name = "inspect",
    .summary = "Show the operators, shapes, parameters, work and memory of a network",
    .operands = "[MODEL]",
    .description =
        "Opens a network and shows its nodes, parameters, multiply-accumulates, bytes of\n"
        "weights and activations, peak memory, and a table by operator type. MODEL is an\n"
        "ONNX file, a built-in model with parameters (see weft list models), or the\n"
        "config.json or GGUF file of a language model. weft never reads weights, so files\n"
        "of any size open in milliseconds. --fused shows instead which operators become\n"
        "one kernel, and the bytes that this saves.",
    .examples = "  weft inspect resnet50\n"
                "  weft inspect gpt2:xl,seq=512 --batch 8 --dtype f16\n"
                "  weft inspect model.onnx --dim N=8 --layers\n"
                "  weft inspect bert:large --train --optimizer adam\n"
                "  weft inspect gpt2 --fused\n"
                "  weft inspect Llama-2-7b/config.json:seq=2048\n"
                "  weft inspect model.onnx --json -o model.json\n"
                "  weft inspect --platform server-cpu-2gpu\n"
                "  weft inspect --platform cluster-32:server=16\n",
    .options = inspect_table,
    .options_size = sizeof(inspect_options),
    .min_operands = 0,
    .max_operands = 1,
    .run = run,
};
