/* SPDX-License-Identifier: MIT */
/* mine_study.c: weft mine --study FILE --show: the fronts of what a study holds. */
#define _POSIX_C_SOURCE 200809L
#include "command.h"
#include "report.h"

#include <unistd.h>

weft_status weft_mine_show(const char *study, bool json, bool with_all, const char *output,
                           weft_arena *a)
{
    const weft_study_part *part = NULL;
    weft_study *s = NULL;
    weft_collect c;
    weft_status status;
    int n = 0;

    if (access(study, R_OK) != 0)
        return weft_fail(WEFT_E_INPUT, "%s: no such study, or it cannot be read", study);
    WEFT_TRY(weft_study_open_to_read(study, &s));
    status = weft_study_read(s, a, &n, &part);
    weft_study_close(s);
    WEFT_TRY(status);
    WEFT_TRY(weft_collect_begin(&c));
    if (json)
        fprintf(c.to, "%s\n", weft_doc_json(weft_study_doc(part, n, a), 1, a));
    else
        weft_study_text(part, n, with_all, weft_report_width(output), c.to);
    return weft_collect_emit(&c, output);
}
