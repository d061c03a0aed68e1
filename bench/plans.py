#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""plans.py - does `hone plan` foresee what its plans take? Networks are planned on seeded random samples, which say nothing of
a trained network's accuracy and all of its time; every point that was built stands with the time and the error that the
search told of it, beside what was measured, all points in turns.

    python3 bench/plans.py [--models efficientnet_b0,bert_base,vit.onnx] [--points 12] [--threads 1] [--times FILE] [--json FILE]

Models are zoo names or ONNX files. A network with free dims gets 1 for each of them. Exit code 1: of some network less than nine
tenths of the points are within 10 % of what was told, or a pure engine (all layers in f32, bf16, f16 or 8 bits, where they
can be) is better in time and error than every point that is said not to be beaten."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

import compare
import hone_api

BAR, SHARE = 0.10, 0.9


def tool(*arguments):
    done = subprocess.run([hone_api.TOOL, *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"plans.py: hone {' '.join(map(str, arguments))}: {done.stderr.strip()[-400:]}")
    return done.stdout


def samples(model, path, count):
    generator, arrays = np.random.default_rng(1), {}
    for name, shape, dtype in compare.input_ports(model):
        shape = [count * shape[0], *shape[1:]]
        arrays[name] = (generator.integers(0, 2, size=shape).astype(dtype) if np.issubdtype(np.dtype(dtype), np.integer)
                        else generator.standard_normal(shape).astype(dtype))
    np.savez(path, **arrays)


def plan(name, folder, given):
    model = name if os.path.exists(name) else os.path.join(folder, f"{name}.onnx")
    if model != name:
        tool("zoo", name, "-o", model)
    data = os.path.join(folder, "samples.npz")
    samples(model, data, given.samples)
    times = given.times or os.path.join(folder, "times")
    return json.loads(tool("plan", model, "--calib", data, "--json", "--points", given.points, "--threads", given.threads, "--level",
                           given.level, "--timing-cache", times, "--no-correction", "-o", os.path.join(folder, "plan.hone")))["points"]


def judge(points):
    """How many points took what was told, and the pure ones that nothing on the frontier is as good as."""
    near = [p for p in points if abs(p["predicted_ms"] / p["ms"] - 1) <= BAR]
    front = [p for p in points if not p["beaten"]]
    apart = [p["what"] for p in points
             if p["what"] != "mixed" and not any(q["ms"] <= p["ms"] and q["rel_l2"] <= p["rel_l2"] for q in front)]
    return len(near), apart


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="efficientnet_b0,bert_base")
    parser.add_argument("--points", type=compare.at_least(3), default=12)
    parser.add_argument("--threads", type=compare.at_least(1), default=1)
    parser.add_argument("--level", type=int, default=3)
    parser.add_argument("--samples", type=compare.at_least(3), default=6)
    parser.add_argument("--times", default="", help="measured kernels, kept from one call to the next")
    parser.add_argument("--json", default="")
    given = parser.parse_args()
    failed, all_points = False, {}
    with tempfile.TemporaryDirectory() as folder:
        for name in filter(None, given.models.split(",")):
            points = all_points[name] = plan(name, folder, given)
            print(f"{name}\n  {'ms':>9} {'told':>9}  apart   {'rel. L2':>9} {'told':>9}  layers")
            for p in points:
                layers = ", ".join(f"{count} {kind}" for kind, count in p["layers"].items() if count)
                print(f"{'  ' if p['beaten'] else ' *'}{p['ms']:9.3f} {p['predicted_ms']:9.3f} {100 * (p['predicted_ms'] / p['ms'] - 1):+6.1f} % "
                      f"{p['rel_l2']:9.2e} {p['predicted_error']:9.2e}  {layers}")
            near, apart = judge(points)
            failed |= near < SHARE * len(points) or bool(apart)
            print(f"  {near} of {len(points)} points within {100 * BAR:.0f} %"
                  + (f"; better than the frontier: {', '.join(apart)}" if apart else ""), flush=True)
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump(all_points, file, indent=1)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
