/* SPDX-License-Identifier: MIT */
/* measures_doc.c: the measures of a plan as a document, field by field as docs/formats.md lists
 * them.
 *
 * Everything is taken from the simulator; only ratios are formed here: per_second = 1 / period_s,
 * utilisation = busy_s / value. No wall time, no seed: the same plan gives the same bytes. What is
 * unknown or without limit is null. */
#include "sim.h"

#include <math.h>

double weft_utilisation(const weft_problem *p, const weft_measures *m, int device)
{
    double value = weft_goal_value(p, m);

    /* a sum of durations may exceed the makespan by rounding */
    return value > 0 ? fmin(1.0, m->busy_s[device] / value) : 0.0;
}

static void label_results(const weft_problem *p, int u, const char **label, weft_arena *a)
{
    int first = p->res_at[u], n = p->res_at[u + 1] - first;

    for (int i = 0; i < n; i++)
        label[p->res[first + i]] =
            n == 1 ? p->task_name[u] : weft_arena_print(a, "%s:%d", p->task_name[u], i);
}

const char *const *weft_tensor_labels(const weft_problem *p, weft_arena *a)
{
    const char **label = WEFT_NEW(a, const char *, p->n_tensors);
    int n_inputs = 0, input = 0, weight = 0;

    for (int t = 0; t < p->n_tensors; t++)
        n_inputs += p->producer[t] < 0 && !p->is_weight[t];
    for (int t = 0; t < p->n_tensors; t++)
        if (p->producer[t] < 0 && p->is_weight[t])
            label[t] = weft_arena_print(a, "weight:%d", weight++);
        else if (p->producer[t] < 0)
            label[t] = n_inputs == 1 ? "input" : weft_arena_print(a, "input:%d", input++);
    for (int u = 0; u < p->n_tasks; u++)
        label_results(p, u, label, a);
    return label;
}

static weft_doc *devices_doc(const weft_problem *p, const weft_measures *m, weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int d = 0; d < p->n_devices; d++) {
        weft_doc *row = weft_add_map(a, list);

        weft_put_text(a, row, "name", p->device_name[d]);
        weft_put_real(a, row, "busy_s", m->busy_s[d]);
        weft_put_real(a, row, "load_s", m->load_s[d]);
        weft_put_real(a, row, "utilisation", weft_utilisation(p, m, d));
        weft_put_real(a, row, "peak_bytes", m->peak_bytes[d]);
        weft_put_real(a, row, "capacity_bytes", p->capacity[d]);
    }
    return list;
}

/* Only links that carry something: a platform may have a link for each pair of devices. */
static weft_doc *links_doc(const weft_problem *p, const weft_measures *m, weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int k = 0; k < p->n_links; k++) {
        weft_doc *row;

        if (!(m->link_s[k] > 0))
            continue;
        row = weft_doc_new(a, WEFT_DOC_MAP);
        weft_put_text(a, row, "name", p->link_name[k]);
        weft_put_real(a, row, "seconds", m->link_s[k]);
        weft_doc_add(a, list, row);
    }
    return list;
}

static weft_doc *chain_link_doc(const weft_problem *p, const weft_chain_link *c,
                                const char *const *label, weft_arena *a)
{
    static const char *const kind[] = {
        [WEFT_CHAIN_COMPUTE] = "compute",
        [WEFT_CHAIN_TRANSFER] = "transfer",
        [WEFT_CHAIN_WAIT] = "wait",
    };
    weft_doc *row = weft_doc_new(a, WEFT_DOC_MAP);

    weft_put_text(a, row, "kind", kind[c->kind]);
    if (c->kind == WEFT_CHAIN_COMPUTE) {
        weft_put_text(a, row, "task", p->task_name[c->task]);
        weft_put_text(a, row, "device", p->device_name[c->from]);
    } else if (c->kind == WEFT_CHAIN_TRANSFER) {
        weft_put_text(a, row, "tensor", label[c->tensor]);
        weft_put_text(a, row, "from", p->device_name[c->from]);
        weft_put_text(a, row, "to", p->device_name[c->to]);
    }
    weft_put_real(a, row, "start_s", c->start_s);
    weft_put_real(a, row, "end_s", c->end_s);
    return row;
}

static weft_doc *chain_doc(const weft_problem *p, const weft_measures *m, weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);
    const char *const *label = weft_tensor_labels(p, a);

    for (int i = 0; i < m->n_chain; i++)
        weft_doc_add(a, list, chain_link_doc(p, &m->chain[i], label, a));
    return list;
}

/* What each way of a mix is worth alone. */
static weft_doc *ways_doc(const weft_measures *m, weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int w = 0; w < m->n_variants; w++) {
        weft_doc *row = weft_add_map(a, list);

        weft_put_real(a, row, "makespan_s", m->way[w].makespan_s);
        weft_put_real(a, row, "period_s", m->way[w].period_s);
        weft_put_real(a, row, "sent_bytes", m->way[w].sent_bytes);
        weft_put_int(a, row, "transfers", m->way[w].n_transfers);
    }
    return list;
}

weft_doc *weft_measures_doc(const weft_problem *p, const weft_measures *m, weft_arena *a)
{
    weft_doc *d;

    if (m->busy_s == NULL) /* no plan, nothing was measured */
        return weft_doc_new(a, WEFT_DOC_NULL);
    d = weft_doc_new(a, WEFT_DOC_MAP);
    weft_put_real(a, d, "value", weft_goal_value(p, m));
    weft_put_text(a, d, "unit", p->constraints.goal == WEFT_THROUGHPUT ? "s/item" : "s");
    weft_put_real(a, d, "per_second", m->period_s > 0 ? 1 / m->period_s : INFINITY);
    weft_put_real(a, d, "makespan_s", m->makespan_s);
    weft_put_real(a, d, "period_s", m->period_s);
    weft_put_real(a, d, "energy_j", m->energy_j);
    weft_put_real(a, d, "idle_j", m->idle_j);
    weft_put_real(a, d, "sent_bytes", m->sent_bytes);
    weft_put_int(a, d, "transfers", m->n_transfers);
    weft_put_text(a, d, "bottleneck", m->bottleneck);
    weft_doc_put(a, d, "devices", devices_doc(p, m, a));
    weft_doc_put(a, d, "links", links_doc(p, m, a));
    weft_doc_put(a, d, "chain", chain_doc(p, m, a));
    if (m->way != NULL)
        weft_doc_put(a, d, "ways", ways_doc(m, a));
    return d;
}
