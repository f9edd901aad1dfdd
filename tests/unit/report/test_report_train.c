/* SPDX-License-Identifier: MIT */
/* Reports of training plans: relations between text, document, trace and measures that hold for
 * every plan, and what is said where there is none. */
#define _POSIX_C_SOURCE 200809L /* open_memstream */
#include "check.h"
#include "draw_training.h"

#include <stdlib.h>

#include "report.h"

/* --- plans of tests -------------------------------------------------------------------------- */

static const weft_page_more brief = {.is_brief = true};

typedef struct sample {
    drawn_training drawn;
    weft_arena *a;
    weft_train_solution solution, equal;
    weft_plan_origin origin;
    weft_train_report report;
} sample;

static bool open_sample(sample *s, uint64_t seed, weft_schedule schedule)
{
    weft_rng r = weft_rng_seed(seed);
    draw_training_ask constraints = {
        .is_dag = seed % 3 == 0, .is_contend = seed % 4 == 0, .has_shared = seed % 5 == 0};

    memset(s, 0, sizeof *s);
    s->drawn = draw_training(&constraints, &r);
    s->a = weft_arena_new();
    s->origin = (weft_plan_origin){.model = "network", .platform = "machine", .solver = "hand"};
    s->report = (weft_train_report){
        .problem = s->drawn.training, .solution = &s->solution, .origin = &s->origin};
    if (!draw_pipeline(s->drawn.training, schedule, &r, s->a, &s->solution.plan))
        return false;
    CHECK_OK(weft_train_plan_evaluate(s->drawn.training, &s->solution.plan, s->a,
                                      &s->solution.measures));
    s->solution.log.floor = (weft_train_bound_parts){.compute_s = s->solution.measures.step_s / 4,
                                                     .pipeline_s = s->solution.measures.step_s / 2};
    s->solution.proof = (weft_proof){.outcome = WEFT_BOUNDED,
                                     .value = s->solution.measures.step_s,
                                     .bound = s->solution.measures.step_s / 2,
                                     .gap = 0.5,
                                     .method = "pipeline"};
    return true;
}

static void close_sample(sample *s)
{
    drop_training(&s->drawn);
    weft_arena_free(s->a);
}

/* Calls `check` with random plans of all schedules; at least half of the draws have one. */
static void for_plans(void (*check)(const sample *s))
{
    int n = 0;

    for (int i = 0; i < 120; i++) {
        sample s;

        if (open_sample(&s, (uint64_t)i + 1, (weft_schedule)(i % WEFT_N_SCHEDULES))) {
            check(&s);
            n++;
        }
        close_sample(&s);
    }
    CHECK(n >= 60);
}

static const char *text_at(const sample *s, bool with_all, int width)
{
    const char *copy;
    char *text = NULL;
    size_t n = 0;
    FILE *to = open_memstream(&text, &n);

    weft_write_text(weft_train_facts(&s->report, &brief, s->a), with_all, width, to);
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

/* --- the document ---------------------------------------------------------------------------- */

static void check_doc(const sample *s)
{
    const weft_train_measures *m = &s->solution.measures;
    const weft_train_plan *plan = &s->solution.plan;
    double n_microbatches = (double)(s->drawn.training->constraints.batch / plan->microbatch);
    const weft_doc *d;
    double pass_s = 0, n_blocks = 0;
    const weft_doc *stages;

    d = weft_write_result(weft_train_facts(&s->report, &brief, s->a));
    stages = weft_doc_get(d, "stages");
    CHECK_INT(stages->n, plan->n_stages);
    for (int i = 0; i < stages->n; i++) {
        const weft_doc *stage = stages->item[i], *parts = weft_doc_get(stage, "parts");
        double samples = 0;

        pass_s +=
            real_of(stage, "forward_s") + real_of(stage, "backward_s") + real_of(stage, "again_s");
        n_blocks += real_of(stage, "units");
        for (int k = 0; k < parts->n; k++)
            samples += real_of(parts->item[k], "samples") * real_of(parts->item[k], "replicas");
        CHECK_NEAR(samples, (double)plan->microbatch);
    }
    CHECK_INT(n_blocks, s->drawn.training->blocks.n_blocks);
    CHECK_NEAR(pass_s * n_microbatches, m->compute_s + m->collective_s);
    CHECK_NEAR(real_of(weft_doc_get(d, "step"), "samples_per_s") * m->step_s,
               (double)s->drawn.training->constraints.batch);
    CHECK_TEXT(text_of(weft_doc_get(d, "bounds"), "binds"), "pipeline");
    CHECK(weft_doc_get(d, "equal")->kind == WEFT_DOC_NULL);
}

TEST(stages_add_up)
{
    for_plans(check_doc);
}

/* --- the trace ------------------------------------------------------------------------------- */

static bool is_span(const weft_doc *e)
{
    return strcmp(text_of(e, "ph"), "X") == 0;
}

static void check_apart(const weft_doc *x, const weft_doc *y)
{
    double x_end = real_of(x, "ts") + real_of(x, "dur"),
           y_end = real_of(y, "ts") + real_of(y, "dur");

    if (real_of(x, "pid") == real_of(y, "pid") && real_of(x, "tid") == real_of(y, "tid") &&
        real_of(x, "dur") > 0 && real_of(y, "dur") > 0)
        CHECK(real_of(x, "ts") >= y_end - 1e-6 || real_of(y, "ts") >= x_end - 1e-6);
}

static void check_trace(const sample *s)
{
    const weft_train_measures *m = &s->solution.measures;
    const weft_doc *events = weft_doc_get(
        weft_write_trace(weft_train_facts(&s->report, &brief, s->a), s->a), "traceEvents");
    double busy_s = 0, sent_s = 0;
    int n = 0, n_samples = 0, n_expected = 0;

    for (int i = 0; i < events->n; i++) {
        const weft_doc *e = events->item[i];

        n_samples += strcmp(text_of(e, "ph"), "C") == 0;
        if (!is_span(e))
            continue;
        n++;
        for (int k = 0; k < i; k++)
            if (is_span(events->item[k]))
                check_apart(e, events->item[k]);
        if (real_of(e, "tid") == 1)
            busy_s += real_of(weft_doc_get(e, "args"), "seconds");
        else
            sent_s += real_of(weft_doc_get(e, "args"), "seconds");
    }
    for (int i = 0; i < s->solution.plan.n_stages; i++)
        n_expected += m->n_memory[i];
    CHECK_INT(n, m->jobs->n_jobs);
    CHECK_INT(n_samples, n_expected);
    CHECK_NEAR(busy_s, m->compute_s + m->collective_s + m->sync_s + m->update_s);
    CHECK_NEAR(sent_s, m->send_s);
}

TEST(traces_have_all_jobs_and_none_cross)
{
    for_plans(check_trace);
}

/* --- the text -------------------------------------------------------------------------------- */

static int count(const char *text, const char *what)
{
    int n = 0;

    for (text = strstr(text, what); text != NULL; text = strstr(text + 1, what))
        n++;
    return n;
}

static void check_lines(const sample *s)
{
    static const int widths[] = {60, 80, 132};

    for (int i = 0; i < 3; i++) {
        const char *text = text_at(s, i % 2 == 1, widths[i]);

        for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
            if (strcspn(line, "\n") > (size_t)widths[i])
                fail_msg("%d: %.*s", widths[i], (int)strcspn(line, "\n"), line);
    }
}

TEST(lines_fit_the_width)
{
    for_plans(check_lines);
}

/* A stage that never idles has no '.', and one that does has no more of it than its idle time. */
static void check_charts(const sample *s)
{
    const weft_train_measures *m = &s->solution.measures;
    const char *text = text_at(s, true, 100);
    int n_full = 0; /* stages whose memory is worth a line */

    for (int i = 0; i < s->solution.plan.n_stages; i++)
        n_full += 10 * m->stage_peak_bytes[i] >= m->stage_room_bytes[i];
    CHECK_INT(count(text, " |"),
              s->solution.plan.n_stages + (count(text, "\n  transfers") > 0) + n_full);
    text = strstr(text, "what takes most");
    for (int i = 0; i < s->solution.plan.n_stages; i++) {
        int n_idle = 0, n_columns = 0;

        text = strchr(text, '|') + 1;
        for (; *text != '|'; text++, n_columns++)
            n_idle += *text == '.';
        text++;
        CHECK(n_columns > 0);
        /* more than half of such a slice is idle, or each of four kinds of work has less */
        CHECK(n_idle * m->step_s / n_columns * 0.2 <=
              (m->step_s - m->stage_busy_s[i]) * (1 + 1e-9) + 1e-12);
    }
}

TEST(charts_show_every_stage)
{
    for_plans(check_charts);
}

TEST(the_plan_for_equal_devices_is_set_beside)
{
    sample s;
    weft_doc *d;

    for (uint64_t seed = 1; !open_sample(&s, seed, WEFT_ONE_F_ONE_B); seed++)
        close_sample(&s);
    d = weft_doc_new(s.a, WEFT_DOC_MAP);
    CHECK(isnan(weft_train_speed_up(&s.report)));
    s.equal.proof.outcome = WEFT_BOUNDED;
    s.equal.measures.step_s = 1.5 * s.solution.measures.step_s;
    s.report.equal = &s.equal;
    CHECK_NEAR(weft_train_speed_up(&s.report), 1.5);
    CHECK_INT(count(text_at(&s, false, 80), "1.50x, a planner for equal devices takes"), 1);
    d = weft_write_result(weft_train_facts(&s.report, &brief, s.a));
    CHECK_NEAR(real_of(weft_doc_get(d, "equal"), "speed_up"), 1.5);
    s.equal.proof.outcome = WEFT_INFEASIBLE;
    CHECK(isnan(weft_train_speed_up(&s.report)));
    CHECK_INT(count(text_at(&s, false, 80), "a planner for equal devices finds no plan"), 1);
    close_sample(&s);
}

TEST(warnings_of_the_network_are_shown)
{
    const char *list[] = {"its own batch counts as one sample"};
    sample s;
    weft_train_problem copy;
    weft_doc *d;

    for (uint64_t seed = 1; !open_sample(&s, seed, WEFT_ONE_F_ONE_B); seed++)
        close_sample(&s);
    copy = *s.report.problem;
    copy.n_warnings = 1;
    copy.warning = list;
    CHECK_INT(count(text_at(&s, false, 80), "warning:"), 0);
    s.report.problem = &copy;
    CHECK_INT(count(text_at(&s, false, 80), "\n\n  warning: its own batch counts as one sample\n"),
              1);
    d = weft_doc_new(s.a, WEFT_DOC_MAP);
    d = weft_write_result(weft_train_facts(&s.report, &brief, s.a));
    CHECK_INT(weft_doc_get(d, "warnings")->n, 1);
    close_sample(&s);
}

TEST(without_a_plan_there_is_a_reason)
{
    sample s;
    weft_doc *d;

    for (uint64_t seed = 1; !open_sample(&s, seed, WEFT_ONE_F_ONE_B); seed++)
        close_sample(&s);
    s.solution = (weft_train_solution){
        .proof = {.outcome = WEFT_INFEASIBLE, .reason = "nothing fits"}
    };
    CHECK_INT(
        count(text_at(&s, false, 80),
              "There is no plan in the space that is searched: this is proved.\n  nothing fits\n"),
        1);
    d = weft_doc_new(s.a, WEFT_DOC_MAP);
    d = weft_write_result(weft_train_facts(&s.report, &brief, s.a));
    CHECK(weft_doc_get(d, "stages")->kind == WEFT_DOC_NULL);
    CHECK(weft_doc_get(d, "step")->kind == WEFT_DOC_NULL);
    CHECK_INT(
        weft_doc_get(weft_write_trace(weft_train_facts(&s.report, &brief, s.a), s.a), "traceEvents")
            ->n,
        0);
    close_sample(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stages_add_up),
        cmocka_unit_test(traces_have_all_jobs_and_none_cross),
        cmocka_unit_test(lines_fit_the_width),
        cmocka_unit_test(charts_show_every_stage),
        cmocka_unit_test(the_plan_for_equal_devices_is_set_beside),
        cmocka_unit_test(warnings_of_the_network_are_shown),
        cmocka_unit_test(without_a_plan_there_is_a_reason),
    };

    return RUN_TESTS(tests);
}
