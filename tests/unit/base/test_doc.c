/* SPDX-License-Identifier: MIT */
/* Documents: what YAML and JSON mean, what is refused and in which words, and that what is written
 * is read back. */
#define _POSIX_C_SOURCE 200809L
#include "base.h"
#include "check.h"

#include <stdlib.h>
#include <unistd.h>

#include <jansson.h>

static weft_status parse(const char *text, weft_arena *a, const weft_doc **out)
{
    return weft_doc_parse(text, strlen(text), "f", a, out);
}

/* The document; the test fails if it is not accepted. */
static const weft_doc *good(const char *text, weft_arena *a)
{
    const weft_doc *d = NULL;

    CHECK_OK(parse(text, a, &d));
    return d;
}

static void check_refused(const char *text, const char *message)
{
    weft_arena *a = weft_arena_new();
    const weft_doc *d = NULL;

    CHECK_FAILS(parse(text, a, &d), message);
    CHECK(d == NULL);
    CHECK_INT(strncmp(weft_message(), "f:", 2), 0);
    CHECK_INT(weft_arena_mark(a), 0); /* nothing is left behind */
    weft_arena_free(a);
}

/* --- YAML ------------------------------------------------------------------------------------ */

TEST(yaml_gives_a_tree_with_lines)
{
    weft_arena *a = weft_arena_new();
    const weft_doc *d = good("# a comment\nname: box\ndevices:\n  - {name: cpu, cores: 4}\n"
                             "  - name: gpu\n    flops: 1.5e12\nlast:\n",
                             a),
                   *devices = weft_doc_get(d, "devices"), *gpu;

    CHECK_INT(d->kind, WEFT_DOC_MAP);
    CHECK_INT(d->n, 3);
    CHECK_TEXT(d->file, "f");
    CHECK_INT(d->line, 2);
    CHECK_TEXT(d->key[0], "name");
    CHECK_TEXT(d->key[2], "last");
    CHECK_TEXT(weft_doc_get(d, "name")->text, "box");
    CHECK_INT(weft_doc_get(d, "last")->kind, WEFT_DOC_NULL);
    CHECK_INT(weft_doc_get(d, "last")->line, 7);
    CHECK_INT(devices->kind, WEFT_DOC_LIST);
    CHECK_INT(devices->n, 2);
    CHECK_INT(devices->line, 4);
    CHECK_INT(weft_doc_get(devices->item[0], "cores")->integer, 4);
    gpu = devices->item[1];
    CHECK_INT(gpu->line, 5);
    CHECK_NEAR(weft_doc_get(gpu, "flops")->real, 1.5e12);
    CHECK_INT(weft_doc_get(gpu, "flops")->line, 6);
    CHECK_TEXT(weft_doc_get(gpu, "flops")->text, "1.5e12"); /* as written */
    weft_arena_free(a);
}

static const weft_doc *scalar(const char *text, weft_arena *a)
{
    return weft_doc_get(good(weft_arena_print(a, "x: %s\n", text), a), "x");
}

TEST(yaml_scalars_follow_the_core_schema)
{
    static const struct {
        const char *text;
        weft_doc_kind kind;
        double value; /* of numbers and truths */
    } table[] = {
        {"",                         WEFT_DOC_NULL, 0      },
        {"~",                        WEFT_DOC_NULL, 0      },
        {"null",                     WEFT_DOC_NULL, 0      },
        {"NULL",                     WEFT_DOC_NULL, 0      },
        {"nULL",                     WEFT_DOC_TEXT, 0      },
        {"true",                     WEFT_DOC_BOOL, 1      },
        {"False",                    WEFT_DOC_BOOL, 0      },
        {"yes",                      WEFT_DOC_TEXT, 0      },
        {"no",                       WEFT_DOC_TEXT, 0      },
        {"on",                       WEFT_DOC_TEXT, 0      },
        {"12",                       WEFT_DOC_INT,  12     },
        {"-12",                      WEFT_DOC_INT,  -12    },
        {"+12",                      WEFT_DOC_INT,  12     },
        {"010",                      WEFT_DOC_INT,  10     },
        {"0x1F",                     WEFT_DOC_INT,  31     }, /* 16 + 15 */
        {"0o17",                     WEFT_DOC_INT,  15     }, /* 8 + 7 */
        {"0o18",                     WEFT_DOC_TEXT, 0      }, /* 8 is no octal digit */
        {"0x",                       WEFT_DOC_TEXT, 0      },
        {"-0x1",                     WEFT_DOC_TEXT, 0      },
        {"1e3",                      WEFT_DOC_REAL, 1000   },
        {"1E+3",                     WEFT_DOC_REAL, 1000   },
        {".5",                       WEFT_DOC_REAL, 0.5    },
        {"-2.",                      WEFT_DOC_REAL, -2     },
        {"2.5e-1",                   WEFT_DOC_REAL, 0.25   },
        {".",                        WEFT_DOC_TEXT, 0      },
        {"1e",                       WEFT_DOC_TEXT, 0      },
        {"e3",                       WEFT_DOC_TEXT, 0      },
        {"1.2.3",                    WEFT_DOC_TEXT, 0      },
        {"1_000",                    WEFT_DOC_TEXT, 0      },
        {"12:30",                    WEFT_DOC_TEXT, 0      },
        {"2024-01-01",               WEFT_DOC_TEXT, 0      },
        {"12GB/s",                   WEFT_DOC_TEXT, 0      },
        {"10us",                     WEFT_DOC_TEXT, 0      },
        {"inf",                      WEFT_DOC_TEXT, 0      },
        {"9223372036854775807",      WEFT_DOC_INT,  0x1p63 },
        {"9223372036854775808",      WEFT_DOC_REAL, 0x1p63 }, /* 2^63 does not fit */
        {"-9223372036854775809",     WEFT_DOC_REAL, -0x1p63},
        {"0x7fffffffffffffff",       WEFT_DOC_INT,  0x1p63 },
        {"0x10000000000000000",      WEFT_DOC_REAL, 0x1p64 },
        {"0o2000000000000000000000", WEFT_DOC_REAL, 0x1p64 }, /* 2 * 8^21 */
    };
    weft_arena *a = weft_arena_new();

    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const weft_doc *d = scalar(table[i].text, a);

        CHECK_INT(d->kind, table[i].kind);
        CHECK_TEXT(d->text, table[i].text);
        CHECK_NEAR(d->kind == WEFT_DOC_BOOL ? d->truth : d->real, table[i].value);
    }
    CHECK_INT(scalar("9223372036854775807", a)->integer, INT64_MAX);
    CHECK_INT(scalar("-9223372036854775808", a)->integer, INT64_MIN);
    weft_arena_free(a);
}

TEST(yaml_quoted_scalars_are_text)
{
    static const char *const table[][2] = {
        {"'12'",          "12"      },
        {"\"true\"",      "true"    },
        {"''",            ""        },
        {"\"a\\tb\"",     "a\tb"    },
        {"'it''s'",       "it's"    },
        {"|\n  1\n  2\n", "1\n2\n"  },
        {">-\n  a\n  b",  "a b"     },
        {"\"\\u00e9\"",   "\xc3\xa9"},
        {"\".inf\"",      ".inf"    },
    };
    weft_arena *a = weft_arena_new();

    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        CHECK_INT(scalar(table[i][0], a)->kind, WEFT_DOC_TEXT);
        CHECK_TEXT(scalar(table[i][0], a)->text, table[i][1]);
    }
    weft_arena_free(a);
}

TEST(yaml_refusals_name_line_and_reason)
{
    check_refused("a: 1\nb: *a\n", "f:2: anchors and aliases are not supported");
    check_refused("a: &x 1\n", "f:1: anchors and aliases are not supported");
    check_refused("a:\n  - &x [1]\n", "f:2: anchors and aliases are not supported");
    check_refused("a: &x {b: 1}\n", "f:1: anchors and aliases are not supported");
    check_refused("? *a\n: 1\n", "f:1: anchors and aliases are not supported");
    check_refused("a: !!str 1\n", "f:1: tags are not supported");
    check_refused("a: !mine [1]\n", "f:1: tags are not supported");
    check_refused("a: 1\nb: 2\na: 3\n", "f:3: key 'a' is given twice");
    check_refused("'a': 1\n\"a\": 3\n", "f:2: key 'a' is given twice");
    check_refused("a: 1\n---\nb: 2\n", "f:2: a second document begins, expected one in a file");
    check_refused("1: a\n", "f:1: the key '1' is not text, expected it in quotes");
    check_refused("true: a\n", "f:1: the key 'true' is not text");
    check_refused("? [a]\n: 1\n", "f:1: a key is a list or a map, expected text");
    check_refused("a: 1\nb: .inf\n", "f:2: .inf is not allowed, expected a finite number");
    check_refused("a: -.INF\n", "f:1: -.INF is not allowed");
    check_refused("a: .nan\n", "f:1: .nan is not allowed");
    check_refused("a: 1e400\n", "f:1: the number 1e400 is too large");
    check_refused("a: \"x\\0y\"\n", "f:1: text must not contain a NUL");
    check_refused("a: 1\n\tb: 2\n", "f:2: not valid YAML: ");
    check_refused("a: 'x\n", "not valid YAML: ");
    check_refused("a: b\nc: d: e\n", "f:2: not valid YAML: ");
    check_refused("a: 1\nb: 2\nc: \xff\n", "f:3: not valid YAML: ");
    check_refused("a: \xed\xa0\x80\n", "f:1: not valid YAML: "); /* half of a surrogate pair */
    check_refused("a: \x01\n", "f:1: not valid YAML: ");
}

TEST(empty_documents_are_refused)
{
    static const char *const empty[] = {"",      " \n\t\n",    "# only a comment\n",
                                        "---\n", "---\n...\n", "\xef\xbb\xbf"};

    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++)
        check_refused(empty[i], "f: is empty, expected YAML or JSON");
}

TEST(many_keys_are_found_twice)
{
    weft_arena *a = weft_arena_new();
    char *text = weft_arena_alloc(a, 2000000), *at = text;

    for (int i = 0; i < 50000; i++)
        at += snprintf(at, 32, "key%d: %d\n", i, i);
    CHECK_INT(good(text, a)->n, 50000);
    CHECK_INT(weft_doc_get(good(text, a), "key49999")->integer, 49999);
    snprintf(at, 32, "key77: 1\n");
    check_refused(text, "f:50001: key 'key77' is given twice");
    weft_arena_free(a);
}

/* --- JSON ------------------------------------------------------------------------------------ */

TEST(json_gives_a_tree_with_lines)
{
    weft_arena *a = weft_arena_new();
    const weft_doc *d = good("\n{\"a\" :\n\t1, \"b\": [true,\r\n false , null], \"c\":\n{ } ,"
                             "\"d\": \"x\\ny\"\n,\"e\"\n:\n-2.5e1, \"f\": []}\n",
                             a),
                   *b = weft_doc_get(d, "b");

    CHECK_INT(d->kind, WEFT_DOC_MAP);
    CHECK_INT(d->line, 2);
    CHECK_INT(d->n, 6);
    CHECK_TEXT(d->key[4], "e");
    CHECK_INT(weft_doc_get(d, "a")->integer, 1);
    CHECK_INT(weft_doc_get(d, "a")->line, 3);
    CHECK_INT(b->n, 3);
    CHECK_INT(b->line, 3);
    CHECK(b->item[0]->truth && !b->item[1]->truth);
    CHECK_INT(b->item[1]->line, 4);
    CHECK_INT(b->item[2]->kind, WEFT_DOC_NULL);
    CHECK_INT(weft_doc_get(d, "c")->line, 5);
    CHECK_TEXT(weft_doc_get(d, "d")->text, "x\ny");
    CHECK_INT(weft_doc_get(d, "d")->line, 5); /* the escape is not a line */
    CHECK_NEAR(weft_doc_get(d, "e")->real, -25.0);
    CHECK_INT(weft_doc_get(d, "e")->line, 8);
    CHECK_INT(weft_doc_get(d, "f")->line, 8);
    CHECK_TEXT(weft_doc_get(d, "f")->file, "f");
    weft_arena_free(a);
}

/* Where JSON and YAML part ways, a text that begins with a bracket means what JSON says. */
TEST(json_means_what_json_says)
{
    weft_arena *a = weft_arena_new();
    const weft_doc *d =
        good("[\"\\/\\\"\\\\\", \"\\ud83d\\ude00\", \"a: b # c\", \"null\",\t\"],{\","
             "-0, 9223372036854775807, 9223372036854775808, 1E2, 1e-400]",
             a);
    char *text = weft_arena_alloc(a, 4000);

    CHECK_INT(d->n, 10);
    CHECK_TEXT(d->item[0]->text, "/\"\\");
    CHECK_TEXT(d->item[1]->text, "\xf0\x9f\x98\x80"); /* U+1F600 */
    CHECK_TEXT(d->item[2]->text, "a: b # c");
    CHECK_INT(d->item[3]->kind, WEFT_DOC_TEXT);
    CHECK_TEXT(d->item[4]->text, "],{");
    CHECK_INT(d->item[5]->integer, 0);
    CHECK_INT(d->item[6]->integer, INT64_MAX);
    CHECK_INT(d->item[7]->kind, WEFT_DOC_REAL);
    CHECK_NEAR(d->item[7]->real, 0x1p63);
    CHECK_INT(d->item[8]->kind, WEFT_DOC_REAL);
    CHECK_NEAR(d->item[8]->real, 100.0);
    CHECK_NEAR(d->item[9]->real, 0.0);
    snprintf(text, 4000, "{\"%03000d\": 5}", 0); /* longer than a simple key of YAML may be */
    CHECK_INT(good(text, a)->item[0]->integer, 5);
    CHECK_INT(good("\xef\xbb\xbf{\"a\": 5}", a)->item[0]->integer, 5);
    weft_arena_free(a);
}

TEST(json_refusals_name_line_and_reason)
{
    check_refused("{\n\"a\": 1,\n\"a\": 2}", "f:3: not valid JSON: duplicate object key");
    check_refused("{\"a\": 1\n", "f:2: not valid JSON: ");
    check_refused("[1, 2\n3]", "f:2: not valid JSON: ");
    check_refused("[1] x", "f:1: not valid JSON: ");
    check_refused("[1] [2]", "f:1: not valid JSON: ");
    check_refused("{a: 1}", "f:1: not valid JSON: ");
    check_refused("[1,]", "f:1: not valid JSON: ");
    check_refused("[01]", "f:1: not valid JSON: ");
    check_refused("[NaN]", "f:1: not valid JSON: ");
    check_refused("[Infinity]", "f:1: not valid JSON: ");
    check_refused("[\n1E400]", "f:2: not valid JSON: ");
    check_refused("[\"\xff\"]", "f:1: not valid JSON: ");
    check_refused("[\"\\ud83d\"]", "f:1: not valid JSON: ");
    check_refused("[\"\\u0000\"]", "f:1: not valid JSON: ");
    check_refused("[\"a\nb\"]", "f:1: not valid JSON: ");
    check_refused("[\"a", "f:1: not valid JSON: ");
    check_refused("[\"a\\", "f:1: not valid JSON: ");
    check_refused("[", "f:1: not valid JSON: ");
}

/* --- limits ---------------------------------------------------------------------------------- */

/* n opening brackets, a line in between, and the closing ones; a comment before makes it YAML. */
static char *nested(int n, const char *before, weft_arena *a)
{
    char *text = weft_arena_alloc(a, 2 * (size_t)n + 20), *at = text + strlen(before);

    memcpy(text, before, strlen(before));
    memset(at, '[', (size_t)n);
    at[n] = '\n';
    memset(at + n + 1, ']', (size_t)n);
    return text;
}

TEST(nesting_is_limited_to_100_levels)
{
    weft_arena *a = weft_arena_new();

    CHECK_INT(good(nested(100, "", a), a)->n, 1);
    CHECK_INT(good(nested(100, "#\n", a), a)->n, 1);
    check_refused(nested(101, "", a), "f:1: nested too deeply, expected at most 100 levels");
    check_refused(nested(101, "#\n", a), "f:2: nested too deeply, expected at most 100 levels");
    check_refused(nested(300000, "", a), "nested too deeply");
    check_refused(nested(300000, "#\n", a), "nested too deeply");
    check_refused(nested(300000, "a: ", a), "nested too deeply");
    weft_arena_free(a);
}

TEST(files_are_limited_in_size)
{
    weft_arena *a = weft_arena_new();
    char path[] = "/tmp/weft_test_XXXXXX";
    const weft_doc *d = NULL;
    int fd = mkstemp(path);

    CHECK(fd >= 0);
    CHECK_INT(ftruncate(fd, 256000001), 0); /* a hole: takes no space */
    CHECK_FAILS(weft_doc_read(path, a, &d),
                ": is too large: 256,000,001 bytes, expected at most 256 MB");
    CHECK_INT(strncmp(weft_message(), path, strlen(path)), 0);
    CHECK_INT(ftruncate(fd, 0), 0);
    CHECK_FAILS(weft_doc_read(path, a, &d), "is empty");
    CHECK_INT(write(fd, "a: 5", 4), 4);
    CHECK_OK(weft_doc_read(path, a, &d));
    CHECK_INT(weft_doc_get(d, "a")->integer, 5);
    CHECK_TEXT(d->file, path);
    CHECK_INT(close(fd), 0);
    CHECK_INT(unlink(path), 0);
    CHECK_FAILS(weft_doc_read(path, a, &d), path);
    weft_arena_free(a);
}

TEST(values_are_limited_in_number)
{
    size_t n = 20000010; /* "[1,1,1," ... holds n / 2 values, 5 more than allowed */
    char *text = malloc(n);
    weft_arena *a = weft_arena_new();
    const weft_doc *d;

    CHECK(text != NULL);
    for (size_t i = 0; i < n; i++)
        text[i] = i % 2 ? '1' : ',';
    text[0] = '[';
    CHECK_FAILS(weft_doc_parse(text, n, "f", a, &d),
                "f:1: too many values, expected at most 10000000");
    free(text);
    weft_arena_free(a);
}

/* --- getters --------------------------------------------------------------------------------- */

TEST(getters_return_values)
{
    weft_arena *a = weft_arena_new();
    const weft_doc *d = good("i: 7\nr: 2.5\nt: abc\nl: [1]\nm: {}\nbig: 1e6\n", a), *out;
    int64_t i;
    double r;
    const char *t;

    CHECK_OK(weft_doc_int(d, "i", 0, 10, &i));
    CHECK_INT(i, 7);
    CHECK_OK(weft_doc_int(d, "i", 7, 7, &i));
    CHECK_OK(weft_doc_int(d, "big", INT64_MIN, INT64_MAX, &i)); /* a whole number all the same */
    CHECK_INT(i, 1000000);
    CHECK_OK(weft_doc_real(d, "r", 0, 10, &r));
    CHECK_NEAR(r, 2.5);
    CHECK_OK(weft_doc_real(d, "i", -INFINITY, INFINITY, &r));
    CHECK_NEAR(r, 7.0);
    CHECK_OK(weft_doc_text(d, "t", &t));
    CHECK_TEXT(t, "abc");
    CHECK_OK(weft_doc_need(d, "l", WEFT_DOC_LIST, &out));
    CHECK_INT(out->n, 1);
    CHECK_OK(weft_doc_need(d, "m", WEFT_DOC_MAP, &out));
    CHECK_INT(out->n, 0);
    CHECK(weft_doc_get(d, "none") == NULL);
    CHECK(weft_doc_get(weft_doc_get(d, "l"), "none") == NULL);
    weft_arena_free(a);
}

TEST(getters_say_what_is_wrong)
{
    weft_arena *a = weft_arena_new();
    const weft_doc *d = good("x: [1]\ny: -3\nz: abc\nr: 1.5\nb: true\ne:\nbig: 1e300\n", a), *out;
    int64_t i = 99;
    double r = 99;
    const char *t;

    CHECK_FAILS(weft_doc_int(d, "w", 0, 1, &i), "f:1: key 'w' is missing");
    CHECK_FAILS(weft_doc_real(d, "x", 0, 1, &r), "f:1: 'x' is a list, expected a number");
    CHECK_FAILS(weft_doc_int(d, "y", 0, 10, &i), "f:2: 'y' is -3, expected 0 to 10");
    CHECK_FAILS(weft_doc_int(d, "y", 0, INT64_MAX, &i), "f:2: 'y' is -3, expected at least 0");
    CHECK_FAILS(weft_doc_int(d, "y", INT64_MIN, -4, &i), "f:2: 'y' is -3, expected at most -4");
    CHECK_FAILS(weft_doc_real(d, "y", 0, INFINITY, &r), "f:2: 'y' is -3, expected at least 0");
    CHECK_FAILS(weft_doc_real(d, "r", 0, 0.5, &r), "f:4: 'r' is 1.5, expected 0 to 0.5");
    CHECK_FAILS(weft_doc_int(d, "r", 0, 5, &i), "f:4: 'r' is 1.5, expected a whole number");
    CHECK_FAILS(weft_doc_int(d, "big", 0, 5, &i), "f:7: 'big' is 1e300, expected a whole number");
    CHECK_FAILS(weft_doc_int(d, "z", 0, 5, &i), "f:3: 'z' is 'abc', expected a whole number");
    CHECK_FAILS(weft_doc_text(d, "y", &t), "f:2: 'y' is -3, expected text (in quotes)");
    CHECK_FAILS(weft_doc_text(d, "b", &t), "f:5: 'b' is true, expected text (in quotes)");
    CHECK_FAILS(weft_doc_text(d, "e", &t), "f:6: 'e' is empty, expected text");
    CHECK_FAILS(weft_doc_need(d, "z", WEFT_DOC_MAP, &out), "f:3: 'z' is 'abc', expected a map");
    CHECK_FAILS(weft_doc_need(weft_doc_get(d, "x"), "k", WEFT_DOC_MAP, &out),
                "f:1: this is a list, expected a map with the key 'k'");
    CHECK_INT(i, 99); /* untouched */
    CHECK(r == 99);
    weft_arena_free(a);
}

TEST(unknown_keys_get_a_suggestion)
{
    static const char *const known[] = {"bandwidth", "latency"};
    weft_arena *a = weft_arena_new();

    CHECK_OK(weft_doc_known_keys(good("latency: 1\n", a), known, 2));
    CHECK_OK(weft_doc_known_keys(good("{}", a), known, 2));
    CHECK_FAILS(weft_doc_known_keys(good("latency: 1\nbandwith: 2\n", a), known, 2),
                "f:2: unknown key 'bandwith' (did you mean 'bandwidth'?)");
    CHECK_FAILS(weft_doc_known_keys(good("bandwidth: 1\ncolour: 1\n", a), known, 2),
                "f:2: unknown key 'colour'");
    CHECK_FAILS(weft_doc_known_keys(good("[1]", a), known, 2),
                "f:1: this is a list, expected a map");
    weft_arena_free(a);
}

/* A plan from a stranger may name any file as its platform: messages must not show what is in it.
 */
TEST(files_of_other_kinds_are_not_quoted)
{
    static const char *const known[] = {"bandwidth", "latency"};
    static const char *const foreign[] = {
        "root:x:0:0:secret:/root:/bin/sh\ndaemon:x:1:1:secret:/:/bin/sh\n",
        "secret",
        "secret: secret\n",
        "'secret'",
        "{\"a\": secret}",
        "{\"secret\": secret}",
        "[secret]\nkey = secret\n",
        "\"secret\"",
        "{\"secret\": 1}",
        "{\"secret\": 1, \"secret\": 2}",
        "4711",
        "- secret\n- secret\n",
        "secret: [secret\n",
    };
    weft_arena *a = weft_arena_new();
    const weft_doc *d, *out;

    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++) {
        weft_status status = parse(foreign[i], a, &d);

        if (status == WEFT_OK) {
            CHECK_INT(weft_doc_need(d, "latency", WEFT_DOC_TEXT, &out), WEFT_E_INPUT);
            CHECK(strstr(weft_message(), "secret") == NULL);
            status = weft_doc_known_keys(d, known, 2);
        }
        CHECK_INT(status, WEFT_E_INPUT);
        CHECK(strstr(weft_message(), "secret") == NULL && strstr(weft_message(), "4711") == NULL);
    }
    weft_arena_free(a);
}

TEST(made_documents_have_no_place)
{
    weft_arena *a = weft_arena_new();
    weft_doc *map = weft_doc_new(a, WEFT_DOC_MAP);
    int64_t i;
    double r;

    weft_doc_put(a, map, "i", weft_doc_new_int(a, -5));
    weft_doc_put(a, map, "r", weft_doc_new_real(a, 0.25));
    CHECK_FAILS(weft_doc_int(map, "i", 0, 9, &i), "'i' is -5, expected 0 to 9");
    CHECK_INT(strncmp(weft_message(), "'i'", 3), 0);
    CHECK_FAILS(weft_doc_int(map, "r", 0, 9, &i), "'r' is 0.25, expected a whole number");
    CHECK_OK(weft_doc_real(map, "i", -9, 9, &r));
    CHECK_NEAR(r, -5.0);
    weft_arena_free(a);
}

/* --- writing --------------------------------------------------------------------------------- */

TEST(json_is_written_in_order)
{
    weft_arena *a = weft_arena_new();
    weft_doc *map = weft_doc_new(a, WEFT_DOC_MAP), *list = weft_doc_new(a, WEFT_DOC_LIST);
    char key[] = "z";

    weft_doc_put(a, map, key, weft_doc_new_text(a, "a\"b\n/\xc3\xa9"));
    key[0] = 'x'; /* the key was copied */
    weft_doc_put(a, map, "a", list);
    weft_doc_add(a, list, weft_doc_new_int(a, INT64_MIN));
    weft_doc_add(a, list, weft_doc_new_real(a, 2.0));
    weft_doc_add(a, list, weft_doc_new_bool(a, true));
    weft_doc_add(a, list, weft_doc_new(a, WEFT_DOC_NULL));
    weft_doc_add(a, list, weft_doc_new_text(a, NULL));
    weft_doc_add(a, list, weft_doc_new_real(a, NAN));
    weft_doc_add(a, list, weft_doc_new_real(a, -INFINITY));
    weft_doc_add(a, list, weft_doc_new(a, WEFT_DOC_MAP));
    weft_doc_add(a, list, weft_doc_new(a, WEFT_DOC_LIST));
    CHECK_TEXT(weft_doc_json(map, 0, a),
               "{\"z\":\"a\\\"b\\n/\xc3\xa9\",\"a\":[-9223372036854775808,2.0,true,null,null,null,"
               "null,{},[]]}");
    CHECK_TEXT(weft_doc_json(weft_doc_new_text(a, "x"), 2, a), "\"x\"");
    CHECK_TEXT(weft_doc_json(weft_doc_new(a, WEFT_DOC_TEXT), 0, a), "\"\"");
    weft_arena_free(a);
}

TEST(json_is_indented)
{
    weft_arena *a = weft_arena_new();
    const weft_doc *d = good("a: [1, 2]\n", a);

    CHECK_TEXT(weft_doc_json(d, 2, a), "{\n  \"a\": [\n    1,\n    2\n  ]\n}");
    weft_arena_free(a);
}

/* Names come from files that promise nothing: each wrong byte becomes U+FFFD. */
TEST(short_json_has_no_digit_too_many)
{
    weft_arena *a = weft_arena_new();
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    weft_doc_add(a, list, weft_doc_new_real(a, 0.1));
    weft_doc_add(a, list, weft_doc_new_real(a, 1.0 / 3));
    weft_doc_add(a, list, weft_doc_new_real(a, 80));
    weft_doc_add(a, list, weft_doc_new_real(a, -2.5e-7));
    weft_doc_add(a, list, weft_doc_new_int(a, 123456789012));
    weft_doc_add(a, list, weft_doc_new_text(a, "0.10000000000000001 \\\" 0.10000000000000001"));
    CHECK_TEXT(weft_doc_json_short(list, a),
               "[0.1,0.3333333333333333,80.0,-2.5e-7,123456789012,"
               "\"0.10000000000000001 \\\\\\\" 0.10000000000000001\"]");
    weft_arena_free(a);
}

TEST(json_is_valid_whatever_the_names)
{
    static const char *const table[][2] = {
        {"a\xff",            "a\xef\xbf\xbd"                                   },
        {"\xc3",             "\xef\xbf\xbd"                                    }, /* cut off */
        {"\xc3\xa9\x80",     "\xc3\xa9\xef\xbf\xbd"                            }, /* one byte too many */
        {"\xc0\x80",         "\xef\xbf\xbd\xef\xbf\xbd"                        }, /* overlong */
        {"\xed\xa0\x80",     "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"            }, /* surrogate */
        {"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* too large */
        {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"                                },
    };
    weft_arena *a = weft_arena_new();

    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        weft_doc *map = weft_doc_new(a, WEFT_DOC_MAP);
        const weft_doc *d;

        weft_doc_put(a, map, table[i][0], weft_doc_new_text(a, table[i][0]));
        d = good(weft_doc_json(map, 0, a), a);
        CHECK_TEXT(d->key[0], table[i][1]);
        CHECK_TEXT(d->item[0]->text, table[i][1]);
    }
    weft_arena_free(a);
}

/* A limit so wide that only work that grows with the square of the size could miss it. */
TEST(large_documents_are_written_and_read_quickly)
{
    enum { N = 100000 };
    weft_arena *a = weft_arena_new();
    weft_doc *map = weft_doc_new(a, WEFT_DOC_MAP), *list = weft_doc_new(a, WEFT_DOC_LIST);
    const weft_doc *d;

    weft_doc_put(a, map, "list", list);
    for (int i = 0; i < N; i++) {
        weft_doc_add(a, list, weft_doc_new_real(a, i * 0.1));
        weft_doc_put(a, map, weft_arena_print(a, "node%d", i), weft_doc_new_int(a, i));
    }
    CHECK(strlen(weft_doc_json_short(map, a)) <= strlen(weft_doc_json(map, 0, a)));
    d = good(weft_doc_json(map, 2, a), a);
    CHECK_INT(d->n, N + 1);
    CHECK_INT(d->item[N]->integer, N - 1);
    CHECK_NEAR(d->item[0]->item[N - 1]->real, (N - 1) * 0.1);
    weft_arena_free(a);
}

/* --- properties ------------------------------------------------------------------------------ */

static bool is_same(const weft_doc *x, const weft_doc *y)
{
    if (x->kind != y->kind || x->n != y->n || x->truth != y->truth)
        return false;
    if (x->kind == WEFT_DOC_INT && x->integer != y->integer)
        return false;
    if (x->real != y->real || (x->kind == WEFT_DOC_TEXT && strcmp(x->text, y->text) != 0))
        return false;
    for (int i = 0; i < x->n; i++)
        if (!is_same(x->item[i], y->item[i]) ||
            (x->kind == WEFT_DOC_MAP && strcmp(x->key[i], y->key[i]) != 0))
            return false;
    return true;
}

/* A text of up to 20 characters: printable ASCII, or any of Unicode. */
static char *random_text(weft_rng *r, bool is_ascii, weft_arena *a)
{
    int n = weft_rng_below(r, 20);
    unsigned char *text = weft_arena_alloc(a, 81), *at = text;

    for (int i = 0; i < n; i++) {
        unsigned c = (unsigned)(is_ascii ? 32 + weft_rng_below(r, 95) : 1);

        if (!is_ascii && weft_rng_below(r, 2))
            c = (unsigned)(1 + weft_rng_below(r, 0x7f));
        else if (!is_ascii)
            c = (unsigned)(0x10000 + weft_rng_below(r, 0x100000));
        if (c < 0x80) {
            *at++ = (unsigned char)c;
            continue;
        }
        *at++ = (unsigned char)(0xf0 | c >> 18);
        *at++ = (unsigned char)(0x80 | (c >> 12 & 0x3f));
        *at++ = (unsigned char)(0x80 | (c >> 6 & 0x3f));
        *at++ = (unsigned char)(0x80 | (c & 0x3f));
    }
    return (char *)text;
}

static weft_doc *random_scalar(weft_rng *r, bool is_ascii, weft_arena *a)
{
    switch (weft_rng_below(r, 5)) {
    case 0:
        return weft_doc_new(a, WEFT_DOC_NULL);
    case 1:
        return weft_doc_new_bool(a, weft_rng_below(r, 2));
    case 2:
        return weft_doc_new_int(a, (int64_t)(weft_rng_next(r) >> weft_rng_below(r, 64)));
    case 3:
        return weft_doc_new_real(a, ldexp(weft_rng_real(r) - 0.5, weft_rng_below(r, 2000) - 1000));
    default:
        return weft_doc_new_text(a, random_text(r, is_ascii, a));
    }
}

static weft_doc *random_doc(weft_rng *r, int depth, bool is_ascii, weft_arena *a)
{
    int n = weft_rng_below(r, 7);
    weft_doc *d;

    if (depth < 4 && weft_rng_below(r, 3) == 0)
        return random_scalar(r, is_ascii, a);
    d = weft_doc_new(a, weft_rng_below(r, 2) ? WEFT_DOC_LIST : WEFT_DOC_MAP);
    for (int i = 0; i < n && depth > 0; i++) {
        weft_doc *item = random_doc(r, depth - 1, is_ascii, a);

        if (d->kind == WEFT_DOC_LIST)
            weft_doc_add(a, d, item);
        else
            weft_doc_put(a, d, weft_arena_print(a, "%d%s", i, random_text(r, is_ascii, a)), item);
    }
    return d;
}

TEST(what_is_written_is_read_back)
{
    for (uint64_t seed = 1; seed <= 500; seed++) {
        weft_arena *a = weft_arena_new();
        weft_rng r = weft_rng_seed(seed);
        const weft_doc *d = random_doc(&r, 4, false, a);

        CHECK(is_same(good(weft_doc_json(d, 0, a), a), d));
        CHECK(is_same(good(weft_doc_json(d, 3, a), a), d));
        CHECK(is_same(good(weft_doc_json_short(d, a), a), d));
        weft_arena_free(a);
    }
}

/* An oracle: jansson reads the text and writes the same one. */
TEST(jansson_writes_the_same)
{
    for (uint64_t seed = 1; seed <= 500; seed++) {
        weft_arena *a = weft_arena_new();
        weft_rng r = weft_rng_seed(seed);
        size_t indent = seed % 4;
        const char *text = weft_doc_json(random_doc(&r, 4, false, a), (int)indent, a);
        json_t *read = json_loads(text, JSON_DECODE_ANY, NULL);
        char *again = json_dumps(read, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17) |
                                           (indent > 0 ? JSON_INDENT(indent) : JSON_COMPACT));

        CHECK_TEXT(again, text);
        free(again);
        json_decref(read);
        weft_arena_free(a);
    }
}

/* Every node of y is one line below that of x. */
static bool is_one_line_below(const weft_doc *x, const weft_doc *y)
{
    if (y->line != x->line + 1)
        return false;
    for (int i = 0; i < x->n; i++)
        if (!is_one_line_below(x->item[i], y->item[i]))
            return false;
    return true;
}

/* JSON is nearly YAML: after a comment the same text goes through the other reader. The readers
 * share no code for lines. */
TEST(both_readers_agree_on_values_and_lines)
{
    for (uint64_t seed = 1; seed <= 300; seed++) {
        weft_arena *a = weft_arena_new();
        weft_rng r = weft_rng_seed(seed);
        const char *text = weft_doc_json(random_doc(&r, 4, true, a), (int)(seed % 3), a);
        const weft_doc *json = good(text, a);
        const weft_doc *yaml = good(weft_arena_print(a, "# a comment\n%s", text), a);

        CHECK(is_same(json, yaml));
        CHECK(is_one_line_below(json, yaml));
        weft_arena_free(a);
    }
}

/* Damages a copy of the text: bytes replaced, removed, doubled, the end cut off. */
static size_t damage(char *text, size_t n, weft_rng *r)
{
    static const char marks[] = "{}[]:,\"'&*!|>-?#%@`\\\n\t e.0\xff\xc3";
    int n_hits = weft_rng_below(r, 4);

    for (int i = 0; i < n_hits && n > 1; i++) {
        size_t at = (size_t)weft_rng_below(r, (int)n);

        switch (weft_rng_below(r, 4)) {
        case 0:
            text[at] = marks[weft_rng_below(r, (int)sizeof marks)];
            break;
        case 1:
            text[at] = (char)weft_rng_below(r, 256);
            break;
        case 2:
            memmove(text + at, text + at + 1, --n - at);
            break;
        default:
            memmove(text + at, text + at / 2, n - at);
        }
    }
    return weft_rng_below(r, 3) ? n : (size_t)weft_rng_below(r, (int)n);
}

/* Accepted or refused, never anything else; the buffer ends where the text ends, so that the
 * sanitizers see a read beyond it. */
static bool survives(const char *text, size_t n)
{
    weft_arena *a = weft_arena_new();
    char *exact = malloc(n ? n : 1);
    const weft_doc *d = NULL;
    weft_status status;

    CHECK(exact != NULL);
    memcpy(exact, text, n);
    status = weft_doc_parse(exact, n, "bad file", a, &d);
    free(exact);
    if (status != WEFT_OK) {
        CHECK_INT(status, WEFT_E_INPUT);
        CHECK_INT(strncmp(weft_message(), "bad file:", 9), 0);
        CHECK(strlen(weft_message()) > 12);
    } else if (d->kind == WEFT_DOC_LIST || d->kind == WEFT_DOC_MAP) {
        CHECK(is_same(good(weft_doc_json(d, 0, a), a), d));
    }
    weft_arena_free(a);
    return status == WEFT_OK;
}

TEST(damaged_texts_are_survived)
{
    static const char *const seeds[] = {
        "schema: weft.platform/1\nname: box\ndevices:\n  - {name: cpu, flops: 1.5e12, m: 256GiB}\n"
        "  - name: gpu0\n    list: [1, -2, 0x1f, 0o17, .5, ~, true]\n    note: |\n      a\n"
        "      b\n    more: \"x\\u00e9\\n\"\nlinks:\n- {between: [cpu, gpu0], latency: 10us}\n",
        "{\"schema\": \"weft.tasks/1\", \"devices\": [\"P1\", \"P2\"],\n \"tasks\": [{\"name\": "
        "\"a\\u00e9\\\\\", \"seconds\": [14, 1.6e1, null, true]}],\n \"edges\": [{\"from\": \"a\", "
        "\"to\": \"\xc3\xa9\", \"amount\": -18}], \"link\": [[0, 1], [1, 0]]}\n",
        "a: 1\n---\nb: &x [2]\nc: *x\n? {d: e}\n: !!str f\n",
    };
    weft_rng r = weft_rng_seed(8);
    int n_good = 0, n_bad = 0;

    for (int i = 0; i < 9000; i++) {
        char text[600];
        size_t n = strlen(seeds[i % 3]);

        memcpy(text, seeds[i % 3], n);
        n = damage(text, n, &r);
        if (survives(text, n))
            n_good++;
        else
            n_bad++;
    }
    CHECK(n_good > 100 && n_bad > 1000); /* both ways were taken */
}

TEST(noise_is_survived)
{
    static const char marks[] = "{}[]:,\"'&*!|>-?#%@`\\\n\n  ab01.e";
    weft_rng r = weft_rng_seed(9);
    int n_good = 0;

    for (int i = 0; i < 20000; i++) {
        char text[40];
        int n = weft_rng_below(&r, (int)sizeof text);

        for (int k = 0; k < n; k++)
            text[k] = marks[weft_rng_below(&r, (int)sizeof marks - 1)];
        n_good += survives(text, (size_t)n);
    }
    CHECK(n_good > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(yaml_gives_a_tree_with_lines),
        cmocka_unit_test(yaml_scalars_follow_the_core_schema),
        cmocka_unit_test(yaml_quoted_scalars_are_text),
        cmocka_unit_test(yaml_refusals_name_line_and_reason),
        cmocka_unit_test(empty_documents_are_refused),
        cmocka_unit_test(many_keys_are_found_twice),
        cmocka_unit_test(json_gives_a_tree_with_lines),
        cmocka_unit_test(json_means_what_json_says),
        cmocka_unit_test(json_refusals_name_line_and_reason),
        cmocka_unit_test(nesting_is_limited_to_100_levels),
        cmocka_unit_test(files_are_limited_in_size),
        cmocka_unit_test(values_are_limited_in_number),
        cmocka_unit_test(getters_return_values),
        cmocka_unit_test(getters_say_what_is_wrong),
        cmocka_unit_test(unknown_keys_get_a_suggestion),
        cmocka_unit_test(files_of_other_kinds_are_not_quoted),
        cmocka_unit_test(made_documents_have_no_place),
        cmocka_unit_test(json_is_written_in_order),
        cmocka_unit_test(json_is_indented),
        cmocka_unit_test(short_json_has_no_digit_too_many),
        cmocka_unit_test(json_is_valid_whatever_the_names),
        cmocka_unit_test(large_documents_are_written_and_read_quickly),
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(jansson_writes_the_same),
        cmocka_unit_test(both_readers_agree_on_values_and_lines),
        cmocka_unit_test(damaged_texts_are_survived),
        cmocka_unit_test(noise_is_survived),
    };

    return RUN_TESTS(tests);
}
