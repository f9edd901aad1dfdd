/* SPDX-License-Identifier: MIT */
/* whatif.c: what upgrades are worth.
 *
 * For each upgraded machine the problem of the plan is solved again (resolve.c). If the old plan is
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
    double before;
    const weft_upgrade *upgrade;
    weft_upgrade_value *out;
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

static void settle(const pricer *p, const weft_resolved *o, weft_arena *a, weft_upgrade_value *out)
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
    out->gain = isfinite(out->value) ? times_as_fast(p->before, out->value) : NAN;
    out->most_gain = times_as_fast(p->before, out->bound);
    out->is_useless = out->bound >= p->before * (1 - exact);
}

static weft_status price_one(const pricer *p, int i, weft_arena *a, weft_upgrade_value *out)
{
    weft_resolve_request k = {p->plan, p->solver, weft_doc_json(p->upgrade[i].document, 1, a),
                              &p->how->run};
    weft_resolved o;
    weft_status status = weft_resolve(&k, a, &o);

    *out = (weft_upgrade_value){.upgrade = &p->upgrade[i], .outcome = WEFT_UNKNOWN};
    if (status == WEFT_OK) {
        settle(p, &o, a, out);
        return WEFT_OK;
    }
    if (status != WEFT_E_INPUT)
        return status;
    out->value = out->bound = out->gap = out->solved = out->kept = NAN;
    out->gain = out->most_gain = NAN;
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

static int by_value(const void *left, const void *right)
{
    const weft_upgrade_value *a = left, *b = right;
    double x = isfinite(a->value) ? a->value : INFINITY;
    double y = isfinite(b->value) ? b->value : INFINITY;

    if (x != y)
        return x < y ? -1 : 1;
    if (a->bound != b->bound && isfinite(a->bound) && isfinite(b->bound))
        return a->bound < b->bound ? -1 : 1;
    return a->upgrade < b->upgrade ? -1 : 1;
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

weft_status weft_upgrade_values(const weft_check_result *v, const weft_upgrade *upgrade, int n,
                                const weft_whatif *how, weft_arena *a, weft_upgrade_value *out)
{
    weft_arena *scratch = weft_arena_new();
    pricer p = {.plan = v,
                .how = how,
                .solver = how->solver ? how->solver : v->file.origin->solver,
                .before = v->file.proof->value,
                .upgrade = upgrade,
                .out = out,
                .status = WEFT_NEW(scratch, weft_status, n + 1),
                .message = weft_arena_array(scratch, (size_t)n + 1, sizeof *p.message),
                .arena = WEFT_NEW(scratch, weft_arena *, n + 1),
                .n = n};
    weft_status status = weft_resolve_solver(v, p.solver);

    if (status == WEFT_OK) {
        if (how->told != NULL)
            how->told(how->context, 0, n);
        weft_parallel(how->run.n_threads > 0 ? how->run.n_threads : 1, n, work, &p);
        status = finish(&p, a);
    }
    if (status == WEFT_OK && n > 0)
        qsort(out, (size_t)n, sizeof *out, by_value);
    weft_arena_free(scratch);
    return status;
}
