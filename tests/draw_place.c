/* SPDX-License-Identifier: MIT */
/* draw_place.c: random and structured problems of placement. */
#include "draw_place.h"

#include "check.h"

#include <stdio.h>

enum { MOST_DEVICES = 8 };

/* How the numbers of one sort are drawn. */
typedef enum family {
    WHOLE,  /* 0 .. 9 */
    HALVES, /* up to 6 */
    TENTHS, /* sums of them are not exact */
    FEW,    /* 0, 1 or 10 */
    SAME,   /* all the same */
    WIDE,   /* 1e-12 .. 1e9, and 0 */
    REAL,   /* between 1 and 10 */
    FAMILIES
} family;

typedef enum shape { CHAIN, SKIPS, FORK_JOIN, BLOCKS, LAYERS, ANY, LOOSE, TREE, SHAPES } shape;

typedef struct draft {
    weft_arena *a;
    weft_rng r;
    int n, k;
    drawn_place out;
    bool has_memory;
    weft_problem_spec spec;
    WEFT_VEC(double) amount, memory;
    WEFT_VEC(bool) is_weight, is_output;
    WEFT_VEC(int) producer, reader_at, reader;
} draft;

static bool happens(draft *d, int percent)
{
    return weft_rng_below(&d->r, 100) < percent;
}

static double draw(draft *d, family f)
{
    switch (f) {
    case WHOLE:
        return weft_rng_below(&d->r, 10);
    case HALVES:
        return 0.5 * weft_rng_below(&d->r, 13);
    case TENTHS:
        return 0.1 * weft_rng_below(&d->r, 40);
    case FEW:
        return (const double[]){0, 0, 1, 10}[weft_rng_below(&d->r, 4)];
    case SAME:
        return 3;
    case WIDE:
        return happens(d, 15) ? 0 : pow(10, -12 + 21 * weft_rng_real(&d->r));
    default:
        return 1 + 9 * weft_rng_real(&d->r);
    }
}

static family draw_family(draft *d)
{
    return (family)weft_rng_below(&d->r, FAMILIES);
}

/* --- times ----------------------------------------------------------------------------------- */

/* Devices: unrelated, of one kind, of two kinds, or each with a speed of its own. */
static void draw_times(draft *d, family f)
{
    double *seconds = WEFT_NEW(d->a, double, d->n * d->k), speed[MOST_DEVICES];
    int sort = weft_rng_below(&d->r, 4), percent = happens(d, 50) ? 0 : 20, period = 0;

    if (happens(d, 30)) /* blocks that repeat */
        period = 2 + weft_rng_below(&d->r, 3);
    for (int k = 0; k < d->k; k++)
        speed[k] = sort == 3 ? 1 + weft_rng_below(&d->r, 4) : 1;
    for (int u = 0; u < d->n; u++) {
        double base = draw(d, f), other = draw(d, f);
        int sure = weft_rng_below(&d->r, d->k);

        for (int k = 0; k < d->k; k++) {
            double *to = &seconds[u * d->k + k];

            *to = sort == 0 ? draw(d, f) : (sort == 2 && k % 2 ? other : base) * speed[k];
            if (k != sure && happens(d, percent))
                *to = INFINITY;
            if (period > 0 && u >= period)
                *to = seconds[(u - period) * d->k + k];
        }
    }
    d->spec.seconds = seconds;
}

/* --- tensors --------------------------------------------------------------------------------- */

static void begin_tensor(draft *d, int producer, double amount, double memory, bool is_weight)
{
    WEFT_PUSH(d->a, d->amount, amount);
    WEFT_PUSH(d->a, d->memory, memory);
    WEFT_PUSH(d->a, d->is_weight, is_weight);
    WEFT_PUSH(d->a, d->is_output, false);
    WEFT_PUSH(d->a, d->producer, producer);
    if (d->reader_at.n == 0)
        WEFT_PUSH(d->a, d->reader_at, 0);
    WEFT_PUSH(d->a, d->reader_at, d->reader.n);
}

static void add_reader(draft *d, int v)
{
    WEFT_PUSH(d->a, d->reader, v);
    d->reader_at.at[d->reader_at.n - 1] = d->reader.n;
}

static bool is_edge(draft *d, shape s, int u, int v, int width)
{
    bool is_open = width > 1 && u % (width + 1) == 0; /* opens and closes a block */

    switch (s) {
    case CHAIN:
        return v == u + 1;
    case SKIPS:
        return v == u + 1 || happens(d, 20);
    case FORK_JOIN:
        return (u == 0 && v < d->n - 1) || (v == d->n - 1 && u > 0) || (d->n == 2);
    case BLOCKS: /* one, then `width` side by side, then one, ... */
        return is_open ? v <= u + width : v == (u / (width + 1) + 1) * (width + 1);
    case LAYERS:
        return u / width + 1 == v / width && happens(d, 60);
    case TREE:
        return u == (v - 1) / 2;
    case LOOSE:
        return happens(d, 100 / (2 * d->n));
    default:
        return happens(d, d->n > 12 ? 400 / d->n : 35);
    }
}

static void draw_edges(draft *d, family f, family memory, bool has_live)
{
    shape s = (shape)weft_rng_below(&d->r, SHAPES);
    int width = 2 + weft_rng_below(&d->r, 3);
    bool is_shared = !d->out.is_plain && happens(d, 50); /* one tensor for all readers */

    for (int u = 0; u < d->n; u++) {
        bool is_begun = false;

        for (int v = u + 1; v < d->n; v++) {
            if (!is_edge(d, s, u, v, width))
                continue;
            if (!is_begun || !is_shared)
                begin_tensor(d, u, draw(d, f), has_live ? draw(d, memory) : 0, false);
            is_begun = true;
            add_reader(d, v);
        }
        if (!is_begun && has_live) { /* a result, kept to the end */
            begin_tensor(d, u, 0, draw(d, memory), false);
            d->is_output.at[d->is_output.n - 1] = true;
        }
    }
}

static void draw_weights(draft *d, family f)
{
    for (int u = 0; u < d->n; u++) {
        double bytes = draw(d, f);

        if (!(bytes > 0)) /* task files have no empty weights */
            continue;
        begin_tensor(d, -1, 0, bytes, true);
        add_reader(d, u);
        if (!d->out.is_plain && u + 1 < d->n && happens(d, 25))
            add_reader(d, u + 1 + weft_rng_below(&d->r, d->n - u - 1));
    }
}

/* --- machines -------------------------------------------------------------------------------- */

static void draw_links(draft *d, weft_transfer transfer)
{
    double *latency_s = WEFT_NEW(d->a, double, d->k * d->k);
    double *rate = WEFT_NEW(d->a, double, d->k * d->k);
    family f = draw_family(d), g = draw_family(d);
    bool is_uniform = happens(d, 40), has_latency = happens(d, 50);
    int percent = transfer != WEFT_CALLS && happens(d, 25) ? 25 : 0;
    double rate_s = draw(d, f), wait_s = draw(d, g);

    for (int i = 0; i < d->k * d->k; i++) {
        double own_rate = draw(d, f), own_wait = draw(d, g);
        bool is_missing = happens(d, percent);

        if (i / d->k == i % d->k)
            continue;
        rate[i] = is_missing ? INFINITY : is_uniform ? rate_s : own_rate;
        latency_s[i] = !has_latency ? 0 : is_uniform ? wait_s : own_wait;
    }
    d->spec.second_per_byte = rate;
    d->spec.latency_s = latency_s;
}

/* About an even share for each device, often to the byte what some tasks need. */
static void draw_capacity(draft *d)
{
    double *capacity = WEFT_NEW(d->a, double, d->k), sum = 0;
    bool is_equal = happens(d, 40);
    double slack = 0.4 + 1.4 * weft_rng_real(&d->r);

    for (int t = 0; t < d->memory.n; t++)
        sum += d->memory.at[t];
    for (int k = 0; k < d->k; k++) {
        double share = sum / d->k * (is_equal ? slack : 0.3 + 1.5 * weft_rng_real(&d->r));

        if (happens(d, 40)) { /* the sum of some of them */
            share = 0;
            for (int t = 0; t < d->memory.n; t++)
                share += happens(d, 60) ? d->memory.at[t] : 0;
        }
        capacity[k] = is_equal && k > 0 ? capacity[0] : share;
        if (happens(d, 15))
            capacity[k] = INFINITY;
    }
    d->spec.capacity = capacity;
}

static void draw_restrictions(draft *d)
{
    int *pin = WEFT_NEW(d->a, int, d->n), *colocation = WEFT_NEW(d->a, int, d->n);
    bool has_pins = happens(d, 30), has_colocations = happens(d, 30);

    for (int u = 0; u < d->n; u++) {
        int k = weft_rng_below(&d->r, d->k);

        pin[u] = has_pins && happens(d, 25) && isfinite(d->spec.seconds[u * d->k + k]) ? k : -1;
        colocation[u] = has_colocations && happens(d, 35) ? weft_rng_below(&d->r, 2) : -1;
    }
    d->spec.pin = pin;
    d->spec.colocation = colocation;
}

/* --- all of it ------------------------------------------------------------------------------- */

static bool is_tight(const weft_problem *p)
{
    for (int d = 0; d < p->n_devices; d++) {
        double sum = 0;

        for (int t = 0; t < p->n_tensors; t++)
            sum += p->memory[t];
        if (sum > p->capacity[d])
            return true;
    }
    return false;
}

/* Switches of one problem in three, some of no time. */
static void draw_switches(draft *d)
{
    double *switch_s = WEFT_NEW(d->a, double, d->k);
    family f = draw_family(d);

    if (!happens(d, 33))
        return;
    for (int k = 0; k < d->k; k++)
        switch_s[k] = happens(d, 25) ? 0 : draw(d, f);
    d->spec.switch_s = switch_s;
}

static const char *const *names(draft *d, const char *letter, int n)
{
    const char **name = WEFT_NEW(d->a, const char *, n);

    for (int i = 0; i < n; i++)
        name[i] = weft_arena_print(d->a, "%s%d", letter, i);
    return name;
}

static void finish(draft *d)
{
    weft_problem_spec *s = &d->spec;
    static const int none[] = {0};

    s->name = "drawn";
    s->task_name = names(d, "t", d->n);
    s->device_name = names(d, "d", d->k);
    s->n_tensors = d->amount.n;
    s->amount = d->amount.at;
    s->memory = d->memory.at;
    s->is_weight = d->is_weight.at;
    s->is_output = d->is_output.at;
    s->producer = d->producer.at;
    s->reader_at = d->amount.n > 0 ? d->reader_at.at : none;
    s->reader = d->reader.at;
    CHECK_OK(weft_problem_make(s, &d->out.problem));
    d->out.is_tight = is_tight(d->out.problem);
}

drawn_place draw_place(uint64_t seed, int n_tasks, int n_devices, weft_transfer transfer,
                       bool has_memory)
{
    draft d = {.a = weft_arena_new(),
               .r = weft_rng_seed(seed * 2654435761u + 17),
               .n = n_tasks,
               .k = n_devices,
               .has_memory = has_memory};
    family time, amount, memory;
    bool has_live;

    d.spec.n_tasks = n_tasks;
    d.spec.n_devices = n_devices;
    d.spec.transfer = transfer;
    d.out.is_plain = happens(&d, 55);
    d.spec.host = transfer == WEFT_CALLS || (!d.out.is_plain && happens(&d, 40))
                      ? weft_rng_below(&d.r, n_devices)
                      : -1;
    time = draw_family(&d);
    amount = happens(&d, 50) ? time : draw_family(&d);
    memory = draw_family(&d);
    has_live = has_memory && !d.out.is_plain && happens(&d, 60);
    draw_times(&d, time);
    if (!d.out.is_plain && d.spec.host >= 0) { /* an input */
        begin_tensor(&d, -1, draw(&d, amount), has_live ? draw(&d, memory) : 0, false);
        for (int v = 0; v < n_tasks; v++)
            if (happens(&d, 40))
                add_reader(&d, v);
    }
    draw_edges(&d, amount, memory, has_live);
    if (has_memory)
        draw_weights(&d, memory);
    draw_links(&d, transfer);
    if (has_memory)
        draw_capacity(&d);
    if (!d.out.is_plain)
        draw_restrictions(&d);
    draw_switches(&d);
    finish(&d);
    weft_arena_free(d.a);
    return d.out;
}

/* --- as a file ------------------------------------------------------------------------------- */

static const char *number(double x, weft_arena *a)
{
    return isfinite(x) ? weft_arena_print(a, "%.17g", x) : "null";
}

static const char *list(const double *x, int n, weft_arena *a)
{
    const char *text = "[";

    for (int i = 0; i < n; i++)
        text = weft_arena_print(a, "%s%s%s", text, i ? ", " : "", number(x[i], a));
    return weft_arena_print(a, "%s]", text);
}

static const char *matrix(const double *x, int n, weft_arena *a)
{
    const char *text = "[";

    for (int i = 0; i < n; i++)
        text = weft_arena_print(a, "%s%s%s", text, i ? ", " : "", list(x + i * n, n, a));
    return weft_arena_print(a, "%s]", text);
}

static double weight_of(const weft_problem *p, int u)
{
    for (int i = p->arg_at[u]; i < p->arg_at[u + 1]; i++)
        if (p->is_weight[p->arg[i]])
            return p->memory[p->arg[i]];
    return 0;
}

static const char *links_text(const weft_problem *p, weft_arena *a)
{
    int n = p->n_devices;
    double *rate = weft_arena_copy(a, p->second_per_byte, sizeof(double) * (size_t)(n * n));
    double *wait = weft_arena_copy(a, p->latency_s, sizeof(double) * (size_t)(n * n));

    for (int i = 0; i < n * n; i++) {
        rate[i] = i / n == i % n ? 0 : rate[i];
        wait[i] = i / n == i % n || isinf(wait[i]) ? 0 : wait[i];
    }
    return weft_arena_print(a, "\"link\": %s, \"latency\": %s", matrix(rate, n, a),
                            matrix(wait, n, a));
}

const char *place_text(const weft_problem *p, weft_arena *a)
{
    const char *text = "{\"schema\": \"weft.tasks/1\", \"devices\": [", *comma = "";

    for (int d = 0; d < p->n_devices; d++)
        text = weft_arena_print(a, "%s%s\"%s\"", text, d ? ", " : "", p->device_name[d]);
    text = weft_arena_print(a, "%s], \"transfer\": \"%s\"", text, weft_transfer_name(p->transfer));
    if (p->host >= 0)
        text = weft_arena_print(a, "%s, \"host\": \"%s\"", text, p->device_name[p->host]);
    if (p->switch_s != NULL)
        text = weft_arena_print(a, "%s, \"switch\": %s", text, list(p->switch_s, p->n_devices, a));
    text = weft_arena_print(a, "%s, %s, \"capacity\": %s, \"tasks\": [", text, links_text(p, a),
                            list(p->capacity, p->n_devices, a));
    for (int u = 0; u < p->n_tasks; u++)
        text = weft_arena_print(
            a, "%s%s{\"name\": \"%s\", \"seconds\": %s, \"memory\": %.17g}", text, u ? ", " : "",
            p->task_name[u], list(p->seconds + u * p->n_devices, p->n_devices, a), weight_of(p, u));
    text = weft_arena_print(a, "%s], \"edges\": [", text);
    for (int t = 0; t < p->n_tensors; t++) {
        if (p->is_weight[t])
            continue;
        text = weft_arena_print(a, "%s%s{\"from\": \"%s\", \"to\": \"%s\", \"amount\": %.17g}",
                                text, comma, p->task_name[p->producer[t]],
                                p->task_name[p->reader[p->reader_at[t]]], p->amount[t]);
        comma = ", ";
    }
    return weft_arena_print(a, "%s]}\n", text);
}
