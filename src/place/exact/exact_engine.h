/* SPDX-License-Identifier: MIT */
/* What the search over ideals works on (exact.c): a subproblem in whole ticks. */
#ifndef WEFT_EXACT_ENGINE_H
#define WEFT_EXACT_ENGINE_H

#include "span.h"
#include "subproblem.h"

enum { WEFT_EXACT_WINDOW = 256 }; /* open tasks whose heads are looked at */

#define WEFT_NEVER (INT64_MAX / 8)

typedef int64_t weft_tick;

/* One appended task. */
typedef struct weft_exact_step {
    int before; /* step, or -1 */
    int task, device;
} weft_exact_step;

/* Between two barriers. */
typedef struct weft_exact_stretch {
    int barrier;        /* the task that ends it, or n_tasks */
    weft_stretch *span; /* the work up to there */
    const weft_tick
        *settle; /* [(front task - barrier) * n_devices + d] least delay behind the barrier */
    int n_settle;
} weft_exact_stretch;

typedef struct weft_exact_engine {
    const weft_subproblem *subproblem;
    const weft_effort *effort;
    weft_arena *arena;
    int n, k, words;
    double scale;                                   /* ticks a second */
    bool is_whole;                                  /* a tick is the grain: nothing is rounded */
    weft_tick upper;                                /* what must be beaten */
    weft_tick cut;                                  /* least bound cut off in this pass */
    weft_tick *time, *release, *tail, *send, *free; /* as in the subproblem */
    uint64_t *key;                                  /* [task] */
    int *stretch_of;                                /* [task] */
    weft_exact_stretch *stretches;
    int n_stretches;
    int *twin;                  /* [device] the first device that is the same in all, or itself */
    bool has_memory, has_names; /* bytes in states; marks in the names of ideals */
    bool has_turns;             /* equal devices are put in order: states end with whose they are */
    double *byte_scale;         /* [device] units of memory a byte, a power of two; 0: any fit */
    weft_tick *room;            /* [device] in these units, rounded up */
    int n_shared;               /* weights that several tasks read */
    weft_rows reader;           /* shared weight -> tasks */
    int *shared_of;             /* [weight] place in shared, or -1 */
    weft_rows member;           /* group -> tasks */
    uint64_t *held;             /* [n_shared] devices of begun weights, while expanding */
    int *home;                  /* [group] device of a begun group, or -1 */
    weft_tick *mark;            /* [n_shared + n_groups] scratch */
    weft_arena *trace_arena;
    WEFT_VEC(weft_exact_step) trace;
    WEFT_VEC(uint8_t) turns; /* has_turns: [n_devices] of each step, see put_in_order */
    int beam;
    int64_t n_states;
    double ideal_bytes; /* of the level that is made */
    bool is_stopped;
    weft_tick *child, *head, *end; /* scratch */
    int *map, *by_edge;
} weft_exact_engine;

static inline size_t weft_exact_cell(const weft_exact_engine *g, int u, int d)
{
    return (size_t)u * (size_t)g->k + (size_t)d;
}

/* May a tick be the grain? Then scale and is_whole are set. `upper_s` is what must be beaten. */
void weft_exact_whole(weft_exact_engine *g, double upper_s);
/* Times in ticks, rounded down; whole ones are exact. */
weft_tick weft_exact_tick(const weft_exact_engine *g, double s);
/* Times, memory, equal devices and stretches between barriers, from subproblem and scale. */
void weft_exact_memory(weft_exact_engine *g);
void weft_exact_ticks(weft_exact_engine *g);
void weft_exact_structure(weft_exact_engine *g);

#endif
