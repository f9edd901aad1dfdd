/* SPDX-License-Identifier: MIT */
/* violations.c: what breaks the rules, in words. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "violations.h"

void weft_violate(weft_violations *v, const char *format, ...)
{
    char way[32] = "", *text;
    va_list args;
    size_t n, n_way;

    if (v->n++ >= v->most)
        return;
    if (v->way > 0)
        snprintf(way, sizeof way, "way %d: ", v->way);
    n_way = strlen(way);
    va_start(args, format);
    n = (size_t)vsnprintf(NULL, 0, format, args) + 1;
    va_end(args);
    text = WEFT_NEW(v->a, char, n_way + n);
    memcpy(text, way, n_way);
    va_start(args, format);
    vsnprintf(text + n_way, n, format, args);
    va_end(args);
    for (char *at = text; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            *at = '?';
    v->list[v->n - 1].what = text;
}
