#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""storage.py - hone beside itself: engines that may use one type more than f32, and those that may use all, in one process and in turns.

    python3 bench/storage.py [--models mobilenet_v2,resnet50] [--flags bf16,fp16,best] [--threads 1] [--rounds 12]
    python3 bench/storage.py --build-only; python3 bench/storage.py --keep     # engines first, timing when the machine is quiet

An engine of each flag (f32: none) of every zoo model, built on as many cores as it has threads. Then, model by model,
the engines take turns in blocks of runs. For each: the median, its ratio to f32, and the relative L2 of its outputs to f32's;
`best/single` is the time of --best over that of the fastest other engine. Inputs are fresh random numbers.
Needs NumPy and onnx, and the built tool and shared library (HONE_BIN, HONE_LIB)."""
import argparse
import json
import math
import os
import sys
import time

import numpy as np

import compare
import hone_api


def engine_file(arguments, model, flag):
    return os.path.join(arguments.folder, f"{model}_{flag}_{arguments.threads}.hone")


def build_all(arguments, models, flags):
    for model in models:
        path = compare.model_file(model, arguments.folder)
        for flag in flags:
            file = engine_file(arguments, model, flag)
            if arguments.keep and os.path.exists(file):
                continue
            seconds = compare.build(path, file, arguments.threads, arguments.level, [] if flag == "f32" else ["--" + flag])["build_s"]
            print(f"built {model} {flag}: {seconds:.1f} s", flush=True)


def measure(arguments, model, flags):
    inputs = compare.random_inputs(compare.input_ports(compare.model_file(model, arguments.folder)))
    engines = {flag: hone_api.Hone(engine_file(arguments, model, flag), arguments.threads) for flag in flags}
    names = compare.output_names(compare.model_file(model, arguments.folder))
    outputs, times = {}, {flag: [] for flag in flags}
    for flag, engine in engines.items():
        engine.bind(inputs)
        begin = time.perf_counter()
        engine.run()
        once = time.perf_counter() - begin
        outputs[flag] = engine.outputs(names)
    runs = max(3, min(20, int(0.1 / once)))
    for turn in range(arguments.rounds):
        for flag in flags[turn % len(flags):] + flags[:turn % len(flags)]:  # nobody always follows the same one
            times[flag] += compare.block(engines[flag], runs)
    row = {"model": model, "threads": arguments.threads, "speed": {flag: compare.summary(values) for flag, values in times.items()}}
    row["relative_l2"] = {flag: max(compare.relative_l2(outputs[flag][name], outputs["f32"][name]) for name in names)
                          for flag in flags}
    medians = {flag: row["speed"][flag]["median_ms"] for flag in flags}
    row["ratio"] = {flag: medians[flag] / medians["f32"] for flag in flags}
    if "best" in flags:
        row["best_over_single"] = medians["best"] / min(value for flag, value in medians.items() if flag != "best")
    return row


def text_of(row, flags):
    cells = [f"{row['speed'][flag]['median_ms']:.3f} ({row['ratio'][flag]:.2f}, {row['relative_l2'][flag]:.0e})" for flag in flags]
    last = f" {row['best_over_single']:.3f} |" if "best_over_single" in row else ""
    return f"| {row['model']} | {row['threads']} | " + " | ".join(cells) + " |" + last


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=compare.MODELS)
    parser.add_argument("--flags", default="bf16,fp16,best")
    parser.add_argument("--threads", type=compare.at_least(1), default=1)
    parser.add_argument("--rounds", type=compare.at_least(1), default=12)
    parser.add_argument("--level", type=int, default=3, help="tuning level of the builds")
    parser.add_argument("--build-only", action="store_true")
    parser.add_argument("--keep", action="store_true", help="engines that are there are not built again")
    parser.add_argument("--json", default="")
    parser.add_argument("--folder", default=os.path.join(hone_api.ROOT, "build/bench"))
    arguments = parser.parse_args()
    models, flags = arguments.models.split(","), ["f32", *arguments.flags.split(",")]
    os.makedirs(arguments.folder, exist_ok=True)
    build_all(arguments, models, flags)
    if arguments.build_only:
        return 0
    compare.pin(arguments.threads)
    print(f"| model | threads | {' | '.join(flag + ' ms (of f32, rel. L2)' for flag in flags)} |" + (" best/single |" if "best" in flags else ""))
    print("|---" * (len(flags) + 2 + ("best" in flags)) + "|")
    rows = []
    for model in models:
        rows.append(measure(arguments, model, flags))
        print(text_of(rows[-1], flags), flush=True)
    for flag in flags[1:]:
        mean = math.exp(np.mean([math.log(row["ratio"][flag]) for row in rows]))
        print(f"geometric mean of {flag} over f32: {mean:.3f}")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
