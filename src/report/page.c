/* SPDX-License-Identifier: MIT */
/* page.c: the page is a fixed file with data in it.
 *
 * page/page.html holds a line "@page.css", "@page.js" and "@data" each; the files and the data take
 * the place of these lines. The assembler copies the files into the library as it does with presets
 * (platform/preset.c); the build says where they are: -DWEFT_PAGE="<folder>".
 *
 * The data is JSON inside a script element that is not run. "<" is written as an escape of JSON, so
 * that no text of a model can end the element or begin another one. */
#include <string.h>

#include "weft/report.h"

#ifndef WEFT_PAGE
#error "compile with -DWEFT_PAGE=\"<folder of the page>\""
#endif

#define EMBED(name, file)                                                                          \
    __asm__(".pushsection .rodata\n"                                                               \
            ".globl weft_page_" name "\n"                                                          \
            ".hidden weft_page_" name "\n"                                                         \
            "weft_page_" name ": .incbin \"" WEFT_PAGE "/" file "\"\n"                             \
            ".byte 0\n"                                                                            \
            ".popsection\n");                                                                      \
    _Static_assert(sizeof file > 1, "a file has a name")

EMBED("frame", "page.html");
EMBED("style", "page.css");
EMBED("script", "page.js");

extern const char weft_page_frame[] __attribute__((visibility("hidden")));
extern const char weft_page_style[] __attribute__((visibility("hidden")));
extern const char weft_page_script[] __attribute__((visibility("hidden")));

static void put_data(const weft_doc *page, weft_arena *a, FILE *to)
{
    for (const char *c = weft_doc_json(page, 0, a); *c; c++)
        if (*c == '<')
            fputs("\\u003c", to);
        else
            fputc(*c, to);
    fputc('\n', to);
}

static bool is_line(const char *line, size_t n, const char *text)
{
    return strlen(text) == n && memcmp(line, text, n) == 0;
}

void weft_page_html(const weft_doc *page, weft_arena *a, FILE *to)
{
    for (const char *line = weft_page_frame; *line;) {
        size_t n = strcspn(line, "\n");

        if (is_line(line, n, "@page.css"))
            fputs(weft_page_style, to);
        else if (is_line(line, n, "@page.js"))
            fputs(weft_page_script, to);
        else if (is_line(line, n, "@data"))
            put_data(page, a, to);
        else
            fprintf(to, "%.*s\n", (int)n, line);
        line += n + (line[n] == '\n');
    }
}
