/* SPDX-License-Identifier: MIT */
/* Reports of plans and platforms: exact texts of small plans, documents checked by what they must
 * say, and relations that hold for every plan. */
#define _POSIX_C_SOURCE 200809L /* open_memstream */
#include "check.h"

#include <stdlib.h>

#include "weft/report.h"

/* --- plans of tests -------------------------------------------------------------------------- */

/* A problem with a plan and all that a report of it needs. */
typedef struct sample {
    weft_arena *a;
    weft_problem *p;
    weft_solution solution;
    weft_plan_origin origin;
    weft_report report;
} sample;

static void open_sample(sample *s, weft_problem *p)
{
    *s = (sample){.a = weft_arena_new(), .p = p};
    s->solution.plan = weft_plan_new(p->n_tasks, s->a);
    s->origin = (weft_plan_origin){.model = "net", .platform = "machine", .solver = "hand"};
    s->report = (weft_report){.problem = p, .origin = &s->origin, .best_single_s = NAN};
}

/* Simulates the plan; the proof says nothing but the value. */
static void evaluate(sample *s)
{
    weft_proof *proof = &s->solution.proof;

    CHECK_OK(weft_evaluate(s->p, &s->solution.plan, s->a, &s->solution.measures));
    proof->outcome = WEFT_BOUNDED;
    proof->value = weft_goal_value(s->p, &s->solution.measures);
    proof->gap = 1;
    s->report.solution = &s->solution;
}

static void set_bound(sample *s, double bound, const char *method)
{
    weft_proof *proof = &s->solution.proof;

    proof->bound = bound;
    proof->method = method;
    proof->gap = (proof->value - bound) / proof->value;
    proof->outcome = proof->gap > 0 ? WEFT_BOUNDED : WEFT_OPTIMAL;
}

static void close_sample(sample *s)
{
    weft_problem_free(s->p);
    weft_arena_free(s->a);
}

static weft_problem *problem_of(const char *json, weft_goal goal)
{
    weft_arena *a = weft_arena_new();
    const weft_doc *d = NULL;
    weft_problem *p = NULL;

    CHECK_OK(weft_doc_parse(json, strlen(json), "test", a, &d));
    CHECK_OK(weft_problem_parse(d, false, goal, &p));
    weft_arena_free(a);
    return p;
}

/* a takes 2 s on P1, b 3 s there, c 4 s on P2; c gets 1 unit from a, which takes 1 s:
 *   P1  a a b b b . .
 *   P2  . . . c c c c      7 s in all */
static void open_small(sample *s, weft_goal goal)
{
    open_sample(s, problem_of("{\"schema\": \"weft.tasks/1\", \"devices\": [\"P1\", \"P2\"],"
                              " \"tasks\": [{\"name\": \"a\", \"seconds\": [2, 3]},"
                              " {\"name\": \"b\", \"seconds\": [3, 3], \"memory\": 1000},"
                              " {\"name\": \"c\", \"seconds\": [5, 4]}],"
                              " \"edges\": [{\"from\": \"a\", \"to\": \"b\", \"amount\": 5},"
                              " {\"from\": \"a\", \"to\": \"c\", \"amount\": 1}],"
                              " \"capacity\": [4000, null]}",
                              goal));
    s->solution.plan.device[2] = 1;
    s->solution.plan.start_s[1] = 2;
    s->solution.plan.start_s[2] = 3;
    s->origin.platform = NULL;
    evaluate(s);
}

/* A random problem and plan: up to 3 results a task, several readers, every third with a host. */
typedef struct random_parts {
    double *seconds, *amount, *latency_s, *second_per_byte;
    bool *is_output;
    int *producer, *reader_at, *reader;
    const char **task_name, **device_name;
} random_parts;

static void random_tensors(weft_rng *r, weft_problem_spec *s, random_parts *x)
{
    int n_reads = 0;

    for (int t = 0; t < s->n_tensors; t++) {
        int from = x->producer[t] = t == 0 ? -1 : (t - 1) % s->n_tasks;

        x->amount[t] = weft_rng_below(r, 5);
        x->reader_at[t] = n_reads;
        for (int v = from + 1, n = 0; v < s->n_tasks && n < 4; v++)
            if (weft_rng_below(r, 3) == 0) {
                x->reader[n_reads++] = v;
                n++;
            }
        x->is_output[t] = n_reads == x->reader_at[t];
    }
    x->reader_at[s->n_tensors] = n_reads;
}

static weft_problem *random_problem(uint64_t seed, int n_tasks, int n_devices)
{
    weft_rng r = weft_rng_seed(seed);
    weft_arena *a = weft_arena_new();
    weft_problem *p = NULL;
    weft_problem_spec s = {.name = "random",
                           .n_tasks = n_tasks,
                           .n_devices = n_devices,
                           .n_tensors = 1 + n_tasks + n_tasks / 2,
                           .host = seed % 3 == 0 ? 0 : -1,
                           .transfer = (weft_transfer)(seed % 3),
                           .goal = seed % 2 ? WEFT_LATENCY : WEFT_THROUGHPUT};
    random_parts x = {
        .seconds = WEFT_NEW(a, double, n_tasks *n_devices),
        .amount = WEFT_NEW(a, double, s.n_tensors),
        .latency_s = WEFT_NEW(a, double, n_devices *n_devices),
        .second_per_byte = WEFT_NEW(a, double, n_devices *n_devices),
        .is_output = WEFT_NEW(a, bool, s.n_tensors),
        .producer = WEFT_NEW(a, int, s.n_tensors),
        .reader_at = WEFT_NEW(a, int, s.n_tensors + 1),
        .reader = WEFT_NEW(a, int, 4 * s.n_tensors),
        .task_name = WEFT_NEW(a, const char *, n_tasks),
        .device_name = WEFT_NEW(a, const char *, n_devices),
    };

    for (int i = 0; i < n_tasks * n_devices; i++)
        x.seconds[i] = weft_rng_below(&r, 8);
    for (int i = 0; i < n_devices * n_devices; i++) {
        x.latency_s[i] = i % (n_devices + 1) ? 0.5 * weft_rng_below(&r, 3) : 0;
        x.second_per_byte[i] = i % (n_devices + 1) ? 0.5 * weft_rng_below(&r, 3) : 0;
    }
    for (int u = 0; u < n_tasks; u++)
        x.task_name[u] = weft_arena_print(a, "task %d", u);
    for (int d = 0; d < n_devices; d++)
        x.device_name[d] = weft_arena_print(a, "device%d", d);
    random_tensors(&r, &s, &x);
    s.task_name = x.task_name, s.device_name = x.device_name;
    s.seconds = x.seconds, s.amount = x.amount, s.is_output = x.is_output;
    s.producer = x.producer, s.reader_at = x.reader_at, s.reader = x.reader;
    s.latency_s = x.latency_s, s.second_per_byte = x.second_per_byte;
    CHECK_OK(weft_problem_make(&s, &p));
    weft_arena_free(a);
    return p;
}

static void open_random(sample *s, uint64_t seed, int n_tasks, int n_devices)
{
    weft_rng r = weft_rng_seed(seed + 1000);

    open_sample(s, random_problem(seed, n_tasks, n_devices));
    for (int u = 0; u < n_tasks; u++) {
        s->solution.plan.device[u] = weft_rng_below(&r, n_devices);
        s->solution.plan.start_s[u] = u; /* an order that agrees with the dependences */
    }
    evaluate(s);
}

/* --- texts ----------------------------------------------------------------------------------- */

/* What was written; the caller frees it. */
static char *plan_text(const sample *s, int width)
{
    char *text = NULL;
    size_t n = 0;
    FILE *to = open_memstream(&text, &n);

    weft_report_text(&s->report, width, to);
    fclose(to);
    return text;
}

static char *dot_text(const sample *s)
{
    char *text = NULL;
    size_t n = 0;
    FILE *to = open_memstream(&text, &n);

    weft_report_dot(&s->report, to);
    fclose(to);
    return text;
}

static char *platform_text(const weft_platform *p)
{
    char *text = NULL;
    size_t n = 0;
    FILE *to = open_memstream(&text, &n);

    weft_platform_text(p, to);
    fclose(to);
    return text;
}

/* Characters of the longest line; bytes that continue a UTF-8 character do not count. */
static int longest_line(const char *text)
{
    int longest = 0, n = 0;

    for (; *text; text++) {
        n = *text == '\n' ? 0 : n + (((unsigned char)*text & 0xc0) != 0x80);
        longest = n > longest ? n : longest;
    }
    return longest;
}

static int count(const char *text, const char *part)
{
    int n = 0;

    for (const char *at = text; (at = strstr(at, part)) != NULL; at += strlen(part))
        n++;
    return n;
}

#define CHECK_HAS(text, part)                                                                      \
    do {                                                                                           \
        if (strstr(text, part) == NULL)                                                            \
            fail_msg("'%s' is not in:\n%s", part, text);                                           \
    } while (0)

/* --- text of plans --------------------------------------------------------------------------- */

TEST(a_small_plan_is_told_in_full)
{
    sample s;
    char *text;

    open_small(&s, WEFT_LATENCY);
    set_bound(&s, 6, "path"); /* (7 - 6) / 7 = 14.3 % */
    s.report.best_single_s = 2 + 3 + 5;
    s.report.best_single = "P1"; /* 10 / 7 = 1.43; 10 / 6 = 1.67 */
    text = plan_text(&s, 60);
    /* the chart has 60 - 2 - 9 - 3 = 46 slices of 7 / 46 s: P1 until 5 s = 32.86 slices, P2 and
     * the transfer's end at 3 s = 19.71 slices, its start at 2 s = 13.14 slices */
    CHECK_TEXT(text, "net, lowest latency, solver hand\n"
                     "\n"
                     "  latency       7 s\n"
                     "  bound         6 s  (path)  gap 14.3 %\n"
                     "  speed-up      1.43x over the best single device (P1: 10\n"
                     "                s); at most 1.67x is possible\n"
                     "  sent          1 units in 1 transfer\n"
                     "\n"
                     "  device          busy   utilised  peak memory           of\n"
                     "  P1               5 s     71.4 %      1.00 kB      4.00 kB\n"
                     "  P2               4 s     57.1 %          0 B    unlimited\n"
                     "\n"
                     "why it takes 7 s: 6 s computing, 1 s sending\n"
                     "           2 s  a on P1\n"
                     "           1 s  result of a from P1 to P2, 1 units\n"
                     "           4 s  c on P2\n"
                     "\n"
                     "busy: # more than half of the time, + less, . idle; a mark\n"
                     "is 152.2 ms\n");
    free(text);
    close_sample(&s);
}

static const weft_report *report_of(const sample *s)
{
    return &s->report;
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_small_plan_is_told_in_full),
};

int main(void)
{
    (void)report_of; (void)open_random; (void)dot_text; (void)platform_text; (void)longest_line; (void)count;
    return RUN_TESTS(tests);
}
