/* SPDX-License-Identifier: MIT */
/* counts.c: a platform with other counts than its file has, "cluster-a100:server=48".
 *
 * 1. NAME:key=value,.. sets `count:` of groups and devices; keys are their names as reports write
 *    the kinds of devices: server, gpu, server.gpu.
 * 2. Only what has a count can be given another: a name with one stands for all copies, a name
 *    without is that of a single thing, and links may use it as such.
 * 3. What follows the last ':' is settings unless it contains '/' or the whole ends as a file does:
 *    "a:b.yaml" and "a:b/c" are files. */
#include "machine.h"

#include <stdlib.h>
#include <string.h>

/* Things of a file that are named; only those with a count can be set. */
typedef struct named {
    const char *name;
    weft_doc *map;
    bool has_count, is_set;
} named;

typedef WEFT_VEC(named) named_list;

/* --- the source ------------------------------------------------------------------------------ */

static size_t bare_length(const char *source)
{
    const char *mark = strrchr(source, ':');
    weft_arena *a;
    bool is_preset;

    if (mark == NULL || strchr(mark, '/') != NULL || weft_preset_has_ending(source))
        return strlen(source);
    if (strchr(mark, '='))
        return (size_t)(mark - source);
    a = weft_arena_new();
    is_preset = weft_preset_find(weft_arena_text(a, source, (size_t)(mark - source)), false);
    weft_arena_free(a);
    return is_preset ? (size_t)(mark - source) : strlen(source);
}

const char *weft_platform_bare(const char *source, weft_arena *a)
{
    return weft_arena_text(a, source, bare_length(source));
}

/* --- what has a count ------------------------------------------------------------------------ */

static void add_named(named_list *list, weft_doc *map, const char *group, weft_arena *a)
{
    const weft_doc *name = weft_doc_get(map, "name");

    if (name == NULL || name->kind != WEFT_DOC_TEXT)
        return; /* the reader of the file will say so */
    WEFT_PUSH(a, *list,
              ((named){.name = weft_arena_print(a, "%s%s%s", group, *group ? "." : "", name->text),
                       .map = map,
                       .has_count = weft_doc_get(map, "count") != NULL}));
}

static void add_devices(named_list *list, const weft_doc *map, const char *group, weft_arena *a)
{
    const weft_doc *devices = weft_doc_get(map, "devices");

    for (int i = 0; devices && i < devices->n; i++)
        add_named(list, devices->item[i], group, a);
}

static named_list all_named(const weft_doc *root, weft_arena *a)
{
    const weft_doc *groups = weft_doc_get(root, "groups");
    named_list list = {0};

    add_devices(&list, root, "", a);
    for (int i = 0; groups && i < groups->n; i++) {
        int n = list.n;

        add_named(&list, groups->item[i], "", a);
        if (list.n > n)
            add_devices(&list, groups->item[i], list.at[n].name, a);
    }
    return list;
}

/* --- settings -------------------------------------------------------------------------------- */

/* "server, server.gpu". */
static const char *known_keys(const named_list *list, weft_arena *a)
{
    const char *text = "";

    for (int i = 0; i < list->n; i++)
        if (list->at[i].has_count)
            text = weft_arena_print(a, "%s%s%s", text, *text ? ", " : "", list->at[i].name);
    return text;
}

/* The member of a group that is called so, or what is a few letters away. */
static const char *nearest(const named_list *list, const char *key, weft_arena *a)
{
    const char **names = WEFT_NEW(a, const char *, list->n);
    int n = 0;

    for (int i = 0; i < list->n; i++) {
        const char *point = strrchr(list->at[i].name, '.');

        if (!list->at[i].has_count)
            continue;
        if (point && strcmp(point + 1, key) == 0)
            return list->at[i].name;
        names[n++] = list->at[i].name;
    }
    return weft_nearest(key, names, n);
}

static weft_status fail_key(const named_list *list, const char *source, const char *key,
                            weft_arena *a)
{
    const char *known = known_keys(list, a), *near = nearest(list, key, a);

    for (int i = 0; i < list->n; i++)
        if (strcmp(list->at[i].name, key) == 0)
            return weft_fail(WEFT_E_INPUT,
                             "%s: '%s' has no 'count:' that could be set; what has one: %s", source,
                             key, *known ? known : "nothing");
    if (near)
        return weft_fail(WEFT_E_INPUT,
                         "%s: no group or device is called '%.60s' (did you mean '%s'?)", source,
                         key, near);
    return weft_fail(WEFT_E_INPUT,
                     "%s: no group or device is called '%.60s'; what has a 'count:': %s", source,
                     key, *known ? known : "nothing");
}

static weft_status set_one(named_list *list, const char *source, char *setting, weft_arena *a)
{
    char *value = strchr(setting, '='), *end;
    long n;

    if (value == NULL || value == setting || value[1] == '\0')
        return weft_fail(WEFT_E_INPUT, "%s: '%.60s' is no setting, expected NAME=COUNT%s%s", source,
                         setting, list->n ? " with a name of: " : "", known_keys(list, a));
    *value++ = '\0';
    n = strtol(value, &end, 10);
    if (*value < '0' || *value > '9' || *end != '\0' || n < 1 || n > WEFT_MOST_DEVICES)
        return weft_fail(WEFT_E_INPUT, "%s: %.60s is '%.60s', expected a whole number from 1 to %d",
                         source, setting, value, WEFT_MOST_DEVICES);
    for (int i = 0; i < list->n; i++) {
        named *one = &list->at[i];

        if (strcmp(one->name, setting) != 0 || !one->has_count)
            continue;
        if (one->is_set)
            return weft_fail(WEFT_E_INPUT, "%s: '%s' is set twice", source, setting);
        one->is_set = true;
        weft_doc_set(a, one->map, "count", weft_doc_new_int(a, n));
        return WEFT_OK;
    }
    return fail_key(list, source, setting, a);
}

weft_status weft_platform_set_counts(const weft_doc *root, const char *source, weft_arena *a)
{
    size_t n = bare_length(source);
    named_list list;
    char *setting, *next;

    if (source[n] == '\0')
        return WEFT_OK;
    list = all_named(root, a);
    setting = weft_arena_text(a, source + n + 1, strlen(source + n + 1));
    for (; setting; setting = next) {
        next = strchr(setting, ',');
        if (next)
            *next++ = '\0';
        WEFT_TRY(set_one(&list, source, setting, a));
    }
    return WEFT_OK;
}
