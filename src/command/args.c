/* SPDX-License-Identifier: MIT */
/* args.c: command lines and help, both driven by the option tables. A field "flags.batch" of the
 * table is the flag --batch: the part after the last dot, with '-' for '_'. */
#define _POSIX_C_SOURCE 200809L
#include "command.h"
#include "fields.h"
#include "kind.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FLAGS = 64, FLAG_COLUMNS = 27 };

const char *weft_flag_name(const weft_option *o, char to[64])
{
    const char *dot = strrchr(o->name, '.');

    snprintf(to, 64, "%s", dot ? dot + 1 : o->name);
    for (char *p = to; *p; p++)
        if (*p == '_')
            *p = '-';
    return to;
}

static const weft_option *find_flag(const weft_option *table, const char *name, size_t n)
{
    char text[64];

    for (const weft_option *o = table; o->kind != WEFT_OPTION_END; o++)
        if (strlen(weft_flag_name(o, text)) == n && strncmp(text, name, n) == 0)
            return o;
    return NULL;
}

static weft_status unknown_flag(const weft_command *c, const char *flag)
{
    char text[MOST_FLAGS][64], word[64];
    const char *known[MOST_FLAGS], *near;
    int n = 0;

    for (const weft_option *o = c->options; o->kind != WEFT_OPTION_END && n < MOST_FLAGS - 1; o++)
        known[n] = weft_flag_name(o, text[n]), n++;
    known[n++] = "help";
    snprintf(word, sizeof word, "%s", flag + strspn(flag, "-"));
    word[strcspn(word, "=")] = '\0';
    near = weft_nearest(word, known, n);
    return weft_fail(WEFT_E_INPUT, "unknown flag '%s'%s%s%s; see: weft %s --help", flag,
                     near ? " (did you mean '--" : "", near ? near : "", near ? "'?)" : "",
                     c->name);
}

const weft_option *weft_command_option(const weft_command *c, const char *name)
{
    const weft_option *o = find_flag(c->options, name, strlen(name));

    if (o == NULL)
        (void)unknown_flag(c, name);
    return o;
}

/* Values of some flags add up, with this between them; NULL: every other is said once. */
static const char *between_repeated(const weft_option *o)
{
    static const char *const by_comma[] = {"dim", "read", "pin", "state"};
    char name[64];

    weft_flag_name(o, name);
    for (size_t i = 0; i < sizeof by_comma / sizeof *by_comma; i++)
        if (strcmp(name, by_comma[i]) == 0)
            return ",";
    return strcmp(name, "together") == 0 ? ";" : NULL;
}

static weft_status set_flag(const weft_command *c, const weft_option *o, const char *value,
                            void *options, weft_arena *a)
{
    const char **field = (const char **)(void *)((char *)options + o->offset);
    const char *between = between_repeated(o);
    char name[64];

    if (between != NULL && *field && **field)
        value = weft_arena_print(a, "%s%s%s", *field, between, value);
    if (weft_options_set(c->options, options, o->name, value, a) == WEFT_OK)
        return WEFT_OK;
    /* The table's name for the field becomes the flag the user typed. */
    return weft_fail(WEFT_E_INPUT, "--%s%s", weft_flag_name(o, name),
                     strstr(weft_message(), o->name) == weft_message()
                         ? weft_message() + strlen(o->name)
                         : weft_message());
}

weft_status weft_args_read(const weft_command *c, char **argv, int argc, void *options,
                           const char **operand, int *n_operands, weft_arena *a)
{
    bool only_operands = false, is_set[MOST_FLAGS] = {false};

    weft_options_default(c->options, options);
    *n_operands = 0;
    for (int i = 0; i < argc; i++) {
        const char *word = argv[i], *equals = strchr(word, '=');
        const weft_option *o;

        if (strcmp(word, "--") == 0 && !only_operands) {
            only_operands = true;
            continue;
        }
        if (only_operands || word[0] != '-' || strcmp(word, "-") == 0) {
            operand[(*n_operands)++] = word;
            continue;
        }
        if (strcmp(word, "-o") == 0)
            o = find_flag(c->options, "output", 6);
        else if (strcmp(word, "-q") == 0)
            o = find_flag(c->options, "quiet", 5);
        else if (strcmp(word, "-v") == 0)
            o = find_flag(c->options, "verbose", 7);
        else if (strncmp(word, "--", 2) == 0)
            o = find_flag(c->options, word + 2,
                          equals ? (size_t)(equals - word - 2) : strlen(word + 2));
        else
            o = NULL;
        if (o == NULL)
            return unknown_flag(c, word);
        if (o - c->options < MOST_FLAGS && is_set[o - c->options] && between_repeated(o) == NULL)
            return weft_fail(WEFT_E_INPUT, "flag '%.*s' is there twice", (int)strcspn(word, "="),
                             word);
        is_set[o - c->options < MOST_FLAGS ? o - c->options : 0] = true;
        if (o->kind == WEFT_OPTION_FLAG && equals)
            return weft_fail(WEFT_E_INPUT, "flag '%.*s' takes no value", (int)(equals - word),
                             word);
        if (o->kind != WEFT_OPTION_FLAG && equals == NULL && ++i == argc)
            return weft_fail(WEFT_E_INPUT, "flag '%s' needs a value; see: weft %s --help", word,
                             c->name);
        WEFT_TRY(set_flag(c, o,
                          o->kind == WEFT_OPTION_FLAG ? "1"
                          : equals                    ? equals + 1
                                                      : argv[i],
                          options, a));
    }
    if (*n_operands < c->min_operands || *n_operands > c->max_operands)
        return weft_fail(WEFT_E_INPUT, "%s: got %d operand%s, expected %s; see: weft %s --help",
                         c->name, *n_operands, *n_operands == 1 ? "" : "s", c->operands, c->name);
    return WEFT_OK;
}

/* --- help ------------------------------------------------------------------------------------ */

/* What stands for the value of a flag in the help. */
const char *weft_flag_value(const weft_option *o, const char *name)
{
    static const struct {
        const char *name, *word;
    } known[] = {
        {"output",        "FILE"    },
        {"trace",         "FILE"    },
        {"dot",           "FILE"    },
        {"csv",           "FILE"    },
        {"study",         "FILE"    },
        {"write-model",   "FILE"    },
        {"report",        "FILE"    },
        {"timeline",      "FILE"    },
        {"graph",         "FILE"    },
        {"compare",       "FILE"    },
        {"upgrades",      "KINDS"   },
        {"uncertainty",   "PART"    },
        {"explain",       "FILE"    },
        {"annotate",      "FILE"    },
        {"pareto",        "FILE"    },
        {"on",            "PLATFORM"},
        {"platform",      "PLATFORM"},
        {"model",         "MODEL"   },
        {"dim",           "NAME=N"  },
        {"state",         "IN[=OUT]"},
        {"dtype",         "TYPE"    },
        {"solver",        "NAME"    },
        {"template",      "NAME"    },
        {"show",          "NAME"    },
        {"time-limit",    "TIME"    },
        {"deadline",      "TIME"    },
        {"area",          "AREA"    },
        {"power",         "POWER"   },
        {"memory",        "BYTES"   },
        {"bandwidth",     "RATE"    },
        {"communication", "TIME"    },
        {"speeds",        "N,N"     },
    };

    if (o->choices != NULL)
        return o->choices;
    if (strstr(o->help, " folder") != NULL || strstr(o->help, " FOLDER") != NULL)
        return "FOLDER";
    for (size_t i = 0; i < sizeof known / sizeof known[0] && o->kind == WEFT_OPTION_TEXT; i++)
        if (strcmp(known[i].name, name) == 0)
            return known[i].word;
    return o->kind == WEFT_OPTION_TEXT ? "TEXT" : "N";
}

/* "-o, --output FILE". */
static void flag_text(const weft_option *o, char to[96])
{
    char name[64];
    bool is_short;

    weft_flag_name(o, name);
    is_short =
        strcmp(name, "output") == 0 || strcmp(name, "quiet") == 0 || strcmp(name, "verbose") == 0;
    snprintf(to, 96, "%.1s%.1s%s--%s%s%s", is_short ? "-" : "", is_short ? name : "",
             is_short ? ", " : "", name, o->kind == WEFT_OPTION_FLAG ? "" : " ",
             o->kind == WEFT_OPTION_FLAG ? "" : weft_flag_value(o, name));
}

static void default_text(const weft_option *o, char to[64])
{
    char number[32];

    to[0] = '\0';
    if (o->kind == WEFT_OPTION_TEXT && o->text && *o->text)
        snprintf(to, 64, " [%s]", o->text);
    else if (o->kind == WEFT_OPTION_INT || o->kind == WEFT_OPTION_REAL)
        snprintf(to, 64, " [%s]", weft_option_number(o->fallback, number));
}

/* A flag, and what it does beside it; below it where the flag is long. */
static void print_flag(const char *flag, const char *help, int width, FILE *to)
{
    int columns = (int)strlen(flag);

    if (columns > FLAG_COLUMNS)
        fprintf(to, "  %s\n  %*s ", flag, FLAG_COLUMNS, "");
    else
        fprintf(to, "  %-*s ", FLAG_COLUMNS, flag);
    weft_print_wrapped(to, FLAG_COLUMNS + 3, width, help);
}

/* Paragraphs, with lines of their own below an empty one or an indent. */
static void print_paragraphs(const char *text, int width, FILE *to)
{
    weft_arena *a = weft_arena_new();
    char *copy = weft_arena_word(a, text);

    for (char *p = copy; *p; p++)
        if (*p == '\n' && p[1] != '\n' && p[1] != ' ' && (p == copy || p[-1] != '\n'))
            *p = ' ';
    for (char *p = copy; *p;) {
        size_t n = strcspn(p, "\n");
        bool is_last = p[n] == '\0';
        int indent = (int)strspn(p, " ");

        p[n] = '\0';
        fprintf(to, "%*s", indent, "");
        weft_print_wrapped(to, indent, width, p + indent);
        p += is_last ? n : n + 1;
    }
    weft_arena_free(a);
}

void weft_help_command(const weft_command *c, int width, FILE *to)
{
    weft_arena *a = weft_arena_new();

    weft_print_wrapped(to, 2, width,
                       weft_arena_print(a, "usage: weft %s %s [flags]", c->name, c->operands));
    fputc('\n', to);
    print_paragraphs(c->description, width, to);
    fprintf(to, "\nflags:\n");
    for (const weft_option *o = c->options; o->kind != WEFT_OPTION_END; o++) {
        char flag[96], fallback[64];

        flag_text(o, flag);
        default_text(o, fallback);
        print_flag(flag, weft_arena_print(a, "%s%s", o->help, fallback), width, to);
    }
    print_flag("-h, --help", "show this text", width, to);
    fprintf(to, "\nexamples:\n%s", c->examples);
    weft_arena_free(a);
}

void weft_help_markdown(const weft_command *c, FILE *to)
{
    bool is_question = c->summary[strlen(c->summary) - 1] == '?';

    fprintf(to, "## weft %s\n\n%s%s\n\n```text\n", c->name, c->summary, is_question ? "" : ".");
    weft_help_command(c, 80, to);
    fprintf(to, "```\n");
}

/* --- output ---------------------------------------------------------------------------------- */

weft_status weft_emit(const char *path, const char *text, size_t n)
{
    const weft_host *host = weft_host_now();

    if (path && *path && strcmp(path, "-") != 0)
        return weft_file_write(path, text, n);
    if (host->print && !host->print(host->context, text, n))
        return weft_fail(WEFT_E_SYSTEM, "standard output cannot be written");
    return WEFT_OK;
}

/* --- flags of models ------------------------------------------------------------------------- */

/* "N=8,S=128". */
static weft_status read_dims(const char *text, weft_arena *a, weft_model_options *out)
{
    WEFT_VEC(weft_dim_binding) dims = {0};

    while (*text) {
        size_t n = strcspn(text, ",");
        char *item = weft_arena_text(a, text, n), *equals = strrchr(item, '='), *end;
        weft_dim_binding b = {item, 0};

        if (equals == NULL || equals == item || equals[1] == '\0')
            return weft_fail(WEFT_E_INPUT, "--dim is '%s', expected NAME=N", item);
        *equals = '\0';
        b.size = strtoll(equals + 1, &end, 10);
        if (*end != '\0' || b.size < 1 || b.size > 1000000000)
            return weft_fail(WEFT_E_INPUT,
                             "--dim %s is '%s', expected a whole number from 1 to 1e9", item,
                             equals + 1);
        WEFT_PUSH(a, dims, b);
        text += n + (text[n] == ',');
    }
    out->dim = dims.at;
    out->n_dims = dims.n;
    return WEFT_OK;
}

/* "past_*=present_*,memory". */
static weft_status read_states(const char *text, weft_arena *a, weft_model_options *out)
{
    WEFT_VEC(weft_state_pattern) states = {0};

    out->keeps_states = true;
    out->no_states = strcmp(text, "none") == 0;
    while (*text && !out->no_states) {
        size_t n = strcspn(text, ",");
        weft_state_pattern s;

        WEFT_TRY(weft_state_read(weft_arena_text(a, text, n), a, &s));
        WEFT_PUSH(a, states, s);
        text += n + (text[n] == ',');
    }
    out->state = states.at;
    out->n_states = states.n;
    return WEFT_OK;
}

static weft_status read_dtype(const char *name, weft_dtype *out)
{
    *out = *name ? weft_dtype_find(name) : WEFT_TYPE_UNKNOWN;
    if (*name && !weft_dtype_is_float(*out))
        return weft_fail(WEFT_E_INPUT,
                         "--dtype is '%s', expected a floating-point type: f32, f16, bf16, f64, "
                         "f8e4m3fn, f8e5m2",
                         name);
    return WEFT_OK;
}

weft_status weft_model_flags_read(const weft_model_flags *f, weft_arena *a, weft_model_options *out)
{
    *out = (weft_model_options){.batch = f->batch, .train = f->train};
    out->optimizer = f->optimizer == NULL                    ? WEFT_ADAM /* no such flag */
                     : strcmp(f->optimizer, "sgd") == 0      ? WEFT_SGD
                     : strcmp(f->optimizer, "momentum") == 0 ? WEFT_MOMENTUM
                                                             : WEFT_ADAM;
    out->has_software = f->software != NULL && *f->software != '\0';
    if (out->has_software)
        out->software = weft_software_find(f->software);
    WEFT_TRY(read_dtype(f->dtype ? f->dtype : "", &out->dtype)); /* NULL: no such flag */
    if (f->state != NULL)
        WEFT_TRY(read_states(f->state, a, out));
    return read_dims(f->dim, a, out);
}

/* --min-segment is a number of nodes, or a time with its unit. */
static weft_status read_segments(const weft_case_flags *w, weft_constraints *out)
{
    const char *text = w->min_segment;
    size_t n_digits = strspn(text, "0123456789");

    out->most_segments = (int)w->max_segments;
    if (*text == '\0')
        return WEFT_OK;
    if (n_digits < 9 && text[n_digits] == '\0')
        out->least_segment_tasks = atoi(text);
    else if (weft_unit_parse(text, WEFT_UNIT_SECONDS, false, &out->least_segment_s) != WEFT_OK)
        return weft_fail_in(WEFT_E_INPUT, "--min-segment");
    if (out->least_segment_tasks < 1 && !(out->least_segment_s > 0))
        return weft_fail(WEFT_E_INPUT,
                         "--min-segment is '%s', expected a number of nodes or a time above 0: 4, "
                         "200us",
                         text);
    return WEFT_OK;
}

static weft_status read_limits(const weft_case_flags *w, weft_constraints *out)
{
    if (*w->deadline) {
        if (weft_unit_parse(w->deadline, WEFT_UNIT_SECONDS, false, &out->most_latency_s) != WEFT_OK)
            return weft_fail_in(WEFT_E_INPUT, "--deadline");
        if (!(out->most_latency_s > 0))
            return weft_fail(WEFT_E_INPUT, "--deadline is '%s', expected more than 0", w->deadline);
    }
    if (w->min_throughput > 0)
        out->most_period_s = 1 / w->min_throughput;
    if (w->mix && out->goal != WEFT_THROUGHPUT)
        return weft_fail(WEFT_E_INPUT, "--mix is for --goal throughput");
    if (w->contiguous && w->mix)
        return weft_fail(WEFT_E_INPUT, "--contiguous and --mix exclude each other");
    out->is_contiguous = w->contiguous;
    out->is_mixed = w->mix;
    WEFT_TRY(read_segments(w, out));
    out->pin = w->pin;
    out->together = w->together;
    return WEFT_OK;
}

/* "1,1,2". */
static weft_status read_speeds(const char *text, weft_arena *a, weft_task_machines *out)
{
    WEFT_VEC(double) speed = {0};

    while (*text) {
        size_t n = strcspn(text, ",");
        const char *item = weft_arena_text(a, text, n);
        double value;

        if (weft_unit_parse(item, WEFT_UNIT_NONE, true, &value) != WEFT_OK || !(value > 0))
            return weft_fail(WEFT_E_INPUT, "--speeds has '%s', expected a number above 0", item);
        WEFT_PUSH(a, speed, value);
        text += n + (text[n] == ',');
    }
    out->n_speeds = speed.n;
    out->speed = speed.at;
    return WEFT_OK;
}

static weft_status read_machines(const weft_case_flags *w, weft_arena *a, weft_task_machines *out)
{
    out->n_processors = (int)w->processors;
    WEFT_TRY(read_speeds(w->speeds, a, out));
    if (strcmp(w->bandwidth, "unlimited") == 0)
        out->bytes_per_s = INFINITY;
    else if (*w->bandwidth && weft_unit_parse(w->bandwidth, WEFT_UNIT_BYTES_PER_S, false,
                                              &out->bytes_per_s) != WEFT_OK)
        return weft_fail_in(WEFT_E_INPUT, "--bandwidth");
    if (*w->bandwidth && !(out->bytes_per_s > 0))
        return weft_fail(WEFT_E_INPUT, "--bandwidth is '%s', expected more than 0, or unlimited",
                         w->bandwidth);
    if (*w->communication && weft_unit_parse(w->communication, WEFT_UNIT_SECONDS, false,
                                             &out->communication_s) != WEFT_OK)
        return weft_fail_in(WEFT_E_INPUT, "--communication");
    if (out->communication_s < 0)
        return weft_fail(WEFT_E_INPUT, "--communication is '%s', expected 0 or more",
                         w->communication);
    return WEFT_OK;
}

weft_status weft_case_flags_read(const weft_case_flags *w, const weft_model_flags *f,
                                 const char *model, weft_arena *a, weft_request *out)
{
    *out = (weft_request){.model = model, .platform = w->on, .format = w->format};
    out->constraints.goal = strcmp(w->goal, "throughput") == 0 ? WEFT_THROUGHPUT : WEFT_LATENCY;
    WEFT_TRY(read_limits(w, &out->constraints));
    out->constraints.is_calls = strcmp(w->semantics, "calls") == 0;
    WEFT_TRY(weft_model_flags_read(f, a, &out->options));
    return read_machines(w, a, &out->options.machines);
}

/* --- collected output ------------------------------------------------------------------------ */

weft_status weft_collect_begin(weft_collect *c)
{
    *c = (weft_collect){NULL, NULL, 0};
    c->to = open_memstream(&c->text, &c->n);
    return c->to ? WEFT_OK : weft_fail(WEFT_E_SYSTEM, "no memory for the result");
}

weft_status weft_collect_emit(weft_collect *c, const char *path)
{
    weft_status status;

    fclose(c->to);
    status = weft_emit(path, c->text, c->n);
    free(c->text);
    return status;
}
