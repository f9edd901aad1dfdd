/* SPDX-License-Identifier: MIT */
/* The answers of all searches as text, by process 0 of however many mpirun has started: the test
 * compares the bytes. The first argument is a file for a study, which must not exist. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "toy_eval.h"

static int print_answer(const char *name, const weft_objective *q, const weft_eval_cache *l,
                        weft_arena *a)
{
    weft_run run = toy_run(2, 1, a);
    weft_found f;
    char point[96];

    if (weft_miner_find(name)->mine(q, l, 60, &run, a, &f) != WEFT_OK) {
        fprintf(stderr, "%s: %s\n", name, weft_message());
        return 1;
    }
    if (q->ranks->me > 0)
        return 0;
    printf("%s %s %a %a %a %" PRId64 " %d\n", name, weft_point_print(q->template_, &f.point, point),
           f.value, f.bound, f.schedule_bound, f.n_evaluated, f.n_front);
    for (int i = 0; i < f.n_front; i++)
        printf(" %a %a %a\n", f.front[i].throughput, f.front[i].tdp_w, f.front[i].area_mm2);
    return 0;
}

int main(int argc, char **argv)
{
    static const char *const name[] = {"auto",  "fast",   "certified", "exhaustive", "boxes",
                                       "front", "random", "anneal",    "genetic",    "surrogate"};
    weft_arena *a = weft_arena_new();
    toy_objective q = toy_objective_new(11, 6, 2, 0.3, a);
    weft_study *s = NULL;
    weft_eval_cache l;
    weft_ranks ranks;
    int failed = argc != 2;

    if (failed || weft_ranks_open(&ranks) != WEFT_OK)
        return 1;
    q.objective.ranks = &ranks;
    if (ranks.me == 0)
        failed = weft_study_open(argv[1], &s) != WEFT_OK ||
                 weft_study_eval_cache(s, &q.objective, &l) != WEFT_OK;
    for (int i = 0; i < 10 && !failed; i++)
        failed = print_answer(name[i], &q.objective, s ? &l : NULL, a);
    weft_ranks_close(&ranks);
    weft_study_close(s);
    weft_template_free(q.template_);
    weft_arena_free(a);
    return failed;
}
