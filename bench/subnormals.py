#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""subnormals.py - what subnormal weights cost: a network against itself with a quarter of its weights made subnormal.

Both run by the same tactics, in turns; the least run of each is compared. Exit code 1: more than 3 % slower.
The same with --keep-subnormals is shown beside it: what it would cost if they counted. Needs numpy and onnx.

    bench/subnormals.py [--hone build/release/hone] [--model FILE.onnx] [--threads 1] [--rounds 10]
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy
import onnx
from onnx import numpy_helper

LEAST_ELEMENTS = 200  # smaller constants are biases and shapes
LIMIT = 1.03


def plant(source, target, whole_channels):
    """A quarter of the weights: single ones anywhere, or whole output channels, as training leaves dead ones."""
    model, random = onnx.load(source), numpy.random.default_rng(1)
    planted = total = 0
    for tensor in model.graph.initializer:
        values = numpy_helper.to_array(tensor)
        if values.dtype != numpy.float32 or values.size < LEAST_ELEMENTS or values.ndim < 2:
            continue
        where = random.random(values.shape) < 0.25
        if whole_channels:
            where[...] = False
            where[random.permutation(values.shape[0])[: values.shape[0] // 4]] = True
        small = random.uniform(1e-42, 1e-38, values.shape) * numpy.sign(random.standard_normal(values.shape))
        tensor.CopyFrom(numpy_helper.from_array(numpy.where(where, small, values).astype(numpy.float32), tensor.name))
        planted, total = planted + int(where.sum()), total + values.size
    onnx.save(model, target)
    return planted / total


def least_ms(hone, engine, threads):
    done = subprocess.run([hone, "bench", engine, "--threads", threads, "--duration", "1", "--json"],
                          check=True, capture_output=True, text=True)
    return json.loads(done.stdout)["latency"]["min_ms"]


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--hone", default="build/release/hone")
    options.add_argument("--model")
    options.add_argument("--threads", default="1")
    options.add_argument("--rounds", type=int, default=10)
    args = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        at = lambda name: os.path.join(folder, name)
        clean = args.model or at("clean.onnx")
        if not args.model:
            subprocess.run([args.hone, "zoo", "mobilenet_v2", "-o", clean], check=True, capture_output=True)
        share = plant(clean, at("single.onnx"), False)
        plant(clean, at("channels.onnx"), True)
        rows = [("clean", clean, []), ("single", at("single.onnx"), []), ("channels", at("channels.onnx"), []),
                ("single, kept", at("single.onnx"), ["--keep-subnormals"]),
                ("channels, kept", at("channels.onnx"), ["--keep-subnormals"])]
        for number, (_, model, flags) in enumerate(rows):
            subprocess.run([args.hone, "build", model, "-o", at(f"{number}.hone"), "--threads", args.threads,
                            "--lock", at("lock"), *flags], check=True, capture_output=True)
        times = [[] for _ in rows]
        for _ in range(args.rounds):
            for number in range(len(rows)):
                times[number].append(least_ms(args.hone, at(f"{number}.hone"), args.threads))
        print(f"{share:.0%} of the weights are subnormal; least of {args.rounds} rounds in turns, threads {args.threads}")
        for number, (name, _, _) in enumerate(rows):
            print(f"{name:16} {min(times[number]):8.3f} ms  {min(times[number]) / min(times[0]):.3f}")
        return any(min(times[n]) > LIMIT * min(times[0]) for n in (1, 2))


sys.exit(main())
