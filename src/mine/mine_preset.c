/* SPDX-License-Identifier: MIT */
/* mine_preset.c: the templates that are part of the library, copied in by the assembler as in
 * platform/preset.c: a row is a weft_preset, four words without padding. */
#include "weft/mine.h"

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

/* clang-format off */
__asm__(".pushsection .data.rel.ro,\"aw\"\n"
        ".balign 16\n"
        ".globl weft_template_table\n"
        ".hidden weft_template_table\n"
        "weft_template_table:\n" /* sorted by name */
        PRESET("marginal22", "22 nm, cores and memories alone: no fixed area, power not known")
        PRESET("mine16", "16 nm, 200 mm2 and 90 W for interfaces, links and control")
        PRESET("tpu16", "16 nm, fitted to the dies and the power of TPU v2 and v3")
        ".globl weft_template_bytes\n"
        ".hidden weft_template_bytes\n"
        "weft_template_bytes:\n" WORD "weft_template_bytes - weft_template_table\n"
        ".popsection\n");
/* clang-format on */

extern const weft_preset weft_template_table[] __attribute__((visibility("hidden")));
extern const size_t weft_template_bytes __attribute__((visibility("hidden")));

_Static_assert(sizeof(weft_preset) == 4 * sizeof(void *), "rows of the table are four words");

int weft_template_preset_count(void)
{
    return (int)(weft_template_bytes / sizeof(weft_preset));
}

const weft_preset *weft_template_preset_at(int i)
{
    assert(i >= 0 && i < weft_template_preset_count());
    return &weft_template_table[i];
}
