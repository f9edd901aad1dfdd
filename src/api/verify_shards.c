/* SPDX-License-Identifier: MIT */
/* verify_shards.c: is the plan of a sharded network legal, and is it worth what it claims?
 *
 * 1. Model, platform and the problem made of them have the hashes the plan was made with.
 * 2. Every step is decided once; sets, designs and splits exist.
 * 3. The plan keeps all rules (shards_check.c), nothing exceeds a memory in the simulator, and the
 *    simulator finds the same start times.
 * 4. Every number under "measures" is found again, to 1e-9 relative.
 * 5. The proof: its value is the simulator's. What it calls certified is the floor, computed again.
 *    A bound above that must rest on a search of the solver, which `method` names and which is not
 *    repeated; no bound exceeds the value; gap and status follow from the two. */
#include <math.h>
#include <string.h>

#include "verdict.h"

typedef struct verifier {
    weft_wrongs *w;
    const weft_shards_file *file;
    const weft_shard_case *c;
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
    weft_check_hash(v->w, "the problem made of model, platform and options", v->c->sharding->hash,
                    o->problem_hash);
}

static void check_legality(verifier *v, const weft_shards *plan)
{
    weft_breach breach[WEFT_MOST_WRONG];
    int n = weft_shards_check(v->c->sharding, plan, breach, WEFT_MOST_WRONG, v->w->a);

    for (int i = 0; i < n && i < WEFT_MOST_WRONG; i++)
        weft_wrong(v->w, breach[i].what);
    if (n > WEFT_MOST_WRONG)
        v->w->n += n - WEFT_MOST_WRONG;
}

static void check_memory(verifier *v, const weft_shards_measures *m)
{
    const weft_device *device = v->c->platform->device;
    int d = m->over_device;

    if (d >= 0)
        weft_wrong(v->w, weft_arena_print(
                             v->w->a, "device '%s' holds %.12g bytes at its peak, it has %.12g",
                             device[d].name, m->peak_bytes[d], device[d].memory_bytes));
}

static void check_starts(verifier *v, const weft_shards *stated, const weft_shards_measures *m)
{
    for (int i = 0; i < stated->n_steps; i++)
        if (!(fabs(stated->start_s[i] - m->start_s[i]) <= WEFT_NEAR * m->latency_s))
            weft_wrong(v->w,
                       weft_arena_print(v->w->a,
                                        "step '%s' starts at %.12g s in the plan, at %.12g s in "
                                        "the simulator",
                                        weft_step_name(v->c->sharding->steps, i),
                                        stated->start_s[i], m->start_s[i]));
}

static void check_proof(verifier *v, double value)
{
    const weft_proof *proof = &v->file->proof;
    const weft_shard_solver *solver = weft_shard_find(v->file->origin.solver);
    const char *search =
        solver != NULL && solver->search != NULL ? solver->search(v->c->sharding) : NULL;
    weft_proof floor;

    weft_shard_bound(v->c->sharding, v->w->a, &floor);
    weft_check_again(v->w, proof->again, floor.again);
    weft_check_proof(v->w, proof,
                     &(weft_finding){.value = value,
                                     .proved = floor.certified,
                                     .method = floor.method,
                                     .solver = v->file->origin.solver,
                                     .is_search = search != NULL && proof->method != NULL &&
                                                  strcmp(search, proof->method) == 0},
                     v->out);
}

static void judge(verifier *v)
{
    const weft_sharding *p = v->c->sharding;
    weft_shard_solution *s = &v->out->shards;
    weft_arena *a = v->w->a;
    weft_shards stated;

    check_hashes(v);
    weft_check_origin(v->w, &v->file->origin, v->out);
    if (weft_shards_decide(v->file, p, a, &stated) != WEFT_OK) {
        weft_wrong(v->w, weft_line_of_file(v->file->doc, a));
        return;
    }
    check_legality(v, &stated);
    s->plan = weft_shards_copy(&stated, a);
    if (weft_shards_evaluate(p, &s->plan, a, &s->measures) != WEFT_OK) {
        if (v->w->n == 0) /* else it is one of those breaches */
            weft_wrong(v->w, weft_arena_print(a, "%s", weft_message()));
        return;
    }
    check_memory(v, &s->measures);
    check_starts(v, &stated, &s->measures);
    weft_compare(v->w, "measures", v->file->measures, weft_shards_measures_doc(p, &s->measures, a));
    check_proof(v, s->measures.latency_s);
    s->proof = v->file->proof;
    v->out->has_solution = true;
}

weft_status weft_verify_shards(const char *plan_path, const char *model, const char *platform,
                               weft_wrongs *w, weft_shard_case *c, weft_verdict *out)
{
    weft_shards_file *file = WEFT_NEW(w->a, weft_shards_file, 1);
    verifier v = {w, file, c, out};
    weft_named by = {plan_path, model, platform};
    weft_shard_request r;

    WEFT_TRY(weft_shards_read(plan_path, w->a, file));
    out->origin = file->origin;
    if (file->origin.platform == NULL)
        return weft_doc_fail(file->doc, "'platform' is null, expected a map");
    r = weft_shard_request_of(file, &by, w->a);
    WEFT_TRY(weft_explain_missing(weft_shard_case_open(&r, c), &by, &file->origin, w->a));
    judge(&v);
    return WEFT_OK;
}
