/* SPDX-License-Identifier: MIT */
/* The one-line notation of platforms, for tests. */
#ifndef WEFT_PLATFORM_TEXT_H
#define WEFT_PLATFORM_TEXT_H

#include "platform.h"

/* Reads "2*cpu(flops=1) gpu(flops=4,bw=2); cpu0-gpu:8,1us" (platform_text.c). The caller owns *out. */
WEFT_CHECKED weft_status weft_platform_notation(const char *text, weft_platform **out);

#endif
