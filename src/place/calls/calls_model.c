/* SPDX-License-Identifier: MIT */
/* calls_model.c: blocks of a stream under `calls`, and the tensors between them.
 *
 * 1. Tasks of one colocation group form a group (domain.c): one device. If only plans better than a cutoff
 *    are of interest, the maker and the readers of a tensor join whose sending costs every
 *    accelerator that much: of two different devices one is an accelerator, and it would pay.
 * 2. Pipelines only: stages form a chain, so no path of forward tasks leaves a stage and comes
 *    back. Groups on a cycle of the graph of groups (forward edges only) would need such a path
 *    unless they share a stage: each strong component is one block.
 * 3. A block g whose time is 0 wherever its neighbour h may be joins h if
 *      - its weights cannot matter (it has none, or all weights together fit every device), and no
 *        rule keeps it from a device;
 *      - on each accelerator, the tensors that only g and h touch cost h at least as much as all
 *        other tensors of g would cost the device of g, and cost g at least as much as those
 *        would cost the device of their other ends (tensors that h makes do not count: g is one
 *        reader of many);
 *      - pipelines: h comes before g and all other forward edges of g leave it, or the reverse, or
 *        it has no others.
 *    Nothing is lost: take any plan and move g to the device of h. The device of h no longer pays
 *    for the first kind of tensors, but perhaps for the second; so does the device that g leaves;
 *    all others pay what they paid. So no load grows. The stage of h lies on the right side of
 *    everything that g is connected to, so stages stay a chain.
 * 4. Forward blocks get topological numbers, depth first; blocks of backward tasks alone follow.
 *
 * Time O((tasks + edges) * rounds of step 3), a round for each link of the longest chain of merges
 * at worst. */
#include "calls.h"
#include "dag.h"
#include "rows.h"
#include "same.h"

#include <math.h>
#include <string.h>

typedef struct maker {
    const weft_problem *p;
    weft_domain domain;
    weft_arena *a, *scratch;
    bool is_contiguous, is_roomy;
    int n_groups;
    int *group;       /* [n_tasks] */
    weft_rows task;   /* group -> tasks */
    int *root;        /* [n_groups] union-find */
    double *time_s;   /* [group * n_devices + device], kept at roots */
    bool *has_weight; /* [n_groups] the same */
    bool *has_rule;   /* [n_groups] the same: must be apart from another group */
    weft_calls_rules rules;
    int *next;         /* [n_groups] ring of the groups of a block */
    int *seen, n_seen; /* [n_tensors] last count that met the tensor */
} maker;

/* An accelerator that cannot exchange with the host is of no use to more than single blocks. */
static bool is_linked(const weft_problem *p, int d)
{
    int there = p->host * p->n_devices + d, back = d * p->n_devices + p->host;

    return d == p->host || (isfinite(p->latency_s[there]) && isfinite(p->second_per_byte[there]) &&
                            isfinite(p->latency_s[back]) && isfinite(p->second_per_byte[back]));
}

/* --- step 1: groups -------------------------------------------------------------------------- */

/* The least that sending tensor t costs some accelerator; INFINITY without accelerators. */
static double least_send_s(const weft_problem *p, int t)
{
    double least_s = INFINITY;

    for (int d = 0; d < p->n_devices; d++) {
        if (d != p->host)
            least_s =
                fmin(least_s, fmin(weft_send_s(p, t, p->host, d), weft_send_s(p, t, d, p->host)));
    }
    return least_s;
}

/* Colours, tensors that are too dear to be sent, and tasks that are assumed to be together. */
static void set_groups(maker *k, double cutoff_s)
{
    const weft_problem *p = k->p;
    int n = k->domain.n_groups, *number;

    k->group = WEFT_NEW(k->scratch, int, p->n_tasks);
    k->root = WEFT_NEW(k->scratch, int, n);
    number = WEFT_NEW(k->scratch, int, n);
    for (int g = 0; g < n; g++)
        k->root[g] = g;
    for (int t = 0; t < p->n_tensors && cutoff_s < INFINITY; t++) {
        if (p->producer[t] < 0 || p->is_weight[t] || least_send_s(p, t) < cutoff_s)
            continue;
        for (int i = p->reader_at[t]; i < p->reader_at[t + 1]; i++) {
            int g = weft_root(k->root, k->domain.group[p->producer[t]]);

            k->root[weft_root(k->root, k->domain.group[p->reader[i]])] = g;
        }
    }
    for (int i = 0; i < k->rules.n; i++) {
        const weft_calls_rule *r = &k->rules.rule[i];

        if (r->is_together)
            k->root[weft_root(k->root, k->domain.group[r->u])] =
                weft_root(k->root, k->domain.group[r->v]);
    }
    for (int g = 0; g < n; g++) {
        if (weft_root(k->root, g) == g)
            number[g] = k->n_groups++;
    }
    for (int u = 0; u < p->n_tasks; u++)
        k->group[u] = number[weft_root(k->root, k->domain.group[u])];
    for (int g = 0; g < k->n_groups; g++)
        k->root[g] = g;
}

static void sum_times(maker *k, weft_calls *m)
{
    int n_devices = k->p->n_devices;

    k->time_s =
        weft_arena_array(k->scratch, (size_t)k->n_groups * (size_t)n_devices, sizeof *k->time_s);
    for (int d = 0; d < n_devices; d++)
        m->is_restricted |= !is_linked(k->p, d);
    for (int u = 0; u < k->p->n_tasks; u++) {
        for (int d = 0; d < n_devices; d++) {
            bool is_there = weft_domain_has(&k->domain, u, d) && is_linked(k->p, d);

            k->time_s[k->group[u] * n_devices + d] += is_there ? weft_task_s(k->p, u, d) : INFINITY;
        }
    }
}

static void find_rules(maker *k)
{
    k->has_rule = WEFT_NEW(k->scratch, bool, k->n_groups);
    for (int i = 0; i < k->rules.n; i++) {
        if (!k->rules.rule[i].is_together)
            k->has_rule[k->group[k->rules.rule[i].u]] = k->has_rule[k->group[k->rules.rule[i].v]] =
                true;
    }
}

static void find_room(maker *k)
{
    double bytes = 0;

    for (int t = 0; t < k->p->n_tensors; t++)
        bytes += k->p->is_weight[t] ? k->p->memory[t] : 0;
    k->is_roomy = true;
    for (int d = 0; d < k->p->n_devices; d++)
        k->is_roomy &= weft_fits(bytes, k->p->capacity[d]);
    k->has_weight = WEFT_NEW(k->scratch, bool, k->n_groups);
    for (int u = 0; u < k->p->n_tasks; u++) {
        for (int i = k->p->arg_at[u]; i < k->p->arg_at[u + 1]; i++)
            k->has_weight[k->group[u]] |= k->p->is_weight[k->p->arg[i]];
    }
}

/* g becomes part of h; both are roots. */
static void join(maker *k, int g, int h)
{
    int n_devices = k->p->n_devices, next = k->next[g];

    k->root[g] = h;
    for (int d = 0; d < n_devices; d++)
        k->time_s[h * n_devices + d] += k->time_s[g * n_devices + d];
    k->has_weight[h] |= k->has_weight[g];
    k->has_rule[h] |= k->has_rule[g];
    k->next[g] = k->next[h];
    k->next[h] = next;
}

/* --- step 2: strong components --------------------------------------------------------------- */

/* Groups that forward edges of each group lead to. */
static weft_rows forward_groups(const maker *k)
{
    const weft_problem *p = k->p;
    int *at = WEFT_NEW(k->scratch, int, k->n_groups + 1);
    WEFT_VEC(int) to = {0};

    for (int g = 0; g < k->n_groups; g++) {
        for (int i = k->task.at[g]; i < k->task.at[g + 1]; i++) {
            int u = k->task.item[i];

            for (int e = p->succ_at[u]; e < p->succ_at[u + 1] && !p->is_backward[u]; e++) {
                if (!p->is_backward[p->succ[e]] && k->group[p->succ[e]] != g)
                    WEFT_PUSH(k->scratch, to, k->group[p->succ[e]]);
            }
        }
        at[g + 1] = to.n;
    }
    return (weft_rows){at, to.at};
}

static void join_components(maker *k)
{
    int n;
    weft_rows list = weft_strong_components(forward_groups(k), k->n_groups, k->scratch, &n);

    for (int c = 0; c < n; c++) {
        int last = list.at[c + 1] - 1;

        for (int i = list.at[c]; i < last; i++)
            join(k, list.item[i], list.item[last]);
    }
}

/* --- step 3: blocks without work ------------------------------------------------------------- */

/* What moving g next to h saves and costs, for each device: [n_devices] each. */
typedef struct bargain {
    maker *k;
    int g, h;
    double *saved_h_s, *saved_g_s; /* tensors between g and h alone: where h is, where g is */
    double *new_h_s, *new_g_s;     /* other tensors of g: where h is, where g was */
    bool is_before, is_after;      /* some forward edge goes from g to others, from others to g */
    bool goes_to, comes_from;      /* the same for h */
} bargain;

static void add_cost(const weft_problem *p, int t, bool is_in, double *cost_s)
{
    for (int d = 0; d < p->n_devices; d++) {
        if (d != p->host && is_linked(p, d))
            cost_s[d] += is_in ? weft_send_s(p, t, p->host, d) : weft_send_s(p, t, d, p->host);
    }
}

/* Tensor t of block g; is_made: g makes it. */
static void weigh_tensor(bargain *x, int t, bool is_made)
{
    const weft_problem *p = x->k->p;
    int home = weft_root(x->k->root, x->k->group[p->producer[t]]);
    bool has_h = home == x->h, has_other = home != x->g && home != x->h;

    if (x->k->seen[t] == x->k->n_seen)
        return; /* two tasks of g read it */
    x->k->seen[t] = x->k->n_seen;
    for (int i = p->reader_at[t]; i < p->reader_at[t + 1]; i++) {
        int b = weft_root(x->k->root, x->k->group[p->reader[i]]);

        has_h |= b == x->h;
        has_other |= b != x->g && b != x->h;
    }
    if (has_h && !has_other) {
        add_cost(p, t, is_made, x->saved_h_s);
        add_cost(p, t, !is_made, x->saved_g_s);
    } else if (has_other && home != x->h) {
        add_cost(p, t, !is_made, x->new_h_s);
        add_cost(p, t, is_made, x->new_g_s);
    }
}

/* Edges of task u of block g, for the order of stages. */
static void note_edges(bargain *x, int u)
{
    const weft_problem *p = x->k->p;
    int n_pred = p->pred_at[u + 1] - p->pred_at[u], n_succ = p->succ_at[u + 1] - p->succ_at[u];

    for (int e = 0; e < n_pred + n_succ && !p->is_backward[u]; e++) {
        bool is_pred = e < n_pred;
        int v = is_pred ? p->pred[p->pred_at[u] + e] : p->succ[p->succ_at[u] + e - n_pred];
        int b = weft_root(x->k->root, x->k->group[v]);

        if (p->is_backward[v] || b == x->g)
            continue;
        x->goes_to |= b == x->h && !is_pred;
        x->comes_from |= b == x->h && is_pred;
        x->is_before |= b != x->h && !is_pred;
        x->is_after |= b != x->h && is_pred;
    }
}

static void weigh_block(bargain *x)
{
    maker *k = x->k;
    const weft_problem *p = k->p;
    int part = x->g;

    k->n_seen++;
    do {
        for (int i = k->task.at[part]; i < k->task.at[part + 1]; i++) {
            int u = k->task.item[i];

            note_edges(x, u);
            for (int e = p->res_at[u]; e < p->res_at[u + 1]; e++)
                weigh_tensor(x, p->res[e], true);
            for (int e = p->arg_at[u]; e < p->arg_at[u + 1]; e++) {
                int t = p->arg[e];

                if (p->producer[t] >= 0 && !p->is_weight[t] &&
                    weft_root(k->root, k->group[p->producer[t]]) != x->g)
                    weigh_tensor(x, t, false);
            }
        }
        part = k->next[part];
    } while (part != x->g);
}

/* Is g never worse off where h is? */
static bool is_better_there(maker *k, int g, int h)
{
    size_t mark = weft_arena_mark(k->scratch);
    int n = k->p->n_devices;
    bargain x = {.k = k, .g = g, .h = h};
    bool is_better;

    x.saved_h_s = WEFT_NEW(k->scratch, double, n);
    x.saved_g_s = WEFT_NEW(k->scratch, double, n);
    x.new_h_s = WEFT_NEW(k->scratch, double, n);
    x.new_g_s = WEFT_NEW(k->scratch, double, n);
    weigh_block(&x);
    is_better = !k->is_contiguous || (!x.is_before && !x.is_after) ||
                (x.comes_from && !x.is_after) || (x.goes_to && !x.is_before);
    for (int d = 0; d < n; d++)
        is_better &= x.new_h_s[d] <= x.saved_h_s[d] && x.new_g_s[d] <= x.saved_g_s[d];
    weft_arena_rewind(k->scratch, mark);
    return is_better;
}

static bool is_idle(const maker *k, int g, int h)
{
    int n_devices = k->p->n_devices;

    if (k->has_rule[g] || (k->has_weight[g] && !k->is_roomy))
        return false;
    for (int d = 0; d < n_devices; d++) {
        if (isfinite(k->time_s[h * n_devices + d]) && k->time_s[g * n_devices + d] != 0)
            return false;
    }
    return true;
}

/* The first neighbour that block g may join, or -1. */
static int find_partner(maker *k, int g)
{
    const weft_problem *p = k->p;
    int part = g, last = -1;

    do {
        for (int i = k->task.at[part]; i < k->task.at[part + 1]; i++) {
            int u = k->task.item[i], n_pred = p->pred_at[u + 1] - p->pred_at[u];
            int n_succ = p->succ_at[u + 1] - p->succ_at[u];

            for (int e = 0; e < n_pred + n_succ; e++) {
                int v =
                    e < n_pred ? p->pred[p->pred_at[u] + e] : p->succ[p->succ_at[u] + e - n_pred];
                int h = weft_root(k->root, k->group[v]);

                if (h == g || h == last)
                    continue;
                last = h;
                if (is_idle(k, g, h) && is_better_there(k, g, h))
                    return h;
            }
        }
        part = k->next[part];
    } while (part != g);
    return -1;
}

static bool has_time(const maker *k, int g)
{
    bool is_idle_somewhere = false;

    for (int d = 0; d < k->p->n_devices; d++)
        is_idle_somewhere |= k->time_s[g * k->p->n_devices + d] == 0;
    return !is_idle_somewhere;
}

static void join_idle(maker *k)
{
    bool is_changed = true;

    while (is_changed) {
        is_changed = false;
        for (int g = 0; g < k->n_groups; g++) {
            int h = k->root[g] == g && !has_time(k, g) ? find_partner(k, g) : -1;

            if (h >= 0) {
                join(k, g, h);
                is_changed = true;
            }
        }
    }
}

/* --- step 4: numbers ------------------------------------------------------------------------- */

static bool has_forward(const maker *k, int g)
{
    int part = g;

    do {
        for (int i = k->task.at[part]; i < k->task.at[part + 1]; i++) {
            if (!k->p->is_backward[k->task.item[i]])
                return true;
        }
        part = k->next[part];
    } while (part != g);
    return false;
}

/* Numbers by root: forward blocks first. Returns how many blocks there are. */
static int number_roots(maker *k, int *number, int *n_forward)
{
    int n = 0;

    for (int pass = 0; pass < 2; pass++) {
        for (int g = 0; g < k->n_groups; g++) {
            if (k->root[g] == g && has_forward(k, g) == (pass == 0))
                number[g] = n++;
        }
        if (pass == 0)
            *n_forward = n;
    }
    return n;
}

/* Pairs (row, item) that become rows. */
typedef struct pairs {
    weft_pair *pair;
    int n;
} pairs;

static void add_pair(pairs *x, int key, int value)
{
    x->pair[x->n++] = (weft_pair){key, value};
}

static void index_pairs(const pairs *x, int n_keys, weft_arena *a, const int **at, const int **to)
{
    weft_rows rows = weft_rows_of_pairs(x->pair, x->n, n_keys, a);

    *at = rows.at;
    *to = rows.item;
}

/* Edges between forward blocks, from tasks to their predecessors. */
static void link_blocks(maker *k, weft_calls *m, weft_arena *a)
{
    const weft_problem *p = k->p;
    int n_edges = p->pred_at[p->n_tasks];
    size_t size = sizeof(weft_pair);
    pairs back = {weft_arena_array(k->scratch, (size_t)n_edges, size), 0};
    pairs there = {weft_arena_array(k->scratch, (size_t)n_edges, size), 0};

    for (int v = 0; v < p->n_tasks; v++) {
        for (int e = p->pred_at[v]; e < p->pred_at[v + 1] && !p->is_backward[v]; e++) {
            int u = p->pred[e];

            if (p->is_backward[u] || m->block[u] == m->block[v])
                continue;
            add_pair(&back, m->block[v], m->block[u]);
            add_pair(&there, m->block[u], m->block[v]);
        }
    }
    index_pairs(&back, m->n_forward, a, &m->pred_at, &m->pred);
    index_pairs(&there, m->n_forward, a, &m->succ_at, &m->succ);
}

static void set_blocks(maker *k, weft_calls *m)
{
    int *number = WEFT_NEW(k->scratch, int, k->n_groups);
    int *block = WEFT_NEW(k->a, int, k->p->n_tasks);

    m->n_blocks = number_roots(k, number, &m->n_forward);
    for (int u = 0; u < k->p->n_tasks; u++)
        block[u] = number[weft_root(k->root, k->group[u])];
    m->block = block;
    if (k->is_contiguous) {
        int *place = WEFT_NEW(k->scratch, int, m->n_forward);
        const int *order;

        link_blocks(k, m, k->scratch);
        order = weft_depth_first((weft_rows){(int *)m->succ_at, (int *)m->succ}, m->n_forward,
                                 k->scratch);
        for (int i = 0; i < m->n_forward; i++)
            place[order[i]] = i;
        for (int u = 0; u < k->p->n_tasks; u++) {
            if (block[u] < m->n_forward)
                block[u] = place[block[u]];
        }
    }
    link_blocks(k, m, k->a);
}

static void set_apart(maker *k, weft_calls *m)
{
    pairs x = {weft_arena_array(k->scratch, 2 * (size_t)k->rules.n, sizeof(weft_pair)), 0};

    for (int i = 0; i < k->rules.n; i++) {
        int b = m->block[k->rules.rule[i].u], c = m->block[k->rules.rule[i].v];

        if (k->rules.rule[i].is_together)
            continue;
        m->is_empty |= b == c;
        add_pair(&x, b, c);
        add_pair(&x, c, b);
    }
    index_pairs(&x, m->n_blocks, k->a, &m->apart_at, &m->apart);
}

/* --- what blocks cost ------------------------------------------------------------------------ */

static void set_times(maker *k, weft_calls *m)
{
    int n_devices = k->p->n_devices;
    double *time_s =
        weft_arena_array(k->a, (size_t)m->n_blocks * (size_t)n_devices, sizeof *time_s);

    for (int u = 0; u < k->p->n_tasks; u++) {
        int g = k->group[u];

        if (k->root[g] == g) {
            for (int d = 0; d < n_devices; d++)
                time_s[m->block[u] * n_devices + d] = k->time_s[g * n_devices + d];
        }
    }
    for (int b = 0; b < m->n_blocks; b++) {
        bool is_somewhere = false;

        for (int d = 0; d < n_devices; d++)
            is_somewhere |= isfinite(time_s[b * n_devices + d]);
        m->is_empty |= !is_somewhere;
    }
    m->time_s = time_s;
}

/* Tensors that leave their block, with their readers; the arrays are as long as all tensors. */
static void set_tensors(maker *k, weft_calls *m)
{
    const weft_problem *p = k->p;
    size_t n_reads = (size_t)p->reader_at[p->n_tensors], size = sizeof(weft_pair);
    int *maker_of = WEFT_NEW(k->a, int, p->n_tensors);
    int *origin = WEFT_NEW(k->scratch, int, p->n_tensors);
    pairs readers = {weft_arena_array(k->scratch, n_reads, size), 0};
    pairs makes = {weft_arena_array(k->scratch, (size_t)p->n_tensors, size), 0};
    pairs reads = {weft_arena_array(k->scratch, n_reads, size), 0};
    pairs near = {weft_arena_array(k->scratch, 2 * n_reads, size), 0};
    double *in_s, *out_s;

    for (int t = 0; t < p->n_tensors; t++) {
        int b = p->producer[t] < 0 || p->is_weight[t] ? -1 : m->block[p->producer[t]];
        int before = readers.n;

        for (int i = p->reader_at[t]; i < p->reader_at[t + 1] && b >= 0; i++) {
            if (m->block[p->reader[i]] == b)
                continue;
            add_pair(&readers, m->n_tensors, m->block[p->reader[i]]);
            add_pair(&reads, m->block[p->reader[i]], m->n_tensors);
            add_pair(&near, m->block[p->reader[i]], b);
            add_pair(&near, b, m->block[p->reader[i]]);
        }
        if (readers.n == before)
            continue;
        add_pair(&makes, b, m->n_tensors);
        maker_of[m->n_tensors] = b;
        origin[m->n_tensors++] = t;
    }
    index_pairs(&readers, m->n_tensors, k->a, &m->reader_at, &m->reader);
    index_pairs(&makes, m->n_blocks, k->a, &m->made_at, &m->made);
    index_pairs(&reads, m->n_blocks, k->a, &m->read_at, &m->read);
    index_pairs(&near, m->n_blocks, k->a, &m->near_at, &m->near);
    in_s = weft_arena_array(k->a, (size_t)m->n_tensors * (size_t)p->n_devices, sizeof *in_s);
    out_s = weft_arena_array(k->a, (size_t)m->n_tensors * (size_t)p->n_devices, sizeof *out_s);
    for (int t = 0; t < m->n_tensors; t++) {
        for (int d = 0; d < p->n_devices; d++) {
            if (!is_linked(p, d))
                continue; /* no block is there */
            in_s[t * p->n_devices + d] = weft_send_s(p, origin[t], p->host, d);
            out_s[t * p->n_devices + d] = weft_send_s(p, origin[t], d, p->host);
        }
    }
    m->maker = maker_of;
    m->in_s = in_s;
    m->out_s = out_s;
}

static void set_weights(maker *k, weft_calls *m)
{
    const weft_problem *p = k->p;
    pairs held = {weft_arena_array(k->scratch, (size_t)p->arg_at[p->n_tasks], sizeof(weft_pair)),
                  0};
    int *number = WEFT_NEW(k->scratch, int, p->n_tensors);
    double *bytes = WEFT_NEW(k->a, double, p->n_tensors);

    for (int t = 0; t < p->n_tensors && !k->is_roomy; t++) {
        if (p->is_weight[t] && p->memory[t] > 0) {
            number[t] = m->n_weights;
            bytes[m->n_weights++] = p->memory[t];
        }
    }
    for (int u = 0; u < p->n_tasks && !k->is_roomy; u++) {
        for (int i = p->arg_at[u]; i < p->arg_at[u + 1]; i++) {
            int t = p->arg[i];

            if (p->is_weight[t] && p->memory[t] > 0)
                add_pair(&held, m->block[u], number[t]);
        }
    }
    index_pairs(&held, m->n_blocks, k->a, &m->weight_at, &m->weight);
    m->weight_bytes = bytes;
}

weft_calls *weft_calls_new(const weft_problem *p, bool is_contiguous, double cutoff_s,
                           const weft_calls_rules *rules, weft_arena *a)
{
    weft_arena *scratch = weft_arena_new();
    weft_calls *m = WEFT_NEW(a, weft_calls, 1);
    maker k = {.p = p,
               .domain = weft_domain_new(p, scratch),
               .a = a,
               .scratch = scratch,
               .is_contiguous = is_contiguous,
               .rules = rules != NULL ? *rules : (weft_calls_rules){0}};

    m->problem = p;
    m->n_devices = p->n_devices;
    m->is_contiguous = is_contiguous;
    set_groups(&k, cutoff_s);
    k.next = WEFT_NEW(scratch, int, k.n_groups);
    for (int g = 0; g < k.n_groups; g++)
        k.next[g] = g;
    k.seen = WEFT_NEW(scratch, int, p->n_tensors);
    k.task = weft_rows_by(k.group, k.p->n_tasks, k.n_groups, k.scratch);
    sum_times(&k, m);
    find_room(&k);
    find_rules(&k);
    if (is_contiguous)
        join_components(&k);
    join_idle(&k);
    set_blocks(&k, m);
    set_apart(&k, m);
    set_times(&k, m);
    set_tensors(&k, m);
    set_weights(&k, m);
    weft_arena_free(scratch);
    return m;
}

static bool is_same(const void *context, int d, int e)
{
    const weft_calls *m = context;
    int k = m->n_devices;

    if ((d == m->problem->host) != (e == m->problem->host) ||
        m->problem->capacity[d] != m->problem->capacity[e])
        return false;
    for (int b = 0; b < m->n_blocks; b++) {
        if (m->time_s[b * k + d] != m->time_s[b * k + e])
            return false;
    }
    for (int t = 0; t < m->n_tensors; t++) {
        if (m->in_s[t * k + d] != m->in_s[t * k + e] || m->out_s[t * k + d] != m->out_s[t * k + e])
            return false;
    }
    return true;
}

int *weft_calls_first_same(const weft_calls *m, weft_arena *a)
{
    return weft_first_same(m->n_devices, is_same, m, a);
}
