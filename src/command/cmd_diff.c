/* SPDX-License-Identifier: MIT */
/* cmd_diff.c: weft diff A B. */
#include "command.h"
#include "kind.h"
#include "report.h"

#include <math.h>
#include <string.h>

typedef struct diff_options {
    const char *model, *on, *csv, *output, *fail_if_worse;
    int64_t top;
    bool json, quiet;
} diff_options;

static const weft_option diff_table[] = {
    {WEFT_INT(diff_options,  top),           10, 0, 1e9, "number of moved segments to show",              NULL, NULL},
    {WEFT_TEXT(diff_options, model),         0,  0, 0,   "path of the model of both, if it has moved",    "",
     NULL                                                                                                           },
    {WEFT_TEXT(diff_options, on),            0,  0, 0,   "path of the platform of both, if it has moved", "",
     NULL                                                                                                           },
    {WEFT_TEXT(diff_options, fail_if_worse), 0,  0, 0,
     "exit code 1 if B is worse than A by more than this, as in 2% (for continuous integration)",         "",   NULL},
    {WEFT_TEXT(diff_options, csv),           0,  0, 0,   "write the moved tasks to FILE, as CSV",         "",   NULL},
    {WEFT_FLAG(diff_options, json),          0,  0, 1,   "print the differences as one JSON document",    NULL,
     NULL                                                                                                           },
    {WEFT_TEXT(diff_options, output),        0,  0, 0,   "write the result to FILE",                      "",   NULL},
    {WEFT_FLAG(diff_options, quiet),         0,  0, 1,   "print errors only",                             NULL, NULL},
    WEFT_OPTIONS_END,
};

/* What weft check would say: one line for each thing that is wrong. True if there is any. */
static bool is_refused(const weft_pair *pair, const char *const path[2])
{
    for (int s = 0; s < 2; s++)
        weft_complain_wrong(&pair->check[s], path[s]);
    return pair->check[0].n_wrong + pair->check[1].n_wrong > 0;
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

/* "2%" -> 0.02; INFINITY: nothing is asked for. */
static weft_status read_percent(const char *text, weft_arena *a, double *out)
{
    size_t n = strlen(text);

    *out = INFINITY;
    if (n == 0)
        return WEFT_OK;
    if (text[n - 1] != '%' ||
        weft_unit_parse(weft_arena_text(a, text, n - 1), WEFT_UNIT_NONE, true, out) != WEFT_OK ||
        *out < 0)
        return weft_fail(WEFT_E_INPUT,
                         "--fail-if-worse is '%s', expected a number of percent from 0 on, as in "
                         "2%%",
                         text);
    *out /= 100;
    return WEFT_OK;
}

/* By which part of its value A is better than B; below 0: it is not. */
static double worse_by(const weft_pair *pair)
{
    double before = pair->check[0].file.proof->value, after = pair->check[1].file.proof->value;
    double loss = pair->check[0].kind->is_max ? before - after : after - before;

    return loss == 0 ? 0 : loss / before;
}

static void judge(const weft_pair *pair, const char *const *path, double most, weft_arena *a,
                  int *code)
{
    static const double rounding = 1e-9;
    double worse = worse_by(pair);

    if (!(worse > most + rounding))
        return;
    *code = WEFT_EXIT_NO;
    weft_complain(weft_arena_print(a, "weft: %s is %.3g %% worse than %s, allowed are %.3g %%",
                                   path[1], 100 * worse, path[0], 100 * most));
}

static weft_status run(const void *options, const char *const *operand, int n_operands, int *code)
{
    const diff_options *o = options;
    weft_arena *a = weft_arena_new();
    double most;
    weft_pair pair;
    weft_diff d;
    weft_status status = read_percent(o->fail_if_worse, a, &most);

    if (status == WEFT_OK)
        status =
            weft_pair_open(operand, *o->model ? o->model : NULL, *o->on ? o->on : NULL, a, &pair);

    (void)n_operands; /* two: the table says so */
    if (status == WEFT_OK) {
        if (is_refused(&pair, operand)) {
            *code = WEFT_EXIT_NO;
        } else {
            weft_diff_plans(pair.side, a, &d);
            status = show(&d, o, a);
            if (status == WEFT_OK)
                judge(&pair, operand, most, a, code);
        }
        weft_pair_close(&pair);
    }
    weft_arena_free(a);
    return status;
}

const weft_command weft_cmd_diff = {
    .name = "diff",
    .summary = "Compare two plans: what moved, and what it cost",
    .operands = "A B",
    .description =
        "Opens and verifies two plan files of one kind (place, shard or train), or two\n"
        "designs of weft mine, and shows how they differ: values and bounds, and which\n"
        "plan is proven better; differences in the problem (solver, seed, batch,\n"
        "devices); time, memory and traffic per device; the critical path; and which\n"
        "tasks moved. Tasks and devices are matched by name. Exit code 0 whether or not\n"
        "they differ; 1, with the output of weft check, if one of them is wrong, or if B is\n"
        "worse than --fail-if-worse allows; 2 if they are of different kinds.",
    .examples = "  weft place inception_v3 --on server-cpu-2gpu --solver heft -o heft.json\n"
                "  weft place inception_v3 --on server-cpu-2gpu -o best.json\n"
                "  weft diff heft.json best.json\n"
                "  weft diff heft.json best.json --top 3 --csv moved.csv\n"
                "  weft diff monday.json tuesday.json --json\n"
                "  weft diff main.json branch.json --quiet --fail-if-worse 2%\n",
    .options = diff_table,
    .options_size = sizeof(diff_options),
    .min_operands = 2,
    .max_operands = 2,
    .run = run,
};
