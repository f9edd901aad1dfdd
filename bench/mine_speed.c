/* SPDX-License-Identifier: MIT */
/* mine_speed.c: how many designs can be evaluated in a second?
 *
 * mine_speed [MODEL [BATCH]] (default: bert:large, 8) takes all designs of template mine16 within
 * 600 mm2 and 280 W, evaluates a training step on each of them (16-bit numbers, Adam) twice and
 * prints one JSON line: evaluations a second of processor time of one thread, in the first pass
 * (which fills the tables of operator times) and in the second, and what the lower bounds take.
 * Exit code: 0, or 1 if the second pass of bert:large has fewer than 20,000 a second. */
#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "model.h"
#include "workload_eval.h"

static const double least_per_second = 20000;
static const weft_limits limits = {600, 280};

/* Of the processor, so that other work on the machine does not count. */
static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct designs {
    int n;
    weft_design_point *at;
} designs;

static designs all_within(const weft_template *t, weft_arena *a)
{
    int64_t n = weft_template_points(t);
    designs d = {0, WEFT_NEW(a, weft_design_point, n)};

    for (int64_t i = 0; i < n; i++) {
        weft_design_point p = weft_point_at(t, i);

        if (weft_design_point_area_mm2(t, &p) <= limits.area_mm2 &&
            weft_design_point_tdp_w(t, &p) <= limits.tdp_w)
            d.at[d.n++] = p;
    }
    return d;
}

typedef double (*question)(void *eval, const weft_design_point *p);

/* Answers a second of processor time; every `stride`-th design is asked for. */
static double rate(weft_workload_eval *m, const designs *d, question step_s, int stride,
                   double *least_s)
{
    double start_s = now_s();
    int n = 0;

    *least_s = INFINITY;
    for (int i = 0; i < d->n; i += stride, n++)
        *least_s = fmin(*least_s, step_s(m, &d->at[i]));
    return n / (now_s() - start_s);
}

static double measure(weft_workload_eval *m, const designs *d, weft_arena *a, weft_doc *line)
{
    double least_s, bound_s, first = rate(m, d, weft_eval_step_s, 1, &least_s);
    double second = rate(m, d, weft_eval_step_s, 1, &least_s);

    weft_put_int(a, line, "operators", weft_eval_n_operators(m));
    weft_put_int(a, line, "blocks", m->series.n);
    weft_put_int(a, line, "different_blocks", m->series.n_blocks);
    weft_put_int(a, line, "designs", d->n);
    weft_put_real(a, line, "first_per_second", first);
    weft_put_real(a, line, "per_second", second);
    weft_put_real(a, line, "floor_per_second", rate(m, d, weft_eval_bound_s, 1, &bound_s));
    weft_put_real(a, line, "simple_per_second", rate(m, d, weft_eval_simple_s, 1, &bound_s));
    weft_put_real(a, line, "headtail_per_second", rate(m, d, weft_eval_headtail_s, 100, &bound_s));
    weft_put_real(a, line, "best_step_s", least_s);
    return second;
}

static weft_status run(const char *name, int64_t batch, double *per_second)
{
    weft_model_options o = {
        .batch = batch, .dtype = WEFT_BF16, .train = true, .optimizer = WEFT_ADAM};
    weft_arena *a = weft_arena_new();
    weft_doc *line = weft_doc_new(a, WEFT_DOC_MAP);
    weft_template *t = NULL;
    weft_model *model = NULL;
    weft_workload_eval *m = NULL;
    weft_status status = weft_template_open("mine16", &t);

    weft_put_text(a, line, "bench", "mine_speed");
    weft_put_text(a, line, "model", name);
    weft_put_int(a, line, "batch", batch);
    if (status == WEFT_OK)
        status = weft_model_open(name, &o, &model);
    if (status == WEFT_OK)
        status = weft_eval_new(model->graph, t, &m);
    if (status == WEFT_OK) {
        designs d = all_within(t, a);

        *per_second = measure(m, &d, a, line);
        printf("%s\n", weft_doc_json(line, 0, a));
    }
    weft_eval_free(m);
    weft_model_free(model);
    weft_template_free(t);
    weft_arena_free(a);
    return status;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "bert:large";
    double per_second = 0;

    if (run(name, argc > 2 ? atoll(argv[2]) : 8, &per_second) != WEFT_OK) {
        fprintf(stderr, "mine_speed: %s\n", weft_message());
        return 2;
    }
    return strcmp(name, "bert:large") == 0 && per_second < least_per_second;
}
