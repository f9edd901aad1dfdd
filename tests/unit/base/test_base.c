/* SPDX-License-Identifier: MIT */
/* The base of everything: memory, messages, maps, bits, randomness, options, threads, numbers for
 * people, files. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include "map.h"

#include <float.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- arena ----------------------------------------------------------------------------------- */

static bool is_filled(const uint8_t *at, size_t n, uint8_t with)
{
    for (size_t i = 0; i < n; i++)
        if (at[i] != with)
            return false;
    return true;
}

TEST(arena_memory_is_zeroed_aligned_and_apart)
{
    weft_arena *a = weft_arena_new();
    weft_rng r = weft_rng_seed(1);
    uint8_t *block[2000];
    size_t size[2000];

    for (int i = 0; i < 2000; i++) {
        size[i] = (size_t)weft_rng_below(&r, i % 100 == 0 ? 100000 : 200);
        block[i] = weft_arena_alloc(a, size[i]);
        CHECK_INT((uintptr_t)block[i] % 16, 0);
        CHECK(is_filled(block[i], size[i], 0));
        memset(block[i], i % 251, size[i]);
    }
    for (int i = 0; i < 2000; i++) /* no later block overwrote an earlier one */
        CHECK(is_filled(block[i], size[i], (uint8_t)(i % 251)));
    weft_arena_free(a);
    weft_arena_free(NULL);
}

TEST(arena_rewind_keeps_what_came_before_the_mark)
{
    weft_arena *a = weft_arena_new();
    weft_rng r = weft_rng_seed(2);

    for (int round = 0; round < 50; round++) {
        int n_before = weft_rng_below(&r, 3000);
        int *before = WEFT_NEW(a, int, n_before), *after;
        size_t mark;

        for (int i = 0; i < n_before; i++)
            before[i] = round + i;
        mark = weft_arena_mark(a);
        for (int i = 0; i < 20; i++)
            memset(weft_arena_alloc(a, 1000), 0xff, 1000);
        weft_arena_rewind(a, mark);
        CHECK_INT(weft_arena_mark(a), mark);
        after = WEFT_NEW(a, int, 100);
        CHECK(is_filled((uint8_t *)after, 100 * sizeof(int), 0)); /* zeroed again */
        for (int i = 0; i < n_before; i++)
            CHECK_INT(before[i], round + i);
    }
    weft_arena_rewind(a, 0);
    CHECK_INT(weft_arena_mark(a), 0);
    weft_arena_free(a);
}

TEST(arena_arrays_grow)
{
    weft_arena *a = weft_arena_new();
    WEFT_VEC(int) v = {0};

    for (int i = 0; i < 10000; i++)
        WEFT_PUSH(a, v, 3 * i);
    CHECK_INT(v.n, 10000);
    CHECK(v.room >= v.n);
    for (int i = 0; i < 10000; i++)
        CHECK_INT(v.at[i], 3 * i);
    weft_arena_free(a);
}

TEST(arena_copies_texts)
{
    weft_arena *a = weft_arena_new();
    const int numbers[] = {7, 8};

    CHECK_TEXT(weft_arena_text(a, "abcdef", 3), "abc");
    CHECK_TEXT(weft_arena_text(a, NULL, 0), "");
    CHECK_TEXT(weft_arena_print(a, "%s=%d", "x", 5), "x=5");
    CHECK_INT(((int *)weft_arena_copy(a, numbers, sizeof numbers))[1], 8);
    weft_arena_free(a);
}

static jmp_buf outside;
static size_t wanted;

static void leave(size_t bytes)
{
    wanted = bytes;
    longjmp(outside, 1);
}

/* More than there is in the world: no allocator is asked. */
TEST(out_of_memory_is_told)
{
    enum { INT_ROOM = 1 << 30 };
    weft_arena *a = weft_arena_new();
    WEFT_VEC(double) v = {.at = NULL, .n = INT_ROOM + 1, .room = INT_ROOM + 1};

    CHECK(!weft_handles_out_of_memory());
    weft_on_out_of_memory(leave);
    CHECK(weft_handles_out_of_memory());
    if (setjmp(outside) == 0) {
        (void)weft_arena_array(a, SIZE_MAX / 4, sizeof(double));
        fail();
    }
    CHECK(wanted == SIZE_MAX);
    if (setjmp(outside) == 0) {
        WEFT_PUSH(a, v, 1.0);
        fail();
    }
    CHECK(wanted == 2 * ((size_t)INT_ROOM + 1) * sizeof(double));
    weft_on_out_of_memory(NULL);
    CHECK(!weft_handles_out_of_memory());
    weft_arena_free(a);
}

/* --- status ---------------------------------------------------------------------------------- */

TEST(messages_are_one_line)
{
    CHECK_INT(weft_fail(WEFT_E_SYSTEM, "a\nb\tc\x7f\x1b[1m%d", 5), WEFT_E_SYSTEM);
    CHECK_TEXT(weft_message(), "a?b?c??[1m5");
    CHECK_INT(weft_fail(WEFT_E_INPUT, "caf\xc3\xa9"), WEFT_E_INPUT);
    CHECK_TEXT(weft_message(), "caf\xc3\xa9"); /* letters beyond ASCII stay */
}

TEST(messages_grow_at_the_front)
{
    weft_status status = weft_fail(WEFT_E_INPUT, "x is 3");

    status = weft_fail_in(status, "device 'gpu'");
    CHECK_INT(weft_fail_in(status, "p.yaml"), WEFT_E_INPUT);
    CHECK_TEXT(weft_message(), "p.yaml: device 'gpu': x is 3");
    (void)weft_fail(WEFT_E_INPUT, "again: %s", weft_message()); /* may quote itself */
    CHECK_TEXT(weft_message(), "again: p.yaml: device 'gpu': x is 3");
}

TEST(long_messages_are_cut)
{
    char text[5000];

    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    (void)weft_fail(WEFT_E_INPUT, "%s", text);
    CHECK_INT(strlen(weft_message()), 1023);
    CHECK_INT(weft_fail_in(WEFT_E_INPUT, "y"), WEFT_E_INPUT);
    CHECK_INT(strlen(weft_message()), 1023);
    CHECK_INT(strncmp(weft_message(), "y: xxx", 6), 0);
}

/* --- map ------------------------------------------------------------------------------------- */

/* Against a plain list: with 10,000 keys drawn from 15,000 words many are met twice. */
TEST(map_agrees_with_a_list)
{
    enum { N_WORDS = 15000, N_DRAWS = 20000 };
    weft_arena *a = weft_arena_new();
    weft_map *m = weft_map_new(a);
    weft_rng r = weft_rng_seed(3);
    int *value = WEFT_NEW(a, int, N_WORDS), n_keys = 0;

    memset(value, 0xff, N_WORDS * sizeof *value); /* -1: absent */
    for (int i = 0; i < N_DRAWS; i++) {
        int w = weft_rng_below(&r, N_WORDS);
        const char *word = weft_arena_print(a, "word%d", w);

        CHECK_INT(weft_map_get(m, word, strlen(word)), value[w]);
        if (i % 5 == 0) {
            weft_map_set(m, word, strlen(word), i);
            n_keys += value[w] < 0;
            value[w] = i;
        } else {
            CHECK_INT(weft_map_put(m, word, strlen(word), i), value[w] < 0);
            n_keys += value[w] < 0;
            value[w] = value[w] < 0 ? i : value[w];
        }
    }
    CHECK(n_keys > 10000);
    for (int w = 0; w < N_WORDS; w++) {
        char word[32];

        snprintf(word, sizeof word, "word%d", w);
        CHECK_INT(weft_map_get(m, word, strlen(word)), value[w]);
        for (int guess = -1; guess <= n_keys; guess += 1 + n_keys / 4) /* right or wrong */
            CHECK_INT(weft_map_guess(m, guess, word, strlen(word)), value[w]);
    }
    weft_arena_free(a);
}

TEST(map_keys_are_bytes)
{
    weft_arena *a = weft_arena_new();
    weft_map *m = weft_map_new(a);

    CHECK(weft_map_put(m, "", 0, 1));
    CHECK(weft_map_put(m, "a\0b", 3, 2));
    CHECK(weft_map_put(m, "a\0c", 3, 3));
    CHECK_INT(weft_map_get(m, "", 0), 1);
    CHECK_INT(weft_map_get(m, "a\0b", 3), 2);
    CHECK_INT(weft_map_get(m, "a\0c", 3), 3);
    CHECK_INT(weft_map_get(m, "a", 1), -1);
    CHECK_INT(weft_map_guess(m, 1, "a\0b", 3), 2); /* the second key */
    CHECK_INT(weft_map_guess(m, 1, "a\0c", 3), 3);
    CHECK_INT(weft_map_guess(m, 1, "a", 1), -1);
    weft_arena_free(a);
}

/* Python 3.11 and later hash bytes like this; PYTHONHASHSEED=0 makes the secret 0. */
TEST(names_are_hashed_as_published)
{
    static const struct {
        const char *name;
        uint64_t hash;
    } known[] = {
        {"a",                       0x407448d2b89b1813u},
        {"abc",                     0xc03bc3a0042630f2u},
        {"abcdefg",                 0x6db12aae9070f506u},
        {"abcdefgh",                0x3f7b849c0b8e35eau},
        {"abcdefghi",               0xf89b34a3d11eb6e5u},
        {"0123456789abcdef",        0x1d42b30f7e060c24u},
        {"0123456789abcdefghijklm", 0x46e0015da1c17452u},
    };
    const uint64_t secret[2] = {0, 0};

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ /* else other hashes, as good as these */
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        CHECK(weft_sip_hash(secret, known[i].name, strlen(known[i].name)) == known[i].hash);
#endif
}

__extension__ typedef unsigned __int128 wide;

static uint64_t old_mix(uint64_t a, uint64_t b)
{
    wide product = (wide)a * b;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* The hash without a secret that names once had, of 16 bytes or more. */
static uint32_t old_hash(const char *key, size_t n)
{
    const uint64_t first = 0x9e3779b97f4a7c15u, second = 0xd6e8feb86659fd93u;
    uint64_t h =
        old_mix(weft_word_at(key + n - 16) ^ first ^ n, weft_word_at(key + n - 8) ^ second);

    for (size_t i = 0; i + 16 < n; i += 16)
        h += old_mix(weft_word_at(key + i) ^ (first + i), weft_word_at(key + i + 8) ^ second);
    return (uint32_t)(h ^ h >> 32);
}

/* Names whose every second word makes a factor of the old hash zero. */
static char *colliding_name(weft_arena *a, int i, size_t n)
{
    const uint64_t second = 0xd6e8feb86659fd93u;
    char *name = weft_arena_alloc(a, n), text[16];

    snprintf(text, sizeof text, "t%07d", i);
    for (size_t k = 0; k < n; k += 16) {
        memcpy(name + k, text, 8);
        memcpy(name + k + 8, &second, 8);
    }
    return name;
}

/* Slots that finding all keys looks at. */
static int64_t count_probes(const weft_map *m)
{
    int64_t sum = 0;

    for (int i = 0; i < m->item.n; i++) {
        uint32_t hash = weft_map_hash(m, m->item.at[i].key, m->item.at[i].n);
        const uint32_t *slot = weft_map_find(m, m->item.at[i].key, m->item.at[i].n, hash);

        sum += (((uint32_t)(slot - m->slot) - hash) & m->mask) + 1;
    }
    return sum;
}

TEST(names_made_to_collide_are_found_at_once)
{
    enum { N = 20000 };
    static const size_t length[] = {16, 32, 64};

    for (int k = 0; k < 3; k++) {
        weft_arena *a = weft_arena_new();
        weft_map *m = weft_map_new(a);
        uint32_t one = old_hash(colliding_name(a, 0, length[k]), length[k]);

        for (int i = 0; i < N; i++) {
            const char *name = colliding_name(a, i, length[k]);

            CHECK_INT(old_hash(name, length[k]), one); /* N * N / 2 probes then */
            CHECK(weft_map_put(m, name, length[k], i));
        }
        CHECK(count_probes(m) < 2 * N); /* at most 1.5 a key are expected of a good hash */
        for (int i = 0; i < N; i++)
            CHECK_INT(weft_map_get(m, m->item.at[i].key, length[k]), i);
        weft_arena_free(a);
    }
}

TEST(maps_do_not_show_their_secret)
{
    weft_arena *a = weft_arena_new();
    weft_map *one = weft_map_new(a), *other = weft_map_new(a);

    CHECK(one->secret[0] == other->secret[0] && one->secret[1] == other->secret[1]);
    CHECK(one->secret[0] != 0 || one->secret[1] != 0);
    other->secret[0] ^= 0x123456789abcdefu;
    for (int i = 0; i < 5000; i++) {
        const char *word = weft_arena_print(a, "word%d", i * 7919 % 3000);
        size_t n = strlen(word);

        CHECK_INT(weft_map_get(one, word, n), weft_map_get(other, word, n));
        if (i % 3 == 0)
            CHECK_INT(weft_map_put(one, word, n, i), weft_map_put(other, word, n, i));
        else if (i % 3 == 1)
            weft_map_set(one, word, n, i), weft_map_set(other, word, n, i);
    }
    CHECK_INT(one->item.n, other->item.n);
    for (int i = 0; i < one->item.n; i++)
        CHECK(one->item.at[i].key == other->item.at[i].key &&
              one->item.at[i].value == other->item.at[i].value);
    weft_arena_free(a);
}

TEST(nearest_word_forgives_slips)
{
    static const char *const words[] = {"bandwidth", "latency", "memory", "model"};
    char longest[200];

    CHECK_TEXT(weft_nearest("bandwith", words, 4), "bandwidth"); /* one letter left out */
    CHECK_TEXT(weft_nearest("latnecy", words, 4), "latency");    /* two swapped */
    CHECK_TEXT(weft_nearest("momory", words, 4), "memory");      /* one replaced */
    CHECK_TEXT(weft_nearest("modell", words, 4), "model");       /* one too many */
    CHECK(weft_nearest("price", words, 4) == NULL);
    CHECK(weft_nearest("bandwidth", words, 0) == NULL);
    memset(longest, 'm', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    CHECK(weft_nearest(longest, words, 4) == NULL);
}

TEST(a_star_stands_for_any_text)
{
    static const struct {
        const char *pattern, *text;
        bool matches;
    } cases[] = {
        {"a",       "a",          true },
        {"a",       "ab",         false},
        {"",        "",           true },
        {"*",       "",           true },
        {"*",       "abc",        true },
        {"a*",      "a",          true },
        {"*a",      "ba",         true },
        {"*a",      "ab",         false},
        {"a*b*c",   "a1b2b3c",    true },
        {"a*b*c",   "a1c2b",      false},
        {"*/NonZ*", "/m/NonZero", true },
        {"**x",     "x",          true },
        {"*ab*ab",  "abab",       true },
        {"*ab*ab",  "ab",         false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK(weft_pattern_matches(cases[i].pattern, cases[i].text) == cases[i].matches);
}

TEST(bits_agree_with_bools)
{
    enum { N = 200 };
    uint64_t bits[4] = {0};
    bool expected[N] = {false};
    weft_rng r = weft_rng_seed(4);

    CHECK_INT(weft_bits_words(0), 0);
    CHECK_INT(weft_bits_words(64), 1);
    CHECK_INT(weft_bits_words(65), 2);
    CHECK_INT(weft_bits_words(N), 4); /* 200 / 64 = 3.1 */
    for (int round = 0; round < 100; round++) {
        int i = weft_rng_below(&r, N);

        weft_bit_set(bits, i);
        expected[i] = true;
        for (int j = 0; j < N; j++)
            CHECK_INT(weft_bit_get(bits, j), expected[j]);
    }
}

/* --- rng ------------------------------------------------------------------------------------- */

/* The state after seed 0 is the published start of splitmix64; the first number follows from it:
 * s1 * 5 = 6e789e6aa1b965f4 * 5 = 285b1815289efdc4 (mod 2^64), rotated left by 7 bits
 * = 2d8c0a944f7ee214, times 9 = 99ec5f36cb75f2b4. */
TEST(rng_starts_as_published)
{
    weft_rng r = weft_rng_seed(0);

    CHECK(r.state[0] == 0xe220a8397b1dcdafu);
    CHECK(r.state[1] == 0x6e789e6aa1b965f4u);
    CHECK(r.state[2] == 0x06c45d188009454fu);
    CHECK(r.state[3] == 0xf88bb8a8724c81ecu);
    CHECK(weft_rng_next(&r) == 0x99ec5f36cb75f2b4u);
    /* s1 is now s1 ^ s2 ^ s0 = 8a9c6b4b5aade014, and 8a9c6b4b5aade014 * 5 = b50e1878c565a164,
     * rotated by 7 = 870c3c62b2d0b25a, times 9 = bf6e1f784956452a */
    CHECK(r.state[1] == (0x6e789e6aa1b965f4u ^ 0x06c45d188009454fu ^ 0xe220a8397b1dcdafu));
    CHECK(weft_rng_next(&r) == 0xbf6e1f784956452au);
}

TEST(rng_repeats_itself_and_splits)
{
    weft_rng a = weft_rng_seed(42), b = weft_rng_seed(42), left, right;
    int n_same = 0;

    for (int i = 0; i < 1000; i++)
        CHECK(weft_rng_next(&a) == weft_rng_next(&b));
    left = weft_rng_split(&a, 1);
    right = weft_rng_split(&b, 2);
    for (int i = 0; i < 1000; i++)
        n_same += weft_rng_next(&left) == weft_rng_next(&right);
    CHECK_INT(n_same, 0);
}

TEST(rng_is_uniform)
{
    enum { N = 60000 };
    weft_rng r = weft_rng_seed(5);
    int count[6] = {0};
    double sum = 0;

    for (int i = 0; i < N; i++)
        count[weft_rng_below(&r, 6)]++;
    for (int i = 0; i < 6; i++) /* 10,000 each, standard deviation sqrt(60000 * 5 / 36) = 91 */
        CHECK(abs(count[i] - 10000) < 5 * 92);
    for (int i = 0; i < N; i++) {
        double x = weft_rng_real(&r);

        CHECK(x >= 0 && x < 1);
        sum += x;
    }
    CHECK(fabs(sum / N - 0.5) < 5 * 0.0012); /* standard deviation sqrt(1 / 12 / 60000) = 0.0012 */
    CHECK_INT(weft_rng_below(&r, 1), 0);
}

/* --- options --------------------------------------------------------------------------------- */

typedef struct sample {
    int64_t layers, tokens;
    double scale, offset;
    bool bias;
    const char *mode, *name;
} sample;

static const weft_option table[] = {
    {WEFT_INT(sample,  layers), 12,  1,       1000,     "how many",    NULL,   NULL             },
    {WEFT_INT(sample,  tokens), 0,   -9.3e18, 9.3e18,   "any number",  NULL,   NULL             },
    {WEFT_REAL(sample, scale),  0.5, 0,       10,       "a factor",    NULL,   NULL             },
    {WEFT_REAL(sample, offset), 0,   0,       INFINITY, "seconds",     NULL,   NULL             },
    {WEFT_FLAG(sample, bias),   1,   0,       1,        "adds a bias", NULL,   NULL             },
    {WEFT_TEXT(sample, mode),   0,   0,       0,        "how",         "fast", "fast|exact|none"},
    {WEFT_TEXT(sample, name),   0,   0,       0,        "a name",      "net",  NULL             },
    WEFT_OPTIONS_END,
};

static sample defaults(void)
{
    sample s;

    memset(&s, 0xff, sizeof s); /* every field must be written */
    weft_options_default(table, &s);
    return s;
}

TEST(options_have_defaults)
{
    sample s = defaults();

    CHECK_INT(s.layers, 12);
    CHECK_INT(s.tokens, 0);
    CHECK_NEAR(s.scale, 0.5);
    CHECK_NEAR(s.offset, 0.0);
    CHECK(s.bias);
    CHECK_TEXT(s.mode, "fast");
    CHECK_TEXT(s.name, "net");
    CHECK(weft_option_find(table, "scale") == &table[2]);
    CHECK(weft_option_find(table, "scales") == NULL);
}

static int64_t tokens_of(const char *text)
{
    weft_arena *a = weft_arena_new();
    sample s = defaults();

    CHECK_OK(weft_options_set(table, &s, "tokens", text, a));
    weft_arena_free(a);
    return s.tokens;
}

TEST(options_read_whole_numbers_exactly)
{
    CHECK_INT(tokens_of("48"), 48);
    CHECK_INT(tokens_of("-48"), -48);
    CHECK_INT(tokens_of("+7"), 7);
    CHECK_INT(tokens_of("1e6"), 1000000);
    CHECK_INT(tokens_of("1.5e3"), 1500);
    CHECK_INT(tokens_of("1200e-2"), 12);
    CHECK_INT(tokens_of("32k"), 32000);
    CHECK_INT(tokens_of("1.005k"), 1005); /* 1.005 * 1000 in doubles is 1004.9999999999999 */
    CHECK_INT(tokens_of("3M"), 3000000);
    CHECK_INT(tokens_of("2G"), 2000000000);
    CHECK_INT(tokens_of("9007199254740993"), 9007199254740993); /* 2^53 + 1: not a double */
    CHECK_INT(tokens_of("9223372036854775807"), INT64_MAX);
    CHECK_INT(tokens_of("-9223372036854775808"), INT64_MIN);
}

TEST(options_refuse_what_is_no_whole_number)
{
    static const char *const wrong[] = {
        "",
        "x",
        "1x",
        "0x10",
        " 1",
        "1 ",
        "1.5",
        "1e-3",
        "nan",
        "inf",
        "1e400",
        "1e",
        "k",
        "-",
        "1kk",
        "1e3k",
        "1,5",
        "--1",
        "1e20",
        "1.5.",
        "9e18",
        "10000000000G",
        "1K",
        "9223372036854775808",
        "1234567890123456789012345678901234567890123456789012345678901234567890"};
    weft_arena *a = weft_arena_new();
    sample s = defaults();

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK_FAILS(weft_options_set(table, &s, "tokens", wrong[i], a), "expected a whole number");
    CHECK_INT(s.tokens, 0); /* untouched */
    weft_arena_free(a);
}

TEST(options_check_ranges)
{
    weft_arena *a = weft_arena_new();
    sample s = defaults();

    CHECK_FAILS(weft_options_set(table, &s, "layers", "0", a), "layers is 0, expected 1 to 1000");
    CHECK_FAILS(weft_options_set(table, &s, "layers", "1001", a), "layers is 1001, expected 1 to");
    CHECK_FAILS(weft_options_set(table, &s, "layers", "many", a),
                "layers is 'many', expected a whole number, 1 to 1000");
    CHECK_FAILS(weft_options_set(table, &s, "layers", NULL, a), "layers has no value");
    CHECK_FAILS(weft_options_set(table, &s, "scale", "10.5", a), "scale is 10.5, expected 0 to 10");
    CHECK_FAILS(weft_options_set(table, &s, "scale", "nan", a), "expected a number, 0 to 10");
    CHECK_FAILS(weft_options_set(table, &s, "offset", "-1", a),
                "offset is -1, expected at least 0");
    CHECK_OK(weft_options_set(table, &s, "layers", "1000", a));
    CHECK_INT(s.layers, 1000);
    CHECK_OK(weft_options_set(table, &s, "scale", ".25", a));
    CHECK_NEAR(s.scale, 0.25);
    CHECK_OK(weft_options_set(table, &s, "offset", "1.5k", a));
    CHECK_NEAR(s.offset, 1500.0);
    weft_arena_free(a);
}

TEST(options_read_flags)
{
    static const char *const yes[] = {"1", "true", "yes", "", NULL}, *no[] = {"0", "false", "no"};
    weft_arena *a = weft_arena_new();
    sample s = defaults();

    for (int i = 0; i < 5; i++) {
        s.bias = false;
        CHECK_OK(weft_options_set(table, &s, "bias", yes[i], a));
        CHECK(s.bias);
    }
    for (int i = 0; i < 3; i++) {
        s.bias = true;
        CHECK_OK(weft_options_set(table, &s, "bias", no[i], a));
        CHECK(!s.bias);
    }
    CHECK_FAILS(weft_options_set(table, &s, "bias", "maybe", a),
                "bias is 'maybe', expected true or false");
    weft_arena_free(a);
}

TEST(options_read_texts)
{
    weft_arena *a = weft_arena_new();
    sample s = defaults();
    char value[] = "exact";

    CHECK_OK(weft_options_set(table, &s, "mode", value, a));
    value[0] = 'x'; /* the text was copied */
    CHECK_TEXT(s.mode, "exact");
    CHECK_FAILS(weft_options_set(table, &s, "mode", "slow", a),
                "mode is 'slow', expected one of: fast, exact, none");
    CHECK_FAILS(weft_options_set(table, &s, "mode", "exac", a), "expected one of");
    CHECK_FAILS(weft_options_set(table, &s, "mode", "fast|exact", a), "expected one of");
    CHECK_FAILS(weft_options_set(table, &s, "mode", "", a), "expected one of");
    CHECK_OK(weft_options_set(table, &s, "name", "any thing", a));
    CHECK_TEXT(s.name, "any thing");
    CHECK_FAILS(weft_options_set(table, &s, "name", NULL, a), "name has no value");
    weft_arena_free(a);
}

TEST(options_read_lists)
{
    weft_arena *a = weft_arena_new();
    sample s = defaults();

    CHECK_OK(weft_options_parse(table, &s, NULL, a));
    CHECK_OK(weft_options_parse(table, &s, "", a));
    CHECK_OK(weft_options_parse(table, &s, "  ", a));
    CHECK_INT(s.layers, 12);
    CHECK_OK(weft_options_parse(table, &s, "layers=48, scale = 2 ,mode=none,bias=no,name=a=b", a));
    CHECK_INT(s.layers, 48);
    CHECK_NEAR(s.scale, 2.0);
    CHECK(!s.bias);
    CHECK_TEXT(s.mode, "none");
    CHECK_TEXT(s.name, "a=b");
    CHECK_OK(weft_options_parse(table, &s, "bias", a));
    CHECK(s.bias);
    CHECK_FAILS(weft_options_parse(table, &s, "layer=3", a),
                "unknown parameter 'layer' (did you mean 'layers'?)");
    CHECK_FAILS(weft_options_parse(table, &s, "quality=3", a), "unknown parameter 'quality'");
    CHECK_FAILS(weft_options_parse(table, &s, "layers=3,,bias", a), "has no parameter name");
    CHECK_FAILS(weft_options_parse(table, &s, "layers=3,", a), "has no parameter name");
    CHECK_FAILS(weft_options_parse(table, &s, "=3", a), "'=3' has no parameter name");
    CHECK_FAILS(weft_options_parse(table, &s, "layers", a), "layers has no value");
    CHECK_FAILS(weft_options_parse(table, &s, "layers=", a), "layers is ''");
    weft_arena_free(a);
}

/* Characters of UTF-8 are not cut: 31 letters of two bytes reach beyond the 60 bytes shown. */
TEST(options_shorten_long_values)
{
    weft_arena *a = weft_arena_new();
    sample s = defaults();
    char value[64] = "x", expected[128];

    for (int i = 0; i < 31; i++)
        memcpy(value + 1 + 2 * i, "\xc3\xa9", 2);
    value[63] = '\0';
    snprintf(expected, sizeof expected, "mode is '%.59s', expected one of", value);
    CHECK_FAILS(weft_options_set(table, &s, "mode", value, a), expected); /* 1 + 2 * 29 = 59 */
    weft_arena_free(a);
}

static const char *number(double value)
{
    static char text[32];

    return weft_option_number(value, text);
}

TEST(option_numbers_read_as_typed)
{
    CHECK_TEXT(number(5), "5");
    CHECK_TEXT(number(0), "0");
    CHECK_TEXT(number(-0.0), "0");
    CHECK_TEXT(number(0.1), "0.1");
    CHECK_TEXT(number(-2.5), "-2.5");
    CHECK_TEXT(number(1000), "1000");
    CHECK_TEXT(number(1000000), "1000000");
    CHECK_TEXT(number(2147483647), "2147483647");
    CHECK_TEXT(number(1e18), "1e+18");
    CHECK_TEXT(number(INFINITY), "inf");
    CHECK_TEXT(number(NAN), "nan");
}

TEST(option_numbers_read_back_the_same)
{
    weft_rng r = weft_rng_seed(6);

    for (int i = 0; i < 5000; i++) {
        double x = ldexp(weft_rng_real(&r) - 0.5, weft_rng_below(&r, 2000) - 1000);

        if (i % 2)
            x = (double)(int64_t)fmod(x, 1e15);
        CHECK(strtod(number(x), NULL) == x);
        CHECK(strlen(number(x)) < 32);
    }
    CHECK(strtod(number(-DBL_MAX), NULL) == -DBL_MAX);
    CHECK(strtod(number(-DBL_MIN), NULL) == -DBL_MIN);
}

/* --- threads --------------------------------------------------------------------------------- */

typedef struct visits {
    atomic_int *count;
    int64_t *square;
} visits;

static void visit(void *context, int i)
{
    visits *v = context;

    atomic_fetch_add(&v->count[i], 1);
    v->square[i] = (int64_t)i * i;
}

TEST(parallel_runs_each_item_once)
{
    enum { N = 5000 };
    static const int n_threads[] = {-1, 0, 1, 2, 3, 16}, n_items[] = {0, 1, 2, 15, N};

    for (int t = 0; t < 6; t++)
        for (int k = 0; k < 5; k++) {
            weft_arena *a = weft_arena_new();
            visits v = {WEFT_NEW(a, atomic_int, N), WEFT_NEW(a, int64_t, N)};

            weft_parallel(n_threads[t], n_items[k], visit, &v);
            for (int i = 0; i < N; i++) {
                CHECK_INT(atomic_load(&v.count[i]), i < n_items[k]);
                CHECK_INT(v.square[i], i < n_items[k] ? (int64_t)i * i : 0);
            }
            weft_arena_free(a);
        }
}

static void fail_with_number(void *context, int i)
{
    char expected[32];

    snprintf(expected, sizeof expected, "item %d", i);
    (void)weft_fail(WEFT_E_INPUT, "item %d", i);
    ((int *)context)[i] = strcmp(weft_message(), expected) == 0;
}

TEST(parallel_items_have_messages_of_their_own)
{
    int is_own[1000] = {0};

    weft_parallel(4, 1000, fail_with_number, is_own);
    for (int i = 0; i < 1000; i++)
        CHECK_INT(is_own[i], 1);
}

/* --- numbers for people ---------------------------------------------------------------------- */

static const char *count(double value)
{
    static char text[32];

    return weft_format_count(value, text);
}

static const char *bytes(double value)
{
    static char text[32];

    return weft_format_bytes(value, text);
}

static const char *integer(int64_t value)
{
    static char text[32];

    return weft_format_integer(value, text);
}

TEST(counts_have_three_digits)
{
    CHECK_TEXT(count(25557032), "25.6 M");
    CHECK_TEXT(count(4.089e9), "4.09 G");
    CHECK_TEXT(count(0), "0");
    CHECK_TEXT(count(48), "48");
    CHECK_TEXT(count(0.5), "0.5");
    CHECK_TEXT(count(999), "999");
    CHECK_TEXT(count(999.4), "999");
    CHECK_TEXT(count(999.6), "1.00 k");
    CHECK_TEXT(count(1000), "1.00 k");
    CHECK_TEXT(count(9994), "9.99 k");
    CHECK_TEXT(count(9996), "10.0 k");
    CHECK_TEXT(count(99960), "100 k");
    CHECK_TEXT(count(999600), "1.00 M");
    CHECK_TEXT(count(-1234), "-1.23 k");
    CHECK_TEXT(count(1.8e19), "18.0 E");
    CHECK_TEXT(count(1e24), "1e+24");
    CHECK_TEXT(count(-INFINITY), "-inf");
    CHECK_TEXT(count(NAN), "nan");
}

TEST(bytes_have_a_unit)
{
    CHECK_TEXT(bytes(12345678), "12.3 MB");
    CHECK_TEXT(bytes(0), "0 B");
    CHECK_TEXT(bytes(512), "512 B");
    CHECK_TEXT(bytes(2048), "2.05 kB");
    CHECK_TEXT(bytes(24e9), "24.0 GB");
    CHECK_TEXT(bytes(1e24), "1e+24 B");
}

TEST(integers_have_groups)
{
    CHECK_TEXT(integer(0), "0");
    CHECK_TEXT(integer(7), "7");
    CHECK_TEXT(integer(999), "999");
    CHECK_TEXT(integer(1000), "1,000");
    CHECK_TEXT(integer(-123456), "-123,456");
    CHECK_TEXT(integer(1234567), "1,234,567");
    CHECK_TEXT(integer(INT64_MAX), "9,223,372,036,854,775,807");
    CHECK_TEXT(integer(INT64_MIN), "-9,223,372,036,854,775,808");
}

/* Whatever the size: the text stays within three digits of the value. */
TEST(counts_are_near_their_value)
{
    static const char prefix[] = "kMGTPE";
    weft_rng r = weft_rng_seed(7);

    for (int i = 0; i < 5000; i++) {
        double x = pow(10, 20.9 * weft_rng_real(&r)), shown;
        char *end;
        const char *text = count(x), *p;

        shown = strtod(text, &end);
        p = *end == ' ' ? strchr(prefix, end[1]) : NULL;
        CHECK(*end == '\0' || p != NULL);
        shown *= p ? pow(1000, (double)(p - prefix + 1)) : 1;
        CHECK(fabs(shown - x) <= 0.00501 * x); /* half a unit of the third digit */
    }
}

/* --- files ----------------------------------------------------------------------------------- */

typedef struct folder {
    char path[64], file[80];
} folder;

static folder new_folder(void)
{
    folder f = {.path = "/tmp/weft_test_XXXXXX"};

    CHECK(mkdtemp(f.path) != NULL);
    snprintf(f.file, sizeof f.file, "%s/data", f.path);
    return f;
}

static void drop_folder(const folder *f)
{
    unlink(f->file);
    CHECK_INT(rmdir(f->path), 0); /* fails if a temporary file was left behind */
}

TEST(files_are_written_and_read)
{
    folder f = new_folder();
    char data[70000];
    weft_file in;
    struct stat s;

    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (char)(i * 7);
    CHECK_OK(weft_file_write(f.file, "old", 3));
    CHECK_OK(weft_file_write(f.file, data, sizeof data)); /* replaces */
    CHECK_OK(weft_file_open(f.file, &in));
    CHECK_INT(in.size, sizeof data);
    CHECK_INT(memcmp(in.data, data, sizeof data), 0);
    weft_file_close(&in);
    CHECK(in.data == NULL && in.size == 0);
    CHECK_INT(stat(f.file, &s), 0);
    CHECK_INT(s.st_mode & 0777, 0644);
    drop_folder(&f);
}

TEST(empty_files_are_files)
{
    folder f = new_folder();
    weft_file in = {(const uint8_t *)"x", 1};

    CHECK_OK(weft_file_write(f.file, "", 0));
    CHECK_OK(weft_file_open(f.file, &in));
    CHECK(in.data == NULL);
    CHECK_INT(in.size, 0);
    weft_file_close(&in);
    drop_folder(&f);
}

static int mode_of(const char *path)
{
    struct stat s;

    CHECK_INT(stat(path, &s), 0);
    return (int)(s.st_mode & 0777);
}

static void check_content(const char *path, const char *text)
{
    weft_file in;

    CHECK_OK(weft_file_open(path, &in));
    CHECK_INT(in.size, strlen(text));
    CHECK_INT(memcmp(in.data, text, in.size), 0);
    weft_file_close(&in);
}

TEST(files_that_are_replaced_keep_their_mode)
{
    static const mode_t mode[] = {0600, 0640, 0666, 0755, 0444};
    folder f = new_folder();

    for (size_t i = 0; i < sizeof mode / sizeof mode[0]; i++) {
        CHECK_OK(weft_file_write(f.file, "old", 3));
        CHECK_INT(chmod(f.file, mode[i]), 0);
        CHECK_OK(weft_file_write(f.file, "new one", 7));
        CHECK_INT(mode_of(f.file), mode[i]);
        check_content(f.file, "new one");
    }
    drop_folder(&f);
}

/* link -> inner/link -> ../data, which is not there at first. */
TEST(links_lead_to_what_is_written)
{
    folder f = new_folder();
    char inner[96], link[96], further[128];
    struct stat s;

    snprintf(inner, sizeof inner, "%s/inner", f.path);
    snprintf(link, sizeof link, "%s/link", f.path);
    snprintf(further, sizeof further, "%s/link", inner);
    CHECK_INT(mkdir(inner, 0700), 0);
    CHECK_INT(symlink("inner/link", link), 0);
    CHECK_INT(symlink("../data", further), 0);
    CHECK_OK(weft_file_write(link, "first", 5));
    check_content(f.file, "first");
    CHECK_INT(chmod(f.file, 0600), 0);
    CHECK_OK(weft_file_write(link, "second", 6));
    check_content(f.file, "second");
    CHECK_INT(mode_of(f.file), 0600);
    CHECK(lstat(link, &s) == 0 && S_ISLNK(s.st_mode));
    CHECK(lstat(further, &s) == 0 && S_ISLNK(s.st_mode));
    CHECK_INT(unlink(further), 0);
    CHECK_INT(symlink("../link", further), 0); /* a circle */
    CHECK_INT(weft_file_write(link, "third", 5), WEFT_E_SYSTEM);
    CHECK(strstr(weft_message(), "cannot be written") != NULL);
    CHECK_INT(unlink(further) | unlink(link) | rmdir(inner), 0);
    drop_folder(&f);
}

/* Left behind by a process that was killed, which had our number. */
TEST(temporaries_of_others_are_left_alone)
{
    folder f = new_folder();
    char part[128];

    snprintf(part, sizeof part, "%s.%ld.part", f.file, (long)getpid());
    CHECK_OK(weft_file_write(part, "theirs", 6));
    CHECK_OK(weft_file_write(f.file, "ours", 4));
    check_content(f.file, "ours");
    weft_file_abandon(); /* nothing is being written */
    check_content(part, "theirs");
    CHECK_INT(unlink(part), 0);
    drop_folder(&f);
}

TEST(mapped_files_are_known_by_their_addresses)
{
    enum { SIZE = 3 << 20, N = 70 }; /* more than are known at a time */
    folder f = new_folder();
    char *data = calloc(1, SIZE);
    weft_file in, more[N];

    CHECK_OK(weft_file_write(f.file, data, SIZE));
    CHECK_OK(weft_file_open(f.file, &in));
    CHECK_TEXT(weft_file_at(in.data), f.file);
    CHECK_TEXT(weft_file_at(in.data + SIZE - 1), f.file);
    CHECK(weft_file_at(data) == NULL);
    CHECK_OK(weft_file_check(&in));
    for (int i = 0; i < N; i++)
        CHECK_OK(weft_file_open(f.file, &more[i]));
    for (int i = 0; i < N; i++)
        weft_file_close(&more[i]);
    CHECK_OK(weft_file_write(f.file, data, SIZE / 2)); /* another file, renamed over it */
    CHECK_OK(weft_file_check(&in));
    weft_file_close(&in);
    CHECK_OK(weft_file_open(f.file, &in));
    CHECK_INT(truncate(f.file, SIZE / 2 - 1), 0);
    CHECK_FAILS(weft_file_check(&in), "data: has become shorter while it was read");
    weft_file_close(&in);
    CHECK(weft_file_at(in.data) == NULL);
    free(data);
    drop_folder(&f);
}

TEST(files_that_cannot_be_used_are_named)
{
    folder f = new_folder();
    weft_file in;

    CHECK_FAILS(weft_file_open(f.file, &in), f.file);
    CHECK_FAILS(weft_file_open(f.path, &in), "is a directory");
    CHECK_FAILS(weft_file_open("/dev/null", &in), "/dev/null: is not a regular file");
    CHECK_INT(mkfifo(f.file, 0600), 0);
    CHECK_FAILS(weft_file_open(f.file, &in), "is not a regular file"); /* and does not wait */
    CHECK_INT(unlink(f.file), 0);
    CHECK_INT(weft_file_write("/no/such/folder/x", "a", 1), WEFT_E_SYSTEM);
    CHECK(strstr(weft_message(), "/no/such/folder/x: cannot be written") != NULL);
    CHECK_INT(weft_file_write(f.path, "a", 1), WEFT_E_SYSTEM); /* a folder is not replaced */
    drop_folder(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arena_memory_is_zeroed_aligned_and_apart),
        cmocka_unit_test(arena_rewind_keeps_what_came_before_the_mark),
        cmocka_unit_test(arena_arrays_grow),
        cmocka_unit_test(arena_copies_texts),
        cmocka_unit_test(out_of_memory_is_told),
        cmocka_unit_test(messages_are_one_line),
        cmocka_unit_test(messages_grow_at_the_front),
        cmocka_unit_test(long_messages_are_cut),
        cmocka_unit_test(map_agrees_with_a_list),
        cmocka_unit_test(map_keys_are_bytes),
        cmocka_unit_test(names_are_hashed_as_published),
        cmocka_unit_test(names_made_to_collide_are_found_at_once),
        cmocka_unit_test(maps_do_not_show_their_secret),
        cmocka_unit_test(nearest_word_forgives_slips),
        cmocka_unit_test(a_star_stands_for_any_text),
        cmocka_unit_test(bits_agree_with_bools),
        cmocka_unit_test(rng_starts_as_published),
        cmocka_unit_test(rng_repeats_itself_and_splits),
        cmocka_unit_test(rng_is_uniform),
        cmocka_unit_test(options_have_defaults),
        cmocka_unit_test(options_read_whole_numbers_exactly),
        cmocka_unit_test(options_refuse_what_is_no_whole_number),
        cmocka_unit_test(options_check_ranges),
        cmocka_unit_test(options_read_flags),
        cmocka_unit_test(options_read_texts),
        cmocka_unit_test(options_read_lists),
        cmocka_unit_test(options_shorten_long_values),
        cmocka_unit_test(option_numbers_read_as_typed),
        cmocka_unit_test(option_numbers_read_back_the_same),
        cmocka_unit_test(parallel_runs_each_item_once),
        cmocka_unit_test(parallel_items_have_messages_of_their_own),
        cmocka_unit_test(counts_have_three_digits),
        cmocka_unit_test(bytes_have_a_unit),
        cmocka_unit_test(integers_have_groups),
        cmocka_unit_test(counts_are_near_their_value),
        cmocka_unit_test(files_are_written_and_read),
        cmocka_unit_test(empty_files_are_files),
        cmocka_unit_test(files_that_are_replaced_keep_their_mode),
        cmocka_unit_test(links_lead_to_what_is_written),
        cmocka_unit_test(temporaries_of_others_are_left_alone),
        cmocka_unit_test(mapped_files_are_known_by_their_addresses),
        cmocka_unit_test(files_that_cannot_be_used_are_named),
    };

    return RUN_TESTS(tests);
}
