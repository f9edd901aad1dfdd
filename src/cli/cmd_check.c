/* SPDX-License-Identifier: MIT */
/* cmd_check.c: weft check PLAN. */
#include "cli.h"
#include "fields.h"
#include "weft/api.h"

#include <math.h>

typedef struct check_options {
    const char *model, *on;
    bool json, quiet;
} check_options;

static const weft_option check_table[] = {
    {WEFT_TEXT(check_options, model), 0, 0, 0, "the model, if it is not where the plan says", "",
     NULL                                                                                               },
    {WEFT_TEXT(check_options, on),    0, 0, 0,
     "the platform, or the template of a design, if it is not where the plan says",           "",   NULL},
    {WEFT_FLAG(check_options, json),  0, 0, 1, "the verdict as one JSON document",            NULL, NULL},
    {WEFT_FLAG(check_options, quiet), 0, 0, 1, "print nothing; the exit code says it",        NULL, NULL},
    WEFT_OPTIONS_END,
};

static const weft_proof *proof_of(const weft_verdict *v)
{
    return v->is_shard ? &v->shards.proof : v->is_train ? &v->training.proof : &v->solution.proof;
}

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

static void bound_text(const weft_verdict *v, const page *g)
{
    const weft_proof *proof = proof_of(v);
    const char *bound = weft_glued_seconds(g->a, proof->bound);

    if (v->is_bound_checked)
        say(g, weft_arena_print(g->a, "  bound %s, recomputed from its certificates", bound));
    else
        say(g, weft_arena_print(g->a,
                                "  bound %s, of which %s are recomputed from certificates; the "
                                "rest was found by method '%s', a search that is not repeated here",
                                bound, weft_glued_seconds(g->a, v->certified), proof->method));
}

/* Everything else was found again. */
static void unchecked_text(const weft_verdict *v, const page *g)
{
    const char *list = "";

    for (int i = 0; i < v->n_unchecked; i++)
        list = weft_arena_print(g->a, "%s%s%s", list, i > 0 ? ", " : "", v->unchecked[i]);
    if (v->n_unchecked > 0)
        say(g, weft_arena_print(g->a, "  not checked: %s", list));
}

/* --- designs ---------------------------------------------------------------------------------- */

static const char *unit_of(const weft_verdict *v)
{
    return v->is_mine ? weft_mine_unit(v->mine.quest) : weft_fleet_unit(v->fleet.quest);
}

static double value_of(const weft_verdict *v)
{
    return v->is_mine ? v->mine.found->value : v->fleet.found->value;
}

static void design_bound_text(const weft_verdict *v, const page *g)
{
    double bound = v->is_mine ? v->mine.found->bound : v->fleet.found->bound;
    const char *unit = unit_of(v), *solver = v->is_mine ? v->mine.solver : "auto";

    if (bound == INFINITY)
        say(g, weft_arena_print(g->a, "  no bound is claimed; no design has more than %.6g\t%s",
                                v->certified, unit));
    else if (v->is_bound_checked)
        say(g, weft_arena_print(g->a, "  bound %.6g\t%s, recomputed from the whole template", bound,
                                unit));
    else
        say(g, weft_arena_print(g->a,
                                "  bound %.6g\t%s, proved by solver '%s', a search that is not "
                                "repeated here; without it %.6g\t%s, recomputed from the whole "
                                "template",
                                bound, unit, solver, v->certified, unit));
}

/* What a design is for does not fit: known, and said by whoever made it. */
static void memory_text(const weft_verdict *v, const page *g)
{
    if (v->is_mine && !weft_mine_report_fits(&v->mine))
        say(g, "  not all networks fit the memory of one device: see \"fits\" in the file");
}

static void design_text(const weft_verdict *v, const char *plan, const page *g)
{
    fprintf(g->to, "%s: within %s limits, and worth what %s: %.6g %s\n", plan,
            v->is_mine ? "its" : "the", v->is_mine ? "it claims" : "they claim", value_of(v),
            unit_of(v));
    design_bound_text(v, g);
    unchecked_text(v, g);
    memory_text(v, g);
}

/* --- the verdict ------------------------------------------------------------------------------ */

static const char *value_name(const weft_verdict *v, const weft_case *c)
{
    if (v->is_train)
        return "a step";
    return v->is_shard || c->problem->ask.goal == WEFT_LATENCY ? "latency" : "per item";
}

void weft_print_wrong(const weft_verdict *v, const char *plan, FILE *to)
{
    int listed = v->n_wrong < 100 ? v->n_wrong : 100;

    for (int i = 0; i < listed; i++)
        fprintf(to, "%s: %s\n", plan, v->wrong[i]);
    if (v->n_wrong > listed)
        fprintf(to, "%s: and %d more\n", plan, v->n_wrong - listed);
}

static void verdict_text(const weft_verdict *v, const weft_case *c, const char *plan, const page *g)
{
    char text[48];

    if (v->n_wrong == 0 && (v->is_mine || v->is_fleet)) {
        design_text(v, plan, g);
        return;
    }
    if (v->n_wrong == 0) {
        fprintf(g->to, "%s: legal, and worth what it claims: %s %s\n", plan,
                weft_print_seconds(proof_of(v)->value, text), value_name(v, c));
        bound_text(v, g);
        if (v->is_train && v->outside != NULL)
            say(g, weft_arena_print(g->a, "  outside of the space that searches cover: %s",
                                    v->outside));
        unchecked_text(v, g);
        return;
    }
    weft_print_wrong(v, plan, g->to);
}

static weft_doc *verdict_doc(const weft_verdict *v, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP), *list = weft_doc_new(a, WEFT_DOC_LIST);
    weft_doc *unchecked = weft_doc_new(a, WEFT_DOC_LIST);

    weft_doc_put(a, d, "schema", weft_doc_new_text(a, "weft.verdict/1"));
    weft_doc_put(a, d, "command", weft_doc_new_text(a, "check"));
    weft_doc_put(a, d, "legal", weft_doc_new_bool(a, v->n_wrong == 0));
    weft_doc_put(a, d, "bound_recomputed", weft_doc_new_bool(a, v->is_bound_checked));
    weft_doc_put(a, d, "bound_certified", weft_doc_new_real(a, v->certified));
    if (v->is_train)
        weft_doc_put(a, d, "outside",
                     v->outside ? weft_doc_new_text(a, v->outside)
                                : weft_doc_new(a, WEFT_DOC_NULL));
    for (int i = 0; i < v->n_wrong && i < 100; i++)
        weft_doc_add(a, list, weft_doc_new_text(a, v->wrong[i]));
    weft_doc_put(a, d, "wrong", list);
    for (int i = 0; i < v->n_unchecked; i++)
        weft_doc_add(a, unchecked, weft_doc_new_text(a, v->unchecked[i]));
    if (v->n_unchecked > 0 || !(v->is_mine || v->is_fleet))
        weft_doc_put(a, d, "not_checked", unchecked);
    return d;
}

static weft_status print(const weft_verdict *v, const weft_case *c, const char *plan,
                         const check_options *o, weft_arena *a)
{
    weft_collect text;

    if (o->quiet)
        return WEFT_OK;
    WEFT_TRY(weft_collect_begin(&text));
    if (o->json)
        fprintf(text.to, "%s\n", weft_doc_json(verdict_doc(v, a), 2, a));
    else
        verdict_text(v, c, plan, &(page){a, weft_report_width(NULL), text.to});
    return weft_collect_emit(&text, NULL);
}

static weft_status run(const void *options, const char *const *operand, int n_operands, int *code)
{
    const check_options *o = options;
    weft_arena *a = weft_arena_new();
    weft_verdict v;
    weft_case c;
    weft_status status =
        weft_verify(operand[0], *o->model ? o->model : NULL, *o->on ? o->on : NULL, a, &c, &v);

    (void)n_operands; /* one: the table says so */
    if (status == WEFT_OK) {
        *code = v.n_wrong == 0 ? WEFT_EXIT_DONE : WEFT_EXIT_NO;
        status = print(&v, &c, operand[0], o, a);
        weft_case_close(&c);
    }
    weft_arena_free(a);
    return status;
}

const weft_command weft_cmd_check = {
    .name = "check",
    .summary = "Is a plan legal, and is it worth what it claims?",
    .operands = "PLAN",
    .description =
        "Opens the model and the platform that a plan file names, and recomputes everything: the\n"
        "contents have not changed, every task is placed legally, the simulator finds the same\n"
        "times, every claimed number is found again, and the bound follows from its certificates, "
        "or\n"
        "rests on a search that is named: that part is not repeated. Designs of weft mine are\n"
        "checked the same way: area, power, times and the metric, from template and networks.\n"
        "What is not checked, such as the seed, is listed.\n"
        "Exit code 1, with one line for each thing that is wrong, if not.",
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
