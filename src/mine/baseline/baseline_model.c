/* SPDX-License-Identifier: MIT */
/* baseline_model.c: two more searches to compare with.
 *
 * surrogate, in the manner of Bayesian optimisation:
 * 1. 16 designs at random.
 * 2. A forest learns log(value) from the logarithms of the sizes; 512 designs at random and the
 *    neighbours of the eight best are asked for their expected improvement over the best,
 *      EI = d (z N(z) + n(z)),  z = (mean - best) / d,
 *    where N and n are the normal distribution and its density.
 * 3. The eight with the largest are tried. The forest grows again once a sixteenth more is known.
 * SMAC: Hutter, Hoos, Leyton-Brown, LION 5, 2011.
 *
 * inference: the proved best design for the forward networks under the same limits, then trained
 * on: what a search that ignores training would have built. */
#include <math.h>
#include <string.h>

#include "baselines.h"

enum { FIRST = 16, N_DRAWN = 512, N_BEST = 8, N_TRIED = 8, PATIENCE = 64 };

static const double WORTHLESS = -30; /* stands for log(0) */

typedef struct proposal {
    int64_t index;
    double merit;
} proposal;

typedef struct model {
    weft_evaluator *evaluator;
    weft_rng rng;
    weft_arena *arena; /* of the forest and its samples */
    weft_forest *forest;
    int n_learned;
} model;

static void features(const weft_template *t, const weft_design_point *p, double *x)
{
    for (int k = 0; k < WEFT_N_PARAMETERS; k++)
        x[k] = log2(weft_parameter_size(t, p, (weft_parameter)k));
}

static double target(double value)
{
    return value > 0 ? log(value) : WORTHLESS;
}

static void learn(model *m)
{
    const weft_evaluator *s = m->evaluator;
    int n = s->tried.n;
    double *x, *y;

    if (m->forest != NULL && n < m->n_learned + m->n_learned / 16 + 1)
        return;
    weft_arena_free(m->arena);
    m->arena = weft_arena_new();
    x = WEFT_NEW(m->arena, double, n *WEFT_N_PARAMETERS);
    y = WEFT_NEW(m->arena, double, n);
    for (int i = 0; i < n; i++) {
        weft_design_point p = weft_point_at(s->objective.template_, s->tried.at[i].index);

        features(s->objective.template_, &p, x + i * WEFT_N_PARAMETERS);
        y[i] = target(s->tried.at[i].value);
    }
    m->forest = weft_forest_grow(x, y, n, &m->rng, m->arena);
    m->n_learned = n;
}

static double expected_improvement(const model *m, const weft_design_point *p)
{
    double x[WEFT_N_PARAMETERS], mean, deviation, z;

    features(m->evaluator->objective.template_, p, x);
    weft_forest_request(m->forest, x, &mean, &deviation);
    deviation = fmax(deviation, 1e-6);
    z = (mean - target(weft_evaluator_best(m->evaluator))) / deviation;
    return deviation * (z * 0.5 * erfc(-z / sqrt(2)) + exp(-0.5 * z * z) / sqrt(8 * atan(1)));
}

/* Keeps the designs with the largest merit, best first. */
static void consider(const model *m, const weft_design_point *p, proposal *list, int *n)
{
    proposal x = {weft_point_index(m->evaluator->objective.template_, p), 0};
    int at;

    if (weft_evaluator_look(m->evaluator, x.index) != NULL)
        return;
    for (int i = 0; i < *n; i++)
        if (list[i].index == x.index)
            return;
    x.merit = expected_improvement(m, p);
    if (*n == N_TRIED && !(x.merit > list[*n - 1].merit))
        return;
    if (*n < N_TRIED)
        ++*n;
    for (at = *n - 1; at > 0 && x.merit > list[at - 1].merit; at--)
        list[at] = list[at - 1];
    list[at] = x;
}

/* Places in tried of the best designs. */
static int best_tried(const weft_evaluator *s, int *place)
{
    int n = 0;

    for (int i = 0; i < s->tried.n; i++) {
        int at;

        if (n == N_BEST && !(s->tried.at[i].value > s->tried.at[place[n - 1]].value))
            continue;
        if (n < N_BEST)
            n++;
        for (at = n - 1; at > 0 && s->tried.at[i].value > s->tried.at[place[at - 1]].value; at--)
            place[at] = place[at - 1];
        place[at] = i;
    }
    return n;
}

static int propose(model *m, proposal *list)
{
    const weft_evaluator *s = m->evaluator;
    int place[N_BEST], n = 0, n_best = best_tried(s, place);
    weft_design_point p;

    for (int i = 0; i < N_DRAWN && weft_evaluator_draw(s, &m->rng, &p); i++)
        consider(m, &p, list, &n);
    for (int i = 0; i < N_DRAWN && n_best > 0; i++) {
        p = weft_point_at(s->objective.template_, s->tried.at[place[i % n_best]].index);
        if (weft_evaluator_move(s, &m->rng, &p))
            consider(m, &p, list, &n);
    }
    return n;
}

static weft_status try_first(model *m)
{
    int64_t index[FIRST];
    double value[FIRST];
    weft_design_point p;
    int n = 0;

    while (n < FIRST && weft_evaluator_draw(m->evaluator, &m->rng, &p))
        index[n++] = weft_point_index(m->evaluator->objective.template_, &p);
    return weft_evaluator_try(m->evaluator, index, n, value);
}

static weft_status run_model(model *m)
{
    weft_evaluator *s = m->evaluator;
    double budget = s->most < INT64_MAX ? (double)s->most : 2000;

    WEFT_TRY(try_first(m));
    for (int idle = 0; s->tried.n > 0 && idle < PATIENCE && !weft_evaluator_is_over(s) &&
                       (double)s->n_evaluated < budget;) {
        proposal list[N_TRIED];
        int64_t index[N_TRIED];
        double value[N_TRIED];
        int n;

        learn(m);
        n = propose(m, list);
        for (int i = 0; i < n; i++)
            index[i] = list[i].index;
        idle = n == 0 ? idle + 1 : 0;
        WEFT_TRY(weft_evaluator_try(s, index, n, value));
        weft_evaluator_progress(s, s->bound);
    }
    return WEFT_OK;
}

weft_status weft_search_surrogate(weft_evaluator *s)
{
    model m = {.evaluator = s, .rng = weft_rng_seed((uint64_t)s->run->seed)};
    weft_status status;

    s->bound = weft_evaluator_root_top(s);
    status = run_model(&m);
    weft_arena_free(m.arena);
    return status;
}

/* --- inference ------------------------------------------------------------------------------- */

/* The design that a search for inference found, and its worth in training. */
typedef struct trained {
    bool has_point;
    weft_design_point point;
    double value, throughput;
} trained;

static weft_status train_on(weft_evaluator *s)
{
    trained *t = s->context;
    int64_t index = weft_point_index(s->objective.template_, &t->point);
    const weft_tried *known;

    s->bound = weft_evaluator_root_top(s);
    if (!t->has_point)
        return WEFT_OK;
    WEFT_TRY(weft_evaluator_try(s, &index, 1, &t->value));
    known = weft_evaluator_look(s, index);
    t->throughput = known ? known->throughput : 0;
    return WEFT_OK;
}

/* The report is of the winner, also where the reference is better. Training was not searched:
 * nothing but the bound of the whole template is said of it. */
static weft_status report_trained(const weft_objective *q, const weft_eval_cache *eval_cache,
                                  weft_run *run, weft_arena *a, trained *t, weft_found *out)
{
    WEFT_TRY(weft_evaluator_run(train_on, t, q, eval_cache, 0, run, a, out));
    out->point = t->point;
    out->value = t->value;
    out->throughput = t->throughput;
    if (t->value > 0) {
        out->outcome = WEFT_BOUNDED;
    } else if (out->bound > 0) {
        out->outcome = WEFT_UNKNOWN;
        out->reason = t->has_point ? "the best design for inference has less than the least "
                                     "throughput in training"
                                   : "no design was found for inference, which says nothing of "
                                     "training";
    }
    return WEFT_OK;
}

weft_status weft_mine_inference(const weft_objective *q, const weft_eval_cache *eval_cache,
                                int64_t most, weft_run *run, weft_arena *a, weft_found *out)
{
    weft_objective forward = *q;
    weft_found best;
    trained t;

    if (q->forward == NULL)
        return weft_fail(WEFT_E_INPUT,
                         "the search 'inference' needs the networks without training too");
    forward.workload = q->forward;
    forward.reference_s = NULL;
    WEFT_TRY(weft_evaluator_run(weft_search_auto, NULL, &forward, NULL, most, run, a, &best));
    t = (trained){.has_point = best.value > 0, .point = best.point};
    WEFT_TRY(report_trained(q, eval_cache, run, a, &t, out));
    out->n_feasible = best.n_feasible;
    out->n_evaluated += best.n_evaluated;
    return WEFT_OK;
}
