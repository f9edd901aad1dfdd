/* SPDX-License-Identifier: MIT */
/* fuzz_manifest.c: manifests of split networks from anywhere: they are refused, or their segments can
 * run in their order, and the simulator replays them. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool condition)
{
    if (!condition)
        abort();
}

static void look(const weft_split_net *s, weft_arena *a)
{
    double *seconds = WEFT_NEW(a, double, s->n_segments), latency_s, sum_s = 0;

    for (int i = 0; i < s->n_segments; i++) {
        expect(strchr(s->segment[i].file, '/') == NULL);
        expect(s->segment[i].device >= 0 && s->segment[i].device < s->n_devices);
        for (int k = 0; k < s->segment[i].n_reads; k++)
            expect(s->tensor[s->segment[i].reads[k]].producer < i);
        seconds[i] = s->segment[i].seconds;
        sum_s += seconds[i];
    }
    if (s->transfer == WEFT_CALLS || s->n_segments > 64 || s->n_devices > 16)
        return;
    if (weft_split_net_replay(s, seconds, s->send_s, &latency_s, NULL) == WEFT_OK)
        expect(latency_s >= 0 && latency_s * s->n_devices >= sum_s * (1 - 1e-9));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    weft_arena *a = weft_arena_new();
    weft_split_net s;

    if (weft_manifest_parse((const char *)data, size, "fuzz", a, &s) == WEFT_OK)
        look(&s, a);
    weft_arena_free(a);
    return 0;
}
