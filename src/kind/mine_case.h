/* SPDX-License-Identifier: MIT */
/* Requests for designs, as far as one device and the devices of a pipeline share them. */
#ifndef WEFT_KIND_MINE_CASE_H
#define WEFT_KIND_MINE_CASE_H

#include "kind.h"

/* Opens the template; one without a reference design is refused. */
WEFT_CHECKED weft_status weft_mine_template(const weft_mine_request *r, weft_template **out);
WEFT_CHECKED weft_status weft_mine_limits(const weft_mine_request *r, const weft_template *t,
                                          weft_limits *out);
/* The least throughput, relative to the reference. */
double weft_mine_least(const weft_mine_request *r);

#endif
