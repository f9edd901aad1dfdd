/* SPDX-License-Identifier: MIT */
/* event.c: jobs on resources -> timeline.
 *
 * 1. On a queue the order is known: each job waits for those of the next lower rank, as for
 *    dependences. Jobs of equal rank do not wait for each other.
 * 2. A job is ready at the time when its release has come and all it waits for has ended. If it
 *    uses queues only, it starts then. Else it joins the lines of its other resources, ordered by
 *    (ready time, rank), and starts when all these resources are free and it is the first in each
 *    of these lines: nobody overtakes on a shared link.
 * 3. Time jumps from end to end. At one time, first all that ends, becomes ready or passes without
 *    length is worked off; only when nothing of this is left, lines are served. Jobs that start
 *    then have no resource in common, so the timeline depends on (ready time, rank) alone, not on
 *    the order in which events are handled.
 *
 * If queues and dependences form a cycle, the jobs on and behind it never start: is_stuck is set,
 * and they start and end at INFINITY. All others are as if these were not there.
 *
 * Time O((jobs + dependences + uses) log jobs), and for each use of a link one look at the route of
 * the first in its line. */
#include <math.h>
#include <string.h>

#include "parts.h"

/* --- sorting by radix, the lowest digit first ------------------------------------------------ */

enum { DIGIT_BITS = 11, N_VALUES = 1 << DIGIT_BITS, N_DIGITS = (64 + DIGIT_BITS - 1) / DIGIT_BITS };

static int digit_of(uint64_t key, int digit)
{
    return (int)(key >> (digit * DIGIT_BITS) & (N_VALUES - 1));
}

uint64_t weft_time_key(double at_s)
{
    const uint64_t sign = UINT64_C(1) << 63;
    uint64_t bits;

    at_s += 0.0; /* one zero only */
    memcpy(&bits, &at_s, sizeof bits);
    return bits & sign ? ~bits : bits | sign;
}

/* One digit, from order to `to`. at[v]: how many have a value below v. */
static void sort_digit(const uint64_t *key, const int *order, int n, int digit, int *to)
{
    int at[N_VALUES + 1] = {0};

    for (int i = 0; i < n; i++)
        at[digit_of(key[order[i]], digit) + 1]++;
    for (int v = 1; v <= N_VALUES; v++)
        at[v] += at[v - 1];
    for (int i = 0; i < n; i++)
        to[at[digit_of(key[order[i]], digit)]++] = order[i];
}

void weft_sort(const uint64_t *key, int *order, int n, weft_arena *scratch)
{
    size_t mark = weft_arena_mark(scratch);
    int *to = WEFT_NEW(scratch, int, n);
    uint64_t differs = 0;

    for (int i = 1; i < n; i++)
        differs |= key[order[i]] ^ key[order[0]];
    for (int digit = 0; digit < N_DIGITS; digit++)
        if (digit_of(differs, digit) != 0) {
            sort_digit(key, order, n, digit, to);
            memcpy(order, to, (size_t)n * sizeof *order);
        }
    weft_arena_rewind(scratch, mark);
}

/* --- jobs ------------------------------------------------------------------------------------ */

weft_jobs *weft_jobs_new(int n_jobs, int n_resources, int64_t n_deps, int64_t n_uses, weft_arena *a)
{
    weft_jobs *j = WEFT_NEW(a, weft_jobs, 1);

    *j = (weft_jobs){
        .n_jobs = n_jobs,
        .n_resources = n_resources,
        .duration_s = WEFT_NEW(a, double, n_jobs),
        .release_s = WEFT_NEW(a, double, n_jobs),
        .dep_at = WEFT_NEW(a, int, n_jobs + 1),
        .dep = WEFT_NEW(a, int, n_deps),
        .use_at = WEFT_NEW(a, int, n_jobs + 1),
        .use = WEFT_NEW(a, int, n_uses),
        .is_queue = WEFT_NEW(a, bool, n_resources),
        .rank = WEFT_NEW(a, int64_t, n_jobs),
        .kind = WEFT_NEW(a, weft_job_kind, n_jobs),
        .task = WEFT_NEW(a, int, n_jobs),
        .tensor = WEFT_NEW(a, int, n_jobs),
        .from = WEFT_NEW(a, int, n_jobs),
        .to = WEFT_NEW(a, int, n_jobs),
        .item = WEFT_NEW(a, int, n_jobs),
    };
    for (int i = 0; i < n_jobs; i++)
        j->task[i] = j->tensor[i] = j->from[i] = j->to[i] = -1;
    return j;
}

/* --- the state of a run ---------------------------------------------------------------------- */

/* A place in a queue. */
typedef struct place {
    int job, use;
} place;

typedef struct span {
    int first, end; /* into place[] */
} span;

typedef struct run {
    const weft_jobs *j;
    weft_timeline *t;
    int *next_at, *next; /* job -> jobs that wait for it: dependences and queues */
    int *pending;        /* [n_jobs] what a job still waits for; its release counts as one */
    place *place;        /* [uses of queues] by resource, rank, job */
    span *ahead;         /* [uses] who is ahead in the queue */
    int *before;         /* [uses] who had the link or device before, or -1 */
    int *user;           /* [n_resources] last user, or -1 */
    bool *is_taken;      /* [n_resources] by a job that has not ended */
    weft_queue *line;    /* [n_resources] empty for queues */
    weft_queue events;   /* ends of jobs, and releases as -1 - job */
    int *ended;          /* jobs that ended now, still to be worked off */
    int n_ended;
    int *touched; /* resources whose line may move */
    int n_touched;
    bool *is_touched;
    weft_arena *scratch;
} run;

/* --- queues as dependences ------------------------------------------------------------------- */

/* Uses of queues by (resource, rank, job) into place[]; returns their number. */
static int list_places(run *r)
{
    const weft_jobs *j = r->j;
    int n_uses = j->use_at[j->n_jobs], n = 0;
    uint64_t *key = WEFT_NEW(r->scratch, uint64_t, n_uses);
    int *order = WEFT_NEW(r->scratch, int, n_uses), *job = WEFT_NEW(r->scratch, int, n_uses);

    for (int i = 0; i < j->n_jobs; i++)
        for (int k = j->use_at[i]; k < j->use_at[i + 1]; k++) {
            job[k] = i;
            key[k] = (uint64_t)j->rank[i] ^ UINT64_C(1) << 63; /* the negative first */
            if (j->is_queue[j->use[k]])
                order[n++] = k;
        }
    weft_sort(key, order, n, r->scratch);
    for (int k = 0; k < n_uses; k++)
        key[k] = (uint64_t)j->use[k];
    weft_sort(key, order, n, r->scratch);
    r->place = WEFT_NEW(r->scratch, place, n);
    for (int i = 0; i < n; i++)
        r->place[i] = (place){job[order[i]], order[i]};
    return n;
}

/* Fills `ahead` for queues: the jobs of the next lower rank. */
static void line_up(run *r)
{
    const weft_jobs *j = r->j;
    int n = list_places(r), group = 0, before = 0; /* where this rank and the one before start */

    for (int i = 1; i < n; i++) {
        const place *x = &r->place[i], *last = x - 1;
        if (j->use[x->use] != j->use[last->use]) {
            before = group = i;
        } else if (j->rank[x->job] != j->rank[last->job]) {
            before = group;
            group = i;
        }
        r->ahead[x->use] = (span){before, group};
    }
}

/* `to` waits for `from`. */
static void add_edge(run *r, int from, int to, bool is_counting)
{
    if (is_counting) {
        r->next_at[from + 1]++;
        r->pending[to]++;
    } else {
        r->next[r->next_at[from]++] = to;
    }
}

static void add_edges(run *r, bool is_counting)
{
    const weft_jobs *j = r->j;

    for (int i = 0; i < j->n_jobs; i++) {
        for (int k = j->dep_at[i]; k < j->dep_at[i + 1]; k++)
            add_edge(r, j->dep[k], i, is_counting);
        for (int k = j->use_at[i]; k < j->use_at[i + 1]; k++)
            for (int l = r->ahead[k].first; l < r->ahead[k].end; l++)
                add_edge(r, r->place[l].job, i, is_counting);
    }
}

static void list_next(run *r)
{
    int n = r->j->n_jobs;

    r->next_at = WEFT_NEW(r->scratch, int, n + 1);
    add_edges(r, true);
    for (int i = 0; i < n; i++)
        r->next_at[i + 1] += r->next_at[i];
    r->next = WEFT_NEW(r->scratch, int, r->next_at[n]);
    add_edges(r, false); /* moves each next_at[i] to the next one's first */
    for (int i = n; i > 0; i--)
        r->next_at[i] = r->next_at[i - 1];
    r->next_at[0] = 0;
}

static void make_lines(run *r)
{
    const weft_jobs *j = r->j;
    int *length = WEFT_NEW(r->scratch, int, j->n_resources);

    r->line = WEFT_NEW(r->scratch, weft_queue, j->n_resources);
    for (int k = 0; k < j->use_at[j->n_jobs]; k++) {
        length[j->use[k]] += !j->is_queue[j->use[k]];
        r->before[k] = -1;
    }
    for (int i = 0; i < j->n_resources; i++) {
        r->line[i].entry = WEFT_NEW(r->scratch, weft_queued, length[i]);
        r->user[i] = -1;
    }
}

static run new_run(const weft_jobs *j, weft_timeline *t)
{
    weft_arena *a = weft_arena_new();
    run r = {
        .j = j,
        .t = t,
        .pending = WEFT_NEW(a, int, j->n_jobs),
        .ahead = WEFT_NEW(a, span, j->use_at[j->n_jobs]),
        .before = WEFT_NEW(a, int, j->use_at[j->n_jobs]),
        .user = WEFT_NEW(a, int, j->n_resources),
        .is_taken = WEFT_NEW(a, bool, j->n_resources),
        .events = {.entry = WEFT_NEW(a, weft_queued, 2 * (size_t)j->n_jobs)},
        .ended = WEFT_NEW(a, int, j->n_jobs),
        .touched = WEFT_NEW(a, int, j->n_resources),
        .is_touched = WEFT_NEW(a, bool, j->n_resources),
        .scratch = a,
    };

    line_up(&r);
    list_next(&r);
    make_lines(&r);
    return r;
}

/* --- one instant ----------------------------------------------------------------------------- */

static void touch(run *r, int resource)
{
    if (!r->is_touched[resource])
        r->touched[r->n_touched++] = resource;
    r->is_touched[resource] = true;
}

static void start(run *r, int i, double now_s)
{
    const weft_jobs *j = r->j;

    r->t->start_s[i] = now_s;
    r->t->end_s[i] = weft_end_s(now_s, j->duration_s[i]);
    if (r->t->end_s[i] > now_s)
        weft_queue_push(&r->events, (weft_queued){r->t->end_s[i], i, i});
    else
        r->ended[r->n_ended++] = i;
}

static void make_ready(run *r, int i, double now_s)
{
    const weft_jobs *j = r->j;
    bool is_in_line = false;

    for (int k = j->use_at[i]; k < j->use_at[i + 1]; k++) {
        if (j->is_queue[j->use[k]])
            continue;
        weft_queue_push(&r->line[j->use[k]], (weft_queued){now_s, j->rank[i], i});
        touch(r, j->use[k]);
        is_in_line = true;
    }
    if (!is_in_line)
        start(r, i, now_s);
}

static void drop_wait(run *r, int i, double now_s)
{
    if (--r->pending[i] == 0)
        make_ready(r, i, now_s);
}

static void finish(run *r, int i, double now_s)
{
    const weft_jobs *j = r->j;

    for (int k = j->use_at[i]; k < j->use_at[i + 1]; k++)
        if (!j->is_queue[j->use[k]]) {
            r->is_taken[j->use[k]] = false;
            touch(r, j->use[k]);
        }
    for (int k = r->next_at[i]; k < r->next_at[i + 1]; k++)
        drop_wait(r, r->next[k], now_s);
}

/* True if job i is first in all its lines and their resources are free. */
static bool has_its_turn(const run *r, int i)
{
    const weft_jobs *j = r->j;

    for (int k = j->use_at[i]; k < j->use_at[i + 1]; k++) {
        int resource = j->use[k];
        if (!j->is_queue[resource] && (r->is_taken[resource] || r->line[resource].entry[0].id != i))
            return false;
    }
    return true;
}

static void serve(run *r, int i, double now_s)
{
    const weft_jobs *j = r->j;

    for (int k = j->use_at[i]; k < j->use_at[i + 1]; k++) {
        int resource = j->use[k];
        if (j->is_queue[resource])
            continue;
        weft_queue_pop(&r->line[resource]);
        r->before[k] = r->user[resource];
        r->user[resource] = i;
        r->is_taken[resource] = true;
    }
    start(r, i, now_s);
}

static void serve_lines(run *r, double now_s)
{
    while (r->n_touched > 0) {
        int resource = r->touched[--r->n_touched];
        const weft_queue *l = &r->line[resource];
        r->is_touched[resource] = false;
        if (l->n > 0 && has_its_turn(r, l->entry[0].id))
            serve(r, l->entry[0].id, now_s);
    }
}

static void settle(run *r, double now_s)
{
    do {
        while (r->n_ended > 0)
            finish(r, r->ended[--r->n_ended], now_s);
        serve_lines(r, now_s);
    } while (r->n_ended > 0);
}

static void begin(run *r)
{
    const weft_jobs *j = r->j;

    for (int i = 0; i < j->n_jobs; i++) {
        r->t->start_s[i] = r->t->end_s[i] = INFINITY;
        r->t->waits_for[i] = -1;
        r->pending[i]++; /* its release */
    }
    for (int i = 0; i < j->n_jobs; i++)
        if (j->release_s[i] > 0)
            weft_queue_push(&r->events, (weft_queued){j->release_s[i], -1 - (int64_t)i, -1 - i});
        else
            drop_wait(r, i, 0.0);
    settle(r, 0.0);
}

static void handle(run *r, weft_queued event)
{
    if (event.id < 0)
        drop_wait(r, -1 - event.id, event.key);
    else
        r->ended[r->n_ended++] = event.id;
}

/* --- what decided the start ------------------------------------------------------------------ */

/* Makes job k the reason for the start of i, if it ended then and no lower number did. */
static void consider(run *r, int i, int k)
{
    int *best = &r->t->waits_for[i];

    if (k >= 0 && r->t->end_s[k] >= r->t->start_s[i] && (*best < 0 || k < *best))
        *best = k;
}

/* A job starts at the very time when something it waits for ends, unless at its release. */
static void explain(run *r, int i)
{
    const weft_jobs *j = r->j;

    for (int k = j->dep_at[i]; k < j->dep_at[i + 1]; k++)
        consider(r, i, j->dep[k]);
    if (r->t->waits_for[i] >= 0)
        return;
    for (int k = j->use_at[i]; k < j->use_at[i + 1]; k++) {
        consider(r, i, r->before[k]);
        for (int l = r->ahead[k].first; l < r->ahead[k].end; l++)
            consider(r, i, r->place[l].job);
    }
}

static void finish_timeline(run *r)
{
    weft_timeline *t = r->t;

    for (int i = 0; i < t->n_jobs; i++) {
        t->is_stuck |= r->pending[i] > 0;
        t->end_of_all_s = fmax(t->end_of_all_s, t->end_s[i]);
        if (r->pending[i] == 0)
            explain(r, i);
    }
}

weft_timeline weft_run_jobs(const weft_jobs *j, weft_arena *a)
{
    weft_timeline t = {
        .n_jobs = j->n_jobs,
        .start_s = WEFT_NEW(a, double, j->n_jobs),
        .end_s = WEFT_NEW(a, double, j->n_jobs),
        .waits_for = WEFT_NEW(a, int, j->n_jobs),
    };
    run r = new_run(j, &t);

    begin(&r);
    while (r.events.n > 0) {
        weft_queued event = weft_queue_pop(&r.events);
        handle(&r, event);
        while (r.events.n > 0 && r.events.entry[0].key <= event.key)
            handle(&r, weft_queue_pop(&r.events));
        settle(&r, event.key);
    }
    finish_timeline(&r);
    weft_arena_free(r.scratch);
    return t;
}
