/* SPDX-License-Identifier: MIT */
/* prctl.h: nothing to set. */
#ifndef WEFT_PLAYGROUND_SYS_PRCTL_H
#define WEFT_PLAYGROUND_SYS_PRCTL_H

#include "../absent.h"

#define PR_SET_PDEATHSIG 1
#define PR_SET_TIMERSLACK 29
#define prctl(...) weft_absent()

#endif
