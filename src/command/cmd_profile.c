/* SPDX-License-Identifier: MIT */
/* cmd_profile.c: weft profile MODEL --on PLATFORM, and weft profile --devices. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "command.h"
#include "fields.h"
#include "kind.h"
#include "local.h"
#include "network_times.h"

enum { AS_ENGINES_CAN = -1 };

typedef struct profile_options {
    weft_model_flags flags;
    const char *on, *output, *normalised, *budget, *engines, *read, *device;
    int64_t level, most;
    bool devices, realtime, noisy, json, quiet;
} profile_options;

/* clang-format off */
static const weft_option profile_table[] = {
    {WEFT_TEXT(profile_options, on), 0, 0, 0, "platform whose devices name engines and processors", "", NULL},
    {WEFT_TEXT(profile_options, output), 0, 0, 0, "write to FILE; empty: the profile that the platform names, or local.yaml", "", NULL},
    {WEFT_INT(profile_options, level), AS_ENGINES_CAN, -1, 2, "of the normalised network: 0 as in the file, 1, 2; -1: what all engines read", NULL, NULL},
    {WEFT_TEXT(profile_options, normalised), 0, 0, 0, "file of the normalised network; empty: NAME.levelN.onnx beside the output", "", NULL},
    {WEFT_TEXT(profile_options, budget), 0, 0, 0, "time for each device; 0s: write the normalised network only", "20s", NULL},
    {WEFT_FLAG(profile_options, noisy), 0, 0, 1, "take the least time where too few samples are undisturbed", NULL, NULL},
    {WEFT_FLAG(profile_options, realtime), 0, 0, 1, "measure with real-time priority (SCHED_FIFO), if the system allows it", NULL, NULL},
    {WEFT_TEXT(profile_options, flags.dim), 0, 0, 0, WEFT_DIM_HELP, "", NULL},
    {WEFT_TEXT(profile_options, read), 0, 0, 0, "instead of measuring: read the times that another tool wrote to FILE; may be repeated", "", NULL},
    {WEFT_TEXT(profile_options, device), 0, 0, 0, "with --read: the device that they are of", "", NULL},
    {WEFT_FLAG(profile_options, devices), 0, 0, 1, "write a platform file of this machine", NULL, NULL},
    {WEFT_TEXT(profile_options, engines), 0, 0, 0, "with --devices: engines of the processors in turn (ort, opencv, paced)", "ort", NULL},
    {WEFT_INT(profile_options, most), 16, 1, 1024, "with --devices: at most so many devices", NULL, NULL},
    {WEFT_FLAG(profile_options, json), 0, 0, 1, "print what is written", NULL, NULL},
    {WEFT_FLAG(profile_options, quiet), 0, 0, 1, "print errors only", NULL, NULL},
    WEFT_OPTIONS_END,
};
/* clang-format on */

static weft_status emit_line(const char *path, const char *text)
{
    return weft_emit(path, text, strlen(text));
}

static weft_status write_doc(const weft_doc *d, const char *path, weft_arena *a)
{
    return emit_line(path, weft_arena_print(a, "%s\n", weft_doc_json(d, 1, a)));
}

static const char *seconds(double s, weft_arena *a)
{
    char text[48];

    return weft_arena_word(a, weft_print_seconds(s, text));
}

/* --- this machine ---------------------------------------------------------------------------- */

static weft_status write_devices(const profile_options *o, weft_arena *a)
{
    const char *path = *o->output ? o->output : "local.yaml", *text;
    weft_engine_places where;

    weft_find_places(&where);
    WEFT_TRY(weft_local_platform(o->engines, (int)o->most, "times.json", &where, a, &text));
    WEFT_TRY(emit_line(path, text));
    if (o->quiet || strcmp(path, "-") == 0)
        return WEFT_OK;
    return emit_line(NULL, weft_arena_print(a, "%s: engines %s\n", path, o->engines));
}

/* --- times of other tools -------------------------------------------------------------------- */

static weft_status print_read(const profile_options *o, const char *path, const weft_read_times *r,
                              weft_arena *a)
{
    weft_collect c;

    WEFT_TRY(weft_collect_begin(&c));
    fprintf(c.to, "%s: %d of %d operators of the network have times (%s, %d of %d names used)\n",
            path, r->n_timed, r->n_nodes, r->format, r->n_used, r->n_rows);
    if (!isnan(r->whole_s))
        fprintf(c.to, "  whole network: %s; the times sum to %.1f %% of it\n",
                seconds(r->whole_s, a), 100 * r->sum_s / r->whole_s);
    for (int i = 0; i < r->n_unused; i++)
        fprintf(c.to, "  not used: %.100s\n", r->unused[i]);
    (void)o;
    return weft_collect_emit(&c, NULL);
}

static weft_status read_times(const profile_options *o, const char *source, weft_arena *a)
{
    weft_model_options options;
    weft_read_times r;
    weft_model *m;
    weft_status status;

    if (*o->device == '\0')
        return weft_fail(WEFT_E_INPUT, "--read: whose times are these? expected --device NAME");
    if (*o->output == '\0')
        return weft_fail(WEFT_E_INPUT, "--read: no file is given, expected -o FILE");
    WEFT_TRY(weft_model_flags_read(&o->flags, a, &options));
    WEFT_TRY(weft_model_open(source, &options, &m));
    status = weft_times_read(o->read, m->graph, o->device, a, &r);
    if (status == WEFT_OK)
        status = write_doc(r.doc, o->output, a);
    if (status == WEFT_OK && !o->quiet)
        status = o->json ? write_doc(r.doc, NULL, a) : print_read(o, o->output, &r, a);
    weft_model_free(m);
    return status;
}

/* --- measuring ------------------------------------------------------------------------------- */

typedef struct measuring {
    const profile_options *o;
    weft_arena *a;
    weft_platform *platform;
    const char *output, *model; /* model: the normalised one */
    weft_measure_options how;
    weft_network n;
    weft_network_times times;
} measuring;

/* Beside the output. */
static const char *normal_path(const measuring *m, const char *source)
{
    const char *slash = strrchr(m->output, '/'), *name = strrchr(source, '/');
    int folder = slash ? (int)(slash - m->output) + 1 : 0;
    size_t n;

    if (*m->o->normalised)
        return m->o->normalised;
    name = name ? name + 1 : source;
    n = strlen(name);
    n -= n > 5 && strcmp(name + n - 5, ".onnx") == 0 ? 5 : 0;
    return weft_arena_print(m->a, "%.*s%.*s.level%d.onnx", folder, m->output, (int)n, name,
                            m->n.level);
}

/* The level that all engines read, unless the user says one; -1: nobody has any. */
static weft_status find_level(measuring *m)
{
    int least = -1;

    for (int d = 0; d < m->platform->n_devices; d++) {
        const weft_engine *e;

        if (m->platform->device[d].engine == NULL)
            continue;
        WEFT_TRY(weft_engine_find(m->platform->device[d].engine, &e));
        if (e->normalise != NULL && least < 0)
            least = e->most_level;
    }
    m->n.level = least;
    for (int d = 0; d < m->platform->n_devices && least >= 0; d++) {
        const weft_engine *e;

        if (m->platform->device[d].engine == NULL)
            continue;
        WEFT_TRY(weft_engine_find(m->platform->device[d].engine, &e));
        if (e->most_level >= 0 && e->most_level < m->n.level)
            m->n.level = e->most_level;
    }
    if (least >= 0 && m->o->level != AS_ENGINES_CAN)
        m->n.level = (int)m->o->level;
    return WEFT_OK;
}

static weft_status normalise(measuring *m, const char *source)
{
    struct stat there, own;
    const char *version;

    m->model = source;
    WEFT_TRY(find_level(m));
    if (m->n.level < 0)
        return WEFT_OK;
    if (!weft_model_is_file(source))
        return weft_fail(WEFT_E_INPUT,
                         "%s is a built-in model and has no weights: ONNX Runtime needs a file",
                         source);
    m->model = normal_path(m, source);
    if (stat(m->model, &there) == 0 && stat(source, &own) == 0 && there.st_dev == own.st_dev &&
        there.st_ino == own.st_ino)
        return weft_fail(WEFT_E_INPUT,
                         "%s: the normalised network would overwrite the model itself", m->model);
    WEFT_TRY(weft_engine_look(&weft_engine_ort, &m->how.places, m->a, &version));
    WEFT_TRY(weft_normalise(&weft_engine_ort, &m->how.places, source, m->n.level, m->model));
    m->n.normal_by = weft_arena_print(m->a, "ort %s", version);
    return WEFT_OK;
}

static const char *output_of(const measuring *m)
{
    if (*m->o->output)
        return m->o->output;
    for (int d = 0; d < m->platform->n_devices; d++)
        if (m->platform->device[d].engine && m->platform->device[d].design[0].profile)
            return m->platform->device[d].design[0].profile;
    return "times.json";
}

static int count_noisy(const measuring *m, int *n_nodes)
{
    int n = 0;

    *n_nodes = 0;
    for (int i = 0; i < m->times.n_devices; i++) {
        n += m->times.device[i].n_noisy;
        *n_nodes += m->times.device[i].n_nodes;
    }
    return n;
}

static void print_device(const measuring *m, const weft_device_times *d, FILE *to)
{
    const weft_device *on = &m->platform->device[d->device];
    bool has_whole = isfinite(d->m.whole.seconds);

    fprintf(to, "  %-12s  %-14s %10s  %5s  %9s  %5d of %-5d %s\n", on->name,
            weft_arena_print(m->a, "%s %s", on->engine, d->m.version),
            has_whole ? seconds(d->m.whole.seconds, m->a) : "-",
            has_whole ? weft_arena_print(m->a, "%.3f", d->closure) : "-",
            seconds(d->m.launch.seconds, m->a), d->n_nodes - d->n_noisy, d->n_nodes,
            seconds(d->m.pacer_s, m->a));
    if (d->n_refused > 0)
        fprintf(to, "  %-12s  cannot run %d operators, which have no times there\n", "",
                d->n_refused);
}

static weft_status print_times(const measuring *m)
{
    weft_collect c;

    WEFT_TRY(weft_collect_begin(&c));
    fprintf(c.to, "%s: times of %s\n\n", m->output, m->model);
    if (m->n.normal_by != NULL)
        fprintf(c.to, "  normalised to level %d by %s: plan, split and run that file\n\n",
                m->n.level, m->n.normal_by);
    fprintf(c.to, "  %-12s  %-14s %10s  %5s  %9s  %-14s %s\n", "device", "engine", "whole", "sum",
            "launch", "nodes quiet", "pacer");
    for (int i = 0; i < m->times.n_devices; i++)
        print_device(m, &m->times.device[i], c.to);
    fprintf(c.to, "\n  sum: of the nodes in sessions of their own, as a part of the whole\n");
    return weft_collect_emit(&c, NULL);
}

static weft_status tell(const measuring *m, int *code)
{
    int n_nodes, n_noisy = count_noisy(m, &n_nodes);

    if (n_noisy > 0 && !m->o->noisy) {
        *code = WEFT_EXIT_NO;
        weft_complain(weft_arena_print(
            m->a,
            "machine not quiet: %d of %d times of nodes have fewer than %d undisturbed samples; "
            "no times are written. Try again, with a longer --budget, with --realtime, or take the "
            "least times with --noisy",
            n_noisy, n_nodes, WEFT_LEAST_KEPT));
        return WEFT_OK;
    }
    WEFT_TRY(write_doc(m->times.doc, m->output, m->a));
    if (m->o->quiet)
        return WEFT_OK;
    return m->o->json ? write_doc(m->times.doc, NULL, m->a) : print_times(m);
}

static weft_status tell_normal(const measuring *m)
{
    if (m->n.normal_by == NULL)
        return weft_fail(WEFT_E_INPUT, "--budget is 0: no engine of the platform writes networks");
    if (m->o->quiet)
        return WEFT_OK;
    return emit_line(NULL, weft_arena_print(m->a, "%s: normalised to level %d by %s\n", m->model,
                                            m->n.level, m->n.normal_by));
}

static weft_status measure_in(measuring *m, const char *source, int *code)
{
    weft_model_options options;
    weft_model *model;
    weft_status status;

    WEFT_TRY(weft_model_flags_read(&m->o->flags, m->a, &options));
    WEFT_TRY(normalise(m, source));
    if (m->how.budget_s == 0)
        return tell_normal(m);
    WEFT_TRY(weft_model_open(m->model, &options, &model));
    m->n.model = model;
    m->n.options = &options;
    m->n.platform = m->platform;
    weft_progress(weft_host_now(), "measuring");
    status = weft_network_times_measure(&m->n, &m->how, m->a, &m->times);
    weft_progress(weft_host_now(), NULL);
    if (status == WEFT_OK)
        status = tell(m, code);
    weft_model_free(model);
    return status;
}

static weft_status measure(const profile_options *o, const char *source, weft_arena *a, int *code)
{
    measuring m = {.o = o, .a = a};
    weft_status status;

    m.how = (weft_measure_options){.is_realtime = o->realtime, .stop = weft_host_now()->stop};
    weft_find_places(&m.how.places);
    if (weft_unit_parse(o->budget, WEFT_UNIT_SECONDS, false, &m.how.budget_s) != WEFT_OK)
        return weft_fail_in(WEFT_E_INPUT, "--budget");
    WEFT_TRY(weft_need_platform(o->on));
    WEFT_TRY(weft_platform_open(o->on, &m.platform));
    m.output = output_of(&m);
    weft_ends_wait(true);
    status = weft_make_tmp("profile", a, &m.n.tmp);
    if (status == WEFT_OK)
        status = measure_in(&m, source, code);
    rmdir(m.n.tmp);
    weft_ends_wait(false);
    weft_platform_free(m.platform);
    return status;
}

static weft_status run(const void *options, const char *const *operand, int n_operands, int *code)
{
    const profile_options *o = options;
    weft_arena *a = weft_arena_new();
    weft_status status;

    if (o->devices && n_operands > 0)
        status =
            weft_fail(WEFT_E_INPUT, "--devices describes this machine: leave '%s' out", operand[0]);
    else if (o->devices)
        status = write_devices(o, a);
    else if (n_operands == 0)
        status = weft_fail(WEFT_E_INPUT, "no model is given, expected MODEL or --devices");
    else if (*o->read)
        status = read_times(o, operand[0], a);
    else
        status = measure(o, operand[0], a, code);
    weft_arena_free(a);
    return status;
}

const weft_command weft_cmd_profile = {
    .name = "profile",
    .summary = "Measure the operators of a network on this machine",
    .operands = "[MODEL]",
    .description =
        "Measures every operator on every device of the platform that names an engine, one\n"
        "process per device, and writes the times for devices with the key 'profile'. With\n"
        "ONNX Runtime the network is normalised first: the runtime optimises it and saves\n"
        "it, and the nodes of that file are the kernels that run. A sample counts if a\n"
        "fixed piece of arithmetic around it ran at full speed and no other program had\n"
        "the processor. Where too few count, weft says that the machine is not quiet, and\n"
        "no number. --devices writes a platform file of this machine; --read takes the\n"
        "times of ONNX Runtime's profiler, trtexec, OpenVINO's benchmark_app or PyTorch's\n"
        "profiler instead of measuring.",
    .examples = "  weft profile --devices -o local.yaml\n"
                "  weft profile model.onnx --on local.yaml -o times.json\n"
                "  weft place model.level2.onnx --on local.yaml -o plan.json\n"
                "  weft run plan.json\n"
                "  weft profile model.onnx --read trt.json --device gpu0 -o times.json\n",
    .options = profile_table,
    .options_size = sizeof(profile_options),
    .min_operands = 0,
    .max_operands = 1,
    .run = run,
};
