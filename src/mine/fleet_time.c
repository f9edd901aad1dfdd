/* SPDX-License-Identifier: MIT */
/* fleet_time.c: seconds of kinds of units on many designs.
 *
 *   job    first + max(tensor cycles / (derate f), vector cycles / (derate f), bytes / (eta BW))
 *
 * with the port of the buffer in both kinds of cycles,
 * as weft_design_cost() of the template model, all cores at work on one node after the other.
 * Cycles of tensor cores depend on rows, columns and their number only, those of vector cores on
 * the lanes of all of them, bytes on the buffer: rows of all keys are memoised by these, and a job
 * on a design is the largest of three numbers. Collectives do not depend on the design.
 *
 * Cost: O(keys) formulas for each row, O(jobs) for each design. */
#include "arrays.h"
#include "fleet.h"

#include <math.h>

static const double first_cycles = 500; /* first access to memory: WHAM's public code */

weft_design weft_point_design(const weft_template *t, const weft_point *p)
{
    weft_design d = {.name = "design", .model = WEFT_TEMPLATE};
    double clock = t->constant[WEFT_CLOCK].value * t->constant[WEFT_DERATE].value;

    d.value[WEFT_P_CLOCK] = clock;
    d.value[WEFT_P_OVERHEAD] = first_cycles / clock;
    d.value[WEFT_P_BANDWIDTH] = t->constant[WEFT_HBM_BANDWIDTH].value;
    d.value[WEFT_P_ETA] = t->constant[WEFT_HBM_EFFICIENCY].value;
    d.value[WEFT_P_SRAM] = weft_knob_size(t, p, WEFT_KNOB_BUFFER);
    d.value[WEFT_P_ROWS] = weft_knob_size(t, p, WEFT_KNOB_ROWS);
    d.value[WEFT_P_COLS] = weft_knob_size(t, p, WEFT_KNOB_COLS);
    d.value[WEFT_P_CORES] = weft_knob_size(t, p, WEFT_KNOB_TENSOR_CORES);
    d.value[WEFT_P_LANES] = weft_knob_size(t, p, WEFT_KNOB_LANES);
    d.value[WEFT_P_VECTOR_CORES] = weft_knob_size(t, p, WEFT_KNOB_VECTOR_CORES);
    d.value[WEFT_P_DATAFLOW] = (double)t->dataflow;
    d.value[WEFT_P_PORT] = isinf(t->constant[WEFT_PORT].value) ? 0 : t->constant[WEFT_PORT].value;
    d.value[WEFT_P_AREA] = weft_point_area_mm2(t, p);
    for (int i = 0; i < WEFT_N_FAMILIES; i++)
        d.efficiency[i] = 1;
    return d;
}

/* --- rows of all keys --------------------------------------------------------------------------
 */

typedef struct desk {
    const weft_template *t;
    const weft_unit_work *w;
    const double **tensor; /* by rows, columns, cores: seconds */
    const double **vector; /* by lanes, cores */
    const double **memory; /* by buffer */
    weft_arena *a;         /* of the rows */
} desk;

static const double *tensor_row(desk *d, const weft_point *p)
{
    const weft_template *t = d->t;
    int at = (p->at[WEFT_KNOB_ROWS] * t->n_sizes[WEFT_KNOB_COLS] + p->at[WEFT_KNOB_COLS]) *
                 t->n_sizes[WEFT_KNOB_TENSOR_CORES] +
             p->at[WEFT_KNOB_TENSOR_CORES];
    double clock = t->constant[WEFT_CLOCK].value * t->constant[WEFT_DERATE].value, *row;
    weft_tensor_cores cores = {
        weft_knob_size(t, p, WEFT_KNOB_ROWS), weft_knob_size(t, p, WEFT_KNOB_COLS),
        weft_knob_size(t, p, WEFT_KNOB_TENSOR_CORES), t->constant[WEFT_PORT].value, t->dataflow};

    if (d->tensor[at] != NULL)
        return d->tensor[at];
    d->tensor[at] = row = WEFT_NEW(d->a, double, d->w->n_keys + 1);
    for (int k = 0; k < d->w->n_keys; k++)
        row[k] = weft_tensor_cycles(&d->w->key[k], &cores) / clock;
    return row;
}

static const double *vector_row(desk *d, const weft_point *p)
{
    const weft_template *t = d->t;
    int at =
        p->at[WEFT_KNOB_LANES] * t->n_sizes[WEFT_KNOB_VECTOR_CORES] + p->at[WEFT_KNOB_VECTOR_CORES];
    double clock = t->constant[WEFT_CLOCK].value * t->constant[WEFT_DERATE].value, *row;

    if (d->vector[at] != NULL)
        return d->vector[at];
    d->vector[at] = row = WEFT_NEW(d->a, double, d->w->n_keys + 1);
    for (int k = 0; k < d->w->n_keys; k++) {
        const weft_work_key *key = &d->w->key[k];
        double port =
            key->n_layers == 0 ? weft_compulsory_bytes(key) / t->constant[WEFT_PORT].value : 0;

        row[k] =
            fmax(port, weft_cycles_vector(key, weft_knob_size(t, p, WEFT_KNOB_LANES) *
                                                   weft_knob_size(t, p, WEFT_KNOB_VECTOR_CORES))) /
            clock;
    }
    return row;
}

static const double *memory_row(desk *d, const weft_point *p)
{
    const weft_template *t = d->t;
    int at = p->at[WEFT_KNOB_BUFFER];
    double *row,
        rate = t->constant[WEFT_HBM_BANDWIDTH].value * t->constant[WEFT_HBM_EFFICIENCY].value;

    if (d->memory[at] != NULL)
        return d->memory[at];
    d->memory[at] = row = WEFT_NEW(d->a, double, d->w->n_keys + 1);
    for (int k = 0; k < d->w->n_keys; k++)
        row[k] = weft_key_traffic(&d->w->key[k], weft_knob_size(t, p, WEFT_KNOB_BUFFER)) / rate;
    return row;
}

/* --- a kind on a design ------------------------------------------------------------------------
 */

/* Seconds of all keys on a design. */
static void fill_keys(desk *d, const weft_point *p, double *key_s)
{
    const double *x = tensor_row(d, p), *y = vector_row(d, p), *z = memory_row(d, p);
    double first_s =
        first_cycles / (d->t->constant[WEFT_CLOCK].value * d->t->constant[WEFT_DERATE].value);

    for (int k = 0; k < d->w->n_keys; k++) {
        double core_s = x[k] > y[k] ? x[k] : y[k];

        key_s[k] = first_s + (core_s > z[k] ? core_s : z[k]);
    }
}

static weft_fleet_time time_of(const weft_unit_kind *kind, const double *key_s)
{
    weft_fleet_time t = {kind->cost.forward_collective_s, kind->cost.backward_collective_s, 0, {0}};
    double again_s = kind->again_collective_s;

    for (int i = 0; i < kind->n_jobs; i++) {
        const weft_unit_job *j = &kind->job[i];
        double s = j->count * key_s[j->key];

        *(j->phase == WEFT_FORWARD    ? &t.forward_s
          : j->phase == WEFT_BACKWARD ? &t.backward_s
                                      : &t.update_s) += s;
        again_s += j->is_again ? s : 0;
    }
    if (t.backward_s > 0) { /* else nothing is differentiated here */
        t.again_s[WEFT_KEEP_SOME] = fmin(again_s, t.forward_s); /* to rounding */
        t.again_s[WEFT_KEEP_NONE] = t.forward_s;
    }
    return t;
}

weft_fleet_time *weft_fleet_times(const weft_template *t, const weft_unit_work *w, int n_points,
                                  const weft_point *point, weft_arena *a)
{
    const int *n = t->n_sizes;
    weft_fleet_time *time = WEFT_NEW_RAW(a, weft_fleet_time, (int64_t)n_points * w->n_kinds + 1);
    weft_arena *rows = weft_arena_new();
    double *key_s = WEFT_NEW(rows, double, w->n_keys + 1);
    desk d = {t,
              w,
              WEFT_NEW(rows, const double *,
                       n[WEFT_KNOB_ROWS] * n[WEFT_KNOB_COLS] * n[WEFT_KNOB_TENSOR_CORES]),
              WEFT_NEW(rows, const double *, n[WEFT_KNOB_LANES] * n[WEFT_KNOB_VECTOR_CORES]),
              WEFT_NEW(rows, const double *, n[WEFT_KNOB_BUFFER]),
              rows};

    for (int i = 0; i < n_points; i++) {
        fill_keys(&d, &point[i], key_s);
        for (int k = 0; k < w->n_kinds; k++)
            time[(int64_t)i * w->n_kinds + k] = time_of(&w->kind[k], key_s);
    }
    weft_arena_free(rows);
    return time;
}
