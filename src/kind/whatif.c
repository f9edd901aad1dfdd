/* SPDX-License-Identifier: MIT */
/* whatif.c: what upgrades are worth.
 *
 * For each upgraded machine the problem of the plan is solved again (resolve.c), and for the machine as
 * it is: a search of its own may find a better plan or bound than the file has, which would else
 * pass for the worth of every upgrade. If the old plan is
 * better there than what was found, it is the answer: more machine is never worth less to those who
 * keep their plan. (Where data takes another route because a link became faster, the old plan
 * itself may take longer than before.)
 *
 * Upgrades do not depend on each other, so they may run side by side; each has memory of its own.
 */
#include "resolve.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef struct pricer {
    const weft_check_result *plan;
    const weft_whatif *how;
    const char *solver;
    const weft_upgrade *upgrade; /* [n], the last is the machine as it is */
    weft_upgrade_value *out;     /* [n] */
    weft_status *status;
    char (*message)[512]; /* of a status that is no verdict on the upgrade */
    weft_arena **arena;   /* [n] */
    int n;
    atomic_int n_done;
} pricer;

/* --- one upgrade ----------------------------------------------------------------------------- */

/* Of plans that take no time neither is faster. */
static double times_as_fast(double before, double after)
{
    return before > 0 || after > 0 ? before / after : 1;
}

static void settle(const weft_resolved *o, weft_arena *a, weft_upgrade_value *out)
{
    const double exact = 1e-9;
    const weft_proof *proof = &o->proof;

    out->outcome = proof->outcome;
    out->bound = proof->bound;
    out->method = proof->method;
    out->solved = out->value = weft_resolved_has_plan(o) ? proof->value : NAN;
    out->kept = o->kept;
    out->reason = weft_resolved_has_plan(o) ? NULL : proof->reason;
    if (isfinite(o->kept) && !(out->solved <= o->kept * (1 + exact))) {
        out->value = o->kept;
        out->outcome = o->kept <= proof->bound * (1 + exact) ? WEFT_OPTIMAL : WEFT_BOUNDED;
        out->reason = NULL;
    }
    if (!isfinite(out->value) && out->reason == NULL)
        out->reason = weft_arena_print(a, "no plan was found");
    out->gap = out->value > 0 ? fmax(0, (out->value - out->bound) / out->value) : 0;
    out->gap = isfinite(out->value) ? out->gap : NAN;
}

static weft_status price_one(const pricer *p, int i, weft_arena *a, weft_upgrade_value *out)
{
    weft_resolve_request k = {p->plan, p->solver, weft_doc_json(p->upgrade[i].document, 1, a),
                              &p->how->run};
    weft_resolved o;
    weft_status status = weft_resolve(&k, a, &o);

    *out = (weft_upgrade_value){.upgrade = &p->upgrade[i], .outcome = WEFT_UNKNOWN};
    if (status == WEFT_OK) {
        settle(&o, a, out);
        return WEFT_OK;
    }
    if (status != WEFT_E_INPUT)
        return status;
    out->value = out->bound = out->gap = out->solved = out->kept = NAN;
    out->reason = weft_arena_print(a, "%s", weft_message());
    return WEFT_OK;
}

static void work(void *context, int i)
{
    pricer *p = context;
    int n_done;

    p->arena[i] = weft_arena_new();
    p->status[i] = price_one(p, i, p->arena[i], &p->out[i]);
    if (p->status[i] != WEFT_OK)
        snprintf(p->message[i], sizeof p->message[i], "%s", weft_message());
    n_done = atomic_fetch_add(&p->n_done, 1) + 1;
    if (p->how->told != NULL)
        p->how->told(p->how->context, n_done, p->n);
}

/* --- all ------------------------------------------------------------------------------------- */

/* Texts move from the memory of the solve to that of the caller. */
static const char *moved(const char *text, weft_arena *a)
{
    return text == NULL ? NULL : weft_arena_word(a, text);
}

/* What is known of the machine as it is; where it was not searched, what the plan says. */
static weft_upgrade_base base_of(const weft_check_result *v, const weft_upgrade_value *again)
{
    const weft_proof *plan = v->file.proof;
    weft_upgrade_base b = {plan->value, plan->bound, again->bound, false};

    b.is_better = again->value < plan->value * (1 - 1e-9);
    if (b.is_better)
        b.value = again->value;
    if (again->bound > b.bound && again->bound <= b.value * (1 + 1e-9))
        b.bound = again->bound;
    return b;
}

/* Gains against the machine as it is. What optima gain is between the two proved ones. */
static void hold_against(const weft_upgrade_base *b, weft_upgrade_value *out)
{
    bool has_plan = isfinite(out->value), has_bound = isfinite(out->bound);

    out->gain = has_plan ? times_as_fast(b->value, out->value) : NAN;
    out->least_gain = has_plan ? times_as_fast(b->bound, out->value) : NAN;
    out->bound_gain = has_bound ? times_as_fast(b->searched, out->bound) : NAN;
    out->most_gain = has_bound ? times_as_fast(b->value, out->bound) : NAN;
    out->is_useless = out->bound >= b->value * (1 - 1e-9);
}

/* More comes first; what is equal but for rounding, or not known of both, is a tie. */
static int by_more(double x, double y)
{
    x = isfinite(x) ? x : -1;
    y = isfinite(y) ? y : -1;
    if (fabs(x - y) <= 1e-9 * fmax(fabs(x), fabs(y)))
        return 0;
    return x > y ? -1 : 1;
}

/* A gain that is proved; else all are equal. */
static double proved_gain(const weft_upgrade_value *u)
{
    return u->least_gain > 1 + 1e-9 ? u->least_gain : 1;
}

static double told_gain(const weft_upgrade_value *u)
{
    return u->is_useless ? 0 : u->bound_gain;
}

static int by_proof(const void *left, const void *right)
{
    const weft_upgrade_value *a = left, *b = right;
    int order = by_more(proved_gain(a), proved_gain(b));

    if (order == 0)
        order = by_more(told_gain(a), told_gain(b));
    if (order == 0)
        order = by_more(a->gain, b->gain);
    if (order == 0)
        order = a->upgrade < b->upgrade ? -1 : a->upgrade > b->upgrade;
    return order;
}

static weft_status finish(pricer *p, weft_arena *a)
{
    weft_status status = WEFT_OK;

    for (int i = 0; i < p->n; i++) {
        p->out[i].reason = moved(p->out[i].reason, a);
        p->out[i].method = moved(p->out[i].method, a);
        weft_arena_free(p->arena[i]);
        if (status == WEFT_OK && p->status[i] != WEFT_OK)
            status = weft_fail(p->status[i], "%s: %s", p->upgrade[i].name, p->message[i]);
    }
    return status;
}

/* The upgrades, and the machine as it is behind them. */
static const weft_upgrade *with_machine(const weft_upgrades *u, weft_arena *a)
{
    weft_upgrade *all = WEFT_NEW(a, weft_upgrade, u->n + 1);

    for (int i = 0; i < u->n; i++)
        all[i] = u->upgrade[i];
    all[u->n] = (weft_upgrade){.name = "as it is", .document = u->machine};
    return all;
}

static void rank(const pricer *p, const weft_upgrades *u, weft_upgrade_base *base,
                 weft_upgrade_value *out)
{
    *base = base_of(p->plan, &p->out[u->n]);
    for (int i = 0; i < u->n; i++) {
        out[i] = p->out[i];
        out[i].upgrade = &u->upgrade[i];
        hold_against(base, &out[i]);
    }
    if (u->n > 0)
        qsort(out, (size_t)u->n, sizeof *out, by_proof);
}

weft_status weft_upgrade_values(const weft_check_result *v, const weft_upgrades *u,
                                const weft_whatif *how, weft_arena *a, weft_upgrade_base *base,
                                weft_upgrade_value *out)
{
    weft_arena *scratch = weft_arena_new();
    int n = u->n + 1;
    pricer p = {.plan = v,
                .how = how,
                .solver = how->solver ? how->solver : v->file.origin->solver,
                .upgrade = with_machine(u, scratch),
                .out = WEFT_NEW(scratch, weft_upgrade_value, n),
                .status = WEFT_NEW(scratch, weft_status, n),
                .message = weft_arena_array(scratch, (size_t)n, sizeof *p.message),
                .arena = WEFT_NEW(scratch, weft_arena *, n),
                .n = n};
    weft_status status = weft_resolve_solver(v, p.solver);

    if (status == WEFT_OK) {
        if (how->told != NULL)
            how->told(how->context, 0, n);
        weft_parallel(how->run.n_threads > 0 ? how->run.n_threads : 1, n, work, &p);
        status = finish(&p, a);
    }
    if (status == WEFT_OK)
        rank(&p, u, base, out);
    weft_arena_free(scratch);
    return status;
}
