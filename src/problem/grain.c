/* SPDX-License-Identifier: MIT */
/* grain.c: bounds in whole numbers.
 *
 * If every duration of a problem, those of switches included, is a whole multiple of a number g, the
 * grain, so is the value of every plan: a latency is the length of a chain of jobs without gaps (each job starts when another
 * ends, when its release has come, or at 0), a period is the sum of the jobs of one resource. This
 * holds under overlap, contend, block and calls alike. It does not hold for a mix of ways, whose
 * shares are any numbers: such problems have no grain. Then no plan lies between two multiples of g,
 * and a bound may be rounded up to the next one.
 *
 * What "is a multiple" means for numbers of a computer. A double x belongs to the whole number N and
 * the grain g if x is N g exactly, or if x is the double nearest to N g: so 0.3 belongs to the grain
 * 0.1, as the file says it, and 0.30000000000000004 does not. Both are decided exactly, never by a
 * tolerance:
 *   binary   x = m 2^e with whole m: every finite double.
 *   decimal  x is the double nearest to D 10^-q, with whole D < 10^15 and 0 <= q <= 22. Then D and
 *            10^q are doubles without error, so D / 10^q is rounded once, and x == D / 10^q says it.
 * The grain of several numbers is their greatest common divisor, from factors of 2, of 5 and the
 * rest, in whole numbers. It is taken of all numbers in binary, and of all in decimal if all are;
 * the larger of the two is used.
 *
 * Proof that rounding is sound. Let v be the value that the simulator gives to a plan: the rounded
 * sum of at most n durations, each within 2^-52 of a multiple of g, relative (a task with its switch is
 * a rounded sum). All are positive, so
 * v (1 + d) = K g for a whole K and |d| <= n 2^-52: for n <= 2^22 that is less than 1e-9. A valid
 * bound b is at most v (1 + 1e-9), the tolerance that holds everywhere (weft_cross_check). So
 * K g >= b (1 - 2e-9), K is at least the whole number k = ceil(b (1 - 2e-9) / g), and k g is a bound
 * in the same sense as b was. Problems of more jobs are left alone.
 *
 * Time: tensors * kinds of links, and an early end where costs come from formulas. */
#include "problem.h"

enum {
    MOST_EXPONENT = 22,    /* 10^22 is a double without error, 10^23 is not */
    MOST_JOBS = 1 << 22,   /* of a run */
    FAR_BITS = 45,         /* a grain that much smaller than a duration rounds nothing */
    MOST_LINKS = 1 << 24,  /* numbers looked at */
    MOST_LINK_KINDS = 256, /* kinds of links between pairs of devices */
};

static const double MOST_DIGITS = 1e15; /* whole numbers of at most 15 digits */
static const double SLACK = 2e-9;       /* relative: see the proof */

/* odd * 2^two * 5^five, where neither 2 nor 5 divides odd; odd 0: of no numbers yet. */
typedef struct divisor {
    uint64_t odd;
    int two, five;
} divisor;

static uint64_t common(uint64_t x, uint64_t y)
{
    while (y != 0) {
        uint64_t rest = x % y;

        x = y;
        y = rest;
    }
    return x;
}

static divisor factors(uint64_t whole, int two, int five)
{
    divisor d = {whole, two, five};

    for (; d.odd % 2 == 0; d.odd /= 2)
        d.two++;
    for (; d.odd % 5 == 0; d.odd /= 5)
        d.five++;
    return d;
}

static void take_divisor(divisor *all, divisor one)
{
    if (all->odd == 0) {
        *all = one;
        return;
    }
    all->odd = common(all->odd, one.odd);
    all->two = one.two < all->two ? one.two : all->two;
    all->five = one.five < all->five ? one.five : all->five;
}

static double size_of(divisor d)
{
    return d.odd == 0 ? 0 : ldexp((double)d.odd, d.two) * pow(5, d.five);
}

typedef struct looking {
    divisor binary, decimal;
    bool is_decimal; /* all numbers so far are */
    double most_s;   /* the largest number so far */
} looking;

static void take_binary(looking *l, double s)
{
    int exponent;
    double m = frexp(s, &exponent);

    take_divisor(&l->binary, factors((uint64_t)ldexp(m, 53), exponent - 53, 0));
}

static void take_decimal(looking *l, double s)
{
    double power = 1;

    for (int q = 0; q <= MOST_EXPONENT && s * power < MOST_DIGITS; q++, power *= 10) {
        double whole = nearbyint(s * power);

        if (whole > 0 && whole / power == s) {
            take_divisor(&l->decimal, factors((uint64_t)whole, -q, -q));
            return;
        }
    }
    l->is_decimal = false;
}

static double grain_of(const looking *l)
{
    double binary_s = size_of(l->binary), decimal_s = l->is_decimal ? size_of(l->decimal) : 0;

    return fmax(binary_s, decimal_s);
}

/* False: there is no grain of any use. */
static bool take(looking *l, double s)
{
    if (!(s > 0) || s == INFINITY) /* takes no time, or never happens */
        return true;
    l->most_s = fmax(l->most_s, s);
    take_binary(l, s);
    if (l->is_decimal)
        take_decimal(l, s);
    return grain_of(l) > ldexp(l->most_s, -FAR_BITS);
}

/* Pairs of different devices, one for each kind of link; their number, or -1 if there are too many. */
static int list_kinds(const weft_problem *p, int *pair)
{
    int n = 0;

    for (int from = 0; from < p->n_devices; from++)
        for (int to = 0; to < p->n_devices; to++) {
            int at = from * p->n_devices + to, k = 0;

            while (k < n && !weft_pairs_alike(p, pair[k], at))
                k++;
            if (from == to || k < n)
                continue;
            if (n == MOST_LINK_KINDS)
                return -1;
            pair[n++] = at;
        }
    return n;
}

static bool take_tasks(looking *l, const weft_problem *p)
{
    for (int d = 0; p->switch_s != NULL && d < p->n_devices; d++)
        if (!take(l, p->switch_s[d]))
            return false;
    for (int u = 0; u < p->n_tasks; u++)
        for (int d = 0; d < p->n_devices; d++)
            if (!take(l, weft_task_s(p, u, d)))
                return false;
    return true;
}

static bool take_transfers(looking *l, const weft_problem *p)
{
    int pair[MOST_LINK_KINDS], n = list_kinds(p, pair);

    if (n < 0 || (int64_t)n * p->n_tensors > MOST_LINKS)
        return false;
    for (int t = 0; t < p->n_tensors; t++)
        for (int k = 0; k < n && !p->is_weight[t] && p->reader_at[t] < p->reader_at[t + 1]; k++)
            if (!take(l, weft_message_s(p, pair[k], p->amount[t])))
                return false;
    return true;
}

double weft_problem_grain_s(const weft_problem *p)
{
    looking l = {.is_decimal = true};
    int64_t n_jobs = 2 * (int64_t)p->n_tasks + 2 * (int64_t)p->reader_at[p->n_tensors];

    if (p->constraints.is_mixed || n_jobs > MOST_JOBS || !take_tasks(&l, p) ||
        !take_transfers(&l, p))
        return 0;
    return grain_of(&l);
}

double weft_grain_up(double grain_s, double bound_s)
{
    if (!(grain_s > 0) || !isfinite(bound_s))
        return bound_s;
    return fmax(bound_s, ceil(bound_s * (1 - SLACK) / grain_s) * grain_s);
}

bool weft_grain_divides(double grain_s, double value_s)
{
    return fabs(value_s - nearbyint(value_s / grain_s) * grain_s) <= SLACK * value_s;
}

void weft_proof_round(weft_proof *proof, double grain_s)
{
    double bound = weft_grain_up(grain_s, proof->bound);
    double certified = weft_grain_up(grain_s, proof->certified);

    if (bound > proof->bound * (1 + SLACK) || certified > proof->certified * (1 + SLACK))
        proof->grain_s = grain_s;
    proof->bound = bound;
    proof->certified = certified;
}
