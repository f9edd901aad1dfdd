/* SPDX-License-Identifier: MIT */
/* mine_case.c: opens what a request names and puts the question of a search together: the
 * template, and for every network its training step as operators, once for each thread.
 *
 * A study knows a network by the hash of its training graph: shapes, element types and optimizer
 * are in it, names of files are not. */
#include "mine_case.h"
#include "hash.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { MOST_USUAL_BATCH = 64 };

static const double USUAL_LEAST = 0.5; /* of the throughput of the reference, per TDP */

/* --- limits ---------------------------------------------------------------------------------- */

typedef struct limit_rule {
    const char *flag, *example;
    weft_unit unit;
    double (*of_design)(const weft_template *t, const weft_design_point *p);
} limit_rule;

static const limit_rule limit_rules[] = {
    {"--area",  "600mm2", WEFT_UNIT_MM2,   weft_design_point_area_mm2},
    {"--power", "280W",   WEFT_UNIT_WATTS, weft_design_point_tdp_w   },
};

static weft_status read_limit(const limit_rule *rule, const char *text, const weft_template *t,
                              double *out)
{
    const weft_landmark *like = text ? weft_landmark_find(t, text) : NULL;

    *out = INFINITY;
    if (text == NULL || *text == '\0')
        return WEFT_OK;
    if (like != NULL) {
        *out = rule->of_design(t, &like->point);
        return WEFT_OK;
    }
    if (weft_unit_parse(text, rule->unit, false, out) != WEFT_OK)
        return weft_fail(WEFT_E_INPUT,
                         "%s is '%s', expected a number with its unit (%s), or the name of a "
                         "design of the template '%s'",
                         rule->flag, text, rule->example, t->name);
    if (!(*out > 0))
        return weft_fail(WEFT_E_INPUT, "%s is '%s', expected more than 0", rule->flag, text);
    return WEFT_OK;
}

weft_status weft_mine_limits(const weft_mine_request *r, const weft_template *t, weft_limits *out)
{
    WEFT_TRY(read_limit(&limit_rules[0], r->area, t, &out->area_mm2));
    WEFT_TRY(read_limit(&limit_rules[1], r->power, t, &out->tdp_w));
    if (!(out->area_mm2 < INFINITY) && !(out->tdp_w < INFINITY))
        return weft_fail(WEFT_E_INPUT, "no limit is given, expected --area 600mm2, --power 280W, "
                                       "or both");
    return WEFT_OK;
}

/* --- workloads ------------------------------------------------------------------------------- */

/* One evaluation for each thread; *out counts those that were made, also after a failure. */
static weft_status make_evals(const weft_mine_case *c, const weft_graph *g, const weft_template *t,
                              weft_workload_eval **eval)
{
    for (int i = 0; i < c->n_threads; i++)
        WEFT_TRY(weft_eval_new(g, t, &eval[i]));
    return WEFT_OK;
}

/* The networks `model` as they run on a template; what is asked of them is that of `like`. */
static weft_status make_workloads(const weft_mine_case *c, weft_model *const *model,
                                  const weft_template *t, const weft_workload *like, weft_arena *a,
                                  weft_workload *out)
{
    for (int i = 0; i < c->objective.n_workloads; i++) {
        weft_workload_eval **eval = WEFT_NEW(a, weft_workload_eval *, c->n_threads);

        out[i] = like[i];
        out[i].eval = (void *const *)eval;
        WEFT_TRY(make_evals(c, model[i]->graph, t, eval));
    }
    return WEFT_OK;
}

static void free_evals(const weft_mine_case *c, const weft_workload *w)
{
    for (int i = 0; w != NULL && i < c->objective.n_workloads; i++)
        for (int k = 0; w[i].eval != NULL && k < c->n_threads; k++)
            weft_eval_free(w[i].eval[k]);
}

/* --- the same networks, other constants -------------------------------------------- */

static void drop_made(void *context, const weft_workload *w)
{
    weft_mine_case *c = context;

    free_evals(c, w);
    weft_arena_free(c->shop);
    c->shop = NULL;
}

static weft_status make_again(void *context, const weft_template *t, const weft_workload **out)
{
    weft_mine_case *c = context;
    weft_workload *list;
    weft_status status;

    assert(c->shop == NULL); /* one at a time */
    c->shop = weft_arena_new();
    list = WEFT_NEW(c->shop, weft_workload, c->objective.n_workloads);
    status = make_workloads(c, c->trained, t, c->objective.workload, c->shop, list);
    if (status == WEFT_OK)
        *out = list;
    else
        drop_made(c, list);
    return status;
}

/* --- opening --------------------------------------------------------------------------------- */

static weft_status open_model(const weft_mine_request *r, int i, int64_t batch, bool train,
                              weft_model **out)
{
    weft_model_options options = r->options;

    options.batch = batch;
    options.train = train;
    return weft_model_open(r->network[i].model, &options, out);
}

/* A smaller power of two with which training might fit: what is kept for backward nodes grows with
 * the batch, the rest does not. */
static int64_t smaller_batch(const weft_graph *g, const weft_template *t, int64_t batch)
{
    double stash = (double)weft_graph_stash_bytes(g),
           state = weft_train_problem_bytes(g, t) - stash;
    double sample = stash / (double)batch;

    do
        batch /= 2;
    while (batch > 1 && state + sample * (double)batch > t->hbm_bytes);
    return batch;
}

/* The batch that a network is given, or 0: by --batch, or by --dim if its first dimension is symbolic
 * (a file that cannot be opened without a batch has none from --dim). */
static int64_t given_batch(const weft_mine_request *r, int i)
{
    int64_t batch = r->network[i].batch;
    weft_model *m;

    if (batch > 0 || r->options.n_dims == 0 || open_model(r, i, 0, false, &m) != WEFT_OK)
        return batch;
    batch = m->batch_dim.size;
    weft_model_free(m);
    return batch;
}

/* Opens the networks in training; their batches where none is given. */
static weft_status open_trained(const weft_mine_request *r, const weft_template *t,
                                weft_model **out, int64_t *batch)
{
    for (int i = 0; i < r->n_networks; i++) {
        int64_t given = given_batch(r, i);
        bool is_given = given > 0;

        batch[i] = is_given ? given : MOST_USUAL_BATCH;
        WEFT_TRY(open_model(r, i, batch[i], true, &out[i]));
        while (!is_given && batch[i] > 1 &&
               weft_train_problem_bytes(out[i]->graph, t) > t->hbm_bytes) {
            batch[i] = smaller_batch(out[i]->graph, t, batch[i]);
            weft_model_free(out[i]);
            out[i] = NULL;
            WEFT_TRY(open_model(r, i, batch[i], true, &out[i]));
        }
    }
    return WEFT_OK;
}

/* The network and, where it is not the default, the software that runs it. */
static uint64_t hash_of(const weft_mine_request *r, const weft_graph *g)
{
    uint64_t hash = weft_graph_hash(g);

    return r->options.software == WEFT_SOFTWARE_GRAPH
               ? hash
               : weft_hash_end(weft_hash_int(hash, (int64_t)r->options.software));
}

/* What a workload is, but for its evaluations. */
static void describe(const weft_mine_request *r, const weft_mine_case *c, const int64_t *batch,
                     weft_workload *out)
{
    for (int i = 0; i < r->n_networks; i++)
        out[i] = (weft_workload){.name = r->network[i].model,
                                 .timer = &weft_eval_timer,
                                 .batch = (double)batch[i],
                                 .weight = r->network[i].weight,
                                 .hash = hash_of(r, c->trained[i]->graph)};
}

static void fill_needs(weft_mine_case *c)
{
    weft_mine_need *need = WEFT_NEW(c->arena, weft_mine_need, c->objective.n_workloads);

    for (int i = 0; i < c->objective.n_workloads; i++) {
        const weft_workload_eval *m = c->objective.workload[i].eval[0];

        need[i] =
            (weft_mine_need){.memory_bytes = weft_eval_memory_bytes(m), .macs = weft_eval_macs(m)};
        need[i].fits = need[i].memory_bytes <= c->template_->hbm_bytes;
    }
    c->need = need;
}

static weft_status open_networks(const weft_mine_request *r, weft_mine_case *c)
{
    int n = r->n_networks;
    weft_workload *plain, *list = WEFT_NEW(c->arena, weft_workload, n);
    int64_t *batch = WEFT_NEW(c->arena, int64_t, n);

    c->trained = WEFT_NEW(c->arena, weft_model *, n);
    c->objective.workload = list;
    WEFT_TRY(open_trained(r, c->template_, c->trained, batch));
    describe(r, c, batch, list);
    WEFT_TRY(make_workloads(c, c->trained, c->template_, list, c->arena, list));
    fill_needs(c);
    if (!r->has_forward)
        return WEFT_OK;
    plain = WEFT_NEW(c->arena, weft_workload, n);
    c->plain = WEFT_NEW(c->arena, weft_model *, n);
    c->objective.forward = plain;
    for (int i = 0; i < n; i++)
        WEFT_TRY(open_model(r, i, batch[i], false, &c->plain[i]));
    return make_workloads(c, c->plain, c->template_, list, c->arena, plain);
}

weft_status weft_mine_template(const weft_mine_request *r, weft_template **out)
{
    WEFT_TRY(weft_template_open(r->template_, out));
    if ((*out)->n_landmarks < 1)
        return weft_fail(WEFT_E_INPUT,
                         "the template '%s' has no designs, expected at least one, to which others "
                         "are compared",
                         (*out)->name);
    if (r->memory == NULL || *r->memory == '\0')
        return WEFT_OK;
    if (weft_unit_parse(r->memory, WEFT_UNIT_BYTES, false, &(*out)->hbm_bytes) != WEFT_OK)
        return weft_fail_in(WEFT_E_INPUT, "--memory");
    if (!((*out)->hbm_bytes > 0))
        return weft_fail(WEFT_E_INPUT, "--memory is '%s', expected more than 0", r->memory);
    return WEFT_OK;
}

double weft_mine_least(const weft_mine_request *r)
{
    bool is_needed = r->metric == WEFT_METRIC_PER_TDP && !(r->least_throughput > 0);

    return is_needed ? USUAL_LEAST : r->least_throughput;
}

static weft_status open_case(const weft_mine_request *r, weft_mine_case *c)
{
    weft_objective *q = &c->objective;

    if (r->n_networks < 1)
        return weft_fail(WEFT_E_INPUT, "no network is given");
    WEFT_TRY(weft_mine_template(r, &c->template_));
    *q = (weft_objective){.template_ = c->template_,
                          .blend = r->blend,
                          .metric = r->metric,
                          .reference = c->template_->landmark[0].point,
                          .least_throughput = weft_mine_least(r)};
    WEFT_TRY(weft_mine_limits(r, c->template_, &q->limits));
    c->n_threads = r->n_threads;
    q->n_workloads = r->n_networks;
    WEFT_TRY(open_networks(r, c));
    c->maker = (weft_workload_maker){make_again, drop_made, c};
    return weft_objective_check(q);
}

weft_status weft_mine_case_open(const weft_mine_request *r, weft_mine_case *out)
{
    weft_status status;

    memset(out, 0, sizeof *out);
    out->arena = weft_arena_new();
    status = open_case(r, out);
    if (status != WEFT_OK)
        weft_mine_case_close(out);
    return status;
}

static void free_models(weft_model **model, int n)
{
    for (int i = 0; model != NULL && i < n; i++)
        weft_model_free(model[i]);
}

void weft_mine_case_close(weft_mine_case *c)
{
    free_evals(c, c->objective.workload);
    free_evals(c, c->objective.forward);
    free_models(c->trained, c->objective.n_workloads);
    free_models(c->plain, c->objective.n_workloads);
    weft_template_free(c->template_);
    weft_arena_free(c->arena);
    memset(c, 0, sizeof *c);
}
