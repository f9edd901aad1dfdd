/* SPDX-License-Identifier: MIT */
/* file.c: files as a whole: small ones are read, large ones mapped; replaced at once when written.
 */
#define _XOPEN_SOURCE 700 /* realpath */
#include "weft/base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_READ_BYTES = 1 << 20 }; /* up to this a copy costs less than mapping page by page */
enum { BUFFER_BYTES = 1 << 16 };    /* of parts that are written at once */

static weft_status read_all(int fd, const char *path, weft_file *out)
{
    uint8_t *data = malloc(out->size);
    size_t at = 0;

    if (data == NULL)
        abort();
    while (at < out->size) {
        ssize_t n = read(fd, data + at, out->size - at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            free(data);
            return weft_fail(WEFT_E_INPUT, "%s: cannot be read: %s", path,
                             n < 0 ? strerror(errno) : "it has become shorter");
        }
        at += (size_t)n;
    }
    out->data = data;
    return WEFT_OK;
}

static weft_status read_or_map(int fd, const char *path, weft_file *out)
{
    struct stat s;
    void *data;

    if (fstat(fd, &s) != 0)
        return weft_fail(WEFT_E_INPUT, "%s: cannot be read: %s", path, strerror(errno));
    if (S_ISDIR(s.st_mode))
        return weft_fail(WEFT_E_INPUT, "%s: is a directory, expected a file", path);
    if (!S_ISREG(s.st_mode))
        return weft_fail(WEFT_E_INPUT, "%s: is not a regular file", path);
    out->data = NULL;
    out->size = (size_t)s.st_size;
    if (out->size == 0)
        return WEFT_OK;
    if (out->size <= MOST_READ_BYTES)
        return read_all(fd, path, out);
    data = mmap(NULL, out->size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED)
        return weft_fail(WEFT_E_INPUT, "%s: cannot be mapped: %s", path, strerror(errno));
    out->data = data;
    return WEFT_OK;
}

weft_status weft_file_open(const char *path, weft_file *out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a fifo must not block */
    weft_status status;

    if (fd < 0)
        return weft_fail(WEFT_E_INPUT, "%s: cannot be opened: %s", path, strerror(errno));
    status = read_or_map(fd, path, out);
    close(fd);
    return status;
}

void weft_file_close(weft_file *f)
{
    void *data = (void *)(uintptr_t)f->data;

    if (f->size <= MOST_READ_BYTES)
        free(data);
    else if (data)
        munmap(data, f->size);
    *f = (weft_file){NULL, 0};
}

static bool write_all(int fd, const uint8_t *data, size_t size)
{
    while (size > 0) {
        ssize_t n = write(fd, data, size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        data += n;
        size -= (size_t)n;
    }
    return true;
}

/* Small parts are collected, so that there are few calls of the system. */
static bool write_parts(int fd, const weft_bytes *part, int n)
{
    uint8_t *buffer = malloc(BUFFER_BYTES);
    size_t n_held = 0;
    bool is_written = true;

    if (buffer == NULL)
        abort();
    for (int i = 0; i < n && is_written; i++) {
        if (part[i].size > BUFFER_BYTES - n_held) {
            is_written = write_all(fd, buffer, n_held);
            n_held = 0;
        }
        if (part[i].size > BUFFER_BYTES) {
            is_written = is_written && write_all(fd, part[i].data, part[i].size);
        } else if (part[i].size > 0) {
            memcpy(buffer + n_held, part[i].data, part[i].size);
            n_held += part[i].size;
        }
    }
    is_written = is_written && write_all(fd, buffer, n_held);
    free(buffer);
    return is_written;
}

/* A device or a pipe is written to, not replaced. */
static bool write_in_place(const char *path, const weft_bytes *part, int n)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool is_written = fd >= 0 && write_parts(fd, part, n);

    if (fd >= 0 && close(fd) != 0)
        is_written = false;
    return is_written;
}

static bool replace(const char *path, const weft_bytes *part, int n, weft_arena *a)
{
    char *temporary = weft_arena_print(a, "%s.%ld.part", path, (long)getpid());
    int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666), error;
    bool is_written;

    if (fd < 0)
        return false;
    is_written = write_parts(fd, part, n);
    if (close(fd) == 0 && is_written && rename(temporary, path) == 0)
        return true;
    error = errno;
    unlink(temporary);
    errno = error;
    return false;
}

weft_status weft_file_write_parts(const char *path, const weft_bytes *part, int n)
{
    weft_arena *a = weft_arena_new();
    char *target = realpath(path, NULL); /* where a link leads; NULL if there is no such file yet */
    bool is_written;
    struct stat s;

    if (target && stat(target, &s) == 0 && !S_ISREG(s.st_mode) && !S_ISDIR(s.st_mode))
        is_written = write_in_place(target, part, n);
    else
        is_written = replace(target ? target : path, part, n, a);
    free(target);
    weft_arena_free(a);
    return is_written
               ? WEFT_OK
               : weft_fail(WEFT_E_SYSTEM, "%s: cannot be written: %s", path, strerror(errno));
}

weft_status weft_file_write(const char *path, const void *data, size_t size)
{
    return weft_file_write_parts(path, &(weft_bytes){data, size}, 1);
}
