/* SPDX-License-Identifier: MIT */
/* test_import_files.c: networks of real files: what is left after folding, where they can be cut,
 * other batch sizes and element types, the many spellings of one network. */
#include "check.h"
#include "invariants.h"

#include "model.h"

#include <dirent.h>
#include <stdio.h>

#define MODEL(name) WEFT_TEST_DATA "/models/" name ".onnx"

static weft_model *opened(const char *source, const weft_model_options *options)
{
    weft_model *m = NULL;

    CHECK_OK(weft_model_open(source, options, &m));
    weft_graph_check(m->graph);
    return m;
}

static weft_work work_of(const weft_graph *g)
{
    weft_work sum = {0, 0, 0, 0};

    for (int u = 0; u < g->n_nodes; u++)
        weft_work_add(&sum, weft_node_work(g, u));
    return sum;
}

static int64_t macs_of(const weft_model *m)
{
    return work_of(m->graph).macs;
}

static bool has_warning(const weft_model *m, const char *text)
{
    for (int i = 0; i < m->n_warnings; i++)
        if (strstr(m->warning[i], text))
            return true;
    return false;
}

typedef struct figures {
    const char *path;
    int n_nodes, n_cuts, n_barriers;
} figures;

static void check_separators(const figures *f)
{
    weft_model *m = opened(f->path, NULL);
    weft_arena *a = weft_arena_new();
    weft_separators s = weft_graph_separators(m->graph, a);

    CHECK_INT(m->graph->n_nodes, f->n_nodes);
    CHECK_INT(s.n_cuts, f->n_cuts);
    CHECK_INT(s.n_barriers, f->n_barriers);
    weft_arena_free(a);
    weft_model_free(m);
}

static bool is_there(const char *folder)
{
    DIR *d = opendir(folder);

    if (d)
        closedir(d);
    else
        print_message("skipped: ../shared is not there\n");
    return d != NULL;
}

/* Computed by another program for the report on placement methods. */
TEST(nodes_after_folding_cuts_and_barriers)
{
    static const figures ours[] = {
        {MODEL("resnet50"),     122, 38, 98 },
        {MODEL("densenet121"),  375, 27, 375},
        {MODEL("inception_v3"), 224, 26, 26 },
        {MODEL("gpt2_small"),   660, 31, 456},
        {MODEL("bert_base"),    621, 13, 411},
    };
    static const figures shared[] = {
        {WEFT_SHARED "/models/randwire_ws_small_s1.onnx", 577, 18, 18},
        {WEFT_SHARED "/models/nasnet_a_mobile_like.onnx", 661, 7,  7 },
    };

    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        check_separators(&ours[i]);
    if (is_there(WEFT_SHARED "/models"))
        for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
            check_separators(&shared[i]);
}

/* Networks whose files are fixed to one item: one moves the batch between its dimensions, one
 * takes the first image only. */
static bool is_fixed(const char *path)
{
    return strstr(path, "/vit_b_16.onnx") || strstr(path, "/fasterrcnn_mobilenet_v3_320_full.onnx");
}

/* Eight times the batch is eight times the work; of fixed files the user is told. */
static void check_batch(const char *path)
{
    weft_model_options one = {.batch = 1}, eight = {.batch = 8};
    weft_model *m = opened(path, &one), *large = NULL;

    if (weft_model_open(path, &eight, &large) != WEFT_OK) {
        CHECK(is_fixed(path));
        CHECK(strncmp(weft_message(), path, strlen(path)) == 0);
        CHECK(strstr(weft_message(), "fixed to batch 1 and could not be read with 8") != NULL);
    } else if (macs_of(large) != 8 * macs_of(m)) {
        CHECK(is_fixed(path));
        CHECK(has_warning(large, "the network may not work on the whole batch"));
    } else {
        CHECK(!has_warning(large, "whole batch"));
        CHECK_INT(large->graph->n_nodes, m->graph->n_nodes);
        for (int i = 0; i < m->graph->n_outputs; i++)
            CHECK_INT(large->graph->tensor[large->graph->output[i]].elements,
                      8 * m->graph->tensor[m->graph->output[i]].elements);
    }
    weft_model_free(m);
    weft_model_free(large);
}

/* Returns the number of files. */
static int check_batches(const char *folder)
{
    DIR *d = opendir(folder);
    int n = 0;

    CHECK(d != NULL);
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
        size_t length = strlen(e->d_name);
        char path[512];

        if (length < 6 || strcmp(e->d_name + length - 5, ".onnx") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        check_batch(path);
        n++;
    }
    closedir(d);
    return n;
}

TEST(work_grows_with_the_batch)
{
    CHECK(check_batches(WEFT_TEST_DATA "/models") >= 10);
    CHECK(check_batches(WEFT_TEST_DATA "/models/small") >= 10);
    if (is_there(WEFT_SHARED "/models"))
        CHECK(check_batches(WEFT_SHARED "/models") >= 20);
}

TEST(a_symbolic_batch_is_bound_by_either_flag)
{
    const weft_dim_binding n8[] = {
        {"N", 8}
    };
    weft_model_options by_name = {.n_dims = 1, .dim = n8}, by_flag = {.batch = 8};
    weft_model_options fixed = {.batch = 8};
    weft_model *a = opened(MODEL("resnet50_dynN"), &by_name);
    weft_model *b = opened(MODEL("resnet50_dynN"), &by_flag);
    weft_model *c = opened(MODEL("resnet50"), &fixed);

    CHECK_INT(macs_of(a), 8 * (int64_t)4089184256); /* reference/resnet50.json */
    CHECK_INT(macs_of(b), macs_of(a));
    CHECK_INT(macs_of(c), macs_of(a));
    CHECK_INT(weft_graph_peak_bytes(b->graph), weft_graph_peak_bytes(a->graph));
    CHECK_INT(weft_graph_peak_bytes(c->graph), weft_graph_peak_bytes(a->graph));
    weft_model_free(a);
    weft_model_free(b);
    weft_model_free(c);
}

TEST(a_symbolic_batch_has_one_size)
{
    const weft_dim_binding n8[] = {
        {"N", 8}
    };
    weft_model_options same = {.n_dims = 1, .dim = n8, .batch = 8}, by_flag = {.batch = 8};
    weft_model_options other = {.n_dims = 1, .dim = n8, .batch = 64};
    weft_model *m = opened(MODEL("resnet50_dynN"), &same);
    weft_model *n = opened(MODEL("resnet50_dynN"), &by_flag);

    CHECK_INT(m->batch_dim.size, 8);
    CHECK_TEXT(m->batch_dim.name, "N");
    CHECK_INT(n->batch_dim.size, 0);
    CHECK_INT(macs_of(m), macs_of(n));
    weft_model_free(m);
    weft_model_free(n);
    CHECK_FAILS(weft_model_open(MODEL("resnet50_dynN"), &other, &m),
                "--dim N=8 contradicts a batch of 64");
}

TEST(a_smaller_element_type_halves_the_bytes)
{
    weft_model_options half = {.dtype = WEFT_F16};
    weft_model *m = opened(MODEL("resnet18"), NULL), *h = opened(MODEL("resnet18"), &half);
    weft_work full = work_of(m->graph), less = work_of(h->graph);

    CHECK_INT(m->graph->n_tensors, h->graph->n_tensors);
    for (int t = 0; t < m->graph->n_tensors; t++)
        if (weft_dtype_is_float(m->graph->tensor[t].type))
            CHECK_INT(2 * h->graph->tensor[t].bytes, m->graph->tensor[t].bytes);
    CHECK_INT(less.macs, full.macs);
    CHECK_INT(less.flops, full.flops);
    CHECK_INT(2 * less.write_bytes, full.write_bytes);
    weft_model_free(m);
    weft_model_free(h);
}

static void check_alike(const char *path, const weft_model *m)
{
    weft_model *other = opened(path, NULL);

    CHECK_INT(other->graph->n_inputs, m->graph->n_inputs);
    CHECK_INT(other->graph->n_nodes, m->graph->n_nodes);
    CHECK_INT(other->graph->n_edges, m->graph->n_edges);
    CHECK_INT(macs_of(other), macs_of(m));
    CHECK_INT(other->n_parameters + other->n_constants, m->n_parameters + m->n_constants);
    weft_model_free(other);
}

/* The same networks with weights in Constant nodes, listed as inputs, in another file, ... */
TEST(spellings_of_a_network_give_the_same_graph)
{
    static const char *const mlps[] = {
        MODEL("small/small_mlp_constnodes"), MODEL("small/small_mlp_external"),
        MODEL("small/small_mlp_floatdata"),  MODEL("small/small_mlp_function"),
        MODEL("small/small_mlp_initinputs"), MODEL("small/small_mlp_packed"),
        MODEL("small/small_mlp_unnamed"),    MODEL("small/small_mlp_valueinfo"),
    };
    static const char *const cnns[] = {MODEL("small/small_cnn_constnodes"),
                                       MODEL("small/small_cnn_initinputs"),
                                       MODEL("small/small_cnn_valueinfo")};
    weft_model *mlp = opened(MODEL("small/small_mlp"), NULL);
    weft_model *cnn = opened(MODEL("small/small_cnn"), NULL);

    for (size_t i = 0; i < sizeof mlps / sizeof *mlps; i++)
        check_alike(mlps[i], mlp);
    for (size_t i = 0; i < sizeof cnns / sizeof *cnns; i++)
        check_alike(cnns[i], cnn);
    weft_model_free(mlp);
    weft_model_free(cnn);
}

TEST(quantised_weights_stay_as_small_as_they_are_stored)
{
    weft_model *m = opened(MODEL("small/small_cnn_qdq"), NULL);
    int n = 0;

    for (int t = 0; t < m->graph->n_tensors; t++) {
        const weft_tensor *x = &m->graph->tensor[t];

        if (x->kind == WEFT_WEIGHT && x->shape->rank == 4) {
            CHECK_INT(x->type, WEFT_F32); /* what the convolution reads */
            CHECK_INT(x->bytes, x->elements);
            n++;
        }
    }
    CHECK(n > 0);
    weft_model_free(m);
}

TEST(what_a_user_names_wrongly_is_explained)
{
    const weft_dim_binding n8[] = {
        {"N", 8}
    };
    weft_model_options bound = {.n_dims = 1, .dim = n8};
    weft_model *m = NULL;

    CHECK_FAILS(weft_model_open("resnet5O", NULL, &m),
                "'resnet5O' is neither a file nor a built-in model (did you mean 'resnet50'?)");
    CHECK_FAILS(weft_model_open("resnet50", &bound, &m), "--dim is for ONNX files");
    CHECK(weft_model_open("./no_such_file.onnx", NULL, &m) != WEFT_OK);
    CHECK(strstr(weft_message(), "no_such_file.onnx") != NULL);
    CHECK(m == NULL);
}

/* Nodes that are said to have the same work; returns how many there are. */
static int check_likes(const weft_graph *g)
{
    int n = 0;

    weft_graph_check(g);
    for (int u = 0; u < g->n_nodes; u++) {
        weft_work own = weft_node_work(g, u), first = weft_node_work(g, g->like[u]);

        CHECK(own.macs == first.macs && own.flops == first.flops);
        CHECK(own.read_bytes == first.read_bytes && own.write_bytes == first.write_bytes);
        CHECK_INT(weft_node_is_static(g, u), weft_node_is_static(g, g->like[u]));
        n += g->like[u] < u;
    }
    return n;
}

TEST(nodes_that_are_alike_have_the_same_work)
{
    static const char *const paths[] = {MODEL("llama7b"), MODEL("resnet50"), MODEL("vgg16")};
    static const int least[] = {1600, 50, 5}; /* layers, blocks and activations that repeat */

    for (int i = 0; i < 3; i++)
        for (int train = 0; train < 2; train++) {
            weft_model_options options = {.train = train, .optimizer = WEFT_ADAM};
            weft_model *m;

            CHECK_OK(weft_model_open(paths[i], &options, &m));
            CHECK(check_likes(m->graph) >= least[i]);
            weft_model_free(m);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_that_are_alike_have_the_same_work),
        cmocka_unit_test(nodes_after_folding_cuts_and_barriers),
        cmocka_unit_test(work_grows_with_the_batch),
        cmocka_unit_test(a_symbolic_batch_is_bound_by_either_flag),
        cmocka_unit_test(a_symbolic_batch_has_one_size),
        cmocka_unit_test(a_smaller_element_type_halves_the_bytes),
        cmocka_unit_test(spellings_of_a_network_give_the_same_graph),
        cmocka_unit_test(quantised_weights_stay_as_small_as_they_are_stored),
        cmocka_unit_test(what_a_user_names_wrongly_is_explained),
    };

    return RUN_TESTS(tests);
}
