/* SPDX-License-Identifier: MIT */
/* version.c: the version, which the build knows. */
#include "base.h"

const char *weft_version(void)
{
    return WEFT_VERSION;
}
