#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stairs.py - are widths what `hone shrink` says? Layers of a network are cut to the staircase's width nearest to half their
outputs in the ONNX file, with what reads them, the model is quantised where --int8 says so, built and profiled; the layer's
time there stands beside the staircase's. Both are measured in turns, the least of so many counts. Needs numpy and onnx.

    bench/stairs.py resnet50 layer1.1.conv1 layer2.1.conv2 [--int8]

Exit code 1: some layer is more than 10 % away."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper

BAR, BETWEEN = 0.10, ("Relu", "Clip", "BatchNormalization", "Identity")


def hone(args, *words):
    done = subprocess.run([args.hone, *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"hone {' '.join(map(str, words))}: exit code {done.returncode}: {done.stderr[-400:]}")
    return done.stdout


class Cut:
    """The first `width` channels of a layer's output, in a model that is changed where it is."""

    def __init__(self, model, layer, width):
        self.graph, self.width = model.graph, width
        self.constants = {one.name: one for one in self.graph.initializer}
        node = next((one for one in self.graph.node if layer in (one.name, one.output[0])), None)
        if node is None or node.op_type != "Conv":
            sys.exit(f"{layer}: no convolution of the model")
        for name in node.input[1:]:
            self.slice(name, 0)
        self.follow(node.output[0])
        del self.graph.value_info[:]

    def slice(self, name, axis):
        held = self.constants[name]
        held.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(numpy_helper.to_array(held).take(range(self.width), axis)), name))

    def follow(self, name):
        for node in [one for one in self.graph.node if name in one.input]:
            if node.op_type == "Conv":
                group = next((a for a in node.attribute if a.name == "group"), None)
                if group is None or group.i == 1:
                    self.slice(node.input[1], 1)
                    continue
                group.i = self.width
                for port in node.input[1:]:
                    self.slice(port, 0)
            elif node.op_type == "BatchNormalization":
                for port in node.input[1:]:
                    self.slice(port, 0)
            elif node.op_type not in BETWEEN:
                sys.exit(f"{node.name}: a {node.op_type} reads the layer, and cannot be cut")
            self.follow(node.output[0])


def in_engine(args, model, layer, folder):
    """The layer's time in an engine of the model, in us."""
    times = os.path.join(folder, "engine.times")
    engine = os.path.join(folder, "cut.hone")
    hone(args, "build", model, "-o", engine, "--threads", args.threads, "--timing-cache", times, "--disable", "regions",
         "--disable", "region_beginnings", "--disable", "conv_inputs")
    report = json.loads(hone(args, "profile", engine, "--threads", args.threads, "--duration", 0.5, "--json"))
    row = next((one for one in report["layers"] if layer in (one["name"], *one["from"])), None)
    return 1e3 * row["median_ms"] if row else sys.exit(f"{layer}: no step of the engine; there are {[one['name'] for one in report['layers']][:8]}")


def staircase(args, model, layer, times):
    """The layer's time at each width of its staircase, in us, and its whole width."""
    words = ("--int8",) if args.int8 else ()
    row = json.loads(hone(args, "shrink", model, "--layers", layer, "--outputs-only", "--json", "--threads", args.threads, "--widths", 3,
                          "--timing-cache", times, *words))[0]
    return {step["width"]: step["us"] for step in row["widths"]}, row["full"]


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    options.add_argument("--hone", default="build/release/hone")
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--int8", action="store_true")
    options.add_argument("model")
    options.add_argument("layers", nargs="+")
    args = options.parse_args()
    apart = 0
    print("| layer | width | staircase us | engine us | apart |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        whole = args.model if os.path.exists(args.model) else os.path.join(folder, "whole.onnx")
        if whole != args.model:
            hone(args, "zoo", args.model, "-o", whole)
        shape = [d.dim_value for d in onnx.load(whole).graph.input[0].type.tensor_type.shape.dim]
        sample = os.path.join(folder, "sample.npy")
        np.save(sample, np.random.default_rng(0).standard_normal([4 * shape[0], *shape[1:]], dtype=np.float32))
        for layer in args.layers:
            loaded, cut = onnx.load(whole), os.path.join(folder, "cut.onnx")
            widths, full = staircase(args, whole, layer, os.path.join(folder, "first.times"))
            width = min(widths, key=lambda one: abs(one - full / 2))
            Cut(loaded, layer, width)
            onnx.save(loaded, cut)
            if args.int8:
                hone(args, "quantize", cut, "--calib", sample, "-o", cut, "--no-correction")
            stairs, engine = [], []
            for turn in range(args.rounds):
                stairs.append(staircase(args, whole, layer, os.path.join(folder, f"stairs{turn}.times"))[0][width])
                engine.append(in_engine(args, cut, layer, folder))
            said, there = min(stairs), min(engine)
            apart += abs(said - there) > BAR * there
            print(f"| {layer} | {width} of {full} | {said:.1f} | {there:.1f} | {100 * (said / there - 1):+.1f} % |", flush=True)
    return 1 if apart else 0


if __name__ == "__main__":
    sys.exit(main())
