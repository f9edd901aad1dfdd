/* SPDX-License-Identifier: MIT */
/* Results, as plans see them. */
#ifndef WEFT_PUBLIC_RESULT_H
#define WEFT_PUBLIC_RESULT_H

#include "base.h"
#include "weft/plan.h"

struct weft_public_result {
    const weft_doc *doc; /* weft.result/1 */
    weft_arena *arena;
};

const weft_doc *weft_result_plan_doc(const weft_result *r); /* NULL: there is no plan */
/* Of a plan file of place, with a map for each task; NULL: it is of another kind. */
const weft_doc *weft_plan_decisions(const weft_doc *plan);

#endif
