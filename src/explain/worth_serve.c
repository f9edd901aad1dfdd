/* SPDX-License-Identifier: MIT */
/* worth_serve.c: a fleet is made better in one place and planned anew. The old plan still holds there,
 * so a value is that of the better of the two, and no more than the bound. */
#include "worth_serve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "explain.h"

/* A problem that is changed. */
typedef struct edit {
    weft_serve_spec s;
    const char **name;
    int *most;
    const double **rate;
    double *link;
} edit;

typedef struct asking {
    const weft_serve_problem *p;
    const weft_serve_solution *s;
    const weft_serve_solver *solver;
    const weft_run *like;
    weft_arena *a;
    WEFT_VEC(weft_serve_worth) list;
} asking;

/* With room for one node more, which has no links yet. */
static edit begin(const weft_serve_problem *p, int n_more, weft_arena *a)
{
    int n = p->n_nodes, m = n + n_more;
    edit e = {.name = WEFT_NEW(a, const char *, m),
              .most = WEFT_NEW(a, int, m),
              .rate = WEFT_NEW(a, const double *, m),
              .link = WEFT_NEW(a, double, (m + 2) * (m + 2))};

    for (int i = 0; i < n; i++) {
        e.name[i] = p->node_name[i];
        e.most[i] = p->most[i];
        e.rate[i] = p->rate[i];
    }
    for (int i = 0; i < n + 2; i++)
        for (int j = 0; j < n + 2; j++)
            e.link[(i < n ? i : i + n_more) * (m + 2) + (j < n ? j : j + n_more)] =
                weft_serve_link(p, i, j);
    e.s = (weft_serve_spec){.name = p->name,
                            .n_layers = p->n_layers,
                            .n_nodes = m,
                            .node_name = e.name,
                            .most = e.most,
                            .rate = e.rate,
                            .link = e.link,
                            .is_partial = p->is_partial};
    return e;
}

/* --- one fleet ------------------------------------------------------------------------------- */

/* The old plan on the new fleet; a node that is new is not used. */
static weft_status keep_plan(const asking *x, const weft_serve_problem *p, weft_arena *a,
                             double *value)
{
    weft_serve_plan plan = weft_serve_plan_new(p->n_nodes, a);
    weft_serve_flow f;

    for (int i = 0; i < x->p->n_nodes; i++) {
        plan.start[i] = x->s->plan.start[i];
        plan.end[i] = x->s->plan.end[i];
    }
    WEFT_TRY(weft_serve_evaluate(p, &plan, a, &f));
    *value = f.tokens_per_s;
    return WEFT_OK;
}

static weft_status plan_anew(const asking *x, const weft_serve_problem *p, weft_arena *a,
                             weft_serve_worth *out)
{
    weft_run run = *x->like;
    weft_serve_solution s;
    weft_status status;
    double kept, before = x->s->flow.tokens_per_s;

    run.scratch = weft_arena_new();
    status = weft_serve_solve(x->solver, p, &run, a, &s);
    weft_arena_free(run.scratch);
    WEFT_TRY(status);
    WEFT_TRY(keep_plan(x, p, a, &kept));
    out->value = weft_has_plan(&s.proof) ? fmax(kept, s.proof.value) : kept;
    out->bound = fmax(s.proof.bound, out->value);
    out->outcome = out->bound <= out->value * (1 + 1e-9) ? WEFT_OPTIMAL : WEFT_BOUNDED;
    out->gain = out->value / before;
    out->most_gain = out->bound / before;
    return WEFT_OK;
}

static weft_status ask(asking *x, const edit *e, const char *kind, const char *what)
{
    weft_arena *a = weft_arena_new();
    weft_serve_worth w = {.kind = kind, .what = what};
    weft_serve_problem *p;
    weft_status status = weft_serve_problem_make(&e->s, &p);

    if (status == WEFT_OK) {
        status = plan_anew(x, p, a, &w);
        weft_serve_problem_free(p);
    }
    weft_arena_free(a);
    if (status == WEFT_OK)
        WEFT_PUSH(x->a, x->list, w);
    return status;
}

/* --- what can be better ---------------------------------------------------------------------- */

static const char *name_of(const asking *x, int class_id)
{
    int n = x->p->class_size[class_id];
    const char *first = x->p->node_name[x->p->class_node[class_id]];

    return n == 1 ? first : weft_arena_print(x->a, "%s and %d alike", first, n - 1);
}

static weft_status ask_node(asking *x, int class_id)
{
    int n = x->p->n_nodes, m = n + 1, like = x->p->class_node[class_id];
    edit e = begin(x->p, 1, x->a);
    double out = 0, in = 0;

    e.name[n] = weft_arena_print(x->a, "%s (new)", e.name[like]);
    e.most[n] = e.most[like];
    e.rate[n] = e.rate[like];
    for (int j = 0; j < m + 2; j++) {
        double to = e.link[like * (m + 2) + j], from = e.link[j * (m + 2) + like];

        if (j == like || j == n)
            continue;
        e.link[n * (m + 2) + j] = to;
        e.link[j * (m + 2) + n] = from;
        if (j < n) {
            out = fmax(out, to);
            in = fmax(in, from);
        }
    }
    e.link[n * (m + 2) + like] = in;
    e.link[like * (m + 2) + n] = out;
    return ask(x, &e, "device", weft_arena_print(x->a, "one more node like %s", e.name[like]));
}

static weft_status ask_speed(asking *x, int class_id)
{
    edit e = begin(x->p, 0, x->a);
    double *twice = WEFT_NEW(x->a, double, e.most[x->p->class_node[class_id]] + 1);

    for (int k = 0; k < e.most[x->p->class_node[class_id]]; k++)
        twice[k] = 2 * x->p->rate[x->p->class_node[class_id]][k];
    for (int i = 0; i < x->p->n_nodes; i++)
        if (x->p->class_of[i] == class_id)
            e.rate[i] = twice;
    return ask(x, &e, "speed",
               weft_arena_print(x->a, "twice the speed of %s", name_of(x, class_id)));
}

static weft_status ask_link(asking *x, int from, int to)
{
    edit e = begin(x->p, 0, x->a);

    e.link[from * (x->p->n_nodes + 2) + to] *= 2;
    return ask(x, &e, "link",
               weft_arena_print(x->a, "twice the link %s > %s", weft_serve_end_name(x->p, from),
                                weft_serve_end_name(x->p, to)));
}

static weft_status ask_all_links(asking *x)
{
    edit e = begin(x->p, 0, x->a);
    int n = x->p->n_nodes;

    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            e.link[i * (n + 2) + j] *= 2;
    return ask(x, &e, "link", "twice all links between nodes");
}

static weft_status ask_links(asking *x)
{
    const weft_serve_flow *f = &x->s->flow;
    enum { MOST = 8 };

    for (int i = 0, asked = 0; i < f->n_cut && asked < MOST; i++)
        if (f->cut[i].from != f->cut[i].to) {
            WEFT_TRY(ask_link(x, f->cut[i].from, f->cut[i].to));
            asked++;
        }
    return ask_all_links(x);
}

static int by_value(const void *a, const void *b)
{
    const weft_serve_worth *x = a, *y = b;

    if (x->value < y->value || x->value > y->value)
        return x->value > y->value ? -1 : 1;
    if (x->bound < y->bound || x->bound > y->bound)
        return x->bound > y->bound ? -1 : 1;
    return strcmp(x->what, y->what);
}

weft_status weft_serve_worths(const weft_serve_problem *p, const weft_serve_solution *s,
                              const char *solver, unsigned kinds, const weft_run *like,
                              weft_arena *a, const weft_serve_worth **out, int *n)
{
    asking x = {.p = p, .s = s, .solver = weft_serve_find(solver), .like = like, .a = a};

    if (x.solver == NULL)
        return weft_fail(WEFT_E_INPUT, "'%s' is no solver; see: weft list solvers", solver);
    for (int c = 0; c < p->n_classes; c++) {
        if ((kinds >> WEFT_UPGRADE_DEVICE & 1) && p->n_nodes < WEFT_SERVE_MOST_NODES)
            WEFT_TRY(ask_node(&x, c));
        if (kinds >> WEFT_UPGRADE_SPEED & 1)
            WEFT_TRY(ask_speed(&x, c));
    }
    if (kinds >> WEFT_UPGRADE_LINK & 1)
        WEFT_TRY(ask_links(&x));
    if (x.list.n > 0)
        qsort(x.list.at, (size_t)x.list.n, sizeof *x.list.at, by_value);
    *out = x.list.at;
    *n = x.list.n;
    return WEFT_OK;
}
