/* SPDX-License-Identifier: MIT */
/* zoo_transformer.c: transformers as networks of ONNX operators.
 *
 * All of them are put together from the same three pieces:
 *  - attention: projections, heads apart, scores = Q K^T / sqrt(head size), mask, Softmax,
 *    scores V, heads together, projection;
 *  - feed-forward: MatMul, activation, MatMul (Llama: gated by a SiLU);
 *  - norms before each of the two (GPT, OPT, Llama, T5, ViT) or after the addition (BERT).
 *
 * Masks, rotary tables and relative positions are constants but no parameters: they are named
 * "c/..." and not "w/...". A tied head is a Gemm that reads the very tensor of the embedding.
 * Tables of positions longer than the sequence are cut; the cut is a constant and leaves no node.
 *
 * Mixture of experts (`moe`): a GPT in which layers 2, 4, 6, ... replace the feed-forward part by
 * `experts` feed-forward parts. With N = batch * seq tokens and room for
 * C = min(N, ceil(top * N / experts * capacity)) tokens in each expert:
 *  1. router: MatMul (hidden x experts), Softmax: a probability for each token and expert;
 *  2. TopK over experts; probabilities below the k-th largest of a token become 0;
 *  3. TopK over tokens, C for each expert: the tokens it takes and their gates. An expert that is
 *    chosen by more than C tokens drops those with the smallest gates, one that is chosen by fewer
 *    is filled up with tokens of gate 0: shapes are static and the result is as if they were not
 *    there;
 *  4. each expert: Gather of its tokens, MatMul, Gelu, MatMul, nodes of its own;
 *  5. Concat of all, Mul by the gates, ScatterND (add) onto the residual stream.
 * So every expert works at full capacity; gates are not normalised again after the choice.
 *
 * Sizes follow the papers: Dosovitskiy 2021 (ViT), Devlin 2019 (BERT), Radford 2019 (GPT-2), Brown
 * 2020 (GPT-3), Zhang 2022 (OPT), Touvron 2023 (Llama, Llama 2), Raffel 2020 (T5), Fedus 2022 and
 * Lepikhin 2021 (mixtures of experts). */
#include "zoo.h"

#include <math.h>
#include <string.h>

/* One struct for all tables below: each model lists the fields that it has. */
typedef struct transformer_options {
    int64_t layers, hidden, heads, kv_heads, ffn;
    int64_t seq, target, vocab, positions;
    int64_t image, patch, mlp, classes;
    int64_t experts, top;
    double capacity;
    bool tied;
} transformer_options;

typedef struct attention {
    int64_t heads, kv_heads; /* of queries; of keys and values, each shared by several queries */
    int64_t head_size;
    bool bias, is_fused, is_scaled; /* is_fused: one MatMul for queries, keys and values */
    int added;                      /* to the scores; -1: none */
    int allowed;                    /* bool, scores that stay, the others vanish; -1: all stay */
    int cosine, sine;               /* rotary tables; -1: none */
} attention;

/* --- small pieces */

/* An operator with one attribute. */
static int apply(weft_zoo *z, const char *op, const int *arg, int n_args, weft_attr attr)
{
    weft_zoo_call call = {.op = op, .n_args = n_args, .n_attrs = 1, .attr = {attr}};

    memcpy(call.arg, arg, (size_t)n_args * sizeof *arg);
    return weft_zoo_call1(z, &call);
}

static int softmax(weft_zoo *z, int x)
{
    return apply(z, "Softmax", &x, 1, weft_zoo_attr_int("axis", -1));
}

static int gather(weft_zoo *z, int table, int ids, int64_t axis)
{
    return apply(z, "Gather", (int[]){table, ids}, 2, weft_zoo_attr_int("axis", axis));
}

static int slice(weft_zoo *z, int x, int64_t axis, int64_t from, int64_t to)
{
    weft_zoo_call call = {.op = "Slice", .n_args = 4, .arg = {x}};

    call.arg[1] = weft_zoo_ints(z, 1, &from);
    call.arg[2] = weft_zoo_ints(z, 1, &to);
    call.arg[3] = weft_zoo_ints(z, 1, &axis);
    return weft_zoo_call1(z, &call);
}

static int unsqueeze(weft_zoo *z, int x, int n, const int64_t *axis)
{
    return weft_zoo_binary(z, "Unsqueeze", x, weft_zoo_ints(z, n, axis));
}

/* Equal parts along an axis. */
static void split(weft_zoo *z, int x, int64_t axis, int n, int *part)
{
    weft_zoo_call call = {.op = "Split", .n_args = 2, .arg = {x}, .n_attrs = 1, .n_results = n};
    int64_t *sizes = WEFT_NEW(weft_net_arena(z->net), int64_t, n);

    for (int i = 0; i < n; i++)
        sizes[i] = weft_zoo_dim(z, x, (int)axis) / n;
    call.arg[1] = weft_zoo_ints(z, n, sizes);
    call.attr[0] = weft_zoo_attr_int("axis", axis);
    weft_zoo_calls(z, &call, part);
}

/* The `k` largest along the last axis: values and places. */
static void top(weft_zoo *z, int x, int64_t k, int best[2])
{
    weft_zoo_call call = {.op = "TopK", .n_args = 2, .arg = {x}, .n_results = 2};

    call.arg[1] = weft_zoo_ints(z, 1, &k);
    weft_zoo_calls(z, &call, best);
}

/* A constant that is no parameter: its elements are fixed by the architecture. */
static int fixed(weft_zoo *z, const char *name, weft_dtype type, int rank, const int64_t *dim)
{
    weft_value constant = {.type = type, .shape = {.rank = rank}};
    int value = -1;

    if (z->status != WEFT_OK)
        return -1;
    memcpy(constant.shape.dim, dim, (size_t)rank * sizeof *dim);
    z->status = weft_net_constant(z->net, name, &constant, &value);
    return z->status == WEFT_OK ? value : -1;
}

/* True up to the diagonal. Not numbers to be added: these would pass for weights in training. */
static int causal_mask(weft_zoo *z, int64_t seq)
{
    return fixed(z, "c/causal_mask", WEFT_BOOL, 4, (int64_t[]){1, 1, seq, seq});
}

static int where(weft_zoo *z, int condition, int x, int y)
{
    weft_zoo_call call = {
        .op = "Where", .n_args = 3, .arg = {condition, x, y}
    };

    return weft_zoo_call1(z, &call);
}

static int gelu(weft_zoo *z, int x, const char *approximate)
{
    return apply(z, "Gelu", &x, 1, weft_zoo_attr_text("approximate", approximate));
}

static int activation(weft_zoo *z, const char *act, int x)
{
    if (strcmp(act, "Gelu") == 0)
        return gelu(z, x, "none");
    if (strcmp(act, "GeluTanh") == 0)
        return gelu(z, x, "tanh");
    return weft_zoo_act(z, act, x);
}

static int rms_norm(weft_zoo *z, int x)
{
    int64_t width = weft_zoo_dim(z, x, -1);
    int scale = weft_zoo_weight(z, "norm_scale", 1, &width);

    return apply(z, "RMSNormalization", (int[]){x, scale}, 2, weft_zoo_attr_int("axis", -1));
}

static int add(weft_zoo *z, int x, int y)
{
    return weft_zoo_binary(z, "Add", x, y);
}

/* Token ids, batch x seq. */
static int ids_input(weft_zoo *z, const char *name, int64_t seq)
{
    return weft_zoo_input(z, name, WEFT_I64, 2, (int64_t[]){z->batch, seq});
}

/* The first `seq` rows after `skip` of a table of learned positions. */
static int position_rows(weft_zoo *z, int64_t rows, int64_t skip, int64_t seq, int64_t hidden)
{
    int table = weft_zoo_weight(z, "positions", 2, (int64_t[]){rows, hidden});

    return rows == seq ? table : slice(z, table, 0, skip, skip + seq);
}

/* --- attention */

/* batch x tokens x width -> batch x heads x tokens x head size */
static int split_heads(weft_zoo *z, int x, int64_t heads, int64_t head_size)
{
    x = weft_zoo_reshape(z, x, 4, (int64_t[]){0, 0, heads, head_size});
    return weft_zoo_transpose(z, x, 4, (int64_t[]){0, 2, 1, 3});
}

/* Rotary positions: x cos + (-second half, first half) sin. */
static int rotate(weft_zoo *z, int x, const attention *a)
{
    int64_t half = a->head_size / 2;
    int first = slice(z, x, -1, 0, half);
    int second = weft_zoo_unary(z, "Neg", slice(z, x, -1, half, a->head_size));
    int turned = weft_zoo_concat(z, (int[]){second, first}, 2, -1);

    return add(z, weft_zoo_binary(z, "Mul", x, a->cosine),
               weft_zoo_binary(z, "Mul", turned, a->sine));
}

/* Queries, keys and values with heads apart; keys and values come from `source`. */
static void project(weft_zoo *z, int x, int source, const attention *a, int qkv[3])
{
    int64_t width = a->heads * a->head_size, kv_width = a->kv_heads * a->head_size;

    if (a->is_fused) {
        split(z, weft_zoo_matmul(z, x, 3 * width, a->bias), 2, 3, qkv);
    } else {
        qkv[0] = weft_zoo_matmul(z, x, width, a->bias);
        qkv[1] = weft_zoo_matmul(z, source, kv_width, a->bias);
        qkv[2] = weft_zoo_matmul(z, source, kv_width, a->bias);
    }
    for (int i = 0; i < 3; i++)
        qkv[i] = split_heads(z, qkv[i], i == 0 ? a->heads : a->kv_heads, a->head_size);
    for (int i = 0; i < 2 && a->cosine >= 0; i++)
        qkv[i] = rotate(z, qkv[i], a);
}

enum { LOWEST_SCORE = -65504 }; /* the lowest number of 16 bits; its exponential is 0 */

/* softmax(q keys / sqrt(head size), biased and masked) v, for any leading axes. */
static int mix(weft_zoo *z, int q, int keys, int v, const attention *a)
{
    int scores = weft_zoo_binary(z, "MatMul", q, keys);

    if (a->is_scaled)
        scores = weft_zoo_binary(z, "Div", scores, weft_zoo_real(z, sqrt((double)a->head_size)));
    if (a->added >= 0)
        scores = add(z, scores, a->added);
    if (a->allowed >= 0)
        scores = where(z, a->allowed, scores, weft_zoo_real(z, LOWEST_SCORE));
    return weft_zoo_binary(z, "MatMul", softmax(z, scores), v);
}

/* Fewer heads of keys than of queries: queries as groups x queries in a group, over which MatMul
 * broadcasts the keys, so that nothing is copied. */
static int mix_grouped(weft_zoo *z, const int qkv[3], int keys, const attention *a)
{
    int64_t n = a->kv_heads, size = a->head_size;
    int64_t tokens = weft_zoo_dim(z, qkv[0], 2), from = weft_zoo_dim(z, qkv[1], 2);
    int q = weft_zoo_reshape(z, qkv[0], 5, (int64_t[]){0, n, a->heads / n, tokens, size});
    int k = weft_zoo_reshape(z, keys, 5, (int64_t[]){0, n, 1, size, from});
    int v = weft_zoo_reshape(z, qkv[2], 5, (int64_t[]){0, n, 1, from, size});

    return weft_zoo_reshape(z, mix(z, q, k, v, a), 4, (int64_t[]){0, a->heads, tokens, size});
}

/* Multi-head attention of x to `source` (x itself for self-attention). */
static int attend(weft_zoo *z, int x, int source, const attention *a)
{
    int64_t width = weft_zoo_dim(z, x, -1);
    int qkv[3] = {-1, -1, -1};
    int keys, mixed;

    project(z, x, source, a, qkv);
    keys = weft_zoo_transpose(z, qkv[1], 4, (int64_t[]){0, 1, 3, 2});
    mixed =
        a->kv_heads == a->heads ? mix(z, qkv[0], keys, qkv[2], a) : mix_grouped(z, qkv, keys, a);
    mixed = weft_zoo_transpose(z, mixed, 4, (int64_t[]){0, 2, 1, 3});
    mixed = weft_zoo_reshape(z, mixed, 3, (int64_t[]){0, 0, a->heads * a->head_size});
    return weft_zoo_matmul(z, mixed, width, a->bias);
}

/* Attention with as many heads everywhere, bias and scale: what most models have. */
static attention plain_attention(const transformer_options *o)
{
    return (attention){.heads = o->heads,
                       .kv_heads = o->heads,
                       .head_size = o->hidden / o->heads,
                       .bias = true,
                       .is_scaled = true,
                       .added = -1,
                       .allowed = -1,
                       .cosine = -1,
                       .sine = -1};
}

static int feed_forward(weft_zoo *z, int x, int64_t ffn, const char *act, bool bias)
{
    int64_t width = weft_zoo_dim(z, x, -1);

    x = activation(z, act, weft_zoo_matmul(z, x, ffn, bias));
    return weft_zoo_matmul(z, x, width, bias);
}

/* Attention, then feed-forward, each on a norm of the stream and added to it. */
static int pre_norm_layer(weft_zoo *z, int x, const attention *a, int64_t ffn, const char *act)
{
    int normed = weft_zoo_layer_norm(z, x);

    x = add(z, x, attend(z, normed, normed, a));
    return add(z, x, feed_forward(z, weft_zoo_layer_norm(z, x), ffn, act, true));
}

/* Logits of the next token; `table` is the embedding of a tied head, or -1. */
static int language_head(weft_zoo *z, int x, int table, int64_t vocab)
{
    int64_t tokens = weft_zoo_dim(z, x, 1), width = weft_zoo_dim(z, x, 2);
    int rows;

    if (table < 0)
        return weft_zoo_matmul(z, x, vocab, false);
    rows = weft_zoo_reshape(z, x, 2, (int64_t[]){-1, width});
    rows = apply(z, "Gemm", (int[]){rows, table}, 2, weft_zoo_attr_int("transB", 1));
    return weft_zoo_reshape(z, rows, 3, (int64_t[]){-1, tokens, vocab});
}

/* --- sizes */

typedef struct size_row {
    const char *model, *variant;
    int64_t layers, hidden, heads, kv_heads, ffn;
} size_row;

static const size_row sizes[] = {
    {"bert",  "base",   12, 768,   12, 0, 0    },
    {"bert",  "large",  24, 1024,  16, 0, 0    },
    {"gpt2",  "small",  12, 768,   12, 0, 0    },
    {"gpt2",  "medium", 24, 1024,  16, 0, 0    },
    {"gpt2",  "large",  36, 1280,  20, 0, 0    },
    {"gpt2",  "xl",     48, 1600,  25, 0, 0    },
    {"opt",   "125m",   12, 768,   12, 0, 0    },
    {"opt",   "1.3b",   24, 2048,  32, 0, 0    },
    {"opt",   "6.7b",   32, 4096,  32, 0, 0    },
    {"opt",   "30b",    48, 7168,  56, 0, 0    },
    {"opt",   "175b",   96, 12288, 96, 0, 0    },
    {"llama", "7b",     32, 4096,  32, 0, 0    },
    {"llama", "13b",    40, 5120,  40, 0, 0    },
    {"llama", "70b",    80, 8192,  64, 8, 28672},
    {"t5",    "small",  6,  512,   8,  0, 0    },
    {"t5",    "base",   12, 768,   12, 0, 0    },
    {"t5",    "large",  24, 1024,  16, 0, 0    },
};

/* Copies a row of the table; other names change nothing. */
static void set_size(const char *model, const char *variant, transformer_options *o)
{
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const size_row *row = &sizes[i];

        if (strcmp(row->model, model) != 0 || strcmp(row->variant, variant) != 0)
            continue;
        o->layers = row->layers;
        o->hidden = row->hidden;
        o->heads = row->heads;
        o->kv_heads = row->kv_heads;
        o->ffn = row->ffn;
    }
}

static weft_status check_heads(const char *model, const transformer_options *o)
{
    if (o->hidden % o->heads != 0)
        return weft_fail(WEFT_E_INPUT,
                         "%s: heads is %lld, must divide hidden, which is %lld, without remainder",
                         model, (long long)o->heads, (long long)o->hidden);
    return WEFT_OK;
}

static weft_status check_positions(const char *model, int64_t positions, int64_t seq)
{
    if (positions < seq)
        return weft_fail(WEFT_E_INPUT, "%s: positions is %lld, must be at least seq, which is %lld",
                         model, (long long)positions, (long long)seq);
    return WEFT_OK;
}

static int64_t ffn_width(const transformer_options *o)
{
    return o->ffn > 0 ? o->ffn : 4 * o->hidden;
}

/* Parameters that most models have; the highest values keep parameters countable in 64
 * bits. */
#define INTEGER(field, fallback, lowest, highest, help)                                            \
    WEFT_INT(transformer_options, field), fallback, lowest, highest, help, NULL, NULL
#define LAYERS(n) INTEGER(layers, n, 1, 1000, "layers")
#define HIDDEN(n) INTEGER(hidden, n, 1, 1e5, "width of the residual stream, a multiple of heads")
#define HEADS(n) INTEGER(heads, n, 1, 1e4, "attention heads")
#define FFN(n) INTEGER(ffn, n, 0, 1e6, "feed-forward width; 0: 4 * hidden")
#define SEQ(n) INTEGER(seq, n, 1, 1e6, "tokens of a sequence")
#define VOCAB(n) INTEGER(vocab, n, 1, 1e7, "words of the vocabulary")
#define POSITIONS(n, help) INTEGER(positions, n, 0, 1e7, "rows of the position table" help)
#define TIED(n)                                                                                    \
    WEFT_FLAG(transformer_options, tied), n, 0, 1,                                                 \
        "1: the last layer uses the weights of the embedding", NULL, NULL

/* --- GPT-2, GPT-3, OPT, mixtures of experts: decoders with learned positions */

/* What sets these models apart. */
typedef struct decoder {
    const char *name;
    const char *act;
    bool is_fused;    /* one MatMul for queries, keys and values */
    int64_t context;  /* rows of the published table of positions */
    int64_t unused;   /* rows in front of it that no position uses */
    bool has_experts; /* in every second layer */
} decoder;

static const decoder gpt2 = {.name = "gpt2", .act = "GeluTanh", .is_fused = true, .context = 1024};
static const decoder gpt3 = {.name = "gpt3", .act = "GeluTanh", .is_fused = true, .context = 2048};
static const decoder opt = {.name = "opt", .act = "Relu", .context = 2048, .unused = 2};
static const decoder moe = {
    .name = "moe", .act = "GeluTanh", .is_fused = true, .context = 1024, .has_experts = true};

/* Steps 1 to 3 of the head comment: gates and token numbers, experts x room each. */
static void route(weft_zoo *z, int flat, const transformer_options *o, int *gates, int *tokens)
{
    double n = (double)weft_zoo_dim(z, flat, 0);
    double room = fmin(n, ceil((double)o->top * n / (double)o->experts * o->capacity));
    int probability = softmax(z, weft_zoo_matmul(z, flat, o->experts, false));
    int best[2] = {-1, -1};
    int least, chosen;

    top(z, probability, o->top, best);
    least = slice(z, best[0], 1, o->top - 1, o->top);
    chosen = weft_zoo_binary(z, "Less", probability, least);
    chosen = where(z, chosen, weft_zoo_real(z, 0), probability);
    top(z, weft_zoo_transpose(z, chosen, 2, (int64_t[]){1, 0}), (int64_t)room, best);
    *gates = best[0];
    *tokens = best[1];
}

/* x + the gated answers of the experts to `normed`; both batch x seq x hidden. */
static int experts(weft_zoo *z, int x, int normed, const transformer_options *o)
{
    int n = (int)o->experts;
    int64_t seq = weft_zoo_dim(z, x, 1), width = weft_zoo_dim(z, x, 2);
    int *part = WEFT_NEW(weft_net_arena(z->net), int, n);
    int flat = weft_zoo_reshape(z, normed, 2, (int64_t[]){-1, width});
    int base = weft_zoo_reshape(z, x, 2, (int64_t[]){-1, width});
    int gates = -1, tokens = -1, answer;

    route(z, flat, o, &gates, &tokens);
    split(z, tokens, 0, n, part);
    for (int i = 0; i < n; i++)
        part[i] = feed_forward(z, gather(z, flat, part[i], 0), ffn_width(o), moe.act, true);
    gates = weft_zoo_reshape(z, gates, 3, (int64_t[]){1, -1, 1});
    tokens = weft_zoo_reshape(z, tokens, 3, (int64_t[]){1, -1, 1});
    answer = weft_zoo_binary(z, "Mul", weft_zoo_concat(z, part, n, 1), gates);
    answer = apply(z, "ScatterND", (int[]){base, tokens, answer}, 3,
                   weft_zoo_attr_text("reduction", "add"));
    return weft_zoo_reshape(z, answer, 3, (int64_t[]){-1, seq, width});
}

static int expert_layer(weft_zoo *z, int x, const attention *a, const transformer_options *o)
{
    int normed = weft_zoo_layer_norm(z, x);

    x = add(z, x, attend(z, normed, normed, a));
    return experts(z, x, weft_zoo_layer_norm(z, x), o);
}

static int decoder_layers(weft_zoo *z, int x, const transformer_options *o, const decoder *d)
{
    attention a = plain_attention(o);

    a.is_fused = d->is_fused;
    a.allowed = causal_mask(z, o->seq);
    for (int64_t i = 0; i < o->layers; i++)
        x = d->has_experts && i % 2 == 1 ? expert_layer(z, x, &a, o)
                                         : pre_norm_layer(z, x, &a, ffn_width(o), d->act);
    return weft_zoo_layer_norm(z, x);
}

static weft_status build_decoder(weft_net *net, const transformer_options *o,
                                 const weft_model_options *common, const decoder *d)
{
    weft_zoo z = weft_zoo_begin(net, common);
    int64_t rows = o->positions;
    int ids, table, place, x;

    if (rows == 0)
        rows = o->seq > d->context ? o->seq : d->context;
    WEFT_TRY(check_heads(d->name, o));
    WEFT_TRY(check_positions(d->name, rows, o->seq));
    ids = ids_input(&z, "input_ids", o->seq);
    table = weft_zoo_weight(&z, "embedding", 2, (int64_t[]){o->vocab, o->hidden});
    /* one after the other: the order of arguments is the compiler's, and names count nodes */
    place = position_rows(&z, rows + d->unused, d->unused, o->seq, o->hidden);
    x = add(&z, gather(&z, table, ids, 0), place);
    x = decoder_layers(&z, x, o, d);
    weft_zoo_output(&z, language_head(&z, x, o->tied ? table : -1, o->vocab));
    return z.status;
}

static weft_status build_gpt2(weft_net *net, const void *options, const weft_model_options *common)
{
    return build_decoder(net, options, common, &gpt2);
}

static weft_status build_gpt3(weft_net *net, const void *options, const weft_model_options *common)
{
    return build_decoder(net, options, common, &gpt3);
}

static weft_status build_opt(weft_net *net, const void *options, const weft_model_options *common)
{
    return build_decoder(net, options, common, &opt);
}

static weft_status build_moe(weft_net *net, const void *options, const weft_model_options *common)
{
    const transformer_options *o = options;

    if (o->top > o->experts)
        return weft_fail(WEFT_E_INPUT, "moe: top is %lld, must not exceed experts, which is %lld",
                         (long long)o->top, (long long)o->experts);
    return build_decoder(net, options, common, &moe);
}

static void gpt2_variant(const char *name, void *options)
{
    set_size("gpt2", name, options);
}

static void opt_variant(const char *name, void *options)
{
    set_size("opt", name, options);
}

/* clang-format off */
static const weft_option gpt2_options[] = {
    {LAYERS(12)}, {HIDDEN(768)}, {HEADS(12)}, {FFN(0)}, {SEQ(1024)}, {VOCAB(50257)}, {TIED(1)},
    {POSITIONS(0, "; 0: 1024, or seq if that is more")},
    WEFT_OPTIONS_END,
};

static const weft_option gpt3_options[] = {
    {LAYERS(96)}, {HIDDEN(12288)}, {HEADS(96)}, {FFN(0)}, {SEQ(2048)}, {VOCAB(50257)}, {TIED(1)},
    {POSITIONS(0, "; 0: 2048, or seq if that is more")},
    WEFT_OPTIONS_END,
};

static const weft_option opt_options[] = {
    {LAYERS(12)}, {HIDDEN(768)}, {HEADS(12)}, {FFN(0)}, {SEQ(2048)}, {VOCAB(50272)}, {TIED(1)},
    {POSITIONS(0, "; 0: 2048, or seq if that is more")},
    WEFT_OPTIONS_END,
};

static const weft_option moe_options[] = {
    {LAYERS(12)}, {HIDDEN(768)}, {HEADS(12)}, {FFN(0)}, {SEQ(1024)}, {VOCAB(50257)}, {TIED(1)},
    {POSITIONS(0, "; 0: 1024, or seq if that is more")},
    {INTEGER(experts, 8, 1, 1024, "experts in every second layer")},
    {INTEGER(top, 2, 1, 1024, "experts that each token uses")},
    {WEFT_REAL(transformer_options, capacity), 1.25, 0.01, 100,
     "room of an expert, as a multiple of its even share of tokens", NULL, NULL},
    WEFT_OPTIONS_END,
};
/* clang-format on */

/* --- BERT */

/* 0 for tokens to attend to, a large negative number for padding; batch x 1 x 1 x seq. */
static int padding_mask(weft_zoo *z, int attention_mask)
{
    int x = unsqueeze(z, attention_mask, 2, (int64_t[]){1, 2});

    x = apply(z, "Cast", &x, 1, weft_zoo_attr_int("to", z->type));
    x = weft_zoo_binary(z, "Sub", weft_zoo_real(z, 1), x);
    return weft_zoo_binary(z, "Mul", x, weft_zoo_real(z, -10000));
}

static int bert_embedding(weft_zoo *z, const transformer_options *o, int *mask)
{
    int ids = ids_input(z, "input_ids", o->seq);
    int attended = ids_input(z, "attention_mask", o->seq);
    int types = ids_input(z, "token_type_ids", o->seq);
    int words = weft_zoo_weight(z, "embedding", 2, (int64_t[]){o->vocab, o->hidden});
    int kinds = weft_zoo_weight(z, "token_types", 2, (int64_t[]){2, o->hidden});
    int kind = gather(z, kinds, types, 0); /* before the words, whatever the compiler */
    int x = add(z, gather(z, words, ids, 0), kind);

    *mask = padding_mask(z, attended);
    x = add(z, x, position_rows(z, o->positions, 0, o->seq, o->hidden));
    return weft_zoo_layer_norm(z, x);
}

static weft_status build_bert(weft_net *net, const void *options, const weft_model_options *common)
{
    const transformer_options *o = options;
    weft_zoo z = weft_zoo_begin(net, common);
    attention a;
    int x;

    WEFT_TRY(check_heads("bert", o));
    WEFT_TRY(check_positions("bert", o->positions, o->seq));
    a = plain_attention(o);
    x = bert_embedding(&z, o, &a.added);
    for (int64_t i = 0; i < o->layers; i++) {
        x = weft_zoo_layer_norm(&z, add(&z, x, attend(&z, x, x, &a)));
        x = weft_zoo_layer_norm(&z, add(&z, x, feed_forward(&z, x, ffn_width(o), "Gelu", true)));
    }
    weft_zoo_output(&z, x);
    x = gather(&z, x, weft_zoo_int(&z, 0), 1); /* pooler: the first token */
    weft_zoo_output(&z, weft_zoo_unary(&z, "Tanh", weft_zoo_linear(&z, x, o->hidden)));
    return z.status;
}

static void bert_variant(const char *name, void *options)
{
    set_size("bert", name, options);
}

/* clang-format off */
static const weft_option bert_options[] = {
    {LAYERS(12)}, {HIDDEN(768)}, {HEADS(12)}, {FFN(0)}, {SEQ(128)}, {VOCAB(30522)},
    {POSITIONS(512, "")},
    WEFT_OPTIONS_END,
};
/* clang-format on */

/* --- ViT */

/* Patches as tokens behind a class token, with positions. */
static int vit_tokens(weft_zoo *z, const transformer_options *o)
{
    int64_t hidden = o->hidden;
    int x = weft_zoo_input(z, "input", z->type, 4, (int64_t[]){z->batch, 3, o->image, o->image});
    int token = weft_zoo_weight(z, "class_token", 3, (int64_t[]){1, 1, hidden});
    int place;

    x = weft_zoo_conv2d(
        z, x,
        &(weft_zoo_conv){
            .out = hidden, .kernel_h = o->patch, .kernel_w = o->patch, .stride = o->patch});
    x = weft_zoo_reshape(z, x, 3, (int64_t[]){0, hidden, -1});
    x = weft_zoo_transpose(z, x, 3, (int64_t[]){0, 2, 1});
    if (z->batch > 1)
        token = weft_zoo_binary(z, "Expand", token,
                                weft_zoo_ints(z, 3, (int64_t[]){z->batch, 1, hidden}));
    x = weft_zoo_concat(z, (int[]){token, x}, 2, 1);
    place = weft_zoo_weight(z, "positions", 3, (int64_t[]){1, weft_zoo_dim(z, x, 1), hidden});
    return add(z, x, place);
}

static weft_status build_vit(weft_net *net, const void *options, const weft_model_options *common)
{
    const transformer_options *o = options;
    weft_zoo z = weft_zoo_begin(net, common);
    attention a;
    int x;

    WEFT_TRY(check_heads("vit_b_16", o));
    if (o->image % o->patch != 0)
        return weft_fail(WEFT_E_INPUT, "vit_b_16: image is %lld, must be a multiple of patch, %lld",
                         (long long)o->image, (long long)o->patch);
    a = plain_attention(o);
    a.is_fused = true;
    x = vit_tokens(&z, o);
    for (int64_t i = 0; i < o->layers; i++)
        x = pre_norm_layer(&z, x, &a, o->mlp, "Gelu");
    x = gather(&z, weft_zoo_layer_norm(&z, x), weft_zoo_int(&z, 0), 1);
    weft_zoo_output(&z, weft_zoo_linear(&z, x, o->classes));
    return z.status;
}

/* clang-format off */
static const weft_option vit_options[] = {
    {INTEGER(image, 224, 1, 10000, "height and width of the image, pixels")},
    {INTEGER(patch, 16, 1, 10000, "height and width of a patch, pixels")},
    {LAYERS(12)}, {HIDDEN(768)}, {HEADS(12)},
    {INTEGER(mlp, 3072, 1, 1e6, "feed-forward width")},
    {INTEGER(classes, 1000, 1, 1e7, "classes")},
    WEFT_OPTIONS_END,
};
/* clang-format on */

/* --- Llama */

/* Two thirds of 4 * hidden, so that three matrices weigh as much as two, rounded up to 256. */
static int64_t llama_ffn(const transformer_options *o)
{
    return o->ffn > 0 ? o->ffn : (8 * o->hidden / 3 + 255) / 256 * 256;
}

static int gated_feed_forward(weft_zoo *z, int x, int64_t ffn)
{
    int64_t width = weft_zoo_dim(z, x, -1);
    int gate = weft_zoo_matmul(z, x, ffn, false);
    int up = weft_zoo_matmul(z, x, ffn, false);

    gate = weft_zoo_binary(z, "Mul", gate, weft_zoo_unary(z, "Sigmoid", gate));
    return weft_zoo_matmul(z, weft_zoo_binary(z, "Mul", gate, up), width, false);
}

static attention llama_attention(weft_zoo *z, const transformer_options *o)
{
    attention a = plain_attention(o);
    int64_t table[4] = {1, 1, o->seq, a.head_size};

    a.kv_heads = o->kv_heads > 0 ? o->kv_heads : o->heads;
    a.bias = false;
    a.allowed = causal_mask(z, o->seq);
    a.cosine = fixed(z, "c/rotary_cosine", z->type, 4, table);
    a.sine = fixed(z, "c/rotary_sine", z->type, 4, table);
    return a;
}

static weft_status check_llama(const transformer_options *o)
{
    WEFT_TRY(check_heads("llama", o));
    if (o->kv_heads > 0 && o->heads % o->kv_heads != 0)
        return weft_fail(WEFT_E_INPUT,
                         "llama: kv_heads is %lld, must divide heads, which is %lld, without "
                         "remainder",
                         (long long)o->kv_heads, (long long)o->heads);
    if (o->hidden / o->heads % 2 != 0)
        return weft_fail(WEFT_E_INPUT,
                         "llama: hidden / heads is %lld / %lld = %lld, must be even for rotary "
                         "positions",
                         (long long)o->hidden, (long long)o->heads,
                         (long long)(o->hidden / o->heads));
    return WEFT_OK;
}

static weft_status build_llama(weft_net *net, const void *options, const weft_model_options *common)
{
    const transformer_options *o = options;
    weft_zoo z = weft_zoo_begin(net, common);
    int ids, table, x;
    attention a;

    WEFT_TRY(check_llama(o));
    a = llama_attention(&z, o);
    ids = ids_input(&z, "input_ids", o->seq);
    table = weft_zoo_weight(&z, "embedding", 2, (int64_t[]){o->vocab, o->hidden});
    x = gather(&z, table, ids, 0);
    for (int64_t i = 0; i < o->layers; i++) {
        int normed = rms_norm(&z, x);

        x = add(&z, x, attend(&z, normed, normed, &a));
        x = add(&z, x, gated_feed_forward(&z, rms_norm(&z, x), llama_ffn(o)));
    }
    weft_zoo_output(&z, language_head(&z, rms_norm(&z, x), o->tied ? table : -1, o->vocab));
    return z.status;
}

static void llama_variant(const char *name, void *options)
{
    set_size("llama", name, options);
}

/* clang-format off */
static const weft_option llama_options[] = {
    {LAYERS(32)}, {HIDDEN(4096)}, {HEADS(32)},
    {INTEGER(kv_heads, 0, 0, 1e4, "heads of keys and values, a divisor of heads; 0: as many")},
    {INTEGER(ffn, 0, 0, 1e6, "feed-forward width; 0: 8/3 * hidden, rounded up to 256")},
    {SEQ(2048)}, {VOCAB(32000)}, {TIED(0)},
    WEFT_OPTIONS_END,
};
/* clang-format on */

/* --- T5 */

enum { T5_BUCKETS = 32 }; /* of relative distances */

/* Learned bias of each head by distance, 1 x heads x seq x seq, computed once for all layers. */
static int relative_bias(weft_zoo *z, const char *name, int64_t heads, int64_t seq)
{
    int table = weft_zoo_weight(z, "relative_bias", 2, (int64_t[]){T5_BUCKETS, heads});
    int bucket = fixed(z, name, WEFT_I64, 2, (int64_t[]){seq, seq});
    int x = weft_zoo_transpose(z, gather(z, table, bucket, 0), 3, (int64_t[]){2, 0, 1});

    return unsqueeze(z, x, 1, (int64_t[]){0});
}

/* x + attention of norm(x) to `source`, or to norm(x) itself if source is -1. */
static int t5_attend(weft_zoo *z, int x, int source, const attention *a)
{
    int normed = rms_norm(z, x);

    return add(z, x, attend(z, normed, source < 0 ? normed : source, a));
}

static int t5_feed_forward(weft_zoo *z, int x, const transformer_options *o)
{
    return add(z, x, feed_forward(z, rms_norm(z, x), ffn_width(o), "Relu", false));
}

static weft_status build_t5(weft_net *net, const void *options, const weft_model_options *common)
{
    const transformer_options *o = options;
    int64_t target = o->target > 0 ? o->target : o->seq;
    weft_zoo z = weft_zoo_begin(net, common);
    attention in_source, in_target, cross;
    int source_ids, target_ids, table, x, y;

    WEFT_TRY(check_heads("t5", o));
    cross = plain_attention(o);
    cross.bias = cross.is_scaled = false; /* the initialisation makes up for the scale */
    in_source = in_target = cross;
    in_source.added = relative_bias(&z, "c/encoder_distance", o->heads, o->seq);
    in_target.added = relative_bias(&z, "c/decoder_distance", o->heads, target);
    in_target.allowed = causal_mask(&z, target);
    source_ids = ids_input(&z, "input_ids", o->seq);
    target_ids = ids_input(&z, "decoder_input_ids", target);
    table = weft_zoo_weight(&z, "embedding", 2, (int64_t[]){o->vocab, o->hidden});
    x = gather(&z, table, source_ids, 0);
    for (int64_t i = 0; i < o->layers; i++)
        x = t5_feed_forward(&z, t5_attend(&z, x, -1, &in_source), o);
    x = rms_norm(&z, x);
    y = gather(&z, table, target_ids, 0);
    for (int64_t i = 0; i < o->layers; i++) {
        y = t5_attend(&z, y, -1, &in_target);
        y = t5_feed_forward(&z, t5_attend(&z, y, x, &cross), o);
    }
    y = rms_norm(&z, y);
    if (o->tied)
        y = weft_zoo_binary(&z, "Mul", y, weft_zoo_real(&z, 1 / sqrt((double)o->hidden)));
    weft_zoo_output(&z, language_head(&z, y, o->tied ? table : -1, o->vocab));
    return z.status;
}

static void t5_variant(const char *name, void *options)
{
    set_size("t5", name, options);
}

/* clang-format off */
static const weft_option t5_options[] = {
    {INTEGER(layers, 6, 1, 1000, "layers of the encoder, and of the decoder")},
    {HIDDEN(512)}, {HEADS(8)}, {FFN(0)},
    {INTEGER(seq, 128, 1, 1e6, "tokens of the source")},
    {INTEGER(target, 0, 0, 1e6, "tokens of the target; 0: as many as seq")},
    {VOCAB(32128)}, {TIED(1)},
    WEFT_OPTIONS_END,
};
/* clang-format on */

/* --- list */

#define OPTIONS(name) name##_options, sizeof(transformer_options)

/* name, summary, variants, parameters, sizes of a variant, build */
/* clang-format off */
const weft_zoo_model weft_zoo_transformers[] = {
    {"vit_b_16", "vision transformer, base, 16x16 patches",
     NULL, OPTIONS(vit), NULL, build_vit},
    {"bert", "BERT encoder with pooler",
     "base|large", OPTIONS(bert), bert_variant, build_bert},
    {"gpt2", "GPT-2 language model",
     "small|medium|large|xl", OPTIONS(gpt2), gpt2_variant, build_gpt2},
    {"gpt3", "GPT-3 language model, 175 billion parameters",
     NULL, OPTIONS(gpt3), NULL, build_gpt3},
    {"opt", "OPT language model",
     "125m|1.3b|6.7b|30b|175b", OPTIONS(opt), opt_variant, build_opt},
    {"llama", "Llama language model: rotary positions, gated feed-forward",
     "7b|13b|70b", OPTIONS(llama), llama_variant, build_llama},
    {"t5", "T5 encoder and decoder",
     "small|base|large", OPTIONS(t5), t5_variant, build_t5},
    {"moe", "GPT with a mixture of experts in every second layer",
     NULL, OPTIONS(moe), NULL, build_moe},
    {NULL, NULL, NULL, NULL, 0, NULL, NULL},
};
/* clang-format on */
