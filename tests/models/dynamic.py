#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models with free dims: one engine with a dynamic profile, run at several shapes; each output must be onnxruntime's
within a relative L2 error of 1e-4.
usage: tests/models/dynamic.py [--level N] [--threads N]   (defaults 1, 2)"""
import os
import subprocess
import sys
import tempfile

import numpy
import onnxruntime

HERE = os.path.dirname(os.path.abspath(__file__))
PROJECT = os.path.dirname(os.path.dirname(HERE))
TOOL = os.environ.get("HONE_BIN", os.path.join(PROJECT, "build", "release", "hone"))
DATA = os.environ.get("HONE_TEST_DATA", os.path.join(PROJECT, "..", "shared"))
BOUND = 1e-4

# model, input, largest element, shapes to run: the first is tuned for, the engine spans all of them
CASES = [
    ("yunet_n_dynamic", "input", 255, [(1, 3, 320, 320), (1, 3, 160, 224), (2, 3, 640, 480)]),
    ("ppocr_rec_en", "x", 1, [(1, 3, 32, 320), (1, 3, 32, 100), (1, 3, 32, 512)]),
]


def text(shape):
    return "x".join(str(dim) for dim in shape)


def tool(*arguments):
    done = subprocess.run([TOOL, *arguments], capture_output=True, text=True, timeout=900, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"hone {' '.join(arguments)}: code {done.returncode}: {done.stderr.strip()}")


def outputs_of(folder, names):
    """A slash in an output's name is written otherwise in its file's."""
    files = {file: numpy.load(os.path.join(folder, file)) for file in os.listdir(folder)}
    return [files[name.replace("/", "_") + ".npy"] for name in names]


def error_of(got, want):
    if got.shape != want.shape:
        raise RuntimeError(f"shape {got.shape}, not {want.shape}")
    scale = float(numpy.linalg.norm(want.astype(numpy.float64)))
    return float(numpy.linalg.norm(got.astype(numpy.float64) - want)) / (scale if scale else 1)


def check(folder, row, level, threads):
    model, name, largest, shapes = row
    path = os.path.join(DATA, "models", model, "model.onnx")
    engine = os.path.join(folder, f"{model}.hone")
    low = tuple(min(dims) for dims in zip(*shapes))
    high = tuple(max(dims) for dims in zip(*shapes))
    tool("build", path, "-o", engine, "--level", level, "--threads", threads, "--quiet", "--minShapes",
         f"{name}:{text(low)}", "--optShapes", f"{name}:{text(shapes[0])}", "--maxShapes", f"{name}:{text(high)}")
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    good = 0
    for number, shape in enumerate(shapes):
        data = (numpy.random.default_rng(number).random(shape) * largest).astype(numpy.float32)
        given, made = os.path.join(folder, "input.npy"), os.path.join(folder, f"{model}_{number}")
        numpy.save(given, data)
        tool("run", engine, "--threads", threads, "--input", f"{name}={given}", "--output-dir", made)
        got = outputs_of(made, names)
        error = max(error_of(a, b) for a, b in zip(got, session.run(None, {name: data})))
        good += error <= BOUND
        print(f"{model:<18} {text(shape):<14} {'pass' if error <= BOUND else 'FAIL'}  rel L2 {error:.2e}", flush=True)
    return good, len(shapes)


def main():
    if not os.path.isdir(os.path.join(DATA, "models")):
        print(f"skipped: no folder {DATA}/models")
        return 77
    options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
    good = total = 0
    with tempfile.TemporaryDirectory() as folder:
        for row in CASES:
            passed, count = check(folder, row, options.get("--level", "1"), options.get("--threads", "2"))
            good += passed
            total += count
    print(f"dynamic: {good} of {total}")
    return 0 if good == total else 1


if __name__ == "__main__":
    sys.exit(main())
