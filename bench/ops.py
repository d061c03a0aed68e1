#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ops.py - single operators against ONNX Runtime, one thread, in turns in one process: the least time of each.

usage: [taskset -c 0] python3 bench/ops.py [--only PART] [--seconds S] [--priority P] [--reference]
"""
import argparse
import os
import re
import subprocess
import tempfile
import time

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import hone_api

RANDOM = np.random.default_rng(0)
TYPES = {"float32": TensorProto.FLOAT, "int64": TensorProto.INT64, "bool": TensorProto.BOOL}


def floats(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


class Constant:
    def __init__(self, value, dtype=None):
        self.value = np.asarray(value, dtype)


def case(label, op, inputs, outs=1, opset=20, **attrs):
    return label, op, inputs, outs, opset, attrs


def decode(label, heads, kv_heads, keys, size, rows=1):
    fresh = [floats(1, kv_heads, rows, size) for _ in range(2)]
    past = [floats(1, kv_heads, keys - rows, size) for _ in range(2)]
    return case(label, "Attention", [floats(1, heads, rows, size), *fresh, None, *past], 3, 23, is_causal=1)


def attention(label, heads, rows, keys, size, mask=None, **attrs):
    inputs = [floats(1, heads, rows, size), floats(1, heads, keys, size), floats(1, heads, keys, size)]
    return case(label, "Attention", inputs + ([] if mask is None else [mask]), 1, 23, **attrs)


def grid(*shape):
    return (RANDOM.random(shape) * 2 - 1).astype(np.float32)


def boxes(count):
    corners = RANDOM.random((1, count, 4)).astype(np.float32)
    corners[..., 2:] = corners[..., :2] + corners[..., 2:] * 0.2
    return corners


def regions(count, side):
    corners = RANDOM.random((count, 2)) * side * 0.6
    return np.concatenate([corners, corners + RANDOM.random((count, 2)) * side * 0.4], 1).astype(np.float32)


def trees(label, rows, count, depth, features=20):
    """Trees as boosting grows them: full above, of the last levels a quarter missing."""
    nodes, leaves = [], []

    def grow(tree, number, level):
        """Returns the next free number."""
        if level == depth or (level > depth - 3 and RANDOM.random() < 0.25):
            nodes.append((tree, number, 0, 0.0, "LEAF", 0, 0))
            leaves.append((tree, number, 0, float(RANDOM.standard_normal())))
            return number + 1
        at = len(nodes)
        nodes.append(None)
        other = grow(tree, number + 1, level + 1)
        nodes[at] = (tree, number, int(RANDOM.integers(features)), float(RANDOM.standard_normal() * 0.5), "BRANCH_LEQ",
                     number + 1, other)
        return grow(tree, other, level + 1)

    for tree in range(count):
        grow(tree, 0, 0)
    names = ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids")
    attrs = {f"nodes_{name}": list(column) for name, column in zip(names, zip(*nodes))}
    attrs |= {f"target_{name}": list(column) for name, column in zip(("treeids", "nodeids", "ids", "weights"), zip(*leaves))}
    return case(label, "ai.onnx.ml:TreeEnsembleRegressor", [floats(rows, features)], n_targets=1, **attrs)


def cases():
    window = np.hanning(512).astype(np.float32)
    yield decode("attention, 1 row, 12 heads, cache 1024 x 64", 12, 12, 1024, 64)
    yield decode("attention, 1 row, 32 heads on 8, cache 2048 x 128", 32, 8, 2048, 128)
    yield decode("attention, 16 rows, 12 heads, cache 1024 x 64", 12, 12, 1024, 64, 16)
    yield decode("attention, 256 rows behind a cache of 256, 12 x 64", 12, 12, 512, 64, 256)
    yield attention("attention, 12 x 197 x 64", 12, 197, 197, 64)
    yield attention("attention, 12 x 256 x 64, bool mask", 12, 256, 256, 64, np.tril(np.ones((256, 256), bool)))
    yield attention("attention, 8 x 128 x 40, soft cap", 8, 128, 128, 40, softcap=20.0)
    angles = [floats(1, 512, 32), floats(1, 512, 32)]
    yield case("rotary embedding, 12 x 512 x 64", "RotaryEmbedding", [floats(1, 12, 512, 64), *angles], opset=23)
    for mode, channels, side in (("linear", 64, 56), ("linear", 3, 224), ("cubic", 16, 64), ("nearest", 64, 56)):
        yield case(f"grid sample, {mode}, {channels} x {side} x {side}", "GridSample",
                   [floats(1, channels, side, side), grid(1, side, side, 2)], mode=mode)
    yield case("einsum bhid,bhjd->bhij, 8 x 128 x 64", "Einsum", [floats(1, 8, 128, 64), floats(1, 8, 128, 64)],
               equation="bhid,bhjd->bhij")
    yield case("einsum nctkv,kvw->nctw, 64 x 50 x 3 x 25", "Einsum", [floats(1, 64, 50, 3, 25), floats(3, 25, 25)],
               equation="nctkv,kvw->nctw")
    yield case("max pool 3-D, 32 x 16 x 56 x 56, 3 step 2", "MaxPool", [floats(1, 32, 16, 56, 56)],
               kernel_shape=[3, 3, 3], strides=[2, 2, 2], pads=[1] * 6)
    yield case("conv transpose 3-D, 32 x 8 x 16 x 16, 2 step 2", "ConvTranspose",
               [floats(1, 32, 8, 16, 16), Constant(floats(32, 16, 2, 2, 2))], strides=[2, 2, 2])
    yield case("resize 3-D, linear, 16 x 16 x 32 x 32 by 2", "Resize",
               [floats(1, 16, 16, 32, 32), None, Constant([1, 1, 2, 2, 2], np.float32)], mode="linear")
    yield case("reduce sum of i64, 1000 x 512", "ReduceSum", [RANDOM.integers(0, 9, (1000, 512)), Constant([1])])
    yield case("reduce mean, 8 x 64 x 56 x 56, axes 0 2 3", "ReduceMean",
               [floats(8, 64, 56, 56), Constant([0, 2, 3])])
    yield case("reduce log sum exp, 512 x 1000", "ReduceLogSumExp", [floats(512, 1000), Constant([1])])
    yield case("reverse sequence, 100 x 8 x 256", "ReverseSequence",
               [floats(100, 8, 256), np.array([100, 50, 20, 90, 10, 100, 70, 1])])
    yield case("STFT, 16000 samples, frames of 512 step 256", "STFT",
               [floats(1, 16000, 1), Constant(256), Constant(window), Constant(512)])
    yield case("non-max suppression, 3000 boxes, best 100", "NonMaxSuppression",
               [boxes(3000), RANDOM.random((1, 1, 3000)).astype(np.float32), Constant([100]),
                Constant([0.5], np.float32), Constant([0.05], np.float32)])
    yield case("non zero, 100 x 1000 bools", "NonZero", [RANDOM.random((100, 1000)) > 0.5])
    yield case("compress, 1000 x 128", "Compress", [floats(1000, 128), RANDOM.random(1000) > 0.5], axis=0)
    for channels, side, outs in ((64, 56, 64), (256, 28, 256)):
        yield case(f"deformable conv, {channels} x {side} x {side}, 3 x 3, mask", "DeformConv",
                   [floats(1, channels, side, side), Constant(floats(outs, channels, 3, 3) * 0.05),
                    floats(1, 18, side, side), Constant(floats(outs)), RANDOM.random((1, 9, side, side)).astype(np.float32)],
                   opset=22, pads=[1] * 4)
    for mode, ratio in (("avg", 2), ("avg", 0), ("max", 2)):
        yield case(f"roi align, {mode}, 100 of 256 x 50 x 50 to 7 x 7, {ratio or 'own'} samples", "RoiAlign",
                   [floats(1, 256, 50, 50), regions(100, 800), np.zeros(100, np.int64)], opset=16, mode=mode,
                   output_height=7, output_width=7, sampling_ratio=ratio, spatial_scale=1 / 16)
    yield case("unique, 100000 ids below 50000", "Unique", [RANDOM.integers(0, 50000, 100000)], 4, 11)
    yield case("unique, 100000 reals", "Unique", [floats(100000)], 1, 11)
    yield case("unique, 20000 rows of 3", "Unique", [RANDOM.integers(0, 20, (20000, 3))], 3, 11, axis=0)
    yield case("col2im, 64 x 56 x 56 of 3 x 3", "Col2Im", [floats(1, 576, 3136), Constant([56, 56]), Constant([3, 3])],
               pads=[1] * 4)
    yield case("col2im, 3 x 224 x 224 of 16 x 16 patches", "Col2Im",
               [floats(1, 768, 196), Constant([224, 224]), Constant([16, 16])], strides=[16, 16])
    yield case("affine grid, 8 x 224 x 224", "AffineGrid", [floats(8, 2, 3), Constant([8, 3, 224, 224])])
    yield case("affine grid, 32 x 64 x 64", "AffineGrid", [floats(1, 3, 4), Constant([1, 1, 32, 64, 64])])
    yield case("max pool with indices, 64 x 112 x 112, 2 step 2", "MaxPool", [floats(1, 64, 112, 112)], 2,
               kernel_shape=[2, 2], strides=[2, 2])
    yield case("max pool with indices, 64 x 56 x 56, 3 step 1", "MaxPool", [floats(1, 64, 56, 56)], 2,
               kernel_shape=[3, 3], pads=[1] * 4)
    for rows in (1, 1000):
        yield trees(f"100 trees of depth 8, {rows} row{'s' * (rows > 1)}", rows, 100, 8)
        yield trees(f"1000 trees of depth 6, {rows} row{'s' * (rows > 1)}", rows, 1000, 6)


def make_model(one, path):
    _, op, inputs, outs, opset, attrs = one
    names, constants, ports, feeds = [], [], [], {}
    for i, value in enumerate(inputs):
        names.append("" if value is None else f"x{i}")
        if isinstance(value, Constant):
            constants.append(numpy_helper.from_array(value.value, names[-1]))
        elif value is not None:
            ports.append(helper.make_tensor_value_info(names[-1], TYPES[value.dtype.name], value.shape))
            feeds[names[-1]] = value
    results = [f"y{i}" for i in range(outs)]
    domain, op = op.split(":") if ":" in op else ("", op)
    node = helper.make_node(op, names, results, domain=domain, **attrs)
    graph = helper.make_graph([node], "g", ports, [helper.make_empty_tensor_value_info(r) for r in results], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid("ai.onnx.ml", 3)],
                              ir_version=10)
    onnx.save(onnx.shape_inference.infer_shapes(model), path)
    return feeds, results


def build(model, engine, reference):
    command = [hone_api.TOOL, "build", model, "-o", engine, "--threads", "1", "--level", "2", "--quiet"]
    subprocess.run(command + (["--reference"] if reference else []), check=True, capture_output=True)
    return sorted(set(re.findall(r"\b(?:cpu|ref)\.[a-z0-9_.]+",
                                 subprocess.run([hone_api.TOOL, "show", engine], capture_output=True, text=True).stdout)))


def least(runs, seconds, priority=0):
    """The least time of each run, taking turns; building the engines is left to ordinary priority."""
    if priority:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(priority))
    best, end = [float("inf")] * len(runs), time.perf_counter() + seconds
    while time.perf_counter() < end:
        for k, run in enumerate(runs):
            stop = time.perf_counter() + 0.02
            for _ in range(20):
                begin = time.perf_counter()
                run()
                now = time.perf_counter()
                best[k] = min(best[k], now - begin)
                if now > stop:
                    break
    if priority:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    return best


def error_of(got, want):
    worst = 0.0
    for a, b in zip(got, want):
        if a.shape != b.shape:
            return float("nan")
        a, b = a.astype(np.float64), b.astype(np.float64)
        worst = max(worst, float(np.linalg.norm((a - b).ravel()) / (np.linalg.norm(b.ravel()) + 1e-30)))
    return worst


def measure(one, options, folder):
    model, engine = os.path.join(folder, "m.onnx"), os.path.join(folder, "m.hone")
    feeds, results = make_model(one, model)
    slow = None
    if options.reference:
        build(model, engine, True)
        reference = hone_api.Hone(engine, 1)
        reference.bind(feeds)
        slow = least([reference.run], 0.1, options.priority)[0]
    tactics = build(model, engine, False)
    hone = hone_api.Hone(engine, 1)
    hone.bind(feeds)
    session_options = onnxruntime.SessionOptions()
    session_options.intra_op_num_threads = session_options.inter_op_num_threads = 1
    session_options.log_severity_level = 3
    peer = onnxruntime.InferenceSession(model, session_options, providers=["CPUExecutionProvider"])
    binding = peer.io_binding()
    for name, value in feeds.items():
        binding.bind_cpu_input(name, value)
    for name in results:
        binding.bind_output(name, "cpu")
    hone.run()
    got = hone.outputs(results)
    got = [got[name] for name in results] if isinstance(got, dict) else got
    error = error_of(got, peer.run(None, feeds))
    ours, theirs = least([hone.run, lambda: peer.run_with_iobinding(binding)], options.seconds, options.priority)
    before = f" {slow * 1e6:.0f} |" if slow else ""
    print(f"| {one[0]} |{before} {ours * 1e6:.1f} | {theirs * 1e6:.1f} | {ours / theirs:.2f} | {error:.0e} |",
          "" if all(t.startswith("cpu.") for t in tactics) else " ".join(tactics), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="cases whose name holds this")
    parser.add_argument("--seconds", type=float, default=0.3, help="for a case")
    parser.add_argument("--priority", type=int, default=0, help="real-time priority while timing")
    parser.add_argument("--reference", action="store_true", help="the reference's time too")
    options = parser.parse_args()
    print("| operator |" + (" reference us |" if options.reference else "") +
          " hone us | onnxruntime us | ratio | rel. L2 |")
    print("|---|" + ("---|" if options.reference else "") + "---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for one in cases():
            if options.only in one[0]:
                measure(one, options, folder)


if __name__ == "__main__":
    main()
