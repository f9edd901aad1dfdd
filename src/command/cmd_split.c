/* SPDX-License-Identifier: MIT */
/* cmd_split.c: weft split PLAN -o DIR. */
#include "command.h"
#include "fields.h"
#include "kind.h"

#include <string.h>

typedef struct split_options {
    const char *model, *on, *output;
    bool json, quiet;
} split_options;

/* clang-format off */
static const weft_option split_table[] = {
    {WEFT_TEXT(split_options, output), 0, 0, 0, "folder to write: new, empty, or with an earlier split", "", NULL},
    {WEFT_TEXT(split_options, model), 0, 0, 0, "path of the model, if it has moved", "", NULL},
    {WEFT_TEXT(split_options, on), 0, 0, 0, "path of the platform, if it has moved", "", NULL},
    {WEFT_FLAG(split_options, json), 0, 0, 1, "print the manifest", NULL, NULL},
    {WEFT_FLAG(split_options, quiet), 0, 0, 1, "print errors only", NULL, NULL},
    WEFT_OPTIONS_END,
};
/* clang-format on */

static weft_status print_text(const weft_split_net *s)
{
    weft_collect c;
    char text[48];
    double sent = 0;
    int n_sent = 0;

    for (int i = 0; i < s->n_tensors; i++)
        if (weft_split_net_sent_to(s, i) > 0) {
            sent += (double)s->tensor[i].bytes;
            n_sent++;
        }
    WEFT_TRY(weft_collect_begin(&c));
    fprintf(c.to, "%s: %d segment%s on %d device%s\n", s->folder, s->n_segments,
            s->n_segments == 1 ? "" : "s", s->n_devices, s->n_devices == 1 ? "" : "s");
    for (int d = 0; d < s->n_devices; d++) {
        double seconds = 0;
        int n = 0;

        for (int i = 0; i < s->n_segments; i++)
            if (s->segment[i].device == d) {
                seconds += s->segment[i].seconds;
                n++;
            }
        fprintf(c.to, "  %-14s %4d segment%s %s\n", s->device[d].name, n, n == 1 ? ", " : "s,",
                weft_print_seconds(seconds, text));
    }
    fprintf(c.to, "  sent           %4d tensor%s %s\n", n_sent, n_sent == 1 ? ", " : "s,",
            weft_format_bytes(sent, text));
    return weft_collect_emit(&c, NULL);
}

static weft_status print_json(const split_options *o, weft_arena *a)
{
    const weft_doc *d;
    const char *text;

    WEFT_TRY(weft_doc_read(weft_arena_print(a, "%s/manifest.json", o->output), a, &d));
    text = weft_arena_print(a, "%s\n", weft_doc_json(d, 1, a));
    return weft_emit(NULL, text, strlen(text));
}

static weft_status split(const weft_check_result *v, const split_options *o, weft_arena *a)
{
    weft_split_net s;

    WEFT_TRY(weft_split_plan(v, o->output, a, &s));
    if (o->quiet)
        return WEFT_OK;
    return o->json ? print_json(o, a) : print_text(&s);
}

static weft_status run(const void *options, const char *const *operand, int n_operands, int *code)
{
    const split_options *o = options;
    weft_arena *a;
    weft_check_result v;
    weft_status status;

    (void)n_operands; /* one: the table says so */
    if (*o->output == '\0')
        return weft_fail(WEFT_E_INPUT, "no folder is given, expected -o FOLDER");
    a = weft_arena_new();
    weft_ends_wait(true);
    status = weft_verify(operand[0], *o->model ? o->model : NULL, *o->on ? o->on : NULL, a, &v);
    if (status == WEFT_OK && v.n_wrong > 0) {
        *code = WEFT_EXIT_NO;
        weft_complain_wrong(&v, operand[0]);
    } else if (status == WEFT_OK) {
        status = split(&v, o, a);
    }
    weft_check_result_close(&v);
    weft_ends_wait(false);
    weft_arena_free(a);
    return status;
}

const weft_command weft_cmd_split = {
    .name = "split",
    .summary = "Write a placed network as one ONNX file per segment",
    .operands = "PLAN",
    .description =
        "Verifies a plan of weft place as weft check does and cuts the network where the\n"
        "plan sends data from one device to another. The folder gets one ONNX file per\n"
        "segment with the weights it reads, a manifest (order, devices, tensors, shapes,\n"
        "bytes, hashes), the plan, and settings for ONNX Runtime, OpenVINO, TensorRT and,\n"
        "where the network is a chain of stages, PyTorch. Weights in files beside the model\n"
        "stay such files. Run together, the segments compute what the whole network does;\n"
        "weft run does that. See docs/formats.md.",
    .examples = "  weft place model.onnx --on local.yaml -o plan.json\n"
                "  weft split plan.json -o parts\n"
                "  weft run parts\n",
    .options = split_table,
    .options_size = sizeof(split_options),
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
