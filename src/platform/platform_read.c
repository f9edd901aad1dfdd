/* SPDX-License-Identifier: MIT */
/* platform_read.c: platform files, schema weft.platform/1.
 *
 *   schema, name, host, transfer: overlap | contend | block, overlap: true | false,
 *   software: graph | eager | fused | flash
 *   collectives: ring | best
 *   devices:  [{name, count, memory, power, idle_power, engine, cpus: [0],
 *              and a design or designs: [{name, design}]}]
 *             design = model, its parameters, efficiency: {tensor: 0.6}, only: [Conv],
 *             profile: path
 *   switches: [name, or {name: name}]
 *   links:    [{between: [a, b] | all: [a, ..] | star: {center: a, to: [b, ..]},
 *               bandwidth, latency, duplex: full | half, curve: [[bytes, bandwidth], ..]}]
 *   shared:   [{name, bandwidth, duplex: full | half, of: [{between | all | star of links}] or
 *               [devices]}]
 *   groups:   [{name, count, devices, switches, links, shared}]
 *   calibrated: {device, rows, what, held_out_median, p90, rho}, as weft calibrate writes it
 *
 * 1. `count: n` makes name0 .. name(n-1); the name alone then stands for all of them in `all` and
 *    `star`, and is their kind. A group puts its name and a point before the names of its members:
 *    server0.gpu1, of the kind server.gpu, which again stands for all of them.
 * 2. Links inside a group use its own names, those outside the full ones.
 * 3. Devices are numbered in the order of the file, those of groups last, copy by copy.
 * 4. Every pair of devices must have a route; only switches and the host pass data on.
 *
 * Texts are copied: the document may go. Counts and links are limited before they are expanded, and
 * copies share their designs, so memory stays proportional to the file and these limits. */
#include <math.h>
#include <string.h>

#include "machine.h"

typedef WEFT_VEC(weft_design) design_list;

/* A device as written, before it is repeated. */
typedef struct part {
    weft_device device; /* without kind */
    int count;          /* 0: not given */
    const weft_doc *at;
} part;

typedef WEFT_VEC(part) part_list;

/* What stands before the names of members: "server0." and, for kinds, "server."; both "" outside
 * of groups. */
typedef struct scope {
    const char *prefix, *old_prefix, *kind;
    int group;    /* number of the copy, from 1 */
    bool is_open; /* what it does not have may be outside */
} scope;

static const char *const family_names[WEFT_N_FAMILIES] = {"tensor", "element", "reduce", "norm",
                                                          "view",   "move",    "none"};
static const char *const dataflow_names[] = {"best", "ws", "os", "is", "simd"};

/* Quantities that every device or link has, whatever its model. */
#define NO_PLACE (-1)
static const weft_param memory_row = {"memory", NO_PLACE, WEFT_UNIT_BYTES, false, false, INFINITY,
                                      0,        1e18,     "capacity"};
static const weft_param power_row = {"power", NO_PLACE, WEFT_UNIT_WATTS, false, false, 0,
                                     0,       1e9,      "at full load"};
static const weft_param idle_row = {
    "idle_power", NO_PLACE, WEFT_UNIT_WATTS, false, false, 0, 0, 1e9, "without work"};
static const weft_param switch_row = {
    "switch", NO_PLACE, WEFT_UNIT_SECONDS, false, false, 0, 0, 1e6, "to it from another device"};
static const weft_param link_row = {"bandwidth",   NO_PLACE,       WEFT_UNIT_BYTES_PER_S,
                                    false,         true,           0,
                                    WEFT_POSITIVE, WEFT_UNLIMITED, "of one direction"};
static const weft_param latency_row = {"latency", NO_PLACE, WEFT_UNIT_SECONDS, false, false, 0,
                                       0,         1e6,      "of one message"};

/* --- values ---------------------------------------------------------------------------------- */

/* Puts file and line in front of a message that has none. */
static weft_status placed(const weft_doc *at, weft_status status)
{
    return status == WEFT_OK ? status : weft_doc_fail(at, "%s", weft_message());
}

/* The place of a word in a list; the message suggests the nearest. */
static weft_status read_word(const weft_doc *d, const char *key, const char *const *words, int n,
                             int *out)
{
    const char *near;

    if (d->kind != WEFT_DOC_TEXT)
        return weft_doc_fail(d, "%s is %s, expected a word like '%s'", key,
                             weft_doc_kind_name(d->kind), words[0]);
    for (*out = 0; *out < n; ++*out)
        if (strcmp(d->text, words[*out]) == 0)
            return WEFT_OK;
    near = weft_nearest(d->text, words, n);
    if (near)
        return weft_doc_fail(d, "%s is '%.60s', which is unknown (did you mean '%s'?)", key,
                             d->text, near);
    return weft_doc_fail(d, "%s is '%.60s', which is unknown, expected a word like '%s' or '%s'",
                         key, d->text, words[0], words[1]);
}

static bool is_number(const weft_doc *d)
{
    return d->kind == WEFT_DOC_INT || d->kind == WEFT_DOC_REAL;
}

/* A number without unit where one may stand, else the text of a quantity. */
static weft_status read_quantity(const weft_doc *d, const weft_param *p, double *out)
{
    bool is_plain = p->unit == WEFT_UNIT_NONE || p->is_plain;

    if (is_number(d) && is_plain) {
        *out = d->real;
        return WEFT_OK;
    }
    if ((!is_number(d) && d->kind != WEFT_DOC_TEXT) || d->text == NULL)
        return weft_doc_fail(d, "%s is %s, expected a number%s", p->key,
                             weft_doc_kind_name(d->kind), is_plain ? "" : " with a unit");
    if (weft_unit_parse(d->text, p->unit, is_plain, out) != WEFT_OK)
        return weft_doc_fail(d, "%s: %s", p->key, weft_message());
    return WEFT_OK;
}

/* May be written true or false. */
static bool is_flag(int place)
{
    return place == WEFT_P_SERIAL || place == WEFT_P_USE_TF32 || place == WEFT_P_USE_WINOGRAD ||
           place == WEFT_P_BLOCKING;
}

static weft_status read_param(const weft_doc *d, const weft_param *p, double *out)
{
    int word = 0;

    if (p->place == WEFT_P_DATAFLOW) {
        WEFT_TRY(read_word(d, p->key, dataflow_names, WEFT_DATAFLOW_SIMD + 1, &word));
        *out = word;
        return WEFT_OK;
    }
    if (d->kind == WEFT_DOC_BOOL && is_flag(p->place)) {
        *out = d->truth;
        return WEFT_OK;
    }
    WEFT_TRY(read_quantity(d, p, out));
    return placed(d, weft_param_check(p, *out));
}

/* The value of a key or, if it is not there, the fallback of its row. */
static weft_status read_row(const weft_doc *map, const weft_param *p, double *out)
{
    const weft_doc *d = weft_doc_get(map, p->key);

    *out = p->fallback;
    if (d)
        return read_param(d, p, out);
    if (p->is_required)
        return weft_doc_fail(map, "'%s' is missing, expected %s", p->key, p->help);
    return WEFT_OK;
}

/* A list, or NULL if the key is not there. */
static weft_status read_list(const weft_doc *map, const char *key, const weft_doc **out)
{
    *out = NULL;
    return weft_doc_get(map, key) ? weft_doc_need(map, key, WEFT_DOC_LIST, out) : WEFT_OK;
}

/* Points are kept for groups, so that no written name can be that of a member. */
static weft_status check_written(const weft_doc *d)
{
    if (d->kind != WEFT_DOC_TEXT)
        return weft_doc_fail(d, "a name is %s, expected text%s", weft_doc_kind_name(d->kind),
                             is_number(d) ? " (in quotes)" : "");
    if (strchr(d->text, '.'))
        return weft_doc_fail(d,
                             "the name '%.60s' contains '.', which stands between a group and "
                             "its members",
                             d->text);
    if (strlen(d->text) > WEFT_LONGEST_NAME)
        return weft_doc_fail(d, "the name '%.40s...' is too long, expected at most %d characters",
                             d->text, WEFT_LONGEST_NAME);
    return WEFT_OK;
}

static weft_status read_name(const weft_doc *map, weft_arena *a, const char **out)
{
    const weft_doc *d = weft_doc_get(map, "name");

    if (d == NULL)
        return weft_doc_fail(map, "key 'name' is missing");
    WEFT_TRY(check_written(d));
    *out = weft_arena_text(a, d->text, strlen(d->text));
    return WEFT_OK;
}

static weft_status read_count(const weft_doc *map, int *out)
{
    int64_t n = 0;

    if (weft_doc_get(map, "count"))
        WEFT_TRY(weft_doc_int(map, "count", 1, WEFT_MOST_DEVICES, &n));
    *out = (int)n;
    return WEFT_OK;
}

/* --- designs --------------------------------------------------------------------------------- */

enum { N_DESIGN_KEYS = 5, N_DEVICE_KEYS = 9, MOST_DESIGNS = 64, MOST_CORES = 1024 };

static const char *const design_keys[N_DESIGN_KEYS] = {"name", "model", "efficiency", "only",
                                                       "profile"};
static const char *const device_keys[N_DEVICE_KEYS] = {
    "name", "count", "memory", "power", "idle_power", "designs", "engine", "cpus", "switch"};

static bool has_param(weft_device_model model, const char *key)
{
    int n;
    const weft_param *p = weft_device_params(model, &n);

    for (int i = 0; i < n; i++)
        if (strcmp(p[i].key, key) == 0)
            return true;
    return false;
}

static bool is_other_param(weft_device_model model, const char *key)
{
    if (has_param(model, key))
        return false;
    for (int other = 0; other < WEFT_N_DEVICE_MODELS; other++)
        if (has_param((weft_device_model)other, key))
            return true;
    return false;
}

/* Refuses keys that neither the model nor, for a device, the device knows. */
static weft_status check_keys(const weft_doc *map, weft_device_model model, bool is_device,
                              weft_arena *a)
{
    const char **key;
    int n_params, n = 0;
    const weft_param *p = weft_device_params(model, &n_params);

    for (int i = 0; i < map->n; i++)
        if (is_other_param(model, map->key[i]))
            return weft_doc_fail(map->item[i], "'%s' is not a parameter of the model %s",
                                 map->key[i], weft_device_model_name(model));
    key = WEFT_NEW(a, const char *, n_params + N_DESIGN_KEYS + N_DEVICE_KEYS);
    for (int i = 0; i < N_DESIGN_KEYS; i++)
        key[n++] = design_keys[i];
    for (int i = 0; i < N_DEVICE_KEYS && is_device; i++)
        key[n++] = device_keys[i];
    for (int i = 0; i < n_params; i++)
        key[n++] = p[i].key;
    return weft_doc_known_keys(map, key, n);
}

static weft_status read_model(const weft_doc *map, weft_device_model *out)
{
    const char *names[WEFT_N_DEVICE_MODELS];
    const weft_doc *d = weft_doc_get(map, "model"), *name = weft_doc_get(map, "name");
    int model = 0;

    for (int i = 0; i < WEFT_N_DEVICE_MODELS; i++)
        names[i] = weft_device_model_name((weft_device_model)i);
    if (d == NULL)
        return weft_doc_fail(map, "'%.60s' has no model, expected a model like '%s' or '%s'",
                             name && name->text ? name->text : "", names[0], names[1]);
    WEFT_TRY(read_word(d, "model", names, WEFT_N_DEVICE_MODELS, &model));
    *out = (weft_device_model)model;
    return WEFT_OK;
}

static weft_status read_efficiency(const weft_doc *map, weft_design *out)
{
    const weft_doc *d = NULL;

    if (weft_doc_get(map, "efficiency") == NULL)
        return WEFT_OK;
    WEFT_TRY(weft_doc_need(map, "efficiency", WEFT_DOC_MAP, &d));
    WEFT_TRY(weft_doc_known_keys(d, family_names, WEFT_N_FAMILIES));
    for (int f = 0; f < WEFT_N_FAMILIES; f++) {
        const weft_param row = {family_names[f],   NO_PLACE, WEFT_UNIT_NONE, true, false, 1, 0, 1,
                                "part of the peak"};
        const weft_doc *value = weft_doc_get(d, family_names[f]);

        if (value == NULL)
            continue;
        WEFT_TRY(read_quantity(value, &row, &out->efficiency[f]));
        if (!(out->efficiency[f] > 0 && out->efficiency[f] <= 1))
            return weft_doc_fail(value, "efficiency of %s is %g, expected more than 0, at most 1",
                                 family_names[f], out->efficiency[f]);
    }
    return WEFT_OK;
}

static weft_status read_only(const weft_doc *map, weft_design *out, weft_arena *a)
{
    const weft_doc *d = NULL;
    const char **only, **at;

    WEFT_TRY(read_list(map, "only", &d));
    if (d == NULL)
        return WEFT_OK;
    if (d->n == 0)
        return weft_doc_fail(d, "'only' is an empty list, expected operators like 'Conv'");
    only = WEFT_NEW(a, const char *, d->n);
    at = WEFT_NEW(a, const char *, d->n);
    for (int i = 0; i < d->n; i++) {
        if (d->item[i]->kind != WEFT_DOC_TEXT || *d->item[i]->text == '\0')
            return weft_doc_fail(d->item[i], "'only' has %s in it, expected operators like 'Conv'",
                                 weft_doc_kind_name(d->item[i]->kind));
        only[i] = weft_arena_text(a, d->item[i]->text, strlen(d->item[i]->text));
        at[i] = weft_arena_print(a, "%s:%d", map->file, d->item[i]->line);
    }
    out->n_only = d->n;
    out->only = only;
    out->only_at = at;
    return WEFT_OK;
}

/* Measured times: all there is for model profile, and before the model's own for the others. The
 * path is relative to the folder of the platform file. */
static weft_status read_profile(const weft_doc *map, weft_design *out, weft_arena *a)
{
    const char *path = NULL, *slash = strrchr(map->file, '/');

    if (out->model != WEFT_PROFILE && weft_doc_get(map, "profile") == NULL)
        return WEFT_OK;
    WEFT_TRY(weft_doc_text(map, "profile", &path));
    if (*path == '\0')
        return weft_doc_fail(map, "'profile' is empty, expected a file of measured times");
    if (*path == '/' || slash == NULL)
        out->profile = weft_arena_text(a, path, strlen(path));
    else
        out->profile = weft_arena_print(a, "%.*s/%s", (int)(slash - map->file), map->file, path);
    return WEFT_OK;
}

/* What a model needs only where other parameters do not stand for it. */
static weft_status check_needed(const weft_doc *map, const weft_design *d)
{
    const weft_device_row *model = weft_device_row_of(d->model);
    int place = model->needed ? model->needed(d) : -1;

    for (int i = 0; i < model->n_params; i++)
        if (model->param[i].place == place)
            return weft_doc_fail(map, "'%s' is %s, expected %s", model->param[i].key,
                                 weft_doc_get(map, model->param[i].key) ? "0" : "missing",
                                 model->param[i].help);
    return WEFT_OK;
}

static weft_status read_design(const weft_doc *map, bool is_device, weft_machine *m,
                               weft_design *out)
{
    weft_device_model model = WEFT_ROOFLINE;
    const weft_param *p;
    int n;

    WEFT_TRY(read_model(map, &model));
    WEFT_TRY(check_keys(map, model, is_device, m->scratch));
    *out = weft_design_default(model);
    p = weft_device_params(model, &n);
    for (int i = 0; i < n; i++)
        WEFT_TRY(read_row(map, &p[i], &out->value[p[i].place]));
    WEFT_TRY(check_needed(map, out));
    WEFT_TRY(read_efficiency(map, out));
    WEFT_TRY(read_only(map, out, m->arena));
    return read_profile(map, out, m->arena);
}

static bool has_design(const design_list *list, const char *name)
{
    for (int i = 0; i < list->n; i++)
        if (strcmp(list->at[i].name, name) == 0)
            return true;
    return false;
}

/* The designs of an adaptive device. */
static weft_status read_designs(const weft_doc *map, weft_machine *m, design_list *out)
{
    const weft_doc *d = NULL;

    WEFT_TRY(weft_doc_need(map, "designs", WEFT_DOC_LIST, &d));
    if (weft_doc_get(map, "model"))
        return weft_doc_fail(map, "a device has both a model and designs, expected one of them");
    WEFT_TRY(weft_doc_known_keys(map, device_keys, N_DEVICE_KEYS));
    if (d->n < 1 || d->n > MOST_DESIGNS)
        return weft_doc_fail(d, "'designs' has %d of them, expected 1 to %d", d->n, MOST_DESIGNS);
    for (int i = 0; i < d->n; i++) {
        const weft_doc *item = d->item[i];
        const char *name = NULL;
        weft_design design;

        if (item->kind != WEFT_DOC_MAP)
            return weft_doc_fail(item, "a design is %s, expected a map",
                                 weft_doc_kind_name(item->kind));
        WEFT_TRY(read_name(item, m->arena, &name));
        WEFT_TRY(read_design(item, false, m, &design));
        if (has_design(out, name))
            return weft_doc_fail(item, "two designs have the name '%s'", name);
        design.name = name;
        WEFT_PUSH(m->arena, *out, design);
    }
    return WEFT_OK;
}

/* --- devices --------------------------------------------------------------------------------- */

static weft_status read_limits(const weft_doc *map, weft_device *out)
{
    WEFT_TRY(read_row(map, &memory_row, &out->memory_bytes));
    WEFT_TRY(read_row(map, &power_row, &out->power_w));
    WEFT_TRY(read_row(map, &idle_row, &out->idle_w));
    WEFT_TRY(read_row(map, &switch_row, &out->switch_s));
    if (out->power_w > 0 && out->idle_w > out->power_w)
        return weft_doc_fail(map, "idle_power of '%s' is %g W, expected at most its power, %g W",
                             out->name, out->idle_w, out->power_w);
    return WEFT_OK;
}

/* What runs networks on the device, for weft profile and weft run; costs do not depend on it. */
static weft_status read_engine(const weft_doc *map, weft_machine *m, weft_device *out)
{
    const weft_doc *d = NULL;
    const char *engine;
    int64_t core;
    int *cores;

    if (weft_doc_get(map, "engine")) {
        WEFT_TRY(weft_doc_text(map, "engine", &engine));
        out->engine = weft_arena_word(m->arena, engine);
    }
    WEFT_TRY(read_list(map, "cpus", &d));
    if (d == NULL)
        return WEFT_OK;
    if (d->n < 1 || d->n > MOST_CORES)
        return weft_doc_fail(d, "'cpus' has %d of them, expected 1 to %d", d->n, MOST_CORES);
    out->cores = cores = WEFT_NEW(m->arena, int, d->n);
    for (int i = 0; i < d->n; i++) {
        core = d->item[i]->kind == WEFT_DOC_INT ? d->item[i]->integer : -1;
        if (core < 0 || core >= MOST_CORES)
            return weft_doc_fail(d->item[i], "this is no core, expected a number from 0 to %d",
                                 MOST_CORES - 1);
        cores[out->n_cores++] = (int)core;
    }
    return WEFT_OK;
}

static weft_status read_device(const weft_doc *map, weft_machine *m, part *out)
{
    design_list designs = {0};
    weft_design design;

    if (map->kind != WEFT_DOC_MAP)
        return weft_doc_fail(map, "a device is %s, expected a map", weft_doc_kind_name(map->kind));
    out->at = map;
    WEFT_TRY(read_name(map, m->arena, &out->device.name));
    WEFT_TRY(read_count(map, &out->count));
    if (weft_doc_get(map, "designs")) {
        WEFT_TRY(read_designs(map, m, &designs));
    } else {
        WEFT_TRY(read_design(map, true, m, &design));
        WEFT_PUSH(m->arena, designs, design);
    }
    out->device.n_designs = designs.n;
    out->device.design = designs.at;
    WEFT_TRY(read_engine(map, m, &out->device));
    return read_limits(map, &out->device);
}

static weft_status read_devices(const weft_doc *map, weft_machine *m, part_list *out)
{
    const weft_doc *d = NULL;

    WEFT_TRY(read_list(map, "devices", &d));
    for (int i = 0; d && i < d->n; i++) {
        part one = {0};

        if (i == WEFT_MOST_DEVICES)
            return weft_doc_fail(d->item[i], "there are more than %d devices", WEFT_MOST_DEVICES);
        WEFT_TRY(read_device(d->item[i], m, &one));
        WEFT_PUSH(m->scratch, *out, one);
    }
    return WEFT_OK;
}

const char *weft_copy_name(weft_arena *a, const char *name, int i)
{
    return weft_arena_print(a, "%s-%d", name, i);
}

/* Copy i of a device, or its only one. */
static weft_status add_copy(weft_machine *m, const part *p, const scope *s, int i)
{
    const char *base = p->device.name;
    const char *all = weft_arena_print(m->arena, "%s%s", s->prefix, base);
    weft_device d = p->device;

    d.name = p->count ? weft_copy_name(m->arena, all, i) : all;
    d.old_name = weft_arena_print(m->arena, p->count ? "%s%s%d" : "%s%s", s->old_prefix, base, i);
    d.kind = weft_arena_print(m->arena, "%s%s", s->kind, base);
    d.group = s->group;
    WEFT_TRY(placed(p->at, weft_machine_device(m, &d)));
    if (p->count && strcmp(all, d.kind) != 0) /* "server0.gpu": the copies in one server */
        WEFT_TRY(placed(p->at, weft_machine_alias(m, all)));
    return WEFT_OK;
}

static weft_status add_devices(weft_machine *m, const part_list *parts, const scope *s)
{
    for (int i = 0; i < parts->n; i++) {
        const part *p = &parts->at[i];

        for (int copy = 0; copy < (p->count ? p->count : 1); copy++)
            WEFT_TRY(add_copy(m, p, s, copy));
    }
    return WEFT_OK;
}

/* --- switches -------------------------------------------------------------------------------- */

static weft_status add_switch(weft_machine *m, const weft_doc *d, const scope *s)
{
    static const char *const keys[] = {"name"};
    const weft_doc *name = d;

    if (d->kind == WEFT_DOC_MAP) {
        WEFT_TRY(weft_doc_known_keys(d, keys, 1));
        name = weft_doc_get(d, "name");
        if (name == NULL)
            return weft_doc_fail(d, "key 'name' is missing");
    }
    WEFT_TRY(check_written(name));
    return placed(
        d, weft_machine_switch(
               m,
               &(weft_switch_names){weft_arena_print(m->arena, "%s%s", s->prefix, name->text),
                                    weft_arena_print(m->arena, "%s%s", s->old_prefix, name->text),
                                    weft_arena_print(m->arena, "%s%s", s->kind, name->text)},
               s->group));
}

static weft_status add_switches(weft_machine *m, const weft_doc *map, const scope *s)
{
    const weft_doc *d = NULL;

    WEFT_TRY(read_list(map, "switches", &d));
    for (int i = 0; d && i < d->n; i++)
        WEFT_TRY(add_switch(m, d->item[i], s));
    return WEFT_OK;
}

/* --- links ----------------------------------------------------------------------------------- */

/* A name in a link, with the group's prefix before it. */
static weft_status read_end(weft_machine *m, const weft_doc *d, const scope *s, const char **out)
{
    if (d->kind != WEFT_DOC_TEXT)
        return weft_doc_fail(d, "the end of a link is %s, expected the name of a device or switch",
                             weft_doc_kind_name(d->kind));
    *out = weft_arena_print(m->scratch, "%s%.200s", s->prefix, d->text);
    if (s->is_open && !weft_machine_has_name(m, *out))
        *out = weft_arena_print(m->scratch, "%.200s", d->text);
    return WEFT_OK;
}

static weft_status read_one_end(weft_machine *m, const weft_doc *d, const scope *s, int *place)
{
    const char *name = NULL;

    WEFT_TRY(read_end(m, d, s, &name));
    return placed(d, weft_machine_find(m, name, place));
}

/* All places that the names of a list stand for. */
static weft_status read_ends(weft_machine *m, const weft_doc *list, const scope *s,
                             weft_places *out)
{
    for (int i = 0; i < list->n; i++) {
        const char *name = NULL;

        WEFT_TRY(read_end(m, list->item[i], s, &name));
        WEFT_TRY(placed(list->item[i], weft_machine_find_all(m, name, out)));
        if (out->n > m->device.n + m->switch_name.n)
            return weft_doc_fail(list->item[i], "'%s' is in this list twice", name);
    }
    return WEFT_OK;
}

/* What is done with each pair of places that a form names: a link is made, or (resource >= 0) the one
 * that is there uses a resource. */
typedef struct visitor {
    weft_machine *m;
    const scope *s;
    weft_link *link; /* NULL: of a resource */
    int there, back; /* resources of the directions from the first place and to it */
} visitor;

static weft_status visit_pair(const visitor *v, const weft_doc *at, int a, int b)
{
    int hop;

    if (v->link) {
        v->link->a = a;
        v->link->b = b;
        return placed(at, weft_machine_link(v->m, v->link));
    }
    hop = weft_machine_hop(v->m, a, b);
    if (hop < 0)
        return weft_doc_fail(at, "'%s' and '%s' are not linked, expected the ends of a link",
                             weft_machine_name(v->m, a), weft_machine_name(v->m, b));
    weft_machine_use(v->m, hop, v->there);
    weft_machine_use(v->m, hop ^ 1, v->back);
    return WEFT_OK;
}

static weft_status visit_two(const visitor *v, const weft_doc *map)
{
    const weft_doc *d = NULL;
    int a = 0, b = 0;

    WEFT_TRY(weft_doc_need(map, "between", WEFT_DOC_LIST, &d));
    if (d->n != 2)
        return weft_doc_fail(d, "'between' has %d names, expected 2 (or use 'all' or 'star')",
                             d->n);
    WEFT_TRY(read_one_end(v->m, d->item[0], v->s, &a));
    WEFT_TRY(read_one_end(v->m, d->item[1], v->s, &b));
    return visit_pair(v, d, a, b);
}

static weft_status visit_all(const visitor *v, const weft_doc *map)
{
    const weft_doc *d = NULL;
    weft_places ends = {0};

    WEFT_TRY(weft_doc_need(map, "all", WEFT_DOC_LIST, &d));
    WEFT_TRY(read_ends(v->m, d, v->s, &ends));
    if (ends.n < 2)
        return weft_doc_fail(d, "'all' names %d places, expected 2 or more", ends.n);
    for (int i = 0; i < ends.n; i++)
        for (int j = i + 1; j < ends.n; j++)
            WEFT_TRY(visit_pair(v, d, ends.at[i], ends.at[j]));
    return WEFT_OK;
}

static weft_status visit_star(const visitor *v, const weft_doc *map)
{
    static const char *const keys[] = {"center", "to"};
    const weft_doc *star = NULL, *center = NULL, *to = NULL;
    weft_places ends = {0};
    int middle = 0;

    WEFT_TRY(weft_doc_need(map, "star", WEFT_DOC_MAP, &star));
    WEFT_TRY(weft_doc_known_keys(star, keys, 2));
    WEFT_TRY(weft_doc_need(star, "center", WEFT_DOC_TEXT, &center));
    WEFT_TRY(weft_doc_need(star, "to", WEFT_DOC_LIST, &to));
    WEFT_TRY(read_one_end(v->m, center, v->s, &middle));
    WEFT_TRY(read_ends(v->m, to, v->s, &ends));
    if (ends.n == 0)
        return weft_doc_fail(to, "'to' is an empty list, expected names of devices or switches");
    for (int i = 0; i < ends.n; i++)
        WEFT_TRY(visit_pair(v, to, middle, ends.at[i]));
    return WEFT_OK;
}

static weft_status visit_form(const visitor *v, const weft_doc *map)
{
    if (weft_doc_get(map, "between"))
        return visit_two(v, map);
    return weft_doc_get(map, "all") ? visit_all(v, map) : visit_star(v, map);
}

static weft_status check_form(const weft_doc *map)
{
    int n_forms = (weft_doc_get(map, "between") != NULL) + (weft_doc_get(map, "all") != NULL) +
                  (weft_doc_get(map, "star") != NULL);

    if (n_forms != 1)
        return weft_doc_fail(map, "a link has %d of 'between', 'all' and 'star', expected one",
                             n_forms);
    return WEFT_OK;
}

static weft_status read_duplex(const weft_doc *map, bool *is_half)
{
    static const char *const duplex[] = {"full", "half"};
    const weft_doc *d = weft_doc_get(map, "duplex");
    int word = 0;

    if (d)
        WEFT_TRY(read_word(d, "duplex", duplex, 2, &word));
    *is_half = word == 1;
    return WEFT_OK;
}

/* --- curves ---------------------------------------------------------------------------------- */

enum { MOST_POINTS = 1000 };

/* Point i of a curve: [bytes, bandwidth]. */
static weft_status read_point(const weft_doc *d, double *bytes, double *bytes_per_s)
{
    static const weft_param bytes_row = {"bytes",       NO_PLACE, WEFT_UNIT_BYTES,    true, true, 0,
                                         WEFT_POSITIVE, 1e18,     "size of a message"};

    if (d->kind != WEFT_DOC_LIST || d->n != 2)
        return weft_doc_fail(d, "a point of the curve is %s, expected a pair like [1MiB, 20GB/s]",
                             d->kind == WEFT_DOC_LIST ? "not two values"
                                                      : weft_doc_kind_name(d->kind));
    WEFT_TRY(read_param(d->item[0], &bytes_row, bytes));
    return read_param(d->item[1], &link_row, bytes_per_s);
}

/* More bytes must not take less time. */
static weft_status check_point(const weft_doc *d, const weft_link_curve *c, int i)
{
    char here[48], before[48];

    if (i == 0)
        return WEFT_OK;
    weft_unit_print(c->bytes[i], WEFT_UNIT_BYTES, here);
    weft_unit_print(c->bytes[i - 1], WEFT_UNIT_BYTES, before);
    if (!(c->bytes[i] > c->bytes[i - 1]))
        return weft_doc_fail(d, "a point of the curve is at %s behind one at %s, expected more",
                             here, before);
    if (c->seconds[i] >= c->seconds[i - 1])
        return WEFT_OK;
    return weft_doc_fail(
        d,
        "a message of %s takes %g us, less than the %g us of one of %s: expected a "
        "lower bandwidth",
        here, 1e6 * c->seconds[i], 1e6 * c->seconds[i - 1], before);
}

/* The curve of a link; *fastest is its largest bandwidth. */
static weft_status read_curve(weft_machine *m, const weft_doc *list, int *number, double *fastest)
{
    double *bytes = WEFT_NEW(m->arena, double, list->n);
    double *seconds = WEFT_NEW(m->arena, double, list->n);
    weft_link_curve c = {list->n, bytes, seconds};

    if (list->n < 1 || list->n > MOST_POINTS)
        return weft_doc_fail(list, "'curve' has %d points, expected 1 to %d", list->n, MOST_POINTS);
    for (int i = 0; i < list->n; i++) {
        double bytes_per_s = 0;

        WEFT_TRY(read_point(list->item[i], &bytes[i], &bytes_per_s));
        seconds[i] = bytes[i] / bytes_per_s;
        *fastest = fmax(*fastest, bytes_per_s);
        WEFT_TRY(check_point(list->item[i], &c, i));
    }
    return placed(list, weft_machine_curve(m, &c, number));
}

/* Bandwidth, or a curve, or a curve and a bandwidth that it never exceeds. */
static weft_status read_rate(weft_machine *m, const weft_doc *map, weft_link *l)
{
    const weft_doc *list = NULL;
    double fastest = 0;
    char shown[48], most[48];

    WEFT_TRY(read_list(map, "curve", &list));
    if (list == NULL)
        return read_row(map, &link_row, &l->bytes_per_s);
    WEFT_TRY(read_curve(m, list, &l->curve, &fastest));
    l->bytes_per_s = fastest;
    if (weft_doc_get(map, "bandwidth") == NULL)
        return WEFT_OK;
    WEFT_TRY(read_row(map, &link_row, &l->bytes_per_s));
    if (l->bytes_per_s >= fastest)
        return WEFT_OK;
    weft_unit_print(fastest, WEFT_UNIT_BYTES_PER_S, shown);
    weft_unit_print(l->bytes_per_s, WEFT_UNIT_BYTES_PER_S, most);
    return weft_doc_fail(list, "'curve' has a point of %s, expected at most the bandwidth, %s",
                         shown, most);
}

static weft_status add_link(weft_machine *m, const weft_doc *map, const scope *s)
{
    static const char *const keys[] = {"between", "all",    "star", "bandwidth",
                                       "latency", "duplex", "curve"};
    weft_link l = {0};

    WEFT_TRY(weft_doc_known_keys(map, keys, 7));
    WEFT_TRY(check_form(map));
    WEFT_TRY(read_rate(m, map, &l));
    WEFT_TRY(read_row(map, &latency_row, &l.latency_s));
    WEFT_TRY(read_duplex(map, &l.is_half_duplex));
    return visit_form(&(visitor){m, s, &l, -1, -1}, map);
}

static weft_status add_links(weft_machine *m, const weft_doc *map, const scope *s)
{
    const weft_doc *d = NULL;

    WEFT_TRY(read_list(map, "links", &d));
    for (int i = 0; d && i < d->n; i++)
        WEFT_TRY(add_link(m, d->item[i], s));
    return WEFT_OK;
}

/* --- shared resources ------------------------------------------------------------------------ */

static const weft_param shared_row = {"bandwidth",   NO_PLACE,       WEFT_UNIT_BYTES_PER_S,
                                      false,         true,           0,
                                      WEFT_POSITIVE, WEFT_UNLIMITED, "of all links together"};

/* Links that share the bandwidth of one thing: a card, a port, a host link. */
static weft_status share_links(const visitor *v, const weft_doc *of)
{
    static const char *const keys[] = {"between", "all", "star"};

    for (int i = 0; i < of->n; i++) {
        if (of->item[i]->kind != WEFT_DOC_MAP)
            return weft_doc_fail(of->item[i],
                                 "'of' has %s in it, expected links like {between: [a, b]}, or "
                                 "devices only",
                                 weft_doc_kind_name(of->item[i]->kind));
        WEFT_TRY(weft_doc_known_keys(of->item[i], keys, 3));
        WEFT_TRY(check_form(of->item[i]));
        WEFT_TRY(visit_form(v, of->item[i]));
    }
    return WEFT_OK;
}

/* The fastest memory of a device's designs. */
static weft_status own_bandwidth(const weft_machine *m, int place, const weft_doc *at, double *out)
{
    const weft_device *d = &m->device.at[place / 2];

    if (place % 2 != 0)
        return weft_doc_fail(at, "'%s' is a switch, expected devices that share a memory",
                             weft_machine_name(m, place));
    *out = 0;
    for (int i = 0; i < d->n_designs; i++) {
        if (d->design[i].profile || !has_param(d->design[i].model, "memory_bandwidth"))
            return weft_doc_fail(at,
                                 "'%s' has measured times, which do not say what they take from a "
                                 "shared memory",
                                 d->name);
        *out = fmax(*out, d->design[i].value[WEFT_P_BANDWIDTH]);
    }
    return WEFT_OK;
}

static void slow_memory(weft_machine *m, int place, double factor)
{
    weft_device *d = &m->device.at[place / 2];
    weft_design *design;

    if (factor >= 1)
        return;
    design = weft_arena_copy(m->arena, d->design, (size_t)d->n_designs * sizeof *d->design);
    for (int i = 0; i < d->n_designs; i++)
        design[i].value[WEFT_P_BANDWIDTH] *= factor;
    d->design = design;
}

static weft_status join_pool(weft_machine *m, int place, const weft_doc *at, int pool,
                             double bytes_per_s, double own)
{
    weft_device *d = &m->device.at[place / 2];

    if (d->pool > 0)
        return weft_doc_fail(
            at, "'%s' shares another memory already, expected devices of one memory", d->name);
    d->pool = pool;
    d->pool_bytes_per_s = bytes_per_s;
    d->alone_bytes_per_s = fmin(own, bytes_per_s);
    return WEFT_OK;
}

/* Devices of a system on chip that share a memory, counted as if all were at work: each gets its part,
 * in proportion to what it could take alone. */
static weft_status share_memory(weft_machine *m, const weft_doc *of, const scope *s,
                                double bytes_per_s)
{
    weft_places devices = {0};
    double sum = 0, own = 0;
    int pool = 1;

    for (int d = 0; d < m->device.n; d++)
        pool = m->device.at[d].pool >= pool ? m->device.at[d].pool + 1 : pool;
    WEFT_TRY(read_ends(m, of, s, &devices));
    for (int i = 0; i < devices.n; i++) {
        for (int k = 0; k < i; k++)
            if (devices.at[k] == devices.at[i])
                return weft_doc_fail(of, "'%s' is in this list twice",
                                     weft_machine_name(m, devices.at[i]));
        WEFT_TRY(own_bandwidth(m, devices.at[i], of, &own));
        WEFT_TRY(join_pool(m, devices.at[i], of, pool, bytes_per_s, own));
        sum += own;
    }
    for (int i = 0; i < devices.n; i++)
        slow_memory(m, devices.at[i], bytes_per_s / sum);
    return WEFT_OK;
}

/* Names tell what is shared apart, so each is there once. */
static weft_status check_shared_name(const weft_doc *map, const char **name, const scope *s,
                                     weft_machine *m)
{
    if (**name == '\0')
        return weft_doc_fail(weft_doc_get(map, "name"),
                             "'name' is empty, expected one like 'card'");
    *name = weft_arena_print(m->arena, "%s%s", s->prefix, *name);
    for (int i = 0; i < m->shared_name.n; i++)
        if (strcmp(m->shared_name.at[i], *name) == 0)
            return weft_doc_fail(weft_doc_get(map, "name"),
                                 "'shared' has '%s' twice, expected different names", *name);
    WEFT_PUSH(m->scratch, m->shared_name, *name);
    return WEFT_OK;
}

static weft_status add_shared(weft_machine *m, const weft_doc *map, const scope *s)
{
    static const char *const keys[] = {"name", "bandwidth", "duplex", "of"};
    const weft_doc *of = NULL;
    const char *name = NULL;
    double bytes_per_s = 0;
    bool is_half = false;
    visitor v = {m, s, NULL, -1, -1};

    WEFT_TRY(weft_doc_known_keys(map, keys, 4));
    WEFT_TRY(read_name(map, m->arena, &name));
    WEFT_TRY(check_shared_name(map, &name, s, m));
    WEFT_TRY(read_row(map, &shared_row, &bytes_per_s));
    WEFT_TRY(read_duplex(map, &is_half));
    WEFT_TRY(weft_doc_need(map, "of", WEFT_DOC_LIST, &of));
    if (of->n == 0)
        return weft_doc_fail(of, "'of' is an empty list, expected links like {between: [a, b]}, or "
                                 "devices");
    if (of->item[0]->kind == WEFT_DOC_TEXT)
        return share_memory(m, of, s, bytes_per_s);
    v.there = v.back = weft_machine_resource(m, name, bytes_per_s);
    if (!is_half)
        v.back = weft_machine_resource(m, weft_arena_print(m->arena, "%s back", name), bytes_per_s);
    return share_links(&v, of);
}

static weft_status add_all_shared(weft_machine *m, const weft_doc *map, const scope *s)
{
    const weft_doc *d = NULL;

    WEFT_TRY(read_list(map, "shared", &d));
    for (int i = 0; d && i < d->n; i++)
        WEFT_TRY(add_shared(m, d->item[i], s));
    return WEFT_OK;
}

/* --- groups ---------------------------------------------------------------------------------- */

/* Copy i of a group. */
static scope scope_of(weft_machine *m, const char *name, int count, int i)
{
    scope s = {.kind = weft_arena_print(m->arena, "%s.", name)};

    s.prefix =
        count ? weft_arena_print(m->arena, "%s.", weft_copy_name(m->arena, name, i)) : s.kind;
    s.old_prefix = count ? weft_arena_print(m->arena, "%s%d.", name, i) : s.kind;
    return s;
}

static weft_status add_group(weft_machine *m, const weft_doc *map)
{
    static const char *const keys[] = {"name", "count", "devices", "switches", "links", "shared"};
    part_list parts = {0};
    const char *name = NULL;
    int count = 0, n_before;

    WEFT_TRY(weft_doc_known_keys(map, keys, 6));
    WEFT_TRY(read_name(map, m->arena, &name));
    WEFT_TRY(read_count(map, &count));
    WEFT_TRY(read_devices(map, m, &parts));
    for (int i = 0; i < (count ? count : 1); i++) {
        scope s = scope_of(m, name, count, i);

        s.group = ++m->n_groups;
        n_before = m->device.n + m->switch_name.n;
        WEFT_TRY(add_devices(m, &parts, &s));
        WEFT_TRY(add_switches(m, map, &s));
        if (m->device.n + m->switch_name.n == n_before)
            return weft_doc_fail(map, "the group '%s' has no devices and no switches", name);
        WEFT_TRY(add_links(m, map, &s));
    }
    return WEFT_OK;
}

/* What members of groups share, when all links are there. */
static weft_status share_groups(weft_machine *m, const weft_doc *root)
{
    const weft_doc *d = NULL;

    WEFT_TRY(read_list(root, "groups", &d));
    for (int k = 0; d && k < d->n; k++) {
        const char *name = NULL;
        int count = 0;

        WEFT_TRY(read_name(d->item[k], m->arena, &name));
        WEFT_TRY(read_count(d->item[k], &count));
        for (int i = 0; i < (count ? count : 1); i++) {
            scope s = scope_of(m, name, count, i);

            s.is_open = true;
            WEFT_TRY(add_all_shared(m, d->item[k], &s));
        }
    }
    return WEFT_OK;
}

static weft_status add_groups(weft_machine *m, const weft_doc *root)
{
    const weft_doc *d = NULL;

    WEFT_TRY(read_list(root, "groups", &d));
    for (int i = 0; d && i < d->n; i++)
        WEFT_TRY(add_group(m, d->item[i]));
    return WEFT_OK;
}

/* --- the whole ------------------------------------------------------------------------------- */

static weft_status read_calibrated(weft_machine *m, const weft_doc *root)
{
    static const char *const keys[] = {"device", "rows", "what", "held_out_median", "p90", "rho"};
    weft_calibrated *c = &m->calibrated;
    const weft_doc *d = NULL;

    if (weft_doc_get(root, "calibrated") == NULL)
        return WEFT_OK;
    WEFT_TRY(weft_doc_need(root, "calibrated", WEFT_DOC_MAP, &d));
    WEFT_TRY(weft_doc_known_keys(d, keys, 6));
    WEFT_TRY(weft_doc_text(d, "device", &c->device));
    WEFT_TRY(weft_doc_text(d, "what", &c->what));
    WEFT_TRY(weft_doc_int(d, "rows", 1, 1000000000, &c->rows));
    WEFT_TRY(weft_doc_real(d, "held_out_median", 0, 1e9, &c->held_out_median));
    WEFT_TRY(weft_doc_real(d, "p90", 0, 1e9, &c->held_out_p90));
    WEFT_TRY(weft_doc_real(d, "rho", -1, 1, &c->rho));
    c->device = weft_arena_text(m->arena, c->device, strlen(c->device));
    c->what = weft_arena_text(m->arena, c->what, strlen(c->what));
    return WEFT_OK;
}

static weft_status read_software(weft_machine *m, const weft_doc *root)
{
    const weft_doc *d = weft_doc_get(root, "software");
    const char *words[WEFT_N_SOFTWARES];
    int word = WEFT_SOFTWARE_GRAPH;

    for (int i = 0; i < WEFT_N_SOFTWARES; i++)
        words[i] = weft_software_name((weft_software)i);
    if (d)
        WEFT_TRY(read_word(d, "software", words, WEFT_N_SOFTWARES, &word));
    m->software = (weft_software)word;
    return WEFT_OK;
}

static weft_status read_head(weft_machine *m, const weft_doc *root)
{
    static const char *const keys[] = {
        "schema", "name",     "host",   "transfer", "overlap",    "software",   "devices",
        "links",  "switches", "groups", "shared",   "calibrated", "collectives"};
    static const char *const collectives[] = {"ring", "best"};
    const char *const transfers[] = {
        weft_transfer_name(WEFT_OVERLAP), weft_transfer_name(WEFT_CONTEND),
        weft_transfer_name(WEFT_BLOCK), weft_transfer_name(WEFT_CALLS)};
    const weft_doc *d = NULL;
    const char *text = NULL;
    int word = WEFT_OVERLAP;

    WEFT_TRY(weft_doc_known_keys(root, keys, (int)(sizeof keys / sizeof keys[0])));
    WEFT_TRY(weft_doc_need(root, "schema", WEFT_DOC_TEXT, &d));
    if (strcmp(d->text, "weft.platform/1") != 0)
        return weft_doc_fail(d, "schema is '%.60s', expected 'weft.platform/1'", d->text);
    WEFT_TRY(weft_doc_text(root, "name", &text));
    m->name = weft_arena_text(m->arena, text, strlen(text));
    d = weft_doc_get(root, "transfer");
    if (d)
        WEFT_TRY(read_word(d, "transfer", transfers, 4, &word));
    m->transfer = (weft_transfer)word;
    d = weft_doc_get(root, "collectives");
    word = 0;
    if (d)
        WEFT_TRY(read_word(d, "collectives", collectives, 2, &word));
    m->has_trees = word == 1;
    if (weft_doc_get(root, "overlap")) {
        WEFT_TRY(weft_doc_need(root, "overlap", WEFT_DOC_BOOL, &d));
        m->hides = d->truth;
    }
    WEFT_TRY(read_software(m, root));
    return read_calibrated(m, root);
}

static weft_status read_host(weft_machine *m, const weft_doc *root)
{
    const weft_doc *d = NULL;
    int place = 0;

    if (weft_doc_get(root, "host") == NULL && m->transfer == WEFT_CALLS)
        return weft_doc_fail(weft_doc_get(root, "transfer"),
                             "transfer is 'calls', but no host is named that could call");
    if (weft_doc_get(root, "host") == NULL)
        return WEFT_OK;
    WEFT_TRY(weft_doc_need(root, "host", WEFT_DOC_TEXT, &d));
    if (weft_machine_find(m, d->text, &place) != WEFT_OK)
        return weft_doc_fail(d, "host: %s", weft_message());
    if (place % 2 != 0)
        return weft_doc_fail(d, "host is '%s', which is a switch, expected a device", d->text);
    m->host = place / 2;
    return WEFT_OK;
}

/* Refuses a pair of devices without a route. */
static weft_status check_connected(const weft_platform *p, const weft_doc *root)
{
    const weft_doc *links = weft_doc_get(root, "links");

    for (int a = 0; a < p->n_devices; a++)
        for (int b = a + 1; b < p->n_devices; b++)
            if (weft_platform_route(p, a, b)->n_hops < 0)
                return weft_doc_fail(links ? links : root,
                                     "the devices '%s' and '%s' are not connected, expected links "
                                     "over switches or the host between them",
                                     p->device[a].name, p->device[b].name);
    return WEFT_OK;
}

static weft_status build(weft_machine *m, const weft_doc *root, weft_platform **out)
{
    const scope whole = {"", "", "", 0, false};
    part_list parts = {0};

    WEFT_TRY(read_head(m, root));
    WEFT_TRY(read_devices(root, m, &parts));
    WEFT_TRY(add_devices(m, &parts, &whole));
    WEFT_TRY(add_switches(m, root, &whole));
    WEFT_TRY(add_groups(m, root));
    WEFT_TRY(add_links(m, root, &whole));
    WEFT_TRY(add_all_shared(m, root, &whole));
    WEFT_TRY(share_groups(m, root));
    WEFT_TRY(read_host(m, root));
    return placed(root, weft_machine_finish(m, out));
}

static weft_status read_platform(const weft_doc *root, const char *source, weft_platform **out)
{
    weft_machine m;
    weft_platform *p = NULL;
    weft_status status;

    weft_machine_init(&m);
    m.source = weft_arena_text(m.arena, source, strlen(source));
    status = build(&m, root, &p);
    weft_machine_free(&m);
    if (status == WEFT_OK)
        status = check_connected(p, root);
    if (status == WEFT_OK)
        *out = p;
    else
        weft_platform_free(p);
    return status;
}

weft_status weft_platform_parse(const char *text, size_t n, const char *file, weft_platform **out)
{
    weft_arena *a = weft_arena_new();
    const weft_doc *root = NULL;
    weft_status status = weft_doc_parse(text, n, file, a, &root);

    if (status == WEFT_OK)
        status = read_platform(root, file, out);
    weft_arena_free(a);
    return status;
}

weft_status weft_platform_read(const char *source, weft_arena *a, const weft_doc **out)
{
    const char *bare = weft_platform_bare(source, a);
    weft_file f;
    weft_preset p;
    weft_status status;

    WEFT_TRY(weft_preset_open(bare, false, &f, &p));
    status = weft_doc_parse(p.text, p.size, bare, a, out);
    weft_file_close(&f);
    return status == WEFT_OK ? weft_platform_set_counts(*out, source, a) : status;
}

weft_status weft_platform_open(const char *source, weft_platform **out)
{
    weft_arena *a = weft_arena_new();
    const weft_doc *root = NULL;
    weft_status status = weft_platform_read(source, a, &root);

    if (status == WEFT_OK)
        status = read_platform(root, source, out);
    weft_arena_free(a);
    return status;
}
