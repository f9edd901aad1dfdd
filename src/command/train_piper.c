/* SPDX-License-Identifier: MIT */
/* train_piper.c: weft train FILE.json --objective piper. */
#include "command.h"
#include "report.h"

#include <limits.h>
#include <math.h>
#include <string.h>

static const double NEEDS_LIMIT_S = 5; /* for what would do where there is no plan */

static weft_status read_figure(const char *flag, const char *text, weft_unit unit, double *out)
{
    *out = 0;
    if (*text == '\0')
        return WEFT_OK;
    if (weft_unit_parse(text, unit, false, out) != WEFT_OK)
        return weft_fail_in(WEFT_E_INPUT, flag);
    if (!(*out > 0))
        return weft_fail(WEFT_E_INPUT, "%s is '%s', expected more than 0", flag, text);
    return WEFT_OK;
}

static weft_status open_file(const weft_piper_flags *f, weft_piper **out)
{
    weft_piper_limits limits = {.n_devices = (int)f->devices,
                                .n_microbatches = (int)f->microbatches};

    WEFT_TRY(read_figure("--memory", f->memory, WEFT_UNIT_BYTES, &limits.memory_bytes));
    WEFT_TRY(read_figure("--bandwidth", f->bandwidth, WEFT_UNIT_BYTES_PER_S,
                         &limits.bandwidth_bytes_per_s));
    return weft_piper_read(f->model, &limits, out);
}

static weft_doc *result_doc(const weft_piper_report *r, double seconds, weft_arena *a)
{
    const weft_piper_solution *s = r->solution;
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP), *plan = weft_piper_plan_doc(r, a);
    double gap = s->value_s > 0 ? (s->value_s - s->bound_s) / s->value_s : 0;

    weft_put_text(a, d, "schema", "weft.result/1");
    weft_put_text(a, d, "command", "train");
    weft_put_text(a, d, "model", r->model);
    weft_put_text(a, d, "platform", NULL);
    weft_put_text(a, d, "goal", "time per sample");
    weft_put_text(a, d, "objective", "piper");
    weft_put_text(a, d, "solver", "piper");
    weft_put_text(a, d, "status", weft_outcome_name(s->outcome));
    weft_put_text(a, d, "sense", "min");
    weft_put_real(a, d, "value", plan ? s->value_s : NAN);
    weft_put_text(a, d, "unit", "s");
    weft_put_real(a, d, "bound", s->bound_s);
    weft_put_real(a, d, "gap", plan ? gap : NAN);
    weft_put_text(a, d, "method", "probes over cuts");
    weft_put_text(a, d, "reason", plan ? NULL : s->reason);
    weft_put_real(a, d, "seconds", seconds);
    weft_put_int(a, d, "peak_rss_bytes", (int64_t)weft_peak_rss_bytes());
    weft_piper_report_put(r, d, a);
    weft_doc_put(a, d, "plan", plan ? plan : weft_doc_new(a, WEFT_DOC_NULL));
    return d;
}

static weft_status show(const weft_piper_report *r, double seconds, const weft_piper_flags *f,
                        weft_arena *a)
{
    weft_collect c;

    if (f->quiet)
        return WEFT_OK;
    WEFT_TRY(weft_collect_begin(&c));
    if (f->json)
        fprintf(c.to, "%s\n", weft_doc_json(result_doc(r, seconds, a), 1, a));
    else
        weft_piper_report_text(r, f->verbose, weft_report_width(NULL), c.to);
    return weft_collect_emit(&c, NULL);
}

/* What would do where it is proved that there is no plan: a search of its own, with its own time.
 */
static weft_status find_needs(const weft_piper *p, const weft_piper_options *options, weft_run *run,
                              weft_piper_needs *needs, weft_piper_report *r)
{
    if (r->solution->outcome != WEFT_INFEASIBLE)
        return WEFT_OK;
    run->begin_s = weft_wall_s();
    run->limit_s = fmin(run->limit_s, NEEDS_LIMIT_S);
    WEFT_TRY(weft_piper_need(p, options, run, needs));
    r->needs = needs;
    return WEFT_OK;
}

static weft_status solve(const weft_piper *p, const weft_piper_flags *f, weft_arena *a, int *code)
{
    weft_piper_options options;
    weft_piper_solution solution;
    weft_piper_needs needs;
    weft_piper_report r = {.model = f->model, .problem = p, .solution = &solution};
    weft_watch watch = {0};
    weft_run run;
    weft_status status;
    double seconds;

    weft_options_default(weft_piper_table, &options);
    options.max_cuts = f->max_cuts > 0 ? f->max_cuts : options.max_cuts;
    WEFT_TRY(weft_budget_read(f->effort, WEFT_TRAIN_LIMIT, &watch, &run));
    run.begin_s = weft_wall_s();
    status = weft_piper_solve(p, &options, &run, a, &solution);
    seconds = weft_wall_s() - run.begin_s;
    if (status == WEFT_OK)
        status = find_needs(p, &options, &run, &needs, &r);
    weft_budget_end(&watch);
    if (status != WEFT_OK)
        return weft_fail_in(status, f->model);
    if (solution.outcome != WEFT_OPTIMAL && solution.outcome != WEFT_BOUNDED)
        *code = WEFT_EXIT_NO;
    return show(&r, seconds, f, a);
}

weft_status weft_train_piper(const weft_piper_flags *f, weft_arena *a, int *code)
{
    weft_piper *p = NULL;
    weft_status status;

    WEFT_TRY(open_file(f, &p));
    status = solve(p, f, a, code);
    weft_piper_free(p);
    return status;
}
