/* SPDX-License-Identifier: MIT */
/* fields.c: what the writers of reports share: what a report has, and texts that fit the
 * columns of a terminal.
 *
 * Names come from files of others. Control characters never reach a terminal, and a column is a
 * character of UTF-8: bytes that only continue one do not count. */
#include "fields.h"

#include <math.h>
#include <string.h>

/* --- plans ----------------------------------------------------------------------------------- */

bool weft_report_has_plan(const weft_report *r)
{
    return r->solution->plan.device != NULL && r->solution->measures.busy_s != NULL;
}

/* --- text ------------------------------------------------------------------------------------ */

static char shown(char c)
{
    return (unsigned char)c < ' ' || c == 0x7f ? '?' : c;
}

static bool begins_column(char c)
{
    return ((unsigned char)c & 0xc0) != 0x80;
}

int weft_columns(const char *text)
{
    int n = 0;

    for (; *text; text++)
        n += begins_column(*text);
    return n;
}

/* Copies the bytes of columns first .. last - 1 behind the n bytes that are there; returns how many
 * there are then. Text that is not UTF-8 may have more bytes a column than there is room for. */
static int copy_columns(const char *name, int first, int last, char *to, int n)
{
    int column = -1;

    for (; *name; name++) {
        column += begins_column(*name);
        if (column >= last)
            break;
        if (column >= first && n + 1 < WEFT_SHORT_BYTES)
            to[n++] = shown(*name);
    }
    to[n] = '\0';
    return n;
}

const char *weft_shorten(const char *name, int columns, char to[WEFT_SHORT_BYTES])
{
    int have = weft_columns(name),
        want = columns < WEFT_SHORT_COLUMNS ? columns : WEFT_SHORT_COLUMNS;
    int head = (want - 1) / 2, n;

    if (have <= want) {
        copy_columns(name, 0, have, to, 0);
        return to;
    }
    n = copy_columns(name, 0, head, to, 0);
    for (int i = 0; i < 2 && n + 1 < WEFT_SHORT_BYTES; i++)
        to[n++] = '.';
    copy_columns(name, have - (want - 2 - head), have, to, n);
    return to;
}

void weft_print_padded(FILE *to, const char *name, int columns)
{
    char text[WEFT_SHORT_BYTES];

    weft_shorten(name, columns, text);
    fprintf(to, "%s%*s", text, columns - weft_columns(text), "");
}

void weft_print_wrapped(FILE *to, int indent, int width, const char *text)
{
    int used = indent;

    while (*text) {
        int blanks = (int)strspn(text, " ");
        const char *word = text + blanks;
        int bytes = (int)strcspn(word, " "), columns = 0;

        for (int i = 0; i < bytes; i++)
            columns += begins_column(word[i]);
        if (used > indent && used + blanks + columns > width) {
            fprintf(to, "\n%*s", indent, "");
            used = indent;
            blanks = 0;
        }
        fprintf(to, "%*s", blanks, "");
        for (int i = 0; i < bytes; i++)
            fputc(word[i] == '\t' ? ' ' : shown(word[i]), to);
        used += blanks + columns;
        text = word + bytes;
    }
    fputc('\n', to);
}

const char *weft_print_seconds(double seconds, char to[48])
{
    char digits[32];

    if (!(seconds >= 9999.5 && seconds < 1e15)) /* four digits are enough, or none are */
        return weft_unit_print(seconds, WEFT_UNIT_SECONDS, to);
    snprintf(to, 48, "%s s", weft_format_integer((int64_t)(seconds + 0.5), digits));
    return to;
}
