/* SPDX-License-Identifier: MIT */
/* out_result.c: results of commands as documents (weft.result/1). */
#include "fields.h"

#include <math.h>

static bool has_value(const weft_proof *proof)
{
    return proof->outcome == WEFT_OPTIMAL || proof->outcome == WEFT_BOUNDED;
}

static weft_doc *begin(const char *command, const weft_plan_origin *o, const char *goal,
                       weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);

    weft_put_text(a, d, "schema", "weft.result/1");
    weft_put_text(a, d, "command", command);
    weft_put_text(a, d, "model", o->model);
    weft_put_text(a, d, "platform", o->platform);
    weft_put_text(a, d, "goal", goal);
    return d;
}

static void put_value(weft_doc *d, const weft_proof *proof, const char *unit, weft_arena *a)
{
    weft_put_text(a, d, "status", weft_outcome_name(proof->outcome));
    weft_put_text(a, d, "sense", "min");
    weft_put_real(a, d, "value", has_value(proof) ? proof->value : NAN);
    weft_put_text(a, d, "unit", unit);
}

static void put_rate(weft_doc *d, const weft_proof *proof, weft_arena *a)
{
    weft_put_real(a, d, "per_second", has_value(proof) ? 1 / proof->value : NAN);
}

static void put_bound(weft_doc *d, const weft_proof *proof, weft_arena *a)
{
    weft_put_real(a, d, "bound", proof->bound);
    weft_put_real(a, d, "gap", has_value(proof) ? proof->gap : NAN);
}

static void put_reason(weft_doc *d, const weft_proof *proof, weft_arena *a)
{
    weft_put_text(a, d, "reason", has_value(proof) ? NULL : proof->reason);
}

weft_doc *weft_report_result(const weft_report *r, weft_arena *a)
{
    const weft_proof *proof = &r->solution->proof;
    bool is_stream = r->problem->ask.goal == WEFT_THROUGHPUT;
    weft_doc *d = begin("place", r->origin, weft_goal_name(r->problem->ask.goal), a);

    weft_put_text(a, d, "solver", r->origin->solver);
    put_value(d, proof, is_stream ? "s/item" : "s", a);
    if (is_stream)
        put_rate(d, proof, a);
    put_bound(d, proof, a);
    put_reason(d, proof, a);
    weft_put_real(a, d, "best_single_value", r->best_single_s);
    weft_put_text(a, d, "best_single_device", r->best_single);
    weft_put_real(a, d, "heft_value", r->heft_s);
    weft_put_real(a, d, "speed_up", has_value(proof) ? r->best_single_s / proof->value : NAN);
    weft_put_real(a, d, "speed_up_ceiling", r->best_single_s / proof->bound);
    return d;
}

weft_doc *weft_shard_report_result(const weft_shard_report *r, weft_arena *a)
{
    const weft_proof *proof = &r->solution->proof;
    weft_doc *d = begin("shard", r->origin, "latency", a);

    weft_put_text(a, d, "semantics", r->problem->ask.is_concurrent ? "branches" : "sequential");
    weft_put_text(a, d, "solver", r->origin->solver);
    put_value(d, proof, "s", a);
    put_bound(d, proof, a);
    weft_put_text(a, d, "method", proof->method);
    put_reason(d, proof, a);
    return d;
}

weft_doc *weft_train_report_result(const weft_train_report *r, weft_arena *a)
{
    const weft_proof *proof = &r->solution->proof;
    weft_doc *d = begin("train", r->origin, "step", a);

    weft_put_text(a, d, "objective", "step");
    weft_put_text(a, d, "solver", r->origin->solver);
    put_value(d, proof, "s", a);
    put_rate(d, proof, a);
    put_bound(d, proof, a);
    weft_put_text(a, d, "method", proof->method);
    put_reason(d, proof, a);
    return d;
}

/* --- accelerators ----------------------------------------------------------------------------- */

typedef struct mined {
    const char *networks, *template_, *solver, *unit, *reason;
    weft_metric metric;
    weft_outcome outcome;
    double value, bound, gap; /* value 0: no design */
} mined;

static weft_doc *mined_doc(const mined *m, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);
    bool has = m->value > 0;

    weft_put_text(a, d, "schema", "weft.result/1");
    weft_put_text(a, d, "command", "mine");
    weft_put_text(a, d, "model", m->networks);
    weft_put_text(a, d, "platform", m->template_);
    weft_put_text(a, d, "goal", m->metric == WEFT_METRIC_PER_TDP ? "perf-per-tdp" : "throughput");
    weft_put_text(a, d, "solver", m->solver);
    weft_put_text(a, d, "status", weft_outcome_name(m->outcome));
    weft_put_text(a, d, "sense", "max");
    weft_put_real(a, d, "value", has ? m->value : NAN);
    weft_put_text(a, d, "unit", m->unit);
    weft_put_real(a, d, "bound", m->bound);
    weft_put_real(a, d, "gap", has ? m->gap : NAN);
    weft_put_text(a, d, "reason", has ? NULL : m->reason);
    return d;
}

weft_doc *weft_mine_report_result(const weft_mine_report *r, weft_arena *a)
{
    const weft_found *f = r->found;
    const char *names = r->quest->workload[0].name;

    for (int i = 1; i < r->quest->n_workloads; i++)
        names = weft_arena_print(a, "%s %s", names, r->quest->workload[i].name);
    return mined_doc(&(mined){names, r->quest->template_->name, r->solver, weft_mine_unit(r->quest),
                              f->reason, r->quest->metric, f->outcome, f->value, f->bound,
                              fabs(f->value - f->bound) / f->value},
                     a);
}

weft_doc *weft_fleet_report_result(const weft_fleet_report *r, weft_arena *a)
{
    const weft_fleet_found *f = r->found;
    const char *names = r->quest->net[0]->name;

    for (int i = 1; i < r->quest->n_nets; i++)
        names = weft_arena_print(a, "%s %s", names, r->quest->net[i]->name);
    return mined_doc(&(mined){names, r->quest->template_->name, "auto", weft_fleet_unit(r->quest),
                              f->reason, r->quest->metric, f->outcome, f->value, f->bound, f->gap},
                     a);
}
