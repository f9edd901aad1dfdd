/* SPDX-License-Identifier: MIT */
/* decisions.c: files of decisions that were made elsewhere (weft.decisions/1).
 *
 * Such a file is a plan file without what only weft knows: hashes, times, measures, a proof. It is
 * turned into the document of a plan file that claims nothing, for the readers of plan files: what
 * is left out gets its usual value, and a map of nodes to devices becomes the list that plans have.
 * What was written keeps its lines, so that messages name them. */
#include <string.h>

#include "plan_head.h"

#define NO_HASH "0000000000000000"
#define NO_PROOF                                                                                   \
    "\"status\": \"unknown\", \"value\": 0, \"bound\": 0, \"gap\": 0, \"method\": null, "          \
    "\"certified\": 0, \"again\": null"
#define HEAD                                                                                       \
    "\"solver\": \"given\", \"seed\": 0, \"problem_hash\": \"" NO_HASH "\", \"measures\": {}"

static weft_doc *new_like(const weft_doc *at, weft_doc_kind kind, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, kind);

    d->file = at->file;
    d->line = at->line;
    return d;
}

/* The map with what it lacks of the usual entries. */
static weft_doc *with_usual(const weft_doc *map, const weft_doc *usual, weft_arena *a)
{
    weft_doc *d = new_like(map, WEFT_DOC_MAP, a);

    for (int i = 0; i < map->n; i++)
        weft_doc_put(a, d, map->key[i], map->item[i]);
    for (int i = 0; i < usual->n; i++)
        if (weft_doc_get(map, usual->key[i]) == NULL)
            weft_doc_put(a, d, usual->key[i], usual->item[i]);
    return d;
}

static weft_status add_usual(const weft_doc *map, const char *usual, weft_arena *a, weft_doc **out)
{
    const weft_doc *d;

    WEFT_TRY(weft_doc_parse(usual, strlen(usual), map->file, a, &d));
    *out = with_usual(map, d, a);
    return WEFT_OK;
}

/* A name, or a map with 'source'. */
static weft_status complete_source(const weft_doc *plan, const char *key, const char *usual,
                                   weft_arena *a, weft_doc **out)
{
    weft_doc *d = (weft_doc *)(uintptr_t)weft_doc_get(plan, key), *map;

    if (d == NULL)
        return weft_doc_fail(plan, "key '%s' is missing", key);
    *out = d;
    if (d->kind != WEFT_DOC_TEXT && d->kind != WEFT_DOC_MAP)
        return WEFT_OK; /* the reader of plans says what is wrong, if it is */
    map = d;
    if (d->kind == WEFT_DOC_TEXT) {
        map = new_like(d, WEFT_DOC_MAP, a);
        weft_doc_put(a, map, "source", d);
    }
    return add_usual(map, usual, a, out);
}

/* --- placement ------------------------------------------------------------------------------- */

/* Places of tasks in "order"; no order: they run by their numbers. */
static weft_status read_order(const weft_doc *plan, weft_map *index)
{
    const weft_doc *order = weft_doc_get(plan, "order");

    if (order != NULL)
        WEFT_TRY(weft_doc_need(plan, "order", WEFT_DOC_LIST, &order));
    for (int i = 0; order != NULL && i < order->n; i++) {
        const weft_doc *task = order->item[i];

        if (task->kind != WEFT_DOC_TEXT)
            return weft_doc_fail(task, "'order' has %s, expected the name of a node",
                                 weft_doc_kind_name(task->kind));
        if (!weft_map_put(index, task->text, strlen(task->text), i))
            return weft_doc_fail(task, "'order' has '%s' twice", task->text);
    }
    return WEFT_OK;
}

/* The simulator takes the order of starts and finds times of its own. */
static weft_status place_task(const weft_doc *device, const char *task, const weft_map *order,
                              bool has_order, weft_arena *a, weft_doc *list)
{
    weft_doc *d = new_like(device, WEFT_DOC_MAP, a);
    int place = weft_map_get(order, task, strlen(task));

    if (has_order && place < 0)
        return weft_doc_fail(device, "'%s' has a device, but no place in 'order'", task);
    weft_put_text(a, d, "task", task);
    weft_doc_put(a, d, "device", (weft_doc *)(uintptr_t)device);
    weft_put_real(a, d, "start_s", has_order ? place : 0);
    weft_doc_add(a, list, d);
    return WEFT_OK;
}

static void drop(weft_doc *map, const char *key)
{
    int n = 0;

    for (int i = 0; i < map->n; i++)
        if (strcmp(map->key[i], key) != 0) {
            map->key[n] = map->key[i];
            map->item[n++] = map->item[i];
        }
    map->n = n;
}

static weft_status complete_place(weft_doc *plan, weft_arena *a)
{
    const weft_doc *map, *order = weft_doc_get(plan, "order");
    weft_map *index = weft_map_new(a);
    weft_doc *list;

    WEFT_TRY(weft_doc_need(plan, "decisions", WEFT_DOC_MAP, &map));
    WEFT_TRY(read_order(plan, index));
    list = new_like(map, WEFT_DOC_LIST, a);
    for (int i = 0; i < map->n; i++)
        WEFT_TRY(place_task(map->item[i], map->key[i], index, order != NULL, a, list));
    for (int i = 0; order != NULL && order->n > map->n && i < order->n; i++)
        if (weft_doc_get(map, order->item[i]->text) == NULL)
            return weft_doc_fail(order->item[i], "'order' has '%s', which has no device",
                                 order->item[i]->text);
    weft_doc_set(a, plan, "decisions", list);
    drop(plan, "order");
    return WEFT_OK;
}

/* --- sharding -------------------------------------------------------------------------------- */

/* Steps run in the order of the list. */
static weft_status complete_steps(weft_doc *plan, weft_arena *a)
{
    const weft_doc *steps;
    weft_doc *list;

    WEFT_TRY(weft_doc_need(plan, "steps", WEFT_DOC_LIST, &steps));
    list = new_like(steps, WEFT_DOC_LIST, a);
    for (int i = 0; i < steps->n; i++) {
        weft_doc *step = steps->item[i];

        if (step->kind == WEFT_DOC_MAP)
            WEFT_TRY(add_usual(step, weft_arena_print(a, "{\"start_s\": %d}", i), a, &step));
        weft_doc_add(a, list, step);
    }
    weft_doc_set(a, plan, "steps", list);
    return WEFT_OK;
}

/* --- training -------------------------------------------------------------------------------- */

const char weft_unnamed[] = "";

/* What the maps of "devices" and "chunks" may lack. */
static weft_doc *usual_part(bool is_devices, weft_arena *a)
{
    static const char *const key[] = {"from", "to"};
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);

    for (int i = 0; i < 2; i++) {
        weft_doc *name = weft_doc_new_text(a, "");

        name->text = weft_unnamed;
        weft_doc_put(a, d, key[i], name);
    }
    if (is_devices)
        weft_put_int(a, d, "step", 1);
    return d;
}

/* Every map of a list (of lists) with what it lacks. */
static weft_doc *complete_list(weft_doc *d, const weft_doc *usual, weft_arena *a)
{
    weft_doc *list;

    if (d->kind == WEFT_DOC_MAP)
        return with_usual(d, usual, a);
    if (d->kind != WEFT_DOC_LIST)
        return d; /* the reader of plans says what is wrong */
    list = new_like(d, WEFT_DOC_LIST, a);
    for (int i = 0; i < d->n; i++)
        weft_doc_add(a, list, complete_list(d->item[i], usual, a));
    return list;
}

static weft_doc *complete_stage(weft_doc *d, weft_arena *a)
{
    weft_doc *stage;

    if (d->kind != WEFT_DOC_MAP)
        return d;
    stage = new_like(d, WEFT_DOC_MAP, a);
    for (int i = 0; i < d->n; i++) {
        bool is_devices = strcmp(d->key[i], "devices") == 0;
        bool is_part = is_devices || strcmp(d->key[i], "chunks") == 0;

        weft_doc_put(a, stage, d->key[i],
                     is_part ? complete_list(d->item[i], usual_part(is_devices, a), a)
                             : d->item[i]);
    }
    return stage;
}

/* The value of a key that all maps of a list have; 0: they differ, or lack it. */
static int64_t common(const weft_doc *list, const char *key)
{
    int64_t value = 0;

    for (int i = 0; list->kind == WEFT_DOC_LIST && i < list->n; i++) {
        const weft_doc *d =
            list->item[i]->kind == WEFT_DOC_MAP ? weft_doc_get(list->item[i], key) : NULL;

        if (d == NULL || d->kind != WEFT_DOC_INT || d->integer < 1 ||
            (i > 0 && d->integer != value))
            return 0;
        value = d->integer;
    }
    return value;
}

static int64_t common_samples(const weft_doc *stages)
{
    int64_t value = 0;

    for (int i = 0; i < stages->n; i++) {
        const weft_doc *devices =
            stages->item[i]->kind == WEFT_DOC_MAP ? weft_doc_get(stages->item[i], "devices") : NULL;
        int64_t samples = devices != NULL ? common(devices, "samples") : 0;

        if (samples == 0 || (i > 0 && samples != value))
            return 0;
        value = samples;
    }
    return value;
}

/* Costs are made for the widths and samples that are asked for: those of the decisions, if these
 * are the same in all stages. */
static void ask_for(weft_doc *ask, const char *key, int64_t value, weft_arena *a)
{
    if (value > 0 && weft_doc_get(ask, key) == NULL)
        weft_put_int(a, ask, key, value);
}

static weft_status complete_train(weft_doc *plan, weft_arena *a)
{
    const weft_doc *decisions, *stages;
    weft_doc *ask = (weft_doc *)(uintptr_t)weft_doc_get(plan, "ask"), *map, *list;

    WEFT_TRY(weft_doc_need(plan, "decisions", WEFT_DOC_MAP, &decisions));
    WEFT_TRY(weft_doc_need(decisions, "stages", WEFT_DOC_LIST, &stages));
    list = new_like(stages, WEFT_DOC_LIST, a);
    for (int i = 0; i < stages->n; i++)
        weft_doc_add(a, list, complete_stage(stages->item[i], a));
    map = new_like(decisions, WEFT_DOC_MAP, a);
    for (int i = 0; i < decisions->n; i++)
        weft_doc_put(a, map, decisions->key[i],
                     decisions->item[i] == stages ? list : decisions->item[i]);
    weft_doc_set(a, plan, "decisions", map);
    ask_for(ask, "tp", common(stages, "width"), a);
    ask_for(ask, "mbs", common_samples(stages), a);
    return WEFT_OK;
}

/* --- all ------------------------------------------------------------------------------------- */

/* What a kind has besides, and its usual values. */
typedef struct rules {
    const char *kind;
    const char *keys[8];
    const char *usual, *usual_ask;
    weft_status (*complete)(weft_doc *plan, weft_arena *a);
} rules;

/* Ranges are as in plan files. */
static weft_status complete_serve(weft_doc *plan, weft_arena *a)
{
    (void)plan, (void)a;
    return WEFT_OK;
}

static const rules known[] = {
    {"place",
     {"schema", "kind", "model", "platform", "goal", "semantics", "decisions", "order"},
     "{" HEAD ", \"goal\": \"latency\", \"transfer\": \"overlap\", \"proof\": {" NO_PROOF
     ", \"path\": null, \"prices\": null, \"refuted\": null}}", NULL,
     complete_place                                                                             },
    {"shard",
     {"schema", "kind", "model", "platform", "ask", "sets", "steps"},
     "{" HEAD ", \"ask\": {}, \"proof\": {" NO_PROOF "}}",
     "{\"semantics\": \"sequential\", \"contiguous\": false, \"sharing\": true}", complete_steps},
    {"train",
     {"schema", "kind", "model", "platform", "ask", "decisions"},
     "{" HEAD ", \"proof\": {" NO_PROOF "}}",
     "{\"microbatch\": 0, \"schedules\": [\"gpipe\", \"1f1b\", \"eager\", \"interleaved\"], "
     "\"recompute\": [\"none\", \"selective\", \"full\"], \"most_width\": 0, \"most_replicas\": 0, "
     "\"most_stages\": 0, \"most_chunks\": 1000000, \"split_moments\": false}",   complete_train},
    {"serve",
     {"schema", "kind", "model", "platform", "objective", "decisions"},
     "{" HEAD ", \"objective\": \"flow\", \"proof\": {\"status\": \"unknown\", \"value\": 0, "
     "\"bound\": 0, \"gap\": 0, \"method\": null, \"certified\": 0, \"certificate\": "
     "{\"method\": \"cut\", \"target\": 0, \"prices\": []}}}",  NULL,
     complete_serve                                                                             },
};

/* Key "ask" with its usual values. */
static weft_status complete_ask(weft_doc *plan, const rules *r, weft_arena *a)
{
    const weft_doc *ask;
    weft_doc *whole;

    if (r->usual_ask == NULL)
        return WEFT_OK;
    WEFT_TRY(weft_doc_need(plan, "ask", WEFT_DOC_MAP, &ask));
    WEFT_TRY(add_usual(ask, r->usual_ask, a, &whole));
    weft_doc_set(a, plan, "ask", whole);
    return WEFT_OK;
}

static const rules *find_rules(const char *kind)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].kind, kind) == 0)
            return &known[i];
    return NULL;
}

static int n_keys(const rules *r)
{
    int n = 0;

    while (n < 8 && r->keys[n] != NULL)
        n++;
    return n;
}

static weft_status complete_head(const weft_doc *d, const rules *r, weft_arena *a, weft_doc **out)
{
    bool is_train = strcmp(r->kind, "train") == 0;
    const char *model = weft_arena_print(a,
                                         "{\"format\": null, \"hash\": \"" NO_HASH
                                         "\", \"batch\": 0, \"dims\": {}, "
                                         "\"dtype\": null, \"train\": %s, \"optimizer\": \"adam\"}",
                                         is_train ? "true" : "false");
    weft_doc *part;

    WEFT_TRY(weft_doc_known_keys(d, r->keys, n_keys(r)));
    WEFT_TRY(add_usual(d, r->usual, a, out));
    WEFT_TRY(complete_source(d, "model", model, a, &part));
    weft_doc_set(a, *out, "model", part);
    WEFT_TRY(complete_source(d, "platform", "{\"hash\": \"" NO_HASH "\"}", a, &part));
    weft_doc_set(a, *out, "platform", part);
    weft_doc_set(a, *out, "schema", weft_doc_new_text(a, "weft.plan/1"));
    return complete_ask(*out, r, a);
}

weft_status weft_decisions_complete(const weft_doc *d, weft_arena *a, const weft_doc **out)
{
    const rules *r;
    const char *kind;
    weft_doc *plan;

    WEFT_TRY(weft_doc_text(d, "kind", &kind));
    r = find_rules(kind);
    if (r == NULL)
        return weft_doc_fail(d, "kind is '%s', expected '%s', '%s', '%s' or '%s'", kind,
                             known[0].kind, known[1].kind, known[2].kind, known[3].kind);
    WEFT_TRY(complete_head(d, r, a, &plan));
    *out = plan;
    return r->complete(plan, a);
}
