/* SPDX-License-Identifier: MIT */
/* priced_mapping.c: the mapping of least priced load: sum over resources of price * load.
 *
 * Without transfers that count (overlap, all devices connected) every group chooses its cheapest
 * device: exact. Else dynamic programming along the tasks in topological order:
 *
 * 1. A tensor is live from its task (an input: from the start) to its last reader. The state behind
 *    task u is: for each live tensor its device and the devices it was sent to already; for each
 *    group with tasks on both sides its device. What later tasks cost depends on nothing else.
 * 2. A task on d pays price * time there, and for each tensor it reads that is neither on d nor was
 *    sent there the priced transfer. Of several ways into a state the cheapest is kept.
 *
 * Exact, by induction along the order. Memory is not regarded: the value is then a lower bound of
 * that of mappings that fit. Time and memory grow with (devices * 2^(devices - 1))^live; the search
 * gives up (returns false) when a step has too many states. */
#include "priced_mapping.h"

#include <math.h>
#include <string.h>

enum { MOST_STATES = 20000, MOST_DEVICES = 16 };
static const double MOST_WORK = 1.5e7; /* tasks * devices * states of a step */

/* --- without transfers ----------------------------------------------------------------------- */

static double price_apart(const weft_mapping *map, const double *price, int *device)
{
    const weft_domain *m = map->domain;
    const weft_problem *p = m->problem;
    double sum = 0;

    for (int g = 0; g < m->n_groups; g++) {
        double least = INFINITY;
        int best = -1;

        for (int d = 0; d < p->n_devices; d++) {
            double cost = 0;

            if (!m->has[g * p->n_devices + d])
                continue;
            for (int i = map->member_at[g]; i < map->member_at[g + 1]; i++)
                cost += price[d] * weft_task_s(p, map->member[i], d);
            if (cost < least) {
                least = cost;
                best = d;
            }
        }
        sum += least;
        for (int i = map->member_at[g]; i < map->member_at[g + 1]; i++)
            device[map->member[i]] = best;
    }
    return sum;
}

/* --- states ---------------------------------------------------------------------------------- */

/* What the state remembers behind a task: tensors (>= 0), then groups (-1 - group). */
typedef struct layer {
    int n_slots;
    int *slot; /* tensors, then groups */
    int *from; /* [n_slots] place in the layer before, or -1: new */
    int n_states;
    uint32_t *key;   /* [n_states * n_slots] device | sent to << 8 */
    double *cost;    /* [n_states] */
    int *parent;     /* [n_states] in the layer before */
    uint8_t *choice; /* [n_states] device of the task */
} layer;

typedef struct pricing {
    const weft_mapping *map;
    const weft_problem *p;
    const double *price;
    double *unit;                    /* [from * n_devices + to] price of a second of transfer */
    int *last_reader;                /* [n_tensors] or -1 */
    int *first_member, *last_member; /* [n_groups] tasks */
    int *place;                      /* [n_tensors + n_groups] slot in the layer at hand, or -1 */
    layer *layer;                    /* [n_tasks + 1] */
    int most_states;
    int *table; /* hash of the states of the next layer: 1 + number, or 0 */
    size_t table_size;
    size_t *used;    /* places of the table that are not 0 */
    uint32_t *trial; /* a key of the next layer */
    uint32_t *now;   /* a key of this layer with what the task at hand sends */
    weft_arena *a;
} pricing;

static void price_pairs(pricing *s)
{
    const weft_problem *p = s->p;

    for (int from = 0; from < p->n_devices; from++)
        for (int to = 0; to < p->n_devices; to++) {
            int pair = from * p->n_devices + to;
            double sum = p->transfer == WEFT_BLOCK ? s->price[from] + s->price[to] : 0;

            for (int k = p->route_at[pair];
                 p->transfer == WEFT_CONTEND && k < p->route_at[pair + 1]; k++) {
                if (weft_route_is_new(p, pair, k))
                    sum += s->price[p->n_devices + p->route[k]];
            }
            s->unit[pair] = sum;
        }
}

/* A tensor whose device matters to later tasks. */
static bool is_tracked(const weft_problem *p, int t)
{
    return !p->is_weight[t] && p->reader_at[t] < p->reader_at[t + 1] &&
           (p->producer[t] >= 0 || p->host >= 0);
}

static void list_slots(pricing *s, int u, layer *l, const layer *before)
{
    const weft_problem *p = s->p;
    const weft_domain *m = s->map->domain;
    int n = 0, most = before->n_slots + (p->res_at[u + 1] - p->res_at[u]) + 1;

    l->slot = WEFT_NEW(s->a, int, most);
    l->from = WEFT_NEW(s->a, int, most);
    for (int i = 0; i < before->n_slots; i++) {
        int x = before->slot[i];
        int last = x >= 0 ? s->last_reader[x] : s->last_member[-1 - x];

        if (last <= u)
            continue;
        l->slot[n] = x;
        l->from[n++] = i;
    }
    for (int i = p->res_at[u]; i < p->res_at[u + 1]; i++)
        if (is_tracked(p, p->res[i])) {
            l->slot[n] = p->res[i];
            l->from[n++] = -1;
        }
    if (s->first_member[m->group[u]] == u && s->last_member[m->group[u]] > u) {
        l->slot[n] = -1 - m->group[u];
        l->from[n++] = -1;
    }
    l->n_slots = n;
}

static uint64_t hash_of(const uint32_t *key, int n)
{
    uint64_t h = UINT64_C(0x9e3779b97f4a7c15);

    for (int i = 0; i < n; i++)
        h = (h ^ key[i]) * UINT64_C(0x100000001b3) + (h >> 29);
    return h ^ h >> 32;
}

/* Puts the trial key into the layer, or makes the state of that key cheaper. False: no room. */
static bool put_state(pricing *s, layer *l, double cost, int parent, int device)
{
    size_t n = (size_t)l->n_slots, mask = s->table_size - 1;
    size_t at = (size_t)hash_of(s->trial, l->n_slots) & mask;
    int k;

    for (; s->table[at] != 0; at = (at + 1) & mask) {
        k = s->table[at] - 1;
        if (memcmp(l->key + (size_t)k * n, s->trial, n * sizeof *s->trial) != 0)
            continue;
        if (cost < l->cost[k]) {
            l->cost[k] = cost;
            l->parent[k] = parent;
            l->choice[k] = (uint8_t)device;
        }
        return true;
    }
    if (l->n_states == s->most_states)
        return false;
    k = l->n_states++;
    s->table[at] = k + 1;
    s->used[k] = at;
    memcpy(l->key + (size_t)k * n, s->trial, n * sizeof *s->trial);
    l->cost[k] = cost;
    l->parent[k] = parent;
    l->choice[k] = (uint8_t)device;
    return true;
}

/* Cost of task u on d after a state; marks what is sent in `now`, a copy of the state's key. */
static double pay(const pricing *s, int u, int d, uint32_t *now)
{
    const weft_problem *p = s->p;
    double cost = s->price[d] * weft_task_s(p, u, d);

    for (int i = p->arg_at[u]; i < p->arg_at[u + 1]; i++) {
        int t = p->arg[i], at = s->place[t], home;

        if (at < 0)
            continue;
        home = (int)(now[at] & 0xff);
        if (home == d || now[at] >> (8 + d) & 1)
            continue;
        now[at] |= UINT32_C(1) << (8 + d);
        cost += weft_send_s(p, t, home, d) < INFINITY
                    ? s->unit[home * p->n_devices + d] * weft_send_s(p, t, home, d)
                    : INFINITY;
    }
    return cost;
}

/* --- steps ----------------------------------------------------------------------------------- */

static void first_layer(pricing *s)
{
    const weft_problem *p = s->p;
    layer *l = &s->layer[0];

    l->slot = WEFT_NEW(s->a, int, p->n_tensors);
    for (int t = 0; t < p->n_tensors; t++)
        if (p->producer[t] < 0 && is_tracked(p, t))
            l->slot[l->n_slots++] = t;
    l->n_states = 1;
    l->key = WEFT_NEW(s->a, uint32_t, l->n_slots + 1);
    l->cost = WEFT_NEW(s->a, double, 1);
    for (int i = 0; i < l->n_slots; i++)
        l->key[i] = (uint32_t)p->host;
}

/* One state with task u on d. False: no room. */
static bool extend(pricing *s, int u, int k, int d)
{
    const layer *before = &s->layer[u];
    layer *next = &s->layer[u + 1];
    double cost;

    memcpy(s->now, before->key + (size_t)k * (size_t)before->n_slots,
           (size_t)before->n_slots * sizeof *s->now);
    cost = before->cost[k] + pay(s, u, d, s->now);
    if (!(cost < INFINITY))
        return true;
    for (int i = 0; i < next->n_slots; i++)
        s->trial[i] = next->from[i] >= 0 ? s->now[next->from[i]] : (uint32_t)d;
    return put_state(s, next, cost, k, d);
}

static void open_layer(pricing *s, int u)
{
    const layer *before = &s->layer[u];
    layer *next = &s->layer[u + 1];
    size_t most = (size_t)before->n_states * (size_t)s->p->n_devices, n_slots;

    most = most > (size_t)s->most_states ? (size_t)s->most_states : most;
    list_slots(s, u, next, before);
    n_slots = (size_t)next->n_slots;
    next->key = WEFT_NEW(s->a, uint32_t, most * n_slots + 1);
    next->cost = WEFT_NEW(s->a, double, most);
    next->parent = WEFT_NEW(s->a, int, most);
    next->choice = WEFT_NEW(s->a, uint8_t, most);
    for (int i = 0; i < before->n_slots; i++) {
        int x = before->slot[i];

        s->place[x >= 0 ? x : s->p->n_tensors - 1 - x] = i;
    }
}

static void close_layer(pricing *s, int u)
{
    const layer *before = &s->layer[u];

    for (int i = 0; i < before->n_slots; i++) {
        int x = before->slot[i];

        s->place[x >= 0 ? x : s->p->n_tensors - 1 - x] = -1;
    }
    for (int k = 0; k < s->layer[u + 1].n_states; k++)
        s->table[s->used[k]] = 0;
}

static bool step(pricing *s, int u)
{
    const weft_domain *m = s->map->domain;
    const layer *before = &s->layer[u];
    int n_devices = s->p->n_devices, at;
    bool has_room = true;

    open_layer(s, u);
    at = s->place[s->p->n_tensors + m->group[u]];
    for (int k = 0; k < before->n_states && has_room; k++)
        for (int d = 0; d < n_devices && has_room; d++) {
            size_t first = (size_t)k * (size_t)before->n_slots;

            if (weft_domain_has(m, u, d) &&
                (at < 0 || before->key[first + (size_t)at] == (uint32_t)d))
                has_room = extend(s, u, k, d);
        }
    close_layer(s, u);
    return has_room;
}

static void find_ends(pricing *s)
{
    const weft_problem *p = s->p;
    const weft_domain *m = s->map->domain;

    for (int t = 0; t < p->n_tensors; t++)
        s->last_reader[t] =
            p->reader_at[t] < p->reader_at[t + 1] ? p->reader[p->reader_at[t + 1] - 1] : -1;
    for (int g = 0; g < m->n_groups; g++) {
        s->first_member[g] = s->map->member[s->map->member_at[g]];
        s->last_member[g] = s->map->member[s->map->member_at[g + 1] - 1];
    }
    for (int i = 0; i < p->n_tensors + m->n_groups; i++)
        s->place[i] = -1;
}

static pricing new_pricing(const weft_mapping *map, const double *price, weft_arena *a)
{
    const weft_problem *p = map->problem;
    int n_groups = map->domain->n_groups, n_slots = p->n_tensors + n_groups + 1;
    double most = MOST_WORK / ((double)p->n_tasks * p->n_devices);
    pricing s = {
        .map = map,
        .p = p,
        .price = price,
        .unit = WEFT_NEW(a, double, p->n_devices * p->n_devices),
        .last_reader = WEFT_NEW(a, int, p->n_tensors),
        .first_member = WEFT_NEW(a, int, n_groups),
        .last_member = WEFT_NEW(a, int, n_groups),
        .place = WEFT_NEW(a, int, n_slots),
        .layer = WEFT_NEW(a, layer, p->n_tasks + 1),
        .most_states = most > MOST_STATES ? MOST_STATES : (int)most,
        .trial = WEFT_NEW(a, uint32_t, n_slots),
        .now = WEFT_NEW(a, uint32_t, n_slots),
        .a = a,
    };

    s.table_size = 1;
    while (s.table_size < 2 * (size_t)s.most_states + 2)
        s.table_size *= 2;
    s.table = WEFT_NEW(a, int, s.table_size);
    s.used = WEFT_NEW(a, size_t, s.most_states);
    return s;
}

/* The cheapest state at the end, and the choices that led there. */
static double walk_back(const pricing *s, int *device)
{
    int n = s->p->n_tasks, best = 0;
    const layer *last = &s->layer[n];
    double value;

    if (last->n_states == 0)
        return INFINITY; /* no mapping is connected */
    for (int k = 1; k < last->n_states; k++)
        if (last->cost[k] < last->cost[best])
            best = k;
    value = last->cost[best];
    for (int u = n - 1; u >= 0; u--) {
        device[u] = s->layer[u + 1].choice[best];
        best = s->layer[u + 1].parent[best];
    }
    return value;
}

static bool price_along(const weft_mapping *map, const double *price, weft_arena *a, int *device,
                        double *value)
{
    pricing s = new_pricing(map, price, a);

    if (s.p->n_devices > MOST_DEVICES || s.most_states < s.p->n_devices)
        return false;
    price_pairs(&s);
    find_ends(&s);
    first_layer(&s);
    for (int u = 0; u < s.p->n_tasks; u++)
        if (!step(&s, u))
            return false;
    *value = walk_back(&s, device);
    return true;
}

bool weft_priced_mapping_exact(const weft_mapping *map, const double *price, weft_arena *scratch,
                               int *device, double *value)
{
    size_t mark = weft_arena_mark(scratch);
    bool is_exact = true;

    if (!map->is_sending)
        *value = price_apart(map, price, device);
    else
        is_exact = price_along(map, price, scratch, device, value);
    weft_arena_rewind(scratch, mark);
    return is_exact;
}
