/* SPDX-License-Identifier: MIT */
/* measure_train.c: a simulated step of training -> everything that is said about its plan.
 *
 * step         end of the last job.
 * seconds      of all jobs, by what they do. Of forward and backward, what collectives of the
 *              tensor width take in the slowest part is counted apart from computation.
 * busy         of a stage: its jobs, sum of gradients and update included.
 * exposed      collectives of the tensor width, sums of gradients, and what chunks wait for
 *              weights and gradients that replicas divide / (stages * step).
 * bubble       1 - busy of all stages / (stages * step).
 * bytes sent   between stages: whole activations and gradients to every member of the receiving
 *              blocks; by replicas: 2 (n-1)/n of what each device sums, for n blocks, in both ways
 *              of summing; shared parameters, both ways; by tensor width: seconds of collectives
 *              times bandwidth inside islands, an upper estimate, as latency counts as if it were
 *              bytes.
 * utilisation  operations at the peak of devices over what all devices in use could do in a step.
 *              Devices count by their speed; without one, nothing is said.
 * memory       of a device of each part, from the timeline of its stage; intervals are closed at
 *              the start and open at the end:
 *                weights, gradients, moments   always
 *                stash of a chunk              from the start of forward to the end of backward
 *                work of a chunk               while it runs: the most of any of its units
 *              The fullest device of a stage is the one whose peak is the largest part of its
 *              memory; without limit, the one with the largest peak.
 *
 * Time O(jobs * (parts + chunks of a stage)). */
#include <math.h>
#include <string.h>

#include "train_lowered.h"

typedef struct measuring {
    const weft_train_lowered *d;
    const weft_timeline *t;
    weft_arena *a;
    weft_train_measures *out;
} measuring;

/* --- seconds --------------------------------------------------------------------------------- */

static void measure_seconds(measuring *m)
{
    const weft_train_lowered *d = m->d;
    const weft_jobs *j = d->jobs;
    int n_stages = d->plan->n_stages;
    weft_train_measures *out = m->out;
    double sum_s[WEFT_N_TRAIN_PARTS] = {0}, all_s = 0, wait_s = 0;
    double *busy_s = WEFT_NEW(m->a, double, n_stages);

    for (int i = 0; i < j->n_jobs; i++) {
        sum_s[d->part[i]] += j->duration_s[i];
        if (j->use_at[i] < j->use_at[i + 1] && j->use[j->use_at[i]] < n_stages)
            busy_s[j->use[j->use_at[i]]] += j->duration_s[i];
    }
    for (int c = 0; c < d->n_chunks; c++) {
        out->collective_s += (double)d->n_microbatches * d->figures[c].collective_s;
        wait_s += (double)d->n_microbatches * d->figures[c].wait_s;
    }
    out->compute_s = sum_s[WEFT_TRAIN_FORWARD] + sum_s[WEFT_TRAIN_BACKWARD] - out->collective_s;
    out->send_s = sum_s[WEFT_TRAIN_SEND] + sum_s[WEFT_TRAIN_RETURN] + sum_s[WEFT_TRAIN_SHARED];
    out->sync_s = sum_s[WEFT_TRAIN_SYNC];
    out->update_s = sum_s[WEFT_TRAIN_UPDATE];
    for (int i = 0; i < n_stages; i++)
        all_s += busy_s[i];
    out->step_s = m->t->end_of_all_s;
    out->stage_busy_s = busy_s;
    if (out->step_s > 0) {
        out->samples_per_s = (double)d->p->constraints.batch / out->step_s;
        out->bubble = fmax(0.0, 1 - all_s / (n_stages * out->step_s));
        out->exposed =
            fmin(1.0, (out->collective_s + wait_s + out->sync_s) / (n_stages * out->step_s));
    }
}

/* --- bytes and operations -------------------------------------------------------------------- */

static double hop_bytes(const weft_train_lowered *d, int c)
{
    const weft_blocks *u = &d->p->blocks;
    const weft_stage *here = &d->plan->stage[weft_chunk_stage(d, c)];
    const weft_stage *next = &d->plan->stage[weft_chunk_stage(d, c + 1)];
    int cut = d->plan->cut[c + 1];

    if (here == next)
        return 0;
    return (double)d->p->constraints.batch *
           (next->width * u->leave_bytes[cut] + here->width * u->back_bytes[cut]);
}

/* What the part of a device set sends for the tensor width. */
static double width_bytes(const weft_train_lowered *d, int c, int part)
{
    const weft_stage *s = &d->plan->stage[weft_chunk_stage(d, c)];
    const weft_part_chunk *x = &d->chunk[c * WEFT_MAX_PARTS + part];
    double rate = d->p->cluster->classes[s->part[part].class_id].inside.bytes_per_s;
    double seconds = x->forward_collective_s + x->backward_collective_s;

    if (!(seconds > 0) || !isfinite(rate))
        return 0;
    return (double)d->n_microbatches * s->part[part].n_blocks * s->width * seconds * rate;
}

static void measure_bytes(measuring *m)
{
    const weft_train_lowered *d = m->d;
    double *sent = &m->out->sent_bytes;

    for (int c = 0; c + 1 < d->n_chunks; c++)
        *sent += hop_bytes(d, c);
    for (int c = 0; c < d->n_chunks; c++)
        for (int k = 0; k < d->plan->stage[weft_chunk_stage(d, c)].n_parts; k++)
            *sent += width_bytes(d, c, k);
    for (int i = 0; i < d->plan->n_stages; i++) {
        const weft_stage *s = &d->plan->stage[i];

        *sent += (double)(weft_stage_blocks(s) - 1) * s->width * d->ring_bytes[i];
    }
    for (int k = 0; k < d->n_moves; k++) {
        const weft_shared_move *x = &d->move[k];
        const weft_stage *owner = &d->plan->stage[weft_chunk_stage(d, x->owner_chunk)];
        const weft_stage *other = &d->plan->stage[weft_chunk_stage(d, x->other_chunk)];

        *sent += 2.0 * weft_stage_blocks(other) * x->bytes *
                 (owner->width > other->width ? owner->width : other->width);
    }
}

static void measure_utilisation(measuring *m)
{
    const weft_train_lowered *d = m->d;
    double used = 0, peak = 0;

    for (int c = 0; c < d->n_chunks; c++) {
        const weft_stage *s = &d->plan->stage[weft_chunk_stage(d, c)];

        for (int k = 0; k < s->n_parts; k++) {
            double speed = d->p->cluster->classes[s->part[k].class_id].speed;
            double devices = (double)s->part[k].n_blocks * s->width;

            if (!(speed > 0))
                used = NAN;
            used += devices * speed * d->chunk[c * WEFT_MAX_PARTS + k].compute_s;
            peak += c < d->plan->n_stages ? devices * speed : 0;
        }
    }
    m->out->flops_utilisation =
        m->out->step_s > 0 ? (double)d->n_microbatches * used / (peak * m->out->step_s) : NAN;
}

/* --- memory ---------------------------------------------------------------------------------- */

/* Memory of one device over time while it is written. */
typedef struct tape {
    weft_sample *sample;
    int n;
    weft_train_memory peak; /* what it holds when it holds most */
} tape;

/* Of changes at one time the last one counts. */
static void write_sample(tape *t, double at_s, double bytes)
{
    if (t->n == 0 || at_s > t->sample[t->n - 1].at_s)
        t->n++;
    t->sample[t->n - 1] = (weft_sample){at_s, bytes};
}

static double peak_of(const tape *t)
{
    double peak = 0;

    for (int i = 0; i < t->n; i++)
        peak = fmax(peak, t->sample[i].bytes);
    return peak;
}

/* What is kept for backward: count[k] microbatches of the stage's k-th chunk. */
static double kept_bytes(const weft_train_lowered *d, int stage, int part, const int64_t *count)
{
    double bytes = 0;

    for (int k = 0; k < d->plan->n_chunks; k++)
        bytes += (double)count[k] *
                 d->chunk[(stage + k * d->plan->n_stages) * WEFT_MAX_PARTS + part].stash_bytes;
    return bytes;
}

/* A device of one part, into tape->sample, which has room for 2 n_order + 1. */
static void write_tape(const measuring *m, int stage, int part, int64_t *count, tape *to)
{
    const weft_train_lowered *d = m->d;
    const weft_part_figures *f = &d->state[stage * WEFT_MAX_PARTS + part];
    double fixed = weft_static_bytes(f);

    to->n = 0;
    to->peak = (weft_train_memory){f->weight_bytes, f->gradient_bytes, f->moment_bytes, 0, 0};
    memset(count, 0, (size_t)d->plan->n_chunks * sizeof *count);
    write_sample(to, 0, fixed);
    for (int64_t i = 0; i < d->n_order; i++) {
        int job = weft_order_job(d, stage, i), c = d->jobs->task[job];
        bool is_forward = d->part[job] == WEFT_TRAIN_FORWARD;
        double work = d->chunk[c * WEFT_MAX_PARTS + part].work_bytes, kept;

        count[c / d->plan->n_stages] += is_forward;
        kept = kept_bytes(d, stage, part, count);
        write_sample(to, m->t->start_s[job], fixed + kept + work);
        if (m->t->end_s[job] > m->t->start_s[job] &&
            kept + work > to->peak.stash_bytes + to->peak.work_bytes) {
            to->peak.stash_bytes = kept;
            to->peak.work_bytes = work;
        }
        count[c / d->plan->n_stages] -= !is_forward;
        write_sample(to, m->t->end_s[job], fixed + kept_bytes(d, stage, part, count));
    }
}

static bool is_fuller(double peak, double room, double other_peak, double other_room)
{
    double share = peak / room, other_share = other_peak / other_room;

    return share > other_share || (share >= other_share && peak > other_peak);
}

/* What measures point to, while it is written. */
typedef struct memory {
    double *peak_bytes, *room_bytes; /* [n_stages] */
    weft_train_memory *kinds;        /* [n_stages] */
    const weft_sample **sample;      /* [n_stages] */
    int *n_samples;                  /* [n_stages] */
    int64_t *count;                  /* scratch: [chunks of a stage] */
    tape spare;                      /* scratch */
} memory;

static void measure_stage(const measuring *m, int i, memory *to)
{
    const weft_stage *s = &m->d->plan->stage[i];
    tape *t = &to->spare;

    for (int k = 0; k < s->n_parts; k++) {
        double room = weft_train_room_bytes(m->d->p, s->part[k].class_id), peak;

        write_tape(m, i, k, to->count, t);
        peak = peak_of(t);
        if (k > 0 && !is_fuller(peak, room, to->peak_bytes[i], to->room_bytes[i]))
            continue;
        to->peak_bytes[i] = peak;
        to->room_bytes[i] = room;
        to->kinds[i] = t->peak;
        to->sample[i] = weft_arena_copy(m->a, t->sample, (size_t)t->n * sizeof *t->sample);
        to->n_samples[i] = t->n;
    }
}

static void measure_memory(measuring *m)
{
    const weft_train_lowered *d = m->d;
    int n = d->plan->n_stages;
    weft_arena *scratch = weft_arena_new();
    memory x = {.peak_bytes = WEFT_NEW(m->a, double, n),
                .room_bytes = WEFT_NEW(m->a, double, n),
                .kinds = WEFT_NEW(m->a, weft_train_memory, n),
                .sample = WEFT_NEW(m->a, const weft_sample *, n),
                .n_samples = WEFT_NEW(m->a, int, n),
                .count = WEFT_NEW(scratch, int64_t, d->plan->n_chunks),
                .spare = {.sample = WEFT_NEW_RAW(scratch, weft_sample, 2 * d->n_order + 1)}};

    m->out->over_stage = -1;
    for (int i = n - 1; i >= 0; i--) {
        measure_stage(m, i, &x);
        if (x.peak_bytes[i] > x.room_bytes[i])
            m->out->over_stage = i;
    }
    m->out->stage_peak_bytes = x.peak_bytes;
    m->out->stage_room_bytes = x.room_bytes;
    m->out->stage_memory = x.kinds;
    m->out->memory = x.sample;
    m->out->n_memory = x.n_samples;
    weft_arena_free(scratch);
}

/* --- the whole ------------------------------------------------------------------------------- */

weft_status weft_train_plan_evaluate(const weft_train_problem *p, const weft_train_plan *plan,
                                     weft_arena *a, weft_train_measures *out)
{
    weft_timeline *t = WEFT_NEW(a, weft_timeline, 1);
    weft_train_lowered d;
    measuring m = {&d, t, a, out};

    WEFT_TRY(weft_train_lower(p, plan, a, &d));
    *t = weft_run_jobs(d.jobs, a);
    if (t->is_stuck)
        return weft_fail(WEFT_E_INTERNAL, "internal error: the run of a training step is stuck");
    *out =
        (weft_train_measures){.figures = d.figures, .jobs = d.jobs, .timeline = t, .part = d.part};
    measure_seconds(&m);
    measure_bytes(&m);
    measure_utilisation(&m);
    measure_memory(&m);
    return WEFT_OK;
}

static weft_doc *stages_doc(const weft_train_plan *plan, const weft_train_measures *m,
                            weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int i = 0; i < plan->n_stages; i++) {
        weft_doc *row = weft_add_map(a, list);
        double busy_s = m->stage_busy_s[i];

        weft_put_int(a, row, "replicas", weft_stage_blocks(&plan->stage[i]));
        weft_put_int(a, row, "devices",
                     (int64_t)weft_stage_blocks(&plan->stage[i]) * plan->stage[i].width);
        weft_put_real(a, row, "busy_s", busy_s);
        weft_put_real(a, row, "utilisation", m->step_s > 0 ? fmin(1.0, busy_s / m->step_s) : 0);
        weft_put_real(a, row, "peak_bytes", m->stage_peak_bytes[i]);
        weft_put_real(a, row, "capacity_bytes", m->stage_room_bytes[i]);
    }
    return list;
}

static weft_doc *chunks_doc(const weft_train_plan *plan, const weft_train_measures *m,
                            weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int c = 0; c < plan->n_stages * plan->n_chunks; c++) {
        const weft_chunk_figures *f = &m->figures[c];
        weft_doc *row = weft_add_map(a, list);

        weft_put_int(a, row, "stage", c % plan->n_stages);
        weft_put_real(a, row, "forward_s", f->forward_s);
        weft_put_real(a, row, "backward_s", f->backward_s);
        weft_put_real(a, row, "again_s", f->again_s);
        weft_put_real(a, row, "collective_s", f->collective_s);
        weft_put_real(a, row, "send_s", f->send_s);
        weft_put_real(a, row, "return_s", f->return_s);
    }
    return list;
}

weft_doc *weft_train_measures_doc(const weft_train_problem *p, const weft_train_plan *plan,
                                  const weft_train_measures *m, weft_arena *a)
{
    weft_doc *d;

    if (m->stage_busy_s == NULL) /* no plan, nothing was measured */
        return weft_doc_new(a, WEFT_DOC_NULL);
    d = weft_doc_new(a, WEFT_DOC_MAP);
    weft_put_real(a, d, "value", m->step_s);
    weft_put_text(a, d, "unit", "s");
    weft_put_real(a, d, "step_s", m->step_s);
    weft_put_real(a, d, "samples_per_s", m->samples_per_s);
    weft_put_int(a, d, "microbatches", p->constraints.batch / plan->microbatch);
    weft_put_real(a, d, "bubble", m->bubble);
    weft_put_real(a, d, "compute_s", m->compute_s);
    weft_put_real(a, d, "collective_s", m->collective_s);
    weft_put_real(a, d, "send_s", m->send_s);
    weft_put_real(a, d, "sync_s", m->sync_s);
    weft_put_real(a, d, "update_s", m->update_s);
    weft_put_real(a, d, "sent_bytes", m->sent_bytes);
    weft_put_real(a, d, "flops_utilisation", m->flops_utilisation);
    weft_doc_put(a, d, "stages", stages_doc(plan, m, a));
    weft_doc_put(a, d, "chunks", chunks_doc(plan, m, a));
    return d;
}
