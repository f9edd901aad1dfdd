/* SPDX-License-Identifier: MIT */
/* verify_mine.c: is a design within its limits, and is it worth what its file claims?
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

#include "verdict.h"

static const double EXACT = 2e-9; /* gap of what is optimal */
static const double SAME = 5e-10; /* gap of what is not said to be less than optimal */
static const double STAYS = 0.99; /* of the best: a winner with less flips */

typedef struct verifier {
    weft_wrongs *w;
    weft_arena *a;
    const weft_design_file *file;
    weft_verdict *out;
} verifier;

/* --- opening --------------------------------------------------------------------------------- */

static const char *limit_text(double x, const char *unit, weft_arena *a)
{
    return x < INFINITY ? weft_arena_print(a, "%.17g%s", x, unit) : NULL;
}

/* `model` and `template_` are where the file says they are not, or NULL. */
static weft_status request_of(const weft_design_file *f, const char *path, const char *model,
                              const char *template_, weft_arena *a, weft_mine_request *out)
{
    weft_mine_network *list = WEFT_NEW(a, weft_mine_network, f->n_networks);

    if (model != NULL && f->n_networks > 1)
        return weft_fail(WEFT_E_INPUT, "%s: one model is given, and the design is for %d networks",
                         path, f->n_networks);
    for (int i = 0; i < f->n_networks; i++)
        list[i] = (weft_mine_network){model ? model : weft_beside(path, f->network[i].model, a),
                                      f->network[i].batch, f->network[i].weight};
    *out = (weft_mine_request){
        .n_networks = f->n_networks,
        .network = list,
        .options = f->options,
        .template_ = template_ ? template_ : weft_beside(path, f->template_, a),
        .area = limit_text(f->limits.area_mm2, "mm2", a),
        .power = limit_text(f->limits.tdp_w, "W", a),
        .memory = limit_text(f->memory_bytes, "B", a),
        .metric = f->metric,
        .blend = f->blend,
        .least_throughput = f->least_throughput,
        .n_threads = 1,
        .fleet = f->is_fleet ? &f->fleet : NULL,
        .is_per_stage = f->is_per_stage,
    };
    return WEFT_OK;
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
            weft_wrong(v->w, weft_arena_print(v->a, "%s is missing", found->key[i]));
        else
            weft_compare(v->w, found->key[i], other, found->item[i]);
    }
    for (int i = 0; i < claimed->n; i++)
        if (weft_doc_get(found, claimed->key[i]) == NULL)
            weft_wrong(v->w, weft_arena_print(v->a, "%s is claimed, but nothing like it is known",
                                              claimed->key[i]));
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
        weft_wrong(v->w,
                   weft_arena_print(v->a, "bound is %.12g, below the value %.12g", bound, value));
    if (!v->out->is_bound_checked && !is_proving(solver))
        weft_wrong(v->w,
                   weft_arena_print(v->a,
                                    "bound is claimed to be %.12g, the whole template allows %.12g "
                                    "and the solver '%s' proves nothing",
                                    bound, top, solver));
    if (v->file->outcome != WEFT_OPTIMAL && bound <= value * (1 + SAME) &&
        strcmp(solver, "inference") != 0)
        weft_wrong(v->w, "status is 'bounded', expected 'optimal': the bound is the value");
    if (v->file->outcome == WEFT_OPTIMAL && !(bound <= value * (1 + EXACT)))
        weft_wrong(v->w, weft_arena_print(v->a,
                                          "status is 'optimal', expected 'bounded': the bound "
                                          "%.12g is above the value %.12g",
                                          bound, value));
}

/* --- one device ------------------------------------------------------------------------------ */

static bool is_feasible(const weft_template *t, const weft_limits *l, const weft_point *p)
{
    return weft_point_area_mm2(t, p) <= l->area_mm2 && weft_point_tdp_w(t, p) <= l->tdp_w;
}

static bool is_within(verifier *v, const weft_quest *q, const char *what, const weft_point *p)
{
    const weft_template *t = q->template_;
    double area_mm2 = weft_point_area_mm2(t, p), tdp_w = weft_point_tdp_w(t, p);

    if (area_mm2 > q->limits.area_mm2)
        weft_wrong(v->w, weft_arena_print(v->a, "%s takes %.12g mm2, the limit is %.12g mm2", what,
                                          area_mm2, q->limits.area_mm2));
    if (tdp_w > q->limits.tdp_w)
        weft_wrong(v->w, weft_arena_print(v->a, "%s takes %.12g W, the limit is %.12g W", what,
                                          tdp_w, q->limits.tdp_w));
    return is_feasible(t, &q->limits, p);
}

/* Figures of all networks on the winner; the quest gets the times of the reference. */
static const weft_mine_figure *measure(verifier *v, const weft_mine_case *c, weft_quest *q,
                                       weft_found *f)
{
    int n = q->n_workloads;
    weft_mine_figure *list = WEFT_NEW(v->a, weft_mine_figure, n);
    double *step_s = WEFT_NEW(v->a, double, n), *reference_s = WEFT_NEW(v->a, double, n);

    for (int i = 0; i < n; i++) {
        weft_mill *m = q->workload[i].mill[0];

        list[i] = (weft_mine_figure){.macs = c->need[i].macs,
                                     .memory_bytes = c->need[i].memory_bytes,
                                     .fits = c->need[i].fits,
                                     .reference_s = weft_mill_step_s(m, &q->reference),
                                     .step_s = weft_mill_step_s(m, &f->point),
                                     .schedule_s = weft_mill_headtail_s(m, &f->point)};
        step_s[i] = list[i].step_s;
        reference_s[i] = list[i].reference_s;
    }
    q->reference_s = reference_s;
    f->throughput = weft_quest_throughput(q, step_s);
    f->value = weft_quest_value(q, 0, &f->point);
    return list;
}

static weft_mined mined(verifier *v, const weft_quest *q, const weft_point *p)
{
    double *step_s = WEFT_NEW(v->a, double, q->n_workloads);

    for (int k = 0; k < q->n_workloads; k++)
        step_s[k] = weft_mill_step_s(q->workload[k].mill[0], p);
    return (weft_mined){*p, weft_quest_throughput(q, step_s), weft_point_tdp_w(q->template_, p),
                        weft_point_area_mm2(q->template_, p)};
}

/* A search has tried this design. */
static void check_tried(verifier *v, const weft_quest *q, const weft_found *f, const char *what,
                        const weft_point *p)
{
    bool is_best = strcmp(v->file->solver, "inference") != 0; /* it reports what is best there */
    double value = weft_quest_value(q, 0, p);

    if (is_best && value > f->value * (1 + WEFT_NEAR))
        weft_wrong(v->w, weft_arena_print(v->a, "%s is worth more than the design", what));
    if (value > v->file->bound * (1 + WEFT_NEAR))
        weft_wrong(v->w, weft_arena_print(v->a, "%s is worth %.12g, above the bound %.12g", what,
                                          value, v->file->bound));
}

static void measure_front(verifier *v, const weft_quest *q, weft_found *f)
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
static void check_covered(verifier *v, const weft_quest *q, const weft_found *f, const char *what,
                          const weft_point *p)
{
    weft_mined m = mined(v, q, p);

    for (int i = 0; i < f->n_front; i++)
        if (f->front[i].throughput * (1 + WEFT_NEAR) >= m.throughput &&
            f->front[i].tdp_w <= m.tdp_w && f->front[i].area_mm2 <= m.area_mm2)
            return;
    weft_wrong(v->w, weft_arena_print(v->a, "the front lacks %s: nothing on it is as good", what));
}

/* Designs are listed by falling throughput: one is beaten by an earlier one or by none. */
static void check_front(verifier *v, const weft_found *f)
{
    const weft_mined *x = f->front;

    for (int i = 1; i < f->n_front; i++) {
        int by = 0;

        if (x[i].throughput > x[i - 1].throughput)
            weft_wrong(v->w, weft_arena_print(v->a,
                                              "front[%d] has more throughput than the one "
                                              "before it",
                                              i));
        while (by < i && (x[by].tdp_w > x[i].tdp_w || x[by].area_mm2 > x[i].area_mm2))
            by++;
        if (by < i)
            weft_wrong(v->w, weft_arena_print(v->a, "front[%d] is beaten by front[%d]", i, by));
    }
}

static void check_search(verifier *v, const weft_quest *q, const weft_found *f)
{
    const char *solver = v->file->solver;

    if (weft_miner_find(solver) == NULL)
        weft_wrong(v->w, weft_arena_print(v->a, "asked.solver is '%s', which is none", solver));
    if (f->is_front_proved && strcmp(solver, "front") != 0 && strcmp(solver, "exhaustive") != 0)
        weft_wrong(v->w, weft_arena_print(v->a, "is_front_proved: the solver '%s' proves no front",
                                          solver));
    if (f->n_feasible != 0 && f->n_feasible != weft_quest_feasible(q))
        weft_wrong(v->w,
                   weft_arena_print(v->a, "search.feasible is %lld, recomputed %lld",
                                    (long long)f->n_feasible, (long long)weft_quest_feasible(q)));
    if (f->schedule_bound < v->file->bound * (1 - WEFT_NEAR))
        weft_wrong(v->w, "search.schedule_bound is below the bound of the policy");
}

static void check_shifts(verifier *v, const weft_sensitivity *s)
{
    for (int i = 0; i < s->n_shifts; i++) {
        const weft_shift *x = &s->shift[i];
        bool is_flip = !(x->winner_value > 0) || x->winner_value < STAYS * x->best_value;

        if (x->winner_value > x->best_value * (1 + WEFT_NEAR))
            weft_wrong(v->w, weft_arena_print(v->a,
                                              "sensitivity.shifts[%d]: the design has %.12g, more "
                                              "than the best, %.12g",
                                              i, x->winner_value, x->best_value));
        if (x->is_flip != is_flip)
            weft_wrong(v->w, weft_arena_print(v->a, "sensitivity.shifts[%d].flips is wrong", i));
    }
}

/* The quest with names as the file has them. */
static weft_quest *quest_of(verifier *v, const weft_mine_case *c)
{
    weft_quest *q = WEFT_NEW(v->a, weft_quest, 1);
    weft_workload *list = WEFT_NEW(v->a, weft_workload, c->quest.n_workloads);

    *q = c->quest;
    for (int i = 0; i < q->n_workloads; i++) {
        list[i] = c->quest.workload[i];
        list[i].name = v->file->network[i].model;
        check_network(v, i, list[i].hash);
    }
    q->workload = list;
    c->template_->source = v->file->template_;
    check_template(v, q->template_);
    return q;
}

static void judge(verifier *v, const weft_mine_case *c)
{
    const weft_design_file *file = v->file;
    weft_quest *q = quest_of(v, c);
    weft_found *f = WEFT_NEW(v->a, weft_found, 1);
    weft_sensitivity *s = WEFT_NEW(v->a, weft_sensitivity, 1);
    weft_mine_report *r = &v->out->mine;
    bool has_more;

    if (weft_design_decide(file, q->template_, v->a, f, s, &has_more) != WEFT_OK) {
        weft_wrong(v->w, weft_line_of_file(file->doc, v->a));
        return;
    }
    *r = (weft_mine_report){.quest = q,
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
        weft_wrong(v->w, weft_arena_print(v->a, "the throughput, %.12g, is below the least one",
                                          f->throughput));
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
    check_bound(v, f->value, weft_quest_top(q), file->solver);
    v->out->has_solution = true;
}

/* --- pipelines ------------------------------------------------------------------------------- */

static void check_plans(verifier *v, const weft_fleet_found *f)
{
    for (int i = 0; i < v->file->n_networks; i++)
        if (f->plan[i].bound_s > f->plan[i].step_s * (1 + WEFT_NEAR))
            weft_wrong(v->w, weft_arena_print(v->a,
                                              "networks[%d].bound_s is %.12g, above the step "
                                              "%.12g",
                                              i, f->plan[i].bound_s, f->plan[i].step_s));
}

/* The reference in the same pipeline is a plan of the search, if it is within the limits. */
static void check_reference(verifier *v, const weft_fleet_quest *q, const weft_fleet_found *f)
{
    double devices = (double)q->fleet.n_stages * q->fleet.width * q->fleet.replicas;
    double value = f->reference_throughput;

    if (!is_feasible(q->template_, &q->limits, &q->reference) || q->least_throughput > 1)
        return;
    if (q->metric == WEFT_METRIC_PER_TDP)
        value /= devices * weft_point_tdp_w(q->template_, &q->reference);
    if (value > v->file->bound * (1 + WEFT_NEAR))
        weft_wrong(v->w, weft_arena_print(v->a,
                                          "the reference is worth %.12g in the same pipeline, "
                                          "above the bound %.12g",
                                          value, v->file->bound));
}

static void judge_fleet(verifier *v, weft_fleet_case *c)
{
    const weft_design_file *file = v->file;
    weft_fleet_found *f = WEFT_NEW(v->a, weft_fleet_found, 1);
    weft_fleet_found *common = WEFT_NEW(v->a, weft_fleet_found, 1);
    weft_fleet_report *r = &v->out->fleet;
    bool has_common;
    double top;

    c->template_->source = file->template_;
    check_template(v, c->template_);
    for (int i = 0; i < file->n_networks; i++) {
        c->net[i]->name = file->network[i].model;
        check_network(v, i, c->net[i]->hash);
    }
    if (weft_design_decide_fleet(file, c->template_, v->a, f, common, &has_common) != WEFT_OK) {
        weft_wrong(v->w, weft_line_of_file(file->doc, v->a));
        return;
    }
    if (weft_fleet_measure(&c->quest, v->a, f, &top) != WEFT_OK) {
        weft_wrong(v->w, weft_arena_print(v->a, "%s", weft_message()));
        return;
    }
    *r = (weft_fleet_report){.quest = &c->quest,
                             .found = f,
                             .common = has_common ? common : NULL,
                             .dtype = file->dtype,
                             .optimizer = file->optimizer,
                             .options = &file->options};
    compare_files(v, weft_fleet_design_doc(r, v->a));
    check_plans(v, f);
    check_reference(v, &c->quest, f);
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
    static const char *const fleet[] = {"designs", "fleet.recompute", "fleet.inside_bytes_per_s",
                                        "fleet.inside_latency_s", "networks[].bound_s"};
    const weft_design_file *f = v->file;
    const char *more = f->is_fleet ? "common" : "sensitivity";
    const weft_doc *d = weft_doc_get(f->doc, more);

    for (int i = 0; i < 5; i++)
        weft_unchecked(v->out, asked[i]);
    for (int i = 0; i < 5; i++)
        weft_unchecked(v->out, f->is_fleet ? fleet[i] : device[i]);
    if (d != NULL && d->kind != WEFT_DOC_NULL)
        weft_unchecked(v->out, more);
    if (f->n_networks == 1)
        weft_unchecked(v->out, "networks[].weight");
    if (f->n_networks == 1 && !f->is_fleet)
        weft_unchecked(v->out, "asked.blend");
    if (!v->out->is_bound_checked) {
        weft_unchecked(v->out, "status");
        weft_unchecked(v->out, "bound");
    }
}

weft_status weft_verify_mine(const char *plan_path, const char *model, const char *template_,
                             weft_wrongs *w, weft_case *c, weft_verdict *out)
{
    weft_design_file *file = WEFT_NEW(w->a, weft_design_file, 1);
    verifier v = {w, w->a, file, out};
    weft_mine_request r;

    WEFT_TRY(weft_design_read(plan_path, w->a, file));
    WEFT_TRY(request_of(file, plan_path, model, template_, w->a, &r));
    out->is_fleet = file->is_fleet;
    out->is_mine = !file->is_fleet;
    if (file->is_fleet) {
        WEFT_TRY(weft_fleet_case_open(&r, &c->fleet));
        judge_fleet(&v, &c->fleet);
    } else {
        WEFT_TRY(weft_mine_case_open(&r, &c->mine));
        judge(&v, &c->mine);
    }
    check_hash(&v);
    list_unchecked(&v);
    return WEFT_OK;
}
