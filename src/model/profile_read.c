/* SPDX-License-Identifier: MIT */
/* profile_read.c: times that were measured (weft.profile/1):
 *
 *   {"schema": "weft.profile/1", "times": [{"node": "conv1", "device": "gpu0", "seconds": 1.2e-4,
 *    "spread": 3e-6, "samples": 50}]}
 *
 * They replace the times of the device's model for the nodes they name. Files that weft profile wrote
 * say more: of the network they use the hash, of devices the launch, which a switch takes; links are
 * for people. */
#include "profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "doc.h"

struct weft_profile {
    weft_map *index;       /* "node\ndevice" -> time */
    const weft_doc *times; /* the list of the file */
    double *seconds;
    uint64_t model_hash; /* of the network that was measured; 0: not said */
    weft_map *launch;    /* device -> launch_s */
    double *launch_s;
    weft_arena *arena;
};

static const char *key_of(weft_arena *a, const char *node, const char *device)
{
    return weft_arena_print(a, "%s\n%s", node, device);
}

static weft_status read_times(const weft_doc *times, weft_profile *p)
{
    static const char *const keys[] = {"node", "device", "seconds", "spread", "samples", "tried"};

    p->times = times;
    p->seconds = WEFT_NEW(p->arena, double, times->n + 1);
    for (int i = 0; i < times->n; i++) {
        const weft_doc *t = times->item[i];
        const char *node, *device, *key;

        if (t->kind != WEFT_DOC_MAP)
            return weft_doc_fail(t, "this is %s, expected a time: {node, device, seconds}",
                                 weft_doc_kind_name(t->kind));
        WEFT_TRY(weft_doc_known_keys(t, keys, 6));
        WEFT_TRY(weft_doc_text(t, "node", &node));
        WEFT_TRY(weft_doc_text(t, "device", &device));
        WEFT_TRY(weft_doc_real(t, "seconds", 0, 1e9, &p->seconds[i]));
        key = key_of(p->arena, node, device);
        if (!weft_map_put(p->index, key, strlen(key), i))
            return weft_doc_fail(t, "node '%s' has two times on device '%s'", node, device);
    }
    return WEFT_OK;
}

/* What weft profile says of the network that it measured. */
static weft_status read_model(const weft_doc *d, weft_profile *p)
{
    const weft_doc *model = NULL;
    const char *hash = NULL;
    char *end;

    if (weft_doc_get(d, "model") == NULL)
        return WEFT_OK;
    WEFT_TRY(weft_doc_need(d, "model", WEFT_DOC_MAP, &model));
    WEFT_TRY(weft_doc_text(model, "hash", &hash));
    p->model_hash = strtoull(hash, &end, 16);
    if (strlen(hash) != 16 || *end != '\0')
        return weft_doc_fail(model, "hash is '%.40s', expected 16 hexadecimal digits", hash);
    return WEFT_OK;
}

/* How long the engine of each device takes to start; the rest of what it says is for people. */
static weft_status read_launches(const weft_doc *d, weft_profile *p)
{
    const weft_doc *list = weft_doc_get(d, "devices");

    p->launch = weft_map_new(p->arena);
    if (list == NULL)
        return WEFT_OK;
    WEFT_TRY(weft_doc_need(d, "devices", WEFT_DOC_LIST, &list));
    p->launch_s = WEFT_NEW(p->arena, double, list->n + 1);
    for (int i = 0; i < list->n; i++) {
        const weft_doc *device = list->item[i], *launch;
        const char *name;

        if (device->kind != WEFT_DOC_MAP)
            return weft_doc_fail(device, "this is %s, expected a device: {name, ...}",
                                 weft_doc_kind_name(device->kind));
        launch = weft_doc_get(device, "launch_s");
        if (launch == NULL || launch->kind == WEFT_DOC_NULL)
            continue;
        WEFT_TRY(weft_doc_text(device, "name", &name));
        WEFT_TRY(weft_doc_real(device, "launch_s", 0, 1e9, &p->launch_s[i]));
        if (!weft_map_put(p->launch, name, strlen(name), i))
            return weft_doc_fail(device, "device '%s' has two values of launch_s", name);
    }
    return WEFT_OK;
}

double weft_profile_launch_s(const weft_profile *p, const char *device)
{
    int i = weft_map_get(p->launch, device, strlen(device));

    return i < 0 ? 0 : p->launch_s[i];
}

uint64_t weft_profile_model(const weft_profile *p)
{
    return p->model_hash;
}

weft_status weft_profile_read(const char *path, weft_arena *a, weft_profile **out)
{
    static const char *const keys[] = {"schema", "times", "model", "devices", "links", "read_from"};
    weft_profile *p = WEFT_NEW(a, weft_profile, 1);
    const weft_doc *d, *times;
    const char *schema;

    p->arena = a;
    p->index = weft_map_new(a);
    WEFT_TRY(weft_doc_read(path, a, &d));
    if (d->kind != WEFT_DOC_MAP)
        return weft_doc_fail(d, "this is %s, expected a profile", weft_doc_kind_name(d->kind));
    WEFT_TRY(weft_doc_text(d, "schema", &schema));
    if (strcmp(schema, "weft.profile/1") != 0)
        return weft_doc_fail(d, "schema is '%s', expected 'weft.profile/1'", schema);
    WEFT_TRY(weft_doc_known_keys(d, keys, 6));
    WEFT_TRY(weft_doc_need(d, "times", WEFT_DOC_LIST, &times));
    WEFT_TRY(read_times(times, p));
    WEFT_TRY(read_model(d, p));
    WEFT_TRY(read_launches(d, p));
    *out = p;
    return WEFT_OK;
}

double weft_profile_s(const weft_profile *p, const char *node, const char *device)
{
    const char *key = key_of(p->arena, node, device);
    int i = weft_map_get(p->index, key, strlen(key));

    return i < 0 ? NAN : p->seconds[i];
}

/* A name of the file that nothing has. */
static weft_status fail_name(const weft_doc *time, const char *key, const char *const *known, int n)
{
    const weft_doc *at = weft_doc_get(time, key);
    const char *near = weft_nearest(at->text, known, n);

    if (near)
        return weft_doc_fail(at, "no %s is called '%.*s' (did you mean '%s'?)", key,
                             weft_shown_bytes(at->text), at->text, near);
    return weft_doc_fail(at, "no %s is called '%.*s', expected a name like '%s'", key,
                         weft_shown_bytes(at->text), at->text, n > 0 ? known[0] : "");
}

static weft_status check_names(const weft_profile *p, const char *key, const char *const *known,
                               int n)
{
    weft_map *names = weft_map_new(p->arena);

    for (int i = 0; i < n; i++)
        weft_map_set(names, known[i], strlen(known[i]), i);
    for (int i = 0; i < p->times->n; i++) {
        const char *name = weft_doc_get(p->times->item[i], key)->text;

        if (weft_map_get(names, name, strlen(name)) < 0)
            return fail_name(p->times->item[i], key, known, n);
    }
    return WEFT_OK;
}

weft_status weft_profile_check(const weft_profile *p, const weft_graph *g, const weft_platform *on)
{
    const char **node = WEFT_NEW(p->arena, const char *, g->n_nodes + 1);
    const char **device = WEFT_NEW(p->arena, const char *, on->n_devices + 1);

    for (int u = 0; u < g->n_nodes; u++)
        node[u] = g->node[u].name;
    for (int d = 0; d < on->n_devices; d++)
        device[d] = on->device[d].name;
    WEFT_TRY(check_names(p, "device", device, on->n_devices));
    return check_names(p, "node", node, g->n_nodes);
}
