/* SPDX-License-Identifier: MIT */
/* Platforms as a request names them: a file, a preset, or a text in the place of either. */
#ifndef WEFT_API_MACHINE_TEXT_H
#define WEFT_API_MACHINE_TEXT_H

#include "weft/api.h"

/* text NULL: what `source` names. The caller owns *out. */
WEFT_CHECKED weft_status weft_machine_open(const char *source, const char *text,
                                           weft_platform **out);

#endif
