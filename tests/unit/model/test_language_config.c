/* SPDX-License-Identifier: MIT */
/* test_language_config.c: config.json and GGUF files are the built-in networks they describe. The sizes are
 * those of the published configurations. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include "gguf.h"
#include "invariants.h"
#include "language_config.h"

#include <stdio.h>
#include <unistd.h>

static char folder[] = "/tmp/weft-config-XXXXXX", path[96];

/* A file of that name in a folder of its own; returns its path. */
static const char *written(const char *name, const void *data, size_t size)
{
    snprintf(path, sizeof path, "%s/%s", folder, name);
    CHECK_OK(weft_file_write(path, data, size));
    return path;
}

static uint64_t hash_of(const char *source, weft_dtype dtype)
{
    weft_model_options o = {.optimizer = WEFT_ADAM, .dtype = dtype};
    weft_model *m = NULL;
    uint64_t hash;

    CHECK_OK(weft_model_open(source, &o, &m));
    weft_graph_check(m->graph);
    hash = weft_graph_hash(m->graph);
    weft_model_free(m);
    return hash;
}

/* --- config.json ----------------------------------------------------------------------------- */

typedef struct pair {
    const char *config, *built_in;
} pair;

static const pair pairs[] = {
    {"\"model_type\": \"llama\", \"hidden_act\": \"silu\", \"hidden_size\": 4096, "
     "\"intermediate_size\": 11008, "
     "\"num_attention_heads\": 32, \"num_hidden_layers\": 32, \"num_key_value_heads\": 32, "
     "\"tie_word_embeddings\": "
     "false, \"torch_dtype\": \"bfloat16\", \"vocab_size\": 32000, \"rope_scaling\": null, "
     "\"mlp_bias\": false",                                                                     "llama:7b"        },
    {"\"model_type\": \"llama\", \"hidden_size\": 8192, \"intermediate_size\": 28672, "
     "\"num_attention_heads\": 64, "
     "\"num_hidden_layers\": 80, \"num_key_value_heads\": 8, \"vocab_size\": 128256, \"dtype\": "
     "\"bfloat16\"",                                                                            "llama3:70b"      },
    {"\"model_type\": \"mistral\", \"hidden_size\": 4096, \"intermediate_size\": 14336, "
     "\"num_attention_heads\": 32, "
     "\"num_hidden_layers\": 32, \"num_key_value_heads\": 8, \"vocab_size\": 32000, "
     "\"torch_dtype\": \"bfloat16\", "
     "\"sliding_window\": 4096",                                                                "mistral:7b"      },
    {"\"model_type\": \"qwen2\", \"hidden_size\": 896, \"intermediate_size\": 4864, "
     "\"num_attention_heads\": 14, "
     "\"num_hidden_layers\": 24, \"num_key_value_heads\": 2, \"tie_word_embeddings\": true, "
     "\"vocab_size\": 151936, "
     "\"use_sliding_window\": false, \"sliding_window\": 32768, \"torch_dtype\": \"bfloat16\"", "qwen:2.5-0.5b"   },
    {"\"model_type\": \"qwen3\", \"hidden_size\": 4096, \"intermediate_size\": 12288, "
     "\"num_attention_heads\": 32, "
     "\"num_hidden_layers\": 36, \"num_key_value_heads\": 8, \"head_dim\": 128, \"vocab_size\": "
     "151936, "
     "\"attention_bias\": false, \"torch_dtype\": \"bfloat16\"",                                "qwen:3-8b"       },
    {"\"model_type\": \"qwen3_moe\", \"hidden_size\": 2048, \"intermediate_size\": 6144, "
     "\"num_attention_heads\": 32, "
     "\"num_hidden_layers\": 48, \"num_key_value_heads\": 4, \"head_dim\": 128, \"vocab_size\": "
     "151936, "
     "\"num_experts\": 128, \"num_experts_per_tok\": 8, \"moe_intermediate_size\": 768, "
     "\"decoder_sparse_step\": 1, "
     "\"mlp_only_layers\": [], \"torch_dtype\": \"bfloat16\"",                                  "qwen:3-30b-a3b"  },
    {"\"model_type\": \"mixtral\", \"hidden_size\": 4096, \"intermediate_size\": 14336, "
     "\"num_attention_heads\": 32, "
     "\"num_hidden_layers\": 32, \"num_key_value_heads\": 8, \"vocab_size\": 32000, "
     "\"num_local_experts\": 8, "
     "\"num_experts_per_tok\": 2, \"torch_dtype\": \"bfloat16\", \"sliding_window\": null",     "mixtral:8x7b"    },
    {"\"model_type\": \"deepseek_v2\", \"hidden_size\": 2048, \"intermediate_size\": 10944, "
     "\"num_attention_heads\": "
     "16, \"num_key_value_heads\": 16, \"num_hidden_layers\": 27, \"vocab_size\": 102400, "
     "\"n_routed_experts\": 64, "
     "\"num_experts_per_tok\": 6, \"moe_intermediate_size\": 1408, \"first_k_dense_replace\": 1, "
     "\"n_shared_experts\": 2, \"q_lora_rank\": null, \"kv_lora_rank\": 512, \"qk_nope_head_dim\": "
     "128, "
     "\"qk_rope_head_dim\": 64, \"v_head_dim\": 128, \"moe_layer_freq\": 1, \"torch_dtype\": "
     "\"bfloat16\"",                                                                            "deepseek:v2-lite"},
    {"\"model_type\": \"gpt2\", \"n_layer\": 48, \"n_embd\": 1600, \"n_head\": 25, "
     "\"n_positions\": 1024, "
     "\"vocab_size\": 50257, \"activation_function\": \"gelu_new\", \"dtype\": \"bfloat16\"",   "gpt2:xl"         },
};

TEST(a_configuration_is_the_built_in_network)
{
    char text[1024], source[128], built_in[64];

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        int n = snprintf(text, sizeof text, "{%s}\n", pairs[i].config);

        snprintf(source, sizeof source, "%s:seq=64", written("config.json", text, (size_t)n));
        snprintf(built_in, sizeof built_in, "%s,seq=64", pairs[i].built_in);
        CHECK(hash_of(source, WEFT_TYPE_UNKNOWN) == hash_of(built_in, WEFT_BF16));
        CHECK(hash_of(source, WEFT_F32) == hash_of(built_in, WEFT_F32));
    }
}

static weft_status open_text(const char *text, weft_model **out)
{
    return weft_model_open(written("config.json", text, strlen(text)), NULL, out);
}

TEST(what_would_be_another_network_is_refused)
{
    static const char *const wrong[][2] = {
        {"[]",                                                         "expected an object with the key 'model_type'"},
        {"{}",                                                         "'model_type' is missing"                     },
        {"{\"model_type\": \"bloom\"}",                                "expected one of llama, mistral"              },
        {"{\"model_type\": 5}",                                        "model_type"                                  },
        {"{\"model_type\": \"llama\", \"hidden_act\": \"gelu\"}",      "expected silu|swish"                         },
        {"{\"model_type\": \"llama\", \"attention_bias\": true}",      "expected false"                              },
        {"{\"model_type\": \"llama\"}",                                "'num_hidden_layers' is missing"              },
        {"{\"model_type\": \"gpt2\"}",                                 "'n_layer' is missing"                        },
        {"{\"model_type\": \"llama\", \"num_hidden_layers\": \"32\"}", "num_hidden_layers"                           },
        {"{\"model_type\": \"llama\", \"num_hidden_layers\": [32]}",
         "networks whose layers differ"                                                                              },
        {"{\"model_type\": \"llama\", \"num_hidden_layers\": 2, \"hidden_size\": 64, "
         "\"num_attention_heads\": 3, "
         "\"intermediate_size\": 128, \"vocab_size\": 100}",  "must divide hidden"                          },
        {"{\"model_type\": \"llama\", \"num_hidden_layers\": 0, \"hidden_size\": 64, "
         "\"num_attention_heads\": 4, "
         "\"intermediate_size\": 128, \"vocab_size\": 100}",  "layers"                                      },
    };
    weft_model *m = NULL;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK_FAILS(open_text(wrong[i][0], &m), wrong[i][1]);
}

TEST(what_is_not_counted_is_told)
{
    weft_model *m = NULL;

    CHECK_OK(
        open_text("{\"model_type\": \"mistral\", \"num_hidden_layers\": 1, \"hidden_size\": 64, "
                  "\"num_attention_heads\": 4, \"num_key_value_heads\": 2, \"intermediate_size\": "
                  "128, \"vocab_size\": 100, "
                  "\"sliding_window\": 8, \"quantization_config\": {\"bits\": 4}}",
                  &m));
    CHECK_INT(m->n_warnings, 2);
    CHECK(strstr(m->warning[0], "sliding_window") && strstr(m->warning[1], "quantization_config"));
    CHECK(strcmp(m->name, folder + 5) == 0); /* that of the folder */
    weft_model_free(m);
}

TEST(names_tell_configurations_from_tasks)
{
    CHECK(weft_model_is_config("config.json") && weft_model_is_config("a/config.json"));
    CHECK(weft_model_is_config("llama-config.json") && weft_model_is_config("config.json:seq=8"));
    CHECK(weft_model_is_config("a/b.gguf") && weft_model_is_config("b.gguf:tied=0,seq=8"));
    CHECK(!weft_model_is_config("myconfig.json") && !weft_model_is_config("tasks.json"));
    CHECK(!weft_model_is_config("gpt2:xl") && !weft_model_is_config("config.json.onnx"));
    CHECK(!weft_model_is_file("a/config.json") && weft_model_is_file("a/tasks.json"));
}

/* --- GGUF ------------------------------------------------------------------------------------ */

typedef struct bytes {
    uint8_t at[4096];
    size_t n;
} bytes;

static void put(bytes *b, uint64_t value, int n)
{
    for (int i = 0; i < n; i++)
        b->at[b->n++] = (uint8_t)(value >> (8 * i));
}

static void put_text(bytes *b, const char *text)
{
    put(b, strlen(text), 8);
    memcpy(b->at + b->n, text, strlen(text));
    b->n += strlen(text);
}

static void put_number(bytes *b, const char *key, uint64_t value)
{
    put_text(b, key);
    put(b, 4, 4); /* 32 bits, unsigned */
    put(b, value, 4);
}

static void put_tensor(bytes *b, const char *name, uint64_t rows, uint64_t columns, unsigned type)
{
    put_text(b, name);
    put(b, 2, 4);
    put(b, columns, 8);
    put(b, rows, 8);
    put(b, type, 4);
    put(b, 0, 8);
}

static void put_head(bytes *b, const char *architecture, int n_pairs, int n_tensors)
{
    memcpy(b->at, "GGUF", 4);
    b->n = 4;
    put(b, 3, 4);
    put(b, (uint64_t)n_tensors, 8);
    put(b, (uint64_t)n_pairs, 8);
    put_text(b, "general.architecture");
    put(b, 8, 4);
    put_text(b, architecture);
}

/* A network of 2 layers, 256 wide, with 4 + 2 heads, 512 inside, and three words. */
static bytes small_gguf(bool has_head)
{
    bytes b = {.n = 0};

    put_head(&b, "llama", 7, has_head ? 3 : 2);
    put_number(&b, "llama.block_count", 2);
    put_number(&b, "llama.embedding_length", 256);
    put_number(&b, "llama.feed_forward_length", 512);
    put_number(&b, "llama.attention.head_count", 4);
    put_number(&b, "llama.attention.head_count_kv", 2);
    put_text(&b, "tokenizer.ggml.tokens");
    put(&b, 9, 4); /* an array */
    put(&b, 8, 4); /* of texts */
    put(&b, 3, 8);
    for (int i = 0; i < 3; i++)
        put_text(&b, "word");
    put_tensor(&b, "token_embd.weight", 3, 256, 12);
    put_tensor(&b, "blk.0.attn_q.weight", 256, 256, 0);
    if (has_head)
        put_tensor(&b, "output.weight", 3, 256, 14);
    return b;
}

TEST(a_gguf_file_is_the_built_in_network)
{
    static const char *const built_in[] = {
        "llama:layers=2,hidden=256,ffn=512,heads=4,kv_heads=2,vocab=3,seq=16,tied=1",
        "llama:layers=2,hidden=256,ffn=512,heads=4,kv_heads=2,vocab=3,seq=16,tied=0"};
    char source[128];

    for (int i = 0; i < 2; i++) {
        bytes b = small_gguf(i);

        snprintf(source, sizeof source, "%s:seq=16", written("small.gguf", b.at, b.n));
        CHECK(hash_of(source, WEFT_F16) == hash_of(built_in[i], WEFT_F16));
    }
}

TEST(tensors_have_the_bytes_of_their_blocks)
{
    weft_arena *a = weft_arena_new();
    bytes b = small_gguf(true);
    weft_gguf g;

    CHECK_OK(weft_gguf_read(b.at, b.n, "small.gguf", a, &g));
    CHECK_INT(g.n_tensors, 3);
    CHECK_INT(weft_gguf_find(&g, "token_embd.weight")->bytes,
              3 * 144); /* Q4_K: 144 bytes for 256 */
    CHECK_INT(weft_gguf_find(&g, "blk.0.attn_q.weight")->bytes, 256 * 1024); /* F32 */
    CHECK_INT(weft_gguf_find(&g, "output.weight")->bytes, 3 * 210);          /* Q6_K */
    CHECK(weft_gguf_find(&g, "output.bias") == NULL);
    weft_arena_free(a);
}

TEST(a_file_that_ends_early_is_refused_wherever_it_ends)
{
    weft_arena *a = weft_arena_new();
    bytes b = small_gguf(true);
    weft_gguf g;

    for (size_t n = 0; n < b.n; n++)
        CHECK(weft_gguf_read(b.at, n, "short.gguf", a, &g) == WEFT_E_INPUT);
    weft_arena_free(a);
}

TEST(one_part_of_several_does_not_say_whether_the_head_is_tied)
{
    bytes b = {.n = 0};
    weft_model *m = NULL;
    char source[128];

    put_head(&b, "gpt2", 8, 0);
    put_number(&b, "gpt2.block_count", 1);
    put_number(&b, "gpt2.embedding_length", 64);
    put_number(&b, "gpt2.feed_forward_length", 256);
    put_number(&b, "gpt2.attention.head_count", 4);
    put_number(&b, "gpt2.context_length", 2048);
    put_number(&b, "gpt2.vocab_size", 100);
    put_number(&b, "split.count", 3);
    CHECK_FAILS(weft_model_open(written("part.gguf", b.at, b.n), NULL, &m), "is one part of 3");
    snprintf(source, sizeof source, "%s:tied=0", path);
    CHECK(hash_of(source, WEFT_F16) ==
          hash_of("gpt2:layers=1,hidden=64,heads=4,ffn=256,positions=2048,vocab=100,tied=0",
                  WEFT_F16));
}

static int remove_folder(void **state)
{
    static const char *const names[] = {"config.json", "small.gguf", "part.gguf"};

    (void)state;
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_configuration_is_the_built_in_network),
        cmocka_unit_test(what_would_be_another_network_is_refused),
        cmocka_unit_test(what_is_not_counted_is_told),
        cmocka_unit_test(names_tell_configurations_from_tasks),
        cmocka_unit_test(a_gguf_file_is_the_built_in_network),
        cmocka_unit_test(tensors_have_the_bytes_of_their_blocks),
        cmocka_unit_test(a_file_that_ends_early_is_refused_wherever_it_ends),
        cmocka_unit_test(one_part_of_several_does_not_say_whether_the_head_is_tied),
    };

    if (mkdtemp(folder) == NULL)
        return 1;
    return cmocka_run_group_tests(tests, NULL, remove_folder);
}
