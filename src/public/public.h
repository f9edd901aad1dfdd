/* SPDX-License-Identifier: MIT */
/* What the public functions share: a command with its arguments as a document, and its answer. */
#ifndef WEFT_PUBLIC_H
#define WEFT_PUBLIC_H

#include <signal.h>

#include "base.h"

/* Who watches a command that runs. */
typedef struct weft_watcher {
    void (*progress)(void *context, double value, double bound); /* NULL: nobody */
    void *context;
    const volatile sig_atomic_t *stop; /* NULL: never */
} weft_watcher;

/* What a command said, in the arena of the asker. */
typedef struct weft_reply {
    int code;         /* that the program would exit with */
    const char *text; /* what it printed; "": nothing */
    weft_doc *notes;  /* a list of lines */
} weft_reply;

/* Runs a command. arguments: a map of flags and operands; NULL: none. After an error out->code and
 * the notes are valid, too. */
WEFT_CHECKED weft_status weft_ask(const char *command, const weft_doc *arguments,
                                  const weft_watcher *w, weft_arena *a, weft_reply *out);
/* Does the command have such a flag or operand? */
WEFT_CHECKED weft_status weft_ask_knows(const char *command, const char *name);
/* The same, with the printed JSON as a document. Exit code 1 is no error. */
WEFT_CHECKED weft_status weft_ask_document(const char *command, const weft_doc *arguments,
                                           const weft_watcher *w, weft_arena *a,
                                           const weft_doc **out);
bool weft_is_json(const char *text); /* or a printed text */
/* Flags as texts "name=value" or "name", ending with NULL; NULL: none. They are added to a map. */
void weft_put_options(weft_arena *a, weft_doc *arguments, const char *const *options);
/* Adds or replaces. */
void weft_put_argument(weft_arena *a, weft_doc *arguments, const char *name, weft_doc *value);

/* Entries of a map, and of the maps of a list; NAN, "" and NULL where there is none. */
double weft_doc_number_or_nan(const weft_doc *map, const char *key);
const char *weft_doc_text_or_empty(const weft_doc *map, const char *key);
const weft_doc *weft_doc_item(const weft_doc *list, int i);
int weft_doc_count(const weft_doc *list); /* 0: it is none */

#endif
