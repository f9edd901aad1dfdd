/* SPDX-License-Identifier: MIT */
/* Costs of units: one device does what the nodes of the graph cost, in units or not; wider blocks
 * share it as Megatron's scheme does; memory is what the graph says; training problems have tables
 * for what the machine has. */
#include "check.h"
#include "problem.h"

#define ITEMS(list) ((int)(sizeof(list) / sizeof *(list)))

/* --- a network in units, on devices ---------------------------------------------------------- */

typedef struct trained {
    weft_model *model;
    const weft_graph *graph;
    weft_blocks blocks;
    weft_steps *steps;
    bool is_sequence; /* measured with sequence parallelism */
    weft_platform *platform;
    weft_block_cost *cost;
    weft_block_state *state;
    weft_arena *arena;
} trained;

static trained opened(const char *source, const weft_model_options *options, const char *platform)
{
    trained t = {.arena = weft_arena_new()};
    weft_model_options o = *options;
    weft_block_options how;

    o.train = true;
    weft_options_default(weft_block_table, &how);
    CHECK_OK(weft_platform_open(platform, &t.platform));
    CHECK_OK(weft_model_open(source, &o, &t.model));
    t.graph = t.model->graph;
    CHECK_OK(weft_blocks_of(t.graph, &how, t.arena, &t.blocks));
    CHECK_OK(weft_steps_within(t.graph, t.blocks.of_node, &t.steps));
    t.cost = WEFT_NEW(t.arena, weft_block_cost, t.blocks.n_blocks);
    t.state = WEFT_NEW(t.arena, weft_block_state, t.blocks.n_blocks);
    return t;
}

static trained half(const char *source, int64_t batch, const char *platform)
{
    return opened(source,
                  &(weft_model_options){.batch = batch, .dtype = WEFT_F16, .optimizer = WEFT_ADAM},
                  platform);
}

static void closed(trained *t)
{
    weft_steps_free(t->steps);
    weft_model_free(t->model);
    weft_platform_free(t->platform);
    weft_arena_free(t->arena);
}

static bool measured_as(trained *t, const weft_design *design, int width, weft_link_cost inside)
{
    weft_block_request request = {.blocks = &t->blocks,
                                  .graph = t->graph,
                                  .steps = t->steps,
                                  .design = design,
                                  .width = width,
                                  .inside = inside,
                                  .is_sequence = t->is_sequence};

    return weft_block_costs(&request, t->arena, t->cost, t->state);
}

static bool measured(trained *t, int device, int width, weft_link_cost inside)
{
    return measured_as(t, t->platform->device[device].design, width, inside);
}

static const weft_link_cost nvlink = {2e-6, 300e9, 0, NULL, false};

static weft_block_cost cost_sum(const trained *t)
{
    weft_block_cost sum = {0};
    double *to = (double *)&sum;

    for (int q = 0; q < t->blocks.n_blocks; q++)
        for (size_t i = 0; i < sizeof sum / sizeof *to; i++)
            to[i] += ((const double *)&t->cost[q])[i];
    return sum;
}

static weft_block_state state_sum(const trained *t)
{
    weft_block_state sum = {0};
    double *to = (double *)&sum;

    for (int q = 0; q < t->blocks.n_blocks; q++)
        for (size_t i = 0; i < sizeof sum / sizeof *to; i++)
            to[i] += ((const double *)&t->state[q])[i];
    return sum;
}

/* --- one device ------------------------------------------------------------------------------ */

static void check_near(double value, double expected)
{
    CHECK(fabs(value - expected) <= 1e-9 * fabs(expected) + 1e-15);
}

/* Seconds of all nodes of a phase, from the table that placement uses. */
static double phase_s(const trained *t, const weft_costs *c, int device, weft_phase phase)
{
    double sum = 0;

    for (int u = 0; u < t->graph->n_nodes; u++)
        if (t->graph->node[u].phase == phase)
            sum += c->seconds[u * c->n_devices + device];
    return sum;
}

static double phase_bytes(const trained *t, const weft_costs *c, int device)
{
    double sum = 0;

    for (int u = 0; u < t->graph->n_nodes; u++)
        if (t->graph->node[u].phase != WEFT_UPDATE)
            sum += c->memory_bytes[u * c->n_devices + device];
    return sum;
}

static void check_seconds(trained *t, int device)
{
    const double *value = t->platform->device[device].design->value;
    weft_costs *c;
    weft_block_cost sum;

    CHECK_OK(weft_costs_new(t->graph, t->platform, &c));
    CHECK(measured(t, device, 1, nvlink));
    sum = cost_sum(t);
    check_near(sum.forward_s, phase_s(t, c, device, WEFT_FORWARD));
    check_near(sum.backward_s, phase_s(t, c, device, WEFT_BACKWARD));
    check_near(state_sum(t).update_s, phase_s(t, c, device, WEFT_UPDATE));
    check_near(sum.memory_s,
               phase_bytes(t, c, device) / (value[WEFT_P_BANDWIDTH] * value[WEFT_P_ETA]));
    CHECK(sum.forward_collective_s == 0 && sum.backward_collective_s == 0);
    for (int q = 0; q < t->blocks.n_blocks; q++) {
        const weft_block_cost *x = &t->cost[q];
        double all_s = (x->forward_s + x->backward_s) * (1 + 1e-12);

        CHECK(x->compute_s <= all_s && x->memory_s <= all_s);
        /* partial sums of split products pass the memory of a GPU beside operands and results */
        CHECK(all_s * (1 - 1e-9) <= x->compute_s + x->memory_s ||
              t->platform->device[device].design->model == WEFT_GPU);
    }
    weft_costs_free(c);
}

static double parameter_elements(const weft_graph *g)
{
    double sum = 0;

    for (int u = 0; u < g->n_nodes; u++)
        if (g->node[u].phase == WEFT_UPDATE)
            sum += (double)g->tensor[g->arg[g->arg_at[u]]].elements;
    return sum;
}

/* Weights that forward nodes of each unit read, once a unit. */
static double weight_bytes(const trained *t)
{
    const weft_graph *g = t->graph;
    double sum = 0;

    for (int w = 0; w < g->n_tensors; w++)
        for (int q = 0; q < t->blocks.n_blocks && g->tensor[w].kind == WEFT_WEIGHT; q++) {
            bool is_read = false;

            for (int i = g->use_at[w]; i < g->use_at[w + 1]; i++)
                is_read = is_read || (t->blocks.of_node[g->use[i]] == q &&
                                      g->node[g->use[i]].phase == WEFT_FORWARD);
            sum += is_read ? (double)g->tensor[w].bytes : 0;
        }
    return sum;
}

static void check_state(trained *t, double moment_bytes)
{
    weft_block_state sum = state_sum(t);
    double shared = 0, n = parameter_elements(t->graph);

    for (int i = 0; i < t->blocks.n_shared; i++)
        shared += (double)t->graph->tensor[t->blocks.shared[i].tensor].bytes;
    check_near(sum.weight_bytes, weight_bytes(t));
    check_near(sum.moment_bytes, n * moment_bytes);
    check_near(sum.gradient_bytes - sum.sync_bytes, shared);
    CHECK(sum.gradient_bytes <= sum.weight_bytes);
}

static const char *const networks[] = {
    "gpt2:layers=12,hidden=64,heads=8,seq=32,vocab=100",
    "llama:layers=12,hidden=64,heads=8,seq=16,vocab=100",
    "bert:layers=2,hidden=64,heads=4,seq=32,vocab=100",
    "t5:layers=2,hidden=64,heads=4",
    "moe:layers=2,hidden=64,heads=4,seq=32,vocab=100",
    "resnet50",
    "inception_v3",
    "unet",
    "densenet121",
    "gnmt",
    "lstm",
    "dlrm",
};

TEST(one_device_does_what_the_nodes_cost)
{
    static const struct {
        const char *platform;
        int device;
    } machines[] = {
        {"cluster-32",  0},
        {"mixed-fleet", 6},
        {"tpu-v2",      0}
    };

    for (int i = 0; i < ITEMS(networks); i++)
        for (int m = 0; m < ITEMS(machines); m++) {
            trained t = half(networks[i], 2, machines[m].platform);

            check_seconds(&t, machines[m].device);
            check_state(&t, 12);
            closed(&t);
        }
}

TEST(optimizers_keep_their_moments)
{
    static const struct {
        weft_optimizer optimizer;
        weft_dtype dtype;
        double bytes;
    } cases[] = {
        {WEFT_ADAM,     WEFT_F32,  8 },
        {WEFT_ADAM,     WEFT_BF16, 12},
        {WEFT_MOMENTUM, WEFT_F32,  4 },
        {WEFT_MOMENTUM, WEFT_F16,  8 },
        {WEFT_SGD,      WEFT_F32,  0 },
        {WEFT_SGD,      WEFT_F16,  4 }
    };

    for (int i = 0; i < ITEMS(cases); i++) {
        trained t =
            opened(networks[0],
                   &(weft_model_options){
                       .batch = 1, .dtype = cases[i].dtype, .optimizer = cases[i].optimizer},
                   "cluster-32");

        CHECK(measured(&t, 0, 1, nvlink));
        check_state(&t, cases[i].bytes);
        closed(&t);
    }
}

/* --- memory ---------------------------------------------------------------------------------- */

static bool is_value(const weft_graph *g, int t)
{
    return t >= 0 && g->tensor[t].kind != WEFT_WEIGHT && g->tensor[t].kind != WEFT_STATE &&
           (g->tensor[t].producer < 0 || g->node[g->tensor[t].producer].phase == WEFT_FORWARD);
}

static int root_of(const weft_graph *g, int t)
{
    int u = g->tensor[t].producer;
    const weft_op *op = u < 0 ? NULL : weft_op_find(g->node[u].domain, g->node[u].op);

    return op && op->fusion == WEFT_FUSE_VIEW ? root_of(g, g->arg[g->arg_at[u]]) : t;
}

/* Bytes of what forward nodes of a unit read and others made, each root once. */
static double entering_bytes(const trained *t, int unit)
{
    const weft_graph *g = t->graph;
    bool *is_seen = WEFT_NEW(t->arena, bool, g->n_tensors);
    double sum = 0;

    for (int u = 0; u < g->n_nodes; u++)
        for (int i = g->arg_at[u]; g->node[u].phase == WEFT_FORWARD &&
                                   t->blocks.of_node[u] == unit && i < g->arg_at[u + 1];
             i++) {
            int x = g->arg[i], from = is_value(g, x) ? g->tensor[x].producer : -2;

            if (from == -2 || (from >= 0 && t->blocks.of_node[from] == unit))
                continue;
            x = root_of(g, x);
            if (is_value(g, x) && !is_seen[x])
                sum += (double)g->tensor[x].bytes;
            is_seen[x] = true;
        }
    return sum;
}

/* The stash of a chain of blocks is that of the graph; what enters is kept by the full policy. */
TEST(stash_is_what_backward_reads)
{
    for (int i = 0; i < ITEMS(networks); i++) {
        trained t = half(networks[i], 2, "cluster-32");
        double all = (double)weft_graph_stash_bytes(t.graph);

        CHECK(measured(&t, 0, 1, nvlink));
        CHECK(cost_sum(&t).stash_bytes[WEFT_KEEP_ALL] >= all);
        if (strncmp(networks[i], "gpt2", 4) == 0 || strncmp(networks[i], "llama", 5) == 0)
            check_near(cost_sum(&t).stash_bytes[WEFT_KEEP_ALL], all);
        for (int q = 0; q < t.blocks.n_blocks; q++) {
            const weft_block_cost *x = &t.cost[q];

            if (x->backward_s > 0) {
                check_near(x->stash_bytes[WEFT_KEEP_NONE], entering_bytes(&t, q));
                check_near(x->again_s[WEFT_KEEP_NONE], x->forward_s);
            }
            CHECK(x->again_s[WEFT_KEEP_ALL] == 0);
            CHECK(x->again_s[WEFT_KEEP_SOME] <= x->forward_s * (1 + 1e-12));
            CHECK(x->stash_bytes[WEFT_KEEP_SOME] >= x->stash_bytes[WEFT_KEEP_NONE]);
        }
        closed(&t);
    }
}

/* Selective recomputation drops the scores of attention, sequence x sequence, and does no product
 * with weights again. */
TEST(selective_recomputation_drops_scores)
{
    trained t = half("gpt2:layers=12,hidden=256,heads=8,seq=1024,vocab=100", 1, "cluster-32");
    double scores = 8.0 * 1024 * 1024 * 2;
    weft_block_cost sum;

    CHECK(measured(&t, 0, 1, nvlink));
    sum = cost_sum(&t);
    CHECK(sum.stash_bytes[WEFT_KEEP_ALL] - sum.stash_bytes[WEFT_KEEP_SOME] >= 12 * scores);
    CHECK(sum.stash_bytes[WEFT_KEEP_SOME] < 12 * scores);
    CHECK(sum.again_s[WEFT_KEEP_SOME] < sum.again_s[WEFT_KEEP_NONE]);
    closed(&t);
}

/* Largest gradient that a backward node of the unit makes for a value: it is there in the end. */
static double largest_gradient(const trained *t, int unit)
{
    const weft_graph *g = t->graph;
    double most = 0;

    for (int u = 0; u < g->n_nodes; u++) {
        int f = g->node[u].forward;

        for (int i = 0;
             f >= 0 && t->blocks.of_node[u] == unit && i < g->arg_at[f + 1] - g->arg_at[f]; i++)
            if (g->res[g->res_at[u] + i] >= 0 && is_value(g, g->arg[g->arg_at[f] + i]))
                most = fmax(most, (double)g->tensor[g->res[g->res_at[u] + i]].bytes);
    }
    return most;
}

static double unit_bytes(const trained *t, int unit)
{
    const weft_graph *g = t->graph;
    double sum = 0;

    for (int x = 0; x < g->n_tensors; x++) {
        bool is_here =
            g->tensor[x].producer >= 0 && t->blocks.of_node[g->tensor[x].producer] == unit;

        for (int i = g->use_at[x]; i < g->use_at[x + 1]; i++)
            is_here = is_here || t->blocks.of_node[g->use[i]] == unit;
        if (is_here && g->tensor[x].kind != WEFT_WEIGHT && g->tensor[x].kind != WEFT_STATE)
            sum += (double)g->tensor[x].bytes;
    }
    return sum;
}

TEST(work_is_between_one_tensor_and_all)
{
    for (int i = 0; i < ITEMS(networks); i++) {
        trained t = half(networks[i], 2, "cluster-32");

        CHECK(measured(&t, 0, 1, nvlink));
        for (int q = 0; q < t.blocks.n_blocks; q++)
            for (int r = 0; r < WEFT_N_RECOMPUTES; r++) {
                CHECK(t.cost[q].work_bytes[r] >= largest_gradient(&t, q));
                CHECK(t.cost[q].work_bytes[r] <= 2 * unit_bytes(&t, q));
            }
        closed(&t);
    }
}

/* --- wider blocks ---------------------------------------------------------------------------- */

/* Members share the work: none has less than its part. */
TEST(no_member_has_less_than_its_part)
{
    for (int i = 0; i < ITEMS(networks); i++) {
        trained t = half(networks[i], 2, "cluster-32");
        weft_block_cost *alone = WEFT_NEW(t.arena, weft_block_cost, t.blocks.n_blocks);
        weft_block_state *held = WEFT_NEW(t.arena, weft_block_state, t.blocks.n_blocks);

        CHECK(measured(&t, 0, 1, nvlink));
        memcpy(alone, t.cost, sizeof *alone * (size_t)t.blocks.n_blocks);
        memcpy(held, t.state, sizeof *held * (size_t)t.blocks.n_blocks);
        for (int width = 2; width <= 8; width *= 2) {
            CHECK(measured(&t, 0, width, nvlink));
            for (int q = 0; q < t.blocks.n_blocks; q++) {
                const weft_block_cost *x = &t.cost[q];
                double part = (1 - 1e-9) / width;

                CHECK(isfinite(x->forward_s) && isfinite(x->backward_s));
                CHECK(x->forward_s - x->forward_collective_s >= alone[q].forward_s * part);
                CHECK(x->backward_s - x->backward_collective_s >= alone[q].backward_s * part);
                CHECK(x->compute_s >= alone[q].compute_s * part);
                CHECK(t.state[q].weight_bytes >= held[q].weight_bytes * part);
                CHECK(t.state[q].weight_bytes <= held[q].weight_bytes * (1 + 1e-9));
                CHECK(t.state[q].moment_bytes <= held[q].moment_bytes * (1 + 1e-9));
                CHECK(t.state[q].update_s >= held[q].update_s * part);
                for (int r = 0; r < WEFT_N_RECOMPUTES; r++)
                    CHECK(x->stash_bytes[r] >= alone[q].stash_bytes[r] * part);
            }
        }
        closed(&t);
    }
}

/* What one more layer costs a member, if layers are cut into two units or none. */
typedef struct layer {
    weft_block_cost cost;
    weft_block_state state;
} layer;

static void subtract(double *from, const double *what, size_t n)
{
    for (size_t i = 0; i < n; i++)
        from[i] -= what[i];
}

static layer layer_of(const char *format, int64_t batch, int width, bool is_sequence,
                      weft_link_cost inside)
{
    layer l[2];

    for (int i = 0; i < 2; i++) {
        weft_arena *a = weft_arena_new();
        trained t = half(weft_arena_print(a, "%s,layers=%d", format, 16 + i), batch, "cluster-32");

        /* A roofline without overhead: a part of the work takes that part of the time. */
        weft_design free_starts = {.name = "gpu", .model = WEFT_ROOFLINE};

        t.is_sequence = is_sequence;
        free_starts.value[WEFT_P_FLOPS] = 312e12;
        free_starts.value[WEFT_P_BANDWIDTH] = 2039e9;
        free_starts.value[WEFT_P_ETA] = 0.8;
        for (int f = 0; f < WEFT_N_FAMILIES; f++)
            free_starts.efficiency[f] = 0.6;
        CHECK(measured_as(&t, &free_starts, width, inside));
        l[i].cost = cost_sum(&t);
        l[i].state = state_sum(&t);
        closed(&t);
        weft_arena_free(a);
    }
    subtract((double *)&l[1].cost, (const double *)&l[0].cost, sizeof l[0].cost / sizeof(double));
    subtract((double *)&l[1].state, (const double *)&l[0].state,
             sizeof l[0].state / sizeof(double));
    return l[1];
}

static void check_close(double value, double expected, double tolerance)
{
    CHECK(fabs(value - expected) <= tolerance * fabs(expected));
}

/* Shoeybi et al. 2019: columns, then rows, heads apart: two all-reduces of batch x sequence x
 * hidden elements forward and two backward, matrices and heads cut by the width. */
static void check_megatron(const char *format, int64_t batch, double elements, double matrices)
{
    weft_link_cost inside = {0, 300e9, 0, NULL, false}; /* no latency: seconds are bytes */
    layer alone = layer_of(format, batch, 1, false, inside);
    double mask_bytes = alone.state.weight_bytes - alone.state.gradient_bytes;

    for (int width = 2; width <= 8; width *= 2) {
        layer l = layer_of(format, batch, width, false, inside);
        double all_reduce_bytes = 2 * (width - 1.0) / width * 2 * elements;

        check_close(l.cost.forward_collective_s * inside.bytes_per_s, 2 * all_reduce_bytes, 1e-3);
        check_close(l.cost.backward_collective_s * inside.bytes_per_s, 2 * all_reduce_bytes, 1e-3);
        check_close(l.state.gradient_bytes, 2 * matrices / width, 0.01);
        check_close(l.state.moment_bytes, 12 * matrices / width, 0.01);
        check_close(l.state.update_s, alone.state.update_s / width, 0.01);
        check_close(l.cost.compute_s, alone.cost.compute_s / width, 0.02);
        check_close(l.state.weight_bytes - l.state.gradient_bytes, mask_bytes, 1e-9);
        CHECK(l.cost.stash_bytes[WEFT_KEEP_ALL] <=
              alone.cost.stash_bytes[WEFT_KEEP_ALL] / width + 8 * 2 * elements);
    }
}

TEST(transformer_layers_are_cut_as_in_megatron)
{
    double h = 2048, s = 1024;

    for (int64_t batch = 1; batch <= 4; batch *= 4)
        check_megatron("gpt2:hidden=2048,heads=16,seq=1024,vocab=512", batch, (double)batch * s * h,
                       12 * h * h);
}

/* Queries, keys and values apart, gates and values apart: their gradients are added up first. */
TEST(gradients_of_several_readers_are_summed_once)
{
    double h = 2048, ffn = 5632, s = 1024;

    check_megatron("llama:hidden=2048,heads=16,seq=1024,vocab=512,ffn=5632", 1, s * h,
                   4 * h * h + 3 * h * ffn);
}

/* Korthikanti et al. 2023: a reduce-scatter and an all-gather in place of each all-reduce, and all
 * that is kept and done lies in parts. Vectors of norms and biases sum gradients besides. */
static void check_sequence(const char *format, double elements, double matrices)
{
    weft_link_cost inside = {0, 300e9, 0, NULL, false};
    layer alone = layer_of(format, 1, 1, false, inside);

    for (int width = 2; width <= 8; width *= 2) {
        layer l = layer_of(format, 1, width, true, inside);
        double gather_bytes = (width - 1.0) / width * 2 * elements;

        check_close(l.cost.forward_collective_s * inside.bytes_per_s, 4 * gather_bytes, 1e-3);
        check_close(l.cost.backward_collective_s * inside.bytes_per_s, 4 * gather_bytes, 0.02);
        check_close(l.cost.compute_s, alone.cost.compute_s / width, 0.02);
        check_close(l.cost.forward_s - l.cost.forward_collective_s, alone.cost.forward_s / width,
                    0.02);
        /* products read all of what is gathered */
        check_close(l.cost.backward_s - l.cost.backward_collective_s, alone.cost.backward_s / width,
                    0.1);
        check_close(l.cost.stash_bytes[WEFT_KEEP_ALL],
                    alone.cost.stash_bytes[WEFT_KEEP_ALL] / width, 0.02);
        check_close(l.cost.stash_bytes[WEFT_KEEP_NONE],
                    alone.cost.stash_bytes[WEFT_KEEP_NONE] / width, 0.02);
        check_close(l.state.gradient_bytes, 2 * matrices / width, 0.01);
    }
}

TEST(sequence_parallel_layers_keep_their_parts)
{
    double h = 2048, ffn = 5632, s = 1024;

    check_sequence("gpt2:hidden=2048,heads=16,seq=1024,vocab=512", s * h, 12 * h * h);
    check_sequence("llama:hidden=2048,heads=16,seq=1024,vocab=512,ffn=5632", s * h,
                   4 * h * h + 3 * h * ffn);
}

/* What is in no parts, images and sequences that the width does not divide, stays as it is; so does
 * a block of one device. */
TEST(without_a_sequence_nothing_changes)
{
    static const char *const nets[] = {"resnet50", "gpt2:layers=2,seq=1023,hidden=256,heads=8"};

    for (int i = 0; i < 2; i++) {
        trained t = half(nets[i], 1, "cluster-32");
        weft_block_cost *with = WEFT_NEW(t.arena, weft_block_cost, t.blocks.n_blocks);

        for (int width = 1; width <= 2; width++) {
            t.is_sequence = true;
            CHECK(measured(&t, 0, width, nvlink));
            memcpy(with, t.cost, sizeof *with * (size_t)t.blocks.n_blocks);
            t.is_sequence = false;
            CHECK(measured(&t, 0, width, nvlink));
            CHECK(memcmp(with, t.cost, sizeof *with * (size_t)t.blocks.n_blocks) == 0);
        }
        closed(&t);
    }
}

/* A slow link makes copies of everything the best; a block without links must do so. */
TEST(members_without_links_cut_nothing)
{
    trained t = half(networks[0], 1, "cluster-32");

    CHECK(measured(&t, 0, 1, (weft_link_cost){0}));
    CHECK(!measured(&t, 0, 4, (weft_link_cost){0}));
    closed(&t);
}

TEST(unsupported_operators_are_said)
{
    static const char text[] = "schema: weft.platform/1\n"
                               "name: p\n"
                               "devices:\n"
                               "  - {name: a, model: roofline, peak_flops: 1e12,\n"
                               "     memory_bandwidth: 1GB/s, memory: 1GB, only: [MatMul]}\n";
    trained t = half(networks[0], 1, "cluster-32");
    weft_platform *p;

    CHECK_OK(weft_platform_parse(text, sizeof text - 1, "p.yaml", &p));
    weft_platform_free(t.platform);
    t.platform = p;
    CHECK(!measured(&t, 0, 1, nvlink));
    CHECK(!measured(&t, 0, 2, nvlink));
    closed(&t);
}

/* A step that is in two units cannot be cut. */
TEST(steps_of_two_units_are_refused)
{
    trained t = half(networks[0], 1, "cluster-32");
    int *of_node = WEFT_NEW(t.arena, int, t.graph->n_nodes);
    int n_long = 0;

    for (int u = 0; u < t.graph->n_nodes; u++)
        of_node[u] = t.blocks.of_node[u];
    for (int v = 0; v < t.steps->n && n_long == 0; v++)
        if (t.steps->step[v].n_nodes > 1 && of_node[t.steps->step[v].node[0]] > 0) {
            of_node[t.steps->step[v].node[0]] = 0;
            n_long++;
        }
    CHECK_INT(n_long, 1);
    t.blocks.of_node = of_node;
    CHECK(!measured(&t, 0, 1, nvlink));
    closed(&t);
}

/* --- training problems ----------------------------------------------------------------------- */

static weft_train_problem *problem(const char *source, const char *platform,
                                   weft_train_constraints request, weft_platform **p)
{
    weft_model_options o = {.dtype = WEFT_F16, .optimizer = WEFT_ADAM};
    weft_train_problem *t;

    request.schedules = request.recomputes = 1;
    CHECK_OK(weft_platform_open(platform, p));
    CHECK_OK(weft_train_problem_new(source, &o, *p, &request, &t));
    return t;
}

static void check_list(const int64_t *value, int n, const int64_t *expected, int n_expected)
{
    CHECK_INT(n, n_expected);
    for (int i = 0; i < n; i++)
        CHECK_INT(value[i], expected[i]);
}

TEST(problems_have_tables_for_what_the_machine_has)
{
    weft_platform *p;
    weft_train_problem *t = problem(networks[1], "mixed-fleet",
                                    (weft_train_constraints){.batch = 64}, &p),
                       *again;
    weft_platform *q;

    check_list(t->share, t->n_shares, (const int64_t[]){1, 2, 3, 4, 6, 8, 12, 16}, 8);
    CHECK_INT(t->n_widths, 3);
    CHECK_INT(t->width[2], 4);
    CHECK_INT(t->cluster->n_classes, 3);
    for (int c = 0; c < 3; c++)
        for (int w = 0; w < 3; w++) {
            bool has_room = weft_class_blocks(&t->cluster->classes[c], t->width[w]) > 0;

            for (int s = 0; s < t->n_shares; s++) {
                CHECK((t->cost[weft_train_problem_table(t, c, w, s)] != NULL) == has_room);
                CHECK((t->state[weft_train_problem_table(t, c, w, s)] != NULL) == has_room);
            }
        }
    for (int s = 1; s < t->n_shares; s++) { /* more samples take longer and more room */
        const weft_block_cost *x =
            &t->cost_sum[weft_train_problem_table(t, 0, 0, s)][t->blocks.n_cuts - 1];
        const weft_block_cost *y =
            &t->cost_sum[weft_train_problem_table(t, 0, 0, s - 1)][t->blocks.n_cuts - 1];
        double ratio = (double)t->share[s] / (double)t->share[s - 1];

        CHECK(x->forward_s > y->forward_s && x->forward_s <= y->forward_s * ratio * (1 + 1e-9));
        check_close(x->stash_bytes[0], y->stash_bytes[0] * ratio, 1e-9);
    }
    again = problem(networks[1], "mixed-fleet", (weft_train_constraints){.batch = 64}, &q);
    CHECK(again->hash == t->hash);
    weft_train_problem_free(again);
    weft_platform_free(q);
    again = problem(networks[1], "mixed-fleet", (weft_train_constraints){.batch = 32}, &q);
    CHECK(again->hash != t->hash);
    weft_train_problem_free(again);
    weft_platform_free(q);
    weft_train_problem_free(t);
    weft_platform_free(p);
}

TEST(shares_and_widths_are_those_asked_for)
{
    weft_platform *p;
    weft_train_problem *t =
        problem(networks[0], "cluster-32",
                (weft_train_constraints){.batch = 12, .microbatch = 6, .most_width = 3}, &p);

    check_list(t->share, t->n_shares, (const int64_t[]){1, 2, 3, 6}, 4);
    CHECK_INT(t->n_widths, 2);
    CHECK_INT(t->n_warnings, 0);
    CHECK(t->blocks.of_node != NULL);
    weft_train_problem_free(t);
    weft_platform_free(p);
}

/* The bias of positions is broadcast over samples: with several it has one more gradient. The token
 * of the class is repeated for each: with several that is one more operator. */
TEST(networks_may_differ_with_one_sample)
{
    const char *source[] = {networks[3], "vit_b_16"};

    for (int i = 0; i < 2; i++) {
        weft_platform *p;
        weft_train_problem *t =
            problem(source[i], "cluster-32", (weft_train_constraints){.batch = 4}, &p);

        check_list(t->share, t->n_shares, (const int64_t[]){1, 2, 4}, 3);
        for (int k = 0; k < 2; k++) { /* nothing is lost, and nothing comes twice */
            trained n = half(source[i], t->share[1 + k], "cluster-32");

            CHECK(measured(&n, 0, 1, nvlink));
            check_close(t->cost_sum[1 + k][t->blocks.n_cuts - 1].forward_s, cost_sum(&n).forward_s,
                        1e-9);
            check_close(t->cost_sum[1 + k][t->blocks.n_cuts - 1].backward_s,
                        cost_sum(&n).backward_s, 1e-9);
            closed(&n);
        }
        weft_train_problem_free(t);
        weft_platform_free(p);
    }
}

/* The file joins a constant of one sample to its values: it works on one at a time only. */
TEST(networks_for_one_sample_say_so)
{
    weft_platform *p;
    weft_train_problem *t = problem(WEFT_TEST_DATA "/models/vit_b_16.onnx", "cluster-32",
                                    (weft_train_constraints){.batch = 4, .most_width = 1}, &p);

    CHECK_INT(t->n_shares, 1);
    CHECK_INT(t->n_warnings, 1);
    CHECK(strstr(t->warning[0], "up to 1 sample at once") != NULL);
    weft_train_problem_free(t);
    weft_platform_free(p);
}

/* A batch that has a name is that of the share; one that is given by that name is one sample. */
TEST(networks_with_a_symbolic_batch_get_any)
{
    const char *source = WEFT_TEST_DATA "/models/resnet50_dynN.onnx";
    weft_dim_binding four = {"N", 4};
    weft_model_options o = {.dtype = WEFT_F16, .optimizer = WEFT_ADAM, .n_dims = 1, .dim = &four};
    weft_train_constraints request = {.batch = 4, .schedules = 1, .recomputes = 1, .most_width = 1};
    weft_platform *p;
    weft_train_problem *t = problem(source, "cluster-32", request, &p), *fixed;

    check_list(t->share, t->n_shares, (const int64_t[]){1, 2, 4}, 3);
    CHECK_INT(t->n_warnings, 0);
    CHECK_OK(weft_train_problem_new(source, &o, p, &request, &fixed));
    CHECK_INT(fixed->n_shares, 1);
    CHECK_INT(fixed->n_warnings, 1);
    CHECK(strstr(fixed->warning[0], "counts as one sample") != NULL);
    check_close(fixed->cost_sum[0][fixed->blocks.n_cuts - 1].forward_s,
                t->cost_sum[2][t->blocks.n_cuts - 1].forward_s, 1e-9);
    weft_train_problem_free(fixed);
    weft_train_problem_free(t);
    weft_platform_free(p);
}

/* 80 GB hold no unit of this one with four samples, even if all is computed again. */
TEST(shares_that_fit_nowhere_are_left_out)
{
    weft_platform *p;
    weft_train_problem *t =
        problem("gpt2:layers=1,hidden=256,heads=64,seq=16384,vocab=100", "cluster-32",
                (weft_train_constraints){.batch = 64, .most_width = 1}, &p);

    CHECK(t->n_shares >= 1 && t->n_shares < 5);
    weft_train_problem_free(t);
    weft_platform_free(p);
}

/* --- work taken apart ------------------------------------------------------------------------ */

/* Seconds of a kind of units from its jobs and collectives. */
static weft_block_cost put_together(const weft_block_work *w, const weft_block_kind *k,
                                    const weft_design *d, double *update_s)
{
    weft_block_cost c = {.forward_s = k->cost.forward_collective_s,
                         .backward_s = k->cost.backward_collective_s};
    double *again_s = &c.again_s[WEFT_KEEP_SOME];

    *again_s = k->again_collective_s;
    *update_s = 0;
    for (int i = 0; i < k->n_jobs; i++) {
        const weft_block_job *j = &k->job[i];
        double s = j->count * weft_design_cost(d, &w->key[j->key]).seconds;

        *(j->phase == WEFT_FORWARD    ? &c.forward_s
          : j->phase == WEFT_BACKWARD ? &c.backward_s
                                      : update_s) += s;
        *again_s += j->is_again ? s : 0;
    }
    return c;
}

TEST(work_taken_apart_costs_the_same)
{
    const char *source[] = {"gpt2:layers=3,hidden=256,heads=8,seq=128,vocab=1000", "resnet18",
                            "bert:layers=2,hidden=256,heads=4,seq=128,vocab=100"};

    for (int i = 0; i < ITEMS(source); i++)
        for (int width = 1; width <= 4; width *= 2) {
            trained t = half(source[i], 2, "cluster-32");
            weft_block_request request = {.blocks = &t.blocks,
                                          .graph = t.graph,
                                          .steps = t.steps,
                                          .design = t.platform->device[0].design,
                                          .width = width,
                                          .inside = nvlink};
            weft_block_work w;

            CHECK(measured(&t, 0, width, nvlink));
            CHECK(weft_block_work_of(&request, t.arena, &w));
            CHECK(w.n_kinds > 0 && w.n_kinds <= t.blocks.n_blocks);
            for (int q = 0; q < t.blocks.n_blocks; q++) {
                const weft_block_kind *k = &w.kind[w.kind_of[q]];
                double update_s;
                weft_block_cost c = put_together(&w, k, request.design, &update_s);

                check_close(c.forward_s, t.cost[q].forward_s, 1e-9);
                check_close(c.backward_s, t.cost[q].backward_s, 1e-9);
                check_close(update_s, t.state[q].update_s, 1e-9);
                if (t.cost[q].backward_s > 0)
                    check_close(c.again_s[WEFT_KEEP_SOME], t.cost[q].again_s[WEFT_KEEP_SOME], 1e-9);
                CHECK(memcmp(&k->cost, &t.cost[q], sizeof k->cost) == 0);
                CHECK(memcmp(&k->state, &t.state[q], sizeof k->state) == 0);
            }
            closed(&t);
        }
}

/* Of two layers: one mask of the scores of 12 heads, two of the stream; and one of the embedding. */
TEST(dropout_keeps_a_byte_for_each_element)
{
    double stream = 1024.0 * 768, scores = 12 * 1024.0 * 1024, masks = 2 * (scores + 2 * stream);
    double stash[2][WEFT_N_RECOMPUTES];

    for (int dropout = 0; dropout < 2; dropout++) {
        trained t = half(dropout ? "gpt2:layers=2,dropout=1" : "gpt2:layers=2", 1, "dgx-a100");

        CHECK(measured(&t, 1, 1, nvlink));
        for (int r = 0; r < WEFT_N_RECOMPUTES; r++)
            stash[dropout][r] = cost_sum(&t).stash_bytes[r];
        closed(&t);
    }
    check_near(stash[1][WEFT_KEEP_ALL], stash[0][WEFT_KEEP_ALL] + masks + stream);
    CHECK(stash[1][WEFT_KEEP_SOME] <= stash[0][WEFT_KEEP_SOME] + masks + stream);
    check_near(stash[1][WEFT_KEEP_NONE], stash[0][WEFT_KEEP_NONE]);
}

/* 2, 4 or 2 bytes of gradients, 12 of copies and moments, and 4 more in the last. */
TEST(recipes_say_what_a_parameter_takes)
{
    static const double gradient[] = {2, 4, 2}, moments[] = {12, 12, 16};
    trained t = half("gpt2:layers=2", 1, "dgx-a100");

    for (int r = 0; r < WEFT_N_RECIPES; r++) {
        weft_block_request request = {.blocks = &t.blocks,
                                      .graph = t.graph,
                                      .steps = t.steps,
                                      .design = t.platform->device[1].design,
                                      .width = 1,
                                      .inside = nvlink,
                                      .recipe = (weft_recipe)r};
        double weights = 0, gradients = 0, kept = 0, sums = 0;

        CHECK(weft_block_costs(&request, t.arena, t.cost, t.state));
        for (int q = 0; q < t.blocks.n_blocks; q++) {
            weights += t.state[q].sync_bytes / gradient[r];
            gradients += t.state[q].gradient_bytes;
            kept += t.state[q].moment_bytes;
            sums += t.state[q].sync_bytes;
        }
        check_near(kept, moments[r] * weights);
        CHECK(gradients >= sums); /* a tied parameter has them twice, and sums them once */
        check_near(weights, 53561088);
    }
    closed(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_device_does_what_the_nodes_cost),
        cmocka_unit_test(optimizers_keep_their_moments),
        cmocka_unit_test(stash_is_what_backward_reads),
        cmocka_unit_test(selective_recomputation_drops_scores),
        cmocka_unit_test(work_is_between_one_tensor_and_all),
        cmocka_unit_test(no_member_has_less_than_its_part),
        cmocka_unit_test(transformer_layers_are_cut_as_in_megatron),
        cmocka_unit_test(gradients_of_several_readers_are_summed_once),
        cmocka_unit_test(sequence_parallel_layers_keep_their_parts),
        cmocka_unit_test(without_a_sequence_nothing_changes),
        cmocka_unit_test(members_without_links_cut_nothing),
        cmocka_unit_test(unsupported_operators_are_said),
        cmocka_unit_test(steps_of_two_units_are_refused),
        cmocka_unit_test(problems_have_tables_for_what_the_machine_has),
        cmocka_unit_test(shares_and_widths_are_those_asked_for),
        cmocka_unit_test(networks_may_differ_with_one_sample),
        cmocka_unit_test(networks_for_one_sample_say_so),
        cmocka_unit_test(networks_with_a_symbolic_batch_get_any),
        cmocka_unit_test(shares_that_fit_nowhere_are_left_out),
        cmocka_unit_test(work_taken_apart_costs_the_same),
        cmocka_unit_test(dropout_keeps_a_byte_for_each_element),
        cmocka_unit_test(recipes_say_what_a_parameter_takes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
