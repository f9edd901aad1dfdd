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
