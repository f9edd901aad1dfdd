/* SPDX-License-Identifier: MIT */
/* Sums of costs of pairs: against all choices there are, and what holds for every model. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include "opt.h"

#include <stdlib.h>
#include <time.h>

enum { N_MODELS = 4000, MOST_VARS = 9, MOST_PAIRS = 24, N_SHARED = 3 };

/* --- random models --------------------------------------------------------------------------- */

typedef enum shape { CHAIN, TREE, RESIDUAL, SERIES_PARALLEL, ANY, DENSE, N_SHAPES } shape;

/* What a model may have besides; every combination is below N_TRAITS. */
enum {
    TRAIT_FORBIDDEN = 1, /* some entries are INFINITY */
    TRAIT_TIES = 2,      /* costs are 0, 1, 2 */
    TRAIT_SHARED = 4,    /* tables are drawn from a few, also if only a part of them is used */
    TRAIT_CLOSED = 8,    /* most entries are INFINITY: often there is no choice */
    N_TRAITS = 16,
};

typedef struct drawn {
    weft_pairwise_min m;
    int n_states[MOST_VARS];
    const double *own[MOST_VARS];
    weft_pairwise_min_pair pair[MOST_PAIRS];
} drawn;

static double random_cost(weft_rng *r, unsigned traits)
{
    int forbidden = traits & TRAIT_CLOSED ? 60 : traits & TRAIT_FORBIDDEN ? 15 : 0;

    if (weft_rng_below(r, 100) < forbidden)
        return INFINITY;
    return traits & TRAIT_TIES ? weft_rng_below(r, 3) : 10 * weft_rng_real(r);
}

static const double *random_table(weft_rng *r, unsigned traits, int n, weft_arena *a)
{
    double *t = WEFT_NEW(a, double, n);

    for (int i = 0; i < n; i++)
        t[i] = random_cost(r, traits);
    return t;
}

/* Either way round: pairs need not go from a lower to a higher variable. */
static void add_pair(drawn *d, weft_rng *r, int u, int v)
{
    bool is_turned = weft_rng_below(r, 4) == 0;

    if (u != v && d->m.n_pairs < MOST_PAIRS)
        d->pair[d->m.n_pairs++] =
            is_turned ? (weft_pairwise_min_pair){v, u, NULL} : (weft_pairwise_min_pair){u, v, NULL};
}

static void draw_pairs(drawn *d, weft_rng *r, shape kind)
{
    int n = d->m.n_vars;

    for (int v = 1; v < n; v++) {
        bool is_any = kind == ANY || kind == DENSE;

        if (kind == TREE)
            add_pair(d, r, weft_rng_below(r, v), v);
        else if (!is_any || weft_rng_below(r, 3) > 0)
            add_pair(d, r, v - 1, v);
        if (kind == RESIDUAL && v % 3 == 0)
            add_pair(d, r, v - 3, v);
        if (kind == SERIES_PARALLEL && v % 2 == 0) /* beside 0 .. v there is another way */
            add_pair(d, r, v % 4 == 0 ? 0 : v - 2, v);
    }
    for (int i = 0; i < (kind == DENSE ? 2 * n : kind == ANY ? n / 2 : 0); i++)
        add_pair(d, r, weft_rng_below(r, n), weft_rng_below(r, n));
    if (weft_rng_below(r, 4) == 0 && d->m.n_pairs > 0) /* two pairs of the same two */
        add_pair(d, r, d->pair[0].v, d->pair[0].u);
}

/* Products of states stay below 2e5. */
static drawn *random_model(uint64_t seed, weft_arena *a)
{
    weft_rng r = weft_rng_seed(seed);
    drawn *d = WEFT_NEW(a, drawn, 1);
    shape kind = (shape)(seed % N_SHAPES);
    unsigned traits = (unsigned)(seed / N_SHAPES % N_TRAITS);
    static const struct {
        int n_vars, n_states;
    } sizes[] = {
        {9, 3 },
        {8, 4 },
        {4, 18}
    }; /* the last: rows of tables beyond one block */
    int size = weft_rng_below(&r, 3), most = sizes[size].n_states;
    int n_vars = 1 + weft_rng_below(&r, sizes[size].n_vars);
    const double *own[N_SHARED], *cost[N_SHARED];

    d->m = (weft_pairwise_min){n_vars, d->n_states, d->own, 0, d->pair};
    for (int i = 0; i < N_SHARED; i++) {
        own[i] = random_table(&r, traits, most, a);
        cost[i] = random_table(&r, traits, most * most, a);
    }
    draw_pairs(d, &r, kind);
    for (int v = 0; v < n_vars; v++) {
        bool is_full = traits & TRAIT_SHARED && weft_rng_below(&r, 4) > 0;

        d->n_states[v] = is_full ? most : 1 + weft_rng_below(&r, most);
        d->own[v] = traits & TRAIT_SHARED ? own[weft_rng_below(&r, N_SHARED)]
                                          : random_table(&r, traits, d->n_states[v], a);
    }
    for (int i = 0; i < d->m.n_pairs; i++) {
        int n = d->n_states[d->pair[i].u] * d->n_states[d->pair[i].v];

        d->pair[i].cost = traits & TRAIT_SHARED ? cost[weft_rng_below(&r, N_SHARED)]
                                                : random_table(&r, traits, n, a);
    }
    return d;
}

/* --- the reference --------------------------------------------------------------------------- */

static double value_of(const weft_pairwise_min *m, const int *state)
{
    double value = 0;

    for (int v = 0; v < m->n_vars; v++)
        value += m->own[v][state[v]];
    for (int i = 0; i < m->n_pairs; i++)
        value +=
            m->pair[i].cost[state[m->pair[i].u] * m->n_states[m->pair[i].v] + state[m->pair[i].v]];
    return value;
}

static bool next_choice(const weft_pairwise_min *m, int *state)
{
    for (int v = 0; v < m->n_vars; v++) {
        if (++state[v] < m->n_states[v])
            return true;
        state[v] = 0;
    }
    return false;
}

static double brute(const weft_pairwise_min *m)
{
    int state[MOST_VARS] = {0};
    double best = INFINITY;

    do
        best = fmin(best, value_of(m, state));
    while (next_choice(m, state));
    return best;
}

/* The answer is what it says it is. */
static void check_answer(const weft_pairwise_min *m, const weft_pairwise_min_answer *x)
{
    CHECK((x->state == NULL) == isinf(x->value));
    CHECK(x->bound <= x->value);
    if (x->is_exact)
        CHECK(x->bound == x->value);
    if (x->state == NULL)
        return;
    for (int v = 0; v < m->n_vars; v++)
        CHECK(x->state[v] >= 0 && x->state[v] < m->n_states[v]);
    CHECK(value_of(m, x->state) == x->value);
}

/* No other state of a single variable is better. */
static void check_settled(const weft_pairwise_min *m, const weft_pairwise_min_answer *x)
{
    for (int v = 0; v < m->n_vars && x->state; v++) {
        int old = x->state[v];

        for (int i = 0; i < m->n_states[v]; i++) {
            x->state[v] = i;
            CHECK(value_of(m, x->state) >= x->value * (1 - 1e-9));
        }
        x->state[v] = old;
    }
}

static void check_least(double value, double best)
{
    if (isinf(best))
        CHECK(isinf(value));
    else
        CHECK_NEAR(value, best);
}

TEST(elimination_finds_the_least_of_all_choices)
{
    int n_closed = 0, n_open = 0;

    for (uint64_t seed = 0; seed < N_DRAWN(N_MODELS); seed++) {
        weft_arena *a = weft_arena_new();
        drawn *d = random_model(seed, a);
        weft_pairwise_min_answer x;
        double best = brute(&d->m);

        weft_pairwise_min_solve(&d->m, NULL, INT64_MAX, a, &x);
        check_answer(&d->m, &x);
        CHECK(x.is_exact);
        check_least(x.value, best);
        n_closed += isinf(best);
        n_open += !isinf(best);
        weft_arena_free(a);
    }
    CHECK(n_closed >= N_DRAWN(N_MODELS) / 20); /* both kinds were met */
    CHECK(n_open >= N_DRAWN(N_MODELS) / 2);
}

/* Tables of one, two, ... entries: bounds and choices keep their order, and enough room is exact.
 */
TEST(bound_least_and_choice_keep_their_order_in_little_room)
{
    static const int64_t room[] = {0, 1, 4, 9, 27, 200};
    int n_inexact = 0, n_best = 0;

    for (uint64_t seed = 0; seed < N_DRAWN(N_MODELS); seed++) {
        weft_arena *a = weft_arena_new();
        drawn *d = random_model(seed, a);
        double best = brute(&d->m);

        for (size_t i = 0; i < sizeof room / sizeof *room; i++) {
            weft_pairwise_min_answer x;

            weft_pairwise_min_solve(&d->m, NULL, room[i], a, &x);
            check_answer(&d->m, &x);
            check_settled(&d->m, &x);
            CHECK(isinf(best) || x.bound <= best * (1 + 1e-9));
            CHECK(x.value >= best * (1 - 1e-9));
            if (x.is_exact)
                check_least(x.value, best);
            n_inexact += !x.is_exact;
            n_best += !x.is_exact && x.value <= best * (1 + 1e-9);
        }
        weft_arena_free(a);
    }
    CHECK(n_inexact > N_DRAWN(N_MODELS) / 4);
    CHECK(100 * n_best >= 99 * n_inexact); /* on such small models the search misses hardly any */
}

/* Another numbering of variables and states, other ends of pairs: the same model. */
TEST(numbering_does_not_change_the_least_value)
{
    for (uint64_t seed = 0; seed < N_DRAWN(N_MODELS) / 2; seed++) {
        weft_arena *a = weft_arena_new();
        drawn *d = random_model(seed, a), *e = WEFT_NEW(a, drawn, 1);
        int n = d->m.n_vars, to[MOST_VARS];
        weft_rng r = weft_rng_seed(seed);
        weft_pairwise_min_answer x, y;

        for (int v = 0; v < n; v++) {
            int other = weft_rng_below(&r, v + 1);

            to[v] = to[other];
            to[other] = v;
        }
        e->m = (weft_pairwise_min){n, e->n_states, e->own, d->m.n_pairs, e->pair};
        for (int v = 0; v < n; v++) {
            e->n_states[to[v]] = d->n_states[v];
            e->own[to[v]] = d->own[v];
        }
        for (int i = 0; i < d->m.n_pairs; i++)
            e->pair[d->m.n_pairs - 1 - i] =
                (weft_pairwise_min_pair){to[d->pair[i].u], to[d->pair[i].v], d->pair[i].cost};
        weft_pairwise_min_solve(&d->m, NULL, INT64_MAX, a, &x);
        weft_pairwise_min_solve(&e->m, NULL, INT64_MAX, a, &y);
        check_least(y.value, x.value);
        weft_arena_free(a);
    }
}

/* Tables at other addresses with the same content, any order of elimination: the same value. */
TEST(sharing_of_tables_and_order_do_not_change_the_least_value)
{
    for (uint64_t seed = 0; seed < N_DRAWN(N_MODELS) / 2; seed++) {
        weft_arena *a = weft_arena_new();
        drawn *d = random_model(seed, a), *e = weft_arena_copy(a, d, sizeof *d);
        int order[MOST_VARS];
        weft_pairwise_min_answer x, y;

        e->m.n_states = e->n_states;
        e->m.own = e->own;
        e->m.pair = e->pair;
        for (int v = 0; v < d->m.n_vars; v++) {
            order[v] = d->m.n_vars - 1 - v;
            e->own[v] = weft_arena_copy(a, d->own[v], sizeof(double) * (size_t)d->n_states[v]);
        }
        for (int i = 0; i < d->m.n_pairs; i++) {
            int n = d->n_states[d->pair[i].u] * d->n_states[d->pair[i].v];

            e->pair[i].cost = weft_arena_copy(a, d->pair[i].cost, sizeof(double) * (size_t)n);
        }
        weft_pairwise_min_solve(&d->m, NULL, INT64_MAX, a, &x);
        weft_pairwise_min_solve(&e->m, order, INT64_MAX, a, &y);
        check_answer(&e->m, &y);
        check_least(y.value, x.value);
        weft_arena_free(a);
    }
}

/* --- larger models --------------------------------------------------------------------------- */

enum { N_BLOCKS = 64, N_STATES = 82, N_INNER = 3 };

/* Residual blocks: a chain of n_blocks * N_INNER + 1 variables, and a pair around each block. Each
 * block has the same tables; or, if they are not shared, copies of them. */
static weft_pairwise_min blocks(int n_blocks, bool is_shared, weft_arena *a)
{
    int n_vars = n_blocks * N_INNER + 1, *n_states = WEFT_NEW(a, int, n_vars), n_pairs = 0;
    const double **own = WEFT_NEW(a, const double *, n_vars), *first = NULL;
    weft_pairwise_min_pair *pair = WEFT_NEW(a, weft_pairwise_min_pair, n_vars + n_blocks);
    const double *cost[N_INNER + 1];

    for (int v = 0; v < n_vars; v++) {
        weft_rng r = weft_rng_seed(1); /* the same numbers again */

        n_states[v] = N_STATES;
        if (v == 0 || !is_shared)
            first = random_table(&r, 0, N_STATES, a);
        own[v] = first;
    }
    for (int b = 0; b < n_blocks; b++) {
        weft_rng r = weft_rng_seed(2);

        for (int i = 0; i <= N_INNER; i++) {
            int from = b * N_INNER + i % N_INNER;

            if (b == 0 || !is_shared)
                cost[i] = random_table(&r, 0, N_STATES * N_STATES, a);
            pair[n_pairs++] =
                (weft_pairwise_min_pair){from, i < N_INNER ? from + 1 : from + N_INNER, cost[i]};
        }
    }
    return (weft_pairwise_min){n_vars, n_states, own, n_pairs, pair};
}

/* By a table for each state of the first variable of a block: what elimination must agree with. */
static double chain_of_blocks(const weft_pairwise_min *m, int n_blocks, weft_arena *a)
{
    double *rest = WEFT_NEW(a, double, N_STATES), *now = WEFT_NEW(a, double, N_STATES),
           *next = WEFT_NEW(a, double, N_STATES), best = INFINITY;

    memcpy(rest, m->own[0], sizeof *rest * N_STATES);
    for (int b = n_blocks - 1; b >= 0; b--) { /* rest[x]: block b + 1 and on, from state x */
        double *before = WEFT_NEW(a, double, N_STATES);

        for (int x = 0; x < N_STATES; x++) {
            for (int i = 0; i < N_STATES; i++)
                now[i] = i == x ? m->own[0][x] : INFINITY;
            for (int k = 0; k < N_INNER; k++) {
                for (int j = 0; j < N_STATES; j++) {
                    next[j] = INFINITY;
                    for (int i = 0; i < N_STATES; i++)
                        next[j] = fmin(next[j], now[i] + m->pair[k].cost[i * N_STATES + j]);
                    next[j] += k + 1 < N_INNER ? m->own[0][j] : 0;
                }
                memcpy(now, next, sizeof *now * N_STATES);
            }
            before[x] = INFINITY;
            for (int j = 0; j < N_STATES; j++)
                before[x] =
                    fmin(before[x], now[j] + m->pair[N_INNER].cost[x * N_STATES + j] + rest[j]);
        }
        rest = before;
    }
    for (int x = 0; x < N_STATES; x++)
        best = fmin(best, rest[x]);
    return best;
}

static double clock_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The least of several runs. */
static double solve_s(const weft_pairwise_min *m, weft_arena *a, weft_pairwise_min_answer *x)
{
    const int *order = weft_pairwise_min_order(m->n_vars, m->n_pairs, m->pair, a);
    double least_s = INFINITY;

    for (int i = 0; i < 5; i++) {
        double begin_s = clock_s();

        weft_pairwise_min_solve(m, order, INT64_MAX, a, x);
        least_s = fmin(least_s, clock_s() - begin_s);
    }
    return least_s;
}

TEST(equal_blocks_are_solved_once)
{
    weft_arena *a = weft_arena_new();
    weft_pairwise_min few = blocks(4, true, a), shared = blocks(N_BLOCKS, true, a),
                      apart = blocks(N_BLOCKS, false, a);
    weft_pairwise_min_answer x, y, z;
    double few_s = solve_s(&few, a, &x), shared_s = solve_s(&shared, a, &y),
           apart_s = solve_s(&apart, a, &z);

    CHECK_NEAR(x.value, chain_of_blocks(&few, 4, a));
    CHECK_NEAR(y.value, chain_of_blocks(&shared, N_BLOCKS, a));
    CHECK_NEAR(z.value, y.value);
    CHECK(y.is_exact && z.is_exact);
    CHECK(shared_s < 8 * few_s);   /* 16 times the blocks */
    CHECK(4 * shared_s < apart_s); /* about 2 of 2 * N_BLOCKS products of matrices remain */
    weft_arena_free(a);
}

/* A grid has no small tables; its rows are found again by a search that may not look at all. */
TEST(a_grid_is_bounded_and_searched)
{
    enum { SIDE = 6, STATES = 5, N = SIDE * SIDE };
    int n_near = 0;

    for (uint64_t seed = 0; seed < N_DRAWN(50); seed++) {
        weft_arena *a = weft_arena_new();
        weft_rng r = weft_rng_seed(seed);
        int n_states[N], n_pairs = 0;
        const double *own[N];
        weft_pairwise_min_pair pair[2 * N];
        weft_pairwise_min m = {N, n_states, own, 0, pair};
        weft_pairwise_min_answer best, x, again;

        for (int v = 0; v < N; v++) {
            n_states[v] = STATES;
            own[v] = random_table(&r, 0, STATES, a);
            if (v % SIDE)
                pair[n_pairs++] = (weft_pairwise_min_pair){
                    v - 1, v, random_table(&r, TRAIT_TIES, STATES * STATES, a)};
            if (v >= SIDE)
                pair[n_pairs++] = (weft_pairwise_min_pair){
                    v - SIDE, v, random_table(&r, TRAIT_TIES, STATES * STATES, a)};
        }
        m.n_pairs = n_pairs;
        weft_pairwise_min_solve(&m, NULL, INT64_MAX, a, &best);
        weft_pairwise_min_solve(&m, NULL, STATES * STATES, a, &x);
        weft_pairwise_min_solve(&m, NULL, STATES * STATES, a, &again);
        check_answer(&m, &best);
        check_answer(&m, &x);
        check_settled(&m, &x);
        CHECK(best.is_exact && x.bound <= best.value && x.value >= best.value * (1 - 1e-9));
        CHECK(x.bound > 0);
        CHECK(memcmp(x.state, again.state, sizeof n_states) == 0);
        n_near += x.value <= 1.01 * best.value;
        weft_arena_free(a);
    }
    CHECK(n_near >= N_DRAWN(50) * 9 / 10);
}

/* Equal costs everywhere: the lowest states. Nothing to choose: value 0. */
TEST(ties_go_to_the_lowest_states)
{
    weft_arena *a = weft_arena_new();
    static const double zero[9];
    const double *own[] = {zero, zero, zero};
    const weft_pairwise_min_pair pair[] = {
        {0, 1, zero},
        {1, 2, zero},
        {2, 0, zero}
    };
    weft_pairwise_min m =
                          {
                              3, (const int[]){3, 3, 3},
                                own, 3, pair
    },
                      none = {0, NULL, NULL, 0, NULL};
    weft_pairwise_min_answer x;

    weft_pairwise_min_solve(&m, NULL, INT64_MAX, a, &x);
    CHECK(x.value == 0 && x.is_exact);
    CHECK(x.state[0] == 0 && x.state[1] == 0 && x.state[2] == 0);
    weft_pairwise_min_solve(&none, NULL, INT64_MAX, a, &x);
    CHECK(x.value == 0 && x.bound == 0 && x.is_exact);
    weft_arena_free(a);
}

/* a - b - c - d with a pair a - d around: the inner ones go first, then the ends; a leaf before. */
TEST(order_takes_least_fill)
{
    weft_arena *a = weft_arena_new();
    const weft_pairwise_min_pair pair[] = {
        {0, 1, NULL},
        {1, 2, NULL},
        {2, 3, NULL},
        {0, 3, NULL},
        {3, 4, NULL}
    };
    const int *order = weft_pairwise_min_order(5, 5, pair, a);

    CHECK_INT(order[0], 4); /* a leaf adds nothing */
    CHECK_INT(order[1], 0); /* all others add one edge; 3 has seen 4 go */
    CHECK_INT(order[2], 2); /* 1 2 3 are a triangle; 1 and 3 have seen others go */
    CHECK_INT(order[3], 1);
    CHECK_INT(order[4], 3);
    weft_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elimination_finds_the_least_of_all_choices),
        cmocka_unit_test(bound_least_and_choice_keep_their_order_in_little_room),
        cmocka_unit_test(numbering_does_not_change_the_least_value),
        cmocka_unit_test(sharing_of_tables_and_order_do_not_change_the_least_value),
        cmocka_unit_test(equal_blocks_are_solved_once),
        cmocka_unit_test(a_grid_is_bounded_and_searched),
        cmocka_unit_test(ties_go_to_the_lowest_states),
        cmocka_unit_test(order_takes_least_fill),
    };
    return RUN_TESTS(tests);
}
