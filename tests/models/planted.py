#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What tools/plant put into a network of the zoo, `hone advise` must find and name, and the build must remove what it can; in the
network as it was it must find no defect; and the planted network must compute what the clean one does.
usage: tests/models/planted.py [--seeds N] [--first SEED]   (default 5, one of each network, from 0 on)"""
import glob
import json
import os
import subprocess
import sys
import tempfile

import numpy
import onnx  # noqa: F401  what tools/plant imports

HERE = os.path.dirname(os.path.abspath(__file__))
PROJECT = os.path.dirname(os.path.dirname(HERE))
TOOL = os.environ.get("HONE_BIN", os.path.join(PROJECT, "build", "release", "hone"))
NETWORKS = ["squeezenet1_1", "resnet18", "mobilenet_v2", "shufflenet_v2", "facenet"]
KINDS = ["useless-transposes", "unfused-norm", "odd-depth", "reshape-storm", "tiny-operators", "layout-clash", "f64-island",
         "unfolded-constants"]
REMOVED = {"useless-transposes", "unfused-norm", "reshape-storm", "tiny-operators", "unfolded-constants"}  # by the passes
problems = []


def check(true, what):
    if not true:
        problems.append(what)
        print(f"FAILED: {what}", flush=True)


def run(*command):
    got = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600, check=False)
    check(got.returncode == 0, f"{command}: exit {got.returncode}: {got.stderr[-500:]}")
    return got.stdout


def defects(model):
    """Names of defects with the nodes that each names, those included that the build removed; and the names that it left. What
    other remedies would save is not asked: no time for timing their layers."""
    report = json.loads(run(TOOL, "advise", model, "--level", 0, "--threads", 1, "--duration", 0.01, "--warmUp", 0, "--time-budget", 0.1,
                            "--json"))
    found = {a["name"]: set(a["layers"]) for a in report["advice"] if a["kind"] == "defect"}
    for removed in report["removed"]:
        found.setdefault(removed["name"], set()).update(removed["layers"])
    return found, {a["name"] for a in report["advice"] if a["kind"] == "defect"}


def still_running(model, folder, nodes):
    """Those of the nodes that a step of the engine stands for, and for nothing else."""
    engine = os.path.join(folder, "planted.hone")
    run(TOOL, "build", model, "-o", engine, "--level", 0, "--threads", 1)
    steps = json.loads(run(TOOL, "show", engine, "--json"))["schedules"][0]["steps"]
    alone = [set(step["from"]) for step in steps if step["from"] and step["kind"] != "view" and set(step["from"]) <= nodes]
    return sorted(set().union(*alone))


def outputs(model, folder):
    run(TOOL, "run", model, "--level", 0, "--threads", 1, "--seed", 7, "--output-dir", folder)
    return [numpy.load(path) for path in sorted(glob.glob(os.path.join(folder, "*.npy")))]


def same_outputs(model, planted, folder, seed):
    """All that is planted but the Q/DQ pair, which rounds, leaves the outputs as they are."""
    kinds = [word for kind in KINDS for word in ("--kind", kind)]
    run(sys.executable, os.path.join(PROJECT, "tools", "plant"), model, planted, "--seed", seed, *kinds)
    want, got = outputs(model, os.path.join(folder, "clean")), outputs(planted, os.path.join(folder, "planted"))
    check(len(want) == len(got) > 0, f"{len(want)} and {len(got)} outputs")
    for a, b in zip(want, got):
        apart = numpy.linalg.norm(a - b) / numpy.linalg.norm(a)
        check(apart < 1e-5, f"{os.path.basename(model)}, seed {seed}: outputs {apart:.1e} away from the clean ones")


def main():
    seeds = int(sys.argv[sys.argv.index("--seeds") + 1]) if "--seeds" in sys.argv else len(NETWORKS)
    first = int(sys.argv[sys.argv.index("--first") + 1]) if "--first" in sys.argv else 0
    count = gone_count = 0
    with tempfile.TemporaryDirectory() as folder:
        clean = {}
        for seed in range(first, first + seeds):
            name = NETWORKS[seed % len(NETWORKS)]
            model, planted = os.path.join(folder, name + ".onnx"), os.path.join(folder, "planted.onnx")
            if name not in clean:
                run(TOOL, "zoo", name, "-o", model)
                clean[name] = defects(model)[1]
                check(not clean[name], f"{name} as it is: {clean[name]}")
                same_outputs(model, planted, folder, seed)
            run(sys.executable, os.path.join(PROJECT, "tools", "plant"), model, planted, "--seed", seed)
            found, _ = defects(planted)
            with open(planted[:-5] + ".json", encoding="utf-8") as file:
                wanted = json.load(file)
            check(len(wanted) >= 6, f"{name}, seed {seed}: {len(wanted)} planted")
            for defect in wanted:
                count += 1
                named = found.get(defect["kind"], set())
                gone_count += defect["kind"] in REMOVED
                check(set(defect["nodes"]) <= named, f"{name}, seed {seed}: {defect['kind']}: {defect['nodes']}, told: {sorted(named)[:8]}")
            # A sum with 0 turns -0 into 0: it goes where a product takes it in, and stays elsewhere.
            removable = {node for defect in wanted if defect["kind"] in REMOVED for node in defect["nodes"] if not node.startswith("planted_Add_")}
            left = still_running(planted, folder, removable)
            check(not left, f"{name}, seed {seed}: what the build should have removed still runs: {left}")
    print(f"{count} planted, {gone_count} of them for the build to remove, {seeds} models, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
