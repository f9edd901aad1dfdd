/* SPDX-License-Identifier: MIT */
/* fuzz_times.c: times of other tools from anywhere: they are refused, or give some nodes of the network
 * times that are numbers, and the profile that is made of them is read again. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "network_times.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static weft_model *model; /* made once */

static void close_model(void)
{
    weft_model_free(model);
}

static void expect(bool condition)
{
    if (!condition)
        abort();
}

static void look(const weft_read_times *r)
{
    const weft_doc *list = weft_doc_get(r->doc, "times");

    expect(r->n_used > 0 && r->n_used <= r->n_rows);
    expect(r->n_timed == list->n && r->n_timed <= r->n_nodes && r->n_timed > 0);
    for (int i = 0; i < list->n; i++) {
        const weft_doc *seconds = weft_doc_get(list->item[i], "seconds");

        expect(seconds != NULL && seconds->real >= 0 && isfinite(seconds->real));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    weft_arena *a = weft_arena_new();
    weft_read_times r;

    if (model == NULL)
        expect(weft_model_open("alexnet", NULL, &model) == WEFT_OK && atexit(close_model) == 0);
    if (weft_times_parse((const char *)data, size, "fuzz", model->graph, "gpu", a, &r) == WEFT_OK)
        look(&r);
    weft_arena_free(a);
    return 0;
}
