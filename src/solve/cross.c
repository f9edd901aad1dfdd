/* SPDX-License-Identifier: MIT */
/* cross.c: answers to one problem are held against each other.
 *
 * 1. A plan whose value is beyond a bound that another answer proves, by more than rounding, or a
 *    plan where another answer proves that there is none, shows that one of the two is wrong. Which
 *    one is not known, so none is given: it is an internal error.
 * 2. If a program has said how it was called, both answers go to a file from which the case can be
 *    run again; the message names the file. A library writes nothing. */
#include "solve.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const double EXACT = 1e-9; /* relative difference that is none, as in solve.c */

static const char *const *command; /* that a program was called with; NULL: nobody has said */
static int n_command;

void weft_cross_command(const char *const *word, int n)
{
    command = word;
    n_command = n;
}

/* --- contradictions -------------------------------------------------------------------------- */

static bool has_plan(const weft_claim *c)
{
    return (c->outcome == WEFT_OPTIMAL || c->outcome == WEFT_BOUNDED) && isfinite(c->value);
}

/* Is the plan of `a` better than anything can be, if the bound of `b` holds? */
static bool is_beyond(const weft_claim *a, const weft_claim *b, bool is_max)
{
    if (!has_plan(a) || isnan(b->bound))
        return false;
    if (is_max)
        return a->value > b->bound * (1 + EXACT) && b->bound >= 0;
    return a->value < b->bound * (1 - EXACT) && b->outcome != WEFT_INFEASIBLE;
}

static bool is_denied(const weft_claim *a, const weft_claim *b)
{
    return has_plan(a) && b->outcome == WEFT_INFEASIBLE;
}

/* --- the file -------------------------------------------------------------------------------- */

static weft_doc *claim_doc(const weft_contest *x, const weft_claim *c, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP), *plan = NULL;

    if (x->plan != NULL && has_plan(c))
        plan = x->plan(x->context, (int)(c - x->claim), a);

    weft_put_text(a, d, "by", c->by);
    weft_put_text(a, d, "status", weft_outcome_name(c->outcome));
    weft_put_real(a, d, "value", has_plan(c) ? c->value : NAN);
    weft_put_real(a, d, "bound", c->bound);
    weft_put_text(a, d, "method", c->method);
    weft_doc_put(a, d, "plan", plan ? plan : weft_doc_new(a, WEFT_DOC_NULL));
    return d;
}

static weft_doc *case_doc(const weft_contest *x, const weft_claim *const both[2],
                          const char *message, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP), *list = weft_doc_new(a, WEFT_DOC_LIST);

    weft_put_text(a, d, "schema", "weft.contradiction/1");
    weft_doc_put(a, d, "command", weft_texts_doc(command, n_command, a));
    weft_put_text(a, d, "message", message);
    weft_put_text(a, d, "sense", x->is_max ? "max" : "min");
    weft_put_text(a, d, "machine", x->machine);
    for (int i = 0; i < 2; i++)
        weft_doc_add(a, list, claim_doc(x, both[i], a));
    weft_doc_put(a, d, "claims", list);
    return d;
}

static uint64_t hash_of(const char *text)
{
    uint64_t h = 14695981039346656037u;

    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 1099511628211u;
    return h;
}

/* "; the case is in weft-contradiction-...json", or why it is not. */
static const char *keep_case(const weft_contest *x, const weft_claim *const both[2],
                             const char *message, weft_arena *a)
{
    const char *text, *path;

    if (command == NULL)
        return "";
    text = weft_arena_print(a, "%s\n", weft_doc_json(case_doc(x, both, message, a), 1, a));
    path = weft_arena_print(a, "weft-contradiction-%016" PRIx64 ".json", hash_of(text));
    if (weft_file_write(path, text, strlen(text)) != WEFT_OK)
        return weft_arena_print(a, "; the case could not be kept: %s", weft_message());
    return weft_arena_print(a, "; both answers and how to run it again are in %s", path);
}

/* --- all ------------------------------------------------------------------------------------- */

static weft_status contradict(const weft_contest *x, const weft_claim *plan,
                              const weft_claim *bound)
{
    const weft_claim *const both[2] = {plan, bound};
    const char *unit = x->unit ? x->unit : "s", *message, *kept;
    weft_arena *a = weft_arena_new();
    weft_status status;

    if (bound->outcome == WEFT_INFEASIBLE)
        message =
            weft_arena_print(a,
                             "internal error: a plan by '%s' is worth %.17g %s where '%s' says "
                             "that there is none",
                             plan->by, plan->value, unit, bound->by);
    else
        message = weft_arena_print(
            a, "internal error: a plan by '%s' is worth %.17g %s, %s %.17g of '%s'%s%s%s", plan->by,
            plan->value, unit,
            x->is_max ? "more than the upper bound" : "less than the lower bound", bound->bound,
            bound->by, bound->method ? " (" : "", bound->method ? bound->method : "",
            bound->method ? ")" : "");
    kept = keep_case(x, both, message, a);
    status = weft_fail(WEFT_E_INTERNAL, "%s%s", message, kept);
    weft_arena_free(a);
    return status;
}

weft_status weft_cross_check(const weft_contest *x)
{
    for (int i = 0; i < x->n; i++)
        for (int j = 0; j < x->n; j++)
            if (is_denied(&x->claim[i], &x->claim[j]) ||
                is_beyond(&x->claim[i], &x->claim[j], x->is_max))
                return contradict(x, &x->claim[i], &x->claim[j]);
    return WEFT_OK;
}

weft_claim weft_claim_of(const char *by, const weft_proof *proof)
{
    return (weft_claim){.by = by,
                        .outcome = proof->outcome,
                        .value = proof->value,
                        .bound = proof->bound,
                        .method = proof->method};
}

weft_claim weft_claim_plan(const char *by, double value, double worst)
{
    return (weft_claim){.by = by,
                        .outcome = isfinite(value) ? WEFT_BOUNDED : WEFT_UNKNOWN,
                        .value = value,
                        .bound = worst};
}
