/* SPDX-License-Identifier: MIT */
/* Rows of parameters that several device models have: key, place, unit, range and default stand only
 * here, those of a single model in its file. */
#ifndef WEFT_PLATFORM_PARAMS_H
#define WEFT_PLATFORM_PARAMS_H

#include "platform.h"

/* Stands for "no limit" where a model divides by a bandwidth or compares with a buffer. */
#define WEFT_UNLIMITED 1e30
/* Lowest value of what must not be 0. */
#define WEFT_POSITIVE 1e-9

#define WEFT_ROW_BANDWIDTH                                                                         \
    {                                                                                              \
        "memory_bandwidth", WEFT_P_BANDWIDTH, WEFT_UNIT_BYTES_PER_S, true, true, 0, WEFT_POSITIVE, \
            WEFT_UNLIMITED, "bytes per second between memory and device"                           \
    }
#define WEFT_ROW_ETA                                                                               \
    {                                                                                              \
        "memory_efficiency", WEFT_P_ETA, WEFT_UNIT_NONE, true, false, 1, WEFT_POSITIVE, 1,         \
            "usable part of memory_bandwidth"                                                      \
    }
/* Half of the efficiency at this size: (b + half) / (bandwidth efficiency) seconds for b bytes. */
#define WEFT_ROW_MEMORY_HALF                                                                       \
    {                                                                                              \
        "memory_half", WEFT_P_MEMORY_HALF, WEFT_UNIT_BYTES, false, false, 0, 0, 1e12,              \
            "bytes of an operator at which memory reaches half of memory_efficiency"               \
    }
#define WEFT_ROW_OVERHEAD                                                                          \
    {                                                                                              \
        "overhead", WEFT_P_OVERHEAD, WEFT_UNIT_SECONDS, false, false, 0, 0, 1e6,                   \
            "time before each operator that does work"                                             \
    }
#define WEFT_ROW_CLOCK                                                                             \
    {                                                                                              \
        "clock", WEFT_P_CLOCK, WEFT_UNIT_HERTZ, false, true, 0, WEFT_POSITIVE, 1e15,               \
            "cycles per second"                                                                    \
    }
/* A buffer without limit moves every tensor once, which is what "not given" should mean. */
#define WEFT_ROW_SRAM(is_required)                                                                 \
    {                                                                                              \
        "sram", WEFT_P_SRAM, WEFT_UNIT_BYTES, false, is_required, WEFT_UNLIMITED, WEFT_POSITIVE,   \
            WEFT_UNLIMITED, "buffer on chip; if not given, large enough for every tensor"          \
    }
#define WEFT_ROW_COUNT(key, place, help)                                                           \
    {                                                                                              \
        key, place, WEFT_UNIT_NONE, true, true, 0, 1, 1e6, help                                    \
    }
#define WEFT_ROW_COUNT_OR_1(key, place, help)                                                      \
    {                                                                                              \
        key, place, WEFT_UNIT_NONE, true, false, 1, 1, 1e6, help                                   \
    }
#define WEFT_ROW_DATAFLOW                                                                          \
    {                                                                                              \
        "dataflow", WEFT_P_DATAFLOW, WEFT_UNIT_NONE, true, false, WEFT_DATAFLOW_BEST,              \
            WEFT_DATAFLOW_BEST, WEFT_DATAFLOW_SIMD,                                                \
            "what stays in the array: best, ws, os, is or simd"                                    \
    }
#define WEFT_ROWS_OF_ALL                                                                           \
    {"energy_per_flop",        WEFT_P_PJ_FLOP, WEFT_UNIT_JOULES, false, false, 0, 0, 1,            \
     "energy of one operation"},                                                                   \
        {"energy_per_byte",                                                                        \
         WEFT_P_PJ_BYTE,                                                                           \
         WEFT_UNIT_JOULES,                                                                         \
         false,                                                                                    \
         false,                                                                                    \
         0,                                                                                        \
         0,                                                                                        \
         1,                                                                                        \
         "energy of one byte of memory traffic"},                                                  \
        {"area", WEFT_P_AREA, WEFT_UNIT_MM2,                                                       \
         false,  false,       0,                                                                   \
         0,      1e9,         "area of the chip; 0: computed where the model can"},                \
        {"host_time",                                                                              \
         WEFT_P_HOST_TIME,                                                                         \
         WEFT_UNIT_SECONDS,                                                                        \
         false,                                                                                    \
         false,                                                                                    \
         0,                                                                                        \
         0,                                                                                        \
         1e6,                                                                                      \
         "time of the host for each operator, with software eager"},                               \
    {                                                                                              \
        "blocking", WEFT_P_BLOCKING, WEFT_UNIT_NONE, true, false, 0, 0, 1,                         \
            "1: the host waits for each operator, so that its time is added"                       \
    }

#define WEFT_ROW_PEAK(key, place, help)                                                            \
    {                                                                                              \
        key, place, WEFT_UNIT_FLOPS, true, false, 0, 0, WEFT_UNLIMITED, help                       \
    }
#define WEFT_ROW_FLAG(key, place, help)                                                            \
    {                                                                                              \
        key, place, WEFT_UNIT_NONE, true, false, 0, 0, 1, help                                     \
    }

/* Peaks by element type, for models whose products have them (src/cost/peaks.c). */
#define WEFT_ROWS_OF_PEAKS                                                                         \
    WEFT_ROW_PEAK("peak_f64", WEFT_P_PEAK_F64, "peak of f64 products"),                            \
        WEFT_ROW_PEAK("peak_f32", WEFT_P_PEAK_F32, "peak of f32 products"),                        \
        WEFT_ROW_PEAK("peak_tf32", WEFT_P_PEAK_TF32, "peak of f32 products run as tf32"),          \
        WEFT_ROW_PEAK("peak_f16", WEFT_P_PEAK_F16, "peak of f16 products"),                        \
        WEFT_ROW_PEAK("peak_bf16", WEFT_P_PEAK_BF16, "peak of bf16 products"),                     \
        WEFT_ROW_PEAK("peak_fp8", WEFT_P_PEAK_FP8, "peak of 8-bit floating-point products"),       \
        WEFT_ROW_PEAK("peak_int8", WEFT_P_PEAK_INT8, "peak of 8-bit integer products"),            \
        WEFT_ROW_FLAG("use_tf32", WEFT_P_USE_TF32, "1: f32 products run as tf32")

/* The members `param` and `n_params` of a row. */
#define WEFT_PARAMS(table) .param = (table), .n_params = (int)(sizeof(table) / sizeof(table)[0])

#endif
