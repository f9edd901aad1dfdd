/* SPDX-License-Identifier: MIT */
/* worker.c: what the process of one device does.
 *
 * 1. It pins itself, loads its engine and a session for each segment, and meets the others.
 * 2. Checked items: what lies in the places of tensors is overwritten with NaN, all meet, the item
 *    runs, and the outputs are compared with those of the whole network.
 * 3. Timed items, one after the other: pacer, meet, run in the order of the plan, pacer. Nobody
 *    coordinates: a segment begins when what it reads is there.
 * 4. The stream: items follow each other without meeting; the last outputs are compared. A
 *    device runs the first segment that can
 *    run, of the oldest item first; no item begins before the one WEFT_DEPTH ahead of it has ended.
 *
 * Waiting spins where there is a processor for each process, and sleeps after a while. */
#define _GNU_SOURCE
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pace.h"
#include "transport.h"

static const double LONGEST_SPIN_S = 0.1, GAP_S = 20e-6;

typedef struct worker {
    const weft_board *b;
    const weft_split_net *s;
    int number, device;
    weft_worker_state *state;
    const weft_engine *engine;
    weft_transport net;
    int n_steps;
    int *step; /* [n_steps] segments of the device, in order */
    void **session;
    weft_arena *a;
} worker;

/* --- waiting --------------------------------------------------------------------------------- */

typedef struct waiting {
    double begin_s, last_s; /* last_s: of the look before this one */
    bool has_slept;         /* since then */
} waiting;

/* A look that finds nothing. */
static weft_status pause_wait(worker *w, waiting *t, uint32_t epoch)
{
    double now_s = weft_wall_s();
    bool has = false;

    if (atomic_load(&w->b->control->failed))
        return weft_fail(WEFT_E_SYSTEM, "another device has failed");
    t->has_slept = false;
    WEFT_TRY(weft_transport_take(&w->net, &has));
    if (has)
        t->begin_s = now_s;
    else if (!w->b->has_room || now_s - t->begin_s > LONGEST_SPIN_S) {
        if (w->net.peer != NULL)
            weft_transport_poll(&w->net, 1);
        else
            weft_sleep(w->b->control, epoch);
        t->has_slept = true;
    }
    return WEFT_OK;
}

static weft_status meet(worker *w)
{
    weft_run_control *c = w->b->control;
    int phase = atomic_load(&c->phase);
    waiting t = {weft_wall_s(), weft_wall_s(), false};

    if (atomic_fetch_add(&c->n_arrived, 1) + 1 == w->b->n_workers) {
        atomic_store(&c->n_arrived, 0);
        c->opened_s = weft_wall_s();
        atomic_store(&c->phase, phase + 1);
        weft_tell(c);
        return WEFT_OK;
    }
    for (uint32_t epoch = atomic_load(&c->epoch); atomic_load(&c->phase) == phase;
         epoch = atomic_load(&c->epoch))
        WEFT_TRY(pause_wait(w, &t, epoch));
    return WEFT_OK;
}

static bool has_all(const worker *w, const weft_segment *g, int slot, uint32_t item)
{
    for (int i = 0; i < g->n_reads; i++)
        if (w->s->tensor[g->reads[i]].producer >= 0 &&
            !weft_transport_has(&w->net, g->reads[i], slot, item))
            return false;
    return true;
}

/* --- running --------------------------------------------------------------------------------- */

static weft_status run_step(worker *w, int k, int slot, uint32_t item)
{
    const weft_segment *g = &w->s->segment[w->step[k]];

    WEFT_TRY(w->engine->run(w->session[k], slot));
    for (int i = 0; i < g->n_makes; i++)
        WEFT_TRY(weft_transport_publish(&w->net, g->makes[i], slot, item));
    atomic_fetch_add_explicit(&w->state->n_steps, 1, memory_order_relaxed);
    return WEFT_OK;
}

/* Until all that a segment reads is there; t->last_s: before the last look but one. */
static weft_status wait_for(worker *w, const weft_segment *g, int slot, uint32_t item, waiting *t)
{
    bool has;

    WEFT_TRY(weft_transport_take(&w->net, &has));
    while (true) {
        uint32_t epoch = atomic_load(&w->b->control->epoch);
        double look_s = weft_wall_s();

        if (has_all(w, g, slot, item))
            return WEFT_OK;
        WEFT_TRY(pause_wait(w, t, epoch));
        t->last_s = t->has_slept ? weft_wall_s() : look_s;
    }
}

/* One item in the order of the plan, which began at last_s; records may be NULL. */
static weft_status run_item(worker *w, int slot, uint32_t item, double last_s,
                            weft_step_record *record)
{
    for (int k = 0; k < w->n_steps; k++) {
        weft_step_record *r = record ? &record[w->step[k]] : NULL;
        waiting t = {last_s, last_s, false};
        double ready_s;

        WEFT_TRY(wait_for(w, &w->s->segment[w->step[k]], slot, item, &t));
        ready_s = weft_wall_s();
        WEFT_TRY(run_step(w, k, slot, item));
        last_s = weft_wall_s();
        if (r != NULL)
            *r = (weft_step_record){ready_s, last_s, ready_s - t.last_s > GAP_S};
    }
    return WEFT_OK;
}

static weft_status run_timed(worker *w, int i, uint32_t item)
{
    const weft_board *b = w->b;
    weft_item_record *r = &b->item[i * b->n_workers + w->number];
    weft_step_record *step = b->step + (size_t)i * (size_t)w->s->n_segments;

    r->before_s = weft_pacer_s();
    r->switches = weft_switches();
    WEFT_TRY(meet(w));
    r->opened_s = b->control->opened_s;
    WEFT_TRY(run_item(w, 0, item, r->opened_s, step));
    r->end_s = w->n_steps > 0 ? step[w->step[w->n_steps - 1]].done_s : r->opened_s;
    r->switches = weft_switches() - r->switches;
    r->after_s = weft_pacer_s();
    return meet(w);
}

/* --- streams --------------------------------------------------------------------------------- */

/* How many items all devices have finished. */
static int all_finished(const worker *w)
{
    int least = 1 << 30;

    for (int i = 0; i < w->b->n_workers; i++) {
        int n = atomic_load(&w->b->state[i].n_finished);

        least = n < least ? n : least;
    }
    return least;
}

/* Runs one segment of the oldest item that has one to run; *has: there was one. */
static weft_status advance(worker *w, int *at, uint32_t first, bool *has)
{
    int n = w->b->o->n_stream, mine = atomic_load(&w->state->n_finished);
    int most = all_finished(w) + WEFT_DEPTH;

    for (int i = mine; i < n && i < most; i++) {
        uint32_t item = first + (uint32_t)i;
        int slot = i % WEFT_DEPTH, *k = &at[slot];

        *has = *k < w->n_steps && has_all(w, &w->s->segment[w->step[*k]], slot, item);
        if (!*has)
            continue;
        WEFT_TRY(run_step(w, (*k)++, slot, item));
        return WEFT_OK;
    }
    *has = false;
    return WEFT_OK;
}

/* Items end in order. */
static void finish_items(worker *w, int *at)
{
    for (int i = atomic_load(&w->state->n_finished);
         i < w->b->o->n_stream && at[i % WEFT_DEPTH] == w->n_steps; i++) {
        w->b->stream_end_s[i * w->b->n_workers + w->number] = weft_wall_s();
        at[i % WEFT_DEPTH] = 0;
        atomic_store(&w->state->n_finished, i + 1);
        weft_tell(w->b->control);
    }
}

static weft_status run_stream(worker *w, uint32_t first)
{
    int at[WEFT_DEPTH] = {0};
    waiting t = {weft_wall_s(), weft_wall_s(), false};

    WEFT_TRY(meet(w));
    while (atomic_load(&w->state->n_finished) < w->b->o->n_stream) {
        uint32_t epoch = atomic_load(&w->b->control->epoch);
        bool has = false, came;

        WEFT_TRY(weft_transport_take(&w->net, &came));
        WEFT_TRY(advance(w, at, first, &has));
        finish_items(w, at);
        if (has)
            t.begin_s = t.last_s = weft_wall_s();
        else
            WEFT_TRY(pause_wait(w, &t, epoch));
    }
    return meet(w);
}

/* --- outputs --------------------------------------------------------------------------------- */

static double number_at(const uint8_t *at, weft_dtype type, int64_t i)
{
    float f;
    double d;

    if (type == WEFT_F64) {
        memcpy(&d, at + 8 * i, sizeof d);
        return d;
    }
    if (type == WEFT_F16) {
        uint16_t h;
        int exponent, mantissa;

        memcpy(&h, at + 2 * i, sizeof h);
        exponent = h >> 10 & 31;
        mantissa = h & 1023;
        if (exponent == 31)
            return NAN;
        d = exponent == 0 ? ldexp(mantissa, -24) : ldexp(1024 + mantissa, exponent - 25);
        return h >> 15 ? -d : d;
    }
    memcpy(&f, at + 4 * i, sizeof f);
    return f;
}

/* Largest difference as a part of the largest element; INFINITY where that says nothing. */
static double difference_of(const uint8_t *x, const uint8_t *y, const weft_segment_tensor *t)
{
    int64_t n = weft_shape_elements(t->shape);
    double most = 0, largest = 0;

    if (t->type != WEFT_F32 && t->type != WEFT_F64 && t->type != WEFT_F16)
        return INFINITY;
    for (int64_t i = 0; i < n; i++) {
        double a = number_at(x, t->type, i), b = number_at(y, t->type, i);

        if (isnan(a) != isnan(b))
            return INFINITY;
        if (isnan(a))
            continue;
        most = fmax(most, fabs(a - b));
        largest = fmax(largest, fabs(b));
    }
    return largest > 0 ? most / largest : most > 0 ? INFINITY : 0;
}

static void compare_outputs(worker *w, int slot)
{
    const weft_board *b = w->b;

    for (int t = 0; t < w->s->n_tensors && *b->has_expected; t++) {
        const weft_segment_tensor *x = &w->s->tensor[t];
        const uint8_t *found = w->net.data[t * WEFT_DEPTH + slot];
        const uint8_t *expected = b->expected + b->at[t * WEFT_DEPTH + slot];

        if (!x->is_output || x->producer < 0 || w->s->segment[x->producer].device != w->device)
            continue;
        w->state->n_compared++;
        if (memcmp(found, expected, (size_t)x->bytes) == 0)
            continue;
        w->state->n_different++;
        w->state->difference = fmax(w->state->difference, difference_of(found, expected, x));
    }
}

/* All bits set: a NaN of every floating-point type, and no index. */
static void poison(worker *w, int slot)
{
    for (int t = 0; t < w->s->n_tensors; t++) {
        const weft_segment_tensor *x = &w->s->tensor[t];
        bool is_mine = x->producer >= 0 && w->s->segment[x->producer].device == w->device;

        if (x->producer >= 0 && (is_mine || w->net.peer != NULL))
            memset(w->net.data[t * WEFT_DEPTH + slot], 0xff, (size_t)x->bytes);
    }
}

static weft_status run_checked(worker *w, int i)
{
    int slot = i % WEFT_DEPTH;

    poison(w, slot);
    WEFT_TRY(meet(w));
    WEFT_TRY(run_item(w, slot, (uint32_t)i, weft_wall_s(), NULL));
    WEFT_TRY(meet(w));
    compare_outputs(w, slot);
    return WEFT_OK;
}

/* --- sessions -------------------------------------------------------------------------------- */

/* One input or output of a segment. */
static weft_session_tensor place_of(const worker *w, int tensor)
{
    const weft_segment_tensor *t = &w->s->tensor[tensor];

    return (weft_session_tensor){.name = t->name,
                                 .type = t->type,
                                 .shape = t->shape,
                                 .bytes = (size_t)t->bytes,
                                 .data = w->net.data + (size_t)tensor * WEFT_DEPTH};
}

static weft_status load_step(worker *w, int k)
{
    const weft_segment *g = &w->s->segment[w->step[k]];
    weft_session_tensor *input = WEFT_NEW(w->a, weft_session_tensor, g->n_reads + 1);
    weft_session_tensor *output = WEFT_NEW(w->a, weft_session_tensor, g->n_makes + 1);
    weft_session_spec spec = {.path = weft_arena_print(w->a, "%s/%s", w->s->folder, g->file),
                              .level = w->b->o->level,
                              .paced_s = g->paced_s,
                              .n_slots = WEFT_DEPTH,
                              .n_inputs = g->n_reads,
                              .n_outputs = g->n_makes,
                              .input = input,
                              .output = output};

    for (int i = 0; i < g->n_reads; i++)
        input[i] = place_of(w, g->reads[i]);
    for (int i = 0; i < g->n_makes; i++)
        output[i] = place_of(w, g->makes[i]);
    return w->engine->load(w->session[w->n_steps], &spec, &w->session[k]);
}

static void list_steps(worker *w)
{
    w->step = WEFT_NEW(w->a, int, w->s->n_segments + 1);
    for (int i = 0; i < w->s->n_segments; i++)
        if (w->s->segment[i].device == w->device)
            w->step[w->n_steps++] = i;
    w->session = WEFT_NEW(w->a, void *, w->n_steps + 1); /* the last: the engine's state */
}

static weft_status open_engine(worker *w, const char *name)
{
    const weft_segment_device *d = &w->s->device[w->device];
    const char *version = "";

    if (!weft_pin(d->cores, d->n_cores))
        return weft_fail(WEFT_E_SYSTEM, "device '%s' cannot have its processors", d->name);
    if (w->b->o->is_realtime && !weft_realtime())
        return weft_fail(WEFT_E_SYSTEM, "--realtime: the system does not allow SCHED_FIFO");
    WEFT_TRY(weft_engine_find(name, &w->engine));
    WEFT_TRY(w->engine->open(&w->b->o->places, d->n_cores, &w->session[w->n_steps], &version));
    snprintf(w->state->version, sizeof w->state->version, "%s", version);
    return WEFT_OK;
}

static weft_status prepare(worker *w)
{
    list_steps(w);
    WEFT_TRY(weft_transport_open(w->b, w->number, &w->net));
    WEFT_TRY(open_engine(w, w->s->device[w->device].engine));
    for (int k = 0; k < w->n_steps; k++)
        WEFT_TRY(load_step(w, k));
    atomic_store(&w->state->is_loaded, 1);
    return meet(w);
}

static weft_status work(worker *w)
{
    const weft_board *b = w->b;
    uint32_t item = 0;

    WEFT_TRY(prepare(w));
    for (; item < (uint32_t)b->n_checked; item++)
        WEFT_TRY(run_checked(w, (int)item));
    for (int i = 0; i < b->o->n_items; i++, item++)
        WEFT_TRY(run_timed(w, i, item));
    if (b->o->n_items > 0)
        compare_outputs(w, 0);
    item += WEFT_DEPTH; /* no item of the stream is there yet */
    if (b->o->n_stream > 0)
        WEFT_TRY(run_stream(w, item));
    for (int k = 0; k < WEFT_DEPTH && k < b->o->n_stream; k++)
        compare_outputs(w, k);
    return WEFT_OK;
}

/* --- processes ------------------------------------------------------------------------------- */

/* Nothing that belongs to the end of the program may run here. */
static void leave(weft_worker_state *state, weft_run_control *c, int number, weft_status status)
{
    int nobody = 0;

    if (status == WEFT_OK) {
        atomic_store(&state->is_done, 1);
    } else {
        snprintf(state->message, sizeof state->message, "%s", weft_message());
        atomic_compare_exchange_strong(&c->failed, &nobody, 1 + number);
        weft_tell(c);
    }
    kill(getpid(), SIGKILL);
}

static void begin(const weft_board *b, const char *name)
{
    weft_on_out_of_memory(NULL);
    weft_follow_parent(name);
    if (getppid() != b->parent)
        kill(getpid(), SIGKILL);
}

void weft_worker_run(const weft_board *b, int worker_number)
{
    worker w = {.b = b,
                .s = b->s,
                .number = worker_number,
                .device = b->worker_device[worker_number],
                .state = &b->state[worker_number],
                .a = weft_arena_new()};

    begin(b, weft_arena_print(w.a, "weft:%s", b->s->device[w.device].name));
    leave(w.state, b->control, worker_number, work(&w));
}

/* --- the whole network ----------------------------------------------------------------------- */

static void fill_whole(worker *w, weft_session_spec *spec, void **to)
{
    const weft_board *b = w->b;
    weft_session_tensor *input = WEFT_NEW(w->a, weft_session_tensor, w->s->n_inputs + 1);
    weft_session_tensor *output = WEFT_NEW(w->a, weft_session_tensor, w->s->n_tensors + 1);

    for (int t = 0; t < w->s->n_tensors; t++) {
        const weft_segment_tensor *x = &w->s->tensor[t];
        weft_session_tensor place = {x->name, x->type, x->shape, (size_t)x->bytes,
                                     to + (size_t)t * WEFT_DEPTH};

        for (int k = 0; k < WEFT_DEPTH; k++)
            to[t * WEFT_DEPTH + k] =
                (x->producer < 0 ? b->data : b->expected) + b->at[t * WEFT_DEPTH + k];
        if (x->producer < 0)
            input[spec->n_inputs++] = place;
        else if (x->is_output)
            output[spec->n_outputs++] = place;
    }
    spec->input = input;
    spec->output = output;
}

static weft_status work_whole(worker *w, const char *engine)
{
    weft_session_spec spec = {
        .path = w->b->o->model, .level = w->b->o->level, .n_slots = WEFT_DEPTH};
    void **to = WEFT_NEW(w->a, void *, (size_t)w->s->n_tensors *WEFT_DEPTH), *session;

    w->session = WEFT_NEW(w->a, void *, 1);
    WEFT_TRY(open_engine(w, engine));
    fill_whole(w, &spec, to);
    WEFT_TRY(w->engine->load(w->session[0], &spec, &session));
    for (int k = 0; k < WEFT_DEPTH; k++)
        WEFT_TRY(w->engine->run(session, k));
    atomic_store(w->b->has_expected, 1);
    return WEFT_OK;
}

void weft_worker_whole(const weft_board *b)
{
    weft_worker_state *state = &b->state[b->n_workers];
    worker w = {
        .b = b, .s = b->s, .device = b->worker_device[0], .state = state, .a = weft_arena_new()};

    begin(b, "weft:whole");
    leave(state, b->control, b->n_workers, work_whole(&w, b->whole_by));
}
