/* SPDX-License-Identifier: MIT */
/* Blocks of several devices, by brute force: layouts element by element, and the best choices of
 * random small networks among all combinations of single-axis splits. */
#include "block_part.h"
#include "check.h"
#include "nets.h"

#define ARGS(...)                                                                                  \
    (const int[]){__VA_ARGS__}, (int)(sizeof((const int[]){__VA_ARGS__}) / sizeof(int))

static int between(weft_rng *r, int low, int high)
{
    return low + weft_rng_below(r, high - low + 1);
}

/* --- layouts --------------------------------------------------------------------------------- */

enum { ROWS = 6, COLS = 5, MOST_MEMBERS = 4 };

/* Boxes of a tensor of ROWS x COLS: whole, blocks of rows or columns, blocks that overlap. */
static weft_layout drawn(weft_rng *r, int n, weft_box *box)
{
    weft_layout l = {.n_members = n, .n = 1, .box = box, .is_same = true};
    int kind = between(r, 0, 3);

    for (int j = 0; j < n; j++) {
        box[j] = (weft_box){
            2, {0,    0   },
             {ROWS, COLS}
        };
        if (kind == 1 || kind == 3) {
            box[j].lo[0] = ROWS * j / n;
            box[j].hi[0] = ROWS * (j + 1) / n + (kind == 3 && j + 1 < n);
        } else if (kind == 2) {
            box[j].lo[1] = COLS * j / n;
            box[j].hi[1] = COLS * (j + 1) / n;
        }
    }
    l.is_same = kind == 0;
    return l;
}

static bool has(const weft_layout *l, int j, int row, int col)
{
    const weft_box *b = &l->box[j];

    return row >= b->lo[0] && row < b->hi[0] && col >= b->lo[1] && col < b->hi[1];
}

/* Elements that member j needs and has not; parts of sums that others have of what it wants. */
static int missing(const weft_layout *own, const weft_layout *need, int j)
{
    int n = 0;

    for (int i = 0; i < ROWS * COLS; i++)
        n += has(need, j, i / COLS, i % COLS) && !has(own, j, i / COLS, i % COLS);
    return n;
}

static int parts_elsewhere(const weft_layout *from, const weft_layout *to, int j)
{
    int n = 0;

    for (int i = 0; i < ROWS * COLS; i++)
        for (int k = 0; k < from->n_members && has(to, j, i / COLS, i % COLS); k++)
            n += k != j && has(from, k, i / COLS, i % COLS);
    return n;
}

TEST(layouts_count_elements)
{
    const weft_link_cost one = {0, 1, 0, NULL, false}; /* a byte a second */
    weft_rng r = weft_rng_seed(1);

    for (int i = 0; i < 2000; i++) {
        int n = between(&r, 2, MOST_MEMBERS), receive = 0, sum = 0;
        weft_box box[2][MOST_MEMBERS];
        weft_layout a = drawn(&r, n, box[0]), b = drawn(&r, n, box[1]);

        for (int j = 0; j < n; j++) {
            receive = missing(&a, &b, j) > receive ? missing(&a, &b, j) : receive;
            sum = parts_elsewhere(&a, &b, j) > sum ? parts_elsewhere(&a, &b, j) : sum;
        }
        CHECK_INT(weft_layout_receive(&a, &b), receive);
        CHECK(weft_layout_within(&b, &a) == (receive == 0));
        if (a.is_same && b.is_same)
            CHECK_NEAR(weft_layout_sum_s(&a, &b, 2, &one), 2 * 2 * (n - 1.0) / n * ROWS * COLS);
        else
            CHECK_NEAR(weft_layout_sum_s(&a, &b, 2, &one), 2.0 * sum);
    }
}

/* --- random networks ------------------------------------------------------------------------- */

enum { MOST_VALUES = 12, MOST_STEPS = 10, MOST_COMBINATIONS = 30000 };

typedef struct drawing {
    net_fixture f;
    weft_rng *r;
    int n, value[MOST_VALUES], kind[MOST_VALUES]; /* kind: columns of a value 2 x 4 x columns */
    int weight, weight_kind;                      /* one that several products may read */
} drawing;

static const char *print(drawing *d, const char *format, int a, int b)
{
    return weft_arena_print(weft_net_arena(d->f.net), format, a, b);
}

static void keep(drawing *d, int value, int kind)
{
    d->value[d->n] = value;
    d->kind[d->n++] = kind;
}

static int any(drawing *d)
{
    return between(d->r, d->n > 3 ? d->n - 3 : 0, d->n - 1);
}

static void draw_product(drawing *d, int x)
{
    int columns = 2 * between(d->r, 1, 4), w = d->weight;

    if (w < 0 || d->weight_kind != d->kind[x] || between(d->r, 0, 1)) {
        w = net_weight(&d->f, print(d, "%dx%d", d->kind[x], columns));
        if (columns == d->kind[x]) {
            d->weight = w;
            d->weight_kind = columns;
        }
    } else {
        columns = d->weight_kind;
    }
    keep(d, net_op(&d->f, "MatMul", ARGS(d->value[x], w), ""), columns);
}

static void draw_norm(drawing *d, int x)
{
    int scale = net_weight(&d->f, print(d, "%d", d->kind[x], 0));

    keep(d, net_op(&d->f, "LayerNormalization", ARGS(d->value[x], scale), "axis=-1"), d->kind[x]);
}

static void draw_sum(drawing *d, int x)
{
    int y = any(d);

    if (d->kind[x] == d->kind[y])
        keep(d, net_op(&d->f, "Add", ARGS(d->value[x], d->value[y]), ""), d->kind[x]);
    else
        keep(d, net_op(&d->f, "Gelu", ARGS(d->value[x]), ""), d->kind[x]);
}

/* Queries and keys of one product, scores, scores times keys. */
static void draw_attention(drawing *d, int x)
{
    int part[2], keys, scores;
    int w = net_weight(&d->f, print(d, "%dx%d", d->kind[x], 8));
    int both = net_op(&d->f, "MatMul", ARGS(d->value[x], w), "");

    (void)net_op_results(&d->f, "Split", ARGS(both), "axis=2 num_outputs=2", 2, part);
    keys = net_op(&d->f, "Transpose", ARGS(part[1]), "perm=0,2,1");
    scores =
        net_op(&d->f, "Softmax", ARGS(net_op(&d->f, "MatMul", ARGS(part[0], keys), "")), "axis=-1");
    keep(d, net_op(&d->f, "MatMul", ARGS(scores, part[1]), ""), 4);
}

static void draw_shape(drawing *d, int x)
{
    int flat = net_op(&d->f, "Reshape",
                      ARGS(d->value[x], net_ints(&d->f, 2, (const int64_t[]){8, d->kind[x]})), "");
    int back = net_op(&d->f, "Relu", ARGS(flat), "");

    keep(d,
         net_op(&d->f, "Reshape",
                ARGS(back, net_ints(&d->f, 3, (const int64_t[]){2, 4, d->kind[x]})), ""),
         d->kind[x]);
}

static const weft_graph *draw_network(drawing *d, weft_rng *r)
{
    int n_ops = between(r, 1, 3);

    *d = (drawing){.f = net_start(WEFT_F32), .r = r, .weight = -1};
    keep(d, net_input(&d->f, "2x4x4"), 4);
    draw_product(d, 0);
    for (int i = 0; i < n_ops; i++) {
        int x = any(d);

        switch (between(r, 0, 6)) {
        case 0:
        case 1:
            draw_product(d, x);
            break;
        case 2:
            draw_norm(d, x);
            break;
        case 3:
            draw_attention(d, x);
            break;
        case 4:
            draw_shape(d, x);
            break;
        default:
            draw_sum(d, x);
        }
    }
    draw_product(d, d->n - 1);
    return net_finish(&d->f, d->value[d->n - 1]);
}

/* --- one unit, or two ------------------------------------------------------------------------ */

typedef struct problem {
    weft_graph *graph;
    weft_blocks blocks;
    weft_steps *steps;
    weft_design design;
    weft_block_request request;
    weft_arena *arena;
} problem;

/* Forward nodes up to `cut` are unit 0; others follow their forward nodes, or what they change or
 * read. */
static int *units_of(const weft_graph *g, int cut, weft_arena *a)
{
    int *of = WEFT_NEW(a, int, g->n_nodes);

    for (int u = 0; u < g->n_nodes; u++) {
        const weft_node *n = &g->node[u];
        int from = g->tensor[g->arg[g->arg_at[u]]].producer;

        if (n->phase == WEFT_FORWARD)
            of[u] = u > cut;
        else if (n->forward >= 0)
            of[u] = of[n->forward];
        else if (n->phase == WEFT_UPDATE)
            of[u] = of[g->use[g->use_at[g->arg[g->arg_at[u]]]]];
        else
            of[u] = from < 0 ? 1 : of[from];
    }
    return of;
}

static int n_forward(const weft_graph *g)
{
    int n = 0;

    while (n < g->n_nodes && g->node[n].phase == WEFT_FORWARD)
        n++;
    return n;
}

static void open_problem(problem *p, const weft_graph *forward, bool is_fused, weft_rng *r)
{
    int cut;

    *p = (problem){.arena = weft_arena_new()};
    CHECK_OK(weft_graph_train(forward, WEFT_ADAM, &p->graph));
    if (is_fused)
        weft_graph_fuse(p->graph, true);
    cut = between(r, -1, n_forward(p->graph) - 2);
    p->blocks.n_blocks = 2;
    p->blocks.of_node = units_of(p->graph, cut, p->arena);
    CHECK_OK(weft_steps_within(p->graph, p->blocks.of_node, &p->steps));
    p->design.model = WEFT_ROOFLINE;
    p->design.value[WEFT_P_FLOPS] = between(r, 1, 100);
    p->design.value[WEFT_P_BANDWIDTH] = between(r, 1, 100);
    p->design.value[WEFT_P_ETA] = 1;
    p->design.value[WEFT_P_OVERHEAD] = between(r, 0, 1) * 0.1;
    for (int i = 0; i < WEFT_N_FAMILIES; i++)
        p->design.efficiency[i] = 1;
    p->request = (weft_block_request){
        .blocks = &p->blocks,
        .graph = p->graph,
        .steps = p->steps,
        .design = &p->design,
        .width = between(r, 2, 4),
        .inside = {.latency_s = between(r, 0, 1) * 0.05, .bytes_per_s = between(r, 10, 400)}
    };
}

static void close_problem(problem *p)
{
    weft_steps_free(p->steps);
    weft_graph_free(p->graph);
    weft_arena_free(p->arena);
}

/* --- all combinations ------------------------------------------------------------------------ */

/* The value of a combination, summed here: own seconds, edges, gradients that leave, parameters
 * in the same parts. */
typedef struct sums {
    double forward, backward, update, ties;
} sums;

static bool is_same_parts(const weft_layout *a, const weft_layout *b)
{
    for (int j = 0; j < a->n_members; j++)
        if (weft_box_elements(&a->box[j]) != weft_box_elements(&b->box[j]) ||
            weft_box_common(&a->box[j], &b->box[j]) != weft_box_elements(&a->box[j]))
            return false;
    return true;
}

static int entry_of(const weft_block_part *p, int tensor)
{
    for (int e = 0; e < p->n_entries; e++)
        if (p->entry[e].tensor == tensor)
            return e;
    return -1;
}

static void add_operand(const weft_block_part *p, const int *state, unsigned merged, int i, int k,
                        sums *s)
{
    const weft_step *step = weft_block_step_at(p, i);
    const weft_block_choice *to = &p->step[i].choice[state[i]];
    int from = weft_block_maker(p, i, k), e = entry_of(p, step->operand[k].tensor);
    bool has_gradient = weft_block_has_gradient(p->net, step, &step->operand[k]);

    if (from >= 0) {
        const weft_block_choice *maker = &p->step[from].choice[state[from]];

        s->forward += weft_block_edge_s(p, i, k, maker, to);
        s->backward += weft_block_return_s(p, i, k, maker, to);
    } else if (e >= 0 && merged >> e & 1) {
        if (has_gradient && !weft_block_is_full(p, i, k, to) && !to->need[k].is_same)
            s->backward = INFINITY;
    } else {
        s->backward += weft_block_leave_s(p, i, k, to);
    }
}

static bool are_parameters_same(const weft_block_part *p, const int *state)
{
    for (int i = 0; i < p->n_steps; i++)
        for (int j = 0; j < i; j++)
            for (int a = 0; a < weft_block_step_at(p, i)->n_weights; a++)
                for (int b = 0; b < weft_block_step_at(p, j)->n_weights; b++) {
                    int t = weft_block_step_at(p, i)->weight[a].tensor;

                    if (t == weft_block_step_at(p, j)->weight[b].tensor && p->net->update[t] >= 0 &&
                        !is_same_parts(&p->step[i].choice[state[i]].weight[a],
                                       &p->step[j].choice[state[j]].weight[b]))
                        return false;
                }
    return true;
}

static sums value_of(const weft_block_part *p, const int *state, unsigned merged)
{
    sums s = {0, 0, 0, 0};

    if (!are_parameters_same(p, state))
        s.backward = INFINITY;
    for (int i = 0; i < p->n_steps; i++) {
        const weft_block_choice *c = &p->step[i].choice[state[i]];

        s.forward += c->forward_s + c->forward_collective_s;
        s.backward += c->backward_s + c->backward_collective_s;
        s.update += c->update_s;
        s.ties += 1e-6 * c->held_bytes / p->net->memory_bytes_per_s;
        for (int k = 0; k < weft_block_step_at(p, i)->n_operands; k++)
            add_operand(p, state, merged, i, k, &s);
    }
    for (int e = 0; e < p->n_entries; e++)
        s.backward += merged >> e & 1 ? p->entry[e].merged_s : 0;
    return s;
}

static double total(sums s)
{
    return s.forward + s.backward + s.update / 8 + s.ties;
}

static bool next_state(const weft_block_part *p, int *state)
{
    for (int i = 0; i < p->n_steps; i++) {
        if (++state[i] < p->step[i].n_choices)
            return true;
        state[i] = 0;
    }
    return false;
}

static double best_of_all(const weft_block_part *p)
{
    int state[MOST_STEPS] = {0};
    double best = INFINITY;

    do
        for (unsigned merged = 0; merged < 1u << p->n_entries; merged++)
            best = fmin(best, total(value_of(p, state, merged)));
    while (next_state(p, state));
    return best;
}

static double n_combinations(const weft_block_part *p)
{
    double n = pow(2, p->n_entries);

    for (int i = 0; i < p->n_steps; i++)
        n *= p->step[i].n_choices;
    return n;
}

static unsigned merged_of(const weft_block_part *p, const bool *is_merged)
{
    unsigned merged = 0;

    for (int e = 0; e < p->n_entries; e++)
        merged |= (unsigned)is_merged[e] << e;
    return merged;
}

/* No combination is better than the best, and the unit's cost is that of the chosen one. */
static bool check_unit(const problem *p, int unit, const weft_block_cost *cost,
                       const weft_block_state *held)
{
    weft_arena *a = weft_arena_new();
    weft_cost_net net;
    weft_block_part part;
    int state[MOST_STEPS + 1];
    bool is_merged[32];
    bool is_small;

    CHECK(weft_cost_net_new(&p->request, false, a, &net));
    CHECK(weft_block_part_new(&net, unit, a, &part));
    is_small = part.n_steps > 0 && part.n_steps <= MOST_STEPS && part.n_entries < 8 &&
               n_combinations(&part) <= MOST_COMBINATIONS;
    if (is_small) {
        const weft_block_choice *fixed = &part.fixed;
        sums s;

        weft_block_best(&part, a, state, is_merged);
        s = value_of(&part, state, merged_of(&part, is_merged));
        CHECK_NEAR(total(s), best_of_all(&part));
        weft_block_choose(&part, a, state, is_merged);
        s = value_of(&part, state, merged_of(&part, is_merged));
        CHECK_NEAR(cost->forward_s, s.forward + fixed->forward_s);
        CHECK_NEAR(cost->backward_s, s.backward + fixed->backward_s);
        CHECK_NEAR(held->update_s, s.update + fixed->update_s);
    }
    weft_arena_free(a);
    return is_small;
}

/* The same networks again, with kernels. */
TEST(choices_are_the_best_of_all_combinations)
{
    int n_checked = 0;

    for (int k = 0; k < 800; k++) {
        int i = k % 400;
        weft_rng r = weft_rng_seed((uint64_t)i);
        weft_block_cost cost[2];
        weft_block_state held[2];
        drawing d;
        problem p;

        open_problem(&p, draw_network(&d, &r), k >= 400, &r);
        CHECK(weft_block_costs(&p.request, p.arena, cost, held));
        for (int unit = 0; unit < 2; unit++)
            n_checked += check_unit(&p, unit, &cost[unit], &held[unit]);
        close_problem(&p);
        net_free(&d.f);
    }
    CHECK(n_checked >= 600);
}

/* --- what the choices are -------------------------------------------------------------------- */

static int n_cut(const weft_split *s)
{
    int n = 0;

    for (int k = 0; k < WEFT_MAX_AXES; k++)
        n += s->factor[k] > 1;
    return n;
}

static bool is_product(const weft_graph *g, int u)
{
    const weft_op *op = weft_op_find(g->node[u].domain, g->node[u].op);

    return op && op->fusion == WEFT_FUSE_TENSOR;
}

static bool is_trained(const weft_graph *g, int tensor)
{
    for (int i = g->use_at[tensor]; i < g->use_at[tensor + 1]; i++)
        if (g->node[g->use[i]].phase == WEFT_UPDATE)
            return true;
    return false;
}

/* A product that leaves a matrix that is trained whole on each member. */
static bool repeats(const problem *p, int v, const weft_split *split)
{
    const weft_step *s = &p->steps->step[v];

    for (int k = 0; k < s->n_weights && is_product(p->graph, s->node[0]); k++) {
        const weft_tensor *t = &p->graph->tensor[s->weight[k].tensor];
        bool is_whole = s->weight[k].node == 0 && is_trained(p->graph, s->weight[k].tensor) &&
                        t->shape->rank > 1;

        for (int j = 0; j < split->n; j++) {
            weft_box b = weft_split_weight(p->steps, v, split, j, k, 0);

            is_whole = is_whole && weft_box_elements(&b) == t->elements;
        }
        if (is_whole)
            return true;
    }
    return false;
}

static int expected_choices(const problem *p, int v, weft_arena *a)
{
    const weft_split *split;
    int n = weft_step_splits(p->steps, v, p->request.width, false, a, &split), count = 0;

    for (int i = 0; i < n; i++)
        count +=
            weft_split_is_copy(&split[i]) || (n_cut(&split[i]) == 1 && !repeats(p, v, &split[i]));
    return count;
}

TEST(choices_are_the_splits_along_one_axis)
{
    int n_steps = 0, n_parts = 0;

    for (int i = 0; i < 100; i++) {
        weft_rng r = weft_rng_seed((uint64_t)i);
        weft_arena *a = weft_arena_new();
        weft_cost_net net;
        drawing d;
        problem p;

        open_problem(&p, draw_network(&d, &r), false, &r);
        CHECK(weft_cost_net_new(&p.request, false, a, &net));
        for (int unit = 0; unit < 2; unit++) {
            weft_block_part part;

            CHECK(weft_block_part_new(&net, unit, a, &part));
            for (int k = 0; k < part.n_steps; k++, n_steps++) {
                int n = 0, n_by_part = 0;

                for (int c = 0; c < part.step[k].n_choices; c++) {
                    n += !part.step[k].choice[c].is_merged;
                    n_by_part += part.step[k].choice[c].is_by_part;
                }
                CHECK_INT(n - n_by_part, expected_choices(&p, part.step[k].step, a));
                n_parts += n_by_part;
            }
        }
        close_problem(&p);
        net_free(&d.f);
        weft_arena_free(a);
    }
    CHECK(n_steps > 500 && n_parts > 10);
}

/* --- work of members ------------------------------------------------------------------------- */

static double macs(const weft_work_key *k)
{
    double sum = 0;

    for (int i = 0; i < k->n_layers; i++) {
        const weft_layer *l = &k->layer[i];

        sum += (double)l->batch * (double)l->groups * (double)l->m * (double)l->n * (double)l->r *
               (double)l->c * (double)l->kh * (double)l->kw;
    }
    return sum;
}

/* Alone: the work of the node. Cut evenly: arithmetic is shared out, forward and backward alike,
 * and no member reads or writes less than its part or more than all. */
static void check_keys(const problem *p, int v, const weft_split *split, const int *node, int n,
                       bool is_even)
{
    weft_work_key key[64], all;

    CHECK(n <= 64);
    weft_split_keys(p->steps, v, split, n, node, key);
    for (int i = 0; i < n; i++) {
        int width = weft_split_is_copy(split) ? 1 : split->n;

        weft_work_key_of(p->graph, node[i], &all);
        if (width == 1) {
            CHECK(memcmp(&key[i], &all, sizeof all) == 0);
            continue;
        }
        CHECK(macs(&key[i]) * width >= macs(&all) && key[i].points * width >= all.points);
        if (is_even) {
            CHECK_NEAR(macs(&key[i]) * width, macs(&all));
            CHECK_INT(key[i].points * width, all.points);
        }
        CHECK(key[i].read_bytes <= all.read_bytes && key[i].write_bytes <= all.write_bytes);
        CHECK(key[i].read_bytes * width >= all.read_bytes);
        CHECK(key[i].write_bytes * width >= all.write_bytes);
    }
}

static int nodes_of(const problem *p, const weft_step *s, int *node)
{
    int n = 0;

    for (int i = 0; i < s->n_nodes; i++) {
        node[n++] = s->node[i];
        for (int u = 0; u < p->graph->n_nodes; u++)
            if (p->graph->node[u].forward == s->node[i])
                node[n++] = u;
    }
    return n;
}

TEST(members_share_the_work_backward_as_forward)
{
    int n_even = 0;

    for (int i = 0; i < 100; i++) {
        weft_rng r = weft_rng_seed((uint64_t)i);
        weft_arena *a = weft_arena_new();
        drawing d;
        problem p;

        open_problem(&p, draw_network(&d, &r), false, &r);
        for (int v = 0; v < p.steps->n; v++) {
            const weft_step *s = &p.steps->step[v];
            const weft_split *split;
            int node[64], n = weft_step_splits(p.steps, v, p.request.width, false, a, &split);

            if (p.graph->node[s->node[0]].phase != WEFT_FORWARD)
                continue;
            for (int k = 0; k < n; k++) {
                bool is_even = !split[k].is_scattered;

                for (int x = 0; x < s->n_axes; x++)
                    is_even = is_even && s->axis[x].extent % split[k].factor[x] == 0;
                is_even = is_even && s->n_nodes == 1; /* all may do what follows a sum */
                check_keys(&p, v, &split[k], node, nodes_of(&p, s, node), is_even);
                n_even += is_even;
            }
        }
        close_problem(&p);
        net_free(&d.f);
        weft_arena_free(a);
    }
    CHECK(n_even > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts_count_elements),
        cmocka_unit_test(choices_are_the_best_of_all_combinations),
        cmocka_unit_test(choices_are_the_splits_along_one_axis),
        cmocka_unit_test(members_share_the_work_backward_as_forward),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
