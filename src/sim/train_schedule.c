/* SPDX-License-Identifier: MIT */
/* train_schedule.c: in which order a stage runs forward and backward of its chunks.
 *
 * All schedules are the same pattern. With k = weft_in_flight and n forward jobs,
 *     k times forward, then n - k times backward and forward in turn, then k times backward:
 * gpipe has k = n, 1f1b just as many as keep the stages behind busy.
 * Microbatches come in order. With several chunks, the stage goes through its chunks with the first
 * n_stages microbatches, then with the next ones: forward from its first chunk, backward from its
 * last (Narayanan et al., SC 2021, the interleaved schedule of Megatron-LM).
 *
 * Sources: Huang et al., NeurIPS 2019 (gpipe); Narayanan et al., SOSP 2019 (1f1b); Zhuang et al.,
 * MLSys 2023 (eager 1f1b). */
#include "train_lowered.h"

/* The number of the k-th forward job, or backward job, of a stage. */
static int64_t job_at(int64_t k, bool is_backward, int n_stages, int64_t m, int n_chunks)
{
    int64_t chunk = 0, microbatch = k;

    if (n_chunks > 1) {
        int64_t round = (int64_t)n_stages * n_chunks;

        chunk = k % round / n_stages;
        microbatch = k / round * n_stages + k % n_stages;
        if (is_backward)
            chunk = n_chunks - 1 - chunk;
    }
    return 2 * (chunk * m + microbatch) + is_backward;
}

int64_t weft_schedule_order(weft_schedule schedule, int n_stages, int stage, int64_t n_microbatches,
                            int n_chunks, weft_arena *a, const int64_t **order)
{
    int64_t n = n_microbatches * n_chunks, n_forward = 0, n_backward = 0, at = 0;
    int64_t ahead = weft_in_flight(schedule, n_stages, stage, n_microbatches, n_chunks);
    int64_t *list = WEFT_NEW_RAW(a, int64_t, 2 * n);

    while (n_backward < n) {
        bool is_backward = n_forward == n || n_forward - n_backward >= ahead;

        list[at++] = job_at(is_backward ? n_backward++ : n_forward++, is_backward, n_stages,
                            n_microbatches, n_chunks);
    }
    *order = list;
    return 2 * n;
}

const char *weft_train_part_name(weft_train_part p)
{
    static const char *const names[WEFT_N_TRAIN_PARTS] = {
        [WEFT_TRAIN_FORWARD] = "forward", [WEFT_TRAIN_BACKWARD] = "backward",
        [WEFT_TRAIN_SEND] = "send",       [WEFT_TRAIN_RETURN] = "return",
        [WEFT_TRAIN_SYNC] = "sync",       [WEFT_TRAIN_UPDATE] = "update",
        [WEFT_TRAIN_SHARED] = "shared",
    };

    return names[p];
}
