/* SPDX-License-Identifier: MIT */
/* file.c: files as a whole: small ones are read, large ones mapped.
 *
 * Somebody may cut off a file while it is mapped. Pages that have lost their bytes raise SIGBUS,
 * which only the program can handle: so that it can say which file it was, mapped files are in a
 * list of fixed slots, which a handler may walk along at any time. A page that has lost some of its
 * bytes reads as zeros: weft_file_check finds out by the length. Each slot keeps its file open,
 * since the path may lead to another one by then. */
#define _POSIX_C_SOURCE 200809L
#include "base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_READ_BYTES = 1 << 20 }; /* up to this a copy costs less than mapping page by page */
enum { MOST_MAPPED = 64 };          /* more are mapped too, but nobody knows where */

/* --- mapped files ---------------------------------------------------------------------------- */

typedef struct mapping {
    atomic_bool is_taken;
    _Atomic(const uint8_t *) data; /* NULL: the rest is not valid */
    size_t size;
    char *path;
    int fd;
} mapping;

static mapping mapped[MOST_MAPPED];

/* Takes over the descriptor. */
static void remember(int fd, const char *path, const weft_file *f)
{
    for (int i = 0; i < MOST_MAPPED; i++) {
        mapping *m = &mapped[i];

        if (atomic_exchange(&m->is_taken, true))
            continue;
        m->size = f->size;
        m->path = strdup(path);
        m->fd = fd;
        atomic_store(&m->data, f->data);
        return;
    }
    close(fd);
}

static mapping *find(const void *address)
{
    const uint8_t *at = address;

    for (int i = 0; i < MOST_MAPPED; i++) {
        const uint8_t *data = atomic_load(&mapped[i].data);

        if (data != NULL && at >= data && at < data + mapped[i].size)
            return &mapped[i];
    }
    return NULL;
}

static void forget(const void *data)
{
    mapping *m = find(data);

    if (m == NULL)
        return;
    atomic_store(&m->data, NULL);
    free(m->path);
    close(m->fd);
    atomic_store(&m->is_taken, false);
}

const char *weft_file_at(const void *address)
{
    const mapping *m = find(address);

    if (m == NULL)
        return NULL;
    return m->path != NULL ? m->path : "a file";
}

weft_status weft_file_check(const weft_file *f)
{
    const mapping *m = f->data != NULL ? find(f->data) : NULL;
    struct stat s;

    if (m == NULL || fstat(m->fd, &s) != 0 || (size_t)s.st_size >= m->size)
        return WEFT_OK;
    return weft_fail(WEFT_E_INPUT, "%s: has become shorter while it was read",
                     weft_file_at(f->data));
}

/* --- opening --------------------------------------------------------------------------------- */

static weft_status read_all(int fd, const char *path, weft_file *out)
{
    uint8_t *data = malloc(out->size);
    size_t at = 0;

    if (data == NULL)
        weft_out_of_memory(out->size);
    while (at < out->size) {
        ssize_t n = read(fd, data + at, out->size - at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            weft_status status =
                n < 0 ? weft_fail(WEFT_E_INPUT, "%s: cannot be read: %s", path, strerror(errno))
                      : weft_fail(WEFT_E_INPUT, "%s: has become shorter while it was read", path);

            free(data);
            return status;
        }
        at += (size_t)n;
    }
    out->data = data;
    return WEFT_OK;
}

static weft_status map(int fd, const char *path, weft_file *out)
{
    void *data = mmap(NULL, out->size, PROT_READ, MAP_PRIVATE, fd, 0);
    int own = data == MAP_FAILED ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);

    if (data == MAP_FAILED && errno == ENOMEM)
        weft_out_of_memory(out->size);
    if (data == MAP_FAILED)
        return weft_fail(WEFT_E_INPUT, "%s: cannot be mapped: %s", path, strerror(errno));
    out->data = data;
    if (own >= 0)
        remember(own, path, out);
    return WEFT_OK;
}

static weft_status read_or_map(int fd, const char *path, weft_file *out)
{
    struct stat s;

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
    return out->size <= MOST_READ_BYTES ? read_all(fd, path, out) : map(fd, path, out);
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

    if (f->size <= MOST_READ_BYTES) {
        free(data);
    } else if (data) {
        forget(data);
        munmap(data, f->size);
    }
    *f = (weft_file){NULL, 0};
}
