/* SPDX-License-Identifier: MIT */
/* A platform file of this machine. */
#ifndef WEFT_DEPLOY_LOCAL_H
#define WEFT_DEPLOY_LOCAL_H

#include "measure.h"

#ifdef __cplusplus
extern "C" {
#endif

/* engines: "ort", or several for the processors in turn: "ort,opencv". The text of a platform with a
 * device for each processor that this process may use (at most `most`), and links as measured. An
 * engine that is not here is an error that says so. In `a`. */
WEFT_CHECKED weft_status weft_local_platform(const char *engines, int most, const char *times,
                                             const weft_engine_places *where, weft_arena *a,
                                             const char **out);

#ifdef __cplusplus
}
#endif
#endif
