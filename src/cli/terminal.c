/* SPDX-License-Identifier: MIT */
/* terminal.c: what a terminal is asked and told: its width, colours, and the line of progress.
 *
 * Reports are plain text; nothing below this file knows colours. When a report goes to a terminal,
 * the few phrases of the table below get a colour on the way: what is proved, what is left open,
 * what is wrong. A blank of a phrase is any white space, for lines may end there. Without the
 * escapes, the bytes are those that a file or a pipe gets.
 *
 * No colours where standard output (or for errors, standard error) is no terminal, under mpirun,
 * where NO_COLOR is set and not empty, or where TERM is empty or "dumb". Progress needs a terminal
 * that can wipe a line: not "dumb". It is one line, cut to the width, so that wiping it leaves
 * nothing. */
#define _DEFAULT_SOURCE
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { USUAL_WIDTH = 80, LEAST_WIDTH = 60, MOST_WIDTH = 120 };

/* --- what the terminal is -------------------------------------------------------------------- */

static bool is_able(void)
{
    const char *term = getenv("TERM");

    return term != NULL && *term != '\0' && strcmp(term, "dumb") != 0;
}

/* mpirun gives its processes a terminal of its own, wherever its own output goes. */
static bool is_terminal(int fd)
{
    return isatty(fd) && getenv("OMPI_COMM_WORLD_SIZE") == NULL;
}

static bool has_colors(int fd)
{
    const char *no = getenv("NO_COLOR");

    return is_terminal(fd) && is_able() && (no == NULL || *no == '\0');
}

/* Columns of a terminal; 0: not known. */
static int columns_of(int fd)
{
    struct winsize size;

    return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

/* What the user says; 0: nothing. */
static int columns_asked(void)
{
    const char *text = getenv("COLUMNS");
    char *end = NULL;
    long n = text != NULL ? strtol(text, &end, 10) : 0;

    return end != NULL && *end == '\0' && n > 0 && n < 100000 ? (int)n : 0;
}

int weft_terminal_width(void)
{
    int n;

    if (!is_terminal(STDOUT_FILENO))
        return 0;
    n = columns_asked();
    if (n == 0)
        n = columns_of(STDOUT_FILENO);
    if (n == 0)
        return USUAL_WIDTH;
    return n < LEAST_WIDTH ? LEAST_WIDTH : n > MOST_WIDTH ? MOST_WIDTH : n;
}

/* --- colours --------------------------------------------------------------------------------- */

typedef enum tone { TITLE, GOOD, CARE, BAD } tone;

static const char *const escape_of[] = {
    [TITLE] = "\033[1m", [GOOD] = "\033[32m", [CARE] = "\033[33m", [BAD] = "\033[31m"};
static const char escape_end[] = "\033[0m";

/* '#' stands for a number: digits, a point between them, an exponent. */
static const struct phrase {
    const char *text;
    tone tone;
} phrases[] = {
    {"no plan is better",                                                GOOD},
    {"no plan of the space is better",                                   GOOD},
    {"proved: no design of the template within the limits is better",    GOOD},
    {"proved: no designs within the limits and no partition are better", GOOD},
    {"The plans are the same.",                                          GOOD},
    {"Proved:",                                                          GOOD},
    {": proved.",                                                        GOOD},
    {"limits, and worth what they claim",                                GOOD},
    {"limits, and worth what it claims",                                 GOOD},
    {"legal, and worth what it claims",                                  GOOD},
    {"at most # % lower",                                                CARE},
    {"gap # %",                                                          CARE},
    {"not proved",                                                       CARE},
    {"warning:",                                                         CARE},
    {"There is no plan",                                                 BAD },
    {"No plan exists",                                                   BAD },
    {"No plan was found",                                                BAD },
    {"no plan found",                                                    BAD },
    {"infeasible",                                                       BAD },
    {"No design exists",                                                 BAD },
    {"No design was found",                                              BAD },
    {"This plan is not legal",                                           BAD },
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\n';
}

static bool is_number(char c)
{
    return (c >= '0' && c <= '9') || c == '.' || c == 'e' || c == '-';
}

/* Bytes of the text that the phrase covers; 0: it does not begin here. */
static size_t match(const char *phrase, const char *text)
{
    const char *at = text;

    for (; *phrase; phrase++) {
        if (*phrase == ' ' || *phrase == '#') {
            bool (*is)(char) = *phrase == ' ' ? is_blank : is_number;

            if (!is(*at))
                return 0;
            while (is(*at))
                at++;
        } else if (*at++ != *phrase) {
            return 0;
        }
    }
    return (size_t)(at - text);
}

static const struct phrase *find_phrase(const char *text, size_t *n)
{
    for (size_t i = 0; i < sizeof phrases / sizeof phrases[0]; i++) {
        *n = match(phrases[i].text, text);
        if (*n > 0)
            return &phrases[i];
    }
    return NULL;
}

static void put_tone(FILE *to, tone t, const char *text, size_t n)
{
    fprintf(to, "%s%.*s%s", escape_of[t], (int)n, text, escape_end);
}

/* A first line with an empty one below is a title. */
static size_t title_of(const char *text)
{
    size_t n = strcspn(text, "\n");

    return text[n] == '\n' && text[n + 1] == '\n' ? n : 0;
}

static void put_colocationed(FILE *to, const char *text)
{
    size_t n = title_of(text);

    if (n > 0)
        put_tone(to, TITLE, text, n);
    text += n;
    while (*text) {
        const struct phrase *p = find_phrase(text, &n);

        if (p != NULL)
            put_tone(to, p->tone, text, n);
        else
            fputc(*text, to);
        text += p != NULL ? n : 1;
    }
}

/* Documents are for programs, also on a terminal. */
static bool is_document(const char *text)
{
    return *text == '{' || *text == '[';
}

bool weft_terminal_print(const char *text, size_t n)
{
    if (n > 0 && text[n] == '\0' && strlen(text) == n && !is_document(text) &&
        has_colors(STDOUT_FILENO))
        put_colocationed(stdout, text);
    else if (fwrite(text, 1, n, stdout) != n)
        return false;
    return fflush(stdout) == 0 && !ferror(stdout);
}

void weft_terminal_complain(const char *line)
{
    static const char who[] = "weft:";
    const size_t n = sizeof who - 1;

    if (strncmp(line, who, n) == 0 && has_colors(STDERR_FILENO))
        fprintf(stderr, "%s%s%s%s\n", escape_of[BAD], who, escape_end, line + n);
    else
        fprintf(stderr, "%s\n", line);
}

/* --- progress -------------------------------------------------------------------------------- */

bool weft_terminal_shows_progress(void)
{
    return is_terminal(STDERR_FILENO) && is_able();
}

void weft_terminal_show(const char *line)
{
    int columns = columns_of(STDERR_FILENO), most;

    if (columns == 0)
        columns = columns_asked();
    most = columns > 1 ? columns - 1 : USUAL_WIDTH - 1; /* the last column would begin a new line */
    fprintf(stderr, "\r\033[K%.*s", most, line ? line : "");
    fflush(stderr);
}
