/* SPDX-License-Identifier: MIT */
/* The latency program against every schedule there is: small random pieces with releases, tails,
 * devices that are busy first, missing connections, groups, weights that tasks share, and devices
 * that can be swapped. */
#include "check.h"
#include "lp_bound.h"

enum { MOST = 6, DEVICES = 3, WEIGHTS = 4, N_SUBPROBLEMS = 360 };

/* Arrays of a piece at hand; MOST tasks have at most MOST * MOST edges. */
typedef struct store {
    double time_s[MOST * DEVICES], release_s[MOST * DEVICES], tail_s[MOST * DEVICES];
    double free_s[DEVICES], send_s[MOST * MOST * DEVICES * DEVICES];
    double weight_bytes[WEIGHTS], room_bytes[DEVICES];
    int in_at[MOST + 1], in[MOST * MOST], out_at[MOST + 1], out[MOST * MOST];
    int from[MOST * MOST], to[MOST * MOST], group[MOST];
    int weight_at[MOST + 1], weight[MOST * WEIGHTS];
    weft_subproblem piece;
} store;

static int below(weft_rng *r, int n)
{
    return weft_rng_below(r, n);
}

/* --- random pieces --------------------------------------------------------------------------- */

static void draw_edges(store *s, weft_rng *r, int n)
{
    weft_subproblem *x = &s->piece;

    for (int v = 0; v < n; v++) {
        s->in_at[v] = x->n_edges;
        for (int u = 0; u < v; u++) {
            if (below(r, 3) != 0)
                continue;
            s->from[x->n_edges] = u;
            s->to[x->n_edges] = v;
            s->in[x->n_edges] = x->n_edges;
            x->n_edges++;
        }
    }
    s->in_at[n] = x->n_edges;
    for (int u = 0, k = 0; u < n; u++) {
        s->out_at[u] = k;
        for (int e = 0; e < x->n_edges; e++) {
            if (s->from[e] == u)
                s->out[k++] = e;
        }
        s->out_at[u + 1] = k;
    }
}

/* Equal for all pairs, on a star, or each pair by itself, some without connection. */
static void draw_sends(store *s, weft_rng *r, int k)
{
    for (int e = 0; e < s->piece.n_edges; e++) {
        int kind = below(r, 3);
        double all_s = below(r, 9), arm_s[DEVICES];

        for (int d = 0; d < k; d++)
            arm_s[d] = below(r, 5);

        for (int i = 0; i < k * k; i++) {
            double own_s = below(r, 12) == 0 ? (double)INFINITY : below(r, 9);

            own_s = kind == 0 ? all_s : kind == 1 ? arm_s[i / k] + arm_s[i % k] : own_s;
            s->send_s[e * k * k + i] = i / k == i % k ? 0 : own_s;
        }
    }
}

static void draw_weights(store *s, weft_rng *r, int n, int k)
{
    int n_read = 0;

    for (int w = 0; w < WEIGHTS; w++)
        s->weight_bytes[w] = 1 + below(r, 5);
    for (int u = 0; u < n; u++) {
        s->weight_at[u] = n_read;
        for (int w = 0; w < WEIGHTS; w++) {
            if (below(r, 3) == 0)
                s->weight[n_read++] = w;
        }
    }
    s->weight_at[n] = n_read;
    for (int d = 0; d < k; d++)
        s->room_bytes[d] = 3 + below(r, 8);
    s->piece.n_weights = WEIGHTS;
}

/* Makes the last device the twin of the first: everything that names it is copied. */
static void make_twins(store *s, int n, int k)
{
    int last = k - 1;

    for (int u = 0; u < n; u++) {
        s->time_s[u * k + last] = s->time_s[u * k];
        s->release_s[u * k + last] = s->release_s[u * k];
        s->tail_s[u * k + last] = s->tail_s[u * k];
    }
    s->free_s[last] = s->free_s[0];
    s->room_bytes[last] = s->room_bytes[0];
    for (int e = 0; e < s->piece.n_edges; e++) {
        double *send_s = &s->send_s[e * k * k];

        send_s[last] = send_s[last * k] = 3;
        for (int d = 1; d < last; d++) {
            send_s[last * k + d] = send_s[d];
            send_s[d * k + last] = send_s[d * k];
        }
    }
}

static void draw(store *s, uint64_t seed)
{
    weft_rng r = weft_rng_seed(seed);
    int n = 2 + below(&r, MOST - 1), k = 1 + below(&r, DEVICES);
    weft_subproblem *x = &s->piece;

    *s = (store){0};
    *x = (weft_subproblem){n,
                           k,
                           0,
                           s->time_s,
                           s->release_s,
                           s->tail_s,
                           s->free_s,
                           s->in_at,
                           s->in,
                           s->out_at,
                           s->out,
                           s->from,
                           s->to,
                           s->send_s,
                           0,
                           s->weight_at,
                           s->weight,
                           s->weight_bytes,
                           s->room_bytes,
                           NULL,
                           0,
                           1};
    for (int i = 0; i < n * k; i++) {
        s->time_s[i] = below(&r, 10) == 0 && k > 1 ? (double)INFINITY : 1 + below(&r, 9);
        s->release_s[i] = below(&r, 4) == 0 ? below(&r, 7) : 0;
        s->tail_s[i] = below(&r, 4) == 0 ? below(&r, 7) : 0;
    }
    for (int d = 0; d < k; d++)
        s->free_s[d] = below(&r, 3) == 0 ? below(&r, 6) : 0;
    draw_edges(s, &r, n);
    draw_sends(s, &r, k);
    if (seed % 3 == 0)
        draw_weights(s, &r, n, k);
    if (seed % 4 == 0) {
        for (int u = 0; u < n; u++)
            s->group[u] = below(&r, n);
        x->group = s->group;
        x->n_groups = n;
    }
    if (seed % 5 == 0 && k > 1)
        make_twins(s, n, k);
}

/* --- every schedule -------------------------------------------------------------------------- */

typedef struct trial {
    const weft_subproblem *x;
    int device[MOST], order[MOST];
    double start_s[MOST], end_s[MOST], free_s[DEVICES];
    double best, best_start_s[MOST];
    int best_device[MOST];
} trial;

static bool fits(const trial *t, int u, int d)
{
    const weft_subproblem *x = t->x;
    double bytes = 0;

    for (int v = 0; v < x->n_tasks; v++) {
        if (t->device[v] >= 0 && x->group && x->group[v] == x->group[u] && t->device[v] != d)
            return false;
    }
    for (int w = 0; w < x->n_weights; w++) {
        bool is_there = false;

        for (int v = 0; v < x->n_tasks; v++) {
            for (int i = x->weight_at[v]; i < x->weight_at[v + 1]; i++)
                is_there |= x->weight[i] == w && (v == u || t->device[v] == d);
        }
        bytes += is_there ? x->weight_bytes[w] : 0;
    }
    return x->n_weights == 0 || bytes <= x->room_bytes[d];
}

/* When u could start on d; INFINITY: never. -1: a task before it is missing. */
static double ready_s(const trial *t, int u, int d)
{
    const weft_subproblem *x = t->x;
    double at_s = fmax(x->release_s[u * x->n_devices + d], t->free_s[d]);

    for (int e = 0; e < x->n_edges; e++) {
        int from = x->from[e];

        if (x->to[e] != u)
            continue;
        if (t->device[from] < 0)
            return -1;
        at_s = fmax(at_s, t->end_s[from] +
                              x->send_s[(e * x->n_devices + t->device[from]) * x->n_devices + d]);
    }
    return at_s;
}

static void try_all(trial *t, int n_done, double value)
{
    const weft_subproblem *x = t->x;

    if (value >= t->best)
        return;
    if (n_done == x->n_tasks) {
        t->best = value;
        memcpy(t->best_start_s, t->start_s, sizeof t->start_s);
        memcpy(t->best_device, t->device, sizeof t->device);
    }
    for (int u = 0; u < x->n_tasks; u++) {
        for (int d = 0; d < x->n_devices && t->device[u] < 0; d++) {
            double at_s = ready_s(t, u, d), before_s = t->free_s[d];

            if (at_s < 0 || !isfinite(at_s + x->time_s[u * x->n_devices + d]) || !fits(t, u, d))
                continue;
            t->device[u] = d;
            t->start_s[u] = at_s;
            t->end_s[u] = t->free_s[d] = at_s + x->time_s[u * x->n_devices + d];
            try_all(t, n_done + 1, fmax(value, t->end_s[u] + x->tail_s[u * x->n_devices + d]));
            t->free_s[d] = before_s;
            t->device[u] = -1;
        }
    }
}

static trial optimum(const weft_subproblem *x)
{
    trial t = {.x = x, .best = INFINITY};

    for (int u = 0; u < x->n_tasks; u++)
        t.device[u] = -1;
    memcpy(t.free_s, x->free_s, sizeof(double) * (size_t)x->n_devices);
    try_all(&t, 0, 0);
    return t;
}

/* --- relations ------------------------------------------------------------------------------- */

static bool is_close(double a, double b)
{
    return fabs(a - b) <= 1e-5 * (1 + fabs(b));
}

/* A schedule by the program costs what the optimum costs, and keeps groups and memory. */
static void check_decoded(const trial *best, const weft_milp_columns *columns,
                          const weft_milp_result *r, weft_arena *a)
{
    const weft_subproblem *x = best->x;
    trial t = {.x = x};
    int device[MOST];
    double start_s[MOST];

    CHECK_NEAR(weft_milp_schedule_decode(x, columns, r->x, a, device, start_s), best->best);
    for (int u = 0; u < x->n_tasks; u++)
        t.device[u] = device[u];
    for (int u = 0; u < x->n_tasks; u++)
        CHECK(fits(&t, u, device[u]));
}

static void check_program(const trial *best, const weft_milp_known *k)
{
    weft_arena *a = weft_arena_new();
    weft_milp_options o = {.limit_s = INFINITY};
    weft_milp_columns columns;
    weft_milp *m = weft_milp_schedule_new(best->x, k, a, &columns);
    weft_milp_result r = {.outcome = WEFT_MILP_INFEASIBLE};

    if (!columns.is_empty)
        CHECK_OK(weft_milp_solve(m, &o, a, &r));
    if (best->best > k->upper * (1 + 1e-9) || isinf(best->best)) {
        CHECK_INT(r.outcome, WEFT_MILP_INFEASIBLE);
    } else {
        CHECK(columns.bound <= best->best * (1 + 1e-9));
        CHECK_INT(r.outcome, WEFT_MILP_OPTIMAL);
        CHECK(is_close(r.value * columns.unit_s, best->best));
        CHECK(r.bound * columns.unit_s <= best->best * (1 + 1e-9));
        check_decoded(best, &columns, &r, a);
    }
    weft_milp_free(m);
    weft_arena_free(a);
}

TEST(the_program_finds_the_optimum)
{
    int n_plans = 0, n_none = 0;

    for (uint64_t seed = 1; seed <= N_SUBPROBLEMS; seed++) {
        store s;
        trial best;
        weft_milp_known k = {
            .upper = INFINITY, .tighten = {.limit_s = INFINITY, .rounds = (int)(seed % 3)}
        };

        draw(&s, seed);
        best = optimum(&s.piece);
        n_plans += isfinite(best.best);
        n_none += isinf(best.best);
        if (seed % 2 && isfinite(best.best)) { /* an upper limit that leaves something out */
            k.upper = best.best;
            k.device = best.best_device;
            k.start_s = best.best_start_s;
        }
        check_program(&best, &k);
    }
    CHECK(n_plans > N_SUBPROBLEMS / 2 && n_none > N_SUBPROBLEMS / 50);
}

/* Nothing is below the optimum: the program says so. */
TEST(below_the_optimum_there_is_nothing)
{
    for (uint64_t seed = 1; seed <= N_SUBPROBLEMS / 4; seed++) {
        store s;
        trial best;
        weft_milp_known k = {
            .tighten = {.limit_s = INFINITY, .rounds = 2}
        };

        draw(&s, seed);
        best = optimum(&s.piece);
        k.upper = best.best - 0.5;
        if (isfinite(best.best))
            check_program(&best, &k);
    }
}

TEST(the_bound_is_at_most_the_optimum)
{
    weft_arena *a = weft_arena_new();
    int n_exact = 0, n_plans = 0;

    for (uint64_t seed = 1; seed <= 4 * N_SUBPROBLEMS; seed++) {
        store s;
        trial best;
        double bound;

        draw(&s, seed);
        best = optimum(&s.piece);
        bound = lp_bound(&s.piece, INFINITY, a);
        CHECK(bound <= best.best * (1 + 1e-9));
        if (!isfinite(best.best))
            continue;
        n_plans++;
        n_exact += bound >= best.best * (1 - 1e-6);
    }
    CHECK(n_exact > n_plans / 10); /* not 0, not always */
    CHECK(n_exact < n_plans);
    weft_arena_free(a);
}

static double relaxed(const weft_subproblem *x, weft_milp_kind kind, int rounds, weft_arena *a)
{
    weft_milp_model m = weft_milp_model_new(x, INFINITY, kind, a);
    weft_milp_effort e = {
        .limit_s = INFINITY, .rounds = rounds, .adds_sends = kind == WEFT_MILP_LOOSE && rounds > 0};

    if (!m.is_empty)
        weft_milp_model_windows(&m, 3);
    weft_milp_model_tighten(&m, &e);
    weft_milp_free(m.milp);
    return m.is_empty ? INFINITY : m.lower;
}

/* A star has less columns than pairs of devices, and the same relaxation: one transfer that is a
 * little longer than the way back makes it pairs. */
TEST(a_star_is_relaxed_as_pairs_are)
{
    weft_arena *a = weft_arena_new();
    int n_stars = 0;

    for (uint64_t seed = 1; seed <= N_SUBPROBLEMS; seed++) {
        const double way_s[9] = {0, 3, 4, 3, 0, 5, 4, 5, 0}; /* arms 1, 2, 3 */
        store s;
        double star;

        draw(&s, seed);
        if (s.piece.n_devices < 3)
            continue;
        for (int e = 0; e < s.piece.n_edges; e++)
            memcpy(s.send_s + 9 * e, way_s, sizeof way_s);
        star = relaxed(&s.piece, WEFT_MILP_RELAXED, 0, a);
        for (int e = 0; e < s.piece.n_edges; e++)
            s.send_s[9 * e + 1] += 1e-8;
        if (!isfinite(star))
            continue;
        CHECK(fabs(relaxed(&s.piece, WEFT_MILP_RELAXED, 0, a) - star) < 1e-5 * (1 + star));
        n_stars += s.piece.n_edges > 0;
    }
    CHECK(n_stars > N_SUBPROBLEMS / 10);
    weft_arena_free(a);
}

/* A loose program gives a bound. With the transfers that it is found to miss it is nearly always as
 * good as one with all of them: what is missed is measured at the least transfer. */
TEST(a_loose_program_grows_up_to_the_relaxation)
{
    weft_arena *a = weft_arena_new();
    int n_below = 0, n_grown = 0;

    for (uint64_t seed = 1; seed <= N_SUBPROBLEMS; seed++) {
        store s;
        double loose, grown, all, best;

        draw(&s, seed);
        best = optimum(&s.piece).best;
        loose = relaxed(&s.piece, WEFT_MILP_LOOSE, 0, a);
        grown = relaxed(&s.piece, WEFT_MILP_LOOSE, 12, a);
        all = relaxed(&s.piece, WEFT_MILP_RELAXED, 12, a);
        CHECK(grown <= best * (1 + 1e-9));
        CHECK(loose <= grown * (1 + 1e-5));
        CHECK(grown <= all * (1 + 2e-3));
        if (!isfinite(all))
            continue;
        n_below += loose < all * (1 - 2e-3);
        n_grown += loose < all * (1 - 2e-3) && grown >= all * (1 - 2e-3);
    }
    CHECK(n_below > N_SUBPROBLEMS / 20);
    CHECK(4 * n_grown > 3 * n_below);
    weft_arena_free(a);
}

/* What divides all times divides the optimum. */
TEST(the_optimum_is_a_multiple_of_the_quantum)
{
    for (uint64_t seed = 1; seed <= N_SUBPROBLEMS; seed++) {
        store s;
        trial best;
        double quantum;

        draw(&s, seed);
        for (int i = 0; i < MOST * DEVICES; i++) {
            s.time_s[i] *= 1.5;
            s.release_s[i] *= 3;
            s.tail_s[i] *= 4.5;
        }
        for (int d = 0; d < DEVICES; d++)
            s.free_s[d] *= 6;
        for (int i = 0; i < MOST * MOST * DEVICES * DEVICES; i++)
            s.send_s[i] *= 3;
        best = optimum(&s.piece);
        quantum = weft_subproblem_quantum(&s.piece, 1e-3);
        CHECK(quantum >= 1.5 && fmod(quantum, 1.5) == 0);
        CHECK(!isfinite(best.best) || fmod(best.best, quantum) == 0);
        s.time_s[0] += 1e-7;
        CHECK(!isfinite(s.time_s[0]) || weft_subproblem_quantum(&s.piece, 1e-3) == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_program_finds_the_optimum),
        cmocka_unit_test(below_the_optimum_there_is_nothing),
        cmocka_unit_test(the_bound_is_at_most_the_optimum),
        cmocka_unit_test(a_star_is_relaxed_as_pairs_are),
        cmocka_unit_test(a_loose_program_grows_up_to_the_relaxation),
        cmocka_unit_test(the_optimum_is_a_multiple_of_the_quantum),
    };

    return RUN_TESTS(tests);
}
