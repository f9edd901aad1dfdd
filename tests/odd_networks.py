# SPDX-License-Identifier: MIT
"""Small networks with everything that is rare in ONNX files: written here byte by byte, without the onnx package.

write(folder) returns [(name, path, what)]: what is None if the network can be split in every way, else a part of the
line that refuses some plans or all. Each is a valid network that ONNX Runtime takes."""

import os
import struct

FLOAT, INT64, BOOL, STRING = 1, 7, 9, 8


def varint(n):
    out = b""
    n &= (1 << 64) - 1
    while n >= 128:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def part(field, value):
    """A field of a message: a number, or bytes."""
    if isinstance(value, int):
        return varint(field << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def parts(field, values):
    return b"".join(part(field, v) for v in values)


def tensor(name, dims, values, kind=FLOAT, location=None):
    head = parts(1, dims) + part(2, kind) + part(8, name)
    if kind == STRING:
        return head + parts(6, values)
    raw = struct.pack("<%d%s" % (len(values), {FLOAT: "f", INT64: "q", BOOL: "?"}[kind]), *values)
    if location is None:
        return head + part(9, raw)
    path, offset, data = location
    with open(path, "ab") as f:
        f.write(b"\0" * (offset - f.tell()) + raw)
    entries = [("location", data), ("offset", str(offset)), ("length", str(len(raw)))]
    return head + parts(13, [part(1, k) + part(2, v) for k, v in entries]) + part(14, 1)


def type_of(dims, kind=FLOAT):
    shape = b"".join(part(1, part(2, d) if isinstance(d, str) else part(1, d)) for d in dims)
    return part(1, part(1, kind) + part(2, shape))


def value(name, dims, kind=FLOAT):
    return part(1, name) + part(2, type_of(dims, kind))


def node(op, reads, makes, name=None, domain="", **attributes):
    out = parts(1, reads) + parts(2, makes) + part(3, makes[0] + "_node" if name is None else name) + part(4, op)
    for key, x in attributes.items():
        if isinstance(x, int):
            body = part(3, x) + part(20, 2)
        elif isinstance(x, float):
            body = varint(2 << 3 | 5) + struct.pack("<f", x) + part(20, 1)
        elif isinstance(x, str):
            body = part(4, x) + part(20, 3)
        elif isinstance(x, list):
            body = parts(8, x) + part(20, 7)
        else:
            body = part(6, x) + part(20, 5) if isinstance(x, Graph) else part(5, x) + part(20, 4)
        out += part(5, part(1, key) + body)
    return out + part(7, domain)


class Graph(bytes):
    pass


def graph(nodes, inputs, outputs, weights=(), name="g", sparse=(), values=()):
    return Graph(parts(1, nodes) + part(2, name) + parts(5, weights) + parts(11, inputs) + parts(12, outputs) +
                 parts(13, values) + parts(15, sparse))


def model(g, ir=8, opsets=(("", 13),), functions=()):
    return (part(1, ir) + part(7, g) + parts(8, [part(1, d) + part(2, v) for d, v in opsets]) + parts(25, functions))


def numbers(n, seed=1):
    """From -1 to 1, always the same."""
    out = []
    for _ in range(n):
        seed = (seed * 1103515245 + 12345) % (1 << 31)
        out.append(2 * seed / (1 << 31) - 1)
    return out


def square(name, n=8, seed=1, **more):
    return tensor(name, [n, n], numbers(n * n, seed), **more)


def ladder(first, last, n, op="MatMul", weight="w", prefix="t"):
    """A chain of n products from one name to another."""
    names = [first] + ["%s%d" % (prefix, i) for i in range(n - 1)] + [last]
    return [node(op, [names[i], weight], [names[i + 1]]) for i in range(n)]


def plain(nodes, inputs=None, outputs=None, weights=None, **more):
    return model(graph(nodes, inputs or [value("x", [8, 8])], outputs or [value("y", [8, 8])],
                       [square("w")] if weights is None else weights), **more)


def with_if():
    def branch(op, name):
        return graph([node(op, ["b", "w2"], [name + "_in"]), node("Tanh", [name + "_in"], [name])], [],
                     [value(name, [8, 8])], [square("w2", seed=3)] if op == "Add" else [square("w2", seed=5)], name)
    return plain(ladder("x", "a", 3) + ladder("a", "b", 2, prefix="u") +
                 [node("ReduceSum", ["a"], ["s"], keepdims=0), node("Greater", ["s", "zero"], ["c"]),
                  node("If", ["c"], ["i"], then_branch=branch("Add", "p"), else_branch=branch("Mul", "q")),
                  node("Add", ["i", "b"], ["y"])], weights=[square("w"), tensor("zero", [], [0.0])])


def with_loop():
    body = graph([node("MatMul", ["v", "w"], ["m"]), node("Add", ["m", "a"], ["vo"]), node("Identity", ["go"], ["goo"])],
                 [value("i", [], INT64), value("go", [], BOOL), value("v", [8, 8])],
                 [value("goo", [], BOOL), value("vo", [8, 8])], [], "body")
    return plain(ladder("x", "a", 3) + [node("Loop", ["n", "", "a"], ["l"], body=body)] + ladder("l", "y", 2, prefix="u"),
                 weights=[square("w"), tensor("n", [], [3], INT64)])


def with_function():
    f = (part(1, "Twice") + part(4, "a") + part(4, "b") + part(5, "c") +
         part(7, node("MatMul", ["a", "b"], ["h"])) + part(7, node("MatMul", ["h", "b"], ["c"])) +
         part(9, part(1, "") + part(2, 13)) + part(10, "my"))
    return plain([node("Twice", ["x", "w"], ["a"], domain="my"), node("Relu", ["a"], ["b"]),
                  node("Twice", ["b", "w"], ["y"], domain="my")], opsets=(("", 13), ("my", 1)), functions=[f])


def with_sequence():
    return plain(ladder("x", "a", 3) + ladder("a", "b", 2, prefix="u") + [node("SequenceConstruct", ["a", "b"], ["s"]),
                 node("ConcatFromSequence", ["s"], ["y"], axis=0)], outputs=[value("y", [16, 8])])


def with_strings():
    return plain(ladder("x", "a", 3) + [node("Cast", ["a"], ["text"], to=STRING), node("Cast", ["text"], ["b"], to=FLOAT)] +
                 ladder("b", "y", 3, prefix="u"))


def with_sparse():
    # SparseTensorProto: values (whose name is the tensor's), indices, dims
    s = part(1, tensor("sw", [2], [2.0, 3.0])) + part(2, tensor("", [2], [0, 9], INT64)) + parts(3, [8, 8])
    g = graph(ladder("x", "a", 3) + [node("MatMul", ["a", "sw"], ["b"])] + ladder("b", "y", 2, prefix="u"),
              [value("x", [8, 8])], [value("y", [8, 8])], [square("w")], sparse=[s])
    return model(g)


def with_empty():
    """A tensor of no elements goes through the network."""
    return plain(ladder("x", "a", 3) + [node("Slice", ["a", "i0", "i0"], ["e"]), node("Relu", ["e"], ["f"]),
                 node("Concat", ["f", "a"], ["b"], axis=0)] + ladder("b", "y", 2, prefix="u"),
                 weights=[square("w"), tensor("i0", [1], [0], INT64)], outputs=[value("y", [8, 8]), value("f", [0, 8])])


def external(folder):
    path = os.path.join(folder, "deep", "er", "w'eights.bin")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    open(path, "wb").close()
    where = "deep/er/w'eights.bin"
    return plain(ladder("x", "a", 3) + ladder("a", "y", 3, weight="v", prefix="u"),
                 weights=[square("w", location=(path, 0, where)), square("v", seed=4, location=(path, 4096, where))])


def linked(folder):
    """The weights are a symbolic link to a file elsewhere, as in caches of models."""
    store = os.path.join(folder, "blobs")
    os.makedirs(store, exist_ok=True)
    path = os.path.join(store, "4f..5a")
    open(path, "wb").close()
    os.symlink("blobs/4f..5a", os.path.join(folder, "linked..data"))
    return plain(ladder("x", "a", 3) + ladder("a", "y", 3, prefix="u"),
                 weights=[square("w", location=(path, 0, "linked..data"))])


def networks(folder):
    odd = "a/b 'c' \"d\" \\ %s;:,{}[]é"
    two = [value("y", [8, 8]), value("t1", [8, 8])]
    return [
        ("if", with_if(), None),
        ("loop", with_loop(), None),
        ("function", with_function(), "stands for several operators"),
        ("sequence", with_sequence(), "has a shape that depends on the data"),
        ("strings", with_strings(), "is of type string: it cannot be sent"),
        ("sparse", with_sparse(), "has a shape that depends on the data"),
        ("empty", with_empty(), None),
        ("names", plain([node("MatMul", ["x", "w"], [odd], name=odd), node("MatMul", [odd, "w"], [odd + "/"], name="/" + odd),
                         node("Relu", [odd + "/"], ["../up"], name=""), node("MatMul", ["../up", "w"], ["y"], name="")]), None),
        ("optional", plain(ladder("x", "a", 3) + [node("Clip", ["a", "", "one"], ["b"])] + ladder("b", "y", 2, prefix="u"),
                           weights=[square("w"), tensor("one", [], [0.5])]), None),
        ("omitted", plain([node("MatMul", ["x", "w"], ["a"]), node("Dropout", ["a"], ["b", ""]), node("Unsqueeze", ["b", "one"], ["c"]),
                           node("LSTM", ["c", "lw", "lr"], ["", "h"], name="lstm", hidden_size=8)] + ladder("h", "y", 2),
                          weights=[square("w"), tensor("one", [1], [1], INT64), tensor("lw", [1, 32, 8], numbers(256, 7)),
                                   tensor("lr", [1, 32, 8], numbers(256, 9))], outputs=[value("y", [1, 1, 8])]), None),
        ("middle_output", plain(ladder("x", "y", 4), outputs=two), None),
        ("input_output", plain(ladder("x", "y", 4), outputs=[value("y", [8, 8]), value("x", [8, 8])]), None),
        ("weight_output", plain(ladder("x", "y", 4), outputs=[value("y", [8, 8]), value("w", [8, 8])]), None),
        ("constant_output", plain(ladder("x", "y", 4) + [node("Neg", ["w"], ["c"])], outputs=[value("y", [8, 8]), value("c", [8, 8])]), None),
        ("unused_input", plain(ladder("x", "y", 4), inputs=[value("x", [8, 8]), value("z", [3])]), None),
        ("weight_input", plain(ladder("x", "y", 4), inputs=[value("x", [8, 8]), value("w", [8, 8])]), None),
        ("ir3", plain(ladder("x", "y", 4), inputs=[value("x", [8, 8]), value("w", [8, 8])], ir=3, opsets=(("", 8),)), None),
        ("opset7", plain(ladder("x", "y", 4), opsets=(("", 7),)), None),
        ("opset21", plain(ladder("x", "y", 4), ir=10, opsets=(("", 21),)), None),
        ("unused_branch", plain(ladder("x", "y", 4) + ladder("x", "dead", 2, prefix="u")), None),
        ("unordered", plain(list(reversed(ladder("x", "y", 4)))), None),
        ("shape", plain(ladder("x", "a", 3) + [node("Shape", ["a"], ["s"]), node("Reshape", ["a", "s"], ["b"])] +
                        ladder("b", "y", 2, prefix="u")), None),
        ("scalar", plain(ladder("x", "a", 3) + [node("ReduceSum", ["a"], ["s"], keepdims=0), node("Mul", ["s", "s"], ["q"]),
                         node("Mul", ["a", "q"], ["b"])] + ladder("b", "y", 2, prefix="u")), None),
        ("types", plain([node("Cast", ["x"], ["d"], to=11), node("Cast", ["d"], ["h"], to=10), node("Cast", ["h"], ["b"], to=16),
                         node("Cast", ["b"], ["i"], to=FLOAT), node("Greater", ["i", "w"], ["g"]), node("Cast", ["g"], ["u"], to=2),
                         node("Cast", ["u"], ["f"], to=FLOAT), node("Add", ["f", "i"], ["y"])]), None),
        ("nan", plain([node("Log", ["x"], ["a"])] + ladder("a", "b", 2) + [node("Div", ["b", "zero"], ["y"])],
                      weights=[square("w"), tensor("zero", [], [0.0])]), None),
        ("output_twice", plain(ladder("x", "y", 4), outputs=[value("y", [8, 8]), value("y", [8, 8])]), "Duplicate"),
        ("external", external(folder), None),
        ("linked", linked(folder), None),
    ]


def write(folder):
    os.makedirs(folder, exist_ok=True)
    out = []
    for name, data, what in networks(folder):
        path = os.path.join(folder, name + ".onnx")
        with open(path, "wb") as f:
            f.write(data)
        out.append((name, path, what))
    return out
