/* SPDX-License-Identifier: MIT */
/* Shared by the upgrades of platforms and of tasks: documents that are edited. */
#ifndef WEFT_EXPLAIN_UPGRADE_H
#define WEFT_EXPLAIN_UPGRADE_H

#include "explain.h"

typedef struct weft_upgrade_list {
    weft_arena *a;
    unsigned kinds; /* asked for: bits 1 << kind */
    const weft_doc *machine;
    WEFT_VEC(weft_upgrade) made;
} weft_upgrade_list;

enum { WEFT_MOST_UPGRADES = 1000 };

/* Are upgrades of this kind asked for, and is there room for them? */
static inline bool weft_upgrade_asked(const weft_upgrade_list *l, weft_upgrade_kind k)
{
    return (l->kinds >> k & 1) && l->made.n <= WEFT_MOST_UPGRADES;
}

/* Adds one; its name is made of the kind and `subject`, and made unique. */
void weft_upgrade_add(weft_upgrade_list *l, const weft_upgrade *u, const char *subject);

/* A copy that may be changed. */
weft_doc *weft_doc_copy(const weft_doc *d, weft_arena *a);
/* The entry of a map, to be changed; NULL if absent. */
weft_doc *weft_doc_entry(weft_doc *map, const char *key);
/* A number, or a quantity with its unit, times a factor: "12GB/s" -> "24GB/s". NULL: it is no
 * number, or not more than 0. */
weft_doc *weft_doc_times(const weft_doc *d, double factor, weft_arena *a);
/* The number or quantity as written, for people. */
const char *weft_doc_words(const weft_doc *d, weft_arena *a);
/* "a" and "b" with ", " between them; either may be empty. */
const char *weft_join(weft_arena *a, const char *before, const char *after);

/* Keys of rates of devices; NULL-terminated. */
extern const char *const weft_rates[];
/* "server.gpu": the name of a device of a group; group < 0: the name. */
const char *weft_entry_name(const weft_doc *root, int group, const char *name, weft_arena *a);
/* "cpu - a6000, titan", "all of gpu". */
const char *weft_link_ends(const weft_doc *entry, weft_arena *a);

void weft_upgrade_platform(weft_upgrade_list *l);
void weft_upgrade_tasks(weft_upgrade_list *l);

#endif
