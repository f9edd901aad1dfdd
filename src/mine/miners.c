/* SPDX-License-Identifier: MIT */
/* miners.c: the table of searches.
 *
 * auto: the fast path finds a good design, then the certified sweep, or boxes where the lattice is
 * too large to list, proves the best. What the first has tried the second knows. */
#include <string.h>

#include "baselines.h"
#include "evaluator.h"

weft_status weft_search_auto(weft_evaluator *s)
{
    bool is_listed = weft_template_points(s->objective.template_) <= WEFT_EVALUATOR_LISTED;

    WEFT_TRY(weft_search_fast(s));
    if (weft_evaluator_is_over(s))
        return WEFT_OK;
    return (is_listed ? weft_search_certified : weft_search_boxes)(s);
}

#define MINER(name)                                                                                \
    static weft_status mine_##name(const weft_objective *q, const weft_eval_cache *eval_cache,     \
                                   int64_t most, weft_run *run, weft_arena *a, weft_found *out)    \
    {                                                                                              \
        return weft_evaluator_run(weft_search_##name, NULL, q, eval_cache, most, run, a, out);     \
    }

MINER(auto)
MINER(fast)
MINER(climb)
MINER(certified)
MINER(exhaustive)
MINER(boxes)
MINER(front)
MINER(random)
MINER(anneal)
MINER(genetic)
MINER(surrogate)

static const weft_miner miners[] = {
    {"auto",       "fast search, then a proof of the best design",                    mine_auto      },
    {"fast",       "bounds of all shapes, then the few best are scheduled; no proof", mine_fast      },
    {"climb",      "counts by conflicts, dimensions by halving; no proof",            mine_climb     },
    {"certified",  "designs by falling upper bound until none can be better",         mine_certified },
    {"exhaustive", "every design within the limits",                                  mine_exhaustive},
    {"boxes",      "branch and bound over boxes, for very large templates",           mine_boxes     },
    {"front",      "all designs that none beats in throughput, power and area",       mine_front     },
    {"random",     "baseline: designs drawn at random",                               mine_random    },
    {"anneal",     "baseline: simulated annealing",                                   mine_anneal    },
    {"genetic",    "baseline: genetic algorithm",                                     mine_genetic   },
    {"surrogate",  "baseline: expected improvement by a learned model",               mine_surrogate },
    {"inference",  "baseline: the best design for inference, used for training",
     weft_mine_inference                                                                             },
};

enum { N_MINERS = sizeof miners / sizeof miners[0] };

int weft_miner_count(void)
{
    return N_MINERS;
}

const weft_miner *weft_miner_at(int i)
{
    return &miners[i];
}

const weft_miner *weft_miner_find(const char *name)
{
    for (int i = 0; i < N_MINERS; i++)
        if (strcmp(miners[i].name, name) == 0)
            return &miners[i];
    return NULL;
}
