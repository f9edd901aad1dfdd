/* SPDX-License-Identifier: MIT */
/* status.c: the message of the last failure, one for each thread, and what happens when memory runs
 * out. With the secret of names (map.c) and the lists of open files (file.c, file_write.c) these
 * are all mutable static variables of the library. */
#include "base.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGE_BYTES = 1024 };

static _Thread_local char message[MESSAGE_BYTES];

/* One line, whatever names a hostile file contains. */
static void clean(char *text)
{
    for (unsigned char *p = (unsigned char *)text; *p; p++)
        if (*p < 0x20 || *p == 0x7f)
            *p = '?';
}

weft_status weft_fail(weft_status status, const char *format, ...)
{
    char text[MESSAGE_BYTES]; /* arguments may point into the message */
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    clean(text);
    memcpy(message, text, sizeof message);
    return status;
}

weft_status weft_fail_in(weft_status status, const char *where)
{
    char text[MESSAGE_BYTES];

    memcpy(text, message, sizeof text);
    return weft_fail(status, "%s: %s", where, text);
}

const char *weft_message(void)
{
    return message;
}

static _Atomic(weft_memory_handler) memory_handler;

void weft_on_out_of_memory(weft_memory_handler handler)
{
    atomic_store(&memory_handler, handler);
}

bool weft_handles_out_of_memory(void)
{
    return atomic_load(&memory_handler) != NULL;
}

void weft_out_of_memory(size_t bytes)
{
    weft_memory_handler handler = atomic_load(&memory_handler);

    if (handler != NULL)
        handler(bytes);
    abort();
}
