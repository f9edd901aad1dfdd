/* SPDX-License-Identifier: MIT */
/* cmd_validate.c: weft validate [SET|FILE.csv]. */
#include "command.h"
#include "score.h"

#include <string.h>

typedef struct validate_options {
    const char *on, *output;
    bool json, markdown, check;
} validate_options;

static const weft_option validate_table[] = {
    {WEFT_TEXT(validate_options, on),       0, 0, 0,
     "platform of all rows, instead of the one each row names",                               "",   NULL},
    {WEFT_FLAG(validate_options, json),     0, 0, 1, "print the result as one JSON document", NULL,
     NULL                                                                                               },
    {WEFT_FLAG(validate_options, markdown), 0, 0, 1,
     "print the result as the tables of docs/validation.md",                                  NULL, NULL},
    {WEFT_FLAG(validate_options, check),    0, 0, 1,
     "exit with 1 if a set is worse than the figures recorded in it",                         NULL, NULL},
    {WEFT_TEXT(validate_options, output),   0, 0, 0, "write the result to FILE",              "",   NULL},
    WEFT_OPTIONS_END,
};

typedef struct answer {
    const validate_options *o;
    int n;
    weft_score *score;
    weft_arena *a;
} answer;

static void write_text(const answer *x, FILE *to)
{
    for (int i = 0; i < x->n; i++) {
        (x->o->markdown ? weft_score_markdown : weft_score_text)(&x->score[i], to);
        fputc('\n', to);
    }
    if (x->n > 1)
        (x->o->markdown ? weft_scores_markdown : weft_scores_text)(x->score, x->n, to);
}

static void write_json(const answer *x, FILE *to)
{
    weft_doc *d = weft_doc_new(x->a, WEFT_DOC_MAP), *sets = weft_doc_new(x->a, WEFT_DOC_LIST);

    weft_put_text(x->a, d, "schema", "weft.validation/1");
    for (int i = 0; i < x->n; i++)
        weft_doc_add(x->a, sets, weft_score_doc(&x->score[i], x->a));
    weft_doc_put(x->a, d, "sets", sets);
    fprintf(to, "%s\n", weft_doc_json(d, 2, x->a));
}

static weft_status check(const answer *x, int *code)
{
    for (int i = 0; i < x->n; i++) {
        weft_recorded recorded;
        const char *worse;

        WEFT_TRY(weft_recorded_read(x->score[i].measured, &recorded));
        worse = weft_score_worse(&x->score[i], &recorded, x->a);
        if (worse == NULL)
            continue;
        weft_complain(worse);
        *code = WEFT_EXIT_NO;
    }
    return WEFT_OK;
}

static weft_status show(const answer *x, int *code)
{
    weft_collect c;

    WEFT_TRY(weft_collect_begin(&c));
    (x->o->json ? write_json : write_text)(x, c.to);
    WEFT_TRY(weft_collect_emit(&c, x->o->output));
    return x->o->check ? check(x, code) : WEFT_OK;
}

static weft_status score(answer *x, const char *source)
{
    weft_measured *m = WEFT_NEW(x->a, weft_measured, 1);
    const char *on = *x->o->on ? x->o->on : NULL;

    WEFT_TRY(weft_measured_open(source, on, x->a, m));
    return weft_score_make(m, on, x->a, &x->score[x->n++]);
}

static weft_status run(const void *options, const char *const *operand, int n_operands, int *code)
{
    answer x = {.o = options, .a = weft_arena_new()};
    int n = n_operands ? n_operands : weft_set_preset_count();
    weft_status status = WEFT_OK;

    *code = WEFT_EXIT_DONE;
    x.score = WEFT_NEW(x.a, weft_score, n);
    for (int i = 0; i < n && status == WEFT_OK; i++)
        status = score(&x, n_operands ? operand[i] : weft_set_preset_at(i)->name);
    if (status == WEFT_OK)
        status = show(&x, code);
    weft_arena_free(x.a);
    return status;
}

const weft_command weft_cmd_validate = {
    .name = "validate",
    .summary = "Set predicted times beside published or your own measurements",
    .operands = "[SET|FILE.csv...]",
    .description =
        "Predicts each row of a table of measurements and prints published value, prediction\n"
        "and error, then the median of |error|, the error that 90 % of rows stay below, the\n"
        "bias, the rank correlation and, for tables of choices of one problem, the regret: how\n"
        "much longer the choice takes that weft would make. Without operand all shipped sets\n"
        "(weft list sets); FILE.csv is a table of your own (docs/formats.md).",
    .examples = "  weft validate\n"
                "  weft validate nccl-a100\n"
                "  weft validate measured.csv --on dgx-a100\n"
                "  weft validate --json -o validation.json\n",
    .options = validate_table,
    .options_size = sizeof(validate_options),
    .min_operands = 0,
    .max_operands = 100,
    .run = run,
};
