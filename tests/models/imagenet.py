#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""MobileNetV2 on the first images of imagenet500: hone's top-1 class must be onnxruntime's, on the same tensors,
which hone's own image reader makes (through a model that is one Identity).
usage: tests/models/imagenet.py [COUNT]   (default 200)"""
import os
import subprocess
import sys
import tempfile

import numpy
import onnxruntime
from onnx import TensorProto, helper

HERE = os.path.dirname(os.path.abspath(__file__))
PROJECT = os.path.dirname(os.path.dirname(HERE))
TOOL = os.environ.get("HONE_BIN", os.path.join(PROJECT, "build", "release", "hone"))
DATA = os.environ.get("HONE_TEST_DATA", os.path.join(PROJECT, "..", "shared"))
MODEL = os.path.join(DATA, "models", "mobilenet_v2_fp32", "model.onnx")
IMAGES = os.path.join(DATA, "images", "imagenet500")


def tool(*arguments):
    subprocess.run([TOOL, *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=600)


def write_identity(path):
    shape = (1, 3, 224, 224)
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "identity",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    made.ir_version = 8
    with open(path, "wb") as file:
        file.write(made.SerializeToString())


def only_file(folder):
    names = os.listdir(folder)
    if len(names) != 1:
        raise RuntimeError(f"{folder}: {names}")
    return os.path.join(folder, names[0])


def compare(count, folder):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(MODEL, options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    identity, engine = os.path.join(folder, "identity.onnx"), os.path.join(folder, "m.hone")
    pixels, scores = os.path.join(folder, "pixels"), os.path.join(folder, "scores")
    write_identity(identity)
    tool("build", MODEL, "-o", engine, "--shapes", f"{name}:1x3x224x224", "--level", "1")
    images = sorted(file for file in os.listdir(IMAGES) if file.endswith(".jpg"))[:count]
    same = 0
    for image in images:
        tool("run", identity, "--level", "0", "--input", f"x={os.path.join(IMAGES, image)}", "--mean",
             "0.485,0.456,0.406", "--std", "0.229,0.224,0.225", "--output-dir", pixels)
        tool("run", engine, "--input", f"{name}={only_file(pixels)}", "--output-dir", scores)
        want = int(session.run(None, {name: numpy.load(only_file(pixels))})[0].argmax())
        got = int(numpy.load(only_file(scores)).argmax())
        same += got == want
        if got != want:
            print(f"{image}: class {got}, onnxruntime says {want}")
    print(f"imagenet: the same top-1 class on {same} of {len(images)} images")
    return 0 if images and same == len(images) else 1


def main():
    if not os.path.exists(MODEL) or not os.path.isdir(IMAGES):
        print(f"no model or images in {DATA}: skipped")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        return compare(int(sys.argv[1]) if len(sys.argv) > 1 else 200, folder)


if __name__ == "__main__":
    sys.exit(main())
