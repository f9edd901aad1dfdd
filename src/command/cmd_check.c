/* SPDX-License-Identifier: MIT */
/* cmd_check.c: weft check PLAN. */
#include "command.h"
#include "fields.h"
#include "kind.h"

#include <math.h>

typedef struct check_options {
    const char *model, *on;
    bool json, quiet;
} check_options;

static const weft_option check_table[] = {
    {WEFT_TEXT(check_options, model), 0, 0, 0, "path of the model, if it has moved",                "",   NULL},
    {WEFT_TEXT(check_options, on),    0, 0, 0, "path of the platform or template, if it has moved", "",
     NULL                                                                                                     },
    {WEFT_FLAG(check_options, json),  0, 0, 1, "print the verdict as one JSON document",            NULL, NULL},
    {WEFT_FLAG(check_options, quiet), 0, 0, 1, "print nothing; the exit code tells",                NULL, NULL},
    WEFT_OPTIONS_END,
};

/* Lines for people, as wide as the terminal. The first line names a file and is not broken. */
typedef struct page {
    weft_arena *a;
    int width;
    FILE *to;
} page;

static void say(const page *g, const char *text)
{
    weft_print_wrapped(g->to, 2, g->width, text);
}

/* A value with its unit, which is not torn from it. */
static const char *amount(const weft_check_result *v, double x, weft_arena *a)
{
    return v->kind->is_max ? weft_arena_print(a, "%.6g\t%s", x, v->kind->value_name(&v->problem))
                           : weft_glued_seconds(a, x);
}

/* Bounds of plans are recomputed from certificates, those of designs from the whole template. */
static void bound_text(const weft_check_result *v, const page *g)
{
    bool is_design = v->kind->is_design;
    const weft_proof *proof = v->file.proof;
    const char *bound = amount(v, proof->bound, g->a), *certified = amount(v, v->certified, g->a);

    if (is_design && proof->bound == INFINITY)
        say(g,
            weft_arena_print(g->a, "  no bound is claimed; no design has more than %s", certified));
    else if (v->is_bound_checked)
        say(g, weft_arena_print(g->a, "  bound %s, recomputed from %s", bound,
                                is_design ? "the whole template" : "its certificates"));
    else if (is_design)
        say(g, weft_arena_print(g->a,
                                "  bound %s, proved by solver '%s', a search that is not repeated "
                                "here; without it %s, recomputed from the whole template",
                                bound, v->file.origin->solver, certified));
    else if (v->kind->is_max)
        say(g, weft_arena_print(g->a,
                                "  bound %s, found by method '%s', a search that is not repeated "
                                "here; its certificates prove %s",
                                bound, proof->method, certified));
    else
        say(g, weft_arena_print(g->a,
                                "  bound %s, of which %s are recomputed from certificates; the "
                                "rest was found by method '%s', a search that is not repeated here",
                                bound, certified, proof->method));
}

/* Everything else was found again. */
static void unchecked_text(const weft_check_result *v, const page *g)
{
    const char *list = "";

    for (int i = 0; i < v->n_unchecked; i++)
        list = weft_arena_print(g->a, "%s%s%s", list, i > 0 ? ", " : "", v->unchecked[i]);
    if (v->n_unchecked > 0)
        say(g, weft_arena_print(g->a, "  not checked: %s", list));
}

/* --- the verdict ----------------------------------------------------------------------------- */

void weft_print_wrong(const weft_check_result *v, const char *plan, FILE *to)
{
    int listed = v->n_wrong < 100 ? v->n_wrong : 100;

    for (int i = 0; i < listed; i++)
        fprintf(to, "%s: %s\n", plan, v->wrong[i]);
    if (v->n_wrong > listed)
        fprintf(to, "%s: and %d more\n", plan, v->n_wrong - listed);
}

void weft_complain_wrong(const weft_check_result *v, const char *plan)
{
    int listed = v->n_wrong < 100 ? v->n_wrong : 100;
    weft_arena *a = weft_arena_new();

    for (int i = 0; i < listed; i++)
        weft_complain(weft_arena_print(a, "%s: %s", plan, v->wrong[i]));
    if (v->n_wrong > listed)
        weft_complain(weft_arena_print(a, "%s: and %d more", plan, v->n_wrong - listed));
    weft_arena_free(a);
}

static void verdict_text(const weft_check_result *v, const char *plan, const page *g)
{
    double value = v->file.proof->value;
    const char *name = v->kind->value_name(&v->problem);
    char text[48];

    if (v->n_wrong > 0) {
        weft_print_wrong(v, plan, g->to);
        return;
    }
    if (v->kind->is_max)
        fprintf(g->to, "%s: %s: %.6g %s\n", plan, v->kind->legal, value, name);
    else
        fprintf(g->to, "%s: %s: %s %s\n", plan, v->kind->legal, weft_print_seconds(value, text),
                name);
    bound_text(v, g);
    if (v->note != NULL)
        say(g, weft_arena_print(g->a, "  %s", v->note));
    unchecked_text(v, g);
}

static weft_doc *verdict_doc(const weft_check_result *v, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);

    weft_put_text(a, d, "schema", "weft.verdict/1");
    weft_put_text(a, d, "command", "check");
    weft_put_bool(a, d, "legal", v->n_wrong == 0);
    weft_put_bool(a, d, "bound_recomputed", v->is_bound_checked);
    weft_doc_put(a, d, "bound_certified", weft_doc_new_real(a, v->certified));
    if (v->has_space)
        weft_put_text(a, d, "outside", v->outside);
    weft_doc_put(a, d, "wrong", weft_texts_doc(v->wrong, v->n_wrong < 100 ? v->n_wrong : 100, a));
    weft_doc_put(a, d, "not_checked", weft_texts_doc(v->unchecked, v->n_unchecked, a));
    return d;
}

static weft_status print(const weft_check_result *v, const char *plan, const check_options *o,
                         weft_arena *a)
{
    weft_collect text;

    if (o->quiet)
        return WEFT_OK;
    WEFT_TRY(weft_collect_begin(&text));
    if (o->json)
        fprintf(text.to, "%s\n", weft_doc_json(verdict_doc(v, a), 2, a));
    else
        verdict_text(v, plan, &(page){a, weft_report_width(NULL), text.to});
    return weft_collect_emit(&text, NULL);
}

static weft_status run(const void *options, const char *const *operand, int n_operands, int *code)
{
    const check_options *o = options;
    weft_arena *a = weft_arena_new();
    weft_check_result v;
    weft_status status =
        weft_verify(operand[0], *o->model ? o->model : NULL, *o->on ? o->on : NULL, a, &v);

    (void)n_operands; /* one: the table says so */
    if (status == WEFT_OK) {
        *code = v.n_wrong == 0 ? WEFT_EXIT_DONE : WEFT_EXIT_NO;
        status = print(&v, operand[0], o, a);
        weft_check_result_close(&v);
    }
    weft_arena_free(a);
    return status;
}

const weft_command weft_cmd_check = {
    .name = "check",
    .summary = "Verify a plan: legality, claimed values, bound",
    .operands = "PLAN",
    .description =
        "Opens the model and the platform that a plan file names, and verifies that their\n"
        "contents have not changed, that every task is placed legally, that the simulator\n"
        "finds the same times and every other claimed number, and that the bound follows\n"
        "from its certificates. If the bound rests on a search, weft names the search and\n"
        "does not repeat it. Designs of weft mine are verified the same way, from\n"
        "template and networks: area, power, times and metric. weft lists what it does\n"
        "not verify, such as the seed. Exit code 1, with one line per error, if the plan\n"
        "is wrong.",
    .examples = "  weft place inception_v3 --on server-cpu-2gpu -o plan.json\n"
                "  weft check plan.json\n"
                "  weft check plan.json --model moved/model.onnx\n"
                "  weft mine resnet50 --area 600mm2 --power 280W -o design.json\n"
                "  weft check design.json\n",
    .options = check_table,
    .options_size = sizeof(check_options),
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
