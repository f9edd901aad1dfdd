/* SPDX-License-Identifier: MIT */
/* measured.c: tables of measured rows.
 *
 *   case, what, model, params, platform, device, constants, type, software, published, unit, group,
 *   source, note
 *
 * Columns may stand in any order; only what, params, published and unit must be there. `params` are
 * those of the kind, "m=128,n=64,k=512", blanks instead of commas if one likes. Its tables below are
 * the only place that knows their names, ranges and defaults. */
#include "measured.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PASSES "forward|data|weight"
/* A size that must be given: 0 is out of its range, and the default. */
#define SIZE(type, field, help)                                                                    \
    {                                                                                              \
        WEFT_INT(type, field), 0, 1, 1e12, help, NULL, NULL                                        \
    }
#define SIZE_OR(type, field, fallback, lowest, help)                                               \
    {                                                                                              \
        WEFT_INT(type, field), fallback, lowest, 1e12, help, NULL, NULL                            \
    }

static const weft_option gemm_params[] = {
    SIZE(weft_gemm_shape, m, "rows of the left operand"),
    SIZE(weft_gemm_shape, n, "columns of the right operand"),
    SIZE(weft_gemm_shape, k, "inner size"),
    SIZE_OR(weft_gemm_shape, count, 1, 1, "independent products"),
    WEFT_OPTIONS_END,
};

static const weft_option conv_params[] = {
    SIZE(weft_conv_shape, batch, "images"),
    SIZE(weft_conv_shape, channels, "input channels"),
    SIZE(weft_conv_shape, height, "of the input"),
    SIZE(weft_conv_shape, width, "of the input"),
    SIZE(weft_conv_shape, filters, "output channels"),
    SIZE(weft_conv_shape, kernel_h, "height of the kernel"),
    SIZE(weft_conv_shape, kernel_w, "width of the kernel"),
    SIZE_OR(weft_conv_shape, pad_h, 0, 0, "rows added on each side"),
    SIZE_OR(weft_conv_shape, pad_w, 0, 0, "columns added on each side"),
    SIZE_OR(weft_conv_shape, stride_h, 1, 1, "vertical step"),
    SIZE_OR(weft_conv_shape, stride_w, 1, 1, "horizontal step"),
    {WEFT_TEXT(weft_conv_shape, pass), 0, 0, 0, "which product", "forward", PASSES},
    WEFT_OPTIONS_END,
};

static const weft_option rnn_params[] = {
    {WEFT_TEXT(weft_rnn_shape, cell),  0, 0, 0, "kind of the layer",              "lstm",    "rnn|gru|lstm"},
    SIZE(weft_rnn_shape, hidden, "elements of the state"),
    SIZE(weft_rnn_shape, batch, "sequences"),
    SIZE(weft_rnn_shape, steps, "length of a sequence"),
    {WEFT_FLAG(weft_rnn_shape, input), 1, 0, 1, "with the product of the inputs", NULL,      NULL          },
    {WEFT_TEXT(weft_rnn_shape, pass),  0, 0, 0, "which product",                  "forward", PASSES        },
    WEFT_OPTIONS_END,
};

static const weft_option infer_params[] = {
    SIZE_OR(weft_infer_shape, batch, 1, 1, "items at once"),
    SIZE_OR(weft_infer_shape, tokens, 1, 1, "tokens of an item"),
    {WEFT_TEXT(weft_infer_shape, beside), 0, 0, 0, "a device at work meanwhile", "", NULL},
    WEFT_OPTIONS_END,
};

static const weft_option train_params[] = {
    SIZE(weft_train_shape, batch, "samples of a step"),
    SIZE_OR(weft_train_shape, tokens, 1, 1, "tokens of a sample"),
    SIZE_OR(weft_train_shape, tp, 1, 1, "tensor width"),
    SIZE_OR(weft_train_shape, pp, 1, 1, "stages"),
    SIZE_OR(weft_train_shape, dp, 1, 1, "replicas"),
    SIZE_OR(weft_train_shape, mbs, 1, 1, "samples of a replica's microbatch"),
    SIZE_OR(weft_train_shape, chunks, 1, 1, "of a stage"),
    SIZE_OR(weft_train_shape, zero, 0, 0, "level of ZeRO"),
    SIZE_OR(weft_train_shape, sp, 0, 0, "1: sequence parallelism"),
    {WEFT_TEXT(weft_train_shape, schedule),  0, 0, 0, "order of microbatches",    "1f1b",
                                                             "gpipe|1f1b|interleaved"                                                                       },
    {WEFT_TEXT(weft_train_shape, recompute), 0, 0, 0, "of activations",           "none",
                                                             "none|selective|full"                                                                          },
    {WEFT_TEXT(weft_train_shape, recipe),    0, 0, 0, "bytes kept per parameter", "16",   "16|18|20"},
    WEFT_OPTIONS_END,
};

static const weft_option sum_params[] = {
    SIZE(weft_sum_shape, ranks, "devices"),
    SIZE(weft_sum_shape, bytes, "of each device"),
    WEFT_OPTIONS_END,
};

static const weft_measured_kind kinds[WEFT_N_MEASURED] = {
    {"gemm",      "products",          gemm_params,  sizeof(weft_gemm_shape),  false, true },
    {"conv",      "convolutions",      conv_params,  sizeof(weft_conv_shape),  false, true },
    {"rnn",       "recurrent layers",  rnn_params,   sizeof(weft_rnn_shape),   false, true },
    {"infer",     "networks",          infer_params, sizeof(weft_infer_shape), true,  true },
    {"train",     "training steps",    train_params, sizeof(weft_train_shape), true,  true },
    {"allreduce", "sums over devices", sum_params,   sizeof(weft_sum_shape),   false, false},
};

const weft_measured_kind *weft_measured_kind_of(weft_measured_what what)
{
    return &kinds[what];
}

enum {
    C_CASE,
    C_WHAT,
    C_MODEL,
    C_PARAMS,
    C_PLATFORM,
    C_DEVICE,
    C_CONSTANTS,
    C_TYPE,
    C_SOFTWARE,
    C_PUBLISHED,
    C_UNIT,
    C_GROUP,
    C_SOURCE,
    C_NOTE,
    N_COLUMNS
};

static const char *const column_names[N_COLUMNS] = {
    "case", "what",     "model",     "params", "platform", "device", "constants",
    "type", "software", "published", "unit",   "group",    "source", "note"};

typedef struct reader {
    weft_csv csv;
    int at[N_COLUMNS]; /* -1: there is no such column */
    const char *on;
    weft_arena *a;
} reader;

static const char *field(const reader *r, const weft_csv_row *row, int column)
{
    return r->at[column] < 0 ? "" : row->field[r->at[column]];
}

static weft_status fail_field(const reader *r, const weft_csv_row *row, int column,
                              const char *expected)
{
    return weft_csv_fail(&r->csv, row->line, "column '%s' is '%.60s', expected %s",
                         column_names[column], field(r, row, column), expected);
}

/* --- columns --------------------------------------------------------------------------------- */

static weft_status find_columns(reader *r)
{
    static const int needed[] = {C_WHAT, C_PARAMS, C_PUBLISHED, C_UNIT};

    for (int i = 0; i < N_COLUMNS; i++)
        r->at[i] = weft_csv_column(&r->csv, column_names[i]);
    for (int i = 0; i < r->csv.n_columns; i++) {
        const char *name = r->csv.column[i], *near;
        bool is_known = false;

        for (int k = 0; k < N_COLUMNS; k++)
            is_known = is_known || r->at[k] == i;
        if (is_known)
            continue;
        near = weft_nearest(name, column_names, N_COLUMNS);
        return weft_fail(WEFT_E_INPUT, "%s: there is a column '%.60s', expected one like '%s'%s",
                         r->csv.file, name, near ? near : column_names[C_WHAT],
                         near ? "" : " (see docs/formats.md)");
    }
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
        if (r->at[needed[i]] < 0)
            return weft_fail(WEFT_E_INPUT, "%s: the column '%s' is missing", r->csv.file,
                             column_names[needed[i]]);
    return WEFT_OK;
}

static weft_status read_what(const reader *r, const weft_csv_row *row, weft_measured_row *out)
{
    for (int i = 0; i < WEFT_N_MEASURED; i++)
        if (strcmp(field(r, row, C_WHAT), kinds[i].name) == 0) {
            out->what = (weft_measured_what)i;
            return WEFT_OK;
        }
    return fail_field(r, row, C_WHAT, "gemm, conv, rnn, infer, train or allreduce");
}

/* Sizes without default must be given. */
static weft_status check_params(const reader *r, const weft_csv_row *row,
                                const weft_measured_row *m)
{
    for (const weft_option *o = kinds[m->what].params; o->kind != WEFT_OPTION_END; o++) {
        int64_t value = 0;

        if (o->kind != WEFT_OPTION_INT)
            continue;
        memcpy(&value, (const char *)m->shape + o->offset, sizeof value);
        if ((double)value < o->lowest)
            return weft_csv_fail(&r->csv, row->line,
                                 "column 'params' is '%.60s': '%s' is missing (%s)",
                                 field(r, row, C_PARAMS), o->name, o->help);
    }
    return WEFT_OK;
}

static weft_status read_params(const reader *r, const weft_csv_row *row, weft_measured_row *out)
{
    const weft_measured_kind *kind = &kinds[out->what];
    void *shape = weft_arena_alloc(r->a, kind->size);
    const char *from = field(r, row, C_PARAMS);
    char *text = weft_arena_text(r->a, from, strlen(from)), *to = text;

    out->params = from;
    for (const char *at = from; *at != '\0'; at++) { /* blanks are commas, once */
        bool is_mark = *at == ' ' || *at == ',';

        if (!is_mark || (to > text && to[-1] != ',' && at[1] != '\0'))
            *to++ = is_mark ? ',' : *at;
    }
    *to = '\0';
    weft_options_default(kind->params, shape);
    if (weft_options_parse(kind->params, shape, text, r->a) != WEFT_OK)
        return weft_csv_fail(&r->csv, row->line, "column 'params': %s", weft_message());
    out->shape = shape;
    return check_params(r, row, out);
}

static weft_status read_type(const reader *r, const weft_csv_row *row, weft_measured_row *out)
{
    const char *name = field(r, row, C_TYPE);

    out->is_tf32 = strcmp(name, "tf32") == 0;
    out->type = out->is_tf32 ? WEFT_F32 : weft_dtype_find(name);
    if (kinds[out->what].has_type && !weft_dtype_is_float(out->type) &&
        !weft_dtype_is_integer(out->type))
        return fail_field(r, row, C_TYPE, "a type of numbers like f32, tf32, f16, bf16 or i8");
    if (!kinds[out->what].has_type && *name != '\0')
        return fail_field(r, row, C_TYPE, "nothing: sums have no type");
    return WEFT_OK;
}

static weft_status read_software(const reader *r, const weft_csv_row *row, weft_measured_row *out)
{
    const char *name = field(r, row, C_SOFTWARE);

    out->has_software = *name != '\0';
    out->software = out->has_software ? weft_software_find(name) : WEFT_SOFTWARE_GRAPH;
    if (out->software == WEFT_N_SOFTWARES)
        return fail_field(r, row, C_SOFTWARE, "graph, eager, fused or flash");
    return WEFT_OK;
}

/* --- published values ------------------------------------------------------------------------ */

/* What a rate counts, in the time that is predicted; 0: it has no such unit. */
static double count_of(const weft_measured_row *m, const char *unit)
{
    const weft_infer_shape *i = m->what == WEFT_MEASURED_INFER ? m->shape : NULL;
    const weft_train_shape *t = m->what == WEFT_MEASURED_TRAIN ? m->shape : NULL;
    double items = i ? (double)i->batch : t ? (double)t->batch : 0;
    double tokens = items * (i ? (double)i->tokens : t ? (double)t->tokens : 0);
    double devices = t ? (double)t->tp * (double)t->pp * (double)t->dp : 1;

    return strcmp(unit, "items/s") == 0           ? items
           : strcmp(unit, "tokens/s") == 0        ? tokens
           : strcmp(unit, "tokens/s/device") == 0 ? tokens / devices
                                                  : 0;
}

static weft_status read_unit(const reader *r, const weft_csv_row *row, weft_measured_row *out)
{
    static const char *const times[] = {"s", "ms", "us"};
    const char *unit = field(r, row, C_UNIT);
    double scale = 1;

    out->unit = unit;
    out->is_ratio = strcmp(unit, "x") == 0 && out->what == WEFT_MEASURED_INFER &&
                    *((const weft_infer_shape *)out->shape)->beside != '\0';
    out->seconds = out->is_ratio ? out->published : count_of(out, unit) / out->published;
    for (int i = 0; i < 3; i++, scale /= 1000)
        if (strcmp(unit, times[i]) == 0)
            out->seconds = out->published * scale;
    if (!(out->seconds > 0))
        return fail_field(r, row, C_UNIT,
                          kinds[out->what].has_model
                              ? "s, ms, us, items/s, tokens/s or tokens/s/device"
                              : "s, ms or us");
    return WEFT_OK;
}

static weft_status read_published(const reader *r, const weft_csv_row *row, weft_measured_row *out)
{
    const char *text = field(r, row, C_PUBLISHED);
    char *end = NULL;

    errno = 0;
    out->published = strtod(text, &end);
    if (*text == '\0' || *end != '\0' || errno != 0 || strpbrk(text, "xXnN") != NULL ||
        !(out->published >= 1e-12 && out->published <= 1e15))
        return fail_field(r, row, C_PUBLISHED, "a positive number");
    return read_unit(r, row, out);
}

static weft_status read_names(const reader *r, const weft_csv_row *row, weft_measured_row *out)
{
    const weft_measured_kind *kind = &kinds[out->what];

    out->model = field(r, row, C_MODEL);
    out->platform = field(r, row, C_PLATFORM);
    out->device = field(r, row, C_DEVICE);
    out->group = field(r, row, C_GROUP);
    out->source = field(r, row, C_SOURCE);
    out->constants = field(r, row, C_CONSTANTS);
    out->label = *field(r, row, C_CASE) ? field(r, row, C_CASE) : out->params;
    if (kind->has_model != (*out->model != '\0'))
        return fail_field(r, row, C_MODEL,
                          kind->has_model ? "a network like resnet50 or model.onnx"
                                          : "nothing: this row has no network");
    if (*out->platform == '\0' && r->on == NULL)
        return fail_field(r, row, C_PLATFORM, "a platform (or --on PLATFORM for rows without one)");
    return WEFT_OK;
}

/* --- the table ------------------------------------------------------------------------------- */

/* The value of "# key: value" before the first row, or NULL. */
static const char *remark(const char *text, size_t n, const char *key, weft_arena *a)
{
    const char *end = text + n;

    while (text < end && *text == '#') {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        size_t length = (size_t)((stop ? stop : end) - text), k = strlen(key);

        if (length > k + 4 && memcmp(text + 2, key, k) == 0 && memcmp(text + 2 + k, ": ", 2) == 0)
            return weft_arena_text(a, text + k + 4, length - k - 4);
        text += length + (stop != NULL);
    }
    return NULL;
}

static weft_status read_row(const reader *r, const weft_csv_row *row, weft_measured_row *out)
{
    out->line = row->line;
    WEFT_TRY(read_what(r, row, out));
    WEFT_TRY(read_params(r, row, out));
    WEFT_TRY(read_type(r, row, out));
    WEFT_TRY(read_software(r, row, out));
    WEFT_TRY(read_published(r, row, out));
    return read_names(r, row, out);
}

weft_status weft_measured_parse(const char *text, size_t n, const char *file, const char *on,
                                weft_arena *a, weft_measured *out)
{
    reader r = {.on = on, .a = a};
    weft_measured_row *row;
    const char *regret;

    text = text ? text : ""; /* an empty file */
    regret = remark(text, n, "regret", a);
    WEFT_TRY(weft_csv_parse(text, n, file, a, &r.csv));
    WEFT_TRY(find_columns(&r));
    if (r.csv.n_rows == 0)
        return weft_fail(WEFT_E_INPUT, "%s: there are no rows below the header", file);
    row = WEFT_NEW(a, weft_measured_row, r.csv.n_rows);
    for (int i = 0; i < r.csv.n_rows; i++)
        WEFT_TRY(read_row(&r, &r.csv.row[i], &row[i]));
    *out = (weft_measured){.file = file,
                           .summary = remark(text, n, "summary", a),
                           .recorded = remark(text, n, "recorded", a),
                           .family = remark(text, n, "family", a),
                           .has_choices = regret != NULL && strcmp(regret, "group") == 0,
                           .n = r.csv.n_rows,
                           .row = row};
    return WEFT_OK;
}

static bool is_file(const char *source)
{
    size_t n = strlen(source);

    return strchr(source, '/') != NULL || (n > 4 && strcmp(source + n - 4, ".csv") == 0);
}

static weft_status fail_set(const char *source, weft_arena *a)
{
    const char **name = WEFT_NEW(a, const char *, weft_set_preset_count()), *near;

    for (int i = 0; i < weft_set_preset_count(); i++)
        name[i] = weft_set_preset_at(i)->name;
    near = weft_nearest(source, name, weft_set_preset_count());
    return weft_fail(WEFT_E_INPUT,
                     "no set of measurements is called '%.100s'%s%s%s, expected one of weft list "
                     "sets, or a file ending in .csv",
                     source, near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
}

weft_status weft_measured_open(const char *source, const char *on, weft_arena *a,
                               weft_measured *out)
{
    weft_file file;
    weft_status status;

    for (int i = 0; i < weft_set_preset_count(); i++) {
        const weft_preset *p = weft_set_preset_at(i);

        if (strcmp(p->name, source) == 0)
            return weft_measured_parse(p->text, p->size, p->name, on, a, out);
    }
    if (!is_file(source))
        return fail_set(source, a);
    WEFT_TRY(weft_file_open(source, &file));
    status = weft_measured_parse((const char *)file.data, file.size, source, on, a, out);
    weft_file_close(&file);
    return status;
}
