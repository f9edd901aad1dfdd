/* SPDX-License-Identifier: MIT */
/* dlfcn.h: no shared libraries. */
#ifndef WEFT_PLAYGROUND_DLFCN_H
#define WEFT_PLAYGROUND_DLFCN_H

#include <stddef.h>

#define RTLD_LAZY 1
#define RTLD_NOW 2
#define RTLD_LOCAL 0
#define RTLD_GLOBAL 0x100
#define RTLD_NOLOAD 4
#define RTLD_NODELETE 0x1000

static inline void *dlopen(const char *path, int how)
{
    (void)path, (void)how;
    return NULL;
}

static inline void *dlsym(void *handle, const char *name)
{
    (void)handle, (void)name;
    return NULL;
}

static inline int dlclose(void *handle)
{
    (void)handle;
    return 0;
}

static inline char *dlerror(void)
{
    return (char *)"there are no shared libraries here";
}

typedef struct Dl_info {
    const char *dli_fname;
} Dl_info;

static inline int dladdr(const void *address, Dl_info *info)
{
    (void)address, (void)info;
    return 0;
}

#endif
