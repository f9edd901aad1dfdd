/* SPDX-License-Identifier: MIT */
/* onnx_literal.c: tensors: their fields, and the elements of small ones as int64 or double.
 *
 * Reading keeps slices and counts. Dims and type say how many bytes or values there must be;
 * anything else is an error. raw_data and packed floats are not touched, whatever their size;
 * packed integers are looked at once, to count them.
 *
 * Decoding, on demand:
 * 1. The bytes come from raw_data, from a range of an external file, or from the typed fields,
 *    which are first brought into the form of raw_data (little-endian, 4-bit types two in a byte).
 * 2. One decoder turns bytes into integers or reals. Every floating type is its row of `formats`:
 *    (-1)^s * (1.m) * 2^(e - bias), exact in a double.
 *
 * External files are looked for in the folder of the model and below it, nowhere else, links
 * followed: a model from a stranger must not make weft read, and show, the files of others. */
#define _XOPEN_SOURCE 700 /* realpath */
#include "onnx_fields.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- types ----------------------------------------------------------------------------------- */

typedef enum kind { KIND_NONE, KIND_SIGNED, KIND_UNSIGNED, KIND_BOOL, KIND_REAL } kind;

/* What a floating type does with its extreme exponents. */
typedef enum special {
    SPECIAL_IEEE, /* highest exponent: infinity and NaN */
    SPECIAL_FN,   /* finite: NaN is all ones */
    SPECIAL_FNUZ, /* finite, one zero: NaN is what would be -0 */
} special;

typedef struct format {
    weft_dtype type; /* its own index */
    kind kind;
    int field; /* of TensorProto, for data that are not raw */
    int exponent_bits, mantissa_bits, bias;
    special special;
} format;

/* IEEE 754; ONNX technical note on float8 (Micikevicius et al. 2022, Noune et al. 2022). */
static const format formats[WEFT_N_DTYPES] = {
    {WEFT_TYPE_UNKNOWN, KIND_NONE,     0,                   0,  0,  0,    SPECIAL_IEEE},
    {WEFT_F32,          KIND_REAL,     ONNX_TENSOR_FLOATS,  8,  23, 127,  SPECIAL_IEEE},
    {WEFT_U8,           KIND_UNSIGNED, ONNX_TENSOR_INT32S,  0,  0,  0,    SPECIAL_IEEE},
    {WEFT_I8,           KIND_SIGNED,   ONNX_TENSOR_INT32S,  0,  0,  0,    SPECIAL_IEEE},
    {WEFT_U16,          KIND_UNSIGNED, ONNX_TENSOR_INT32S,  0,  0,  0,    SPECIAL_IEEE},
    {WEFT_I16,          KIND_SIGNED,   ONNX_TENSOR_INT32S,  0,  0,  0,    SPECIAL_IEEE},
    {WEFT_I32,          KIND_SIGNED,   ONNX_TENSOR_INT32S,  0,  0,  0,    SPECIAL_IEEE},
    {WEFT_I64,          KIND_SIGNED,   ONNX_TENSOR_INT64S,  0,  0,  0,    SPECIAL_IEEE},
    {WEFT_STRING,       KIND_NONE,     ONNX_TENSOR_STRINGS, 0,  0,  0,    SPECIAL_IEEE},
    {WEFT_BOOL,         KIND_BOOL,     ONNX_TENSOR_INT32S,  0,  0,  0,    SPECIAL_IEEE},
    {WEFT_F16,          KIND_REAL,     ONNX_TENSOR_INT32S,  5,  10, 15,   SPECIAL_IEEE},
    {WEFT_F64,          KIND_REAL,     ONNX_TENSOR_DOUBLES, 11, 52, 1023, SPECIAL_IEEE},
    {WEFT_U32,          KIND_UNSIGNED, ONNX_TENSOR_UINT64S, 0,  0,  0,    SPECIAL_IEEE},
    {WEFT_U64,          KIND_UNSIGNED, ONNX_TENSOR_UINT64S, 0,  0,  0,    SPECIAL_IEEE},
    {WEFT_C64,          KIND_NONE,     ONNX_TENSOR_FLOATS,  0,  0,  0,    SPECIAL_IEEE},
    {WEFT_C128,         KIND_NONE,     ONNX_TENSOR_DOUBLES, 0,  0,  0,    SPECIAL_IEEE},
    {WEFT_BF16,         KIND_REAL,     ONNX_TENSOR_INT32S,  8,  7,  127,  SPECIAL_IEEE},
    {WEFT_F8E4M3FN,     KIND_REAL,     ONNX_TENSOR_INT32S,  4,  3,  7,    SPECIAL_FN  },
    {WEFT_F8E4M3FNUZ,   KIND_REAL,     ONNX_TENSOR_INT32S,  4,  3,  8,    SPECIAL_FNUZ},
    {WEFT_F8E5M2,       KIND_REAL,     ONNX_TENSOR_INT32S,  5,  2,  15,   SPECIAL_IEEE},
    {WEFT_F8E5M2FNUZ,   KIND_REAL,     ONNX_TENSOR_INT32S,  5,  2,  16,   SPECIAL_FNUZ},
    {WEFT_U4,           KIND_UNSIGNED, ONNX_TENSOR_INT32S,  0,  0,  0,    SPECIAL_IEEE},
    {WEFT_I4,           KIND_SIGNED,   ONNX_TENSOR_INT32S,  0,  0,  0,    SPECIAL_IEEE},
};

/* 0 for strings and for types that are not known here: these are never measured or decoded. */
static int bits_of(int data_type)
{
    if (data_type <= 0 || data_type >= WEFT_N_DTYPES)
        return 0;
    return weft_dtype_bits((weft_dtype)data_type);
}

/* --- sizes ----------------------------------------------------------------------------------- */

/* Beyond this the number of bits of a tensor would not fit 63 bits. */
static const int64_t most_elements = INT64_MAX / 128;

const char *weft_onnx_show(weft_slice name, char to[WEFT_ONNX_SHOWN_BYTES])
{
    size_t n = name.n < WEFT_ONNX_SHOWN_BYTES ? name.n : WEFT_ONNX_SHOWN_BYTES - 1;

    if (n > 0)
        memcpy(to, name.at, n);
    to[n] = '\0';
    return to;
}

static weft_status count_elements(const weft_onnx_tensor *t, int64_t *out)
{
    char name[WEFT_ONNX_SHOWN_BYTES];
    bool is_empty = false, overflows = false;

    *out = 1;
    for (int i = 0; i < t->n_dims; i++) {
        if (t->dim[i] < 0)
            return weft_fail(WEFT_E_INPUT,
                             "tensor '%s': dimension %d is %lld, must not be negative",
                             weft_onnx_show(t->name, name), i, (long long)t->dim[i]);
        is_empty = is_empty || t->dim[i] == 0;
        overflows = overflows || __builtin_mul_overflow(*out, t->dim[i], out);
    }
    if (is_empty)
        *out = 0;
    else if (overflows || *out > most_elements)
        return weft_fail(WEFT_E_INPUT, "tensor '%s': its dimensions multiply to more than 2^56",
                         weft_onnx_show(t->name, name));
    return WEFT_OK;
}

static int64_t bytes_of(int64_t elements, int bits)
{
    return (elements * bits + 7) / 8;
}

/* Entries of the typed field: complex numbers take two each, 4-bit types share one. */
static int64_t values_of(int64_t elements, int data_type)
{
    if (data_type == WEFT_C64 || data_type == WEFT_C128)
        return 2 * elements;
    return bits_of(data_type) == 4 ? (elements + 1) / 2 : elements;
}

/* Bytes of such an entry in raw_data. */
static int unit_bytes(int data_type)
{
    int bits = bits_of(data_type);

    if (data_type == WEFT_C64 || data_type == WEFT_C128)
        return bits / 16;
    return (bits + 7) / 8;
}

static int values_in(const weft_onnx_tensor *t, int field)
{
    switch (field) {
    case ONNX_TENSOR_FLOATS:
        return t->n_floats;
    case ONNX_TENSOR_INT32S:
        return t->n_int32s;
    case ONNX_TENSOR_INT64S:
        return t->n_int64s;
    case ONNX_TENSOR_DOUBLES:
        return t->n_doubles;
    case ONNX_TENSOR_UINT64S:
        return t->n_uint64s;
    default:
        return 0;
    }
}

static weft_status check_bytes(const weft_onnx_tensor *t, uint64_t found, int64_t expected)
{
    char name[WEFT_ONNX_SHOWN_BYTES];

    if (found == (uint64_t)expected)
        return WEFT_OK;
    return weft_fail(WEFT_E_INPUT,
                     "tensor '%s': its data have %llu bytes, its type and dimensions ask for %lld",
                     weft_onnx_show(t->name, name), (unsigned long long)found, (long long)expected);
}

static weft_status check_values(const weft_onnx_tensor *t, int64_t elements)
{
    char name[WEFT_ONNX_SHOWN_BYTES];
    int64_t expected = values_of(elements, t->data_type);
    int found = values_in(t, formats[t->data_type].field);
    int bytes = unit_bytes(t->data_type);

    if (found == expected)
        return WEFT_OK;
    return weft_fail(WEFT_E_INPUT,
                     "tensor '%s': its data have %lld bytes (%d values), its type and dimensions "
                     "ask for %lld (%lld values)",
                     weft_onnx_show(t->name, name), (long long)found * bytes, found,
                     (long long)expected * bytes, (long long)expected);
}

static weft_status check_tensor(const weft_onnx_tensor *t)
{
    int bits = bits_of(t->data_type);

    if (bits == 0 || !t->has_data || t->is_external)
        return WEFT_OK;
    if (t->raw.n > 0)
        return check_bytes(t, t->raw.n, bytes_of(t->n_elements, bits));
    return check_values(t, t->n_elements);
}

/* --- fields ---------------------------------------------------------------------------------- */

static bool is_text(weft_slice s, const char *text)
{
    return s.n == strlen(text) && memcmp(s.at, text, s.n) == 0;
}

/* A decimal number; false if it is anything else or too large. */
static bool parse_size(weft_slice s, int64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < s.n; i++)
        if (s.at[i] < '0' || s.at[i] > '9' || __builtin_mul_overflow(*out, 10, out) ||
            __builtin_add_overflow(*out, s.at[i] - '0', out))
            return false;
    return s.n > 0;
}

static weft_status take_external(const weft_onnx_entry *e, weft_onnx_tensor *out)
{
    char value[WEFT_ONNX_SHOWN_BYTES], key[WEFT_ONNX_SHOWN_BYTES], name[WEFT_ONNX_SHOWN_BYTES];
    bool is_offset = is_text(e->key, "offset"), is_length = is_text(e->key, "length");

    if (is_text(e->key, "location")) {
        if (e->value.n > 0 && memchr(e->value.at, '\0', e->value.n))
            return weft_fail(WEFT_E_INPUT, "tensor '%s': the external location has a NUL byte",
                             weft_onnx_show(out->name, name));
        out->location = e->value;
    } else if ((is_offset && !parse_size(e->value, &out->external_offset)) ||
               (is_length && !parse_size(e->value, &out->external_length))) {
        return weft_fail(WEFT_E_INPUT,
                         "tensor '%s': external %s is '%s', expected a number of bytes",
                         weft_onnx_show(out->name, name), weft_onnx_show(e->key, key),
                         weft_onnx_show(e->value, value));
    }
    return WEFT_OK;
}

/* After all other fields, so that messages can name the tensor. */
static weft_status read_external(weft_wire w, weft_onnx_tensor *out)
{
    weft_wire_field f;

    while (weft_wire_more(&w)) {
        weft_onnx_entry entry = {
            {NULL, 0},
            {NULL, 0}
        };

        WEFT_TRY(weft_wire_next(&w, &f));
        if (f.number != ONNX_TENSOR_EXTERNAL)
            continue;
        WEFT_TRY(weft_onnx_field_entry(&f, &entry));
        WEFT_TRY(take_external(&entry, out));
    }
    return WEFT_OK;
}

static weft_status count_chunk(const weft_wire_field *f, weft_onnx_tensor *out)
{
    weft_wire body;

    switch (f->number) {
    case ONNX_TENSOR_FLOATS:
        return weft_wire_count_values(f, WEFT_WIRE_FIXED32, &out->n_floats);
    case ONNX_TENSOR_DOUBLES:
        return weft_wire_count_values(f, WEFT_WIRE_FIXED64, &out->n_doubles);
    case ONNX_TENSOR_INT32S:
        return weft_wire_count_values(f, WEFT_WIRE_VARINT, &out->n_int32s);
    case ONNX_TENSOR_INT64S:
        return weft_wire_count_values(f, WEFT_WIRE_VARINT, &out->n_int64s);
    case ONNX_TENSOR_UINT64S:
        return weft_wire_count_values(f, WEFT_WIRE_VARINT, &out->n_uint64s);
    default:
        out->n_strings++;
        return weft_wire_body(f, &body);
    }
}

/* What a tensor has any number of. */
typedef struct tensor_parts {
    weft_arena *arena;
    WEFT_VEC(weft_onnx_chunk) chunk;
    WEFT_VEC(int64_t) dim;
    bool has_external;
} tensor_parts;

enum {
    MOST_PARTS = INT_MAX / 4, /* of a tensor: fields of data, dimensions */
    MOST_REST = 64,           /* bytes that are compared with those of another tensor */
    NAME_TAG = ONNX_TENSOR_NAME << 3 | WEFT_WIRE_BYTES,
};

static weft_status too_many(const weft_wire_field *f, const char *what)
{
    return weft_fail(WEFT_E_INPUT, "byte %zu: a tensor with more than %d %s",
                     (size_t)(f->body.at - f->body.start), MOST_PARTS, what);
}

static weft_status read_chunk(const weft_wire_field *f, weft_onnx_tensor *out, tensor_parts *parts)
{
    bool is_body = f->type == WEFT_WIRE_BYTES;
    weft_onnx_chunk chunk = {.field = f->number,
                             .is_packed = is_body && f->number != ONNX_TENSOR_STRINGS,
                             .single = f->value};

    if (parts->chunk.n == MOST_PARTS)
        return too_many(f, "fields of data");
    WEFT_TRY(count_chunk(f, out));
    if (is_body)
        chunk.body = (weft_slice){(const char *)f->body.at, (size_t)(f->body.end - f->body.at)};
    WEFT_PUSH(parts->arena, parts->chunk, chunk);
    return WEFT_OK;
}

/* Dimensions, packed or single. */
static weft_status read_dims(const weft_wire_field *f, tensor_parts *parts)
{
    weft_wire w;
    uint64_t value;

    if (f->type == WEFT_WIRE_VARINT && parts->dim.n < MOST_PARTS) {
        WEFT_PUSH(parts->arena, parts->dim, (int64_t)f->value);
        return WEFT_OK;
    }
    WEFT_TRY(weft_wire_list(f, &w));
    while (w.at < w.end && parts->dim.n < MOST_PARTS) {
        WEFT_TRY(weft_wire_varint(&w, &value));
        WEFT_PUSH(parts->arena, parts->dim, (int64_t)value);
    }
    return w.at < w.end || f->type == WEFT_WIRE_VARINT ? too_many(f, "dimensions") : WEFT_OK;
}

static weft_status tensor_field(const weft_wire_field *f, weft_onnx_tensor *out,
                                tensor_parts *parts)
{
    int location;

    switch (f->number) {
    case ONNX_TENSOR_DIMS:
        return read_dims(f, parts);
    case ONNX_TENSOR_DATA_TYPE:
        return weft_onnx_field_int32(f, &out->data_type);
    case ONNX_TENSOR_NAME:
        return weft_onnx_field_text(f, &out->name);
    case ONNX_TENSOR_RAW:
        return weft_onnx_field_bytes(f, &out->raw);
    case ONNX_TENSOR_DOC:
        return weft_onnx_field_bytes(f, &out->doc);
    case ONNX_TENSOR_DATA_LOCATION:
        WEFT_TRY(weft_onnx_field_int32(f, &location));
        out->is_external = location == ONNX_LOCATION_EXTERNAL;
        return WEFT_OK;
    case ONNX_TENSOR_EXTERNAL:
        parts->has_external = true;
        return WEFT_OK;
    case ONNX_TENSOR_FLOATS:
    case ONNX_TENSOR_INT32S:
    case ONNX_TENSOR_STRINGS:
    case ONNX_TENSOR_INT64S:
    case ONNX_TENSOR_DOUBLES:
    case ONNX_TENSOR_UINT64S:
        return read_chunk(f, out, parts);
    default:
        return WEFT_OK;
    }
}

/* An empty data field is no data: writers without presence cannot tell them apart. */
static bool has_data(const weft_onnx_tensor *t)
{
    return t->raw.n > 0 || t->n_floats > 0 || t->n_int32s > 0 || t->n_int64s > 0 ||
           t->n_doubles > 0 || t->n_uint64s > 0 || t->n_strings > 0;
}

/* How many bytes come before the name and after it, if these are few. */
static void measure_rest(weft_wire w, weft_onnx_tensor *t)
{
    const uint8_t *name = (const uint8_t *)t->name.at;
    ptrdiff_t n_head = name ? name - 2 - w.at : 0, n_tail = name ? w.end - name : 0;

    n_tail -= (ptrdiff_t)t->name.n;
    if (n_head <= 0 || n_head > MOST_REST || n_tail > MOST_REST || name[-2] != NAME_TAG ||
        name[-1] != t->name.n)
        return;
    t->n_head = (uint8_t)n_head;
    t->n_tail = (uint8_t)n_tail;
}

bool weft_onnx_tensor_like(weft_wire w, const weft_onnx_tensor *like, weft_onnx_tensor *out)
{
    size_t n_head = like->n_head, n_tail = like->n_tail;
    ptrdiff_t n_name = w.end - w.at - (ptrdiff_t)(n_head + 2 + n_tail);
    const uint8_t *name;

    if (n_head == 0 || n_name <= 0 || n_name >= 0x80)
        return false;
    name = w.at + n_head + 2;
    if (name[-2] != NAME_TAG || name[-1] != n_name ||
        memcmp(w.at, like->name.at - 2 - n_head, n_head) != 0 ||
        memcmp(name + n_name, like->name.at + like->name.n, n_tail) != 0 ||
        memchr(name, '\0', (size_t)n_name))
        return false;
    *out = *like;
    out->name = (weft_slice){(const char *)name, (size_t)n_name};
    return true;
}

weft_status weft_onnx_tensor_read(weft_wire w, weft_arena *a, weft_onnx_tensor *out)
{
    tensor_parts parts = {.arena = a};
    weft_wire whole = w;
    weft_wire_field f;

    *out = (weft_onnx_tensor){.external_offset = -1, .external_length = -1, .like = -1};
    while (weft_wire_more(&w)) {
        WEFT_TRY(weft_wire_next(&w, &f));
        WEFT_TRY(tensor_field(&f, out, &parts));
    }
    out->dim = parts.dim.at;
    out->n_dims = parts.dim.n;
    out->chunk = parts.chunk.at;
    out->n_chunks = parts.chunk.n;
    if (parts.has_external)
        WEFT_TRY(read_external(whole, out));
    out->has_data = has_data(out);
    measure_rest(whole, out);
    WEFT_TRY(count_elements(out, &out->n_elements));
    return check_tensor(out);
}

/* --- where the bytes are --------------------------------------------------------------------- */

static void store(uint8_t *to, uint64_t value, int n_bytes)
{
    for (int i = 0; i < n_bytes; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

/* Appends the values of a packed field at *to. The reader has checked that they are whole. */
static weft_status store_packed(const weft_onnx_chunk *chunk, int unit, uint8_t **to)
{
    const uint8_t *body = (const uint8_t *)chunk->body.at;
    weft_wire w = {body, body + chunk->body.n, body};

    if (chunk->field == ONNX_TENSOR_FLOATS || chunk->field == ONNX_TENSOR_DOUBLES) {
        memcpy(*to, body, chunk->body.n);
        *to += chunk->body.n;
        return WEFT_OK;
    }
    while (w.at < w.end) {
        uint64_t value;

        WEFT_TRY(weft_wire_varint(&w, &value));
        store(*to, value, unit);
        *to += unit;
    }
    return WEFT_OK;
}

/* The typed fields in the form of raw_data. */
static weft_status typed_bytes(const weft_onnx_tensor *t, weft_arena *scratch, weft_slice *out)
{
    int field = formats[t->data_type].field, unit = unit_bytes(t->data_type);
    size_t n_bytes = (size_t)values_in(t, field) * (size_t)unit;
    uint8_t *bytes = weft_arena_alloc(scratch, n_bytes), *to = bytes;

    for (int i = 0; i < t->n_chunks; i++) {
        const weft_onnx_chunk *chunk = &t->chunk[i];

        if (chunk->field != field || (chunk->is_packed && chunk->body.n == 0))
            continue;
        if (chunk->is_packed) {
            WEFT_TRY(store_packed(chunk, unit, &to));
        } else {
            store(to, chunk->single, unit);
            to += unit;
        }
    }
    *out = (weft_slice){(const char *)bytes, n_bytes};
    return WEFT_OK;
}

/* A path that cannot leave the folder of the model: relative and without "..". */
static bool stays_below(weft_slice path)
{
    size_t from = 0;

    if (path.n == 0 || path.at[0] == '/')
        return false;
    for (size_t i = 0; i <= path.n; i++) {
        if (i < path.n && path.at[i] != '/')
            continue;
        if (i - from == 2 && path.at[from] == '.' && path.at[from + 1] == '.')
            return false;
        from = i + 1;
    }
    return true;
}

/* With all links followed; NULL: errno says why. */
static const char *real_path(const char *path, weft_arena *a)
{
    char *real = realpath(path, NULL);
    const char *copy = real ? weft_arena_word(a, real) : NULL;

    free(real);
    return copy;
}

static bool is_below(const char *path, const char *folder)
{
    size_t n = strlen(folder);

    if (strcmp(folder, "/") == 0)
        return true;
    return strncmp(path, folder, n) == 0 && path[n] == '/';
}

static weft_status refuse_location(const weft_onnx_tensor *t)
{
    char name[WEFT_ONNX_SHOWN_BYTES], location[WEFT_ONNX_SHOWN_BYTES];

    return weft_fail(WEFT_E_INPUT,
                     "tensor '%s': external data in '%s', expected a file in the folder of the "
                     "model or below",
                     weft_onnx_show(t->name, name), weft_onnx_show(t->location, location));
}

/* Path of the external file, which no link may lead out of the folder of the model; NULL if it is
 * not there. */
static weft_status external_path(const weft_onnx *o, const weft_onnx_tensor *t, weft_arena *a,
                                 const char **out)
{
    const char *slash = strrchr(o->file, '/'), *path, *real;
    const char *folder = slash ? weft_arena_text(a, o->file, (size_t)(slash + 1 - o->file)) : "./";

    *out = NULL;
    if (!stays_below(t->location))
        return refuse_location(t);
    path = weft_arena_print(a, "%s%.*s", folder, (int)t->location.n, t->location.at);
    real = real_path(path, a);
    if (real == NULL && (errno == ENOENT || errno == ENOTDIR))
        return WEFT_OK;
    if (real == NULL)
        return weft_fail(WEFT_E_INPUT, "%s: cannot be opened: %s", path, strerror(errno));
    folder = real_path(folder, a);
    if (folder == NULL || !is_below(real, folder))
        return refuse_location(t);
    *out = real;
    return WEFT_OK;
}

/* Copies the tensor's range, `expected` bytes, out of the mapped file. */
static weft_status copy_range(const weft_onnx_tensor *t, const weft_file *f, int64_t expected,
                              weft_arena *scratch, weft_slice *out)
{
    char name[WEFT_ONNX_SHOWN_BYTES], location[WEFT_ONNX_SHOWN_BYTES];
    uint64_t offset = t->external_offset < 0 ? 0 : (uint64_t)t->external_offset;

    if (offset > f->size || (uint64_t)expected > f->size - offset)
        return weft_fail(
            WEFT_E_INPUT, "tensor '%s': needs %lld bytes from byte %llu of '%s', which has %zu",
            weft_onnx_show(t->name, name), (long long)expected, (unsigned long long)offset,
            weft_onnx_show(t->location, location), f->size);
    out->at = weft_arena_copy(scratch, f->data + offset, (size_t)expected);
    out->n = (size_t)expected;
    return WEFT_OK;
}

/* The bytes of a tensor in a file of its own; none if that file is not there. */
static weft_status external_bytes(const weft_onnx *o, const weft_onnx_tensor *t, int64_t expected,
                                  weft_arena *scratch, weft_slice *out)
{
    const char *path;
    weft_file f;
    weft_status status;

    if (o->mapping.data == NULL) /* read from memory: there is no folder to look in */
        return WEFT_OK;
    WEFT_TRY(external_path(o, t, scratch, &path));
    if (t->external_length >= 0)
        WEFT_TRY(check_bytes(t, (uint64_t)t->external_length, expected));
    if (path == NULL)
        return WEFT_OK;
    WEFT_TRY(weft_file_open(path, &f));
    status = copy_range(t, &f, expected, scratch, out);
    if (weft_file_check(&f) != WEFT_OK)
        status = WEFT_E_INPUT;
    weft_file_close(&f);
    return status;
}

/* --- decoding -------------------------------------------------------------------------------- */

static uint64_t low_bits(uint64_t value, int n)
{
    return n < 64 ? value & (((uint64_t)1 << n) - 1) : value;
}

static uint64_t bits_at(const uint8_t *raw, int i, int bits)
{
    uint64_t value = 0;

    if (bits == 4)
        return raw[i / 2] >> i % 2 * 4 & 15;
    for (int k = 0; k < bits / 8; k++)
        value |= (uint64_t)raw[(size_t)i * (size_t)(bits / 8) + (size_t)k] << 8 * k;
    return value;
}

/* Unsigned numbers beyond int64 are marked as unknown. INT64_MIN, which files use for "from the
 * very start" in Slice, would be mistaken for that mark: its neighbour means the same. */
static int64_t decode_int(const format *f, uint64_t value, int bits)
{
    uint64_t sign = (uint64_t)1 << (bits - 1);

    if (f->kind == KIND_BOOL)
        return value != 0;
    if (f->kind == KIND_UNSIGNED)
        return value > INT64_MAX ? WEFT_UNKNOWN_INT : (int64_t)value;
    if (!(value & sign))
        return (int64_t)value;
    if (low_bits(~value, bits) == INT64_MAX)
        return INT64_MIN + 1;
    return -(int64_t)low_bits(~value, bits) - 1;
}

static double decode_real(const format *f, uint64_t value)
{
    int width = f->exponent_bits + f->mantissa_bits;
    int exponent = (int)low_bits(value >> f->mantissa_bits, f->exponent_bits);
    int highest = (1 << f->exponent_bits) - 1;
    uint64_t mantissa = low_bits(value, f->mantissa_bits);
    double sign = value >> width & 1 ? -1.0 : 1.0;

    if (f->special == SPECIAL_IEEE && exponent == highest)
        return mantissa ? (double)NAN : sign * (double)INFINITY;
    if (f->special == SPECIAL_FN && low_bits(~value, width) == 0)
        return (double)NAN;
    if (f->special == SPECIAL_FNUZ && value == (uint64_t)1 << width)
        return (double)NAN;
    if (exponent == 0) /* subnormal: no leading one */
        return sign * ldexp((double)mantissa, 1 - f->bias - f->mantissa_bits);
    mantissa |= (uint64_t)1 << f->mantissa_bits;
    return sign * ldexp((double)mantissa, exponent - f->bias - f->mantissa_bits);
}

static const weft_literal *decode(int data_type, int n, const char *raw, weft_arena *a)
{
    const format *f = &formats[data_type];
    int bits = bits_of(data_type);
    weft_literal *literal = WEFT_NEW(a, weft_literal, 1);
    int64_t *ints = f->kind == KIND_REAL ? NULL : WEFT_NEW(a, int64_t, n);
    double *reals = f->kind == KIND_REAL ? WEFT_NEW(a, double, n) : NULL;

    for (int i = 0; i < n; i++) {
        uint64_t value = bits_at((const uint8_t *)raw, i, bits);

        if (reals)
            reals[i] = decode_real(f, value);
        else
            ints[i] = decode_int(f, value, bits);
    }
    *literal = (weft_literal){n, ints, reals};
    return literal;
}

/* Finds the bytes; out->at stays NULL if they are not to be had. */
static weft_status fetch(const weft_onnx *o, const weft_onnx_tensor *t, int64_t elements,
                         weft_arena *scratch, weft_slice *out)
{
    *out = (weft_slice){elements == 0 ? "" : NULL, 0};
    if (elements == 0)
        return WEFT_OK;
    if (t->is_external)
        return external_bytes(o, t, bytes_of(elements, bits_of(t->data_type)), scratch, out);
    if (!t->has_data)
        return WEFT_OK;
    if (t->raw.n == 0)
        return typed_bytes(t, scratch, out);
    *out = t->raw;
    return WEFT_OK;
}

weft_status weft_onnx_literal(const weft_onnx *o, const weft_onnx_tensor *t, int most,
                              weft_arena *a, const weft_literal **out)
{
    weft_arena *scratch;
    weft_slice raw;
    int64_t elements = t->n_elements;
    weft_status status;

    *out = NULL;
    if (elements > most || bits_of(t->data_type) == 0 || formats[t->data_type].kind == KIND_NONE)
        return WEFT_OK;
    scratch = weft_arena_new();
    status = fetch(o, t, elements, scratch, &raw);
    if (status == WEFT_OK && raw.at)
        *out = decode(t->data_type, (int)elements, raw.at, a);
    weft_arena_free(scratch);
    return status;
}
