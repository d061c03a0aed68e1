#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""advice.py - are savings what was predicted? `hone advise MODEL --apply` on models, one after the other; every remedy that was built
and measured is a row: predicted and measured saving of the step before, which it was measured in turns with. What `hone advise`
says before each build is kept in the log, so predictions stand there before anything was built. With --roofs, a model during whose run two threads did not
have two cores (bench/roofs.c says so before or after it) is run again, twice at most.

    bench/advice.py --log FOLDER a.onnx b.onnx [-- flags of hone advise]      runs, then the table
    bench/advice.py --log FOLDER                                              the table of all that is in the folder

A model may be NAME or NAME:SEED of `hone zoo`; --tag keeps runs of a model under other flags apart. Exit code 1: under 80 % within 30 % or the
interval of the measurement, under a third predicted without anything that was timed for it, or one was kept that slows."""
import argparse
import glob
import json
import os
import subprocess
import sys

ENOUGH, UNTIMED, TWO_CORES, MOST_RUNS = 0.8, 1 / 3, 1.9, 3


def cores(program):
    """What two threads multiply in f32 over what one does: under 2 where another program, or machine, has a part of them."""
    rates = []
    for threads in ("1", "2"):
        done = subprocess.run([program, threads, "5"], check=True, capture_output=True, text=True)
        rates.append(next(float(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("f32 ")))
    return rates[1] / rates[0]


def run_alone(args, model, flags):
    for attempt in range(MOST_RUNS):
        before = cores(args.roofs) if args.roofs else 2
        run(args, model, flags)
        after = cores(args.roofs) if args.roofs else 2
        if min(before, after) >= TWO_CORES:
            return
        print(f"{model}: {before:.2f} cores before, {after:.2f} after, run {attempt + 1} of {MOST_RUNS}", file=sys.stderr)


def run(args, model, flags):
    name, seed = (model.split(":") + ["0"])[:2]
    path, log = model, os.path.join(args.log, os.path.basename(model).replace(":", "_seed") + args.tag)
    if not os.path.exists(model):
        path = log + ".onnx"
        subprocess.run([args.hone, "zoo", name, "--seed", seed, *args.zoo.split(), "-o", path], check=True, capture_output=True)
    with open(log + ".log", "w", encoding="utf-8") as said:
        said.write(f"hone advise {os.path.basename(path)} --apply {' '.join(flags)}\n")
        said.flush()
        done = subprocess.run([args.hone, "advise", path, "--apply", "--json", *flags], stdout=subprocess.PIPE, stderr=said, text=True, check=False)
    if done.returncode != 0:
        print(f"{model}: exit code {done.returncode}; see {log}.log", file=sys.stderr)
        return
    with open(log + ".json", "w", encoding="utf-8") as file:
        file.write(done.stdout)


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    options.add_argument("--hone", default="build/release/hone")
    options.add_argument("--log", required=True)
    options.add_argument("--roofs", help="the program bench_roofs")
    options.add_argument("--tag", default="", help="behind the names of this call's logs")
    options.add_argument("--zoo", default="", help="flags of hone zoo")
    options.add_argument("models", nargs="*")
    words = sys.argv[1:]
    at = words.index("--") if "--" in words else len(words)
    args, flags = options.parse_args(words[:at]), words[at + 1:]
    os.makedirs(args.log, exist_ok=True)
    for model in args.models:
        run_alone(args, model, flags)
    rows = []
    for path in sorted(glob.glob(os.path.join(args.log, "*.json"))):
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
        rows += [(os.path.basename(path)[:-5], step) for step in report["staircase"] if "saving_ms" in step]
    print("| model | remedy | kind | beside ms | predicted saving | measured saving | 95 % | as predicted | kept | timed for it |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name, s in rows:
        print(f"| {name} | {s['step']} `{s['flags']}` | {s['kind']} | {s['before_ms']:.3f} | {s['predicted_saving_ms']:.3f} | {s['saving_ms']:.3f} | "
              f"{-s['high_ms']:.3f} to {-s['low_ms']:.3f} | {'yes' if s['as_predicted'] else 'no'} | {'yes' if s['kept'] else 'no'} | "
              f"{s['timed_share']:.0%} |")
    print()
    for kind in sorted({s["kind"] for _, s in rows}):
        of = [s["as_predicted"] for _, s in rows if s["kind"] == kind]
        print(f"{kind}: {sum(of)} of {len(of)}")
    fit, untimed = sum(s["as_predicted"] for _, s in rows), sum(s["timed_share"] == 0 for _, s in rows)
    slower = sum(s["kept"] and s["low_ms"] > 0 for _, s in rows)
    print(f"\n{len(rows)} remedies of {len({s['kind'] for _, s in rows})} kinds on {len({name for name, _ in rows})} models; {fit} saved what was "
          f"predicted ({fit / max(len(rows), 1):.0%}); for {untimed} nothing was timed ({untimed / max(len(rows), 1):.0%}); {slower} kept that slow")
    return 1 if fit < ENOUGH * len(rows) or untimed < UNTIMED * len(rows) or slower else 0


if __name__ == "__main__":
    sys.exit(main())
