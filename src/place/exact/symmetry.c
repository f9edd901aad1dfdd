/* SPDX-License-Identifier: MIT */
/* symmetry.c: equal devices and equal servers, found from the numbers alone.
 *
 * Twins. Devices c and d are twins if all tasks take the same time on both, inputs reach both
 * alike, memories are equal, c sends to d as d to c, and every other device sees both alike. Then
 * exchanging them changes no number, and the relation is transitive: classes. Times and links
 * depend on classes only, besides the link within a class.
 *
 * Swaps. An exchange of whole classes, A with B and whatever else must move along (the other
 * devices of two equal servers), is looked for class by class and then verified number by number.
 * What is not found costs time, never correctness.
 *
 * Fewer devices. Kinds are devices on which all tasks take the same time and are released alike.
 * Let every pair of devices of two kinds be linked as well as the best pair is: this lowers no
 * plan's merit, and it makes the devices of a kind twins. Of these, W are enough, where W is the
 * largest set of tasks of which none is over when another begins: u is over before v if it has
 * readers, and all of them are v or precede v.
 *
 * Proof. Take a schedule. Cut the time of each device into stays: a stay ends where no task runs
 * and no task that is done there has a reader on this device that is still to come. Stays of a
 * device may go to different twins: nothing that was on one device and needed the other is parted.
 * During a stay, at any moment, there is a task u that runs, or is done and has an open reader on
 * the device. Two stays at the same moment have different such tasks u and v. If u were over before
 * v, all its readers would have begun when v began, which contradicts both cases. So at most W
 * stays of a kind meet at any moment, and W devices can take them all, interval by interval.
 * Stays that come to share a device save transfers. Equal times are no exception: begins and ends
 * have an order in which tasks of a device do not overlap. Weights stay on a device for good, so
 * memory is not covered: it is left out, which lowers values only. Tasks that share a device by
 * order are not covered either: then nothing is reduced. Where few edges decide, W is smaller: the
 * smaller subproblem is freed of dominated edges (subproblem.c) and reduced again.
 *
 * W is bounded from above by a cover with chains of "over before", first fit. Time O(tasks^2 / 64 *
 * edges of a task) for the ancestors, and edges * devices^2 for the links. */
#include "symmetry.h"
#include "same.h"

#include <math.h>
#include <string.h>

/* --- twins ----------------------------------------------------------------------------------- */

static bool is_link_same(const weft_problem *p, int from, int to, int from2, int to2)
{
    int i = from * p->n_devices + to, j = from2 * p->n_devices + to2;

    return weft_pairs_alike(p, i, j);
}

/* Do tasks and memory see no difference? */
static bool is_column_same(const weft_domain *m, int c, int d)
{
    const weft_problem *p = m->problem;

    if (p->capacity[c] != p->capacity[d] ||
        (p->switch_s != NULL && p->switch_s[c] != p->switch_s[d]))
        return false;
    for (int u = 0; u < p->n_tasks; u++) {
        if (weft_domain_has(m, u, c) != weft_domain_has(m, u, d) ||
            weft_task_s(p, u, c) != weft_task_s(p, u, d))
            return false;
    }
    return true;
}

bool weft_devices_are_equal(const weft_domain *m, int c, int d)
{
    const weft_problem *p = m->problem;

    if (c == p->host || d == p->host || !is_link_same(p, c, d, d, c))
        return false;
    for (int o = 0; o < p->n_devices; o++) {
        if (o != c && o != d && !(is_link_same(p, c, o, d, o) && is_link_same(p, o, c, o, d)))
            return false;
    }
    return is_column_same(m, c, d);
}

static bool are_twins(const void *context, int c, int d)
{
    return weft_devices_are_equal(context, c, d);
}

static void find_classes(const weft_domain *m, weft_symmetry *o, weft_arena *a)
{
    int n = m->problem->n_devices, *class = WEFT_NEW(a, int, n);
    const int *first = weft_first_same(n, are_twins, m, a);
    weft_rows member;

    for (int d = 0; d < n; d++)
        class[d] = first[d] == d ? o->n_classes++ : class[first[d]];
    member = weft_rows_by(class, n, o->n_classes, a);
    o->kind_at = class;
    o->member_at = member.at;
    o->member = member.item;
}

/* --- swaps ----------------------------------------------------------------------------------- */

typedef struct swapper {
    const weft_domain *domain;
    const weft_symmetry *symmetries;
    const bool *is_alike; /* [class * n_classes + class] apart from links to other classes */
} swapper;

static bool are_alike(const weft_domain *m, const weft_symmetry *o, int a, int b)
{
    const weft_problem *p = m->problem;
    const int *in_a = o->member + o->member_at[a], *in_b = o->member + o->member_at[b];

    if (a == b)
        return true;
    if (weft_symmetry_size(o, a) != weft_symmetry_size(o, b) || in_a[0] == p->host ||
        in_b[0] == p->host)
        return false;
    return is_column_same(m, in_a[0], in_b[0]) &&
           (weft_symmetry_size(o, a) < 2 || is_link_same(p, in_a[0], in_a[1], in_b[0], in_b[1]));
}

/* Are different classes a and b linked as c and d are? */
static bool is_pair_same(const swapper *s, int a, int b, int c, int d)
{
    const weft_symmetry *o = s->symmetries;
    int i = o->member[o->member_at[a]], j = o->member[o->member_at[b]];
    int k = o->member[o->member_at[c]], l = o->member[o->member_at[d]];

    return is_link_same(s->domain->problem, i, j, k, l) &&
           is_link_same(s->domain->problem, j, i, l, k);
}

static bool is_swap(const swapper *s, const int *to)
{
    int n = s->symmetries->n_classes;

    for (int c = 0; c < n; c++) {
        if (!s->is_alike[c * n + to[c]])
            return false;
        for (int d = 0; d < c; d++) {
            if (!is_pair_same(s, c, d, to[c], to[d]))
                return false;
        }
    }
    return true;
}

/* The first exchange of a with b that moves others only where it must. */
static bool find_swap(const swapper *s, int a, int b, int *to)
{
    int n = s->symmetries->n_classes;

    for (int c = 0; c < n; c++)
        to[c] = -1;
    to[a] = b;
    to[b] = a;
    for (int c = 0; c < n; c++) {
        if (to[c] < 0 && is_pair_same(s, c, a, c, b))
            to[c] = c;
        for (int d = c + 1; d < n && to[c] < 0; d++) {
            if (to[d] < 0 && s->is_alike[c * n + d] && is_pair_same(s, c, a, d, b) &&
                is_pair_same(s, c, b, d, a)) {
                to[c] = d;
                to[d] = c;
            }
        }
        if (to[c] < 0)
            return false;
    }
    return is_swap(s, to);
}

static void find_swaps(const weft_domain *m, weft_symmetry *o, weft_arena *a)
{
    int n = o->n_classes, *to = WEFT_NEW(a, int, n);
    bool *is_alike = WEFT_NEW(a, bool, n *n);
    swapper s = {m, o, is_alike};
    WEFT_VEC(int) swaps = {0};

    for (int i = 0; i < n * n; i++)
        is_alike[i] = are_alike(m, o, i / n, i % n);
    for (int i = 0; i < n; i++) {
        for (int j = i + 1; j < n; j++) {
            if (!is_alike[i * n + j] || !find_swap(&s, i, j, to))
                continue;
            for (int c = 0; c < n; c++)
                WEFT_PUSH(a, swaps, to[c]);
            o->n_swaps++;
        }
    }
    o->swap = swaps.at;
}

weft_symmetry weft_symmetry_of(const weft_domain *m, weft_arena *a)
{
    weft_symmetry o = {0};

    find_classes(m, &o, a);
    find_swaps(m, &o, a);
    return o;
}

/* --- width ----------------------------------------------------------------------------------- */

static const double MOST_BITS = 4e8; /* of the ancestors of all tasks */

/* Is u over before v begins? below: tasks that precede v, and v. */
static bool is_over(const weft_subproblem *x, int u, const uint64_t *below)
{
    for (int i = x->out_at[u]; i < x->out_at[u + 1]; i++) {
        if (!weft_bit_get(below, x->to[x->out[i]]))
            return false;
    }
    return x->out_at[u] < x->out_at[u + 1];
}

int weft_subproblem_width(const weft_subproblem *x, weft_arena *a)
{
    size_t mark = weft_arena_mark(a);
    int n = x->n_tasks, words = weft_bits_words(n), n_chains = 0;
    int *last = WEFT_NEW(a, int, n);
    uint64_t *below;

    if ((double)n * n > MOST_BITS)
        return n;
    below = weft_subproblem_ancestors(x, a);
    for (int v = 0; v < n; v++) {
        uint64_t *own = below + (size_t)v * (size_t)words;
        int best = -1;

        weft_bit_set(own, v);
        for (int c = 0; c < n_chains; c++) {
            if ((best < 0 || last[c] > last[best]) && is_over(x, last[c], own))
                best = c;
        }
        last[best < 0 ? n_chains++ : best] = v;
    }
    weft_arena_rewind(a, mark);
    return n_chains;
}

/* --- fewer devices --------------------------------------------------------------------------- */

static bool is_kind_same(const void *context, int c, int d)
{
    const weft_subproblem *x = context;

    if (x->free_s[c] != x->free_s[d])
        return false;
    for (int u = 0; u < x->n_tasks; u++) {
        size_t i = (size_t)u * (size_t)x->n_devices + (size_t)c;
        size_t j = i - (size_t)c + (size_t)d;

        if (x->time_s[i] != x->time_s[j] || x->release_s[i] != x->release_s[j] ||
            x->tail_s[i] != x->tail_s[j])
            return false;
    }
    return true;
}

weft_subproblem *weft_subproblem_pick(const weft_subproblem *x, const int *device, int n,
                                      weft_arena *a)
{
    weft_subproblem *y = weft_arena_copy(a, x, sizeof *x);
    size_t k = (size_t)x->n_devices, n_cells = (size_t)x->n_tasks * (size_t)n;
    double *time_s = WEFT_NEW(a, double, n_cells), *release_s = WEFT_NEW(a, double, n_cells);
    double *tail_s = WEFT_NEW(a, double, n_cells), *free_s = WEFT_NEW(a, double, n);
    double *send_s = WEFT_NEW(a, double, (size_t)x->n_edges *(size_t)(n * n));
    double *room_bytes = WEFT_NEW(a, double, n);

    for (int d = 0; d < n; d++) {
        for (size_t u = 0; u < (size_t)x->n_tasks; u++) {
            size_t to = u * (size_t)n + (size_t)d, from = u * k + (size_t)device[d];

            time_s[to] = x->time_s[from];
            release_s[to] = x->release_s[from];
            tail_s[to] = x->tail_s[from];
        }
        free_s[d] = x->free_s[device[d]];
        room_bytes[d] = x->n_weights > 0 ? x->room_bytes[device[d]] : INFINITY;
    }
    for (size_t e = 0; e < (size_t)x->n_edges; e++) {
        for (int i = 0; i < n * n; i++)
            send_s[e * (size_t)(n * n) + (size_t)i] =
                x->send_s[(e * k + (size_t)device[i / n]) * k + (size_t)device[i % n]];
    }
    y->n_devices = n;
    y->time_s = time_s;
    y->release_s = release_s;
    y->tail_s = tail_s;
    y->free_s = free_s;
    y->send_s = send_s;
    y->room_bytes = room_bytes;
    return y;
}

/* Pairs of devices between which everything takes the same time have the same type, which is the
 * number of one of them. Pairs are told apart edge by edge. */
static int *link_types(const weft_subproblem *x, weft_arena *a)
{
    int n = x->n_devices * x->n_devices, *type = WEFT_NEW(a, int, n), *next = WEFT_NEW(a, int, n);

    for (int e = 0; e < x->n_edges; e++) {
        const double *send_s = x->send_s + (size_t)e * (size_t)n;

        for (int i = 0; i < n; i++) {
            int of = type[i];

            if (send_s[i] == send_s[of])
                continue;
            /* the first one that left the same type here with the same time, or itself */
            for (of = next[of]; of > 0 && send_s[of] != send_s[i];)
                of = next[of];
            if (of == 0) {
                next[i] = next[type[i]];
                next[type[i]] = of = i;
            }
            type[i] = of;
        }
        for (int i = 0; i < n; i++)
            next[i] = 0;
    }
    return type;
}

/* Is sending from first to d never slower than to e, and faster for some edge? */
static bool is_nearer(const weft_subproblem *x, int first, int d, int e)
{
    size_t k = (size_t)x->n_devices;
    bool is_less = false;

    for (size_t i = 0; i < (size_t)x->n_edges; i++) {
        const double *send_s = x->send_s + (i * k + (size_t)first) * k;

        if (send_s[d] > send_s[e])
            return false;
        is_less |= send_s[d] < send_s[e];
    }
    return is_less;
}

/* Lowers the sends between devices i and j of the reduced subproblem to the least between their
 * kinds. True if that changed nothing. */
static bool relax_pair(const weft_subproblem *x, const weft_reduced *r, const int *type,
                       double *send_s, int i, int j)
{
    int k = x->n_devices, own_type = type[r->device[i] * k + r->device[j]];
    size_t n = (size_t)r->subproblem->n_devices, size = (size_t)(k * k);
    uint64_t met[WEFT_SUBPROBLEM_DEVICES * WEFT_SUBPROBLEM_DEVICES / 64] = {0};
    bool is_same = true;

    weft_bit_set(met, own_type);
    for (int at = 0; at < k * k; at++) {
        if (at / k == at % k || r->kind[at / k] != r->kind[r->device[i]] ||
            r->kind[at % k] != r->kind[r->device[j]] || weft_bit_get(met, type[at]))
            continue;
        weft_bit_set(met, type[at]);
        for (size_t e = 0; e < (size_t)x->n_edges; e++) {
            double *own = send_s + (e * n + (size_t)i) * n + (size_t)j;
            double other = x->send_s[e * size + (size_t)at];

            is_same &= !(other < *own);
            *own = fmin(*own, other);
        }
    }
    return is_same;
}

/* Devices of each kind, the best linked to the first one first; at most `most` of each. */
static int choose_devices(const weft_subproblem *x, int most, int *device, const int *kind)
{
    int n = 0, k = x->n_devices;

    for (int first = 0; first < k; first++) {
        bool is_taken[WEFT_SUBPROBLEM_DEVICES] = {false};

        for (int i = 0; kind[first] == first && i < most; i++) {
            int best = -1;

            for (int d = first; d < k; d++) {
                if (kind[d] == first && !is_taken[d] &&
                    (best < 0 || (best != first && is_nearer(x, first, d, best))))
                    best = d;
            }
            if (best < 0)
                break;
            is_taken[best] = true;
            device[n++] = best;
        }
    }
    return n;
}

/* kind[] from first devices of kinds to their places in device[]. */
static void number_kinds(weft_reduced *r, int k)
{
    int *place = r->place;

    for (int i = r->subproblem->n_devices - 1; i >= 0; i--)
        place[r->device[i]] = i;
    for (int d = 0; d < k; d++)
        r->kind[d] = place[r->kind[d]];
}

static weft_reduced reduce_once(const weft_subproblem *x, weft_arena *a)
{
    int n, k = x->n_devices, *type;
    weft_reduced r = {.device = WEFT_NEW(a, int, k),
                      .kind = weft_first_same(k, is_kind_same, x, a)};
    double *send_s;

    r.place = WEFT_NEW(a, int, k);
    n = choose_devices(x, weft_subproblem_width(x, a), r.device, r.kind);
    if (n == k)
        return r;
    r.subproblem = weft_subproblem_pick(x, r.device, n, a);
    send_s = weft_arena_copy(a, r.subproblem->send_s,
                             sizeof *send_s * (size_t)x->n_edges * (size_t)(n * n));
    type = link_types(x, a);
    r.is_exact = true;
    for (int i = 0; i < n * n; i++) {
        if (i / n != i % n)
            r.is_exact &= relax_pair(x, &r, type, send_s, i / n, i % n);
    }
    r.subproblem->send_s = send_s;
    r.subproblem->n_weights = 0;
    number_kinds(&r, k);
    return r;
}

weft_reduced weft_subproblem_reduce(const weft_subproblem *x, weft_arena *a)
{
    weft_reduced r = {0}, again;

    if (x->group != NULL || x->n_devices > WEFT_SUBPROBLEM_DEVICES)
        return r;
    r = reduce_once(x, a);
    if (r.subproblem == NULL)
        return r;
    r.is_memory_aside = x->n_weights > 0;
    r.subproblem = weft_subproblem_thin(r.subproblem, a);
    again = reduce_once(r.subproblem, a);
    if (again.subproblem == NULL)
        return r;
    for (int i = 0; i < again.subproblem->n_devices; i++)
        again.device[i] = r.device[again.device[i]];
    for (int d = 0; d < x->n_devices; d++)
        r.kind[d] = again.kind[r.kind[d]];
    r.subproblem = again.subproblem;
    r.device = again.device;
    r.is_exact &= again.is_exact;
    return r;
}
