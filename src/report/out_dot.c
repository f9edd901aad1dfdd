/* SPDX-License-Identifier: MIT */
/* out_dot.c: a plan as Graphviz source: `dot -Tsvg`.
 *
 * A box a task, filled with the colour of its device, an ellipse an input, an edge for each pair of
 * tasks of which one reads from the other. Edges that cross devices are bold and say how much is
 * sent (a tensor that several tasks of a device read is sent once but written on each edge). The
 * colours are those of the legend; with more devices than colours, boxes name their device too. Of
 * a mix the way is drawn that most items take. */
#include "colours.h"
#include "fields.h"

typedef struct drawing {
    const weft_problem *p;
    const int *device; /* [n_tasks]; NULL: no plan */
    bool is_units;     /* amounts are not bytes */
    double *sent;      /* [n_tasks] amount on the edge from the task at hand */
    weft_arena *a;
    FILE *to;
} drawing;

/* The text between quotes. Control characters and what is special there do not pass. */
static void put_escaped(FILE *to, const char *text)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', to);
        fputc((unsigned char)*text < ' ' || *text == 0x7f ? '?' : *text, to);
    }
}

/* The colours of a box of a device, -1: of none, white. */
static void put_colours(const drawing *d, int device)
{
    char colour[WEFT_COLOUR_BYTES];
    const char *fill =
        device < 0 || d->device == NULL ? "#ffffff" : weft_series_colour(device, colour);

    fprintf(d->to, "fillcolor=\"%s\" fontcolor=\"%s\"", fill, weft_text_on(fill));
}

static const char *amount(const drawing *d, double sent, char to[32])
{
    return d->is_units ? weft_format_count(sent, to) : weft_format_bytes(sent, to);
}

static void draw_task(drawing *d, int u)
{
    const weft_problem *p = d->p;
    int device = d->device ? d->device[u] : -1;
    char time[48];

    fprintf(d->to, "  t%d [", u);
    put_colours(d, device);
    fputs(" label=\"", d->to);
    put_escaped(d->to, p->task_name[u]);
    fputs("\\n", d->to);
    put_escaped(d->to, p->task_kind[u]);
    if (device >= 0)
        fprintf(d->to, ", %s", weft_print_seconds(weft_task_s(p, u, device), time));
    if (device >= 0 && p->n_devices > WEFT_N_SERIES) {
        fputs("\\n", d->to);
        put_escaped(d->to, p->device_name[device]);
    }
    fputs("\"];\n", d->to);
}

/* The end of an edge from a device (-1: everywhere) to a task. */
static void draw_edge(drawing *d, int from, int v, double sent)
{
    char text[32];

    fprintf(d->to, " -> t%d", v);
    if (d->device != NULL && from >= 0 && from != d->device[v])
        fprintf(d->to, " [style=bold label=\"%s\"]", amount(d, sent, text));
    fputs(";\n", d->to);
}

/* Several tensors from one task to another are one edge. */
static void draw_edges(drawing *d, int u)
{
    const weft_problem *p = d->p;

    for (int i = p->succ_at[u]; i < p->succ_at[u + 1]; i++)
        d->sent[p->succ[i]] = 0;
    for (int i = p->res_at[u]; i < p->res_at[u + 1]; i++)
        for (int k = p->reader_at[p->res[i]]; k < p->reader_at[p->res[i] + 1]; k++)
            d->sent[p->reader[k]] += p->amount[p->res[i]];
    for (int i = p->succ_at[u]; i < p->succ_at[u + 1]; i++) {
        fprintf(d->to, "  t%d", u);
        draw_edge(d, d->device ? d->device[u] : -1, p->succ[i], d->sent[p->succ[i]]);
    }
}

static void draw_inputs(drawing *d)
{
    const weft_problem *p = d->p;
    const char *const *label = weft_tensor_labels(p, d->a);

    for (int t = 0; t < p->n_tensors; t++) {
        if (p->producer[t] >= 0 || p->is_weight[t] || p->reader_at[t] == p->reader_at[t + 1])
            continue;
        fprintf(d->to, "  i%d [shape=ellipse ", t);
        put_colours(d, p->host);
        fprintf(d->to, " label=\"%s\"];\n", label[t]);
        for (int k = p->reader_at[t]; k < p->reader_at[t + 1]; k++) {
            fprintf(d->to, "  i%d", t);
            draw_edge(d, p->host, p->reader[k], p->amount[t]);
        }
    }
}

/* Devices that have tasks. */
static void draw_legend(drawing *d)
{
    const weft_problem *p = d->p;
    bool *is_used = WEFT_NEW(d->a, bool, p->n_devices);

    if (d->device == NULL)
        return;
    for (int u = 0; u < p->n_tasks; u++)
        is_used[d->device[u]] = true;
    fputs("  subgraph cluster_legend {\n    label=\"devices\";\n", d->to);
    for (int k = 0; k < p->n_devices; k++) {
        if (!is_used[k])
            continue;
        fprintf(d->to, "    d%d [", k);
        put_colours(d, k);
        fputs(" label=\"", d->to);
        put_escaped(d->to, p->device_name[k]);
        fputs("\"];\n", d->to);
    }
    fputs("  }\n", d->to);
}

static void draw(drawing *d)
{
    fputs("digraph \"", d->to);
    put_escaped(d->to, d->p->name ? d->p->name : "tasks");
    fputs("\" {\n  node [shape=box style=filled fontname=\"sans-serif\"];\n"
          "  edge [fontname=\"sans-serif\"];\n",
          d->to);
    draw_legend(d);
    draw_inputs(d);
    for (int u = 0; u < d->p->n_tasks; u++)
        draw_task(d, u);
    for (int u = 0; u < d->p->n_tasks; u++)
        draw_edges(d, u);
    fputs("}\n", d->to);
}

/* Of several ways the one that most items take; the first of several. */
static const int *shown_way(const weft_report *r)
{
    const weft_plan *plan = &r->solution->plan;
    int most = 0;

    for (int w = 1; w < plan->n_variants; w++)
        if (plan->share[w] > plan->share[most])
            most = w;
    return plan->device + (size_t)most * (size_t)plan->n_tasks;
}

void weft_report_dot(const weft_report *r, FILE *to)
{
    drawing d = {
        .p = r->problem,
        .device = weft_report_has_plan(r) ? shown_way(r) : NULL,
        .is_units = r->origin != NULL && r->origin->platform == NULL,
        .a = weft_arena_new(),
        .to = to,
    };

    d.sent = WEFT_NEW(d.a, double, r->problem->n_tasks);
    draw(&d);
    weft_arena_free(d.a);
}
