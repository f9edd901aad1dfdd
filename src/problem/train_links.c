/* SPDX-License-Identifier: MIT */
/* train_links.c: what stages of a pipeline send, and how long that takes.
 *
 * Sum of gradients over n blocks, V bytes a device, all members q = 0 .. width - 1 at the same
 * time; alpha and BW are the largest latency and the smallest bandwidth of neighbours:
 *   ring         2 (n-1) alpha + 2 (n-1)/n V / BW                  in the order of blocks
 *   two levels   g blocks in each of G islands, g and G > 1:
 *                2 (g-1) alpha_in + 2 (g-1)/g V / BW_in            inside islands
 *              + 2 (G-1) alpha_out + 2 (G-1)/G V/g / BW_out        the k-th blocks of all islands
 * (cost/collective.c). The transfers of a pass, of all members, share resources of the platform.
 *
 * A hop. Blocks of both stages cut a microbatch into stretches of samples, in order; what two of
 * them have in common, k samples, must be whole on every member of the receiving block. Members are
 * paired q mod width of one with q mod width of the other, q running to the wider one: a receiver
 * with several senders gets an equal part of the k samples from each. A device takes the sum of its
 * bytes over bandwidths, over all that it sends, or all that it receives; the hop takes the largest
 * of these sums, or that of a shared resource for all bytes over it, and the largest latency. Same
 * device: nothing moves.
 *
 * A shared parameter: train_plan.h. Time O(blocks * width). */
#include <assert.h>
#include <math.h>

#include "train_plan.h"

/* --- look-ups -------------------------------------------------------------------------------- */

int weft_width_place(const weft_train_problem *p, int width)
{
    for (int w = 0; w < p->n_widths; w++)
        if (p->width[w] == width)
            return w;
    return -1;
}

int weft_share_place(const weft_train_problem *p, int64_t samples)
{
    int low = 0, high = p->n_shares - 1;

    while (low < high) {
        int middle = low + (high - low) / 2;

        if (p->share[middle] < samples)
            low = middle + 1;
        else
            high = middle;
    }
    return p->share[low] == samples ? low : -1;
}

int weft_part_table(const weft_train_problem *p, const weft_stage *s, int part)
{
    int width = weft_width_place(p, s->width), share = weft_share_place(p, s->part[part].samples);

    if (width < 0 || share < 0)
        return -1;
    return weft_train_problem_table(p, s->part[part].class_id, width, share);
}

/* --- blocks ---------------------------------------------------------------------------------- */

int weft_stage_blocks(const weft_stage *s)
{
    int n = 0;

    for (int i = 0; i < s->n_parts; i++)
        n += s->part[i].n_blocks;
    return n;
}

weft_train_plan weft_train_plan_copy(const weft_train_plan *plan, weft_arena *a)
{
    weft_train_plan copy = *plan;
    size_t n_cuts = (size_t)plan->n_stages * (size_t)plan->n_chunks + 1;

    copy.cut = weft_arena_copy(a, plan->cut, n_cuts * sizeof *plan->cut);
    copy.stage = weft_arena_copy(a, plan->stage, (size_t)plan->n_stages * sizeof *plan->stage);
    return copy;
}

weft_block_walk weft_walk_blocks(const weft_train_problem *p, const weft_stage *s)
{
    return (weft_block_walk){.cluster = p->cluster, .stage = s, .part = 0, .number = -1};
}

/* Goes on to the island of block `block`. */
static void find_island(weft_block_walk *b, const weft_class *c, int block)
{
    for (;;) {
        int size = c->island_at[b->island + 1] - c->island_at[b->island];
        int n = size / b->stage->width;

        if (block < b->island_blocks + n) {
            b->member = c->device + c->island_at[b->island] +
                        (ptrdiff_t)(block - b->island_blocks) * b->stage->width;
            return;
        }
        b->island_blocks += n;
        b->island++;
    }
}

bool weft_walk_next(weft_block_walk *b)
{
    const weft_device_set_part *part;

    b->number++;
    while (b->part < b->stage->n_parts && b->number >= b->stage->part[b->part].n_blocks) {
        b->part++;
        b->number = b->island = b->island_blocks = 0;
    }
    if (b->part >= b->stage->n_parts)
        return false;
    part = &b->stage->part[b->part];
    b->sample = b->end_sample;
    b->end_sample += part->samples;
    find_island(b, &b->cluster->classes[part->class_id], part->first + b->number * part->step);
    return true;
}

/* --- sums of gradients ----------------------------------------------------------------------- */

static const weft_route *route_of(const weft_train_problem *p, int from, int to)
{
    return weft_platform_route(p->cluster->platform, from, to);
}

/* Slowest neighbours: member q of one block to member q of another, all at the same time. */
typedef struct pass {
    const weft_train_problem *p;
    int width;
    double bytes; /* of each member */
    weft_link_cost slowest;
    weft_users *users;
} pass;

/* Where a block is. */
typedef struct place {
    const int *member;
    int class_id, island;
} place;

static void take(pass *x, const place *from, const place *to)
{
    for (int q = 0; q < x->width; q++) {
        weft_link_cost_take(x->p->cluster->platform, from->member[q], to->member[q], &x->slowest);
        weft_users_add(x->users, from->member[q], to->member[q], x->bytes);
    }
}

/* All blocks in order. */
static place *list_places(const weft_train_problem *p, const weft_stage *s, weft_arena *a)
{
    place *list = WEFT_NEW(a, place, weft_stage_blocks(s));
    weft_block_walk b = weft_walk_blocks(p, s);

    for (int k = 0; weft_walk_next(&b); k++)
        list[k] = (place){b.member, s->part[b.part].class_id, b.island};
    return list;
}

static void take_ring(pass *x, const place *list, int n)
{
    for (int k = 0; k < n; k++)
        take(x, &list[k], &list[(k + 1) % n]);
}

static bool is_behind(const place *a, const place *b)
{
    return a->class_id != b->class_id ? a->class_id > b->class_id : a->island > b->island;
}

/* By class and island, else in the order they had; parts are in order, so little moves. */
static void sort_places(place *list, int n)
{
    for (int i = 1; i < n; i++) {
        place moved = list[i];
        int k = i;

        for (; k > 0 && is_behind(&list[k - 1], &moved); k--)
            list[k] = list[k - 1];
        list[k] = moved;
    }
}

/* Blocks of an island, if all have equally many and more than one, and there are several islands;
 * else 0. The list is sorted. */
static int island_size(const place *list, int n)
{
    int size = 1;

    while (size < n && !is_behind(&list[size], &list[0]))
        size++;
    if (size == 1 || size == n || n % size != 0)
        return 0;
    for (int k = 1; k < n; k++)
        if (is_behind(&list[k], &list[k - 1]) != (k % size == 0))
            return 0;
    return size;
}

/* Two levels, the list being sorted, `size` blocks an island. */
static void take_inside(pass *x, const place *list, int n, int size)
{
    for (int i = 0; i < n; i++)
        take(x, &list[i], &list[i % size + 1 < size ? i + 1 : i + 1 - size]);
}

static void take_outside(pass *x, const place *list, int n, int size)
{
    for (int i = 0; i < n; i++)
        take(x, &list[i], &list[(i + size) % n]);
}

/* A pass that nobody has counted in yet. */
static pass new_pass(const weft_train_problem *p, const weft_stage *s, weft_users *u)
{
    weft_users_clear(u);
    return (pass){.p = p, .width = s->width, .slowest = WEFT_LINK_COST_NONE, .users = u};
}

static weft_link_cost end_pass(pass *x)
{
    weft_users_slow(x->users, &x->slowest);
    return x->slowest;
}

int weft_sync_ways(const weft_train_problem *p, const weft_stage *s, weft_levels way[2])
{
    int n = weft_stage_blocks(s), size;
    weft_arena *scratch;
    weft_users u;
    place *list;
    pass x;

    if (n <= 1)
        return 0;
    scratch = weft_arena_new();
    u = weft_users_new(p->cluster->platform, false, scratch);
    list = list_places(p, s, scratch);
    x = new_pass(p, s, &u);
    take_ring(&x, list, n);
    way[0] = (weft_levels){
        .n_inside = n, .n_outside = 1, .inside = end_pass(&x), .outside = WEFT_LINK_COST_NONE};
    sort_places(list, n);
    size = island_size(list, n);
    if (size > 0) {
        way[1] = (weft_levels){.n_inside = size, .n_outside = n / size};
        x = new_pass(p, s, &u);
        take_inside(&x, list, n, size);
        way[1].inside = end_pass(&x);
        x = new_pass(p, s, &u);
        take_outside(&x, list, n, size);
        way[1].outside = end_pass(&x);
    }
    weft_arena_free(scratch);
    return size > 0 ? 2 : 1;
}

/* What a ring of n sends from each member, of so many bytes. */
static double ring_bytes(int n, double bytes)
{
    return WEFT_ALL_REDUCE * (n - 1.0) / n * bytes;
}

void weft_sync_use(const weft_train_problem *p, const weft_stage *s, double bytes, weft_users *u)
{
    int n = weft_stage_blocks(s), size;
    pass x = {.p = p, .width = s->width, .slowest = WEFT_LINK_COST_NONE, .users = u};
    weft_arena *scratch;
    place *list;

    if (n <= 1 || !(bytes > 0))
        return;
    scratch = weft_arena_new();
    list = list_places(p, s, scratch);
    sort_places(list, n);
    size = island_size(list, n);
    if (size > 0) {
        x.bytes = ring_bytes(size, bytes);
        take_inside(&x, list, n, size);
        x.bytes = ring_bytes(n / size, bytes / size);
        take_outside(&x, list, n, size);
    } else {
        list = list_places(p, s, scratch);
        x.bytes = ring_bytes(n, bytes);
        take_ring(&x, list, n);
    }
    weft_arena_free(scratch);
}

double weft_ways_s(const weft_levels *way, int n_ways, double bytes)
{
    double seconds = n_ways > 0 ? weft_levels_s(&way[0], bytes) : 0.0;

    return n_ways > 1 ? fmin(seconds, weft_levels_s(&way[1], bytes)) : seconds;
}

double weft_sync_s(const weft_train_problem *p, const weft_stage *s, double bytes)
{
    weft_levels way[2];

    return weft_ways_s(way, weft_sync_ways(p, s, way), bytes);
}

/* --- hops ------------------------------------------------------------------------------------ */

/* Transfers from the blocks of one stage to those of another, summed by device. */
typedef struct exchange {
    const weft_train_problem *p;
    const place *from, *to;     /* blocks */
    int from_width, to_width;   /* of these */
    double *send_s, *receive_s; /* [blocks * width] */
    double latency_s;
    weft_users users;
    bool is_least; /* as if no link had a curve */
    weft_arena *scratch;
} exchange;

static exchange new_exchange(const weft_train_problem *p, const weft_stage *from,
                             const weft_stage *to)
{
    weft_arena *a = weft_arena_new();

    return (exchange){
        .p = p,
        .from = list_places(p, from, a),
        .to = list_places(p, to, a),
        .from_width = from->width,
        .to_width = to->width,
        .send_s = WEFT_NEW(a, double, (int64_t)weft_stage_blocks(from) * from->width),
        .receive_s = WEFT_NEW(a, double, (int64_t)weft_stage_blocks(to) * to->width),
        .users = weft_users_new(p->cluster->platform, false, a),
        .scratch = a,
    };
}

/* Member f of block `from` sends to member t of block `to`. */
static void send(exchange *x, int from, int f, int to, int t, double bytes)
{
    int sender = x->from[from].member[f], receiver = x->to[to].member[t];
    const weft_route *r = route_of(x->p, sender, receiver);
    double seconds = r->n_hops < 0 ? INFINITY : bytes / r->bytes_per_s;

    if (sender == receiver)
        return;
    if (r->curves != 0 && bytes > 0 && !x->is_least)
        seconds = weft_route_s(x->p->cluster->platform, r, bytes);
    weft_users_add(&x->users, sender, receiver, bytes);
    x->send_s[(size_t)from * (size_t)x->from_width + (size_t)f] += seconds;
    x->receive_s[(size_t)to * (size_t)x->to_width + (size_t)t] += seconds;
    x->latency_s = fmax(x->latency_s, r->latency_s);
}

/* Every member of block `to` gets all of the bytes. */
static void send_whole(exchange *x, int from, int to, double bytes)
{
    int f = x->from_width, t = x->to_width;

    for (int q = 0; q < (f > t ? f : t); q++) {
        int n_senders = f > t ? (f - 1 - q % t) / t + 1 : 1;

        send(x, from, q % f, to, q % t, bytes / n_senders);
    }
}

/* Every pair of members moves the bytes. */
static void send_parts(exchange *x, int from, int to, double bytes)
{
    int f = x->from_width, t = x->to_width;

    for (int q = 0; q < (f > t ? f : t); q++)
        send(x, from, q % f, to, q % t, bytes);
}

static double end_exchange(exchange *x, const weft_stage *from, const weft_stage *to,
                           weft_users *use)
{
    int64_t n_from = (int64_t)weft_stage_blocks(from) * from->width;
    int64_t n_to = (int64_t)weft_stage_blocks(to) * to->width;
    double longest_s = weft_users_s(&x->users);

    for (int64_t i = 0; i < n_from; i++)
        longest_s = fmax(longest_s, x->send_s[i]);
    for (int64_t i = 0; i < n_to; i++)
        longest_s = fmax(longest_s, x->receive_s[i]);
    for (int i = 0; use != NULL && i < use->n_shared; i++)
        use->bytes[i] += x->users.bytes[i];
    weft_arena_free(x->scratch);
    return longest_s + x->latency_s;
}

static double hop_s(const weft_train_problem *p, const weft_stage *from, const weft_stage *to,
                    double sample_bytes, bool is_least, weft_users *use)
{
    weft_block_walk b = weft_walk_blocks(p, from), c = weft_walk_blocks(p, to);
    int i = 0, k = 0;
    exchange x;

    if (!(sample_bytes > 0))
        return 0.0;
    x = new_exchange(p, from, to);
    x.is_least = is_least;
    weft_walk_next(&b);
    weft_walk_next(&c);
    for (bool is_more = true; is_more;) {
        int64_t first = b.sample > c.sample ? b.sample : c.sample;
        int64_t end = b.end_sample < c.end_sample ? b.end_sample : c.end_sample;
        bool is_next_sender = b.end_sample == end, is_next_receiver = c.end_sample == end;

        send_whole(&x, i, k, (double)(end - first) * sample_bytes);
        i += is_next_sender;
        k += is_next_receiver;
        if (is_next_sender)
            is_more = weft_walk_next(&b);
        if (is_next_receiver)
            is_more = weft_walk_next(&c) && is_more;
    }
    return end_exchange(&x, from, to, use);
}

double weft_hop_s(const weft_train_problem *p, const weft_stage *from, const weft_stage *to,
                  double sample_bytes)
{
    return hop_s(p, from, to, sample_bytes, false, NULL);
}

void weft_hop_use(const weft_train_problem *p, const weft_stage *from, const weft_stage *to,
                  double sample_bytes, weft_users *u)
{
    (void)hop_s(p, from, to, sample_bytes, true, u);
}

weft_affine weft_hop_line(const weft_train_problem *p, const weft_stage *from, const weft_stage *to)
{
    const double probe_bytes = 1e6;
    double one_s = hop_s(p, from, to, probe_bytes, true, NULL);
    double two_s = hop_s(p, from, to, 2 * probe_bytes, true, NULL);

    if (!(two_s < INFINITY))
        return (weft_affine){INFINITY, 0};
    return (weft_affine){fmax(0, 2 * one_s - two_s), (two_s - one_s) / probe_bytes};
}

/* --- shared parameters ----------------------------------------------------------------------- */

double weft_shared_bytes(const weft_train_problem *p, int shared, int table)
{
    const weft_blocks *u = &p->blocks;
    int other = u->shared[shared].other, n = 0;
    const weft_block_state *s = &p->state[table][other];

    for (int i = 0; i < u->n_shared; i++)
        n += u->shared[i].other == other;
    return fmax(0.0, s->gradient_bytes - s->sync_bytes) / n;
}

static double shared_s(const weft_train_problem *p, const weft_stage *owner,
                       const weft_stage *other, bool is_to_owner, double bytes, weft_users *use)
{
    const weft_stage *from = is_to_owner ? other : owner, *to = is_to_owner ? owner : other;
    int n_owner = weft_stage_blocks(owner), n_other = weft_stage_blocks(other);
    exchange x;

    assert(n_owner > 0);
    if (!(bytes > 0))
        return 0.0;
    x = new_exchange(p, from, to);
    for (int k = 0; k < n_other; k++)
        if (is_to_owner)
            send_parts(&x, k, k % n_owner, bytes);
        else
            send_parts(&x, k % n_owner, k, bytes);
    return end_exchange(&x, from, to, use);
}

double weft_shared_s(const weft_train_problem *p, const weft_stage *owner, const weft_stage *other,
                     bool is_to_owner, double bytes)
{
    return shared_s(p, owner, other, is_to_owner, bytes, NULL);
}

void weft_shared_use(const weft_train_problem *p, const weft_stage *owner, const weft_stage *other,
                     bool is_to_owner, double bytes, weft_users *u)
{
    (void)shared_s(p, owner, other, is_to_owner, bytes, u);
}
