/* SPDX-License-Identifier: MIT */
/* problem.c: problems made from plain arrays.
 *
 * 1. Pins and groups that are asked for by name are added (constrain.c). The values are checked; a wrong one is an error that names task or tensor.
 * 2. Tasks are sorted topologically (Kahn's algorithm with a heap of numbers: ties keep their
 *    order, so tasks that are sorted already keep their numbers). Tensors keep theirs.
 * 3. Readers are listed once each; operands, predecessors and successors follow by transposing
 *    lists, which also sorts them.
 * 4. Everything is copied into one arena and hashed.
 *
 * Time O((tasks + reads) log tasks + tasks * devices + devices^2). */
#include "heap.h"
#include "problem_spec.h"
#include "rows.h"

#include "hash.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <string.h>

const char *weft_goal_name(weft_goal g)
{
    return g == WEFT_THROUGHPUT ? "throughput" : "latency";
}

void weft_problem_free(weft_problem *p)
{
    if (p)
        weft_arena_free(p->arena);
}

/* --- lists of lists -------------------------------------------------------------------------- */

/* --- wrong values ---------------------------------------------------------------------------- */

static const weft_doc nowhere;

static const weft_doc *place_of(const weft_problem_extra *x, int u)
{
    if (x->task_at)
        return x->task_at[u];
    return x->at ? x->at : &nowhere;
}

static weft_status check_sizes(const weft_problem_spec *s, const weft_problem_extra *x)
{
    const weft_doc *at = x->at ? x->at : &nowhere;

    if (s->n_tasks < 1 || s->n_devices < 1)
        return weft_doc_fail(at, "there are %d tasks and %d devices, expected at least one of each",
                             s->n_tasks, s->n_devices);
    if (s->n_devices > WEFT_MOST_DEVICES)
        return weft_doc_fail(at, "there are %d devices, expected at most %d", s->n_devices,
                             WEFT_MOST_DEVICES);
    if (s->n_tasks > WEFT_MOST_TIMES / s->n_devices)
        return weft_doc_fail(at,
                             "%d tasks on %d devices are too many, expected a product of at "
                             "most %d",
                             s->n_tasks, s->n_devices, WEFT_MOST_TIMES);
    return WEFT_OK;
}

static weft_status check_times(const weft_problem_spec *s, const weft_problem_extra *x, int u)
{
    const double *seconds = s->seconds + (size_t)u * (size_t)s->n_devices;
    const char *name = s->task_name[u];

    for (int d = 0; d < s->n_devices; d++) {
        if (!(seconds[d] >= 0))
            return weft_doc_fail(place_of(x, u),
                                 "task '%.*s' takes %g s on '%.*s', expected 0 or "
                                 "more",
                                 WEFT_SHOWN(name), seconds[d], WEFT_SHOWN(s->device_name[d]));
    }
    if (s->pin && s->pin[u] >= 0) {
        assert(s->pin[u] < s->n_devices);
        if (isinf(seconds[s->pin[u]]))
            return weft_doc_fail(place_of(x, u),
                                 "task '%.*s' is pinned to '%.*s', which does not "
                                 "support it",
                                 WEFT_SHOWN(name), WEFT_SHOWN(s->device_name[s->pin[u]]));
    }
    return WEFT_OK;
}

static weft_status check_names(const weft_problem_spec *s, const weft_problem_extra *x,
                               weft_arena *scratch)
{
    weft_map *tasks = weft_map_new(scratch), *devices = weft_map_new(scratch);

    for (int d = 0; d < s->n_devices; d++)
        if (!weft_map_put(devices, s->device_name[d], strlen(s->device_name[d]), d))
            return weft_doc_fail(x->at ? x->at : &nowhere, "two devices are called '%.*s'",
                                 WEFT_SHOWN(s->device_name[d]));
    for (int u = 0; u < s->n_tasks; u++)
        if (!weft_map_put(tasks, s->task_name[u], strlen(s->task_name[u]), u))
            return weft_doc_fail(place_of(x, u), "two tasks are called '%.*s'",
                                 WEFT_SHOWN(s->task_name[u]));
    return WEFT_OK;
}

/* A number that a sum can hold. */
static bool is_amount(double value)
{
    return isfinite(value) && value >= 0;
}

static weft_status check_tensors(const weft_problem_spec *s, const weft_problem_extra *x)
{
    for (int t = 0; t < s->n_tensors; t++) {
        int maker = s->producer[t];
        double held = s->memory ? s->memory[t] : s->amount[t];

        assert(maker >= -1 && maker < s->n_tasks);
        assert(maker < 0 || !s->is_weight || !s->is_weight[t]);
        if (!is_amount(s->amount[t]) || !is_amount(held))
            return weft_doc_fail(maker < 0 ? place_of(x, 0) : place_of(x, maker),
                                 "a tensor %s%.*s has amount %g and memory %g, expected 0 or more",
                                 maker < 0 ? "without producer" : "made by ",
                                 WEFT_SHOWN(maker < 0 ? "" : s->task_name[maker]), s->amount[t],
                                 held);
    }
    return WEFT_OK;
}

static void check_structure(const weft_problem_spec *s)
{
    size_t n_pairs = (size_t)s->n_devices * (size_t)s->n_devices;

    assert(s->host >= -1 && s->host < s->n_devices);
    for (int k = 0; k < s->reader_at[s->n_tensors]; k++)
        assert(s->reader[k] >= 0 && s->reader[k] < s->n_tasks);
    for (size_t k = 0; k < n_pairs; k++) {
        assert(!s->latency_s || s->latency_s[k] >= 0);
        assert(!s->second_per_byte || s->second_per_byte[k] >= 0);
    }
    for (int d = 0; d < s->n_devices; d++)
        assert((!s->capacity || s->capacity[d] >= 0) &&
               (!s->switch_s || (s->switch_s[d] >= 0 && isfinite(s->switch_s[d]))));
}

static bool is_called(const weft_problem_spec *s)
{
    return s->constraints.is_calls || s->transfer == WEFT_CALLS;
}

/* Items take different ways if that was asked for, or if nothing speaks against it. */
static bool is_mixed(const weft_problem_spec *s)
{
    const weft_constraints *c = &s->constraints;

    return c->is_mixed || (c->may_mix && c->goal == WEFT_THROUGHPUT && !c->is_contiguous &&
                           !weft_segments_matter(c) && !is_called(s));
}

static bool is_linked(const weft_problem_spec *s, int from, int to)
{
    int k = from * s->n_devices + to;

    return from == to || ((!s->latency_s || isfinite(s->latency_s[k])) &&
                          (!s->second_per_byte || isfinite(s->second_per_byte[k])));
}

/* Calls go from the host to every other device, and back. */
static weft_status check_calls(const weft_problem_spec *s, const weft_problem_extra *x)
{
    const weft_doc *at = x->at ? x->at : &nowhere;

    if (!is_called(s))
        return WEFT_OK;
    if (s->constraints.is_mixed)
        return weft_doc_fail(at, "items cannot take different ways (--mix) where a host calls "
                                 "accelerators: neither plans nor bounds of calls know mixes");
    if (weft_segments_matter(&s->constraints) && s->constraints.goal == WEFT_LATENCY)
        return weft_fail(WEFT_E_INPUT, "--max-segments and --min-segment are not for 'calls': an "
                                       "accelerator is called once, so it has one segment");
    if (s->host < 0)
        return weft_doc_fail(at, "accelerators are called by a host under 'calls', but no device "
                                 "is named as the host");
    for (int d = 0; d < s->n_devices; d++)
        if (!is_linked(s, s->host, d) || !is_linked(s, d, s->host))
            return weft_doc_fail(at,
                                 "device '%.*s' is not connected with the host '%.*s', which "
                                 "'calls' needs",
                                 WEFT_SHOWN(s->device_name[d]),
                                 WEFT_SHOWN(s->device_name[s->host]));
    return WEFT_OK;
}

static weft_status check_spec(const weft_problem_spec *s, const weft_problem_extra *x,
                              weft_arena *scratch)
{
    WEFT_TRY(check_names(s, x, scratch));
    for (int u = 0; u < s->n_tasks; u++)
        WEFT_TRY(check_times(s, x, u));
    WEFT_TRY(check_tensors(s, x));
    check_structure(s);
    return check_calls(s, x);
}

/* --- topological order ----------------------------------------------------------------------- */

/* Fails and names a task of a cycle. Every task with waits > 0 has a predecessor of that kind, so
 * a walk backwards ends up in a cycle after at most n_tasks steps. */
static weft_status fail_cycle(const weft_problem_spec *s, const weft_problem_extra *x,
                              const int *waits, weft_arena *scratch)
{
    int *before = WEFT_NEW(scratch, int, s->n_tasks);
    int u = 0;

    for (int t = 0; t < s->n_tensors; t++)
        for (int k = s->reader_at[t]; k < s->reader_at[t + 1]; k++)
            if (s->producer[t] >= 0 && waits[s->producer[t]] > 0)
                before[s->reader[k]] = s->producer[t];
    while (waits[u] == 0)
        u++;
    for (int i = 0; i < s->n_tasks; i++)
        u = before[u];
    return weft_doc_fail(place_of(x, u), "task '%.*s' waits for itself: the tasks form a cycle",
                         WEFT_SHOWN(s->task_name[u]));
}

/* order[i]: the old number of task i. */
static weft_status sort_tasks(const weft_problem_spec *s, const weft_problem_extra *x, int *order,
                              weft_arena *scratch)
{
    weft_rows made = weft_rows_by(s->producer, s->n_tensors, s->n_tasks, scratch);
    int *waits = WEFT_NEW(scratch, int, s->n_tasks);
    weft_heap ready = weft_heap_new(scratch, s->n_tasks);
    int n = 0;

    for (int t = 0; t < s->n_tensors; t++)
        for (int k = s->reader_at[t]; k < s->reader_at[t + 1]; k++)
            waits[s->reader[k]] += s->producer[t] >= 0;
    for (int u = 0; u < s->n_tasks; u++)
        if (waits[u] == 0)
            weft_heap_push(&ready, u);
    while (ready.n > 0) {
        int u = order[n++] = weft_heap_pop(&ready);

        for (int i = made.at[u]; i < made.at[u + 1]; i++)
            for (int k = s->reader_at[made.item[i]]; k < s->reader_at[made.item[i] + 1]; k++)
                if (--waits[s->reader[k]] == 0)
                    weft_heap_push(&ready, s->reader[k]);
    }
    return n == s->n_tasks ? WEFT_OK : fail_cycle(s, x, waits, scratch);
}

/* --- copies ---------------------------------------------------------------------------------- */

static const char *const *copied_texts(weft_arena *a, const char *const *from, int n)
{
    const char **to = WEFT_NEW(a, const char *, n);

    for (int i = 0; i < n; i++)
        to[i] = weft_arena_word(a, from[i]);
    return to;
}

/* NULL for what is empty. */
static const char *copied_word(weft_arena *a, const char *from)
{
    return from && *from ? weft_arena_word(a, from) : NULL;
}

static const int *copied_ints(weft_arena *a, const int *from, int n)
{
    return weft_arena_copy(a, from, (size_t)n * sizeof *from);
}

static double *copied_reals(weft_arena *a, const double *from, int n, double fallback)
{
    double *to = WEFT_NEW(a, double, n);

    for (int i = 0; i < n; i++)
        to[i] = from ? from[i] : fallback;
    return to;
}

static const bool *copied_flags(weft_arena *a, const bool *from, int n)
{
    bool *to = WEFT_NEW(a, bool, n);

    if (from && n > 0)
        memcpy(to, from, (size_t)n * sizeof *to);
    return to;
}

/* Rows of a table by task, in the new order. */
static const double *copied_table(weft_problem *p, const double *from, const int *order)
{
    size_t n = (size_t)p->n_devices;
    double *to = WEFT_NEW(p->arena, double, n *(size_t)p->n_tasks);

    for (int u = 0; u < p->n_tasks; u++)
        memcpy(to + n * (size_t)u, from + n * (size_t)order[u], n * sizeof *to);
    return to;
}

static const int *copied_column(weft_problem *p, const int *from, const int *order)
{
    int *to = WEFT_NEW(p->arena, int, p->n_tasks);

    for (int u = 0; u < p->n_tasks; u++)
        to[u] = from && from[order[u]] >= 0 ? from[order[u]] : -1;
    return to;
}

static const bool *copied_marks(weft_problem *p, const bool *from, const int *order)
{
    bool *to = WEFT_NEW(p->arena, bool, p->n_tasks);

    for (int u = 0; u < p->n_tasks; u++)
        to[u] = from && from[order[u]];
    return to;
}

static void copy_tasks(weft_problem *p, const weft_problem_spec *s, const weft_problem_extra *x,
                       const int *order)
{
    const char **name = WEFT_NEW(p->arena, const char *, s->n_tasks);
    const char **kind = WEFT_NEW(p->arena, const char *, s->n_tasks);

    for (int u = 0; u < s->n_tasks; u++) {
        name[u] = weft_arena_word(p->arena, s->task_name[order[u]]);
        kind[u] = weft_arena_word(p->arena, x->task_kind ? x->task_kind[order[u]] : "Task");
    }
    p->task_name = name;
    p->task_kind = kind;
    p->seconds = copied_table(p, s->seconds, order);
    p->joules = s->joules ? copied_table(p, s->joules, order) : NULL;
    p->pin = copied_column(p, s->pin, order);
    p->colocation = copied_column(p, s->colocation, order);
    p->is_backward = copied_marks(p, s->is_backward, order);
}

/* --- tensors and the lists that follow from them --------------------------------------------- */

/* Readers by new numbers, each once; not sorted yet. place[u]: the new number of task u. */
static weft_rows distinct_readers(const weft_problem_spec *s, const int *place, weft_arena *a)
{
    weft_rows r = {WEFT_NEW(a, int, s->n_tensors + 1),
                   WEFT_NEW(a, int, s->reader_at[s->n_tensors])};
    int *seen = WEFT_NEW(a, int, s->n_tasks); /* 1 + the last tensor found to be read */

    for (int t = 0; t < s->n_tensors; t++) {
        r.at[t + 1] = r.at[t];
        for (int k = s->reader_at[t]; k < s->reader_at[t + 1]; k++) {
            int v = place[s->reader[k]];

            if (seen[v] != t + 1)
                r.item[r.at[t + 1]++] = v;
            seen[v] = t + 1;
        }
    }
    return r;
}

/* Tasks that each task waits for, each once; not sorted yet. */
static weft_rows distinct_preds(const weft_problem *p, weft_arena *a)
{
    weft_rows r = {WEFT_NEW(a, int, p->n_tasks + 1), WEFT_NEW(a, int, p->arg_at[p->n_tasks])};
    int *seen = WEFT_NEW(a, int, p->n_tasks); /* 1 + the last task found to wait */

    for (int v = 0; v < p->n_tasks; v++) {
        r.at[v + 1] = r.at[v];
        for (int k = p->arg_at[v]; k < p->arg_at[v + 1]; k++) {
            int u = p->producer[p->arg[k]];

            if (u >= 0 && seen[u] != v + 1)
                r.item[r.at[v + 1]++] = u;
            if (u >= 0)
                seen[u] = v + 1;
        }
    }
    return r;
}

static void link_tensors(weft_problem *p, const weft_problem_spec *s, const int *place,
                         weft_arena *scratch)
{
    int *producer = WEFT_NEW(p->arena, int, p->n_tensors);
    weft_rows arg = weft_rows_transposed(distinct_readers(s, place, scratch), p->n_tensors,
                                         p->n_tasks, p->arena);
    weft_rows reader = weft_rows_transposed(arg, p->n_tasks, p->n_tensors, p->arena);
    weft_rows res, pred, succ;

    for (int t = 0; t < p->n_tensors; t++)
        producer[t] = s->producer[t] < 0 ? -1 : place[s->producer[t]];
    res = weft_rows_by(producer, p->n_tensors, p->n_tasks, p->arena);
    p->producer = producer;
    p->arg_at = arg.at, p->arg = arg.item;
    p->reader_at = reader.at, p->reader = reader.item;
    p->res_at = res.at, p->res = res.item;
    succ = weft_rows_transposed(distinct_preds(p, scratch), p->n_tasks, p->n_tasks, p->arena);
    pred = weft_rows_transposed(succ, p->n_tasks, p->n_tasks, p->arena);
    p->succ_at = succ.at, p->succ = succ.item;
    p->pred_at = pred.at, p->pred = pred.item;
}

static void copy_tensors(weft_problem *p, const weft_problem_spec *s)
{
    double *amount = copied_reals(p->arena, s->amount, s->n_tensors, 0);

    p->is_weight = copied_flags(p->arena, s->is_weight, s->n_tensors);
    p->is_output = copied_flags(p->arena, s->is_output, s->n_tensors);
    p->memory = copied_reals(p->arena, s->memory ? s->memory : s->amount, s->n_tensors, 0);
    for (int t = 0; t < s->n_tensors; t++)
        if (p->is_weight[t])
            amount[t] = 0; /* weights are never sent */
    p->amount = amount;
}

/* --- devices and links ----------------------------------------------------------------------- */

/* Times between devices: 0 on the diagonal; where there is no bandwidth the latency is INFINITY
 * too, so that even a tensor of 0 bytes does not pass. */
static void copy_links(weft_problem *p, const weft_problem_spec *s)
{
    int n = p->n_devices;
    double *latency_s = copied_reals(p->arena, s->latency_s, n * n, 0);
    double *second_per_byte = copied_reals(p->arena, s->second_per_byte, n * n, 1);

    for (int k = 0; k < n * n; k++) {
        if (k % (n + 1) == 0)
            latency_s[k] = second_per_byte[k] = 0;
        else if (isinf(latency_s[k]) || isinf(second_per_byte[k]))
            latency_s[k] = second_per_byte[k] = INFINITY;
    }
    p->latency_s = latency_s;
    p->second_per_byte = second_per_byte;
}

static void copy_curves(weft_problem *p, const weft_problem_spec *s)
{
    size_t n_pairs = (size_t)p->n_devices * (size_t)p->n_devices;
    weft_link_curve *curve;

    if (s->n_curves == 0)
        return;
    curve = WEFT_NEW(p->arena, weft_link_curve, s->n_curves);
    for (int i = 0; i < s->n_curves; i++) {
        size_t size = (size_t)s->curve[i].n * sizeof(double);

        curve[i] =
            (weft_link_curve){s->curve[i].n, weft_arena_copy(p->arena, s->curve[i].bytes, size),
                              weft_arena_copy(p->arena, s->curve[i].seconds, size)};
    }
    p->curve = curve;
    p->curves = weft_arena_copy(p->arena, s->curves, n_pairs * sizeof *s->curves);
}

/* A directed link of its own for each ordered pair of devices that are connected. */
static void link_pairs(weft_problem *p)
{
    int n = p->n_devices, n_links = 0;
    int *at = WEFT_NEW(p->arena, int, n *n + 1), *route = WEFT_NEW(p->arena, int, n *n);
    const char **name = WEFT_NEW(p->arena, const char *, n *n);

    for (int k = 0; k < n * n; k++) {
        int from = k / n, to = k % n;

        at[k] = n_links;
        if (from == to || isinf(p->second_per_byte[k]))
            continue;
        name[n_links] =
            weft_arena_print(p->arena, "%s>%s", p->device_name[from], p->device_name[to]);
        route[n_links] = n_links;
        n_links++;
    }
    at[n * n] = n_links;
    p->n_links = n_links;
    p->link_name = name;
    p->route_at = at;
    p->route = route;
}

static void copy_routes(weft_problem *p, const weft_problem_extra *x)
{
    int n_pairs = p->n_devices * p->n_devices;

    p->n_links = x->n_links;
    p->link_name = copied_texts(p->arena, x->link_name, x->n_links);
    p->route_at = copied_ints(p->arena, x->route_at, n_pairs + 1);
    p->route = copied_ints(p->arena, x->route, x->route_at[n_pairs]);
}

static void copy_switches(weft_problem *p, const weft_problem_spec *s)
{
    bool has_some = false;

    for (int d = 0; s->switch_s && d < s->n_devices; d++)
        has_some |= s->switch_s[d] > 0;
    if (has_some)
        p->switch_s = copied_reals(p->arena, s->switch_s, s->n_devices, 0);
}

static void copy_devices(weft_problem *p, const weft_problem_spec *s, const weft_problem_extra *x)
{
    p->device_name = copied_texts(p->arena, s->device_name, s->n_devices);
    p->capacity = copied_reals(p->arena, s->capacity, s->n_devices, INFINITY);
    p->idle_w = copied_reals(p->arena, s->idle_w, s->n_devices, 0);
    copy_switches(p, s);
    copy_links(p, s);
    copy_curves(p, s);
    if (x->link_name)
        copy_routes(p, x);
    else
        link_pairs(p);
}

/* --- hash ------------------------------------------------------------------------------------ */

static uint64_t hash_reals(uint64_t h, const double *value, int n)
{
    for (int i = 0; i < n; i++)
        h = weft_hash_real(h, value[i]);
    return h;
}

static uint64_t hash_ints(uint64_t h, const int *value, int n)
{
    for (int i = 0; i < n; i++)
        h = weft_hash_int(h, value[i]);
    return h;
}

static uint64_t hash_tasks(const weft_problem *p, uint64_t h)
{
    for (int u = 0; u < p->n_tasks; u++) {
        h = weft_hash_text(h, p->task_name[u]);
        h = weft_hash_text(h, p->task_kind[u]);
    }
    h = hash_reals(h, p->seconds, p->n_tasks * p->n_devices);
    h = weft_hash_int(h, p->joules != NULL);
    if (p->joules)
        h = hash_reals(h, p->joules, p->n_tasks * p->n_devices);
    h = hash_ints(h, p->pin, p->n_tasks);
    for (int u = 0; u < p->n_tasks; u++)
        h = weft_hash_int(h, p->is_backward[u]);
    return hash_ints(h, p->colocation, p->n_tasks);
}

static uint64_t hash_tensors(const weft_problem *p, uint64_t h)
{
    h = hash_reals(h, p->amount, p->n_tensors);
    h = hash_reals(h, p->memory, p->n_tensors);
    for (int t = 0; t < p->n_tensors; t++)
        h = weft_hash_int(h, p->is_weight[t] + 2 * p->is_output[t]);
    h = hash_ints(h, p->producer, p->n_tensors);
    h = hash_ints(h, p->reader_at, p->n_tensors + 1);
    return hash_ints(h, p->reader, p->reader_at[p->n_tensors]);
}

static uint64_t hash_curves(const weft_problem *p, uint64_t curves, uint64_t h)
{
    for (int i = 0; curves >> i != 0; i++)
        if (curves >> i & 1) {
            h = hash_reals(h, p->curve[i].bytes, p->curve[i].n);
            h = hash_reals(h, p->curve[i].seconds, p->curve[i].n);
        }
    return h;
}

static uint64_t hash_devices(const weft_problem *p, uint64_t h)
{
    int n_pairs = p->n_devices * p->n_devices;

    for (int d = 0; d < p->n_devices; d++)
        h = weft_hash_text(h, p->device_name[d]);
    for (int k = 0; k < p->n_links; k++)
        h = weft_hash_text(h, p->link_name[k]);
    h = hash_reals(h, p->latency_s, n_pairs);
    h = hash_reals(h, p->second_per_byte, n_pairs);
    for (int k = 0; k < n_pairs && p->curves != NULL; k++)
        h = hash_curves(p, p->curves[k], h);
    h = hash_ints(h, p->route_at, n_pairs + 1);
    h = hash_ints(h, p->route, p->route_at[n_pairs]);
    h = hash_reals(h, p->capacity, p->n_devices);
    if (p->switch_s) /* nothing where there are none, so that the hash of such a problem stays */
        h = hash_reals(weft_hash_text(h, "switch"), p->switch_s, p->n_devices);
    return hash_reals(h, p->idle_w, p->n_devices);
}

static uint64_t hash_constraints(uint64_t h, const weft_constraints *constraints)
{
    h = weft_hash_int(h, constraints->goal);
    h = weft_hash_int(h, constraints->is_calls + 2 * constraints->is_contiguous +
                             4 * constraints->is_mixed);
    h = weft_hash_real(h, constraints->most_latency_s);
    h = weft_hash_real(h, constraints->most_period_s);
    if (constraints->batches.n > 0 || constraints->splits_batch) /* else as before */
        h = weft_hash_int(weft_hash_text(h, "choices"), constraints->splits_batch);
    for (int i = 0; i < constraints->batches.n; i++)
        h = weft_hash_int(h, constraints->batches.at[i]);
    if (!weft_segments_matter(constraints))
        return h; /* as before there were any */
    h = weft_hash_int(h, constraints->most_segments);
    h = weft_hash_int(h, constraints->least_segment_tasks);
    return weft_hash_real(h, constraints->least_segment_s);
}

/* Of everything but the name, which is a label: a renamed file is the same problem. */
static uint64_t hash_of(const weft_problem *p)
{
    uint64_t h = weft_hash_start();

    h = weft_hash_int(h, p->n_tasks);
    h = weft_hash_int(h, p->n_devices);
    h = weft_hash_int(h, p->n_tensors);
    h = weft_hash_int(h, p->n_links);
    h = weft_hash_int(h, p->host);
    h = weft_hash_int(h, p->transfer);
    h = hash_constraints(h, &p->constraints);
    return weft_hash_end(hash_devices(p, hash_tensors(p, hash_tasks(p, h))));
}

/* --- makers ---------------------------------------------------------------------------------- */

/* The problem of a checked spec; order as from sort_tasks. */
static weft_problem *built(const weft_problem_spec *s, const weft_problem_extra *x,
                           const int *order, weft_arena *scratch)
{
    weft_arena *a = weft_arena_new();
    weft_problem *p = WEFT_NEW(a, weft_problem, 1);
    int *place = WEFT_NEW(scratch, int, s->n_tasks);

    p->arena = a;
    p->name = weft_arena_word(a, s->name ? s->name : "tasks");
    p->n_tasks = s->n_tasks;
    p->n_devices = s->n_devices;
    p->n_tensors = s->n_tensors;
    p->host = s->host;
    p->transfer = is_called(s) ? WEFT_CALLS : s->transfer;
    p->constraints = s->constraints;
    p->constraints.is_calls = is_called(s);
    p->constraints.is_mixed = is_mixed(s);
    p->constraints.may_mix = false;
    p->constraints.pin = copied_word(a, s->constraints.pin);
    p->constraints.together = copied_word(a, s->constraints.together);
    for (int u = 0; u < s->n_tasks; u++)
        place[order[u]] = u;
    copy_tasks(p, s, x, order);
    copy_tensors(p, s);
    link_tensors(p, s, place, scratch);
    copy_devices(p, s, x);
    p->hash = hash_of(p);
    return p;
}

static weft_status build(const weft_problem_spec *s, const weft_problem_extra *x,
                         weft_arena *scratch, weft_problem **out)
{
    weft_problem_spec all = *s;
    int *order;

    WEFT_TRY(check_sizes(s, x));
    WEFT_TRY(weft_constrain(&all, scratch));
    WEFT_TRY(check_spec(&all, x, scratch));
    order = WEFT_NEW(scratch, int, s->n_tasks);
    WEFT_TRY(sort_tasks(&all, x, order, scratch));
    *out = built(&all, x, order, scratch);
    return WEFT_OK;
}

weft_status weft_problem_build(const weft_problem_spec *s, const weft_problem_extra *x,
                               weft_problem **out)
{
    weft_arena *scratch = weft_arena_new();
    weft_status status = build(s, x, scratch, out);

    weft_arena_free(scratch);
    return status;
}

weft_status weft_problem_make(const weft_problem_spec *s, weft_problem **out)
{
    const weft_problem_extra nothing = {0};

    return weft_problem_build(s, &nothing, out);
}
