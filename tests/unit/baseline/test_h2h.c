/* SPDX-License-Identifier: MIT */
/* The mapper H2H against values of its public code: two networks of three streams, four and six
 * devices, five bandwidths to the host. The values were taken from runs of that code with the
 * layer tables and devices below (methods of sharding); four digits. */
#include "check.h"
#include "h2h_table.h"

enum { MOST_LAYERS = 64, N_BANDWIDTHS = 5, MOST_DEVICES = 6 };

/* --- networks -------------------------------------------------------------------------------- */

/* `n` layers of m output channels, n_in input channels and r x r places; all kernels are 3 x 3. */
typedef struct run_of_layers {
    int n;
    int64_t m, n_in, r;
} run_of_layers;

typedef struct network {
    int n_layers;
    weft_h2h_layer layer[MOST_LAYERS];
    weft_h2h_data data[MOST_LAYERS];
    int pred_at[MOST_LAYERS + 1], pred[MOST_LAYERS + 2];
    int succ_at[MOST_LAYERS + 1], succ[MOST_LAYERS + 2];
} network;

static const run_of_layers casia_stream[] = {
    {1, 64,  3,   112},
    {3, 64,  64,  112},
    {4, 64,  64,  56 },
    {1, 128, 64,  28 },
    {3, 128, 128, 28 },
    {0, 0,   0,   0  }
};
static const run_of_layers casia_tail[] = {
    {1, 256, 384, 14},
    {3, 256, 256, 14},
    {1, 512, 256, 7 },
    {3, 512, 512, 7 },
    {0, 0,   0,   0 }
};
static const run_of_layers facebag_stream[] = {
    {1, 32,  3,   56},
    {1, 64,  32,  28},
    {2, 64,  64,  28},
    {1, 64,  128, 28},
    {2, 64,  64,  28},
    {3, 128, 128, 14},
    {1, 128, 256, 14},
    {2, 128, 128, 14},
    {0, 0,   0,   0 }
};
static const run_of_layers facebag_tail[] = {
    {3, 256, 256,  7},
    {1, 256, 512,  7},
    {2, 256, 256,  7},
    {3, 512, 512,  3},
    {1, 512, 1024, 3},
    {2, 512, 512,  3},
    {0, 0,   0,    0}
};

static void add_layers(network *net, int stream, const run_of_layers *runs)
{
    for (; runs->n > 0; runs++) {
        for (int i = 0; i < runs->n; i++) {
            int l = net->n_layers++;
            bool is_first = l == 0 || net->layer[l - 1].stream != stream;

            net->layer[l] = (weft_h2h_layer){.kind = WEFT_H2H_CONV,
                                             .stream = stream,
                                             .place = is_first ? 1 : net->layer[l - 1].place + 1,
                                             .m = runs->m,
                                             .n = runs->n_in,
                                             .r = runs->r,
                                             .c = runs->r,
                                             .k = 9};
            net->data[l] = weft_h2h_data_of(&net->layer[l]);
        }
    }
}

/* Does l read the output of u? In a stream the next one; the last of streams 1, 2 the tail. */
static bool reads(const network *net, int u, int l, int fused)
{
    const weft_h2h_layer *a = &net->layer[u], *b = &net->layer[l];
    bool is_last = u + 1 == net->n_layers || net->layer[u + 1].stream != a->stream;

    if (a->stream == b->stream)
        return a->place + 1 == b->place;
    return b->stream == 0 && b->place == fused && is_last;
}

static void add_edges(network *net, int fused)
{
    int n_pred = 0, n_succ = 0;

    for (int l = 0; l < net->n_layers; l++) {
        net->pred_at[l] = n_pred;
        net->succ_at[l] = n_succ;
        for (int u = 0; u < net->n_layers; u++) {
            if (reads(net, u, l, fused))
                net->pred[n_pred++] = u;
            if (reads(net, l, u, fused))
                net->succ[n_succ++] = u;
        }
    }
    net->pred_at[net->n_layers] = n_pred;
    net->succ_at[net->n_layers] = n_succ;
}

static void make_network(network *net, const run_of_layers *stream, const run_of_layers *tail)
{
    int fused;

    memset(net, 0, sizeof *net);
    add_layers(net, 0, stream);
    fused = net->n_layers + 1;
    add_layers(net, 0, tail);
    add_layers(net, 1, stream);
    add_layers(net, 2, stream);
    add_edges(net, fused);
}

/* --- devices --------------------------------------------------------------------------------- */

/* Devices 1, 2, 3, 4, 6, 7 of the public list. */
static const struct {
    double gop_per_s, memory_gb, clock_mhz;
} boards[MOST_DEVICES] = {
    {86.6,  2,   370},
    {61.62, 1,   100},
    {75,    0.5, 100},
    {28,    1,   100},
    {73,    2,   100},
    {130,   4,   150}
};
static const double gb_per_s[N_BANDWIDTHS] = {0.125, 0.15, 0.25, 0.5, 1.25};

static weft_h2h_device board(int d, double host_gb_per_s)
{
    return (weft_h2h_device){.gop_per_s = boards[d].gop_per_s,
                             .clock_mhz = boards[d].clock_mhz,
                             .port_bits = 512,
                             .tm = 32,
                             .tn = 32,
                             .tr = 16,
                             .tc = 14,
                             .side = 16,
                             .memory_bytes = boards[d].memory_gb * 1e9,
                             .pinned_share = 0.5,
                             .host_bytes_per_s = host_gb_per_s * 1e9};
}

typedef struct prices {
    double compute_s[MOST_LAYERS * MOST_DEVICES], bits_per_s[MOST_DEVICES];
    int64_t room[MOST_DEVICES];
} prices;

static weft_h2h make_problem(const network *net, int n_devices, double host_gb_per_s, prices *x)
{
    for (int d = 0; d < n_devices; d++) {
        weft_h2h_device device = board(d, host_gb_per_s);

        x->bits_per_s[d] = device.host_bytes_per_s * 8;
        x->room[d] = weft_h2h_room(&device);
        for (int l = 0; l < net->n_layers; l++)
            x->compute_s[l * n_devices + d] = weft_h2h_compute_s(&net->layer[l], &device);
    }
    return (weft_h2h){net->n_layers, n_devices,     net->layer,   net->data,
                      net->pred_at,  net->pred,     net->succ_at, net->succ,
                      x->compute_s,  x->bits_per_s, x->room};
}

static void run_h2h(const network *net, int n_devices, double host_gb_per_s, weft_h2h_rule rule,
                    weft_arena *a, weft_h2h_result *out)
{
    prices x;
    weft_h2h p = make_problem(net, n_devices, host_gb_per_s, &x);
    weft_run run = {.limit_s = INFINITY};

    weft_h2h_run(&p, &rule, &run, a, out);
}

/* --- values of the public code --------------------------------------------------------------- */

typedef struct known {
    const char *name;
    const run_of_layers *stream, *tail;
    int n_devices;
    double step_s[N_BANDWIDTHS][4]; /* as the public code claims */
    double retimed_s[N_BANDWIDTHS]; /* its mapping and order, as soon as possible */
    double repaired_s[N_BANDWIDTHS];
} known;

static const known golden[] = {
    {"CASIA, 4",
     casia_stream,   casia_tail,
     4, {{1.1799, .8058, .2728, .2728},
      {1.0089, .6972, .2526, .2526},
      {.6619, .4749, .2098, .1884},
      {.4044, .3112, .1737, .1651},
      {.2555, .2182, .1655, .1549}},
     {.2728, .2526, .2098, .1686, .1655},
     {.2096, .2141, .1790, .1621, .1588}},
    {"CASIA, 6",
     casia_stream,   casia_tail,
     6, {{1.1414, .7674, .6446, .5877},
      {.9704, .6588, .5564, .5012},
      {.6285, .4415, .3801, .3388},
      {.3720, .2785, .2478, .2153},
      {.2181, .1807, .1684, .1627}},
     {.6485, .5651, .3879, .2570, .1694},
     {.3546, .3138, .2319, .1915, .1398}},
    {"FaceBag, 4",
     facebag_stream, facebag_tail,
     4, {{.9331, .2318, .1619, .1457},
      {.7993, .2149, .1566, .1429},
      {.5316, .1809, .1460, .1366},
      {.3308, .1555, .1380, .1341},
      {.2100, .1397, .1326, .1316}},
     {.1526, .1486, .1409, .1371, .1316},
     {.1491, .1458, .1392, .1343, .1312}},
    {"FaceBag, 6",
     facebag_stream, facebag_tail,
     6, {{.9035, .2021, .1852, .1826},
      {.7696, .1852, .1711, .1689},
      {.5019, .1512, .1428, .1414},
      {.3011, .1258, .1216, .1208},
      {.1807, .1105, .1088, .1084}},
     {.1836, .1697, .1420, .1212, .1087},
     {.1456, .1395, .1242, .1141, .1063}},
};

enum { N_KNOWN = (int)(sizeof golden / sizeof *golden) };

/* Four digits, as printed. */
static void check_digits(const known *k, int bandwidth, const char *what, double value,
                         double expected)
{
    if (!(fabs(value - expected) <= 0.5001e-4))
        fail_msg("%s devices at %g GB/s, %s: %.6f instead of %.4f", k->name, gb_per_s[bandwidth],
                 what, value, expected);
}

typedef void known_check(const known *k, const network *net, int bandwidth, weft_arena *a);

static void for_all_known(known_check *check)
{
    for (int i = 0; i < N_KNOWN; i++) {
        network net;

        make_network(&net, golden[i].stream, golden[i].tail);
        for (int b = 0; b < N_BANDWIDTHS; b++) {
            weft_arena *a = weft_arena_new();

            check(&golden[i], &net, b, a);
            weft_arena_free(a);
        }
    }
}

static void check_port(const known *k, const network *net, int b, weft_arena *a)
{
    static const char *const step[] = {"step 1", "step 2", "step 3", "step 4"};
    weft_h2h_result r;

    run_h2h(net, k->n_devices, gb_per_s[b], (weft_h2h_rule){false, 0}, a, &r);
    for (int i = 0; i < 4; i++)
        check_digits(k, b, step[i], r.after_s[i], k->step_s[b][i]);
    CHECK(!r.is_cyclic);
    check_digits(k, b, "as soon as possible", r.retimed_s, k->retimed_s[b]);
}

TEST(port_gives_the_values_of_the_public_code)
{
    for_all_known(check_port);
}

static void check_repaired(const known *k, const network *net, int b, weft_arena *a)
{
    weft_h2h_result r;

    run_h2h(net, k->n_devices, gb_per_s[b], (weft_h2h_rule){true, 1e-9}, a, &r);
    CHECK(!r.is_cyclic);
    check_digits(k, b, "repaired", r.retimed_s, k->repaired_s[b]);
    CHECK_NEAR(r.after_s[3], r.retimed_s); /* it claims what it is worth */
    for (int i = 1; i < 4; i++)
        CHECK(r.after_s[i] <= r.after_s[i - 1] * (1 + 1e-12));
}

TEST(repaired_claims_what_it_is_worth)
{
    for_all_known(check_repaired);
}

/* Moves that gain more than rounding: five cells of step 4 differ from those above. */
TEST(least_gain_makes_the_port_independent_of_rounding)
{
    static const struct {
        int known, bandwidth;
        double claimed_s, retimed_s;
    } cell[] = {
        {0, 3, .1565, .1691},
        {1, 1, .5012, .5619},
        {1, 4, .1602, .1701},
        {2, 1, .1430, .1487},
        {2, 3, .1329, .1363}
    };

    for (int i = 0; i < 5; i++) {
        const known *k = &golden[cell[i].known];
        int b = cell[i].bandwidth;
        weft_arena *a = weft_arena_new();
        weft_h2h_result r;
        network net;

        make_network(&net, k->stream, k->tail);
        run_h2h(&net, k->n_devices, gb_per_s[b], (weft_h2h_rule){false, 1e-9}, a, &r);
        check_digits(k, b, "step 4 with a least gain", r.after_s[3], cell[i].claimed_s);
        check_digits(k, b, "the same as soon as possible", r.retimed_s, cell[i].retimed_s);
        weft_arena_free(a);
    }
}

/* --- whole streams --------------------------------------------------------------------------- */

/* One device for each stream and one for the tail, all assignments; on a device streams 2, 3, 1 and
 * the tail follow each other. Latency of the best, as soon as possible. */
static double best_streams_s(const network *net, int n_devices, double host_gb_per_s, int fused)
{
    prices x;
    weft_h2h p = make_problem(net, n_devices, host_gb_per_s, &x);
    int n_variants = n_devices * n_devices * n_devices * n_devices;
    double best_s = INFINITY;

    for (int way = 0; way < n_variants; way++) {
        weft_arena *a = weft_arena_new();
        weft_h2h_table t = weft_h2h_table_new(&p, a);

        for (int part = 0, rest = way; part < 4; part++, rest /= n_devices) {
            for (int l = 0; l < net->n_layers; l++) {
                const weft_h2h_layer *layer = &net->layer[l];
                int of = layer->stream > 0 ? layer->stream - 1 : layer->place < fused ? 2 : 3;

                if (of == part)
                    weft_h2h_link(&t, l, rest % n_devices, t.last[rest % n_devices]);
            }
        }
        CHECK(weft_h2h_time_repaired(&p, &t, true, a));
        best_s = fmin(best_s, weft_h2h_latency_s(&p, &t));
        weft_arena_free(a);
    }
    return best_s;
}

TEST(whole_streams_have_the_values_of_a_prototype)
{
    static const double expected_s[2][N_BANDWIDTHS] = {
        {.1702, .1687, .1658, .1636, .1622},
        {.1415, .1400, .1371, .1349, .1336}
    };
    network net;

    make_network(&net, casia_stream, casia_tail);
    for (int i = 0; i < 2; i++) {
        for (int b = 0; b < N_BANDWIDTHS; b++)
            check_digits(&golden[i], b, "whole streams",
                         best_streams_s(&net, golden[i].n_devices, gb_per_s[b], 13),
                         expected_s[i][b]);
    }
}

/* --- tables and costs ------------------------------------------------------------------------ */

TEST(networks_have_the_weights_of_the_table)
{
    static const struct {
        const run_of_layers *stream, *tail;
        int n;
        double weights_m, gmacs; /* without the fully connected layer of FaceBagNet */
    } table[] = {
        {casia_stream,   casia_tail,   44, 13.24,                7.75},
        {facebag_stream, facebag_tail, 51, 24.74 - 3 * 92146e-6, 1.53}
    };

    for (int i = 0; i < 2; i++) {
        double weights = 0, macs = 0;
        network net;

        make_network(&net, table[i].stream, table[i].tail);
        CHECK_INT(net.n_layers, table[i].n);
        CHECK_INT(net.pred_at[net.n_layers], net.n_layers - 3 + 2); /* three chains, two more */
        for (int l = 0; l < net.n_layers; l++) {
            weights += (double)net.data[l].weights;
            macs += (double)(net.data[l].weights * net.layer[l].r * net.layer[l].c);
        }
        CHECK(fabs(weights * 1e-6 - table[i].weights_m) < 0.005);
        CHECK(fabs(macs * 1e-9 - table[i].gmacs) < 0.005);
    }
}

TEST(costs_by_hand)
{
    weft_h2h_device d = board(1, 1); /* 61.62 Gop/s; 512 bits at 100 MHz are 16e8 elements a s */
    weft_h2h_layer conv = {WEFT_H2H_CONV, 0, 1, 64, 64, 16, 28, 9};
    weft_h2h_layer fc = {WEFT_H2H_FC, 0, 1, 1000, 512, 1, 1, 1};
    weft_h2h_layer lstm = {WEFT_H2H_LSTM, 0, 1, 32, 16, 5, 1, 1};
    double load_s = (32 * 32 * 9 + 32 * 16 * 16) / 16e8, store_s = 32 * 16 * 14 / 16e8;
    double arithmetic_s = 2.0 * 16 * 14 * 32 * 32 * 9 / 61.62e9;
    weft_h2h_data data = weft_h2h_data_of(&conv);

    /* 1 x 2 x 2 tiles of two steps each */
    CHECK_NEAR(weft_h2h_compute_s(&conv, &d) * 1e6,
               1e6 * 4 * (2 * (load_s + arithmetic_s) + store_s));
    CHECK_INT(data.weights, 64 * 64 * 9);
    CHECK_INT(data.input, 64 * 32 * 56);
    CHECK_INT(data.output, 64 * 16 * 28);
    /* loads of 512,512 elements are slower than 1,024,000 operations */
    CHECK_NEAR(weft_h2h_compute_s(&fc, &d) * 1e6, 1e6 * (1000 * 512 + 512) / 16e8);
    /* 5 steps, each 4 * 32 * 48 + 16 elements */
    CHECK_NEAR(weft_h2h_compute_s(&lstm, &d) * 1e6, 1e6 * 5 * (4 * 32 * 48 + 16) / 16e8);
    CHECK_INT(weft_h2h_room(&d), 125000); /* half of 1 GB in thousands of 4-byte elements */
}

/* --- a chain by hand ------------------------------------------------------------------------- */

/* Chain of three equal layers on one kind of device; compute 1 s, transfers of 32-bit elements at
 * 32 bits a second: weights 3000, input 2, output 1. */
static void run_chain(int n_devices, int64_t room, bool is_repaired, weft_arena *a,
                      weft_h2h_result *out)
{
    static const weft_h2h_layer layer[3] = {
        {WEFT_H2H_CONV, 0, 1, 1, 1, 1, 1, 1},
        {WEFT_H2H_CONV, 0, 2, 1, 1, 1, 1, 1},
        {WEFT_H2H_CONV, 0, 3, 1, 1, 1, 1, 1}
    };
    static const weft_h2h_data data[3] = {
        {3000, 2, 1},
        {3000, 2, 1},
        {3000, 2, 1}
    };
    static const int pred_at[] = {0, 0, 1, 2}, pred[] = {0, 1};
    static const int succ_at[] = {0, 1, 2, 2}, succ[] = {1, 2};
    static const double compute_s[] = {1, 1, 1, 1, 1, 1}, bits_per_s[] = {32, 32};
    const int64_t rooms[] = {room, room};
    weft_run run = {.limit_s = INFINITY};
    weft_h2h p = {3,       n_devices, layer,     data,       pred_at, pred,
                  succ_at, succ,      compute_s, bits_per_s, rooms};

    weft_h2h_run(&p, &(weft_h2h_rule){is_repaired, 0}, &run, a, out);
}

TEST(chain_by_hand)
{
    for (int is_repaired = 0; is_repaired < 2; is_repaired++) {
        weft_arena *a = weft_arena_new();
        weft_h2h_result r;

        run_chain(1, 100, is_repaired, a, &r);
        CHECK_NEAR(r.after_s[0], 3.0 * (1 + 3000 + 2 + 1));
        CHECK_NEAR(r.after_s[1], 3.0 * (1 + 2 + 1)); /* all weights stay */
        CHECK_NEAR(r.after_s[2], 3.0 * 1 + 2 + 1);   /* one input, one output */
        CHECK_NEAR(r.retimed_s, r.after_s[3]);
        weft_arena_free(a);
    }
}

/* Room for two of three: the first two, since the last is not needed for the best sum. */
TEST(knapsack_takes_what_fits)
{
    weft_arena *a = weft_arena_new();
    weft_h2h_result r;

    run_chain(1, 7, false, a, &r);
    CHECK_NEAR(r.after_s[1], 3.0 * (1 + 2 + 1) + 3000);
    run_chain(1, 2, false, a, &r);
    CHECK_NEAR(r.after_s[1], r.after_s[0]);
    weft_arena_free(a);
}

/* A layer starts after what it reads and when its device is free, in the time that it takes. */
static void check_timetable(const known *k, const network *net, int b, weft_arena *a)
{
    weft_h2h_result r;

    for (int is_repaired = 0; is_repaired < 2; is_repaired++) {
        run_h2h(net, k->n_devices, gb_per_s[b], (weft_h2h_rule){is_repaired, 0}, a, &r);
        for (int l = 0; l < net->n_layers; l++) {
            weft_h2h_device d = board(r.device[l], gb_per_s[b]);
            double least_s = weft_h2h_compute_s(&net->layer[l], &d);

            CHECK(r.start_s[l] + least_s <= r.retimed_s * (1 + 1e-12));
            for (int i = net->succ_at[l]; i < net->succ_at[l + 1]; i++)
                CHECK(r.start_s[net->succ[i]] >= (r.start_s[l] + least_s) * (1 - 1e-12));
            for (int o = 0; o < net->n_layers; o++) {
                if (o != l && r.device[o] == r.device[l] && r.start_s[o] >= r.start_s[l])
                    CHECK(r.start_s[o] >= (r.start_s[l] + least_s) * (1 - 1e-12));
            }
        }
    }
}

TEST(timetables_as_soon_as_possible_are_valid)
{
    for_all_known(check_timetable);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(port_gives_the_values_of_the_public_code),
        cmocka_unit_test(repaired_claims_what_it_is_worth),
        cmocka_unit_test(least_gain_makes_the_port_independent_of_rounding),
        cmocka_unit_test(whole_streams_have_the_values_of_a_prototype),
        cmocka_unit_test(networks_have_the_weights_of_the_table),
        cmocka_unit_test(costs_by_hand),
        cmocka_unit_test(chain_by_hand),
        cmocka_unit_test(knapsack_takes_what_fits),
        cmocka_unit_test(timetables_as_soon_as_possible_are_valid),
    };

    return RUN_TESTS(tests);
}
