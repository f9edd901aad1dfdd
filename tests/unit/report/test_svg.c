/* SPDX-License-Identifier: MIT */
/* Drawings as SVG: well-formed whatever names there are, bars where their times are, small. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include "colours.h"
#include "report.h"

#include <ctype.h>
#include <stdlib.h>

typedef bool draw(const weft_doc *page, FILE *to);

/* The text of a drawing; the caller frees it. NULL: there is none. */
static char *drawn(draw *f, const weft_doc *page)
{
    char *text = NULL;
    size_t n;
    FILE *to = open_memstream(&text, &n);
    bool is_drawn = f(page, to);

    CHECK_INT(fclose(to), 0);
    if (is_drawn)
        return text;
    CHECK_INT(n, 0);
    free(text);
    return NULL;
}

/* Ends of a name of XML. */
static const char *name_end(const char *at)
{
    while (isalnum((unsigned char)*at) || *at == '-')
        at++;
    return at;
}

/* A tag from '<' to '>': name, then name="value" with no '<' in it. Returns what follows. */
static const char *check_tag(const char *at, const char **name, size_t *n)
{
    const char *end = name_end(*name = at + 1);

    CHECK(end > *name);
    *n = (size_t)(end - *name);
    while (*end == ' ') {
        const char *attribute = end + 1;

        end = name_end(attribute);
        CHECK(end > attribute && end[0] == '=' && end[1] == '"');
        end += 2 + strcspn(end + 2, "\"<&");
        CHECK(*end == '"');
        end++;
    }
    return end;
}

static const char *check_entity(const char *at)
{
    static const char *const known[] = {"&lt;", "&gt;", "&amp;"};

    for (int i = 0; i < 3; i++)
        if (strncmp(at, known[i], strlen(known[i])) == 0)
            return at + strlen(known[i]);
    fail_msg("not an entity: %.20s", at);
    return NULL;
}

/* Every element ends in its turn, and text has no marks of XML and no control characters. */
static void check_well_formed(const char *at)
{
    enum { DEEPEST = 10 };
    const char *open[DEEPEST], *head = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
    size_t n_open[DEEPEST];
    int depth = 0, n_roots = 0;

    CHECK(strncmp(at, head, strlen(head)) == 0);
    at += strlen(head);
    while (*at) {
        if (at[0] == '<' && at[1] == '/') {
            CHECK(depth > 0);
            depth--;
            CHECK(strncmp(at + 2, open[depth], n_open[depth]) == 0);
            at += 2 + n_open[depth];
            CHECK(*at++ == '>');
        } else if (*at == '<') {
            CHECK(depth < DEEPEST);
            n_roots += depth == 0;
            at = check_tag(at, &open[depth], &n_open[depth]);
            depth += *at != '/';
            at += *at == '/';
            CHECK(*at++ == '>');
        } else if (*at == '&') {
            at = check_entity(at);
        } else {
            CHECK(*at != '>' && ((unsigned char)*at >= ' ' || *at == '\n') && *at != 0x7f);
            CHECK(depth > 0 || *at == '\n');
            at++;
        }
    }
    CHECK_INT(depth, 0);
    CHECK_INT(n_roots, 1);
}

static int count(const char *text, const char *part)
{
    int n = 0;

    for (; (text = strstr(text, part)) != NULL; text++)
        n++;
    return n;
}

/* The number of an attribute of the i-th element that begins so. */
static double attribute(const char *text, const char *element, int i, const char *name)
{
    char key[32];

    for (; i >= 0; i--) {
        text = strstr(text, element);
        assert_non_null(text);
        text++;
    }
    snprintf(key, sizeof key, " %s=\"", name);
    text = strstr(text, key);
    assert_non_null(text);
    return strtod(text + strlen(key), NULL);
}

static const weft_doc *parse(const char *text, weft_arena *a)
{
    const weft_doc *d;

    CHECK_OK(weft_doc_parse(text, strlen(text), "page", a, &d));
    return d;
}

/* --- timelines ------------------------------------------------------------------------------- */

/* Names that XML has marks for, a control character, and bytes that are not UTF-8. */
static const char two_bars[] =
    "{\"title\": \"a < b & c > d\", \"subtitle\": \"lowest latency\", \"timeline\": {\"end\": "
    "0.004,"
    " \"rows\": [{\"name\": \"cpu <0>\", \"kind\": \"device\", \"lanes\": 1},"
    "            {\"name\": \"cpu>gpu\", \"kind\": \"link\", \"lanes\": 2}],"
    " \"kinds\": [\"compute\", \"transfer\", \"wait\"], \"colour_by\": \"device\","
    " \"bars\": {\"row\": [1, 0, 0], \"lane\": [1, 0, 0], \"start\": [0.001, 0.002, 0],"
    "  \"end\": [0.0015, 0.004, 0.001], \"kind\": [1, 0, 0],"
    "  \"name\": [\"t\", \"x\\u0001&y\", \"\\u00e4</text>\"], \"node\": [-1, 0, 1]},"
    " \"arrows\": {\"from\": [], \"to\": []}, \"chain\": [2]}}";

TEST(bars_are_where_their_times_are)
{
    weft_arena *a = weft_arena_new();
    char *text = drawn(weft_page_timeline_svg, parse(two_bars, a));
    const char *blue = strstr(text, "#2b7bba") - 70; /* the first bar of row 0 */
    double x[2], w[2], per_s;

    check_well_formed(text);
    for (int i = 0; i < 2; i++) {
        x[i] = attribute(blue, "<rect", i, "x");
        w[i] = attribute(blue, "<rect", i, "width");
    }
    per_s =
        (x[1] - x[0]) / 0.002; /* from 0 to 1 ms and from 2 to 4 ms; bars are set apart by 0.5 */
    CHECK(per_s > 100000);
    CHECK(fabs(w[0] - (0.001 * per_s - 0.5)) < 0.02);
    CHECK(fabs(w[1] - (0.002 * per_s - 0.5)) < 0.02);
    CHECK_INT(count(text, "#2b7bba"), 2);
    CHECK_INT(count(text, ">4 ms<"), 1); /* the axis */
    CHECK_INT(count(text, ">3.5<"), 1);
    CHECK_INT(count(text, ">transfer<"), 1); /* the legend has what there is */
    CHECK_INT(count(text, ">wait<"), 0);
    CHECK_INT(count(text, ">compute<"), 0);
    CHECK_INT(count(text, ">critical chain<"), 1);
    CHECK_INT(count(text, "a &lt; b &amp; c &gt; d"), 2); /* title and heading */
    CHECK_INT(count(text, ">cpu &lt;0&gt;<"), 1);
    CHECK_INT(count(text, ">x?&amp;y<"), 1);
    CHECK_INT(count(text, "\xc3\xa4&lt;/text&gt;"), 1);
    free(text);
    weft_arena_free(a);
}

TEST(bytes_that_are_not_utf8_do_not_pass)
{
    static const char *const bad[] = {"\xff",         "\xc3",         "\xc0\xaf",
                                      "\xed\xa0\x80", "\xef\xbf\xbf", "\xf4\x90\x80\x80",
                                      "a\x80",        "\xe2\x82"};
    weft_arena *a = weft_arena_new();

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        weft_doc *page = (weft_doc *)parse(two_bars, a);
        char *text;

        ((weft_doc *)weft_doc_get(page, "title"))->text = bad[i];
        text = drawn(weft_page_timeline_svg, page);
        check_well_formed(text);
        for (const char *c = text; *c; c++) /* the umlaut of the fixture is the only other */
            CHECK((unsigned char)*c < 0x80 || strncmp(c, "\xc3\xa4", 2) == 0 ||
                  strncmp(c - 1, "\xc3\xa4", 2) == 0);
        CHECK(strstr(text, "?</title>") != NULL);
        free(text);
    }
    weft_arena_free(a);
}

static weft_doc *numbers(weft_arena *a, int n, double first, double step)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int i = 0; i < n; i++)
        weft_doc_add(a, list, weft_doc_new_real(a, first + i * step));
    return list;
}

/* 20,000 bars on 800 points: the drawing has no more rectangles than there is room for. */
TEST(bars_narrower_than_a_pixel_are_drawn_together)
{
    enum { BARS = 20000 };
    weft_arena *a = weft_arena_new();
    weft_doc *page = (weft_doc *)parse(two_bars, a);
    weft_doc *timeline = (weft_doc *)weft_doc_get(page, "timeline");
    weft_doc *bars = weft_doc_new(a, WEFT_DOC_MAP), *names = weft_doc_new(a, WEFT_DOC_LIST);
    const char *const zeros[] = {"row", "lane", "kind"};
    char *text;

    for (int i = 0; i < 3; i++)
        weft_doc_put(a, bars, zeros[i], numbers(a, BARS, 0, 0));
    weft_doc_put(a, bars, "start", numbers(a, BARS, 0, 0.004 / BARS));
    weft_doc_put(a, bars, "end", numbers(a, BARS, 0.003 / BARS, 0.004 / BARS));
    for (int i = 0; i < BARS; i++)
        weft_doc_add(a, names, weft_doc_new_text(a, "task"));
    weft_doc_put(a, bars, "name", names);
    for (int i = 0; i < timeline->n; i++)
        if (strcmp(timeline->key[i], "bars") == 0)
            timeline->item[i] = bars;
    text = drawn(weft_page_timeline_svg, page);
    check_well_formed(text);
    CHECK(count(text, "#2b7bba") >= 1 && count(text, "#2b7bba") <= 1700);
    CHECK(strlen(text) < 200000);
    free(text);
    weft_arena_free(a);
}

/* --- networks -------------------------------------------------------------------------------- */

/* a above b and c; the line to b has no points: straight. c is on another device. */
static const char three_nodes[] =
    "{\"title\": \"net\", \"subtitle\": \"\", \"timeline\": null, \"graph\": {"
    " \"width\": 200, \"height\": 120, \"is_graphviz\": true, \"devices\": [\"cpu\", \"no\", "
    "\"<gpu>\"],"
    " \"nodes\": {\"name\": [\"a\", \"b&b\", \"a_name_that_is_far_too_long_for_its_box\"],"
    "  \"op\": [\"Conv\", \"Relu\", \"Add\"], \"x\": [100, 50, 150], \"y\": [25, 95, 95],"
    "  \"w\": [60, 60, 60], \"h\": [34, 34, 34], \"device\": [0, 0, 2]},"
    " \"edges\": {\"from\": [0, 0], \"to\": [1, 2], \"bytes\": [1, 2], \"is_cross\": [false, true],"
    "  \"points\": [[], [110, 42, 130, 60, 150, 78]]}}}";

TEST(boxes_and_lines_are_where_the_page_has_them)
{
    weft_arena *a = weft_arena_new();
    const weft_doc *page = parse(three_nodes, a);
    char *text = drawn(weft_page_graph_svg, page);
    const char *blue = strstr(text, "<g fill=\"#2b7bba\"");

    check_well_formed(text);
    assert_non_null(blue);
    CHECK_NEAR(attribute(blue, "<rect", 0, "width"), 60.0);
    CHECK_NEAR(attribute(blue, "<rect", 0, "x") - attribute(blue, "<rect", 1, "x"), 50.0);
    CHECK_NEAR(attribute(blue, "<rect", 1, "y") - attribute(blue, "<rect", 0, "y"), 70.0);
    CHECK_INT(count(text, "<polyline"), 4); /* two lines, two arrows */
    CHECK_INT(count(text, ">cpu<"), 1);
    CHECK_INT(count(text, ">no<"), 0); /* has no nodes */
    CHECK_INT(count(text, ">&lt;gpu&gt;<"), 1);
    CHECK_INT(count(text, ">b&amp;b<"), 1);
    CHECK_INT(count(text, "a_name_that_is_far_too_long_for_its_box"), 0);
    CHECK_INT(count(text, "..") > 0, 1);
    free(text);
    CHECK(drawn(weft_page_timeline_svg, page) == NULL);
    CHECK(drawn(weft_page_graph_svg, parse(two_bars, a)) == NULL);
    weft_arena_free(a);
}

/* --- colours --------------------------------------------------------------------------------- */

/* Both are written by hand: the page reads its style sheet, drawings the table in C. */
TEST(colours_are_those_of_the_page)
{
    weft_file f;
    char *css;

    CHECK_OK(weft_file_open(WEFT_TEST_DATA "/../../page/page.css", &f));
    css = calloc(f.size + 1, 1);
    memcpy(css, f.data, f.size);
    weft_file_close(&f);
    for (int i = 0; i < WEFT_N_SERIES; i++) {
        char line[32];

        snprintf(line, sizeof line, "--c%d: %s;", i, weft_series[i]);
        CHECK(strstr(css, line) != NULL);
    }
    CHECK(strstr(css, "--c8:") == NULL);
    for (int i = 0; i < 6; i++) {
        static const char *const name[] = {"text", "dim", "line", "link", "faint", "alert"};
        const char *const ink[] = {weft_ink_text, weft_ink_dim,   weft_ink_line,
                                   weft_ink_link, weft_ink_faint, weft_ink_alert};
        char line[32];

        snprintf(line, sizeof line, "--%s: %s;", name[i], ink[i]);
        CHECK(strstr(css, line) != NULL);
    }
    free(css);
}

/* After the eighth device, colours are mixed with that of text: 30 % of #1b222c in #2b7bba. */
TEST(more_devices_than_colours_get_darker_ones)
{
    char colour[WEFT_COLOUR_BYTES];

    CHECK_TEXT(weft_series_colour(7, colour), "#5d54a4");
    CHECK_TEXT(weft_series_colour(8, colour), "#26608f");
    CHECK_TEXT(weft_series_colour(-1, colour), weft_ink_link);
    CHECK_TEXT(weft_text_on("#ffffff"), "#10141a");
    CHECK_TEXT(weft_text_on("#000000"), "#ffffff");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bars_are_where_their_times_are),
        cmocka_unit_test(bytes_that_are_not_utf8_do_not_pass),
        cmocka_unit_test(bars_narrower_than_a_pixel_are_drawn_together),
        cmocka_unit_test(boxes_and_lines_are_where_the_page_has_them),
        cmocka_unit_test(colours_are_those_of_the_page),
        cmocka_unit_test(more_devices_than_colours_get_darker_ones),
    };

    return RUN_TESTS(tests);
}
