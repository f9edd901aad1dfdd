/* SPDX-License-Identifier: MIT */
/* test_split_numeric.c: the rules of splits, proved by numbers. Layers and whole networks run split
 * over members with private memories (executor.h), in every way that weft_step_splits knows:
 * results equal those of the unsplit network bit for bit, nobody reads what it does not hold,
 * everybody ends with exactly its part, and what arrives is what the cost model says. What is left
 * out on purpose is missed. */
#include "check.h"
#include "executor.h"
#include "executor_nets.h"

#include "platform.h"
#include "platform_text.h"

#include <stdio.h>

enum {
    MOST_MEMBERS = 8,
    N_LAYERS = 70,    /* of each recipe */
    N_NETWORKS = 120, /* of each recipe, on one set and on two */
    N_CASES = 20000,  /* layers x splits: at least */
    MOST_STEPS = 64,
};

/* --- what a step must have done -------------------------------------------------------------- */

/* Elements of the results that differ from those of the unsplit network. */
static long n_different(const exec_step *e, exec_memory *const *whole)
{
    const weft_step *v = &e->steps->step[e->step];
    long n = 0;

    for (int m = 0; m < e->n_members; m++)
        for (int k = 0; k < v->n_results; k++) {
            const exec_memory *y = exec_result_of(e, m, k);

            for (int64_t i = 0; i < y->n; i++)
                n += y->held[i] && y->value[i] != whole[v->result[k]]->value[i];
        }
    return n;
}

/* Every member holds its part and no more, and the parts make up the whole. */
static bool parts_are_right(const exec_step *e)
{
    const weft_step *v = &e->steps->step[e->step];

    for (int k = 0; k < v->n_results; k++) {
        int64_t n_held = 0, n = exec_result_of(e, 0, k)->n;

        for (int m = 0; m < e->n_members; m++) {
            weft_box b = weft_split_result(e->steps, e->step, &e->split, m, k);

            if (!exec_holds_exactly(exec_result_of(e, m, k), &b))
                return false;
        }
        for (int64_t i = 0; i < n; i++) {
            bool is_held = false;

            for (int m = 0; m < e->n_members && !is_held; m++)
                is_held = exec_result_of(e, m, k)->held[i];
            n_held += is_held;
        }
        if (n_held != n)
            return false;
    }
    return true;
}

static int64_t held_bytes(const exec_memory *m)
{
    int64_t n = 0;

    for (int64_t i = 0; i < m->n; i++)
        n += m->held[i];
    return n * m->element_bytes;
}

/* What the fullest member holds before it starts. Operands that are parts of one tensor may share
 * bytes or not: something between all different elements and all parts. */
typedef struct holdings {
    int64_t weight_bytes, operand_bytes;
    int64_t distinct_weight_bytes, distinct_operand_bytes;
} holdings;

/* Bytes of part k of a list that no part before it of the same tensor holds. */
static int64_t new_bytes(const weft_step_operand *list, exec_memory *const *part, int k)
{
    int64_t n = 0;

    for (int64_t i = 0; i < part[k]->n; i++) {
        bool is_new = part[k]->held[i];

        for (int j = 0; j < k && is_new; j++)
            is_new = list[j].tensor != list[k].tensor || !part[j]->held[i];
        n += is_new;
    }
    return n * part[k]->element_bytes;
}

static void hold(const weft_step_operand *list, exec_memory *const *part, int n, int64_t *all,
                 int64_t *distinct)
{
    int64_t sum = 0, sum_distinct = 0;

    for (int k = 0; k < n; k++) {
        sum += held_bytes(part[k]);
        sum_distinct += new_bytes(list, part, k);
    }
    *all = sum > *all ? sum : *all;
    *distinct = sum_distinct > *distinct ? sum_distinct : *distinct;
}

static holdings held_before(const exec_step *e)
{
    const weft_step *v = &e->steps->step[e->step];
    holdings h = {0, 0, 0, 0};

    for (int m = 0; m < e->n_members; m++) {
        hold(v->weight, e->member[m].weight, v->n_weights, &h.weight_bytes,
             &h.distinct_weight_bytes);
        hold(v->operand, e->member[m].operand, v->n_operands, &h.operand_bytes,
             &h.distinct_operand_bytes);
    }
    return h;
}

static bool is_between(double value, int64_t lowest, int64_t highest)
{
    return (double)lowest <= value && value <= (double)highest;
}

static int64_t most_result_bytes(const exec_step *e)
{
    int64_t most = 0;

    for (int m = 0; m < e->n_members; m++) {
        int64_t bytes = 0;

        for (int k = 0; k < e->steps->step[e->step].n_results; k++)
            bytes += held_bytes(exec_result_of(e, m, k));
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* What the executor counted, and by how much rings of whole elements may differ from the model's
 * (r - 1) / r: by the difference of the largest and the smallest chunk, twice for an all-reduce. */
typedef struct counts {
    double rotated_bytes;  /* at once, of the member that receives most */
    double partials_bytes; /* of the fullest member */
    double ring_bytes;     /* received in rings by the member that receives most */
    double total_bytes;    /* received by all in all */
    double extra_bytes;    /* a second shard and sums, of one member */
    double ring_slack, total_slack;
    int n_partners;
} counts;

static bool is_statistic(const exec_step *e)
{
    int u = e->steps->step[e->step].node[0];

    return exec_kernel_find(e->steps->graph->node[u].op)->combine == EXEC_STATISTIC;
}

static double partial_bytes(const exec_step *e)
{
    int element_bytes = e->member[0].made[0][0]->element_bytes;

    if (is_statistic(e) && element_bytes < WEFT_STATISTIC_BYTES)
        return WEFT_STATISTIC_BYTES;
    return element_bytes;
}

static counts count(const exec_step *e)
{
    double bytes = partial_bytes(e), rounds = e->split.is_scattered ? 1 : 2;
    counts c = {.n_partners = 1};

    for (int i = 0; i < e->n_members; i++) {
        const exec_member *m = &e->member[i];
        double slack = rounds * (double)(m->largest - m->smallest) * bytes;

        c.rotated_bytes = fmax(c.rotated_bytes, (double)m->most_rotated_bytes);
        c.partials_bytes = fmax(c.partials_bytes, (double)m->partials * bytes);
        c.ring_bytes = fmax(c.ring_bytes, (double)m->ring_in * bytes);
        c.extra_bytes =
            fmax(c.extra_bytes, (double)m->most_rotated_bytes +
                                    (is_statistic(e) ? 0 : (double)m->partials * bytes));
        c.total_bytes += (double)m->rotated_bytes + (double)m->ring_in * bytes;
        c.ring_slack = fmax(c.ring_slack, slack);
        c.total_slack += slack;
        c.n_partners = m->n_partners > c.n_partners ? m->n_partners : c.n_partners;
    }
    return c;
}

static bool near(double value, double expected, double slack)
{
    return fabs(value - expected) <= slack + 1e-9 * (1 + fabs(expected));
}

/* Bytes as seconds: what a mode sends over links of one byte a second. */
static const weft_link_cost one_byte_a_second = {0, 1, 0, NULL, false};

/* The first volume that the cost model says otherwise, or NULL. */
static const char *wrong_volume(const exec_step *e, const weft_split_cost *m, holdings before)
{
    counts c = count(e);
    bool has_sums = c.n_partners > 1 && !is_statistic(e);
    bool has_statistics = c.n_partners > 1 && is_statistic(e);
    double ring_bytes = weft_split_reduce_s(m, &one_byte_a_second);

    if (m->n_phases != weft_split_phases(e->steps, e->step, &e->split))
        return "number of phases";
    if (!near(m->rotate_bytes, c.rotated_bytes, 0))
        return "bytes between phases";
    if (m->n_reduce != (has_sums ? c.n_partners : 1))
        return "members that share sums";
    if (!near(m->reduce_bytes, has_sums ? c.partials_bytes : 0, 0))
        return "bytes of partial sums";
    if (m->n_statistic != (has_statistics ? c.n_partners : 1))
        return "members that share statistics";
    if (!near(m->statistic_bytes, has_statistics ? c.partials_bytes : 0, 0))
        return "bytes of statistics";
    if (!near(c.ring_bytes, ring_bytes, c.ring_slack))
        return "bytes received in a ring";
    if (!near(c.total_bytes, m->sent_bytes, c.total_slack))
        return "bytes received in all";
    if (!is_between(m->weight_bytes, before.distinct_weight_bytes, before.weight_bytes))
        return "bytes of weights";
    if (!is_between(m->operand_bytes, before.distinct_operand_bytes, before.operand_bytes))
        return "bytes of operands";
    if (m->extra_bytes < c.extra_bytes ||
        m->extra_bytes > c.rotated_bytes + (has_sums ? c.partials_bytes : 0))
        return "bytes of second shards and sums";
    if (!near(m->result_bytes, (double)most_result_bytes(e), 0))
        return "bytes of results";
    return NULL;
}

/* Is the need the smallest box? Not where it depends on the data, in reshapes across borders, and
 * where windows leave gaps at the padding; a summand is needed where it is summed. */
static bool is_tight(const exec_step *e, int k)
{
    const weft_graph *g = e->steps->graph;
    const weft_step *v = &e->steps->step[e->step];
    int u = v->node[v->operand[k].node], slot = v->operand[k].slot;
    exec_window w = exec_window_of(g, u);

    if (weft_split_phases(e->steps, e->step, &e->split) > 1)
        return false;
    if (strcmp(g->node[u].op, "Gather") == 0 && slot == 0)
        return false;
    if (strcmp(g->node[u].op, "Resize") == 0)
        return false;
    if (strcmp(g->node[u].op, "Reshape") == 0 || strcmp(g->node[u].op, "Flatten") == 0)
        return false;
    if (strcmp(g->node[u].op, "Gemm") == 0 && slot == 2)
        return !e->split.is_scattered;
    return w.stride[0] == 1 && w.dilation[0] == 1; /* the same in both directions */
}

/* Nothing is received that is not computed with. */
static bool needs_are_tight(const exec_step *e)
{
    for (int m = 0; m < e->n_members; m++)
        for (int k = 0; k < e->steps->step[e->step].n_operands; k++) {
            weft_box need = weft_split_need(e->steps, e->step, &e->split, m, k, 0);
            weft_box read = exec_read_box(e->member[m].operand[k]);
            int64_t n = weft_box_elements(&need);

            if (is_tight(e, k) &&
                (weft_box_elements(&read) != n || weft_box_common(&read, &need) != n))
                return false;
        }
    return true;
}

/* What is wrong with a step that has run, or NULL. */
static const char *wrong(const exec_step *e, exec_memory *const *whole, const weft_design *d,
                         holdings before)
{
    weft_split_cost m;

    if (e->n_faults > 0)
        return "an element was read, or sent, by a member that does not hold it";
    if (n_different(e, whole) > 0)
        return "results differ";
    if (!parts_are_right(e))
        return "members do not hold their parts";
    if (!needs_are_tight(e))
        return "members need more than they read";
    m = weft_split_cost_of(e->steps, e->step, &e->split, d);
    return wrong_volume(e, &m, before);
}

static void fail_step(const exec_step *e, const char *recipe, int seed, const char *what)
{
    char text[128];

    fail_msg("%s %d, step %d (%s) on %d members, split %s: %s", recipe, seed, e->step,
             weft_step_name(e->steps, e->step), e->n_members,
             weft_split_print(e->steps, e->step, &e->split, text), what);
}

/* --- single layers --------------------------------------------------------------------------- */

typedef struct subject {
    const char *recipe;
    int seed;
    weft_graph *graph;
    weft_steps *steps;
    exec_memory **whole;
    const weft_design *design;
    weft_arena *arena;
} subject;

static subject subject_of(weft_graph *g, const char *recipe, int seed, const weft_platform *p)
{
    subject s = {.recipe = recipe,
                 .seed = seed,
                 .graph = g,
                 .design = &p->device[0].design[0],
                 .arena = weft_arena_new()};

    CHECK_OK(weft_steps_new(g, &s.steps));
    CHECK(s.steps->n <= MOST_STEPS);
    s.whole = exec_reference(g, (uint64_t)seed, s.arena);
    return s;
}

static subject draw_subject(const exec_recipe *recipe, int seed, const weft_platform *p)
{
    weft_rng r = weft_rng_seed((uint64_t)seed);

    return subject_of(recipe->make(&r), recipe->name, seed, p);
}

static void subject_free(subject *s)
{
    weft_steps_free(s->steps);
    weft_graph_free(s->graph);
    weft_arena_free(s->arena);
}

static weft_platform *one_device(void)
{
    weft_platform *p;

    CHECK_OK(weft_platform_notation("cpu(flops=1)", &p));
    return p;
}

/* How many cases there were of each kind: a proof of rules that never came up is none. */
typedef struct tally {
    long n, n_copies, n_sums, n_scattered, n_statistics;
    long n_rotating, n_both; /* one operand, or both */
} tally;

static void add_case(const exec_step *e, tally *t)
{
    const weft_step *v = &e->steps->step[e->step];
    int n_rotating = 0;
    bool has_partners = e->member[0].n_partners > 1;

    for (int k = 0; k < v->n_operands; k++)
        n_rotating += weft_split_source(e->steps, e->step, &e->split, 0, false, k) >= 0;
    for (int k = 0; k < v->n_weights; k++)
        n_rotating += weft_split_source(e->steps, e->step, &e->split, 0, true, k) >= 0;
    t->n++;
    t->n_copies += weft_split_is_copy(&e->split);
    t->n_sums += has_partners && !is_statistic(e);
    t->n_statistics += has_partners && is_statistic(e);
    t->n_scattered += e->split.is_scattered;
    t->n_rotating += n_rotating == 1;
    t->n_both += n_rotating == 2;
}

static void check_split(const subject *s, int step, const weft_split *split, tally *t)
{
    exec_step *e = exec_step_new(s->steps, step, split, s->arena);
    holdings before;
    const char *what;

    exec_place_weights(e, s->whole);
    exec_place_operands(e, s->whole);
    before = held_before(e);
    exec_run(e);
    what = wrong(e, s->whole, s->design, before);
    if (what != NULL)
        fail_step(e, s->recipe, s->seed, what);
    add_case(e, t);
}

static void check_layer(const subject *s, tally *t)
{
    for (int v = 0; v < s->steps->n; v++)
        for (int n = 1; n <= MOST_MEMBERS; n++) {
            size_t mark = weft_arena_mark(s->arena);
            const weft_split *split;
            int n_splits = weft_step_splits(s->steps, v, n, true, s->arena, &split);

            CHECK(n_splits > 0);
            for (int i = 0; i < n_splits; i++) {
                size_t inner = weft_arena_mark(s->arena);

                check_split(s, v, &split[i], t);
                weft_arena_rewind(s->arena, inner);
            }
            weft_arena_rewind(s->arena, mark);
        }
}

TEST(every_split_of_every_layer_is_exact)
{
    weft_platform *p = one_device();
    tally t = {0};

    for (int i = 0; exec_layers[i].name != NULL; i++) {
        long before = t.n;

        for (int seed = 1; seed <= N_DRAWN(N_LAYERS); seed++) {
            subject s = draw_subject(&exec_layers[i], seed, p);

            check_layer(&s, &t);
            subject_free(&s);
        }
        print_message("%-24s %7ld splits\n", exec_layers[i].name, t.n - before);
    }
    print_message("%ld layers x splits: %ld copies, %ld with sums (%ld stay cut), %ld with "
                  "statistics, %ld with one operand that rotates, %ld with two\n",
                  t.n, t.n_copies, t.n_sums, t.n_scattered, t.n_statistics, t.n_rotating, t.n_both);
    CHECK(t.n >= N_DRAWN(N_CASES));
    CHECK(t.n_sums >= N_DRAWN(5000) && t.n_scattered >= N_DRAWN(2000));
    CHECK(t.n_statistics >= N_DRAWN(1000));
    CHECK(t.n_rotating >= N_DRAWN(5000) && t.n_both >= N_DRAWN(200));
    weft_platform_free(p);
}

/* --- networks -------------------------------------------------------------------------------- */

/* A network on one or two sets: a set and a split for each step, and what was received. */
typedef struct run {
    const subject *s;
    int n_sets, n_members[2];
    int set[MOST_STEPS];
    exec_step *step[MOST_STEPS];
    double bytes, modelled_bytes, slack;
} run;

static void check_edge(run *r, const exec_step *e, int k, int64_t most, int64_t total)
{
    const weft_step_operand *o = &r->s->steps->step[e->step].operand[k];
    bool is_inside = o->step >= 0 && r->set[o->step] == r->set[e->step];
    double model_total, model;

    if (is_inside)
        model = weft_reshard_bytes(r->s->steps, e->step, k, &r->step[o->step]->split, &e->split,
                                   &model_total);
    else
        model = weft_need_bytes(r->s->steps, e->step, k, &e->split, &model_total);
    if (!near((double)most, model, 0) || !near((double)total, model_total, 0))
        fail_step(e, r->s->recipe, r->s->seed, "bytes of an operand received");
    r->bytes += (double)total;
    r->modelled_bytes += model_total;
}

/* No more is said to be computed before an operand arrives than can be. */
static void check_interior(const run *r, const exec_step *e, int k)
{
    const weft_step_operand *o = &r->s->steps->step[e->step].operand[k];
    const exec_step *from = r->step[o->step];
    double share = weft_interior_share(r->s->steps, e->step, k, &from->split, &e->split);

    CHECK(0 <= share && share <= 1);
    if (weft_split_phases(e->steps, e->step, &e->split) > 1)
        CHECK(share == 0);
    else if (o->node == 0 && share > exec_interior_share(e, k, from, r->s->whole) + 1e-9)
        fail_step(e, r->s->recipe, r->s->seed, "points said to need nothing from others");
}

static void fetch_operands(run *r, exec_step *e)
{
    const weft_step *v = &r->s->steps->step[e->step];

    for (int k = 0; k < v->n_operands; k++) {
        int from = v->operand[k].step;
        int64_t total, most;

        if (from < 0)
            most = exec_fetch_input(e, k, r->s->whole[v->operand[k].tensor], &total);
        else
            most = exec_fetch(e, k, r->step[from], r->set[from] == r->set[e->step], &total);
        check_edge(r, e, k, most, total);
        if (from >= 0 && r->set[from] == r->set[e->step])
            check_interior(r, e, k);
    }
}

static void run_step(run *r, int v, weft_rng *rng)
{
    const subject *s = r->s;
    const weft_split *split;
    const char *what;
    weft_split_cost mode;
    holdings before;
    counts c;
    int n_splits;

    r->set[v] = weft_rng_below(rng, r->n_sets);
    n_splits = weft_step_splits(s->steps, v, r->n_members[r->set[v]], true, s->arena, &split);
    r->step[v] = exec_step_new(s->steps, v, &split[weft_rng_below(rng, n_splits)], s->arena);
    exec_place_weights(r->step[v], s->whole);
    fetch_operands(r, r->step[v]);
    before = held_before(r->step[v]);
    exec_run(r->step[v]);
    what = wrong(r->step[v], s->whole, s->design, before);
    if (what != NULL)
        fail_step(r->step[v], s->recipe, s->seed, what);
    mode = weft_split_cost_of(s->steps, v, &r->step[v]->split, s->design);
    c = count(r->step[v]);
    r->bytes += c.total_bytes;
    r->modelled_bytes += mode.sent_bytes;
    r->slack += c.total_slack;
}

/* All that is asked for arrives at the host, and is what it should be. */
static void deliver_outputs(run *r)
{
    const subject *s = r->s;
    int n_outputs = 0;

    for (int v = 0; v < s->steps->n; v++)
        for (int k = 0; k < s->steps->step[v].n_results; k++) {
            int t = s->steps->step[v].result[k];
            const exec_memory *expected = s->whole[t];
            exec_memory *host;
            int64_t total, most;
            double model_total;

            if (s->graph->tensor[t].kind != WEFT_OUTPUT)
                continue;
            host = exec_memory_new(s->arena, &expected->shape, expected->element_bytes);
            most = exec_deliver(r->step[v], k, host, &total);
            CHECK_NEAR((double)most,
                       weft_result_bytes(s->steps, v, k, &r->step[v]->split, &model_total));
            CHECK_NEAR((double)total, model_total);
            for (int64_t i = 0; i < host->n; i++)
                CHECK(host->held[i] && host->value[i] == expected->value[i]);
            n_outputs++;
        }
    CHECK_INT(n_outputs, s->graph->n_outputs);
}

static void run_network(const subject *s, int n_sets)
{
    weft_rng rng = weft_rng_seed((uint64_t)s->seed * 31 + (uint64_t)n_sets);
    run r = {.s = s, .n_sets = n_sets};

    r.n_members[0] = 1 + weft_rng_below(&rng, n_sets > 1 ? MOST_MEMBERS - 1 : MOST_MEMBERS);
    r.n_members[1] = n_sets > 1 ? 1 + weft_rng_below(&rng, MOST_MEMBERS - r.n_members[0]) : 0;
    for (int v = 0; v < s->steps->n; v++)
        run_step(&r, v, &rng);
    deliver_outputs(&r);
    CHECK(near(r.bytes, r.modelled_bytes, r.slack));
}

static void run_networks(int n_sets)
{
    weft_platform *p = one_device();
    long n_steps = 0;

    for (int i = 0; exec_networks[i].name != NULL; i++)
        for (int seed = 1; seed <= N_DRAWN(N_NETWORKS); seed++) {
            subject s = draw_subject(&exec_networks[i], seed, p);

            run_network(&s, n_sets);
            n_steps += s.steps->n;
            subject_free(&s);
        }
    print_message("%ld steps of networks on %d set%s\n", n_steps, n_sets, n_sets > 1 ? "s" : "");
    weft_platform_free(p);
}

TEST(networks_on_one_set_are_exact)
{
    run_networks(1);
}

TEST(networks_on_two_sets_are_exact)
{
    run_networks(2);
}

/* --- what is left out is missed -------------------------------------------------------------- */

static const exec_conv small_conv = {
    .channels = 4, .out = 4, .height = 8, .width = 6, .kernel = 3, .stride = 1};

typedef struct outcome {
    long n_faults, n_different;
} outcome;

/* A convolution 4 -> 4 channels of 3 x 3, split as the text says, with something left out. */
static outcome run_dropping(const char *text, int n, exec_drop drop)
{
    weft_platform *p = one_device();
    subject s = subject_of(exec_conv_graph(&small_conv), "convolution", 1, p);
    weft_split split;
    exec_step *e;
    outcome o;

    CHECK_OK(weft_split_parse(s.steps, 0, n, text, &split));
    e = exec_step_new(s.steps, 0, &split, s.arena);
    e->drop = drop;
    exec_place_weights(e, s.whole);
    exec_place_operands(e, s.whole);
    exec_run(e);
    o = (outcome){e->n_faults, n_different(e, s.whole)};
    subject_free(&s);
    weft_platform_free(p);
    return o;
}

TEST(a_halo_row_that_is_left_out_is_missed)
{
    outcome all = run_dropping("r=2", 2, EXEC_DROP_NOTHING);
    outcome less = run_dropping("r=2", 2, EXEC_DROP_ROW);

    CHECK_INT(all.n_faults, 0);
    CHECK_INT(all.n_different, 0);
    /* Member 0 computes rows 0 .. 3 and lacks row 4: of output row 3, each of 4 channels reads it
     * in 4 channels of 16 places: 6 columns, 3 each but 2 at both ends. */
    CHECK_INT(less.n_faults, 4 * 4 * 16);
    CHECK_INT(less.n_different, 4 * 6);
}

TEST(a_rotation_that_is_left_out_is_missed)
{
    CHECK_INT(run_dropping("r=2 share m", 2, EXEC_DROP_NOTHING).n_different, 0);
    CHECK(run_dropping("r=2 share m", 2, EXEC_DROP_ROTATION).n_faults > 0);
    /* Member 0 has the wrong kernels for half of its half of 4 x 8 x 6 sums. */
    CHECK_INT(run_dropping("r=2 share m", 2, EXEC_DROP_ROTATION).n_different, 4 * 8 * 6 / 4);
}

TEST(a_partial_sum_that_is_left_out_is_missed)
{
    CHECK_INT(run_dropping("n=2", 2, EXEC_DROP_NOTHING).n_different, 0);
    CHECK_INT(run_dropping("n=2", 2, EXEC_DROP_TERM).n_faults, 0);
    /* Half of the sums are made by member 0, and go wrong to both members. */
    CHECK_INT(run_dropping("n=2", 2, EXEC_DROP_TERM).n_different, 2 * (4 * 8 * 6 / 2));
    CHECK_INT(run_dropping("n=2>scatter", 2, EXEC_DROP_NOTHING).n_different, 0);
    CHECK_INT(run_dropping("n=2>scatter", 2, EXEC_DROP_TERM).n_different, 4 * 8 * 6 / 2);
}

/* Two convolutions, both cut by rows: the halo between them goes by messages. */
static long different_in_chain(exec_drop drop)
{
    weft_platform *p = one_device();
    exec_conv c = small_conv;
    subject s;
    exec_step *e[2];
    int64_t total;
    long n;

    c.is_chain = true;
    s = subject_of(exec_conv_graph(&c), "chain", 1, p);
    CHECK_INT(s.steps->n, 2);
    for (int v = 0; v < 2; v++) {
        weft_split split;

        CHECK_OK(weft_split_parse(s.steps, v, 2, "r=2", &split));
        e[v] = exec_step_new(s.steps, v, &split, s.arena);
        e[v]->drop = v == 1 ? drop : EXEC_DROP_NOTHING;
        exec_place_weights(e[v], s.whole);
        if (v == 0)
            exec_place_operands(e[v], s.whole);
        else /* a row of 4 channels and 6 columns, 4 bytes each */
            CHECK_INT(exec_fetch(e[v], 0, e[0], true, &total), 4 * 6 * 4);
        exec_run(e[v]);
    }
    CHECK_INT(total, 2 * 4 * 6 * 4);
    n = n_different(e[1], s.whole);
    subject_free(&s);
    weft_platform_free(p);
    return n;
}

TEST(a_halo_row_that_is_not_sent_is_missed)
{
    CHECK_INT(different_in_chain(EXEC_DROP_NOTHING), 0);
    CHECK_INT(different_in_chain(EXEC_DROP_ROW), 4 * 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_split_of_every_layer_is_exact),
        cmocka_unit_test(networks_on_one_set_are_exact),
        cmocka_unit_test(networks_on_two_sets_are_exact),
        cmocka_unit_test(a_halo_row_that_is_left_out_is_missed),
        cmocka_unit_test(a_rotation_that_is_left_out_is_missed),
        cmocka_unit_test(a_partial_sum_that_is_left_out_is_missed),
        cmocka_unit_test(a_halo_row_that_is_not_sent_is_missed),
    };

    return RUN_TESTS(tests);
}
