/* SPDX-License-Identifier: MIT */
/* baseline_cost.c: costs of drafts by look-up.
 *
 * Steps of equal work share everything. For a first step of its kind and a number of members the
 * list of splits is made once; costs of a split on a design, bytes of an operand or a result once
 * for each split; bytes of a reshard once for each pair of splits of a kind of edge. Kinds of edges
 * are (reader, operand, maker, result), steps by their first of equal work.
 *
 * The way of the first operand between members is shorter by what is computed meanwhile, where
 * communication is hidden: c + max(0, r - f c) in all, for c seconds of computation, r of the way
 * and the share f that needs nothing of it. The value of a draft is the sum of node and edge times
 * where steps run one after the other; side by side, its latency follows from the same times, step
 * by step. Both are what the simulator finds (tests tie them). */
#include "baseline.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* --- memo ------------------------------------------------------------------------------------ */

static int slot_of(const weft_baseline_memo *m, uint64_t key)
{
    uint64_t mixed = key * UINT64_C(0x9E3779B97F4A7C15);
    int at = (int)((mixed ^ mixed >> 29) % (uint64_t)m->room);

    while (m->key[at] != 0 && m->key[at] != key)
        at = at + 1 < m->room ? at + 1 : 0;
    return at;
}

static void grow_memo(weft_baseline_memo *m, weft_arena *a)
{
    weft_baseline_memo old = *m;

    m->room = old.room > 0 ? 2 * old.room : 1024;
    m->key = WEFT_NEW(a, uint64_t, m->room);
    m->value = WEFT_NEW(a, double, m->room);
    for (int i = 0; i < old.room; i++) {
        if (old.key[i] != 0) {
            int at = slot_of(m, old.key[i]);

            m->key[at] = old.key[i];
            m->value[at] = old.value[i];
        }
    }
}

double *weft_baseline_memo_at(weft_baseline_memo *m, uint64_t key, bool *is_new, weft_arena *a)
{
    int at;

    if (m->n * 2 >= m->room)
        grow_memo(m, a);
    at = slot_of(m, key);
    *is_new = m->key[at] == 0;
    m->n += *is_new;
    m->key[at] = key;
    return &m->value[at];
}

/* --- kinds of edges -------------------------------------------------------------------------- */

typedef struct edge_kind {
    int reader, operand, maker, result;
    int next; /* of the same reader; -1: none */
} edge_kind;

typedef WEFT_VEC(edge_kind) edge_kinds;

/* Number of the kind; a new one is added. first: [n_steps] kinds by reader. */
static int find_kind(edge_kinds *kinds, int *first, edge_kind k, weft_arena *a)
{
    for (int i = first[k.reader]; i >= 0; i = kinds->at[i].next) {
        const edge_kind *o = &kinds->at[i];

        if (o->operand == k.operand && o->maker == k.maker && o->result == k.result)
            return i;
    }
    k.next = first[k.reader];
    first[k.reader] = kinds->n;
    WEFT_PUSH(a, *kinds, k);
    return kinds->n - 1;
}

static void classify_edges(weft_baseline *b)
{
    const weft_steps *s = b->problem->steps;
    int *first = WEFT_NEW(b->arena, int, s->n), n = 0;
    edge_kinds kinds = {0};

    b->edge_at = WEFT_NEW(b->arena, int, s->n + 1);
    for (int u = 0; u < s->n; u++) {
        first[u] = -1;
        b->edge_at[u] = n;
        n += s->step[u].n_operands;
    }
    b->edge_at[s->n] = n;
    b->edge_class = WEFT_NEW(b->arena, int, n);
    for (int u = 0; u < s->n; u++) {
        for (int k = 0; k < s->step[u].n_operands; k++) {
            const weft_step_operand *o = &s->step[u].operand[k];
            edge_kind kind = {s->step[u].like, k, o->step < 0 ? -1 : s->step[o->step].like,
                              o->result, -1};

            b->edge_class[b->edge_at[u] + k] =
                o->step < 0 ? -1 : find_kind(&kinds, first, kind, b->arena);
        }
    }
}

/* --- classes of equal accelerators ----------------------------------------------------------- */

static bool are_equal(const weft_device *x, const weft_device *y)
{
    return strcmp(x->kind, y->kind) == 0 && x->memory_bytes == y->memory_bytes &&
           x->n_designs == y->n_designs;
}

static void classify_devices(weft_baseline *b)
{
    const weft_shard_problem *p = b->problem;
    const weft_device *device = p->platform->device;
    int n_designs = 0;

    b->class_of = WEFT_NEW(b->arena, int, p->platform->n_devices);
    b->design_at = WEFT_NEW(b->arena, int, p->n_accelerators + 1);
    for (int d = 0; d < p->platform->n_devices; d++) {
        b->class_of[d] = -1;
        n_designs += device[d].n_designs;
    }
    b->design = WEFT_NEW(b->arena, const weft_design *, n_designs);
    for (int i = 0; i < p->n_accelerators; i++) {
        int d = p->accelerator[i], at = b->design_at[b->n_classes];

        for (int j = 0; j < i && b->class_of[d] < 0; j++) {
            if (are_equal(&device[d], &device[p->accelerator[j]]))
                b->class_of[d] = b->class_of[p->accelerator[j]];
        }
        if (b->class_of[d] >= 0)
            continue;
        b->class_of[d] = b->n_classes++;
        for (int j = 0; j < device[d].n_designs; j++)
            b->design[at++] = &device[d].design[j];
        b->design_at[b->n_classes] = at;
    }
}

weft_baseline *weft_baseline_new(const weft_shard_problem *p, weft_run *run)
{
    weft_baseline *b = WEFT_NEW(run->scratch, weft_baseline, 1);

    *b = (weft_baseline){.problem = p, .run = run, .arena = run->scratch, .best_s = INFINITY};
    classify_devices(b);
    classify_edges(b);
    b->end_s = WEFT_NEW(b->arena, double, p->steps->n);
    b->list = WEFT_NEW(b->arena, weft_baseline_list *, p->steps->n * (WEFT_MAX_MEMBERS + 1));
    return b;
}

/* --- splits and their costs ------------------------------------------------------------------ */

static double *unknown_reals(weft_arena *a, int n)
{
    double *x = WEFT_NEW(a, double, n);

    for (int i = 0; i < n; i++)
        x[i] = NAN;
    return x;
}

static weft_baseline_list *list_of(weft_baseline *b, int step, int n)
{
    const weft_steps *s = b->problem->steps;
    int first = s->step[step].like;
    weft_baseline_list **at = &b->list[first * (WEFT_MAX_MEMBERS + 1) + n];

    if (*at == NULL) {
        weft_baseline_list *l = *at = WEFT_NEW(b->arena, weft_baseline_list, 1);

        l->n = weft_step_splits(s, first, n, !b->problem->constraints.has_no_sharing, b->arena,
                                &l->split);
        assert(l->n < 1 << 18); /* see pair_key */
        l->mode = WEFT_NEW(b->arena, weft_split_cost *, b->design_at[b->n_classes]);
        l->need_bytes = unknown_reals(b->arena, l->n * s->step[first].n_operands);
        l->result_bytes = unknown_reals(b->arena, l->n * s->step[first].n_results);
    }
    return *at;
}

const weft_baseline_list *weft_baseline_splits(weft_baseline *b, int step, int n)
{
    return list_of(b, step, n);
}

const weft_split_cost *weft_baseline_split(weft_baseline *b, int step, const weft_device_set *t,
                                           int choice)
{
    const weft_steps *s = b->problem->steps;
    weft_baseline_list *l = list_of(b, step, t->n);
    int design = b->design_at[b->class_of[t->member[0]]] + t->design;

    if (l->mode[design] == NULL)
        l->mode[design] = WEFT_NEW(b->arena, weft_split_cost, l->n);
    if (l->mode[design][choice].n_phases == 0)
        l->mode[design][choice] =
            weft_split_cost_of(s, s->step[step].like, &l->split[choice], b->design[design]);
    return &l->mode[design][choice];
}

static double need_bytes(weft_baseline *b, int v, int k, int n, int choice)
{
    const weft_steps *s = b->problem->steps;
    weft_baseline_list *l = list_of(b, v, n);
    double *at = &l->need_bytes[k * l->n + choice];

    if (isnan(*at))
        *at = weft_need_bytes(s, s->step[v].like, k, &l->split[choice], NULL);
    return *at;
}

static double result_bytes(weft_baseline *b, int u, int result, int n, int choice)
{
    const weft_steps *s = b->problem->steps;
    weft_baseline_list *l = list_of(b, u, n);
    double *at = &l->result_bytes[result * l->n + choice];

    if (isnan(*at))
        *at = weft_result_bytes(s, s->step[u].like, result, &l->split[choice], NULL);
    return *at;
}

/* A kind of edge and a pair of splits as one number, never 0. Lists are shorter than 2^18, kinds
 * fewer than 2^21. */
static uint64_t pair_key(int kind, int n, int from, int to)
{
    return (uint64_t)kind << 43 | (uint64_t)n << 36 | (uint64_t)from << 18 | (uint64_t)to;
}

static double reshard_bytes(weft_baseline *b, int v, int k, int n, int from, int to)
{
    const weft_steps *s = b->problem->steps;
    uint64_t key = pair_key(b->edge_class[b->edge_at[v] + k], n, from, to);
    bool is_new;
    double *at = weft_baseline_memo_at(&b->reshard, key, &is_new, b->arena);

    if (is_new) {
        const weft_split *maker = &list_of(b, s->step[v].operand[k].step, n)->split[from];

        *at = weft_reshard_bytes(s, v, k, maker, &list_of(b, v, n)->split[to], NULL);
    }
    return *at;
}

static double interior_share(weft_baseline *b, int v, int k, int n, int from, int to)
{
    const weft_steps *s = b->problem->steps;
    uint64_t key = pair_key(b->edge_class[b->edge_at[v] + k], n, from, to);
    bool is_new;
    double *at = weft_baseline_memo_at(&b->interior, key, &is_new, b->arena);

    if (is_new) {
        const weft_split *maker = &list_of(b, s->step[v].operand[k].step, n)->split[from];

        *at = weft_interior_share(s, v, k, maker, &list_of(b, v, n)->split[to]);
    }
    return *at;
}

/* --- seconds --------------------------------------------------------------------------------- */

double weft_baseline_node_s(weft_baseline *b, const weft_draft *d, int u)
{
    int set = d->set_of[u];
    const weft_split_cost *m = weft_baseline_split(b, u, &d->sets->device_set[set], d->choice[u]);

    return weft_split_cost_s(m, &d->sets->inside[set], b->problem->hides);
}

/* Seconds of computation beside which the first operand may move between members. */
static double beside_s(weft_baseline *b, const weft_draft *d, int v)
{
    const weft_device_set *t = &d->sets->device_set[d->set_of[v]];
    const weft_split_cost *m = weft_baseline_split(b, v, t, d->choice[v]);
    int u = b->problem->steps->step[v].operand[0].step;

    if (!b->problem->hides || m->n_phases > 1)
        return 0;
    return interior_share(b, v, 0, t->n, d->choice[u], d->choice[v]) * m->phase_s;
}

static double inside_s(weft_baseline *b, const weft_draft *d, int v, int k)
{
    int u = b->problem->steps->step[v].operand[k].step, set = d->set_of[v];
    double bytes = reshard_bytes(b, v, k, d->sets->device_set[set].n, d->choice[u], d->choice[v]);
    double way_s = weft_reshard_s(&d->sets->inside[set], bytes);

    return k == 0 && way_s > 0 ? fmax(0, way_s - beside_s(b, d, v)) : way_s;
}

double weft_baseline_edge_s(weft_baseline *b, const weft_draft *d, int v, int k)
{
    const weft_steps *s = b->problem->steps;
    const weft_step_operand *o = &s->step[v].operand[k];
    int to = d->set_of[v], from = o->step < 0 ? -1 : d->set_of[o->step];
    double need;

    if (from == to)
        return inside_s(b, d, v, k);
    need = need_bytes(b, v, k, d->sets->device_set[to].n, d->choice[v]);
    if (from < 0)
        return weft_link_cost_s(&d->sets->host[to], need);
    return weft_handover_s(&d->sets->between[from * d->sets->n + to], need,
                           (double)s->graph->tensor[o->tensor].bytes, d->sets->device_set[from].n);
}

double weft_baseline_entry_s(weft_baseline *b, const weft_draft *d, int v)
{
    double sum_s = 0;

    for (int k = 0; k < b->problem->steps->step[v].n_operands; k++)
        sum_s += weft_baseline_edge_s(b, d, v, k);
    return sum_s;
}

double weft_baseline_exit_s(weft_baseline *b, const weft_draft *d, int u)
{
    const weft_steps *s = b->problem->steps;
    const weft_step *step = &s->step[u];
    int set = d->set_of[u];
    double sum_s = 0, longest_s = 0;

    for (int i = 0; i < step->n_results; i++) {
        double way_s;

        if (s->graph->tensor[step->result[i]].kind != WEFT_OUTPUT)
            continue;
        way_s = weft_link_cost_s(&d->sets->host[set],
                                 result_bytes(b, u, i, d->sets->device_set[set].n, d->choice[u]));
        sum_s += way_s;
        longest_s = fmax(longest_s, way_s);
    }
    return b->problem->constraints.is_concurrent ? longest_s : sum_s;
}

double weft_baseline_value(weft_baseline *b, const weft_draft *d)
{
    double sum_s = 0;

    for (int u = 0; u < b->problem->steps->n; u++)
        sum_s += weft_baseline_entry_s(b, d, u) + weft_baseline_node_s(b, d, u) +
                 weft_baseline_exit_s(b, d, u);
    return sum_s;
}

/* Side by side: when the operands of v have arrived. */
static double arrival_s(weft_baseline *b, const weft_draft *d, int v)
{
    const weft_step *step = &b->problem->steps->step[v];
    double latest_s = 0;

    for (int k = 0; k < step->n_operands; k++) {
        int u = step->operand[k].step;

        latest_s = fmax(latest_s, (u < 0 ? 0 : b->end_s[u]) + weft_baseline_edge_s(b, d, v, k));
    }
    return latest_s;
}

double weft_baseline_latency(weft_baseline *b, const weft_draft *d, const int *order)
{
    double latest_s = 0, free_s[2 * WEFT_MAX_MEMBERS] = {0};

    if (!b->problem->constraints.is_concurrent)
        return weft_baseline_value(b, d);
    for (int i = 0; i < b->problem->steps->n; i++) {
        int v = order == NULL ? i : order[i];
        double *until_s = &free_s[d->set_of[v]];

        b->end_s[v] = fmax(*until_s, arrival_s(b, d, v)) + weft_baseline_node_s(b, d, v);
        *until_s = b->end_s[v];
        latest_s = fmax(latest_s, b->end_s[v] + weft_baseline_exit_s(b, d, v));
    }
    return latest_s;
}

int weft_baseline_follow(weft_baseline *b, weft_draft *d, int u)
{
    int n = weft_baseline_splits(b, u, d->sets->device_set[d->set_of[u]].n)->n;
    int before = d->choice[u], best = 0;
    double best_s = INFINITY;

    for (int i = 0; i < n; i++) {
        double s;

        d->choice[u] = i;
        s = weft_baseline_node_s(b, d, u);
        if (s < best_s)
            s += weft_baseline_entry_s(b, d, u) + weft_baseline_exit_s(b, d, u);
        if (s < best_s) {
            best = i;
            best_s = s;
        }
    }
    d->choice[u] = before;
    return best;
}

static int axis_named(const weft_step *s, const char *name)
{
    for (int i = 0; i < s->n_axes; i++) {
        if (strcmp(s->axis[i].name, name) == 0)
            return i;
    }
    return -1;
}

/* Split x of step s, in the numbering of step t's axes; false if t lacks an axis. */
static bool translate(const weft_step *s, const weft_split *x, const weft_step *t, weft_split *out)
{
    *out = (weft_split){.n = x->n, .shared = -1, .is_scattered = x->is_scattered};
    for (int i = 0; i < WEFT_MAX_AXES; i++)
        out->factor[i] = 1;
    for (int i = 0; i < s->n_axes; i++) {
        int at = axis_named(t, s->axis[i].name);

        if (x->factor[i] <= 1 && x->shared != i)
            continue;
        if (at < 0)
            return false;
        out->factor[at] = x->factor[i];
        if (x->shared == i)
            out->shared = (int8_t)at;
    }
    return true;
}

static bool is_same_split(const weft_split *x, const weft_split *y, int n_axes)
{
    for (int i = 0; i < n_axes; i++) {
        if ((x->factor[i] > 1 || y->factor[i] > 1) && x->factor[i] != y->factor[i])
            return false;
    }
    return x->shared == y->shared && x->is_scattered == y->is_scattered;
}

int weft_baseline_alike(weft_baseline *b, int u, int i, int v, int n)
{
    const weft_step *step = b->problem->steps->step;
    const weft_baseline_list *list = weft_baseline_splits(b, v, n);
    weft_split wanted;

    if (step[u].like == step[v].like)
        return i;
    if (!translate(&step[u], &weft_baseline_splits(b, u, n)->split[i], &step[v], &wanted))
        return -1;
    for (int j = 0; j < list->n; j++) {
        if (is_same_split(&wanted, &list->split[j], step[v].n_axes))
            return j;
    }
    return -1;
}
