/* SPDX-License-Identifier: MIT */
/* preset.c: the platforms that are part of the library.
 *
 * The assembler copies presets/NAME.yaml into the read-only data and makes the table, because only
 * it knows the size of a file: a row is a weft_preset, four words without padding. Texts end with a
 * NUL that is not counted. The build says where the files are: -DWEFT_PRESETS="<folder>". */
#include "weft/platform.h"

#include <assert.h>

#ifndef WEFT_PRESETS
#error "compile with -DWEFT_PRESETS=\"<folder of the preset files>\""
#endif

#if UINTPTR_MAX > 0xffffffffu
#define WORD ".quad "
#else
#define WORD ".long "
#endif

#define PRESET(name, summary)                                                                      \
    ".pushsection .rodata\n"                                                                       \
    "1: .asciz \"" name "\"\n"                                                                     \
    "2: .asciz \"" summary "\"\n"                                                                  \
    "3: .incbin \"" WEFT_PRESETS "/" name ".yaml\"\n"                                              \
    "4: .byte 0\n"                                                                                 \
    ".popsection\n" WORD "1b, 2b, 3b, 4b - 3b\n"

/* Pointers need relocation in a shared library: data that the loader makes read-only. */
__asm__(
    ".pushsection .data.rel.ro,\"aw\"\n"
    ".balign 16\n"
    ".globl weft_preset_table\n"
    ".hidden weft_preset_table\n"
    "weft_preset_table:\n" /* sorted by name */
    PRESET("cluster-32", "four servers of eight A100 GPUs, NVSwitch inside, InfiniBand between")
        PRESET("dgx-a100", "eight A100 GPUs with NVSwitch and their host") PRESET(
            "edge-soc", "embedded module: CPU, GPU and a neural engine that share memory")
            PRESET("f1-2x4", "two groups of four adaptive FPGA accelerators with three designs")
                PRESET("h2h-12",
                       "twelve different accelerators for CNN, FC and LSTM layers around a host")
                    PRESET("mixed-fleet",
                           "two servers with different GPUs, V100 and T4, on one network")
                        PRESET("nvdla-large", "one NVDLA core with 2048 multipliers") PRESET(
                            "server-cpu-2gpu", "Xeon server with an RTX A6000 and a Titan RTX")
                            PRESET("soc-affinity",
                                   "assumed embedded system: CPU, matrix engine, vector processor")
                                PRESET("tpu-v2", "one TPU v2 chip as a template accelerator")
                                    PRESET("tpu-v3", "one TPU v3 chip as a template accelerator")
                                        PRESET("tpu-v4i", "one TPU v4i chip as a template "
                                                          "accelerator") ".globl "
                                                                         "weft_preset_bytes\n"
                                                                         ".hidden "
                                                                         "weft_preset_bytes\n"
                                                                         "weft_preset_bytes:\n" WORD
                                                                         "weft_preset_bytes - "
                                                                         "weft_preset_table\n"
                                                                         ".popsection\n");

extern const weft_preset weft_preset_table[] __attribute__((visibility("hidden")));
extern const size_t weft_preset_bytes __attribute__((visibility("hidden")));

_Static_assert(sizeof(weft_preset) == 4 * sizeof(void *), "rows of the table are four words");

int weft_preset_count(void)
{
    return (int)(weft_preset_bytes / sizeof(weft_preset));
}

const weft_preset *weft_preset_at(int i)
{
    assert(i >= 0 && i < weft_preset_count());
    return &weft_preset_table[i];
}
