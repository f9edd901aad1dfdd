/* SPDX-License-Identifier: MIT */
/* From a contracted network and its cuts to units. */
#ifndef WEFT_UNIT_NODES_H
#define WEFT_UNIT_NODES_H

#include "block_net.h"
#include "cuts.h"

/* Units are the nodes of the net; is_complete is left to the caller. In `a`. */
void weft_blocks_fill(const weft_block_net *net, const weft_cut_list *cuts, weft_arena *a,
                      weft_blocks *out);

#endif
