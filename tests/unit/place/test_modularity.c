/* SPDX-License-Identifier: MIT */
/* Modules of acyclic graphs: values by hand, by trying every interval partition and by networkx;
 * quotients that stay acyclic on thousands of random graphs. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include "dag.h"
#include "modularity.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST_NODES = 60, MOST_EDGES = MOST_NODES * MOST_NODES };

typedef struct drawn {
    weft_flow flow;
    int from[MOST_EDGES], to[MOST_EDGES];
    double weight[MOST_EDGES];
} drawn;

/* Edges with a probability that falls with the distance, so that there are modules to be found. */
static void draw(drawn *d, uint64_t seed, int n_nodes)
{
    weft_rng r = weft_rng_seed(seed);
    double reach = 2 + 10 * weft_rng_real(&r);

    d->flow = (weft_flow){n_nodes, 0, d->from, d->to, d->weight};
    for (int u = 0; u < n_nodes; u++) {
        for (int v = u + 1; v < n_nodes; v++) {
            if (weft_rng_real(&r) > exp((u - v) / reach))
                continue;
            d->from[d->flow.n_edges] = u;
            d->to[d->flow.n_edges] = v;
            d->weight[d->flow.n_edges++] = weft_rng_below(&r, 10);
        }
    }
}

static bool edges_climb(const weft_flow *f, const int *module)
{
    for (int e = 0; e < f->n_edges; e++) {
        if (module[f->from[e]] > module[f->to[e]])
            return false;
    }
    return true;
}

/* Every number from 0 on is used, by at most `most` nodes, and edges climb. */
static void check_modules(const weft_flow *f, const int *module, int n_modules, int most)
{
    int size[MOST_NODES] = {0};

    CHECK(n_modules <= f->n_nodes);
    for (int u = 0; u < f->n_nodes; u++) {
        CHECK(module[u] >= 0 && module[u] < n_modules);
        size[module[u]]++;
    }
    for (int c = 0; c < n_modules; c++)
        CHECK(size[c] >= 1 && size[c] <= most);
    CHECK(edges_climb(f, module));
}

/* --- by hand --------------------------------------------------------------------------------- */

/* Two triangles 0 1 2 and 3 4 5 joined by the edge 2 -> 3; all weights 1. */
static const int two_from[] = {0, 0, 1, 2, 3, 3, 4}, two_to[] = {1, 2, 2, 3, 4, 5, 5};
static const double two_weight[] = {1, 1, 1, 1, 1, 1, 1};
static const weft_flow two = {6, 7, two_from, two_to, two_weight};
static const int two_modules[] = {0, 0, 0, 1, 1, 1};

/* W = 7. Module 0: inside 3, leaving 2 + 1 + 1 = 4, entering 0 + 1 + 2 = 3. Module 1: inside 3,
 * leaving 2 + 1 + 0 = 3, entering 1 + 1 + 2 = 4. Q = 6/7 - gamma * (12 + 12)/49. */
TEST(modularity_of_two_triangles)
{
    const int one[6] = {0};

    CHECK_NEAR(weft_modularity(&two, two_modules, 2, 1), 6 / 7.0 - 24 / 49.0);
    CHECK_NEAR(weft_modularity(&two, two_modules, 2, 2), 6 / 7.0 - 48 / 49.0);
    CHECK_NEAR(weft_modularity(&two, one, 1, 1), 0.0); /* all in one: 1 - 49/49 */
}

TEST(both_ways_find_the_triangles)
{
    weft_arena *a = weft_arena_new();
    weft_module_rule rule = {1, 6};
    int module[6];

    CHECK_INT(weft_modules_interval(&two, &rule, a, module), 2);
    assert_memory_equal(module, two_modules, sizeof module);
    CHECK_INT(weft_modules_louvain(&two, &rule, a, module), 2);
    assert_memory_equal(module, two_modules, sizeof module);
    weft_arena_free(a);
}

TEST(graphs_without_weight_or_edges_are_cut_by_size_only)
{
    weft_arena *a = weft_arena_new();
    weft_flow bare = {5, 0, NULL, NULL, NULL};
    weft_module_rule rule = {1, 2};
    int module[5];

    CHECK_INT(weft_modules_interval(&bare, &rule, a, module), 3);
    check_modules(&bare, module, 3, 2);
    CHECK_INT(weft_modules_louvain(&bare, &rule, a, module), 5); /* nothing ties them */
    CHECK(weft_modularity(&bare, module, 5, 1) == 0);
    weft_arena_free(a);
}

/* A = {0, 3}, B = {1, 2} with 0 -> 1, 2 -> 3: a cycle of modules; C = {4} behind. */
TEST(repair_contracts_cycles_and_cuts_what_is_too_large)
{
    static const int from[] = {0, 2, 3}, to[] = {1, 3, 4};
    static const double weight[] = {1, 1, 1};
    weft_flow f = {5, 3, from, to, weight};
    weft_arena *a = weft_arena_new();
    weft_module_rule wide = {1, 5}, narrow = {1, 2};
    int module[] = {7, 3, 3, 7, 9};

    CHECK_INT(weft_modules_repair(&f, &wide, a, module), 2);
    CHECK(module[0] == 0 && module[1] == 0 && module[2] == 0 && module[3] == 0 && module[4] == 1);
    memcpy(module, (int[]){7, 3, 3, 7, 9}, sizeof module);
    CHECK_INT(weft_modules_repair(&f, &narrow, a, module), 3);
    check_modules(&f, module, 3, 2);
    CHECK_INT(module[0], module[1]);
    CHECK_INT(module[2], module[3]);
    weft_arena_free(a);
}

static int *order_of(const weft_flow *f, weft_arena *a)
{
    weft_rows out = weft_rows_by(f->from, f->n_edges, f->n_nodes, a);

    for (int i = 0; i < f->n_edges; i++)
        out.item[i] = f->to[out.item[i]];
    return weft_depth_first(out, f->n_nodes, a);
}

/* --- relations ------------------------------------------------------------------------------- */

TEST(the_order_is_topological)
{
    static drawn d;
    weft_arena *a = weft_arena_new();

    for (uint64_t seed = 1; seed <= 500; seed++) {
        int place[MOST_NODES], *order;

        draw(&d, seed, 1 + (int)(seed % MOST_NODES));
        order = order_of(&d.flow, a);
        for (int u = 0; u < d.flow.n_nodes; u++)
            place[u] = -1;
        for (int i = 0; i < d.flow.n_nodes; i++)
            place[order[i]] = i;
        for (int u = 0; u < d.flow.n_nodes; u++)
            CHECK(place[u] >= 0);
        CHECK(edges_climb(&d.flow, place));
    }
    weft_arena_free(a);
}

/* The best of all 2^(n-1) ways to cut the order. Bit i: a cut behind position i. */
static double best_by_trying(const weft_flow *f, const weft_module_rule *r, const int *order)
{
    double best = -INFINITY;

    for (unsigned cuts = 0; cuts < 1u << (f->n_nodes - 1); cuts++) {
        int module[MOST_NODES], c = 0, size = 0;
        bool fits = true;

        for (int i = 0; i < f->n_nodes; i++) {
            module[order[i]] = c;
            fits &= ++size <= r->most;
            if (cuts >> i & 1) {
                c++;
                size = 0;
            }
        }
        if (fits)
            best = fmax(best, weft_modularity(f, module, c + 1, r->gamma));
    }
    return best;
}

TEST(the_interval_program_equals_trying_everything)
{
    static drawn d;
    weft_arena *a = weft_arena_new();

    for (uint64_t seed = 1; seed <= 150; seed++) {
        weft_module_rule rule = {0.5 + (double)(seed % 4) / 2, 1 + (int)(seed % 9)};
        int module[MOST_NODES], n_modules, *order;

        draw(&d, seed, 1 + (int)(seed % 9));
        order = order_of(&d.flow, a);
        n_modules = weft_modules_interval(&d.flow, &rule, a, module);
        check_modules(&d.flow, module, n_modules, rule.most);
        CHECK_NEAR(weft_modularity(&d.flow, module, n_modules, rule.gamma),
                   best_by_trying(&d.flow, &rule, order));
    }
    weft_arena_free(a);
}

TEST(quotients_are_acyclic_on_random_graphs)
{
    static drawn d;
    weft_arena *a = weft_arena_new();
    int n_repaired = 0;

    for (uint64_t seed = 1; seed <= 3000; seed++) {
        weft_rng r = weft_rng_seed(seed);
        weft_module_rule rule = {0.5 + 2 * weft_rng_real(&r), 1 + weft_rng_below(&r, 30)};
        int module[MOST_NODES], n, n_drawn = 1 + weft_rng_below(&r, 12);

        draw(&d, seed, 1 + weft_rng_below(&r, MOST_NODES));
        n = weft_modules_interval(&d.flow, &rule, a, module);
        check_modules(&d.flow, module, n, rule.most);
        n = weft_modules_louvain(&d.flow, &rule, a, module);
        check_modules(&d.flow, module, n, rule.most);
        for (int u = 0; u < d.flow.n_nodes; u++)
            module[u] = weft_rng_below(&r, n_drawn);
        n_repaired += !edges_climb(&d.flow, module);
        n = weft_modules_repair(&d.flow, &rule, a, module);
        check_modules(&d.flow, module, n, rule.most);
    }
    CHECK(n_repaired > 1000); /* there was something to repair */
    weft_arena_free(a);
}

/* Moves only ever gain, so the end is no worse than every node alone; on the whole it should come
 * close to the intervals or beat them. */
TEST(louvain_gains_on_single_nodes_and_keeps_up_with_intervals)
{
    static drawn d;
    weft_arena *a = weft_arena_new();
    double sum = 0, sum_interval = 0;

    for (uint64_t seed = 1; seed <= 400; seed++) {
        weft_module_rule rule = {1, 20};
        int module[MOST_NODES], alone[MOST_NODES], n;
        double value;

        draw(&d, seed, MOST_NODES);
        for (int u = 0; u < MOST_NODES; u++)
            alone[u] = u;
        n = weft_modules_louvain(&d.flow, &rule, a, module);
        value = weft_modularity(&d.flow, module, n, 1);
        CHECK(value >= weft_modularity(&d.flow, alone, MOST_NODES, 1) - 1e-12);
        sum += value;
        n = weft_modules_interval(&d.flow, &rule, a, module);
        sum_interval += weft_modularity(&d.flow, module, n, 1);
    }
    CHECK(sum > 0.95 * sum_interval);
    weft_arena_free(a);
}

/* --- networkx -------------------------------------------------------------------------------- */

static const char python[] =
    "import sys\n"
    "from networkx import DiGraph\n"
    "from networkx.algorithms.community import modularity\n"
    "for line in open(sys.argv[1]):\n"
    "    gamma, n, modules, edges = line.split(';')\n"
    "    graph = DiGraph()\n"
    "    graph.add_nodes_from(range(int(n)))\n"
    "    for edge in edges.split():\n"
    "        u, v, w = edge.split(',')\n"
    "        graph.add_edge(int(u), int(v), weight=float(w))\n"
    "    sets = {}\n"
    "    for u, c in enumerate(modules.split()):\n"
    "        sets.setdefault(c, set()).add(u)\n"
    "    print(repr(modularity(graph, list(sets.values()), resolution=float(gamma))))\n";

static void write_case(FILE *to, const weft_flow *f, const int *module, double gamma)
{
    fprintf(to, "%.17g;%d;", gamma, f->n_nodes);
    for (int u = 0; u < f->n_nodes; u++)
        fprintf(to, " %d", module[u]);
    fputc(';', to);
    for (int e = 0; e < f->n_edges; e++)
        fprintf(to, " %d,%d,%g", f->from[e], f->to[e], f->weight[e]);
    fputc('\n', to);
}

static const char *text_file(weft_arena *a, const char *name, const char *text)
{
    const char *folder = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    char *path = weft_arena_print(a, "%s/%s-XXXXXX", folder, name);
    int file = mkstemp(path);
    FILE *to = file < 0 ? NULL : fdopen(file, "w");

    assert_non_null(to);
    fputs(text, to);
    CHECK_INT(fclose(to), 0);
    return path;
}

/* Draws the cases, writes them to `path` and returns our values. */
static double *write_cases(const char *path, int n_cases, weft_arena *a)
{
    static drawn d;
    double *value = WEFT_NEW(a, double, n_cases);
    FILE *to = fopen(path, "w");

    assert_non_null(to);
    for (int i = 0; i < n_cases; i++) {
        weft_module_rule rule = {0.5 + 0.25 * (i % 5), 5 + i % 20};
        int module[MOST_NODES], n;

        draw(&d, (uint64_t)i + 1, 20 + i % 40);
        n = i % 2 ? weft_modules_interval(&d.flow, &rule, a, module)
                  : weft_modules_louvain(&d.flow, &rule, a, module);
        value[i] = weft_modularity(&d.flow, module, n, rule.gamma);
        write_case(to, &d.flow, module, rule.gamma);
    }
    CHECK_INT(fclose(to), 0);
    return value;
}

TEST(values_are_those_of_networkx)
{
    enum { N_CASES = 60 };
    weft_arena *a = weft_arena_new();
    const char *script, *cases;
    double *value;
    FILE *from;

    if (system("python3 -c 'import networkx' 2>/dev/null") != 0) {
        print_message("python3-networkx is not installed: modularity is not compared with it\n");
        weft_arena_free(a);
        skip();
    }
    script = text_file(a, "weft-modularity", python);
    cases = text_file(a, "weft-cases", "");
    value = write_cases(cases, N_CASES, a);
    from = popen(weft_arena_print(a, "python3 -I '%s' '%s'", script, cases), "r");
    assert_non_null(from);
    for (int i = 0; i < N_CASES; i++) {
        double theirs;

        CHECK_INT(fscanf(from, "%lf", &theirs), 1);
        CHECK_NEAR(value[i], theirs);
    }
    CHECK_INT(pclose(from), 0);
    remove(script);
    remove(cases);
    weft_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modularity_of_two_triangles),
        cmocka_unit_test(both_ways_find_the_triangles),
        cmocka_unit_test(graphs_without_weight_or_edges_are_cut_by_size_only),
        cmocka_unit_test(repair_contracts_cycles_and_cuts_what_is_too_large),
        cmocka_unit_test(the_order_is_topological),
        cmocka_unit_test(the_interval_program_equals_trying_everything),
        cmocka_unit_test(quotients_are_acyclic_on_random_graphs),
        cmocka_unit_test(louvain_gains_on_single_nodes_and_keeps_up_with_intervals),
        cmocka_unit_test(values_are_those_of_networkx),
    };

    return RUN_TESTS(tests);
}
