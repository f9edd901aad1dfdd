/* SPDX-License-Identifier: MIT */
/* collective.c: messages, collectives and sharing; see collective.h for the formulas. */
#include "collective.h"

#include <math.h>

/* --- messages -------------------------------------------------------------------------------- */

double weft_link_cost_s(const weft_link_cost *l, double bytes)
{
    double seconds;

    if (!(bytes > 0))
        return 0;
    if (!(l->bytes_per_s > 0))
        return INFINITY;
    seconds = bytes / l->bytes_per_s;
    if (l->curves != 0)
        seconds = fmax(seconds, weft_link_curves_s(l->curve, l->curves, bytes));
    return l->latency_s + seconds;
}

void weft_link_cost_take(const weft_platform *p, int from, int to, weft_link_cost *slowest)
{
    const weft_route *r = weft_platform_route(p, from, to);

    if (from == to)
        return;
    slowest->latency_s = fmax(slowest->latency_s, r->latency_s);
    slowest->bytes_per_s = fmin(slowest->bytes_per_s, r->n_hops < 0 ? 0 : r->bytes_per_s);
    slowest->curves |= r->curves;
    slowest->curve = p->curve;
    slowest->has_trees = p->has_trees;
}

double weft_transfer_s(const weft_platform *p, int from, int to, double bytes)
{
    const weft_route *r = weft_platform_route(p, from, to);

    if (from == to)
        return 0;
    return r->n_hops < 0 ? INFINITY : r->latency_s + weft_route_s(p, r, bytes);
}

/* --- collectives ----------------------------------------------------------------------------- */

double weft_tree_s(const weft_link_cost *slowest, int n, double bytes)
{
    return n > 1 ? 2 * ceil(log2(n)) * weft_link_cost_s(slowest, bytes) : 0;
}

double weft_ring_s(const weft_link_cost *slowest, int n, int passes, double bytes)
{
    double seconds = n > 1 ? passes * (n - 1.0) * weft_link_cost_s(slowest, bytes / n) : 0;

    if (slowest->has_trees && passes == WEFT_ALL_REDUCE)
        seconds = fmin(seconds, weft_tree_s(slowest, n, bytes));
    return seconds;
}

double weft_all_to_all_s(const weft_link_cost *slowest, int n, double bytes)
{
    return n > 1 ? (n - 1.0) * weft_link_cost_s(slowest, bytes / n) : 0;
}

/* A ring over `share` of the bytes. */
static weft_affine ring_line(const weft_link_cost *slowest, int n, double share)
{
    if (n <= 1)
        return (weft_affine){0, 0};
    return (weft_affine){WEFT_ALL_REDUCE * (n - 1) * slowest->latency_s,
                         WEFT_ALL_REDUCE * (n - 1.0) / n * share / slowest->bytes_per_s};
}

weft_affine weft_levels_line(const weft_levels *l)
{
    weft_affine inside = ring_line(&l->inside, l->n_inside, 1.0);
    weft_affine outside = ring_line(&l->outside, l->n_outside, 1.0 / l->n_inside);

    return (weft_affine){inside.fixed_s + outside.fixed_s,
                         inside.second_per_byte + outside.second_per_byte};
}

double weft_levels_s(const weft_levels *l, double bytes)
{
    bool has_trees = l->inside.has_trees || l->outside.has_trees;

    if (l->inside.curves == 0 && l->outside.curves == 0 && !has_trees) {
        weft_affine line = weft_levels_line(l);

        return weft_affine_s(&line, bytes);
    }
    return weft_ring_s(&l->inside, l->n_inside, WEFT_ALL_REDUCE, bytes) +
           weft_ring_s(&l->outside, l->n_outside, WEFT_ALL_REDUCE, bytes / l->n_inside);
}

/* --- sharing --------------------------------------------------------------------------------- */

weft_users weft_users_new(const weft_platform *p, bool has_links, weft_arena *a)
{
    int n = p->n_resources + (has_links && p->transfer == WEFT_CONTEND ? 2 * p->n_links : 0);

    if (n == 0)
        return (weft_users){.platform = p};
    return (weft_users){.platform = p,
                        .n_shared = n,
                        .n = WEFT_NEW(a, int, n),
                        .mark = WEFT_NEW(a, int, n),
                        .bytes = WEFT_NEW(a, double, n),
                        .hop = WEFT_NEW(a, int, 2 * p->n_links)};
}

void weft_users_clear(weft_users *u)
{
    for (int i = 0; i < u->n_shared; i++) {
        u->n[i] = 0;
        u->bytes[i] = 0;
    }
}

/* Counts what is shared once for each transfer. */
static void use(weft_users *u, int i, double bytes)
{
    if (u->mark[i] == u->n_added)
        return;
    u->mark[i] = u->n_added;
    u->n[i]++;
    u->bytes[i] += bytes;
}

static void use_route(weft_users *u, int from, int to, double bytes)
{
    const weft_platform *p = u->platform;
    int n_hops = from != to ? weft_platform_route(p, from, to)->n_hops : 0;

    weft_platform_hops(p, from, to, u->hop);
    for (int i = 0; i < n_hops; i++) {
        int hop = u->hop[i], end = p->n_resources > 0 ? p->use_at[hop + 1] : 0;

        for (int k = end > 0 ? p->use_at[hop] : 0; k < end; k++)
            use(u, p->use[k], bytes);
        if (u->n_shared > p->n_resources)
            use(u, p->n_resources + (p->link[hop / 2].is_half_duplex ? hop & ~1 : hop), bytes);
    }
}

void weft_users_receive(weft_users *u, const int *from, int n_from, int to, double bytes)
{
    if (u->n_shared == 0)
        return;
    u->n_added++;
    for (int i = 0; i < n_from; i++)
        use_route(u, from[i], to, bytes);
}

void weft_users_add(weft_users *u, int from, int to, double bytes)
{
    weft_users_receive(u, &from, 1, to, bytes);
}

double weft_users_capacity(const weft_users *u, int i)
{
    const weft_platform *p = u->platform;

    return i < p->n_resources ? p->resource[i].bytes_per_s
                              : p->link[(i - p->n_resources) / 2].bytes_per_s;
}

void weft_users_slow(const weft_users *u, weft_link_cost *slowest)
{
    for (int i = 0; i < u->n_shared; i++)
        if (u->n[i] > 0)
            slowest->bytes_per_s = fmin(slowest->bytes_per_s, weft_users_capacity(u, i) / u->n[i]);
}

double weft_users_s(const weft_users *u)
{
    double longest_s = 0;

    for (int i = 0; i < u->n_shared; i++)
        longest_s = fmax(longest_s, u->bytes[i] / weft_users_capacity(u, i));
    return longest_s;
}
