/* SPDX-License-Identifier: MIT */
/* inspect.c: opens a network with the C interface and names its most expensive node.
 *
 *   cc inspect.c $(pkg-config --cflags --libs weft) -o inspect && ./inspect resnet50
 */
#include <stdio.h>
#include <weft.h>

int main(int argc, char **argv)
{
    weft_model *model;
    const weft_graph *graph;
    weft_work total = {0}, most = {0};
    int heaviest = 0;

    if (weft_model_open(argc > 1 ? argv[1] : "resnet50", NULL, &model) != WEFT_OK) {
        fprintf(stderr, "inspect: %s\n", weft_message());
        return 2;
    }
    graph = model->graph;
    for (int u = 0; u < graph->n_nodes; u++) {
        weft_work work = weft_node_work(graph, u);

        weft_work_add(&total, work);
        if (work.flops > most.flops) {
            most = work;
            heaviest = u;
        }
    }
    printf("%s: %d nodes, %lld parameters, %lld MACs\n", model->name, graph->n_nodes,
           (long long)model->n_parameters, (long long)total.macs);
    printf("most work: %s (%s), %lld FLOPs\n", graph->node[heaviest].name, graph->node[heaviest].op,
           (long long)most.flops);
    weft_model_free(model);
    return 0;
}
