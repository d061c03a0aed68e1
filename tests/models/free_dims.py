#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models of the ONNX backend suite with their input dims made free: built with a profile, run at random shapes within
and outside it. hone's results must be onnxruntime's; else it must end in words (exit 2, 3, 4 or 9), never in another
result and never in a crash.
usage: tests/models/free_dims.py [--models N] [--shapes N] [--seed N] [--only PART]   (defaults 100, 6, 8)"""
import argparse
import glob
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PROJECT = os.path.dirname(os.path.dirname(HERE))
TOOL = os.environ.get("HONE_BIN", os.path.join(PROJECT, "build", "release", "hone"))
DATA = os.environ.get("HONE_TEST_DATA", os.path.join(PROJECT, "..", "shared"))
IN_WORDS = (2, 3, 4, 9)
RANDOM = ("random", "bernoulli", "dropout", "training", "multinomial")
TYPES = "float double float16 int64 int32 int8 uint8 int16 uint16 uint32 uint64 bool".split()


def hone(*arguments):
    return subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True, timeout=60, check=False)


def text(shape):
    return "x".join(map(str, shape)) if shape else "scalar"


def free(onnx, numpy, path, draw):
    """The model with free dims, and its inputs as the suite gives them; None: nothing to free here."""
    model = onnx.load(path)
    given = {}
    known = {tensor.name for tensor in model.graph.initializer}
    for number, port in enumerate(i for i in model.graph.input if i.name not in known):
        file = os.path.join(os.path.dirname(path), "test_data_set_0", f"input_{number}.pb")
        if not port.type.HasField("tensor_type") or not os.path.exists(file):
            return None
        tensor = onnx.TensorProto()
        with open(file, "rb") as data:
            tensor.ParseFromString(data.read())
        if tensor.data_type not in [onnx.TensorProto.DataType.Value(name.upper()) for name in TYPES]:
            return None
        given[port.name] = onnx.numpy_helper.to_array(tensor)
        for axis, dim in enumerate(port.type.tensor_type.shape.dim):
            if given[port.name].ndim and draw.random() < 0.7:
                dim.dim_param = f"{port.name}_{axis}"
    for port in model.graph.output:
        if not port.type.HasField("tensor_type"):
            return None
        port.type.tensor_type.ClearField("shape")
    del model.graph.value_info[:]
    return (model, given) if any(value.ndim for value in given.values()) else None


def free_axes(model, name):
    port = next(port for port in model.graph.input if port.name == name)
    return [bool(dim.dim_param) for dim in port.type.tensor_type.shape.dim]


def draw_shapes(model, given, low, high, draw, inside):
    """Shapes of all inputs; outside: one dim leaves its range."""
    shapes = {}
    for name, value in given.items():
        axes = free_axes(model, name)
        shapes[name] = [draw.choice((dim, dim, 1, draw.randint(low[name][axis], high[name][axis]))) if axes[axis] else dim
                        for axis, dim in enumerate(value.shape)]
        shapes[name] = [min(max(dim, low[name][a]), high[name][a]) for a, dim in enumerate(shapes[name])]
    places = [(name, axis) for name in given for axis, is_free in enumerate(free_axes(model, name)) if is_free]
    if not inside and places:
        name, axis = draw.choice(places)
        shapes[name][axis] = high[name][axis] + draw.randint(1, 3)
    return shapes


def same(numpy, got, want):
    if got.shape != want.shape:
        return f"shape {got.shape}, not {want.shape}"
    if want.dtype.kind in "fc":
        # a masked score is -infinity in ONNX, and the lowest number in onnxruntime
        want = numpy.where(want == numpy.finfo(want.dtype).min, -numpy.inf, want) if want.dtype.kind == "f" else want
        good = numpy.allclose(got.astype("c16"), want.astype("c16"), rtol=2e-3, atol=1e-3, equal_nan=True)
    else:
        good = numpy.array_equal(got.astype(want.dtype), want)
    return "" if good else "other numbers"


class Counts:
    def __init__(self):
        self.same = self.refused = self.outside = self.alone = self.unbuilt = 0
        self.bad = []


def run_shapes(numpy, tools, folder, engine, made, shapes, inside, counts, label):
    given, session, names = made
    data = {name: numpy.resize(value, shapes[name]).astype(value.dtype) for name, value in given.items()}
    arguments = []
    for number, (name, value) in enumerate(data.items()):
        file = os.path.join(folder, f"in_{number}.npy")
        numpy.save(file, value)
        arguments += ["--input", f"{name}={file}"]
    out = os.path.join(folder, "out")
    subprocess.run(["rm", "-rf", out], check=True)
    got = hone("run", engine, "--threads", 1, *arguments, "--output-dir", out)
    if not inside:
        counts.outside += 1
        if got.returncode != 2:
            counts.bad.append(f"{label}: outside the profile, and exit {got.returncode}: {got.stderr[-200:]}")
        return
    if got.returncode in IN_WORDS:
        counts.refused += 1
        return
    if got.returncode != 0:
        counts.bad.append(f"{label}: exit {got.returncode}: {got.stderr[-200:]}")
        return
    try:
        want = session.run(None, data)
    except Exception:  # whatever onnxruntime refuses
        counts.alone += 1
        return
    for name, value in zip(names, want):
        file = os.path.join(out, name.replace("/", "_") + ".npy")
        wrong = same(numpy, numpy.load(file), numpy.asarray(value)) if os.path.exists(file) else "no output"
        if wrong:
            counts.bad.append(f"{label}: output {name}: {wrong}")
            return
    counts.same += 1


def try_model(tools, folder, path, draw, shape_count, counts):
    onnx, numpy, onnxruntime = tools
    freed = free(onnx, numpy, path, draw)
    name = os.path.basename(os.path.dirname(path))
    if not freed:
        return False
    model, given = freed
    file, engine = os.path.join(folder, "m.onnx"), os.path.join(folder, "m.hone")
    onnx.save(model, file)
    try:
        session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    except Exception:  # an operator that it lacks
        return False
    axes = {key: free_axes(model, key) for key in given}
    low = {key: [min(dim, 1) if axes[key][a] else dim for a, dim in enumerate(value.shape)] for key, value in given.items()}
    high = {key: [dim + 2 if axes[key][a] else dim for a, dim in enumerate(value.shape)] for key, value in given.items()}
    profile = [f"--{end}Shapes=" + ",".join(f"{key}:{text(dims[key])}" for key in given)
               for end, dims in (("min", low), ("opt", {k: v.shape for k, v in given.items()}), ("max", high))]
    built = hone("build", file, "-o", engine, "--level", 0, "--threads", 1, "--quiet", *profile)
    if built.returncode != 0:
        counts.unbuilt += 1
        if built.returncode not in IN_WORDS:
            counts.bad.append(f"{name}: build ends with {built.returncode}: {built.stderr[-200:]}")
        return True
    made = (given, session, [output.name for output in session.get_outputs()])
    any_free = any(any(flags) for flags in axes.values())
    for number in range(shape_count):
        inside = number % 3 != 2 or not any_free
        shapes = {k: list(v.shape) for k, v in given.items()} if number == 0 else draw_shapes(model, given, low, high, draw, inside)
        label = f"{name} at {' '.join(f'{k}:{text(v)}' for k, v in shapes.items())}"
        run_shapes(numpy, tools, folder, engine, made, shapes, inside, counts, label)
    return True


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--models", type=int, default=100)
    options.add_argument("--shapes", type=int, default=6)
    options.add_argument("--seed", type=int, default=8)
    options.add_argument("--only", default="")
    options = options.parse_args()
    try:
        import numpy
        import onnx
        import onnxruntime
    except ImportError as missing:
        print(f"skipped: {missing}")
        return 77
    if not glob.glob(os.path.join(DATA, "onnx-suite", "*.tar.xz")):
        print(f"skipped: no suite in {DATA}/onnx-suite")
        return 77
    onnxruntime.set_default_logger_severity(4)
    suite = subprocess.run([os.path.join(HERE, "..", "onnx", "unpack")], capture_output=True, text=True, check=True).stdout.strip()
    paths = sorted(glob.glob(os.path.join(suite, "**", "model.onnx"), recursive=True))
    paths = [path for path in paths if options.only in path and not any(word in path for word in RANDOM)]
    draw, counts, tried = random.Random(options.seed), Counts(), 0
    print(f"seed {options.seed}, {len(paths)} models to choose from", flush=True)
    draw.shuffle(paths)
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            tried += try_model((onnx, numpy, onnxruntime), folder, path, draw, options.shapes, counts)
            if tried == options.models:
                break
    print("\n".join(counts.bad))
    print(f"{tried} models, {counts.unbuilt} of them refused by the build; runs: {counts.same} the same, {counts.refused} refused "
          f"in words, {counts.outside} outside the profile, {counts.alone} that onnxruntime refuses; {len(counts.bad)} wrong")
    return 1 if counts.bad or counts.same < options.models else 0


if __name__ == "__main__":
    sys.exit(main())
