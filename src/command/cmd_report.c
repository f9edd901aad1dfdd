/* SPDX-License-Identifier: MIT */
/* cmd_report.c: weft report PLAN: one page, and drawings, tables and timelines as files.
 *
 * 1. The plan is verified, as weft check does: a wrong one is refused, and nothing is written.
 * 2. What is set beside it is computed again: the best single device and HEFT, baselines, reasons.
 * 3. All files are made, then written one by one, each whole or not at all. */
#define _POSIX_C_SOURCE 200809L
#include "command.h"
#include "kind.h"
#include "report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct report_options {
    const char *output, *timeline, *graph, *csv, *trace, *dot, *annotate, *compare, *explain, *run,
        *model, *on, *deploy;
    bool json, quiet;
} report_options;

/* clang-format off */
static const weft_option report_table[] = {
    {WEFT_TEXT(report_options, output), 0, 0, 0, "write the HTML report to FILE (default: PLAN with the suffix .html)", "", NULL},
    {WEFT_TEXT(report_options, timeline), 0, 0, 0, "write the timeline to FILE, as SVG", "", NULL},
    {WEFT_TEXT(report_options, graph), 0, 0, 0, "write the network to FILE, as SVG", "", NULL},
    {WEFT_TEXT(report_options, csv), 0, 0, 0, "write all tables of the report to FOLDER, as CSV", "", NULL},
    {WEFT_TEXT(report_options, trace), 0, 0, 0, "write a timeline for Perfetto to FILE", "", NULL},
    {WEFT_TEXT(report_options, dot), 0, 0, 0, "write the graph to FILE, in DOT format", "", NULL},
    {WEFT_TEXT(report_options, annotate), 0, 0, 0, "write the model to FILE, as ONNX with the plan as node metadata (for Netron)", "", NULL},
    {WEFT_TEXT(report_options, deploy), 0, 0, 0, "print a plan of weft train as arguments of Megatron-LM, or as the file of another program; no HTML without -o", "", "megatron|deepspeed|torchtitan|accelerate"},
    {WEFT_TEXT(report_options, compare), 0, 0, 0, "include the output of weft compare --json, read from FILE", "", NULL},
    {WEFT_TEXT(report_options, explain), 0, 0, 0, "include the output of weft explain --json, read from FILE", "", NULL},
    {WEFT_TEXT(report_options, run), 0, 0, 0, "include what weft run -o has measured, read from FILE", "", NULL},
    {WEFT_TEXT(report_options, model), 0, 0, 0, "path of the model, if it has moved", "", NULL},
    {WEFT_TEXT(report_options, on), 0, 0, 0, "path of the platform, if it has moved", "", NULL},
    {WEFT_FLAG(report_options, json), 0, 0, 1, "print the data of the report as one JSON document; no HTML without -o", NULL, NULL},
    {WEFT_FLAG(report_options, quiet), 0, 0, 1, "print errors only", NULL, NULL},
    WEFT_OPTIONS_END,
};
/* clang-format on */

typedef struct reporting {
    const report_options *o;
    const char *plan, *output; /* output: with its default */
    const weft_check_result *v;
    const weft_doc *compare, *explain, *run; /* what these commands printed; NULL: not shown */
    void *report;                            /* of the kind */
    weft_doc *page;
    weft_arena *a;
} reporting;

/* --- what other commands printed ------------------------------------------------------------- */

/* Both NULL, or the same text. */
static bool is_same(const weft_doc *d, const char *text)
{
    if (d == NULL || d->kind == WEFT_DOC_NULL)
        return text == NULL;
    return text != NULL && d->kind == WEFT_DOC_TEXT && strcmp(d->text, text) == 0;
}

static weft_status check_name(const weft_doc *d, const char *key, const char *expected)
{
    const weft_doc *x = weft_doc_get(d, key);

    if (is_same(x, expected))
        return WEFT_OK;
    return weft_doc_fail(x ? x : d, "'%s' is %s%s%s, the plan has %s%s%s", key,
                         x && x->kind == WEFT_DOC_TEXT ? "'" : "",
                         x == NULL                  ? "missing"
                         : x->kind == WEFT_DOC_TEXT ? x->text
                                                    : weft_doc_kind_name(x->kind),
                         x && x->kind == WEFT_DOC_TEXT ? "'" : "", expected ? "'" : "",
                         expected ? expected : "none", expected ? "'" : "");
}

/* A document of this schema about the model and the platform of the plan. */
static weft_status read_beside(const reporting *t, const char *path, const char *schema,
                               const weft_doc **out)
{
    const weft_plan_origin *origin = t->v->file.origin;
    const weft_doc *d, *found;

    WEFT_TRY(weft_doc_read(path, t->a, &d));
    if (d->kind != WEFT_DOC_MAP)
        return weft_doc_fail(d, "is %s, expected a map with schema %s", weft_doc_kind_name(d->kind),
                             schema);
    found = weft_doc_get(d, "schema");
    if (!is_same(found, schema))
        return weft_doc_fail(found ? found : d, "'schema' is not %s", schema);
    WEFT_TRY(check_name(d, "model", origin->model));
    WEFT_TRY(check_name(d, "platform", origin->platform));
    *out = d;
    return WEFT_OK;
}

/* The list of this name has maps only. */
static weft_status check_rows(const weft_doc *map, const char *key)
{
    const weft_doc *list;

    WEFT_TRY(weft_doc_need(map, key, WEFT_DOC_LIST, &list));
    for (int i = 0; i < list->n; i++)
        if (list->item[i]->kind != WEFT_DOC_MAP)
            return weft_doc_fail(list->item[i], "an entry of '%s' is %s, expected a map", key,
                                 weft_doc_kind_name(list->item[i]->kind));
    return WEFT_OK;
}

/* What was compared is of the kind and of the goal of the plan. */
static weft_status check_comparison(const reporting *t, const weft_doc *d)
{
    const weft_doc *task = weft_doc_get(d, "task");
    const char *kind = task && task->kind == WEFT_DOC_TEXT ? task->text : "place";
    const weft_doc *goal = weft_doc_get(t->v->file.doc, "goal");

    if (strcmp(kind, t->v->kind->name) != 0)
        return weft_doc_fail(d, "compares solvers of weft %s, which the plan is not of", kind);
    if (goal != NULL && goal->kind == WEFT_DOC_TEXT)
        WEFT_TRY(check_name(d, "goal", goal->text));
    return check_rows(d, "solvers");
}

static weft_status check_explanation(const reporting *t, const weft_doc *d)
{
    double expected = t->v->file.proof->value, value;
    const weft_doc *uncertainty = weft_doc_get(d, "uncertainty");
    const weft_doc *upgrades = weft_doc_get(d, "upgrades");

    WEFT_TRY(check_name(d, "kind", t->v->kind->command));
    WEFT_TRY(weft_doc_real(d, "value", 0, INFINITY, &value));
    if (fabs(value - expected) > 1e-9 * expected)
        return weft_doc_fail(weft_doc_get(d, "value"),
                             "'value' is %.12g, that of the plan is %.12g", value, expected);
    if (upgrades == NULL || upgrades->kind != WEFT_DOC_NULL) /* --upgrades none */
        WEFT_TRY(check_rows(d, "upgrades"));
    if (uncertainty == NULL || uncertainty->kind == WEFT_DOC_NULL)
        return WEFT_OK;
    return check_rows(uncertainty, "ranges");
}

/* A run of this plan: it knows what the plan promises. */
static weft_status read_run(reporting *t)
{
    const weft_doc *d, *makespan = weft_doc_get(t->v->file.measures, "makespan_s"), *schema;
    double predicted_s;

    WEFT_TRY(weft_doc_read(t->o->run, t->a, &d));
    schema = d->kind == WEFT_DOC_MAP ? weft_doc_get(d, "schema") : d;
    if (!is_same(schema, "weft.run/1"))
        return weft_doc_fail(schema ? schema : d, "'schema' is not weft.run/1");
    if (makespan == NULL || strcmp(t->v->kind->name, "place") != 0)
        return weft_fail(WEFT_E_INPUT, "--run is for plans of weft place");
    WEFT_TRY(weft_doc_real(d, "predicted_s", 0, INFINITY, &predicted_s));
    if (fabs(predicted_s - makespan->real) > 1e-9 * makespan->real)
        return weft_doc_fail(weft_doc_get(d, "predicted_s"),
                             "'predicted_s' is %.12g, the latency of the plan is %.12g",
                             predicted_s, makespan->real);
    WEFT_TRY(check_rows(d, "segments"));
    t->run = d;
    return WEFT_OK;
}

static weft_status read_documents(reporting *t)
{
    if (*t->o->compare) {
        WEFT_TRY(read_beside(t, t->o->compare, "weft.comparison/1", &t->compare));
        WEFT_TRY(check_comparison(t, t->compare));
    }
    if (*t->o->explain) {
        WEFT_TRY(read_beside(t, t->o->explain, "weft.explain/1", &t->explain));
        WEFT_TRY(check_explanation(t, t->explain));
    }
    return *t->o->run ? read_run(t) : WEFT_OK;
}

static weft_status make_page(reporting *t)
{
    const weft_remake names = {t->plan, t->output, t->v->file.origin};
    const weft_page_more more = {
        .compare = t->compare, .explain = t->explain, .run = t->run, .version = weft_version()};

    WEFT_TRY(weft_kind_report(t->v, t->a, &t->report));
    t->page =
        weft_plan_page(t->v->kind, &t->v->problem, t->v->solution, t->report, &names, &more, t->a);
    return WEFT_OK;
}

/* --- files ----------------------------------------------------------------------------------- */

/* A file that is made but not written yet. */
typedef struct made {
    const char *path, *text;
    size_t n;
} made;

typedef struct makings {
    WEFT_VEC(made) files;
} makings;

static void add_file(reporting *t, makings *m, const char *path, const char *text, size_t n)
{
    WEFT_PUSH(t->a, m->files, ((made){path, text, n}));
}

/* What is in the stream becomes a file. */
static weft_status add_collected(reporting *t, makings *m, weft_collect *c, const char *path)
{
    bool failed = fclose(c->to) != 0;

    if (!failed)
        add_file(t, m, path, weft_arena_copy(t->a, c->text, c->n), c->n);
    free(c->text);
    return failed ? weft_fail(WEFT_E_SYSTEM, "%s: out of memory", path) : WEFT_OK;
}

static weft_status add_page(reporting *t, makings *m)
{
    weft_collect c;

    WEFT_TRY(weft_collect_begin(&c));
    weft_page_html(t->page, t->a, c.to);
    return add_collected(t, m, &c, t->output);
}

static weft_status add_tables(reporting *t, makings *m)
{
    const weft_doc *tables = weft_doc_get(t->page, "tables");

    for (int i = 0; i < tables->n; i++) {
        const char *path = weft_arena_print(t->a, "%s/%s.csv", t->o->csv,
                                            weft_doc_get(tables->item[i], "id")->text);
        weft_collect c;

        WEFT_TRY(weft_collect_begin(&c));
        weft_page_table_csv(tables->item[i], c.to);
        WEFT_TRY(add_collected(t, m, &c, path));
    }
    return WEFT_OK;
}

static weft_status add_trace(reporting *t, makings *m)
{
    static const weft_page_more brief = {.is_brief = true};
    const char *text;

    if (t->v->kind->is_design)
        return weft_fail(WEFT_E_INPUT, "--trace is for plans, not for designs");
    if (t->v->kind->is_max)
        return weft_fail(WEFT_E_INPUT, "--trace is for plans with a timeline: a flow has none");
    text =
        weft_doc_json(weft_write_trace(t->v->kind->facts(t->report, &brief, t->a), t->a), 1, t->a);
    add_file(t, m, t->o->trace, text, strlen(text));
    return WEFT_OK;
}

static weft_status add_dot(reporting *t, makings *m)
{
    weft_collect c;

    if (t->v->kind->dot == NULL)
        return weft_fail(WEFT_E_INPUT,
                         "--dot is for plans of weft place; --graph draws the others");
    WEFT_TRY(weft_collect_begin(&c));
    t->v->kind->dot(t->report, c.to);
    return add_collected(t, m, &c, t->o->dot);
}

/* A drawing of the page, by one of these. */
static weft_status add_drawing(reporting *t, makings *m, const char *path,
                               bool (*draw)(const weft_doc *, FILE *))
{
    weft_collect c;

    WEFT_TRY(weft_collect_begin(&c));
    if (draw(t->page, c.to))
        return add_collected(t, m, &c, path);
    fclose(c.to);
    free(c.text);
    return weft_fail(WEFT_E_INPUT, "%s: the page of this plan has no such drawing", path);
}

static weft_status make_files(reporting *t, makings *m)
{
    if (*t->o->timeline)
        WEFT_TRY(add_drawing(t, m, t->o->timeline, weft_page_timeline_svg));
    if (*t->o->graph)
        WEFT_TRY(add_drawing(t, m, t->o->graph, weft_page_graph_svg));
    if (*t->o->trace)
        WEFT_TRY(add_trace(t, m));
    if (*t->o->dot)
        WEFT_TRY(add_dot(t, m));
    if (*t->o->csv)
        WEFT_TRY(add_tables(t, m));
    if ((!t->o->json && !*t->o->deploy) || *t->o->output)
        WEFT_TRY(add_page(t, m));
    return WEFT_OK;
}

static weft_status make_folder(const char *path)
{
    struct stat s;

    if (mkdir(path, 0777) == 0 || (errno == EEXIST && stat(path, &s) == 0 && S_ISDIR(s.st_mode)))
        return WEFT_OK;
    return weft_fail(WEFT_E_SYSTEM, "folder '%s' cannot be made: %s", path, strerror(errno));
}

static weft_status write_files(reporting *t, const makings *m)
{
    bool has_output = strcmp(t->output, "-") == 0;

    if (*t->o->csv)
        WEFT_TRY(make_folder(t->o->csv));
    for (int i = 0; i < m->files.n; i++) {
        const made *f = &m->files.at[i];

        WEFT_TRY(weft_emit(f->path, f->text, f->n));
        has_output |= strcmp(f->path, "-") == 0;
    }
    for (int i = 0; i < m->files.n && !t->o->quiet && !t->o->json && !has_output; i++) {
        char size[32];
        const char *line = weft_arena_print(t->a, "%s: %s\n", m->files.at[i].path,
                                            weft_format_bytes((double)m->files.at[i].n, size));

        WEFT_TRY(weft_emit(NULL, line, strlen(line)));
    }
    return WEFT_OK;
}

/* Before the other files: a model that cannot be written is an error. */
static weft_status annotate(reporting *t)
{
    bool is_told = !t->o->quiet && !t->o->json && strcmp(t->output, "-") != 0;
    weft_annotate_request request = {t->o->model, t->o->annotate, is_told};

    return *t->o->annotate ? weft_annotate_plan(t->v, t->page, &request, t->a) : WEFT_OK;
}

/* --- the command ----------------------------------------------------------------------------- */

/* PLAN with the ending .html. */
static const char *page_of(const char *plan, weft_arena *a)
{
    size_t n = strlen(plan);

    if (n > 5 && strcmp(plan + n - 5, ".json") == 0)
        n -= 5;
    return weft_arena_print(a, "%.*s.html", (int)n, plan);
}

static weft_status refuse(const weft_check_result *v, const char *plan, int *code)
{
    weft_collect text;

    *code = WEFT_EXIT_NO;
    WEFT_TRY(weft_collect_begin(&text));
    weft_print_wrong(v, plan, text.to);
    fprintf(text.to, "%s: this plan is wrong: no report is made of it\n", plan);
    return weft_collect_emit(&text, NULL);
}

/* The plan as the file of another program; NULL: not asked for. */
static weft_status deploy(reporting *t, const char **text)
{
    const char *source = *t->o->model ? t->o->model : t->v->file.origin->model;

    *text = NULL;
    if (!*t->o->deploy)
        return WEFT_OK;
    if (t->v->kind->translate == NULL)
        return weft_fail(WEFT_E_INPUT, "--deploy is for plans of weft train; see weft split for "
                                       "those of weft place");
    if (t->o->json)
        return weft_fail(WEFT_E_INPUT, "--deploy and --json both print: give one of them");
    return t->v->kind->translate(t->v, source, t->o->deploy, t->a, text);
}

static weft_status report(reporting *t)
{
    makings files = {0};
    const char *deployment;

    WEFT_TRY(read_documents(t));
    WEFT_TRY(make_page(t));
    WEFT_TRY(make_files(t, &files));
    WEFT_TRY(deploy(t, &deployment));
    WEFT_TRY(annotate(t));
    WEFT_TRY(write_files(t, &files));
    if (deployment != NULL)
        return weft_emit(NULL, deployment, strlen(deployment));
    if (t->o->json && !t->o->quiet) {
        const char *text = weft_doc_json(t->page, 1, t->a);

        WEFT_TRY(weft_emit(NULL, text, strlen(text)));
        return weft_emit(NULL, "\n", 1);
    }
    return WEFT_OK;
}

static weft_status run(const void *options, const char *const *operand, int n_operands, int *code)
{
    const report_options *o = options;
    weft_arena *a = weft_arena_new();
    weft_check_result v;
    weft_status status =
        weft_verify(operand[0], *o->model ? o->model : NULL, *o->on ? o->on : NULL, a, &v);

    (void)n_operands; /* one: the table says so */
    if (status == WEFT_OK) {
        reporting t = {.o = o,
                       .plan = operand[0],
                       .output = *o->output ? o->output : page_of(operand[0], a),
                       .v = &v,
                       .a = a};

        status = v.n_wrong > 0 ? refuse(&v, operand[0], code) : report(&t);
        weft_check_result_close(&v);
    }
    weft_arena_free(a);
    return status;
}

const weft_command weft_cmd_report = {
    .name = "report",
    .summary = "Write a plan as an HTML report, drawings and tables",
    .operands = "PLAN",
    .description =
        "Verifies a plan file as weft check does and writes one self-contained HTML\n"
        "report: value and bound and their composition, a zoomable timeline, the network\n"
        "with the costs of every operator, memory over time, and tables. The report needs\n"
        "no network access and opens from disk. A wrong plan is refused with exit code 1.\n"
        "For designs of weft mine, the report shows the Pareto front and the schedule on\n"
        "cores or stages.",
    .examples = "  weft place inception_v3 --on server-cpu-2gpu -o plan.json\n"
                "  weft report plan.json -o report.html\n"
                "  weft report plan.json --timeline timeline.svg --graph graph.svg --csv tables\n"
                "  weft report plan.json --annotate annotated.onnx\n"
                "  weft report plan.json --json\n"
                "  weft report trained.json --deploy megatron\n"
                "  weft mine resnet50 --area 600mm2 --power 280W -o design.json\n"
                "  weft report design.json\n",
    .options = report_table,
    .options_size = sizeof(report_options),
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
