/* SPDX-License-Identifier: MIT */
/* mill_timer.c: a mill as what searches ask. */
#include "weft/mine.h"

static double step_s(void *mill, const weft_point *p)
{
    return weft_mill_step_s(mill, p);
}

static double floor_s(void *mill, const weft_point *p)
{
    return weft_mill_floor_s(mill, p);
}

static double simple_s(void *mill, const weft_point *p)
{
    return weft_mill_simple_s(mill, p);
}

static double headtail_s(void *mill, const weft_point *p)
{
    return weft_mill_headtail_s(mill, p);
}

static double serial_s(void *mill, const weft_point *p)
{
    return weft_mill_serial_s(mill, p);
}

static weft_conflicts conflicts(void *mill, const weft_point *p)
{
    return weft_mill_conflicts(mill, p);
}

static double box_s(void *mill, const weft_space_box *b, const weft_limits *l)
{
    return weft_mill_box_s(mill, b, l);
}

const weft_timer weft_mill_timer = {step_s,   floor_s,   simple_s, headtail_s,
                                    serial_s, conflicts, box_s};
