/* SPDX-License-Identifier: MIT */
/* Two plans side by side: pairs whose differences follow from a few sums. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include "fields.h"
#include "fixtures.h"
#include "kind.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>

/* A problem with a plan whose devices are given as digits: "001". */
typedef struct made {
    weft_problem *p;
    weft_solution s;
    weft_plan_origin origin;
    weft_arena *a;
} made;

static made make(weft_problem *p, const char *device, double bound)
{
    made m = {.p = p, .a = weft_arena_new()};
    double value;

    m.s.plan = weft_plan_new(p->n_tasks, m.a);
    for (int u = 0; u < p->n_tasks; u++) {
        m.s.plan.device[u] = device[u] - '0';
        m.s.plan.start_s[u] = u;
    }
    CHECK_OK(weft_evaluate(p, &m.s.plan, m.a, &m.s.measures));
    value = weft_goal_value(p, &m.s.measures);
    m.s.proof = (weft_proof){.value = value,
                             .bound = bound,
                             .gap = (value - bound) / value,
                             .outcome = bound < value ? WEFT_BOUNDED : WEFT_OPTIMAL};
    m.origin = (weft_plan_origin){.model = "m", .solver = "x", .problem_hash = p->hash};
    return m;
}

static weft_side side_of(const made *m)
{
    weft_side side = {.a = m->a, .file = "f", .origin = &m->origin, .samples = NAN};

    weft_place_side(m->p, &m->s, &side);
    return side;
}

static void drop(made *m)
{
    weft_arena_free(m->a);
    weft_problem_free(m->p);
}

static double figure(const weft_diff_figure *f, int n, const char *key, int side)
{
    for (int i = 0; i < n; i++)
        if (strcmp(f[i].key, key) == 0)
            return f[i].value[side];
    fail_msg("no figure %s", key);
    return NAN;
}

static double value(const weft_diff *d, int place, const char *key, int side)
{
    for (int k = 0; k < d->side->n_columns; k++)
        if (strcmp(d->side->column[k].key, key) == 0)
            return d->places.at[place].value[side][k];
    fail_msg("no value %s", key);
    return NAN;
}

static const weft_diff_row *row(const weft_diff_row *r, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(r[i].name, name) == 0)
            return &r[i];
    return NULL;
}

/* All on P1: 2 + 3 + 4 = 9 s. T2 on P2: 2 + 3, 5 to send, 2: 12 s. */
static const char chain[] = "2 4/3 3/4 2; 0-1:5 1-2:5";

TEST(a_task_that_moves_takes_its_time_along)
{
    made x = make(fixture_tasks(chain), "000", 9), y = make(fixture_tasks(chain), "001", 8);
    weft_side side[2] = {side_of(&x), side_of(&y)};
    weft_diff d;

    weft_diff_plans(side, x.a, &d);
    CHECK_NEAR(d.value[0], 9.0);
    CHECK_NEAR(d.value[1], 12.0);
    CHECK_NEAR(d.ratio, 0.75);
    CHECK_INT(d.better, 0);
    CHECK(d.is_same_problem && d.is_proved && !d.is_same_plan);
    CHECK_INT(d.n_moves, 1);
    CHECK_TEXT(d.move[0].name, "T2");
    CHECK_TEXT(d.move[0].at[0], "P1");
    CHECK_TEXT(d.move[0].at[1], "P2");
    CHECK_NEAR(d.move[0].seconds[0], 4.0);
    CHECK_NEAR(d.move[0].seconds[1], 2.0);
    CHECK_NEAR(d.move[0].effect_s, 6.0);
    CHECK_INT(d.move[0].n_transfers[1], 1);
    CHECK_INT(d.move[0].n_transfers[0], 0);
    CHECK_NEAR(d.move[0].bytes[1], 5.0);
    CHECK_INT(d.n_transfers[1], 1);
    CHECK_INT(d.n_transfers[0], 0);
    CHECK_INT(d.n_stay, 2);
    CHECK_INT(d.n_shifted, 0); /* T0 and T1 start at 0 and 2 in both */
    CHECK_INT(d.places.n, 2);
    CHECK_NEAR(value(&d, 0, "busy_s", 0), 9.0);
    CHECK_NEAR(value(&d, 0, "busy_s", 1), 5.0);
    CHECK_NEAR(d.places.at[0].left_s, 4.0);
    CHECK_NEAR(d.places.at[1].came_s, 2.0);
    CHECK_NEAR(value(&d, 0, "sent", 1), 5.0);
    CHECK_NEAR(figure(d.chain.at, d.chain.n, "compute", 0), 9.0);
    CHECK_NEAR(figure(d.chain.at, d.chain.n, "compute", 1), 7.0);
    CHECK_NEAR(figure(d.chain.at, d.chain.n, "transfer", 1), 5.0);
    CHECK_NEAR(figure(d.figures.at, d.figures.n, "transfers", 1), 1.0);
    CHECK_INT(d.settings.n, 0);
    drop(&x);
    drop(&y);
}

TEST(a_plan_is_the_same_as_itself)
{
    made x = make(fixture_tasks(chain), "001", 8);
    weft_side side[2] = {side_of(&x), side_of(&x)};
    weft_diff d;

    weft_diff_plans(side, x.a, &d);
    CHECK(d.is_same_plan);
    CHECK_INT(d.better, -1);
    CHECK_NEAR(d.ratio, 1.0);
    CHECK(!d.is_proved); /* the bound is 8 s, the value 12 s */
    CHECK(strstr(d.claim, "no plan takes less than 8 s, 33.3 % below them") != NULL);
    CHECK_INT(d.n_moves + d.settings.n + d.decisions.n + d.n_transfers[1] + d.n_transfers[0], 0);
    CHECK_INT(d.n_stay, 3);
    drop(&x);
}

/* Devices as they were, but T1 before T0: 3 + 2 instead of 2 + 3. */
TEST(another_order_is_another_plan)
{
    made x = make(fixture_tasks("2 9/3 9;"), "00", 5), y = make(fixture_tasks("2 9/3 9;"), "00", 5);
    weft_side side[2];
    weft_diff d;

    y.s.plan.start_s[0] = 3;
    y.s.plan.start_s[1] = 0;
    CHECK_OK(weft_evaluate(y.p, &y.s.plan, y.a, &y.s.measures));
    side[0] = side_of(&x);
    side[1] = side_of(&y);
    weft_diff_plans(side, x.a, &d);
    CHECK_INT(d.n_moves, 0);
    CHECK_INT(d.n_shifted, 2);
    CHECK(!d.is_same_plan);
    drop(&x);
    drop(&y);
}

/* T1 and T2 follow each other and go together; T3 hangs on T0, which stays. Both were sent what T0
 * makes as one transfer each (edges are tensors of their own here). */
TEST(neighbours_that_move_are_one_stretch)
{
    const char text[] = "1 1/2 2/3 3/7 7; 0-1:1 1-2:1 0-3:1";
    made x = make(fixture_tasks(text), "0000", 13), y = make(fixture_tasks(text), "0111", 5);
    weft_side side[2] = {side_of(&x), side_of(&y)};
    weft_diff d;

    weft_diff_plans(side, x.a, &d);
    CHECK_INT(d.n_moves, 3);
    CHECK_INT(d.n_stretches, 2);
    CHECK_INT(d.stretch[0].n, 1); /* T3: 7 + 7 s */
    CHECK_TEXT(d.move[d.stretch[0].first].name, "T3");
    CHECK_NEAR(d.stretch[0].effect_s, 14.0);
    CHECK_INT(d.stretch[1].n, 2); /* T1, T2: 5 + 5 s */
    CHECK_TEXT(d.move[d.stretch[1].first].name, "T1");
    CHECK_NEAR(d.stretch[1].seconds[0], 5.0);
    CHECK_INT(d.stretch[1].n_transfers[1], 1); /* T0's, not the one between them */
    CHECK_INT(d.n_transfers[1], 2);
    drop(&x);
    drop(&y);
}

/* A has T0 T1, B has T0 T1 T2 of other times: the network was changed. */
TEST(tasks_of_one_plan_only_are_listed)
{
    made x = make(fixture_tasks("2 2/3 3; 0-1:1"), "00", 5);
    made y = make(fixture_tasks("2 2/4 4/1 1; 0-1:1 1-2:1"), "000", 7);
    weft_side side[2] = {side_of(&x), side_of(&y)};
    weft_diff d;

    y.origin.model_hash = 1;
    weft_diff_plans(side, x.a, &d);
    CHECK_INT(d.n_only[0], 0);
    CHECK_INT(d.n_only[1], 1);
    CHECK_TEXT(d.only[1][0], "T2");
    CHECK(!d.is_same_problem);
    CHECK(d.is_proved); /* A takes 5 s, no plan of B's problem less than 7 s */
    CHECK(strstr(d.claim, "no plan for the problem of B is as fast as A; all take at least 7 s"));
    CHECK(row(d.settings.at, d.settings.n, "model") != NULL);
    CHECK_NEAR(d.places.at[0].only_s[1], 1.0);
    CHECK_NEAR(d.places.at[0].stay_s[0], 5.0);
    CHECK_NEAR(d.places.at[0].stay_s[1], 6.0);
    drop(&x);
    drop(&y);
}

TEST(what_is_not_proved_is_not_claimed)
{
    made x = make(fixture_tasks("2 2/3 3; 0-1:1"), "00", 5);
    made y = make(fixture_tasks("2 2/4 4; 0-1:1"), "00", 4.5); /* 6 s, perhaps 4.5 s */
    weft_side side[2] = {side_of(&x), side_of(&y)};
    weft_diff d;

    weft_diff_plans(side, x.a, &d);
    CHECK_INT(d.better, 0);
    CHECK(!d.is_proved);
    CHECK(strstr(d.claim, "not proved: one for the problem of B may take as little as 4.5 s"));
    drop(&x);
    drop(&y);
}

/* 5 s for 1 sample, 6 s for 4: B is better, and proved to be only per sample. */
TEST(batches_that_differ_are_compared_by_the_sample)
{
    made x = make(fixture_tasks("2 2/3 3; 0-1:1"), "00", 5);
    made y = make(fixture_tasks("2 2/4 4; 0-1:1"), "00", 6);
    weft_side side[2] = {side_of(&x), side_of(&y)};
    weft_diff d;

    side[0].samples = 1;
    side[1].samples = 4;
    weft_diff_plans(side, x.a, &d);
    CHECK(d.is_per_sample && d.is_proved);
    CHECK_INT(d.better, 1);
    CHECK_NEAR(d.value[1], 1.5);
    CHECK_NEAR(d.ratio, 5 / 1.5);
    drop(&x);
    drop(&y);
}

TEST(goals_that_differ_are_not_compared)
{
    made x = make(fixture_tasks(chain), "000", 9), y;
    weft_problem *p = fixture_tasks(chain);
    weft_diff d;

    p->constraints.goal = WEFT_THROUGHPUT;
    y = make(p, "000", 9);
    y.origin.problem_hash = 1;
    weft_side side[2] = {side_of(&x), side_of(&y)};
    weft_diff_plans(side, x.a, &d);
    CHECK(!d.is_comparable && !d.is_proved && isnan(d.ratio));
    CHECK_INT(d.better, -1);
    CHECK(row(d.settings.at, d.settings.n, "goal") != NULL);
    drop(&x);
    drop(&y);
}

/* --- platforms ------------------------------------------------------------------------------- */

static void differ(const char *before, const char *after, weft_arena *a, weft_diff *d,
                   weft_platform *p[2])
{
    const char *text[2] = {before, after};
    static weft_side side[2];
    made *m = WEFT_NEW(a, made, 2);

    for (int s = 0; s < 2; s++) {
        CHECK_OK(weft_platform_parse(text[s], strlen(text[s]), "p.yaml", &p[s]));
        m[s] = make(fixture_tasks(chain), "000", 9);
        m[s].origin.platform = "p.yaml";
        m[s].origin.platform_hash = p[s]->hash;
        side[s] = (weft_side){
            .a = a, .file = "f", .origin = &m[s].origin, .samples = NAN, .platform = p[s]};
        weft_place_side(m[s].p, &m[s].s, &side[s]);
    }
    weft_diff_plans(side, a, d);
    for (int s = 0; s < 2; s++)
        drop(&m[s]);
}

static const char platform_text[] =
    "schema: weft.platform/1\nname: p\nhost: cpu\ndevices:\n"
    "  - {name: cpu, model: roofline, peak_flops: 1e12, memory_bandwidth: 1e11}\n"
    "  - {name: gpu, count: 3, model: roofline, peak_flops: %s, memory_bandwidth: 9e11, "
    "memory: %s}\n"
    "links:\n  - {star: {center: cpu, to: [gpu]}, bandwidth: %s, latency: 10us}\n";

TEST(platforms_differ_by_kinds_of_devices_and_links)
{
    weft_arena *a = weft_arena_new();
    const char *before = weft_arena_print(a, platform_text, "1e13", "8GB", "12GB/s");
    const char *after = weft_arena_print(a, platform_text, "2e13", "8GB", "24GB/s");
    weft_platform *p[2];
    const weft_diff_row *r;
    weft_diff d;

    differ(before, after, a, &d, p);
    r = row(d.settings.at, d.settings.n, "gpu (3 devices) peak_flops");
    CHECK(r != NULL);
    CHECK_TEXT(r->text[0], "10 TFLOP/s");
    CHECK_TEXT(r->text[1], "20 TFLOP/s");
    r = row(d.settings.at, d.settings.n, "link cpu - gpu (3 links)");
    CHECK(r != NULL);
    CHECK_TEXT(r->text[0], "12 GB/s, 10 us");
    CHECK_TEXT(r->text[1], "24 GB/s, 10 us");
    CHECK(row(d.settings.at, d.settings.n, "platform") != NULL); /* other content of that name */
    CHECK_INT(d.settings.n, 3);
    weft_platform_free(p[0]);
    weft_platform_free(p[1]);
    weft_arena_free(a);
}

TEST(equal_platforms_do_not_differ)
{
    weft_arena *a = weft_arena_new();
    const char *text = weft_arena_print(a, platform_text, "1e13", "8GB", "12GB/s");
    weft_platform *p[2];
    weft_diff d;

    differ(text, text, a, &d, p);
    CHECK_INT(d.settings.n, 0);
    CHECK(d.is_same_plan);
    weft_platform_free(p[0]);
    weft_platform_free(p[1]);
    weft_arena_free(a);
}

TEST(a_device_of_one_platform_only_is_named)
{
    weft_arena *a = weft_arena_new();
    const char *before = weft_arena_print(a, platform_text, "1e13", "8GB", "12GB/s");
    const char *after = "schema: weft.platform/1\nname: p\nhost: cpu\ndevices:\n"
                        "  - {name: cpu, model: roofline, peak_flops: 1e12, memory_bandwidth: 1e11}"
                        "\n";
    weft_platform *p[2];
    const weft_diff_row *r;
    weft_diff d;

    differ(before, after, a, &d, p);
    r = row(d.settings.at, d.settings.n, "devices that one has only");
    CHECK(r != NULL);
    CHECK_TEXT(r->text[0], "gpu-0 gpu-1 gpu-2");
    CHECK(r->text[1] == NULL);
    CHECK_INT(d.settings.n, 2); /* their links are no news */
    weft_platform_free(p[0]);
    weft_platform_free(p[1]);
    weft_arena_free(a);
}

/* --- text ------------------------------------------------------------------------------------ */

static void check_width(const weft_diff *d, int width)
{
    char *text = NULL;
    size_t n = 0;
    FILE *to = open_memstream(&text, &n);
    int column = 0;

    weft_diff_text(d, 10, width, to);
    fclose(to);
    for (size_t i = 0; i < n; i++) {
        column = text[i] == '\n' ? 0 : column + ((text[i] & 0xc0) != 0x80);
        if (column > width)
            fail_msg("a line is longer than %d columns:\n%s", width, text);
        CHECK(text[i] != '\033' && text[i] != '\t');
    }
    CHECK(n > 100 && text[n - 1] == '\n');
    free(text);
}

TEST(text_keeps_to_the_width)
{
    const char text[] = "1 1/2 2/3e9 3e-9/7 7; 0-1:1e18 1-2:1 0-3:1";
    made x = make(fixture_tasks(text), "0000", 13), y = make(fixture_tasks(text), "0111", 5e-9);
    weft_side side[2];
    const char *name[] = {"a_very_long_name_of_a_task_that_nobody_would_type", "b\xc3\xa9ta", "c",
                          "another_name_that_is_longer_than_a_column_has_room_for"};
    const char *device[] = {"rack12.server-with-a-long-name.accelerator0", "g"};
    weft_diff d;

    x.p->task_name = y.p->task_name = name;
    x.p->device_name = y.p->device_name = device;
    side[0] = side_of(&x);
    side[1] = side_of(&y);
    side[0].file = "a/folder/with/folders/above/it/plan.json"; /* a word is not cut */
    weft_diff_plans(side, x.a, &d);
    for (int width = 60; width <= 120; width += 20)
        check_width(&d, width);
    drop(&x);
    drop(&y);
}

/* Characters of East Asia take two columns, marks above others none; nothing is cut in two. */
TEST(names_are_cut_by_columns)
{
    const char wide[] = "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\xe6\x97\xa5\xe6\x9c\xac";
    char text[WEFT_SHORT_BYTES];

    CHECK_INT(weft_columns("a\xc3\xa9"), 2);
    CHECK_INT(weft_columns("ae\xcc\x81"), 2); /* e and an accent of its own */
    CHECK_INT(weft_columns(wide), 10);
    CHECK_INT(weft_columns("\xff\xfe"), 2); /* no UTF-8 */
    CHECK_TEXT(weft_shorten(wide, 10, text), wide);
    for (int columns = 2; columns < 10; columns++) {
        int n = weft_columns(weft_shorten(wide, columns, text));

        CHECK(n <= columns && n >= columns - 2);
        CHECK(strstr(text, "..") != NULL);
    }
    CHECK_TEXT(weft_shorten(wide, 8, text), "\xe6\x97\xa5..\xe6\x9c\xac");
    CHECK_TEXT(weft_shorten("abcdefgh", 6, text), "ab..gh");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_task_that_moves_takes_its_time_along),
        cmocka_unit_test(a_plan_is_the_same_as_itself),
        cmocka_unit_test(another_order_is_another_plan),
        cmocka_unit_test(neighbours_that_move_are_one_stretch),
        cmocka_unit_test(tasks_of_one_plan_only_are_listed),
        cmocka_unit_test(what_is_not_proved_is_not_claimed),
        cmocka_unit_test(batches_that_differ_are_compared_by_the_sample),
        cmocka_unit_test(goals_that_differ_are_not_compared),
        cmocka_unit_test(platforms_differ_by_kinds_of_devices_and_links),
        cmocka_unit_test(equal_platforms_do_not_differ),
        cmocka_unit_test(a_device_of_one_platform_only_is_named),
        cmocka_unit_test(text_keeps_to_the_width),
        cmocka_unit_test(names_are_cut_by_columns),
    };

    return RUN_TESTS(tests);
}
