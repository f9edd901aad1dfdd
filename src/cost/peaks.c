/* SPDX-License-Identifier: MIT */
/* peaks.c: operations a second of products, by element type; rows in params.h (WEFT_ROWS_OF_PEAKS).
 *
 * No type runs at the speed of another: one without a peak is refused by name. Only with `use_tf32`
 * products of f32 run as tf32, as frameworks can be told to. */
#include "models.h"

#include <math.h>

int weft_peak_place(const weft_design *d, weft_dtype type)
{
    switch (type) {
    case WEFT_F64:
        return WEFT_P_PEAK_F64;
    case WEFT_F16:
        return WEFT_P_PEAK_F16;
    case WEFT_BF16:
        return WEFT_P_PEAK_BF16;
    case WEFT_F8E4M3FN:
    case WEFT_F8E4M3FNUZ:
    case WEFT_F8E5M2:
    case WEFT_F8E5M2FNUZ:
        return WEFT_P_PEAK_FP8;
    case WEFT_I8:
    case WEFT_U8:
    case WEFT_I32: /* results of integer products */
        return WEFT_P_PEAK_INT8;
    default: /* f32; types without units of their own, as wide integers, run in those of f32 */
        return d->value[WEFT_P_USE_TF32] > 0 && type == WEFT_F32 ? WEFT_P_PEAK_TF32
                                                                 : WEFT_P_PEAK_F32;
    }
}

int weft_missing_peak(const weft_design *d, const weft_work_key *k)
{
    int place = weft_peak_place(d, k->type);

    return k->n_layers == 0 || d->value[place] > 0 ? -1 : place;
}

double weft_largest_peak(const weft_design *d)
{
    double peak = 0;

    for (int i = WEFT_P_PEAK_F64; i <= WEFT_P_PEAK_BF16; i++)
        peak = fmax(peak, d->value[i]);
    return peak > 0 ? peak : fmax(d->value[WEFT_P_PEAK_FP8], d->value[WEFT_P_PEAK_INT8]);
}
