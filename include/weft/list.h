/* SPDX-License-Identifier: MIT */
/* What weft brings along, by name. */
#ifndef WEFT_PUBLIC_LIST_H
#define WEFT_PUBLIC_LIST_H

#include "weft/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_names weft_names;

/* Lists "models", "platforms", "templates", "solvers" (registered ones too) or "operators"; any
 * other is an error. The caller closes *out. */
WEFT_CHECKED weft_status weft_names_open(const char *what, weft_names **out);
void weft_names_close(weft_names *names); /* NULL is allowed */
int weft_names_count(const weft_names *names);
const char *weft_names_at(const weft_names *names, int i);
/* One line about it; "" where there is none (operators). */
const char *weft_names_summary(const weft_names *names, int i);
/* Solvers: the problem kind they are for ("place", "shard", "train", "serve", "mine"); else "". */
const char *weft_names_kind(const weft_names *names, int i);

#ifdef __cplusplus
}
#endif
#endif
