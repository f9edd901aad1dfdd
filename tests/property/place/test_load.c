/* SPDX-License-Identifier: MIT */
/* Throughput: what holds for every problem, against all mappings there are. Loads of the reference
 * are summed here by the definition, tensor by tensor. */
#include "check.h"
#include "fixtures.h"
#include "load.h"
#include "milp_assign.h"
#include "opt.h"
#include "priced_mapping.h"

enum { MOST_TASKS = 7, MOST_DEVICES = 3, N_PROBLEMS = 3600 };

static const weft_transfer models[] = {WEFT_OVERLAP, WEFT_CONTEND, WEFT_BLOCK};

/* --- loads by definition --------------------------------------------------------------------- */

typedef struct loads {
    double device_s[MOST_DEVICES], link_s[MOST_DEVICES * MOST_DEVICES], held[MOST_DEVICES];
} loads;

static bool reads_on(const weft_problem *p, int t, const int *device, int d)
{
    for (int i = p->reader_at[t]; i < p->reader_at[t + 1]; i++)
        if (device[p->reader[i]] == d)
            return true;
    return false;
}

static void add_tensor(const weft_problem *p, int t, const int *device, loads *l)
{
    int home = p->producer[t] < 0 ? p->host : device[p->producer[t]];

    for (int d = 0; d < p->n_devices; d++) {
        double seconds;

        if (!reads_on(p, t, device, d))
            continue;
        if (p->is_weight[t])
            l->held[d] += p->memory[t];
        if (p->is_weight[t] || home < 0 || home == d)
            continue;
        seconds = weft_send_s(p, t, home, d);
        if (p->transfer == WEFT_BLOCK) {
            l->device_s[home] += seconds;
            l->device_s[d] += seconds;
        }
        l->link_s[home * p->n_devices + d] += seconds;
    }
}

/* INFINITY: not a mapping at all, or weights do not fit. Links are by pairs: so are the routes of
 * problems made by fixtures. */
static loads loads_of(const weft_problem *p, const int *device)
{
    loads l = {0};

    for (int u = 0; u < p->n_tasks; u++)
        l.device_s[device[u]] += weft_task_s(p, u, device[u]);
    for (int t = 0; t < p->n_tensors; t++)
        add_tensor(p, t, device, &l);
    return l;
}

static double period_of(const weft_problem *p, const int *device)
{
    loads l;
    double most_s = 0;

    for (int u = 0; u < p->n_tasks; u++) {
        for (int v = 0; v < u; v++)
            if (p->colocation[u] >= 0 && p->colocation[u] == p->colocation[v] &&
                device[u] != device[v])
                return INFINITY;
        if ((p->pin[u] >= 0 && p->pin[u] != device[u]) || isinf(weft_task_s(p, u, device[u])))
            return INFINITY;
    }
    l = loads_of(p, device);
    for (int d = 0; d < p->n_devices; d++) {
        if (l.held[d] > p->capacity[d])
            return INFINITY;
        most_s = fmax(most_s, l.device_s[d]);
    }
    for (int k = 0; p->transfer == WEFT_CONTEND && k < p->n_devices * p->n_devices; k++)
        most_s = fmax(most_s, l.link_s[k]);
    return most_s;
}

/* The next mapping; false after the last. */
static bool next_mapping(const weft_problem *p, int *device)
{
    for (int u = 0; u < p->n_tasks; u++) {
        if (++device[u] < p->n_devices)
            return true;
        device[u] = 0;
    }
    return false;
}

/* Forward edges reach from device to device without a cycle: by the closure of "gives to". */
static bool is_pipeline(const weft_problem *p, const int *device)
{
    bool reaches[MOST_DEVICES][MOST_DEVICES] = {{false}};

    for (int v = 0; v < p->n_tasks; v++)
        for (int i = p->pred_at[v]; i < p->pred_at[v + 1]; i++)
            if (device[v] != device[p->pred[i]] && !p->is_backward[v] &&
                !p->is_backward[p->pred[i]])
                reaches[device[p->pred[i]]][device[v]] = true;
    for (int k = 0; k < p->n_devices; k++)
        for (int d = 0; d < p->n_devices; d++)
            for (int e = 0; e < p->n_devices; e++)
                reaches[d][e] |= reaches[d][k] && reaches[k][e];
    for (int d = 0; d < p->n_devices; d++)
        if (reaches[d][d])
            return false;
    return true;
}

static double least_period(const weft_problem *p)
{
    int device[MOST_TASKS] = {0};
    double least = INFINITY;

    do {
        if (!p->constraints.is_contiguous || is_pipeline(p, device))
            least = fmin(least, period_of(p, device));
    } while (next_mapping(p, device));
    return least;
}

/* The least period of a mix of all mappings, and of those whose weights fit alone. */
static double least_mix(const weft_problem *p)
{
    int device[MOST_TASKS] = {0}, n_rows = p->n_devices * (1 + p->n_devices);
    weft_arena *a = weft_arena_new();
    weft_milp *m = weft_milp_new("all");
    weft_milp_options o = {.limit_s = INFINITY, .is_relaxed = true};
    weft_milp_result r;
    double period_s;

    for (int i = 0; i < n_rows; i++)
        weft_milp_row(m, NULL, -INFINITY, 1);
    do {
        loads l;
        int c;

        if (isinf(period_of(p, device)))
            continue;
        l = loads_of(p, device);
        c = weft_milp_column(m, NULL, 0, INFINITY, -1, false);
        for (int d = 0; d < p->n_devices; d++)
            weft_milp_term(m, d, c, l.device_s[d]);
        for (int k = 0; p->transfer == WEFT_CONTEND && k < p->n_devices * p->n_devices; k++)
            weft_milp_term(m, p->n_devices + k, c, l.link_s[k]);
    } while (next_mapping(p, device));
    CHECK_OK(weft_milp_solve(m, &o, a, &r));
    period_s = weft_milp_n_columns(m) == 0 ? INFINITY : -1 / r.value;
    weft_milp_free(m);
    weft_arena_free(a);
    return period_s;
}

/* --- problems -------------------------------------------------------------------------------- */

/* Every second one with limited memory; a few colours and pins that leave a device. */
static weft_problem *drawn(uint64_t seed)
{
    int n = 2 + (int)(seed % (MOST_TASKS - 1)), k = 2 + (int)(seed / 7 % 2);
    weft_problem *p =
        seed % 2 == 0 ? random_problem(seed, n, k) : random_limited_problem(seed, n, k);
    int *colocation = WEFT_NEW(p->arena, int, n);

    for (int u = 0; u < n; u++)
        colocation[u] = seed % 5 == 0 && u % 3 == 0 ? 4 : -1;
    p->colocation = colocation;
    p->transfer = models[seed / 2 % 3];
    p->constraints.goal = WEFT_THROUGHPUT;
    return p;
}

typedef struct answer {
    weft_arena *a;
    weft_solution s;
} answer;

static answer solved(const weft_problem *p, const char *name)
{
    answer out = {.a = weft_arena_new()};
    weft_run run = {.seed = 1, .n_threads = 1, .limit_s = INFINITY, .steps = 400};
    weft_proof bound;

    run.scratch = weft_arena_new();
    weft_place_bound(p, out.a, &bound);
    CHECK_OK(weft_solve(weft_place_find(name), p, NULL, &run, &bound, out.a, &out.s));
    weft_arena_free(run.scratch);
    return out;
}

static bool has_plan(const weft_solution *s)
{
    return s->proof.outcome == WEFT_OPTIMAL || s->proof.outcome == WEFT_BOUNDED;
}

/* --- tests ----------------------------------------------------------------------------------- */

static void check_loads(const weft_mapping *map, const weft_problem *p, weft_plan *plan,
                        weft_arena *a)
{
    weft_measures m;

    memcpy(plan->device, map->device, (size_t)p->n_tasks * sizeof *map->device);
    for (int u = 0; u < p->n_tasks; u++)
        plan->start_s[u] = u;
    CHECK_OK(weft_evaluate(p, plan, a, &m));
    for (int d = 0; d < p->n_devices; d++)
        CHECK_NEAR(map->load_s[d], m.load_s[d]);
    for (int r = p->n_devices; r < map->n_resources; r++)
        CHECK_NEAR(map->load_s[r], m.link_s[r - p->n_devices]);
    CHECK_NEAR(weft_mapping_period(map), m.period_s);
}

static int possible_device(const weft_domain *m, int g, weft_rng *rng)
{
    int n = m->problem->n_devices, d = weft_rng_below(rng, n);

    while (!m->has[g * n + d])
        d = (d + 1) % n;
    return d;
}

TEST(loads_follow_moves_as_the_simulator_sums_them)
{
    for (uint64_t seed = 1; seed <= N_DRAWN(300); seed++) {
        weft_problem *p = random_problem(seed, 12, 4);
        weft_arena *a = weft_arena_new();
        weft_rng rng = weft_rng_seed(seed);
        weft_plan plan = weft_plan_new(p->n_tasks, a);
        weft_domain m;
        weft_mapping map;

        p->transfer = models[seed % 3];
        m = weft_domain_new(p, a);
        map = weft_mapping_new(&m, a);
        weft_mapping_clear(&map);
        for (int g = 0; g < m.n_groups; g++) /* in any order of groups */
            weft_mapping_move(&map, (g * 5 + 3) % m.n_groups,
                              possible_device(&m, (g * 5 + 3) % m.n_groups, &rng));
        weft_mapping_keep(&map);
        for (int i = 0; i < 20; i++) {
            check_loads(&map, p, &plan, a);
            for (int k = 0; k < 3; k++) {
                int g = weft_rng_below(&rng, m.n_groups);
                weft_mapping_move(&map, g, possible_device(&m, g, &rng));
            }
            if (i % 2 == 0)
                weft_mapping_keep(&map);
            else
                weft_mapping_undo_all(&map);
        }
        weft_arena_free(a);
        weft_problem_free(p);
    }
}

TEST(small_problems_are_solved_and_proved)
{
    int n_plans = 0;

    for (uint64_t seed = 1; seed <= N_DRAWN(N_PROBLEMS); seed++) {
        weft_problem *p = drawn(seed);
        double least = least_period(p);
        answer x = solved(p, "load");

        if (isinf(least)) {
            CHECK_INT(x.s.proof.outcome, WEFT_INFEASIBLE);
        } else {
            CHECK_INT(x.s.proof.outcome, WEFT_OPTIMAL);
            CHECK_NEAR(x.s.proof.value, least);
            CHECK(x.s.proof.bound <= least * (1 + 1e-9));
            CHECK_NEAR(period_of(p, x.s.plan.device), least);
            n_plans++;
        }
        weft_arena_free(x.a);
        weft_problem_free(p);
    }
    CHECK(n_plans > N_DRAWN(N_PROBLEMS) / 2);
}

TEST(pipeline_stages_are_solved_and_proved)
{
    int n_plans = 0;

    for (uint64_t seed = 1; seed <= N_DRAWN(N_PROBLEMS); seed++) {
        weft_problem *p = drawn(seed);
        double least;
        answer x;

        if (seed % 4 == 0) {
            bool *is_backward = WEFT_NEW(p->arena, bool, p->n_tasks);

            is_backward[p->n_tasks - 1] = true;
            p->is_backward = is_backward;
        }
        p->constraints.is_contiguous = true;
        least = least_period(p);
        x = solved(p, "load");
        if (isinf(least)) {
            CHECK_INT(x.s.proof.outcome, WEFT_INFEASIBLE);
        } else {
            CHECK_INT(x.s.proof.outcome, WEFT_OPTIMAL);
            CHECK_NEAR(x.s.proof.value, least);
            CHECK(is_pipeline(p, x.s.plan.device));
            n_plans++;
        }
        weft_arena_free(x.a);
        weft_problem_free(p);
    }
    CHECK(n_plans > N_DRAWN(N_PROBLEMS) / 2);
}

/* A chain whose stages are intervals: the bisection alone proves them, also where no search ends.
 */
TEST(stages_of_long_chains_are_proved)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        enum { N = 120, K = 4 };
        static char text[16 * N * (K + 1)];
        weft_rng rng = weft_rng_seed(seed);
        int at = 0;
        weft_problem *p;
        answer x;

        for (int u = 0; u < N; u++) {
            at += snprintf(text + at, sizeof text - (size_t)at, "%s", u == 0 ? "" : "/");
            for (int d = 0; d < K; d++)
                at += snprintf(text + at, sizeof text - (size_t)at, "%d ",
                               1 + weft_rng_below(&rng, 30));
        }
        for (int u = 1; u < N; u++)
            at += snprintf(text + at, sizeof text - (size_t)at, "%s%d-%d:1 ", u == 1 ? ";" : "",
                           u - 1, u);
        p = fixture_tasks(text);
        p->constraints = (weft_constraints){.goal = WEFT_THROUGHPUT, .is_contiguous = true};
        x = solved(p, "load");
        CHECK_INT(x.s.proof.outcome, WEFT_OPTIMAL);
        weft_arena_free(x.a);
        weft_problem_free(p);
    }
}

TEST(pricing_finds_the_cheapest_mapping)
{
    int n_exact = 0;

    for (uint64_t seed = 1; seed <= N_DRAWN(1200); seed++) {
        weft_problem *p = drawn(2 * seed); /* memory is not limited: pricing does not regard it */
        weft_arena *a = weft_arena_new();
        weft_rng rng = weft_rng_seed(seed);
        weft_domain m = weft_domain_new(p, a);
        weft_mapping map = weft_mapping_new(&m, a);
        double price[MOST_DEVICES * (MOST_DEVICES + 1)], value, least = INFINITY;
        int device[MOST_TASKS] = {0}, found[MOST_TASKS];

        for (int r = 0; r < map.n_resources; r++)
            price[r] = weft_rng_below(&rng, 4);
        if (!m.is_empty && weft_priced_mapping_exact(&map, price, a, found, &value)) {
            do {
                if (isinf(period_of(p, device)))
                    continue;
                weft_mapping_set(&map, device);
                least = fmin(least, weft_mapping_cost(&map, price));
            } while (next_mapping(p, device));
            CHECK_NEAR(value, least);
            weft_mapping_set(&map, found);
            CHECK_NEAR(weft_mapping_cost(&map, price), least);
            n_exact++;
        }
        weft_arena_free(a);
        weft_problem_free(p);
    }
    CHECK(n_exact > N_DRAWN(1000));
}

/* Without limits of memory the mix is the best of all mixes; with them, no worse than the best
 * mapping and no better than a mix of all mappings that fit alone. */
TEST(mixes_are_the_best_there_are)
{
    int n_mixed = 0;

    for (uint64_t seed = 1; seed <= N_DRAWN(450); seed++) {
        weft_problem *p = drawn(seed);
        double least = least_period(p), mixed = least_mix(p);
        answer x;

        p->constraints.is_mixed = true;
        x = solved(p, "load");
        if (isfinite(least)) {
            CHECK(has_plan(&x.s));
            CHECK(x.s.proof.value <= least * (1 + 1e-9));
            CHECK(x.s.proof.value >= mixed * (1 - 1e-7));
            CHECK(x.s.proof.bound <= mixed * (1 + 1e-7));
            if (seed % 2 == 0)
                CHECK(fabs(x.s.proof.value - mixed) <= 1e-6 * mixed);
            n_mixed += x.s.plan.n_variants > 1;
        }
        weft_arena_free(x.a);
        weft_problem_free(p);
    }
    CHECK(n_mixed > N_DRAWN(150));
}

/* Whole networks on single devices: no worse than the best of these, no better than the best mix of all
 * mappings; where transfers take no resource and memory is no limit, rates add up. */
TEST(replicas_share_the_items)
{
    int n_several = 0, n_sums = 0;

    for (uint64_t seed = 1; seed <= N_DRAWN(400); seed++) {
        weft_problem *p = drawn(seed);
        double mixed = least_mix(p), best = INFINITY, rate = 0;
        answer x;

        for (int d = 0; d < p->n_devices; d++) {
            int device[MOST_TASKS];
            double alone;

            for (int u = 0; u < p->n_tasks; u++)
                device[u] = d;
            alone = period_of(p, device);
            best = fmin(best, alone);
            rate += 1 / alone;
        }
        p->constraints.is_mixed = true;
        x = solved(p, "replicas");
        CHECK(has_plan(&x.s) == isfinite(best));
        if (has_plan(&x.s)) {
            CHECK(x.s.proof.value <= best * (1 + 1e-9));
            CHECK(x.s.proof.value >= mixed * (1 - 1e-7));
            CHECK(x.s.proof.bound <= mixed * (1 + 1e-7));
            n_several += x.s.plan.n_variants > 1;
        }
        if (has_plan(&x.s) && p->transfer == WEFT_OVERLAP && seed % 2 == 0) {
            CHECK(fabs(x.s.proof.value - 1 / rate) <= 1e-6 / rate);
            n_sums++;
        }
        weft_arena_free(x.a);
        weft_problem_free(p);
    }
    CHECK(n_several > N_DRAWN(40) && n_sums > N_DRAWN(10));
}

/* The program and all mappings agree; its relaxation is a bound, and no weaker than the load's. */
TEST(the_program_finds_the_least_period)
{
    int n_solved = 0;

    for (uint64_t seed = 1; seed <= 120; seed++) {
        weft_problem *p = drawn(seed);
        weft_arena *a = weft_arena_new();
        weft_milp_options o = {.limit_s = INFINITY};
        weft_milp_result r;
        weft_proof load = {0};
        weft_milp *program;
        weft_mapping map;
        weft_domain m;
        double least;
        int device[MOST_TASKS];

        p->constraints.is_contiguous = seed % 3 == 0;
        m = weft_domain_new(p, a);
        least = least_period(p);
        if (!m.is_empty && isfinite(least)) {
            map = weft_mapping_new(&m, a);
            program = weft_assign_build(&map, NULL);
            o.is_relaxed = seed % 2 == 0;
            CHECK_OK(weft_milp_solve(program, &o, a, &r));
            r.bound *= weft_assign_unit(&map);
            CHECK(r.bound <= least * (1 + 1e-9));
            weft_load_bound(&m, a, &load);
            CHECK(r.bound >= load.bound * (1 - 1e-5));
            if (!o.is_relaxed) {
                CHECK_INT(r.outcome, WEFT_MILP_OPTIMAL);
                CHECK(fabs(r.value * weft_assign_unit(&map) - least) <= 1e-5 * least);
                weft_assign_decode(&map, r.x, device);
                CHECK_NEAR(period_of(p, device), least);
                n_solved++;
            }
            weft_milp_free(program);
        }
        weft_arena_free(a);
        weft_problem_free(p);
    }
    CHECK(n_solved > 30);
}

/* Topcuoglu's example; values by enumeration of all 59,049 mappings elsewhere. */
TEST(periods_of_the_literature)
{
    static const double single_s[] = {36, 39, 120}; /* overlap, contend, block */
    static const double mix_s[] = {30.785357736803, 0, 44.327556748849};
    weft_problem *p = fixture_tasks(fixture_heft);

    for (int i = 0; i < 3; i++) {
        answer x;

        p->transfer = models[i];
        p->constraints = (weft_constraints){.goal = WEFT_THROUGHPUT};
        x = solved(p, "load");
        CHECK_INT(x.s.proof.outcome, WEFT_OPTIMAL);
        CHECK_NEAR(x.s.proof.value, single_s[i]);
        weft_arena_free(x.a);
        p->constraints.is_mixed = true;
        x = solved(p, "load");
        CHECK(x.s.proof.value <= single_s[i]);
        if (mix_s[i] > 0)
            CHECK(fabs(x.s.proof.value - mix_s[i]) <= 1e-6 * mix_s[i]);
        CHECK(x.s.proof.gap <= 1e-6);
        weft_arena_free(x.a);
    }
    weft_problem_free(p);
}

/* Under block the mix is pure data parallelism: 1 / (1/127 + 1/130 + 1/143). */
TEST(a_mix_of_single_devices)
{
    weft_problem *p = fixture_tasks(fixture_heft);
    answer x;

    p->transfer = WEFT_BLOCK;
    p->constraints = (weft_constraints){.goal = WEFT_THROUGHPUT, .is_mixed = true};
    x = solved(p, "load");
    CHECK_INT(x.s.plan.n_variants, 3);
    CHECK(fabs(x.s.proof.value - 1 / (1 / 127.0 + 1 / 130.0 + 1 / 143.0)) <= 1e-6);
    for (int w = 0; w < 3; w++)
        for (int u = 1; u < p->n_tasks; u++)
            CHECK_INT(x.s.plan.device[w * p->n_tasks + u], x.s.plan.device[w * p->n_tasks]);
    CHECK_NEAR(x.s.plan.share[0] + x.s.plan.share[1] + x.s.plan.share[2], 1.0);
    CHECK_NEAR(x.s.measures.makespan_s, 143.0);
    weft_arena_free(x.a);
    weft_problem_free(p);
}

TEST(the_front_of_latency_and_throughput)
{
    weft_problem *p = fixture_tasks(fixture_heft);
    weft_run run = {.seed = 1, .n_threads = 1, .limit_s = INFINITY};
    const weft_tradeoff *point;
    weft_arena *a;
    int n;

    for (int i = 0; i < 3; i++) {
        a = weft_arena_new();
        run.scratch = weft_arena_new();
        p->transfer = models[i];
        CHECK_OK(weft_place_front(p, &run, a, &point, &n));
        CHECK(n >= 2);
        for (int k = 0; k < n; k++) {
            weft_plan plan = point[k].plan;
            weft_measures m;

            CHECK_OK(weft_evaluate(p, &plan, a, &m));
            CHECK_NEAR(m.makespan_s, point[k].latency_s);
            CHECK_NEAR(m.period_s, point[k].period_s);
            CHECK(k == 0 || (point[k].latency_s > point[k - 1].latency_s &&
                             point[k].period_s < point[k - 1].period_s));
        }
        if (models[i] == WEFT_OVERLAP) { /* by enumeration of all plans elsewhere */
            CHECK_INT(n, 2);
            CHECK_NEAR(point[0].latency_s, 73.0);
            CHECK_NEAR(point[0].period_s, 47.0);
            CHECK_NEAR(point[1].latency_s, 74.0);
            CHECK_NEAR(point[1].period_s, 36.0);
        }
        CHECK_NEAR(point[n - 1].period_s, i == 0 ? 36.0 : i == 1 ? 39.0 : 120.0);
        weft_arena_free(run.scratch);
        weft_arena_free(a);
    }
    weft_problem_free(p);
}

/* Two devices that take 2 s and 3 s for all; shares 3/5 and 2/5 make 1 / (1/2 + 1/3) = 1.2 s. */
TEST(a_mix_by_hand)
{
    weft_problem *p = fixture_tasks("2 3");
    weft_arena *a = weft_arena_new();
    weft_plan plan = weft_plan_new_variants(1, 2, a);
    weft_violation violation[4];
    weft_measures m;

    p->constraints = (weft_constraints){.goal = WEFT_THROUGHPUT, .is_mixed = true};
    plan.device[1] = 1;
    plan.share[0] = 0.6;
    plan.share[1] = 0.4;
    CHECK_OK(weft_evaluate(p, &plan, a, &m));
    CHECK_NEAR(m.period_s, 1.2);
    CHECK_NEAR(m.makespan_s, 3.0);
    CHECK_INT(m.longest_way, 1);
    CHECK_INT(weft_plan_check(p, &plan, violation, 4, a), 0);
    p->constraints.most_period_s = 1.1;
    CHECK_INT(weft_plan_check(p, &plan, violation, 4, a), 1);
    p->constraints.most_period_s = 1.2;
    CHECK_INT(weft_plan_check(p, &plan, violation, 4, a), 0);
    p->constraints.most_latency_s = 2.5;
    CHECK_INT(weft_plan_check(p, &plan, violation, 4, a), 1); /* the second way takes 3 s */
    CHECK(strstr(violation[0].what, "way 2: ") == violation[0].what);
    p->constraints.most_latency_s = 0;
    plan.share[1] = 0.5;
    CHECK_INT(weft_plan_check(p, &plan, violation, 4, a), 2); /* shares add up to 1.1: period 1.5 */
    plan.share[1] = 0.4;
    p->constraints.is_mixed = false;
    CHECK_INT(weft_plan_check(p, &plan, violation, 4, a), 1);
    weft_arena_free(a);
    weft_problem_free(p);
}

TEST(limits_are_kept_or_refused)
{
    int n_kept = 0, n_refused = 0, n_proved = 0;

    for (uint64_t seed = 1; seed <= 150; seed++) {
        weft_problem *p = drawn(seed);
        double least = least_period(p);
        answer x;

        p->constraints.most_period_s = least * (0.6 + 0.1 * (double)(seed % 9));
        p->constraints.most_latency_s = 10 + 10 * (double)(seed % 13);
        if (!(p->constraints.most_period_s < INFINITY)) {
            weft_problem_free(p);
            continue;
        }
        x = solved(p, "load");
        if (has_plan(&x.s)) {
            CHECK(weft_constraints_allow(&p->constraints, x.s.measures.makespan_s,
                                         x.s.measures.period_s));
            CHECK(least <= p->constraints.most_period_s * (1 + 1e-9));
            n_kept++;
        } else {
            CHECK(x.s.proof.reason != NULL);
            n_refused++;
            n_proved += x.s.proof.outcome == WEFT_INFEASIBLE;
        }
        if (least > p->constraints.most_period_s * (1 + 1e-9))
            CHECK(!has_plan(&x.s));
        weft_arena_free(x.a);
        weft_problem_free(p);
    }
    CHECK(n_kept > 10 && n_refused > 10 && n_proved > 5);
}

TEST(the_same_seed_and_steps_give_the_same_plan)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        weft_problem *p = random_problem(seed, 60, 4);
        answer x, y;

        p->constraints.goal = WEFT_THROUGHPUT;
        p->transfer = models[seed % 3];
        x = solved(p, "load");
        y = solved(p, "load");
        CHECK(has_plan(&x.s));
        CHECK(memcmp(x.s.plan.device, y.s.plan.device, 60 * sizeof(int)) == 0);
        weft_arena_free(x.a);
        weft_arena_free(y.a);
        weft_problem_free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loads_follow_moves_as_the_simulator_sums_them),
        cmocka_unit_test(small_problems_are_solved_and_proved),
        cmocka_unit_test(pipeline_stages_are_solved_and_proved),
        cmocka_unit_test(stages_of_long_chains_are_proved),
        cmocka_unit_test(pricing_finds_the_cheapest_mapping),
        cmocka_unit_test(mixes_are_the_best_there_are),
        cmocka_unit_test(replicas_share_the_items),
        cmocka_unit_test(the_program_finds_the_least_period),
        cmocka_unit_test(periods_of_the_literature),
        cmocka_unit_test(a_mix_of_single_devices),
        cmocka_unit_test(the_front_of_latency_and_throughput),
        cmocka_unit_test(a_mix_by_hand),
        cmocka_unit_test(limits_are_kept_or_refused),
        cmocka_unit_test(the_same_seed_and_steps_give_the_same_plan),
    };

    return RUN_TESTS(tests);
}
