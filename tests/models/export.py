#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The optimised graph as a standard model: for every network of the zoo, and every trained model of the test data whose
tensors are floats, what `hone passes MODEL --emit FILE` writes must be accepted by onnx.checker and give in onnxruntime
what MODEL gives, to 1e-5 in relative L2.
usage: tests/models/export.py [--only NAME] [--keep FOLDER]"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnxruntime
from onnx import TensorProto

HERE = os.path.dirname(os.path.abspath(__file__))
PROJECT = os.path.dirname(os.path.dirname(HERE))
TOOL = os.environ.get("HONE_BIN", os.path.join(PROJECT, "build", "release", "hone"))
DATA = os.environ.get("HONE_TEST_DATA", os.path.join(PROJECT, "..", "shared"))
BOUND = 1e-5
# Extents that a model leaves free; those not named here are 1.
FREE = {"height": 64, "width": 96, "p2o.DynamicDimension.1": 96, "p2o.DynamicDimension.2": 96, "length": 24,
        "sequence": 512}
# What the checker refuses for a reason that is not ours to mend: compared all the same.
REFUSED = {"silero_vad_16k_op15": "checker: its outputs' ranks are known only after running"}


def tool(*arguments):
    return subprocess.run([TOOL, *arguments], check=True, capture_output=True, text=True, timeout=900).stdout


def models(folder, only):
    """Pairs of name and path; those of the zoo are written when their turn comes."""
    for row in json.loads(tool("zoo", "--json")):
        if row["name"] != "decoder" and (not only or only == row["name"]):  # whose lengths must agree: decoder.py
            path = os.path.join(folder, row["name"] + ".onnx")
            tool("zoo", row["name"], "-o", path)
            yield row["name"], path
            os.unlink(path)
    trained = os.path.join(DATA, "models")
    for name in sorted(os.listdir(trained) if os.path.isdir(trained) else []):
        path = os.path.join(trained, name, "model.onnx")
        if os.path.exists(path) and (not only or only == name):
            yield name, path


def is_float(model):
    """Whether no layer computes in int8 or half floats; shapes and indices may be integers, of course."""
    small = {TensorProto.INT8, TensorProto.FLOAT16, TensorProto.BFLOAT16}
    return not any(tensor.data_type in small for tensor in model.graph.initializer) and not any(
        node.op_type in ("DynamicQuantizeLinear", "QuantizeLinear") for node in model.graph.node)


def random_inputs(session, seed):
    random = numpy.random.default_rng(seed)
    made = {}
    for value in session.get_inputs():
        shape = [d if isinstance(d, int) and d > 0 else FREE.get(d, 1) for d in value.shape]
        if value.type == "tensor(float)":
            made[value.name] = random.standard_normal(shape).astype(numpy.float32)
        elif value.type == "tensor(uint8)":
            made[value.name] = random.integers(0, 255, shape).astype(numpy.uint8)
        else:  # counts, lengths, a sampling rate
            made[value.name] = numpy.full(shape, 16000 if value.name == "sr" else 1, numpy.int64)
    return made


def run(path, inputs):
    """As the file says, without onnxruntime's own rewriting."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 2
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return session, session.run(None, inputs(session))


def distance(got, want):
    worst = 0.0
    for a, b in zip(got, want):
        if a.shape != b.shape or a.dtype != b.dtype:
            return float("inf")
        a, b = a.astype(numpy.float64), b.astype(numpy.float64)
        norm = numpy.linalg.norm(b)
        worst = max(worst, float(numpy.linalg.norm(a - b) / norm) if norm > 0 else float(numpy.abs(a).max(initial=0)))
    return worst if len(got) == len(want) else float("inf")


def check(name, path, out):
    """A row of the table: nodes before, nodes after, relative L2, and what is wrong or ''."""
    model = onnx.load(path, load_external_data=False)
    before = len(model.graph.node)
    if not is_float(model):
        return before, None, None, "not of floats: skipped"
    tool("passes", path, "--emit", out)
    if name not in REFUSED:
        onnx.checker.check_model(out, full_check=True)
    after = len(onnx.load(out, load_external_data=False).graph.node)
    made = {}
    session, want = run(path, lambda s: made.setdefault("x", random_inputs(s, 1)))
    emitted, got = run(out, lambda s: made["x"])
    names = [v.name for v in session.get_outputs()], [v.name for v in emitted.get_outputs()]
    if names[0] != names[1]:
        return before, after, None, "the outputs have other names"
    error = distance(got, want)
    return before, after, error, REFUSED.get(name, "") if error <= BOUND else f"differs by more than {BOUND:g}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="this model alone")
    parser.add_argument("--keep", help="leave the written models in this folder")
    options = parser.parse_args()
    bad = checked = 0
    print(f"{'model':28} {'nodes':>6} {'after':>6} {'rel L2':>9}")
    with tempfile.TemporaryDirectory() as folder:
        for name, path in models(folder, options.only):
            out = os.path.join(options.keep or folder, name + ".optimised.onnx")
            try:
                before, after, error, wrong = check(name, path, out)
            except subprocess.CalledProcessError as problem:
                before, after, error, wrong = 0, None, None, problem.stderr.strip()[:200]
            except Exception as problem:  # whatever the checker or onnxruntime say
                before, after, error, wrong = 0, None, None, str(problem).strip()[:200]
            skipped = wrong.endswith("skipped")
            bad += bool(wrong) and not skipped and wrong != REFUSED.get(name)
            checked += not skipped
            print(f"{name:28} {before:6} {after if after is not None else '-':>6} "
                  f"{'-' if error is None else format(error, '9.1e'):>9} {wrong}", flush=True)
            if not options.keep and os.path.exists(out):
                os.unlink(out)
    print(f"{checked - bad} of {checked} are equal")
    return 0 if checked and not bad else 1


if __name__ == "__main__":
    sys.exit(main())
