/* SPDX-License-Identifier: MIT */
/* mine_designs.c: designs of a template: their sizes, square millimetres, watts, numbers.
 *
 *   area = that of cost/template.c with the constants of the template
 *   TDP  = fixed + clock (mac tensor_cores rows cols + lane vector_cores lanes)
 *   L2   = max(least, bytes_per_pe rows cols), one for each tensor core
 *
 * Both grow in every parameter, which searches rely on: the lower corner of a box has the least area and
 * the least power of its members. Constants and their sources are in the preset files. */
#include "mine.h"
#include "models.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *weft_parameter_name(weft_parameter k)
{
    static const char *const name[WEFT_N_PARAMETERS] = {"rows",  "cols",         "tensor_cores",
                                                        "lanes", "vector_cores", "buffer"};

    return name[k];
}

static double constant(const weft_template *t, weft_constant_id id)
{
    return t->constant[id].value;
}

static double multipliers(const weft_template *t, const weft_design_point *p)
{
    return weft_parameter_size(t, p, WEFT_ROWS) * weft_parameter_size(t, p, WEFT_COLS);
}

static double all_lanes(const weft_template *t, const weft_design_point *p)
{
    return weft_parameter_size(t, p, WEFT_LANES) * weft_parameter_size(t, p, WEFT_VECTOR_CORES);
}

double weft_design_point_area_mm2(const weft_template *t, const weft_design_point *p)
{
    weft_area_model m = {.fixed_mm2 = constant(t, WEFT_AREA_FIXED),
                         .pe_mm2 = constant(t, WEFT_AREA_PE),
                         .lane_mm2 = constant(t, WEFT_AREA_LANE),
                         .sram_scale = constant(t, WEFT_AREA_SRAM),
                         .n_srams = t->n_srams,
                         .sram_bytes = t->sram_bytes,
                         .sram_mm2 = t->sram_mm2,
                         .l2_bytes_per_pe = t->l2_bytes_per_pe,
                         .l2_least_bytes = t->l2_least_bytes};

    return weft_area_mm2(&m, multipliers(t, p), weft_parameter_size(t, p, WEFT_TENSOR_CORES),
                         all_lanes(t, p), weft_parameter_size(t, p, WEFT_BUFFER));
}

double weft_first_access_s(const weft_template *t)
{
    static const double cycles = 500; /* WHAM's public code */

    return cycles / constant(t, WEFT_CLOCK);
}

weft_design weft_point_design(const weft_template *t, const weft_design_point *p)
{
    weft_design d = {.name = "design", .model = WEFT_TEMPLATE};

    d.value[WEFT_P_CLOCK] = constant(t, WEFT_CLOCK) * constant(t, WEFT_DERATE);
    d.value[WEFT_P_OVERHEAD] = weft_first_access_s(t);
    d.value[WEFT_P_BANDWIDTH] = constant(t, WEFT_HBM_BANDWIDTH);
    d.value[WEFT_P_ETA] = constant(t, WEFT_HBM_EFFICIENCY);
    d.value[WEFT_P_SRAM] = weft_parameter_size(t, p, WEFT_BUFFER);
    d.value[WEFT_P_ROWS] = weft_parameter_size(t, p, WEFT_ROWS);
    d.value[WEFT_P_COLS] = weft_parameter_size(t, p, WEFT_COLS);
    d.value[WEFT_P_CORES] = weft_parameter_size(t, p, WEFT_TENSOR_CORES);
    d.value[WEFT_P_LANES] = weft_parameter_size(t, p, WEFT_LANES);
    d.value[WEFT_P_VECTOR_CORES] = weft_parameter_size(t, p, WEFT_VECTOR_CORES);
    d.value[WEFT_P_DATAFLOW] = (double)t->dataflow;
    d.value[WEFT_P_PORT] = isinf(constant(t, WEFT_PORT)) ? 0 : constant(t, WEFT_PORT);
    d.value[WEFT_P_AREA] = weft_design_point_area_mm2(t, p);
    for (int i = 0; i < WEFT_N_FAMILIES; i++)
        d.efficiency[i] = 1;
    return d;
}

double weft_design_point_tdp_w(const weft_template *t, const weft_design_point *p)
{
    double pe = multipliers(t, p) * weft_parameter_size(t, p, WEFT_TENSOR_CORES);

    if (!t->has_power)
        return 0;
    return constant(t, WEFT_POWER_FIXED) +
           constant(t, WEFT_CLOCK) *
               (constant(t, WEFT_POWER_MAC) * pe + constant(t, WEFT_POWER_LANE) * all_lanes(t, p));
}

int64_t weft_template_points(const weft_template *t)
{
    int64_t n = 1;

    for (int k = 0; k < WEFT_N_PARAMETERS; k++)
        n *= t->n_sizes[k];
    return n;
}

int64_t weft_point_index(const weft_template *t, const weft_design_point *p)
{
    int64_t index = 0;

    for (int k = 0; k < WEFT_N_PARAMETERS; k++)
        index = index * t->n_sizes[k] + p->at[k];
    return index;
}

weft_design_point weft_point_at(const weft_template *t, int64_t index)
{
    weft_design_point p;

    for (int k = WEFT_N_PARAMETERS - 1; k >= 0; k--) {
        p.at[k] = (uint16_t)(index % t->n_sizes[k]);
        index /= t->n_sizes[k];
    }
    return p;
}

const char *weft_point_print(const weft_template *t, const weft_design_point *p, char to[96])
{
    snprintf(to, 96, "%.0fx%.0f x%.0f, %.0f lanes x%.0f, %g MiB",
             weft_parameter_size(t, p, WEFT_ROWS), weft_parameter_size(t, p, WEFT_COLS),
             weft_parameter_size(t, p, WEFT_TENSOR_CORES), weft_parameter_size(t, p, WEFT_LANES),
             weft_parameter_size(t, p, WEFT_VECTOR_CORES),
             weft_parameter_size(t, p, WEFT_BUFFER) / (1024.0 * 1024.0));
    return to;
}

weft_space_box weft_template_box(const weft_template *t)
{
    weft_space_box all = {{{0}}, {{0}}};

    for (int k = 0; k < WEFT_N_PARAMETERS; k++)
        all.hi.at[k] = (uint16_t)(t->n_sizes[k] - 1);
    return all;
}

bool weft_point_fits(const weft_template *t, const weft_design_point *p, const weft_limits *l)
{
    return weft_design_point_area_mm2(t, p) <= l->area_mm2 &&
           weft_design_point_tdp_w(t, p) <= l->tdp_w;
}

const weft_landmark *weft_landmark_find(const weft_template *t, const char *name)
{
    for (int i = 0; i < t->n_landmarks; i++)
        if (strcmp(t->landmark[i].name, name) == 0)
            return &t->landmark[i];
    return NULL;
}
