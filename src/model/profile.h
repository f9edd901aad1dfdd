/* SPDX-License-Identifier: MIT */
/* Measured times of nodes on devices. */
#ifndef WEFT_PROFILE_H
#define WEFT_PROFILE_H

#include "base.h"

/* Measured times (weft.profile/1). */
typedef struct weft_profile weft_profile;
WEFT_CHECKED weft_status weft_profile_read(const char *path, weft_arena *a, weft_profile **out);
/* Seconds of a node on a device, or NAN if it was not measured. */
double weft_profile_s(const weft_profile *p, const char *node, const char *device);

#endif
