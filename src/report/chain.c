/* SPDX-License-Identifier: MIT */
/* chain.c: the chain that explains the makespan, for people: neighbours of one kind and place are
 * one step. */
#include "fields.h"

enum { MOST_NAME = 24 }; /* columns of a name */

static bool is_alike(const weft_chain_link *x, const weft_chain_link *y)
{
    return x->kind == y->kind && x->from == y->from && x->to == y->to;
}

int weft_chain_steps(const weft_measures *m, weft_chain_step *out)
{
    int n = 0;

    for (int i = 0; i < m->n_chain; i++) {
        const weft_chain_link *c = &m->chain[i];

        if (n == 0 || !is_alike(c, &m->chain[i - 1])) {
            out[n] = (weft_chain_step){.kind = c->kind, .first = i, .number = n};
            n++;
        }
        out[n - 1].n++;
        out[n - 1].seconds += c->end_s - c->start_s;
    }
    return n;
}

static const char *short_name(const char *name, weft_arena *a)
{
    return weft_shorten(name, MOST_NAME, WEFT_NEW(a, char, WEFT_SHORT_BYTES));
}

static const char *tasks_text(const weft_report *r, const weft_chain_step *s, weft_arena *a)
{
    const weft_problem *p = r->problem;
    const weft_chain_link *first = &r->solution->measures.chain[s->first], *last = first + s->n - 1;
    const char *device = short_name(p->device_name[first->from], a);
    const char *name = short_name(p->task_name[first->task], a);

    if (s->n == 1)
        return weft_arena_print(a, "%s on %s", name, device);
    return weft_arena_print(a, "%d tasks on %s: %s .. %s", s->n, device, name,
                            short_name(p->task_name[last->task], a));
}

static const char *transfers_text(const weft_report *r, const weft_chain_step *s, weft_arena *a)
{
    const weft_problem *p = r->problem;
    const weft_chain_link *c = &r->solution->measures.chain[s->first];
    const char *from = short_name(p->device_name[c->from], a);
    const char *to = short_name(p->device_name[c->to], a);
    int u = p->producer[c->tensor];
    double sent = 0;

    for (int i = 0; i < s->n; i++)
        sent += p->amount[c[i].tensor];
    if (s->n > 1)
        return weft_arena_print(a, "%d transfers from %s to %s, %s", s->n, from, to,
                                weft_glued_amount(r, sent, a));
    return weft_arena_print(a, "%s%s from %s to %s, %s", u < 0 ? "an input" : "result of ",
                            u < 0 ? "" : short_name(p->task_name[u], a), from, to,
                            weft_glued_amount(r, sent, a));
}

const char *weft_chain_text(const weft_report *r, const weft_chain_step *s, weft_arena *a)
{
    switch (s->kind) {
    case WEFT_CHAIN_COMPUTE:
        return tasks_text(r, s, a);
    case WEFT_CHAIN_TRANSFER:
        return transfers_text(r, s, a);
    case WEFT_CHAIN_WAIT:
        break;
    }
    return "nothing to do";
}
