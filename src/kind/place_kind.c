/* SPDX-License-Identifier: MIT */
/* place_kind.c: the row of placed networks. A certificate of a bound is a path, prices of devices,
 * a refuted limit, or the name of a bound that is computed again. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "choices.h"
#include "plan_head.h"

static const weft_problem *problem_of(const weft_opened *p)
{
    return ((const weft_case *)p->of_kind)->problem;
}

/* --- files and problems ---------------------------------------------------------------------- */

static weft_status take(const weft_doc *d, weft_arena *a, weft_kind_file *out)
{
    weft_plan_file *f = WEFT_NEW(a, weft_plan_file, 1);

    WEFT_TRY(weft_plan_take(d, a, f));
    *out = (weft_kind_file){f, &f->origin, &f->proof, f->measures, f->doc};
    return WEFT_OK;
}

static weft_status read(const char *path, weft_arena *a, weft_kind_file *out)
{
    const weft_doc *d;

    WEFT_TRY(weft_plan_open(path, "place", a, &d));
    return take(d, a, out);
}

static const void *request(const weft_kind_file *file, const weft_named *by, weft_arena *a)
{
    const weft_plan_file *f = file->of_kind;
    weft_request *r = WEFT_NEW(a, weft_request, 1);

    *r = (weft_request){.model = weft_model_beside(&f->origin, by, a),
                        .platform = weft_platform_beside(&f->origin, by, a),
                        .format = f->origin.format,
                        .options = f->origin.options,
                        .constraints = f->constraints};
    return r;
}

static weft_status open(const void *of, const char *machine, weft_arena *a, weft_opened *out)
{
    weft_request r = *(const weft_request *)of;
    weft_case *c = WEFT_NEW(a, weft_case, 1);

    if (machine != NULL)
        r.machine = machine;
    WEFT_TRY(weft_case_open(&r, c));
    *out = (weft_opened){.of_kind = c,
                         .graph = c->model && !c->whole ? c->model->graph : NULL,
                         .platform = c->platform,
                         .model_hash = c->model_hash,
                         .platform_hash = c->platform_hash,
                         .problem_hash = c->problem->hash};
    return WEFT_OK;
}

static void close(void *c)
{
    weft_case_close(c);
}

static weft_status machine(const void *of, weft_arena *a, const weft_doc **out)
{
    const weft_request *r = of;

    if (r->platform != NULL && *r->platform)
        return weft_platform_read(r->platform, a, out);
    if (r->format != NULL && strcmp(r->format, "msr") == 0)
        return weft_fail(WEFT_E_INPUT,
                         "%s is of the format %s, whose machines are not edited: upgrades are for "
                         "platforms and for files of tasks; --upgrades none leaves them out",
                         r->model, r->format);
    return weft_tasks_read(r, a, out);
}

static const char *value_name(const weft_opened *p)
{
    return problem_of(p)->constraints.goal == WEFT_LATENCY ? "latency" : "per item";
}

static const char *const *names(const weft_opened *p, weft_arena *a, int *n)
{
    (void)a;
    *n = problem_of(p)->n_tasks;
    return problem_of(p)->task_name;
}

/* Tasks are the nodes themselves. */
static weft_status nodes(const weft_check_result *v, const char *source, weft_arena *a,
                         weft_case_nodes *out)
{
    int *part;

    (void)source;
    if (((const weft_case *)v->problem.of_kind)->whole != NULL)
        return weft_fail(WEFT_E_INPUT, "the plan cuts the batch in shares: a node of the network "
                                       "is in several of them");
    if (v->problem.graph == NULL)
        return weft_fail(WEFT_E_INPUT, "this is no plan of a network: there are no nodes to "
                                       "annotate");
    out->graph = v->problem.graph;
    out->part = part = WEFT_NEW(a, int, out->graph->n_nodes);
    for (int u = 0; u < out->graph->n_nodes; u++)
        part[u] = u;
    return WEFT_OK;
}

/* --- searches -------------------------------------------------------------------------------- */

static bool solver(int i, weft_solver_entry *out)
{
    if (i >= weft_place_count())
        return false;
    *out = (weft_solver_entry){weft_place_at(i)->name, weft_place_at(i)->summary};
    return true;
}

static weft_status solve(const weft_opened *p, const char *name, weft_run *run,
                         const weft_proof *bound, weft_arena *a, void *solution)
{
    weft_proof found;

    if (bound == NULL)
        weft_place_bound(problem_of(p), a, &found);
    return weft_solve(weft_place_find(name), problem_of(p), NULL, run, bound ? bound : &found, a,
                      solution);
}

static weft_proof *proof(void *solution)
{
    return &((weft_solution *)solution)->proof;
}

/* --- decisions ------------------------------------------------------------------------------- */

static weft_map *index_names(const char *const *name, int n, weft_arena *a)
{
    weft_map *m = weft_map_new(a);

    weft_map_reserve(m, n);
    for (int i = 0; i < n; i++)
        weft_map_set(m, name[i], strlen(name[i]), i);
    return m;
}

/* The task of each entry of the file; -1: none. */
static const int *tasks_of(const weft_plan_file *f, const weft_problem *p, weft_arena *a)
{
    weft_map *tasks = index_names(p->task_name, p->n_tasks, a);
    int *task_of = WEFT_NEW(a, int, f->n_tasks + 1);

    for (int i = 0; i < f->n_tasks; i++)
        task_of[i] = weft_map_get(tasks, f->task[i], strlen(f->task[i]));
    return task_of;
}

typedef struct deciding {
    const weft_plan_file *file;
    const weft_problem *p;
    const weft_map *devices; /* by name */
    const int *task_of;
    weft_wrongs *w;
} deciding;

/* -1: none. */
static int device_called(const deciding *k, const char *name)
{
    int d = weft_map_get(k->devices, name, strlen(name));

    for (int e = 0; e < k->p->n_devices && d < 0; e++)
        if (weft_is_copy_name(k->p->device_name[e], name))
            return e;
    return d;
}

/* Decisions of one variant. */
static void read_variant(const deciding *k, int variant, weft_plan *plan)
{
    const weft_plan_file *f = k->file;
    size_t first = (size_t)variant * (size_t)plan->n_tasks;

    for (int i = 0; i < f->n_tasks; i++) {
        size_t from = (size_t)variant * (size_t)f->n_tasks + (size_t)i;
        int d = device_called(k, f->device[from]), u = k->task_of[i];

        if (u >= 0 && d < 0)
            weft_wrong(k->w, "task '%s' is on '%s', which is no device", f->task[i],
                       f->device[from]);
        if (u < 0 || d < 0)
            continue;
        plan->device[first + (size_t)u] = d;
        plan->start_s[first + (size_t)u] = f->start_s[from];
    }
}

static bool decide(const weft_kind_file *file, const weft_opened *opened, weft_wrongs *w,
                   void *solution)
{
    const weft_plan_file *f = file->of_kind;
    const weft_problem *p = problem_of(opened);
    const int *task_of = tasks_of(f, p, w->a);
    deciding k = {f, p, index_names(p->device_name, p->n_devices, w->a), task_of, w};
    bool *is_decided = WEFT_NEW(w->a, bool, p->n_tasks + 1);
    weft_plan plan = weft_plan_new_variants(p->n_tasks, f->n_variants, w->a);
    int before = w->n;

    for (int i = 0; i < f->n_tasks; i++)
        if (task_of[i] < 0)
            weft_wrong(w, "task '%s' is not in the model", f->task[i]);
        else
            is_decided[task_of[i]] = true;
    for (int i = 0; i < f->n_variants; i++) {
        plan.share[i] = f->share[i];
        read_variant(&k, i, &plan);
    }
    for (int u = 0; u < p->n_tasks; u++)
        if (!is_decided[u] && w->n == before)
            weft_wrong(w, "task '%s' is not in the plan", p->task_name[u]);
    ((weft_solution *)solution)->plan = plan;
    return w->n == before;
}

/* --- legality and value ---------------------------------------------------------------------- */

static int violations(const weft_opened *p, const void *solution, weft_violation *list, int most,
                      weft_arena *a)
{
    return weft_plan_check(problem_of(p), &((const weft_solution *)solution)->plan, list, most, a);
}

static weft_status evaluate(const weft_opened *p, void *solution, weft_arena *a)
{
    weft_solution *s = solution;

    return weft_evaluate(problem_of(p), &s->plan, a, &s->measures);
}

static void refuse(const weft_opened *opened, const void *solution, weft_wrongs *w)
{
    const weft_problem *p = problem_of(opened);
    const weft_measures *m = &((const weft_solution *)solution)->measures;
    int d = m->over_device;

    if (d >= 0)
        weft_wrong(w, "device '%s' holds %.12g bytes at its peak, it has %.12g", p->device_name[d],
                   m->peak_bytes[d], p->capacity[d]);
    if (!weft_constraints_allow(&p->constraints, m->makespan_s, m->period_s))
        weft_wrong(w,
                   "the simulator finds a latency of %.12g s and a period of %.12g s, which the "
                   "limits do not allow",
                   m->makespan_s, m->period_s);
}

static double value(const weft_opened *p, const void *solution)
{
    return weft_goal_value(problem_of(p), &((const weft_solution *)solution)->measures);
}

static weft_doc *measures(const weft_opened *p, const void *solution, weft_arena *a)
{
    return weft_measures_doc(problem_of(p), &((const weft_solution *)solution)->measures, a);
}

static void starts(const void *solution, weft_starts *out)
{
    const weft_solution *s = solution;

    *out = (weft_starts){s->plan.n_tasks * s->plan.n_variants, s->plan.start_s,
                         s->measures.makespan_s};
}

static void floor_of(const weft_opened *p, weft_arena *a, weft_proof *out)
{
    weft_place_bound(problem_of(p), a, out);
}

static void check_file(weft_wrongs *w, weft_check_result *out)
{
    const weft_plan_file *f = out->file.of_kind;
    const weft_problem *p = problem_of(&out->problem);

    if (f->transfer != p->transfer)
        weft_wrong(w, "the plan is for transfers that %s, the platform's %s",
                   weft_transfer_name(f->transfer), weft_transfer_name(p->transfer));
    if (f->constraints.is_calls != p->constraints.is_calls &&
        weft_doc_get(f->doc, "semantics") != NULL) /* files of before it was written */
        weft_wrong(w, "semantics is '%s', expected '%s'",
                   f->constraints.is_calls ? "calls" : "platform",
                   p->constraints.is_calls ? "calls" : "platform");
}

/* --- the proof ------------------------------------------------------------------------------- */

/* What a certificate proves; *method: what it is called. */
typedef double (*certificate)(const weft_plan_file *f, const weft_problem *p, weft_wrongs *w,
                              const char **method);

static double path_bound(const weft_plan_file *f, const weft_problem *p, weft_wrongs *w,
                         const char **method)
{
    const int *task_of = tasks_of(f, p, w->a);
    int n = f->proof.n_path, *path = WEFT_NEW(w->a, int, n);

    for (int i = 0; i < n; i++)
        path[i] = task_of[f->proof.path[i]];
    *method = p->transfer == WEFT_CALLS ? "calls path" : "path";
    if (p->constraints.goal != WEFT_LATENCY)
        return 0;
    return p->transfer == WEFT_CALLS ? weft_calls_path_bound_of(p, path, n)
                                     : weft_path_bound_of(p, path, n);
}

static double price_bound(const weft_plan_file *f, const weft_problem *p, weft_wrongs *w,
                          const char **method)
{
    *method = "load";
    if (f->n_prices == p->n_devices)
        return weft_load_bound_of(p, f->proof.price);
    weft_wrong(w, "proof.prices has %d entries, expected one for each of %d devices", f->n_prices,
               p->n_devices);
    return 0;
}

/* A limit that propagation must refute again; 0 if it does not. */
static double refuted_bound(const weft_plan_file *f, const weft_problem *p, weft_wrongs *w,
                            const char **method)
{
    const weft_proof *claimed = &f->proof;

    *method = claimed->is_shaved ? "shaving" : "propagation";
    if (weft_refuted_again(p, claimed->refuted_s, claimed->is_shaved))
        return claimed->refuted_s;
    weft_wrong(w, "proof.refuted is claimed for %.12g s, %s does not find it", claimed->refuted_s,
               claimed->is_shaved ? "propagation with shaving" : "propagation");
    return 0;
}

static double named_bound(const weft_plan_file *f, const weft_problem *p, weft_wrongs *w,
                          const char **method)
{
    (void)w;
    *method = f->proof.again;
    return weft_bound_again(p, *method);
}

/* Times that are whole multiples of a number make bounds so: the number is found again. */
static double rounded_bound(const weft_plan_file *f, const weft_problem *p, weft_wrongs *w,
                            double bound)
{
    double claimed_s = f->proof.grain_s, grain_s = claimed_s > 0 ? weft_problem_grain_s(p) : 0;

    if (claimed_s > 0 && !(fabs(claimed_s - grain_s) <= WEFT_NEAR * claimed_s)) {
        weft_wrong(w, "proof.grain is claimed to be %.12g s, the times of the problem %s %.12g s",
                   claimed_s, grain_s > 0 ? "are multiples of" : "have none:", grain_s);
        return bound;
    }
    return weft_grain_up(grain_s, bound);
}

/* What the certificate of the file proves, and its method. An infinite bound says that there is no
 * plan: here is one. */
static double certified_bound(const weft_plan_file *f, const weft_problem *p, weft_wrongs *w,
                              const char **method)
{
    const certificate known[] = {path_bound, price_bound, refuted_bound, named_bound};
    const bool has[] = {f->proof.n_path > 0, f->n_prices > 0, f->proof.refuted_s > 0,
                        f->proof.again != NULL};
    weft_proof cheap;
    double bound = 0;
    int n = 0;

    weft_place_bound(p, w->a, &cheap);
    *method = cheap.method; /* of nothing, if that is all there is to prove */
    for (int i = 0; i < 4; i++) {
        if (!has[i])
            continue;
        bound = known[i](f, p, w, method);
        n++;
    }
    if (n > 1)
        weft_wrong(w,
                   "proof has %d certificates, expected one of path, prices, refuted and again: "
                   "the one that proves most",
                   n);
    return isfinite(bound) ? rounded_bound(f, p, w, bound) : 0;
}

/* What is proved of all that the plan could choose: the file has no other certificate. */
static double chosen_bound(weft_wrongs *w, const weft_check_result *out, const char **method)
{
    const weft_proof *claimed = &((const weft_plan_file *)out->file.of_kind)->proof;
    double bound = 0;

    *method = WEFT_CHOICES;
    if (claimed->again == NULL || strcmp(claimed->again, WEFT_CHOICES) != 0 ||
        claimed->n_path > 0 || claimed->price != NULL || claimed->refuted_s > 0)
        weft_wrong(w, "proof.again is '%s', expected '%s' and no other certificate",
                   claimed->again ? claimed->again : "null", WEFT_CHOICES);
    if (!weft_choices_have(out->request, out->problem.platform, w->a))
        weft_wrong(w, "model.batch and model.shares are none of the choices that the limits name");
    if (weft_choices_bound(out->request, out->problem.platform, w->a, &bound) != WEFT_OK)
        weft_wrong(w, "%s", weft_message());
    return bound;
}

static void certify(weft_wrongs *w, weft_check_result *out, weft_finding *f)
{
    const weft_problem *p = problem_of(&out->problem);
    const weft_solver *by = weft_place_find(f->solver);

    if (weft_choices_matter(&p->constraints))
        f->proved = chosen_bound(w, out, &f->method);
    else
        f->proved = certified_bound(out->file.of_kind, p, w, &f->method);
    f->is_search = by != NULL && weft_solver_searches(by, p, out->file.proof->method);
}

/* --- explanations ---------------------------------------------------------------------------- */

static void why(const weft_opened *p, const void *solution, weft_arena *a, weft_why *out)
{
    weft_place_why(problem_of(p), solution, a, out);
}

static weft_status sensitivity(const weft_check_result *v, const char *name,
                               const weft_sensitivity_options *o, weft_arena *a,
                               weft_sensitivity *out)
{
    weft_sensitivity_options options = *o;

    options.solver = weft_place_find(name);
    if (options.solver == NULL)
        return weft_fail(WEFT_E_INPUT, "'%s' is no solver; see: weft list solvers", name);
    return weft_place_sensitivity(problem_of(&v->problem),
                                  &((const weft_solution *)v->solution)->plan, &options, a, out);
}

static void side(const weft_check_result *v, weft_side *out)
{
    out->samples = weft_samples_of(v->file.origin, out->a);
    weft_place_side(problem_of(&v->problem), v->solution, out);
}

/* --- reports --------------------------------------------------------------------------------- */

static weft_status report_begin(const weft_opened *p, const weft_plan_origin *o,
                                const weft_run *run, weft_arena *a, void *report, weft_proof *bound)
{
    static const double SHARE = 0.5; /* of the limit, for what an answer is set beside */
    weft_report *r = report;
    weft_run half = run ? *run : (weft_run){0};
    const weft_case *c = p->of_kind; /* of shares: beside the batch in one piece */
    const weft_problem *whole = c->whole ? c->whole : c->problem;
    weft_reference usual;
    weft_proof reach;

    half.limit_s *= SHARE;
    weft_place_bound(problem_of(p), a, bound);
    weft_place_bound(whole, a, &reach);
    WEFT_TRY(weft_place_reference(whole, &reach, run ? &half : NULL, a, &usual));
    *r = (weft_report){.problem = problem_of(p),
                       .whole = whole,
                       .platform = p->platform,
                       .origin = o,
                       .best_single_s = usual.single_s,
                       .best_single = usual.single,
                       .heft_s = usual.heft_s,
                       .replicas_s = usual.replicas_s,
                       .n_replicas = usual.n_replicas,
                       .samples = o && o->model ? weft_samples_of(o, a) : NAN};
    return WEFT_OK;
}

static weft_status report_end(const weft_opened *p, const void *solution, const weft_run *run,
                              weft_arena *a, void *report)
{
    (void)p, (void)run, (void)a;
    ((weft_report *)report)->solution = solution;
    return WEFT_OK;
}

static void dot(const void *report, FILE *to)
{
    weft_report_dot(report, to);
}

/* --- commands -------------------------------------------------------------------------------- */

static const char *unfit(const weft_opened *opened, const char *name, weft_arena *a)
{
    const weft_problem *p = problem_of(opened);

    if (weft_solver_applies(weft_place_find(name), p))
        return NULL;
    return weft_arena_print(a, "goal %s, transfers %s", weft_goal_name(p->constraints.goal),
                            weft_transfer_name(p->transfer));
}

static weft_doc *write(const weft_opened *p, const void *solution, const weft_plan_origin *o,
                       weft_arena *a)
{
    const weft_solution *s = solution;

    return weft_plan_doc(problem_of(p), &s->plan, &s->proof, o, measures(p, s, a), a);
}

/* Baselines are plans without limits: do they answer the problem all the same? */
static bool is_same_question(const weft_problem *p, double seconds)
{
    const weft_constraints *c = &p->constraints;

    if (c->is_contiguous || c->most_period_s > 0 || weft_segments_matter(c))
        return false;
    return !(c->most_latency_s > 0) || (c->goal == WEFT_LATENCY && seconds <= c->most_latency_s);
}

static int beside(const void *report, weft_claim *list)
{
    const weft_report *r = report;
    int n = 0;

    if (r->whole != r->problem && !r->problem->constraints.splits_batch)
        return 0; /* these shares and no others were asked for */
    if (is_same_question(r->problem, r->best_single_s))
        list[n++] = weft_claim_plan("single", r->best_single_s, 0);
    if (is_same_question(r->problem, r->heft_s))
        list[n++] = weft_claim_plan("heft", r->heft_s, 0);
    if (r->problem->constraints.is_mixed && is_same_question(r->problem, r->replicas_s))
        list[n++] = weft_claim_plan("replicas", r->replicas_s, 0);
    return n;
}

/* --- deployment ------------------------------------------------------------------------------ */

/* Nodes run where their tasks do. */
static weft_status deploy(const weft_check_result *v, weft_arena *a, weft_deployment *out)
{
    const weft_solution *s = v->solution;
    const weft_case *c = v->problem.of_kind;
    weft_case_nodes of;
    double *start_s;
    int *device;

    if (s->plan.n_variants > 1)
        return weft_fail(WEFT_E_INPUT, "the plan sends items different ways, each with devices of "
                                       "its own: plan with --no-mix to split the network");
    if (c->model == NULL)
        return weft_fail(WEFT_E_INPUT, "this is a plan of tasks, not of a network: there is "
                                       "nothing to split");
    if (c->whole != NULL)
        return weft_fail(WEFT_E_INPUT, "the plan cuts the batch in shares, each with a copy of the "
                                       "network: plan each share with its own --batch to split it");
    WEFT_TRY(nodes(v, c->model->source, a, &of));
    device = WEFT_NEW(a, int, of.graph->n_nodes);
    start_s = WEFT_NEW(a, double, of.graph->n_nodes);
    for (int u = 0; u < of.graph->n_nodes; u++) {
        device[u] = s->plan.device[of.part[u]];
        start_s[u] = s->plan.start_s[of.part[u]];
    }
    *out = (weft_deployment){.source = c->model->source,
                             .options = &((const weft_request *)v->request)->options,
                             .graph = of.graph,
                             .platform = c->platform,
                             .problem = c->problem,
                             .task = of.part,
                             .device = device,
                             .start_s = start_s,
                             .latency_s = s->measures.makespan_s,
                             .period_s = s->measures.period_s,
                             .model_hash = c->model_hash,
                             .problem_hash = c->problem->hash,
                             .plan = v->file.doc};
    return WEFT_OK;
}

const weft_kind weft_kind_place = {
    .name = "place",
    .command = "place",
    .item = "task",
    .legal = "legal, and worth what it claims",
    .limit = "10s",
    .steps = 20000,
    .solution_size = sizeof(weft_solution),
    .read = read,
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
    .floor = floor_of,
    .starts = starts,
    .check_file = check_file,
    .certify = certify,
    .why = why,
    .sensitivity = sensitivity,
    .side = side,
    .report_size = sizeof(weft_report),
    .report_begin = report_begin,
    .report_end = report_end,
    .facts = weft_place_facts,
    .dot = dot,
    .command_line = weft_remake_place,
    .unfit = unfit,
    .write = write,
    .beside = beside,
    .deploy = deploy,
};
