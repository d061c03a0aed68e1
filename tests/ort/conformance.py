#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""conformance.py - a sample of ONNX's own backend tests through the ONNX Runtime provider, every set of nodes claimed however
small. Each is run by a process that may die; what the runtime's own CPU provider cannot load or gets wrong itself is not
counted. Wrong: other outputs than ONNX's, where the CPU provider's are right.
usage: tests/ort/conformance.py [COUNT]   default: 300"""
import json
import os
import pathlib
import subprocess
import sys

import numpy
import onnx
import onnxruntime
import provider
from onnx import numpy_helper

HERE = pathlib.Path(__file__).resolve().parent
ATOL, RTOL = 1e-4, 1e-3


def tensor(path, kind):
    if kind.WhichOneof("value") != "tensor_type":
        raise TypeError("no tensor")
    made = onnx.TensorProto()
    made.ParseFromString(path.read_bytes())
    return numpy_helper.to_array(made)


def close(got, want):
    for a, b in zip(got, want, strict=True):
        a, b = numpy.asarray(a), numpy.asarray(b)
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        if b.dtype.kind in "fc":
            rtol = 2e-2 if b.dtype.itemsize == 2 else RTOL
            if not numpy.allclose(a.astype(numpy.float64), b.astype(numpy.float64), rtol, max(ATOL, rtol / 10), equal_nan=True):
                return False
        elif not numpy.array_equal(a, b):
            return False
    return True


def load(folder):
    model = onnx.load(folder / "model.onnx")
    initial = {value.name for value in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in initial]
    sets = folder / "test_data_set_0"
    feeds = {value.name: tensor(sets / f"input_{i}.pb", value.type) for i, value in enumerate(inputs)}
    wanted = [tensor(sets / f"output_{i}.pb", value.type) for i, value in enumerate(model.graph.output)]
    return str(folder / "model.onnx"), feeds, wanted


def try_one(folder):
    """"skipped", "unclaimed", "right", or what went wrong."""
    try:
        path, feeds, wanted = load(folder)
        if not close(provider.cpu(path).run(None, feeds), wanted):
            return "skipped"
    except Exception:  # whatever the runtime itself does not take
        return "skipped"
    try:
        session = provider.Session(path, min_nodes=1)
        got = session.run(feeds)
    except Exception as error:  # the runtime's exceptions have no common base
        return f"{type(error).__name__}: {str(error)[:300]}"
    if not close(got, wanted):
        return "wrong outputs"
    return "right" if session.claimed else "unclaimed"


def worker():
    """Names on standard input, a line of JSON for each on standard output."""
    provider.register()
    for line in sys.stdin:
        result = try_one(pathlib.Path(line.strip()))
        print(json.dumps(result), flush=True)


def sample(count):
    unpack = HERE.parent / "onnx" / "unpack"
    suite = pathlib.Path(subprocess.run([str(unpack)], check=True, capture_output=True, text=True).stdout.strip())
    folders = sorted(path.parent for path in suite.rglob("model.onnx"))
    return [folders[i * len(folders) // count] for i in range(min(count, len(folders)))]


def run_all(folders):
    results, process = {}, None
    for folder in folders:
        if process is None:
            process = subprocess.Popen([sys.executable, __file__, "--worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL, text=True)
        process.stdin.write(f"{folder}\n")
        process.stdin.flush()
        line = process.stdout.readline()
        if line:
            results[folder.name] = json.loads(line)
        else:
            results[folder.name] = f"crashed with {process.wait()}"
            process = None
    if process:
        process.stdin.close()
        process.wait(60)
    return results


def main(count):
    if not (provider.DATA / "onnx-suite").exists() and "HONE_ONNX_SUITE" not in os.environ:
        print(f"no folder {provider.DATA}/onnx-suite: skipped")
        return 77
    if not provider.usable():
        return 77
    results = run_all(sample(count))
    bad = {name: result for name, result in results.items() if result not in ("right", "unclaimed", "skipped")}
    for name, result in bad.items():
        print(f"FAILED: {name}: {result}")
    said = {kind: sum(result == kind for result in results.values()) for kind in ("right", "unclaimed", "skipped")}
    print(f"onnxruntime {onnxruntime.__version__}: of {len(results)} tests {said['right']} right, {said['unclaimed']} not "
          f"claimed, {said['skipped']} that the CPU provider itself does not pass, {len(bad)} wrong or crashed")
    return 1 if bad or said["right"] * 2 < len(results) else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--worker"]:
        worker()
    else:
        sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 300))
