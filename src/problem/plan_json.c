/* SPDX-License-Identifier: MIT */
/* plan_json.c: plan files (weft.plan/1). The writer puts down everything that is needed to make the
 * problem again and to recompute every number; the reader trusts nothing. */
#include <math.h>
#include <string.h>

#include "plan_head.h"

static const char *semantics_word(int is_calls)
{
    return is_calls ? "calls" : "platform";
}

/* --- writing --------------------------------------------------------------------------------- */

static weft_doc *decisions_doc(const weft_problem *p, const weft_plan *plan, int way, weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);
    size_t first = (size_t)way * (size_t)p->n_tasks;

    for (int u = 0; u < p->n_tasks; u++) {
        weft_doc *d = weft_add_map(a, list);

        weft_put_text(a, d, "task", p->task_name[u]);
        weft_put_text(a, d, "device", p->device_name[plan->device[first + (size_t)u]]);
        weft_put_real(a, d, "start_s", plan->start_s[first + (size_t)u]);
    }
    return list;
}

static weft_doc *ways_doc(const weft_problem *p, const weft_plan *plan, weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int w = 0; w < plan->n_variants; w++) {
        weft_doc *d = weft_add_map(a, list);

        weft_put_real(a, d, "share", plan->share[w]);
        weft_doc_put(a, d, "decisions", decisions_doc(p, plan, w, a));
    }
    return list;
}

static bool has_limits(const weft_constraints *constraints)
{
    return constraints->most_latency_s > 0 || constraints->most_period_s > 0 ||
           constraints->is_contiguous || constraints->is_mixed || constraints->pin != NULL ||
           constraints->together != NULL || weft_segments_matter(constraints) ||
           constraints->batches.n > 0 || constraints->splits_batch;
}

static weft_doc *limits_doc(const weft_constraints *constraints, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP), *batches = weft_doc_new(a, WEFT_DOC_LIST);

    weft_put_real(a, d, "deadline_s",
                  constraints->most_latency_s > 0 ? constraints->most_latency_s : INFINITY);
    weft_put_real(a, d, "period_s",
                  constraints->most_period_s > 0 ? constraints->most_period_s : INFINITY);
    weft_put_bool(a, d, "contiguous", constraints->is_contiguous);
    weft_put_bool(a, d, "mixed", constraints->is_mixed);
    if (constraints->most_segments > 0)
        weft_put_int(a, d, "max_segments", constraints->most_segments);
    if (constraints->least_segment_tasks > 0)
        weft_put_int(a, d, "min_segment_nodes", constraints->least_segment_tasks);
    if (constraints->least_segment_s > 0)
        weft_put_real(a, d, "min_segment_s", constraints->least_segment_s);
    if (constraints->pin != NULL)
        weft_put_text(a, d, "pin", constraints->pin);
    if (constraints->together != NULL)
        weft_put_text(a, d, "together", constraints->together);
    for (int i = 0; i < constraints->batches.n; i++)
        weft_doc_add(a, batches, weft_doc_new_int(a, constraints->batches.at[i]));
    if (constraints->batches.n > 0)
        weft_doc_put(a, d, "batches", batches);
    if (constraints->splits_batch)
        weft_put_bool(a, d, "split_batch", true);
    return d;
}

static weft_doc *refuted_doc(const weft_proof *proof, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);

    if (!(proof->refuted_s > 0))
        return weft_doc_new(a, WEFT_DOC_NULL);
    weft_put_real(a, d, "value", proof->refuted_s);
    weft_put_bool(a, d, "shaving", proof->is_shaved);
    return d;
}

static weft_doc *proof_doc(const weft_problem *p, const weft_proof *proof, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);
    weft_doc *path = weft_doc_new(a, proof->n_path > 0 ? WEFT_DOC_LIST : WEFT_DOC_NULL);
    weft_doc *price = weft_doc_new(a, proof->price ? WEFT_DOC_LIST : WEFT_DOC_NULL);

    weft_plan_put_claims(a, d, proof);
    for (int i = 0; i < proof->n_path; i++)
        weft_doc_add(a, path, weft_doc_new_text(a, p->task_name[proof->path[i]]));
    for (int i = 0; proof->price && i < p->n_devices; i++)
        weft_doc_add(a, price, weft_doc_new_real(a, proof->price[i]));
    weft_doc_put(a, d, "path", path);
    weft_doc_put(a, d, "prices", price);
    weft_doc_put(a, d, "refuted", refuted_doc(proof, a));
    weft_put_text(a, d, "again", proof->again);
    if (proof->grain_s > 0)
        weft_put_real(a, d, "grain", proof->grain_s);
    return d;
}

weft_doc *weft_plan_doc(const weft_problem *p, const weft_plan *plan, const weft_proof *proof,
                        const weft_plan_origin *origin, weft_doc *measures, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);

    weft_plan_put_head(a, d, "place", origin);
    weft_put_text(a, d, "goal", weft_goal_name(p->constraints.goal));
    weft_put_text(a, d, "semantics", semantics_word(p->constraints.is_calls));
    weft_put_text(a, d, "transfer", weft_transfer_name(p->transfer));
    if (has_limits(&p->constraints))
        weft_doc_put(a, d, "limits", limits_doc(&p->constraints, a));
    weft_plan_put_maker(a, d, origin);
    if (plan->n_variants > 1)
        weft_doc_put(a, d, "ways", ways_doc(p, plan, a));
    else
        weft_doc_put(a, d, "decisions", decisions_doc(p, plan, 0, a));
    weft_doc_put(a, d, "measures", measures);
    weft_doc_put(a, d, "proof", proof_doc(p, proof, a));
    return d;
}

/* --- reading --------------------------------------------------------------------------------- */

static const char *goal_word(int i)
{
    return weft_goal_name((weft_goal)i);
}

static const char *transfer_word(int i)
{
    return weft_transfer_name((weft_transfer)i);
}

/* A number above 0, or null: no limit. */
static weft_status read_limit(const weft_doc *map, const char *key, double *out)
{
    const weft_doc *d = weft_doc_get(map, key);

    *out = 0;
    if (d == NULL)
        return weft_doc_fail(map, "key '%s' is missing", key);
    if (d->kind == WEFT_DOC_NULL)
        return WEFT_OK;
    WEFT_TRY(weft_doc_real(map, key, 0, INFINITY, out));
    return *out > 0 && isfinite(*out)
               ? WEFT_OK
               : weft_doc_fail(d, "'%s' is %g, expected a number above 0 or null", key, *out);
}

/* A number of at least 1; 0 if the key is missing. */
static weft_status read_count(const weft_doc *map, const char *key, int *out)
{
    int64_t value = 0;

    if (weft_doc_get(map, key))
        WEFT_TRY(weft_doc_int(map, key, 1, INT32_MAX, &value));
    *out = (int)value;
    return WEFT_OK;
}

/* What the plan has chosen among. */
static weft_status read_choices(const weft_doc *d, weft_constraints *out)
{
    const weft_doc *list = weft_doc_get(d, "batches"), *split = weft_doc_get(d, "split_batch");

    if (split != NULL) {
        WEFT_TRY(weft_doc_need(d, "split_batch", WEFT_DOC_BOOL, &split));
        out->splits_batch = split->truth;
    }
    if (list == NULL)
        return WEFT_OK;
    WEFT_TRY(weft_doc_need(d, "batches", WEFT_DOC_LIST, &list));
    if (list->n < 1 || list->n > WEFT_MOST_COUNTS)
        return weft_doc_fail(list, "'batches' has %d entries, expected 1 to %d", list->n,
                             (int)WEFT_MOST_COUNTS);
    for (int i = 0; i < list->n; i++) {
        int64_t least = i > 0 ? out->batches.at[i - 1] + 1 : 1;

        if (list->item[i]->kind != WEFT_DOC_INT || list->item[i]->integer < least ||
            list->item[i]->integer > INT32_MAX)
            return weft_doc_fail(list->item[i], "a batch is no whole number above the one before");
        out->batches.at[out->batches.n++] = list->item[i]->integer;
    }
    return WEFT_OK;
}

/* What is asked for besides the goal; files without limits do not mention them. */
static weft_status read_limits(const weft_doc *plan, weft_constraints *out)
{
    static const char *const keys[] = {
        "deadline_s",   "period_s",      "contiguous",        "mixed",   "pin",        "together",
        "max_segments", "min_segment_s", "min_segment_nodes", "batches", "split_batch"};
    const weft_doc *d, *contiguous, *mixed;

    if (weft_doc_get(plan, "limits") == NULL)
        return WEFT_OK;
    WEFT_TRY(weft_doc_need(plan, "limits", WEFT_DOC_MAP, &d));
    WEFT_TRY(weft_doc_known_keys(d, keys, (int)(sizeof keys / sizeof *keys)));
    WEFT_TRY(read_limit(d, "deadline_s", &out->most_latency_s));
    WEFT_TRY(read_limit(d, "period_s", &out->most_period_s));
    WEFT_TRY(weft_doc_need(d, "contiguous", WEFT_DOC_BOOL, &contiguous));
    WEFT_TRY(weft_doc_need(d, "mixed", WEFT_DOC_BOOL, &mixed));
    out->is_contiguous = contiguous->truth;
    out->is_mixed = mixed->truth;
    WEFT_TRY(read_count(d, "max_segments", &out->most_segments));
    WEFT_TRY(read_count(d, "min_segment_nodes", &out->least_segment_tasks));
    if (weft_doc_get(d, "min_segment_s"))
        WEFT_TRY(read_limit(d, "min_segment_s", &out->least_segment_s));
    if (weft_doc_get(d, "pin"))
        WEFT_TRY(weft_doc_text(d, "pin", &out->pin));
    if (weft_doc_get(d, "together"))
        WEFT_TRY(weft_doc_text(d, "together", &out->together));
    return read_choices(d, out);
}

static weft_status read_decision(const weft_doc *d, const char **task, const char **device,
                                 double *start_s)
{
    static const char *const keys[] = {"task", "device", "start_s"};

    if (d->kind != WEFT_DOC_MAP)
        return weft_doc_fail(d, "this is %s, expected {task, device, start_s}",
                             weft_doc_kind_name(d->kind));
    WEFT_TRY(weft_doc_known_keys(d, keys, 3));
    WEFT_TRY(weft_doc_text(d, "task", task));
    WEFT_TRY(weft_doc_text(d, "device", device));
    return weft_doc_real(d, "start_s", 0, INFINITY, start_s);
}

/* The decisions of one way. The first way says which tasks there are; the others decide the same,
 * in any order. */
static weft_status read_decisions(const weft_doc *list, int way, weft_map *index, weft_arena *a,
                                  weft_plan_file *out)
{
    bool *is_decided = WEFT_NEW(a, bool, out->n_tasks + 1);

    for (int i = 0; i < list->n; i++) {
        const char *task, *device;
        double start_s;
        int at;

        WEFT_TRY(read_decision(list->item[i], &task, &device, &start_s));
        if (way == 0 && weft_map_put(index, task, strlen(task), i))
            out->task[i] = task;
        at = weft_map_get(index, task, strlen(task));
        if (at < 0)
            return weft_doc_fail(list->item[i], "task '%s' is not decided by the first way", task);
        if (is_decided[at])
            return weft_doc_fail(list->item[i], "task '%s' is decided twice", task);
        is_decided[at] = true;
        out->device[(size_t)way * (size_t)out->n_tasks + (size_t)at] = device;
        out->start_s[(size_t)way * (size_t)out->n_tasks + (size_t)at] = start_s;
    }
    return WEFT_OK;
}

static weft_status read_way(const weft_doc *d, double *share, const weft_doc **decisions)
{
    static const char *const keys[] = {"share", "decisions"};

    if (d->kind != WEFT_DOC_MAP)
        return weft_doc_fail(d, "this is %s, expected {share, decisions}",
                             weft_doc_kind_name(d->kind));
    WEFT_TRY(weft_doc_known_keys(d, keys, 2));
    WEFT_TRY(weft_doc_real(d, "share", 0, 1, share));
    return weft_doc_need(d, "decisions", WEFT_DOC_LIST, decisions);
}

/* "decisions", or "ways" of which each has a share and decisions. */
static weft_status read_ways(const weft_doc *plan, weft_arena *a, weft_plan_file *out)
{
    const weft_doc *ways = weft_doc_get(plan, "ways"), **decisions;
    weft_map *index = weft_map_new(a);
    size_t n;

    if (ways != NULL)
        WEFT_TRY(weft_doc_need(plan, "ways", WEFT_DOC_LIST, &ways));
    if (ways != NULL && (ways->n < 2 || weft_doc_get(plan, "decisions") != NULL))
        return weft_doc_fail(ways, "'ways': expected two or more, in the place of 'decisions'");
    out->n_variants = ways == NULL ? 1 : ways->n;
    out->share = WEFT_NEW(a, double, out->n_variants);
    decisions = WEFT_NEW(a, const weft_doc *, out->n_variants);
    out->share[0] = 1;
    if (ways == NULL)
        WEFT_TRY(weft_doc_need(plan, "decisions", WEFT_DOC_LIST, &decisions[0]));
    for (int w = 0; ways != NULL && w < ways->n; w++)
        WEFT_TRY(read_way(ways->item[w], &out->share[w], &decisions[w]));
    out->n_tasks = decisions[0]->n;
    for (int w = 1; w < out->n_variants; w++) /* before room is made for all */
        if (decisions[w]->n != out->n_tasks)
            return weft_doc_fail(decisions[w], "way %d decides %d tasks, the first way %d", w + 1,
                                 decisions[w]->n, out->n_tasks);
    n = (size_t)out->n_tasks * (size_t)out->n_variants + 1;
    out->task = WEFT_NEW(a, const char *, out->n_tasks + 1);
    out->device = WEFT_NEW(a, const char *, n);
    out->start_s = WEFT_NEW(a, double, n);
    for (int w = 0; w < out->n_variants; w++)
        WEFT_TRY(read_decisions(decisions[w], w, index, a, out));
    return WEFT_OK;
}

/* The certificate: tasks of the path by name, prices of the devices in their order. */
static weft_status read_certificate(const weft_doc *d, weft_arena *a, weft_plan_file *out)
{
    const weft_doc *path = weft_doc_get(d, "path"), *prices = weft_doc_get(d, "prices");
    weft_map *index = weft_map_new(a);
    int *task;
    double *price;

    if (path == NULL || prices == NULL)
        return weft_doc_fail(d, "key '%s' is missing", path ? "prices" : "path");
    if ((path->kind != WEFT_DOC_LIST && path->kind != WEFT_DOC_NULL) ||
        (prices->kind != WEFT_DOC_LIST && prices->kind != WEFT_DOC_NULL))
        return weft_doc_fail(d, "'path' and 'prices' of the proof: expected a list or null");
    for (int i = 0; i < out->n_tasks; i++)
        weft_map_set(index, out->task[i], strlen(out->task[i]), i);
    task = WEFT_NEW(a, int, path->n + 1);
    for (int i = 0; i < path->n; i++) {
        const weft_doc *name = path->item[i];

        task[i] =
            name->kind == WEFT_DOC_TEXT ? weft_map_get(index, name->text, strlen(name->text)) : -1;
        if (task[i] < 0)
            return weft_doc_fail(name, "the path of the proof names no task of this plan");
    }
    price = WEFT_NEW(a, double, prices->n + 1);
    for (int i = 0; i < prices->n; i++) {
        if (prices->item[i]->kind != WEFT_DOC_REAL && prices->item[i]->kind != WEFT_DOC_INT)
            return weft_doc_fail(prices->item[i], "a price of the proof is %s, expected a number",
                                 weft_doc_kind_name(prices->item[i]->kind));
        price[i] = prices->item[i]->real;
    }
    out->proof.n_path = path->n;
    out->proof.path = task;
    out->proof.price = prices->n > 0 ? price : NULL;
    out->n_prices = prices->n;
    return WEFT_OK;
}

/* The limit that propagation, perhaps with shaving, refutes; or null. */
static weft_status read_refuted(const weft_doc *proof, weft_proof *out)
{
    static const char *const keys[] = {"value", "shaving"};
    const weft_doc *d = weft_doc_get(proof, "refuted"), *shaving;

    if (d == NULL)
        return weft_doc_fail(proof, "key 'refuted' is missing");
    if (d->kind == WEFT_DOC_NULL)
        return WEFT_OK;
    if (d->kind != WEFT_DOC_MAP)
        return weft_doc_fail(d, "'refuted' is %s, expected {value, shaving} or null",
                             weft_doc_kind_name(d->kind));
    WEFT_TRY(weft_doc_known_keys(d, keys, 2));
    WEFT_TRY(weft_doc_real(d, "value", 0, INFINITY, &out->refuted_s));
    if (!(out->refuted_s > 0))
        return weft_doc_fail(d, "'value' of 'refuted' is %g, expected more than 0", out->refuted_s);
    WEFT_TRY(weft_doc_need(d, "shaving", WEFT_DOC_BOOL, &shaving));
    out->is_shaved = shaving->truth;
    return WEFT_OK;
}

/* What the bounds are rounded up to a multiple of. */
static weft_status read_grain(const weft_doc *proof, weft_proof *out)
{
    WEFT_TRY(weft_doc_real(proof, "grain", 0, INFINITY, &out->grain_s));
    if (!(out->grain_s > 0) || out->grain_s == INFINITY)
        return weft_doc_fail(weft_doc_get(proof, "grain"),
                             "'grain' is %g, expected a number of seconds above 0", out->grain_s);
    return WEFT_OK;
}

static weft_status read_proof(const weft_doc *d, weft_arena *a, weft_plan_file *out)
{
    static const char *const keys[] = {"status",  "value",     "bound", "gap",
                                       "method",  "certified", "path",  "prices",
                                       "refuted", "again",     "grain"};

    WEFT_TRY(weft_doc_known_keys(d, keys, (int)(sizeof keys / sizeof *keys)));
    if (weft_doc_get(d, "grain") != NULL)
        WEFT_TRY(read_grain(d, &out->proof));
    WEFT_TRY(weft_plan_read_claims(d, &out->proof));
    WEFT_TRY(read_refuted(d, &out->proof));
    WEFT_TRY(weft_plan_optional_text(d, "again", &out->proof.again));
    return read_certificate(d, a, out);
}

static weft_status read_head(const weft_doc *d, weft_arena *a, weft_plan_file *out)
{
    int word;

    WEFT_TRY(weft_plan_read_origin(d, a, &out->origin));
    WEFT_TRY(weft_plan_read_word(d, "goal", goal_word, 2, &word));
    out->constraints.goal = (weft_goal)word;
    word = 0; /* plans of before it was written: platform */
    if (weft_doc_get(d, "semantics"))
        WEFT_TRY(weft_plan_read_word(d, "semantics", semantics_word, 2, &word));
    out->constraints.is_calls = word == 1;
    WEFT_TRY(weft_plan_read_word(d, "transfer", transfer_word, 4, &word));
    out->transfer = (weft_transfer)word;
    return WEFT_OK;
}

weft_status weft_plan_read(const char *path, weft_arena *a, weft_plan_file *out)
{
    const weft_doc *d;

    WEFT_TRY(weft_plan_open(path, "place", a, &d));
    return weft_plan_take(d, a, out);
}

weft_status weft_plan_take(const weft_doc *d, weft_arena *a, weft_plan_file *out)
{
    static const char *const keys[] = {"schema",   "kind",   "model",  "platform",     "goal",
                                       "transfer", "solver", "seed",   "problem_hash", "decisions",
                                       "measures", "proof",  "limits", "ways",         "semantics"};
    const weft_doc *proof;

    memset(out, 0, sizeof *out);
    WEFT_TRY(weft_doc_known_keys(d, keys, (int)(sizeof keys / sizeof *keys)));
    WEFT_TRY(read_head(d, a, out));
    WEFT_TRY(read_limits(d, &out->constraints));
    WEFT_TRY(read_ways(d, a, out));
    WEFT_TRY(weft_doc_need(d, "measures", WEFT_DOC_MAP, &out->measures));
    WEFT_TRY(weft_doc_need(d, "proof", WEFT_DOC_MAP, &proof));
    WEFT_TRY(read_proof(proof, a, out));
    out->doc = d;
    return WEFT_OK;
}
