/* SPDX-License-Identifier: MIT */
/* public_list.c: what weft brings along, as `weft list` prints it. */
#include "public.h"
#include "weft/list.h"

struct weft_names {
    const weft_doc *doc;
    weft_arena *arena;
};

weft_status weft_names_open(const char *what, weft_names **out)
{
    weft_arena *a = weft_arena_new();
    weft_names *names = WEFT_NEW(a, weft_names, 1);
    weft_doc *arguments = weft_doc_new(a, WEFT_DOC_MAP);
    weft_status status;

    *out = NULL;
    names->arena = a;
    weft_put_text(a, arguments, "what", what);
    status = weft_ask_document("list", arguments, NULL, a, &names->doc);
    if (status == WEFT_OK)
        *out = names;
    else
        weft_arena_free(a);
    return status;
}

void weft_names_close(weft_names *names)
{
    if (names != NULL)
        weft_arena_free(names->arena);
}

int weft_names_count(const weft_names *names)
{
    return weft_doc_count(names->doc);
}

static const char *entry(const weft_names *names, int i, const char *key)
{
    const weft_doc *d = weft_doc_item(names->doc, i);

    return d ? weft_doc_text_or_empty(d, key) : NULL;
}

const char *weft_names_at(const weft_names *names, int i)
{
    return entry(names, i, "name");
}

const char *weft_names_summary(const weft_names *names, int i)
{
    return entry(names, i, "summary");
}

const char *weft_names_kind(const weft_names *names, int i)
{
    return entry(names, i, "task");
}
