/* SPDX-License-Identifier: MIT */
/* Calls of code that is not trusted to come back: in a process of their own. */
#ifndef WEFT_BASE_APART_H
#define WEFT_BASE_APART_H

#include <signal.h>

#include "base.h"

/* Memory that a call apart and its caller both see, zeroed; NULL: there is none. */
void *weft_subprocess_memory(size_t n_bytes);
void weft_subprocess_release(void *memory, size_t n_bytes);

/* Calls job(context) in a copy of this process and waits for it. What it writes is lost, but for
 * memory of weft_subprocess_memory. While it runs, *stop (NULL: none) is copied to *told, which
 * should be in such memory. True: job returned; false: it crashed, or there could be no process. */
bool weft_subprocess(void (*job)(void *context), void *context, const volatile sig_atomic_t *stop,
                     volatile sig_atomic_t *told);

#endif
