/* SPDX-License-Identifier: MIT */
/* calls_bound.c: a lower bound of a latency under calls, from a path of the network.
 *
 * Along a path P the calls and tasks of the host that P meets run one after the other: an edge
 * between two of them means that the second begins when the first has ended. An accelerator meets P
 * in one segment P[i..j], since calls do not wait for each other in a circle. What it holds, S,
 *   - contains the hull H of the segment: all that lies between two tasks of H and all that shares
 *     a colocation group with one is in H;
 *   - contains no ancestor of P[i-1] and no descendant of P[j+1] (nor these two), because such a
 *     task would wait for a task outside that waits for the call.
 * If H itself breaks the second rule, has no accelerator that supports it, or exceeds the memory,
 * no call meets P like that. Else the call takes at least the sum of
 *   1. the time of H;
 *   2. reads of tensors made by tasks that S cannot contain; writes of tensors of H that such a
 *      task reads;
 *   3. for each other group (tasks of one colocation group) that makes a tensor for H, or reads one of H as
 *      the first of its readers outside: these transfers, or the time of the group. Groups whose
 *      time is less are held as far as memory reaches: the most that can be saved is that of a
 *      knapsack whose last item may be cut. Only weights that no other group reads are counted.
 * Proof of 3: S - H is a set of groups; each pays its time and its weights, and a transfer is
 * spared only if its maker, or all readers outside H and so the first of them, are in S. The
 * cheapest cover of P by at most as many segments as there are accelerators, and single tasks of
 * the host, is therefore no more than the latency of any plan: cost[k][j] = min(cost[k][j-1] + time
 * of P[j] on the host, min over i cost[k-1][i-1] + call(i, j)) Any sequence of tasks in which each
 * is an ancestor of the next would do; paths are checked by their edges.
 *
 * Search: longest paths for random weights, then parts of the best path are laid anew, again as
 * longest paths for random weights; what is not worse is kept. Deterministic for a seed.
 *
 * Cost: O(tasks^2 / 64) words for ancestors and descendants; for a path of length L about L^2 times
 * the size of a hull. Segments longer than MOST_LOOKS count the time of their hull alone; beyond
 * MOST_TASKS tasks or MOST_PATH tasks of a path, least times are added up along the path. The bound
 * is ours; the model of calls is that of Tarnawski et al., NeurIPS 2020. */
#include "calls_latency.h"
#include "dag.h"
#include "rows.h"
#include "same.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_TASKS = 4096,
    MOST_PATH = 2048,
    MOST_LOOKS = 256, /* calls from one task of the path that are looked at closely */
    FIRST_TRIES = 24,
};
static const double ROUNDING = 1e-12; /* of bytes, relative to a memory */
static const double QUICK_WORK = 3e7; /* of FIRST_TRIES: path length^2 * tasks */

/* --- the problem as the bound sees it -------------------------------------------------------- */

/* A transfer that holding a group would spare. */
typedef struct choice {
    double gain_s, bytes;
    int group;
} choice;

typedef struct scene {
    const weft_domain *m;
    const weft_problem *p;
    int n, n_words, n_calls; /* tasks; words of a set of them; accelerators */
    uint64_t *above, *below; /* [n][n_words] ancestors and descendants, each with itself */
    weft_rows member;        /* group -> tasks */
    double *own_bytes;       /* [n_groups] weights that no other group reads */
    double *group_s;         /* [group * n_devices + device] */
    int *kind;               /* accelerators, one of each kind */
    int n_kinds;
    /* of one segment */
    uint64_t *hull, *under, *over; /* hull; all descendants, all ancestors of it */
    int *held;                     /* tasks of the hull in order of discovery */
    int n_held;
    bool *has_group;                                 /* [n_groups] */
    int64_t *weight_seen, *tensor_seen, *group_seen; /* the last hull or look that met it */
    int64_t n_hulls, n_looks;
    double held_bytes;
    double *spared_s; /* [n_groups] */
    int *spared;      /* groups with an entry */
    int n_spared;
    choice *choice;
    /* of one path */
    double *call_s; /* [length * length] */
    double *cost;   /* [length + 1] twice */
    size_t room;    /* for paths of this length */
    weft_arena *arena;
} scene;

static uint64_t *row(const scene *s, uint64_t *table, int u)
{
    return table + (size_t)u * (size_t)s->n_words;
}

static bool meets(const uint64_t *a, const uint64_t *b, int n_words)
{
    for (int i = 0; i < n_words; i++)
        if (a[i] & b[i])
            return true;
    return false;
}

static void close_order(scene *s)
{
    const weft_problem *p = s->p;

    s->above = weft_reach(p->pred_at, p->pred, s->n, false, s->arena);
    s->below = weft_reach(p->succ_at, p->succ, s->n, true, s->arena);
    for (int u = 0; u < s->n; u++) {
        weft_bit_set(row(s, s->above, u), u);
        weft_bit_set(row(s, s->below, u), u);
    }
}

static void weigh_groups(scene *s)
{
    const weft_domain *m = s->m;
    const weft_problem *p = s->p;

    s->own_bytes = WEFT_NEW(s->arena, double, m->n_groups);
    s->group_s =
        weft_arena_array(s->arena, (size_t)m->n_groups * (size_t)p->n_devices, sizeof *s->group_s);
    for (int u = 0; u < s->n; u++)
        for (int d = 0; d < p->n_devices; d++)
            s->group_s[m->group[u] * p->n_devices + d] += weft_task_s(p, u, d);
    for (int t = 0; t < p->n_tensors; t++) {
        int first = p->reader_at[t], end = p->reader_at[t + 1], k = first;

        if (!p->is_weight[t] || first == end)
            continue;
        while (k < end && m->group[p->reader[k]] == m->group[p->reader[first]])
            k++;
        if (k == end)
            s->own_bytes[m->group[p->reader[first]]] += p->memory[t];
    }
}

/* Equal in times, memory and links with the host. */
static bool is_same_kind(const void *context, int d, int e)
{
    const weft_domain *m = context;
    const weft_problem *p = m->problem;
    int n = p->n_devices, h = p->host;

    if (p->capacity[d] != p->capacity[e] || !weft_pairs_alike(p, h * n + d, h * n + e) ||
        !weft_pairs_alike(p, d * n + h, e * n + h) || d == h || e == h)
        return false;
    for (int u = 0; u < p->n_tasks; u++)
        if (weft_task_s(p, u, d) != weft_task_s(p, u, e) ||
            weft_domain_has(m, u, d) != weft_domain_has(m, u, e))
            return false;
    return true;
}

static void list_kinds(scene *s)
{
    const int *first = weft_first_same(s->p->n_devices, is_same_kind, s->m, s->arena);

    s->kind = WEFT_NEW(s->arena, int, s->p->n_devices);
    for (int d = 0; d < s->p->n_devices; d++) {
        s->n_calls += d != s->p->host;
        if (d != s->p->host && first[d] == d)
            s->kind[s->n_kinds++] = d;
    }
}

static scene new_scene(const weft_domain *m, weft_arena *a)
{
    const weft_problem *p = m->problem;
    scene s = {.m = m, .p = p, .n = p->n_tasks, .arena = a};

    s.n_words = weft_bits_words(s.n);
    list_kinds(&s);
    if (s.n > MOST_TASKS)
        return s;
    close_order(&s);
    s.member = weft_rows_by(s.m->group, s.n, s.m->n_groups, s.arena);
    weigh_groups(&s);
    s.hull = WEFT_NEW(a, uint64_t, s.n_words);
    s.under = WEFT_NEW(a, uint64_t, s.n_words);
    s.over = WEFT_NEW(a, uint64_t, s.n_words);
    s.held = WEFT_NEW(a, int, s.n);
    s.has_group = WEFT_NEW(a, bool, m->n_groups);
    s.weight_seen = WEFT_NEW(a, int64_t, p->n_tensors);
    s.tensor_seen = WEFT_NEW(a, int64_t, p->n_tensors);
    s.spared_s = WEFT_NEW(a, double, m->n_groups);
    s.spared = WEFT_NEW(a, int, m->n_groups);
    s.group_seen = WEFT_NEW(a, int64_t, m->n_groups);
    s.choice = WEFT_NEW(a, choice, m->n_groups);
    return s;
}

/* --- the hull of a segment ------------------------------------------------------------------- */

static void clear_hull(scene *s)
{
    size_t bytes = (size_t)s->n_words * sizeof *s->hull;

    memset(s->hull, 0, bytes);
    memset(s->under, 0, bytes);
    memset(s->over, 0, bytes);
    memset(s->has_group, 0, (size_t)s->m->n_groups * sizeof *s->has_group);
    s->n_held = 0;
    s->held_bytes = 0;
    s->n_hulls++;
}

static void hold_task(scene *s, int u)
{
    const weft_problem *p = s->p;

    weft_bit_set(s->hull, u);
    s->held[s->n_held++] = u;
    weft_bits_join(s->under, row(s, s->below, u), s->n_words);
    weft_bits_join(s->over, row(s, s->above, u), s->n_words);
    for (int k = p->arg_at[u]; k < p->arg_at[u + 1]; k++) {
        int t = p->arg[k];

        if (p->is_weight[t] && s->weight_seen[t] != s->n_hulls)
            s->held_bytes += p->memory[t];
        if (p->is_weight[t])
            s->weight_seen[t] = s->n_hulls;
    }
}

static void hold_group(scene *s, int g)
{
    if (s->has_group[g])
        return;
    s->has_group[g] = true;
    for (int k = s->member.at[g]; k < s->member.at[g + 1]; k++)
        hold_task(s, s->member.item[k]);
}

/* Adds a task and all that must then be held too. */
static void grow_hull(scene *s, int u)
{
    bool is_closed = false;

    hold_group(s, s->m->group[u]);
    while (!is_closed) {
        is_closed = true;
        for (int i = 0; i < s->n_words; i++) {
            uint64_t missing = s->under[i] & s->over[i] & ~s->hull[i];

            for (int b = 0; missing != 0; b++, missing >>= 1)
                if (missing & 1) {
                    hold_group(s, s->m->group[i * 64 + b]);
                    is_closed = false;
                }
        }
    }
}

/* --- what a call takes ----------------------------------------------------------------------- */

/* The tasks just before and after the segment, or -1. */
typedef struct limits {
    int before, after;
} limits;

static bool is_barred(const scene *s, const limits *l, int u)
{
    return (l->before >= 0 && weft_bit_get(row(s, s->above, l->before), u)) ||
           (l->after >= 0 && weft_bit_get(row(s, s->below, l->after), u));
}

/* True if no call with these limits on d can hold the group. */
static bool is_group_barred(const scene *s, const limits *l, int g, int d)
{
    if (!s->m->has[g * s->p->n_devices + d])
        return true;
    for (int k = s->member.at[g]; k < s->member.at[g + 1]; k++)
        if (is_barred(s, l, s->member.item[k]))
            return true;
    return false;
}

static void spare(scene *s, int g, double transfer_s)
{
    if (s->group_seen[g] != s->n_looks) {
        s->group_seen[g] = s->n_looks;
        s->spared_s[g] = 0;
        s->spared[s->n_spared++] = g;
    }
    s->spared_s[g] += transfer_s;
}

/* Reads of task u. Returns what must be paid; the rest is noted as spared by its group. */
static double read_s(scene *s, const limits *l, int u, int d)
{
    const weft_problem *p = s->p;
    double forced_s = 0;

    for (int k = p->arg_at[u]; k < p->arg_at[u + 1]; k++) {
        int t = p->arg[k], maker = p->producer[t];
        double transfer_s;

        if (maker < 0 || s->tensor_seen[t] == s->n_looks || weft_bit_get(s->hull, maker))
            continue;
        s->tensor_seen[t] = s->n_looks;
        transfer_s = weft_send_s(p, t, p->host, d);
        if (is_group_barred(s, l, s->m->group[maker], d))
            forced_s += transfer_s;
        else
            spare(s, s->m->group[maker], transfer_s);
    }
    return forced_s;
}

/* The group that must be held to spare the write of tensor t; -1: nobody outside reads it; -2: the
 * write cannot be spared. */
static int sparing_group(const scene *s, const limits *l, int t, int d)
{
    const weft_problem *p = s->p;
    int first = -1;

    for (int k = p->reader_at[t]; k < p->reader_at[t + 1]; k++) {
        int v = p->reader[k], g = s->m->group[v];

        if (weft_bit_get(s->hull, v))
            continue;
        if (is_group_barred(s, l, g, d))
            return -2;
        if (first < 0)
            first = g;
    }
    return first;
}

static double write_s(scene *s, const limits *l, int u, int d)
{
    const weft_problem *p = s->p;
    double forced_s = 0;

    for (int k = p->res_at[u]; k < p->res_at[u + 1]; k++) {
        int t = p->res[k], g = sparing_group(s, l, t, d);

        if (g == -2)
            forced_s += weft_send_s(p, t, d, p->host);
        else if (g >= 0)
            spare(s, g, weft_send_s(p, t, d, p->host));
    }
    return forced_s;
}

/* By gain for each byte; what takes no room first. */
static int by_worth(const void *left, const void *right)
{
    const choice *a = left, *b = right;
    double x = a->gain_s * b->bytes, y = b->gain_s * a->bytes;

    if (x != y)
        return x > y ? -1 : 1;
    return (a->group > b->group) - (a->group < b->group);
}

/* Transfers that are left after the best holding of groups, cut at the end of memory. What is paid
 * is added up, nothing is taken away: sums of large numbers would leave their rounding behind. */
static double optional_s(scene *s, int d)
{
    double room = s->p->capacity[d] * (1 + ROUNDING) - s->held_bytes, sum_s = 0;
    int n = 0;

    for (int i = 0; i < s->n_spared; i++) {
        int g = s->spared[i];
        double gain_s = s->spared_s[g] - s->group_s[g * s->p->n_devices + d];

        if (gain_s > 0)
            s->choice[n++] = (choice){gain_s, s->own_bytes[g], g};
        else
            sum_s += s->spared_s[g];
    }
    if (n > 1)
        qsort(s->choice, (size_t)n, sizeof *s->choice, by_worth);
    for (int i = 0; i < n; i++) {
        const choice *c = &s->choice[i];
        double held = c->bytes > room ? fmax(room, 0) / c->bytes : 1;

        sum_s += held * s->group_s[c->group * s->p->n_devices + d];
        sum_s += held < 1 ? (1 - held) * s->spared_s[c->group] : 0;
        room = held < 1 ? 0 : room - c->bytes;
    }
    return sum_s;
}

/* Least time of a call of d that holds the hull; INFINITY if there is none. Without limits the
 * transfers are left out. */
static double call_on(scene *s, const limits *l, int d)
{
    double sum_s = 0;

    if (!weft_fits(s->held_bytes, s->p->capacity[d]))
        return INFINITY;
    s->n_looks++;
    s->n_spared = 0;
    for (int i = 0; i < s->n_held; i++) {
        int u = s->held[i];

        if (!weft_domain_has(s->m, u, d))
            return INFINITY;
        sum_s += weft_task_s(s->p, u, d);
        if (l)
            sum_s += read_s(s, l, u, d) + write_s(s, l, u, d);
    }
    return l ? sum_s + optional_s(s, d) : sum_s;
}

/* --- covering a path ------------------------------------------------------------------------- */

/* Calls P[i..j] for one i and all j, into call_s: the hull only grows. */
static void make_row(scene *s, const int *path, int n, int i)
{
    double *call_s = s->call_s + (size_t)i * (size_t)n;
    double most_bytes = 0;
    bool is_over = false;

    for (int k = 0; k < s->n_kinds; k++)
        most_bytes = fmax(most_bytes, s->p->capacity[s->kind[k]]);
    clear_hull(s);
    for (int j = i; j < n; j++) {
        limits l = {i > 0 ? path[i - 1] : -1, j + 1 < n ? path[j + 1] : -1};

        call_s[j] = INFINITY;
        if (is_over)
            continue;
        grow_hull(s, path[j]);
        is_over = !weft_fits(s->held_bytes, most_bytes) ||
                  (i > 0 && meets(s->hull, row(s, s->above, path[i - 1]), s->n_words));
        if (is_over || (j + 1 < n && meets(s->hull, row(s, s->below, path[j + 1]), s->n_words)))
            continue;
        for (int k = 0; k < s->n_kinds; k++)
            call_s[j] = fmin(call_s[j], call_on(s, j - i < MOST_LOOKS ? &l : NULL, s->kind[k]));
    }
}

static double host_s(const scene *s, int u)
{
    return weft_domain_has(s->m, u, s->p->host) ? weft_task_s(s->p, u, s->p->host) : INFINITY;
}

/* The cheapest cover. cost[j]: of the first j tasks by at most k calls. */
static double cover_s(scene *s, const int *path, int n)
{
    double *before = s->cost, *now = s->cost + n + 1;
    int most = s->n_calls < n ? s->n_calls : n;

    for (int j = 0; j < n; j++)
        before[j + 1] = before[j] + host_s(s, path[j]);
    for (int k = 1; k <= most; k++) {
        double *swap = before;

        now[0] = 0;
        for (int j = 0; j < n; j++) {
            now[j + 1] = fmin(before[j + 1], now[j] + host_s(s, path[j]));
            for (int i = 0; i <= j; i++)
                now[j + 1] =
                    fmin(now[j + 1], before[i] + s->call_s[(size_t)i * (size_t)n + (size_t)j]);
        }
        before = now;
        now = swap;
    }
    return before[n];
}

static void make_room(scene *s, int n)
{
    if ((size_t)n <= s->room)
        return;
    s->room = 2 * (size_t)n;
    s->call_s = WEFT_NEW(s->arena, double, s->room * s->room);
    s->cost = WEFT_NEW(s->arena, double, 2 * (s->room + 1));
}

/* Each task for its least time. */
static double plain_sum_s(const scene *s, const int *path, int n)
{
    double sum_s = 0;

    for (int i = 0; i < n; i++)
        sum_s += weft_domain_least_s(s->m, path[i]);
    return sum_s;
}

static double path_bound_s(scene *s, const int *path, int n)
{
    if (s->n > MOST_TASKS || n > MOST_PATH)
        return plain_sum_s(s, path, n);
    make_room(s, n);
    for (int i = 0; i < n; i++)
        make_row(s, path, n, i);
    return cover_s(s, path, n);
}

/* --- the search for paths -------------------------------------------------------------------- */

struct weft_calls_paths {
    scene s;
    weft_rng rng;
    double bound;
    int n, *path; /* the best so far */
    int n_trial, *trial;
    double *base_s;         /* [n_tasks] what a task on a path may be worth */
    double *weight, *far_s; /* [n_tasks] */
    int *next;              /* [n_tasks] */
};

/* Longest path by weights from `from` (-1: anywhere) to `to` (-1: anywhere), appended to the trial.
 * far_s[u]: of the longest path from u on; -1: none. */
static void lay_path(weft_calls_paths *x, int from, int to)
{
    const weft_problem *p = x->s.p;
    int first = from;

    for (int u = to < 0 ? x->s.n - 1 : to; u >= (from < 0 ? 0 : from); u--) {
        x->far_s[u] = to < 0 || u == to ? 0 : -1;
        x->next[u] = -1;
        for (int k = p->succ_at[u]; k < p->succ_at[u + 1]; k++) {
            int v = p->succ[k];

            if ((to < 0 || v <= to) && x->far_s[v] > x->far_s[u]) {
                x->far_s[u] = x->far_s[v];
                x->next[u] = v;
            }
        }
        if (x->far_s[u] >= 0)
            x->far_s[u] += x->weight[u];
        if (from < 0 && x->far_s[u] >= 0 && (first < 0 || x->far_s[u] > x->far_s[first]))
            first = u;
    }
    for (int u = first; u >= 0; u = x->next[u])
        x->trial[x->n_trial++] = u;
}

static void draw_weights(weft_calls_paths *x)
{
    for (int u = 0; u < x->s.n; u++)
        x->weight[u] = x->base_s[u] * weft_rng_real(&x->rng);
}

static bool judge_trial(weft_calls_paths *x)
{
    double bound = path_bound_s(&x->s, x->trial, x->n_trial);
    bool is_better = bound > x->bound;

    if (bound >= x->bound) {
        memcpy(x->path, x->trial, (size_t)x->n_trial * sizeof *x->path);
        x->n = x->n_trial;
        x->bound = bound;
    }
    return is_better;
}

/* A part of the best path anew: between two of its tasks, or up to an end of the network. */
static void propose(weft_calls_paths *x)
{
    int a = weft_rng_below(&x->rng, x->n + 1) - 1, b = weft_rng_below(&x->rng, x->n + 1) - 1;
    int first = a < b ? a : b, last = a < b ? b : a; /* first -1: from any source */

    x->n_trial = 0;
    for (int i = 0; i < first; i++)
        x->trial[x->n_trial++] = x->path[i];
    if (last == x->n - 1 || first == last)
        last = -1; /* to any sink */
    lay_path(x, first < 0 ? -1 : x->path[first], last < 0 ? -1 : x->path[last]);
    for (int i = last + 1; last >= 0 && i < x->n; i++)
        x->trial[x->n_trial++] = x->path[i];
}

bool weft_calls_paths_try(weft_calls_paths *x)
{
    if (x->s.n > MOST_TASKS) /* the first path is the best of its kind */
        return false;
    draw_weights(x);
    if (weft_rng_below(&x->rng, 8) == 0) {
        x->n_trial = 0;
        lay_path(x, -1, -1);
    } else {
        propose(x);
    }
    return judge_trial(x);
}

/* Least time, and the dearest transfer of a result: what a task may add to a path. */
static void find_base(weft_calls_paths *x)
{
    const weft_problem *p = x->s.p;

    for (int u = 0; u < x->s.n; u++) {
        double least_s = plain_sum_s(&x->s, &u, 1), sent_s = 0;

        for (int k = p->res_at[u]; k < p->res_at[u + 1] && x->s.n_kinds > 0; k++)
            sent_s = fmax(sent_s, weft_send_s(p, p->res[k], x->s.kind[0], p->host));
        x->weight[u] = least_s;
        x->base_s[u] = least_s + sent_s;
    }
}

weft_calls_paths *weft_calls_paths_new(const weft_domain *m, uint64_t seed, weft_arena *a)
{
    weft_calls_paths *x = WEFT_NEW(a, weft_calls_paths, 1);
    int n = m->problem->n_tasks;

    x->s = new_scene(m, a);
    x->rng = weft_rng_seed(seed);
    x->path = WEFT_NEW(a, int, n);
    x->trial = WEFT_NEW(a, int, n);
    x->base_s = WEFT_NEW(a, double, n);
    x->weight = WEFT_NEW(a, double, n);
    x->far_s = WEFT_NEW(a, double, n);
    x->next = WEFT_NEW(a, int, n);
    find_base(x);
    lay_path(x, -1, -1);
    (void)judge_trial(x);
    memcpy(x->weight, x->base_s, (size_t)n * sizeof *x->weight);
    x->n_trial = 0;
    lay_path(x, -1, -1);
    if (n <= MOST_TASKS)
        (void)judge_trial(x);
    return x;
}

void weft_calls_paths_best(const weft_calls_paths *x, weft_proof *out)
{
    out->bound = out->certified = x->bound;
    out->method = out->certified_by = "calls path";
    out->n_path = x->n;
    out->path = x->path;
}

void weft_calls_bound(const weft_domain *m, weft_arena *a, weft_proof *out)
{
    weft_calls_paths *x = weft_calls_paths_new(m, 1, a);
    double work = (double)x->n * x->n * x->s.n;

    for (int i = 0; i < FIRST_TRIES && i * work < QUICK_WORK; i++)
        (void)weft_calls_paths_try(x);
    weft_calls_paths_best(x, out);
}

/* --- the certificate ------------------------------------------------------------------------- */

static bool is_path(const weft_problem *p, const int *path, int n)
{
    for (int i = 0; i < n; i++) {
        bool is_edge = i == 0;

        if (path[i] < 0 || path[i] >= p->n_tasks)
            return false;
        for (int k = p->pred_at[path[i]]; k < p->pred_at[path[i] + 1] && !is_edge; k++)
            is_edge = p->pred[k] == path[i - 1];
        if (!is_edge)
            return false;
    }
    return n > 0;
}

double weft_calls_path_bound_of(const weft_problem *p, const int *path, int n)
{
    weft_arena *a;
    weft_domain m;
    scene s;
    double value;

    if (p->transfer != WEFT_CALLS || p->constraints.goal != WEFT_LATENCY || !is_path(p, path, n))
        return 0;
    a = weft_arena_new();
    m = weft_domain_new(p, a);
    s = new_scene(&m, a);
    value = path_bound_s(&s, path, n);
    weft_arena_free(a);
    return value;
}
