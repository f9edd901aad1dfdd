/* SPDX-License-Identifier: MIT */
/* inspect.c: opens a network, prints its figures and names its most expensive node.
 *
 *   cc inspect.c $(pkg-config --cflags --libs weft) -o inspect && ./inspect resnet50 batch=8
 */
#include <stdio.h>
#include <weft.h>

static void print_shape(const weft_model *m, int tensor)
{
    printf("  %-6s %s %s", weft_model_tensor_kind(m, tensor), weft_model_tensor_name(m, tensor),
           weft_model_tensor_type(m, tensor));
    for (int axis = 0; axis < weft_model_tensor_rank(m, tensor); axis++)
        printf("%s%lld", axis == 0 ? " " : "x", (long long)weft_model_tensor_dim(m, tensor, axis));
    printf("\n");
}

static int most_expensive(const weft_model *m)
{
    int best = 0;

    for (int node = 1; node < weft_model_n_nodes(m); node++)
        if (weft_model_node_flops(m, node) > weft_model_node_flops(m, best))
            best = node;
    return best;
}

int main(int argc, char **argv)
{
    const char *source = argc > 1 ? argv[1] : "resnet50";
    weft_model *m;
    int node;

    /* The other words are options: "batch=8", "dtype=f16". argv ends with NULL. */
    if (weft_model_load(source, argc > 2 ? (const char *const *)argv + 2 : NULL, &m) != WEFT_OK) {
        fprintf(stderr, "inspect: %s\n", weft_message());
        return 2;
    }
    printf("%s: %d nodes, %lld parameters, %lld MACs\n", weft_model_name(m), weft_model_n_nodes(m),
           (long long)weft_model_parameters(m), (long long)weft_model_macs(m));
    printf("  weights %lld bytes, activations at most %lld bytes\n",
           (long long)weft_model_weight_bytes(m), (long long)weft_model_peak_bytes(m));
    for (int i = 0; i < weft_model_n_inputs(m); i++)
        print_shape(m, weft_model_input(m, i));
    for (int i = 0; i < weft_model_n_outputs(m); i++)
        print_shape(m, weft_model_output(m, i));
    node = most_expensive(m);
    printf("most work: %s (%s), %lld FLOPs\n", weft_model_node_name(m, node),
           weft_model_node_op(m, node), (long long)weft_model_node_flops(m, node));
    weft_model_close(m);
    return 0;
}
