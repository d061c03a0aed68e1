#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""recurrent.py - recurrent layers as exporters write them when they do not write LSTM or GRU, against ONNX Runtime.

    python3 tests/models/recurrent.py [--keep DIR]

Cells unrolled over a sequence (two Gemms and a Split, PyTorch; MatMuls of x and h and slices; one MatMul of the joined
input and state, TensorFlow; a layer for each gate) and bodies of Scan and Loop. For each: hone's outputs against ONNX
Runtime's, and the layers that hone must name."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

HONE = os.environ.get("HONE_BIN", "hone")


class Graph:
    """Nodes, initializers and names of a graph in the making."""

    def __init__(self, seed):
        self.nodes, self.constants, self.random, self.count = [], {}, np.random.default_rng(seed), 0

    def const(self, name, value):
        if name not in self.constants:
            self.constants[name] = np.asarray(value)
        return name

    def weights(self, name, *shape):
        return self.const(name, (self.random.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)
                          if name not in self.constants else self.constants[name])

    def ints(self, *values):
        return self.const("ints_" + "_".join(map(str, values)).replace("-", "m"), np.array(values, np.int64))

    def op(self, kind, *inputs, outs=1, **attrs):
        self.count += 1
        names = [f"{kind.lower()}_{self.count}" + (f"_{i}" if outs > 1 else "") for i in range(outs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, **attrs))
        return names[0] if outs == 1 else names

    def make(self, name, inputs, outputs):
        return helper.make_graph(
            self.nodes, name,
            [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in inputs.items()],
            [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in outputs.items()],
            [numpy_helper.from_array(value, key) for key, value in self.constants.items()])

    def model(self, name, inputs, outputs):
        return helper.make_model(self.make(name, inputs, outputs), opset_imports=[helper.make_opsetid("", 17)],
                                 ir_version=8)


# ---- cells: (graph, prefix, x, h, c, input, hidden) -> (h, c) ----

def lstm_end(g, i, f, c_new, o, c):
    c = g.op("Add", g.op("Mul", f, c), g.op("Mul", i, c_new))
    return g.op("Mul", o, g.op("Tanh", c)), c


def torch_sum(g, p, x, h, size, hidden, gates):
    first = g.op("Gemm", x, g.weights(p + "w_ih", gates * hidden, size), g.weights(p + "b_ih", gates * hidden), transB=1)
    second = g.op("Gemm", h, g.weights(p + "w_hh", gates * hidden, hidden), g.weights(p + "b_hh", gates * hidden),
                  transB=1)
    return first, second


def torch_lstm(g, p, x, h, c, size, hidden):
    first, second = torch_sum(g, p, x, h, size, hidden, 4)
    i, f, c_new, o = g.op("Split", g.op("Add", first, second), outs=4, axis=1)
    return lstm_end(g, g.op("Sigmoid", i), g.op("Sigmoid", f), g.op("Tanh", c_new), g.op("Sigmoid", o), c)


def keras_lstm(g, p, x, h, c, size, hidden):
    """Two products, a bias, and slices."""
    z = g.op("Add", g.op("MatMul", x, g.weights(p + "kernel", size, 4 * hidden)),
             g.op("MatMul", h, g.weights(p + "recurrent", hidden, 4 * hidden)))
    z = g.op("Add", z, g.weights(p + "bias", 4 * hidden))
    i, f, c_new, o = (g.op("Slice", z, g.ints(k * hidden), g.ints((k + 1) * hidden), g.ints(1)) for k in range(4))
    return lstm_end(g, g.op("Sigmoid", i), g.op("Sigmoid", f), g.op("Tanh", c_new), g.op("Sigmoid", o), c)


def joined_lstm(g, p, x, h, c, size, hidden):
    """TensorFlow's LSTMCell: one product of the joined input and state; i, c, f, o."""
    z = g.op("MatMul", g.op("Concat", x, h, axis=1), g.weights(p + "kernel", size + hidden, 4 * hidden))
    z = g.op("Add", z, g.weights(p + "bias", 4 * hidden))
    i, c_new, f, o = g.op("Split", z, outs=4, axis=1)
    return lstm_end(g, g.op("Sigmoid", i), g.op("Sigmoid", f), g.op("Tanh", c_new), g.op("Sigmoid", o), c)


def basic_lstm(g, p, x, h, c, size, hidden):
    """TensorFlow's BasicLSTMCell: 1 is added to the forget gate."""
    z = g.op("MatMul", g.op("Concat", x, h, axis=1), g.weights(p + "kernel", size + hidden, 4 * hidden))
    i, c_new, f, o = g.op("Split", g.op("Add", z, g.weights(p + "bias", 4 * hidden)), outs=4, axis=1)
    f = g.op("Add", f, g.const("forget", np.float32(1)))
    return lstm_end(g, g.op("Sigmoid", i), g.op("Sigmoid", f), g.op("Tanh", c_new), g.op("Sigmoid", o), c)


def gates_lstm(g, p, x, h, c, size, hidden):
    """A layer for each gate."""
    def gate(name, act):
        first, second = torch_sum(g, p + name, x, h, size, hidden, 1)
        return g.op(act, g.op("Add", first, second))
    return lstm_end(g, gate("i", "Sigmoid"), gate("f", "Sigmoid"), gate("c", "Tanh"), gate("o", "Sigmoid"), c)


def torch_gru(g, p, x, h, c, size, hidden):
    first, second = torch_sum(g, p, x, h, size, hidden, 3)
    xr, xz, xn = g.op("Split", first, outs=3, axis=1)
    hr, hz, hn = g.op("Split", second, outs=3, axis=1)
    r, z = g.op("Sigmoid", g.op("Add", hr, xr)), g.op("Sigmoid", g.op("Add", hz, xz))
    n = g.op("Tanh", g.op("Add", xn, g.op("Mul", hn, r)))
    return g.op("Add", g.op("Mul", g.op("Sub", h, n), z), n), c


def keras_gru(g, p, x, h, c, size, hidden):
    """z, r, h with reset_after."""
    first = g.op("Add", g.op("MatMul", x, g.weights(p + "kernel", size, 3 * hidden)), g.weights(p + "b0", 3 * hidden))
    second = g.op("Add", g.op("MatMul", h, g.weights(p + "recurrent", hidden, 3 * hidden)),
                  g.weights(p + "b1", 3 * hidden))
    xz, xr, xh = g.op("Split", first, outs=3, axis=1)
    hz, hr, hh = g.op("Split", second, outs=3, axis=1)
    z, r = g.op("Sigmoid", g.op("Add", xz, hz)), g.op("Sigmoid", g.op("Add", xr, hr))
    n = g.op("Tanh", g.op("Add", xh, g.op("Mul", r, hh)))
    one = g.const("one", np.float32(1))
    return g.op("Add", g.op("Mul", z, h), g.op("Mul", g.op("Sub", one, z), n)), c


def gates_gru(g, p, x, h, c, size, hidden):
    def both(name):
        return torch_sum(g, p + name, x, h, size, hidden, 1)
    r, z = g.op("Sigmoid", g.op("Add", *both("r"))), g.op("Sigmoid", g.op("Add", *both("z")))
    first, second = both("n")
    n = g.op("Tanh", g.op("Add", first, g.op("Mul", r, second)))
    one = g.const("one", np.float32(1))
    return g.op("Add", g.op("Mul", g.op("Sub", one, z), n), g.op("Mul", z, h)), c


# ---- sequences ----

def take(g, how, x, t, time):
    """Step t of x: [time, batch, size], or [batch, time, size] for "batch"."""
    if how == "gather":
        return g.op("Gather", x, g.const(f"at_{t}", np.int64(t)), axis=0)
    if how == "batch":
        return g.op("Gather", x, g.const(f"at_{t}", np.int64(t)), axis=1)
    if how == "slice":
        return g.op("Squeeze", g.op("Slice", x, g.ints(t), g.ints(t + 1), g.ints(0)), g.ints(0))
    if t == 0:
        g.parts = g.op("Split", x, outs=time, axis=0)
    return g.op("Squeeze", g.parts[t], g.ints(0))


def stack(g, how, states):
    axis = 1 if how == "batch" else 0
    return g.op("Concat", *(g.op("Unsqueeze", h, g.ints(axis)) for h in states), axis=axis)


def unrolled(cell, how, time, batch, size, hidden, layers=1, zeros=False, stacked=True):
    g = Graph(time + size)
    shape = [batch, time, size] if how == "batch" else [time, batch, size]
    inputs, outputs = {"x": shape}, {}
    steps = [take(g, how, "x", t, time) for t in range(time)]
    for layer in range(layers):
        h, c = f"h{layer}", f"c{layer}"
        if zeros:
            h = c = g.const("zeros", np.zeros((batch, hidden), np.float32))
        else:
            inputs[h] = [batch, hidden]
            if cell not in GRUS:
                inputs[c] = [batch, hidden]
        for t in range(time):
            steps[t], c = h, c = cell(g, f"l{layer}_", steps[t], h, c, size if layer == 0 else hidden, hidden)
        outputs[h] = [batch, hidden]
    if stacked:
        outputs[stack(g, how, steps)] = [batch, time, hidden] if how == "batch" else [time, batch, hidden]
    return g.model(cell.__name__, inputs, outputs)


def projected(kind, how, time, batch, size, hidden):
    """A layer as PyTorch's decompositions leave it: the inputs' product first, then steps on [1, batch, hidden]."""
    gates = 4 if kind == "lstm" else 3
    g = Graph(time)
    whole = g.op("Add", g.op("MatMul", "x", g.weights("w_ih", size, gates * hidden)), g.weights("b_ih", gates * hidden))
    h, steps = g.op("Unsqueeze", "h0", g.ints(0)), []
    c = g.op("Unsqueeze", "c0", g.ints(0)) if kind == "lstm" else None
    for t in range(time):
        product = take(g, how, whole, t, time)
        state = g.op("Add", g.op("MatMul", h, g.weights("w_hh", hidden, gates * hidden)), g.weights("b_hh", gates * hidden))
        if kind == "lstm":
            i, f, c_new, o = g.op("Split", g.op("Add", state, product), outs=4, axis=2)
            h, c = lstm_end(g, g.op("Sigmoid", i), g.op("Sigmoid", f), g.op("Tanh", c_new), g.op("Sigmoid", o), c)
        else:
            xr, xz, xn = g.op("Split", g.op("Unsqueeze", product, g.ints(0)), outs=3, axis=2)
            hr, hz, hn = g.op("Split", state, outs=3, axis=2)
            r, z = g.op("Sigmoid", g.op("Add", hr, xr)), g.op("Sigmoid", g.op("Add", hz, xz))
            n = g.op("Tanh", g.op("Add", xn, g.op("Mul", hn, r)))
            h = g.op("Add", g.op("Mul", g.op("Sub", h, n), z), n)
        steps.append(h)
    inputs = {"x": [time, batch, size], "h0": [batch, hidden]}
    if kind == "lstm":
        inputs["c0"] = [batch, hidden]
    return g.model("projected_" + kind, inputs, {g.op("Concat", *steps, axis=0): [time, batch, hidden],
                                                h: [1, batch, hidden]})


def scan(cell, time, batch, size, hidden, reverse=False):
    body = Graph(size)
    h, c = cell(body, "", "xt", "h", "c", size, hidden)
    body.nodes.append(helper.make_node("Identity", [h], ["yt"]))
    state = {"h": [batch, hidden]} if cell in GRUS else {"h": [batch, hidden], "c": [batch, hidden]}
    results = [h] if cell in GRUS else [h, c]
    weights, body.constants = body.constants, {}
    inner = body.make("body", {**state, "xt": [batch, size]}, {**{r: [batch, hidden] for r in results}, "yt": [batch, hidden]})
    g = Graph(0)
    g.constants = weights
    given = [f"{name}0" for name in state]
    outs = [f"{name}_last" for name in state] + ["y"]
    more = {"scan_input_directions": [1], "scan_output_directions": [1]} if reverse else {}
    g.nodes.append(helper.make_node("Scan", given + ["x"], outs, body=inner, num_scan_inputs=1, **more))
    return g.model("scan_" + cell.__name__, {**{n: [batch, hidden] for n in given}, "x": [time, batch, size]},
                   {**{n: [batch, hidden] for n in outs[:-1]}, "y": [time, batch, hidden]})


def loop(cell, time, batch, size, hidden):
    body = Graph(size)
    xt = body.op("Gather", "x", "i", axis=0)
    h, c = cell(body, "", xt, "h", "c", size, hidden)
    body.nodes.append(helper.make_node("Identity", [h], ["yt"]))
    body.nodes.append(helper.make_node("Identity", ["cond"], ["cond_out"]))
    names = ["h"] if cell in GRUS else ["h", "c"]
    results = [h] if cell in GRUS else [h, c]
    info = lambda n, s, t=TensorProto.FLOAT: helper.make_tensor_value_info(n, t, s)
    weights, body.constants = body.constants, {}
    inner = helper.make_graph(
        body.nodes, "body",
        [info("i", [], TensorProto.INT64), info("cond", [], TensorProto.BOOL)] + [info(n, [batch, hidden]) for n in names],
        [info("cond_out", [], TensorProto.BOOL)] + [info(r, [batch, hidden]) for r in results] + [info("yt", [batch, hidden])])
    g = Graph(0)
    g.constants = weights
    g.const("trips", np.int64(time))
    g.const("true", np.bool_(True))
    given = [f"{n}0" for n in names]
    outs = [f"{n}_last" for n in names] + ["y"]
    g.nodes.append(helper.make_node("Loop", ["trips", "true"] + given, outs, body=inner))
    return g.model("loop_" + cell.__name__, {**{n: [batch, hidden] for n in given}, "x": [time, batch, size]},
                   {**{n: [batch, hidden] for n in outs[:-1]}, "y": [time, batch, hidden]})


GRUS = (torch_gru, keras_gru, gates_gru)
LSTM1, LSTM2, GRU1 = {"lstm": 1}, {"lstm": 2}, {"gru": 1}


def cases():
    """Name, model, the layers that hone must name and how many of them."""
    yield "torch_lstm", unrolled(torch_lstm, "gather", 9, 2, 20, 24), LSTM1
    yield "torch_lstm_square", unrolled(torch_lstm, "slice", 6, 1, 32, 32), LSTM1
    yield "torch_lstm_batch", unrolled(torch_lstm, "batch", 7, 3, 16, 24), LSTM1
    yield "torch_lstm_batch_of_one", unrolled(torch_lstm, "batch", 7, 1, 16, 24), LSTM1
    yield "torch_lstm_layers", unrolled(torch_lstm, "split", 6, 2, 24, 24, layers=2), LSTM2
    yield "torch_lstm_last", unrolled(torch_lstm, "gather", 6, 2, 12, 24, stacked=False), LSTM1
    yield "torch_lstm_zeros", unrolled(torch_lstm, "gather", 6, 1, 12, 24, zeros=True), {"lstm": 1, "concat": 1}  # the first state's product is folded
    yield "keras_lstm", unrolled(keras_lstm, "batch", 5, 1, 16, 32), LSTM1
    yield "joined_lstm", unrolled(joined_lstm, "slice", 5, 2, 16, 32), LSTM1
    yield "basic_lstm", unrolled(basic_lstm, "slice", 5, 2, 16, 32), LSTM1
    yield "gates_lstm", unrolled(gates_lstm, "gather", 5, 2, 16, 32), LSTM1
    yield "torch_gru", unrolled(torch_gru, "gather", 9, 2, 20, 24), GRU1
    yield "torch_gru_layers", unrolled(torch_gru, "batch", 5, 2, 20, 24, layers=2), {"gru": 2}
    yield "keras_gru", unrolled(keras_gru, "slice", 5, 1, 16, 32), GRU1
    yield "gates_gru", unrolled(gates_gru, "gather", 5, 1, 16, 32), GRU1
    yield "projected_lstm", projected("lstm", "split", 6, 2, 20, 24), LSTM1
    yield "projected_lstm_gather", projected("lstm", "gather", 6, 1, 24, 24), LSTM1
    yield "projected_gru", projected("gru", "split", 6, 2, 20, 24), GRU1
    yield "scan_torch_lstm", scan(torch_lstm, 8, 2, 16, 24), LSTM1
    yield "scan_joined_lstm", scan(joined_lstm, 8, 1, 16, 24, reverse=True), LSTM1
    yield "scan_torch_gru", scan(torch_gru, 8, 2, 16, 24), GRU1
    yield "loop_torch_lstm", loop(torch_lstm, 8, 2, 16, 24), LSTM1
    yield "loop_keras_gru", loop(keras_gru, 8, 1, 16, 24), GRU1


def run_hone(path, feeds, folder):
    arguments = []
    for name, value in feeds.items():
        file = os.path.join(folder, name + ".npy")
        np.save(file, value)
        arguments += ["--input", f"{name}={file}"]
    subprocess.run([HONE, "run", path, "--quiet", "--level", "1", "--output-dir", folder] + arguments, check=True,
                   stdout=subprocess.DEVNULL)


def count_layers(path):
    """Operators after the passes, bodies included; zeros are left out."""
    text = subprocess.run([HONE, "passes", path, "--quiet"], check=True, capture_output=True, text=True).stdout
    counts = {op: text.count(f" = {op}(") for op in ("lstm", "gru", "scan", "loop", "concat")}
    return {op: count for op, count in counts.items() if count}


def check(name, model, want, where, folder):
    """What is wrong with it, or None."""
    path = os.path.join(where, name + ".onnx")
    onnx.checker.check_model(model)
    onnx.save(model, path)
    found = count_layers(path)
    if found != want:
        return f"hone names {found}, not {want}"
    random = np.random.default_rng(len(name))
    feeds = {i.name: random.standard_normal([d.dim_value for d in i.type.tensor_type.shape.dim]).astype(np.float32)
             for i in model.graph.input}
    wanted = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, feeds)
    run_hone(path, feeds, folder)
    for output, value in zip(model.graph.output, wanted):
        got = np.load(os.path.join(folder, output.name + ".npy"))
        error = np.linalg.norm(got - value) / max(np.linalg.norm(value), 1e-30)
        if got.shape != value.shape or not error <= 1e-5:
            return f"{output.name} {got.shape} is {error:.1e} from {value.shape}"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--keep", help="a folder for the models")
    options = parser.parse_args()
    failed = count = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, model, want in cases():
            wrong = check(name, model, want, options.keep or folder, folder)
            count += 1
            if wrong:
                failed += 1
                print(f"{name}: {wrong}")
    print(f"{count - failed} of {count} models are right")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
