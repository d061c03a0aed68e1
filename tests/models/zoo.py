#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every network of hone's zoo: accepted by onnx.checker, of the stated size and work, its activations neither gone nor
beyond bounds, built, verified step by step, and equal to onnxruntime within 1e-4 (relative L2); with a batch of 2 left
free, too. The planted FaceNet must become the clean one.
usage: tests/models/zoo.py [NAME ...]   (default: all)"""
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

HERE = os.path.dirname(os.path.abspath(__file__))
PROJECT = os.path.dirname(os.path.dirname(HERE))
TOOL = os.environ.get("HONE_BIN", os.path.join(PROJECT, "build", "release", "hone"))
LIMIT = 1e-4
GRAPHS_OF_2 = 64e6  # bytes of the largest file that is also run with a free batch
NOT_TRAINED = re.compile(r"running|anchors|strides|scales|\.[hc]0$")
OF_ITS_OWN = "decoder"  # caches and lengths that must agree: tests/models/decoder.py
SAVES_WORK = "pool_before_conv"
SMALLEST, LARGEST = 1e-3, 1e3  # standard deviations of the activations
problems = []


def check(true, what):
    if not true:
        problems.append(what)
        print(f"FAILED: {what}", flush=True)
    return true


def tool(*arguments):
    got = subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True, timeout=900)
    check(got.returncode == 0, f"hone {' '.join(map(str, arguments))}: exit {got.returncode}: {got.stderr[-300:]}")
    return got


def as_json(*arguments):
    got = tool(*arguments, "--json")
    return json.loads(got.stdout) if got.returncode == 0 else {}


def dims_of(text):
    kind, dims = text.rstrip("]").split("[")
    return kind, [2 if d == "N" else int(d) for d in dims.split(",") if d]


def make_inputs(shown, folder):
    random = np.random.default_rng(7)
    made = {}
    for port in shown["inputs"]:
        kind, dims = dims_of(port["type"])
        if kind == "f32":
            value = random.standard_normal(dims).astype(np.float32)
        else:
            value = random.integers(0, 30000 if "ids" in port["name"] and "type" not in port["name"] else 2, dims)
        np.save(os.path.join(folder, port["name"] + ".npy"), value)
        made[port["name"]] = value
    return made


def reference(path, inputs, everything):
    """onnxruntime's outputs and, with `everything`, all float values between."""
    model = onnx.load(path)
    outputs = [port.name for port in model.graph.output]
    if everything:
        between = {name for node in model.graph.node for name in node.output} - set(outputs)
        model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in sorted(between))
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    values = dict(zip([port.name for port in session.get_outputs()], session.run(None, inputs)))
    return {name: values[name] for name in outputs}, values


def check_activations(name, values):
    for value, array in values.items():
        if array.dtype != np.float32 or array.size < 16:
            continue
        spread = float(array.std())
        check(np.isfinite(array).all() and SMALLEST < spread < LARGEST, f"{name}: {value} has a deviation of {spread}")


def compare(name, engine, folder, inputs, wanted):
    given = [word for port in inputs for word in ("--input", f"{port}={os.path.join(folder, port + '.npy')}")]
    tool("run", engine, *given, "--output-dir", folder)
    worst = 0.0
    for port, want in wanted.items():
        got = np.load(os.path.join(folder, port + ".npy")).astype(np.float64)
        check(got.shape == want.shape, f"{name}: {port} is {got.shape}, want {want.shape}")
        worst = max(worst, float(np.linalg.norm(got - want) / np.linalg.norm(want)))
    check(worst <= LIMIT, f"{name}: differs from onnxruntime by {worst:.3g}")
    return worst


def check_batch_of_2(name, folder):
    """A free batch means the same in onnxruntime, and is run by hone."""
    path = os.path.join(folder, "free.onnx")
    tool("zoo", name, "--dynamic", "-o", path)
    inputs = make_inputs(as_json("show", path), folder)
    wanted, _ = reference(path, inputs, False)
    engine = os.path.join(folder, "free.hone")
    shapes = ",".join(f"{port}:{'x'.join(map(str, value.shape))}" for port, value in inputs.items())
    tool("build", path, "--level", "0", "--shapes", shapes, "-o", engine)
    return compare(name + " with a batch of 2", engine, folder, inputs, wanted)


def check_row(row, folder):
    name = row["name"]
    path, engine = os.path.join(folder, name + ".onnx"), os.path.join(folder, name + ".hone")
    if tool("zoo", name, "-o", path).returncode != 0:
        return {}
    shown = as_json("show", path)
    nodes = [node["name"] for node in shown["nodes"]]
    check(len(set(nodes)) == len(nodes), f"{name}: nodes of one name")
    weights = [dims_of(c["type"])[1] for c in shown["constants"]
               if c["type"].startswith("f32[") and not c["type"].endswith("[]") and not NOT_TRAINED.search(c["name"])]
    count = sum(int(np.prod(dims)) for dims in weights)
    check(count == row["parameters"], f"{name}: {count} parameters, said are {row['parameters']}")
    onnx.checker.check_model(path, full_check=True)
    built = as_json("build", path, "--level", "0", "-o", engine)
    work = built.get("gflop", 0)
    if work < 0.985 * row["gflop"]:  # a rule saved work that the architecture has
        plain = as_json("build", path, "--level", "0", "--disable", SAVES_WORK, "-o", os.path.join(folder, "plain.hone"))
        work = plain.get("gflop", 0)
    check(abs(work - row["gflop"]) < 0.015 * row["gflop"], f"{name}: {work} GFLOP, said are {row['gflop']}")
    check(built.get("reference_steps") == 0, f"{name}: {built.get('reference_steps')} steps run on the reference")
    tool("verify", engine)
    inputs = make_inputs(shown, folder)
    small = os.path.getsize(path) < GRAPHS_OF_2
    wanted, values = reference(path, inputs, small)
    check_activations(name, values)
    report = {"built": built, "outputs": list(wanted.values()), "error": compare(name, engine, folder, inputs, wanted)}
    if small:
        report["free"] = check_batch_of_2(name, folder)
    return report


def check_planted(clean, planted):
    check(clean["built"].get("steps") == planted["built"].get("steps"), "the planted FaceNet has other steps")
    a, b = clean["outputs"][0].astype(np.float64), planted["outputs"][0]
    error = np.linalg.norm(a - b) / np.linalg.norm(a)
    check(error <= LIMIT, f"the planted FaceNet differs from the clean one by {error:.3g}")


def main():
    rows = {row["name"]: row for row in json.loads(tool("zoo", "--json").stdout)}
    reports = {}
    for name in sys.argv[1:] or [name for name in rows if name != OF_ITS_OWN]:
        with tempfile.TemporaryDirectory() as folder:
            reports[name] = report = check_row(rows[name], folder)
        errors = "".join(f", {what} {report[key]:.2g}" for key, what in (("error", "error"), ("free", "batch of 2"))
                         if key in report)
        print(f"{name}: {report.get('built', {}).get('steps')} steps{errors}", flush=True)
    if "facenet" in reports and "facenet_planted" in reports:
        check_planted(reports["facenet"], reports["facenet_planted"])
    print(f"zoo: {len(reports)} networks, {len(problems)} problems")
    return 1 if problems or not reports else 0


if __name__ == "__main__":
    sys.exit(main())
