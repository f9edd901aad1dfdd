/* SPDX-License-Identifier: MIT */
/* test_import_repeats.c: nodes that repeat an earlier one are imported on a short way
 * (onnx_repeat.c, weft_builder_again). Every network here is written twice: as exporters do, and
 * with a comment of its own in every node, so that no two nodes have the same form and all go the
 * long way. Both must give the same graph, or the same error. */
#include "check.h"
#include "invariants.h"

#include "model.h"
#include "onnx_fields.h"
#include "problem.h"
#include "wire.h"

#include <stdio.h>

/* --- networks of layers ---------------------------------------------------------------------- */

enum { PER_LAYER = 6, MOST_LAYERS = 12, MOST_NODES = PER_LAYER * MOST_LAYERS, TEXT = 24 };

typedef struct described {
    const char *op;
    int n_inputs;
    char input[2][TEXT], output[TEXT], name[TEXT + 2];
    int axis;     /* of Softmax */
    double value; /* of Constant */
} described;

typedef struct network {
    int n_layers, n_nodes;
    described node[MOST_NODES];
    char bias[MOST_LAYERS][TEXT]; /* dimensions */
} network;

static described *add_node(network *n, const char *op, const char *out, const char *a,
                           const char *b)
{
    described *d = &n->node[n->n_nodes++];

    *d = (described){.op = op, .n_inputs = (a != NULL) + (b != NULL), .axis = -1, .value = 0.5};
    if (a)
        snprintf(d->input[0], TEXT, "%s", a);
    if (b)
        snprintf(d->input[1], TEXT, "%s", b);
    snprintf(d->output, TEXT, "%s", out);
    snprintf(d->name, sizeof d->name, "n/%s", out);
    return d;
}

/* h = Softmax(Add(MatMul(h, w), b)) * c + h, where c is a Constant of every layer. */
static void add_layer(network *n, int k)
{
    char h[TEXT], w[TEXT], b[TEXT], t[PER_LAYER][TEXT];

    snprintf(h, TEXT, k == 0 ? "x" : "t%d.%d", k - 1, PER_LAYER - 1);
    snprintf(w, TEXT, "w%d", k);
    snprintf(b, TEXT, "b%d", k);
    for (int i = 0; i < PER_LAYER; i++)
        snprintf(t[i], TEXT, "t%d.%d", k, i);
    (void)add_node(n, "MatMul", t[0], h, w);
    (void)add_node(n, "Add", t[1], t[0], b);
    (void)add_node(n, "Softmax", t[2], t[1], NULL);
    (void)add_node(n, "Constant", t[3], NULL, NULL);
    (void)add_node(n, "Mul", t[4], t[2], t[3]);
    (void)add_node(n, "Add", t[5], t[4], h);
    snprintf(n->bias[k], TEXT, "4");
}

static network layers(int n_layers)
{
    network n = {.n_layers = n_layers};

    for (int k = 0; k < n_layers; k++)
        add_layer(&n, k);
    return n;
}

/* --- as a document --------------------------------------------------------------------------- */

static void put_text(weft_wire_out *o, int field, const char *text)
{
    weft_wire_put_bytes(o, field, text, strlen(text));
}

static void put_dims(weft_wire_out *o, const char *dims)
{
    for (; *dims; dims++)
        if (*dims != 'x')
            weft_wire_put_varint(o, ONNX_TENSOR_DIMS, (uint64_t)(*dims - '0'));
}

static void put_weight(weft_wire_out *o, const char *kind, int k, const char *dims)
{
    size_t tensor = weft_wire_begin(o, ONNX_GRAPH_INITIALIZER);
    char name[TEXT];

    put_dims(o, dims);
    weft_wire_put_varint(o, ONNX_TENSOR_DATA_TYPE, WEFT_F32);
    snprintf(name, TEXT, "%s%d", kind, k);
    put_text(o, ONNX_TENSOR_NAME, name);
    weft_wire_end(o, tensor);
}

/* A tensor of 2 x 4 numbers. */
static void put_value(weft_wire_out *o, int field, const char *name)
{
    size_t value = weft_wire_begin(o, field), type, tensor, shape;

    put_text(o, ONNX_VALUE_NAME, name);
    type = weft_wire_begin(o, ONNX_VALUE_TYPE);
    tensor = weft_wire_begin(o, ONNX_TYPE_TENSOR);
    weft_wire_put_varint(o, ONNX_TENSOR_TYPE_ELEM, WEFT_F32);
    shape = weft_wire_begin(o, ONNX_TENSOR_TYPE_SHAPE);
    for (uint64_t size = 2; size <= 4; size += 2) {
        size_t dim = weft_wire_begin(o, ONNX_SHAPE_DIM);

        weft_wire_put_varint(o, ONNX_DIM_VALUE, size);
        weft_wire_end(o, dim);
    }
    weft_wire_end(o, shape);
    weft_wire_end(o, tensor);
    weft_wire_end(o, type);
    weft_wire_end(o, value);
}

static void put_attribute(weft_wire_out *o, const described *d)
{
    bool is_constant = strcmp(d->op, "Constant") == 0;
    size_t attr;

    if (!is_constant && strcmp(d->op, "Softmax") != 0)
        return;
    attr = weft_wire_begin(o, ONNX_NODE_ATTR);
    put_text(o, ONNX_ATTR_NAME, is_constant ? "value_float" : "axis");
    if (is_constant)
        weft_wire_put_float(o, ONNX_ATTR_F, (float)d->value);
    else
        weft_wire_put_varint(o, ONNX_ATTR_I, (uint64_t)(int64_t)d->axis);
    weft_wire_put_varint(o, ONNX_ATTR_KIND, is_constant ? 1 : 2);
    weft_wire_end(o, attr);
}

/* As exporters write it, texts first; `comment` 0 is none. */
static void put_node(weft_wire_out *o, const described *d, int comment)
{
    size_t node = weft_wire_begin(o, ONNX_GRAPH_NODE);
    char text[TEXT];

    for (int i = 0; i < d->n_inputs; i++)
        put_text(o, ONNX_NODE_INPUT, d->input[i]);
    put_text(o, ONNX_NODE_OUTPUT, d->output);
    if (*d->name)
        put_text(o, ONNX_NODE_NAME, d->name);
    put_text(o, ONNX_NODE_OP_TYPE, d->op);
    put_attribute(o, d);
    snprintf(text, TEXT, "%d", comment);
    if (comment > 0)
        put_text(o, ONNX_NODE_DOC, text);
    weft_wire_end(o, node);
}

static weft_status import(const network *n, bool has_comments, weft_model **out)
{
    weft_wire_out o = {.arena = weft_arena_new()};
    size_t part = weft_wire_begin(&o, ONNX_MODEL_OPSET);
    weft_status status;

    weft_wire_put_varint(&o, ONNX_OPSET_VERSION, 17);
    weft_wire_end(&o, part);
    part = weft_wire_begin(&o, ONNX_MODEL_GRAPH);
    for (int u = 0; u < n->n_nodes; u++)
        put_node(&o, &n->node[u], has_comments ? u + 1 : 0);
    for (int k = 0; k < n->n_layers; k++) {
        put_weight(&o, "w", k, "4x4");
        put_weight(&o, "b", k, n->bias[k]);
    }
    put_value(&o, ONNX_GRAPH_INPUT, "x");
    put_value(&o, ONNX_GRAPH_OUTPUT, n->node[n->n_nodes - 1].output);
    weft_wire_end(&o, part);
    status = weft_onnx_import(o.at, o.n, "test.onnx", NULL, out);
    weft_arena_free(o.arena);
    return status;
}

/* --- comparison ------------------------------------------------------------------------------ */

static void check_same_ints(const int *a, const int *b, int n)
{
    for (int i = 0; i < n; i++)
        CHECK_INT(a[i], b[i]);
}

static void check_same_tensor(const weft_tensor *a, const weft_tensor *b)
{
    CHECK_TEXT(a->name, b->name);
    CHECK_INT(a->type, b->type);
    CHECK_INT(a->kind, b->kind);
    CHECK(weft_shape_equal(a->shape, b->shape));
    CHECK_INT(a->elements, b->elements);
    CHECK_INT(a->bytes, b->bytes);
    CHECK_INT(a->producer, b->producer);
    CHECK_INT(a->is_parameter, b->is_parameter);
    CHECK_INT(a->value != NULL, b->value != NULL);
}

static void check_same_node(const weft_node *a, const weft_node *b)
{
    CHECK_TEXT(a->name, b->name);
    CHECK_TEXT(a->op, b->op);
    CHECK_TEXT(a->domain, b->domain);
    CHECK_INT(a->opset, b->opset);
    CHECK_INT(a->n_attrs, b->n_attrs);
    CHECK_INT(weft_node_int(a, "axis", 99), weft_node_int(b, "axis", 99));
}

static void check_same_graph(const weft_graph *a, const weft_graph *b)
{
    CHECK_INT(a->n_nodes, b->n_nodes);
    CHECK_INT(a->n_tensors, b->n_tensors);
    CHECK_INT(a->n_edges, b->n_edges);
    for (int u = 0; u < a->n_nodes; u++)
        check_same_node(&a->node[u], &b->node[u]);
    for (int t = 0; t < a->n_tensors; t++)
        check_same_tensor(&a->tensor[t], &b->tensor[t]);
    check_same_ints(a->arg_at, b->arg_at, a->n_nodes + 1);
    check_same_ints(a->arg, b->arg, a->arg_at[a->n_nodes]);
    check_same_ints(a->res_at, b->res_at, a->n_nodes + 1);
    check_same_ints(a->res, b->res, a->res_at[a->n_nodes]);
    check_same_ints(a->use_at, b->use_at, a->n_tensors + 1);
    check_same_ints(a->use, b->use, a->use_at[a->n_tensors]);
    check_same_ints(a->in_from, b->in_from, a->n_edges);
    check_same_ints(a->out_to, b->out_to, a->n_edges);
    CHECK(weft_graph_hash(a) == weft_graph_hash(b));
}

/* Nodes that have the work of an earlier one. */
static int count_repeats(const weft_graph *g)
{
    int n = 0;

    for (int u = 0; u < g->n_nodes; u++)
        n += g->like[u] != u;
    return n;
}

/* The work of a node is that of the one it is said to be like. */
static void check_likes(const weft_graph *g)
{
    for (int u = 0; u < g->n_nodes; u++) {
        weft_work a = weft_node_work(g, u), b = weft_node_work(g, g->like[u]);

        CHECK_INT(a.flops, b.flops);
        CHECK_INT(a.read_bytes, b.read_bytes);
        CHECK_INT(a.write_bytes, b.write_bytes);
    }
}

/* Both imports agree; returns the graph's hash, 0 if both refuse the network. */
static uint64_t check_both_ways(const network *n)
{
    weft_model *shared, *plain;
    weft_status status = import(n, false, &shared);
    char message[256];
    uint64_t hash;

    snprintf(message, sizeof message, "%s", status == WEFT_OK ? "" : weft_message());
    CHECK_INT(import(n, true, &plain), status);
    if (status != WEFT_OK) {
        CHECK_TEXT(weft_message(), message);
        return 0;
    }
    CHECK_INT(count_repeats(plain->graph), 0);
    check_same_graph(shared->graph, plain->graph);
    check_likes(shared->graph);
    CHECK_INT(shared->n_tensors, plain->n_tensors);
    CHECK_INT(shared->n_constants, plain->n_constants);
    for (int i = 0; i < shared->n_tensors; i++)
        CHECK_TEXT(shared->tensor[i].name, plain->tensor[i].name);
    hash = weft_graph_hash(shared->graph);
    weft_model_free(shared);
    weft_model_free(plain);
    return hash;
}

/* --- tests ----------------------------------------------------------------------------------- */

TEST(layers_repeat)
{
    network n = layers(8);
    weft_model *m;

    CHECK(check_both_ways(&n) != 0);
    CHECK_OK(import(&n, false, &m));
    CHECK_INT(m->graph->n_nodes, 8 * (PER_LAYER - 1)); /* constants are weights */
    CHECK_INT(count_repeats(m->graph), 7 * (PER_LAYER - 1));
    weft_model_free(m);
}

/* The node of layer 5, of 8, at this place. */
static described *late(network *n, int place)
{
    return &n->node[5 * PER_LAYER + place];
}

TEST(an_attribute_that_differs_from_the_twin_is_kept)
{
    network n = layers(8);
    uint64_t before = check_both_ways(&n), after;
    weft_model *m;

    late(&n, 2)->axis = 0;
    after = check_both_ways(&n);
    CHECK(after != 0 && after != before);
    CHECK_OK(import(&n, false, &m));
    for (int u = 0; u < m->graph->n_nodes; u++)
        if (strcmp(m->graph->node[u].op, "Softmax") == 0)
            CHECK_INT(weft_node_int(&m->graph->node[u], "axis", 99),
                      strcmp(m->graph->node[u].name, "n/t5.2") == 0 ? 0 : -1);
    weft_model_free(m);
}

TEST(a_constant_that_differs_from_the_twin_is_kept)
{
    network n = layers(8);
    weft_model *m;
    int n_seen = 0;

    late(&n, 3)->value = 2;
    CHECK(check_both_ways(&n) != 0);
    CHECK_OK(import(&n, false, &m));
    for (int t = 0; t < m->graph->n_tensors; t++) {
        const weft_tensor *x = &m->graph->tensor[t];
        size_t length = strlen(x->name);

        if (length < 2 || strcmp(x->name + length - 2, ".3") != 0)
            continue;
        CHECK_NEAR(x->value->reals[0], strcmp(x->name, "t5.3") == 0 ? 2.0 : 0.5);
        n_seen++;
    }
    CHECK_INT(n_seen, 8);
    weft_model_free(m);
}

TEST(names_of_repeated_nodes_are_kept_or_told_apart)
{
    static const char *const names[] = {"other", "", "n/t2.1", "n/t5.0"};
    network n = layers(8);
    uint64_t before = check_both_ways(&n), after;

    for (int i = 0; i < 4; i++) {
        snprintf(late(&n, 1)->name, TEXT, "%s", names[i]);
        after = check_both_ways(&n);
        CHECK(after != 0 && after != before);
    }
}

TEST(a_shape_that_differs_from_the_twin_is_inferred)
{
    network n = layers(8);
    uint64_t before = check_both_ways(&n), after;
    weft_model *m;

    snprintf(n.bias[5], TEXT, "3x1x4"); /* all that follows has three dimensions */
    after = check_both_ways(&n);
    CHECK(after != 0 && after != before);
    CHECK_OK(import(&n, false, &m));
    for (int t = 0; t < m->graph->n_tensors; t++) {
        const weft_tensor *x = &m->graph->tensor[t];

        if (x->producer >= 0)
            CHECK_INT(x->shape->rank,
                      x->name[1] > '5' || (x->name[1] == '5' && x->name[3] > '0') ? 3 : 2);
    }
    weft_model_free(m);
    snprintf(n.bias[5], TEXT, "3"); /* does not fit */
    CHECK_INT(check_both_ways(&n), 0);
}

TEST(an_operand_that_differs_from_the_twin_is_read)
{
    static const char *const operands[] = {"x", "t5.4", "t3.2", "b5", "t0.3"};
    network n = layers(8);
    uint64_t before = check_both_ways(&n), last = before, after;

    for (int i = 0; i < 5; i++) { /* t5.4 is the other operand of the node, too */
        snprintf(late(&n, 5)->input[1], TEXT, "%s", operands[i]);
        after = check_both_ways(&n);
        CHECK(after != 0 && after != before && after != last);
        last = after;
    }
}

TEST(repeated_nodes_are_checked_as_all_are)
{
    network n = layers(8);

    snprintf(late(&n, 5)->input[1], TEXT, "nowhere");
    CHECK_INT(check_both_ways(&n), 0);
    CHECK(strstr(weft_message(), "'nowhere'") != NULL);
    n = layers(8);
    snprintf(late(&n, 5)->output, TEXT, "t2.5");
    CHECK_INT(check_both_ways(&n), 0);
    CHECK(strstr(weft_message(), "'t2.5'") != NULL);
    n = layers(8);
    snprintf(late(&n, 2)->input[0], TEXT, "t6.1"); /* made later: a cycle */
    CHECK_INT(check_both_ways(&n), 0);
}

static void change_something(network *n, weft_rng *r)
{
    described *d = &n->node[weft_rng_below(r, n->n_nodes)];
    const described other = n->node[weft_rng_below(r, n->n_nodes)];

    switch (weft_rng_below(r, 7)) {
    case 0:
        d->axis = -1 - weft_rng_below(r, 2);
        break;
    case 1:
        d->value = weft_rng_below(r, 3);
        break;
    case 2:
        snprintf(d->name, sizeof d->name, "%s", weft_rng_below(r, 2) ? other.name : "");
        break;
    case 3:
        snprintf(n->bias[weft_rng_below(r, n->n_layers)], TEXT, "%s",
                 weft_rng_below(r, 2) ? "1" : "2x4");
        break;
    case 4:
        d->op = d->n_inputs == 1 ? "Relu" : strcmp(d->op, "Add") == 0 ? "Sub" : d->op;
        break;
    case 5:
        if (d->n_inputs > 0)
            snprintf(d->input[weft_rng_below(r, d->n_inputs)], TEXT, "%s", other.output);
        break;
    default:
        if (weft_rng_below(r, 8) == 0)
            snprintf(d->output, TEXT, "%s", other.output);
        break;
    }
}

TEST(random_networks_are_the_same_both_ways)
{
    int n_good = 0, n_refused = 0;

    for (uint64_t seed = 1; seed <= (uint64_t)N_DRAWN(2000); seed++) {
        weft_rng r = weft_rng_seed(seed);
        network n = layers(3 + weft_rng_below(&r, MOST_LAYERS - 2));
        int n_changes = weft_rng_below(&r, 5);

        for (int i = 0; i < n_changes; i++)
            change_something(&n, &r);
        if (check_both_ways(&n) != 0)
            n_good++;
        else
            n_refused++;
    }
    CHECK(n_good > N_DRAWN(2000) / 2);
    CHECK(n_refused > 0);
}

/* --- the builder ----------------------------------------------------------------------------- */

enum { CHAIN = 50 };

typedef struct texts {
    char node[CHAIN][TEXT], tensor[CHAIN + 1][TEXT];
} texts;

static weft_shape four = {.rank = 1, .dim = {4}};

/* Adds node u, which reads the tensors and makes another one; as it says, or as node 0 again. */
static int add_link(weft_builder *b, const texts *names, int u, const int args[2], bool is_again)
{
    weft_tensor result = {.type = WEFT_F32, .shape = &four, .elements = 4, .bytes = 16};
    weft_node node = {
        .name = names->node[u], .op = "Add", .domain = "", .opset = 17, .forward = -1};
    weft_again again = {.earlier = u / 2, /* like the first one itself */
                        .name = names->node[u],
                        .n = strlen(names->node[u]),
                        .args = args,
                        .result = &result,
                        .result_name = names->tensor[u + 1]};
    int made;

    if (is_again && u > 0) {
        CHECK(weft_builder_again(b, &again, &made));
        return made;
    }
    made = weft_builder_tensor_as(b, &result, names->tensor[u + 1], WEFT_ACTIVATION);
    u = weft_builder_node(b, &node, args, 2, &made, 1);
    if (u > 0)
        weft_builder_like(b, u, 0);
    return made;
}

/* Each node adds the last result and the input; one of them reads nothing else. */
static weft_graph *chain(const texts *names, bool is_again, bool shares, int room)
{
    weft_builder *b = weft_builder_new("chain");
    weft_tensor input = {.name = names->tensor[0],
                         .type = WEFT_F32,
                         .kind = WEFT_INPUT,
                         .shape = &four,
                         .elements = 4,
                         .bytes = 16};
    weft_graph *g;
    int first, last;

    if (room > 0)
        weft_builder_reserve(b, room, room);
    if (shares)
        weft_builder_share(b);
    first = last = weft_builder_tensor(b, &input);
    for (int u = 0; u < CHAIN; u++)
        last = add_link(b, names, u, (int[]){last, u == CHAIN / 2 ? -1 : first}, is_again);
    weft_builder_output(b, last);
    CHECK_OK(weft_builder_finish(b, &g));
    weft_builder_free(b);
    return g;
}

static texts numbered(void)
{
    texts t;

    for (int u = 0; u < CHAIN; u++)
        snprintf(t.node[u], TEXT, "n%d", u);
    for (int u = 0; u <= CHAIN; u++)
        snprintf(t.tensor[u], TEXT, "t%d", u);
    return t;
}

TEST(a_node_again_is_the_node_added_anew)
{
    static const int rooms[] = {0, 10, 2 * CHAIN};
    texts names = numbered();

    for (int i = 0; i < 3; i++)
        for (int shares = 0; shares < 2; shares++) {
            weft_graph *a = chain(&names, true, shares, rooms[i]);
            weft_graph *b = chain(&names, false, shares, rooms[i]);

            check_same_graph(a, b);
            check_same_ints(a->like, b->like, CHAIN);
            CHECK_INT(count_repeats(a), CHAIN - 1);
            weft_graph_check(a);
            weft_graph_free(a);
            weft_graph_free(b);
        }
}

TEST(a_node_again_needs_a_name_of_its_own)
{
    weft_builder *b = weft_builder_new("two");
    weft_tensor x = {.name = "x", .type = WEFT_F32, .kind = WEFT_INPUT, .shape = &four};
    weft_tensor y = {.name = "y", .type = WEFT_F32, .kind = WEFT_ACTIVATION, .shape = &four};
    weft_node node = {.name = "n", .op = "Relu", .domain = "", .opset = 17, .forward = -1};
    int input = weft_builder_tensor(b, &x), made = weft_builder_tensor(b, &y), again = -7;
    weft_again a = {.earlier = weft_builder_node(b, &node, &input, 1, &made, 1),
                    .name = "n",
                    .n = 1,
                    .args = &made,
                    .result = &y,
                    .result_name = "z"};
    weft_graph *g;

    CHECK(!weft_builder_again(b, &a, &again));
    a.name = "";
    a.n = 0;
    CHECK(!weft_builder_again(b, &a, &again));
    CHECK_INT(again, -7);
    a.name = "m";
    a.n = 1;
    CHECK(weft_builder_again(b, &a, &again));
    CHECK_INT(again, made + 1); /* nothing was left behind */
    weft_builder_output(b, again);
    CHECK_OK(weft_builder_finish(b, &g));
    CHECK_INT(g->n_nodes, 2);
    CHECK_INT(g->n_tensors, 3);
    CHECK_TEXT(g->node[1].name, "m");
    CHECK_TEXT(g->tensor[g->output[0]].name, "z");
    weft_graph_free(g);
    weft_builder_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_repeat),
        cmocka_unit_test(an_attribute_that_differs_from_the_twin_is_kept),
        cmocka_unit_test(a_constant_that_differs_from_the_twin_is_kept),
        cmocka_unit_test(names_of_repeated_nodes_are_kept_or_told_apart),
        cmocka_unit_test(a_shape_that_differs_from_the_twin_is_inferred),
        cmocka_unit_test(an_operand_that_differs_from_the_twin_is_read),
        cmocka_unit_test(repeated_nodes_are_checked_as_all_are),
        cmocka_unit_test(random_networks_are_the_same_both_ways),
        cmocka_unit_test(a_node_again_is_the_node_added_anew),
        cmocka_unit_test(a_node_again_needs_a_name_of_its_own),
    };

    return RUN_TESTS(tests);
}
