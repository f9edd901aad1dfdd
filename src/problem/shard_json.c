/* SPDX-License-Identifier: MIT */
/* shard_json.c: plan files of sharded networks (weft.plan/1, kind shard).
 *
 * They are read in two stages. The first needs the file alone: where model and platform come from,
 * what was asked, what is claimed, and that the lists of sets and steps have the right form. The
 * second, given the problem that follows from these, turns names into numbers. */
#include <math.h>
#include <string.h>

#include "plan_head.h"

/* --- writing --------------------------------------------------------------------------------- */

static const char *semantics_word(int is_concurrent)
{
    return is_concurrent ? "branches" : "sequential";
}

weft_doc *weft_shard_constraints_doc(const weft_shard_constraints *constraints, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);

    weft_put_text(a, d, "semantics", semantics_word(constraints->is_concurrent));
    weft_put_bool(a, d, "contiguous", constraints->is_contiguous);
    weft_put_bool(a, d, "sharing", !constraints->has_no_sharing);
    return d;
}

static weft_doc *sets_doc(const weft_shard_problem *p, const weft_shard_plan *s, weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int k = 0; k < s->n_sets; k++) {
        const weft_device_set *t = &s->set[k];
        weft_doc *d = weft_add_map(a, list), *devices = weft_doc_new(a, WEFT_DOC_LIST);

        for (int i = 0; i < t->n; i++)
            weft_doc_add(a, devices, weft_doc_new_text(a, p->platform->device[t->member[i]].name));
        weft_doc_put(a, d, "devices", devices);
        weft_put_text(a, d, "design", weft_device_set_design(p, t)->name);
    }
    return list;
}

static weft_doc *steps_doc(const weft_shard_problem *p, const weft_shard_plan *s, weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int v = 0; v < s->n_steps; v++) {
        weft_doc *d = weft_add_map(a, list);
        char text[128];

        weft_split_print(p->steps, v, &s->split[v], text);
        weft_put_text(a, d, "name", weft_step_name(p->steps, v));
        weft_put_int(a, d, "set", s->set_of[v]);
        weft_put_text(a, d, "split", weft_arena_word(a, text));
        weft_put_real(a, d, "start_s", s->start_s[v]);
    }
    return list;
}

weft_doc *weft_shard_plan_doc(const weft_shard_problem *p, const weft_shard_plan *s,
                              const weft_proof *proof, const weft_plan_origin *origin,
                              weft_doc *measures, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);

    weft_plan_put_head(a, d, "shard", origin);
    weft_doc_put(a, d, "ask", weft_shard_constraints_doc(&p->constraints, a));
    weft_plan_put_maker(a, d, origin);
    weft_doc_put(a, d, "sets", sets_doc(p, s, a));
    weft_doc_put(a, d, "steps", steps_doc(p, s, a));
    weft_doc_put(a, d, "measures", measures);
    weft_plan_put_proof(a, d, proof);
    return d;
}

/* --- reading: the form ----------------------------------------------------------------------- */

static weft_status read_constraints(const weft_doc *plan, weft_shard_constraints *out)
{
    static const char *const keys[] = {"semantics", "contiguous", "sharing"};
    const weft_doc *d, *contiguous, *sharing;
    int word;

    WEFT_TRY(weft_doc_need(plan, "ask", WEFT_DOC_MAP, &d));
    WEFT_TRY(weft_doc_known_keys(d, keys, 3));
    WEFT_TRY(weft_plan_read_word(d, "semantics", semantics_word, 2, &word));
    WEFT_TRY(weft_doc_need(d, "contiguous", WEFT_DOC_BOOL, &contiguous));
    WEFT_TRY(weft_doc_need(d, "sharing", WEFT_DOC_BOOL, &sharing));
    *out = (weft_shard_constraints){word == 1, contiguous->truth, !sharing->truth};
    return WEFT_OK;
}

static weft_status check_set(const weft_doc *d)
{
    static const char *const keys[] = {"devices", "design"};
    const weft_doc *devices;
    const char *design;

    if (d->kind != WEFT_DOC_MAP)
        return weft_doc_fail(d, "this is %s, expected {devices, design}",
                             weft_doc_kind_name(d->kind));
    WEFT_TRY(weft_doc_known_keys(d, keys, 2));
    WEFT_TRY(weft_doc_need(d, "devices", WEFT_DOC_LIST, &devices));
    if (devices->n < 1 || devices->n > WEFT_MAX_MEMBERS)
        return weft_doc_fail(devices, "a set has %d devices, expected 1 to %d", devices->n,
                             (int)WEFT_MAX_MEMBERS);
    for (int i = 0; i < devices->n; i++)
        if (devices->item[i]->kind != WEFT_DOC_TEXT)
            return weft_doc_fail(devices->item[i], "a device is %s, expected its name",
                                 weft_doc_kind_name(devices->item[i]->kind));
    return weft_doc_text(d, "design", &design);
}

/* What a file says of a step. */
typedef struct entry {
    const char *name, *split;
    int64_t set;
    double start_s;
} entry;

static weft_status read_step(const weft_doc *d, int n_sets, entry *out)
{
    static const char *const keys[] = {"name", "set", "split", "start_s"};

    if (d->kind != WEFT_DOC_MAP)
        return weft_doc_fail(d, "this is %s, expected {name, set, split, start_s}",
                             weft_doc_kind_name(d->kind));
    WEFT_TRY(weft_doc_known_keys(d, keys, 4));
    WEFT_TRY(weft_doc_text(d, "name", &out->name));
    WEFT_TRY(weft_doc_int(d, "set", 0, n_sets - 1, &out->set));
    WEFT_TRY(weft_doc_text(d, "split", &out->split));
    return weft_doc_real(d, "start_s", 0, INFINITY, &out->start_s);
}

static weft_status read_lists(const weft_doc *plan, weft_shard_plan_file *out)
{
    entry e;

    WEFT_TRY(weft_doc_need(plan, "sets", WEFT_DOC_LIST, &out->sets));
    if (out->sets->n == 0)
        return weft_doc_fail(out->sets, "'sets' is empty, expected one or more");
    for (int i = 0; i < out->sets->n; i++)
        WEFT_TRY(check_set(out->sets->item[i]));
    WEFT_TRY(weft_doc_need(plan, "steps", WEFT_DOC_LIST, &out->steps));
    for (int i = 0; i < out->steps->n; i++)
        WEFT_TRY(read_step(out->steps->item[i], out->sets->n, &e));
    return WEFT_OK;
}

weft_status weft_shard_plan_read(const char *path, weft_arena *a, weft_shard_plan_file *out)
{
    const weft_doc *d;

    WEFT_TRY(weft_plan_open(path, "shard", a, &d));
    return weft_shard_plan_take(d, a, out);
}

weft_status weft_shard_plan_take(const weft_doc *d, weft_arena *a, weft_shard_plan_file *out)
{
    static const char *const keys[] = {"schema", "kind",   "model",    "platform",
                                       "ask",    "solver", "seed",     "problem_hash",
                                       "sets",   "steps",  "measures", "proof"};

    memset(out, 0, sizeof *out);
    WEFT_TRY(weft_doc_known_keys(d, keys, (int)(sizeof keys / sizeof *keys)));
    WEFT_TRY(weft_plan_read_origin(d, a, &out->origin));
    WEFT_TRY(read_constraints(d, &out->constraints));
    WEFT_TRY(read_lists(d, out));
    WEFT_TRY(weft_doc_need(d, "measures", WEFT_DOC_MAP, &out->measures));
    WEFT_TRY(weft_plan_read_proof(d, &out->proof));
    out->doc = d;
    return WEFT_OK;
}

/* --- reading: names become numbers ----------------------------------------------------------- */

static int find_design(const weft_device *d, const char *name)
{
    for (int k = 0; k < d->n_designs; k++)
        if (strcmp(d->design[k].name, name) == 0)
            return k;
    return -1;
}

/* The form is known to be right (check_set). */
static weft_status decide_set(const weft_doc *d, const weft_shard_problem *p, weft_device_set *out)
{
    const weft_doc *devices = weft_doc_get(d, "devices");
    const char *design;

    WEFT_TRY(weft_doc_text(d, "design", &design));
    out->n = devices->n;
    for (int i = 0; i < devices->n; i++) {
        out->member[i] = weft_platform_find_device(p->platform, devices->item[i]->text);
        if (out->member[i] < 0)
            return weft_doc_fail(devices->item[i], "'%s' is no device of platform '%s'",
                                 devices->item[i]->text, p->platform->name);
    }
    out->design = find_design(&p->platform->device[out->member[0]], design);
    if (out->design < 0)
        return weft_doc_fail(d, "'%s' is no design of '%s'", design, devices->item[0]->text);
    return WEFT_OK;
}

static weft_status decide_step(const weft_doc *d, const weft_shard_problem *p,
                               const weft_map *index, bool *is_decided, weft_shard_plan *out)
{
    entry e;
    int v;

    WEFT_TRY(read_step(d, out->n_sets, &e));
    v = weft_map_get(index, e.name, strlen(e.name));
    if (v < 0)
        return weft_doc_fail(d, "step '%s' is not in the model", e.name);
    if (is_decided[v])
        return weft_doc_fail(d, "step '%s' is decided twice", e.name);
    is_decided[v] = true;
    out->set_of[v] = (int)e.set;
    out->start_s[v] = e.start_s;
    if (weft_split_parse(p->steps, v, out->set[e.set].n, e.split, &out->split[v]) == WEFT_OK)
        return WEFT_OK;
    return weft_doc_fail(d, "%s", weft_message()); /* it names the step */
}

weft_status weft_shard_plan_decide(const weft_shard_plan_file *f, const weft_shard_problem *p,
                                   weft_arena *a, weft_shard_plan *out)
{
    const weft_steps *s = p->steps;
    weft_map *index = weft_map_new(a);
    bool *is_decided = WEFT_NEW(a, bool, s->n + 1);

    *out = weft_shard_plan_new(f->sets->n, s->n, a);
    weft_map_reserve(index, s->n);
    for (int v = 0; v < s->n; v++)
        weft_map_set(index, weft_step_name(s, v), strlen(weft_step_name(s, v)), v);
    for (int k = 0; k < f->sets->n; k++)
        WEFT_TRY(decide_set(f->sets->item[k], p, &out->set[k]));
    for (int i = 0; i < f->steps->n; i++)
        WEFT_TRY(decide_step(f->steps->item[i], p, index, is_decided, out));
    for (int v = 0; v < s->n; v++)
        if (!is_decided[v])
            return weft_doc_fail(f->steps, "step '%s' is not in the plan", weft_step_name(s, v));
    return WEFT_OK;
}
