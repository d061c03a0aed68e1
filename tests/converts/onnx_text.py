# SPDX-License-Identifier: Apache-2.0
"""onnx_text - writes ONNX files with nothing but Python, for tests that make their own networks. Weights are seeded."""
import array
import pathlib
import random
import struct

FLOAT, INT64 = 1, 7


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def port(name, shape):
    dims = b"".join(field(1, field(1, d)) for d in shape)
    return field(1, name) + field(2, field(1, field(1, FLOAT) + field(2, dims)))


def attribute(name, value):
    out = field(1, name)
    if isinstance(value, str):
        return out + field(4, value) + field(20, 3)
    if isinstance(value, float):
        return out + field(2, value) + field(20, 1)
    if isinstance(value, int):
        return out + field(3, value) + field(20, 2)
    return out + b"".join(field(8, v) for v in value) + field(20, 7)


class Net:
    """A graph of f32 tensors under construction. Values are names; shapes of what convolutions read are kept."""

    def __init__(self, opset=17):
        self.nodes, self.constants, self.inputs, self.outputs = [], [], [], []
        self.opset, self.count, self.random = opset, 0, random.Random(1)

    def input(self, name, *shape):
        self.inputs.append(port(name, shape))
        return name

    def output(self, *values):
        self.outputs += [field(1, v) + field(2, field(1, field(1, FLOAT))) for v in values]

    def fresh(self, base):
        self.count += 1
        return f"{base}_{self.count}"

    def constant(self, dims, data, kind):
        name = self.fresh("k")
        body = b"".join(field(1, d) for d in dims) + field(2, kind) + field(8, name) + field(9, data)
        self.constants.append(body)
        return name

    def ints(self, *values):
        return self.constant([len(values)], struct.pack(f"<{len(values)}q", *values), INT64)

    def floats(self, dims, spread=1.0, middle=0.0):
        count = 1
        for d in dims:
            count *= d
        data = array.array("f", (middle + spread * (self.random.random() * 2 - 1) for _ in range(count)))
        return self.constant(dims, data.tobytes(), FLOAT)

    def floats_of(self, values):
        return self.constant([len(values)], array.array("f", values).tobytes(), FLOAT)

    def node(self, op, inputs, outputs=1, **attributes):
        """The node's output, or a list of them."""
        name = self.fresh(op)
        names = [f"{name}:{i}" for i in range(outputs)] if outputs > 1 else [name]
        body = b"".join(field(1, i) for i in inputs) + b"".join(field(2, n) for n in names)
        body += field(3, name) + field(4, op)
        body += b"".join(field(5, attribute(k, v)) for k, v in attributes.items())
        self.nodes.append(body)
        return names if outputs > 1 else name

    def conv(self, x, inputs, outputs, kernel=3, stride=1, pad=None, group=1, act="Relu"):
        pad = kernel // 2 if pad is None else pad
        w = self.floats([outputs, inputs // group, kernel, kernel], (6 / (kernel * kernel * inputs // group)) ** 0.5)
        pads = [pad] * 4 if isinstance(pad, int) else list(pad)
        y = self.node("Conv", [x, w, self.floats([outputs], 0.1)], kernel_shape=[kernel] * 2, strides=[stride] * 2,
                      pads=pads, group=group)
        return self.node(act, [y]) if act else y

    def transpose(self, x, *perm):
        return self.node("Transpose", [x], perm=list(perm))

    def slice(self, x, axis, first, last, step=1):
        return self.node("Slice", [x, self.ints(first), self.ints(last), self.ints(axis), self.ints(step)])

    def reshape(self, x, *dims):
        return self.node("Reshape", [x, self.ints(*dims)])

    def concat(self, axis, *values):
        return self.node("Concat", values, axis=axis)

    def save(self, path):
        graph = b"".join(field(1, n) for n in self.nodes) + field(2, "g")
        graph += b"".join(field(5, c) for c in self.constants)
        graph += b"".join(field(11, i) for i in self.inputs) + b"".join(field(12, o) for o in self.outputs)
        model = field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, self.opset))
        pathlib.Path(path).write_bytes(model)
