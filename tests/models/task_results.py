#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""task_results.py - trained networks other than ImageNet's, in 8 bits by `hone quantize` and in f32, held against each other
by what they are for: boxes, text regions, text, masks, pictures, classes, speech flags, notes, cleaned speech. Ranges come from
samples that do not judge; each row of CASES says which, what is compared, and the least result that passes.

usage: tests/models/task_results.py [--all] [--only NAME] [--noise] [--variant "QUANTIZE OPTIONS"]
without --all the rows marked quick, on fewer samples: the test. --noise takes ranges from one random sample instead"""
import argparse
import gzip
import json
import os
import sys
import tempfile
import wave

import numpy as np
import onnx

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import calibrate  # noqa: E402
import hone_api  # noqa: E402

DATA = calibrate.DATA
PHOTOS = os.path.join(DATA, "images", "photos")
IMAGENET = calibrate.IMAGES
# Photos of imagenet500 with text on them, or likely to have it; every other one for ranges.
WITH_TEXT = ["0424", "0440", "0454", "0480", "0498", "0654", "0692", "0720", "0788", "0800", "0838", "0860", "0864", "0874",
             "0898", "0918", "0922"]
FACES = ["faces_linzaer_12", "faces_linzaer_15", "faces_linzaer_2", "faces_linzaer_20", "faces_linzaer_3"]
SCENES = ["cat", "dog", "egyptian_cat", "goldfish", "horse-cart", "hummingbird", "kimono", "kitten", "wolves"]
# The lines of text of ocr_sample, of 800 x 533: left, top, right, bottom.
LINES = [(302, 211, 747, 262), (296, 264, 751, 293), (510, 298, 749, 328), (510, 328, 703, 351), (512, 360, 747, 388),
         (508, 390, 676, 411)]
# The characters of ppocr_rec_en's classes 1 to 96; 0 is none.
CHARACTERS = ("0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~!\"#$%&'()*+,-./  ")


# ---- samples ----

def photo(name):
    for folder in (PHOTOS, IMAGENET):
        for end in (".jpg", ".png"):
            if os.path.exists(os.path.join(folder, name + end)):
                return os.path.join(folder, name + end)
    raise RuntimeError(f"no photo {name} in {DATA}")


def imagenet(count):
    """Of all kinds: the first ones by name are fish and birds."""
    names = [name[:-4] for name in sorted(os.listdir(IMAGENET)) if name.endswith(".jpg")]
    return names[::max(len(names) // count, 1)][:count]


class Pictures:
    """Photos as hone reads them, through a model that is one Identity."""

    def __init__(self, folder):
        self.folder = folder

    def read(self, names, shape, *flags):
        path, out = os.path.join(self.folder, "identity.onnx"), os.path.join(self.folder, "pixels")
        value = [onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, shape) for n in "xy"]
        graph = onnx.helper.make_graph([onnx.helper.make_node("Identity", ["x"], ["y"])], "g", value[:1], value[1:])
        onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), path)
        height, width = shape[1:3] if shape[3] == 3 else shape[2:]
        found = []
        for name in names:
            calibrate.tool("run", path, "--level", 0, "--input", f"x={photo(name)}", "--resize", f"{width}x{height}", *flags,
                           "--output-dir", out)
            found.append(np.load(os.path.join(out, "y.npy")))
        return found


def sound(name):
    with wave.open(os.path.join(DATA, "audio", name + ".wav")) as file:
        return np.frombuffer(file.readframes(file.getnframes()), "<i2").astype(np.float32) / 32768


def cifar():
    with np.load(os.path.join(DATA, "images", "cifar10_vit_samples.npz")) as file:
        return file["x"].astype(np.float32)


def scale_to(image, height, width):
    """Bilinear, of an image (channels, rows, columns)."""
    def at(count, size):
        x = np.clip((np.arange(count) + 0.5) * size / count - 0.5, 0, size - 1)
        low = np.floor(x).astype(int)
        return low, np.minimum(low + 1, size - 1), (x - low).astype(np.float32)
    low, high, part = at(height, image.shape[1])
    rows = image[:, low] * (1 - part)[:, None] + image[:, high] * part[:, None]
    low, high, part = at(width, image.shape[2])
    return rows[:, :, low] * (1 - part) + rows[:, :, high] * part


# ---- engines ----

class Network:
    """An engine of a model for the shapes of one sample."""

    def __init__(self, model, sample, folder):
        engine = os.path.join(folder, "m.hone")
        shapes = ",".join(f"{name}:{'x'.join(map(str, x.shape))}" for name, x in sample.items() if x.ndim)
        calibrate.tool("build", model, "-o", engine, "--shapes", shapes, "--level", 0, "--threads", 1)
        self.session = hone_api.Hone(engine, threads=1)
        self.names = [output.name for output in onnx.load(model, load_external_data=False).graph.output]

    def __call__(self, sample):
        self.session.bind(sample)
        self.session.run()
        return self.session.outputs(self.names)


def each(network, samples, _):
    return [network(sample) for sample in samples]


def in_turn(network, samples, state):
    """Samples are one stream: what the network says of its state is given back to it. `state`: input to output."""
    kept, found = {name: samples[0][name] for name in state}, []
    for sample in samples:
        outputs = network({**sample, **kept})
        kept = {name: outputs[state[name]] for name in state}
        found.append(outputs)
    return found


def states(network, samples, state):
    """The samples with the states that they meet."""
    found = in_turn(network, samples, state)
    return [samples[0]] + [{**s, **{name: f[state[name]] for name in state}} for s, f in zip(samples[1:], found)]


# ---- what is compared: each gives text and one number, the larger the better ----

def overlap(a, b):
    """Intersection over union of two boxes (left, top, right, bottom)."""
    sides = np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2])
    both = np.prod(np.maximum(sides, 0))
    return both / (np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - both)


def suppress(boxes, scores, least, most):
    """The best boxes, without those that overlap a better one by more than `most`."""
    kept = []
    for i in np.argsort(-scores):
        if scores[i] < least:
            break
        if all(overlap(boxes[i], k) <= most for k in kept):
            kept.append(boxes[i])
    return kept


def ultraface_boxes(outputs):
    return suppress(outputs["boxes"][0] * [320, 240, 320, 240], outputs["scores"][0, :, 1], 0.7, 0.3)


def yunet_boxes(outputs):
    boxes, scores = [], []
    for stride in (8, 16, 32):
        rows, columns = YUNET[0] // stride, YUNET[1] // stride
        at = np.stack(np.meshgrid(np.arange(columns), np.arange(rows)), -1).reshape(-1, 2)
        box = outputs[f"bbox_{stride}"][0]
        centre, size = (at + box[:, :2]) * stride, np.exp(box[:, 2:]) * stride
        boxes.append(np.hstack([centre - size / 2, centre + size / 2]))
        scores.append(np.sqrt(outputs[f"cls_{stride}"][0, :, 0] * outputs[f"obj_{stride}"][0, :, 0]))
    return suppress(np.vstack(boxes), np.concatenate(scores), 0.7, 0.3)


def match(got, want, least=0.5):
    """Overlaps of boxes that are the same, the nearest first."""
    pairs = sorted(((overlap(g, w), i, k) for i, g in enumerate(got) for k, w in enumerate(want)), reverse=True)
    taken, found = set(), []
    for value, i, k in pairs:
        if value >= least and ("g", i) not in taken and ("w", k) not in taken:
            taken |= {("g", i), ("w", k)}
            found.append(value)
    return found


def boxes_of(decode):
    def compare(got, want):
        pairs = [(decode(g), decode(w)) for g, w in zip(got, want)]
        found = [match(g, w) for g, w in pairs]
        same, ours, theirs = sum(map(len, found)), sum(len(g) for g, _ in pairs), sum(len(w) for _, w in pairs)
        mean = float(np.mean(np.concatenate(found))) if same else 0.0
        return f"{theirs} boxes, in int8 {ours}, {same} the same, mean IoU {mean:.3f}", 2 * same / max(ours + theirs, 1)
    return compare


def regions(mask, least=20):
    """Boxes of connected sets of at least `least` pixels."""
    left, found = set(map(tuple, np.argwhere(mask))), []
    while left:
        stack, seen = [left.pop()], []
        while stack:
            y, x = stack.pop()
            seen.append((y, x))
            for near in ((y + 1, x), (y - 1, x), (y, x + 1), (y, x - 1)):
                if near in left:
                    left.remove(near)
                    stack.append(near)
        if len(seen) >= least:
            points = np.array(seen)
            found.append(np.concatenate([points.min(0)[::-1], points.max(0)[::-1] + 1]))
    return found


def text_regions(got, want):
    masks = [(next(iter(g.values()))[0, 0] > 0.3, next(iter(w.values()))[0, 0] > 0.3) for g, w in zip(got, want)]
    both, either = sum(np.sum(g & w) for g, w in masks), sum(np.sum(g | w) for g, w in masks)
    text, share = boxes_of(regions)([g for g, _ in masks], [w for _, w in masks])
    return f"{text.replace('boxes', 'regions')}; IoU of masks {both / either:.3f}", share


def read(outputs):
    classes = next(iter(outputs.values()))[0].argmax(-1)
    return "".join(CHARACTERS[c - 1] for i, c in enumerate(classes) if c and (i == 0 or classes[i - 1] != c))


def distance(a, b):
    """Insertions, deletions and changes from one text to the other."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a):
        before, row[0] = row[0], i + 1
        for k, y in enumerate(b):
            before, row[k + 1] = row[k + 1], min(row[k + 1] + 1, row[k] + 1, before + (x != y))
    return row[-1]


def texts(got, want):
    pairs = [(read(g), read(w)) for g, w in zip(got, want)]
    wrong, length = sum(distance(g, w) for g, w in pairs), sum(len(w) for _, w in pairs)
    return (f"{sum(g == w for g, w in pairs)} of {len(pairs)} lines equal, {wrong} of {length} characters differ "
            f"(\"{pairs[-1][0]}\")"), 1 - wrong / max(length, 1)


def masks(got, want):
    """Each class's intersection over union, over all photos, of classes that f32 gives a hundredth of a photo."""
    got, want = (np.stack([next(iter(o.values()))[0].argmax(-1) for o in all_of]) for all_of in (got, want))
    found = [c for c in range(21) if np.sum(want == c) >= want[0].size / 100]
    each_of = [np.sum((got == c) & (want == c)) / np.sum((got == c) | (want == c)) for c in found]
    mean = float(np.mean(each_of))
    return f"{len(found)} classes, mIoU {mean:.3f}, least {min(each_of):.3f}, {100 * np.mean(got == want):.1f} % of pixels the same", mean


def pictures(got, want):
    found = [-10 * np.log10(np.mean((np.clip(next(iter(g.values())), 0, 1) - np.clip(next(iter(w.values())), 0, 1)) ** 2))
             for g, w in zip(got, want)]
    return f"PSNR {np.mean(found):.1f} dB, least {min(found):.1f}", float(min(found))


def classes(got, want):
    same = np.mean([next(iter(g.values())).argmax() == next(iter(w.values())).argmax() for g, w in zip(got, want)])
    return f"{100 * same:.1f} % of {len(got)} the same class", float(same)


def flags(got, want):
    got, want = (np.array([o["output"].item() for o in all_of]) for all_of in (got, want))
    same = np.mean((got > 0.5) == (want > 0.5))
    return (f"{100 * same:.1f} % of {len(got)} flags the same ({100 * np.mean(want > 0.5):.0f} % speech), largest difference of "
            f"probability {np.abs(got - want).max():.3f}"), float(same)


def notes(got, want):
    """Cells of frame and pitch above basic_pitch's own thresholds, at onsets and while a note lasts."""
    said, least = [], 1.0
    for what, name, level in (("onsets", "StatefulPartitionedCall:2", 0.5), ("frames", "StatefulPartitionedCall:1", 0.3)):
        a, b = (np.stack([o[name] for o in all_of]) > level for all_of in (got, want))
        f1 = 2 * np.sum(a & b) / max(np.sum(a) + np.sum(b), 1)
        said.append(f"{what} {np.sum(b)}, in int8 {np.sum(a)}, F1 {f1:.3f}")
        least = min(least, float(f1))
    return "; ".join(said), least


def signal(name, of=lambda x, i: x):
    def compare(got, want):
        got, want = (np.stack([of(o[name], i) for i, o in enumerate(all_of)]) for all_of in (got, want))
        ratio = 10 * np.log10(np.sum(want ** 2) / np.sum((got - want) ** 2))
        return f"{ratio:.1f} dB of f32's signal to the difference, {len(got)} frames", float(ratio)
    return compare


def masked(spectra_of_samples):
    """DTLN's mask, on the spectrum that it is for."""
    return signal("activation_2", lambda mask, i: mask * spectra_of_samples[i])


# ---- samples of each network: for ranges, and for judging ----

YUNET = (480, 640)


def of_photos(shape, *options, ranges, judges, quick, name):
    def samples(pictures_, all_of_them):
        judging = judges() if all_of_them else judges()[:quick]
        return [[{name: x} for x in pictures_.read(names, shape, *options)] for names in (ranges(), judging)]
    return samples


def faces_for_ranges():
    return FACES[:2] + WITH_TEXT[:2] + imagenet(28)


def faces_for_judges():
    return FACES[2:] + ["cat", "dog", "kimono"]


def mirrored(samples):
    """Ranges of more faces: their mirror images too."""
    def more(pictures_, all_of_them):
        for_ranges, judging = samples(pictures_, all_of_them)
        return for_ranges + [{k: x[..., ::-1].copy() for k, x in s.items()} for s in for_ranges[:2]], judging
    return more


def luminance(pictures_, all_of_them):
    weights = np.array([0.299, 0.587, 0.114], np.float32).reshape(1, 3, 1, 1)
    return [[{"input": np.sum(x * weights, 1, keepdims=True)} for x in pictures_.read(names, (1, 3, 224, 224))]
            for names in (imagenet(16), SCENES if all_of_them else SCENES[:3])]


def lines(pictures_, _):
    """Every other line of the one photo that has any judges; ranges from the others and from strips of photos."""
    whole = 2 * pictures_.read(["ocr_sample"], (1, 3, 533, 800), "--channels", "bgr")[0][0] - 1
    cut = []
    for left, top, right, bottom in LINES:
        part = whole[:, top:bottom, left:right]
        cut.append({"x": line_of(part)})
    strips = [2 * x[0] - 1 for x in pictures_.read(WITH_TEXT, (1, 3, 224, 224), "--channels", "bgr")]
    return [{"x": line_of(s[:, y:y + 24])} for s in strips for y in (60, 100, 140)] + cut[0::2], cut[1::2]


def line_of(part):
    """32 rows, 320 columns: what is left over is 0."""
    width = min(320, round(part.shape[2] * 32 / part.shape[1]))
    line = np.zeros((1, 3, 32, 320), np.float32)
    line[0, :, :, :width] = scale_to(part, 32, width)
    return line


def digits(_, all_of_them):
    with gzip.open(os.path.join(DATA, "images", "mnist", "t10k-images-idx3-ubyte.gz")) as file:
        x = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 1, 1, 28, 28).astype(np.float32)
    return [{"Input3": i} for i in x[:64]], [{"Input3": i} for i in x[64:10000 if all_of_them else 1064]]


def cifar_of(name, change):
    def samples(_, __):
        x = change(cifar())
        return [{name: i[None]} for i in x[:64]], [{name: i[None]} for i in x[64:]]
    return samples


def normalised(x):
    mean, deviation = (np.array(v, np.float32).reshape(1, 3, 1, 1) for v in ((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)))
    return (x - mean) / deviation


def speech(_, all_of_them):
    """Chunks of 512 with the 64 before them."""
    def chunks(x):
        x = np.concatenate([np.zeros(64, np.float32), x])
        state = np.zeros((2, 1, 128), np.float32)
        return [{"input": x[None, i:i + 576], "state": state, "sr": np.array(16000, np.int64)}
                for i in range(0, len(x) - 575, 512)]
    return chunks(sound("gtcrn_mix"))[:128], chunks(sound("silero_test"))[:None if all_of_them else 600]


def spectra(x, hop, window):
    return [np.fft.rfft(x[i:i + 512] * window).astype(np.complex64) for i in range(0, len(x) - 511, hop)]


def noisy(hop, window, form):
    """The first part of the noisy speech for ranges, the rest judges."""
    frames = [form(f) for f in spectra(sound("gtcrn_mix"), hop, window)]
    return frames[:128], frames[128:]


def dtln(_, __):
    state = np.zeros((1, 2, 128, 2), np.float32)
    return noisy(128, np.ones(512, np.float32), lambda f: {"input_2": np.abs(f).reshape(1, 1, 257), "input_3": state})


def gtcrn(_, __):
    empty = {"conv_cache": np.zeros((2, 1, 16, 16, 33), np.float32), "tra_cache": np.zeros((2, 3, 1, 1, 16), np.float32),
             "inter_cache": np.zeros((2, 1, 33, 16), np.float32)}
    window = np.sqrt(np.hanning(513)[:-1]).astype(np.float32)
    return noisy(256, window, lambda f: {"mix": np.stack([f.real, f.imag], -1).reshape(1, 257, 1, 2), **empty})


def singing(_, all_of_them):
    """22.05 kHz, windows of 2 s: from the first 4 s for ranges."""
    x = sound("vocadito_10")
    x = x[:len(x) // 2 * 2].reshape(-1, 2).mean(1)
    cut = [{"serving_default_input_2:0": x[None, i:i + 43844, None]} for i in range(0, len(x) - 43843, 11025)]
    return cut[:5], cut[8:] if all_of_them else cut[8::4]


class Case:
    """least: the least result that passes; with `keep`, layers that then stay in f32, a second run must reach `least_kept`.
    state: what a stream hands on. l2_of: the outputs whose L2 is told; default all."""

    def __init__(self, model, samples, compare, least, what, quick=False, state=None, l2_of=None, keep=(), least_kept=None):
        self.model, self.samples, self.compare, self.least, self.what = model, samples, compare, least, what
        self.quick, self.state, self.l2_of, self.keep, self.least_kept = quick, state or {}, l2_of, keep, least_kept

    def runs(self, variant):
        """Options of `hone quantize`, and the bound."""
        kept = [[o for name in self.keep for o in ("--keep", name)]] if self.keep and not variant else []
        return [(variant.split(), self.least)] + [(options, self.least_kept) for options in kept]

    def path(self):
        return os.path.join(DATA, "models", self.model, "model.onnx")


MEANS = ["--mean", "0.485,0.456,0.406", "--std", "0.229,0.224,0.225"]
CASES = [
    Case("ultraface_rfb320", mirrored(of_photos(
        (1, 3, 240, 320), "--scale", "1", "--mean", "127", "--std", "128", name="input", ranges=faces_for_ranges,
        judges=faces_for_judges, quick=2)), boxes_of(ultraface_boxes), 0.9, "faces", quick=True),
    Case("yunet_n_dynamic", mirrored(of_photos(
        (1, 3, *YUNET), "--scale", "1", "--channels", "bgr", name="input", ranges=faces_for_ranges,
        judges=faces_for_judges, quick=2)), boxes_of(yunet_boxes), 0.85, "faces"),
    Case("ppocr_det_v3", of_photos(
        (1, 3, 512, 800), "--channels", "bgr", *MEANS, name="x", ranges=lambda: WITH_TEXT[::2],
        judges=lambda: ["ocr_sample"] + WITH_TEXT[1::2], quick=1), text_regions, 0.8, "text regions"),
    Case("ppocr_rec_en", lines, texts, 0.85, "text"),
    Case("deeplabv3_mnv2_dm05", of_photos(
        (1, 257, 257, 3), "--layout", "nhwc", "--mean", "0.5", "--std", "0.5", name="sub_7", ranges=lambda: imagenet(32),
        judges=lambda: SCENES + ["faces_linzaer_2"], quick=4), masks, 0.85, "mask of classes", quick=True),
    Case("super_resolution_10", luminance, pictures, 33, "picture of 3 x the size"),
    Case("mnist8_cntk", digits, classes, 0.99, "class", quick=True),
    Case("cifar10_cnn", cifar_of("modelInput", lambda x: 2 * x - 1), classes, 0.95, "class", quick=True),
    Case("vit_cifar10_pgd", cifar_of("input", normalised), classes, 0.92, "class", quick=True),
    Case("cct_cifar_gelu_opset20", cifar_of("input", normalised), classes, 0.94, "class"),
    # Layers around spectra are kept in a second run (docs/QUANTIZING.md): all in 8 bits the results are others.
    Case("silero_vad_16k_op15", speech, flags, 0.75, "speech flags", quick=True, state={"state": "stateN"}, l2_of=["output"],
         keep=("/model/stft/Conv", "/model/encoder/0/reparam_conv/Conv"), least_kept=0.98),
    Case("dtln_1", dtln, None, 40, "mask of speech", quick=True, state={"input_3": "tf_op_layer_stack_2"},
         l2_of=["activation_2"]),
    Case("gtcrn_simple", gtcrn, signal("enh"), 8, "cleaned speech",
         state={n: n + "_out" for n in ("conv_cache", "tra_cache", "inter_cache")}, l2_of=["enh"],
         keep=("MatMul_26", "Conv_75", "Conv_77", "Conv_147", "MatMul_1757"), least_kept=28),
    Case("basic_pitch", singing, notes, 0.4, "notes", keep=("*cq_t2010v2*",), least_kept=0.9),
]


def far(got, want, names):
    """Relative L2 of all outputs on all samples together: a photo without text alone has next to nothing to be relative to."""
    def flat(all_of):
        return np.concatenate([o[n].ravel() for o in all_of for n in names or o])
    return float(np.linalg.norm(flat(got) - flat(want)) / np.linalg.norm(flat(want)))


def save_samples(samples, folder, noise):
    """As `hone quantize --calib` takes them: a folder a sample, a file an input."""
    if noise:
        random = np.random.default_rng(0)
        samples = [{name: random.uniform(-1, 1, x.shape).astype(x.dtype) if x.dtype == np.float32 else x
                    for name, x in samples[0].items()}]
    path = os.path.join(folder, "samples")
    for i, sample in enumerate(samples):
        os.makedirs(os.path.join(path, f"{i:04}"))
        for name, x in sample.items():
            np.save(os.path.join(path, f"{i:04}", name + ".npy"), x)
    return path, len(samples)


def judge(case, given, folder):
    """For each run of the case: a row of the table, the result, its bound."""
    ranges, samples = case.samples(Pictures(folder), given.all)
    run = in_turn if case.state else each
    f32 = Network(case.path(), samples[0], folder)
    want = run(f32, samples, case.state)
    if case.state:
        ranges = states(f32, ranges, case.state)
    path, count = save_samples(ranges, folder, given.noise)
    compare = case.compare or masked([s["input_2"] for s in samples])
    quantised = os.path.join(folder, "q.onnx")
    for options, least in case.runs(given.variant):
        told = json.loads(calibrate.tool("quantize", case.path(), "--calib", path, "--calib-count", count, "-o", quantised,
                                         "--threads", 1, "--json", *options).stdout)
        got = run(Network(quantised, samples[0], folder), samples, case.state)
        text, result = compare(got, want)
        name = " ".join([case.model, *(f"`{o}`" if o[0] != "-" else o for o in options)])
        row = (f"| {name} | {told['layers']} of {told['layers'] + told['layers_in_f32']} | {case.what} ({count}, {len(samples)}) | "
               f"{text} | {far(got, want, case.l2_of):.4f} |")
        yield row, result, least


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--only")
    parser.add_argument("--noise", action="store_true")
    parser.add_argument("--variant", default="")
    given = parser.parse_args()
    wanted = [c for c in CASES if (given.only == c.model if given.only else given.all or c.quick)]
    missing = [c.model for c in wanted if not os.path.exists(c.path())]
    if missing or not os.path.isdir(PHOTOS) or not os.path.isdir(IMAGENET):
        print(f"no {' '.join(missing) or 'photos'} in {DATA}: skipped")
        return 77
    failed = []
    print("| model | layers in 8 bits | compared | int8 against f32 | relative L2 |\n|---|---|---|---|---|")
    for case in wanted:
        with tempfile.TemporaryDirectory() as folder:
            for row, result, least in judge(case, given, folder):
                print(row, flush=True)
                if not result >= least and not given.noise and not given.variant:
                    failed.append(f"{case.model}: {result:.3f}, wanted at least {least}")
    for line in failed:
        print("FAILED:", line)
    return 1 if failed or not wanted else 0


if __name__ == "__main__":
    sys.exit(main())
