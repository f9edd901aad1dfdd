/* SPDX-License-Identifier: MIT */
/* pipe_links.c: hops between stages and sums of gradients, for all moves of a family.
 *
 * A hop takes a fixed time and a time for each byte of a sample, given the blocks of both stages
 * and their shares (train_links.c): two look-ups tell both.
 *
 *  - Uniform: blocks and shares follow from the move, the move after it, and the layout. Exact; over
 *    links with curves a lower bound, at their largest bandwidth.
 *  - Device sets: shares depend on cuts. A lower bound instead: some receiver gets at least 1 / blocks of
 *    the microbatch, whole on every member, and some sender gives as much (or, if it is the wider
 *    one, its part of that), at the best bandwidth and latency between the classes. */
#include <math.h>

#include "cost.h"
#include "space.h"
#include "train_plan.h"

static const double probe_bytes = 1e6;

/* --- lower bounds for device sets ------------------------------------------------------------ */

/* The best line between devices of two classes, [class * n_classes + class]. */
static weft_affine *class_lines(const weft_pipe_costs *c, weft_arena *a)
{
    int n = c->n_classes;
    weft_affine *line = WEFT_NEW(a, weft_affine, n * n);

    for (int i = 0; i < n * n; i++) {
        const weft_class *x = &c->p->cluster->classes[i / n];
        const weft_class *y = &c->p->cluster->classes[i % n];

        line[i] = (weft_affine){INFINITY, INFINITY};
        for (int u = 0; u < x->n_devices; u++)
            for (int v = 0; v < y->n_devices; v++) {
                const weft_platform *f = c->p->cluster->platform;
                int from = x->device[u], to = y->device[v];
                const weft_route *r = weft_platform_route(f, from, to);
                double rate =
                    (r->latency_s + probe_bytes / r->bytes_per_s - r->latency_s) / probe_bytes;

                if (from == to || r->n_hops < 0)
                    continue;
                line[i].fixed_s = fmin(line[i].fixed_s, r->latency_s);
                line[i].second_per_byte = fmin(line[i].second_per_byte, rate);
            }
    }
    return line;
}

static weft_affine least_line(const weft_pipe_costs *c, const weft_affine *line,
                              const weft_pipe_family *f, const weft_pipe_group *from,
                              const weft_pipe_group *to)
{
    weft_affine best = {INFINITY, INFINITY};
    double samples = (double)f->microbatch / to->n_blocks;
    int wide = c->p->width[from->width], narrow = c->p->width[to->width];
    int n_senders = wide > narrow ? (wide + narrow - 1) / narrow : 1;

    samples = fmax(samples, (double)f->microbatch / from->n_blocks / n_senders);
    for (int i = 0; i < from->n_parts; i++)
        for (int k = 0; k < to->n_parts; k++) {
            const weft_affine *l = &line[from->class_id[i] * c->n_classes + to->class_id[k]];

            best.fixed_s = fmin(best.fixed_s, l->fixed_s);
            best.second_per_byte = fmin(best.second_per_byte, l->second_per_byte);
        }
    if (!(best.fixed_s < INFINITY))
        return (weft_affine){INFINITY, 0};
    best.second_per_byte *= samples * (1 - 1e-12);
    best.fixed_s *= 1 - 1e-12;
    return best;
}

/* --- all moves ------------------------------------------------------------------------------- */

static int n_moves_of(const weft_pipe_nodes *nodes)
{
    return nodes->move_at[nodes->n_nodes];
}

static weft_pipe_links new_links(const weft_pipe_nodes *nodes, weft_arena *a)
{
    int n = n_moves_of(nodes), n_pairs = 0;
    weft_pipe_links l = {
        .pair_at = WEFT_NEW(a, int, n + 1),
        .least_send = WEFT_NEW(a, weft_affine, n + 1),
        .least_back = WEFT_NEW(a, weft_affine, n + 1),
        .n_ways = WEFT_NEW(a, int, n + 1),
        .way = WEFT_NEW(a, weft_levels, 2 * n + 1),
    };

    for (int t = 0; t < n; t++) {
        int next = nodes->move[t].next;

        l.pair_at[t] = n_pairs;
        n_pairs += nodes->move_at[next + 1] - nodes->move_at[next];
    }
    l.send = WEFT_NEW(a, weft_affine, n_pairs + 1);
    l.back = WEFT_NEW(a, weft_affine, n_pairs + 1);
    return l;
}

weft_pipe_links weft_pipe_links_free(const weft_pipe_nodes *nodes, weft_arena *a)
{
    return new_links(nodes, a);
}

static weft_affine lower(weft_affine a, weft_affine b)
{
    return (weft_affine){fmin(a.fixed_s, b.fixed_s), fmin(a.second_per_byte, b.second_per_byte)};
}

/* The least of all pairs of each move; nothing after the last stage. */
static void fill_least(const weft_pipe_nodes *nodes, weft_pipe_links *l)
{
    for (int t = 0; t < n_moves_of(nodes); t++) {
        int next = nodes->move[t].next;
        int n = nodes->move_at[next + 1] - nodes->move_at[next];

        for (int k = 0; k < n; k++) {
            int pair = l->pair_at[t] + k;

            l->least_send[t] = k == 0 ? l->send[pair] : lower(l->least_send[t], l->send[pair]);
            l->least_back[t] = k == 0 ? l->back[pair] : lower(l->least_back[t], l->back[pair]);
        }
    }
}

/* Is the node a part of the root's pipeline? */
static bool is_part(const weft_pipe_nodes *nodes, int node, int root)
{
    const int *n = nodes->used + (size_t)node * WEFT_MAX_PARTS;
    const int *r = nodes->used + (size_t)root * WEFT_MAX_PARTS;

    for (int i = 0; i < WEFT_MAX_PARTS; i++)
        if (n[i] > r[i])
            return false;
    return nodes->n_stages[node] <= nodes->n_stages[root];
}

weft_pipe_links weft_pipe_links_of(const weft_pipe_costs *c, const weft_pipe_family *f,
                                   const weft_pipe_nodes *nodes, weft_pipe_layout layout, int root,
                                   weft_arena *a)
{
    weft_pipe_links l = new_links(nodes, a);
    const weft_affine *line = f->replicas > 0 ? NULL : class_lines(c, a);

    l.is_exact = f->replicas > 0 && c->p->cluster->platform->n_curves == 0;
    for (int node = 1; node <= (root < 0 ? nodes->n_nodes - 1 : root); node++)
        for (int t = nodes->move_at[node]; t < nodes->move_at[node + 1]; t++) {
            int next = nodes->move[t].next;
            weft_stage here;

            if (root >= 0 && !is_part(nodes, node, root))
                continue;
            here = weft_pipe_stage_at(c->p, f, nodes, layout, root, t, 0);
            l.n_ways[t] = weft_sync_ways(c->p, &here, &l.way[2 * t]);
            for (int k = nodes->move_at[next]; k < nodes->move_at[next + 1]; k++) {
                int pair = l.pair_at[t] + k - nodes->move_at[next];
                const weft_pipe_group *from = &f->group[nodes->move[t].group];
                const weft_pipe_group *to = &f->group[nodes->move[k].group];
                weft_stage there;

                if (f->replicas == 0) {
                    l.send[pair] = least_line(c, line, f, from, to);
                    l.back[pair] = least_line(c, line, f, to, from);
                    continue;
                }
                there = weft_pipe_stage_at(c->p, f, nodes, layout, root, k, 0);
                l.send[pair] = weft_hop_line(c->p, &here, &there);
                l.back[pair] = weft_hop_line(c->p, &there, &here);
            }
        }
    fill_least(nodes, &l);
    return l;
}
