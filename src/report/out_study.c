/* SPDX-License-Identifier: MIT */
/* out_study.c: what a study holds: for each of its parts the designs that none of them beats in
 * throughput, TDP and area.
 *
 * Of several networks the geometric mean of samples a second counts: scales of the networks change
 * it by a factor that is the same for all designs. Sorted by falling throughput, then power, then
 * area, a design is beaten by an earlier one or by none: O(n log n + n * front). */
#include <math.h>
#include <stdlib.h>

#include "fields.h"

enum { MOST_ROWS = 12 };

typedef struct row {
    const weft_study_design *design;
    double throughput;
} row;

static double throughput_of(const weft_study_part *p, const weft_study_design *d)
{
    double sum = 0;

    for (int i = 0; i < p->n_workloads; i++)
        sum += log(p->batch[i] / d->step_s[i]);
    return p->n_workloads == 1 ? p->batch[0] / d->step_s[0] : exp(sum / p->n_workloads);
}

static int by_merit(const void *x, const void *y)
{
    const row *a = x, *b = y;

    if (a->throughput != b->throughput)
        return a->throughput > b->throughput ? -1 : 1;
    if (a->design->tdp_w != b->design->tdp_w)
        return a->design->tdp_w < b->design->tdp_w ? -1 : 1;
    if (a->design->area_mm2 != b->design->area_mm2)
        return a->design->area_mm2 < b->design->area_mm2 ? -1 : 1;
    return (a->design->index > b->design->index) - (a->design->index < b->design->index);
}

static int front_of(const weft_study_part *p, weft_arena *a, const row **out)
{
    row *list = WEFT_NEW(a, row, p->n_designs + 1);
    int n = 0;

    for (int i = 0; i < p->n_designs; i++)
        list[i] = (row){&p->design[i], throughput_of(p, &p->design[i])};
    qsort(list, (size_t)p->n_designs, sizeof *list, by_merit);
    for (int i = 0; i < p->n_designs; i++) {
        const weft_study_design *d = list[i].design;
        bool is_beaten = false;

        for (int j = 0; j < n && !is_beaten; j++)
            is_beaten =
                list[j].design->tdp_w <= d->tdp_w && list[j].design->area_mm2 <= d->area_mm2;
        if (!is_beaten)
            list[n++] = list[i];
    }
    *out = list;
    return n;
}

static void print_row(const row *r, FILE *to)
{
    const double *size = r->design->size;

    fprintf(to, "  %12.6g %6.1f W %6.1f mm2  %.0fx%.0f x%.0f, %.0f lanes x%.0f, %.4g MiB\n",
            r->throughput, r->design->tdp_w, r->design->area_mm2, size[WEFT_ROWS], size[WEFT_COLS],
            size[WEFT_TENSOR_CORES], size[WEFT_LANES], size[WEFT_VECTOR_CORES],
            size[WEFT_BUFFER] / 1048576);
}

static void print_part(const weft_study_part *p, bool with_all, int width, FILE *to)
{
    weft_arena *a = weft_arena_new();
    const row *front;
    int n = front_of(p, a, &front), n_shown = with_all || n <= MOST_ROWS + 1 ? n : MOST_ROWS;
    char name[WEFT_SHORT_BYTES], count[32];
    const char *title = "";

    for (int i = 0; i < p->n_workloads; i++)
        title =
            weft_arena_print(a, "%s%s%s (batch\t%.0f)", title, i > 0 ? ", " : "",
                             weft_shorten(p->workload[i], WEFT_SHORT_COLUMNS, name), p->batch[i]);
    weft_print_wrapped(
        to, 0, width,
        weft_arena_print(a, "%s on %s: %s design%s evaluated, %d of them on the front", title,
                         weft_shorten(p->template_name, WEFT_SHORT_COLUMNS, name),
                         weft_format_integer(p->n_designs, count), p->n_designs == 1 ? "" : "s",
                         n));
    fputc('\n', to);
    fprintf(to, "  %12s %8s %10s  %s\n", p->n_workloads == 1 ? "samples/s" : "mean 1/s", "TDP",
            "area", "design");
    for (int i = 0; i < n_shown; i++)
        print_row(&front[i], to);
    if (n_shown < n)
        fprintf(to, "  and %d more (--verbose)\n", n - n_shown);
    weft_arena_free(a);
}

void weft_study_text(const weft_study_part *part, int n_parts, bool with_all, int width, FILE *to)
{
    if (n_parts == 0)
        fprintf(to, "The study is empty.\n");
    for (int i = 0; i < n_parts; i++) {
        if (i > 0)
            fputc('\n', to);
        print_part(&part[i], with_all, width, to);
    }
}

static weft_doc *row_doc(const weft_study_part *p, const row *r, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP), *steps = weft_doc_new(a, WEFT_DOC_LIST);

    for (int k = 0; k < WEFT_N_PARAMETERS; k++)
        weft_put_size(a, d, weft_parameter_name((weft_parameter)k), r->design->size[k]);
    weft_put_real(a, d, "area_mm2", r->design->area_mm2);
    weft_put_real(a, d, "tdp_w", r->design->tdp_w);
    weft_put_real(a, d, "throughput", r->throughput);
    for (int i = 0; i < p->n_workloads; i++)
        weft_doc_add(a, steps, weft_doc_new_real(a, r->design->step_s[i]));
    weft_doc_put(a, d, "step_s", steps);
    return d;
}

static weft_doc *part_doc(const weft_study_part *p, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP), *networks = weft_doc_new(a, WEFT_DOC_LIST);
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);
    const row *front;
    int n = front_of(p, a, &front);

    weft_put_text(a, d, "template", p->template_name);
    for (int i = 0; i < p->n_workloads; i++) {
        weft_doc *network = weft_add_map(a, networks);

        weft_put_text(a, network, "model", p->workload[i]);
        weft_put_size(a, network, "batch", p->batch[i]);
    }
    weft_doc_put(a, d, "networks", networks);
    weft_put_int(a, d, "designs", p->n_designs);
    for (int i = 0; i < n; i++)
        weft_doc_add(a, list, row_doc(p, &front[i], a));
    weft_doc_put(a, d, "front", list);
    return d;
}

weft_doc *weft_study_doc(const weft_study_part *part, int n_parts, weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP), *list = weft_doc_new(a, WEFT_DOC_LIST);

    weft_put_text(a, d, "schema", "weft.study/1");
    for (int i = 0; i < n_parts; i++)
        weft_doc_add(a, list, part_doc(&part[i], a));
    weft_doc_put(a, d, "parts", list);
    return d;
}
