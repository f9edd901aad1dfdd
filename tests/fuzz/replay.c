/* SPDX-License-Identifier: MIT */
/* replay.c: runs a fuzz target on every file of a folder, in the order of their names.
 *
 * What libFuzzer would do with its seeds, without libFuzzer: so the seeds, and every input that
 * once made a target fail, are checked with each test run and each compiler. Each input lies in
 * memory of exactly its size, so the address sanitizer sees the first byte read too far. */
#define _POSIX_C_SOURCE 200809L

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int is_input(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int replay(const char *folder, const char *name)
{
    weft_arena *a = weft_arena_new();
    const char *path = weft_arena_print(a, "%s/%s", folder, name);
    weft_file file;

    if (weft_file_open(path, &file) != WEFT_OK) {
        fprintf(stderr, "%s\n", weft_message());
        weft_arena_free(a);
        return 1;
    }
    uint8_t *copy = malloc(file.size + (file.size == 0));
    if (copy == NULL)
        abort();
    if (file.size > 0)
        memcpy(copy, file.data, file.size);
    printf("%s\n", name);
    fflush(stdout); /* the last name before a crash is the input that did it */
    LLVMFuzzerTestOneInput(copy, file.size);
    free(copy);
    weft_file_close(&file);
    weft_arena_free(a);
    return 0;
}

int main(int argc, char **argv)
{
    struct dirent **entry = NULL;
    int n = argc == 2 ? scandir(argv[1], &entry, is_input, alphasort) : -1;
    int n_failed = 0;

    for (int i = 0; i < n; i++) {
        n_failed += replay(argv[1], entry[i]->d_name);
        free(entry[i]);
    }
    free(entry);
    if (n <= 0)
        fprintf(stderr, "usage: %s FOLDER with at least one input\n", argv[0]);
    return n > 0 && n_failed == 0 ? 0 : 1;
}
