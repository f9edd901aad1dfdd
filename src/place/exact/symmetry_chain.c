/* SPDX-License-Identifier: MIT */
/* symmetry_chain.c: a network that no device holds, stretch by stretch on a chain of devices.
 *
 * 1. Tasks are taken in their order. Each goes to the device of the task before, if its weights fit
 *    there, or to a device that has none yet. So a device has one stretch of the order.
 * 2. A state is how many devices of each class of twins are used, and the class of the current one:
 *    counts instead of sets. States that a swap of classes turns into each other are one: the
 *    swaps are applied while they make the state larger (as a text).
 * 3. A label of a state is (time, bytes on the current device). One that is nowhere less than
 *    another is dropped, if no weight is read on both sides of here or its stretch began earlier.
 * 4. A hop costs the longest transfer among all tensors made before and read after, over the link
 *    from the current device; tasks also wait for their inputs. This is never less than what the
 *    simulator finds under `overlap`, and the same where one tensor crosses.
 * 5. A first pass with few labels a level gives a value; the second has many, and drops those that
 *    with the least time of the tasks to come do not beat it.
 *
 * Guarantee: the best of all such plans by the measure of 4, unless a limit cuts labels off. Proof:
 * the rest depends on the state and the label only, and grows with the label; twins and swapped
 * classes have equal costs, so their states have equal rests. For a chain of equal blocks with
 * equal changes of device it is the best of all plans: time depends on how
 * many blocks each device has, every used device but the first is entered at least once and every
 * used server but the first from another server, and stretches enter each once.
 *
 * Time O(tasks * labels of a level * classes). */
#include "cover.h"
#include "sort.h"
#include "symmetry.h"

#include <math.h>
#include <string.h>

enum {
    FIRST_LABELS = 64, /* of a level in the first pass, which finds something to beat */
    MOST_LABELS = 512, /* in the second; beyond, those of least time stay */
};

static const double ROUNDING = 1e-12; /* relative, of sums of bytes */

/* A stretch: where it begins, on which class, and the stretch before. */
typedef struct stretch {
    int before, begin, kind_at;
} stretch;

typedef struct label {
    double time_s, bytes;
    int stretch;
} label;

/* All labels of counts and a current class. */
typedef struct state {
    const unsigned char *key; /* [n_classes] used, then the current class */
    WEFT_VEC(label) labels;
} state;

typedef struct level {
    weft_arena *arena;
    weft_map *index;
    WEFT_VEC(state) states;
    int n_labels;
} level;

typedef struct chain {
    const weft_domain *domain;
    const weft_problem *p;
    const weft_symmetry *symmetries;
    const double *room_bytes; /* by device */
    weft_arena *arena;
    double upper;
    double *rest_s;     /* [n_tasks + 1] least time of the tasks from here on */
    double *need_bytes; /* [n_tasks + 1] weights that nobody reads before here */
    double *cheap_s;    /* [n_tasks + 1] the cheapest hop from here on */
    double most_bytes;  /* the largest room */
    double *widest;     /* [n_tasks] largest tensor that crosses before u; -1: none */
    bool *is_shared;    /* [n_tasks] a weight is read before and from here on */
    int *last_reader;   /* [args] task that reads this weight before this task, or -1 */
    double *input_s;    /* [task * n_classes + class] */
    WEFT_VEC(stretch) trace;
    unsigned char *key, *other; /* scratch */
    const weft_effort *effort;
    int most_labels;
    int64_t n_made;
    bool is_cut, is_stopped;
} chain;

static int first_of(const chain *x, int c)
{
    return x->symmetries->member[x->symmetries->member_at[c]];
}

/* --- what a position knows ------------------------------------------------------------------- */

static void set_tensors(chain *x)
{
    const weft_problem *p = x->p;
    weft_cover *crossing = WEFT_NEW(x->arena, weft_cover, p->n_tensors);
    int n_crossing = 0, shared_until = -1, *last_use = WEFT_NEW(x->arena, int, p->n_tasks);

    for (int t = 0; t < p->n_tensors; t++) {
        int first = p->reader_at[t], last = p->reader_at[t + 1] - 1;

        if (first > last)
            continue;
        if (p->is_weight[t]) {
            int u = p->reader[first];

            x->need_bytes[u] += p->memory[t];
            last_use[u] = last_use[u] > p->reader[last] ? last_use[u] : p->reader[last];
        } else if (p->producer[t] >= 0) {
            crossing[n_crossing++] =
                (weft_cover){p->producer[t] + 1, p->reader[last] + 1, p->amount[t]};
        }
    }
    weft_cover_raise(crossing, n_crossing, x->widest, p->n_tasks, x->arena);
    for (int u = 0; u < p->n_tasks; u++) {
        x->is_shared[u] = u <= shared_until;
        shared_until = shared_until > last_use[u] ? shared_until : last_use[u];
    }
    for (int u = p->n_tasks - 1; u >= 0; u--)
        x->need_bytes[u] += x->need_bytes[u + 1];
}

static void set_tasks(chain *x)
{
    const weft_problem *p = x->p;
    int n_classes = x->symmetries->n_classes, *last = WEFT_NEW(x->arena, int, p->n_tensors);

    for (int t = 0; t < p->n_tensors; t++)
        last[t] = -1;
    for (int u = 0; u < p->n_tasks; u++) {
        for (int i = p->arg_at[u]; i < p->arg_at[u + 1]; i++) {
            x->last_reader[i] = last[p->arg[i]];
            last[p->arg[i]] = u;
        }
        for (int c = 0; c < n_classes; c++)
            x->input_s[u * n_classes + c] = weft_input_s(p, u, first_of(x, c));
        x->widest[u] = -1;
    }
    for (int u = p->n_tasks - 1; u >= 0; u--)
        x->rest_s[u] = x->rest_s[u + 1] + weft_domain_least_s(x->domain, u);
}

/* Seconds from one class to a fresh device of another (or the same) before task u. */
static double hop_s(const chain *x, int u, int from, int to)
{
    const weft_symmetry *o = x->symmetries;
    int d = first_of(x, from), e = from == to ? o->member[o->member_at[to] + 1] : first_of(x, to);
    int k = d * x->p->n_devices + e;

    if (x->widest[u] < 0)
        return 0;
    return weft_message_s(x->p, k, x->widest[u]);
}

static void set_cheap(chain *x)
{
    int n = x->symmetries->n_classes;

    x->cheap_s[x->p->n_tasks] = INFINITY;
    for (int u = x->p->n_tasks - 1; u > 0; u--) {
        x->cheap_s[u] = x->cheap_s[u + 1];
        for (int i = 0; i < n * n; i++) {
            if (i / n != i % n || weft_symmetry_size(x->symmetries, i / n) > 1)
                x->cheap_s[u] = fmin(x->cheap_s[u], hop_s(x, u, i / n, i % n));
        }
    }
    for (int d = 0; d < x->p->n_devices; d++)
        x->most_bytes = fmax(x->most_bytes, x->room_bytes[d]);
}

/* Bytes that u adds to a device whose stretch began at `begin`. */
static double added_bytes(const chain *x, int u, int begin)
{
    double bytes = 0;

    for (int i = x->p->arg_at[u]; i < x->p->arg_at[u + 1]; i++) {
        if (x->p->is_weight[x->p->arg[i]] && x->last_reader[i] < begin)
            bytes += x->p->memory[x->p->arg[i]];
    }
    return bytes;
}

/* --- states ---------------------------------------------------------------------------------- */

/* Makes the key as large as swaps can. If `real` is not NULL it says which class each class of the
 * key really is, and follows. */
static void canonise(const chain *x, unsigned char *key, int *real)
{
    int n = x->symmetries->n_classes;
    bool is_changed = true;

    while (is_changed) {
        is_changed = false;
        for (int s = 0; s < x->symmetries->n_swaps; s++) {
            const int *to = x->symmetries->swap + s * n;
            unsigned char *other = x->other;

            for (int c = 0; c < n; c++)
                other[to[c]] = key[c];
            other[n] = (unsigned char)to[key[n]];
            if (memcmp(other, key, (size_t)n + 1) <= 0)
                continue;
            memcpy(key, other, (size_t)n + 1);
            for (int c = 0; real != NULL && c < n; c++) {
                if (to[c] > c) {
                    int swapped = real[c];

                    real[c] = real[to[c]];
                    real[to[c]] = swapped;
                }
            }
            is_changed = true;
        }
    }
}

static level *new_level(void)
{
    weft_arena *a = weft_arena_new();
    level *l = WEFT_NEW(a, level, 1);

    l->arena = a;
    l->index = weft_map_new(a);
    return l;
}

static state *find_state(const chain *x, level *l, const unsigned char *key)
{
    size_t size = (size_t)x->symmetries->n_classes + 1;
    int at = weft_map_get(l->index, (const char *)key, size);

    if (at < 0) {
        state s = {.key = weft_arena_copy(l->arena, key, size)};

        at = l->states.n;
        WEFT_PUSH(l->arena, l->states, s);
        weft_map_set(l->index, (const char *)l->states.at[at].key, size, at);
    }
    return &l->states.at[at];
}

static double room_left(const chain *x, const unsigned char *key, double bytes)
{
    const weft_symmetry *o = x->symmetries;
    double room = x->room_bytes[first_of(x, key[o->n_classes])] - bytes;

    for (int c = 0; c < o->n_classes; c++) {
        if (key[c] < weft_symmetry_size(o, c))
            room += (weft_symmetry_size(o, c) - key[c]) * x->room_bytes[first_of(x, c)];
    }
    return room;
}

/* The least time that follows a label after task u: tasks, and changes of device for weights without room. */
static double rest_s(const chain *x, const unsigned char *key, double bytes, int u)
{
    double room = x->room_bytes[first_of(x, key[x->symmetries->n_classes])] - bytes;
    double lack = x->need_bytes[u + 1] * (1 - ROUNDING) - room;

    if (!(lack > 0) || !(x->most_bytes > 0))
        return x->rest_s[u + 1];
    return x->rest_s[u + 1] + ceil(lack / x->most_bytes) * x->cheap_s[u + 1];
}

/* Is one label of the state after task u - 1 no worse in any way? */
static bool is_covered(const chain *x, const label *by, const label *l, int u)
{
    return by->time_s <= l->time_s && by->bytes <= l->bytes &&
           (u >= x->p->n_tasks || !x->is_shared[u] ||
            x->trace.at[by->stretch].begin <= x->trace.at[l->stretch].begin);
}

/* A label after task u; true if it was kept. */
static bool add_label(chain *x, level *l, const unsigned char *key, const label *new, int u)
{
    state *s;

    x->n_made++;
    if (new->time_s + rest_s(x, key, new->bytes, u) >= x->upper ||
        room_left(x, key, new->bytes) < x->need_bytes[u + 1] * (1 - ROUNDING))
        return false;
    s = find_state(x, l, key);
    for (int i = 0; i < s->labels.n; i++) {
        if (is_covered(x, &s->labels.at[i], new, u + 1))
            return false;
    }
    for (int i = s->labels.n - 1; i >= 0; i--) {
        if (is_covered(x, new, &s->labels.at[i], u + 1)) {
            s->labels.at[i] = s->labels.at[--s->labels.n];
            l->n_labels--;
        }
    }
    WEFT_PUSH(l->arena, s->labels, *new);
    l->n_labels++;
    return true;
}

/* --- tasks ----------------------------------------------------------------------------------- */

static void stay(chain *x, level *next, const unsigned char *key, const label *from, int u)
{
    int n = x->symmetries->n_classes, c = key[n], d = first_of(x, c);
    label to = *from;

    if (!weft_domain_has(x->domain, u, d))
        return;
    to.bytes += added_bytes(x, u, x->trace.at[from->stretch].begin);
    if (to.bytes > x->room_bytes[d])
        return;
    to.time_s = fmax(to.time_s, x->input_s[u * n + c]) + weft_task_s(x->p, u, d);
    add_label(x, next, key, &to, u);
}

/* To a device of class c that is not used yet; from NULL: the first. */
static void hop(chain *x, level *next, const unsigned char *key, const label *from, int u, int c)
{
    int n = x->symmetries->n_classes, d = first_of(x, c);
    stretch s = {from == NULL ? -1 : from->stretch, u, c};
    label to = {0, added_bytes(x, u, u), x->trace.n};

    if (key[c] >= weft_symmetry_size(x->symmetries, c) || !weft_domain_has(x->domain, u, d) ||
        to.bytes > x->room_bytes[d])
        return;
    if (from != NULL)
        to.time_s = from->time_s + hop_s(x, u, key[n], c);
    to.time_s = fmax(to.time_s, x->input_s[u * n + c]) + weft_task_s(x->p, u, d);
    if (!(to.time_s < INFINITY))
        return;
    memcpy(x->key, key, (size_t)n + 1);
    x->key[c]++;
    x->key[n] = (unsigned char)c;
    canonise(x, x->key, NULL);
    WEFT_PUSH(x->arena, x->trace, s);
    if (!add_label(x, next, x->key, &to, u))
        x->trace.n--;
}

/* Keeps the labels of least time if there are too many. */
static void cut_level(chain *x, level *l)
{
    double *time_s, most_s;
    int n = 0;

    if (l->n_labels <= x->most_labels)
        return;
    time_s = WEFT_NEW(l->arena, double, l->n_labels);
    for (int i = 0; i < l->states.n; i++) {
        for (int j = 0; j < l->states.at[i].labels.n; j++)
            time_s[n++] = l->states.at[i].labels.at[j].time_s;
    }
    weft_sort_reals(time_s, n);
    most_s = time_s[x->most_labels - 1];
    for (int i = 0; i < l->states.n; i++) {
        state *s = &l->states.at[i];

        for (int j = s->labels.n - 1; j >= 0; j--) {
            if (s->labels.at[j].time_s > most_s)
                s->labels.at[j] = s->labels.at[--s->labels.n];
        }
    }
    x->is_cut = true;
}

static level *place_task(chain *x, const level *now, int u)
{
    level *next = new_level();

    for (int i = 0; i < now->states.n; i++) {
        const state *s = &now->states.at[i];

        for (int j = 0; j < s->labels.n; j++) {
            stay(x, next, s->key, &s->labels.at[j], u);
            for (int c = 0; c < x->symmetries->n_classes; c++)
                hop(x, next, s->key, &s->labels.at[j], u, c);
        }
    }
    cut_level(x, next);
    return next;
}

static level *place_first(chain *x)
{
    level *next = new_level();
    unsigned char *none = WEFT_NEW(x->arena, unsigned char, x->symmetries->n_classes + 1);

    for (int c = 0; c < x->symmetries->n_classes; c++)
        hop(x, next, none, NULL, 0, c);
    return next;
}

/* --- the answer ------------------------------------------------------------------------------ */

/* Goes through the stretches again with real classes, and gives out their devices. */
static void write_devices(chain *x, int last, weft_chain_plan *out)
{
    const weft_symmetry *o = x->symmetries;
    int n = o->n_classes, n_stretches = 0, *path = WEFT_NEW(x->arena, int, x->trace.n);
    int *real = WEFT_NEW(x->arena, int, n), *n_used = WEFT_NEW(x->arena, int, n);

    for (int i = last; i >= 0; i = x->trace.at[i].before)
        path[n_stretches++] = i;
    memset(x->key, 0, (size_t)n + 1);
    for (int c = 0; c < n; c++)
        real[c] = c;
    for (int i = n_stretches - 1; i >= 0; i--) {
        const stretch *s = &x->trace.at[path[i]];
        int c = real[s->kind_at], d = o->member[o->member_at[c] + n_used[c]++];
        int end = i > 0 ? x->trace.at[path[i - 1]].begin : x->p->n_tasks;

        for (int u = s->begin; u < end; u++)
            out->device[u] = d;
        x->key[s->kind_at]++;
        x->key[n] = (unsigned char)s->kind_at;
        canonise(x, x->key, real);
    }
    out->n_devices = n_stretches;
}

static void take_best(chain *x, const level *l, weft_chain_plan *out)
{
    int best = -1;

    for (int i = 0; i < l->states.n; i++) {
        for (int j = 0; j < l->states.at[i].labels.n; j++) {
            if (l->states.at[i].labels.at[j].time_s < out->value) {
                out->value = l->states.at[i].labels.at[j].time_s;
                best = l->states.at[i].labels.at[j].stretch;
            }
        }
    }
    if (best >= 0)
        write_devices(x, best, out);
}

static void new_arrays(chain *x)
{
    int n = x->p->n_tasks, n_classes = x->symmetries->n_classes;

    x->rest_s = WEFT_NEW(x->arena, double, n + 1);
    x->need_bytes = WEFT_NEW(x->arena, double, n + 1);
    x->cheap_s = WEFT_NEW(x->arena, double, n + 1);
    x->widest = WEFT_NEW(x->arena, double, n);
    x->is_shared = WEFT_NEW(x->arena, bool, n);
    x->last_reader = WEFT_NEW(x->arena, int, x->p->arg_at[n]);
    x->input_s = WEFT_NEW(x->arena, double, (size_t)n *(size_t)n_classes);
    x->key = WEFT_NEW(x->arena, unsigned char, n_classes + 1);
    x->other = WEFT_NEW(x->arena, unsigned char, n_classes + 1);
}

static bool must_stop(chain *x)
{
    const weft_effort *e = x->effort;

    if ((e->most_states > 0 && x->n_made >= e->most_states) ||
        (e->run != NULL && weft_run_is_over(e->run)))
        x->is_stopped = true;
    return x->is_stopped;
}

/* All tasks, with so many labels a level at most. */
static void pass(chain *x, int most_labels, weft_chain_plan *out)
{
    level *now;

    x->most_labels = most_labels;
    x->is_cut = false;
    x->trace.n = 0;
    now = place_first(x);
    for (int u = 1; u < x->p->n_tasks && now->n_labels > 0 && !must_stop(x); u++) {
        level *next = place_task(x, now, u);

        weft_arena_free(now->arena);
        now = next;
    }
    if (!x->is_stopped)
        take_best(x, now, out);
    weft_arena_free(now->arena);
}

weft_chain_plan weft_symmetry_chain(const weft_domain *m, const weft_symmetry *o,
                                    const double *room_bytes, const weft_effort *e, weft_arena *a)
{
    weft_chain_plan out = {.value = INFINITY, .device = WEFT_NEW(a, int, m->problem->n_tasks)};
    chain x = {.domain = m,
               .p = m->problem,
               .symmetries = o,
               .room_bytes = room_bytes,
               .arena = weft_arena_new(),
               .upper = e->upper,
               .effort = e};

    new_arrays(&x);
    set_tasks(&x);
    set_tensors(&x);
    set_cheap(&x);
    pass(&x, FIRST_LABELS, &out);
    if (x.is_cut && !x.is_stopped && (e->most_beam == 0 || e->most_beam > FIRST_LABELS)) {
        x.upper = fmin(x.upper, out.value);
        pass(&x, e->most_beam == 0 ? MOST_LABELS : e->most_beam, &out);
    }
    out.is_best = !x.is_cut && !x.is_stopped;
    out.n_states = x.n_made;
    weft_arena_free(x.arena);
    return out;
}

double weft_symmetry_live_bytes(const weft_problem *p)
{
    weft_arena *a = weft_arena_new();
    double *change = WEFT_NEW(a, double, p->n_tasks + 1), live = 0, most = 0;

    for (int t = 0; t < p->n_tensors; t++) {
        int last = p->n_tasks - 1, first = p->producer[t] < 0 ? 0 : p->producer[t];

        if (p->is_weight[t])
            continue;
        if (!p->is_output[t])
            last =
                p->reader_at[t] < p->reader_at[t + 1] ? p->reader[p->reader_at[t + 1] - 1] : first;
        change[first] += p->memory[t];
        change[last + 1] -= p->memory[t];
    }
    for (int u = 0; u < p->n_tasks; u++) {
        live += change[u];
        most = fmax(most, live);
    }
    weft_arena_free(a);
    return most;
}
