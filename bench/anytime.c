/* SPDX-License-Identifier: MIT */
/* anytime.c: what has a solver found, and when?
 *
 * anytime SOLVER SECONDS MODEL [PLATFORM [GOAL]] runs one solver on one thread with a limit of wall
 * time and prints one JSON line: size of the problem, the answer with its bound, and `history`, one
 * row [processor seconds, wall seconds, value, bound] for each better plan or bound that the solver
 * told of, and one for its answer. `first` is the first row with a plan and a bound.
 *
 * Both clocks start after the network was opened and its costs are known, as the solver begins, and
 * nothing else runs in the process: on an idle machine they agree, on a busy one wall time counts what
 * others take. Processor time includes that of CBC, which works in a process of its own, from its end
 * on. Exit code: 0, or 1 if there is no such solver, network or platform. */
#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "kind.h"
#include "report.h"

enum { MOST_ROWS = 10000 };

typedef struct row {
    double processor_s, since_s, value, bound;
} row;

typedef struct watch {
    row *rows; /* [MOST_ROWS] later ones are counted only */
    int n;
    double cpu_begin_s, wall_begin_s, value, bound;
} watch;

static double wall_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Processor seconds of this process, and of those that it has waited for: CBC works in one of its own. */
static double cpu_s(void)
{
    struct timespec t;
    struct rusage u;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    getrusage(RUSAGE_CHILDREN, &u);
    return (double)(t.tv_sec + u.ru_utime.tv_sec + u.ru_stime.tv_sec) + 1e-9 * (double)t.tv_nsec +
           1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static void add_row(watch *w, double value, double bound)
{
    if (w->n < MOST_ROWS)
        w->rows[w->n] = (row){cpu_s() - w->cpu_begin_s, wall_s() - w->wall_begin_s, value, bound};
    w->n++;
}

/* Keeps the best of both: solvers may tell of a plan, of a bound, or of nothing new. */
static void note(void *context, double value, double bound)
{
    watch *w = context;

    if (!(value < w->value) && !(bound > w->bound))
        return;
    w->value = fmin(w->value, value);
    w->bound = fmax(w->bound, bound);
    add_row(w, w->value, w->bound);
}

static weft_doc *row_doc(const row *r, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_LIST);

    weft_doc_add(a, d, weft_doc_new_real(a, r->processor_s));
    weft_doc_add(a, d, weft_doc_new_real(a, r->since_s));
    weft_doc_add(a, d, weft_doc_new_real(a, isfinite(r->value) ? r->value : NAN));
    weft_doc_add(a, d, weft_doc_new_real(a, r->bound));
    return d;
}

static weft_doc *history_doc(const watch *w, weft_doc **first, weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    *first = NULL;
    for (int i = 0; i < w->n && i < MOST_ROWS; i++) {
        weft_doc_add(a, list, row_doc(&w->rows[i], a));
        if (*first == NULL && isfinite(w->rows[i].value) && w->rows[i].bound > 0)
            *first = row_doc(&w->rows[i], a);
    }
    return list;
}

static void print(const weft_request *q, const weft_problem *p, const char *solver,
                  const weft_solution *s, const watch *w)
{
    weft_arena *a = weft_arena_new();
    weft_doc *line = weft_doc_new(a, WEFT_DOC_MAP), *first;
    weft_doc *history = history_doc(w, &first, a);
    bool has_plan = isfinite(s->proof.value);

    weft_doc_put(a, line, "bench", weft_doc_new_text(a, "anytime"));
    weft_doc_put(a, line, "model", weft_doc_new_text(a, q->model));
    weft_doc_put(a, line, "platform", weft_doc_new_text(a, q->platform ? q->platform : ""));
    weft_doc_put(a, line, "goal", weft_doc_new_text(a, weft_goal_name(p->constraints.goal)));
    weft_doc_put(a, line, "solver", weft_doc_new_text(a, solver));
    weft_doc_put(a, line, "tasks", weft_doc_new_int(a, p->n_tasks));
    weft_doc_put(a, line, "devices", weft_doc_new_int(a, p->n_devices));
    weft_doc_put(a, line, "status", weft_doc_new_text(a, weft_outcome_name(s->proof.outcome)));
    weft_doc_put(a, line, "value", weft_doc_new_real(a, has_plan ? s->proof.value : NAN));
    weft_doc_put(a, line, "bound", weft_doc_new_real(a, s->proof.bound));
    weft_doc_put(a, line, "gap", weft_doc_new_real(a, has_plan ? s->proof.gap : NAN));
    weft_doc_put(a, line, "first", first ? first : weft_doc_new(a, WEFT_DOC_NULL));
    weft_doc_put(a, line, "history", history);
    printf("%s\n", weft_doc_json(line, 0, a));
    weft_arena_free(a);
}

static weft_status run(const weft_request *q, const char *name, double limit_s)
{
    const weft_solver *solver = weft_place_find(name);
    weft_arena *a = weft_arena_new();
    watch w = {.rows = WEFT_NEW(a, row, MOST_ROWS), .value = INFINITY};
    weft_run r = {.seed = 1, .n_threads = 1, .limit_s = limit_s, .progress = note, .context = &w};
    weft_solution s;
    weft_case c;
    weft_status status;

    if (solver == NULL)
        return weft_fail(WEFT_E_INPUT, "unknown solver '%s'", name);
    WEFT_TRY(weft_case_open(q, &c));
    r.scratch = weft_arena_new();
    w.cpu_begin_s = cpu_s();
    w.wall_begin_s = wall_s();
    status = weft_solve(solver, c.problem, NULL, &r, NULL, a, &s);
    if (status == WEFT_OK) {
        add_row(&w, s.proof.value, s.proof.bound);
        print(q, c.problem, name, &s, &w);
    }
    weft_arena_free(r.scratch);
    weft_case_close(&c);
    weft_arena_free(a);
    return status;
}

int main(int argc, char **argv)
{
    weft_request q = {.model = argc > 3 ? argv[3] : NULL, .platform = argc > 4 ? argv[4] : NULL};
    double limit_s = argc > 2 ? strtod(argv[2], NULL) : 0;

    if (argc < 4 || argc > 6 || !(limit_s > 0)) {
        fprintf(stderr, "usage: anytime SOLVER SECONDS MODEL [PLATFORM [latency|throughput]]\n");
        return 1;
    }
    q.constraints.goal =
        argc > 5 && strcmp(argv[5], "throughput") == 0 ? WEFT_THROUGHPUT : WEFT_LATENCY;
    if (run(&q, argv[1], limit_s) != WEFT_OK) {
        fprintf(stderr, "anytime: %s\n", weft_message());
        return 1;
    }
    return 0;
}
