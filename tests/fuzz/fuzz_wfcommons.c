/* SPDX-License-Identifier: MIT */
/* fuzz_wfcommons.c: see taskgraph_input.h. */
#include "taskgraph_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_taskgraph(data, size, "wfcommons");
    return 0;
}
