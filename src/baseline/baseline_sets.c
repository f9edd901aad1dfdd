/* SPDX-License-Identifier: MIT */
/* baseline_sets.c: candidate sets of accelerators, and the plans that baselines make of them.
 *
 * Candidates (single linkage, as in MARS): in the complete graph of bandwidths between equal
 * accelerators all edges of the lowest bandwidth are removed, again and again; every component that
 * appears is a candidate. A component that falls apart only with its fastest edges is halved
 * instead. A whole class of equal accelerators comes first, then what it falls into, level by
 * level; single accelerators are the last. Time O(n^3) for n accelerators.
 *
 * A plan is offered to the simulator; it is kept if it is legal, fits into the memories at every
 * moment, and is faster than the best one before. */
#include "baseline.h"

#include <math.h>
#include <string.h>

static double bandwidth(const weft_baseline *b, int d, int e)
{
    const weft_platform *p = b->problem->platform;
    const weft_route *r = weft_platform_route(p, d, e);

    return r->n_hops < 0 ? 0 : r->bytes_per_s;
}

/* Smallest bandwidth between members that is above `floor`; INFINITY: none. */
static double next_bandwidth(const weft_baseline *b, const weft_device_set *t, double floor)
{
    double least = INFINITY;

    for (int i = 0; i < t->n; i++) {
        for (int j = 0; j < i; j++) {
            double x = bandwidth(b, t->member[i], t->member[j]);

            if (x > floor)
                least = fmin(least, x);
        }
    }
    return least;
}

/* Components of the edges above `floor`: part[i] of member i, numbered by first members. */
static int find_parts(const weft_baseline *b, const weft_device_set *t, double floor, int *part)
{
    int n = 0;

    for (int i = 0; i < t->n; i++)
        part[i] = -1;
    for (int i = 0; i < t->n; i++) {
        int stack[WEFT_MAX_MEMBERS], n_stack = 0;

        if (part[i] >= 0)
            continue;
        part[i] = n;
        stack[n_stack++] = i;
        while (n_stack > 0) {
            int at = stack[--n_stack];

            for (int j = 0; j < t->n; j++) {
                if (part[j] < 0 && bandwidth(b, t->member[at], t->member[j]) > floor) {
                    part[j] = n;
                    stack[n_stack++] = j;
                }
            }
        }
        n++;
    }
    return n;
}

/* What a set falls into; the number of parts. */
static int take_apart(const weft_baseline *b, const weft_device_set *t, int *part)
{
    double floor = next_bandwidth(b, t, -1);
    int n = 1;

    while (n == 1 && next_bandwidth(b, t, floor) < INFINITY) {
        n = find_parts(b, t, floor, part);
        floor = next_bandwidth(b, t, floor);
    }
    if (n > 1)
        return n;
    for (int i = 0; i < t->n; i++)
        part[i] = i >= (t->n + 1) / 2;
    return 2;
}

static int add_parts(const weft_baseline *b, weft_device_set *device_set, int *parent, int at,
                     int n)
{
    int part[WEFT_MAX_MEMBERS], n_parts = take_apart(b, &device_set[at], part);

    for (int i = 0; i < n_parts; i++) {
        weft_device_set *child = &device_set[n];

        child->n = 0;
        child->design = 0;
        for (int j = 0; j < device_set[at].n; j++) {
            if (part[j] == i)
                child->member[child->n++] = device_set[at].member[j];
        }
        parent[n++] = at;
    }
    return n;
}

weft_candidates weft_baseline_candidates(const weft_baseline *b)
{
    const weft_shard_problem *p = b->problem;
    weft_device_set *device_set = WEFT_NEW(b->arena, weft_device_set, 2 * p->n_accelerators);
    int *parent = WEFT_NEW(b->arena, int, 2 * p->n_accelerators), n = b->n_classes;

    for (int c = 0; c < n; c++)
        parent[c] = -1;
    for (int i = 0; i < p->n_accelerators; i++) {
        weft_device_set *t = &device_set[b->class_of[p->accelerator[i]]];

        t->member[t->n++] = p->accelerator[i];
    }
    for (int i = 0; i < n; i++) {
        if (device_set[i].n > 1)
            n = add_parts(b, device_set, parent, i, n);
    }
    return (weft_candidates){n, device_set, parent};
}

void weft_baseline_sets_fill(const weft_baseline *b, const weft_device_set *device_set, int n,
                             weft_baseline_sets *out)
{
    const weft_shard_problem *p = b->problem;

    out->n = n;
    for (int i = 0; i < n; i++) {
        out->device_set[i] = device_set[i];
        out->inside[i] = weft_device_set_link(p, &device_set[i]);
        out->host[i] = weft_host_link_cost(p, &device_set[i]);
        for (int j = 0; j < n; j++) {
            if (i != j)
                out->between[i * n + j] = weft_pair_link_cost(p, &device_set[i], &device_set[j]);
        }
    }
}

weft_baseline_sets weft_baseline_sets_new(const weft_baseline *b, const weft_device_set *device_set,
                                          int n)
{
    weft_baseline_sets s = {.device_set = WEFT_NEW(b->arena, weft_device_set, n),
                            .inside = WEFT_NEW(b->arena, weft_link_cost, n),
                            .host = WEFT_NEW(b->arena, weft_link_cost, n),
                            .between = WEFT_NEW(b->arena, weft_link_cost, n * n)};

    weft_baseline_sets_fill(b, device_set, n, &s);
    return s;
}

static bool are_same(weft_link_cost x, weft_link_cost y)
{
    return x.latency_s == y.latency_s && x.bytes_per_s == y.bytes_per_s && x.curves == y.curves;
}

bool weft_baseline_are_same(const weft_baseline *b, const weft_device_set *x,
                            const weft_device_set *y)
{
    const weft_shard_problem *p = b->problem;

    return x->n == y->n && b->class_of[x->member[0]] == b->class_of[y->member[0]] &&
           are_same(weft_device_set_link(p, x), weft_device_set_link(p, y)) &&
           are_same(weft_host_link_cost(p, x), weft_host_link_cost(p, y));
}

weft_baseline_sets weft_baseline_singles(const weft_baseline *b)
{
    const weft_shard_problem *p = b->problem;
    weft_device_set *device_set = WEFT_NEW(b->arena, weft_device_set, p->n_accelerators);

    for (int i = 0; i < p->n_accelerators; i++)
        device_set[i] = (weft_device_set){.n = 1, .member = {p->accelerator[i]}};
    return weft_baseline_sets_new(b, device_set, p->n_accelerators);
}

int weft_baseline_best_design(weft_baseline *b, const weft_device_set *t, int *n_missing,
                              double *time_s)
{
    int class = b->class_of[t->member[0]], best = 0, fewest = b->problem->steps->n + 1;
    double best_s = INFINITY;

    for (int i = 0; i < b->design_at[class + 1] - b->design_at[class]; i++) {
        weft_device_set one = {.n = 1, .member = {t->member[0]}, .design = i};
        double sum_s = 0;
        int missing = 0;

        for (int u = 0; u < b->problem->steps->n; u++) {
            double s = weft_split_compute_s(weft_baseline_split(b, u, &one, 0));

            missing += !(s < INFINITY);
            sum_s += s < INFINITY ? s : 0;
        }
        if (missing < fewest || (missing == fewest && sum_s < best_s)) {
            best = i;
            best_s = sum_s;
            fewest = missing;
        }
    }
    if (n_missing != NULL)
        *n_missing = fewest;
    if (time_s != NULL)
        *time_s = best_s;
    return best;
}

/* --- plans ----------------------------------------------------------------------------------- */

weft_draft weft_draft_new(const weft_baseline *b, const weft_baseline_sets *sets)
{
    int n = b->problem->steps->n;

    return (weft_draft){sets, WEFT_NEW(b->arena, int, n), WEFT_NEW(b->arena, int, n)};
}

/* Sets without steps are left out. */
static weft_shard_plan plan_of(weft_baseline *b, const weft_draft *d, const double *start_s,
                               weft_arena *a)
{
    int n = b->problem->steps->n, n_sets = 0, *number = WEFT_NEW(a, int, d->sets->n);
    weft_shard_plan s;

    for (int u = 0; u < n; u++)
        number[d->set_of[u]] = 1;
    for (int i = 0; i < d->sets->n; i++)
        number[i] = number[i] ? n_sets++ : -1;
    s = weft_shard_plan_new(n_sets, n, a);
    for (int i = 0; i < d->sets->n; i++) {
        if (number[i] >= 0)
            s.set[number[i]] = d->sets->device_set[i];
    }
    for (int u = 0; u < n; u++) {
        int members = d->sets->device_set[d->set_of[u]].n;

        s.set_of[u] = number[d->set_of[u]];
        s.split[u] = weft_baseline_splits(b, u, members)->split[d->choice[u]];
        s.start_s[u] = start_s != NULL ? start_s[u] : u;
    }
    return s;
}

static const char *memory_reason(const weft_baseline *b, const weft_shard_plan_measures *m)
{
    const weft_device *d = &b->problem->platform->device[m->over_device];
    char peak[32], room[32];

    return weft_arena_print(b->arena,
                            "accelerator '%s' would hold %s at a time, it has room for %s", d->name,
                            weft_format_bytes(m->peak_bytes[m->over_device], peak),
                            weft_format_bytes(d->memory_bytes, room));
}

bool weft_baseline_offer(weft_baseline *b, const weft_draft *d, const double *start_s)
{
    weft_arena *a = weft_arena_new();
    weft_shard_plan s = plan_of(b, d, start_s, a);
    weft_shard_plan_measures m = {0};
    weft_violation violation = {NULL};
    bool is_better = false;

    if (weft_shard_plan_evaluate(b->problem, &s, a, &m) != WEFT_OK) {
        b->reason = weft_arena_text(b->arena, weft_message(), strlen(weft_message()));
    } else if (m.over_device >= 0) {
        b->reason = memory_reason(b, &m);
    } else if (weft_shard_plan_check(b->problem, &s, &violation, 1, a) > 0) {
        b->reason = weft_arena_word(b->arena, violation.what);
    } else if (m.latency_s < b->best_s) {
        is_better = true;
        b->best_s = m.latency_s;
        b->best = weft_shard_plan_copy(&s, b->arena);
        if (b->run->progress != NULL)
            b->run->progress(b->run->context, b->best_s, 0);
    }
    weft_arena_free(a);
    return is_better;
}

weft_status weft_baseline_finish(weft_baseline *b, weft_shard_plan *plan, weft_proof *proof)
{
    if (b->best_s < INFINITY) {
        *plan = b->best;
        proof->outcome = WEFT_BOUNDED;
        return WEFT_OK;
    }
    proof->outcome = WEFT_UNKNOWN;
    proof->reason = b->reason != NULL ? b->reason
                                      : "no accelerators of one kind can run all steps with one "
                                        "design";
    return WEFT_OK;
}

bool weft_baseline_is_free(const weft_shard_problem *p)
{
    return !p->constraints.is_contiguous;
}
