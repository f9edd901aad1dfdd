/* SPDX-License-Identifier: MIT */
/* brute.c: the optimum by trying every plan.
 *
 * 1. Tasks are appended one after the other: any task whose predecessors are there, on any device,
 *    as early as possible under overlap. Sequences that differ in neighbours that do not concern
 *    each other (different devices, no edge) are the same plan; of two such neighbours the lower
 *    number must come first. Every plan keeps its least sequence, so none is lost.
 * 2. Colours, pins and unsupported devices are respected; weights never exceed a memory.
 * 3. What has been placed, and the shortest way through what must follow, is no less than the best
 *    so far: nothing below can be better. Waiting for links or devices only takes longer, so this
 *    holds for all transfer models.
 * 4. A complete plan is worth what step 1 says if nothing but overlap and unlimited memory is
 *    asked for; else the simulator says what it is worth and whether it fits and keeps the limits.
 *    Pipeline stages are the closure of "gives to" without a cycle.
 *
 * For throughput the value is the largest load; the order matters then only where the simulator is
 * asked. Time O(n! devices^n) without step 3. */
#include "brute.h"

#include "check.h"

typedef struct brute {
    const weft_problem *p;
    int n_usable, n_done;
    bool is_simulated, is_stream;
    bool is_unordered; /* the value does not depend on the order */
    int order[BRUTE_MOST_TASKS], device[BRUTE_MOST_TASKS]; /* device -1: not placed */
    double end_s[BRUTE_MOST_TASKS], rest_s[BRUTE_MOST_TASKS];
    /* by device: end of its tasks; of those with length; their sum; weights */
    double free_s[BRUTE_MOST_DEVICES], long_s[BRUTE_MOST_DEVICES];
    double load_s[BRUTE_MOST_DEVICES], held_bytes[BRUTE_MOST_DEVICES];
    double best;
    weft_arena *arena;
} brute;

/* --- one task -------------------------------------------------------------------------------- */

static double arrival_s(const brute *b, int u, int d)
{
    const weft_problem *p = b->p;
    double at_s = 0;

    for (int i = p->arg_at[u]; i < p->arg_at[u + 1]; i++) {
        int t = p->arg[i], from = p->producer[t];

        if (from >= 0)
            at_s = fmax(at_s, b->end_s[from] +
                                  (p->is_weight[t] ? 0 : weft_send_s(p, t, b->device[from], d)));
        else if (!p->is_weight[t] && p->host >= 0)
            at_s = fmax(at_s, weft_send_s(p, t, p->host, d));
    }
    return at_s;
}

/* Tasks without length wait for tasks with length, but not for each other. */
static void append(brute *b, int u, int d)
{
    double length_s = weft_task_s(b->p, u, d);
    double start_s = fmax(arrival_s(b, u, d), length_s > 0 ? b->free_s[d] : b->long_s[d]);

    b->device[u] = d;
    b->end_s[u] = start_s + length_s;
    b->free_s[d] = fmax(b->free_s[d], b->end_s[u]);
    if (length_s > 0)
        b->long_s[d] = b->end_s[u];
    b->load_s[d] += length_s;
    b->order[b->n_done++] = u;
}

static bool is_ready(const brute *b, int u)
{
    if (b->device[u] >= 0)
        return false;
    for (int i = b->p->pred_at[u]; i < b->p->pred_at[u + 1]; i++) {
        if (b->device[b->p->pred[i]] < 0)
            return false;
    }
    return true;
}

static bool is_edge(const weft_problem *p, int u, int v)
{
    for (int i = p->pred_at[v]; i < p->pred_at[v + 1]; i++) {
        if (p->pred[i] == u)
            return true;
    }
    return false;
}

/* Is the sequence with u on d next the least one of its plan, as far as the last two tell? */
static bool is_in_turn(const brute *b, int u, int d)
{
    int last = b->n_done > 0 ? b->order[b->n_done - 1] : -1;

    return last < u || b->device[last] == d || is_edge(b->p, last, u);
}

static bool is_allowed(const brute *b, int u, int d)
{
    const weft_problem *p = b->p;

    if (isinf(weft_task_s(p, u, d)) || (p->pin[u] >= 0 && p->pin[u] != d))
        return false;
    for (int v = 0; v < p->n_tasks; v++) {
        if (b->device[v] >= 0 && p->colocation[u] >= 0 && p->colocation[u] == p->colocation[v] &&
            b->device[v] != d)
            return false;
    }
    return true;
}

/* Does no placed task on d read tensor t? */
static bool is_new_on(const brute *b, int t, int d)
{
    for (int i = b->p->reader_at[t]; i < b->p->reader_at[t + 1]; i++) {
        if (b->device[b->p->reader[i]] == d)
            return false;
    }
    return true;
}

static double new_bytes(const brute *b, int u, int d)
{
    const weft_problem *p = b->p;
    double bytes = 0;

    for (int i = p->arg_at[u]; i < p->arg_at[u + 1]; i++) {
        if (p->is_weight[p->arg[i]] && is_new_on(b, p->arg[i], d))
            bytes += p->memory[p->arg[i]];
    }
    return bytes;
}

/* --- all plans ------------------------------------------------------------------------------- */

static double simulated(const brute *b)
{
    size_t mark = weft_arena_mark(b->arena);
    weft_plan plan = weft_plan_new(b->p->n_tasks, b->arena);
    weft_measures m;
    double value = INFINITY;

    for (int i = 0; i < b->n_done; i++) {
        plan.device[b->order[i]] = b->device[b->order[i]];
        plan.start_s[b->order[i]] = i;
    }
    CHECK_OK(weft_evaluate(b->p, &plan, b->arena, &m));
    if (m.over_device < 0 && weft_constraints_allow(&b->p->constraints, m.makespan_s, m.period_s))
        value = weft_goal_value(b->p, &m);
    weft_arena_rewind(b->arena, mark);
    return value;
}

/* Forward tasks never lead back to a device. */
static bool is_pipeline(const brute *b)
{
    const weft_problem *p = b->p;
    bool gives[BRUTE_MOST_DEVICES][BRUTE_MOST_DEVICES] = {{false}}, is_free = true;

    for (int v = 0; v < p->n_tasks; v++)
        for (int i = p->pred_at[v]; i < p->pred_at[v + 1]; i++)
            if (!p->is_backward[v] && !p->is_backward[p->pred[i]] &&
                b->device[v] != b->device[p->pred[i]])
                gives[b->device[p->pred[i]]][b->device[v]] = true;
    for (int k = 0; k < p->n_devices; k++)
        for (int d = 0; d < p->n_devices; d++)
            for (int e = 0; e < p->n_devices; e++)
                gives[d][e] |= gives[d][k] && gives[k][e];
    for (int d = 0; d < p->n_devices; d++)
        is_free &= !gives[d][d];
    return is_free;
}

static bool has_run(const brute *b, const int *segment, int u)
{
    for (int i = b->p->pred_at[u]; i < b->p->pred_at[u + 1]; i++)
        if (segment[b->p->pred[i]] < 0)
            return false;
    return segment[u] < 0;
}

/* Segments as docs/simulator.md has them. */
static bool keeps_segments(const brute *b)
{
    const weft_constraints *c = &b->p->constraints;
    int segment[BRUTE_MOST_TASKS], n = 0, n_tasks = b->p->n_tasks, first = 0;

    memset(segment, -1, sizeof segment);
    while (first < n_tasks) {
        int n_inside = 0;
        double seconds = 0;

        for (first = 0; first < n_tasks && !has_run(b, segment, first);)
            first++;
        for (int u = 0; first < n_tasks && u < n_tasks; u++) {
            if (b->device[u] != b->device[first] || !has_run(b, segment, u))
                continue;
            segment[u] = n;
            n_inside++;
            seconds += weft_task_s(b->p, u, b->device[u]);
            u = -1; /* it may have made others ready */
        }
        if (first < n_tasks &&
            (n_inside < c->least_segment_tasks || seconds < c->least_segment_s * (1 - 1e-9)))
            return false;
        n += n_inside > 0;
    }
    return c->most_segments == 0 || n <= c->most_segments;
}

static void try_all(brute *b, double value);

static void try_one(brute *b, int u, int d, double value)
{
    brute before = *b;
    double bytes = new_bytes(b, u, d);

    if (b->held_bytes[d] + bytes > b->p->capacity[d] * (1 + 1e-9)) /* else the simulator knows */
        return;
    b->held_bytes[d] += bytes;
    append(b, u, d);
    if (b->end_s[u] < INFINITY) /* else there is no route to d */
        try_all(b, fmax(value, b->is_stream ? b->load_s[d] : b->end_s[u] + b->rest_s[u]));
    before.best = b->best;
    *b = before;
}

static void try_all(brute *b, double value)
{
    if (value >= b->best)
        return;
    if (b->n_done == b->p->n_tasks && (!b->p->constraints.is_contiguous || is_pipeline(b)) &&
        keeps_segments(b))
        b->best = b->is_simulated ? fmin(b->best, simulated(b)) : value;
    for (int u = 0; u < b->p->n_tasks; u++) {
        if (!is_ready(b, u))
            continue;
        for (int d = 0; d < b->n_usable; d++) {
            if (is_allowed(b, u, d) && (b->is_unordered || is_in_turn(b, u, d)))
                try_one(b, u, d, value);
        }
        if (b->is_unordered)
            break;
    }
}

/* The shortest way through what follows, every task where it is fastest, nothing sent. */
static void fill_rest(brute *b)
{
    const weft_problem *p = b->p;

    for (int u = p->n_tasks - 1; u >= 0; u--) {
        for (int i = p->succ_at[u]; i < p->succ_at[u + 1]; i++) {
            int v = p->succ[i];
            double least_s = INFINITY;

            for (int d = 0; d < p->n_devices; d++)
                least_s = fmin(least_s, weft_task_s(p, v, d));
            b->rest_s[u] = fmax(b->rest_s[u], least_s + b->rest_s[v]);
        }
    }
}

static brute new_brute(const weft_problem *p, int n_usable)
{
    brute b = {.p = p, .n_usable = n_usable, .best = INFINITY};

    CHECK(p->n_tasks <= BRUTE_MOST_TASKS && p->n_devices <= BRUTE_MOST_DEVICES);
    b.is_stream = p->constraints.goal == WEFT_THROUGHPUT;
    b.is_simulated = p->transfer != WEFT_OVERLAP || p->switch_s != NULL ||
                     p->constraints.most_latency_s > 0 || p->constraints.most_period_s > 0;
    for (int d = 0; d < p->n_devices; d++)
        b.is_simulated |= p->capacity[d] < INFINITY;
    b.is_unordered = b.is_stream && !b.is_simulated;
    for (int u = 0; u < p->n_tasks; u++)
        b.device[u] = -1;
    return b;
}

double brute_optimum(const weft_problem *p, int n_usable)
{
    brute b = new_brute(p, n_usable);

    b.arena = weft_arena_new();
    fill_rest(&b);
    try_all(&b, 0);
    weft_arena_free(b.arena);
    return b.best;
}

double brute_latency(const weft_problem *p, const int *device, const int *order)
{
    brute b = new_brute(p, p->n_devices);
    double latency_s = 0;

    for (int i = 0; i < p->n_tasks; i++) {
        append(&b, order[i], device[order[i]]);
        latency_s = fmax(latency_s, b.end_s[order[i]]);
    }
    return latency_s;
}
