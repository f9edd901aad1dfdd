/* SPDX-License-Identifier: MIT */
/* Collectives, links with curves, and what transfers share. */
#include "check.h"
#include "collective.h"

static weft_platform *parsed(const char *text)
{
    weft_platform *p = NULL;

    CHECK_OK(weft_platform_parse(text, strlen(text), "p.yaml", &p));
    return p;
}

/* --- formulas -------------------------------------------------------------------------------- */

TEST(collectives_by_hand)
{
    weft_link_cost l = {.latency_s = 1e-3, .bytes_per_s = 1e9};
    weft_levels two = {.n_inside = 4, .n_outside = 2, .inside = l, .outside = l};

    CHECK_NEAR(weft_tree_s(&l, 8, 4e6), 6 * (1e-3 + 4e-3)); /* up 3 levels and down again */
    CHECK_NEAR(weft_tree_s(&l, 5, 4e6), 6 * (1e-3 + 4e-3));
    CHECK_NEAR(weft_all_to_all_s(&l, 4, 4e6), 3 * (1e-3 + 1e-3));
    CHECK_NEAR(weft_levels_s(&two, 4e6), 6 * (1e-3 + 1e-3) + 2 * (1e-3 + 0.5e-3));
    l.has_trees = true;
    CHECK_NEAR(weft_ring_s(&l, 8, WEFT_ALL_REDUCE, 8e3), 6 * (1e-3 + 8e-6)); /* small: tree */
    CHECK_NEAR(weft_ring_s(&l, 8, WEFT_ALL_REDUCE, 8e9), 14 * (1e-3 + 1.0)); /* large: ring */
    CHECK_NEAR(weft_ring_s(&l, 8, WEFT_ALL_GATHER, 8e3), 7 * (1e-3 + 1e-6));
    CHECK(weft_tree_s(&l, 1, 1) <= 0 && weft_all_to_all_s(&l, 1, 1) <= 0); /* nobody to talk to */
    CHECK(weft_tree_s(&l, 8, 0) <= 0 && weft_levels_s(&two, 0) <= 0);      /* nothing to say */
}

/* --- curves ---------------------------------------------------------------------------------- */

#define PAIR(LINK)                                                                                 \
    "schema: weft.platform/1\nname: p\ndevices:\n"                                                 \
    "  - {name: a, model: roofline, peak_flops: 1, memory_bandwidth: 1}\n"                         \
    "  - {name: b, model: roofline, peak_flops: 1, memory_bandwidth: 1}\n"                         \
    "links: [{between: [a, b], latency: 1us, " LINK "}]\n"

TEST(curves_by_hand)
{
    weft_platform *p = parsed(PAIR("curve: [[1kB, 1GB/s], [1MB, 10GB/s]]"));
    weft_link_cost l = WEFT_LINK_COST_NONE;

    weft_link_cost_take(p, 0, 1, &l);
    CHECK_NEAR(weft_transfer_s(p, 0, 1, 1e3), 1e-6 + 1e-6);
    CHECK_NEAR(weft_transfer_s(p, 0, 1, 1e6), 1e-6 + 100e-6);
    CHECK_NEAR(weft_transfer_s(p, 0, 1, 500), 1e-6 + 0.5e-6);     /* at 1 GB/s */
    CHECK_NEAR(weft_transfer_s(p, 0, 1, 1e9), 1e-6 + 0.1);        /* at 10 GB/s */
    CHECK_NEAR(weft_transfer_s(p, 0, 1, 500500), 1e-6 + 50.5e-6); /* half way */
    CHECK_NEAR(weft_link_cost_s(&l, 500500), 1e-6 + 50.5e-6);
    CHECK_NEAR(weft_ring_s(&l, 4, WEFT_ALL_REDUCE, 4e3), 6 * (1e-6 + 1e-6)); /* messages of 1 kB */
    CHECK_NEAR(weft_platform_route(p, 0, 1)->bytes_per_s, 10e9);
    weft_platform_free(p);
}

TEST(curves_that_are_wrong)
{
    static const struct {
        const char *text, *part;
    } cases[] = {
        {PAIR("curve: [[1MB, 1GB/s], [1kB, 1GB/s]]"),                    "expected more"        },
        {PAIR("curve: [[1kB, 1GB/s], [2kB, 4GB/s]]"),                    "takes 0.5 us, less"   },
        {PAIR("curve: []"),                                              "0 points"             },
        {PAIR("curve: [1kB]"),                                           "expected a pair"      },
        {PAIR("curve: [[1kB, 1GB/s, 3]]"),                               "not two values"       },
        {PAIR("curve: [[0B, 1GB/s]]"),                                   "bytes"                },
        {PAIR("curve: [[1kB, 1]]"),                                      "bandwidth"            },
        {PAIR("bandwidth: 1GB/s, curve: [[1kB, 1GB/s], [1MB, 10GB/s]]"), "at most the bandwidth"},
        {PAIR("bytes: 3"),                                               "bytes"                },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        weft_platform *p = NULL;

        CHECK_FAILS(weft_platform_parse(cases[i].text, strlen(cases[i].text), "p.yaml", &p),
                    cases[i].part);
    }
}

/* Never faster than the bandwidth says, more bytes never in less time, wider never slower. */
TEST(curves_keep_their_relations)
{
    weft_rng r = weft_rng_seed(3);

    for (int i = 0; i < 500; i++) {
        weft_arena *a = weft_arena_new();
        double bytes = 100, bandwidth = 1e8, fastest = 1e8;
        const char *text = "curve: [";
        weft_platform *p;
        double before_s = 0;

        for (int k = 1 + weft_rng_below(&r, 6); k > 0; k--) {
            double grow = 1 + 3 * weft_rng_real(&r);

            bytes *= grow;
            bandwidth *= 1 + (grow - 1.01) * weft_rng_real(&r) * 0.99;
            fastest = fmax(fastest, bandwidth);
            text = weft_arena_print(a, "%s[%.3fB, %.3fB/s]%s", text, bytes, bandwidth,
                                    k > 1 ? ", " : "]");
        }
        p = parsed(weft_arena_print(a, PAIR("%s"), text));
        for (double b = 50; b < 1e6; b *= 1.1) {
            double s = weft_transfer_s(p, 0, 1, b);

            CHECK(s >= before_s);
            CHECK(s >= (1e-6 + b / fastest) * (1 - 1e-9));
            before_s = s;
        }
        weft_platform_free(p);
        weft_arena_free(a);
    }
}

/* all_reduce_perf of nccl-tests on 8 A100 with NVLink 3 and NVSwitch: S. Bekman, Machine Learning
 * Engineering, network/README.md (github.com/stas00/ml-engineering). Bytes, microseconds. */
static const double nccl[][2] = {
    {32768,       43.83   },
    {65536,       46.80   },
    {131072,      51.76   },
    {262144,      61.38   },
    {524288,      80.40   },
    {1048576,     101.9   },
    {2097152,     101.4   },
    {4194304,     101.5   },
    {8388608,     133.5   },
    {16777216,    276.6   },
    {33554432,    424.0   },
    {67108864,    684.6   },
    {134217728,   1327.6  },
    {268435456,   2420.6  },
    {536870912,   4218.4  },
    {1073741824,  8203.9  },
    {2147483648,  16240.0 },
    {4294967296,  32136.0 },
    {8589934592,  64074.0 },
    {17179869184, 127997.0},
};

enum { N_NCCL = sizeof nccl / sizeof nccl[0] };

/* A point of the curve is the message of one member, V / 8, and the bus bandwidth of the tests. */
static weft_platform *eight_gpus(int first, weft_arena *a)
{
    const char *text =
        "schema: weft.platform/1\nname: node\nswitches: [nvswitch]\ndevices:\n"
        "  - {name: gpu, count: 8, model: roofline, peak_flops: 1, memory_bandwidth: 1}\n"
        "links:\n  - {star: {center: nvswitch, to: [gpu]}, curve: [";
    double longest_us = 0;

    for (int i = first; i < N_NCCL; i += 2) {
        longest_us = fmax(longest_us, nccl[i][1]); /* 1 MiB took 0.4 % longer than 4 MiB */
        text = weft_arena_print(a, "%s[%.17gB, %.17gB/s]%s", text, nccl[i][0] / 8,
                                2 * 7.0 / 8 * nccl[i][0] / (1e-6 * longest_us),
                                i + 2 < N_NCCL ? ", " : "]}\n");
    }
    return parsed(text);
}

static int by_size(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;

    return (a > b) - (a < b);
}

/* Every second size makes the curve, the others are predicted. */
TEST(measured_all_reduces_are_predicted)
{
    for (int first = 0; first < 2; first++) {
        weft_arena *a = weft_arena_new();
        weft_platform *p = eight_gpus(first, a);
        weft_link_cost l = WEFT_LINK_COST_NONE;
        double error[N_NCCL / 2];

        for (int i = 0; i < 8; i++)
            weft_link_cost_take(p, i, (i + 1) % 8, &l);
        for (int i = 0; i < N_NCCL; i++) {
            double s = weft_ring_s(&l, 8, WEFT_ALL_REDUCE, nccl[i][0]);

            if (i % 2 == first)
                CHECK(fabs(s / (1e-6 * nccl[i][1]) - 1) < 0.005);
            else
                error[i / 2] = fabs(s / (1e-6 * nccl[i][1]) - 1);
        }
        qsort(error, N_NCCL / 2, sizeof error[0], by_size);
        CHECK(error[N_NCCL / 4] < 0.1);
        weft_platform_free(p);
        weft_arena_free(a);
    }
}

/* --- sharing --------------------------------------------------------------------------------- */

static const char card[] =
    "schema: weft.platform/1\nname: servers\nswitches: [net]\ngroups:\n"
    "  - name: server\n    count: 2\n    devices:\n"
    "      - {name: gpu, count: 4, model: roofline, peak_flops: 1, memory_bandwidth: 1}\n"
    "    links: [{all: [gpu], bandwidth: 300GB/s}]\n"
    "    shared:\n"
    "      - {name: card, bandwidth: 20GB/s, of: [{star: {center: net, to: [gpu]}}]}\n"
    "links: [{star: {center: net, to: [server.gpu]}, bandwidth: 10GB/s, latency: 1us}]\n";

TEST(a_card_is_shared_by_a_server)
{
    weft_platform *p = parsed(card);
    weft_arena *a = weft_arena_new();
    weft_users u = weft_users_new(p, true, a);
    weft_link_cost l = WEFT_LINK_COST_NONE;

    CHECK_INT(p->n_resources, 4); /* a card and its way back for each server */
    CHECK_NEAR(weft_platform_route(p, 0, 4)->bytes_per_s, 10e9);
    weft_users_add(&u, 0, 4, 1e9);
    weft_link_cost_take(p, 0, 4, &l);
    weft_users_slow(&u, &l);
    CHECK_NEAR(l.bytes_per_s, 10e9); /* alone, the link is narrower */
    for (int i = 1; i < 4; i++)
        weft_users_add(&u, i, 4 + i, 1e9);
    weft_users_slow(&u, &l);
    CHECK_NEAR(l.bytes_per_s, 5e9);
    CHECK_NEAR(weft_users_s(&u), 4e9 / 20e9);
    weft_users_clear(&u);
    weft_users_add(&u, 0, 1, 1e9); /* inside a server */
    weft_users_add(&u, 0, 0, 1e9);
    CHECK(weft_users_s(&u) <= 0);
    weft_users_add(&u, 0, 4, 1e9); /* there and back do not meet */
    weft_users_add(&u, 5, 1, 1e9);
    CHECK_NEAR(weft_users_s(&u), 1e9 / 20e9);
    weft_arena_free(a);
    weft_platform_free(p);
}

TEST(shared_resources_that_are_wrong)
{
    static const struct {
        const char *shared, *part;
    } cases[] = {
        {"{name: x, of: [{between: [a, b]}]}",                                "bandwidth"        },
        {"{name: x, bandwidth: 1GB/s}",                                       "of"               },
        {"{name: x, bandwidth: 1GB/s, of: []}",                               "empty"            },
        {"{name: x, bandwidth: 1GB/s, of: [a, a]}",                           "twice"            },
        {"{name: x, bandwidth: 1GB/s, of: [a, s]}",                           "is a switch"      },
        {"{name: x, bandwidth: 1GB/s, of: [{between: [a, b]}, a]}",           "devices only"     },
        {"{name: x, bandwidth: 1GB/s, of: [a, {between: [a, b]}]}",           "expected the name"},
        {"{name: x, bandwidth: 1GB/s, of: [3]}",                              "expected links"   },
        {"{name: x, bandwidth: 1GB/s, of: [{between: [a, c]}]}",              "no device"        },
        {"{name: x, bandwidth: 1GB/s, of: [{between: [a, s]}]}",              "not linked"       },
        {"{name: x, bandwidth: 1GB/s, of: [{between: [a, b], all: [a, b]}]}", "expected one"     },
        {"{name: x, bandwidth: 1GB/s, links: [], of: [{between: [a, b]}]}",   "links"            },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        weft_arena *a = weft_arena_new();
        const char *text = weft_arena_print(
            a, PAIR("bandwidth: 1GB/s") "switches: [s]\nshared: [%s]\n", cases[i].shared);
        weft_platform *p = NULL;

        CHECK_FAILS(weft_platform_parse(text, strlen(text), "p.yaml", &p), cases[i].part);
        weft_arena_free(a);
    }
}

/* 137 GB/s for devices that could take 273 GB/s together: half of what each could alone. */
TEST(devices_share_a_memory)
{
    static const char text[] =
        "schema: weft.platform/1\nname: soc\ndevices:\n"
        "  - {name: cpu, model: roofline, peak_flops: 1, memory_bandwidth: 68.5GB/s}\n"
        "  - {name: gpu, model: roofline, peak_flops: 1, memory_bandwidth: 137GB/s}\n"
        "  - {name: npu, count: 2, model: roofline, peak_flops: 1, memory_bandwidth: 34.25GB/s}\n"
        "links: [{all: [cpu, gpu, npu], bandwidth: 1GB/s}]\n"
        "shared: [{name: dram, bandwidth: %s, of: [cpu, gpu, npu]}]\n";
    static const char *const bandwidth[] = {"137GB/s", "274GB/s"};

    for (int i = 0; i < 2; i++) {
        weft_arena *a = weft_arena_new();
        weft_platform *p = parsed(weft_arena_print(a, text, bandwidth[i]));

        CHECK_NEAR(p->device[0].design->value[WEFT_P_BANDWIDTH], (i + 1) * 34.25e9);
        CHECK_NEAR(p->device[1].design->value[WEFT_P_BANDWIDTH], (i + 1) * 68.5e9);
        CHECK_NEAR(p->device[3].design->value[WEFT_P_BANDWIDTH], (i + 1) * 17.125e9);
        CHECK_INT(p->n_resources, 0);
        weft_platform_free(p);
        weft_arena_free(a);
    }
}

/* k users of a resource never finish before the sum of their bytes / its bandwidth, whether all send
 * as much or not; and alone they are as fast as their route. */
TEST(users_never_exceed_a_resource)
{
    weft_rng r = weft_rng_seed(5);
    weft_platform *p = parsed(card);

    for (int i = 0; i < 2000; i++) {
        weft_arena *a = weft_arena_new();
        weft_users u = weft_users_new(p, true, a);
        weft_link_cost l = WEFT_LINK_COST_NONE;
        double bytes = 1e6 * weft_rng_real(&r), out[2] = {0}, in[2] = {0};
        int k = 1 + weft_rng_below(&r, 20);

        for (int j = 0; j < k; j++) {
            int from = weft_rng_below(&r, 8), to = weft_rng_below(&r, 8);

            weft_users_add(&u, from, to, bytes);
            weft_link_cost_take(p, from, to, &l);
            if (from / 4 != to / 4) {
                out[from / 4] += bytes;
                in[to / 4] += bytes;
            }
        }
        weft_users_slow(&u, &l);
        for (int s = 0; s < 2; s++) {
            CHECK(weft_link_cost_s(&l, bytes) >= fmax(out[s], in[s]) / 20e9 * (1 - 1e-12));
            CHECK(weft_users_s(&u) >= fmax(out[s], in[s]) / 20e9 * (1 - 1e-12));
        }
        weft_arena_free(a);
    }
    weft_platform_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(collectives_by_hand),
        cmocka_unit_test(curves_by_hand),
        cmocka_unit_test(curves_that_are_wrong),
        cmocka_unit_test(curves_keep_their_relations),
        cmocka_unit_test(measured_all_reduces_are_predicted),
        cmocka_unit_test(a_card_is_shared_by_a_server),
        cmocka_unit_test(shared_resources_that_are_wrong),
        cmocka_unit_test(devices_share_a_memory),
        cmocka_unit_test(users_never_exceed_a_resource),
    };

    return RUN_TESTS(tests);
}
