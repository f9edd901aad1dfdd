/* SPDX-License-Identifier: MIT */
/* mine_points.c: designs of a template: their sizes, square millimetres, watts, numbers.
 *
 *   area = fixed + tensor_cores (rows cols pe + sram(L2)) + vector_cores lanes lane + sram(buffer)
 *   TDP  = fixed + clock (mac tensor_cores rows cols + lane vector_cores lanes)
 *   L2   = max(least, bytes_per_pe rows cols), one for each tensor core
 *
 * Both grow in every knob, which searches rely on: the lower corner of a box has the least area and
 * the least power of its members. Constants and their sources are in the preset files. A memory
 * between two sizes of a table has the power law through both; beyond the ends area is
 * proportional. */
#include "weft/mine.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double MIB = 1024.0 * 1024.0;

const char *weft_knob_name(weft_knob k)
{
    static const char *const name[WEFT_N_KNOBS] = {"rows",  "cols",         "tensor_cores",
                                                   "lanes", "vector_cores", "buffer"};

    return name[k];
}

static double constant(const weft_template *t, weft_constant_id id)
{
    return t->constant[id].value;
}

/* mm2 of a memory by the table of the template. */
static double table_mm2(const weft_template *t, double bytes)
{
    const double *x = t->sram_bytes, *y = t->sram_mm2;
    int n = t->n_srams, i = 1;

    if (bytes <= x[0])
        return y[0] * bytes / x[0];
    if (bytes >= x[n - 1])
        return y[n - 1] * bytes / x[n - 1];
    while (bytes > x[i])
        i++;
    if (bytes == x[i])
        return y[i];
    return y[i - 1] * exp(log(y[i] / y[i - 1]) * log(bytes / x[i - 1]) / log(x[i] / x[i - 1]));
}

static double sram_mm2(const weft_template *t, double bytes)
{
    double factor = constant(t, WEFT_AREA_SRAM);

    if (bytes <= 0)
        return 0;
    return factor * (t->n_srams > 0 ? table_mm2(t, bytes) : bytes / MIB);
}

static double multipliers(const weft_template *t, const weft_point *p)
{
    return weft_knob_size(t, p, WEFT_KNOB_ROWS) * weft_knob_size(t, p, WEFT_KNOB_COLS);
}

static double all_lanes(const weft_template *t, const weft_point *p)
{
    return weft_knob_size(t, p, WEFT_KNOB_LANES) * weft_knob_size(t, p, WEFT_KNOB_VECTOR_CORES);
}

double weft_point_area_mm2(const weft_template *t, const weft_point *p)
{
    double pe = multipliers(t, p);
    double l2_bytes = fmax(t->l2_least_bytes, t->l2_bytes_per_pe * pe);

    return constant(t, WEFT_AREA_FIXED) +
           weft_knob_size(t, p, WEFT_KNOB_TENSOR_CORES) *
               (pe * constant(t, WEFT_AREA_PE) + sram_mm2(t, l2_bytes)) +
           all_lanes(t, p) * constant(t, WEFT_AREA_LANE) +
           sram_mm2(t, weft_knob_size(t, p, WEFT_KNOB_BUFFER));
}

double weft_point_tdp_w(const weft_template *t, const weft_point *p)
{
    double pe = multipliers(t, p) * weft_knob_size(t, p, WEFT_KNOB_TENSOR_CORES);

    if (!t->has_power)
        return 0;
    return constant(t, WEFT_POWER_FIXED) +
           constant(t, WEFT_CLOCK) *
               (constant(t, WEFT_POWER_MAC) * pe + constant(t, WEFT_POWER_LANE) * all_lanes(t, p));
}

int64_t weft_template_points(const weft_template *t)
{
    int64_t n = 1;

    for (int k = 0; k < WEFT_N_KNOBS; k++)
        n *= t->n_sizes[k];
    return n;
}

int64_t weft_point_index(const weft_template *t, const weft_point *p)
{
    int64_t index = 0;

    for (int k = 0; k < WEFT_N_KNOBS; k++)
        index = index * t->n_sizes[k] + p->at[k];
    return index;
}

weft_point weft_point_at(const weft_template *t, int64_t index)
{
    weft_point p;

    for (int k = WEFT_N_KNOBS - 1; k >= 0; k--) {
        p.at[k] = (uint16_t)(index % t->n_sizes[k]);
        index /= t->n_sizes[k];
    }
    return p;
}

const char *weft_point_print(const weft_template *t, const weft_point *p, char to[96])
{
    snprintf(to, 96, "%.0fx%.0f x%.0f, %.0f lanes x%.0f, %g MiB",
             weft_knob_size(t, p, WEFT_KNOB_ROWS), weft_knob_size(t, p, WEFT_KNOB_COLS),
             weft_knob_size(t, p, WEFT_KNOB_TENSOR_CORES), weft_knob_size(t, p, WEFT_KNOB_LANES),
             weft_knob_size(t, p, WEFT_KNOB_VECTOR_CORES),
             weft_knob_size(t, p, WEFT_KNOB_BUFFER) / MIB);
    return to;
}

const weft_landmark *weft_landmark_find(const weft_template *t, const char *name)
{
    for (int i = 0; i < t->n_landmarks; i++)
        if (strcmp(t->landmark[i].name, name) == 0)
            return &t->landmark[i];
    return NULL;
}
