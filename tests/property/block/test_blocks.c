/* SPDX-License-Identifier: MIT */
/* Units of training graphs: what must hold for every network, on built-in models, on the ONNX files
 * of the tests and on random graphs. Bytes and shared parameters are summed again, naively. */
#define _POSIX_C_SOURCE 200809L
#include "block.h"
#include "check.h"
#include "graph_text.h"

#include <dirent.h>
#include <stdlib.h>
#include <time.h>

static const uint64_t *cut_at(const weft_blocks *u, int c)
{
    return u->cut + (size_t)c * (size_t)u->n_words;
}

static bool is_forward(const weft_graph *g, int u)
{
    return g->node[u].phase == WEFT_FORWARD;
}

/* --- what holds for all ---------------------------------------------------------------------- */

static void check_nodes(const weft_graph *g, const weft_blocks *u)
{
    bool *is_used = calloc((size_t)u->n_blocks, sizeof *is_used);

    for (int v = 0; v < g->n_nodes; v++) {
        CHECK(u->of_node[v] >= 0 && u->of_node[v] < u->n_blocks);
        is_used[u->of_node[v]] |= is_forward(g, v);
        if (g->node[v].phase == WEFT_BACKWARD && g->node[v].forward >= 0)
            CHECK_INT(u->of_node[v], u->of_node[g->node[v].forward]);
        for (int e = g->out_at[v]; is_forward(g, v) && e < g->out_at[v + 1]; e++)
            if (is_forward(g, g->out_to[e]))
                CHECK(u->of_node[v] <= u->of_node[g->out_to[e]]);
    }
    for (int k = 0; k < u->n_blocks; k++) {
        CHECK(is_used[k]);
        CHECK(u->name[k] != NULL && *u->name[k] != '\0');
    }
    free(is_used);
}

/* Edges of the units, each once: to[n], from[n]; their number. */
static int unit_edges(const weft_graph *g, const weft_blocks *u, int *from, int *to)
{
    bool *has = calloc((size_t)u->n_blocks * (size_t)u->n_blocks, sizeof *has);
    int n = 0;

    for (int v = 0; v < g->n_nodes; v++)
        for (int e = g->out_at[v]; is_forward(g, v) && e < g->out_at[v + 1]; e++) {
            int a = u->of_node[v], b = u->of_node[g->out_to[e]];

            if (!is_forward(g, g->out_to[e]) || a == b || has[a * u->n_blocks + b])
                continue;
            has[a * u->n_blocks + b] = true;
            from[n] = a;
            to[n++] = b;
        }
    free(has);
    return n;
}

static void check_cuts(const weft_graph *g, const weft_blocks *u, int64_t max_cuts)
{
    weft_arena *a = weft_arena_new();
    int *from = WEFT_NEW(a, int, g->n_edges), *to = WEFT_NEW(a, int, g->n_edges);
    int n_edges = unit_edges(g, u, from, to);
    weft_blocks all;

    CHECK(u->n_cuts <= max_cuts && u->n_cuts >= u->n_blocks + 1);
    CHECK(u->is_chain == (u->n_cuts == u->n_blocks + 1));
    for (int k = 0; k < u->n_blocks; k++) {
        CHECK(!weft_bit_get(cut_at(u, 0), k));
        CHECK(weft_bit_get(cut_at(u, u->n_cuts - 1), k));
    }
    for (int c = 0; c < u->n_cuts; c++) {
        for (int e = 0; e < n_edges; e++)
            CHECK(!weft_bit_get(cut_at(u, c), to[e]) || weft_bit_get(cut_at(u, c), from[e]));
        for (int d = 0; d < c; d++)
            CHECK(!weft_cut_within(u, c, d));
        for (int k = 0; u->is_chain && k < u->n_blocks; k++)
            CHECK(weft_bit_get(cut_at(u, c), k) == (k < c));
    }
    CHECK(weft_blocks_dag(u->n_blocks, n_edges, from, to, u->n_cuts, a, &all) == u->is_complete);
    CHECK(!u->is_complete || all.n_cuts == u->n_cuts);
    weft_arena_free(a);
}

/* Is a forward reader of the tensor outside of the cut? */
static bool leaves(const weft_graph *g, const weft_blocks *u, int t, const uint64_t *cut)
{
    for (int k = g->use_at[t]; k < g->use_at[t + 1]; k++)
        if (is_forward(g, g->use[k]) && !weft_bit_get(cut, u->of_node[g->use[k]]))
            return true;
    return false;
}

static void check_bytes(const weft_graph *g, const weft_blocks *u)
{
    int step = u->n_cuts > 200 ? 7 : 1; /* of many cuts every seventh */

    for (int c = 0; c < u->n_cuts; c += step) {
        double leave = 0, back = 0;

        for (int t = 0; t < g->n_tensors; t++) {
            int v = g->tensor[t].producer;

            if (v < 0 || !is_forward(g, v) || !weft_bit_get(cut_at(u, c), u->of_node[v]) ||
                !leaves(g, u, t, cut_at(u, c)))
                continue;
            leave += (double)g->tensor[t].bytes;
            back += weft_dtype_is_float(g->tensor[t].type) ? (double)g->tensor[t].bytes : 0;
        }
        CHECK(u->leave_bytes[c] == leave && u->back_bytes[c] == back);
    }
    CHECK(u->leave_bytes[0] == 0 && u->leave_bytes[u->n_cuts - 1] == 0);
}

/* Units with a forward node that reads the tensor, as flags; the first of them is returned. */
static int reading_units(const weft_graph *g, const weft_blocks *u, int t, bool *reads)
{
    int first = u->n_blocks;

    memset(reads, 0, (size_t)u->n_blocks * sizeof *reads);
    for (int k = g->use_at[t]; k < g->use_at[t + 1]; k++)
        if (is_forward(g, g->use[k])) {
            reads[u->of_node[g->use[k]]] = true;
            first = u->of_node[g->use[k]] < first ? u->of_node[g->use[k]] : first;
        }
    return first;
}

/* Updates belong to the first unit that reads the parameter; every other one has a row. */
static void check_shared(const weft_graph *g, const weft_blocks *u)
{
    bool *reads = calloc((size_t)u->n_blocks, sizeof *reads);
    int n = 0;

    for (int v = 0; v < g->n_nodes; v++) {
        int t, owner;

        if (g->node[v].phase != WEFT_UPDATE)
            continue;
        t = g->arg[g->arg_at[v]];
        owner = reading_units(g, u, t, reads);
        CHECK_INT(u->of_node[v], owner);
        for (int k = owner + 1; k < u->n_blocks; k++) {
            int n_rows = 0;

            for (int i = 0; i < u->n_shared; i++)
                n_rows += u->shared[i].tensor == t && u->shared[i].owner == owner &&
                          u->shared[i].other == k;
            CHECK_INT(n_rows, reads[k]);
            n += reads[k];
        }
    }
    CHECK_INT(u->n_shared, n);
    free(reads);
}

/* What flows back goes to a unit from which the other can be reached: as a pipeline does. Gradients
 * of parameters may come from any unit that shares them. */
static void check_backward(const weft_graph *g, const weft_blocks *u)
{
    weft_arena *a = weft_arena_new();
    int *from = WEFT_NEW(a, int, g->n_edges), *to = WEFT_NEW(a, int, g->n_edges);
    int n_edges = unit_edges(g, u, from, to);
    bool *reaches = WEFT_NEW(a, bool, u->n_blocks * u->n_blocks);

    for (int k = u->n_blocks - 1; k >= 0; k--) {
        reaches[k * u->n_blocks + k] = true;
        for (int e = 0; e < n_edges; e++)
            for (int l = 0; from[e] == k && l < u->n_blocks; l++)
                reaches[k * u->n_blocks + l] |= reaches[to[e] * u->n_blocks + l];
    }
    for (int v = 0; v < g->n_nodes; v++) {
        bool is_parameter = false; /* its gradient, or a part of it */

        for (int e = g->out_at[v]; e < g->out_at[v + 1]; e++)
            is_parameter |= g->node[g->out_to[e]].phase == WEFT_UPDATE;
        for (int e = g->in_at[v]; e < g->in_at[v + 1]; e++) {
            int w = g->in_from[e];

            if (g->node[v].phase == WEFT_BACKWARD && g->node[w].phase == WEFT_BACKWARD &&
                !is_parameter)
                CHECK(reaches[u->of_node[v] * u->n_blocks + u->of_node[w]]);
        }
    }
    weft_arena_free(a);
}

static void check_units(const weft_graph *g, const weft_block_options *o)
{
    weft_block_options fallback;
    weft_arena *a = weft_arena_new();
    weft_blocks u;

    weft_options_default(weft_block_table, &fallback);
    CHECK_OK(weft_blocks_of(g, o, a, &u));
    check_nodes(g, &u);
    check_cuts(g, &u, o ? o->max_cuts : fallback.max_cuts);
    check_bytes(g, &u);
    check_shared(g, &u);
    check_backward(g, &u);
    weft_arena_free(a);
}

/* --- networks -------------------------------------------------------------------------------- */

/* NULL: nothing in it can be trained. */
static weft_model *trained(const char *source)
{
    weft_model_options o = {
        .batch = strchr(source, '/') ? 0 : 1,
        .train = true,
        .optimizer = WEFT_ADAM,
        .n_dims = 1,
        .dim = &(weft_dim_binding){"N", 1}
    };
    weft_model *m = NULL;

    if (weft_model_open(source, &o, &m) == WEFT_OK)
        return m;
    o.n_dims = 0; /* it has no dimension N */
    if (weft_model_open(source, &o, &m) == WEFT_OK)
        return m;
    CHECK(strstr(weft_message(), "nothing to train") != NULL);
    return NULL;
}

TEST(built_in_models_have_units)
{
    static const char *const names[] = {
        "gpt2:xl", "gpt2:small", "llama",        "gpt3",         "bert",        "bert:large",
        "t5",      "gnmt",       "inception_v3", "resnet50",     "unet",        "vgg16",
        "dlrm",    "moe",        "resnet18",     "mobilenet_v2", "densenet121", "lstm"};
    const weft_block_options few = {.max_cuts = 100, .parts = 200},
                             coarse = {.max_cuts = 4000, .parts = 3};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        weft_model *m = trained(names[i]);

        check_units(m->graph, NULL);
        check_units(m->graph, &few);
        check_units(m->graph, &coarse);
        weft_model_free(m);
    }
}

static int check_folder(const char *folder)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    int n = 0;

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        size_t length = strlen(entry->d_name);
        char path[512];
        weft_model *m;

        if (length < 5 || strcmp(entry->d_name + length - 5, ".onnx") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        m = trained(path);
        if (m == NULL)
            continue;
        check_units(m->graph, NULL);
        weft_model_free(m);
        n++;
    }
    if (dir != NULL)
        closedir(dir);
    return n;
}

TEST(files_have_units)
{
    CHECK(check_folder(WEFT_TEST_DATA "/models") >= 15);
    CHECK(check_folder(WEFT_TEST_DATA "/models/small") > 0);
}

/* --- units that people expect ---------------------------------------------------------------- */

static weft_blocks units_of(const weft_model *m, weft_arena *a)
{
    weft_blocks u;

    CHECK_OK(weft_blocks_of(m->graph, NULL, a, &u));
    return u;
}

TEST(transformers_are_chains_of_layers)
{
    struct {
        const char *name;
        int n_layers, n_shared;
    } rows[] = {
        {"gpt2:xl", 48, 1},
        {"llama",   32, 0},
        {"gpt3",    96, 1},
        {"bert",    12, 0},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        weft_arena *a = weft_arena_new();
        weft_model *m = trained(rows[i].name);
        weft_blocks u = units_of(m, a);

        CHECK(u.is_chain && u.is_complete);
        CHECK(u.n_blocks >= rows[i].n_layers && u.n_blocks <= 2 * rows[i].n_layers + 3);
        CHECK_INT(u.n_shared, rows[i].n_shared); /* tied embeddings */
        for (int c = 2; c < u.n_cuts - 1; c++)   /* nothing but the stream, and a mask */
            CHECK(u.leave_bytes[c] > 0 && u.leave_bytes[c] <= 1.01 * u.leave_bytes[1]);
        weft_model_free(m);
        weft_arena_free(a);
    }
}

TEST(branches_stay_branches)
{
    weft_arena *a = weft_arena_new();
    weft_model *m = trained("inception_v3");
    weft_blocks u = units_of(m, a);

    CHECK(!u.is_chain && u.is_complete);
    CHECK(u.n_cuts > u.n_blocks + 1 && u.n_cuts < 1000);
    weft_model_free(m);

    m = trained("dlrm"); /* 26 tables beside each other: 2^26 cuts; each table is a unit still */
    u = units_of(m, a);
    CHECK(u.is_chain && !u.is_complete);
    CHECK(u.n_blocks > 26);
    weft_model_free(m);
    weft_arena_free(a);
}

TEST(large_networks_take_milliseconds)
{
    weft_arena *a = weft_arena_new();
    weft_model *m = trained("gpt3");
    clock_t start = clock();

    (void)units_of(m, a);
    if (IS_THOROUGH)
        CHECK((double)(clock() - start) / CLOCKS_PER_SEC < 0.05);
    weft_model_free(m);
    weft_arena_free(a);
}

/* --- random graphs --------------------------------------------------------------------------- */

/* Tasks with edges to a few of those just before, or to any; some far lighter than others. */
static weft_graph *random_graph(weft_rng *rng, int n, int reach)
{
    weft_arena *a = weft_arena_new();
    char *text = WEFT_NEW(a, char, 64 * (n + 1) * 4), *at = text;
    weft_graph *g = NULL;

    for (int v = 0; v < n; v++)
        at += sprintf(at, "t%d:%d ", v, weft_rng_below(rng, 2) ? 1 + weft_rng_below(rng, 5) : 1000);
    at += sprintf(at, ";");
    for (int v = 1; v < n; v++) {
        int from = v > reach ? v - reach : 0, k = weft_rng_below(rng, 4);

        for (int i = 0, last = -1; i < k && i < 3; i++) {
            int w = from + weft_rng_below(rng, v - from);

            if (w > last) /* no pair twice */
                at += sprintf(at, " t%d>t%d:%d", w, v, 1 + weft_rng_below(rng, 9));
            last = w > last ? w : last;
        }
    }
    CHECK_OK(weft_graph_parse(text, &g));
    weft_arena_free(a);
    return g;
}

TEST(random_graphs_have_units)
{
    weft_rng rng = weft_rng_seed(11);
    int n_wide = 0, n_partial = 0;

    for (int round = 0; round < N_DRAWN(1000); round++) {
        weft_graph *g = random_graph(&rng, 1 + weft_rng_below(&rng, 60),
                                     round % 2 ? 4 : 1 + weft_rng_below(&rng, 60));
        weft_block_options o = {.max_cuts = 100 + weft_rng_below(&rng, 2000),
                                .parts = 1 + weft_rng_below(&rng, 100)};
        weft_arena *a = weft_arena_new();
        weft_blocks u;

        check_units(g, &o);
        CHECK_OK(weft_blocks_of(g, &o, a, &u));
        n_wide += !u.is_chain;
        n_partial += !u.is_complete;
        weft_arena_free(a);
        weft_graph_free(g);
    }
    CHECK(n_wide > N_DRAWN(100) && n_partial > N_DRAWN(20));
}

/* Where nothing is light, every node is a unit, and all cuts of the graph itself are found: sides
 * of at most 12 parts do not exist among so few nodes of at least one part in 12,000. */
TEST(without_light_nodes_no_cut_is_lost)
{
    weft_rng rng = weft_rng_seed(12);

    for (int round = 0; round < N_DRAWN(300); round++) {
        weft_graph *g = random_graph(&rng, 1 + weft_rng_below(&rng, 12), 5);
        weft_block_options o = {.max_cuts = 1000000, .parts = 1e5};
        weft_arena *a = weft_arena_new();
        int *from = WEFT_NEW(a, int, g->n_edges), *to = WEFT_NEW(a, int, g->n_edges), n = 0;
        weft_blocks u, all;

        for (int v = 0; v < g->n_nodes; v++)
            for (int e = g->out_at[v]; e < g->out_at[v + 1]; e++) {
                from[n] = v;
                to[n++] = g->out_to[e];
            }
        CHECK_OK(weft_blocks_of(g, &o, a, &u));
        CHECK(weft_blocks_dag(g->n_nodes, n, from, to, 1000000, a, &all));
        CHECK_INT(u.n_blocks, g->n_nodes);
        CHECK_INT(u.n_cuts, all.n_cuts);
        CHECK(u.is_complete);
        weft_arena_free(a);
        weft_graph_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(built_in_models_have_units),
        cmocka_unit_test(files_have_units),
        cmocka_unit_test(transformers_are_chains_of_layers),
        cmocka_unit_test(branches_stay_branches),
        cmocka_unit_test(large_networks_take_milliseconds),
        cmocka_unit_test(random_graphs_have_units),
        cmocka_unit_test(without_light_nodes_no_cut_is_lost),
    };
    return RUN_TESTS(tests);
}
