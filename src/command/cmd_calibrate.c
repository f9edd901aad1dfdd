/* SPDX-License-Identifier: MIT */
/* cmd_calibrate.c: weft calibrate MEASURED --on PLATFORM -o OUT. */
#include "calibrate.h"
#include "command.h"

#include <string.h>

typedef struct calibrate_options {
    const char *on, *output;
    int64_t folds, seed, threads;
    bool json;
} calibrate_options;

static const weft_option calibrate_table[] = {
    {WEFT_TEXT(calibrate_options, on),      0, 0, 0,
     "platform whose constants are fitted: a file or a preset",                                          "",   NULL},
    {WEFT_TEXT(calibrate_options, output),  0, 0, 0,
     "write the platform with the fitted constants to FILE",                                             "",   NULL},
    {WEFT_INT(calibrate_options,  folds),   5, 2, 100,  "parts of the groups that are held out in turn",
     NULL,                                                                                                     NULL},
    {WEFT_INT(calibrate_options,  seed),    1, 0, 1e15,
     "seed of the starts of the search and of the folds",                                                NULL, NULL},
    {WEFT_INT(calibrate_options,  threads), 0, 0, 1024,
     "number of threads; the answer does not depend on it; 0: one per core",                             NULL, NULL},
    {WEFT_FLAG(calibrate_options, json),    0, 0, 1,    "print the result as one JSON document",         NULL,
     NULL                                                                                                          },
    WEFT_OPTIONS_END,
};

static weft_status show(const weft_fit *f, const calibrate_options *o, weft_arena *a)
{
    weft_collect c;

    WEFT_TRY(weft_collect_begin(&c));
    if (o->json)
        fprintf(c.to, "%s\n", weft_doc_json(weft_fit_doc(f, a), 2, a));
    else
        weft_fit_text(f, c.to);
    return weft_collect_emit(&c, NULL);
}

static weft_status calibrate(const calibrate_options *o, const char *source, weft_arena *a)
{
    weft_fit_options how = {o->folds, o->seed, weft_threads(o->threads)};
    const char *text;
    weft_measured m;
    weft_fit fit;

    WEFT_TRY(weft_measured_open(source, o->on, a, &m));
    WEFT_TRY(weft_fit_make(&m, o->on, &how, a, &fit));
    WEFT_TRY(weft_fit_platform(&fit, o->on, a, &text));
    WEFT_TRY(show(&fit, o, a));
    return *o->output ? weft_file_write(o->output, text, strlen(text)) : WEFT_OK;
}

static weft_status run(const void *options, const char *const *operand, int n_operands, int *code)
{
    const calibrate_options *o = options;
    weft_arena *a;
    weft_status status;

    (void)n_operands;
    *code = WEFT_EXIT_DONE;
    if (*o->on == '\0')
        return weft_fail(WEFT_E_INPUT,
                         "calibrate: --on PLATFORM is missing; see: weft calibrate --help");
    a = weft_arena_new();
    status = calibrate(o, operand[0], a);
    weft_arena_free(a);
    return status;
}

const weft_command weft_cmd_calibrate = {
    .name = "calibrate",
    .summary = "Fit the constants of a device to measurements",
    .operands = "MEASURED",
    .description =
        "Reads a table of measurements (a file or a shipped set, docs/formats.md), fits the\n"
        "constants of the device they were made on (efficiency, overhead, memory efficiency and\n"
        "what else its model has) so that the median of |log error| is smallest, and writes the\n"
        "platform with them. The error it announces is of rows that the fit has not seen: groups\n"
        "(column `group`: shape family or network) are held out in turn.",
    .examples = "  weft calibrate measured.csv --on server-cpu-2gpu -o mine.yaml\n"
                "  weft calibrate measured.csv --on mine.yaml --folds 10 --json\n",
    .options = calibrate_table,
    .options_size = sizeof(calibrate_options),
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
