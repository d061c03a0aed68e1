#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recipes on networks and photos: what `hone run ENGINE photo.jpg` prints against Pillow, onnxruntime and NumPy. Classes of
ImageNet photos, faces of two detectors within a pixel and 1e-3 of the score, masks.
usage: tests/models/photo_results.py [COUNT]   photos of classes, default 200"""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime
from PIL import Image

HERE = os.path.dirname(os.path.abspath(__file__))
PROJECT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(PROJECT, "tests", "support"))
import photos  # noqa: E402

TOOL = os.environ.get("HONE_BIN", os.path.join(PROJECT, "build", "release", "hone"))
DATA = os.environ.get("HONE_TEST_DATA", os.path.join(PROJECT, "..", "shared"))
IMAGENET, PHOTOS = os.path.join(DATA, "images", "imagenet500"), os.path.join(DATA, "images", "photos")
MEAN, STD = np.float32([0.485, 0.456, 0.406]), np.float32([0.229, 0.224, 0.225])
wrong = []


def tell(what, right, count, least=None):
    print(f"{what}: {right} of {count}")
    if right < (count if least is None else least) or count == 0:
        wrong.append(what)


def tool(*arguments):
    done = subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise RuntimeError(f"{arguments}: {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def build(model, recipe, folder, *options):
    engine = os.path.join(folder, f"{model}.hone")
    tool("build", os.path.join(DATA, "models", model, "model.onnx"), "--recipe", recipe, "-o", engine, "--level", 1, "--quiet",
         *options)
    return engine


def found(engine, photo, *options):
    return json.loads(tool("run", engine, photo, "--json", *options))["results"]


def session(model):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    made = onnxruntime.InferenceSession(os.path.join(DATA, "models", model, "model.onnx"), options,
                                        providers=["CPUExecutionProvider"])
    name, outputs = made.get_inputs()[0].name, [output.name for output in made.get_outputs()]
    return lambda x: dict(zip(outputs, made.run(None, {name: np.ascontiguousarray(x, np.float32)})))


def bytes_of(image):
    return np.asarray(image).astype(np.float32)


def nchw(pixels):
    return pixels.transpose(2, 0, 1)[None]


def files(folder, begin=""):
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.startswith(begin) and name.endswith(".jpg")]


def classes(folder, count):
    engine, run = build("mobilenet_v2_fp32", "imagenet", folder, "--labels", os.path.join(IMAGENET, "labels.tsv")), session(
        "mobilenet_v2_fp32")
    names = files(IMAGENET)[:count]
    same = near = 0
    for name in names:
        image = photos.crop(photos.resize_short(Image.open(name).convert("RGB"), 256)[0], 224, 224)[0]
        logits = next(iter(run(nchw((bytes_of(image) / np.float32(255) - MEAN) / STD)).values()))[0]
        want = np.exp(logits - logits.max())
        want /= want.sum()
        got = found(engine, name)["images"][0]
        same += got[0]["class"] == int(want.argmax())
        near += all(abs(g["score"] - want[g["class"]]) <= 1e-3 for g in got)
    tell("mobilenet_v2_fp32: first classes like Pillow's and onnxruntime's", same, len(names))
    tell("mobilenet_v2_fp32: five probabilities within 1e-3", near, len(names))


def softmax_inside(folder):
    """SqueezeNet ends with a softmax: a recipe that asks for one gets no second one."""
    recipe = os.path.join(folder, "squeezenet.recipe")
    with open(recipe, "w", encoding="utf-8") as file:
        file.write("resize short:256\ncrop input\nchannels bgr\nmean 123.68,116.78,103.94\nclasses\nsoftmax\n")
    engine, run = build("squeezenet1_1_fp32", recipe, folder), session("squeezenet1_1_fp32")
    names = files(IMAGENET)[:40]
    near = 0
    for name in names:
        image = photos.crop(photos.resize_short(Image.open(name).convert("RGB"), 256)[0], 224, 224)[0]
        x = (bytes_of(image) - np.float32([123.68, 116.78, 103.94]))[..., ::-1]
        want = next(iter(run(nchw(x)).values())).ravel()
        got = found(engine, name)["images"][0]
        near += got[0]["class"] == int(want.argmax()) and all(abs(g["score"] - want[g["class"]]) <= 1e-3 for g in got)
    tell("squeezenet1_1_fp32: probabilities of the one softmax", near, len(names))


def ultraface(image, run):
    prepared, scale, offset = photos.resize(image, 320, 240)
    out = run(nchw((bytes_of(prepared) - 127) / 128))
    return (out["boxes"][0] * [320, 240, 320, 240], out["scores"][0, :, 1:].T), scale, offset, 0.7, 0.3


def yunet(image, run):
    prepared, scale, offset = photos.letterbox(image, 640, 640)
    return photos.yunet(run(nchw(bytes_of(prepared)[..., ::-1])), 640), scale, offset, 0.6, 0.3


def faces(folder):
    for model, recipe, reference in (("ultraface_rfb320", "ultraface", ultraface), ("yunet_n_dynamic", "yunet", yunet)):
        engine, run = build(model, recipe, folder), session(model)
        names = files(PHOTOS, "faces") + files(PHOTOS, "cat")
        same = count = 0
        for name in names:
            image = Image.open(name).convert("RGB")
            decoded, scale, offset, least, most = reference(image, run)
            want = [(c, s, photos.to_photo(b[None], scale, offset, image.size)[0])
                    for c, s, b in photos.suppress(*decoded, least, most)]
            problem = photos.differing(found(engine, name)["boxes"], want)
            count += len(want)
            same += problem is None
            if problem:
                print(f"{model}, {os.path.basename(name)}: {problem}")
        tell(f"{model}: photos whose {count} faces are NumPy's within a pixel and 1e-3", same, len(names))


def masks(folder):
    engine, run = build("deeplabv3_mnv2_dm05", "deeplab", folder), session("deeplabv3_mnv2_dm05")
    right = count = 0
    for name in files(PHOTOS):
        prepared = photos.resize(Image.open(name).convert("RGB"), 257, 257)[0]
        want = next(iter(run((bytes_of(prepared) / np.float32(127.5) - 1)[None]).values()))[0].argmax(-1)
        tool("run", engine, name, "--quiet", "--output-dir", folder)
        got = np.load(os.path.join(folder, "mask.npy"))[0]
        right, count = right + int((got == want).sum()), count + want.size
    tell("deeplabv3_mnv2_dm05: pixels of the class that onnxruntime has", right, count, least=0.9995 * count)


def text(folder):
    recipe = os.path.join(folder, "text.recipe")
    with open(recipe, "w", encoding="utf-8") as file:
        file.write("resize 640x448\nchannels bgr\nscale 1/255\nmean 0.485,0.456,0.406\nstd 0.229,0.224,0.225\nmask\n"
                   "threshold 0.3\nlabel 1 text\n")
    engine, run = build("ppocr_det_v3", recipe, folder), session("ppocr_det_v3")
    name = os.path.join(PHOTOS, "ocr_sample.jpg")
    prepared = photos.resize(Image.open(name).convert("RGB"), 640, 448)[0]
    x = ((bytes_of(prepared) / np.float32(255) - MEAN) / STD)[..., ::-1]
    want = next(iter(run(nchw(x)).values()))[0, 0] > 0.3
    tool("run", engine, name, "--quiet", "--output-dir", folder)
    got = np.load(os.path.join(folder, "mask.npy"))[0] == 1
    tell("ppocr_det_v3: pixels of text that onnxruntime has", int((got == want).sum()), want.size, least=0.9995 * want.size)


def main():
    if not os.path.isdir(IMAGENET):
        print(f"no images in {DATA}: skipped")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        classes(folder, int(sys.argv[1]) if len(sys.argv) > 1 else 200)
        softmax_inside(folder)
        faces(folder)
        masks(folder)
        text(folder)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
