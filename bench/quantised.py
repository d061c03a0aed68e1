#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""quantised.py - quantised networks for bench/compare.py, and how often hone and ONNX Runtime agree on photos.

    python3 bench/quantised.py make FLOAT.onnx OUT.onnx [--signed] [--dynamic] [--images FOLDER --mean ... --std ...] [--count 8]
    python3 bench/quantised.py agree MODEL.onnx FOLDER [--count 500] [--flags=--bf16 --least 0.99]

make: Q/DQ per channel by ONNX Runtime's own tools, ranges of the first images or of random numbers; FLOAT.onnx may be
a zoo model's name. --signed: activations are i8, else u8. Free dims are 1 for that.
--dynamic: ranges are found by each run (ConvInteger, MatMulInteger).
agree: the first class of both on the photos of a folder (RGB, cut to 224x224 from the centre, /255, less mean, by
std), on the same tensors; exit 1 below 99.8 % (--least). --flags: of `hone build`, words apart by blanks.
Needs Pillow beside the packages of bench/requirements.txt where photos are read."""
import argparse
import os
import subprocess
import sys
import tempfile

import numpy as np

import hone_api
import peers

MEAN, STD = "0.485,0.456,0.406", "0.229,0.224,0.225"
LEAST = 0.998


def numbers(text):
    return np.array([float(part) for part in text.split(",")], np.float32)


def photos(folder, count, mean, std):
    from PIL import Image

    for name in sorted(file for file in os.listdir(folder) if file.endswith((".jpg", ".png")))[:count]:
        with Image.open(os.path.join(folder, name)) as image:
            side = min(image.size)
            left, top = (image.size[0] - side) // 2, (image.size[1] - side) // 2
            square = image.convert("RGB").crop((left, top, left + side, top + side)).resize((224, 224))
        pixels = (np.asarray(square, np.float32) / 255 - mean) / std
        yield name, np.ascontiguousarray(pixels.transpose(2, 0, 1)[None])


def float_model(name, folder):
    if os.path.exists(name):
        return name
    path = os.path.join(folder, "float.onnx")
    subprocess.run([hone_api.TOOL, "zoo", name, "-o", path], check=True, stdout=subprocess.DEVNULL)
    return path


def make(arguments, folder):
    from onnxruntime import quantization
    from onnxruntime.quantization import shape_inference

    path, ready = float_model(arguments.model, folder), os.path.join(folder, "ready.onnx")
    shape_inference.quant_pre_process(path, ready, skip_symbolic_shape=True)
    if arguments.dynamic:
        quantization.quantize_dynamic(ready, arguments.out, weight_type=quantization.QuantType.QInt8)
        print(f"{arguments.out}: {os.path.getsize(arguments.out) / 2**20:.1f} MiB")
        return 0
    ort = peers.OnnxRuntime(path, 1)
    port = ort.session.get_inputs()[0]
    shape = [dim if isinstance(dim, int) else 1 for dim in port.shape]
    generator = np.random.default_rng(1)

    class Reader(quantization.CalibrationDataReader):
        def __init__(self):
            if arguments.images:
                found = photos(arguments.images, arguments.count, numbers(arguments.mean), numbers(arguments.std))
                self.inputs = iter([pixels for _, pixels in found])
            else:
                self.inputs = iter([generator.standard_normal(shape).astype(np.float32)
                                    for _ in range(arguments.count)])

        def get_next(self):
            value = next(self.inputs, None)
            return None if value is None else {port.name: value}

    kind = quantization.QuantType.QInt8 if arguments.signed else quantization.QuantType.QUInt8
    quantization.quantize_static(ready, arguments.out, Reader(), quant_format=quantization.QuantFormat.QDQ,
                                 per_channel=True, activation_type=kind, weight_type=quantization.QuantType.QInt8,
                                 extra_options={"ActivationSymmetric": False})
    print(f"{arguments.out}: {os.path.getsize(arguments.out) / 2**20:.1f} MiB")
    return 0


def agree(arguments, folder):
    engine = os.path.join(folder, "model.hone")
    ort = peers.OnnxRuntime(arguments.model, 1)
    port, result = ort.session.get_inputs()[0].name, ort.session.get_outputs()[0].name
    subprocess.run([hone_api.TOOL, "build", arguments.model, "-o", engine, "--shapes", f"{port}:1x3x224x224",
                    "--threads", "1", *arguments.flags.split()], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    hone = hone_api.Hone(engine, 1)
    same = equal = count = 0
    worst = 0.0
    for name, pixels in photos(arguments.folder, arguments.count, numbers(arguments.mean), numbers(arguments.std)):
        hone.bind({port: pixels})
        hone.run()
        got, want = hone.tensor(result).copy(), ort.session.run([result], {port: pixels})[0]
        distance = float(np.linalg.norm((got - want).astype(np.float64)) / np.linalg.norm(want.astype(np.float64)))
        worst, count = max(worst, distance), count + 1
        equal += np.array_equal(got, want)
        same += int(got.argmax()) == int(want.argmax())
        if got.argmax() != want.argmax():
            print(f"{name}: class {got.argmax()}, onnxruntime says {want.argmax()}")
    print(f"the same first class on {same} of {count} photos, equal bits on {equal}; largest relative L2 {worst:.1e}")
    return 0 if count and same >= arguments.least * count else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("make")
    one.add_argument("model")
    one.add_argument("out")
    one.add_argument("--signed", action="store_true")
    one.add_argument("--dynamic", action="store_true")
    one.add_argument("--images", default="")
    one.add_argument("--count", type=int, default=8)
    two = commands.add_parser("agree")
    two.add_argument("model")
    two.add_argument("folder")
    two.add_argument("--count", type=int, default=500)
    two.add_argument("--flags", default="")
    two.add_argument("--least", type=float, default=LEAST)
    for command in (one, two):
        command.add_argument("--mean", default=MEAN)
        command.add_argument("--std", default=STD)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        return {"make": make, "agree": agree}[arguments.command](arguments, folder)


if __name__ == "__main__":
    sys.exit(main())
