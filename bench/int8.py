#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""int8.py - hone's engines in 8 bits against its engines in f32: same networks, inputs and threads, in turns.

    python3 bench/int8.py [--models mobilenet_v2,resnet50] [--threads 1,2] [--rounds 12] [--json FILE] [--most 0.6]
    python3 bench/int8.py --build-only        # engines alone: tuning and timing need a quiet machine, quantising does not

Each network of the zoo is quantised by `hone quantize` with ranges of seeded random samples, which says nothing of a
trained network's accuracy and all of its time. Both engines are built at the same level and run in turns in a process that
is pinned to as many cores as there are threads. The table has medians with the 10th and 90th percentiles, int8's time over
f32's, how far its outputs are (relative L2, a new sample), and how many layers compute in bytes. Engines are kept in --folder
and taken from there again unless the tool is newer. Exit code 1: the geometric mean of a number of threads is over --most."""
import argparse
import json
import os
import subprocess
import sys

import numpy as np

import compare
import hone_api

ENGINES = ("f32", "int8")


def tool(*arguments, **options):
    done = subprocess.run([hone_api.TOOL, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"int8.py: hone {' '.join(map(str, arguments))}: {done.stderr.strip()}")
    return done.stdout


def is_fresh(path, *sources):
    return os.path.exists(path) and all(os.path.getmtime(path) >= os.path.getmtime(s) for s in sources)


def quantise(name, arguments):
    """Files of the network in f32 and in 8 bits, and how many of its layers are."""
    plain, quantised = (os.path.join(arguments.folder, f"{name}{end}.onnx") for end in ("", "_int8"))
    told = quantised + ".json"
    if not is_fresh(plain, hone_api.TOOL):
        tool("zoo", name, "-o", plain)
    if not is_fresh(told, plain):
        generator = np.random.default_rng(1)
        samples = {}
        for port, shape, dtype in compare.input_ports(plain):
            shape = [arguments.samples * shape[0], *shape[1:]]
            samples[port] = (generator.integers(0, 2, size=shape).astype(dtype) if np.issubdtype(np.dtype(dtype), np.integer)
                             else generator.standard_normal(shape).astype(dtype))
        path = os.path.join(arguments.folder, f"{name}.npz")
        np.savez(path, **samples)
        text = tool("quantize", plain, "--calib", path, "-o", quantised, "--json", *arguments.quantize.split())
        os.remove(path)
        with open(told, "w", encoding="utf-8") as file:
            file.write(text)
    with open(told, encoding="utf-8") as file:
        return {"f32": plain, "int8": quantised}, json.load(file)


def build(name, files, threads, arguments):
    """Engine files of both."""
    engines = {}
    for kind in ENGINES:
        engines[kind] = os.path.join(arguments.folder, f"{name}_{kind}_{threads}.hone")
        if not is_fresh(engines[kind], hone_api.TOOL, files[kind]):
            tool("build", files[kind], "-o", engines[kind], "--threads", threads, "--level", arguments.level,
                 *arguments.flags.split(), *(arguments.int8_flags.split() if kind == "int8" else ()), preexec_fn=lambda: compare.pin(threads))
    return engines


def measure(engines, ports, outputs, threads, rounds):
    """Both in this process, in turns."""
    compare.pin(threads)
    inputs = compare.random_inputs(ports)
    sessions = {kind: hone_api.Hone(path, threads) for kind, path in engines.items()}
    for session in sessions.values():
        session.bind(inputs)
        session.run()
    want, got = (sessions[kind].outputs(outputs) for kind in ENGINES)
    times = {kind: [] for kind in ENGINES}
    once = compare.block(sessions["f32"], 3)
    runs = max(3, min(20, int(100 / max(min(once), 1e-3))))
    for _ in range(rounds):
        for kind in ENGINES:
            times[kind] += compare.block(sessions[kind], runs)
    row = {kind: compare.summary(times[kind]) for kind in ENGINES}
    row["ratio"] = row["int8"]["median_ms"] / row["f32"]["median_ms"]
    row["relative_l2"] = max(compare.relative_l2(got[key], want[key]) for key in outputs)
    return row


def child(job):
    """A process of its own, so that affinity and pools start fresh; numpy gets no threads."""
    done = subprocess.run([sys.executable, __file__, "--job", json.dumps(job)], stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "OPENBLAS_NUM_THREADS": "1"}, check=False)
    if done.returncode != 0:
        sys.exit(f"int8.py: measuring {job['engines']} failed")
    return json.loads(done.stdout.splitlines()[-1])


def layers_of(told):
    return f"{told['layers']} of {told['layers'] + told['layers_in_f32']}"


def text_of(row):
    one = {kind: "{median_ms:.3f} ({p10_ms:.3f}..{p90_ms:.3f})".format(**row[kind]) for kind in ENGINES}
    return (f"{row['model']:<20} {row['threads']:>2} {one['f32']:>26} {one['int8']:>26}  {row['ratio']:.3f}  "
            f"{row['relative_l2']:.1e}  {row['layers']}")


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=compare.MODELS)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=compare.at_least(1), default=12)
    parser.add_argument("--samples", type=compare.at_least(1), default=4, help="for ranges")
    parser.add_argument("--level", type=int, default=3, help="tuning level of the builds")
    parser.add_argument("--flags", default="", help="more flags of both builds")
    parser.add_argument("--int8-flags", default="", help="more flags of the builds in 8 bits, e.g. =--bf16 for what is left")
    parser.add_argument("--quantize", default="--no-correction", help="flags of hone quantize")
    parser.add_argument("--most", type=float, default=0, help="what the geometric mean may be")
    parser.add_argument("--build-only", action="store_true")
    parser.add_argument("--json", default="")
    parser.add_argument("--folder", default=os.path.join(hone_api.ROOT, "build/bench"))
    parser.add_argument("--job", help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    arguments = read_arguments()
    if arguments.job:
        print(json.dumps(measure(**json.loads(arguments.job))))
        return 0
    os.makedirs(arguments.folder, exist_ok=True)
    rows = []
    if not arguments.build_only:
        print(f"{'network':<20} th {'f32 ms (p10..p90)':>26} {'int8 ms (p10..p90)':>26}  ratio  rel. L2  layers in bytes")
    for threads in map(int, arguments.threads.split(",")):
        for name in filter(None, arguments.models.split(",")):
            files, told = quantise(name, arguments)
            engines = build(name, files, threads, arguments)
            if arguments.build_only:
                continue
            shown = json.loads(tool("show", engines["f32"], "--json"))
            outputs = [port["name"] for port in shown["schedules"][0]["outputs"]]
            row = {"model": name, "threads": threads, "layers": layers_of(told),
                   **child({"engines": engines, "ports": compare.input_ports(files["f32"]), "outputs": outputs,
                            "threads": threads, "rounds": arguments.rounds})}
            rows.append(row)
            print(text_of(row), flush=True)
    failed = 0
    for threads in sorted({row["threads"] for row in rows}):
        ratios = [row["ratio"] for row in rows if row["threads"] == threads]
        mean = float(np.exp(np.mean(np.log(ratios))))
        print(f"{threads} threads: geometric mean {mean:.3f} of {len(ratios)} networks")
        failed |= arguments.most > 0 and mean > arguments.most
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
