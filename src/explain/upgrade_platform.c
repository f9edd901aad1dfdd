/* SPDX-License-Identifier: MIT */
/* upgrade_platform.c: upgrades of a platform file (weft.platform/1), in the order of the file.
 *
 *  link    `bandwidth` of one entry of `links` doubled: of all links that it stands for, and of
 *          all copies of its group.
 *  speed   of one entry of `devices` every rate doubled that its model has: `peak_flops`,
 *          `memory_bandwidth` and `clock`; of adaptive devices those of every design. Overheads,
 *          efficiencies and measured times (`profile`) stay.
 *  memory  `memory` of one entry doubled; entries without limit have no such upgrade.
 *  device  `count` of one entry raised by one; or, without `count`, a second entry with another
 *          name (gpu-2). The copy has the links of the original: entries that stand for all
 *          copies have it already; where single names are listed, that of the copy (of the last
 *          one, with `count`) is added, and `between` and `star` around the original are repeated.
 *          If there is no route to the copy then, it gets a link to the original, like the first
 *          one that the original has. Of a group with `count` also one more whole group.
 *
 * A platform that cannot be read after that (a single device has no link that could be copied) is
 * no upgrade. */
#include "upgrade.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Where an entry is: in a group, or at the top level (group < 0). */
typedef struct place {
    int group, entry;
} place;

const char *const weft_rates[] = {"peak_flops",  "peak_f64",         "peak_f32", "peak_tf32",
                                  "peak_f16",    "peak_bf16",        "peak_fp8", "peak_int8",
                                  "peak_vector", "memory_bandwidth", "clock",    NULL};

/* --- entries --------------------------------------------------------------------------------- */

static weft_doc *scope_of(weft_doc *root, int group)
{
    return group < 0 ? root : weft_doc_entry(root, "groups")->item[group];
}

static weft_doc *entry_at(weft_doc *root, const char *key, place at)
{
    return weft_doc_entry(scope_of(root, at.group), key)->item[at.entry];
}

/* 0: not given. */
static int count_of(const weft_doc *map)
{
    const weft_doc *d = weft_doc_get(map, "count");

    return d && d->kind == WEFT_DOC_INT ? (int)d->integer : 0;
}

static int copies_of(const weft_doc *map)
{
    return count_of(map) > 0 ? count_of(map) : 1;
}

/* "server.gpu". */
const char *weft_entry_name(const weft_doc *root, int group, const char *name, weft_arena *a)
{
    const weft_doc *groups = weft_doc_get(root, "groups");

    return group < 0 ? name
                     : weft_arena_print(a, "%s.%s",
                                        weft_doc_text_or_none(groups->item[group], "name"), name);
}

static int group_copies(const weft_doc *root, int group)
{
    return group < 0 ? 1 : copies_of(weft_doc_get(root, "groups")->item[group]);
}

/* "server.gpu (32 devices)". */
static const char *device_words(const weft_doc *root, place at, const weft_doc *entry,
                                weft_arena *a)
{
    const char *name = weft_entry_name(root, at.group, weft_doc_text_or_none(entry, "name"), a);
    int n = copies_of(entry) * group_copies(root, at.group);

    return n == 1 ? name : weft_arena_print(a, "%s (%d devices)", name, n);
}

/* --- doubled values -------------------------------------------------------------------------- */

/* Doubles the value of a key; what is said of it, or "" if it is not there or 0. */
static const char *double_key(weft_doc *map, const char *key, weft_arena *a)
{
    weft_doc *before = weft_doc_entry(map, key), *after = weft_doc_times(before, 2, a);

    if (after == NULL)
        return "";
    weft_doc_set(a, map, key, after);
    return weft_arena_print(a, "%s %s -> %s", key, weft_doc_words(before, a),
                            weft_doc_words(after, a));
}

static const char *double_rates(weft_doc *map, weft_arena *a)
{
    const char *edit = "";

    for (int i = 0; weft_rates[i] != NULL; i++)
        edit = weft_join(a, edit, double_key(map, weft_rates[i], a));
    return edit;
}

static void add_speed(weft_upgrade_list *l, place at)
{
    weft_doc *root = weft_doc_copy(l->machine, l->a);
    weft_doc *entry = entry_at(root, "devices", at), *designs = weft_doc_entry(entry, "designs");
    const char *edit = double_rates(entry, l->a), *words = device_words(root, at, entry, l->a);

    for (int i = 0; designs != NULL && i < designs->n; i++) {
        const char *more = double_rates(designs->item[i], l->a);

        if (*more)
            more = weft_arena_print(l->a, "%s: %s", weft_doc_text_or_none(designs->item[i], "name"),
                                    more);
        edit = *edit && *more ? weft_arena_print(l->a, "%s; %s", edit, more) : *more ? more : edit;
    }
    if (*edit)
        weft_upgrade_add(
            l,
            &(weft_upgrade){.kind = WEFT_UPGRADE_SPEED,
                            .what = weft_arena_print(l->a, "twice the speed of %s", words),
                            .edit = edit,
                            .document = root},
            weft_entry_name(root, at.group, weft_doc_text_or_none(entry, "name"), l->a));
}

static void add_memory(weft_upgrade_list *l, place at)
{
    weft_doc *root = weft_doc_copy(l->machine, l->a), *entry = entry_at(root, "devices", at);
    const char *edit = double_key(entry, "memory", l->a);

    if (*edit)
        weft_upgrade_add(
            l,
            &(weft_upgrade){.kind = WEFT_UPGRADE_MEMORY,
                            .what = weft_arena_print(l->a, "twice the memory of %s",
                                                     device_words(root, at, entry, l->a)),
                            .edit = edit,
                            .document = root},
            weft_entry_name(root, at.group, weft_doc_text_or_none(entry, "name"), l->a));
}

/* --- links ----------------------------------------------------------------------------------- */

static const char *names_of(const weft_doc *list, weft_arena *a)
{
    const char *text = "";

    for (int i = 0; list != NULL && list->kind == WEFT_DOC_LIST && i < list->n; i++)
        text = weft_join(a, text, list->item[i]->kind == WEFT_DOC_TEXT ? list->item[i]->text : "");
    return text;
}

/* "cpu - a6000, titan", "all of gpu". */
const char *weft_link_ends(const weft_doc *entry, weft_arena *a)
{
    const weft_doc *star = weft_doc_get(entry, "star"), *two = weft_doc_get(entry, "between");

    if (star != NULL)
        return weft_arena_print(a, "%s - %s", weft_doc_text_or_none(star, "center"),
                                names_of(weft_doc_get(star, "to"), a));
    if (two != NULL && two->n == 2)
        return weft_arena_print(a, "%s - %s", two->item[0]->text, two->item[1]->text);
    return weft_arena_print(a, "all of %s", names_of(weft_doc_get(entry, "all"), a));
}

static void add_link(weft_upgrade_list *l, place at)
{
    weft_doc *root = weft_doc_copy(l->machine, l->a), *entry = entry_at(root, "links", at);
    const char *edit = double_key(entry, "bandwidth", l->a), *ends = weft_link_ends(entry, l->a);
    const char *group =
        at.group < 0 ? ""
                     : weft_doc_text_or_none(weft_doc_get(root, "groups")->item[at.group], "name");
    const char *inside =
        at.group < 0 ? ""
        : group_copies(root, at.group) > 1
            ? weft_arena_print(l->a, " inside %s (%d of them)", group, group_copies(root, at.group))
            : weft_arena_print(l->a, " inside %s", group);

    if (*edit)
        weft_upgrade_add(l,
                         &(weft_upgrade){.kind = WEFT_UPGRADE_LINK,
                                         .what = weft_arena_print(
                                             l->a, "twice the bandwidth of %s%s", ends, inside),
                                         .edit = edit,
                                         .document = root},
                         weft_arena_print(l->a, "%s%s%s", group, *group ? "." : "", ends));
}

/* --- one more -------------------------------------------------------------------------------- */

/* How names of the original become names of the copy. group NULL: a name is `from`; else it is
 * `from` behind the group's name (with a number or without) and a point. is_prefix: the name
 * begins with `from` and a point. */
typedef struct renaming {
    const char *group, *from, *to;
    bool is_prefix;
} renaming;

/* Is the first part of a name the group, or a copy of it? */
static bool is_of_group(const char *name, size_t n, const char *group)
{
    size_t length = strlen(group);

    if (n < length || strncmp(name, group, length) != 0)
        return false;
    if (name[length] == '-')
        length++; /* weft_copy_name */
    for (size_t i = length; i < n; i++)
        if (!isdigit((unsigned char)name[i]))
            return false;
    return true;
}

/* NULL: it is not the name of the original. */
static const char *renamed(const renaming *r, const weft_doc *d, weft_arena *a)
{
    const char *dot;

    if (d == NULL || d->kind != WEFT_DOC_TEXT)
        return NULL;
    if (r->group == NULL && !r->is_prefix)
        return weft_is_copy_name(r->from, d->text) ? r->to : NULL;
    dot = strchr(d->text, '.');
    if (dot == NULL)
        return NULL;
    if (r->is_prefix)
        return weft_is_copy_name(r->from,
                                 weft_arena_print(a, "%.*s", (int)(dot - d->text), d->text))
                   ? weft_arena_print(a, "%s%s", r->to, dot)
                   : NULL;
    return is_of_group(d->text, (size_t)(dot - d->text), r->group) &&
                   weft_is_copy_name(r->from, dot + 1)
               ? weft_arena_print(a, "%.*s.%s", (int)(dot - d->text), d->text, r->to)
               : NULL;
}

/* Renames what can be renamed; true if anything was. */
static bool rename_all(weft_doc *list, const renaming *r, weft_arena *a)
{
    bool has_changed = false;

    for (int i = 0; list != NULL && list->kind == WEFT_DOC_LIST && i < list->n; i++) {
        const char *name = renamed(r, list->item[i], a);

        if (name != NULL)
            list->item[i] = weft_doc_new_text(a, name);
        has_changed |= name != NULL;
    }
    return has_changed;
}

/* Adds the names of copies behind those that are there. */
static void append_copies(weft_doc *list, const renaming *r, weft_arena *a)
{
    int n = list != NULL && list->kind == WEFT_DOC_LIST ? list->n : 0;

    for (int i = 0; i < n; i++) {
        const char *name = renamed(r, list->item[i], a);

        if (name != NULL)
            weft_doc_add(a, list, weft_doc_new_text(a, name));
    }
}

/* Gives the copy the links of one entry; entries that must be repeated go to `more`. */
static void extend_entry(weft_doc *entry, const renaming *r, weft_doc *more, weft_arena *a)
{
    weft_doc *again = weft_doc_copy(entry, a), *star = weft_doc_entry(again, "star");
    const char *center = renamed(r, weft_doc_get(star ? star : again, "center"), a);

    if (weft_doc_get(entry, "between") != NULL) {
        if (rename_all(weft_doc_entry(again, "between"), r, a))
            weft_doc_add(a, more, again);
    } else if (star != NULL && center != NULL) {
        weft_doc_set(a, star, "center", weft_doc_new_text(a, center));
        rename_all(weft_doc_entry(star, "to"), r, a);
        weft_doc_add(a, more, again);
    } else if (star != NULL) {
        append_copies(weft_doc_entry(weft_doc_entry(entry, "star"), "to"), r, a);
    } else {
        append_copies(weft_doc_entry(entry, "all"), r, a);
    }
}

static void extend_links(weft_doc *scope, const renaming *r, weft_arena *a)
{
    weft_doc *list = weft_doc_entry(scope, "links"), *more = weft_doc_new(a, WEFT_DOC_LIST);

    for (int i = 0; list != NULL && i < list->n; i++)
        extend_entry(list->item[i], r, more, a);
    for (int i = 0; i < more->n; i++)
        weft_doc_add(a, list, more->item[i]);
}

static bool is_readable(const weft_doc *root, weft_arena *a)
{
    const char *text = weft_doc_json(root, 1, a);
    weft_platform *p = NULL;
    bool is_read =
        weft_platform_parse(text, strlen(text), root->file ? root->file : "", &p) == WEFT_OK;

    weft_platform_free(p);
    return is_read;
}

/* Is one of the ends of an entry the original? */
static bool has_original(const weft_doc *entry, const renaming *r, weft_arena *a)
{
    const weft_doc *star = weft_doc_get(entry, "star");
    weft_doc *copy = weft_doc_copy(entry, a);

    return renamed(r, star ? weft_doc_get(star, "center") : NULL, a) != NULL ||
           rename_all(weft_doc_entry(weft_doc_entry(copy, "star"), "to"), r, a) ||
           rename_all(weft_doc_entry(copy, "between"), r, a) ||
           rename_all(weft_doc_entry(copy, "all"), r, a);
}

/* A link between original and copy like the first that the original has. False: it has none. */
static bool link_copies(weft_doc *scope, const renaming *r, weft_arena *a)
{
    static const char *const kept[] = {"bandwidth", "latency", "duplex", "curve"};
    weft_doc *list = weft_doc_entry(scope, "links"), *link = weft_doc_new(a, WEFT_DOC_MAP);
    const char *const ends[2] = {r->from, r->to};

    for (int i = 0; list != NULL && i < list->n; i++) {
        if (!has_original(list->item[i], r, a))
            continue;
        weft_doc_put(a, link, "between", weft_texts_doc(ends, 2, a));
        for (size_t k = 0; k < sizeof kept / sizeof *kept; k++)
            if (weft_doc_get(list->item[i], kept[k]))
                weft_doc_put(a, link, kept[k], weft_doc_entry(list->item[i], kept[k]));
        weft_doc_add(a, list, link);
        return true;
    }
    return false;
}

/* A name that no device or switch of the scope has: "gpu-2". */
static const char *new_name(const weft_doc *scope, const char *name, weft_arena *a)
{
    const weft_doc *devices = weft_doc_get(scope, "devices");

    for (int i = 2;; i++) {
        const char *trial = weft_arena_print(a, "%s-%d", name, i);
        bool is_taken = false;

        for (int k = 0; k < devices->n; k++)
            is_taken |= strcmp(weft_doc_text_or_none(devices->item[k], "name"), trial) == 0;
        if (!is_taken)
            return trial;
    }
}

static weft_doc *insert_copy(weft_doc *list, int entry, const char *name, weft_arena *a)
{
    weft_doc *copy = weft_doc_copy(list->item[entry], a);

    weft_doc_set(a, copy, "name", weft_doc_new_text(a, name));
    weft_doc_add(a, list, copy);
    return copy;
}

/* The devices that one entry more makes, as words. */
static const char *more_words(const weft_doc *root, place at, const char *name, weft_arena *a)
{
    int n = group_copies(root, at.group);
    const char *full = weft_entry_name(root, at.group, name, a);

    return n == 1 ? weft_arena_print(a, "one more %s", full)
                  : weft_arena_print(a, "one more %s in each of %d (%d devices)", full, n, n);
}

static void add_device(weft_upgrade_list *l, place at)
{
    weft_arena *a = l->a;
    weft_doc *root = weft_doc_copy(l->machine, a), *scope = scope_of(root, at.group);
    weft_doc *entry = entry_at(root, "devices", at);
    const char *name = weft_doc_text_or_none(entry, "name"), *edit,
               *what = more_words(root, at, name, a);
    int n = count_of(entry);
    renaming inside = {0}, outside;

    if (n > 0) {
        inside.from = weft_copy_name(a, name, n - 1);
        inside.to = weft_copy_name(a, name, n);
        weft_doc_set(a, entry, "count", weft_doc_new_int(a, n + 1));
        edit = weft_arena_print(a, "count %d -> %d", n, n + 1);
    } else {
        inside.from = name;
        inside.to = new_name(scope, name, a);
        insert_copy(weft_doc_entry(scope, "devices"), at.entry, inside.to, a);
        edit = weft_arena_print(a, "a second entry %s with the links of %s", inside.to, name);
    }
    extend_links(scope, &inside, a);
    outside = inside;
    if (at.group >= 0) {
        outside.group = weft_doc_text_or_none(scope, "name");
        extend_links(root, &outside, a);
    }
    if (!is_readable(root, a) && link_copies(scope, &inside, a))
        edit = weft_arena_print(a, "%s, and a link between the two", edit);
    if (is_readable(root, a))
        weft_upgrade_add(l, &(weft_upgrade){WEFT_UPGRADE_DEVICE, NULL, what, edit, root},
                         weft_entry_name(root, at.group, name, a));
}

static void add_group(weft_upgrade_list *l, int group)
{
    weft_arena *a = l->a;
    weft_doc *root = weft_doc_copy(l->machine, a), *scope = scope_of(root, group);
    const char *name = weft_doc_text_or_none(scope, "name");
    const weft_doc *devices = weft_doc_get(scope, "devices");
    int n = count_of(scope), n_devices = 0;
    renaming r = {.from = weft_copy_name(a, name, n - 1),
                  .to = weft_copy_name(a, name, n),
                  .is_prefix = true};

    for (int i = 0; devices != NULL && i < devices->n; i++)
        n_devices += copies_of(devices->item[i]);
    if (n < 1 || n_devices == 0)
        return;
    weft_doc_set(a, scope, "count", weft_doc_new_int(a, n + 1));
    extend_links(root, &r, a);
    if (is_readable(root, a))
        weft_upgrade_add(
            l,
            &(weft_upgrade){.kind = WEFT_UPGRADE_DEVICE,
                            .what = weft_arena_print(a,
                                                     n_devices == 1 ? "one more %s (%d device)"
                                                                    : "one more %s (%d devices)",
                                                     name, n_devices),
                            .edit = weft_arena_print(a, "count %d -> %d", n, n + 1),
                            .document = root},
            name);
}

/* --- all ------------------------------------------------------------------------------------- */

static int length_of(const weft_doc *map, const char *key)
{
    const weft_doc *list = weft_doc_get(map, key);

    return list != NULL && list->kind == WEFT_DOC_LIST ? list->n : 0;
}

/* A kind, the list whose entries have it, and what makes it. */
typedef struct maker {
    weft_upgrade_kind kind;
    const char *key;
    void (*add)(weft_upgrade_list *l, place at);
} maker;

static const maker makers[] = {
    {WEFT_UPGRADE_LINK,   "links",   add_link  },
    {WEFT_UPGRADE_SPEED,  "devices", add_speed },
    {WEFT_UPGRADE_MEMORY, "devices", add_memory},
    {WEFT_UPGRADE_DEVICE, "devices", add_device},
};

/* All entries of a list, those of groups last, as the file is read. */
static void for_all(weft_upgrade_list *l, const maker *m)
{
    const weft_doc *groups = weft_doc_get(l->machine, "groups");

    for (int i = 0; weft_upgrade_asked(l, m->kind) && i < length_of(l->machine, m->key); i++)
        m->add(l, (place){-1, i});
    for (int g = 0; g < length_of(l->machine, "groups"); g++)
        for (int i = 0; weft_upgrade_asked(l, m->kind) && i < length_of(groups->item[g], m->key);
             i++)
            m->add(l, (place){g, i});
}

void weft_upgrade_platform(weft_upgrade_list *l)
{
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++)
        for_all(l, &makers[i]);
    for (int g = 0;
         weft_upgrade_asked(l, WEFT_UPGRADE_DEVICE) && g < length_of(l->machine, "groups"); g++)
        add_group(l, g);
}
