/* SPDX-License-Identifier: MIT */
/* Pipelines of stages: what several files of plan and sim need (train_links.c). */
#ifndef WEFT_PLAN_PIPELINE_H
#define WEFT_PLAN_PIPELINE_H

#include "problem.h"

/* Places in the lists of the problem; -1: not there. */
int weft_width_place(const weft_train_problem *p, int width);
int weft_share_place(const weft_train_problem *p, int64_t samples);
/* The table of part `part` of the devices of a stage; -1: its width or samples are not there. */
int weft_part_table(const weft_train_problem *p, const weft_stage *s, int part);

int weft_stage_blocks(const weft_stage *s); /* replicas */
weft_train_plan weft_train_plan_copy(const weft_train_plan *plan, weft_arena *a);

/* The blocks of a stage, first part first, one after the other: start with weft_walk_blocks, each
 * weft_walk_next is the next one. The blocks must exist. */
typedef struct weft_block_walk {
    const weft_cluster *cluster;
    const weft_stage *stage;
    int part, number;           /* of the part; which of its blocks */
    const int *member;          /* its devices, stage->width of them */
    int64_t sample, end_sample; /* its samples of every microbatch */
    int island, island_blocks;  /* where it is; blocks in earlier islands of the class */
} weft_block_walk;

weft_block_walk weft_walk_blocks(const weft_train_problem *p, const weft_stage *s);
bool weft_walk_next(weft_block_walk *b);

/* A parameter that two units read moves from the stage of one to the stage of the other: block k of
 * the stage with the other unit has block k, counted round, of the owner's for a partner, member q
 * has member q (counted round the narrower), and `bytes` go from one to the other. As weft_hop_s:
 * the device whose transfers take longest, and the largest latency. */
double weft_shared_s(const weft_train_problem *p, const weft_stage *owner, const weft_stage *other,
                     bool is_to_owner, double bytes);
/* Adds to *u the bytes that each shared resource of the platform carries: for a sum of gradients,
 * over two levels where there are two; for a hop of one microbatch; for a shared parameter. */
void weft_sync_use(const weft_train_problem *p, const weft_stage *s, double bytes, weft_users *u);
void weft_hop_use(const weft_train_problem *p, const weft_stage *from, const weft_stage *to,
                  double sample_bytes, weft_users *u);
void weft_shared_use(const weft_train_problem *p, const weft_stage *owner, const weft_stage *other,
                     bool is_to_owner, double bytes, weft_users *u);

/* Do hops of one chunk in one direction follow each other? */
static inline bool weft_hops_queue(const weft_train_problem *p)
{
    return p->transfer == WEFT_CONTEND ||
           (p->cluster != NULL && p->cluster->platform->n_resources > 0);
}

/* Bytes of a shared parameter that a member of a block holds: what unit `other` has gradients of
 * but does not sum with its replicas, in equal parts if it shares several. */
double weft_shared_bytes(const weft_train_problem *p, int shared, int table);

/* The weights of a shared parameter, of which weft_shared_bytes gives the gradients. */
static inline double weft_shared_weight_bytes(const weft_train_problem *p, double gradient_bytes)
{
    return p->constraints.recipe == WEFT_RECIPE_18 ? gradient_bytes / 2 : gradient_bytes;
}

/* What one of n replicas holds of something that they divide from a level of ZeRO on. */
static inline double weft_zero_bytes(const weft_train_problem *p, int level, int n, double bytes)
{
    return p->constraints.zero >= level ? bytes / n : bytes;
}

/* What it holds beside that while a unit runs: all its gradients, and all its weights twice, as
 * those of the next unit come meanwhile. */
static inline double weft_zero_work_bytes(const weft_train_problem *p, int n,
                                          const weft_block_state *unit)
{
    double bytes = p->constraints.zero >= WEFT_ZERO_GRADIENTS ? unit->gradient_bytes : 0;

    bytes += p->constraints.zero >= WEFT_ZERO_WEIGHTS ? 2 * unit->weight_bytes : 0;
    return n > 1 ? bytes : 0;
}

/* Gathering, or scattering, as many bytes in n messages of equal size takes half of the time in
 * which weft_sync_s sums them, one after the other. */
static inline double weft_half_sync_s(double message_sync_s, double n)
{
    return n > 0 ? n * message_sync_s / 2 : 0;
}

/* Does a stage sum its gradients beside its last backward pass, one message for each unit? */
static inline bool weft_sync_overlaps(const weft_train_problem *p)
{
    return p->constraints.overlap == 1 && p->constraints.zero < WEFT_ZERO_GRADIENTS;
}

/* What is left of such sums after it: at least the last of the n messages. */
static inline double weft_exposed_sync_s(double message_s, double n, double backward_s)
{
    double rest_s = n * message_s - backward_s;

    if (!(n > 0))
        return 0;
    return rest_s > message_s ? rest_s : message_s;
}

/* The part of a sum of gradients that is left for the end of a step: all; the gathering of new
 * weights; nothing. */
static inline double weft_sync_part(const weft_train_problem *p)
{
    return p->constraints.zero >= WEFT_ZERO_WEIGHTS     ? 0
           : p->constraints.zero >= WEFT_ZERO_GRADIENTS ? 0.5
                                                        : 1;
}

#endif
