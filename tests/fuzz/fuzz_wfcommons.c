/* SPDX-License-Identifier: MIT */
/* fuzz_wfcommons.c: see instance_input.h. */
#include "instance_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_instance(data, size, "wfcommons");
    return 0;
}
