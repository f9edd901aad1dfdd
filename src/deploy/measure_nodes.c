/* SPDX-License-Identifier: MIT */
/* measure_nodes.c: the time of every node of a network on one device.
 *
 * 1. A process of its own loads a session for each node. They run one after the other, each on what
 *    those before it have made: the network is computed, with caches as they are then.
 * 2. Pacers stand around groups of nodes of at least a millisecond, so that they disturb nothing.
 *    A group counts if both pacers were within WEFT_PACER_SLACK of the fastest and nobody took the
 *    processor away. Rounds go on until each node has N_WANTED samples that count, or the budget is
 *    used up. The fastest pacer may come late: samples are judged again in the end.
 * 3. In the same way the whole network in one session, and a network that does nothing: the launch,
 *    which every session pays and a node inside of a segment does not. It is subtracted from each
 *    node. What the sum of the nodes then is of the whole is the closure. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure.h"
#include "onnx.h"
#include "pace.h"
#include "subprocess.h"
#include "weights.h"
#include "worker.h"

enum { MOST_SAMPLES = 64, N_WANTED = 9, N_WARM = 3, LOOK_MS = 5, MOST_MESSAGE = 600, LINE = 64 };

static const double GROUP_S = 1e-3, GRACE_S = 60;

typedef struct sample {
    float pacer_s; /* the slower of the two; INFINITY: disturbed */
    double seconds;
} sample;

/* Samples of one thing; the oldest disturbed ones make room. */
typedef struct samples {
    int n, n_tried, n_good;
    sample at[MOST_SAMPLES];
} samples;

/* What the process tells. */
typedef struct told {
    atomic_int is_done;
    char message[MOST_MESSAGE], version[64];
    double pacer_s;
    samples whole, launch, node[]; /* node: [n_segments] */
} told;

typedef struct measuring {
    const weft_split_net *s;
    const char *model;
    const weft_measure_options *o;
    told *t;
    const weft_engine *engine;
    void *state, **session;
    samples **sample; /* [n_sessions] */
    int n_sessions;
    void **data; /* [n_tensors] */
    double end_s;
    weft_arena *a;
    const char *nothing; /* path of a network that does nothing */
} measuring;

/* --- samples --------------------------------------------------------------------------------- */

static bool is_good(const sample *x, double pacer_s)
{
    return x->pacer_s <= WEFT_PACER_SLACK * pacer_s;
}

static void add_sample(samples *to, double seconds, double pacer_s, double best_s)
{
    sample x = {(float)pacer_s, seconds};
    int worst = 0;

    to->n_tried++;
    to->n_good += is_good(&x, best_s);
    if (to->n < MOST_SAMPLES) {
        to->at[to->n++] = x;
        return;
    }
    for (int i = 1; i < to->n; i++)
        if (to->at[i].pacer_s > to->at[worst].pacer_s)
            worst = i;
    if (x.pacer_s < to->at[worst].pacer_s)
        to->at[worst] = x;
}

/* Times of a group, until its last pacer is known. */
typedef struct group {
    told *t;
    double before_s;
    long switches;
    struct pending {
        samples *of;
        double seconds;
    } at[4096];
    int n;
    double begin_s;
} group;

static void begin_group(group *g)
{
    g->n = 0;
    g->before_s = weft_pacer_s();
    g->t->pacer_s = fmin(g->t->pacer_s, g->before_s);
    g->switches = weft_switches();
    g->begin_s = weft_wall_s();
}

static void end_group(group *g)
{
    bool is_calm = weft_switches() == g->switches;
    double after_s = weft_pacer_s();

    g->t->pacer_s = fmin(g->t->pacer_s, after_s);
    for (int i = 0; i < g->n; i++)
        add_sample(g->at[i].of, g->at[i].seconds, is_calm ? fmax(g->before_s, after_s) : INFINITY,
                   g->t->pacer_s);
}

static void add_time(group *g, samples *of, double seconds)
{
    if (g->n < (int)(sizeof g->at / sizeof *g->at))
        g->at[g->n++] = (struct pending){of, seconds};
}

static bool is_full(const group *g)
{
    return weft_wall_s() - g->begin_s >= GROUP_S || g->n == (int)(sizeof g->at / sizeof *g->at);
}

/* --- in the process -------------------------------------------------------------------------- */

static bool has_enough(const measuring *m, samples *const *of, int n)
{
    for (int i = 0; i < n; i++)
        if (of[i]->n_good < N_WANTED)
            return weft_wall_s() > m->end_s;
    return true;
}

static weft_status timed(const measuring *m, void *session, double *seconds)
{
    double begin_s = weft_wall_s();

    WEFT_TRY(m->engine->run(session, 0));
    *seconds = weft_wall_s() - begin_s;
    return WEFT_OK;
}

/* Rounds over n sessions. */
static weft_status sample_all(measuring *m, void **session, samples *const *of, int n)
{
    group *g = WEFT_NEW(m->a, group, 1);
    double seconds;

    for (int i = 0; i < N_WARM * n; i++)
        WEFT_TRY(timed(m, session[i % n], &seconds));
    g->t = m->t;
    begin_group(g);
    for (int i = 0; i > 0 || !has_enough(m, of, n); i = (i + 1) % n) {
        WEFT_TRY(timed(m, session[i], &seconds));
        add_time(g, of[i], seconds);
        if (is_full(g)) {
            end_group(g);
            begin_group(g);
        }
    }
    end_group(g);
    return WEFT_OK;
}

static weft_session_tensor place_of(const measuring *m, int tensor)
{
    const weft_segment_tensor *t = &m->s->tensor[tensor];

    return (weft_session_tensor){t->name, t->type, t->shape, (size_t)t->bytes, &m->data[tensor]};
}

static weft_status load(measuring *m, const char *path, double paced_s, const int *reads,
                        int n_reads, const int *makes, int n_makes, void **session)
{
    weft_session_tensor *input = WEFT_NEW(m->a, weft_session_tensor, n_reads + 1);
    weft_session_tensor *output = WEFT_NEW(m->a, weft_session_tensor, n_makes + 1);
    weft_session_spec spec = {.path = path,
                              .level = m->o->level,
                              .paced_s = paced_s,
                              .n_slots = 1,
                              .n_inputs = n_reads,
                              .n_outputs = n_makes,
                              .input = input,
                              .output = output};

    for (int i = 0; i < n_reads; i++)
        input[i] = place_of(m, reads[i]);
    for (int i = 0; i < n_makes; i++)
        output[i] = place_of(m, makes[i]);
    return m->engine->load(m->state, &spec, session);
}

/* Nodes that the engine refuses are left out: they have no samples. An engine that takes none is an
 * error. */
static weft_status load_nodes(measuring *m)
{
    m->session = WEFT_NEW(m->a, void *, m->s->n_segments + 1);
    m->sample = WEFT_NEW(m->a, samples *, m->s->n_segments + 1);
    for (int i = 0; i < m->s->n_segments; i++) {
        const weft_segment *g = &m->s->segment[i];
        weft_status status =
            load(m, weft_arena_print(m->a, "%s/%s", m->s->folder, g->file), g->paced_s, g->reads,
                 g->n_reads, g->makes, g->n_makes, &m->session[m->n_sessions]);

        if (status == WEFT_OK)
            m->sample[m->n_sessions++] = &m->t->node[i];
        else if (i == m->s->n_segments - 1 && m->n_sessions == 0)
            return status;
    }
    return WEFT_OK;
}

static weft_status sample_whole(measuring *m)
{
    int *input = WEFT_NEW(m->a, int, m->s->n_tensors + 1), n_inputs = 0;
    int *output = WEFT_NEW(m->a, int, m->s->n_tensors + 1), n_outputs = 0;
    double paced_s = 0;
    void *session = NULL;

    for (int t = 0; t < m->s->n_tensors; t++)
        if (m->s->tensor[t].producer < 0)
            input[n_inputs++] = t;
        else if (m->s->tensor[t].is_output)
            output[n_outputs++] = t;
    for (int i = 0; i < m->s->n_segments; i++)
        paced_s += m->s->segment[i].paced_s;
    if (load(m, m->model, paced_s, input, n_inputs, output, n_outputs, &session) != WEFT_OK)
        return WEFT_OK; /* it takes single nodes only */
    WEFT_TRY(sample_all(m, &session, &(samples *){&m->t->whole}, 1));
    m->engine->unload(session);
    return WEFT_OK;
}

static weft_status sample_launch(measuring *m)
{
    static const weft_shape shape = {1, {1}};
    float x = 1, y = 0;
    void *from = &x, *to = &y, *session = NULL;
    weft_session_tensor input = {"x", WEFT_F32, &shape, sizeof x, &from};
    weft_session_tensor output = {"y", WEFT_F32, &shape, sizeof y, &to};
    weft_session_spec spec = {.path = m->nothing,
                              .n_slots = 1,
                              .n_inputs = 1,
                              .n_outputs = 1,
                              .input = &input,
                              .output = &output};

    WEFT_TRY(m->engine->load(m->state, &spec, &session));
    WEFT_TRY(sample_all(m, &session, &(samples *){&m->t->launch}, 1));
    m->engine->unload(session);
    return WEFT_OK;
}

static void *zeros(size_t bytes)
{
    size_t room = bytes / LINE * LINE + LINE;
    void *x = aligned_alloc(LINE, room);

    if (x != NULL)
        return memset(x, 0, room);
    weft_out_of_memory(room);
}

static void take_memory(measuring *m)
{
    weft_rng rng = weft_rng_seed(1);

    m->data = WEFT_NEW(m->a, void *, m->s->n_tensors + 1);
    for (int t = 0; t < m->s->n_tensors; t++) {
        size_t bytes = (size_t)m->s->tensor[t].bytes;
        float *x = zeros(bytes);

        m->data[t] = x;
        for (size_t i = 0; i < bytes / sizeof *x && m->s->tensor[t].type == WEFT_F32; i++)
            x[i] = (float)(2 * weft_rng_real(&rng) - 1);
    }
}

static weft_status measure(measuring *m)
{
    const weft_segment_device *d = &m->s->device[m->s->segment[0].device];
    double quarter = m->o->budget_s / 4;
    const char *version = "";

    if (!weft_pin(d->cores, d->n_cores))
        return weft_fail(WEFT_E_SYSTEM, "device '%s' cannot have its processors", d->name);
    if (m->o->is_realtime && !weft_realtime())
        return weft_fail(WEFT_E_SYSTEM, "--realtime: the system does not allow SCHED_FIFO");
    WEFT_TRY(m->engine->open(&m->o->places, d->n_cores, &m->state, &version));
    snprintf(m->t->version, sizeof m->t->version, "%s", version);
    take_memory(m);
    WEFT_TRY(load_nodes(m));
    m->end_s = weft_wall_s() + quarter / 4;
    WEFT_TRY(sample_launch(m));
    m->end_s = weft_wall_s() + quarter;
    WEFT_TRY(sample_whole(m));
    m->end_s = weft_wall_s() + 2 * quarter;
    return sample_all(m, m->session, m->sample, m->n_sessions);
}

static void leave(told *t, weft_status status)
{
    if (status != WEFT_OK)
        snprintf(t->message, sizeof t->message, "%s", weft_message());
    else
        atomic_store(&t->is_done, 1);
    kill(getpid(), SIGKILL);
}

/* --- in the parent --------------------------------------------------------------------------- */

static void *shared(size_t bytes)
{
    void *x = weft_subprocess_memory(bytes);

    if (x != NULL)
        return x;
    weft_out_of_memory(bytes);
}

/* Until the process has ended; a message says why it was not done. */
static weft_status wait_for(pid_t child, const told *t, const char *what, double limit_s,
                            const volatile sig_atomic_t *stop)
{
    double begin_s = weft_wall_s();
    bool is_stopped = false, is_late = false;
    pid_t ended = 0;

    while (ended == 0 || (ended < 0 && errno == EINTR)) {
        poll(NULL, 0, LOOK_MS);
        is_stopped |= (stop != NULL && *stop) || weft_end_is_near();
        is_late |= weft_wall_s() - begin_s > limit_s;
        if (is_stopped || is_late)
            kill(child, SIGKILL);
        ended = waitpid(child, NULL, WNOHANG);
    }
    if (atomic_load(&t->is_done))
        return WEFT_OK;
    if (t->message[0] != '\0')
        return weft_fail(WEFT_E_SYSTEM, "%s: %s", what, t->message);
    return weft_fail(WEFT_E_SYSTEM, "%s: %s", what,
                     is_stopped ? "stopped"
                     : is_late  ? "the process has not ended in time"
                                : "the process has crashed");
}

/* Forks: 0 in the process, which follows its parent. */
static weft_status start(pid_t *child, const char *name)
{
    pid_t parent = getpid();

    *child = fork();
    if (*child < 0)
        return weft_fail(WEFT_E_SYSTEM, "no process can be started: %s", strerror(errno));
    if (*child == 0) {
        weft_on_out_of_memory(NULL);
        weft_follow_parent(name);
        if (getppid() != parent)
            kill(getpid(), SIGKILL);
    }
    return WEFT_OK;
}

/* --- figures --------------------------------------------------------------------------------- */

static weft_timing timing_of(const samples *s, double pacer_s, weft_arena *a)
{
    double x[MOST_SAMPLES];
    weft_timing out = {.least_s = INFINITY, .n_tried = s->n_tried};

    for (int i = 0; i < s->n; i++) {
        out.least_s = fmin(out.least_s, s->at[i].seconds);
        if (is_good(&s->at[i], pacer_s))
            x[out.n_kept++] = s->at[i].seconds;
    }
    out.seconds = weft_median(x, out.n_kept);
    out.mad_s = weft_mad(x, out.n_kept, out.seconds, a);
    return out;
}

/* A node without its launch. Where nothing quiet was seen, the least there is. */
static void subtract_launch(weft_timing *t, double launch_s)
{
    if (t->n_kept < WEFT_LEAST_KEPT)
        t->seconds = t->least_s;
    t->seconds = fmax(0, t->seconds - launch_s);
}

static void find_figures(const measuring *m, weft_arena *a, weft_measurement *out)
{
    weft_timing *node = WEFT_NEW(a, weft_timing, m->s->n_segments);
    double sum_s, launch_s;

    *out = (weft_measurement){.version = weft_arena_word(a, m->t->version),
                              .node = node,
                              .whole = timing_of(&m->t->whole, m->t->pacer_s, a),
                              .launch = timing_of(&m->t->launch, m->t->pacer_s, a),
                              .pacer_s = m->t->pacer_s,
                              .is_complete = true};
    launch_s = out->launch.n_kept >= WEFT_LEAST_KEPT ? out->launch.seconds : out->launch.least_s;
    sum_s = launch_s;
    for (int i = 0; i < m->s->n_segments; i++) {
        node[i] = timing_of(&m->t->node[i], m->t->pacer_s, a);
        if (node[i].n_tried == 0)
            continue;
        out->is_complete &= node[i].n_kept >= WEFT_LEAST_KEPT;
        subtract_launch(&node[i], launch_s);
        sum_s += node[i].seconds;
    }
    out->launch.seconds = launch_s;
    if (out->whole.n_tried == 0)
        out->whole.seconds = NAN;
    else if (out->whole.n_kept < WEFT_LEAST_KEPT) {
        out->is_complete = false;
        out->whole.seconds = out->whole.least_s;
    }
    out->closure = sum_s / out->whole.seconds;
}

/* --- a network that does nothing ------------------------------------------------------------- */

static weft_status write_nothing(const measuring *m)
{
    static const weft_shape shape = {1, {1}};
    weft_slice x = weft_slice_of("x"), y = weft_slice_of("y");
    weft_onnx_form form = {.op_type = weft_slice_of("Identity")};
    weft_onnx_node node = {weft_slice_of("nothing"), 1, 1, &x, &y, &form, -1};
    weft_onnx_value_info in = weft_onnx_value_of("x", WEFT_F32, &shape, m->a);
    weft_onnx_value_info out = weft_onnx_value_of("y", WEFT_F32, &shape, m->a);
    weft_onnx_graph graph = {.name = weft_slice_of("nothing"),
                             .n_nodes = 1,
                             .n_inputs = 1,
                             .n_outputs = 1,
                             .node = &node,
                             .input = &in,
                             .output = &out};
    weft_onnx_opset opset = {weft_slice_of(""), 13};
    weft_onnx doc = {
        .file = "nothing.onnx", .ir_version = 8, .n_opsets = 1, .opset = &opset, .graph = &graph};

    return weft_onnx_write(&doc, m->nothing);
}

weft_status weft_measure_nodes(const weft_split_net *s, const char *model,
                               const weft_measure_options *o, weft_arena *a, weft_measurement *out)
{
    const weft_segment_device *d = &s->device[s->segment[0].device];
    size_t bytes = sizeof(told) + (size_t)s->n_segments * sizeof(samples);
    measuring m = {.s = s, .model = model, .o = o, .a = a};
    weft_status status;
    pid_t child;

    WEFT_TRY(weft_engine_find(d->engine ? d->engine : "", &m.engine));
    m.nothing = weft_arena_print(a, "%s/nothing.onnx", s->folder);
    WEFT_TRY(write_nothing(&m));
    m.t = shared(bytes);
    m.t->pacer_s = INFINITY;
    status = start(&child, "weft:profile");
    if (status == WEFT_OK && child == 0)
        leave(m.t, measure(&m));
    if (status == WEFT_OK)
        status = wait_for(child, m.t, d->name, 2 * o->budget_s + GRACE_S, o->stop);
    if (status == WEFT_OK)
        find_figures(&m, a, out);
    unlink(m.nothing);
    weft_subprocess_release(m.t, bytes);
    return status;
}

/* --- engines --------------------------------------------------------------------------------- */

weft_status weft_engine_look(const weft_engine *e, const weft_engine_places *where, weft_arena *a,
                             const char **version)
{
    told *t = shared(sizeof *t);
    weft_status status;
    pid_t child;

    status = start(&child, "weft:look");
    if (status == WEFT_OK && child == 0) {
        const char *found = "";
        void *state;

        status = e->open(where, 1, &state, &found);
        snprintf(t->version, sizeof t->version, "%s", found);
        leave(t, status);
    }
    if (status == WEFT_OK)
        status = wait_for(child, t, e->title, GRACE_S, NULL);
    *version = weft_arena_word(a, t->version);
    weft_subprocess_release(t, sizeof *t);
    return status;
}

static weft_status normalise(const weft_engine *e, const weft_engine_places *where,
                             const char *from, int level, const char *to)
{
    const char *version;
    void *state;

    WEFT_TRY(e->open(where, 1, &state, &version));
    return e->normalise(state, from, level, to);
}

/* What is still outside of the written file goes with it. */
static weft_status bring_weights(const char *from, const char *to)
{
    const char *slash = strrchr(to, '/');
    weft_arena *a = weft_arena_new();
    weft_weight_files files = {0};
    weft_onnx *doc = NULL;
    weft_status status = weft_onnx_open(to, &doc);

    if (status == WEFT_OK)
        status = weft_weights_bring(
            doc, from, slash ? weft_arena_text(a, to, (size_t)(slash - to)) : ".", a, &files);
    weft_onnx_free(doc);
    weft_arena_free(a);
    return status;
}

/* Into a file that takes the place of `to` when it is complete. */
static weft_status write_normal(const weft_engine *e, const weft_engine_places *where,
                                const char *from, int level, const char *part, const char *to)
{
    told *t = shared(sizeof *t);
    weft_status status;
    pid_t child;

    status = start(&child, "weft:normalise");
    if (status == WEFT_OK && child == 0)
        leave(t, normalise(e, where, from, level, part));
    if (status == WEFT_OK)
        status = wait_for(child, t, from, 10 * GRACE_S, NULL);
    weft_subprocess_release(t, sizeof *t);
    if (status == WEFT_OK)
        status = bring_weights(from, part);
    if (status == WEFT_OK && rename(part, to) != 0)
        status = weft_fail(WEFT_E_SYSTEM, "%s: cannot be written: %s", to, strerror(errno));
    return status;
}

weft_status weft_normalise(const weft_engine *e, const weft_engine_places *where, const char *from,
                           int level, const char *to)
{
    weft_arena *a = weft_arena_new();
    const char *part = weft_arena_print(a, "%s.%ld.part", to, (long)getpid());
    weft_status status = write_normal(e, where, from, level, part, to);

    if (status != WEFT_OK)
        unlink(part);
    weft_arena_free(a);
    return status;
}
