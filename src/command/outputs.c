/* SPDX-License-Identifier: MIT */
/* outputs.c: files that a command is to write, looked at before it begins.
 *
 * 1. A flag whose help begins with "write" and whose value is a FILE names an output. Operands and
 *    the other flags may name files that are read.
 * 2. An output must not be a file that is read, nor that of another flag.
 * 3. Its folder must be there and take files, for outputs are written beside it and renamed. Devices
 *    and pipes are written in place. */
#define _POSIX_C_SOURCE 200809L
#include "command.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_output(const weft_option *o)
{
    char name[64];

    return o->kind == WEFT_OPTION_TEXT && strncmp(o->help, "write ", 6) == 0 &&
           strcmp(weft_flag_value(o, weft_flag_name(o, name)), "FILE") == 0;
}

static const char *value_of(const weft_option *o, const void *options)
{
    const char *value;

    memcpy(&value, (const char *)options + o->offset, sizeof value);
    return value != NULL ? value : "";
}

static bool is_regular(const char *path, struct stat *s)
{
    return stat(path, s) == 0 && S_ISREG(s->st_mode);
}

static bool is_same(const char *path, const struct stat *s)
{
    struct stat other;

    return is_regular(path, &other) && other.st_dev == s->st_dev && other.st_ino == s->st_ino;
}

/* The file that is read and would be lost, or NULL. */
static const char *find_input(const weft_command *c, const void *options,
                              const char *const *operand, int n, const struct stat *s)
{
    for (int i = 0; i < n; i++)
        if (is_same(operand[i], s))
            return operand[i];
    for (const weft_option *o = c->options; o->kind != WEFT_OPTION_END; o++)
        if (o->kind == WEFT_OPTION_TEXT && !is_output(o) && o->choices == NULL &&
            is_same(value_of(o, options), s))
            return value_of(o, options);
    return NULL;
}

/* Can a file be made in the folder of this path? */
static weft_status check_folder(const char *flag, const char *path, weft_arena *a)
{
    const char *slash = strrchr(path, '/');
    const char *folder = slash == NULL   ? "."
                         : slash == path ? "/"
                                         : weft_arena_text(a, path, (size_t)(slash - path));
    struct stat s;

    if (slash != NULL && slash[1] == '\0')
        return weft_fail(WEFT_E_INPUT, "--%s is '%s', a folder: expected a file", flag, path);
    if (stat(folder, &s) != 0)
        return weft_fail(WEFT_E_INPUT, "--%s: '%s' cannot be written: %s: %s", flag, path, folder,
                         strerror(errno));
    if (!S_ISDIR(s.st_mode))
        return weft_fail(WEFT_E_INPUT, "--%s: '%s' cannot be written: %s is no folder", flag, path,
                         folder);
    if (access(folder, W_OK | X_OK) != 0)
        return weft_fail(WEFT_E_INPUT, "--%s: '%s' cannot be written: %s: %s", flag, path, folder,
                         strerror(errno));
    return WEFT_OK;
}

static weft_status check_one(const weft_command *c, const void *options, const char *const *operand,
                             int n, const weft_option *o, weft_arena *a)
{
    const char *path = value_of(o, options), *input;
    char flag[64];
    struct stat s;

    weft_flag_name(o, flag);
    if (stat(path, &s) != 0)
        return lstat(path, &s) == 0 ? WEFT_OK : check_folder(flag, path, a); /* a link to nothing */
    if (S_ISDIR(s.st_mode))
        return weft_fail(WEFT_E_INPUT, "--%s is '%s', a folder: expected a file", flag, path);
    if (!S_ISREG(s.st_mode))
        return WEFT_OK;
    input = find_input(c, options, operand, n, &s);
    if (input != NULL)
        return weft_fail(WEFT_E_INPUT, "--%s would overwrite '%s', which is read", flag, input);
    return check_folder(flag, path, a);
}

/* Two outputs in one file. */
static weft_status check_twice(const weft_command *c, const void *options, const weft_option *o)
{
    char flag[64], other[64];
    const char *path = value_of(o, options);

    for (const weft_option *p = c->options; p != o; p++)
        if (is_output(p) && strcmp(value_of(p, options), path) == 0 &&
            strncmp(path, "/dev/", 5) != 0)
            return weft_fail(WEFT_E_INPUT, "--%s and --%s are both '%s'", weft_flag_name(p, other),
                             weft_flag_name(o, flag), path);
    return WEFT_OK;
}

weft_status weft_outputs_check(const weft_command *c, const void *options,
                               const char *const *operand, int n, weft_arena *a)
{
    for (const weft_option *o = c->options; o->kind != WEFT_OPTION_END; o++) {
        if (!is_output(o) || *value_of(o, options) == '\0' ||
            strcmp(value_of(o, options), "-") == 0)
            continue;
        WEFT_TRY(check_twice(c, options, o));
        WEFT_TRY(check_one(c, options, operand, n, o, a));
    }
    return WEFT_OK;
}
