/* SPDX-License-Identifier: MIT */
/* Design files of one device and of pipelines: what they share (design_doc.c, design_read.c). */
#ifndef WEFT_DESIGN_H
#define WEFT_DESIGN_H

#include "mine.h"

#define WEFT_DESIGN_SCHEMA "weft.design/1"

const char *weft_metric_name(weft_metric m);
/* Sizes, area and power of a design. */
weft_doc *weft_sizes_doc(const weft_template *t, const weft_design_point *p, weft_arena *a);
/* Sizes that were given to dimensions; NULL: none. */
weft_doc *weft_dims_doc(const weft_model_options *o, weft_arena *a);
/* The software, if the user said it. */
void weft_put_software(weft_arena *a, weft_doc *d, const weft_model_options *o);
/* Schema, kind, template. */
void weft_design_put_head(weft_arena *a, weft_doc *d, const char *kind, const weft_template *t);
/* Status, value, unit, bound, gap. */
void weft_design_put_claims(weft_arena *a, weft_doc *d, weft_outcome outcome, double value,
                            double bound, double gap, const char *unit);
/* What was asked for: limits, and how networks are opened. */
void weft_design_put_limits(weft_arena *a, weft_doc *d, const weft_limits *limits,
                            const weft_template *t, double least_throughput);
void weft_design_put_options(weft_arena *a, weft_doc *d, const char *dtype, const char *optimizer,
                             const weft_model_options *options);
/* The hash of all that is there, as the last entry. */
void weft_design_put_hash(weft_arena *a, weft_doc *d);

#endif
