/* SPDX-License-Identifier: MIT */
/* mine_kind.c: the rows of designs, for one device and for the devices of a pipeline. Is a design
 * within its limits, and is it worth what its file claims?
 *
 * 1. Template and networks have the hashes the design was made with.
 * 2. Every design in the file is one of the template, within the limits; the stages of a pipeline
 *    follow one another, and each fits the memory of its devices.
 * 3. Area, power, steps, throughput and the metric are computed again: of the design, of the
 *    reference and of every design of the front, by schedules; of a pipeline by events. The file is
 *    written once more with these, and every entry must be found again, to 1e-9 relative.
 * 4. No design of the front beats another one of it; the front accounts for the winner and for the
 *    reference, if that is within the limits: both were tried. None of these is worth more than
 *    the bound, or than the winner, unless that was searched for inference and is used for
 *    training.
 * 5. The bound is not below the value, and `optimal` is claimed where the two are the same. What is
 *    certified without a search is the bound of the whole template as one box (of a pipeline that
 *    of its work on the best design for each part). A bound below that must come from a solver
 *    that proves one, and is not repeated: `weft mine` with the options of the file does it.
 * 6. The hash of the file is that of all it says.
 *
 * Not computed again: that the search was asked for these limits, how many designs it looked at,
 * whether the front has all designs, what changed constants would change, and one common design
 * beside those of stages. Of these the order of numbers is checked, and the hash; they are listed
 * in the verdict. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "check.h"

static const double EXACT = 2e-9; /* gap of what is optimal */
static const double SAME = 5e-10; /* gap of what is not said to be less than optimal */
static const double STAYS = 0.99; /* of the best: a winner with less flips */

typedef struct verifier {
    weft_wrongs *w;
    weft_arena *a;
    const weft_design_file *file;
    weft_check_result *out;
} verifier;

/* --- opening --------------------------------------------------------------------------------- */

static const char *limit_text(double x, const char *unit, weft_arena *a)
{
    return x < INFINITY ? weft_arena_print(a, "%.17g%s", x, unit) : NULL;
}

static weft_status read(const char *path, weft_arena *a, weft_kind_file *out)
{
    weft_design_file *f = WEFT_NEW(a, weft_design_file, 1);
    weft_plan_origin *o = WEFT_NEW(a, weft_plan_origin, 1);
    weft_proof *proof = WEFT_NEW(a, weft_proof, 1);

    WEFT_TRY(weft_design_read(path, a, f));
    o->model = "";
    for (int i = 0; i < f->n_networks; i++)
        o->model = weft_arena_print(a, "%s%s%s", o->model, i == 0 ? "" : ", ", f->network[i].model);
    o->platform = f->template_;
    o->solver = f->is_design_pipeline ? "auto" : f->solver;
    o->seed = f->is_design_pipeline ? 1 : f->seed;
    *proof = (weft_proof){.outcome = f->outcome, .value = f->value, .bound = f->bound};
    *out = (weft_kind_file){.of_kind = f, .origin = o, .proof = proof, .doc = f->doc};
    return WEFT_OK;
}

static const void *request(const weft_kind_file *file, const weft_named *by, weft_arena *a)
{
    const weft_design_file *f = file->of_kind;
    weft_mine_network *list = WEFT_NEW(a, weft_mine_network, f->n_networks);
    weft_mine_request *r = WEFT_NEW(a, weft_mine_request, 1);
    const char *path = by->plan_path;

    if (by->model != NULL && f->n_networks > 1) {
        (void)weft_fail(WEFT_E_INPUT, "%s: one model is given, and the design is for %d networks",
                        path, f->n_networks);
        return NULL;
    }
    for (int i = 0; i < f->n_networks; i++)
        list[i] =
            (weft_mine_network){by->model ? by->model : weft_beside(path, f->network[i].model, a),
                                f->network[i].batch, f->network[i].weight};
    *r = (weft_mine_request){
        .n_networks = f->n_networks,
        .network = list,
        .options = f->options,
        .template_ = by->platform ? by->platform : weft_beside(path, f->template_, a),
        .area = limit_text(f->limits.area_mm2, "mm2", a),
        .power = limit_text(f->limits.tdp_w, "W", a),
        .memory = limit_text(f->memory_bytes, "B", a),
        .metric = f->metric,
        .blend = f->blend,
        .least_throughput = f->least_throughput,
        .n_threads = 1,
        .design_pipeline = f->is_design_pipeline ? &f->design_pipeline : NULL,
        .is_per_stage = f->is_per_stage,
    };
    return r;
}

static weft_status open_device(const void *of, const char *machine, weft_arena *a, weft_opened *out)
{
    weft_mine_case *c = WEFT_NEW(a, weft_mine_case, 1);

    (void)machine;
    WEFT_TRY(weft_mine_case_open(of, c));
    *out = (weft_opened){.of_kind = c, .graph = c->trained[0]->graph};
    return WEFT_OK;
}

static void close_device(void *c)
{
    weft_mine_case_close(c);
}

static weft_status open_pipeline(const void *of, const char *machine, weft_arena *a,
                                 weft_opened *out)
{
    weft_design_pipeline_case *c = WEFT_NEW(a, weft_design_pipeline_case, 1);

    (void)machine;
    WEFT_TRY(weft_design_pipeline_case_open(of, c));
    *out = (weft_opened){.of_kind = c};
    return WEFT_OK;
}

static void close_pipeline(void *c)
{
    weft_design_pipeline_case_close(c);
}

static const char *device_unit(const weft_opened *p)
{
    return weft_mine_unit(&((const weft_mine_case *)p->of_kind)->objective);
}

static const char *pipeline_unit(const weft_opened *p)
{
    return weft_design_pipeline_unit(&((const weft_design_pipeline_case *)p->of_kind)->objective);
}

static bool solver(int i, weft_solver_entry *out)
{
    if (i >= weft_miner_count())
        return false;
    *out = (weft_solver_entry){weft_miner_at(i)->name, weft_miner_at(i)->summary};
    return true;
}

static void check_template(verifier *v, const weft_template *t)
{
    weft_check_hash(v->w, weft_arena_print(v->a, "template '%s'", v->file->template_), t->hash,
                    v->file->template_hash);
}

static void check_network(verifier *v, int i, uint64_t hash)
{
    weft_check_hash(v->w, weft_arena_print(v->a, "network '%s'", v->file->network[i].model), hash,
                    v->file->network[i].hash);
}

/* The file against what it should be, entry by entry. */
static void compare_files(verifier *v, const weft_doc *found)
{
    const weft_doc *claimed = v->file->doc;

    for (int i = 0; i < found->n; i++) {
        const weft_doc *other = weft_doc_get(claimed, found->key[i]);

        if (strcmp(found->key[i], "hash") == 0) /* of numbers to the last bit */
            continue;
        if (other == NULL)
            weft_wrong(v->w, "%s is missing", found->key[i]);
        else
            weft_compare(v->w, found->key[i], other, found->item[i]);
    }
    for (int i = 0; i < claimed->n; i++)
        if (weft_doc_get(found, claimed->key[i]) == NULL)
            weft_wrong(v->w, "%s is claimed, but nothing like it is known", claimed->key[i]);
}

/* --- the proof ------------------------------------------------------------------------------- */

/* The others say what the whole template allows, and no more. */
static bool is_proving(const char *solver)
{
    static const char *const proving[] = {"auto",       "fast",  "certified",
                                          "exhaustive", "boxes", "front"};

    for (size_t i = 0; i < sizeof proving / sizeof *proving; i++)
        if (strcmp(solver, proving[i]) == 0)
            return true;
    return false;
}

static void check_bound(verifier *v, double value, double top, const char *solver)
{
    double bound = v->file->bound;

    v->out->certified = top;
    v->out->is_bound_checked = bound >= top * (1 - WEFT_NEAR);
    if (bound < value * (1 - WEFT_NEAR))
        weft_wrong(v->w, "bound is %.12g, below the value %.12g", bound, value);
    if (!v->out->is_bound_checked && !is_proving(solver))
        weft_wrong(v->w,
                   "bound is claimed to be %.12g, the whole template allows %.12g "
                   "and the solver '%s' proves nothing",
                   bound, top, solver);
    if (v->file->outcome != WEFT_OPTIMAL && bound <= value * (1 + SAME) &&
        strcmp(solver, "inference") != 0)
        weft_wrong(v->w, "status is 'bounded', expected 'optimal': the bound is the value");
    if (v->file->outcome == WEFT_OPTIMAL && !(bound <= value * (1 + EXACT)))
        weft_wrong(v->w,
                   "status is 'optimal', expected 'bounded': the bound "
                   "%.12g is above the value %.12g",
                   bound, value);
}

/* --- one device ------------------------------------------------------------------------------ */

static bool is_feasible(const weft_template *t, const weft_limits *l, const weft_design_point *p)
{
    return weft_design_point_area_mm2(t, p) <= l->area_mm2 &&
           weft_design_point_tdp_w(t, p) <= l->tdp_w;
}

static bool is_within(verifier *v, const weft_objective *q, const char *what,
                      const weft_design_point *p)
{
    const weft_template *t = q->template_;
    double area_mm2 = weft_design_point_area_mm2(t, p), tdp_w = weft_design_point_tdp_w(t, p);

    if (area_mm2 > q->limits.area_mm2)
        weft_wrong(v->w, "%s takes %.12g mm2, the limit is %.12g mm2", what, area_mm2,
                   q->limits.area_mm2);
    if (tdp_w > q->limits.tdp_w)
        weft_wrong(v->w, "%s takes %.12g W, the limit is %.12g W", what, tdp_w, q->limits.tdp_w);
    return is_feasible(t, &q->limits, p);
}

/* Figures of all networks on the winner; the objective gets the times of the reference. */
static const weft_mine_figure *measure(verifier *v, const weft_mine_case *c, weft_objective *q,
                                       weft_found *f)
{
    int n = q->n_workloads;
    weft_mine_figure *list = WEFT_NEW(v->a, weft_mine_figure, n);
    double *step_s = WEFT_NEW(v->a, double, n), *reference_s = WEFT_NEW(v->a, double, n);

    for (int i = 0; i < n; i++) {
        weft_workload_eval *m = q->workload[i].eval[0];

        list[i] = (weft_mine_figure){.macs = c->need[i].macs,
                                     .memory_bytes = c->need[i].memory_bytes,
                                     .fits = c->need[i].fits,
                                     .reference_s = weft_eval_step_s(m, &q->reference),
                                     .step_s = weft_eval_step_s(m, &f->point),
                                     .schedule_s = weft_eval_headtail_s(m, &f->point)};
        step_s[i] = list[i].step_s;
        reference_s[i] = list[i].reference_s;
    }
    q->reference_s = reference_s;
    f->throughput = weft_objective_throughput(q, step_s);
    f->value = weft_objective_value(q, 0, &f->point);
    return list;
}

static weft_mined mined(verifier *v, const weft_objective *q, const weft_design_point *p)
{
    double *step_s = WEFT_NEW(v->a, double, q->n_workloads);

    for (int k = 0; k < q->n_workloads; k++)
        step_s[k] = weft_eval_step_s(q->workload[k].eval[0], p);
    return (weft_mined){*p, weft_objective_throughput(q, step_s),
                        weft_design_point_tdp_w(q->template_, p),
                        weft_design_point_area_mm2(q->template_, p)};
}

/* A search has tried this design. */
static void check_tried(verifier *v, const weft_objective *q, const weft_found *f, const char *what,
                        const weft_design_point *p)
{
    bool is_best = strcmp(v->file->solver, "inference") != 0; /* it reports what is best there */
    double value = weft_objective_value(q, 0, p);

    if (is_best && value > f->value * (1 + WEFT_NEAR))
        weft_wrong(v->w, "%s is worth more than the design", what);
    if (value > v->file->bound * (1 + WEFT_NEAR))
        weft_wrong(v->w, "%s is worth %.12g, above the bound %.12g", what, value, v->file->bound);
}

static void measure_front(verifier *v, const weft_objective *q, weft_found *f)
{
    weft_mined *front = WEFT_NEW(v->a, weft_mined, f->n_front + 1);

    for (int i = 0; i < f->n_front; i++) {
        const char *name = weft_arena_print(v->a, "front[%d]", i);

        front[i] = mined(v, q, &f->front[i].point);
        (void)is_within(v, q, name, &front[i].point);
        check_tried(v, q, f, name, &front[i].point);
    }
    f->front = front;
}

/* Some member of the front is as good as this design, which was tried. */
static void check_covered(verifier *v, const weft_objective *q, const weft_found *f,
                          const char *what, const weft_design_point *p)
{
    weft_mined m = mined(v, q, p);

    for (int i = 0; i < f->n_front; i++)
        if (f->front[i].throughput * (1 + WEFT_NEAR) >= m.throughput &&
            f->front[i].tdp_w <= m.tdp_w && f->front[i].area_mm2 <= m.area_mm2)
            return;
    weft_wrong(v->w, "the front lacks %s: nothing on it is as good", what);
}

/* Designs are listed by falling throughput: one is beaten by an earlier one or by none. */
static void check_front(verifier *v, const weft_found *f)
{
    const weft_mined *x = f->front;

    for (int i = 1; i < f->n_front; i++) {
        int by = 0;

        if (x[i].throughput > x[i - 1].throughput)
            weft_wrong(v->w,
                       "front[%d] has more throughput than the one "
                       "before it",
                       i);
        while (by < i && (x[by].tdp_w > x[i].tdp_w || x[by].area_mm2 > x[i].area_mm2))
            by++;
        if (by < i)
            weft_wrong(v->w, "front[%d] is beaten by front[%d]", i, by);
    }
}

static void check_search(verifier *v, const weft_objective *q, const weft_found *f)
{
    const char *solver = v->file->solver;

    if (weft_miner_find(solver) == NULL)
        weft_wrong(v->w, "asked.solver is '%s', which is none", solver);
    if (f->is_front_proved && strcmp(solver, "front") != 0 && strcmp(solver, "exhaustive") != 0)
        weft_wrong(v->w, "is_front_proved: the solver '%s' proves no front", solver);
    if (f->n_feasible != 0 && f->n_feasible != weft_objective_feasible(q))
        weft_wrong(v->w, "search.feasible is %lld, recomputed %lld", (long long)f->n_feasible,
                   (long long)weft_objective_feasible(q));
    if (f->schedule_bound < v->file->bound * (1 - WEFT_NEAR))
        weft_wrong(v->w, "search.schedule_bound is below the bound of the policy");
}

static void check_shifts(verifier *v, const weft_design_sensitivity *s)
{
    for (int i = 0; i < s->n_shifts; i++) {
        const weft_shift *x = &s->shift[i];
        bool is_flip = !(x->winner_value > 0) || x->winner_value < STAYS * x->best_value;

        if (x->winner_value > x->best_value * (1 + WEFT_NEAR))
            weft_wrong(v->w,
                       "sensitivity.shifts[%d]: the design has %.12g, more "
                       "than the best, %.12g",
                       i, x->winner_value, x->best_value);
        if (x->is_flip != is_flip)
            weft_wrong(v->w, "sensitivity.shifts[%d].flips is wrong", i);
    }
}

/* The objective with names as the file has them. */
static weft_objective *objective_of(verifier *v, const weft_mine_case *c)
{
    weft_objective *q = WEFT_NEW(v->a, weft_objective, 1);
    weft_workload *list = WEFT_NEW(v->a, weft_workload, c->objective.n_workloads);

    *q = c->objective;
    for (int i = 0; i < q->n_workloads; i++) {
        list[i] = c->objective.workload[i];
        list[i].name = v->file->network[i].model;
        check_network(v, i, list[i].hash);
    }
    q->workload = list;
    c->template_->source = v->file->template_;
    check_template(v, q->template_);
    return q;
}

static void judge_device(verifier *v, const weft_mine_case *c)
{
    const weft_design_file *file = v->file;
    weft_objective *q = objective_of(v, c);
    weft_found *f = WEFT_NEW(v->a, weft_found, 1);
    weft_design_sensitivity *s = WEFT_NEW(v->a, weft_design_sensitivity, 1);
    weft_mine_report *r = v->out->solution;
    bool has_more;

    if (weft_design_decide(file, q->template_, v->a, f, s, &has_more) != WEFT_OK) {
        weft_wrong(v->w, "%s", weft_line_of_file(file->doc, v->a));
        return;
    }
    *r = (weft_mine_report){.objective = q,
                            .found = f,
                            .figure = measure(v, c, q, f),
                            .solver = file->solver,
                            .dtype = file->dtype,
                            .optimizer = file->optimizer,
                            .options = &file->options,
                            .seed = file->seed,
                            .evaluations = file->evaluations,
                            .sensitivity = has_more ? s : NULL};
    if (!is_within(v, q, "the design", &f->point))
        return;
    if (!(f->value > 0)) {
        weft_wrong(v->w, "the throughput, %.12g, is below the least one", f->throughput);
        return;
    }
    measure_front(v, q, f);
    check_front(v, f);
    check_covered(v, q, f, "the design", &f->point);
    if (is_feasible(q->template_, &q->limits, &q->reference)) {
        check_tried(v, q, f, "the reference", &q->reference);
        check_covered(v, q, f, "the reference", &q->reference);
    }
    check_search(v, q, f);
    check_shifts(v, s);
    compare_files(v, weft_mine_design_doc(r, v->a));
    check_bound(v, f->value, weft_objective_top(q), file->solver);
    if (!weft_mine_report_fits(r))
        v->out->note = "not all networks fit the memory of one device: see \"fits\" in the file";
    v->out->has_solution = true;
}

/* --- pipelines ------------------------------------------------------------------------------- */

static void check_plans(verifier *v, const weft_design_pipeline_found *f)
{
    for (int i = 0; i < v->file->n_networks; i++)
        if (f->plan[i].bound_s > f->plan[i].step_s * (1 + WEFT_NEAR))
            weft_wrong(v->w,
                       "networks[%d].bound_s is %.12g, above the step "
                       "%.12g",
                       i, f->plan[i].bound_s, f->plan[i].step_s);
}

/* The reference in the same pipeline is a plan of the search, if it is within the limits. */
static void check_reference(verifier *v, const weft_design_pipeline_objective *q,
                            const weft_design_pipeline_found *f)
{
    double devices = (double)q->design_pipeline.n_stages * q->design_pipeline.width *
                     q->design_pipeline.replicas;
    double value = f->reference_throughput;

    if (!is_feasible(q->template_, &q->limits, &q->reference) || q->least_throughput > 1)
        return;
    if (q->metric == WEFT_METRIC_PER_TDP)
        value /= devices * weft_design_point_tdp_w(q->template_, &q->reference);
    if (value > v->file->bound * (1 + WEFT_NEAR))
        weft_wrong(v->w,
                   "the reference is worth %.12g in the same pipeline, "
                   "above the bound %.12g",
                   value, v->file->bound);
}

static void judge_design_pipeline(verifier *v, weft_design_pipeline_case *c)
{
    const weft_design_file *file = v->file;
    weft_design_pipeline_found *f = WEFT_NEW(v->a, weft_design_pipeline_found, 1);
    weft_design_pipeline_found *common = WEFT_NEW(v->a, weft_design_pipeline_found, 1);
    weft_design_pipeline_report *r = v->out->solution;
    bool has_common;
    double top;

    c->template_->source = file->template_;
    check_template(v, c->template_);
    for (int i = 0; i < file->n_networks; i++) {
        c->net[i]->name = file->network[i].model;
        check_network(v, i, c->net[i]->hash);
    }
    if (weft_design_decide_design_pipeline(file, c->template_, v->a, f, common, &has_common) !=
        WEFT_OK) {
        weft_wrong(v->w, "%s", weft_line_of_file(file->doc, v->a));
        return;
    }
    if (weft_design_pipeline_measure(&c->objective, v->a, f, &top) != WEFT_OK) {
        weft_wrong(v->w, "%s", weft_message());
        return;
    }
    *r = (weft_design_pipeline_report){.objective = &c->objective,
                                       .found = f,
                                       .common = has_common ? common : NULL,
                                       .dtype = file->dtype,
                                       .optimizer = file->optimizer,
                                       .options = &file->options};
    compare_files(v, weft_design_pipeline_design_doc(r, v->a));
    check_plans(v, f);
    check_reference(v, &c->objective, f);
    check_bound(v, f->value, top, "auto");
    if (common->value > f->value * (1 + WEFT_NEAR))
        weft_wrong(v->w, "common.value is above the value with a design for each stage");
    v->out->has_solution = true;
}

/* --- the whole ------------------------------------------------------------------------------- */

static void check_hash(verifier *v)
{
    const weft_doc *d = weft_doc_get(v->file->doc, "hash");
    const char *now = weft_arena_print(v->a, "%016" PRIx64, weft_design_hash(v->file->doc));

    if (d == NULL || d->kind != WEFT_DOC_TEXT)
        weft_wrong(v->w, "hash is missing: nothing says that the file is as it was written");
    else if (strcmp(d->text, now) != 0)
        weft_wrong(v->w, "hash is not that of what the file says, which was changed after it was "
                         "written");
}

/* The question as such, and what only a search knows: the hash alone speaks for these. */
static void list_unchecked(const verifier *v)
{
    static const char *const asked[] = {"asked.area_mm2", "asked.tdp_w", "asked.memory_bytes",
                                        "asked.least_throughput", "search"};
    static const char *const device[] = {"asked.solver", "asked.seed", "asked.evaluations", "front",
                                         "is_front_proved"};
    static const char *const design_pipeline[] = {
        "designs", "pipeline.recompute", "pipeline.inside_bytes_per_s", "pipeline.inside_latency_s",
        "networks[].bound_s"};
    const weft_design_file *f = v->file;
    const char *more = f->is_design_pipeline ? "common" : "sensitivity";
    const weft_doc *d = weft_doc_get(f->doc, more);

    for (int i = 0; i < 5; i++)
        weft_unchecked(v->out, asked[i]);
    for (int i = 0; i < 5; i++)
        weft_unchecked(v->out, f->is_design_pipeline ? design_pipeline[i] : device[i]);
    if (d != NULL && d->kind != WEFT_DOC_NULL)
        weft_unchecked(v->out, more);
    if (f->n_networks == 1)
        weft_unchecked(v->out, "networks[].weight");
    if (f->n_networks == 1 && !f->is_design_pipeline)
        weft_unchecked(v->out, "asked.blend");
    if (!v->out->is_bound_checked) {
        weft_unchecked(v->out, "status");
        weft_unchecked(v->out, "bound");
    }
}

static void check_device(weft_wrongs *w, weft_check_result *out)
{
    verifier v = {w, w->a, out->file.of_kind, out};

    judge_device(&v, out->problem.of_kind);
    check_hash(&v);
    list_unchecked(&v);
}

static void check_pipeline(weft_wrongs *w, weft_check_result *out)
{
    verifier v = {w, w->a, out->file.of_kind, out};

    judge_design_pipeline(&v, out->problem.of_kind);
    check_hash(&v);
    list_unchecked(&v);
}

static void side_of_device(const weft_check_result *v, weft_side *out)
{
    weft_mine_side(v->solution, out);
}

static void side_of_pipeline(const weft_check_result *v, weft_side *out)
{
    weft_design_pipeline_side(v->solution, out);
}

static weft_doc *device_doc(const weft_opened *p, const void *report, const weft_plan_origin *o,
                            weft_arena *a)
{
    (void)p, (void)o;
    return weft_mine_design_doc(report, a);
}

static weft_doc *pipeline_doc(const weft_opened *p, const void *report, const weft_plan_origin *o,
                              weft_arena *a)
{
    (void)p, (void)o;
    return weft_design_pipeline_design_doc(report, a);
}

const weft_kind weft_kind_mine = {
    .name = "mine",
    .command = "mine",
    .legal = "within its limits, and worth what it claims",
    .is_max = true,
    .is_design = true,
    .limit = "60s",
    .solution_size = sizeof(weft_mine_report),
    .read = read,
    .request = request,
    .open = open_device,
    .close = close_device,
    .value_name = device_unit,
    .solver = solver,
    .check = check_device,
    .side = side_of_device,
    .facts = weft_mine_facts,
    .write = device_doc,
    .command_line = weft_remake_mine,
};

const weft_kind weft_kind_pipeline = {
    .name = "pipeline",
    .command = "mine",
    .legal = "within the limits, and worth what they claim",
    .is_max = true,
    .is_design = true,
    .limit = "60s",
    .solution_size = sizeof(weft_design_pipeline_report),
    .read = read,
    .request = request,
    .open = open_pipeline,
    .close = close_pipeline,
    .value_name = pipeline_unit,
    .check = check_pipeline,
    .side = side_of_pipeline,
    .facts = weft_design_pipeline_facts,
    .write = pipeline_doc,
    .command_line = weft_remake_pipeline,
};
