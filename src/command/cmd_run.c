/* SPDX-License-Identifier: MIT */
/* cmd_run.c: weft run DIR|PLAN. */
#include "command.h"
#include "execute.h"
#include "fields.h"
#include "kind.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_WORST = 5, LEAST_KEPT = 3 };

typedef struct run_options {
    const char *model, *on, *output, *trace, *transport, *time_limit, *inputs;
    int64_t items, stream, level, seed;
    bool realtime, json, quiet;
} run_options;

/* clang-format off */
static const weft_option run_table[] = {
    {WEFT_INT(run_options, items), 40, 1, 1e6, "items run one after the other, for the latency", NULL, NULL},
    {WEFT_INT(run_options, stream), 40, 0, 1e6, "items run as a stream, for the throughput; 0: none", NULL, NULL},
    {WEFT_TEXT(run_options, transport), 0, 0, 0, "how tensors get from one process to another", "memory", "memory|socket"},
    {WEFT_INT(run_options, level), 0, 0, 99, "what the runtime may do to segments: 0 nothing, 1, 2, 99 all it can", NULL, NULL},
    {WEFT_TEXT(run_options, inputs), 0, 0, 0, "folder with NAME.bin for each input; empty: random numbers", "", NULL},
    {WEFT_INT(run_options, seed), 1, 0, 1e15, "seed of random inputs", NULL, NULL},
    {WEFT_FLAG(run_options, realtime), 0, 0, 1, "run with real-time priority (SCHED_FIFO), if the system allows it", NULL, NULL},
    {WEFT_TEXT(run_options, time_limit), 0, 0, 0, "end the run after this time", "5min", NULL},
    {WEFT_TEXT(run_options, output), 0, 0, 0, "write what was measured to FILE (for weft report --run)", "", NULL},
    {WEFT_TEXT(run_options, trace), 0, 0, 0, "write a timeline for Perfetto to FILE", "", NULL},
    {WEFT_TEXT(run_options, model), 0, 0, 0, "path of the whole network, if it has moved", "", NULL},
    {WEFT_TEXT(run_options, on), 0, 0, 0, "path of the platform of PLAN, if it has moved", "", NULL},
    {WEFT_FLAG(run_options, json), 0, 0, 1, "print the result as one JSON document", NULL, NULL},
    {WEFT_FLAG(run_options, quiet), 0, 0, 1, "print errors only", NULL, NULL},
    WEFT_OPTIONS_END,
};
/* clang-format on */

typedef struct telling {
    const weft_split_net *s;
    const weft_execution *x;
    const run_options *o;
    const char *path;
    const weft_whole_net *whole;
    int *worst; /* segments by how far the plan was off */
    weft_arena *a;
} telling;

/* --- figures --------------------------------------------------------------------------------- */

static bool is_right(const weft_execution *x)
{
    return x->is_equal || x->difference <= x->tolerance;
}

static bool is_quiet(const weft_execution *x)
{
    return x->n_kept >= LEAST_KEPT;
}

/* What the prediction is compared with. */
static double measured_s(const weft_execution *x)
{
    return is_quiet(x) ? x->median_s : x->least_s;
}

static double error_of(const telling *t)
{
    return t->s->plan_latency_s / measured_s(t->x) - 1;
}

/* What is left of the error without the structure. */
static double profile_part(const telling *t)
{
    return (1 + error_of(t)) / (1 + t->x->structure) - 1;
}

static double off_s(const telling *t, int i)
{
    return t->x->segment_s[i] - t->s->segment[i].seconds;
}

static void sort_worst(telling *t)
{
    int n = t->s->n_segments;

    t->worst = WEFT_NEW(t->a, int, n);
    for (int i = 0; i < n; i++) {
        int k = i;

        for (; k > 0 && fabs(off_s(t, t->worst[k - 1])) < fabs(off_s(t, i)); k--)
            t->worst[k] = t->worst[k - 1];
        t->worst[k] = i;
    }
}

/* --- text ------------------------------------------------------------------------------------ */

static const char *time_text(const telling *t, double s)
{
    char text[48];

    return weft_arena_word(t->a, weft_print_seconds(s, text));
}

static const char *outputs_text(const telling *t)
{
    const weft_execution *x = t->x;

    if (x->whole_by == NULL)
        return weft_arena_print(t->a, "not compared: %s (--model)", t->whole->missing);
    if (x->is_equal)
        return weft_arena_print(t->a,
                                "equal to those of the whole network, bit for bit "
                                "(%d compared, inputs overwritten with NaN in between)",
                                x->n_compared);
    return weft_arena_print(
        t->a, "%s those of the whole network: they differ by %.2g of the largest element%s",
        is_right(x) ? "near" : "NOT", x->difference,
        x->tolerance > 0 ? weft_arena_print(t->a, ", %.0e is allowed", x->tolerance) : "");
}

static const char *measured_text(const telling *t)
{
    const weft_execution *x = t->x;

    if (!is_quiet(x))
        return weft_arena_print(t->a,
                                "machine not quiet: %d of %d items were undisturbed (median of all "
                                "%s, least %s)",
                                x->n_kept, x->n_items, time_text(t, x->all_median_s),
                                time_text(t, x->least_s));
    return weft_arena_print(t->a, "%s, median of %d undisturbed items of %d, MAD %s",
                            time_text(t, x->median_s), x->n_kept, x->n_items,
                            time_text(t, x->mad_s));
}

static const char *error_text(const telling *t)
{
    return weft_arena_print(
        t->a,
        "%+.1f %%%s; of it structure %+.2f %% (the simulator with this run's own times: %s), "
        "profile %+.1f %%",
        100 * error_of(t), is_quiet(t->x) ? "" : " of the least", 100 * t->x->structure,
        time_text(t, t->x->replay_s), 100 * profile_part(t));
}

static const char *stream_text(const telling *t)
{
    return weft_arena_print(t->a, "%s an item (%.4g items/s) over %d items; predicted %s",
                            time_text(t, t->x->period_s), 1 / t->x->period_s, t->x->n_stream,
                            time_text(t, t->s->plan_period_s));
}

static void print_row(FILE *to, const char *name, const char *text)
{
    fprintf(to, "  %-12s  ", name);
    weft_print_wrapped(to, 16, weft_report_width(NULL), text);
}

static void print_worst(const telling *t, FILE *to)
{
    int n = t->s->n_segments < N_WORST ? t->s->n_segments : N_WORST;

    fprintf(to, "\n  %-12s  %12s %12s  nodes\n", "worst", "planned", "measured");
    for (int i = 0; i < n; i++) {
        const weft_segment *g = &t->s->segment[t->worst[i]];

        fprintf(to, "  %-12s  %12s %12s  %s%s\n", t->s->device[g->device].name,
                time_text(t, g->seconds), time_text(t, t->x->segment_s[t->worst[i]]),
                g->n_nodes > 0 ? g->node[0] : "",
                g->n_nodes > 1 ? weft_arena_print(t->a, " and %d more", g->n_nodes - 1) : "");
    }
}

static void print_text(const telling *t, FILE *to)
{
    fprintf(to, "%s: %d segments on %d devices\n\n", t->path, t->s->n_segments, t->s->n_devices);
    for (int d = 0; d < t->s->n_devices; d++)
        if (t->x->version[d] != NULL)
            print_row(to, t->s->device[d].name,
                      weft_arena_print(t->a, "%s %s", t->s->device[d].engine, t->x->version[d]));
    print_row(to, "outputs", outputs_text(t));
    print_row(to, "predicted", time_text(t, t->s->plan_latency_s));
    print_row(to, "measured", measured_text(t));
    print_row(to, "error", error_text(t));
    if (!isnan(t->x->period_s))
        print_row(to, "stream", stream_text(t));
    print_worst(t, to);
}

/* --- documents ------------------------------------------------------------------------------- */

static weft_doc *outputs_doc(const telling *t)
{
    weft_doc *d = weft_doc_new(t->a, WEFT_DOC_MAP);

    weft_put_text(t->a, d, "whole_by", t->x->whole_by);
    weft_put_int(t->a, d, "compared", t->x->n_compared);
    weft_put_bool(t->a, d, "equal", t->x->whole_by != NULL && t->x->is_equal);
    weft_put_real(t->a, d, "difference", t->x->difference);
    weft_put_real(t->a, d, "tolerance", t->x->tolerance);
    return d;
}

static weft_doc *measured_doc(const telling *t)
{
    const weft_execution *x = t->x;
    weft_doc *d = weft_doc_new(t->a, WEFT_DOC_MAP);

    weft_put_int(t->a, d, "items", x->n_items);
    weft_put_int(t->a, d, "kept", x->n_kept);
    weft_put_real(t->a, d, "median_s", is_quiet(x) ? x->median_s : NAN);
    weft_put_real(t->a, d, "mad_s", is_quiet(x) ? x->mad_s : NAN);
    weft_put_real(t->a, d, "all_median_s", x->all_median_s);
    weft_put_real(t->a, d, "least_s", x->least_s);
    weft_put_real(t->a, d, "pacer_s", x->pacer_s);
    return d;
}

static weft_doc *segments_doc(const telling *t)
{
    weft_doc *list = weft_doc_new(t->a, WEFT_DOC_LIST);

    for (int i = 0; i < t->s->n_segments; i++) {
        const weft_segment *g = &t->s->segment[t->worst[i]];
        weft_doc *d = weft_add_map(t->a, list);

        weft_put_text(t->a, d, "file", g->file);
        weft_put_text(t->a, d, "device", t->s->device[g->device].name);
        weft_doc_put(t->a, d, "nodes", weft_texts_doc(g->node, g->n_nodes, t->a));
        weft_put_real(t->a, d, "planned_s", g->seconds);
        weft_put_real(t->a, d, "measured_s", t->x->segment_s[t->worst[i]]);
        weft_put_real(t->a, d, "begin_s", t->x->begin_s[t->worst[i]]);
        weft_put_real(t->a, d, "end_s", t->x->end_s[t->worst[i]]);
    }
    return list;
}

static weft_doc *run_doc(const telling *t)
{
    weft_doc *d = weft_doc_new(t->a, WEFT_DOC_MAP), *devices = weft_doc_new(t->a, WEFT_DOC_LIST);

    weft_put_text(t->a, d, "schema", "weft.run/1");
    weft_put_text(t->a, d, "command", "run");
    weft_put_text(t->a, d, "model", t->s->model);
    for (int i = 0; i < t->s->n_devices; i++) {
        weft_doc *one = weft_add_map(t->a, devices);

        weft_put_text(t->a, one, "name", t->s->device[i].name);
        weft_put_text(t->a, one, "engine", t->s->device[i].engine);
        weft_put_text(t->a, one, "version", t->x->version[i]);
    }
    weft_doc_put(t->a, d, "devices", devices);
    weft_put_text(t->a, d, "transport", t->o->transport);
    weft_put_int(t->a, d, "level", t->o->level);
    weft_doc_put(t->a, d, "outputs", outputs_doc(t));
    weft_put_real(t->a, d, "predicted_s", t->s->plan_latency_s);
    weft_doc_put(t->a, d, "measured", measured_doc(t));
    weft_put_real(t->a, d, "error", error_of(t));
    weft_put_real(t->a, d, "structure_error", t->x->structure);
    weft_put_real(t->a, d, "profile_error", profile_part(t));
    weft_put_real(t->a, d, "replay_s", t->x->replay_s);
    weft_put_real(t->a, d, "predicted_period_s", t->s->plan_period_s);
    weft_put_real(t->a, d, "period_s", t->x->period_s);
    weft_put_real(t->a, d, "shown_s", t->x->shown_s);
    weft_doc_put(t->a, d, "segments", segments_doc(t));
    return d;
}

/* --- traces ---------------------------------------------------------------------------------- */

static void add_event(const telling *t, weft_doc *events, int pid, const char *name, double begin_s,
                      double end_s)
{
    weft_doc *e = weft_add_map(t->a, events);

    weft_put_text(t->a, e, "ph", "X");
    weft_put_text(t->a, e, "cat", "compute");
    weft_put_text(t->a, e, "name", name);
    weft_put_int(t->a, e, "pid", pid);
    weft_put_int(t->a, e, "tid", 0);
    weft_put_real(t->a, e, "ts", begin_s * 1e6);
    weft_put_real(t->a, e, "dur", (end_s - begin_s) * 1e6);
}

static void name_process(const telling *t, weft_doc *events, int pid, const char *name)
{
    weft_doc *e = weft_add_map(t->a, events), *args = weft_doc_new(t->a, WEFT_DOC_MAP);

    weft_put_text(t->a, e, "ph", "M");
    weft_put_text(t->a, e, "name", "process_name");
    weft_put_int(t->a, e, "pid", pid);
    weft_put_text(t->a, args, "name", name);
    weft_doc_put(t->a, e, "args", args);
}

/* For each device a process with what was planned, and one with what was measured. */
static weft_doc *trace_doc(const telling *t)
{
    weft_doc *d = weft_doc_new(t->a, WEFT_DOC_MAP), *events = weft_doc_new(t->a, WEFT_DOC_LIST);

    for (int i = 0; i < t->s->n_devices; i++) {
        name_process(t, events, 2 * i + 1,
                     weft_arena_print(t->a, "%s, planned", t->s->device[i].name));
        name_process(t, events, 2 * i + 2,
                     weft_arena_print(t->a, "%s, measured", t->s->device[i].name));
    }
    for (int i = 0; i < t->s->n_segments; i++) {
        const weft_segment *g = &t->s->segment[i];
        const char *name = g->n_nodes > 0 ? g->node[0] : g->file;

        add_event(t, events, 2 * g->device + 1, name, g->start_s, g->start_s + g->seconds);
        add_event(t, events, 2 * g->device + 2, name, t->x->begin_s[i], t->x->end_s[i]);
    }
    weft_doc_put(t->a, d, "traceEvents", events);
    weft_put_text(t->a, d, "displayTimeUnit", "ns");
    return d;
}

static weft_status write_doc(const telling *t, const weft_doc *d, const char *path)
{
    const char *text = weft_arena_print(t->a, "%s\n", weft_doc_json(d, 1, t->a));

    return weft_emit(path, text, strlen(text));
}

static weft_status tell(const telling *t)
{
    weft_collect c;

    if (*t->o->output)
        WEFT_TRY(write_doc(t, run_doc(t), t->o->output));
    if (*t->o->trace)
        WEFT_TRY(write_doc(t, trace_doc(t), t->o->trace));
    if (t->o->quiet)
        return WEFT_OK;
    if (t->o->json)
        return write_doc(t, run_doc(t), NULL);
    WEFT_TRY(weft_collect_begin(&c));
    print_text(t, c.to);
    return weft_collect_emit(&c, NULL);
}

/* --- the command ----------------------------------------------------------------------------- */

static weft_status read_options(const run_options *o, const weft_whole_net *whole,
                                weft_execute_options *out)
{
    *out = (weft_execute_options){.n_items = (int)o->items,
                                  .n_stream = (int)o->stream,
                                  .uses_sockets = strcmp(o->transport, "socket") == 0,
                                  .is_realtime = o->realtime,
                                  .level = (int)o->level,
                                  .seed = (uint64_t)o->seed,
                                  .inputs = *o->inputs ? o->inputs : NULL,
                                  .model = whole->path,
                                  .stop = weft_host_now()->stop};
    weft_find_places(&out->places);
    if (o->level != 0 && o->level != 1 && o->level != 2 && o->level != 99)
        return weft_fail(WEFT_E_INPUT, "--level is %d, expected 0, 1, 2 or 99", (int)o->level);
    if (weft_unit_parse(o->time_limit, WEFT_UNIT_SECONDS, false, &out->limit_s) != WEFT_OK)
        return weft_fail_in(WEFT_E_INPUT, "--time-limit");
    return WEFT_OK;
}

/* Workers send every input with each item; the plan does not. */
static weft_status check_states(const weft_split_net *s)
{
    for (int t = 0; t < s->n_tensors; t++)
        if (s->tensor[t].state != NULL)
            return weft_fail(WEFT_E_INPUT,
                             "'%s' is a state that stays on its device from item to item, which "
                             "weft run cannot do: plan with --state none to run the network with "
                             "its states as inputs and outputs",
                             s->tensor[t].name);
    return WEFT_OK;
}

static weft_status run_segments(const weft_split_net *s, telling *t, int *code)
{
    weft_execute_options how;
    weft_execution *x = WEFT_NEW(t->a, weft_execution, 1);
    weft_status status;

    t->s = s;
    t->x = x;
    WEFT_TRY(check_states(s));
    WEFT_TRY(read_options(t->o, t->whole, &how));
    weft_progress(weft_host_now(), "running");
    status = weft_execute(s, &how, t->a, x);
    weft_progress(weft_host_now(), NULL);
    if (status != WEFT_OK)
        return status;
    if (!is_right(x))
        *code = WEFT_EXIT_NO;
    sort_worst(t);
    return tell(t);
}

static weft_status run(const void *options, const char *const *operand, int n_operands, int *code)
{
    const run_options *o = options;
    weft_arena *a = weft_arena_new();
    weft_whole_net whole;
    telling t = {.o = o, .path = operand[0], .whole = &whole, .a = a};
    weft_split_net s;
    bool is_new;
    weft_status status;

    (void)n_operands; /* one: the table says so */
    weft_ends_wait(true);
    status = weft_split_net_open(operand[0], *o->model ? o->model : NULL, *o->on ? o->on : NULL, a,
                                 &s, &is_new, &whole, code);
    if (status == WEFT_OK) {
        status = run_segments(&s, &t, code);
        if (is_new) {
            const char *message = weft_arena_word(a, weft_message());

            weft_split_net_remove(s.folder);
            if (status != WEFT_OK)
                status = weft_fail(status, "%s", message);
        }
    }
    weft_ends_wait(false);
    weft_arena_free(a);
    return status;
}

const weft_command weft_cmd_run = {
    .name = "run",
    .summary = "Execute a split network on this machine: predicted against measured",
    .operands = "DIR|PLAN",
    .description =
        "Runs a network that weft split has written, or splits a plan and runs it: one\n"
        "process per device, pinned to its processors, with the engine that the platform\n"
        "file names (ort: ONNX Runtime; opencv; paced: known times, for tests). Compares\n"
        "the outputs with those of the whole network, and the latency with the plan's. An\n"
        "item counts if nothing disturbed it: a fixed piece of arithmetic before and after\n"
        "it ran at full speed and no other program had its processors. The error has two\n"
        "parts: structure, what the simulator gets wrong with the times of this very run,\n"
        "and profile, the rest. Exit code 1 if outputs differ. WEFT_ORT names the library\n"
        "of ONNX Runtime if it is not where the system, pip or npm put it.",
    .examples = "  weft run parts\n"
                "  weft run plan.json --items 100 -o run.json --trace trace.json\n"
                "  weft report plan.json --run run.json -o report.html\n",
    .options = run_table,
    .options_size = sizeof(run_options),
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
