/* SPDX-License-Identifier: MIT */
/* Tables of comma-separated values: what they may hold, and what is refused with its line. */
#include "check.h"

#include "csv.h"

static weft_status parse(const char *text, weft_arena *a, weft_csv *out)
{
    return weft_csv_parse(text, strlen(text), "t.csv", a, out);
}

TEST(fields_may_be_quoted)
{
    weft_arena *a = weft_arena_new();
    weft_csv c;

    CHECK_OK(parse("# note\n\na,b\r\n 1 ,\"x,\"\"y\"\"\nz\"\n# more\n,\"\"\n", a, &c));
    CHECK_INT(c.n_columns, 2);
    CHECK_INT(c.n_rows, 2);
    CHECK_TEXT(c.row[0].field[0], "1");
    CHECK_TEXT(c.row[0].field[1], "x,\"y\"\nz");
    CHECK_INT(c.row[0].line, 4);
    CHECK_TEXT(c.row[1].field[0], "");
    CHECK_INT(c.row[1].line, 7);
    CHECK_INT(weft_csv_column(&c, "b"), 1);
    CHECK_INT(weft_csv_column(&c, "c"), -1);
    weft_arena_free(a);
}

TEST(what_is_wrong_is_named_with_its_line)
{
    weft_arena *a = weft_arena_new();
    weft_csv c;

    CHECK_FAILS(parse("", a, &c), "t.csv:1: there is no line");
    CHECK_FAILS(parse("a,b\n1\n", a, &c), "t.csv:2: 1 fields, expected 2");
    CHECK_FAILS(parse("a,b\n1,2,3\n", a, &c), "t.csv:2: 3 fields, expected 2");
    CHECK_FAILS(parse("a,a\n", a, &c), "t.csv:1: two columns have the name 'a'");
    CHECK_FAILS(parse("a\n\"x\n\n", a, &c), "t.csv:2: a quote is not closed");
    CHECK_FAILS(parse("a\n\"x\"y\n", a, &c), "t.csv:2: 'y' after a closing quote");
    CHECK_FAILS(parse("a\nx\"y\n", a, &c), "t.csv:2: a quote inside a field");
    CHECK_FAILS(parse("a\n\x01\n", a, &c), "t.csv:2: character 1");
    CHECK_FAILS(weft_csv_parse("a\n\0", 3, "t.csv", a, &c), "t.csv:2: character 0");
    weft_arena_free(a);
}

/* Any bytes are read or refused, and rows always have as many fields as the header. */
TEST(any_bytes_are_read_or_refused)
{
    static const char marks[] = "a,\"\n\r#1= \t\\\x7f";
    weft_rng rng = weft_rng_seed(1);

    for (int i = 0; i < N_DRAWN(20000); i++) {
        weft_arena *a = weft_arena_new();
        int n = weft_rng_below(&rng, 60);
        char text[60];
        weft_csv c;

        for (int k = 0; k < n; k++)
            text[k] = marks[weft_rng_below(&rng, (int)sizeof marks)];
        if (weft_csv_parse(text, (size_t)n, "t", a, &c) == WEFT_OK)
            for (int r = 0; r < c.n_rows; r++)
                for (int k = 0; k < c.n_columns; k++)
                    CHECK(strlen(c.row[r].field[k]) < 60);
        weft_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_may_be_quoted),
        cmocka_unit_test(what_is_wrong_is_named_with_its_line),
        cmocka_unit_test(any_bytes_are_read_or_refused),
    };

    return RUN_TESTS(tests);
}
