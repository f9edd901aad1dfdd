/* SPDX-License-Identifier: MIT */
/* weft: networks woven through hardware. This header is the whole public interface. */
#ifndef WEFT_H
#define WEFT_H

#include "weft/api.h"
#include "weft/base.h"
#include "weft/cost.h"
#include "weft/explain.h"
#include "weft/graph.h"
#include "weft/mine.h"
#include "weft/mode.h"
#include "weft/model.h"
#include "weft/ops.h"
#include "weft/opt.h"
#include "weft/place.h"
#include "weft/plan.h"
#include "weft/platform.h"
#include "weft/report.h"
#include "weft/shard.h"
#include "weft/sim.h"
#include "weft/solve.h"
#include "weft/train.h"
#include "weft/unit.h"

#endif
