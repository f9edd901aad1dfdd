/* SPDX-License-Identifier: MIT */
/* cost.c: how many operator costs a second, on one core?
 *
 * cost [MODEL...] takes each network (default: resnet50 and bert) and each preset and prints one
 * JSON line a network, summed over the presets. An operator cost is seconds, joules and bytes of
 * one node on one device. Rates, in processor time of the best of several rounds:
 *
 *   costs_per_s          the work of the nodes is known, as in a search for designs or platforms:
 *                        each kind of work is modelled once a design and looked up for every node
 *   lowest_costs_per_s   the same on the preset where it is lowest
 *   table_costs_per_s    weft_costs_new: from the graph, finding out the work of all nodes
 *   times_of_plain_pass  time of the first, over that of copying as many bytes as it writes */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "weft/cost.h"
#include "weft/model.h"

enum { N_ROUNDS = 9, N_FILLS = 50, N_TABLES = 5 };

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* --- a memoised table, of public parts */

typedef struct memo {
    int n_nodes, n_keys;
    weft_work_key *key; /* [n_keys] */
    int *of_node;       /* [n_nodes] */
    weft_cost *known;   /* [n_keys] of the newest design */
    weft_cost *table;   /* [n_nodes * n_devices], by device */
    weft_cost *copy;    /* as large */
} memo;

static memo memo_of(const weft_graph *g, int n_devices, weft_arena *a)
{
    size_t n = (size_t)g->n_nodes * (size_t)n_devices;
    memo m = {g->n_nodes,
              0,
              WEFT_NEW(a, weft_work_key, g->n_nodes),
              WEFT_NEW(a, int, g->n_nodes),
              WEFT_NEW(a, weft_cost, g->n_nodes),
              WEFT_NEW(a, weft_cost, n),
              WEFT_NEW(a, weft_cost, n)};

    for (int u = 0; u < g->n_nodes; u++) {
        int k = 0;

        weft_work_key_of(g, u, &m.key[m.n_keys]);
        while (memcmp(&m.key[k], &m.key[m.n_keys], sizeof m.key[0]) != 0)
            k++;
        m.n_keys += k == m.n_keys;
        m.of_node[u] = k;
    }
    return m;
}

static bool is_same(const weft_design *a, const weft_design *b)
{
    return a->model == b->model && memcmp(a->value, b->value, sizeof a->value) == 0 &&
           memcmp(a->efficiency, b->efficiency, sizeof a->efficiency) == 0;
}

static void fill(memo *m, const weft_platform *p)
{
    for (int d = 0; d < p->n_devices; d++) {
        const weft_design *design = p->device[d].design;
        weft_cost *column = m->table + (size_t)d * (size_t)m->n_nodes;

        if (d == 0 || !is_same(design, p->device[d - 1].design))
            for (int k = 0; k < m->n_keys; k++)
                m->known[k] = weft_design_cost(design, &m->key[k]);
        for (int u = 0; u < m->n_nodes; u++)
            column[u] = m->known[m->of_node[u]];
    }
}

/* --- measurement */

/* What is measured; `best_s` of it is kept. */
typedef struct job {
    const weft_graph *graph;
    const weft_platform *platform;
    memo memo;
} job;

static weft_status run_fills(job *j)
{
    for (int i = 0; i < N_FILLS; i++)
        fill(&j->memo, j->platform);
    return WEFT_OK;
}

static weft_status run_copies(job *j)
{
    size_t n = (size_t)j->memo.n_nodes * (size_t)j->platform->n_devices;

    for (int i = 0; i < N_FILLS; i++) {
        memcpy(j->memo.copy, j->memo.table, n * sizeof j->memo.copy[0]);
        *(volatile double *)&j->memo.copy[0].seconds = i; /* so that no copy is left out */
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
    t->n_keys = j->memo.n_keys;
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
    weft_status status = weft_platform_open(preset, &p);

    if (status == WEFT_OK) {
        job j = {g, p, memo_of(g, p->n_devices, a)};

        status = measure_job(&j, preset, t);
    }
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
