/* SPDX-License-Identifier: MIT */
/* serve_kind.c: the row of serving plans. More is better, bounds are above. The certificate of a
 * bound says which target is refuted, and by which prices. */
#include <math.h>
#include <string.h>

#include "check.h"

static const weft_serve_problem *problem_of(const weft_opened *p)
{
    return p->of_kind;
}

/* --- files and problems ---------------------------------------------------------------------- */

static weft_status read(const char *path, weft_arena *a, weft_kind_file *out)
{
    weft_serve_plan_file *f = WEFT_NEW(a, weft_serve_plan_file, 1);

    WEFT_TRY(weft_serve_plan_read(path, a, f));
    *out = (weft_kind_file){f, &f->origin, &f->proof, f->measures, f->doc};
    return WEFT_OK;
}

static const void *request(const weft_kind_file *file, const weft_named *by, weft_arena *a)
{
    const weft_serve_plan_file *f = file->of_kind;
    weft_serve_request *r = WEFT_NEW(a, weft_serve_request, 1);

    r->model = weft_model_beside(&f->origin, by, a);
    return r;
}

static weft_status open(const void *of, const char *machine, weft_arena *a, weft_opened *out)
{
    const weft_serve_request *r = of;
    weft_serve_problem *p = NULL;
    const weft_doc *d;

    if (machine == NULL) {
        WEFT_TRY(weft_serve_problem_read(r->model, &p));
    } else {
        WEFT_TRY(weft_doc_parse(machine, strlen(machine), r->model, a, &d));
        WEFT_TRY(weft_serve_problem_of_doc(d, &p));
    }
    *out = (weft_opened){.of_kind = p, .model_hash = p->hash, .problem_hash = p->hash};
    return WEFT_OK;
}

static void close(void *p)
{
    weft_serve_problem_free(p);
}

static weft_status machine(const void *of, weft_arena *a, const weft_doc **out)
{
    return weft_doc_read(((const weft_serve_request *)of)->model, a, out);
}

static const char *value_name(const weft_opened *p)
{
    (void)p;
    return "tokens/s";
}

static const char *const *names(const weft_opened *p, weft_arena *a, int *n)
{
    (void)a;
    *n = problem_of(p)->n_nodes;
    return problem_of(p)->node_name;
}

/* --- searches -------------------------------------------------------------------------------- */

static bool solver(int i, weft_solver_entry *out)
{
    if (i >= weft_serve_count())
        return false;
    *out = (weft_solver_entry){weft_serve_at(i)->name, weft_serve_at(i)->summary};
    return true;
}

static weft_status solve(const weft_opened *p, const char *name, weft_run *run,
                         const weft_proof *bound, weft_arena *a, void *solution)
{
    (void)bound;
    return weft_serve_solve(weft_serve_find(name), problem_of(p), run, a, solution);
}

static weft_proof *proof(void *solution)
{
    return &((weft_serve_solution *)solution)->proof;
}

/* --- checks ---------------------------------------------------------------------------------- */

/* A problem of serving has no options of networks. */
static void check_file(weft_wrongs *w, weft_check_result *out)
{
    const weft_plan_origin *o = out->file.origin;

    if (o->format != NULL)
        weft_wrong(w, "model.format is '%s', expected null", o->format);
    if (o->options.batch != 0)
        weft_wrong(w, "model.batch is %lld, expected 0", (long long)o->options.batch);
    if (o->options.n_dims > 0)
        weft_wrong(w, "model.dims has '%s', expected none", o->options.dim[0].name);
    if (o->options.dtype != WEFT_TYPE_UNKNOWN)
        weft_wrong(w, "model.dtype is '%s', expected null", weft_dtype_name(o->options.dtype));
    if (o->options.train)
        weft_wrong(w, "model.train is true, expected false");
    if (o->options.has_software)
        weft_wrong(w, "model.software is '%s', expected none",
                   weft_software_name(o->options.software));
}

static bool decide(const weft_kind_file *f, const weft_opened *p, weft_wrongs *w, void *solution)
{
    const weft_serve_plan_file *file = f->of_kind;
    weft_serve_solution *s = solution;

    s->certificate = file->certificate;
    if (weft_serve_plan_decide(file, problem_of(p), w->a, &s->plan) == WEFT_OK)
        return true;
    weft_wrong(w, "%s", weft_line_of_file(f->doc, w->a));
    return false;
}

static int violations(const weft_opened *p, const void *solution, weft_violation *list, int most,
                      weft_arena *a)
{
    return weft_serve_plan_check(problem_of(p), &((const weft_serve_solution *)solution)->plan,
                                 list, most, a);
}

static weft_status evaluate(const weft_opened *p, void *solution, weft_arena *a)
{
    weft_serve_solution *s = solution;
    weft_violation violation;

    if (weft_serve_plan_check(problem_of(p), &s->plan, &violation, 1, a) != 0)
        return weft_fail(WEFT_E_INPUT, "a plan that is not legal has no value");
    return weft_serve_evaluate(problem_of(p), &s->plan, a, &s->flow);
}

static void refuse(const weft_opened *p, const void *solution, weft_wrongs *w)
{
    (void)p;
    if (!(((const weft_serve_solution *)solution)->flow.tokens_per_s > 0))
        weft_wrong(w, "no tokens pass from the source to the sink");
}

static double value(const weft_opened *p, const void *solution)
{
    (void)p;
    return ((const weft_serve_solution *)solution)->flow.tokens_per_s;
}

static weft_doc *measures(const weft_opened *p, const void *solution, weft_arena *a)
{
    return weft_serve_measures_doc(problem_of(p), &((const weft_serve_solution *)solution)->flow,
                                   a);
}

static void floor_of(const weft_opened *p, weft_arena *a, weft_proof *out)
{
    double cut = weft_serve_cut_bound(problem_of(p), a);

    *out = (weft_proof){.outcome = WEFT_UNKNOWN,
                        .bound = cut,
                        .certified = cut,
                        .method = weft_serve_method_name(WEFT_SERVE_CUT)};
}

/* The flows of solvers are taken by algorithms that round otherwise. */
static void certify(weft_wrongs *w, weft_check_result *out, weft_finding *f)
{
    const weft_serve_solution *s = out->solution;
    const weft_serve_certificate *c = &s->certificate;
    const weft_serve_solver *by = weft_serve_find(f->solver);
    const char *method = out->file.proof->method;

    f->proved = INFINITY;
    if (weft_serve_refuted(problem_of(&out->problem), c))
        f->proved = c->target;
    else
        weft_wrong(w,
                   "proof.certificate: that no plan passes %.12g tokens per second does not follow "
                   "from its prices (%s)",
                   c->target, weft_serve_method_name((int)c->method));
    f->method = weft_serve_method_name((int)c->method);
    f->is_search = by != NULL && by->is_search && method != NULL &&
                   strcmp(method, weft_serve_method_name(WEFT_SERVE_ENUMERATION)) == 0;
}

static weft_status explain(const weft_check_result *v, const weft_explain_request *r, weft_arena *a,
                           weft_page **out)
{
    weft_serve_report report = {problem_of(&v->problem), v->solution, v->file.origin};
    weft_serve_explanation e = {.plan = r->plan, .report = &report};

    WEFT_TRY(weft_serve_worths(report.problem, report.solution, r->solver, r->kinds, r->run, a,
                               &e.worth, &e.n));
    e.n_shown = r->n_shown > 0 && r->n_shown < e.n ? r->n_shown : e.n;
    *out = weft_serve_explanation_page(&e, a);
    return WEFT_OK;
}

static void side(const weft_check_result *v, weft_side *out)
{
    out->samples = NAN;
    out->problem_hash = v->problem.problem_hash;
    weft_serve_side(problem_of(&v->problem), v->solution, out);
}

/* --- reports --------------------------------------------------------------------------------- */

static weft_status report_begin(const weft_opened *p, const weft_plan_origin *o,
                                const weft_run *run, weft_arena *a, void *report, weft_proof *bound)
{
    (void)run, (void)a;
    *(weft_serve_report *)report = (weft_serve_report){.problem = problem_of(p), .origin = o};
    bound->method = NULL; /* the search makes its own */
    return WEFT_OK;
}

static weft_status report_end(const weft_opened *p, const void *solution, const weft_run *run,
                              weft_arena *a, void *report)
{
    (void)p, (void)run, (void)a;
    ((weft_serve_report *)report)->solution = solution;
    return WEFT_OK;
}

static weft_doc *write(const weft_opened *p, const void *solution, const weft_plan_origin *o,
                       weft_arena *a)
{
    const weft_serve_solution *s = solution;

    return weft_serve_plan_doc(problem_of(p), &s->plan, &s->proof, &s->certificate, o,
                               measures(p, s, a), a);
}

static int beside(const void *report, weft_claim *list)
{
    (void)report, (void)list;
    return 0;
}

const weft_kind weft_kind_serve = {
    .name = "serve",
    .command = "serve",
    .item = "node",
    .legal = "legal, and worth what it claims",
    .is_max = true,
    .limit = "50s",
    .steps = 1000000,
    .solution_size = sizeof(weft_serve_solution),
    .read = read,
    .request = request,
    .open = open,
    .close = close,
    .machine = machine,
    .value_name = value_name,
    .names = names,
    .solver = solver,
    .solve = solve,
    .proof = proof,
    .decide = decide,
    .check_file = check_file,
    .violations = violations,
    .evaluate = evaluate,
    .refuse = refuse,
    .value = value,
    .measures = measures,
    .floor = floor_of,
    .certify = certify,
    .explain = explain,
    .side = side,
    .report_size = sizeof(weft_serve_report),
    .report_begin = report_begin,
    .report_end = report_end,
    .facts = weft_serve_facts,
    .command_line = weft_remake_serve,
    .write = write,
    .beside = beside,
};
