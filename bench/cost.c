/* SPDX-License-Identifier: MIT */
/* cost.c: how many operator costs a second, on one core?
 *
 * cost [MODEL...] takes each network (default: resnet50 and bert) and each preset and prints one
 * JSON line a network, summed over the presets. An operator cost is seconds, joules and bytes of
 * one node on one device. Rates, in processor time of the best of several rounds:
 *
 *   costs_per_s          weft_costs_of: the work of the nodes is known, as in a search for designs
 *                        or platforms; each kind is modelled once per design and looked up for
 *                        every node
 *   lowest_costs_per_s   the same on the preset where it is lowest
 *   table_costs_per_s    weft_costs_new: from the graph, finding out the work of all nodes
 *   times_of_plain_pass  time of the first, over that of copying as many bytes as it writes */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cost.h"
#include "model.h"

enum { N_ROUNDS = 9, N_FILLS = 50, N_TABLES = 5 };

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* --- measurement */

/* What is measured; `best_s` of it is kept. */
typedef struct job {
    const weft_graph *graph;
    const weft_platform *platform;
    const weft_work_keys *keys;
    double *from, *copy; /* as many numbers as a table of costs */
} job;

static weft_status run_fills(job *j)
{
    for (int i = 0; i < N_FILLS; i++) {
        weft_costs *c = NULL;

        WEFT_TRY(weft_costs_of(j->keys, j->platform, &c));
        weft_costs_free(c);
    }
    return WEFT_OK;
}

static size_t n_numbers(const job *j)
{
    return 3 * (size_t)j->graph->n_nodes * (size_t)j->platform->n_devices;
}

static weft_status run_copies(job *j)
{
    for (int i = 0; i < N_FILLS; i++) {
        memcpy(j->copy, j->from, n_numbers(j) * sizeof j->copy[0]);
        *(volatile double *)j->copy = i; /* so that no copy is left out */
    }
    return WEFT_OK;
}

static weft_status run_tables(job *j)
{
    for (int i = 0; i < N_TABLES; i++) {
        weft_costs *c = NULL;

        WEFT_TRY(weft_costs_new(j->graph, j->platform, &c));
        weft_costs_free(c);
    }
    return WEFT_OK;
}

static weft_status best_s(weft_status (*run)(job *j), job *j, double *best)
{
    for (int round = 0; round < N_ROUNDS; round++) {
        double start_s = now_s(), taken_s;

        WEFT_TRY(run(j));
        taken_s = now_s() - start_s;
        if (round == 0 || taken_s < *best)
            *best = taken_s;
    }
    return WEFT_OK;
}

/* Sums over platforms. */
typedef struct total {
    double n_costs, fill_s, copy_s, table_s; /* of one fill, copy, table each */
    double lowest_per_s;
    const char *lowest;
    int n_platforms, n_keys;
} total;

static weft_status measure_job(job *j, const char *preset, total *t)
{
    double n = (double)j->graph->n_nodes * j->platform->n_devices;
    double tables_s = 0, fills_s = 0, copies_s = 0;

    WEFT_TRY(best_s(run_tables, j, &tables_s));
    WEFT_TRY(best_s(run_fills, j, &fills_s));
    WEFT_TRY(best_s(run_copies, j, &copies_s));
    t->n_costs += n;
    t->table_s += tables_s / N_TABLES;
    t->fill_s += fills_s / N_FILLS;
    t->copy_s += copies_s / N_FILLS;
    t->n_keys = j->keys->n;
    t->n_platforms++;
    if (t->lowest == NULL || n * N_FILLS / fills_s < t->lowest_per_s) {
        t->lowest_per_s = n * N_FILLS / fills_s;
        t->lowest = preset;
    }
    return WEFT_OK;
}

static weft_status measure_on(const weft_graph *g, const char *preset, total *t)
{
    weft_arena *a = weft_arena_new();
    weft_platform *p = NULL;
    weft_work_keys *k = NULL;
    weft_status status = weft_platform_open(preset, &p);

    if (status == WEFT_OK)
        status = weft_work_keys_new(g, &k);
    if (status == WEFT_OK) {
        job j = {g, p, k, NULL, NULL};

        j.from = WEFT_NEW(a, double, n_numbers(&j));
        j.copy = WEFT_NEW(a, double, n_numbers(&j));
        status = measure_job(&j, preset, t);
    }
    weft_work_keys_free(k);
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
    weft_doc_put(a, line, "costs_per_s", weft_doc_new_real(a, t->n_costs / t->fill_s));
    weft_doc_put(a, line, "lowest_costs_per_s", weft_doc_new_real(a, t->lowest_per_s));
    weft_doc_put(a, line, "lowest_platform", weft_doc_new_text(a, t->lowest));
    weft_doc_put(a, line, "times_of_plain_pass", weft_doc_new_real(a, t->fill_s / t->copy_s));
    weft_doc_put(a, line, "table_costs_per_s", weft_doc_new_real(a, t->n_costs / t->table_s));
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
            fprintf(stderr, "cost: %s on %s: %s\n", model, preset, weft_message());
    }
    if (t.n_platforms > 0)
        print_line(m, &t);
    weft_model_free(m);
    return t.n_platforms > 0 ? WEFT_OK : weft_fail(WEFT_E_INPUT, "%s: no preset runs it", model);
}

int main(int argc, char **argv)
{
    static const char *const defaults[] = {"resnet50", "bert"};
    int n = argc > 1 ? argc - 1 : 2;

    for (int i = 0; i < n; i++)
        if (measure(argc > 1 ? argv[i + 1] : defaults[i]) != WEFT_OK) {
            fprintf(stderr, "cost: %s\n", weft_message());
            return 1;
        }
    return 0;
}
