/* SPDX-License-Identifier: MIT */
/* manifest.c: what is in the folder of a split network, written and read (weft.split/1).
 *
 * Segments and tensors are named by their place in the lists. Segments stand in an order in which
 * they can run one by one; so the reader need not look for circles. */
#define _POSIX_C_SOURCE 200809L
#include "manifest.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "pace.h"
#include "split_folder.h"

uint64_t weft_file_hash(const void *data, size_t size)
{
    const uint8_t *at = data;
    uint64_t h = weft_hash_int(weft_hash_start(), (int64_t)size), word;

    for (; size >= sizeof word; size -= sizeof word, at += sizeof word) {
        memcpy(&word, at, sizeof word);
        h = (h ^ word) * 0x9fb21c651e98df25u;
        h ^= h >> 32;
    }
    for (; size > 0; size--)
        h = (h ^ *at++) * 0x100000001b3u;
    return weft_hash_end(h);
}

weft_status weft_file_hash_of(const char *path, uint64_t *out)
{
    weft_file f;
    weft_status status;

    WEFT_TRY(weft_file_open(path, &f));
    *out = weft_file_hash(f.data, f.size);
    status = weft_file_check(&f);
    weft_file_close(&f);
    return status;
}

/* --- writing --------------------------------------------------------------------------------- */

static void put_hash(weft_arena *a, weft_doc *map, const char *key, uint64_t hash)
{
    weft_put_text(a, map, key, weft_arena_print(a, "%016" PRIx64, hash));
}

static weft_doc *ints_doc(const int *x, int n, weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int i = 0; i < n; i++)
        weft_doc_add(a, list, weft_doc_new_int(a, x[i]));
    return list;
}

static weft_doc *devices_doc(const weft_split_net *s, weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int i = 0; i < s->n_devices; i++) {
        const weft_segment_device *d = &s->device[i];
        weft_doc *map = weft_add_map(a, list);

        weft_put_text(a, map, "name", d->name);
        weft_put_text(a, map, "engine", d->engine);
        weft_doc_put(a, map, "cpus", ints_doc(d->cores, d->n_cores, a));
    }
    return list;
}

static weft_doc *segments_doc(const weft_split_net *s, weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int i = 0; i < s->n_segments; i++) {
        const weft_segment *g = &s->segment[i];
        weft_doc *map = weft_add_map(a, list);

        weft_put_text(a, map, "file", g->file);
        put_hash(a, map, "hash", g->hash);
        weft_put_int(a, map, "device", g->device);
        weft_put_real(a, map, "start_s", g->start_s);
        weft_put_real(a, map, "seconds", g->seconds);
        weft_put_real(a, map, "paced_s", g->paced_s);
        weft_doc_put(a, map, "nodes", weft_texts_doc(g->node, g->n_nodes, a));
        weft_doc_put(a, map, "reads", ints_doc(g->reads, g->n_reads, a));
        weft_doc_put(a, map, "makes", ints_doc(g->makes, g->n_makes, a));
    }
    return list;
}

static weft_doc *tensors_doc(const weft_split_net *s, weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int t = 0; t < s->n_tensors; t++) {
        const weft_segment_tensor *x = &s->tensor[t];
        weft_doc *map = weft_add_map(a, list), *shape = weft_doc_new(a, WEFT_DOC_LIST);
        weft_doc *send = weft_doc_new(a, WEFT_DOC_LIST);

        weft_put_text(a, map, "name", x->name);
        weft_put_text(a, map, "type", weft_dtype_name(x->type));
        for (int i = 0; i < x->shape->rank; i++)
            weft_doc_add(a, shape, weft_doc_new_int(a, x->shape->dim[i]));
        weft_doc_put(a, map, "shape", shape);
        weft_put_int(a, map, "bytes", x->bytes);
        weft_put_int(a, map, "segment", x->producer);
        weft_put_bool(a, map, "output", x->is_output);
        if (x->state != NULL)
            weft_put_text(a, map, "state", x->state);
        for (int d = 0; d < s->n_devices; d++)
            weft_doc_add(a, send, weft_doc_new_real(a, s->send_s[t * s->n_devices + d]));
        weft_doc_put(a, map, "send_s", send);
    }
    return list;
}

static weft_doc *weights_doc(const weft_split_net *s, weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int i = 0; i < s->n_weights; i++) {
        weft_doc *map = weft_add_map(a, list);

        weft_put_text(a, map, "file", s->weight[i].file);
        put_hash(a, map, "hash", s->weight[i].hash);
    }
    return list;
}

weft_doc *weft_manifest_doc(const weft_split_net *s, const char *const *file, int n_files,
                            weft_arena *a)
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP), *model = weft_doc_new(a, WEFT_DOC_MAP);

    weft_put_text(a, d, "schema", "weft.split/1");
    weft_put_text(a, model, "source", s->model);
    put_hash(a, model, "hash", s->model_hash);
    weft_put_text(a, model, "file", s->whole);
    weft_doc_put(a, d, "model", model);
    weft_put_text(a, d, "transfer", weft_transfer_name(s->transfer));
    weft_put_int(a, d, "host", s->host);
    weft_put_real(a, d, "latency_s", s->plan_latency_s);
    weft_put_real(a, d, "period_s", s->plan_period_s);
    weft_doc_put(a, d, "devices", devices_doc(s, a));
    weft_doc_put(a, d, "segments", segments_doc(s, a));
    weft_doc_put(a, d, "tensors", tensors_doc(s, a));
    weft_doc_put(a, d, "weights", weights_doc(s, a));
    weft_doc_put(a, d, "files", weft_texts_doc(file, n_files, a));
    return d;
}

/* --- reading --------------------------------------------------------------------------------- */

typedef struct reading {
    weft_split_net *out;
    weft_arena *a;
} reading;

static weft_status read_hash(const weft_doc *map, const char *key, uint64_t *out)
{
    const char *text = NULL;
    char *end;

    WEFT_TRY(weft_doc_text(map, key, &text));
    *out = strtoull(text, &end, 16);
    if (strlen(text) != 16 || *end != '\0')
        return weft_doc_fail(map, "%s is '%.40s', expected 16 hexadecimal digits", key, text);
    return WEFT_OK;
}

static weft_status read_text_or_null(const weft_doc *map, const char *key, const char **out)
{
    const weft_doc *d = weft_doc_get(map, key);

    *out = NULL;
    return d == NULL || d->kind == WEFT_DOC_NULL ? WEFT_OK : weft_doc_text(map, key, out);
}

static weft_status read_ints(const weft_doc *map, const char *key, int most, weft_arena *a,
                             const int **out, int *n)
{
    const weft_doc *list = NULL;
    int *x;

    WEFT_TRY(weft_doc_need(map, key, WEFT_DOC_LIST, &list));
    *out = x = WEFT_NEW(a, int, list->n + 1);
    *n = list->n;
    for (int i = 0; i < list->n; i++) {
        const weft_doc *d = list->item[i];

        if (d->kind != WEFT_DOC_INT || d->integer < 0 || d->integer >= most)
            return weft_doc_fail(d, "this is no number from 0 to %d, as %s has them", most - 1,
                                 key);
        x[i] = (int)d->integer;
    }
    return WEFT_OK;
}

static weft_status read_int(const weft_doc *map, const char *key, int lowest, int highest, int *out)
{
    int64_t n = 0;

    WEFT_TRY(weft_doc_int(map, key, lowest, highest, &n));
    *out = (int)n;
    return WEFT_OK;
}

static weft_status check_maps(const weft_doc *list)
{
    for (int i = 0; i < list->n; i++)
        if (list->item[i]->kind != WEFT_DOC_MAP)
            return weft_doc_fail(list->item[i], "this is %s, expected a map",
                                 weft_doc_kind_name(list->item[i]->kind));
    return WEFT_OK;
}

/* A list of maps, not empty. */
static weft_status need_maps(const weft_doc *d, const char *key, const weft_doc **out)
{
    WEFT_TRY(weft_doc_need(d, key, WEFT_DOC_LIST, out));
    if ((*out)->n == 0)
        return weft_doc_fail(*out, "%s is empty", key);
    return check_maps(*out);
}

static weft_status read_devices(reading *r, const weft_doc *list)
{
    weft_segment_device *device = WEFT_NEW(r->a, weft_segment_device, list->n);

    r->out->device = device;
    r->out->n_devices = list->n;
    for (int i = 0; i < list->n; i++) {
        const weft_doc *map = list->item[i];

        WEFT_TRY(weft_doc_text(map, "name", &device[i].name));
        WEFT_TRY(read_text_or_null(map, "engine", &device[i].engine));
        WEFT_TRY(
            read_ints(map, "cpus", WEFT_MOST_CPUS, r->a, &device[i].cores, &device[i].n_cores));
    }
    return WEFT_OK;
}

static weft_status read_shape(const weft_doc *map, weft_arena *a, const weft_shape **out)
{
    weft_shape *shape = WEFT_NEW(a, weft_shape, 1);
    const weft_doc *list = NULL;

    WEFT_TRY(weft_doc_need(map, "shape", WEFT_DOC_LIST, &list));
    if (list->n > WEFT_MAX_RANK)
        return weft_doc_fail(list, "a shape has %d dimensions, expected at most %d", list->n,
                             WEFT_MAX_RANK);
    for (int i = 0; i < list->n; i++) {
        if (list->item[i]->kind != WEFT_DOC_INT || list->item[i]->integer < 0)
            return weft_doc_fail(list->item[i], "this is no size");
        shape->dim[shape->rank++] = list->item[i]->integer;
    }
    *out = shape;
    return WEFT_OK;
}

static weft_status read_tensor(reading *r, const weft_doc *map, weft_segment_tensor *out,
                               double *send_s)
{
    const weft_doc *output = NULL, *send = NULL;
    const char *type = NULL;

    WEFT_TRY(weft_doc_text(map, "name", &out->name));
    WEFT_TRY(weft_doc_text(map, "type", &type));
    out->type = weft_dtype_find(type);
    WEFT_TRY(read_shape(map, r->a, &out->shape));
    WEFT_TRY(weft_doc_int(map, "bytes", 0, INT64_C(1) << 50, &out->bytes));
    if (out->type == WEFT_TYPE_UNKNOWN || weft_shape_elements(out->shape) < 0 ||
        out->bytes != weft_dtype_bytes(out->type, weft_shape_elements(out->shape)))
        return weft_doc_fail(
            map, "tensor '%.80s' has bytes that are not those of its type and shape", out->name);
    WEFT_TRY(read_int(map, "segment", -1, r->out->n_segments - 1, &out->producer));
    WEFT_TRY(weft_doc_need(map, "output", WEFT_DOC_BOOL, &output));
    out->is_output = output->truth;
    if (weft_doc_get(map, "state") != NULL)
        WEFT_TRY(weft_doc_text(map, "state", &out->state));
    WEFT_TRY(weft_doc_need(map, "send_s", WEFT_DOC_LIST, &send));
    if (send->n != r->out->n_devices)
        return weft_doc_fail(send, "send_s has %d entries, expected %d", send->n,
                             r->out->n_devices);
    for (int d = 0; d < send->n; d++) {
        if (!weft_doc_is_number(send->item[d]) || !(send->item[d]->real >= 0))
            return weft_doc_fail(send->item[d], "this is no time");
        send_s[d] = send->item[d]->real;
    }
    return WEFT_OK;
}

static weft_status read_tensors(reading *r, const weft_doc *list)
{
    weft_segment_tensor *tensor = WEFT_NEW(r->a, weft_segment_tensor, list->n);
    double *send_s = WEFT_NEW(r->a, double, (size_t)list->n *(size_t)r->out->n_devices);

    r->out->tensor = tensor;
    r->out->n_tensors = list->n;
    r->out->send_s = send_s;
    for (int t = 0; t < list->n; t++) {
        WEFT_TRY(read_tensor(r, list->item[t], &tensor[t],
                             send_s + (size_t)t * (size_t)r->out->n_devices));
        if (tensor[t].producer < 0 && t != r->out->n_inputs)
            return weft_doc_fail(list->item[t], "inputs of the network come first");
        r->out->n_inputs += tensor[t].producer < 0;
    }
    return WEFT_OK;
}

static weft_status read_node_names(const weft_doc *map, weft_arena *a, weft_segment *out)
{
    const weft_doc *list = NULL;
    const char **name;

    WEFT_TRY(weft_doc_need(map, "nodes", WEFT_DOC_LIST, &list));
    out->node = name = WEFT_NEW(a, const char *, list->n + 1);
    for (int i = 0; i < list->n; i++) {
        if (list->item[i]->kind != WEFT_DOC_TEXT)
            return weft_doc_fail(list->item[i], "this is no name of a node");
        name[out->n_nodes++] = list->item[i]->text;
    }
    return WEFT_OK;
}

/* Files are in the folder itself. */
static weft_status read_file_name(const weft_doc *map, const char **out)
{
    WEFT_TRY(weft_doc_text(map, "file", out));
    if (**out == '\0' || strchr(*out, '/') != NULL || strcmp(*out, "..") == 0)
        return weft_doc_fail(map, "file is '%.80s', expected a name in the folder of the manifest",
                             *out);
    return WEFT_OK;
}

static weft_status read_segment(reading *r, const weft_doc *map, int n_tensors, weft_segment *out)
{
    WEFT_TRY(read_file_name(map, &out->file));
    WEFT_TRY(read_hash(map, "hash", &out->hash));
    WEFT_TRY(read_int(map, "device", 0, r->out->n_devices - 1, &out->device));
    WEFT_TRY(weft_doc_real(map, "start_s", 0, 1e18, &out->start_s));
    WEFT_TRY(weft_doc_real(map, "seconds", 0, 1e18, &out->seconds));
    WEFT_TRY(weft_doc_real(map, "paced_s", 0, 1e18, &out->paced_s));
    WEFT_TRY(read_node_names(map, r->a, out));
    WEFT_TRY(read_ints(map, "reads", n_tensors, r->a, &out->reads, &out->n_reads));
    return read_ints(map, "makes", n_tensors, r->a, &out->makes, &out->n_makes);
}

static weft_status read_segments(reading *r, const weft_doc *list, int n_tensors)
{
    weft_segment *segment = WEFT_NEW(r->a, weft_segment, list->n);

    r->out->segment = segment;
    for (int i = 0; i < list->n; i++)
        WEFT_TRY(read_segment(r, list->item[i], n_tensors, &segment[i]));
    return WEFT_OK;
}

static weft_status read_weights(reading *r, const weft_doc *d)
{
    const weft_doc *list = NULL;
    weft_weight_file *weight;

    WEFT_TRY(weft_doc_need(d, "weights", WEFT_DOC_LIST, &list));
    WEFT_TRY(check_maps(list));
    r->out->weight = weight = WEFT_NEW(r->a, weft_weight_file, list->n + 1);
    r->out->n_weights = list->n;
    for (int i = 0; i < list->n; i++) {
        WEFT_TRY(weft_doc_text(list->item[i], "file", &weight[i].file));
        WEFT_TRY(read_hash(list->item[i], "hash", &weight[i].hash));
        if (!weft_is_below(weight[i].file))
            return weft_doc_fail(list->item[i],
                                 "file is '%.80s', expected a name below the folder of the "
                                 "manifest",
                                 weight[i].file);
    }
    return WEFT_OK;
}

/* What is read was made before, by the segment that the tensor names. */
static weft_status check_order(const weft_split_net *s, const weft_doc *list)
{
    for (int i = 0; i < s->n_segments; i++) {
        for (int k = 0; k < s->segment[i].n_reads; k++)
            if (s->tensor[s->segment[i].reads[k]].producer >= i)
                return weft_doc_fail(list->item[i], "segment %d reads '%.80s' before it is made", i,
                                     s->tensor[s->segment[i].reads[k]].name);
        for (int k = 0; k < s->segment[i].n_makes; k++)
            if (s->tensor[s->segment[i].makes[k]].producer != i)
                return weft_doc_fail(list->item[i], "segment %d does not make '%.80s'", i,
                                     s->tensor[s->segment[i].makes[k]].name);
    }
    return WEFT_OK;
}

/* The bytes of a file are those that were written. */
static weft_status check_file(const weft_split_net *s, const char *name, uint64_t hash,
                              weft_arena *a)
{
    uint64_t found;

    WEFT_TRY(weft_file_hash_of(weft_arena_print(a, "%s/%s", s->folder, name), &found));
    if (found == hash)
        return WEFT_OK;
    return weft_fail(WEFT_E_INPUT,
                     "%s/%s has changed since it was written: its hash is %016" PRIx64
                     ", the manifest has %016" PRIx64,
                     s->folder, name, found, hash);
}

static weft_status read_transfer(const weft_doc *d, weft_transfer *out)
{
    const char *name = NULL;

    WEFT_TRY(weft_doc_text(d, "transfer", &name));
    for (*out = WEFT_OVERLAP; *out <= WEFT_CALLS; ++*out)
        if (strcmp(weft_transfer_name(*out), name) == 0)
            return WEFT_OK;
    return weft_doc_fail(d, "transfer is '%.40s', which is unknown", name);
}

static weft_status read_manifest(const weft_doc *d, reading *r)
{
    const weft_doc *model = NULL, *devices = NULL, *segments = NULL, *tensors = NULL;
    weft_split_net *s = r->out;

    WEFT_TRY(weft_doc_need(d, "model", WEFT_DOC_MAP, &model));
    WEFT_TRY(weft_doc_text(model, "source", &s->model));
    WEFT_TRY(read_hash(model, "hash", &s->model_hash));
    WEFT_TRY(read_text_or_null(model, "file", &s->whole));
    if (s->whole != NULL)
        WEFT_TRY(read_file_name(model, &s->whole));
    WEFT_TRY(read_transfer(d, &s->transfer));
    WEFT_TRY(weft_doc_real(d, "latency_s", 0, 1e18, &s->plan_latency_s));
    WEFT_TRY(weft_doc_real(d, "period_s", 0, 1e18, &s->plan_period_s));
    WEFT_TRY(need_maps(d, "devices", &devices));
    WEFT_TRY(need_maps(d, "segments", &segments));
    WEFT_TRY(need_maps(d, "tensors", &tensors));
    WEFT_TRY(read_devices(r, devices));
    WEFT_TRY(read_int(d, "host", -1, s->n_devices - 1, &s->host));
    s->n_segments = segments->n;
    WEFT_TRY(read_segments(r, segments, tensors->n));
    WEFT_TRY(read_tensors(r, tensors));
    WEFT_TRY(read_weights(r, d));
    return check_order(s, segments);
}

static weft_status check_manifest(const weft_doc *d)
{
    static const char *const keys[] = {"schema",    "model",    "transfer", "host",
                                       "latency_s", "period_s", "devices",  "segments",
                                       "tensors",   "weights",  "files"};
    const char *schema = NULL;

    if (d->kind != WEFT_DOC_MAP)
        return weft_doc_fail(d, "this is %s, expected the manifest of a split network",
                             weft_doc_kind_name(d->kind));
    WEFT_TRY(weft_doc_text(d, "schema", &schema));
    if (strcmp(schema, "weft.split/1") != 0)
        return weft_doc_fail(d, "schema is '%.60s', expected 'weft.split/1'", schema);
    return weft_doc_known_keys(d, keys, (int)(sizeof keys / sizeof *keys));
}

static weft_status open_manifest(const char *folder, weft_arena *a, const weft_doc **out)
{
    WEFT_TRY(weft_doc_read(weft_arena_print(a, "%s/%s", folder, WEFT_MANIFEST), a, out));
    return check_manifest(*out);
}

weft_status weft_manifest_parse(const char *text, size_t n, const char *folder, weft_arena *a,
                                weft_split_net *out)
{
    reading r = {out, a};
    const weft_doc *d;

    *out = (weft_split_net){.folder = folder};
    WEFT_TRY(weft_doc_parse(text, n, WEFT_MANIFEST, a, &d));
    WEFT_TRY(check_manifest(d));
    return read_manifest(d, &r);
}

weft_status weft_split_net_read(const char *folder, weft_arena *a, weft_split_net *out)
{
    reading r = {out, a};
    const weft_doc *d;

    *out = (weft_split_net){.folder = folder};
    WEFT_TRY(open_manifest(folder, a, &d));
    WEFT_TRY(read_manifest(d, &r));
    for (int i = 0; i < out->n_segments; i++)
        WEFT_TRY(check_file(out, out->segment[i].file, out->segment[i].hash, a));
    for (int i = 0; i < out->n_weights; i++)
        WEFT_TRY(check_file(out, out->weight[i].file, out->weight[i].hash, a));
    return WEFT_OK;
}

weft_status weft_manifest_files(const char *folder, weft_arena *a, const char *const **file, int *n)
{
    const weft_doc *d, *list = NULL;
    const char **name;

    WEFT_TRY(open_manifest(folder, a, &d));
    WEFT_TRY(weft_doc_need(d, "files", WEFT_DOC_LIST, &list));
    *file = name = WEFT_NEW(a, const char *, list->n + 1);
    *n = 0;
    for (int i = 0; i < list->n; i++)
        if (list->item[i]->kind == WEFT_DOC_TEXT && weft_is_below(list->item[i]->text))
            name[(*n)++] = list->item[i]->text;
    return WEFT_OK;
}
