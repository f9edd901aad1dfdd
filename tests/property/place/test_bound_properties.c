/* SPDX-License-Identifier: MIT */
/* Relations that hold for every piece: every bound <= optimum, found by trying every order and
 * every device; stronger bounds are no smaller; scaled times scale bounds; narrowing loses nothing
 * that is better. */
#include "check.h"

#include "bound.h"
#include "series.h"

enum { MOST_TASKS = 6, MOST_DEVICES = 3, MOST_EDGES = 15, N_SUBPROBLEMS = 3200, N_SECTIONS = 800 };

static const double ENOUGH = 1e8;

/* --- random pieces --------------------------------------------------------------------------- */

typedef struct drawn {
    weft_subproblem x;
    double time_s[MOST_TASKS * MOST_DEVICES], release_s[MOST_TASKS * MOST_DEVICES];
    double tail_s[MOST_TASKS * MOST_DEVICES], free_s[MOST_DEVICES];
    int in_at[MOST_TASKS + 1], in[MOST_EDGES], out_at[MOST_TASKS + 1], out[MOST_EDGES];
    int from[MOST_EDGES], to[MOST_EDGES];
    double send_s[MOST_EDGES * MOST_DEVICES * MOST_DEVICES];
    int group[MOST_TASKS];
} drawn;

static bool happens(weft_rng *r, int percent)
{
    return weft_rng_below(r, 100) < percent;
}

static void draw_rows(drawn *d, weft_rng *r, double unit)
{
    int n = d->x.n_devices;
    bool has_zeros = happens(r, 30), has_releases = happens(r, 40), has_tails = happens(r, 40);

    for (int u = 0; u < d->x.n_tasks; u++) {
        int sure = weft_rng_below(r, n);

        for (int k = 0; k < n; k++) {
            double time_s = has_zeros && happens(r, 30) ? 0 : 1 + weft_rng_below(r, 20);

            d->time_s[u * n + k] = k != sure && happens(r, 12) ? INFINITY : time_s * unit;
            d->release_s[u * n + k] = has_releases ? weft_rng_below(r, 15) * unit : 0;
            d->tail_s[u * n + k] = has_tails ? weft_rng_below(r, 15) * unit : 0;
        }
    }
    for (int k = 0; k < n; k++)
        d->free_s[k] = happens(r, 20) ? weft_rng_below(r, 20) * unit : 0;
}

/* Edges by reader. has_ends: the first task precedes and the last one follows all others. */
static void draw_edges(drawn *d, weft_rng *r, double unit, bool has_ends)
{
    int n = d->x.n_devices, percent = 15 + weft_rng_below(r, 60),
        longest = 1 + weft_rng_below(r, 30);
    bool has_gaps = happens(r, 10);

    for (int v = 0; v < d->x.n_tasks; v++) {
        d->in_at[v] = d->x.n_edges;
        for (int u = 0; u < v; u++) {
            double *send_s = d->send_s + d->x.n_edges * n * n;

            if (!(has_ends && (u == 0 || v == d->x.n_tasks - 1)) && !happens(r, percent))
                continue;
            for (int k = 0; k < n * n; k++) {
                send_s[k] = k / n == k % n ? 0 : weft_rng_below(r, longest) * unit;
                if (k / n != k % n && has_gaps && happens(r, 30))
                    send_s[k] = INFINITY;
            }
            d->in[d->x.n_edges] = d->x.n_edges;
            d->from[d->x.n_edges] = u;
            d->to[d->x.n_edges++] = v;
        }
    }
    d->in_at[d->x.n_tasks] = d->x.n_edges;
    for (int u = 0, n_out = 0; u < d->x.n_tasks; u++) {
        d->out_at[u] = n_out;
        for (int e = 0; e < d->x.n_edges; e++) {
            if (d->from[e] == u)
                d->out[n_out++] = e;
        }
        d->out_at[u + 1] = n_out;
    }
}

/* All numbers are small multiples of `unit`, a power of 2: sums are exact. */
static void draw_with(drawn *d, uint64_t seed, double unit, bool has_ends)
{
    weft_rng r = weft_rng_seed(seed);

    memset(d, 0, sizeof *d);
    d->x = (weft_subproblem){.n_tasks = 1 + weft_rng_below(&r, MOST_TASKS),
                             .n_devices = 1 + weft_rng_below(&r, MOST_DEVICES),
                             .time_s = d->time_s,
                             .release_s = d->release_s,
                             .tail_s = d->tail_s,
                             .free_s = d->free_s,
                             .in_at = d->in_at,
                             .in = d->in,
                             .out_at = d->out_at,
                             .out = d->out,
                             .from = d->from,
                             .to = d->to,
                             .send_s = d->send_s};
    draw_rows(d, &r, unit);
    draw_edges(d, &r, unit, has_ends);
    if (happens(&r, 20)) {
        d->x.group = d->group;
        d->x.n_groups = d->x.n_tasks;
        for (int u = 0; u < d->x.n_tasks; u++)
            d->group[u] = weft_rng_below(&r, d->x.n_tasks);
    }
}

static void draw(drawn *d, uint64_t seed, double unit)
{
    draw_with(d, seed, unit, false);
}

/* --- every schedule there is ----------------------------------------------------------------- */

typedef struct search {
    const weft_subproblem *x;
    int device[MOST_TASKS]; /* -1: not yet */
    double end_s[MOST_TASKS], free_s[MOST_DEVICES];
    double best;
} search;

static bool is_ready(const search *s, int u)
{
    for (int j = s->x->in_at[u]; j < s->x->in_at[u + 1]; j++) {
        if (s->device[s->x->from[s->x->in[j]]] < 0)
            return false;
    }
    return s->device[u] < 0;
}

static bool is_allowed(const search *s, int u, int k)
{
    for (int v = 0; s->x->group != NULL && v < s->x->n_tasks; v++) {
        if (s->device[v] >= 0 && s->x->group[v] == s->x->group[u] && s->device[v] != k)
            return false;
    }
    return s->x->time_s[u * s->x->n_devices + k] < INFINITY;
}

static double end_on(const search *s, int u, int k)
{
    const weft_subproblem *x = s->x;
    int n = x->n_devices;
    double start_s = fmax(s->free_s[k], x->release_s[u * n + k]);

    for (int j = x->in_at[u]; j < x->in_at[u + 1]; j++) {
        int e = x->in[j], v = x->from[e];

        start_s = fmax(start_s, s->end_s[v] + x->send_s[(e * n + s->device[v]) * n + k]);
    }
    return start_s + x->time_s[u * n + k];
}

static void try_all(search *s, int n_done, double value)
{
    int n = s->x->n_devices;

    if (value >= s->best)
        return;
    if (n_done == s->x->n_tasks)
        s->best = value;
    for (int u = 0; u < s->x->n_tasks; u++) {
        for (int k = 0; is_ready(s, u) && k < n; k++) {
            double before_s = s->free_s[k];

            if (!is_allowed(s, u, k))
                continue;
            s->end_s[u] = s->free_s[k] = end_on(s, u, k);
            s->device[u] = k;
            try_all(s, n_done + 1, fmax(value, s->end_s[u] + s->x->tail_s[u * n + k]));
            s->device[u] = -1;
            s->free_s[k] = before_s;
        }
    }
}

/* INFINITY if there is no schedule. */
static double optimum(const weft_subproblem *x)
{
    search s = {.x = x, .best = INFINITY};

    for (int u = 0; u < x->n_tasks; u++)
        s.device[u] = -1;
    for (int k = 0; k < x->n_devices; k++)
        s.free_s[k] = x->free_s[k];
    try_all(&s, 0, 0);
    return s.best;
}

/* --- bounds ---------------------------------------------------------------------------------- */

enum { PATH, DEEP_PATH, LOAD, BODY, PROPAGATION, SHAVING, SERIES_OF_1, SERIES_OF_3, N_BOUNDS };

static double path_of(const weft_subproblem *x, bool is_deep, weft_arena *a)
{
    int n = x->n_devices, n_tasks = x->n_tasks;
    double *head_s = WEFT_NEW(a, double, n_tasks *n), *tail_s = WEFT_NEW(a, double, n_tasks *n);
    double most_s = 0;

    weft_ancestor_heads(x, is_deep, head_s, a);
    weft_ancestor_heads(weft_subproblem_reverse(x, a), is_deep, tail_s, a);
    for (int i = 0; i < n_tasks; i++) {
        double least_s = INFINITY;

        for (int k = 0; k < n; k++)
            least_s = fmin(least_s, head_s[i * n + k] + x->time_s[i * n + k] +
                                        tail_s[(n_tasks - 1 - i) * n + k]);
        most_s = fmax(most_s, least_s);
    }
    return most_s;
}

static void fill_bounds(const weft_subproblem *x, double *bound, weft_arena *a)
{
    int task[MOST_TASKS] = {0, 1, 2, 3, 4, 5};

    bound[PATH] = path_of(x, false, a);
    bound[DEEP_PATH] = path_of(x, true, a);
    bound[LOAD] = weft_priced_mapping_bound(x, task, x->n_tasks, NULL, a);
    bound[BODY] = weft_head_tail_bound(x, ENOUGH, a);
    bound[PROPAGATION] = weft_refute_bound(x, INFINITY, false, ENOUGH, a);
    bound[SHAVING] = weft_refute_bound(x, INFINITY, true, ENOUGH, a);
    bound[SERIES_OF_1] = weft_series_bound(x, 1, ENOUGH, a);
    bound[SERIES_OF_3] = weft_series_bound(x, 3, ENOUGH, a);
}

static bool is_at_most(double a, double b)
{
    return a <= b * (1 + 1e-9);
}

TEST(no_bound_passes_the_optimum)
{
    int n_feasible = 0, n_tight = 0;

    for (uint64_t seed = 1; seed <= N_DRAWN(N_SUBPROBLEMS); seed++) {
        weft_arena *a = weft_arena_new();
        double bound[N_BOUNDS], best;
        drawn d;

        draw(&d, seed, 1);
        best = optimum(&d.x);
        fill_bounds(&d.x, bound, a);
        for (int i = 0; i < N_BOUNDS; i++) {
            if (!is_at_most(bound[i], best))
                fail_msg("seed %d: bound %d is %.17g, the optimum %.17g", (int)seed, i, bound[i],
                         best);
        }
        CHECK(is_at_most(bound[PATH], bound[DEEP_PATH]));
        CHECK(is_at_most(bound[DEEP_PATH], bound[PROPAGATION]));
        CHECK(is_at_most(bound[PROPAGATION], bound[SHAVING]));
        n_feasible += best < INFINITY;
        n_tight += best < INFINITY && is_at_most(best, bound[SHAVING]);
        weft_arena_free(a);
    }
    CHECK(n_feasible >= N_DRAWN(3000));
    CHECK(n_tight >= n_feasible * 8 / 10); /* it is about 95 % for pieces without groups */
}

/* Refuting at the optimum itself: what holds for less must not be claimed for equal. */
TEST(the_optimum_is_never_refuted)
{
    for (uint64_t seed = 1; seed <= N_DRAWN(N_SUBPROBLEMS); seed++) {
        weft_arena *a = weft_arena_new();
        double best, bound;
        drawn d;

        draw(&d, seed, 1);
        best = optimum(&d.x);
        if (best < INFINITY) {
            CHECK(!weft_refute(&d.x, best * (1 + 1e-11) + 1e-11, true, ENOUGH, a));
            bound = weft_refute_bound(&d.x, best, true, ENOUGH, a);
            CHECK(bound <= best); /* exactly */
            CHECK(weft_refute(&d.x, bound, true, WEFT_MOST_REFUTE_WORK, a));
        }
        weft_arena_free(a);
    }
}

TEST(scaled_times_scale_bounds)
{
    for (uint64_t seed = 1; seed <= N_DRAWN(400); seed++) {
        weft_arena *a = weft_arena_new();
        double bound[N_BOUNDS], scaled[N_BOUNDS];
        drawn d;

        draw(&d, seed, 1);
        fill_bounds(&d.x, bound, a);
        draw(&d, seed, 1.0 / 1024);
        fill_bounds(&d.x, scaled, a);
        for (int i = 0; i < N_BOUNDS; i++)
            CHECK(scaled[i] * 1024 == bound[i]);
        weft_arena_free(a);
    }
}

/* Work is what limits refutations: the same work, the same answer; less work, no more. */
TEST(less_work_proves_no_more)
{
    for (uint64_t seed = 1; seed <= N_DRAWN(400); seed++) {
        weft_arena *a = weft_arena_new();
        double little, much;
        drawn d;

        draw(&d, seed, 1);
        much = weft_refute_bound(&d.x, INFINITY, true, ENOUGH, a);
        little = weft_refute_bound(&d.x, INFINITY, true, 2000, a);
        CHECK(is_at_most(little, much));
        CHECK(much == weft_refute_bound(&d.x, INFINITY, true, ENOUGH, a));
        weft_arena_free(a);
    }
}

/* The search that has only begun: nearly all it says comes from the bounds of its first states. In
 * every other piece there is work between two barriers. */
TEST(a_search_that_has_only_begun_passes_no_optimum)
{
    int n_spans = 0;

    for (uint64_t seed = 1; seed <= N_DRAWN(N_SUBPROBLEMS); seed++) {
        weft_arena *a = weft_arena_new();
        weft_series_effort part = {.lower = 1, .part_states = 1, .most_states = INT64_MAX};
        weft_series r;
        drawn d;
        double best;

        draw_with(&d, seed, 1, seed % 2);
        best = optimum(&d.x);
        d.x.group = NULL; /* parts leave groups out */
        r = weft_series_tails(&d.x, &part, a);
        CHECK(is_at_most(r.bound, best));
        n_spans += r.n_open > 0 && r.n_barriers > 1;
        for (int states = 1; states <= 64; states *= 8) {
            weft_effort e = {.upper = INFINITY, .most_states = states};

            CHECK(is_at_most(weft_subproblem_solve(&d.x, &e, a).bound, best));
        }
        weft_arena_free(a);
    }
    CHECK(n_spans > N_DRAWN(N_SUBPROBLEMS) / 10);
}

/* Legs by search alone, and by linear programs alone. */
TEST(sections_pass_no_optimum)
{
    int n_raised = 0, n_tight = 0, n_barriers = 0;

    for (uint64_t seed = 1; seed <= N_DRAWN(N_SECTIONS); seed++) {
        weft_arena *a = weft_arena_new();
        weft_run run = {.limit_s = INFINITY};
        weft_series_effort part = {.lower = 1, .part_states = 1, .most_states = INT64_MAX};
        weft_between_barriers_effort e = {INFINITY, 1, INT64_MAX, &run};
        double best, bound, begun;
        int64_t steps;
        drawn d;

        draw_with(&d, seed, 1, seed % 2);
        best = optimum(&d.x);
        d.x.group = NULL; /* parts leave groups out */
        begun = weft_series_tails(&d.x, &part, a).bound;
        bound = weft_between_barriers_bound(&d.x, &e, &steps);
        CHECK(is_at_most(bound, best));
        CHECK(steps > 0);
        n_raised += bound > begun * (1 + 1e-6);
        e.part_states = 100000;
        bound = weft_between_barriers_bound(&d.x, &e, &steps);
        CHECK(is_at_most(bound, best));
        n_tight += bound >= best * (1 - 1e-9);
        n_barriers += d.x.n_tasks > 2 && seed % 2;
        weft_arena_free(a);
    }
    CHECK(n_barriers > N_DRAWN(N_SECTIONS) / 4);
    CHECK(n_raised > N_DRAWN(N_SECTIONS) / 20); /* programs say more than the first states */
    CHECK(n_tight > N_DRAWN(N_SECTIONS) / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_bound_passes_the_optimum),
        cmocka_unit_test(the_optimum_is_never_refuted),
        cmocka_unit_test(scaled_times_scale_bounds),
        cmocka_unit_test(less_work_proves_no_more),
        cmocka_unit_test(a_search_that_has_only_begun_passes_no_optimum),
        cmocka_unit_test(sections_pass_no_optimum),
    };

    return RUN_TESTS(tests);
}
