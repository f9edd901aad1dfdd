/* SPDX-License-Identifier: MIT */
/* pareto.c: weft place --pareto: plans between least latency and highest throughput. */
#define _POSIX_C_SOURCE 200809L
#include "command.h"
#include "fields.h"
#include "kind.h"

#include <math.h>

/* What both bounds say; neither is the solver's. */
typedef struct bounds {
    weft_proof latency, period;
} bounds;

static bounds bounds_of(const weft_problem *p, weft_arena *a)
{
    weft_problem asked = *p;
    bounds out;

    asked.constraints.goal = WEFT_LATENCY;
    weft_place_bound(&asked, a, &out.latency);
    asked.constraints.goal = WEFT_THROUGHPUT;
    weft_place_bound(&asked, a, &out.period);
    return out;
}

static int n_used(const weft_problem *p, const weft_plan *plan, weft_arena *a)
{
    bool *is_used = WEFT_NEW(a, bool, p->n_devices);
    int n = 0;

    for (int u = 0; u < p->n_tasks; u++) {
        n += !is_used[plan->device[u]];
        is_used[plan->device[u]] = true;
    }
    return n;
}

static void print_front(const weft_problem *p, const weft_tradeoff *point, int n, int width,
                        weft_arena *a, FILE *to)
{
    bounds b = bounds_of(p, a);
    char text[48];

    if (n == 0) {
        fprintf(to, "No plan was found.\n");
        if (b.latency.outcome == WEFT_INFEASIBLE && b.latency.reason != NULL)
            weft_print_wrapped(to, 0, width, b.latency.reason);
        return;
    }
    fprintf(to, "%14s %14s %14s %9s\n", "latency", "an item", "items/s", "devices");
    for (int i = 0; i < n; i++) {
        fprintf(to, "%14s ", weft_unit_print(point[i].latency_s, WEFT_UNIT_SECONDS, text));
        fprintf(to, "%14s ", weft_unit_print(point[i].period_s, WEFT_UNIT_SECONDS, text));
        fprintf(to, "%14s %9d\n", weft_format_count(1 / point[i].period_s, text),
                n_used(p, &point[i].plan, a));
    }
    fputc('\n', to);
    weft_print_wrapped(
        to, 0, width,
        weft_arena_print(
            a, "no plan takes less than %s (%s bound), or less than %s an item (%s bound)",
            weft_glued_seconds(a, b.latency.bound), b.latency.method,
            weft_glued_seconds(a, b.period.bound), b.period.method));
}

/* The point as a plan of its own, which weft check can read. */
static weft_doc *point_doc(const weft_problem *p, const weft_tradeoff *point,
                           const weft_plan_origin *origin, const weft_proof *bound, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);
    weft_plan plan = point->plan;
    weft_proof proof = *bound;
    weft_measures m;

    if (weft_evaluate(p, &plan, a, &m) != WEFT_OK)
        return d; /* it was simulated before */
    proof.value = weft_goal_value(p, &m);
    proof.bound = fmin(proof.bound, proof.value); /* to rounding: see cross_check */
    proof.certified = fmin(proof.certified, proof.bound);
    proof.gap = proof.value > 0 ? (proof.value - proof.bound) / proof.value : 0;
    proof.outcome = proof.gap <= 1e-9 ? WEFT_OPTIMAL : WEFT_BOUNDED;
    weft_put_real(a, d, "latency_s", point->latency_s);
    weft_put_real(a, d, "period_s", point->period_s);
    weft_put_real(a, d, "per_second", 1 / point->period_s);
    weft_doc_put(a, d, "plan",
                 weft_plan_doc(p, &plan, &proof, origin, weft_measures_doc(p, &m, a), a));
    return d;
}

static weft_doc *front_doc(const weft_problem *p, const weft_tradeoff *point, int n,
                           const weft_plan_origin *origin, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP), *list = weft_doc_new(a, WEFT_DOC_LIST);
    bounds b = bounds_of(p, a);
    const weft_proof *bound = p->constraints.goal == WEFT_THROUGHPUT ? &b.period : &b.latency;

    weft_put_text(a, d, "schema", "weft.result/1");
    weft_put_text(a, d, "command", "place");
    weft_put_text(a, d, "model", origin->model);
    weft_put_text(a, d, "platform", origin->platform);
    weft_put_text(a, d, "goal", weft_goal_name(p->constraints.goal));
    weft_put_real(a, d, "latency_bound_s", b.latency.bound);
    weft_put_real(a, d, "period_bound_s", b.period.bound);
    for (int i = 0; i < n; i++)
        weft_doc_add(a, list, point_doc(p, &point[i], origin, bound, a));
    weft_doc_put(a, d, "pareto", list);
    return d;
}

/* No point is beyond the bound of latency or of the period. */
static weft_status cross_check(const weft_problem *p, const weft_tradeoff *point, int n,
                               weft_arena *a)
{
    bounds b = bounds_of(p, a);
    weft_claim *latency = WEFT_NEW(a, weft_claim, n + 1);
    weft_claim *period = WEFT_NEW(a, weft_claim, n + 1);

    latency[n] = weft_claim_of("bound of latency", &b.latency);
    period[n] = weft_claim_of("bound of the period", &b.period);
    for (int i = 0; i < n; i++) {
        latency[i] = weft_claim_plan("a plan of the front", point[i].latency_s, 0);
        period[i] = weft_claim_plan("a plan of the front", point[i].period_s, 0);
    }
    WEFT_TRY(weft_cross_check(&(weft_contest){.n = n + 1, .claim = latency}));
    return weft_cross_check(&(weft_contest){.n = n + 1, .claim = period});
}

weft_status weft_pareto_show(const weft_problem *p, const weft_plan_origin *origin,
                             const weft_pareto_options *o, weft_arena *a, int *code)
{
    const weft_tradeoff *point;
    weft_watch watch;
    weft_run run;
    weft_collect c;
    weft_status status;
    int n;

    if (p->wide_state != NULL)
        return weft_fail(WEFT_E_INPUT,
                         "state '%s' is read by one operator and made anew by another: throughput "
                         "does not know such states (--pareto); --state none takes them for inputs",
                         p->wide_state);
    WEFT_TRY(weft_budget_read(o->effort, WEFT_REFERENCE_LIMIT, &watch, &run));
    run.begin_s = watch.begin_s;
    run.scratch = weft_arena_new();
    status = weft_place_front(p, &run, a, &point, &n);
    weft_budget_end(&watch);
    weft_arena_free(run.scratch);
    WEFT_TRY(status);
    WEFT_TRY(cross_check(p, point, n, a));
    if (n == 0)
        *code = WEFT_EXIT_NO;
    WEFT_TRY(weft_collect_begin(&c));
    if (o->json)
        fprintf(c.to, "%s\n", weft_doc_json(front_doc(p, point, n, origin, a), 1, a));
    else
        print_front(p, point, n, weft_report_width(o->output), a, c.to);
    return weft_collect_emit(&c, o->output);
}
