/* SPDX-License-Identifier: MIT */
/* facts_serve.c: the document of a plan of serving. Values are flows: what the nodes and links pass
 * in the model of the problem, never called measured. */
#include "document.h"

#include <math.h>

typedef struct serving {
    weft_page g;
    const weft_serve_report *r;
    const weft_serve_problem *p;
    const weft_serve_solution *s;
    const weft_page_more *more;
    weft_arena *a;
} serving;

static const char UNIT[] = "tokens/s";

static const char *rate_text(const serving *t, double tokens_per_s)
{
    return weft_arena_print(t->a, "%.7g\t%s", tokens_per_s, UNIT);
}

static void add_title(serving *t)
{
    const weft_serve_problem *p = t->p;

    t->g.title = weft_arena_print(t->a, "serving %s", t->r->origin->model);
    t->g.subtitle =
        weft_arena_print(t->a, "%d layers, %d nodes of %d kind%s, %d links", p->n_layers,
                         p->n_nodes, p->n_classes, p->n_classes == 1 ? "" : "s", p->n_links);
}

/* --- facts ----------------------------------------------------------------------------------- */

static void add_proof_facts(serving *t)
{
    const weft_proof *proof = &t->s->proof;
    bool is_optimal = proof->outcome == WEFT_OPTIMAL;
    char text[32];
    const char *gap = weft_arena_print(t->a, "%s %%", weft_format_gap(proof->gap, 2, text));

    weft_page_fact(&t->g, "value", "flow", rate_text(t, proof->value),
                   is_optimal
                       ? "proved: no placement passes more in this model"
                       : weft_arena_print(t->a, "the best possible has at most %s more", gap),
                   proof->value);
    weft_page_fact(&t->g, "bound", "bound", rate_text(t, proof->bound),
                   weft_arena_print(t->a, "no placement passes more (%s)", proof->method),
                   proof->bound);
    weft_page_fact(&t->g, "gap", "gap", gap,
                   is_optimal ? "no placement is better" : "between the value and the bound",
                   proof->gap);
}

static const char *end_text(const serving *t, const weft_serve_passing *x)
{
    if (x->from == x->to)
        return weft_arena_print(t->a, "node %s", t->p->node_name[x->from]);
    return weft_arena_print(t->a, "link %s > %s", weft_serve_end_name(t->p, x->from),
                            weft_serve_end_name(t->p, x->to));
}

static void add_cut_fact(serving *t)
{
    const weft_serve_flow *f = &t->s->flow;
    const char *text = "";
    enum { MOST = 4 };

    for (int i = 0; i < f->n_cut && i < MOST; i++)
        text = weft_arena_print(t->a, "%s%s%s", text, i > 0 ? ", " : "", end_text(t, &f->cut[i]));
    if (f->n_cut > MOST)
        text = weft_arena_print(t->a, "%s and %d more", text, f->n_cut - MOST);
    weft_page_fact(&t->g, "cut", "binds", text, "a least cut: together they pass the flow, no more",
                   f->n_cut);
}

static void add_facts(serving *t)
{
    const weft_serve_flow *f = &t->s->flow;

    add_proof_facts(t);
    weft_page_fact(&t->g, "nodes", "nodes",
                   weft_arena_print(t->a, "%d of %d carry tokens", f->n_used, t->p->n_nodes), NULL,
                   f->n_used);
    weft_page_fact(&t->g, "longest_chain", "longest chain",
                   weft_arena_print(t->a, "%d nodes", f->depth),
                   "a token passes so many at most; each adds to its latency", f->depth);
    add_cut_fact(t);
}

/* --- tables ---------------------------------------------------------------------------------- */

static void add_node_table(serving *t)
{
    static const weft_column column[] = {
        {"node",         "node",       "text" },
        {"start",        "from layer", "count"},
        {"end",          "to before",  "count"},
        {"layers",       "layers",     "count"},
        {"tokens_per_s", "tokens/s",   "count"},
        {"can",          "can pass",   "count"},
        {"used",         "used",       "%"    },
    };
    weft_doc *rows = weft_page_table(
        &t->g, &(weft_table){"nodes", "Nodes", "use",
                             "Layers of each node, tokens per second of one maximum flow through "
                             "it, and what it can pass with so many layers.",
                             sizeof column / sizeof *column, column, .more = "--verbose"});

    for (int i = 0; i < t->p->n_nodes; i++) {
        int start = t->s->plan.start[i], end = t->s->plan.end[i];
        double can = start < end ? t->p->rate[i][end - start - 1] : NAN;
        weft_doc *row;

        if (start == end)
            continue;
        row = weft_page_row(&t->g, rows);
        weft_cell_text(&t->g, row, t->p->node_name[i]);
        weft_cell_int(&t->g, row, start);
        weft_cell_int(&t->g, row, end);
        weft_cell_int(&t->g, row, end - start);
        weft_cell_real(&t->g, row, t->s->flow.node[i]);
        weft_cell_real(&t->g, row, can);
        weft_cell_real(&t->g, row, t->s->flow.node[i] / can);
    }
}

static void add_passing_table(serving *t, const char *id, const char *title, const char *note,
                              const weft_serve_passing *list, int n, bool is_detail)
{
    static const weft_column column[] = {
        {"from",         "from",     "text" },
        {"to",           "to",       "text" },
        {"tokens_per_s", "tokens/s", "count"},
        {"can",          "can pass", "count"},
        {"used",         "used",     "%"    },
    };
    weft_doc *rows =
        weft_page_table(&t->g, &(weft_table){id, title, "use", note, sizeof column / sizeof *column,
                                             column, .is_detail = is_detail});

    for (int i = 0; i < n; i++) {
        weft_doc *row = weft_page_row(&t->g, rows);

        weft_cell_text(&t->g, row, weft_serve_end_name(t->p, list[i].from));
        weft_cell_text(&t->g, row, weft_serve_end_name(t->p, list[i].to));
        weft_cell_real(&t->g, row, list[i].tokens_per_s);
        weft_cell_real(&t->g, row, list[i].room);
        weft_cell_real(&t->g, row, list[i].tokens_per_s / list[i].room);
    }
}

static void add_cut_table(serving *t, const weft_serve_flow *f, bool is_detail)
{
    add_passing_table(t, "cut", "What binds",
                      "A least cut: to pass more, one of these has to pass more. From a node to "
                      "itself is the node.",
                      f->cut, f->n_cut, is_detail);
}

/* --- about ----------------------------------------------------------------------------------- */

static void add_about(serving *t)
{
    const weft_proof *proof = &t->s->proof;
    bool is_certified = proof->certified <= proof->bound * (1 + 1e-9);
    weft_doc *rows;

    weft_page_origin(&t->g, t->r->origin, t->more, &rows);
    weft_about(&t->g, rows, "objective", "flow");
    weft_about(&t->g, rows, "partial inference", t->p->is_partial ? "allowed" : "not allowed");
    rows = weft_page_about(&t->g, "Proof");
    weft_about(&t->g, rows, "status", weft_outcome_name(proof->outcome));
    weft_about(&t->g, rows, "method of the bound", proof->method);
    weft_about(&t->g, rows, "certified",
               is_certified ? "the whole bound: weft check computes it again"
                            : weft_arena_print(t->a,
                                               "%s: weft check computes it again; the rest "
                                               "was found by a search",
                                               rate_text(t, proof->certified)));
}

static void add_assumptions(serving *t)
{
    weft_page_assume(&t->g, "The value is the maximum flow of the problem: tokens of prompts and "
                            "outputs together that nodes and links pass in a steady state.");
    weft_page_assume(&t->g,
                     "The flow knows no latency, no batch and no key-value cache: a plan with "
                     "more flow may decode fewer tokens per second, as a longer chain "
                     "takes longer for each token.");
}

/* --- all ------------------------------------------------------------------------------------- */

static void add_result(serving *t, bool has_plan)
{
    weft_doc *d;

    weft_page_result(&t->g, &(weft_result_head){.command = "serve",
                                                .origin = t->r->origin,
                                                .goal = "throughput",
                                                .unit = UNIT,
                                                .proof = &t->s->proof,
                                                .is_max = true});
    d = t->g.result;
    weft_put_text(t->a, d, "method", t->s->proof.method);
    weft_put_text(t->a, d, "objective", "flow");
    weft_put_int(t->a, d, "layers", t->p->n_layers);
    weft_put_or_null(&t->g, d, "flow",
                     has_plan ? weft_serve_measures_doc(t->p, &t->s->flow, t->a) : NULL);
    weft_put_or_null(&t->g, d, "nodes", has_plan ? weft_page_rows(&t->g, "nodes") : NULL);
}

/* --- explanations ---------------------------------------------------------------------------- */

static void add_worth_table(serving *t, const weft_serve_explanation *e)
{
    static const weft_column column[] = {
        {"what",         "upgrade",    "text" },
        {"tokens_per_s", "tokens/s",   "count"},
        {"gain",         "gain",       "x"    },
        {"bound",        "at most",    "count"},
        {"most_gain",    "at most, x", "x"    },
        {"kind",         "kind",       "text" },
        {"status",       "status",     "text" },
    };
    weft_doc *rows = weft_page_table(
        &t->g,
        &(weft_table){"upgrades", "What one thing more is worth", "upgrades",
                      "The fleet with one thing better, planned anew; no plan of it passes more "
                      "than the bound says.",
                      sizeof column / sizeof *column, column, .n_shown = e->n_shown});

    for (int i = 0; i < e->n_shown; i++) {
        const weft_serve_worth *w = &e->worth[i];
        weft_doc *row = weft_page_row(&t->g, rows);

        weft_cell_text(&t->g, row, w->what);
        weft_cell_real(&t->g, row, w->value);
        weft_cell_real(&t->g, row, w->gain);
        weft_cell_real(&t->g, row, w->bound);
        weft_cell_real(&t->g, row, w->most_gain);
        weft_cell_text(&t->g, row, w->kind);
        weft_cell_text(&t->g, row, weft_outcome_name(w->outcome));
    }
}

weft_page *weft_serve_explanation_page(const weft_serve_explanation *e, weft_arena *a)
{
    static const weft_page_more brief = {.is_brief = true};
    const weft_serve_flow *f = &e->report->solution->flow;
    serving *t = WEFT_NEW(a, serving, 1);

    *t = (serving){
        .r = e->report, .p = e->report->problem, .s = e->report->solution, .more = &brief, .a = a};
    weft_page_begin(&t->g, "serve", a);
    add_title(t);
    t->g.outcome = t->s->proof.outcome;
    add_facts(t);
    add_cut_table(t, f, false);
    if (e->n_shown > 0)
        add_worth_table(t, e);
    add_result(t, false);
    weft_doc_set(a, t->g.result, "schema", weft_doc_new_text(a, "weft.explain/1"));
    weft_doc_set(a, t->g.result, "command", weft_doc_new_text(a, "explain"));
    weft_put_text(a, t->g.result, "plan", e->plan);
    weft_put_or_null(&t->g, t->g.result, "cut", weft_page_rows(&t->g, "cut"));
    weft_put_or_null(&t->g, t->g.result, "upgrades", weft_page_rows(&t->g, "upgrades"));
    return &t->g;
}

/* --- pages ----------------------------------------------------------------------------------- */

weft_page *weft_serve_facts(const void *report, const weft_page_more *more, weft_arena *a)
{
    const weft_serve_report *r = report;
    const weft_serve_flow *f = &r->solution->flow;
    bool has_plan = weft_has_plan(&r->solution->proof);
    serving *t = WEFT_NEW(a, serving, 1);

    *t = (serving){.r = r, .p = r->problem, .s = r->solution, .more = more, .a = a};
    weft_page_begin(&t->g, "serve", a);
    add_title(t);
    t->g.outcome = r->solution->proof.outcome;
    t->g.nothing = "placement that passes any tokens";
    t->g.reason = r->solution->proof.reason;
    if (has_plan) {
        add_facts(t);
        add_node_table(t);
        add_passing_table(t, "links", "Links", "Links that one maximum flow uses.", f->link,
                          f->n_links, true);
        add_cut_table(t, f, true);
    }
    add_result(t, has_plan);
    add_assumptions(t);
    weft_page_add_more(&t->g, more, &r->solution->proof);
    if (!more->is_brief)
        add_about(t);
    return &t->g;
}
