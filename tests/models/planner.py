#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""planner.py - MobileNetV2 planned by `hone plan`: ranges from the first photos of imagenet500, points judged on the next,
and the engine that was chosen held to its constraint on photos that the planner never saw. Times are told, not judged,
unless --all is given: that is for a quiet machine. It makes three plans of some minutes each, which --only picks from; --times
keeps measured kernels from one to the next.

usage: tests/models/planner.py [--all] [--only frontier|drop|error] [--times FILE]"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import calibrate  # noqa: E402
import hone_api  # noqa: E402

NETWORK = "mobilenet_v2_fp32"
FLAGS = calibrate.NETWORKS[NETWORK][0]
NEAR = 1.15  # of int8's time
failures = []


def check(good, what):
    if not good:
        failures.append(what)
        print("FAILED:", what)


def linked(folder, name, photos):
    path = os.path.join(folder, name)
    os.mkdir(path)
    for photo in photos:
        os.symlink(os.path.join(calibrate.IMAGES, photo), os.path.join(path, photo))
    return path


def plan(times, parts, engine, *options):
    done = subprocess.run([calibrate.TOOL, "plan", os.path.join(calibrate.DATA, "models", NETWORK, "model.onnx"), "--calib",
                           parts[0], "--eval", parts[1], "--labels", os.path.join(calibrate.IMAGES, "labels.tsv"), "--json",
                           "--threads", "1", "--timing-cache", times, "-o", engine, *FLAGS,
                           *map(str, options)], capture_output=True, text=True, timeout=1700, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def outputs(engine, data, threads=2):
    session = hone_api.Hone(engine, threads=threads)
    results = []
    for x in data:
        session.bind({"input": x})
        session.run()
        results.append(list(session.outputs(["output"]).values())[0].reshape(-1).copy())
    return results


def tell(told):
    for p in told["points"]:
        print(f"  {'*' if p['chosen'] else ' '} {p['ms']:7.3f} ms (told {p['predicted_ms']:7.3f})  L2 {p['rel_l2']:.5f} (told "
              f"{p['predicted_error']:.5f})  same class {100 * p['same_class']:5.1f} %  drop {100 * p['drop']:5.2f} % (<= "
              f"{100 * p['drop_bound']:.2f})  {p['layers']}  {p['what']}", flush=True)


def judge_points(told, quiet):
    points = told["points"]
    loud = [p for p in points if p["rel_l2"] > 5e-3]
    near = [p for p in loud if 0.5 < p["predicted_error"] / p["rel_l2"] < 2]
    check(len(near) >= 0.9 * len(loud), f"noise was foreseen within 2 x for {len(near)} of {len(loud)} points")
    whole = {p["what"]: p for p in points}
    check({"f32", "int8"} <= set(whole) and len(points) > len(whole), "pure points, and mixed ones")
    mixed = [p for p in points if p["what"] == "mixed"]
    check(any(p["rel_l2"] < 0.9 * whole["int8"]["rel_l2"] and p["layers"]["int8"] > 0 for p in mixed),
          "no mixed plan is nearer to f32 than int8")
    if not quiet:
        return
    right = [p for p in points if 0.9 < p["predicted_ms"] / p["ms"] < 1.1]
    check(len(right) >= 0.9 * len(points), f"times were foreseen within 10 % for {len(right)} of {len(points)} points")
    for p in points:  # none of the pure ones lies below the frontier
        others = [q for q in points if not q["beaten"]]
        check(not p["beaten"] or any(q["ms"] <= p["ms"] and q["rel_l2"] <= p["rel_l2"] for q in others), f"{p}")


def judge_mixed(told):
    """98 of 100 photos as f32 has them, in hardly more than int8's time."""
    int8 = next(p for p in told["points"] if p["what"] == "int8")
    near = [p for p in told["points"] if p["ms"] <= NEAR * int8["ms"]]
    best = max(near, key=lambda p: p["same_class"])
    print(f"  within {NEAR} of int8's time: {100 * best['same_class']:.1f} % at {best['ms'] / int8['ms']:.3f}")
    check(best["same_class"] >= 0.98, f"no mixed plan has the same class on 98 % in {NEAR} of int8's time")


def unseen(folder, times, parts, model, photos, labels, constraints, options):
    """The last plan of those that hold a constraint, each held to it on photos that it never saw."""
    data = calibrate.pixels(folder, NETWORK, FLAGS, photos)
    truth = [labels[n] for n in photos]
    f32 = os.path.join(folder, "f32.hone")
    calibrate.tool("build", model, "-o", f32, "--level", 0)
    want = outputs(f32, data)
    for name, value in constraints:
        option = "--max-" + name
        engine = os.path.join(folder, f"{name}.hone")
        told = plan(times, parts, engine, option, value, *options)
        print(f"{option} {value}:")
        tell(told)
        got = outputs(engine, data)
        l2 = np.mean([np.linalg.norm(g - w) / np.linalg.norm(w) for g, w in zip(got, want)])
        same = np.mean([g.argmax() == w.argmax() for g, w in zip(got, want)])
        lost = np.mean([w.argmax() == t for w, t in zip(want, truth)]) - np.mean([g.argmax() == t for g, t in zip(got, truth)])
        apart = np.mean([(g.argmax() == t) != (w.argmax() == t) for g, w, t in zip(got, want, truth)])
        print(f"  on {len(photos)} photos that it never saw: L2 {l2:.5f}, same class {100 * same:.1f} %, drop {100 * lost:.2f} %",
              flush=True)
        if name == "error":
            check(l2 <= 1.1 * value, f"L2 {l2} on unseen photos, {value} was asked for")
        else:  # what so few photos can tell apart
            check(lost <= value + 1.65 * np.sqrt(apart / len(photos)), f"drop {lost} on unseen photos, {value} was asked for")
    return told


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--only", choices=("frontier", "drop", "error"))
    parser.add_argument("--times")
    given = parser.parse_args()
    model = os.path.join(calibrate.DATA, "models", NETWORK, "model.onnx")
    if not os.path.exists(model) or not os.path.isdir(calibrate.IMAGES):
        print(f"no {NETWORK} or imagenet500 in {calibrate.DATA}: skipped")
        return 77
    names = sorted(n for n in os.listdir(calibrate.IMAGES) if n.endswith(".jpg"))
    ranged, judged, left = (64, 218, 218) if given.all else (24, 40, 40)
    options = ("--points", 20) if given.all else ("--points", 8, "--level", 1)
    constraints = [(n, v) for n, v in (("drop", 0.01), ("error", 0.05)) if given.only == n or not given.only and (given.all or n == "error")]
    with tempfile.TemporaryDirectory() as folder:
        times = given.times or os.path.join(folder, "times")
        calib = linked(folder, "calib", names[:ranged])
        if given.all and given.only in (None, "frontier"):
            parts = (calib, linked(folder, "others", names[ranged:]))
            told = plan(times, parts, os.path.join(folder, "knee.hone"), *options)
            print("the frontier:")
            tell(told)
            judge_points(told, True)
            target = NEAR * next(p["ms"] for p in told["points"] if p["what"] == "int8")
            aimed = plan(times, parts, os.path.join(folder, "near.hone"), *options, "--target-ms", f"{target:.4f}")
            print(f"aimed at {target:.3f} ms:")
            tell(aimed)
            judge_mixed(aimed)
        if constraints:
            parts = (calib, linked(folder, "eval", names[ranged:ranged + judged]))
            rest = names[ranged + judged:ranged + judged + left]
            judge_points(unseen(folder, times, parts, model, rest, calibrate.labels(), constraints, options), False)
    print(f"planner: {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
