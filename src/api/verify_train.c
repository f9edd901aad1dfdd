/* SPDX-License-Identifier: MIT */
/* verify_train.c: is a plan of training legal, and is it worth what it claims?
 *
 * 1. Model, platform and the problem made of them have the hashes the plan was made with.
 * 2. Every stage is decided: cuts, devices, shares and policies exist.
 * 3. The plan keeps all rules (pipeline_check.c), and nothing exceeds a memory in the simulator.
 * 4. Every number under "measures" is found again, to 1e-9 relative.
 * 5. The proof: its value is the simulator's. What it calls certified is the bound without search,
 *    computed again. A bound above that must rest on a search of the solver, which `method` names
 *    and which is not repeated; no bound exceeds the value; gap and status follow from the two. A
 *    search speaks of the plans of its space: a plan outside of it can claim no such bound. */
#include <string.h>

#include "verdict.h"

typedef struct verifier {
    weft_wrongs *w;
    const weft_pipeline_file *file;
    const weft_train_case *c;
    weft_verdict *out;
} verifier;

static void check_hashes(verifier *v)
{
    const weft_plan_origin *o = &v->file->origin;
    weft_arena *a = v->w->a;

    weft_check_hash(v->w, weft_arena_print(a, "model '%s'", o->model), v->c->model_hash,
                    o->model_hash);
    weft_check_hash(v->w, weft_arena_print(a, "platform '%s'", o->platform), v->c->platform_hash,
                    o->platform_hash);
    weft_check_hash(v->w, "the problem made of model, platform and options", v->c->training->hash,
                    o->problem_hash);
}

/* The batch of a step is asked for elsewhere, and a step of training is what a plan is of. */
static void check_options(verifier *v)
{
    const weft_model_options *o = &v->file->origin.options;

    if (o->batch != 0)
        weft_wrong(v->w, weft_arena_print(v->w->a, "model.batch is %lld, expected 0",
                                          (long long)o->batch));
    if (!o->train)
        weft_wrong(v->w, "model.train is false, expected true");
}

static void check_legality(verifier *v, const weft_pipeline *plan)
{
    weft_breach breach[WEFT_MOST_WRONG];
    int n = weft_pipeline_check(v->c->training, plan, breach, WEFT_MOST_WRONG, v->w->a);

    for (int i = 0; i < n && i < WEFT_MOST_WRONG; i++)
        weft_wrong(v->w, breach[i].what);
    if (n > WEFT_MOST_WRONG)
        v->w->n += n - WEFT_MOST_WRONG;
}

static void check_memory(verifier *v, const weft_train_measures *m)
{
    int i = m->over_stage;

    if (i >= 0)
        weft_wrong(v->w, weft_arena_print(v->w->a,
                                          "a device of stage %d holds %.12g bytes at its peak, it "
                                          "has %.12g",
                                          i, m->stage_peak_bytes[i], m->stage_room_bytes[i]));
}

static void check_proof(verifier *v, double value)
{
    const weft_proof *proof = &v->file->proof;
    const weft_train_solver *solver = weft_train_find(v->file->origin.solver);
    const char *search =
        solver != NULL && solver->search != NULL ? solver->search(v->c->training) : NULL;
    weft_train_floor floor;
    weft_proof bound;

    weft_train_bound(v->c->training, v->w->a, &bound, &floor);
    weft_check_again(v->w, proof->again, bound.again);
    weft_check_proof(v->w, proof,
                     &(weft_finding){.value = value,
                                     .proved = bound.certified,
                                     .method = bound.method,
                                     .solver = v->file->origin.solver,
                                     .is_search = search != NULL && proof->method != NULL &&
                                                  strcmp(search, proof->method) == 0},
                     v->out);
}

static void check_space(verifier *v, const weft_pipeline *plan)
{
    const char *method = v->file->proof.method;

    v->out->outside = weft_train_outside(v->c->training, plan, v->w->a);
    if (v->out->outside != NULL && weft_train_method_is_search(method))
        weft_wrong(v->w, weft_arena_print(v->w->a,
                                          "proof.method is '%s', but the plan is none of those "
                                          "that were searched: %s",
                                          method, v->out->outside));
}

static void judge(verifier *v)
{
    const weft_training *p = v->c->training;
    weft_train_solution *s = &v->out->training;
    weft_arena *a = v->w->a;

    check_hashes(v);
    weft_check_origin(v->w, &v->file->origin, v->out);
    check_options(v);
    if (weft_pipeline_decide(v->file, p, a, &s->plan) != WEFT_OK) {
        weft_wrong(v->w, weft_line_of_file(v->file->doc, a));
        return;
    }
    check_legality(v, &s->plan);
    if (weft_pipeline_evaluate(p, &s->plan, a, &s->measures) != WEFT_OK) {
        if (v->w->n == 0) /* else it is one of those breaches */
            weft_wrong(v->w, weft_arena_print(a, "%s", weft_message()));
        return;
    }
    check_memory(v, &s->measures);
    if (v->w->n == 0)
        check_space(v, &s->plan);
    weft_compare(v->w, "measures", v->file->measures,
                 weft_train_measures_doc(p, &s->plan, &s->measures, a));
    check_proof(v, s->measures.step_s);
    s->proof = v->file->proof;
    v->out->has_solution = true;
}

weft_status weft_verify_train(const char *plan_path, const char *model, const char *platform,
                              weft_wrongs *w, weft_train_case *c, weft_verdict *out)
{
    weft_pipeline_file *file = WEFT_NEW(w->a, weft_pipeline_file, 1);
    verifier v = {w, file, c, out};
    weft_named by = {plan_path, model, platform};
    weft_train_request r;

    WEFT_TRY(weft_pipeline_read(plan_path, w->a, file));
    out->origin = file->origin;
    if (file->origin.platform == NULL)
        return weft_doc_fail(file->doc, "'platform' is null, expected a map");
    r = weft_train_request_of(file, &by, w->a);
    WEFT_TRY(weft_explain_missing(weft_train_case_open(&r, c), &by, &file->origin, w->a));
    judge(&v);
    return WEFT_OK;
}
