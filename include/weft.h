/* SPDX-License-Identifier: MIT */
/* weft: places, shards and trains networks on hardware, finds accelerators for them, and proves how
 * good each answer is. This header is the whole public interface; docs/interface.md shows it at
 * work.
 *
 * - Objects are opaque. Who opens one closes it (weft_..._close; NULL is allowed);
 *   texts and arrays that an accessor returns belong to the object and live as long as it does.
 * - Functions that can fail return a weft_status (weft/status.h).
 * - Objects of different threads do not touch each other; one object is for one thread at a time,
 *   unless a function says otherwise.
 * - Numbers of tasks, nodes, devices and the like count from 0. An index out of range is an error of
 *   the caller and gets an empty answer: NULL, 0, -1 or NAN.
 * - Where memory runs out, the process aborts. */
#ifndef WEFT_H
#define WEFT_H

#include "weft/call.h"
#include "weft/list.h"
#include "weft/model.h"
#include "weft/plan.h"
#include "weft/platform.h"
#include "weft/problem.h"
#include "weft/solver.h"
#include "weft/status.h"

#endif
