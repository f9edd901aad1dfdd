# SPDX-License-Identifier: MIT
"""Deeper networks from bert_l-3_training of the dnn-partitioning project, which has three layers.

The middle layer is repeated: its nodes, those of its backward pass, and its colours. The first copy reads what
the first layer makes and the last copy feeds the last layer; gradients go the other way. With six layers the
graph has the shape of the project's own bert_l-6_training, which is not among the files that the tests use.

stretched(document, layers)   the document with that many layers, at least 3
"""

# Nodes of the middle layer: weights, forward pass, backward pass. What crosses its border: the sums of the first
# layer and of itself, the mask, the gradient that reaches it and the one that leaves it.
LAYER = set(range(25, 41)) | set(range(131, 176)) | set(range(382, 478))
BEFORE, LAST, MASK, GRADIENT_IN, GRADIENT_OUT = 128, 173, 95, 381, 477
STEP = 1000  # between the numbers of copies


def copy_of(node, nth):
    """The number of a node of the layer in its nth copy."""
    return node if nth == 0 else node + STEP * nth


def copied_node(node, nth):
    copy = dict(node, id=copy_of(node["id"], nth), name="%s_%d" % (node["name"], nth))
    if node.get("colorClass") is not None:
        copy["colorClass"] = copy_of(node["colorClass"], nth)
    return copy


def copied_edge(edge, nth, copies):
    """An edge that touches the layer, for its nth copy; None: another copy has it."""
    source, target = edge["sourceId"], edge["destId"]
    if source in LAYER and target in LAYER:
        return dict(edge, sourceId=copy_of(source, nth), destId=copy_of(target, nth))
    if target in LAYER:
        feeder = {BEFORE: copy_of(LAST, nth - 1) if nth > 0 else BEFORE, MASK: MASK,
                  GRADIENT_IN: copy_of(GRADIENT_OUT, nth + 1) if nth + 1 < copies else GRADIENT_IN}
        return dict(edge, sourceId=feeder[source], destId=copy_of(target, nth))
    keeper = {LAST: copies - 1, GRADIENT_OUT: 0}[source]
    return dict(edge, sourceId=copy_of(source, nth)) if nth == keeper else None


def stretched(document, layers):
    copies = layers - 2
    nodes = [node for node in document["nodes"] if node["id"] not in LAYER]
    edges = [edge for edge in document["edges"]
             if edge["sourceId"] not in LAYER and edge["destId"] not in LAYER]
    for nth in range(copies):
        nodes += [copied_node(node, nth) for node in document["nodes"] if node["id"] in LAYER]
        edges += filter(None, (copied_edge(edge, nth, copies) for edge in document["edges"]
                               if edge["sourceId"] in LAYER or edge["destId"] in LAYER))
    return dict(document, nodes=nodes, edges=edges)
