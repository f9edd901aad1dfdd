/* SPDX-License-Identifier: MIT */
#include "toy_eval.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double size_of(const toy_eval *m, const weft_design_point *p, weft_parameter k)
{
    return weft_parameter_size(m->template_, p, k);
}

/* Seconds of an operator on one core. */
static double tensor_s(const toy_eval *m, int u, double rows, double cols)
{
    double cycles = ceil(m->k[u] / rows) * ceil(m->c[u] / cols) * (m->m[u] + rows) + cols;

    return cycles / m->template_->constant[WEFT_CLOCK].value;
}

static double vector_s(const toy_eval *m, int u, double lanes)
{
    return ceil(m->m[u] / lanes) / m->template_->constant[WEFT_CLOCK].value;
}

static double bytes_s(const toy_eval *m, double buffer)
{
    const weft_template *t = m->template_;
    double bytes = 0;

    for (int u = 0; u < m->n; u++)
        bytes += m->bytes[u] * (1 + 4194304.0 / buffer);
    return bytes / (t->constant[WEFT_HBM_BANDWIDTH].value * t->constant[WEFT_HBM_EFFICIENCY].value);
}

static void times_of(const toy_eval *m, const weft_design_point *p, double *lat)
{
    for (int u = 0; u < m->n; u++)
        lat[u] = m->is_tensor[u]
                     ? tensor_s(m, u, size_of(m, p, WEFT_ROWS), size_of(m, p, WEFT_COLS))
                     : vector_s(m, u, size_of(m, p, WEFT_LANES));
}

/* Longest path to the end of the network from each operator, itself included. */
static double path_of(const toy_eval *m, const double *lat, double *bottom)
{
    double path = 0;

    for (int u = m->n - 1; u >= 0; u--) {
        bottom[u] = 0;
        for (int v = u + 1; v < m->n; v++)
            if (m->before[u][v])
                bottom[u] = fmax(bottom[u], bottom[v]);
        bottom[u] += lat[u];
        path = fmax(path, bottom[u]);
    }
    return path;
}

/* List schedule by the longest path to the end. */
static double schedule_s(const toy_eval *m, const double *lat, int n_tensor, int n_vector,
                         double *waited)
{
    double bottom[TOY_OPERATORS], end[TOY_OPERATORS], now = 0, last = 0;
    int state[TOY_OPERATORS] = {0}, n_left = m->n, n_free[2] = {n_vector, n_tensor};

    path_of(m, lat, bottom);
    waited[0] = waited[1] = 0;
    while (n_left > 0) {
        double next = INFINITY;

        for (;;) {
            int best = -1;

            for (int v = 0; v < m->n; v++) {
                bool is_ready = state[v] == 0;

                for (int u = 0; u < v; u++)
                    is_ready = is_ready && !(m->before[u][v] && state[u] != 2);
                if (is_ready && n_free[m->is_tensor[v]] == 0)
                    waited[m->is_tensor[v]] += lat[v];
                if (is_ready && n_free[m->is_tensor[v]] > 0 &&
                    (best < 0 || bottom[v] > bottom[best]))
                    best = v;
            }
            if (best < 0)
                break;
            state[best] = 1;
            n_free[m->is_tensor[best]]--;
            end[best] = now + lat[best];
        }
        for (int u = 0; u < m->n; u++)
            if (state[u] == 1)
                next = fmin(next, end[u]);
        now = next;
        for (int u = 0; u < m->n; u++)
            if (state[u] == 1 && end[u] <= now) {
                state[u] = 2;
                n_free[m->is_tensor[u]]++;
                n_left--;
                last = fmax(last, end[u]);
            }
    }
    return last;
}

/* In [0, 1), as if at random, from the design. */
static double noise(const toy_eval *m, const weft_design_point *p)
{
    weft_rng r = weft_rng_seed(m->seed * 1000003 + (uint64_t)weft_point_index(m->template_, p));

    return weft_rng_real(&r);
}

static weft_conflicts conflicts(void *eval, const weft_design_point *p)
{
    const toy_eval *m = eval;
    double lat[TOY_OPERATORS], bottom[TOY_OPERATORS], waited[2];
    weft_conflicts c = {0};

    times_of(m, p, lat);
    c.path_s = path_of(m, lat, bottom);
    c.step_s = schedule_s(m, lat, (int)size_of(m, p, WEFT_TENSOR_CORES),
                          (int)size_of(m, p, WEFT_VECTOR_CORES), waited);
    c.step_s =
        fmax(c.step_s, bytes_s(m, size_of(m, p, WEFT_BUFFER))) * (1 + m->rough * noise(m, p));
    c.tensor = waited[1];
    c.vector = waited[0];
    return c;
}

static double step_s(void *eval, const weft_design_point *p)
{
    toy_eval *m = eval;

    atomic_fetch_add(&m->n_steps, 1);
    if (m->told)
        m->told();
    return conflicts(eval, p).step_s;
}

static double simple_of(const toy_eval *m, const double *lat, double n_tensor, double n_vector,
                        double buffer)
{
    double bottom[TOY_OPERATORS], work[2] = {0, 0};

    for (int u = 0; u < m->n; u++)
        work[m->is_tensor[u]] += lat[u];
    return fmax(fmax(path_of(m, lat, bottom), bytes_s(m, buffer)),
                fmax(work[1] / n_tensor, work[0] / n_vector)) *
           (1 - 1e-12);
}

static double simple_s(void *eval, const weft_design_point *p)
{
    const toy_eval *m = eval;
    double lat[TOY_OPERATORS];

    times_of(m, p, lat);
    return simple_of(m, lat, size_of(m, p, WEFT_TENSOR_CORES), size_of(m, p, WEFT_VECTOR_CORES),
                     size_of(m, p, WEFT_BUFFER));
}

/* Nearer to the schedule without noise, which any schedule would take with it. */
static double headtail_s(void *eval, const weft_design_point *p)
{
    const toy_eval *m = eval;
    double low = simple_s(eval, p);

    return low * (1 + 0.5 * m->rough * noise(m, p));
}

static double floor_s(void *eval, const weft_design_point *p)
{
    return headtail_s(eval, p);
}

static double box_s(void *eval, const weft_space_box *b, const weft_limits *l)
{
    const toy_eval *m = eval;
    const weft_template *t = m->template_;
    double lat[TOY_OPERATORS];

    if (weft_design_point_area_mm2(t, &b->lo) > l->area_mm2 ||
        weft_design_point_tdp_w(t, &b->lo) > l->tdp_w)
        return INFINITY;
    for (int u = 0; u < m->n; u++) {
        lat[u] = vector_s(m, u, size_of(m, &b->hi, WEFT_LANES));
        if (m->is_tensor[u])
            lat[u] = INFINITY;
        for (int i = b->lo.at[WEFT_ROWS]; i <= b->hi.at[WEFT_ROWS]; i++)
            for (int j = b->lo.at[WEFT_COLS]; j <= b->hi.at[WEFT_COLS]; j++)
                if (m->is_tensor[u])
                    lat[u] =
                        fmin(lat[u], tensor_s(m, u, t->size[WEFT_ROWS][i], t->size[WEFT_COLS][j]));
    }
    return simple_of(m, lat, size_of(m, &b->hi, WEFT_TENSOR_CORES),
                     size_of(m, &b->hi, WEFT_VECTOR_CORES), size_of(m, &b->hi, WEFT_BUFFER));
}

static double serial_s(void *eval, const weft_design_point *p)
{
    const toy_eval *m = eval;
    double lat[TOY_OPERATORS], bottom[TOY_OPERATORS], sum;

    times_of(m, p, lat);
    sum = path_of(m, lat, bottom);
    for (int u = 0; u < m->n; u++)
        sum += lat[u] / size_of(m, p, m->is_tensor[u] ? WEFT_TENSOR_CORES : WEFT_VECTOR_CORES);
    return sum;
}

const weft_timer toy_timer = {
    {step_s, floor_s, simple_s, headtail_s, serial_s},
    conflicts, box_s
};

toy_eval *toy_eval_new(const weft_template *t, uint64_t seed, double rough, weft_arena *a)
{
    toy_eval *m = WEFT_NEW(a, toy_eval, 1);
    weft_rng r = weft_rng_seed(seed);

    m->template_ = t;
    m->seed = seed;
    m->rough = rough;
    m->n = 4 + weft_rng_below(&r, TOY_OPERATORS - 3);
    for (int u = 0; u < m->n; u++) {
        m->is_tensor[u] = weft_rng_below(&r, 3) > 0;
        m->m[u] =
            m->is_tensor[u] ? 64 + weft_rng_below(&r, 1000) : 20000 + weft_rng_below(&r, 200000);
        m->k[u] = 16 + weft_rng_below(&r, 1000);
        m->c[u] = 16 + weft_rng_below(&r, 1000);
        m->bytes[u] = weft_rng_below(&r, 4000000);
        for (int v = 0; v < u; v++)
            m->before[v][u] = weft_rng_below(&r, 4) == 0;
    }
    return m;
}

/* --- templates and objectives -------------------------------------------------------------------- */

static int print_sizes(char *to, size_t room, const char *name, int largest, int most,
                       const char *unit, weft_rng *r)
{
    int n = snprintf(to, room, "  %s: [", name), n_sizes = 1 + weft_rng_below(r, most);
    int first = weft_rng_below(r, 4), size = 1 << first;

    for (int i = 0; i < n_sizes && (i == 0 || size <= largest); i++) {
        n += snprintf(to + n, room - (size_t)n, "%s%d%s", i > 0 ? ", " : "", size, unit);
        size *= 2;
    }
    return n + snprintf(to + n, room - (size_t)n, "]\n");
}

weft_template *toy_template(uint64_t seed, int most)
{
    static const char *const name[WEFT_N_PARAMETERS] = {"rows",  "cols",         "tensor_cores",
                                                        "lanes", "vector_cores", "buffer"};
    static const int largest[WEFT_N_PARAMETERS] = {256, 256, 64, 256, 64, 64};
    weft_rng r = weft_rng_seed(seed + 77);
    weft_template *t = NULL;
    char text[4096], design[512] = "";
    int n = snprintf(text, sizeof text, "schema: weft.template/1\nname: toy\nsizes:\n");

    for (int k = 0; k < WEFT_N_PARAMETERS; k++) {
        const char *unit = k == WEFT_BUFFER ? "MiB" : "";
        int at = n;
        size_t used = strlen(design);

        n += print_sizes(text + n, sizeof text - (size_t)n, name[k], largest[k], most, unit, &r);
        snprintf(design + used, sizeof design - used, ", %s: %d%s", name[k],
                 atoi(strchr(text + at, '[') + 1), unit);
    }
    n += snprintf(text + n, sizeof text - (size_t)n,
                  "clock: 700MHz\n"
                  "hbm: {bandwidth: 700GB/s, efficiency: {value: 0.85, error: 0.15}, size: 16GiB}\n"
                  "area: {fixed: {value: 50mm2, error: 0.5}, pe: {value: 1100um2, error: 0.35},"
                  " lane: {value: 3000um2, error: 0.35}, sram_per_MiB: 1.2mm2}\n"
                  "power: {fixed: 20W, mac: {value: 2.2pJ, error: 0.35}, lane: 8pJ}\n"
                  "state_bytes: 8\ndesigns:\n  - {name: smallest%s}\n",
                  design);
    if (weft_template_parse(text, (size_t)n, "toy.yaml", &t) != WEFT_OK) {
        fprintf(stderr, "%s\n%s", weft_message(), text);
        abort();
    }
    return t;
}

weft_run toy_run(int n_threads, int64_t seed, weft_arena *scratch)
{
    return (weft_run){
        .seed = seed, .n_threads = n_threads, .limit_s = INFINITY, .scratch = scratch};
}

toy_objective toy_objective_new(uint64_t seed, int most, int n_workloads, double rough,
                                weft_arena *a)
{
    enum { MOST_THREADS = 8 };
    toy_objective q = {.template_ = toy_template(seed, most)};
    weft_workload *w = WEFT_NEW(a, weft_workload, n_workloads);
    weft_rng r = weft_rng_seed(seed + 5);
    weft_design_point middle = weft_point_at(q.template_, 0);

    for (int i = 0; i < n_workloads; i++) {
        void **eval = WEFT_NEW(a, void *, MOST_THREADS);

        q.eval[i] = toy_eval_new(q.template_, seed * 10 + (uint64_t)i, rough, a);
        for (int t = 0; t < MOST_THREADS; t++)
            eval[t] = q.eval[i]; /* has no tables that grow */
        w[i] = (weft_workload){.name = i == 0   ? "a"
                                       : i == 1 ? "b"
                                                : "c",
                               .timer = &toy_timer,
                               .eval = eval,
                               .batch = 8,
                               .weight = 1 + i,
                               .hash = seed};
    }
    for (int k = 0; k < WEFT_N_PARAMETERS; k++)
        middle.at[k] = (uint16_t)(q.template_->n_sizes[k] / 2 +
                                  weft_rng_below(&r, (q.template_->n_sizes[k] + 1) / 2));
    q.objective = (weft_objective){
        .template_ = q.template_,
        .n_workloads = n_workloads,
        .workload = w,
        .metric = seed % 2 == 0 ? WEFT_METRIC_PER_TDP : WEFT_METRIC_THROUGHPUT,
        .blend = seed % 3 == 0 ? WEFT_BLEND_WORST : WEFT_BLEND_GEOMETRIC,
        .limits = {weft_design_point_area_mm2(q.template_, &middle),
                   weft_design_point_tdp_w(q.template_, &middle)},
        .reference = q.template_->landmark[0].point,
        .least_throughput = seed % 2 == 0 ? 1.5 : 0,
    };
    return q;
}
