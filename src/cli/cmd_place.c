/* SPDX-License-Identifier: MIT */
/* cmd_place.c: weft place MODEL --on PLATFORM, and weft compare, which runs every solver. */
#define _POSIX_C_SOURCE 200809L
#include "cli.h"
#include "fields.h"
#include "weft/api.h"
#include "weft/report.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

typedef struct place_options {
    weft_model_flags flags;
    weft_case_flags where;
    weft_effort_flags effort;
    const char *solver, *output, *trace, *dot, *report, *write_model;
    bool json, quiet, pareto;
} place_options;

static const weft_option place_table[] = {
    WEFT_CASE_FLAGS(place_options),
    {WEFT_TEXT(place_options, where.semantics), 0, 0, 0,
                     "how time is counted: as the platform says, or the host calls accelerators",                           "platform",
                     "platform|calls"                                                                                                       },
    {WEFT_TEXT(place_options, solver),          0, 0, 0, "how to search (weft list solvers)",               "auto",     NULL},
    WEFT_EFFORT_FLAGS(place_options, WEFT_USUAL_LIMIT),
    WEFT_MODEL_FLAGS(place_options),
    {WEFT_TEXT(place_options, output),          0, 0, 0, "write the plan there (weft check reads it)",      "",
                     NULL                                                                                                                   },
    {WEFT_TEXT(place_options, trace),           0, 0, 0, "write a timeline for Perfetto there",             "",         NULL},
    {WEFT_TEXT(place_options, dot),             0, 0, 0, "write the graph in Graphviz' language there",     "",
                     NULL                                                                                                                   },
    {WEFT_TEXT(place_options, report),          0, 0, 0, "write a page to look at there (see weft report)",
                     "",                                                                                                                NULL},
    {WEFT_TEXT(place_options, write_model),     0, 0, 0,
                     "write the model of solver milp there (.lp or .mps)",                                                  "",         NULL},
    {WEFT_FLAG(place_options, pareto),          0, 0, 1,
                     "the plans between least latency and highest throughput",                                              NULL,       NULL},
    {WEFT_FLAG(place_options, json),            0, 0, 1, "the result as one JSON document",                 NULL,       NULL},
    {WEFT_FLAG(place_options, quiet),           0, 0, 1, "print nothing but errors",                        NULL,       NULL},
    WEFT_OPTIONS_END,
};

static const double USUAL_SHARE = 0.5; /* of the limit, for what an answer is set beside */

/* --- what place and compare share ------------------------------------------------------------ */

static weft_status unknown_solver(const char *name)
{
    const char *known[64];
    int n = 0;

    for (; n < weft_place_count() && n < 64; n++)
        known[n] = weft_place_at(n)->name;
    return weft_unknown_solver(name, known, n);
}

/* A limit, and the clock that runs since it was read. */
typedef struct effort {
    weft_watch watch;
    weft_run run;
} effort;

static weft_status begin(const weft_effort_flags *f, effort *out)
{
    WEFT_TRY(weft_effort_read(f, WEFT_USUAL_LIMIT, &out->watch, &out->run));
    out->run.begin_s = weft_wall_s();
    if (out->run.progress != NULL)
        out->run.context = &out->watch;
    return WEFT_OK;
}

/* Runs a solver for the time that is left. */
static weft_status solve(const weft_solver *s, const weft_problem *p, const weft_proof *bound,
                         effort *e, weft_arena *a, weft_solution *out)
{
    weft_run run = e->run;
    weft_status status;

    run.limit_s = run.limit_s < INFINITY ? weft_run_left_s(&e->run) : INFINITY;
    run.scratch = weft_arena_new();
    status = weft_solve(s, p, NULL, &run, bound, a, out);
    weft_arena_free(run.scratch);
    weft_effort_wipe(&e->watch);
    return status;
}

static bool has_plan(const weft_solution *s)
{
    return s->proof.outcome == WEFT_OPTIMAL || s->proof.outcome == WEFT_BOUNDED;
}

/* Fills the report with what every answer is set beside: the best single device, and HEFT. */
static weft_status find_usual(const weft_problem *p, const weft_proof *bound, const effort *e,
                              weft_arena *a, weft_report *r)
{
    weft_run run = e->run;
    weft_usual usual;

    run.limit_s *= USUAL_SHARE;
    WEFT_TRY(weft_place_usual(p, bound, &run, a, &usual));
    r->best_single_s = usual.single_s;
    r->best_single = usual.single;
    r->heft_s = usual.heft_s;
    return WEFT_OK;
}

/* Baselines are plans without limits: do they answer the problem all the same? */
static bool is_same_question(const weft_problem *p, double value)
{
    const weft_ask *ask = &p->ask;

    if (ask->is_contiguous || ask->most_period_s > 0)
        return false;
    return !(ask->most_latency_s > 0) ||
           (ask->goal == WEFT_LATENCY && value <= ask->most_latency_s);
}

/* Answers that are held against each other: those of solvers come first. */
typedef struct answers {
    const weft_report *report;
    const weft_solution *solution; /* [n] */
    const char *const *name;       /* [n] of the solvers */
    int n;
} answers;

static weft_doc *plan_of(const void *context, int i, weft_arena *a)
{
    const answers *x = context;
    weft_plan_origin origin = *x->report->origin;

    if (i >= x->n)
        return NULL;
    origin.solver = x->name[i];
    return weft_plan_doc(x->report->problem, &x->solution[i].plan, &x->solution[i].proof, &origin,
                         weft_measures_doc(x->report->problem, &x->solution[i].measures, a), a);
}

static weft_status cross_check(const answers *x, weft_arena *a)
{
    const weft_report *r = x->report;
    weft_claim *claim = WEFT_NEW(a, weft_claim, x->n + 2);
    weft_contest all = {.n = x->n, .claim = claim, .plan = plan_of, .context = x};

    for (int i = 0; i < x->n; i++)
        claim[i] = weft_claim_of(x->name[i], &x->solution[i].proof);
    if (is_same_question(r->problem, r->best_single_s))
        claim[all.n++] = weft_claim_plan("single", r->best_single_s, 0);
    if (is_same_question(r->problem, r->heft_s))
        claim[all.n++] = weft_claim_plan("heft", r->heft_s, 0);
    return weft_cross_check(&all);
}

/* --- place ----------------------------------------------------------------------------------- */

static weft_doc *result_doc(const weft_report *r, weft_doc *plan, weft_arena *a)
{
    weft_doc *d = weft_report_result(r, a);

    weft_put_real(a, d, "seconds", r->solution->seconds);
    weft_put_int(a, d, "peak_rss_bytes", (int64_t)weft_peak_rss_bytes());
    weft_doc_put(a, d, "plan", plan ? plan : weft_doc_new(a, WEFT_DOC_NULL));
    return d;
}

static weft_status write_doc(const weft_doc *d, const char *path, weft_arena *a)
{
    const char *text = weft_doc_json(d, 1, a);

    return weft_emit(path, text, strlen(text));
}

static weft_status write_dot(const weft_report *r, const char *path)
{
    weft_collect c;

    WEFT_TRY(weft_collect_begin(&c));
    weft_report_dot(r, c.to);
    return weft_collect_emit(&c, path);
}

static weft_status write_files(const weft_report *r, const weft_case *c, const weft_doc *plan,
                               const place_options *o, weft_arena *a)
{
    if (*o->output)
        WEFT_TRY(write_doc(plan, o->output, a));
    if (*o->trace)
        WEFT_TRY(write_doc(weft_report_trace(r, a), o->trace, a));
    if (*o->dot)
        WEFT_TRY(write_dot(r, o->dot));
    if (*o->report)
        WEFT_TRY(weft_page_write(
            weft_place_page(r, c, &(weft_page_ask){.plan = o->output, .page = o->report}, a),
            o->report, a));
    return WEFT_OK;
}

static weft_status show(const weft_report *r, weft_doc *plan, const place_options *o, weft_arena *a)
{
    weft_collect c;

    if (o->quiet)
        return WEFT_OK;
    WEFT_TRY(weft_collect_begin(&c));
    if (o->json)
        fprintf(c.to, "%s\n", weft_doc_json(result_doc(r, plan, a), 1, a));
    else
        weft_report_text(r, weft_report_width(NULL), c.to);
    return weft_collect_emit(&c, NULL);
}

static weft_status place(const weft_case *c, const weft_request *q, const place_options *o,
                         effort *e, weft_arena *a, int *code)
{
    const weft_solver *solver = weft_place_find(o->solver);
    weft_plan_origin origin = {q->model,
                               c->platform ? q->platform : NULL,
                               *o->where.format ? o->where.format : NULL,
                               q->options,
                               o->solver,
                               o->effort.seed,
                               c->model_hash,
                               c->platform_hash,
                               c->problem->hash};
    weft_report r = {.problem = c->problem, .origin = &origin};
    weft_solution solution;
    weft_proof bound;
    weft_doc *plan = NULL;

    if (solver == NULL)
        return unknown_solver(o->solver);
    if (!weft_solver_applies(solver, c->problem))
        return weft_fail(WEFT_E_INPUT,
                         "solver '%s' does not know this kind of problem (goal %s, transfers %s); "
                         "try --solver auto",
                         o->solver, weft_goal_name(c->problem->ask.goal),
                         weft_transfer_name(c->problem->transfer));
    if (*o->write_model)
        WEFT_TRY(weft_place_write_model(c->problem, o->write_model));
    if (o->pareto)
        return weft_pareto_show(c->problem, &origin,
                                &(weft_pareto_options){&o->effort, o->json, o->output}, a, code);
    weft_place_bound(c->problem, a, &bound);
    WEFT_TRY(find_usual(c->problem, &bound, e, a, &r));
    WEFT_TRY(solve(solver, c->problem, &bound, e, a, &solution));
    WEFT_TRY(cross_check(&(answers){&r, &solution, &solver->name, 1}, a));
    r.solution = &solution;
    if (has_plan(&solution)) {
        plan = weft_plan_doc(c->problem, &solution.plan, &solution.proof, &origin,
                             weft_measures_doc(c->problem, &solution.measures, a), a);
        WEFT_TRY(write_files(&r, c, plan, o, a));
    } else {
        *code = WEFT_EXIT_NO;
    }
    return show(&r, plan, o, a);
}

static weft_status run_place(const void *options, const char *const *operand, int n_operands,
                             int *code)
{
    const place_options *o = options;
    weft_arena *a = weft_arena_new();
    weft_request request;
    weft_case c;
    effort e = {0};
    weft_status status = weft_case_flags_read(&o->where, &o->flags, operand[0], a, &request);

    (void)n_operands; /* one: the table says so */
    if (status == WEFT_OK)
        status = begin(&o->effort, &e);
    if (status == WEFT_OK)
        status = weft_case_open(&request, &c);
    if (status == WEFT_OK) {
        status = place(&c, &request, o, &e, a, code);
        weft_case_close(&c);
    }
    weft_effort_end(&e.watch);
    weft_arena_free(a);
    return status;
}

const weft_command weft_cmd_place = {
    .name = "place",
    .summary = "Which operator runs on which device, and when",
    .operands = "MODEL",
    .description = "Places a network on the devices of a platform, simulates the plan, and says "
                   "how far it is\n"
                   "from the best possible one at most. MODEL is an ONNX file, a built-in model, "
                   "or a file of\n"
                   "tasks (weft.tasks/1), which names its own devices.",
    .examples = "  weft place inception_v3 --on server-cpu-2gpu\n"
                "  weft place model.onnx --on machines.yaml --goal throughput --solver peft\n"
                "  weft place resnet50 --on edge-soc -o plan.json --trace trace.json\n"
                "  weft place tasks.json --json\n"
                "  weft place bert --on mixed-fleet --goal throughput --solver load --mix\n"
                "  weft place resnet50 --on mixed-fleet --pareto\n",
    .options = place_table,
    .options_size = sizeof(place_options),
    .min_operands = 1,
    .max_operands = 1,
    .run = run_place,
};

/* --- compare --------------------------------------------------------------------------------- */

typedef struct compare_options {
    weft_model_flags flags;
    weft_case_flags where;
    weft_effort_flags effort;
    bool json, csv;
    const char *task, *output;
} compare_options;

static const weft_option compare_table[] = {
    {WEFT_TEXT(compare_options, task),            0, 0, 0,
     "what the solvers do: as weft place, or as weft shard",                                      "place", "place|shard"},
    WEFT_CASE_FLAGS(compare_options),
    {WEFT_TEXT(compare_options, where.semantics), 0, 0, 0,
     "how time is counted, as in weft place or weft shard; auto: their defaults",                 "auto",
     "auto|platform|calls|sequential|branches"                                                                          },
    WEFT_EFFORT_FLAGS(compare_options, WEFT_USUAL_LIMIT),
    WEFT_MODEL_FLAGS(compare_options),
    {WEFT_FLAG(compare_options, json),            0, 0, 1, "the table as one JSON document",      NULL,    NULL         },
    {WEFT_FLAG(compare_options, csv),             0, 0, 1, "the table as comma-separated values", NULL,    NULL         },
    {WEFT_TEXT(compare_options, output),          0, 0, 0, "write the result there",              "",      NULL         },
    WEFT_OPTIONS_END,
};

/* One row a solver. */
typedef struct comparison {
    const weft_problem *problem;
    int n;
    const weft_solver **solver; /* [n] those that apply */
    weft_solution *solution;
    const char **missing; /* [n] why a solver could not be run; NULL: it was */
    weft_report single;
    weft_proof bound;
    const char *model, *platform; /* as given; platform NULL: a file of tasks */
} comparison;

/* NAN if there is nothing to compare with, or no time at all. */
static double speed_up(const comparison *c, int i)
{
    double value = c->solution[i].proof.value, ratio = c->single.best_single_s / value;

    return value > 0 && isfinite(ratio) ? ratio : NAN;
}

static void compare_row(const comparison *c, int i, int slim, FILE *to)
{
    const weft_solution *s = &c->solution[i];
    char text[48], gap[32];

    fprintf(to, "%*s ", 12 - 2 * slim, weft_unit_print(s->proof.value, WEFT_UNIT_SECONDS, text));
    if (isnan(speed_up(c, i)))
        fprintf(to, "%*s ", 9 - slim, "-");
    else
        fprintf(to, "%*.2fx ", 8 - slim, speed_up(c, i));
    fprintf(to, "%*s ", 12 - 2 * slim, weft_unit_print(s->proof.bound, WEFT_UNIT_SECONDS, text));
    fprintf(to, "%*s %% %*s\n", 6 - slim, weft_format_gap(s->proof.gap, 1, gap), 10 - 2 * slim,
            weft_unit_print(s->seconds, WEFT_UNIT_SECONDS, text));
}

static void compare_text(const comparison *c, int width, weft_arena *a, FILE *to)
{
    int slim = width < 80; /* columns are closer to each other */

    fprintf(to, "%-12s %*s %*s %*s %*s %*s\n", "solver", 12 - 2 * slim,
            c->problem->ask.goal == WEFT_LATENCY ? "latency" : "per item", 9 - slim, "speed-up",
            12 - 2 * slim, "bound", 8 - slim, "gap", 10 - 2 * slim, slim ? "solving" : "solved in");
    for (int i = 0; i < c->n; i++) {
        fprintf(to, "%-12s ", c->solver[i]->name);
        if (c->missing[i] != NULL)
            weft_print_wrapped(to, 13, width, weft_arena_print(a, "not run: %s", c->missing[i]));
        else if (!has_plan(&c->solution[i]))
            fprintf(to, "%s\n",
                    c->solution[i].proof.outcome == WEFT_INFEASIBLE ? "infeasible"
                                                                    : "no plan found");
        else
            compare_row(c, i, slim, to);
    }
    if (isnan(c->single.best_single_s))
        return;
    fputc('\n', to);
    weft_print_wrapped(
        to, 0, width,
        weft_arena_print(
            a, "speed-up over the best single device, %s; at most %.2fx is possible (%s bound)",
            c->single.best_single, c->single.best_single_s / c->bound.bound, c->bound.method));
}

static void compare_csv(const comparison *c, FILE *to)
{
    fprintf(to, "solver,status,value_s,speed_up,bound_s,gap,solve_s\n");
    for (int i = 0; i < c->n; i++) {
        const weft_solution *s = &c->solution[i];

        fprintf(to, "%s,%s,", c->solver[i]->name, weft_outcome_name(s->proof.outcome));
        if (!has_plan(s)) {
            fprintf(to, ",,,,\n");
            continue;
        }
        fprintf(to, "%.17g,", s->proof.value);
        if (!isnan(speed_up(c, i)))
            fprintf(to, "%.17g", speed_up(c, i));
        fprintf(to, ",%.17g,%.17g,%.6f\n", s->proof.bound, s->proof.gap, s->seconds);
    }
}

static weft_doc *compare_doc(const comparison *c, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP), *rows = weft_doc_new(a, WEFT_DOC_LIST);

    weft_doc_put(a, d, "schema", weft_doc_new_text(a, "weft.comparison/1"));
    weft_doc_put(a, d, "command", weft_doc_new_text(a, "compare"));
    weft_put_text(a, d, "model", c->model);
    weft_put_text(a, d, "platform", c->platform);
    weft_doc_put(a, d, "goal", weft_doc_new_text(a, weft_goal_name(c->problem->ask.goal)));
    weft_doc_put(a, d, "bound", weft_doc_new_real(a, c->bound.bound));
    weft_doc_put(a, d, "best_single_device", weft_doc_new_text(a, c->single.best_single));
    weft_doc_put(a, d, "best_single_value", weft_doc_new_real(a, c->single.best_single_s));
    for (int i = 0; i < c->n; i++) {
        const weft_solution *s = &c->solution[i];
        weft_doc *row = weft_doc_new(a, WEFT_DOC_MAP);
        bool ok = has_plan(s);

        weft_doc_put(a, row, "solver", weft_doc_new_text(a, c->solver[i]->name));
        weft_doc_put(a, row, "status", weft_doc_new_text(a, weft_outcome_name(s->proof.outcome)));
        weft_doc_put(a, row, "value", weft_doc_new_real(a, ok ? s->proof.value : NAN));
        weft_doc_put(a, row, "speed_up", weft_doc_new_real(a, ok ? speed_up(c, i) : NAN));
        weft_doc_put(a, row, "bound", weft_doc_new_real(a, s->proof.bound));
        weft_doc_put(a, row, "gap", weft_doc_new_real(a, ok ? s->proof.gap : NAN));
        weft_doc_put(a, row, "seconds", weft_doc_new_real(a, s->seconds));
        if (c->missing[i] != NULL)
            weft_doc_put(a, row, "not_run", weft_doc_new_text(a, c->missing[i]));
        weft_doc_add(a, rows, row);
    }
    weft_doc_put(a, d, "solvers", rows);
    return d;
}

/* Runs solver i. One whose library is not installed does not keep the others from being compared.
 */
static weft_status run_one(comparison *c, int i, const compare_options *o, weft_arena *a)
{
    weft_solution *s = &c->solution[i];
    weft_status status;
    effort e;

    WEFT_TRY(begin(&o->effort, &e));
    status = solve(c->solver[i], c->problem, &c->bound, &e, a, s);
    if (status != WEFT_E_SYSTEM)
        return status;
    *s = (weft_solution){.proof = c->bound};
    s->proof.outcome = WEFT_UNKNOWN;
    c->missing[i] = weft_arena_text(a, weft_message(), strlen(weft_message()));
    return WEFT_OK;
}

static weft_status cross_check_all(const comparison *c, const weft_case *the, const weft_request *q,
                                   const compare_options *o, weft_arena *a)
{
    weft_plan_origin origin = {.model = c->model,
                               .platform = c->platform,
                               .format = *o->where.format ? o->where.format : NULL,
                               .options = q->options,
                               .seed = o->effort.seed,
                               .model_hash = the->model_hash,
                               .platform_hash = the->platform_hash,
                               .problem_hash = c->problem->hash};
    weft_report r = c->single;
    const char **name = WEFT_NEW(a, const char *, c->n + 1);

    r.problem = c->problem;
    r.origin = &origin;
    for (int i = 0; i < c->n; i++)
        name[i] = c->solver[i]->name;
    return cross_check(&(answers){&r, c->solution, name, c->n}, a);
}

static weft_status compare(const weft_case *the, const weft_request *q, const compare_options *o,
                           weft_arena *a, int *code)
{
    const weft_problem *p = the->problem;
    comparison c = {
        .problem = p, .model = q->model, .platform = the->platform ? q->platform : NULL};
    weft_collect text;
    effort e;

    WEFT_TRY(begin(&o->effort, &e));
    c.solver = WEFT_NEW(a, const weft_solver *, weft_place_count());
    for (int i = 0; i < weft_place_count(); i++) {
        if (weft_solver_applies(weft_place_at(i), p))
            c.solver[c.n++] = weft_place_at(i);
    }
    c.solution = WEFT_NEW(a, weft_solution, c.n);
    c.missing = WEFT_NEW(a, const char *, c.n);
    weft_place_bound(p, a, &c.bound);
    WEFT_TRY(find_usual(p, &c.bound, &e, a, &c.single));
    *code = WEFT_EXIT_NO;
    for (int i = 0; i < c.n; i++) {
        WEFT_TRY(run_one(&c, i, o, a));
        if (has_plan(&c.solution[i]))
            *code = WEFT_EXIT_DONE;
    }
    weft_effort_end(&e.watch);
    WEFT_TRY(cross_check_all(&c, the, q, o, a));
    WEFT_TRY(weft_collect_begin(&text));
    if (o->json)
        fprintf(text.to, "%s\n", weft_doc_json(compare_doc(&c, a), 2, a));
    else if (o->csv)
        compare_csv(&c, text.to);
    else
        compare_text(&c, weft_report_width(o->output), a, text.to);
    return weft_collect_emit(&text, o->output);
}

static weft_status compare_places(const compare_options *o, const char *model, weft_arena *a,
                                  int *code)
{
    weft_request request;
    weft_case c;
    weft_status status;

    WEFT_TRY(weft_case_flags_read(&o->where, &o->flags, model, a, &request));
    WEFT_TRY(weft_case_open(&request, &c));
    status = compare(&c, &request, o, a, code);
    weft_case_close(&c);
    return status;
}

static weft_status compare_shards(const compare_options *o, const char *model, weft_arena *a,
                                  int *code)
{
    weft_shard_request request = {
        .model = model,
        .platform = o->where.on,
        .semantics = o->where.semantics,
        .is_contiguous = o->where.contiguous,
    };

    if (strcmp(o->where.goal, "latency") != 0 || *o->where.deadline || o->where.mix ||
        o->where.min_throughput > 0 || *o->where.format)
        return weft_fail(WEFT_E_INPUT, "compare: --goal throughput, --deadline, --min-throughput, "
                                       "--mix and --format are for --task place");
    WEFT_TRY(weft_model_flags_read(&o->flags, a, &request.options));
    return weft_compare_shards(
        &(weft_shard_comparing){&request, &o->effort, o->json, o->csv, o->output}, a, code);
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

static weft_status run_compare(const void *options, const char *const *operand, int n_operands,
                               int *code)
{
    const compare_options *o = options;
    weft_arena *a = weft_arena_new();
    weft_status status = check_semantics(o);

    (void)n_operands; /* one: the table says so */
    if (status == WEFT_OK && o->json && o->csv)
        status = weft_fail(WEFT_E_INPUT, "compare: --json and --csv exclude each other");
    if (status == WEFT_OK)
        status = strcmp(o->task, "shard") == 0 ? compare_shards(o, operand[0], a, code)
                                               : compare_places(o, operand[0], a, code);
    weft_arena_free(a);
    return status;
}

const weft_command weft_cmd_compare = {
    .name = "compare",
    .summary = "Every solver side by side: value, speed-up, bound, gap, seconds",
    .operands = "MODEL",
    .description =
        "Runs every solver on the same problem and shows what the simulator says of their\n"
        "plans, beside the best single device (--task place) or the plain baselines (--task\n"
        "shard) and a lower bound that no plan can beat. With --task shard, --contiguous asks\n"
        "for sets that run one stretch of the network each.",
    .examples = "  weft compare inception_v3 --on server-cpu-2gpu\n"
                "  weft compare --task shard alexnet --on f1-2x4\n"
                "  weft compare bert:large --on mixed-fleet --goal throughput --csv\n",
    .options = compare_table,
    .options_size = sizeof(compare_options),
    .min_operands = 1,
    .max_operands = 1,
    .run = run_compare,
};
