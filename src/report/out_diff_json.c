/* SPDX-License-Identifier: MIT */
/* out_diff_json.c: two plans side by side for programs: as a document (weft.diff/1), and the moves
 * as comma-separated values. */
#include <math.h>
#include <string.h>

#include "document.h"

static void put_pair(weft_arena *a, weft_doc *map, const char *key, const double value[2])
{
    weft_doc *d = weft_doc_new(a, WEFT_DOC_MAP);

    weft_put_real(a, d, "a", value[0]);
    weft_put_real(a, d, "b", value[1]);
    weft_doc_put(a, map, key, d);
}

static weft_doc *side_doc(const weft_diff *d, int s, weft_arena *a)
{
    const weft_plan_origin *o = d->side[s].origin;
    const weft_proof *proof = d->side[s].proof;
    weft_doc *map = weft_doc_new(a, WEFT_DOC_MAP);

    weft_put_text(a, map, "file", d->side[s].file);
    weft_put_text(a, map, "model", o->model);
    weft_put_text(a, map, "platform", o->platform);
    weft_put_text(a, map, "solver", o->solver);
    weft_put_int(a, map, "seed", o->seed);
    weft_put_text(a, map, "status", weft_outcome_name(proof->outcome));
    weft_put_real(a, map, "value", proof->value);
    weft_put_real(a, map, "bound", proof->bound);
    weft_put_real(a, map, "gap", proof->gap);
    weft_put_text(a, map, "method", proof->method);
    return map;
}

static weft_doc *rows_doc(const weft_diff_row *row, int n, weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int i = 0; i < n; i++) {
        weft_doc *d = weft_add_map(a, list);

        weft_put_text(a, d, "name", row[i].name);
        weft_put_text(a, d, "a", row[i].text[0]);
        weft_put_text(a, d, "b", row[i].text[1]);
    }
    return list;
}

static weft_doc *figures_doc(const weft_diff_figure *f, int n, weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int i = 0; i < n; i++) {
        weft_doc *d = weft_add_map(a, list);

        weft_put_text(a, d, "name", f[i].key);
        weft_put_text(a, d, "unit", f[i].unit);
        weft_put_real(a, d, "a", f[i].value[0]);
        weft_put_real(a, d, "b", f[i].value[1]);
    }
    return list;
}

static weft_doc *places_doc(const weft_diff *d, weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int i = 0; i < d->places.n; i++) {
        const weft_diff_place *p = &d->places.at[i];
        weft_doc *row = weft_add_map(a, list);

        weft_put_text(a, row, "name", p->name);
        for (int k = 0; k < d->side->n_columns; k++)
            put_pair(a, row, d->side->column[k].key,
                     (double[2]){p->value[0] ? p->value[0][k] : NAN,
                                 p->value[1] ? p->value[1][k] : NAN});
        if (d->has_parts) {
            weft_put_real(a, row, "left_s", p->left_s);
            weft_put_real(a, row, "came_s", p->came_s);
            put_pair(a, row, "stayed_s", p->stay_s);
            put_pair(a, row, "only_s", p->only_s);
        }
    }
    return list;
}

static void put_transfers(weft_arena *a, weft_doc *row, const int n[2], const double bytes[2])
{
    weft_put_int(a, row, "transfers_gained", n[1]);
    weft_put_int(a, row, "transfers_lost", n[0]);
    weft_put_size(a, row, "gained", bytes[1]);
    weft_put_size(a, row, "lost", bytes[0]);
}

static weft_doc *moves_doc(const weft_diff *d, weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int i = 0; i < d->n_moves; i++) {
        const weft_diff_move *m = &d->move[i];
        weft_doc *row = weft_add_map(a, list);

        weft_put_text(a, row, "name", m->name);
        weft_put_text(a, row, "kind", m->kind);
        weft_put_text(a, row, "from", m->at[0]);
        weft_put_text(a, row, "to", m->at[1]);
        put_pair(a, row, "seconds", m->seconds);
        weft_put_real(a, row, "effect_s", m->effect_s);
        weft_put_int(a, row, "stretch", m->stretch);
        if (d->has_parts)
            put_transfers(a, row, m->n_transfers, m->bytes);
    }
    return list;
}

static weft_doc *stretches_doc(const weft_diff *d, weft_arena *a)
{
    weft_doc *list = weft_doc_new(a, WEFT_DOC_LIST);

    for (int i = 0; i < d->n_stretches; i++) {
        const weft_diff_stretch *s = &d->stretch[i];
        const weft_diff_move *first = &d->move[s->first];
        weft_doc *row = weft_add_map(a, list);

        weft_put_int(a, row, "count", s->n);
        weft_put_text(a, row, "first", first->name);
        weft_put_text(a, row, "last", first[s->n - 1].name);
        weft_put_text(a, row, "from", first->at[0]);
        weft_put_text(a, row, "to", first->at[1]);
        put_pair(a, row, "seconds", s->seconds);
        weft_put_real(a, row, "effect_s", s->effect_s);
        if (d->has_parts)
            put_transfers(a, row, s->n_transfers, s->bytes);
    }
    return list;
}

static void put_comparison(const weft_diff *d, weft_doc *map, weft_arena *a)
{
    weft_put_bool(a, map, "same_problem", d->is_same_problem);
    weft_put_bool(a, map, "same_plan", d->is_same_plan);
    weft_put_text(a, map, "compared",
                  !d->is_comparable  ? NULL
                  : d->is_per_sample ? "value per sample"
                                     : "value");
    weft_put_real(a, map, "ratio", d->ratio);
    weft_put_text(a, map, "better", d->better < 0 ? NULL : d->better == 0 ? "a" : "b");
    weft_put_bool(a, map, "proved", d->is_proved);
    weft_put_text(a, map, "claim", d->claim);
}

weft_doc *weft_diff_doc(const weft_diff *d, weft_arena *a)
{
    weft_doc *map = weft_doc_new(a, WEFT_DOC_MAP);

    weft_put_text(a, map, "schema", "weft.diff/1");
    weft_put_text(a, map, "command", "diff");
    weft_put_text(a, map, "kind", d->side->kind);
    weft_put_text(a, map, "unit", d->unit);
    weft_put_text(a, map, "sense", d->side->is_max ? "max" : "min");
    weft_doc_put(a, map, "a", side_doc(d, 0, a));
    weft_doc_put(a, map, "b", side_doc(d, 1, a));
    put_comparison(d, map, a);
    weft_doc_put(a, map, "settings", rows_doc(d->settings.at, d->settings.n, a));
    weft_doc_put(a, map, "decisions", rows_doc(d->decisions.at, d->decisions.n, a));
    weft_doc_put(a, map, "figures", figures_doc(d->figures.at, d->figures.n, a));
    weft_doc_put(a, map, d->side->places, places_doc(d, a));
    weft_doc_put(a, map, "links", figures_doc(d->links.at, d->links.n, a));
    weft_doc_put(a, map, "chain", figures_doc(d->chain.at, d->chain.n, a));
    weft_doc_put(a, map, "moved", moves_doc(d, a));
    weft_doc_put(a, map, "stretches", stretches_doc(d, a));
    weft_put_int(a, map, "stayed", d->n_stay);
    weft_put_int(a, map, "shifted", d->n_shifted);
    put_pair(a, map, "stayed_s", d->stay_s);
    weft_doc_put(a, map, "only_a", weft_texts_doc(d->only[0], d->n_only[0], a));
    weft_doc_put(a, map, "only_b", weft_texts_doc(d->only[1], d->n_only[1], a));
    if (d->has_parts) {
        weft_put_int(a, map, "transfers_gained", d->n_transfers[1]);
        weft_put_int(a, map, "transfers_lost", d->n_transfers[0]);
    }
    return map;
}

/* --- comma-separated values ------------------------------------------------------------------ */

void weft_diff_csv(const weft_diff *d, FILE *to)
{
    fputs("name,kind,from,to,seconds_a,seconds_b,effect_s,stretch,transfers_gained,transfers_lost,"
          "gained,lost\n",
          to);
    for (int i = 0; i < d->n_moves; i++) {
        const weft_diff_move *m = &d->move[i];
        const char *const text[] = {m->name, m->kind, m->at[0], m->at[1]};

        for (int k = 0; k < 4; k++) {
            weft_put_csv(to, text[k] ? text[k] : "");
            fputc(',', to);
        }
        fprintf(to, "%.9g,%.9g,%.9g,%d,", m->seconds[0], m->seconds[1], m->effect_s, m->stretch);
        if (d->has_parts)
            fprintf(to, "%d,%d,%.9g,%.9g\n", m->n_transfers[1], m->n_transfers[0], m->bytes[1],
                    m->bytes[0]);
        else
            fputs(",,,\n", to);
    }
}
