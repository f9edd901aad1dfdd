/* SPDX-License-Identifier: MIT */
/* Shared by the files of base that put words of the user into their messages. */
#ifndef WEFT_BASE_DOC_H
#define WEFT_BASE_DOC_H

#include "weft/base.h"

/* How many bytes of a text to show in a message, for "%.*s"; characters of UTF-8 are not cut. */
int weft_shown_bytes(const char *text);

#endif
