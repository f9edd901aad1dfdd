/* SPDX-License-Identifier: MIT */
/* mine_search.c: what does a search of designs find, and after how many evaluations?
 *
 * mine_search [-b BATCH] [-s] TEMPLATE AREA_MM2 TDP_W THREADS MOST SEEDS MODEL SEARCH... trains the
 * network (Adam, batch 8 if not said otherwise, 16 bit) and runs each search with at most MOST
 * evaluations (0: no limit) and the seeds 1
 * .. SEEDS. One JSON line for each: the design, its throughput, the bounds, the numbers of designs
 * in the limits, bounded and scheduled, seconds of the search, and the throughput relative to the
 * reference design of the template. MODEL may be several names with '+' between them: geometric
 * mean. Memory is not checked: the figures are of designs, not of batch sizes that fit.
 *
 * Searches behind the first one that proved an optimum also say after how many evaluations they had
 * 99 % of it ("to_99", -1: never), and those behind "fast" after how many they had what it has
 * found
 * ("to_equal"); the reference design, with which all begin, is not counted. "enough": evaluated
 * designs with 99 % of the optimum. With -s searches behind "fast" stop when they have both; the
 * first search, "fast", "climb" and "exhaustive" run once and without limit. Exit code: 0, or 1. */
#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mine.h"
#include "model.h"

enum { MOST_MODELS = 16, MOST_THREADS = 64 };

typedef struct job {
    weft_template *template_;
    int n_threads, n_models;
    weft_model *trained[MOST_MODELS], *plain[MOST_MODELS];
    weft_workload_eval *eval[MOST_MODELS][MOST_THREADS], *forward_eval[MOST_MODELS][MOST_THREADS];
    weft_workload work[MOST_MODELS], forward[MOST_MODELS];
    char name[MOST_MODELS][200];
    int64_t batch;
    bool stops;              /* when all is reached */
    double optimum, reached; /* throughputs, the second that of "fast"; 0: not known */
} job;

enum { TO_99, TO_EQUAL, N_GOALS };

/* Told of every evaluation, it watches for goals. */
typedef struct watch {
    const weft_objective *objective; /* with reference_s */
    double goal[N_GOALS];            /* throughput; 0: not known */
    bool stops;
    int64_t n, n_enough;   /* evaluations; those that reach the first goal */
    int64_t when[N_GOALS]; /* evaluations; -1: not yet */
    volatile sig_atomic_t stop;
} watch;

static bool knows_nothing(void *context, int64_t index, double *step_s)
{
    (void)context, (void)index, (void)step_s;
    return false;
}

static bool fits(const weft_objective *q, int64_t index)
{
    weft_design_point p = weft_point_at(q->template_, index);

    return weft_design_point_area_mm2(q->template_, &p) <= q->limits.area_mm2 &&
           weft_design_point_tdp_w(q->template_, &p) <= q->limits.tdp_w;
}

static weft_status look(void *context, int n, const int64_t *index, const double *step_s)
{
    watch *w = context;

    for (int i = 0; i < n; i++) {
        const double *seconds = step_s + (size_t)i * (size_t)w->objective->n_workloads;

        double throughput =
            fits(w->objective, index[i]) ? weft_objective_throughput(w->objective, seconds) : 0;

        for (int k = 0; k < N_GOALS; k++)
            if (w->goal[k] > 0 && w->when[k] < 0 && throughput >= w->goal[k])
                w->when[k] = w->n;
        w->n_enough += w->goal[TO_99] > 0 && throughput >= w->goal[TO_99];
        w->n++; /* the first is the reference */
    }
    w->stop = w->stops && w->when[TO_99] >= 0 && w->when[TO_EQUAL] >= 0;
    return WEFT_OK;
}

static int fail(void)
{
    fprintf(stderr, "mine_search: %s\n", weft_message());
    return 1;
}

static weft_status add_evals(const job *j, const weft_graph *g, weft_workload_eval **eval)
{
    for (int i = 0; i < j->n_threads; i++)
        WEFT_TRY(weft_eval_new(g, j->template_, &eval[i]));
    return WEFT_OK;
}

static weft_status add_model(job *j, const char *name, size_t n)
{
    int i = j->n_models++;
    weft_model_options options = {.batch = j->batch, .dtype = WEFT_BF16};

    snprintf(j->name[i], sizeof j->name[i], "%.*s", (int)n, name);
    WEFT_TRY(weft_model_open(j->name[i], &options, &j->plain[i]));
    options.train = true;
    options.optimizer = WEFT_ADAM;
    WEFT_TRY(weft_model_open(j->name[i], &options, &j->trained[i]));
    WEFT_TRY(add_evals(j, j->trained[i]->graph, j->eval[i]));
    WEFT_TRY(add_evals(j, j->plain[i]->graph, j->forward_eval[i]));
    j->work[i] = (weft_workload){.name = j->name[i],
                                 .timer = &weft_eval_timer,
                                 .eval = (void *const *)j->eval[i],
                                 .batch = (double)j->batch,
                                 .weight = 1};
    j->forward[i] = j->work[i];
    j->forward[i].eval = (void *const *)j->forward_eval[i];
    return WEFT_OK;
}

static weft_status add_models(job *j, const char *text)
{
    while (*text != '\0') {
        size_t n = strcspn(text, "+");

        if (j->n_models == MOST_MODELS)
            return weft_fail(WEFT_E_INPUT, "more than %d networks", MOST_MODELS);
        WEFT_TRY(add_model(j, text, n));
        text += n + (text[n] == '+');
    }
    return WEFT_OK;
}

static void print_found(const job *j, const weft_miner *m, int64_t seed, const weft_found *f,
                        double reference, double seconds, const watch *w)
{
    char point[96];

    printf("{\"template\": \"%s\", \"model\": \"%s\", \"search\": \"%s\", \"seed\": %lld, "
           "\"status\": \"%s\", \"value\": %.9g, \"bound\": %.9g, \"schedule_bound\": %.9g, "
           "\"of_reference\": %.6g, \"feasible\": %lld, \"bounded\": %lld, \"strong\": %lld, "
           "\"evaluated\": %lld, \"to_99\": %lld, \"to_equal\": %lld, \"enough\": %lld, \"front\": "
           "%d, \"seconds\": %.3f, \"design\": "
           "\"%s\"}\n",
           j->template_->name, j->name[0], m->name, (long long)seed, weft_outcome_name(f->outcome),
           f->value, f->bound, isfinite(f->schedule_bound) ? f->schedule_bound : -1,
           f->throughput / reference, (long long)f->n_feasible, (long long)f->n_bounds,
           (long long)f->n_strong, (long long)f->n_evaluated, (long long)w->when[TO_99],
           (long long)w->when[TO_EQUAL], (long long)w->n_enough, f->n_front, seconds,
           f->value > 0 ? weft_point_print(j->template_, &f->point, point) : "");
    fflush(stdout);
}

/* Searches without chance, which -s neither repeats nor limits. */
static bool runs_once(const char *name)
{
    return strcmp(name, "fast") == 0 || strcmp(name, "climb") == 0 ||
           strcmp(name, "exhaustive") == 0;
}

static weft_status run_search(job *j, const weft_objective *q, const char *name, int64_t most,
                              int64_t seed)
{
    const weft_miner *m = weft_miner_find(name);
    weft_arena *a = weft_arena_new();
    double step_s[MOST_MODELS], begin_s;
    weft_objective scaled = *q;
    watch w = {
        .objective = &scaled,
        .goal = {0.99 * j->optimum, (1 - 1e-9) * j->reached},
        .when = {-1,                -1                     }
    };
    weft_eval_cache eval_cache = {knows_nothing, look, &w};
    weft_run run = {.seed = seed,
                    .n_threads = j->n_threads,
                    .limit_s = INFINITY,
                    .scratch = a,
                    .stop = &w.stop};
    weft_found f;
    weft_status status;

    w.stops = j->stops && j->reached > 0 && !runs_once(name);
    for (int i = 0; i < q->n_workloads; i++)
        step_s[i] = weft_eval_step_s(j->eval[i][0], &q->reference);
    scaled.reference_s = step_s;
    begin_s = weft_wall_s();
    status = m ? m->mine(q, &eval_cache, most, &run, a, &f)
               : weft_fail(WEFT_E_INPUT, "no search is called '%s'", name);
    if (status == WEFT_OK) {
        print_found(j, m, seed, &f, weft_objective_throughput(&scaled, step_s),
                    weft_wall_s() - begin_s, &w);
        if (strcmp(name, "fast") == 0)
            j->reached = f.throughput;
        if (f.outcome == WEFT_OPTIMAL && j->optimum == 0)
            j->optimum = f.throughput;
    }
    weft_arena_free(a);
    return status;
}

static weft_status run_all(job *j, int argc, char **argv)
{
    weft_objective q = {.n_workloads = 0};

    WEFT_TRY(weft_template_open(argv[1], &j->template_));
    j->n_threads = atoi(argv[4]) < 1 ? 1 : atoi(argv[4]);
    if (j->n_threads > MOST_THREADS)
        return weft_fail(WEFT_E_INPUT, "more than %d threads", MOST_THREADS);
    WEFT_TRY(add_models(j, argv[7]));
    q = (weft_objective){
        .template_ = j->template_,
        .n_workloads = j->n_models,
        .workload = j->work,
        .forward = j->forward,
        .limits = {atof(argv[2]), j->template_->has_power ? atof(argv[3]) : INFINITY},
        .reference = j->template_->landmark[0].point
    };
    for (int i = 8; i < argc; i++) {
        bool is_proof = j->stops && (i == 8 || runs_once(argv[i]));
        int n_seeds = is_proof ? 1 : atoi(argv[6]);

        for (int64_t seed = 1; seed <= n_seeds; seed++)
            WEFT_TRY(run_search(j, &q, argv[i], is_proof ? 0 : atoll(argv[5]), seed));
    }
    return WEFT_OK;
}

static void free_job(job *j)
{
    for (int i = 0; i < j->n_models; i++) {
        for (int t = 0; t < j->n_threads; t++) {
            weft_eval_free(j->eval[i][t]);
            weft_eval_free(j->forward_eval[i][t]);
        }
        weft_model_free(j->trained[i]);
        weft_model_free(j->plain[i]);
    }
    weft_template_free(j->template_);
}

int main(int argc, char **argv)
{
    static job j = {.batch = 8};
    weft_status status;

    if (argc > 2 && strcmp(argv[1], "-b") == 0) {
        j.batch = atoll(argv[2]);
        argv += 2;
        argc -= 2;
    }
    if (argc > 1 && strcmp(argv[1], "-s") == 0) {
        j.stops = true;
        argv++;
        argc--;
    }
    if (argc < 9) {
        fprintf(
            stderr,
            "usage: mine_search [-b BATCH] [-s] TEMPLATE AREA_MM2 TDP_W THREADS MOST SEEDS MODEL "
            "SEARCH...\n");
        return 1;
    }
    status = run_all(&j, argc, argv);
    free_job(&j);
    return status == WEFT_OK ? 0 : fail();
}
