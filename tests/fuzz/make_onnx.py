#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes the ONNX seeds of the fuzzing corpus: make_onnx.py [FOLDER].

Each seed is a few hundred bytes and shows one thing a reader meets: an encoding of tensors, control
flow, functions, external data, symbolic sizes, damage. Needs Debian's python3-onnx; the seeds are in
the repository, so this runs only when one is added.
"""
import os
import sys

import numpy as np
from onnx import TensorProto as T
from onnx import (AttributeProto, SparseTensorProto, StringStringEntryProto, helper as h,
                  numpy_helper)

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "corpus", "onnx")


def value(name, shape, kind=T.FLOAT):
    return h.make_tensor_value_info(name, kind, shape)


def model(graph, opset=15, **more):
    opsets = [h.make_opsetid("", opset)] + more.pop("opsets", [])
    return h.make_model(graph, opset_imports=opsets, producer_name="weft seeds", **more)


def save(name, message):
    data = message if isinstance(message, bytes) else message.SerializeToString()
    with open(os.path.join(FOLDER, name), "wb") as file:
        file.write(data)


def array(name, values, dtype=np.float32):
    return numpy_helper.from_array(np.array(values, dtype=dtype), name)


def one_node(op, inputs, outputs, weights=(), opset=15, **attributes):
    """A network of one operator; inputs and outputs: {name: shape}, in order."""
    names = list(inputs) + [w.name for w in weights]
    node = h.make_node(op, names, list(outputs), name=op.lower(), **attributes)
    graph = h.make_graph([node], op, [value(n, s) for n, s in inputs.items() if n],
                         [value(n, s) for n, s in outputs.items()], list(weights))
    return model(graph, opset)


def conv():
    weights = [array("w", np.ones((2, 3, 3, 3))), array("b", [1, 2])]
    return one_node("Conv", {"x": [1, 3, 5, 5]}, {"y": [1, 2, 3, 3]}, weights,
                    kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])


def lstm():
    weights = [array("w", np.ones((1, 8, 3))), array("r", np.ones((1, 8, 2)))]
    return one_node("LSTM", {"x": [4, 1, 3]}, {"y": [4, 1, 1, 2]}, weights, hidden_size=2)


def shape_chain():
    """Shape, Gather, Unsqueeze, Concat, Reshape with a symbolic batch."""
    nodes = [
        h.make_node("Shape", ["x"], ["s"]),
        h.make_node("Gather", ["s", "zero"], ["n"], axis=0),
        h.make_node("Unsqueeze", ["n", "axes"], ["n1"]),
        h.make_node("Concat", ["n1", "rest"], ["to"], axis=0),
        h.make_node("Reshape", ["x", "to"], ["y"]),
    ]
    weights = [array("zero", 0, np.int64), array("axes", [0], np.int64),
               array("rest", [-1], np.int64)]
    return model(h.make_graph(nodes, "chain", [value("x", ["N", 3, 4])],
                              [value("y", ["N", 12])], weights))


def if_else():
    then = h.make_graph([h.make_node("Relu", ["x"], ["t"])], "then", [], [value("t", [2])])
    other = h.make_graph([h.make_node("Neg", ["x"], ["e"])], "else", [], [value("e", [2])])
    node = h.make_node("If", ["c"], ["y"], then_branch=then, else_branch=other)
    return model(h.make_graph([node], "if", [value("c", [], T.BOOL), value("x", [2])],
                              [value("y", [2])]))


def loop():
    body = h.make_graph(
        [h.make_node("Identity", ["go"], ["go_on"]), h.make_node("Add", ["v", "v"], ["v2"]),
         h.make_node("Identity", ["v2"], ["scan"])],
        "body", [value("i", [], T.INT64), value("go", [], T.BOOL), value("v", [2])],
        [value("go_on", [], T.BOOL), value("v2", [2]), value("scan", [2])])
    node = h.make_node("Loop", ["n", "", "x"], ["y", "all"], body=body)
    return model(h.make_graph([node], "loop", [value("x", [2])],
                              [value("y", [2]), value("all", [3, 2])],
                              [array("n", 3, np.int64)]))


def scan():
    body = h.make_graph([h.make_node("Add", ["s", "x"], ["s2"]),
                         h.make_node("Identity", ["s2"], ["y"])],
                        "body", [value("s", [2]), value("x", [2])],
                        [value("s2", [2]), value("y", [2])])
    node = h.make_node("Scan", ["start", "xs"], ["last", "ys"], body=body, num_scan_inputs=1)
    return model(h.make_graph([node], "scan", [value("start", [2]), value("xs", [5, 2])],
                              [value("last", [2]), value("ys", [5, 2])]))


def function(recursive=False):
    inner = h.make_node("Selu", ["a"], ["b"])
    alpha = inner.attribute.add()
    alpha.name, alpha.ref_attr_name, alpha.type = "alpha", "slope", AttributeProto.FLOAT
    nodes = [inner, h.make_node("Twice" if recursive else "Neg", ["b"], ["c"],
                                domain="own" if recursive else "")]
    f = h.make_function("own", "Twice", ["a"], ["c"], nodes, [h.make_opsetid("", 15)], ["slope"])
    call = h.make_node("Twice", ["x"], ["y"], domain="own", slope=0.5)
    graph = h.make_graph([call], "function", [value("x", [2])], [value("y", [2])])
    return model(graph, functions=[f], opsets=[h.make_opsetid("own", 1)])


def external():
    weight = array("w", [1, 2])
    weight.ClearField("raw_data")
    weight.data_location = T.EXTERNAL
    for key, text in (("location", "weights.bin"), ("offset", "4096"), ("length", "8")):
        weight.external_data.add(key=key, value=text)
    return one_node("Add", {"x": [2]}, {"y": [2]}, [weight])


def sparse():
    indices = array("i", [0, 3], np.int64)
    m = one_node("Add", {"x": [4], "w": [4]}, {"y": [4]})
    del m.graph.input[1]
    s = SparseTensorProto(values=array("w", [1, 2]), indices=indices, dims=[4])
    m.graph.sparse_initializer.append(s)
    return m


def encodings():
    """Every typed data field and raw data of every type, each as an output of its own."""
    fields = {
        T.FLOAT: [1.5], T.UINT8: [1], T.INT8: [-1], T.UINT16: [2], T.INT16: [-2], T.INT32: [-3],
        T.INT64: [-4], T.BOOL: [True], T.FLOAT16: [0.5], T.DOUBLE: [2.5], T.UINT32: [5],
        T.UINT64: [2**63], T.STRING: [b"text"], T.COMPLEX64: [1 + 2j], T.COMPLEX128: [3 + 4j],
        T.BFLOAT16: [1.0],
    }
    nodes, outputs = [], []
    for kind, values in fields.items():
        name = "t%d" % kind
        tensor = h.make_tensor(name, kind, [1], values)
        nodes.append(h.make_node("Constant", [], [name], value=tensor))
        outputs.append(value(name, [1], kind))
    for dtype in (np.float32, np.float16, np.float64, np.int8, np.int16, np.int32, np.int64,
                  np.uint8, np.uint16, np.uint32, np.uint64, np.bool_):
        name = "raw_" + np.dtype(dtype).name
        tensor = array(name, [[0, 1]], dtype)
        nodes.append(h.make_node("Constant", [], [name], value=tensor))
        outputs.append(value(name, [1, 2], tensor.data_type))
    return model(h.make_graph(nodes, "encodings", [], outputs))


def attributes():
    """Every kind of attribute, on an operator nobody knows."""
    sub = h.make_graph([h.make_node("Neg", ["a"], ["b"])], "sub", [value("a", [1])],
                       [value("b", [1])])
    node = h.make_node("Everything", ["x", "", "x"], ["y", ""], domain="com.example", f=0.5, i=-1,
                       s="text", t=array("t", [1]), g=sub, floats=[1.0, 2.0], ints=[1, -2],
                       strings=["a", "b"], tensors=[array("u", [1])], graphs=[sub],
                       type_proto=h.make_tensor_type_proto(T.FLOAT, [1, "N"]))
    m = model(h.make_graph([node], "attributes", [value("x", [2])], [value("y", [2])]),
              opsets=[h.make_opsetid("com.example", 1)])
    m.metadata_props.append(StringStringEntryProto(key="weights", value="stripped"))
    m.doc_string = "documented"
    return m


def other_types():
    tensor = h.make_tensor_type_proto(T.FLOAT, [2])
    infos = [h.make_value_info("q", h.make_sequence_type_proto(tensor)),
             h.make_value_info("o", h.make_optional_type_proto(tensor))]
    node = h.make_node("SequenceAt", ["q", "i"], ["y"])
    return model(h.make_graph([node], "types", infos + [value("i", [], T.INT64)],
                              [value("y", [2])]))


def cycle():
    nodes = [h.make_node("Relu", ["b"], ["a"]), h.make_node("Relu", ["a"], ["b"])]
    return model(h.make_graph(nodes, "cycle", [], [value("a", [2])]))


def stripped():
    m = conv()
    for weight in m.graph.initializer:
        weight.ClearField("raw_data")
        weight.doc_string = "stripped"
    return m


def huge():
    return one_node("Add", {"x": [2**40, 2**40], "z": [-5, 2**62]}, {"y": [1]})


def quantized():
    scale, zero = array("s", 0.5), array("z", 3, np.uint8)
    nodes = [h.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
             h.make_node("DequantizeLinear", ["q", "s", "z"], ["y"])]
    return model(h.make_graph(nodes, "qdq", [value("x", [2, 3])], [value("y", [2, 3])],
                              [scale, zero]))


def attention():
    """Two projections, scores, softmax: what a transformer is made of."""
    nodes = [
        h.make_node("MatMul", ["x", "wq"], ["q"]), h.make_node("MatMul", ["x", "wk"], ["k"]),
        h.make_node("Transpose", ["k"], ["kt"], perm=[0, 2, 1]),
        h.make_node("MatMul", ["q", "kt"], ["scores"]),
        h.make_node("Softmax", ["scores"], ["p"], axis=-1),
        h.make_node("Einsum", ["p", "x"], ["y"], equation="bij,bjk->bik"),
    ]
    weights = [array("wq", np.ones((4, 4))), array("wk", np.ones((4, 4)))]
    return model(h.make_graph(nodes, "attention", [value("x", [1, 3, 4])],
                              [value("y", [1, 3, 4])], weights))


def nested(depth):
    """A graph inside an attribute of a graph, `depth` levels down."""
    graph = h.make_graph([], "leaf", [], [])
    for _ in range(depth):
        graph = h.make_graph([h.make_node("If", ["c"], ["y"], then_branch=graph)], "g", [], [])
    return model(graph)


def main():
    os.makedirs(FOLDER, exist_ok=True)
    for make in (conv, lstm, shape_chain, if_else, loop, scan, function, external, sparse, encodings,
                 attributes, other_types, cycle, stripped, huge, quantized, attention):
        save(make.__name__ + ".onnx", make())
    save("function_recursive.onnx", function(recursive=True))
    save("nested_40.onnx", nested(40))
    save("nested_80.onnx", nested(80))
    whole = conv().SerializeToString()
    save("truncated.onnx", whole[:len(whole) // 2])
    save("damaged.onnx", whole.replace(b"Conv", b"C\xff\x00v"))
    save("empty.onnx", b"")
    save("overlong_varint.onnx", b"\x08" + b"\xff" * 12)
    save("length_past_end.onnx", b"\x3a\xff\xff\xff\xff\x0f")
    save("group.onnx", b"\x3b\x3c")
    save("not_onnx.onnx", b"PK\x03\x04 this is a zip file")
    pool = one_node("MaxPool", {"x": [1, 1, 6, 6]}, {"y": [1, 1, 3, 3]}, kernel_shape=[2, 2],
                    strides=[2, 2], ceil_mode=1)
    save("pool.onnx", pool)
    save("topk.onnx", one_node("TopK", {"x": [2, 9]}, {"v": [2, 3], "i": [2, 3]},
                               [array("k", [3], np.int64)], axis=-1))
    save("slice.onnx", one_node("Slice", {"x": [9, 9]}, {"y": [4, 9]},
                                [array("from", [8], np.int64), array("to", [-2**63], np.int64),
                                 array("axes", [0], np.int64), array("steps", [-2], np.int64)]))
    save("resize.onnx", one_node("Resize", {"x": [1, 1, 4, 4], "": []}, {"y": [1, 1, 8, 8]},
                                 [array("scales", [1, 1, 2, 2])], mode="nearest"))
    old = one_node("Reshape", {"x": [2, 3]}, {"y": [6]}, opset=1, shape=[6])
    save("old_opset.onnx", old)


if __name__ == "__main__":
    main()
