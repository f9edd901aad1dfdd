/* SPDX-License-Identifier: MIT */
/* design_pipeline_net.c: a network, cut into blocks for the stages of a pipeline.
 *
 * The training graph of one microbatch is cut into units; what leaves a cut is counted by sample.
 * How operators are cut over a block is decided once, on the reference design, so that what
 * devices hold, and what they exchange, is the same for all designs. Of a parameter, with gradient
 * and optimizer, a device holds what the template says (state_bytes). */
#include <math.h>
#include <string.h>

#include "design_pipeline.h"

weft_design_pipeline weft_design_pipeline_default(void)
{
    return (weft_design_pipeline){
        .n_stages = 1,
        .width = 1,
        .replicas = 1,
        .batch = 1,
        .microbatch = 1,
        .recomputes = (1u << WEFT_N_RECOMPUTES) - 1,
        .inside = {.latency_s = 1e-6, .bytes_per_s = 300e9},
        .between = {.latency_s = 5e-6, .bytes_per_s = 25e9 }
    };
}

static void by_sample(weft_blocks *u, int64_t samples, weft_arena *a)
{
    double *leave = WEFT_NEW(a, double, u->n_cuts), *back = WEFT_NEW(a, double, u->n_cuts);

    for (int c = 0; c < u->n_cuts; c++) {
        leave[c] = u->leave_bytes[c] / (double)samples;
        back[c] = u->back_bytes[c] / (double)samples;
    }
    u->leave_bytes = leave;
    u->back_bytes = back;
}

/* Bytes of an element of what is trained; 0: nothing is. */
static double parameter_bytes(const weft_graph *g)
{
    double bytes = 0, elements = 0;

    for (int u = 0; u < g->n_nodes; u++)
        if (g->node[u].phase == WEFT_UPDATE) {
            const weft_tensor *t = &g->tensor[g->arg[g->arg_at[u]]];

            bytes += (double)t->bytes;
            elements += (double)t->elements;
        }
    return elements > 0 ? bytes / elements : 0;
}

/* What the optimizer keeps of the parameters that a unit owns. */
static void set_moments(weft_block_work *w, double element_bytes, double state_bytes, weft_arena *a)
{
    weft_block_kind *kind = weft_arena_copy(a, w->kind, (size_t)w->n_kinds * sizeof *w->kind);

    for (int k = 0; k < w->n_kinds && element_bytes > 0; k++)
        kind[k].state.moment_bytes =
            fmax(0, state_bytes - 2 * element_bytes) * kind[k].state.sync_bytes / element_bytes;
    w->kind = kind;
}

static weft_status fill(const weft_model *m, const weft_template *t,
                        const weft_design_point *reference, const weft_design_pipeline *f,
                        weft_design_pipeline_net *out)
{
    weft_design design = weft_point_design(t, reference);
    weft_block_request constraints = {.blocks = &out->blocks,
                                      .graph = m->graph,
                                      .design = &design,
                                      .width = f->width,
                                      .inside = f->inside};
    weft_steps *steps;
    bool is_able;

    out->name = weft_arena_word(out->arena, m->name);
    out->hash = weft_graph_hash(m->graph);
    WEFT_TRY(weft_blocks_of(m->graph, NULL, out->arena, &out->blocks));
    WEFT_TRY(weft_steps_within(m->graph, out->blocks.of_node, &steps));
    constraints.steps = steps;
    is_able = weft_block_work_of(&constraints, out->arena, &out->work);
    weft_steps_free(steps);
    if (!is_able)
        return weft_fail(WEFT_E_INPUT, "'%s' cannot be cut over blocks of %d devices", out->name,
                         f->width);
    set_moments(&out->work, parameter_bytes(m->graph), t->state_bytes, out->arena);
    by_sample(&out->blocks, f->microbatch, out->arena);
    out->blocks.of_node = NULL; /* of a graph that is gone */
    return WEFT_OK;
}

weft_status weft_design_pipeline_net_new(const char *source, const weft_model_options *options,
                                         const weft_template *t, const weft_design_point *reference,
                                         const weft_design_pipeline *f,
                                         weft_design_pipeline_net **out)
{
    weft_model_options o = options ? *options : (weft_model_options){.optimizer = WEFT_ADAM};
    weft_arena *a;
    weft_model *m;
    weft_status status;

    if (reference == NULL && t->n_landmarks == 0)
        return weft_fail(WEFT_E_INPUT, "the template '%s' has no design for reference", t->name);
    if (f->microbatch < 1 || f->width < 1 || f->width > WEFT_MAX_MEMBERS)
        return weft_fail(WEFT_E_INPUT,
                         "a microbatch of %lld samples on blocks of %d devices: expected at least "
                         "1 sample and 1 to %d devices",
                         (long long)f->microbatch, f->width, WEFT_MAX_MEMBERS);
    o.batch = f->microbatch;
    o.train = true;
    WEFT_TRY(weft_model_open(source, &o, &m));
    a = weft_arena_new();
    *out = WEFT_NEW(a, weft_design_pipeline_net, 1);
    (*out)->arena = a;
    (*out)->weight = 1;
    status = fill(m, t, reference != NULL ? reference : &t->landmark[0].point, f, *out);
    weft_model_free(m);
    if (status != WEFT_OK)
        weft_arena_free(a);
    return status;
}

void weft_design_pipeline_net_free(weft_design_pipeline_net *n)
{
    if (n != NULL)
        weft_arena_free(n->arena);
}
