/* SPDX-License-Identifier: MIT */
/* fuzz_platform.c: machines from anywhere, as files and in the one-line notation.
 *
 * 1. Each reader refuses the bytes or makes a platform whose parts fit together: links between
 *    places that exist, routes that are paths of such links.
 * 2. Whatever the parameters, a device model answers with a time that is not negative, or with
 *    INFINITY, and never with NaN.
 * 3. The same bytes give the same hash. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "cost.h"
#include "platform_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool condition)
{
    if (!condition)
        abort();
}

/* --- parts ----------------------------------------------------------------------------------- */

static int end_of(const weft_platform *p, int hop, bool is_first)
{
    const weft_link *l = &p->link[hop / 2];

    return (hop % 2 == 0) == is_first ? l->a : l->b;
}

static void check_route(const weft_platform *p, int from, int to)
{
    const weft_route *r = weft_platform_route(p, from, to);
    int at = from, *hop = malloc((size_t)(r->n_hops + 2) * sizeof *hop);

    weft_platform_hops(p, from, to, hop);
    expect(r->latency_s >= 0 && r->bytes_per_s > 0);
    expect((from == to) == (r->n_hops == 0));
    for (int i = 0; i < r->n_hops; i++) {
        expect(hop[i] >= 0 && hop[i] < 2 * p->n_links);
        expect(end_of(p, hop[i], true) == at);
        at = end_of(p, hop[i], false);
    }
    free(hop);
    expect(r->n_hops < 0 || at == to);
    expect(weft_transfer_s(p, from, to, 1e6) >= 0);
}

static void check_links(const weft_platform *p)
{
    int n_places = p->n_devices + p->n_switches;

    for (int k = 0; k < p->n_links; k++) {
        const weft_link *l = &p->link[k];

        expect(l->a >= 0 && l->a < l->b && l->b < n_places);
        expect(l->bytes_per_s > 0 && l->latency_s >= 0);
    }
}

/* --- what devices say ------------------------------------------------------------------------ */

static void check_cost(const weft_design *d, const weft_work_key *k)
{
    weft_cost cost = weft_design_cost(d, k);

    expect(cost.seconds >= 0 && cost.joules >= 0 && cost.memory_bytes >= 0);
}

/* A convolution, a matrix product and a sum: what no model may stumble over. */
static void check_design(const weft_design *d)
{
    const weft_layer conv = {2, 3, 17, 5, 13, 11, 3, 3, 2},
                     gemm = {1, 1, 1000, 4096, 7, 1, 1, 1, 1};
    const weft_work_key add = {.family = WEFT_FUSE_ELEMENT,
                               .element_bytes = 4,
                               .flops = 1000,
                               .points = 1000,
                               .read_bytes = 8000,
                               .write_bytes = 4000};
    const weft_layer *layers[] = {&conv, &gemm};

    for (int i = 0; i < 2; i++) {
        weft_work_key k = {.family = WEFT_FUSE_TENSOR,
                           .n_layers = 1,
                           .layer = {*layers[i]},
                           .element_bytes = 2,
                           .read_bytes = 1 << 20,
                           .write_bytes = 1 << 16};

        check_cost(d, &k);
        expect(weft_design_cycles(d, layers[i]) >= 0);
    }
    check_cost(d, &add);
    expect(weft_design_area(d) >= 0);
}

static void check_platform(const weft_platform *p)
{
    enum { MOST_PAIRS = 64 }; /* of each device: all pairs of a large machine would take minutes */

    expect(p->n_devices > 0 && p->host >= -1 && p->host < p->n_devices);
    check_links(p);
    for (int d = 0; d < p->n_devices; d++) {
        expect(p->device[d].n_designs > 0 && p->device[d].memory_bytes >= 0);
        for (int to = 0; to < p->n_devices && to < MOST_PAIRS; to++)
            check_route(p, d, to);
    }
    /* Devices of a group share their designs: a few of them stand for all. */
    for (int d = 0; d < p->n_devices && d < MOST_PAIRS; d++)
        for (int i = 0; i < p->device[d].n_designs; i++)
            check_design(&p->device[d].design[i]);
}

static void try_file(const char *text, size_t size)
{
    weft_platform *p = NULL, *again = NULL;

    if (weft_platform_parse(text, size, "input", &p) != WEFT_OK)
        return;
    check_platform(p);
    expect(weft_platform_parse(text, size, "another name", &again) == WEFT_OK);
    expect(again->hash == p->hash);
    weft_platform_free(again);
    weft_platform_free(p);
}

static void try_notation(const char *text, size_t size)
{
    weft_arena *a = weft_arena_new();
    weft_platform *p = NULL;

    if (weft_platform_notation(weft_arena_text(a, text, size), &p) == WEFT_OK) {
        check_platform(p);
        weft_platform_free(p);
    }
    weft_arena_free(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_file((const char *)data, size);
    try_notation((const char *)data, size);
    return 0;
}
