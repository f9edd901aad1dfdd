/* SPDX-License-Identifier: MIT */
/* constrain.c: tasks that the user pins to a device or puts together, by name.
 *
 * 1. "NODE=DEVICE,..." pins each task that NODE names; "A,B;C,D" puts all that A or B name on one
 *    device, and all that C or D name. A name is that of a task, or else a pattern in which '*'
 *    stands for any text and '?' for one character.
 * 2. Groups are merged with the colocation groups that the problem has already.
 * 3. What names no task or device, and two pins of a task or of a group that contradict each other,
 *    are errors. Whether a device supports what is pinned to it is found out later.
 *
 * Time O(names * tasks). */
#include "problem_spec.h"

#include <string.h>

typedef struct constraining {
    const weft_problem_spec *s;
    int *pin, *root; /* [n_tasks] device or -1; union-find of groups */
    bool *is_grouped;
    const char *flag; /* being read */
    weft_arena *a;
} constraining;

/* A part of a text. */
typedef struct word {
    const char *at;
    int n;
} word;

static word word_until(const char *at, const char *ends)
{
    return (word){at, (int)strcspn(at, ends)};
}

/* --- names ----------------------------------------------------------------------------------- */

static bool is_name(word w, const char *name)
{
    return strlen(name) == (size_t)w.n && strncmp(name, w.at, (size_t)w.n) == 0;
}

/* Backtracks to the last '*' only: enough, as an earlier one need not take more. */
static bool is_like(word w, const char *name)
{
    const char *again = NULL;
    int i = 0, star = -1;

    while (*name) {
        if (i < w.n && w.at[i] == '*') {
            star = i++;
            again = name;
        } else if (i < w.n && (w.at[i] == '?' || w.at[i] == *name)) {
            i++;
            name++;
        } else if (star >= 0) {
            i = star + 1;
            name = ++again;
        } else {
            return false;
        }
    }
    while (i < w.n && w.at[i] == '*')
        i++;
    return i == w.n;
}

static weft_status fail_name(const constraining *c, word w, const char *what,
                             const char *const *known, int n)
{
    enum { MOST_CANDIDATES = 4000 };
    const char *text = weft_arena_print(c->a, "%.*s", w.n, w.at);
    const char *near = weft_nearest(text, known, n < MOST_CANDIDATES ? n : MOST_CANDIDATES);

    return weft_fail(WEFT_E_INPUT, "--%s: there is no %s '%.*s'%s%.*s%s", c->flag, what,
                     WEFT_SHOWN(text), near ? " (did you mean '" : "", WEFT_SHOWN(near ? near : ""),
                     near ? "'?)" : "");
}

/* The tasks that a word names. */
static weft_status find_tasks(const constraining *c, word w, int *task, int *n)
{
    *n = 0;
    for (int u = 0; u < c->s->n_tasks && *n == 0; u++)
        if (is_name(w, c->s->task_name[u]))
            task[(*n)++] = u;
    for (int u = 0, exact = *n; u < c->s->n_tasks && exact == 0; u++)
        if (is_like(w, c->s->task_name[u]))
            task[(*n)++] = u;
    return *n > 0 ? WEFT_OK : fail_name(c, w, "node", c->s->task_name, c->s->n_tasks);
}

static weft_status find_device(const constraining *c, word w, int *out)
{
    for (*out = 0; *out < c->s->n_devices; (*out)++)
        if (is_name(w, c->s->device_name[*out]))
            return WEFT_OK;
    for (*out = 0; *out < c->s->n_devices; (*out)++)
        if (weft_is_copy_name(c->s->device_name[*out], weft_arena_print(c->a, "%.*s", w.n, w.at)))
            return WEFT_OK;
    return fail_name(c, w, "device", c->s->device_name, c->s->n_devices);
}

/* --- pins ------------------------------------------------------------------------------------ */

static weft_status fail_pins(const constraining *c, int u, int v)
{
    const char *const *task = c->s->task_name, *const *device = c->s->device_name;

    return weft_fail(WEFT_E_INPUT,
                     "'%.*s' is pinned to '%.*s' and '%.*s' to '%.*s', but they must share a "
                     "device",
                     WEFT_SHOWN(task[u]), WEFT_SHOWN(device[c->pin[u]]), WEFT_SHOWN(task[v]),
                     WEFT_SHOWN(device[c->pin[v]]));
}

static weft_status pin_tasks(constraining *c, const int *task, int n, int device)
{
    for (int i = 0; i < n; i++) {
        int *pin = &c->pin[task[i]];

        if (*pin >= 0 && *pin != device)
            return weft_fail(WEFT_E_INPUT, "--pin: '%.*s' is pinned to '%.*s' and to '%.*s'",
                             WEFT_SHOWN(c->s->task_name[task[i]]),
                             WEFT_SHOWN(c->s->device_name[*pin]),
                             WEFT_SHOWN(c->s->device_name[device]));
        *pin = device;
    }
    return WEFT_OK;
}

/* The last '=' parts node and device: names of nodes may have one. */
static weft_status read_pins(constraining *c, const char *text)
{
    int *task = WEFT_NEW(c->a, int, c->s->n_tasks), n, device;

    c->flag = "pin";
    while (*text) {
        word item = word_until(text, ","), node = {text, 0}, name;

        for (int i = 0; i < item.n; i++)
            if (text[i] == '=')
                node.n = i;
        name = (word){text + node.n + 1, item.n - node.n - 1};
        if (node.n == 0 || name.n <= 0)
            return weft_fail(WEFT_E_INPUT, "--pin is '%.*s', expected NODE=DEVICE",
                             item.n < 80 ? item.n : 80, text);
        WEFT_TRY(find_tasks(c, node, task, &n));
        WEFT_TRY(find_device(c, name, &device));
        WEFT_TRY(pin_tasks(c, task, n, device));
        text += item.n + (text[item.n] == ',');
    }
    return WEFT_OK;
}

/* --- groups ---------------------------------------------------------------------------------- */

static void join(constraining *c, int u, int v)
{
    int one = weft_root(c->root, u), other = weft_root(c->root, v);

    c->root[one < other ? other : one] = one < other ? one : other;
    c->is_grouped[u] = c->is_grouped[v] = true;
}

static void join_given(constraining *c)
{
    const int *colocation = c->s->colocation;
    int most = -1, *first;

    for (int u = 0; colocation && u < c->s->n_tasks; u++)
        most = colocation[u] > most ? colocation[u] : most;
    first = WEFT_NEW(c->a, int, (size_t)most + 2); /* 1 + task */
    for (int u = 0; colocation && u < c->s->n_tasks; u++) {
        if (colocation[u] < 0)
            continue;
        if (first[colocation[u]] == 0)
            first[colocation[u]] = u + 1;
        join(c, first[colocation[u]] - 1, u);
    }
}

static weft_status read_groups(constraining *c, const char *text)
{
    int *task = WEFT_NEW(c->a, int, c->s->n_tasks), first = -1, n;

    c->flag = "together";
    while (*text) {
        word item = word_until(text, ",;");

        if (item.n == 0)
            return weft_fail(WEFT_E_INPUT, "--together is '%.*s', expected names of nodes: A,B",
                             WEFT_SHOWN(text));
        WEFT_TRY(find_tasks(c, item, task, &n));
        first = first < 0 ? task[0] : first;
        for (int i = 0; i < n; i++)
            join(c, first, task[i]);
        text += item.n;
        first = *text == ';' ? -1 : first;
        text += *text != '\0';
    }
    return WEFT_OK;
}

/* Pins of one group must agree. */
static weft_status check_groups(const constraining *c)
{
    int *pinned = WEFT_NEW(c->a, int, c->s->n_tasks); /* 1 + task, by root */

    for (int u = 0; u < c->s->n_tasks; u++) {
        int root = weft_root(c->root, u);

        if (c->pin[u] < 0)
            continue;
        if (pinned[root] > 0 && c->pin[pinned[root] - 1] != c->pin[u])
            return fail_pins(c, pinned[root] - 1, u);
        if (pinned[root] == 0)
            pinned[root] = u + 1;
    }
    return WEFT_OK;
}

/* --- all ------------------------------------------------------------------------------------- */

static bool is_empty(const char *text)
{
    return text == NULL || *text == '\0';
}

weft_status weft_constrain(weft_problem_spec *s, weft_arena *a)
{
    constraining c = {.s = s, .a = a};
    int *colocation;

    if (is_empty(s->constraints.pin) && is_empty(s->constraints.together))
        return WEFT_OK;
    c.pin = WEFT_NEW(a, int, s->n_tasks);
    c.root = WEFT_NEW(a, int, s->n_tasks);
    c.is_grouped = WEFT_NEW(a, bool, s->n_tasks);
    colocation = WEFT_NEW(a, int, s->n_tasks);
    for (int u = 0; u < s->n_tasks; u++) {
        c.pin[u] = s->pin ? s->pin[u] : -1;
        c.root[u] = u;
    }
    join_given(&c);
    if (!is_empty(s->constraints.pin))
        WEFT_TRY(read_pins(&c, s->constraints.pin));
    if (!is_empty(s->constraints.together))
        WEFT_TRY(read_groups(&c, s->constraints.together));
    WEFT_TRY(check_groups(&c));
    for (int u = 0; u < s->n_tasks; u++)
        colocation[u] = c.is_grouped[u] ? weft_root(c.root, u) : -1;
    s->pin = c.pin;
    s->colocation = colocation;
    return WEFT_OK;
}
