/* SPDX-License-Identifier: MIT */
/* repeats.c: accelerators that can be exchanged for each other.
 *
 * Two accelerators are equals if they are of one kind (designs, memory) and if their routes to every
 * third device, and those back, have the same latency and bandwidth. That is an equivalence: if a
 * and b, and b and c are equals, then route(a, c) = route(b, c) = route(b, a) by exchanging first a
 * and b, then c and a. Exchanging equals in a plan changes no time and no memory, so of all plans
 * that differ in such exchanges one has to be looked at. */
#include "sets.h"

#include <string.h>

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

static bool are_equal(const weft_platform *p, int a, int b)
{
    int n = p->n_devices;

    if (!is_same_kind(p, a, b) ||
        !is_same_route(weft_platform_route(p, a, b), weft_platform_route(p, b, a)))
        return false;
    for (int c = 0; c < n; c++)
        if (c != a && c != b &&
            (!is_same_route(weft_platform_route(p, a, c), weft_platform_route(p, b, c)) ||
             !is_same_route(weft_platform_route(p, c, a), weft_platform_route(p, c, b))))
            return false;
    return true;
}

static int find_class(const weft_shard_problem *p, const weft_repeats *t, int i)
{
    for (int c = 0; c < t->n_classes; c++)
        if (are_equal(p->platform, t->device[c][0], p->accelerator[i]))
            return c;
    return t->n_classes;
}

weft_repeats weft_repeats_find(const weft_shard_problem *p, weft_arena *a)
{
    int n = p->n_accelerators;
    weft_repeats t = {0, WEFT_NEW(a, int, n), WEFT_NEW(a, int, n), WEFT_NEW(a, int *, n),
                      WEFT_NEW(a, int, n)};

    for (int i = 0; i < n; i++) {
        int c = find_class(p, &t, i);

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
