/* SPDX-License-Identifier: MIT */
/* What stages send on cluster-32 (four servers of eight GPUs: 2 us and 300 GB/s inside, 5 us and 25
 * GB/s between) and on mixed-fleet: by hand, and against the formulas device by device. */
#include "check.h"
#include "draw_training.h"
#include "train_plan.h"

enum { N_UNITS = 6, N_WIDTHS = 3, N_SHARES = 6, MOST_TABLES = 8 * N_WIDTHS * N_SHARES };

static drawn_training made(weft_platform *platform)
{
    drawn_training d = {.arena = weft_arena_new(), .platform = platform};
    static const int widths[N_WIDTHS] = {1, 2, 4};
    static const int64_t shares[N_SHARES] = {1, 2, 3, 4, 5, 6};
    const weft_block_cost *cost[MOST_TABLES];
    const weft_block_state *state[MOST_TABLES];
    weft_train_problem_spec s = {.name = "links",
                                 .n_widths = N_WIDTHS,
                                 .n_shares = N_SHARES,
                                 .width = widths,
                                 .share = shares,
                                 .cost = cost,
                                 .state = state};

    s.platform = d.platform;
    s.constraints =
        (weft_train_constraints){.batch = 12, .schedules = 0xf, .recomputes = 7, .most_chunks = 1};
    weft_blocks_chain(N_UNITS, d.arena, &s.blocks);
    for (int t = 0; t < MOST_TABLES; t++) {
        cost[t] = WEFT_NEW(d.arena, weft_block_cost, N_UNITS);
        state[t] = WEFT_NEW(d.arena, weft_block_state, N_UNITS);
    }
    CHECK_OK(weft_train_problem_make(&s, &d.training));
    return d;
}

static drawn_training opened(const char *name)
{
    weft_platform *p = NULL;

    CHECK_OK(weft_platform_open(name, &p));
    return made(p);
}

static drawn_training written(const char *text)
{
    weft_platform *p = NULL;

    CHECK_OK(weft_platform_parse(text, strlen(text), "p.yaml", &p));
    return made(p);
}

static weft_stage stage_of(int width, int n_parts, weft_device_set_part first,
                           weft_device_set_part second)
{
    return (weft_stage){
        .width = width, .n_parts = n_parts, .part = {first, second}
    };
}

static const weft_device_set_part none = {0, 0, 0, 0, 0};

/* --- by hand --------------------------------------------------------------------------------- */

TEST(sums_inside_a_server_use_its_switch)
{
    drawn_training d = opened("cluster-32");
    weft_stage eight = stage_of(1, 1, (weft_device_set_part){0, 8, 0, 1, 1}, none);
    weft_stage one = stage_of(4, 1, (weft_device_set_part){0, 1, 3, 1, 1}, none);
    weft_levels way[2];

    CHECK_INT(weft_sync_ways(d.training, &eight, way), 1);
    CHECK_NEAR(weft_levels_line(&way[0]).fixed_s, 2 * 7 * 3e-6);
    CHECK_NEAR(weft_levels_line(&way[0]).second_per_byte * 1e12, 2 * 7.0 / 8 / 235e9 * 1e12);
    CHECK_NEAR(weft_sync_s(d.training, &eight, 8e9), 42e-6 + 14e9 / 235e9);
    CHECK(weft_sync_s(d.training, &eight, 0) <= 0);
    CHECK_INT(weft_sync_ways(d.training, &one, way), 0);
    CHECK(weft_sync_s(d.training, &one, 1e9) <= 0);
    drop_training(&d);
}

TEST(sums_between_servers_have_two_ways)
{
    drawn_training d = opened("cluster-32");
    weft_stage all = stage_of(2, 1, (weft_device_set_part){0, 16, 0, 1, 1}, none);
    weft_stage each =
        stage_of(2, 1, (weft_device_set_part){0, 4, 0, 4, 1}, none); /* one a server */
    weft_stage uneven = stage_of(2, 1, (weft_device_set_part){0, 7, 0, 1, 1}, none);
    /* the same 16 blocks, one half after the other in each server */
    weft_stage mixed = stage_of(2, 2, (weft_device_set_part){0, 8, 0, 2, 1},
                                (weft_device_set_part){0, 8, 1, 2, 1});
    double ring_s = 2 * 15 * 5e-6 + 2 * 15.0 / 16 * 1e9 / 25e9;
    double levels_s =
        2 * 3 * 3e-6 + 2 * 3.0 / 4 * 1e9 / 235e9 + 2 * 3 * 5e-6 + 2 * 3.0 / 4 * 0.25e9 / 25e9;
    weft_levels way[2];

    CHECK_INT(weft_sync_ways(d.training, &all, way), 2);
    CHECK_NEAR(weft_levels_s(&way[0], 1e9), ring_s);
    CHECK_NEAR(weft_levels_s(&way[1], 1e9), levels_s);
    CHECK_NEAR(weft_sync_s(d.training, &all, 1e9), levels_s);
    CHECK_INT(weft_sync_ways(d.training, &mixed, way), 2);
    CHECK_NEAR(weft_sync_s(d.training, &mixed, 1e9), levels_s);
    CHECK_INT(weft_sync_ways(d.training, &each, way), 1);
    CHECK_NEAR(weft_sync_s(d.training, &each, 1e9), 2 * 3 * 5e-6 + 2 * 3.0 / 4 * 1e9 / 25e9);
    CHECK_INT(weft_sync_ways(d.training, &uneven, way), 1);
    CHECK_NEAR(weft_levels_line(&way[0]).fixed_s, 2 * 6 * 5e-6);
    drop_training(&d);
}

/* 4 samples of 1 MB. */
TEST(hops_go_from_member_to_member)
{
    drawn_training d = opened("cluster-32");
    weft_stage one = stage_of(1, 1, (weft_device_set_part){0, 1, 0, 1, 4}, none);
    weft_stage near = stage_of(1, 1, (weft_device_set_part){0, 1, 1, 1, 4}, none);
    weft_stage far = stage_of(1, 1, (weft_device_set_part){0, 1, 8, 1, 4}, none);
    weft_stage two = stage_of(1, 1, (weft_device_set_part){0, 2, 8, 1, 2}, none);
    weft_stage uneven = stage_of(1, 2, (weft_device_set_part){0, 1, 16, 1, 3},
                                 (weft_device_set_part){0, 1, 17, 1, 1});
    weft_stage wide = stage_of(2, 1, (weft_device_set_part){0, 1, 4, 1, 4}, none);

    CHECK_NEAR(weft_hop_s(d.training, &one, &near, 1e6), 3e-6 + 4e6 / 235e9);
    CHECK_NEAR(weft_hop_s(d.training, &one, &far, 1e6), 5e-6 + 4e6 / 25e9);
    /* two receivers: the sender still sends all */
    CHECK_NEAR(weft_hop_s(d.training, &one, &two, 1e6), 5e-6 + 4e6 / 25e9);
    CHECK_NEAR(weft_hop_s(d.training, &two, &one, 1e6), 5e-6 + 4e6 / 25e9);
    /* samples 0 1 | 2 3 to 0 1 2 | 3: the first receiver gets three */
    CHECK_NEAR(weft_hop_s(d.training, &two, &uneven, 1e6), 5e-6 + 3e6 / 25e9);
    /* both members need all of it; the other way each sends one half */
    CHECK_NEAR(weft_hop_s(d.training, &one, &wide, 1e6), 5e-6 + 8e6 / 25e9);
    CHECK_NEAR(weft_hop_s(d.training, &wide, &one, 1e6), 5e-6 + 4e6 / 25e9);
    CHECK(weft_hop_s(d.training, &one, &far, 0) <= 0);
    drop_training(&d);
}

TEST(shared_parameters_go_to_the_owner_and_back)
{
    drawn_training d = opened("cluster-32");
    weft_stage one = stage_of(1, 1, (weft_device_set_part){0, 1, 0, 1, 4}, none);
    weft_stage four = stage_of(1, 1, (weft_device_set_part){0, 4, 8, 1, 1}, none);
    weft_stage wide = stage_of(4, 1, (weft_device_set_part){0, 1, 4, 1, 4}, none);

    /* four others send to one owner; one other to the first of four owners */
    CHECK_NEAR(weft_shared_s(d.training, &one, &four, true, 1e6), 5e-6 + 4e6 / 25e9);
    CHECK_NEAR(weft_shared_s(d.training, &four, &one, true, 1e6), 5e-6 + 1e6 / 25e9);
    CHECK_NEAR(weft_shared_s(d.training, &one, &four, false, 1e6), 5e-6 + 4e6 / 25e9);
    /* each of four members holds a quarter */
    CHECK_NEAR(weft_shared_s(d.training, &one, &wide, true, 1e6), 5e-6 + 4e6 / 25e9);
    CHECK(weft_shared_s(d.training, &one, &wide, true, 0) <= 0);
    drop_training(&d);
}

/* The most bytes over a card, one way: of a sum, of a hop, of a shared parameter. */
static void check_use(const weft_train_problem *p, const weft_stage *shards, const weft_stage *here,
                      const weft_stage *there)
{
    weft_arena *a = weft_arena_new();
    weft_users u = weft_users_new(p->cluster->platform, false, a);

    CHECK_INT(u.n_shared, 8); /* 4 cards, two ways */
    weft_sync_use(p, shards, 13.5e9 / 8, &u);
    for (int r = 0; r < 8; r++)
        CHECK_NEAR(u.bytes[r], 2 * 3.0 / 4 * 13.5e9);
    weft_users_clear(&u);
    weft_hop_use(p, here, there, 1e6, &u);
    weft_hop_use(p, here, there, 1e6, &u);
    CHECK_NEAR(weft_users_s(&u), 16e6 / 25e9);
    weft_users_clear(&u);
    weft_shared_use(p, here, there, true, 1e6, &u);
    CHECK_NEAR(weft_users_s(&u), 8e6 / 25e9);
    weft_arena_free(a);
}

/* 7 billion parameters of 16 bits, 8 tensor-parallel shards in each of 4 servers with one card of 25
 * GB/s: the sum moves 2 * 3/4 * 13.5 GB through each card, whatever the links behind it carry. */
TEST(shards_of_a_server_share_its_card)
{
    static const char text[] =
        "schema: weft.platform/1\nname: servers\nswitches: [net]\ngroups:\n"
        "  - name: server\n    count: 4\n    switches: [hub]\n    devices:\n"
        "      - {name: gpu, count: 8, model: roofline, peak_flops: 1e12, memory_bandwidth: "
        "1TB/s}\n"
        "    links: [{star: {center: hub, to: [gpu]}, bandwidth: 300GB/s}]\n"
        "    shared: [{name: card, bandwidth: 25GB/s, of: [{star: {center: net, to: [gpu]}}]}]\n"
        "links: [{star: {center: net, to: [server.gpu]}, bandwidth: 25GB/s}]\n";
    drawn_training d = written(text);
    weft_stage shards = stage_of(8, 1, (weft_device_set_part){0, 4, 0, 1, 1}, none);
    weft_stage all = stage_of(1, 1, (weft_device_set_part){0, 32, 0, 1, 1}, none);
    weft_stage here = stage_of(8, 1, (weft_device_set_part){0, 1, 0, 1, 1}, none);
    weft_stage there = stage_of(8, 1, (weft_device_set_part){0, 1, 1, 1, 1}, none);

    CHECK(weft_sync_s(d.training, &shards, 13.5e9 / 8) >= 0.81 * (1 - 1e-9));
    CHECK_NEAR(weft_sync_s(d.training, &shards, 13.5e9 / 8), 2 * 3.0 / 4 * 13.5e9 / 25e9);
    CHECK_NEAR(weft_sync_s(d.training, &all, 1e9), /* inside servers first, then 8 rings at once */
               2 * 7.0 / 8 * 1e9 / 300e9 + 2 * 3.0 / 4 * 1e9 / 25e9);
    CHECK_NEAR(weft_hop_s(d.training, &here, &there, 1e6), 8e6 / 25e9); /* 8 members get all */
    check_use(d.training, &shards, &here, &there);
    drop_training(&d);
}

/* --- against the formulas -------------------------------------------------------------------- */

enum { MOST_DEVICES = 64 };

typedef struct block {
    int island, class_id, start; /* devices: from start on in the class */
    int64_t samples;
} block;

static int list_blocks(const weft_train_problem *p, const weft_stage *s, block *out)
{
    int n = 0;

    for (int k = 0; k < s->n_parts; k++) {
        const weft_class *c = &p->cluster->classes[s->part[k].class_id];

        for (int b = 0; b < s->part[k].n_blocks; b++) {
            int start = weft_class_block(c, s->width, s->part[k].first + b * s->part[k].step);
            int island = 0;

            while (c->island_at[island + 1] <= start)
                island++;
            out[n++] = (block){island, s->part[k].class_id, start, s->part[k].samples};
        }
    }
    return n;
}

static int device_of(const weft_train_problem *p, const block *b, int q)
{
    return p->cluster->classes[b->class_id].device[b->start + q];
}

/* Members of one island each, all islands of one size greater than one: that size; else 0. Fills
 * `member` island by island. */
static int level_size(const weft_train_problem *p, const block *list, int n, int q, int *member)
{
    int size = 0, n_members = 0, n_islands = 0;

    for (int c = 0; c < p->cluster->n_classes; c++)
        for (int i = 0; i < p->cluster->classes[c].n_islands; i++) {
            int here = 0;

            for (int k = 0; k < n; k++)
                if (list[k].class_id == c && list[k].island == i) {
                    member[n_members++] = device_of(p, &list[k], q);
                    here++;
                }
            if (here > 0 && size > 0 && here != size)
                return 0;
            size = here > 0 ? here : size;
            n_islands += here > 0;
        }
    return size > 1 && n_islands > 1 ? size : 0;
}

/* An all-reduce round a ring of devices: the latency and the bandwidth of the slowest neighbours,
 * which need not be the same two. */
static double ring_sum_s(const weft_platform *f, const int *member, int n, double bytes)
{
    double latency_s = 0, bytes_per_s = INFINITY;

    if (n <= 1)
        return 0;
    for (int i = 0; i < n; i++) {
        const weft_route *r = weft_platform_route(f, member[i], member[(i + 1) % n]);

        latency_s = fmax(latency_s, r->latency_s);
        bytes_per_s = fmin(bytes_per_s, r->n_hops < 0 ? 0 : r->bytes_per_s);
    }
    return 2 * (n - 1) * latency_s + 2 * (n - 1.0) / n * bytes / bytes_per_s;
}

/* Islands of `size` members: their rings with all of the bytes, then the rings of the k-th members
 * of all islands with their share. */
static double level_sum_s(const weft_platform *f, const int *member, int n, int size, double bytes)
{
    int n_islands = n / size, peer[MOST_DEVICES];
    double inside_s = 0, between_s = 0;

    for (int i = 0; i < n_islands; i++)
        inside_s = fmax(inside_s, ring_sum_s(f, member + (ptrdiff_t)i * size, size, bytes));
    for (int k = 0; k < size; k++) {
        for (int i = 0; i < n_islands; i++)
            peer[i] = member[i * size + k];
        between_s = fmax(between_s, ring_sum_s(f, peer, n_islands, bytes / size));
    }
    return inside_s + between_s;
}

/* Every member's ring, and its two levels. */
static double direct_sync_s(const weft_train_problem *p, const weft_stage *s, double bytes)
{
    block list[MOST_DEVICES];
    int n = list_blocks(p, s, list), member[MOST_DEVICES], size = 0;
    double ring_s = 0, levels_s = 0;

    for (int q = 0; q < s->width; q++) {
        for (int k = 0; k < n; k++)
            member[k] = device_of(p, &list[k], q);
        ring_s = fmax(ring_s, ring_sum_s(p->cluster->platform, member, n, bytes));
        size = level_size(p, list, n, q, member);
        if (size > 0)
            levels_s = fmax(levels_s, level_sum_s(p->cluster->platform, member, n, size, bytes));
    }
    return size > 0 ? fmin(ring_s, levels_s) : ring_s;
}

static int block_with(const block *list, int64_t sample)
{
    int k = 0;

    while (sample >= list[k].samples)
        sample -= list[k++].samples;
    return k;
}

/* Sample by sample, receiver by receiver. */
static double direct_hop_s(const weft_train_problem *p, const weft_stage *from,
                           const weft_stage *to, int64_t n_samples, double bytes)
{
    block sender[MOST_DEVICES], receiver[MOST_DEVICES];
    double out_s[MOST_DEVICES] = {0}, in_s[MOST_DEVICES] = {0}, most_s = 0, latency_s = 0;
    const weft_platform *f = p->cluster->platform;

    list_blocks(p, from, sender);
    list_blocks(p, to, receiver);
    for (int64_t j = 0; j < n_samples; j++)
        for (int t = 0; t < to->width; t++) {
            int b = device_of(p, &receiver[block_with(receiver, j)], t), n_senders = 0;

            for (int q = 0; q < from->width; q++)
                n_senders += from->width > to->width ? q % to->width == t : q == t % from->width;
            for (int q = 0; q < from->width; q++) {
                int a = device_of(p, &sender[block_with(sender, j)], q);
                const weft_route *r = weft_platform_route(f, a, b);

                if (from->width > to->width ? q % to->width != t : q != t % from->width)
                    continue;
                out_s[a] += bytes / n_senders / r->bytes_per_s;
                in_s[b] += bytes / n_senders / r->bytes_per_s;
                latency_s = fmax(latency_s, r->latency_s);
            }
        }
    for (int d = 0; d < f->n_devices; d++)
        most_s = fmax(most_s, fmax(out_s[d], in_s[d]));
    return most_s + latency_s;
}

/* Block k of the other stage and block k of the owner's, counted round. */
static double direct_shared_s(const weft_train_problem *p, const weft_stage *owner,
                              const weft_stage *other, bool is_to_owner, double bytes)
{
    block mine[MOST_DEVICES], theirs[MOST_DEVICES];
    int n_mine = list_blocks(p, owner, mine), n_theirs = list_blocks(p, other, theirs);
    int width = owner->width > other->width ? owner->width : other->width;
    double out_s[MOST_DEVICES] = {0}, in_s[MOST_DEVICES] = {0}, most_s = 0, latency_s = 0;
    const weft_platform *f = p->cluster->platform;

    for (int k = 0; k < n_theirs; k++)
        for (int q = 0; q < width; q++) {
            int a = device_of(p, &theirs[k], q % other->width);
            int b = device_of(p, &mine[k % n_mine], q % owner->width);
            const weft_route *r =
                is_to_owner ? weft_platform_route(f, a, b) : weft_platform_route(f, b, a);

            out_s[is_to_owner ? a : b] += bytes / r->bytes_per_s;
            in_s[is_to_owner ? b : a] += bytes / r->bytes_per_s;
            latency_s = fmax(latency_s, r->latency_s);
        }
    for (int d = 0; d < f->n_devices; d++)
        most_s = fmax(most_s, fmax(out_s[d], in_s[d]));
    return most_s + latency_s;
}

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-12 * fabs(b);
}

/* Regular device sets: equally many blocks of two classes (or of one), every one or every second.
 * Returns how many have two levels. */
static int compare_regular(const weft_train_problem *p, double bytes)
{
    int n_levels = 0;

    for (int w = 0; w < N_WIDTHS; w++)
        for (int c = 0; c < p->cluster->n_classes; c++)
            for (int e = c; e < p->cluster->n_classes; e++)
                for (int n = 1; n <= 16; n++)
                    for (int step = 1; step <= 2; step++) {
                        int width = p->width[w], most = (n - 1) * step + 1;
                        weft_stage s =
                            stage_of(width, 1 + (e > c), (weft_device_set_part){c, n, 0, step, 1},
                                     (weft_device_set_part){e, n, 0, step, 1});
                        weft_levels way[2];

                        if (most > weft_class_blocks(&p->cluster->classes[c], width) ||
                            most > weft_class_blocks(&p->cluster->classes[e], width))
                            continue;
                        n_levels += weft_sync_ways(p, &s, way) == 2;
                        CHECK(is_near(weft_sync_s(p, &s, bytes), direct_sync_s(p, &s, bytes)));
                    }
    return n_levels;
}

static void compare(const char *platform, int times)
{
    drawn_training d = opened(platform);
    weft_rng r = weft_rng_seed(9);
    int n_levels = compare_regular(d.training, 1e3) + compare_regular(d.training, 1e9);
    int n_unequal = 0;

    for (int i = 0; i < times; i++) {
        weft_arena *a = weft_arena_new();
        double bytes = pow(10, 9 * weft_rng_real(&r));
        weft_train_plan plan;
        weft_levels way[2];

        CHECK(draw_pipeline(d.training, WEFT_ONE_F_ONE_B, &r, a, &plan));
        for (int k = 0; k < plan.n_stages; k++) {
            const weft_stage *s = &plan.stage[k], *next = &plan.stage[(k + 1) % plan.n_stages];

            n_levels += weft_sync_ways(d.training, s, way) == 2;
            CHECK(is_near(weft_sync_s(d.training, s, bytes), direct_sync_s(d.training, s, bytes)));
            if (s == next)
                continue;
            n_unequal += s->width != next->width;
            CHECK(is_near(weft_hop_s(d.training, s, next, bytes),
                          direct_hop_s(d.training, s, next, plan.microbatch, bytes)));
            CHECK(is_near(weft_shared_s(d.training, s, next, i % 2, bytes),
                          direct_shared_s(d.training, s, next, i % 2, bytes)));
        }
        weft_arena_free(a);
    }
    CHECK(n_levels > 5 && (!IS_THOROUGH || n_unequal > 100));
    drop_training(&d);
}

TEST(links_are_those_of_the_formulas)
{
    compare("cluster-32", N_DRAWN(500));
    compare("mixed-fleet", N_DRAWN(500));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_inside_a_server_use_its_switch),
        cmocka_unit_test(sums_between_servers_have_two_ways),
        cmocka_unit_test(hops_go_from_member_to_member),
        cmocka_unit_test(shared_parameters_go_to_the_owner_and_back),
        cmocka_unit_test(shards_of_a_server_share_its_card),
        cmocka_unit_test(links_are_those_of_the_formulas),
    };

    return RUN_TESTS(tests);
}
