/* SPDX-License-Identifier: MIT */
/* One call that does what every command of the program does: for bindings and services.
 *
 * A request is a JSON document:
 *
 *   {"schema": "weft.request/1", "command": "place",
 *    "arguments": {"model": "resnet50", "on": "edge-soc", "time-limit": "5s", "mix": false}}
 *
 * Arguments have the names of the command's flags without "--", and operands theirs in small
 * letters ("model", "plan", "a" and "b" of diff; "what" of list). Values are texts, numbers, truth
 * values, or lists of them where a command takes several. The reply is
 *
 *   {"schema": "weft.reply/1", "status": 0, "result": ..., "notes": [], "error": null}
 *
 * status: what the program would exit with: 0 done, 1 no plan exists or a check failed, 2 wrong
 * input, 3 internal error. result: what --json prints (a text where a command has no JSON; null
 * where it prints nothing). notes: lines that the program would print on standard error. error: null
 * or {"code": 2, "message": "..."}. */
#ifndef WEFT_PUBLIC_CALL_H
#define WEFT_PUBLIC_CALL_H

#include <signal.h>

#include "weft/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Told of progress: the best value so far (INFINITY: none yet) and the bound (0, or INFINITY where
 * more is better: none yet). Called by any thread of the search, never by two at once. */
typedef void (*weft_progress_callback)(void *context, double value, double bound);

/* Runs a request. *reply is always a document of its own, also after an error, and goes to
 * weft_call_free. WEFT_OK for the status 0 and 1; else the reason is in the reply and in
 * weft_message. Nothing is printed; files are written where the arguments say so. Several threads
 * may call at once. */
weft_status weft_call(const char *request, char **reply);

/* The same. progress (NULL: none) is called with `context`; from the moment that *stop (NULL: never)
 * is not 0 the search ends with what it has. Any thread, a signal handler and the callback itself
 * may set *stop. */
weft_status weft_call_watched(const char *request, weft_progress_callback progress, void *context,
                              const volatile sig_atomic_t *stop, char **reply);

/* Frees a reply; NULL is allowed. */
void weft_call_free(char *reply);

#ifdef __cplusplus
}
#endif
#endif
