/* SPDX-License-Identifier: MIT */
/* Every solver of sharded networks against every plan there is, and against every other's bound.
 *
 *     test_shard_oracle [INSTANCES [SEED]]      more than the suite draws, or others
 *
 * 1. Small networks on hard machines (equal devices, designs that cannot run everything, single
 * links of high latency, magnitudes from 1e-21 to 1e15, memory that binds), whatever is asked for:
 * the best plan by trying all of them (brute_shards.c, on the smallest instances also with the
 * simulator as the only judge). Nobody says optimal of anything else, nobody says that there is no
 * plan if there is, and no bound is above, with and without --steps.
 * 2. Larger ones, of which the optimum is not known: a machine that is faster, wider, quicker to
 * answer, larger, or has more designs is never worse; other names, exchanged devices and another
 * unit of time change nothing. A plan for one machine is a plan for a better one: its value is not
 * below the bound there. */
#include "check.h"
#include "place.h"
#include "shard.h"

#include "brute_shards.h"
#include "draw_small.h"

#include <stdlib.h>

static const double EXACT = 1e-9; /* relative */

static int n_instances = 0; /* 0: as many as the suite takes */
static uint64_t first_seed = 1;

static int drawn(int n_in_suite)
{
    return n_instances > 0 ? n_instances : N_DRAWN(n_in_suite);
}

/* --- instances ------------------------------------------------------------------------------- */

typedef struct instance {
    uint64_t seed;
    const weft_graph *graph;
    weft_platform *platform;
    weft_shard_problem *sharding;
    weft_arena *a;
} instance;

/* False: there is a step that no accelerator can run. */
static bool open_on(instance *x, uint64_t seed, const weft_graph *g, const small_machine *m,
                    weft_shard_constraints constraints)
{
    weft_status status;

    *x = (instance){.seed = seed, .graph = g, .platform = small_platform(m), .a = weft_arena_new()};
    status = weft_shard_problem_new(g, x->platform, &constraints, &x->sharding);
    if (status != WEFT_OK && strstr(weft_message(), "supported by no") == NULL)
        fail_msg("seed %llu: %s", (unsigned long long)seed, weft_message());
    return status == WEFT_OK;
}

static void close_instance(instance *x)
{
    weft_shard_problem_free(x->sharding);
    weft_platform_free(x->platform);
    weft_arena_free(x->a);
}

static weft_shard_solution solve(const instance *x, const weft_shard_solver *solver, int64_t steps)
{
    weft_shard_options options = {
        .placer = x->sharding->constraints.is_concurrent ? weft_place_find("auto") : NULL};
    weft_run run = {.seed = (int64_t)x->seed,
                    .n_threads = 1,
                    .limit_s = INFINITY,
                    .steps = steps,
                    .scratch = weft_arena_new()};
    weft_shard_solution out;

    if (weft_shard_solve(solver, x->sharding, &options, &run, x->a, &out) != WEFT_OK)
        fail_msg("seed %llu, %s: %s", (unsigned long long)x->seed, solver->name, weft_message());
    weft_arena_free(run.scratch);
    return out;
}

static bool has_plan(const weft_shard_solution *s)
{
    return s->proof.outcome == WEFT_OPTIMAL || s->proof.outcome == WEFT_BOUNDED;
}

static void check_at_most(const instance *x, const char *who, const char *what, double value,
                          double most)
{
    if (!(value <= most * (1 + EXACT)))
        fail_msg("seed %llu, %s: %s is %.17g, expected at most %.17g", (unsigned long long)x->seed,
                 who, what, value, most);
}

/* --- machines -------------------------------------------------------------------------------- */

static double draw_scale(weft_rng *r, double lo, double hi)
{
    return lo * pow(hi / lo, weft_rng_real(r));
}

static const double FASTEST = 1e25; /* operations or bytes a second that a platform may have */

static void for_all_links(small_machine *m, double bandwidth, double latency)
{
    for (int i = 0; i < m->n; i++) {
        m->host[i] = fmin(m->host[i] * bandwidth, FASTEST);
        m->host_more_s[i] *= latency;
        for (int k = 0; k < m->n; k++) {
            m->link[i][k] = fmin(m->link[i][k] * bandwidth, FASTEST);
            m->more_s[i][k] *= latency;
        }
    }
    m->latency_s *= latency;
    m->host_latency_s *= latency;
}

static void for_all_designs(small_machine *m, double factor)
{
    for (int k = 0; k < SMALL_KINDS; k++)
        for (int d = 0; d < SMALL_DESIGNS; d++) {
            small_design *x = &m->design[k][d];

            x->flops_per_s = fmin(x->flops_per_s * factor, FASTEST);
            x->bytes_per_s = fmin(x->bytes_per_s * factor, FASTEST);
        }
}

/* A design that cannot run everything. */
static void restrict_designs(small_machine *m, weft_rng *r)
{
    static const char *const only[] = {"tensor", "Conv, MaxPool", "reduce, element, norm",
                                       "tensor, reduce", "MatMul, Gemm, Softmax, Add"};

    for (int k = 0; k < SMALL_KINDS; k++)
        for (int d = 0; d < SMALL_DESIGNS; d++)
            if (weft_rng_below(r, 2) == 0)
                m->design[k][d].only = only[weft_rng_below(r, 5)];
}

static void lag(small_machine *m, weft_rng *r)
{
    double longest = draw_scale(r, 1e-9, 1e-2);

    for (int i = 0; i < m->n; i++) {
        m->host_more_s[i] = weft_rng_below(r, 2) == 0 ? 0 : longest * weft_rng_real(r);
        for (int k = i + 1; k < m->n; k++)
            m->more_s[i][k] = weft_rng_below(r, 2) == 0 ? 0 : longest * weft_rng_real(r);
    }
}

/* Everything alike: one design, links of one bandwidth, no latencies. */
static void level(small_machine *m)
{
    for (int i = 0; i < m->n; i++) {
        m->kind[i] = 0;
        m->host[i] = m->host[0];
        for (int k = i + 1; k < m->n; k++)
            m->link[i][k] = m->link[0][1] > 0 ? m->link[0][1] : m->host[0];
    }
    m->design[0][1] = m->design[0][0];
    m->latency_s = m->host_latency_s = 0;
}

/* All magnitudes. */
static void spread(small_machine *m, weft_rng *r)
{
    double bandwidth = draw_scale(r, 1e-6, 1e6), latency = draw_scale(r, 1e-3, 1e3);

    for_all_links(m, bandwidth, latency);
    for_all_designs(m, draw_scale(r, 1e-4, 1e9));
}

/* Designs, links or both take next to no time. */
static void hurry(small_machine *m, weft_rng *r)
{
    const small_design instant = {
        .flops_per_s = 1e24, .bytes_per_s = 1e24, .tensor = 1, .reduce = 1};
    int what = weft_rng_below(r, 3);

    if (what > 0)
        for_all_links(m, 1e15, 0);
    for (int d = 0; d < SMALL_DESIGNS && what < 2; d++)
        m->design[0][d] = instant;
}

static small_machine draw_machine(weft_rng *r, int n, bool is_restricted)
{
    small_machine m = small_draw_machine(r, n, 1 + weft_rng_below(r, 2), 2);

    if (weft_rng_below(r, 4) == 0)
        level(&m);
    if (weft_rng_below(r, 3) == 0)
        lag(&m, r);
    if (weft_rng_below(r, 3) == 0)
        spread(&m, r);
    if (weft_rng_below(r, 6) == 0)
        hurry(&m, r);
    if (is_restricted)
        restrict_designs(&m, r);
    m.hides = weft_rng_below(r, 4) == 0;
    return m;
}

static double weights_of(const weft_graph *g)
{
    double bytes = 0;

    for (int i = 0; i < g->n_tensors; i++)
        bytes += g->tensor[i].kind == WEFT_WEIGHT ? (double)g->tensor[i].bytes : 0;
    return bytes;
}

static void limit_memory(small_machine *m, const weft_graph *g, weft_rng *r)
{
    double all = weights_of(g) + (double)weft_graph_peak_bytes(g);

    for (int k = 0; k < SMALL_KINDS; k++)
        m->memory_bytes[k] = fmax(1, floor(all * (0.2 + weft_rng_real(r))));
}

/* --- the whole space ------------------------------------------------------------------------- */

/* Five questions in turn: any plan, stretches, no rotation, side by side, that without rotation. */
static weft_shard_constraints ask_of(uint64_t seed)
{
    uint64_t k = seed / SMALL_FAMILIES % 5;

    return (weft_shard_constraints){
        .is_concurrent = k >= 3, .is_contiguous = k == 1, .has_no_sharing = k == 2 || k == 4};
}

typedef struct tally {
    int n, n_simulated, n_none, n_limited, n_restricted, n_concurrent;
    int64_t n_runs, n_plans, n_optimal, n_infeasible;
} tally;

/* What a solver says against the best value there is. */
static void check_claims(const instance *x, const char *who, const weft_shard_solution *s,
                         double best, tally *t)
{
    t->n_runs++;
    t->n_plans += has_plan(s);
    t->n_optimal += s->proof.outcome == WEFT_OPTIMAL;
    t->n_infeasible += s->proof.outcome == WEFT_INFEASIBLE;
    check_at_most(x, who, "the bound", s->proof.bound, best);
    check_at_most(x, who, "what is certified", s->proof.certified, s->proof.bound);
    if (s->proof.outcome == WEFT_INFEASIBLE && best < INFINITY)
        fail_msg("seed %llu, %s: infeasible, but there is a plan of %.17g",
                 (unsigned long long)x->seed, who, best);
    if (!has_plan(s))
        return;
    check_at_most(x, who, "the best value there is", best, s->proof.value);
    CHECK(s->measures.over_device < 0);
    if (s->proof.outcome == WEFT_OPTIMAL)
        check_at_most(x, who, "the optimum", s->proof.value, best);
}

/* The plan once more: legal, and worth what was said. */
static void check_plan(const instance *x, const weft_shard_solution *s)
{
    weft_shard_plan plan = weft_shard_plan_copy(&s->plan, x->a);
    weft_shard_plan_measures m;
    weft_violation violation;

    CHECK_INT(weft_shard_plan_check(x->sharding, &plan, &violation, 1, x->a), 0);
    CHECK_OK(weft_shard_plan_evaluate(x->sharding, &plan, x->a, &m));
    CHECK(m.latency_s == s->proof.value && m.over_device < 0);
}

static void check_solvers(const instance *x, double best, tally *t)
{
    static const int64_t steps[] = {0, 1, 3, 20};
    weft_proof floor;

    weft_shard_bound(x->sharding, x->a, &floor);
    check_at_most(x, "floor", "the bound", floor.bound, best);
    for (int i = 0; i < weft_shard_count(); i++) {
        const weft_shard_solver *solver = weft_shard_at(i);
        bool is_auto = strcmp(solver->name, "auto") == 0;

        for (int k = is_auto ? 0 : 3; k < 4; k++) {
            weft_shard_solution s = solve(x, solver, steps[k]);

            check_claims(x, solver->name, &s, best, t);
            if (has_plan(&s))
                check_plan(x, &s);
        }
    }
}

/* The best value, by the quick oracle, by the simulator, or by both, which must agree; NAN: too
 * many plans. */
static double best_of(const instance *x, bool has_memory, tally *t)
{
    bool is_quick = !(x->sharding->constraints.is_concurrent && x->sharding->hides);
    brute_shards_answer s = brute_shards_simulated(x->sharding, has_memory, 4000, x->a);
    brute_shards_answer q = {.value = NAN};
    bool is_known = s.n_plans <= 4000;

    if (is_quick)
        q = brute_shards(x->sharding, has_memory, x->a);
    t->n_simulated += is_known;
    if (is_known && is_quick && !(s.value == q.value || fabs(s.value - q.value) <= EXACT * q.value))
        fail_msg("seed %llu: oracles disagree: %.17g, simulated %.17g", (unsigned long long)x->seed,
                 q.value, s.value);
    return is_known ? s.value : q.value;
}

static void check_instance(uint64_t seed, tally *t)
{
    weft_rng r = weft_rng_seed(seed);
    int n = 1 + weft_rng_below(&r, 3), most_steps = n > 2 ? 3 : 4;
    weft_graph *g = small_network(&r, (small_family)(seed % SMALL_FAMILIES), 2, most_steps);
    bool is_restricted = weft_rng_below(&r, 4) == 0, is_limited = weft_rng_below(&r, 3) == 0;
    weft_shard_constraints constraints = ask_of(seed);
    small_machine m = draw_machine(&r, n < 2 ? 2 : n, is_restricted);
    instance x;
    double best;

    if (seed % 4 == 0)
        weft_graph_fuse(g, true);
    m.n = n;
    m.has_host |= n == 1;
    if (is_limited)
        limit_memory(&m, g, &r);
    if (open_on(&x, seed, g, &m, constraints) && !isnan(best = best_of(&x, is_limited, t))) {
        t->n++;
        t->n_none += best == INFINITY;
        t->n_limited += is_limited;
        t->n_restricted += is_restricted;
        t->n_concurrent += constraints.is_concurrent;
        check_solvers(&x, best, t);
    }
    close_instance(&x);
    weft_graph_free(g);
}

TEST(nobody_claims_what_is_not_so)
{
    tally t = {0};
    int n = drawn(110);

    for (uint64_t seed = first_seed; t.n < n; seed++)
        check_instance(seed, &t);
    print_message(
        "sharding: %d problems (%d by the simulator alone; memory limited in %d, designs in "
        "%d, side by side %d, no plan for %d): %lld runs, %lld plans, %lld optimal, %lld "
        "infeasible, none of it wrong\n",
        t.n, t.n_simulated, t.n_limited, t.n_restricted, t.n_concurrent, t.n_none,
        (long long)t.n_runs, (long long)t.n_plans, (long long)t.n_optimal,
        (long long)t.n_infeasible);
    CHECK(!IS_THOROUGH || (t.n_simulated > t.n / 4 && t.n_limited > t.n / 6 && t.n_none > 0 &&
                           t.n_restricted > t.n / 10 && t.n_concurrent > t.n / 5));
    CHECK(t.n_optimal > t.n && t.n_plans > 4 * t.n);
}

/* --- relations ------------------------------------------------------------------------------- */

typedef struct relations {
    int n, n_pairs, n_proved;
} relations;

/* `best` of auto on another machine, or for another question. */
static weft_shard_solution value_on(uint64_t seed, const weft_graph *g, const small_machine *m,
                                    weft_shard_constraints constraints, instance *x)
{
    if (!open_on(x, seed, g, m, constraints))
        return (weft_shard_solution){
            .proof = {.outcome = WEFT_INFEASIBLE, .value = INFINITY, .bound = INFINITY}
        };
    return solve(x, weft_shard_find("auto"), 300);
}

/* Whatever can be done in the first case can be done in the second, in the same time or less. */
static void check_no_worse(const instance *x, const char *what, const weft_shard_solution *first,
                           const weft_shard_solution *second, relations *t)
{
    bool are_proved = first->proof.outcome == WEFT_OPTIMAL && second->proof.outcome == WEFT_OPTIMAL;

    t->n_pairs++;
    check_at_most(x, what, "the bound", second->proof.bound, first->proof.value);
    if (second->proof.outcome == WEFT_INFEASIBLE && has_plan(first))
        fail_msg("seed %llu, %s: infeasible", (unsigned long long)x->seed, what);
    if (are_proved) {
        t->n_proved++;
        check_at_most(x, what, "the value", second->proof.value, first->proof.value);
    }
}

/* One machine, or question, is no worse than the other. */
static void compare(uint64_t seed, const weft_graph *g, const char *what,
                    const weft_shard_solution *first, const small_machine *better,
                    weft_shard_constraints constraints, relations *t)
{
    instance x;
    weft_shard_solution second = value_on(seed, g, better, constraints, &x);

    check_no_worse(&x, what, first, &second, t);
    close_instance(&x);
}

/* Neither is worse, by the factor: all times are that much longer. */
static void compare_equal(uint64_t seed, const weft_graph *g, const char *what,
                          const weft_shard_solution *first, const small_machine *other,
                          weft_shard_constraints constraints, double factor, relations *t)
{
    weft_shard_solution scaled = *first;
    instance x;
    weft_shard_solution second = value_on(seed, g, other, constraints, &x);

    scaled.proof.value *= factor;
    scaled.proof.bound *= factor;
    check_no_worse(&x, what, &scaled, &second, t);
    check_no_worse(&x, what, &second, &scaled, t);
    close_instance(&x);
}

static void check_machines(uint64_t seed, const weft_graph *g, const small_machine *m,
                           weft_shard_constraints constraints, const weft_shard_solution *s,
                           relations *t)
{
    small_machine fast = *m, wide = *m, prompt = *m, roomy = *m, more = *m;

    for_all_designs(&fast, 3);
    compare(seed, g, "faster designs", s, &fast, constraints, t);
    for_all_links(&wide, 5, 1);
    compare(seed, g, "wider links", s, &wide, constraints, t);
    for_all_links(&prompt, 1, 0.25);
    compare(seed, g, "lower latencies", s, &prompt, constraints, t);
    for (int k = 0; k < SMALL_KINDS; k++) {
        roomy.memory_bytes[k] *= 1.3;
        more.n_designs[k] = SMALL_DESIGNS;
    }
    compare(seed, g, "more memory", s, &roomy, constraints, t);
    compare(seed, g, "more designs", s, &more, constraints, t);
}

static void check_same(uint64_t seed, const weft_graph *g, const small_machine *m,
                       weft_shard_constraints constraints, const weft_shard_solution *s,
                       relations *t)
{
    small_machine swapped = *m, exchanged = small_exchange(m, 0, 1), slow = *m;

    swapped.is_swapped = true;
    compare_equal(seed, g, "other names", s, &swapped, constraints, 1, t);
    if (m->kind[0] == m->kind[1])
        compare_equal(seed, g, "exchanged accelerators", s, &exchanged, constraints, 1, t);
    for_all_designs(&slow, 0.125);
    for_all_links(&slow, 0.125, 8);
    if (m->design[0][0].rows + m->design[0][1].rows + m->design[1][0].rows + m->design[1][1].rows ==
        0) /* the clock of arrays is not scaled */
        compare_equal(seed, g, "another unit of time", s, &slow, constraints, 8, t);
}

static void check_questions(uint64_t seed, const weft_graph *g, const small_machine *m,
                            weft_shard_constraints constraints, const weft_shard_solution *s,
                            relations *t)
{
    weft_shard_constraints wide = constraints;

    wide.is_contiguous = false;
    compare(seed, g, "not contiguous", s, m, wide, t);
    wide = constraints;
    wide.has_no_sharing = false;
    compare(seed, g, "with sharing", s, m, wide, t);
    wide = (weft_shard_constraints){.is_concurrent = true,
                                    .has_no_sharing = constraints.has_no_sharing};
    if (!(m->memory_bytes[0] > 0)) /* what runs side by side needs more memory at a time */
        compare(seed, g, "side by side", s, m, wide, t);
}

static void check_relations(uint64_t seed, relations *t)
{
    weft_rng r = weft_rng_seed(seed);
    weft_graph *g = small_network(&r, (small_family)(seed % SMALL_FAMILIES), 2, 7);
    small_machine m = draw_machine(&r, 2 + weft_rng_below(&r, 3), weft_rng_below(&r, 5) == 0);
    weft_shard_constraints constraints = ask_of(seed);
    instance x;
    weft_shard_solution s;

    if (weft_rng_below(&r, 3) == 0)
        limit_memory(&m, g, &r);
    s = value_on(seed, g, &m, constraints, &x);
    if (x.sharding != NULL) {
        t->n++;
        for (int i = 0; i < weft_shard_count(); i++) {
            weft_shard_solution other = solve(&x, weft_shard_at(i), 20);

            check_at_most(&x, weft_shard_at(i)->name, "the bound of auto", s.proof.bound,
                          other.proof.value);
            check_at_most(&x, weft_shard_at(i)->name, "the bound", other.proof.bound,
                          s.proof.value);
        }
        check_machines(seed, g, &m, constraints, &s, t);
        check_same(seed, g, &m, constraints, &s, t);
        check_questions(seed, g, &m, constraints, &s, t);
    }
    close_instance(&x);
    weft_graph_free(g);
}

TEST(better_machines_are_never_worse)
{
    relations t = {0};
    int n = drawn(20);

    for (uint64_t seed = first_seed + 500000; t.n < n; seed++)
        check_relations(seed, &t);
    print_message("sharding: %d problems, %d relations to others, both proved in %d\n", t.n,
                  t.n_pairs, t.n_proved);
    CHECK(t.n_pairs > 7 * t.n && t.n_proved > t.n_pairs / 4);
}

int main(int n_args, char **arg)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_claims_what_is_not_so),
        cmocka_unit_test(better_machines_are_never_worse),
    };

    if (n_args > 1)
        n_instances = (int)strtol(arg[1], NULL, 10);
    if (n_args > 2)
        first_seed = strtoull(arg[2], NULL, 10);
    return RUN_TESTS(tests);
}
