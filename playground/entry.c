/* SPDX-License-Identifier: MIT */
/* entry.c: what the page calls: weft_call, with progress told to the page. */
#include <stdlib.h>

#include "weft/call.h"

__attribute__((import_module("weft"), import_name("progress"))) void
playground_progress(double value, double bound);
char *playground_call(const char *request);
void playground_free(char *reply);

static void tell(void *context, double value, double bound)
{
    (void)context;
    playground_progress(value, bound);
}

/* The reply goes to playground_free. */
char *playground_call(const char *request)
{
    char *reply = NULL;

    (void)weft_call_watched(request, tell, NULL, NULL, &reply);
    return reply;
}

void playground_free(char *reply)
{
    weft_call_free(reply);
}
