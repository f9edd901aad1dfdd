/* SPDX-License-Identifier: MIT */
/* heft.c: heterogeneous earliest finish time.
 *
 * 1. rank[u] = mean time of u + the largest (mean transfer + rank) among its successors; transfers
 *    are averaged over the pairs of different devices.
 * 2. Tasks by decreasing rank, ties by number; each goes to the device where it would finish first,
 *    in the first idle gap long enough to hold it.
 *
 * A heuristic without guarantee. Time O(tensors read * devices), plus the search for gaps.
 * Topcuoglu, Hariri, Wu, IEEE Trans. Parallel and Distributed Systems 13(3), 2002. */
#include "list.h"

static weft_status solve(const weft_problem *p, const void *options, weft_run *run, weft_plan *plan,
                         weft_proof *proof)
{
    weft_list l = weft_list_new(p, run->scratch);
    weft_list_rule rule = {
        .priority = weft_list_upward(&l, weft_list_means(&l, p->seconds), weft_list_mean_send(&l))};

    (void)options;
    weft_list_run(&l, &rule, plan, proof);
    return WEFT_OK;
}

const weft_solver weft_place_heft = {
    .name = "heft",
    .summary = "HEFT: highest upward rank first, each task where it finishes first",
    .solve = solve};
