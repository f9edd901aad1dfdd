/* SPDX-License-Identifier: MIT */
/* Calls against the definition, spelled out by itself: the simulator, legality, the lengths that
 * the search keeps up to date, the path bound and the solver, on random problems with colours,
 * pins, memory, shared weights and unequal accelerators. */
#include "calls_latency.h"
#include "calls_state.h"
#include "check.h"
#include "invariants.h"
#include "place.h"
#include "stream.h"

#include <stdlib.h>

enum { MOST = 24, MOST_NODES = MOST + 8, MOST_READS = 2 * MOST * MOST };

/* --- random problems ------------------------------------------------------------------------- */

typedef struct drawing {
    weft_rng rng;
    int n, k;
    const char *task[MOST], *device[8];
    double seconds[MOST * 8], amount[2 * MOST], memory[2 * MOST], latency[64], rate[64];
    double capacity[8];
    bool is_weight[2 * MOST], is_backward[MOST];
    int producer[2 * MOST], reader_at[2 * MOST + 1], reader[MOST_READS];
    int pin[MOST], colocation[MOST];
    int n_tensors;
} drawing;

static double half(drawing *x, int most)
{
    return 0.5 * weft_rng_below(&x->rng, most + 1);
}

static bool one_in(drawing *x, int n)
{
    return weft_rng_below(&x->rng, n) == 0;
}

static void draw_tensor(drawing *x, int maker, bool is_weight)
{
    int t = x->n_tensors++, at = x->reader_at[t];

    x->producer[t] = maker;
    x->is_weight[t] = is_weight;
    x->amount[t] = is_weight ? 0 : half(x, 8);
    x->memory[t] = is_weight ? weft_rng_below(&x->rng, 6) : 0;
    for (int v = maker + 1; v < x->n; v++)
        if (is_weight ? one_in(x, x->n) : one_in(x, 1 + (v - maker)))
            x->reader[at++] = v;
    x->reader_at[t + 1] = at;
}

static void draw_times(drawing *x, int host, bool is_equal)
{
    for (int u = 0; u < x->n; u++) {
        double call_s = half(x, 6);

        for (int d = 0; d < x->k; d++) {
            double *s = &x->seconds[u * x->k + d];

            *s = d == host ? half(x, 20) : is_equal ? call_s : half(x, 8);
            if (one_in(x, 25))
                *s = INFINITY;
        }
        if (isinf(x->seconds[u * x->k + host]) || one_in(x, 2))
            x->seconds[u * x->k + host] = half(x, 20); /* mostly there is a plan */
        x->colocation[u] = one_in(x, 4) ? weft_rng_below(&x->rng, 2) : -1;
        x->pin[u] = -1;
        x->is_backward[u] = u > x->n / 2 && one_in(x, 2);
    }
    if (one_in(x, 4))
        x->pin[weft_rng_below(&x->rng, x->n)] = host;
}

static weft_problem *draw_problem(uint64_t seed, int n, int k, weft_goal goal)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l",
                                        "m", "n", "o", "p", "q", "r", "s", "t", "u", "v", "w", "x"};
    drawing *x = calloc(1, sizeof *x);
    int host;
    weft_problem *p = NULL;
    bool is_equal;

    x->rng = weft_rng_seed(seed);
    x->n = n;
    x->k = k;
    host = weft_rng_below(&x->rng, k);
    is_equal = one_in(x, 2);
    for (int u = 0; u < n; u++)
        x->task[u] = names[u];
    for (int d = 0; d < k; d++) {
        x->device[d] = names[d];
        x->capacity[d] = d == host || one_in(x, 3) ? INFINITY : 2.0 + weft_rng_below(&x->rng, 10);
        for (int e = 0; e < k; e++) {
            bool is_free = is_equal || d == e;
            x->latency[d * k + e] = is_free ? 0 : half(x, 2);
            x->rate[d * k + e] = d == e ? 0 : is_equal ? 1 : 0.5 + half(x, 2);
        }
    }
    draw_times(x, host, is_equal);
    for (int u = 0; u < n; u++)
        draw_tensor(x, u, false);
    draw_tensor(x, -1, false); /* an input: free */
    for (int i = 0; i < n / 2; i++)
        draw_tensor(x, -1, true);
    CHECK_OK(weft_problem_make(&(weft_problem_spec){.name = "calls",
                                                    .n_tasks = n,
                                                    .n_devices = k,
                                                    .n_tensors = x->n_tensors,
                                                    .task_name = x->task,
                                                    .device_name = x->device,
                                                    .seconds = x->seconds,
                                                    .amount = x->amount,
                                                    .memory = x->memory,
                                                    .is_weight = x->is_weight,
                                                    .producer = x->producer,
                                                    .reader_at = x->reader_at,
                                                    .reader = x->reader,
                                                    .latency_s = x->latency,
                                                    .second_per_byte = x->rate,
                                                    .capacity = x->capacity,
                                                    .pin = x->pin,
                                                    .colocation = x->colocation,
                                                    .is_backward = x->is_backward,
                                                    .host = host,
                                                    .transfer = WEFT_CALLS,
                                                    .constraints = {.goal = goal}},
                               &p));
    weft_problem_check(p);
    free(x);
    return p;
}

/* --- the definition -------------------------------------------------------------------------- */

static bool is_read_on(const weft_problem *p, const int *device, int t, int d)
{
    for (int k = p->reader_at[t]; k < p->reader_at[t + 1]; k++)
        if (device[p->reader[k]] == d)
            return true;
    return false;
}

/* Length of the call of d; for the host the sum of its tasks. */
static double naive_load(const weft_problem *p, const int *device, int d)
{
    double sum = 0;

    for (int u = 0; u < p->n_tasks; u++)
        if (device[u] == d)
            sum += weft_task_s(p, u, d);
    for (int t = 0; t < p->n_tensors && d != p->host; t++) {
        int home = p->producer[t] < 0 ? -1 : device[p->producer[t]];
        bool is_sent = false;

        for (int e = 0; e < p->n_devices; e++)
            is_sent |= e != d && is_read_on(p, device, t, e);
        if (home >= 0 && home != d && is_read_on(p, device, t, d))
            sum += weft_send_s(p, t, p->host, d);
        if (home == d && is_sent)
            sum += weft_send_s(p, t, d, p->host);
    }
    return sum;
}

/* By Warshall's closure over calls and tasks of the host, then longest chains by repetition. */
static double naive_latency(const weft_problem *p, const int *device)
{
    int n = p->n_devices + p->n_tasks;
    bool waits[MOST_NODES][MOST_NODES] = {{false}};
    double length[MOST_NODES] = {0}, end[MOST_NODES] = {0}, last = 0;
    int node[MOST];

    for (int u = 0; u < p->n_tasks; u++) {
        node[u] = device[u] == p->host ? p->n_devices + u : device[u];
        if (device[u] == p->host)
            length[node[u]] = weft_task_s(p, u, p->host);
    }
    for (int d = 0; d < p->n_devices; d++)
        length[d] = d == p->host ? 0 : naive_load(p, device, d);
    for (int t = 0; t < p->n_tensors; t++)
        for (int k = p->reader_at[t]; k < p->reader_at[t + 1]; k++)
            if (p->producer[t] >= 0 && node[p->producer[t]] != node[p->reader[k]])
                waits[node[p->reader[k]]][node[p->producer[t]]] = true;
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n && waits[i][k]; j++)
                waits[i][j] |= waits[k][j];
    for (int i = 0; i < n; i++)
        if (waits[i][i])
            return INFINITY;
    for (int round = 0; round <= n; round++)
        for (int i = 0; i < n; i++) {
            double begin = 0;

            for (int j = 0; j < n; j++)
                if (waits[i][j])
                    begin = fmax(begin, end[j]);
            end[i] = begin + length[i];
            last = fmax(last, end[i]);
        }
    return last;
}

static bool naive_is_allowed(const weft_problem *p, const int *device)
{
    double bytes[8] = {0};

    for (int u = 0; u < p->n_tasks; u++) {
        if (isinf(weft_task_s(p, u, device[u])) || (p->pin[u] >= 0 && p->pin[u] != device[u]))
            return false;
        for (int v = 0; v < u; v++)
            if (p->colocation[u] >= 0 && p->colocation[u] == p->colocation[v] &&
                device[u] != device[v])
                return false;
    }
    for (int t = 0; t < p->n_tensors; t++)
        for (int d = 0; d < p->n_devices; d++)
            if (p->is_weight[t] && is_read_on(p, device, t, d))
                bytes[d] += p->memory[t];
    for (int d = 0; d < p->n_devices; d++)
        if (bytes[d] > p->capacity[d])
            return false;
    return true;
}

/* The next placement in counting order; false after the last. */
static bool next_placement(const weft_problem *p, int *device)
{
    for (int u = 0; u < p->n_tasks; u++) {
        if (++device[u] < p->n_devices)
            return true;
        device[u] = 0;
    }
    return false;
}

/* INFINITY: there is no plan. */
static double best_of_all(const weft_problem *p)
{
    int device[MOST] = {0};
    double best = INFINITY;

    do
        if (naive_is_allowed(p, device))
            best = fmin(best, naive_latency(p, device));
    while (next_placement(p, device));
    return best;
}

/* A random placement on devices that support the tasks; colours and memory do not matter. Few
 * changes of device along the tasks make circles rare. */
static void draw_placement(const weft_problem *p, weft_rng *rng, int *device)
{
    int d = weft_rng_below(rng, p->n_devices);

    for (int u = 0; u < p->n_tasks; u++) {
        if (weft_rng_below(rng, 3) == 0)
            d = weft_rng_below(rng, p->n_devices);
        device[u] = d;
        for (int e = 0; e < p->n_devices && isinf(weft_task_s(p, u, device[u])); e++)
            device[u] = e;
    }
}

/* --- simulator and legality ------------------------------------------------------------------ */

static void compare_loads(const weft_problem *p, const int *device, const weft_measures *m)
{
    double period = 0;

    for (int d = 0; d < p->n_devices; d++) {
        CHECK_NEAR(m->load_s[d], naive_load(p, device, d));
        period = fmax(period, m->load_s[d]);
    }
    CHECK_NEAR(m->period_s, period);
}

/* Breaches that do not speak of what the placement was not drawn for. */
static int breaches_of_time(const weft_problem *p, const weft_plan *plan, weft_arena *a)
{
    weft_violation violation[64];
    int n = weft_plan_check(p, plan, violation, 64, a), n_of_time = 0;

    for (int i = 0; i < n && i < 64; i++)
        n_of_time += !strstr(violation[i].what, "pinned") && !strstr(violation[i].what, "share") &&
                     !strstr(violation[i].what, "bytes");
    return n_of_time;
}

TEST(the_simulator_follows_the_definition_of_latency)
{
    int n_circles = 0, n_runs = 0;

    for (uint64_t seed = 1; seed <= N_DRAWN(3000); seed++) {
        int n = 2 + (int)(seed % 12);
        weft_problem *p = draw_problem(seed, n, 1 + (int)(seed % 4), WEFT_LATENCY);
        weft_arena *a = weft_arena_new();
        weft_rng rng = weft_rng_seed(seed);
        weft_plan plan = weft_plan_new(p->n_tasks, a);
        weft_measures m;
        double expected;

        draw_placement(p, &rng, plan.device);
        expected = naive_latency(p, plan.device);
        if (isinf(expected)) {
            CHECK_FAILS(weft_evaluate(p, &plan, a, &m), "in a circle");
            CHECK(breaches_of_time(p, &plan, a) > 0);
            n_circles++;
        } else {
            CHECK_OK(weft_evaluate(p, &plan, a, &m));
            CHECK_NEAR(m.makespan_s, expected);
            CHECK_NEAR(m.timeline->end_of_all_s, expected);
            compare_loads(p, plan.device, &m);
            CHECK_INT(breaches_of_time(p, &plan, a), 0);
            n_runs++;
        }
        weft_arena_free(a);
        weft_problem_free(p);
    }
    CHECK(n_circles > N_DRAWN(200) && n_runs > N_DRAWN(1000));
}

/* The chain explains the latency without gaps of its own making. */
TEST(chains_add_up_to_the_latency)
{
    for (uint64_t seed = 1; seed <= N_DRAWN(500); seed++) {
        weft_problem *p = draw_problem(seed, 10, 3, WEFT_LATENCY);
        weft_arena *a = weft_arena_new();
        weft_rng rng = weft_rng_seed(seed);
        weft_plan plan = weft_plan_new(p->n_tasks, a);
        weft_measures m;
        double sum = 0;

        draw_placement(p, &rng, plan.device);
        if (naive_latency(p, plan.device) < INFINITY) {
            CHECK_OK(weft_evaluate(p, &plan, a, &m));
            for (int i = 0; i < m.n_chain; i++)
                sum += m.chain[i].end_s - m.chain[i].start_s;
            CHECK_NEAR(sum, m.makespan_s);
            for (int i = 0; i < m.n_chain; i++)
                CHECK(m.chain[i].kind != WEFT_CHAIN_WAIT);
        }
        weft_arena_free(a);
        weft_problem_free(p);
    }
}

static int n_beside(const weft_plan *plan, int u)
{
    int n = 0;

    for (int v = 0; v < plan->n_tasks; v++)
        n += v != u && plan->device[v] == plan->device[u];
    return n;
}

/* A task that starts earlier, or later than what follows it allows, is found. */
TEST(moved_starts_are_not_legal)
{
    int n_checked = 0;

    for (uint64_t seed = 1; seed <= N_DRAWN(1500); seed++) {
        weft_problem *p = draw_problem(seed, 8, 3, WEFT_LATENCY);
        weft_arena *a = weft_arena_new();
        weft_rng rng = weft_rng_seed(seed);
        weft_plan plan = weft_plan_new(p->n_tasks, a);
        weft_measures m;
        int u = weft_rng_below(&rng, p->n_tasks);

        draw_placement(p, &rng, plan.device);
        if (naive_latency(p, plan.device) < INFINITY) {
            bool has_work;

            CHECK_OK(weft_evaluate(p, &plan, a, &m));
            /* later than the call's time for tasks, or before what it waits for; alone in its call
             * or on the host a task may be late if nobody waits */
            has_work = plan.device[u] != p->host && weft_task_s(p, u, plan.device[u]) > 0 &&
                       n_beside(&plan, u) > 0;
            if (has_work) {
                plan.start_s[u] += 1000;
                CHECK(breaches_of_time(p, &plan, a) > 0);
                plan.start_s[u] -= 1000;
                n_checked++;
            }
            if (plan.start_s[u] > 0) {
                plan.start_s[u] -= 0.25;
                CHECK(breaches_of_time(p, &plan, a) > 0);
                n_checked++;
            }
        }
        weft_arena_free(a);
        weft_problem_free(p);
    }
    CHECK(n_checked > N_DRAWN(400));
}

/* --- throughput ------------------------------------------------------------------------------ */

static bool naive_has_stages(const weft_problem *p, const int *device)
{
    bool waits[8][8] = {{false}};

    for (int v = 0; v < p->n_tasks; v++)
        for (int k = p->pred_at[v]; k < p->pred_at[v + 1]; k++)
            if (!p->is_backward[v] && !p->is_backward[p->pred[k]])
                waits[device[v]][device[p->pred[k]]] |= device[v] != device[p->pred[k]];
    for (int k = 0; k < p->n_devices; k++)
        for (int i = 0; i < p->n_devices; i++)
            for (int j = 0; j < p->n_devices; j++)
                waits[i][j] |= waits[i][k] && waits[k][j];
    for (int i = 0; i < p->n_devices; i++)
        if (waits[i][i])
            return false;
    return true;
}

TEST(a_period_is_the_largest_load_whatever_waits_for_whom)
{
    int n_circles = 0;

    for (uint64_t seed = 1; seed <= N_DRAWN(1500); seed++) {
        weft_problem *p =
            draw_problem(seed, 2 + (int)(seed % 12), 1 + (int)(seed % 4), WEFT_THROUGHPUT);
        weft_arena *a = weft_arena_new();
        weft_rng rng = weft_rng_seed(seed);
        weft_plan plan = weft_plan_new(p->n_tasks, a), again = weft_plan_new(p->n_tasks, a);
        weft_measures m;
        double end_s[40];

        draw_placement(p, &rng, plan.device);
        n_circles += isinf(naive_latency(p, plan.device));
        CHECK_OK(weft_evaluate(p, &plan, a, &m));
        compare_loads(p, plan.device, &m);
        CHECK_INT(breaches_of_time(p, &plan, a), 0);
        run_stream(p, &plan, 40, end_s);
        CHECK(end_s[39] >= 40 * m.period_s * (1 - 1e-12));
        CHECK(end_s[39] - end_s[19] <= 20 * m.period_s * (1 + 1e-9) + end_s[0] + 1e-9);
        memcpy(again.device, plan.device, (size_t)p->n_tasks * sizeof(int));
        CHECK_OK(weft_evaluate(p, &again, a, &m)); /* the order of starts plays no part */
        for (int u = 0; u < p->n_tasks; u++)
            CHECK(again.start_s[u] == plan.start_s[u]);
        p->constraints.is_contiguous = true;
        CHECK_INT(breaches_of_time(p, &plan, a) == 0, naive_has_stages(p, plan.device));
        weft_arena_free(a);
        weft_problem_free(p);
    }
    CHECK(n_circles > N_DRAWN(100)); /* about one in ten waits in a circle */
}

/* --- what the search keeps up to date -------------------------------------------------------- */

TEST(lengths_of_calls_follow_moves)
{
    for (uint64_t seed = 1; seed <= N_DRAWN(300); seed++) {
        weft_problem *p = draw_problem(seed, 14, 4, WEFT_LATENCY);
        weft_arena *a = weft_arena_new();
        weft_rng rng = weft_rng_seed(seed);
        weft_domain m = weft_domain_new(p, a);
        weft_calls_state *s = weft_calls_state_new(&m, a);

        for (int i = 0; i < 40; i++) {
            int g = weft_rng_below(&rng, m.n_groups), d = weft_rng_below(&rng, 4);
            double value;

            if (!m.has[g * 4 + d])
                continue;
            weft_calls_state_move(s, g, d);
            for (int e = 0; e < 4; e++)
                if (s->n_on[e] > 0 && isfinite(naive_load(p, s->device, e)))
                    CHECK(fabs(s->call_s[e] - naive_load(p, s->device, e)) <= 1e-9);
            value = weft_calls_state_value(s);
            if (isfinite(value) || isfinite(naive_latency(p, s->device)))
                CHECK_NEAR(value, naive_latency(p, s->device));
        }
        weft_arena_free(a);
        weft_problem_free(p);
    }
}

/* --- bounds and the solver ------------------------------------------------------------------- */

/* A random path from a random task on. */
static int draw_path(const weft_problem *p, weft_rng *rng, int *path)
{
    int n = 0, u = weft_rng_below(rng, p->n_tasks);

    for (;;) {
        int degree = p->succ_at[u + 1] - p->succ_at[u];

        path[n++] = u;
        if (degree == 0)
            return n;
        u = p->succ[p->succ_at[u] + weft_rng_below(rng, degree)];
    }
}

static weft_solution solve_calls(const weft_problem *p, int64_t steps, weft_arena *a)
{
    weft_run run = {.seed = 1, .n_threads = 1, .limit_s = INFINITY, .steps = steps};
    weft_solution s;

    run.scratch = weft_arena_new();
    CHECK_OK(weft_solve(weft_place_find("calls"), p, NULL, &run, NULL, a, &s));
    weft_arena_free(run.scratch);
    return s;
}

typedef struct tally {
    int n, n_plans, n_tight, n_found, n_optimal;
} tally;

static void hold_against_all(const weft_problem *p, uint64_t seed, tally *t)
{
    weft_arena *a = weft_arena_new();
    weft_rng rng = weft_rng_seed(seed);
    double best = best_of_all(p);
    int path[MOST];
    weft_proof bound;
    weft_solution s;

    weft_place_bound(p, a, &bound);
    CHECK(bound.bound <= best * (1 + 1e-12) + 1e-12);
    CHECK_NEAR(bound.n_path > 0 && isfinite(bound.bound)
                   ? weft_calls_path_bound_of(p, bound.path, bound.n_path)
                   : 0,
               bound.n_path > 0 && isfinite(bound.bound) ? bound.bound : 0);
    for (int i = 0; i < 4; i++) {
        int n = draw_path(p, &rng, path);
        CHECK(weft_calls_path_bound_of(p, path, n) <= best * (1 + 1e-12) + 1e-12);
    }
    s = solve_calls(p, 24000, a);
    t->n++;
    t->n_plans += isfinite(best);
    if (isfinite(best)) {
        bool has_plan = s.proof.outcome == WEFT_OPTIMAL || s.proof.outcome == WEFT_BOUNDED;

        CHECK(s.proof.outcome != WEFT_INFEASIBLE);
        CHECK(s.proof.value >= best * (1 - 1e-12));
        CHECK(s.proof.outcome != WEFT_OPTIMAL || s.proof.value <= best * (1 + 1e-9));
        t->n_tight += bound.bound >= best * (1 - 1e-9);
        t->n_found += has_plan && s.proof.value <= best * (1 + 1e-9);
        t->n_optimal += s.proof.outcome == WEFT_OPTIMAL;
    } else {
        CHECK(s.proof.outcome == WEFT_INFEASIBLE || s.proof.outcome == WEFT_UNKNOWN);
    }
    weft_arena_free(a);
}

TEST(no_plan_is_below_the_bound_and_the_search_finds_the_best)
{
    tally t = {0};

    for (uint64_t seed = 1; seed <= N_DRAWN(2400); seed++) {
        weft_problem *p =
            draw_problem(seed, 2 + (int)(seed % 5), 2 + (int)(seed % 2), WEFT_LATENCY);

        hold_against_all(p, seed, &t);
        weft_problem_free(p);
    }
    print_message(
        "%d problems, %d with a plan: bound tight on %d, best found on %d, proved on %d\n", t.n,
        t.n_plans, t.n_tight, t.n_found, t.n_optimal);
    CHECK(t.n_plans >= N_DRAWN(2000));
    CHECK(t.n_found >= t.n_plans - t.n_plans / 50);
    CHECK(t.n_tight >= t.n_plans / 3);
}

TEST(the_same_steps_give_the_same_plan)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        weft_problem *p = draw_problem(seed, 20, 4, WEFT_LATENCY);
        weft_arena *a = weft_arena_new();
        weft_solution one = solve_calls(p, 3000, a), two = solve_calls(p, 3000, a);

        CHECK_INT(one.proof.outcome, two.proof.outcome);
        CHECK(one.proof.bound == two.proof.bound);
        if (one.plan.device)
            CHECK(memcmp(one.plan.device, two.plan.device, 20 * sizeof(int)) == 0);
        weft_arena_free(a);
        weft_problem_free(p);
    }
}

/* List schedulers do not know calls: they have a legal plan or none, never an error. */
TEST(every_solver_answers_under_calls)
{
    for (uint64_t seed = 1; seed <= N_DRAWN(300); seed++) {
        weft_goal goal = seed % 2 ? WEFT_LATENCY : WEFT_THROUGHPUT;
        weft_problem *p = draw_problem(seed, 12, 3, goal);
        weft_arena *a = weft_arena_new();
        weft_proof bound;

        p->constraints.is_contiguous = seed % 4 == 0;
        weft_place_bound(p, a, &bound);
        for (int i = 0; i < weft_place_count(); i++) {
            weft_run run = {.seed = 1, .n_threads = 1, .limit_s = 5, .steps = 500};
            weft_solution s;

            run.scratch = weft_arena_new();
            CHECK_OK(weft_solve(weft_place_at(i), p, NULL, &run, &bound, a, &s));
            weft_arena_free(run.scratch);
        }
        weft_arena_free(a);
        weft_problem_free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_simulator_follows_the_definition_of_latency),
        cmocka_unit_test(chains_add_up_to_the_latency),
        cmocka_unit_test(moved_starts_are_not_legal),
        cmocka_unit_test(a_period_is_the_largest_load_whatever_waits_for_whom),
        cmocka_unit_test(lengths_of_calls_follow_moves),
        cmocka_unit_test(no_plan_is_below_the_bound_and_the_search_finds_the_best),
        cmocka_unit_test(the_same_steps_give_the_same_plan),
        cmocka_unit_test(every_solver_answers_under_calls),
    };

    return RUN_TESTS(tests);
}
