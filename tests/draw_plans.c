/* SPDX-License-Identifier: MIT */
/* draw_plans N [SEED]: N random plans for each transfer model and what weft finds of them, one JSON
 * object a line, for simulator.py. Problems have tasks, tensors and transfers of no time, ties,
 * tensors with several readers, shared links, routes of several links, magnitudes from 1e-12 to
 * 1e9; some plans have an order that contradicts the dependences. */
#include "check.h"
#include "fixtures.h"
#include "sim.h"

#include <stdlib.h>

static const weft_transfer model[] = {WEFT_OVERLAP, WEFT_CONTEND, WEFT_BLOCK, WEFT_CALLS};
enum { N_MODELS = sizeof model / sizeof *model };

static double *scaled(const double *x, int n, double by, weft_arena *a)
{
    double *y = WEFT_NEW(a, double, n);

    for (int i = 0; i < n; i++)
        y[i] = x[i] * by;
    return y;
}

/* --- problems -------------------------------------------------------------------------------- */

/* Links that several pairs of devices use, up to three on a route; the other way round the same
 * link (half duplex) or another. */
static void draw_routes(weft_problem *p, weft_rng *r, weft_arena *a)
{
    int n = p->n_devices, n_links = 1 + weft_rng_below(r, 2 * n);
    int *at = WEFT_NEW(a, int, n *n + 1), *link = WEFT_NEW(a, int, 3 * n * n);
    const char **name = WEFT_NEW(a, const char *, n_links);

    for (int k = 0; k < n_links; k++)
        name[k] = weft_arena_print(a, "link%d", k);
    for (int pair = 0; pair < n * n; pair++) {
        int most = pair / n == pair % n ? 0 : 1 + weft_rng_below(r, 3), from = at[pair];

        at[pair + 1] = from;
        for (int k = 0; k < n_links && at[pair + 1] - from < most; k++)
            if (weft_rng_below(r, n_links - k) < most)
                link[at[pair + 1]++] = k;
    }
    p->route_at = at;
    p->route = link;
    p->n_links = n_links;
    p->link_name = name;
}

static void draw_amounts(weft_problem *p, weft_rng *r, weft_arena *a)
{
    double *amount = scaled(p->amount, p->n_tensors, 1, a);
    double *latency = scaled(p->latency_s, p->n_devices * p->n_devices, 1, a);

    for (int t = 0; t < p->n_tensors; t++)
        amount[t] = weft_rng_below(r, 3) == 0 ? 0 : amount[t];
    for (int k = 0; k < p->n_devices * p->n_devices; k++)
        latency[k] = weft_rng_below(r, 2) == 0 ? 0 : latency[k];
    p->amount = amount;
    p->latency_s = latency;
}

/* Times and amounts that are sums of powers of ten far apart. */
static void draw_magnitudes(weft_problem *p, weft_rng *r, weft_arena *a)
{
    static const double power[] = {1e-12, 1e-7, 1e-3, 1, 1e4, 1e9};
    double *seconds = scaled(p->seconds, p->n_tasks * p->n_devices, 1, a);
    double *amount = scaled(p->amount, p->n_tensors, 1, a);

    for (int k = 0; k < p->n_tasks * p->n_devices; k++)
        seconds[k] *= power[weft_rng_below(r, 6)];
    for (int t = 0; t < p->n_tensors; t++)
        amount[t] *= power[weft_rng_below(r, 6)];
    p->seconds = seconds;
    p->amount = amount;
}

/* Whole and half seconds, and none: many ties. */
static void draw_switches(weft_problem *p, weft_rng *r, weft_arena *a)
{
    double *switch_s = WEFT_NEW(a, double, p->n_devices);

    for (int d = 0; d < p->n_devices; d++)
        switch_s[d] = weft_rng_below(r, 4) / 2.0;
    p->switch_s = switch_s;
}

static weft_problem draw_variant(const weft_problem *base, weft_transfer transfer, weft_rng *r,
                                 weft_arena *a)
{
    weft_problem p = *base;

    p.transfer = transfer;
    p.constraints.goal = weft_rng_below(r, 2) == 0 ? WEFT_LATENCY : WEFT_THROUGHPUT;
    if (weft_rng_below(r, 2) == 0)
        draw_amounts(&p, r, a);
    if (weft_rng_below(r, 4) == 0)
        draw_magnitudes(&p, r, a);
    if (weft_rng_below(r, 2) == 0)
        draw_routes(&p, r, a);
    if (weft_rng_below(r, 2) == 0)
        draw_switches(&p, r, a);
    return p;
}

/* --- plans ----------------------------------------------------------------------------------- */

static int draw_device(const weft_problem *p, int u, weft_rng *r)
{
    int d = weft_rng_below(r, p->n_devices);

    while (isinf(weft_task_s(p, u, d)))
        d = (d + 1) % p->n_devices;
    return d;
}

/* Places in the order, with many ties; one plan in twenty takes no account of the dependences. */
static weft_plan draw_plan(const weft_problem *p, weft_rng *r, weft_arena *a)
{
    weft_plan plan = weft_plan_new(p->n_tasks, a);
    bool is_wild = weft_rng_below(r, 20) == 0;

    for (int u = 0; u < p->n_tasks; u++) {
        plan.start_s[u] = weft_rng_below(r, 3);
        for (int k = p->pred_at[u]; k < p->pred_at[u + 1] && !is_wild; k++)
            plan.start_s[u] =
                fmax(plan.start_s[u], plan.start_s[p->pred[k]] + weft_rng_below(r, 3));
        plan.device[u] = draw_device(p, u, r);
    }
    return plan;
}

/* --- JSON ------------------------------------------------------------------------------------ */

static void put_number(double x)
{
    if (isfinite(x))
        printf("%.17g", x);
    else
        printf("null");
}

static void put_numbers(const char *key, const double *x, int n)
{
    printf("%s[", key);
    for (int i = 0; i < n; i++) {
        printf(i > 0 ? "," : "");
        put_number(x[i]);
    }
    printf("]");
}

static void put_rows(const char *key, const double *x, int n_rows, int n)
{
    printf("\"%s\":[", key);
    for (int i = 0; i < n_rows; i++)
        put_numbers(i > 0 ? "," : "", x + i * n, n);
    printf("],");
}

static void put_ints(const char *key, const int *x, int n)
{
    printf("%s[", key);
    for (int i = 0; i < n; i++)
        printf("%s%d", i > 0 ? "," : "", x[i]);
    printf("]");
}

static void put_routes(const weft_problem *p)
{
    int n = p->n_devices;

    printf("\"route\":[");
    for (int pair = 0; pair < n * n; pair++) {
        printf(pair % n > 0 ? "," : pair > 0 ? ",[" : "[");
        put_ints("", p->route + p->route_at[pair], p->route_at[pair + 1] - p->route_at[pair]);
        printf(pair % n == n - 1 ? "]" : "");
    }
    printf("],");
}

static void put_tensors(const weft_problem *p)
{
    printf("\"tensors\":[");
    for (int t = 0; t < p->n_tensors; t++) {
        printf("%s{\"producer\":%d,\"weight\":%s,\"output\":%s,\"amount\":", t > 0 ? "," : "",
               p->producer[t], p->is_weight[t] ? "true" : "false",
               p->is_output[t] ? "true" : "false");
        put_number(p->amount[t]);
        printf(",\"memory\":");
        put_number(p->memory[t]);
        put_ints(",\"readers\":", p->reader + p->reader_at[t],
                 p->reader_at[t + 1] - p->reader_at[t]);
        printf("}");
    }
    printf("],");
}

static void put_problem(const weft_problem *p)
{
    printf("{\"transfer\":\"%s\",\"goal\":\"%s\",\"host\":%d,", weft_transfer_name(p->transfer),
           weft_goal_name(p->constraints.goal), p->host);
    put_rows("seconds", p->seconds, p->n_tasks, p->n_devices);
    put_rows("latency", p->latency_s, p->n_devices, p->n_devices);
    put_rows("link", p->second_per_byte, p->n_devices, p->n_devices);
    put_routes(p);
    if (p->switch_s != NULL) {
        put_numbers("\"switch\":", p->switch_s, p->n_devices);
        printf(",");
    }
    put_tensors(p);
}

static void put_answer(const weft_problem *p, weft_plan *plan, weft_arena *a)
{
    weft_measures m;

    put_ints("\"device\":", plan->device, p->n_tasks);
    put_numbers(",\"start\":", plan->start_s, p->n_tasks);
    if (weft_evaluate(p, plan, a, &m) != WEFT_OK) {
        printf(",\"expect\":null}\n");
        return;
    }
    put_numbers(",\"expect\":{\"start\":", plan->start_s, p->n_tasks);
    printf(",\"makespan\":");
    put_number(m.makespan_s);
    printf(",\"period\":");
    put_number(m.period_s);
    printf(",\"sent\":");
    put_number(m.sent_bytes);
    printf(",\"transfers\":%d", m.n_transfers);
    put_numbers(",\"peak\":", m.peak_bytes, p->n_devices);
    put_numbers(",\"load\":", m.load_s, p->n_devices);
    put_numbers(",\"links\":", m.link_s, p->n_links);
    printf("}}\n");
}

/* --- all ------------------------------------------------------------------------------------- */

static void draw(uint64_t seed, weft_transfer transfer)
{
    weft_arena *a = weft_arena_new();
    weft_rng r = weft_rng_seed(seed);
    unsigned traits = (unsigned)weft_rng_below(&r, TRAITS);
    int n_tasks = 1 + weft_rng_below(&r, weft_rng_below(&r, 8) == 0 ? 40 : 12);
    int n_devices = 1 + weft_rng_below(&r, 5);
    weft_problem *base, p;
    weft_plan plan;

    if (transfer == WEFT_CALLS)
        traits |= TRAIT_HOST;
    base = random_mixed_problem(seed, n_tasks, n_devices, traits);
    p = draw_variant(base, transfer, &r, a);
    plan = draw_plan(&p, &r, a);
    put_problem(&p);
    put_answer(&p, &plan, a);
    weft_problem_free(base);
    weft_arena_free(a);
}

int main(int n_args, char **arg)
{
    long n = n_args > 1 ? strtol(arg[1], NULL, 10) : 100;
    uint64_t seed = n_args > 2 ? strtoull(arg[2], NULL, 10) : 1;

    for (long i = 0; i < n; i++)
        for (int k = 0; k < N_MODELS; k++)
            draw(seed + (uint64_t)(i * N_MODELS + k), model[k]);
    return 0;
}
