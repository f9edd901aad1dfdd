/* SPDX-License-Identifier: MIT */
/* A training step on cores: what is fused, what it costs, how it is cut into blocks. */

#include "check.h"
#include "eval_oracle.h"

#include "model.h"
#include "nets.h"
#include "workload_eval.h"

/* Sizes of one design; a template with several takes lists of its own. */
typedef struct chip {
    double size[WEFT_N_PARAMETERS];
    weft_template t;
} chip;

static void set_chip(chip *c, int tensor_cores, int vector_cores)
{
    static const double value[WEFT_N_CONSTANTS] = {
        [WEFT_AREA_FIXED] = 1,     [WEFT_AREA_PE] = 1e-3,       [WEFT_AREA_LANE] = 3e-3,
        [WEFT_AREA_SRAM] = 1,      [WEFT_POWER_FIXED] = 1,      [WEFT_POWER_MAC] = 1e-12,
        [WEFT_POWER_LANE] = 1e-12, [WEFT_HBM_BANDWIDTH] = 1e11, [WEFT_HBM_EFFICIENCY] = 0.5,
        [WEFT_CLOCK] = 1e9,        [WEFT_DERATE] = 1,           [WEFT_PORT] = 4096};

    *c = (chip){
        {16,       8, tensor_cores, 32,               vector_cores, 1 << 20},
        {.name = "chip", .source = "test",  .dataflow = WEFT_DATAFLOW_WS, .state_bytes = 8}
    };
    for (int k = 0; k < WEFT_N_PARAMETERS; k++) {
        c->t.n_sizes[k] = 1;
        c->t.size[k] = &c->size[k];
    }
    for (int i = 0; i < WEFT_N_CONSTANTS; i++)
        c->t.constant[i].value = value[i];
}

static const weft_design_point only = {{0}};

static weft_workload_eval *new_eval(const weft_graph *g, const chip *c)
{
    weft_workload_eval *m;

    CHECK_OK(weft_eval_new(g, &c->t, &m));
    return m;
}

static int n_operators(const weft_graph *g)
{
    chip c;
    weft_workload_eval *m;
    int n;

    set_chip(&c, 1, 1);
    m = new_eval(g, &c);
    n = weft_eval_n_operators(m);
    weft_eval_free(m);
    return n;
}

static int matmul(net_fixture *f, int value, const char *shape)
{
    return net_op(f, "MatMul", (int[]){value, net_weight(f, shape)}, 2, "");
}

/* x W1 + b, Relu, W2. */
static net_fixture perceptron(void)
{
    net_fixture f = net_start(WEFT_F16);
    int x = matmul(&f, net_input(&f, "64x32"), "32x16");

    x = net_op(&f, "Add", (int[]){x, net_weight(&f, "16")}, 2, "");
    x = net_op(&f, "Relu", &x, 1, "");
    (void)net_finish(&f, matmul(&f, x, "16x8"));
    return f;
}

/* --- fusion */

TEST(epilogues_join_their_product)
{
    net_fixture f = perceptron();

    CHECK_INT(n_operators(f.graph), 2); /* W1 + b, Relu; W2 */
    net_free(&f);
}

TEST(views_are_free_and_copies_need_no_core)
{
    net_fixture f = net_start(WEFT_F16);
    int64_t shape[] = {32, 4, 4};
    int x = matmul(&f, net_input(&f, "64x32"), "32x8");
    chip c;
    weft_workload_eval *m;
    weft_arena *a = weft_arena_new();
    weft_eval_schedule s;

    x = net_op(&f, "Reshape", (int[]){x, net_ints(&f, 3, shape)}, 2, "");
    x = net_op(&f, "Transpose", &x, 1, "perm=2,0,1");
    (void)net_finish(&f, x);
    set_chip(&c, 1, 1);
    m = new_eval(f.graph, &c);
    s = weft_eval_schedule_of(m, &only, a);
    CHECK_INT(s.n, 2); /* product, transposition */
    CHECK_INT(s.of_node[1], s.of_node[0]);
    CHECK_INT(s.n_tensor[1] + s.n_vector[1], 0);
    /* 500 cycles, then 64 x 8 elements of 2 bytes there and back at 50 GB/s */
    CHECK_NEAR((s.end_s[1] - s.start_s[1]) * 1e9, 500 + 64 * 8 * 2 * 2 / 50.0);
    weft_eval_free(m);
    weft_arena_free(a);
    net_free(&f);
}

/* A residual sum waits for nothing more than its product does, so it joins; two products that are
 * added do not. */
TEST(sums_join_if_the_rest_was_there_before)
{
    net_fixture f = net_start(WEFT_F16), two = net_start(WEFT_F16);
    int x = matmul(&f, net_input(&f, "64x32"), "32x32"), y, in;

    y = matmul(&f, x, "32x32");
    (void)net_finish(&f, net_op(&f, "Add", (int[]){x, y}, 2, ""));
    CHECK_INT(n_operators(f.graph), 2);
    in = net_input(&two, "64x32");
    x = matmul(&two, in, "32x32");
    y = matmul(&two, in, "32x32");
    (void)net_finish(&two, net_op(&two, "Add", (int[]){x, y}, 2, ""));
    CHECK_INT(n_operators(two.graph), 3);
    net_free(&f);
    net_free(&two);
}

TEST(gradients_of_operands_and_weights_are_separate)
{
    net_fixture f = perceptron();
    weft_graph *train;
    chip c;
    weft_workload_eval *m;

    CHECK_OK(weft_graph_train(f.graph, WEFT_ADAM, &train));
    /* forward 2, loss, dW2, dX2 with the gradient of Relu, db, dW1, three updates */
    CHECK_INT(n_operators(train), 10);
    set_chip(&c, 1, 1);
    m = new_eval(train, &c);
    /* forward 64 (32 x 16 + 16 x 8); the input needs no gradient: 3 times less 64 x 32 x 16 */
    CHECK_NEAR(weft_eval_macs(m), 3.0 * 64 * (32 * 16 + 16 * 8) - 64.0 * 32 * 16);
    CHECK_NEAR(weft_eval_memory_bytes(m),
               8.0 * (32 * 16 + 16 + 16 * 8) + (double)weft_graph_stash_bytes(train));
    weft_eval_free(m);
    weft_graph_free(train);
    net_free(&f);
}

/* Scale and bias of a norm wait for the same operator. */
TEST(updates_that_wait_for_the_same_are_one)
{
    net_fixture f = net_start(WEFT_F16);
    int x = matmul(&f, net_input(&f, "64x32"), "32x32");
    weft_graph *train;

    x = net_op(&f, "LayerNormalization", (int[]){x, net_weight(&f, "32"), net_weight(&f, "32")}, 3,
               "axis=-1");
    (void)net_finish(&f, x);
    CHECK_OK(weft_graph_train(f.graph, WEFT_ADAM, &train));
    /* product with norm, loss with the norm's gradient, dW, update of W, of scale and bias */
    CHECK_INT(n_operators(train), 5);
    weft_graph_free(train);
    net_free(&f);
}

/* --- work is neither lost nor added */

static double macs_of(const char *name, bool train)
{
    weft_model_options o = {.batch = 2, .train = train, .optimizer = WEFT_ADAM};
    weft_model *model;
    weft_workload_eval *m;
    chip c;
    double macs;

    set_chip(&c, 1, 1);
    CHECK_OK(weft_model_open(name, &o, &model));
    m = new_eval(model->graph, &c);
    macs = weft_eval_macs(m);
    weft_eval_free(m);
    weft_model_free(model);
    return macs;
}

TEST(training_takes_three_times_the_macs)
{
    CHECK_NEAR(macs_of("bert:base,layers=2", true) / macs_of("bert:base,layers=2", false), 3.0);
    /* the picture needs no gradient: 2 x 224^2 places, 64 x 3 x 3 x 3 weights less */
    CHECK_NEAR(macs_of("vgg16", true),
               3 * macs_of("vgg16", false) - 2.0 * 224 * 224 * 64 * 3 * 3 * 3);
}

/* --- times are those of the template model in cost/ */

static weft_design design_of(const chip *c)
{
    weft_design d = {.name = "d", .model = WEFT_TEMPLATE};

    d.value[WEFT_P_BANDWIDTH] = 1e11;
    d.value[WEFT_P_ETA] = 0.5;
    d.value[WEFT_P_CLOCK] = 1e9 * c->t.constant[WEFT_DERATE].value;
    d.value[WEFT_P_OVERHEAD] = 500e-9; /* of the clock: memory has no derate */
    d.value[WEFT_P_ROWS] = c->size[WEFT_ROWS];
    d.value[WEFT_P_COLS] = c->size[WEFT_COLS];
    d.value[WEFT_P_CORES] = c->size[WEFT_TENSOR_CORES];
    d.value[WEFT_P_LANES] = c->size[WEFT_LANES];
    d.value[WEFT_P_VECTOR_CORES] = c->size[WEFT_VECTOR_CORES];
    d.value[WEFT_P_SRAM] = c->size[WEFT_BUFFER];
    d.value[WEFT_P_DATAFLOW] = WEFT_DATAFLOW_WS;
    d.value[WEFT_P_PORT] = c->t.constant[WEFT_PORT].value;
    return d;
}

/* Pipelines of designs have the same times. */
static void check_keys(const weft_workload_eval *m, const weft_template *t, const weft_design *d)
{
    weft_arena *a = weft_arena_new();
    weft_eval_keys keys = weft_eval_keys_new(t, m->keys->key, m->keys->n, a);
    weft_design same = weft_point_design(t, &only);
    double *key_s = WEFT_NEW(a, double, m->keys->n);

    weft_eval_keys_s(&keys, &only, key_s);
    for (int i = 0; i < m->keys->n; i++) {
        const weft_work_key *k = &m->keys->key[i];

        if (k->is_view)
            continue;
        CHECK_NEAR(key_s[i] / weft_design_cost(d, k).seconds, 1.0);
        CHECK_NEAR(weft_design_cost(&same, k).seconds / weft_design_cost(d, k).seconds, 1.0);
    }
    weft_arena_free(a);
}

/* On all cores a node alone costs what weft_design_cost() says. */
static int check_costs(const char *name, int tensor_cores, int vector_cores, double port_bytes,
                       double derate)
{
    weft_model_options o = {.batch = 2, .dtype = WEFT_BF16, .train = true};
    weft_model *model;
    weft_workload_eval *m;
    const weft_eval_frame *f;
    weft_design d;
    chip c;
    int n_checked = 0;

    set_chip(&c, tensor_cores, vector_cores);
    c.t.constant[WEFT_PORT].value = port_bytes;
    c.t.constant[WEFT_DERATE].value = derate;
    d = design_of(&c);
    CHECK_OK(weft_model_open(name, &o, &model));
    m = new_eval(model->graph, &c);
    f = weft_eval_frame_of(m, &only);
    for (int i = 0; i < m->ops.kind_at[WEFT_EVAL_MEMORY]; i++) {
        const weft_eval_class *k = &m->ops.class_[i];
        size_t last = (size_t)(f->ways[k->kind].n - 1) * (size_t)m->ops.n_classes + (size_t)i;
        double sum_s = 0;

        for (int n = 0; n < k->n_keys; n++)
            sum_s += weft_design_cost(&d, k->key[n]).seconds;
        CHECK(f->lat_s[last] <= sum_s * (1 + 1e-12)); /* fusing saves */
        if (k->n_keys > 1)
            continue;
        CHECK_NEAR(f->lat_s[last] / sum_s, 1.0);
        n_checked++;
    }
    check_keys(m, &c.t, &d);
    weft_eval_free(m);
    weft_model_free(model);
    return n_checked;
}

TEST(times_on_all_cores_are_those_of_the_cost_model)
{
    CHECK(check_costs("resnet50", 1, 1, 4096, 1) > 20);
    CHECK(check_costs("resnet50", 4, 2, 50, 0.5) > 20);
    CHECK(check_costs("bert:base,layers=1", 2, 3, 20, 0.7) > 10);
    CHECK(check_costs("mobilenet_v3_large", 3, 4, 100, 1) > 20);
}

static double step_of(const weft_graph *g, const chip *c)
{
    weft_workload_eval *m = new_eval(g, c);
    double step_s = weft_eval_step_s(m, &only);

    weft_eval_free(m);
    return step_s;
}

/* A product with many rows and columns gains from every core. */
TEST(an_operator_is_split_over_all_cores)
{
    net_fixture f = net_start(WEFT_F16);
    weft_arena *a = weft_arena_new();
    double before_s = INFINITY;

    (void)net_finish(&f, matmul(&f, net_input(&f, "1024x512"), "512x256"));
    for (int cores = 1; cores <= 8; cores *= 2) {
        chip c;
        weft_workload_eval *m;
        weft_eval_schedule s;

        set_chip(&c, cores, 1);
        m = new_eval(f.graph, &c);
        s = weft_eval_schedule_of(m, &only, a);
        CHECK_INT(s.n_tensor[0], cores);
        CHECK_INT(s.n_vector[0], 0);
        CHECK(s.step_s < before_s);
        before_s = s.step_s;
        weft_eval_free(m);
    }
    weft_arena_free(a);
    net_free(&f);
}

/* 16 x 8 units stream 2 * 16 bytes and read and write 8 sums of 4 bytes in a cycle: two cores fill
 * a port of 192 bytes. More of them gain nothing, and are not used. */
TEST(all_cores_share_the_port_of_the_buffer)
{
    net_fixture f = net_start(WEFT_F16);
    weft_arena *a = weft_arena_new();
    double two_s = 0, wide_s;
    chip c;

    (void)net_finish(&f, matmul(&f, net_input(&f, "4096x512"), "512x256"));
    for (int cores = 2; cores <= 16; cores *= 2) {
        weft_workload_eval *m;
        weft_eval_schedule s;

        set_chip(&c, cores, 1);
        c.t.constant[WEFT_PORT].value = 192;
        m = new_eval(f.graph, &c);
        s = weft_eval_schedule_of(m, &only, a);
        two_s = cores == 2 ? s.step_s : two_s;
        CHECK(fabs(s.step_s / two_s - 1) < 0.02);
        CHECK_INT(s.n_tensor[0], 2);
        CHECK(weft_eval_simple_s(m, &only) > 0.98 * s.step_s); /* the port alone */
        weft_eval_free(m);
    }
    c.t.constant[WEFT_PORT].value = INFINITY;
    wide_s = step_of(f.graph, &c);
    CHECK(wide_s < two_s / 4);
    weft_arena_free(a);
    net_free(&f);
}

TEST(scaled_clock_and_bandwidth_scale_the_step)
{
    weft_model_options o = {.batch = 2, .train = true};
    weft_model *model;
    chip c, fast;

    CHECK_OK(weft_model_open("googlenet", &o, &model));
    set_chip(&c, 2, 2);
    set_chip(&fast, 2, 2);
    fast.t.constant[WEFT_CLOCK].value *= 2;
    fast.t.constant[WEFT_HBM_BANDWIDTH].value *= 2;
    CHECK_NEAR(step_of(model->graph, &c) / step_of(model->graph, &fast), 2.0);
    fast.t.constant[WEFT_HBM_BANDWIDTH].value *= 2; /* never slower */
    CHECK(step_of(model->graph, &fast) <= step_of(model->graph, &c) / 2);
    weft_model_free(model);
}

/* --- two products side by side */

TEST(conflicts_tell_which_cores_are_missing)
{
    net_fixture f = net_start(WEFT_F16);
    int in = net_input(&f, "128x64");
    chip c;
    weft_workload_eval *m;
    weft_conflicts one;

    net_ask(&f, matmul(&f, in, "64x64"));
    (void)net_finish(&f, matmul(&f, in, "64x64"));
    set_chip(&c, 1, 1);
    m = new_eval(f.graph, &c);
    one = weft_eval_conflicts(m, &only);
    CHECK_NEAR(one.step_s, 2 * one.path_s); /* one after the other */
    CHECK(one.tensor > 0);
    CHECK_NEAR(one.vector, 0.0);
    CHECK_NEAR(weft_eval_simple_s(m, &only) / one.step_s, 1.0); /* the work of one core */
    weft_eval_free(m);
    set_chip(&c, 2, 1);
    CHECK(step_of(f.graph, &c) <= one.path_s);
    net_free(&f);
}

/* --- blocks */

static double step_of_layers(const char *name, int *n_blocks, int *n_different)
{
    weft_model_options o = {.batch = 2, .dtype = WEFT_BF16, .train = true, .optimizer = WEFT_ADAM};
    weft_model *model;
    weft_workload_eval *m;
    chip c;
    double step_s;

    set_chip(&c, 2, 2);
    CHECK_OK(weft_model_open(name, &o, &model));
    m = new_eval(model->graph, &c);
    step_s = weft_eval_step_s(m, &only);
    *n_blocks = m->series.n;
    *n_different = m->series.n_blocks;
    weft_eval_free(m);
    weft_model_free(model);
    return step_s;
}

/* One more layer is the same blocks once more. */
TEST(equal_layers_are_scheduled_once)
{
    int blocks[3], different[3];
    double eight_s = step_of_layers("bert:large,layers=8,seq=64", &blocks[0], &different[0]);
    double nine_s = step_of_layers("bert:large,layers=9,seq=64", &blocks[1], &different[1]);
    double all_s = step_of_layers("bert:large,layers=24,seq=64", &blocks[2], &different[2]);

    CHECK_INT(different[1], different[0]);
    CHECK_INT(different[2], different[0]);
    CHECK_INT(blocks[2] - blocks[1], 15 * (blocks[1] - blocks[0]));
    CHECK_NEAR(all_s / (nine_s + 15 * (nine_s - eight_s)), 1.0);
    CHECK(different[2] <= 16);
}

/* gpt2's first weights are read by its first and its last layer. */
TEST(shared_weights_do_not_join_all_layers)
{
    int blocks, different;

    (void)step_of_layers("gpt2:layers=12,seq=64", &blocks, &different);
    CHECK(blocks > 60 && different <= 24);
}

/* --- wrong input */

TEST(refusals)
{
    net_fixture f = perceptron();
    weft_model_options o = {.train = true};
    weft_model *model;
    weft_workload_eval *m;
    chip c;
    double value_s, bound_s;

    set_chip(&c, 1, 1);
    c.size[WEFT_TENSOR_CORES] = 1.5;
    CHECK_FAILS(weft_eval_new(f.graph, &c.t, &m), "tensor_cores is 1.5, must be a whole number");
    set_chip(&c, 1, 1);
    CHECK_OK(weft_model_open("alexnet", &o, &model));
    m = new_eval(model->graph, &c);
    CHECK_FAILS(weft_eval_oracle(m, &only, 1, &value_s, &bound_s), "too many");
    weft_eval_free(m);
    weft_model_free(model);
    weft_eval_free(NULL);
    net_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(epilogues_join_their_product),
        cmocka_unit_test(views_are_free_and_copies_need_no_core),
        cmocka_unit_test(sums_join_if_the_rest_was_there_before),
        cmocka_unit_test(gradients_of_operands_and_weights_are_separate),
        cmocka_unit_test(updates_that_wait_for_the_same_are_one),
        cmocka_unit_test(training_takes_three_times_the_macs),
        cmocka_unit_test(times_on_all_cores_are_those_of_the_cost_model),
        cmocka_unit_test(an_operator_is_split_over_all_cores),
        cmocka_unit_test(all_cores_share_the_port_of_the_buffer),
        cmocka_unit_test(scaled_clock_and_bandwidth_scale_the_step),
        cmocka_unit_test(conflicts_tell_which_cores_are_missing),
        cmocka_unit_test(equal_layers_are_scheduled_once),
        cmocka_unit_test(shared_weights_do_not_join_all_layers),
        cmocka_unit_test(refusals),
    };

    return RUN_TESTS(tests);
}
