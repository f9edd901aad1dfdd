/* SPDX-License-Identifier: MIT */
/* page.c: the page is a fixed file with data in it.
 *
 * page/page.html holds a line "@NAME" for the style sheet and each script, and a line "@data"; the
 * files and the data take the place of these lines. The assembler copies the files into the library
 * as it does with presets (platform/preset.c); the build says where they are:
 * -DWEFT_PAGE="<folder>", or that they are C elsewhere: -DWEFT_EMBEDDED_IN_C.
 *
 * The data is JSON inside a script element that is not run. "<" is written as an escape of JSON, so
 * that no text of a model can end the element or begin another one. */
#include <string.h>

#include "report.h"

#ifdef WEFT_EMBEDDED_IN_C
#define EMBED(name, file) _Static_assert(sizeof file > 1, "a file has a name")
#elif defined(WEFT_PAGE)
#define EMBED(name, file)                                                                          \
    __asm__(".pushsection .rodata\n"                                                               \
            ".globl weft_page_file_" name "\n"                                                     \
            ".hidden weft_page_file_" name "\n"                                                    \
            "weft_page_file_" name ": .incbin \"" WEFT_PAGE "/" file "\"\n"                        \
            ".byte 0\n"                                                                            \
            ".popsection\n");                                                                      \
    _Static_assert(sizeof file > 1, "a file has a name")
#else
#error "compile with -DWEFT_PAGE=\"<folder of the page>\""
#endif

EMBED("frame", "page.html");
EMBED("style", "page.css");
EMBED("base", "base.js");
EMBED("timeline", "timeline.js");
EMBED("graph", "graph.js");
EMBED("charts", "charts.js");
EMBED("tables", "tables.js");
EMBED("page", "page.js");

extern const char weft_page_file_frame[] __attribute__((visibility("hidden")));
extern const char weft_page_file_style[] __attribute__((visibility("hidden")));
extern const char weft_page_file_base[] __attribute__((visibility("hidden")));
extern const char weft_page_file_timeline[] __attribute__((visibility("hidden")));
extern const char weft_page_file_graph[] __attribute__((visibility("hidden")));
extern const char weft_page_file_charts[] __attribute__((visibility("hidden")));
extern const char weft_page_file_tables[] __attribute__((visibility("hidden")));
extern const char weft_page_file_page[] __attribute__((visibility("hidden")));

/* Lines of the frame and what takes their place. */
static const struct {
    const char *line, *text;
} inserted[] = {
    {"@page.css",    weft_page_file_style   },
    {"@base.js",     weft_page_file_base    },
    {"@timeline.js", weft_page_file_timeline},
    {"@graph.js",    weft_page_file_graph   },
    {"@charts.js",   weft_page_file_charts  },
    {"@tables.js",   weft_page_file_tables  },
    {"@page.js",     weft_page_file_page    },
};
enum { N_INSERTED = sizeof inserted / sizeof inserted[0] };

static void put_data(const weft_doc *page, weft_arena *a, FILE *to)
{
    for (const char *c = weft_doc_json_short(page, a); *c; c++)
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

/* The file for a line of the frame; NULL: the line is its own. */
static const char *file_for(const char *line, size_t n)
{
    for (int i = 0; i < N_INSERTED; i++)
        if (is_line(line, n, inserted[i].line))
            return inserted[i].text;
    return NULL;
}

void weft_page_html(const weft_doc *page, weft_arena *a, FILE *to)
{
    for (const char *line = weft_page_file_frame; *line;) {
        size_t n = strcspn(line, "\n");
        const char *file = file_for(line, n);

        if (file != NULL)
            fputs(file, to);
        else if (is_line(line, n, "@data"))
            put_data(page, a, to);
        else
            fprintf(to, "%.*s\n", (int)n, line);
        line += n + (line[n] == '\n');
    }
}
