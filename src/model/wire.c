/* SPDX-License-Identifier: MIT */
/* wire.c: protobuf's wire format, without protobuf.
 *
 * A message is a row of fields: a varint tag (number * 8 + type), then a varint, 4 bytes, 8 bytes,
 * or a varint length and that many bytes. The reader is a pair of pointers into the caller's bytes:
 * it compares each length with what is left, never allocates, never recurses, and steps over a
 * body without touching it, so a file of weights costs the pages of its headers only.
 *
 * Why not protobuf-c: measured on Debian 12 with protobuf-c 1.4.1, it copies every weight (1.08 GB
 * and 410 ms for a VGG16 with its weights), fails past 2 GiB and recurses without limit, so a few
 * kilobytes of nested messages end the process.
 *
 * The writer appends to one buffer. A nested message gets one byte for its length; if that turns
 * out too small its body is moved up when it ends. A writer without arena measures: it counts
 * bytes and stores none, so that a second run finds room for exactly what it writes. */
#include "wire.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

enum { MOST_FIELD_NUMBER = (1 << 29) - 1, FIRST_ROOM = 256, VARINT_BYTES = 10 };

/* --- reading --------------------------------------------------------------------------------- */

static size_t offset_of(const weft_wire *w, const uint8_t *at)
{
    return (size_t)(at - w->start);
}

weft_status weft_wire_varint(weft_wire *w, uint64_t *out)
{
    const uint8_t *from = w->at;
    uint64_t value = 0;

    for (int shift = 0; shift < 7 * VARINT_BYTES; shift += 7) {
        uint8_t byte;

        if (w->at == w->end)
            return weft_fail(WEFT_E_INPUT, "byte %zu: a number is cut off: is the file complete?",
                             offset_of(w, from));
        byte = *w->at++;
        if (shift == 63 && byte > 1)
            break;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *out = value;
            return WEFT_OK;
        }
    }
    return weft_fail(WEFT_E_INPUT, "byte %zu: a number has more than 64 bits", offset_of(w, from));
}

/* Little-endian, whatever this machine is. */
static weft_status take_fixed(weft_wire *w, int n_bytes, uint64_t *out)
{
    if (w->end - w->at < n_bytes)
        return weft_fail(WEFT_E_INPUT,
                         "byte %zu: a number of %d bytes is cut off: is the file complete?",
                         offset_of(w, w->at), n_bytes);
    *out = 0;
    for (int i = 0; i < n_bytes; i++)
        *out |= (uint64_t)*w->at++ << 8 * i;
    return WEFT_OK;
}

static weft_status take_body(weft_wire *w, weft_wire_field *field)
{
    const uint8_t *from = w->at;
    uint64_t length;

    WEFT_TRY(weft_wire_varint(w, &length));
    if (length > (uint64_t)(w->end - w->at))
        return weft_fail(WEFT_E_INPUT,
                         "byte %zu: field %d announces %llu bytes, but only %zu are left: is the "
                         "file complete?",
                         offset_of(w, from), field->number, (unsigned long long)length,
                         (size_t)(w->end - w->at));
    field->body = (weft_wire){w->at, w->at + length, w->start};
    w->at += length;
    return WEFT_OK;
}

weft_status weft_wire_take(weft_wire *w, weft_wire_field *field)
{
    const uint8_t *from = w->at;
    uint64_t tag;

    WEFT_TRY(weft_wire_varint(w, &tag));
    if (tag >> 3 == 0 || tag >> 3 > MOST_FIELD_NUMBER)
        return weft_fail(WEFT_E_INPUT, "byte %zu: field number %llu, expected 1 to %d",
                         offset_of(w, from), (unsigned long long)(tag >> 3), MOST_FIELD_NUMBER);
    /* The body of a plain number is where it stands: messages take their offset from there. */
    *field = (weft_wire_field){(int)(tag >> 3), (weft_wire_type)(tag & 7), 0, *w};
    switch (field->type) {
    case WEFT_WIRE_VARINT:
        return weft_wire_varint(w, &field->value);
    case WEFT_WIRE_FIXED64:
        return take_fixed(w, 8, &field->value);
    case WEFT_WIRE_FIXED32:
        return take_fixed(w, 4, &field->value);
    case WEFT_WIRE_BYTES:
        return take_body(w, field);
    }
    return weft_fail(WEFT_E_INPUT, "byte %zu: field %d has encoding %d, expected 0, 1, 2 or 5",
                     offset_of(w, from), field->number, (int)(tag & 7));
}

/* --- typed fields ---------------------------------------------------------------------------- */

static size_t field_offset(const weft_wire_field *f)
{
    return offset_of(&f->body, f->body.at);
}

static weft_status need(const weft_wire_field *f, weft_wire_type type, const char *what)
{
    if (f->type == type)
        return WEFT_OK;
    return weft_fail(WEFT_E_INPUT, "byte %zu: field %d is not %s", field_offset(f), f->number,
                     what);
}

weft_status weft_wire_no_body(const weft_wire_field *field)
{
    return need(field, WEFT_WIRE_BYTES, "text, data or a group of fields");
}

weft_status weft_wire_list(const weft_wire_field *field, weft_wire *out)
{
    WEFT_TRY(need(field, WEFT_WIRE_BYTES, "a list of numbers"));
    *out = field->body;
    return WEFT_OK;
}

weft_status weft_wire_int(const weft_wire_field *field, int64_t *out)
{
    WEFT_TRY(need(field, WEFT_WIRE_VARINT, "an integer"));
    *out = (int64_t)field->value;
    return WEFT_OK;
}

static double float_of(uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float value;

    memcpy(&value, &low, sizeof value);
    return (double)value;
}

weft_status weft_wire_float(const weft_wire_field *field, double *out)
{
    WEFT_TRY(need(field, WEFT_WIRE_FIXED32, "a 32-bit float"));
    *out = float_of(field->value);
    return WEFT_OK;
}

/* Steps over a run of fields with one tag, bodies of less than 2^14 bytes, and counts them. */
static inline const uint8_t *count_run(const uint8_t *at, const uint8_t *end, int tag, int *count)
{
    int n_left = INT_MAX - *count, n = 0;

    while (end - at > 2 && at[0] == tag && n < n_left) {
        ptrdiff_t size = at[1] < 0x80 ? 2 + at[1] : 3 + ((at[1] & 0x7f) | at[2] << 7);

        if (size > end - at || (at[1] >= 0x80 && at[2] >= 0x80))
            break;
        at += size;
        n++;
    }
    *count += n;
    return at;
}

/* The same for all fields with numbers below 16: no message has more than these where there are
 * many. */
static const uint8_t *count_usual(const uint8_t *at, const uint8_t *end,
                                  int count[WEFT_WIRE_COUNTED])
{
    const uint8_t *from = NULL;

    while (at != from && end - at > 2 && at[0] < 0x80 && at[0] >= 8 &&
           (at[0] & 7) == WEFT_WIRE_BYTES) {
        from = at;
        at = count_run(at, end, at[0], &count[at[0] >> 3]);
    }
    return at;
}

weft_status weft_wire_count(weft_wire w, int count[WEFT_WIRE_COUNTED])
{
    weft_wire_field f;

    memset(count, 0, WEFT_WIRE_COUNTED * sizeof *count);
    while (true) {
        w.at = count_usual(w.at, w.end, count);
        if (!weft_wire_more(&w))
            return WEFT_OK;
        WEFT_TRY(weft_wire_next(&w, &f));
        if (f.number >= WEFT_WIRE_COUNTED)
            continue;
        if (count[f.number] == INT_MAX)
            return weft_fail(WEFT_E_INPUT, "byte %zu: field %d occurs more than %d times",
                             field_offset(&f), f.number, INT_MAX);
        count[f.number]++;
    }
}

/* Values in the body of a packed field. */
static weft_status count_packed(const weft_wire_field *f, weft_wire_type type, size_t *n)
{
    size_t n_bytes = (size_t)(f->body.end - f->body.at);
    size_t unit = type == WEFT_WIRE_FIXED64 ? 8 : 4;
    weft_wire w = f->body;
    uint64_t value;

    *n = 0;
    if (type == WEFT_WIRE_VARINT) {
        for (; w.at < w.end; (*n)++)
            WEFT_TRY(weft_wire_varint(&w, &value));
        return WEFT_OK;
    }
    if (n_bytes % unit != 0)
        return weft_fail(WEFT_E_INPUT,
                         "byte %zu: field %d has %zu bytes, expected a multiple of %zu",
                         field_offset(f), f->number, n_bytes, unit);
    *n = n_bytes / unit;
    return WEFT_OK;
}

weft_status weft_wire_count_values(const weft_wire_field *field, weft_wire_type type, int *n)
{
    size_t more = 1;

    if (field->type != type) {
        WEFT_TRY(need(field, WEFT_WIRE_BYTES, "a list of numbers"));
        WEFT_TRY(count_packed(field, type, &more));
    }
    if (more > (size_t)(INT_MAX - *n))
        return weft_fail(WEFT_E_INPUT, "byte %zu: field %d has more than %d values",
                         field_offset(field), field->number, INT_MAX);
    *n += (int)more;
    return WEFT_OK;
}

/* Values in all occurrences of field `number`. */
static weft_status count_list(weft_wire w, int number, weft_wire_type type, int *n)
{
    weft_wire_field f;

    *n = 0;
    while (weft_wire_more(&w)) {
        WEFT_TRY(weft_wire_next(&w, &f));
        if (f.number == number)
            WEFT_TRY(weft_wire_count_values(&f, type, n));
    }
    return WEFT_OK;
}

/* Where values go: one of the two. */
typedef struct value_list {
    int64_t *ints;
    double *floats;
} value_list;

static void put_value(value_list *to, uint64_t value)
{
    if (to->ints)
        *to->ints++ = (int64_t)value;
    else
        *to->floats++ = float_of(value);
}

static weft_status take_values(weft_wire w, int number, weft_wire_type type, value_list to)
{
    weft_wire_field f;

    while (weft_wire_more(&w)) {
        WEFT_TRY(weft_wire_next(&w, &f));
        if (f.number != number)
            continue;
        if (f.type == type)
            put_value(&to, f.value);
        while (f.type == WEFT_WIRE_BYTES && weft_wire_more(&f.body)) {
            WEFT_TRY(type == WEFT_WIRE_VARINT ? weft_wire_varint(&f.body, &f.value)
                                              : take_fixed(&f.body, 4, &f.value));
            put_value(&to, f.value);
        }
    }
    return WEFT_OK;
}

weft_status weft_wire_ints(weft_wire w, int number, weft_arena *a, const int64_t **out, int *n)
{
    int64_t *to;

    WEFT_TRY(count_list(w, number, WEFT_WIRE_VARINT, n));
    *out = to = WEFT_NEW(a, int64_t, *n);
    return take_values(w, number, WEFT_WIRE_VARINT, (value_list){.ints = to});
}

weft_status weft_wire_floats(weft_wire w, int number, weft_arena *a, const double **out, int *n)
{
    double *to;

    WEFT_TRY(count_list(w, number, WEFT_WIRE_FIXED32, n));
    *out = to = WEFT_NEW(a, double, *n);
    return take_values(w, number, WEFT_WIRE_FIXED32, (value_list){.floats = to});
}

/* --- writing --------------------------------------------------------------------------------- */

/* Room for n more bytes, already counted; NULL while measuring. */
static uint8_t *extend(weft_wire_out *o, size_t n)
{
    size_t from = o->n;

    assert(n <= SIZE_MAX / 2 - from);
    o->n += n;
    if (o->arena == NULL)
        return NULL;
    if (o->n > o->room) {
        uint8_t *old = o->at;

        o->room = o->n > 2 * o->room ? o->n : 2 * o->room;
        if (o->room < FIRST_ROOM)
            o->room = FIRST_ROOM;
        o->at = weft_arena_alloc(o->arena, o->room);
        if (from > 0)
            memcpy(o->at, old, from);
    }
    return o->at + from;
}

static void append(weft_wire_out *o, const void *data, size_t n)
{
    uint8_t *to = extend(o, n);

    if (to && n > 0)
        memcpy(to, data, n);
}

/* Encodes a varint and returns its length. */
static size_t encode(uint64_t value, uint8_t to[VARINT_BYTES])
{
    size_t n = 0;

    for (; value >= 0x80; value >>= 7)
        to[n++] = (uint8_t)(value | 0x80);
    to[n++] = (uint8_t)value;
    return n;
}

static void append_varint(weft_wire_out *o, uint64_t value)
{
    uint8_t bytes[VARINT_BYTES];

    append(o, bytes, encode(value, bytes));
}

/* Field 0 does not exist: it asks for a value without tag, as packed fields hold them. */
static void append_tag(weft_wire_out *o, int field, weft_wire_type type)
{
    assert(field >= 0 && field <= MOST_FIELD_NUMBER);
    if (field > 0)
        append_varint(o, (uint64_t)field << 3 | (uint64_t)type);
}

static void append_fixed(weft_wire_out *o, uint64_t bits, int n_bytes)
{
    uint8_t bytes[8];

    for (int i = 0; i < n_bytes; i++)
        bytes[i] = (uint8_t)(bits >> 8 * i);
    append(o, bytes, (size_t)n_bytes);
}

void weft_wire_put_varint(weft_wire_out *o, int field, uint64_t value)
{
    append_tag(o, field, WEFT_WIRE_VARINT);
    append_varint(o, value);
}

void weft_wire_put_float(weft_wire_out *o, int field, float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    append_tag(o, field, WEFT_WIRE_FIXED32);
    append_fixed(o, bits, 4);
}

void weft_wire_put_double(weft_wire_out *o, int field, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    append_tag(o, field, WEFT_WIRE_FIXED64);
    append_fixed(o, bits, 8);
}

void weft_wire_put_bytes(weft_wire_out *o, int field, const void *data, size_t n)
{
    append_tag(o, field, WEFT_WIRE_BYTES);
    append_varint(o, n);
    append(o, data, n);
}

size_t weft_wire_begin(weft_wire_out *o, int field)
{
    append_tag(o, field, WEFT_WIRE_BYTES);
    append_varint(o, 0); /* the length, known at the end */
    return o->n;
}

void weft_wire_end(weft_wire_out *o, size_t begin)
{
    uint8_t length[VARINT_BYTES];
    size_t n = o->n - begin;
    size_t extra = encode(n, length) - 1;

    extend(o, extra);
    if (o->at == NULL)
        return;
    memmove(o->at + begin + extra, o->at + begin, n);
    memcpy(o->at + begin - 1, length, extra + 1);
}
