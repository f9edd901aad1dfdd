# SPDX-License-Identifier: MIT
"""Large problems of simple shapes, as weft.tasks/1 documents and as ONNX files. Equal arguments, equal files.

    python3 tests/large_graphs.py SHAPE N_TASKS OUT.json [KEY=VALUE...]
    python3 tests/large_graphs.py SHAPE N_NODES OUT.onnx

Shapes, of about the number of tasks asked for:

fan       one task, all others read it, the last one reads them
apart     no edges at all
chain     each task reads the one before
grid      rows as long as columns; each task reads its neighbours to the left and above
layered   layers of 300 tasks; each reads one to four tasks of the layer before
tree      each task is read by two others
skips     a chain whose tasks also read the first one

Keys of a file of tasks: devices=N, transfer=NAME, memory=none|loose|tight, times=drawn|equal|devices.
"""
import json
import math
import random
import sys

LAYER = 300


def edges_of(shape, n):
    rng = random.Random(n)
    side = math.isqrt(n)
    if shape == "fan":
        return n, [(0, u) for u in range(1, n - 1)] + [(u, n - 1) for u in range(1, n - 1)]
    if shape == "apart":
        return n, []
    if shape == "chain":
        return n, [(u, u + 1) for u in range(n - 1)]
    if shape == "grid":
        right = [(u, u + 1) for u in range(side * side) if (u + 1) % side]
        return side * side, sorted(right + [(u, u + side) for u in range(side * (side - 1))])
    if shape == "layered":
        edges = set()
        for u in range(LAYER, n):
            first = (u // LAYER - 1) * LAYER
            edges |= {(rng.randrange(first, first + LAYER), u) for _ in range(rng.randint(1, 4))}
        return n, sorted(edges)
    if shape == "tree":
        return n, [((u - 1) // 2, u) for u in range(1, n)]
    if shape == "skips":
        return n, [(u, u + 1) for u in range(n - 1)] + [(0, u) for u in range(2, n)]
    raise SystemExit(f"large_graphs.py: no shape is called '{shape}'")


# --- tasks -------------------------------------------------------------------------------------------


def seconds(times, n_devices, rng):
    if times == "equal":
        return [1] * n_devices
    if times == "devices":
        return [1 + d for d in range(n_devices)]
    return [rng.randint(1, 20) for _ in range(n_devices)]


def tasks_doc(shape, n, devices=4, transfer="overlap", memory="none", times="drawn"):
    n, edges = edges_of(shape, n)
    rng = random.Random(1000 * n + devices)
    tasks = [{"name": f"t{u}", "seconds": seconds(times, devices, rng)} for u in range(n)]
    doc = {"schema": "weft.tasks/1", "devices": [f"d{d}" for d in range(devices)], "tasks": tasks,
           "edges": [{"from": f"t{u}", "to": f"t{v}", "amount": rng.randint(0, 9)} for u, v in edges],
           "transfer": transfer}
    if memory != "none":
        for task in tasks:
            task["memory"] = rng.randint(1, 9) << 10
        share = sum(task["memory"] for task in tasks) / devices
        doc["capacity"] = [math.ceil(share * (2 if memory == "loose" else 1.05))] * devices
    if transfer == "calls":
        doc["host"] = "d0"
    return doc


# --- ONNX: the wire format of protocol buffers by hand -----------------------------------------------


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


def number(field, value):
    return varint(field << 3) + varint(value)


def block(field, payload):
    payload = payload.encode() if isinstance(payload, str) else payload
    return varint(field << 3 | 2) + varint(len(payload)) + payload


def value_info(name, dims):
    shape = b"".join(block(1, number(1, d)) for d in dims)
    return block(1, name) + block(2, block(1, number(1, 1) + block(2, shape)))


def node(op, name, inputs, outputs, attributes=b""):
    return block(1, b"".join(block(1, i) for i in inputs) + b"".join(block(2, o) for o in outputs) +
                 block(3, name) + block(4, op) + attributes)


def weight(name, n_elements):
    return block(5, number(1, n_elements) + number(2, 1) + block(8, name) + block(9, bytes(4 * n_elements)))


def attribute(name, value):
    return block(5, block(1, name) + number(3, value) + number(20, 2))


def split_onnx(n):
    """One node with n results, each of which a node reads."""
    parts = [f"p{u}" for u in range(n)]
    body = node("Split", "split", ["x"], parts, attribute("axis", 0) + attribute("num_outputs", n))
    body += b"".join(node("Relu", f"n{u}", [parts[u]], [f"r{u}"]) for u in range(n))
    body += node("Sum", "join", [f"r{u}" for u in range(n)], ["y"])
    return body, [n, 16], [1, 16]


def onnx_file(shape, n, width=64):
    dims = result = [1, width]
    if shape == "split":
        body, dims, result = split_onnx(n)
    else:
        n, edges = edges_of(shape, n)
        inputs = [[] for _ in range(n)]
        is_read = [False] * n
        for u, v in edges:
            inputs[v].append(f"r{u}")
            is_read[u] = True
        body = bytearray()
        for u in range(n):
            args = inputs[u] or ["x"]
            if len(args) == 1 and u % 3 == 1:
                body += node("Add", f"n{u}", args + [f"w{u}"], [f"r{u}"])
            else:
                body += node("Sum" if len(args) > 1 else "Relu", f"n{u}", args, [f"r{u}"])
        last = [f"r{u}" for u in range(n) if not is_read[u]]
        body += node("Sum", "end", last, ["y"])
        for u in range(n):
            if len(inputs[u]) <= 1 and u % 3 == 1:
                body += weight(f"w{u}", width)
    graph = bytes(body) + block(2, shape) + block(11, value_info("x", dims)) + block(12, value_info("y", result))
    return number(1, 8) + block(7, graph) + block(8, block(1, "") + number(2, 18))


def main(shape, n, out, *keys):
    if out.endswith(".onnx"):
        with open(out, "wb") as file:
            file.write(onnx_file(shape, int(n)))
        return
    given = dict(key.split("=", 1) for key in keys)
    if "devices" in given:
        given["devices"] = int(given["devices"])
    with open(out, "w", encoding="utf-8") as file:
        json.dump(tasks_doc(shape, int(n), **given), file, separators=(",", ":"))


if __name__ == "__main__":
    main(*sys.argv[1:])
