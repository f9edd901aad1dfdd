/* SPDX-License-Identifier: MIT */
/* The commands and what they share: flags from option tables, help, output. */
#ifndef WEFT_CLI_H
#define WEFT_CLI_H

#include "weft/base.h"
#include "weft/model.h"

/* Exit codes of the program. */
enum { WEFT_EXIT_DONE = 0, WEFT_EXIT_NO = 1, WEFT_EXIT_WRONG = 2, WEFT_EXIT_INTERNAL = 3 };

typedef struct weft_command {
    const char *name, *summary;
    const char *operands;       /* "MODEL" */
    const char *description;    /* paragraphs of the help */
    const char *examples;       /* lines of the help */
    const weft_option *options; /* flags, as --name */
    size_t options_size;
    int min_operands, max_operands;
    weft_status (*run)(const void *options, const char *const *operand, int n_operands);
} weft_command;

extern const weft_command weft_cmd_inspect, weft_cmd_list;

/* Reads a command line: fills the options and lists the operands. Help and version are the
 * caller's business. "-o X" is short for "--output X"; a text flag given twice is joined by ','. */
WEFT_CHECKED weft_status weft_args_read(const weft_command *c, char **argv, int argc, void *options,
                                        const char **operand, int *n_operands, weft_arena *a);
void weft_help_command(const weft_command *c, FILE *to);
/* The same as a section of docs/cli.md. */
void weft_help_markdown(const weft_command *c, FILE *to);

/* Writes a result to a file, whole or not at all, or to standard output if path is empty. */
WEFT_CHECKED weft_status weft_emit(const char *path, const char *text, size_t n);

/* Flags of all commands that open a model. */
typedef struct weft_model_flags {
    int64_t batch;
    const char *dim, *dtype, *optimizer;
    bool train;
} weft_model_flags;

#define WEFT_MODEL_FLAGS(type)                                                                     \
    {WEFT_INT(type, flags.batch), 0, 0, 1e9, "batch size; 0: as in the file, or 1", NULL, NULL},   \
        {WEFT_TEXT(type, flags.dim),                                                               \
         0,                                                                                        \
         0,                                                                                        \
         0,                                                                                        \
         "sizes of symbolic dimensions, NAME=N[,NAME=N]; may be repeated",                         \
         "",                                                                                       \
         NULL},                                                                                    \
        {WEFT_TEXT(type, flags.dtype),                                                             \
         0,                                                                                        \
         0,                                                                                        \
         0,                                                                                        \
         "element type of all floating-point tensors (f32, f16, bf16, ...)",                       \
         "",                                                                                       \
         NULL},                                                                                    \
        {WEFT_FLAG(type, flags.train), 0, 0, 1, "add backward and optimizer nodes", NULL, NULL},   \
    {                                                                                              \
        WEFT_TEXT(type, flags.optimizer), 0, 0, 0, "optimizer of the training step", "adam",       \
            "sgd|momentum|adam"                                                                    \
    }

/* The options of weft_model_open from those flags. */
WEFT_CHECKED weft_status weft_model_flags_read(const weft_model_flags *f, weft_arena *a,
                                               weft_model_options *out);

#endif
