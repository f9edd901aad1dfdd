# SPDX-License-Identifier: MIT
"""Writes chains of convolutions as ONNX files without weights, so that a bench needs no other package.

Convolutions of 3 x 3 follow each other on pictures of 56 x 56 with 64 channels; at each quarter of the
chain the picture shrinks to half its sides and the channels double, as in common networks."""


def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def number(field, n):
    return varint(field << 3) + varint(n)


def block(field, data):
    data = data.encode() if isinstance(data, str) else data
    return varint(field << 3 | 2) + varint(len(data)) + data


def tensor_type(shape):
    dims = b"".join(block(1, number(1, n)) for n in shape)
    return block(1, number(1, 1) + block(2, dims))


def value(name, shape):
    return block(1, name) + block(2, tensor_type(shape))


def weight(name, shape):
    """The elements are said to be in another file, which nobody opens."""
    entry = block(1, "location") + block(2, "weights.bin")
    return (b"".join(number(1, n) for n in shape) + number(2, 1) + block(8, name) + block(13, entry)
            + number(14, 1))


def integers(name, numbers):
    return block(1, name) + b"".join(number(8, n) for n in numbers) + number(20, 7)


def convolution(i, stride):
    return (block(1, "x%d" % i) + block(1, "w%d" % i) + block(2, "x%d" % (i + 1))
            + block(3, "conv%d" % i) + block(4, "Conv") + block(5, integers("pads", [1, 1, 1, 1]))
            + block(5, integers("strides", [stride, stride])))


def write_chain(path, n_layers):
    channels, side, graph = 64, 56, b""
    weights = b""
    for i in range(n_layers):
        stride = 2 if i and channels < 512 and i % max(1, n_layers // 4) == 0 else 1
        graph += block(1, convolution(i, stride))
        weights += block(5, weight("w%d" % i, [channels * stride, channels, 3, 3]))
        channels, side = channels * stride, (side + stride - 1) // stride
    graph += block(2, "chain") + weights + block(11, value("x0", [1, 64, 56, 56]))
    graph += block(12, value("x%d" % n_layers, [1, channels, side, side]))
    with open(path, "wb") as file:
        file.write(number(1, 8) + block(7, graph) + block(8, number(2, 13)))
