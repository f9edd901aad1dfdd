/* SPDX-License-Identifier: MIT */
/* cmd_train.c: weft train. */
#include "cli.h"

#include <limits.h>
#include <string.h>

typedef struct train_options {
    weft_effort_flags effort;
    const char *objective, *memory, *bandwidth;
    int64_t devices, microbatches, max_cuts;
    bool json, quiet, verbose;
} train_options;

static const weft_option train_table[] = {
    {WEFT_TEXT(train_options, objective),    0, 0, 0,           "what to optimise",                "piper", "piper"},
    {WEFT_INT(train_options,  devices),      0, 0, 1e6,         "devices; 0: as in the file",      NULL,    NULL   },
    {WEFT_TEXT(train_options, memory),       0, 0, 0,
     "memory of a device (8GiB); without: as in the file",                                         "",      NULL   },
    {WEFT_INT(train_options,  microbatches), 0, 0, INT_MAX / 2,
     "microbatches in a batch; 0: as in the file",                                                 NULL,    NULL   },
    {WEFT_TEXT(train_options, bandwidth),    0, 0, 0,
     "bandwidth between devices (25GiB/s); without: as in the file",                               "",      NULL   },
    {WEFT_INT(train_options,  max_cuts),     0, 0, 1e7,
     "ways to cut the network, beyond which it is refused; 0: 40000",                              NULL,    NULL   },
    WEFT_EFFORT_FLAGS(train_options, WEFT_TRAIN_LIMIT),
    {WEFT_FLAG(train_options, json),         0, 0, 1,           "the result as one JSON document", NULL,    NULL   },
    {WEFT_FLAG(train_options, quiet),        0, 0, 1,           "print nothing but errors",        NULL,    NULL   },
    {WEFT_FLAG(train_options, verbose),      0, 0, 1,           "show the nodes of every stage",   NULL,    NULL   },
    WEFT_OPTIONS_END,
};

static weft_status run(const void *options, const char *const *operand, int n_operands, int *code)
{
    const train_options *o = options;
    weft_arena *a = weft_arena_new();
    weft_piper_flags f = {.model = operand[0],
                          .devices = o->devices,
                          .microbatches = o->microbatches,
                          .max_cuts = o->max_cuts,
                          .memory = o->memory,
                          .bandwidth = o->bandwidth,
                          .effort = &o->effort,
                          .json = o->json,
                          .quiet = o->quiet,
                          .verbose = o->verbose};
    weft_status status = weft_train_piper(&f, a, code);

    (void)n_operands; /* one: the table says so */
    weft_arena_free(a);
    return status;
}

const weft_command weft_cmd_train = {
    .name = "train",
    .summary = "Pipeline stages, replicas and tensor widths for training",
    .operands = "FILE.json",
    .description =
        "Reads an input of the Piper project: a network with times, bytes and memory of each node\n"
        "at each tensor width. Cuts it into pipeline stages with replicas and a tensor width, and\n"
        "chooses a mode for each node (recomputation), for the least time per sample under "
        "Piper's\n"
        "objective. Says how far the plan is from the best possible one at most, and without a "
        "plan\n"
        "how many devices or how much memory would do. Ctrl-C ends the search with the best plan\n"
        "so far.",
    .examples =
        "  weft train bert.json --objective piper\n"
        "  weft train bert.json --objective piper --devices 64 --memory 8GiB\n"
        "  weft train bert.json --objective piper --microbatches 256 --bandwidth 25GiB/s --json\n",
    .options = train_table,
    .options_size = sizeof(train_options),
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
