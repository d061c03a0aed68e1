#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""models - the models of docs/PLUGINS.md, with inputs and what NumPy makes of them, written to the folder that is named.
usage: examples/plugins/models.py [FOLDER]      wants the packages numpy and onnx"""
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSETS = [helper.make_opsetid("", 17), helper.make_opsetid("com.example", 1)]
random = np.random.default_rng(7)


def draw(*shape):
    return random.uniform(-1, 1, shape).astype(np.float32)


def write(path, nodes, inputs, outputs, constants=None):
    constants = [numpy_helper.from_array(value, name) for name, value in (constants or {}).items()]
    graph = helper.make_graph(nodes, path.stem, inputs, outputs, constants)
    onnx.save(helper.make_model(graph, opset_imports=OPSETS, ir_version=8), path)


def floats(name, *dims):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)


def norm(x, scale, bias):
    x = x.astype(np.float64)
    centred = x - x.mean(-1, keepdims=True)
    return (centred / np.sqrt((centred ** 2).mean(-1, keepdims=True) + 1e-5) * scale + bias).astype(np.float32)


def swish(folder):
    """Any number of rows of 16; and swish beside relu in one network."""
    write(folder / "swish.onnx", [helper.make_node("GpuSwish", ["x"], ["y"], "swish", domain="com.example")],
          [floats("x", "rows", 16)], [floats("y", "rows", 16)])
    write(folder / "activations.onnx",
          [helper.make_node("GpuSwish", ["x"], ["s"], "swish", domain="com.example"),
           helper.make_node("Relu", ["x"], ["r"], "relu")],
          [floats("x", 256, 4096)], [floats("s", 256, 4096), floats("r", 256, 4096)])
    for rows in (1, 8, 32):
        x = 6 * draw(rows, 16)
        np.save(folder / f"x_{rows}.npy", x)
        np.save(folder / f"y_{rows}.npy", x / (1 + np.exp(-x)))


def layer_norm(folder):
    x, scale, bias = draw(64, 384), draw(384), draw(384)
    write(folder / "norm.onnx", [helper.make_node("LayerNormalization", ["x", "scale", "bias"], ["y"], "norm")],
          [floats("x", 64, 384)], [floats("y", 64, 384)], {"scale": scale, "bias": bias})
    np.save(folder / "norm_x.npy", x)
    np.save(folder / "norm_y.npy", norm(x, scale, bias))


def embedding(folder):
    table, scale, bias = draw(3000, 256), draw(256), draw(256)
    ids = random.integers(-3000, 3000, (8, 128)).astype(np.int64)
    write(folder / "embedding.onnx",
          [helper.make_node("Gather", ["table", "ids"], ["rows"], "embedding"),
           helper.make_node("LayerNormalization", ["rows", "scale", "bias"], ["y"], "norm")],
          [helper.make_tensor_value_info("ids", TensorProto.INT64, (8, 128))], [floats("y", 8, 128, 256)],
          {"table": table, "scale": scale, "bias": bias})
    np.save(folder / "ids.npy", ids)
    np.save(folder / "rows.npy", norm(table[ids], scale, bias))


def filtered(x, w, bias, stride, scale, b, mean, variance):
    """Depthwise convolution with pads of 1, normalised, and ReLU."""
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
    out = (x.shape[2] + 2 - 3) // stride + 1
    y = np.zeros((x.shape[0], x.shape[1], out, out))
    for i in range(3):
        for k in range(3):
            window = padded[:, :, i:i + stride * (out - 1) + 1:stride, k:k + stride * (out - 1) + 1:stride]
            y += window * w[:, 0, i, k][:, None, None]
    y = (y + bias[:, None, None] - mean[:, None, None]) / np.sqrt(variance[:, None, None] + 1e-5)
    return np.maximum(y * scale[:, None, None] + b[:, None, None], 0).astype(np.float32)


def depthwise(folder):
    """Two blocks, the second with a bias and a stride of 2; and between them a convolution that is not depthwise."""
    x, nodes, constants = draw(2, 16, 28, 28), [], {}
    y, value = x, "x"
    for number, stride, bias in ((1, 1, None), (2, 2, draw(16))):
        w, moments = draw(16, 1, 3, 3), (draw(16), draw(16), draw(16), np.abs(draw(16)) + np.float32(0.5))
        names = [f"{name}{number}" for name in ("scale", "b", "mean", "variance")]
        constants.update({f"w{number}": w, **dict(zip(names, moments))})
        inputs = [value, f"w{number}"]
        if bias is not None:
            constants[f"bias{number}"] = bias
            inputs.append(f"bias{number}")
        nodes += [helper.make_node("Conv", inputs, [f"c{number}"], f"conv{number}", group=16, pads=[1] * 4, strides=[stride] * 2),
                  helper.make_node("BatchNormalization", [f"c{number}", *names], [f"n{number}"], f"norm{number}"),
                  helper.make_node("Relu", [f"n{number}"], [f"r{number}"], f"relu{number}")]
        y = filtered(y, w, np.zeros(16) if bias is None else bias, stride, *moments)
        value = f"r{number}"
        if number == 1:
            constants["mix"] = draw(16, 16, 1, 1) / 4
            nodes.append(helper.make_node("Conv", [value, "mix"], ["mixed"], "mix"))
            y = np.einsum("nchw,kc->nkhw", y, constants["mix"][:, :, 0, 0]).astype(np.float32)
            value = "mixed"
    write(folder / "depthwise.onnx", nodes, [floats("x", 2, 16, 28, 28)], [floats(value, 2, 16, 14, 14)], constants)
    np.save(folder / "image.npy", x)
    np.save(folder / "image_y.npy", y)


if __name__ == "__main__":
    target = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    for make in (swish, layer_norm, embedding, depthwise):
        make(target)
