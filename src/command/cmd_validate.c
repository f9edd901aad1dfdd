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
    int n, n_families;
    weft_score *score; /* [n], then families */
    weft_arena *a;
} answer;

static void write_text(const answer *x, FILE *to)
{
    for (int i = 0; i < x->n; i++) {
        (x->o->markdown ? weft_score_markdown : weft_score_text)(&x->score[i], to);
        fputc('\n', to);
    }
    if (x->n > 1)
        (x->o->markdown ? weft_scores_markdown : weft_scores_text)(x->score, x->n + x->n_families,
                                                                   to);
}

static void write_json(const answer *x, FILE *to)
{
    weft_doc *d = weft_doc_new(x->a, WEFT_DOC_MAP), *sets = weft_doc_new(x->a, WEFT_DOC_LIST);
    weft_doc *families = weft_doc_new(x->a, WEFT_DOC_LIST);

    weft_put_text(x->a, d, "schema", "weft.validation/1");
    for (int i = 0; i < x->n; i++)
        weft_doc_add(x->a, sets, weft_score_doc(&x->score[i], x->a));
    weft_doc_put(x->a, d, "sets", sets);
    for (int i = 0; i < x->n_families; i++)
        weft_doc_add(x->a, families, weft_score_figures_doc(&x->score[x->n + i], x->a));
    if (x->n_families > 0)
        weft_doc_put(x->a, d, "families", families);
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

/* Shipped sets of a family; NULL: all. */
static weft_status score_family(answer *x, const char *family, int *n_found)
{
    *n_found = 0;
    for (int i = 0; i < weft_set_preset_count(); i++) {
        const char *name = weft_set_preset_at(i)->name;
        weft_measured m;

        WEFT_TRY(weft_measured_open(name, NULL, x->a, &m));
        if (family != NULL && (m.family == NULL || strcmp(m.family, family) != 0))
            continue;
        WEFT_TRY(score(x, name));
        ++*n_found;
    }
    return WEFT_OK;
}

static weft_status score_operand(answer *x, const char *operand)
{
    int n_found;

    WEFT_TRY(score_family(x, operand, &n_found));
    return n_found > 0 ? WEFT_OK : score(x, operand);
}

static void add_families(answer *x)
{
    for (int i = 0; i < x->n; i++)
        x->n_families +=
            weft_score_family(x->score, x->n, i, x->a, &x->score[x->n + x->n_families]);
}

static weft_status run(const void *options, const char *const *operand, int n_operands, int *code)
{
    answer x = {.o = options, .a = weft_arena_new()};
    int most = (n_operands + 1) * (weft_set_preset_count() + 1), n_all;
    weft_status status = WEFT_OK;

    *code = WEFT_EXIT_DONE;
    x.score = WEFT_NEW(x.a, weft_score, 2 * most);
    if (n_operands == 0)
        status = score_family(&x, NULL, &n_all);
    for (int i = 0; i < n_operands && status == WEFT_OK; i++)
        status = score_operand(&x, operand[i]);
    if (status == WEFT_OK) {
        add_families(&x);
        status = show(&x, code);
    }
    weft_arena_free(x.a);
    return status;
}

const weft_command weft_cmd_validate = {
    .name = "validate",
    .summary = "Set predicted times beside published or your own measurements",
    .operands = "[SET|FAMILY|FILE.csv...]",
    .description =
        "Predicts each row of a table of measurements and prints published value, prediction\n"
        "and error, then the median of |error|, the error that 90 % of rows stay below, the\n"
        "bias, the rank correlation and, for tables of choices of one problem, the regret: how\n"
        "much longer the choice takes that weft would make. Without operand all shipped sets\n"
        "(weft list sets); the name of a family, megatron, is all sets of it, which are then\n"
        "counted together too; FILE.csv is a table of your own (docs/formats.md).",
    .examples = "  weft validate\n"
                "  weft validate nccl-a100\n"
                "  weft validate megatron\n"
                "  weft validate measured.csv --on dgx-a100\n"
                "  weft validate --json -o validation.json\n",
    .options = validate_table,
    .options_size = sizeof(validate_options),
    .min_operands = 0,
    .max_operands = 100,
    .run = run,
};
