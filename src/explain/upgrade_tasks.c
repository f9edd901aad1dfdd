/* SPDX-License-Identifier: MIT */
/* upgrade_tasks.c: upgrades of a file of tasks (weft.tasks/1).
 *
 *  link    for two devices p and q, `link[p][q]` and `link[q][p]` halved: twice as much in the
 *          same time. Latencies stay.
 *  speed   the seconds of all tasks on one device halved.
 *  memory  `capacity` of one device doubled; devices without limit have no such upgrade.
 *  device  a copy of one device behind all others: its column of seconds, its rows and columns of
 *          `link` and `latency`, its capacity and switch. Between original and copy an amount takes as long as
 *          on the fastest link of the original. */
#include "upgrade.h"

#include <math.h>
#include <string.h>

static const double DEFAULT_LINK = 1; /* seconds for an amount of 1, where the file says nothing */

static int n_devices(const weft_doc *root)
{
    return weft_doc_get(root, "devices")->n;
}

static const char *device_name(const weft_doc *root, int d)
{
    return weft_doc_get(root, "devices")->item[d]->text;
}

/* The matrix of that key, made if it is not there: 0 on the diagonal, `usual` elsewhere. */
static weft_doc *matrix_of(weft_doc *root, const char *key, double usual, weft_arena *a)
{
    weft_doc *matrix = weft_doc_entry(root, key);
    int n = n_devices(root);

    if (matrix != NULL)
        return matrix;
    matrix = weft_doc_new(a, WEFT_DOC_LIST);
    for (int i = 0; i < n; i++) {
        weft_doc *row = weft_doc_new(a, WEFT_DOC_LIST);

        for (int k = 0; k < n; k++)
            weft_doc_add(a, row, weft_doc_new_real(a, i == k ? 0 : usual));
        weft_doc_add(a, matrix, row);
    }
    weft_doc_put(a, root, key, matrix);
    return matrix;
}

/* --- values ---------------------------------------------------------------------------------- */

/* Halves an item of a list; "" if it is null or 0, else what is said of it. */
static const char *scale_item(weft_doc *list, int i, double factor, weft_arena *a)
{
    weft_doc *after = weft_doc_times(list->item[i], factor, a);
    const char *words;

    if (after == NULL)
        return "";
    words =
        weft_arena_print(a, "%s -> %s", weft_doc_words(list->item[i], a), weft_doc_words(after, a));
    list->item[i] = after;
    return words;
}

static void add_link(weft_upgrade_list *l, int p, int q)
{
    weft_arena *a = l->a;
    weft_doc *root = weft_doc_copy(l->machine, a);
    weft_doc *link = matrix_of(root, "link", DEFAULT_LINK, a);
    const char *there = scale_item(link->item[p], q, 0.5, a);
    const char *back = scale_item(link->item[q], p, 0.5, a);
    const char *ends = weft_arena_print(a, "%s - %s", device_name(root, p), device_name(root, q));

    if (*there || *back)
        weft_upgrade_add(
            l,
            &(weft_upgrade){.kind = WEFT_UPGRADE_LINK,
                            .what = weft_arena_print(a, "twice the bandwidth of %s", ends),
                            .edit = weft_arena_print(a, "link %s", *there ? there : back),
                            .document = root},
            ends);
}

static void add_speed(weft_upgrade_list *l, int d)
{
    weft_arena *a = l->a;
    weft_doc *root = weft_doc_copy(l->machine, a), *tasks = weft_doc_entry(root, "tasks");
    int n = 0;

    for (int u = 0; u < tasks->n; u++)
        n += *scale_item(weft_doc_entry(tasks->item[u], "seconds"), d, 0.5, a) != '\0';
    if (n > 0)
        weft_upgrade_add(
            l,
            &(weft_upgrade){.kind = WEFT_UPGRADE_SPEED,
                            .what =
                                weft_arena_print(a, "twice the speed of %s", device_name(root, d)),
                            .edit = weft_arena_print(a, "seconds of %d tasks on %s halved", n,
                                                     device_name(root, d)),
                            .document = root},
            device_name(root, d));
}

static void add_memory(weft_upgrade_list *l, int d)
{
    weft_arena *a = l->a;
    weft_doc *root = weft_doc_copy(l->machine, a), *capacity = weft_doc_entry(root, "capacity");
    const char *edit = capacity == NULL ? "" : scale_item(capacity, d, 2, a);

    if (*edit)
        weft_upgrade_add(l,
                         &(weft_upgrade){.kind = WEFT_UPGRADE_MEMORY,
                                         .what = weft_arena_print(a, "twice the memory of %s",
                                                                  device_name(root, d)),
                                         .edit = weft_arena_print(a, "capacity %s", edit),
                                         .document = root},
                         device_name(root, d));
}

/* --- one more -------------------------------------------------------------------------------- */

/* The device that an amount of 1 reaches first from d; -1: none. */
static int nearest_of(const weft_doc *link, const weft_doc *latency, int d)
{
    double best_s = INFINITY;
    int best = -1;

    for (int e = 0; e < link->n; e++) {
        const weft_doc *x = link->item[d]->item[e];
        double at_s = weft_doc_is_number(x) ? x->real + latency->item[d]->item[e]->real : INFINITY;

        if (e != d && at_s < best_s) {
            best_s = at_s;
            best = e;
        }
    }
    return best;
}

/* Row and column of the copy of d; `near` is whose link original and copy get, -1: `usual`. */
static void grow_matrix(weft_doc *matrix, int d, int near, double usual, weft_arena *a)
{
    int n = matrix->n;
    weft_doc *row = weft_doc_copy(matrix->item[d], a), *alone = weft_doc_new_real(a, usual);
    const weft_doc *there = near < 0 ? alone : matrix->item[d]->item[near];
    const weft_doc *back = near < 0 ? alone : matrix->item[near]->item[d];

    for (int i = 0; i < n; i++) {
        const weft_doc *from = i == d ? there : matrix->item[i]->item[d];

        weft_doc_add(a, matrix->item[i], weft_doc_copy(from, a));
    }
    row->item[d] = weft_doc_copy(back, a);
    weft_doc_add(a, row, weft_doc_new_int(a, 0));
    weft_doc_add(a, matrix, row);
}

static const char *new_name(const weft_doc *root, const char *name, weft_arena *a)
{
    for (int i = 2;; i++) {
        const char *trial = weft_arena_print(a, "%s-%d", name, i);
        bool is_taken = false;

        for (int d = 0; d < n_devices(root); d++)
            is_taken |= strcmp(device_name(root, d), trial) == 0;
        if (!is_taken)
            return trial;
    }
}

static void add_device(weft_upgrade_list *l, int d)
{
    weft_arena *a = l->a;
    weft_doc *root = weft_doc_copy(l->machine, a), *tasks = weft_doc_entry(root, "tasks");
    weft_doc *link = matrix_of(root, "link", DEFAULT_LINK, a);
    weft_doc *latency = matrix_of(root, "latency", 0, a);
    weft_doc *capacity = weft_doc_entry(root, "capacity"),
             *switch_ = weft_doc_entry(root, "switch");
    const char *name = device_name(root, d), *copy = new_name(root, name, a);
    int near = nearest_of(link, latency, d);

    for (int u = 0; u < tasks->n; u++) {
        weft_doc *seconds = weft_doc_entry(tasks->item[u], "seconds");

        weft_doc_add(a, seconds, weft_doc_copy(seconds->item[d], a));
    }
    grow_matrix(link, d, near, DEFAULT_LINK, a);
    grow_matrix(latency, d, near, 0, a);
    if (capacity != NULL)
        weft_doc_add(a, capacity, weft_doc_copy(capacity->item[d], a));
    if (switch_ != NULL)
        weft_doc_add(a, switch_, weft_doc_copy(switch_->item[d], a));
    weft_doc_add(a, weft_doc_entry(root, "devices"), weft_doc_new_text(a, copy));
    weft_upgrade_add(
        l,
        &(weft_upgrade){
            .kind = WEFT_UPGRADE_DEVICE,
            .what = weft_arena_print(a, "one more %s", name),
            .edit = weft_arena_print(a, "a device %s with the times and links of %s", copy, name),
            .document = root},
        name);
}

void weft_upgrade_tasks(weft_upgrade_list *l)
{
    int n = n_devices(l->machine);

    for (int p = 0; p < n; p++)
        for (int q = p + 1; q < n && weft_upgrade_asked(l, WEFT_UPGRADE_LINK); q++)
            add_link(l, p, q);
    for (int d = 0; weft_upgrade_asked(l, WEFT_UPGRADE_SPEED) && d < n; d++)
        add_speed(l, d);
    for (int d = 0; weft_upgrade_asked(l, WEFT_UPGRADE_MEMORY) && d < n; d++)
        add_memory(l, d);
    for (int d = 0; weft_upgrade_asked(l, WEFT_UPGRADE_DEVICE) && d < n; d++)
        add_device(l, d);
}
