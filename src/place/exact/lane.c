/* SPDX-License-Identifier: MIT */
/* lane.c: slots of a device as a treap: a search tree by (start, end) that is also a heap of drawn
 * weights, so it is balanced whatever the order in which slots come.
 *
 * A subtree knows the longest gap inside it. A search for a gap skips every subtree that has none
 * long enough, and never turns back from one that has: time O(log slots), like put and take. Where
 * devices have no gaps it ends at the root. */
#include "lane.h"

#include <assert.h>
#include <math.h>

enum { NONE = -1 };

weft_lane weft_lane_new(void)
{
    return (weft_lane){.root = NONE, .free = NONE};
}

/* --- the tree -------------------------------------------------------------------------------- */

/* A mix of the bits of i, which is enough of a draw here. */
static uint32_t weight_of(int i)
{
    uint32_t x = (uint32_t)i + 0x9e3779b9u;

    x = (x ^ x >> 16) * 0x85ebca6bu;
    x = (x ^ x >> 13) * 0xc2b2ae35u;
    return x ^ x >> 16;
}

/* What slot i says of its subtree, from what its children say of theirs. */
static void sum_up(weft_lane *l, int i)
{
    weft_slot *at = l->slot.at, *s = &at[i];

    s->first_s = s->start_s;
    s->last_s = s->end_s;
    s->idle_s = 0;
    if (s->left != NONE) {
        s->first_s = at[s->left].first_s;
        s->idle_s = fmax(at[s->left].idle_s, s->start_s - at[s->left].last_s);
    }
    if (s->right != NONE) {
        s->last_s = fmax(s->last_s, at[s->right].last_s);
        s->idle_s = fmax(s->idle_s, fmax(at[s->right].idle_s, at[s->right].first_s - s->end_s));
    }
}

static bool is_behind(const weft_slot *s, double start_s, double end_s)
{
    return s->start_s > start_s || (s->start_s == start_s && s->end_s > end_s);
}

/* The slots of tree i behind (start, end) go to *right, the others to *left. */
static void split(weft_lane *l, int i, const weft_slot *key, int *left, int *right)
{
    weft_slot *s;

    if (i == NONE) {
        *left = *right = NONE;
        return;
    }
    s = &l->slot.at[i];
    if (is_behind(s, key->start_s, key->end_s)) {
        *right = i;
        split(l, s->left, key, left, &s->left);
    } else {
        *left = i;
        split(l, s->right, key, &s->right, right);
    }
    sum_up(l, i);
}

/* One tree of two, all of whose slots are in order. */
static int join(weft_lane *l, int left, int right)
{
    weft_slot *at = l->slot.at;

    if (left == NONE || right == NONE)
        return left == NONE ? right : left;
    if (at[left].weight >= at[right].weight) {
        at[left].right = join(l, at[left].right, right);
        sum_up(l, left);
        return left;
    }
    at[right].left = join(l, left, at[right].left);
    sum_up(l, right);
    return right;
}

/* Puts slot `fresh` into tree i; returns the new root. */
static int insert(weft_lane *l, int i, int fresh)
{
    weft_slot *at = l->slot.at, *s = &at[fresh];

    if (i == NONE || s->weight > at[i].weight) {
        split(l, i, s, &s->left, &s->right);
        i = fresh;
    } else if (is_behind(&at[i], s->start_s, s->end_s)) {
        at[i].left = insert(l, at[i].left, fresh);
    } else {
        at[i].right = insert(l, at[i].right, fresh);
    }
    sum_up(l, i);
    return i;
}

/* Takes one slot (start, end) out of tree i; *taken is its index. */
static int take_out(weft_lane *l, int i, const weft_slot *key, int *taken)
{
    weft_slot *s;

    assert(i != NONE);
    s = &l->slot.at[i];
    if (s->start_s == key->start_s && s->end_s == key->end_s) {
        *taken = i;
        return join(l, s->left, s->right);
    }
    if (is_behind(s, key->start_s, key->end_s))
        s->left = take_out(l, s->left, key, taken);
    else
        s->right = take_out(l, s->right, key, taken);
    sum_up(l, i);
    return i;
}

void weft_lane_put(weft_lane *l, double start_s, double end_s, weft_arena *a)
{
    int i = l->free;

    if (i == NONE) {
        i = l->slot.n;
        WEFT_PUSH(a, l->slot, (weft_slot){0});
    } else {
        l->free = l->slot.at[i].right;
    }
    l->slot.at[i] = (weft_slot){
        .start_s = start_s, .end_s = end_s, .left = NONE, .right = NONE, .weight = weight_of(i)};
    l->root = insert(l, l->root, i);
    l->n++;
}

void weft_lane_take(weft_lane *l, double start_s, double end_s)
{
    weft_slot key = {.start_s = start_s, .end_s = end_s};
    int taken = NONE;

    l->root = take_out(l, l->root, &key, &taken);
    l->slot.at[taken].right = l->free;
    l->free = taken;
    l->n--;
}

/* --- gaps ------------------------------------------------------------------------------------ */

/* Moves *at_s on to the first gap of length_s in front of a slot of tree i, or else behind the
 * tree; true if there is such a gap. What ends before *at_s is passed over. */
static bool find_gap(const weft_lane *l, int i, double length_s, double *at_s)
{
    const weft_slot *s;

    if (i == NONE || l->slot.at[i].last_s <= *at_s)
        return false;
    s = &l->slot.at[i];
    if (s->first_s - *at_s < length_s && s->idle_s < length_s) {
        *at_s = s->last_s;
        return false;
    }
    if (find_gap(l, s->left, length_s, at_s))
        return true;
    if (s->end_s > *at_s && s->start_s - *at_s >= length_s)
        return true;
    *at_s = fmax(*at_s, s->end_s);
    return find_gap(l, s->right, length_s, at_s);
}

double weft_lane_gap(const weft_lane *l, double ready_s, double length_s)
{
    double at_s = ready_s;

    find_gap(l, l->root, length_s, &at_s);
    return at_s;
}

double weft_lane_end(const weft_lane *l)
{
    return l->n == 0 ? 0 : l->slot.at[l->root].last_s;
}
