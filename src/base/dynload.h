/* SPDX-License-Identifier: MIT */
/* Shared libraries that are loaded when they are first needed, and not when the program starts. */
#ifndef WEFT_BASE_LIBRARY_H
#define WEFT_BASE_LIBRARY_H

#include "base.h"

/* A function of a library, and where in a struct of pointers to functions its address goes. */
typedef struct weft_symbol {
    const char *name;
    size_t at;
} weft_symbol;

typedef struct weft_dynload {
    const char *title;   /* as users know it */
    const char *file;    /* as the dynamic linker looks for it: "libz3.so.4" */
    const char *package; /* Debian's, for the message */
    const weft_symbol *symbol;
    int n_symbols;
} weft_dynload;

/* Fills `table`. The pointers remain valid until the program ends. A library that cannot be loaded
 * or lacks a function is WEFT_E_SYSTEM, with a message that names file and package. */
WEFT_CHECKED weft_status weft_dynload_open(const weft_dynload *l, void *table);
/* An object that a library of the user has; `file` is a path. It may use the public functions of
 * weft. An error is WEFT_E_INPUT, in words of the system. */
WEFT_CHECKED weft_status weft_dynload_symbol(const char *file, const char *name, const void **out);

#endif
