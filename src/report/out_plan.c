/* SPDX-License-Identifier: MIT */
/* out_plan.c: a plan for a terminal.
 *
 * 1. What it is worth: value, bound, speed-up, energy, bytes sent.
 * 2. A table of devices.
 * 3. Why it takes that long: the chain of the simulator with neighbours of one kind and place
 * joined to steps; the longest ones in order of time, the rest in one line.
 * 4. A chart: a row a device and one for transfers, a character a slice of time. Overlapping
 *    transfers count once: jobs are taken by start, and only what lies after the latest end so far
 *    is added to the row.
 *
 * Every line fits the width (60 columns or more) unless a single word does not. Plain ASCII besides
 * the names. Time O(jobs log jobs + jobs * columns). */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fields.h"

enum {
    DEFAULT_WIDTH = 80,
    LEAST_WIDTH = 60,
    MOST_WIDTH = 1000,
    MOST_DEVICES = 32, /* rows of the table and of the chart */
    MOST_IDLE = 12,    /* of more devices, those without work are left out */
    MOST_STEPS = 12,
    MOST_NAME = 24, /* columns of a name */
    NUMBERS = 45,   /* columns of the table right of the name */
    MOST_WAYS = 12,
    MOST_NAMES = 6, /* devices of a way */
};

typedef struct page {
    const weft_report *r;
    const weft_problem *p;
    const weft_measures *m;
    const weft_proof *proof;
    FILE *to;
    weft_arena *a; /* scratch */
    int width, name_width;
    int n_shown;
    int *shown; /* devices */
} page;

static const char *short_name(page *g, const char *name)
{
    return weft_shorten(name, MOST_NAME, WEFT_NEW(g->a, char, WEFT_SHORT_BYTES));
}

/* A number keeps its unit: between them is a blank at which no line ends. */
static char *glued(char *text)
{
    char *blank = strchr(text, ' ');

    if (blank != NULL)
        *blank = '\t';
    return text;
}

static const char *seconds(page *g, double s)
{
    return weft_glued_seconds(g->a, s);
}

static const char *bytes(page *g, double n)
{
    return weft_glued_bytes(g->a, n);
}

/* Amounts sent. */
static const char *amount(page *g, double sent)
{
    return weft_glued_amount(g->r, sent, g->a);
}

static void put(page *g, const char *text)
{
    weft_put_glued(g->to, text);
}

static void field(page *g, const char *label, const char *text)
{
    weft_print_field(g->to, g->width, label, text);
}

/* --- what it is worth ------------------------------------------------------------------------ */

static void print_title(page *g)
{
    const weft_plan_origin *origin = g->r->origin;
    char model[WEFT_SHORT_BYTES], platform[WEFT_SHORT_BYTES], solver[WEFT_SHORT_BYTES];
    const char *name = origin && origin->model ? origin->model : g->p->name;
    const char *on = origin ? origin->platform : NULL, *by = origin ? origin->solver : NULL;

    weft_shorten(name ? name : "tasks", WEFT_SHORT_COLUMNS, model);
    weft_shorten(on ? on : "", WEFT_SHORT_COLUMNS, platform);
    weft_shorten(by ? by : "", MOST_NAME, solver);
    weft_print_wrapped(g->to, 0, g->width,
                       weft_arena_print(g->a, "%s%s%s, %s%s%s", model, on ? " on " : "", platform,
                                        g->p->ask.goal == WEFT_THROUGHPUT ? "highest throughput"
                                                                          : "lowest latency",
                                        by ? ", solver " : "", solver));
    fputc('\n', g->to);
}

static const char *an_item(const page *g)
{
    return g->p->ask.goal == WEFT_THROUGHPUT ? " an item" : "";
}

/* The resource that sets the pace, and what it does if it also sends. */
static const char *pace_text(page *g)
{
    const weft_measures *m = g->m;
    const char *name = short_name(g, m->bottleneck);

    for (int d = 0; d < g->p->n_devices; d++)
        if (strcmp(g->p->device_name[d], m->bottleneck) == 0 && m->load_s[d] > m->busy_s[d])
            return weft_arena_print(g->a, "%s: %s computing and %s sending and receiving an item",
                                    name, seconds(g, m->busy_s[d]),
                                    seconds(g, m->load_s[d] - m->busy_s[d]));
    return name;
}

static void print_value(page *g)
{
    char rate[32];

    if (g->p->ask.goal != WEFT_THROUGHPUT) {
        field(g, "latency", seconds(g, g->m->makespan_s));
        return;
    }
    if (g->m->period_s > 0)
        field(g, "throughput",
              weft_arena_print(g->a, "%s items/s  (%s an item)",
                               weft_format_count(1 / g->m->period_s, rate),
                               seconds(g, g->m->period_s)));
    else
        field(g, "throughput", "not limited: no task takes time");
    field(g, "limited by", pace_text(g));
    field(g, "latency",
          weft_arena_print(g->a, "%s for one item alone%s", seconds(g, g->m->makespan_s),
                           g->m->n_ways > 1 ? ", on the longest way" : ""));
}

/* Where a mix sends its items. */
static void print_ways(page *g)
{
    const weft_plan *plan = &g->r->solution->plan;

    for (int w = 0; w < plan->n_ways && plan->n_ways > 1 && w < MOST_WAYS; w++) {
        const int *device = plan->device + (size_t)w * (size_t)g->p->n_tasks;
        bool *is_used = WEFT_NEW(g->a, bool, g->p->n_devices);
        const char *names = "";
        int n = 0;

        for (int u = 0; u < g->p->n_tasks; u++)
            is_used[device[u]] = true;
        for (int d = 0; d < g->p->n_devices; d++)
            if (is_used[d] && n++ < MOST_NAMES)
                names = weft_arena_print(g->a, "%s%s%s", names, n == 1 ? "" : ", ",
                                         short_name(g, g->p->device_name[d]));
        if (n > MOST_NAMES)
            names = weft_arena_print(g->a, "%s and %d more", names, n - MOST_NAMES);
        field(g, w == 0 ? "ways" : "",
              weft_arena_print(g->a, "%.1f\t%% of the items on %s, %s each", 100 * plan->share[w],
                               names, seconds(g, g->m->way[w].makespan_s)));
    }
    if (plan->n_ways > MOST_WAYS)
        field(g, "", weft_arena_print(g->a, "and %d more ways", plan->n_ways - MOST_WAYS));
}

static void print_bound(page *g)
{
    const weft_proof *proof = g->proof;
    const char *bound = seconds(g, proof->bound), *method = proof->method ? proof->method : "";
    char gap[32];
    const char *by = *method ? weft_arena_print(g->a, "  (%s)", short_name(g, method)) : "";

    if (proof->outcome == WEFT_OPTIMAL)
        field(g, "bound",
              weft_arena_print(g->a, "%s%s%s  no plan is better", bound, an_item(g), by));
    else if (proof->bound > 0 && isfinite(proof->gap))
        field(g, "bound",
              weft_arena_print(g->a, "%s%s%s  gap %s\t%%", bound, an_item(g), by,
                               weft_format_gap(proof->gap, 1, gap)));
    else if (proof->bound > 0)
        field(g, "bound", weft_arena_print(g->a, "%s%s%s", bound, an_item(g), by));
    else
        field(g, "bound", "none is known");
}

/* Beside the scheduler that everybody knows. */
static void print_heft(page *g)
{
    double heft_s = g->r->heft_s, value = weft_goal_value(g->p, g->m);

    if (isnan(heft_s) || !(value > 0) || heft_s <= value * (1 + 1e-9))
        return;
    field(g, "",
          weft_arena_print(g->a, "%.2fx over the list scheduler HEFT (%s%s)", heft_s / value,
                           seconds(g, heft_s), an_item(g)));
}

static void print_speed_up(page *g)
{
    double single_s = g->r->best_single_s, value = weft_goal_value(g->p, g->m);
    const char *most = "", *name;

    if (isnan(single_s)) {
        field(g, "speed-up", "no single device can run all tasks");
        return;
    }
    if (!(single_s > 0 && value > 0) || g->r->best_single == NULL || g->p->n_devices == 1)
        return;
    name = short_name(g, g->r->best_single);
    if (g->proof->bound > 0)
        most = weft_arena_print(g->a, "; at most %.2fx is possible", single_s / g->proof->bound);
    field(g, "speed-up",
          single_s < value
              ? weft_arena_print(g->a, "none: the best single device, %s, takes %s%s%s", name,
                                 seconds(g, single_s), an_item(g), most)
              : weft_arena_print(g->a, "%.2fx over the best single device (%s: %s%s)%s",
                                 single_s / value, name, seconds(g, single_s), an_item(g), most));
}

/* Platforms need not say what an operation costs: without joules there is nothing to show. */
static void print_energy(page *g)
{
    char all[48], idle[48];

    if (!(g->m->energy_j > 0))
        return;
    weft_unit_print(g->m->energy_j, WEFT_UNIT_JOULES, all);
    weft_unit_print(g->m->idle_j, WEFT_UNIT_JOULES, idle);
    glued(all);
    glued(idle);
    if (!(g->m->energy_j > g->m->idle_j))
        field(g, "energy",
              weft_arena_print(g->a, "%s of idle devices; that of the work is not given", all));
    else
        field(g, "energy",
              g->m->idle_j > 0 ? weft_arena_print(g->a, "%s, of which %s idle", all, idle) : all);
}

static void print_sent(page *g)
{
    int n = g->m->n_transfers;

    field(g, "sent",
          n == 0 ? "nothing"
                 : weft_arena_print(g->a, "%s in %d transfer%s", amount(g, g->m->sent_bytes), n,
                                    n == 1 ? "" : "s"));
}

/* --- devices --------------------------------------------------------------------------------- */

/* All devices, or of many the first that have something to do. */
static void choose_devices(page *g)
{
    bool is_all = g->p->n_devices <= MOST_IDLE;
    int longest = (int)strlen("transfers"), room = g->width - 2 - NUMBERS;

    g->shown = WEFT_NEW(g->a, int, MOST_DEVICES);
    for (int d = 0; d < g->p->n_devices && g->n_shown < MOST_DEVICES; d++) {
        int columns = weft_columns(g->p->device_name[d]);

        if (!is_all && !(g->m->busy_s[d] > 0))
            continue;
        g->shown[g->n_shown++] = d;
        longest = columns > longest ? columns : longest;
    }
    longest = longest > MOST_NAME ? MOST_NAME : longest;
    g->name_width = longest > room ? room : longest;
}

static void print_devices(page *g)
{
    fprintf(g->to, "\n  %-*s %10s %9s %12s %10s\n", g->name_width, "device", "busy", "utilised",
            "peak memory", "of");
    for (int i = 0; i < g->n_shown; i++) {
        int d = g->shown[i];
        double capacity = g->p->capacity[d];

        fprintf(g->to, "  ");
        weft_print_padded(g->to, g->p->device_name[d], g->name_width);
        put(g,
            weft_arena_print(g->a, " %10s %7.1f %% %12s %10s\n",
                             weft_column_seconds(g->a, g->m->busy_s[d], 10),
                             100 * weft_utilisation(g->p, g->m, d), bytes(g, g->m->peak_bytes[d]),
                             isfinite(capacity) ? bytes(g, capacity) : "unlimited"));
    }
    if (g->n_shown < g->p->n_devices)
        fprintf(g->to, "  and %d more devices%s\n", g->p->n_devices - g->n_shown,
                g->n_shown < MOST_DEVICES ? " without work" : "");
}

static void print_overflow(page *g, const char *whose)
{
    int d = g->m->over_device;

    if (d < 0 || g->m->peak_bytes == NULL)
        return;
    weft_print_wrapped(g->to, 0, g->width,
                       weft_arena_print(g->a, "  %s needs %s on %s, which has %s.", whose,
                                        bytes(g, g->m->peak_bytes[d]),
                                        short_name(g, g->p->device_name[d]),
                                        bytes(g, g->p->capacity[d])));
}

/* --- why it takes that long ------------------------------------------------------------------ */

static int by_length(const void *a, const void *b)
{
    const weft_chain_step *x = a, *y = b;

    if (x->seconds > y->seconds || x->seconds < y->seconds)
        return x->seconds > y->seconds ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

static int by_number(const void *a, const void *b)
{
    const weft_chain_step *x = a, *y = b;

    return (x->number > y->number) - (x->number < y->number);
}

/* "3.9 ms computing, 0.3 ms sending". */
static const char *totals_text(page *g, const weft_chain_step *s, int n)
{
    static const char *const doing[] = {
        [WEFT_CHAIN_COMPUTE] = "computing",
        [WEFT_CHAIN_TRANSFER] = "sending",
        [WEFT_CHAIN_WAIT] = "waiting",
    };
    double total_s[3] = {0, 0, 0};
    const char *text = "";

    for (int i = 0; i < n; i++)
        total_s[s[i].kind] += s[i].seconds;
    for (int k = 0; k < 3; k++)
        if (total_s[k] > 0)
            text = weft_arena_print(g->a, "%s%s%s %s", text, *text ? ", " : "",
                                    seconds(g, total_s[k]), doing[k]);
    return text;
}

static void print_steps(page *g, weft_chain_step *s, int n)
{
    int n_shown = n <= MOST_STEPS + 1 ? n : MOST_STEPS; /* no line for a single one left out */
    double rest_s = 0;

    if (n_shown < n) {
        qsort(s, (size_t)n, sizeof *s, by_length);
        qsort(s, (size_t)n_shown, sizeof *s, by_number);
    }
    for (int i = n_shown; i < n; i++)
        rest_s += s[i].seconds;
    for (int i = 0; i < n_shown; i++) {
        put(g, weft_arena_print(g->a, "  %*s  ", WEFT_LABEL - 4, seconds(g, s[i].seconds)));
        weft_print_wrapped(g->to, WEFT_LABEL, g->width, weft_chain_text(g->r, &s[i], g->a));
    }
    if (n_shown < n)
        put(g, weft_arena_print(g->a, "  %*s  in %d shorter steps between them\n", WEFT_LABEL - 4,
                                seconds(g, rest_s), n - n_shown));
}

static void print_chain(page *g)
{
    weft_chain_step *s = WEFT_NEW(g->a, weft_chain_step, g->m->n_chain);
    int n = weft_chain_steps(g->m, s);

    if (!(g->m->makespan_s > 0))
        return;
    fputc('\n', g->to);
    weft_print_wrapped(g->to, 0, g->width,
                       weft_arena_print(g->a, "why %s takes %s: %s",
                                        g->p->ask.goal == WEFT_THROUGHPUT ? "one item" : "it",
                                        seconds(g, g->m->makespan_s), totals_text(g, s, n)));
    print_steps(g, s, n);
}

/* --- chart ----------------------------------------------------------------------------------- */

typedef struct chart {
    int n_columns;
    double slice_s;
    double *busy_s;  /* [(n_devices + 1) * n_columns]; the last row is of transfers */
    double *until_s; /* [n_devices + 1] latest end so far */
} chart;

/* A job on its row. */
typedef struct bar {
    double start_s, end_s;
    int row;
} bar;

static int by_start(const void *a, const void *b)
{
    const bar *x = a, *y = b;

    return (x->start_s > y->start_s) - (x->start_s < y->start_s);
}

static void add_bar(chart *c, const bar *b)
{
    double from_s = fmax(b->start_s, c->until_s[b->row]);
    double *busy_s = c->busy_s + (size_t)b->row * (size_t)c->n_columns;

    if (!(b->end_s > from_s))
        return;
    c->until_s[b->row] = b->end_s;
    for (int i = (int)fmin(from_s / c->slice_s, c->n_columns - 1); i < c->n_columns; i++) {
        double left_s = fmax(from_s, i * c->slice_s);
        double right_s = fmin(b->end_s, (i + 1) * c->slice_s);

        if (i * c->slice_s >= b->end_s)
            break;
        busy_s[i] += fmax(0.0, right_s - left_s);
    }
}

static void fill_chart(page *g, chart *c)
{
    const weft_jobs *j = g->m->jobs;
    const weft_timeline *t = g->m->timeline;
    bar *b = WEFT_NEW(g->a, bar, j->n_jobs);
    const int *device =
        g->r->solution->plan.device +
        (size_t)g->m->longest_way * (size_t)g->p->n_tasks; /* the run that is shown */
    size_t n_rows = (size_t)g->p->n_devices + 1;

    c->busy_s = WEFT_NEW(g->a, double, n_rows *(size_t)c->n_columns);
    c->until_s = WEFT_NEW(g->a, double, n_rows);
    for (int i = 0; i < j->n_jobs; i++)
        b[i] = (bar){t->start_s[i], t->end_s[i],
                     j->kind[i] == WEFT_JOB_COMPUTE ? device[j->task[i]] : g->p->n_devices};
    if (j->n_jobs > 0)
        qsort(b, (size_t)j->n_jobs, sizeof *b, by_start);
    for (int i = 0; i < j->n_jobs; i++)
        add_bar(c, &b[i]);
}

static void print_row(page *g, const chart *c, int row, const char *name)
{
    const double *busy_s = c->busy_s + (size_t)row * (size_t)c->n_columns;
    const double rounding = 1e-6; /* of a slice: what ends with a slice is not in the next */

    fprintf(g->to, "  ");
    weft_print_padded(g->to, name, g->name_width);
    fputs(" |", g->to);
    for (int i = 0; i < c->n_columns; i++) {
        double share = busy_s[i] / c->slice_s;

        fputc(share > 0.5 + rounding ? '#' : share > rounding ? '+' : '.', g->to);
    }
    fputs("|\n", g->to);
}

static void print_chart(page *g)
{
    chart c = {.n_columns = g->width - g->name_width - 5};

    c.slice_s = g->m->makespan_s / c.n_columns;
    if (g->m->jobs == NULL || g->m->timeline == NULL || !(c.slice_s > 0))
        return;
    fill_chart(g, &c);
    fputc('\n', g->to);
    weft_print_wrapped(g->to, 0, g->width,
                       weft_arena_print(g->a, "%sbusy: # over half, + less, . idle; one mark is %s",
                                        g->m->n_ways > 1 ? "one item on the longest way; " : "",
                                        seconds(g, c.slice_s)));
    for (int i = 0; i < g->n_shown; i++)
        print_row(g, &c, g->shown[i], g->p->device_name[g->shown[i]]);
    if (g->m->n_transfers > 0)
        print_row(g, &c, g->p->n_devices, "transfers");
    put(g, weft_arena_print(g->a, "  %*s  0 s%*s\n", g->name_width, "", c.n_columns - 3,
                            seconds(g, g->m->makespan_s)));
}

/* --- all ------------------------------------------------------------------------------------- */

static void print_no_plan(page *g)
{
    if (g->proof->outcome == WEFT_INFEASIBLE)
        weft_print_wrapped(g->to, 0, g->width, "  There is no plan: this is proved.");
    else
        weft_print_wrapped(g->to, 0, g->width,
                           "  No plan was found; whether there is one is not known.");
    if (g->proof->reason != NULL)
        weft_print_wrapped(g->to, 2, g->width, weft_arena_print(g->a, "  %s", g->proof->reason));
    else
        print_overflow(g, "The best attempt");
}

static void print_plan(page *g)
{
    print_value(g);
    print_ways(g);
    print_bound(g);
    print_speed_up(g);
    print_heft(g);
    print_energy(g);
    print_sent(g);
    choose_devices(g);
    print_devices(g);
    print_overflow(g, "This plan is not legal: it");
    print_chain(g);
    print_chart(g);
}

void weft_report_text(const weft_report *r, int width, FILE *to)
{
    page g = {
        .r = r,
        .p = r->problem,
        .m = &r->solution->measures,
        .proof = &r->solution->proof,
        .to = to,
        .a = weft_arena_new(),
        .width = width <= 0 ? DEFAULT_WIDTH : width,
    };

    assert(r->problem != NULL && r->solution != NULL);
    g.width = g.width < LEAST_WIDTH ? LEAST_WIDTH : g.width > MOST_WIDTH ? MOST_WIDTH : g.width;
    print_title(&g);
    if (weft_report_has_plan(r))
        print_plan(&g);
    else
        print_no_plan(&g);
    weft_arena_free(g.a);
}
