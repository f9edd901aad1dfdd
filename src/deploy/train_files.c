/* SPDX-License-Identifier: MIT */
/* train_files.c: a plan of training as the files and arguments of programs that train.
 *
 *  megatron    arguments of Megatron-LM, one for each line. Stages of unequal layers, and chunks, are a
 *              layout: E the embedding, t*N layers, L the loss, | between chunks, in the order of the
 *              pipeline (Megatron Core, "Custom Pipeline Model Parallel Layout").
 *  deepspeed   JSON configuration: batch sizes, level of ZeRO, tensor parallel. Pipelines are made in
 *              the program, and are refused.
 *  torchtitan  TOML: degrees, schedule, modules of each stage (module_fqns_per_model_part).
 *  accelerate  JSON device map of the modules of a Hugging Face model: stages of one device each.
 *
 * All of them treat stages alike: one tensor width, as many replicas with as many samples for each
 * stage, one way to compute again. A plan in which these differ is refused.
 *
 * Layers go to the chunk in which they begin. A cut inside of a layer is not in any of the formats:
 * the layer stays whole there, and a comment says so. */
#include "train_files.h"

#include <string.h>

#include "train_plan.h"

typedef struct writer {
    const weft_train_deployment *d;
    const weft_train_plan *plan;
    weft_arena *a;
    int n_chunks, n_layers;
    int *layers; /* [n_chunks] that begin there */
    int dp;
    int64_t mbs;
    const char *text;
    const char *torn, *notes; /* the first cut inside of a layer, or NULL; all, as comments */
} writer;

static void note(writer *w, const char *text)
{
    w->torn = w->torn != NULL ? w->torn : text;
    w->notes = weft_arena_print(w->a, "%s# %s\n", w->notes, text);
}

/* --- what the plan decides, if it is the same for all stages --------------------------------- */

static weft_status check_alike(const writer *w, const char *format)
{
    const weft_stage *first = &w->plan->stage[0];

    for (int i = 0; i < w->plan->n_stages; i++) {
        const weft_stage *s = &w->plan->stage[i];
        const char *what = NULL;

        if (s->width != first->width)
            what = "tensor widths";
        else if (weft_stage_blocks(s) != w->dp)
            what = "numbers of replicas";
        else if (s->recompute != first->recompute)
            what = "recomputation";
        for (int k = 0; k < s->n_parts; k++)
            if (s->part[k].samples != w->mbs)
                what = "samples of replicas";
        if (what != NULL)
            return weft_fail(WEFT_E_INPUT,
                             "--deploy %s: %s of stage 0 and stage %d differ, which it cannot say",
                             format, what, i);
    }
    return WEFT_OK;
}

static int chunk_of(const writer *w, int unit)
{
    const weft_blocks *u = &w->d->problem->blocks;
    int c = 0;

    while (!weft_bit_get(weft_cut_bits(u, w->plan->cut[c + 1]), unit))
        c++;
    return c;
}

/* Layers of chunks, and where a cut tears a layer. The last unit, the logits, is behind all layers. */
static void count_layers(writer *w)
{
    const weft_blocks *u = &w->d->problem->blocks;
    int chunk = 0;

    for (int i = 0; i < u->n_blocks; i++) {
        int c = chunk_of(w, i), n = w->d->n_layers[i];

        if (c != chunk && n == 0 && w->n_layers > 0 && i + 1 < u->n_blocks)
            note(w, weft_arena_print(
                        w->a,
                        "the plan cuts before '%s', inside of or behind layer %d; here that layer "
                        "is whole in part %d",
                        u->name[i], w->n_layers - 1, chunk));
        chunk = c;
        w->layers[c] += n;
        w->n_layers += n;
    }
}

static weft_status need_layers(const writer *w, const char *format)
{
    if (w->n_layers == 0)
        return weft_fail(WEFT_E_INPUT,
                         "--deploy %s: the network has no layers of attention that parts of a "
                         "pipeline could be counted in",
                         format);
    return WEFT_OK;
}

static bool is_bf16(const writer *w)
{
    return w->d->origin->options.dtype == WEFT_BF16;
}

static bool is_half(const writer *w)
{
    return is_bf16(w) || w->d->origin->options.dtype == WEFT_F16;
}

static int64_t batch(const writer *w)
{
    return w->d->problem->constraints.batch;
}

/* --- Megatron-LM ----------------------------------------------------------------------------- */

static void add_line(writer *w, const char *line)
{
    w->text = weft_arena_print(w->a, "%s%s\n", w->text, line);
}

static void add_count(writer *w, const char *flag, int64_t n)
{
    add_line(w, weft_arena_print(w->a, "%s %lld", flag, (long long)n));
}

static bool are_layers_even(const writer *w)
{
    for (int c = 1; c < w->n_chunks; c++)
        if (w->layers[c] != w->layers[0])
            return false;
    return true;
}

static const char *layout(const writer *w)
{
    const char *text = "E";

    for (int c = 0; c < w->n_chunks; c++) {
        const char *layers = w->layers[c] == 0   ? ""
                             : w->layers[c] == 1 ? "t"
                                                 : weft_arena_print(w->a, "t*%d", w->layers[c]);
        bool is_last = c + 1 == w->n_chunks;

        text = weft_arena_print(w->a, "%s%s%s", text, layers,
                                !is_last           ? "|"
                                : w->layers[c] > 0 ? ",L"
                                                   : "L");
    }
    return text;
}

static weft_status add_pipeline(writer *w)
{
    const weft_train_plan *p = w->plan;

    add_count(w, "--pipeline-model-parallel-size", p->n_stages);
    if (p->n_stages == 1)
        return WEFT_OK;
    if (p->schedule == WEFT_GPIPE || p->schedule == WEFT_EAGER)
        return weft_fail(
            WEFT_E_INPUT,
            "--deploy megatron: Megatron-LM has the schedules 1f1b and interleaved, the "
            "plan has %s",
            weft_schedule_name(p->schedule));
    for (int c = 1; c + 1 < w->n_chunks; c++)
        if (w->layers[c] == 0)
            return weft_fail(WEFT_E_INPUT,
                             "--deploy megatron: no layer begins in part %d of the pipeline", c);
    if (!are_layers_even(w))
        add_line(w, weft_arena_print(w->a, "--pipeline-model-parallel-layout \"%s\"", layout(w)));
    else if (p->n_chunks > 1)
        add_count(w, "--num-layers-per-virtual-pipeline-stage", w->layers[0]);
    return WEFT_OK;
}

static void add_zero(writer *w)
{
    static const char *const strategy[] = {
        [WEFT_ZERO_GRADIENTS] = "optim_grads",
        [WEFT_ZERO_WEIGHTS] = "optim_grads_params",
    };
    int zero = w->d->problem->constraints.zero;

    if (zero >= WEFT_ZERO_MOMENTS)
        add_line(w, "--use-distributed-optimizer");
    if (zero < WEFT_ZERO_GRADIENTS)
        return;
    add_line(w, "--use-megatron-fsdp");
    add_line(w, weft_arena_print(w->a, "--data-parallel-sharding-strategy %s", strategy[zero]));
    add_line(w, "--no-gradient-accumulation-fusion");
    add_line(w, "--ckpt-format fsdp_dtensor");
    add_line(w, "--overlap-grad-reduce");
    add_line(w, "--overlap-param-gather");
}

static void add_recompute(writer *w)
{
    weft_recompute r = w->plan->stage[0].recompute;

    if (r == WEFT_KEEP_SOME)
        add_line(w, "--recompute-granularity selective");
    if (r == WEFT_KEEP_NONE) {
        add_line(w, "--recompute-granularity full");
        add_line(w, "--recompute-method uniform");
        add_line(w, "--recompute-num-layers 1");
    }
}

static weft_status write_megatron(writer *w)
{
    int tp = w->plan->stage[0].width;

    WEFT_TRY(need_layers(w, "megatron"));
    add_count(w, "--num-layers", w->n_layers);
    if (w->d->problem->tokens > 0)
        add_count(w, "--seq-length", w->d->problem->tokens);
    add_count(w, "--tensor-model-parallel-size", tp);
    if (w->d->problem->is_sequence && tp > 1)
        add_line(w, "--sequence-parallel");
    WEFT_TRY(add_pipeline(w));
    add_count(w, "--micro-batch-size", w->mbs);
    add_count(w, "--global-batch-size", batch(w));
    add_zero(w);
    add_recompute(w);
    if (is_half(w))
        add_line(w, is_bf16(w) ? "--bf16" : "--fp16");
    w->text = weft_arena_print(w->a, "%s%s", w->notes, w->text);
    return WEFT_OK;
}

/* --- JSON ------------------------------------------------------------------------------------ */

static void end_json(writer *w, const weft_doc *d)
{
    w->text = weft_arena_print(w->a, "%s\n", weft_doc_json(d, 1, w->a));
}

static weft_doc *enabled(writer *w)
{
    weft_doc *d = weft_doc_new(w->a, WEFT_DOC_MAP);

    weft_doc_put(w->a, d, "enabled", weft_doc_new_bool(w->a, true));
    return d;
}

static weft_status check_deepspeed(const writer *w)
{
    if (w->plan->n_stages > 1)
        return weft_fail(
            WEFT_E_INPUT,
            "--deploy deepspeed: stages of a pipeline are made in the program, not in the "
            "configuration, and the plan has %d",
            w->plan->n_stages);
    if (w->plan->stage[0].width > 1 && w->d->problem->constraints.zero == WEFT_ZERO_WEIGHTS)
        return weft_fail(
            WEFT_E_INPUT,
            "--deploy deepspeed: tensor parallelism goes with ZeRO 0, 1 and 2, the plan "
            "has ZeRO 3");
    if (w->d->problem->is_sequence && w->plan->stage[0].width > 1)
        return weft_fail(WEFT_E_INPUT, "--deploy deepspeed: its tensor parallelism has no sequence "
                                       "parallelism, which the plan has");
    return WEFT_OK;
}

static weft_status write_deepspeed(writer *w)
{
    weft_doc *d = weft_doc_new(w->a, WEFT_DOC_MAP), *zero = weft_doc_new(w->a, WEFT_DOC_MAP);
    int level = w->d->problem->constraints.zero;

    WEFT_TRY(check_deepspeed(w));
    weft_put_int(w->a, d, "train_batch_size", batch(w));
    weft_put_int(w->a, d, "train_micro_batch_size_per_gpu", w->mbs);
    weft_put_int(w->a, d, "gradient_accumulation_steps", batch(w) / (w->mbs * w->dp));
    weft_put_int(w->a, zero, "stage", level);
    weft_doc_put(w->a, zero, "overlap_comm", weft_doc_new_bool(w->a, level >= WEFT_ZERO_GRADIENTS));
    weft_doc_put(w->a, d, "zero_optimization", zero);
    if (is_half(w))
        weft_doc_put(w->a, d, is_bf16(w) ? "bf16" : "fp16", enabled(w));
    if (w->plan->stage[0].width > 1) {
        weft_doc *tensor = weft_doc_new(w->a, WEFT_DOC_MAP);

        weft_put_int(w->a, tensor, "autotp_size", w->plan->stage[0].width);
        weft_doc_put(w->a, d, "tensor_parallel", tensor);
    }
    end_json(w, d);
    return WEFT_OK;
}

/* --- torchtitan ------------------------------------------------------------------------------ */

/* The modules of a chunk: names before the first layer, layers, names behind the last. */
static const char *modules(const writer *w, int chunk, int first, const char *quote)
{
    const char *text = chunk == 0 ? weft_arena_print(w->a, "%stok_embeddings%s", quote, quote) : "";

    for (int i = 0; i < w->layers[chunk]; i++)
        text = weft_arena_print(w->a, "%s%s%slayers.%d%s", text, *text ? ", " : "", quote,
                                first + i, quote);
    if (chunk + 1 == w->n_chunks)
        text = weft_arena_print(w->a, "%s%s%snorm%s, %soutput%s", text, *text ? ", " : "", quote,
                                quote, quote, quote);
    return text;
}

static void add_stages(writer *w)
{
    static const char *const schedule[WEFT_N_SCHEDULES] = {
        [WEFT_GPIPE] = "GPipe",
        [WEFT_ONE_F_ONE_B] = "1F1B",
        [WEFT_INTERLEAVED] = "Interleaved1F1B",
    };
    int first = 0;

    add_line(w, weft_arena_print(w->a, "pipeline_parallel_schedule = \"%s\"",
                                 schedule[w->plan->schedule]));
    add_line(w,
             weft_arena_print(w->a, "pipeline_parallel_microbatch_size = %lld", (long long)w->mbs));
    add_line(w, "module_fqns_per_model_part = [");
    for (int c = 0; c < w->n_chunks; c++) {
        add_line(w, weft_arena_print(w->a, "  [%s],", modules(w, c, first, "\"")));
        first += w->layers[c];
    }
    add_line(w, "]");
}

static weft_status check_titan(const writer *w)
{
    int zero = w->d->problem->constraints.zero;

    if (w->plan->n_stages > 1 && w->plan->schedule == WEFT_EAGER)
        return weft_fail(WEFT_E_INPUT, "--deploy torchtitan: it has no schedule 'eager'");
    if (w->plan->stage[0].width > 1 && !w->d->problem->is_sequence)
        return weft_fail(WEFT_E_INPUT,
                         "--deploy torchtitan: its tensor parallelism always has sequence "
                         "parallelism, the plan has none (see weft train --sp)");
    if (w->dp > 1 && zero == WEFT_ZERO_MOMENTS)
        return weft_fail(
            WEFT_E_INPUT,
            "--deploy torchtitan: replicas divide nothing, or gradients and weights; the "
            "plan has ZeRO 1");
    return WEFT_OK;
}

static void add_degrees(writer *w)
{
    int zero = w->d->problem->constraints.zero;
    bool is_sharded = w->dp > 1 && zero >= WEFT_ZERO_GRADIENTS;

    add_line(w, "[parallelism]");
    add_line(w,
             weft_arena_print(w->a, "data_parallel_replicate_degree = %d", is_sharded ? 1 : w->dp));
    add_line(w, weft_arena_print(w->a, "data_parallel_shard_degree = %d", is_sharded ? w->dp : 1));
    if (is_sharded)
        add_line(w, weft_arena_print(w->a, "fsdp_reshard_after_forward = \"%s\"",
                                     zero == WEFT_ZERO_WEIGHTS ? "always" : "never"));
    add_line(w, weft_arena_print(w->a, "tensor_parallel_degree = %d", w->plan->stage[0].width));
    add_line(w, weft_arena_print(w->a, "pipeline_parallel_degree = %d", w->plan->n_stages));
}

static weft_status write_titan(writer *w)
{
    static const char *const mode[WEFT_N_RECOMPUTES] = {"none", "selective", "full"};
    weft_recompute r = w->plan->stage[0].recompute;

    WEFT_TRY(check_titan(w));
    if (w->plan->n_stages > 1)
        WEFT_TRY(need_layers(w, "torchtitan"));
    add_line(w, "[training]");
    add_line(w, weft_arena_print(w->a, "local_batch_size = %lld",
                                 (long long)(w->plan->n_stages > 1 ? batch(w) / w->dp : w->mbs)));
    add_line(w, weft_arena_print(w->a, "global_batch_size = %lld", (long long)batch(w)));
    if (w->d->problem->tokens > 0)
        add_line(w, weft_arena_print(w->a, "seq_len = %lld", (long long)w->d->problem->tokens));
    if (is_bf16(w))
        add_line(w, "mixed_precision_param = \"bfloat16\"");
    add_line(w, "");
    add_degrees(w);
    if (w->plan->n_stages > 1)
        add_stages(w);
    add_line(w, "");
    add_line(w, "[activation_checkpoint]");
    add_line(w, weft_arena_print(w->a, "mode = \"%s\"", mode[r]));
    if (r == WEFT_KEEP_SOME)
        add_line(w, "selective_ac_option = \"op\"");
    w->text = weft_arena_print(w->a, "%s%s", w->notes, w->text);
    return WEFT_OK;
}

/* --- accelerate ------------------------------------------------------------------------------ */

/* Names of the modules of families of Hugging Face models: before the layers, a layer, behind. */
typedef struct family {
    const char *model; /* the built-in network starts with this */
    const char *first[3], *layer, *last[3];
} family;

static const family families[] = {
    {"gpt2",
     {"transformer.wte", "transformer.wpe", NULL},
     "transformer.h", {"transformer.ln_f", "lm_head", NULL}        },
    {"llama",
     {"model.embed_tokens", NULL},
     "model.layers",  {"model.norm", "model.rotary_emb", "lm_head"}},
    {"mistral",
     {"model.embed_tokens", NULL},
     "model.layers",  {"model.norm", "model.rotary_emb", "lm_head"}},
    {"mixtral",
     {"model.embed_tokens", NULL},
     "model.layers",  {"model.norm", "model.rotary_emb", "lm_head"}},
    {"qwen",
     {"model.embed_tokens", NULL},
     "model.layers",  {"model.norm", "model.rotary_emb", "lm_head"}},
};

static const family *family_of(const char *model)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (model != NULL && strncmp(model, families[i].model, strlen(families[i].model)) == 0)
            return &families[i];
    return NULL;
}

static weft_status write_accelerate(writer *w)
{
    const family *f = family_of(w->d->origin->model);
    weft_doc *d = weft_doc_new(w->a, WEFT_DOC_MAP);
    int layer = 0;

    WEFT_TRY(need_layers(w, "accelerate"));
    if (f == NULL)
        return weft_fail(
            WEFT_E_INPUT,
            "--deploy accelerate: the modules of '%s' are not known, expected gpt2, llama, "
            "mistral, mixtral or qwen",
            w->d->origin->model);
    if (w->torn != NULL)
        return weft_fail(WEFT_E_INPUT, "--deploy accelerate: a device map has whole layers, but %s",
                         w->torn);
    if (w->plan->stage[0].width > 1 || w->dp > 1 || w->plan->n_chunks > 1)
        return weft_fail(WEFT_E_INPUT,
                         "--deploy accelerate: a device map has stages of one device, the "
                         "plan has tensor parallelism, replicas or chunks");
    for (int i = 0; i < 3 && f->first[i] != NULL; i++)
        weft_put_int(w->a, d, f->first[i], 0);
    for (int c = 0; c < w->n_chunks; c++)
        for (int i = 0; i < w->layers[c]; i++)
            weft_put_int(w->a, d, weft_arena_print(w->a, "%s.%d", f->layer, layer++), c);
    for (int i = 0; i < 3 && f->last[i] != NULL; i++)
        weft_put_int(w->a, d, f->last[i], w->n_chunks - 1);
    end_json(w, d);
    return WEFT_OK;
}

/* --- all ------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    weft_status (*write)(writer *);
} formats[] = {
    {"megatron",   write_megatron  },
    {"deepspeed",  write_deepspeed },
    {"torchtitan", write_titan     },
    {"accelerate", write_accelerate},
};
enum { N_FORMATS = sizeof formats / sizeof *formats };

const char *weft_train_format(int i)
{
    return i < N_FORMATS ? formats[i].name : NULL;
}

weft_status weft_train_deploy(const char *format, const weft_train_deployment *d, weft_arena *a,
                              const char **text)
{
    writer w = {.d = d,
                .plan = d->plan,
                .a = a,
                .n_chunks = d->plan->n_stages * d->plan->n_chunks,
                .dp = weft_stage_blocks(&d->plan->stage[0]),
                .mbs = d->plan->stage[0].part[0].samples,
                .text = "",
                .notes = ""};
    int i = 0;

    while (i < N_FORMATS && strcmp(formats[i].name, format) != 0)
        i++;
    if (i == N_FORMATS)
        return weft_fail(WEFT_E_INPUT,
                         "--deploy is '%s', expected megatron, deepspeed, torchtitan or accelerate",
                         format);
    w.layers = WEFT_NEW(a, int, w.n_chunks);
    WEFT_TRY(check_alike(&w, format));
    count_layers(&w);
    WEFT_TRY(formats[i].write(&w));
    *text = w.text;
    return WEFT_OK;
}
