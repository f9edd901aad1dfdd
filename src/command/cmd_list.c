/* SPDX-License-Identifier: MIT */
/* cmd_list.c: weft list models|platforms|templates|sets|solvers|operators|commands. */
#include "command.h"
#include "fields.h"
#include "kind.h"

#include <string.h>

typedef struct list_options {
    bool json;
    const char *show, *output;
} list_options;

static const weft_option list_table[] = {
    {WEFT_FLAG(list_options, json),   0, 0, 1, "print the list as one JSON document", NULL, NULL},
    {WEFT_TEXT(list_options, show),   0, 0, 0,
     "print the file of this platform or template, to be edited and read back",       "",   NULL},
    {WEFT_TEXT(list_options, output), 0, 0, 0, "write the result to FILE",            "",   NULL},
    WEFT_OPTIONS_END,
};

/* A name, and what it is beside it. */
static void print_named(const char *name, int columns, const char *text, int width, FILE *to)
{
    fprintf(to, "  %-*s ", columns, name);
    weft_print_wrapped(to, columns + 3, width, text);
}

/* --- models ---------------------------------------------------------------------------------- */

enum { SETTING = 24, PRESET = 18, SOLVER = 14, OPERATOR = 38 }; /* columns of names */

static const char *fallback_of(const weft_option *o, char to[32])
{
    if (o->kind == WEFT_OPTION_TEXT)
        return o->text ? o->text : "";
    if (o->kind == WEFT_OPTION_FLAG)
        return o->fallback != 0 ? "1" : "0";
    return weft_option_number(o->fallback, to);
}

static void models_text(int width, FILE *to)
{
    weft_arena *a = weft_arena_new();
    const char *const *names;

    weft_print_wrapped(to, 0, width,
                       "Built-in models; use as NAME, NAME:VARIANT or NAME:PARAMETER=VALUE,...");
    for (int i = 0, n = weft_zoo_list(a, &names); i < n; i++) {
        weft_zoo_model z;

        if (!weft_zoo_find(names[i], a, &z))
            continue;
        fputc('\n', to);
        weft_print_wrapped(to, 0, width, weft_arena_print(a, "%s: %s", z.name, z.summary));
        if (z.variants)
            print_named("variants", SETTING, z.variants, width, to);
        for (const weft_option *o = z.options; o->kind != WEFT_OPTION_END; o++) {
            char number[32], setting[64];

            snprintf(setting, sizeof setting, "%s=%s", o->name, fallback_of(o, number));
            print_named(setting, SETTING,
                        weft_arena_print(a, "%s%s%s%s", o->help, o->choices ? " (" : "",
                                         o->choices ? o->choices : "", o->choices ? ")" : ""),
                        width, to);
        }
    }
    weft_arena_free(a);
}

static weft_doc *option_doc(const weft_option *o, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);
    weft_doc *fallback = o->kind == WEFT_OPTION_TEXT   ? weft_doc_new_text(a, o->text)
                         : o->kind == WEFT_OPTION_FLAG ? weft_doc_new_bool(a, o->fallback != 0)
                         : o->kind == WEFT_OPTION_INT  ? weft_doc_new_int(a, (int64_t)o->fallback)
                                                       : weft_doc_new_real(a, o->fallback);

    weft_put_text(a, d, "name", o->name);
    weft_doc_put(a, d, "default", fallback);
    weft_put_text(a, d, "help", o->help);
    return d;
}

static weft_doc *models_doc(weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);
    const char *const *names;

    for (int i = 0, n = weft_zoo_list(a, &names); i < n; i++) {
        weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP), *options = weft_doc_new(a, WEFT_DOC_LIST);
        weft_zoo_model z;

        if (!weft_zoo_find(names[i], a, &z))
            continue;
        weft_put_text(a, d, "name", z.name);
        weft_put_text(a, d, "summary", z.summary);
        weft_put_text(a, d, "variants", z.variants);
        for (const weft_option *o = z.options; o->kind != WEFT_OPTION_END; o++)
            weft_doc_add(a, options, option_doc(o, a));
        weft_doc_put(a, d, "parameters", options);
        weft_doc_add(a, list, d);
    }
    return list;
}

/* --- operators ------------------------------------------------------------------------------- */

static void operators_text(int width, FILE *to)
{
    int columns = width < 80 ? width - 37 : OPERATOR;

    fprintf(to, "%-*s %5s  %-7s  %-8s %10s\n", columns, "operator", "opset", "fusion", "gradient",
            "operations");
    for (int i = 0; i < weft_op_count(); i++) {
        const weft_op *o = weft_op_at(i);
        char name[80], shown[WEFT_SHORT_BYTES], flops[16] = "";

        snprintf(name, sizeof name, "%s%s%s", o->domain, *o->domain ? "." : "", o->name);
        if (o->nests)
            snprintf(flops, sizeof flops, "%d", o->fusion == WEFT_FUSE_TENSOR ? 2 : o->flops);
        fprintf(to, "%-*s %5d  %-7s  %-8s %10s\n", columns,
                width < 80 ? weft_shorten(name, columns, shown) : name, o->since,
                weft_fusion_name(o->fusion), weft_grad_name(o->grad), flops);
    }
    fputc('\n', to);
    weft_print_wrapped(to, 0, width, "operations: of one point of the loops of an operator");
    fprintf(to, "%d operators\n", weft_op_count());
}

static weft_doc *operators_doc(weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int i = 0; i < weft_op_count(); i++) {
        const weft_op *o = weft_op_at(i);
        weft_doc *d = weft_add_map(a, list);

        weft_put_text(a, d, "name", o->name);
        weft_put_text(a, d, "domain", o->domain);
        weft_put_int(a, d, "since", o->since);
        weft_put_text(a, d, "fusion", weft_fusion_name(o->fusion));
        weft_put_text(a, d, "gradient", weft_grad_name(o->grad));
    }
    return list;
}

/* --- platforms and solvers ------------------------------------------------------------------- */

static void platforms_text(int width, FILE *to)
{
    weft_print_wrapped(to, 0, width,
                       "Platforms; use as --on NAME. To see the machine: weft inspect --platform "
                       "NAME. To get its file: weft list platforms --show NAME");
    fputc('\n', to);
    for (int i = 0; i < weft_preset_count(); i++)
        print_named(weft_preset_at(i)->name, PRESET, weft_preset_at(i)->summary, width, to);
}

static void add_row(weft_arena *a, weft_doc *list, const char *name, const char *summary)
{
    weft_doc *d = weft_add_map(a, list);

    weft_put_text(a, d, "name", name);
    weft_put_text(a, d, "summary", summary);
}

static weft_doc *platforms_doc(weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int i = 0; i < weft_preset_count(); i++)
        add_row(a, list, weft_preset_at(i)->name, weft_preset_at(i)->summary);
    return list;
}

static void templates_text(int width, FILE *to)
{
    weft_print_wrapped(to, 0, width,
                       "Templates of accelerators; use as weft mine MODEL --template NAME");
    fputc('\n', to);
    for (int i = 0; i < weft_template_preset_count(); i++)
        print_named(weft_template_preset_at(i)->name, PRESET, weft_template_preset_at(i)->summary,
                    width, to);
}

static weft_doc *templates_doc(weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int i = 0; i < weft_template_preset_count(); i++)
        add_row(a, list, weft_template_preset_at(i)->name, weft_template_preset_at(i)->summary);
    return list;
}

static void sets_text(int width, FILE *to)
{
    weft_print_wrapped(to, 0, width, "Published measurements; use as weft validate NAME");
    fputc('\n', to);
    for (int i = 0; i < weft_set_preset_count(); i++)
        print_named(weft_set_preset_at(i)->name, PRESET, weft_set_preset_at(i)->summary, width, to);
}

static weft_doc *sets_doc(weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int i = 0; i < weft_set_preset_count(); i++)
        add_row(a, list, weft_set_preset_at(i)->name, weft_set_preset_at(i)->summary);
    return list;
}

/* Rows that share a command share its solvers: those without any are left out. */
static void solvers_text(int width, FILE *to)
{
    weft_solver_entry s;

    for (int k = 0; k < weft_kind_count(); k++) {
        const weft_kind *kind = weft_kind_at(k);

        if (kind->solver == NULL)
            continue;
        fprintf(to, "%sweft %s --solver NAME:\n", k > 0 ? "\n" : "", kind->command);
        for (int i = 0; kind->solver(i, &s); i++)
            print_named(s.name, SOLVER, s.summary, width, to);
    }
}

static weft_doc *solvers_doc(weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);
    weft_solver_entry s;

    for (int k = 0; k < weft_kind_count(); k++) {
        const weft_kind *kind = weft_kind_at(k);

        for (int i = 0; kind->solver != NULL && kind->solver(i, &s); i++) {
            add_row(a, list, s.name, s.summary);
            weft_put_text(a, list->item[list->n - 1], "task", kind->command);
        }
    }
    return list;
}

/* --- commands and their flags ----------------------------------------------------------------- */

static void commands_text(int width, FILE *to)
{
    for (const weft_command *const *c = weft_commands; *c != NULL; c++)
        print_named((*c)->name, SOLVER, (*c)->summary, width, to);
}

static weft_doc *choices_doc(weft_arena *a, const char *choices)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (const char *at = choices; *at; at += strspn(at, "|")) {
        size_t n = strcspn(at, "|");

        weft_doc_add(a, list, weft_doc_new_text(a, weft_arena_text(a, at, n)));
        at += n;
    }
    return list;
}

static weft_doc *flag_doc(weft_arena *a, const weft_option *o)
{
    static const char *const kind[] = {[WEFT_OPTION_INT] = "integer",
                                       [WEFT_OPTION_REAL] = "number",
                                       [WEFT_OPTION_FLAG] = "boolean",
                                       [WEFT_OPTION_TEXT] = "text"};
    weft_doc *flag = weft_doc_new(a, WEFT_DOC_MAP);
    char name[64], number[32];

    weft_put_text(a, flag, "name", weft_arena_word(a, weft_flag_name(o, name)));
    weft_put_text(a, flag, "type", kind[o->kind]);
    if (o->kind != WEFT_OPTION_FLAG)
        weft_put_text(a, flag, "value", weft_flag_value(o, name));
    if (o->choices)
        weft_doc_put(a, flag, "choices", choices_doc(a, o->choices));
    weft_put_text(a, flag, "default", weft_arena_word(a, fallback_of(o, number)));
    weft_put_text(a, flag, "help", o->help);
    return flag;
}

static weft_doc *commands_doc(weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (const weft_command *const *c = weft_commands; *c != NULL; c++) {
        weft_doc *flags = weft_doc_new(a, WEFT_DOC_LIST), *row;

        add_row(a, list, (*c)->name, (*c)->summary);
        row = list->item[list->n - 1];
        weft_put_text(a, row, "operands", (*c)->operands);
        weft_put_int(a, row, "min_operands", (*c)->min_operands);
        weft_put_int(a, row, "max_operands", (*c)->max_operands);
        for (const weft_option *o = (*c)->options; o->kind != WEFT_OPTION_END; o++)
            weft_doc_add(a, flags, flag_doc(a, o));
        weft_doc_put(a, row, "flags", flags);
    }
    return list;
}

/* --- the command ----------------------------------------------------------------------------- */

typedef struct listing {
    const char *name;
    void (*text)(int width, FILE *to);
    weft_doc *(*doc)(weft_arena *a);
    bool has_files, is_template; /* --show prints one */
} listing;

static const listing listings[] = {
    {"models",    models_text,    models_doc,    false, false},
    {"platforms", platforms_text, platforms_doc, true,  false},
    {"templates", templates_text, templates_doc, true,  true },
    {"sets",      sets_text,      sets_doc,      false, false},
    {"solvers",   solvers_text,   solvers_doc,   false, false},
    {"operators", operators_text, operators_doc, false, false},
    {"commands",  commands_text,  commands_doc,  false, false},
};

enum { N_LISTINGS = (int)(sizeof listings / sizeof listings[0]) };

/* The file of a preset; as JSON it is a platform or template file as well. */
static weft_status show(const char *name, bool is_template, const list_options *o)
{
    const weft_preset *p = weft_preset_find(name, is_template);
    weft_arena *a = weft_arena_new();
    const weft_doc *doc = NULL;
    weft_collect c;
    weft_status status = p ? weft_doc_parse(p->text, p->size, p->name, a, &doc)
                           : weft_preset_unknown(name, is_template);

    if (status == WEFT_OK)
        status = weft_collect_begin(&c);
    if (status == WEFT_OK) {
        if (o->json)
            fprintf(c.to, "%s\n", weft_doc_json(doc, 2, a));
        else
            fwrite(p->text, 1, p->size, c.to);
        status = weft_collect_emit(&c, o->output);
    }
    weft_arena_free(a);
    return status;
}

static weft_status print(const listing *l, const list_options *o)
{
    weft_arena *a = weft_arena_new();
    weft_collect c;
    weft_status status = weft_collect_begin(&c);

    if (status == WEFT_OK) {
        if (o->json)
            fprintf(c.to, "%s\n", weft_doc_json(l->doc(a), 2, a));
        else
            l->text(weft_report_width(o->output), c.to);
        status = weft_collect_emit(&c, o->output);
    }
    weft_arena_free(a);
    return status;
}

static weft_status run(const void *options, const char *const *operand, int n_operands, int *code)
{
    const list_options *o = options;

    *code = WEFT_EXIT_DONE;
    (void)n_operands; /* one: the table says so */
    for (int i = 0; i < N_LISTINGS; i++) {
        const listing *l = &listings[i];

        if (strcmp(operand[0], l->name) != 0)
            continue;
        if (*o->show == '\0')
            return print(l, o);
        if (l->has_files)
            return show(o->show, l->is_template, o);
        return weft_fail(WEFT_E_INPUT,
                         "list: --show prints files of platforms and templates, not of %s",
                         l->name);
    }
    return weft_fail(WEFT_E_INPUT,
                     "list: '%s' cannot be listed, expected models, platforms, templates, "
                     "sets, solvers, operators or commands",
                     operand[0]);
}

const weft_command weft_cmd_list = {
    .name = "list",
    .summary = "List models, platforms, templates, measurements, solvers, operators",
    .operands = "models|platforms|templates|sets|solvers|operators|commands",
    .description =
        "Lists the built-in models with their parameters and defaults, platforms,\n"
        "accelerator templates, published measurements, solvers, known operators, and\n"
        "(with --json) the flags of all commands.\n"
        "--show NAME prints the file of a platform or template; edited, it is read by --on or\n"
        "--template.",
    .examples = "  weft list models\n"
                "  weft list platforms\n"
                "  weft list platforms --show dgx-a100 -o mine.yaml\n"
                "  weft list templates\n"
                "  weft list operators --json\n",
    .options = list_table,
    .options_size = sizeof(list_options),
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
