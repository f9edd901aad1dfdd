/* SPDX-License-Identifier: MIT */
/* mine_template.c: search spaces of accelerators, schema weft.template/1.
 *
 *   schema, name, dataflow: best | ws | os | is, state_bytes
 *   sizes:   {rows, cols, tensor_cores, lanes, vector_cores, buffer}: each a list, ascending, or
 *            {from, to, times: factor} or {from, to, step: difference}
 *   clock, derate, port; hbm: {bandwidth, efficiency, size}; l2: {bytes_per_pe, least}
 *   area:    {fixed, pe, lane, sram_per_MiB | sram: [{size, area}, ..]}
 *   power:   {fixed, mac, lane}; without it watts are not known
 *   designs: [{name, rows, cols, ..}]: real chips as points; the first is the reference
 *
 * A constant is a quantity or {value: quantity, error: part}: value (1 +- error) is all that is
 * claimed. Counts of sizes are checked before they are expanded. The hash covers what areas, watts
 * and seconds depend on, not names and errors. */
#include "mine.h"

#include <math.h>
#include <string.h>

#include "hash.h"

static const double LARGEST = 1e15; /* of any size */

typedef struct constant_row {
    const char *section, *key; /* section NULL: at the top */
    double fallback;           /* NAN: required */
    double highest;
    weft_unit unit;
    bool is_positive; /* 0 is refused */
} constant_row;

static const constant_row constant_rows[WEFT_N_CONSTANTS] = {
    [WEFT_AREA_FIXED] = {"area",  "fixed",        NAN,      1e6,  WEFT_UNIT_MM2,         false},
    [WEFT_AREA_PE] = {"area",  "pe",           NAN,      1e3,  WEFT_UNIT_MM2,         true },
    [WEFT_AREA_LANE] = {"area",  "lane",         NAN,      1e3,  WEFT_UNIT_MM2,         true },
    [WEFT_AREA_SRAM] = {"area",  "sram_per_MiB", NAN,      1e6,  WEFT_UNIT_MM2,         true },
    [WEFT_POWER_FIXED] = {"power", "fixed",        NAN,      1e6,  WEFT_UNIT_WATTS,       false},
    [WEFT_POWER_MAC] = {"power", "mac",          NAN,      1e-3, WEFT_UNIT_JOULES,      false},
    [WEFT_POWER_LANE] = {"power", "lane",         NAN,      1e-3, WEFT_UNIT_JOULES,      false},
    [WEFT_HBM_BANDWIDTH] = {"hbm",   "bandwidth",    NAN,      1e18, WEFT_UNIT_BYTES_PER_S, true },
    [WEFT_HBM_EFFICIENCY] = {"hbm",   "efficiency",   1,        1,    WEFT_UNIT_NONE,        true },
    [WEFT_CLOCK] = {NULL,    "clock",        NAN,      1e12, WEFT_UNIT_HERTZ,       true },
    [WEFT_DERATE] = {NULL,    "derate",       1,        1,    WEFT_UNIT_NONE,        true },
    [WEFT_PORT] = {NULL,    "port",         INFINITY, 1e15, WEFT_UNIT_BYTES,       true },
};

static const char *const dataflow_names[] = {"best", "ws", "os", "is"};

/* --- values ---------------------------------------------------------------------------------- */

/* A plain number where the unit is none, else the text of a quantity. */
static weft_status read_quantity(const weft_doc *d, const char *key, weft_unit unit, double *out)
{
    if (weft_doc_is_number(d) && unit == WEFT_UNIT_NONE) {
        *out = d->real;
        return WEFT_OK;
    }
    if ((!weft_doc_is_number(d) && d->kind != WEFT_DOC_TEXT) || d->text == NULL)
        return weft_doc_fail(d, "%s is %s, expected a number%s", key, weft_doc_kind_name(d->kind),
                             unit == WEFT_UNIT_NONE ? "" : " with a unit");
    if (weft_unit_parse(d->text, unit, unit == WEFT_UNIT_NONE, out) != WEFT_OK)
        return weft_doc_fail(d, "%s: %s", key, weft_message());
    return WEFT_OK;
}

static weft_status read_positive(const weft_doc *map, const char *key, weft_unit unit, double *out)
{
    const weft_doc *d = weft_doc_get(map, key);

    if (d == NULL)
        return weft_doc_fail(map, "key '%s' is missing", key);
    WEFT_TRY(read_quantity(d, key, unit, out));
    if (!(*out > 0 && *out <= LARGEST))
        return weft_doc_fail(d, "%s is %g, expected more than 0, at most %g", key, *out, LARGEST);
    return WEFT_OK;
}

/* A map, or NULL if the key is not there. */
static weft_status read_map(const weft_doc *map, const char *key, const weft_doc **out)
{
    *out = NULL;
    return weft_doc_get(map, key) ? weft_doc_need(map, key, WEFT_DOC_MAP, out) : WEFT_OK;
}

/* --- constants ------------------------------------------------------------------------------- */

static weft_status read_error(const weft_doc *map, const char *name, double *out)
{
    const weft_doc *d = weft_doc_get(map, "error");

    if (d == NULL)
        return WEFT_OK;
    WEFT_TRY(read_quantity(d, "error", WEFT_UNIT_NONE, out));
    if (!(*out >= 0 && *out < 1))
        return weft_doc_fail(d, "error of %s is %g, expected at least 0, less than 1", name, *out);
    return WEFT_OK;
}

static weft_status read_constant(const weft_doc *d, const constant_row *row, weft_constant *out)
{
    static const char *const keys[] = {"value", "error"};
    const weft_doc *value = d;

    if (d->kind == WEFT_DOC_MAP) {
        WEFT_TRY(weft_doc_known_keys(d, keys, 2));
        value = weft_doc_get(d, "value");
        if (value == NULL)
            return weft_doc_fail(d, "%s: key 'value' is missing", out->name);
        WEFT_TRY(read_error(d, out->name, &out->error));
    }
    WEFT_TRY(read_quantity(value, out->name, row->unit, &out->value));
    if (!(out->value >= 0 && out->value <= row->highest) || (row->is_positive && out->value == 0))
        return weft_doc_fail(value, "%s is %g, expected %s 0, at most %g", out->name, out->value,
                             row->is_positive ? "more than" : "at least", row->highest);
    return WEFT_OK;
}

/* True if constant `id` is not a key of this file: a table or nothing stands in its place. */
static bool is_absent(const weft_template *t, weft_constant_id id)
{
    if (id == WEFT_AREA_SRAM)
        return t->n_srams > 0;
    return !t->has_power &&
           strcmp(constant_rows[id].section ? constant_rows[id].section : "", "power") == 0;
}

static weft_status read_constants(const weft_doc *root, weft_template *t)
{
    for (int i = 0; i < WEFT_N_CONSTANTS; i++) {
        const constant_row *row = &constant_rows[i];
        const weft_doc *map = row->section ? weft_doc_get(root, row->section) : root;
        const weft_doc *d = map ? weft_doc_get(map, row->key) : NULL;
        weft_constant *c = &t->constant[i];

        c->name =
            row->section ? weft_arena_print(t->arena, "%s.%s", row->section, row->key) : row->key;
        c->value =
            is_absent(t, (weft_constant_id)i) ? (i == WEFT_AREA_SRAM ? 1 : 0) : row->fallback;
        if (d != NULL)
            WEFT_TRY(read_constant(d, row, c));
        else if (isnan(c->value))
            return weft_doc_fail(map ? map : root, "'%s' is missing", c->name);
    }
    return WEFT_OK;
}

static weft_status read_sram_row(const weft_doc *d, double *bytes, double *mm2)
{
    static const char *const keys[] = {"size", "area"};

    if (d->kind != WEFT_DOC_MAP)
        return weft_doc_fail(d, "a row of area.sram is %s, expected {size: 1MiB, area: 1.2mm2}",
                             weft_doc_kind_name(d->kind));
    WEFT_TRY(weft_doc_known_keys(d, keys, 2));
    WEFT_TRY(read_positive(d, "size", WEFT_UNIT_BYTES, bytes));
    return read_positive(d, "area", WEFT_UNIT_MM2, mm2);
}

/* Areas must grow with sizes: searches rely on it. */
static weft_status read_srams(const weft_doc *area, weft_template *t)
{
    const weft_doc *d = NULL;
    double *bytes, *mm2;

    if (weft_doc_get(area, "sram") == NULL)
        return WEFT_OK;
    WEFT_TRY(weft_doc_need(area, "sram", WEFT_DOC_LIST, &d));
    if (weft_doc_get(area, "sram_per_MiB"))
        return weft_doc_fail(d, "area has both sram and sram_per_MiB, expected one of them");
    if (d->n < 1 || d->n > WEFT_MOST_SIZES)
        return weft_doc_fail(d, "area.sram has %d rows, expected 1 to %d", d->n, WEFT_MOST_SIZES);
    bytes = WEFT_NEW(t->arena, double, d->n);
    mm2 = WEFT_NEW(t->arena, double, d->n);
    for (int i = 0; i < d->n; i++) {
        WEFT_TRY(read_sram_row(d->item[i], &bytes[i], &mm2[i]));
        if (i > 0 && !(bytes[i] > bytes[i - 1] && mm2[i] >= mm2[i - 1]))
            return weft_doc_fail(d->item[i], "rows of area.sram do not ascend");
    }
    t->n_srams = d->n;
    t->sram_bytes = bytes;
    t->sram_mm2 = mm2;
    return WEFT_OK;
}

/* --- sizes ----------------------------------------------------------------------------------- */

static weft_unit unit_of(weft_parameter k)
{
    return k == WEFT_BUFFER ? WEFT_UNIT_BYTES : WEFT_UNIT_NONE;
}

static weft_status read_size(const weft_doc *d, weft_parameter k, double *out)
{
    WEFT_TRY(read_quantity(d, weft_parameter_name(k), unit_of(k), out));
    if (!(*out >= 1 && *out <= LARGEST) || *out != floor(*out))
        return weft_doc_fail(d, "%s has %g in it, expected whole numbers from 1",
                             weft_parameter_name(k), *out);
    return WEFT_OK;
}

static weft_status read_size_list(const weft_doc *d, weft_parameter k, weft_template *t)
{
    double *size;

    if (d->n < 1 || d->n > WEFT_MOST_SIZES)
        return weft_doc_fail(d, "%s has %d sizes, expected 1 to %d", weft_parameter_name(k), d->n,
                             WEFT_MOST_SIZES);
    size = WEFT_NEW(t->arena, double, d->n);
    for (int i = 0; i < d->n; i++) {
        WEFT_TRY(read_size(d->item[i], k, &size[i]));
        if (i > 0 && !(size[i] > size[i - 1]))
            return weft_doc_fail(d->item[i], "sizes of %s do not ascend", weft_parameter_name(k));
    }
    t->n_sizes[k] = d->n;
    t->size[k] = size;
    return WEFT_OK;
}

/* {from, to, times} or {from, to, step}: all sizes up to `to`. */
static weft_status read_size_range(const weft_doc *d, weft_parameter k, weft_template *t)
{
    static const char *const keys[] = {"from", "to", "times", "step"};
    bool has_times = weft_doc_get(d, "times") != NULL;
    const weft_doc *from = weft_doc_get(d, "from"), *to = weft_doc_get(d, "to");
    double low = 0, high = 0, by = 0, *size;
    int n = 0;

    WEFT_TRY(weft_doc_known_keys(d, keys, 4));
    if (from == NULL || to == NULL || has_times == (weft_doc_get(d, "step") != NULL))
        return weft_doc_fail(d, "%s: expected from, to, and either times or step",
                             weft_parameter_name(k));
    WEFT_TRY(read_size(from, k, &low));
    WEFT_TRY(read_size(to, k, &high));
    WEFT_TRY(read_quantity(weft_doc_get(d, has_times ? "times" : "step"), weft_parameter_name(k),
                           has_times ? WEFT_UNIT_NONE : unit_of(k), &by));
    if (by != floor(by) || !(by >= (has_times ? 2 : 1)) || !(by <= LARGEST))
        return weft_doc_fail(d, "%s: %s is %g, expected a whole number from %d",
                             weft_parameter_name(k), has_times ? "times" : "step", by,
                             has_times ? 2 : 1);
    for (double x = low; x <= high && n <= WEFT_MOST_SIZES; x = has_times ? x * by : x + by)
        n++;
    if (n < 1 || n > WEFT_MOST_SIZES)
        return weft_doc_fail(d, "%s from %g to %g has %s sizes, expected 1 to %d",
                             weft_parameter_name(k), low, high, n < 1 ? "no" : "too many",
                             WEFT_MOST_SIZES);
    size = WEFT_NEW(t->arena, double, n);
    size[0] = low;
    for (int i = 1; i < n; i++)
        size[i] = has_times ? size[i - 1] * by : size[i - 1] + by;
    t->n_sizes[k] = n;
    t->size[k] = size;
    return WEFT_OK;
}

static weft_status read_sizes(const weft_doc *root, weft_template *t)
{
    const char *keys[WEFT_N_PARAMETERS];
    const weft_doc *map = NULL;
    double n_points = 1;

    for (int k = 0; k < WEFT_N_PARAMETERS; k++)
        keys[k] = weft_parameter_name((weft_parameter)k);
    WEFT_TRY(weft_doc_need(root, "sizes", WEFT_DOC_MAP, &map));
    WEFT_TRY(weft_doc_known_keys(map, keys, WEFT_N_PARAMETERS));
    for (int k = 0; k < WEFT_N_PARAMETERS; k++) {
        const weft_doc *d = weft_doc_get(map, keys[k]);

        if (d == NULL)
            return weft_doc_fail(map, "sizes of '%s' are missing", keys[k]);
        if (d->kind != WEFT_DOC_LIST && d->kind != WEFT_DOC_MAP)
            return weft_doc_fail(d, "%s is %s, expected a list or {from: 4, to: 256, times: 2}",
                                 keys[k], weft_doc_kind_name(d->kind));
        WEFT_TRY(
            (d->kind == WEFT_DOC_LIST ? read_size_list : read_size_range)(d, (weft_parameter)k, t));
    }
    for (int k = 0; k < WEFT_N_PARAMETERS; k++)
        n_points *= t->n_sizes[k];
    if (n_points > 1e18) /* numbers of points are 64 bits wide */
        return weft_doc_fail(map, "the sizes make %g designs, expected at most 1e18", n_points);
    return WEFT_OK;
}

/* --- real chips ------------------------------------------------------------------------------ */

static weft_status read_parameter(const weft_doc *d, weft_parameter k, const weft_template *t,
                                  weft_design_point *out)
{
    const weft_doc *value = weft_doc_get(d, weft_parameter_name(k));
    double size = 0;

    if (value == NULL)
        return weft_doc_fail(d, "a design has no '%s'", weft_parameter_name(k));
    WEFT_TRY(read_size(value, k, &size));
    for (int i = 0; i < t->n_sizes[k]; i++)
        if (t->size[k][i] == size) {
            out->at[k] = (uint16_t)i;
            return WEFT_OK;
        }
    return weft_doc_fail(value, "%s is %g, which is not among the sizes of the template",
                         weft_parameter_name(k), size);
}

static weft_status read_landmark(const weft_doc *d, weft_template *t, weft_landmark *out)
{
    const char *keys[WEFT_N_PARAMETERS + 1], *name = NULL;

    if (d->kind != WEFT_DOC_MAP)
        return weft_doc_fail(d, "a design is %s, expected {name: .., rows: .., ..}",
                             weft_doc_kind_name(d->kind));
    for (int k = 0; k < WEFT_N_PARAMETERS; k++)
        keys[k] = weft_parameter_name((weft_parameter)k);
    keys[WEFT_N_PARAMETERS] = "name";
    WEFT_TRY(weft_doc_known_keys(d, keys, WEFT_N_PARAMETERS + 1));
    WEFT_TRY(weft_doc_text(d, "name", &name));
    if (weft_landmark_find(t, name))
        return weft_doc_fail(d, "a second design is called '%.60s'", name);
    out->name = weft_arena_word(t->arena, name);
    for (int k = 0; k < WEFT_N_PARAMETERS; k++)
        WEFT_TRY(read_parameter(d, (weft_parameter)k, t, &out->point));
    return WEFT_OK;
}

static weft_status read_landmarks(const weft_doc *root, weft_template *t)
{
    const weft_doc *d = NULL;
    weft_landmark *list;

    WEFT_TRY(weft_doc_need(root, "designs", WEFT_DOC_LIST, &d));
    if (d->n < 1 || d->n > WEFT_MOST_SIZES)
        return weft_doc_fail(d,
                             "'designs' has %d of them, expected 1 to %d; the first is the "
                             "reference of searches",
                             d->n, WEFT_MOST_SIZES);
    t->landmark = list = WEFT_NEW(t->arena, weft_landmark, d->n);
    for (int i = 0; i < d->n; i++) {
        WEFT_TRY(read_landmark(d->item[i], t, &list[i]));
        t->n_landmarks = i + 1;
    }
    return WEFT_OK;
}

/* --- the whole file -------------------------------------------------------------------------- */

static weft_status read_head(const weft_doc *root, weft_template *t)
{
    static const char *const keys[] = {"schema",      "name",    "sizes", "clock", "derate",
                                       "hbm",         "area",    "power", "l2",    "dataflow",
                                       "state_bytes", "designs", "port"};
    const weft_doc *d = NULL;
    const char *text = NULL;

    if (root->kind != WEFT_DOC_MAP)
        return weft_doc_fail(root, "a template is %s, expected keys like 'sizes' and 'area'",
                             weft_doc_kind_name(root->kind));
    WEFT_TRY(weft_doc_known_keys(root, keys, 13));
    WEFT_TRY(weft_doc_need(root, "schema", WEFT_DOC_TEXT, &d));
    if (strcmp(d->text, "weft.template/1") != 0)
        return weft_doc_fail(d, "schema is '%.60s', expected 'weft.template/1'", d->text);
    WEFT_TRY(weft_doc_text(root, "name", &text));
    t->name = weft_arena_word(t->arena, text);
    t->dataflow = WEFT_DATAFLOW_WS;
    if (weft_doc_get(root, "dataflow") == NULL)
        return WEFT_OK;
    WEFT_TRY(weft_doc_need(root, "dataflow", WEFT_DOC_TEXT, &d));
    for (int i = 0; i < 4; i++)
        if (strcmp(d->text, dataflow_names[i]) == 0) {
            t->dataflow = (weft_dataflow)i;
            return WEFT_OK;
        }
    return weft_doc_fail(d, "dataflow is '%.60s', expected best, ws, os or is", d->text);
}

static weft_status read_sections(const weft_doc *root, weft_template *t)
{
    static const char *const area_keys[] = {"fixed", "pe", "lane", "sram_per_MiB", "sram"};
    static const char *const power_keys[] = {"fixed", "mac", "lane"};
    static const char *const hbm_keys[] = {"bandwidth", "efficiency", "size"};
    static const char *const l2_keys[] = {"bytes_per_pe", "least"};
    const weft_doc *area = NULL, *power = NULL, *hbm = NULL, *l2 = NULL;

    WEFT_TRY(weft_doc_need(root, "area", WEFT_DOC_MAP, &area));
    WEFT_TRY(weft_doc_known_keys(area, area_keys, 5));
    WEFT_TRY(read_map(root, "power", &power));
    if (power)
        WEFT_TRY(weft_doc_known_keys(power, power_keys, 3));
    t->has_power = power != NULL;
    WEFT_TRY(weft_doc_need(root, "hbm", WEFT_DOC_MAP, &hbm));
    WEFT_TRY(weft_doc_known_keys(hbm, hbm_keys, 3));
    WEFT_TRY(read_positive(hbm, "size", WEFT_UNIT_BYTES, &t->hbm_bytes));
    WEFT_TRY(read_map(root, "l2", &l2));
    if (l2) {
        WEFT_TRY(weft_doc_known_keys(l2, l2_keys, 2));
        WEFT_TRY(read_positive(l2, "bytes_per_pe", WEFT_UNIT_BYTES, &t->l2_bytes_per_pe));
        WEFT_TRY(read_positive(l2, "least", WEFT_UNIT_BYTES, &t->l2_least_bytes));
    }
    WEFT_TRY(read_positive(root, "state_bytes", WEFT_UNIT_NONE, &t->state_bytes));
    WEFT_TRY(read_srams(area, t));
    return read_constants(root, t);
}

static uint64_t hash_reals(uint64_t h, const double *x, int n)
{
    h = weft_hash_int(h, n);
    for (int i = 0; i < n; i++)
        h = weft_hash_real(h, x[i]);
    return h;
}

static uint64_t hash_of(const weft_template *t)
{
    const double more[] = {t->hbm_bytes, t->l2_bytes_per_pe, t->l2_least_bytes, t->state_bytes};
    uint64_t h = weft_hash_start();

    for (int k = 0; k < WEFT_N_PARAMETERS; k++)
        h = hash_reals(h, t->size[k], t->n_sizes[k]);
    for (int i = 0; i < WEFT_N_CONSTANTS; i++)
        h = weft_hash_real(h, t->constant[i].value);
    h = hash_reals(h, t->sram_bytes, t->n_srams);
    h = hash_reals(h, t->sram_mm2, t->n_srams);
    h = hash_reals(h, more, 4);
    h = weft_hash_int(h, t->dataflow);
    return weft_hash_end(weft_hash_int(h, t->has_power));
}

static weft_status read_template(const weft_doc *root, weft_template *t)
{
    WEFT_TRY(read_head(root, t));
    WEFT_TRY(read_sizes(root, t));
    WEFT_TRY(read_sections(root, t));
    WEFT_TRY(read_landmarks(root, t));
    t->hash = hash_of(t);
    return WEFT_OK;
}

static weft_template *new_template(void)
{
    weft_arena *a = weft_arena_new();
    weft_template *t = WEFT_NEW(a, weft_template, 1);

    t->arena = a;
    return t;
}

void weft_template_free(weft_template *t)
{
    if (t != NULL)
        weft_arena_free(t->arena);
}

weft_status weft_template_parse(const char *text, size_t n, const char *file, weft_template **out)
{
    weft_arena *a = weft_arena_new();
    weft_template *t = new_template();
    const weft_doc *root = NULL;
    weft_status status = weft_doc_parse(text, n, file, a, &root);

    t->source = weft_arena_word(t->arena, file);
    if (status == WEFT_OK)
        status = read_template(root, t);
    weft_arena_free(a);
    if (status == WEFT_OK)
        *out = t;
    else
        weft_template_free(t);
    return status;
}

weft_status weft_template_open(const char *source, weft_template **out)
{
    weft_file f;
    weft_preset p;
    weft_status status;

    WEFT_TRY(weft_preset_open(source, true, &f, &p));
    status = weft_template_parse(p.text, p.size, p.name, out);
    weft_file_close(&f);
    return status;
}

static const double *copied(weft_arena *a, const double *from, int n)
{
    return n > 0 ? weft_arena_copy(a, from, sizeof *from * (size_t)n) : NULL;
}

weft_template *weft_template_scaled(const weft_template *t, const double factor[WEFT_N_CONSTANTS])
{
    weft_template *s = new_template();
    weft_arena *a = s->arena;
    weft_landmark *list = WEFT_NEW(a, weft_landmark, t->n_landmarks);

    *s = *t;
    s->arena = a;
    s->name = weft_arena_word(a, t->name);
    s->source = weft_arena_word(a, t->source);
    for (int k = 0; k < WEFT_N_PARAMETERS; k++)
        s->size[k] = copied(a, t->size[k], t->n_sizes[k]);
    for (int i = 0; i < WEFT_N_CONSTANTS; i++) {
        s->constant[i].name = weft_arena_word(a, t->constant[i].name);
        s->constant[i].value *= factor[i];
    }
    s->sram_bytes = copied(a, t->sram_bytes, t->n_srams);
    s->sram_mm2 = copied(a, t->sram_mm2, t->n_srams);
    for (int i = 0; i < t->n_landmarks; i++)
        list[i] = (weft_landmark){weft_arena_word(a, t->landmark[i].name), t->landmark[i].point};
    s->landmark = list;
    s->hash = hash_of(s);
    return s;
}
