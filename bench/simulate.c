/* SPDX-License-Identifier: MIT */
/* simulate.c: how long does it take to say what a plan is worth?
 *
 * simulate [overlap|contend|block] evaluates a plan of 10,000 tasks on 8 devices (a random network
 * in layers, tasks placed at random, so that most tensors are sent) and prints one JSON line: the
 * best of twenty times in milliseconds, of everything from plan to measures, and the ratio to one
 * plain pass that adds up all bytes of the jobs and of their timeline, the least that any simulator
 * must touch. Exit code: 0, or 1 if it takes 20 ms or more. */
#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "sim.h"

enum { N_TASKS = 10000, N_DEVICES = 8, WIDTH = 16, N_READERS = 2, N_REPEATS = 20 };

static const double limit_ms = 20;

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static const char **numbered(weft_arena *a, const char *letter, int n)
{
    const char **name = WEFT_NEW(a, const char *, n);

    for (int i = 0; i < n; i++)
        name[i] = weft_arena_print(a, "%s%d", letter, i);
    return name;
}

/* Each task makes one tensor, read by some tasks of the next layer. */
static weft_status make_problem(weft_transfer transfer, weft_rng *r, weft_arena *a,
                                weft_problem **out)
{
    double *seconds = WEFT_NEW(a, double, N_TASKS *N_DEVICES);
    double *amount = WEFT_NEW(a, double, N_TASKS);
    int *producer = WEFT_NEW(a, int, N_TASKS), *reader_at = WEFT_NEW(a, int, N_TASKS + 1);
    int *reader = WEFT_NEW(a, int, N_TASKS *N_READERS);

    for (int i = 0; i < N_TASKS * N_DEVICES; i++)
        seconds[i] = 1 + weft_rng_real(r);
    for (int t = 0; t < N_TASKS; t++) {
        int layer = (t / WIDTH + 1) * WIDTH, n = reader_at[t];
        for (int i = 0; i < N_READERS && layer + WIDTH <= N_TASKS; i++)
            reader[n++] = layer + weft_rng_below(r, WIDTH);
        amount[t] = weft_rng_real(r);
        producer[t] = t;
        reader_at[t + 1] = n;
    }
    return weft_problem_make(&(weft_problem_spec){.name = "layers",
                                                  .n_tasks = N_TASKS,
                                                  .n_devices = N_DEVICES,
                                                  .n_tensors = N_TASKS,
                                                  .task_name = numbered(a, "T", N_TASKS),
                                                  .device_name = numbered(a, "P", N_DEVICES),
                                                  .seconds = seconds,
                                                  .amount = amount,
                                                  .producer = producer,
                                                  .reader_at = reader_at,
                                                  .reader = reader,
                                                  .host = -1,
                                                  .transfer = transfer},
                             out);
}

static uint64_t sum_bytes(const void *from, size_t n, size_t size)
{
    const uint8_t *at = from;
    uint64_t sum = 0;

    for (size_t i = 0; i < n * size; i++)
        sum += at[i];
    return sum;
}

/* Touches what the event loop reads and writes. */
static uint64_t pass(const weft_jobs *j, const weft_timeline *t)
{
    size_t n = (size_t)j->n_jobs;

    return sum_bytes(j->duration_s, n, sizeof *j->duration_s) +
           sum_bytes(j->release_s, n, sizeof *j->release_s) +
           sum_bytes(j->dep_at, n + 1, sizeof *j->dep_at) +
           sum_bytes(j->dep, (size_t)j->dep_at[n], sizeof *j->dep) +
           sum_bytes(j->use_at, n + 1, sizeof *j->use_at) +
           sum_bytes(j->use, (size_t)j->use_at[n], sizeof *j->use) +
           sum_bytes(j->rank, n, sizeof *j->rank) + sum_bytes(t->start_s, n, sizeof *t->start_s) +
           sum_bytes(t->end_s, n, sizeof *t->end_s) +
           sum_bytes(t->waits_for, n, sizeof *t->waits_for);
}

typedef struct result {
    double evaluate_s, pass_s, makespan_s;
    int n_jobs;
    uint64_t sum; /* kept, so that the pass is not optimised away */
} result;

static weft_status measure(const weft_problem *p, weft_plan *plan, result *out)
{
    for (int i = 0; i < N_REPEATS; i++) {
        weft_arena *a = weft_arena_new();
        weft_measures m;
        double start_s = now_s(), end_s;
        weft_status status = weft_evaluate(p, plan, a, &m);
        end_s = now_s();
        if (status == WEFT_OK) {
            out->sum += pass(m.jobs, m.timeline);
            out->pass_s = fmin(out->pass_s, now_s() - end_s);
            out->evaluate_s = fmin(out->evaluate_s, end_s - start_s);
            out->makespan_s = m.makespan_s;
            out->n_jobs = m.n_jobs;
        }
        weft_arena_free(a);
        WEFT_TRY(status);
    }
    return WEFT_OK;
}

static void print(const result *r, weft_transfer transfer, weft_arena *a)
{
    weft_doc *line = weft_doc_new(a, WEFT_DOC_MAP);

    weft_doc_put(a, line, "bench", weft_doc_new_text(a, "simulate"));
    weft_doc_put(a, line, "transfer", weft_doc_new_text(a, weft_transfer_name(transfer)));
    weft_doc_put(a, line, "tasks", weft_doc_new_int(a, N_TASKS));
    weft_doc_put(a, line, "jobs", weft_doc_new_int(a, r->n_jobs));
    weft_doc_put(a, line, "makespan_s", weft_doc_new_real(a, r->makespan_s));
    weft_doc_put(a, line, "milliseconds", weft_doc_new_real(a, 1e3 * r->evaluate_s));
    weft_doc_put(a, line, "pass_milliseconds", weft_doc_new_real(a, 1e3 * r->pass_s));
    weft_doc_put(a, line, "ratio", weft_doc_new_real(a, r->evaluate_s / r->pass_s));
    weft_doc_put(a, line, "checksum", weft_doc_new_int(a, (int64_t)(r->sum >> 1)));
    printf("%s\n", weft_doc_json(line, 0, a));
}

static weft_status run(weft_transfer transfer, weft_arena *a, result *out)
{
    weft_rng r = weft_rng_seed(1);
    weft_plan plan = weft_plan_new(N_TASKS, a);
    weft_problem *p = NULL;
    weft_status status;

    WEFT_TRY(make_problem(transfer, &r, a, &p));
    for (int u = 0; u < N_TASKS; u++) {
        plan.device[u] = weft_rng_below(&r, N_DEVICES);
        plan.start_s[u] = u;
    }
    status = measure(p, &plan, out);
    weft_problem_free(p);
    return status;
}

int main(int argc, char **argv)
{
    weft_arena *a = weft_arena_new();
    weft_transfer transfer = WEFT_CONTEND;
    result r = {.evaluate_s = INFINITY, .pass_s = INFINITY};
    weft_status status;

    for (int t = WEFT_OVERLAP; t <= WEFT_BLOCK; t++)
        if (argc > 1 && strcmp(argv[1], weft_transfer_name((weft_transfer)t)) == 0)
            transfer = (weft_transfer)t;
    status = run(transfer, a, &r);
    if (status == WEFT_OK)
        print(&r, transfer, a);
    else
        fprintf(stderr, "simulate: %s\n", weft_message());
    weft_arena_free(a);
    return status == WEFT_OK && 1e3 * r.evaluate_s < limit_ms ? 0 : 1;
}
