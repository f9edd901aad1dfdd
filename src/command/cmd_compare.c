/* SPDX-License-Identifier: MIT */
/* cmd_compare.c: weft compare MODEL... --on PLATFORM: every solver side by side, or a row per instance.
 *
 * What solvers are measured by, and how that is called, is a row of `tasks`. */
#include "compare.h"
#include "fields.h"
#include "own.h"
#include "taskgraph.h"

#include <math.h>
#include <string.h>

typedef struct compare_options {
    weft_model_flags flags;
    weft_case_flags where;
    weft_budget_flags effort;
    bool json, csv;
    const char *task, *output, *solver;
    int64_t jobs;
} compare_options;

static const weft_option compare_table[] = {
    {WEFT_TEXT(compare_options, task),            0, 0, 0,
     "which problem to solve: that of weft place or of weft shard",                                        "place", "place|shard"},
    WEFT_CASE_FLAGS(compare_options),
    {WEFT_TEXT(compare_options, where.semantics), 0, 0, 0,
     "timing model, as in weft place or weft shard; auto: their defaults",                                 "auto",
     "auto|platform|calls|sequential|branches"                                                                                   },
    {WEFT_TEXT(compare_options, solver),          0, 0, 0,
     "solvers to compare, NAME[,NAME]; empty: all, or auto for several instances",                         "",      NULL         },
    {WEFT_INT(compare_options,  jobs),            1, 1, 1024, "several instances: so many at once",        NULL,    NULL         },
    WEFT_BUDGET_FLAGS(compare_options, WEFT_REFERENCE_LIMIT),
    WEFT_MODEL_FLAGS(compare_options),
    {WEFT_FLAG(compare_options, json),            0, 0, 1,    "print the table as one JSON document",      NULL,    NULL         },
    {WEFT_FLAG(compare_options, csv),             0, 0, 1,    "print the table as comma-separated values", NULL,
     NULL                                                                                                                        },
    {WEFT_TEXT(compare_options, output),          0, 0, 0,    "write the result to FILE",                  "",      NULL         },
    WEFT_OPTIONS_END,
};

/* One row a solver. */
typedef struct comparison {
    const struct task *task;
    const weft_kind *kind;
    weft_opened problem;
    int n;
    const char **name;    /* [n] solvers that apply, as they are shown */
    const char **solver;  /* [n] as they are asked for */
    const char *software; /* NULL: the default */
    weft_made *made;      /* [n] */
    void **solution;      /* [n] */
    const char **missing; /* [n] why a solver could not be run; NULL: it was */
    void *report;         /* of the kind: what answers are set beside */
    weft_proof bound;
    const char *model, *platform; /* as given; platform NULL: a file of tasks */
    const char *goal;
    double usual; /* what answers are measured by; NAN: there is nothing */
    const char *usual_name;
} comparison;

/* How a task shows its table. */
typedef struct task {
    const char *name;
    int columns, slimmer;   /* of names; less for values on a narrow terminal */
    const char *head, *key; /* of what answers are measured by */
    int head_columns, head_slimmer;
    bool has_reasons; /* rows without a plan say why */
    double (*gain)(double usual, double value);
    void (*find_usual)(comparison *c);
    int (*print_gain)(FILE *to, int slim, double gain);
    const char *(*note)(const comparison *c, weft_arena *a); /* below the table, or NULL */
    void (*put)(const comparison *c, weft_doc *d, weft_arena *a);
} task;

static const weft_proof *proof_of(const comparison *c, int i)
{
    return c->kind->proof(c->solution[i]);
}

static bool has_plan(const comparison *c, int i)
{
    return weft_has_plan(proof_of(c, i));
}

/* NAN if there is nothing to compare with, or no time at all. */
static double gain(const comparison *c, int i)
{
    double x = has_plan(c, i) ? c->task->gain(c->usual, proof_of(c, i)->value) : NAN;

    return isfinite(x) ? x : NAN;
}

/* --- placement: speed-up over the best single device ------------------------------------------ */

static double speed_up(double usual, double value)
{
    return value > 0 ? usual / value : NAN;
}

static void find_single(comparison *c)
{
    const weft_report *r = c->report;

    c->usual = r->best_single_s;
    c->usual_name = r->best_single;
}

static int print_speed_up(FILE *to, int slim, double x)
{
    return fprintf(to, "%*.2fx ", 8 - slim, x);
}

static const char *place_note(const comparison *c, weft_arena *a)
{
    if (isnan(c->usual))
        return NULL;
    return weft_arena_print(
        a, "speed-up over the best single device, %s; at most %.2fx is possible (%s bound)",
        c->usual_name, c->usual / c->bound.bound, c->bound.method);
}

static void put_place(const comparison *c, weft_doc *d, weft_arena *a)
{
    weft_put_text(a, d, "model", c->model);
    weft_put_text(a, d, "platform", c->platform);
    weft_put_text(a, d, "goal", c->goal);
    weft_put_real(a, d, "bound", c->bound.bound);
    weft_put_text(a, d, "best_single_device", c->usual_name);
    weft_put_real(a, d, "best_single_value", c->usual);
}

/* --- sharding: reduction against the best plain baseline -------------------------------------- */

static double reduction(double usual, double value)
{
    return usual > 0 ? (usual - value) / usual : NAN;
}

/* The best of the plain baselines, and the largest bound of all. */
static void find_baseline(comparison *c)
{
    const weft_shard_report *r = c->report;

    c->usual = NAN;
    for (int i = 0; i < c->n; i++) {
        bool is_plain = false;

        for (int k = 0; k < r->n_baselines; k++)
            is_plain |= strcmp(r->baseline[k].solver, c->name[i]) == 0;
        if (proof_of(c, i)->bound > c->bound.bound)
            c->bound = *proof_of(c, i);
        if (!is_plain || !has_plan(c, i) || proof_of(c, i)->value >= c->usual)
            continue;
        c->usual = proof_of(c, i)->value;
        c->usual_name = c->name[i];
    }
}

static int print_reduction(FILE *to, int slim, double x)
{
    return fprintf(to, "%*.1f %% ", 8 - 2 * slim, 100 * x);
}

static const char *shard_note(const comparison *c, weft_arena *a)
{
    char text[48];

    return weft_arena_print(
        a, "%s%s%sno plan takes less than %s (%s bound)", c->usual_name ? "lower by: than " : "",
        c->usual_name ? c->usual_name : "", c->usual_name ? "; " : "",
        weft_unit_print(c->bound.bound, WEFT_UNIT_SECONDS, text), c->bound.method);
}

static void put_shard(const comparison *c, weft_doc *d, weft_arena *a)
{
    const weft_shard_report *r = c->report;

    weft_put_text(a, d, "task", "shard");
    weft_put_text(a, d, "model", c->model);
    weft_put_text(a, d, "platform", c->platform);
    weft_put_text(a, d, "goal", "latency");
    weft_put_text(a, d, "semantics",
                  r->problem->constraints.is_concurrent ? "branches" : "sequential");
    weft_put_real(a, d, "bound", c->bound.bound);
    weft_put_text(a, d, "best_baseline", c->usual_name);
    weft_put_real(a, d, "best_baseline_value", c->usual);
}

/* clang-format off */
static const task tasks[] = {
    {"place", 12, 2, "speed-up", "speed_up", 9, 1, false, speed_up, find_single, print_speed_up, place_note, put_place},
    {"shard", 14, 3, "lower by", "reduction", 10, 2, true, reduction, find_baseline, print_reduction, shard_note, put_shard},
};
/* clang-format on */

/* --- the table ------------------------------------------------------------------------------- */

static void print_row(const comparison *c, int i, int slim, FILE *to)
{
    const weft_proof *proof = proof_of(c, i);
    int columns = 12 - c->task->slimmer * slim;
    char text[48], gap[32];

    fprintf(to, "%*s ", columns, weft_unit_print(proof->value, WEFT_UNIT_SECONDS, text));
    if (isnan(gain(c, i)))
        fprintf(to, "%*s ", c->task->head_columns - c->task->head_slimmer * slim, "-");
    else
        c->task->print_gain(to, slim, gain(c, i));
    fprintf(to, "%*s ", columns, weft_unit_print(proof->bound, WEFT_UNIT_SECONDS, text));
    fprintf(to, "%*s %% %*s\n", 6 - slim, weft_format_gap(proof->gap, 1, gap), 10 - 2 * slim,
            weft_unit_print(c->made[i].seconds, WEFT_UNIT_SECONDS, text));
}

/* What stands in the place of the figures of a solver without a plan. */
static const char *no_plan(const comparison *c, int i, weft_arena *a)
{
    const weft_proof *proof = proof_of(c, i);
    const char *reason = c->task->has_reasons ? proof->reason : NULL;

    if (c->missing[i] != NULL)
        return weft_arena_print(a, "not run: %s", c->missing[i]);
    return weft_arena_print(a, "%s%s%s",
                            proof->outcome == WEFT_INFEASIBLE ? "infeasible" : "no plan found",
                            reason ? ": " : "", reason ? reason : "");
}

static void print_text(const comparison *c, int width, weft_arena *a, FILE *to)
{
    const task *t = c->task;
    int slim = width < 80; /* columns are closer to each other */
    int columns = 12 - t->slimmer * slim;
    const char *note = t->note(c, a);

    fprintf(to, "%-*s %*s %*s %*s %*s %*s\n", t->columns, "solver", columns,
            c->kind->value_name(&c->problem), t->head_columns - t->head_slimmer * slim, t->head,
            columns, "bound", 8 - slim, "gap", 10 - 2 * slim, slim ? "solving" : "solved in");
    for (int i = 0; i < c->n; i++) {
        fprintf(to, "%-*s ", t->columns, c->name[i]);
        if (has_plan(c, i))
            print_row(c, i, slim, to);
        else
            weft_print_wrapped(to, t->columns + 1, width, no_plan(c, i, a));
    }
    if (c->software != NULL)
        fprintf(to, "\nsoftware %s\n", c->software);
    if (note == NULL)
        return;
    fputc('\n', to);
    weft_print_wrapped(to, 0, width, note);
}

static void print_csv(const comparison *c, FILE *to)
{
    fprintf(to, "solver,status,value_s,%s,bound_s,gap,solve_s\n", c->task->key);
    for (int i = 0; i < c->n; i++) {
        const weft_proof *proof = proof_of(c, i);

        fprintf(to, "%s,%s,", c->name[i], weft_outcome_name(proof->outcome));
        if (!has_plan(c, i)) {
            fprintf(to, ",,,,\n");
            continue;
        }
        fprintf(to, "%.17g,", proof->value);
        if (!isnan(gain(c, i)))
            fprintf(to, "%.17g", gain(c, i));
        fprintf(to, ",%.17g,%.17g,%.6f\n", proof->bound, proof->gap, c->made[i].seconds);
    }
}

static weft_doc *row_doc(const comparison *c, int i, weft_arena *a)
{
    weft_doc *row = weft_doc_new(a, WEFT_DOC_MAP);
    const weft_proof *proof = proof_of(c, i);
    bool ok = has_plan(c, i);

    weft_put_text(a, row, "solver", c->name[i]);
    weft_put_text(a, row, "status", weft_outcome_name(proof->outcome));
    weft_put_real(a, row, "value", ok ? proof->value : NAN);
    weft_put_real(a, row, c->task->key, gain(c, i));
    weft_put_real(a, row, "bound", proof->bound);
    weft_put_real(a, row, "gap", ok ? proof->gap : NAN);
    weft_put_real(a, row, "seconds", c->made[i].seconds);
    if (!ok && c->task->has_reasons)
        weft_put_text(a, row, "reason", proof->reason);
    if (c->missing[i] != NULL)
        weft_put_text(a, row, "not_run", c->missing[i]);
    return row;
}

static weft_doc *comparison_doc(const comparison *c, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP), *rows = weft_doc_new(a, WEFT_DOC_LIST);

    weft_put_text(a, d, "schema", "weft.comparison/1");
    weft_put_text(a, d, "command", "compare");
    if (c->software != NULL)
        weft_put_text(a, d, "software", c->software);
    c->task->put(c, d, a);
    for (int i = 0; i < c->n; i++)
        weft_doc_add(a, rows, row_doc(c, i, a));
    weft_doc_put(a, d, "solvers", rows);
    return d;
}

/* --- solvers --------------------------------------------------------------------------------- */

static bool is_asked(const char *list, const char *name)
{
    for (size_t n = strlen(name); *list; list += strcspn(list, ","), list += *list == ',')
        if (strcspn(list, ",") == n && strncmp(list, name, n) == 0)
            return true;
    return false;
}

static int n_names(const char *list)
{
    int n = *list != '\0';

    for (; *list; list++)
        n += *list == ',';
    return n;
}

/* Are all that are asked for there? */
static weft_status check_solvers(const comparison *c, const char *list, weft_arena *a)
{
    for (; *list; list += strcspn(list, ","), list += *list == ',')
        WEFT_TRY(weft_make_check_solver(c->kind, &c->problem,
                                        weft_arena_text(a, list, strcspn(list, ",")), a));
    return WEFT_OK;
}

/* Solvers that apply. asked: those that are meant; empty: all. */
static void list_solvers(comparison *c, const char *asked, weft_arena *a)
{
    weft_solver_entry s;
    int n_known = 0, n;

    while (c->kind->solver(n_known, &s))
        n_known++;
    n = n_known + n_names(asked);
    c->name = WEFT_NEW(a, const char *, n);
    c->solver = WEFT_NEW(a, const char *, n);
    c->made = WEFT_NEW(a, weft_made, n);
    c->solution = WEFT_NEW(a, void *, n);
    c->missing = WEFT_NEW(a, const char *, n);
    for (int i = 0; i < n_known && c->kind->solver(i, &s); i++)
        if ((*asked == '\0' || is_asked(asked, s.name)) &&
            c->kind->unfit(&c->problem, s.name, a) == NULL)
            c->name[c->n] = c->solver[c->n] = s.name, c->n++;
    for (const char *at = asked; *at; at += strcspn(at, ","), at += *at == ',') {
        const char *name = weft_arena_text(a, at, strcspn(at, ","));

        if (!weft_own_is(name))
            continue;
        c->name[c->n] = weft_own_name(name, a);
        c->solver[c->n++] = name;
    }
}

/* Runs solver i. One whose library is not installed does not keep the others from being compared.
 */
static weft_status run_one(comparison *c, int i, const compare_options *o, weft_arena *a)
{
    weft_watch watch = {0};
    weft_run run;
    weft_proof *proof;
    weft_status status;

    WEFT_TRY(weft_budget_read(&o->effort, WEFT_REFERENCE_LIMIT, &watch, &run));
    run.begin_s = weft_wall_s();
    status = weft_make_solve(c->kind, &c->problem, c->solver[i], &c->bound, &run, a, &c->made[i]);
    weft_budget_end(&watch);
    c->solution[i] = c->made[i].solution;
    if (status != WEFT_E_SYSTEM)
        return status;
    proof = c->kind->proof(c->solution[i]);
    *proof = c->bound;
    proof->outcome = WEFT_UNKNOWN;
    c->made[i].seconds = 0;
    c->missing[i] = weft_arena_text(a, weft_message(), strlen(weft_message()));
    return WEFT_OK;
}

static weft_status run_all(comparison *c, const compare_options *o, const weft_plan_origin *origin,
                           weft_arena *a, int *code)
{
    weft_watch watch = {0};
    weft_run run;
    weft_status status;

    WEFT_TRY(check_solvers(c, o->solver, a));
    list_solvers(c, o->solver, a);
    c->report = weft_arena_alloc(a, c->kind->report_size);
    WEFT_TRY(weft_budget_read(&o->effort, WEFT_REFERENCE_LIMIT, &watch, &run));
    run.begin_s = weft_wall_s();
    status = c->kind->report_begin(&c->problem, origin, &run, a, c->report, &c->bound);
    weft_budget_end(&watch);
    WEFT_TRY(status);
    *code = WEFT_EXIT_NO;
    for (int i = 0; i < c->n; i++) {
        WEFT_TRY(run_one(c, i, o, a));
        if (has_plan(c, i))
            *code = WEFT_EXIT_DONE;
    }
    c->task->find_usual(c);
    return weft_make_cross_check(
        &(weft_answers){c->kind, &c->problem, c->report, origin, c->n, c->solution, c->name}, a);
}

static weft_status compare(comparison *c, const compare_options *o, const weft_make *m,
                           weft_arena *a, int *code)
{
    weft_plan_origin origin = weft_make_origin(m, &c->problem);
    weft_collect text;

    c->model = origin.model;
    c->platform = origin.platform;
    if (origin.options.software != WEFT_SOFTWARE_GRAPH)
        c->software = weft_software_name(origin.options.software);
    c->goal = o->where.goal;
    WEFT_TRY(run_all(c, o, &origin, a, code));
    WEFT_TRY(weft_collect_begin(&text));
    if (o->json)
        fprintf(text.to, "%s\n", weft_doc_json(comparison_doc(c, a), 2, a));
    else if (o->csv)
        print_csv(c, text.to);
    else
        print_text(c, weft_report_width(o->output), a, text.to);
    return weft_collect_emit(&text, o->output);
}

/* --- the command ----------------------------------------------------------------------------- */

static weft_status read_shard(const compare_options *o, const char *model, weft_arena *a,
                              weft_shard_request *out)
{
    *out = (weft_shard_request){
        .model = model,
        .platform = o->where.on,
        .semantics = o->where.semantics,
        .is_contiguous = o->where.contiguous,
    };
    if (strcmp(o->where.goal, "latency") != 0 || *o->where.deadline || o->where.mix ||
        o->where.min_throughput > 0 || *o->where.format || *o->where.pin || *o->where.together ||
        *o->where.min_segment || o->where.max_segments > 0)
        return weft_fail(WEFT_E_INPUT, "compare: --goal throughput, --deadline, --min-throughput, "
                                       "--mix, --pin, --together, --min-segment, "
                                       "--max-segments and --format are for --task place");
    return weft_model_flags_read(&o->flags, a, &out->options);
}

/* Is the word of --semantics one of the task? */
static weft_status check_semantics(const compare_options *o)
{
    bool is_shard = strcmp(o->task, "shard") == 0;
    bool is_of_shard = strcmp(o->where.semantics, "sequential") == 0 ||
                       strcmp(o->where.semantics, "branches") == 0;

    if (strcmp(o->where.semantics, "auto") == 0 || is_shard == is_of_shard)
        return WEFT_OK;
    return weft_fail(WEFT_E_INPUT, "compare: --semantics %s is for --task %s", o->where.semantics,
                     is_of_shard ? "shard" : "place");
}

static weft_status run_task(const compare_options *o, const char *model, weft_arena *a, int *code)
{
    bool is_shard = strcmp(o->task, "shard") == 0;
    comparison c = {.task = &tasks[is_shard], .kind = weft_kind_find(o->task)};
    weft_shard_request shard = {0};
    weft_request place = {0};
    weft_make m = {.model = model,
                   .platform = o->where.on,
                   .format = o->where.format,
                   .options = is_shard ? &shard.options : &place.options,
                   .effort = &o->effort};
    weft_status status;

    if (is_shard)
        WEFT_TRY(read_shard(o, model, a, &shard));
    else
        WEFT_TRY(weft_case_flags_read(&o->where, &o->flags, model, a, &place));
    WEFT_TRY(c.kind->open(is_shard ? (const void *)&shard : &place, NULL, a, &c.problem));
    status = compare(&c, o, &m, a, code);
    c.kind->close(c.problem.of_kind);
    return status;
}

/* --- several instances ----------------------------------------------------------------------- */

/* Of several instances each takes what it needs: task graphs the processors, networks the platform. */
static void let_take(weft_request *r)
{
    const char *format = *r->format ? r->format : NULL;
    size_t n = strlen(r->model);

    r->options.machines.is_optional = true;
    if (weft_taskgraph_format(r->model, format) != NULL || format != NULL ||
        (n > 5 && strcmp(r->model + n - 5, ".json") == 0 && !weft_model_is_config(r->model)))
        r->platform = NULL;
}

static weft_status request_of(const void *context, const char *model, weft_arena *a,
                              const void **out)
{
    const compare_options *o = context;
    weft_shard_request *shard = WEFT_NEW(a, weft_shard_request, 1);
    weft_request *place = WEFT_NEW(a, weft_request, 1);

    *out = place;
    if (strcmp(o->task, "place") == 0) {
        WEFT_TRY(weft_case_flags_read(&o->where, &o->flags, model, a, place));
        let_take(place);
        return WEFT_OK;
    }
    *out = shard;
    return read_shard(o, model, a, shard);
}

static weft_status run_many(const compare_options *o, const char *const *operand, int n,
                            weft_arena *a, int *code)
{
    const weft_compare_many m = {.kind = weft_kind_find(o->task),
                                 .n_operands = n,
                                 .operand = operand,
                                 .solvers = o->solver,
                                 .effort = &o->effort,
                                 .n_jobs = (int)o->jobs,
                                 .csv = o->csv,
                                 .json = o->json,
                                 .output = o->output,
                                 .request = request_of,
                                 .context = o};

    if (*o->output && !o->csv && !o->json)
        return weft_fail(WEFT_E_INPUT,
                         "compare: -o with several instances writes CSV or JSON: add --csv");
    return weft_compare_many_run(&m, a, code);
}

static weft_status run(const void *options, const char *const *operand, int n_operands, int *code)
{
    const compare_options *o = options;
    weft_arena *a = weft_arena_new();
    weft_status status = check_semantics(o);

    if (status == WEFT_OK && o->json && o->csv)
        status = weft_fail(WEFT_E_INPUT, "compare: --json and --csv exclude each other");
    if (status == WEFT_OK)
        status = n_operands > 1 || weft_compare_is_folder(operand[0])
                     ? run_many(o, operand, n_operands, a, code)
                     : run_task(o, operand[0], a, code);
    weft_arena_free(a);
    return status;
}

const weft_command weft_cmd_compare = {
    .name = "compare",
    .summary = "Compare all solvers: value, speed-up, bound, gap, run time",
    .operands = "MODEL...",
    .description =
        "Runs all solvers on the same problem and shows the simulated value of their\n"
        "plans, beside the best single device (--task place) or simple baselines (--task\n"
        "shard) and a proven bound. With --task shard, --contiguous restricts each set to\n"
        "one contiguous part of the network.\n"
        "\n"
        "Several models, or a folder of them, are instances: each is solved by auto, or by\n"
        "the solvers of --solver, and makes one row of value, bound, gap, status, seconds\n"
        "and seed. With --csv -o FILE rows are appended as they are found; the same call\n"
        "again skips those that are there, so a set may be broken off and resumed. In the\n"
        "end the file has the order of the instances.",
    .examples = "  weft compare inception_v3 --on server-cpu-2gpu\n"
                "  weft compare --task shard alexnet --on f1-2x4\n"
                "  weft compare bert:large --on mixed-fleet --goal throughput --csv\n"
                "  weft compare graphs/ --processors 4 --csv -o results.csv --jobs 2\n",
    .options = compare_table,
    .options_size = sizeof(compare_options),
    .min_operands = 1,
    .max_operands = 1000000,
    .run = run,
};
