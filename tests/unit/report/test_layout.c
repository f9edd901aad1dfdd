/* SPDX-License-Identifier: MIT */
/* Drawings: boxes do not overlap, children are below their parents, lines begin and end at boxes.
 */
#include "check.h"
#include "layout.h"

#include <stdlib.h>
#include <time.h>

static const double NO_DOT = 0, DOT = 1e9; /* work that Graphviz may be given */

/* A sketch being made. */
typedef struct net {
    weft_arena *a;
    weft_sketch s;
    double *w, *h;
    int *from, *to;
} net;

static net net_new(int n_nodes, int most_edges)
{
    net n = {.a = weft_arena_new()};

    n.s.n_nodes = n_nodes;
    n.s.w = n.w = WEFT_NEW(n.a, double, n_nodes);
    n.s.h = n.h = WEFT_NEW(n.a, double, n_nodes);
    n.s.from = n.from = WEFT_NEW(n.a, int, most_edges);
    n.s.to = n.to = WEFT_NEW(n.a, int, most_edges);
    for (int u = 0; u < n_nodes; u++) {
        n.w[u] = 60;
        n.h[u] = 30;
    }
    return n;
}

static void edge(net *n, int from, int to)
{
    n->from[n->s.n_edges] = from;
    n->to[n->s.n_edges++] = to;
}

/* "0>1 0>2 1>3 2>3", in order. */
static net net_of(const char *text, int n_nodes)
{
    net n = net_new(n_nodes, (int)strlen(text) / 3 + 1);

    while (*text) {
        char *end;
        int from = (int)strtol(text, &end, 10);

        edge(&n, from, (int)strtol(end + 1, &end, 10));
        text = end + (*end == ' ');
    }
    return n;
}

static bool is_between(double x, double low, double high)
{
    return x >= low && x <= high;
}

static int by_y(const void *left, const void *right)
{
    const double *l = left, *r = right;

    return l[1] < r[1] ? -1 : l[1] > r[1];
}

/* Boxes by their upper side: only those that begin before a box ends can meet it. */
static void check_apart(const net *n, const weft_layout *l)
{
    enum { LEFT, TOP, RIGHT, BOTTOM, SIDES };
    int n_nodes = n->s.n_nodes;
    double *box = WEFT_NEW(n->a, double, SIDES *n_nodes);

    for (int u = 0; u < n_nodes; u++) {
        double *b = box + SIDES * u;

        b[LEFT] = l->x[u] - n->w[u] / 2;
        b[TOP] = l->y[u] - n->h[u] / 2;
        b[RIGHT] = b[LEFT] + n->w[u];
        b[BOTTOM] = b[TOP] + n->h[u];
        CHECK(b[LEFT] >= 0 && b[TOP] >= 0 && b[RIGHT] <= l->width && b[BOTTOM] <= l->height);
    }
    qsort(box, (size_t)n_nodes, SIDES * sizeof *box, by_y);
    for (int u = 0; u < n_nodes; u++) {
        const double *b = box + SIDES * u, *c = b + SIDES;

        for (int v = u + 1; v < n_nodes && c[TOP] < b[BOTTOM]; v++, c += SIDES)
            CHECK(c[LEFT] >= b[RIGHT] || c[RIGHT] <= b[LEFT]);
    }
}

static bool is_at_box(const net *n, const weft_layout *l, int u, const double *point)
{
    double slack = 1.5; /* Graphviz cuts curves where they meet the box, about */
    double x = fabs(point[0] - l->x[u]) - n->w[u] / 2, y = fabs(point[1] - l->y[u]) - n->h[u] / 2;

    return x <= slack && y <= slack && fmax(x, y) >= -slack;
}

static void check_lines(const net *n, const weft_layout *l)
{
    CHECK_INT(l->point_at[0], 0);
    for (int e = 0; e < n->s.n_edges; e++) {
        const double *first = l->point + 2 * l->point_at[e];
        const double *last = l->point + 2 * l->point_at[e + 1] - 2;
        int u = n->from[e], v = n->to[e];

        CHECK(last > first);
        if (!is_at_box(n, l, u, first) || !is_at_box(n, l, v, last))
            fail_msg("line from %d (%g, %g) to %d (%g, %g): from (%g, %g) to (%g, %g)", u, l->x[u],
                     l->y[u], v, l->x[v], l->y[v], first[0], first[1], last[0], last[1]);
        CHECK(l->y[u] + n->h[u] / 2 < l->y[v] - n->h[v] / 2);
        for (const double *p = first; p <= last; p += 2) {
            CHECK(is_between(p[0], 0, l->width) && is_between(p[1], 0, l->height));
            CHECK(p[0] * 4 == floor(p[0] * 4) && p[1] * 4 == floor(p[1] * 4));
        }
    }
}

static void check_same(const net *n, const weft_layout *l, const weft_layout *m)
{
    int n_points = l->point_at[n->s.n_edges];

    CHECK(l->width == m->width && l->height == m->height);
    CHECK(memcmp(l->x, m->x, sizeof *l->x * (size_t)n->s.n_nodes) == 0);
    CHECK(memcmp(l->y, m->y, sizeof *l->y * (size_t)n->s.n_nodes) == 0);
    CHECK_INT(m->point_at[n->s.n_edges], n_points);
    CHECK(n_points == 0 ||
          memcmp(l->point, m->point, 2 * sizeof *l->point * (size_t)n_points) == 0);
}

/* All that holds of every drawing; twice the same. */
static const weft_layout *check_layout(const net *n, double most_work)
{
    const weft_layout *l = weft_layout_limited(&n->s, most_work, n->a);

    check_apart(n, l);
    check_lines(n, l);
    check_same(n, l, weft_layout_limited(&n->s, most_work, n->a));
    return l;
}

static bool has_graphviz(void)
{
#ifdef WEFT_GRAPHVIZ
    return true;
#else
    return false;
#endif
}

/* --- small ones ------------------------------------------------------------------------------ */

TEST(one_box_has_a_margin_all_around)
{
    net n = net_of("", 1);
    const weft_layout *l = check_layout(&n, DOT);

    CHECK_NEAR(l->x[0], l->width / 2);
    CHECK_NEAR(l->y[0], l->height / 2);
    CHECK_NEAR(l->width, 60 + 2 * 8.0);
    CHECK_NEAR(l->height, 30 + 2 * 8.0);
    CHECK_INT(l->point_at[0], 0);
    weft_arena_free(n.a);
}

TEST(a_chain_is_straight)
{
    net n = net_of("0>1 1>2 2>3", 4);
    const weft_layout *l = check_layout(&n, DOT);

    for (int u = 0; u < 4; u++) {
        CHECK_NEAR(l->x[u], l->width / 2);
        CHECK_NEAR(l->y[u] - l->y[0], u * (30 + WEFT_LAYOUT_ROW_GAP));
    }
    CHECK_INT(l->point_at[3], 6); /* two ends each */
    weft_arena_free(n.a);
}

TEST(boxes_without_edges_fill_several_shelves)
{
    net n = net_of("", 100);
    const weft_layout *l = check_layout(&n, DOT);

    CHECK(l->width < 3000 && l->height < 3000);
    CHECK(l->y[99] > l->y[0]);
    weft_arena_free(n.a);
}

/* Two diamonds and a chain, one after another in the order of nodes: three drawings. */
TEST(graphs_that_do_not_touch_are_side_by_side)
{
    net n = net_of("0>1 0>2 1>3 2>3 4>5 4>6 5>7 6>7 8>9", 10);
    const weft_layout *l = check_layout(&n, DOT);

    CHECK_NEAR(l->y[0], l->y[4]);
    for (int u = 0; u < 4; u++) /* equal parts look the same */
        CHECK(l->x[u + 4] - l->x[u] == l->x[4] - l->x[0] && l->y[u + 4] == l->y[u]);
    weft_arena_free(n.a);
}

/* --- parts ----------------------------------------------------------------------------------- */

/* n blocks: one node, three side by side, two of them in a row; the last block ends with a node. */
static net blocks(int n_blocks)
{
    net n = net_new(5 * n_blocks + 1, 7 * n_blocks);

    for (int i = 0; i < n_blocks; i++) {
        int u = 5 * i;

        edge(&n, u, u + 1);
        edge(&n, u, u + 2);
        edge(&n, u, u + 3);
        edge(&n, u + 1, u + 5);
        edge(&n, u + 2, u + 4);
        edge(&n, u + 3, u + 5);
        edge(&n, u + 4, u + 5);
        n.w[u + 1] = 100;
    }
    return n;
}

static void check_equal_blocks(double most_work)
{
    net n = blocks(40);
    const weft_layout *l = check_layout(&n, most_work);

    for (int i = 2; i < 39; i++) { /* the first and the last have an end that is not shared */
        const double *line[2];

        for (int u = 0; u < 5; u++) {
            CHECK(l->x[5 * i + u] == l->x[5 + u]);
            CHECK(l->y[5 * i + u] - l->y[5 * i] == l->y[5 + u] - l->y[5]);
        }
        for (int e = 0; e < 7; e++) {
            int k[2] = {7 + e, 7 * i + e}, n_points = l->point_at[k[0] + 1] - l->point_at[k[0]];

            CHECK_INT(l->point_at[k[1] + 1] - l->point_at[k[1]], n_points);
            for (int j = 0; j < 2; j++)
                line[j] = l->point + 2 * l->point_at[k[j]];
            for (int j = 0; j < n_points; j++) {
                CHECK(line[0][2 * j] == line[1][2 * j]);
                CHECK(line[0][2 * j + 1] - l->y[5] == line[1][2 * j + 1] - l->y[5 * i]);
            }
        }
    }
    weft_arena_free(n.a);
}

TEST(equal_parts_are_equal)
{
    check_equal_blocks(DOT);
    check_equal_blocks(NO_DOT);
}

/* Node 3 is read first by 4, node 2 by nobody: both belong to a part with ends of their own. */
TEST(dead_ends_and_late_inputs_stay_within_their_part)
{
    net n = net_of("0>1 1>2 1>4 3>4 4>5", 6);

    for (int dot = 0; dot < 2; dot++) {
        const weft_layout *l = check_layout(&n, dot ? DOT : NO_DOT);

        CHECK(l->y[2] > l->y[1] && l->y[2] < l->y[4]);
        CHECK(l->y[3] > l->y[1] && l->y[3] < l->y[4]);
    }
    weft_arena_free(n.a);
}

TEST(a_drawing_says_whether_graphviz_made_it)
{
    net n = blocks(3);

    CHECK_INT(weft_layout_new(&n.s, n.a)->is_graphviz, has_graphviz());
    CHECK_INT(weft_layout_limited(&n.s, NO_DOT, n.a)->is_graphviz, false);
    weft_arena_free(n.a);
}

/* Graphviz ends the program if a box is wider than 65,535 points. */
TEST(huge_boxes_are_drawn_without_graphviz)
{
    net n = net_of("0>1 0>2 1>3 2>3", 4);

    n.w[1] = 200000;
    n.h[2] = 100000;
    CHECK(!check_layout(&n, DOT)->is_graphviz);
    weft_arena_free(n.a);
}

/* --- random and large ones ------------------------------------------------------------------- */

/* Each node reads from some of the `reach` nodes before it. */
static net random_net(uint64_t seed, int n_nodes, int reach, int most_reads)
{
    weft_rng r = weft_rng_seed(seed);
    net n = net_new(n_nodes, n_nodes * most_reads);
    bool *reads = WEFT_NEW(n.a, bool, (size_t)n_nodes *(size_t)reach);

    for (int u = 0; u < n_nodes; u++) {
        n.w[u] = 20 + 10 * weft_rng_below(&r, 12);
        n.h[u] = 15 + 15 * weft_rng_below(&r, 3);
        for (int i = weft_rng_below(&r, most_reads + 1); i > 0 && u > 0; i--)
            reads[u * reach + weft_rng_below(&r, u < reach ? u : reach)] = true;
    }
    for (int u = 0; u < n_nodes; u++)
        for (int v = u + 1; v < n_nodes && v <= u + reach; v++)
            if (reads[v * reach + v - u - 1])
                edge(&n, u, v);
    return n;
}

TEST(random_graphs)
{
    for (uint64_t seed = 1; seed <= (uint64_t)N_DRAWN(200); seed++) {
        net n = random_net(seed, 1 + (int)(seed % 40), 1 + (int)(seed % 7), 1 + (int)(seed % 3));

        check_layout(&n, DOT);
        check_layout(&n, NO_DOT);
        check_layout(&n, 12); /* some parts */
        weft_arena_free(n.a);
    }
}

static double seconds(void)
{
    struct timespec t;

    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void check_large(const char *what, net n)
{
    double start = seconds();
    const weft_layout *l = weft_layout_new(&n.s, n.a);

    print_message("%s: %d nodes, %d edges, %.0f x %.0f points, %d corners, %.2f s%s\n", what,
                  n.s.n_nodes, n.s.n_edges, l->width, l->height, l->point_at[n.s.n_edges],
                  seconds() - start, l->is_graphviz ? "" : ", in rows");
    check_apart(&n, l);
    check_lines(&n, l);
    weft_arena_free(n.a);
}

/* All tasks between one first and one last. */
static net fan(int n_nodes)
{
    net n = net_new(n_nodes, 2 * n_nodes);

    for (int u = 1; u < n_nodes - 1; u++)
        edge(&n, 0, u);
    for (int u = 1; u < n_nodes - 1; u++)
        edge(&n, u, n_nodes - 1);
    return n;
}

TEST(large_graphs)
{
    check_large("random", random_net(1, 10000, 50, 3));
    check_large("near", random_net(2, 10000, 5, 2));
    check_large("short", random_net(3, 300, 5, 3));
    check_large("medium", random_net(4, 2000, 8, 3));
    check_large("blocks", blocks(2000));
    check_large("fan", fan(10000));
    check_large("small fan", fan(500));
    check_large("single", net_of("", 10000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_box_has_a_margin_all_around),
        cmocka_unit_test(a_chain_is_straight),
        cmocka_unit_test(boxes_without_edges_fill_several_shelves),
        cmocka_unit_test(graphs_that_do_not_touch_are_side_by_side),
        cmocka_unit_test(equal_parts_are_equal),
        cmocka_unit_test(dead_ends_and_late_inputs_stay_within_their_part),
        cmocka_unit_test(a_drawing_says_whether_graphviz_made_it),
        cmocka_unit_test(huge_boxes_are_drawn_without_graphviz),
        cmocka_unit_test(random_graphs),
        cmocka_unit_test(large_graphs),
    };

    return RUN_TESTS(tests);
}
