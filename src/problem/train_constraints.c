/* SPDX-License-Identifier: MIT */
/* train_constraints.c: what is asked of a training plan: read from one line, and refused if it is
 * wrong, contradicts itself, or cannot be had on the devices at hand.
 *
 * Refused is what needs no costs to be seen: numbers of devices, units, samples. Whether a plan
 * fits memory is the business of the search. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "problem.h"

/* --- counts ---------------------------------------------------------------------------------- */

enum { MOST = 1000000000 };

bool weft_counts_allow(const weft_counts *c, int64_t value)
{
    for (int i = 0; i < c->n; i++)
        if (c->at[i] == value)
            return true;
    return c->n == 0;
}

int64_t weft_counts_only(const weft_counts *c)
{
    return c->n == 1 ? c->at[0] : 0;
}

int64_t weft_counts_least(const weft_counts *c)
{
    return c->n > 0 ? c->at[0] : 1;
}

int64_t weft_counts_most(const weft_counts *c)
{
    return c->n > 0 ? c->at[c->n - 1] : 0;
}

static int add_count(weft_counts *to, int64_t value)
{
    int i = to->n;

    if (weft_counts_allow(to, value) && to->n > 0)
        return 0;
    for (; i > 0 && to->at[i - 1] > value; i--)
        to->at[i] = to->at[i - 1];
    to->at[i] = value;
    return to->n++, 1;
}

weft_status weft_counts_read(const char *name, const char *text, weft_counts *to)
{
    *to = (weft_counts){0};
    if (strcmp(text, "auto") == 0)
        return WEFT_OK;
    for (const char *at = text, *end; at != NULL; at = *end == ',' ? end + 1 : NULL) {
        int n = (int)strcspn(at, ",");
        long long value = 0;
        char *stop = NULL;

        end = at + n;
        if (*at >= '0' && *at <= '9')
            value = strtoll(at, &stop, 10);
        if (stop != end || value < 1 || value > MOST)
            return weft_fail(WEFT_E_INPUT,
                             "%s: '%.*s', expected auto or numbers from 1 to %d, as in 2 or 1,2,4",
                             name, n, at, (int)MOST);
        if (to->n == WEFT_MOST_COUNTS)
            return weft_fail(WEFT_E_INPUT, "%s: '%s' has more than %d numbers", name, text,
                             (int)WEFT_MOST_COUNTS);
        if (add_count(to, value) == 0)
            return weft_fail(WEFT_E_INPUT, "%s: %lld is given twice", name, value);
    }
    return WEFT_OK;
}

const char *weft_counts_text(const weft_counts *c, weft_arena *a)
{
    const char *text = c->n == 0 ? "auto" : "";

    for (int i = 0; i < c->n; i++)
        text = weft_arena_print(a, "%s%s%lld", text, i > 0 ? "," : "", (long long)c->at[i]);
    return text;
}

/* --- one line -------------------------------------------------------------------------------- */

static const char *schedule_word(int i)
{
    return weft_schedule_name((weft_schedule)i);
}

static const char *recompute_word(int i)
{
    return weft_recompute_name((weft_recompute)i);
}

/* A key: a number, or one of some words, of which the bit is set. */
typedef struct key {
    const char *name;
    size_t offset;
    enum { COUNT, COUNTS, LEVEL, WORD } kind;
    int lowest, highest; /* of a number; highest of a word: how many there are */
    const char *(*word)(int);
} key;

#define FIELD(f) offsetof(weft_train_constraints, f)

static const key keys[] = {
    {"tp",        FIELD(tp),         COUNTS, 1, MOST,              NULL          },
    {"pp",        FIELD(pp),         COUNTS, 1, MOST,              NULL          },
    {"dp",        FIELD(dp),         COUNTS, 1, MOST,              NULL          },
    {"mbs",       FIELD(mbs),        COUNTS, 1, MOST,              NULL          },
    {"schedule",  FIELD(schedules),  WORD,   0, WEFT_N_SCHEDULES,  schedule_word },
    {"recompute", FIELD(recomputes), WORD,   0, WEFT_N_RECOMPUTES, recompute_word},
    {"chunks",    FIELD(chunks),     COUNT,  1, MOST,              NULL          },
    {"zero",      FIELD(zeros),      LEVEL,  0, WEFT_MOST_ZERO,    NULL          },
    {"sp",        FIELD(sps),        LEVEL,  0, 1,                 NULL          },
    {"overlap",   FIELD(overlap),    COUNT,  0, 1,                 NULL          },
};
enum { N_KEYS = sizeof keys / sizeof *keys };

static int find_key(const char *name, size_t n)
{
    for (int i = 0; i < N_KEYS; i++)
        if (strlen(keys[i].name) == n && strncmp(keys[i].name, name, n) == 0)
            return i;
    return -1;
}

static weft_status read_word(const char *flag, const key *k, const char *value, int n, void *to)
{
    char list[128] = "";

    for (int i = 0; i < k->highest; i++) {
        if (strlen(k->word(i)) == (size_t)n && strncmp(k->word(i), value, (size_t)n) == 0) {
            *(unsigned *)to = 1u << i;
            return WEFT_OK;
        }
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i > 0 ? ", " : "",
                 k->word(i));
    }
    return weft_fail(WEFT_E_INPUT, "%s: %s is '%.*s', expected one of %s", flag, k->name, n, value,
                     list);
}

static weft_status read_count(const char *flag, const key *k, const char *value, int n, void *to)
{
    char *end;
    long long count = strtoll(value, &end, 10);

    if (n == 0 || *value < '0' || *value > '9' || end != value + n || count < k->lowest ||
        count > k->highest)
        return weft_fail(WEFT_E_INPUT, "%s: %s is '%.*s', expected a number from %d to %d", flag,
                         k->name, n, value, k->lowest, k->highest);
    if (k->kind == COUNTS)
        *(weft_counts *)to = weft_counts_of(count);
    else if (k->kind == LEVEL)
        *(unsigned *)to = 1u << count;
    else
        *(int *)to = (int)count;
    return WEFT_OK;
}

weft_status weft_train_exactly(const char *flag, const char *text, weft_train_constraints *to)
{
    unsigned seen = 0;

    for (const char *at = text, *end; at != NULL; at = *end == ',' ? end + 1 : NULL) {
        const char *equals = at + strcspn(at, "=,");
        int i = find_key(at, (size_t)(equals - at));
        void *field;

        end = at + strcspn(at, ",");
        if (i < 0 || *equals != '=')
            return weft_fail(WEFT_E_INPUT,
                             "%s: '%.*s', expected KEY=VALUE with tp, pp, dp, mbs, schedule, "
                             "recompute, chunks, zero, sp or overlap",
                             flag, (int)(end - at), at);
        if (seen >> i & 1)
            return weft_fail(WEFT_E_INPUT, "%s: %s is given twice", flag, keys[i].name);
        seen |= 1u << i;
        field = (char *)to + keys[i].offset;
        WEFT_TRY((keys[i].kind == WORD ? read_word : read_count)(flag, &keys[i], equals + 1,
                                                                 (int)(end - equals - 1), field));
    }
    if (to->chunks > to->most_chunks)
        to->most_chunks = to->chunks;
    weft_train_settle_zero(to);
    return WEFT_OK;
}

void weft_train_settle_zero(weft_train_constraints *x)
{
    if (x->sps == 0)
        x->sps = 1;
    if (x->zeros == 0)
        x->zeros = 1u << x->zero;
    for (x->zero = 0; !(x->zeros >> x->zero & 1);)
        x->zero++;
}

/* --- contradictions -------------------------------------------------------------------------- */

static weft_status check_counts(const weft_train_constraints *constraints)
{
    if (constraints->batch < 1)
        return weft_fail(WEFT_E_INPUT, "the batch has %lld samples, expected one or more",
                         (long long)constraints->batch);
    if (constraints->microbatch < 0 ||
        (constraints->microbatch > 0 && constraints->batch % constraints->microbatch != 0))
        return weft_fail(WEFT_E_INPUT, "microbatches of %lld samples do not divide a batch of %lld",
                         (long long)constraints->microbatch, (long long)constraints->batch);
    if (constraints->most_width < 0 || constraints->most_replicas < 0 ||
        constraints->most_stages < 0 || constraints->most_chunks < 0)
        return weft_fail(
            WEFT_E_INPUT,
            "limits (width %d, replicas %d, stages %d, chunks %d) must not be negative",
            constraints->most_width, constraints->most_replicas, constraints->most_stages,
            constraints->most_chunks);
    return WEFT_OK;
}

static weft_status check_kinds(const weft_train_constraints *constraints)
{
    if (constraints->schedules == 0 || constraints->schedules >> WEFT_N_SCHEDULES != 0)
        return weft_fail(WEFT_E_INPUT,
                         "no schedule is allowed, or one that does not exist (bits "
                         "0x%x)",
                         constraints->schedules);
    if (constraints->recomputes == 0 || constraints->recomputes >> WEFT_N_RECOMPUTES != 0)
        return weft_fail(WEFT_E_INPUT,
                         "no kind of recomputation is allowed, or one that does not "
                         "exist (bits 0x%x)",
                         constraints->recomputes);
    return WEFT_OK;
}

static weft_status check_limit(const char *name, const weft_counts *exact, const char *limit,
                               int most)
{
    for (int i = 0; i < exact->n; i++)
        if (exact->at[i] < 1 || exact->at[i] > MOST || (i > 0 && exact->at[i] <= exact->at[i - 1]))
            return weft_fail(WEFT_E_INPUT, "%s=%lld: expected ascending numbers from 1 to %d", name,
                             (long long)exact->at[i], (int)MOST);
    if (exact->n > 0 && most > 0 && exact->at[0] > most)
        return weft_fail(WEFT_E_INPUT, "%s=%lld is more than the largest %s allowed, %d", name,
                         (long long)exact->at[0], limit, most);
    return WEFT_OK;
}

static weft_status check_limits(const weft_train_constraints *x)
{
    const weft_counts chunks = weft_counts_of(x->chunks);

    WEFT_TRY(check_limit("tp", &x->tp, "tensor width", x->most_width));
    WEFT_TRY(check_limit("pp", &x->pp, "number of stages", x->most_stages));
    WEFT_TRY(check_limit("dp", &x->dp, "number of replicas", x->most_replicas));
    WEFT_TRY(check_limit("mbs", &x->mbs, "number of samples", 0));
    WEFT_TRY(check_limit("chunks", &chunks, "number of chunks", x->most_chunks));
    if (!(x->memory_margin >= 0 && x->memory_margin < 1))
        return weft_fail(WEFT_E_INPUT, "a memory margin of %g, expected 0 or more and less than 1",
                         x->memory_margin);
    if (x->zero < 0 || x->zero > WEFT_MOST_ZERO)
        return weft_fail(WEFT_E_INPUT, "zero=%d, expected 0 to %d", x->zero, WEFT_MOST_ZERO);
    if (x->overlap != 0 && x->overlap != 1)
        return weft_fail(WEFT_E_INPUT, "overlap=%d, expected 0 or 1", x->overlap);
    if (x->sps > 3)
        return weft_fail(WEFT_E_INPUT, "sp: bits 0x%x, expected without (1), with (2) or both (3)",
                         x->sps);
    if (x->zeros >> (WEFT_MOST_ZERO + 1) != 0 || (x->zeros != 0 && !(x->zeros >> x->zero & 1)))
        return weft_fail(WEFT_E_INPUT, "zero: levels 0x%x are allowed, the lowest is not %d",
                         x->zeros, x->zero);
    return WEFT_OK;
}

/* Samples of a microbatch, as far as they are given. */
static weft_status check_samples(const weft_train_constraints *x)
{
    int64_t only = weft_counts_only(&x->dp), dp = only > 0 ? only : 1;
    int64_t mbs = weft_counts_only(&x->mbs);

    if (mbs == 0) /* any, or several of which the search takes what divides the batch */
        return WEFT_OK;
    if (x->batch % (mbs * dp) != 0)
        return weft_fail(WEFT_E_INPUT,
                         only > 0 ? "mbs=%lld x dp=%lld: microbatches of %lld samples do not "
                                    "divide the batch of %lld"
                                  : "mbs=%lld (dp at least %lld): microbatches of a multiple of "
                                    "%lld samples do not divide the batch of %lld",
                         (long long)mbs, (long long)dp, (long long)(mbs * dp), (long long)x->batch);
    if (x->microbatch > 0 && (only > 0 ? x->microbatch != mbs * dp : x->microbatch % mbs != 0))
        return weft_fail(WEFT_E_INPUT,
                         "microbatches of %lld samples over all replicas contradict mbs=%lld "
                         "samples for each of dp=%lld",
                         (long long)x->microbatch, (long long)mbs, (long long)dp);
    return WEFT_OK;
}

static weft_status check_chunks(const weft_train_constraints *x)
{
    const unsigned woven = 1u << WEFT_INTERLEAVED;
    int64_t dp = weft_counts_only(&x->dp), mbs = weft_counts_only(&x->mbs);
    int64_t pp = weft_counts_only(&x->pp), n = dp > 0 && mbs > 0 ? x->batch / (dp * mbs) : 0;

    if (x->chunks > 1 && !(x->schedules & woven))
        return weft_fail(WEFT_E_INPUT,
                         "chunks=%d needs schedule=interleaved: other schedules have one chunk "
                         "for each stage",
                         x->chunks);
    if (x->schedules != woven && x->chunks <= 1)
        return WEFT_OK;
    if (x->chunks == 1)
        return weft_fail(WEFT_E_INPUT, "chunks=1 contradicts schedule=interleaved, expected 2 or "
                                       "more");
    if (pp == 1)
        return weft_fail(WEFT_E_INPUT, "pp=1 contradicts schedule=interleaved, which needs two or "
                                       "more stages");
    if (pp > 0 && n % pp != 0)
        return weft_fail(WEFT_E_INPUT,
                         "schedule=interleaved needs a number of microbatches that pp divides: "
                         "%lld microbatches (batch %lld / dp=%lld / mbs=%lld), pp=%lld",
                         (long long)n, (long long)x->batch, (long long)dp, (long long)mbs,
                         (long long)pp);
    return WEFT_OK;
}

/* --- what the devices and the network have --------------------------------------------------- */

static weft_status check_devices(const weft_train_constraints *x, const weft_cluster *c)
{
    int64_t tp = weft_counts_least(&x->tp), pp = weft_counts_least(&x->pp);
    int64_t dp = weft_counts_least(&x->dp), n_blocks = 0;
    int n_devices = 0, largest = 0;

    for (int k = 0; k < c->n_classes; k++) {
        const weft_class *class = &c->classes[k];

        n_devices += class->n_devices;
        n_blocks += tp <= class->n_devices ? weft_class_blocks(class, (int)tp) : 0;
        for (int i = 0; i < class->n_islands; i++)
            if (class->island_at[i + 1] - class->island_at[i] > largest)
                largest = class->island_at[i + 1] - class->island_at[i];
    }
    if (tp > largest)
        return weft_fail(WEFT_E_INPUT,
                         "tp=%lld: tensor parallelism stays among equal devices of one server, of "
                         "which '%s' has %d at most",
                         (long long)tp, c->platform->name, largest);
    if (pp * dp * tp > n_devices)
        return weft_fail(WEFT_E_INPUT,
                         "tp=%lld x pp=%lld x dp=%lld are %lld devices, '%s' has %d for training",
                         (long long)tp, (long long)pp, (long long)dp, (long long)(pp * dp * tp),
                         c->platform->name, n_devices);
    if (pp * dp > n_blocks)
        return weft_fail(
            WEFT_E_INPUT,
            "pp=%lld x dp=%lld take %lld groups of tp=%lld devices of one server, '%s' "
            "has %lld",
            (long long)pp, (long long)dp, (long long)(pp * dp), (long long)tp, c->platform->name,
            (long long)n_blocks);
    return WEFT_OK;
}

static weft_status check_units(const weft_train_constraints *x, const weft_blocks *u)
{
    int64_t chunks = x->chunks > 0 ? x->chunks : x->schedules == 1u << WEFT_INTERLEAVED ? 2 : 1;
    int64_t pp = weft_counts_least(&x->pp);

    if (x->pp.n > 0 && pp * chunks > u->n_blocks)
        return weft_fail(WEFT_E_INPUT,
                         "pp=%lld with %lld chunk%s for each stage needs %lld units, the network "
                         "has %d",
                         (long long)pp, (long long)chunks, chunks == 1 ? "" : "s",
                         (long long)(pp * chunks), u->n_blocks);
    if (x->pp.n > 0 && x->schedules == 1u << WEFT_INTERLEAVED && !u->is_chain)
        return weft_fail(WEFT_E_INPUT, "schedule=interleaved needs a network that is a chain of "
                                       "units: this one has branches");
    return WEFT_OK;
}

weft_status weft_train_constraints_check(const weft_train_constraints *x,
                                         const weft_cluster *cluster, const weft_blocks *blocks)
{
    WEFT_TRY(check_counts(x));
    WEFT_TRY(check_kinds(x));
    WEFT_TRY(check_limits(x));
    WEFT_TRY(check_samples(x));
    WEFT_TRY(check_chunks(x));
    if (cluster != NULL)
        WEFT_TRY(check_devices(x, cluster));
    return blocks != NULL ? check_units(x, blocks) : WEFT_OK;
}
