/* SPDX-License-Identifier: MIT */
/* settings.c: a plan in the words of other runtimes.
 *
 *   onnxruntime.onnx, onnxruntime.json   the model with `layer_ann` on every node, and the session
 *                                        key that says which provider takes which of them
 *   openvino.json, openvino.py           affinities by name, and the lines that set them
 *   tensorrt.txt                         --layerDeviceTypes of trtexec
 *   pytorch.py                           split_spec of torch.distributed.pipelining
 *
 * Runtimes know kinds of devices, not ours: which kind a device is follows from its name (gpu, npu,
 * dla, fpga, tpu; else cpu). The last file is there only if the network is a chain of stages that
 * begin where modules do: each device has nodes that follow each other, and a stage begins with the
 * first node of a module (names as PyTorch exports them: "/layer1/layer1.0/conv1/Conv"). */
#include <ctype.h>
#include <string.h>

#include "deploy.h"
#include "module.h"

typedef struct setting {
    const weft_deployment *plan;
    weft_arena *a;
    weft_bytes document;
    WEFT_VEC(weft_setting_file) file;
} setting;

/* What runtimes call a kind of device. */
static const struct kind {
    const char *part; /* of the name of a device */
    const char *ort, *openvino;
    bool is_dla;
} kinds[] = {
    {"dla",  "npu",         "NPU", true },
    {"npu",  "npu",         "NPU", true },
    {"gpu",  "gpu",         "GPU", false},
    {"cuda", "cuda",        "GPU", false},
    {"fpga", "fpga",        "CPU", false},
    {"tpu",  "accelerator", "CPU", false},
    {"",     "cpu",         "CPU", false},
};

static const struct kind *kind_of(const char *device)
{
    size_t n = strlen(device);
    char lower[128] = "";

    for (size_t i = 0; i < n && i < sizeof lower - 1; i++)
        lower[i] = (char)tolower((unsigned char)device[i]);
    for (const struct kind *k = kinds;; k++)
        if (strstr(lower, k->part) != NULL)
            return k;
}

static const char *device_name(const setting *s, int d)
{
    return s->plan->platform->device[d].name;
}

static void add_parts(setting *s, const char *name, const weft_bytes *part, int n)
{
    WEFT_PUSH(s->a, s->file, ((weft_setting_file){name, part, n}));
}

static void add_text(setting *s, const char *name, const char *text)
{
    weft_bytes *part = WEFT_NEW(s->a, weft_bytes, 1);

    *part = (weft_bytes){text, strlen(text)};
    add_parts(s, name, part, 1);
}

/* Long texts are put together in a growing buffer. */
typedef struct writer {
    weft_arena *a;
    WEFT_VEC(char) text;
} writer;

static void put(writer *w, const char *text)
{
    for (; *text; text++)
        WEFT_PUSH(w->a, w->text, *text);
}

static const char *written(writer *w)
{
    WEFT_PUSH(w->a, w->text, '\0');
    return w->text.at;
}

static const char *quoted(const char *text, weft_arena *a)
{
    return weft_doc_json(weft_doc_new_text(a, text), 0, a);
}

/* --- ONNX Runtime ---------------------------------------------------------------------------- */

static weft_status add_annotated(setting *s)
{
    const weft_graph *g = s->plan->graph;
    const char **result = WEFT_NEW(s->a, const char *, g->n_nodes), **op;
    weft_note *note = WEFT_NEW(s->a, weft_note, g->n_nodes);
    int *at = WEFT_NEW(s->a, int, g->n_nodes + 1), n = 0;
    weft_annotated *out = WEFT_NEW(s->a, weft_annotated, 1);

    op = WEFT_NEW(s->a, const char *, g->n_nodes);
    for (int u = 0; u < g->n_nodes; u++) {
        int first = g->res_at[u];

        while (first < g->res_at[u + 1] && g->res[first] < 0)
            first++;
        if (first == g->res_at[u + 1])
            continue;
        result[n] = g->tensor[g->res[first]].name;
        op[n] = g->node[u].op;
        note[n] = (weft_note){"layer_ann", device_name(s, s->plan->device[u])};
        n++;
        at[n] = n;
    }
    WEFT_TRY(weft_onnx_annotate(
        s->document, s->plan->source,
        &(weft_notes){.n_nodes = n, .result = result, .op = op, .note_at = at, .note = note}, s->a,
        out));
    add_parts(s, "onnxruntime.onnx", out->part, out->n_parts);
    return WEFT_OK;
}

/* "gpu(=gpu0, =gpu1); cpu(=cpu)": devices of a kind in one rule. */
static const char *layer_rules(setting *s)
{
    const weft_platform *p = s->plan->platform;
    writer w = {.a = s->a};

    for (int d = 0; d < p->n_devices; d++) {
        const struct kind *k = kind_of(p->device[d].name);
        bool is_first = true;

        for (int e = 0; e < d; e++)
            is_first = is_first && strcmp(kind_of(p->device[e].name)->ort, k->ort) != 0;
        if (!is_first)
            continue;
        put(&w, w.text.n > 0 ? "; " : "");
        put(&w, k->ort);
        put(&w, "(=");
        put(&w, p->device[d].name);
        for (int e = d + 1; e < p->n_devices; e++)
            if (strcmp(kind_of(p->device[e].name)->ort, k->ort) == 0) {
                put(&w, ", =");
                put(&w, p->device[e].name);
            }
        put(&w, ")");
    }
    return written(&w);
}

static weft_status add_onnxruntime(setting *s)
{
    weft_doc *keys = weft_doc_new(s->a, WEFT_DOC_MAP);

    WEFT_TRY(add_annotated(s));
    weft_put_text(s->a, keys, "session.layer_assignment_settings", layer_rules(s));
    add_text(s, "onnxruntime.json", weft_arena_print(s->a, "%s\n", weft_doc_json(keys, 1, s->a)));
    return WEFT_OK;
}

/* --- OpenVINO -------------------------------------------------------------------------------- */

static const char openvino_loader[] =
    "import json, os, sys\n"
    "import openvino as ov\n"
    "folder = os.path.dirname(os.path.abspath(__file__))\n"
    "affinity = json.load(open(os.path.join(folder, \"openvino.json\")))\n"
    "core = ov.Core()\n"
    "model = core.read_model(sys.argv[1])\n"
    "for op in model.get_ordered_ops():\n"
    "    near = [x.get_node() for o in op.outputs() for x in o.get_target_inputs()]\n"
    "    names = [op.get_friendly_name()] + [x.get_friendly_name() for x in near]\n"
    "    known = [affinity[\"nodes\"][x] for x in names if x in affinity[\"nodes\"]]\n"
    "    op.get_rt_info()[\"affinity\"] = (known + [affinity[\"default\"]])[0]\n"
    "compiled = core.compile_model(model, \"HETERO:\" + \",\".join(affinity[\"devices\"]))\n";

static void add_openvino(setting *s)
{
    const weft_graph *g = s->plan->graph;
    weft_doc *d = weft_doc_new(s->a, WEFT_DOC_MAP), *nodes = weft_doc_new(s->a, WEFT_DOC_MAP);
    weft_doc *devices = weft_doc_new(s->a, WEFT_DOC_LIST);

    for (int i = 0; i < s->plan->platform->n_devices; i++) {
        const char *name = kind_of(device_name(s, i))->openvino;
        bool is_new = true;

        for (int k = 0; k < devices->n; k++)
            is_new = is_new && strcmp(devices->item[k]->text, name) != 0;
        if (is_new)
            weft_doc_add(s->a, devices, weft_doc_new_text(s->a, name));
    }
    for (int u = 0; u < g->n_nodes; u++)
        weft_put_text(s->a, nodes, g->node[u].name,
                      kind_of(device_name(s, s->plan->device[u]))->openvino);
    weft_doc_put(s->a, d, "devices", devices);
    weft_put_text(s->a, d, "default", devices->item[0]->text);
    weft_doc_put(s->a, d, "nodes", nodes);
    add_text(s, "openvino.json", weft_arena_print(s->a, "%s\n", weft_doc_json(d, 1, s->a)));
    add_text(s, "openvino.py", openvino_loader);
}

/* --- TensorRT -------------------------------------------------------------------------------- */

/* Names with the marks of the list itself cannot be written. */
static void add_tensorrt(setting *s)
{
    const weft_graph *g = s->plan->graph;
    writer w = {.a = s->a};
    bool is_first = true;

    put(&w, "--layerDeviceTypes=");
    for (int u = 0; u < g->n_nodes; u++) {
        if (strpbrk(g->node[u].name, ",:") != NULL)
            continue;
        put(&w, is_first ? "" : ",");
        put(&w, g->node[u].name);
        put(&w, kind_of(device_name(s, s->plan->device[u]))->is_dla ? ":DLA" : ":GPU");
        is_first = false;
    }
    put(&w, "\n");
    if (!is_first)
        add_text(s, "tensorrt.txt", written(&w));
}

/* --- PyTorch --------------------------------------------------------------------------------- */

static bool is_inside(const char *module, const char *outer, size_t n)
{
    return strncmp(module, outer, n) == 0 && (module[n] == '\0' || module[n] == '.');
}

/* The outermost module that begins with node u; NULL: none. */
static const char *beginning_at(const setting *s, const char *const *module, int u)
{
    const char *all = module[u];

    for (size_t n = strcspn(all, ".");; n += 1 + strcspn(all + n + 1, ".")) {
        bool is_new = *all != '\0';

        for (int v = 0; v < u && is_new; v++)
            is_new = !is_inside(module[v], all, n);
        if (is_new)
            return weft_arena_text(s->a, all, n);
        if (all[n] == '\0')
            return NULL;
    }
}

/* Each device has nodes that follow each other; n_stages: how many devices do anything. */
static bool is_chain(const weft_deployment *d, weft_arena *a, int *n_stages)
{
    bool *seen = WEFT_NEW(a, bool, d->platform->n_devices);

    *n_stages = 0;
    for (int u = 0; u < d->graph->n_nodes; u++) {
        if (u > 0 && d->device[u] == d->device[u - 1])
            continue;
        if (seen[d->device[u]])
            return false;
        seen[d->device[u]] = true;
        ++*n_stages;
    }
    return true;
}

static void add_pytorch(setting *s)
{
    const weft_graph *g = s->plan->graph;
    const char **module = WEFT_NEW(s->a, const char *, g->n_nodes);
    writer w = {.a = s->a};
    int n_stages;

    if (!is_chain(s->plan, s->a, &n_stages) || n_stages < 2)
        return;
    for (int u = 0; u < g->n_nodes; u++)
        module[u] = weft_module_of(g->node[u].name, s->a);
    put(&w, "from torch.distributed.pipelining import SplitPoint\n\n");
    put(&w, "# pipeline(module, mb_args, split_spec=split_spec)\nsplit_spec = {\n");
    for (int u = 1; u < g->n_nodes; u++) {
        const char *name;

        if (s->plan->device[u] == s->plan->device[u - 1])
            continue;
        name = beginning_at(s, module, u);
        if (name == NULL)
            return;
        put(&w, "    ");
        put(&w, quoted(name, s->a));
        put(&w, ": SplitPoint.BEGINNING,\n");
    }
    put(&w, "}\n");
    add_text(s, "pytorch.py", written(&w));
}

weft_status weft_settings_make(const weft_deployment *d, weft_bytes document, weft_arena *a,
                               const weft_setting_file **out, int *n)
{
    setting s = {.plan = d, .a = a, .document = document};

    WEFT_TRY(add_onnxruntime(&s));
    add_openvino(&s);
    add_tensorrt(&s);
    add_pytorch(&s);
    *out = s.file.at;
    *n = s.file.n;
    return WEFT_OK;
}
