/* SPDX-License-Identifier: MIT */
/* public_plan.c: plan files, their checks and reports. */
#include "public.h"
#include "public_result.h"

#include <math.h>
#include <string.h>

struct weft_public_plan {
    const weft_doc *doc; /* weft.plan/1 or weft.design/1 */
    weft_arena *arena;
};

struct weft_public_check {
    const weft_doc *doc; /* weft.verdict/1 */
    weft_arena *arena;
};

/* --- plans ----------------------------------------------------------------------------------- */

const weft_doc *weft_plan_decisions(const weft_doc *plan)
{
    return strcmp(weft_doc_text_or_empty(plan, "kind"), "place") == 0
               ? weft_doc_get(plan, "decisions")
               : NULL;
}

static weft_plan *new_plan(weft_arena *a)
{
    weft_plan *p = WEFT_NEW(a, weft_plan, 1);

    p->arena = a;
    return p;
}

weft_status weft_plan_of_result(const weft_result *r, weft_plan **out)
{
    const weft_doc *doc = weft_result_plan_doc(r);
    weft_plan *p;
    weft_arena *a;
    const char *text;

    *out = NULL;
    if (doc == NULL)
        return weft_fail(WEFT_E_INPUT, "this result has no plan: its status is '%s'",
                         weft_result_status(r));
    a = weft_arena_new();
    p = new_plan(a);
    text = weft_doc_json(doc, 1, a);
    if (weft_doc_parse(text, strlen(text), "plan", a, &p->doc) != WEFT_OK) {
        weft_arena_free(a);
        return WEFT_E_INTERNAL;
    }
    *out = p;
    return WEFT_OK;
}

static weft_status read_plan(const char *path, weft_plan *p)
{
    const char *schema;

    WEFT_TRY(weft_doc_read(path, p->arena, &p->doc));
    if (p->doc->kind != WEFT_DOC_MAP)
        return weft_doc_fail(p->doc, "expected a plan file");
    WEFT_TRY(weft_doc_text(p->doc, "schema", &schema));
    if (strncmp(schema, "weft.plan/", 10) == 0 || strncmp(schema, "weft.design", 11) == 0)
        return WEFT_OK;
    return weft_doc_fail(p->doc, "schema is '%s', expected that of a plan or a design", schema);
}

weft_status weft_plan_load(const char *path, weft_plan **out)
{
    weft_plan *p = new_plan(weft_arena_new());
    weft_status status = read_plan(path, p);

    *out = status == WEFT_OK ? p : NULL;
    if (status != WEFT_OK)
        weft_plan_close(p);
    return status;
}

weft_status weft_plan_save(const weft_plan *p, const char *path)
{
    const char *text = weft_plan_json(p);

    return weft_file_write(path, text, strlen(text));
}

void weft_plan_close(weft_plan *p)
{
    if (p != NULL)
        weft_arena_free(p->arena);
}

const char *weft_plan_type(const weft_plan *p)
{
    const char *kind = weft_doc_text_or_empty(p->doc, "kind");

    return strncmp(weft_doc_text_or_empty(p->doc, "schema"), "weft.design", 11) == 0 ? "design"
                                                                                     : kind;
}

const char *weft_plan_json(const weft_plan *p)
{
    return weft_doc_json(p->doc, 1, p->arena);
}

static double claimed(const weft_plan *p, const char *key)
{
    const weft_doc *proof = weft_doc_get(p->doc, "proof");

    return proof ? weft_doc_number_or_nan(proof, key) : weft_doc_number_or_nan(p->doc, key);
}

double weft_plan_value(const weft_plan *p)
{
    return claimed(p, "value");
}

double weft_plan_bound(const weft_plan *p)
{
    return claimed(p, "bound");
}

const char *weft_plan_solver(const weft_plan *p)
{
    return weft_doc_text_or_empty(p->doc, "solver");
}

static const weft_doc *decision(const weft_plan *p, int i)
{
    return weft_doc_item(weft_plan_decisions(p->doc), i);
}

int weft_plan_n_decisions(const weft_plan *p)
{
    return weft_doc_count(weft_plan_decisions(p->doc));
}

const char *weft_plan_task(const weft_plan *p, int i)
{
    const weft_doc *d = decision(p, i);

    return d ? weft_doc_text_or_empty(d, "task") : NULL;
}

const char *weft_plan_device(const weft_plan *p, int i)
{
    const weft_doc *d = decision(p, i);

    return d ? weft_doc_text_or_empty(d, "device") : NULL;
}

double weft_plan_start_s(const weft_plan *p, int i)
{
    return weft_doc_number_or_nan(decision(p, i), "start_s");
}

/* --- checks and reports ---------------------------------------------------------------------- */

weft_status weft_plan_verify(const char *path, const char *model, const char *platform,
                             weft_check **out)
{
    weft_arena *a = weft_arena_new();
    weft_check *c = WEFT_NEW(a, weft_check, 1);
    weft_doc *arguments = weft_doc_new(a, WEFT_DOC_MAP);
    weft_status status;

    *out = NULL;
    c->arena = a;
    weft_put_text(a, arguments, "plan", path);
    weft_put_text(a, arguments, "model", model);
    weft_put_text(a, arguments, "on", platform);
    status = weft_ask_document("check", arguments, NULL, a, &c->doc);
    if (status == WEFT_OK)
        *out = c;
    else
        weft_arena_free(a);
    return status;
}

void weft_check_close(weft_check *c)
{
    if (c != NULL)
        weft_arena_free(c->arena);
}

static int truth_of(const weft_check *c, const char *key)
{
    const weft_doc *d = weft_doc_get(c->doc, key);

    return d && d->kind == WEFT_DOC_BOOL && d->truth;
}

int weft_check_is_legal(const weft_check *c)
{
    return truth_of(c, "legal");
}

int weft_check_is_bound_proved(const weft_check *c)
{
    return truth_of(c, "bound_recomputed");
}

static const char *line_of(const weft_check *c, const char *key, int i)
{
    const weft_doc *d = weft_doc_item(weft_doc_get(c->doc, key), i);

    return d && d->kind == WEFT_DOC_TEXT ? d->text : NULL;
}

int weft_check_n_wrong(const weft_check *c)
{
    return weft_doc_count(weft_doc_get(c->doc, "wrong"));
}

const char *weft_check_wrong(const weft_check *c, int i)
{
    return line_of(c, "wrong", i);
}

int weft_check_n_unchecked(const weft_check *c)
{
    return weft_doc_count(weft_doc_get(c->doc, "unchecked"));
}

const char *weft_check_unchecked(const weft_check *c, int i)
{
    return line_of(c, "unchecked", i);
}

const char *weft_check_json(const weft_check *c)
{
    return weft_doc_json(c->doc, 1, c->arena);
}

weft_status weft_plan_report(const char *path, const char *page, const char *const *options)
{
    weft_arena *a = weft_arena_new();
    weft_doc *arguments = weft_doc_new(a, WEFT_DOC_MAP);
    weft_reply reply;
    weft_status status;

    weft_put_text(a, arguments, "plan", path);
    weft_put_text(a, arguments, "output", page);
    weft_put_options(a, arguments, options);
    status = weft_ask("report", arguments, NULL, a, &reply);
    if (status == WEFT_OK && reply.code != 0)
        status = weft_fail(WEFT_E_INPUT, "%.*s", (int)strcspn(reply.text, "\n"), reply.text);
    weft_arena_free(a);
    return status;
}
