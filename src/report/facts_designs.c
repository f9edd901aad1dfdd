/* SPDX-License-Identifier: MIT */
/* facts_designs.c: what pages of designs for one device and for pipelines share. */
#include "facts_mine.h"

#include <inttypes.h>
#include <math.h>

/* --- what was asked -------------------------------------------------------------------------- */

weft_design_asked weft_asked_of_device(const weft_mine_report *r, weft_arena *a)
{
    const weft_objective *q = r->objective;
    weft_asked_network *list = WEFT_NEW(a, weft_asked_network, q->n_workloads);

    for (int i = 0; i < q->n_workloads; i++)
        list[i] = (weft_asked_network){q->workload[i].name, q->workload[i].batch,
                                       q->workload[i].weight, q->workload[i].hash};
    return (weft_design_asked){q->template_,   q->metric, &q->limits,        q->least_throughput,
                               q->n_workloads, list,      weft_mine_unit(q), r->dtype,
                               r->optimizer,   r->options};
}

weft_design_asked weft_asked_of_pipeline(const weft_design_pipeline_report *r, weft_arena *a)
{
    const weft_design_pipeline_objective *q = r->objective;
    weft_asked_network *list = WEFT_NEW(a, weft_asked_network, q->n_nets);

    for (int i = 0; i < q->n_nets; i++)
        list[i] = (weft_asked_network){q->net[i]->name, (double)q->design_pipeline.batch,
                                       q->net[i]->weight, q->net[i]->hash};
    return (weft_design_asked){q->template_,
                               q->metric,
                               &q->limits,
                               q->least_throughput,
                               q->n_nets,
                               list,
                               weft_design_pipeline_unit(q),
                               r->dtype,
                               r->optimizer,
                               r->options};
}

void weft_design_result(weft_page *g, const weft_design_asked *q, const char *solver,
                        const weft_proof *proof)
{
    const char *names = q->network[0].name;

    for (int i = 1; i < q->n; i++)
        names = weft_arena_print(g->a, "%s %s", names, q->network[i].name);
    weft_page_result(g,
                     &(weft_result_head){.command = "mine",
                                         .model = names,
                                         .platform = q->t->name,
                                         .goal = q->metric == WEFT_METRIC_PER_TDP ? "perf-per-tdp"
                                                                                  : "throughput",
                                         .solver = solver,
                                         .unit = q->unit,
                                         .proof = proof,
                                         .is_max = true});
}

/* --- words ----------------------------------------------------------------------------------- */

const char *weft_metric_text(weft_arena *a, double x)
{
    return x >= 9999.5 && x < 1e15 ? weft_format_integer((int64_t)(x + 0.5), WEFT_NEW(a, char, 32))
                                   : weft_arena_print(a, "%.4g", x);
}

const char *weft_area_text(weft_arena *a, double mm2)
{
    return weft_arena_print(a, "%.4g mm\302\262", mm2);
}

const char *weft_power_text(weft_arena *a, double w)
{
    return weft_arena_print(a, "%.4g W", w);
}

const char *weft_design_words(const weft_template *t, const weft_design_point *p, weft_arena *a)
{
    char text[96];

    return weft_arena_print(a, "%s", weft_point_print(t, p, text));
}

/* --- facts ----------------------------------------------------------------------------------- */

void weft_design_claim_facts(weft_page *g, const weft_design_claim *c)
{
    bool is_optimal = c->outcome == WEFT_OPTIMAL;
    char text[32];
    const char *gap = weft_arena_print(g->a, "%s %%", weft_format_gap(c->gap, 2, text));

    weft_page_fact(g, "value", c->label,
                   weft_arena_print(g->a, "%s %s", weft_metric_text(g->a, c->value), c->unit),
                   is_optimal ? "proved: no design of the template within the limits is better"
                   : c->bound < INFINITY
                       ? weft_arena_print(g->a, "the best possible has at most %s more", gap)
                       : "no bound is known",
                   c->value);
    if (!(c->bound < INFINITY))
        return;
    weft_page_fact(g, "bound", "bound",
                   weft_arena_print(g->a, "%s %s", weft_metric_text(g->a, c->bound), c->unit),
                   "no design within the limits has more", c->bound);
    weft_page_fact(g, "gap", "gap", gap,
                   is_optimal ? "no design is better" : "between the value and the bound", c->gap);
}

void weft_design_limit_fact(weft_page *g, const char *key, const char *label, double have,
                            double most, const char *(*text)(weft_arena *, double))
{
    weft_page_fact(g, key, label, text(g->a, have),
                   most < INFINITY ? weft_arena_print(g->a, "of %s allowed", text(g->a, most))
                                   : "not limited",
                   have);
}

/* --- tables ---------------------------------------------------------------------------------- */

void weft_size_columns(weft_column *to)
{
    static const weft_column column[WEFT_SIZE_COLUMNS] = {
        {"tdp_w",        "TDP",                    "W"    },
        {"area_mm2",     "area",                   "mm2"  },
        {"rows",         "rows of a tensor core",  "count"},
        {"cols",         "columns",                "count"},
        {"tensor_cores", "tensor cores",           "count"},
        {"lanes",        "lanes of a vector core", "count"},
        {"vector_cores", "vector cores",           "count"},
        {"buffer",       "buffer",                 "B"    },
    };

    for (int i = 0; i < WEFT_SIZE_COLUMNS; i++)
        to[i] = column[i];
}

void weft_size_cells(weft_page *g, weft_doc *row, const weft_template *t,
                     const weft_design_point *p)
{
    weft_cell_real(g, row, t->has_power ? weft_design_point_tdp_w(t, p) : NAN);
    weft_cell_real(g, row, weft_design_point_area_mm2(t, p));
    for (int k = 0; k < WEFT_N_PARAMETERS; k++)
        weft_cell_real(g, row, weft_parameter_size(t, p, (weft_parameter)k));
}

/* --- plots ----------------------------------------------------------------------------------- */

static weft_doc *axis_doc(const char *name, const char *unit, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);

    weft_put_text(a, d, "name", name);
    weft_put_text(a, d, "unit", unit);
    return d;
}

static weft_doc *point_doc(const weft_plot_point *p, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);

    weft_put_real(a, d, "x", p->x);
    weft_put_real(a, d, "y", p->y);
    weft_put_text(a, d, "label", p->label);
    weft_doc_put(a, d, "is_best", weft_doc_new_bool(a, p->is_best));
    weft_doc_put(a, d, "is_front", weft_doc_new_bool(a, p->is_front));
    return d;
}

void weft_page_plot(weft_page *g, const weft_plot *p)
{
    weft_arena *a = g->a;
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP), *points = weft_doc_new(a, WEFT_DOC_LIST);
    weft_doc *lines = weft_doc_new(a, WEFT_DOC_LIST), *line = weft_doc_new(a, WEFT_DOC_MAP);

    weft_put_text(a, d, "id", p->id);
    weft_put_text(a, d, "title", p->title);
    weft_doc_put(a, d, "x", axis_doc(p->x_name, p->x_unit, a));
    weft_doc_put(a, d, "y", axis_doc(p->y_name, p->y_unit, a));
    for (int i = 0; i < p->n_points; i++)
        weft_doc_add(a, points, point_doc(&p->point[i], a));
    weft_doc_put(a, d, "points", points);
    if (p->x_limit < INFINITY) {
        weft_put_text(a, line, "axis", "x");
        weft_put_real(a, line, "at", p->x_limit);
        weft_put_text(a, line, "label", p->limit_text);
        weft_doc_add(a, lines, line);
    }
    weft_doc_put(a, d, "lines", lines);
    weft_doc_add(a, g->plots, d);
}

/* --- about ----------------------------------------------------------------------------------- */

static const char *range_text(const weft_template *t, weft_parameter k, weft_arena *a)
{
    int n = t->n_sizes[k];
    double scale = k == WEFT_BUFFER ? 1048576 : 1;
    const char *unit = k == WEFT_BUFFER ? " MiB" : "";

    if (n == 1)
        return weft_arena_print(a, "%.6g%s", t->size[k][0] / scale, unit);
    return weft_arena_print(a, "%d from %.6g to %.6g%s", n, t->size[k][0] / scale,
                            t->size[k][n - 1] / scale, unit);
}

/* As the file has it, in units of the SI but for square millimetres. */
static const char *constant_text(const weft_constant *c, weft_arena *a)
{
    return c->error > 0 ? weft_arena_print(a, "%.6g, within %.0f %%", c->value, 100 * c->error)
                        : weft_arena_print(a, "%.6g, no error stated", c->value);
}

void weft_about_template(weft_page *g, const weft_template *t)
{
    weft_doc *rows = weft_page_about(g, "Template");

    weft_about(g, rows, "source", t->source);
    weft_about(g, rows, "name", t->name);
    weft_about(g, rows, "content hash", weft_arena_print(g->a, "%016" PRIx64, t->hash));
    weft_about(g, rows, "designs",
               weft_format_integer(weft_template_points(t), WEFT_NEW(g->a, char, 32)));
    for (int k = 0; k < WEFT_N_PARAMETERS; k++)
        weft_about(g, rows,
                   weft_arena_print(g->a, "sizes of %s", weft_parameter_name((weft_parameter)k)),
                   range_text(t, (weft_parameter)k, g->a));
    rows = weft_page_about(g, "Constants of the cost model");
    for (int i = 0; i < WEFT_N_CONSTANTS; i++)
        weft_about(g, rows, t->constant[i].name, constant_text(&t->constant[i], g->a));
}

void weft_about_limits(weft_page *g, weft_doc *rows, const weft_limits *l, double memory_bytes)
{
    char bytes[32];

    if (l->area_mm2 < INFINITY)
        weft_about(g, rows, "most area", weft_area_text(g->a, l->area_mm2));
    if (l->tdp_w < INFINITY)
        weft_about(g, rows, "most TDP", weft_power_text(g->a, l->tdp_w));
    weft_about(g, rows, "memory of a device", weft_format_bytes(memory_bytes, bytes));
}

const char *weft_software_given(const weft_model_options *o)
{
    return o != NULL && o->software != WEFT_SOFTWARE_GRAPH ? weft_software_name(o->software) : NULL;
}

void weft_about_options(weft_page *g, weft_doc *rows, const weft_model_options *o,
                        const char *dtype, const char *optimizer)
{
    for (int i = 0; o != NULL && i < o->n_dims; i++)
        weft_about(g, rows, weft_arena_print(g->a, "dimension %s", o->dim[i].name),
                   weft_format_integer(o->dim[i].size, WEFT_NEW(g->a, char, 32)));
    weft_about(g, rows, "element type", *dtype ? dtype : NULL);
    weft_about(g, rows, "optimizer", optimizer);
    weft_about(g, rows, "software", weft_software_given(o));
}

void weft_assume_designs(weft_page *g, const weft_template *t)
{
    weft_page_assume(g, "A design has tensor cores, vector cores, a buffer on the chip that all "
                        "share, and memory of a given bandwidth.");
    weft_page_assume(g, "An operator takes the longest of its cycles on the arrays, its cycles on "
                        "the vector cores, and its bytes by the usable bandwidth.");
    weft_page_assume(g, t->has_power ? "Area and TDP are sums over the parts; TDP is power at peak."
                                     : "Area is a sum over the parts; power is not known.");
    weft_page_assume(g, "Times, area and power come from the cost model and its constants, which "
                        "are uncertain by the errors stated; nothing was measured on hardware.");
    weft_page_assume(g, "The proof is about the designs of the template and this cost model.");
}
