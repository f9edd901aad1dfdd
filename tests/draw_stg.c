/* SPDX-License-Identifier: MIT */
/* draw_stg.c: task graphs in the manner of the Standard Task Graph Set.
 *
 * Ways of drawing edges i > j among the tasks 1 .. n:
 *   sameprob  each pair with the probability 0.1 or 0.2
 *   samepred  each task reads as many earlier tasks as the mean says, 1, 3 or 5, more or fewer by one
 *   layrprob, layrpred  the same, but tasks lie in layers, and edges come from the layer before
 * The entry precedes what reads nothing, the exit follows what nobody reads. Times are at least 1:
 * uniform up to twice the mean, normal with half the mean as deviation, or exponential. */
#include "draw_stg.h"

#include "check.h"

typedef enum way { SAMEPROB, SAMEPRED, LAYRPROB, LAYRPRED, WAYS } way;
typedef enum spread { UNIFORM, NORMAL, EXPONENTIAL, SPREADS } spread;

typedef struct draft {
    weft_arena *a;
    weft_rng r;
    int n, k; /* with entry and exit; processors */
    int *layer;
    WEFT_VEC(int) producer, reader;
} draft;

static int pick(draft *d, const int *list, int n)
{
    return list[weft_rng_below(&d->r, n)];
}

static double draw_time(draft *d, spread s, int mean)
{
    double sum = 0;

    if (s == UNIFORM)
        return 1 + weft_rng_below(&d->r, 2 * mean - 1);
    if (s == EXPONENTIAL)
        return fmax(1, nearbyint(-mean * log(1 - weft_rng_real(&d->r))));
    for (int i = 0; i < 12; i++) /* the sum of twelve has the variance 1 */
        sum += weft_rng_real(&d->r) - 0.5;
    return fmax(1, nearbyint(mean * (1 + 0.5 * sum)));
}

static void add_edge(draft *d, int from, int to)
{
    WEFT_PUSH(d->a, d->producer, from);
    WEFT_PUSH(d->a, d->reader, to);
}

/* Layers of one to twice `width` tasks; 0: all in one. */
static void draw_layers(draft *d, int width)
{
    int left = 0, layer = 0;

    d->layer = WEFT_NEW(d->a, int, d->n);
    for (int u = 1; width > 0 && u < d->n - 1; u++) {
        if (left == 0) {
            left = 1 + weft_rng_below(&d->r, 2 * width - 1);
            layer++;
        }
        d->layer[u] = layer;
        left--;
    }
}

/* May u give to v? Without layers any earlier task may. */
static bool may_give(const draft *d, int u, int v)
{
    return d->layer[v] == 0 ? u < v : d->layer[u] == d->layer[v] - 1;
}

static void draw_by_probability(draft *d, double p)
{
    for (int v = 1; v < d->n - 1; v++)
        for (int u = 1; u < v; u++)
            if (may_give(d, u, v) && weft_rng_real(&d->r) < p)
                add_edge(d, u, v);
}

static void draw_by_count(draft *d, int mean)
{
    for (int v = 1; v < d->n - 1; v++) {
        int wanted = mean - 1 + weft_rng_below(&d->r, 3), n = 0;

        for (int u = 1; u < v; u++)
            n += may_give(d, u, v);
        for (int u = 1; u < v; u++) { /* `wanted` of n, each as likely */
            if (!may_give(d, u, v))
                continue;
            if (weft_rng_below(&d->r, n) < wanted) {
                add_edge(d, u, v);
                wanted--;
            }
            n--;
        }
    }
}

static void draw_edges(draft *d, way w)
{
    static const int widths[] = {4, 8, 12}, means[] = {1, 3, 5};

    draw_layers(d, w == LAYRPROB || w == LAYRPRED ? pick(d, widths, 3) : 0);
    if (w == SAMEPROB)
        draw_by_probability(d, weft_rng_below(&d->r, 2) == 0 ? 0.1 : 0.2);
    else if (w == LAYRPROB)
        draw_by_probability(d, weft_rng_below(&d->r, 2) == 0 ? 0.2 : 0.4);
    else
        draw_by_count(d, pick(d, means, 3));
}

static void add_ends(draft *d)
{
    bool *is_read = WEFT_NEW(d->a, bool, d->n), *is_reader = WEFT_NEW(d->a, bool, d->n);

    for (int e = 0; e < d->producer.n; e++)
        is_read[d->producer.at[e]] = is_reader[d->reader.at[e]] = true;
    for (int u = 1; u < d->n - 1; u++) {
        if (!is_reader[u])
            add_edge(d, 0, u);
        if (!is_read[u])
            add_edge(d, u, d->n - 1);
    }
}

static const double *draw_seconds(draft *d)
{
    static const int means[] = {5, 10, 20};
    double *seconds = WEFT_NEW(d->a, double, d->n * d->k);
    spread s = (spread)weft_rng_below(&d->r, SPREADS);
    int mean = pick(d, means, 3);

    for (int u = 1; u < d->n - 1; u++) {
        double s_of_u = draw_time(d, s, mean);

        for (int k = 0; k < d->k; k++)
            seconds[u * d->k + k] = s_of_u;
    }
    return seconds;
}

static const char *const *draw_names(draft *d, const char *prefix, int n)
{
    const char **name = WEFT_NEW(d->a, const char *, n);

    for (int i = 0; i < n; i++)
        name[i] = weft_arena_print(d->a, "%s%d", prefix, i);
    return name;
}

weft_problem *draw_stg(uint64_t seed, int n_tasks)
{
    static const int processors[] = {2, 4, 8, 16};
    draft d = {.a = weft_arena_new(), .r = weft_rng_seed(seed), .n = n_tasks + 2};
    weft_problem_spec spec = {.name = "stg", .n_tasks = d.n, .host = -1};
    int *at;
    double *zero;
    weft_problem *p;

    d.k = pick(&d, processors, 4);
    draw_edges(&d, (way)(seed % WAYS));
    add_ends(&d);
    spec.n_devices = d.k;
    spec.n_tensors = d.producer.n;
    spec.task_name = draw_names(&d, "T", d.n);
    spec.device_name = draw_names(&d, "P", d.k);
    spec.seconds = draw_seconds(&d);
    spec.amount = zero = WEFT_NEW(d.a, double, d.producer.n + 1);
    spec.memory = zero;
    spec.producer = d.producer.at;
    spec.reader = d.reader.at;
    spec.reader_at = at = WEFT_NEW(d.a, int, d.producer.n + 1);
    for (int e = 0; e < d.producer.n; e++)
        at[e + 1] = e + 1;
    CHECK_OK(weft_problem_make(&spec, &p));
    weft_arena_free(d.a);
    return p;
}
