/* SPDX-License-Identifier: MIT */
/* rng.c: xoshiro256** seeded by splitmix64 (Blackman and Vigna 2018): fast, and the same numbers
 * on every machine. */
#include "base.h"

static uint64_t splitmix(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint64_t rotate(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

weft_rng weft_rng_seed(uint64_t seed)
{
    weft_rng r;

    for (int i = 0; i < 4; i++)
        r.state[i] = splitmix(&seed);
    return r;
}

weft_rng weft_rng_split(weft_rng *r, uint64_t item)
{
    uint64_t seed = weft_rng_next(r) ^ (item * 0xd1342543de82ef95u);

    return weft_rng_seed(seed);
}

uint64_t weft_rng_next(weft_rng *r)
{
    uint64_t *s = r->state;
    uint64_t result = rotate(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

int weft_rng_below(weft_rng *r, int n)
{
    uint64_t range = (uint64_t)n, limit = UINT64_MAX - UINT64_MAX % range;
    uint64_t x = weft_rng_next(r);

    while (x >= limit) /* keeps every number equally likely */
        x = weft_rng_next(r);
    return (int)(x % range);
}

double weft_rng_real(weft_rng *r)
{
    return (double)(weft_rng_next(r) >> 11) * 0x1p-53;
}
