/* SPDX-License-Identifier: MIT */
/* Throughput: what holds for every problem, against all mappings there are. Loads of the reference
 * are summed here by the definition, tensor by tensor. */
#include "check.h"
#include "fixtures.h"
#include "load.h"

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
static double period_of(const weft_problem *p, const int *device)
{
    loads l = {0};
    double most_s = 0;

    for (int u = 0; u < p->n_tasks; u++) {
        for (int v = 0; v < u; v++)
            if (p->colour[u] >= 0 && p->colour[u] == p->colour[v] && device[u] != device[v])
                return INFINITY;
        if ((p->pin[u] >= 0 && p->pin[u] != device[u]) || isinf(weft_task_s(p, u, device[u])))
            return INFINITY;
        l.device_s[device[u]] += weft_task_s(p, u, device[u]);
    }
    for (int t = 0; t < p->n_tensors; t++)
        add_tensor(p, t, device, &l);
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

static double least_period(const weft_problem *p)
{
    int device[MOST_TASKS] = {0};
    double least = INFINITY;

    do {
        least = fmin(least, period_of(p, device));
    } while (next_mapping(p, device));
    return least;
}

/* --- problems -------------------------------------------------------------------------------- */

/* Every second one with limited memory; a few colours and pins that leave a device. */
static weft_problem *drawn(uint64_t seed)
{
    int n = 2 + (int)(seed % (MOST_TASKS - 1)), k = 2 + (int)(seed / 7 % 2);
    weft_problem *p =
        seed % 2 == 0 ? random_problem(seed, n, k) : random_limited_problem(seed, n, k);
    int *colour = WEFT_NEW(p->arena, int, n);

    for (int u = 0; u < n; u++)
        colour[u] = seed % 5 == 0 && u % 3 == 0 ? 4 : -1;
    p->colour = colour;
    p->transfer = models[seed / 2 % 3];
    p->ask.goal = WEFT_THROUGHPUT;
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
    for (uint64_t seed = 1; seed <= 300; seed++) {
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

    for (uint64_t seed = 1; seed <= N_PROBLEMS; seed++) {
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
    CHECK(n_plans > N_PROBLEMS / 2);
}

TEST(the_same_seed_and_steps_give_the_same_plan)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        weft_problem *p = random_problem(seed, 60, 4);
        answer x, y;

        p->ask.goal = WEFT_THROUGHPUT;
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
        cmocka_unit_test(the_same_seed_and_steps_give_the_same_plan),
    };

    return RUN_TESTS(tests);
}
