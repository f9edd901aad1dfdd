/* SPDX-License-Identifier: MIT */
/* engine.c: the table of engines. */
#include "engine.h"

#include <string.h>

static const weft_engine *const engines[] = {&weft_engine_ort, &weft_engine_opencv,
                                             &weft_engine_paced};

int weft_engine_count(void)
{
    return (int)(sizeof engines / sizeof *engines);
}

const weft_engine *weft_engine_at(int i)
{
    return engines[i];
}

weft_status weft_engine_find(const char *name, const weft_engine **out)
{
    for (int i = 0; i < weft_engine_count(); i++)
        if (strcmp(engines[i]->name, name) == 0) {
            *out = engines[i];
            return WEFT_OK;
        }
    return weft_fail(WEFT_E_INPUT, "engine is '%.40s', expected ort, opencv or paced", name);
}
