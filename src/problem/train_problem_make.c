/* SPDX-License-Identifier: MIT */
/* train_problem_make.c: a network to be trained, from numbers: all of them copied and checked, sums over
 * cuts, the hash.
 *
 * Sums over cuts. Of every cut the largest known part of it is looked for once: the last earlier
 * cut within it that lacks one unit only, else the one that lacks fewest. In each table the sum of
 * a cut is that of its part and the units that it lacks. In a chain, and wherever no cut was left
 * out, that is one unit: a table takes O(cuts). Otherwise O(cuts * units) at worst. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "hash.h"
#include "problem.h"

enum { N_COST = sizeof(weft_block_cost) / sizeof(double) };
enum { N_STATE = sizeof(weft_block_state) / sizeof(double) };

/* The structs are plain rows of numbers. */
_Static_assert(sizeof(weft_block_cost) == N_COST * sizeof(double), "costs are doubles");
_Static_assert(sizeof(weft_block_state) == N_STATE * sizeof(double), "states are doubles");

/* --- lists ----------------------------------------------------------------------------------- */

static weft_status check_platform(const weft_platform *p)
{
    if (p->transfer == WEFT_OVERLAP || p->transfer == WEFT_CONTEND)
        return WEFT_OK;
    return weft_fail(WEFT_E_INPUT,
                     "platform '%s' has transfer '%s': plans of training know '%s' and '%s'",
                     p->name, weft_transfer_name(p->transfer), weft_transfer_name(WEFT_OVERLAP),
                     weft_transfer_name(WEFT_CONTEND));
}

static weft_status check_lists(const weft_train_problem_spec *s)
{
    if (s->n_widths < 1 || s->width[0] != 1)
        return weft_fail(WEFT_E_INPUT, "widths must start with 1");
    for (int w = 1; w < s->n_widths; w++)
        if (s->width[w] <= s->width[w - 1])
            return weft_fail(WEFT_E_INPUT, "widths must ascend: %d comes after %d", s->width[w],
                             s->width[w - 1]);
    if (s->n_shares < 1 || s->share[0] != 1)
        return weft_fail(WEFT_E_INPUT, "shares must start with 1 sample");
    for (int k = 1; k < s->n_shares; k++)
        if (s->share[k] <= s->share[k - 1])
            return weft_fail(WEFT_E_INPUT, "shares must ascend: %lld samples come after %lld",
                             (long long)s->share[k], (long long)s->share[k - 1]);
    return WEFT_OK;
}

/* --- units and cuts -------------------------------------------------------------------------- */

static int count_units(const weft_blocks *u, int c)
{
    int n = 0;

    for (int w = 0; w < u->n_words; w++)
        for (uint64_t bits = weft_cut_bits(u, c)[w]; bits != 0; bits &= bits - 1)
            n++;
    return n;
}

/* Every unit of the inner cut is in the outer one; by bits, also in chains. */
static bool is_within(const weft_blocks *u, int inner, int outer)
{
    for (int w = 0; w < u->n_words; w++)
        if (weft_cut_bits(u, inner)[w] & ~weft_cut_bits(u, outer)[w])
            return false;
    return true;
}

static bool has_strangers(const weft_blocks *u, int c)
{
    for (int i = u->n_blocks; i < 64 * u->n_words; i++)
        if (weft_bit_get(weft_cut_bits(u, c), i))
            return true;
    return false;
}

/* size: [n_cuts] units in each. */
static weft_status check_cuts(const weft_blocks *u, const int *size)
{
    if (size[0] != 0 || size[u->n_cuts - 1] != u->n_blocks)
        return weft_fail(WEFT_E_INPUT, "the first cut must have no unit, the last one all %d",
                         u->n_blocks);
    if (u->is_chain && u->n_cuts != u->n_blocks + 1)
        return weft_fail(WEFT_E_INPUT, "%d units, as a chain, have %d cuts, expected %d",
                         u->n_blocks, u->n_cuts, u->n_blocks + 1);
    for (int c = 0; c < u->n_cuts; c++) {
        if (has_strangers(u, c))
            return weft_fail(WEFT_E_INPUT, "cut %d has a unit that does not exist", c);
        for (int d = 0; d < c; d++)
            if (size[c] <= size[d] && is_within(u, c, d))
                return weft_fail(WEFT_E_INPUT, "cut %d comes after cut %d, which contains it", c,
                                 d);
        if (u->is_chain && (size[c] != c || (c > 0 && !weft_bit_get(weft_cut_bits(u, c), c - 1))))
            return weft_fail(WEFT_E_INPUT, "cut %d of a chain must be the first %d units", c, c);
    }
    return WEFT_OK;
}

static weft_status check_bytes(const weft_blocks *u)
{
    for (int c = 0; c < u->n_cuts; c++)
        if (!(u->leave_bytes[c] >= 0 && u->leave_bytes[c] < INFINITY && u->back_bytes[c] >= 0 &&
              u->back_bytes[c] < INFINITY))
            return weft_fail(WEFT_E_INPUT, "cut %d is crossed by %g bytes and %g bytes back", c,
                             u->leave_bytes[c], u->back_bytes[c]);
    for (int i = 0; i < u->n_shared; i++) {
        const weft_shared *s = &u->shared[i];

        if (s->owner < 0 || s->owner >= u->n_blocks || s->other < 0 || s->other >= u->n_blocks ||
            s->owner == s->other)
            return weft_fail(WEFT_E_INPUT,
                             "units %d and %d share a parameter, expected two of 0 to %d", s->owner,
                             s->other, u->n_blocks - 1);
    }
    return WEFT_OK;
}

static weft_status check_units(const weft_blocks *u, weft_arena *scratch)
{
    int *size;

    if (u->n_blocks < 1 || u->n_cuts < 2 || u->n_words != weft_bits_words(u->n_blocks))
        return weft_fail(WEFT_E_INPUT, "%d units with %d cuts of %d words are no network",
                         u->n_blocks, u->n_cuts, u->n_words);
    size = WEFT_NEW(scratch, int, u->n_cuts);
    for (int c = 0; c < u->n_cuts; c++)
        size[c] = count_units(u, c);
    WEFT_TRY(check_cuts(u, size));
    return check_bytes(u);
}

/* --- tables ---------------------------------------------------------------------------------- */

/* All n numbers are finite and not negative. */
static bool are_amounts(const void *row, int n)
{
    const double *value = row;

    for (int i = 0; i < n; i++)
        if (!(value[i] >= 0 && value[i] < INFINITY))
            return false;
    return true;
}

static weft_status check_cost(const weft_train_problem_spec *s, int table)
{
    int class_id = table / s->n_shares / s->n_widths;
    int width = s->width[table / s->n_shares % s->n_widths];
    long long samples = s->share[table % s->n_shares];

    if (s->cost[table] == NULL)
        return WEFT_OK;
    if (s->state[table] == NULL)
        return weft_fail(WEFT_E_INPUT,
                         "class %d at width %d with %lld samples has times but no memory", class_id,
                         width, samples);
    for (int u = 0; u < s->blocks.n_blocks; u++)
        if (!are_amounts(&s->cost[table][u], N_COST) || !are_amounts(&s->state[table][u], N_STATE))
            return weft_fail(
                WEFT_E_INPUT,
                "unit '%s', class %d, width %d, %lld samples: a cost is negative or no "
                "number",
                s->blocks.name[u], class_id, width, samples);
    return WEFT_OK;
}

static weft_status check_tables(const weft_train_problem_spec *s, int n_classes)
{
    bool is_possible = false;

    for (int t = 0; t < n_classes * s->n_widths * s->n_shares; t++) {
        WEFT_TRY(check_cost(s, t));
        is_possible |= s->cost[t] != NULL;
    }
    if (!is_possible)
        return weft_fail(WEFT_E_INPUT, "no device of platform '%s' can run the network",
                         s->platform->name);
    return WEFT_OK;
}

/* --- copies ---------------------------------------------------------------------------------- */

static weft_blocks copy_units(const weft_blocks *u, weft_arena *a)
{
    weft_blocks out = *u;
    const char **name = WEFT_NEW(a, const char *, u->n_blocks);
    size_t n_words = (size_t)u->n_cuts * (size_t)u->n_words, n_cuts = (size_t)u->n_cuts;

    for (int i = 0; i < u->n_blocks; i++)
        name[i] = weft_arena_text(a, u->name[i], strlen(u->name[i]));
    out.name = name;
    out.of_node = NULL; /* the training graph is not ours: its maker may add it */
    out.cut = weft_arena_copy(a, u->cut, n_words * sizeof *u->cut);
    out.leave_bytes = weft_arena_copy(a, u->leave_bytes, n_cuts * sizeof(double));
    out.back_bytes = weft_arena_copy(a, u->back_bytes, n_cuts * sizeof(double));
    out.shared = NULL;
    if (u->n_shared > 0)
        out.shared = weft_arena_copy(a, u->shared, (size_t)u->n_shared * sizeof *u->shared);
    return out;
}

/* --- sums ------------------------------------------------------------------------------------ */

/* Of every cut: a cut within it, and the units that this one lacks. */
typedef struct growth {
    int *part;           /* [n_cuts] */
    int *lack_at, *lack; /* [n_cuts + 1], units */
    const weft_blocks *blocks;
} growth;

static int find_part(const weft_blocks *u, const int *size, int c)
{
    int best = 0;

    for (int d = c - 1; d > 0 && size[best] < size[c] - 1; d--)
        if (size[d] > size[best] && size[d] < size[c] && is_within(u, d, c))
            best = d;
    return best;
}

static growth find_growth(const weft_blocks *u, weft_arena *a)
{
    growth g = {WEFT_NEW(a, int, u->n_cuts), WEFT_NEW(a, int, u->n_cuts + 1), NULL, u};
    int *size = WEFT_NEW(a, int, u->n_cuts), n = 0;

    for (int c = 0; c < u->n_cuts; c++) {
        size[c] = count_units(u, c);
        g.part[c] = c == 0 ? 0 : find_part(u, size, c);
        g.lack_at[c + 1] = g.lack_at[c] + size[c] - size[g.part[c]];
    }
    g.lack = WEFT_NEW(a, int, g.lack_at[u->n_cuts] + 1);
    for (int c = 0; c < u->n_cuts; c++)
        for (int i = 0; g.lack_at[c + 1] > n && i < u->n_blocks; i++)
            if (weft_bit_get(weft_cut_bits(u, c), i) &&
                !weft_bit_get(weft_cut_bits(u, g.part[c]), i))
                g.lack[n++] = i;
    return g;
}

/* [n_cuts] rows of n_numbers from [n_units] rows. */
static void *sum_rows(const growth *g, const void *rows, int n_numbers, weft_arena *a)
{
    size_t n = (size_t)n_numbers;
    double *sum = WEFT_NEW(a, double, (size_t)g->blocks->n_cuts *n);
    const double *row = rows;

    for (int c = 1; c < g->blocks->n_cuts; c++) {
        double *to = sum + (size_t)c * n;

        memcpy(to, sum + (size_t)g->part[c] * n, n * sizeof *to);
        for (int k = g->lack_at[c]; k < g->lack_at[c + 1]; k++)
            for (size_t i = 0; i < n; i++)
                to[i] += row[(size_t)g->lack[k] * n + i];
    }
    return sum;
}

static void fill_costs(const weft_train_problem_spec *s, const growth *g, int n_tables,
                       weft_train_problem *p)
{
    const weft_block_cost **cost = WEFT_NEW(p->arena, const weft_block_cost *, n_tables);
    const weft_block_cost **cost_sum = WEFT_NEW(p->arena, const weft_block_cost *, n_tables);
    size_t bytes = (size_t)s->blocks.n_blocks * sizeof(weft_block_cost);

    for (int t = 0; t < n_tables; t++) {
        weft_block_cost *sum;

        if (s->cost[t] == NULL)
            continue;
        cost[t] = weft_arena_copy(p->arena, s->cost[t], bytes);
        cost_sum[t] = sum = sum_rows(g, cost[t], N_COST, p->arena);
        for (int c = 0; c < s->blocks.n_cuts; c++)
            memset(sum[c].work_bytes, 0, sizeof sum[c].work_bytes); /* a maximum has no sum */
    }
    p->cost = cost;
    p->cost_sum = cost_sum;
}

/* Shares that are cut alike have the same table: one before, of the same class and width, serves. */
static void fill_states(const weft_train_problem_spec *s, const growth *g, int n_tables,
                        weft_train_problem *p)
{
    const weft_block_state **state = WEFT_NEW(p->arena, const weft_block_state *, n_tables);
    const weft_block_state **state_sum = WEFT_NEW(p->arena, const weft_block_state *, n_tables);
    size_t bytes = (size_t)s->blocks.n_blocks * sizeof(weft_block_state);

    for (int t = 0; t < n_tables; t++) {
        int before = t % s->n_shares > 0 ? t - 1 : t;

        if (s->cost[t] == NULL)
            continue;
        if (state[before] != NULL && memcmp(state[before], s->state[t], bytes) == 0) {
            state[t] = state[before];
            state_sum[t] = state_sum[before];
            continue;
        }
        state[t] = weft_arena_copy(p->arena, s->state[t], bytes);
        state_sum[t] = sum_rows(g, state[t], N_STATE, p->arena);
    }
    p->state = state;
    p->state_sum = state_sum;
}

/* --- hash ------------------------------------------------------------------------------------ */

static uint64_t hash_reals(uint64_t h, const void *rows, size_t n)
{
    const double *value = rows;

    for (size_t i = 0; i < n; i++)
        h = weft_hash_real(h, value[i]);
    return h;
}

/* Only what is asked for: without, the hash is that of older plans. */
static uint64_t hash_exact(uint64_t h, const weft_train_constraints *x)
{
    const weft_counts chunks = weft_counts_of(x->chunks), recipe = weft_counts_of(x->recipe);
    const weft_counts *list[] = {&x->tp, &x->pp, &x->dp, &x->mbs, &chunks, &recipe};

    for (int i = 0; i < 6; i++)
        for (int k = 0; k < list[i]->n; k++)
            h = weft_hash_int(weft_hash_int(h, -1 - i), list[i]->at[k]);
    if ((x->zeros & (x->zeros - 1)) != 0)
        h = weft_hash_int(weft_hash_int(h, -7), x->zeros);
    if (x->overlap != 0)
        h = weft_hash_int(h, -9);
    if (x->sps > 1)
        h = weft_hash_int(weft_hash_int(h, -8), x->sps);
    return x->memory_margin > 0 ? weft_hash_real(h, x->memory_margin) : h;
}

static uint64_t hash_constraints(uint64_t h, const weft_train_constraints *constraints)
{
    h = weft_hash_int(h, constraints->batch);
    h = weft_hash_int(h, constraints->microbatch);
    h = weft_hash_int(h, constraints->schedules);
    h = weft_hash_int(h, constraints->recomputes);
    h = weft_hash_int(h, constraints->most_width);
    h = weft_hash_int(h, constraints->most_replicas);
    h = weft_hash_int(h, constraints->most_stages);
    h = weft_hash_int(h, constraints->most_chunks);
    h = weft_hash_int(h, constraints->zero);
    return hash_exact(h, constraints);
}

static uint64_t hash_units(uint64_t h, const weft_blocks *u)
{
    h = weft_hash_int(h, u->n_blocks);
    h = weft_hash_int(h, u->n_cuts);
    h = weft_hash_int(h, u->is_chain);
    h = weft_hash_int(h, u->is_complete);
    for (int i = 0; i < u->n_blocks; i++)
        h = weft_hash_text(h, u->name[i]);
    for (size_t i = 0; i < (size_t)u->n_cuts * (size_t)u->n_words; i++)
        h = weft_hash_bits(h, u->cut[i]);
    h = hash_reals(h, u->leave_bytes, (size_t)u->n_cuts);
    h = hash_reals(h, u->back_bytes, (size_t)u->n_cuts);
    h = weft_hash_int(h, u->n_shared);
    for (int i = 0; i < u->n_shared; i++) {
        h = weft_hash_int(h, u->shared[i].owner);
        h = weft_hash_int(h, u->shared[i].other);
        h = weft_hash_int(h, u->shared[i].tensor);
    }
    return h;
}

static uint64_t hash_of(const weft_train_problem *p)
{
    uint64_t h = weft_hash_start();
    int n_tables = p->cluster->n_classes * p->n_widths * p->n_shares;
    size_t n = (size_t)p->blocks.n_blocks;

    h = weft_hash_text(h, p->name);
    h = weft_hash_bits(h, p->cluster->platform->hash);
    h = weft_hash_int(h, p->transfer);
    h = hash_constraints(h, &p->constraints);
    h = hash_units(h, &p->blocks);
    h = weft_hash_int(h, p->n_widths);
    for (int w = 0; w < p->n_widths; w++)
        h = weft_hash_int(h, p->width[w]);
    h = weft_hash_int(h, p->n_shares);
    for (int k = 0; k < p->n_shares; k++)
        h = weft_hash_int(h, p->share[k]);
    for (int t = 0; t < n_tables; t++) {
        h = weft_hash_int(h, p->cost[t] != NULL);
        h = hash_reals(h, p->cost[t], p->cost[t] == NULL ? 0 : n * N_COST);
        h = hash_reals(h, p->state[t], p->cost[t] == NULL ? 0 : n * N_STATE);
    }
    return weft_hash_end(h);
}

/* --- variants -------------------------------------------------------------------------------- */

enum { MOST_VARIANTS = 2 * (WEFT_MOST_ZERO + 1) };

/* One for each level of ZeRO. */
static void add_levels(const weft_train_problem *like, const weft_train_problem **list, int *n)
{
    for (int level = 0; level <= WEFT_MOST_ZERO; level++)
        if (like->constraints.zeros >> level & 1) {
            weft_train_problem *q = weft_arena_copy(like->arena, like, sizeof *like);

            q->constraints.zero = level;
            q->constraints.zeros = 1u << level;
            q->constraints.sps = 1u << q->is_sequence;
            list[(*n)++] = q;
        }
}

/* Tensor cuts without sequence parallelism, then with it; each with all levels. If there is only one
 * choice, it is the problem itself. sequence: with it, if that is allowed beside plain cuts. */
static void add_variants(weft_train_problem *p, const weft_train_problem *sequence)
{
    const weft_train_problem **list = WEFT_NEW(p->arena, const weft_train_problem *, MOST_VARIANTS);
    int n = 0;

    add_levels(p, list, &n);
    if (sequence != NULL)
        add_levels(sequence, list, &n);
    if (n == 1)
        return;
    p->variant = list;
    p->n_variants = n;
}

void weft_train_problem_note(weft_train_problem *p)
{
    for (int i = 0; i < p->n_variants; i++) {
        weft_train_problem *q = (weft_train_problem *)(uintptr_t)p->variant[i]; /* ours */

        q->blocks.of_node = p->blocks.of_node;
        q->tokens = p->tokens;
        q->sample_flops = p->sample_flops;
        q->product_type = p->product_type;
        q->n_warnings = p->n_warnings;
        q->warning = p->warning;
    }
}

const weft_train_problem *weft_train_variant(const weft_train_problem *p,
                                             const weft_train_plan *plan)
{
    if (p->n_variants == 0)
        return p;
    assert(plan->variant >= 0 && plan->variant < p->n_variants);
    return p->variant[plan->variant];
}

/* --- the whole ------------------------------------------------------------------------------- */

static weft_train_problem_spec sequence_of(const weft_train_problem_spec *s)
{
    weft_train_problem_spec with = *s;

    with.cost = s->sequence_cost;
    with.state = s->sequence_state;
    return with;
}

static weft_status check_spec(const weft_train_problem_spec *s, unsigned sps, int n_classes)
{
    weft_train_problem_spec with = sequence_of(s);
    weft_arena *scratch = weft_arena_new();
    weft_status status = check_units(&s->blocks, scratch);

    weft_arena_free(scratch);
    WEFT_TRY(status);
    WEFT_TRY(check_platform(s->platform));
    WEFT_TRY(check_lists(s));
    if (sps >> 1 & 1 && s->sequence_cost == NULL)
        return weft_fail(WEFT_E_INPUT, "sequence parallelism is allowed, but there are no costs");
    if (sps >> 1 & 1)
        WEFT_TRY(check_tables(&with, n_classes));
    return sps & 1 ? check_tables(s, n_classes) : WEFT_OK;
}

static void fill_tables(const weft_train_problem_spec *s, weft_train_problem *p)
{
    int n_tables = p->cluster->n_classes * s->n_widths * s->n_shares;
    weft_arena *scratch = weft_arena_new();
    growth g = find_growth(&p->blocks, scratch);

    fill_costs(s, &g, n_tables, p);
    fill_states(s, &g, n_tables, p);
    weft_arena_free(scratch);
}

/* Tables, variants, and the hash over all of them. */
static void fill_variants(const weft_train_problem_spec *s, weft_train_problem *p)
{
    weft_train_problem_spec with = sequence_of(s);
    weft_train_problem *sequence = NULL;

    p->is_sequence = p->constraints.sps == 2;
    fill_tables(p->is_sequence ? &with : s, p);
    p->hash = hash_of(p);
    if (p->constraints.sps == 3) {
        sequence = weft_arena_copy(p->arena, p, sizeof *p);
        sequence->is_sequence = true;
        fill_tables(&with, sequence);
        p->hash = sequence->hash = weft_hash_end(weft_hash_bits(p->hash, hash_of(sequence)));
    }
    add_variants(p, sequence);
}

static weft_status fill(const weft_train_problem_spec *s, weft_train_problem *p)
{
    weft_cluster *cluster;

    WEFT_TRY(weft_cluster_new(s->platform, &cluster));
    p->cluster = cluster;
    weft_train_settle_zero(&p->constraints);
    WEFT_TRY(check_spec(s, p->constraints.sps, cluster->n_classes));
    WEFT_TRY(weft_train_constraints_check(&p->constraints, cluster, &s->blocks));
    if (s->constraints.chunks > 0) /* only interleaved plans have several */
        p->constraints.schedules &=
            s->constraints.chunks > 1 ? 1u << WEFT_INTERLEAVED : ~(1u << WEFT_INTERLEAVED);
    p->name = weft_arena_text(p->arena, s->name, strlen(s->name));
    p->blocks = copy_units(&s->blocks, p->arena);
    p->width = weft_arena_copy(p->arena, s->width, (size_t)s->n_widths * sizeof *s->width);
    p->share = weft_arena_copy(p->arena, s->share, (size_t)s->n_shares * sizeof *s->share);
    fill_variants(s, p);
    return WEFT_OK;
}

weft_status weft_train_problem_make(const weft_train_problem_spec *s, weft_train_problem **out)
{
    weft_arena *a = weft_arena_new();
    weft_train_problem *p = WEFT_NEW(a, weft_train_problem, 1);
    weft_status status;

    *p = (weft_train_problem){.constraints = s->constraints,
                              .transfer = s->platform->transfer,
                              .n_widths = s->n_widths,
                              .n_shares = s->n_shares,
                              .arena = a};
    status = fill(s, p);
    if (status != WEFT_OK)
        weft_train_problem_free(p);
    else
        *out = p;
    return status;
}

void weft_train_problem_free(weft_train_problem *p)
{
    if (p == NULL)
        return;
    weft_cluster_free((weft_cluster *)(uintptr_t)p->cluster); /* const to all others */
    weft_arena_free(p->arena);
}

/* --- schedules ------------------------------------------------------------------------------- */

const char *weft_schedule_name(weft_schedule s)
{
    static const char *const names[WEFT_N_SCHEDULES] = {
        [WEFT_GPIPE] = "gpipe",
        [WEFT_ONE_F_ONE_B] = "1f1b",
        [WEFT_EAGER] = "eager",
        [WEFT_INTERLEAVED] = "interleaved",
    };

    return names[s];
}

int64_t weft_in_flight(weft_schedule schedule, int s, int i, int64_t m, int n_chunks)
{
    int64_t most = m, behind = s - i - 1;

    if (schedule == WEFT_ONE_F_ONE_B)
        most = behind + 1;
    if (schedule == WEFT_EAGER)
        most = 2 * behind + 1;
    if (schedule == WEFT_INTERLEAVED)
        most = 2 * behind + (int64_t)(n_chunks - 1) * s + 1;
    m *= schedule == WEFT_INTERLEAVED ? n_chunks : 1;
    return most < m ? most : m;
}
