/* SPDX-License-Identifier: MIT */
/* Reports of sharded networks: relations between text, document, trace and measures that hold for
 * every plan, and what is said where there is none. */
#define _POSIX_C_SOURCE 200809L /* open_memstream */
#include "check.h"
#include "draw_shards.h"

#include <stdlib.h>

#include "report.h"

/* --- plans of tests -------------------------------------------------------------------------- */

static const weft_page_more brief = {.is_brief = true};

typedef struct sample {
    weft_arena *a;
    weft_shard_case c;
    weft_shard_solution solution;
    weft_shard_baseline baseline[3];
    weft_plan_origin origin;
    weft_shard_report report;
} sample;

static void open_sample(sample *s, const char *model, const char *platform, bool is_concurrent)
{
    weft_shard_constraints constraints = {.is_concurrent = is_concurrent};

    memset(s, 0, sizeof *s);
    s->a = weft_arena_new();
    s->c = draw_case(model, platform, &constraints);
    s->origin = (weft_plan_origin){.model = model, .platform = "machine", .solver = "hand"};
    s->report = (weft_shard_report){
        .problem = s->c.sharding, .solution = &s->solution, .origin = &s->origin};
}

static void draw(sample *s, uint64_t seed)
{
    weft_rng r = weft_rng_seed(seed);
    weft_proof *proof = &s->solution.proof;

    s->solution.plan = draw_shards(s->c.sharding, &r, s->a);
    CHECK_OK(
        weft_shard_plan_evaluate(s->c.sharding, &s->solution.plan, s->a, &s->solution.measures));
    *proof = (weft_proof){.outcome = WEFT_BOUNDED,
                          .value = s->solution.measures.latency_s,
                          .bound = s->solution.measures.latency_s / 2,
                          .gap = 0.5,
                          .method = "floor"};
}

static void close_sample(sample *s)
{
    weft_shard_case_close(&s->c);
    weft_arena_free(s->a);
}

static const char *text_at(const sample *s, bool with_layers, int width)
{
    const char *copy;
    char *text = NULL;
    size_t n = 0;
    FILE *to = open_memstream(&text, &n);

    weft_write_text(weft_shard_facts(&s->report, &brief, s->a), with_layers, width, to);
    fclose(to);
    copy = weft_arena_text(s->a, text, n);
    free(text);
    return copy;
}

static double real_of(const weft_doc *map, const char *key)
{
    const weft_doc *d = weft_doc_get(map, key);

    CHECK(d != NULL);
    return d->real;
}

static const char *text_of(const weft_doc *map, const char *key)
{
    const weft_doc *d = weft_doc_get(map, key);

    CHECK(d != NULL && d->kind == WEFT_DOC_TEXT);
    return d->text;
}

/* Calls `check` with random plans of several networks and platforms, both ways to count time. */
static void for_plans(void (*check)(const sample *s))
{
    static const char *const networks[] = {"alexnet", "googlenet:image=64",
                                           "bert:layers=2,seq=16,hidden=48"};
    const char *const platforms[] = {draw_mixed, draw_hostless, draw_hiding};

    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 6; k++) {
            sample s;

            open_sample(&s, networks[i], platforms[k / 2], k % 2 == 1);
            draw(&s, (uint64_t)(10 * i + k + 1));
            check(&s);
            close_sample(&s);
        }
}

/* --- the document ---------------------------------------------------------------------------- */

static const char *const kinds[] = {"compute_s", "rotate_s",   "reduce_s",
                                    "reshard_s", "handover_s", "host_s"};

static void check_doc(const sample *s)
{
    const weft_shard_plan_measures *m = &s->solution.measures;
    const double expected[] = {m->compute_s, m->rotate_s,   m->reduce_s,
                               m->reshard_s, m->handover_s, m->host_s};
    const weft_doc *d;
    const weft_doc *steps, *sets;
    int64_t n_steps = 0, n;
    double all_s = 0;

    d = weft_write_result(weft_shard_facts(&s->report, &brief, s->a));
    steps = weft_doc_get(d, "steps");
    sets = weft_doc_get(d, "sets");
    CHECK_INT(steps->n, s->solution.plan.n_steps);
    CHECK_INT(sets->n, s->solution.plan.n_sets);
    for (int k = 0; k < 6; k++) {
        double sum_s = 0;

        for (int v = 0; v < steps->n; v++)
            sum_s += real_of(steps->item[v], kinds[k]);
        CHECK_NEAR(sum_s, expected[k]);
        CHECK_NEAR(real_of(weft_doc_get(d, "times"), kinds[k]), expected[k]);
        all_s += expected[k];
    }
    for (int i = 0; i < sets->n; i++) {
        CHECK_OK(weft_doc_int(sets->item[i], "steps", 0, steps->n, &n));
        n_steps += n;
        CHECK_INT(weft_doc_get(sets->item[i], "devices")->n, s->solution.plan.set[i].n);
        CHECK(real_of(sets->item[i], "utilisation") <= 1);
    }
    CHECK_INT(n_steps, steps->n);
    if (!s->c.sharding->constraints.is_concurrent && !s->c.sharding->hides)
        CHECK_NEAR(all_s, m->latency_s);
    CHECK(all_s >= m->latency_s * (1 - 1e-9));
}

TEST(times_of_steps_add_up)
{
    for_plans(check_doc);
}

/* --- the trace ------------------------------------------------------------------------------- */

static bool is_span(const weft_doc *e)
{
    return strcmp(text_of(e, "ph"), "X") == 0;
}

static bool is_same_row(const weft_doc *x, const weft_doc *y)
{
    return real_of(x, "pid") == real_of(y, "pid") && real_of(x, "tid") == real_of(y, "tid");
}

static void check_apart(const weft_doc *x, const weft_doc *y)
{
    double x_end = real_of(x, "ts") + real_of(x, "dur"),
           y_end = real_of(y, "ts") + real_of(y, "dur");

    if (real_of(x, "dur") > 0 && real_of(y, "dur") > 0 && is_same_row(x, y))
        CHECK(real_of(x, "ts") >= y_end - 1e-6 || real_of(y, "ts") >= x_end - 1e-6);
}

static int n_wide; /* rows of communication beside each other that were seen */

static void check_trace(const sample *s)
{
    const weft_doc *events = weft_doc_get(
        weft_write_trace(weft_shard_facts(&s->report, &brief, s->a), s->a), "traceEvents");
    double busy_s = 0, send_s = 0;
    const weft_shard_plan_measures *m = &s->solution.measures;
    int n = 0;

    for (int i = 0; i < events->n; i++) {
        const weft_doc *e = events->item[i];

        n_wide += strcmp(text_of(e, "ph"), "M") == 0 && real_of(e, "tid") > 2;
        if (!is_span(e))
            continue;
        n++;
        for (int k = 0; k < i; k++)
            if (is_span(events->item[k]))
                check_apart(e, events->item[k]);
        if (real_of(e, "tid") == 1)
            busy_s += real_of(weft_doc_get(e, "args"), "seconds");
        else
            send_s += real_of(weft_doc_get(e, "args"), "seconds");
    }
    CHECK_INT(n, m->jobs->n_jobs);
    CHECK_NEAR(busy_s, m->compute_s);
    CHECK_NEAR(send_s, m->rotate_s + m->reduce_s + m->reshard_s + m->handover_s + m->host_s);
}

TEST(traces_have_all_jobs_and_none_cross)
{
    for_plans(check_trace);
    CHECK(n_wide > 0);
}

/* --- the text -------------------------------------------------------------------------------- */

static void check_lines(const sample *s)
{
    static const int widths[] = {60, 80, 132};

    for (int i = 0; i < 3; i++) {
        const char *text = text_at(s, i % 2 == 1, widths[i]);

        for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
            if (strcspn(line, "\n") > (size_t)widths[i])
                fail_msg("%.*s", (int)strcspn(line, "\n"), line);
    }
}

TEST(lines_fit_the_width)
{
    for_plans(check_lines);
}

static int count(const char *text, const char *what)
{
    int n = 0;

    for (text = strstr(text, what); text != NULL; text = strstr(text + 1, what))
        n++;
    return n;
}

TEST(layers_shows_all_steps_and_without_it_the_longest)
{
    sample s;
    const char *few, *all;

    open_sample(&s, "resnet18:image=64", draw_mixed, false);
    draw(&s, 1);
    few = text_at(&s, false, 80);
    all = text_at(&s, true, 80);
    CHECK_INT(count(all, "\n  conv_"), 20);
    CHECK(count(few, "\n  conv_") <= 16 && count(few, "--layers shows all") == 1);
    CHECK_INT(count(all, "--layers"), 0);
    close_sample(&s);
}

TEST(baselines_are_set_beside)
{
    sample s;
    double value_s;
    const char *text;

    open_sample(&s, "alexnet", draw_mixed, false);
    draw(&s, 2);
    value_s = s.solution.measures.latency_s;
    s.baseline[0] = (weft_shard_baseline){"slow", WEFT_BOUNDED, 4 * value_s};
    s.baseline[1] = (weft_shard_baseline){"fast", WEFT_BOUNDED, value_s / 1.5};
    s.baseline[2] = (weft_shard_baseline){"stuck", WEFT_UNKNOWN, NAN};
    s.report.baseline = s.baseline;
    s.report.n_baselines = 3;
    CHECK_NEAR(weft_shard_reduction(&s.report, &s.baseline[0]), 0.75);
    CHECK_NEAR(weft_shard_reduction(&s.report, &s.baseline[1]), -0.5);
    CHECK(isnan(weft_shard_reduction(&s.report, &s.baseline[2])));
    text = text_at(&s, false, 80);
    CHECK_INT(count(text, "against slow   75.0 % lower"), 1);
    CHECK_INT(count(text, "against fast   50.0 % higher"), 1);
    CHECK_INT(count(text, "against stuck  -, it has no plan"), 1);
    close_sample(&s);
}

TEST(without_a_plan_there_is_a_reason)
{
    sample s;
    weft_doc *d;
    const char *text;

    open_sample(&s, "alexnet", draw_mixed, false);
    s.solution.proof = (weft_proof){.outcome = WEFT_INFEASIBLE, .reason = "nothing fits"};
    text = text_at(&s, false, 80);
    CHECK_INT(count(text, "There is no plan: this is proved.\n  nothing fits\n"), 1);
    d = weft_doc_new(s.a, WEFT_DOC_MAP);
    d = weft_write_result(weft_shard_facts(&s.report, &brief, s.a));
    CHECK(weft_doc_get(d, "sets")->kind == WEFT_DOC_NULL);
    CHECK(weft_doc_get(d, "steps")->kind == WEFT_DOC_NULL);
    CHECK_INT(
        weft_doc_get(weft_write_trace(weft_shard_facts(&s.report, &brief, s.a), s.a), "traceEvents")
            ->n,
        0);
    close_sample(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_of_steps_add_up),
        cmocka_unit_test(traces_have_all_jobs_and_none_cross),
        cmocka_unit_test(lines_fit_the_width),
        cmocka_unit_test(layers_shows_all_steps_and_without_it_the_longest),
        cmocka_unit_test(baselines_are_set_beside),
        cmocka_unit_test(without_a_plan_there_is_a_reason),
    };

    return RUN_TESTS(tests);
}
