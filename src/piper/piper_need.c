/* SPDX-License-Identifier: MIT */
/* piper_need.c: how many devices, or how much memory, would make a plan possible.
 *
 * 1. Double the figure until there is a plan, up to what the reader accepts.
 * 2. Halve the interval between the last figure without a plan and the first one with.
 *
 * Exact because plans only gain: a plan for fewer devices or less memory is one for more. Memory of
 * stages is whole bytes, so whole figures are enough. A probe in doubt counts as a "no", and so
 * does the end of the time: what is found then does, but less may do too.
 * Time O(log of the figure) probes without a limit on the time of stages (piper_plan.c). */
#include "piper_parts.h"

#include <math.h>

typedef struct trial {
    const weft_piper *p;
    const weft_piper_cuts *cuts;
    const weft_piper_options *options;
    const weft_run *run;
    bool is_memory; /* else devices */
    bool is_sure;   /* every "no" was proved */
} trial;

static bool is_enough(trial *t, double figure)
{
    weft_piper p = *t->p;
    weft_outcome found;

    if (t->is_memory)
        p.memory_bytes = figure;
    else
        p.n_devices = (int)figure;
    found = weft_piper_has_plan(&p, t->cuts, t->options, t->run);
    t->is_sure &= found != WEFT_UNKNOWN;
    return found == WEFT_BOUNDED;
}

/* The least whole figure above `low`, which is not enough, up to `most`; 0: none. */
static double least_figure(trial *t, double low, double most)
{
    double high = fmin(fmax(2 * low, 1), most);

    while (!is_enough(t, high)) {
        if (high >= most || weft_run_is_over(t->run))
            return 0;
        low = high;
        high = fmin(2 * high, most);
    }
    while (high - low > 1) {
        double mid = floor(low + (high - low) / 2);

        if (is_enough(t, mid))
            high = mid;
        else
            low = mid;
    }
    return high;
}

weft_status weft_piper_need(const weft_piper *p, const weft_piper_options *options,
                            const weft_run *run, weft_piper_needs *out)
{
    weft_arena *a = weft_arena_new();
    weft_piper_cuts cuts;
    trial devices = {p, &cuts, options, run, false, true};
    trial memory = {p, &cuts, options, run, true, true};
    weft_status status = weft_piper_cuts_new(p, options->max_cuts, a, &cuts);

    *out = (weft_piper_needs){0};
    if (status == WEFT_OK) {
        out->n_devices = (int)least_figure(&devices, p->n_devices, WEFT_PIPER_MOST_DEVICES);
        out->is_fewest = devices.is_sure;
        out->memory_bytes = least_figure(&memory, floor(p->memory_bytes), WEFT_PIPER_MOST_BYTES);
        out->is_least = memory.is_sure;
    }
    weft_arena_free(a);
    return status;
}
