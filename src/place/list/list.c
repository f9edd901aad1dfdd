/* SPDX-License-Identifier: MIT */
/* list.c: partial schedules of list schedulers, and their ranks.
 *
 * 1. A list scheduler takes the tasks in some topological order and gives each a device and a slot
 *    there: in the first idle gap long enough (insertion), or behind the last slot (append).
 * 2. A slot begins when the data is on the device: inputs come from the host, results of placed
 *    tasks from their devices, beside all other transfers. Under other transfer models this is the
 *    scheduler's estimate; the simulator says what the plan is worth.
 * 3. The first task of a colocation group decides the device of all and claims the memory of all their
 *    weights, so no later one is left without room.
 *
 * Plans from here keep domains, colocation and the room for weights. A task that finds no device ends
 * the run without a plan. Time O(tensors read * devices), and for each task and device O(log tasks)
 * to find a gap (lane.c). */
#include "list.h"
#include "heap.h"
#include "sort.h"

#include <math.h>
#include <string.h>

weft_list weft_list_new(const weft_problem *p, weft_arena *a)
{
    weft_list l = {.problem = p, .domain = weft_domain_new(p, a), .arena = a};
    size_t n_words = (size_t)weft_bits_words(p->n_tensors);

    l.device = WEFT_NEW(a, int, p->n_tasks);
    l.start_s = WEFT_NEW(a, double, p->n_tasks);
    l.end_s = WEFT_NEW(a, double, p->n_tasks);
    l.lane = WEFT_NEW(a, weft_lane, p->n_devices);
    l.home = WEFT_NEW(a, int, l.domain.n_groups);
    l.held = WEFT_NEW(a, uint64_t, (size_t)p->n_devices * n_words);
    l.held_bytes = WEFT_NEW(a, double, p->n_devices);
    for (int u = 0; u < p->n_tasks; u++)
        l.device[u] = -1;
    for (int d = 0; d < p->n_devices; d++)
        l.lane[d] = weft_lane_new();
    for (int g = 0; g < l.domain.n_groups; g++)
        l.home[g] = -1;
    return l;
}

/* --- one task on one device ------------------------------------------------------------------ */

static uint64_t *held_on(const weft_list *l, int d)
{
    return l->held + (size_t)d * (size_t)weft_bits_words(l->problem->n_tensors);
}

/* Bytes of weights of group g that are not yet on d. */
static double missing_bytes(const weft_list *l, int g, int d)
{
    const weft_domain *m = &l->domain;
    const uint64_t *held = held_on(l, d);
    double bytes = 0;

    for (int i = m->weight_at[g]; i < m->weight_at[g + 1]; i++) {
        if (!weft_bit_get(held, m->weight[i]))
            bytes += l->problem->memory[m->weight[i]];
    }
    return bytes;
}

bool weft_list_allows(const weft_list *l, int u, int d)
{
    int g = l->domain.group[u];

    if (!weft_domain_has(&l->domain, u, d))
        return false;
    if (l->home[g] >= 0)
        return l->home[g] == d;
    return l->held_bytes[d] + missing_bytes(l, g, d) <= l->problem->capacity[d];
}

double weft_list_ready(const weft_list *l, int u, int d)
{
    const weft_problem *p = l->problem;
    double ready_s = weft_input_s(p, u, d);

    for (int i = p->arg_at[u]; i < p->arg_at[u + 1]; i++) {
        int t = p->arg[i], from = p->producer[t];

        if (from >= 0 && l->device[from] >= 0)
            ready_s = fmax(ready_s, l->end_s[from] + weft_data_s(p, t, l->device[from], d) +
                                        weft_sure_switch_s(p, from, u, l->device[from], d));
    }
    return ready_s;
}

double weft_list_insert(const weft_list *l, int u, int d)
{
    double ready_s = weft_list_ready(l, u, d);

    if (!(ready_s < INFINITY))
        return INFINITY;
    return weft_lane_gap(&l->lane[d], ready_s, weft_task_s(l->problem, u, d));
}

double weft_list_append(const weft_list *l, int u, int d)
{
    return fmax(weft_list_ready(l, u, d), weft_lane_end(&l->lane[d]));
}

/* The device of least score: its start (or `before`), time and `extra`. */
static weft_choice least_score(const weft_list *l, int u, bool is_behind, const double *before,
                               const double *extra)
{
    weft_choice best = {-1, 0};
    double least = INFINITY;

    for (int d = 0; d < l->problem->n_devices; d++) {
        double time_s = weft_task_s(l->problem, u, d), start_s, score;

        if ((before != NULL && !(before[d] + time_s < least)) || !weft_list_allows(l, u, d))
            continue;
        start_s = is_behind ? weft_list_append(l, u, d) : weft_list_insert(l, u, d);
        score = (before == NULL ? start_s : before[d]) + time_s + (extra == NULL ? 0 : extra[d]);
        if (start_s < INFINITY && score < least) {
            least = score;
            best = (weft_choice){d, start_s};
        }
    }
    return best;
}

weft_choice weft_list_earliest(const weft_list *l, int u, const double *extra)
{
    return least_score(l, u, false, NULL, extra);
}

weft_choice weft_list_behind(const weft_list *l, int u, const double *before)
{
    return least_score(l, u, true, before, NULL);
}

/* --- slots ----------------------------------------------------------------------------------- */

void weft_list_put(weft_list *l, int u, weft_choice c)
{
    l->device[u] = c.device;
    l->start_s[u] = c.start_s;
    l->end_s[u] = c.start_s + weft_task_s(l->problem, u, c.device);
    weft_lane_put(&l->lane[c.device], c.start_s, l->end_s[u], l->arena);
}

void weft_list_take(weft_list *l, int u)
{
    weft_lane_take(&l->lane[l->device[u]], l->start_s[u], l->end_s[u]);
    l->device[u] = -1;
}

/* Fixes the device of a group and claims the memory of its weights there. */
static void claim(weft_list *l, int g, int d)
{
    const weft_domain *m = &l->domain;
    uint64_t *held = held_on(l, d);

    if (l->home[g] >= 0)
        return;
    l->home[g] = d;
    l->held_bytes[d] += missing_bytes(l, g, d);
    for (int i = m->weight_at[g]; i < m->weight_at[g + 1]; i++)
        weft_bit_set(held, m->weight[i]);
}

/* Starts become positions: tasks of no length share starts with their successors on the device, and
 * the simulator, which breaks ties by number, must keep the order that was planned. */
static void write_plan(const weft_list *l, weft_plan *plan)
{
    int n = l->problem->n_tasks;
    const int *order = weft_sorted_twice(l->start_s, l->end_s, n, l->arena);

    for (int i = 0; i < n; i++) {
        plan->device[order[i]] = l->device[order[i]];
        plan->start_s[order[i]] = i;
    }
}

/* Where a task was left without a device, and what it lacked. */
static const char *no_room(const weft_list *l, int u)
{
    const weft_problem *p = l->problem;
    int g = l->domain.group[u], best = -1;
    char need[32], room[32];

    for (int d = 0; d < p->n_devices; d++) {
        if (weft_domain_has(&l->domain, u, d) && (l->home[g] < 0 || l->home[g] == d) &&
            (best < 0 ||
             p->capacity[d] - l->held_bytes[d] > p->capacity[best] - l->held_bytes[best]))
            best = d;
    }
    if (best < 0 || weft_list_allows(l, u, best))
        return weft_arena_print(l->arena, "task '%s' found no device its inputs can reach",
                                p->task_name[u]);
    return weft_arena_print(l->arena,
                            "memory: task '%s' still needs %s for weights, the most room left is "
                            "%s on '%s'",
                            p->task_name[u], weft_format_bytes(missing_bytes(l, g, best), need),
                            weft_format_bytes(p->capacity[best] - l->held_bytes[best], room),
                            p->device_name[best]);
}

/* List schedulers know nothing of what the tasks of a device must be together: one call, one stage
 * of a pipeline. A plan that is neither is dropped. */
static bool is_legal(const weft_problem *p, const weft_plan *plan, weft_arena *a)
{
    size_t mark = weft_arena_mark(a);
    weft_plan copy = weft_plan_new(p->n_tasks, a);
    weft_measures measures;
    weft_violation violation;
    bool is_ok;

    if (p->transfer != WEFT_CALLS && !p->constraints.is_contiguous)
        return true;
    memcpy(copy.device, plan->device, (size_t)p->n_tasks * sizeof *copy.device);
    memcpy(copy.start_s, plan->start_s, (size_t)p->n_tasks * sizeof *copy.start_s);
    is_ok = weft_evaluate(p, &copy, a, &measures) == WEFT_OK &&
            weft_plan_check(p, &copy, &violation, 1, a) == 0;
    weft_arena_rewind(a, mark);
    return is_ok;
}

void weft_list_run(weft_list *l, const weft_list_rule *rule, weft_plan *plan, weft_proof *proof)
{
    const int *order;

    proof->outcome = l->domain.is_empty ? WEFT_INFEASIBLE : WEFT_UNKNOWN;
    if (l->domain.is_empty)
        return;
    order = weft_list_order(l, rule->priority);
    for (int i = 0; i < l->problem->n_tasks; i++) {
        int u = order[i];
        weft_choice c =
            rule->pick != NULL ? rule->pick(l, u, rule->context) : weft_list_earliest(l, u, NULL);

        if (c.device < 0) {
            proof->reason = no_room(l, u);
            return;
        }
        weft_list_put(l, u, c);
        claim(l, l->domain.group[u], c.device);
    }
    write_plan(l, plan);
    proof->outcome = is_legal(l->problem, plan, l->arena) ? WEFT_BOUNDED : WEFT_UNKNOWN;
}

/* --- ranks ----------------------------------------------------------------------------------- */

double *weft_list_means(const weft_list *l, const double *table)
{
    const weft_problem *p = l->problem;
    double *mean = WEFT_NEW(l->arena, double, p->n_tasks);

    for (int u = 0; u < p->n_tasks; u++) {
        int n = 0;

        for (int d = 0; d < p->n_devices; d++) {
            if (weft_domain_has(&l->domain, u, d)) {
                mean[u] += table[(size_t)u * (size_t)p->n_devices + (size_t)d];
                n++;
            }
        }
        mean[u] = n == 0 ? 0 : mean[u] / n;
    }
    return mean;
}

/* Pairs that are not connected carry nothing and do not count. */
double *weft_list_mean_send(const weft_list *l)
{
    const weft_problem *p = l->problem;
    double *send_s = WEFT_NEW(l->arena, double, p->n_tensors);
    double latency_s = 0, second_per_byte = 0;
    int n = 0;

    for (int d = 0; d < p->n_devices; d++) {
        for (int e = 0; e < p->n_devices; e++) {
            int k = d * p->n_devices + e;

            if (d == e || !(p->latency_s[k] < INFINITY) || !(p->second_per_byte[k] < INFINITY))
                continue;
            latency_s += p->latency_s[k];
            second_per_byte += p->second_per_byte[k];
            n++;
        }
    }
    for (int t = 0; t < p->n_tensors; t++) {
        if (n > 0 && p->producer[t] >= 0 && !p->is_weight[t])
            send_s[t] = (latency_s + p->amount[t] * second_per_byte) / n;
    }
    return send_s;
}

double *weft_list_upward(const weft_list *l, const double *mean_s, const double *send_s)
{
    const weft_problem *p = l->problem;
    double *rank = WEFT_NEW(l->arena, double, p->n_tasks);

    for (int u = p->n_tasks - 1; u >= 0; u--) {
        for (int i = p->res_at[u]; i < p->res_at[u + 1]; i++) {
            int t = p->res[i];

            for (int j = p->reader_at[t]; j < p->reader_at[t + 1]; j++)
                rank[u] = fmax(rank[u], send_s[t] + rank[p->reader[j]]);
        }
        rank[u] += mean_s[u];
    }
    return rank;
}

/* --- orders ---------------------------------------------------------------------------------- */

int *weft_list_order(const weft_list *l, const double *priority)
{
    const weft_problem *p = l->problem;
    int n = p->n_tasks, n_done = 0;
    int *order = WEFT_NEW(l->arena, int, n), *place = WEFT_NEW(l->arena, int, n);
    int *waits = WEFT_NEW(l->arena, int, n);
    weft_heap ready = weft_heap_new(l->arena, n);
    const int *by_rank;

    for (int u = 0; u < n; u++)
        order[u] = u;
    if (priority == NULL)
        return order;
    by_rank = weft_sorted_falling(priority, n, l->arena);
    for (int i = 0; i < n; i++)
        place[by_rank[i]] = i;
    for (int u = 0; u < n; u++) {
        waits[u] = p->pred_at[u + 1] - p->pred_at[u];
        if (waits[u] == 0)
            weft_heap_push(&ready, place[u]);
    }
    while (ready.n > 0) {
        int u = by_rank[weft_heap_pop(&ready)];

        order[n_done++] = u;
        for (int i = p->succ_at[u]; i < p->succ_at[u + 1]; i++) {
            if (--waits[p->succ[i]] == 0)
                weft_heap_push(&ready, place[p->succ[i]]);
        }
    }
    return order;
}
