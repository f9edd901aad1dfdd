/* SPDX-License-Identifier: MIT */
/* fuzz_notation.c: the one-line notation of task graphs from anywhere.
 *
 * Every accepted text gives a graph that keeps its invariants; written and read again it is the
 * same graph. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "graph_text.h"
#include "invariants.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool condition)
{
    if (!condition)
        abort();
}

static void check_round_trip(const weft_graph *g, weft_arena *a)
{
    const char *text = weft_graph_text(g, a);
    weft_graph *again = NULL;

    expect(weft_graph_parse(text, &again) == WEFT_OK);
    weft_graph_check(again);
    expect(again->n_nodes == g->n_nodes && again->n_edges == g->n_edges);
    expect(strcmp(text, weft_graph_text(again, a)) == 0);
    weft_graph_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    weft_arena *a = weft_arena_new();
    const char *text = weft_arena_text(a, (const char *)data, size);
    weft_graph *g = NULL;

    if (weft_graph_parse(text, &g) == WEFT_OK) {
        weft_graph_check(g);
        check_round_trip(g, a);
        weft_graph_free(g);
    }
    weft_arena_free(a);
    return 0;
}
