/* SPDX-License-Identifier: MIT */
/* preset.c: the platforms, templates, networks and measurements that are part of the library.
 *
 * The assembler copies presets/NAME.yaml, models/NAME.net and data/validation/NAME.csv into the read-only data and makes the tables, because only
 * it knows the size of a file: a row is a weft_preset, four words without padding. Texts end with a
 * NUL that is not counted. tools/presets writes the rows, sorted by name, into files in the folder
 * that the build names: -DWEFT_PRESETS="<folder>". Where no assembler does that, the build makes the
 * same tables as C and says so: -DWEFT_EMBEDDED_IN_C. */
#include "machine.h"

#include <assert.h>
#include <string.h>

#ifndef WEFT_EMBEDDED_HASH
#define WEFT_EMBEDDED_HASH ""
#endif

#ifdef WEFT_EMBEDDED_IN_C
#define ROWS(name, file)
#elif defined(WEFT_PRESETS)
/* Pointers need relocation in a shared library: data that the loader makes read-only. */
#define ROWS(name, file)                                                                           \
    __asm__(".pushsection .data.rel.ro,\"aw\"\n"                                                   \
            ".balign 16\n"                                                                         \
            ".globl " #name "_table, " #name "_bytes\n"                                            \
            ".hidden " #name "_table, " #name "_bytes\n" #name "_table:\n"                         \
            ".include \"" WEFT_PRESETS "/" file "\"\n" #name "_bytes:\n"                           \
            ".dc.a " #name "_bytes - " #name "_table\n"                                            \
            ".popsection\n");
#else
#error "compile with -DWEFT_PRESETS=\"<folder of the rows>\""
#endif

#define TABLE(name, file)                                                                          \
    ROWS(name, file)                                                                               \
    extern const weft_preset name##_table[] __attribute__((visibility("hidden")));                 \
    extern const size_t name##_bytes __attribute__((visibility("hidden")));                        \
                                                                                                   \
    int name##_count(void)                                                                         \
    {                                                                                              \
        return (int)(name##_bytes / sizeof(weft_preset));                                          \
    }                                                                                              \
                                                                                                   \
    const weft_preset *name##_at(int i)                                                            \
    {                                                                                              \
        assert(i >= 0 && i < name##_count());                                                      \
        return &name##_table[i];                                                                   \
    }

_Static_assert(sizeof(weft_preset) == 4 * sizeof(void *), "rows of the tables are four words");

/* A cache of compilers sees that the files have changed. */
__asm__("# " WEFT_EMBEDDED_HASH "\n");

TABLE(weft_preset, "platforms.s")
TABLE(weft_template_preset, "templates.s")
TABLE(weft_network_preset, "networks.s")
TABLE(weft_set_preset, "sets.s")

/* --- what a user names ----------------------------------------------------------------------- */

bool weft_preset_has_ending(const char *source)
{
    static const char *const endings[] = {".yaml", ".yml", ".json"};

    for (int i = 0; i < 3; i++) {
        size_t n = strlen(source), length = strlen(endings[i]);

        if (n >= length && strcmp(source + n - length, endings[i]) == 0)
            return true;
    }
    return false;
}

weft_status weft_preset_unknown(const char *source, bool is_template)
{
    const weft_preset *preset = is_template ? weft_template_preset_table : weft_preset_table;
    int n = is_template ? weft_template_preset_count() : weft_preset_count();
    const char *what = is_template ? "template" : "platform";
    weft_arena *a = weft_arena_new();
    const char **name = WEFT_NEW(a, const char *, n), *near;

    for (int i = 0; i < n; i++)
        name[i] = preset[i].name;
    near = weft_nearest(source, name, n);
    weft_arena_free(a);
    if (near)
        return weft_fail(WEFT_E_INPUT, "no %s is called '%.100s' (did you mean '%s'?)", what,
                         source, near);
    return weft_fail(WEFT_E_INPUT,
                     "no %s is called '%.100s', expected the name of a built-in %s or a file "
                     "ending in .yaml or .json",
                     what, source, what);
}

const weft_preset *weft_preset_find(const char *name, bool is_template)
{
    const weft_preset *preset = is_template ? weft_template_preset_table : weft_preset_table;
    int n = is_template ? weft_template_preset_count() : weft_preset_count();

    for (int i = 0; i < n; i++)
        if (strcmp(preset[i].name, name) == 0)
            return &preset[i];
    return NULL;
}

weft_status weft_preset_open(const char *source, bool is_template, weft_file *file,
                             weft_preset *out)
{
    const weft_preset *preset = weft_preset_find(source, is_template);

    *file = (weft_file){0};
    if (preset) {
        *out = *preset;
        return WEFT_OK;
    }
    if (strchr(source, '/') == NULL && !weft_preset_has_ending(source))
        return weft_preset_unknown(source, is_template);
    WEFT_TRY(weft_file_open(source, file));
    *out = (weft_preset){source, NULL, (const char *)file->data, file->size};
    return WEFT_OK;
}
