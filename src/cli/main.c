/* SPDX-License-Identifier: MIT */
/* main.c: the program: help, and the host that the commands run in. */
#include "cli.h"
#include "fields.h"
#include "solve.h"

#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

enum { USUAL_WIDTH = 80 };

static void print_usage(int width, FILE *to)
{
    fprintf(to, "weft %s: networks woven through hardware\n\nusage: weft COMMAND ...\n\n",
            weft_version());
    for (const weft_command *const *c = weft_commands; *c != NULL; c++) {
        fprintf(to, "  %-11s ", (*c)->name);
        weft_print_wrapped(to, 14, width, (*c)->summary);
    }
    fputc('\n', to);
    weft_print_wrapped(to, 0, width,
                       "weft COMMAND --help shows flags and examples; weft --version the version.");
    weft_print_wrapped(to, 0, width,
                       "Exit codes: 0 done, 1 no plan exists or a check failed, 2 wrong input or "
                       "usage, 3 internal error or out of memory.");
}

static int complain(int code)
{
    weft_arena *a = weft_arena_new();

    weft_terminal_complain(weft_arena_print(a, "weft: %s", weft_message()));
    weft_arena_free(a);
    return code;
}

/* weft help [COMMAND], and the text of docs/cli.md. */
static int help(int argc, char **argv)
{
    int width = weft_terminal_width() > 0 ? weft_terminal_width() : USUAL_WIDTH;

    if (argc == 1 && strcmp(argv[0], "--markdown") == 0) {
        printf("# Commands\n\nMade by `weft help --markdown`; the tests compare the two.\n");
        for (const weft_command *const *c = weft_commands; *c != NULL; c++) {
            printf("\n");
            weft_help_markdown(*c, stdout);
        }
        return WEFT_EXIT_DONE;
    }
    if (argc == 1 && weft_command_find(argv[0]) == NULL)
        return complain(WEFT_EXIT_WRONG);
    if (argc == 1)
        weft_help_command(weft_command_find(argv[0]), width, stdout);
    else
        print_usage(width, stdout);
    return WEFT_EXIT_DONE;
}

static bool wants_help(int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

/* --- the host of the commands ---------------------------------------------------------------- */

static bool print(void *context, const char *text, size_t n)
{
    (void)context;
    return weft_terminal_print(text, n);
}

static void complain_line(void *context, const char *line)
{
    (void)context;
    weft_terminal_complain(line);
}

static void mute(void *context)
{
    *(bool *)context = true;
}

static void show(void *context, const char *line)
{
    (void)context;
    weft_terminal_show(line);
}

static void searches(void *context, bool begins)
{
    (void)context;
    weft_interrupt_stops(begins);
}

static const char *environment(void *context, const char *name)
{
    (void)context;
    return getenv(name);
}

/* Processes that mpirun has started, as it tells them; 1 without it. */
static int started_processes(void)
{
    static const char *const told[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS"};

    for (int i = 0; i < 3; i++) {
        const char *text = getenv(told[i]);
        int n = text ? atoi(text) : 0;

        if (n > 0)
            return n;
    }
    return 1;
}

static int run(const weft_command *c, int argc, char **argv)
{
    bool is_mute = false; /* of several processes one speaks */
    weft_host host = {.context = &is_mute,
                      .print = print,
                      .complain = complain_line,
                      .mute = mute,
                      .show = weft_terminal_shows_progress() ? show : NULL,
                      .searches = searches,
                      .stop = &weft_is_interrupted,
                      .environment = environment,
                      .terminal_width = weft_terminal_width(),
                      .n_processes = started_processes()};
    int code;

    if (weft_command_run(c, &host, argv, argc, &code) != WEFT_OK && !is_mute)
        return complain(code);
    return code;
}

/* weft --version [--json]. */
static int version(int argc, char **argv)
{
    if (argc == 0) {
        printf("weft %s\n", weft_version());
        return WEFT_EXIT_DONE;
    }
    if (argc > 1 || strcmp(argv[0], "--json") != 0) {
        (void)weft_fail(WEFT_E_INPUT, "unknown word '%s' behind --version, expected --json",
                        argv[argc > 1]);
        return complain(WEFT_EXIT_WRONG);
    }
    printf("{\"schema\": \"weft.version/1\", \"name\": \"weft\", \"version\": \"%s\", "
           "\"libraries\": [\"cbc\", \"clp\", \"sqlite\"%s%s%s]}\n",
           weft_version(),
#ifdef WEFT_Z3
           ", \"z3\"",
#else
           "",
#endif
#ifdef WEFT_GRAPHVIZ
           ", \"graphviz\"",
#else
           "",
#endif
#ifdef WEFT_MPI
           ", \"mpi\""
#else
           ""
#endif
    );
    return WEFT_EXIT_DONE;
}

static int dispatch(int argc, char **argv)
{
    const weft_command *c;

    if (argc < 2) {
        print_usage(USUAL_WIDTH, stderr);
        return WEFT_EXIT_WRONG;
    }
    if (strcmp(argv[1], "--version") == 0)
        return version(argc - 2, argv + 2);
    if (strcmp(argv[1], "help") == 0 || strcmp(argv[1], "--help") == 0 ||
        strcmp(argv[1], "-h") == 0)
        return help(argc - 2, argv + 2);
    c = weft_command_find(argv[1]);
    if (c == NULL)
        return complain(WEFT_EXIT_WRONG);
    if (wants_help(argc - 2, argv + 2))
        return help(1, argv + 1);
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
        return complain(WEFT_EXIT_WRONG);
    }
    return code;
}
