/* SPDX-License-Identifier: MIT */
/* simulate.c: what decisions are worth that were made elsewhere.
 *
 * 1. The file is read and decided as a plan file of its kind.
 * 2. The simulator takes devices and order and says when everything starts; then the plan must keep
 *    the rules, the memories and the limits.
 * 3. The bound is the one that needs no search. */
#include <string.h>

#include "check.h"

static void find_value(weft_wrongs *w, weft_check_result *v)
{
    const weft_kind *k = v->kind;
    weft_violation list[WEFT_MOST_WRONG];
    int n;

    if (!k->decide(&v->file, &v->problem, w, v->solution))
        return;
    v->has_solution = k->evaluate(&v->problem, v->solution, w->a) == WEFT_OK;
    if (!v->has_solution && k->starts != NULL) { /* an order has no times of its own to look at */
        weft_wrong(w, "%s", weft_message());
        return;
    }
    n = k->violations(&v->problem, v->solution, list, WEFT_MOST_WRONG, w->a);
    if (n == 0 && !v->has_solution)
        weft_wrong(w, "%s", weft_message());
    for (int i = 0; i < n && i < WEFT_MOST_WRONG; i++)
        weft_wrong(w, "%s", list[i].what);
    if (v->has_solution)
        k->refuse(&v->problem, v->solution, w);
}

static weft_status find_proof(const weft_check_result *v, weft_arena *a)
{
    weft_proof *proof = v->kind->proof(v->solution);

    v->kind->floor(&v->problem, a, proof);
    proof->outcome = WEFT_BOUNDED;
    return v->kind->is_max
               ? weft_proof_settle_most(proof, v->kind->value(&v->problem, v->solution),
                                        v->kind->value_name(&v->problem), "given")
               : weft_proof_settle(proof, v->kind->value(&v->problem, v->solution), "given");
}

static weft_status find_kind(const char *path, weft_arena *a, const weft_kind **out)
{
    const char *name;

    WEFT_TRY(weft_decisions_kind(path, a, &name));
    *out = weft_kind_find(name);
    if (*out == NULL || (*out)->floor == NULL)
        return weft_fail(WEFT_E_INPUT,
                         "%s: kind is '%s', expected 'place', 'shard', 'train' or 'serve'", path,
                         name);
    return WEFT_OK;
}

weft_status weft_value_decisions(const char *path, const char *model, const char *platform,
                                 weft_arena *a, weft_check_result *out)
{
    weft_named by = {path, model, platform};
    weft_wrongs w = weft_wrongs_new(a);

    memset(out, 0, sizeof *out);
    WEFT_TRY(find_kind(path, a, &out->kind));
    WEFT_TRY(out->kind->read(path, a, &out->file));
    out->request = out->kind->request(&out->file, &by, a);
    WEFT_TRY(weft_explain_missing(out->kind->open(out->request, NULL, a, &out->problem), &by,
                                  out->file.origin, a));
    out->solution = weft_arena_alloc(a, out->kind->solution_size);
    find_value(&w, out);
    out->n_wrong = w.n;
    out->wrong = w.line;
    return w.n == 0 ? find_proof(out, a) : WEFT_OK;
}
