/* SPDX-License-Identifier: MIT */
/* pages.c: pages as files: for weft report, and for --report of the commands that make plans. */
#include "command.h"
#include "kind.h"

weft_status weft_page_write(const weft_doc *page, const char *path, weft_arena *a)
{
    weft_collect c;

    WEFT_TRY(weft_collect_begin(&c));
    weft_page_html(page, a, c.to);
    return weft_collect_emit(&c, path);
}
