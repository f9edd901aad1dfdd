/* SPDX-License-Identifier: MIT */
/* The table of costs: layers of loop nests, real networks on every model of device, support,
 * measured times; transfers and collectives. */
#define _POSIX_C_SOURCE 200809L

#include "check.h"
#include "graph_text.h"

#include <stdlib.h>
#include <unistd.h>

#include "cost.h"
#include "model.h"
#include "nets.h"

#define CHECK_IS(value, expected) CHECK_NEAR(value, (double)(expected))

/* --- helpers --------------------------------------------------------------------------------- */

static weft_model *open_model(const char *source, bool train)
{
    weft_model_options options = {.train = train, .optimizer = WEFT_ADAM};
    weft_model *m = NULL;

    CHECK_OK(weft_model_open(source, &options, &m));
    return m;
}

/* The n-th node of an operator, from 0. */
static int find_node(const weft_graph *g, const char *op, int n)
{
    for (int u = 0; u < g->n_nodes; u++)
        if (strcmp(g->node[u].op, op) == 0 && n-- == 0)
            return u;
    fail_msg("there is no such %s", op);
    return -1;
}

static weft_layer layer_of(const weft_graph *g, int u)
{
    weft_work_key k;

    weft_work_key_of(g, u, &k);
    CHECK_INT(k.n_layers, 1);
    return k.layer[0];
}

static double product(const weft_layer *l)
{
    return (double)l->batch * (double)l->groups * (double)l->m * (double)l->n * (double)l->r *
           (double)l->c * (double)l->kh * (double)l->kw;
}

static bool is_layer(weft_layer a, weft_layer b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

static weft_design roofline(double flops, double bytes_per_s)
{
    weft_design d = {.name = "d", .model = WEFT_ROOFLINE};

    d.value[WEFT_P_FLOPS] = flops;
    d.value[WEFT_P_BANDWIDTH] = bytes_per_s;
    d.value[WEFT_P_ETA] = 1;
    for (int f = 0; f < WEFT_N_FAMILIES; f++)
        d.efficiency[f] = 1;
    return d;
}

/* One design of each array, with the parameters of all. */
static weft_design array(weft_device_model model)
{
    weft_design d = roofline(0, 64e9);

    d.model = model;
    d.value[WEFT_P_CLOCK] = 200e6;
    d.value[WEFT_P_ROWS] = d.value[WEFT_P_COLS] = 32;
    d.value[WEFT_P_VEC] = d.value[WEFT_P_CORES] = 1;
    d.value[WEFT_P_SRAM] = 1 << 20;
    d.value[WEFT_P_TM] = 64;
    d.value[WEFT_P_TN] = d.value[WEFT_P_TR] = 7;
    d.value[WEFT_P_TC] = 14;
    d.value[WEFT_P_PORT_IN] = d.value[WEFT_P_PORT_WEIGHT] = d.value[WEFT_P_PORT_OUT] = 16;
    d.value[WEFT_P_TILE] = 6;
    d.value[WEFT_P_PM] = 8;
    d.value[WEFT_P_PN] = 2;
    d.value[WEFT_P_LANES] = 256;
    d.value[WEFT_P_VECTOR_CORES] = 2;
    return d;
}

enum { MOST_DEVICES = 16 };

/* A platform of devices that all have a link to each other. */
typedef struct machine {
    weft_device device[MOST_DEVICES];
    weft_route route[MOST_DEVICES * MOST_DEVICES];
    int route_of[MOST_DEVICES * MOST_DEVICES]; /* each pair has its own */
    weft_platform platform;
} machine;

static void connect_all(machine *m, int n, double bytes_per_s, double latency_s)
{
    memset(m, 0, sizeof *m);
    m->platform = (weft_platform){.name = "test", .n_devices = n, .host = -1};
    m->platform.device = m->device;
    m->platform.routes = m->route;
    m->platform.route_of = m->route_of;
    for (int i = 0; i < n * n; i++) {
        m->route_of[i] = i;
        m->route[i] =
            i / n == i % n
                ? (weft_route){.bytes_per_s = INFINITY}
                : (weft_route){.n_hops = 1, .latency_s = latency_s, .bytes_per_s = bytes_per_s};
    }
}

/* A platform of these designs, a device each, called d0, d1, .. */
static void machine_of(machine *m, const weft_design *design, int n)
{
    static const char *const names[] = {"d0", "d1", "d2", "d3"};

    connect_all(m, n, 1e9, 0);
    for (int d = 0; d < n; d++)
        m->device[d] = (weft_device){.name = names[d], .n_designs = 1, .design = &design[d]};
}

static double seconds_of(const weft_costs *c, int u, int d)
{
    return c->seconds[u * c->n_devices + d];
}

/* --- layers ---------------------------------------------------------------------------------- */

static void check_layers(const weft_graph *g, int *n_layers)
{
    for (int u = 0; u < g->n_nodes; u++) {
        weft_nests nests;
        weft_work_key k;
        double macs = 0;

        weft_node_nests(g, u, &nests);
        for (int i = 0; i < nests.n; i++) {
            weft_layer l;

            CHECK_INT(weft_layer_of_nest(&nests.nest[i], &l), nests.nest[i].is_mac);
            if (!nests.nest[i].is_mac)
                continue;
            CHECK_IS(product(&l), weft_nest_points(&nests.nest[i]));
            (*n_layers)++;
        }
        weft_work_key_of(g, u, &k);
        for (int i = 0; i < k.n_layers; i++)
            macs += product(&k.layer[i]);
        if (!g->node[u].has_body)
            CHECK_IS(macs, weft_node_work(g, u).macs);
    }
}

/* Nothing is lost between a loop nest and its layer, for any node of any network. */
TEST(layers_have_all_multiply_accumulates)
{
    weft_arena *arena = weft_arena_new();
    const char *const *names;
    int n_layers = 0;

    for (int i = 0, n_names = weft_zoo_list(arena, &names); i < n_names; i++)
        for (int train = 0; train < 2; train++) {
            weft_model *m = open_model(names[i], train);

            check_layers(m->graph, &n_layers);
            weft_model_free(m);
        }
    CHECK(n_layers > 5000);
    weft_arena_free(arena);
}

TEST(layers_of_known_nodes)
{
    weft_model *resnet = open_model("resnet50", false);
    weft_model *mobile = open_model("mobilenet_v2", false);
    weft_model *bert = open_model("bert:seq=384", false);
    const weft_graph *r = resnet->graph, *m = mobile->graph, *b = bert->graph;
    bool has_scores = false;

    /* batch, groups, m, n, r, c, kh, kw, stride */
    CHECK(is_layer(layer_of(r, find_node(r, "Conv", 0)),
                   (weft_layer){1, 1, 64, 3, 112, 112, 7, 7, 2}));
    CHECK(is_layer(layer_of(r, find_node(r, "Conv", 1)),
                   (weft_layer){1, 1, 64, 64, 56, 56, 1, 1, 1}));
    CHECK(is_layer(layer_of(r, find_node(r, "Gemm", 0)),
                   (weft_layer){1, 1, 1000, 2048, 1, 1, 1, 1, 1}));
    CHECK(is_layer(layer_of(m, find_node(m, "Conv", 1)), /* depthwise */
                   (weft_layer){1, 32, 1, 1, 112, 112, 3, 3, 1}));
    for (int u = 0; u < b->n_nodes; u++) /* 12 heads of 64: scores of 384 x 384 */
        if (strcmp(b->node[u].op, "MatMul") == 0)
            has_scores = has_scores ||
                         is_layer(layer_of(b, u), (weft_layer){1, 12, 384, 64, 384, 1, 1, 1, 1});
    CHECK(has_scores);
    weft_model_free(resnet);
    weft_model_free(mobile);
    weft_model_free(bert);
}

/* Forward, dX and dW of a convolution: the same number of multiply-accumulates. In dW the kernel is
 * the picture: its window slides over the places of the weights. */
TEST(layers_of_gradients)
{
    weft_model *m = open_model("vgg16", true);
    const weft_graph *g = m->graph;
    int forward = find_node(g, "Conv", 1), n_gradients = 0;
    weft_layer l = layer_of(g, forward);

    CHECK(is_layer(l, (weft_layer){1, 1, 64, 64, 224, 224, 3, 3, 1}));
    for (int u = 0; u < g->n_nodes; u++) {
        weft_layer back;

        if (g->node[u].phase != WEFT_BACKWARD || g->node[u].forward != forward)
            continue;
        back = layer_of(g, u);
        CHECK_IS(product(&back), product(&l));
        if (g->node[u].wrt == 1) {
            CHECK(back.r == 3 && back.c == 3 && back.kh == 224 && back.kw == 224);
            CHECK_INT(back.batch * back.m * back.n, 64 * 64);
        }
        n_gradients++;
    }
    CHECK_INT(n_gradients, 2);
    weft_model_free(m);
}

/* A recurrent layer of 50 steps, 8 samples, 1024 units: gates are no tensors, and yet its gradients
 * are matrix products: of the state 400 x 4096 by 4096 x 1024, of weights 4096 x 400 by 400 x 1024.
 */
TEST(layers_of_recurrent_gradients)
{
    weft_model_options o = {.batch = 8, .train = true, .optimizer = WEFT_ADAM};
    weft_model *m = NULL;
    const weft_graph *g;
    int n_seen = 0;

    CHECK_OK(weft_model_open("gnmt", &o, &m));
    g = m->graph;
    for (int u = 0; u < g->n_nodes; u++) {
        weft_work_key k;

        if (strcmp(g->node[u].op, "LSTMGrad") != 0)
            continue;
        weft_work_key_of(g, u, &k);
        for (int i = 0; i < k.n_layers; i++) {
            const weft_layer *l = &k.layer[i];

            CHECK(l->batch == 1 && l->groups == 1 && l->kh == 1 && l->kw == 1);
            CHECK(l->m == 1024 || l->m == 2048); /* state or input */
            if (g->node[u].wrt == 0) /* 8192: both directions, 800 then are places of both */
                CHECK((l->n == 4096 || l->n == 8192) && (l->r == 400 || l->r == 800));
            else
                CHECK(l->n == 400 && (l->r == 4096 || l->r == 8192));
            n_seen++;
        }
    }
    CHECK(n_seen > 40);
    weft_model_free(m);
}

/* Layers of a recurrent operator of 7 steps, 2 samples, 3 inputs and 5 units a gate, and of its
 * gradients: initial state or not, all results or the first alone. */
static void check_recurrent(const char *op, int gates, int directions, bool has_state, bool is_all)
{
    int64_t rows = gates * 5, places = 14 * directions;
    net_fixture f = net_start(WEFT_F32);
    char w[16], r[16], state[16], more[64];
    int arg[6] = {net_input(&f, "7x2x3"), 0, 0, -1, -1, -1}, result[2], n_seen = 0;
    weft_graph *train = NULL;

    (void)snprintf(w, sizeof w, "%dx%dx3", directions, (int)rows);
    (void)snprintf(r, sizeof r, "%dx%dx5", directions, (int)rows);
    (void)snprintf(state, sizeof state, "%dx2x5", directions);
    (void)snprintf(more, sizeof more, "hidden_size=5 direction=%s",
                   directions == 2 ? "bidirectional" : "forward");
    arg[1] = net_weight(&f, w);
    arg[2] = net_weight(&f, r);
    if (has_state) /* with a gradient */
        arg[5] = net_op(&f, "Add", (int[]){net_input(&f, state), net_weight(&f, state)}, 2, "");
    (void)net_op_results(&f, op, arg, has_state ? 6 : 3, more, 2, result);
    if (is_all)
        net_ask(&f, result[1]);
    CHECK_OK(weft_graph_train(net_finish(&f, result[0]), WEFT_SGD, &train));
    for (int u = 0; u < train->n_nodes; u++) {
        int wrt = train->node[u].wrt;
        weft_work_key k;

        if (strncmp(train->node[u].op, op, strlen(op)) != 0)
            continue;
        weft_work_key_of(train, u, &k);
        if (train->node[u].phase == WEFT_FORWARD) {
            CHECK_INT(k.n_layers, 2);
            CHECK(is_layer(k.layer[0], (weft_layer){1, 1, rows, 3, places, 1, 1, 1, 1}));
            CHECK(is_layer(k.layer[1], (weft_layer){1, 1, rows, 5, places, 1, 1, 1, 1}));
        } else {
            CHECK_INT(k.n_layers, 1); /* no gradient of the input is asked for */
            CHECK(is_layer(k.layer[0], wrt == 0 ? (weft_layer){1, 1, 5, rows, places, 1, 1, 1, 1}
                                                : (weft_layer){1, 1, wrt == 1 ? 3 : 5, 14,
                                                               rows * directions, 1, 1, 1, 1}));
        }
        n_seen++;
    }
    CHECK_INT(n_seen, 4);
    weft_graph_free(train);
    net_free(&f);
}

TEST(layers_of_recurrent_operators_with_states)
{
    for (int i = 0; i < 8; i++) {
        check_recurrent("LSTM", 4, 1 + i / 4, i & 2, i & 1);
        check_recurrent("GRU", 3, 1 + i / 4, i & 2, i & 1);
        check_recurrent("RNN", 1, 1 + i / 4, i & 2, i & 1);
    }
}

/* --- the table ------------------------------------------------------------------------------- */

TEST(roofline_table_is_the_work_of_each_node)
{
    weft_model *m = open_model("resnet50", true);
    const weft_graph *g = m->graph;
    weft_design d = roofline(1e12, 1e11);
    machine on;
    weft_costs *c = NULL;

    d.value[WEFT_P_OVERHEAD] = 2e-6;
    d.value[WEFT_P_ETA] = 0.5;
    d.value[WEFT_P_PJ_FLOP] = 1e-12;
    d.value[WEFT_P_PJ_BYTE] = 5e-12;
    machine_of(&on, &d, 1);
    CHECK_OK(weft_costs_new(g, &on.platform, &c));
    for (int u = 0; u < g->n_nodes; u++) {
        weft_work w = weft_node_work(g, u);
        double bytes = (double)w.read_bytes + (double)w.write_bytes, flops = (double)w.flops;
        bool is_view = seconds_of(c, u, 0) == 0;

        CHECK(!is_view || (flops == 0 && bytes == 0));
        CHECK_NEAR(seconds_of(c, u, 0), is_view ? 0 : 2e-6 + fmax(flops / 1e12, bytes / 5e10));
        CHECK_NEAR(c->joules[u], flops * 1e-12 + bytes * 5e-12);
        CHECK_NEAR(c->memory_bytes[u], bytes);
    }
    weft_costs_free(c);
    weft_model_free(m);
}

/* Each entry is what the model says of the node by itself, and equal work is asked for once. */
TEST(table_is_design_cost_by_node)
{
    weft_model *m = open_model("bert", false);
    const weft_graph *g = m->graph;
    weft_design designs[] = {array(WEFT_TEMPLATE), array(WEFT_SYSTOLIC), array(WEFT_TEMPLATE)};
    machine on;
    weft_costs *c = NULL;

    machine_of(&on, designs, 3);
    CHECK_OK(weft_costs_new(g, &on.platform, &c));
    CHECK_INT(c->n_nodes, g->n_nodes);
    CHECK(c->n_keys < 40); /* twelve equal layers */
    for (int u = 0; u < g->n_nodes; u++) {
        weft_work_key k;

        weft_work_key_of(g, u, &k);
        for (int d = 0; d < 3; d++) {
            weft_cost one = weft_design_cost(&designs[d], &k);

            CHECK_NEAR(seconds_of(c, u, d), one.seconds);
            CHECK_NEAR(c->joules[u * 3 + d], one.joules);
            CHECK_NEAR(c->memory_bytes[u * 3 + d], one.memory_bytes);
        }
    }
    weft_costs_free(c);
    weft_model_free(m);
}

/* Multiply-accumulates a cycle of `array`. */
static double peak_of(weft_device_model model)
{
    switch (model) {
    case WEFT_TILED:
        return 64 * 7;
    case WEFT_WINOGRAD:
        return 4 * 4 * 9 * 8 * 2; /* outputs of a tile, kernel, Pm, Pn */
    case WEFT_VECTOR:
        return 256;
    default:
        return 32 * 32;
    }
}

static void check_arrays(const weft_graph *g)
{
    for (weft_device_model model = WEFT_SYSTOLIC; model <= WEFT_TEMPLATE; model++) {
        weft_design d = array(model);
        machine on;
        weft_costs *c = NULL;

        machine_of(&on, &d, 1);
        CHECK_OK(weft_costs_new(g, &on.platform, &c));
        for (int u = 0; u < g->n_nodes; u++) {
            weft_work w = weft_node_work(g, u);
            double s = c->seconds[u];

            CHECK(isfinite(s) && s >= 0);
            CHECK((double)w.macs <= s * 200e6 * peak_of(model) * (1 + 1e-12));
            CHECK(((double)w.read_bytes + (double)w.write_bytes) <= s * 64e9 * (1 + 1e-12));
        }
        weft_costs_free(c);
    }
}

/* No array beats its multipliers or its memory on any node of any of these networks. */
TEST(arrays_stay_below_their_peaks_on_networks)
{
    static const char *const names[] = {"alexnet", "mobilenet_v2", "inception_v3", "unet",
                                        "bert",    "gnmt",         "dlrm",         "moe"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        for (int train = 0; train < 2; train++) {
            weft_model *m = open_model(names[i], train);

            check_arrays(m->graph);
            weft_model_free(m);
        }
}

/* --- support --------------------------------------------------------------------------------- */

TEST(operators_that_a_design_lacks)
{
    static const char *const some[] = {"Conv", "Gemm", "element"};
    weft_model *m = open_model("alexnet", true);
    const weft_graph *g = m->graph;
    weft_design designs[] = {roofline(1e12, 1e11), roofline(1e11, 1e10)};
    int pool = find_node(g, "MaxPool", 0), relu = find_node(g, "Relu", 0);
    machine on;
    weft_costs *c = NULL;

    designs[0].n_only = 3;
    designs[0].only = some;
    machine_of(&on, designs, 2);
    CHECK_OK(weft_costs_new(g, &on.platform, &c));
    CHECK(isinf(seconds_of(c, pool, 0)) && isfinite(seconds_of(c, pool, 1)));
    CHECK(isfinite(seconds_of(c, relu, 0))); /* by family */
    for (int u = 0; u < g->n_nodes; u++)     /* a gradient is supported as its operator is */
        if (g->node[u].phase == WEFT_BACKWARD && g->node[u].forward == pool)
            CHECK(isinf(seconds_of(c, u, 0)));
    weft_costs_free(c);
    machine_of(&on, designs, 1);
    CHECK_OK(weft_costs_new(g, &on.platform, &c)); /* nobody runs it: whoever places it sees that */
    CHECK(isinf(seconds_of(c, pool, 0)));
    weft_costs_free(c);
    weft_model_free(m);
}

/* x -> NonZero: as many results as there are elements other than zero. */
TEST(shapes_that_depend_on_data_have_no_cost)
{
    weft_net_builder *net = weft_net_new("n");
    weft_value x = {
        .type = WEFT_F32, .shape = {1, {8}}
    };
    const char *name = "y";
    weft_net_op op = {
        .node =
            {.name = "where", .op = "NonZero", .domain = "", .opset = 13, .forward = -1, .wrt = -1},
        .n_args = 1,
        .n_results = 1,
        .result_name = &name
    };
    weft_design d = roofline(1, 1);
    weft_graph *g = NULL;
    weft_costs *c = NULL;
    machine on;
    int in, out;

    CHECK_OK(weft_net_input(net, "x", &x, &in));
    op.arg = &in;
    CHECK_OK(weft_net_node(net, &op, &out));
    weft_net_output(net, out);
    CHECK_OK(weft_net_finish(net, &g));
    machine_of(&on, &d, 1);
    CHECK_FAILS(weft_costs_new(g, &on.platform, &c), "where");
    weft_graph_free(g);
    weft_net_free(net);
}

/* --- measured times -------------------------------------------------------------------------- */

/* Writes a profile to a new file whose name replaces the last six letters of `path`. */
static void write_profile(char *path, const char *text)
{
    int file = mkstemp(path);

    CHECK(file >= 0);
    close(file);
    CHECK_OK(weft_file_write(path, text, strlen(text)));
}

TEST(measured_times_replace_the_model)
{
    char path[] = "/tmp/weft_profile_XXXXXX";
    weft_graph *g = NULL;
    weft_design designs[] = {
        {.model = WEFT_PROFILE, .profile = path},
        roofline(1, 1)
    };
    weft_costs *c = NULL;
    machine on;

    write_profile(path,
                  "{\"schema\": \"weft.profile/1\", \"times\": ["
                  "{\"node\": \"a\", \"device\": \"d0\", \"seconds\": 0.25},"
                  "{\"node\": \"b\", \"device\": \"d1\", \"seconds\": 7, \"samples\": 5}],"
                  "\"devices\": [{\"name\": \"d0\", \"launch_s\": 0.125},"
                  "{\"name\": \"d1\", \"launch_s\": 5}, {\"name\": \"d2\", \"launch_s\": null}]}");
    CHECK_OK(weft_graph_parse("a:2 b:3; a>b:8", &g));
    machine_of(&on, designs, 2);
    CHECK_OK(weft_costs_new(g, &on.platform, &c));
    CHECK_NEAR(seconds_of(c, 0, 0), 0.25);
    CHECK(isinf(seconds_of(c, 1, 0))); /* measured on another device only */
    CHECK_IS(seconds_of(c, 1, 1), 3);  /* flops at 1 flop/s: that device has no profile */
    CHECK_IS(c->launch_s[0], 0.125);
    CHECK_IS(c->launch_s[1], 0); /* that device has no profile */
    CHECK(c->is_measured[0] && !c->is_measured[1] && !c->is_measured[2] && !c->is_measured[3]);
    weft_costs_free(c);
    machine_of(&on, designs, 1);
    CHECK_FAILS(weft_costs_new(g, &on.platform, &c), "no device is called 'd1'");
    weft_graph_free(g);
    remove(path);
}

TEST(operators_of_only_exist)
{
    static const char *const good[] = {"Conv", "element", "Task"}, *const bad[] = {"Conv", "Cnov"};
    static const char *const at[] = {"x.yaml:3", "x.yaml:4", "x.yaml:5"};
    weft_design design = roofline(1, 1);
    weft_graph *g = NULL;
    machine on;

    CHECK_OK(weft_graph_parse("a:2", &g));
    CHECK_TEXT(g->node[0].op, "Task"); /* in no table, but in this network */
    design.only = good;
    design.only_at = at;
    design.n_only = 3;
    machine_of(&on, &design, 1);
    CHECK_OK(weft_only_check(&on.platform, g));
    design.only = bad;
    design.n_only = 2;
    machine_of(&on, &design, 1);
    CHECK_FAILS(weft_only_check(&on.platform, g),
                "x.yaml:4: no operator is called 'Cnov' (did you mean 'Conv'?)");
    weft_graph_free(g);
}

TEST(profiles_that_are_wrong)
{
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"schema: weft.plan/1\ntimes: []",                                              "weft.profile/1"                                        },
        {"schema: weft.profile/1",                                                      "times"                                                 },
        {"schema: weft.profile/1\ntimes: [3]",                                          "expected a time"                                       },
        {"schema: weft.profile/1\ntimes: [{node: a, device: d0}]",                      "seconds"                                               },
        {"schema: weft.profile/1\ntimes: [{node: a, device: d0, seconds: -1}]",         "-1"                                                    },
        {"schema: weft.profile/1\ntimes: [{node: a, device: d0, time: 1}]",             "time"                                                  },
        {"schema: weft.profile/1\ntimes:\n- {node: a, device: d0, seconds: 1}\n"
         "- {node: a, device: d0, seconds: 2}",                                "two times"                                             },
        {"schema: weft.profile/1\ntimes: []\ndevices: [{name: d0, launch_s: -1}]",      "launch_s"                                              },
        {"schema: weft.profile/1\ntimes: []\ndevices: [{launch_s: 1}]",                 "name"                                                  },
        {"schema: weft.profile/1\ntimes: []\ndevices: [4]",                             "expected a device"                                     },
        {"schema: weft.profile/1\ntimes: []\ndevices:\n- {name: d0, launch_s: 1}\n- {name: d0, "
         "launch_s: 2}",                                                       "two values of launch_s"                                },
        {"schema: weft.profile/1\ntimes:\n- {node: a, device: d7, seconds: 1}",
         ":3: no device is called 'd7' (did you mean 'd0'?)"                                                                                    },
        {"schema: weft.profile/1\ntimes:\n- {node: a, device: d0, seconds: 1}\n"
         "- {node: conv1, device: d0, seconds: 2}",                            ":4: no node is called 'conv1' (did you mean 'conv_1'?)"},
        {"schema: weft.profile/1\ntimes:\n- {node: elsewhere, device: d0, seconds: 1}",
         ":3: no node is called 'elsewhere', expected a name like 'a'"                                                                          },
    };
    weft_graph *g = NULL;

    CHECK_OK(weft_graph_parse("a:2 conv_1:3", &g));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char path[] = "/tmp/weft_profile_XXXXXX";
        weft_design d = {.model = WEFT_PROFILE, .profile = path};
        weft_costs *c = NULL;
        machine on;

        write_profile(path, cases[i].text);
        machine_of(&on, &d, 1);
        CHECK_FAILS(weft_costs_new(g, &on.platform, &c), cases[i].part);
        remove(path);
    }
    weft_graph_free(g);
}

/* --- links and collectives ------------------------------------------------------------------- */

static const int first[MOST_DEVICES] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

TEST(transfers_by_hand)
{
    machine m;

    connect_all(&m, 3, 1e9, 1e-6);
    CHECK_NEAR(weft_transfer_s(&m.platform, 0, 1, 1e6), 1e-6 + 1e-3);
    CHECK_IS(weft_transfer_s(&m.platform, 2, 2, 1e6), 0);
    m.route[1] = (weft_route){.n_hops = -1};
    CHECK(isinf(weft_transfer_s(&m.platform, 0, 1, 1)));
}

TEST(rings_by_hand)
{
    weft_link_cost l = {0, 1e9, 0, NULL, false};
    double v = 64 * 56 * 56 * 2; /* a feature map of 2-byte elements */

    CHECK_NEAR(weft_ring_s(&l, 4, WEFT_ALL_REDUCE, v), 2 * 3.0 / 4 * v / 1e9);
    CHECK(fabs(weft_ring_s(&l, 4, WEFT_ALL_REDUCE, v) - 602.1e-6) < 0.05e-6);
    l.latency_s = 1e-3;
    CHECK_NEAR(weft_ring_s(&l, 4, WEFT_ALL_REDUCE, 4e6), 6e-3 + 6e-3);
    CHECK_NEAR(weft_ring_s(&l, 4, WEFT_REDUCE_SCATTER, 4e6), 3e-3 + 3e-3);
    CHECK_NEAR(weft_ring_s(&l, 4, WEFT_ALL_GATHER, 4e6), 3e-3 + 3e-3);
    CHECK_IS(weft_ring_s(&l, 1, WEFT_ALL_GATHER, 4e6), 0); /* nobody to talk to */
    CHECK_IS(weft_ring_s(&l, 4, WEFT_ALL_REDUCE, 0), 0);   /* nothing to say */
    CHECK(isinf(weft_ring_s(&(weft_link_cost){.latency_s = 1e-3}, 4, WEFT_ALL_REDUCE, 1)));
}

static weft_link_cost slowest_of(const weft_platform *p, const int *member, int n)
{
    weft_link_cost l = {0, INFINITY, 0, NULL, false};

    for (int i = 0; i < n; i++)
        weft_link_cost_take(p, member[i], member[(i + 1) % n], &l);
    return l;
}

/* A ring runs at the pace of its slowest link, and does not use the others. */
TEST(rings_use_neighbours_only)
{
    machine m;
    static const int skewed[] = {0, 2, 1, 3};

    connect_all(&m, 4, 1e9, 0);
    m.route[0 * 4 + 2].bytes_per_s = 1e8; /* not a neighbour in 0 1 2 3 */
    m.route[0 * 4 + 2].latency_s = 1e-3;
    CHECK_IS(slowest_of(&m.platform, first, 4).bytes_per_s, 1e9);
    CHECK_IS(slowest_of(&m.platform, first, 4).latency_s, 0);
    CHECK_IS(slowest_of(&m.platform, skewed, 4).bytes_per_s, 1e8);
    CHECK_IS(slowest_of(&m.platform, skewed, 4).latency_s, 1e-3);
    m.route[1 * 4 + 2] = (weft_route){.n_hops = -1};
    CHECK_IS(slowest_of(&m.platform, first, 4).bytes_per_s, 0);
    CHECK(isinf(slowest_of(&m.platform, first, 1).bytes_per_s)); /* no link at all */
}

TEST(rings_keep_their_relations)
{
    weft_rng rng = weft_rng_seed(1);

    for (int i = 0; i < 1000; i++) {
        int n = 2 + weft_rng_below(&rng, MOST_DEVICES - 1), size = 1 + weft_rng_below(&rng, 8);
        double bytes = 1e9 * weft_rng_real(&rng);
        weft_link_cost l = {1e-5 * weft_rng_real(&rng), 1e8 + 1e10 * weft_rng_real(&rng), 0, NULL,
                            false},
                       wide = l;
        weft_levels levels = {.n_inside = n, .n_outside = size, .inside = l, .outside = wide};
        weft_affine line = weft_levels_line(&levels);
        double s = weft_ring_s(&l, n, WEFT_ALL_REDUCE, bytes);

        wide.bytes_per_s *= 2;
        CHECK_NEAR(weft_ring_s(&l, n, WEFT_REDUCE_SCATTER, bytes) +
                       weft_ring_s(&l, n, WEFT_ALL_GATHER, bytes),
                   s);
        CHECK_NEAR(weft_affine_s(&line, bytes),
                   s + weft_ring_s(&levels.outside, size, WEFT_ALL_REDUCE, bytes / n));
        CHECK_NEAR(weft_levels_s(&levels, bytes), weft_affine_s(&line, bytes));
        CHECK(s >= weft_ring_s(&l, n, WEFT_ALL_REDUCE, 0.7 * bytes));
        CHECK(s >= weft_ring_s(&wide, n, WEFT_ALL_REDUCE, bytes));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_have_all_multiply_accumulates),
        cmocka_unit_test(layers_of_known_nodes),
        cmocka_unit_test(layers_of_gradients),
        cmocka_unit_test(layers_of_recurrent_gradients),
        cmocka_unit_test(layers_of_recurrent_operators_with_states),
        cmocka_unit_test(roofline_table_is_the_work_of_each_node),
        cmocka_unit_test(table_is_design_cost_by_node),
        cmocka_unit_test(arrays_stay_below_their_peaks_on_networks),
        cmocka_unit_test(operators_that_a_design_lacks),
        cmocka_unit_test(shapes_that_depend_on_data_have_no_cost),
        cmocka_unit_test(measured_times_replace_the_model),
        cmocka_unit_test(profiles_that_are_wrong),
        cmocka_unit_test(operators_of_only_exist),
        cmocka_unit_test(transfers_by_hand),
        cmocka_unit_test(rings_by_hand),
        cmocka_unit_test(rings_use_neighbours_only),
        cmocka_unit_test(rings_keep_their_relations),
    };

    return RUN_TESTS(tests);
}
