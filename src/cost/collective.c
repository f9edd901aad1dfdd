/* SPDX-License-Identifier: MIT */
/* collective.c: messages and rings; see collective.h for the formulas. */
#include "collective.h"

#include <math.h>

double weft_link_cost_s(const weft_link_cost *l, double bytes)
{
    if (!(bytes > 0))
        return 0;
    return l->bytes_per_s > 0 ? l->latency_s + bytes / l->bytes_per_s : INFINITY;
}

void weft_link_cost_take(const weft_platform *p, int from, int to, weft_link_cost *slowest)
{
    const weft_route *r = weft_platform_route(p, from, to);

    if (from == to)
        return;
    slowest->latency_s = fmax(slowest->latency_s, r->latency_s);
    slowest->bytes_per_s = fmin(slowest->bytes_per_s, r->n_hops < 0 ? 0 : r->bytes_per_s);
}

double weft_ring_s(const weft_link_cost *slowest, int n, int passes, double bytes)
{
    return n > 1 ? passes * (n - 1.0) * weft_link_cost_s(slowest, bytes / n) : 0;
}

weft_affine weft_ring_line(const weft_link_cost *slowest, int n, int passes, double share)
{
    return (weft_affine){passes * (n - 1) * slowest->latency_s,
                         passes * (n - 1.0) / n * share / slowest->bytes_per_s};
}

double weft_transfer_s(const weft_platform *p, int from, int to, double bytes)
{
    const weft_route *r = weft_platform_route(p, from, to);

    if (from == to)
        return 0;
    return r->n_hops < 0 ? INFINITY : r->latency_s + bytes / r->bytes_per_s;
}
