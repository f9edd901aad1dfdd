/* SPDX-License-Identifier: MIT */
/* What every part of weft stands on: errors, memory, containers, randomness, options, threads,
 * documents. Nothing here knows about networks. */
#ifndef WEFT_BASE_H
#define WEFT_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "weft/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define WEFT_PRINTF(at, first) __attribute__((format(printf, at, first)))
#define WEFT_NEVER_RETURNS __attribute__((noreturn))
#else
#define WEFT_NEVER_RETURNS
#define WEFT_PRINTF(at, first)
#endif

/* --- status and message: weft/status.h ------------------------------------------------------- */

/* Keeps the message of this thread and returns `status`. Control characters become '?'. */
weft_status weft_fail(weft_status status, const char *format, ...) WEFT_PRINTF(2, 3);
/* Puts "text: " in front of the message of this thread: callers add the file they were reading. */
weft_status weft_fail_in(weft_status status, const char *where);

#define WEFT_TRY(call)                                                                             \
    do {                                                                                           \
        weft_status weft_try_status = (call);                                                      \
        if (weft_try_status != WEFT_OK)                                                            \
            return weft_try_status;                                                                \
    } while (0)

/* --- out of memory --------------------------------------------------------------------------- */

/* Called by the thread that could not get so many bytes; 0: it is not known how many. It may say so
 * and end the program, or leave by longjmp. If it returns, or there is none (NULL, as at
 * first), the program aborts. One for the whole process. */
typedef void (*weft_memory_handler)(size_t bytes);
void weft_on_out_of_memory(weft_memory_handler handler);
bool weft_handles_out_of_memory(void); /* is there one? */
/* What the library calls then. */
WEFT_NEVER_RETURNS void weft_out_of_memory(size_t bytes);

/* --- arena: memory that is released all at once ---------------------------------------------- */

typedef struct weft_arena weft_arena;

weft_arena *weft_arena_new(void);
void weft_arena_free(weft_arena *a);                  /* NULL is allowed */
void *weft_arena_alloc(weft_arena *a, size_t bytes);  /* zero-filled, aligned for any type */
void *weft_arena_raw(weft_arena *a, size_t bytes);    /* the same, not filled: written at once */
void weft_arena_reserve(weft_arena *a, size_t bytes); /* room for what follows in one piece */
size_t weft_arena_mark(const weft_arena *a);
void weft_arena_rewind(weft_arena *a, size_t mark); /* drops what was allocated since the mark */
void *weft_arena_copy(weft_arena *a, const void *from, size_t bytes);
char *weft_arena_text(weft_arena *a, const char *from, size_t n); /* adds the final NUL */
char *weft_arena_word(weft_arena *a, const char *from);           /* all of it */
char *weft_arena_print(weft_arena *a, const char *format, ...) WEFT_PRINTF(2, 3);
/* Room for n * size bytes; a product that overflows is out of memory. */
void *weft_arena_array(weft_arena *a, size_t n, size_t size);
void *weft_arena_raw_array(weft_arena *a, size_t n, size_t size); /* the same, not filled */

#define WEFT_NEW(arena, type, n) ((type *)weft_arena_array(arena, (size_t)(n), sizeof(type)))
#define WEFT_NEW_RAW(arena, type, n)                                                               \
    ((type *)weft_arena_raw_array(arena, (size_t)(n), sizeof(type)))

/* A growing array inside an arena, for builders: WEFT_VEC(int) v = {0}; WEFT_PUSH(arena, v, 7); */
#define WEFT_VEC(type)                                                                             \
    struct {                                                                                       \
        type *at;                                                                                  \
        int n, room;                                                                               \
    }
#define WEFT_PUSH(arena, v, item)                                                                  \
    ((v).n < (v).room                                                                              \
         ? (void)0                                                                                 \
         : (void)((v).at = weft_arena_grow(arena, (v).at, (v).n, &(v).room, sizeof *(v).at)),      \
     (v).at[(v).n++] = (item))
/* Room for n items at once, where their number is known beforehand. */
#define WEFT_RESERVE(arena, v, items)                                                              \
    ((v).n == 0 ? (void)((v).at = weft_arena_raw_array(arena, (size_t)(items), sizeof *(v).at),    \
                         (v).room = (items))                                                       \
                : (void)0)
/* Used by WEFT_PUSH: makes room for one more item and returns the (possibly moved) array. */
void *weft_arena_grow(weft_arena *a, void *at, int n, int *room, size_t size);

/* --- map: text -> int, in insertion-independent order (look-ups only) ------------------------ */

typedef struct weft_map weft_map;

weft_map *weft_map_new(weft_arena *a);
void weft_map_reserve(weft_map *m, int n); /* room for n keys without growing on the way */
int weft_map_get(const weft_map *m, const char *key, size_t n); /* -1 if absent */
/* The same, and quicker if the key was the i-th to be added; any i will do. */
int weft_map_guess(const weft_map *m, int i, const char *key, size_t n);
/* Sets key to value >= 0; false (and no change) if the key is there already. The key's bytes are
 * not copied: they must live as long as the map. */
bool weft_map_put(weft_map *m, const char *key, size_t n, int value);
void weft_map_set(weft_map *m, const char *key, size_t n, int value); /* adds or replaces */

/* The candidate nearest to `word` (few edits away), or NULL if none is near: "did you mean ...". */
const char *weft_nearest(const char *word, const char *const *candidates, int n);

/* Is `text` what the pattern says? '*' stands for any text, the empty one included. */
bool weft_pattern_matches(const char *pattern, const char *text);

/* --- bitset: n bits in 64-bit words ---------------------------------------------------------- */

static inline int weft_bits_words(int n)
{
    return (n + 63) / 64;
}
static inline bool weft_bit_get(const uint64_t *bits, int i)
{
    return bits[i / 64] >> (i % 64) & 1;
}
static inline void weft_bit_set(uint64_t *bits, int i)
{
    bits[i / 64] |= (uint64_t)1 << (i % 64);
}

static inline void weft_bits_join(uint64_t *to, const uint64_t *from, int n_words)
{
    for (int i = 0; i < n_words; i++)
        to[i] |= from[i];
}

/* --- clock ----------------------------------------------------------------------------------- */

double weft_wall_s(void); /* seconds since some moment, for differences */

/* --- rng: the same numbers on every machine -------------------------------------------------- */

typedef struct weft_rng {
    uint64_t state[4];
} weft_rng;

weft_rng weft_rng_seed(uint64_t seed);
weft_rng weft_rng_split(weft_rng *r, uint64_t item); /* an independent stream for item */
uint64_t weft_rng_next(weft_rng *r);
int weft_rng_below(weft_rng *r, int n); /* uniform in 0 .. n - 1 */
double weft_rng_real(weft_rng *r);      /* uniform in [0, 1) */

/* --- options: a plain struct and a table; the table is the only home of a default ------------ */

typedef enum weft_option_kind {
    WEFT_OPTION_END,
    WEFT_OPTION_INT,  /* int64_t field */
    WEFT_OPTION_REAL, /* double field */
    WEFT_OPTION_FLAG, /* bool field */
    WEFT_OPTION_TEXT, /* const char * field; choices in `choices`, '|' between them, or NULL: any */
} weft_option_kind;

typedef struct weft_option {
    weft_option_kind kind;
    const char *name;
    size_t offset;
    double fallback, lowest, highest; /* numbers and flags */
    const char *help;                 /* one line, with the unit */
    const char *text;                 /* default of a text option */
    const char *choices;
} weft_option;

#define WEFT_INT(type, field) WEFT_OPTION_INT, #field, offsetof(type, field)
#define WEFT_REAL(type, field) WEFT_OPTION_REAL, #field, offsetof(type, field)
#define WEFT_FLAG(type, field) WEFT_OPTION_FLAG, #field, offsetof(type, field)
#define WEFT_TEXT(type, field) WEFT_OPTION_TEXT, #field, offsetof(type, field)
#define WEFT_OPTIONS_END                                                                           \
    {                                                                                              \
        WEFT_OPTION_END, NULL, 0, 0, 0, 0, NULL, NULL, NULL                                        \
    }

void weft_options_default(const weft_option *table, void *options);
/* Sets one field from text. `a` keeps the text of text options. Unknown name, bad number or value
 * out of range: a message that names option, value, range and the nearest known name. */
WEFT_CHECKED weft_status weft_options_set(const weft_option *table, void *options, const char *name,
                                          const char *value, weft_arena *a);
/* Reads "layers=48,hidden=1600". An empty or NULL text changes nothing. */
WEFT_CHECKED weft_status weft_options_parse(const weft_option *table, void *options,
                                            const char *text, weft_arena *a);
const weft_option *weft_option_find(const weft_option *table, const char *name); /* NULL: none */
/* Writes a number as people type it: 5, 0.1, 1e+18. Returns `to`. */
char *weft_option_number(double value, char to[32]);

/* --- threads --------------------------------------------------------------------------------- */

/* Calls work(context, i) for i = 0 .. n - 1 on n_threads threads (the caller is one of them).
 * Items must not depend on each other; results must go to places of their own. */
void weft_parallel(int n_threads, int n, void (*work)(void *context, int i), void *context);

/* --- documents: YAML and JSON as one tree whose nodes know file and line --------------------- */

typedef enum weft_doc_kind {
    WEFT_DOC_NULL,
    WEFT_DOC_BOOL,
    WEFT_DOC_INT,
    WEFT_DOC_REAL,
    WEFT_DOC_TEXT,
    WEFT_DOC_LIST,
    WEFT_DOC_MAP,
} weft_doc_kind;

typedef struct weft_doc {
    weft_doc_kind kind;
    int line;         /* 1 is the first; 0 in documents made by weft */
    const char *file; /* as given to the reader */
    bool is_whole;    /* the document itself: if it is nothing expected, messages do not quote it */
    bool truth;       /* WEFT_DOC_BOOL */
    int64_t integer;  /* WEFT_DOC_INT */
    double real;      /* WEFT_DOC_INT and WEFT_DOC_REAL */
    const char *text; /* WEFT_DOC_TEXT; for scalars of a YAML file also as written */
    int n;            /* WEFT_DOC_LIST, WEFT_DOC_MAP: items in order of the file */
    struct weft_doc **item;
    const char **key; /* WEFT_DOC_MAP */
} weft_doc;

/* Reads a file: JSON if its first mark is '{' or '[', else YAML. The tree lives in `a`. Anchors and
 * aliases, duplicate keys, several documents in a file and nesting beyond 100 levels are refused.
 */
WEFT_CHECKED weft_status weft_doc_read(const char *path, weft_arena *a, const weft_doc **out);
WEFT_CHECKED weft_status weft_doc_parse(const char *text, size_t n, const char *file, weft_arena *a,
                                        const weft_doc **out);

/* Getters of a map's entries; a missing key or another kind is an error with file and line. */
const weft_doc *weft_doc_get(const weft_doc *map, const char *key); /* NULL if absent */
/* The text of an entry; "" if there is none. */
const char *weft_doc_text_or_none(const weft_doc *map, const char *key);
WEFT_CHECKED weft_status weft_doc_need(const weft_doc *map, const char *key, weft_doc_kind kind,
                                       const weft_doc **out);
WEFT_CHECKED weft_status weft_doc_int(const weft_doc *map, const char *key, int64_t lowest,
                                      int64_t highest, int64_t *out);
WEFT_CHECKED weft_status weft_doc_real(const weft_doc *map, const char *key, double lowest,
                                       double highest, double *out);
WEFT_CHECKED weft_status weft_doc_text(const weft_doc *map, const char *key, const char **out);
/* Refuses keys that are not in the list, with the nearest known key suggested. */
WEFT_CHECKED weft_status weft_doc_known_keys(const weft_doc *map, const char *const *keys, int n);
/* "file:line: <message>". */
weft_status weft_doc_fail(const weft_doc *at, const char *format, ...) WEFT_PRINTF(2, 3);
static inline bool weft_doc_is_number(const weft_doc *d)
{
    return d->kind == WEFT_DOC_INT || d->kind == WEFT_DOC_REAL;
}

const char *weft_doc_kind_name(weft_doc_kind kind); /* "a number", "a list", ... */

/* Makers, for documents that weft writes. Maps keep the order in which keys were added. */
weft_doc *weft_doc_new(weft_arena *a, weft_doc_kind kind);
weft_doc *weft_doc_new_int(weft_arena *a, int64_t value);
weft_doc *weft_doc_new_real(weft_arena *a, double value);
weft_doc *weft_doc_new_bool(weft_arena *a, bool value);
weft_doc *weft_doc_new_text(weft_arena *a, const char *value);
void weft_doc_add(weft_arena *a, weft_doc *list, weft_doc *item);
void weft_doc_put(weft_arena *a, weft_doc *map, const char *key, weft_doc *value);
/* Puts a value in the place of the one that is there; adds the key if it is not. */
void weft_doc_set(weft_arena *a, weft_doc *map, const char *key, weft_doc *value);
/* Entries of a map in one call. Text may be NULL (null); reals that are not finite become null. */
void weft_put_int(weft_arena *a, weft_doc *map, const char *key, int64_t value);
void weft_put_text(weft_arena *a, weft_doc *map, const char *key, const char *value);
void weft_put_real(weft_arena *a, weft_doc *map, const char *key, double value);
void weft_put_bool(weft_arena *a, weft_doc *map, const char *key, bool value);
/* A new map at the end of a list. */
weft_doc *weft_add_map(weft_arena *a, weft_doc *list);
/* A list of texts, each of which may be NULL (null). */
weft_doc *weft_texts_doc(const char *const *text, int n, weft_arena *a);
/* A number that is whole, as a rule: then without a point. */
void weft_put_size(weft_arena *a, weft_doc *map, const char *key, double value);
weft_doc *weft_real_or_null(weft_arena *a, double value);
/* The document as JSON text: indented by `indent` spaces, or on one line if 0. */
const char *weft_doc_json(const weft_doc *d, int indent, weft_arena *a);
/* On one line, and each number with as few digits as give it again. */
const char *weft_doc_json_short(const weft_doc *d, weft_arena *a);

/* --- small helpers --------------------------------------------------------------------------- */

/* Without the care for NAN that makes fmax slow. */
static inline double weft_larger(double a, double b)
{
    return a > b ? a : b;
}

/* The root of i in a forest of parents; roots are their own. Ways are halved as they are gone. */
static inline int weft_root(int *parent, int i)
{
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

/* --- numbers for people ---------------------------------------------------------------------- */

/* "25.6 M", "4.09 G": three digits and a decimal prefix. Returns `to`. */
const char *weft_format_count(double value, char to[32]);
/* "12.3 MB": decimal prefixes of bytes. */
const char *weft_format_bytes(double bytes, char to[32]);
/* A gap as a number of percent, "12.3": so many digits behind the point, or one that counts, if
 * more than rounding (1e-9) would be shown as 0. */
const char *weft_format_gap(double gap, int digits, char to[32]);
/* "1,234,567". */
const char *weft_format_integer(int64_t value, char to[32]);

/* --- whole files ----------------------------------------------------------------------------- */

/* The bytes of a regular file, large ones mapped; an empty file has data NULL and size 0. */
typedef struct weft_file {
    const uint8_t *data;
    size_t size;
} weft_file;

WEFT_CHECKED weft_status weft_file_open(const char *path, weft_file *out);
void weft_file_close(weft_file *f);
/* Is a mapped file still as long as when it was opened? What it has lost reads as zeros to the end
 * of a page, and raises SIGBUS beyond. */
WEFT_CHECKED weft_status weft_file_check(const weft_file *f);
/* Path of the mapped file whose bytes have this address, or NULL: for handlers of SIGBUS. */
const char *weft_file_at(const void *address);

/* Writes a whole file or nothing: a temporary beside it, brought to the disk and renamed when
 * complete. A file that is replaced keeps its mode. Links are followed, also to a file that is not
 * there yet; devices and pipes are written to. */
WEFT_CHECKED weft_status weft_file_write(const char *path, const void *data, size_t size);
/* Removes the temporaries of files that are being written, since nobody will complete them: for
 * handlers of signals that end the program. */
void weft_file_abandon(void);

/* Bytes of somebody else. */
typedef struct weft_bytes {
    const void *data;
    size_t size;
} weft_bytes;

/* The same of a file in parts, one after the other: they need not be in one place. */
WEFT_CHECKED weft_status weft_file_write_parts(const char *path, const weft_bytes *part, int n);
/* Writes a file in place and does not wait for the disk: for the many files of a folder that is
 * nothing until its last file, which has their hashes, is there. */
WEFT_CHECKED weft_status weft_file_write_unsynced(const char *path, const weft_bytes *part, int n);

#ifdef __cplusplus
}
#endif
#endif
