/* SPDX-License-Identifier: MIT */
/* block_work.c: what units do, for searches that ask what they cost on many designs.
 *
 * 1. Units that are alike are one kind; its operators are cut as weft_block_costs cuts them.
 * 2. While choices are priced, the work of each node is written down (weft_block_log). Of the chosen
 *    ones, nodes with the same work, phase and fate in recomputation are counted together.
 *
 * Then seconds on the design that was asked for are, to rounding, those of weft_block_costs: all
 * costs of nodes are those of the log, all others are collectives. */
#include "block_part.h"

typedef struct collector {
    weft_arena *a;
    weft_map *seen; /* keys */
    WEFT_VEC(weft_work_key) key;
} collector;

typedef WEFT_VEC(weft_block_job) job_list;

static int key_of(collector *c, const weft_work_key *k)
{
    int at = weft_map_get(c->seen, (const char *)k, sizeof *k);

    if (at >= 0)
        return at;
    WEFT_PUSH(c->a, c->key, *k);
    (void)weft_map_put(c->seen, weft_arena_copy(c->a, k, sizeof *k), sizeof *k, c->key.n - 1);
    return c->key.n - 1;
}

static void add_job(collector *c, job_list *to, const weft_block_note *note, bool is_again)
{
    weft_block_job j = {note->phase, is_again && note->phase == WEFT_FORWARD, key_of(c, &note->key),
                        1};

    for (int i = 0; i < to->n; i++)
        if (to->at[i].phase == j.phase && to->at[i].is_again == j.is_again &&
            to->at[i].key == j.key) {
            to->at[i].count++;
            return;
        }
    WEFT_PUSH(c->a, *to, j);
}

static void add_choice(collector *c, const weft_block_part *p, const weft_block_choice *x,
                       bool is_again, job_list *to)
{
    for (int i = x->first_note; i < x->end_note; i++)
        add_job(c, to, &p->net->log->note.at[i], is_again);
}

/* Seconds of collectives that WEFT_KEEP_SOME repeats. */
static double again_collective_s(const weft_block_solved *s)
{
    const weft_block_part *p = &s->part;
    double sum = 0;

    for (int i = 0; i < p->n_steps; i++) {
        const weft_block_choice *to = &p->step[i].choice[s->state[i]];

        if (!weft_block_is_kept_step(p->net, p->step[i].step))
            sum += to->forward_collective_s;
        for (int k = 0; k < weft_block_step_at(p, i)->n_operands; k++) {
            int from = weft_block_maker(p, i, k);

            if (from >= 0 && !weft_block_is_kept_step(p->net, p->step[from].step))
                sum += weft_block_edge_s(p, i, k, &p->step[from].choice[s->state[from]], to);
        }
    }
    return sum;
}

static bool make_kind(collector *c, const weft_cost_net *n, int block, weft_block_kind *out)
{
    weft_arena *scratch = weft_arena_new();
    weft_cost_net logged = *n;
    weft_block_log log = {.arena = scratch};
    weft_block_solved s;
    job_list jobs = {0};
    bool is_able;

    logged.log = &log;
    is_able = weft_block_solve(&logged, block, scratch, &s, &out->cost, &out->state);
    for (int i = 0; is_able && i < s.part.n_steps; i++)
        add_choice(c, &s.part, &s.part.step[i].choice[s.state[i]],
                   !weft_block_is_kept_step(n, s.part.step[i].step), &jobs);
    if (is_able) {
        add_choice(c, &s.part, &s.part.fixed, false, &jobs);
        out->again_collective_s = again_collective_s(&s);
    }
    out->n_jobs = jobs.n;
    out->job = jobs.at;
    weft_arena_free(scratch);
    return is_able;
}

bool weft_block_work_of(const weft_block_request *request, weft_arena *a, weft_block_work *out)
{
    weft_arena *scratch = weft_arena_new();
    int n_blocks = request->blocks->n_blocks, *kind_of = WEFT_NEW(a, int, n_blocks);
    collector c = {.a = a, .seen = weft_map_new(a)};
    weft_block_kind *kind = WEFT_NEW(a, weft_block_kind, n_blocks);
    weft_cost_net n;
    bool is_able =
        request->width <= WEFT_MAX_MEMBERS && weft_cost_net_new(request, true, scratch, &n);
    int *like = is_able ? weft_block_likes(&n, scratch) : NULL;

    *out = (weft_block_work){.kind = kind, .kind_of = kind_of};
    for (int q = 0; q < n_blocks && is_able; q++) {
        kind_of[q] = like[q] == q ? out->n_kinds++ : kind_of[like[q]];
        if (like[q] == q)
            is_able = make_kind(&c, &n, q, &kind[kind_of[q]]);
    }
    out->n_keys = c.key.n;
    out->key = c.key.at;
    weft_arena_free(scratch);
    return is_able;
}
