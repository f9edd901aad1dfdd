/* SPDX-License-Identifier: MIT */
/* fixtures.c: instances of the literature in a one-line notation, and random problems. */
#include "fixtures.h"

#include "check.h"

#include <stdlib.h>

const char fixture_heft[] =
    "1: 14 16 9/13 19 18/11 13 19/13 8 17/12 13 10/13 16 9/7 15 11/5 11 14/18 12 20/21 7 16;"
    "1-2:18 1-3:12 1-4:9 1-5:11 1-6:14 2-8:19 2-9:16 3-7:23 4-8:27 4-9:23 5-9:13 6-8:15 7-10:17 "
    "8-10:11 9-10:13";
const char fixture_ahmad[] =
    "5 10 15/10 5 25/8 24 5/2 5 8/8 2 5/10 8 4/4 15 10/6 8 4/3 6 9;"
    "0-1:4 0-6:10 0-2:1 0-3:3 0-4:1 1-5:1 1-6:1 2-7:1 3-7:1 5-8:5 6-8:6 7-8:5";
const char fixture_hamid[] =
    "23 32 28/36 36 16/2 3 3/16 17 13/25 17 28/25 38 37/30 21 29/17 26 36/16 10 21/26 16 26;"
    "0-1:17 0-2:5 0-3:7 0-4:5 0-5:16 1-7:6 1-8:5 2-6:1 3-7:9 3-8:2 4-8:7 5-7:20 6-9:10 7-9:3 8-9:8";
const char fixture_hsu[] =
    "14 19 9/13 19 18/11 17 15/13 8 18/12 13 10/12 19 13/7 16 11/5 11 14/18 12 20/17 20 11;"
    "0-1:18 0-2:12 0-3:9 0-4:11 0-5:14 1-7:19 1-8:16 2-6:23 3-7:27 3-8:23 4-8:13 5-7:15 6-9:17 "
    "7-9:10 8-9:14";
const char fixture_kang1[] = /* the HEFT example with 3-9:16 in the place of 2-9:16 */
    "1: 14 16 9/13 19 18/11 13 19/13 8 17/12 13 10/13 16 9/7 15 11/5 11 14/18 12 20/21 7 16;"
    "1-2:18 1-3:12 1-4:9 1-5:11 1-6:14 2-8:19 3-9:16 3-7:23 4-8:27 4-9:23 5-9:13 6-8:15 7-10:17 "
    "8-10:11 9-10:13";
const char fixture_kuan[] =
    "5 3 4/3 2 7/2 4 9/7 5 3/8 6 7/3 4 8/4 3 2/2 3 4/4 5 3/6 4 5;"
    "0-1:3 0-4:8 0-5:9 1-2:6 1-3:4 4-7:6 4-8:6 5-8:3 2-6:5 3-6:3 6-9:7 7-9:4 8-9:8";
const char fixture_sample[] =
    "17 28 17/26 11 14/30 13 27/6 25 3/12 2 12/7 8 23/23 16 29/12 14 11;"
    "0-1:13 0-2:10 0-3:24 0-4:16 1-6:19 2-5:18 3-6:23 4-6:10 5-7:10 6-7:11";

const fixture_known fixture_all[N_FIXTURES] = {
    {"heft",   "topcuoglu.json", fixture_heft,   10, 15, 127, 82,  88,  80,  73 },
    {"ahmad",  "ahmad.json",     fixture_ahmad,  9,  12, 56,  31,  30,  27,  27 },
    {"hamid",  "hamid.json",     fixture_hamid,  10, 15, 216, 114, 102, 110, 100},
    {"hsu",    "hsu.json",       fixture_hsu,    10, 15, 122, 98,  87,  92,  80 },
    {"kang1",  "kang1.json",     fixture_kang1,  10, 15, 127, 86,  88,  80,  73 },
    {"kuan",   "kuan.json",      fixture_kuan,   10, 13, 39,  35,  27,  30,  26 },
    {"sample", "sample.json",    fixture_sample, 8,  10, 117, 105, 97,  84,  81 },
};

/* --- tensors, collected one by one ----------------------------------------------------------- */

typedef struct draft {
    weft_arena *arena;
    weft_problem_spec spec;
    WEFT_VEC(double) seconds, amount, memory;
    WEFT_VEC(bool) is_weight, is_output;
    WEFT_VEC(int) producer, reader_at, reader;
} draft;

static void add_tensor(draft *d, int producer, double amount, double memory)
{
    WEFT_PUSH(d->arena, d->amount, amount);
    WEFT_PUSH(d->arena, d->memory, memory);
    WEFT_PUSH(d->arena, d->is_weight, false);
    WEFT_PUSH(d->arena, d->is_output, false);
    WEFT_PUSH(d->arena, d->producer, producer);
    WEFT_PUSH(d->arena, d->reader_at, d->reader.n);
}

static void add_weight(draft *d, int reader, double bytes)
{
    add_tensor(d, -1, 0, bytes);
    d->is_weight.at[d->is_weight.n - 1] = true;
    WEFT_PUSH(d->arena, d->reader, reader);
}

static const char **numbered(weft_arena *a, const char *letter, int first, int n)
{
    const char **name = WEFT_NEW(a, const char *, n);

    for (int i = 0; i < n; i++)
        name[i] = weft_arena_print(a, "%s%d", letter, first + i);
    return name;
}

/* The problem of a draft; the draft is released. */
static weft_problem *finish(draft *d, int first)
{
    weft_problem *p = NULL;

    WEFT_PUSH(d->arena, d->reader_at, d->reader.n);
    d->spec.task_name = numbered(d->arena, "T", first, d->spec.n_tasks);
    d->spec.device_name = numbered(d->arena, "P", 1, d->spec.n_devices);
    d->spec.n_tensors = d->amount.n;
    d->spec.seconds = d->seconds.at;
    d->spec.amount = d->amount.at;
    d->spec.memory = d->memory.at;
    d->spec.is_weight = d->is_weight.at;
    d->spec.is_output = d->is_output.at;
    d->spec.producer = d->producer.at;
    d->spec.reader_at = d->reader_at.at;
    d->spec.reader = d->reader.at;
    CHECK_OK(weft_problem_make(&d->spec, &p));
    weft_arena_free(d->arena);
    return p;
}

/* --- notation -------------------------------------------------------------------------------- */

typedef struct cursor {
    const char *text, *at;
} cursor;

static void skip_space(cursor *c)
{
    c->at += strspn(c->at, " \n");
}

static double take_number(cursor *c)
{
    char *end = NULL;
    double value;

    skip_space(c);
    if (*c->at == 'x') {
        c->at++;
        return INFINITY;
    }
    value = strtod(c->at, &end);
    if (end == c->at)
        fail_msg("fixture '%s': expected a number at '%s'", c->text, c->at);
    c->at = end;
    return value;
}

static void take_mark(cursor *c, char mark)
{
    skip_space(c);
    if (*c->at++ != mark)
        fail_msg("fixture '%s': expected '%c' at '%s'", c->text, mark, c->at - 1);
}

/* "1:" at the start. */
static int take_first(cursor *c)
{
    char *end = NULL;
    long first = strtol(c->at, &end, 10);

    if (*end != ':')
        return 0;
    c->at = end + 1;
    return (int)first;
}

static void take_task(cursor *c, draft *d)
{
    int n = 0;

    for (skip_space(c); *c->at && *c->at != '/' && *c->at != ';'; skip_space(c), n++)
        WEFT_PUSH(d->arena, d->seconds, take_number(c));
    if (d->spec.n_tasks++ == 0)
        d->spec.n_devices = n;
    if (n != d->spec.n_devices)
        fail_msg("fixture '%s': a task has %d times, expected %d", c->text, n, d->spec.n_devices);
}

static void take_edge(cursor *c, draft *d, int first)
{
    int from = (int)take_number(c) - first, to;
    double amount;

    take_mark(c, '-');
    to = (int)take_number(c) - first;
    take_mark(c, ':');
    amount = take_number(c);
    if (from < 0 || from >= d->spec.n_tasks || to < 0 || to >= d->spec.n_tasks)
        fail_msg("fixture '%s': no such task before '%s'", c->text, c->at);
    add_tensor(d, from, amount, 0);
    WEFT_PUSH(d->arena, d->reader, to);
}

weft_problem *fixture_tasks(const char *text)
{
    draft d = {
        .arena = weft_arena_new(), .spec = {.name = "fixture", .host = -1}
    };
    cursor c = {text, text};
    int first = take_first(&c);

    take_task(&c, &d);
    for (skip_space(&c); *c.at == '/'; skip_space(&c)) {
        c.at++;
        take_task(&c, &d);
    }
    if (*c.at)
        take_mark(&c, ';');
    for (skip_space(&c); *c.at; skip_space(&c))
        take_edge(&c, &d, first);
    return finish(&d, first);
}

/* --- random problems ------------------------------------------------------------------------- */

static bool happens(weft_rng *r, int percent)
{
    return weft_rng_below(r, 100) < percent;
}

static void draw_times(draft *d, weft_rng *r)
{
    for (int u = 0; u < d->spec.n_tasks; u++) {
        int sure = weft_rng_below(r, d->spec.n_devices);

        for (int k = 0; k < d->spec.n_devices; k++) {
            double seconds = 1 + weft_rng_below(r, 20);

            WEFT_PUSH(d->arena, d->seconds, k != sure && happens(r, 10) ? INFINITY : seconds);
        }
    }
}

/* A tensor of task u (or an input, if u is -1) with readers among the later tasks; none: no
 * tensor. */
static bool draw_tensor(draft *d, weft_rng *r, int u, int percent)
{
    double amount = 0.5 * weft_rng_below(r, 40);
    bool is_read = false;

    for (int v = u + 1; v < d->spec.n_tasks; v++) {
        if (!happens(r, percent))
            continue;
        if (!is_read)
            add_tensor(d, u, amount, amount);
        is_read = true;
        WEFT_PUSH(d->arena, d->reader, v);
    }
    return is_read;
}

static void draw_tensors(draft *d, weft_rng *r)
{
    int percent = 10 + weft_rng_below(r, 40);

    if (d->spec.host >= 0)
        draw_tensor(d, r, -1, percent);
    for (int u = 0; u < d->spec.n_tasks; u++) {
        bool is_read = draw_tensor(d, r, u, percent);

        if (happens(r, 20))
            is_read = draw_tensor(d, r, u, percent) || is_read;
        if (is_read)
            continue;
        add_tensor(d, u, 1, 1);
        d->is_output.at[d->is_output.n - 1] = true;
    }
    for (int u = 0; u < d->spec.n_tasks; u++)
        add_weight(d, u, 1 + weft_rng_below(r, 10));
}

static void draw_links(draft *d, weft_rng *r)
{
    int n_pairs = d->spec.n_devices * d->spec.n_devices;
    double *latency_s = WEFT_NEW(d->arena, double, n_pairs);
    double *second_per_byte = WEFT_NEW(d->arena, double, n_pairs);

    for (int k = 0; k < n_pairs; k++) {
        latency_s[k] = weft_rng_below(r, 3);
        second_per_byte[k] = 1 + weft_rng_below(r, 2);
    }
    d->spec.latency_s = latency_s;
    d->spec.second_per_byte = second_per_byte;
}

/* Room for the weights of a random plan and a little more. */
static void draw_limits(draft *d, weft_rng *r)
{
    int n = d->spec.n_devices;
    double *capacity = WEFT_NEW(d->arena, double, n);

    for (int k = 0; k < n; k++)
        capacity[k] = weft_rng_below(r, 5);
    for (int t = 0; t < d->amount.n; t++) {
        int u = d->reader_at.at[t] < d->reader.n ? d->reader.at[d->reader_at.at[t]] : -1;
        int k = weft_rng_below(r, n);

        if (!d->is_weight.at[t]) {
            d->memory.at[t] = 0;
            continue;
        }
        while (isinf(d->seconds.at[u * n + k]))
            k = (k + 1) % n;
        capacity[k] += d->memory.at[t];
    }
    d->spec.capacity = capacity;
}

static weft_problem *drawn(uint64_t seed, int n_tasks, int n_devices, bool is_limited)
{
    weft_rng r = weft_rng_seed(seed);
    draft d = {
        .arena = weft_arena_new(),
        .spec = {.name = "random", .n_tasks = n_tasks, .n_devices = n_devices, .host = -1}
    };

    if (seed % 3 == 0)
        d.spec.host = weft_rng_below(&r, n_devices);
    draw_times(&d, &r);
    draw_tensors(&d, &r);
    draw_links(&d, &r);
    if (is_limited)
        draw_limits(&d, &r);
    return finish(&d, 0);
}

weft_problem *random_problem(uint64_t seed, int n_tasks, int n_devices)
{
    return drawn(seed, n_tasks, n_devices, false);
}

weft_problem *random_limited_problem(uint64_t seed, int n_tasks, int n_devices)
{
    return drawn(seed, n_tasks, n_devices, true);
}

/* --- random problems with traits ------------------------------------------------------------- */

static void draw_mixed_times(draft *d, weft_rng *r, unsigned traits)
{
    int n = d->spec.n_devices;

    draw_times(d, r);
    for (int u = 0; u < d->spec.n_tasks; u++) {
        bool is_short = (traits & TRAIT_ZERO) != 0 && happens(r, 35), is_always = happens(r, 50);

        for (int k = 0; k < n; k++) {
            double *seconds = &d->seconds.at[u * n + k];

            if (is_short && isfinite(*seconds) && (is_always || happens(r, 50)))
                *seconds = 0;
            if (traits & TRAIT_EQUAL)
                *seconds = k > 0 ? d->seconds.at[u * n] : isinf(*seconds) ? 7 : *seconds;
        }
    }
}

static bool is_edge_allowed(const draft *d, int u, int v, unsigned traits)
{
    return u < 0 || !(traits & TRAIT_LONE) || 2 * v < d->spec.n_tasks || 2 * u >= d->spec.n_tasks;
}

/* A tensor of u, or an input (-1), with readers by chance; with TRAIT_SKIPS the next one always. */
static void draw_mixed_tensor(draft *d, weft_rng *r, int u, unsigned traits)
{
    int percent = 15 + weft_rng_below(r, 35);
    bool is_read = false;

    add_tensor(d, u, 0.5 * weft_rng_below(r, 30), weft_rng_below(r, 8));
    for (int v = u + 1; v < d->spec.n_tasks; v++) {
        bool is_next = (traits & TRAIT_SKIPS) != 0 && v == u + 1;

        if (!is_edge_allowed(d, u, v, traits) || (!is_next && !happens(r, percent)))
            continue;
        is_read = true;
        WEFT_PUSH(d->arena, d->reader, v);
    }
    d->is_output.at[d->is_output.n - 1] = !is_read || happens(r, 10);
}

/* Weights of one reader, or of two. */
static void draw_mixed_weights(draft *d, weft_rng *r)
{
    for (int u = 0; u < d->spec.n_tasks; u++) {
        int v = weft_rng_below(r, d->spec.n_tasks);

        add_weight(d, u, weft_rng_below(r, 8));
        if (v > u && happens(r, 30))
            WEFT_PUSH(d->arena, d->reader, v);
    }
}

/* A little more or less than an even share of all that takes room. */
static void draw_mixed_limits(draft *d, weft_rng *r, unsigned traits)
{
    double *capacity = WEFT_NEW(d->arena, double, d->spec.n_devices), sum = 0, share;

    for (int t = 0; t < d->memory.n; t++) {
        if (!d->is_weight.at[t] && !(traits & TRAIT_MEMORY))
            d->memory.at[t] = 0;
        sum += d->memory.at[t] / (d->is_weight.at[t] ? 1 : 2);
    }
    share = sum / d->spec.n_devices;
    for (int k = 0; k < d->spec.n_devices; k++)
        capacity[k] = floor(share * (0.6 + weft_rng_real(r)));
    if (traits & (TRAIT_MEMORY | TRAIT_WEIGHTS))
        d->spec.capacity = capacity;
}

static void draw_restrictions(draft *d, weft_rng *r, unsigned traits)
{
    int n = d->spec.n_tasks, *pin = WEFT_NEW(d->arena, int, n);
    int *colocation = WEFT_NEW(d->arena, int, n);

    for (int u = 0; u < n; u++) {
        int k = weft_rng_below(r, d->spec.n_devices);
        bool is_pinned = happens(r, 25), is_colocationed = happens(r, 35);

        pin[u] = colocation[u] = -1;
        if ((traits & TRAIT_PINS) && is_pinned &&
            isfinite(d->seconds.at[u * d->spec.n_devices + k]))
            pin[u] = k;
        if ((traits & TRAIT_COLOURS) && is_colocationed)
            colocation[u] = weft_rng_below(r, 2);
    }
    d->spec.pin = pin;
    d->spec.colocation = colocation;
}

weft_problem *random_mixed_problem(uint64_t seed, int n_tasks, int n_devices, unsigned traits)
{
    weft_rng r = weft_rng_seed(seed);
    draft d = {
        .arena = weft_arena_new(),
        .spec = {.name = "mixed", .n_tasks = n_tasks, .n_devices = n_devices, .host = -1}
    };

    if (traits & TRAIT_HOST)
        d.spec.host = weft_rng_below(&r, n_devices);
    draw_mixed_times(&d, &r, traits);
    if (traits & TRAIT_HOST)
        draw_mixed_tensor(&d, &r, -1, traits & ~(unsigned)TRAIT_SKIPS);
    for (int u = 0; u < n_tasks; u++) {
        draw_mixed_tensor(&d, &r, u, traits);
        if (happens(&r, 15)) /* a second tensor, perhaps to the same readers */
            draw_mixed_tensor(&d, &r, u, traits & ~(unsigned)TRAIT_SKIPS);
    }
    draw_mixed_weights(&d, &r);
    if (!(traits & TRAIT_EQUAL)) /* else no latency, and an amount takes as many seconds */
        draw_links(&d, &r);
    draw_mixed_limits(&d, &r, traits);
    draw_restrictions(&d, &r, traits);
    return finish(&d, 0);
}
