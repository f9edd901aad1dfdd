/* SPDX-License-Identifier: MIT */
/* gguf.c: heads of GGUF files, read in place with every length checked against the file.
 *
 * "GGUF", version (2 or 3), number of tensors, number of pairs; the pairs: key, type, value; the tensors:
 * name, number of dimensions, dimensions, type, offset. Numbers are little-endian, texts have a length
 * of 64 bits in front. Sizes of blocks are those of ggml (ggml-common.h). */
#include "gguf.h"

#include <math.h>
#include <string.h>

enum {
    MOST_DIMS = 4,     /* of a tensor, as in ggml */
    MOST_KEY = 256,    /* bytes of a name */
    MOST_PAIRS = 4096, /* some hundred are usual */
    LEAST_TENSOR = 24, /* bytes of the shortest tensor */
};

/* Types of values. */
enum { U8, I8, U16, I16, U32, I32, F32, BOOL, TEXT, ARRAY, U64, I64, F64, N_KINDS };

static const size_t kind_bytes[N_KINDS] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

/* ggml's types of elements: so many elements are a block of so many bytes; those without a name are no
 * longer in use. */
static const struct {
    const char *name;
    int elements, bytes;
} element_types[] = {
    {"F32",     1,   4  },
    {"F16",     1,   2  },
    {"Q4_0",    32,  18 },
    {"Q4_1",    32,  20 },
    {NULL,      0,   0  },
    {NULL,      0,   0  },
    {"Q5_0",    32,  22 },
    {"Q5_1",    32,  24 },
    {"Q8_0",    32,  34 },
    {"Q8_1",    32,  36 },
    {"Q2_K",    256, 84 },
    {"Q3_K",    256, 110},
    {"Q4_K",    256, 144},
    {"Q5_K",    256, 176},
    {"Q6_K",    256, 210},
    {"Q8_K",    256, 292},
    {"IQ2_XXS", 256, 66 },
    {"IQ2_XS",  256, 74 },
    {"IQ3_XXS", 256, 98 },
    {"IQ1_S",   256, 50 },
    {"IQ4_NL",  32,  18 },
    {"IQ3_S",   256, 110},
    {"IQ2_S",   256, 82 },
    {"IQ4_XS",  256, 136},
    {"I8",      1,   1  },
    {"I16",     1,   2  },
    {"I32",     1,   4  },
    {"I64",     1,   8  },
    {"F64",     1,   8  },
    {"IQ1_M",   256, 56 },
    {"BF16",    1,   2  },
    {NULL,      0,   0  },
    {NULL,      0,   0  },
    {NULL,      0,   0  },
    {"TQ1_0",   256, 54 },
    {"TQ2_0",   256, 66 },
    {NULL,      0,   0  },
    {NULL,      0,   0  },
    {NULL,      0,   0  },
    {"MXFP4",   32,  17 },
};

typedef struct cursor {
    const uint8_t *start, *at, *end;
    const char *file;
    weft_arena *arena;
} cursor;

static weft_status fail(const cursor *c, const char *what)
{
    return weft_fail(WEFT_E_INPUT, "%s: byte %zu: %s", c->file, (size_t)(c->at - c->start), what);
}

/* An unsigned number of n bytes. */
static weft_status take(cursor *c, size_t n, uint64_t *out)
{
    *out = 0;
    if ((size_t)(c->end - c->at) < n)
        return fail(c, "the file ends within the head of a GGUF file");
    for (size_t i = 0; i < n; i++)
        *out |= (uint64_t)c->at[i] << (8 * i);
    c->at += n;
    return WEFT_OK;
}

static weft_status skip(cursor *c, uint64_t n)
{
    if ((uint64_t)(c->end - c->at) < n)
        return fail(c, "the file ends within the head of a GGUF file");
    c->at += n;
    return WEFT_OK;
}

/* The bytes of a text, in place. */
static weft_status take_bytes(cursor *c, const char **text, uint64_t *n)
{
    WEFT_TRY(take(c, 8, n));
    *text = (const char *)c->at;
    return skip(c, *n);
}

static weft_status take_name(cursor *c, const char **out)
{
    const char *text;
    uint64_t n;

    WEFT_TRY(take_bytes(c, &text, &n));
    if (n == 0 || n > MOST_KEY || memchr(text, '\0', (size_t)n))
        return fail(c, "a name before this is empty, longer than 256 bytes, or has a zero in it");
    *out = weft_arena_text(c->arena, text, (size_t)n);
    return WEFT_OK;
}

static weft_status take_kind(cursor *c, uint64_t *out)
{
    WEFT_TRY(take(c, 4, out));
    return *out < N_KINDS ? WEFT_OK : fail(c, "the type of a value before this is none of GGUF");
}

/* --- pairs ----------------------------------------------------------------------------------- */

static double real_of(uint64_t bits, size_t bytes)
{
    double wide;
    float narrow;
    uint32_t low = (uint32_t)bits;

    memcpy(&wide, &bits, sizeof wide);
    memcpy(&narrow, &low, sizeof narrow);
    return bytes == sizeof narrow ? (double)narrow : wide;
}

static int64_t integer_of(uint64_t bits, uint64_t kind)
{
    switch (kind) {
    case I8:
        return (int8_t)bits;
    case I16:
        return (int16_t)bits;
    case I32:
        return (int32_t)bits;
    default:
        return (int64_t)bits;
    }
}

static weft_status take_scalar(cursor *c, uint64_t kind, weft_doc **out)
{
    uint64_t bits;

    WEFT_TRY(take(c, kind_bytes[kind], &bits));
    if (kind == F32 || kind == F64)
        *out = weft_doc_new_real(c->arena, real_of(bits, kind_bytes[kind]));
    else if (kind == BOOL)
        *out = weft_doc_new_bool(c->arena, bits != 0);
    else if (kind == U64 && bits > INT64_MAX)
        return fail(c, "a number before this has more than 63 bits");
    else
        *out = weft_doc_new_int(c->arena, integer_of(bits, kind));
    return WEFT_OK;
}

/* Passes over the items of an array. */
static weft_status skip_items(cursor *c, uint64_t kind, uint64_t n)
{
    const char *text;
    uint64_t length;

    if (kind == ARRAY)
        return fail(c, "an array of arrays is not supported");
    if (kind != TEXT)
        return n <= (uint64_t)(c->end - c->at) ? skip(c, n * kind_bytes[kind])
                                               : fail(c, "an array is longer than the file");
    for (uint64_t i = 0; i < n; i++)
        WEFT_TRY(take_bytes(c, &text, &length));
    return WEFT_OK;
}

/* Of an array a list of its first item, or of none, whose `integer` is the length. */
static weft_status take_array(cursor *c, weft_doc **out)
{
    uint64_t kind, n;

    WEFT_TRY(take_kind(c, &kind));
    WEFT_TRY(take(c, 8, &n));
    WEFT_TRY(skip_items(c, kind, n));
    *out = weft_doc_new(c->arena, WEFT_DOC_LIST);
    (*out)->integer = (int64_t)(n & INT64_MAX);
    return WEFT_OK;
}

static weft_status take_value(cursor *c, weft_doc **out)
{
    const char *text;
    uint64_t kind, n;

    WEFT_TRY(take_kind(c, &kind));
    if (kind == ARRAY)
        return take_array(c, out);
    if (kind != TEXT)
        return take_scalar(c, kind, out);
    WEFT_TRY(take_bytes(c, &text, &n));
    *out = weft_doc_new_text(c->arena, weft_arena_text(c->arena, text, (size_t)n));
    return WEFT_OK;
}

static weft_status take_pairs(cursor *c, uint64_t n, const weft_doc **out)
{
    weft_doc *map = weft_doc_new(c->arena, WEFT_DOC_MAP);

    if (n > MOST_PAIRS)
        return fail(c, "there are more than 4096 pairs");
    map->file = c->file;
    for (uint64_t i = 0; i < n; i++) {
        const char *key = NULL;
        weft_doc *value = NULL;

        WEFT_TRY(take_name(c, &key));
        if (weft_doc_get(map, key))
            return weft_fail(WEFT_E_INPUT, "%s: two values of '%.80s'", c->file, key);
        WEFT_TRY(take_value(c, &value));
        value->file = c->file;
        weft_doc_put(c->arena, map, key, value);
    }
    *out = map;
    return WEFT_OK;
}

/* --- tensors --------------------------------------------------------------------------------- */

static weft_status take_elements(cursor *c, int64_t *out)
{
    uint64_t n_dims, size;

    *out = 1;
    WEFT_TRY(take(c, 4, &n_dims));
    if (n_dims > MOST_DIMS)
        return fail(c, "a tensor has more than four dimensions");
    for (uint64_t i = 0; i < n_dims; i++) {
        WEFT_TRY(take(c, 8, &size));
        if (size == 0 || size > (uint64_t)(INT64_MAX / 512) / (uint64_t)*out)
            return fail(c, "a dimension of a tensor is zero or too large");
        *out *= (int64_t)size;
    }
    return WEFT_OK;
}

static weft_status take_tensor(cursor *c, weft_gguf_tensor *out)
{
    uint64_t type, offset;
    int block;

    WEFT_TRY(take_name(c, &out->name));
    WEFT_TRY(take_elements(c, &out->elements));
    WEFT_TRY(take(c, 4, &type));
    WEFT_TRY(take(c, 8, &offset));
    if (type >= sizeof element_types / sizeof *element_types || !element_types[type].name)
        return weft_fail(WEFT_E_INPUT,
                         "%s: tensor '%.80s' has the element type %llu, which is unknown", c->file,
                         out->name, (unsigned long long)type);
    block = element_types[type].elements;
    out->type = element_types[type].name;
    if (out->elements % block != 0)
        return weft_fail(WEFT_E_INPUT,
                         "%s: tensor '%.80s' has %lld elements, no multiple of %d (%s)", c->file,
                         out->name, (long long)out->elements, block, out->type);
    out->bytes = out->elements / block * element_types[type].bytes;
    return WEFT_OK;
}

static weft_status take_tensors(cursor *c, uint64_t n, weft_gguf *out)
{
    weft_gguf_tensor *tensor;

    if (n > (uint64_t)(c->end - c->at) / LEAST_TENSOR)
        return fail(c, "there are more tensors than the file has room for");
    tensor = WEFT_NEW(c->arena, weft_gguf_tensor, (int)n + 1);
    for (uint64_t i = 0; i < n; i++)
        WEFT_TRY(take_tensor(c, &tensor[i]));
    out->n_tensors = (int)n;
    out->tensor = tensor;
    return WEFT_OK;
}

weft_status weft_gguf_read(const void *data, size_t size, const char *file, weft_arena *a,
                           weft_gguf *out)
{
    cursor c = {data, data, (const uint8_t *)data + size, file, a};
    uint64_t version, n_tensors, n_pairs;

    *out = (weft_gguf){NULL, 0, NULL};
    if (size < 4 || memcmp(data, "GGUF", 4) != 0)
        return weft_fail(WEFT_E_INPUT, "%s: is no GGUF file: it does not begin with 'GGUF'", file);
    c.at += 4;
    WEFT_TRY(take(&c, 4, &version));
    if (version != 2 && version != 3)
        return weft_fail(WEFT_E_INPUT, "%s: GGUF version %llu, expected 2 or 3", file,
                         (unsigned long long)version);
    WEFT_TRY(take(&c, 8, &n_tensors));
    WEFT_TRY(take(&c, 8, &n_pairs));
    WEFT_TRY(take_pairs(&c, n_pairs, &out->pairs));
    return take_tensors(&c, n_tensors, out);
}

const weft_gguf_tensor *weft_gguf_find(const weft_gguf *g, const char *name)
{
    for (int i = 0; i < g->n_tensors; i++)
        if (strcmp(g->tensor[i].name, name) == 0)
            return &g->tensor[i];
    return NULL;
}
