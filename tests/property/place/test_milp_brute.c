/* SPDX-License-Identifier: MIT */
/* What linear programming claims, against the truth: solver `milp` and programs with whole columns,
 * each on small random instances where everything can be tried. Times are whole numbers, equal,
 * zero, of any one magnitude from 1e-9 to 1e9, or of all of them in one problem. No optimum, no
 * infeasibility and no bound may be false; most instances must still be proved.
 *
 *     test_milp_brute 5000     as many instances of each kind instead of a few hundred */
#include "brute.h"
#include "check.h"
#include "fixtures.h"
#include "opt.h"
#include "place.h"

#include <stdio.h>
#include <stdlib.h>

static int n_asked; /* 0: the usual number */

static int n_of(int usual)
{
    return n_asked > 0 ? n_asked : N_MANY(usual);
}

/* --- the solver ------------------------------------------------------------------------------ */

typedef enum magnitude { WHOLE, SCALED, ANY, MAGNITUDES } magnitude;

static double power(weft_rng *r)
{
    return pow(10, -9 + 18 * weft_rng_real(r));
}

/* Other times and transfers for a problem of small whole ones. */
static void change_times(weft_problem *p, weft_rng *r, magnitude kind)
{
    size_t n = (size_t)p->n_tasks * (size_t)p->n_devices;
    size_t n_pairs = (size_t)p->n_devices * (size_t)p->n_devices;
    double *seconds = WEFT_NEW(p->arena, double, n), *latency = WEFT_NEW(p->arena, double, n_pairs);
    double *per_byte = WEFT_NEW(p->arena, double, n_pairs), all = power(r);

    if (kind == WHOLE)
        return;
    for (size_t i = 0; i < n; i++)
        seconds[i] = p->seconds[i] * (kind == ANY ? power(r) : all);
    for (size_t i = 0; i < n_pairs; i++) {
        double factor = kind == ANY ? power(r) : all;

        latency[i] = p->latency_s[i] * factor;
        per_byte[i] = p->second_per_byte[i] * factor;
    }
    p->seconds = seconds;
    p->latency_s = latency;
    p->second_per_byte = per_byte;
}

static weft_problem *draw_problem(uint64_t seed)
{
    static const weft_transfer transfers[] = {WEFT_OVERLAP, WEFT_OVERLAP, WEFT_CONTEND, WEFT_BLOCK};
    weft_rng r = weft_rng_seed(seed);
    unsigned traits = (unsigned)(weft_rng_below(&r, TRAITS) & weft_rng_below(&r, TRAITS));
    weft_problem *p =
        random_mixed_problem(seed, 2 + weft_rng_below(&r, 5), 1 + weft_rng_below(&r, 3), traits);

    p->transfer = transfers[weft_rng_below(&r, 4)];
    change_times(p, &r, (magnitude)weft_rng_below(&r, MAGNITUDES));
    return p;
}

typedef struct tally {
    int n, n_plans, n_proved, n_none, n_refuted;
} tally;

static void check_solver(uint64_t seed, tally *t)
{
    weft_problem *p = draw_problem(seed);
    weft_arena *a = weft_arena_new();
    weft_run run = {.seed = 1, .n_threads = 1, .limit_s = INFINITY, .scratch = weft_arena_new()};
    double best = brute_optimum(p, p->n_devices);
    bool is_exact = p->transfer == WEFT_OVERLAP;
    weft_solution s;

    CHECK_OK(weft_solve(weft_place_find("milp"), p, NULL, &run, NULL, a, &s));
    t->n++;
    t->n_plans += isfinite(best) && is_exact;
    t->n_none += isinf(best);
    if (s.proof.outcome == WEFT_OPTIMAL || s.proof.outcome == WEFT_BOUNDED) {
        if (!(s.proof.bound <= best * (1 + 1e-9) && s.proof.value >= best * (1 - 1e-9)))
            fail_msg("seed %llu: %.17g, bound %.17g, truth %.17g", (unsigned long long)seed,
                     s.proof.value, s.proof.bound, best);
        if (s.proof.outcome == WEFT_OPTIMAL && !(s.proof.value <= best * (1 + 2e-9)))
            fail_msg("seed %llu: optimal %.17g, truth %.17g", (unsigned long long)seed,
                     s.proof.value, best);
        t->n_proved += is_exact && s.proof.outcome == WEFT_OPTIMAL;
    }
    if (s.proof.outcome == WEFT_INFEASIBLE && isfinite(best))
        fail_msg("seed %llu: infeasible, truth %.17g", (unsigned long long)seed, best);
    t->n_refuted += s.proof.outcome == WEFT_INFEASIBLE;
    weft_arena_free(run.scratch);
    weft_arena_free(a);
    weft_problem_free(p);
}

TEST(the_solver_claims_nothing_false)
{
    tally t = {0};

    for (int seed = 1; seed <= n_of(500); seed++)
        check_solver((uint64_t)seed, &t);
    print_message("%d problems: %d of %d with overlap proved, %d of %d without a plan refuted\n",
                  t.n, t.n_proved, t.n_plans, t.n_refuted, t.n_none);
    if (IS_THOROUGH)
        CHECK(t.n_proved >= 0.9 * t.n_plans && t.n_refuted >= 0.3 * t.n_none);
}

/* --- programs -------------------------------------------------------------------------------- */

enum { COLUMNS = 6, ROWS = 5, MOST_RANGE = 3 };

/* A program whose columns are all whole, as plain numbers. */
typedef struct program {
    int n_columns, n_rows, low[COLUMNS], high[COLUMNS];
    double cost[COLUMNS], factor[ROWS][COLUMNS], row_low[ROWS], row_high[ROWS];
} program;

static double draw_factor(weft_rng *r, magnitude kind)
{
    double whole = weft_rng_below(r, 13) - 6;

    return kind == ANY ? whole * pow(10, -3 + 6 * weft_rng_real(r)) : whole;
}

static program draw_program(uint64_t seed)
{
    weft_rng r = weft_rng_seed(seed);
    magnitude kind = (magnitude)weft_rng_below(&r, MAGNITUDES);
    double scale = kind == SCALED ? pow(10, -3 + 6 * weft_rng_real(&r)) : 1;
    program p = {.n_columns = 1 + weft_rng_below(&r, COLUMNS), .n_rows = weft_rng_below(&r, ROWS)};

    for (int c = 0; c < p.n_columns; c++) {
        p.low[c] = weft_rng_below(&r, 5) - 2;
        p.high[c] = p.low[c] + weft_rng_below(&r, MOST_RANGE + 1);
        p.cost[c] = scale * draw_factor(&r, kind);
    }
    for (int i = 0; i < p.n_rows; i++) {
        double middle = 0, off = weft_rng_below(&r, 3) * scale;

        for (int c = 0; c < p.n_columns; c++) {
            p.factor[i][c] = weft_rng_below(&r, 3) ? scale * draw_factor(&r, kind) : 0;
            middle += p.factor[i][c] * (p.low[c] + weft_rng_below(&r, p.high[c] - p.low[c] + 1));
        }
        middle += weft_rng_below(&r, 4) == 0 ? 4 * scale : 0;
        p.row_low[i] = weft_rng_below(&r, 3) ? middle - off : -INFINITY;
        p.row_high[i] = weft_rng_below(&r, 3) ? middle + off : INFINITY;
    }
    return p;
}

/* 1: x keeps the rows; 0: it may, up to rounding; -1: it does not. */
static int standing(const program *p, const int *x)
{
    int all = 1;

    for (int i = 0; i < p->n_rows; i++) {
        double sum = 0, size = 0, slack;

        for (int c = 0; c < p->n_columns; c++) {
            sum += p->factor[i][c] * x[c];
            size += fabs(p->factor[i][c] * x[c]);
        }
        slack = 1e-5 * fmax(1, size);
        if (sum < p->row_low[i] - slack || sum > p->row_high[i] + slack)
            return -1;
        slack = 1e-14 * size;
        if (sum < p->row_low[i] - slack || sum > p->row_high[i] + slack)
            all = 0;
    }
    return all;
}

/* The least value of what keeps all rows, and of what may. */
static void try_all(const program *p, double *least, double *least_near)
{
    int x[COLUMNS], c = 0;

    memcpy(x, p->low, sizeof x);
    *least = *least_near = INFINITY;
    while (c < p->n_columns) {
        int stands = standing(p, x);
        double value = 0;

        for (int i = 0; i < p->n_columns; i++)
            value += p->cost[i] * x[i];
        if (stands > 0)
            *least = fmin(*least, value);
        if (stands >= 0)
            *least_near = fmin(*least_near, value);
        for (c = 0; c < p->n_columns && x[c] == p->high[c]; c++)
            x[c] = p->low[c];
        if (c < p->n_columns)
            x[c]++;
    }
}

static weft_milp *build(const program *p)
{
    weft_milp *m = weft_milp_new("random");

    for (int c = 0; c < p->n_columns; c++)
        weft_milp_column(m, NULL, p->low[c], p->high[c], p->cost[c], true);
    for (int i = 0; i < p->n_rows; i++) {
        weft_milp_row(m, NULL, p->row_low[i], p->row_high[i]);
        for (int c = 0; c < p->n_columns; c++)
            weft_milp_term(m, i, c, p->factor[i][c]);
    }
    return m;
}

static void check_program(uint64_t seed, weft_milp_part part, tally *t)
{
    program p = draw_program(seed);
    weft_milp *m = build(&p);
    weft_arena *a = weft_arena_new();
    weft_milp_options o = {.limit_s = INFINITY, .part = part};
    double least, least_near, size = 0, slack;
    weft_milp_result r;

    for (int c = 0; c < p.n_columns; c++)
        size += fabs(p.cost[c]) * fmax(abs(p.low[c]), abs(p.high[c]));
    try_all(&p, &least, &least_near);
    slack = 1e-9 * size;
    CHECK_OK(weft_milp_solve(m, &o, a, &r));
    t->n++;
    t->n_plans += isfinite(least);
    t->n_none += isinf(least_near);
    t->n_proved += r.outcome == WEFT_MILP_OPTIMAL;
    t->n_refuted += r.outcome == WEFT_MILP_INFEASIBLE;
    if (r.bound > least + slack || (r.outcome == WEFT_MILP_INFEASIBLE && isfinite(least)))
        fail_msg("seed %llu: bound %.17g, least %.17g", (unsigned long long)seed, r.bound, least);
    if (r.x != NULL && r.value < least_near - 1e-4 * (1 + size))
        fail_msg("seed %llu: value %.17g, least %.17g", (unsigned long long)seed, r.value, least);
    if (r.outcome == WEFT_MILP_OPTIMAL && r.value > least + slack + 1e-6 * fmax(1, fabs(least)))
        fail_msg("seed %llu: optimal %.17g, least %.17g", (unsigned long long)seed, r.value, least);
    weft_arena_free(a);
    weft_milp_free(m);
}

/* Our own search alone is quick; with the engine each takes a process. */
TEST(programs_have_no_false_bounds)
{
    for (int k = 0; k < 2; k++) {
        tally t = {0};

        for (int seed = 1; seed <= n_of(k ? 200 : 3000); seed++)
            check_program((uint64_t)seed, k ? WEFT_MILP_ALL : WEFT_MILP_PROVE, &t);
        print_message("%d programs: %d of %d proved optimal, %d of %d infeasible\n", t.n,
                      t.n_proved, t.n_plans, t.n_refuted, t.n_none);
        CHECK(t.n_proved >= 0.95 * t.n_plans && t.n_refuted >= 0.95 * t.n_none);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_solver_claims_nothing_false),
        cmocka_unit_test(programs_have_no_false_bounds),
    };

    n_asked = argc > 1 ? atoi(argv[1]) : 0;
    return RUN_TESTS(tests);
}
