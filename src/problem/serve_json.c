/* SPDX-License-Identifier: MIT */
/* serve_json.c: plan files of serving (weft.plan/1, kind serve). Nodes are called by their names;
 * those that are not listed are not used. */
#include "plan_head.h"
#include "serve_problem.h"

#include <string.h>

/* --- writing --------------------------------------------------------------------------------- */

static weft_doc *decisions_doc(const weft_serve_problem *p, const weft_serve_plan *plan,
                               weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP), *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int i = 0; i < p->n_nodes; i++) {
        weft_doc *row;

        if (plan->start[i] == plan->end[i])
            continue;
        row = weft_add_map(a, list);
        weft_put_text(a, row, "node", p->node_name[i]);
        weft_put_int(a, row, "start", plan->start[i]);
        weft_put_int(a, row, "end", plan->end[i]);
    }
    weft_doc_put(a, d, "ranges", list);
    return d;
}

static weft_doc *certificate_doc(const weft_serve_certificate *c, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP), *prices = weft_doc_new(a, WEFT_DOC_LIST);

    weft_put_text(a, d, "method", weft_serve_method_name((int)c->method));
    weft_put_real(a, d, "target", c->target);
    for (int i = 0; i < c->n_prices; i++)
        weft_doc_add(a, prices, weft_doc_new_real(a, c->price[i]));
    weft_doc_put(a, d, "prices", prices);
    return d;
}

weft_doc *weft_serve_plan_doc(const weft_serve_problem *p, const weft_serve_plan *plan,
                              const weft_proof *proof, const weft_serve_certificate *certificate,
                              const weft_plan_origin *origin, weft_doc *measures, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP), *claims = weft_doc_new(a, WEFT_DOC_MAP);

    weft_plan_put_head(a, d, "serve", origin);
    weft_put_text(a, d, "objective", "flow");
    weft_plan_put_maker(a, d, origin);
    weft_doc_put(a, d, "decisions", decisions_doc(p, plan, a));
    weft_doc_put(a, d, "measures", measures);
    weft_plan_put_claims(a, claims, proof);
    weft_doc_put(a, claims, "certificate", certificate_doc(certificate, a));
    weft_doc_put(a, d, "proof", claims);
    return d;
}

/* --- reading --------------------------------------------------------------------------------- */

static weft_status read_certificate(const weft_doc *proof, weft_arena *a,
                                    weft_serve_certificate *out)
{
    static const char *const keys[] = {"method", "target", "prices"};
    const weft_doc *d, *list;
    double *price;
    int method;

    WEFT_TRY(weft_doc_need(proof, "certificate", WEFT_DOC_MAP, &d));
    WEFT_TRY(weft_doc_known_keys(d, keys, 3));
    WEFT_TRY(
        weft_plan_read_word(d, "method", weft_serve_method_name, WEFT_SERVE_N_METHODS, &method));
    WEFT_TRY(weft_doc_real(d, "target", 0, 1e300, &out->target));
    WEFT_TRY(weft_doc_need(d, "prices", WEFT_DOC_LIST, &list));
    price = WEFT_NEW(a, double, list->n + 1);
    for (int i = 0; i < list->n; i++) {
        const weft_doc *x = list->item[i];

        if (!weft_doc_is_number(x) || !(x->real >= 0) || x->real > 1e100)
            return weft_doc_fail(x, "'prices' has an entry that is no number from 0 to 1e100");
        price[i] = x->real;
    }
    out->method = (weft_serve_method)method;
    out->n_prices = list->n;
    out->price = price;
    return WEFT_OK;
}

static weft_status read_proof(const weft_doc *plan, weft_arena *a, weft_serve_plan_file *out)
{
    static const char *const keys[] = {"status", "value",     "bound",      "gap",
                                       "method", "certified", "certificate"};
    const weft_doc *d;

    WEFT_TRY(weft_doc_need(plan, "proof", WEFT_DOC_MAP, &d));
    WEFT_TRY(weft_doc_known_keys(d, keys, 7));
    WEFT_TRY(weft_plan_read_claims(d, &out->proof));
    return read_certificate(d, a, &out->certificate);
}

static weft_status check_range(const weft_doc *d)
{
    static const char *const keys[] = {"node", "start", "end"};
    const char *node;
    int64_t start = 0, end;

    if (d->kind != WEFT_DOC_MAP)
        return weft_doc_fail(d, "a range is %s, expected {node, start, end}",
                             weft_doc_kind_name(d->kind));
    WEFT_TRY(weft_doc_known_keys(d, keys, 3));
    WEFT_TRY(weft_doc_text(d, "node", &node));
    WEFT_TRY(weft_doc_int(d, "start", 0, WEFT_SERVE_MOST_LAYERS, &start));
    return weft_doc_int(d, "end", start + 1, WEFT_SERVE_MOST_LAYERS, &end);
}

static weft_status read_decisions(const weft_doc *plan, weft_serve_plan_file *out)
{
    static const char *const keys[] = {"ranges"};
    const weft_doc *d;

    WEFT_TRY(weft_doc_need(plan, "decisions", WEFT_DOC_MAP, &d));
    WEFT_TRY(weft_doc_known_keys(d, keys, 1));
    WEFT_TRY(weft_doc_need(d, "ranges", WEFT_DOC_LIST, &out->ranges));
    for (int i = 0; i < out->ranges->n; i++)
        WEFT_TRY(check_range(out->ranges->item[i]));
    return WEFT_OK;
}

weft_status weft_serve_plan_read(const char *path, weft_arena *a, weft_serve_plan_file *out)
{
    static const char *const keys[] = {"schema",    "kind",   "model",       "platform",
                                       "objective", "solver", "seed",        "decisions",
                                       "measures",  "proof",  "problem_hash"};
    const char *objective;
    const weft_doc *d;

    *out = (weft_serve_plan_file){0};
    WEFT_TRY(weft_plan_open(path, "serve", a, &d));
    out->doc = d;
    WEFT_TRY(weft_doc_known_keys(d, keys, (int)(sizeof keys / sizeof *keys)));
    WEFT_TRY(weft_plan_read_origin(d, a, &out->origin));
    if (out->origin.platform != NULL)
        return weft_doc_fail(d, "'platform' is a map, expected null: the problem has the nodes");
    WEFT_TRY(weft_doc_text(d, "objective", &objective));
    if (strcmp(objective, "flow") != 0)
        return weft_doc_fail(d, "'objective' is '%s', expected 'flow'", objective);
    WEFT_TRY(read_decisions(d, out));
    WEFT_TRY(weft_doc_need(d, "measures", WEFT_DOC_MAP, &out->measures));
    return read_proof(d, a, out);
}

weft_status weft_serve_plan_decide(const weft_serve_plan_file *f, const weft_serve_problem *p,
                                   weft_arena *a, weft_serve_plan *out)
{
    weft_map *names = weft_map_new(a);

    *out = weft_serve_plan_new(p->n_nodes, a);
    for (int i = 0; i < p->n_nodes; i++)
        weft_map_set(names, p->node_name[i], strlen(p->node_name[i]), i);
    for (int k = 0; k < f->ranges->n; k++) {
        const weft_doc *d = f->ranges->item[k];
        const char *name = weft_doc_text_or_none(d, "node");
        int i = weft_map_get(names, name, strlen(name));

        if (i < 0)
            return weft_doc_fail(d, "'node' is '%s', which is no node of the problem", name);
        if (out->end[i] > 0)
            return weft_doc_fail(d, "node '%s' has two ranges", name);
        out->start[i] = (int)weft_doc_get(d, "start")->integer;
        out->end[i] = (int)weft_doc_get(d, "end")->integer;
    }
    return WEFT_OK;
}
