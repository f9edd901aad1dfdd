/* SPDX-License-Identifier: MIT */
/* pipe_member.c: is a legal plan one of the space that pipe_space.c defines?
 *
 * Written from that definition, not from the search: for checks of plans that claim to be optimal,
 * and for tests. Costs little beside one simulation. */
#include <string.h>

#include "pipe_chunks.h"
#include "train_plan.h"

typedef struct member {
    const weft_train_problem *p;
    const weft_train_plan *plan;
    weft_pipe_costs *c;
    int width[WEFT_MAX_PARTS]; /* of each class; 0: not used */
    int all[WEFT_MAX_PARTS];   /* blocks of each class */
    weft_arena *a;
} member;

/* Parts in the order of classes, none of a class beyond the first ones; one width for each class.
 */
static bool has_order(member *m)
{
    for (int i = 0; i < m->plan->n_stages; i++)
        for (int k = 0; k < m->plan->stage[i].n_parts; k++) {
            const weft_stage *s = &m->plan->stage[i];
            int class_id = s->part[k].class_id;

            if (class_id >= m->c->n_classes || (k > 0 && s->part[k - 1].class_id >= class_id) ||
                (m->width[class_id] != 0 && m->width[class_id] != s->width))
                return false;
            m->width[class_id] = s->width;
            m->all[class_id] += s->part[k].n_blocks;
        }
    return true;
}

/* Have all stages the blocks that this layout gives them? Alike: any will do. */
static bool has_layout(const member *m, weft_pipe_layout layout)
{
    int used[WEFT_MAX_PARTS] = {0};

    for (int i = m->plan->n_stages - 1; i >= 0; i--)
        for (int k = 0; k < m->plan->stage[i].n_parts; k++) {
            const weft_device_set_part *x = &m->plan->stage[i].part[k];
            weft_device_set_part y = weft_pipe_part_at(layout, x->class_id, x->n_blocks,
                                                       used[x->class_id], m->all[x->class_id]);

            if (x->first != y.first || (x->n_blocks > 1 && x->step != y.step))
                return false;
            used[x->class_id] += x->n_blocks;
        }
    return true;
}

static bool are_alike(const member *m)
{
    unsigned classes = 0;

    for (int k = 0; k < m->c->n_classes; k++)
        classes |= m->all[k] > 0 ? 1u << k : 0;
    return weft_pipe_is_alike(m->c, classes);
}

/* Every stage has as many blocks with as many samples. */
static bool is_even(const member *m)
{
    const weft_device_set_part *x = &m->plan->stage[0].part[0];
    int d = 0;

    for (int k = 0; k < m->plan->stage[0].n_parts; k++)
        d += m->plan->stage[0].part[k].n_blocks;
    for (int i = 0; i < m->plan->n_stages; i++) {
        int n = 0;

        for (int k = 0; k < m->plan->stage[i].n_parts; k++) {
            n += m->plan->stage[i].part[k].n_blocks;
            if (m->plan->stage[i].part[k].samples != x->samples)
                return false;
        }
        if (n != d)
            return false;
    }
    return true;
}

static bool is_uniform(const member *m)
{
    for (int i = 0; i < m->plan->n_stages; i++)
        if (m->plan->stage[i].n_parts != 1)
            return false;
    if (!is_even(m))
        return false;
    for (int layout = 0; layout < WEFT_PIPE_N_LAYOUTS; layout++)
        if (has_layout(m, (weft_pipe_layout)layout))
            return true;
    return are_alike(m);
}

static bool is_device_set(const member *m)
{
    return weft_pipe_are_device_sets(m->c, m->width) &&
           (has_layout(m, WEFT_PIPE_WIDE) || has_layout(m, WEFT_PIPE_WIDE_FRONT) || are_alike(m));
}

static bool is_row_of(const member *m, const weft_pipe_order *order)
{
    int n = m->plan->n_stages, d = 0;

    for (int k = 0; k < m->plan->stage[0].n_parts; k++)
        d += m->plan->stage[0].part[k].n_blocks;
    for (int i = 0; i < n; i++) {
        const weft_stage *x = &m->plan->stage[i];
        weft_stage y;

        if (!weft_pipe_row_stage(m->p, order, x->width, d, n - 1 - i, &y) ||
            x->n_parts != y.n_parts)
            return false;
        for (int k = 0; k < y.n_parts; k++)
            if (x->part[k].class_id != y.part[k].class_id ||
                x->part[k].n_blocks != y.part[k].n_blocks || x->part[k].first != y.part[k].first ||
                (y.part[k].n_blocks > 1 && x->part[k].step != 1))
                return false;
    }
    return true;
}

static bool is_row(const member *m)
{
    const weft_pipe_order *order;
    int n = weft_pipe_orders_of(m->c->n_classes, m->a, &order);

    for (int i = 1; i < m->plan->n_stages; i++)
        if (m->plan->stage[i].width != m->plan->stage[0].width)
            return false;
    if (!is_even(m))
        return false;
    for (int i = 0; i < n; i++)
        if (is_row_of(m, &order[i]))
            return true;
    return false;
}

/* Cuts and recomputation of an interleaved plan are those of pipe_chunks.c. */
static bool is_woven(const member *m)
{
    int n = m->plan->n_stages, n_chunks = n * m->plan->n_chunks;
    int *class_id = WEFT_NEW(m->a, int, n);
    weft_train_plan like = *m->plan;

    for (int i = 0; i < n; i++)
        class_id[i] = m->plan->stage[i].part[0].class_id;
    like.cut = WEFT_NEW(m->a, int, n_chunks + 1);
    like.stage = weft_arena_copy(m->a, m->plan->stage, sizeof *like.stage * (size_t)n);
    if (!m->p->blocks.is_chain || n < 2 || !weft_pipe_is_sequence(class_id, n, n) ||
        !weft_pipe_cut_chunks(m->c, &like, m->a))
        return false;
    if (!weft_pipe_has_all_cuts(&m->p->blocks, n_chunks) &&
        memcmp(like.cut, m->plan->cut, sizeof *like.cut * (size_t)(n_chunks + 1)) != 0)
        return false;
    like.cut = m->plan->cut;
    if (!weft_pipe_choose_again(m->c, &like, m->a))
        return false;
    for (int i = 0; i < n; i++)
        if (like.stage[i].recompute != m->plan->stage[i].recompute)
            return false;
    return true;
}

const char *weft_train_outside(const weft_train_problem *p, const weft_train_plan *plan,
                               weft_arena *a)
{
    weft_pipe_costs costs;
    member m = {.p = weft_train_variant(p, plan), .plan = plan, .c = &costs, .a = a};

    weft_pipe_costs_new(m.p, a, &costs);
    if (!has_order(&m))
        return "it has several widths in one class of devices, several groups of one class in a "
               "stage, or classes beyond the first eight";
    if (plan->schedule == WEFT_INTERLEAVED) {
        if (!is_uniform(&m) || !is_woven(&m))
            return "interleaved stages have other devices, chunks or recomputation than the space";
        return NULL;
    }
    if (!is_uniform(&m) && !is_device_set(&m) && !is_row(&m))
        return "its stages have other blocks of devices, or other shares, than the space";
    return NULL;
}
