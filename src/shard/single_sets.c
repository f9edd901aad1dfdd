/* SPDX-License-Identifier: MIT */
/* single_sets.c: steps side by side on accelerators of which no two are equal.
 *
 * No two can form a set, so every set has one member and every split is the whole step: what is
 * left is to place steps on devices, which the solvers of placement do, with bounds. The problem
 * made here has the same plans and the same times:
 *  - a task a step, with the seconds of its mode on each accelerator; the host runs none of them;
 *  - a tensor an edge's tensor, sent with the bytes of the tensor; each input of the network once
 *    for each operand that reads it, with the bytes that the operand needs, from the host;
 *  - a task on the host, of no time, for each output that must arrive there;
 *  - weights with their bytes; live tensors take no room there, so that its plans are a superset of
 *    ours and its bound holds for ours.
 * The driver simulates the plan as a sharded one. */
#include "side.h"

#include <math.h>
#include <string.h>

/* Placement sends every operand, if only a message without bytes, which takes its latency; here
 * what a step does not look into takes no time. */
static bool needs_all_operands(const weft_steps *s)
{
    weft_split whole = weft_split_copies(1);

    for (int v = 0; v < s->n; v++)
        for (int k = 0; k < s->step[v].n_operands; k++)
            if (!(weft_need_bytes(s, v, k, &whole, NULL) > 0))
                return false;
    return true;
}

bool weft_single_applies(const weft_shard_problem *p)
{
    const weft_platform *m = p->platform;

    if (p->constraints.is_contiguous) /* which placement does not know */
        return false;
    for (int i = 0; i < p->n_accelerators; i++) {
        const weft_device *d = &m->device[p->accelerator[i]];

        if (d->n_designs > 1)
            return false;
        for (int k = 0; k < i; k++)
            if (strcmp(m->device[p->accelerator[k]].kind, d->kind) == 0)
                return false;
    }
    return needs_all_operands(p->steps);
}

/* The problem under construction; readers of a tensor are added when it is. */
typedef struct maker {
    const weft_shard_problem *p;
    weft_arena *a;
    int n_devices, n_tasks, n_tensors, n_readers;
    const char **name;
    double *seconds, *amount, *memory;
    bool *is_weight;
    int *producer, *reader_at, *reader;
} maker;

static void add_tensor(maker *m, double amount, int producer)
{
    m->amount[m->n_tensors] = amount;
    m->producer[m->n_tensors] = producer;
    m->reader_at[m->n_tensors++] = m->n_readers;
    m->reader_at[m->n_tensors] = m->n_readers;
}

static void add_reader(maker *m, int task)
{
    if (m->n_readers > m->reader_at[m->n_tensors - 1] && m->reader[m->n_readers - 1] == task)
        return; /* reads it twice */
    m->reader[m->n_readers++] = task;
    m->reader_at[m->n_tensors] = m->n_readers;
}

static void add_tasks(maker *m)
{
    const weft_steps *s = m->p->steps;
    weft_split whole = weft_split_copies(1);

    for (int v = 0; v < s->n; v++) {
        m->name[v] = weft_step_name(s, v);
        for (int i = 0; i < m->p->n_accelerators; i++) {
            weft_device_set device_set = {.n = 1, .member = {m->p->accelerator[i]}};
            weft_link_cost none = weft_device_set_link(m->p, &device_set);
            weft_split_cost mode =
                weft_split_cost_of(s, v, &whole, weft_device_set_design(m->p, &device_set));

            m->seconds[v * m->n_devices + i] = weft_split_cost_s(&mode, &none, m->p->hides);
        }
        if (m->n_devices > m->p->n_accelerators)
            m->seconds[v * m->n_devices + m->n_devices - 1] = INFINITY;
    }
    m->n_tasks = s->n;
}

/* A task on the host that takes an output. */
static int add_sink(maker *m)
{
    int u = m->n_tasks++;

    m->name[u] = weft_arena_print(m->a, "output %d of the network", u);
    for (int i = 0; i < m->n_devices; i++)
        m->seconds[u * m->n_devices + i] = i == m->n_devices - 1 ? 0 : INFINITY;
    return u;
}

static void add_results(maker *m, bool has_host)
{
    const weft_steps *s = m->p->steps;

    for (int v = 0; v < s->n; v++)
        for (int r = 0; r < s->step[v].n_results; r++) {
            const weft_tensor *t = &s->graph->tensor[s->step[v].result[r]];

            add_tensor(m, (double)t->bytes, v);
            for (int w = v + 1; w < s->n; w++)
                for (int k = 0; k < s->step[w].n_operands; k++)
                    if (s->step[w].operand[k].step == v && s->step[w].operand[k].result == r)
                        add_reader(m, w);
            if (has_host && t->kind == WEFT_OUTPUT)
                add_reader(m, add_sink(m));
        }
}

static void add_given(maker *m)
{
    const weft_steps *s = m->p->steps;
    weft_split whole = weft_split_copies(1);

    for (int v = 0; v < s->n; v++) {
        for (int k = 0; k < s->step[v].n_operands; k++)
            if (s->step[v].operand[k].step < 0) {
                add_tensor(m, weft_need_bytes(s, v, k, &whole, NULL), -1);
                add_reader(m, v);
            }
        for (int k = 0; k < s->step[v].n_weights; k++) {
            add_tensor(m, 0, -1);
            m->is_weight[m->n_tensors - 1] = true;
            m->memory[m->n_tensors - 1] =
                (double)s->graph->tensor[s->step[v].weight[k].tensor].bytes;
            add_reader(m, v);
        }
    }
}

static void size_of(const weft_shard_problem *p, int *n_tasks, int *n_tensors, int *n_readers)
{
    const weft_steps *s = p->steps;

    *n_tasks = s->n;
    *n_tensors = *n_readers = 0;
    for (int v = 0; v < s->n; v++) {
        *n_tasks += s->step[v].n_results;
        *n_tensors += s->step[v].n_results + s->step[v].n_operands + s->step[v].n_weights;
        *n_readers += s->step[v].n_results + s->step[v].n_operands + s->step[v].n_weights;
    }
}

static void set_routes(const maker *m, double *latency_s, double *second_per_byte, uint64_t *curves)
{
    const weft_platform *f = m->p->platform;

    for (int i = 0; i < m->n_devices; i++)
        for (int k = 0; k < m->n_devices; k++) {
            int from = i < m->p->n_accelerators ? m->p->accelerator[i] : f->host;
            int to = k < m->p->n_accelerators ? m->p->accelerator[k] : f->host;
            const weft_route *r = weft_platform_route(f, from, to);
            bool is_there = i == k || r->n_hops >= 0;

            curves[i * m->n_devices + k] = i == k ? 0 : r->curves;
            latency_s[i * m->n_devices + k] = i == k || !is_there ? 0 : r->latency_s;
            second_per_byte[i * m->n_devices + k] = i == k     ? 0
                                                    : is_there ? 1 / r->bytes_per_s
                                                               : INFINITY;
        }
}

static weft_status make_problem(const weft_shard_problem *p, weft_arena *a, weft_problem **out)
{
    bool has_host = p->platform->host >= 0;
    int n_devices = p->n_accelerators + has_host, n_tasks, n_tensors, n_readers;
    const char **device = WEFT_NEW(a, const char *, n_devices);
    double *capacity = WEFT_NEW(a, double, n_devices);
    double *latency_s = WEFT_NEW(a, double, n_devices *n_devices);
    double *second_per_byte = WEFT_NEW(a, double, n_devices *n_devices);
    uint64_t *curves = WEFT_NEW(a, uint64_t, n_devices * n_devices);
    maker m = {.p = p, .a = a, .n_devices = n_devices};

    size_of(p, &n_tasks, &n_tensors, &n_readers);
    m.name = WEFT_NEW(a, const char *, n_tasks);
    m.seconds = WEFT_NEW(a, double, n_tasks *n_devices);
    m.amount = WEFT_NEW(a, double, n_tensors);
    m.memory = WEFT_NEW(a, double, n_tensors);
    m.is_weight = WEFT_NEW(a, bool, n_tensors);
    m.producer = WEFT_NEW(a, int, n_tensors);
    m.reader_at = WEFT_NEW(a, int, n_tensors + 2);
    m.reader = WEFT_NEW(a, int, n_readers + 1);
    add_tasks(&m);
    add_results(&m, has_host);
    add_given(&m);
    for (int i = 0; i < n_devices; i++) {
        int d = i < p->n_accelerators ? p->accelerator[i] : p->platform->host;

        device[i] = p->platform->device[d].name;
        capacity[i] = i < p->n_accelerators ? p->platform->device[d].memory_bytes : INFINITY;
    }
    set_routes(&m, latency_s, second_per_byte, curves);
    return weft_problem_make(&(weft_problem_spec){.name = p->name,
                                                  .n_tasks = m.n_tasks,
                                                  .n_devices = n_devices,
                                                  .n_tensors = m.n_tensors,
                                                  .task_name = m.name,
                                                  .device_name = device,
                                                  .seconds = m.seconds,
                                                  .amount = m.amount,
                                                  .memory = m.memory,
                                                  .is_weight = m.is_weight,
                                                  .producer = m.producer,
                                                  .reader_at = m.reader_at,
                                                  .reader = m.reader,
                                                  .latency_s = latency_s,
                                                  .second_per_byte = second_per_byte,
                                                  .n_curves = p->platform->n_curves,
                                                  .curve = p->platform->curve,
                                                  .curves = curves,
                                                  .capacity = capacity,
                                                  .host = has_host ? n_devices - 1 : -1,
                                                  .transfer = WEFT_OVERLAP},
                             out);
}

/* Steps by the names of tasks: the problem may number them differently. */
static void read_plan(const weft_shard_problem *p, const weft_problem *q, const weft_plan *from,
                      weft_shard_plan *out, weft_arena *a)
{
    const weft_steps *s = p->steps;
    weft_map *task = weft_map_new(a);
    int *set_of = WEFT_NEW(a, int, p->n_accelerators);

    *out = weft_shard_plan_new(p->n_accelerators, s->n, a);
    out->n_sets = 0;
    for (int i = 0; i < p->n_accelerators; i++)
        set_of[i] = -1;
    for (int u = 0; u < q->n_tasks; u++)
        weft_map_set(task, q->task_name[u], strlen(q->task_name[u]), u);
    for (int v = 0; v < s->n; v++) {
        const char *name = weft_step_name(s, v);
        int u = weft_map_get(task, name, strlen(name)), d = from->device[u];

        if (set_of[d] < 0) {
            set_of[d] = out->n_sets++;
            out->set[set_of[d]] = (weft_device_set){.n = 1, .member = {p->accelerator[d]}};
        }
        out->set_of[v] = set_of[d];
        out->start_s[v] = from->start_s[u];
        out->split[v] = (weft_split){.n = 1, .shared = -1};
        memset(out->split[v].factor, 1, (size_t)s->step[v].n_axes);
    }
}

weft_status weft_single_solve(const weft_shard_problem *p, const weft_shard_options *o,
                              weft_run *run, weft_shard_plan *plan, weft_proof *proof)
{
    weft_run inner = *run;
    weft_solution solution;
    weft_problem *q;
    weft_status status;

    WEFT_TRY(make_problem(p, run->scratch, &q));
    inner.scratch = weft_arena_new();
    inner.limit_s = weft_run_left_s(run);
    status = weft_solve(o->placer, q, NULL, &inner, &(weft_proof){.method = "none"}, run->scratch,
                        &solution);
    weft_arena_free(inner.scratch);
    if (status == WEFT_OK) {
        proof->bound = solution.proof.bound;
        proof->method = "placement search";
        proof->outcome = solution.proof.outcome;
        if (weft_has_plan(proof)) {
            read_plan(p, q, &solution.plan, plan, run->scratch);
            proof->outcome = WEFT_BOUNDED; /* the driver says what it is worth */
        }
    }
    weft_problem_free(q);
    return status;
}
