#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""prune.py - networks of the zoo and trained ones pruned by `hone prune`: the files are valid ONNX, and ONNX Runtime computes
from the pruned model what it does from the unshrunk one whose removed channels' weights are zero. Two of four weights:
checked in the file.

usage: tests/models/prune.py [--only NAME] [--ratio SHARE]"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

PROJECT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.environ.get("HONE_BIN", os.path.join(PROJECT, "build", "release", "hone"))
DATA = os.environ.get("HONE_TEST_DATA", os.path.join(PROJECT, "..", "shared"))
# Name, and the least share of the FLOPs that 30 % of the channels take with them. Trained ones have real inputs.
ZOO = {"squeezenet1_1": 0.4, "shufflenet_v2": 0.3, "mobilenet_v2": 0.45, "mobilenet_v3_large": 0.45, "efficientnet_b0": 0.4,
       "resnet50": 0.45, "densenet121": 0.4, "facenet": 0.45, "yolo": 0.45, "unet32": 0.45, "encoder6": 0.15}
TRAINED = {"mobilenet_v2_fp32": 0.45, "squeezenet1_1_fp32": 0.4, "ultraface_rfb320": 0.4, "ppocr_det_v3": 0.4,
           "deeplabv3_mnv2_dm05": 0.4, "super_resolution_10": 0.4, "yunet_n_dynamic": 0.3, "cct_cifar_gelu_opset20": 0.05}
BOUND = 1e-4  # relative L2: sums of fewer terms are rounded otherwise, deep networks pass it on


def tool(*arguments):
    done = subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True, timeout=900, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"hone {' '.join(map(str, arguments))}: {done.stderr}")
    return done.stdout


def session(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def inputs(runner, folder):
    """The model's own test data, else seeded noise."""
    feed = {}
    for i, port in enumerate(runner.get_inputs()):
        path = os.path.join(folder or "", "test_data_set_0", f"input_{i}.pb")
        if folder:
            tensor = onnx.TensorProto()
            with open(path, "rb") as file:
                tensor.ParseFromString(file.read())
            feed[port.name] = numpy_helper.to_array(tensor)
        else:
            shape = [extent if isinstance(extent, int) else 1 for extent in port.shape]
            feed[port.name] = np.random.default_rng(i).standard_normal(shape).astype(np.float32)
    return feed


def names(path):
    graph = onnx.load(path).graph
    return {node.name for node in graph.node}, {weight.name: tuple(weight.dims) for weight in graph.initializer}


def compare(model, folder, data, ratio, least):
    pruned, masked = os.path.join(folder, "pruned.onnx"), os.path.join(folder, "masked.onnx")
    told = json.loads(tool("prune", model, "--ratio", ratio, "-o", pruned, "--masked", masked, "--json"))
    problems = []
    for path in (pruned, masked):
        onnx.checker.check_model(path, full_check=True)
    got_session, want_session = session(pruned), session(masked)
    feed = inputs(got_session, data)
    worst = 0.0
    for got, want in zip(got_session.run(None, feed), want_session.run(None, feed)):
        worst = max(worst, np.linalg.norm(got.astype(np.float64) - want) / max(np.linalg.norm(want), 1e-30))
    saved = 1 - told["flops_kept"] / told["flops"]
    if not worst <= BOUND:
        problems.append(f"relative L2 {worst}")
    if ratio == 0.3 and saved < least:
        problems.append(f"{saved:.1%} of the FLOPs saved, want {least:.0%}")
    (nodes, weights), (old_nodes, old_weights) = names(pruned), names(masked)
    shrunk = sum(weights[name] != old_weights.get(name) for name in weights if name in old_weights)
    if not nodes <= old_nodes or shrunk == 0:
        problems.append(f"names: {len(nodes - old_nodes)} nodes are new, {shrunk} weights shrunk")
    return worst, saved, shrunk, problems


def from_hone(path, folder, runner):
    """Relative L2 of hone's outputs, whose kernels pick the weights that are left, from ONNX Runtime's."""
    feed, given = inputs(runner, None), []
    for name, value in feed.items():
        np.save(os.path.join(folder, f"{name}.npy"), value)
        given += ["--input", f"{name}={os.path.join(folder, name)}.npy"]
    tool("run", path, *given, "--level", 0, "--output-dir", os.path.join(folder, "out"))
    port = runner.get_outputs()[0].name
    got, want = np.load(os.path.join(folder, "out", f"{port}.npy")), runner.run([port], feed)[0]
    return np.linalg.norm(got.astype(np.float64) - want) / np.linalg.norm(want)


def two_of_four(model, folder):
    """In the file, without hone's own check, and in hone's kernels."""
    path = os.path.join(folder, "sparse.onnx")
    told = json.loads(tool("prune", model, "--sparsity", "2:4", "-o", path, "--table", "--json"))
    onnx.checker.check_model(path, full_check=True)
    runner, problems = session(path), []
    apart = from_hone(path, folder, runner)
    if not apart <= 1e-5:
        problems.append(f"hone is {apart:.1e} from ONNX Runtime on two of four weights")
    graph = onnx.load(path).graph
    weights = {weight.name: numpy_helper.to_array(weight) for weight in graph.initializer}
    readers = {node.name: node for node in graph.node}
    for layer in told["layers"]:
        node = readers[layer["layer"]]
        if "why" in layer or node.op_type != "Conv":
            continue
        w = weights[node.input[1]]
        fours = np.moveaxis(w, 1, -1).reshape(-1, 4)
        if ((fours != 0).sum(axis=1) > 2).any():
            problems.append(f"{layer['layer']} has more than two of four")
    return told, problems


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only")
    parser.add_argument("--ratio", type=float, default=0.3)
    given = parser.parse_args()
    if not os.path.isdir(os.path.join(DATA, "models")):
        print("no models here: skipped")
        return 77
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, least in {**ZOO, **TRAINED}.items():
            if given.only not in (None, name):
                continue
            data = os.path.join(DATA, "models", name) if name in TRAINED else None
            model = os.path.join(data, "model.onnx") if data else os.path.join(folder, f"{name}.onnx")
            if not data:
                tool("zoo", name, "-o", model)
            worst, saved, shrunk, problems = compare(model, folder, data, given.ratio, least)
            if name in ("mobilenet_v2", "shufflenet_v2", "squeezenet1_1"):
                told, more = two_of_four(model, folder)
                problems += more
                print(f"{name:24} 2:4 in {told['layers_sparse']} layers, magnitude {told['kept_in_order']:.2%} > {told['kept']:.2%}")
            print(f"{name:24} {saved:6.1%} of the FLOPs, {shrunk:3} weights shrunk, relative L2 {worst:.1e}",
                  "; ".join(problems) or "ok", flush=True)
            failed += bool(problems)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
