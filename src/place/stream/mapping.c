/* SPDX-License-Identifier: MIT */
/* mapping.c: loads of a mapping, kept while groups of tasks move.
 *
 * For each tensor and device the number of readers there is known. A tensor is sent to a device if
 * that number is positive and the tensor is not made there, so a task that moves from d to e
 *   1. takes its time from d to e;
 *   2. for each tensor it reads: ends the transfer to d with its last reader there, begins one to e
 *      with the first;
 *   3. for each tensor it makes: ends the transfers from d, begins those from e;
 *   4. for each weight it reads: frees memory on d with the last reader, takes memory on e with the
 *      first.
 * Loads before a move are noted once, so undoing restores them to the last bit; weft_mapping_set
 * sums them anew, which drops the rounding of many moves.
 *
 * Time of a move O(tensors it reads + tensors it makes * devices). */
#include "mapping.h"
#include "rows.h"

#include <math.h>
#include <string.h>

/* --- one change ------------------------------------------------------------------------------ */

static void add_load(weft_mapping *m, int resource, double seconds)
{
    if (m->stamp[resource] != m->trial) {
        m->stamp[resource] = m->trial;
        m->was[m->n_was++] = (weft_mapping_undo){resource, -1, m->load_s[resource]};
    }
    m->load_s[resource] += seconds;
}

static double excess(const weft_mapping *m, int d)
{
    return fmax(0, m->held_bytes[d] - m->problem->capacity[d]);
}

static void add_bytes(weft_mapping *m, int d, double bytes)
{
    double before = excess(m, d);
    bool was_over = !weft_fits(m->held_bytes[d], m->problem->capacity[d]);

    m->held_bytes[d] += bytes;
    m->n_over += !weft_fits(m->held_bytes[d], m->problem->capacity[d]) - was_over;
    m->over_bytes = m->n_over > 0 ? m->over_bytes + excess(m, d) - before : 0;
}

bool weft_route_is_new(const weft_problem *p, int pair, int k)
{
    for (int l = p->route_at[pair]; l < k; l++) {
        if (p->route[l] == p->route[k])
            return false;
    }
    return true;
}

/* sign: 1 begins the transfer, -1 ends it. */
static void add_send(weft_mapping *m, int t, int from, int to, int sign)
{
    const weft_problem *p = m->problem;
    double seconds = weft_send_s(p, t, from, to);
    int pair = from * p->n_devices + to;

    if (!(seconds < INFINITY)) {
        m->n_cut += sign;
        return;
    }
    if (p->transfer == WEFT_BLOCK) {
        add_load(m, from, sign * seconds);
        add_load(m, to, sign * seconds);
    }
    for (int k = p->route_at[pair]; p->transfer == WEFT_CONTEND && k < p->route_at[pair + 1]; k++) {
        if (weft_route_is_new(p, pair, k))
            add_load(m, p->n_devices + p->route[k], sign * seconds);
    }
}

/* --- a task leaves a device, or comes to one ------------------------------------------------- */

/* Where tensor t lies, or -1: it is never sent, or not yet since its producer is nowhere. */
static int home_of(const weft_mapping *m, int t)
{
    int u = m->problem->producer[t];

    if (m->problem->is_weight[t])
        return -1;
    return u < 0 ? m->problem->host : m->device[u];
}

static void count_reader(weft_mapping *m, int t, int d, int sign)
{
    const weft_problem *p = m->problem;
    int *n = &m->n_readers[(size_t)t * (size_t)p->n_devices + (size_t)d];
    int home;

    *n += sign;
    if (*n != (sign > 0 ? 1 : 0))
        return;
    if (p->is_weight[t]) {
        add_bytes(m, d, sign * p->memory[t]);
        return;
    }
    home = home_of(m, t);
    if (home >= 0 && home != d)
        add_send(m, t, home, d, sign);
}

static void count_results(weft_mapping *m, int u, int d, int sign)
{
    const weft_problem *p = m->problem;

    for (int i = p->res_at[u]; i < p->res_at[u + 1]; i++) {
        int t = p->res[i];
        const int *n = m->n_readers + (size_t)t * (size_t)p->n_devices;

        if (p->reader_at[t] == p->reader_at[t + 1])
            continue;
        for (int k = 0; k < p->n_devices; k++)
            if (n[k] > 0 && k != d)
                add_send(m, t, d, k, sign);
    }
}

/* Forward edges between u on d and its neighbours elsewhere. */
static void count_edges(weft_mapping *m, int u, int d, int sign)
{
    const weft_problem *p = m->problem;
    int n = p->n_devices;

    for (int i = p->pred_at[u]; i < p->pred_at[u + 1]; i++) {
        int e = m->device[p->pred[i]];

        if (e >= 0 && e != d && !p->is_backward[p->pred[i]])
            m->n_edges[e * n + d] += sign;
    }
    for (int i = p->succ_at[u]; i < p->succ_at[u + 1]; i++) {
        int e = m->device[p->succ[i]];

        if (e >= 0 && e != d && !p->is_backward[p->succ[i]])
            m->n_edges[d * n + e] += sign;
    }
}

static void count_task(weft_mapping *m, int u, int d, int sign)
{
    const weft_problem *p = m->problem;

    add_load(m, d, sign * weft_task_s(p, u, d));
    for (int i = p->arg_at[u]; i < p->arg_at[u + 1]; i++)
        if (m->is_sending || p->is_weight[p->arg[i]])
            count_reader(m, p->arg[i], d, sign);
    if (m->is_sending)
        count_results(m, u, d, sign);
    if (m->n_edges != NULL && !p->is_backward[u])
        count_edges(m, u, d, sign);
}

static void move_group(weft_mapping *m, int g, int d)
{
    for (int i = m->member_at[g]; i < m->member_at[g + 1]; i++) {
        int u = m->member[i];

        if (m->device[u] >= 0)
            count_task(m, u, m->device[u], -1);
        m->device[u] = d;
        if (d >= 0)
            count_task(m, u, d, 1);
    }
    m->home[g] = d;
}

/* --- trials ---------------------------------------------------------------------------------- */

void weft_mapping_move(weft_mapping *m, int group, int device)
{
    weft_mapping_undo before = {group, m->home[group], 0};

    WEFT_PUSH(m->arena, m->moved, before);
    move_group(m, group, device);
}

void weft_mapping_keep(weft_mapping *m)
{
    m->moved.n = 0;
    m->n_was = 0;
    m->trial++;
}

void weft_mapping_undo_all(weft_mapping *m)
{
    while (m->moved.n > 0) {
        weft_mapping_undo before = m->moved.at[--m->moved.n];

        move_group(m, before.index, before.device);
    }
    for (int i = 0; i < m->n_was; i++)
        m->load_s[m->was[i].index] = m->was[i].load_s;
    weft_mapping_keep(m);
}

/* --- the whole ------------------------------------------------------------------------------- */

static bool is_connected(const weft_problem *p)
{
    for (int k = 0; k < p->n_devices * p->n_devices; k++)
        if (!(p->latency_s[k] < INFINITY) || !(p->second_per_byte[k] < INFINITY))
            return false;
    return true;
}

weft_mapping weft_mapping_new(const weft_domain *domain, weft_arena *a)
{
    const weft_problem *p = domain->problem;
    int n_links = p->transfer == WEFT_CONTEND ? p->n_links : 0;
    size_t n_resources = (size_t)p->n_devices + (size_t)n_links;
    weft_rows members = weft_rows_by(domain->group, p->n_tasks, domain->n_groups, a);
    weft_mapping m = {
        .domain = domain,
        .problem = p,
        .n_resources = (int)n_resources,
        .is_sending = p->transfer != WEFT_OVERLAP || !is_connected(p),
        .device = WEFT_NEW(a, int, p->n_tasks),
        .home = WEFT_NEW(a, int, domain->n_groups),
        .load_s = WEFT_NEW(a, double, n_resources),
        .held_bytes = WEFT_NEW(a, double, p->n_devices),
        .n_readers = WEFT_NEW(a, int, (size_t)p->n_tensors *(size_t)p->n_devices),
        .was = WEFT_NEW(a, weft_mapping_undo, n_resources),
        .stamp = WEFT_NEW(a, int, n_resources),
        .trial = 1,
        .arena = a,
    };

    if (p->constraints.is_contiguous) {
        m.n_edges = WEFT_NEW(a, int, (size_t)p->n_devices *(size_t)p->n_devices);
        m.n_fed = WEFT_NEW(a, int, p->n_devices);
    }
    m.member_at = members.at;
    m.member = members.item;
    WEFT_RESERVE(a, m.moved, domain->n_groups + 1);
    return m;
}

void weft_mapping_clear(weft_mapping *m)
{
    const weft_problem *p = m->problem;
    size_t n_counts = (size_t)p->n_tensors * (size_t)p->n_devices;

    memset(m->n_readers, 0, n_counts * sizeof *m->n_readers);
    memset(m->load_s, 0, (size_t)m->n_resources * sizeof *m->load_s);
    memset(m->held_bytes, 0, (size_t)p->n_devices * sizeof *m->held_bytes);
    if (m->n_edges != NULL)
        memset(m->n_edges, 0, (size_t)p->n_devices * (size_t)p->n_devices * sizeof *m->n_edges);
    m->over_bytes = 0;
    m->n_over = 0;
    m->n_cut = 0;
    for (int u = 0; u < p->n_tasks; u++)
        m->device[u] = -1;
    for (int g = 0; g < m->domain->n_groups; g++)
        m->home[g] = -1;
    weft_mapping_keep(m);
}

void weft_mapping_set(weft_mapping *m, const int *device)
{
    weft_mapping_clear(m);
    for (int u = 0; u < m->problem->n_tasks; u++) {
        m->device[u] = device[u];
        m->home[m->domain->group[u]] = device[u];
        count_task(m, u, device[u], 1);
    }
    weft_mapping_keep(m);
}

/* Devices that nothing feeds are taken away, one after the other; a cycle stays. */
bool weft_mapping_is_staged(const weft_mapping *m)
{
    int n = m->problem->n_devices, n_left = n;
    bool is_moving = true;

    if (m->n_edges == NULL)
        return true;
    for (int d = 0; d < n; d++) {
        m->n_fed[d] = 0;
        for (int e = 0; e < n; e++)
            m->n_fed[d] += m->n_edges[e * n + d] > 0;
    }
    while (is_moving) {
        is_moving = false;
        for (int d = 0; d < n; d++) {
            if (m->n_fed[d] != 0)
                continue;
            m->n_fed[d] = -1; /* gone */
            for (int e = 0; e < n; e++)
                m->n_fed[e] -= m->n_edges[d * n + e] > 0;
            n_left--;
            is_moving = true;
        }
    }
    return n_left == 0;
}

double weft_mapping_period(const weft_mapping *m)
{
    double most_s = 0;

    for (int r = 0; r < m->n_resources; r++)
        most_s = fmax(most_s, m->load_s[r]);
    return most_s;
}

double weft_mapping_cost(const weft_mapping *m, const double *price)
{
    double cost = 0;

    for (int r = 0; r < m->n_resources; r++)
        cost += price[r] * m->load_s[r];
    return cost;
}

/* --- an order -------------------------------------------------------------------------------- */

typedef struct fixed {
    const int *device;
} fixed;

static weft_choice where_it_is(weft_list *l, int u, void *context)
{
    int d = ((const fixed *)context)->device[u];

    return (weft_choice){d, weft_list_insert(l, u, d)};
}

/* The longest way from the start of u to the end, with the devices of the mapping. */
static double *ranks(const weft_problem *p, const int *device, weft_arena *a)
{
    double *rank = WEFT_NEW(a, double, p->n_tasks);

    for (int u = p->n_tasks - 1; u >= 0; u--) {
        for (int i = p->res_at[u]; i < p->res_at[u + 1]; i++) {
            int t = p->res[i];

            for (int j = p->reader_at[t]; j < p->reader_at[t + 1]; j++) {
                int v = p->reader[j];

                rank[u] = fmax(rank[u], rank[v] + weft_data_s(p, t, device[u], device[v]));
            }
        }
        rank[u] += weft_task_s(p, u, device[u]);
    }
    return rank;
}

void weft_mapping_order(const weft_domain *m, const int *device, weft_arena *scratch,
                        double *start_s)
{
    const weft_problem *p = m->problem;
    size_t mark = weft_arena_mark(scratch);
    weft_list l = weft_list_new(p, scratch);
    weft_plan plan = weft_plan_new(p->n_tasks, scratch);
    fixed devices = {device};
    weft_list_rule rule = {ranks(p, device, scratch), where_it_is, &devices};
    weft_proof proof;

    weft_list_run(&l, &rule, &plan, &proof);
    memcpy(start_s, plan.start_s, (size_t)p->n_tasks * sizeof *start_s);
    weft_arena_rewind(scratch, mark);
}
