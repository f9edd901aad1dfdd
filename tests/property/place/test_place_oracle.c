/* SPDX-License-Identifier: MIT */
/* Every registered solver of placement against the optimum found by trying every plan, on random
 * and structured problems (draw_place.c), under every transfer model and goal, with and without a
 * limit of steps: no false optimum, no false infeasibility, no bound above the optimum, no plan
 * that `weft check` refuses. Beyond the reach of trying everything, the bounds of all solvers
 * against the plans of all others.
 *
 *     test_place_oracle [PROBLEMS [FIRST [SHARE]]]
 *
 * The long form is 20000 problems; FIRST is the first seed; milp and z3 are asked about one problem
 * in SHARE.
 */
#define _POSIX_C_SOURCE 200809L
#include "brute.h"
#include "check.h"
#include "draw_place.h"
#include "kind.h"
#include "place.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum {
    N_SHORT = 600,
    LARGE_SHARE = 60, /* one large problem for so many small ones */
    MOST_SOLVERS = 32,
    LARGE_STEPS = 2000,
    UNLIMITED_SHARE = 8, /* one problem of so many without any limit */
    MANY_STEPS = 10000,
};

static int n_problems = N_SHORT;
static uint64_t slow_share = 3; /* engines that take long are asked about one problem of so many */
static uint64_t first_seed = 1;

typedef struct tally {
    int n_problems, n_tight, n_infeasible, n_large, n_checked, n_faults;
    int n_by_transfer[4], n_by_goal[2];
    int n_asked[MOST_SOLVERS], n_optimal[MOST_SOLVERS], n_none[MOST_SOLVERS];
    double seconds[MOST_SOLVERS], brute_s;
} tally;

static double cpu_s(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

/* --- faults ---------------------------------------------------------------------------------- */

typedef struct question {
    uint64_t seed;
    const weft_problem *p;
    double best;   /* INFINITY: there is no plan */
    bool is_known; /* else `best` is only the value of some plan */
    int64_t steps;
    tally *t;
} question;

static void print_problem(const weft_problem *p)
{
    weft_arena *a = weft_arena_new();

    print_error("  segments: %d, %d tasks, %.17g s; pin %s, together %s\n",
                p->constraints.most_segments, p->constraints.least_segment_tasks,
                p->constraints.least_segment_s, p->constraints.pin ? p->constraints.pin : "-",
                p->constraints.together ? p->constraints.together : "-");
    print_error("  %d tasks, %d devices, %s, %s%s%s, host %d, limits %.17g %.17g\n", p->n_tasks,
                p->n_devices, weft_transfer_name(p->transfer), weft_goal_name(p->constraints.goal),
                p->constraints.is_contiguous ? ", stages" : "",
                p->constraints.is_mixed ? ", mixed" : "", p->host, p->constraints.most_latency_s,
                p->constraints.most_period_s);
    for (int u = 0; u < p->n_tasks && p->n_tasks < 20; u++) {
        print_error("  task %d pin %d colour %d:", u, p->pin[u], p->colocation[u]);
        for (int d = 0; d < p->n_devices; d++)
            print_error(" %.17g", weft_task_s(p, u, d));
        print_error("\n");
    }
    for (int t = 0; t < p->n_tensors && p->n_tasks < 20; t++) {
        print_error("  %s %d amount %.17g memory %.17g >", p->is_weight[t] ? "weight" : "tensor",
                    p->producer[t], p->amount[t], p->memory[t]);
        for (int i = p->reader_at[t]; i < p->reader_at[t + 1]; i++)
            print_error(" %d", p->reader[i]);
        print_error("\n");
    }
    for (int d = 0; d < p->n_devices * p->n_devices && p->n_tasks < 20; d++)
        print_error("  link %d > %d: %.17g s + %.17g s/B\n", d / p->n_devices, d % p->n_devices,
                    p->latency_s[d], p->second_per_byte[d]);
    for (int d = 0; d < p->n_devices; d++)
        print_error("  device %d: %.17g B, switch %.17g s\n", d, p->capacity[d],
                    p->switch_s ? p->switch_s[d] : 0);
    weft_arena_free(a);
}

static void report(const question *q, const char *solver, const weft_proof *proof, const char *what)
{
    q->t->n_faults++;
    print_error("seed %llu, %s, steps %lld: %s (%s, value %.17g, bound %.17g by %s; %s %.17g)\n",
                (unsigned long long)q->seed, solver, (long long)q->steps, what,
                proof ? weft_outcome_name(proof->outcome) : "", proof ? proof->value : NAN,
                proof ? proof->bound : NAN, proof && proof->method ? proof->method : "nothing",
                q->is_known ? "optimum" : "best known", q->best);
    if (q->t->n_faults <= 5)
        print_problem(q->p);
}

static bool is_below(double a, double b)
{
    return a <= b + 1e-9 * fabs(b);
}

static bool has_plan(const weft_proof *f)
{
    return f->outcome == WEFT_OPTIMAL || f->outcome == WEFT_BOUNDED;
}

static const char *fault_of(const question *q, const weft_proof *f)
{
    if (isnan(f->bound) || (isinf(f->bound) && f->outcome != WEFT_INFEASIBLE))
        return "its bound is no number";
    if (f->outcome != WEFT_INFEASIBLE && !is_below(f->bound, q->best))
        return "its bound is above a plan";
    if (f->outcome == WEFT_INFEASIBLE && isfinite(q->best))
        return "it says that there is no plan";
    if (!has_plan(f))
        return NULL;
    if (q->is_known && !is_below(q->best, f->value))
        return "its value is below the optimum";
    if (f->outcome == WEFT_OPTIMAL && !is_below(f->value * (1 - 1e-9), q->best))
        return "it calls a value optimal that is not";
    return NULL;
}

/* --- what is asked --------------------------------------------------------------------------- */

static weft_status ask(const weft_solver *solver, const question *q, const weft_proof *bound,
                       weft_arena *a, weft_solution *s)
{
    weft_run run = {.seed = 1, .n_threads = 1, .limit_s = INFINITY, .steps = q->steps};
    weft_status status;

    run.scratch = weft_arena_new();
    status = weft_solve(solver, q->p, NULL, &run, bound, a, s);
    weft_arena_free(run.scratch);
    return status;
}

static bool is_slow(const char *name)
{
    return strcmp(name, "milp") == 0 || strcmp(name, "z3") == 0;
}

/* Heuristics without a proof take as long as they like and always get a limit; searches have none
 * now and then, and else one that nearly always lets them end. */
static int64_t steps_for(const question *q, const char *name)
{
    if (strcmp(name, "split") == 0 || strcmp(name, "load") == 0 || q->p->transfer == WEFT_CALLS)
        return 3000;
    return q->seed % UNLIMITED_SHARE == 0 ? 0 : MANY_STEPS;
}

/* --- the program's own check ----------------------------------------------------------------- */

enum { TASKS_FILE, PLAN_FILE, N_FILES };

static char folder[] = "/tmp/weft_oracle_XXXXXX"; /* mkdtemp fills it in */
static char path_of[N_FILES][64];

static void make_folder(void)
{
    CHECK(mkdtemp(folder) != NULL);
    snprintf(path_of[TASKS_FILE], sizeof *path_of, "%s/tasks.json", folder);
    snprintf(path_of[PLAN_FILE], sizeof *path_of, "%s/plan.json", folder);
}

static void remove_folder(void)
{
    remove(path_of[TASKS_FILE]);
    remove(path_of[PLAN_FILE]);
    rmdir(folder);
}

/* Writes the plan as `weft place -o` does, and verifies the file as `weft check` does. */
static void check_file(const question *q, const weft_case *c, const weft_request *r,
                       const char *solver, const weft_solution *s)
{
    weft_arena *a = weft_arena_new();
    weft_plan_origin origin = {r->model, NULL,          NULL, r->options,      solver,
                               1,        c->model_hash, 0,    c->problem->hash};
    weft_doc *doc = weft_plan_doc(c->problem, &s->plan, &s->proof, &origin,
                                  weft_measures_doc(c->problem, &s->measures, a), a);
    const char *text = weft_doc_json(doc, 0, a), *path = path_of[PLAN_FILE];
    weft_check_result v;

    CHECK_OK(weft_file_write(path, text, strlen(text)));
    q->t->n_checked++;
    if (weft_verify(path, NULL, NULL, a, &v) != WEFT_OK) {
        report(q, solver, &s->proof, weft_message());
    } else {
        if (v.n_wrong > 0)
            report(q, solver, &s->proof, v.wrong[0]);
        weft_check_result_close(&v);
    }
    weft_arena_free(a);
}

/* The problem as the program reads it from a file; false if a file cannot say it. */
static bool open_file(const drawn_place *x, const weft_constraints *asked, weft_request *r,
                      weft_case *c)
{
    weft_arena *a = weft_arena_new();

    *r = (weft_request){.model = path_of[TASKS_FILE], .constraints = *asked};
    if (x->is_plain) {
        const char *text = place_text(x->problem, a);

        CHECK_OK(weft_file_write(r->model, text, strlen(text)));
        CHECK_OK(weft_case_open(r, c));
    }
    weft_arena_free(a);
    return x->is_plain;
}

/* --- small problems -------------------------------------------------------------------------- */

/* The best of all placements as the simulator values them; for calls, where order is nothing. */
static double best_placement(const weft_problem *p)
{
    weft_arena *a = weft_arena_new();
    weft_plan plan = weft_plan_new(p->n_tasks, a);
    double best = INFINITY;
    int u;

    do {
        size_t mark = weft_arena_mark(a);
        weft_measures m;
        bool is_possible = true;

        for (u = 0; u < p->n_tasks; u++) {
            plan.start_s[u] = u;
            is_possible &= isfinite(weft_task_s(p, u, plan.device[u]));
        }
        if (is_possible && weft_evaluate(p, &plan, a, &m) == WEFT_OK && m.over_device < 0 &&
            weft_constraints_allow(&p->constraints, m.makespan_s, m.period_s) &&
            (!p->constraints.is_contiguous || weft_plan_loop(p, plan.device, a) < 0) &&
            weft_plan_check(p, &plan, NULL, 0, a) == 0)
            best = fmin(best, weft_goal_value(p, &m));
        weft_arena_rewind(a, mark);
        for (u = 0; u < p->n_tasks && ++plan.device[u] == p->n_devices; u++)
            plan.device[u] = 0;
    } while (u < p->n_tasks);
    weft_arena_free(a);
    return best;
}

static double optimum_of(const weft_problem *p)
{
    return p->transfer == WEFT_CALLS ? best_placement(p) : brute_optimum(p, p->n_devices);
}

static void ask_everybody(question *q, const weft_case *c, const weft_request *r)
{
    weft_arena *a = weft_arena_new();
    weft_rng rng = weft_rng_seed(q->seed * 31);
    int chosen = weft_rng_below(&rng, weft_place_count()); /* its plan is written and checked */
    int64_t few = 1 + weft_rng_below(&rng, 1 << (1 + weft_rng_below(&rng, 10)));
    weft_proof bound;

    weft_place_bound(q->p, a, &bound);
    if (fault_of(q, &bound) != NULL)
        report(q, "weft_place_bound", &bound, fault_of(q, &bound));
    for (int i = 0; i < weft_place_count(); i++) {
        const weft_solver *solver = weft_place_at(i);
        bool is_auto = strcmp(solver->name, "auto") == 0;

        if (is_slow(solver->name) && (q->seed % slow_share != 0 || q->p->transfer == WEFT_CALLS))
            continue;
        for (int round = 0; round < 2; round++) {
            weft_solution s;
            double begin_s = cpu_s();

            q->steps = round > 0 ? few : steps_for(q, solver->name);
            if (ask(solver, q, q->seed % 2 ? &bound : NULL, a, &s) != WEFT_OK) {
                report(q, solver->name, NULL, weft_message());
                continue;
            }
            if (fault_of(q, &s.proof) != NULL)
                report(q, solver->name, &s.proof, fault_of(q, &s.proof));
            q->t->n_asked[i]++;
            q->t->n_optimal[i] += s.proof.outcome == WEFT_OPTIMAL;
            q->t->n_none[i] += s.proof.outcome == WEFT_INFEASIBLE;
            q->t->seconds[i] += cpu_s() - begin_s;
            if (c != NULL && has_plan(&s.proof) && (i == chosen || is_auto) && q->seed % 2)
                check_file(q, c, r, solver->name, &s);
        }
    }
    weft_arena_free(a);
}

/* What is asked for: mostly the least latency; throughput with all that belongs to it; limits that
 * leave some plans. */
/* Names of tasks and devices are those of draw_place.c. The texts stay until the next call. */
static void draw_names(weft_rng *r, const weft_problem *p, weft_constraints *asked)
{
    static char pin[64], together[64];
    int u = weft_rng_below(r, p->n_tasks), v = weft_rng_below(r, p->n_tasks);
    int d = weft_rng_below(r, p->n_devices);

    snprintf(pin, sizeof pin, "t%d=d%d", u, d);
    snprintf(together, sizeof together, "t%d,t%d", u, v);
    if (weft_rng_below(r, 4) == 0 && isfinite(weft_task_s(p, u, d)))
        asked->pin = pin;
    if (weft_rng_below(r, 4) == 0)
        asked->together = together;
}

/* Few segments, large ones, or stages; now and then several of these. */
static void draw_segments(weft_rng *r, const weft_problem *p, weft_constraints *asked)
{
    if (weft_rng_below(r, 3) == 0)
        asked->is_contiguous = true;
    if (p->transfer == WEFT_CALLS && asked->goal == WEFT_LATENCY)
        return;
    if (weft_rng_below(r, 2) == 0)
        asked->most_segments = 1 + weft_rng_below(r, 4);
    if (weft_rng_below(r, 3) == 0)
        asked->least_segment_tasks = 1 + weft_rng_below(r, 3);
    if (weft_rng_below(r, 3) == 0)
        asked->least_segment_s = 3 * weft_rng_real(r) * fmax(1e-3, weft_task_s(p, 0, 0));
    if (!isfinite(asked->least_segment_s))
        asked->least_segment_s = 0;
}

static weft_constraints draw_ask(weft_rng *r, const drawn_place *x)
{
    const weft_problem *p = x->problem;
    weft_constraints asked = {.goal = weft_rng_below(r, 4) == 0 ? WEFT_THROUGHPUT : WEFT_LATENCY};

    if (asked.goal == WEFT_THROUGHPUT)
        asked.is_contiguous = weft_rng_below(r, 3) == 0;
    if (weft_rng_below(r, 8) == 0) {
        weft_problem relaxed = *p;
        double best;

        relaxed.constraints = (weft_constraints){.goal = WEFT_LATENCY};
        best = optimum_of(&relaxed) * (0.9 + 0.6 * weft_rng_real(r));
        if (best > 0 && isfinite(best) && weft_rng_below(r, 2) == 0)
            asked.most_latency_s = best;
        else if (best > 0 && isfinite(best))
            asked.most_period_s = best;
    }
    if (weft_rng_below(r, 4) == 0)
        draw_segments(r, p, &asked);
    if (x->is_plain && weft_rng_below(r, 4) == 0)
        draw_names(r, p, &asked);
    return asked;
}

/* Small enough to try every plan: fewer tasks where each has to be simulated. */
static drawn_place draw_small(weft_rng *r, uint64_t seed)
{
    static const weft_transfer models[] = {WEFT_OVERLAP, WEFT_OVERLAP, WEFT_CONTEND, WEFT_BLOCK,
                                           WEFT_CALLS};
    weft_transfer transfer = models[weft_rng_below(r, 5)];
    bool has_memory = weft_rng_below(r, 5) < 2;
    int n_devices = 1 + weft_rng_below(r, 12), n_tasks;
    bool is_long = transfer == WEFT_CALLS || (transfer == WEFT_OVERLAP && !has_memory);

    n_devices = n_devices < 2 ? 1 : n_devices < 7 ? 2 : n_devices < 11 ? 3 : 4;
    n_tasks = 1 + weft_rng_below(r, is_long ? 7 : n_devices > 2 ? 5 : 6);
    return draw_place(seed, n_tasks, n_devices, transfer, has_memory);
}

static void try_small(uint64_t seed, tally *t)
{
    weft_rng r = weft_rng_seed(seed * 977);
    drawn_place x = draw_small(&r, seed);
    weft_constraints asked = draw_ask(&r, &x);
    double begin_s = cpu_s();
    weft_request request;
    weft_case c;
    bool has_file = open_file(&x, &asked, &request, &c);
    question q = {.seed = seed, .p = has_file ? c.problem : x.problem, .is_known = true, .t = t};

    x.problem->constraints = asked;
    q.best = optimum_of(q.p);
    t->brute_s += cpu_s() - begin_s;
    t->n_problems++;
    t->n_tight += x.is_tight;
    t->n_infeasible += isinf(q.best);
    t->n_by_transfer[x.problem->transfer]++;
    t->n_by_goal[asked.goal]++;
    ask_everybody(&q, has_file ? &c : NULL, &request);
    if (has_file)
        weft_case_close(&c);
    weft_problem_free(x.problem);
}

/* --- mixes ----------------------------------------------------------------------------------- */

enum { MIX_TASKS = 6, MIX_DEVICES = 2, MIX_WAYS = 1 << MIX_TASKS };

/* Loads of a way on two devices by definition. */
typedef struct way {
    double load_s[MIX_DEVICES];
    int device[MIX_TASKS];
} way;

static bool is_read_on(const weft_problem *p, int t, const int *device, int d)
{
    for (int i = p->reader_at[t]; i < p->reader_at[t + 1]; i++)
        if (device[p->reader[i]] == d)
            return true;
    return false;
}

/* False: no such way. */
static bool measure_way(const weft_problem *p, unsigned bits, way *w)
{
    *w = (way){{0}, {0}};
    for (int u = 0; u < p->n_tasks; u++) {
        w->device[u] = (int)(bits >> u & 1);
        w->load_s[w->device[u]] += weft_task_s(p, u, w->device[u]);
        if (p->pin[u] >= 0 && p->pin[u] != w->device[u])
            return false;
        for (int v = 0; v < u; v++)
            if (p->colocation[u] >= 0 && p->colocation[u] == p->colocation[v] &&
                w->device[u] != w->device[v])
                return false;
    }
    for (int t = 0; t < p->n_tensors; t++) {
        int home = p->producer[t] < 0 ? p->host : w->device[p->producer[t]], d = 1 - home;

        if (p->is_weight[t] || home < 0 || !is_read_on(p, t, w->device, d))
            continue;
        if (isinf(weft_send_s(p, t, home, d)))
            return false;
        for (int k = 0; k < MIX_DEVICES && p->transfer == WEFT_BLOCK; k++)
            w->load_s[k] += weft_send_s(p, t, home, d);
    }
    return isfinite(w->load_s[0]) && isfinite(w->load_s[1]);
}

/* Do the weights of both ways fit together? */
static bool fit_together(const weft_problem *p, const way *v, const way *w)
{
    double bytes[MIX_DEVICES] = {0};

    for (int t = 0; t < p->n_tensors; t++)
        for (int d = 0; d < MIX_DEVICES && p->is_weight[t]; d++)
            if (is_read_on(p, t, v->device, d) || is_read_on(p, t, w->device, d))
                bytes[d] += p->memory[t];
    return bytes[0] <= p->capacity[0] && bytes[1] <= p->capacity[1];
}

/* The least of the larger load over all shares of two ways: at an end, or where loads are equal. */
static double blend(const way *v, const way *w)
{
    double a = v->load_s[0] - v->load_s[1], b = w->load_s[0] - w->load_s[1];
    double best = fmin(fmax(v->load_s[0], v->load_s[1]), fmax(w->load_s[0], w->load_s[1]));

    if (!(a > 0 && b < 0) && !(a < 0 && b > 0))
        return best;
    return fmin(best, b / (b - a) * v->load_s[0] + a / (a - b) * w->load_s[0]);
}

/* With two loads, two ways are enough. */
static double best_mix(const weft_problem *p)
{
    static way all[MIX_WAYS];
    double best = INFINITY;
    int n = 0;

    for (unsigned bits = 0; bits < 1U << p->n_tasks; bits++)
        n += measure_way(p, bits, &all[n]);
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++)
            if (fit_together(p, &all[i], &all[j]))
                best = fmin(best, blend(&all[i], &all[j]));
    return best;
}

static void try_mix(uint64_t seed, tally *t)
{
    weft_rng r = weft_rng_seed(seed * 977);
    drawn_place x = draw_place(seed, 1 + weft_rng_below(&r, MIX_TASKS), MIX_DEVICES,
                               seed % 2 ? WEFT_OVERLAP : WEFT_BLOCK, false);
    question q = {.seed = seed, .p = x.problem, .is_known = true, .t = t};

    x.problem->constraints = (weft_constraints){.goal = WEFT_THROUGHPUT, .is_mixed = true};
    q.best = best_mix(q.p);
    t->n_problems++;
    t->n_by_transfer[x.problem->transfer]++;
    t->n_by_goal[WEFT_THROUGHPUT]++;
    t->n_infeasible += isinf(q.best);
    ask_everybody(&q, NULL, NULL);
    weft_problem_free(x.problem);
}

TEST(nobody_claims_what_is_not_so)
{
    tally t = {0};

    for (int i = 0; i < n_problems; i++) {
        uint64_t seed = first_seed + (uint64_t)i;

        if (seed % 20 == 7)
            try_mix(seed, &t);
        else
            try_small(seed, &t);
    }
    print_message("%d problems (%d overlap, %d contend, %d block, %d calls; %d latency, %d "
                  "throughput), %d with memory that binds, %d without a plan; %d plans written and "
                  "checked; %d faults; %.1f s of trying\n",
                  t.n_problems, t.n_by_transfer[0], t.n_by_transfer[1], t.n_by_transfer[2],
                  t.n_by_transfer[3], t.n_by_goal[0], t.n_by_goal[1], t.n_tight, t.n_infeasible,
                  t.n_checked, t.n_faults, t.brute_s);
    for (int i = 0; i < weft_place_count(); i++)
        print_message("  %-12s asked %6d times, %6d optimal, %5d infeasible, %.1f s\n",
                      weft_place_at(i)->name, t.n_asked[i], t.n_optimal[i], t.n_none[i],
                      t.seconds[i]);
    CHECK_INT(t.n_faults, 0);
    CHECK(t.n_checked > 0 && t.n_tight > n_problems / 5 && t.n_infeasible > 0);
}

/* --- large problems -------------------------------------------------------------------------- */

static void try_large(uint64_t seed, tally *t)
{
    static const weft_transfer models[] = {WEFT_OVERLAP, WEFT_CONTEND, WEFT_BLOCK, WEFT_OVERLAP};
    weft_rng r = weft_rng_seed(seed * 313);
    int n = seed % 2 ? 66 + weft_rng_below(&r, 55) : 10 + weft_rng_below(&r, 30);
    drawn_place x = draw_place(seed + 1000000, n, 2 + weft_rng_below(&r, 3),
                               models[weft_rng_below(&r, 4)], weft_rng_below(&r, 2) == 0);
    weft_arena *a = weft_arena_new();
    weft_solution s[MOST_SOLVERS];
    question q = {.seed = seed, .p = x.problem, .best = INFINITY, .steps = LARGE_STEPS, .t = t};

    x.problem->constraints.goal = weft_rng_below(&r, 4) == 0 ? WEFT_THROUGHPUT : WEFT_LATENCY;
    for (int i = 0; i < weft_place_count(); i++) {
        const weft_solver *solver = weft_place_at(i);
        double begin_s = cpu_s();

        s[i] = (weft_solution){.proof.outcome = WEFT_UNKNOWN};
        if (is_slow(solver->name) && (n > 30 || seed % slow_share != 0))
            continue;
        if (ask(solver, &q, NULL, a, &s[i]) != WEFT_OK)
            report(&q, solver->name, NULL, weft_message());
        else if (has_plan(&s[i].proof))
            q.best = fmin(q.best, s[i].proof.value);
        t->n_asked[i]++;
        t->n_optimal[i] += s[i].proof.outcome == WEFT_OPTIMAL;
        t->n_none[i] += s[i].proof.outcome == WEFT_INFEASIBLE;
        t->seconds[i] += cpu_s() - begin_s;
    }
    for (int i = 0; i < weft_place_count(); i++)
        if (fault_of(&q, &s[i].proof) != NULL)
            report(&q, weft_place_at(i)->name, &s[i].proof, fault_of(&q, &s[i].proof));
    t->n_large++;
    t->n_infeasible += isinf(q.best);
    weft_arena_free(a);
    weft_problem_free(x.problem);
}

TEST(no_bound_is_above_the_plan_of_another)
{
    tally t = {0};

    for (int i = 0; i < n_problems / LARGE_SHARE; i++)
        try_large(first_seed + (uint64_t)i, &t);
    print_message("%d problems of 10 to 120 tasks, %d without a known plan, %d faults\n", t.n_large,
                  t.n_infeasible, t.n_faults);
    for (int i = 0; i < weft_place_count(); i++)
        print_message("  %-12s asked %6d times, %6d optimal, %5d infeasible, %.1f s\n",
                      weft_place_at(i)->name, t.n_asked[i], t.n_optimal[i], t.n_none[i],
                      t.seconds[i]);
    CHECK_INT(t.n_faults, 0);
}

/* --- what was wrong once --------------------------------------------------------------------- */

#define COUNTER_EXAMPLES WEFT_TEST_DATA "/counterexamples/"

static const struct {
    const char *model, *platform;
    double optimum_s; /* 0: by trying every plan */
} wrong_once[] = {
    {COUNTER_EXAMPLES "orbit-int.json",          NULL,                                       0},
    {COUNTER_EXAMPLES "auto-memory.json",        NULL,                                       0},
    {COUNTER_EXAMPLES "orbit.json",              NULL,                                       0},
    {COUNTER_EXAMPLES "place-onnx-orbit/m.onnx", COUNTER_EXAMPLES "place-onnx-orbit/p.json",
     1.4168e-5                                                                                },
};

/* A bound of 0 made a denormal grid, and tails became infinite: 11 was called optimal, not 2. */
TEST(counter_examples_stay_right)
{
    tally t = {0};

    for (size_t i = 0; i < sizeof wrong_once / sizeof *wrong_once; i++) {
        weft_request r = {.model = wrong_once[i].model, .platform = wrong_once[i].platform};
        question q = {.seed = i, .best = wrong_once[i].optimum_s, .is_known = true, .t = &t};
        weft_case c;

        CHECK_OK(weft_case_open(&r, &c));
        q.p = c.problem;
        if (!(q.best > 0))
            q.best = optimum_of(q.p);
        if (i == 0)
            CHECK(q.best == 2);
        ask_everybody(&q, NULL, NULL);
        weft_case_close(&c);
    }
    CHECK_INT(t.n_faults, 0);
}

/* Seeds that found something: infinite bounds, deadlines under calls, sums of stages, gains of
 * calls, a bound of 0 by a search beside a certificate of 0, windows of tasks that are all apart
 * but share weights, memories of less than a byte. */
TEST(seeds_that_found_something_find_nothing)
{
    static const uint64_t seeds[] = {96, 1858, 3420, 5010, 9611, 13216, 504289};
    tally t = {0};

    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++)
        try_small(seeds[i], &t);
    CHECK_INT(t.n_faults, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counter_examples_stay_right),
        cmocka_unit_test(seeds_that_found_something_find_nothing),
        cmocka_unit_test(nobody_claims_what_is_not_so),
        cmocka_unit_test(no_bound_is_above_the_plan_of_another),
    };
    int status;

    n_problems = argc > 1 ? atoi(argv[1]) : N_DRAWN(N_SHORT);
    first_seed = argc > 2 ? (uint64_t)atoll(argv[2]) : 1;
    slow_share = argc > 3 ? (uint64_t)atoll(argv[3]) : slow_share;
    make_folder();
    status = RUN_TESTS(tests);
    remove_folder();
    return status;
}
