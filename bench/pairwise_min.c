/* SPDX-License-Identifier: MIT */
/* pairwise minimum.c: how long does the least sum of costs of pairs take?
 *
 * pairwise minimum [SHAPE VARIABLES STATES REPEATS] solves models with random costs and prints one JSON line
 * for each: the least processor time of a solve, and of the order, which is made once. Shapes:
 *
 *     chain     each variable with the next
 *     residual  and each third with the third after it
 *     ladder    and each with the second and third after it (tables of three variables)
 *     equal     residual, the tables of all blocks being the same
 *
 * Without arguments: every shape at several sizes. Exit code: 0, or 1 for an unknown shape. */
#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "opt.h"

enum { ROOM_BYTES = 64 << 20 };

static double clock_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static const double *random_table(weft_rng *r, int n, weft_arena *a)
{
    double *t = WEFT_NEW_RAW(a, double, n);

    for (int i = 0; i < n; i++)
        t[i] = weft_rng_real(r);
    return t;
}

typedef struct maker {
    weft_arena *arena;
    weft_rng rng;
    bool is_equal;
    const double *same[3]; /* own, next, skip */
    int n_states, n_pairs;
    weft_pairwise_min_pair *pair;
} maker;

/* A new table of n entries, or the one of its kind. */
static const double *table(maker *k, int kind, int n)
{
    if (k->same[kind] == NULL || !k->is_equal)
        k->same[kind] = random_table(&k->rng, n, k->arena);
    return k->same[kind];
}

static void add(maker *k, int u, int v, int kind)
{
    const double *cost = table(k, kind, k->n_states * k->n_states);

    k->pair[k->n_pairs++] = (weft_pairwise_min_pair){u, v, cost};
}

static weft_pairwise_min make(const char *shape, int n_vars, int n_states, weft_arena *a)
{
    maker k = {.arena = a, .rng = weft_rng_seed(1), .n_states = n_states};
    int *states = WEFT_NEW(a, int, n_vars);
    const double **own = WEFT_NEW(a, const double *, n_vars);

    k.is_equal = strcmp(shape, "equal") == 0;
    k.pair = WEFT_NEW(a, weft_pairwise_min_pair, 3 * n_vars);
    for (int v = 0; v < n_vars; v++) {
        states[v] = n_states;
        own[v] = table(&k, 0, n_states);
        if (v >= 1)
            add(&k, v - 1, v, 1);
        if (strcmp(shape, "ladder") == 0) {
            if (v >= 2)
                add(&k, v - 2, v, 2);
            if (v >= 3)
                add(&k, v - 3, v, 2);
        } else if (strcmp(shape, "chain") != 0 && v >= 3 && v % 3 == 0) {
            add(&k, v - 3, v, 2);
        }
    }
    return (weft_pairwise_min){n_vars, states, own, k.n_pairs, k.pair};
}

static void measure(const char *shape, int n_vars, int n_states, int n_repeats)
{
    weft_arena *model = weft_arena_new(), *a = weft_arena_new();
    weft_pairwise_min m = make(shape, n_vars, n_states, model);
    double begin_s = clock_s(), order_s, least_s = INFINITY;
    const int *order = weft_pairwise_min_order(n_vars, m.n_pairs, m.pair, model);
    weft_pairwise_min_answer x = {0};

    order_s = clock_s() - begin_s;
    weft_arena_reserve(a, ROOM_BYTES); /* kept from solve to solve: pages are asked for once */
    for (int i = 0; i < n_repeats; i++) {
        size_t mark = weft_arena_mark(a);

        begin_s = clock_s();
        weft_pairwise_min_solve(&m, order, 1 << 27, a, &x);
        least_s = fmin(least_s, clock_s() - begin_s);
        weft_arena_rewind(a, mark);
    }
    printf("{\"bench\": \"minsum\", \"shape\": \"%s\", \"variables\": %d, \"states\": %d, "
           "\"order_s\": %.3g, \"solve_s\": %.3g, \"value\": %.9g, \"exact\": %s}\n",
           shape, n_vars, n_states, order_s, least_s, x.value, x.is_exact ? "true" : "false");
    weft_arena_free(model);
    weft_arena_free(a);
}

int main(int n, char **text)
{
    static const char *const shapes[] = {"chain", "residual", "ladder", "equal"};
    bool is_known = n < 2;

    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        if (n == 5 && strcmp(text[1], shapes[i]) == 0) {
            measure(shapes[i], atoi(text[2]), atoi(text[3]), atoi(text[4]));
            is_known = true;
        }
        if (n < 2) {
            measure(shapes[i], 100, 25, 20);
            measure(shapes[i], 100, 50, 20);
            if (strcmp(shapes[i], "ladder") != 0)
                measure(shapes[i], 200, 100, 5);
        }
    }
    return is_known ? 0 : 1;
}
