/* SPDX-License-Identifier: MIT */
/* upgrade.c: what all upgrades share: lists of them, and documents that are edited.
 *
 * An upgrade is a copy of the document of a machine in which a few values differ. Quantities are
 * changed as a person would: the number is doubled and the unit stays, so that the edited file
 * reads as the first one does. Numbers are written with as few digits as give them back. */
#include "upgrade.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_NAME = 60 };

const char *weft_upgrade_name(weft_upgrade_kind k)
{
    static const char *const name[WEFT_N_UPGRADES] = {
        [WEFT_UPGRADE_LINK] = "link",
        [WEFT_UPGRADE_SPEED] = "speed",
        [WEFT_UPGRADE_MEMORY] = "memory",
        [WEFT_UPGRADE_DEVICE] = "device",
    };

    return name[k];
}

/* --- documents ------------------------------------------------------------------------------- */

weft_doc *weft_doc_copy(const weft_doc *d, weft_arena *a)
{
    weft_doc *copy = weft_arena_copy(a, d, sizeof *d);

    if (d->kind != WEFT_DOC_LIST && d->kind != WEFT_DOC_MAP)
        return copy;
    copy->n = 0;
    copy->item = NULL;
    copy->key = NULL;
    for (int i = 0; i < d->n; i++)
        if (d->kind == WEFT_DOC_LIST)
            weft_doc_add(a, copy, weft_doc_copy(d->item[i], a));
        else
            weft_doc_put(a, copy, d->key[i], weft_doc_copy(d->item[i], a));
    return copy;
}

weft_doc *weft_doc_entry(weft_doc *map, const char *key)
{
    for (int i = 0; map != NULL && map->kind == WEFT_DOC_MAP && i < map->n; i++)
        if (strcmp(map->key[i], key) == 0)
            return map->item[i];
    return NULL;
}

/* The fewest digits that are read as the same number. */
static const char *number_text(double x, weft_arena *a)
{
    const char *text = "";

    for (int digits = 6; digits <= 17; digits++) {
        text = weft_arena_print(a, "%.*g", digits, x);
        if (strtod(text, NULL) == x)
            break;
    }
    return text;
}

weft_doc *weft_doc_times(const weft_doc *d, double factor, weft_arena *a)
{
    char *unit;
    double x;

    if (d == NULL ||
        (d->kind != WEFT_DOC_INT && d->kind != WEFT_DOC_REAL && d->kind != WEFT_DOC_TEXT))
        return NULL;
    if (d->kind == WEFT_DOC_TEXT) {
        x = strtod(d->text, &unit);
        if (unit == d->text || !(x > 0 && x < INFINITY))
            return NULL;
        return weft_doc_new_text(a, weft_arena_print(a, "%s%s", number_text(x * factor, a), unit));
    }
    if (!(d->real > 0))
        return NULL;
    x = d->real * factor;
    if (d->kind == WEFT_DOC_INT && x == floor(x) && x < 1e15)
        return weft_doc_new_int(a, (int64_t)x);
    return weft_doc_new_real(a, x);
}

const char *weft_doc_words(const weft_doc *d, weft_arena *a)
{
    return d->kind == WEFT_DOC_TEXT ? d->text : number_text(d->real, a);
}

const char *weft_join(weft_arena *a, const char *before, const char *after)
{
    return weft_arena_print(a, "%s%s%s", before, *before && *after ? ", " : "", after);
}

/* --- lists ----------------------------------------------------------------------------------- */

static bool is_taken(const weft_upgrade_list *l, const char *name)
{
    for (int i = 0; i < l->made.n; i++)
        if (strcmp(l->made.at[i].name, name) == 0)
            return true;
    return false;
}

/* Letters, digits, '_', '-' and '.' stay, everything else becomes one '-'. */
static const char *file_name(const char *kind, const char *subject, weft_arena *a)
{
    char *text = weft_arena_print(a, "%s-%s", kind, subject);
    int n = 0;

    for (const char *from = text; *from && n < LONGEST_NAME; from++) {
        bool is_plain = isalnum((unsigned char)*from) || *from == '_' || *from == '.';

        if (is_plain || (n > 0 && text[n - 1] != '-'))
            text[n++] = is_plain ? *from : '-';
    }
    while (n > 0 && text[n - 1] == '-')
        n--;
    text[n] = '\0';
    return text;
}

void weft_upgrade_add(weft_upgrade_list *l, const weft_upgrade *u, const char *subject)
{
    weft_upgrade with = *u;
    const char *name = file_name(weft_upgrade_name(u->kind), subject, l->a);

    with.name = name;
    for (int i = 2; is_taken(l, with.name); i++)
        with.name = weft_arena_print(l->a, "%s-%d", name, i);
    WEFT_PUSH(l->a, l->made, with);
}

weft_status weft_upgrades_of(const weft_doc *machine, unsigned kinds, weft_arena *a,
                             const weft_upgrade **out, int *n)
{
    weft_upgrade_list l = {.a = a, .kinds = kinds, .machine = machine};
    const weft_doc *schema = weft_doc_get(machine, "schema");
    const char *name = schema && schema->kind == WEFT_DOC_TEXT ? schema->text : "";

    if (strcmp(name, "weft.platform/1") == 0)
        weft_upgrade_platform(&l);
    else if (strcmp(name, "weft.tasks/1") == 0)
        weft_upgrade_tasks(&l);
    else
        return weft_doc_fail(machine,
                             "upgrades are known for platforms (weft.platform/1) and tasks "
                             "(weft.tasks/1) only");
    if (l.made.n > WEFT_MOST_UPGRADES)
        return weft_doc_fail(machine, "there are more than %d upgrades: ask for fewer kinds",
                             WEFT_MOST_UPGRADES);
    *out = l.made.at;
    *n = l.made.n;
    return WEFT_OK;
}
