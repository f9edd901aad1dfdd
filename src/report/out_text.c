/* SPDX-License-Identifier: MIT */
/* out_text.c: summaries for a terminal. */
#include <string.h>

#include "fields.h"

enum {
    DEFAULT_WIDTH = 80,
    LEAST_WIDTH = 60,
    NOTE = 39,     /* columns before the text beside a number */
    OPERATOR = 28, /* of names of operators, if there is room */
    FIXED = 50,    /* beside them */
    SHOWN_BYTES = 600
};

typedef struct page {
    const weft_summary *s;
    int width;
    FILE *to;
} page;

/* A name from a file as a terminal may see it: no control characters, not endless. */
static const char *shown(const char *name, char to[SHOWN_BYTES])
{
    snprintf(to, SHOWN_BYTES, "%s", name);
    for (unsigned char *p = (unsigned char *)to; *p; p++)
        if (*p < 0x20 || *p == 0x7f)
            *p = '?';
    return to;
}

static void line(page *g, const char *label, const char *exact, const char *rest)
{
    fprintf(g->to, "  %-14s %20s%s", label, exact, *rest ? "  " : "");
    weft_print_wrapped(g->to, NOTE, g->width, rest);
}

static void count_line(page *g, const char *label, int64_t value, const char *rest)
{
    char exact[32];

    line(g, label, weft_format_integer(value, exact), rest);
}

static void bytes_line(page *g, const char *label, int64_t bytes, const char *rest)
{
    char text[32];

    line(g, label, weft_format_bytes((double)bytes, text), rest);
}

static void print_head(page *g)
{
    const weft_summary *s = g->s;
    const weft_model *m = s->model;
    char text[128], exact[32], short_form[32], name[SHOWN_BYTES], origin[SHOWN_BYTES];

    fprintf(g->to, "%s (%s)\n\n", shown(m->name, name), shown(m->origin, origin));
    snprintf(text, sizeof text, "%s in the source, ", weft_format_integer(m->n_nodes, exact));
    snprintf(text + strlen(text), sizeof text - strlen(text), "%s after folding",
             weft_format_integer(s->n_phase_nodes[WEFT_FORWARD], exact));
    count_line(g, "nodes", m->graph->n_nodes, text);
    snprintf(text, sizeof text, "%s", weft_format_count((double)m->n_parameters, short_form));
    count_line(g, "parameters", m->n_parameters, text);
    snprintf(text, sizeof text, "%s multiply-accumulates",
             weft_format_count((double)s->total.macs, short_form));
    count_line(g, "MACs", s->total.macs, text);
    snprintf(text, sizeof text, "%s operations, element-wise included",
             weft_format_count((double)s->total.flops, short_form));
    count_line(g, "FLOPs", s->total.flops, text);
}

static void print_memory(page *g)
{
    const weft_summary *s = g->s;
    char text[128], a[32], b[32];

    bytes_line(g, "weights", s->weight_bytes, "");
    snprintf(text, sizeof text, "in all; inputs %s, outputs %s",
             weft_format_bytes((double)s->input_bytes, a),
             weft_format_bytes((double)s->output_bytes, b));
    bytes_line(g, "activations", s->activation_bytes, text);
    if (s->model->graph->n_states > 0) {
        snprintf(text, sizeof text, "%d tensor%s that stay on their device from item to item",
                 s->model->graph->n_states, s->model->graph->n_states == 1 ? "" : "s");
        bytes_line(g, "state", s->state_bytes, text);
    }
    bytes_line(g, "peak memory", s->peak_bytes, "live at once, nodes run in order");
    snprintf(a, sizeof a, "%.2f FLOP/B", s->flops_per_byte);
    line(g, "intensity", a, "operations for each byte read or written");
    snprintf(text, sizeof text, "longest path; %d cut point%s, %d barrier%s", s->n_cuts,
             s->n_cuts == 1 ? "" : "s", s->n_barriers, s->n_barriers == 1 ? "" : "s");
    count_line(g, "depth", s->depth, text);
}

static void print_training(page *g)
{
    static const char *const label[] = {"forward", "backward", "update"};
    const weft_summary *s = g->s;

    if (s->n_phase_nodes[WEFT_BACKWARD] == 0)
        return;
    fprintf(g->to, "\n  training step       nodes         MACs        FLOPs\n");
    for (int i = 0; i < 3; i++) {
        char macs[32], flops[32];

        fprintf(g->to, "  %-14s %10d %12s %12s\n", label[i], s->n_phase_nodes[i],
                weft_format_count((double)s->phase[i].macs, macs),
                weft_format_count((double)s->phase[i].flops, flops));
    }
    fputc('\n', g->to);
    bytes_line(g, "kept", s->stash_bytes, "of activations, from forward to backward");
    bytes_line(g, "optimizer", s->state_bytes, "of state, besides weights and gradients");
}

static double share(int64_t part, int64_t whole)
{
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0.0;
}

static void print_operators(page *g)
{
    const weft_summary *s = g->s;
    int columns = g->width - FIXED < OPERATOR ? g->width - FIXED : OPERATOR;

    fprintf(g->to, "\n  %-*s %6s %10s %7s %10s %10s\n", columns, "operator", "nodes", "MACs",
            "share", "FLOPs", "moved");
    for (int i = 0; i < s->n_ops; i++) {
        const weft_op_total *o = &s->op[i];
        char name[80], macs[32], flops[32], moved[32];

        snprintf(name, sizeof name, "%s%s%s%s", o->domain, *o->domain ? "." : "", o->op,
                 o->is_opaque ? " (unknown)" : "");
        fputs("  ", g->to);
        weft_print_padded(g->to, name, columns);
        fprintf(g->to, " %6d %10s %5.1f %% %10s %10s\n", o->n_nodes,
                weft_format_count((double)o->work.macs, macs), share(o->work.macs, s->total.macs),
                weft_format_count((double)o->work.flops, flops),
                weft_format_bytes((double)o->work.read_bytes + (double)o->work.write_bytes, moved));
    }
}

/* Columns of the names, operators and shapes of the table of layers. */
typedef struct layer_columns {
    int name, op, shape;
} layer_columns;

/* As wide as is comfortable, or what there is room for. */
static layer_columns choose_columns(int width)
{
    enum { USED = 39 }; /* number, three figures, blanks */
    layer_columns c = {39, 20, 20};
    int room = width - USED;

    if (room >= c.name + c.op + c.shape)
        return c;
    c.shape = room / 3 < c.shape ? room / 3 : c.shape;
    c.op = room / 4 < c.op ? room / 4 : c.op;
    c.op = c.op < (int)strlen("operator") ? (int)strlen("operator") : c.op;
    c.name = room - c.shape - c.op;
    return c;
}

static void print_layer(page *g, int u, const layer_columns *c)
{
    const weft_graph *graph = g->s->model->graph;
    const weft_work *w = &g->s->node[u];
    char shape[192] = "", macs[32], flops[32], moved[32];

    for (int i = graph->res_at[u + 1] - 1; i >= graph->res_at[u]; i--)
        if (graph->res[i] >= 0)
            weft_shape_print(graph->tensor[graph->res[i]].shape, shape);
    fprintf(g->to, "  %5d  ", u);
    weft_print_padded(g->to, graph->node[u].name, c->name);
    fputc(' ', g->to);
    weft_print_padded(g->to, graph->node[u].op, c->op);
    fputc(' ', g->to);
    weft_print_padded(g->to, shape, c->shape);
    fprintf(g->to, " %8s %8s %8s\n", weft_format_count((double)w->macs, macs),
            weft_format_count((double)w->flops, flops),
            weft_format_bytes((double)w->read_bytes + (double)w->write_bytes, moved));
}

static void print_layers(page *g)
{
    layer_columns c = choose_columns(g->width);

    fprintf(g->to, "\n  %5s  %-*s %-*s %-*s %8s %8s %8s\n", "node", c.name, "name", c.op,
            "operator", c.shape, "result", "MACs", "FLOPs", "moved");
    for (int u = 0; u < g->s->model->graph->n_nodes; u++)
        print_layer(g, u, &c);
}

static void print_assumed(page *g)
{
    const weft_graph *graph = g->s->model->graph;

    for (int i = 0; i < graph->n_assumed; i++) {
        const weft_assumed_size *s = &graph->assumed[i];
        char text[256];

        snprintf(text, sizeof text, "%.160s is assumed to be %lld (%d dimension%s).", s->name,
                 (long long)s->size, s->n_dims, s->n_dims == 1 ? "" : "s");
        fputs(i == 0 ? "\n  " : "  ", g->to);
        weft_print_wrapped(g->to, 4, g->width, text);
    }
}

static void print_warnings(page *g)
{
    const weft_summary *s = g->s;

    if (s->n_dynamic_nodes > 0) {
        bool is_one = s->n_dynamic_nodes == 1;
        char text[200];

        snprintf(text, sizeof text,
                 "%d node%s that depend%s on the data; %s work and bytes are not counted (--dim "
                 "NODE=N assumes a size).",
                 s->n_dynamic_nodes, is_one ? " has a shape" : "s have shapes", is_one ? "s" : "",
                 is_one ? "its" : "their");
        fputs("\n  ", g->to);
        weft_print_wrapped(g->to, 2, g->width, text);
    }
    print_assumed(g);
    for (int i = 0; i < s->model->n_warnings; i++) {
        fputs(i == 0 ? "\n  warning: " : "  warning: ", g->to);
        weft_print_wrapped(g->to, 4, g->width - 7, s->model->warning[i]);
    }
}

void weft_summary_text(const weft_summary *s, bool with_layers, int width, FILE *to)
{
    page g = {s, width <= 0 ? DEFAULT_WIDTH : width < LEAST_WIDTH ? LEAST_WIDTH : width, to};

    print_head(&g);
    print_memory(&g);
    print_training(&g);
    print_operators(&g);
    if (with_layers)
        print_layers(&g);
    print_warnings(&g);
}
