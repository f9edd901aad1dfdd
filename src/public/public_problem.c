/* SPDX-License-Identifier: MIT */
/* public_problem.c: problems are a command and its arguments, results what it prints as JSON. */
#include "public.h"
#include "public_result.h"

#include <math.h>
#include <string.h>

struct weft_public_problem {
    const char *kind;
    weft_doc *arguments;
    weft_watcher watcher;
    volatile sig_atomic_t is_cancelled;
    weft_arena *arena;
};

/* --- problems -------------------------------------------------------------------------------- */

static const char *known_kind(const char *name)
{
    static const char *const kinds[] = {"place", "shard", "train", "serve", "mine"};
    const char *near;

    for (int i = 0; i < 5; i++)
        if (strcmp(kinds[i], name) == 0)
            return kinds[i];
    near = weft_nearest(name, kinds, 5);
    (void)weft_fail(WEFT_E_INPUT,
                    "problem kind is '%s'%s%s%s, expected place, shard, train, serve or mine", name,
                    near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
    return NULL;
}

weft_status weft_problem_open(const char *kind, const char *model, const char *platform,
                              weft_problem **out)
{
    const char *known = known_kind(kind);
    weft_arena *a;
    weft_problem *p;
    weft_status status;

    *out = NULL;
    if (known == NULL)
        return WEFT_E_INPUT;
    a = weft_arena_new();
    p = WEFT_NEW(a, weft_problem, 1);
    *p = (weft_problem){.kind = known, .arguments = weft_doc_new(a, WEFT_DOC_MAP), .arena = a};
    p->watcher.stop = &p->is_cancelled;
    status = weft_problem_add_model(p, model);
    if (status == WEFT_OK && platform != NULL)
        status = weft_problem_set(p, "on", platform);
    if (status == WEFT_OK)
        *out = p;
    else
        weft_arena_free(a);
    return status;
}

void weft_problem_close(weft_problem *p)
{
    if (p != NULL)
        weft_arena_free(p->arena);
}

const char *weft_problem_kind(const weft_problem *p)
{
    return p->kind;
}

weft_status weft_problem_set(weft_problem *p, const char *name, const char *value)
{
    WEFT_TRY(weft_ask_knows(p->kind, name));
    weft_put_argument(p->arena, p->arguments, name, weft_doc_new_text(p->arena, value));
    return WEFT_OK;
}

weft_status weft_problem_add_model(weft_problem *p, const char *model)
{
    const weft_doc *before = weft_doc_get(p->arguments, "model");
    weft_doc *list = weft_doc_new(p->arena, WEFT_DOC_LIST);

    for (int i = 0; i < weft_doc_count(before); i++)
        weft_doc_add(p->arena, list, before->item[i]);
    weft_doc_add(p->arena, list, weft_doc_new_text(p->arena, model));
    weft_put_argument(p->arena, p->arguments, "model", list);
    return WEFT_OK;
}

weft_status weft_problem_set_solver(weft_problem *p, const char *name)
{
    return weft_problem_set(p, "solver", name);
}

weft_status weft_problem_set_time_limit(weft_problem *p, double seconds)
{
    return weft_problem_set(p, "time-limit", weft_arena_print(p->arena, "%.17gs", seconds));
}

static weft_status set_count(weft_problem *p, const char *name, int64_t value)
{
    return weft_problem_set(p, name, weft_arena_print(p->arena, "%lld", (long long)value));
}

weft_status weft_problem_set_steps(weft_problem *p, int64_t steps)
{
    return set_count(p, strcmp(p->kind, "mine") == 0 ? "evaluations" : "steps", steps);
}

weft_status weft_problem_set_seed(weft_problem *p, int64_t seed)
{
    return set_count(p, "seed", seed);
}

weft_status weft_problem_set_threads(weft_problem *p, int threads)
{
    return set_count(p, "threads", threads);
}

void weft_problem_watch(weft_problem *p, weft_progress_callback progress, void *context)
{
    p->watcher.progress = progress;
    p->watcher.context = context;
}

void weft_problem_cancel(weft_problem *p)
{
    p->is_cancelled = 1;
}

weft_status weft_problem_solve(weft_problem *p, weft_result **out)
{
    weft_arena *a = weft_arena_new();
    weft_result *r = WEFT_NEW(a, weft_result, 1);
    weft_status status;

    *out = NULL;
    p->is_cancelled = 0;
    r->arena = a;
    status = weft_ask_document(p->kind, p->arguments, &p->watcher, a, &r->doc);
    if (status == WEFT_OK)
        *out = r;
    else
        weft_arena_free(a);
    return status;
}

/* --- results --------------------------------------------------------------------------------- */

void weft_result_close(weft_result *r)
{
    if (r != NULL)
        weft_arena_free(r->arena);
}

const char *weft_result_status(const weft_result *r)
{
    return weft_doc_text_or_empty(r->doc, "status");
}

const weft_doc *weft_result_plan_doc(const weft_result *r)
{
    const weft_doc *plan = weft_doc_get(r->doc, "plan");

    return plan && plan->kind == WEFT_DOC_MAP ? plan : NULL;
}

int weft_result_has_plan(const weft_result *r)
{
    return strcmp(weft_result_status(r), "optimal") == 0 ||
           strcmp(weft_result_status(r), "bounded") == 0;
}

double weft_result_value(const weft_result *r)
{
    return weft_doc_number_or_nan(r->doc, "value");
}

const char *weft_result_unit(const weft_result *r)
{
    return weft_doc_text_or_empty(r->doc, "unit");
}

const char *weft_result_sense(const weft_result *r)
{
    return weft_doc_text_or_empty(r->doc, "sense");
}

double weft_result_bound(const weft_result *r)
{
    return weft_doc_number_or_nan(r->doc, "bound");
}

double weft_result_gap(const weft_result *r)
{
    return weft_doc_number_or_nan(r->doc, "gap");
}

const char *weft_result_solver(const weft_result *r)
{
    return weft_doc_text_or_empty(r->doc, "solver");
}

const char *weft_result_method(const weft_result *r)
{
    const weft_doc *plan = weft_result_plan_doc(r);
    const char *method = weft_doc_text_or_empty(r->doc, "method");

    if (*method == '\0' && plan != NULL && weft_doc_get(plan, "proof"))
        method = weft_doc_text_or_empty(weft_doc_get(plan, "proof"), "method");
    return method;
}

const char *weft_result_reason(const weft_result *r)
{
    return weft_doc_text_or_empty(r->doc, "reason");
}

double weft_result_seconds(const weft_result *r)
{
    return weft_doc_number_or_nan(r->doc, "seconds");
}

const char *weft_result_json(const weft_result *r)
{
    return weft_doc_json(r->doc, 1, r->arena);
}

static const weft_doc *decision(const weft_result *r, int i)
{
    const weft_doc *plan = weft_result_plan_doc(r);

    return plan ? weft_doc_item(weft_plan_decisions(plan), i) : NULL;
}

int weft_result_n_decisions(const weft_result *r)
{
    const weft_doc *plan = weft_result_plan_doc(r);

    return plan ? weft_doc_count(weft_plan_decisions(plan)) : 0;
}

const char *weft_result_task(const weft_result *r, int i)
{
    const weft_doc *d = decision(r, i);

    return d ? weft_doc_text_or_empty(d, "task") : NULL;
}

const char *weft_result_device(const weft_result *r, int i)
{
    const weft_doc *d = decision(r, i);

    return d ? weft_doc_text_or_empty(d, "device") : NULL;
}

double weft_result_start_s(const weft_result *r, int i)
{
    return weft_doc_number_or_nan(decision(r, i), "start_s");
}

double weft_result_end_s(const weft_result *r, int i)
{
    const weft_doc *d = decision(r, i) ? weft_doc_item(weft_doc_get(r->doc, "end_s"), i) : NULL;

    return d ? d->real : NAN;
}
