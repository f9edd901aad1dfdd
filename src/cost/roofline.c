/* SPDX-License-Identifier: MIT */
/* roofline.c: a device as peak arithmetic and memory bandwidth.
 *
 *   core_s = operations / (peak * efficiency of the operator's family),  2 operations a MAC
 *   bytes  = operands once + results once (what the loop nest touches)
 *
 * Williams, Waterman, Patterson, CACM 52(4), 2009. */
#include "models.h"

weft_effort weft_effort_roofline(const weft_design *d, const weft_work_key *k)
{
    double flops = (double)k->flops;

    for (int i = 0; i < k->n_layers; i++) {
        const weft_layer *l = &k->layer[i];

        flops += 2.0 * (double)l->batch * (double)l->groups * (double)l->m * (double)l->n *
                 (double)l->r * (double)l->c * (double)l->kh * (double)l->kw;
    }
    return (weft_effort){flops / (d->value[WEFT_P_FLOPS] * d->efficiency[k->family]),
                         weft_compulsory_bytes(k)};
}
