/* SPDX-License-Identifier: MIT */
/* language_config.c: config.json and GGUF files as built-in models.
 *
 * Both say the same in other words, so that one table has a row for each parameter of the built-in
 * models: where config.json has it, and where GGUF has it (behind the name of the architecture). What
 * would make another network than the built-in one is refused by name; what only changes numbers
 * (rotary scaling, initial values) is passed over. */
#include "language_config.h"
#include "gguf.h"

#include <inttypes.h>
#include <string.h>

/* What a family of networks has; rows of the table are for some of these. GROUPED: fewer heads of keys than
 * of queries; SIZED: heads, and experts, of a width of their own; MIXED: experts in any case. */
enum {
    ROTARY = 1,
    GROUPED = 2,
    SIZED = 4,
    EXPERTS = 8,
    MIXED = 16,
    LATENT = 32,
    LEARNED = 64,
    PLAIN = ROTARY | LATENT | LEARNED, /* one of these is in every family */
};

typedef struct family {
    const char *type,
        *architecture; /* model_type of config.json, general.architecture of GGUF; or NULL */
    const char *base;
    unsigned parts;
    const char *fixed; /* parameters that the type implies, for config.json */
} family;

static const family families[] = {
    {"llama",       "llama",     "llama",    ROTARY | EXPERTS,                           ""                    },
    {"mistral",     NULL,        "mistral",  ROTARY | GROUPED,                           ""                    },
    {"mixtral",     NULL,        "mixtral",  ROTARY | GROUPED | EXPERTS | MIXED,         ""                    },
    {"qwen2",       "qwen2",     "qwen",     ROTARY | GROUPED,                           "qkv_bias=1"          },
    {"qwen3",       "qwen3",     "qwen",     ROTARY | GROUPED | SIZED,                   "qkv_bias=0,qk_norm=1"},
    {"qwen3_moe",   "qwen3moe",  "qwen",     ROTARY | GROUPED | SIZED | EXPERTS | MIXED,
     "qkv_bias=0,qk_norm=1"                                                                                    },
    {"deepseek_v2", "deepseek2", "deepseek", LATENT | EXPERTS | MIXED,                   ""                    },
    {"deepseek_v3", NULL,        "deepseek", LATENT | EXPERTS | MIXED,                   ""                    },
    {"gpt2",        "gpt2",      "gpt2",     LEARNED,                                    ""                    },
};

enum { N_FAMILIES = sizeof families / sizeof *families, MOST_NAMES = 3 };

typedef struct row {
    const char *parameter;
    unsigned parts, needed; /* it is read, and must be there, if the family has one of these */
    bool is_zero;           /* what is absent is 0: never what the built-in model has */
    const char *config[MOST_NAMES]; /* keys of config.json: the first one that is there */
    const char *gguf[2];
} row;

static const row rows[] = {
    {"layers",       ROTARY | LATENT, PLAIN,          false, {"num_hidden_layers"},                                    {"block_count"}              },
    {"layers",       LEARNED,         PLAIN,          false, {"n_layer"},                                              {"block_count"}              },
    {"hidden",       ROTARY | LATENT, PLAIN,          false, {"hidden_size"},                                          {"embedding_length"}         },
    {"hidden",       LEARNED,         PLAIN,          false, {"n_embd"},                                               {"embedding_length"}         },
    {"heads",        ROTARY | LATENT, PLAIN,          false, {"num_attention_heads"},                                  {"attention.head_count"}     },
    {"heads",        LEARNED,         PLAIN,          false, {"n_head"},                                               {"attention.head_count"}     },
    {"ffn",          ROTARY | LATENT, PLAIN,          false, {"intermediate_size"},                                    {"feed_forward_length"}      },
    {"ffn",          LEARNED,         0,              true,  {"n_inner"},                                              {"feed_forward_length"}      },
    {"kv_heads",     ROTARY,          GROUPED,        true,  {"num_key_value_heads"},                                  {"attention.head_count_kv"}  },
    {"head_size",    ROTARY,          SIZED,          true,  {"head_dim"},                                             {"attention.key_length"}     },
    {"positions",    LEARNED,         PLAIN,          false, {"n_positions"},                                          {"context_length"}           },
    {"experts",
     EXPERTS,                         MIXED,
     true,                                                   {"num_local_experts", "num_experts", "n_routed_experts"},
     {"expert_count"}                                                                                                                               },
    {"top",          EXPERTS,         MIXED,          false, {"num_experts_per_tok"},                                  {"expert_used_count"}        },
    {"expert_ffn",
     EXPERTS,                         SIZED | LATENT,
     true,                                                   {"moe_intermediate_size"},
     {"expert_feed_forward_length"}                                                                                                                 },
    {"dense_layers", LATENT,          0,              true,  {"first_k_dense_replace"},                                {"leading_dense_block_count"}},
    {"shared",       LATENT,          0,              true,  {"n_shared_experts"},                                     {"expert_shared_count"}      },
    {"kv_rank",      LATENT,          PLAIN,          false, {"kv_lora_rank"},                                         {"attention.kv_lora_rank"}   },
    {"rotary_size",  LATENT,          PLAIN,          false, {"qk_rope_head_dim"},                                     {"rope.dimension_count"}     },
    {"value_size",
     LATENT,                          PLAIN,
     false,                                                  {"v_head_dim"},
     {"attention.value_length_mla", "attention.value_length"}                                                                                       },
};

/* What would be another network: the key and what it may be. */
typedef struct demand {
    const char *key;
    unsigned parts;
    const char *allowed; /* "false", "1", "silu|swish" */
} demand;

static const demand demands[] = {
    {"hidden_act",          ROTARY | LATENT, "silu|swish"                },
    {"mlp_bias",            ROTARY | LATENT, "false"                     },
    {"attention_bias",      ROTARY | LATENT, "false"                     },
    {"decoder_sparse_step", EXPERTS,         "1"                         },
    {"mlp_only_layers",     EXPERTS,         "[]"                        },
    {"moe_layer_freq",      LATENT,          "1"                         },
    {"activation_function", LEARNED,         "gelu_new|gelu_pytorch_tanh"},
    {"add_cross_attention", LEARNED,         "false"                     },
};

typedef struct reading {
    const char *file, *more; /* more: parameters that the user gave, or "" */
    const family *family;
    const weft_doc *doc;   /* of config.json, or the pairs of a GGUF file */
    const weft_gguf *gguf; /* NULL: config.json */
    weft_arena *arena;
    weft_language_config *out;
} reading;

static void add(reading *r, const char *name, int64_t value)
{
    const char *before = r->out->parameters;

    r->out->parameters =
        weft_arena_print(r->arena, "%s%s%s=%" PRId64, before, *before ? "," : "", name, value);
}

static void warn(reading *r, const char *text)
{
    if (r->out->n_warnings < WEFT_CONFIG_WARNINGS)
        r->out->warning[r->out->n_warnings++] = text;
}

static bool is_set(const weft_doc *d)
{
    return d && d->kind != WEFT_DOC_NULL;
}

/* --- values ---------------------------------------------------------------------------------- */

/* The key of a GGUF file: behind the name of the architecture. */
static const char *long_key(const reading *r, const char *key)
{
    return weft_arena_print(r->arena, "%s.%s", r->family->architecture, key);
}

/* Sets *key to where the value of a row is, NULL if it is nowhere. */
static void find(const reading *r, const row *x, const char **key)
{
    int n = r->gguf ? 2 : MOST_NAMES;

    *key = NULL;
    for (int i = 0; i < n && *key == NULL; i++) {
        const char *name = r->gguf ? x->gguf[i] : x->config[i];

        if (name && r->gguf)
            name = long_key(r, name);
        if (name && is_set(weft_doc_get(r->doc, name)))
            *key = name;
    }
}

static weft_status take(const reading *r, const char *key, int64_t *out)
{
    const weft_doc *d = weft_doc_get(r->doc, key);

    if (d->kind == WEFT_DOC_LIST)
        return weft_fail(WEFT_E_INPUT,
                         "%s: '%s' is a list: networks whose layers differ are not supported",
                         r->file, key);
    return weft_doc_int(r->doc, key, 0, INT32_MAX, out);
}

static weft_status read_row(reading *r, const row *x)
{
    const char *key;
    int64_t value = 0;

    find(r, x, &key);
    if (key == NULL && (x->needed & r->family->parts))
        return weft_fail(WEFT_E_INPUT, "%s: '%s' is missing, expected a number", r->file,
                         r->gguf ? long_key(r, x->gguf[0]) : x->config[0]);
    if (key)
        WEFT_TRY(take(r, key, &value));
    if (key || x->is_zero)
        add(r, x->parameter, value);
    return WEFT_OK;
}

static weft_status read_rows(reading *r)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].parts & r->family->parts)
            WEFT_TRY(read_row(r, &rows[i]));
    return WEFT_OK;
}

static const family *find_family(const char *type, bool is_gguf)
{
    for (int i = 0; i < N_FAMILIES; i++) {
        const char *name = is_gguf ? families[i].architecture : families[i].type;

        if (name && strcmp(name, type) == 0)
            return &families[i];
    }
    return NULL;
}

static weft_status unknown_family(const reading *r, const char *type)
{
    const char *all = "";

    for (int i = 0; i < N_FAMILIES; i++) {
        const char *name = r->gguf ? families[i].architecture : families[i].type;

        if (name)
            all = weft_arena_print(r->arena, "%s%s%s", all, *all ? ", " : "", name);
    }
    return weft_fail(WEFT_E_INPUT, "%s: '%s' is '%.80s', expected one of %s", r->file,
                     r->gguf ? "general.architecture" : "model_type", type, all);
}

static weft_status read_family(reading *r)
{
    const char *key = r->gguf ? "general.architecture" : "model_type", *type = NULL;

    if (!is_set(weft_doc_get(r->doc, key)))
        return weft_fail(WEFT_E_INPUT, "%s: '%s' is missing: this describes no language model",
                         r->file, key);
    WEFT_TRY(weft_doc_text(r->doc, key, &type));
    r->family = find_family(type, r->gguf != NULL);
    if (r->family == NULL)
        return unknown_family(r, type);
    r->out->base = r->family->base;
    return WEFT_OK;
}

/* --- config.json ----------------------------------------------------------------------------- */

/* As JSON has it: false, 1, silu. */
static const char *shown(const reading *r, const weft_doc *d)
{
    return d->kind == WEFT_DOC_TEXT ? d->text : weft_doc_json_short(d, r->arena);
}

static bool is_among(const char *word, const char *list)
{
    size_t n = strlen(word);

    for (const char *at = list; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL)
        if (strncmp(at, word, n) == 0 && (at[n] == '\0' || at[n] == '|'))
            return true;
    return false;
}

static weft_status check_demands(const reading *r)
{
    for (size_t i = 0; i < sizeof demands / sizeof *demands; i++) {
        const demand *x = &demands[i];
        const weft_doc *d = weft_doc_get(r->doc, x->key);

        if ((x->parts & r->family->parts) && is_set(d) && !is_among(shown(r, d), x->allowed))
            return weft_doc_fail(d, "'%s' is %.80s, which is not supported: expected %s", x->key,
                                 shown(r, d), x->allowed);
    }
    return WEFT_OK;
}

static weft_status read_dtype(reading *r)
{
    static const char *const words[] = {"float32", "float16", "bfloat16"};
    static const weft_dtype types[] = {WEFT_F32, WEFT_F16, WEFT_BF16};
    const char *key = is_set(weft_doc_get(r->doc, "torch_dtype")) ? "torch_dtype" : "dtype",
               *text = NULL;

    if (!is_set(weft_doc_get(r->doc, key)))
        return WEFT_OK;
    WEFT_TRY(weft_doc_text(r->doc, key, &text));
    for (int i = 0; i < 3; i++)
        if (strcmp(text, words[i]) == 0)
            r->out->dtype = types[i];
    return WEFT_OK;
}

static weft_status read_bool(const reading *r, const char *key, bool fallback, bool *out)
{
    const weft_doc *d = weft_doc_get(r->doc, key);

    *out = fallback;
    if (!is_set(d))
        return WEFT_OK;
    if (d->kind != WEFT_DOC_BOOL)
        return weft_doc_fail(d, "'%s' is %s, expected true or false", key,
                             weft_doc_kind_name(d->kind));
    *out = d->truth;
    return WEFT_OK;
}

static weft_status read_ties(reading *r)
{
    bool is_tied, has_window;

    WEFT_TRY(read_bool(r, "tie_word_embeddings", r->family->parts & LEARNED, &is_tied));
    add(r, "tied", is_tied);
    WEFT_TRY(read_bool(r, "use_sliding_window", true, &has_window));
    if (has_window && is_set(weft_doc_get(r->doc, "sliding_window")))
        warn(r, "attention to a window of tokens (sliding_window) is counted as attention to all "
                "of them");
    if (is_set(weft_doc_get(r->doc, "quantization_config")))
        warn(r, "weights are stored in fewer bits (quantization_config); costs count the element "
                "type of --dtype");
    return WEFT_OK;
}

/* The width from which DeepSeek makes queries: null stands for none. */
static weft_status read_query_rank(reading *r, const char *key)
{
    int64_t rank = 0;

    if (is_set(weft_doc_get(r->doc, key)))
        WEFT_TRY(take(r, key, &rank));
    add(r, "q_rank", rank);
    return WEFT_OK;
}

static weft_status read_vocabulary(reading *r, const char *key)
{
    int64_t n;

    WEFT_TRY(weft_doc_int(r->doc, key, 1, INT32_MAX, &n));
    add(r, "vocab", n);
    return WEFT_OK;
}

static weft_status read_latent(reading *r)
{
    int64_t plain;

    WEFT_TRY(read_query_rank(r, "q_lora_rank"));
    WEFT_TRY(weft_doc_int(r->doc, "qk_nope_head_dim", 1, INT32_MAX, &plain));
    add(r, "plain_size", plain);
    return WEFT_OK;
}

static weft_status read_config(reading *r)
{
    WEFT_TRY(weft_doc_read(r->file, r->arena, &r->doc));
    if (r->doc->kind != WEFT_DOC_MAP)
        return weft_doc_fail(r->doc, "expected an object with the key 'model_type'");
    WEFT_TRY(read_family(r));
    WEFT_TRY(check_demands(r));
    r->out->parameters = r->family->fixed;
    WEFT_TRY(read_rows(r));
    WEFT_TRY(read_vocabulary(r, "vocab_size"));
    if (r->family->parts & LATENT)
        WEFT_TRY(read_latent(r));
    r->out->origin = weft_arena_print(r->arena, "config.json, model_type %s", r->family->type);
    WEFT_TRY(read_dtype(r));
    return read_ties(r);
}

/* --- GGUF ------------------------------------------------------------------------------------ */

/* Biases and norms of the attention are seen by their tensors. */
static void read_attention(reading *r)
{
    if (!(r->family->parts & ROTARY))
        return;
    add(r, "qkv_bias", weft_gguf_find(r->gguf, "blk.0.attn_q.bias") != NULL);
    add(r, "qk_norm", weft_gguf_find(r->gguf, "blk.0.attn_q_norm.weight") != NULL);
}

/* A head that shares the embedding has no tensor; one part of several may not have it either. */
static weft_status read_head(reading *r)
{
    const weft_doc *parts = weft_doc_get(r->doc, "split.count");

    if (parts && parts->kind == WEFT_DOC_INT && parts->integer > 1 &&
        strstr(r->more, "tied=") == NULL)
        return weft_fail(
            WEFT_E_INPUT,
            "%s: is one part of %lld: say whether the last layer uses the weights of the "
            "embedding, with %s:tied=0 or %s:tied=1",
            r->file, (long long)parts->integer, r->file, r->file);
    add(r, "tied", weft_gguf_find(r->gguf, "output.weight") == NULL);
    return WEFT_OK;
}

/* The words are counted by the table of the tokenizer where the number is not given. */
static weft_status read_gguf_vocabulary(reading *r)
{
    const char *key = long_key(r, "vocab_size");
    const weft_doc *tokens = weft_doc_get(r->doc, "tokenizer.ggml.tokens");

    if (weft_doc_get(r->doc, key) || tokens == NULL || tokens->kind != WEFT_DOC_LIST)
        return read_vocabulary(r, key);
    add(r, "vocab", tokens->integer);
    return WEFT_OK;
}

static weft_status read_gguf_latent(reading *r)
{
    const char *wide = long_key(r, "attention.key_length_mla"),
               *turned = long_key(r, "rope.dimension_count");
    int64_t whole, rotary;

    WEFT_TRY(read_query_rank(r, long_key(r, "attention.q_lora_rank")));
    if (weft_doc_get(r->doc, wide) == NULL)
        wide = long_key(r, "attention.key_length");
    WEFT_TRY(weft_doc_int(r->doc, wide, 1, INT32_MAX, &whole));
    WEFT_TRY(weft_doc_int(r->doc, turned, 1, INT32_MAX, &rotary));
    if (whole <= rotary)
        return weft_fail(WEFT_E_INPUT, "%s: '%s' is %lld, expected more than '%s', which is %lld",
                         r->file, wide, (long long)whole, turned, (long long)rotary);
    add(r, "plain_size", whole - rotary);
    return WEFT_OK;
}

/* The weights as they are stored, of which the costs know nothing. */
static void tell_storage(reading *r)
{
    const weft_gguf_tensor *largest = NULL;
    double bytes = 0;
    char size[32];

    for (int i = 0; i < r->gguf->n_tensors; i++) {
        const weft_gguf_tensor *t = &r->gguf->tensor[i];

        bytes += (double)t->bytes;
        if (largest == NULL || t->bytes > largest->bytes)
            largest = t;
    }
    r->out->dtype = largest && strcmp(largest->type, "F32") == 0    ? WEFT_F32
                    : largest && strcmp(largest->type, "BF16") == 0 ? WEFT_BF16
                                                                    : WEFT_F16;
    if (largest && strcmp(largest->type, "F32") != 0 && strcmp(largest->type, "F16") != 0 &&
        strcmp(largest->type, "BF16") != 0)
        warn(r,
             weft_arena_print(r->arena,
                              "weights are stored in %s, mostly (%s in this file); costs count the "
                              "element type of --dtype, or f16",
                              largest->type, weft_format_bytes(bytes, size)));
}

static weft_status read_gguf_facts(reading *r)
{
    WEFT_TRY(read_family(r));
    r->out->parameters = "";
    WEFT_TRY(read_rows(r));
    WEFT_TRY(read_gguf_vocabulary(r));
    if (r->family->parts & LATENT)
        WEFT_TRY(read_gguf_latent(r));
    read_attention(r);
    tell_storage(r);
    r->out->origin = weft_arena_print(r->arena, "GGUF, architecture %s", r->family->architecture);
    return read_head(r);
}

static weft_status read_gguf(reading *r)
{
    weft_gguf *gguf = WEFT_NEW(r->arena, weft_gguf, 1);
    weft_file f;
    weft_status status;

    WEFT_TRY(weft_file_open(r->file, &f));
    status = weft_gguf_read(f.data, f.size, r->file, r->arena, gguf);
    r->gguf = gguf;
    r->doc = gguf->pairs;
    if (status == WEFT_OK)
        status = read_gguf_facts(r);
    if (weft_file_check(&f) != WEFT_OK)
        status = WEFT_E_INPUT;
    weft_file_close(&f);
    return status;
}

/* --- names ----------------------------------------------------------------------------------- */

/* Does a path of n bytes end so, as a whole name or behind one of ". - _"? */
static bool ends_in(const char *path, size_t n, const char *end)
{
    size_t m = strlen(end);

    return n >= m && strncmp(path + n - m, end, m) == 0 &&
           (*end == '.' || n == m || strchr("/.-_", path[n - m - 1]) != NULL);
}

/* Bytes of the path before the parameters, 0 if it is no such file. */
static size_t path_length(const char *source)
{
    const char *colon = strrchr(source, ':');
    size_t whole = strlen(source), n = colon ? (size_t)(colon - source) : whole;

    if (ends_in(source, whole, "config.json") || ends_in(source, whole, ".gguf"))
        return whole;
    return ends_in(source, n, "config.json") || ends_in(source, n, ".gguf") ? n : 0;
}

bool weft_model_is_config(const char *source)
{
    return path_length(source) > 0;
}

/* "models/llama-7b/config.json" -> "llama-7b", "llama-7b.Q4.gguf" -> "llama-7b.Q4". */
static const char *short_name(weft_arena *a, const char *path)
{
    const char *slash = strrchr(path, '/'), *first = slash ? slash + 1 : path, *folder = slash;

    if (strcmp(first, "config.json") == 0 && slash && slash > path) {
        while (folder > path && folder[-1] != '/')
            folder--;
        if (slash - folder > 0 && folder[0] != '.')
            return weft_arena_text(a, folder, (size_t)(slash - folder));
    }
    return weft_arena_text(a, first, (size_t)(strrchr(first, '.') - first));
}

weft_status weft_language_config_read(const char *source, weft_arena *a, weft_language_config *out)
{
    size_t n = path_length(source);
    reading r = {.file = weft_arena_text(a, source, n),
                 .more = source[n] == ':' ? source + n + 1 : "",
                 .arena = a,
                 .out = out};

    *out = (weft_language_config){.name = short_name(a, r.file), .dtype = WEFT_TYPE_UNKNOWN};
    WEFT_TRY(ends_in(r.file, n, ".gguf") ? read_gguf(&r) : read_config(&r));
    if (*r.more)
        out->parameters = weft_arena_print(a, "%s,%s", out->parameters, r.more);
    return WEFT_OK;
}
