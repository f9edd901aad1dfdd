/* SPDX-License-Identifier: MIT */
/* manual.c: pages of the manual, one per command, from the same tables as the help. */
#include "command.h"

#include <string.h>

/* Text for troff: no line begins with a request, hyphens of flags stay as they are. */
static void put(FILE *to, const char *text)
{
    bool is_first = true;

    for (; *text; text++) {
        if (is_first && (*text == '.' || *text == '\''))
            fputs("\\&", to);
        if (*text == '\\')
            fputs("\\e", to);
        else if (*text == '-')
            fputs("\\-", to);
        else
            fputc(*text, to);
        is_first = *text == '\n';
    }
}

static void section(FILE *to, const char *title)
{
    fprintf(to, ".SH %s\n", title);
}

static void put_flag(const weft_option *o, FILE *to)
{
    char name[64], number[32];

    weft_flag_name(o, name);
    fprintf(to, ".TP\n\\fB");
    for (const char *const *s = (const char *const[]){"output", "quiet", "verbose", NULL}; *s; s++)
        if (strcmp(name, *s) == 0)
            fprintf(to, "\\-%c\\fR, \\fB", name[0]);
    put(to, "--");
    put(to, name);
    fputs("\\fR", to);
    if (o->kind != WEFT_OPTION_FLAG) {
        fputs(" \\fI", to);
        put(to, weft_flag_value(o, name));
        fputs("\\fR", to);
    }
    fputc('\n', to);
    put(to, o->help);
    if (o->kind == WEFT_OPTION_TEXT && o->text && *o->text) {
        fputs(" [", to);
        put(to, o->text);
        fputc(']', to);
    } else if (o->kind == WEFT_OPTION_INT || o->kind == WEFT_OPTION_REAL) {
        fputs(" [", to);
        put(to, weft_option_number(o->fallback, number));
        fputc(']', to);
    }
    fputc('\n', to);
}

/* Lines of the help that stand by themselves keep doing so. */
static void put_lines(const char *text, FILE *to)
{
    fputs(".nf\n", to);
    put(to, text);
    fputs(".fi\n", to);
}

static void put_description(const char *text, FILE *to)
{
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, "\n");
        char line[512];

        snprintf(line, sizeof line, "%.*s", (int)n, p);
        if (n == 0)
            fputs(".PP\n", to);
        else if (*line == ' ')
            fputs(".br\n", to);
        put(to, line + strspn(line, " "));
        fputs(n == 0 ? "" : "\n", to);
        p += n + (p[n] == '\n');
    }
}

void weft_help_manual(const weft_command *c, FILE *to)
{
    fprintf(to, ".TH WEFT\\-%s 1 \"\" \"weft %s\" \"User Commands\"\n", c->name, weft_version());
    section(to, "NAME");
    fprintf(to, "weft\\-%s \\- ", c->name);
    put(to, c->summary);
    fputc('\n', to);
    section(to, "SYNOPSIS");
    fprintf(to, ".B weft %s\n", c->name);
    put(to, c->operands);
    fputs("\n[flags]\n", to);
    section(to, "DESCRIPTION");
    put_description(c->description, to);
    section(to, "OPTIONS");
    for (const weft_option *o = c->options; o->kind != WEFT_OPTION_END; o++)
        put_flag(o, to);
    fputs(".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nshow the help\n", to);
    section(to, "EXIT STATUS");
    fputs("0 done, 1 no plan exists or a check failed, 2 wrong input or usage, 3 internal error or "
          "out of memory.\n",
          to);
    section(to, "EXAMPLES");
    put_lines(c->examples, to);
    section(to, "SEE ALSO");
    fputs(".BR weft (1)\n", to);
}
