/* SPDX-License-Identifier: MIT */
/* base_sets.c: candidate sets of accelerators, and the plans that baselines make of them.
 *
 * Candidates (single linkage, as in MARS): in the complete graph of bandwidths between equal
 * accelerators all edges of the lowest bandwidth are removed, again and again; every component that
 * appears is a candidate. A component that falls apart only with its fastest edges is halved
 * instead. A whole class of equal accelerators comes first, then what it falls into, level by
 * level; single accelerators are the last. Time O(n^3) for n accelerators.
 *
 * A plan is offered to the simulator; it is kept if it is legal, fits into the memories at every
 * moment, and is faster than the best one before. */
#include "base.h"

#include <math.h>
#include <string.h>

static double bandwidth(const weft_base *b, int d, int e)
{
    const weft_platform *p = b->problem->platform;
    const weft_route *r = weft_platform_route(p, d, e);

    return r->n_hops < 0 ? 0 : r->bytes_per_s;
}

/* Smallest bandwidth between members that is above `floor`; INFINITY: none. */
static double next_bandwidth(const weft_base *b, const weft_team *t, double floor)
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
static int find_parts(const weft_base *b, const weft_team *t, double floor, int *part)
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
static int take_apart(const weft_base *b, const weft_team *t, int *part)
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

static int add_parts(const weft_base *b, weft_team *team, int *parent, int at, int n)
{
    int part[WEFT_MAX_MEMBERS], n_parts = take_apart(b, &team[at], part);

    for (int i = 0; i < n_parts; i++) {
        weft_team *child = &team[n];

        child->n = 0;
        child->design = 0;
        for (int j = 0; j < team[at].n; j++) {
            if (part[j] == i)
                child->member[child->n++] = team[at].member[j];
        }
        parent[n++] = at;
    }
    return n;
}

weft_candidates weft_base_candidates(const weft_base *b)
{
    const weft_sharding *p = b->problem;
    weft_team *team = WEFT_NEW(b->arena, weft_team, 2 * p->n_accelerators);
    int *parent = WEFT_NEW(b->arena, int, 2 * p->n_accelerators), n = b->n_classes;

    for (int c = 0; c < n; c++)
        parent[c] = -1;
    for (int i = 0; i < p->n_accelerators; i++) {
        weft_team *t = &team[b->class_of[p->accelerator[i]]];

        t->member[t->n++] = p->accelerator[i];
    }
    for (int i = 0; i < n; i++) {
        if (team[i].n > 1)
            n = add_parts(b, team, parent, i, n);
    }
    return (weft_candidates){n, team, parent};
}

void weft_base_sets_fill(const weft_base *b, const weft_team *team, int n, weft_base_sets *out)
{
    const weft_sharding *p = b->problem;

    out->n = n;
    for (int i = 0; i < n; i++) {
        out->team[i] = team[i];
        out->inside[i] = weft_team_span(p, &team[i]);
        out->host[i] = weft_host_span(p, &team[i]);
        for (int j = 0; j < n; j++) {
            if (i != j)
                out->between[i * n + j] = weft_pair_span(p, &team[i], &team[j]);
        }
    }
}

weft_base_sets weft_base_sets_new(const weft_base *b, const weft_team *team, int n)
{
    weft_base_sets s = {.team = WEFT_NEW(b->arena, weft_team, n),
                        .inside = WEFT_NEW(b->arena, weft_span, n),
                        .host = WEFT_NEW(b->arena, weft_span, n),
                        .between = WEFT_NEW(b->arena, weft_span, n * n)};

    weft_base_sets_fill(b, team, n, &s);
    return s;
}

static bool are_same(weft_span x, weft_span y)
{
    return x.latency_s == y.latency_s && x.bytes_per_s == y.bytes_per_s;
}

bool weft_base_are_same(const weft_base *b, const weft_team *x, const weft_team *y)
{
    const weft_sharding *p = b->problem;

    return x->n == y->n && b->class_of[x->member[0]] == b->class_of[y->member[0]] &&
           are_same(weft_team_span(p, x), weft_team_span(p, y)) &&
           are_same(weft_host_span(p, x), weft_host_span(p, y));
}

weft_base_sets weft_base_singles(const weft_base *b)
{
    const weft_sharding *p = b->problem;
    weft_team *team = WEFT_NEW(b->arena, weft_team, p->n_accelerators);

    for (int i = 0; i < p->n_accelerators; i++)
        team[i] = (weft_team){.n = 1, .member = {p->accelerator[i]}};
    return weft_base_sets_new(b, team, p->n_accelerators);
}

int weft_base_best_design(weft_base *b, const weft_team *t, int *n_missing, double *time_s)
{
    int class = b->class_of[t->member[0]], best = 0, fewest = b->problem->steps->n + 1;
    double best_s = INFINITY;

    for (int i = 0; i < b->design_at[class + 1] - b->design_at[class]; i++) {
        weft_team one = {.n = 1, .member = {t->member[0]}, .design = i};
        double sum_s = 0;
        int missing = 0;

        for (int u = 0; u < b->problem->steps->n; u++) {
            double s = weft_mode_compute_s(weft_base_mode(b, u, &one, 0));

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

/* --- plans -------------------------------------------------------------------------------------
 */

weft_draft weft_draft_new(const weft_base *b, const weft_base_sets *sets)
{
    int n = b->problem->steps->n;

    return (weft_draft){sets, WEFT_NEW(b->arena, int, n), WEFT_NEW(b->arena, int, n)};
}

/* Sets without steps are left out. */
static weft_shards plan_of(weft_base *b, const weft_draft *d, const double *start_s, weft_arena *a)
{
    int n = b->problem->steps->n, n_sets = 0, *number = WEFT_NEW(a, int, d->sets->n);
    weft_shards s;

    for (int u = 0; u < n; u++)
        number[d->set_of[u]] = 1;
    for (int i = 0; i < d->sets->n; i++)
        number[i] = number[i] ? n_sets++ : -1;
    s = weft_shards_new(n_sets, n, a);
    for (int i = 0; i < d->sets->n; i++) {
        if (number[i] >= 0)
            s.set[number[i]] = d->sets->team[i];
    }
    for (int u = 0; u < n; u++) {
        int members = d->sets->team[d->set_of[u]].n;

        s.set_of[u] = number[d->set_of[u]];
        s.split[u] = weft_base_splits(b, u, members)->split[d->choice[u]];
        s.start_s[u] = start_s != NULL ? start_s[u] : u;
    }
    return s;
}

static const char *memory_reason(const weft_base *b, const weft_shards_measures *m)
{
    const weft_device *d = &b->problem->platform->device[m->over_device];
    char peak[32], room[32];

    return weft_arena_print(b->arena,
                            "accelerator '%s' would hold %s at a time, it has room for %s", d->name,
                            weft_format_bytes(m->peak_bytes[m->over_device], peak),
                            weft_format_bytes(d->memory_bytes, room));
}

bool weft_base_offer(weft_base *b, const weft_draft *d, const double *start_s)
{
    weft_arena *a = weft_arena_new();
    weft_shards s = plan_of(b, d, start_s, a);
    weft_shards_measures m = {0};
    weft_breach breach = {NULL};
    bool is_better = false;

    if (weft_shards_evaluate(b->problem, &s, a, &m) != WEFT_OK) {
        b->reason = weft_arena_text(b->arena, weft_message(), strlen(weft_message()));
    } else if (m.over_device >= 0) {
        b->reason = memory_reason(b, &m);
    } else if (weft_shards_check(b->problem, &s, &breach, 1, a) > 0) {
        b->reason = weft_arena_text(b->arena, breach.what, strlen(breach.what));
    } else if (m.latency_s < b->best_s) {
        is_better = true;
        b->best_s = m.latency_s;
        b->best = weft_shards_copy(&s, b->arena);
        if (b->run->progress != NULL)
            b->run->progress(b->run->context, b->best_s, 0);
    }
    weft_arena_free(a);
    return is_better;
}

weft_status weft_base_finish(weft_base *b, weft_shards *plan, weft_proof *proof)
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

bool weft_base_is_free(const weft_sharding *p)
{
    return !p->ask.is_contiguous;
}
