/* SPDX-License-Identifier: MIT */
/* verify.c: is a plan legal, and is it worth what it claims?
 *
 * 1. Model, platform and the problem made of them have the hashes the plan was made with.
 * 2. Every task is decided once, on a device that exists.
 * 3. The plan is legal as it stands (plan_check.c), and the simulator, given devices and order,
 * finds the same start times.
 * 4. Every number under "measures" is found again, to 1e-9 relative.
 * 5. The proof: its value is the simulator's. What it calls certified is what its certificate (a
 *    path, prices, a refuted limit, the name of a bound) proves, computed again from the problem
 *    alone, and `method` is its name. A bound above that must rest on a search that `method` names,
 *    one that the solver of the plan makes for such problems; it is not repeated. No bound exceeds
 *    the value; gap and status follow from the two.
 * 6. What is neither found again nor compared is listed: the solver, the seed, spellings of options
 *    that make the same model, and bounds that rest on a search.
 *
 * Nothing of the solver that made the plan is used but the formulas of its bounds. */
#include <math.h>
#include <string.h>

#include "verdict.h"

typedef struct verifier {
    weft_wrongs *w;
    weft_arena *a;
    const weft_plan_file *file;
    const weft_case *c;
    weft_verdict *out;
} verifier;

static void check_hashes(verifier *v)
{
    const weft_plan_origin *o = &v->file->origin;

    weft_check_hash(v->w, weft_arena_print(v->a, "model '%s'", o->model), v->c->model_hash,
                    o->model_hash);
    if (o->platform)
        weft_check_hash(v->w, weft_arena_print(v->a, "platform '%s'", o->platform),
                        v->c->platform_hash, o->platform_hash);
    weft_check_hash(v->w, "the problem made of model, platform and options", v->c->problem->hash,
                    o->problem_hash);
    if (v->file->transfer != v->c->problem->transfer)
        weft_wrong(v->w,
                   weft_arena_print(v->a, "the plan is for transfers that %s, the platform's %s",
                                    weft_transfer_name(v->file->transfer),
                                    weft_transfer_name(v->c->problem->transfer)));
    if (v->file->ask.is_calls != v->c->problem->ask.is_calls &&
        weft_doc_get(v->file->doc, "semantics") != NULL) /* files of before it was written */
        weft_wrong(v->w, weft_arena_print(v->a, "semantics is '%s', expected '%s'",
                                          v->file->ask.is_calls ? "calls" : "platform",
                                          v->c->problem->ask.is_calls ? "calls" : "platform"));
}

static weft_map *index_names(const char *const *name, int n, weft_arena *a)
{
    weft_map *m = weft_map_new(a);

    weft_map_reserve(m, n);
    for (int i = 0; i < n; i++)
        weft_map_set(m, name[i], strlen(name[i]), i);
    return m;
}

/* Decisions of one way by task number; false if some task or device is not there. */
static void read_way(verifier *v, weft_plan *plan, int way, const weft_map *devices,
                     const int *task_of)
{
    size_t n_tasks = (size_t)v->c->problem->n_tasks;

    for (int i = 0; i < v->file->n_tasks; i++) {
        size_t from = (size_t)way * (size_t)v->file->n_tasks + (size_t)i;
        const char *device = v->file->device[from];
        int d = weft_map_get(devices, device, strlen(device));

        if (task_of[i] >= 0 && d < 0)
            weft_wrong(v->w, weft_arena_print(v->a, "task '%s' is on '%s', which is no device",
                                              v->file->task[i], device));
        if (task_of[i] < 0 || d < 0)
            continue;
        plan->device[(size_t)way * n_tasks + (size_t)task_of[i]] = d;
        plan->start_s[(size_t)way * n_tasks + (size_t)task_of[i]] = v->file->start_s[from];
    }
}

static bool read_decisions(verifier *v, weft_plan *plan, int *task_of)
{
    const weft_problem *p = v->c->problem;
    weft_map *tasks = index_names(p->task_name, p->n_tasks, v->a);
    weft_map *devices = index_names(p->device_name, p->n_devices, v->a);
    bool *is_decided = WEFT_NEW(v->a, bool, p->n_tasks + 1);
    int before = v->w->n;

    for (int i = 0; i < v->file->n_tasks; i++) {
        const char *name = v->file->task[i];

        task_of[i] = weft_map_get(tasks, name, strlen(name));
        if (task_of[i] < 0)
            weft_wrong(v->w, weft_arena_print(v->a, "task '%s' is not in the model", name));
        else
            is_decided[task_of[i]] = true;
    }
    for (int w = 0; w < plan->n_ways; w++) {
        plan->share[w] = v->file->share[w];
        read_way(v, plan, w, devices, task_of);
    }
    for (int u = 0; u < p->n_tasks; u++)
        if (!is_decided[u] && v->w->n == before)
            weft_wrong(v->w,
                       weft_arena_print(v->a, "task '%s' is not in the plan", p->task_name[u]));
    return v->w->n == before;
}

static void check_legality(verifier *v, const weft_plan *plan)
{
    weft_breach breach[WEFT_MOST_WRONG];
    int n = weft_plan_check(v->c->problem, plan, breach, WEFT_MOST_WRONG, v->a);

    for (int i = 0; i < n && i < WEFT_MOST_WRONG; i++)
        weft_wrong(v->w, breach[i].what);
    if (n > WEFT_MOST_WRONG)
        v->w->n += n - WEFT_MOST_WRONG;
}

static void check_starts(verifier *v, const weft_plan *stated, const weft_plan *simulated,
                         double makespan_s)
{
    const weft_problem *p = v->c->problem;

    for (int i = 0; i < p->n_tasks * stated->n_ways; i++)
        if (fabs(stated->start_s[i] - simulated->start_s[i]) > WEFT_NEAR * makespan_s)
            weft_wrong(
                v->w, weft_arena_print(v->a,
                                       "task '%s' starts at %.12g s in the plan, at %.12g s in the "
                                       "simulator",
                                       p->task_name[i % p->n_tasks], stated->start_s[i],
                                       simulated->start_s[i]));
}

/* --- the proof ------------------------------------------------------------------------------- */

/* What a certificate proves; *method: what it is called. */
typedef double (*certificate)(verifier *v, const int *task_of, const char **method);

static double path_bound(verifier *v, const int *task_of, const char **method)
{
    const weft_problem *p = v->c->problem;
    const weft_proof *proof = &v->file->proof;
    int *path = WEFT_NEW(v->a, int, proof->n_path);

    for (int i = 0; i < proof->n_path; i++)
        path[i] = task_of[proof->path[i]];
    *method = p->transfer == WEFT_CALLS ? "calls path" : "path";
    if (p->ask.goal != WEFT_LATENCY)
        return 0;
    return p->transfer == WEFT_CALLS ? weft_calls_path_bound_of(p, path, proof->n_path)
                                     : weft_path_bound_of(p, path, proof->n_path);
}

static double price_bound(verifier *v, const int *task_of, const char **method)
{
    const weft_problem *p = v->c->problem;

    (void)task_of;
    *method = "load";
    if (v->file->n_prices == p->n_devices)
        return weft_load_bound_of(p, v->file->proof.price);
    weft_wrong(v->w, weft_arena_print(
                         v->a, "proof.prices has %d entries, expected one for each of %d devices",
                         v->file->n_prices, p->n_devices));
    return 0;
}

/* A limit that propagation must refute again; 0 if it does not. */
static double refuted_bound(verifier *v, const int *task_of, const char **method)
{
    const weft_proof *proof = &v->file->proof;

    (void)task_of;
    *method = proof->is_shaved ? "shaving" : "propagation";
    if (weft_refuted_again(v->c->problem, proof->refuted_s, proof->is_shaved))
        return proof->refuted_s;
    weft_wrong(v->w,
               weft_arena_print(v->a, "proof.refuted is claimed for %.12g s, %s does not find it",
                                proof->refuted_s,
                                proof->is_shaved ? "propagation with shaving" : "propagation"));
    return 0;
}

static double named_bound(verifier *v, const int *task_of, const char **method)
{
    (void)task_of;
    *method = v->file->proof.again;
    return weft_bound_again(v->c->problem, *method);
}

/* What the certificate of the file proves, and its method. An infinite bound says that there is no
 * plan: here is one. */
static double certified_bound(verifier *v, const int *task_of, const char **method)
{
    const weft_proof *proof = &v->file->proof;
    const certificate known[] = {path_bound, price_bound, refuted_bound, named_bound};
    const bool has[] = {proof->n_path > 0, v->file->n_prices > 0, proof->refuted_s > 0,
                        proof->again != NULL};
    weft_proof cheap;
    double bound = 0;
    int n = 0;

    weft_place_bound(v->c->problem, v->a, &cheap);
    *method = cheap.method; /* of nothing, if that is all there is to prove */
    for (int i = 0; i < 4; i++) {
        if (!has[i])
            continue;
        bound = known[i](v, task_of, method);
        n++;
    }
    if (n > 1)
        weft_wrong(v->w, weft_arena_print(v->a,
                                          "proof has %d certificates, expected one of path, "
                                          "prices, refuted and again: the one that proves most",
                                          n));
    return isfinite(bound) ? bound : 0;
}

static void check_proof(verifier *v, const int *task_of, double value)
{
    const weft_problem *p = v->c->problem;
    const weft_proof *proof = &v->file->proof;
    const weft_solver *solver = weft_place_find(v->file->origin.solver);
    weft_finding f = {.value = value, .solver = v->file->origin.solver};

    f.proved = certified_bound(v, task_of, &f.method);
    f.is_search = solver != NULL && weft_solver_searches(solver, p, proof->method);
    weft_check_proof(v->w, proof, &f, v->out);
}

/* --- the whole ------------------------------------------------------------------------------- */

static void judge(verifier *v)
{
    const weft_problem *p = v->c->problem;
    int n_ways = v->file->n_ways;
    weft_plan stated = weft_plan_new_ways(p->n_tasks, n_ways, v->a);
    weft_plan simulated = weft_plan_new_ways(p->n_tasks, n_ways, v->a);
    size_t n = (size_t)p->n_tasks * (size_t)n_ways;
    int *task_of = WEFT_NEW(v->a, int, v->file->n_tasks + 1);
    weft_measures *m = &v->out->solution.measures;

    check_hashes(v);
    weft_check_origin(v->w, &v->file->origin, v->out);
    if (!read_decisions(v, &stated, task_of))
        return;
    check_legality(v, &stated);
    memcpy(simulated.device, stated.device, n * sizeof *stated.device);
    memcpy(simulated.start_s, stated.start_s, n * sizeof *stated.start_s);
    memcpy(simulated.share, stated.share, (size_t)n_ways * sizeof *stated.share);
    if (weft_evaluate(p, &simulated, v->a, m) != WEFT_OK) {
        weft_wrong(v->w, weft_arena_print(v->a, "%s", weft_message()));
        return;
    }
    if (m->over_device >= 0)
        weft_wrong(v->w,
                   weft_arena_print(v->a, "device '%s' holds %.12g bytes at its peak, it has %.12g",
                                    p->device_name[m->over_device], m->peak_bytes[m->over_device],
                                    p->capacity[m->over_device]));
    if (!weft_ask_allows(&p->ask, m->makespan_s, m->period_s))
        weft_wrong(
            v->w, weft_arena_print(v->a,
                                   "the simulator finds a latency of %.12g s and a period of %.12g "
                                   "s, which the limits do not allow",
                                   m->makespan_s, m->period_s));
    check_starts(v, &stated, &simulated, m->makespan_s);
    weft_compare(v->w, "measures", v->file->measures, weft_measures_doc(p, m, v->a));
    check_proof(v, task_of, weft_goal_value(p, m));
    v->out->solution.plan = simulated;
    v->out->solution.proof = v->file->proof;
    v->out->has_solution = true;
}

static weft_status verify_place(const char *plan_path, const char *model, const char *platform,
                                weft_wrongs *w, weft_case *c, weft_verdict *out)
{
    weft_arena *a = w->a;
    weft_plan_file *file = WEFT_NEW(a, weft_plan_file, 1);
    verifier v = {.w = w, .a = a, .file = file, .c = c, .out = out};
    weft_named by = {plan_path, model, platform};
    weft_request r;

    WEFT_TRY(weft_plan_read(plan_path, a, file));
    out->origin = file->origin;
    r = weft_place_request_of(file, &by, a);
    WEFT_TRY(weft_explain_missing(weft_case_open(&r, c), &by, &file->origin, a));
    judge(&v);
    return WEFT_OK;
}

weft_status weft_verify(const char *plan_path, const char *model, const char *platform,
                        weft_arena *a, weft_case *c, weft_verdict *out)
{
    weft_wrongs w = {.a = a, .line = WEFT_NEW(a, const char *, WEFT_MOST_WRONG)};
    const char *kind;

    memset(out, 0, sizeof *out);
    memset(c, 0, sizeof *c);
    WEFT_TRY(weft_plan_kind(plan_path, a, &kind));
    out->is_shard = strcmp(kind, "shard") == 0;
    out->is_train = strcmp(kind, "train") == 0;
    if (out->is_shard)
        WEFT_TRY(weft_verify_shards(plan_path, model, platform, &w, &c->shard, out));
    else if (out->is_train)
        WEFT_TRY(weft_verify_train(plan_path, model, platform, &w, &c->train, out));
    else if (strcmp(kind, "design") == 0)
        WEFT_TRY(weft_verify_mine(plan_path, model, platform, &w, c, out));
    else
        WEFT_TRY(verify_place(plan_path, model, platform, &w, c, out));
    out->n_wrong = w.n;
    out->wrong = w.line;
    return WEFT_OK;
}
