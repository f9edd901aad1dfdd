/* SPDX-License-Identifier: MIT */
/* zoo_other.c: recurrent networks, recommendation, randomly wired networks.
 *
 * gnmt: encoder of one bidirectional and layers - 1 further LSTM layers, decoder of `layers` LSTM
 * layers that read, from the second on, the context found by additive attention of the first to the
 * encoder; sums around all but the first two layers of each; one embedding for both languages
 * (Wu 2016). A whole target is processed at once, as in training.
 *
 * lstm: embedding, LSTM layers, projection to the vocabulary (Zaremba 2014, large).
 *
 * dlrm: numbers go through the bottom MLP, each category picks a row of its table, all pairs of
 * these vectors are multiplied (a matrix times its transpose, of which the part below the diagonal
 * is kept), the top MLP gives one probability (Naumov 2019).
 *
 * randwire: random graphs as stages (Xie 2019). A stage is made in three steps:
 *  1. an undirected random graph: ws ties each node of a ring to k / 2 neighbours on either side
 * and moves the far end of each tie, with probability p, to a free node; er ties each pair with
 *     probability p; ba starts with m nodes and ties each further one to m different older ones,
 *     with probability proportional to their ties;
 *  2. ties become edges from the lower to the higher number (ws: place in the ring, ba: age), so
 * the graph has no cycle;
 *  3. nodes without predecessor read the stage's input, one Relu for all of them; the mean of the
 *     nodes without successor is its output. Both are cuts of the network.
 * A node is: weighted sum of its inputs (weights: sigmoids of learned scalars; none for a single
 * input), Relu, 3x3 depthwise and 1x1 convolution, batch normalisation. Nodes without predecessor
 * have stride 2. Stage i has channels * 2^i channels. In front: a 3x3 convolution of stride 2 to
 * channels / 2 and, for up to three stages (the paper's small regime), another one to `channels`;
 * with four stages (regular regime) the first has nodes / 2 nodes and takes its place. Behind: 1x1
 * convolution to 1280, mean, linear layer. Equal options and seed give equal networks on every
 * machine; stages are independent streams of the seed. */
#include "zoo.h"

#include <string.h>

static int one_attr(weft_zoo *z, const char *op, int x, int y, weft_attr attr)
{
    weft_zoo_call call = {
        .op = op, .n_args = y < 0 ? 1 : 2, .arg = {x, y},
                      .n_attrs = 1
    };

    call.attr[0] = attr;
    return weft_zoo_call1(z, &call);
}

static int gather(weft_zoo *z, int table, int ids, int64_t axis)
{
    return one_attr(z, "Gather", table, ids, weft_zoo_attr_int("axis", axis));
}

static int add(weft_zoo *z, int x, int y)
{
    return weft_zoo_binary(z, "Add", x, y);
}

static int unsqueeze(weft_zoo *z, int x, int64_t axis)
{
    return weft_zoo_binary(z, "Unsqueeze", x, weft_zoo_ints(z, 1, &axis));
}

/* --- recurrent networks: values are steps x batch x width inside, batch x steps x width outside */

typedef struct recurrent_options {
    int64_t layers, hidden, vocab;
    int64_t seq;            /* lstm */
    int64_t source, target; /* gnmt */
} recurrent_options;

static int swap_steps(weft_zoo *z, int x)
{
    return weft_zoo_transpose(z, x, 3, (int64_t[]){1, 0, 2});
}

/* One LSTM layer, both directions side by side in the result. */
static int lstm_layer(weft_zoo *z, int x, int64_t hidden, int64_t directions)
{
    int64_t in = weft_zoo_dim(z, x, -1), one = 1;
    weft_zoo_call call = {.op = "LSTM", .n_args = 4, .arg = {x}, .n_attrs = 2};
    int y;

    call.arg[1] = weft_zoo_weight(z, "lstm_input", 3, (int64_t[]){directions, 4 * hidden, in});
    call.arg[2] = weft_zoo_weight(z, "lstm_state", 3, (int64_t[]){directions, 4 * hidden, hidden});
    call.arg[3] = weft_zoo_weight(z, "lstm_bias", 2, (int64_t[]){directions, 8 * hidden});
    call.attr[0] = weft_zoo_attr_int("hidden_size", hidden);
    call.attr[1] = weft_zoo_attr_text("direction", directions == 2 ? "bidirectional" : "forward");
    y = weft_zoo_call1(z, &call); /* steps x directions x batch x hidden */
    if (directions == 1)
        return weft_zoo_binary(z, "Squeeze", y, weft_zoo_ints(z, 1, &one));
    y = weft_zoo_transpose(z, y, 4, (int64_t[]){0, 2, 1, 3});
    return weft_zoo_reshape(z, y, 3, (int64_t[]){0, 0, directions * hidden});
}

/* Rows of `table` for an input of token ids, steps first. */
static int embed(weft_zoo *z, int table, const char *name, int64_t steps)
{
    int ids = weft_zoo_input(z, name, WEFT_I64, 2, (int64_t[]){z->batch, steps});

    return swap_steps(z, gather(z, table, ids, 0));
}

static int gnmt_encoder(weft_zoo *z, int x, const recurrent_options *o)
{
    x = lstm_layer(z, x, o->hidden, 2);
    x = lstm_layer(z, x, o->hidden, 1);
    for (int64_t i = 2; i < o->layers; i++)
        x = add(z, x, lstm_layer(z, x, o->hidden, 1));
    return x;
}

/* softmax(v . tanh(Wq query + Wk memory + b)) memory, batch first. */
static int additive_attention(weft_zoo *z, int query, int memory, int64_t hidden)
{
    int64_t last = -1;
    int bias = weft_zoo_weight(z, "attention_bias", 1, &hidden);
    int scale = weft_zoo_weight(z, "attention_scale", 1, &hidden);
    int q = unsqueeze(z, weft_zoo_matmul(z, query, hidden, false), 2);
    int k = unsqueeze(z, weft_zoo_matmul(z, memory, hidden, false), 1);
    int x = weft_zoo_unary(z, "Tanh", add(z, add(z, q, k), bias));

    x = weft_zoo_binary(z, "Mul", x, scale);
    x = one_attr(z, "ReduceSum", x, weft_zoo_ints(z, 1, &last), weft_zoo_attr_int("keepdims", 0));
    x = one_attr(z, "Softmax", x, -1, weft_zoo_attr_int("axis", -1));
    return weft_zoo_binary(z, "MatMul", x, memory);
}

static int gnmt_decoder(weft_zoo *z, int x, int memory, const recurrent_options *o)
{
    int context;

    x = lstm_layer(z, x, o->hidden, 1);
    context = additive_attention(z, swap_steps(z, x), swap_steps(z, memory), o->hidden);
    context = swap_steps(z, context);
    for (int64_t i = 1; i < o->layers; i++) {
        int both = weft_zoo_concat(z, (int[]){x, context}, 2, 2);
        int y = lstm_layer(z, both, o->hidden, 1);

        x = i == 1 ? y : add(z, x, y);
    }
    return swap_steps(z, x);
}

static weft_status build_gnmt(weft_net *net, const void *options, const weft_model_options *common)
{
    const recurrent_options *o = options;
    weft_zoo z = weft_zoo_begin(net, common);
    int table = weft_zoo_weight(&z, "embedding", 2, (int64_t[]){o->vocab, o->hidden});
    int memory = gnmt_encoder(&z, embed(&z, table, "src", o->source), o);
    int x = gnmt_decoder(&z, embed(&z, table, "tgt", o->target), memory, o);

    weft_zoo_output(&z, weft_zoo_matmul(&z, x, o->vocab, true));
    return z.status;
}

static weft_status build_lstm(weft_net *net, const void *options, const weft_model_options *common)
{
    const recurrent_options *o = options;
    weft_zoo z = weft_zoo_begin(net, common);
    int table = weft_zoo_weight(&z, "embedding", 2, (int64_t[]){o->vocab, o->hidden});
    int x = embed(&z, table, "input_ids", o->seq);

    for (int64_t i = 0; i < o->layers; i++)
        x = lstm_layer(&z, x, o->hidden, 1);
    weft_zoo_output(&z, weft_zoo_matmul(&z, swap_steps(&z, x), o->vocab, true));
    return z.status;
}

/* clang-format off */
#define INTEGER(type, field, fallback, lowest, highest, help)                                      \
    {WEFT_INT(type, field), fallback, lowest, highest, help, NULL, NULL}

static const weft_option gnmt_options[] = {
    INTEGER(recurrent_options, layers, 8, 2, 1000, "layers of the encoder, and of the decoder"),
    INTEGER(recurrent_options, hidden, 1024, 1, 1e5, "width of a layer"),
    INTEGER(recurrent_options, source, 50, 1, 1e6, "tokens of the source"),
    INTEGER(recurrent_options, target, 50, 1, 1e6, "tokens of the target"),
    INTEGER(recurrent_options, vocab, 32320, 1, 1e7, "words of the vocabulary"),
    WEFT_OPTIONS_END,
};

static const weft_option lstm_options[] = {
    INTEGER(recurrent_options, layers, 2, 1, 1000, "layers"),
    INTEGER(recurrent_options, hidden, 1500, 1, 1e5, "width of a layer"),
    INTEGER(recurrent_options, seq, 35, 1, 1e6, "tokens of a sequence"),
    INTEGER(recurrent_options, vocab, 10000, 1, 1e7, "words of the vocabulary"),
    WEFT_OPTIONS_END,
};
/* clang-format on */

/* --- dlrm */

typedef struct dlrm_options {
    int64_t dense, tables, rows, dim;
} dlrm_options;

/* Linear layers with Relu between them and after the last. */
static int relu_layers(weft_zoo *z, int x, const int64_t *width, int n)
{
    for (int i = 0; i < n; i++)
        x = weft_zoo_unary(z, "Relu", weft_zoo_linear(z, x, width[i]));
    return x;
}

/* Places below the diagonal of an n x n matrix, row by row. */
static int below_diagonal(weft_zoo *z, int n)
{
    int64_t *place = WEFT_NEW(weft_net_arena(z->net), int64_t, n * (n - 1) / 2);
    int count = 0;

    for (int i = 1; i < n; i++)
        for (int j = 0; j < i; j++)
            place[count++] = (int64_t)i * n + j;
    return weft_zoo_ints(z, count, place);
}

/* batch x 1 x dim for each sparse feature. */
static void look_up(weft_zoo *z, const dlrm_options *o, int *vector)
{
    for (int i = 0; i < (int)o->tables; i++) {
        const char *name = weft_arena_print(weft_net_arena(z->net), "sparse_%d", i);
        int ids = weft_zoo_input(z, name, WEFT_I64, 2, (int64_t[]){z->batch, 1});
        int table = weft_zoo_weight(z, "embedding", 2, (int64_t[]){o->rows, o->dim});

        vector[i] = gather(z, table, ids, 0);
    }
}

static weft_status build_dlrm(weft_net *net, const void *options, const weft_model_options *common)
{
    const dlrm_options *o = options;
    weft_zoo z = weft_zoo_begin(net, common);
    int n = (int)o->tables + 1;
    int *vector = WEFT_NEW(weft_net_arena(net), int, n);
    int dense = weft_zoo_input(&z, "dense", z.type, 2, (int64_t[]){z.batch, o->dense});
    int all, dots, x;

    x = relu_layers(&z, dense, (int64_t[]){512, 256, o->dim}, 3);
    vector[0] = unsqueeze(&z, x, 1);
    look_up(&z, o, vector + 1);
    all = weft_zoo_concat(&z, vector, n, 1);
    dots = weft_zoo_transpose(&z, all, 3, (int64_t[]){0, 2, 1});
    dots = weft_zoo_flatten(&z, weft_zoo_binary(&z, "MatMul", all, dots));
    dots = gather(&z, dots, below_diagonal(&z, n), 1);
    x = weft_zoo_concat(&z, (int[]){x, dots}, 2, 1);
    x = relu_layers(&z, x, (int64_t[]){1024, 1024, 512, 256}, 4);
    weft_zoo_output(&z, weft_zoo_unary(&z, "Sigmoid", weft_zoo_linear(&z, x, 1)));
    return z.status;
}

/* clang-format off */
static const weft_option dlrm_options_table[] = {
    INTEGER(dlrm_options, dense, 13, 1, 1e6, "dense features"),
    INTEGER(dlrm_options, tables, 26, 1, 1000, "sparse features, a table each"),
    INTEGER(dlrm_options, rows, 1e6, 1, 1e10, "rows of a table"),
    INTEGER(dlrm_options, dim, 128, 1, 1e5, "width of a table"),
    WEFT_OPTIONS_END,
};
/* clang-format on */

/* --- randwire: random graphs */

typedef struct randwire_options {
    const char *kind;
    int64_t nodes, stages, k, m, seed, channels, image, classes;
    double p;
} randwire_options;

/* Ties of an undirected graph; every random graph below is asked for in this form. */
typedef struct ties {
    int n;
    bool *has; /* [n * n], symmetric */
    int *degree;
} ties;

static ties ties_new(int n, weft_arena *a)
{
    return (ties){
        .n = n, .has = WEFT_NEW(a, bool, (size_t)n *(size_t)n), .degree = WEFT_NEW(a, int, n)};
}

static bool tied(const ties *t, int i, int j)
{
    return t->has[(size_t)i * (size_t)t->n + (size_t)j];
}

static void tie(ties *t, int i, int j, bool on)
{
    t->has[(size_t)i * (size_t)t->n + (size_t)j] = on;
    t->has[(size_t)j * (size_t)t->n + (size_t)i] = on;
    t->degree[i] += on ? 1 : -1;
    t->degree[j] += on ? 1 : -1;
}

/* Moves the far end of the tie i-j to one of the nodes not tied to i, each equally likely. */
static void rewire(ties *t, int i, int j, weft_rng *rng)
{
    int n_free = t->n - 1 - t->degree[i];
    int pick;

    if (n_free == 0)
        return;
    pick = weft_rng_below(rng, n_free);
    for (int v = 0; v < t->n; v++) {
        if (v == i || tied(t, i, v) || pick-- > 0)
            continue;
        tie(t, i, j, false);
        tie(t, i, v, true);
        return;
    }
}

static void wire_ws(ties *t, const randwire_options *o, weft_rng *rng)
{
    double p = o->p < 0 ? 0.75 : o->p;
    int reach = (int)o->k / 2;

    for (int step = 1; step <= reach; step++)
        for (int i = 0; i < t->n; i++)
            tie(t, i, (i + step) % t->n, true);
    for (int step = 1; step <= reach; step++)
        for (int i = 0; i < t->n; i++)
            if (weft_rng_real(rng) < p)
                rewire(t, i, (i + step) % t->n, rng);
}

static void wire_er(ties *t, const randwire_options *o, weft_rng *rng)
{
    double p = o->p < 0 ? 0.2 : o->p;

    for (int i = 0; i < t->n; i++)
        for (int j = i + 1; j < t->n; j++)
            if (weft_rng_real(rng) < p)
                tie(t, i, j, true);
}

/* A node older than i and not tied to it, with probability proportional to its ties. */
static int by_degree(const ties *t, int i, weft_rng *rng)
{
    int total = 0, pick, v;

    for (v = 0; v < i; v++)
        if (!tied(t, i, v))
            total += t->degree[v];
    pick = weft_rng_below(rng, total);
    for (v = 0; v < i; v++) {
        if (tied(t, i, v))
            continue;
        pick -= t->degree[v];
        if (pick < 0)
            break;
    }
    return v;
}

static void wire_ba(ties *t, const randwire_options *o, weft_rng *rng)
{
    int m = (int)o->m;

    for (int v = 0; v < m; v++) /* the first new node: nobody has a tie yet, it takes all */
        tie(t, m, v, true);
    for (int i = m + 1; i < t->n; i++)
        for (int count = 0; count < m; count++)
            tie(t, i, by_degree(t, i, rng), true);
}

typedef struct wiring {
    const char *kind;
    void (*make)(ties *t, const randwire_options *o, weft_rng *rng);
} wiring;

static const wiring wirings[] = {
    {"ws", wire_ws},
    {"er", wire_er},
    {"ba", wire_ba},
};

static ties random_graph(int n, const randwire_options *o, weft_rng *rng, weft_arena *a)
{
    ties t = ties_new(n, a);

    for (size_t i = 0; i < sizeof wirings / sizeof wirings[0]; i++)
        if (strcmp(wirings[i].kind, o->kind) == 0)
            wirings[i].make(&t, o, rng);
    return t;
}

/* --- randwire: network */

/* One node: Relu was done if `is_first`. */
static int wired_node(weft_zoo *z, int x, int64_t channels, bool is_first)
{
    weft_zoo_conv deep = {.kernel_h = 3, .kernel_w = 3, .pad_h = 1, .pad_w = 1, .no_bias = true};

    if (!is_first)
        x = weft_zoo_unary(z, "Relu", x);
    deep.out = deep.groups = weft_zoo_dim(z, x, 1);
    deep.stride = is_first ? 2 : 1;
    x = weft_zoo_conv2d(z, x, &deep);
    return weft_zoo_conv2d(z, x, &(weft_zoo_conv){.out = channels, .norm = true});
}

/* sigmoid(w1) x1 + sigmoid(w2) x2 + ..., or x1 alone. */
static int weighted_sum(weft_zoo *z, const int *x, int n)
{
    int sum = x[0];

    for (int i = 0; i < n && n > 1; i++) {
        int w = weft_zoo_unary(z, "Sigmoid", weft_zoo_weight(z, "edge", 0, NULL));
        int part = weft_zoo_binary(z, "Mul", x[i], w);

        sum = i == 0 ? part : add(z, sum, part);
    }
    return sum;
}

/* The mean of the nodes without successor. */
static int stage_output(weft_zoo *z, const ties *t, const int *value)
{
    int n_last = 0, sum = -1;

    for (int i = 0; i < t->n; i++) {
        bool has_next = false;

        for (int j = i + 1; j < t->n; j++)
            has_next = has_next || tied(t, i, j);
        if (has_next)
            continue;
        sum = n_last++ == 0 ? value[i] : add(z, sum, value[i]);
    }
    return n_last == 1 ? sum : weft_zoo_binary(z, "Div", sum, weft_zoo_real(z, n_last));
}

static int wired_stage(weft_zoo *z, int x, const ties *t, int64_t channels)
{
    weft_arena *a = weft_net_arena(z->net);
    int *value = WEFT_NEW(a, int, t->n), *from = WEFT_NEW(a, int, t->n);

    x = weft_zoo_unary(z, "Relu", x);
    for (int j = 0; j < t->n; j++) {
        int n_from = 0;

        for (int i = 0; i < j; i++)
            if (tied(t, i, j))
                from[n_from++] = value[i];
        value[j] = n_from == 0 ? wired_node(z, x, channels, true)
                               : wired_node(z, weighted_sum(z, from, n_from), channels, false);
    }
    return stage_output(z, t, value);
}

/* What the random graph of n nodes asks of k and m. */
static weft_status check_wiring(const randwire_options *o, int64_t n)
{
    if (strcmp(o->kind, "ws") == 0 && (o->k % 2 != 0 || o->k >= n))
        return weft_fail(
            WEFT_E_INPUT,
            "randwire: k is %lld, must be even and less than the %lld nodes of a stage",
            (long long)o->k, (long long)n);
    if (strcmp(o->kind, "ba") == 0 && o->m >= n)
        return weft_fail(WEFT_E_INPUT,
                         "randwire: m is %lld, must be less than the %lld nodes of a stage",
                         (long long)o->m, (long long)n);
    return WEFT_OK;
}

enum { SMALL_STAGES = 3, HEAD_CHANNELS = 1280 };

/* The convolutions in front of the stages. */
static int wired_stem(weft_zoo *z, const randwire_options *o)
{
    weft_zoo_conv half = {.kernel_h = 3, .kernel_w = 3, .pad_h = 1, .pad_w = 1};
    int x = weft_zoo_input(z, "input", z->type, 4, (int64_t[]){z->batch, 3, o->image, o->image});

    half.stride = 2;
    half.norm = true;
    half.out = (o->channels + 1) / 2;
    x = weft_zoo_conv2d(z, x, &half);
    if (o->stages > SMALL_STAGES)
        return x;
    half.out = o->channels;
    return weft_zoo_conv2d(z, weft_zoo_unary(z, "Relu", x), &half);
}

static weft_status build_randwire(weft_net *net, const void *options,
                                  const weft_model_options *common)
{
    const randwire_options *o = options;
    weft_rng seeds = weft_rng_seed((uint64_t)o->seed);
    weft_zoo z = weft_zoo_begin(net, common);
    int x = wired_stem(&z, o);

    for (int i = 0; i < (int)o->stages; i++) {
        int64_t n = i == 0 && o->stages > SMALL_STAGES ? o->nodes / 2 : o->nodes;
        weft_rng rng = weft_rng_split(&seeds, (uint64_t)i);
        ties t;

        WEFT_TRY(check_wiring(o, n));
        t = random_graph((int)n, o, &rng, weft_net_arena(net));
        x = wired_stage(&z, x, &t, o->channels << i);
    }
    x = weft_zoo_unary(&z, "Relu", x);
    x = weft_zoo_conv2d(&z, x, &(weft_zoo_conv){.out = HEAD_CHANNELS, .norm = true, .act = "Relu"});
    x = weft_zoo_flatten(&z, weft_zoo_global_pool(&z, x));
    weft_zoo_output(&z, weft_zoo_linear(&z, x, o->classes));
    return z.status;
}

/* clang-format off */
static const weft_option randwire_options_table[] = {
    {WEFT_TEXT(randwire_options, kind), 0, 0, 0,
     "random graph: Watts-Strogatz, Erdos-Renyi or Barabasi-Albert", "ws", "ws|er|ba"},
    INTEGER(randwire_options, nodes, 32, 2, 512, "nodes of a stage (of the first of four: half)"),
    INTEGER(randwire_options, stages, 3, 1, 4, "stages; 3: small regime, 4: regular regime"),
    INTEGER(randwire_options, k, 4, 2, 510, "ws: ties of a node before rewiring, even"),
    {WEFT_REAL(randwire_options, p), -1, -1, 1,
     "probability of a tie (er) or its rewiring (ws); below 0: 0.2 and 0.75", NULL, NULL},
    INTEGER(randwire_options, m, 5, 1, 511, "ba: ties of a new node"),
    INTEGER(randwire_options, seed, 1, 0, 1e15, "of the random graphs"),
    INTEGER(randwire_options, channels, 78, 1, 10000, "channels of the first stage"),
    INTEGER(randwire_options, image, 224, 1, 10000, "height and width of the image, pixels"),
    INTEGER(randwire_options, classes, 1000, 1, 1e7, "classes"),
    WEFT_OPTIONS_END,
};

/* name, summary, variants, parameters, their size, sizes of a variant, build */
const weft_zoo_model weft_zoo_others[] = {
    {"gnmt", "translation by LSTM layers with attention",
     NULL, gnmt_options, sizeof(recurrent_options), NULL, build_gnmt},
    {"lstm", "language model of LSTM layers",
     NULL, lstm_options, sizeof(recurrent_options), NULL, build_lstm},
    {"dlrm", "recommendation: embedding tables, pairwise products, MLPs",
     NULL, dlrm_options_table, sizeof(dlrm_options), NULL, build_dlrm},
    {"randwire", "randomly wired convolutional network",
     NULL, randwire_options_table, sizeof(randwire_options), NULL, build_randwire},
    {NULL, NULL, NULL, NULL, 0, NULL, NULL},
};
/* clang-format on */
