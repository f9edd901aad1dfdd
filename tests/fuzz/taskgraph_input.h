/* SPDX-License-Identifier: MIT */
/* Task graphs of other projects from anywhere: the reader refuses them with one line or makes a
 * document of weft.tasks/1, which is refused or becomes a problem that keeps its invariants. */
#ifndef WEFT_FUZZ_TASKGRAPH_INPUT_H
#define WEFT_FUZZ_TASKGRAPH_INPUT_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "invariants.h"
#include "taskgraph.h"

static inline void expect_one_line(void)
{
    if (*weft_message() == '\0' || strchr(weft_message(), '\n') != NULL)
        abort();
}

static inline void try_taskgraph(const uint8_t *data, size_t size, const char *format)
{
    static const double speed[] = {1, 2};
    const weft_task_machines machines[] = {
        {0                       },
        {                       .n_processors = 3, .bytes_per_s = INFINITY, .communication_s = 0.5},
        { .n_speeds = 2,            .speed = speed},
    };

    for (int i = 0; i < 3; i++) {
        weft_arena *a = weft_arena_new();
        const weft_doc *doc = NULL;
        weft_problem *p = NULL;

        if (weft_taskgraph_parse((const char *)data, size, "input", format, &machines[i], a,
                                 &doc) != WEFT_OK ||
            weft_problem_parse(doc, false, &(weft_constraints){.goal = WEFT_LATENCY}, &p) !=
                WEFT_OK)
            expect_one_line();
        else
            weft_problem_check(p);
        weft_problem_free(p);
        weft_arena_free(a);
    }
}

#endif
