/* SPDX-License-Identifier: MIT */
/* design_pipeline_plan.c: partitions of a network into stages whose times are given, variant by variant.
 *
 * For k stages left and cut I, over the stages I .. J that fit there:
 *
 *   sum[k][I]    = min over J of  l + hop(J) + sum[k-1][J]
 *   bound[k][I]  = min over J of  max(own(f, b, hop(J) + sum[k-1][J]), l + hop(J) + bound[k-1][J])
 *   least(L)     = as sum, over stages with l <= L
 *
 * own is the bound of one stage of train/pipe_bound.c: it grows with f, b and what lies behind, so
 * that the least sum behind is a valid argument and bound[s][0] is at most the step of any
 * partition; the sum of gradients and the update of the first stage come after its last backward,
 * which is the last of all. So bound + these is a lower bound too. Another one is, with the sum of
 * gradients and the update of a stage as its tail, which follow its own last backward,
 *
 *   ends[k][I]   = min over J of  max(own + tail, f + send(J) + ends[k-1][J])
 *
 * A partition is found as the least sum plus m-1 times the largest load: for each L among the loads, least(L) + (m-1) L;
 * the best few of them, and the partition of the bound, are run by events. L ends where the sum
 * over no limit cannot win any more. `close` then looks for a better one depth first, with what is
 * decided as the head of the bound; if it comes to its end, the partition is the best of all.
 *
 * Cost: O(pairs * stages) for each table, O(stages * microbatches) for events. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "design_pipeline.h"
#include "order.h"
#include "space.h"
#include "train_lowered.h"

enum { FEW = 4 }; /* partitions run by events */

weft_partitioner weft_partitioner_new(const weft_stage_space *s, weft_arena *a)
{
    int n = (s->n_stages + 1) * s->n_cuts;

    return (weft_partitioner){s,
                              WEFT_NEW(a, double, n),
                              WEFT_NEW(a, double, n),
                              WEFT_NEW(a, double, n),
                              WEFT_NEW(a, double, n),
                              WEFT_NEW(a, int, n),
                              WEFT_NEW(a, double, s->n_variants + 1),
                              a};
}

weft_partition weft_partition_new(const weft_stage_space *s, weft_arena *a)
{
    return (weft_partition){WEFT_NEW(a, int, s->n_stages)};
}

static void copy_cuts(const weft_stage_space *s, weft_partition *to, const weft_partition *from)
{
    memcpy(to->pair, from->pair, (size_t)s->n_stages * sizeof *to->pair);
}

/* Nothing is left at the last cut. */
static void start(const weft_stage_space *s, double *table)
{
    for (int c = 0; c < s->n_cuts; c++)
        table[c] = c == s->n_cuts - 1 ? 0 : INFINITY;
}

/* Follows `next` from the first cut. */
static void read_cuts(const weft_partitioner *d, weft_partition *out)
{
    const weft_stage_space *s = d->space;

    for (int i = 0, cut = 0; i < s->n_stages; i++) {
        out->pair[i] = d->next[(s->n_stages - i) * s->n_cuts + cut];
        cut = s->pair[out->pair[i]].outer;
    }
}

/* --- bound ----------------------------------------------------------------------------------- */

/* A stage alone; `rest_s` at least passes between forward and backward of a microbatch. */
static double own_s(const weft_stage_space *s, const weft_stage_load *l, int left, double rest_s)
{
    int64_t m = s->n_microbatches, k = left < m ? left : m;

    return weft_larger((double)m * l->load_s, weft_pipe_own_s(WEFT_ONE_F_ONE_B, m, k, l->forward_s,
                                                              l->backward_s, rest_s));
}

double weft_pipeline_tail_s(const weft_cut_pair *p, const weft_stage_load *l)
{
    return p->sync_s + l->update_s;
}

static void bound_cut(weft_partitioner *d, const weft_stage_load *load, int left, int cut)
{
    const weft_stage_space *s = d->space;
    int at = left * s->n_cuts + cut, at_rest = (left - 1) * s->n_cuts;
    const double *bound = d->bound_s + at_rest, *sum = d->sum_s + at_rest;

    d->bound_s[at] = d->sum_s[at] = d->end_s[at] = INFINITY;
    for (int p = s->pair_at[cut]; p < s->pair_at[cut + 1]; p++) {
        const weft_cut_pair *x = &s->pair[p];
        int v = weft_stage_variant_of(s, x, left);
        double rest_s, value, end_s, own;

        if (v < 0 || !(sum[x->outer] < INFINITY))
            continue;
        rest_s = s->hop_s[x->outer] + sum[x->outer];
        if (load[v].load_s + rest_s < d->sum_s[at])
            d->sum_s[at] = load[v].load_s + rest_s;
        value = load[v].load_s + s->hop_s[x->outer] + bound[x->outer];
        end_s = load[v].forward_s + s->send_s[x->outer] + d->end_s[at_rest + x->outer];
        if (value >= d->bound_s[at] && end_s >= d->end_s[at])
            continue;
        own = own_s(s, &load[v], left, rest_s);
        end_s = weft_larger(end_s, own + weft_pipeline_tail_s(x, &load[v]));
        if (end_s < d->end_s[at])
            d->end_s[at] = end_s;
        value = weft_larger(value, own);
        if (left == s->n_stages)
            value += weft_pipeline_tail_s(x, &load[v]);
        if (value < d->bound_s[at]) {
            d->bound_s[at] = value;
            d->next[at] = p;
        }
    }
}

double weft_partition_bound_s(weft_partitioner *d, const weft_stage_load *load,
                              weft_partition *cuts)
{
    const weft_stage_space *s = d->space;
    double value;

    start(s, d->bound_s);
    start(s, d->sum_s);
    start(s, d->end_s);
    for (int left = 1; left <= s->n_stages; left++)
        for (int c = 0; c + 1 < s->n_cuts; c++)
            bound_cut(d, load, left, c);
    value = d->bound_s[s->n_stages * s->n_cuts];
    if (value < INFINITY && cuts != NULL)
        read_cuts(d, cuts);
    return weft_larger(value, d->end_s[s->n_stages * s->n_cuts]);
}

/* --- plans ----------------------------------------------------------------------------------- */

double weft_pipeline_least_sum(weft_partitioner *d, const weft_stage_load *load, double most_s,
                               weft_partition *cuts)
{
    const weft_stage_space *s = d->space;

    start(s, d->least);
    for (int left = 1; left <= s->n_stages; left++)
        for (int c = 0; c + 1 < s->n_cuts; c++) {
            const double *rest = d->least + (left - 1) * s->n_cuts;
            int at = left * s->n_cuts + c;

            d->least[at] = INFINITY;
            for (int p = s->pair_at[c]; p < s->pair_at[c + 1]; p++) {
                const weft_cut_pair *x = &s->pair[p];
                int v = weft_stage_variant_of(s, x, left);
                double value;

                if (v < 0 || load[v].load_s > most_s)
                    continue;
                value = load[v].load_s + s->hop_s[x->outer] + rest[x->outer];
                if (value < d->least[at]) {
                    d->least[at] = value;
                    d->next[at] = p;
                }
            }
        }
    if (d->least[s->n_stages * s->n_cuts] < INFINITY)
        read_cuts(d, cuts);
    return d->least[s->n_stages * s->n_cuts];
}

/* The different loads, ascending. */
static int list_loads(weft_partitioner *d, const weft_stage_load *load)
{
    int n = 0;

    for (int v = 0; v < d->space->n_variants; v++)
        d->limit_s[v] = load[v].load_s;
    qsort(d->limit_s, (size_t)d->space->n_variants, sizeof *d->limit_s, weft_by_real);
    for (int v = 0; v < d->space->n_variants; v++)
        if (n == 0 || d->limit_s[v] > d->limit_s[n - 1] * (1 + 1e-12))
            d->limit_s[n++] = d->limit_s[v];
        else
            d->limit_s[n - 1] = d->limit_s[v]; /* equal to rounding: the larger */
    return n;
}

/* --- floors ---------------------------------------------------------------------------------- */

double weft_pipeline_least_load_s(const weft_design_pipeline *f, const weft_block_time *t)
{
    int r = 0;

    while (!(f->recomputes >> r & 1))
        r++;
    return t->forward_s + t->backward_s + t->again_s[r];
}

double weft_pipeline_floor_s(const weft_stage_space *x, const double *load_s)
{
    double all_s = 0, most_s = 0;

    for (int q = 0; q < x->net->blocks.n_blocks; q++) {
        double l = load_s[x->net->work.kind_of[q]];

        all_s += l;
        most_s = fmax(most_s, l);
    }
    return fmax(weft_pipe_fill_s(all_s, x->n_microbatches, x->n_stages),
                (double)x->n_microbatches * most_s);
}

/* --- a step ---------------------------------------------------------------------------------- */

void weft_pipeline_add_shared(const weft_design_pipeline *f, const weft_design_pipeline_net *net,
                              const int *outer, weft_pipe_stage_times *b)
{
    weft_arena *a = weft_arena_new();
    weft_shared_move *move = WEFT_NEW(a, weft_shared_move, net->blocks.n_shared + 1);

    b->n_shared = weft_pipeline_moves(f, net, outer, move);
    for (int k = 0; k < b->n_shared; k++)
        b->shared[k] = (weft_pipe_shared){move[k].owner_chunk, move[k].other_chunk,
                                          move[k].gradient_s, move[k].value_s};
    weft_arena_free(a);
}

double weft_partition_step_s(const weft_stage_space *s, const weft_partition *cuts,
                             const weft_stage_load *load, weft_arena *scratch)
{
    size_t mark = weft_arena_mark(scratch);
    weft_pipe_stage_times b =
        weft_pipe_stage_times_new(s->n_stages, 1, s->net->blocks.n_shared, scratch);
    int *outer = WEFT_NEW(scratch, int, s->n_stages);
    double step_s;

    b.schedule = WEFT_ONE_F_ONE_B;
    b.n_microbatches = s->n_microbatches;
    for (int i = 0; i < s->n_stages; i++) {
        const weft_cut_pair *p = &s->pair[cuts->pair[i]];

        b.forward_s[i] = load[i].forward_s;
        b.backward_s[i] = load[i].backward_s;
        b.send_s[i] = s->send_s[p->outer];
        b.return_s[i] = s->return_s[p->outer];
        b.sync_s[i] = p->sync_s;
        b.update_s[i] = load[i].update_s;
        outer[i] = p->outer;
    }
    weft_pipeline_add_shared(s->design_pipeline, s->net, outer, &b);
    step_s = weft_pipe_step_s(&b, scratch);
    weft_arena_rewind(scratch, mark);
    return step_s;
}

/* The same where all stages take what their variants take. */
static double variants_step_s(weft_partitioner *d, const weft_stage_load *load,
                              const weft_partition *cuts)
{
    const weft_stage_space *s = d->space;
    size_t mark = weft_arena_mark(d->a);
    weft_stage_load *own = WEFT_NEW(d->a, weft_stage_load, s->n_stages);
    double step_s;

    for (int i = 0; i < s->n_stages; i++)
        own[i] = load[weft_stage_variant_of(s, &s->pair[cuts->pair[i]], s->n_stages - i)];
    step_s = weft_partition_step_s(s, cuts, own, d->a);
    weft_arena_rewind(d->a, mark);
    return step_s;
}

/* --- a good partition ------------------------------------------------------------------------ */

typedef struct hunt {
    weft_partitioner *d;
    const weft_stage_load *load;
    double best_s;
    weft_partition *best;
    int64_t n_plans;
} hunt;

static void try_cuts(hunt *h, const weft_partition *cuts)
{
    double step_s = variants_step_s(h->d, h->load, cuts);

    h->n_plans++;
    if (step_s < h->best_s) {
        h->best_s = step_s;
        copy_cuts(h->d->space, h->best, cuts);
    }
}

/* The best few by the form, by events. */
static void try_forms(hunt *h)
{
    const weft_stage_space *s = h->d->space;
    int n = list_loads(h->d, h->load), n_kept = 0;
    double m = (double)s->n_microbatches, score[FEW];
    double sum_s = h->d->sum_s[s->n_stages * s->n_cuts];
    weft_partition now = weft_partition_new(s, h->d->a), kept[FEW];

    for (int i = 0; i < FEW; i++)
        kept[i] = weft_partition_new(s, h->d->a);
    for (int i = 0; i < n; i++) {
        double limit_s = h->d->limit_s[i], form_s;
        int at;

        if (n_kept == FEW && sum_s + (m - 1) * limit_s >= score[FEW - 1])
            break;
        if (m * limit_s >= h->best_s)
            break;
        form_s = weft_pipeline_least_sum(h->d, h->load, limit_s, &now) + (m - 1) * limit_s;
        if (!(form_s < INFINITY) || (n_kept == FEW && form_s >= score[FEW - 1]))
            continue;
        at = n_kept < FEW ? n_kept++ : FEW - 1;
        for (; at > 0 && score[at - 1] > form_s; at--) {
            score[at] = score[at - 1];
            copy_cuts(s, &kept[at], &kept[at - 1]);
        }
        score[at] = form_s;
        copy_cuts(s, &kept[at], &now);
    }
    for (int i = 0; i < n_kept; i++)
        try_cuts(h, &kept[i]);
}

double weft_partition_find(weft_partitioner *d, const weft_stage_load *load, weft_partition *cuts,
                           double *bound_s, int64_t *n_plans)
{
    size_t mark = weft_arena_mark(d->a);
    weft_partition first = weft_partition_new(d->space, d->a);
    hunt h = {d, load, INFINITY, cuts, 0};

    *bound_s = weft_partition_bound_s(d, load, &first);
    if (*bound_s < INFINITY) {
        try_cuts(&h, &first);
        try_forms(&h);
    }
    *n_plans += h.n_plans;
    weft_arena_rewind(d->a, mark);
    return h.best_s;
}

/* --- depth first ----------------------------------------------------------------------------- */

typedef struct dive {
    hunt h;
    weft_partition now;
    int64_t n_steps, most_steps;
    double tail_s; /* of the first stage */
} dive;

/* Stages up to here are decided: passed_s, and head_s, the bound by those decided. */
static void go(dive *x, int left, int cut, double passed_s, double head_s)
{
    weft_partitioner *d = x->h.d;
    const weft_stage_space *s = d->space;

    if (left == 0) {
        try_cuts(&x->h, &x->now);
        x->n_steps += s->n_stages * s->n_microbatches / 8; /* as much as so many steps */
        return;
    }
    for (int p = s->pair_at[cut]; p < s->pair_at[cut + 1]; p++) {
        const weft_cut_pair *y = &s->pair[p];
        int v = weft_stage_variant_of(s, y, left), rest = (left - 1) * s->n_cuts + y->outer;
        const weft_stage_load *l = &x->h.load[v < 0 ? 0 : v];
        double next_s, own;

        if (v < 0 || !(d->sum_s[rest] < INFINITY) || x->n_steps++ > x->most_steps)
            continue;
        if (left == s->n_stages)
            x->tail_s = weft_pipeline_tail_s(y, l);
        own = passed_s + own_s(s, l, left, s->hop_s[y->outer] + d->sum_s[rest]);
        next_s = passed_s + l->load_s + s->hop_s[y->outer];
        own = weft_larger(own, head_s);
        if (weft_larger(own, next_s + d->bound_s[rest]) + x->tail_s >= x->h.best_s * (1 - 5e-10))
            continue;
        x->now.pair[s->n_stages - left] = p;
        go(x, left - 1, y->outer, next_s, own);
    }
}

bool weft_partition_close(weft_partitioner *d, const weft_stage_load *load, int64_t most_steps,
                          weft_partition *cuts, double *step_s, int64_t *n_plans)
{
    size_t mark = weft_arena_mark(d->a);
    dive x = {
        .h = {d, load, *step_s, cuts, 0},
        .now = weft_partition_new(d->space, d->a),
        .most_steps = most_steps
    };

    go(&x, d->space->n_stages, 0, 0, 0);
    *step_s = x.h.best_s;
    *n_plans += x.h.n_plans;
    weft_arena_rewind(d->a, mark);
    return x.n_steps <= most_steps;
}
