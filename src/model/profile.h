/* SPDX-License-Identifier: MIT */
/* Measured times of nodes on devices. */
#ifndef WEFT_PROFILE_H
#define WEFT_PROFILE_H

#include "graph.h"
#include "platform.h"

/* Measured times (weft.profile/1). */
typedef struct weft_profile weft_profile;
WEFT_CHECKED weft_status weft_profile_read(const char *path, weft_arena *a, weft_profile **out);
/* Every node and every device of the file is one of these: a misspelt one is an error. */
WEFT_CHECKED weft_status weft_profile_check(const weft_profile *p, const weft_graph *g,
                                            const weft_platform *on);
/* The hash of the network that was measured; 0: the file does not say. */
uint64_t weft_profile_model(const weft_profile *p);
/* Seconds that the engine of a device takes to start a part of the network; 0: not said. */
double weft_profile_launch_s(const weft_profile *p, const char *device);
/* Seconds of a node on a device, or NAN if it was not measured. */
double weft_profile_s(const weft_profile *p, const char *node, const char *device);

#endif
