/* SPDX-License-Identifier: MIT */
/* taskgraph.c: task graphs of other projects as documents of weft.tasks/1.
 *
 * 1. A reader per format lists tasks with their seconds and edges with their amounts.
 * 2. The files say nothing of machines, or little: those of the user are n processors p0, p1, ...,
 *    each as fast as its speed says, any two of them connected alike. A transfer between two takes
 *    `communication` and the time of its amount: bytes by the bandwidth, costs of the file as they
 *    are.
 * 3. What is neither in the file nor asked for is an error, not a guess.
 *
 * Time and memory O(file + tasks * processors + processors^2). */
#include "taskgraph.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "problem_spec.h"

enum { MOST_TIMES = 1 << 23, MESSAGE_BYTES = 400 };

typedef struct format_row {
    const char *name, *ending, *other;
    weft_status (*read)(weft_taskgraph *x);
} format_row;

static const format_row formats[] = {
    {"stg",       ".stg", NULL,  weft_taskgraph_stg      },
    {"dot",       ".dot", ".gv", weft_taskgraph_dot      },
    {"wfcommons", NULL,   NULL,  weft_taskgraph_wfcommons},
};

enum { N_FORMATS = sizeof formats / sizeof *formats };

/* --- which format ---------------------------------------------------------------------------- */

static bool ends_with(const char *path, const char *ending)
{
    size_t n = strlen(path), k = ending ? strlen(ending) : 0;

    return k > 0 && n > k && strcmp(path + n - k, ending) == 0;
}

const char *weft_taskgraph_format(const char *path, const char *format)
{
    for (int i = 0; i < N_FORMATS; i++)
        if (format ? strcmp(format, formats[i].name) == 0
                   : ends_with(path, formats[i].ending) || ends_with(path, formats[i].other))
            return formats[i].name;
    return NULL;
}

bool weft_taskgraph_is_workflow(const weft_doc *d)
{
    return d->kind == WEFT_DOC_MAP && weft_doc_get(d, "schema") == NULL &&
           weft_doc_get(d, "workflow") != NULL;
}

/* --- what readers find ----------------------------------------------------------------------- */

weft_status weft_taskgraph_fail(const weft_taskgraph *x, int line, const char *format, ...)
{
    char text[MESSAGE_BYTES];
    const weft_doc at = {.file = x->file, .line = line};
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return weft_doc_fail(&at, "%s", text);
}

static weft_doc *new_at(const weft_taskgraph *x, int line, weft_doc_kind kind)
{
    weft_doc *d = weft_doc_new(x->a, kind);

    d->file = x->file;
    d->line = line;
    return d;
}

static weft_doc *text_at(const weft_taskgraph *x, int line, const char *text)
{
    weft_doc *d = new_at(x, line, WEFT_DOC_TEXT);

    d->text = text;
    return d;
}

static weft_doc *real_at(const weft_taskgraph *x, int line, double value)
{
    weft_doc *d = new_at(x, line, WEFT_DOC_REAL);

    d->real = value;
    return d;
}

weft_status weft_taskgraph_add_task(weft_taskgraph *x, int line, const char *name, double seconds)
{
    weft_doc *d = new_at(x, line, WEFT_DOC_MAP);

    if (!weft_map_put(x->index, name, strlen(name), x->task->n))
        return weft_taskgraph_fail(x, line, "task '%.*s' is there twice", WEFT_SHOWN(name));
    if (!(seconds >= 0))
        return weft_taskgraph_fail(x, line, "task '%.*s' takes %g s, expected 0 or more",
                                   WEFT_SHOWN(name), seconds);
    weft_doc_put(x->a, d, "name", text_at(x, line, name));
    weft_doc_put(x->a, d, "seconds", real_at(x, line, seconds));
    weft_doc_add(x->a, x->task, d);
    return WEFT_OK;
}

void weft_taskgraph_add_edge(weft_taskgraph *x, int line, const char *from, const char *const *to,
                             int n, double amount)
{
    weft_doc *d = new_at(x, line, WEFT_DOC_MAP), *ends = new_at(x, line, WEFT_DOC_LIST);

    for (int i = 0; i < n; i++)
        weft_doc_add(x->a, ends, text_at(x, line, to[i]));
    weft_doc_put(x->a, d, "from", text_at(x, line, from));
    weft_doc_put(x->a, d, "to", n == 1 ? ends->item[0] : ends);
    weft_doc_put(x->a, d, "amount", real_at(x, line, amount));
    weft_doc_add(x->a, x->edge, d);
}

/* --- machines -------------------------------------------------------------------------------- */

static int count_processors(const weft_taskgraph *x, const weft_task_machines *m)
{
    return m->n_processors > 0 ? m->n_processors : m->n_speeds > 0 ? m->n_speeds : x->n_processors;
}

static bool has_amounts(const weft_taskgraph *x)
{
    for (int i = 0; i < x->edge->n; i++)
        if (weft_doc_get(x->edge->item[i], "amount")->real > 0)
            return true;
    return false;
}

static weft_status check_machines(const weft_taskgraph *x, const weft_task_machines *m, int n)
{
    if (n < 1)
        return weft_fail(WEFT_E_INPUT, "%s names no machines: add --processors N, or --speeds",
                         x->file);
    if (n > WEFT_MOST_DEVICES || (int64_t)n * x->task->n > MOST_TIMES)
        return weft_fail(WEFT_E_INPUT,
                         "%s: %d tasks on %d processors are too many, expected at most %d "
                         "processors and a product of at most %d",
                         x->file, x->task->n, n, WEFT_MOST_DEVICES, MOST_TIMES);
    if (m->n_speeds > 0 && m->n_speeds != n)
        return weft_fail(WEFT_E_INPUT, "--speeds has %d numbers for %d processors", m->n_speeds, n);
    if (x->has_bytes && m->bytes_per_s == 0 && n > 1 && has_amounts(x))
        return weft_fail(WEFT_E_INPUT,
                         "%s has edges with bytes: add --bandwidth, or --bandwidth unlimited",
                         x->file);
    if (!x->has_bytes && m->bytes_per_s > 0 && !m->is_optional)
        return weft_fail(WEFT_E_INPUT,
                         "%s has no bytes that a bandwidth could be for: leave --bandwidth out, "
                         "--communication is the time of an edge",
                         x->file);
    return WEFT_OK;
}

/* Rows of equal numbers with 0 on the diagonal. */
static weft_doc *uniform(weft_taskgraph *x, int n, double value)
{
    weft_doc *matrix = new_at(x, 0, WEFT_DOC_LIST);
    weft_doc *usual = real_at(x, 0, value), *zero = real_at(x, 0, 0);

    for (int i = 0; i < n; i++) {
        weft_doc *row = new_at(x, 0, WEFT_DOC_LIST);

        for (int k = 0; k < n; k++)
            weft_doc_add(x->a, row, i == k ? zero : usual);
        weft_doc_add(x->a, matrix, row);
    }
    return matrix;
}

/* One number for each processor in the place of the seconds of a task. */
static void spread(weft_taskgraph *x, weft_doc *task, const weft_task_machines *m, int n)
{
    const weft_doc *alone = weft_doc_get(task, "seconds");
    weft_doc *list = new_at(x, task->line, WEFT_DOC_LIST);
    weft_doc *same = real_at(x, task->line, alone->real);

    for (int d = 0; d < n; d++)
        weft_doc_add(x->a, list,
                     m->n_speeds > 0 ? real_at(x, task->line, alone->real / m->speed[d]) : same);
    weft_doc_set(x->a, task, "seconds", list);
}

static weft_doc *task_file(weft_taskgraph *x, const weft_task_machines *m, int n)
{
    weft_doc *d = new_at(x, 0, WEFT_DOC_MAP), *devices = new_at(x, 0, WEFT_DOC_LIST);
    double second = !x->has_bytes ? 1 : m->bytes_per_s > 0 ? 1 / m->bytes_per_s : 0;

    for (int i = 0; i < n; i++)
        weft_doc_add(x->a, devices, weft_doc_new_text(x->a, weft_arena_print(x->a, "p%d", i)));
    for (int u = 0; u < x->task->n; u++)
        spread(x, x->task->item[u], m, n);
    weft_put_text(x->a, d, "schema", "weft.tasks/1");
    if (x->name != NULL && *x->name)
        weft_put_text(x->a, d, "name", x->name);
    weft_doc_put(x->a, d, "devices", devices);
    weft_doc_put(x->a, d, "tasks", x->task);
    weft_doc_put(x->a, d, "edges", x->edge);
    weft_doc_put(x->a, d, "link", uniform(x, n, second));
    weft_doc_put(x->a, d, "latency", uniform(x, n, m->communication_s));
    return d;
}

/* --- reading --------------------------------------------------------------------------------- */

static weft_taskgraph new_graph(const char *file, weft_arena *a)
{
    return (weft_taskgraph){.a = a,
                            .file = file ? weft_arena_word(a, file) : NULL,
                            .index = weft_map_new(a),
                            .task = weft_doc_new(a, WEFT_DOC_LIST),
                            .edge = weft_doc_new(a, WEFT_DOC_LIST)};
}

static weft_status finish(weft_taskgraph *x, const weft_task_machines *machines,
                          const weft_doc **out)
{
    if (x->task->n == 0)
        return weft_taskgraph_fail(x, 0, "there are no tasks, expected at least one");
    WEFT_TRY(check_machines(x, machines, count_processors(x, machines)));
    *out = task_file(x, machines, count_processors(x, machines));
    return WEFT_OK;
}

weft_status weft_taskgraph_parse(const char *text, size_t n, const char *file, const char *name,
                                 const weft_task_machines *machines, weft_arena *a,
                                 const weft_doc **out)
{
    weft_taskgraph x = new_graph(file, a);
    int k = 0;

    x.text = text;
    x.n = n;
    while (strcmp(formats[k].name, name) != 0)
        k++;
    WEFT_TRY(formats[k].read(&x));
    return finish(&x, machines, out);
}

weft_status weft_taskgraph_of_workflow(const weft_doc *d, const weft_task_machines *machines,
                                       weft_arena *a, const weft_doc **out)
{
    weft_taskgraph x = new_graph(d->file, a);

    x.doc = d;
    WEFT_TRY(weft_taskgraph_wfcommons(&x));
    return finish(&x, machines, out);
}

weft_status weft_taskgraph_read(const char *path, const char *format,
                                const weft_task_machines *machines, weft_arena *a,
                                const weft_doc **out)
{
    weft_file f;
    weft_status status;

    WEFT_TRY(weft_file_open(path, &f));
    status = weft_taskgraph_parse((const char *)f.data, f.size, path, format, machines, a, out);
    weft_file_close(&f);
    return status;
}
