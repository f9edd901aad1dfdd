/* SPDX-License-Identifier: MIT */
/* train_kind.c: the row of training plans. The certificate of a bound is its name. A search speaks
 * of the plans of its space: a plan outside of it can claim no such bound. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "train_files.h"

static const char BESIDE[] = "equal"; /* the solver that a plan is set beside */

static const weft_train_problem *problem_of(const weft_opened *p)
{
    return ((const weft_train_case *)p->of_kind)->training;
}

/* --- files and problems ---------------------------------------------------------------------- */

static weft_status read(const char *path, weft_arena *a, weft_kind_file *out)
{
    weft_train_plan_file *f = WEFT_NEW(a, weft_train_plan_file, 1);

    WEFT_TRY(weft_train_plan_read(path, a, f));
    *out = (weft_kind_file){f, &f->origin, &f->proof, f->measures, f->doc};
    if (f->origin.platform == NULL)
        return weft_doc_fail(f->doc, "'platform' is null, expected a map");
    return WEFT_OK;
}

static const void *request(const weft_kind_file *file, const weft_named *by, weft_arena *a)
{
    const weft_train_plan_file *f = file->of_kind;
    weft_train_request *r = WEFT_NEW(a, weft_train_request, 1);

    *r = (weft_train_request){
        .model = weft_model_beside(&f->origin, by, a),
        .platform = weft_platform_beside(&f->origin, by, a),
        .options = f->origin.options,
        .constraints = f->constraints,
    };
    return r;
}

static weft_status open(const void *of, const char *machine, weft_arena *a, weft_opened *out)
{
    weft_train_request r = *(const weft_train_request *)of;
    weft_train_case *c = WEFT_NEW(a, weft_train_case, 1);

    if (machine != NULL)
        r.machine = machine;
    WEFT_TRY(weft_train_case_open(&r, c));
    *out = (weft_opened){.of_kind = c,
                         .platform = c->platform,
                         .model_hash = c->model_hash,
                         .platform_hash = c->platform_hash,
                         .problem_hash = c->training->hash};
    return WEFT_OK;
}

static void close(void *c)
{
    weft_train_case_close(c);
}

static weft_status machine(const void *of, weft_arena *a, const weft_doc **out)
{
    return weft_platform_read(((const weft_train_request *)of)->platform, a, out);
}

static const char *value_name(const weft_opened *p)
{
    (void)p;
    return "a step";
}

static const char *const *names(const weft_opened *p, weft_arena *a, int *n)
{
    (void)a;
    *n = problem_of(p)->blocks.n_blocks;
    return problem_of(p)->blocks.name;
}

/* With one sample, or with the batch that it has (train_problem.c). */
static weft_status open_training(const weft_plan_origin *o, const char *source, weft_model **out)
{
    weft_model_options options = o->options;

    options.train = true;
    options.batch = 1;
    if (weft_model_open(source, &options, out) == WEFT_OK)
        return WEFT_OK;
    options.batch = 0;
    return weft_model_open(source, &options, out);
}

/* Blocks are cut out of a graph that the problem does not keep: it is opened and cut once more,
 * which gives the same blocks. Backward nodes are not in the file of the model. */
static weft_status nodes(const weft_check_result *v, const char *source, weft_arena *a,
                         weft_case_nodes *out)
{
    int n_expected = problem_of(&v->problem)->blocks.n_blocks, *part;
    weft_blocks blocks;

    WEFT_TRY(open_training(v->file.origin, source, &out->model));
    out->graph = out->model->graph;
    out->part = part = WEFT_NEW(a, int, out->graph->n_nodes);
    WEFT_TRY(weft_blocks_of(out->graph, NULL, a, &blocks));
    if (blocks.n_blocks != n_expected)
        return weft_fail(WEFT_E_INTERNAL, "the network is cut into %d units, before into %d",
                         blocks.n_blocks, n_expected);
    for (int u = 0; u < out->graph->n_nodes; u++)
        part[u] = out->graph->node[u].phase == WEFT_FORWARD ? blocks.of_node[u] : -1;
    return WEFT_OK;
}

/* --- searches -------------------------------------------------------------------------------- */

static bool solver(int i, weft_solver_entry *out)
{
    if (i >= weft_train_count())
        return false;
    *out = (weft_solver_entry){weft_train_at(i)->name, weft_train_at(i)->summary};
    return true;
}

static weft_status solve(const weft_opened *p, const char *name, weft_run *run,
                         const weft_proof *bound, weft_arena *a, void *solution)
{
    (void)bound;
    return weft_train_solve(weft_train_find(name), problem_of(p), run, a, solution);
}

static weft_proof *proof(void *solution)
{
    return &((weft_train_solution *)solution)->proof;
}

/* --- checks ---------------------------------------------------------------------------------- */

/* The batch of a step is asked for elsewhere, and a step of training is what a plan is of. */
static void check_file(weft_wrongs *w, weft_check_result *out)
{
    const weft_model_options *o = &out->file.origin->options;

    out->has_space = true;
    if (o->batch != 0)
        weft_wrong(w, "model.batch is %lld, expected 0", (long long)o->batch);
    if (!o->train)
        weft_wrong(w, "model.train is false, expected true");
}

static bool decide(const weft_kind_file *f, const weft_opened *p, weft_wrongs *w, void *solution)
{
    weft_train_solution *s = solution;

    if (weft_train_plan_decide(f->of_kind, problem_of(p), w->a, &s->plan) == WEFT_OK)
        return true;
    weft_wrong(w, "%s", weft_line_of_file(f->doc, w->a));
    return false;
}

static int violations(const weft_opened *p, const void *solution, weft_violation *list, int most,
                      weft_arena *a)
{
    return weft_train_plan_check(problem_of(p), &((const weft_train_solution *)solution)->plan,
                                 list, most, a);
}

static weft_status evaluate(const weft_opened *p, void *solution, weft_arena *a)
{
    weft_train_solution *s = solution;

    return weft_train_plan_evaluate(problem_of(p), &s->plan, a, &s->measures);
}

static void refuse(const weft_opened *p, const void *solution, weft_wrongs *w)
{
    const weft_train_measures *m = &((const weft_train_solution *)solution)->measures;
    int i = m->over_stage;

    (void)p;
    if (i >= 0)
        weft_wrong(w, "a device of stage %d holds %.12g bytes at its peak, it has %.12g", i,
                   m->stage_peak_bytes[i], m->stage_room_bytes[i]);
}

static double value(const weft_opened *p, const void *solution)
{
    (void)p;
    return ((const weft_train_solution *)solution)->measures.step_s;
}

static weft_doc *measures(const weft_opened *p, const void *solution, weft_arena *a)
{
    const weft_train_solution *s = solution;

    return weft_train_measures_doc(problem_of(p), &s->plan, &s->measures, a);
}

static void check_space(weft_wrongs *w, weft_check_result *out)
{
    const weft_train_solution *s = out->solution;
    const char *method = out->file.proof->method;

    out->outside = weft_train_outside(problem_of(&out->problem), &s->plan, w->a);
    if (out->outside == NULL)
        return;
    out->note =
        weft_arena_print(w->a, "outside of the space that searches cover: %s", out->outside);
    if (weft_train_method_is_search(method))
        weft_wrong(w, "proof.method is '%s', but the plan is none of those that were searched: %s",
                   method, out->outside);
}

static void floor_of(const weft_opened *p, weft_arena *a, weft_proof *out)
{
    weft_train_bound_parts parts;

    weft_train_bound(problem_of(p), a, out, &parts);
}

static void certify(weft_wrongs *w, weft_check_result *out, weft_finding *f)
{
    const weft_train_problem *p = problem_of(&out->problem);
    const weft_train_solver *by = weft_train_find(f->solver);
    weft_train_bound_parts parts;
    weft_proof bound;

    if (w->n == 0)
        check_space(w, out);
    weft_train_bound(p, w->a, &bound, &parts);
    weft_check_again(w, out->file.proof, &bound,
                     by != NULL && by->search != NULL ? by->search(p) : NULL, f);
}

/* --- explanations ---------------------------------------------------------------------------- */

static void why(const weft_opened *p, const void *solution, weft_arena *a, weft_why *out)
{
    weft_train_why(problem_of(p), solution, a, out);
}

static void side(const weft_check_result *v, weft_side *out)
{
    out->samples = (double)problem_of(&v->problem)->constraints.batch;
    weft_train_side(problem_of(&v->problem), v->solution, out);
}

/* --- reports --------------------------------------------------------------------------------- */

static weft_status report_begin(const weft_opened *p, const weft_plan_origin *o,
                                const weft_run *run, weft_arena *a, void *report, weft_proof *bound)
{
    (void)run, (void)a;
    *(weft_train_report *)report = (weft_train_report){.problem = problem_of(p), .origin = o};
    bound->method = NULL; /* the search makes its own */
    return WEFT_OK;
}

/* What only the search that found the plan knows is not known of a file: the bound of pipelines,
 * and how much was tried. */
static void forget_search(const weft_train_problem *p, weft_train_solution *s, weft_arena *a)
{
    weft_proof bound;

    weft_train_bound(p, a, &bound, &s->log.floor);
    s->log.floor.pipeline_s = NAN;
    s->log.n_stages_tried = s->log.n_plans_tried = -1;
}

/* The plan for equal devices says something only where devices differ, and only if it has its time:
 * what is left of the limit, but a quarter of it at least. NULL: there is none. */
static weft_status set_beside(const weft_train_report *r, const weft_run *like, weft_arena *a,
                              const weft_train_solution **out)
{
    const weft_train_solver *equal = weft_train_find(BESIDE);
    weft_train_solution *s = WEFT_NEW(a, weft_train_solution, 1);
    weft_run run = *like;
    weft_status status;

    *out = NULL;
    if (r->problem->cluster->n_classes < 2 || equal == NULL ||
        strcmp(r->origin->solver, BESIDE) == 0 || (run.stop != NULL && *run.stop))
        return WEFT_OK;
    run.limit_s = fmax(run.limit_s - r->solution->seconds, run.limit_s / 4);
    run.scratch = weft_arena_new();
    status = weft_train_solve(equal, r->problem, &run, a, s);
    weft_arena_free(run.scratch);
    if (run.stop == NULL || !*run.stop)
        *out = s;
    return status;
}

/* Where there is proved to be no plan, equal devices have none either. */
static weft_status check_none(const weft_train_report *r, const weft_train_solution *equal)
{
    const weft_claim claim[2] = {weft_claim_of(r->origin->solver, &r->solution->proof),
                                 weft_claim_of(BESIDE, &equal->proof)};

    return weft_cross_check(&(weft_contest){.n = 2, .claim = claim});
}

static weft_status report_end(const weft_opened *p, const void *solution, const weft_run *run,
                              weft_arena *a, void *report)
{
    weft_train_report *r = report;
    weft_train_solution *s = weft_arena_copy(a, solution, sizeof *s);
    const weft_train_solution *equal = NULL;

    r->solution = s;
    if (run == NULL)
        forget_search(problem_of(p), s, a);
    else if (weft_has_plan(&s->proof))
        return set_beside(r, run, a, &r->equal);
    else if (s->proof.outcome == WEFT_INFEASIBLE)
        WEFT_TRY(set_beside(r, run, a, &equal));
    return equal != NULL ? check_none(r, equal) : WEFT_OK;
}

/* --- commands -------------------------------------------------------------------------------- */

static weft_doc *write(const weft_opened *p, const void *solution, const weft_plan_origin *o,
                       weft_arena *a)
{
    const weft_train_solution *s = solution;

    return weft_train_plan_doc(problem_of(p), &s->plan, &s->proof, o, measures(p, s, a), a);
}

/* Layers of a transformer: one begins where attention makes scores of all places. */
static weft_status translate(const weft_check_result *v, const char *source, const char *format,
                             weft_arena *a, const char **text)
{
    const weft_train_problem *p = problem_of(&v->problem);
    const weft_train_solution *s = v->solution;
    weft_train_deployment d = {
        .problem = weft_train_variant(p, &s->plan), .plan = &s->plan, .origin = v->file.origin};
    int *n_layers = WEFT_NEW(a, int, p->blocks.n_blocks);
    weft_case_nodes of;

    WEFT_TRY(weft_case_nodes_open(v, source, a, &of));
    for (int u = 0; u < of.graph->n_nodes; u++)
        if (of.part[u] >= 0 && strcmp(of.graph->node[u].op, "Softmax") == 0 &&
            of.graph->tensor[of.graph->res[of.graph->res_at[u]]].shape->rank == 4)
            n_layers[of.part[u]]++;
    weft_case_nodes_close(&of);
    d.n_layers = n_layers;
    return weft_train_deploy(format, &d, a, text);
}

static int beside(const void *report, weft_claim *list)
{
    const weft_train_report *r = report;

    if (r->equal == NULL)
        return 0;
    list[0] = weft_claim_of(BESIDE, &r->equal->proof);
    return 1;
}

const weft_kind weft_kind_train = {
    .name = "train",
    .command = "train",
    .item = "unit",
    .legal = "legal, and worth what it claims",
    .limit = "10s",
    .steps = 100000,
    .solution_size = sizeof(weft_train_solution),
    .read = read,
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
    .check_file = check_file,
    .floor = floor_of,
    .certify = certify,
    .why = why,
    .sensitivity = weft_machine_sensitivity,
    .side = side,
    .report_size = sizeof(weft_train_report),
    .report_begin = report_begin,
    .report_end = report_end,
    .facts = weft_train_facts,
    .command_line = weft_remake_train,
    .write = write,
    .translate = translate,
    .beside = beside,
};
