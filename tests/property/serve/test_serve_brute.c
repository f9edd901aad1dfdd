/* SPDX-License-Identifier: MIT */
/* test_serve_brute.c: every placement of small random fleets against solvers, bounds and judge.
 *
 * The brute force shares no code with them: all ranges of all nodes, and a maximum flow by augmenting
 * ways over a matrix. Half of the instances have tight or missing links; some rates rise with the
 * layers, some nodes are alike, inference is partial in a quarter. */
#include "check.h"
#include "serve.h"
#include "serve_search.h"
#include "worth_serve.h"

enum { MOST_NODES = 5, MOST_LAYERS = 7, ENDS = 2 * MOST_NODES + 2 };

/* --- instances ------------------------------------------------------------------------------- */

typedef struct drawn {
    int n, layers, most[MOST_NODES];
    double rate[MOST_NODES][MOST_LAYERS];
    double link[(MOST_NODES + 2) * (MOST_NODES + 2)];
    bool is_partial;
} drawn;

static double *link_of(drawn *d, int from, int to)
{
    return &d->link[from * (d->n + 2) + to];
}

static void draw_rates(drawn *d, weft_rng *r, int i)
{
    double rate = 4 + weft_rng_below(r, 60);

    if (i > 0 && weft_rng_below(r, 3) == 0) { /* like the node before */
        d->most[i] = d->most[i - 1];
        memcpy(d->rate[i], d->rate[i - 1], sizeof d->rate[i]);
        return;
    }
    d->most[i] = 1 + weft_rng_below(r, d->n == 3 ? d->layers : d->n == 4 ? 3 : 2);
    for (int k = 0; k < d->most[i]; k++) {
        d->rate[i][k] = rate / (k + 1) * (0.7 + 0.3 * weft_rng_real(r));
        if (weft_rng_below(r, 8) == 0)
            d->rate[i][k] *= 2;
    }
}

static drawn draw(uint64_t seed)
{
    weft_rng r = weft_rng_seed(seed);
    drawn d = {.n = 3 + weft_rng_below(&r, 3)};
    bool is_tight = seed % 2 == 0;

    d.layers = 4 + weft_rng_below(&r, d.n == 3 ? 4 : d.n == 4 ? 3 : 2);
    d.is_partial = weft_rng_below(&r, 4) == 0;
    for (int i = 0; i < d.n; i++)
        draw_rates(&d, &r, i);
    for (int i = 0; i <= d.n; i++)
        for (int j = 0; j <= d.n + 1; j++) {
            if (i == j || j == d.n || (i == d.n && j == d.n + 1))
                continue;
            *link_of(&d, i, j) = !is_tight                    ? 1e4
                                 : weft_rng_below(&r, 5) == 0 ? 0
                                                              : 1 + weft_rng_below(&r, 30);
        }
    return d;
}

static weft_serve_problem *problem_of(const drawn *d)
{
    static const char *const name[] = {"a", "b", "c", "d", "e", "f"};
    const double *rate[MOST_NODES + 1];
    weft_serve_problem *p;
    weft_serve_spec s = {.name = "drawn",
                         .n_layers = d->layers,
                         .n_nodes = d->n,
                         .node_name = name,
                         .most = d->most,
                         .rate = rate,
                         .link = d->link,
                         .is_partial = d->is_partial};

    for (int i = 0; i < d->n; i++)
        rate[i] = d->rate[i];
    CHECK_OK(weft_serve_problem_make(&s, &p));
    return p;
}

/* --- brute force ----------------------------------------------------------------------------- */

typedef struct brute {
    drawn *d;
    int start[MOST_NODES], end[MOST_NODES];
    double best;
} brute;

/* A way from the source over vertices with something left; what it can take. */
static double augment(double left[ENDS][ENDS], bool *seen, int v, int sink, double most)
{
    if (v == sink)
        return most;
    seen[v] = true;
    for (int w = 0; w < ENDS; w++)
        if (!seen[w] && left[v][w] > 1e-12) {
            double sent = augment(left, seen, w, sink, fmin(most, left[v][w]));

            if (sent > 0) {
                left[v][w] -= sent;
                left[w][v] += sent;
                return sent;
            }
        }
    return 0;
}

static bool meets(const brute *b, int i, int j)
{
    if (!b->d->is_partial)
        return b->end[i] == b->start[j];
    return b->start[j] <= b->end[i] && b->end[i] < b->end[j];
}

static double flow_of(const brute *b)
{
    drawn *d = b->d;
    int n = d->n, source = 2 * n, sink = 2 * n + 1;
    double left[ENDS][ENDS] = {{0}}, sum = 0, sent;

    for (int i = 0; i < n; i++) {
        int k = b->end[i] - b->start[i];

        if (k == 0)
            continue;
        left[2 * i][2 * i + 1] = d->rate[i][k - 1];
        if (b->start[i] == 0)
            left[source][2 * i] = *link_of(d, n, i);
        if (b->end[i] == d->layers)
            left[2 * i + 1][sink] = *link_of(d, i, n + 1);
        for (int j = 0; j < n; j++)
            if (i != j && b->end[j] > b->start[j] && meets(b, i, j))
                left[2 * i + 1][2 * j] = *link_of(d, i, j);
    }
    do {
        bool seen[ENDS] = {false};

        sent = augment(left, seen, source, sink, INFINITY);
        sum += sent;
    } while (sent > 0);
    return sum;
}

/* Is there a layer that nobody holds? Then nothing flows. */
static bool has_hole(const brute *b)
{
    unsigned held = 0;

    for (int i = 0; i < b->d->n; i++)
        for (int l = b->start[i]; l < b->end[i]; l++)
            held |= 1u << l;
    return held != (1u << b->d->layers) - 1;
}

static void try_all(brute *b, int node)
{
    if (node == b->d->n) {
        if (!has_hole(b))
            b->best = fmax(b->best, flow_of(b));
        return;
    }
    b->start[node] = b->end[node] = 0;
    try_all(b, node + 1);
    for (int k = 1; k <= b->d->most[node]; k++)
        for (int l = 0; l + k <= b->d->layers; l++) {
            b->start[node] = l;
            b->end[node] = l + k;
            try_all(b, node + 1);
        }
}

static double optimum(drawn *d)
{
    brute b = {.d = d};

    try_all(&b, 0);
    return b.best;
}

/* --- solvers --------------------------------------------------------------------------------- */

static weft_serve_solution solve(const weft_serve_problem *p, const char *name, weft_arena *a)
{
    weft_run run = {.seed = 3,
                    .n_threads = 1,
                    .limit_s = INFINITY,
                    .steps = strcmp(name, "stages") == 0 ? 8000 : 3000000,
                    .scratch = weft_arena_new()};
    weft_serve_solution s;

    CHECK_OK(weft_serve_solve(weft_serve_find(name), p, &run, a, &s));
    weft_arena_free(run.scratch);
    return s;
}

static bool has_plan(const weft_serve_solution *s)
{
    return weft_has_plan(&s->proof);
}

typedef struct tally {
    int n, n_optimal, n_infeasible, n_tight;
} tally;

static void check_solver(const weft_serve_problem *p, const char *name, double best, tally *t)
{
    weft_arena *a = weft_arena_new();
    weft_serve_solution s = solve(p, name, a);

    t->n++;
    CHECK(s.proof.bound >= best * (1 - 1e-9));
    if (has_plan(&s)) {
        CHECK(s.proof.value <= best * (1 + 1e-9));
        CHECK(s.proof.bound >= s.proof.value);
    }
    if (s.proof.outcome == WEFT_OPTIMAL)
        CHECK_NEAR(s.proof.value, best);
    if (s.proof.outcome == WEFT_INFEASIBLE)
        CHECK(!(best > 0));
    if (s.certificate.target < INFINITY)
        CHECK(s.certificate.target >= best * (1 - 1e-9));
    t->n_optimal += s.proof.outcome == WEFT_OPTIMAL;
    t->n_infeasible += s.proof.outcome == WEFT_INFEASIBLE;
    t->n_tight += best > 0 && s.certificate.target <= best * (1 + 1e-6);
    weft_arena_free(a);
}

/* Nothing that can be had is refuted, by any method. */
static void check_refutations(const weft_serve_problem *p, double best, weft_rng *r)
{
    weft_arena *a = weft_arena_new();
    const weft_run run = {.limit_s = INFINITY};
    weft_serve_pool pool = weft_serve_pool_new(p, &run, a);
    double *price = WEFT_NEW(a, double, p->n_classes);
    weft_serve_certificate c;

    for (int i = 0; i < 3 && best > 0; i++) {
        double target = i == 0 ? best * (1 - 1e-7) : best * weft_rng_real(r);

        CHECK(!weft_serve_refute(&pool, target, price, &c));
        for (int m = 0; m < WEFT_SERVE_ENUMERATION; m++) { /* nor by prices of somebody else */
            c = (weft_serve_certificate){(weft_serve_method)m, target, p->n_classes, price};
            CHECK(!weft_serve_refuted(p, &c));
            for (int k = 0; k < p->n_classes; k++)
                price[k] = 3 * weft_rng_real(r);
        }
    }
    weft_arena_free(a);
}

TEST(solvers_and_bounds_keep_to_all_placements)
{
    tally t[4] = {{0}};

    for (int i = 0; i < N_MANY(1200); i++) {
        drawn d = draw((uint64_t)i);
        weft_serve_problem *p = problem_of(&d);
        double best = optimum(&d);
        weft_rng r = weft_rng_seed((uint64_t)i);

        for (int k = 0; k < weft_serve_count(); k++)
            check_solver(p, weft_serve_at(k)->name, best, &t[k]);
        check_refutations(p, best, &r);
        weft_serve_problem_free(p);
    }
    if (IS_THOROUGH) {
        CHECK(t[0].n_optimal + t[0].n_infeasible == t[0].n); /* auto knows all that are so small */
        CHECK(t[3].n_optimal + t[3].n_infeasible == t[3].n);
        CHECK(t[1].n_tight * 4 > t[1].n); /* certificates alone */
        CHECK(t[1].n_optimal > 0 && t[2].n_optimal > 0 && t[0].n_infeasible > 0);
    }
}

/* --- what must not change or may only grow ------------------------------------------------------ */

static double value_of(const drawn *d)
{
    weft_arena *a = weft_arena_new();
    weft_serve_problem *p = problem_of(d);
    weft_serve_solution s = solve(p, "auto", a);
    double value = has_plan(&s) ? s.proof.value : 0;

    CHECK(s.proof.outcome == WEFT_OPTIMAL || s.proof.outcome == WEFT_INFEASIBLE);
    weft_serve_problem_free(p);
    weft_arena_free(a);
    return value;
}

TEST(a_better_machine_is_never_worse)
{
    for (int i = 0; i < N_MANY(200); i++) {
        weft_rng r = weft_rng_seed((uint64_t)i);
        drawn d = draw((uint64_t)i), e = d;
        int node = weft_rng_below(&r, d.n), to = weft_rng_below(&r, d.n + 2);
        double before = value_of(&d);

        if (to != node && to != d.n)
            *link_of(&e, node, to) = 2 * *link_of(&e, node, to) + 1;
        CHECK(value_of(&e) >= before * (1 - 1e-9));
        for (int k = 0; k < e.most[node]; k++)
            e.rate[node][k] *= 1.5;
        CHECK(value_of(&e) >= before * (1 - 1e-9));
        e = d;
        e.is_partial = true;
        CHECK(value_of(&e) >= before * (1 - 1e-9));
    }
}

TEST(names_and_units_do_not_matter)
{
    for (int i = 0; i < N_MANY(200); i++) {
        weft_rng r = weft_rng_seed((uint64_t)i);
        drawn d = draw((uint64_t)i), e = d;
        int u = weft_rng_below(&r, d.n), v = weft_rng_below(&r, d.n);
        double before = value_of(&d);

        for (int k = 0; k < MOST_NODES; k++) { /* u and v change their places */
            int from = k == u ? v : k == v ? u : k;

            e.most[k] = d.most[from];
            memcpy(e.rate[k], d.rate[from], sizeof e.rate[k]);
        }
        for (int a = 0; a < d.n + 2; a++)
            for (int b = 0; b < d.n + 2; b++)
                *link_of(&e, a, b) = *link_of(&d,
                                              a == u   ? v
                                              : a == v ? u
                                                       : a,
                                              b == u   ? v
                                              : b == v ? u
                                                       : b);
        CHECK_NEAR(value_of(&e), before);
        for (int k = 0; k < (d.n + 2) * (d.n + 2); k++)
            e.link[k] *= 1024;
        for (int k = 0; k < d.n; k++)
            for (int l = 0; l < MOST_LAYERS; l++)
                e.rate[k][l] *= 1024;
        CHECK(fabs(value_of(&e) - 1024 * before) <= 1e-9 * 1024 * before);
    }
}

/* An upgrade is never worth less than nothing, nor more than its bound. */
TEST(upgrades_are_worth_what_they_can_be)
{
    for (int i = 0; i < N_DRAWN(40); i++) {
        weft_arena *a = weft_arena_new();
        drawn d = draw((uint64_t)i);
        weft_serve_problem *p = problem_of(&d);
        weft_serve_solution s = solve(p, "auto", a);
        const weft_serve_worth *w;
        weft_run run = {.seed = 1, .n_threads = 1, .limit_s = INFINITY, .steps = 3000000};
        int n = 0;

        if (has_plan(&s)) {
            CHECK_OK(weft_serve_worths(p, &s, "enumerate", 0xf, &run, a, &w, &n));
            CHECK(n > 2 * p->n_classes);
        }
        for (int k = 0; k < n; k++) {
            CHECK(w[k].gain >= 1 - 1e-9 && w[k].most_gain >= w[k].gain);
            CHECK(k == 0 || w[k].value <= w[k - 1].value);
            if (strcmp(w[k].kind, "device") != 0) /* the same links and rates, doubled at most */
                CHECK(w[k].outcome == WEFT_OPTIMAL && w[k].gain <= 2 + 1e-9);
        }
        weft_serve_problem_free(p);
        weft_arena_free(a);
    }
}

/* --- judge and search ------------------------------------------------------------------------- */

TEST(two_maximum_flows_and_a_cut_agree)
{
    for (int i = 0; i < N_DRAWN(2000); i++) {
        weft_rng r = weft_rng_seed((uint64_t)i);
        weft_arena *a = weft_arena_new();
        drawn d = draw((uint64_t)i);
        weft_serve_problem *p = problem_of(&d);
        weft_serve_plan plan = weft_serve_plan_new(d.n, a);
        weft_serve_flow f;
        brute b = {.d = &d};

        for (int k = 0; k < d.n; k++) {
            int layers = 1 + weft_rng_below(&r, d.most[k] < d.layers ? d.most[k] : d.layers);

            b.start[k] = plan.start[k] = weft_rng_below(&r, d.layers - layers + 1);
            b.end[k] = plan.end[k] = plan.start[k] + layers;
        }
        CHECK_OK(weft_serve_evaluate(p, &plan, a, &f));
        CHECK_NEAR(f.tokens_per_s, flow_of(&b));
        CHECK_NEAR(f.cut_tokens_per_s, f.tokens_per_s);
        CHECK_NEAR(weft_dinic_flow(weft_dinic_new(p, a), &plan), f.tokens_per_s);
        weft_serve_problem_free(p);
        weft_arena_free(a);
    }
}

TEST(threads_change_nothing)
{
    for (int i = 0; i < 6; i++) {
        weft_arena *a = weft_arena_new();
        drawn d = draw((uint64_t)(2 * i));
        weft_serve_problem *p = problem_of(&d);
        weft_serve_solution s[2];

        for (int k = 0; k < 2; k++) {
            weft_run run = {.seed = 5,
                            .n_threads = 1 + 3 * k,
                            .limit_s = INFINITY,
                            .steps = 30000,
                            .scratch = weft_arena_new()};

            CHECK_OK(weft_serve_solve(weft_serve_find("stages"), p, &run, a, &s[k]));
            weft_arena_free(run.scratch);
        }
        CHECK(s[0].proof.outcome == s[1].proof.outcome);
        if (has_plan(&s[0])) {
            CHECK_NEAR(s[0].proof.value, s[1].proof.value);
            CHECK(memcmp(s[0].plan.start, s[1].plan.start, sizeof(int) * (size_t)d.n) == 0);
            CHECK(memcmp(s[0].plan.end, s[1].plan.end, sizeof(int) * (size_t)d.n) == 0);
        }
        weft_serve_problem_free(p);
        weft_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solvers_and_bounds_keep_to_all_placements),
        cmocka_unit_test(a_better_machine_is_never_worse),
        cmocka_unit_test(names_and_units_do_not_matter),
        cmocka_unit_test(upgrades_are_worth_what_they_can_be),
        cmocka_unit_test(two_maximum_flows_and_a_cut_agree),
        cmocka_unit_test(threads_change_nothing),
    };

    return RUN_TESTS(tests);
}
