/* SPDX-License-Identifier: MIT */
/* calls_chain.c: the best chain of stages below a limit, by dynamic programming over ideals.
 *
 * An ideal is a set of members (blocks) that holds all predecessors of its members. A pipeline is a
 * chain of ideals from the empty set to all members; the step from I to J puts J - I on one device.
 * Devices of the same costs are a class; what is used so far is a count for each class.
 *
 * 1. Labels (ideal, used, value): value is the largest load of a chain to the ideal that uses so
 *    many devices of each class. A label that uses no less and is worth no less than another one of
 *    its ideal is needless: whatever completes it completes the other.
 * 2. Ideals are taken by size. From each, for each class with a device left, a depth-first search
 *    lists the ideals above it, each once: a block is taken, then, when all sets with it are done,
 *    left out for the rest of the branch. The load is kept up to date.
 * 3. A branch ends when `fixed` reaches the limit (the value to beat). It is the part of the load
 *    that no larger set of the branch loses: the time of the blocks; what is read from earlier
 *    stages or from blocks left out; what is made and read by earlier stages or blocks left out.
 *    Other transfers may yet become internal. Memory only grows: it ends branches too.
 * 4. A label is dropped if the rest cannot be done in time: for prices of the classes, the members
 *    outside the ideal cost at least the sum of min over classes left of price * time, and the
 *    devices left can take sum of price * limit. (An average is no larger than the maximum.)
 * 5. Blocks that are no members (backward tasks without forward partner) may be anywhere. A stage
 *    has each of them, or not: the cheaper of both is added to its load, without what such blocks
 *    exchange among themselves. So the value is a lower bound then.
 *
 * Guarantee: a search that ends finds the least value below its limit, or proves that there is
 * none: steps 3 and 4 drop only what reaches the limit, which is lowered to each value found.
 * Time: pairs of ideals I, J with fixed(J - I) below the limit, times the degree of a block; memory
 * O(ideals * (blocks / 64 + devices)).
 *
 * The model and the use of ideals: Tarnawski et al., "Efficient algorithms for device placement of
 * DNN graph operators", NeurIPS 2020. Limits and pruning are ours. */
#include "calls_chain.h"

#include <math.h>
#include <string.h>

enum {
    MOST_IDEALS = 200000, /* beyond, the search gives up: memory */
    MOST_LABELS = 1000000,
    MOST_USES = 1 << 20,   /* ways to use up devices */
    MOST_MASK_CLASSES = 3, /* more classes share one set of weights in step 4 */
    MOST_LINEAR = 64,      /* labels of an ideal in a linear search */
    CHECK_EVERY = 1 << 13, /* steps of work between two looks at the clock */
};
static const double ROUNDING = 1e-11; /* relative: sums of loads differ by less */

enum { OPEN, PAST, STAGE, OUT }; /* where a block is, seen from a stage that grows */

/* A level of the depth-first search: candidates from .. to - 1, the next one at `at`. */
typedef struct level {
    int from, at, to;
    int taken;              /* block that led here; -1 at the root */
    double load_s, fixed_s; /* before it was taken */
} level;

typedef struct ideal {
    uint64_t hash;
    int label; /* first one, or -1 */
    int next;  /* ideal of the same size, or -1 */
} ideal;

typedef struct label {
    double value_s;
    int used;   /* mixed radix */
    int next;   /* of the same ideal, or -1 */
    int parent; /* label, or -1 */
    int ideal;
    int klass; /* class of the last stage */
} label;

typedef struct weft_chain {
    const weft_calls *m;
    weft_run *run;
    weft_arena *a;
    int n, n_words; /* members of the sets: blocks 0 .. n - 1 */
    int n_classes, n_masks;
    bool is_partial;             /* not all devices are considered */
    int *class_of;               /* [n_devices] */
    int *first, *count, *stride; /* [n_classes] a device of the class; devices; radix */
    double *price;               /* [n_classes] */
    double *weight;              /* [block * n_masks + mask] of step 4 */
    double *total;               /* [n_masks] */
    int *n_readers;              /* [n_tensors] among the members */
    int *first_rest;             /* [n_tensors] first reader that is no member, or -1 */
    uint64_t *key;               /* [n] for hashes */
    /* sets found */
    WEFT_VEC(ideal) ideals;
    WEFT_VEC(uint64_t) bits; /* [ideal * n_words + word] */
    WEFT_VEC(label) labels;
    int *table, table_size;
    int *by_size; /* [n + 1] first ideal */
    /* the stage that grows */
    int device, klass, origin;  /* origin: the ideal below */
    char *place;                /* [n] */
    int *missing;               /* [n] predecessors not yet taken */
    int *n_in, *n_past, *n_out; /* [n_tensors] readers in the stage, before it, left out */
    int *n_held;                /* [n_weights] */
    int *candidate;
    int n_candidate, candidate_room;
    level *level;
    uint64_t *now; /* [n_words] */
    uint64_t now_hash;
    int now_size;
    double load_s, fixed_s, bytes;
    int n_clashes;   /* pairs of blocks in the stage that must be apart */
    double *covered; /* [n_masks] weight of the ideal */
    /* result */
    double limit_s;
    int best; /* label of a whole chain, or -1 */
    bool is_linear, is_over;
    int64_t n_taken;            /* blocks */
    int64_t n_work, next_check; /* blocks taken and labels looked at */
} chain;

/* --- classes of devices ---------------------------------------------------------------------- */

static void find_classes(chain *x)
{
    const weft_calls *m = x->m;

    const int *same = weft_calls_first_same(m, x->a);

    x->class_of = WEFT_NEW(x->a, int, m->n_devices);
    x->first = WEFT_NEW(x->a, int, m->n_devices);
    x->count = WEFT_NEW(x->a, int, m->n_devices);
    x->stride = WEFT_NEW(x->a, int, m->n_devices);
    for (int d = 0; d < m->n_devices; d++) {
        x->class_of[d] = same[d] == d ? x->n_classes : x->class_of[same[d]];
        if (same[d] == d)
            x->first[x->n_classes++] = d;
        x->count[x->class_of[d]]++;
    }
}

/* If there are more ways to use up devices than MOST_USES, some devices are left out. */
static void number_uses(chain *x)
{
    int n = 1;

    x->is_partial = x->m->is_restricted;
    for (int c = 0; c < x->n_classes; c++) {
        x->stride[c] = n;
        if (x->count[c] > MOST_USES / n - 1) {
            x->count[c] = MOST_USES / n - 1;
            x->is_partial = true;
        }
        n *= x->count[c] + 1;
    }
}

static int used_of(const chain *x, int used, int c)
{
    return used / x->stride[c] % (x->count[c] + 1);
}

/* --- step 4: what the rest costs at least ---------------------------------------------------- */

static void weigh(chain *x, const double *device_price)
{
    const weft_calls *m = x->m;

    x->n_masks = x->n_classes <= MOST_MASK_CLASSES ? 1 << x->n_classes : 1;
    x->price = WEFT_NEW(x->a, double, x->n_classes);
    x->weight = weft_arena_array(x->a, (size_t)m->n_blocks * (size_t)x->n_masks, sizeof *x->weight);
    x->total = WEFT_NEW(x->a, double, x->n_masks);
    x->covered = WEFT_NEW(x->a, double, x->n_masks);
    for (int d = 0; d < m->n_devices; d++)
        x->price[x->class_of[d]] += device_price[d] / x->count[x->class_of[d]];
    for (int b = 0; b < m->n_blocks; b++) {
        for (int mask = 0; mask < x->n_masks; mask++) {
            double least = INFINITY;

            for (int c = 0; c < x->n_classes; c++) {
                double time_s = m->time_s[b * m->n_devices + x->first[c]];

                if ((x->n_masks == 1 || mask >> c & 1) && isfinite(time_s))
                    least = fmin(least, x->price[c] * time_s);
            }
            x->weight[b * x->n_masks + mask] = isfinite(least) ? least : 0;
            x->total[mask] += x->weight[b * x->n_masks + mask];
        }
    }
}

/* What the devices that `used` leaves can take, at a limit of 1 second; *mask says which weights
 * count. */
static double room_of(const chain *x, int used, int *mask)
{
    double room = 0;

    *mask = 0;
    for (int c = 0; c < x->n_classes; c++) {
        int left = x->count[c] - used_of(x, used, c);

        room += left * x->price[c];
        *mask |= (x->n_masks > 1 && left > 0) << c;
    }
    return room;
}

/* Can the blocks outside the current ideal be done in time by what `used` leaves? */
static bool is_rest_possible(const chain *x, int used)
{
    int mask = 0;
    double room = room_of(x, used, &mask);

    return x->total[mask] - x->covered[mask] <=
           room * x->limit_s + (x->total[mask] + x->limit_s) * ROUNDING;
}

/* --- sets and labels ------------------------------------------------------------------------- */

static const uint64_t *bits_of(const chain *x, int i)
{
    return x->bits.at + (size_t)i * (size_t)x->n_words;
}

static void grow_table(chain *x)
{
    x->table_size *= 2;
    x->table = WEFT_NEW(x->a, int, x->table_size);
    for (int i = 0; i < x->ideals.n; i++) {
        size_t at = (size_t)(x->ideals.at[i].hash & (uint64_t)(x->table_size - 1));

        while (x->table[at] != 0)
            at = (at + 1) & (size_t)(x->table_size - 1);
        x->table[at] = i + 1;
    }
}

/* The number of the current set; it is added if it is new. */
static int find_ideal(chain *x)
{
    size_t size = sizeof(uint64_t) * (size_t)x->n_words;
    size_t at = (size_t)(x->now_hash & (uint64_t)(x->table_size - 1));

    for (; x->table[at] != 0; at = (at + 1) & (size_t)(x->table_size - 1)) {
        int i = x->table[at] - 1;

        if (x->ideals.at[i].hash == x->now_hash && memcmp(bits_of(x, i), x->now, size) == 0)
            return i;
    }
    x->table[at] = x->ideals.n + 1;
    for (int w = 0; w < x->n_words; w++)
        WEFT_PUSH(x->a, x->bits, x->now[w]);
    WEFT_PUSH(x->a, x->ideals, ((ideal){x->now_hash, -1, x->by_size[x->now_size]}));
    x->by_size[x->now_size] = x->ideals.n - 1;
    if (x->ideals.n * 2 > x->table_size)
        grow_table(x);
    return x->ideals.n - 1;
}

static bool uses_no_more(const chain *x, int used, int other)
{
    for (int c = 0; c < x->n_classes; c++) {
        if (used_of(x, used, c) > used_of(x, other, c))
            return false;
    }
    return true;
}

/* Adds a label to an ideal; its number, or -1 if another one makes it needless. Linear searches
 * keep the MOST_LINEAR best of an ideal. */
static int add_label(chain *x, int i, label new)
{
    int n = 0, worst = -1;

    for (int k = x->ideals.at[i].label; k >= 0; k = x->labels.at[k].next, n++) {
        label *old = &x->labels.at[k];

        if (old->value_s <= new.value_s && uses_no_more(x, old->used, new.used))
            return -1;
        if (old->used == new.used) {
            new.next = old->next;
            *old = new; /* nothing follows it yet: larger sets come later */
            return k;
        }
        if (worst < 0 || old->value_s > x->labels.at[worst].value_s)
            worst = k;
    }
    x->n_work += n;
    if (x->is_linear && n >= MOST_LINEAR) {
        if (!(new.value_s < x->labels.at[worst].value_s))
            return -1;
        new.next = x->labels.at[worst].next;
        x->labels.at[worst] = new;
        return worst;
    }
    new.next = x->ideals.at[i].label;
    x->ideals.at[i].label = x->labels.n;
    WEFT_PUSH(x->a, x->labels, new);
    return x->labels.n - 1;
}

/* The least that a block outside the sets adds to the load, in the stage or elsewhere. What it
 * shares with other such blocks is left out; of several that read a tensor the first one pays. */
static double least_rest_s(const chain *x, int b)
{
    const weft_calls *m = x->m;
    int k = m->n_devices, d = x->device;
    double here_s = m->time_s[b * k + d], there_s = 0;

    for (int i = m->apart_at[b]; i < m->apart_at[b + 1]; i++)
        here_s += m->apart[i] < x->n && x->place[m->apart[i]] == STAGE ? INFINITY : 0;
    for (int i = m->made_at[b]; i < m->made_at[b + 1]; i++) {
        int t = m->made[i];

        here_s += x->n_in[t] < x->n_readers[t] ? m->out_s[t * k + d] : 0;
        there_s += x->n_in[t] > 0 ? m->in_s[t * k + d] : 0;
    }
    for (int i = m->read_at[b]; i < m->read_at[b + 1]; i++) {
        int t = m->read[i], home = m->maker[t];

        if (home >= x->n || x->first_rest[t] != b)
            continue;
        if (x->place[home] == STAGE)
            there_s += x->n_in[t] == x->n_readers[t] ? m->out_s[t * k + d] : 0;
        else
            here_s += x->n_in[t] == 0 ? m->in_s[t * k + d] : 0;
    }
    return fmin(here_s, there_s);
}

/* The current set is a step from x->origin: labels for it. */
static void arrive(chain *x)
{
    double load_s = x->load_s;
    int found = -1;

    for (int b = x->n; b < x->m->n_blocks && load_s < x->limit_s; b++)
        load_s += least_rest_s(x, b);
    if (!(load_s < x->limit_s))
        return;
    for (int k = x->ideals.at[x->origin].label; k >= 0; k = x->labels.at[k].next) {
        label from = x->labels.at[k];
        int used = from.used + x->stride[x->klass], new;

        if (used_of(x, from.used, x->klass) == x->count[x->klass] || !(from.value_s < x->limit_s) ||
            !is_rest_possible(x, used))
            continue;
        if (found < 0)
            found = find_ideal(x);
        from.value_s = fmax(from.value_s, load_s);
        new = add_label(x, found, (label){from.value_s, used, -1, k, found, x->klass});
        if (x->now_size == x->n && new >= 0) {
            x->limit_s = from.value_s;
            x->best = new;
        }
    }
}

/* --- the stage that grows -------------------------------------------------------------------- */

static void take_tensors(chain *x, int b)
{
    const weft_calls *m = x->m;
    int k = m->n_devices, d = x->device;

    for (int i = m->made_at[b]; i < m->made_at[b + 1]; i++) {
        int t = m->made[i];

        if (x->n_in[t] > 0)
            x->load_s -= m->in_s[t * k + d];
        if (x->n_in[t] < x->n_readers[t])
            x->load_s += m->out_s[t * k + d];
        if (x->n_past[t] + x->n_out[t] > 0)
            x->fixed_s += m->out_s[t * k + d];
    }
    for (int i = m->read_at[b]; i < m->read_at[b + 1]; i++) {
        int t = m->read[i], home = m->maker[t];

        x->n_in[t]++;
        if (home >= x->n)
            continue;
        if (x->place[home] == STAGE && x->n_in[t] == x->n_readers[t])
            x->load_s -= m->out_s[t * k + d];
        else if (x->place[home] != STAGE && x->n_in[t] == 1) {
            x->load_s += m->in_s[t * k + d];
            x->fixed_s += x->place[home] == OPEN ? 0 : m->in_s[t * k + d];
        }
    }
}

/* Blocks of the stage that must not be there with b. */
static int count_clashes(const chain *x, int b)
{
    const weft_calls *m = x->m;
    int n = 0;

    for (int i = m->apart_at[b]; i < m->apart_at[b + 1]; i++)
        n += m->apart[i] < x->n && x->place[m->apart[i]] == STAGE;
    return n;
}

static void take_block(chain *x, int b)
{
    const weft_calls *m = x->m;

    x->load_s += m->time_s[b * m->n_devices + x->device];
    x->fixed_s += m->time_s[b * m->n_devices + x->device];
    take_tensors(x, b);
    for (int i = m->weight_at[b]; i < m->weight_at[b + 1]; i++)
        x->bytes += x->n_held[m->weight[i]]++ == 0 ? m->weight_bytes[m->weight[i]] : 0;
    for (int mask = 0; mask < x->n_masks; mask++)
        x->covered[mask] += x->weight[b * x->n_masks + mask];
    x->n_clashes += count_clashes(x, b);
    x->place[b] = STAGE;
    x->now[b / 64] ^= (uint64_t)1 << (b % 64);
    x->now_hash ^= x->key[b];
    x->now_size++;
}

/* Undoes take_block; loads are restored by the caller. */
static void drop_block(chain *x, int b)
{
    const weft_calls *m = x->m;

    for (int i = m->read_at[b]; i < m->read_at[b + 1]; i++)
        x->n_in[m->read[i]]--;
    for (int i = m->weight_at[b]; i < m->weight_at[b + 1]; i++)
        x->bytes -= --x->n_held[m->weight[i]] == 0 ? m->weight_bytes[m->weight[i]] : 0;
    for (int mask = 0; mask < x->n_masks; mask++)
        x->covered[mask] -= x->weight[b * x->n_masks + mask];
    x->place[b] = OPEN;
    x->n_clashes -= count_clashes(x, b);
    x->now[b / 64] ^= (uint64_t)1 << (b % 64);
    x->now_hash ^= x->key[b];
    x->now_size--;
}

/* b is left out for the rest of the branch: what it shares with the stage is paid for sure. */
static void leave_out(chain *x, int b)
{
    const weft_calls *m = x->m;
    int k = m->n_devices, d = x->device;

    x->place[b] = OUT;
    for (int i = m->made_at[b]; i < m->made_at[b + 1]; i++) {
        if (x->n_in[m->made[i]] > 0)
            x->fixed_s += m->in_s[m->made[i] * k + d];
    }
    for (int i = m->read_at[b]; i < m->read_at[b + 1]; i++) {
        int t = m->read[i];

        x->n_out[t]++;
        if (m->maker[t] < x->n && x->place[m->maker[t]] == STAGE && x->n_past[t] + x->n_out[t] == 1)
            x->fixed_s += m->out_s[t * k + d];
    }
}

/* Undoes leave_out; `fixed` is restored by the caller. */
static void let_in(chain *x, int b)
{
    const weft_calls *m = x->m;

    x->place[b] = OPEN;
    for (int i = m->read_at[b]; i < m->read_at[b + 1]; i++)
        x->n_out[m->read[i]]--;
}

static bool is_hopeless(const chain *x)
{
    return !(x->fixed_s < x->limit_s) || x->n_clashes > 0 ||
           !weft_fits(x->bytes, x->m->problem->capacity[x->device]);
}

/* Candidates of the level after `b` was taken: the rest of its level, and what it makes ready. */
static int list_candidates(chain *x, int b, const level *above)
{
    const weft_calls *m = x->m;
    int n = above->to;

    while (n + x->n > x->candidate_room)
        x->candidate = weft_arena_grow(x->a, x->candidate, x->candidate_room, &x->candidate_room,
                                       sizeof *x->candidate);
    for (int i = above->at + 1; i < above->to; i++)
        x->candidate[n++] = x->candidate[i];
    if (x->is_linear) {
        if (b + 1 < x->n)
            x->candidate[n++] = b + 1;
        return n;
    }
    for (int i = b < m->n_forward ? m->succ_at[b] : 0;
         i < (b < m->n_forward ? m->succ_at[b + 1] : 0); i++) {
        if (--x->missing[m->succ[i]] == 0)
            x->candidate[n++] = m->succ[i];
    }
    return n;
}

static void restore_missing(chain *x, int b)
{
    const weft_calls *m = x->m;

    if (x->is_linear || b >= m->n_forward)
        return;
    for (int i = m->succ_at[b]; i < m->succ_at[b + 1]; i++)
        x->missing[m->succ[i]]++;
}

static bool is_time_over(chain *x)
{
    x->n_taken++;
    x->n_work++;
    if (x->run->steps > 0 && x->n_taken > x->run->steps && !x->is_linear)
        x->is_over = true;
    if (x->n_work >= x->next_check) {
        x->next_check = x->n_work + CHECK_EVERY;
        x->is_over |= weft_run_is_over(x->run);
    }
    x->is_over |= x->ideals.n > MOST_IDEALS || x->labels.n > MOST_LABELS;
    return x->is_over;
}

/* Leaves level `l`: its blocks are let in again, the block that led to it is dropped and left out
 * on the level above. */
static void close_level(chain *x, int l)
{
    level *now = &x->level[l];

    for (int i = now->at - 1; i >= now->from; i--)
        let_in(x, x->candidate[i]);
    if (l == 0)
        return;
    restore_missing(x, now->taken);
    drop_block(x, now->taken);
    x->load_s = now->load_s;
    x->fixed_s = now->fixed_s;
    leave_out(x, now->taken);
    x->level[l - 1].at++;
}

/* All sets above the origin on x->device. The root level is in x->level[0]. */
static void grow_stage(chain *x)
{
    int l = 0;

    while (l >= 0) {
        level *now = &x->level[l];
        int b;

        if (now->at == now->to || is_hopeless(x) || is_time_over(x)) {
            close_level(x, l--);
            continue;
        }
        b = x->candidate[now->at];
        x->level[l + 1] = (level){.taken = b, .load_s = x->load_s, .fixed_s = x->fixed_s};
        take_block(x, b);
        if (is_hopeless(x)) {
            drop_block(x, b);
            x->load_s = x->level[l + 1].load_s;
            x->fixed_s = x->level[l + 1].fixed_s;
            leave_out(x, b);
            now->at++;
            continue;
        }
        arrive(x);
        x->level[l + 1].from = x->level[l + 1].at = now->to;
        x->level[l + 1].to = list_candidates(x, b, now);
        l++;
    }
}

/* --- one search ------------------------------------------------------------------------------ */

static void count_past(chain *x)
{
    const weft_calls *m = x->m;

    memset(x->n_past, 0, sizeof *x->n_past * (size_t)m->n_tensors);
    for (int b = 0; b < x->n; b++) {
        for (int i = m->read_at[b]; i < m->read_at[b + 1] && x->place[b] == PAST; i++)
            x->n_past[m->read[i]]++;
    }
}

/* Makes ideal i the origin: the stage is empty. */
static void start_at(chain *x, int i)
{
    const weft_calls *m = x->m;

    x->origin = i;
    x->now_hash = x->ideals.at[i].hash;
    memcpy(x->now, bits_of(x, i), sizeof *x->now * (size_t)x->n_words);
    x->now_size = x->n_candidate = 0;
    for (int mask = 0; mask < x->n_masks; mask++)
        x->covered[mask] = 0;
    for (int b = 0; b < x->n; b++) {
        x->place[b] = weft_bit_get(x->now, b) ? PAST : OPEN;
        x->now_size += x->place[b] == PAST;
        for (int mask = 0; mask < x->n_masks && x->place[b] == PAST; mask++)
            x->covered[mask] += x->weight[b * x->n_masks + mask];
        x->missing[b] = 0;
        for (int e = b < m->n_forward ? m->pred_at[b] : 0;
             e < (b < m->n_forward ? m->pred_at[b + 1] : 0); e++)
            x->missing[b] += !weft_bit_get(x->now, m->pred[e]);
    }
    count_past(x);
    for (int b = 0; b < x->n && !x->is_linear; b++) {
        if (x->place[b] == OPEN && x->missing[b] == 0)
            x->candidate[x->n_candidate++] = b;
    }
    if (x->is_linear && x->now_size < x->n)
        x->candidate[x->n_candidate++] = x->now_size;
}

static bool can_use(const chain *x, int i, int c)
{
    for (int k = x->ideals.at[i].label; k >= 0; k = x->labels.at[k].next) {
        if (used_of(x, x->labels.at[k].used, c) < x->count[c] &&
            x->labels.at[k].value_s < x->limit_s)
            return true;
    }
    return false;
}

static void expand(chain *x, int i)
{
    start_at(x, i);
    for (int c = 0; c < x->n_classes && !x->is_over; c++) {
        if (!can_use(x, i, c))
            continue;
        x->klass = c;
        x->device = x->first[c];
        x->load_s = x->fixed_s = x->bytes = 0;
        x->n_clashes = 0;
        x->level[0] = (level){.from = 0, .at = 0, .to = x->n_candidate, .taken = -1};
        grow_stage(x);
    }
}

bool weft_chain_search(chain *x, double limit_s, bool is_linear)
{
    x->limit_s = limit_s;
    x->is_linear = is_linear;
    x->best = -1;
    x->ideals.n = x->bits.n = x->labels.n = 0;
    memset(x->table, 0, sizeof *x->table * (size_t)x->table_size);
    for (int s = 0; s <= x->n; s++)
        x->by_size[s] = -1;
    memset(x->now, 0, sizeof *x->now * (size_t)x->n_words);
    x->now_hash = 0;
    x->now_size = 0;
    (void)add_label(x, find_ideal(x), (label){0, 0, -1, -1, 0, -1});
    for (int s = 0; s < x->n && !x->is_over; s++) {
        for (int i = x->by_size[s]; i >= 0 && !x->is_over; i = x->ideals.at[i].next)
            expand(x, i);
    }
    return x->best >= 0;
}

void weft_chain_read(const chain *x, int *device)
{
    for (int k = x->best; x->labels.at[k].parent >= 0; k = x->labels.at[k].parent) {
        const label *to = &x->labels.at[k], *from = &x->labels.at[to->parent];
        const uint64_t *high = bits_of(x, to->ideal), *low = bits_of(x, from->ideal);
        int nth = used_of(x, from->used, to->klass), d = 0;

        while (x->class_of[d] != to->klass || nth-- > 0)
            d++;
        for (int b = 0; b < x->n; b++) {
            if (weft_bit_get(high, b) && !weft_bit_get(low, b))
                device[b] = d;
        }
    }
}

/* --- interface ------------------------------------------------------------------------------- */

void weft_chain_members(chain *x, int n)
{
    const weft_calls *m = x->m;

    x->n = n;
    x->n_words = weft_bits_words(n);
    memset(x->n_readers, 0, sizeof *x->n_readers * (size_t)m->n_tensors);
    for (int t = 0; t < m->n_tensors; t++) {
        x->first_rest[t] = -1;
        for (int i = m->reader_at[t + 1] - 1; i >= m->reader_at[t]; i--) {
            x->n_readers[t] += m->reader[i] < n;
            x->first_rest[t] = m->reader[i] < n ? x->first_rest[t] : m->reader[i];
        }
    }
    for (int mask = 0; mask < x->n_masks; mask++) {
        x->total[mask] = 0;
        for (int b = 0; b < n; b++)
            x->total[mask] += x->weight[b * x->n_masks + mask];
    }
}

weft_chain *weft_chain_new(const weft_calls *m, const double *price, int64_t n_taken, weft_run *run)
{
    chain *x = WEFT_NEW(run->scratch, chain, 1);
    weft_rng rng = weft_rng_seed(0);
    int n = m->n_blocks;

    *x = (chain){
        .m = m, .run = run, .a = run->scratch, .table_size = 1024, .best = -1, .n_taken = n_taken};
    find_classes(x);
    weigh(x, price);
    number_uses(x);
    x->table = WEFT_NEW(x->a, int, x->table_size);
    x->by_size = WEFT_NEW(x->a, int, n + 1);
    x->place = WEFT_NEW(x->a, char, n);
    x->missing = WEFT_NEW(x->a, int, n);
    x->n_readers = WEFT_NEW(x->a, int, m->n_tensors);
    x->first_rest = WEFT_NEW(x->a, int, m->n_tensors);
    x->n_in = WEFT_NEW(x->a, int, m->n_tensors);
    x->n_past = WEFT_NEW(x->a, int, m->n_tensors);
    x->n_out = WEFT_NEW(x->a, int, m->n_tensors);
    x->n_held = WEFT_NEW(x->a, int, m->n_weights);
    x->candidate_room = n;
    x->candidate = WEFT_NEW(x->a, int, n);
    x->level = WEFT_NEW(x->a, level, n + 1);
    x->now = WEFT_NEW(x->a, uint64_t, weft_bits_words(n));
    x->key = WEFT_NEW(x->a, uint64_t, n);
    for (int b = 0; b < n; b++)
        x->key[b] = weft_rng_next(&rng);
    return x;
}

int64_t weft_chain_taken(const chain *x)
{
    return x->n_taken;
}

double weft_chain_value(const chain *x)
{
    return x->best >= 0 ? x->limit_s : INFINITY;
}

bool weft_chain_is_proof(const chain *x)
{
    return !x->is_over && !x->is_partial;
}

bool weft_chain_is_over(const chain *x)
{
    return x->is_over;
}
