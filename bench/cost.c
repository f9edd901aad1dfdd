/* SPDX-License-Identifier: MIT */
/* cost.c: how fast are tables of costs filled?
 *
 * cost [MODEL...] fills the table of each network (default: resnet50 and bert) on each preset,
 * again and again, on one core, and prints one JSON line a network: operator costs (nodes x
 * devices) a second over all presets, and for comparison the time of a plain pass that reads and
 * writes as many bytes as the table has. A fill starts from the graph each time, so that every kind
 * of work is modelled once and looked up for the other nodes and equal devices. Best of several
 * rounds, since the least disturbed one is the one that repeats. */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <time.h>

#include "weft/cost.h"
#include "weft/model.h"

enum { N_ROUNDS = 7, N_FILLS = 20 };

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* What was measured, summed over platforms. */
typedef struct total {
    double costs, fill_s, pass_s, lowest_per_s;
    const char *lowest;
    int n_platforms, n_keys;
} total;

/* Time of `N_FILLS` tables, the best of the rounds; the last table is kept in *out. */
static weft_status fill_s(const weft_graph *g, const weft_platform *p, double *best_s,
                          weft_costs **out)
{
    for (int round = 0; round < N_ROUNDS; round++) {
        double start_s = now_s(), taken_s;

        for (int i = 0; i < N_FILLS; i++) {
            weft_costs_free(*out);
            *out = NULL;
            WEFT_TRY(weft_costs_new(g, p, out));
        }
        taken_s = now_s() - start_s;
        if (round == 0 || taken_s < *best_s)
            *best_s = taken_s;
    }
    return WEFT_OK;
}

/* Time to copy the three columns of a table `N_FILLS` times. */
static double pass_s(const weft_costs *c, weft_arena *a)
{
    size_t n = (size_t)c->n_nodes * (size_t)c->n_devices;
    volatile double *to = WEFT_NEW(a, double, 3 * n);
    double best_s = 0;

    for (int round = 0; round < N_ROUNDS; round++) {
        double start_s = now_s(), taken_s;

        for (int i = 0; i < N_FILLS; i++)
            for (size_t k = 0; k < n; k++) {
                to[k] = c->seconds[k];
                to[n + k] = c->joules[k];
                to[2 * n + k] = c->memory_bytes[k];
            }
        taken_s = now_s() - start_s;
        if (round == 0 || taken_s < best_s)
            best_s = taken_s;
    }
    return best_s;
}

static weft_status measure_on(const weft_graph *g, const char *preset, total *t)
{
    weft_arena *a = weft_arena_new();
    weft_platform *p = NULL;
    weft_costs *c = NULL;
    double taken_s = 0, costs;
    weft_status status = weft_platform_open(preset, &p);

    if (status == WEFT_OK)
        status = fill_s(g, p, &taken_s, &c);
    if (status == WEFT_OK) {
        costs = (double)N_FILLS * c->n_nodes * c->n_devices;
        t->costs += costs;
        t->fill_s += taken_s;
        t->pass_s += pass_s(c, a);
        t->n_keys = c->n_keys;
        t->n_platforms++;
        if (t->lowest == NULL || costs / taken_s < t->lowest_per_s) {
            t->lowest_per_s = costs / taken_s;
            t->lowest = preset;
        }
    }
    weft_costs_free(c);
    weft_platform_free(p);
    weft_arena_free(a);
    return status;
}

static void print_line(const weft_model *m, const total *t)
{
    weft_arena *a = weft_arena_new();
    weft_doc *line = weft_doc_new(a, WEFT_DOC_MAP);

    weft_doc_put(a, line, "bench", weft_doc_new_text(a, "cost"));
    weft_doc_put(a, line, "model", weft_doc_new_text(a, m->name));
    weft_doc_put(a, line, "nodes", weft_doc_new_int(a, m->graph->n_nodes));
    weft_doc_put(a, line, "keys", weft_doc_new_int(a, t->n_keys));
    weft_doc_put(a, line, "platforms", weft_doc_new_int(a, t->n_platforms));
    weft_doc_put(a, line, "costs_per_s", weft_doc_new_real(a, t->costs / t->fill_s));
    weft_doc_put(a, line, "lowest_costs_per_s", weft_doc_new_real(a, t->lowest_per_s));
    weft_doc_put(a, line, "lowest_platform", weft_doc_new_text(a, t->lowest ? t->lowest : ""));
    weft_doc_put(a, line, "times_of_plain_pass", weft_doc_new_real(a, t->fill_s / t->pass_s));
    printf("%s\n", weft_doc_json(line, 0, a));
    weft_arena_free(a);
}

static weft_status measure(const char *model)
{
    weft_model *m = NULL;
    total t = {0};

    WEFT_TRY(weft_model_open(model, NULL, &m));
    for (int i = 0; i < weft_preset_count(); i++) {
        const char *preset = weft_preset_at(i)->name;

        if (measure_on(m->graph, preset, &t) != WEFT_OK) /* a device for few operators, say */
            fprintf(stderr, "%s on %s: %s\n", model, preset, weft_message());
    }
    if (t.n_platforms > 0)
        print_line(m, &t);
    weft_model_free(m);
    return t.n_platforms > 0 ? WEFT_OK : WEFT_E_INPUT;
}

int main(int argc, char **argv)
{
    static char *defaults[] = {"resnet50", "bert"};
    char **names = argc > 1 ? argv + 1 : defaults;
    int n = argc > 1 ? argc - 1 : 2;

    for (int i = 0; i < n; i++)
        if (measure(names[i]) != WEFT_OK) {
            fprintf(stderr, "cost: %s\n", weft_message());
            return 1;
        }
    return 0;
}
