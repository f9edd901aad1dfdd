/* SPDX-License-Identifier: MIT */
/* Mixes: items of a stream take different ways. */
#ifndef WEFT_MIX_H
#define WEFT_MIX_H

#include "load.h"

/* The mix of least period, from the candidates and every mapping that pricing finds. The
 * proof gets its bound. A plan of several ways belongs to
 * run->scratch. */
weft_status weft_mix_solve(const weft_domain *m, const weft_candidates *found, weft_run *run,
                           weft_plan *plan, weft_proof *proof);

/* The mix of least period of whole networks, each on one device: of all such mixes if memory is no
 * limit. The proof gets the bound of loads, which holds for every mix. */
weft_status weft_replicas_solve(const weft_domain *m, weft_run *run, weft_plan *plan,
                                weft_proof *proof);

#endif
