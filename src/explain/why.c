/* SPDX-License-Identifier: MIT */
/* why.c: what the reasons of all kinds of plans share.
 *
 * A reason is a lower bound of its own: what it says holds whatever the other reasons are. Reasons
 * are listed by falling seconds, ties in the order in which they were found. If the bound of the
 * proof is above all of them, it was found by a search (or by a certificate that is not repeated),
 * which then stands first under the key "search": is_explained is false. */
#include "why.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double SAME = 1e-9; /* relative difference that is none */

/* --- tasks of a reason ----------------------------------------------------------------------- */

typedef struct weighed {
    double weight;
    int task;
} weighed;

static int by_weight(const void *left, const void *right)
{
    const weighed *a = left, *b = right;

    if (a->weight != b->weight)
        return a->weight > b->weight ? -1 : 1;
    return (a->task > b->task) - (a->task < b->task);
}

/* The tasks that count, heaviest first. */
static const int *heaviest(const weft_reason *r, weft_arena *a, int *n)
{
    weighed *list = WEFT_NEW(a, weighed, r->n_tasks + 1);
    int *task = WEFT_NEW(a, int, r->n_tasks + 1);

    *n = 0;
    for (int i = 0; i < r->n_tasks; i++) {
        double weight = r->weight ? r->weight[i] : 1;

        if (weight > 0)
            list[(*n)++] = (weighed){weight, r->task[i]};
    }
    qsort(list, (size_t)*n, sizeof *list, by_weight);
    for (int i = 0; i < *n; i++)
        task[i] = list[i].task;
    return task;
}

void weft_reason_add(weft_reasons *r, const weft_reason *reason)
{
    weft_why_part part = {reason->key, reason->name, reason->text, reason->seconds, 0, NULL};

    if (!(reason->seconds > 0) || !(reason->seconds < INFINITY))
        return;
    part.task = heaviest(reason, r->a, &part.n_tasks);
    WEFT_PUSH(r->a, r->part, part);
}

/* --- all reasons ----------------------------------------------------------------------------- */

static void sort_parts(weft_reasons *r)
{
    for (int i = 1; i < r->part.n; i++) { /* few of them; equal ones keep their order */
        weft_why_part part = r->part.at[i];
        int k = i;

        for (; k > 0 && r->part.at[k - 1].seconds < part.seconds; k--)
            r->part.at[k] = r->part.at[k - 1];
        r->part.at[k] = part;
    }
}

/* What a search added to the strongest of the reasons. */
static void add_search(weft_reasons *r, const weft_proof *proof, bool is_search)
{
    const weft_why_part *best = r->part.n > 0 ? &r->part.at[0] : NULL;
    const char *how = is_search ? "a search" : "a proof that is not taken apart here";
    const char *text =
        best == NULL
            ? weft_arena_print(r->a, "%s (method '%s') rules out everything below %s", how,
                               proof->method ? proof->method : "none",
                               weft_why_seconds(r->a, proof->bound))
            : weft_arena_print(r->a,
                               "%s (method '%s') rules out everything below %s, %s more than the "
                               "strongest single reason (%s)",
                               how, proof->method ? proof->method : "none",
                               weft_why_seconds(r->a, proof->bound),
                               weft_why_seconds(r->a, proof->bound - best->seconds), best->name);

    weft_reason_add(r, &(weft_reason){.key = "search",
                                      .name = is_search ? "search" : "all reasons together",
                                      .text = text,
                                      .seconds = proof->bound});
}

void weft_reasons_end(weft_reasons *r, const weft_proof *proof, bool is_search, weft_why *out)
{
    double best_s;

    sort_parts(r);
    best_s = r->part.n > 0 ? r->part.at[0].seconds : 0;
    out->is_explained = best_s > 0 && best_s >= proof->bound * (1 - SAME);
    if (!out->is_explained && proof->bound > best_s && proof->bound < INFINITY) {
        add_search(r, proof, is_search);
        sort_parts(r);
    }
    out->n_parts = r->part.n;
    out->part = r->part.at;
}

/* --- the chain ------------------------------------------------------------------------------- */

static int last_job(const weft_jobs *j, const weft_timeline *t)
{
    int last = -1;

    for (int i = 0; i < j->n_jobs; i++)
        if (last < 0 || t->end_s[i] > t->end_s[last])
            last = i;
    return last;
}

void weft_why_chain(const weft_jobs *j, const weft_timeline *t, const bool *is_compute,
                    weft_why *out)
{
    for (int i = last_job(j, t), before; i >= 0; i = before) {
        double length_s = t->end_s[i] - t->start_s[i], ready_s;

        before = t->waits_for[i];
        ready_s = before < 0 ? 0.0 : t->end_s[before];
        *(is_compute[i] ? &out->compute_s : &out->transfer_s) += length_s;
        out->wait_s += fmax(0.0, t->start_s[i] - ready_s);
    }
}

/* --- sentences ------------------------------------------------------------------------------- */

const char *weft_why_seconds(weft_arena *a, double seconds)
{
    char text[48];

    return weft_arena_print(a, "%s", weft_unit_print(seconds, WEFT_UNIT_SECONDS, text));
}

void weft_why_words(const weft_proof *proof, bool has_plan, const char *more, weft_arena *a,
                    weft_why *out)
{
    double over_s = proof->value - proof->bound;
    const char *text;

    if (!has_plan)
        text = weft_arena_print(a, "there is no plan%s%s", proof->reason ? ": " : "",
                                proof->reason ? proof->reason : "");
    else if (over_s <= SAME * proof->value)
        text = "nothing stands between value and bound: the plan is proved optimal";
    else
        text =
            weft_arena_print(a,
                             "value and bound are %s (%.2f %%) apart: better plans may exist, or "
                             "the bound (%s) may be too low",
                             weft_why_seconds(a, over_s), 100 * over_s / proof->value,
                             out->n_parts > 0 ? out->part[0].name : "none");
    out->text = more == NULL ? text : weft_arena_print(a, "%s; %s", text, more);
}
