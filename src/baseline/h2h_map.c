/* SPDX-License-Identifier: MIT */
/* h2h_map.c: step 1 of H2H, computation first.
 *
 * Until all layers are mapped, for each kind of layer: those whose predecessors are mapped are
 * ready, stream by stream. More devices than ready layers: all assignments are compared; else all
 * choices of as many layers as there are devices, with all assignments. A layer starts when its
 * device is free and its predecessors are done; all transfers are paid. The first in lexicographic
 * order whose latest device is done first wins.
 *
 * Assignments are looked at depth first, in that order, and cut off as soon as a device is done no
 * earlier than the best so far: devices are never done earlier again, and later equals do not win,
 * so the answer is that of looking at all. NODES partial assignments at most are looked at for a
 * group of ready layers; the first descent always ends, so there is an answer. */
#include "h2h_table.h"

#include <math.h>
#include <string.h>

enum { NODES = 1000000 };

typedef struct mapper {
    const weft_h2h *problem;
    weft_h2h_table *table;
    double *free_s;  /* [n_devices] */
    int *n_missing;  /* [n_layers] predecessors that are not mapped */
    bool *is_mapped; /* [n_layers] */
    int *ready;      /* layers of one kind */
    int *offered;    /* devices of that kind */
    int n_ready, n_offered;
    int *chosen; /* layers whose devices are being compared */
    int n_chosen;
    int *at, *best_at; /* [n_chosen] their devices */
    int *best_chosen;
    double best_s;
    int n_nodes;
} mapper;

/* All devices for chosen[i], in order; latest_s: the last device done so far. */
static void compare_devices(mapper *m, int i, double latest_s)
{
    static const weft_h2h_paid all = {true, true, true};
    const weft_h2h *p = m->problem;
    double from_s;

    if (i == m->n_chosen) {
        m->best_s = latest_s;
        memcpy(m->best_at, m->at, (size_t)i * sizeof(int));
        memcpy(m->best_chosen, m->chosen, (size_t)i * sizeof(int));
        return;
    }
    from_s = weft_h2h_data_ready_s(p, m->table, m->chosen[i]);
    for (int j = 0; j < m->n_offered && m->n_nodes < NODES; j++) {
        int d = m->offered[j];
        double before_s = m->free_s[d];
        double end_s = fmax(before_s, from_s) + weft_h2h_duration_s(p, m->chosen[i], d, all);

        m->n_nodes++;
        if (fmax(latest_s, end_s) >= m->best_s)
            continue;
        m->free_s[d] = end_s;
        m->at[i] = d;
        compare_devices(m, i + 1, fmax(latest_s, end_s));
        m->free_s[d] = before_s;
    }
}

/* All choices of n_chosen ready layers, in order. */
static void compare_choices(mapper *m, int i, int first, double latest_s)
{
    if (i == m->n_chosen) {
        compare_devices(m, 0, latest_s);
        return;
    }
    for (int j = first; j <= m->n_ready - (m->n_chosen - i) && m->n_nodes < NODES; j++) {
        m->chosen[i] = m->ready[j];
        compare_choices(m, i + 1, j + 1, latest_s);
    }
}

static void take_best(mapper *m)
{
    static const weft_h2h_paid all = {true, true, true};
    const weft_h2h *p = m->problem;
    weft_h2h_table *t = m->table;

    for (int i = 0; i < m->n_chosen; i++) {
        int l = m->best_chosen[i], d = m->best_at[i];

        weft_h2h_link(t, l, d, t->last[d]);
        t->start_s[l] = fmax(m->free_s[d], weft_h2h_data_ready_s(p, t, l));
        t->end_s[l] = t->start_s[l] + weft_h2h_duration_s(p, l, d, all);
        m->free_s[d] = t->end_s[l];
        m->is_mapped[l] = true;
    }
    for (int i = 0; i < m->n_chosen; i++) {
        int l = m->best_chosen[i];

        for (int j = p->succ_at[l]; j < p->succ_at[l + 1]; j++)
            m->n_missing[p->succ[j]]--;
    }
}

static bool is_offered(const mapper *m, int d)
{
    for (int i = 0; i < m->n_ready; i++) {
        if (m->problem->compute_s[m->ready[i] * m->problem->n_devices + d] < INFINITY)
            return true;
    }
    return false;
}

/* Maps ready layers of one kind, as many as there are devices at most. */
static void map_ready(mapper *m)
{
    const weft_h2h *p = m->problem;
    double latest_s = 0;

    m->n_offered = 0;
    for (int d = 0; d < p->n_devices; d++) {
        latest_s = fmax(latest_s, m->free_s[d]);
        if (is_offered(m, d))
            m->offered[m->n_offered++] = d;
    }
    m->n_chosen = m->n_offered > m->n_ready ? m->n_ready : m->n_offered;
    m->best_s = INFINITY;
    m->n_nodes = 0;
    compare_choices(m, 0, 0, latest_s);
    take_best(m);
}

static mapper new_mapper(const weft_h2h *p, weft_h2h_table *t, weft_arena *a)
{
    mapper m = {.problem = p,
                .table = t,
                .free_s = WEFT_NEW(a, double, p->n_devices),
                .n_missing = WEFT_NEW(a, int, p->n_layers),
                .is_mapped = WEFT_NEW(a, bool, p->n_layers),
                .ready = WEFT_NEW(a, int, p->n_layers),
                .offered = WEFT_NEW(a, int, p->n_devices),
                .chosen = WEFT_NEW(a, int, p->n_layers),
                .at = WEFT_NEW(a, int, p->n_layers),
                .best_at = WEFT_NEW(a, int, p->n_layers),
                .best_chosen = WEFT_NEW(a, int, p->n_layers)};

    for (int l = 0; l < p->n_layers; l++)
        m.n_missing[l] = p->pred_at[l + 1] - p->pred_at[l];
    return m;
}

/* What is ready is looked at once for all kinds. */
void weft_h2h_map(const weft_h2h *p, weft_h2h_table *t, weft_arena *a)
{
    mapper m = new_mapper(p, t, a);
    bool *is_ready = WEFT_NEW(a, bool, p->n_layers);
    int n_left = p->n_layers;

    while (n_left > 0) {
        for (int l = 0; l < p->n_layers; l++)
            is_ready[l] = !m.is_mapped[l] && m.n_missing[l] == 0;
        for (int kind = 0; kind < WEFT_N_H2H_KINDS; kind++) {
            m.n_ready = 0;
            for (int l = 0; l < p->n_layers; l++) {
                if (is_ready[l] && (int)p->layer[l].kind == kind)
                    m.ready[m.n_ready++] = l;
            }
            if (m.n_ready == 0)
                continue;
            map_ready(&m);
            n_left -= m.n_chosen;
        }
    }
}
