/* SPDX-License-Identifier: MIT */
/* 64-bit hash of content: FNV-1a over bytes in a fixed order, mixed at the end. The same on every
 * machine; finds changes, does not resist an attacker. */
#ifndef WEFT_PLAN_HASH_H
#define WEFT_PLAN_HASH_H

#include <stdint.h>
#include <string.h>

static inline uint64_t weft_hash_start(void)
{
    return 0xcbf29ce484222325u;
}

static inline uint64_t weft_hash_bits(uint64_t h, uint64_t bits)
{
    for (int shift = 0; shift < 64; shift += 8)
        h = (h ^ (bits >> shift & 0xff)) * 0x100000001b3u;
    return h;
}

static inline uint64_t weft_hash_int(uint64_t h, int64_t value)
{
    return weft_hash_bits(h, (uint64_t)value);
}

/* Numbers that compare equal hash equal; so do all NaNs. */
static inline uint64_t weft_hash_real(uint64_t h, double value)
{
    uint64_t bits = 0x7ff8000000000000u;

    if (value == value) {
        value += 0.0; /* -0 becomes 0 */
        memcpy(&bits, &value, sizeof bits);
    }
    return weft_hash_bits(h, bits);
}

/* The length goes first, so that "ab" "c" and "a" "bc" differ. NULL differs from "". */
static inline uint64_t weft_hash_text(uint64_t h, const char *text)
{
    size_t n = text ? strlen(text) : 0;

    h = weft_hash_int(h, text ? (int64_t)n : -1);
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)text[i]) * 0x100000001b3u;
    return h;
}

static inline uint64_t weft_hash_end(uint64_t h)
{
    h = (h ^ h >> 33) * 0xff51afd7ed558ccdu;
    h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53u;
    return h ^ h >> 33;
}

#endif
