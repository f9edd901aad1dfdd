/* SPDX-License-Identifier: MIT */
/* execute.c: starts the processes of a run, watches them, and says what they have measured.
 *
 * 1. Memory that all see is made before the processes are, so that nothing is left behind.
 * 2. The whole network runs once for each set of inputs; then a process for each device that has
 *    segments. The parent does nothing but look: a process that ends early, one that says why it
 *    failed, no segment that ends for a long time, or the limit, and all are ended.
 * 3. An item counts (is kept) if on every device the pacers before and after it were within
 *    WEFT_PACER_SLACK of the fastest of that device and nobody took the processor away.
 * 4. Structure: the simulator replays each item with the seconds that its segments took, and no time
 *    for handing over, which in shared memory is none. What is left of the latency is what the rules
 *    of time do not say. Where a device lost its processor while it waited, the time from the moment
 *    when it could have gone on counts as its own. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pace.h"
#include "subprocess.h"
#include "worker.h"

enum { LOOK_MS = 5, ALIGNMENT = 64 };

static const double LEAST_STALL_S = 10, STALL_FACTOR = 100;
static const size_t MOST_BYTES = SIZE_MAX / 4; /* more are none either */

typedef struct running {
    weft_board b;
    weft_arena *a;
    pid_t *child; /* [n_workers + 1] 0: none */
    double begin_s, stall_s;
    size_t missing; /* bytes of memory that could not be had */
    struct block {
        void *at;
        size_t bytes;
    } block[16];
    int n_blocks;
} running;

/* --- memory ---------------------------------------------------------------------------------- */

/* NULL, and noted in `missing`: there is not so much. */
static void *shared(running *r, size_t n, size_t size)
{
    size_t bytes = n < SIZE_MAX / 2 / size ? (n + 1) * size : SIZE_MAX;
    void *at = bytes < SIZE_MAX ? weft_subprocess_memory(bytes) : NULL;

    if (at == NULL) {
        r->missing = bytes;
        return NULL;
    }
    r->block[r->n_blocks].at = at;
    r->block[r->n_blocks++].bytes = bytes;
    return at;
}

static void release(running *r)
{
    for (int i = 0; i < r->n_blocks; i++)
        weft_subprocess_release(r->block[i].at, r->block[i].bytes);
}

static weft_status lay_out(running *r)
{
    const weft_split_net *s = r->b.s;
    size_t n = (size_t)s->n_tensors * WEFT_DEPTH, *at = WEFT_NEW(r->a, size_t, n + 1), bytes = 0;
    char text[48];

    for (size_t i = 0; i < n; i++) {
        at[i] = bytes;
        bytes += ((size_t)s->tensor[i / WEFT_DEPTH].bytes + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
        bytes = bytes < MOST_BYTES ? bytes : MOST_BYTES;
    }
    at[n] = bytes;
    r->b.at = at;
    r->b.data = shared(r, bytes + ALIGNMENT, 1);
    r->b.expected = shared(r, bytes + ALIGNMENT, 1);
    r->b.ready = shared(r, n, sizeof *r->b.ready);
    r->b.has_expected = shared(r, 1, sizeof *r->b.has_expected);
    r->b.control = shared(r, 1, sizeof *r->b.control);
    r->b.state = shared(r, (size_t)r->b.n_workers + 1, sizeof *r->b.state);
    r->b.item = shared(r, (size_t)r->b.o->n_items * (size_t)r->b.n_workers, sizeof *r->b.item);
    r->b.step = shared(r, (size_t)r->b.o->n_items * (size_t)s->n_segments, sizeof *r->b.step);
    r->b.stream_end_s =
        shared(r, (size_t)r->b.o->n_stream * (size_t)r->b.n_workers, sizeof *r->b.stream_end_s);
    if (r->missing == 0)
        return WEFT_OK;
    return weft_fail(WEFT_E_SYSTEM,
                     "the run needs %s for tensors and times, which the system does not give",
                     weft_format_bytes((double)r->missing, text));
}

/* --- inputs ---------------------------------------------------------------------------------- */

/* Numbers that any network takes: reals from -1 to 1, bytes, indices 0 and 1. */
static void fill_random(uint8_t *to, const weft_segment_tensor *t, weft_rng *rng)
{
    int64_t n = weft_shape_elements(t->shape);
    size_t size = (size_t)weft_dtype_bits(t->type) / 8;

    for (int64_t i = 0; i < n; i++, to += size) {
        float f = (float)(2 * weft_rng_real(rng) - 1);
        uint64_t bits = (uint64_t)weft_rng_below(rng, t->type == WEFT_U8 ? 256 : 2);
        uint32_t single;
        double d = f;

        memcpy(&single, &f, sizeof single);
        if (t->type == WEFT_F64)
            memcpy(&bits, &d, sizeof bits);
        else if (t->type == WEFT_F32)
            bits = single;
        else if (t->type == WEFT_BF16)
            bits = single >> 16;
        else if (t->type == WEFT_F16) /* +-[0.5, 2) */
            bits = (weft_rng_next(rng) & 0x83ff) | 0x3800;
        memcpy(to, &bits, size < sizeof bits ? size : sizeof bits);
    }
}

static weft_status read_input(const running *r, int tensor, uint8_t *to)
{
    const weft_segment_tensor *t = &r->b.s->tensor[tensor];
    const char *path = weft_arena_print(r->a, "%s/%s.bin", r->b.o->inputs, t->name);
    weft_file f;

    size_t size;

    WEFT_TRY(weft_file_open(path, &f));
    size = f.size;
    if (size == (size_t)t->bytes && size > 0)
        memcpy(to, f.data, size);
    weft_file_close(&f);
    if (size != (size_t)t->bytes)
        return weft_fail(WEFT_E_INPUT, "%s: has %zu bytes, expected %lld", path, size,
                         (long long)t->bytes);
    return WEFT_OK;
}

static weft_status fill_inputs(running *r)
{
    weft_rng rng = weft_rng_seed(r->b.o->seed);

    for (int t = 0; t < r->b.s->n_inputs; t++)
        for (int k = 0; k < WEFT_DEPTH; k++) {
            uint8_t *to = weft_board_data(&r->b, t, k);

            if (r->b.o->inputs != NULL)
                WEFT_TRY(read_input(r, t, to));
            else
                fill_random(to, &r->b.s->tensor[t], &rng);
        }
    return WEFT_OK;
}

/* --- processes ------------------------------------------------------------------------------- */

/* worker n_workers: the whole network. */
static weft_status start(running *r, int worker)
{
    pid_t child = fork();

    if (child == 0) {
        if (worker == r->b.n_workers)
            weft_worker_whole(&r->b);
        else
            weft_worker_run(&r->b, worker);
    }
    if (child < 0)
        return weft_fail(WEFT_E_SYSTEM, "no process can be started: %s", strerror(errno));
    r->child[worker] = child;
    return WEFT_OK;
}

static const char *name_of(const running *r, int worker)
{
    return worker == r->b.n_workers ? "the whole network"
                                    : r->b.s->device[r->b.worker_device[worker]].name;
}

static void end_all(running *r)
{
    for (int w = 0; w <= r->b.n_workers; w++)
        if (r->child[w] > 0)
            kill(r->child[w], SIGKILL);
    for (int w = 0; w <= r->b.n_workers; w++) {
        while (r->child[w] > 0 && waitpid(r->child[w], NULL, 0) < 0 && errno == EINTR)
            continue;
        r->child[w] = 0;
    }
}

/* Why a process that is not done has ended. */
static weft_status failure(const running *r, int worker, int how)
{
    int who = atomic_load(&r->b.control->failed) - 1;

    if (who >= 0 && r->b.state[who].message[0] != '\0')
        return weft_fail(WEFT_E_SYSTEM, "%s: %s", name_of(r, who), r->b.state[who].message);
    return weft_fail(WEFT_E_SYSTEM, "%s: its process was ended by signal %d", name_of(r, worker),
                     WIFSIGNALED(how) ? WTERMSIG(how) : 0);
}

/* Takes the processes that have ended; *n: how many are left. */
static weft_status reap(running *r, int *n)
{
    *n = 0;
    for (int w = 0; w <= r->b.n_workers; w++) {
        int how;

        if (r->child[w] == 0)
            continue;
        if (waitpid(r->child[w], &how, WNOHANG) != r->child[w]) {
            ++*n;
            continue;
        }
        r->child[w] = 0;
        if (!atomic_load(&r->b.state[w].is_done))
            return failure(r, w, how);
    }
    return WEFT_OK;
}

static long steps_done(const running *r)
{
    long n = 0;

    for (int w = 0; w <= r->b.n_workers; w++)
        n += atomic_load(&r->b.state[w].n_steps) + atomic_load(&r->b.state[w].is_loaded);
    return n;
}

/* Until all that were started have ended. */
static weft_status watch(running *r, bool is_stepping)
{
    double last_s = weft_wall_s();
    long last = -1;
    int n = 1;

    while (n > 0) {
        double now_s = weft_wall_s();
        long steps = steps_done(r);

        poll(NULL, 0, LOOK_MS);
        WEFT_TRY(reap(r, &n));
        if (steps != last)
            last_s = now_s;
        last = steps;
        if ((r->b.o->stop != NULL && *r->b.o->stop) || weft_end_is_near())
            return weft_fail(WEFT_E_SYSTEM, "the run was stopped");
        if (now_s - r->begin_s > r->b.o->limit_s)
            return weft_fail(WEFT_E_SYSTEM, "the run has not ended within %.3g s (--time-limit)",
                             r->b.o->limit_s);
        if (is_stepping && now_s - last_s > r->stall_s && steps > r->b.n_workers)
            return weft_fail(WEFT_E_SYSTEM, "no segment has ended for %.3g s", r->stall_s);
    }
    return WEFT_OK;
}

static weft_status make_sockets(running *r)
{
    int n = r->b.n_workers;

    r->b.socket = weft_arena_alloc(r->a, sizeof *r->b.socket * (size_t)(n * n));
    for (int i = 0; i < n; i++)
        for (int k = i + 1; k < n; k++)
            if (socketpair(AF_UNIX, SOCK_STREAM, 0, r->b.socket[i * n + k]) != 0)
                return weft_fail(WEFT_E_SYSTEM, "no socket can be made: %s", strerror(errno));
    return WEFT_OK;
}

static void close_sockets(running *r)
{
    int n = r->b.n_workers;

    for (int i = 0; i < n && r->b.socket != NULL; i++)
        for (int k = i + 1; k < n; k++) {
            close(r->b.socket[i * n + k][0]);
            close(r->b.socket[i * n + k][1]);
        }
}

/* The engine `paced` computes other numbers than the rest, which need weights. */
static weft_status check_engine(const running *r, int d, const weft_engine **first)
{
    const weft_split_net *s = r->b.s;
    const weft_engine *e;

    if (s->device[d].engine == NULL)
        return weft_fail(WEFT_E_INPUT,
                         "device '%s' has no engine: weft run needs 'engine' and 'cpus' in the "
                         "platform file (weft profile --devices writes one)",
                         s->device[d].name);
    WEFT_TRY(weft_engine_find(s->device[d].engine, &e));
    *first = *first ? *first : e;
    if ((e == &weft_engine_paced) != (*first == &weft_engine_paced))
        return weft_fail(WEFT_E_INPUT,
                         "device '%s' has engine %s and another one %s: paced computes no real "
                         "numbers, so all devices have it or none",
                         s->device[d].name, e->name, (*first)->name);
    if (e != &weft_engine_paced && s->whole != NULL)
        return weft_fail(WEFT_E_INPUT,
                         "%s is a built-in network and has no weights: engine %s needs a file",
                         s->model, e->name);
    return WEFT_OK;
}

/* Devices that have segments. */
static weft_status find_workers(running *r)
{
    const weft_split_net *s = r->b.s;
    int *device = WEFT_NEW(r->a, int, s->n_devices);
    const weft_engine *first = NULL;

    for (int d = 0; d < s->n_devices; d++) {
        bool is_used = false;

        for (int i = 0; i < s->n_segments; i++)
            is_used |= s->segment[i].device == d;
        if (!is_used)
            continue;
        WEFT_TRY(check_engine(r, d, &first));
        device[r->b.n_workers++] = d;
    }
    r->b.worker_device = device;
    r->child = WEFT_NEW(r->a, pid_t, r->b.n_workers + 1);
    return WEFT_OK;
}

/* The engine of all devices, or the runtime that knows most. */
static const char *whole_engine(const running *r)
{
    const char *first = r->b.s->device[r->b.worker_device[0]].engine;

    for (int w = 1; w < r->b.n_workers; w++)
        if (strcmp(r->b.s->device[r->b.worker_device[w]].engine, first) != 0)
            return "ort";
    return first;
}

/* A processor for each process: no two devices have one in common, and there are as many. */
static bool has_room(const running *r)
{
    bool seen[WEFT_MOST_CPUS] = {false};
    int n = 0;

    for (int w = 0; w < r->b.n_workers; w++) {
        const weft_segment_device *d = &r->b.s->device[r->b.worker_device[w]];

        for (int i = 0; i < d->n_cores; i++) {
            if (d->cores[i] >= WEFT_MOST_CPUS || seen[d->cores[i]])
                return false;
            seen[d->cores[i]] = true;
        }
        n += d->n_cores > 0 ? d->n_cores : 1;
    }
    return n <= weft_cpus_allowed();
}

static weft_status run_all(running *r)
{
    WEFT_TRY(fill_inputs(r));
    if (r->b.whole_by != NULL) {
        double begin_s = weft_wall_s();

        WEFT_TRY(start(r, r->b.n_workers));
        WEFT_TRY(watch(r, false));
        r->stall_s = fmax(r->stall_s, STALL_FACTOR / 10 * (weft_wall_s() - begin_s));
    }
    if (r->b.o->uses_sockets)
        WEFT_TRY(make_sockets(r));
    for (int w = 0; w < r->b.n_workers; w++)
        WEFT_TRY(start(r, w));
    return watch(r, true);
}

/* --- what was measured ----------------------------------------------------------------------- */

static const weft_item_record *record(const running *r, int item, int worker)
{
    return &r->b.item[item * r->b.n_workers + worker];
}

static double latency_of(const running *r, int item)
{
    double end_s = 0;

    for (int w = 0; w < r->b.n_workers; w++)
        end_s = fmax(end_s, record(r, item, w)->end_s);
    return end_s - record(r, item, 0)->opened_s;
}

static double fastest_pacer(const running *r, int worker)
{
    double least = INFINITY;

    for (int i = 0; i < r->b.o->n_items; i++)
        least = fmin(least, fmin(record(r, i, worker)->before_s, record(r, i, worker)->after_s));
    return least;
}

static bool is_kept(const running *r, int item, const double *pacer_s)
{
    for (int w = 0; w < r->b.n_workers; w++) {
        const weft_item_record *x = record(r, item, w);

        if (x->switches > 0 || fmax(x->before_s, x->after_s) > WEFT_PACER_SLACK * pacer_s[w])
            return false;
    }
    return true;
}

/* Seconds of segment i in an item; see step 4 above. */
static double seconds_of(const running *r, int item, int i, const int *before)
{
    const weft_split_net *s = r->b.s;
    const weft_step_record *step = r->b.step + (size_t)item * (size_t)s->n_segments;
    double could_s = before[i] >= 0 ? step[before[i]].done_s : record(r, item, 0)->opened_s;

    if (!step[i].is_away)
        return step[i].done_s - step[i].ready_s;
    for (int k = 0; k < s->segment[i].n_reads; k++) {
        int maker = s->tensor[s->segment[i].reads[k]].producer;

        if (maker >= 0)
            could_s = fmax(could_s, step[maker].done_s);
    }
    return step[i].done_s - fmin(could_s, step[i].ready_s);
}

/* The segment before each on its device; -1: none. */
static const int *segments_before(const running *r)
{
    const weft_split_net *s = r->b.s;
    int *before = WEFT_NEW(r->a, int, s->n_segments), *last = WEFT_NEW(r->a, int, s->n_devices);

    for (int d = 0; d < s->n_devices; d++)
        last[d] = -1;
    for (int i = 0; i < s->n_segments; i++) {
        before[i] = last[s->segment[i].device];
        last[s->segment[i].device] = i;
    }
    return before;
}

static weft_status find_structure(const running *r, const double *latency_s, weft_execution *out)
{
    const weft_split_net *s = r->b.s;
    int n = r->b.o->n_items;
    const int *before = segments_before(r);
    double *error = WEFT_NEW(r->a, double, n + 1), *replay_s = WEFT_NEW(r->a, double, n + 1);
    double *seconds = WEFT_NEW(r->a, double, s->n_segments);
    double *none = WEFT_NEW(r->a, double, (size_t)s->n_tensors *(size_t)s->n_devices);

    for (int i = 0; i < n; i++) {
        for (int k = 0; k < s->n_segments; k++)
            seconds[k] = seconds_of(r, i, k, before);
        WEFT_TRY(weft_split_net_replay(s, seconds, none, &replay_s[i], NULL));
        error[i] = replay_s[i] / latency_s[i] - 1;
    }
    out->structure = weft_median(error, n);
    out->replay_s = weft_median(replay_s, n);
    return WEFT_OK;
}

/* Medians of segments over kept items; where none is kept, the least of each. */
static void find_segments(const running *r, const bool *kept, weft_execution *out)
{
    const weft_split_net *s = r->b.s;
    double *x = WEFT_NEW(r->a, double, r->b.o->n_items + 1);
    double *median_s = WEFT_NEW(r->a, double, s->n_segments);
    const int *before = segments_before(r);

    for (int k = 0; k < s->n_segments; k++) {
        int n = 0;

        for (int i = 0; i < r->b.o->n_items; i++)
            if (kept[i] || out->n_kept == 0)
                x[n++] = seconds_of(r, i, k, before);
        median_s[k] = weft_median(x, n); /* sorts */
        if (out->n_kept == 0 && n > 0)
            median_s[k] = x[0];
    }
    out->segment_s = median_s;
}

/* The item whose latency is nearest to the median. */
static void find_shown(const running *r, const bool *kept, const double *latency_s,
                       weft_execution *out)
{
    const weft_split_net *s = r->b.s;
    double *begin_s = WEFT_NEW(r->a, double, s->n_segments);
    double *end_s = WEFT_NEW(r->a, double, s->n_segments);
    double wanted = out->n_kept > 0 ? out->median_s : out->all_median_s;
    const weft_step_record *step;
    int best = 0;

    for (int i = 0; i < r->b.o->n_items; i++)
        if ((kept[i] || out->n_kept == 0) &&
            (fabs(latency_s[i] - wanted) < fabs(latency_s[best] - wanted) ||
             (out->n_kept > 0 && !kept[best])))
            best = i;
    step = r->b.step + (size_t)best * (size_t)s->n_segments;
    for (int k = 0; k < s->n_segments; k++) {
        begin_s[k] = step[k].ready_s - record(r, best, 0)->opened_s;
        end_s[k] = step[k].done_s - record(r, best, 0)->opened_s;
    }
    out->begin_s = begin_s;
    out->end_s = end_s;
    out->shown_s = latency_s[best];
}

static void find_latency(const running *r, bool *kept, double *latency_s, weft_execution *out)
{
    double *pacer_s = WEFT_NEW(r->a, double, r->b.n_workers);
    int n = r->b.o->n_items, n_kept = 0;
    double *x = WEFT_NEW(r->a, double, n + 1), *all = WEFT_NEW(r->a, double, n + 1);

    out->pacer_s = INFINITY;
    for (int w = 0; w < r->b.n_workers; w++) {
        pacer_s[w] = fastest_pacer(r, w);
        out->pacer_s = fmin(out->pacer_s, pacer_s[w]);
    }
    for (int i = 0; i < n; i++) {
        all[i] = latency_s[i] = latency_of(r, i);
        kept[i] = is_kept(r, i, pacer_s);
        if (kept[i])
            x[n_kept++] = latency_s[i];
    }
    out->n_items = n;
    out->n_kept = n_kept;
    out->median_s = weft_median(x, n_kept);
    out->mad_s = weft_mad(x, n_kept, out->median_s, r->a);
    out->all_median_s = weft_median(all, n);
    out->least_s = n > 0 ? all[0] : NAN;
}

/* When an item of the stream had ended on all devices. */
static double stream_end(const running *r, int item)
{
    double end_s = 0;

    for (int w = 0; w < r->b.n_workers; w++)
        end_s = fmax(end_s, r->b.stream_end_s[item * r->b.n_workers + w]);
    return end_s;
}

/* The median over stretches of some items, so that a pause of the machine does not count; the first
 * ones fill the pipeline. */
static double period_of(const running *r)
{
    enum { STRETCH = 2 * WEFT_DEPTH };
    int n = r->b.o->n_stream, n_found = 0;
    double *x = WEFT_NEW(r->a, double, n + 1);

    for (int i = WEFT_DEPTH; i + STRETCH < n; i++)
        x[n_found++] = (stream_end(r, i + STRETCH) - stream_end(r, i)) / STRETCH;
    return weft_median(x, n_found);
}

static void find_equality(const running *r, weft_execution *out)
{
    const weft_engine *engine;
    int n_different = 0;

    for (int w = 0; w < r->b.n_workers; w++) {
        out->n_compared += r->b.state[w].n_compared;
        n_different += r->b.state[w].n_different;
        out->difference = fmax(out->difference, r->b.state[w].difference);
    }
    out->is_equal = n_different == 0;
    out->whole_by = r->b.whole_by;
    for (int w = 0; w < r->b.n_workers && r->b.whole_by != NULL; w++) {
        const char *name = r->b.s->device[r->b.worker_device[w]].engine;
        bool is_other = strcmp(name, r->b.whole_by) != 0;

        if (weft_engine_find(name, &engine) == WEFT_OK && (is_other || r->b.o->level > 0))
            out->tolerance = fmax(out->tolerance, engine->tolerance);
    }
}

static void find_versions(const running *r, weft_execution *out)
{
    const char **version = WEFT_NEW(r->a, const char *, r->b.s->n_devices);

    for (int w = 0; w < r->b.n_workers; w++)
        version[r->b.worker_device[w]] = weft_arena_word(r->a, r->b.state[w].version);
    out->version = version;
}

static weft_status evaluate(const running *r, weft_execution *out)
{
    bool *kept = WEFT_NEW(r->a, bool, r->b.o->n_items + 1);
    double *latency_s = WEFT_NEW(r->a, double, r->b.o->n_items + 1);

    find_equality(r, out);
    find_versions(r, out);
    find_latency(r, kept, latency_s, out);
    find_segments(r, kept, out);
    if (r->b.o->n_items > 0) {
        find_shown(r, kept, latency_s, out);
        WEFT_TRY(find_structure(r, latency_s, out));
    }
    out->n_stream = r->b.o->n_stream;
    out->period_s = period_of(r);
    return WEFT_OK;
}

/* What a network takes at most until a segment ends, with room for slow machines. */
static double stall_limit(const weft_split_net *s)
{
    double most_s = 0;

    for (int i = 0; i < s->n_segments; i++)
        most_s = fmax(most_s, fmax(s->segment[i].seconds, s->segment[i].paced_s));
    return fmax(LEAST_STALL_S, STALL_FACTOR * most_s);
}

weft_status weft_execute(const weft_split_net *s, const weft_execute_options *o, weft_arena *a,
                         weft_execution *out)
{
    running r = {
        .b = {.s = s, .o = o, .n_checked = 2 * WEFT_DEPTH, .parent = (int)getpid()},
        .a = a,
        .begin_s = weft_wall_s(),
        .stall_s = stall_limit(s)
    };
    weft_status status;

    *out = (weft_execution){0};
    WEFT_TRY(find_workers(&r));
    r.b.has_room = has_room(&r);
    r.b.whole_by = o->model != NULL ? whole_engine(&r) : NULL;
    status = lay_out(&r);
    if (status == WEFT_OK)
        status = run_all(&r);
    end_all(&r);
    close_sockets(&r);
    if (status == WEFT_OK)
        status = evaluate(&r, out);
    release(&r);
    return status;
}
