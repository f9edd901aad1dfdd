/* SPDX-License-Identifier: MIT */
/* Classes, islands and blocks of platforms; cuts of graphs of units against all subsets. */
#include "block.h"
#include "check.h"
#include "platform_text.h"

#include <time.h>

/* --- classes and islands --------------------------------------------------------------------- */

typedef struct machine {
    weft_platform *platform;
    weft_cluster *cluster;
} machine;

static machine clustered(weft_platform *p)
{
    machine m = {.platform = p};

    CHECK_OK(weft_cluster_new(p, &m.cluster));
    return m;
}

static machine opened(const char *source)
{
    weft_platform *p = NULL;

    CHECK_OK(weft_platform_open(source, &p));
    return clustered(p);
}

static machine noted(const char *text)
{
    weft_platform *p = NULL;

    CHECK_OK(weft_platform_notation(text, &p));
    return clustered(p);
}

static void dropped(machine *m)
{
    weft_cluster_free(m->cluster);
    weft_platform_free(m->platform);
}

static void check_ints(const int *value, const int *expected, int n)
{
    for (int i = 0; i < n; i++)
        CHECK_INT(value[i], expected[i]);
}

/* class_of and place_of are the reverse of the lists; the host takes no part. */
static void check_places(const weft_cluster *c)
{
    int n = 0;

    for (int d = 0; d < c->platform->n_devices; d++) {
        if (c->class_of[d] < 0) {
            CHECK_INT(d, c->platform->host);
            continue;
        }
        CHECK_INT(c->classes[c->class_of[d]].device[c->place_of[d]], d);
        n++;
    }
    for (int k = 0; k < c->n_classes; k++)
        n -= c->classes[k].n_devices;
    CHECK_INT(n, 0);
}

TEST(equal_servers_are_one_class_of_islands)
{
    machine m = opened("cluster-32");
    const weft_class *c = &m.cluster->classes[0];

    CHECK_INT(m.cluster->n_classes, 1);
    CHECK_TEXT(c->kind, "server.gpu");
    CHECK_INT(c->n_devices, 32);
    CHECK_INT(c->n_islands, 4);
    check_ints(c->island_at, (int[]){0, 8, 16, 24, 32}, 5);
    for (int i = 0; i < 32; i++)
        CHECK_INT(c->device[i], i);
    CHECK(c->memory_bytes == 80e9 && c->speed == 312e12);
    CHECK_NEAR(c->inside.latency_s, 3e-6); /* two links to the switch and from it */
    CHECK_NEAR(c->inside.bytes_per_s, 235e9);
    CHECK_INT(weft_class_blocks(c, 1), 32);
    CHECK_INT(weft_class_blocks(c, 3), 4 * 2);
    CHECK_INT(weft_class_blocks(c, 8), 4);
    CHECK_INT(weft_class_blocks(c, 16), 0);
    CHECK_INT(weft_class_block(c, 3, 1), 3);
    CHECK_INT(weft_class_block(c, 3, 2), 8); /* two GPUs of the first server are left */
    CHECK_INT(weft_class_block(c, 8, 3), 24);
    check_places(m.cluster);
    dropped(&m);
}

TEST(a_mixed_design_pipeline_has_classes_by_speed)
{
    machine m = opened("mixed-fleet");
    const weft_class *c = m.cluster->classes;

    CHECK_INT(m.cluster->n_classes, 3);
    CHECK_TEXT(c[0].kind, "fast.gpu");
    CHECK_TEXT(c[1].kind, "slow.gpu");
    CHECK_TEXT(c[2].kind, "slow.cpu"); /* the other CPU is the host */
    CHECK_INT(c[0].n_devices, 4);
    CHECK_INT(c[0].n_islands, 1);
    CHECK_NEAR(c[0].inside.bytes_per_s, 39e9); /* NVLink */
    CHECK_NEAR(c[0].inside.latency_s, 2e-6);
    CHECK_INT(c[1].n_devices, 4);
    CHECK_INT(c[1].n_islands, 1);
    CHECK_NEAR(c[1].inside.bytes_per_s, 12e9); /* PCIe */
    CHECK_NEAR(c[1].inside.latency_s, 1e-5);
    CHECK_INT(c[2].n_devices, 1);
    CHECK(c[2].inside.latency_s == 0 && isinf(c[2].inside.bytes_per_s)); /* nobody to talk to */
    check_places(m.cluster);
    CHECK_INT(m.cluster->class_of[m.platform->host], -1);
    CHECK_INT(m.cluster->place_of[m.platform->host], -1);
    dropped(&m);
}

static machine four_servers(const char *between)
{
    weft_arena *a = weft_arena_new();
    const char *text = weft_arena_print(
        a,
        "schema: weft.platform/1\nname: four\nswitches: [fabric]\ngroups:\n"
        "  - name: server\n    count: 4\n    switches: [nvswitch]\n    devices:\n"
        "      - {name: gpu, count: 2, model: roofline, peak_flops: 1, memory_bandwidth: 1}\n"
        "    links: [{star: {center: nvswitch, to: [gpu]}, bandwidth: 450GB/s, latency: 1us}]\n"
        "links: [{star: {center: fabric, to: [server.gpu]}, bandwidth: %s, latency: 3us}]\n",
        between);
    weft_platform *p = NULL;

    CHECK_OK(weft_platform_parse(text, strlen(text), "four.yaml", &p));
    weft_arena_free(a);
    return clustered(p);
}

/* 449 GB/s between servers of 450 GB/s, as much, and more: islands and routes inside stay. */
TEST(servers_are_the_groups_of_the_file)
{
    static const char *const between[] = {"449GB/s", "450GB/s", "451GB/s"};

    for (int i = 0; i < 3; i++) {
        machine m = four_servers(between[i]);
        const weft_class *c = &m.cluster->classes[0];

        CHECK_INT(c->n_islands, 4);
        check_ints(c->island_at, (int[]){0, 2, 4, 6, 8}, 5);
        CHECK_NEAR(c->inside.bytes_per_s, 450e9);
        CHECK_NEAR(c->inside.latency_s, 2e-6);
        CHECK_NEAR(weft_platform_route(m.platform, 0, 2)->latency_s, 6e-6);
        dropped(&m);
    }
}

TEST(islands_may_be_odd_and_apart)
{
    /* a0 a3 a4 are near each other, a1 a2 too; a5 is far from all */
    machine m = noted("6*a(flops=2); a0-a3:8 a0-a4:8 a3-a4:8 a1-a2:8,3us *:1,9us");
    const weft_class *c = m.cluster->classes;

    CHECK_INT(m.cluster->n_classes, 1);
    CHECK_INT(c->n_islands, 3);
    check_ints(c->island_at, (int[]){0, 3, 5, 6}, 4);
    check_ints(c->device, (int[]){0, 3, 4, 1, 2, 5}, 6);
    CHECK_NEAR(c->inside.bytes_per_s, 8.0);
    CHECK_NEAR(c->inside.latency_s, 3e-6); /* of a1 and a2 */
    CHECK_INT(weft_class_blocks(c, 2), 2);
    CHECK_INT(weft_class_block(c, 2, 0), 0); /* a0 a3 */
    CHECK_INT(weft_class_block(c, 2, 1), 3); /* a1 a2 */
    CHECK_INT(weft_class_blocks(c, 3), 1);
    CHECK_INT(weft_class_blocks(c, 4), 0);
    check_ints(m.cluster->place_of, (int[]){0, 3, 4, 1, 2, 5}, 6);
    dropped(&m);
}

TEST(a_ring_falls_into_pairs)
{
    /* other devices pass nothing on, so a0 and a2 are not joined at all */
    machine m = noted("4*a; a0-a1:5 a1-a2:5 a2-a3:5 a0-a3:5");
    const weft_class *c = m.cluster->classes;

    CHECK_INT(c->n_islands, 2);
    check_ints(c->device, (int[]){0, 1, 2, 3}, 4);
    check_ints(c->island_at, (int[]){0, 2, 4}, 3);
    dropped(&m);
}

TEST(lone_devices_are_islands)
{
    machine m = noted("3*a b(flops=7)");

    CHECK_INT(m.cluster->n_classes, 2);
    CHECK_TEXT(m.cluster->classes[0].kind, "b"); /* faster */
    CHECK_INT(m.cluster->classes[1].n_islands, 3);
    CHECK(isinf(m.cluster->classes[1].inside.bytes_per_s));
    check_places(m.cluster);
    dropped(&m);

    m = noted("cpu; host=cpu"); /* the only device computes, host or not */
    CHECK_INT(m.cluster->n_classes, 1);
    CHECK_INT(m.cluster->class_of[0], 0);
    dropped(&m);
}

static const char design_pipeline[] =
    "schema: weft.platform/1\nname: fleet\nswitches: [fabric]\ngroups:\n"
    "  - name: server\n    count: 512\n    switches: [nvswitch]\n    devices:\n"
    "      - {name: gpu, count: 8, model: roofline, peak_flops: 1, memory_bandwidth: 1}\n"
    "    links: [{star: {center: nvswitch, to: [gpu]}, bandwidth: 300GB/s, latency: 1us}]\n"
    "links: [{star: {center: fabric, to: [server.gpu]}, bandwidth: 200Gbit/s, latency: 2.5us}]\n";

static double seconds_since(clock_t start)
{
    return (double)(clock() - start) / CLOCKS_PER_SEC;
}

/* 16.8 million pairs. The limits are some times what they take; sanitizers take longer. */
TEST(thousands_of_devices_take_no_time)
{
    clock_t start = clock();
    weft_platform *p = NULL;
    machine m;

    CHECK_OK(weft_platform_parse(design_pipeline, strlen(design_pipeline), "f.yaml", &p));
    CHECK(!IS_THOROUGH || seconds_since(start) < 2);
    start = clock();
    m = clustered(p);
    CHECK(!IS_THOROUGH || seconds_since(start) < 0.5);
    CHECK_INT(m.cluster->n_classes, 1);
    CHECK_INT(m.cluster->classes[0].n_islands, 512);
    for (int s = 0; s <= 512; s++)
        CHECK_INT(m.cluster->classes[0].island_at[s], 8 * s);
    CHECK_INT(weft_class_block(&m.cluster->classes[0], 4, 1023), 4092);
    CHECK_NEAR(m.cluster->classes[0].inside.bytes_per_s, 300e9);
    CHECK_NEAR(weft_platform_route(p, 4095, 0)->bytes_per_s, 25e9);
    CHECK_NEAR(weft_platform_route(p, 4095, 0)->latency_s, 5e-6);
    dropped(&m);
}

TEST(every_preset_has_classes)
{
    for (int i = 0; i < weft_preset_count(); i++) {
        machine m = opened(weft_preset_at(i)->name);

        check_places(m.cluster);
        for (int k = 0; k < m.cluster->n_classes; k++) {
            const weft_class *c = &m.cluster->classes[k];

            CHECK_INT(weft_class_blocks(c, 1), c->n_devices);
            CHECK(k == 0 || c[-1].speed > c->speed ||
                  (c[-1].speed == c->speed && c[-1].device[0] < c->device[0]));
            for (int s = 1; s < c->n_islands; s++)
                CHECK(c->device[c->island_at[s - 1]] < c->device[c->island_at[s]]);
        }
        dropped(&m);
    }
}

TEST(recomputations_have_names)
{
    CHECK_TEXT(weft_recompute_name(WEFT_KEEP_ALL), "none");
    CHECK_TEXT(weft_recompute_name(WEFT_KEEP_SOME), "selective");
    CHECK_TEXT(weft_recompute_name(WEFT_KEEP_NONE), "full");
}

/* --- cuts ------------------------------------------------------------------------------------ */

TEST(a_chain_has_a_cut_behind_each_unit)
{
    weft_arena *a = weft_arena_new();
    weft_blocks u;

    weft_blocks_chain(70, a, &u); /* more than a word of bits */
    CHECK_INT(u.n_blocks, 70);
    CHECK_INT(u.n_cuts, 71);
    CHECK(u.is_chain && u.is_complete && u.of_node == NULL);
    CHECK_TEXT(u.name[69], "u69");
    for (int c = 0; c <= 70; c++)
        for (int v = 0; v < 70; v++)
            CHECK(weft_bit_get(u.cut + c * u.n_words, v) == (v < c));
    CHECK(u.leave_bytes[70] == 0 && u.back_bytes[35] == 0);
    weft_arena_free(a);
}

TEST(two_branches_have_their_product_of_cuts)
{
    weft_arena *a = weft_arena_new();
    int from[] = {0, 0, 1, 2, 3, 4}, to[] = {1, 2, 3, 4, 5, 5};
    weft_blocks u;

    /* 0, then 1 3 beside 2 4, then 5: nothing, 0 with 3 x 3 prefixes, all */
    CHECK(weft_blocks_dag(6, 6, from, to, 11, a, &u));
    CHECK_INT(u.n_cuts, 11);
    CHECK(!u.is_chain && u.is_complete);
    CHECK(!weft_blocks_dag(6, 6, from, to, 10, a, &u));
    CHECK(weft_blocks_dag(3, 2, (int[]){0, 1}, (int[]){1, 2}, 4, a, &u));
    CHECK(u.is_chain);
    weft_arena_free(a);
}

static bool is_closed(unsigned set, const int *from, const int *to, int n_edges)
{
    for (int e = 0; e < n_edges; e++)
        if (set >> to[e] & 1 && !(set >> from[e] & 1))
            return false;
    return true;
}

TEST(cuts_are_the_closed_sets_in_an_order_of_inclusion)
{
    weft_rng rng = weft_rng_seed(5);
    weft_arena *a = weft_arena_new();

    for (int round = 0; round < 200; round++) {
        size_t mark = weft_arena_mark(a);
        int n = 1 + weft_rng_below(&rng, 9), n_edges = 0, n_closed = 0, from[40], to[40];
        weft_blocks u;

        for (int v = 0; v < n; v++)
            for (int w = v + 1; w < n; w++)
                if (weft_rng_below(&rng, 3) == 0) {
                    from[n_edges] = v;
                    to[n_edges++] = w;
                }
        for (unsigned set = 0; set < 1u << n; set++)
            n_closed += is_closed(set, from, to, n_edges);
        CHECK(!weft_blocks_dag(n, n_edges, from, to, n_closed - 1, a, &u));
        CHECK(weft_blocks_dag(n, n_edges, from, to, n_closed, a, &u));
        CHECK_INT(u.n_cuts, n_closed);
        CHECK_INT(u.cut[0], 0);
        CHECK_INT(u.cut[u.n_cuts - 1], (1 << n) - 1);
        for (int c = 0; c < u.n_cuts; c++) {
            CHECK(is_closed((unsigned)u.cut[c], from, to, n_edges));
            for (int d = 0; d < c; d++)
                CHECK(u.cut[d] != u.cut[c] && !weft_cut_within(&u, c, d));
        }
        weft_arena_rewind(a, mark);
    }
    weft_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_servers_are_one_class_of_islands),
        cmocka_unit_test(a_mixed_design_pipeline_has_classes_by_speed),
        cmocka_unit_test(servers_are_the_groups_of_the_file),
        cmocka_unit_test(islands_may_be_odd_and_apart),
        cmocka_unit_test(a_ring_falls_into_pairs),
        cmocka_unit_test(lone_devices_are_islands),
        cmocka_unit_test(thousands_of_devices_take_no_time),
        cmocka_unit_test(every_preset_has_classes),
        cmocka_unit_test(recomputations_have_names),
        cmocka_unit_test(a_chain_has_a_cut_behind_each_unit),
        cmocka_unit_test(two_branches_have_their_product_of_cuts),
        cmocka_unit_test(cuts_are_the_closed_sets_in_an_order_of_inclusion),
    };
    return RUN_TESTS(tests);
}
