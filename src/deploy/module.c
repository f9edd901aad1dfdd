/* SPDX-License-Identifier: MIT */
/* module.c: PyTorch names a node of an exported network after its modules, each with its name in the
 * one around it or, in a list of modules, with that list's name once more. */
#include "module.h"

#include <string.h>

const char *weft_module_of(const char *node, weft_arena *a)
{
    const char *name = node;
    const char *end = strrchr(name, '/');
    const char *module = "";

    if (*name != '/' || end == name)
        return "";
    while (name < end) {
        size_t n = strcspn(name + 1, "/");
        const char *word = weft_arena_text(a, name + 1, n), *last = strrchr(module, '.');
        size_t before = last ? (size_t)(last - module) + 1 : 0, length = strlen(module) - before;

        if (length > 0 && strncmp(word, module + before, length) == 0 && word[length] == '.')
            module = weft_arena_print(a, "%.*s%s", (int)before, module, word);
        else
            module = weft_arena_print(a, "%s%s%s", module, *module ? "." : "", word);
        name += n + 1;
    }
    return module;
}
