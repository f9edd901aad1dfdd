/* SPDX-License-Identifier: MIT */
/* side_serve.c: what plans of serving are compared by. A node is done otherwise if its layers are
 * others. */
#include "diff.h"

#include <math.h>

static const weft_side_number columns[] = {
    {"layers",       "layers",   "count", 0},
    {"tokens_per_s", "tokens/s", "1/s",   0},
};

void weft_serve_side(const weft_serve_problem *p, const weft_serve_solution *s, weft_side *out)
{
    const weft_side_number list[] = {
        {"flow",          "flow",             "1/s",   s->flow.tokens_per_s  },
        {"nodes",         "nodes in use",     "count", (double)s->flow.n_used},
        {"longest_chain", "longest chain",    "count", (double)s->flow.depth },
        {"cut",           "parts of the cut", "count", (double)s->flow.n_cut },
    };

    out->kind = "serve";
    out->none = "no plan";
    out->item_name = "node";
    out->proof = &s->proof;
    out->value_name = "flow";
    out->unit = "tokens/s";
    out->is_max = true;
    out->places = "nodes";
    out->n_columns = sizeof columns / sizeof *columns;
    out->column = columns;
    weft_side_origin(out);
    weft_side_count(out, "layers", p->n_layers, "none");
    weft_side_count(out, "nodes", p->n_nodes, "none");
    weft_side_count(out, "links", p->n_links, "none");
    weft_side_yes(out, "partial inference", p->is_partial);
    weft_side_figures(out, list, sizeof list / sizeof *list);
    for (int i = 0; i < p->n_nodes; i++) {
        int start = s->plan.start[i], end = s->plan.end[i];

        if (start == end)
            continue;
        weft_side_decision(out, p->node_name[i],
                           weft_arena_print(out->a, "layers %d to %d", start, end - 1));
        weft_side_add_place(out, p->node_name[i], (double[]){end - start, s->flow.node[i]});
    }
}
