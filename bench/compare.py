#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare.py - hone against ONNX Runtime, on the same models, inputs and threads, in one process and interleaved.

    python3 bench/compare.py [--models mobilenet_v2,resnet50] [--threads 1,2] [--rounds 15] [--json FILE]
    python3 bench/compare.py --files a.onnx,b.onnx

Models are zoo names (written by `hone zoo`) or ONNX files. Both engines take turns in blocks of runs; between blocks the
other's threads are given time to stop spinning. Reported: medians, the 10th and 90th percentiles, and the ratio of the
medians. The process is pinned to as many cores as there are threads. Inputs are fresh random numbers; the outputs of
both are compared. Needs numpy, onnxruntime, and the built tool and shared library (HONE_BIN, HONE_LIB)."""
import argparse
import ctypes
import json
import os
import subprocess
import sys
import time

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DTYPES = {1: np.float32, 4: np.float64, 5: np.int8, 6: np.int16, 7: np.int32, 8: np.int64, 9: np.uint8, 13: np.bool_}


class Shape(ctypes.Structure):
    _fields_ = [("rank", ctypes.c_int32), ("dim", ctypes.c_int64 * 8)]


class Type(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int), ("dtype", ctypes.c_int), ("format", ctypes.c_int), ("shape", Shape)]


class Tensor(ctypes.Structure):
    _fields_ = [("type", Type), ("data", ctypes.c_void_p), ("bytes", ctypes.c_size_t)]


class DeviceOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("threads", ctypes.c_int), ("cpus", ctypes.c_void_p),
                ("cpu_count", ctypes.c_int), ("spin_microseconds", ctypes.c_int)]


class Hone:
    """An engine built from an ONNX file, through the C API."""

    def __init__(self, lib, path, threads):
        self.lib = lib
        for name in ("hone_context_message",):
            getattr(lib, name).restype = ctypes.c_char_p
        self.context = ctypes.c_void_p()
        self.check(lib.hone_context_create(None, ctypes.byref(self.context)))
        options = DeviceOptions(struct_size=ctypes.sizeof(DeviceOptions), threads=threads)
        self.device = ctypes.c_void_p()
        self.check(lib.hone_device_open(self.context, b"cpu", 0, ctypes.byref(options), ctypes.byref(self.device)))
        graph = ctypes.c_void_p()
        self.check(lib.hone_graph_load_onnx(self.context, path.encode(), ctypes.byref(graph)))
        self.engine = ctypes.c_void_p()
        devices = (ctypes.c_void_p * 1)(self.device)
        begin = time.perf_counter()
        self.check(lib.hone_engine_build(self.context, graph, devices, 1, None, ctypes.byref(self.engine)))
        self.build_s = time.perf_counter() - begin
        lib.hone_graph_destroy(graph)
        self.session = ctypes.c_void_p()
        lib.hone_context_diagnostics.restype = ctypes.c_void_p
        diagnostics = ctypes.c_void_p(lib.hone_context_diagnostics(self.context))
        self.check(lib.hone_session_create(self.engine, None, ctypes.byref(self.session), diagnostics))

    def check(self, status):
        if status == 0:
            return
        count = self.lib.hone_context_message_count(self.context)
        text = "; ".join(self.lib.hone_context_message(self.context, i, None).decode() for i in range(count))
        raise RuntimeError(f"hone failed with status {status}: {text}")

    def tensor(self, name):
        """A numpy view of an input's or output's own buffer."""
        view = Tensor()
        self.check(self.lib.hone_session_tensor(self.session, name.encode(), ctypes.byref(view)))
        shape = tuple(view.type.shape.dim[: view.type.shape.rank])
        raw = (ctypes.c_char * view.bytes).from_address(view.data)
        return np.frombuffer(raw, dtype=DTYPES[view.type.dtype]).reshape(shape)

    def run(self):
        self.check(self.lib.hone_session_run(self.session))


class Peer:
    """The same file in ONNX Runtime, with IO binding so that nothing is copied."""

    def __init__(self, path, threads):
        import onnxruntime as ort

        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        self.version = ort.__version__
        self.session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.binding = self.session.io_binding()

    def bind(self, inputs):
        self.inputs = inputs
        for name, value in inputs.items():
            self.binding.bind_cpu_input(name, value)
        for output in self.session.get_outputs():
            self.binding.bind_output(output.name)

    def run(self):
        self.session.run_with_iobinding(self.binding)

    def outputs(self):
        names = [output.name for output in self.session.get_outputs()]
        return dict(zip(names, self.binding.copy_outputs_to_cpu()))


def random_input(shape, dtype, generator, high):
    if dtype == np.int64 or dtype == np.int32:
        return generator.integers(0, high, size=shape).astype(dtype)
    return generator.standard_normal(shape).astype(dtype)


def relative_l2(got, want):
    got, want = got.astype(np.float64).ravel(), want.astype(np.float64).ravel()
    return float(np.linalg.norm(got - want) / max(np.linalg.norm(want), 1e-30))


def block(engine, runs):
    """Times of single runs; the first two warm caches and wake threads up."""
    times = []
    for i in range(runs + 2):
        begin = time.perf_counter_ns()
        engine.run()
        if i >= 2:
            times.append((time.perf_counter_ns() - begin) / 1e6)
    time.sleep(0.02)
    return times


def summary(times):
    return {"median_ms": float(np.median(times)), "p10_ms": float(np.percentile(times, 10)),
            "p90_ms": float(np.percentile(times, 90)), "runs": len(times)}


def compare(lib, path, name, threads, rounds):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    hone, peer = Hone(lib, path, threads), Peer(path, threads)
    generator = np.random.default_rng()
    inputs = {}
    for port in peer.session.get_inputs():
        view = hone.tensor(port.name)
        inputs[port.name] = random_input(view.shape, view.dtype, generator, 2)  # ids that any table has
        view[...] = inputs[port.name]
    peer.bind(inputs)
    hone.run()
    peer.run()
    errors = [relative_l2(hone.tensor(key), value) for key, value in peer.outputs().items()]
    begin = time.perf_counter()
    peer.run()
    runs = max(3, min(20, int(0.1 / max(time.perf_counter() - begin, 1e-6))))
    ours, theirs = [], []
    for _ in range(rounds):
        ours += block(hone, runs)
        theirs += block(peer, runs)
    row = {"model": name, "threads": threads, "hone": summary(ours), "onnxruntime": summary(theirs),
           "relative_l2": max(errors), "build_s": hone.build_s, "onnxruntime_version": peer.version}
    row["ratio"] = row["hone"]["median_ms"] / row["onnxruntime"]["median_ms"]
    return row


def print_row(row):
    ours, theirs = row["hone"], row["onnxruntime"]
    print(f"{row['model']:<20} {row['threads']:>7} {ours['median_ms']:>9.3f} ({ours['p10_ms']:.3f}..{ours['p90_ms']:.3f})"
          f" {theirs['median_ms']:>9.3f} ({theirs['p10_ms']:.3f}..{theirs['p90_ms']:.3f}) {row['ratio']:>7.2f}"
          f" {row['relative_l2']:>9.1e} {row['build_s']:>8.1f}", flush=True)


def model_file(name, folder):
    """A zoo model's ONNX file, written once."""
    path = os.path.join(folder, name + ".onnx")
    if not os.path.exists(path):
        tool = os.environ.get("HONE_BIN", os.path.join(ROOT, "build/release/hone"))
        subprocess.run([tool, "zoo", name, "-o", path], check=True, stdout=subprocess.DEVNULL)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="mobilenet_v2,resnet50,squeezenet1_1,vit_b_16,bert_base")
    parser.add_argument("--files", default="")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", default="")
    parser.add_argument("--folder", default=os.path.join(ROOT, "build/bench"))
    parser.add_argument("--one", nargs=3, metavar=("NAME", "FILE", "THREADS"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    lib = os.environ.get("HONE_LIB", os.path.join(ROOT, "build/release/libhone.so"))
    if arguments.one:  # one process a row, so that affinity and thread pools start fresh
        name, path, threads = arguments.one
        print(json.dumps(compare(ctypes.CDLL(lib), path, name, int(threads), arguments.rounds)))
        return 0
    try:
        import onnxruntime  # noqa: F401
    except ImportError:
        print("compare.py: onnxruntime is not installed (pip install onnxruntime)", file=sys.stderr)
        return 1
    os.makedirs(arguments.folder, exist_ok=True)
    files = [(os.path.splitext(os.path.basename(f))[0], f) for f in arguments.files.split(",") if f]
    if not files:
        files = [(name, model_file(name, arguments.folder)) for name in arguments.models.split(",") if name]
    print(f"{'model':<20} {'threads':>7} {'hone ms (p10..p90)':>26} {'onnxruntime ms (p10..p90)':>26} {'ratio':>7}"
          f" {'rel. L2':>9} {'build s':>8}")
    rows = []
    for name, path in files:
        for threads in arguments.threads.split(","):
            command = [sys.executable, __file__, "--one", name, path, threads, "--rounds", str(arguments.rounds)]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
            if done.returncode != 0:
                print(f"{name}: failed at {threads} threads", file=sys.stderr)
                return 1
            rows.append(json.loads(done.stdout))
            print_row(rows[-1])
    if arguments.json:
        with open(arguments.json, "w") as out:
            json.dump(rows, out, indent=2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
