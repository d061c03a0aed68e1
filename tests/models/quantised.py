#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""quantised.py - small graphs between roundings, with random scales, zero points and types: hone's bytes against ONNX
Runtime's, of the model itself and of what `hone passes --emit` makes of it.

    python3 tests/models/quantised.py [--rounds N] [--only NAME] [--keep DIR]"""
import argparse
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../support"))
import peer_bytes  # noqa: E402

HONE = os.environ.get("HONE_BIN", "hone")
WEIGHT_SHIFT = 1 if peer_bytes.SATURATES else 0  # pairs of products of 7 bits do not saturate
BYTES = {np.uint8: TensorProto.UINT8, np.int8: TensorProto.INT8}
FLOATS = ("DynamicQuantizeMatMul", "Gemm", "MatMul", "Relu")  # what ends in floats


class Net:
    """A graph that is written node by node; the quantised type is one for activations, one for weights."""

    def __init__(self, random):
        self.random, self.nodes, self.initializers, self.inputs, self.count = random, [], [], [], 0
        self.type = np.uint8 if random.integers(2) else np.int8
        self.weight_type = np.int8

    def name(self, stem):
        self.count += 1
        return f"{stem}{self.count}"

    def constant(self, array, stem="c"):
        name = self.name(stem)
        self.initializers.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def node(self, op, inputs, domain="", **attrs):
        name = self.name(op.lower())
        self.nodes.append(helper.make_node(op, list(inputs), [name], name=name + "_node", domain=domain, **attrs))
        return name

    def scale(self, count=None):
        """Powers of two make ties."""
        exponent = self.random.integers(-3, 2, count)
        factor = 1 if self.random.integers(2) else self.random.uniform(0.5, 1, count)
        return (np.float32(2.0) ** exponent * factor).astype(np.float32)

    def zero(self):
        info = np.iinfo(self.type)
        return self.type(self.random.choice([info.min, info.max, 0, 1, 3, 127, self.random.integers(info.min, info.max)]))

    def params(self):
        return self.constant(self.scale(), "s"), self.constant(self.zero(), "z")

    def input(self, shape):
        """f32 x, rounded and back: its scale is returned as well."""
        name = self.name("x")
        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        scale, zero = self.params()
        return self.node("DequantizeLinear", [self.node("QuantizeLinear", [name, scale, zero]), scale, zero]), scale

    def round(self, value, params=None):
        scale, zero = params or self.params()
        return self.node("DequantizeLinear", [self.node("QuantizeLinear", [value, scale, zero]), scale, zero])

    def value(self, name):
        return next(numpy_helper.to_array(i) for i in self.initializers if i.name == name)

    def weights(self, shape, axis, channels, x_scale, small):
        """Constant weights and bias, for each channel or for all."""
        count = channels if self.random.integers(2) else None
        info = np.iinfo(self.weight_type)
        data = self.random.integers(info.min + 1, info.max + 1, shape).astype(self.weight_type) >> WEIGHT_SHIFT
        scale = (self.scale(count) * np.float32(small)).astype(np.float32)
        zero = np.zeros(() if count is None else count, self.weight_type)
        axis = {} if count is None else {"axis": axis}
        weights = self.node("DequantizeLinear", [self.constant(data), self.constant(scale, "s"), self.constant(zero, "z")],
                            **axis)
        bias_scale = (self.value(x_scale) * scale).astype(np.float32)
        bias = self.constant(self.random.integers(-2000, 2000, channels).astype(np.int32))
        axis = {} if count is None else {"axis": 0}
        return weights, self.node("DequantizeLinear", [bias, self.constant(bias_scale, "s")], **axis)

    def model(self, output):
        """The bytes of the output, not their value, are returned: the last node dequantises."""
        last = next(n for n in self.nodes if n.output[0] == output)
        kind = TensorProto.FLOAT if "Float" in last.op_type or last.op_type in FLOATS else BYTES[self.type]
        if last.op_type == "QGemm" and len(last.input) < 8:
            kind = TensorProto.FLOAT
        if last.op_type == "DequantizeLinear":
            self.nodes.remove(last)
            output = last.input[0]
        graph = helper.make_graph(self.nodes, "quantised", self.inputs,
                                  [helper.make_tensor_value_info(output, kind, None)], self.initializers)
        return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17),
                                                                     helper.make_opsetid("com.microsoft", 1)])


def conv(net):
    group = int(net.random.choice([1, 1, 2, 4]))
    channels, outputs, size = 4 * group, 8, int(net.random.integers(3, 9))
    kernel = int(net.random.choice([1, 2, 3]))
    x, scale = net.input([1, channels, size, size])
    w, b = net.weights([outputs, channels // group, kernel, kernel], 0, outputs, scale, 0.02)
    pads = [int(p) for p in net.random.integers(0, kernel, 4)]
    more = [b] if net.random.integers(2) else []
    return net.round(net.node("Conv", [x, w] + more, group=group, pads=pads, strides=[int(net.random.integers(1, 3))] * 2))


def depthwise(net):
    net.type = np.uint8  # of i8, ONNX Runtime's kernel adds an odd zero point before it rounds ties
    x, scale = net.input([1, 19, 7, 7])
    w, b = net.weights([19, 1, 3, 3], 0, 19, scale, 0.05)
    return net.round(net.node("Conv", [x, w, b], group=19, pads=[1, 1, 1, 1]))


def gemm(net):
    k = int(net.random.integers(1, 68))
    x, scale = net.input([3, k])
    w, b = net.weights([11, k], 0, 11, scale, 0.02)
    more = [b] if net.random.integers(2) else []
    return net.round(net.node("Gemm", [x, w] + more, transB=1))


def gemm_to_float(net):
    k = int(net.random.integers(1, 68))
    x, scale = net.input([3, k])
    is_turned = int(net.random.integers(2))
    w, b = net.weights([11, k] if is_turned else [k, 11], 1 - is_turned, 11, scale, 0.02)
    return net.node("Gemm", [x, w] + ([b] if net.random.integers(2) else []), transB=is_turned)


def matmul_to_float(net):
    k = int(net.random.integers(1, 68))
    x, scale = net.input([2, 5, k])
    w, _ = net.weights([k, 7], 1, 7, scale, 0.02)
    return net.node("MatMul", [x, w])


def matmul(net):
    k = int(net.random.integers(1, 68))
    x, scale = net.input([2, 5, k])
    w, _ = net.weights([k, 7], 1, 7, scale, 0.02)
    return net.round(net.node("MatMul", [x, w]))


def pair(op):
    def make(net):
        x, _ = net.input([2, 8, 5, 5])
        y, _ = net.input([[2, 8, 5, 5], [8, 1, 1], [1]][net.random.integers(3)])
        return net.round(net.node(op, [x, y]))
    return make


def mean(net):
    x, _ = net.input([1, 16, 7, 5])
    return net.round(net.node("GlobalAveragePool", [x]))


def pool(net):
    x, scale = net.input([1, 16, 9, 9])
    params = scale, net.nodes[-1].input[2]
    return net.round(net.node("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2]), params)


def moves(net):
    x, scale = net.input([1, 6, 4, 4])
    params = scale, net.nodes[-1].input[2]
    y = net.round(net.node("Transpose", [x], perm=[0, 2, 3, 1]), params)
    y = net.round(net.node("Reshape", [y, net.constant(np.array([4, -1]))]), params)
    w, b = net.weights([5, 24], 0, 5, scale, 0.02)
    return net.round(net.node("Gemm", [y, w, b], transB=1))


def concat(net):
    params = net.params()
    parts = []
    for i in range(3):
        x, scale = net.input([1, 3 + i, 4, 4])
        w, b = net.weights([5, 3 + i, 1, 1], 0, 5, scale, 0.1)
        parts.append(net.round(net.node("Conv", [x, w, b]), params if i < 2 else None))
    return net.round(net.node("Concat", parts, axis=1), params)


def residual(net):
    size, kernel = int(net.random.integers(3, 9)), int(net.random.choice([1, 3]))
    x, scale = net.input([1, 72, size, size])
    w, b = net.weights([72, 72, kernel, kernel], 0, 72, scale, 0.02)
    more = [b] if net.random.integers(2) else []
    y = net.round(net.node("Conv", [x, w] + more, pads=[kernel // 2] * 4))
    return net.round(net.node("Add", [y, x] if net.random.integers(2) else [x, y]))


# ---- ONNX Runtime's own operators ----

def bytes_in(net, shape):
    """u8, with what it stands for."""
    x, _ = net.input(shape)
    return next(n.input[:3] for n in net.nodes if n.output[0] == x)


def of_two(op):
    def make(net):
        net.type = np.uint8
        a, b, (scale, zero) = bytes_in(net, [2, 8, 5, 5]), bytes_in(net, [8, 1, 5]), net.params()
        return net.node(op, [*a, *b, scale, zero], "com.microsoft")
    return make


def of_one(op, shape, **attrs):
    def make(net):
        net.type = np.uint8
        return net.node(op, [*bytes_in(net, shape), *net.params()], "com.microsoft", **attrs)
    return make


def qlinear_concat(net):
    net.type = np.uint8
    return net.node("QLinearConcat", [*net.params(), *bytes_in(net, [1, 3, 4]), *bytes_in(net, [1, 2, 4])], "com.microsoft",
                    axis=1)


def columns(net, k, n):
    data = net.random.integers(-127, 128, [k, n]).astype(np.int8) >> WEIGHT_SHIFT
    each = None if net.random.integers(2) else n
    scale = (net.scale(each) * np.float32(0.02)).astype(np.float32)
    return net.constant(data), net.constant(scale), net.constant(np.zeros(() if each is None else n, np.int8))


def qgemm(net):
    net.type = np.uint8
    b, scale, zero = columns(net, 20, 6)
    if net.random.integers(2):
        b = net.constant(net.value(b).T.copy())
        more = {"transB": 1}
    else:
        more = {"alpha": 0.3}
    bias = net.constant(net.random.integers(-500, 500, 6).astype(np.int32))
    params = net.params() if net.random.integers(2) else ()
    return net.node("QGemm", [*bytes_in(net, [3, 20]), b, scale, zero, bias, *params], "com.microsoft", **more)


def dynamic(net):
    x = "x0"
    net.inputs.append(helper.make_tensor_value_info(x, TensorProto.FLOAT, [2, 3, 20]))
    b, scale, zero = columns(net, 20, 6)
    bias = [net.constant(net.random.standard_normal(6).astype(np.float32))] if net.random.integers(2) else []
    return net.node("DynamicQuantizeMatMul", [x, b, scale, zero] + bias, "com.microsoft")


def dynamic_conv(net):
    """As ONNX Runtime's tools write it, one rounding after the other."""
    group = int(net.random.choice([1, 1, 2, 20]))
    kernel, size, outputs = int(net.random.choice([1, 3])), int(net.random.integers(3, 9)), 40
    net.inputs.append(helper.make_tensor_value_info("x0", TensorProto.FLOAT, [1, 20, size, size]))
    data = net.random.integers(-127, 128, [outputs, 20 // group, kernel, kernel]).astype(np.int8) >> WEIGHT_SHIFT
    net.nodes.append(helper.make_node("DynamicQuantizeLinear", ["x0"], ["q0", "s0", "z0"], name="quantise"))
    each = [1, outputs, 1, 1] if net.random.integers(2) else []
    scale = net.constant(net.random.uniform(0.001, 0.01, each).astype(np.float32), "s")
    zero = [net.constant(np.int8(0), "z")] if net.random.integers(2) else []
    y = net.node("ConvInteger", ["q0", net.constant(data), "z0"] + zero, group=group, pads=[kernel // 2] * 4)
    y = net.node("Mul", [net.node("Cast", [y], to=TensorProto.FLOAT), net.node("Mul", ["s0", scale])])
    if net.random.integers(2):
        y = net.node("Add", [y, net.constant(net.random.standard_normal([1, outputs, 1, 1]).astype(np.float32))])
    if net.random.integers(2):
        net.inputs.append(helper.make_tensor_value_info("r0", TensorProto.FLOAT, [1, outputs, size, size]))
        y = net.node("Add", [y, "r0"])
    return net.node("Relu", [y])


def to_float(net):
    net.type = np.uint8
    x, x_scale, x_zero = bytes_in(net, [2, 3, 20])
    b, scale, zero = columns(net, 20, 6)
    bias = [net.constant(net.random.standard_normal(6).astype(np.float32))] if net.random.integers(2) else []
    return net.node("MatMulIntegerToFloat", [x, b, x_scale, scale, x_zero, zero] + bias, "com.microsoft")


CASES = {"QLinearAdd": of_two("QLinearAdd"), "QLinearMul": of_two("QLinearMul"),
         "QLinearGlobalAveragePool": of_one("QLinearGlobalAveragePool", [1, 5, 7, 6]),
         "QLinearSigmoid": of_one("QLinearSigmoid", [3, 50]),
         "QLinearLeakyRelu": of_one("QLinearLeakyRelu", [3, 50], alpha=0.1),
         "QLinearAveragePool": of_one("QLinearAveragePool", [1, 3, 8, 8], kernel_shape=[3, 3], strides=[2, 2]),
         "QLinearConcat": qlinear_concat, "QGemm": qgemm, "DynamicQuantizeMatMul": dynamic,
         "dynamic_conv": dynamic_conv, "MatMulIntegerToFloat": to_float,
         "conv": conv, "depthwise": depthwise, "gemm": gemm, "matmul": matmul, "gemm_to_float": gemm_to_float,
         "matmul_to_float": matmul_to_float, "add": pair("Add"), "mul": pair("Mul"),
         "mean": mean, "pool": pool, "moves": moves, "concat": concat, "residual": residual}


def by_ort(path, feeds):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"]).run(None, feeds)[0]


def by_hone(path, feeds, output, folder):
    arguments = []
    for name, value in feeds.items():
        file = os.path.join(folder, f"in_{name}.npy")
        np.save(file, value)
        arguments += ["--input", f"{name}={file}"]
    subprocess.run([HONE, "run", path, "--quiet", "--level", "0", "--output-dir", folder] + arguments, check=True,
                   stdout=subprocess.DEVNULL)
    return np.load(os.path.join(folder, output + ".npy"))


def defined(path, feeds, output, folder):
    """What the operators' definitions make of the inputs that by_hone() wrote."""
    peer_bytes.by_reference(path, [f"{name}={os.path.join(folder, f'in_{name}.npy')}" for name in feeds], folder)
    return np.load(os.path.join(folder, output + ".npy"))


def is_off(got, want):
    """Bytes are equal; floats are, but for a multiplication and addition at once."""
    if want.dtype != np.float32:
        return got.tobytes() != want.tobytes()
    return not np.linalg.norm(got - want) <= 1e-6 * np.linalg.norm(want)


def check(name, seed, folder):
    """What is wrong, or None."""
    random = np.random.default_rng(seed)
    net = Net(random)
    model = net.model(CASES[name](net))
    path, emitted = os.path.join(folder, f"{name}_{seed}.onnx"), os.path.join(folder, f"{name}_{seed}_emitted.onnx")
    onnx.save(model, path)
    feeds = {i.name: (random.standard_normal([d.dim_value for d in i.type.tensor_type.shape.dim]) *
                      random.choice([1, 20])).astype(np.float32) for i in model.graph.input}
    want = by_ort(path, feeds)
    got = by_hone(path, feeds, model.graph.output[0].name, folder)
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"{got.dtype} {got.shape}, not {want.dtype} {want.shape}"
    if is_off(got, want) and peer_bytes.SATURATES:
        want = defined(path, feeds, model.graph.output[0].name, folder)
    if is_off(got, want):
        return f"{np.count_nonzero(got != want)} of {want.size} differ"
    subprocess.run([HONE, "passes", path, "--quiet", "--emit", emitted], check=True, stdout=subprocess.DEVNULL)
    again = by_ort(emitted, feeds)
    return f"emitted: {np.count_nonzero(again != want)} differ" if is_off(again, want) else None


def transposed_model(random, side, bias):
    """Two convolutions around a transposed one whose kernel is its stride, joined to what was before it."""
    def held(name, *shape):
        return numpy_helper.from_array((random.standard_normal(shape) / np.sqrt(shape[-3])).astype(np.float32), name)
    weights = [held("w", 20, 6, 3, 3), held("t", 20, 12, side, side), held("l", 7, 12, 1, 1)]
    weights += [numpy_helper.from_array(random.standard_normal(12).astype(np.float32), "b")] if bias else []
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], "first", pads=[1] * 4), helper.make_node("Relu", ["c"], ["r"]),
             helper.make_node("ConvTranspose", ["r", "t"] + ["b"] * bias, ["u"], "up", strides=[side] * 2),
             helper.make_node("Relu", ["u"], ["v"]), helper.make_node("Conv", ["v", "l"], ["y"], "last")]
    values = [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 6, 5, 9)),
              helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, 7, 5 * side, 9 * side))]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def check_transposed(seed, folder):
    """`hone quantize` makes a convolution and a shuffle of it, in 8 bits, which both runtimes compute alike."""
    random = np.random.default_rng(seed)
    model = transposed_model(random, 2 + seed % 2, seed % 4 < 2)
    path, quantised, data = (os.path.join(folder, name) for name in ("up.onnx", "up_int8.onnx", "up.npy"))
    onnx.save(model, path)
    samples = random.standard_normal((8, 6, 5, 9)).astype(np.float32)
    np.save(data, samples)
    done = subprocess.run([HONE, "quantize", path, "--calib", data, "-o", quantised], check=True, capture_output=True, text=True)
    ops = [node.op_type for node in onnx.load(quantised).graph.node]
    if "3 of 3 layers" not in done.stdout or "DepthToSpace" not in ops or "ConvTranspose" in ops:
        return f"{ops}: {done.stdout}"
    feeds = {"x": samples[:1]}
    want, bytes_want = by_ort(path, feeds), by_ort(quantised, feeds)
    got = by_hone(quantised, feeds, "y", folder)
    if is_off(got, bytes_want) and peer_bytes.SATURATES:
        bytes_want = defined(quantised, feeds, "y", folder)
    if is_off(got, bytes_want):
        return "it differs from ONNX Runtime"
    apart = np.linalg.norm(got - want) / np.linalg.norm(want)
    return f"it is {apart} from f32" if apart > 0.05 else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--only", help="one case")
    parser.add_argument("--keep", help="a folder for the models")
    options = parser.parse_args()
    failed = count = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in [options.only] if options.only else [*CASES, "transposed"]:
            for seed in range(options.rounds):
                keep = options.keep or folder
                wrong = check_transposed(seed, keep) if name == "transposed" else check(name, seed, keep)
                count += 1
                if wrong:
                    failed += 1
                    print(f"{name} {seed}: {wrong}")
    print(f"{count - failed} of {count} models are right")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
