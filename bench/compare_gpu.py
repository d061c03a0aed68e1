#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare_gpu.py - hone beside PyTorch on one GPU: the same networks, in one process and in turns.

    python3 bench/compare_gpu.py [--cases mobilenet_v2:1,resnet50:256] [--rounds 5] [--compile] [--f32 | --tf32] [--int8]
                                   [--no-peers] [--json FILE] [--keep FOLDER]

A case is a zoo name and a batch. Inputs and outputs lie on the GPU: in fp16 images have their channels last. What is timed is
the GPU's time of one replayed CUDA graph between two events, behind a kernel that keeps the GPU busy until both are
queued, so that no launch waits for the host. Medians; `ratio` is hone's over the best peer's of the same run.
Peers: `graph` is the network with batch norms folded, channels last, in one CUDA graph; `compile` is torch.compile with
reduce-overhead (--compile; max-autotune with --max-autotune), TF32 is off but with --tf32. Errors are relative L2 against f32: hone's as
its build measured them, PyTorch's against itself. PyTorch's convolutions and linear layers get the zoo's weights, in
their order, where all extents agree; else its own random ones, and its error is marked by a `*`: it is of another network.
--int8: networks of images in 8 bits, too, by `hone quantize` on four random images, with the same ports; what is left in
floats may be in fp16. --no-peers: hone's engines alone.
Needs torch, numpy, the built tool, library and CUDA module (HONE_BIN, HONE_LIB)."""
import argparse
import contextlib
import ctypes
import json
import pathlib
import statistics
import subprocess
import tempfile
import time

import numpy as np
import torch

import hone_api
import torch_models

BUSY_CYCLES = 400_000  # 0.2 ms at 2 GHz
FLAGS = {"fp16": ["--fp16"], "f32": [], "tf32": ["--tf32"], "int8": ["--fp16"]}
FORMATS = {"fp16": ["--inputIOFormats=fp16:hwc8"], "tf32": ["--inputIOFormats=fp32:hwc8"],
           "int8": ["--inputIOFormats=fp16:hwc8"]}


class SessionOptions(ctypes.Structure):
    """The fields of hone_session_options that lead to native_stream."""
    _fields_ = [("struct_size", ctypes.c_uint32), ("trust_weights", ctypes.c_bool), ("profile", ctypes.c_bool),
                ("instance_cache", ctypes.c_int), ("heap_limit_bytes", ctypes.c_uint64), ("on_span", ctypes.c_void_p),
                ("on_span_user", ctypes.c_void_p), ("no_replay", ctypes.c_bool), ("one_schedule", ctypes.c_bool),
                ("schedule", ctypes.c_int), ("taps", ctypes.c_void_p), ("tap_count", ctypes.c_int),
                ("on_tap", ctypes.c_void_p), ("on_tap_user", ctypes.c_void_p), ("deadline_ms", ctypes.c_int64),
                ("cancel", ctypes.c_void_p), ("trace_shares", ctypes.c_int), ("native_stream", ctypes.c_void_p)]


class Hone(hone_api.Hone):
    """A session on an engine whose ports lie on the GPU, on PyTorch's stream."""

    def __init__(self, path, stream):
        options = SessionOptions(struct_size=ctypes.sizeof(SessionOptions), native_stream=stream)
        super().__init__(path, device="gpu", session_options=ctypes.byref(options))

    def copy_in(self, name, array):
        array = np.ascontiguousarray(array)
        dtype = next(code for code, kind in hone_api.DTYPES.items() if kind == array.dtype.type)
        shape = hone_api.Shape(rank=array.ndim, dim=(ctypes.c_int64 * 8)(*array.shape))
        tensor = hone_api.Tensor(hone_api.Type(1, dtype, 0, shape), array.ctypes.data, array.nbytes)
        self.check(self.lib.hone_session_copy_in(self.session, name.encode(), ctypes.byref(tensor)))

    def enqueue(self):
        self.check(self.lib.hone_session_enqueue(self.session))

    def close(self):
        self.lib.hone_session_destroy(self.session)
        self.lib.hone_engine_release(self.engine)
        self.lib.hone_device_close(self.device)
        self.lib.hone_context_destroy(self.context)


def tool(*arguments):
    done = subprocess.run([hone_api.TOOL, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"hone {' '.join(map(str, arguments))}: {done.stderr[-600:]}")
    return done.stdout


def quantised(folder, model):
    """The network in 8 bits, its batch left open."""
    onnx, floats, samples = (folder / f"{model}_{name}" for name in ("int8.onnx", "open.onnx", "samples.npz"))
    if not onnx.exists():
        tool("zoo", model, "--dynamic", "-o", floats)
        np.savez(samples, **hone_inputs(model, 4))
        tool("quantize", floats, "--calib", samples, "--method", "minmax", "--no-correction", "-o", onnx)
    return onnx


def build(folder, model, batch, precision, images, level):
    """The engine's file and the seconds that its build took."""
    onnx, engine = folder / f"{model}_{batch}.onnx", folder / f"{model}_{batch}_{precision}.hone"
    shapes = []
    if precision == "int8":
        onnx = quantised(folder, model)
        shapes = ["--shapes"] + [f"{key}:{'x'.join(map(str, value.shape))}" for key, value in hone_inputs(model, batch).items()]
    elif not onnx.exists():
        tool("zoo", model, "--batch", batch, "-o", onnx)
    formats = FORMATS.get(precision, []) if images else []
    start = time.monotonic()
    tool("build", onnx, *shapes, "--device", "gpu", "--device-io", "--level", level, *FLAGS[precision], *formats, "-o", engine)
    return str(engine), time.monotonic() - start


def time_us(stream, work):
    """The GPU's time of what `work` queues."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda._sleep(BUSY_CYCLES)
    begin.record(stream)
    work()
    end.record(stream)
    stream.synchronize()
    return begin.elapsed_time(end) * 1000


def captured(model, arguments, stream):
    """The network as one CUDA graph."""
    with torch.no_grad():
        for _ in range(3):
            model(*arguments)
        stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            model(*arguments)
    return graph.replay


def compiled(model, arguments, mode):
    with torch.no_grad():
        fast = torch.compile(model, mode=mode)
        for _ in range(4):
            fast(*arguments)

    def call():
        with torch.no_grad():
            fast(*arguments)

    return call


def first(output):
    return output[0] if isinstance(output, tuple) else output


def distance(got, want):
    got, want = (np.asarray(value, np.float64) for value in (got, want))
    return float(np.linalg.norm(got - want) / np.linalg.norm(want))


def fields(data):
    """Number and value of a protobuf message's fields: ints, or bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte, at = data[at], at + 1
            value, shift = value | (byte & 127) << shift, shift + 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        size = varint() if key & 7 in (0, 2) else {1: 8, 5: 4}[key & 7]
        if key & 7 == 0:
            yield key >> 3, size
        else:
            yield key >> 3, data[at:at + size]
            at += size


def zoo_weights(path):
    """Weights and biases of an ONNX file's convolutions and products, in the order of its nodes; none where batch norms
    would have to be folded into them."""
    graph = next(value for key, value in fields(memoryview(path.read_bytes())) if key == 7)
    arrays, found = {}, []
    for key, value in fields(graph):
        if key == 5:  # an initializer: dims, type, name, numbers
            tensor = list(fields(value))
            raw = [v for k, v in tensor if k == 9]
            if raw and (2, 1) in tensor:
                arrays[bytes(next(v for k, v in tensor if k == 8))] = np.frombuffer(raw[0], np.float32).reshape(
                    [v for k, v in tensor if k == 1])
    for key, value in fields(graph):
        if key != 1:
            continue
        node = list(fields(value))
        kind = bytes(next(v for k, v in node if k == 4))
        if kind == b"BatchNormalization":
            return []
        if kind in (b"Conv", b"ConvTranspose", b"Gemm"):
            found.append([arrays.get(bytes(v)) for k, v in node if k == 1][1:3])
    return found


def take_weights(model, path):
    """Gives the model the zoo's weights; False where they do not fit, and then it keeps its own."""
    layers = [m for m in model.modules() if isinstance(m, (torch.nn.Conv2d, torch.nn.ConvTranspose2d, torch.nn.Linear))]
    given = zoo_weights(path)
    if len(layers) != len(given):
        return False
    for layer, (weight, *_) in zip(layers, given):
        if weight is None or tuple(weight.shape) != tuple(layer.weight.shape):
            return False
    with torch.no_grad():
        for layer, (weight, *bias) in zip(layers, given):
            layer.weight.copy_(torch.from_numpy(weight.copy()))
            if layer.bias is not None:
                layer.bias.copy_(torch.from_numpy(bias[0].copy()) if bias and bias[0] is not None else torch.zeros(1))
    return True


def allow_tf32(on):
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = on


def peers(name, batch, precision, stream, options, onnx):
    """Functions that queue one run, by name; the error of PyTorch in this precision; whether its weights are the zoo's."""
    torch.manual_seed(0)
    model = torch_models.MODELS[name]().eval()
    same = take_weights(model, onnx)
    model = model.cuda()
    arguments = torch_models.inputs(name, batch, "cuda")
    error = 0.0
    allow_tf32(False)
    with torch.no_grad():
        want = first(model(*arguments)).float().cpu().numpy()
        allow_tf32(precision == "tf32")
        if precision == "fp16":
            model = model.half()
            arguments = tuple(a.half() if a.is_floating_point() else a for a in arguments)
        if arguments[0].ndim == 4:
            model = model.to(memory_format=torch.channels_last)
            arguments = tuple(a.to(memory_format=torch.channels_last) for a in arguments)
        error = distance(first(model(*arguments)).float().cpu().numpy(), want)
    found = {"graph": captured(model, arguments, stream)}
    if options.compile:
        found["compile"] = compiled(model, arguments, "max-autotune" if options.max_autotune else "reduce-overhead")
    return found, error, same


def hone_inputs(name, batch):
    random = np.random.default_rng(1)
    if name == "bert_base":
        return {"input_ids": random.integers(0, 30522, (batch, 128)), "attention_mask": np.ones((batch, 128), np.int64),
                "token_type_ids": np.zeros((batch, 128), np.int64)}
    shape = {"unet32": (3, 256, 256), "encoder6": (128, 384), "lstm2": (64, 128)}.get(name, (3, 224, 224))
    return {"input": random.standard_normal((batch, *shape)).astype(np.float32)}


def error_of(engine):
    """The largest error of an output, which the build measured against its own plan in f32."""
    shown = json.loads(tool("show", engine, "--device", "gpu", "--json"))
    return max(output.get("error_rel_l2", 0) for output in shown["schedules"][0]["outputs"])


def measure(folder, name, batch, precision, options):
    stream = torch.cuda.Stream()
    images = name not in ("bert_base", "encoder6", "lstm2")
    row = {"model": name, "batch": batch, "precision": precision}
    with torch.cuda.stream(stream):
        values = hone_inputs(name, batch)
        sessions = {}
        for key in ("hone", "int8") if options.int8 and images else ("hone",):
            kind = precision if key == "hone" else key
            engine, row["build_s" if key == "hone" else "int8_build_s"] = build(folder, name, batch, kind, images, options.level)
            sessions[key] = Hone(engine, stream.cuda_stream)
            for port, value in values.items():
                sessions[key].copy_in(port, value)
            sessions[key].enqueue()
            stream.synchronize()
            if key == "hone":
                row["error"] = error_of(engine) if precision != "f32" else 0
        onnx = folder / f"{name}_{batch}.onnx"
        work = {}
        if not options.no_peers:
            work, row["peer_error"], row["same_weights"] = peers(name, batch, precision, stream, options, onnx)
        others = list(work)
        work = {**{key: session.enqueue for key, session in sessions.items()}, **work}
        samples = {key: [] for key in work}
        for _ in range(options.rounds):
            for key, one in work.items():
                for _ in range(8):
                    one()
                samples[key] += [time_us(stream, one) for _ in range(options.runs)]
        for key, list_of in samples.items():
            row[key] = statistics.median(list_of)
        if others:
            row["ratio"] = row["hone"] / min(row[key] for key in others)
        if "int8" in sessions:
            row["int8_ratio"] = row["int8"] / row["hone"]
        for session in sessions.values():
            session.close()
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default="mobilenet_v2:1,resnet50:1,bert_base:1,vit_b_16:1,efficientnet_b0:1")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--level", type=int, default=3, help="tuning level of hone's builds")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--max-autotune", action="store_true")
    parser.add_argument("--f32", action="store_true")
    parser.add_argument("--tf32", action="store_true")
    parser.add_argument("--int8", action="store_true")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--json")
    parser.add_argument("--keep", metavar="FOLDER", help="models and engines stay there")
    options = parser.parse_args()
    precision = "tf32" if options.tf32 else "f32" if options.f32 else "fp16"
    rows = []
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}; microseconds of the GPU")
    print(f"{'model':18s} batch type  {'hone':>9s} {'graph':>9s} {'compile':>9s} ratio  error    PyTorch's build s", flush=True)
    with contextlib.nullcontext(options.keep) if options.keep else tempfile.TemporaryDirectory() as folder:
        for case in options.cases.split(","):
            name, batch = case.split(":")
            try:
                row = measure(pathlib.Path(folder), name, int(batch), precision, options)
            except RuntimeError as error:
                print(f"{name:18s} {batch:>5s} {error}", flush=True)
                continue
            rows.append(row)
            none = float("nan")
            print(f"{name:18s} {batch:>5s} {row['precision']:5s} {row['hone']:9.1f} {row.get('graph', none):9.1f} "
                  f"{row.get('compile', none):9.1f} {row.get('ratio', none):.2f}  {row.get('error', 0):.1e} "
                  f"{row.get('peer_error', none):.1e}{' ' if row.get('same_weights', True) else '*'}{row['build_s']:7.1f}", flush=True)
            if "int8" in row:
                print(f"{name:18s} {batch:>5s} int8  {row['int8']:9.1f} {'':19s} {row['int8_ratio']:.2f} of {row['precision']}"
                      f"{row['int8_build_s']:20.1f}", flush=True)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
