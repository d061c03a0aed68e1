#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""profile_sums.py - does a profile add up? For each network and number of threads `hone profile` and `hone bench` take turns:

- the sum of the layers' medians and what lies between them, against a run of `hone bench`, which knows of no layers;
- what profiling costs: a profiled run over the runs of the same process without it;
- layers that are above 105 % of their roof without an algorithm that is named for it.

On a GPU what lies between the layers are the gaps inside the replay and the launch, which the profile measures by itself, on replays of
next to nothing. What the host does around copies is not in the sum: where ports lie on the device (--flags=--device-io) it is nothing.
What profiling costs is there the device's time of a traced run over that of runs that are queued without records: it is stated, not judged.

Medians of the rounds. Exit code 1: a sum is more than 5 % away, profiling costs 2 % or more on the CPU, or a layer is above its roof.

    bench/profile_sums.py --engines FOLDER --build          builds what is not there yet
    bench/profile_sums.py --engines FOLDER --device gpu [--flags=--fp16]     on the GPU, one row a network
    bench/profile_sums.py --engines FOLDER [--models a,b] [--threads 1,2] [--rounds 3] [--json FILE]
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

MODELS = ("mobilenet_v2,mobilenet_v3_large,squeezenet1_1,shufflenet_v2,efficientnet_b0,resnet18,resnet50,densenet121,"
          "unet32,encoder6,lstm2,vit_b_16")
MOST_APART, MOST_COST, MOST_ROOF = 0.05, 0.02, 105


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def engine_of(args, model, threads):
    return os.path.join(args.engines, f"{model}.{threads}{''.join(args.flags)}.hone")


def place_of(args, threads):
    """The words that say where a network runs: a number of threads, or a device."""
    return ("--device", threads) if args.device else ("--threads", threads)


def build(args, model, threads):
    engine = engine_of(args, model, threads)
    if os.path.exists(engine):
        return
    onnx = os.path.join(args.engines, model + ".onnx")
    if not os.path.exists(onnx):
        run(args.hone, "zoo", model, "-o", onnx)
    run(args.hone, "build", onnx, "-o", engine, *place_of(args, threads), "--level", args.level, *args.flags)
    print(engine, flush=True)


def measure(args, model, threads):
    """One round: a profile and a bench of the same engine."""
    engine, common = engine_of(args, model, threads), (*place_of(args, threads), "--duration", args.duration, "--json")
    profile = json.loads(run(args.hone, "profile", engine, *common))
    bench = json.loads(run(args.hone, "bench", engine, *common))
    whole_ms = bench["latency"]["median_ms"]
    queue = profile.get("queue") or {}  # of a GPU: copies and layers inside the replay, beside the same without records
    launch_ms = queue["launch_ms"] if queue else 0
    between_ms = queue["gap_ms"] + launch_ms if queue else profile["between_layers_ms"]
    layers_ms = profile["layer_median_sum_ms"]
    above = {layer["name"]: layer for layer in profile["layers"] if layer.get("roof_percent", 0) > MOST_ROOF}
    cost = queue["span_ms"] / queue["untraced_ms"] if queue else profile["median_ms"] / profile["unprofiled_ms"]
    return {"layers_ms": layers_ms, "between_ms": between_ms, "whole_ms": whole_ms, "apart": (layers_ms + between_ms) / whole_ms - 1,
            "launch_ms": launch_ms, "cost": cost - 1, "above": above}


def row_of(args, model, threads):
    rounds = [measure(args, model, threads) for _ in range(args.rounds)]
    row = {key: statistics.median(each[key] for each in rounds) for key in rounds[0] if key != "above"}
    always = set.intersection(*(set(each["above"]) for each in rounds))  # what a disturbed round alone shows is none
    above = [rounds[0]["above"][name] for name in sorted(always)]
    row["named"] = [layer["name"] for layer in above if not layer["roof_reason"].startswith("unexplained")]
    row["unnamed"] = [f"{layer['name']} {layer['roof_percent']:.0f} %" for layer in above if layer["name"] not in row["named"]]
    return {"model": model, "threads": threads, **row}


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    options.add_argument("--hone", default="build/release/hone")
    options.add_argument("--engines", required=True)
    options.add_argument("--build", action="store_true")
    options.add_argument("--level", default="2")
    options.add_argument("--models", default=MODELS)
    options.add_argument("--threads", default="1,2")
    options.add_argument("--device", help="gpu: there, in place of the numbers of threads")
    options.add_argument("--flags", default="", type=str.split, help="more words for the build, such as --flags=--fp16")
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--duration", default="1")
    options.add_argument("--json")
    args = options.parse_args()
    os.makedirs(args.engines, exist_ok=True)
    cases = [(model, place) for model in args.models.split(",") for place in (args.device or args.threads).split(",")]
    if args.build:
        for model, threads in cases:
            build(args, model, threads)
        return 0
    rows, misses = [], 0
    print("| network | threads | layers ms | between ms | of it launch ms | hone bench ms | apart | profiling | above the roof: named, unnamed |")
    print("|---|---|---|---|---|---|---|---|---|")
    for model, threads in cases:
        row = row_of(args, model, threads)
        rows.append(row)
        misses += (abs(row["apart"]) > MOST_APART) + (not args.device and row["cost"] >= MOST_COST) + len(row["unnamed"])
        print(f"| {model} | {threads} | {row['layers_ms']:.4f} | {row['between_ms']:.4f} | {row['launch_ms']:.4f} | {row['whole_ms']:.4f} | {row['apart']:+.1%} | "
              f"{row['cost']:+.1%} | {len(row['named'])}, {', '.join(row['unnamed']) or '0'} |", flush=True)
    print(f"\n{misses} misses; medians of {args.rounds} rounds")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main())
