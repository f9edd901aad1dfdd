/* SPDX-License-Identifier: MIT */
/* splits.c: all splits of a step, and their text.
 *
 * Factors are integers whose product is the number of members, none larger than its axis; partial
 * sums are combined everywhere or stay scattered; at most one axis is shared (split_box.c). For a
 * convolution with axes m, n, r, c this gives 1, 5, 5, 14, 5, 23, 5, 30 splits without sharing for
 * 1 .. 8 members, copies not counted.
 *
 * Cost: one visit of each way to write n as an ordered product of so many factors. */
#include "step_rule.h"

#include <ctype.h>
#include <string.h>

/* --- validity -------------------------------------------------------------------------------- */

static int product_of(const int *factor, int n)
{
    int product = 1;

    for (int k = 0; k < n && product <= WEFT_MAX_MEMBERS; k++)
        product *= factor[k];
    return product;
}

static int n_sums(const weft_step *step, const int *factor)
{
    int n = 1;

    for (int k = 0; k < step->n_axes; k++)
        n *= weft_axis_is_sum(&step->axis[k]) ? factor[k] : 1;
    return n;
}

static bool may_scatter(const weft_step *step, const int *factor)
{
    int sums = n_sums(step, factor);

    return step->scatter >= 0 && sums > 1 &&
           (int64_t)factor[step->scatter] * sums <= step->axis[step->scatter].extent;
}

bool weft_split_is_valid(const weft_steps *s, int step, const weft_split *split)
{
    const weft_step *x = &s->step[step];
    int factor[WEFT_MAX_AXES];
    bool left, right;

    if (split->n < 1 || split->n > WEFT_MAX_MEMBERS)
        return false;
    for (int k = 0; k < WEFT_MAX_AXES; k++) {
        factor[k] = split->factor[k] > 0 ? split->factor[k] : 1;
        if (factor[k] > 1 && (k >= x->n_axes || factor[k] > x->axis[k].extent))
            return false;
    }
    if (product_of(factor, WEFT_MAX_AXES) == 1)
        return split->shared == -1 && !split->is_scattered;
    if (product_of(factor, WEFT_MAX_AXES) != split->n)
        return false;
    if (split->is_scattered && !may_scatter(x, factor))
        return false;
    return split->shared == -1 ||
           (split->shared >= 0 && split->shared < x->n_axes &&
            weft_rotation(x, &s->rule[step], factor, split->shared, &left, &right) > 0);
}

/* --- enumeration ----------------------------------------------------------------------------- */

typedef struct lister {
    const weft_step *step;
    const weft_step_rule *rule;
    weft_arena *a;
    int factor[WEFT_MAX_AXES];
    weft_split split; /* factors are written when it is put down */
    bool is_sharing;  /* this pass lists shared splits */
    WEFT_VEC(weft_split) out;
} lister;

static void put(lister *l, int shared)
{
    weft_split x = {.n = l->split.n, .shared = (int8_t)shared};

    for (int k = 0; k < WEFT_MAX_AXES; k++)
        x.factor[k] = (uint8_t)(k < l->step->n_axes ? l->factor[k] : 1);
    WEFT_PUSH(l->a, l->out, x);
    if (may_scatter(l->step, l->factor)) {
        x.is_scattered = true;
        WEFT_PUSH(l->a, l->out, x);
    }
}

static void put_all(lister *l)
{
    bool left, right;

    if (!l->is_sharing) {
        put(l, -1);
        return;
    }
    for (int k = 0; k < l->step->n_axes; k++)
        if (weft_rotation(l->step, l->rule, l->factor, k, &left, &right) > 0)
            put(l, k);
}

/* Factors of axes from `axis` on, whose product is `rest`. */
static void list(lister *l, int axis, int rest)
{
    if (axis == l->step->n_axes) {
        if (rest == 1)
            put_all(l);
        return;
    }
    for (int f = rest; f >= 1; f--) {
        if (rest % f != 0 || f > l->step->axis[axis].extent)
            continue;
        l->factor[axis] = f;
        list(l, axis + 1, rest / f);
    }
}

weft_split weft_split_copies(int n)
{
    weft_split s = {.n = (uint8_t)n, .shared = -1};

    memset(s.factor, 1, sizeof s.factor);
    return s;
}

int weft_step_splits(const weft_steps *s, int step, int n, bool is_sharing, weft_arena *a,
                     const weft_split **out)
{
    lister l = {.step = &s->step[step], .rule = &s->rule[step], .a = a, .split = {.n = (uint8_t)n}};
    weft_split copy = weft_split_copies(n);

    list(&l, 0, n);
    l.is_sharing = true;
    if (is_sharing && l.rule->has_factors)
        list(&l, 0, n);
    if (n > 1)
        WEFT_PUSH(a, l.out, copy);
    *out = l.out.at;
    return l.out.n;
}

/* --- text ------------------------------------------------------------------------------------ */

enum { TEXT_SIZE = 128 };

/* Adds text, as far as there is room, behind a blank unless it is the first. */
static void append(char *to, const char *text)
{
    size_t at = strlen(to), n = strlen(text);

    if (at > 0 && at + 1 < TEXT_SIZE && text[0] != '>')
        to[at++] = ' ';
    n = n < TEXT_SIZE - 1 - at ? n : TEXT_SIZE - 1 - at;
    memcpy(to + at, text, n);
    to[at + n] = '\0';
}

/* The last summed axis that is cut bears the mark of scattering. */
static int marked_axis(const weft_step *step, const weft_split *split)
{
    int marked = -1;

    for (int k = 0; k < step->n_axes && split->is_scattered; k++)
        if (split->factor[k] > 1 && weft_axis_is_sum(&step->axis[k]))
            marked = k;
    return marked;
}

const char *weft_split_print(const weft_steps *s, int step, const weft_split *split, char to[128])
{
    const weft_step *x = &s->step[step];
    int marked = marked_axis(x, split);
    char piece[TEXT_SIZE / 2];

    to[0] = '\0';
    if (split->n == 1 || weft_split_is_copy(split)) {
        append(to, split->n == 1 ? "whole" : "copy");
        return to;
    }
    for (int k = 0; k < x->n_axes; k++) {
        if (split->factor[k] <= 1)
            continue;
        snprintf(piece, sizeof piece, "%s=%d", x->axis[k].name, split->factor[k]);
        append(to, piece);
        if (k == marked)
            append(to, ">scatter");
    }
    if (split->shared >= 0) {
        snprintf(piece, sizeof piece, "share %s", x->axis[split->shared].name);
        append(to, piece);
    }
    return to;
}

typedef struct reader {
    const weft_steps *s;
    int step;
    const char *text, *at;
    weft_split *out;
} reader;

static weft_status fail(const reader *r, const char *why)
{
    return weft_fail(WEFT_E_INPUT, "split '%.100s' of step '%s': %s", r->text,
                     weft_step_name(r->s, r->step), why);
}

static void skip_spaces(reader *r)
{
    while (*r->at == ' ')
        r->at++;
}

/* True and past it if the word comes next, with an end behind it. */
static bool take_word(reader *r, const char *word)
{
    size_t n = strlen(word);

    skip_spaces(r);
    if (strncmp(r->at, word, n) != 0 || isalnum((unsigned char)r->at[n]))
        return false;
    r->at += n;
    return true;
}

static weft_status read_axis(reader *r, int *axis)
{
    const weft_step *x = &r->s->step[r->step];

    for (int k = 0; k < x->n_axes; k++)
        if (take_word(r, x->axis[k].name)) {
            *axis = k;
            return WEFT_OK;
        }
    return fail(r, "expected an axis of the step, or 'share'");
}

static weft_status read_factor(reader *r)
{
    int axis = -1, value = 0;

    WEFT_TRY(read_axis(r, &axis));
    if (*r->at != '=' || !isdigit((unsigned char)r->at[1]))
        return fail(r, "expected '=' and a number behind an axis");
    for (r->at++; isdigit((unsigned char)*r->at) && value <= WEFT_MAX_MEMBERS; r->at++)
        value = value * 10 + (*r->at - '0');
    if (value < 1 || value > WEFT_MAX_MEMBERS || r->out->factor[axis] > 1)
        return fail(r, "expected each axis once, with a number from 1 to 64");
    r->out->factor[axis] = (uint8_t)value;
    if (*r->at == '>') {
        r->at++;
        if (!weft_axis_is_sum(&r->s->step[r->step].axis[axis]) || !take_word(r, "scatter"))
            return fail(r, "expected 'scatter' behind '>', at a summed axis");
        r->out->is_scattered = true;
    }
    return WEFT_OK;
}

static weft_status read_split(reader *r)
{
    int axis = -1;

    if (take_word(r, r->out->n == 1 ? "whole" : "copy")) {
        skip_spaces(r);
        return *r->at == '\0' ? WEFT_OK : fail(r, "expected nothing more");
    }
    for (skip_spaces(r); *r->at != '\0'; skip_spaces(r)) {
        if (r->out->shared >= 0)
            return fail(r, "expected nothing behind the shared axis");
        if (take_word(r, "share")) {
            WEFT_TRY(read_axis(r, &axis));
            r->out->shared = (int8_t)axis;
        } else {
            WEFT_TRY(read_factor(r));
        }
    }
    if (weft_split_is_copy(r->out) || r->out->n == 1 || !weft_split_is_valid(r->s, r->step, r->out))
        return fail(r, "it does not cut this step over that many members");
    return WEFT_OK;
}

weft_status weft_split_parse(const weft_steps *s, int step, int n, const char *text,
                             weft_split *out)
{
    reader r = {s, step, text, text, out};

    if (n < 1 || n > WEFT_MAX_MEMBERS)
        return weft_fail(WEFT_E_INPUT, "a split over %d members: expected 1 to %d", n,
                         WEFT_MAX_MEMBERS);
    *out = weft_split_copies(n);
    return read_split(&r);
}
