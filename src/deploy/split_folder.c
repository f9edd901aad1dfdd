/* SPDX-License-Identifier: MIT */
/* split_folder.c: a split network is replaced as a whole.
 *
 * 1. The folder is locked and looked through: files that are not of an earlier split are an error.
 * 2. All is written into a folder inside of it. After an error that one goes, and nothing else has
 *    changed.
 * 3. The earlier manifest and its files go, the new files take their places, the manifest last. */
#define _GNU_SOURCE /* nftw, flock */
#include "split_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "manifest.h"

#define STAGE ".weft-split"

static const char *joined(const char *folder, const char *file, weft_arena *a)
{
    return weft_arena_print(a, "%s/%s", folder, file);
}

bool weft_is_below(const char *path)
{
    for (const char *at = path; at != NULL; at = strchr(at, '/')) {
        at += *at == '/';
        if (strncmp(at, "..", 2) == 0 && (at[2] == '/' || at[2] == '\0'))
            return false;
    }
    return *path != '/' && *path != '\0';
}

weft_status weft_make_folders(const char *folder, const char *file, weft_arena *a)
{
    for (const char *slash = strchr(file, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        const char *path = weft_arena_print(a, "%s/%.*s", folder, (int)(slash - file), file);

        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            return weft_fail(WEFT_E_SYSTEM, "%s: cannot be made: %s", path, strerror(errno));
    }
    return WEFT_OK;
}

/* --- removing -------------------------------------------------------------------------------- */

/* Are the folders on the way to a file in it indeed? A link may lead anywhere. */
static bool is_inside(const char *folder, const char *file, weft_arena *a)
{
    struct stat s;

    for (const char *slash = strchr(file, '/'); slash != NULL; slash = strchr(slash + 1, '/'))
        if (lstat(weft_arena_print(a, "%s/%.*s", folder, (int)(slash - file), file), &s) != 0 ||
            !S_ISDIR(s.st_mode))
            return false;
    return true;
}

/* Files first, then folders of theirs that are empty. */
static void remove_files(const char *folder, const char *const *file, int n, weft_arena *a)
{
    for (int i = 0; i < n; i++)
        if (is_inside(folder, file[i], a))
            unlink(joined(folder, file[i], a));
    for (int i = 0; i < n; i++)
        for (size_t at = strlen(file[i]); at > 0; at--) {
            const char *inner = weft_arena_print(a, "%.*s", (int)at, file[i]);

            if (file[i][at] == '/' && is_inside(folder, inner, a))
                rmdir(joined(folder, inner, a));
        }
}

/* An earlier split; none: nothing. */
static void remove_split(const char *folder, weft_arena *a)
{
    const char *const *file;
    int n;

    if (weft_manifest_files(folder, a, &file, &n) != WEFT_OK)
        return;
    unlink(joined(folder, WEFT_MANIFEST, a));
    remove_files(folder, file, n, a);
}

void weft_split_net_remove(const char *folder)
{
    weft_arena *a = weft_arena_new();

    remove_split(folder, a);
    rmdir(folder);
    weft_arena_free(a);
}

static int remove_one(const char *path, const struct stat *s, int type, struct FTW *at)
{
    (void)s, (void)type, (void)at;
    return remove(path);
}

static void remove_stage(const char *stage)
{
    enum { MOST_OPEN = 16 };

    nftw(stage, remove_one, MOST_OPEN, FTW_DEPTH | FTW_PHYS);
}

/* --- what is there --------------------------------------------------------------------------- */

static bool is_of_split(const char *name, const char *const *file, int n)
{
    size_t length = strlen(name);

    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(name, STAGE) == 0 ||
        (n >= 0 && strcmp(name, WEFT_MANIFEST) == 0))
        return true;
    for (int i = 0; i < n; i++)
        if (strncmp(file[i], name, length) == 0 &&
            (file[i][length] == '\0' || file[i][length] == '/'))
            return true;
    return false;
}

/* Nobody else's files: n: of an earlier split, -1: there is none. */
static weft_status check_entries(const char *path, const char *const *file, int n, weft_arena *a)
{
    DIR *folder = opendir(path);
    const char *other = NULL;

    if (folder == NULL)
        return weft_fail(WEFT_E_SYSTEM, "%s: cannot be read: %s", path, strerror(errno));
    for (struct dirent *e; other == NULL && (e = readdir(folder)) != NULL;)
        if (!is_of_split(e->d_name, file, n))
            other = weft_arena_word(a, e->d_name);
    closedir(folder);
    if (other == NULL)
        return WEFT_OK;
    return weft_fail(WEFT_E_INPUT,
                     "%s: holds '%.80s', which is not of a split network, expected a new or an "
                     "empty folder",
                     path, other);
}

static weft_status check_folder(const char *path, weft_arena *a)
{
    const char *const *file = NULL;
    struct stat s;
    int n = -1;

    if (stat(joined(path, WEFT_MANIFEST, a), &s) == 0)
        WEFT_TRY(weft_manifest_files(path, a, &file, &n));
    return check_entries(path, file, n, a);
}

/* --- replacing ------------------------------------------------------------------------------- */

static weft_status lock_folder(weft_split_folder *f)
{
    f->lock = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (f->lock < 0)
        return weft_fail(WEFT_E_INPUT, "%s: %s, expected a new or an empty folder", f->path,
                         strerror(errno));
    if (flock(f->lock, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
        return WEFT_OK; /* some file systems have no locks */
    return weft_fail(WEFT_E_SYSTEM, "%s: another weft writes this folder now", f->path);
}

static weft_status make_stage(weft_split_folder *f)
{
    WEFT_TRY(lock_folder(f));
    WEFT_TRY(check_folder(f->path, f->a));
    remove_stage(f->stage);
    if (mkdir(f->stage, 0777) == 0)
        return WEFT_OK;
    return weft_fail(WEFT_E_SYSTEM, "%s: cannot be made: %s", f->stage, strerror(errno));
}

static void leave(const weft_split_folder *f)
{
    if (f->lock >= 0)
        close(f->lock);
    if (f->is_new)
        rmdir(f->path); /* stays if anything is in it */
}

weft_status weft_split_folder_begin(const char *path, weft_arena *a, weft_split_folder *out)
{
    weft_status status;

    *out = (weft_split_folder){.path = path, .stage = joined(path, STAGE, a), .lock = -1, .a = a};
    out->is_new = mkdir(path, 0777) == 0;
    if (!out->is_new && errno != EEXIST)
        return weft_fail(WEFT_E_SYSTEM, "%s: cannot be made: %s", path, strerror(errno));
    status = make_stage(out);
    if (status != WEFT_OK)
        leave(out);
    return status;
}

static weft_status take(const weft_split_folder *f, const char *file)
{
    const char *to = joined(f->path, file, f->a);

    WEFT_TRY(weft_make_folders(f->path, file, f->a));
    if (rename(joined(f->stage, file, f->a), to) == 0)
        return WEFT_OK;
    return weft_fail(WEFT_E_SYSTEM, "%s: cannot be written: %s", to, strerror(errno));
}

weft_status weft_split_folder_end(const weft_split_folder *f, const char *const *file, int n)
{
    weft_status status = WEFT_OK;

    remove_split(f->path, f->a);
    for (int i = 0; i < n && status == WEFT_OK; i++)
        status = take(f, file[i]);
    if (status == WEFT_OK)
        status = take(f, WEFT_MANIFEST);
    if (status != WEFT_OK)
        remove_files(f->path, file, n, f->a);
    remove_stage(f->stage);
    leave(f);
    return status;
}

void weft_split_folder_abandon(const weft_split_folder *f)
{
    remove_stage(f->stage);
    leave(f);
}
