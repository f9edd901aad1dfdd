/* SPDX-License-Identifier: MIT */
/* dynload.c: functions of shared libraries that most commands do not need.
 *
 * 1. dlopen finds the library or loads it with all that it needs, which takes milliseconds and
 *    megabytes; once loaded it stays until the program ends, so that later calls only look up names
 *    (about 10 us for 30 of them) and no pointer ever dangles.
 * 2. Its names are seen by nobody else: a program that uses libweft may have its own version.
 * 3. The address of each function is copied into the caller's table. Nothing is remembered here.
 *
 * 4. Where the program handles a lack of memory, engines in C++ are told to use its handler; else
 *    they throw an exception that nobody catches.
 *
 * Threads may load at the same time. POSIX lets the address of a function pass through void *,
 * ISO C has no conversion for it: hence the copy of bytes. */
#define _GNU_SOURCE /* dladdr */
#include "dynload.h"

#include <dlfcn.h>
#include <string.h>

_Static_assert(sizeof(void *) == sizeof(void (*)(void)), "dlsym returns functions as void *");

static weft_status refuse(const weft_dynload *l)
{
    const char *reason = dlerror();

    return weft_fail(WEFT_E_SYSTEM,
                     "%s cannot be loaded from %s: %s; on Debian it is in the package %s", l->title,
                     l->file, reason != NULL ? reason : "no reason given", l->package);
}

static weft_status find_all(const weft_dynload *l, void *handle, void *table)
{
    for (int i = 0; i < l->n_symbols; i++) {
        void *address = dlsym(handle, l->symbol[i].name);

        if (address == NULL)
            return refuse(l);
        memcpy((char *)table + l->symbol[i].at, &address, sizeof address);
    }
    return WEFT_OK;
}

static void out_of_memory(void)
{
    weft_out_of_memory(0);
}

/* std::set_new_handler of the C++ library that this one uses, if it does. Programs that do not care
 * keep their own handler. */
static void handle_memory(void *handle)
{
    void *address = dlsym(handle, "_ZSt15set_new_handlerPFvvE");
    void (*(*set)(void (*handler)(void)))(void);

    if (address == NULL || !weft_handles_out_of_memory())
        return;
    memcpy(&set, &address, sizeof address);
    set(out_of_memory);
}

weft_status weft_dynload_open(const weft_dynload *l, void *table)
{
    void *handle = dlopen(l->file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    weft_status status;

    if (handle == NULL)
        return refuse(l);
    status = find_all(l, handle, table);
    handle_memory(handle);
    dlclose(handle); /* counted only: RTLD_NODELETE keeps the library */
    return status;
}

/* Where weft itself is a library that was loaded without showing its names, it shows them now. */
static void show_names(void)
{
    weft_status (*own)(const char *, const char *, const void **) = weft_dynload_symbol;
    void *address;
    Dl_info info;

    memcpy(&address, &own, sizeof address);
    if (dladdr(address, &info) != 0 && info.dli_fname != NULL)
        (void)dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
    (void)dlerror();
}

weft_status weft_dynload_symbol(const char *file, const char *name, const void **out)
{
    void *handle;

    show_names();
    handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    *out = handle != NULL ? dlsym(handle, name) : NULL;
    if (*out == NULL) {
        const char *reason = dlerror();

        return weft_fail(WEFT_E_INPUT, "%s", reason != NULL ? reason : name);
    }
    return WEFT_OK;
}
