/* SPDX-License-Identifier: MIT */
/* test_graph.c: the builder and what it refuses, the frozen arrays of a small graph written out,
 * peak memory, depth, the one-line notation, separators, element types and shapes. */
#include "check.h"
#include "graph_text.h"
#include "invariants.h"

#include "graph.h"

/* --- a builder in one line a thing ----------------------------------------------------------- */

static int add_tensor(weft_builder *b, const char *name, weft_tensor_kind kind, int64_t bytes)
{
    weft_shape shape = {1, {bytes}};
    weft_tensor t = {.name = name,
                     .type = WEFT_U8,
                     .kind = kind,
                     .shape = &shape,
                     .elements = bytes,
                     .bytes = bytes};

    return weft_builder_tensor(b, &t);
}

static int made(weft_builder *b, const char *name, int64_t bytes)
{
    return add_tensor(b, name, WEFT_ACTIVATION, bytes);
}

/* One operand and one result; -1 for none. */
static void add_node(weft_builder *b, const char *name, int arg, int result)
{
    weft_node n = {.name = name, .op = "Task", .domain = "weft", .forward = -1, .wrt = -1};

    n.has_body = true;
    (void)weft_builder_node(b, &n, &arg, arg >= 0, &result, result >= 0);
}

static weft_graph *finished(weft_builder *b)
{
    weft_graph *g = NULL;

    CHECK_OK(weft_builder_finish(b, &g));
    weft_graph_check(g);
    weft_builder_free(b);
    return g;
}

static void refused(weft_builder *b, const char *message)
{
    weft_graph *g = NULL;

    CHECK_FAILS(weft_builder_finish(b, &g), message);
    CHECK(g == NULL);
    weft_builder_free(b);
}

static weft_graph *parsed(const char *text)
{
    weft_graph *g = NULL;

    CHECK_OK(weft_graph_parse(text, &g));
    weft_graph_check(g);
    return g;
}

static void check_ints(const int *at, int n, const int *expected)
{
    for (int i = 0; i < n; i++)
        CHECK_INT(at[i], expected[i]);
}

/* --- builder --------------------------------------------------------------------------------- */

TEST(a_graph_without_nodes_is_refused)
{
    weft_builder *b = weft_builder_new("g");

    (void)add_tensor(b, "x", WEFT_INPUT, 4);
    refused(b, "the graph has no nodes");
}

TEST(two_producers_are_refused)
{
    weft_builder *b = weft_builder_new("g");
    int t = made(b, "t", 4);

    add_node(b, "a", -1, t);
    add_node(b, "b", -1, t);
    refused(b, "tensor 't' is made by two nodes: 'a' and 'b'");
}

TEST(inputs_and_weights_cannot_be_written)
{
    static const weft_tensor_kind kinds[] = {WEFT_INPUT, WEFT_WEIGHT};
    static const char *const messages[] = {"node 'a' writes 't', which is a given input",
                                           "node 'a' writes 't', which is a given weight"};

    for (int i = 0; i < 2; i++) {
        weft_builder *b = weft_builder_new("g");

        add_node(b, "a", -1, add_tensor(b, "t", kinds[i], 4));
        refused(b, messages[i]);
    }
}

TEST(a_tensor_that_nothing_makes_is_refused)
{
    weft_builder *b = weft_builder_new("g");

    add_node(b, "a", made(b, "t", 4), made(b, "y", 4));
    refused(b, "node 'a' reads 't', which nothing makes");
    b = weft_builder_new("g");
    add_node(b, "a", -1, made(b, "y", 4));
    weft_builder_output(b, made(b, "z", 4));
    refused(b, "output 'z' is made by no node");
}

TEST(names_must_be_there_and_differ)
{
    weft_builder *b = weft_builder_new("g");

    add_node(b, "a", -1, made(b, "t", 4));
    add_node(b, "b", -1, made(b, "t", 4));
    refused(b, "two tensors have the name 't'");
    b = weft_builder_new("g");
    add_node(b, "a", -1, made(b, "t", 4));
    add_node(b, "a", -1, made(b, "u", 4));
    refused(b, "two nodes have the name 'a'");
    b = weft_builder_new("g");
    add_node(b, "a", -1, made(b, "", 4));
    refused(b, "a tensor has no name");
}

TEST(weights_that_nothing_reads_are_left_out)
{
    weft_builder *b = weft_builder_new("g");
    int used = add_tensor(b, "w", WEFT_WEIGHT, 4);
    weft_graph *g;

    (void)add_tensor(b, "unused", WEFT_WEIGHT, 4);
    add_node(b, "a", used, made(b, "y", 4));
    g = finished(b);
    CHECK_INT(g->n_tensors, 2); /* w and y */
    CHECK_TEXT(g->tensor[0].name, "w");
    CHECK_TEXT(g->tensor[1].name, "y");
    weft_graph_free(g);
}

TEST(inputs_and_outputs_keep_their_order)
{
    weft_builder *b = weft_builder_new("net");
    int x = add_tensor(b, "x", WEFT_INPUT, 1), z = add_tensor(b, "z", WEFT_INPUT, 1);
    int p = made(b, "p", 1), q = made(b, "q", 1);
    weft_graph *g;

    add_node(b, "a", x, p);
    add_node(b, "b", z, q);
    weft_builder_output(b, q);
    weft_builder_output(b, p);
    weft_builder_output(b, q); /* twice is harmless */
    g = finished(b);
    CHECK_TEXT(g->name, "net");
    check_ints(g->input, 2, (int[]){x, z});
    CHECK_INT(g->n_outputs, 2);
    check_ints(g->output, 2, (int[]){q, p});
    CHECK_INT(g->tensor[q].kind, WEFT_OUTPUT);
    weft_graph_free(g);
}

TEST(copies_are_deep)
{
    int64_t ints[] = {1, 2};
    char name[] = "a", text[] = "same";
    weft_attr attr[] = {
        {.name = "pads", .kind = WEFT_ATTR_INTS, .n = 2,        .ints = ints},
        {.name = "mode",              .kind = WEFT_ATTR_TEXT,                       .s = text},
        {.name = "axis",              .kind = WEFT_ATTR_INT,                       .i = -1 },
        {.name = "eps",              .kind = WEFT_ATTR_REAL,                        .f = 0.5}
    };
    weft_node n = {.name = name, .op = "X", .domain = "", .n_attrs = 4, .attr = attr};
    weft_builder *b = weft_builder_new("g");
    weft_graph *g;
    int count;

    n.forward = n.wrt = -1;
    (void)weft_builder_node(b, &n, NULL, 0, NULL, 0);
    ints[0] = 7;
    name[0] = text[0] = 'z';
    g = finished(b);
    CHECK_TEXT(g->node[0].name, "a");
    CHECK_INT(weft_node_ints(&g->node[0], "pads", &count)[0], 1);
    CHECK_INT(count, 2);
    CHECK_TEXT(weft_node_text(&g->node[0], "mode", ""), "same");
    CHECK_INT(weft_node_int(&g->node[0], "axis", 3), -1);
    CHECK_NEAR(weft_node_real(&g->node[0], "eps", 1.0), 0.5);
    CHECK_INT(weft_node_int(&g->node[0], "mode", 3), 3); /* another kind: as if it were absent */
    CHECK_INT(weft_node_int(&g->node[0], "none", 4), 4);
    CHECK(weft_node_ints(&g->node[0], "none", &count) == NULL && count == 0);
    weft_graph_free(g);
}

/* --- order ----------------------------------------------------------------------------------- */

static void check_order(const char *text, const char *expected)
{
    weft_graph *g = parsed(text);
    char names[64] = "";

    for (int u = 0; u < g->n_nodes; u++)
        strncat(names, g->node[u].name, 1);
    CHECK_TEXT(names, expected);
    weft_graph_free(g);
}

TEST(order_is_topological_and_ties_keep_the_order_of_the_text)
{
    check_order("a b c d; a>d", "abcd");        /* as written */
    check_order("d c b a;", "dcba");            /* no edges: as written */
    check_order("d c b a; a>b>c>d", "abcd");    /* a chain has one order */
    check_order("c a b; a>c", "acb");           /* a frees c, which was written before b */
    check_order("e d a b c; a>d b>e", "adbec"); /* always the earliest written that is ready */
}

TEST(a_cycle_is_named_by_a_node_on_it)
{
    weft_graph *g = NULL;

    CHECK_FAILS(weft_graph_parse("a; a>a", &g), "the graph has a cycle through node 'a'");
    CHECK_FAILS(weft_graph_parse("a b; a>b>a", &g), "the graph has a cycle through node 'a'");
    /* d and e wait for the cycle of b and c, but are not part of it */
    CHECK_FAILS(weft_graph_parse("d e a b c; a>b>c>b c>d>e", &g), "cycle through node 'c'");
    CHECK(g == NULL);
}

/* --- the arrays, written out ----------------------------------------------------------------- */

TEST(every_array_of_the_example)
{
    weft_graph *g = parsed("a:2 b:3 c; a>b:8 a>c>b");

    /* b waits for c: the order is a c b. Tensors: 0 is a>b, 1 is a>c, 2 is c>b. */
    CHECK_INT(g->n_nodes, 3);
    CHECK_INT(g->n_tensors, 3);
    CHECK_INT(g->n_edges, 3);
    CHECK_TEXT(g->node[1].name, "c");
    CHECK_TEXT(g->node[2].name, "b");
    CHECK_INT(g->node[0].body.flops, 2);
    CHECK_INT(g->node[1].body.flops, 0);
    CHECK_INT(g->node[2].body.flops, 3);
    check_ints(g->arg_at, 4, (int[]){0, 0, 1, 3});
    check_ints(g->arg, 3, (int[]){1, 0, 2}); /* c reads 1; b reads 0 and 2 */
    check_ints(g->res_at, 4, (int[]){0, 2, 3, 3});
    check_ints(g->res, 3, (int[]){0, 1, 2});
    check_ints(g->use_at, 4, (int[]){0, 1, 2, 3});
    check_ints(g->use, 3, (int[]){2, 1, 2});
    check_ints(g->out_at, 4, (int[]){0, 2, 3, 3});
    check_ints(g->out_to, 3, (int[]){1, 2, 2}); /* of a: to c first, then to b */
    check_ints(g->in_at, 4, (int[]){0, 0, 1, 3});
    check_ints(g->in_from, 3, (int[]){0, 0, 1});
    CHECK_INT(g->tensor[0].bytes, 8);
    CHECK_INT(g->tensor[1].bytes, 0);
    CHECK_INT(g->tensor[2].producer, 1);
    weft_graph_free(g);
}

TEST(a_tensor_with_two_readers_is_one_tensor_and_two_edges)
{
    weft_graph *g = parsed("a b c; a>b,c:8");

    CHECK_INT(g->n_tensors, 1);
    CHECK_INT(g->n_edges, 2);
    check_ints(g->use_at, 2, (int[]){0, 2});
    check_ints(g->use, 2, (int[]){1, 2});
    check_ints(g->out_to, 2, (int[]){1, 2});
    CHECK_INT(g->tensor[0].bytes, 8);
    weft_graph_free(g);
}

TEST(a_tensor_read_twice_by_one_node_is_one_edge)
{
    weft_graph *g = parsed("a b; a>b,b:8");

    CHECK_INT(g->arg_at[2] - g->arg_at[1], 2);
    CHECK_INT(g->use_at[1], 1);
    CHECK_INT(g->n_edges, 1);
    weft_graph_free(g);
}

/* More edges at one node than are sorted by insertion: operands in reverse, results read in
 * reverse. */
TEST(many_edges_at_one_node_are_sorted)
{
    enum { N = 200 };
    weft_builder *b = weft_builder_new("g");
    weft_arena *a = weft_arena_new();
    int in[N], out[N];
    weft_node hub = {.name = "hub", .op = "Task", .domain = "weft", .forward = -1, .wrt = -1};
    weft_graph *g;

    for (int i = 0; i < N; i++) {
        in[N - 1 - i] = made(b, weft_arena_print(a, "in%d", i), 1);
        add_node(b, weft_arena_print(a, "maker%d", i), -1, in[N - 1 - i]);
    }
    for (int i = 0; i < N; i++)
        out[i] = made(b, weft_arena_print(a, "out%d", i), 1);
    (void)weft_builder_node(b, &hub, in, N, out, N);
    for (int i = N - 1; i >= 0; i--)
        add_node(b, weft_arena_print(a, "reader%d", i), out[i], -1);
    g = finished(b); /* which checks the order */
    CHECK_INT(g->n_edges, 2 * N);
    for (int i = 0; i < N; i++) {
        CHECK_INT(g->in_from[g->in_at[N] + i], i);
        CHECK_INT(g->out_to[g->out_at[N] + i], N + 1 + i);
    }
    weft_graph_free(g);
    weft_arena_free(a);
}

/* --- memory and depth ------------------------------------------------------------------------ */

static void check_peak(const char *text, int64_t expected)
{
    weft_graph *g = parsed(text);

    CHECK_INT(weft_graph_peak_bytes(g), expected);
    weft_graph_free(g);
}

TEST(peak_bytes_of_tasks)
{
    check_peak("a;", 0);
    check_peak("a b; a>b:8", 8);
    check_peak("a b c; a>b:8 b>c:3", 8 + 3);                   /* while b runs */
    check_peak("a b c; a>b:8 a>c:4 b>c:2", 8 + 4 + 2);         /* a>c waits while b runs */
    check_peak("a b c d; a>b:8 b>c:3 c>d:9", 3 + 9);           /* a>b is gone when c runs */
    check_peak("a b c; a>b,c:8 b>c:2", 8 + 2);                 /* one tensor counts once */
    check_peak("a b c d; a>b:1 a>c:1 b>d:5 c>d:5", 5 + 5 + 1); /* while c runs: b>d, a>c, c>d */
}

TEST(inputs_live_from_the_start_and_outputs_to_the_end)
{
    weft_builder *b = weft_builder_new("g");
    int x = add_tensor(b, "x", WEFT_INPUT, 100), z = add_tensor(b, "z", WEFT_INPUT, 10);
    int w = add_tensor(b, "w", WEFT_WEIGHT, 5000), p = made(b, "p", 1), q = made(b, "q", 2);
    int both[2] = {p, w};
    weft_node n = {.name = "b", .op = "Task", .domain = "weft", .forward = -1, .wrt = -1};
    weft_graph *g;

    add_node(b, "a", x, p);
    (void)weft_builder_node(b, &n, both, 2, &q, 1);
    add_node(b, "c", z, made(b, "r", 60));
    add_node(b, "d", q, made(b, "s", 70));
    weft_builder_output(b, p);
    g = finished(b);
    /* a: x z p = 111; b: z p q = 13; c: z p q r = 73, then r goes, nothing reads it;
     * d: p q s = 73. The weight never counts. */
    CHECK_INT(weft_graph_peak_bytes(g), 100 + 10 + 1);
    weft_graph_free(g);
}

TEST(peak_bytes_beyond_64_bits_stop_at_the_largest_number)
{
    /* three tensors of 2^62 bytes live together: 3 * 2^62 > 2^63 - 1 */
    check_peak("a b; a>b:4611686018427387904 a>b:4611686018427387904 a>b:4611686018427387904",
               INT64_MAX);
}

static void check_depth(const char *text, int expected)
{
    weft_graph *g = parsed(text);

    CHECK_INT(weft_graph_depth(g), expected);
    weft_graph_free(g);
}

TEST(depth_counts_the_nodes_of_a_longest_path)
{
    check_depth("a;", 1);
    check_depth("a b c;", 1);
    check_depth("a b c; a>b>c", 3);
    check_depth("a b c d; a>b>d a>c>d", 3);
    check_depth("a b c d e; a>e a>b>c>d>e", 5);
}

/* --- notation -------------------------------------------------------------------------------- */

static void check_text(const char *text, const char *expected)
{
    weft_graph *g = parsed(text);
    weft_arena *a = weft_arena_new();

    CHECK_TEXT(weft_graph_text(g, a), expected);
    weft_arena_free(a);
    weft_graph_free(g);
}

TEST(a_graph_is_written_as_it_is_read)
{
    check_text("a:2 b:3 c; a>b:8 a>c>b", "a:2 c:0 b:3; a>b:8 a>c c>b");
    check_text("a b c; a>b,c:8", "a:0 b:0 c:0; a>b,c:8");
    check_text(" a\t:\n2 ;", "a:2;");
    check_text("a", "a:0;");
    check_text("a b c d; a,b>c,d:4", "a:0 b:0 c:0 d:0; a>c,d:4 b>c,d:4");
    check_text("a b c d; a>b,c:1>d:2", "a:0 b:0 c:0 d:0; a>b,c:1 b>d:2 c>d:2");
    check_text("x.1 y/2; x.1>y/2", "x.1:0 y/2:0; x.1>y/2");
}

TEST(tensors_of_tasks_have_names_of_their_own)
{
    weft_graph *g = parsed("a b c; a>b a>b a>b,c a>b");

    CHECK_TEXT(g->tensor[0].name, "a>b");
    CHECK_TEXT(g->tensor[1].name, "a>b#1");
    CHECK_TEXT(g->tensor[2].name, "a>b,+1");
    CHECK_TEXT(g->tensor[3].name, "a>b#2");
    weft_graph_free(g);
}

TEST(wrong_notation_is_refused_with_column_and_expectation)
{
    static const struct {
        const char *text, *message;
    } wrong[] = {
        {"",                           "the graph has no nodes"                                   },
        {";",                          "the graph has no nodes"                                   },
        {"a a;",                       "graph: two nodes have the name 'a'"                       },
        {"a:;",                        "graph, column 3: found ';', expected a whole number"      },
        {"a:x;",                       "graph, column 3: found 'x;', expected a whole number"     },
        {"a:-1;",                      "graph, column 3: found '-1;', expected a whole number"    },
        {"a:1.5;",                     "graph, column 3: found '1.5;', expected a whole number"   },
        {"a:4611686018427387905;",     "expected a whole number up to 2^62"                       },
        {"a, b;",                      "graph, column 2: found ', b;', expected a name"           },
        {"a b; a",                     "graph, column 7: the text ends, expected '>'"             },
        {"a b; a b",                   "graph, column 8: found 'b', expected '>'"                 },
        {"a b; a>",                    "graph, column 8: the text ends, expected a name"          },
        {"a b; a>b,",                  "graph, column 10: the text ends, expected a name"         },
        {"a b; a>b:",                  "graph, column 10: the text ends, expected a whole number" },
        {"a b; a>b;",                  "graph, column 9: found ';', expected a name"              },
        {"a b; a>c",                   "graph: no node is called 'c'"                             },
        {"first second; first>secnd",  "graph: no node is called 'secnd' (did you mean 'second'?)"},
        {"first second; frist>second", "graph: no node is called 'frist' (did you mean 'first'?)" },
        {"a b c; a>b>c>a",             "the graph has a cycle through node 'a'"                   },
    };

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        weft_graph *g = NULL;

        CHECK_FAILS(weft_graph_parse(wrong[i].text, &g), wrong[i].message);
        CHECK(g == NULL);
    }
}

/* --- separators ------------------------------------------------------------------------------ */

static void check_separators(const char *text, const char *barriers, const char *live)
{
    weft_graph *g = parsed(text);
    weft_arena *a = weft_arena_new();
    weft_separators s = weft_graph_separators(g, a);
    char names[32] = "", digits[32] = "";
    int n_cuts = 0;

    for (int i = 0; i < s.n_barriers; i++) {
        strncat(names, g->node[s.barrier[i]].name, 1);
        digits[i] = (char)('0' + s.n_live[i]);
        n_cuts += s.n_live[i] == 0;
    }
    CHECK_TEXT(names, barriers);
    CHECK_TEXT(digits, live);
    CHECK_INT(s.n_cuts, n_cuts);
    weft_arena_free(a);
    weft_graph_free(g);
}

TEST(barriers_and_cuts)
{
    check_separators("a;", "a", "0");
    check_separators("a b;", "", ""); /* not comparable */
    check_separators("a b c; a>b>c", "abc", "000");
    check_separators("a b c d; a>b>d a>c>d", "ad", "00");
    /* all four are comparable, but a's tensor passes b: b is a barrier and no cut */
    check_separators("a b c d; a>b>c>d a>c", "abcd", "0100");
    check_separators("a b c d e; a>b>c>d>e a>e b>e", "abcde", "01220");
    check_separators("a b c; a>c b>c", "c", "0"); /* two sources */
    check_separators("a b c; a>b a>c", "a", "0"); /* two sinks */
    check_separators("a b c d; a>b>c>d", "abcd", "0000");
    /* one tensor read here and there counts like a skip edge */
    check_separators("a b c; a>b,c b>c", "abc", "010");
}

TEST(closure_of_a_diamond)
{
    weft_graph *g = parsed("a b c d e; a>b>d a>c>d");
    weft_arena *a = weft_arena_new();
    weft_closure c = weft_graph_closure(g, a);
    static const char below[5][6] = {"01110", "00010", "00010", "00000", "00000"};

    for (int u = 0; u < 5; u++)
        for (int v = 0; v < 5; v++) {
            CHECK_INT(weft_closure_has(&c, u, v), below[u][v] == '1');
            CHECK_INT(weft_bit_get(c.above + v * c.words, u), below[u][v] == '1');
        }
    weft_arena_free(a);
    weft_graph_free(g);
}

/* --- element types and shapes ---------------------------------------------------------------- */

TEST(element_types)
{
    for (int i = 1; i < WEFT_N_DTYPES; i++) {
        weft_dtype t = (weft_dtype)i;

        CHECK_INT(weft_dtype_find(weft_dtype_name(t)), t);
        CHECK(!(weft_dtype_is_float(t) && weft_dtype_is_integer(t)));
    }
    CHECK_INT(weft_dtype_find("fp16"), WEFT_F16); /* as others call them */
    CHECK_INT(weft_dtype_find("float"), WEFT_F32);
    CHECK_INT(weft_dtype_find("bfloat16"), WEFT_BF16);
    CHECK_INT(weft_dtype_find("float17"), WEFT_TYPE_UNKNOWN);
    CHECK_INT(weft_dtype_find("?"), WEFT_TYPE_UNKNOWN);
    CHECK_INT(weft_dtype_bits(WEFT_F32), 32);
    CHECK_INT(weft_dtype_bits(WEFT_BF16), 16);
    CHECK_INT(weft_dtype_bits(WEFT_STRING), 0);
    CHECK(weft_dtype_is_float(WEFT_F8E5M2) && weft_dtype_is_integer(WEFT_BOOL));
    CHECK(!weft_dtype_is_float(WEFT_C64) && !weft_dtype_is_integer(WEFT_STRING));
    CHECK_TEXT(weft_tensor_kind_name(WEFT_STATE), "state");
}

TEST(bytes_of_elements)
{
    CHECK_INT(weft_dtype_bytes(WEFT_F32, 3), 3 * 4);
    CHECK_INT(weft_dtype_bytes(WEFT_I64, 3), 3 * 8);
    CHECK_INT(weft_dtype_bytes(WEFT_BOOL, 3), 3);
    CHECK_INT(weft_dtype_bytes(WEFT_I4, 4), 2); /* two in a byte */
    CHECK_INT(weft_dtype_bytes(WEFT_U4, 5), 3); /* rounded up */
    CHECK_INT(weft_dtype_bytes(WEFT_I4, 0), 0);
    CHECK_INT(weft_dtype_bytes(WEFT_STRING, 9), 0);
    CHECK_INT(weft_dtype_bytes(WEFT_F32, (int64_t)1 << 60), (int64_t)1 << 62);
    CHECK_INT(weft_dtype_bytes(WEFT_F32, (int64_t)1 << 61), -1); /* 2^63 does not fit */
}

TEST(shapes)
{
    weft_shape image = {
        4, {1, 3, 224, 224}
    };
    weft_shape same = image, scalar = {.rank = 0}, unknown = {.rank = -1};
    weft_shape open = {
        2, {WEFT_UNKNOWN_DIM, 4}
    };
    weft_shape empty = {
        3, {(int64_t)1 << 40, (int64_t)1 << 40, 0}
    };
    weft_shape large = {
        2, {(int64_t)1 << 31, (int64_t)1 << 31}
    };
    weft_shape too_large = {
        3, {(int64_t)1 << 31, (int64_t)1 << 31, 2}
    };
    char text[192];

    same.dim[7] = 9; /* beyond the rank: of no meaning */
    CHECK(weft_shape_equal(&image, &same) && !weft_shape_equal(&image, &scalar));
    same.dim[1] = 4;
    CHECK(!weft_shape_equal(&image, &same));
    CHECK(weft_shape_is_static(&scalar) && !weft_shape_is_static(&unknown));
    CHECK(!weft_shape_is_static(&open));
    CHECK_INT(weft_shape_elements(&image), 3 * 224 * 224);
    CHECK_INT(weft_shape_elements(&scalar), 1);
    CHECK_INT(weft_shape_elements(&unknown), -1);
    CHECK_INT(weft_shape_elements(&open), -1);
    CHECK_INT(weft_shape_elements(&empty), 0);
    CHECK_INT(weft_shape_elements(&large), (int64_t)1 << 62);
    CHECK_INT(weft_shape_elements(&too_large), -1);
    CHECK_TEXT(weft_shape_print(&image, text), "1x3x224x224");
    CHECK_TEXT(weft_shape_print(&scalar, text), "scalar");
    CHECK_TEXT(weft_shape_print(&unknown, text), "?");
    CHECK_TEXT(weft_shape_print(&open, text), "?x4");
}

TEST(the_longest_shape_fits_its_buffer)
{
    weft_shape s = {.rank = WEFT_MAX_RANK};
    char text[192];

    for (int i = 0; i < WEFT_MAX_RANK; i++)
        s.dim[i] = INT64_MAX;
    CHECK_INT(strlen(weft_shape_print(&s, text)), 8 * 19 + 7); /* 19 digits each, 7 marks */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_graph_without_nodes_is_refused),
        cmocka_unit_test(two_producers_are_refused),
        cmocka_unit_test(inputs_and_weights_cannot_be_written),
        cmocka_unit_test(a_tensor_that_nothing_makes_is_refused),
        cmocka_unit_test(names_must_be_there_and_differ),
        cmocka_unit_test(weights_that_nothing_reads_are_left_out),
        cmocka_unit_test(inputs_and_outputs_keep_their_order),
        cmocka_unit_test(copies_are_deep),
        cmocka_unit_test(order_is_topological_and_ties_keep_the_order_of_the_text),
        cmocka_unit_test(a_cycle_is_named_by_a_node_on_it),
        cmocka_unit_test(every_array_of_the_example),
        cmocka_unit_test(a_tensor_with_two_readers_is_one_tensor_and_two_edges),
        cmocka_unit_test(a_tensor_read_twice_by_one_node_is_one_edge),
        cmocka_unit_test(many_edges_at_one_node_are_sorted),
        cmocka_unit_test(peak_bytes_of_tasks),
        cmocka_unit_test(inputs_live_from_the_start_and_outputs_to_the_end),
        cmocka_unit_test(peak_bytes_beyond_64_bits_stop_at_the_largest_number),
        cmocka_unit_test(depth_counts_the_nodes_of_a_longest_path),
        cmocka_unit_test(a_graph_is_written_as_it_is_read),
        cmocka_unit_test(tensors_of_tasks_have_names_of_their_own),
        cmocka_unit_test(wrong_notation_is_refused_with_column_and_expectation),
        cmocka_unit_test(barriers_and_cuts),
        cmocka_unit_test(closure_of_a_diamond),
        cmocka_unit_test(element_types),
        cmocka_unit_test(bytes_of_elements),
        cmocka_unit_test(shapes),
        cmocka_unit_test(the_longest_shape_fits_its_buffer),
    };

    return RUN_TESTS(tests);
}
