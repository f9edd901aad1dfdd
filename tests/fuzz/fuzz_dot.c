/* SPDX-License-Identifier: MIT */
/* fuzz_dot.c: see instance_input.h. */
#include "instance_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_instance(data, size, "dot");
    return 0;
}
