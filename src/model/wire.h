/* SPDX-License-Identifier: MIT */
/* Protobuf's wire format, read in place and written to a growing buffer. */
#ifndef WEFT_WIRE_H
#define WEFT_WIRE_H

#include "base.h"

typedef enum weft_wire_type {
    WEFT_WIRE_VARINT = 0,
    WEFT_WIRE_FIXED64 = 1,
    WEFT_WIRE_BYTES = 2,
    WEFT_WIRE_FIXED32 = 5,
} weft_wire_type;

/* A message, or what is left of it. */
typedef struct weft_wire {
    const uint8_t *at, *end;
    const uint8_t *start; /* of the file, for offsets in messages */
} weft_wire;

typedef struct weft_wire_field {
    int number;
    weft_wire_type type;
    uint64_t value; /* varint or fixed */
    weft_wire body; /* of WEFT_WIRE_BYTES */
} weft_wire_field;

/* Takes a field that is there, of any form. Truncated or overlong varints, lengths past the end,
 * field number 0, groups: an error with the byte offset. */
WEFT_CHECKED weft_status weft_wire_take(weft_wire *w, weft_wire_field *field);
/* Is there another field? */
static inline bool weft_wire_more(const weft_wire *w)
{
    return w->at < w->end;
}

/* Takes the next field, which is there. Nearly all fields have a number below 16 and are numbers,
 * or bodies of a length, below 2^14: these are taken here, the rest by weft_wire_take. */
WEFT_CHECKED static inline weft_status weft_wire_next(weft_wire *w, weft_wire_field *field)
{
    const uint8_t *at = w->at, *end = w->end;
    unsigned tag, number;

    if (end - at < 3)
        return weft_wire_take(w, field);
    tag = at[0];
    number = at[1];
    if (tag - 8 >= 0x80 - 8 || (tag & 5) != 0 || (number >= 0x80 && at[2] >= 0x80))
        return weft_wire_take(w, field);
    at += 2;
    if (number >= 0x80)
        number = (number & 0x7f) | (unsigned)*at++ << 7;
    field->number = (int)(tag >> 3);
    field->body.start = w->start;
    if ((tag & 7) == WEFT_WIRE_VARINT) {
        field->type = WEFT_WIRE_VARINT;
        field->value = number;
        field->body.at = w->at + 1;
        field->body.end = end;
        w->at = at;
        return WEFT_OK;
    }
    if (number > end - at)
        return weft_wire_take(w, field);
    field->type = WEFT_WIRE_BYTES;
    field->value = 0;
    field->body.at = at;
    field->body.end = w->at = at + number;
    return WEFT_OK;
}
/* Takes one varint (of a packed field). */
WEFT_CHECKED weft_status weft_wire_varint(weft_wire *w, uint64_t *out);

/* --- fields of a known type: another encoding is an error with the byte offset --------------- */

weft_status weft_wire_no_body(const weft_wire_field *field); /* the error */
WEFT_CHECKED static inline weft_status weft_wire_body(const weft_wire_field *field, weft_wire *out)
{
    if (field->type != WEFT_WIRE_BYTES)
        return weft_wire_no_body(field);
    out->at = field->body.at;
    out->end = field->body.end;
    out->start = field->body.start;
    return WEFT_OK;
}
/* The numbers of a packed field. */
WEFT_CHECKED weft_status weft_wire_list(const weft_wire_field *field, weft_wire *out);
WEFT_CHECKED weft_status weft_wire_int(const weft_wire_field *field, int64_t *out);
WEFT_CHECKED weft_status weft_wire_float(const weft_wire_field *field, double *out);

/* How often each field with a number below this occurs in a message. */
enum { WEFT_WIRE_COUNTED = 32 };
WEFT_CHECKED weft_status weft_wire_count(weft_wire w, int count[WEFT_WIRE_COUNTED]);

/* Adds the values in one occurrence of a repeated number, packed or single, to *n. */
WEFT_CHECKED weft_status weft_wire_count_values(const weft_wire_field *field, weft_wire_type type,
                                                int *n);
/* The values of all occurrences of a repeated number, in `a`. */
WEFT_CHECKED weft_status weft_wire_ints(weft_wire w, int number, weft_arena *a, const int64_t **out,
                                        int *n);
WEFT_CHECKED weft_status weft_wire_floats(weft_wire w, int number, weft_arena *a,
                                          const double **out, int *n);

/* --- writing --------------------------------------------------------------------------------- */

/* A growing buffer in an arena. Without arena it only counts: n becomes the size. */
typedef struct weft_wire_out {
    weft_arena *arena;
    uint8_t *at;
    size_t n, room;
} weft_wire_out;

/* Field 0 puts the value without tag, as packed fields hold them. */
void weft_wire_put_varint(weft_wire_out *o, int field, uint64_t value);
void weft_wire_put_float(weft_wire_out *o, int field, float value);
void weft_wire_put_double(weft_wire_out *o, int field, double value);
void weft_wire_put_bytes(weft_wire_out *o, int field, const void *data, size_t n);
/* A nested message: begin, write its fields, end. */
size_t weft_wire_begin(weft_wire_out *o, int field);
void weft_wire_end(weft_wire_out *o, size_t begin);

#endif
