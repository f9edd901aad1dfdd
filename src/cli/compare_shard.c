/* SPDX-License-Identifier: MIT */
/* compare_shard.c: weft compare --task shard: every solver of sharded networks side by side. */
#define _POSIX_C_SOURCE 200809L
#include "cli.h"
#include "fields.h"
#include "weft/api.h"
#include "weft/report.h"

#include <math.h>
#include <string.h>

/* One row a solver. */
typedef struct comparison {
    const weft_sharding *problem;
    int n;
    const weft_shard_solver **solver; /* [n] those that apply */
    weft_shard_solution *solution;
    weft_proof bound;
    const char *model, *platform; /* as given */
    int usual;                    /* row of the best of the plain baselines; -1: none has a plan */
} comparison;

static void find_usual(comparison *c)
{
    c->usual = -1;
    for (int i = 0; i < c->n; i++) {
        bool is_plain = false;

        for (int k = 0; weft_shard_beside[k] != NULL; k++)
            is_plain |= strcmp(weft_shard_beside[k], c->solver[i]->name) == 0;
        if (is_plain && weft_shard_has_plan(&c->solution[i]) &&
            (c->usual < 0 || c->solution[i].proof.value < c->solution[c->usual].proof.value))
            c->usual = i;
    }
}

/* How much lower than the best plain baseline; NAN: there is nothing to compare. */
static double reduction(const comparison *c, int i)
{
    double usual_s = c->usual < 0 ? NAN : c->solution[c->usual].proof.value;

    return weft_shard_has_plan(&c->solution[i]) && usual_s > 0
               ? (usual_s - c->solution[i].proof.value) / usual_s
               : NAN;
}

static void print_row(const comparison *c, int i, int slim, FILE *to)
{
    const weft_shard_solution *s = &c->solution[i];
    char text[48], gap[32];

    fprintf(to, "%*s ", 12 - 3 * slim, weft_unit_print(s->proof.value, WEFT_UNIT_SECONDS, text));
    if (isnan(reduction(c, i)))
        fprintf(to, "%*s ", 10 - 2 * slim, "-");
    else
        fprintf(to, "%*.1f %% ", 8 - 2 * slim, 100 * reduction(c, i));
    fprintf(to, "%*s ", 12 - 3 * slim, weft_unit_print(s->proof.bound, WEFT_UNIT_SECONDS, text));
    fprintf(to, "%*s %% %*s\n", 6 - slim, weft_format_gap(s->proof.gap, 1, gap), 10 - 2 * slim,
            weft_unit_print(s->seconds, WEFT_UNIT_SECONDS, text));
}

static void print_text(const comparison *c, int width, weft_arena *a, FILE *to)
{
    int slim = width < 80; /* columns are closer to each other */
    char text[48];

    fprintf(to, "%-14s %*s %*s %*s %*s %*s\n", "solver", 12 - 3 * slim, "latency", 10 - 2 * slim,
            "lower by", 12 - 3 * slim, "bound", 8 - slim, "gap", 10 - 2 * slim,
            slim ? "solving" : "solved in");
    for (int i = 0; i < c->n; i++) {
        const weft_proof *proof = &c->solution[i].proof;

        fprintf(to, "%-14s ", c->solver[i]->name);
        if (weft_shard_has_plan(&c->solution[i]))
            print_row(c, i, slim, to);
        else
            weft_print_wrapped(
                to, 15, width,
                weft_arena_print(a, "%s%s%s",
                                 proof->outcome == WEFT_INFEASIBLE ? "infeasible" : "no plan found",
                                 proof->reason ? ": " : "", proof->reason ? proof->reason : ""));
    }
    fputc('\n', to);
    weft_print_wrapped(to, 0, width,
                       weft_arena_print(a, "%s%s%sno plan takes less than %s (%s bound)",
                                        c->usual >= 0 ? "lower by: than " : "",
                                        c->usual >= 0 ? c->solver[c->usual]->name : "",
                                        c->usual >= 0 ? "; " : "",
                                        weft_unit_print(c->bound.bound, WEFT_UNIT_SECONDS, text),
                                        c->bound.method));
}

static void print_csv(const comparison *c, FILE *to)
{
    fprintf(to, "solver,status,value_s,reduction,bound_s,gap,solve_s\n");
    for (int i = 0; i < c->n; i++) {
        const weft_shard_solution *s = &c->solution[i];

        fprintf(to, "%s,%s,", c->solver[i]->name, weft_outcome_name(s->proof.outcome));
        if (!weft_shard_has_plan(s)) {
            fprintf(to, ",,,,\n");
            continue;
        }
        fprintf(to, "%.17g,", s->proof.value);
        if (!isnan(reduction(c, i)))
            fprintf(to, "%.17g", reduction(c, i));
        fprintf(to, ",%.17g,%.17g,%.6f\n", s->proof.bound, s->proof.gap, s->seconds);
    }
}

static weft_doc *row_doc(const comparison *c, int i, weft_arena *a)
{
    const weft_shard_solution *s = &c->solution[i];
    weft_doc *row = weft_doc_new(a, WEFT_DOC_MAP);
    bool ok = weft_shard_has_plan(s);

    weft_put_text(a, row, "solver", c->solver[i]->name);
    weft_put_text(a, row, "status", weft_outcome_name(s->proof.outcome));
    weft_put_real(a, row, "value", ok ? s->proof.value : NAN);
    weft_put_real(a, row, "reduction", reduction(c, i));
    weft_put_real(a, row, "bound", s->proof.bound);
    weft_put_real(a, row, "gap", ok ? s->proof.gap : NAN);
    weft_put_real(a, row, "seconds", s->seconds);
    if (!ok)
        weft_put_text(a, row, "reason", s->proof.reason);
    return row;
}

static weft_doc *comparison_doc(const comparison *c, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP), *rows = weft_doc_new(a, WEFT_DOC_LIST);

    weft_put_text(a, d, "schema", "weft.comparison/1");
    weft_put_text(a, d, "command", "compare");
    weft_put_text(a, d, "task", "shard");
    weft_put_text(a, d, "model", c->model);
    weft_put_text(a, d, "platform", c->platform);
    weft_put_text(a, d, "goal", "latency");
    weft_put_text(a, d, "semantics", c->problem->ask.is_concurrent ? "branches" : "sequential");
    weft_put_real(a, d, "bound", c->bound.bound);
    weft_put_text(a, d, "best_baseline", c->usual < 0 ? NULL : c->solver[c->usual]->name);
    weft_put_real(a, d, "best_baseline_value",
                  c->usual < 0 ? NAN : c->solution[c->usual].proof.value);
    for (int i = 0; i < c->n; i++)
        weft_doc_add(a, rows, row_doc(c, i, a));
    weft_doc_put(a, d, "solvers", rows);
    return d;
}

static weft_status run_all(comparison *c, const weft_shard_comparing *o, weft_arena *a, int *code)
{
    weft_proof floor;
    weft_shard_effort effort = {o->effort, WEFT_USUAL_LIMIT, &floor};

    c->solver = WEFT_NEW(a, const weft_shard_solver *, weft_shard_count());
    for (int i = 0; i < weft_shard_count(); i++) {
        const weft_shard_solver *s = weft_shard_at(i);

        if (s->applies == NULL || s->applies(c->problem))
            c->solver[c->n++] = s;
    }
    c->solution = WEFT_NEW(a, weft_shard_solution, c->n + 1);
    weft_shard_bound(c->problem, a, &floor);
    c->bound = floor;
    *code = WEFT_EXIT_NO;
    for (int i = 0; i < c->n; i++) {
        WEFT_TRY(weft_shard_run(c->solver[i], c->problem, &effort, a, &c->solution[i]));
        if (weft_shard_has_plan(&c->solution[i]))
            *code = WEFT_EXIT_DONE;
        if (c->solution[i].proof.bound > c->bound.bound)
            c->bound = c->solution[i].proof;
    }
    find_usual(c);
    return WEFT_OK;
}

static weft_status cross_check(const comparison *c, const weft_shard_case *the,
                               const weft_shard_comparing *o, weft_arena *a)
{
    weft_plan_origin origin = {.model = c->model,
                               .platform = c->platform,
                               .options = o->request->options,
                               .seed = o->effort->seed,
                               .model_hash = the->model_hash,
                               .platform_hash = the->platform_hash,
                               .problem_hash = c->problem->hash};
    weft_shard_report r = {.problem = c->problem, .origin = &origin};
    const char **name = WEFT_NEW(a, const char *, c->n + 1);

    for (int i = 0; i < c->n; i++)
        name[i] = c->solver[i]->name;
    return weft_shard_cross_check(&(weft_shard_answers){&r, c->solution, name, c->n}, a);
}

static weft_status compare(const weft_shard_case *the, const weft_shard_comparing *o, weft_arena *a,
                           int *code)
{
    comparison c = {
        .problem = the->sharding, .model = o->request->model, .platform = o->request->platform};
    weft_collect text;

    WEFT_TRY(run_all(&c, o, a, code));
    WEFT_TRY(cross_check(&c, the, o, a));
    WEFT_TRY(weft_collect_begin(&text));
    if (o->json)
        fprintf(text.to, "%s\n", weft_doc_json(comparison_doc(&c, a), 2, a));
    else if (o->csv)
        print_csv(&c, text.to);
    else
        print_text(&c, weft_report_width(o->output), a, text.to);
    return weft_collect_emit(&text, o->output);
}

weft_status weft_compare_shards(const weft_shard_comparing *o, weft_arena *a, int *code)
{
    weft_shard_case c;
    weft_status status;

    WEFT_TRY(weft_shard_case_open(o->request, &c));
    status = compare(&c, o, a, code);
    weft_shard_case_close(&c);
    return status;
}
