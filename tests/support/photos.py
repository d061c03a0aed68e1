# SPDX-License-Identifier: Apache-2.0
"""photos.py - what recipes do, by Pillow and NumPy: photos prepared, heads decoded, boxes suppressed. Nothing of hone's is
used here."""
import numpy as np
from PIL import Image

FILTERS = {"bilinear": Image.Resampling.BILINEAR, "bicubic": Image.Resampling.BICUBIC, "box": Image.Resampling.BOX,
           "hamming": Image.Resampling.HAMMING, "lanczos": Image.Resampling.LANCZOS}


def resize(image, width, height, name="bilinear"):
    return image.resize((width, height), FILTERS[name]), np.array([image.width / width, image.height / height]), np.zeros(2)


def resize_short(image, side, name="bilinear"):
    """torchvision's Resize(side)."""
    least = min(image.size)
    return resize(image, int(side * image.width / least), int(side * image.height / least), name)


def crop(image, width, height):
    """torchvision's center_crop."""
    left, top = int(round((image.width - width) / 2.0)), int(round((image.height - height) / 2.0))
    return image.crop((left, top, left + width, top + height)), np.ones(2), np.array([left, top])


def letterbox(image, width, height, fill=0, name="bilinear"):
    """ultralytics' geometry with Pillow's resize."""
    ratio = min(width / image.width, height / image.height)
    inner, scale, _ = resize(image, round(image.width * ratio), round(image.height * ratio), name)
    left, top = round((width - inner.width) / 2 - 0.1), round((height - inner.height) / 2 - 0.1)
    out = Image.new("RGB", (width, height), (fill,) * 3)
    out.paste(inner, (left, top))
    return out, scale, -np.array([left, top]) * scale


def to_photo(boxes, scale, offset, size):
    """Boxes of the prepared image in the photo, cut to it."""
    return np.clip(boxes.reshape(-1, 2, 2) * scale + offset, 0, size).reshape(-1, 4)


def corners(boxes):
    return np.concatenate([boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, :2] + boxes[:, 2:] / 2], 1)


def overlap(box, others):
    sides = np.minimum(box[2:], others[:, 2:]) - np.maximum(box[:2], others[:, :2])
    both = np.prod(np.maximum(sides, 0), 1)
    return both / (np.prod(box[2:] - box[:2]) + np.prod(others[:, 2:] - others[:, :2], 1) - both)


def suppress(boxes, scores, least, most_overlap, count=300):
    """(class, score, box) of the best boxes of each class (scores [C,A]), without those that overlap a better one of it;
    the best first."""
    found = []
    for index, row in enumerate(scores):
        order, kept = [i for i in np.argsort(-row, kind="stable") if row[i] > least], []
        while order and len(kept) < count:
            kept.append(order[0])
            order = [i for i in order[1:] if overlap(boxes[kept[-1]], boxes[i:i + 1])[0] <= most_overlap]
        found += [(index, float(row[i]), boxes[i]) for i in kept]
    return sorted(found, key=lambda f: (-f[1], f[0]))


def best_class(scores):
    return np.where(scores == scores.max(0, keepdims=True), scores, 0)


def yolov8(output):
    return corners(output[0, :4].T), best_class(output[0, 4:])


def yolov5(output):
    return corners(output[0, :, :4]), best_class((output[0, :, 5:] * output[0, :, 4:5]).T)


def yunet(outputs, width):
    boxes, scores = [], []
    for stride in (8, 16, 32):
        box, columns = outputs[f"bbox_{stride}"][0], width // stride
        index = np.arange(len(box))
        at = np.stack([index % columns, index // columns], 1)
        boxes.append(corners(np.concatenate([at + box[:, :2], np.exp(box[:, 2:])], 1) * stride))
        scores.append(np.sqrt(outputs[f"cls_{stride}"][0, :, 0] * outputs[f"obj_{stride}"][0, :, 0]))
    return np.concatenate(boxes), np.concatenate(scores)[None]


def differing(got, want, pixels=1.0, score=1e-3):
    """What is wrong with the boxes of hone's JSON against (class, score, box); None: nothing."""
    if len(got) != len(want):
        return f"{len(got)} boxes, not {len(want)}"
    for g, (index, value, box) in zip(got, want):
        if g["class"] != index or abs(g["score"] - value) > score or np.abs(np.array(g["box"]) - box).max() > pixels:
            return f"{g}, not class {index}, {value:.5f}, {box}"
    return None
