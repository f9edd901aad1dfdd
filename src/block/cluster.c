/* SPDX-License-Identifier: MIT */
/* cluster.c: classes of equal devices and islands of near ones.
 *
 * 1. Devices of one kind are equal (platforms see to it): a class each, the host left out.
 * 2. If all devices of a class are in groups of the platform file, the devices of a group are an
 *    island: what a server is does not depend on any bandwidth, so a wider link only makes
 *    transfers faster.
 * 3. Otherwise, the best bandwidth of a class is that of the best route between two of its devices.
 *    Devices in order: each joins the first island with all of whose members it is joined at that
 *    bandwidth, both ways, or founds the next one. No island can take in a device of a later one,
 *    so islands are as large as they can be. Where being joined at the best bandwidth carries over
 *    (GPUs of a server: a switch, or links between all), the outcome is the only one possible.
 *
 * Time O(devices^2) looks at a route. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "block.h"
#include "order.h"

/* --- islands --------------------------------------------------------------------------------- */

/* A class in the making. */
typedef struct group {
    const weft_platform *p;
    int n;
    const int *device; /* [n] ascending */
    bool is_grouped;   /* all are in groups of the file */
    double best;       /* bytes a second, if not; 0: no two are joined */
    int n_islands;
    int *island;       /* [n] of each device */
    int *first, *last; /* [n] members of an island: indices into device, chained by next */
    int *next;         /* [n] or -1 */
} group;

static double bandwidth_of(const group *g, int i, int k)
{
    const weft_route *r = weft_platform_route(g->p, g->device[i], g->device[k]);

    return r->n_hops > 0 ? r->bytes_per_s : 0;
}

static double best_bandwidth(const group *g)
{
    double best = 0;

    for (int i = 0; i < g->n; i++)
        for (int k = 0; k < g->n; k++)
            if (i != k)
                best = fmax(best, bandwidth_of(g, i, k));
    return best;
}

static bool is_grouped(const group *g)
{
    for (int i = 0; i < g->n; i++)
        if (g->p->device[g->device[i]].group == 0)
            return false;
    return true;
}

static bool is_near(const group *g, int i, int k)
{
    if (g->is_grouped)
        return g->p->device[g->device[i]].group == g->p->device[g->device[k]].group;
    return g->best > 0 && bandwidth_of(g, i, k) == g->best && bandwidth_of(g, k, i) == g->best;
}

static bool may_join(const group *g, int island, int i)
{
    for (int k = g->first[island]; k >= 0; k = g->next[k])
        if (!is_near(g, i, k))
            return false;
    return true;
}

static void find_islands(group *g, weft_arena *a)
{
    g->is_grouped = is_grouped(g);
    g->best = g->is_grouped ? 0 : best_bandwidth(g);
    g->island = WEFT_NEW(a, int, g->n);
    g->first = WEFT_NEW(a, int, g->n);
    g->last = WEFT_NEW(a, int, g->n);
    g->next = WEFT_NEW(a, int, g->n);
    for (int i = 0; i < g->n; i++) {
        int s = 0;

        while (s < g->n_islands && !may_join(g, s, i))
            s++;
        g->island[i] = s;
        g->next[i] = -1;
        if (s == g->n_islands)
            g->first[g->n_islands++] = i;
        else
            g->next[g->last[s]] = i;
        g->last[s] = i;
    }
}

/* The blocks of a width in all islands, each a ring of messages, all at the same time. */
static void share_rings(const group *g, int width, weft_users *u, weft_link_cost *slowest)
{
    weft_users_clear(u);
    for (int s = 0; s < g->n_islands; s++) {
        int first = -1, n = 0;

        for (int i = g->first[s]; i >= 0; i = g->next[i]) {
            first = n++ % width == 0 ? i : first;
            if (n % width != 0 && g->next[i] >= 0)
                weft_users_add(u, g->device[i], g->device[g->next[i]], 0);
            else if (n % width == 0)
                weft_users_add(u, g->device[i], g->device[first], 0);
        }
    }
    weft_users_slow(u, slowest);
}

/* The slowest pair of one island; nothing to wait for where no island has two devices. Blocks of any
 * width share what the platform shares. */
static weft_link_cost slowest_pair(const group *g, weft_arena *scratch)
{
    weft_link_cost slowest = WEFT_LINK_COST_NONE;
    weft_users u = weft_users_new(g->p, false, scratch);
    int largest = 0;

    for (int s = 0; s < g->n_islands; s++) {
        int n = 0;

        for (int i = g->first[s]; i >= 0; i = g->next[i], n++)
            for (int k = g->first[s]; k >= 0; k = g->next[k])
                weft_link_cost_take(g->p, g->device[i], g->device[k], &slowest);
        largest = n > largest ? n : largest;
    }
    for (int width = 2; u.n_shared > 0 && width <= largest; width++)
        share_rings(g, width, &u, &slowest);
    return slowest;
}

static weft_class finish_class(const group *g, weft_arena *a, weft_arena *scratch)
{
    const weft_device *d = &g->p->device[g->device[0]];
    int *device = WEFT_NEW(a, int, g->n), *island_at = WEFT_NEW(a, int, g->n_islands + 1);
    int n = 0;

    for (int s = 0; s < g->n_islands; s++) {
        for (int i = g->first[s]; i >= 0; i = g->next[i])
            device[n++] = g->device[i];
        island_at[s + 1] = n;
    }
    return (weft_class){.kind = d->kind,
                        .n_devices = g->n,
                        .n_islands = g->n_islands,
                        .device = device,
                        .island_at = island_at,
                        .memory_bytes = d->memory_bytes,
                        .speed = weft_design_peak_flops(&d->design[0]),
                        .inside = slowest_pair(g, scratch)};
}

/* --- classes --------------------------------------------------------------------------------- */

/* Numbers the kinds by first device; group_of: [n_devices] -1 for what takes no part. */
static int find_kinds(const weft_platform *p, weft_arena *a, int *group_of)
{
    weft_map *kinds = weft_map_new(a);
    int n = 0;

    for (int d = 0; d < p->n_devices; d++) {
        const char *kind = p->device[d].kind;
        size_t length = strlen(kind);

        group_of[d] = -1;
        if (d == p->host && p->n_devices > 1)
            continue;
        if (weft_map_put(kinds, kind, length, n))
            n++;
        group_of[d] = weft_map_get(kinds, kind, length);
    }
    return n;
}

static weft_class new_class(const weft_platform *p, const int *group_of, int k, weft_arena *a,
                            weft_arena *scratch)
{
    int *device = WEFT_NEW(scratch, int, p->n_devices);
    group g = {.p = p, .device = device};

    for (int d = 0; d < p->n_devices; d++)
        if (group_of[d] == k)
            device[g.n++] = d;
    find_islands(&g, scratch);
    return finish_class(&g, a, scratch);
}

static int by_speed(const void *a, const void *b)
{
    const weft_class *x = a, *y = b;

    return weft_order((double[]){-x->speed, x->device[0]}, (double[]){-y->speed, y->device[0]}, 2);
}

weft_status weft_cluster_new(const weft_platform *p, weft_cluster **out)
{
    weft_arena *a = weft_arena_new(), *scratch = weft_arena_new();
    weft_cluster *c = WEFT_NEW(a, weft_cluster, 1);
    int *group_of = WEFT_NEW(scratch, int, p->n_devices);
    int *class_of = WEFT_NEW(a, int, p->n_devices), *place_of = WEFT_NEW(a, int, p->n_devices);
    int n = find_kinds(p, scratch, group_of);
    weft_class *classes = WEFT_NEW(a, weft_class, n);

    for (int k = 0; k < n; k++)
        classes[k] = new_class(p, group_of, k, a, scratch);
    qsort(classes, (size_t)n, sizeof *classes, by_speed);
    for (int d = 0; d < p->n_devices; d++)
        class_of[d] = place_of[d] = -1;
    for (int k = 0; k < n; k++)
        for (int i = 0; i < classes[k].n_devices; i++) {
            class_of[classes[k].device[i]] = k;
            place_of[classes[k].device[i]] = i;
        }
    *c = (weft_cluster){.platform = p,
                        .n_classes = n,
                        .classes = classes,
                        .class_of = class_of,
                        .place_of = place_of,
                        .arena = a};
    weft_arena_free(scratch);
    *out = c;
    return WEFT_OK;
}

void weft_cluster_free(weft_cluster *c)
{
    if (c != NULL)
        weft_arena_free(c->arena);
}

/* --- blocks ---------------------------------------------------------------------------------- */

static int island_blocks(const weft_class *c, int width, int island)
{
    return (c->island_at[island + 1] - c->island_at[island]) / width;
}

int weft_class_blocks(const weft_class *c, int width)
{
    int n = 0;

    assert(width > 0);
    for (int s = 0; s < c->n_islands; s++)
        n += island_blocks(c, width, s);
    return n;
}

int weft_class_block(const weft_class *c, int width, int block)
{
    int s = 0;

    assert(width > 0 && block >= 0);
    while (s < c->n_islands && block >= island_blocks(c, width, s))
        block -= island_blocks(c, width, s++);
    assert(s < c->n_islands);
    return c->island_at[s] + block * width;
}

/* --- recomputation --------------------------------------------------------------------------- */

const char *weft_recompute_name(weft_recompute r)
{
    static const char *const names[WEFT_N_RECOMPUTES] = {"none", "selective", "full"};

    assert(r < WEFT_N_RECOMPUTES);
    return names[r];
}
