/* SPDX-License-Identifier: MIT */
/* evaluation.c: a training step on designs.
 *
 * 1. Nodes are fused into operators (weft_eval_fuse.c), operators with equal work are one class.
 * 2. The network is cut into a series of blocks, equal ones are one block (eval_blocks.c).
 * 3. For a design: times of the classes from memoised tables (eval_time.c), a schedule of each
 *    different block (eval_list.c),
 *
 *      step = max( sum over blocks of copies * makespan,  bytes of all operators / (eta BW),
 *                  bytes of all operators through the port of the buffer / (derate f port) )    [s]
 *
 * Times assume that an operator has all of the memory's bandwidth and all of the buffer's port; the
 * other terms are the floor that this leaves out. Bounds: eval_bound.c. */
#include "workload_eval.h"

#include "arrays.h"

#include <math.h>

/* --- making one */

enum { MOST_CORES = 65536 };

static weft_status check_counts(const weft_template *t, weft_parameter k)
{
    for (int i = 0; i < t->n_sizes[k]; i++)
        if (!(t->size[k][i] >= 1 && t->size[k][i] <= MOST_CORES &&
              floor(t->size[k][i]) == t->size[k][i]))
            return weft_fail(WEFT_E_INPUT,
                             "template '%s': %s is %g, must be a whole number from 1 to %d",
                             t->name, weft_parameter_name(k), t->size[k][i], MOST_CORES);
    return WEFT_OK;
}

/* Multiply-accumulates and element cycles of an operator of each class. */
static void add_work(const weft_eval_class *c, double *macs, double *elements)
{
    for (int i = 0; i < c->n_keys; i++) {
        for (int k = 0; k < c->key[i]->n_layers; k++)
            *macs += weft_layer_macs(&c->key[i]->layer[k]);
        if (c->kind == WEFT_EVAL_BOTH || c->kind == WEFT_EVAL_VECTOR)
            *elements += weft_cycles_vector(c->key[i], 1);
    }
}

static void count_work(weft_workload_eval *m)
{
    const weft_eval_ops *o = &m->ops;

    m->class_count = WEFT_NEW(m->arena, int, o->n_classes + 1);
    m->kind = WEFT_NEW(m->arena, weft_eval_kind, o->n_classes + 1);
    for (int c = 0; c < o->n_classes; c++)
        m->kind[c] = o->class_[c].kind;
    for (int u = 0; u < o->n; u++)
        m->class_count[o->of_class[u]]++;
    for (int i = 0; i < m->series.n_blocks; i++) {
        weft_eval_block *b = &m->series.of[i];

        for (int k = 0; k < b->n; k++)
            add_work(&o->class_[b->of_class[k]], &b->macs, &b->elements);
        m->macs += b->n_copies * b->macs;
    }
}

/* State of what is updated, other weights as they are, activations that backward nodes read. */
double weft_train_problem_bytes(const weft_graph *g, const weft_template *t)
{
    double bytes = (double)weft_graph_stash_bytes(g);

    for (int i = 0; i < g->n_tensors; i++) {
        bool is_updated = false;

        if (g->tensor[i].kind != WEFT_WEIGHT)
            continue;
        for (int k = g->use_at[i]; k < g->use_at[i + 1]; k++)
            is_updated = is_updated || g->node[g->use[k]].phase == WEFT_UPDATE;
        bytes += is_updated ? t->state_bytes * (double)g->tensor[i].elements
                            : (double)g->tensor[i].bytes;
    }
    return bytes;
}

static void make_room(weft_workload_eval *m)
{
    int most = m->series.most + 1, n = m->ops.n + 1, words = weft_bits_words(most);
    weft_arena *a = m->arena;

    m->room = (weft_eval_room){.lat_s = WEFT_NEW(a, double, most),
                               .bottom_s = WEFT_NEW(a, double, most),
                               .top_s = WEFT_NEW(a, double, most),
                               .start_s = WEFT_NEW(a, double, most),
                               .run_end_s = WEFT_NEW(a, double, most),
                               .n_tensor = WEFT_NEW(a, int, most),
                               .n_vector = WEFT_NEW(a, int, most),
                               .order = WEFT_NEW(a, int, most),
                               .rank = WEFT_NEW(a, int, most),
                               .n_in = WEFT_NEW(a, int, most),
                               .run = WEFT_NEW(a, int, most),
                               .way = WEFT_NEW(a, uint8_t, most),
                               .best_way = WEFT_NEW(a, uint8_t, most),
                               .tried = WEFT_NEW(a, uint8_t, most * WEFT_EVAL_MOST_TRIES),
                               .bound_s = WEFT_NEW(a, double, WEFT_EVAL_MOST_TRIES),
                               .ready = WEFT_NEW(a, uint64_t, words),
                               .of_kind = WEFT_NEW(a, uint64_t, words * WEFT_EVAL_N_KINDS),
                               .op_top_s = WEFT_NEW(a, double, n),
                               .op_bottom_s = WEFT_NEW(a, double, n),
                               .head_s = WEFT_NEW(a, double, n),
                               .load = WEFT_NEW(a, weft_eval_load, n)};
}

/* Of the kernels of the software only attention is used: eval_fuse.c has rules for the others. */
static const weft_graph *with_attention_only(const weft_graph *g, weft_arena *a)
{
    weft_graph *cut = WEFT_NEW(a, weft_graph, 1);
    int *part = WEFT_NEW(a, int, g->n_nodes + 1);

    if (g->kernel == NULL)
        return g;
    for (int u = 0; u < g->n_nodes; u++)
        part[u] = g->attention[u] >= 0 ? g->attention[u] : g->n_nodes + u;
    weft_graph_cut_kernels(g, part, a, cut);
    return cut;
}

static weft_status fill(weft_workload_eval *m)
{
    WEFT_TRY(check_counts(m->template_, WEFT_TENSOR_CORES));
    WEFT_TRY(check_counts(m->template_, WEFT_VECTOR_CORES));
    WEFT_TRY(weft_work_keys_new(m->graph, &m->keys));
    WEFT_TRY(weft_eval_fuse(m->graph, m->keys, m->arena, &m->ops));
    m->series = weft_eval_series_of(&m->ops, m->arena);
    count_work(m);
    m->memory_bytes = weft_train_problem_bytes(m->graph, m->template_);
    make_room(m);
    weft_eval_tables_init(m);
    m->box_port_s = WEFT_NEW(m->arena, double, m->ops.n_classes + 1);
    weft_eval_frame_init(m, &m->frame);
    weft_eval_frame_init(m, &m->box);
    return WEFT_OK;
}

weft_status weft_eval_new(const weft_graph *g, const weft_template *t, weft_workload_eval **out)
{
    weft_arena *a = weft_arena_new();
    weft_workload_eval *m = WEFT_NEW(a, weft_workload_eval, 1);
    weft_status status;

    m->graph = with_attention_only(g, a);
    m->template_ = t;
    m->arena = a;
    status = fill(m);
    if (status == WEFT_OK)
        *out = m;
    else
        weft_eval_free(m);
    return status;
}

void weft_eval_free(weft_workload_eval *m)
{
    if (m == NULL)
        return;
    weft_work_keys_free(m->keys);
    weft_arena_free(m->arena);
}

/* --- what it knows of the network */

int weft_eval_n_operators(const weft_workload_eval *m)
{
    return m->ops.n;
}

double weft_eval_macs(const weft_workload_eval *m)
{
    return m->macs;
}

double weft_eval_memory_bytes(const weft_workload_eval *m)
{
    return m->memory_bytes;
}

/* --- a step */

double weft_eval_port_s(const weft_workload_eval *m, const weft_eval_frame *f)
{
    double port_s = 0;

    for (int c = 0; c < m->ops.n_classes; c++)
        port_s += m->class_count[c] * f->port_s[c];
    return port_s;
}

double weft_eval_step_s(void *eval, const weft_design_point *p)
{
    weft_workload_eval *m = eval;
    const weft_eval_frame *f = weft_eval_frame_of(m, p);
    double makespan_s = 0, bytes_s = 0;

    for (int i = 0; i < m->series.n_blocks; i++) {
        const weft_eval_block *b = &m->series.of[i];
        weft_eval_span span = weft_eval_block_run(m, f, b);

        makespan_s += b->n_copies * span.makespan_s;
        bytes_s += b->n_copies * span.bytes_s;
    }
    return weft_larger(makespan_s, weft_larger(bytes_s, weft_eval_port_s(m, f)));
}

/* Delay of an operator of a block that was replayed, by slack; one that has all cores would be
 * twice as fast with twice as many at best. */
static double pressure(const weft_workload_eval *m, double path_s, int i, double ready_s,
                       bool has_all)
{
    const weft_eval_room *room = &m->room;
    double delay_s = room->start_s[i] - ready_s + (has_all ? room->lat_s[i] / 2 : 0);
    double slack_s = path_s - room->top_s[i] - room->bottom_s[i];

    return delay_s / ((slack_s > 0 ? slack_s : 0) + 1e-3 * path_s);
}

/* When the operands of all operators were there, into run_end_s. */
static const double *find_ready(weft_workload_eval *m, const weft_eval_block *b)
{
    double *ready_s = m->room.run_end_s;

    for (int i = 0; i < b->n; i++)
        ready_s[i] = 0;
    for (int i = 0; i < b->n; i++)
        for (int e = b->out_at[i]; e < b->out_at[i + 1]; e++) {
            double end_s = m->room.start_s[i] + m->room.lat_s[i];

            if (end_s > ready_s[b->out_to[e]])
                ready_s[b->out_to[e]] = end_s;
        }
    return ready_s;
}

static void add_conflicts(weft_workload_eval *m, const weft_eval_frame *f, const weft_eval_block *b,
                          double path_s, weft_conflicts *sum)
{
    const double *ready_s;

    weft_eval_block_replay(m, f, b);
    ready_s = find_ready(m, b);
    for (int i = 0; i < b->n && path_s > 0; i++) {
        int n_tensor = m->room.n_tensor[i], n_vector = m->room.n_vector[i];

        if (n_tensor > 0)
            sum->tensor +=
                b->n_copies * pressure(m, path_s, i, ready_s[i], n_tensor == f->n_tensor);
        if (n_vector > 0)
            sum->vector +=
                b->n_copies * pressure(m, path_s, i, ready_s[i], n_vector == f->n_vector);
    }
}

weft_conflicts weft_eval_conflicts(void *eval, const weft_design_point *p)
{
    weft_workload_eval *m = eval;
    const weft_eval_frame *f = weft_eval_frame_of(m, p);
    weft_conflicts sum = {0, 0, 0, 0};
    double bytes_s = 0;

    for (int i = 0; i < m->series.n_blocks; i++) {
        const weft_eval_block *b = &m->series.of[i];
        weft_eval_span span = weft_eval_block_run(m, f, b);

        sum.step_s += b->n_copies * span.makespan_s;
        sum.path_s += b->n_copies * span.path_s;
        bytes_s += b->n_copies * span.bytes_s;
        add_conflicts(m, f, b, span.path_s, &sum);
    }
    sum.step_s = weft_larger(sum.step_s, weft_larger(bytes_s, weft_eval_port_s(m, f)));
    return sum;
}

/* --- a schedule in full */

typedef struct full {
    double *start_s, *end_s;
    int *n_tensor, *n_vector;
} full;

weft_eval_schedule weft_eval_schedule_of(weft_workload_eval *m, const weft_design_point *p,
                                         weft_arena *a)
{
    const weft_eval_frame *f = weft_eval_frame_of(m, p);
    int n = m->ops.n;
    full s = {WEFT_NEW(a, double, n), WEFT_NEW(a, double, n), WEFT_NEW(a, int, n),
              WEFT_NEW(a, int, n)};
    const char **name = WEFT_NEW(a, const char *, n);
    double now_s = 0, bytes_s = 0;

    for (int i = 0; i < m->series.n; i++) {
        const weft_eval_block *b = &m->series.of[m->series.block[i]];
        weft_eval_span span = weft_eval_block_run(m, f, b);

        weft_eval_block_replay(m, f, b);
        for (int k = 0; k < b->n; k++) {
            int u = m->series.op[m->series.op_at[i] + k];

            s.start_s[u] = now_s + m->room.start_s[k];
            s.end_s[u] = s.start_s[u] + m->room.lat_s[k];
            s.n_tensor[u] = m->room.n_tensor[k];
            s.n_vector[u] = m->room.n_vector[k];
            name[u] = m->graph->node[m->ops.first_node[u]].name;
        }
        now_s += span.makespan_s;
        bytes_s += span.bytes_s;
    }
    bytes_s = weft_larger(bytes_s, weft_eval_port_s(m, f));
    return (weft_eval_schedule){.n = n,
                                .start_s = s.start_s,
                                .end_s = s.end_s,
                                .n_tensor = s.n_tensor,
                                .n_vector = s.n_vector,
                                .name = name,
                                .of_node = m->ops.of_node,
                                .step_s = weft_larger(now_s, bytes_s),
                                .floor_s = bytes_s};
}

const weft_timer weft_eval_timer = {
    {weft_eval_step_s, weft_eval_bound_s, weft_eval_simple_s, weft_eval_headtail_s,
     weft_eval_serial_s},
    weft_eval_conflicts,
    weft_eval_box_s,
};
