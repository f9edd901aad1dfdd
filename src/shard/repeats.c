/* SPDX-License-Identifier: MIT */
/* repeats.c: accelerators that can be exchanged for each other.
 *
 * Two accelerators are equals if they are of one kind (designs, memory) and if their routes to every
 * third device, and those back, have the same latency and bandwidth. That is an equivalence: if a
 * and b, and b and c are equals, then route(a, c) = route(b, c) = route(b, a) by exchanging first a
 * and b, then c and a. Where transfers share something, exchanging the two must also exchange what only
 * they use (their own links), each for the other's of the same bandwidth, and leave the rest of each
 * route as it is. Exchanging equals in a plan changes no time and no memory, so of all plans
 * that differ in such exchanges one has to be looked at. */
#include "sets.h"

#include <string.h>

#include "collective.h"

/* What routes share, and who alone uses it. */
typedef struct sharing {
    weft_users users;
    int *one, *other; /* [n_shared] devices at which all routes over it begin or end; -1: none */
    bool *is_used[2]; /* [n_shared] by two routes that are compared */
    int *map;         /* [n_shared] what an exchange puts in place of it; -1: not known */
} sharing;

static void find_used(sharing *x, int from, int to, bool *is_used)
{
    weft_users_clear(&x->users);
    weft_users_add(&x->users, from, to, 0);
    for (int i = 0; i < x->users.n_shared; i++)
        is_used[i] = x->users.n[i] > 0;
}

static bool is_own(const sharing *x, int i, int device)
{
    return x->one[i] == device || x->other[i] == device;
}

/* A route over i from a to b: only these two may be at the ends of all. */
static void narrow(sharing *x, int i, int a, int b)
{
    bool is_first = x->one[i] == -2;

    if (is_first || (x->one[i] != a && x->one[i] != b))
        x->one[i] = is_first ? a : -1;
    if (is_first || (x->other[i] != a && x->other[i] != b))
        x->other[i] = is_first ? b : -1;
}

static sharing new_sharing(const weft_platform *p, weft_arena *a)
{
    sharing x = {.users = weft_users_new(p, true, a)};
    int n = x.users.n_shared;

    x.one = WEFT_NEW(a, int, n);
    x.other = WEFT_NEW(a, int, n);
    x.map = WEFT_NEW(a, int, n);
    x.is_used[0] = WEFT_NEW(a, bool, n);
    x.is_used[1] = WEFT_NEW(a, bool, n);
    for (int i = 0; i < n; i++)
        x.one[i] = x.other[i] = -2;
    for (int from = 0; from < p->n_devices && n > 0; from++)
        for (int to = 0; to < p->n_devices; to++) {
            find_used(&x, from, to, x.is_used[0]);
            for (int i = 0; i < n; i++)
                if (x.is_used[0][i])
                    narrow(&x, i, from, to);
        }
    return x;
}

/* Puts the own one of a route in place of that of the other route, as before. */
static bool exchange(sharing *x, int i, int k)
{
    if (i < 0 || k < 0)
        return i == k;
    if (weft_users_capacity(&x->users, i) != weft_users_capacity(&x->users, k) ||
        (x->map[i] >= 0 && x->map[i] != k) || (x->map[k] >= 0 && x->map[k] != i))
        return false;
    x->map[i] = k;
    x->map[k] = i;
    return true;
}

/* Do the routes from a to c and from b to c (or back) share alike? At most one own thing each. */
static bool is_shared_alike(sharing *x, int a, int b, int c, bool is_back)
{
    int own[2] = {-1, -1}, device[2] = {a, b};

    for (int k = 0; k < 2; k++)
        find_used(x, is_back ? c : device[k], is_back ? device[k] : c, x->is_used[k]);
    for (int i = 0; i < x->users.n_shared; i++) {
        for (int k = 0; k < 2; k++)
            if (x->is_used[k][i] && is_own(x, i, device[k])) {
                if (own[k] >= 0)
                    return false;
                own[k] = i;
                x->is_used[k][i] = false;
            }
        if (x->is_used[0][i] != x->is_used[1][i])
            return false;
    }
    return exchange(x, own[0], own[1]);
}

/* Between a and b themselves: what is not their own is the same there and back. */
static bool is_between_alike(sharing *x, int a, int b)
{
    find_used(x, a, b, x->is_used[0]);
    find_used(x, b, a, x->is_used[1]);
    for (int i = 0; i < x->users.n_shared; i++)
        if (x->is_used[0][i] != x->is_used[1][i] && !is_own(x, i, a) && !is_own(x, i, b))
            return false;
    return true;
}

static bool is_same_route(const weft_route *a, const weft_route *b)
{
    return a->n_hops < 0 || b->n_hops < 0
               ? a->n_hops < 0 && b->n_hops < 0
               : a->latency_s == b->latency_s && a->bytes_per_s == b->bytes_per_s &&
                     a->curves == b->curves;
}

static bool is_same_kind(const weft_platform *p, int a, int b)
{
    return strcmp(p->device[a].kind, p->device[b].kind) == 0 &&
           p->device[a].memory_bytes == p->device[b].memory_bytes &&
           p->device[a].n_designs == p->device[b].n_designs;
}

static bool are_equal(const weft_platform *p, sharing *x, int a, int b)
{
    int n = p->n_devices;

    if (!is_same_kind(p, a, b) ||
        !is_same_route(weft_platform_route(p, a, b), weft_platform_route(p, b, a)) ||
        !is_between_alike(x, a, b))
        return false;
    for (int i = 0; i < x->users.n_shared; i++)
        x->map[i] = -1;
    for (int c = 0; c < n; c++)
        if (c != a && c != b &&
            (!is_same_route(weft_platform_route(p, a, c), weft_platform_route(p, b, c)) ||
             !is_same_route(weft_platform_route(p, c, a), weft_platform_route(p, c, b)) ||
             !is_shared_alike(x, a, b, c, false) || !is_shared_alike(x, a, b, c, true)))
            return false;
    return true;
}

static int find_class(const weft_shard_problem *p, sharing *x, const weft_repeats *t, int i)
{
    for (int c = 0; c < t->n_classes; c++)
        if (are_equal(p->platform, x, t->device[c][0], p->accelerator[i]))
            return c;
    return t->n_classes;
}

weft_repeats weft_repeats_find(const weft_shard_problem *p, weft_arena *a)
{
    int n = p->n_accelerators;
    weft_repeats t = {0, WEFT_NEW(a, int, n), WEFT_NEW(a, int, n), WEFT_NEW(a, int *, n),
                      WEFT_NEW(a, int, n)};
    sharing x = new_sharing(p->platform, a);

    for (int i = 0; i < n; i++) {
        int c = find_class(p, &x, &t, i);

        if (c == t.n_classes) {
            t.device[t.n_classes++] = WEFT_NEW(a, int, n);
            t.kind[c] = c;
            for (int b = c - 1; b >= 0; b--)
                if (is_same_kind(p->platform, t.device[b][0], p->accelerator[i]))
                    t.kind[c] = t.kind[b];
        }
        t.class_of[i] = c;
        t.device[c][t.n_in[c]++] = p->accelerator[i];
    }
    return t;
}

int weft_repeats_most(const weft_repeats *t, int c)
{
    int n = 0;

    for (int k = 0; k < t->n_classes; k++)
        n += t->kind[k] == c ? t->n_in[k] : 0;
    return n < WEFT_MAX_MEMBERS ? n : WEFT_MAX_MEMBERS;
}
