#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""calibrate.py - trained networks quantised by `hone quantize` from the first 64 photos of imagenet500, judged on the other
436: how often the first class is that of f32, the mean relative L2 of the outputs, and whether ONNX Runtime, which gets
the same file, agrees with hone.

usage: tests/models/calibrate.py [--all] [--only NAME] [--photos N] [--variant "QUANTIZE OPTIONS"]...
without --all on the first 100 of those photos, against bounds: the test"""
import argparse
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime

HERE = os.path.dirname(os.path.abspath(__file__))
PROJECT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(PROJECT, "bench"), os.path.join(PROJECT, "tests/support")]
import hone_api  # noqa: E402
import peer_bytes  # noqa: E402

TOOL = os.environ.get("HONE_BIN", os.path.join(PROJECT, "build", "release", "hone"))
DATA = os.environ.get("HONE_TEST_DATA", os.path.join(PROJECT, "..", "shared"))
IMAGES = os.path.join(DATA, "images", "imagenet500")
CALIBRATION = 64
# Name, what the photos become, the least share of equal first classes and the largest L2 of the test.
NETWORKS = {
    "mobilenet_v2_fp32": (["--mean", "0.485,0.456,0.406", "--std", "0.229,0.224,0.225"], 0.93, 0.09),
    "squeezenet1_1_fp32": (["--scale", "1", "--channels", "bgr", "--mean", "103.94,116.78,123.68"], 0.90, 0.09),
}


def tool(*arguments):
    done = subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True, timeout=900, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"hone {' '.join(map(str, arguments))}: {done.stderr}")
    return done


def labels():
    with open(os.path.join(IMAGES, "labels.tsv"), encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    return {row[0]: int(row[1]) for row in rows if len(row) > 1 and row[1].isdigit()}


def pixels(folder, network, flags, names):
    """All photos as hone itself reads them, through a model that is one Identity."""
    path = os.path.join(folder, "identity.onnx")
    value = [onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, (1, 3, 224, 224)) for n in "xy"]
    graph = onnx.helper.make_graph([onnx.helper.make_node("Identity", ["x"], ["y"])], "g", value[:1], value[1:])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), path)
    out, all_of_them = os.path.join(folder, network), []
    for name in names:
        tool("run", path, "--level", 0, "--input", f"x={os.path.join(IMAGES, name)}", *flags, "--output-dir", out)
        all_of_them.append(np.load(os.path.join(out, "y.npy")))
    return np.stack(all_of_them)


class Ours:
    def __init__(self, model, folder):
        described = onnx.load(model, load_external_data=False)
        known = {i.name for i in described.graph.initializer}
        self.input = next(i.name for i in described.graph.input if i.name not in known)
        self.output = described.graph.output[0].name
        engine = os.path.join(folder, os.path.basename(os.path.dirname(model)) + os.path.basename(model) + ".hone")
        tool("build", model, "-o", engine, "--shapes", f"{self.input}:1x3x224x224", "--level", 0)
        self.session = hone_api.Hone(engine, threads=2)

    def __call__(self, x):
        self.session.bind({self.input: x})
        self.session.run()
        return self.session.outputs([self.output])[self.output].reshape(-1)


class Theirs:
    def __init__(self, model):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 2
        self.session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self.input = self.session.get_inputs()[0].name

    def __call__(self, x):
        return self.session.run(None, {self.input: x})[0].reshape(-1)


def judge(network, variant, folder, data, want, truth, flags):
    path = os.path.join(folder, "q.onnx")
    begin = time.time()
    tool("quantize", os.path.join(DATA, "models", network, "model.onnx"), "--calib", IMAGES, "-o", path, "--threads", 2,
         *flags, *variant)
    seconds = time.time() - begin
    onnx.checker.check_model(path, full_check=True)
    ours, theirs = Ours(path, folder), Theirs(path)
    got, other = [ours(x) for x in data], [theirs(x) for x in data]
    classes = [g.argmax() for g in got]
    return {
        "same": np.mean([c == w.argmax() for c, w in zip(classes, want)]),
        "l2": np.mean([np.linalg.norm(g - w) / np.linalg.norm(w) for g, w in zip(got, want)]),
        "top1": np.mean([c == t for c, t in zip(classes, truth)]),
        "ort": np.mean([c == o.argmax() for c, o in zip(classes, other)]),
        "ort_l2": np.mean([np.linalg.norm(g - o) / np.linalg.norm(o) for g, o in zip(got, other)]),
        "seconds": seconds,
    }


def run(network, variants, count, check, folder):
    flags, least, most = NETWORKS[network]
    known = labels()
    names = sorted(n for n in os.listdir(IMAGES) if n.endswith(".jpg"))[CALIBRATION:][:count]
    data = pixels(folder, network, flags, names)
    truth = [known[n] for n in names]
    f32 = Ours(os.path.join(DATA, "models", network, "model.onnx"), folder)
    want = [f32(x) for x in data]
    right = np.mean([w.argmax() == t for w, t in zip(want, truth)])
    print(f"{network}: f32 is right on {100 * right:.1f} % of {len(names)} photos", flush=True)
    if check and peer_bytes.SATURATES:
        print("  ONNX Runtime saturates on this processor: its classes are told, and not asked for", flush=True)
    failed = 0
    for variant in variants:
        r = judge(network, variant.split(), folder, data, want, truth, flags)
        print(f"  {variant or '(default)':40} same class {100 * r['same']:5.1f} %  L2 {r['l2']:.4f}  right {100 * r['top1']:5.1f} %  "
              f"ORT's class {100 * r['ort']:5.1f} %, L2 {r['ort_l2']:.1e}  {r['seconds']:.1f} s", flush=True)
        if check and (r["same"] < least or r["l2"] > most or (r["ort"] < 0.97 and not peer_bytes.SATURATES)):
            print(f"FAILED: {network}: wanted at least {100 * least:.0f} %, at most {most}, and ORT's class on 97 %")
            failed = 1
    return failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--only")
    parser.add_argument("--photos", type=int)
    parser.add_argument("--variant", action="append")
    given = parser.parse_args()
    missing = [n for n in NETWORKS if not os.path.exists(os.path.join(DATA, "models", n, "model.onnx"))]
    if missing or not os.path.isdir(IMAGES):
        print(f"no {' '.join(missing) or 'imagenet500'} in {DATA}: skipped")
        return 77
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for network in NETWORKS:
            if given.only in (None, network):
                failed |= run(network, given.variant or [""], given.photos or (436 if given.all else 100), not given.all,
                              folder)
    return failed


if __name__ == "__main__":
    sys.exit(main())
