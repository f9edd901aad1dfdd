/* SPDX-License-Identifier: MIT */
/* cmd_diff.c: weft diff A B. */
#include "cli.h"
#include "weft/api.h"
#include "weft/report.h"

#include <string.h>

typedef struct diff_options {
    const char *model, *on, *csv, *output;
    int64_t top;
    bool json, quiet;
} diff_options;

static const weft_option diff_table[] = {
    {WEFT_INT(diff_options,  top),    10, 0, 1e9, "stretches of moved tasks shown",                    NULL, NULL},
    {WEFT_TEXT(diff_options, model),  0,  0, 0,   "the model of both, if it is not where they say",    "",
     NULL                                                                                                        },
    {WEFT_TEXT(diff_options, on),     0,  0, 0,   "the platform of both, if it is not where they say", "",
     NULL                                                                                                        },
    {WEFT_TEXT(diff_options, csv),    0,  0, 0,   "write the moved tasks there",                       "",   NULL},
    {WEFT_FLAG(diff_options, json),   0,  0, 1,   "the differences as one JSON document",              NULL, NULL},
    {WEFT_TEXT(diff_options, output), 0,  0, 0,   "write the result there",                            "",   NULL},
    {WEFT_FLAG(diff_options, quiet),  0,  0, 1,   "print nothing but errors",                          NULL, NULL},
    WEFT_OPTIONS_END,
};

/* What weft check would say: one line for each thing that is wrong. True if there is any. */
static bool is_refused(const weft_pair *pair, const char *const path[2])
{
    for (int s = 0; s < 2; s++)
        weft_print_wrong(&pair->verdict[s], path[s], stderr);
    return pair->verdict[0].n_wrong + pair->verdict[1].n_wrong > 0;
}

static weft_status show(const weft_diff *d, const diff_options *o, weft_arena *a)
{
    weft_collect c;

    if (*o->csv) {
        WEFT_TRY(weft_collect_begin(&c));
        weft_diff_csv(d, c.to);
        WEFT_TRY(weft_collect_emit(&c, o->csv));
    }
    if (o->quiet && !*o->output)
        return WEFT_OK;
    WEFT_TRY(weft_collect_begin(&c));
    if (o->json)
        fprintf(c.to, "%s\n", weft_doc_json(weft_diff_doc(d, a), 1, a));
    else
        weft_diff_text(d, (int)o->top, weft_report_width(o->output), c.to);
    return weft_collect_emit(&c, o->output);
}

static weft_status run(const void *options, const char *const *operand, int n_operands, int *code)
{
    const diff_options *o = options;
    weft_arena *a = weft_arena_new();
    weft_pair pair;
    weft_diff d;
    weft_status status =
        weft_pair_open(operand, *o->model ? o->model : NULL, *o->on ? o->on : NULL, a, &pair);

    (void)n_operands; /* two: the table says so */
    if (status == WEFT_OK) {
        if (is_refused(&pair, operand)) {
            *code = WEFT_EXIT_NO;
        } else {
            weft_diff_plans(pair.side, a, &d);
            status = show(&d, o, a);
        }
        weft_pair_close(&pair);
    }
    weft_arena_free(a);
    return status;
}

const weft_command weft_cmd_diff = {
    .name = "diff",
    .summary = "Two plans side by side: what moved, what it cost",
    .operands = "A B",
    .description =
        "Opens and checks two plan files of one kind (place, shard or train), or two designs of\n"
        "weft mine, and says how they differ: values and bounds and what these prove about which\n"
        "is better, what was asked otherwise (solver, seed, batch, devices of the platform), the\n"
        "time, memory and traffic of each device, what the critical chain is made of, and what\n"
        "moved from where to where. Tasks and devices are matched by name. Exit code 0 whether or\n"
        "not they differ; 1, with the lines of weft check, if one of them is wrong; 2 if they are\n"
        "of different kinds.",
    .examples = "  weft place inception_v3 --on server-cpu-2gpu --solver heft -o heft.json\n"
                "  weft place inception_v3 --on server-cpu-2gpu -o best.json\n"
                "  weft diff heft.json best.json\n"
                "  weft diff heft.json best.json --top 3 --csv moved.csv\n"
                "  weft diff monday.json tuesday.json --json\n",
    .options = diff_table,
    .options_size = sizeof(diff_options),
    .min_operands = 2,
    .max_operands = 2,
    .run = run,
};
