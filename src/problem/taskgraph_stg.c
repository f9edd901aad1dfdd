/* SPDX-License-Identifier: MIT */
/* taskgraph_stg.c: files of the Standard Task Graph Set.
 *
 *   N [PROCESSORS]                                     '#' begins the information behind the tasks
 *   TASK  SECONDS  K  P1 .. PK                         one line per task
 *   TASK  SECONDS  K  P1 COST1 .. PK COSTK             with communication costs
 *   TASK  SECONDS  K                                   the same, with K lines "P COST" below
 *
 * N counts the tasks without those of time 0 that mark begin and end, so there are N to N + 2 lines
 * of tasks. Costs are times between two processors. Tasks are called t0, t1, ... by their numbers.
 * Kasahara Laboratory, Waseda University: format of the task graphs with and without costs, and of
 * the prototype set, whose first line names the processors. */
#include "taskgraph.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DIGITS = 40, MOST_NUMBER = 1000000000 };

typedef struct reader {
    weft_taskgraph *x;
    size_t at;
    int line;
    WEFT_VEC(double) number; /* of this line */
} reader;

static weft_status read_number(reader *r, size_t end, double *out)
{
    char text[MOST_DIGITS + 1];
    size_t n = 0;
    char *rest;

    while (r->at + n < end && !isspace((unsigned char)r->x->text[r->at + n]))
        n++;
    snprintf(text, sizeof text, "%.*s", (int)(n < MOST_DIGITS ? n : MOST_DIGITS),
             r->x->text + r->at);
    *out = strtod(text, &rest);
    if (n > MOST_DIGITS || !isdigit((unsigned char)text[0]) || *rest != '\0' || !isfinite(*out) ||
        text[1] == 'x' || text[1] == 'X')
        return weft_taskgraph_fail(r->x, r->line, "'%.20s' is no number from 0 on", text);
    r->at += n;
    return WEFT_OK;
}

/* Numbers of the next line that has any; none: the file ends. */
static weft_status next_line(reader *r)
{
    const weft_taskgraph *x = r->x;

    r->number.n = 0;
    while (r->at < x->n && r->number.n == 0) {
        const char *newline = memchr(x->text + r->at, '\n', x->n - r->at);
        size_t end = newline ? (size_t)(newline - x->text) : x->n;

        r->line++;
        while (r->at < end) {
            double value;

            if (isspace((unsigned char)x->text[r->at])) {
                r->at++;
                continue;
            }
            if (x->text[r->at] == '#')
                break;
            WEFT_TRY(read_number(r, end, &value));
            WEFT_PUSH(x->a, r->number, value);
        }
        r->at = end + (end < x->n);
    }
    return WEFT_OK;
}

static weft_status whole(const reader *r, double value, const char *what, int *out)
{
    if (value > MOST_NUMBER || value != floor(value))
        return weft_taskgraph_fail(r->x, r->line, "%s is %g, expected a whole number", what, value);
    *out = (int)value;
    return WEFT_OK;
}

typedef struct link {
    int from, to, line;
    double cost;
} link;

typedef struct links {
    WEFT_VEC(link) list;
} links;

static weft_status add_link(reader *r, int task, double from, double cost, links *out)
{
    link l = {.to = task, .line = r->line, .cost = cost};

    WEFT_TRY(whole(r, from, "a predecessor", &l.from));
    if (l.from == task)
        return weft_taskgraph_fail(r->x, r->line, "task %d waits for itself", task);
    WEFT_PUSH(r->x->a, out->list, l);
    return WEFT_OK;
}

/* K lines "P COST". */
static weft_status read_costs(reader *r, int task, int k, links *out)
{
    for (int i = 0; i < k; i++) {
        WEFT_TRY(next_line(r));
        if (r->number.n != 2)
            return weft_taskgraph_fail(r->x, r->line,
                                       "task %d has %d predecessors: expected a line with one of "
                                       "them and its cost, found %d numbers",
                                       task, k, r->number.n);
        WEFT_TRY(add_link(r, task, r->number.at[0], r->number.at[1], out));
    }
    return WEFT_OK;
}

static const char *name_of(const reader *r, int task)
{
    return weft_arena_print(r->x->a, "t%d", task);
}

static weft_status read_task(reader *r, links *out)
{
    int n = r->number.n, task = 0, k = 0;

    if (n < 3)
        return weft_taskgraph_fail(r->x, r->line,
                                   "expected a task, its time and the number of its predecessors, "
                                   "found %d number%s",
                                   n, n == 1 ? "" : "s");
    WEFT_TRY(whole(r, r->number.at[0], "the number of a task", &task));
    WEFT_TRY(whole(r, r->number.at[2], "the number of predecessors", &k));
    WEFT_TRY(weft_taskgraph_add_task(r->x, r->line, name_of(r, task), r->number.at[1]));
    if (n == 3)
        return read_costs(r, task, k, out);
    if (n - 3 != k && n - 3 != (int64_t)2 * k)
        return weft_taskgraph_fail(r->x, r->line,
                                   "task %d has %d predecessors, expected as many numbers behind, "
                                   "or twice as many with costs; found %d",
                                   task, k, n - 3);
    for (int i = 0, step = (n - 3) / k; i < k; i++)
        WEFT_TRY(add_link(r, task, r->number.at[3 + i * step],
                          step == 2 ? r->number.at[3 + i * step + 1] : 0, out));
    return WEFT_OK;
}

static weft_status add_edges(const reader *r, const links *all)
{
    for (int i = 0; i < all->list.n; i++) {
        const link *l = &all->list.at[i];
        const char *from = name_of(r, l->from), *to = name_of(r, l->to);

        if (weft_map_get(r->x->index, from, strlen(from)) < 0)
            return weft_taskgraph_fail(r->x, l->line, "task %d waits for %d, which is no task",
                                       l->to, l->from);
        weft_taskgraph_add_edge(r->x, l->line, from, &to, 1, l->cost);
    }
    return WEFT_OK;
}

weft_status weft_taskgraph_stg(weft_taskgraph *x)
{
    reader r = {.x = x};
    links all = {0};
    int n = 0;

    WEFT_TRY(next_line(&r));
    if (r.number.n < 1 || r.number.n > 2)
        return weft_taskgraph_fail(x, r.line,
                                   "expected the number of tasks, found %d numbers: is this a file "
                                   "of the Standard Task Graph Set?",
                                   r.number.n);
    WEFT_TRY(whole(&r, r.number.at[0], "the number of tasks", &n));
    if (r.number.n == 2)
        WEFT_TRY(whole(&r, r.number.at[1], "the number of processors", &x->n_processors));
    WEFT_TRY(next_line(&r));
    while (r.number.n > 0) {
        WEFT_TRY(read_task(&r, &all));
        WEFT_TRY(next_line(&r));
    }
    if (x->task->n < n || x->task->n > n + 2)
        return weft_taskgraph_fail(x, 0,
                                   "the first line says %d tasks, expected %d to %d lines of tasks "
                                   "with those of begin and end; found %d",
                                   n, n, n + 2, x->task->n);
    return add_edges(&r, &all);
}
