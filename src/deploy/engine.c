/* SPDX-License-Identifier: MIT */
/* engine.c: the table of engines, and what they share. */
#include "engine.h"

#include <string.h>

static const weft_engine *const engines[] = {&weft_engine_ort, &weft_engine_opencv,
                                             &weft_engine_paced};

static const weft_session_tensor *copied(const weft_session_tensor *from, int n, int n_slots,
                                         weft_arena *a)
{
    weft_session_tensor *t = weft_arena_copy(a, from, (size_t)n * sizeof *t);

    for (int i = 0; i < n; i++)
        t[i].data = weft_arena_copy(a, t[i].data, (size_t)n_slots * sizeof *t[i].data);
    return t;
}

weft_session_spec weft_session_spec_copy(const weft_session_spec *spec, weft_arena *a)
{
    weft_session_spec out = *spec;

    out.input = copied(spec->input, spec->n_inputs, spec->n_slots, a);
    out.output = copied(spec->output, spec->n_outputs, spec->n_slots, a);
    return out;
}

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
