/* SPDX-License-Identifier: MIT */
/* weft: networks woven through hardware. This header is the whole public interface. */
#ifndef WEFT_H
#define WEFT_H

#include "weft/base.h"
#include "weft/graph.h"
#include "weft/model.h"
#include "weft/ops.h"
#include "weft/report.h"

#endif
