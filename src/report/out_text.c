/* SPDX-License-Identifier: MIT */
/* out_text.c: summaries for a terminal. */
#include "weft/report.h"

#include <string.h>

enum { SHOWN_BYTES = 600 };

/* A name from a file as a terminal may see it: no control characters, not endless. */
static const char *shown(const char *name, char to[SHOWN_BYTES])
{
    snprintf(to, SHOWN_BYTES, "%s", name);
    for (unsigned char *p = (unsigned char *)to; *p; p++)
        if (*p < 0x20 || *p == 0x7f)
            *p = '?';
    return to;
}

static void line(FILE *to, const char *label, const char *exact, const char *rest)
{
    fprintf(to, "  %-14s %22s%s%s\n", label, exact, *rest ? "  " : "", rest);
}

static void count_line(FILE *to, const char *label, int64_t value, const char *rest)
{
    char exact[32];

    line(to, label, weft_format_integer(value, exact), rest);
}

static void bytes_line(FILE *to, const char *label, int64_t bytes, const char *rest)
{
    char text[32];

    line(to, label, weft_format_bytes((double)bytes, text), rest);
}

static void print_head(const weft_summary *s, FILE *to)
{
    const weft_model *m = s->model;
    char text[128], short_form[32], name[SHOWN_BYTES], origin[SHOWN_BYTES];

    fprintf(to, "%s (%s)\n\n", shown(m->name, name), shown(m->origin, origin));
    snprintf(text, sizeof text, "%d in the source, %d of them left when constants are folded",
             m->n_nodes, s->n_phase_nodes[WEFT_FORWARD]);
    count_line(to, "nodes", m->graph->n_nodes, text);
    snprintf(text, sizeof text, "%s", weft_format_count((double)m->n_parameters, short_form));
    count_line(to, "parameters", m->n_parameters, text);
    snprintf(text, sizeof text, "%s multiply-accumulates",
             weft_format_count((double)s->total.macs, short_form));
    count_line(to, "MACs", s->total.macs, text);
    snprintf(text, sizeof text, "%s operations, element-wise work included",
             weft_format_count((double)s->total.flops, short_form));
    count_line(to, "FLOPs", s->total.flops, text);
}

static void print_memory(const weft_summary *s, FILE *to)
{
    char text[128], a[32], b[32];

    bytes_line(to, "weights", s->weight_bytes, "");
    snprintf(text, sizeof text, "made in all; inputs %s, outputs %s",
             weft_format_bytes((double)s->input_bytes, a),
             weft_format_bytes((double)s->output_bytes, b));
    bytes_line(to, "activations", s->activation_bytes, text);
    bytes_line(to, "peak memory", s->peak_bytes,
               "of live activations, nodes one after the other in order");
    snprintf(a, sizeof a, "%.2f FLOP/B", s->flops_per_byte);
    line(to, "intensity", a, "operations for each byte read or written");
    snprintf(text, sizeof text, "nodes on the longest path; %d cut points, %d barriers", s->n_cuts,
             s->n_barriers);
    count_line(to, "depth", s->depth, text);
}

static void print_training(const weft_summary *s, FILE *to)
{
    static const char *const label[] = {"forward", "backward", "update"};

    if (s->n_phase_nodes[WEFT_BACKWARD] == 0)
        return;
    fprintf(to, "\n  training step       nodes         MACs        FLOPs\n");
    for (int i = 0; i < 3; i++) {
        char macs[32], flops[32];

        fprintf(to, "  %-14s %10d %12s %12s\n", label[i], s->n_phase_nodes[i],
                weft_format_count((double)s->phase[i].macs, macs),
                weft_format_count((double)s->phase[i].flops, flops));
    }
    fputc('\n', to);
    bytes_line(to, "kept", s->stash_bytes, "of activations, from forward to backward");
    bytes_line(to, "optimizer", s->state_bytes, "of state, besides weights and gradients");
}

static double share(int64_t part, int64_t whole)
{
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0.0;
}

static void print_operators(const weft_summary *s, FILE *to)
{
    fprintf(to, "\n  %-28s %6s %10s %7s %10s %10s\n", "operator", "nodes", "MACs", "share", "FLOPs",
            "moved");
    for (int i = 0; i < s->n_ops; i++) {
        const weft_op_total *o = &s->op[i];
        char name[80], clean[SHOWN_BYTES], macs[32], flops[32], moved[32];

        snprintf(name, sizeof name, "%s%s%s%s", o->domain, *o->domain ? "." : "", o->op,
                 o->is_opaque ? " (unknown)" : "");
        fprintf(to, "  %-28s %6d %10s %6.1f%% %10s %10s\n", shown(name, clean), o->n_nodes,
                weft_format_count((double)o->work.macs, macs), share(o->work.macs, s->total.macs),
                weft_format_count((double)o->work.flops, flops),
                weft_format_bytes((double)o->work.read_bytes + (double)o->work.write_bytes, moved));
    }
}

static void print_layers(const weft_summary *s, FILE *to)
{
    const weft_graph *g = s->model->graph;

    fprintf(to, "\n  %5s  %-40s %-20s %-20s %10s %10s %10s\n", "node", "name", "operator", "result",
            "MACs", "FLOPs", "moved");
    for (int u = 0; u < g->n_nodes; u++) {
        char shape[192] = "", macs[32], flops[32], moved[32], name[SHOWN_BYTES], op[SHOWN_BYTES];
        const weft_work *w = &s->node[u];

        for (int i = g->res_at[u + 1] - 1; i >= g->res_at[u]; i--)
            if (g->res[i] >= 0)
                weft_shape_print(g->tensor[g->res[i]].shape, shape);
        fprintf(to, "  %5d  %-40s %-20s %-20s %10s %10s %10s\n", u, shown(g->node[u].name, name),
                shown(g->node[u].op, op), shape, weft_format_count((double)w->macs, macs),
                weft_format_count((double)w->flops, flops),
                weft_format_bytes((double)w->read_bytes + (double)w->write_bytes, moved));
    }
}

void weft_summary_text(const weft_summary *s, bool with_layers, FILE *to)
{
    print_head(s, to);
    print_memory(s, to);
    print_training(s, to);
    print_operators(s, to);
    if (with_layers)
        print_layers(s, to);
    if (s->n_dynamic_nodes > 0)
        fprintf(to,
                "\n  %d nodes have shapes that depend on the data; their work and bytes are not "
                "counted.\n",
                s->n_dynamic_nodes);
    for (int i = 0; i < s->model->n_warnings; i++) {
        char warning[SHOWN_BYTES];

        fprintf(to, "%s  warning: %s\n", i == 0 ? "\n" : "", shown(s->model->warning[i], warning));
    }
}
