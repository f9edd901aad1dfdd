/* SPDX-License-Identifier: MIT */
/* file_write.c: files are replaced at once.
 *
 * 1. A temporary beside the file, of the same mode and, where the system allows it, owner, is
 *    written and brought to the disk.
 * 2. It is renamed, and the folder brought to the disk: whoever looks, even after a loss of power,
 *    sees the old file or the new one.
 *
 * Temporaries are in a list of fixed slots as long as they exist, so that a signal that ends the
 * program need not leave them behind. */
#define _XOPEN_SOURCE 700 /* fchown, readlink */
#include "base.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER_BYTES = 1 << 16 }; /* of parts that are written at once */
enum { MOST_AT_ONCE = 16 };      /* files written at the same time; more are not in the list */
enum { MOST_LINKS = 40 };        /* that lead to each other, as for the system */
enum { MOST_TRIES = 100 };       /* names of temporaries that are there already */

#ifndef PATH_MAX
#define PATH_MAX 4096
#endif

/* --- temporaries ----------------------------------------------------------------------------- */

typedef enum state { FREE, FILLED, HELD } state;

typedef struct temporary {
    atomic_int state; /* a handler looks at the rest if it is HELD */
    pid_t owner;      /* a copy of the process must leave it alone */
    char path[PATH_MAX];
} temporary;

static temporary list[MOST_AT_ONCE];

static temporary *hold(const char *path)
{
    size_t n = strlen(path);

    for (int i = 0; i < MOST_AT_ONCE && n < sizeof list[i].path; i++) {
        int is_free = FREE;

        if (!atomic_compare_exchange_strong(&list[i].state, &is_free, FILLED))
            continue;
        list[i].owner = getpid();
        memcpy(list[i].path, path, n + 1);
        atomic_store(&list[i].state, HELD);
        return &list[i];
    }
    return NULL;
}

static void release(temporary *t)
{
    if (t != NULL)
        atomic_store(&t->state, FREE);
}

void weft_file_abandon(void)
{
    for (int i = 0; i < MOST_AT_ONCE; i++)
        if (atomic_load(&list[i].state) == HELD && list[i].owner == getpid())
            unlink(list[i].path);
}

/* --- bytes ----------------------------------------------------------------------------------- */

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
        weft_out_of_memory(BUFFER_BYTES);
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

/* --- replacing ------------------------------------------------------------------------------- */

/* Some file systems cannot be asked to: they are not to blame for a loss. */
static bool sync_file(int fd)
{
    while (fsync(fd) != 0)
        if (errno != EINTR)
            return errno == EINVAL || errno == ENOSYS || errno == ENOTSUP;
    return true;
}

static const char *folder_of(const char *path, weft_arena *a)
{
    const char *slash = strrchr(path, '/');

    return slash ? weft_arena_text(a, path, (size_t)(slash + 1 - path)) : "";
}

/* The file is complete by then: a folder that cannot be opened or synchronised is no failure. */
static void sync_folder(const char *path, weft_arena *a)
{
    const char *folder = folder_of(path, a);
    int fd = open(*folder ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return;
    (void)sync_file(fd);
    close(fd);
}

/* Mode and owner of the file that is replaced. Only root may give files away, and some file systems
 * have neither: the bytes count more. */
static void take_after(int fd, const struct stat *old)
{
    struct stat own;

    if (fstat(fd, &own) != 0)
        return;
    if (own.st_uid != old->st_uid && fchown(fd, old->st_uid, old->st_gid) == 0)
        own.st_gid = old->st_gid;
    if (own.st_gid == old->st_gid || fchown(fd, (uid_t)-1, old->st_gid) == 0)
        (void)fchmod(fd, old->st_mode & 0777);
    else
        (void)fchmod(fd, old->st_mode & 0707); /* not for the members of another group */
}

/* A temporary of a process that was killed may have the name of ours. */
static int create(const char *path, const struct stat *old, weft_arena *a, temporary **held,
                  const char **name)
{
    int fd = -1;

    for (int i = 0; i < MOST_TRIES && fd < 0; i++) {
        *name = i == 0 ? weft_arena_print(a, "%s.%ld.part", path, (long)getpid())
                       : weft_arena_print(a, "%s.%ld-%d.part", path, (long)getpid(), i);
        *held = hold(*name);
        fd = open(*name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, old ? 0600 : 0666);
        if (fd < 0)
            release(*held);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    return fd;
}

/* old: the file that is there, or NULL. */
static bool replace(const char *path, const struct stat *old, const weft_bytes *part, int n,
                    weft_arena *a)
{
    const char *name;
    temporary *held;
    int fd = create(path, old, a, &held, &name), error;
    bool is_done;

    if (fd < 0)
        return false;
    if (old)
        take_after(fd, old);
    is_done = write_parts(fd, part, n) && sync_file(fd);
    error = errno;
    if (close(fd) != 0 && is_done) {
        is_done = false;
        error = errno;
    }
    if (is_done && rename(name, path) != 0) {
        is_done = false;
        error = errno;
    }
    if (!is_done)
        unlink(name);
    release(held);
    if (is_done)
        sync_folder(path, a);
    errno = error;
    return is_done;
}

/* Where the links lead, whether or not there is a file; NULL: nowhere. */
static const char *target_of(const char *path, weft_arena *a)
{
    char to[PATH_MAX];

    for (int i = 0; i < MOST_LINKS; i++) {
        ssize_t n = readlink(path, to, sizeof to - 1);

        if (n < 0)
            return path;
        to[n] = '\0';
        path = weft_arena_print(a, "%s%s", *to == '/' ? "" : folder_of(path, a), to);
    }
    errno = ELOOP;
    return NULL;
}

static bool write_to(const char *path, const weft_bytes *part, int n, weft_arena *a)
{
    struct stat s;
    bool is_there = stat(path, &s) == 0;
    const char *target;

    if (is_there && !S_ISREG(s.st_mode) && !S_ISDIR(s.st_mode))
        return write_in_place(path, part, n);
    if (is_there && S_ISDIR(s.st_mode)) {
        errno = EISDIR;
        return false;
    }
    target = target_of(path, a);
    return target != NULL && replace(target, is_there ? &s : NULL, part, n, a);
}

weft_status weft_file_write_parts(const char *path, const weft_bytes *part, int n)
{
    weft_arena *a = weft_arena_new();
    weft_status status = WEFT_OK;

    if (!write_to(path, part, n, a))
        status = weft_fail(WEFT_E_SYSTEM, "%s: cannot be written: %s", path, strerror(errno));
    weft_arena_free(a);
    return status;
}

weft_status weft_file_write(const char *path, const void *data, size_t size)
{
    return weft_file_write_parts(path, &(weft_bytes){data, size}, 1);
}

weft_status weft_file_write_unsynced(const char *path, const weft_bytes *part, int n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    bool is_written = fd >= 0 && write_parts(fd, part, n);
    int error = errno;

    if (fd >= 0 && close(fd) != 0 && is_written) {
        is_written = false;
        error = errno;
    }
    if (is_written)
        return WEFT_OK;
    return weft_fail(WEFT_E_SYSTEM, "%s: cannot be written: %s", path, strerror(error));
}
