/* SPDX-License-Identifier: MIT */
/* shard_kind.c: the row of sharded networks. The certificate of a bound is its name. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "plan_head.h"

static const weft_shard_problem *problem_of(const weft_opened *p)
{
    return ((const weft_shard_case *)p->of_kind)->sharding;
}

/* --- files and problems ---------------------------------------------------------------------- */

static weft_status take(const weft_doc *d, weft_arena *a, weft_kind_file *out)
{
    weft_shard_plan_file *f = WEFT_NEW(a, weft_shard_plan_file, 1);

    WEFT_TRY(weft_shard_plan_take(d, a, f));
    *out = (weft_kind_file){f, &f->origin, &f->proof, f->measures, f->doc};
    if (f->origin.platform == NULL)
        return weft_doc_fail(f->doc, "'platform' is null, expected a map");
    return WEFT_OK;
}

static weft_status read(const char *path, weft_arena *a, weft_kind_file *out)
{
    const weft_doc *d;

    WEFT_TRY(weft_plan_open(path, "shard", a, &d));
    return take(d, a, out);
}

static const void *request(const weft_kind_file *file, const weft_named *by, weft_arena *a)
{
    const weft_shard_plan_file *f = file->of_kind;
    weft_shard_request *r = WEFT_NEW(a, weft_shard_request, 1);

    *r = (weft_shard_request){
        .model = weft_model_beside(&f->origin, by, a),
        .platform = weft_platform_beside(&f->origin, by, a),
        .options = f->origin.options,
        .semantics = f->constraints.is_concurrent ? "branches" : "sequential",
        .is_contiguous = f->constraints.is_contiguous,
        .has_no_sharing = f->constraints.has_no_sharing,
    };
    return r;
}

static weft_status open(const void *of, const char *machine, weft_arena *a, weft_opened *out)
{
    weft_shard_request r = *(const weft_shard_request *)of;
    weft_shard_case *c = WEFT_NEW(a, weft_shard_case, 1);

    if (machine != NULL)
        r.machine = machine;
    WEFT_TRY(weft_shard_case_open(&r, c));
    *out = (weft_opened){.of_kind = c,
                         .graph = c->model->graph,
                         .platform = c->platform,
                         .model_hash = c->model_hash,
                         .platform_hash = c->platform_hash,
                         .problem_hash = c->sharding->hash};
    return WEFT_OK;
}

static void close(void *c)
{
    weft_shard_case_close(c);
}

static weft_status machine(const void *of, weft_arena *a, const weft_doc **out)
{
    return weft_platform_read(((const weft_shard_request *)of)->platform, a, out);
}

static const char *value_name(const weft_opened *p)
{
    (void)p;
    return "latency";
}

static const char *const *names(const weft_opened *p, weft_arena *a, int *n)
{
    const weft_steps *steps = problem_of(p)->steps;
    const char **name = WEFT_NEW(a, const char *, steps->n + 1);

    for (int v = 0; v < steps->n; v++)
        name[v] = weft_step_name(steps, v);
    *n = steps->n;
    return name;
}

/* Steps know their nodes. */
static weft_status nodes(const weft_check_result *v, const char *source, weft_arena *a,
                         weft_case_nodes *out)
{
    const weft_steps *steps = problem_of(&v->problem)->steps;

    (void)source, (void)a;
    out->graph = steps->graph;
    out->part = steps->of_node;
    return WEFT_OK;
}

static weft_doc *ask(const weft_opened *p, weft_arena *a)
{
    return weft_shard_constraints_doc(&problem_of(p)->constraints, a);
}

/* --- searches -------------------------------------------------------------------------------- */

static bool solver(int i, weft_solver_entry *out)
{
    if (i >= weft_shard_count())
        return false;
    *out = (weft_solver_entry){weft_shard_at(i)->name, weft_shard_at(i)->summary};
    return true;
}

static weft_status solve(const weft_opened *p, const char *name, weft_run *run,
                         const weft_proof *bound, weft_arena *a, void *solution)
{
    weft_shard_options options = {.placer = weft_place_find("auto"), .floor = bound};

    return weft_shard_solve(weft_shard_find(name), problem_of(p), &options, run, a, solution);
}

static weft_proof *proof(void *solution)
{
    return &((weft_shard_solution *)solution)->proof;
}

/* --- checks ---------------------------------------------------------------------------------- */

static bool decide(const weft_kind_file *f, const weft_opened *p, weft_wrongs *w, void *solution)
{
    weft_shard_solution *s = solution;

    if (weft_shard_plan_decide(f->of_kind, problem_of(p), w->a, &s->plan) == WEFT_OK)
        return true;
    weft_wrong(w, "%s", weft_line_of_file(f->doc, w->a));
    return false;
}

static int violations(const weft_opened *p, const void *solution, weft_violation *list, int most,
                      weft_arena *a)
{
    return weft_shard_plan_check(problem_of(p), &((const weft_shard_solution *)solution)->plan,
                                 list, most, a);
}

static weft_status evaluate(const weft_opened *p, void *solution, weft_arena *a)
{
    weft_shard_solution *s = solution;

    return weft_shard_plan_evaluate(problem_of(p), &s->plan, a, &s->measures);
}

static void refuse(const weft_opened *p, const void *solution, weft_wrongs *w)
{
    const weft_shard_plan_measures *m = &((const weft_shard_solution *)solution)->measures;
    int d = m->over_device;

    if (d >= 0)
        weft_wrong(w, "device '%s' holds %.12g bytes at its peak, it has %.12g",
                   p->platform->device[d].name, m->peak_bytes[d],
                   p->platform->device[d].memory_bytes);
}

static double value(const weft_opened *p, const void *solution)
{
    (void)p;
    return ((const weft_shard_solution *)solution)->measures.latency_s;
}

static weft_doc *measures(const weft_opened *p, const void *solution, weft_arena *a)
{
    return weft_shard_plan_measures_doc(problem_of(p),
                                        &((const weft_shard_solution *)solution)->measures, a);
}

static void starts(const void *solution, weft_starts *out)
{
    const weft_shard_solution *s = solution;

    *out = (weft_starts){s->plan.n_steps, s->plan.start_s, s->measures.latency_s};
}

static void floor_of(const weft_opened *p, weft_arena *a, weft_proof *out)
{
    weft_shard_bound(problem_of(p), a, out);
}

static void certify(weft_wrongs *w, weft_check_result *out, weft_finding *f)
{
    const weft_shard_problem *p = problem_of(&out->problem);
    const weft_shard_solver *by = weft_shard_find(f->solver);
    weft_proof bound;

    weft_shard_bound(p, w->a, &bound);
    weft_check_again(w, out->file.proof, &bound,
                     by != NULL && by->search != NULL ? by->search(p) : NULL, f);
}

/* --- explanations ---------------------------------------------------------------------------- */

static void why(const weft_opened *p, const void *solution, weft_arena *a, weft_why *out)
{
    weft_shard_why(problem_of(p), solution, a, out);
}

static void side(const weft_check_result *v, weft_side *out)
{
    out->samples = weft_samples_of(v->file.origin, out->a);
    weft_shard_side(problem_of(&v->problem), v->solution, out);
}

/* --- reports --------------------------------------------------------------------------------- */

/* The plans of plain baselines, as far as these apply. */
static weft_status report_begin(const weft_opened *opened, const weft_plan_origin *o,
                                const weft_run *run, weft_arena *a, void *report, weft_proof *bound)
{
    static const char *const beside[] = {"longest-group", "longest-all"};
    const weft_shard_problem *p = problem_of(opened);
    weft_shard_options options = {.placer = weft_place_find("auto"), .floor = bound};
    weft_run no_limit = {.n_threads = 1, .limit_s = INFINITY, .scratch = weft_arena_new()};
    weft_shard_baseline *list = WEFT_NEW(a, weft_shard_baseline, 2);
    weft_shard_report *r = report;
    weft_status status = WEFT_OK;

    (void)run;
    *r = (weft_shard_report){.problem = p, .origin = o, .baseline = list};
    weft_shard_bound(p, a, bound); /* once for all */
    for (int i = 0; i < 2 && status == WEFT_OK; i++) {
        const weft_shard_solver *s = weft_shard_find(beside[i]);
        weft_shard_solution x = {.proof.outcome = WEFT_UNKNOWN};

        if (s == NULL || (s->applies != NULL && !s->applies(p)))
            continue;
        status = weft_shard_solve(s, p, &options, &no_limit, a, &x);
        list[r->n_baselines++] = (weft_shard_baseline){
            s->name, x.proof.outcome, weft_has_plan(&x.proof) ? x.proof.value : NAN};
    }
    weft_arena_free(no_limit.scratch);
    return status;
}

static weft_status report_end(const weft_opened *p, const void *solution, const weft_run *run,
                              weft_arena *a, void *report)
{
    (void)p, (void)run, (void)a;
    ((weft_shard_report *)report)->solution = solution;
    return WEFT_OK;
}

/* --- commands -------------------------------------------------------------------------------- */

static const char *unfit(const weft_opened *opened, const char *name, weft_arena *a)
{
    const weft_shard_problem *p = problem_of(opened);
    const weft_shard_solver *s = weft_shard_find(name);

    if (s->applies == NULL || s->applies(p))
        return NULL;
    return weft_arena_print(a, "platform '%s', %s", p->platform->name,
                            p->constraints.is_concurrent ? "side by side"
                                                         : "one step after the other");
}

static weft_doc *write(const weft_opened *p, const void *solution, const weft_plan_origin *o,
                       weft_arena *a)
{
    const weft_shard_solution *s = solution;

    return weft_shard_plan_doc(problem_of(p), &s->plan, &s->proof, o, measures(p, s, a), a);
}

static int beside(const void *report, weft_claim *list)
{
    const weft_shard_report *r = report;

    for (int i = 0; i < r->n_baselines; i++)
        list[i] = weft_claim_plan(r->baseline[i].solver, r->baseline[i].value_s, 0);
    return r->n_baselines;
}

const weft_kind weft_kind_shard = {
    .name = "shard",
    .command = "shard",
    .item = "step",
    .legal = "legal, and worth what it claims",
    .limit = "50s",
    .steps = 200,
    .solution_size = sizeof(weft_shard_solution),
    .read = read,
    .ask = ask,
    .take = take,
    .request = request,
    .open = open,
    .close = close,
    .machine = machine,
    .value_name = value_name,
    .names = names,
    .nodes = nodes,
    .solver = solver,
    .solve = solve,
    .proof = proof,
    .decide = decide,
    .violations = violations,
    .evaluate = evaluate,
    .refuse = refuse,
    .value = value,
    .measures = measures,
    .starts = starts,
    .floor = floor_of,
    .certify = certify,
    .why = why,
    .sensitivity = weft_machine_sensitivity,
    .side = side,
    .report_size = sizeof(weft_shard_report),
    .report_begin = report_begin,
    .report_end = report_end,
    .facts = weft_shard_facts,
    .command_line = weft_remake_shard,
    .unfit = unfit,
    .write = write,
    .beside = beside,
};
