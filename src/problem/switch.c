/* SPDX-License-Identifier: MIT */
/* switch.c: which tasks pay for a switch to their device, by devices alone.
 *
 * A device that goes on with what another device made starts a new segment: a runtime launches it,
 * and hands over what it reads. That is paid once for what comes from one task: by the task of
 * least number on the device that reads from there. Under calls an accelerator is called once:
 * its task of least number pays, whatever it reads, and the host never does.
 *
 * Time O(dependences + devices). */
#include "problem.h"

static void mark_calls(const weft_problem *p, const int *device, bool *pays, weft_arena *scratch)
{
    bool *is_begun = WEFT_NEW(scratch, bool, p->n_devices);

    for (int u = 0; u < p->n_tasks; u++) {
        pays[u] = device[u] != p->host && !is_begun[device[u]];
        is_begun[device[u]] = true;
    }
}

static void mark_readers(const weft_problem *p, const int *device, bool *pays, weft_arena *scratch)
{
    int *met = WEFT_NEW(scratch, int, p->n_devices); /* 1 + the last task read from there */

    for (int u = 0; u < p->n_tasks; u++)
        for (int i = p->succ_at[u]; i < p->succ_at[u + 1]; i++) {
            int v = p->succ[i], d = device[v];

            if (d != device[u] && met[d] != u + 1)
                pays[v] = true;
            met[d] = u + 1;
        }
}

const double *weft_switch_times(const weft_problem *p, const int *device, weft_arena *a)
{
    weft_arena *scratch;
    double *seconds;
    bool *pays;

    if (p->switch_s == NULL)
        return NULL;
    scratch = weft_arena_new();
    seconds = WEFT_NEW(a, double, p->n_tasks);
    pays = WEFT_NEW(scratch, bool, p->n_tasks);
    (p->transfer == WEFT_CALLS ? mark_calls : mark_readers)(p, device, pays, scratch);
    for (int u = 0; u < p->n_tasks; u++)
        seconds[u] = pays[u] ? p->switch_s[device[u]] : 0;
    weft_arena_free(scratch);
    return seconds;
}
