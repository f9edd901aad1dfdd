/* SPDX-License-Identifier: MIT */
/* Periods under calls against all placements of small problems, by the definition alone: tasks and
 * tensors, no blocks, no merging. */
#include "calls_stream.h"
#include "check.h"

enum { MOST_TASKS = 7, MOST_DEVICES = 4, MOST_TENSORS = 32, MOST_READS = 96 };

/* --- random problems ------------------------------------------------------------------------- */

typedef struct draft {
    weft_rng rng;
    int n, k;
    double seconds[MOST_TASKS * MOST_DEVICES];
    double amount[MOST_TENSORS], memory[MOST_TENSORS];
    bool is_weight[MOST_TENSORS];
    int producer[MOST_TENSORS], reader_at[MOST_TENSORS + 1], reader[MOST_READS];
    int n_tensors, n_reads;
    double per_byte[MOST_DEVICES * MOST_DEVICES], latency[MOST_DEVICES * MOST_DEVICES];
    double capacity[MOST_DEVICES];
    int pin[MOST_TASKS], colocation[MOST_TASKS];
    bool is_backward[MOST_TASKS];
} draft;

static bool chance(draft *d, int of)
{
    return weft_rng_below(&d->rng, of) == 0;
}

/* Half of the problems have equal accelerators; a third of all tasks do no work. Numbers are
 * multiples of 1/4: sums are exact. */
static void draw_times(draft *d, bool is_equal)
{
    for (int u = 0; u < d->n; u++) {
        bool is_idle = chance(d, 3);

        for (int e = 0; e < d->k; e++) {
            double time_s = is_idle ? 0 : 0.25 * (1 + weft_rng_below(&d->rng, 40));

            if (e > 1 && is_equal)
                time_s = d->seconds[u * d->k + 1];
            else if (e > 0 && chance(d, 12))
                time_s = INFINITY;
            d->seconds[u * d->k + e] = time_s;
        }
    }
}

static void draw_links(draft *d, bool is_equal)
{
    for (int e = 1; e < d->k; e++) {
        bool is_same = e > 1 && is_equal;
        double in = is_same ? d->per_byte[1] : 0.25 * weft_rng_below(&d->rng, 5);
        double out = is_same ? d->per_byte[d->k] : 0.25 * weft_rng_below(&d->rng, 5);

        d->per_byte[e] = in;
        d->per_byte[e * d->k] = out;
        d->latency[e] = d->latency[e * d->k] = is_same ? d->latency[1] : chance(d, 3) ? 0.5 : 0;
    }
}

static void add_tensor(draft *d, int producer, double amount, double memory)
{
    d->producer[d->n_tensors] = producer;
    d->amount[d->n_tensors] = amount;
    d->memory[d->n_tensors] = memory;
    d->is_weight[d->n_tensors] = producer < 0;
    d->reader_at[d->n_tensors++] = d->n_reads;
}

static void draw_tensors(draft *d)
{
    for (int u = 0; u < d->n; u++) {
        int n_results = 1 + chance(d, 4);

        for (int i = 0; i < n_results; i++) {
            int before = d->n_reads;

            add_tensor(d, u, weft_rng_below(&d->rng, 9), 0);
            for (int v = u + 1; v < d->n; v++) {
                /* what is forward needs nothing that is backward */
                if (chance(d, 3) && (d->is_backward[v] || !d->is_backward[u]))
                    d->reader[d->n_reads++] = v;
            }
            if (d->n_reads == before)
                d->n_tensors--;
        }
    }
}

static void draw_weights(draft *d, bool is_limited)
{
    double sum = 0;

    for (int u = 0; u < d->n; u++) {
        double bytes = weft_rng_below(&d->rng, 6);

        if (bytes == 0)
            continue;
        sum += bytes;
        add_tensor(d, -1, 0, bytes);
        d->reader[d->n_reads++] = u;
        if (u + 1 < d->n && chance(d, 5))
            d->reader[d->n_reads++] = u + 1; /* two tasks share it */
    }
    for (int e = 0; e < d->k; e++)
        d->capacity[e] = is_limited ? ceil(sum * (1 + weft_rng_below(&d->rng, 4)) / 4) : INFINITY;
}

static void draw_rules(draft *d)
{
    bool has_colocations = chance(d, 2), is_training = chance(d, 2), has_pins = chance(d, 6);

    for (int u = 0; u < d->n; u++) {
        d->colocation[u] = has_colocations && chance(d, 2) ? weft_rng_below(&d->rng, 3) : -1;
        d->pin[u] = has_pins && chance(d, 4) ? weft_rng_below(&d->rng, d->k) : -1;
        if (d->pin[u] >= 0 && isinf(d->seconds[u * d->k + d->pin[u]]))
            d->pin[u] = -1;
        d->is_backward[u] = is_training && u >= d->n / 2;
    }
}

static weft_problem *draw(uint64_t seed, bool is_contiguous)
{
    static const char *const task[] = {"a", "b", "c", "d", "e", "f", "g"};
    static const char *const device[] = {"host", "x", "y", "z"};
    draft d = {.rng = weft_rng_seed(seed)};
    weft_problem *p = NULL;
    bool is_equal;

    d.n = 3 + weft_rng_below(&d.rng, MOST_TASKS - 2);
    d.k = 2 + weft_rng_below(&d.rng, d.n > 6 ? 2 : 3);
    is_equal = chance(&d, 2);
    draw_times(&d, is_equal);
    draw_rules(&d);
    draw_links(&d, is_equal);
    draw_tensors(&d);
    draw_weights(&d, chance(&d, 3));
    d.reader_at[d.n_tensors] = d.n_reads;
    CHECK_OK(weft_problem_make(
        &(weft_problem_spec){
            .name = "random",
            .n_tasks = d.n,
            .n_devices = d.k,
            .n_tensors = d.n_tensors,
            .task_name = task,
            .device_name = device,
            .seconds = d.seconds,
            .amount = d.amount,
            .memory = d.memory,
            .is_weight = d.is_weight,
            .producer = d.producer,
            .reader_at = d.reader_at,
            .reader = d.reader,
            .latency_s = d.latency,
            .second_per_byte = d.per_byte,
            .capacity = d.capacity,
            .pin = d.pin,
            .colocation = d.colocation,
            .is_backward = d.is_backward,
            .host = 0,
            .transfer = WEFT_CALLS,
            .constraints = {.goal = WEFT_THROUGHPUT,
                            .is_calls = true,
                            .is_contiguous = is_contiguous}
    },
        &p));
    return p;
}

/* --- the definition -------------------------------------------------------------------------- */

static bool is_legal(const weft_problem *p, const int *device)
{
    double bytes[MOST_DEVICES] = {0};

    for (int u = 0; u < p->n_tasks; u++) {
        if (isinf(weft_task_s(p, u, device[u])) || (p->pin[u] >= 0 && p->pin[u] != device[u]))
            return false;
        for (int v = 0; v < u; v++)
            if (p->colocation[u] >= 0 && p->colocation[u] == p->colocation[v] &&
                device[u] != device[v])
                return false;
    }
    for (int t = 0; t < p->n_tensors; t++)
        for (int d = 0; d < p->n_devices && p->is_weight[t]; d++)
            for (int i = p->reader_at[t]; i < p->reader_at[t + 1]; i++)
                if (device[p->reader[i]] == d) {
                    bytes[d] += p->memory[t];
                    break;
                }
    for (int d = 0; d < p->n_devices; d++)
        if (bytes[d] > p->capacity[d])
            return false;
    return true;
}

/* Do the devices have an order in which no forward edge goes back? */
static bool is_chain(const weft_problem *p, const int *device)
{
    bool before[MOST_DEVICES][MOST_DEVICES] = {{false}};

    for (int v = 0; v < p->n_tasks; v++)
        for (int e = p->pred_at[v]; e < p->pred_at[v + 1]; e++)
            if (!p->is_backward[v] && !p->is_backward[p->pred[e]] &&
                device[p->pred[e]] != device[v])
                before[device[p->pred[e]]][device[v]] = true;
    for (int m = 0; m < p->n_devices; m++)
        for (int i = 0; i < p->n_devices; i++)
            for (int j = 0; j < p->n_devices; j++)
                before[i][j] |= before[i][m] && before[m][j];
    for (int i = 0; i < p->n_devices; i++)
        if (before[i][i])
            return false;
    return true;
}

static double period_of(const weft_problem *p, const int *device)
{
    double load_s[MOST_DEVICES] = {0}, most_s = 0;

    for (int u = 0; u < p->n_tasks; u++)
        load_s[device[u]] += weft_task_s(p, u, device[u]);
    for (int t = 0; t < p->n_tensors; t++) {
        int home = p->producer[t] < 0 ? -1 : device[p->producer[t]];
        bool is_sent = false;

        for (int d = 0; d < p->n_devices && home >= 0; d++) {
            bool is_read = false;

            for (int i = p->reader_at[t]; i < p->reader_at[t + 1]; i++)
                is_read |= device[p->reader[i]] == d;
            if (!is_read || d == home)
                continue;
            is_sent = true;
            load_s[d] += d == p->host ? 0 : weft_send_s(p, t, p->host, d);
        }
        if (is_sent && home != p->host)
            load_s[home] += weft_send_s(p, t, home, p->host);
    }
    for (int d = 0; d < p->n_devices; d++)
        most_s = fmax(most_s, load_s[d]);
    return most_s;
}

/* The least period of all placements; INFINITY: there is none. */
static double least_period(const weft_problem *p)
{
    int device[MOST_TASKS] = {0}, u = 0;
    double least_s = INFINITY;

    while (u < p->n_tasks) {
        if (is_legal(p, device) && (!p->constraints.is_contiguous || is_chain(p, device)))
            least_s = fmin(least_s, period_of(p, device));
        for (u = 0; u < p->n_tasks && ++device[u] == p->n_devices; u++)
            device[u] = 0;
    }
    return least_s;
}

/* --- tests ----------------------------------------------------------------------------------- */

static weft_status solve(const weft_problem *p, const void *options, weft_run *run, weft_plan *plan,
                         weft_proof *proof)
{
    (void)options;
    return p->constraints.is_contiguous ? weft_calls_contiguous(p, run, plan, proof)
                                        : weft_calls_free(p, run, plan, proof);
}

static const weft_solver solver = {.name = "stream", .summary = "under test", .solve = solve};

static weft_solution solved(const weft_problem *p, int64_t steps, int64_t seed, weft_arena *a)
{
    weft_arena *scratch = weft_arena_new();
    weft_run run = {
        .seed = seed, .n_threads = 1, .limit_s = INFINITY, .steps = steps, .scratch = scratch};
    weft_solution s;

    CHECK_OK(weft_solve(&solver, p, NULL, &run, NULL, a, &s));
    weft_arena_free(scratch);
    return s;
}

TEST(pipelines_are_the_best_of_all)
{
    int n_none = 0, n_plans = 0;

    for (uint64_t seed = 1; seed <= N_DRAWN(3000); seed++) {
        weft_arena *a = weft_arena_new();
        weft_problem *p = draw(seed, true);
        weft_solution s = solved(p, 0, 1, a);
        double least_s = least_period(p);

        if (isinf(least_s)) {
            CHECK_INT(s.proof.outcome, WEFT_INFEASIBLE);
            n_none++;
        } else {
            if (fabs(s.proof.value - least_s) > 1e-9 * least_s || s.proof.outcome != WEFT_OPTIMAL)
                fail_msg("seed %d: value %g (%s), least %g", (int)seed, s.proof.value,
                         weft_outcome_name(s.proof.outcome), least_s);
            CHECK_NEAR(period_of(p, s.plan.device), s.proof.value);
            n_plans++;
        }
        weft_problem_free(p);
        weft_arena_free(a);
    }
    CHECK(n_none >= N_DRAWN(50));
    CHECK(n_plans >= N_DRAWN(2000));
}

TEST(free_placements_respect_bounds_and_are_mostly_the_best)
{
    int n_best = 0, n_plans = 0;

    for (uint64_t seed = 1; seed <= N_DRAWN(3000); seed++) {
        weft_arena *a = weft_arena_new();
        weft_problem *p = draw(seed, false);
        weft_solution s = solved(p, 2000, 1, a);
        double least_s = least_period(p);

        if (isinf(least_s)) {
            CHECK(s.proof.outcome == WEFT_INFEASIBLE || s.proof.outcome == WEFT_UNKNOWN);
        } else if (s.plan.n_tasks > 0) {
            CHECK(s.proof.value >= least_s * (1 - 1e-9));
            CHECK(s.proof.bound <= least_s * (1 + 1e-9));
            CHECK(s.proof.certified <= s.proof.bound);
            CHECK_NEAR(weft_grain_up(s.proof.grain_s, weft_load_bound_of(p, s.proof.price)),
                       s.proof.certified);
            CHECK_NEAR(period_of(p, s.plan.device), s.proof.value);
            n_best += s.proof.value <= least_s * (1 + 1e-9);
            n_plans++;
        }
        weft_problem_free(p);
        weft_arena_free(a);
    }
    CHECK(n_plans >= N_DRAWN(2000));
    CHECK(n_best >= n_plans * 99 / 100);
}

TEST(the_same_steps_give_the_same_plan)
{
    for (uint64_t seed = 1; seed <= N_DRAWN(100); seed++) {
        weft_arena *a = weft_arena_new();
        weft_problem *p = draw(seed, seed % 2);
        weft_solution one = solved(p, 500, 7, a), other = solved(p, 500, 7, a);

        CHECK_INT(one.plan.n_tasks, other.plan.n_tasks);
        for (int u = 0; u < one.plan.n_tasks; u++)
            CHECK_INT(one.plan.device[u], other.plan.device[u]);
        CHECK(one.proof.bound == other.proof.bound);
        weft_problem_free(p);
        weft_arena_free(a);
    }
}

/* However early a search is stopped, its plan is legal and its bound holds. */
TEST(a_stopped_search_claims_nothing_wrong)
{
    for (uint64_t seed = 1; seed <= N_DRAWN(400); seed++) {
        weft_arena *a = weft_arena_new();
        weft_problem *p = draw(seed, true);
        weft_solution s = solved(p, 1 + (int64_t)(seed % 20), 1, a);
        double least_s = least_period(p);

        if (s.plan.n_tasks > 0)
            CHECK(s.proof.value >= least_s * (1 - 1e-9));
        if (s.proof.outcome == WEFT_OPTIMAL)
            CHECK_NEAR(s.proof.value, least_s);
        if (s.proof.outcome == WEFT_INFEASIBLE)
            CHECK(isinf(least_s));
        CHECK(s.proof.bound <= least_s * (1 + 1e-9));
        weft_problem_free(p);
        weft_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pipelines_are_the_best_of_all),
        cmocka_unit_test(free_placements_respect_bounds_and_are_mostly_the_best),
        cmocka_unit_test(the_same_steps_give_the_same_plan),
        cmocka_unit_test(a_stopped_search_claims_nothing_wrong),
    };

    return RUN_TESTS(tests);
}
