/* SPDX-License-Identifier: MIT */
/* fuzz_doc.c: YAML and JSON from anywhere.
 *
 * Every accepted document is written as JSON and read again: that must succeed and give the same
 * text, unless the document holds what JSON has no word for (a number that is not finite). */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_finite(const weft_doc *d)
{
    bool finite = d->kind != WEFT_DOC_REAL || (d->real - d->real == 0.0);

    for (int i = 0; i < d->n; i++)
        finite = is_finite(d->item[i]) && finite;
    return finite;
}

/* Only lists and maps: JSON readers tell a document from YAML by its first mark. */
static bool is_container(const weft_doc *d)
{
    return d->kind == WEFT_DOC_LIST || d->kind == WEFT_DOC_MAP;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    weft_arena *a = weft_arena_new();
    const weft_doc *doc = NULL, *again = NULL;

    if (weft_doc_parse((const char *)data, size, "input", a, &doc) == WEFT_OK) {
        const char *text = weft_doc_json(doc, 2, a);
        if (is_container(doc) && is_finite(doc)) {
            if (weft_doc_parse(text, strlen(text), "output", a, &again) != WEFT_OK)
                abort();
            if (strcmp(text, weft_doc_json(again, 2, a)) != 0)
                abort();
        }
    }
    weft_arena_free(a);
    return 0;
}
