/* SPDX-License-Identifier: MIT */
/* design_pipeline_time.c: seconds of kinds of blocks on many designs: jobs one after the other, each
 * on all cores (eval_time.c), and collectives, which do not depend on the design. */
#include <math.h>

#include "design_pipeline.h"
#include "workload_eval.h"

weft_block_time weft_block_time_of(const weft_block_kind *kind, const double *key_s)
{
    weft_block_time t = {kind->cost.forward_collective_s, kind->cost.backward_collective_s, 0, {0}};
    double again_s = kind->again_collective_s;

    for (int i = 0; i < kind->n_jobs; i++) {
        const weft_block_job *j = &kind->job[i];
        double s = j->count * key_s[j->key];

        *(j->phase == WEFT_FORWARD    ? &t.forward_s
          : j->phase == WEFT_BACKWARD ? &t.backward_s
                                      : &t.update_s) += s;
        again_s += j->is_again ? s : 0;
    }
    if (t.backward_s > 0) { /* else nothing is differentiated here */
        t.again_s[WEFT_KEEP_SOME] = fmin(again_s, t.forward_s); /* to rounding */
        t.again_s[WEFT_KEEP_NONE] = t.forward_s;
    }
    return t;
}

weft_block_time *weft_block_times(const weft_template *t, const weft_block_work *w, int n_points,
                                  const weft_design_point *point, weft_arena *a)
{
    weft_block_time *time = WEFT_NEW_RAW(a, weft_block_time, (int64_t)n_points * w->n_kinds + 1);
    weft_arena *rows = weft_arena_new();
    double *key_s = WEFT_NEW(rows, double, w->n_keys + 1);
    weft_eval_keys keys = weft_eval_keys_new(t, w->key, w->n_keys, rows);

    for (int i = 0; i < n_points; i++) {
        weft_eval_keys_s(&keys, &point[i], key_s);
        for (int k = 0; k < w->n_kinds; k++)
            time[(int64_t)i * w->n_kinds + k] = weft_block_time_of(&w->kind[k], key_s);
    }
    weft_arena_free(rows);
    return time;
}
