/* SPDX-License-Identifier: MIT */
/* main.c: the array of commands. Each is one file: parse, call, print. */
#include "cli.h"
#include "fields.h"
#include "weft/solve.h"

#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

static const weft_command *const commands[] = {
    &weft_cmd_inspect, &weft_cmd_place,   &weft_cmd_shard, &weft_cmd_train,
    &weft_cmd_mine,    &weft_cmd_compare, &weft_cmd_check, &weft_cmd_report,
    &weft_cmd_explain, &weft_cmd_diff,    &weft_cmd_list};

enum { N_COMMANDS = (int)(sizeof commands / sizeof commands[0]) };

static void print_usage(int width, FILE *to)
{
    fprintf(to, "weft %s: networks woven through hardware\n\nusage: weft COMMAND ...\n\n",
            WEFT_VERSION);
    for (int i = 0; i < N_COMMANDS; i++) {
        fprintf(to, "  %-8s ", commands[i]->name);
        weft_print_wrapped(to, 11, width, commands[i]->summary);
    }
    fputc('\n', to);
    weft_print_wrapped(to, 0, width,
                       "weft COMMAND --help shows flags and examples; weft --version the version.");
    weft_print_wrapped(to, 0, width,
                       "Exit codes: 0 done, 1 no plan exists or a check failed, 2 wrong input or "
                       "usage, 3 internal error or out of memory.");
}

static bool is_mute; /* of several processes one speaks */

void weft_mute(void)
{
    is_mute = true;
}

static int complain(weft_status status)
{
    if (!is_mute)
        weft_terminal_complain("weft", weft_message());
    return status == WEFT_E_INTERNAL ? WEFT_EXIT_INTERNAL : WEFT_EXIT_WRONG;
}

static const weft_command *find(const char *name)
{
    for (int i = 0; i < N_COMMANDS; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static int unknown_command(const char *name)
{
    const char *known[N_COMMANDS], *near;

    for (int i = 0; i < N_COMMANDS; i++)
        known[i] = commands[i]->name;
    near = weft_nearest(name, known, N_COMMANDS);
    (void)weft_fail(WEFT_E_INPUT, "unknown command '%s'%s%s%s; see: weft --help", name,
                    near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
    return complain(WEFT_E_INPUT);
}

/* weft help [COMMAND], and the text of docs/cli.md. */
static int help(int argc, char **argv)
{
    if (argc == 1 && strcmp(argv[0], "--markdown") == 0) {
        printf("# Commands\n\nMade by `weft help --markdown`; the tests compare the two.\n");
        for (int i = 0; i < N_COMMANDS; i++) {
            printf("\n");
            weft_help_markdown(commands[i], stdout);
        }
        return WEFT_EXIT_DONE;
    }
    if (argc == 1 && find(argv[0]) == NULL)
        return unknown_command(argv[0]);
    if (argc == 1)
        weft_help_command(find(argv[0]), weft_report_width(NULL), stdout);
    else
        print_usage(weft_report_width(NULL), stdout);
    return WEFT_EXIT_DONE;
}

static bool wants_help(int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

static int run(const weft_command *c, int argc, char **argv)
{
    weft_arena *a = weft_arena_new();
    void *options = weft_arena_alloc(a, c->options_size);
    const char **operand = WEFT_NEW(a, const char *, argc + 1);
    int n_operands, code = WEFT_EXIT_DONE;
    weft_status status = weft_args_read(c, argv, argc, options, operand, &n_operands, a);

    if (status == WEFT_OK)
        status = c->run(options, operand, n_operands, &code);
    weft_arena_free(a);
    return status == WEFT_OK ? code : complain(status);
}

static int dispatch(int argc, char **argv)
{
    const weft_command *c;

    if (argc < 2) {
        print_usage(80, stderr);
        return WEFT_EXIT_WRONG;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("weft %s\n", WEFT_VERSION);
        return WEFT_EXIT_DONE;
    }
    if (strcmp(argv[1], "help") == 0 || strcmp(argv[1], "--help") == 0 ||
        strcmp(argv[1], "-h") == 0)
        return help(argc - 2, argv + 2);
    c = find(argv[1]);
    if (c == NULL)
        return unknown_command(argv[1]);
    if (wants_help(argc - 2, argv + 2)) {
        weft_help_command(c, weft_report_width(NULL), stdout);
        return WEFT_EXIT_DONE;
    }
    return run(c, argc - 2, argv + 2);
}

/* A command ends soon: memory that one part of it gives back is for the next one, and not for the
 * system, which would have to clear it again. */
static void keep_memory(void)
{
#ifdef __GLIBC__
    enum { MOST_BYTES = 32 << 20 };

    mallopt(M_MMAP_THRESHOLD, MOST_BYTES);
    mallopt(M_TRIM_THRESHOLD, MOST_BYTES);
#endif
}

int main(int argc, char **argv)
{
    int code;

    keep_memory();
    weft_signals_handle();
    weft_cross_command((const char *const *)argv, argc);
    code = dispatch(argc, argv);
    if (code == WEFT_EXIT_DONE && (fflush(stdout) != 0 || ferror(stdout))) { /* a full disk */
        (void)weft_fail(WEFT_E_SYSTEM, "standard output cannot be written");
        return complain(WEFT_E_INPUT);
    }
    return code;
}
